//! Watching negative locators: what of them was painted since an action.
//!
//! The page script looks once an animation frame, in every frame of the tab, and keeps changes. It reports each change at once,
//! so that a document that is left has told what it showed. New documents are armed before their first script runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jurat_core::contract::{By, FrameChoice, Locator, Within};
use jurat_core::observation::{Painted, PaintedSample};
use jurat_core::untrusted::Untrusted;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::ax;
use super::call;
use super::closed;
use super::error::ReadError;
use super::gather::ready_frames;
use crate::cdp::Session;
use crate::cdp::protocol::page::{AddScriptToEvaluateOnNewDocument, RemoveScriptToEvaluateOnNewDocument};
use crate::cdp::protocol::runtime::CallArgument;
use crate::cdp::protocol::{ScriptId, SessionId};
use crate::context::{ActError, FrameRef, Tab, WORLD};

/// Samples kept for one locator.
const MAX_SAMPLES: usize = 64;
/// Longest that handing in a closed root may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Each watch reports under a number of its own, and asks about closed roots under the next one.
static NEXT: AtomicU64 = AtomicU64::new(1 << 40);

/// A watch of negative locators in one tab, from one action on.
#[derive(Debug)]
pub struct Watch {
    token: u64,
    /// Wall clock at the action, milliseconds; documents stamp with the same clock.
    base_ms: f64,
    since_action: u32,
    locators: Vec<Value>,
    scripts: HashMap<Option<SessionId>, (Session, Option<ScriptId>)>,
    documents: HashMap<String, State>,
    lost: bool,
    finder: JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.finder.abort();
        for (session, script) in self.scripts.values() {
            if let Some(script) = script {
                drop(session.send(&RemoveScriptToEvaluateOnNewDocument::new(script)));
            }
        }
    }
}

/// What one document reported last; each report holds all of its samples.
#[derive(Debug, Clone, Deserialize)]
struct State {
    document: String,
    gone: bool,
    longest: f64,
    /// Custom elements that came into sight and whose role Chromium has not been asked for.
    doubts: u32,
    watched: Vec<Watched>,
    /// Whether it was there at the last reading.
    #[serde(skip)]
    live: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct Watched {
    before: u32,
    samples: Vec<Sample>,
    cut: u32,
    lost: bool,
    first: Option<Sample>,
}

#[derive(Debug, Clone, Deserialize)]
struct Sample {
    t: f64,
    seen: u32,
    unsure: u32,
    text: Option<String>,
}

impl Watch {
    /// Begins to watch, right before an action is sent. Matches that can be seen now are [`Painted::before`].
    ///
    /// # Errors
    /// As [`super::look()`].
    pub async fn arm(tab: &Tab, locators: &[Locator], since_action: u32, deadline: Instant) -> Result<Self, ReadError> {
        const WHAT: &str = "watch negative locators";
        let token = NEXT.fetch_add(2, Ordering::Relaxed);
        let base_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |d| d.as_secs_f64() * 1000.0);
        let finder = tokio::spawn(find_closed(tab.clone(), token + 1));
        let mut watch = Self {
            token,
            base_ms,
            since_action,
            locators: locators.iter().map(config).collect(),
            scripts: HashMap::new(),
            documents: HashMap::new(),
            lost: false,
            finder,
        };
        tab.race(WHAT, async { Ok(watch.arm_all(tab, deadline).await) })
            .await??;
        Ok(watch)
    }

    fn config(&self, fresh: bool) -> Value {
        json!({ "token": self.token, "locators": self.locators, "fresh": fresh })
    }

    async fn arm_all(&mut self, tab: &Tab, deadline: Instant) -> Result<(), ReadError> {
        let frames = ready_frames(tab, deadline).await?;
        let mut added = Vec::new();
        for frame in &frames {
            let id = frame.session.id().cloned();
            if added.iter().any(|(known, _, _)| *known == id) || self.scripts.contains_key(&id) {
                continue;
            }
            let source = format!("globalThis.__jurat?.paint.arm({});", self.config(true));
            let ask = AddScriptToEvaluateOnNewDocument {
                world_name: Some(WORLD.into()),
                ..AddScriptToEvaluateOnNewDocument::new(source)
            };
            added.push((id, frame.session.clone(), frame.session.send(&ask)));
        }
        for (id, session, pending) in added {
            let script = pending.wait(deadline).await?.identifier;
            self.scripts.insert(id, (session, Some(script)));
        }
        for frame in frames {
            match self.arm_frame(&frame, false, deadline).await {
                Ok(()) => {}
                Err(error @ ReadError::BadLocator { .. }) => return Err(error),
                Err(error) if frame.parent.is_none() => return Err(error),
                Err(_) => self.lost = true,
            }
        }
        Ok(())
    }

    async fn arm_frame(&mut self, frame: &FrameRef, fresh: bool, deadline: Instant) -> Result<(), ReadError> {
        let function = "function (config) { return __jurat.paint.arm(config); }";
        let config = self.config(fresh);
        let ask = || vec![CallArgument::Value(config.clone())];
        let state: State = match call::call_json(frame, function, ask(), deadline).await {
            Err(error) if call::script_missing(&error) => {
                call::install(frame, deadline).await?;
                call::call_json(frame, function, ask(), deadline).await?
            }
            other => other?,
        };
        self.keep(state, true);
        Ok(())
    }

    fn keep(&mut self, mut state: State, live: bool) {
        state.live = live;
        self.documents.insert(state.document.clone(), state);
    }

    /// What was painted until now, one for each locator. The watch goes on.
    ///
    /// # Errors
    /// When the main frame could not be read by the deadline.
    pub async fn read(&mut self, tab: &Tab, deadline: Instant) -> Result<Vec<Painted>, ReadError> {
        const WHAT: &str = "read the watch of negative locators";
        let looked = tab
            .race(WHAT, async {
                loop {
                    match self.read_all(tab, deadline).await {
                        Err(error) if error.retryable() && Instant::now() + Duration::from_millis(15) < deadline => {
                            tokio::time::sleep(Duration::from_millis(15)).await;
                        }
                        Err(error) if error.retryable() => {
                            return Ok(Err(ActError::Unresponsive { what: WHAT }.into()));
                        }
                        other => return Ok(other),
                    }
                }
            })
            .await??;
        Ok((0..self.locators.len())
            .map(|index| self.painted(index, looked))
            .collect())
    }

    async fn read_all(&mut self, tab: &Tab, deadline: Instant) -> Result<u32, ReadError> {
        let frames = ready_frames(tab, deadline).await?;
        for state in self.documents.values_mut() {
            state.live = false;
        }
        let mut looked = 0;
        for frame in &frames {
            let function = "function (token) { return globalThis.__jurat ? __jurat.paint.read(token) : \"null\"; }";
            let ask = vec![CallArgument::Value(json!(self.token))];
            let patience = if frame.parent.is_none() {
                deadline
            } else {
                deadline.min(Instant::now() + PATIENCE)
            };
            match call::call_json::<Option<State>>(frame, function, ask, patience).await {
                Ok(Some(state)) if state.doubts > 0 => {
                    let state = dispel(frame, self.token, patience).await?.unwrap_or(state);
                    self.keep(state, true);
                }
                Ok(Some(state)) => self.keep(state, true),
                Ok(None) => {
                    // A process that came after the watch began: what it painted until now was not seen.
                    self.lost |= !self.scripts.contains_key(&frame.session.id().cloned());
                    self.arm_frame(frame, true, patience).await?;
                }
                Err(error) if frame.parent.is_none() => return Err(error),
                Err(_) => self.lost = true,
            }
            looked += 1;
        }
        // What documents said that are gone; a later word replaces an earlier one.
        while let Some(payload) = tab.report(self.token, Instant::now()).await {
            if let Ok(state) = serde_json::from_str::<State>(&payload)
                && self.documents.get(&state.document).is_none_or(|known| !known.live)
            {
                self.keep(state, false);
            }
        }
        Ok(looked)
    }

    /// One locator over all documents: their counts are added up at each change.
    fn painted(&self, index: usize, frames: u32) -> Painted {
        let now_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |d| d.as_secs_f64() * 1000.0);
        let mut changes: Vec<(f64, &str, u32, u32, Option<&str>)> = Vec::new();
        let mut current: HashMap<&str, (u32, u32)> = HashMap::new();
        let mut painted = Painted {
            since_action: self.since_action,
            before: 0,
            samples: Vec::new(),
            frames,
            longest_gap_us: 0,
            cut: 0,
            lost: self.lost,
        };
        for state in self.documents.values() {
            let Some(watched) = state.watched.get(index) else {
                continue;
            };
            painted.before += watched.before;
            painted.cut += watched.cut;
            painted.lost |= watched.lost;
            painted.longest_gap_us = painted.longest_gap_us.max(micros(state.longest / 1000.0));
            let first = watched
                .first
                .as_ref()
                .map_or((watched.before, 0), |f| (f.seen, f.unsure));
            current.insert(&state.document, first);
            for sample in &watched.samples {
                changes.push((
                    sample.t,
                    &state.document,
                    sample.seen,
                    sample.unsure,
                    sample.text.as_deref(),
                ));
            }
            if state.gone || !state.live {
                let last = watched.samples.last().map_or(self.base_ms, |s| s.t);
                // It went after its last change, and before any document that came after it.
                let next = self
                    .documents
                    .values()
                    .filter_map(|d| d.watched.get(index))
                    .flat_map(|w| &w.samples)
                    .map(|s| s.t);
                let until = next.filter(|t| *t > last).fold(now_ms.max(last), f64::min);
                changes.push((until, &state.document, 0, 0, None));
            }
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let sum = |current: &HashMap<&str, (u32, u32)>| {
            current
                .values()
                .fold((0, 0), |(s, u), (seen, unsure)| (s + seen, u + unsure))
        };
        let mut last = sum(&current);
        for (t, document, seen, unsure, text) in changes {
            current.insert(document, (seen, unsure));
            let next = sum(&current);
            if next == last {
                continue;
            }
            last = next;
            if painted.samples.len() >= MAX_SAMPLES {
                painted.cut += 1;
                continue;
            }
            painted.samples.push(PaintedSample {
                at_us: micros(t - self.base_ms),
                seen: next.0,
                unsure: next.1,
                text: text.map(|text| Untrusted::bounded(text, 300).0),
            });
        }
        painted
    }
}

/// Asks Chromium for the roles of custom elements that only their `ElementInternals` tell, and tells the page script; gives its new state.
async fn dispel(frame: &FrameRef, token: u64, deadline: Instant) -> Result<Option<State>, ReadError> {
    let Some(sent) = call::send_deep(frame, "function () { return __jurat.paint.doubts(); }", Vec::new()) else {
        return Ok(None);
    };
    let deep = sent.wait(deadline).await?.read()?;
    let nodes = deep.nodes.first().map_or(&[][..], Vec::as_slice);
    let roles = ax::roles(frame, nodes, deadline).await?;
    let function = "function (token, roles) { return __jurat.paint.dispel(token, roles); }";
    let ask = vec![CallArgument::Value(json!(token)), CallArgument::Value(json!(roles))];
    call::call_json(frame, function, ask, deadline).await
}

/// Milliseconds as whole microseconds, not negative.
fn micros(milliseconds: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a range that fits"
    )]
    let micros = (milliseconds * 1000.0).round().clamp(0.0, 1e15) as u64;
    micros
}

/// A locator as the page script watches it.
fn config(locator: &Locator) -> Value {
    let (by, value, role) = match &locator.by {
        By::Role { role, name } => ("role", name.clone(), Some(super::scan::plain_role(role))),
        By::Label { label } => ("label", Some(label.clone()), None),
        By::Text { text } => ("text", Some(text.clone()), None),
        By::Placeholder { placeholder } => ("placeholder", Some(placeholder.clone()), None),
        By::Testid { testid } => ("testid", Some(testid.clone()), None),
        By::Css { css } => ("css", Some(css.clone()), None),
    };
    let within = match locator.within.as_deref() {
        Some(Within::Element(inner)) => Some(config(inner)),
        _ => None,
    };
    json!({
        "by": by, "value": value, "role": role, "exact": locator.exact, "regex": locator.regex, "nth": locator.nth,
        "within": within, "frame": frame_of(locator),
    })
}

/// The frame that a locator is bound to, if any: its name, or null in it when only a look can tell.
fn frame_of(locator: &Locator) -> Option<Value> {
    match locator.within.as_deref()? {
        Within::Frame {
            frame: FrameChoice::Named(name),
        } => Some(json!({ "name": name })),
        Within::Frame {
            frame: FrameChoice::Element(_),
        } => Some(json!({ "name": null })),
        Within::Element(inner) => frame_of(inner),
    }
}

/// Answers the page script's questions about closed roots, as long as the watch lasts.
async fn find_closed(tab: Tab, token: u64) {
    loop {
        let far = Instant::now() + Duration::from_hours(1);
        if tab.report(token, far).await.is_none() {
            return;
        }
        let deadline = Instant::now() + PATIENCE;
        for frame in tab.frames() {
            let function = "function () { return __jurat.paint.pending(); }";
            let Some(sent) = call::send_deep(&frame, function, Vec::new()) else {
                continue;
            };
            let Ok(Ok(deep)) = sent.wait(deadline).await.map(call::DeepAnswer::read) else {
                continue;
            };
            let suspects = deep.nodes.get(1).map_or(&[][..], Vec::as_slice);
            if suspects.is_empty() {
                continue;
            }
            let count = u32::try_from(suspects.len()).unwrap_or(u32::MAX);
            if let Err(error) = closed::hand_in(&frame, suspects, count, u32::MAX, deadline).await {
                tracing::debug!(%error, "closed shadow roots were not handed in");
            }
        }
    }
}
