//! Expectations: what must hold, in a step or at the end.

use std::fmt;

use serde::Serialize;

use super::locator::Locator;
use super::model::{Empty, ValueAt};

/// What must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// A person could see it.
    Visible(Locator),
    /// No match that a person could see.
    Hidden(Locator),
    /// It is in the document.
    Present(Locator),
    /// No match in the document.
    Absent(Locator),
    /// Its text, white space folded, equals the value.
    TextEquals(ValueAt),
    /// Its text, white space folded, contains the value.
    TextContains(ValueAt),
    /// The value of a form control.
    ValueEquals(ValueAt),
    /// One attribute.
    AttributeEquals(AttributeAt),
    /// How many matches there are.
    Count(CountAt),
    /// A checkbox, radio or switch is checked.
    Checked(Locator),
    /// The URL of the page, exactly; relative to the target or absolute.
    UrlIs(String),
    /// A prefix of the URL that ends at a path segment.
    UrlPrefix(String),
    /// The document's title.
    TitleEquals(String),
    /// The accessibility tree, in Playwright's ARIA snapshot syntax.
    AriaSnapshot(AriaAt),
    /// A request that left the browser since the last action.
    Request(RequestMade),
    /// No `console.error`, uncaught exception or unhandled rejection.
    ConsoleClean(Empty),
}

impl Expectation {
    /// The key that names it in a contract.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Visible(_) => "visible",
            Self::Hidden(_) => "hidden",
            Self::Present(_) => "present",
            Self::Absent(_) => "absent",
            Self::TextEquals(_) => "text_equals",
            Self::TextContains(_) => "text_contains",
            Self::ValueEquals(_) => "value_equals",
            Self::AttributeEquals(_) => "attribute_equals",
            Self::Count(_) => "count",
            Self::Checked(_) => "checked",
            Self::UrlIs(_) => "url_is",
            Self::UrlPrefix(_) => "url_prefix",
            Self::TitleEquals(_) => "title_equals",
            Self::AriaSnapshot(_) => "aria_snapshot",
            Self::Request(_) => "request",
            Self::ConsoleClean(_) => "console_clean",
        }
    }

    /// The elements it is about, if any.
    pub fn locator(&self) -> Option<&Locator> {
        match self {
            Self::Visible(l) | Self::Hidden(l) | Self::Present(l) | Self::Absent(l) | Self::Checked(l) => Some(l),
            Self::TextEquals(v) | Self::TextContains(v) | Self::ValueEquals(v) => Some(&v.locator),
            Self::AttributeEquals(a) => Some(&a.locator),
            Self::Count(c) => Some(&c.locator),
            Self::AriaSnapshot(a) => a.locator.as_ref(),
            Self::UrlIs(_) | Self::UrlPrefix(_) | Self::TitleEquals(_) | Self::Request(_) | Self::ConsoleClean(_) => {
                None
            }
        }
    }

    /// The locator of a negative that is also held against what was painted since the last action.
    pub fn negative_locator(&self) -> Option<&Locator> {
        match self {
            Self::Hidden(l) | Self::Absent(l) => Some(l),
            _ => None,
        }
    }

    /// Whether it must hold over a settle window.
    pub fn is_negative(&self) -> bool {
        matches!(self, Self::Hidden(_) | Self::Absent(_) | Self::ConsoleClean(_))
            || matches!(self, Self::Request(r) if r.count.is_some())
    }
}

/// `attribute_equals`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttributeAt {
    /// Where.
    #[serde(flatten)]
    pub locator: Locator,
    /// The attribute's name.
    pub attribute: String,
    /// Its value, exactly.
    pub value: String,
}

/// `count`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountAt {
    /// What is counted.
    #[serde(flatten)]
    pub locator: Locator,
    /// How many.
    pub value: u32,
}

/// `aria_snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AriaAt {
    /// The root; the whole page when it is left out.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub locator: Option<Locator>,
    /// The template, verbatim.
    pub template: String,
}

/// `request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestMade {
    /// Upper case.
    pub method: String,
    /// Path and query exactly, or the path alone when it holds no `?`.
    pub path: String,
    /// The status it was answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many; at least one when it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

impl fmt::Display for Expectation {
    /// What is expected, as one line for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Visible(l) => write!(f, "{l} is visible"),
            Self::Hidden(l) => write!(f, "{l} is hidden"),
            Self::Present(l) => write!(f, "{l} is present"),
            Self::Absent(l) => write!(f, "{l} is absent"),
            Self::TextEquals(v) => write!(f, "{} has the text {:?}", v.locator, v.value),
            Self::TextContains(v) => write!(f, "{} contains the text {:?}", v.locator, v.value),
            Self::ValueEquals(v) => write!(f, "{} has the value {:?}", v.locator, v.value),
            Self::AttributeEquals(a) => write!(f, "{} has {}={:?}", a.locator, a.attribute, a.value),
            Self::Count(c) => write!(f, "{} of {}", c.value, c.locator),
            Self::Checked(l) => write!(f, "{l} is checked"),
            Self::UrlIs(u) => write!(f, "the URL is {u}"),
            Self::UrlPrefix(u) => write!(f, "the URL begins with {u}"),
            Self::TitleEquals(t) => write!(f, "the title is {t:?}"),
            Self::AriaSnapshot(AriaAt { locator: Some(l), .. }) => write!(f, "{l} matches the ARIA snapshot"),
            Self::AriaSnapshot(_) => f.write_str("the page matches the ARIA snapshot"),
            Self::Request(r) => {
                write!(f, "{} {}", r.method, r.path)?;
                if let Some(s) = r.status {
                    write!(f, " answered {s}")?;
                }
                match r.count {
                    Some(n) => write!(f, ", {n} times"),
                    None => f.write_str(", at least once"),
                }
            }
            Self::ConsoleClean(_) => f.write_str("a console without errors"),
        }
    }
}
