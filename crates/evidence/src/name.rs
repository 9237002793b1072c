//! Names: of files in a bundle, and of runs.
//!
//! Invariant: a [`FileName`] or [`RunId`] is one plain path component (no separator, no dot in front, no control), so that
//! joining it to a directory never leaves the directory.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The manifest.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The in-toto Statement in its DSSE envelope.
pub(crate) const STATEMENT: &str = "statement.dsse.json";
/// The report for people.
pub(crate) const REPORT: &str = "report.html";
/// The seal, written last.
pub(crate) const SEAL: &str = "seal.json";
/// The files that seal the others and are named in no manifest.
pub(crate) const CONTROL: [&str; 4] = [MANIFEST, STATEMENT, REPORT, SEAL];
/// Where blobs lie.
pub(crate) const BLOBS: &str = "blobs/sha256";

/// The name of a file at the top of a bundle: lower-case letters, digits, `.`, `-`, `_`, at most 64, a letter or digit first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(String);

impl FileName {
    /// `contract.json`: exactly the canonical contract that `contract_ref` is the digest of.
    pub const CONTRACT: &str = "contract.json";
    /// `plan.json`.
    pub const PLAN: &str = "plan.json";
    /// `observations.jsonl`.
    pub const OBSERVATIONS: &str = "observations.jsonl";
    /// `events.jsonl`.
    pub const EVENTS: &str = "events.jsonl";
    /// `verdict.json`.
    pub const VERDICT: &str = "verdict.json";
    /// What every bundle holds.
    pub const REQUIRED: [&str; 5] = [
        Self::CONTRACT,
        Self::PLAN,
        Self::OBSERVATIONS,
        Self::EVENTS,
        Self::VERDICT,
    ];

    /// Reads a name.
    ///
    /// Errors: a name of another shape, or of a file that the seal writes itself.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let well_formed = text.len() <= 64
            && text.bytes().next().is_some_and(plain)
            && text.bytes().all(|b| plain(b) || matches!(b, b'.' | b'-' | b'_'));
        if !well_formed || text == "blobs" {
            return Err(NameError::Shape(text.chars().take(80).collect()));
        }
        if CONTROL.contains(&text) {
            return Err(NameError::Reserved(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for FileName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

/// A text that names no file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Not of the allowed shape.
    #[error("{0:?} is no file name of a bundle: write lower-case letters, digits, dots, dashes")]
    Shape(String),
    /// Written by the seal.
    #[error("{0:?} is written by the seal itself")]
    Reserved(String),
}

/// The name of one run: its start in UTC and eight random hexadecimal digits, as in `20261130T154500Z-0a1b2c3d`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunId(String);

impl RunId {
    /// The name of a run that began this long after 1970 (UTC), made different from all others by four random bytes.
    ///
    /// A time beyond the year 9999 is written as its last second.
    pub fn new(since_epoch: Duration, random: [u8; 4]) -> Self {
        const LAST: u64 = 253_402_300_799;
        let seconds = since_epoch.as_secs().min(LAST);
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let tail = u32::from_be_bytes(random);
        Self(format!(
            "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z-{tail:08x}"
        ))
    }

    /// Reads a run's name.
    ///
    /// Errors: any other shape. Whether the date exists is not asked: it is a name.
    pub fn parse(text: &str) -> Result<Self, RunIdError> {
        let fits = |i: usize, b: u8| match i {
            8 => b == b'T',
            15 => b == b'Z',
            16 => b == b'-',
            0..=14 => b.is_ascii_digit(),
            _ => b.is_ascii_digit() || (b'a'..=b'f').contains(&b),
        };
        if text.len() == 25 && text.bytes().enumerate().all(|(i, b)| fits(i, b)) {
            Ok(Self(text.to_owned()))
        } else {
            Err(RunIdError(text.chars().take(80).collect()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Year, month and day of a number of days since 1970-01-01 in the proleptic Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    let mut left = days;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for RunId {
    type Error = RunIdError;

    fn try_from(text: String) -> Result<Self, RunIdError> {
        Self::parse(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

/// A text that names no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no run id; they look like 20261130T154500Z-0a1b2c3d")]
pub struct RunIdError(String);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn run_ids_are_dates_and_parse_back() {
        let at = |seconds| RunId::new(Duration::from_secs(seconds), [0, 0x1b, 0xff, 9]);
        for (seconds, text) in [
            (0, "19700101T000000Z-001bff09"),
            (951_782_400, "20000229T000000Z-001bff09"),
            (1_796_053_500, "20261130T154500Z-001bff09"),
            (4_107_542_399, "21000228T235959Z-001bff09"),
            (4_107_542_400, "21000301T000000Z-001bff09"),
            (u64::MAX, "99991231T235959Z-001bff09"),
        ] {
            assert_eq!(at(seconds).as_str(), text);
            assert_eq!(RunId::parse(text).unwrap(), at(seconds));
        }
        assert!(at(5) < at(6));
        for wrong in [
            "",
            "../x",
            "20261130T154500Z-0A1b2c3d",
            "20261130T154500Z-0a1b2c3",
            "20261130T154500Z-0a1b2c3d0",
        ] {
            assert!(RunId::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_stay_in_their_directory() {
        for good in FileName::REQUIRED.iter().chain(&["a", "0.json"]) {
            assert_eq!(FileName::parse(good).unwrap().as_str(), *good);
        }
        let long = "a".repeat(65);
        for wrong in [
            "",
            ".",
            "..",
            ".x",
            "a/b",
            "a\\b",
            "A",
            "a\0",
            "ä",
            "blobs",
            "seal.json",
            "report.html",
            &long,
        ] {
            assert!(FileName::parse(wrong).is_err(), "{wrong}");
        }
    }
}
