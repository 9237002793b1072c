//! `Security`: certificates.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use super::{Done, command};

command! { Enable = "Security.enable" -> Done }
command! { SetIgnoreCertificateErrors = "Security.setIgnoreCertificateErrors" -> Done { ignore: bool } }
