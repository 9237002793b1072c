//! Whether an action could be done on what a probe found.
//!
//! Answers are data: the engine waits until [`ready`] gives an element, and a verdict read from disk asks the same function why it never did.

use crate::contract::{Action, Locator};
use crate::observation::{Element, Probe, TopIs};
use crate::reason::ReasonDetail;

use super::matching;
use super::visibility::hidden_by_style;

/// What an action needs of its element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// A person could see it (style and geometry).
    pub visible: bool,
    /// Its box holds still.
    pub stable: bool,
    /// It is not disabled.
    pub enabled: bool,
    /// It takes text.
    pub editable: bool,
    /// The pointer would hit it.
    pub hit: bool,
}

impl Needs {
    /// What an action needs, if it acts on an element.
    pub fn of(action: &Action) -> Option<Self> {
        let nothing = Self {
            visible: false,
            stable: false,
            enabled: false,
            editable: false,
            hit: false,
        };
        let pointer = Self {
            visible: true,
            stable: true,
            enabled: true,
            editable: false,
            hit: true,
        };
        match action {
            Action::Click(_) | Action::Check(_) | Action::Uncheck(_) | Action::Drag(_) => Some(pointer),
            Action::Hover(_) => Some(Self {
                enabled: false,
                ..pointer
            }),
            Action::Fill(_) | Action::Type(_) => Some(Self {
                visible: true,
                enabled: true,
                editable: true,
                ..nothing
            }),
            Action::Select(_) => Some(Self {
                visible: true,
                enabled: true,
                ..nothing
            }),
            Action::Press(p) => p.locator.as_ref().map(|_| Self {
                visible: true,
                ..nothing
            }),
            Action::Scroll(_) => Some(Self {
                stable: true,
                ..nothing
            }),
            Action::Upload(_) => Some(Self {
                enabled: true,
                ..nothing
            }),
            Action::Navigate(_) | Action::Reload(_) | Action::Back(_) | Action::Wait(_) | Action::Expect(_) => None,
        }
    }
}

/// The element on which the action can be done now.
///
/// # Errors
/// Why it cannot be done yet.
pub fn ready<'a>(locator: &Locator, probe: &'a Probe, needs: Needs) -> Result<&'a Element, ReasonDetail> {
    let element = matching::one(locator, probe)?;
    let layout = &element.layout;
    if needs.visible
        && let Some(why) = hidden_by_style(layout)
        && !(why == ReasonDetail::HiddenByOpacity && is_bare_control(element))
    {
        return Err(why);
    }
    if needs.enabled && !element.enabled {
        return Err(ReasonDetail::NotEnabled);
    }
    if needs.editable && !element.editable {
        return Err(ReasonDetail::NotEditable);
    }
    if needs.stable && layout.stable != Some(true) {
        return Err(ReasonDetail::NotStable);
    }
    if needs.hit && layout.hit.as_ref().is_none_or(|hit| hit.is != TopIs::Own) {
        return Err(ReasonDetail::HitOtherElement);
    }
    Ok(element)
}

/// Native controls that honest pages make transparent and paint themselves.
fn is_bare_control(element: &Element) -> bool {
    matches!(element.tag.raw(), "input" | "select")
        && matches!(
            element.role.raw(),
            "checkbox" | "radio" | "switch" | "combobox" | "listbox" | "slider" | "button"
        )
}
