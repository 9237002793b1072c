//! URLs, paths and origins, all by the WHATWG parser, all kept in its canonical form.

use url::{Host, Position, Url};

use super::cursor::{Cursor, Problems};
use crate::contract::text::quoted;
use crate::contract::{ParseOptions, Target};

/// Why a text is no target URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TargetUrlError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

impl TargetUrlError {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
        }
    }
}

/// Reads the URL of a target, as `target.url` and `--url` write it, into its canonical form.
///
/// Errors: no `http` or `https` URL, credentials, a fragment, port 0, or a host that is not loopback (127.0.0.0/8, `::1`,
/// `localhost`, `*.localhost`) unless [`ParseOptions::allow_remote_target`].
pub fn target_url(text: &str, options: &ParseOptions) -> Result<Url, TargetUrlError> {
    let url = web_url(text)?;
    if url.fragment().is_some() {
        return Err(TargetUrlError::new(
            "a target has no fragment",
            "take the \"#\" and what follows away",
        ));
    }
    if !options.allow_remote_target && !is_loopback(&url) {
        return Err(TargetUrlError::new(
            format!("{} is not a loopback host", url.host_str().unwrap_or_default()),
            "use 127.0.0.1, [::1] or localhost; --allow-remote-target permits any other",
        ));
    }
    Ok(url)
}

/// An absolute http or https URL without credentials.
fn web_url(text: &str) -> Result<Url, TargetUrlError> {
    const HINT: &str = "write an absolute URL, such as http://127.0.0.1:4173/";
    if text.is_empty() {
        return Err(TargetUrlError::new("the URL is empty", HINT));
    }
    if has_stray_characters(text) {
        return Err(TargetUrlError::new(
            format!("{} has white space or control characters", quoted(text)),
            "leave them out, or write them percent-encoded",
        ));
    }
    let url = Url::parse(text).map_err(|e| {
        let hint = if text.contains("://") {
            HINT.to_owned()
        } else {
            format!("{HINT}; perhaps http://{text}")
        };
        TargetUrlError::new(format!("{} is no URL: {e}", quoted(text)), hint)
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(TargetUrlError::new(
            format!("the scheme \"{}\" is refused", url.scheme()),
            "use http or https",
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(TargetUrlError::new(
            "credentials in a URL are refused",
            "take them away; let a step sign in",
        ));
    }
    if url.port() == Some(0) {
        return Err(TargetUrlError::new(
            "port 0 is no address",
            "write the port that the app listens on",
        ));
    }
    Ok(url)
}

/// What the parser would drop in silence.
fn has_stray_characters(text: &str) -> bool {
    text.chars().any(char::is_control) || text.trim() != text
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// The origin of a URL as it is stored and compared: scheme, host, and the port where it is not the scheme's own.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The origins of a contract, as far as they could be read.
#[derive(Debug)]
pub(super) struct Origins {
    base: Option<Url>,
    /// Empty when the target is wrong itself: then there is nothing to compare with.
    allowed: Vec<String>,
}

impl Origins {
    pub(super) fn of(target: Option<&Target>) -> Self {
        match target.and_then(|t| Url::parse(&t.url).ok().map(|url| (t, url))) {
            Some((target, url)) => {
                let allowed = std::iter::once(origin(&url))
                    .chain(target.allow.iter().cloned())
                    .collect();
                Self {
                    base: Some(url),
                    allowed,
                }
            }
            None => Self {
                base: Url::parse("http://127.0.0.1/").ok(),
                allowed: Vec::new(),
            },
        }
    }
}

/// What may follow the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// A query and a fragment.
    QueryAndFragment,
    /// A query; fragments never leave the browser.
    Query,
}

/// A path of the target, beginning with `/`.
pub(super) fn path(cursor: &Cursor<'_>, origins: &Origins, tail: Tail, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    if has_stray_characters(text) {
        return cursor.wrong(
            problems,
            format!("{} has white space around it or control characters", quoted(text)),
            "leave them out, or write them percent-encoded",
        );
    }
    if !text.starts_with('/') {
        let hint = match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => {
                format!("write the path alone: {}", &url[Position::BeforePath..])
            }
            _ => format!("begin with \"/\": /{}", text.trim_start_matches("./")),
        };
        return cursor.wrong(problems, format!("{} is no path of the target", quoted(text)), hint);
    }
    let base = origins.base.as_ref()?;
    let joined = base
        .join(text)
        .ok()
        .filter(|url| url.origin() == base.origin() && url.username().is_empty());
    let Some(url) = joined.filter(|url| !url.path().starts_with("//")) else {
        return cursor.wrong(
            problems,
            format!("{} leads to another host", quoted(text)),
            "begin with exactly one \"/\"",
        );
    };
    if tail == Tail::Query && url.fragment().is_some() {
        return cursor.wrong(
            problems,
            "a request has no fragment",
            "take the \"#\" and what follows away",
        );
    }
    Some(url[Position::BeforePath..].to_owned())
}

/// The URL of a page: a path of the target, or an absolute URL of an allowed origin.
pub(super) fn page_url(cursor: &Cursor<'_>, origins: &Origins, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    if !text.contains("://") {
        return path(cursor, origins, Tail::QueryAndFragment, problems);
    }
    match web_url(text) {
        Err(e) => cursor.wrong(problems, e.message, e.hint),
        Ok(url) if !origins.allowed.is_empty() && !origins.allowed.contains(&origin(&url)) => cursor.wrong(
            problems,
            format!("{} is no origin of this contract", origin(&url)),
            "write a path of the target, or name the origin in target.allow",
        ),
        Ok(url) => Some(url.into()),
    }
}

/// An exact origin.
pub(super) fn exact_origin(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    if text.contains('*') {
        return cursor.wrong(
            problems,
            format!("{} is no exact origin", quoted(text)),
            "write each origin out; only target.refuse takes https://*.host",
        );
    }
    match bare_origin(text) {
        Ok(origin) => Some(origin),
        Err(e) => cursor.wrong(problems, e.message, e.hint),
    }
}

/// An exact origin, or every subdomain of a host: `https://*.host`.
pub(super) fn refused_origin(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    let Some((scheme, rest)) = text.split_once("://*.") else {
        return if text.contains('*') {
            cursor.wrong(
                problems,
                format!("{} is no pattern of origins", quoted(text)),
                "a star stands for the subdomains of a host: https://*.example.com",
            )
        } else {
            exact_origin(cursor, problems)
        };
    };
    let parsed = if rest.contains('*') {
        Err(TargetUrlError::new(
            format!("{} has two stars", quoted(text)),
            "write one: https://*.example.com",
        ))
    } else {
        bare_origin(&format!("{scheme}://{rest}"))
    };
    match parsed {
        Ok(origin) => {
            // An address has no subdomains.
            let named = Url::parse(&origin).is_ok_and(|url| matches!(url.host(), Some(Host::Domain(_))));
            match origin.split_once("://") {
                Some((scheme, host)) if named => Some(format!("{scheme}://*.{host}")),
                _ => cursor.wrong(problems, "an address has no subdomains", "write the exact origin"),
            }
        }
        Err(e) => cursor.wrong(problems, e.message, e.hint),
    }
}

fn bare_origin(text: &str) -> Result<String, TargetUrlError> {
    let url = web_url(text)?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(TargetUrlError::new(
            format!("{} is more than an origin", quoted(text)),
            format!("write the origin alone: {}", origin(&url)),
        ));
    }
    Ok(origin(&url))
}
