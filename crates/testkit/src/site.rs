//! The fixture site: one small HTTP/1.1 server for the pages of one case, on loopback ports that it owns.
//!
//! It is written by hand, because half of what it must do is what no honest server does: answer never, stop in the middle,
//! send without end. Every site is fresh: its notes, its ports and its hits belong to one run.
//!
//! Invariants: it binds loopback only; it serves nothing outside the folders it was given; every request that reached any
//! of its sockets is in [`Site::hits`], with the `Host` it was sent to.

mod behave;
mod http;
mod sockets;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio::task::{JoinHandle, JoinSet};

/// Where the files of a site come from.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// What `/` is; without it, `index.html` of the first folder that has one.
    pub index: Option<PathBuf>,
    /// Looked through in order.
    pub folders: Vec<PathBuf>,
}

/// What a site does beyond serving its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteSpec {
    /// By exact path, without the query; each goes before a file of that name.
    pub routes: BTreeMap<String, Route>,
}

/// One path that answers in its own way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Route {
    /// Milliseconds before anything is sent.
    pub delay_ms: u64,
    /// The status; 302 by default where `redirect` stands, else 200.
    pub status: Option<u16>,
    /// A `Location` to send.
    pub redirect: Option<String>,
    /// Further response headers.
    pub headers: BTreeMap<String, String>,
    /// The body as it is; HTML unless `headers` has a `content-type`.
    pub body: Option<String>,
    /// A file of the content folders as the body.
    pub file: Option<String>,
    /// A way to misbehave, in place of all of the above but the delay.
    pub stream: Option<Stream>,
}

/// The ways in which a response can be no proper response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// A body of paragraphs that never ends.
    Endless,
    /// A head and the first paragraph, then silence.
    Stall,
    /// Silence: the request is read and never answered.
    NoHead,
    /// The connection is reset after the request.
    Reset,
    /// A small gzip body that unpacks to 64 MiB of text.
    GzipBomb,
    /// A body of 200 MB of text in one paragraph.
    HugeText,
}

/// One request that reached the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The `Host` header as sent.
    pub host: String,
    /// The port it came in at.
    pub port: u16,
    /// The method.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
}

/// A running site; gone when dropped.
#[derive(Debug)]
pub struct Site {
    state: Arc<State>,
    tasks: Vec<JoinHandle<()>>,
}

/// What all connections of a site share.
#[derive(Debug)]
struct State {
    content: Content,
    spec: SiteSpec,
    words: Vec<(String, String)>,
    port: u16,
    other_port: u16,
    hits: Mutex<Vec<Hit>>,
    arrived: Notify,
    notes: Mutex<Notes>,
}

/// The notes that `/api/notes` keeps.
#[derive(Debug, Default)]
struct Notes {
    last_id: u64,
    rows: Vec<(u64, String)>,
}

impl Site {
    /// Binds two ports of `127.0.0.1` (and the same numbers of `::1` where they are free) and serves on them.
    ///
    /// # Errors
    /// When no loopback port can be bound.
    pub async fn start(content: Content, spec: SiteSpec) -> io::Result<Self> {
        Self::start_with(content, spec, |_| Vec::new()).await
    }

    /// The same, with further placeholders: names and what they stand for, given the port of the origin under test. What
    /// one stands for may hold the built-in ones.
    ///
    /// # Errors
    /// When no loopback port can be bound.
    pub async fn start_with(
        content: Content,
        spec: SiteSpec,
        words: impl FnOnce(u16) -> Vec<(String, String)>,
    ) -> io::Result<Self> {
        let main = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (port, other_port) = (main.local_addr()?.port(), other.local_addr()?.port());
        let state = Arc::new(State {
            content,
            spec,
            words: words(port),
            port,
            other_port,
            hits: Mutex::default(),
            arrived: Notify::new(),
            notes: Mutex::default(),
        });
        let mut listeners = vec![main, other];
        for number in [port, other_port] {
            if let Ok(listener) = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, number))).await {
                listeners.push(listener);
            }
        }
        let tasks = listeners
            .into_iter()
            .map(|l| tokio::spawn(accept(l, Arc::clone(&state))))
            .collect();
        Ok(Self { state, tasks })
    }

    /// The port of the origin under test.
    pub fn port(&self) -> u16 {
        self.state.port
    }

    /// The origin under test, `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        self.state.origin()
    }

    /// Every request so far, in order of arrival.
    pub fn hits(&self) -> Vec<Hit> {
        self.state.hits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends with the next request that arrives.
    pub fn arrived(&self) -> Notified<'_> {
        self.state.arrived.notified()
    }

    /// The requests that were not addressed to the origin under test.
    pub fn strangers(&self) -> Vec<Hit> {
        let own = format!("127.0.0.1:{}", self.state.port);
        self.hits()
            .into_iter()
            .filter(|h| h.host != own || h.port != self.state.port)
            .collect()
    }

    /// The text with its placeholders filled in: `{{self}}`, `{{self_localhost}}`, `{{other}}`, `{{other_localhost}}`, and
    /// those that it was started with.
    pub fn render(&self, text: &str) -> String {
        self.state.render(text)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl State {
    fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn render(&self, text: &str) -> String {
        let text = self.words.iter().fold(text.to_owned(), |text, (name, word)| {
            text.replace(&format!("{{{{{name}}}}}"), word)
        });
        text.replace("{{self}}", &self.origin())
            .replace("{{self_localhost}}", &format!("http://localhost:{}", self.port))
            .replace("{{other}}", &format!("http://127.0.0.1:{}", self.other_port))
            .replace("{{other_localhost}}", &format!("http://localhost:{}", self.other_port))
    }
}

/// Accepts until it is aborted; its connections go with it.
async fn accept(listener: TcpListener, state: Arc<State>) {
    let port = listener.local_addr().map_or(0, |a| a.port());
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(serve(stream, port, Arc::clone(&state)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection; what goes wrong on it is the peer's affair.
async fn serve(mut stream: TcpStream, port: u16, state: Arc<State>) {
    let mut buffer = Vec::new();
    while let Ok(Some(request)) = http::read_request(&mut stream, &mut buffer).await {
        let hit = Hit {
            host: request.header("host").unwrap_or_default().to_owned(),
            port,
            method: request.method.clone(),
            path: request.target.clone(),
        };
        state.hits.lock().unwrap_or_else(PoisonError::into_inner).push(hit);
        state.arrived.notify_waiters();
        match behave::answer(&mut stream, &request, &state).await {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests;
