//! The first commands of every new session, sent as one burst before its target may run.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use jurat_core::contract::{ColorScheme, Emulate, ReducedMotion, Viewport};

use super::error::ActError;
use super::state::Kind;
use super::world::{BINDING, WORLD};
use crate::cdp::protocol::emulation::{self, MediaFeature};
use crate::cdp::protocol::page::FrameTree;
use crate::cdp::protocol::{Done, log, network, page, runtime, target};
use crate::cdp::{CallError, Pending, Session};

/// How long a target may take to acknowledge its first commands.
const PATIENCE: Duration = Duration::from_secs(20);

/// What every target of a context is set up with.
#[derive(Debug)]
pub(super) struct Setup {
    width: u32,
    height: u32,
    scale: u32,
    mobile: bool,
    emulate: Emulate,
    /// Set when the language is not the browser's own.
    user_agent: Option<String>,
    /// What runs in the isolated world of each document.
    pub(super) script: Cow<'static, str>,
}

impl Setup {
    pub(super) fn new(viewport: &Viewport, emulate: &Emulate, user_agent: &str) -> Self {
        Self {
            width: viewport.width,
            height: viewport.height,
            scale: viewport.scale,
            mobile: viewport.mobile(),
            emulate: emulate.clone(),
            user_agent: (emulate.locale != Emulate::default().locale).then(|| user_agent.to_owned()),
            script: script(),
        }
    }

    /// Sends everything that a new target needs and lets it run; gives what is to be acknowledged. `empty` says that its present
    /// document is nobody's page, so that the page script is not put into it.
    pub(super) fn send(&self, session: &Session, kind: Kind, empty: bool) -> Burst {
        let mut burst = Burst {
            needed: Vec::with_capacity(16),
            wished: Vec::with_capacity(8),
            script: None,
            tree: None,
        };
        if kind == Kind::Muted {
            burst.wished.push(session.send(&runtime::RunIfWaitingForDebugger {}));
            return burst;
        }
        burst.needed.push(session.send(&network::Enable {
            max_post_data_size: Some(0),
            ..Default::default()
        }));
        burst.needed.push(session.send(&runtime::Enable {}));
        burst.wished.push(session.send(&log::Enable {}));
        let attach = target::SetAutoAttach {
            flatten: Some(true),
            ..target::SetAutoAttach::new(true, true)
        };
        if matches!(kind, Kind::Page | Kind::Frame) {
            burst.needed.push(session.send(&page::Enable::default()));
            burst.needed.push(session.send(&attach));
            self.emulate(session, kind, &mut burst);
            let binding = runtime::AddBinding {
                execution_context_name: Some(WORLD.to_owned()),
                ..runtime::AddBinding::new(BINDING)
            };
            burst.needed.push(session.send(&binding));
            let script = page::AddScriptToEvaluateOnNewDocument {
                world_name: Some(WORLD.into()),
                run_immediately: Some(!empty),
                ..page::AddScriptToEvaluateOnNewDocument::new(self.script.clone())
            };
            burst.script = Some(session.send(&script));
            burst.tree = Some(session.send(&page::GetFrameTree {}));
        } else {
            // Workers that start workers; the kinds that cannot refuse it.
            burst.wished.push(session.send(&attach));
        }
        burst.wished.push(session.send(&runtime::RunIfWaitingForDebugger {}));
        burst
    }

    fn emulate(&self, session: &Session, kind: Kind, burst: &mut Burst) {
        let media = |name: &str, value: &str| MediaFeature {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let scheme = match self.emulate.color_scheme {
            ColorScheme::Light => "light",
            ColorScheme::Dark => "dark",
        };
        let motion = match self.emulate.reduced_motion {
            ReducedMotion::NoPreference => "no-preference",
            ReducedMotion::Reduce => "reduce",
        };
        let features = vec![
            media("prefers-color-scheme", scheme),
            media("prefers-reduced-motion", motion),
        ];
        burst.wished.push(session.send(&emulation::SetEmulatedMedia {
            features: Some(features),
            ..Default::default()
        }));
        // Time zone and language are of the whole process: a second session in it is refused, and has them already.
        burst
            .wished
            .push(session.send(&emulation::SetTimezoneOverride::new(&*self.emulate.timezone)));
        let locale = Some(self.emulate.locale.clone());
        burst
            .wished
            .push(session.send(&emulation::SetLocaleOverride { locale }));
        if let Some(user_agent) = &self.user_agent {
            burst.wished.push(session.send(&emulation::SetUserAgentOverride {
                accept_language: Some(self.emulate.locale.clone()),
                ..emulation::SetUserAgentOverride::new(user_agent)
            }));
        }
        if let Some(place) = &self.emulate.geolocation {
            burst.wished.push(session.send(&emulation::SetGeolocationOverride {
                latitude: Some(place.latitude.to_f64()),
                longitude: Some(place.longitude.to_f64()),
                accuracy: Some(f64::from(place.accuracy)),
            }));
        }
        if self.mobile {
            let touch = emulation::SetTouchEmulationEnabled {
                max_touch_points: Some(1),
                ..emulation::SetTouchEmulationEnabled::new(true)
            };
            burst.wished.push(session.send(&touch));
        }
        if kind == Kind::Page {
            let metrics = emulation::SetDeviceMetricsOverride {
                screen_width: Some(self.width),
                screen_height: Some(self.height),
                ..emulation::SetDeviceMetricsOverride::new(self.width, self.height, self.scale, self.mobile)
            };
            burst.needed.push(session.send(&metrics));
            burst
                .needed
                .push(session.send(&emulation::SetFocusEmulationEnabled::new(true)));
        }
    }
}

/// What a burst waits for.
#[derive(Debug)]
pub(super) struct Burst {
    /// Must be acknowledged before the target is used.
    needed: Vec<Pending<Done>>,
    /// May be refused.
    wished: Vec<Pending<Done>>,
    script: Option<Pending<page::ScriptAdded>>,
    tree: Option<Pending<page::FrameTreeAnswer>>,
}

impl Burst {
    /// Waits for all of it.
    pub(super) async fn acknowledged(self) -> Result<Option<FrameTree>, ActError> {
        let deadline = Instant::now() + PATIENCE;
        for pending in self.needed {
            pending.wait(deadline).await?;
        }
        if let Some(script) = self.script {
            script.wait(deadline).await?;
        }
        let tree = match self.tree {
            Some(tree) => Some(tree.wait(deadline).await?.frame_tree),
            None => None,
        };
        for pending in self.wished {
            match pending.wait(deadline).await {
                Err(CallError::Refused { method, source }) => {
                    tracing::debug!(method, %source, "not possible on this target");
                }
                other => drop(other?),
            }
        }
        Ok(tree)
    }
}

/// The script of the isolated world: how pages are read, and how input is watched.
fn script() -> Cow<'static, str> {
    Cow::Owned([crate::page::script(), crate::act::SCRIPT].concat())
}
