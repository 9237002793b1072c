//! What the page script is asked, and what it answers.

use std::collections::BTreeMap;

use jurat_core::contract::{By, Locator};
use jurat_core::observation::{Checked, Cut, Effect, Element, Layout, Rect, Top, TopIs};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;
use serde_json::{Value, json};

/// Documents with more elements than this are not asked for Chromium's own roles and names: the accessibility tree is built
/// as a whole, which takes longer than a look may.
pub(super) const AX_ELEMENTS: u32 = 1500;

/// What a scan is asked for beside the locator.
#[derive(Debug, Clone, Default)]
pub(super) struct Wish {
    pub(super) attributes: Vec<String>,
    pub(super) layout: bool,
    pub(super) hit: bool,
    pub(super) stable: bool,
    pub(super) ax: bool,
    /// Matches are to be scrolled to, and clear of what covers them.
    pub(super) scroll: bool,
    /// The look is for an action.
    pub(super) acts: bool,
}

/// The spec of one scan; `scopes` are `[look, index]` pairs of the frame.
pub(super) fn spec(what: &What<'_>, wish: &Wish, scopes: Option<&[(u64, u32)]>, max: usize) -> Value {
    let (by, value, role, exact, regex) = match what {
        What::FrameNamed(name) => ("frame", Some((*name).to_owned()), None, true, false),
        What::Locator(locator) => {
            let (by, value, role) = match &locator.by {
                By::Role { role, name } => ("role", name.clone(), Some(plain_role(role))),
                By::Label { label } => ("label", Some(label.clone()), None),
                By::Text { text } => ("text", Some(text.clone()), None),
                By::Placeholder { placeholder } => ("placeholder", Some(placeholder.clone()), None),
                By::Testid { testid } => ("testid", Some(testid.clone()), None),
                By::Css { css } => ("css", Some(css.clone()), None),
            };
            (by, value, role, locator.exact, locator.regex)
        }
    };
    json!({
        "by": by, "value": value, "role": role, "exact": exact, "regex": regex, "scopes": scopes, "max": max,
        "attributes": wish.attributes, "layout": wish.layout, "hit": wish.hit, "stable": wish.stable,
        "scroll": wish.scroll, "acts": wish.acts, "ax": wish.ax, "ax_elements": AX_ELEMENTS, "suspects": true,
    })
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum What<'a> {
    Locator(&'a Locator),
    FrameNamed(&'a str),
}

pub(super) fn plain_role(role: &str) -> String {
    match role {
        "image" => "img".to_owned(),
        "presentation" => "none".to_owned(),
        other => other.to_lowercase(),
    }
}

/// What one frame's scan answers.
#[derive(Debug, Deserialize)]
pub(super) struct Scan {
    /// Which look of the page script this was.
    pub(super) look: u64,
    pub(super) total: u32,
    /// Whether candidates are to be confirmed by the accessibility tree.
    pub(super) ax: bool,
    /// Elements of the document, shadow trees included.
    pub(super) elements: u32,
    /// One for each kept element; none for those that only the accessibility tree can make matches.
    pub(super) items: Vec<Option<Item>>,
    pub(super) near: Vec<String>,
    /// Elements that could hold a closed shadow root.
    pub(super) suspects: u32,
    /// Whether the whole document is to be searched for closed shadow roots.
    pub(super) whole: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Item {
    tag: String,
    path: String,
    pub(super) role: String,
    pub(super) name: String,
    text: String,
    text_cut: bool,
    matched: Option<String>,
    value: Option<String>,
    checked: Option<Checked>,
    attributes: BTreeMap<String, String>,
    enabled: bool,
    editable: bool,
    pub(super) layout: Option<ScanLayout>,
}

impl Item {
    /// The element as core has it, its layout left out.
    pub(super) fn element(&self, css: bool) -> Element {
        let text = |text: &str| Untrusted::bounded(text, jurat_core::observation::Probe::MAX_TEXT).0;
        Element {
            node: 0,
            frame: 0,
            tag: text(&self.tag),
            path: text(&self.path),
            role: text(&self.role),
            name: text(&self.name),
            ax: false,
            text: text(&self.text),
            text_cut: self.text_cut,
            matched: self.matched.as_deref().map(text),
            css,
            value: self.value.as_deref().map(text),
            checked: self.checked,
            attributes: self
                .attributes
                .iter()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
            enabled: self.enabled,
            editable: self.editable,
            layout: Layout::default(),
        }
    }
}

/// `x, y, width, height`, hundredths of a CSS pixel.
pub(super) type Box4 = [i64; 4];

pub(super) fn rect([x, y, width, height]: Box4) -> Rect {
    Rect { x, y, width, height }
}

/// Where a frame is scrolled to and how large its viewport is.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct View {
    /// CSS pixels.
    pub(super) sx: f64,
    pub(super) sy: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ScanHit {
    x: i64,
    y: i64,
    is: TopIs,
    other: Option<String>,
}

/// Layout in the coordinates of the frame's own viewport.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ScanLayout {
    rendered: bool,
    boxes: Vec<Box4>,
    #[serde(default)]
    shown: Option<Box4>,
    #[serde(default)]
    cut: Option<String>,
    visibility: bool,
    opacity: u32,
    #[serde(default)]
    font: Option<i64>,
    #[serde(default)]
    contrast: Option<u32>,
    effects: Vec<Effect>,
    /// Whole CSS pixels.
    pub(super) points: Vec<[i32; 2]>,
    pub(super) away: bool,
    pub(super) hit: Option<ScanHit>,
    pub(super) view: View,
    pub(super) stable: Option<bool>,
}

impl ScanLayout {
    /// As core has it, in the coordinates of the frame's viewport; `tops` and `proof` left out.
    pub(super) fn layout(&self) -> Layout {
        let mut effects = self.effects.clone();
        effects.sort_unstable();
        effects.dedup();
        Layout {
            rendered: self.rendered,
            boxes: self.boxes.iter().copied().map(rect).collect(),
            shown: self.shown.map(rect),
            cut_by: match self.cut.as_deref() {
                Some("overflow") => Some(Cut::Overflow),
                Some("clip") => Some(Cut::Clip),
                Some("unreachable") => Some(Cut::Unreachable),
                Some("no_area") => Some(Cut::NoArea),
                // What lies below the fold is not cut: it was not scrolled to.
                _ => None,
            },
            visibility: self.visibility,
            opacity: self.opacity,
            font_size: self.font,
            contrast: self.contrast.map(|c| c.min(255)),
            effects,
            tops: Vec::new(),
            hit: self.hit.as_ref().map(|hit| Top {
                x: hit.x,
                y: hit.y,
                is: hit.is,
                other: hit.other.as_deref().map(|o| Untrusted::bounded(o, 300).0),
            }),
            stable: self.stable,
            proof: None,
        }
    }
}

impl Item {
    /// Stands for a candidate whose facts were not fetched: only the accessibility tree can make it a match.
    pub(super) fn unsure() -> Self {
        Self {
            tag: String::new(),
            path: String::new(),
            role: String::new(),
            name: String::new(),
            text: String::new(),
            text_cut: false,
            matched: None,
            value: None,
            checked: None,
            attributes: BTreeMap::new(),
            enabled: false,
            editable: false,
            layout: None,
        }
    }

    /// Whether it is one of [`Item::unsure`].
    pub(super) fn is_unsure(&self) -> bool {
        self.tag.is_empty()
    }
}

impl Item {
    /// A later reading does not know what text the locator matched.
    pub(super) fn keep_matched(&mut self, first: &Self) {
        if self.matched.is_none() {
            self.matched.clone_from(&first.matched);
        }
    }
}
