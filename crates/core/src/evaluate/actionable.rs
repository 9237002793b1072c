//! Whether an action could be done on what a probe found.
//!
//! Answers are data: the engine waits until [`ready`] gives an element, and a verdict read from disk asks the same function why it never did.

use crate::contract::{Action, Locator};
use crate::observation::{Element, Layout, Probe, Top, TopIs};
use crate::reason::ReasonDetail;

use super::matching;
use super::visibility::{MIN_CONTRAST, Sight, hidden_by_style, sight};

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
        // Whatever the means, a person gets to an element by what can be seen and reached of it.
        let reach = Self {
            visible: true,
            hit: true,
            ..nothing
        };
        let pointer = Self {
            stable: true,
            enabled: true,
            ..reach
        };
        match action {
            Action::Click(_) | Action::Check(_) | Action::Uncheck(_) | Action::Drag(_) => Some(pointer),
            Action::Hover(_) => Some(Self {
                enabled: false,
                ..pointer
            }),
            Action::Fill(_) | Action::Type(_) => Some(Self {
                enabled: true,
                editable: true,
                ..reach
            }),
            Action::Select(_) => Some(Self { enabled: true, ..reach }),
            Action::Press(p) => p.locator.as_ref().map(|_| reach),
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

    /// What a drag needs of the element that it ends on: the pointer still holds the other one.
    #[must_use]
    pub fn of_target(self) -> Self {
        Self {
            enabled: false,
            hit: false,
            ..self
        }
    }
}

/// The element on which the action can be done now.
///
/// # Errors
/// Why it cannot be done yet; [`ReasonDetail::VisibilityUndecided`] when all else is as it should be and only a pixel proof can tell whether a person sees
/// it, and none was taken.
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
    if needs.visible && hidden_by_style(layout).is_none() && is_hard_to_see(layout) {
        match sight(layout) {
            Sight::Hidden(why) => return Err(why),
            Sight::NeedsProof => return Err(ReasonDetail::VisibilityUndecided),
            // What keeps moving cannot be proven, and can be acted on.
            Sight::Visible | Sight::Undecided => {}
        }
    }
    Ok(element)
}

/// Whether a person may not find it, although style and geometry show it. Less is asked than of an expectation: what can be seen in part, or
/// stands before a picture, can be acted on, and a proof before each action would be slow.
fn is_hard_to_see(layout: &Layout) -> bool {
    let is_covered = |top: &Top| matches!(top.is, TopIs::Other | TopIs::Ancestor | TopIs::Pseudo);
    layout.contrast.is_some_and(|c| c < MIN_CONTRAST) || (!layout.tops.is_empty() && layout.tops.iter().all(is_covered))
}

/// Native controls that honest pages make transparent and paint themselves.
fn is_bare_control(element: &Element) -> bool {
    matches!(element.tag.raw(), "input" | "select")
        && matches!(
            element.role.raw(),
            "checkbox" | "radio" | "switch" | "combobox" | "listbox" | "slider" | "button"
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::By;
    use crate::observation::{PixelProof, ProofMeans, Rect};

    const AREA: Rect = Rect {
        x: 0,
        y: 0,
        width: 5000,
        height: 2000,
    };

    fn top(is: TopIs) -> Top {
        Top {
            x: 1,
            y: 1,
            is,
            other: None,
        }
    }

    fn proof(differing: u64) -> PixelProof {
        PixelProof {
            pairs: 3,
            means: ProofMeans::TextColour,
            pixels: 1000,
            alike: 1000,
            differing,
            one_sided: 0,
            area: AREA,
        }
    }

    /// Whether a button so laid out could be clicked.
    fn clicked(change: impl FnOnce(&mut Layout)) -> Result<(), ReasonDetail> {
        let mut layout = Layout {
            rendered: true,
            boxes: vec![AREA],
            shown: Some(AREA),
            visibility: true,
            opacity: 1000,
            contrast: Some(200),
            tops: vec![top(TopIs::Own)],
            hit: Some(top(TopIs::Own)),
            stable: Some(true),
            ..Layout::default()
        };
        change(&mut layout);
        let text = crate::untrusted::Untrusted::new;
        let element = Element {
            node: 1,
            frame: 0,
            tag: text("button"),
            path: text("button"),
            role: text("button"),
            name: text("Save"),
            ax: true,
            text: text("Save"),
            text_cut: false,
            matched: None,
            css: true,
            value: None,
            checked: None,
            attributes: std::collections::BTreeMap::new(),
            enabled: true,
            editable: false,
            layout,
        };
        let probe = Probe {
            elements: vec![element],
            matches: 1,
            frames: 1,
            unread_frames: Vec::new(),
            near: Vec::new(),
        };
        let locator = Locator {
            by: By::Css { css: "button".into() },
            exact: false,
            regex: false,
            nth: None,
            within: None,
        };
        let needs = Needs {
            visible: true,
            stable: true,
            enabled: true,
            editable: false,
            hit: true,
        };
        ready(&locator, &probe, needs).map(|_| ())
    }

    #[test]
    fn what_is_plain_or_covered_in_part_needs_no_proof() {
        assert_eq!(clicked(|_| ()), Ok(()));
        assert_eq!(clicked(|l| l.contrast = None), Ok(()));
        assert_eq!(clicked(|l| l.tops.push(top(TopIs::Other))), Ok(()));
        assert_eq!(clicked(|l| l.tops.clear()), Ok(()));
    }

    #[test]
    fn what_is_covered_or_of_the_colour_behind_it_needs_one() {
        let undecided = Err(ReasonDetail::VisibilityUndecided);
        for is in [TopIs::Other, TopIs::Ancestor, TopIs::Pseudo] {
            assert_eq!(clicked(|l| l.tops = vec![top(is)]), undecided);
            assert_eq!(
                clicked(|l| (l.tops, l.proof) = (vec![top(is)], Some(proof(0)))),
                Err(ReasonDetail::Covered)
            );
            assert_eq!(
                clicked(|l| (l.tops, l.proof) = (vec![top(is)], Some(proof(500)))),
                Ok(())
            );
        }
        assert_eq!(clicked(|l| l.contrast = Some(23)), undecided);
        assert_eq!(
            clicked(|l| (l.contrast, l.proof) = (Some(0), Some(proof(0)))),
            Err(ReasonDetail::HiddenByColour)
        );
    }

    #[test]
    fn whatever_the_means_it_must_be_reached() {
        let locator = Locator {
            by: By::Css { css: "input".into() },
            exact: false,
            regex: false,
            nth: None,
            within: None,
        };
        let press = crate::contract::Press {
            locator: Some(locator),
            key: "a".into(),
        };
        assert!(Needs::of(&Action::Press(press)).is_some_and(|needs| needs.visible && needs.hit));
        assert_eq!(
            clicked(|l| l.hit = Some(top(TopIs::Other))),
            Err(ReasonDetail::HitOtherElement)
        );
    }
}
