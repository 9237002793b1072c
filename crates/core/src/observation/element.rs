//! What was seen of elements: facts, never answers.
//!
//! A [`Probe`] is one look for a locator, over all frames. It holds what matched and what each match looked like; whether
//! it is *visible*, *enabled* or *the one* follows from these facts in [`crate::evaluate`].
//!
//! Units: lengths are hundredths of a CSS pixel in the coordinates of the tab's viewport ([`Px100`]); opacities and scales are thousandths.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::untrusted::Untrusted;

/// Hundredths of a CSS pixel.
pub type Px100 = i64;

/// One look for a locator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// What matched before `nth`, in document order, the frames in tree order; at most [`Probe::MAX_ELEMENTS`].
    pub elements: Vec<Element>,
    /// How many matched in all, with those beyond the bound.
    pub matches: u32,
    /// How many frames were looked into.
    pub frames: u32,
    /// Frames that could not be read, with why; a look that missed a frame proves no absence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_frames: Vec<UnreadFrame>,
    /// The nearest things that did not match, for the message (their role and name, or text).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<Untrusted>,
}

impl Probe {
    /// Elements kept in one probe.
    pub const MAX_ELEMENTS: usize = 50;
    /// Bytes of text kept of one element.
    pub const MAX_TEXT: usize = 4096;
}

/// A frame that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnreadFrame {
    /// Its URL.
    pub url: Untrusted,
    /// Why: `no_answer`, `crashed`, `gone`, `not_loaded`.
    pub why: UnreadWhy,
}

/// Why a frame could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnreadWhy {
    /// The read did not answer in time.
    NoAnswer,
    /// Its process died.
    Crashed,
    /// It went away during the read.
    Gone,
    /// It was created but has no document yet.
    NotLoaded,
}

/// One element as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// `DOM.BackendNodeId`, 0 when it was not asked for.
    pub node: u64,
    /// Index of its frame in tree order, 0 the main frame.
    pub frame: u32,
    /// Lower-case tag name.
    pub tag: Untrusted,
    /// A short selector path for people.
    pub path: Untrusted,
    /// Role: Chromium's own where `ax` is true (`Accessibility.getPartialAXTree`), else as the scan computed it.
    pub role: Untrusted,
    /// Accessible name, from the same source as `role`.
    pub name: Untrusted,
    /// Whether Chromium's accessibility tree confirmed role and name.
    pub ax: bool,
    /// Rendered text, white space folded, at most [`Probe::MAX_TEXT`] bytes.
    pub text: Untrusted,
    /// Whether `text` was cut.
    #[serde(default, skip_serializing_if = "is_false")]
    pub text_cut: bool,
    /// Text as the locator matched it (label, placeholder, test id, text), when that is not `name` or `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<Untrusted>,
    /// Whether the page's selector engine found it by the locator's CSS.
    #[serde(default, skip_serializing_if = "is_false")]
    pub css: bool,
    /// Current value of a form control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Untrusted>,
    /// Checked state: of a checkbox, radio, or `aria-checked`, `aria-pressed` of a switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// Attributes that the criterion asked for; absent ones are missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Untrusted>,
    /// Not disabled, by attribute, fieldset or `aria-disabled`.
    pub enabled: bool,
    /// Takes text: an input, textarea, contenteditable that is not read-only.
    pub editable: bool,
    /// How it is laid out and painted.
    pub layout: Layout,
}

/// `checked` of a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// Checked.
    True,
    /// Not checked.
    False,
    /// Indeterminate.
    Mixed,
}

/// How an element is laid out and painted, after it was scrolled into view as far as it goes. Where an action is meant for a checkbox, radio or
/// file input that the page hides, this is the layout of its label, which a person acts on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// It has layout boxes (no `display: none`, connected, not in a closed `details`, `content-visibility`).
    pub rendered: bool,
    /// Its boxes (of its own text where it has text, else of the element), at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<Rect>,
    /// What is left of them inside every clip and the tab's viewport; empty when nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Rect>,
    /// What cut it when `shown` is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_by: Option<Cut>,
    /// Computed `visibility` is `visible`.
    pub visibility: bool,
    /// Product of `opacity` over itself and its ancestors, frames included.
    pub opacity: u32,
    /// Font size as it is painted, when it has text of its own: computed, times the smallest scale of the transforms and zooms on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub font_size: Option<Px100>,
    /// Largest channel difference (0 to 255) between its text and what is behind it, where that is one solid colour; 255 when it shows an image, control or other replaced content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contrast: Option<u32>,
    /// What could hide it in ways that style and geometry do not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// What is on top at sample points of `shown`, `pointer-events` ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tops: Vec<Top>,
    /// The same point asked as the pointer would hit it: the action point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit: Option<Top>,
    /// Its box was the same in two frames in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stable: Option<bool>,
    /// The pixel proof, when one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<PixelProof>,
}

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rect {
    /// Left.
    pub x: Px100,
    /// Top.
    pub y: Px100,
    /// Width, not negative.
    pub width: Px100,
    /// Height, not negative.
    pub height: Px100,
}

impl Rect {
    /// Whether it covers anything.
    pub fn is_empty(&self) -> bool {
        self.width <= 0 || self.height <= 0
    }

    /// The middle.
    pub fn centre(&self) -> (Px100, Px100) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }
}

/// What cut an element away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// An ancestor's `overflow`.
    Overflow,
    /// `clip` or `clip-path` with nothing left.
    Clip,
    /// It lies where no scrolling reaches.
    Unreachable,
    /// Its boxes have no area.
    NoArea,
    /// The frame that holds it is not shown.
    Frame,
}

/// What could hide an element in ways that style and geometry do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// `filter` or `backdrop-filter` on it or an ancestor.
    Filter,
    /// `clip-path` that leaves something.
    ClipPath,
    /// `mask`.
    Mask,
    /// `mix-blend-mode`, `background-blend-mode`.
    Blend,
    /// A gradient or picture behind its text, so that its contrast is unknown.
    BackgroundImage,
    /// Low contrast against a solid colour.
    LowContrast,
    /// Low opacity.
    LowOpacity,
    /// Very small text.
    SmallText,
    /// 3D transform or back face.
    Transform3d,
    /// `-webkit-text-fill-color`, `text-indent`, `background-clip: text` and the like.
    TextPaint,
    /// It only holds a canvas, image, video or other replaced content.
    Replaced,
    /// `-webkit-text-security`: each letter is painted as a disc.
    Masked,
    /// A picture that did not load: what stands in its place is not it.
    Broken,
}

/// What lies on top at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Top {
    /// Where.
    pub x: Px100,
    /// Where.
    pub y: Px100,
    /// Whose it is.
    pub is: TopIs,
    /// The other element, as a short path, when it is not its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Untrusted>,
}

/// Whose the topmost thing at a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopIs {
    /// The element, or something inside it (its label counts for the action point).
    Own,
    /// A pseudo-element of it, or of something inside it, that paints something there.
    Pseudo,
    /// An ancestor of it: its own box is not what is on top there.
    Ancestor,
    /// Something else.
    Other,
    /// Nothing was found.
    Nothing,
}

/// Captures with and without the element's own paint.
///
/// Pairs (A as it is, B with the element made transparent) were taken in turn and cropped to `area`. A pixel is *alike* when it is the same within 8 of 255 in every
/// capture of its kind; it *differs* when it is alike in all A and in all B, and A and B are at least 24 apart in some channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PixelProof {
    /// Pairs taken, at least 3.
    pub pairs: u32,
    /// Property that took effect.
    pub means: ProofMeans,
    /// Pixels looked at.
    pub pixels: u64,
    /// Pixels alike in all A and alike in all B.
    pub alike: u64,
    /// Of those, pixels that differ between A and B.
    pub differing: u64,
    /// Pixels alike in all captures of one kind that moved between every two captures in a row of the other: paint that moves, or that lies on
    /// what moves.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub one_sided: u64,
    /// Where, in the viewport.
    pub area: Rect,
}

/// What made the element transparent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofMeans {
    /// Text colours.
    TextColour,
    /// `opacity`.
    Opacity,
    /// `filter`.
    Filter,
    /// `clip-path`.
    ClipPath,
    /// Nothing took effect.
    None,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
