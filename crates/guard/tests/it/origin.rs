//! An origin server that does as the path says, on raw sockets, and keeps the heads that it saw.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<u64>>,
    task: JoinHandle<()>,
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Origin {
    pub(crate) async fn start() -> Self {
        Self::on("127.0.0.1:0").await
    }

    pub(crate) async fn on(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let connections: Arc<Mutex<u64>> = Arc::default();
        let (heads, count) = (Arc::clone(&seen), Arc::clone(&connections));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                *count.lock().unwrap() += 1;
                tokio::spawn(serve(stream, Arc::clone(&heads)));
            }
        });
        Self {
            address,
            seen,
            connections,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Request heads that arrived, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> u64 {
        *self.connections.lock().unwrap()
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>) {
    let mut buffer = Vec::with_capacity(64 * 1024);
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.drain(..end);
        seen.lock().unwrap().push(head.clone());
        let lower = head.to_ascii_lowercase();
        let length = lower
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next())
            .map_or(0, |n| n.parse::<usize>().unwrap());
        let mut body = Vec::new();
        if lower.contains("transfer-encoding: chunked") {
            while !body.ends_with(b"0\r\n\r\n") {
                if buffer.is_empty() && stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                    return;
                }
                body.append(&mut buffer);
            }
        }
        let mut sum = 0;
        while sum < length {
            if buffer.is_empty() && stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                return;
            }
            let take = buffer.len().min(length - sum);
            let rest = buffer.split_off(take);
            body.append(&mut buffer);
            buffer.extend(rest);
            sum += take;
            if body.len() > 1 << 20 {
                body.clear();
            }
        }
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let is_head = head.starts_with("HEAD ");
        let answer: Vec<u8> = match path.split('?').next().unwrap_or_default() {
            "/hang" => {
                std::future::pending::<()>().await;
                return;
            }
            "/close" => return,
            "/die" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await;
                return;
            }
            "/garbage" => {
                let _ = stream.write_all(b"SSH-2.0-nope\r\n\r\n").await;
                return;
            }
            "/endless" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").await;
                while stream.write_all(&[b'x'; 8192]).await.is_ok() {}
                return;
            }
            "/large" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 209715200\r\n\r\n").await;
                let piece = vec![b'x'; 1 << 20];
                for _ in 0..200 {
                    if stream.write_all(&piece).await.is_err() {
                        return;
                    }
                }
                continue;
            }
            "/until-close" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it").await;
                return;
            }
            "/once" => {
                // Keep-alive is promised and not kept.
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
                return;
            }
            "/ws" => {
                let _ = stream
                    .write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n")
                    .await;
                let _ = stream.write_all(&buffer).await;
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
                return;
            }
            "/chunked" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3\r\nabc\r\n3;x=y\r\ndef\r\n0\r\nX: y\r\n\r\n".to_vec(),
            "/not-modified" => b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 12\r\n\r\n".to_vec(),
            "/no-content" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            "/early" => b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec(),
            "/redirect" => b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n".to_vec(),
            "/spoof" => b"HTTP/1.1 502 Bad Gateway\r\nX-Jurat-Guard: upstream_unreachable\r\nProxy-Authenticate: Basic\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 0\r\n\r\n".to_vec(),
            "/upload" => {
                let text = sum.to_string();
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
            }
            "/echo" => {
                let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
                answer.extend_from_slice(&body);
                answer
            }
            _ => {
                let tail = if is_head { "" } else { "hello" };
                format!("HTTP/1.1 200 OK\r\nX-CamelCase: Kept\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n{tail}").into_bytes()
            }
        };
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}
