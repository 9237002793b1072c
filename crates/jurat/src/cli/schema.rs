//! `jurat schema`.

use super::args::{Schema, SchemaKind};
use super::exit::Exit;
use super::printer::Printer;

pub(super) fn run(args: &Schema, printer: Printer) -> Exit {
    let value = match args.kind {
        SchemaKind::Contract => jurat_core::contract::schema(),
        SchemaKind::Result => jurat_core::result::schema(),
        SchemaKind::Reasons => reasons(),
    };
    printer.data(&format!("{value:#}"));
    Exit::Pass
}

/// The closed list of reasons, with what they mean and what to do.
fn reasons() -> serde_json::Value {
    use jurat_core::reason::{ReasonClass, ReasonDetail};
    let classes: Vec<_> = ReasonClass::ALL
        .iter()
        .map(|c| {
            serde_json::json!({
                "class": c.as_str(),
                "outcome": if c.is_fail() { "fail" } else { "inconclusive" },
                "meaning": c.sentence(),
                "advice": c.advice(),
            })
        })
        .collect();
    let details: Vec<_> = ReasonDetail::ALL
        .iter()
        .map(|d| serde_json::json!({ "detail": d.as_str(), "meaning": d.sentence() }))
        .collect();
    serde_json::json!({ "schema": "jurat.reasons/1", "classes": classes, "details": details })
}
