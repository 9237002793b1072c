//! Locators in real documents: what matches, in frames and shadow roots, whatever the page has done to itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::time::{Duration, Instant};

use common::{BOTH, Live, Open, Stage, soon};
use jurat_browser::find::Kind;
use jurat_browser::page::{Look, ReadError, look};
use jurat_core::contract::{By, FrameChoice, Locator, Within};
use jurat_core::observation::{Checked, Probe};

fn by(by: By) -> Locator {
    Locator {
        by,
        exact: false,
        regex: false,
        nth: None,
        within: None,
    }
}

fn text(text: &str) -> Locator {
    by(By::Text { text: text.into() })
}

fn role(role: &str, name: &str) -> Locator {
    by(By::Role {
        role: role.into(),
        name: (!name.is_empty()).then(|| name.into()),
    })
}

fn css(css: &str) -> Locator {
    by(By::Css { css: css.into() })
}

fn within(locator: Locator, within: Within) -> Locator {
    Locator {
        within: Some(Box::new(within)),
        ..locator
    }
}

async fn probe(open: &Open, locator: &Locator) -> Probe {
    look(open.tab(), locator, &Look::default(), soon()).await.unwrap().probe
}

async fn paths(open: &Open, locator: &Locator) -> Vec<String> {
    probe(open, locator)
        .await
        .elements
        .iter()
        .map(|e| e.path.raw().to_owned())
        .collect()
}

async fn show(live: &Live, stage: &Stage, path: &str) -> Open {
    let open = live.open(stage).await;
    open.tab().navigate(&stage.url(path), soon()).await.unwrap();
    open
}

const PLAIN: &str = r#"<!doctype html><title>Title text</title><script>const hidden = "script text";</script>
<h1 id=h>Notes</h1><p id=p>Hello <b id=b>big</b>  wide&nbsp;world</p>
<form id=f><label id=l>Your name <input id=n placeholder="Type here"></label>
<label for=a>First</label><label for=a>Second</label><input id=a value=old data-testid=field>
<input id=s type=submit value="Send it"><input id=c type=checkbox checked aria-label=Agree>
<button id=d disabled>Delete <span id=ds>all</span></button><button id=e>Delete one</button></form>
<ul id=u aria-label=List><li id=i1>one item</li><li id=i2>two items</li></ul>
<div id=x hidden><button id=xb>Delete hidden</button></div><a id=k href=/x>Go</a><nav id=v><a id=w href=/y>Go</a></nav>"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locators_match_as_users_know_them() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", PLAIN)]).await;
    let open = show(&live, &stage, "/").await;
    let exact = |locator: Locator| Locator { exact: true, ..locator };
    let regex = |locator: Locator| Locator { regex: true, ..locator };
    let ids = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let last = |paths: Vec<String>| -> Vec<String> {
        paths
            .iter()
            .map(|p| p.rsplit('#').next().unwrap_or_default().to_owned())
            .collect()
    };
    for (locator, wanted) in [
        (text("hello BIG wide world"), &["p"][..]),
        (text("big"), &["b"]),
        (exact(text("Hello big wide world")), &["p"]),
        (exact(text("hello big wide world")), &[]),
        (exact(text("Hello")), &[]),
        (text("script text"), &[]),
        (text("Title text"), &[]),
        (text("send it"), &["s"]),
        (regex(text("^(one|two) items?$")), &["i1", "i2"]),
        (text("delete"), &["d", "e", "xb"]),
        (role("button", "delete"), &["d", "e"]),
        (exact(role("button", "Delete all")), &["d"]),
        (role("button", "send"), &["s"]),
        (role("heading", "Notes"), &["h"]),
        (role("listitem", ""), &["i1", "i2"]),
        (role("list", "List"), &["u"]),
        (role("textbox", "Your name"), &["n"]),
        (role("checkbox", "agree"), &["c"]),
        (
            by(By::Label {
                label: "your name".into(),
            }),
            &["n"],
        ),
        (by(By::Label { label: "second".into() }), &["a"]),
        (exact(by(By::Label { label: "First".into() })), &["a"]),
        (by(By::Label { label: "agree".into() }), &["c"]),
        (
            by(By::Placeholder {
                placeholder: "type".into(),
            }),
            &["n"],
        ),
        (by(By::Testid { testid: "field".into() }), &["a"]),
        (by(By::Testid { testid: "fiel".into() }), &[]),
        (css("ul > li:last-child"), &["i2"]),
        (
            within(role("link", "Go"), Within::Element(role("navigation", ""))),
            &["w"],
        ),
        (
            within(
                text("item"),
                Within::Element(Locator {
                    nth: Some(1),
                    ..role("listitem", "")
                }),
            ),
            &[],
        ),
        (
            within(
                css("span"),
                Within::Element(Locator {
                    nth: Some(-2),
                    ..role("button", "")
                }),
            ),
            &["ds"],
        ),
    ] {
        assert_eq!(last(paths(&open, &locator).await), ids(wanted), "{locator}");
    }
    let probe = probe(&open, &role("button", "all")).await;
    let button = &probe.elements[0];
    assert!(button.ax && !button.enabled && button.name.raw() == "Delete all" && button.role.raw() == "button");
    let found = look(
        open.tab(),
        &css("#c"),
        &Look {
            attributes: vec!["aria-label".into(), "nope".into()],
            ..Look::default()
        },
        soon(),
    )
    .await
    .unwrap();
    let check = &found.probe.elements[0];
    assert_eq!((check.checked, check.attributes.len()), (Some(Checked::True), 1));
    assert!(check.css && found.handle(open.tab(), 0, soon()).await.is_ok());
    let near = look(open.tab(), &role("button", "Delete two"), &Look::default(), soon())
        .await
        .unwrap()
        .probe
        .near;
    assert!(near.iter().any(|n| n.raw() == "button \"Delete one\""), "{near:?}");
    let bad = look(open.tab(), &css("p["), &Look::default(), soon())
        .await
        .unwrap_err();
    assert!(matches!(bad, ReadError::BadLocator { .. }), "{bad:?}");
    let bad = look(open.tab(), &regex(text("(")), &Look::default(), soon())
        .await
        .unwrap_err();
    assert!(matches!(bad, ReadError::BadLocator { .. }), "{bad:?}");
}

const FORGED: &str = r#"<!doctype html><body><p id=real>real text</p><form id=f><input name=childNodes><input name=getAttribute>
<input name=nodeType><input name=parentNode><button name=matches id=b>Save</button><input name=querySelectorAll></form>
<img name=body><iframe name=getComputedStyle srcdoc=""></iframe><form name=documentElement></form><object id=__jurat></object>
<script>
const lie = () => "PASS";
for (const name of ["innerText", "textContent", "shadowRoot", "localName"]) Object.defineProperty(Element.prototype, name, { get: lie, configurable: true });
Object.defineProperty(Node.prototype, "textContent", { get: lie });
Object.defineProperty(CharacterData.prototype, "data", { get: lie });
Document.prototype.querySelectorAll = Element.prototype.querySelectorAll = () => [];
Document.prototype.createTreeWalker = Document.prototype.elementFromPoint = () => null;
JSON.stringify = () => '{"PASS":1}';
Array.prototype.map = Array.prototype.filter = Array.prototype.push = Array.prototype.sort = lie;
Element.prototype.getBoundingClientRect = () => ({ left: 0, top: 0, right: 900, bottom: 900, width: 900, height: 900 });
window.getComputedStyle = () => ({ opacity: "1", getPropertyValue: () => "1" });
Object.defineProperty(document, "body", { get: () => ({ innerText: "PASS" }) });
</script>"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_lies_and_shadows_names_changes_nothing() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", FORGED)]).await;
    let open = show(&live, &stage, "/").await;
    let options = Look {
        layout: true,
        ..Look::default()
    };
    let real = look(open.tab(), &text("real text"), &options, soon())
        .await
        .unwrap()
        .probe;
    assert_eq!(real.elements.len(), 1, "{real:?}");
    let layout = &real.elements[0].layout;
    assert!(layout.rendered && layout.boxes[0].height < 4000, "{layout:?}");
    assert!(probe(&open, &text("PASS")).await.elements.is_empty());
    assert_eq!(
        paths(&open, &role("button", "Save")).await,
        ["form#f > button#b".replace("form#f > ", "")]
    );
    assert_eq!(probe(&open, &css("form")).await.matches, 2);
}

const SHADOWS: &str = r#"<!doctype html><my-open id=o></my-open><my-closed id=c><span id=light>light</span></my-closed><div id=plain></div><div id=slotted>slotted words</div>
<script>
const fill = (host, mode, html) => { const root = host.attachShadow({ mode }); root.innerHTML = html; return root; };
fill(o, "open", "<p id=in>open text</p><button>Open</button>");
const root = fill(c, "closed", "<p>closed text</p><label>Secret <input></label><slot></slot><b id=nest></b>");
fill(plain, "closed", "<button>Plain closed</button>");
fill(slotted, "closed", "<slot></slot><p>beside the slot</p>");
class Deep extends HTMLElement { constructor() { super(); fill(this, "closed", "<p>nested text</p>"); } }
customElements.define("my-deep", Deep);
root.querySelector('#nest').append(document.createElement("my-deep"));
</script>"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shadow_roots_open_and_closed_are_reached() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", SHADOWS)]).await;
        let open = show(&live, &stage, "/").await;
        let options = Look {
            layout: true,
            ..Look::default()
        };
        for locator in [
            text("open text"),
            text("closed text"),
            text("nested text"),
            text("beside the slot"),
            text("slotted words"),
            text("light"),
            role("button", "Open"),
            role("button", "Plain closed"),
            role("textbox", "Secret"),
            by(By::Label { label: "secret".into() }),
            within(text("closed text"), Within::Element(css("#c"))),
        ] {
            let found = look(open.tab(), &locator, &options, soon()).await.unwrap().probe;
            assert_eq!(found.elements.len(), 1, "{kind:?} {locator}: {found:?}");
            let layout = &found.elements[0].layout;
            assert!(
                layout.shown.is_some() && layout.tops.iter().all(|t| t.is == jurat_core::observation::TopIs::Own),
                "{locator}: {layout:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_are_read_in_and_out_of_process() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[(
            "/inner",
            "<!doctype html><body style='margin:0'><button style='margin:20px'>Inner</button><p>same words</p>",
        )])
        .await;
        let other = stage.url("/inner").replace("127.0.0.1", "localhost");
        let outer = format!(
            "<!doctype html><body style='margin:0'><p>same words</p><iframe name=near title=Near src=/inner style='position:absolute;left:100px;top:50px;border:2px solid'></iframe>
             <iframe id=far src='{other}' style='position:absolute;left:450px;top:50px;border:0'></iframe>"
        );
        let stage_outer = Stage::pages(&[
            ("/", &outer),
            (
                "/inner",
                "<!doctype html><body style='margin:0'><button style='margin:20px'>Inner</button><p>same words</p>",
            ),
        ])
        .await;
        let open = show(&live, &stage_outer, "/").await;
        let options = Look {
            layout: true,
            scroll: true,
            ..Look::default()
        };
        let found = look(open.tab(), &role("button", "Inner"), &options, soon())
            .await
            .unwrap()
            .probe;
        assert_eq!(
            (found.elements.len(), found.frames, found.unread_frames.len()),
            (2, 3, 0),
            "{kind:?} {found:?}"
        );
        for (element, left) in found.elements.iter().zip([102, 450]) {
            let layout = &element.layout;
            let box_ = layout.shown.unwrap();
            assert!(
                (box_.x / 100 - left - 20).abs() < 12 && box_.y > 5000,
                "{kind:?} {layout:?}"
            );
            assert!(
                layout.tops.iter().all(|t| t.is == jurat_core::observation::TopIs::Own),
                "{kind:?} {layout:?}"
            );
            assert_eq!(
                layout.hit.as_ref().unwrap().is,
                jurat_core::observation::TopIs::Own,
                "{kind:?} {layout:?}"
            );
        }
        assert_eq!(probe(&open, &text("same words")).await.matches, 3);
        let named = |frame: FrameChoice| within(text("same words"), Within::Frame { frame });
        let near = probe(&open, &named(FrameChoice::Named("near".into()))).await;
        assert_eq!((near.matches, near.frames), (1, 1), "{near:?}");
        let far = probe(&open, &named(FrameChoice::Element(css("#far")))).await;
        assert_eq!((far.matches, far.elements[0].frame), (1, 2), "{far:?}");
        assert_eq!(probe(&open, &named(FrameChoice::Named("none".into()))).await.matches, 0);
        let apart = open.tab().frames().iter().filter(|f| f.out_of_process).count();
        assert_eq!(apart, usize::from(kind == Kind::Full));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_on_ten_thousand_rows_is_quick_and_a_hung_page_ends_at_its_deadline() {
    let live = Live::start(Kind::HeadlessShell).await;
    let row = |i| format!("<li><span>Row number {i}</span> <button>Delete {i}</button><input type=checkbox></li>");
    let rows = (0..10_000).map(row).collect::<Vec<_>>().concat();
    let big = format!("<!doctype html><ul aria-label=Notes>{rows}</ul>");
    let hung = "<!doctype html><p>hung</p><script>setTimeout(() => { for (;;); }, 50)</script>";
    let stage = Stage::pages(&[("/", &big), ("/hung", hung)]).await;
    let open = show(&live, &stage, "/").await;
    let options = Look {
        layout: true,
        ..Look::default()
    };
    for locator in [
        text("row number 9977"),
        text("nothing like it"),
        role("button", "delete 9977"),
        role("button", ""),
        css("li:nth-child(77)"),
    ] {
        let mut best = Duration::MAX;
        for _ in 0..4 {
            let begun = Instant::now();
            let found = look(open.tab(), &locator, &options, soon()).await.unwrap().probe;
            best = best.min(begun.elapsed());
            assert!(found.elements.len() <= Probe::MAX_ELEMENTS);
        }
        eprintln!("10,000 rows, {locator}: {best:?}");
    }
    assert_eq!(probe(&open, &role("button", "")).await.matches, 10_000);
    let open = show(&live, &stage, "/hung").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    let error = look(
        open.tab(),
        &text("hung"),
        &options,
        Instant::now() + Duration::from_millis(700),
    )
    .await
    .unwrap_err();
    assert!(
        matches!(
            error,
            ReadError::Page(jurat_browser::context::ActError::Unresponsive { .. })
        ),
        "{error:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(2));
}
