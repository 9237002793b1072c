//! What the site answers: routes of the case, then the built-in ones, then files.
//!
//! Built in, on every site: `/api/notes` (list, add, delete; `?delay=MS` waits, `?fail=STATUS` refuses),
//! `/_site/delay/MS[/STATUS]`, `/_site/cached`, `/_site/echo`, `/_site/ws` and `/_site/sse`.

use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::http::{Request, Response};
use super::{Route, State, sockets};

/// Answers one request; whether the connection goes on.
pub(super) async fn answer(stream: &mut TcpStream, request: &Request, state: &State) -> io::Result<bool> {
    if let Some(route) = state.spec.routes.get(request.path()) {
        tokio::time::sleep(Duration::from_millis(route.delay_ms)).await;
        if let Some(kind) = route.stream {
            return sockets::misbehave(stream, kind).await;
        }
        let response = routed(route, state);
        return response.write(stream, &request.method).await.map(|()| true);
    }
    match request.path() {
        "/_site/ws" => return sockets::echo_websocket(stream, request).await,
        "/_site/sse" => return sockets::server_sent_events(stream).await,
        _ => {}
    }
    let response = match builtin(request, state).await {
        Some(response) => response.with("access-control-allow-origin", "*"),
        None => file(request, state),
    };
    response.write(stream, &request.method).await.map(|()| true)
}

fn routed(route: &Route, state: &State) -> Response {
    let mut response = if let Some(name) = &route.file {
        load(name, state).unwrap_or_else(missing)
    } else {
        let body = route.body.as_deref().map(|b| state.render(b)).unwrap_or_default();
        Response::new(200, "text/html; charset=utf-8", body)
    };
    response.status = route.status.unwrap_or(if route.redirect.is_some() { 302 } else { 200 });
    if let Some(to) = &route.redirect {
        response = response.with("location", &state.render(to));
    }
    for (name, value) in &route.headers {
        response = response.with(name, &state.render(value));
    }
    response
}

async fn builtin(request: &Request, state: &State) -> Option<Response> {
    let path = request.path();
    let ours = path == "/api/notes" || path.starts_with("/api/notes/") || path.starts_with("/_site/");
    if !ours {
        return None;
    }
    if request.method == "OPTIONS" {
        let allowed = Response::new(204, "text/plain", "");
        return Some(
            allowed
                .with("access-control-allow-methods", "*")
                .with("access-control-allow-headers", "content-type"),
        );
    }
    if let Some(rest) = path.strip_prefix("/_site/delay/") {
        let mut parts = rest.split('/').map(str::parse::<u64>);
        let wait = parts.next()?.ok()?;
        let status = parts
            .next()
            .and_then(Result::ok)
            .and_then(|s| u16::try_from(s).ok())
            .unwrap_or(200);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        return Some(reply(status, &json!({ "delay": wait, "status": status })));
    }
    match path {
        "/_site/cached" => Some(reply(200, &json!({ "cached": true })).with("cache-control", "max-age=600")),
        "/_site/echo" => Some(reply(
            200,
            &json!({
                "method": request.method,
                "body": String::from_utf8_lossy(&request.body),
                "cookie": request.header("cookie"),
                "accept_language": request.header("accept-language"),
            }),
        )),
        _ => notes(request, state).await,
    }
}

/// The notes: `GET` and `POST /api/notes`, `DELETE /api/notes/ID`.
async fn notes(request: &Request, state: &State) -> Option<Response> {
    if let Some(wait) = request.query("delay").and_then(|v| v.parse().ok()) {
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    if let Some(status) = request.query("fail").and_then(|v| v.parse().ok()) {
        return Some(reply(status, &json!({ "error": "refused" })));
    }
    let mut notes = state.notes.lock().unwrap_or_else(PoisonError::into_inner);
    let row = |(id, text): &(u64, String)| json!({ "id": id, "text": text });
    match (request.method.as_str(), request.path()) {
        ("GET", "/api/notes") => Some(reply(200, &Value::from(notes.rows.iter().map(row).collect::<Vec<_>>()))),
        ("POST" | "PUT", "/api/notes") => {
            let sent = serde_json::from_slice::<Value>(&request.body).ok();
            let Some(text) = sent.as_ref().and_then(|v| v["text"].as_str()) else {
                return Some(reply(400, &json!({ "error": "text is missing" })));
            };
            notes.last_id += 1;
            let added = (notes.last_id, text.to_owned());
            notes.rows.push(added.clone());
            Some(reply(201, &row(&added)))
        }
        ("DELETE", path) => {
            let id = path.strip_prefix("/api/notes/")?.parse::<u64>().ok()?;
            let before = notes.rows.len();
            notes.rows.retain(|(have, _)| *have != id);
            Some(reply(if notes.rows.len() < before { 204 } else { 404 }, &Value::Null))
        }
        _ => None,
    }
}

fn reply(status: u16, body: &Value) -> Response {
    Response::new(status, "application/json", body.to_string())
}

fn file(request: &Request, state: &State) -> Response {
    match request.path() {
        "/" => match &state.content.index {
            Some(index) => read(index, state).unwrap_or_else(missing),
            None => load("index.html", state).unwrap_or_else(missing),
        },
        path => load(path.trim_start_matches('/'), state).unwrap_or_else(missing),
    }
}

fn missing() -> Response {
    Response::new(
        404,
        "text/html; charset=utf-8",
        "<!doctype html><title>404</title><p>Not found",
    )
}

/// A file of the content folders, by a name that stays inside them.
fn load(name: &str, state: &State) -> Option<Response> {
    if name
        .split(['/', '\\'])
        .any(|part| part.is_empty() || part.starts_with('.'))
    {
        return None;
    }
    state
        .content
        .folders
        .iter()
        .find_map(|folder| read(&folder.join(name), state))
}

fn read(path: &Path, state: &State) -> Option<Response> {
    let bytes = std::fs::read(path).ok()?;
    let kind = match path.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        Some("png") => return Some(Response::new(200, "image/png", bytes)),
        _ => return Some(Response::new(200, "application/octet-stream", bytes)),
    };
    Some(Response::new(200, kind, state.render(&String::from_utf8_lossy(&bytes))))
}
