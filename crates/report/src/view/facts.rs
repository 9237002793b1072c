//! What was seen for a criterion, fact by fact, in words.

use jurat_core::observation::{ActionFact, Checked, Element, Fact, Observation, Painted, Probe, TopIs};

use super::Pair;
use crate::Bounds;
use crate::text::{count, duration, moment, px, shown, wire, words};

/// At most so many facts of one criterion.
const MOST: usize = 12;

/// One fact.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Its name in cites.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) at: String,
    pub(crate) pairs: Vec<Pair>,
}

/// The facts of a criterion, the latest ones where there are too many, and how many were left out. Pictures are shown apart.
pub(crate) fn seen(observed: &[&Observation], bounds: Bounds) -> (Vec<Seen>, usize) {
    let mut facts: Vec<Seen> = observed
        .iter()
        .rev()
        .filter(|o| !matches!(o.fact, Fact::Screenshot(_)))
        .take(MOST)
        .map(|o| one(o, bounds))
        .collect();
    facts.reverse();
    let all = observed
        .iter()
        .filter(|o| !matches!(o.fact, Fact::Screenshot(_)))
        .count();
    let cut = all - facts.len();
    (facts, cut)
}

/// The names of what an outcome rests on.
pub(crate) fn cites(names: &[String]) -> String {
    let mut text = names
        .iter()
        .take(20)
        .map(|name| shown(name, 24))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > 20 {
        text.push_str(" …");
    }
    text
}

fn one(observation: &Observation, bounds: Bounds) -> Seen {
    let text = bounds.text.min(600);
    let (title, pairs) = match &observation.fact {
        Fact::Probe(probe) => (
            format!("Looked: {}", count(probe.matches as usize, "match", "matches")),
            of_probe(probe, text),
        ),
        Fact::Action(action) => ("Acted".to_owned(), of_action(action, text)),
        Fact::Page(page) => (
            "Read the address".to_owned(),
            vec![
                Pair::mono("URL", shown(page.url.raw(), text)),
                Pair::plain("Title", shown(page.title.raw(), text)),
            ],
        ),
        Fact::Painted(painted) => (
            "Watched every frame since the last action".to_owned(),
            of_painted(painted),
        ),
        Fact::Held(held) => (
            format!("Held for {}", duration(held.window_us)),
            vec![Pair::plain("Looks", held.looks.to_string())],
        ),
        Fact::Settled(settled) => (
            if settled.in_flight == 0 {
                "The page came to rest".to_owned()
            } else {
                "The page did not come to rest".to_owned()
            },
            vec![
                Pair::plain("Requests unanswered", settled.in_flight.to_string()),
                Pair::plain("Quiet for", duration(settled.quiet_us)),
                Pair::plain("Waited", duration(settled.waited_us)),
            ],
        ),
        Fact::Aria(tree) => (
            "Read the accessibility tree".to_owned(),
            vec![
                Pair::plain("Top nodes", tree.nodes.len().to_string()),
                Pair::plain("Cut", yes(tree.cut)),
            ],
        ),
        Fact::Screenshot(_) => ("Took a picture".to_owned(), Vec::new()),
        Fact::Http(http) => (
            "Asked by plain HTTP".to_owned(),
            vec![
                Pair::mono("Path", shown(&http.path, text)),
                Pair::plain(
                    "Status",
                    http.status
                        .map_or_else(|| "none".to_owned(), |status| status.to_string()),
                ),
                Pair::plain("Error", shown(http.error.raw(), text)),
                Pair::plain("Body", format!("{} bytes", http.body_bytes)),
            ],
        ),
        Fact::Log(mark) => (
            "Read the event log".to_owned(),
            vec![
                Pair::plain("From event", mark.since.to_string()),
                Pair::plain("To event", mark.events.to_string()),
            ],
        ),
        Fact::NotObserved(missing) => {
            let mut pairs = vec![
                Pair::plain("Asked for", shown(&missing.what, 200)),
                Pair::plain("Why not", words(&wire(&missing.why))),
            ];
            pairs.extend(
                missing
                    .detail
                    .as_ref()
                    .map(|detail| Pair::plain("More", shown(detail.raw(), text))),
            );
            ("Could not see".to_owned(), pairs)
        }
    };
    Seen {
        name: format!("o{}", observation.seq),
        title,
        at: moment(observation.at_us),
        pairs,
    }
}

fn of_probe(probe: &Probe, text: usize) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (i, element) in probe.elements.iter().take(5).enumerate() {
        let label = if probe.matches == 1 {
            "Element".to_owned()
        } else {
            format!("Element {}", i + 1)
        };
        pairs.push(Pair::mono(&label, described(element, text)));
        if probe.matches == 1 {
            pairs.extend(of_element(element, text));
        }
    }
    if probe.matches > 5 {
        pairs.push(Pair::plain("More", (probe.matches - 5).to_string()));
    }
    if !probe.near.is_empty() {
        let near: Vec<_> = probe.near.iter().take(5).map(|near| shown(near.raw(), 120)).collect();
        pairs.push(Pair::plain("Nearest", near.join("\n")));
    }
    for frame in probe.unread_frames.iter().take(5) {
        pairs.push(Pair::plain(
            "Unread frame",
            format!("{} ({})", shown(frame.url.raw(), 200), words(&wire(&frame.why))),
        ));
    }
    if probe.frames > 1 {
        pairs.push(Pair::plain("Frames", probe.frames.to_string()));
    }
    pairs
}

fn described(element: &Element, text: usize) -> String {
    let role = shown(element.role.raw(), 40);
    let name = shown(element.name.raw(), text.min(120));
    let path = shown(element.path.raw(), 200);
    if role.is_empty() {
        path
    } else {
        format!("{role} “{name}”  {path}")
    }
}

fn of_element(element: &Element, text: usize) -> Vec<Pair> {
    let mut pairs = Vec::new();
    if !element.text.is_empty() {
        pairs.push(Pair::plain("Text", shown(element.text.raw(), text)));
    }
    pairs.extend(
        element
            .value
            .as_ref()
            .map(|value| Pair::plain("Value", shown(value.raw(), text))),
    );
    pairs.extend(element.checked.map(|checked| {
        let word = match checked {
            Checked::True => "yes",
            Checked::False => "no",
            Checked::Mixed => "mixed",
        };
        Pair::plain("Checked", word)
    }));
    for (name, value) in element.attributes.iter().take(5) {
        pairs.push(Pair::mono(&shown(name, 40), shown(value.raw(), text)));
    }
    if !element.enabled {
        pairs.push(Pair::plain("Enabled", "no"));
    }
    let layout = &element.layout;
    match layout.shown {
        Some(rect) => {
            let place = format!(
                "{} × {} at {}, {}",
                px(rect.width),
                px(rect.height),
                px(rect.x),
                px(rect.y)
            );
            pairs.push(Pair::plain("Box", place));
        }
        None if !layout.rendered => pairs.push(Pair::plain("Box", "not laid out")),
        None => {
            let why = layout
                .cut_by
                .map(|cut| format!(": {}", words(&wire(&cut))))
                .unwrap_or_default();
            pairs.push(Pair::plain("Box", format!("nothing of it can be seen{why}")));
        }
    }
    if layout.opacity < 1000 {
        pairs.push(Pair::plain("Opacity", format!("0.{:03}", layout.opacity)));
    }
    if let Some(contrast) = layout.contrast.filter(|contrast| *contrast < 255) {
        pairs.push(Pair::plain("Contrast", format!("{contrast} of 255")));
    }
    if let Some(top) = layout
        .tops
        .iter()
        .chain(&layout.hit)
        .find(|top| matches!(top.is, TopIs::Other | TopIs::Pseudo))
    {
        let other = top
            .other
            .as_ref()
            .map(|other| shown(other.raw(), 160))
            .unwrap_or_default();
        pairs.push(Pair::mono("On top of it", other));
    }
    if let Some(proof) = &layout.proof {
        let told = format!(
            "{} of {} pixels change when it is taken away",
            proof.differing, proof.pixels
        );
        pairs.push(Pair::plain("Pixel proof", told));
    }
    pairs
}

fn of_action(action: &ActionFact, text: usize) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let sent = match (action.dispatched, action.acknowledged) {
        (true, true) => "sent, and taken by the page",
        (true, false) => "sent, and not acknowledged in time",
        (false, _) => "not sent",
    };
    pairs.push(Pair::plain("Input", sent));
    pairs.extend(
        action
            .obstacle
            .map(|obstacle| Pair::plain("Obstacle", words(&wire(&obstacle)))),
    );
    if let Some(received) = &action.received {
        let who = match &received.other {
            Some(other) if !received.own => shown(other.raw(), 160),
            _ => "the element itself".to_owned(),
        };
        pairs.push(Pair::plain("Received by", who));
    }
    let values = [
        ("Given", &action.given),
        ("Before", &action.before),
        ("After", &action.after),
    ];
    for (label, value) in values {
        pairs.extend(value.as_ref().map(|value| Pair::plain(label, shown(value.raw(), text))));
    }
    if let Some(document) = &action.document {
        pairs.push(Pair::mono("Document", shown(document.url.raw(), text)));
        pairs.extend(document.status.map(|status| Pair::plain("Status", status.to_string())));
        if document.redirects > 0 {
            pairs.push(Pair::plain("Redirects", document.redirects.to_string()));
        }
        pairs.extend(
            document
                .error
                .as_ref()
                .map(|error| Pair::mono("Error", shown(error.raw(), 120))),
        );
    }
    for dialog in action.dialogs.iter().take(3) {
        let answer = if dialog.accepted { "accepted" } else { "dismissed" };
        pairs.push(Pair::plain(
            "Dialog",
            format!(
                "{} “{}”, {answer}",
                shown(&dialog.kind, 20),
                shown(dialog.message.raw(), 200)
            ),
        ));
    }
    pairs
}

fn of_painted(painted: &Painted) -> Vec<Pair> {
    let mut pairs = vec![
        Pair::plain("Frames", painted.frames.to_string()),
        Pair::plain("Longest gap", duration(painted.longest_gap_us)),
        Pair::plain("Seen before", painted.before.to_string()),
    ];
    for sample in painted.samples.iter().take(5) {
        let text = sample
            .text
            .as_ref()
            .map(|text| format!(" “{}”", shown(text.raw(), 120)))
            .unwrap_or_default();
        let matches = count(sample.seen as usize, "match", "matches");
        pairs.push(Pair::plain(
            &format!("After {}", duration(sample.at_us)),
            format!("{matches}{text}"),
        ));
    }
    if painted.lost {
        pairs.push(Pair::plain("Lost", "the watcher was lost"));
    }
    pairs
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
