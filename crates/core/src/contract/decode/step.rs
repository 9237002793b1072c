//! Steps.

use super::cursor::{Cursor, Fields, Problems, did_you_mean_or_list};
use super::expectation::{self, empty, value_at};
use super::ids::Ids;
use super::keyboard;
use super::locator::{self, fields_with};
use super::urls::{Origins, Tail, path};
use crate::contract::text::{Value, quoted};
use crate::contract::{
    Accept, Action, Click, DialogAnswer, Drag, Modifier, MouseButton, PageChoice, Press, Select, Step, Upload,
};

/// Every action by its key.
pub(crate) const NAMES: &[&str] = &[
    "navigate", "reload", "back", "click", "fill", "type", "press", "check", "uncheck", "hover", "drag", "scroll",
    "select", "upload", "wait", "expect",
];

/// What people write for an action.
const MISTAKEN: &[(&str, &str)] = &[
    ("goto", "navigate"),
    ("open", "navigate"),
    ("visit", "navigate"),
    ("tap", "click"),
    ("input", "fill"),
    ("enter", "fill"),
    ("set", "fill"),
    ("key", "press"),
    ("keypress", "press"),
    ("assert", "expect"),
    ("wait_for", "wait"),
    ("choose", "select"),
    ("select_option", "select"),
    ("refresh", "reload"),
    ("go_back", "back"),
    ("drag_to", "drag"),
    ("scroll_to", "scroll"),
    ("set_files", "upload"),
];

const BESIDE: &[&str] = &["id", "page", "dialog"];
const HINT: &str = "write one action, such as: - click: { role: button, name: Add }";

pub(super) fn steps(
    cursor: &Cursor<'_>,
    origins: &Origins,
    ids: &mut Ids,
    problems: &mut Problems,
) -> Option<Vec<Step>> {
    let mark = problems.mark();
    let mut steps = Vec::new();
    for item in cursor.some_items(problems, HINT)? {
        if let Some(step) = step(&item, origins, ids, problems) {
            steps.push(step);
        }
    }
    problems.clean(mark).then_some(steps)
}

fn step(cursor: &Cursor<'_>, origins: &Origins, ids: &mut Ids, problems: &mut Problems) -> Option<Step> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    let id = match fields.take("id") {
        Some(c) => ids.id(&c, problems).map(Some),
        None => Some(None),
    };
    let page = match fields.take("page") {
        Some(c) => c.choice(problems, &[("main", PageChoice::Main), ("popup", PageChoice::Popup)]),
        None => Some(PageChoice::Main),
    };
    let dialog_at = fields.take("dialog");
    let dialog = match &dialog_at {
        Some(c) => dialog(c, problems).map(Some),
        None => Some(None),
    };
    let action = action(fields, origins, problems);
    if let (Some(at), Some(Action::Wait(_) | Action::Expect(_))) = (&dialog_at, &action) {
        return at.wrong(
            problems,
            "wait and expect open no dialog",
            "put dialog: beside the action that opens it",
        );
    }
    if !problems.clean(mark) {
        return None;
    }
    Some(Step {
        id: id?,
        page: page?,
        dialog: dialog?,
        action: action?,
    })
}

/// The one action among the fields that are left.
fn action(mut fields: Fields<'_>, origins: &Origins, problems: &mut Problems) -> Option<Action> {
    let mut found = fields.take_any(NAMES).into_iter();
    let Some((key, _, cursor)) = found.next() else {
        return no_action(&fields, problems);
    };
    let mut whole = true;
    for (second, at, _) in found {
        problems.push(
            at,
            &fields.path,
            format!("\"{key}\" and \"{second}\" are two actions"),
            "a step has one; make them two steps",
        );
        whole = false;
    }
    let known: Vec<&str> = NAMES.iter().chain(BESIDE).copied().collect();
    whole &= fields.finish(problems, "a step", &known);
    let decoded = value(key, &cursor, origins, problems);
    if whole { decoded } else { None }
}

fn no_action(fields: &Fields<'_>, problems: &mut Problems) -> Option<Action> {
    let Some(key) = fields.keys().next() else {
        return fields.wrong(problems, "the step does nothing", HINT);
    };
    let hint = if expectation::NAMES.contains(&key) {
        format!("write: - expect: {{ {key}: … }}")
    } else if let Some((_, meant)) = MISTAKEN.iter().find(|(written, _)| *written == key) {
        format!("did you mean \"{meant}\"?")
    } else {
        did_you_mean_or_list(key, NAMES)
    };
    fields.wrong_at(key, problems, format!("{} is no step", quoted(key)), hint)
}

fn value(key: &str, cursor: &Cursor<'_>, origins: &Origins, problems: &mut Problems) -> Option<Action> {
    match key {
        "navigate" => path(cursor, origins, Tail::QueryAndFragment, problems).map(Action::Navigate),
        "reload" => empty(cursor, key, problems).map(Action::Reload),
        "back" => empty(cursor, key, problems).map(Action::Back),
        "click" => click(cursor, problems).map(Action::Click),
        "fill" => value_at(cursor, true, problems).map(Action::Fill),
        "type" => value_at(cursor, false, problems).map(Action::Type),
        "press" => press(cursor, problems).map(Action::Press),
        "check" => locator::alone(cursor, problems).map(Action::Check),
        "uncheck" => locator::alone(cursor, problems).map(Action::Uncheck),
        "hover" => locator::alone(cursor, problems).map(Action::Hover),
        "drag" => drag(cursor, problems).map(Action::Drag),
        "scroll" => locator::alone(cursor, problems).map(Action::Scroll),
        "select" => select(cursor, problems).map(Action::Select),
        "upload" => upload(cursor, problems).map(Action::Upload),
        "wait" => expectation::alone(cursor, origins, problems).map(Action::Wait),
        _ => expectation::alone(cursor, origins, problems).map(Action::Expect),
    }
}

fn dialog(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<DialogAnswer> {
    const HINT: &str = "write: dialog: { accept: true }";
    let mut fields = cursor.fields(problems, HINT)?;
    let accept = fields
        .required("accept", problems, HINT)
        .and_then(|c| match &c.node.value {
            Value::Bool(b) => Some(Accept::Button(*b)),
            Value::Text(text) => Some(Accept::Text(text.clone())),
            other => c.wrong(
                problems,
                format!("true, false or a text is expected, not {}", other.describe()),
                "true is OK, false is Cancel, a text in quotes answers a prompt",
            ),
        });
    let message = match fields.take("message") {
        Some(c) => c.text(problems).map(|m| Some(m.to_owned())),
        None => Some(None),
    };
    if !fields.finish(problems, "dialog", &["accept", "message"]) {
        return None;
    }
    Some(DialogAnswer {
        accept: accept?,
        message: message?,
    })
}

fn click(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Click> {
    let mut fields = cursor.fields(problems, "write: click: { role: button, name: Add }")?;
    let locator = locator::take(&mut fields, problems);
    let count = fields.take("count").map_or(Some(1), |c| c.unsigned(problems, 1, 3));
    let button = fields.take("button").map_or(Some(MouseButton::Left), |c| {
        c.choice(
            problems,
            &[
                ("left", MouseButton::Left),
                ("middle", MouseButton::Middle),
                ("right", MouseButton::Right),
            ],
        )
    });
    let modifiers = fields
        .take("modifiers")
        .map_or(Some(Vec::new()), |c| modifiers(&c, problems));
    if !fields.finish(problems, "click", &fields_with(&["count", "button", "modifiers"])) {
        return None;
    }
    Some(Click {
        locator: locator?,
        count: count?,
        button: button?,
        modifiers: modifiers?,
    })
}

fn modifiers(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<Modifier>> {
    let mark = problems.mark();
    let mut held = Vec::new();
    for item in cursor.some_items(problems, "name one, such as: [Shift]")? {
        let choice = item.choice(
            problems,
            &[
                ("Alt", Modifier::Alt),
                ("Control", Modifier::Control),
                ("Meta", Modifier::Meta),
                ("Shift", Modifier::Shift),
            ],
        );
        if let Some(modifier) = choice {
            if held.contains(&modifier) {
                let _: Option<()> = item.wrong(problems, "this modifier stands twice", "hold each modifier once");
            }
            held.push(modifier);
        }
    }
    // All are held at once: their order says nothing.
    held.sort_unstable();
    problems.clean(mark).then_some(held)
}

fn press(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Press> {
    const HINT: &str = "write: press: { key: Enter }";
    let mut fields = cursor.fields(problems, HINT)?;
    let locator = locator::take_optional(&mut fields, problems);
    let key = fields
        .required("key", problems, HINT)
        .and_then(|c| keyboard::key(&c, problems));
    if !fields.finish(problems, "press", &fields_with(&["key"])) {
        return None;
    }
    Some(Press {
        locator: locator?,
        key: key?,
    })
}

fn drag(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Drag> {
    const HINT: &str = "write: drag: { text: Card, to: { text: Done } }";
    let mut fields = cursor.fields(problems, HINT)?;
    let locator = locator::take(&mut fields, problems);
    let to = fields
        .required("to", problems, HINT)
        .and_then(|c| locator::alone(&c, problems));
    if !fields.finish(problems, "drag", &fields_with(&["to"])) {
        return None;
    }
    Some(Drag {
        locator: locator?,
        to: to?,
    })
}

fn select(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Select> {
    const HINT: &str = "write: select: { label: Size, option: Large }";
    let mut fields = cursor.fields(problems, HINT)?;
    let locator = locator::take(&mut fields, problems);
    let option = fields.take("option");
    let options = fields.take("options");
    let (option, options) = match (&option, &options) {
        (Some(_), Some(several)) => several.wrong(
            problems,
            "\"option\" and \"options\" exclude each other",
            "keep one of the two",
        ),
        (None, None) => fields.wrong(problems, "nothing says which option is chosen", HINT),
        (Some(c), None) => c.text(problems).map(|o| (Some(o.to_owned()), Vec::new())),
        (None, Some(c)) => texts(c, "name them by label or value: [Small, Large]", problems).map(|o| (None, o)),
    }
    .unzip();
    if !fields.finish(problems, "select", &fields_with(&["option", "options"])) {
        return None;
    }
    Some(Select {
        locator: locator?,
        option: option?,
        options: options?,
    })
}

/// A list of different texts.
fn texts(cursor: &Cursor<'_>, hint: &str, problems: &mut Problems) -> Option<Vec<String>> {
    let mark = problems.mark();
    let mut texts: Vec<String> = Vec::new();
    for item in cursor.required_items(problems, hint)? {
        if let Some(text) = item.text(problems) {
            if texts.iter().any(|t| t == text) {
                let _: Option<()> = item.wrong(problems, format!("{} stands twice", quoted(text)), "name it once");
            }
            texts.push(text.to_owned());
        }
    }
    problems.clean(mark).then_some(texts)
}

fn upload(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Upload> {
    const HINT: &str = "write: upload: { label: Photo, files: [photo.png] }";
    let mut fields = cursor.fields(problems, HINT)?;
    let locator = locator::take(&mut fields, problems);
    let files = fields
        .required("files", problems, HINT)
        .and_then(|c| files(&c, problems));
    if !fields.finish(problems, "upload", &fields_with(&["files"])) {
        return None;
    }
    Some(Upload {
        locator: locator?,
        files: files?,
    })
}

fn files(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let mark = problems.mark();
    let mut files = Vec::new();
    for item in cursor.required_items(problems, "name a file beside the contract: [photo.png]")? {
        let Some(text) = item.some_text(problems) else { continue };
        let file = text.strip_prefix("./").unwrap_or(&text);
        let segments_fit = file.split('/').all(|s| !matches!(s, "" | "." | ".."));
        let drive = file.as_bytes().get(1) == Some(&b':');
        if !segments_fit || drive || file.starts_with('~') || file.chars().any(|c| c == '\\' || c.is_control()) {
            let _: Option<()> = item.wrong(
                problems,
                format!("{} does not stay in the contract's folder", quoted(&text)),
                "write a relative path with \"/\" and without \"..\", such as files/photo.png",
            );
        }
        files.push(file.to_owned());
    }
    problems.clean(mark).then_some(files)
}
