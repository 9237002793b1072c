//! Opening contexts and loading documents.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use common::{BOTH, Live, Stage, eval, soon, until};
use jurat_browser::context::{Navigated, Settle};
use jurat_browser::find::Kind;
use jurat_core::contract::{ColorScheme, Emulate, Viewport};
use jurat_testkit::site::{Route, Stream};

const NOTES: &str =
    "<!doctype html><title>Notes</title><input id=n><button onclick=\"l.append(n.value)\">Add</button><p id=l></p>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_is_loaded_with_status_title_and_world() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", NOTES)]).await;
        for _ in 0..3 {
            let open = live.open(&stage).await;
            let document = open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
            assert_eq!(document.status, Some(200), "{document:?}");
            assert!(document.loaded && document.error.is_none());
            let page = open.tab().page_fact(soon()).await.unwrap();
            assert_eq!((page.title.raw(), page.url.raw()), ("Notes", &*stage.url("/")));
            assert_eq!(open.tab().frames().len(), 1);
            assert_eq!(eval(open.tab(), "document.title").await, "Notes");
            let settled = open.tab().settle(Settle::default(), soon()).await.unwrap();
            assert!(settled.in_flight == 0 && settled.quiet_us >= 100_000, "{settled:?}");
        }
    }
}

fn routes() -> BTreeMap<String, Route> {
    let html = |body: &str| Route {
        body: Some(body.to_owned()),
        ..Route::default()
    };
    let to = |path: &str| Route {
        redirect: Some(path.to_owned()),
        ..Route::default()
    };
    let stream = |stream| Route {
        stream: Some(stream),
        ..Route::default()
    };
    [
        ("/", html(NOTES)),
        ("/two", html("<title>Two</title><a id=a href='#part'>x</a>")),
        (
            "/missing",
            Route {
                status: Some(404),
                ..html("<title>No</title>nothing here")
            },
        ),
        (
            "/broken",
            Route {
                status: Some(500),
                ..html("")
            },
        ),
        ("/hop", to("/hop2")),
        ("/hop2", to("/two")),
        ("/loop", to("/loop")),
        (
            "/empty",
            Route {
                status: Some(204),
                ..Route::default()
            },
        ),
        ("/reset", stream(Stream::Reset)),
        ("/silent", stream(Stream::NoHead)),
        ("/stall", stream(Stream::Stall)),
        ("/slow-part", html("<title>Slow</title><img src=/silent>")),
        (
            "/leaves",
            html("<title>Leaves</title><script>location.replace('/two')</script>"),
        ),
    ]
    .into_iter()
    .map(|(path, route)| (path.to_owned(), route))
    .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_in_which_a_document_comes_or_does_not_is_a_fact() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::routes(routes()).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        let go = |path: &'static str| {
            let url = stage.url(path);
            async move { tab.navigate(&url, soon()).await.unwrap() }
        };
        let error = |d: &jurat_core::observation::DocumentFact| d.error.as_ref().map(|e| e.raw().to_owned());

        let hop = go("/hop").await;
        assert_eq!(
            (hop.status, hop.redirects, hop.url.raw(), hop.loaded),
            (Some(200), 2, &*stage.url("/two"), true)
        );
        let missing = go("/missing").await;
        assert_eq!(
            (missing.status, missing.loaded, error(&missing)),
            (Some(404), true, None)
        );
        let broken = go("/broken").await;
        assert_eq!(broken.status, Some(500), "{broken:?}");
        let round = go("/loop").await;
        assert_eq!(
            error(&round).as_deref(),
            Some("net::ERR_TOO_MANY_REDIRECTS"),
            "{round:?}"
        );
        assert!(!round.loaded);
        let empty = go("/empty").await;
        assert_eq!(
            (error(&empty).as_deref(), empty.status),
            (Some("net::ERR_ABORTED"), Some(204)),
            "{empty:?}"
        );
        let leaves = go("/leaves").await;
        assert_eq!(
            (leaves.url.raw(), leaves.loaded, leaves.status),
            (&*stage.url("/two"), true, Some(200))
        );

        // What does not come in time is told at the deadline, not later.
        for (path, status) in [("/silent", None), ("/slow-part", Some(200)), ("/stall", Some(200))] {
            let begun = Instant::now();
            let fact = tab
                .navigate(&stage.url(path), begun + Duration::from_secs(6))
                .await
                .unwrap();
            assert!(!fact.loaded && fact.error.is_none(), "{path}: {fact:?}");
            assert_eq!(fact.status, status, "{path}: {fact:?}");
            assert!(
                begun.elapsed() < Duration::from_secs(9),
                "{path}: {:?}",
                begun.elapsed()
            );
            assert_eq!(fact.url.raw(), stage.url(path));
        }
        let again = go("/two").await;
        assert!(again.loaded && again.status == Some(200), "{again:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reload_back_and_moves_within_a_document() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::routes(routes()).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        assert_eq!(tab.back(soon()).await.unwrap(), Navigated::NoHistory);
        let first = tab.loader();
        let again = tab.reload(soon()).await.unwrap();
        assert!(
            again.loaded && again.status == Some(200) && tab.loader() != first,
            "{again:?}"
        );
        let within = tab.navigate(&stage.url("/#part"), soon()).await.unwrap();
        assert_eq!(
            (within.url.raw(), within.status, within.loaded),
            (&*stage.url("/#part"), Some(200), true)
        );
        tab.navigate(&stage.url("/two"), soon()).await.unwrap();
        let Navigated::Document(back) = tab.back(soon()).await.unwrap() else {
            panic!()
        };
        assert_eq!((back.url.raw(), back.loaded), (&*stage.url("/#part"), true), "{back:?}");
        assert_eq!(eval(tab, "document.title").await, "Notes");
        let Navigated::Document(back) = tab.back(soon()).await.unwrap() else {
            panic!()
        };
        assert_eq!(back.url.raw(), stage.url("/"), "{back:?}");
        // A reload that brings nothing new ends all the same.
        tab.navigate(&stage.url("/two"), soon()).await.unwrap();
        until(tab, "document.title", "Two").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_context_pretends_what_it_was_told() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", NOTES)]).await;
    let viewport = Viewport {
        name: "phone".into(),
        width: 390,
        height: 844,
        mobile: None,
        scale: 2,
    };
    let emulate = Emulate {
        locale: "de-AT".into(),
        timezone: "Pacific/Auckland".into(),
        color_scheme: ColorScheme::Dark,
        permissions: vec!["geolocation".into(), "clipboard-read".into()],
        ..Emulate::default()
    };
    let open = live.open_as(&stage, &viewport, &emulate).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    assert_eq!(
        eval(tab, "[innerWidth, innerHeight, devicePixelRatio, screen.width]").await,
        "980,2121,2,390"
    );
    assert_eq!(eval(tab, "navigator.language").await, "de-AT");
    assert_eq!(eval(tab, "(1.5).toLocaleString()").await, "1,5");
    assert_eq!(
        eval(tab, "Intl.DateTimeFormat().resolvedOptions().timeZone").await,
        "Pacific/Auckland"
    );
    assert_eq!(
        eval(tab, "matchMedia('(prefers-color-scheme: dark)').matches").await,
        "true"
    );
    assert_eq!(eval(tab, "navigator.maxTouchPoints").await, "1");
    let state = "async () => (await navigator.permissions.query({ name: 'geolocation' })).state";
    let state: String = tab
        .call_world(&tab.frames()[0], state, Vec::new(), soon())
        .await
        .unwrap();
    assert_eq!(state, "granted");
    assert_eq!(eval(tab, "document.hasFocus()").await, "true");
}
