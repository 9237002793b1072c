//! The identity of a contract.

use super::Contract;
use crate::canon::{Digest, to_canonical};

/// The canonical bytes of a contract, with everything left out that equals a default. They are a contract themselves and
/// parse back to the same value.
pub fn canonical_json(contract: &Contract) -> Vec<u8> {
    match to_canonical(contract) {
        Ok(bytes) => bytes,
        Err(e) => unreachable!("a contract holds texts, flags and 32-bit integers only: {e}"),
    }
}

/// The identity of a contract: the digest of its canonical bytes.
pub fn contract_ref(contract: &Contract) -> Digest {
    Digest::of(&canonical_json(contract))
}
