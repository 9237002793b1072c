//! What was painted since an action, however short, and what never was.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::Duration;

use common::{BOTH, Live, Open, Stage, soon};
use jurat_browser::find::Kind;
use jurat_browser::page::Watch;
use jurat_core::contract::{By, Locator};
use jurat_core::observation::Painted;

fn text(text: &str) -> Locator {
    Locator {
        by: By::Text { text: text.into() },
        exact: false,
        regex: false,
        nth: None,
        within: None,
    }
}

const PAGE: &str = r#"<!doctype html><style>@keyframes flash { 0%, 100% { opacity: 0 } 30%, 70% { opacity: 1 } } .flash { animation: flash 600ms 1 } #css { opacity: 0 }</style>
<p id=css>Toast by style</p><div id=host></div><p>kept words</p><script>
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const frames = async (count) => { for (let i = 0; i < count; i += 1) await new Promise(requestAnimationFrame); };
const put = (words, where = document.body) => { const p = document.createElement("p"); p.textContent = words; where.append(p); return p; };
const run = {
  async never() { put("Toast unseen").remove(); await wait(150); },
  async short() { const p = put("Toast short"); await wait(50); await frames(3); p.remove(); await wait(100); await frames(2); },
  async style() { css.className = "flash"; await wait(800); await frames(2); },
  async hidden() { put("Toast hidden").style.display = "none"; await wait(100); },
  async closed() { const h = document.createElement("div"); host.append(h); const root = h.attachShadow({ mode: "closed" }); const p = put("Toast closed", root); await wait(300); await frames(4); p.remove(); await wait(100); await frames(2); },
  async leaves() { put("Toast before leaving"); await wait(80); await frames(3); location.href = "/next"; },
};
addEventListener("message", async (event) => { await run[event.data](); document.documentElement.dataset.done = event.data; });
</script>"#;

async fn painted(open: &Open, words: &str, run: &str) -> Painted {
    let tab = open.tab();
    let mut watch = Watch::arm(tab, &[text(words), text("kept words")], 3, soon())
        .await
        .unwrap();
    let frames = tab.frames();
    let go = format!("() => postMessage('{run}', '*')");
    let _: Option<u8> = tab.call_world(&frames[0], go, Vec::new(), soon()).await.unwrap();
    for _ in 0..400 {
        let frames = tab.frames();
        let done = tab
            .call_world(
                &frames[0],
                "() => document.documentElement.dataset.done ?? ''",
                Vec::new(),
                soon(),
            )
            .await;
        if done.is_ok_and(|d: String| d == run) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut all = watch.read(tab, soon()).await.unwrap();
    assert_eq!(all.len(), 2);
    let kept = all.pop().unwrap();
    if run != "leaves" {
        assert!(kept.before == 1 && kept.samples.is_empty() && !kept.lost, "{kept:?}");
    }
    all.pop().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn toasts_are_seen_and_what_was_never_painted_is_not() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[
            ("/", PAGE),
            ("/next", "<!doctype html><html data-done=leaves><p>Next page</p>"),
        ])
        .await;
        for (words, run, count) in [
            ("Toast unseen", "never", false),
            ("Toast short", "short", true),
            ("Toast by style", "style", true),
            ("Toast hidden", "hidden", false),
            ("Toast closed", "closed", true),
            ("Toast before", "leaves", true),
        ] {
            let open = live.open(&stage).await;
            open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
            let painted = painted(&open, words, run).await;
            assert!(
                painted.since_action == 3 && painted.before == 0 && !painted.lost,
                "{kind:?} {run}: {painted:?}"
            );
            assert_eq!(
                painted.samples.iter().any(|s| s.seen > 0),
                count,
                "{kind:?} {run}: {painted:?}"
            );
            assert_eq!(
                painted.samples.last().map_or(0, |s| s.seen),
                0,
                "{kind:?} {run}: {painted:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_that_comes_later_is_watched_from_its_first_frame() {
    let live = Live::start(Kind::HeadlessShell).await;
    let next = "<!doctype html><p id=t>Toast at once</p><script>let left = 4; const go = () => (left -= 1) ? requestAnimationFrame(go) : t.remove(); go()</script>";
    let stage = Stage::pages(&[("/", "<!doctype html><p>First</p>"), ("/next", next)]).await;
    let open = live.open(&stage).await;
    open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
    let mut watch = Watch::arm(open.tab(), &[text("Toast at once")], 1, soon())
        .await
        .unwrap();
    open.tab().navigate(&stage.url("/next"), soon()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let painted = watch.read(open.tab(), soon()).await.unwrap().remove(0);
    assert!(
        painted.samples.iter().any(|s| s.seen == 1) && painted.samples.last().unwrap().seen == 0,
        "{painted:?}"
    );
    assert!(
        !painted.lost && painted.samples[0].text.as_ref().unwrap().raw() == "Toast at once",
        "{painted:?}"
    );
}
