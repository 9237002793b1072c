//! Whatever is done to a bundle is found, and the file is named.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{CONTRACT, name, run_id, sample};
use jurat_core::canon::Digest;
use jurat_core::outcome::Answer;
use jurat_evidence::{AuditError, Bundle, Class, Contents, Kind, Limits, Problem, Root, WriteError, Writer};

type Files = BTreeMap<String, Vec<u8>>;

/// Every file below a directory, by relative path.
fn files(path: &Path) -> Files {
    fn walk(base: &Path, at: PathBuf, into: &mut Files) {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(base, path, into);
            } else {
                let name = path.strip_prefix(base).unwrap().to_str().unwrap().to_owned();
                into.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    let mut into = BTreeMap::new();
    walk(path, path.to_owned(), &mut into);
    into
}

fn refused(files: &Files) -> AuditError {
    Bundle::from_memory(files.clone()).expect_err("it was accepted")
}

#[test]
fn a_sound_bundle_gives_back_what_was_written() {
    let (_temp, _root, sealed) = sample();
    let bundle = Bundle::open(&sealed.path).unwrap();
    assert_eq!(bundle.contract(), CONTRACT);
    assert_eq!(bundle.plan(), br#"{"plan":1}"#);
    assert_eq!(
        bundle.blob(&Digest::of(b"not really a picture")).unwrap(),
        b"not really a picture"
    );
    assert_eq!(bundle.predicate().verdict, Answer::Pass);
    assert_eq!(bundle.predicate().contract_ref, Digest::of(CONTRACT));
    assert_eq!(bundle.predicate().plan_digest, Digest::of(bundle.plan()));
    assert_eq!(*bundle.manifest_digest(), sealed.manifest);
    assert_eq!(bundle.manifest().run_id, run_id(1));
    assert_eq!(bundle.file("seal.json"), None);
    assert_eq!(
        bundle.report(),
        format!("<!doctype html>{}", bundle.statement_text().len()).as_bytes()
    );
    let cut = bundle
        .manifest()
        .entries
        .iter()
        .find(|entry| entry.kind == Kind::Body)
        .unwrap();
    assert_eq!((cut.bytes, cut.cut_from), (13, Some(1000)));
    assert_eq!(bundle.manifest().entries.len(), 7);
}

#[test]
fn every_flipped_byte_is_found_and_its_file_named() {
    let (_temp, _root, sealed) = sample();
    let sound = files(&sealed.path);
    assert_eq!(sound.len(), 11);
    for (file, bytes) in &sound {
        for at in 0..bytes.len() {
            let mut broken = sound.clone();
            broken.get_mut(file).unwrap()[at] ^= 1 << (at % 8);
            let error = refused(&broken);
            assert_eq!(error.findings()[0].file, *file, "byte {at} of {file}: {error}");
            assert_eq!(error.findings().len(), 1, "byte {at} of {file}: {error}");
            assert!(error.to_string().starts_with(file.as_str()), "{error}");
        }
    }
}

#[test]
fn every_lost_added_renamed_cut_and_grown_file_is_named() {
    let (_temp, _root, sealed) = sample();
    let sound = files(&sealed.path);
    for (file, bytes) in &sound {
        let change = |change: &dyn Fn(&mut Files)| {
            let mut broken = sound.clone();
            change(&mut broken);
            let error = refused(&broken);
            assert_eq!(error.findings()[0].file, *file, "{error}");
            error.findings()[0].problem.clone()
        };
        assert_eq!(change(&|files| drop(files.remove(file))), Problem::Missing);
        let renamed = change(&|files| {
            let bytes = files.remove(file).unwrap();
            files.insert("zz.json".to_owned(), bytes);
        });
        let sealing = ["manifest.json", "statement.dsse.json", "report.html", "seal.json"].contains(&file.as_str());
        let expected = if sealing {
            Problem::Missing
        } else {
            Problem::Renamed {
                to: "zz.json".to_owned(),
            }
        };
        assert_eq!(renamed, expected, "{file}");

        let cut = change(&|files| files.get_mut(file).unwrap().truncate(bytes.len() - 1));
        let grown = change(&|files| files.get_mut(file).unwrap().push(b' '));
        let empty = change(&|files| files.get_mut(file).unwrap().clear());
        if file == "seal.json" {
            assert!(matches!(cut, Problem::Malformed(_)) && matches!(empty, Problem::Malformed(_)));
            assert_eq!(grown, Problem::NotCanonical);
        } else {
            let sealed = bytes.len() as u64;
            assert_eq!(
                cut,
                Problem::Length {
                    sealed,
                    found: sealed - 1
                }
            );
            assert_eq!(
                grown,
                Problem::Length {
                    sealed,
                    found: sealed + 1
                }
            );
            assert_eq!(empty, Problem::Length { sealed, found: 0 });
        }
    }
    for added in ["x.json", "blobs/x", "blobs/sha256/0", "README"] {
        let mut broken = sound.clone();
        broken.insert(added.to_owned(), b"{}".to_vec());
        let error = refused(&broken);
        assert_eq!(
            (error.findings()[0].file.as_str(), &error.findings()[0].problem),
            (added, &Problem::Added)
        );
    }
}

#[test]
fn two_files_that_changed_places_are_both_named() {
    let (_temp, _root, sealed) = sample();
    let mut broken = files(&sealed.path);
    let plan = broken.remove("plan.json").unwrap();
    let verdict = broken.insert("verdict.json".to_owned(), plan).unwrap();
    broken.insert("plan.json".to_owned(), verdict);
    let error = refused(&broken);
    assert_eq!(
        error.to_string(),
        "plan.json holds the bytes of verdict.json; verdict.json holds the bytes of plan.json"
    );
}

#[test]
fn what_a_directory_may_not_hold_is_refused_without_following_it() {
    let (temp, _root, sealed) = sample();
    let secret = temp.path().join("secret");
    std::fs::write(&secret, br#"{"plan":1}"#).unwrap();
    let problem = |change: &dyn Fn(&Path)| {
        let copy = temp.path().join("copy");
        for (file, bytes) in files(&sealed.path) {
            let to = copy.join(file);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::write(to, bytes).unwrap();
        }
        change(&copy);
        let error = Bundle::open(&copy).expect_err("it was accepted");
        std::fs::remove_dir_all(&copy).unwrap();
        (error.findings()[0].file.clone(), error.findings()[0].problem.clone())
    };
    let link = problem(&|copy| {
        std::fs::remove_file(copy.join("plan.json")).unwrap();
        std::os::unix::fs::symlink(&secret, copy.join("plan.json")).unwrap();
    });
    assert_eq!(link, ("plan.json".to_owned(), Problem::NotRegular));
    let directory = problem(&|copy| {
        std::fs::rename(copy.join("blobs"), temp.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(temp.path().join("elsewhere"), copy.join("blobs")).unwrap();
    });
    assert_eq!(directory, ("blobs".to_owned(), Problem::NotRegular));
    let pipe = problem(&|copy| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, copy.join("x"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    });
    assert_eq!(pipe, ("x".to_owned(), Problem::NotRegular));
    let extra = problem(&|copy| std::fs::create_dir(copy.join("blobs/sha256/x")).unwrap());
    assert_eq!(extra, ("blobs/sha256/x".to_owned(), Problem::Added));
    let huge = problem(&|copy| {
        let file = std::fs::File::create(copy.join("x\u{1b}[2J")).unwrap();
        file.set_len(Limits::DEFAULT.file + 1).unwrap();
    });
    assert_eq!(huge, ("x\\u{1b}[2J".to_owned(), Problem::TooLarge("too many bytes")));
    let unfinished = temp.path().join(format!("{}.partial", run_id(1)));
    std::fs::create_dir(&unfinished).unwrap();
    assert_eq!(
        Bundle::open(&unfinished).unwrap_err().findings()[0].problem,
        Problem::Unfinished
    );
    assert_eq!(
        Bundle::open(&temp.path().join("none")).unwrap_err().findings()[0].problem,
        Problem::Missing
    );
}

#[test]
fn unknown_versions_fields_and_other_spellings_are_refused_by_name() {
    let (_temp, _root, sealed) = sample();
    let sound = files(&sealed.path);
    let seal = |edit: &dyn Fn(String) -> String| {
        let mut broken = sound.clone();
        let text = String::from_utf8(broken["seal.json"].clone()).unwrap();
        broken.insert("seal.json".to_owned(), edit(text).into_bytes());
        refused(&broken).to_string()
    };
    assert_eq!(
        seal(&|text| text.replace("seal/1", "seal/2")),
        "seal.json is of version \"jurat.seal/2\"; this jurat reads \"jurat.seal/1\""
    );
    assert!(seal(&|text| text.replacen('{', "{\"a\":1,", 1)).starts_with("seal.json has an unknown field `a`"));
    assert!(seal(&|text| format!("{text}\n")).starts_with("seal.json is not in canonical form"));
    let run = run_id(1).to_string();
    let other = seal(&|text| text.replace(&run, run_id(2).as_str()));
    assert_eq!(other, "seal.json was altered: it does not agree with its own digest");
}

#[test]
fn the_writer_refuses_what_no_reader_would_take() {
    let temp = tempfile::tempdir().unwrap();
    let root = Root::open(&temp.path().join("e")).unwrap();
    let mut writer = Writer::begin(&root, &run_id(1)).unwrap();
    let contract = name("contract.json");
    writer.add(&contract, Kind::Contract, Class::Control, b"{}").unwrap();
    assert!(matches!(
        writer.add(&contract, Kind::Contract, Class::Control, b"{}"),
        Err(WriteError::Twice(_))
    ));
    let long = vec![0; usize::try_from(Limits::DEFAULT.file).unwrap() + 1];
    assert!(matches!(
        writer.add_blob(Kind::Body, Class::Observed, &long),
        Err(WriteError::TooLarge { .. })
    ));
    // The same bytes as two classes: stored once, named twice.
    writer.add_blob(Kind::Other, Class::Claim, b"same").unwrap();
    writer.add_blob(Kind::Other, Class::Observed, b"same").unwrap();
    for file in ["plan.json", "observations.jsonl", "events.jsonl"] {
        writer.add(&name(file), Kind::Other, Class::Control, b"").unwrap();
    }
    let missing = Writer::begin(&root, &run_id(2))
        .unwrap()
        .seal(Digest::of(b""), Answer::Pass, |_| Vec::new());
    assert!(matches!(missing, Err(WriteError::Incomplete("contract.json"))));
    writer
        .add(&name("verdict.json"), Kind::Verdict, Class::Control, b"")
        .unwrap();
    let sealed = writer
        .seal(Digest::of(b"{}"), Answer::Inconclusive, |_| Vec::new())
        .unwrap();
    let bundle = Bundle::open(&sealed.path).unwrap();
    assert_eq!(
        bundle
            .manifest()
            .entries
            .iter()
            .filter(|entry| entry.path.starts_with("blobs/"))
            .count(),
        2
    );
    assert_eq!(root.list().unwrap(), [run_id(1)]);
}

#[test]
fn unsafe_roots_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let temp = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let root = Root::open(&temp.path().join("a/b")).unwrap();
    assert_eq!((mode(root.path()), mode(&root.path().join("runs"))), (0o700, 0o700));

    std::os::unix::fs::symlink(root.path(), temp.path().join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", temp.path().join("dangling")).unwrap();
    std::fs::write(temp.path().join("file"), "").unwrap();
    for wrong in ["link", "dangling", "file"] {
        let error = Root::open(&temp.path().join(wrong)).unwrap_err().to_string();
        assert!(error.contains("is no directory of its own"), "{wrong}: {error}");
    }
    let open = temp.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Root::open(&open).unwrap_err().to_string().contains("chmod o-w"));
}
