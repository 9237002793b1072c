//! A strict scan over a chunked body (RFC 9112 7.1), byte for byte and without copying.
//!
//! Only `size CRLF data CRLF` and a last `0 CRLF CRLF` pass. Extensions and trailers are legal but nothing here needs
//! them, and readers differ over them; a size that does not fit is a fault, not a number.

use crate::head::{HeadFault, MAX_BODY};

/// Most hexadecimal digits of a chunk size. Fifteen cannot overflow a u64.
const MAX_DIGITS: u8 = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size { digits: u8, size: u64 },
    SizeLf(u64),
    Data(u64),
    DataCr,
    DataLf,
    EndCr,
    EndLf,
    Done,
}

/// Where the scan stands in a chunked body.
#[derive(Debug, Clone)]
pub(crate) struct ChunkScan {
    state: State,
    total: u64,
}

impl ChunkScan {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Size { digits: 0, size: 0 },
            total: 0,
        }
    }

    /// Whether the body has ended.
    pub(crate) fn done(&self) -> bool {
        self.state == State::Done
    }

    /// Accepts bytes of the body; returns how many belong to it. Fewer than given only when the body ended.
    pub(crate) fn feed(&mut self, input: &[u8]) -> Result<usize, HeadFault> {
        let mut at = 0;
        while let Some(byte) = input.get(at) {
            self.state = match (self.state, byte) {
                (State::Done, _) => break,
                (State::Size { digits, size }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < MAX_DIGITS => {
                    let digit = char::from(*byte).to_digit(16).ok_or(HeadFault::Chunk)?;
                    State::Size {
                        digits: digits + 1,
                        size: size * 16 + u64::from(digit),
                    }
                }
                (State::Size { digits: 1.., size }, b'\r') => State::SizeLf(size),
                (State::SizeLf(0), b'\n') => State::EndCr,
                (State::SizeLf(size), b'\n') => {
                    // Fifteen digits and a total below the limit: this sum cannot overflow.
                    self.total += size;
                    if self.total > MAX_BODY {
                        return Err(HeadFault::BodyTooLarge);
                    }
                    State::Data(size)
                }
                (State::Data(left), _) => {
                    let have = u64::try_from(input.len() - at).unwrap_or(u64::MAX);
                    let take = left.min(have);
                    // `take` is at most the length of a slice.
                    at += usize::try_from(take).unwrap_or(usize::MAX);
                    self.state = if take == left {
                        State::DataCr
                    } else {
                        State::Data(left - take)
                    };
                    continue;
                }
                (State::DataCr, b'\r') => State::DataLf,
                (State::DataLf, b'\n') => State::Size { digits: 0, size: 0 },
                (State::EndCr, b'\r') => State::EndLf,
                (State::EndLf, b'\n') => State::Done,
                _ => return Err(HeadFault::Chunk),
            };
            at += 1;
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn whole(body: &[u8]) -> Result<(usize, bool), HeadFault> {
        let mut scan = ChunkScan::new();
        let used = scan.feed(body)?;
        Ok((used, scan.done()))
    }

    #[test]
    fn clean_bodies() {
        assert_eq!(whole(b"0\r\n\r\n"), Ok((5, true)));
        assert_eq!(whole(b"3\r\nabc\r\n0\r\n\r\nGET"), Ok((13, true)));
        assert_eq!(whole(b"00A\r\n0123456789\r\n000\r\n\r\n"), Ok((24, true)));
        assert_eq!(whole(b"a\r\n0123456789\r\n"), Ok((15, false)));
        assert_eq!(whole(b"3\r\n\r\nx\r\n0\r\n\r\n"), Ok((13, true)));
    }

    #[test]
    fn split_anywhere_it_is_the_same_body() {
        let body = b"5\r\nhello\r\n1F\r\n0123456789012345678901234567890\r\n0\r\n\r\n";
        for cut in 0..=body.len() {
            let mut scan = ChunkScan::new();
            assert_eq!(scan.feed(&body[..cut]).unwrap(), cut);
            assert_eq!(scan.done(), cut == body.len());
            assert_eq!(scan.feed(&body[cut..]).unwrap(), body.len() - cut);
            assert!(scan.done());
            assert_eq!(scan.feed(b"GET / HTTP/1.1").unwrap(), 0);
        }
    }

    #[test]
    fn anything_else_is_a_fault() {
        for body in [
            &b"\r\n"[..],
            b"\n",
            b"g\r\n",
            b"-1\r\n",
            b"0x1\r\n",
            b" 1\r\n",
            b"1 \r\n",
            b"1;ext\r\n",
            b"1\n",
            b"1\r\r",
            b"1\r\nab",
            b"1\r\na\n",
            b"1\r\na\r\r",
            b"0\r\nTrailer: x\r\n\r\n",
            b"0\r\n\n",
            b"0\r\n\r\r",
            b"0000000000000001\r\n",
            b"FFFFFFFFFFFFFFFF1\r\n",
        ] {
            assert_eq!(
                whole(body),
                Err(HeadFault::Chunk),
                "{:?}",
                String::from_utf8_lossy(body)
            );
        }
        assert_eq!(whole(b"000000000000001\r\nx"), Ok((18, false)));
    }

    #[test]
    fn the_limit_is_on_the_whole_body() {
        assert_eq!(whole(format!("{MAX_BODY:x}\r\nx").as_bytes()).map(|r| r.1), Ok(false));
        assert_eq!(
            whole(format!("{:x}\r\nx", MAX_BODY + 1).as_bytes()),
            Err(HeadFault::BodyTooLarge)
        );
        let mut two = format!("{:x}\r\n", 2).into_bytes();
        two.extend_from_slice(format!("ab\r\n{:x}\r\nx", MAX_BODY - 1).as_bytes());
        assert_eq!(whole(&two), Err(HeadFault::BodyTooLarge));
    }
}
