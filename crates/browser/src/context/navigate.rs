//! Loading, reloading, going back: each ends with what document came, or why none did.

use std::time::{Duration, Instant};

use jurat_core::observation::DocumentFact;
use jurat_core::untrusted::Untrusted;

use super::console::bounded_url;
use super::error::ActError;
use super::state::{State, TabState};
use super::tab::{Tab, broken};
use crate::cdp::protocol::{LoaderId, page};
use crate::context::TabStatus;

/// How long Chromium may take to show its error page.
const ERROR_PAGE: Duration = Duration::from_secs(2);

/// How a step back through the history went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Navigated {
    /// It brought this document, or the same one at another address.
    Document(DocumentFact),
    /// There is nothing to go back to.
    NoHistory,
}

/// How far the answer of a navigation may be ahead of its events.
const EVENTS: Duration = Duration::from_millis(300);

/// Where the tab was when a navigation began.
#[derive(Debug, Clone, Copy)]
struct Before {
    commits: u64,
    moves: u64,
    stayed: u64,
    at: Instant,
}

/// What ended the wait for a navigation.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Loaded,
    Within,
    Stayed,
    /// The document's request ended with an error and nothing was shown for it (yet).
    Failed(LoaderId),
    Broken(TabStatus),
}

impl Tab {
    /// Loads a URL, until its `load` event (or that of the document which replaced it), its failure, or the deadline. A document that came
    /// and did not finish loading in time is a fact like any other (`loaded: false`); so is one that never came (no status, no error).
    ///
    /// # Errors
    /// When the tab crashed, closed or stands still behind dialogs.
    pub async fn navigate(&self, url: &str, deadline: Instant) -> Result<DocumentFact, ActError> {
        const WHAT: &str = "navigate";
        let before = self.before();
        let session = self.session();
        let answer = match self.call(&session, &page::Navigate::new(url), deadline).await {
            Ok(answer) => answer,
            Err(ActError::Unresponsive { .. }) if self.status() == TabStatus::Open => {
                return Ok(self.document(url, None, before));
            }
            Err(error) => return Err(error),
        };
        if let Some(error) = answer.error_text {
            // The error page is shown a moment later; what reads next must not read the old document.
            if error != "net::ERR_ABORTED" {
                let shown = deadline.min(Instant::now() + ERROR_PAGE);
                self.wait(shown, |tab| {
                    (tab.commits > before.commits && loaded(tab)).then_some(End::Loaded)
                })
                .await;
            }
            // The answer may overtake the events that tell of the request.
            let told = |tab: &TabState| {
                let last = tab.documents.last().filter(|document| document.at >= before.at);
                let ended = last.is_some_and(|document| document.status.is_some() || document.error.is_some());
                (ended || tab.stayed > before.stayed).then_some(End::Loaded)
            };
            self.wait(deadline.min(Instant::now() + EVENTS), told).await;
            let loader = answer.loader_id.or_else(|| self.begun(before));
            let mut fact = self.document(url, loader.as_ref(), before);
            self.stayed(before, deadline).await;
            fact.error = Some(Untrusted::bounded(&error, 256).0);
            return Ok(fact);
        }
        let Some(loader) = answer.loader_id else {
            let moved = deadline.min(Instant::now() + ERROR_PAGE);
            self.wait(moved, |tab| (tab.moves > before.moves).then_some(End::Within))
                .await;
            return Ok(self.document(url, None, before));
        };
        let end = self
            .wait(deadline, |tab| {
                (tab.committed.contains(&loader) && loaded(tab)).then_some(End::Loaded)
            })
            .await;
        match end {
            Some(End::Broken(status)) => Err(broken(status, WHAT)),
            _ => Ok(self.document(url, Some(&loader), before)),
        }
    }

    /// Loads the page again. Ends as [`Tab::navigate`] does.
    ///
    /// # Errors
    /// As [`Tab::navigate`].
    pub async fn reload(&self, deadline: Instant) -> Result<DocumentFact, ActError> {
        let before = self.before();
        let requested = self
            .frame(&self.target().as_str().into())
            .map(|frame| frame.url)
            .unwrap_or_default();
        // Its answer says nothing, and does not come when the page is asked and stays.
        drop(self.session().send(&page::Reload::default()));
        self.arrive(&requested, before, false, deadline, "reload").await
    }

    /// Goes one entry back in the history. Ends as [`Tab::navigate`] does.
    ///
    /// # Errors
    /// As [`Tab::navigate`].
    pub async fn back(&self, deadline: Instant) -> Result<Navigated, ActError> {
        let before = self.before();
        let session = self.session();
        let history = self.call(&session, &page::GetNavigationHistory {}, deadline).await?;
        let index = history.current_index;
        let Some(entry) = index.checked_sub(1).and_then(|index| history.entries.get(index)) else {
            return Ok(Navigated::NoHistory);
        };
        // The blank page that every tab begins with is nowhere that a user could have been.
        if index == 1 && entry.url == "about:blank" {
            return Ok(Navigated::NoHistory);
        }
        drop(session.send(&page::NavigateToHistoryEntry::new(entry.id)));
        self.arrive(&entry.url, before, true, deadline, "back")
            .await
            .map(Navigated::Document)
    }

    async fn arrive(
        &self,
        requested: &str,
        before: Before,
        within: bool,
        deadline: Instant,
        what: &'static str,
    ) -> Result<DocumentFact, ActError> {
        let look = |tab: &TabState| {
            if tab.commits > before.commits {
                return loaded(tab).then_some(End::Loaded);
            }
            if within && tab.moves > before.moves {
                return Some(End::Within);
            }
            if tab.stayed > before.stayed {
                return Some(End::Stayed);
            }
            let failed = tab
                .documents
                .iter()
                .find(|document| document.at >= before.at && document.error.is_some());
            failed.map(|document| End::Failed(document.loader.clone()))
        };
        let end = self.wait(deadline, look).await;
        match end {
            Some(End::Broken(status)) => Err(broken(status, what)),
            Some(End::Stayed) => {
                self.stayed(before, deadline).await;
                let mut fact = self.document(requested, None, before);
                fact.error = Some(Untrusted::new("net::ERR_ABORTED"));
                Ok(fact)
            }
            Some(End::Failed(loader)) => {
                let shown = deadline.min(Instant::now() + ERROR_PAGE);
                self.wait(shown, |tab| {
                    (tab.commits > before.commits && loaded(tab)).then_some(End::Loaded)
                })
                .await;
                let mut fact = self.document(requested, Some(&loader), before);
                if fact.error.is_none() {
                    let state = self.shared.lock();
                    let document = state.tab(self.target()).and_then(|tab| tab.document(&loader));
                    fact.error = document
                        .and_then(|d| d.error.as_ref())
                        .map(|error| Untrusted::bounded(error, 256).0);
                }
                Ok(fact)
            }
            _ => Ok(self.document(requested, None, before)),
        }
    }

    /// The last document that was asked for since.
    fn begun(&self, before: Before) -> Option<LoaderId> {
        let state = self.shared.lock();
        let begun = state
            .tab(self.target())?
            .documents
            .iter()
            .rev()
            .find(|document| document.at >= before.at);
        begun.map(|document| document.loader.clone())
    }

    /// Chromium forgets a navigation that is asked for in the moment after one was given up in a dialog: lets that moment pass.
    async fn stayed(&self, before: Before, deadline: Instant) {
        let stayed = self
            .shared
            .lock()
            .tab(self.target())
            .is_some_and(|tab| tab.stayed > before.stayed);
        if let Some(main) = self.frame(&self.target().as_str().into()).filter(|_| stayed) {
            const MOMENT: &str = "() => new Promise((done) => setTimeout(done, 50))";
            // A page that does not answer fails the next call, which says so.
            drop(self.call_world::<Option<()>>(&main, MOMENT, Vec::new(), deadline).await);
        }
    }

    fn before(&self) -> Before {
        let state = self.shared.lock();
        let at = Instant::now();
        state.tab(self.target()).map_or(
            Before {
                commits: 0,
                moves: 0,
                stayed: 0,
                at,
            },
            |tab| Before {
                commits: tab.commits,
                moves: tab.moves,
                stayed: tab.stayed,
                at,
            },
        )
    }

    async fn wait(&self, deadline: Instant, look: impl Fn(&TabState) -> Option<End>) -> Option<End> {
        let look = |state: &mut State| match state.status(self.target()) {
            TabStatus::Open => look(state.tab(self.target())?),
            status => Some(End::Broken(status)),
        };
        self.shared.until(deadline, look).await
    }

    /// The document that the main frame shows now, or the one that was asked for when nothing has been shown since.
    fn document(&self, requested: &str, loader: Option<&LoaderId>, before: Before) -> DocumentFact {
        let state = self.shared.lock();
        let mut fact = DocumentFact {
            requested: bounded_url(requested),
            url: Untrusted::default(),
            status: None,
            redirects: 0,
            error: None,
            loaded: false,
            unreachable: false,
        };
        let Some(tab) = state.tab(self.target()) else {
            return fact;
        };
        let Some(main) = tab.main() else { return fact };
        fact.url = bounded_url(&main.url);
        let moved = tab.commits > before.commits;
        // A document that was asked for and is not shown: what is shown is another's, the error page of the one before perhaps.
        let unshown = loader.filter(|loader| !tab.committed.contains(loader));
        let shown = unshown.or(main.loader.as_ref().filter(|_| moved)).or(loader);
        // What began since and was not shown: a head that never came, a download, an answer without content.
        let begun = || tab.documents.iter().rev().find(|document| document.at >= before.at);
        let document = match shown {
            Some(loader) => tab.document(loader),
            None => begun().or_else(|| {
                main.loader
                    .as_ref()
                    .filter(|_| tab.moves > before.moves)
                    .and_then(|l| tab.document(l))
            }),
        };
        if let Some(document) = document {
            fact.status = document.status;
            fact.redirects = document.redirects;
            fact.error = document.error.as_ref().map(|error| Untrusted::bounded(error, 256).0);
            if main.error_page || unshown.is_some() || !moved && tab.moves == before.moves {
                fact.url = bounded_url(&document.url);
            }
        }
        fact.loaded = main.loaded && !main.error_page && unshown.is_none() && (moved || tab.moves > before.moves);
        fact
    }
}

fn loaded(tab: &TabState) -> bool {
    tab.main().is_some_and(|main| main.loaded)
}
