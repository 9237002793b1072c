//! Accessibility trees as ARIA snapshots have them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{BOTH, Live, Stage, soon};
use jurat_browser::page::{Look, aria, look, screenshot};
use jurat_core::aria::{Template, matches, render};
use jurat_core::contract::{By, Locator};

const PAGE: &str = r#"<!doctype html><title>T</title><h1>Notes</h1><nav aria-label=Main><a href="/about">About <b>us</b></a></nav>
<form><label>New note <input placeholder="Type" value="milk"></label><input type=checkbox checked aria-label=Done><button disabled>Add</button></form>
<ul aria-label=List><li>one</li><li>two <button aria-expanded=false>More</button></li></ul><p>Some <b>bold</b> text</p><div hidden>hidden</div>"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_matches_its_template() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", PAGE)]).await;
        let open = live.open(&stage).await;
        open.tab().navigate(&stage.url("/"), soon()).await.unwrap();
        let tree = aria(open.tab(), None, soon()).await.unwrap();
        let shown = render(&tree.nodes);
        let template = Template::parse(
            r#"
- heading "Notes" [level=1]
- navigation "Main":
  - link "About us":
    - /url: /about
- textbox "New note": milk
- checkbox "Done" [checked]
- button "Add" [disabled]
- list "List":
  - listitem: one
  - listitem:
    - button "More"
- paragraph: Some bold text
"#,
        )
        .unwrap();
        assert!(
            matches(&template, &tree.nodes).is_ok(),
            "{kind:?}\n{shown}\n{:?}",
            matches(&template, &tree.nodes)
        );
        assert!(!shown.contains("hidden"), "{shown}");
        let list = Locator {
            by: By::Css { css: "ul".into() },
            exact: false,
            regex: false,
            nth: None,
            within: None,
        };
        let found = look(open.tab(), &list, &Look::default(), soon()).await.unwrap();
        let handle = found.handle(open.tab(), 0, soon()).await.unwrap();
        let tree = aria(open.tab(), Some(&handle), soon()).await.unwrap();
        assert_eq!((tree.nodes.len(), tree.nodes[0].role.raw()), (1, "list"));
        let png = screenshot(open.tab(), soon()).await.unwrap();
        assert_eq!(&png[1..4], b"PNG");
    }
}
