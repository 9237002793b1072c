//! What a context tells: requests with their owners, console, targets, dialogs; and that nothing passes the proxy.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{BOTH, Live, Stage, element, eval, soon, until};
use jurat_browser::act::ClickHow;
use jurat_browser::cdp::protocol::target;
use jurat_browser::context::Settle;
use jurat_browser::find::Kind;
use jurat_core::contract::{Accept, DialogAnswer};
use jurat_core::observation::{AnsweredBy, Happening, Owner, RequestFact};
use tokio::net::TcpListener;

fn request<'a>(all: &'a [Happening], path: &str) -> Option<&'a RequestFact> {
    all.iter().find_map(|happening| match happening {
        Happening::Request(fact) if fact.url.raw().ends_with(path) => Some(fact),
        _ => None,
    })
}

const OWNERS: &str = "<!doctype html><title>t</title><script>
fetch('/_site/delay/1?main');
new Worker(URL.createObjectURL(new Blob([`fetch('${location.origin}/_site/delay/1?worker')`])));
navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then(() => { document.title = 'ready' });
</script><iframe src='{{self_localhost}}/frame'></iframe><button onclick=\"window.open('/popup')\">open</button>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_have_their_owners() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let mut routes = std::collections::BTreeMap::new();
        let page = |body: &str| jurat_testkit::site::Route {
            body: Some(body.into()),
            ..Default::default()
        };
        routes.insert("/".to_owned(), page(OWNERS));
        routes.insert(
            "/frame".to_owned(),
            page("<script>fetch('/_site/delay/1?frame')</script>frame"),
        );
        routes.insert(
            "/popup".to_owned(),
            page("<title>pop</title><script>fetch('/_site/delay/1?popup')</script>"),
        );
        let mut worker = page("fetch('/_site/delay/1?service')");
        worker.headers.insert("content-type".into(), "text/javascript".into());
        routes.insert("/sw.js".to_owned(), worker);
        let stage = Stage::routes(routes).await;
        let mut open = live.open(&stage).await;
        let tab = open.tab().clone();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        until(&tab, "document.title", "ready").await;
        let button = element(&tab, "button").await;
        let clicked = tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
        assert!(clicked.acknowledged && clicked.received.unwrap().own);
        for (path, owner) in [
            ("?main", Owner::Page),
            ("?worker", Owner::Worker),
            ("?service", Owner::ServiceWorker),
            ("/frame", Owner::Frame),
            ("?frame", Owner::Frame),
            ("/popup", Owner::Popup),
            ("?popup", Owner::Popup),
        ] {
            open.wait_for(|h| matches!(h, Happening::Request(r) if r.url.raw().ends_with(path)))
                .await;
            let all = open.happenings();
            assert_eq!(request(&all, path).unwrap().owner, owner, "{kind:?} {path}");
            let id = request(&all, path).unwrap().id.clone();
            let ended = |h: &Happening| matches!(h, Happening::RequestEnd(e) if e.id == id && e.status == Some(200));
            open.wait_for(ended).await;
        }
        let popup = open.context.newest_popup().unwrap();
        popup.ready(soon()).await.unwrap();
        popup.settle(Settle::default(), soon()).await.unwrap();
        assert_eq!(popup.page_fact(soon()).await.unwrap().title.raw(), "pop");
        let all = open.happenings();
        let targets: Vec<_> = all
            .iter()
            .filter_map(|h| match h {
                Happening::Target(t) => Some((t.kind.clone(), t.owner)),
                _ => None,
            })
            .collect();
        assert_eq!(
            targets.iter().filter(|(kind, _)| kind == "service_worker").count(),
            1,
            "{targets:?}"
        );
        assert_eq!(
            targets.iter().filter(|(kind, _)| kind == "page").count(),
            2,
            "{targets:?}"
        );
        let out_of_process = targets.iter().any(|(kind, _)| kind == "iframe");
        assert_eq!(out_of_process, kind == Kind::Full, "{targets:?}");
        assert!(
            !all.iter()
                .any(|h| matches!(h, Happening::Gap { .. } | Happening::ProtocolFault { .. })),
            "{all:#?}"
        );
        popup.close(soon()).await.unwrap();
        open.wait_for(|h| matches!(h, Happening::TargetGone { crashed: false, .. }))
            .await;
        assert!(open.context.newest_popup().is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirects_caches_and_sockets_are_told_apart() {
    let live = Live::start(Kind::HeadlessShell).await;
    let mut routes = std::collections::BTreeMap::new();
    let page = |body: &str| jurat_testkit::site::Route {
        body: Some(body.into()),
        ..Default::default()
    };
    routes.insert("/".to_owned(), page("<title>t</title>"));
    let hop = jurat_testkit::site::Route {
        redirect: Some("/_site/delay/0".into()),
        ..Default::default()
    };
    routes.insert("/hop".to_owned(), hop);
    let stage = Stage::routes(routes).await;
    let mut open = live.open(&stage).await;
    let tab = open.tab().clone();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let run = "async () => { await fetch('/hop'); await fetch('/_site/cached'); await fetch('/_site/cached');
        await new Promise((done) => { const w = new WebSocket('ws://' + location.host + '/_site/ws'); w.onopen = () => { w.close(); done(); }; });
        new EventSource('/_site/sse'); try { await fetch('http://127.0.0.1:1/gone') } catch {} }";
    let _: Option<()> = tab.call_world(&tab.frames()[0], run, Vec::new(), soon()).await.unwrap();
    let settled = tab.settle(Settle::default(), soon()).await.unwrap();
    assert_eq!(
        settled.in_flight, 0,
        "an event source is answered by its head: {settled:?}"
    );
    open.wait_for(|h| matches!(h, Happening::Request(r) if r.kind == "EventSource"))
        .await;
    // Ends may be told later than the page goes on.
    open.wait_for(|h| matches!(h, Happening::RequestEnd(e) if e.id.ends_with("#1")))
        .await;
    for path in ["/_site/cached", "/_site/ws", "/gone"] {
        let all = open.happenings();
        for id in all.iter().filter_map(|h| match h {
            Happening::Request(r) if r.url.raw().ends_with(path) => Some(r.id.clone()),
            _ => None,
        }) {
            open.wait_for(|h| matches!(h, Happening::RequestEnd(e) if e.id == id))
                .await;
        }
    }
    let all = open.happenings();
    let end = |id: &str| {
        all.iter().find_map(|h| match h {
            Happening::RequestEnd(end) if end.id == id => Some(end.clone()),
            _ => None,
        })
    };
    let hop = request(&all, "/hop").unwrap();
    assert_eq!(end(&hop.id).unwrap().status, Some(302));
    let after = request(&all, "/_site/delay/0").unwrap();
    assert_eq!(after.id, format!("{}#1", hop.id));
    assert_eq!(end(&after.id).unwrap().status, Some(200));
    let cached: Vec<_> = all
        .iter()
        .filter_map(|h| match h {
            Happening::Request(r) if r.url.raw().ends_with("/_site/cached") => end(&r.id).map(|end| end.answered_by),
            _ => None,
        })
        .collect();
    assert_eq!(cached, [AnsweredBy::Network, AnsweredBy::Cache]);
    let socket = request(&all, "/_site/ws").unwrap();
    assert_eq!(
        (socket.method.as_str(), end(&socket.id).unwrap().status),
        ("WEBSOCKET", Some(101))
    );
    let gone = end(&request(&all, "/gone").unwrap().id).unwrap();
    assert_eq!((gone.answered_by, gone.error.is_some()), (AnsweredBy::Nothing, true));
}

const NOISE: &str = "<!doctype html><title>t</title><script>
console.log('a', 1, { b: 2 }, [3]); console.error('bad \\ud800 thing'); console.warn('careful');
setTimeout(() => { throw new Error('late') }); Promise.reject(new Error('nobody cares'));
fetch('/nowhere');
</script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_page_says_is_told() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", NOISE)]).await;
    let mut open = live.open(&stage).await;
    open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
    open.wait_for(|h| matches!(h, Happening::Exception(e) if e.rejection && e.text.raw().contains("nobody cares")))
        .await;
    open.wait_for(|h| matches!(h, Happening::Exception(e) if !e.rejection && e.text.raw().contains("late")))
        .await;
    open.wait_for(|h| matches!(h, Happening::Console(c) if c.level == "network" && c.text.raw().contains("404")))
        .await;
    open.wait_for(|h| matches!(h, Happening::Console(c) if c.level == "error" && c.text.raw() == "bad \u{fffd} thing"))
        .await;
    let said = open
        .wait_for(|h| matches!(h, Happening::Console(c) if c.level == "log"))
        .await;
    let Happening::Console(said) = said else { panic!() };
    assert_eq!((said.text.raw(), said.line), ("a 1 Object Array(1)", Some(2)));
    assert_eq!(said.url.unwrap().raw(), stage.url("/"));
}

const DIALOGS: &str = "<!doctype html><button id=c onclick=\"document.title = confirm('Sure?')\">c</button>
<button id=p onclick=\"document.title = prompt('Name?', 'x')\">p</button>
<button id=u onclick=\"onbeforeunload = (e) => e.preventDefault(); document.title = 'guarded'\">u</button>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialogs_are_answered_as_the_step_says() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", DIALOGS), ("/two", "<title>Two</title>")]).await;
        let mut open = live.open(&stage).await;
        let tab = open.tab().clone();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        let answer = |accept, message: Option<&str>| {
            Some(DialogAnswer {
                accept,
                message: message.map(Into::into),
            })
        };
        for (selector, answer, title, expected) in [
            ("#c", None, "false", false),
            ("#c", answer(Accept::Button(true), None), "true", true),
            ("#c", answer(Accept::Button(true), Some("Sure?")), "true", true),
            ("#c", answer(Accept::Button(true), Some("Other?")), "false", false),
            ("#p", answer(Accept::Text("Ada".into()), None), "Ada", true),
            ("#p", answer(Accept::Button(false), None), "null", true),
        ] {
            open.context.begin_step(answer);
            let button = element(&tab, selector).await;
            let clicked = tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
            assert!(clicked.acknowledged && clicked.received.unwrap().own);
            assert_eq!(eval(&tab, "document.title").await, title);
            let dialogs = open.context.dialogs();
            assert_eq!(dialogs.len(), 1);
            assert_eq!(dialogs[0].expected, expected, "{dialogs:?}");
        }
        open.context.begin_step(answer(Accept::Button(false), None));
        let button = element(&tab, "#u").await;
        tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
        let stays = tab.navigate(&stage.url("/two"), soon()).await.unwrap();
        assert_eq!(
            stays.error.as_ref().map(jurat_core::untrusted::Untrusted::raw),
            Some("net::ERR_ABORTED"),
            "{stays:?}"
        );
        let stays = tab.reload(soon()).await.unwrap();
        assert_eq!(
            stays.error.as_ref().map(jurat_core::untrusted::Untrusted::raw),
            Some("net::ERR_ABORTED"),
            "{stays:?}"
        );
        assert_eq!(open.context.dialogs()[0].kind, "beforeunload");
        open.context.begin_step(None);
        let leaves = tab.navigate(&stage.url("/two"), soon()).await.unwrap();
        assert!(leaves.loaded, "{leaves:?}");
        assert!(open.context.dialogs()[0].accepted);
        open.wait_for(|h| matches!(h, Happening::Dialog(d) if d.kind == "beforeunload" && d.accepted))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_is_denied_and_told() {
    let live = Live::start(Kind::HeadlessShell).await;
    let mut routes = std::collections::BTreeMap::new();
    let page = |body: &str| jurat_testkit::site::Route {
        body: Some(body.into()),
        ..Default::default()
    };
    routes.insert("/".to_owned(), page("<a id=a href=/file>x</a>"));
    let mut file = page("content");
    file.headers
        .insert("content-disposition".into(), "attachment; filename=f.txt".into());
    routes.insert("/file".to_owned(), file);
    let stage = Stage::routes(routes).await;
    let mut open = live.open(&stage).await;
    let tab = open.tab().clone();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let link = element(&tab, "a").await;
    tab.click(&link, None, ClickHow::default(), soon()).await.unwrap();
    open.wait_for(|h| matches!(h, Happening::Download { url } if url.raw().ends_with("/file")))
        .await;
    let fact = tab.navigate(&stage.url("/file"), soon()).await.unwrap();
    assert_eq!(fact.error.unwrap().raw(), "net::ERR_ABORTED");
}

/// Without the bypass list Chromium dials loopback past the proxy; with it, never.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loopback_is_reached_through_the_proxy_only() {
    let live = Live::start(Kind::HeadlessShell).await;
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = canary.local_addr().unwrap();
    let script = "async (url) => { try { await fetch(url, { mode: 'no-cors' }) } catch {} }";
    let page = format!("<title>t</title><img src='http://{address}/img'>");
    let stage = Stage::pages(&[("/", &page)]).await;
    // Ours: what the proxy does not forward to the canary does not come there. The proxy notes it, and is told to go nowhere.
    stage.proxy.refuse(address.port());
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let url = jurat_browser::context::Arg::Value(format!("http://{address}/fetch").into());
    let _: Option<()> = tab
        .call_world(&tab.frames()[0], script, vec![url], soon())
        .await
        .unwrap();
    let noted = stage.proxy.lines();
    assert!(
        noted.iter().any(|line| line.contains("/img")) && noted.iter().any(|line| line.contains("/fetch")),
        "{noted:?}"
    );
    let hit = tokio::time::timeout(std::time::Duration::from_millis(100), canary.accept()).await;
    assert!(hit.is_err(), "the canary was reached past the proxy");

    // The same proxy without the list: the canary is dialled directly.
    let session = tab.session().with_id(None);
    let open = target::CreateBrowserContext {
        proxy_server: Some(format!("http://127.0.0.1:{}", stage.proxy.port())),
        ..Default::default()
    };
    let id = session.call(&open, soon()).await.unwrap().browser_context_id;
    let create = target::CreateTarget {
        browser_context_id: Some(id.clone()),
        ..target::CreateTarget::new(format!("http://{address}/direct"))
    };
    session.call(&create, soon()).await.unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(10), canary.accept())
        .await
        .expect("dialled directly")
        .unwrap();
    assert!(!stage.proxy.lines().iter().any(|line| line.contains("/direct")));
}
