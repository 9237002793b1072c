//! A forwarding proxy of a few lines: what the guard is to the browser, without a policy.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A running proxy; gone when dropped.
pub struct Proxy {
    port: u16,
    lines: Arc<Mutex<Vec<String>>>,
    refused: Arc<Mutex<Vec<u16>>>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let refused = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::clone(&refused);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&closed)));
            }
        });
        Self {
            port,
            lines,
            refused,
            task,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Forwards nothing to this port any more.
    pub fn refuse(&self, port: u16) {
        self.refused.lock().unwrap().push(port);
    }

    /// The first lines of all requests so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

/// Forwards one request.
async fn serve(mut client: TcpStream, lines: Arc<Mutex<Vec<String>>>, refused: Arc<Mutex<Vec<u16>>>) -> Option<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let mut chunk = [0; 4096];
        let count = client.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(&chunk[..count]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let (line, rest) = text.split_once("\r\n")?;
    lines.lock().unwrap().push(line.to_owned());
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    if method == "CONNECT" {
        let mut server = dial(target).await?;
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await.ok()?;
        return Some(());
    }
    let (authority, path) = target.strip_prefix("http://")?.split_once('/')?;
    let closed = authority.rsplit(':').next().and_then(|port| port.parse().ok());
    let closed = closed.is_some_and(|port| refused.lock().unwrap().contains(&port));
    let server = if closed { None } else { dial(authority).await };
    let Some(mut server) = server else {
        let nothing = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        client.write_all(nothing).await.ok()?;
        return None;
    };
    let kept: Vec<&str> = rest
        .split("\r\n")
        .filter(|l| !l.to_ascii_lowercase().starts_with("proxy-connection:"))
        .collect();
    let kept = kept.join("\r\n");
    server
        .write_all(format!("{method} /{path} HTTP/1.1\r\n{kept}").as_bytes())
        .await
        .ok()?;
    if !text.to_ascii_lowercase().contains("\r\nupgrade:") {
        // The next request is to come on a connection of its own.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n") {
            head.push(server.read_u8().await.ok()?);
        }
        head.extend_from_slice(b"connection: close\r\n");
        client.write_all(&head).await.ok()?;
    }
    tokio::io::copy_bidirectional(&mut client, &mut server).await.ok()?;
    Some(())
}

async fn dial(authority: &str) -> Option<TcpStream> {
    TcpStream::connect(authority.replace("localhost", "127.0.0.1"))
        .await
        .ok()
}
