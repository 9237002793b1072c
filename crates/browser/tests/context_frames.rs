//! Frames in and out of process: their worlds, their places, input and dialogs in them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{BOTH, Live, Stage, element_in, eval_in, frames_until, soon};
use jurat_browser::act::ClickHow;
use jurat_browser::context::FrameRef;
use jurat_browser::find::Kind;
use jurat_core::contract::{Accept, DialogAnswer};

const OUTER: &str = "<!doctype html><style>body{margin:0} iframe{border:3px solid; position:absolute; padding: 2px}</style><title>outer</title>
<iframe id=same style='left:50px;top:40px;width:300px;height:200px' src='/middle'></iframe>
<iframe id=other style='left:400px;top:60px;width:300px;height:200px' src='{{self_localhost}}/middle'></iframe>
<iframe id=quiet sandbox style='left:50px;top:300px;width:200px;height:100px' src='/inner'></iframe>
<iframe id=blank style='left:300px;top:300px;width:100px;height:100px'></iframe>
<iframe id=doc style='left:450px;top:300px;width:200px;height:100px' srcdoc='<p>srcdoc</p>'></iframe>
<iframe id=far style='left:10px;top:2000px;width:200px;height:100px' src='/inner?far'></iframe>";
const MIDDLE: &str =
    "<!doctype html><style>body{margin:0} iframe{border:0; position:absolute; left:20px; top:10px}</style>
<iframe style='width:200px;height:100px' src='{{self}}/inner'></iframe>";
const INNER: &str =
    "<!doctype html><style>body{margin:0} button{position:absolute;left:30px;top:20px;width:80px;height:30px}</style>
<button onclick=\"document.title = 'clicked'\">b</button><input id=i style='position:absolute;top:60px'>
<button id=d style='top:95px;left:0' onclick=\"document.title = confirm('inner?')\">d</button>";

/// A frame by the end of its URL and that of its parent.
fn find<'a>(frames: &'a [FrameRef], end: &str, parent: &str) -> &'a FrameRef {
    let wanted = |frame: &&FrameRef| {
        let above = frame.parent.map(|p| frames[p].url.as_str()).unwrap_or_default();
        frame.url.ends_with(end) && above.contains(parent)
    };
    frames
        .iter()
        .find(wanted)
        .unwrap_or_else(|| panic!("no {end} in {parent}: {frames:#?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_have_worlds_places_and_receive_input() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", OUTER), ("/middle", MIDDLE), ("/inner", INNER)]).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        let frames = frames_until(tab, |frames| {
            frames.len() == 9 && frames.iter().all(|f| f.loader.is_some())
        })
        .await;
        let met = frames.iter().filter(|frame| frame.out_of_process).count();
        assert_eq!(met > 0, kind == Kind::Full, "{frames:#?}");
        for frame in &frames {
            let frame = tab.frame(&frame.frame_id).unwrap();
            assert_eq!(
                eval_in(tab, &frame, "typeof juratAct").await,
                "object",
                "{kind:?} {}",
                frame.url
            );
        }
        let places = [
            ("/inner", "127.0.0.1", (50 + 3 + 2 + 20, 40 + 3 + 2 + 10)),
            ("/inner", "localhost", (400 + 3 + 2 + 20, 60 + 3 + 2 + 10)),
        ];
        for (end, parent, (x, y)) in places {
            let frame = frames.iter().find(|f| {
                f.url.ends_with(end)
                    && f.parent
                        .is_some_and(|p| frames[p].url.contains(parent) && frames[p].url.ends_with("middle"))
            });
            let frame = frame.unwrap();
            let place = tab.placement(&frame.frame_id, soon()).await.unwrap();
            assert_eq!(
                (place.x, place.y, place.width, place.height),
                (x * 100, y * 100, 20_000, 10_000),
                "{kind:?} {parent}"
            );
            let button = element_in(tab, frame, "button").await;
            let clicked = tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
            assert!(
                clicked.acknowledged && clicked.received.as_ref().unwrap().own,
                "{kind:?} {parent}: {clicked:?}"
            );
            assert_eq!(
                eval_in(tab, frame, "document.title").await,
                "clicked",
                "{kind:?} {parent}"
            );
            let input = element_in(tab, frame, "input").await;
            let filled = tab.fill(&input, "in a frame", soon()).await.unwrap();
            assert_eq!(filled.after.unwrap().raw(), "in a frame", "{kind:?} {parent}");
            let typed = tab.type_text(&input, "Aé!", soon()).await.unwrap();
            assert!(
                typed.after.as_ref().unwrap().raw().contains("Aé!"),
                "{kind:?} {parent}: {typed:?}"
            );
            open.context.begin_step(Some(DialogAnswer {
                accept: Accept::Button(true),
                message: None,
            }));
            let asks = element_in(tab, frame, "#d").await;
            let clicked = tab.click(&asks, None, ClickHow::default(), soon()).await.unwrap();
            assert!(clicked.acknowledged, "{kind:?} {parent}: {clicked:?}");
            assert_eq!(eval_in(tab, frame, "document.title").await, "true", "{kind:?} {parent}");
            assert_eq!(open.context.dialogs().len(), 1);
        }
        // Out of view, scripts forbidden: still clicked, though nothing runs there.
        let far = find(&frames, "/inner?far", "127.0.0.1");
        let button = element_in(tab, far, "button").await;
        tab.scroll(&button, soon()).await.unwrap();
        let clicked = tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
        assert!(clicked.received.unwrap().own);
        assert_eq!(eval_in(tab, far, "document.title").await, "clicked", "{kind:?}");
        tab.scroll(&element_in(tab, &frames[0], "#same").await, soon())
            .await
            .unwrap();
        let quiet = frames
            .iter()
            .find(|f| f.url.ends_with("/inner") && f.parent == Some(0))
            .unwrap();
        let input = element_in(tab, quiet, "input").await;
        let filled = tab.fill(&input, "quiet", soon()).await.unwrap();
        assert_eq!(filled.after.unwrap().raw(), "quiet");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cover_in_the_outer_document_receives_and_blocks_a_click_in_a_frame() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let outer = "<!doctype html><style>body{margin:0}</style><title>o</title><iframe src='{{self_localhost}}/inner' style='border:0;width:300px;height:200px'></iframe>
            <div id=cover onclick=\"document.title = 'covered'\" style='position:fixed;inset:0;opacity:0'></div>";
        let stage = Stage::pages(&[("/", outer), ("/inner", INNER)]).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        let frames = frames_until(tab, |frames| frames.len() == 2 && frames[1].loader.is_some()).await;
        let button = element_in(tab, &frames[1], "button").await;
        let clicked = tab.click(&button, None, ClickHow::default(), soon()).await.unwrap();
        let received = clicked.received.unwrap();
        assert!(!received.own, "{kind:?}");
        assert_eq!(received.other.unwrap().raw(), "div#cover");
        assert_eq!(
            eval_in(tab, &frames[0], "document.title").await,
            "o",
            "what was not meant did not happen"
        );
    }
}
