//! `target`: the origin under test.

use url::Url;

use super::cursor::{Cursor, Problems};
use super::start;
use super::urls::{self, Origins, Tail, exact_origin, origin, refused_origin};
use crate::contract::{HttpCriterion, ParseOptions, Target};

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
        Some(c) => start::start(&c, url.as_ref(), problems).map(Some),
        None => Some(None),
    };
    let http = match fields.take("http") {
        Some(c) => http(&c, url.as_ref(), problems),
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

fn http(cursor: &Cursor<'_>, url: Option<&Url>, problems: &mut Problems) -> Option<Vec<HttpCriterion>> {
    const HINT: &str = "write: - { path: /health, status: 200 }";
    let mark = problems.mark();
    if url.is_some_and(|url| url.scheme() != "http") {
        return cursor.wrong(
            problems,
            "plain HTTP criteria are checked over http only",
            "leave http out, and expect it in the page with navigate or request",
        );
    }
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

pub(super) fn path(cursor: Option<Cursor<'_>>, problems: &mut Problems) -> Option<String> {
    urls::path(&cursor?, &Origins::of(None), Tail::Query, problems)
}

pub(super) fn status(cursor: Option<Cursor<'_>>, problems: &mut Problems) -> Option<u16> {
    match cursor {
        Some(c) => super::expectation::status(&c, problems),
        None => Some(200),
    }
}
