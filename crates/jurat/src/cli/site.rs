//! A tiny site on loopback for the bundled app: one page, one origin, no files.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

/// Sites that are served until this is dropped.
#[derive(Debug)]
pub(super) struct Sites {
    addresses: Vec<SocketAddr>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Sites {
    /// Serves each page at `/` of an origin of its own.
    ///
    /// # Errors
    /// No port or no thread can be had.
    pub(super) fn serve(pages: Vec<String>) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for page in pages {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            listeners.push((listener, Bytes::from(page)));
        }
        let addresses = listeners
            .iter()
            .map(|(l, _)| l.local_addr())
            .collect::<io::Result<_>>()?;
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("demo-site".into()).spawn(move || {
            runtime.block_on(async move {
                for (listener, page) in listeners {
                    if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                        tokio::spawn(accept(listener, page));
                    }
                }
                let _ = stopped.await;
            });
        })?;
        Ok(Self {
            addresses,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The URLs of the pages, in order.
    pub(super) fn urls(&self) -> Vec<String> {
        self.addresses.iter().map(|a| format!("http://{a}/")).collect()
    }
}

impl Drop for Sites {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: tokio::net::TcpListener, page: Bytes) {
    let page = Arc::new(page);
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let page = Arc::clone(&page);
        let answer = service_fn(move |request: Request<Incoming>| {
            let page = Bytes::clone(&page);
            async move { Ok::<_, Infallible>(respond(&request, page)) }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

fn respond(request: &Request<Incoming>, page: Bytes) -> Response<Full<Bytes>> {
    let (status, body) = if request.uri().path() == "/" {
        (StatusCode::OK, page)
    } else {
        (StatusCode::NOT_FOUND, Bytes::new())
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        hyper::header::HeaderValue::from_static("text/html; charset=utf-8"),
    );
    response
        .headers_mut()
        .insert(CACHE_CONTROL, hyper::header::HeaderValue::from_static("no-store"));
    response
}
