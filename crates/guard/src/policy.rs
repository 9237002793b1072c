//! What the guard lets through: a pure decision over one accepted request head.
//!
//! Origins are compared exactly, as (scheme, host, port) in the URL standard's canonical form; nothing is compared as a
//! string prefix and nothing is resolved. A request is forwarded only if its target and its `Host` agree on one origin that
//! the contract names. Everything else is refused with a reason.
//!
//! Invariant: no decision other than a refusal names an origin that is not in the policy.

use std::fmt;

use jurat_core::observation::guard::{GuardKind, GuardReason, MAX_URL};
use url::Url;

use crate::app::Route;
use crate::head::Head;

/// The schemes an origin can have. `ws` and `wss` are origins of `http` and `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Plain text; the guard reads every request.
    Http,
    /// TLS; the guard sees bytes and times.
    Https,
}

impl Scheme {
    fn of(scheme: &str) -> Option<Self> {
        match scheme {
            "http" | "ws" => Some(Self::Http),
            "https" | "wss" => Some(Self::Https),
            _ => None,
        }
    }

    /// The port that a URL of this scheme means when it names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// An exact origin in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    scheme: Scheme,
    host: String,
    port: u16,
}

/// Why text is no origin or no pattern of a third party.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}")]
pub struct OriginError {
    text: String,
    what: &'static str,
}

impl Origin {
    /// Reads an origin such as `http://127.0.0.1:4173` (a final `/` is allowed).
    ///
    /// # Errors
    /// Other schemes, credentials, a path, query or fragment, and what is no URL.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let error = || OriginError {
            text: text.to_owned(),
            what: "origin (scheme, host and port only)",
        };
        let url = Url::parse(text).map_err(|_| error())?;
        let bare = url.username().is_empty() && url.password().is_none() && url.path() == "/";
        if !bare || url.query().is_some() || url.fragment().is_some() {
            return Err(error());
        }
        Self::of(&url).ok_or_else(error)
    }

    /// The origin of a URL with scheme `http`, `https`, `ws` or `wss`.
    pub fn of(url: &Url) -> Option<Self> {
        let scheme = Scheme::of(url.scheme())?;
        let host = url.host_str()?.to_owned();
        Some(Self {
            scheme,
            host,
            port: url.port().unwrap_or(scheme.default_port()),
        })
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The canonical host; an IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What a `Host` field for this origin says: the port only where it is not the scheme's default.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    fn is_at(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port == port
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority())
    }
}

/// A third party that the contract expects the page to ask for and the guard to refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThirdParty {
    scheme: Option<Scheme>,
    host: String,
    subdomains: bool,
    port: Option<u16>,
}

impl ThirdParty {
    /// Reads `https://fonts.example`, `https://*.example` (any subdomain), or a bare host with or without `*.` (any scheme
    /// and port).
    ///
    /// # Errors
    /// Paths, credentials, a `*` elsewhere, and what is no URL.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let error = || OriginError {
            text: text.to_owned(),
            what: "third party (https://host, https://*.host or a host)",
        };
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(Scheme::of(&scheme.to_ascii_lowercase()).ok_or_else(error)?), rest),
            None => (None, text),
        };
        let (subdomains, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        if rest.contains('*') {
            return Err(error());
        }
        let origin = Origin::parse(&format!("{}://{rest}", scheme.unwrap_or(Scheme::Http))).map_err(|_| error())?;
        let port = match scheme {
            None if origin.port == Scheme::Http.default_port() => None,
            _ => Some(origin.port),
        };
        Ok(Self {
            scheme,
            host: origin.host,
            subdomains,
            port,
        })
    }

    fn covers(&self, scheme: Option<Scheme>, host: &str, port: u16) -> bool {
        let host_fits = if self.subdomains {
            host.strip_suffix(&self.host)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.host
        };
        // A CONNECT has no scheme: host and port decide.
        let scheme_fits = self.scheme.is_none() || scheme.is_none() || self.scheme == scheme;
        host_fits && scheme_fits && self.port.is_none_or(|own| own == port)
    }
}

/// The origins of one listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    origins: Vec<Origin>,
    refuse: Vec<ThirdParty>,
    global: bool,
    route: Option<Route>,
}

/// What to do with a request. The index is into [`Policy::origins`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Send the request to the origin.
    Forward(usize),
    /// Send the handshake to the origin and carry the connection.
    Websocket(usize),
    /// Carry bytes to the TLS origin.
    Tunnel(usize),
    /// Accept the `CONNECT` and allow nothing inside but a handshake for exactly this plain origin.
    ExpectWebsocket(usize),
    /// Refuse, and hold it against whoever asked.
    Refuse(GuardReason),
    /// Refuse as the contract said it would be.
    ExpectedRefusal,
}

/// A decision with what goes on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What to do.
    pub decision: Decision,
    /// What it was.
    pub kind: GuardKind,
    /// The canonical URL, `host:port` for a `CONNECT`, or the target as sent where it is neither; at most [`MAX_URL`] bytes.
    pub url: String,
    /// `url` was longer.
    pub url_cut: bool,
    /// The origin-form target to send on: path and query exactly as sent.
    pub path: String,
}

impl Policy {
    /// The target, further exact origins, and the known third parties.
    pub fn new(target: Origin, allow: Vec<Origin>, refuse: Vec<ThirdParty>) -> Self {
        let mut origins = vec![target];
        for origin in allow {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        Self {
            origins,
            refuse,
            global: false,
            route: None,
        }
    }

    /// The policy of the global listener: nothing passes.
    pub fn refuse_all() -> Self {
        Self {
            origins: Vec::new(),
            refuse: Vec::new(),
            global: true,
            route: None,
        }
    }

    /// The target is reached by this way, which is opened when its app has started.
    #[must_use]
    pub fn routed(mut self, route: Route) -> Self {
        self.route = Some(route);
        self
    }

    /// The way to an origin, where it is not an address of the host.
    pub(crate) fn route(&self, origin: &Origin) -> Option<&Route> {
        self.route.as_ref().filter(|_| self.origins.first() == Some(origin))
    }

    /// The origins that can be reached; the target is first.
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }

    /// Judges a request. `inside` is the origin of the `CONNECT` that it came through, if it did.
    pub fn judge(&self, head: &Head, inside: Option<usize>) -> Judged {
        let found = match inside {
            Some(index) => inside_connect(head, self.origins.get(index)),
            None if head.method == "CONNECT" => connect(head),
            None => absolute(head),
        };
        let Found { kind, url, path, place } = found;
        let decision = match place {
            Err(reason) if !self.global => Decision::Refuse(reason),
            Ok(place) if !self.global => self.decide(head, kind, &place, inside),
            _ => Decision::Refuse(GuardReason::GlobalListener),
        };
        let (url, url_cut) = bounded(url);
        Judged {
            decision,
            kind,
            url,
            url_cut,
            path,
        }
    }

    fn decide(&self, head: &Head, kind: GuardKind, place: &Place, inside: Option<usize>) -> Decision {
        let at = |scheme| {
            self.origins
                .iter()
                .position(|o| o.scheme == scheme && o.is_at(&place.host, place.port))
        };
        if let Some(index) = inside {
            return match at(Scheme::Http) {
                Some(found) if found == index => Decision::Websocket(index),
                _ => Decision::Refuse(GuardReason::HostMismatch),
            };
        }
        let named = match kind {
            // Plain first: what the guard can read it does read.
            GuardKind::Tunnel => at(Scheme::Http)
                .map(Decision::ExpectWebsocket)
                .or_else(|| at(Scheme::Https).map(Decision::Tunnel)),
            _ if head.websocket => at(Scheme::Http).map(Decision::Websocket),
            _ => at(Scheme::Http).map(Decision::Forward),
        };
        named.unwrap_or_else(|| {
            if self
                .refuse
                .iter()
                .any(|third| third.covers(place.scheme, &place.host, place.port))
            {
                Decision::ExpectedRefusal
            } else {
                Decision::Refuse(GuardReason::OffOrigin)
            }
        })
    }
}

struct Place {
    scheme: Option<Scheme>,
    host: String,
    port: u16,
}

struct Found {
    kind: GuardKind,
    url: String,
    path: String,
    place: Result<Place, GuardReason>,
}

/// `CONNECT host:port`; the port must be written out (RFC 9110 9.3.6).
fn connect(head: &Head) -> Found {
    let place = authority(&head.target, None).and_then(|(host, port)| {
        let same = authority(&head.host, None).is_ok_and(|named| named == (host.clone(), port));
        if same {
            Ok(Place {
                scheme: None,
                host,
                port,
            })
        } else {
            Err(GuardReason::HostMismatch)
        }
    });
    let url = match authority(&head.target, None) {
        Ok((host, port)) => format!("{host}:{port}"),
        Err(_) => head.target.clone(),
    };
    Found {
        kind: GuardKind::Tunnel,
        url,
        path: String::new(),
        place,
    }
}

/// A request in absolute form, as a proxy gets it (RFC 9112 3.2.2).
fn absolute(head: &Head) -> Found {
    let kind = if head.websocket {
        GuardKind::Websocket
    } else {
        GuardKind::Request
    };
    let Some((scheme, rest)) = head.target.split_once("://") else {
        let reason = if head.target.starts_with('/') || head.target == "*" {
            GuardReason::OriginForm
        } else {
            GuardReason::BadUrl
        };
        return Found {
            kind,
            url: head.target.clone(),
            path: String::new(),
            place: Err(reason),
        };
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (named, after) = rest.split_at(end);
    let path = if after.starts_with('/') {
        after.to_owned()
    } else {
        format!("/{after}")
    };
    let url = Url::parse(&head.target);
    let place = (|| {
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "ws" if head.websocket => Scheme::Http,
            _ => return Err(GuardReason::Scheme),
        };
        let (host, port) = authority(named, Some(scheme.default_port()))?;
        if authority(&head.host, Some(scheme.default_port())) != Ok((host.clone(), port)) {
            return Err(GuardReason::HostMismatch);
        }
        // The whole must parse too, to the same place.
        let origin = url.as_ref().ok().and_then(Origin::of).ok_or(GuardReason::BadUrl)?;
        if !origin.is_at(&host, port) {
            return Err(GuardReason::BadUrl);
        }
        Ok(Place {
            scheme: Some(scheme),
            host,
            port,
        })
    })();
    Found {
        kind,
        url: url.map_or_else(|_| head.target.clone(), String::from),
        path,
        place,
    }
}

/// A request inside a `CONNECT` to a plain origin: origin form, and a handshake or nothing.
fn inside_connect(head: &Head, origin: Option<&Origin>) -> Found {
    let kind = if head.websocket {
        GuardKind::Websocket
    } else {
        GuardKind::Request
    };
    let named = authority(&head.host, Some(Scheme::Http.default_port()));
    let scheme = if head.websocket { "ws" } else { "http" };
    let url = match &named {
        Ok((host, port)) if head.target.starts_with('/') => {
            Url::parse(&format!("{scheme}://{host}:{port}{}", head.target))
                .map_or_else(|_| head.target.clone(), String::from)
        }
        _ => head.target.clone(),
    };
    let place = match named {
        _ if !head.target.starts_with('/') || !head.websocket => Err(GuardReason::NotWebsocket),
        Ok((host, port)) if origin.is_some_and(|o| o.is_at(&host, port)) => Ok(Place {
            scheme: Some(Scheme::Http),
            host,
            port,
        }),
        _ => Err(GuardReason::HostMismatch),
    };
    Found {
        kind,
        url,
        path: head.target.clone(),
        place,
    }
}

/// Host and port in canonical form. Without a default the port must be written.
fn authority(text: &str, default_port: Option<u16>) -> Result<(String, u16), GuardReason> {
    if text.contains('@') {
        return Err(GuardReason::Userinfo);
    }
    if text
        .bytes()
        .any(|b| matches!(b, b'/' | b'\\' | b'?' | b'#' | b' ' | b'\t' | b',') || !b.is_ascii())
    {
        return Err(GuardReason::BadUrl);
    }
    // The scheme lends its rules for hosts; its default port hides a written `:80`, so the port is read apart.
    let url = Url::parse(&format!("http://{text}")).map_err(|_| GuardReason::BadUrl)?;
    let host = url.host_str().ok_or(GuardReason::BadUrl)?.to_owned();
    let written = match text.rsplit_once(':') {
        Some((_, port)) if !port.ends_with(']') => Some(
            port.parse::<u16>()
                .ok()
                .filter(|_| port.bytes().all(|b| b.is_ascii_digit()))
                .ok_or(GuardReason::BadUrl)?,
        ),
        _ => None,
    };
    let port = written.or(default_port).ok_or(GuardReason::BadUrl)?;
    Ok((host, port))
}

/// Cuts at a character boundary.
fn bounded(mut url: String) -> (String, bool) {
    let cut = url.len() > MAX_URL;
    if cut {
        let end = (0..=MAX_URL).rev().find(|at| url.is_char_boundary(*at)).unwrap_or(0);
        url.truncate(end);
    }
    (url, cut)
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
