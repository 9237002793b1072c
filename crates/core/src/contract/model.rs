//! The typed contract: what must hold.
//!
//! Every value here has been parsed by [`super::parse()`]; there is no other way in. Serialising a [`Contract`] leaves out
//! whatever equals a default, so that a default written out gives the same identity as one left out
//! ([`super::contract_ref`]). The JSON that comes out is itself a contract and parses back to the same value.

use std::fmt;

use serde::Serialize;

use super::expectation::Expectation;
use super::locator::Locator;
use super::start::Start;

/// A whole contract, version 1 (`jurat: contract/1`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contract {
    /// Always `contract/1`.
    pub jurat: ContractVersion,
    /// One line that says what is proven.
    pub name: String,
    /// The origin under test.
    pub target: Target,
    /// The viewports, in order; one desktop viewport when none was written.
    #[serde(skip_serializing_if = "is_default_viewports")]
    pub viewports: Vec<Viewport>,
    /// What the browser pretends to be.
    #[serde(skip_serializing_if = "Emulate::is_default")]
    pub emulate: Emulate,
    /// What is done, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// What must hold at the end, when the page has settled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<EndExpectation>,
    /// Built-in checks, run on each viewport.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckKind>,
    /// An acceptance prompt, verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    /// How long and how much.
    #[serde(skip_serializing_if = "Budget::is_default")]
    pub budget: Budget,
    /// What is kept beside the facts.
    #[serde(skip_serializing_if = "Capture::is_default")]
    pub capture: Capture,
}

/// The version marker of a contract; the only one is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ContractVersion {
    /// `contract/1`.
    #[serde(rename = "contract/1")]
    V1,
}

/// The exact origin under test, and how it is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Target {
    /// Canonical absolute URL (WHATWG), no credentials, no fragment.
    pub url: String,
    /// Further exact origins that may be reached, canonical (`https://host[:port]`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Third parties that are refused without being held against the page: exact origins, or `https://*.host`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuse: Vec<String>,
    /// How jurat starts the app, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// Plain HTTP criteria, checked before the browser opens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpCriterion>,
}

/// One plain HTTP criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HttpCriterion {
    /// Path on the target origin.
    pub path: String,
    /// Expected status.
    #[serde(skip_serializing_if = "is_200")]
    pub status: u16,
}

/// One viewport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Viewport {
    /// Unique name, `[a-z0-9][a-z0-9-]*`.
    pub name: String,
    /// Width in CSS pixels, 240 to 7680.
    pub width: u32,
    /// Height in CSS pixels, 240 to 7680.
    pub height: u32,
    /// Mobile layout and touch; left out when it equals the default for the width ([`Viewport::mobile`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mobile: Option<bool>,
    /// Device pixels for a CSS pixel, 1 to 4.
    #[serde(skip_serializing_if = "is_one")]
    pub scale: u32,
}

impl Viewport {
    /// The default viewport, `desktop=1440x900`.
    pub fn desktop() -> Self {
        Self {
            name: "desktop".into(),
            width: 1440,
            height: 900,
            mobile: None,
            scale: 1,
        }
    }

    /// Whether the page is laid out as on a phone: as written, else below 600 px of width.
    pub fn mobile(&self) -> bool {
        self.mobile.unwrap_or(self.width < 600)
    }
}

/// What the browser pretends to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Emulate {
    /// BCP 47 language tag.
    #[serde(skip_serializing_if = "is_en_us")]
    pub locale: String,
    /// IANA time zone.
    #[serde(skip_serializing_if = "is_utc")]
    pub timezone: String,
    /// `prefers-color-scheme`.
    #[serde(skip_serializing_if = "is_default")]
    pub color_scheme: ColorScheme,
    /// `prefers-reduced-motion`.
    #[serde(skip_serializing_if = "is_default")]
    pub reduced_motion: ReducedMotion,
    /// Permissions granted to the target origin, by their Permissions API names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
    /// A position for the Geolocation API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<Geolocation>,
}

impl Default for Emulate {
    fn default() -> Self {
        Self {
            locale: "en-US".into(),
            timezone: "UTC".into(),
            color_scheme: ColorScheme::default(),
            reduced_motion: ReducedMotion::default(),
            permissions: Vec::new(),
            geolocation: None,
        }
    }
}

impl Emulate {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `prefers-color-scheme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColorScheme {
    /// Light.
    #[default]
    Light,
    /// Dark.
    Dark,
}

/// `prefers-reduced-motion`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReducedMotion {
    /// No preference.
    #[default]
    NoPreference,
    /// Reduce.
    Reduce,
}

/// A position; decimal degrees kept as canonical text, because canonical types hold no floats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Geolocation {
    /// Degrees, -90 to 90.
    pub latitude: Decimal,
    /// Degrees, -180 to 180.
    pub longitude: Decimal,
    /// Metres.
    #[serde(skip_serializing_if = "is_one")]
    pub accuracy: u32,
}

/// A decimal number in canonical text: optional minus, no leading or trailing zeros beyond one digit before the point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Decimal(pub(super) String);

impl Decimal {
    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value for the DevTools protocol, which takes a number.
    pub fn to_f64(&self) -> f64 {
        self.0.parse().unwrap_or(0.0)
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its id; `step-N` when none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tab it acts in.
    #[serde(skip_serializing_if = "is_default")]
    pub page: PageChoice,
    /// How a dialog that it opens is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialog: Option<DialogAnswer>,
    /// What is done; stands inline as the one key that names the action.
    #[serde(flatten)]
    pub action: Action,
}

/// The tab that a step acts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageChoice {
    /// The tab of the run.
    #[default]
    Main,
    /// The newest other tab.
    Popup,
}

/// How a step's dialog is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DialogAnswer {
    /// Accepted, dismissed, or accepted with a text.
    pub accept: Accept,
    /// The message it must show, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// `accept:` of a dialog: true, false or a text for a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Accept {
    /// OK or Cancel.
    Button(bool),
    /// OK with this text in a prompt.
    Text(String),
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Loads a path of the target.
    Navigate(String),
    /// Reloads the page.
    Reload(Empty),
    /// One entry back in the history.
    Back(Empty),
    /// Clicks.
    Click(Click),
    /// Sets a value at once, as a person pasting would.
    Fill(ValueAt),
    /// Types key by key.
    Type(ValueAt),
    /// Presses a key or a chord, on the focused element when no locator stands.
    Press(Press),
    /// Makes a checkbox, radio or switch checked.
    Check(Locator),
    /// Makes a checkbox or switch unchecked.
    Uncheck(Locator),
    /// Moves the pointer over an element.
    Hover(Locator),
    /// Drags an element onto another.
    Drag(Drag),
    /// Scrolls an element into view.
    Scroll(Locator),
    /// Chooses options of a native select.
    Select(Select),
    /// Gives files to a file input.
    Upload(Upload),
    /// Waits until an expectation holds; what showed and went before does not count against it.
    Wait(Expectation),
    /// Demands an expectation.
    Expect(Expectation),
}

impl Action {
    /// The key that names the action in a contract, and the criterion's kind for actions.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Navigate(_) => "navigate",
            Self::Reload(_) => "reload",
            Self::Back(_) => "back",
            Self::Click(_) => "click",
            Self::Fill(_) => "fill",
            Self::Type(_) => "type",
            Self::Press(_) => "press",
            Self::Check(_) => "check",
            Self::Uncheck(_) => "uncheck",
            Self::Hover(_) => "hover",
            Self::Drag(_) => "drag",
            Self::Scroll(_) => "scroll",
            Self::Select(_) => "select",
            Self::Upload(_) => "upload",
            Self::Wait(_) => "wait",
            Self::Expect(_) => "expect",
        }
    }

    /// The expectation of a `wait` or `expect` step.
    pub fn expectation(&self) -> Option<&Expectation> {
        match self {
            Self::Wait(e) | Self::Expect(e) => Some(e),
            _ => None,
        }
    }

    /// The element that the action needs, if any.
    pub fn locator(&self) -> Option<&Locator> {
        match self {
            Self::Click(c) => Some(&c.locator),
            Self::Fill(v) | Self::Type(v) => Some(&v.locator),
            Self::Press(p) => p.locator.as_ref(),
            Self::Check(l) | Self::Uncheck(l) | Self::Hover(l) | Self::Scroll(l) => Some(l),
            Self::Drag(d) => Some(&d.locator),
            Self::Select(s) => Some(&s.locator),
            Self::Upload(u) => Some(&u.locator),
            Self::Navigate(_) | Self::Reload(_) | Self::Back(_) | Self::Wait(_) | Self::Expect(_) => None,
        }
    }
}

/// `{}`: a step without parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Empty {}

/// `click`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Click {
    /// What is clicked.
    #[serde(flatten)]
    pub locator: Locator,
    /// 1 to 3.
    #[serde(skip_serializing_if = "is_one")]
    pub count: u32,
    /// Which button.
    #[serde(skip_serializing_if = "is_default")]
    pub button: MouseButton,
    /// Keys held down, in the order of [`Modifier`], unique.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<Modifier>,
}

/// A mouse button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MouseButton {
    /// Left.
    #[default]
    Left,
    /// Middle.
    Middle,
    /// Right.
    Right,
}

/// A modifier key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Modifier {
    /// Alt.
    Alt,
    /// Control.
    Control,
    /// Meta.
    Meta,
    /// Shift.
    Shift,
}

/// A locator and a value (`fill`, `type`, `text_equals`, …).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ValueAt {
    /// Where.
    #[serde(flatten)]
    pub locator: Locator,
    /// The value.
    pub value: String,
}

/// `press`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Press {
    /// Focused first, when it stands.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub locator: Option<Locator>,
    /// A key name of the UI Events specification, or a chord such as `Control+a`.
    pub key: String,
}

/// `drag`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drag {
    /// What is dragged.
    #[serde(flatten)]
    pub locator: Locator,
    /// Where it is dropped.
    pub to: Locator,
}

/// `select`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Select {
    /// The select element.
    #[serde(flatten)]
    pub locator: Locator,
    /// One option, by label or value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// Several options, by label or value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// `upload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Upload {
    /// The file input, or the control that opens a file chooser.
    #[serde(flatten)]
    pub locator: Locator,
    /// Paths relative to the contract's folder.
    pub files: Vec<String>,
}

/// What must hold at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndExpectation {
    /// Its id; `expect-N` when none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What must hold.
    #[serde(flatten)]
    pub expectation: Expectation,
}

/// A built-in check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// Layout on the viewport.
    Responsive,
    /// Keyboard walk.
    Keyboard,
    /// axe-core.
    Accessibility,
    /// Motion under `prefers-reduced-motion`.
    ReducedMotion,
    /// Held responses.
    Loading,
    /// Failing responses.
    Error,
    /// Double submits.
    RepeatedAction,
}

/// How long and how much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// The whole run of one contract.
    #[serde(skip_serializing_if = "is_120s")]
    pub wall: Millis,
    /// One step or expectation.
    #[serde(skip_serializing_if = "is_10s")]
    pub step: Millis,
    /// Rounds of a judge.
    #[serde(skip_serializing_if = "is_3")]
    pub judge_rounds: u32,
    /// Steps of an agent.
    #[serde(skip_serializing_if = "is_20")]
    pub agent_steps: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            wall: Millis(120_000),
            step: Millis(10_000),
            judge_rounds: 3,
            agent_steps: 20,
        }
    }
}

impl Budget {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What is kept beside the facts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Capture {
    /// When a screenshot is kept.
    #[serde(skip_serializing_if = "is_default")]
    pub screenshot: Screenshot,
}

impl Capture {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// When a screenshot is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Screenshot {
    /// Not at all.
    Never,
    /// Of a criterion that did not pass.
    #[default]
    OnFailure,
    /// Of every criterion, at the least once at the end.
    Always,
}

/// A duration in whole milliseconds; written `500ms`, `10s` or `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0 && self.0.is_multiple_of(1000) {
            write!(f, "{}s", self.0 / 1000)
        } else {
            write!(f, "{}ms", self.0)
        }
    }
}

impl Serialize for Millis {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(super) fn is_one(value: &u32) -> bool {
    *value == 1
}

fn is_3(value: &u32) -> bool {
    *value == 3
}

fn is_20(value: &u32) -> bool {
    *value == 20
}

fn is_200(value: &u16) -> bool {
    *value == 200
}

fn is_10s(value: &Millis) -> bool {
    value.0 == 10_000
}

fn is_120s(value: &Millis) -> bool {
    value.0 == 120_000
}

fn is_en_us(value: &String) -> bool {
    value == "en-US"
}

fn is_utc(value: &String) -> bool {
    value == "UTC"
}

fn is_default_viewports(value: &Vec<Viewport>) -> bool {
    *value == vec![Viewport::desktop()]
}
