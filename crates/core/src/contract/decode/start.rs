//! `target.start`: how jurat starts the app.

use url::Url;

use super::cursor::{Cursor, Problems};
use super::number::duration;
use super::target::{path, status};
use super::urls::is_loopback;
use crate::contract::text::{Value, quoted};
use crate::contract::{EnvEntry, Millis, Network, Ready, ReadyWhen, Start};

const FIELDS: &[&str] = &["command", "ready", "env", "cwd", "writable", "network"];
const HINT: &str = "write: start: { command: [npm, run, preview], ready: { path: / } }";
const ENV_HINT: &str = "write: env: [PATH_TO_DB, { NODE_ENV: production }]";

/// Variables that the lane sets itself.
const OWN: &[&str] = &["HOME", "TMPDIR"];

pub(super) fn start(cursor: &Cursor<'_>, url: Option<&Url>, problems: &mut Problems) -> Option<Start> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    if let Some(url) = url.filter(|url| url.scheme() != "http" || !is_loopback(url)) {
        let message = format!("an app that jurat starts is reached by http on loopback, not at {url}");
        let _: Option<()> = fields.wrong(problems, message, "write: url: http://127.0.0.1:4173/");
    }
    let command = fields
        .required("command", problems, HINT)
        .and_then(|c| command(&c, problems));
    let ready = fields
        .required("ready", problems, HINT)
        .and_then(|c| ready(&c, problems));
    let env = fields.take("env").map_or(Some(Vec::new()), |c| env(&c, problems));
    let cwd = match fields.take("cwd") {
        Some(c) => cwd(&c, problems),
        None => Some(String::new()),
    };
    let writable = fields.take("writable").map_or(Some(false), |c| c.bool(problems));
    let network = fields.take("network").map_or(Some(Network::None), |c| {
        c.choice(problems, &[("none", Network::None), ("host", Network::Host)])
    });
    if !fields.finish(problems, "start", FIELDS) || !problems.clean(mark) {
        return None;
    }
    Some(Start {
        command: command?,
        ready: ready?,
        env: env?,
        cwd: cwd.filter(|cwd| !cwd.is_empty()),
        writable: writable?,
        network: network?,
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
    const HINT: &str = "write: ready: { path: /health }, or ready: { log: \"listening on\" }";
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    let log = fields.take("log");
    let when = match log {
        None => {
            let path = path(fields.required("path", problems, HINT), problems);
            let status = status(fields.take("status"), problems);
            path.zip(status).map(|(path, status)| ReadyWhen::Http { path, status })
        }
        Some(log) => {
            for other in ["path", "status"] {
                if let Some(other) = fields.take(other) {
                    let _: Option<()> = other.wrong(problems, "an app is ready by path or by log", "keep one of them");
                }
            }
            let text = log.some_text(problems);
            if text.as_deref().is_some_and(|text| text.chars().any(char::is_control)) {
                let _: Option<()> = log.wrong(
                    problems,
                    "it is looked for within one line",
                    "leave line breaks and control characters out",
                );
            }
            text.map(|log| ReadyWhen::Log { log })
        }
    };
    let within = fields
        .take("within")
        .map_or(Some(Millis(30_000)), |c| duration(&c, problems));
    if !fields.finish(problems, "ready", &["path", "status", "log", "within"]) || !problems.clean(mark) {
        return None;
    }
    Some(Ready {
        when: when?,
        within: within?,
    })
}

/// Names, and names with values, each once. An empty list says what leaving it out says.
fn env(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<EnvEntry>> {
    let mark = problems.mark();
    let mut entries: Vec<EnvEntry> = Vec::new();
    for item in cursor.items(problems, ENV_HINT)? {
        let Some(entry) = entry(&item, problems) else { continue };
        let name = entry.name();
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        if name.is_empty() || !plain {
            let _: Option<()> = item.wrong(problems, format!("{} is no name of a variable", quoted(name)), ENV_HINT);
        } else if OWN.contains(&name) || name.starts_with("JURAT_") {
            let _: Option<()> = item.wrong(
                problems,
                format!("{name} is not the app's to have"),
                "leave it out: HOME and TMPDIR are private, and jurat's own settings stay with jurat",
            );
        } else if entries.iter().any(|other| other.name() == name) {
            let _: Option<()> = item.wrong(problems, format!("{name} stands twice"), "name it once");
        }
        entries.push(entry);
    }
    problems.clean(mark).then_some(entries)
}

fn entry(item: &Cursor<'_>, problems: &mut Problems) -> Option<EnvEntry> {
    if let Value::Text(name) = &item.node.value {
        if let Some((name, value)) = name.split_once('=') {
            return item.wrong(
                problems,
                "a variable with its value is a map",
                format!("write: {{ {name}: {} }}", quoted(value)),
            );
        }
        return Some(EnvEntry::Pass(name.clone()));
    }
    let mut fields = item.fields(problems, ENV_HINT)?;
    let mut keys = fields.keys();
    let (Some(name), None) = (keys.next().map(str::to_owned), keys.next()) else {
        return item.wrong(problems, "one variable stands in each entry", ENV_HINT);
    };
    drop(keys);
    let value = fields.take(&name)?;
    let text = value.text(problems)?;
    if text.contains('\0') {
        return value.wrong(problems, "a value holds no NUL", "take it away");
    }
    Some(EnvEntry::Set(name, text.to_owned()))
}

/// A folder at or below the contract's own. The contract's own is the empty text: it says what leaving it out says.
fn cwd(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.some_text(problems)?;
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if text.starts_with('/') || text.contains('\0') || parts.contains(&"..") {
        return cursor.wrong(
            problems,
            "cwd is a folder at or below the contract's own",
            "write it relative to the contract: cwd: app",
        );
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::contract::{Contract, Format, ParseOptions, Start, canonical_json, parse};

    fn read(url: &str, start: &str) -> Result<Contract, String> {
        let text = format!(
            "jurat: contract/1\nname: n\ntarget: {{ url: '{url}', start: {{ {start} }} }}\nsteps:\n  - navigate: /\n"
        );
        parse(&text, Format::Yaml, &ParseOptions::default()).map_err(|e| e.to_string())
    }

    fn start(start: &str) -> Result<Start, String> {
        let contract = read("http://127.0.0.1:1/", &format!("command: [a], {start}"))?;
        let canonical = String::from_utf8(canonical_json(&contract)).unwrap();
        let again = parse(&canonical, Format::Json, &ParseOptions::default()).unwrap();
        assert_eq!(again, contract, "the canonical form is the same contract");
        Ok(contract.target.start.unwrap())
    }

    #[test]
    fn defaults_written_out_are_left_out() {
        let short = start("ready: { path: / }").unwrap();
        let long =
            start("ready: { path: /, status: 200, within: 30s }, env: [], cwd: ./, writable: false, network: none");
        assert_eq!(long.unwrap(), short);
        let other = "ready: { log: up }, env: [A, { B: c }], cwd: app//x, writable: true, network: host";
        let other = start(other).unwrap();
        assert_eq!(other.cwd.as_deref(), Some("app/x"));
        assert_ne!(other, short);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let ready = "ready: { path: / }";
        for (text, says) in [
            ("ready: { path: /, log: x }".to_owned(), "by path or by log"),
            ("ready: { log: x, status: 200 }".to_owned(), "by path or by log"),
            ("ready: { within: 1s }".to_owned(), "\"path\" is missing"),
            ("ready: { log: ' ' }".to_owned(), "empty"),
            (format!("{ready}, env: [A=b]"), "is a map"),
            (format!("{ready}, env: [1x]"), "no name of a variable"),
            (format!("{ready}, env: [HOME]"), "not the app's to have"),
            (format!("{ready}, env: [JURAT_JUDGE_KEY]"), "not the app's to have"),
            (format!("{ready}, env: [A, {{ A: b }}]"), "stands twice"),
            (format!("{ready}, env: [{{ A: b, C: d }}]"), "one variable"),
            (format!("{ready}, cwd: ../x"), "below the contract's own"),
            (format!("{ready}, cwd: /x"), "below the contract's own"),
            (format!("{ready}, network: some"), "none of none, host"),
            (format!("{ready}, writeable: true"), "no field of start"),
        ] {
            let error = start(&text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let error = read("https://127.0.0.1/", "command: [a], ready: { path: / }").unwrap_err();
        assert!(error.contains("http on loopback"), "{error}");
    }
}
