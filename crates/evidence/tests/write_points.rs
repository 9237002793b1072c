//! At every write point, under every fault: the bundle is complete or absent.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use common::{Fault, FaultyDisk, run_id, sample, write_sample};
use jurat_evidence::{Bundle, Root, WriteError, Writer};

/// How many operations one whole bundle takes.
fn operations() -> usize {
    let temp = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new(usize::MAX, Fault::Stop);
    let root = Root::with_disk(temp.path().join("e").as_path(), disk.clone()).unwrap();
    write_sample(&root, &run_id(1)).unwrap();
    let count = disk.count.load(Ordering::SeqCst);
    // Eleven files of five operations, the two blob directories twice, the run's directory, its rename and one sync.
    assert_eq!(count, 11 * 5 + 2 * 2 + 3);
    count
}

/// Under the final name there is a sound bundle or nothing, and after a sweep nothing else. Says which.
fn complete_or_absent(root: &Path, what: &str) -> bool {
    let root = Root::with_disk(root, FaultyDisk::new(usize::MAX, Fault::Stop)).unwrap();
    let path = root.run(&run_id(1));
    let complete = path.symlink_metadata().is_ok();
    if complete {
        Bundle::open(&path).unwrap_or_else(|error| panic!("{what}: half a bundle: {error}"));
    }
    let swept = root.sweep().unwrap();
    assert!(swept.live.is_empty(), "{what}: {swept:?}");
    let left: Vec<_> = std::fs::read_dir(root.path().join("runs"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), usize::from(complete), "{what}: {left:?}");
    if !complete {
        write_sample(&root, &run_id(1)).unwrap_or_else(|error| panic!("{what}: the next run failed: {error}"));
    }
    complete
}

#[test]
fn every_fault_at_every_write_point_leaves_a_whole_bundle_or_none() {
    let operations = operations();
    for fault in [
        Fault::Once(ErrorKind::StorageFull),
        Fault::Once(ErrorKind::Other),
        Fault::Stop,
    ] {
        for at in 1..=operations {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("e");
            let root = Root::with_disk(&path, FaultyDisk::new(at, fault)).unwrap();
            let what = format!("{fault:?} at {at}");
            match write_sample(&root, &run_id(1)) {
                Ok(_) => panic!("{what}: no error"),
                Err(WriteError::Io { .. }) => {}
                Err(error) => panic!("{what}: {error}"),
            }
            let complete = complete_or_absent(&path, &what);
            assert_eq!(
                complete,
                at == operations,
                "{what}: only the sync of the final name may fail with a bundle there"
            );
        }
    }
}

/// Not a test of its own: what the next one starts, to be killed.
#[test]
fn killed_child() {
    let (Some(root), Some(at)) = (
        std::env::var_os("JURAT_TEST_ROOT"),
        std::env::var_os("JURAT_TEST_KILL_AT"),
    ) else {
        return;
    };
    let at = at.into_string().unwrap().parse().unwrap();
    let root = Root::with_disk(Path::new(&root), FaultyDisk::new(at, Fault::Kill)).unwrap();
    write_sample(&root, &run_id(1)).unwrap();
}

#[test]
fn sigkill_at_every_write_point_leaves_a_whole_bundle_or_none() {
    for at in 1..=operations() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("e");
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed_child"])
            .env("JURAT_TEST_ROOT", &path)
            .env("JURAT_TEST_KILL_AT", at.to_string())
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9),
            "at {at}"
        );
        complete_or_absent(&path, &format!("killed at {at}"));
    }
}

#[test]
fn a_sweep_leaves_the_living_and_the_finished_alone() {
    let (_temp, root, sealed) = sample();
    let living = Writer::begin(&root, &run_id(2)).unwrap();
    let dead = root.path().join(format!("runs/{}.partial", run_id(3)));
    std::fs::create_dir(&dead).unwrap();
    std::fs::write(dead.join("contract.json"), "{}").unwrap();
    let foreign = root.path().join("runs/notes.partial");
    std::fs::create_dir(&foreign).unwrap();

    let swept = root.sweep().unwrap();
    assert_eq!((swept.removed, swept.live), (vec![run_id(3)], vec![run_id(2)]));
    assert!(!dead.exists() && foreign.exists());
    assert_eq!(root.list().unwrap(), [run_id(1)]);
    Bundle::open(&sealed.path).unwrap();
    assert!(matches!(Writer::begin(&root, &run_id(2)), Err(WriteError::Exists(_))));
    assert!(matches!(Writer::begin(&root, &run_id(1)), Err(WriteError::Exists(_))));

    let partial = root.path().join(format!("runs/{}.partial", run_id(2)));
    assert!(partial.exists());
    drop(living);
    assert!(!partial.exists());
}

#[test]
fn a_link_in_place_of_a_dead_run_is_not_followed() {
    let (temp, root, _) = sample();
    let victim = temp.path().join("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(victim.join("keep"), "x").unwrap();
    std::os::unix::fs::symlink(&victim, root.path().join(format!("runs/{}.partial", run_id(3)))).unwrap();
    assert!(root.sweep().is_err());
    assert!(victim.join("keep").exists());
}
