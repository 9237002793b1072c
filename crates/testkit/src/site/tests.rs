//! The site against plain sockets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

async fn ask(site: &Site, request: &str) -> String {
    let address = site.origin().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream
        .write_all(request.replace("HOST", &address).as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn notes_are_kept_for_one_run() {
    let site = Site::start(Content::default(), SiteSpec::default()).await.unwrap();
    let body = r#"{"text":"buy milk"}"#;
    let posted = ask(
        &site,
        &format!(
            "POST /api/notes HTTP/1.1\r\nhost: HOST\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
    .await;
    assert!(posted.starts_with("HTTP/1.1 201 "), "{posted}");
    let listed = ask(&site, "GET /api/notes HTTP/1.1\r\nhost: HOST\r\n\r\n").await;
    assert!(listed.ends_with(r#"[{"id":1,"text":"buy milk"}]"#), "{listed}");
    let two = ask(
        &site,
        "DELETE /api/notes/1 HTTP/1.1\r\nhost: HOST\r\n\r\nGET /api/notes HTTP/1.1\r\nhost: HOST\r\n\r\n",
    )
    .await;
    assert!(two.starts_with("HTTP/1.1 204 ") && two.ends_with("[]"), "{two}");
    assert_eq!(site.hits().len(), 4);
    assert_eq!(site.strangers(), []);
}

#[tokio::test]
async fn a_request_under_another_name_is_a_stranger() {
    let site = Site::start(Content::default(), SiteSpec::default()).await.unwrap();
    ask(&site, "GET /x HTTP/1.1\r\nhost: localhost:1\r\n\r\n").await;
    assert_eq!(site.strangers().len(), 1);
}

#[tokio::test]
async fn nothing_outside_the_folders_is_served() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let site = Site::start(
        Content {
            index: None,
            folders: vec![here],
        },
        SiteSpec::default(),
    )
    .await
    .unwrap();
    assert!(
        ask(&site, "GET /lib.rs HTTP/1.1\r\nhost: HOST\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 200 ")
    );
    for path in ["/../Cargo.toml", "/site/../../Cargo.toml", "//etc/passwd", "/.hidden"] {
        let answer = ask(&site, &format!("GET {path} HTTP/1.1\r\nhost: HOST\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
    }
}
