//! Finding what a locator names, over all frames of a tab.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use jurat_core::contract::{By, FrameChoice, Locator, Within};
use jurat_core::observation::{Probe, UnreadFrame, UnreadWhy};
use jurat_core::untrusted::Untrusted;

use super::ax;
use super::call::{self, Deep};
use super::closed;
use super::error::ReadError;
use super::place;
use super::scan::{Item, Scan, What, Wish, spec};
use crate::cdp::protocol::BackendNodeId;
use crate::context::{ActError, FrameRef, Tab};

/// Longest that one child frame may keep a look waiting.
const FRAME_PATIENCE: Duration = Duration::from_secs(3);
/// Rounds of handing in closed roots: each may hold further hosts.
const ROUNDS: usize = 4;

/// One element that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Index of its frame among [`Gathered::frames`].
    pub(super) frame: usize,
    /// Its place in the page script's look.
    pub(super) look: u64,
    pub(super) index: u32,
    pub(super) node: BackendNodeId,
    pub(super) item: Item,
    /// Role and name as Chromium has them, when it was asked.
    pub(super) ax: Option<ax::AxFact>,
}

/// What was found in all frames.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) frames: Vec<FrameRef>,
    pub(super) found: Vec<Found>,
    pub(super) total: u32,
    /// Frames looked into.
    pub(super) looked: u32,
    pub(super) unread: Vec<UnreadFrame>,
    pub(super) near: Vec<String>,
}

/// Where a locator looks.
#[derive(Debug, Default)]
struct Scope {
    /// Only these frames.
    frames: Option<Vec<usize>>,
    /// Only inside these elements, by frame.
    held: Option<HashMap<usize, Vec<(u64, u32)>>>,
    unread: Vec<UnreadFrame>,
}

/// Looks for a locator in all frames of the tab.
pub(super) async fn gather(tab: &Tab, what: What<'_>, wish: &Wish, deadline: Instant) -> Result<Gathered, ReadError> {
    let frames = ready_frames(tab, deadline).await?;
    gather_in(frames, what, wish, deadline).await
}

/// The frames, with a world for each that can have one.
pub(super) async fn ready_frames(tab: &Tab, deadline: Instant) -> Result<Vec<FrameRef>, ReadError> {
    const WHAT: &str = "read the tab";
    let mut frames = tab.frames();
    if frames.iter().any(|f| f.world_id.is_none() && !f.crashed) {
        for frame in frames.iter().filter(|f| f.world_id.is_none() && !f.crashed) {
            let patience = if frame.parent.is_none() {
                deadline
            } else {
                deadline.min(Instant::now() + Duration::from_millis(500))
            };
            match tab.world(&frame.frame_id, patience).await {
                Err(error) if frame.parent.is_none() => return Err(error.into()),
                // It is told as unread below.
                Ok(_) | Err(_) => {}
            }
        }
        frames = tab.frames();
    }
    match frames.first() {
        None => Err(ActError::Closed { what: WHAT }.into()),
        Some(main) if main.crashed => Err(ActError::Crashed { what: WHAT }.into()),
        Some(main) if main.world_id.is_none() => Err(ActError::Gone { what: WHAT }.into()),
        Some(_) => Ok(frames),
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReadError>> + Send + 'a>>;

fn gather_in<'a>(frames: Vec<FrameRef>, what: What<'a>, wish: &'a Wish, deadline: Instant) -> Boxed<'a, Gathered> {
    Box::pin(async move {
        let within = match what {
            What::Locator(locator) => locator.within.as_deref(),
            What::FrameNamed(_) => None,
        };
        let scope = match within {
            None => Scope::default(),
            Some(within) => scope(&frames, within, deadline).await?,
        };
        let targets: Vec<usize> = match &scope.frames {
            Some(only) => only.clone(),
            None => (0..frames.len()).collect(),
        };
        let mut gathered = Gathered {
            found: Vec::new(),
            total: 0,
            looked: 0,
            unread: scope.unread,
            near: Vec::new(),
            frames,
        };
        let mut pending = Vec::with_capacity(targets.len());
        for index in targets {
            let frame = &gathered.frames[index];
            let held = scope
                .held
                .as_ref()
                .map(|held| held.get(&index).map_or(&[][..], Vec::as_slice));
            let spec = spec(&what, wish, held, Probe::MAX_ELEMENTS);
            pending.push((index, call::send_find(frame, &spec), spec));
        }
        for (index, sent, spec) in pending {
            let frame = gathered.frames[index].clone();
            let main = frame.parent.is_none();
            let patience = if main {
                deadline
            } else {
                deadline.min(Instant::now() + FRAME_PATIENCE)
            };
            let answer = match sent {
                None => Err(ActError::Gone {
                    what: "look for a locator",
                }
                .into()),
                Some(sent) => finish_scan(&frame, sent.wait(patience).await, &spec, patience).await,
            };
            match answer {
                Ok((scan, nodes)) => gathered.add(index, scan, &nodes),
                Err(error @ ReadError::BadLocator { .. }) => return Err(error),
                Err(error) if main => return Err(error),
                Err(ReadError::Page(ActError::BrowserGone { what })) => {
                    return Err(ActError::BrowserGone { what }.into());
                }
                Err(error) => gathered.unread.push(UnreadFrame {
                    url: Untrusted::bounded(&frame.url, 1024).0,
                    why: why(&frame, &error),
                }),
            }
        }
        if let What::Locator(locator) = what
            && wish.ax
        {
            ax::confirm(&mut gathered, locator, wish, deadline).await?;
        }
        Ok(gathered)
    })
}

fn why(frame: &FrameRef, error: &ReadError) -> UnreadWhy {
    match error {
        ReadError::Page(ActError::Crashed { .. }) => UnreadWhy::Crashed,
        _ if frame.crashed => UnreadWhy::Crashed,
        _ if frame.world_id.is_none() => UnreadWhy::NotLoaded,
        ReadError::Page(ActError::Gone { .. } | ActError::Closed { .. }) => UnreadWhy::Gone,
        _ => UnreadWhy::NoAnswer,
    }
}

/// Reads one frame's answer; installs the script where it is missing, hands in closed roots and scans again while there are new ones.
async fn finish_scan(
    frame: &FrameRef,
    first: Result<call::DeepAnswer, crate::cdp::CallError>,
    spec: &serde_json::Value,
    deadline: Instant,
) -> Result<(Scan, Vec<BackendNodeId>), ReadError> {
    const WHAT: &str = "look for a locator";
    let gone = || ReadError::Page(ActError::Gone { what: WHAT });
    let mut answer = first.map_err(ReadError::from).and_then(call::DeepAnswer::read);
    if answer.as_ref().is_err_and(call::script_missing) {
        call::install(frame, deadline).await?;
        answer = rescan(frame, spec, deadline).await;
    }
    let mut deep = answer?;
    for _ in 0..ROUNDS {
        let scan: Scan = parse(&deep)?;
        let suspects = deep.nodes.get(1).map_or(&[][..], Vec::as_slice);
        let mut new =
            scan.suspects > 0 && closed::hand_in(frame, suspects, scan.suspects, scan.elements, deadline).await?;
        if !new && scan.whole {
            new = closed::search(frame, deadline).await?;
        }
        if !new {
            let nodes = deep.nodes.into_iter().next().ok_or_else(gone)?;
            return Ok((scan, nodes));
        }
        deep = rescan(frame, spec, deadline).await?;
    }
    let scan = parse(&deep)?;
    Ok((scan, deep.nodes.into_iter().next().ok_or_else(gone)?))
}

async fn rescan(frame: &FrameRef, spec: &serde_json::Value, deadline: Instant) -> Result<Deep, ReadError> {
    let sent = call::send_find(frame, spec).ok_or(ActError::Gone {
        what: "look for a locator",
    })?;
    sent.wait(deadline).await?.read()
}

fn parse(deep: &Deep) -> Result<Scan, ReadError> {
    serde_json::from_str(&deep.json).map_err(|error| {
        ReadError::Page(ActError::Lost {
            what: "look for a locator",
            detail: error.to_string(),
        })
    })
}

impl Gathered {
    fn add(&mut self, frame: usize, scan: Scan, nodes: &[BackendNodeId]) {
        self.looked += 1;
        self.total = self.total.saturating_add(scan.total);
        self.near.extend(scan.near);
        for (index, (item, node)) in scan.items.into_iter().zip(nodes).enumerate() {
            let Ok(index) = u32::try_from(index) else { continue };
            let (item, ax) = match item {
                Some(item) => (item, scan.ax),
                // Only the accessibility tree can make it a match.
                None => (Item::unsure(), true),
            };
            self.found.push(Found {
                frame,
                look: scan.look,
                index,
                node: *node,
                item,
                ax: ax.then(ax::AxFact::asked),
            });
        }
    }
}

/// The elements or frames that `within` names.
async fn scope(frames: &[FrameRef], within: &Within, deadline: Instant) -> Result<Scope, ReadError> {
    let wish = Wish {
        ax: true,
        ..Wish::default()
    };
    match within {
        Within::Element(inner) => {
            let found = gather_in(frames.to_vec(), What::Locator(inner), &wish, deadline).await?;
            let mut held: HashMap<usize, Vec<(u64, u32)>> = HashMap::new();
            let mut only = Vec::new();
            for one in chosen(inner, &found.found) {
                held.entry(one.frame).or_default().push((one.look, one.index));
                if !only.contains(&one.frame) {
                    only.push(one.frame);
                }
            }
            Ok(Scope {
                frames: Some(only),
                held: Some(held),
                unread: found.unread,
            })
        }
        Within::Frame { frame } => {
            let (found, nth) = match frame {
                FrameChoice::Named(name) => (
                    gather_in(frames.to_vec(), What::FrameNamed(name), &wish, deadline).await?,
                    None,
                ),
                FrameChoice::Element(inner) => (
                    gather_in(frames.to_vec(), What::Locator(inner), &wish, deadline).await?,
                    Some(inner),
                ),
            };
            let owners: Vec<&Found> = match nth {
                Some(inner) => chosen(inner, &found.found),
                None => found.found.iter().collect(),
            };
            let mut only = Vec::new();
            for (index, child) in frames.iter().enumerate() {
                let Some(parent) = child.parent else { continue };
                if !owners.iter().any(|o| o.frame == parent) {
                    continue;
                }
                if let Some(owner) = place::owner_node(frames, index, deadline).await?
                    && owners.iter().any(|o| o.frame == parent && o.node == owner)
                {
                    only.push(index);
                }
            }
            Ok(Scope {
                frames: Some(only),
                held: None,
                unread: found.unread,
            })
        }
    }
}

/// What a locator chooses of its matches by `nth`.
fn chosen<'a>(locator: &Locator, found: &'a [Found]) -> Vec<&'a Found> {
    match locator.nth {
        None => found.iter().collect(),
        Some(nth) if nth >= 0 => found.iter().skip(nth.unsigned_abs() as usize).take(1).collect(),
        Some(nth) => found
            .iter()
            .rev()
            .skip(nth.unsigned_abs() as usize - 1)
            .take(1)
            .collect(),
    }
}

/// Whether a locator is by role.
pub(super) fn by_role(locator: &Locator) -> bool {
    matches!(locator.by, By::Role { .. })
}
