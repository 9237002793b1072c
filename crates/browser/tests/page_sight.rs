//! What a person could see: each way to hide something beside its visible twin.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::Instant;

use common::{Live, Open, Stage, soon};
use jurat_browser::find::Kind;
use jurat_browser::page::{Look, look};
use jurat_core::contract::{By, Locator};
use jurat_core::evaluate::{Sight, sight};
use jurat_core::observation::{Element, Layout, ProofMeans};

fn text(text: &str) -> Locator {
    Locator {
        by: By::Text { text: text.into() },
        exact: false,
        regex: false,
        nth: None,
        within: None,
    }
}

fn css(css: &str) -> Locator {
    Locator {
        by: By::Css { css: css.into() },
        exact: false,
        regex: false,
        nth: None,
        within: None,
    }
}

async fn one(open: &Open, locator: &Locator) -> Element {
    let mut found = look(open.tab(), locator, &Look::for_sight(), soon())
        .await
        .unwrap()
        .probe;
    assert_eq!(found.elements.len(), 1, "{locator}: {found:?}");
    found.elements.remove(0)
}

async fn seen(open: &Open, locator: &Locator) -> (Sight, Layout) {
    let layout = one(open, locator).await.layout;
    (sight(&layout), layout)
}

const HEAD: &str = "<!doctype html><style>body{margin:8px;font:16px sans-serif;min-height:2000px}</style>";
const COVER: &str = "position:absolute;left:0;top:0;width:300px;height:100px;pointer-events:none";

/// Pages that show `words` and their twins that do not.
fn twins() -> Vec<(&'static str, String, String)> {
    let p = |style: &str| format!("<p style=\"{style}\">words</p>");
    let in_div = |style: &str| format!("<div style=\"{style}\"><p>words</p></div>");
    let covered = |cover: &str, script: &str| {
        format!(
            "<p>words</p><canvas id=c width=300 height=100 style=\"{COVER};{cover}\"></canvas><script>const g = c.getContext('2d');{script}</script>"
        )
    };
    vec![
        ("display", p("display:block"), p("display:none")),
        ("visibility", p("visibility:visible"), p("visibility:hidden")),
        ("opacity", p("opacity:1"), p("opacity:0")),
        ("opacity of an ancestor", in_div("opacity:.8"), in_div("opacity:0")),
        ("opacity by filter", p("filter:opacity(1)"), p("filter:opacity(0)")),
        (
            "off-screen left",
            p("position:absolute;left:50px"),
            p("position:absolute;left:-5000px"),
        ),
        (
            "below the fold",
            p("position:absolute;top:1500px"),
            p("position:fixed;top:1500px"),
        ),
        ("font-size", p("font-size:12px"), p("font-size:0")),
        ("scale", p("transform:scale(.9)"), p("transform:scale(0)")),
        (
            "overflow",
            in_div("overflow:hidden;height:50px"),
            in_div("overflow:hidden;height:0"),
        ),
        (
            "scrolled out",
            "<div style='overflow:auto;height:60px;width:200px'><div style='height:300px'></div><p>words</p></div>"
                .into(),
            "<div style='overflow:hidden;height:60px;width:200px'><div style='height:300px'></div><p>words</p></div>"
                .into(),
        ),
        (
            "clip",
            p("position:absolute;clip:rect(0,200px,50px,0)"),
            p("position:absolute;clip:rect(1px,1px,1px,1px)"),
        ),
        ("clip-path", p("clip-path:inset(0)"), p("clip-path:inset(50%)")),
        (
            "clip-path polygon",
            p("clip-path:polygon(0 0,100% 0,100% 100%,0 100%)"),
            p("clip-path:polygon(99% 0,100% 0,100% 100%)"),
        ),
        (
            "mask",
            p("mask-image:linear-gradient(#000,#000)"),
            p("mask-image:linear-gradient(transparent,transparent)"),
        ),
        ("colour", p("color:#333"), p("color:#fff")),
        ("near-white", p("color:#bbb"), p("color:#fafafa")),
        ("transparent", p("color:#000"), p("color:transparent")),
        (
            "fill colour",
            p("-webkit-text-fill-color:#000"),
            p("-webkit-text-fill-color:#fff"),
        ),
        (
            "same-coloured box",
            p("background:#246;color:#fff"),
            p("background:#246;color:#246"),
        ),
        ("indent", p("text-indent:10px"), p("text-indent:-9999px")),
        (
            "closed details",
            "<details open><summary>x</summary><p>words</p></details>".into(),
            "<details><summary>x</summary><p>words</p></details>".into(),
        ),
        (
            "content-visibility",
            p("content-visibility:visible"),
            in_div("content-visibility:hidden"),
        ),
        (
            "cover that takes clicks",
            covered("pointer-events:auto;background:none", ""),
            covered("pointer-events:auto;background:#fff", ""),
        ),
        (
            "cover that lets clicks through",
            covered("", ""),
            covered("background:#fff", ""),
        ),
        (
            "canvas cover",
            covered("", "g.strokeRect(0,0,300,100)"),
            covered("", "g.fillStyle='#fff';g.fillRect(0,0,300,100)"),
        ),
        (
            "animated cover",
            format!(
                "<style>@keyframes m{{to{{background:rgba(255,255,255,.05)}}}}</style><p>words</p><div style=\"{COVER};animation:m .2s infinite alternate\"></div>"
            ),
            format!(
                "<style>@keyframes m{{from{{background:#fff}}to{{background:#fdfdff}}}}</style><p>words</p><div style=\"{COVER};animation:m .2s infinite alternate\"></div>"
            ),
        ),
        (
            "opacity of their own, important",
            p("opacity:1 !important;mix-blend-mode:darken"),
            p("opacity:1 !important;color:#fff;mix-blend-mode:darken"),
        ),
        (
            "gradient text",
            p("background:linear-gradient(#00f,#f00);-webkit-background-clip:text;color:transparent"),
            p("background:linear-gradient(#fff,#fff);-webkit-background-clip:text;color:transparent"),
        ),
        (
            "gradient behind",
            p("background:linear-gradient(#00f,#f00);color:#fff"),
            p("background:linear-gradient(#fff,#fff);color:#fff"),
        ),
        (
            "picture of the same colour below",
            format!("<div style=\"{COVER};background:#eee\"></div><p style='position:relative'>words</p>"),
            format!("<div style=\"{COVER};background:#000\"></div><p style='position:relative'>words</p>"),
        ),
        (
            "back face",
            p("transform:rotateY(10deg);backface-visibility:hidden"),
            p("transform:rotateY(180deg);backface-visibility:hidden"),
        ),
        (
            "frame",
            "<iframe srcdoc='<p>words</p>'></iframe>".into(),
            "<iframe style='opacity:0' srcdoc='<p>words</p>'></iframe>".into(),
        ),
        (
            "frame scaled to nothing",
            "<iframe style='transform:scale(.8)' srcdoc='<p>words</p>'></iframe>".into(),
            "<iframe style='transform:scale(.1)' srcdoc='<p>words</p>'></iframe>".into(),
        ),
        (
            "a child's box in the colour of the text",
            "<p style='position:relative'>words<i style='position:absolute;inset:0 0 0 50%;background:currentColor;opacity:.1'></i></p>".into(),
            "<p style='position:relative'>words<i style='position:absolute;inset:0;background:currentColor'></i></p>".into(),
        ),
        (
            "a child with text of its own upon it",
            "<p style='position:relative'>words<b style='position:absolute;left:200px'>more</b></p>".into(),
            "<p style='position:relative'>words<b style='position:absolute;left:0;background:#fff'>more more more</b></p>".into(),
        ),
        ("a part of it", "<p>wo<b>rd</b>s</p>".into(), "<p>wo<b style='visibility:hidden'>rd</b>s</p>".into()),
        (
            "text beside a hidden one that says the same",
            "<p>words <span hidden>words, more</span></p>".into(),
            "<p>none <span hidden>words, more</span></p>".into(),
        ),
        ("discs", p("-webkit-text-security:none"), p("-webkit-text-security:disc")),
        ("inset shadow", in_div("box-shadow:inset 0 0 0 999px #eee"), in_div("box-shadow:inset 0 0 0 999px #000")),
        ("border below", in_div("border:30px solid #eee;margin-top:-10px;height:0;line-height:0"), in_div("border:30px solid #000;height:0;line-height:0")),
        (
            "highlight",
            "<style>::highlight(h){color:#060}</style><p id=p>words</p><script>const r=new Range();r.selectNodeContents(p);CSS.highlights.set('h',new Highlight(r))</script>".into(),
            "<style>::highlight(h){color:transparent}</style><p id=p>words</p><script>const r=new Range();r.selectNodeContents(p);CSS.highlights.set('h',new Highlight(r))</script>".into(),
        ),
        ("bare text in details", "<details open><summary>x</summary>words</details>".into(), "<details><summary>x</summary>words</details>".into()),
        (
            "covered frame",
            "<iframe srcdoc='<p>words</p>'></iframe>".into(),
            format!(
                "<iframe srcdoc='<p>words</p>' style='position:absolute;left:0;top:0'></iframe><div style=\"{COVER};z-index:2;height:200px;background:#fff\"></div>"
            ),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_to_hide_is_seen_and_its_twin_is_visible() {
    let live = Live::start(Kind::HeadlessShell).await;
    let pages = twins();
    let mut routes: Vec<(String, String)> = Vec::new();
    for (at, (_, shown, hidden)) in pages.iter().enumerate() {
        routes.push((format!("/{at}/shown"), format!("{HEAD}{shown}")));
        routes.push((format!("/{at}/hidden"), format!("{HEAD}{hidden}")));
    }
    let routes: Vec<(&str, &str)> = routes.iter().map(|(p, b)| (p.as_str(), b.as_str())).collect();
    let stage = Stage::pages(&routes).await;
    let open = live.open(&stage).await;
    let mut wrong = Vec::new();
    let begun = Instant::now();
    for (at, (name, _, _)) in pages.iter().enumerate() {
        for (which, good) in [("shown", true), ("hidden", false)] {
            let document = open
                .tab()
                .navigate(&stage.url(&format!("/{at}/{which}")), soon())
                .await
                .unwrap();
            assert_eq!(
                document.status,
                Some(200),
                "{name}, {which}: {document:?} {:?}",
                stage.site.hits().iter().rev().take(4).collect::<Vec<_>>()
            );
            let (answer, layout) = seen(&open, &text("words")).await;
            if good != (answer == Sight::Visible) || (!good && !matches!(answer, Sight::Hidden(_))) {
                wrong.push(format!("{name}, {which}: {answer:?} {layout:?}"));
            }
        }
    }
    eprintln!("{} looks in {:?}", pages.len() * 2, begun.elapsed());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const SIMPLE: &str = "<!doctype html><style>body{font:16px sans-serif}</style><h1>Notes</h1><label>New note <input></label><button>Add</button>
<ul><li>buy milk</li></ul><p style='background:#123;color:#fff'>on dark</p>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_things_need_no_proof() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", SIMPLE)]).await;
    let open = live.open(&stage).await;
    open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
    for locator in [
        text("Notes"),
        css("input"),
        css("button"),
        text("buy milk"),
        css("ul"),
        text("on dark"),
    ] {
        let (answer, layout) = seen(&open, &locator).await;
        assert!(
            answer == Sight::Visible && layout.proof.is_none(),
            "{locator}: {layout:?}"
        );
    }
    let begun = Instant::now();
    for _ in 0..20 {
        seen(&open, &text("buy milk")).await;
    }
    eprintln!("a look for sight: {:?}", begun.elapsed() / 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proof_reaches_closed_roots_and_leaves_nothing_behind() {
    let live = Live::start(Kind::Full).await;
    let page = format!(
        "{HEAD}<div id=h></div><div style=\"{COVER};background:rgba(255,255,255,.01)\"></div>
        <script>h.attachShadow({{ mode: 'closed' }}).innerHTML = '<p>words</p>'; window.kept = () => document.getAnimations().length;</script>"
    );
    let stage = Stage::pages(&[("/", &page)]).await;
    let open = live.open(&stage).await;
    open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
    let (answer, layout) = seen(&open, &text("words")).await;
    let proof = layout.proof.clone().unwrap();
    assert!(
        answer == Sight::Visible && proof.means == ProofMeans::TextColour && proof.pairs >= 3,
        "{layout:?}"
    );
    let frames = open.tab().frames();
    let left: u32 = open
        .tab()
        .call_world(&frames[0], "() => document.getAnimations().length", Vec::new(), soon())
        .await
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_action_point_tells_what_the_pointer_hits() {
    let live = Live::start(Kind::HeadlessShell).await;
    let page = "<!doctype html><body style='margin:0'><button id=a style='position:absolute;left:0;top:0;width:100px;height:40px'>Free</button>
        <button id=b style='position:absolute;left:0;top:100px;width:100px;height:40px'>Taken</button><div id=over style='position:absolute;left:0;top:90px;width:200px;height:60px'></div>
        <label style='position:absolute;left:0;top:200px'><input id=c type=checkbox style='opacity:0;position:absolute'><span style='position:relative;background:#fff;display:inline-block;width:40px;height:40px'>x</span></label>
        <div id=m style='position:absolute;left:0;top:300px;width:20px;height:20px;animation:m 1s linear infinite'>m</div><style>@keyframes m { to { left: 400px } }</style>";
    let stage = Stage::pages(&[("/", page)]).await;
    let open = live.open(&stage).await;
    open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
    for (id, is, stable) in [
        ("#a", "Own", true),
        ("#b", "Other", true),
        ("#c", "Own", true),
        ("#m", "Own", false),
    ] {
        let found = look(open.tab(), &css(id), &Look::for_action(), soon())
            .await
            .unwrap()
            .probe;
        let layout = &found.elements[0].layout;
        assert_eq!(
            (format!("{:?}", layout.hit.as_ref().unwrap().is).as_str(), layout.stable),
            (is, Some(stable)),
            "{id}: {layout:?}"
        );
    }
    let found = look(open.tab(), &css("#b"), &Look::for_action(), soon())
        .await
        .unwrap()
        .probe;
    assert!(
        found.elements[0]
            .layout
            .hit
            .as_ref()
            .unwrap()
            .other
            .as_ref()
            .unwrap()
            .raw()
            .contains("over")
    );
}
