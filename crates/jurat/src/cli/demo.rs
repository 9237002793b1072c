//! `jurat demo`: the bundled notes app and its broken twins, end to end.

use std::path::PathBuf;

use jurat_core::contract::{Contract, Format, ParseOptions, parse};
use jurat_core::outcome::Answer;
use serde::{Deserialize, Serialize};

use super::args::Demo;
use super::exit::Exit;
use super::printer::{Look, Printer};
use super::settings;
use super::site::Sites;
use super::verify::{look_of, verify};
use crate::engine::{Job, RunReport};

const APP: &str = include_str!("../../demo/app/index.html");
const CONTRACT: &str = include_str!("../../demo/notes.yaml");
const TWINS: &str = include_str!("../../demo/twins.json");

/// The broken twins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Twins {
    #[serde(rename = "contract")]
    _contract: String,
    #[serde(rename = "app")]
    _app: String,
    #[serde(rename = "twins")]
    all: Vec<Twin>,
}

/// One broken twin: the app with one thing changed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Twin {
    name: String,
    title: String,
    broken: String,
    find: String,
    replace: String,
    verdict: Answer,
    reason: String,
    #[serde(rename = "criterion")]
    _criterion: Option<String>,
}

/// One row of the table.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    title: String,
    broken: Option<String>,
    expected: Answer,
    given: Answer,
    reasons: Vec<String>,
    as_expected: bool,
    bundle: PathBuf,
}

/// What is to be shown of one variant.
struct Variant {
    name: String,
    title: String,
    broken: Option<String>,
    expected: Answer,
    reason: Option<String>,
    page: String,
}

pub(super) fn run(args: &Demo, printer: Printer) -> Exit {
    let mut settings = match settings::of(&args.running) {
        Ok(settings) => settings,
        Err(error) => {
            printer.error(&error, None);
            return Exit::Environment;
        }
    };
    settings.jobs = usize::from(args.jobs);
    let (contract, variants) = match (bundled_contract(), variants()) {
        (Ok(contract), Ok(variants)) => (contract, variants),
        (Err(error), _) | (_, Err(error)) => {
            printer.error(&error, None);
            return Exit::Bug;
        }
    };
    let sites = match Sites::serve(variants.iter().map(|v| v.page.clone()).collect()) {
        Ok(sites) => sites,
        Err(error) => {
            printer.error(&format!("the bundled app could not be served: {error}"), None);
            return Exit::Environment;
        }
    };
    printer.say(&format!(
        "The notes app and {} broken twins, each in a fresh context of one browser.",
        variants.len() - 1
    ));
    let jobs = variants
        .iter()
        .zip(sites.urls())
        .map(|(variant, url)| Job {
            contract: contract.clone(),
            name: variant.name.clone(),
            folder: PathBuf::new(),
            url: Some(url),
        })
        .collect();
    let reports = match verify(jobs, &settings, printer, Talk::Progress) {
        Ok(reports) => reports,
        Err(exit) => return exit,
    };
    let rows: Vec<Row> = variants
        .into_iter()
        .zip(&reports)
        .map(|(variant, report)| row(variant, report))
        .collect();
    let good = rows.iter().all(|r| r.as_expected);
    if args.json {
        let all = serde_json::json!({ "schema": "jurat.demo/1", "as_expected": good, "rows": rows });
        printer.data(&all.to_string());
    } else {
        table(printer, &rows);
        if let (Some(first), Some(second)) = (rows.first(), rows.get(1)) {
            printer.say("");
            printer.say(&format!(
                "A report of a pass:  {}",
                first.bundle.join("report.html").display()
            ));
            printer.say(&format!(
                "A report of a fail:  {}",
                second.bundle.join("report.html").display()
            ));
            printer.say(&format!(
                "Check one again:     jurat recheck {}",
                first.bundle.display()
            ));
        }
        let level = reports
            .first()
            .and_then(|r| r.verdict.confinement.level)
            .map_or("none", |l| l.as_str());
        printer.say(&printer.paint(
            Look::Dim,
            &format!("confinement {level}, accepted {}", settings.accept_confinement),
        ));
    }
    if good { Exit::Pass } else { Exit::Fail }
}

pub(super) use super::verify::Talk;

/// The contract that the app and its twins are held to.
pub(super) fn bundled_contract() -> Result<Contract, String> {
    parse(CONTRACT, Format::Yaml, &ParseOptions::default())
        .map_err(|errors| errors.render("demo/notes.yaml", CONTRACT).to_string())
}

fn variants() -> Result<Vec<Variant>, String> {
    let twins: Twins = serde_json::from_str(TWINS).map_err(|e| format!("demo/twins.json: {e}"))?;
    let mut all = vec![Variant {
        name: "notes".into(),
        title: "The notes app as it is".into(),
        broken: None,
        expected: Answer::Pass,
        reason: None,
        page: APP.into(),
    }];
    for twin in twins.all {
        if APP.matches(&twin.find).count() != 1 {
            return Err(format!("demo/twins.json: {} changes not exactly one place", twin.name));
        }
        all.push(Variant {
            page: APP.replace(&twin.find, &twin.replace),
            name: twin.name,
            title: twin.title,
            broken: Some(twin.broken),
            expected: twin.verdict,
            reason: Some(twin.reason),
        });
    }
    Ok(all)
}

fn row(variant: Variant, report: &RunReport) -> Row {
    let verdict = &report.verdict;
    let named = variant
        .reason
        .as_ref()
        .is_none_or(|reason| verdict.reasons.contains(reason));
    Row {
        name: variant.name,
        title: variant.title,
        broken: variant.broken,
        expected: variant.expected,
        given: verdict.verdict,
        reasons: verdict.reasons.clone(),
        as_expected: verdict.verdict == variant.expected && named,
        bundle: report.bundle.clone(),
    }
}

fn table(printer: Printer, rows: &[Row]) {
    let width = rows.iter().map(|r| r.title.chars().count()).max().unwrap_or(0);
    printer.say("");
    printer.say(&printer.paint(
        Look::Strong,
        &format!("   {:width$}  {:<12}  {:<12}  why", "variant", "expected", "given"),
    ));
    for row in rows {
        let mark = if row.as_expected {
            printer.paint(Look::Good, "✓")
        } else {
            printer.paint(Look::Bad, "✗")
        };
        let given = printer.paint(look_of(row.given), &format!("{:<12}", row.given.as_str()));
        let why = row
            .broken
            .as_deref()
            .unwrap_or("everything that the contract asks for holds");
        let why = printer.paint(Look::Dim, why);
        printer.say(&format!(
            " {mark} {:width$}  {:<12}  {given}  {why}",
            row.title,
            row.expected.as_str()
        ));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_twin_changes_one_place_of_the_app() {
        let all = variants().unwrap();
        assert!(all.len() > 6);
        assert!(all[1..].iter().all(|v| v.page != APP && v.expected != Answer::Pass));
        bundled_contract().unwrap();
    }
}
