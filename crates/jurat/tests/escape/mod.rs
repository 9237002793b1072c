//! The escape corpus: every route of `conformance/escape/` is run twice through the real binary, with outside listeners
//! that must not be reached.
//!
//! The broken twin tries to reach them: nothing may arrive, the run may not pass, and the attempt is recorded with its owner.
//! The clean twin is the same page aimed at the target itself, and passes. What the browser stops by itself has no twin.

mod control;

use std::path::Path;
use std::sync::Arc;

use jurat_testkit::escape::{Corpus, Route};
use jurat_testkit::outside::{Aim, Outside};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::harness::{Command, runtime, shape, verify};

/// The longest that one run may take, in seconds.
const BUDGET_S: u64 = 30;

/// The tests of the corpus in this folder.
pub(crate) fn trials(dir: &Path) -> Result<Vec<Trial>, String> {
    let corpus = Arc::new(Corpus::read(dir).map_err(|e| e.to_string())?);
    let faults = corpus.faults();
    let mut trials = vec![
        Trial::test("escape::meta::corpus_is_whole", move || {
            if faults.is_empty() {
                Ok(())
            } else {
                Err(faults.join("\n").into())
            }
        }),
        control::trial(&corpus),
    ];
    for (index, route) in corpus.routes.iter().enumerate() {
        let twins: &[(&str, Aim)] = if route.is_live() {
            &[("clean", Aim::Target), ("broken", Aim::Outside)]
        } else {
            &[("stopped", Aim::Outside)]
        };
        for &(twin, aim) in twins {
            let corpus = Arc::clone(&corpus);
            let name = format!("escape::{}::{twin}::{}", route.name, route.browser.name());
            trials.push(Trial::test(name, move || {
                runtime().block_on(run(&corpus, &corpus.routes[index], aim, twin))
            }));
        }
    }
    Ok(trials)
}

async fn run(corpus: &Corpus, route: &Route, aim: Aim, twin: &str) -> Result<(), Failed> {
    let outside = Outside::start(corpus.content(route), corpus.site(), aim).await?;
    let site = outside.site();
    let said = verify(Command {
        contract: &corpus.contract(),
        url: &format!("{}/", site.origin()),
        browser: route.browser,
        keep_as: &format!("escape-{}-{twin}", route.name),
        budget_s: BUDGET_S,
    })
    .await?;
    let one = &said.result["runs"][0];
    let mut faults = shape(&said.result, said.exit);
    match aim {
        Aim::Outside => faults.extend(route.faults(one, |text| site.render(text))),
        Aim::Target => faults.extend(faults_of_clean(one)),
    }
    let hits = outside.hits();
    if !hits.is_empty() {
        faults.push(format!("it reached {hits:?}; strangers: {:?}", site.strangers()));
    }
    said.conclude(&faults)
}

fn faults_of_clean(run: &Value) -> Option<String> {
    (run["verdict"] != "pass" || run["violations"].as_array().is_none_or(|v| !v.is_empty()))
        .then(|| "the clean twin does not pass without a violation".to_owned())
}
