//! `jurat recheck`.

use jurat_core::result::{RunEntry, RunNames, RunResult};

use super::args::Recheck;
use super::exit::Exit;
use super::printer::Printer;
use super::verify::say_verdict;
use crate::engine;

pub(super) fn run(args: &Recheck, printer: Printer) -> Exit {
    let checked = engine::recheck(&args.bundle).and_then(|checked| match &args.source {
        Some(folder) => engine::recheck_source(&args.bundle, folder).map(|()| checked),
        None => Ok(checked),
    });
    match checked {
        Ok(checked) => {
            let verdict = &checked.verdict;
            if args.json {
                let names = RunNames {
                    contract: checked.contract_name.clone(),
                    run_id: checked.run_id.clone(),
                    bundle: checked.bundle.display().to_string(),
                };
                let result = RunResult::new(vec![RunEntry::new(names, verdict)], [verdict.verdict]);
                printer.data(&serde_json::to_string(&result).unwrap_or_default());
            } else {
                printer.say("The bundle is whole, and its verdict follows from what it holds.");
                say_verdict(printer, &checked.contract_name, verdict, &checked.bundle);
            }
            Exit::from(verdict.verdict)
        }
        Err(error) => {
            let hint = match &error {
                engine::RecheckError::Source(_) => {
                    "name the folder that the app was started from, or verify this one with `jurat verify`"
                }
                _ => "this bundle proves nothing; run `jurat verify` again",
            };
            printer.error(&error.to_string(), Some(hint));
            Exit::Refused
        }
    }
}
