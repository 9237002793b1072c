//! One honest app, again and again, while every core has other work.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::kit::{contract, json, serve};
use crate::{PAGE, REST, times};

/// `JURAT_SOAK_GOOD`, 200 in the long form: at most one in two hundred may be undecided, and none may fail.
#[test]
fn a_good_app_passes_under_load() {
    static OVER: AtomicBool = AtomicBool::new(false);
    let desk = tempfile::tempdir().unwrap();
    let site = serve(&[("/", PAGE)]);
    let file = desk.path().join("contract.yaml");
    std::fs::write(&file, contract("loaded", &site.origin(), REST)).unwrap();
    let evidence = desk.path().join("evidence");
    let runs = times("JURAT_SOAK_GOOD", 8);
    let cores = std::thread::available_parallelism().unwrap().get();
    let load: Vec<_> = (0..cores)
        .map(|_| {
            std::thread::spawn(|| {
                while !OVER.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    let mut passed = 0;
    for n in 0..runs {
        let (_, result) = json(&[
            "verify",
            file.to_str().unwrap(),
            "--json",
            "--evidence-root",
            evidence.to_str().unwrap(),
        ]);
        assert_ne!(result["verdict"], "fail", "run {n}: {result:#}");
        passed += usize::from(result["verdict"] == "pass");
    }
    OVER.store(true, Ordering::Relaxed);
    for thread in load {
        thread.join().unwrap();
    }
    println!("{passed} of {runs} passed under load, none failed");
    assert!(passed + runs / 200 >= runs, "{passed} of {runs}");
}
