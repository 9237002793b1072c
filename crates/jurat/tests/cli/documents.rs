//! What is written about the command, held against the command.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jurat_core::contract::{Format, ParseOptions, as_json, parse};

use crate::kit::Desk;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const COMMANDS: [&str; 7] = ["verify", "demo", "recheck", "report", "init", "doctor", "schema"];

/// The long flags in a help text.
fn flags(help: &str) -> BTreeSet<String> {
    let is_flag = |c: char| c.is_ascii_lowercase() || c == '-';
    help.split("--")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| is_flag(*c)).collect::<String>())
        .filter(|name| name.len() > 1)
        .map(|name| format!("--{}", name.trim_end_matches('-')))
        .collect()
}

#[test]
fn every_flag_is_in_the_documentation() {
    let desk = Desk::new();
    let text = fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let mut all = flags(&desk.jurat(&["--help"]).exits(0).out);
    for command in COMMANDS {
        assert!(text.contains(&format!("jurat {command}")), "{command}");
        let of_one = flags(&desk.jurat(&[command, "--help"]).exits(0).out);
        assert!(!of_one.is_empty());
        all.extend(of_one);
    }
    let missing: Vec<_> = all.iter().filter(|flag| !text.contains(&format!("`{flag}"))).collect();
    assert!(missing.is_empty(), "not in docs/cli.md: {missing:?}");
    let invented: Vec<_> = flags(&text)
        .into_iter()
        .filter(|flag| !all.contains(flag) && flag != "--shm-size")
        .collect();
    assert!(invented.is_empty(), "in docs/cli.md and no flag: {invented:?}");
}

#[test]
fn every_contract_in_the_documentation_is_one() {
    let text = fs::read_to_string(root().join("docs/contract.md")).unwrap();
    let mut whole = 0;
    for block in text
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
    {
        // A whole contract, or steps, or expectations, or other fields: completed to a contract.
        let full = if block.starts_with("jurat:") {
            whole += 1;
            block.to_owned()
        } else {
            let head = "jurat: contract/1\nname: x\n";
            let target = if block.contains("\ntarget:") || block.starts_with("target:") {
                ""
            } else {
                "target: { url: http://127.0.0.1:4173/ }\n"
            };
            let tail = if ["steps:", "expect:", "checks:", "accept:", "  http:"]
                .iter()
                .any(|k| block.starts_with(k) || block.contains(&format!("\n{k}")))
            {
                ""
            } else {
                "steps: [{ navigate: / }]\n"
            };
            format!("{head}{target}{block}{tail}")
        };
        if let Err(errors) = parse(&full, Format::Yaml, &ParseOptions::default()) {
            panic!("{}", errors.render("docs/contract.md", &full));
        }
    }
    assert!(whole > 0);
}

#[test]
fn the_schema_holds_for_every_example() {
    let schema = Desk::new().jurat(&["schema", "contract"]).exits(0).json();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut examples = 0;
    for folder in fs::read_dir(root().join("examples")).unwrap() {
        let path = folder.unwrap().path().join("contract.yaml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        examples += 1;
        let value = as_json(&text, Format::Yaml).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| format!("{e} at {}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {}", path.display(), errors.join("\n"));
        parse(&text, Format::Yaml, &ParseOptions::default()).unwrap();
    }
    assert!(examples >= 5);
}

#[test]
fn reasons_are_a_closed_list() {
    let reasons = Desk::new().jurat(&["schema", "reasons"]).exits(0).json();
    let classes = reasons["classes"].as_array().unwrap();
    assert!(
        classes
            .iter()
            .any(|c| c["class"] == "expectation_not_met" && c["outcome"] == "fail")
    );
    let text = fs::read_to_string(root().join("docs/contract.md")).unwrap();
    for class in classes {
        let name = class["class"].as_str().unwrap();
        assert!(text.contains(&format!("`{name}`")), "{name} is not in docs/contract.md");
    }
}
