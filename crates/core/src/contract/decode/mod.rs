//! The tree into the types: every rule of a contract that needs nothing but the contract.

mod criteria;
mod cursor;
mod emulate;
mod expectation;
mod ids;
mod keyboard;
mod limits;
mod locator;
mod nearest;
mod number;
mod roles;
mod selector;
mod start;
mod step;
mod target;
mod urls;
mod viewport;

pub(crate) use expectation::NAMES as EXPECTATIONS;
pub use keyboard::KEY_NAMES;
pub use roles::ROLES;
pub(crate) use step::NAMES as STEPS;
pub use urls::{TargetUrlError, target_url};

use cursor::{Cursor, Problems};
use urls::Origins;

use super::error::ContractErrors;
use super::model::{Contract, ContractVersion, Emulate, Target, Viewport};
use super::text::{Node, quoted};
use super::{Budget, Capture, ParseOptions};

/// The fields of a contract.
const FIELDS: &[&str] = &[
    "jurat",
    "name",
    "target",
    "viewports",
    "emulate",
    "steps",
    "expect",
    "checks",
    "accept",
    "budget",
    "capture",
];

/// The longest name of a contract, in characters.
const MOST_NAME: usize = 200;
/// The longest acceptance prompt, in bytes.
const MOST_ACCEPT: usize = 4096;

/// Decodes a whole contract.
pub(super) fn contract(root: &Node, options: &ParseOptions) -> Result<Contract, ContractErrors> {
    let mut problems = Problems::default();
    let decoded = whole(&Cursor::root(root), options, &mut problems);
    let mut errors = problems.0.into_iter();
    match (errors.next(), decoded) {
        (None, Some(contract)) => Ok(contract),
        (Some(first), _) => Err(ContractErrors::new(first, errors.collect())),
        (None, None) => {
            // Every decoder that gives nothing has said why; were one to forget, the contract is still refused.
            let mut problems = Problems::default();
            problems.push(root.at, "", "the contract could not be read", "");
            let mut errors = problems.0.into_iter();
            match errors.next() {
                Some(first) => Err(ContractErrors::new(first, errors.collect())),
                None => unreachable!("one was pushed above"),
            }
        }
    }
}

fn whole(root: &Cursor<'_>, options: &ParseOptions, problems: &mut Problems) -> Option<Contract> {
    let mark = problems.mark();
    let mut fields = root.fields(problems, "a contract begins with: jurat: contract/1")?;
    let version = fields
        .required("jurat", problems, "write on the first line: jurat: contract/1")
        .and_then(|c| version(&c, problems));
    let name = fields
        .required("name", problems, "say in one line what is proven")
        .and_then(|c| name(&c, problems));
    let target = fields
        .required("target", problems, "write: target: { url: http://127.0.0.1:4173/ }")
        .and_then(|c| target::target(&c, options, problems));
    let origins = Origins::of(target.as_ref());
    let viewports = match fields.take("viewports") {
        Some(c) => viewport::viewports(&c, problems),
        None => Some(vec![Viewport::desktop()]),
    };
    let emulate = match fields.take("emulate") {
        Some(c) => emulate::emulate(&c, problems),
        None => Some(Emulate::default()),
    };
    let mut ids = ids::Ids::default();
    let steps = match fields.take("steps") {
        Some(c) => step::steps(&c, &origins, &mut ids, problems),
        None => Some(Vec::new()),
    };
    let expect = match fields.take("expect") {
        Some(c) => expectation::end_expectations(&c, &origins, &mut ids, problems),
        None => Some(Vec::new()),
    };
    let checks = match fields.take("checks") {
        Some(c) => criteria::checks(&c, problems),
        None => Some(Vec::new()),
    };
    let accept = match fields.take("accept") {
        Some(c) => accept(&c, problems).map(Some),
        None => Some(None),
    };
    let budget = match fields.take("budget") {
        Some(c) => limits::budget(&c, problems),
        None => Some(Budget::default()),
    };
    let capture = match fields.take("capture") {
        Some(c) => limits::capture(&c, problems),
        None => Some(Capture::default()),
    };
    let at = fields.at;
    if !fields.finish(problems, "a contract", FIELDS) || !problems.clean(mark) {
        return None;
    }
    let contract = Contract {
        jurat: version?,
        name: name?,
        target: target?,
        viewports: viewports?,
        emulate: emulate?,
        steps: steps?,
        expect: expect?,
        checks: checks?,
        accept: accept?,
        budget: budget?,
        capture: capture?,
    };
    if evaluates_nothing(&contract) {
        problems.push(
            at,
            "",
            "nothing would be evaluated",
            "give it steps, expect, checks, accept or target.http: at least one of them",
        );
        return None;
    }
    Some(contract)
}

fn evaluates_nothing(contract: &Contract) -> bool {
    let Target { http, .. } = &contract.target;
    contract.steps.is_empty()
        && contract.expect.is_empty()
        && contract.checks.is_empty()
        && contract.accept.is_none()
        && http.is_empty()
}

fn version(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<ContractVersion> {
    match cursor.text(problems)? {
        "contract/1" => Some(ContractVersion::V1),
        other => cursor.wrong(
            problems,
            format!("{} is no version that this jurat reads", quoted(other)),
            "write: jurat: contract/1",
        ),
    }
}

fn name(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let name = cursor.some_text(problems)?;
    if name.chars().any(char::is_control) {
        return cursor.wrong(
            problems,
            "a name is one line of text",
            "leave line breaks and control characters out",
        );
    }
    if name.chars().count() > MOST_NAME {
        return cursor.wrong(
            problems,
            "the name is too long",
            format!("write at most {MOST_NAME} characters"),
        );
    }
    Some(name)
}

fn accept(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let prompt = cursor.some_text(problems)?;
    if prompt.len() > MOST_ACCEPT {
        return cursor.wrong(
            problems,
            format!("the prompt has {} bytes", prompt.len()),
            format!("write at most {MOST_ACCEPT} bytes"),
        );
    }
    Some(prompt)
}
