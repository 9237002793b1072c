//! Where the viewport of a frame lies in the tab, and what its owner elements do to what is inside.

use std::time::Instant;

use jurat_core::observation::{Cut, Effect, Layout, Px100, Rect, Top, TopIs};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;
use serde_json::json;

use super::call;
use super::error::ReadError;
use super::scan::{Box4, View, rect};
use crate::cdp::CallErrorKind;
use crate::cdp::protocol::BackendNodeId;
use crate::cdp::protocol::dom::GetFrameOwner;
use crate::cdp::protocol::runtime::CallArgument;
use crate::context::{ActError, FrameRef};

/// The element that holds a frame; `None` when the frame is gone.
pub(super) async fn owner_node(
    frames: &[FrameRef],
    frame: usize,
    deadline: Instant,
) -> Result<Option<BackendNodeId>, ReadError> {
    let Some(child) = frames.get(frame) else {
        return Ok(None);
    };
    let Some(parent) = child.parent.and_then(|p| frames.get(p)) else {
        return Ok(None);
    };
    match parent
        .session
        .call(&GetFrameOwner::new(&child.frame_id), deadline)
        .await
    {
        Ok(owner) => Ok(Some(owner.backend_node_id)),
        Err(error) if error.kind() == CallErrorKind::Refused => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What the page script says of a frame's owner element, in the parent frame's viewport.
#[derive(Debug, Deserialize)]
struct Owner {
    rendered: bool,
    x: i64,
    y: i64,
    scale: i64,
    shown: Option<Box4>,
    visibility: bool,
    opacity: u32,
    effects: Vec<Effect>,
    hit: Option<(TopIs, Option<String>)>,
    view: View,
}

/// Where something has to be found again to be on top: in which process, seen from the top of that process.
#[derive(Debug, Clone)]
pub(super) struct Level {
    /// The local root.
    pub(super) frame: usize,
    pub(super) view: View,
    /// What must be on top: the element, or the owner of the frame that it is in.
    pub(super) expected: Expected,
    /// From the local root's viewport to the tab's: offset, and scale in thousandths.
    to_tab: (Px100, Px100, i64),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    Element,
    Owner(BackendNodeId),
}

impl Level {
    /// A point of the tab's viewport as whole CSS pixels of the local root's document.
    pub(super) fn document_point(&self, (x, y): (Px100, Px100)) -> (i32, i32) {
        let (ox, oy, scale) = self.to_tab;
        let scale = scale.max(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "pixels of a page, clamped"
        )]
        let at = |place: Px100, scroll: f64| ((place as f64 / 100.0) + scroll).floor().clamp(-1e9, 1e9) as i32;
        (
            at((x - ox) * 1000 / scale, self.view.sx),
            at((y - oy) * 1000 / scale, self.view.sy),
        )
    }
}

/// Moves a layout from the viewport of its frame to the viewport of the tab, clipped and faded as its frames are, and gives what has to
/// be on top at its points, the innermost process first.
pub(super) async fn place(
    frames: &[FrameRef],
    frame: usize,
    view: View,
    layout: &mut Layout,
    scroll: bool,
    deadline: Instant,
) -> Result<Vec<Level>, ReadError> {
    const WHAT: &str = "place a frame";
    let gone = || ReadError::Page(ActError::Gone { what: WHAT });
    let mut levels: Vec<Level> = Vec::new();
    let (mut at, mut view, mut expected) = (frame, view, Expected::Element);
    loop {
        let here = frames.get(at).ok_or_else(gone)?;
        let parent = here.parent.and_then(|p| frames.get(p).map(|f| (p, f)));
        let is_root = parent.is_none_or(|(_, parent)| parent.session.id() != here.session.id());
        if is_root {
            levels.push(Level {
                frame: at,
                view,
                expected,
                to_tab: (0, 0, 1000),
            });
        }
        let Some((parent_index, parent)) = parent else {
            return Ok(levels);
        };
        let node = owner_node(frames, at, deadline).await?.ok_or_else(gone)?;
        let world = parent.world_id.ok_or_else(gone)?;
        let object = call::resolve(&parent.session, world, &[node], deadline)
            .await?
            .pop()
            .flatten()
            .ok_or_else(gone)?;
        let box4 = layout
            .shown
            .or_else(|| layout.boxes.first().copied())
            .map(|r| [r.x, r.y, r.width, r.height]);
        let point = layout.hit.as_ref().map(|hit| [hit.x, hit.y]);
        let arguments = vec![
            CallArgument::ObjectId(object),
            CallArgument::Value(json!(box4)),
            CallArgument::Value(json!(point)),
            CallArgument::Value(json!(scroll)),
        ];
        let function = "function (element, box, point, scroll) { return __jurat.owner(element, box, point, scroll); }";
        let owner: Owner = call::call_json(parent, function, arguments, deadline).await?;
        owner.apply(layout);
        for level in &mut levels {
            let (x, y, scale) = level.to_tab;
            level.to_tab = (
                owner.x + x * owner.scale / 1000,
                owner.y + y * owner.scale / 1000,
                scale * owner.scale / 1000,
            );
        }
        if is_root {
            expected = Expected::Owner(node);
        }
        view = owner.view;
        at = parent_index;
    }
}

impl Owner {
    fn apply(&self, layout: &mut Layout) {
        let moved = |r: Rect| Rect {
            x: self.x + r.x * self.scale / 1000,
            y: self.y + r.y * self.scale / 1000,
            width: r.width * self.scale / 1000,
            height: r.height * self.scale / 1000,
        };
        layout.rendered &= self.rendered;
        for one in &mut layout.boxes {
            *one = moved(*one);
        }
        if let Some(shown) = layout.shown {
            layout.shown = self.shown.and_then(|area| meet(moved(shown), rect(area)));
            if layout.shown.is_none() {
                layout.cut_by = Some(Cut::Frame);
            }
        }
        layout.font_size = layout.font_size.map(|size| size * self.scale / 1000);
        layout.visibility &= self.visibility;
        layout.opacity = layout.opacity * self.opacity / 1000;
        layout.effects.extend(&self.effects);
        layout.effects.sort_unstable();
        layout.effects.dedup();
        if let Some(hit) = &mut layout.hit {
            hit.x = self.x + hit.x * self.scale / 1000;
            hit.y = self.y + hit.y * self.scale / 1000;
            if let Some((is, other)) = &self.hit
                && *is != TopIs::Own
            {
                *hit = Top {
                    is: *is,
                    other: other.as_deref().map(|o| Untrusted::bounded(o, 300).0),
                    ..hit.clone()
                };
            }
        }
    }
}

/// What two rectangles share, if anything.
pub(super) fn meet(a: Rect, b: Rect) -> Option<Rect> {
    let (x, y) = (a.x.max(b.x), a.y.max(b.y));
    let both = Rect {
        x,
        y,
        width: (a.x + a.width).min(b.x + b.width) - x,
        height: (a.y + a.height).min(b.y + b.height) - y,
    };
    (!both.is_empty()).then_some(both)
}
