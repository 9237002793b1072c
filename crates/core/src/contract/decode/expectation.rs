//! Expectations.

use super::cursor::{Cursor, Fields, Problems, did_you_mean_or_list};
use super::ids::Ids;
use super::locator::{self, fields_with};
use super::urls::{Origins, Tail, page_url, path};
use crate::contract::text::quoted;
use crate::contract::{
    AriaAt, AttributeAt, CountAt, Empty, EndExpectation, Expectation, Locator, RequestMade, ValueAt,
};

/// Every expectation by its key.
pub(crate) const NAMES: &[&str] = &[
    "visible",
    "hidden",
    "present",
    "absent",
    "text_equals",
    "text_contains",
    "value_equals",
    "attribute_equals",
    "count",
    "checked",
    "url_is",
    "url_prefix",
    "title_equals",
    "aria_snapshot",
    "request",
    "console_clean",
];

/// What people write for an expectation.
const MISTAKEN: &[(&str, &str)] = &[
    ("exists", "present"),
    ("gone", "absent"),
    ("text", "text_contains"),
    ("contains", "text_contains"),
    ("has_text", "text_contains"),
    ("url", "url_is"),
    ("title", "title_equals"),
    ("value", "value_equals"),
    ("attribute", "attribute_equals"),
    ("not_visible", "hidden"),
    ("invisible", "hidden"),
    ("snapshot", "aria_snapshot"),
    ("no_console_errors", "console_clean"),
];

const HINT: &str = "write one expectation, such as { visible: { text: Saved } }";

/// What stands under `expect:` at the top.
pub(super) fn end_expectations(
    cursor: &Cursor<'_>,
    origins: &Origins,
    ids: &mut Ids,
    problems: &mut Problems,
) -> Option<Vec<EndExpectation>> {
    let mark = problems.mark();
    let mut list = Vec::new();
    for item in cursor.some_items(problems, HINT)? {
        let Some(mut fields) = item.fields(problems, HINT) else {
            continue;
        };
        let id = match fields.take("id") {
            Some(c) => ids.id(&c, problems).map(Some),
            None => Some(None),
        };
        let expectation = one(fields, origins, &["id"], problems);
        if let (Some(id), Some(expectation)) = (id, expectation) {
            list.push(EndExpectation { id, expectation });
        }
    }
    problems.clean(mark).then_some(list)
}

/// A map that is nothing but an expectation.
pub(super) fn alone(cursor: &Cursor<'_>, origins: &Origins, problems: &mut Problems) -> Option<Expectation> {
    let fields = cursor.fields(problems, HINT)?;
    one(fields, origins, &[], problems)
}

/// The one expectation among the fields that are left; `beside` may stand there too.
fn one(
    mut fields: Fields<'_>,
    origins: &Origins,
    beside: &[&'static str],
    problems: &mut Problems,
) -> Option<Expectation> {
    let mut found = fields.take_any(NAMES).into_iter();
    let first = found.next();
    let mut whole = true;
    for (second, at, _) in found {
        let key = first.as_ref().map_or("", |(key, _, _)| *key);
        problems.push(
            at,
            &fields.path,
            format!("\"{key}\" and \"{second}\" are two expectations"),
            "make them two entries of the list",
        );
        whole = false;
    }
    for key in fields.take_any(MISTAKEN_KEYS) {
        let meant = MISTAKEN
            .iter()
            .find(|(written, _)| *written == key.0)
            .map_or("", |(_, meant)| *meant);
        problems.push(
            key.1,
            &fields.path,
            format!("\"{}\" is no expectation", key.0),
            format!("did you mean \"{meant}\"?"),
        );
        whole = false;
    }
    let known: Vec<&str> = NAMES.iter().chain(beside).copied().collect();
    if first.is_none() && whole {
        let left: Vec<&str> = fields.keys().collect();
        let message = match left.first() {
            Some(key) => format!("{} is no expectation", quoted(key)),
            None => "there is no expectation".into(),
        };
        let hint = left
            .first()
            .map_or_else(|| HINT.to_owned(), |key| did_you_mean_or_list(key, &known));
        return fields.wrong_at(left.first().copied().unwrap_or_default(), problems, message, hint);
    }
    whole &= fields.finish(problems, "an expectation", &known);
    let (key, _, cursor) = first?;
    let decoded = value(key, &cursor, origins, problems);
    if whole { decoded } else { None }
}

/// The first halves of [`MISTAKEN`].
const MISTAKEN_KEYS: &[&str] = &{
    let mut keys = [""; MISTAKEN.len()];
    let mut i = 0;
    while i < keys.len() {
        keys[i] = MISTAKEN[i].0;
        i += 1;
    }
    keys
};

fn value(key: &str, cursor: &Cursor<'_>, origins: &Origins, problems: &mut Problems) -> Option<Expectation> {
    match key {
        "visible" => locator::alone(cursor, problems).map(Expectation::Visible),
        "hidden" => locator::alone(cursor, problems).map(Expectation::Hidden),
        "present" => locator::alone(cursor, problems).map(Expectation::Present),
        "absent" => locator::alone(cursor, problems).map(Expectation::Absent),
        "checked" => locator::alone(cursor, problems).map(Expectation::Checked),
        "text_equals" => value_at(cursor, true, problems).map(Expectation::TextEquals),
        "text_contains" => value_at(cursor, false, problems).map(Expectation::TextContains),
        "value_equals" => value_at(cursor, true, problems).map(Expectation::ValueEquals),
        "attribute_equals" => attribute(cursor, problems).map(Expectation::AttributeEquals),
        "count" => count(cursor, problems).map(Expectation::Count),
        "url_is" => page_url(cursor, origins, problems).map(Expectation::UrlIs),
        "url_prefix" => page_url(cursor, origins, problems).map(Expectation::UrlPrefix),
        "title_equals" => cursor.text(problems).map(|t| Expectation::TitleEquals(t.to_owned())),
        "aria_snapshot" => aria(cursor, problems).map(Expectation::AriaSnapshot),
        "request" => request(cursor, origins, problems).map(Expectation::Request),
        _ => empty(cursor, "console_clean", problems).map(Expectation::ConsoleClean),
    }
}

/// `{}`.
pub(super) fn empty(cursor: &Cursor<'_>, key: &str, problems: &mut Problems) -> Option<Empty> {
    let hint = format!("write: {key}: {{}}");
    let fields = cursor.fields(problems, &hint)?;
    if let Some(key) = fields.keys().next() {
        return fields.wrong(problems, format!("nothing stands in it, not {}", quoted(key)), hint);
    }
    Some(Empty {})
}

/// A locator and a value.
pub(super) fn value_at(cursor: &Cursor<'_>, may_be_empty: bool, problems: &mut Problems) -> Option<ValueAt> {
    let mut fields = cursor.fields(
        problems,
        "write a locator and a value, such as { label: Title, value: milk }",
    )?;
    let locator = locator::take(&mut fields, problems);
    let value = fields
        .required("value", problems, "write value: with the text")
        .and_then(|c| {
            let text = c.text(problems)?;
            if text.is_empty() && !may_be_empty {
                return c.wrong(
                    problems,
                    "the text is empty",
                    "an empty text says nothing here; write some",
                );
            }
            Some(text.to_owned())
        });
    if !fields.finish(problems, "a locator with a value", &fields_with(&["value"])) {
        return None;
    }
    Some(ValueAt {
        locator: locator?,
        value: value?,
    })
}

fn attribute(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<AttributeAt> {
    const HINT: &str = "write: { role: link, name: Home, attribute: href, value: / }";
    let mut fields = cursor.fields(problems, HINT)?;
    let locator = locator::take(&mut fields, problems);
    let attribute = fields.required("attribute", problems, HINT).and_then(|c| {
        let name = c.some_text(problems)?;
        if name
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '>' | '/' | '='))
        {
            return c.wrong(
                problems,
                format!("{} is no attribute name", quoted(&name)),
                "write its name alone",
            );
        }
        Some(name)
    });
    let value = fields
        .required("value", problems, HINT)
        .and_then(|c| c.text(problems).map(str::to_owned));
    if !fields.finish(problems, "attribute_equals", &fields_with(&["attribute", "value"])) {
        return None;
    }
    Some(AttributeAt {
        locator: locator?,
        attribute: attribute?,
        value: value?,
    })
}

fn count(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<CountAt> {
    const HINT: &str = "write: { role: listitem, value: 3 }";
    let mut fields = cursor.fields(problems, HINT)?;
    let locator = locator::take(&mut fields, problems);
    let value = fields
        .required("value", problems, HINT)
        .and_then(|c| c.unsigned(problems, 0, 1_000_000));
    if !fields.finish(problems, "count", &fields_with(&["value"])) {
        return None;
    }
    if let Some(Locator { nth: Some(_), .. }) = &locator {
        return cursor.wrong(problems, "nth takes one match, and count counts all", "leave nth out");
    }
    Some(CountAt {
        locator: locator?,
        value: value?,
    })
}

fn aria(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<AriaAt> {
    const HINT: &str = "write: aria_snapshot: { template: \"- heading \\\"Notes\\\"\" }";
    let mut fields = cursor.fields(problems, HINT)?;
    let locator = locator::take_optional(&mut fields, problems);
    let template = fields.required("template", problems, HINT).and_then(|c| {
        let text = c.some_text(problems)?;
        match crate::aria::Template::parse(&text) {
            Ok(_) => Some(text),
            Err(e) => c.wrong(
                problems,
                format!("the template is wrong in its line {}: {}", e.line, e.message),
                "see Playwright's ARIA snapshots: - role \"name\" [state]: text",
            ),
        }
    });
    if !fields.finish(problems, "aria_snapshot", &fields_with(&["template"])) {
        return None;
    }
    Some(AriaAt {
        locator: locator?,
        template: template?,
    })
}

fn request(cursor: &Cursor<'_>, origins: &Origins, problems: &mut Problems) -> Option<RequestMade> {
    const HINT: &str = "write: request: { method: POST, path: /notes, status: 201 }";
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    let method = fields.required("method", problems, HINT).and_then(|c| {
        let method = c.text(problems)?;
        let token = |m: &str| {
            !m.is_empty() && m.len() <= 32 && m.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'-' | b'_'))
        };
        if token(method) {
            return Some(method.to_owned());
        }
        let upper = method.to_ascii_uppercase();
        let hint = if token(&upper) {
            format!("write {upper}")
        } else {
            "write GET, POST, …".into()
        };
        c.wrong(problems, format!("{} is no method in upper case", quoted(method)), hint)
    });
    let path = fields
        .required("path", problems, HINT)
        .and_then(|c| path(&c, origins, Tail::Query, problems));
    let status = match fields.take("status") {
        Some(c) => status(&c, problems).map(Some),
        None => Some(None),
    };
    let count = match fields.take("count") {
        Some(c) => c.unsigned(problems, 0, 1_000_000).map(Some),
        None => Some(None),
    };
    if !fields.finish(problems, "request", &["method", "path", "status", "count"]) || !problems.clean(mark) {
        return None;
    }
    Some(RequestMade {
        method: method?,
        path: path?,
        status: status?,
        count: count?,
    })
}

/// An HTTP status.
pub(super) fn status(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<u16> {
    cursor.unsigned(problems, 100, 599).and_then(|n| u16::try_from(n).ok())
}
