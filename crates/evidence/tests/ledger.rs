//! The ledger under several writers, torn lines and edits.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::Path;
use std::process::Command;

use common::{Fault, FaultyDisk, run_id};
use jurat_core::canon::Digest;
use jurat_core::outcome::Answer;
use jurat_evidence::{Ledger, LedgerEntry, LedgerError, Repair, Root};

fn entry(n: u8) -> LedgerEntry {
    LedgerEntry {
        run_id: run_id(n),
        contract_ref: Digest::of(b"contract"),
        verdict: Answer::Pass,
        manifest: Digest::of(&[n]),
        at: "2026-11-30T15:45:00Z".to_owned(),
    }
}

fn root() -> (tempfile::TempDir, Root) {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::open(&temp.path().join("e")).unwrap();
    (temp, root)
}

#[test]
fn lines_are_chained_in_the_order_of_their_appends() {
    let (_temp, root) = root();
    let ledger = Ledger::of(&root);
    assert_eq!(ledger.verify().unwrap(), (vec![], None));
    let written: Vec<_> = (1..=5).map(|n| ledger.append(entry(n)).unwrap()).collect();
    let (read, torn) = ledger.verify().unwrap();
    assert_eq!((&read, torn), (&written, None));
    assert_eq!(read.iter().map(|line| line.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(read[0].prev, None);
    let text = std::fs::read_to_string(root.path().join("ledger.jsonl")).unwrap();
    let first = text.lines().next().unwrap();
    assert_eq!(read[1].prev, Some(Digest::of(first.as_bytes())));
    assert!(
        first.contains(&format!("\"manifest_sha256\":\"{}\"", Digest::of(&[1]).hex())),
        "{first}"
    );
}

#[test]
fn an_edited_moved_or_removed_line_is_named() {
    let (_temp, root) = root();
    let ledger = Ledger::of(&root);
    for n in 1..=4 {
        ledger.append(entry(n)).unwrap();
    }
    let path = root.path().join("ledger.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let broken_at = |text: String| {
        std::fs::write(&path, text).unwrap();
        match ledger.verify() {
            Err(LedgerError::Broken { line, .. }) => line,
            other => panic!("{other:?}"),
        }
    };
    let join = |lines: &[&str]| lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>();
    assert_eq!(broken_at(text.replacen("pass", "fail", 1)), 2);
    assert_eq!(broken_at(join(&[lines[0], lines[2], lines[3]])), 2);
    assert_eq!(broken_at(join(&lines[1..])), 1);
    assert_eq!(broken_at(join(&[lines[1], lines[0], lines[2], lines[3]])), 1);
    assert_eq!(broken_at(text.replacen("jurat.ledger/1", "jurat.ledger/2", 1)), 1);
    assert_eq!(broken_at(text.replacen("{\"at\"", "{ \"at\"", 1)), 1);
    assert_eq!(broken_at(format!("{text}{{}}\n")), 5);
    assert!(
        ledger
            .append(entry(9))
            .unwrap_err()
            .to_string()
            .contains("at the end is malformed")
    );
}

#[test]
fn a_torn_line_is_dropped_by_the_next_append_which_says_so() {
    for torn in ["{", "x".repeat(5000).as_str(), "\0\0\0"] {
        let (_temp, root) = root();
        let ledger = Ledger::of(&root);
        ledger.append(entry(1)).unwrap();
        let path = root.path().join("ledger.jsonl");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(torn.as_bytes());
        std::fs::write(&path, bytes).unwrap();
        let length = torn.len() as u64;
        assert_eq!(ledger.verify().unwrap().1, Some(Repair { bytes: length }));
        let line = ledger.append(entry(2)).unwrap();
        assert_eq!((line.seq, line.repaired), (2, Some(length)));
        assert_eq!(ledger.append(entry(3)).unwrap().repaired, None);
        let (lines, torn) = ledger.verify().unwrap();
        assert_eq!((lines.len(), torn), (3, None));
    }
    // Nothing but a torn first line.
    let (_temp, root) = root();
    std::fs::write(root.path().join("ledger.jsonl"), "{\"at\"").unwrap();
    assert_eq!(Ledger::of(&root).append(entry(1)).unwrap().seq, 1);
    assert_eq!(Ledger::of(&root).verify().unwrap().0.len(), 1);
}

/// Not a test of its own: appends as another process.
#[test]
fn appending_child() {
    let Some(path) = std::env::var_os("JURAT_TEST_LEDGER") else {
        return;
    };
    let at = std::env::var("JURAT_TEST_KILL_AT").unwrap().parse().unwrap();
    let count = std::env::var("JURAT_TEST_COUNT").unwrap().parse().unwrap();
    let root = Root::with_disk(Path::new(&path), FaultyDisk::new(at, Fault::Kill)).unwrap();
    for n in 0..count {
        Ledger::of(&root).append(entry(n)).unwrap();
    }
}

fn child(root: &Root, kill_at: usize, count: u8) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "appending_child"])
        .env("JURAT_TEST_LEDGER", root.path())
        .env("JURAT_TEST_KILL_AT", kill_at.to_string())
        .env("JURAT_TEST_COUNT", count.to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn two_processes_and_two_threads_lose_no_line() {
    let (_temp, root) = root();
    let mut children = [child(&root, usize::MAX, 200), child(&root, usize::MAX, 200)];
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..50).for_each(|n| drop(Ledger::of(&root).append(entry(n)).unwrap())));
        }
    });
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let (lines, torn) = Ledger::of(&root).verify().unwrap();
    assert_eq!((lines.len(), torn), (500, None));
}

#[test]
fn sigkill_at_every_write_point_loses_no_line_that_was_whole() {
    for at in 1..=9 {
        let (_temp, root) = root();
        let ledger = Ledger::of(&root);
        let status = child(&root, at, 4).wait().unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9),
            "at {at}"
        );
        let (before, torn) = ledger.verify().unwrap();
        let line = ledger.append(entry(9)).unwrap();
        assert_eq!(
            (line.seq, line.repaired),
            (before.len() as u64 + 1, torn.map(|torn| torn.bytes)),
            "at {at}"
        );
        let (after, torn) = ledger.verify().unwrap();
        assert_eq!((&after[..before.len()], torn), (&before[..], None));
    }
}
