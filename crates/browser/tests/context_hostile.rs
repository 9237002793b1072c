//! Pages that flood, hang, crash, and ask without end: what waits is resolved, what is cut is counted.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::{Duration, Instant};

use common::{Live, Stage, element, eval, soon};
use jurat_browser::act::ClickHow;
use jurat_browser::cdp::protocol::page;
use jurat_browser::context::{ActError, Settle, TabStatus};
use jurat_browser::find::Kind;
use jurat_core::observation::Happening;

fn within(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialogs_without_end_make_the_tab_unresponsive() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", "<button onclick='for (;;) alert(1)'>x</button>")]).await;
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let button = element(tab, "button").await;
    open.context.begin_step(None);
    let begun = Instant::now();
    let clicked = tab.click(&button, None, ClickHow::default(), within(30)).await.unwrap();
    assert!(clicked.dispatched && !clicked.acknowledged);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(tab.status(), TabStatus::Unresponsive);
    assert_eq!(open.context.dialogs().len(), 20);
    let read = tab
        .call_world::<String>(&tab.frames()[0], "() => 'x'", Vec::new(), within(30))
        .await;
    assert!(matches!(read, Err(ActError::Unresponsive { .. })), "{read:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_console_flood_is_cut_but_errors_are_kept() {
    let live = Live::start(Kind::HeadlessShell).await;
    let page = "<title>t</title><script>for (let i = 0; i < 20000; i++) console.log('line ' + i);
        console.error('the error'); for (let i = 0; i < 2000; i++) console.error('more'); document.title = 'done'</script>";
    let stage = Stage::pages(&[("/", page)]).await;
    let mut open = live.open(&stage).await;
    let document = open.tab().navigate(&stage.url("/"), within(30)).await.unwrap();
    assert!(document.loaded);
    open.wait_for(|h| matches!(h, Happening::Console(c) if c.text.raw() == "the error"))
        .await;
    assert_eq!(eval(open.tab(), "document.title").await, "done");
    let all = open.happenings();
    let errors = all
        .iter()
        .filter(|h| matches!(h, Happening::Console(c) if c.level == "error"))
        .count();
    assert!((1..=200).contains(&errors));
    assert!(!all.iter().any(|h| matches!(h, Happening::Gap { .. })));
    let cuts = open.context.cuts();
    assert!(cuts["console"] >= 19_000, "{cuts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_reloads_itself_without_end_still_gives_its_document() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[
        ("/", "<script>onload = () => location.reload()</script>"),
        ("/two", "<title>2</title>"),
    ])
    .await;
    let open = live.open(&stage).await;
    let document = open.tab().navigate(&stage.url("/"), within(10)).await.unwrap();
    assert_eq!(document.status, Some(200), "{document:?}");
    let begun = Instant::now();
    open.tab().settle(Settle::default(), within(2)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(4));
    let two = open.tab().navigate(&stage.url("/two"), within(10)).await.unwrap();
    assert!(two.loaded, "{two:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn popups_without_end_are_closed_beyond_ten() {
    let live = Live::start(Kind::HeadlessShell).await;
    let page = "<title>t</title><button onclick=\"for (let i = 0; i < 3; i++) window.open('about:blank#' + i, '_blank')\">x</button>";
    let stage = Stage::pages(&[("/", page)]).await;
    let mut open = live.open(&stage).await;
    let tab = open.tab().clone();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    // Chromium lets one click open one popup.
    for _ in 0..14 {
        let button = element(&tab, "button").await;
        tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
    }
    open.wait_for(|h| matches!(h, Happening::TargetGone { .. })).await;
    let tabs = open.context.tabs();
    assert!(tabs.len() <= 12, "{}", tabs.len());
    assert_eq!(eval(&tab, "document.title").await, "t");
    assert!(open.context.newest_popup().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_resolves_what_waits() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", "<title>t</title>")]).await;
    let mut open = live.open(&stage).await;
    let tab = open.tab().clone();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let waiting = {
        let (tab, frame) = (tab.clone(), tab.frames()[0].clone());
        tokio::spawn(async move {
            tab.call_world::<()>(&frame, "() => new Promise(() => {})", Vec::new(), within(60))
                .await
        })
    };
    drop(tab.session().send(&page::Crash {}));
    let waited = waiting.await.unwrap();
    assert!(matches!(waited, Err(ActError::Crashed { .. })), "{waited:?}");
    open.wait_for(|h| matches!(h, Happening::TargetGone { crashed: true, .. }))
        .await;
    assert_eq!(tab.status(), TabStatus::Crashed);
    let read = tab.settle(Settle::default(), within(60)).await;
    assert!(matches!(read, Err(ActError::Crashed { .. })), "{read:?}");
    // The context is lost, the browser is not.
    let next = live.open(&stage).await;
    assert!(next.tab().navigate(&stage.url("/"), soon()).await.unwrap().loaded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_page_fails_calls_at_their_deadlines() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", "<title>t</title><button onclick='for (;;);'>x</button>")]).await;
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let button = element(tab, "button").await;
    let begun = Instant::now();
    let clicked = tab.click(&button, None, ClickHow::default(), within(2)).await.unwrap();
    assert!(!clicked.acknowledged, "{clicked:?}");
    let read = tab
        .call_world::<String>(&tab.frames()[0], "() => 'x'", Vec::new(), within(1))
        .await;
    assert!(matches!(read, Err(ActError::Unresponsive { .. })), "{read:?}");
    let fact = tab.page_fact(within(5)).await.unwrap();
    assert_eq!(fact.title.raw(), "t", "the browser process still answers");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let next = live.open(&stage).await;
    assert!(next.tab().navigate(&stage.url("/"), soon()).await.unwrap().loaded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_waits_for_answers_and_not_for_clocks_and_streams() {
    let live = Live::start(Kind::HeadlessShell).await;
    let late = "<p id=p>saved</p><script>fetch('/_site/delay/700/500').then((r) => { if (!r.ok) p.textContent = 'taken back' })</script>";
    let clock = "<p id=p></p><script>setInterval(() => { p.textContent = Date.now() }, 10)</script>";
    let stage = Stage::pages(&[("/late", late), ("/clock", clock)]).await;
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/late"), soon()).await.unwrap();
    let settled = tab.settle(Settle::default(), soon()).await.unwrap();
    assert_eq!(eval(tab, "p.textContent").await, "taken back", "{settled:?}");
    assert!(settled.in_flight == 0 && settled.waited_us > 300_000, "{settled:?}");
    tab.navigate(&stage.url("/clock"), soon()).await.unwrap();
    let begun = Instant::now();
    let settled = tab
        .settle(
            Settle {
                patience: Duration::from_millis(500),
                ..Settle::default()
            },
            soon(),
        )
        .await
        .unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(3) && settled.quiet_us < 100_000,
        "{settled:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_dies_resolves_everything() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", "<title>t</title>")]).await;
    let open = live.open(&stage).await;
    let tab = open.tab().clone();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let frame = tab.frames()[0].clone();
    let waiting = {
        let tab = tab.clone();
        tokio::spawn(async move {
            tab.call_world::<()>(&frame, "() => new Promise(() => {})", Vec::new(), within(60))
                .await
        })
    };
    drop(live);
    let waited = waiting.await.unwrap();
    assert!(matches!(waited, Err(ActError::BrowserGone { .. })), "{waited:?}");
    assert!(matches!(tab.page_fact(soon()).await, Err(ActError::BrowserGone { .. })));
}
