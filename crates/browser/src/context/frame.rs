//! Frames and elements, as the readers and the actions share them.

use jurat_core::observation::Px100;

use crate::cdp::Session;
use crate::cdp::protocol::{BackendNodeId, FrameId, LoaderId, ObjectId};

/// A frame of a tab at one moment.
#[derive(Debug, Clone)]
pub struct FrameRef {
    /// `Page.FrameId`.
    pub frame_id: FrameId,
    /// The session that its document is read by.
    pub session: Session,
    /// `Runtime.ExecutionContextDescription.uniqueId` of its isolated world; `None` when it has none yet.
    pub world: Option<String>,
    /// `Runtime.ExecutionContextId` of the same world, for commands that take only this.
    pub world_id: Option<i64>,
    /// Index of its parent in the same snapshot; `None` is the main frame.
    pub parent: Option<usize>,
    /// Where it is.
    pub url: String,
    /// Its document load; empty while it has no document of its own.
    pub loader: Option<LoaderId>,
    /// Whether it lives in another process than its parent, with a session of its own.
    pub out_of_process: bool,
    /// Whether its process died.
    pub crashed: bool,
}

/// An element: a handle in its frame's isolated world.
#[derive(Debug, Clone)]
pub struct ElementHandle {
    /// The frame that it is in.
    pub frame_id: FrameId,
    /// The session of that frame.
    pub session: Session,
    /// `Runtime.RemoteObjectId` in the isolated world; dies with the document.
    pub object_id: ObjectId,
    /// `DOM.BackendNodeId`.
    pub node: BackendNodeId,
}

/// Where a frame's viewport lies in the tab's viewport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Placement {
    /// Left edge of its content box.
    pub x: Px100,
    /// Top edge of its content box.
    pub y: Px100,
    /// Width of its content box in the tab's viewport; 0 for the main frame, which has no owner element.
    pub width: Px100,
    /// Height of its content box.
    pub height: Px100,
    /// How much larger it is drawn than its own CSS pixels, thousandths.
    pub scale: u32,
}

impl Placement {
    /// The main frame's own.
    pub const MAIN: Self = Self {
        x: 0,
        y: 0,
        width: 0,
        height: 0,
        scale: 1000,
    };

    /// A point of the frame's viewport in the tab's viewport.
    pub fn to_tab(&self, (x, y): (Px100, Px100)) -> (Px100, Px100) {
        let scale = i64::from(self.scale);
        (self.x + x * scale / 1000, self.y + y * scale / 1000)
    }

    /// A point of the tab's viewport in the frame's viewport.
    pub fn to_frame(&self, (x, y): (Px100, Px100)) -> (Px100, Px100) {
        let scale = i64::from(self.scale.max(1));
        ((x - self.x) * 1000 / scale, (y - self.y) * 1000 / scale)
    }
}
