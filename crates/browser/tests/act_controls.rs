//! Filling, typing, keys, boxes, lists and files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{BOTH, Live, Stage, element, eval, soon};
use jurat_browser::find::Kind;
use jurat_core::observation::Obstacle;

const FORM: &str = "<!doctype html><title>t</title><form onsubmit=\"event.preventDefault(); log('submit')\"><button>send</button>
<input id=plain value=old><input id=mail type=email><input id=number type=number><textarea id=area>old
lines</textarea><div id=rich contenteditable>old <b>rich</b></div>
<input id=date type=date value=2020-01-01><input id=time type=time><input id=color type=color><input id=range type=range min=0 max=10 step=2>
<input id=locked value=x readonly><input id=off value=x disabled><input id=file type=file><p id=text>text</p>
<input id=controlled><input id=upper oninput='this.value = this.value.toUpperCase()'></form>
<script>const log = (x) => { document.title += '|' + x };
for (const e of document.querySelectorAll('input, textarea')) { e.addEventListener('input', () => log('i:' + e.id)); e.addEventListener('change', () => log('c:' + e.id)); }
// As frameworks do: the value is theirs; what they did not hear of by an event is put back.
{ let state = 'state'; const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value'); let tracked = 'state'; own.set.call(controlled, state);
  Object.defineProperty(controlled, 'value', { get() { return own.get.call(this) }, set(v) { tracked = v; own.set.call(this, v) }, configurable: true });
  controlled.addEventListener('input', () => { const now = own.get.call(controlled); if (now !== tracked) { state = now; tracked = now; }
    setTimeout(() => own.set.call(controlled, state)); }); globalThis.stateOf = () => state; }
</script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_put_in_as_a_person_would() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", FORM)]).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        for (id, value, before, after) in [
            ("#plain", "new one", "old", "new one"),
            ("#plain", "", "new one", ""),
            ("#mail", "a@b.c", "", "a@b.c"),
            ("#number", "-1.5", "", "-1.5"),
            ("#area", "a\nb", "old\nlines", "a\nb"),
            ("#rich", "plain words", "old rich", "plain words"),
            ("#date", "2026-11-30", "2020-01-01", "2026-11-30"),
            ("#time", "23:59", "", "23:59"),
            ("#color", "#FF0000", "#000000", "#ff0000"),
            ("#range", "4", "6", "4"),
            ("#controlled", "mine", "state", "mine"),
            ("#upper", "loud", "", "LOUD"),
        ] {
            let control = element(tab, id).await;
            let filled = tab.fill(&control, value, soon()).await.unwrap();
            let text = |part: &Option<jurat_core::untrusted::Untrusted>| part.as_ref().unwrap().raw().to_owned();
            assert!(
                filled.dispatched && filled.acknowledged && filled.obstacle.is_none(),
                "{id}: {filled:?}"
            );
            let expected = (before.to_owned(), after.to_owned(), value.to_owned());
            assert_eq!(
                (text(&filled.before), text(&filled.after), text(&filled.given)),
                expected,
                "{kind:?} {id}"
            );
        }
        assert_eq!(eval(tab, "document.title.includes('i:date|c:date')").await, "true");
        let state = eval(
            tab,
            "(document.querySelector('#controlled').focus(), document.querySelector('#controlled').value)",
        )
        .await;
        assert_eq!(state, "mine", "a controlled input took it");
        for (id, value, obstacle) in [
            ("#locked", "y", Obstacle::NotEditable),
            ("#off", "y", Obstacle::NotEditable),
            ("#file", "y", Obstacle::NotEditable),
            ("#text", "y", Obstacle::NotEditable),
            ("#date", "soon", Obstacle::BadValue),
            ("#number", "many", Obstacle::BadValue),
            ("#range", "5", Obstacle::BadValue),
        ] {
            let control = element(tab, id).await;
            let filled = tab.fill(&control, value, soon()).await.unwrap();
            assert_eq!((filled.obstacle, filled.dispatched), (Some(obstacle), false), "{id}");
        }
        assert_eq!(
            eval(tab, "date.value").await,
            "2026-11-30",
            "what does not fit changes nothing"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_and_chords_do_what_they_do() {
    for kind in BOTH {
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", FORM)]).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        tab.navigate(&stage.url("/"), soon()).await.unwrap();
        let plain = element(tab, "#plain").await;
        tab.fill(&plain, "", soon()).await.unwrap();
        let typed = tab.type_text(&plain, "Hi, Ü漢 (1+2)!", soon()).await.unwrap();
        assert_eq!(typed.after.unwrap().raw(), "Hi, Ü漢 (1+2)!", "{kind:?}");
        tab.press(Some(&plain), "Control+a", soon()).await.unwrap();
        tab.press(None, "x", soon()).await.unwrap();
        assert_eq!(
            eval(tab, "plain.value").await,
            "x",
            "{kind:?}: all was selected and replaced"
        );
        tab.press(None, "Shift+a", soon()).await.unwrap();
        tab.press(None, "ArrowLeft", soon()).await.unwrap();
        tab.press(None, "Backspace", soon()).await.unwrap();
        assert_eq!(eval(tab, "plain.value").await, "A");
        tab.press(Some(&plain), "Enter", soon()).await.unwrap();
        assert_eq!(eval(tab, "document.title.endsWith('submit')").await, "true");
        tab.press(Some(&plain), "Tab", soon()).await.unwrap();
        assert_eq!(eval(tab, "document.activeElement.id").await, "mail");
        let area = element(tab, "#area").await;
        tab.fill(&area, "", soon()).await.unwrap();
        let typed = tab.type_text(&area, "a\nb", soon()).await.unwrap();
        assert_eq!(typed.after.unwrap().raw(), "a\nb");
        let fact = tab.press(None, "Nonsense", soon()).await.unwrap();
        assert_eq!((fact.obstacle, fact.dispatched), (Some(Obstacle::BadValue), false));
        let text = element(tab, "#text").await;
        assert_eq!(
            tab.type_text(&text, "x", soon()).await.unwrap().obstacle,
            Some(Obstacle::NotEditable)
        );
    }
}

const BOXES: &str = "<!doctype html><title>t</title><label id=l><input id=c type=checkbox> c</label><input id=r1 type=radio name=r><input id=r2 type=radio name=r checked>
<div id=s role=switch aria-checked=false tabindex=0 onclick=\"setTimeout(() => this.setAttribute('aria-checked', this.getAttribute('aria-checked') === 'false'), 100)\">switch</div>
<input id=stuck type=checkbox onclick='event.preventDefault()'><button id=b>b</button>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boxes_are_clicked_unless_they_are_so_already() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", BOXES)]).await;
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    for (id, wanted, before, after) in [
        ("#c", true, "false", "true"),
        ("#c", true, "true", "true"),
        ("#l", false, "true", "false"),
        ("#r1", true, "false", "true"),
        ("#s", true, "false", "true"),
        ("#s", false, "true", "false"),
        ("#stuck", true, "false", "false"),
    ] {
        let control = element(tab, id).await;
        let checked = tab.check(&control, None, wanted, soon()).await.unwrap();
        let told = (checked.before.unwrap(), checked.after.unwrap(), checked.given.unwrap());
        assert_eq!(
            (told.0.raw(), told.1.raw(), told.2.raw()),
            (before, after, &*wanted.to_string()),
            "{id}"
        );
    }
    for (id, wanted) in [("#b", true), ("#r1", false)] {
        let control = element(tab, id).await;
        let checked = tab.check(&control, None, wanted, soon()).await.unwrap();
        assert_eq!(checked.obstacle, Some(Obstacle::NotCheckable), "{id}");
    }
}

const LISTS: &str = "<!doctype html><title>t</title><select id=one><option value=a>First<option value=b>  Second
 one<option value=c disabled>Third<optgroup disabled label=g><option value=d>Fourth</optgroup></select>
<select id=many multiple><option selected>x<option>y<option>z</select><div id=fake role=combobox>f</div>
<script>one.oninput = () => document.title += '|i'; one.onchange = () => document.title += '|c' + one.value</script>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_are_chosen_by_label_or_value() {
    let live = Live::start(Kind::HeadlessShell).await;
    let stage = Stage::pages(&[("/", LISTS)]).await;
    let open = live.open(&stage).await;
    let tab = open.tab();
    tab.navigate(&stage.url("/"), soon()).await.unwrap();
    let one = element(tab, "#one").await;
    let picked = tab.select(&one, &["Second one"], soon()).await.unwrap();
    assert_eq!(
        (
            picked.before.unwrap().raw(),
            picked.after.unwrap().raw(),
            picked.given.unwrap().raw()
        ),
        ("a", "b", "b")
    );
    assert_eq!(eval(tab, "document.title").await, "t|i|cb");
    let picked = tab.select(&one, &["a"], soon()).await.unwrap();
    assert_eq!(picked.after.unwrap().raw(), "a");
    for (option, obstacle) in [
        ("Third", Obstacle::NoSuchOption),
        ("d", Obstacle::NoSuchOption),
        ("nope", Obstacle::NoSuchOption),
    ] {
        assert_eq!(
            tab.select(&one, &[option], soon()).await.unwrap().obstacle,
            Some(obstacle),
            "{option}"
        );
    }
    assert_eq!(
        tab.select(&one, &["a", "b"], soon()).await.unwrap().obstacle,
        Some(Obstacle::BadValue)
    );
    let many = element(tab, "#many").await;
    let picked = tab.select(&many, &["y", "z"], soon()).await.unwrap();
    assert_eq!(
        (picked.before.unwrap().raw(), picked.after.unwrap().raw()),
        ("x", "y\nz")
    );
    let fake = element(tab, "#fake").await;
    assert_eq!(
        tab.select(&fake, &["f"], soon()).await.unwrap().obstacle,
        Some(Obstacle::NotASelect)
    );
}

const FILES: &str = "<!doctype html><title>t</title><input id=f type=file onchange=\"document.title = [...this.files].map(f => f.name + f.size)\">
<button id=b onclick='f.click()'>choose</button><button id=n>none</button>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_go_to_inputs_and_choosers() {
    for kind in BOTH {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("note.txt");
        std::fs::write(&file, "12345").unwrap();
        {
            // The browser of a root test is another user.
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        let live = Live::start(kind).await;
        let stage = Stage::pages(&[("/", FILES)]).await;
        let open = live.open(&stage).await;
        let tab = open.tab();
        for id in ["#f", "#b"] {
            tab.navigate(&stage.url("/"), soon()).await.unwrap();
            let control = element(tab, id).await;
            let given = tab
                .upload(&control, None, std::slice::from_ref(&file), soon())
                .await
                .unwrap();
            assert!(given.dispatched && given.obstacle.is_none(), "{kind:?} {id}: {given:?}");
            assert_eq!(
                (given.after.unwrap().raw(), given.given.unwrap().raw()),
                ("note.txt", "note.txt")
            );
            assert_eq!(eval(tab, "document.title").await, "note.txt5", "{kind:?} {id}");
        }
        let input = element(tab, "#f").await;
        let two = tab
            .upload(&input, None, &[file.clone(), file.clone()], soon())
            .await
            .unwrap();
        assert_eq!(two.obstacle, Some(Obstacle::BadValue));
        let nothing = element(tab, "#n").await;
        let none = tab.upload(&nothing, None, &[file], soon()).await.unwrap();
        assert_eq!(none.obstacle, Some(Obstacle::NoFileChooser));
    }
}
