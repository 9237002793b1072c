//! The vectors of contracts: text in, ref out; and texts that are refused, each with its place.

use jurat_core::contract::{Contract, ContractErrors, Format, ParseOptions, canonical_json, contract_ref, parse};
use serde_json::Value;

pub(crate) fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/contract_refs.json")).unwrap()
}

pub(crate) fn text(value: &Value, key: &str) -> String {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {value}"))
        .to_owned()
}

pub(crate) fn format(value: &Value) -> Format {
    if value["format"] == "json" {
        Format::Json
    } else {
        Format::Yaml
    }
}

pub(crate) fn read(text: &str, format: Format) -> Result<Contract, ContractErrors> {
    parse(text, format, &ParseOptions::default())
}

#[test]
fn the_same_contract_has_one_ref_however_it_is_written() {
    let mut wrong = Vec::new();
    let mut refs = Vec::new();
    for group in vectors()["same"].as_array().unwrap() {
        let name = text(group, "name");
        refs.push(text(group, "contract_ref"));
        for (i, variant) in group["variants"].as_array().unwrap().iter().enumerate() {
            match read(&text(variant, "text"), format(variant)) {
                Err(e) => wrong.push(format!("{name}, variant {i}: {e}")),
                Ok(contract) => {
                    let bytes = String::from_utf8(canonical_json(&contract)).unwrap();
                    if bytes != text(group, "canonical") {
                        wrong.push(format!("{name}, variant {i}:\n{bytes}\n{}", text(group, "canonical")));
                    }
                    assert_eq!(
                        contract_ref(&contract).as_str(),
                        text(group, "contract_ref"),
                        "{name}, variant {i}"
                    );
                    assert_eq!(
                        read(&bytes, Format::Json).as_ref(),
                        Ok(&contract),
                        "{name}: the bytes are a contract"
                    );
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    refs.sort();
    let groups = refs.len();
    refs.dedup();
    assert_eq!(refs.len(), groups, "different contracts have different refs");
}

#[test]
fn what_is_wrong_is_refused_where_it_stands() {
    let mut wrong = Vec::new();
    for vector in vectors()["refused"].as_array().unwrap() {
        let name = text(vector, "name");
        let source = text(vector, "text");
        let Err(errors) = read(&source, format(vector)) else {
            wrong.push(format!("{name}: accepted"));
            continue;
        };
        let found = errors.iter().any(|e| {
            Some(e.line as u64) == vector["line"].as_u64()
                && Some(e.column as u64) == vector["column"].as_u64()
                && e.path == text(vector, "path")
                && e.message.contains(&text(vector, "says"))
                && e.hint.as_deref().unwrap_or_default().contains(&text(vector, "hint"))
        });
        if !found {
            wrong.push(format!(
                "{name}: expected {}:{} {:?} {:?} {:?}\n{}",
                vector["line"],
                vector["column"],
                text(vector, "path"),
                text(vector, "says"),
                text(vector, "hint"),
                errors.render("c", &source)
            ));
        }
        if errors.iter().count() > 1 {
            wrong.push(format!(
                "{name}: one mistake, several errors\n{}",
                errors.render("c", &source)
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn many_mistakes_are_told_at_once_in_the_order_of_the_text() {
    let source = "jurat: contract/1\nname: n\ntarget: { url: ftp://x/ }\nsteps:\n  - clik: {}\n  - fill: { label: x }\n  - press: { key: entr }\nchecks: []\n";
    let errors = read(source, Format::Yaml).unwrap_err();
    let places: Vec<_> = errors.iter().map(|e| (e.line, e.path.as_str())).collect();
    assert_eq!(
        places,
        [
            (3, "target.url"),
            (5, "steps[0]"),
            (6, "steps[1].fill"),
            (7, "steps[2].press.key"),
            (8, "checks")
        ]
    );
    let rendered = errors.render("notes.yaml", source).to_string();
    assert!(rendered.contains("notes.yaml:5:5: steps[0]: \"clik\" is no step\n  5 |   - clik: {}\n    |     ^\n    = did you mean \"click\"?\n"), "{rendered}");
}

#[test]
fn a_remote_target_needs_permission() {
    let source = "jurat: contract/1\nname: n\ntarget: { url: https://example.com/ }\nsteps: [{ navigate: / }]\n";
    assert!(read(source, Format::Yaml).is_err());
    let contract = parse(
        source,
        Format::Yaml,
        &ParseOptions {
            allow_remote_target: true,
        },
    )
    .unwrap();
    assert_eq!(contract.target.url, "https://example.com/");
}

#[test]
fn what_is_not_built_yet_is_named() {
    let group = vectors();
    let all = group["same"]
        .as_array()
        .unwrap()
        .iter()
        .find(|g| text(g, "name").starts_with("every field"))
        .unwrap();
    let contract = read(&text(all, "canonical"), Format::Json).unwrap();
    let fields: Vec<&str> = contract.not_built_yet().iter().map(|(field, _)| *field).collect();
    assert_eq!(fields, ["checks", "accept"]);
    let first = read(&text(&group["same"][0], "canonical"), Format::Json).unwrap();
    assert!(first.not_built_yet().is_empty());
}

#[test]
fn the_format_follows_the_name_or_the_text() {
    assert_eq!(Format::of("a.json", "jurat: x"), Format::Json);
    assert_eq!(Format::of("a.yaml", "jurat: x"), Format::Yaml);
    assert_eq!(Format::of("a.yaml", " \n{\"jurat\": 1}"), Format::Json);
    assert_eq!(Format::of("-", "steps: []"), Format::Yaml);
}

#[test]
fn a_great_text_is_refused() {
    let source = format!("jurat: contract/1\nname: {}\n", "n".repeat(1 << 20));
    assert!(
        read(&source, Format::Yaml)
            .unwrap_err()
            .to_string()
            .contains("too many")
    );
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(70), close.repeat(70));
        assert!(
            read(&deep, Format::Json)
                .unwrap_err()
                .to_string()
                .contains("nested deeper")
        );
        assert!(
            read(&deep, Format::Yaml)
                .unwrap_err()
                .to_string()
                .contains("nested deeper")
        );
    }
}
