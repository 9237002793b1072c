//! SIGKILL at random moments: no process is left after two seconds, and no bundle is half.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use jurat::engine;

use crate::kit::{contract, jurat, serve};
use crate::processes::{descendants, left};
use crate::{PAGE, REST, times};

/// How long the browser may outlive the command.
const LIMIT: Duration = Duration::from_secs(2);

/// `JURAT_SOAK_KILLS`, 1,000 in the long form.
#[test]
fn a_kill_at_any_moment_leaves_nothing() {
    let folder = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap();
    let site = serve(&[("/", PAGE)]);
    let (file, evidence, temp) = (
        folder.path().join("contract.yaml"),
        folder.path().join("evidence"),
        folder.path().join("temp"),
    );
    fs::create_dir(&temp).unwrap();
    fs::set_permissions(&temp, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&file, contract("killed", &site.origin(), REST)).unwrap();
    let run = || {
        jurat(&[
            "verify",
            file.to_str().unwrap(),
            "--evidence-root",
            evidence.to_str().unwrap(),
        ])
        .env("TMPDIR", &temp)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
    };

    // How long a whole run takes here bounds the moments.
    let begun = Instant::now();
    assert_eq!(run().wait().unwrap().code(), Some(0), "the app is good");
    let whole = begun.elapsed();

    let rounds = times("JURAT_SOAK_KILLS", 12);
    let mut killed = 0;
    for round in 0..rounds {
        let mut child = run();
        // Spread evenly by the golden ratio: no two rounds at one moment, whatever their number.
        let share = (f64::from(u32::try_from(round).unwrap()) * 0.618_033_988_75).fract();
        let moment = Instant::now() + whole.mul_f64(share);
        let mut started = Vec::new();
        while Instant::now() < moment && child.try_wait().unwrap().is_none() {
            started = descendants(child.id());
            std::thread::yield_now();
        }
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        let left = left(&started, &temp, LIMIT);
        assert!(left.is_empty(), "round {round}: still there after {LIMIT:?}: {left:?}");
    }
    let mut bundles = 0;
    for entry in fs::read_dir(evidence.join("runs")).unwrap().flatten() {
        if !entry.file_name().to_string_lossy().ends_with(".partial") {
            bundles += 1;
            let rechecked = engine::recheck(&entry.path());
            assert!(rechecked.is_ok(), "half of {}: {rechecked:?}", entry.path().display());
        }
    }
    println!("{rounds} rounds, {killed} killed while they ran, {bundles} bundles, all whole, no process left");
    assert!(killed * 2 > rounds, "most kills came too late to say anything");
    // The next run takes away what is left.
    assert_eq!(run().wait().unwrap().code(), Some(0));
    let half = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".partial");
    let names = |of: &std::path::Path| {
        fs::read_dir(of)
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect::<Vec<_>>()
    };
    assert!(
        !names(&evidence.join("runs")).iter().any(half),
        "bundles that will never be one"
    );
    assert_eq!(names(&temp), [] as [&str; 0], "directories of browsers that are gone");
}
