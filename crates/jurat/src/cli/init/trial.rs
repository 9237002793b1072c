//! The trial: the page is opened, its first form is tried once, and the draft says what came of it.

use std::time::Duration;

use jurat_browser::page::ReadError;
use jurat_core::contract::{Action, By, Click, Locator, MouseButton, ValueAt};
use jurat_core::untrusted::escape;
use url::Url;

use super::super::printer::{Look, Printer};
use super::draft::{Draft, Flow, Line};
use super::sample::{ATTRIBUTES, Sample, sample};
use super::survey::{self, COUNTED, Control, Form};
use crate::engine::{EngineError, Explorer, Made, Settings, Shown};

/// Headings that are demanded at the end.
const MOST_HEADINGS: usize = 3;
/// New texts that are demanded after the trial, beside what was entered and what live regions say.
const MOST_NEW: usize = 2;
/// Requests that are demanded after the trial.
const MOST_REQUESTS: usize = 3;
/// The longest text that is demanded, in characters.
const LONGEST: usize = 80;
/// How long the page gets to show what was entered.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why there is no draft.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrialError {
    /// A run could not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The page could not be opened or read.
    #[error("{0}")]
    Page(String),
}

impl From<ReadError> for TrialError {
    fn from(error: ReadError) -> Self {
        Self::Page(error.to_string())
    }
}

/// A field that was found and what is put into it.
struct Entry {
    locator: Locator,
    sample: Sample,
}

/// Opens the page, tries its form, and writes down what it did.
pub(super) async fn explore(url: &Url, settings: &Settings, printer: Printer) -> Result<Draft, TrialError> {
    let mut explorer = Explorer::start(url.as_str(), settings).await?;
    let draft = draft(&mut explorer, url, printer).await;
    explorer.close().await;
    draft
}

async fn draft(explorer: &mut Explorer, url: &Url, printer: Printer) -> Result<Draft, TrialError> {
    let document = explorer.open().await?;
    match document.status {
        _ if document.unreachable => return Err(TrialError::Page(format!("nothing answers at {url}"))),
        Some(status) if status < 400 => {}
        Some(status) => return Err(TrialError::Page(format!("{url} answered {status}"))),
        None => {
            let why = document.error.map(|e| e.escaped(120)).unwrap_or_default();
            return Err(TrialError::Page(format!("{url} does not answer: {why}")));
        }
    }
    let before = explorer.shown().await?;
    let title = before.page.title.raw().trim().to_owned();
    printer.say(&printer.paint(Look::Dim, &format!("opened {url}: {}", escape(&title, 80))));
    let mut draft = Draft {
        url: url.to_string(),
        name: name(&title, url, "opens"),
        ..Draft::default()
    };
    draft.steps.push(Line::act(
        "navigate",
        Flow::text(&url[url::Position::BeforePath..url::Position::AfterQuery]),
    ));
    let mut last = before.clone();
    if let Some(form) = survey::form(&before.tree) {
        last = try_form(explorer, &form, &before, &mut draft, url, printer)
            .await?
            .unwrap_or(last);
    } else {
        printer.say(&printer.paint(
            Look::Dim,
            "found no form: named text fields that a named button follows",
        ));
    }
    ends(explorer, &before, &last, &mut draft, url).await;
    Ok(draft)
}

fn name(title: &str, url: &Url, what: &str) -> String {
    let title: String = title.chars().filter(|c| !c.is_control()).take(100).collect();
    let title = if title.trim().is_empty() {
        url.path().to_owned()
    } else {
        title
    };
    format!("{title}: {what}").chars().take(180).collect()
}

/// Tries the form; gives what the page shows at the end, or nothing when the form could not be tried.
async fn try_form(
    explorer: &mut Explorer,
    form: &Form,
    before: &Shown,
    draft: &mut Draft,
    url: &Url,
    printer: Printer,
) -> Result<Option<Shown>, TrialError> {
    let entries = entries(explorer, form, before).await;
    let Some(button) = unique(explorer, &[exact(by_role(&form.button))]).await else {
        return Ok(None);
    };
    if entries.is_empty() {
        return Ok(None);
    }
    let mut steps = Vec::new();
    for Entry { locator, sample } in &entries {
        let value = sample.value.clone();
        steps.push(Line::act("fill", Flow::with(locator, Flow::text(&value))));
        if !explorer
            .act(&Action::Fill(ValueAt {
                locator: locator.clone(),
                value,
            }))
            .await?
        {
            return Ok(None);
        }
    }
    steps.push(Line::act("click", Flow::of(&button)));
    let click = Click {
        locator: button,
        count: 1,
        button: MouseButton::Left,
        modifiers: Vec::new(),
    };
    if !explorer.act(&Action::Click(click)).await? {
        printer.say(&format!(
            "the button {:?} could not be clicked",
            escape(&form.button.name, 80)
        ));
        return Ok(None);
    }
    let after = explorer.shown().await?;
    printer.say(&printer.paint(
        Look::Dim,
        &format!(
            "tried the form: {} filled, {:?} clicked",
            count(entries.len(), "field"),
            escape(&form.button.name, 60)
        ),
    ));
    let made = explorer.requests().await;
    let mut seen = Vec::new();
    for Entry { sample, .. } in entries.iter().filter(|e| e.sample.shows) {
        if let Some(locator) = shows(explorer, &sample.value).await {
            steps.push(Line::expect_or_last("visible", &locator));
            seen.push(locator);
        }
    }
    what_changed(explorer, before, &after, &entries, &mut steps).await;
    steps.extend(requests(&made, url));
    // A document that came by POST would be sent for again by a reload; one that it redirected to would not.
    let posted = made
        .iter()
        .rev()
        .find(|made| made.document)
        .is_some_and(|made| made.method != "GET");
    draft.steps.extend(steps);
    draft.name = name(
        before.page.title.raw().trim(),
        url,
        if seen.is_empty() {
            "its form can be sent"
        } else {
            "what is entered is shown"
        },
    );
    if posted || seen.is_empty() {
        return Ok(Some(after));
    }
    explorer.reload().await?;
    let reloaded = explorer.shown().await?;
    let mut kept = Vec::new();
    for locator in seen {
        if explorer.is_visible(&locator).await {
            kept.push(Line::expect_or_last("visible", &locator));
        }
    }
    if !kept.is_empty() {
        draft.name = name(
            before.page.title.raw().trim(),
            url,
            "what is entered is shown, and still there after a reload",
        );
        draft.steps.push(Line::act("reload", Flow::Map(Vec::new())));
        draft.steps.extend(kept);
    }
    Ok(Some(reloaded))
}

/// The fields that can be named and filled, with what is put into them.
async fn entries(explorer: &Explorer, form: &Form, before: &Shown) -> Vec<Entry> {
    let shown = survey::texts(&before.tree);
    let is_shown = |text: &str| shown.iter().any(|other| other.contains(text));
    let mut entries = Vec::new();
    for (number, field) in form.fields.iter().enumerate() {
        let label = || By::Label {
            label: field.name.clone(),
        };
        let choices = [loose(label()), exact(label()), exact(by_role(field))];
        for locator in choices {
            let Some(element) = explorer.element(&locator, &ATTRIBUTES).await else {
                continue;
            };
            if !element.editable || !element.enabled {
                continue;
            }
            if let Some(sample) = sample(&field.name, &element.attributes, number, is_shown) {
                entries.push(Entry { locator, sample });
            }
            break;
        }
    }
    entries
}

/// The locator of a text that the page shows now: its own, else as part of another.
async fn shows(explorer: &Explorer, text: &str) -> Option<Locator> {
    let by = || By::Text { text: text.to_owned() };
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        for locator in [exact(by()), loose(by())] {
            if explorer.is_visible(&locator).await {
                return Some(locator);
            }
        }
        if tokio::time::Instant::now() >= until {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What live regions say now, what else is new, what is counted, and which fields were emptied.
async fn what_changed(explorer: &Explorer, before: &Shown, after: &Shown, entries: &[Entry], steps: &mut Vec<Line>) {
    let (old, news) = (survey::texts(&before.tree), survey::news(&after.tree));
    let is_entered = |text: &str| entries.iter().any(|e| text.contains(&e.sample.value));
    let mut others = 0;
    let fresh = survey::texts(&after.tree)
        .into_iter()
        .filter(|text| !old.contains(text) && !is_entered(text));
    for text in fresh.filter(|text| text.chars().count() <= LONGEST) {
        if !news.contains(&text) {
            others += 1;
            if others > MOST_NEW {
                continue;
            }
        }
        let locator = exact(By::Text { text });
        if explorer.is_visible(&locator).await {
            steps.push(Line::expect("visible", Flow::of(&locator)));
        }
    }
    for role in COUNTED {
        let (was, is) = (survey::count(&before.tree, role), survey::count(&after.tree, role));
        let locator = loose(By::Role {
            role: role.to_owned(),
            name: None,
        });
        if was != is
            && let Some(seen) = explorer.count(&locator).await.filter(|seen| *seen > 0)
        {
            steps.push(Line::count(&locator, seen));
        }
    }
    for Entry { locator, .. } in entries {
        let emptied = explorer
            .element(locator, &[])
            .await
            .and_then(|e| e.value)
            .is_some_and(|v| v.is_empty());
        if emptied {
            steps.push(Line::expect("value_equals", Flow::with(locator, Flow::text(""))));
        }
    }
}

/// The requests that the page made of its own origin, as expectations.
fn requests(made: &[Made], url: &Url) -> Vec<Line> {
    let mut lines: Vec<(String, Line)> = Vec::new();
    for made in made
        .iter()
        .filter(|made| made.script || (made.document && made.method != "GET"))
    {
        let Some(to) = Url::parse(&made.url).ok().filter(|to| to.origin() == url.origin()) else {
            continue;
        };
        let (Some(status), key) = (made.status, format!("{} {}", made.method, to.path())) else {
            continue;
        };
        if lines.len() >= MOST_REQUESTS || lines.iter().any(|(other, _)| *other == key) {
            continue;
        }
        let fields = vec![
            ("method", Flow::text(&made.method)),
            ("path", Flow::text(to.path())),
            ("status", Flow::Number(status.into())),
        ];
        lines.push((key, Line::expect("request", Flow::Map(fields))));
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// What holds at the end.
async fn ends(explorer: &Explorer, before: &Shown, last: &Shown, draft: &mut Draft, url: &Url) {
    for heading in survey::headings(&last.tree)
        .into_iter()
        .filter(|h| h.chars().count() <= LONGEST)
        .take(MOST_HEADINGS)
    {
        let locator = exact(By::Role {
            role: "heading".into(),
            name: Some(heading),
        });
        if explorer.is_visible(&locator).await {
            draft.ends.push(Line::end("visible", Flow::of(&locator)));
        }
    }
    if let Ok(at) = Url::parse(last.page.url.raw())
        && at.origin() == url.origin()
    {
        draft
            .ends
            .push(Line::end("url_is", Flow::text(&at[url::Position::BeforePath..])));
    }
    let title = last.page.title.raw();
    if !title.is_empty() && title == before.page.title.raw() {
        draft.ends.push(Line::end("title_equals", Flow::text(title)));
    }
    draft.ends.push(Line::end("console_clean", Flow::Map(Vec::new())));
}

async fn unique(explorer: &Explorer, choices: &[Locator]) -> Option<Locator> {
    for locator in choices {
        if explorer.element(locator, &[]).await.is_some() {
            return Some(locator.clone());
        }
    }
    None
}

fn by_role(control: &Control) -> By {
    By::Role {
        role: control.role.clone(),
        name: Some(control.name.clone()),
    }
}

fn exact(by: By) -> Locator {
    Locator {
        exact: true,
        ..loose(by)
    }
}

fn loose(by: By) -> Locator {
    Locator {
        by,
        exact: false,
        regex: false,
        nth: None,
        within: None,
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}
