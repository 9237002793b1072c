//! One fresh profile behind one listener of the guard.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jurat_core::contract::DialogAnswer;
use jurat_core::observation::DialogFact;

use super::attach::Setup;
use super::browser::{Browser, Inner};
use super::error::ActError;
use super::options::ContextOptions;
use super::outlet::Outlet;
use super::state::{Shared, TabStatus};
use super::tab::Tab;
use crate::cdp::protocol::browser::{DownloadBehavior, PermissionDescriptor, SetDownloadBehavior, SetPermission};
use crate::cdp::protocol::target::{CreateBrowserContext, CreateTarget, DisposeBrowserContext};

/// A fresh profile with its tabs. Its profile goes when it is dropped.
#[derive(Debug)]
pub struct Context {
    browser: Arc<Inner>,
    shared: Arc<Shared>,
    main: Tab,
    /// Whether the browser has said that the profile is gone.
    closed: bool,
}

/// Takes a context away again, unless it came into being.
struct Undo<'a> {
    browser: &'a Inner,
    shared: Arc<Shared>,
    armed: bool,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if self.armed {
            dispose(self.browser, &self.shared);
        }
    }
}

fn dispose(browser: &Inner, shared: &Shared) {
    browser.registry.remove(&shared.id);
    drop(shared.browser.send(&DisposeBrowserContext::new(&shared.id)));
}

impl Context {
    /// See [`Browser::new_context`]. Three round trips: the profile, the tab, the burst of its session.
    pub(super) async fn open(
        browser: &Browser,
        options: ContextOptions<'_>,
        deadline: Instant,
    ) -> Result<Self, ActError> {
        let inner = &browser.inner;
        let session = inner.connection.browser();
        let create = CreateBrowserContext {
            // Both: without the second, Chromium dials loopback directly, past every guard.
            proxy_server: Some(format!("http://127.0.0.1:{}", options.proxy_port)),
            proxy_bypass_list: Some("<-loopback>".to_owned()),
            dispose_on_detach: Some(true),
        };
        let id = session.call(&create, deadline).await?.browser_context_id;
        let setup = Setup::new(options.viewport, options.emulate, &inner.version.user_agent);
        let outlet = Outlet::new(options.events, options.origin);
        let shared = Arc::new(Shared::new(id.clone(), session.clone(), setup, outlet));
        let mut undo = Undo {
            browser: inner,
            shared: Arc::clone(&shared),
            armed: true,
        };
        inner.registry.add(&shared);

        let downloads = SetDownloadBehavior {
            browser_context_id: Some(id.clone()),
            events_enabled: Some(true),
            ..SetDownloadBehavior::new(DownloadBehavior::Deny)
        };
        let mut acknowledged = vec![session.send(&downloads)];
        for name in &options.emulate.permissions {
            let permission = PermissionDescriptor { name: name.clone() };
            acknowledged.push(session.send(&SetPermission {
                origin: Some(options.origin.to_owned()),
                browser_context_id: Some(id.clone()),
                ..SetPermission::new(permission, "granted")
            }));
        }
        let create = CreateTarget {
            browser_context_id: Some(id.clone()),
            ..CreateTarget::new("about:blank")
        };
        let created = session.send(&create);
        for pending in acknowledged {
            pending.wait(deadline).await?;
        }
        let target = created.wait(deadline).await?.target_id;
        let attached = shared.until(deadline, |state| {
            if state.browser_gone {
                return Some(Err(ActError::BrowserGone { what: "open a context" }));
            }
            Some(Ok(state.tab(&target)?.session.clone()))
        });
        let session = attached
            .await
            .ok_or(ActError::Unresponsive { what: "open a context" })??;
        let main = Tab::new(Arc::clone(&shared), target, session);
        main.ready(deadline).await?;
        undo.armed = false;
        Ok(Self {
            browser: Arc::clone(inner),
            shared,
            main,
            closed: false,
        })
    }

    /// The tab that the context was opened with.
    pub fn main(&self) -> &Tab {
        &self.main
    }

    /// The newest other tab that is open. It may not have come to report on everything: [`Tab::ready`].
    pub fn newest_popup(&self) -> Option<Tab> {
        let state = self.shared.lock();
        let popup = state
            .tabs
            .iter()
            .rev()
            .find(|tab| tab.target != *self.main.target() && tab.status != TabStatus::Closed)?;
        Some(Tab::new(
            Arc::clone(&self.shared),
            popup.target.clone(),
            popup.session.clone(),
        ))
    }

    /// All tabs that are open, the oldest first.
    pub fn tabs(&self) -> Vec<Tab> {
        let state = self.shared.lock();
        state
            .tabs
            .iter()
            .map(|tab| Tab::new(Arc::clone(&self.shared), tab.target.clone(), tab.session.clone()))
            .collect()
    }

    /// A step begins: how its dialogs are answered (dismissed without a word; `beforeunload` accepted), and what its floods may
    /// fill anew.
    pub fn begin_step(&self, answer: Option<DialogAnswer>) {
        let mut state = self.shared.lock();
        state.step = super::state::Step {
            answer,
            ..Default::default()
        };
        state.outlet.begin_step();
    }

    /// The dialogs since the step began, as they were answered.
    pub fn dialogs(&self) -> Vec<DialogFact> {
        self.shared.lock().step.dialogs.clone()
    }

    /// Entries that were left out of the log, by kind: what was kept before them tells the story. Where it does not, a `Gap` stands in the
    /// log.
    pub fn cuts(&self) -> BTreeMap<&'static str, u64> {
        self.shared.lock().outlet.cuts()
    }

    /// Takes the profile away and waits for that. Dropping the context does the same without waiting.
    ///
    /// # Errors
    /// When the browser does not answer; kill it then.
    pub async fn close(mut self, deadline: Instant) -> Result<(), ActError> {
        let dispose = DisposeBrowserContext::new(&self.shared.id);
        self.shared.browser.call(&dispose, deadline).await?;
        self.closed = true;
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.closed {
            self.browser.registry.remove(&self.shared.id);
        } else {
            dispose(&self.browser, &self.shared);
        }
    }
}
