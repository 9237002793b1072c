//! `target`: the origin under test.

use super::cursor::{Cursor, Problems};
use super::number::duration;
use super::urls::{self, Origins, Tail, exact_origin, origin, refused_origin};
use crate::contract::{HttpCriterion, Millis, ParseOptions, Ready, Start, Target};

const FIELDS: &[&str] = &["url", "allow", "refuse", "start", "http"];
const HINT: &str = "write: target: { url: http://127.0.0.1:4173/ }";

pub(super) fn target(cursor: &Cursor<'_>, options: &ParseOptions, problems: &mut Problems) -> Option<Target> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    let url = fields.required("url", problems, HINT).and_then(|c| {
        let text = c.text(problems)?;
        match urls::target_url(text, options) {
            Ok(url) => Some(url),
            Err(e) => c.wrong(problems, e.message, e.hint),
        }
    });
    let own = url.as_ref().map(origin);
    let allow = fields
        .take("allow")
        .map_or(Some(Vec::new()), |c| allow(&c, own.as_deref(), problems));
    let refuse = fields.take("refuse").map_or(Some(Vec::new()), |c| {
        refuse(&c, own.as_deref(), allow.as_deref().unwrap_or_default(), problems)
    });
    let start = match fields.take("start") {
        Some(c) => start(&c, problems).map(Some),
        None => Some(None),
    };
    let http = match fields.take("http") {
        Some(c) => http(&c, problems),
        None => Some(Vec::new()),
    };
    if !fields.finish(problems, "target", FIELDS) || !problems.clean(mark) {
        return None;
    }
    Some(Target {
        url: url?.into(),
        allow: allow?,
        refuse: refuse?,
        start: start?,
        http: http?,
    })
}

/// Further origins. An empty list says what leaving it out says, and so is the same contract.
fn allow(cursor: &Cursor<'_>, own: Option<&str>, problems: &mut Problems) -> Option<Vec<String>> {
    let mark = problems.mark();
    let mut origins: Vec<String> = Vec::new();
    for item in cursor.items(problems, "write exact origins: [https://api.example.com]")? {
        if let Some(origin) = exact_origin(&item, problems) {
            if own == Some(&*origin) {
                let _: Option<()> = item.wrong(problems, "the target is allowed anyway", "leave it out");
            } else if origins.contains(&origin) {
                let _: Option<()> = item.wrong(problems, format!("{origin} stands twice"), "name it once");
            }
            origins.push(origin);
        }
    }
    problems.clean(mark).then_some(origins)
}

/// Third parties that are refused. An empty list says what leaving it out says.
fn refuse(cursor: &Cursor<'_>, own: Option<&str>, allowed: &[String], problems: &mut Problems) -> Option<Vec<String>> {
    let mark = problems.mark();
    let mut origins: Vec<String> = Vec::new();
    for item in cursor.items(
        problems,
        "write origins: [https://fonts.example.com, https://*.ads.example]",
    )? {
        if let Some(origin) = refused_origin(&item, problems) {
            if own == Some(&*origin) {
                let _: Option<()> = item.wrong(problems, "the target cannot be refused", "leave it out");
            } else if allowed.contains(&origin) {
                let message = format!("{origin} is allowed and refused");
                let _: Option<()> = item.wrong(problems, message, "keep it in one of the two lists");
            } else if origins.contains(&origin) {
                let _: Option<()> = item.wrong(problems, format!("{origin} stands twice"), "name it once");
            }
            origins.push(origin);
        }
    }
    problems.clean(mark).then_some(origins)
}

fn start(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Start> {
    const HINT: &str = "write: start: { command: [npm, run, preview], ready: { path: / } }";
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    let command = fields
        .required("command", problems, HINT)
        .and_then(|c| command(&c, problems));
    let ready = fields
        .required("ready", problems, HINT)
        .and_then(|c| ready(&c, problems));
    if !fields.finish(problems, "start", &["command", "ready"]) || !problems.clean(mark) {
        return None;
    }
    Some(Start {
        command: command?,
        ready: ready?,
    })
}

fn command(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let mark = problems.mark();
    let mut words = Vec::new();
    for (i, item) in cursor
        .required_items(problems, "write the program and its arguments: [npm, run, preview]")?
        .iter()
        .enumerate()
    {
        let word = if i == 0 {
            item.some_text(problems)
        } else {
            item.text(problems).map(str::to_owned)
        };
        if let Some(word) = word {
            if word.contains('\0') {
                let _: Option<()> = item.wrong(problems, "an argument holds no NUL", "take it away");
            }
            words.push(word);
        }
    }
    problems.clean(mark).then_some(words)
}

fn ready(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Ready> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, "write: ready: { path: /health }")?;
    let path = path(fields.required("path", problems, "write: path: /"), problems);
    let status = status(fields.take("status"), problems);
    let within = fields
        .take("within")
        .map_or(Some(Millis(30_000)), |c| duration(&c, problems));
    if !fields.finish(problems, "ready", &["path", "status", "within"]) || !problems.clean(mark) {
        return None;
    }
    Some(Ready {
        path: path?,
        status: status?,
        within: within?,
    })
}

fn http(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<HttpCriterion>> {
    const HINT: &str = "write: - { path: /health, status: 200 }";
    let mark = problems.mark();
    let mut criteria = Vec::new();
    for item in cursor.some_items(problems, HINT)? {
        let Some(mut fields) = item.fields(problems, HINT) else {
            continue;
        };
        let path = path(fields.required("path", problems, HINT), problems);
        let status = status(fields.take("status"), problems);
        let whole = fields.finish(problems, "an HTTP criterion", &["path", "status"]);
        if let (true, Some(path), Some(status)) = (whole, path, status) {
            criteria.push(HttpCriterion { path, status });
        }
    }
    problems.clean(mark).then_some(criteria)
}

fn path(cursor: Option<Cursor<'_>>, problems: &mut Problems) -> Option<String> {
    urls::path(&cursor?, &Origins::of(None), Tail::Query, problems)
}

fn status(cursor: Option<Cursor<'_>>, problems: &mut Problems) -> Option<u16> {
    match cursor {
        Some(c) => super::expectation::status(&c, problems),
        None => Some(200),
    }
}
