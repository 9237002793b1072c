//! Clicks, hovers, drags: real input, and the truth about where it arrived.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::{Duration, Instant};

use common::{BOTH, Live, Stage, element, eval, soon};
use jurat_browser::act::ClickHow;
use jurat_browser::context::{ActError, TabStatus};
use jurat_browser::find::Kind;
use jurat_core::contract::{Modifier, MouseButton};

const PAGE: &str = "<!doctype html><style>body{margin:0} .b{position:absolute;width:100px;height:40px}</style><title>t</title>
<button id=plain class=b style='left:0;top:0' onclick=\"log('plain ' + event.isTrusted + event.detail)\"><span id=inside style='pointer-events:none'>x</span></button>
<button id=covered class=b style='left:0;top:50px' onclick=\"log('covered')\">x</button>
<div id=cover style='position:absolute;left:0;top:50px;width:100px;height:40px' onmousedown=\"log('cover')\" onclick=\"log('cover')\"></div>
<button id=keys class=b style='left:0;top:100px'>x</button>
<button id=late class=b style='left:0;top:150px'>x</button>
<label id=label class=b style='left:0;top:200px'><input id=box type=checkbox style='display:block;width:10px'>label</label>
<div id=host class=b style='left:0;top:250px'></div>
<button id=leave class=b style='left:0;top:300px' onclick=\"location.href='/two'\">x</button>
<button id=steals class=b style='left:0;top:350px' onclick=\"log('steals')\">x</button>
<ul id=log></ul><script>
const log = (text) => { document.title += '|' + text };
keys.addEventListener('mousedown', (e) => log([e.button, e.ctrlKey, e.shiftKey, e.detail].join()));
keys.addEventListener('contextmenu', (e) => { e.preventDefault(); log('menu') });
keys.addEventListener('dblclick', () => log('double'));
// It moves something over itself as the pointer comes.
late.addEventListener('mousemove', () => { const d = document.createElement('div'); d.id = 'late-cover'; d.className = 'b'; d.style.cssText = 'left:0;top:150px'; document.body.append(d) });
late.addEventListener('click', () => log('late'));
const root = host.attachShadow({ mode: 'closed' });
root.innerHTML = '<button style=\"width:100%;height:100%\">closed</button>';
root.firstChild.onclick = () => log('closed');
globalThis.closedButton = root.firstChild;
// A page that fights: it hides events and forges prototypes.
window.addEventListener('click', (e) => { if (e.target.id === 'steals') e.stopImmediatePropagation() }, true);
Event.prototype.composedPath = () => []; Node.prototype.contains = () => false; JSON.stringify = () => '{\"own\":false}';
</script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clicks_arrive_or_say_what_received_them() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", PAGE), ("/two", "<title>two</title>")]).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        let title = || eval(tab, "document.title");
        let click = |selector: &'static str| async move {
            let element = element(tab, selector).await;
            tab.click(&element, None, ClickHow::default(), soon()).await.unwrap()
        };
        let plain = click("#plain").await;
        assert!(plain.dispatched && plain.acknowledged && plain.received.unwrap().own);
        assert_eq!(title().await, "t|plain true1");
        assert!(
            click("#inside").await.received.unwrap().own,
            "a button is hit through what is in it"
        );
        assert_eq!(title().await, "t|plain true1|plain true1");
        let covered = click("#covered").await.received.unwrap();
        assert_eq!((covered.own, covered.other.unwrap().raw()), (false, "div#cover"));
        assert_eq!(title().await, "t|plain true1|plain true1", "neither got it");
        // What was blocked blocks nothing later.
        assert!(click("#plain").await.received.unwrap().own);
        let late = click("#late").await.received.unwrap();
        assert_eq!(
            (late.own, late.other.unwrap().raw()),
            (false, "div#late-cover"),
            "{kind:?}"
        );
        assert!(!title().await.contains("late"));
        assert!(click("#label").await.received.unwrap().own);
        assert_eq!(eval(tab, "box.checked").await, "true");
        let steals = click("#steals").await;
        assert!(steals.received.unwrap().own && !title().await.contains("steals"));

        let keys = element(tab, "#keys").await;
        let how = ClickHow {
            button: MouseButton::Right,
            modifiers: &[Modifier::Control, Modifier::Shift],
            count: 1,
        };
        tab.click(&keys, None, how, soon()).await.unwrap();
        assert!(title().await.ends_with("|2,true,true,1|menu"), "{}", title().await);
        tab.click(
            &keys,
            None,
            ClickHow {
                count: 2,
                ..ClickHow::default()
            },
            soon(),
        )
        .await
        .unwrap();
        assert!(
            title().await.ends_with("|0,false,false,1|0,false,false,2|double"),
            "{}",
            title().await
        );

        let leave = click("#leave").await;
        assert!(leave.acknowledged && leave.received.unwrap().own);
        common::until(tab, "document.title", "two").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_a_closed_root_is_clicked() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", PAGE)]).await;
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    // As the reader does it: by the backend node id of what the DOM domain sees in the closed root.
    let session = tab.session();
    let described = jurat_browser::cdp::protocol::dom::DescribeNode {
        object_id: Some(element(tab, "#host").await.object_id),
        depth: Some(-1),
        pierce: Some(true),
        ..Default::default()
    };
    let host = session.call(&described, soon()).await.unwrap().node;
    let inside = host.shadow_roots.unwrap()[0].children.clone().unwrap()[0].backend_node_id;
    let frame = tab.frames()[0].clone();
    let resolve = jurat_browser::cdp::protocol::dom::ResolveNode {
        backend_node_id: Some(inside),
        execution_context_id: frame.world_id,
        ..Default::default()
    };
    let object_id = session.call(&resolve, soon()).await.unwrap().object.object_id.unwrap();
    let handle = jurat_browser::context::ElementHandle {
        frame_id: frame.frame_id,
        session,
        object_id,
        node: inside,
    };
    let clicked = tab.click(&handle, None, ClickHow::default(), soon()).await.unwrap();
    assert!(clicked.received.unwrap().own);
    assert!(eval(tab, "document.title").await.ends_with("|closed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_click_that_ends_its_tab_is_no_hang() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let opener = "<title>t</title><button onclick=\"window.open('/pop')\">x</button>";
        let stage = Stage::pages(&[
            ("/", opener),
            (
                "/pop",
                "<title>pop</title><button onmousedown='window.close()'>x</button>",
            ),
        ])
        .await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        let button = element(tab, "button").await;
        tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
        let popup = open.context.newest_popup().unwrap();
        popup.ready(soon()).await.unwrap();
        common::until(&popup, "document.title", "pop").await;
        let button = element(&popup, "button").await;
        let begun = Instant::now();
        let clicked = popup
            .click(&button, None, ClickHow::default(), begun + Duration::from_secs(8))
            .await
            .unwrap();
        assert!(
            clicked.dispatched && begun.elapsed() < Duration::from_secs(6),
            "{kind:?} {clicked:?}"
        );
        for _ in 0..300 {
            if popup.status() == TabStatus::Closed {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(matches!(popup.page_fact(soon()).await, Err(ActError::Closed { .. })));
    }
}

const DRAGS: &str = "<!doctype html><style>body{margin:0} div{position:absolute;width:80px;height:80px}</style><title>t</title>
<div id=card draggable=true style='left:10px;top:10px;background:red'>card</div><div id=zone style='left:300px;top:200px;background:blue'></div>
<div id=knob style='left:10px;top:300px;background:green'></div><div id=slot style='left:400px;top:400px;background:gray'></div><script>
card.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'the card');
zone.ondragover = (e) => e.preventDefault();
zone.ondrop = (e) => { e.preventDefault(); document.title = 'dropped ' + e.dataTransfer.getData('text/plain') };
let held = false;
knob.onpointerdown = () => { held = true };
onpointerup = (e) => { if (held) document.title = 'released on ' + document.elementFromPoint(e.clientX, e.clientY).id; held = false };
</script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drags_by_the_pointer_and_by_drag_and_drop() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", DRAGS)]).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        for (from, to, title) in [
            ("#card", "#zone", "dropped the card"),
            ("#knob", "#slot", "released on slot"),
            ("#card", "#zone", "dropped the card"),
        ] {
            let (from, to) = (element(tab, from).await, element(tab, to).await);
            let dragged = tab.drag(&from, None, &to, None, soon()).await.unwrap();
            assert!(
                dragged.acknowledged && dragged.received.as_ref().unwrap().own,
                "{kind:?} {title}: {dragged:?}"
            );
            assert_eq!(eval(tab, "document.title").await, title, "{kind:?}");
        }
        // A click after it is an ordinary one.
        let knob = element(tab, "#knob").await;
        assert!(
            tab.click(&knob, None, ClickHow::default(), soon())
                .await
                .unwrap()
                .received
                .unwrap()
                .own
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hover_moves_the_pointer_over_it() {
    let live = Live::start(Kind::HeadlessShell).await;
    let page = "<style>#m{display:none} #a:hover #m{display:block}</style><div id=a style='width:100px'>menu<p id=m>item</p></div>";
    let stage = Stage::pages(&[("/", page)]).await;
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    for _ in 0..2 {
        let menu = element(tab, "#a").await;
        let hovered = tab.hover(&menu, Some((1000, 1500)), soon()).await.unwrap();
        assert!(hovered.acknowledged && hovered.received.unwrap().own);
        assert_eq!(eval(tab, "getComputedStyle(m).display").await, "block");
    }
}
