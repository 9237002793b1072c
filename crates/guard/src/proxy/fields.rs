//! Header fields that belong to one connection and do not pass through (RFC 9110 7.6.1).

use hyper::header::{CONNECTION, EXPECT, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use jurat_core::observation::guard::GUARD_HEADER;

/// The guard's own field on what it answers itself. An origin cannot send it.
pub(crate) const MARK: HeaderName = HeaderName::from_static(GUARD_HEADER);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Removes hop-by-hop fields of a request. A transfer coding stays: it delimits the body that is sent on.
pub(crate) fn strip_request(fields: &mut HeaderMap) {
    strip(fields);
    // The library has answered it already.
    fields.remove(EXPECT);
}

/// Removes hop-by-hop fields of an answer, and the guard's own mark.
pub(crate) fn strip_answer(fields: &mut HeaderMap) {
    strip(fields);
    fields.remove(TRANSFER_ENCODING);
    fields.remove(MARK);
}

fn strip(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|b| *b == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        // Naming these as connection fields would change how the message is read.
        .filter(|name| !matches!(name.as_str(), "host" | "content-length" | "transfer-encoding"))
        .collect();
    for name in named {
        fields.remove(name);
    }
    for name in [CONNECTION, KEEP_ALIVE, TE, TRAILER, UPGRADE] {
        fields.remove(name);
    }
    let proxy: Vec<HeaderName> = fields
        .keys()
        .filter(|name| name.as_str().starts_with("proxy-"))
        .cloned()
        .collect();
    for name in proxy {
        fields.remove(name);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        map
    }

    fn names(map: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<_> = map.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    const FIELDS: [(&str, &str); 14] = [
        ("host", "h"),
        ("connection", "keep-alive, X-Hop"),
        ("connection", "content-length, host"),
        ("x-hop", "1"),
        ("keep-alive", "5"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("upgrade", "h2c"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "x"),
        ("content-length", "1"),
        ("transfer-encoding", "chunked"),
        ("expect", "100-continue"),
        ("x-jurat-guard", "refused"),
    ];

    #[test]
    fn requests() {
        let mut fields = map(&FIELDS);
        strip_request(&mut fields);
        assert_eq!(
            names(&fields),
            ["content-length", "host", "transfer-encoding", "x-jurat-guard"]
        );
    }

    #[test]
    fn answers() {
        let mut fields = map(&FIELDS);
        strip_answer(&mut fields);
        assert_eq!(names(&fields), ["content-length", "expect", "host"]);
    }
}
