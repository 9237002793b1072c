//! Any bytes as one message of the DevTools pipe. It decodes or names its fault; lone surrogates are repaired, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = jurat_browser::cdp::frame::decode(data);
});
