//! One look for a locator.

use std::time::{Duration, Instant};

use jurat_core::contract::{By, Locator};
use jurat_core::evaluate::{Sight as Answer, sight};
use jurat_core::observation::{Element, Layout, Probe, ProofMeans};
use jurat_core::untrusted::Untrusted;
use serde_json::json;

use super::ax::MORE;
use super::call;
use super::error::ReadError;
use super::gather::{Found, Gathered, gather};
use super::place;
use super::proof;
use super::scan::{Item, What, Wish, spec};
use super::tops::{self, Sampled};
use crate::cdp::protocol::BackendNodeId;
use crate::cdp::protocol::runtime::CallArgument;
use crate::context::{ActError, ElementHandle, FrameRef, Tab};

/// Whether a pixel proof may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proof {
    /// Never: the layout says what style and geometry say.
    #[default]
    Never,
    /// Where style and geometry leave a doubt ([`jurat_core::evaluate::sight`] answers `NeedsProof`).
    IfNeeded,
}

/// What a look is to tell beside what matched.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Attributes to be read of each match.
    pub attributes: Vec<String>,
    /// Layout and paint facts, with what is on top.
    pub layout: bool,
    /// Scroll matches that are out of view into it, as far as a person could. Needs `layout`.
    pub scroll: bool,
    /// Whether each match holds still, over two frames. Needs `layout`.
    pub stable: bool,
    /// Pixel proofs, needs `layout`. At most [`Look::MAX_PROOFS`] in one look.
    pub proof: Proof,
    /// The look is for an action: of a box that the page hides and draws itself, its label is looked at ([`Layout`]).
    pub acts: bool,
    /// Confirm roles and names by Chromium's accessibility tree also where the locator is not by role; a role always is. Documents too
    /// large for it are not confirmed, and say so ([`Element::ax`]).
    pub ax: bool,
}

impl Look {
    /// Pixel proofs taken in one look.
    pub const MAX_PROOFS: usize = 4;
    /// How long a child frame that answers its own process but not ours is waited for again after its document went away.
    const PAUSE: Duration = Duration::from_millis(15);

    /// What an action needs to know: layout, scrolled to, stable.
    pub fn for_action() -> Self {
        Self {
            layout: true,
            scroll: true,
            stable: true,
            acts: true,
            ..Self::default()
        }
    }

    /// What `visible` and `hidden` need to know.
    pub fn for_sight() -> Self {
        Self {
            layout: true,
            scroll: true,
            proof: Proof::IfNeeded,
            ..Self::default()
        }
    }
}

/// What was seen.
#[derive(Debug)]
pub struct Sight {
    /// The facts.
    pub probe: Probe,
    frames: Vec<FrameRef>,
    nodes: Vec<(usize, BackendNodeId)>,
}

impl Sight {
    /// A handle of one element of the probe, to act on.
    ///
    /// # Errors
    /// [`ActError::Gone`] when it is not there any more.
    pub async fn handle(&self, tab: &Tab, index: usize, deadline: Instant) -> Result<ElementHandle, ReadError> {
        const WHAT: &str = "hold an element";
        let gone = || ReadError::Page(ActError::Gone { what: WHAT });
        let (frame, node) = self.nodes.get(index).copied().ok_or_else(gone)?;
        let frame = self.frames.get(frame).ok_or_else(gone)?;
        let world = frame.world_id.ok_or_else(gone)?;
        let nodes = [node];
        let objects = tab
            .race(WHAT, async {
                Ok(call::resolve(&frame.session, world, &nodes, deadline).await)
            })
            .await??;
        let object_id = objects.into_iter().next().flatten().ok_or_else(gone)?;
        Ok(ElementHandle {
            frame_id: frame.frame_id.clone(),
            session: frame.session.clone(),
            object_id,
            node,
        })
    }
}

/// Looks for a locator in all frames of the tab: everything that matches before `nth`, in order, with what was asked for. A document that goes
/// away during the look is looked at again.
///
/// # Errors
/// [`ReadError::BadLocator`] when the selector or pattern is none; [`ReadError::Page`] when the main frame could not be read by the deadline. A child
/// frame that could not be read is in [`Probe::unread_frames`] instead.
pub async fn look(tab: &Tab, locator: &Locator, look: &Look, deadline: Instant) -> Result<Sight, ReadError> {
    const WHAT: &str = "look for a locator";
    tab.race(WHAT, async {
        loop {
            match once(tab, locator, look, deadline).await {
                Err(error) if error.retryable() => {
                    if Instant::now() + Look::PAUSE >= deadline {
                        return Ok(Err(ActError::Unresponsive { what: WHAT }.into()));
                    }
                    tokio::time::sleep(Look::PAUSE).await;
                }
                other => return Ok(other),
            }
        }
    })
    .await?
}

async fn once(tab: &Tab, locator: &Locator, look: &Look, deadline: Instant) -> Result<Sight, ReadError> {
    let by_role = matches!(locator.by, By::Role { .. });
    let wish = Wish {
        attributes: look.attributes.clone(),
        layout: look.layout,
        hit: look.layout,
        stable: look.layout && look.stable,
        ax: look.ax || by_role,
        scroll: look.layout && look.scroll,
        acts: look.acts,
    };
    let mut gathered = gather(tab, What::Locator(locator), &wish, deadline).await?;
    gathered.found.truncate(Probe::MAX_ELEMENTS);
    let mut layouts: Vec<Layout> = Vec::with_capacity(gathered.found.len());
    if look.layout {
        layouts = lay_out(tab, &mut gathered, locator, look, &wish, deadline).await?;
    }
    let css = matches!(locator.by, By::Css { .. });
    let mut layouts = layouts.into_iter();
    let elements = gathered
        .found
        .iter()
        .map(|found| element(found, css, layouts.next()))
        .collect();
    let near: Vec<Untrusted> = if gathered.found.is_empty() {
        gathered
            .near
            .iter()
            .take(5)
            .map(|text| Untrusted::bounded(text, 200).0)
            .collect()
    } else {
        Vec::new()
    };
    let probe = Probe {
        elements,
        matches: gathered.total,
        frames: gathered.looked,
        unread_frames: gathered.unread,
        near,
    };
    let nodes = gathered.found.iter().map(|found| (found.frame, found.node)).collect();
    Ok(Sight {
        probe,
        frames: gathered.frames,
        nodes,
    })
}

fn element(found: &Found, css: bool, layout: Option<Layout>) -> Element {
    let mut element = found.item.element(css);
    element.node = u64::try_from(found.node.0).unwrap_or(0);
    element.frame = u32::try_from(found.frame).unwrap_or(u32::MAX);
    if let Some(ax) = &found.ax {
        if let Some(role) = &ax.role {
            element.role = Untrusted::bounded(role, 100).0;
        }
        element.name = Untrusted::bounded(&ax.name, Probe::MAX_TEXT).0;
        element.ax = true;
    }
    if let Some(layout) = layout {
        element.layout = layout;
    }
    element
}

/// The layout of everything found, in the tab's viewport. Where nothing has to be scrolled, all elements are asked about at once.
async fn lay_out(
    tab: &Tab,
    gathered: &mut Gathered,
    locator: &Locator,
    look: &Look,
    wish: &Wish,
    deadline: Instant,
) -> Result<Vec<Layout>, ReadError> {
    let scrolls = look.scroll && gathered.found.iter().any(|f| is_away(f) || f.frame != 0);
    let mut proofs = 0;
    let mut out = Vec::with_capacity(gathered.found.len());
    let step = if scrolls { 1 } else { gathered.found.len().max(1) };
    let mut from = 0;
    while from < gathered.found.len() {
        let until = (from + step).min(gathered.found.len());
        if scrolls && is_away(&gathered.found[from]) {
            scroll_to(gathered, from, locator, wish, deadline).await?;
        }
        let mut layouts = Vec::with_capacity(until - from);
        let mut levels = Vec::with_capacity(until - from);
        for found in &gathered.found[from..until] {
            let (mut layout, view) = match &found.item.layout {
                Some(scanned) => (scanned.layout(), Some(scanned.view)),
                None => (Layout::default(), None),
            };
            levels.push(match view {
                Some(view) => place::place(&gathered.frames, found.frame, view, &mut layout, scrolls, deadline).await?,
                None => Vec::new(),
            });
            layouts.push(layout);
        }
        let sampled = gathered.found[from..until]
            .iter()
            .zip(&mut layouts)
            .zip(levels)
            .map(|((found, layout), levels)| {
                let given = found.item.layout.as_ref().map_or(&[][..], |l| l.points.as_slice());
                // A child frame's points are not in the tab's viewport.
                let given = if found.frame == 0 { given } else { &[] };
                let points = tops::points(given, &levels, layout.shown);
                Sampled {
                    found,
                    layout,
                    levels,
                    points,
                }
            })
            .collect();
        tops::fill(&gathered.frames, sampled, deadline).await?;
        if look.proof == Proof::IfNeeded {
            for (found, layout) in gathered.found[from..until].iter().zip(&mut layouts) {
                if proofs < Look::MAX_PROOFS && sight(layout) == Answer::NeedsProof {
                    proofs += 1;
                    layout.proof = proof::take(tab, &gathered.frames, found, layout, deadline).await?;
                }
            }
        }
        out.append(&mut layouts);
        from = until;
    }
    debug_assert!(out.iter().all(|l| {
        l.proof
            .as_ref()
            .is_none_or(|p| p.pairs >= 3 || p.means == ProofMeans::None)
    }));
    Ok(out)
}

fn is_away(found: &Found) -> bool {
    found.item.layout.as_ref().is_some_and(|layout| layout.away)
}

/// Scrolls one element into view and reads it again.
async fn scroll_to(
    gathered: &mut Gathered,
    at: usize,
    locator: &Locator,
    wish: &Wish,
    deadline: Instant,
) -> Result<(), ReadError> {
    let found = &gathered.found[at];
    let frame = gathered.frames[found.frame].clone();
    let arguments = vec![
        CallArgument::Value(json!(found.look)),
        CallArgument::Value(json!([found.index])),
        CallArgument::Value(spec(&What::Locator(locator), wish, None, 0)),
        CallArgument::Value(json!(true)),
    ];
    let mut items: Vec<Item> = call::call_json(&frame, MORE, arguments, deadline).await?;
    if let (Some(mut item), Some(found)) = (items.pop(), gathered.found.get_mut(at)) {
        let stable = found.item.layout.as_ref().and_then(|l| l.stable);
        if let Some(layout) = &mut item.layout {
            layout.stable = stable;
        }
        item.keep_matched(&found.item);
        found.item = item;
    }
    Ok(())
}
