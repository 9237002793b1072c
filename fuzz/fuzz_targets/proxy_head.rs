//! Any bytes as the head of a proxied request. A head that is accepted ends where it says, whatever comes behind it, and is
//! incomplete until then: nobody in front can see other bounds.
#![no_main]

use jurat_guard::head::{HeadFault, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(head) = parse(data) else { return };
    assert_eq!(parse(&data[..head.len]).as_ref(), Ok(&head));
    for end in 0..head.len {
        assert_eq!(
            parse(&data[..end]),
            Err(HeadFault::Incomplete),
            "cut at {end} of {}",
            head.len
        );
    }
});
