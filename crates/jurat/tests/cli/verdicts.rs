//! Verdicts of real runs.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{Desk, Done, PAGE, assert_valid, passed, serve};

#[test]
fn a_pass_is_exit_0_and_one_valid_object() {
    assert!(passed().join("seal.json").is_file());
}

#[test]
fn a_fail_is_exit_1_and_nothing_of_the_page_drives_the_terminal() {
    let (desk, hostile) = (
        Desk::new(),
        "\u{1b}[31mred\u{1b}]0;title\u{7}\u{202e}drow\u{200b}\u{9b}2J",
    );
    let site = serve(&format!("{PAGE}<p id=said>{hostile}</p><title>{hostile}</title>"));
    let rest = "steps:\n  - navigate: /\nexpect:\n  - { id: said, text_equals: { css: '#said', value: other } }\nbudget: { step: 1s }";
    let contract = desk.contract("fails", &site.origin(), rest);
    let done = desk.verify(&contract, &["--color", "never", "-vv"]).exits(1);
    assert!(done.out.is_empty(), "{}", done.out);
    assert!(
        done.err.contains("FAIL") && done.err.contains("text_differs") && done.err.contains("red"),
        "{}",
        done.err
    );
    let raw: Vec<char> = done
        .err
        .chars()
        .filter(|c| (c.is_control() && *c != '\n') || "\u{202e}\u{200b}".contains(*c))
        .collect();
    assert!(raw.is_empty(), "{raw:?} in {}", done.err);
    assert!(done.err.contains("confinement lane"), "the level is told: {}", done.err);
}

#[test]
fn nobody_at_the_target_is_inconclusive() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let desk = Desk::new();
    let contract = desk.contract("c", &format!("http://127.0.0.1:{port}"), "steps:\n  - navigate: /");
    let result = desk.verify(&contract, &["--json"]).exits(2).json();
    assert_valid(&result);
    assert_eq!(result["runs"][0]["criteria"][0]["reasons"][0], "target_unreachable");
}

#[test]
fn an_interrupt_seals_what_was_seen() {
    let (desk, site) = (Desk::new(), serve(PAGE));
    let rest = "steps:\n  - navigate: /\n  - expect: { visible: { text: never } }\nbudget: { step: 60s }";
    let contract = desk.contract("waits", &site.origin(), rest);
    let child = desk.spawn(&["verify", contract.to_str().unwrap(), "--json"]);
    let limit = Instant::now() + Duration::from_mins(1);
    while site.hits().is_empty() {
        assert!(Instant::now() < limit, "the page is never asked for");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let done = Done::of(child.wait_with_output().unwrap()).exits(2);
    let result = done.json();
    assert_valid(&result);
    let run = &result["runs"][0];
    assert!(
        run["reasons"].as_array().unwrap().iter().any(|r| r == "cancelled"),
        "{run}"
    );
    assert_eq!(run["processes_left"], 0);
    let bundle = Path::new(run["bundle"].as_str().unwrap());
    assert!(bundle.join("seal.json").is_file());
    desk.jurat(&["recheck", bundle.to_str().unwrap()]).exits(2);
}

#[test]
fn several_contracts_are_one_result_in_their_order() {
    let (desk, site) = (Desk::new(), serve(PAGE));
    let a = desk.contract("a", &site.origin(), "expect:\n  - title_equals: Notes");
    let b = desk.contract(
        "b",
        &site.origin(),
        "expect:\n  - title_equals: Other\nbudget: { step: 1s }",
    );
    let report = desk.dir.path().join("all.json");
    let (a, b, to) = (
        a.to_str().unwrap(),
        b.to_str().unwrap(),
        format!("json={}", report.display()),
    );
    let args = [
        "verify", a, b, "--json", "--jobs", "2", "--repeat", "2", "--report", &to,
    ];
    let result = desk.jurat(&args).exits(1).json();
    assert_valid(&result);
    let runs: Vec<_> = result["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["contract"].as_str().unwrap(), r["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(runs, [(a, "pass"), (a, "pass"), (b, "fail"), (b, "fail")]);
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(written, result);
}
