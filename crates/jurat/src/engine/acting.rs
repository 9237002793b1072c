//! Acting: an action waits until it can be done, is done once, and is looked at while it happens.

use std::time::{Duration, Instant};

use jurat_browser::act::{ClickHow, Point};
use jurat_browser::context::{ElementHandle, Navigated, Tab};
use jurat_browser::page::{self, Look, Proof, ReadError, Watch};
use jurat_core::contract::{Action, Drag, Locator, Step};
use jurat_core::evaluate::{Needs, ready};
use jurat_core::observation::{ActionFact, DocumentFact, Fact, GuardReason, Happening, Obstacle, Probe};
use jurat_core::reason::ReasonDetail;
use jurat_core::untrusted::Untrusted;

use super::scene::Scene;

/// The first pause between two looks, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(8);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// An element to act on, and where.
struct Target {
    element: ElementHandle,
    at: Option<Point>,
}

impl Scene<'_> {
    /// Opens the page, when the first step does not.
    pub(super) async fn open(&mut self, index: usize, deadline: Instant) -> Result<(), ReadError> {
        let url = self.plan.url.clone();
        let tab = self.context.main().clone();
        self.context.begin_step(None);
        self.begin(&tab, index, deadline).await?;
        let document = tab.navigate(&url, deadline).await?;
        self.navigated(document);
        Ok(())
    }

    /// Does one action step.
    pub(super) async fn act(&mut self, index: usize, step: &Step, deadline: Instant) -> Result<(), ReadError> {
        self.context.begin_step(step.dialog.clone());
        let Some(tab) = self.tab(step.page, deadline).await else {
            self.no_tab(true);
            return Ok(());
        };
        match &step.action {
            Action::Navigate(path) => {
                let url = self.resolve(path);
                self.begin(&tab, index, deadline).await?;
                let document = tab.navigate(&url, deadline).await?;
                self.navigated(document);
            }
            Action::Reload(_) => {
                self.begin(&tab, index, deadline).await?;
                let document = tab.reload(deadline).await?;
                self.navigated(document);
            }
            Action::Back(_) => {
                self.begin(&tab, index, deadline).await?;
                match tab.back(deadline).await? {
                    Navigated::Document(document) => self.navigated(document),
                    Navigated::NoHistory => self.obstructed(Obstacle::NoHistory),
                }
            }
            action => self.act_on_element(&tab, index, action, deadline).await?,
        }
        Ok(())
    }

    fn resolve(&self, path: &str) -> String {
        url::Url::parse(&self.plan.url)
            .and_then(|base| base.join(path))
            .map_or_else(|_| path.to_owned(), String::from)
    }

    /// Arms the watch for the negatives ahead and marks the action's beginning.
    async fn begin(&mut self, tab: &Tab, index: usize, deadline: Instant) -> Result<(), ReadError> {
        let negatives = self.negatives_after(index);
        // The old watch goes first: its documents stop reporting.
        self.watch = None;
        if !negatives.is_empty() {
            self.watch = Some(Watch::arm(tab, &negatives, self.recorder.actions() + 1, self.reading(deadline)).await?);
        }
        self.armed = negatives;
        self.recorder.action(&self.criterion);
        Ok(())
    }

    async fn act_on_element(
        &mut self,
        tab: &Tab,
        index: usize,
        action: &Action,
        deadline: Instant,
    ) -> Result<(), ReadError> {
        let mut pause = FIRST_PAUSE;
        let mut begun = false;
        loop {
            let tried = self.try_once(tab, index, action, &mut begun, deadline).await;
            let (probe, fact) = match tried {
                Ok(tried) => tried,
                Err(error) if error.retryable() && !begun && Instant::now() < deadline => {
                    self.pause(pause, deadline).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            // The pointer was stopped before anything happened: the page moved under it. Look again.
            let missed = !matches!(action, Action::Drag(_)) && fact.received.as_ref().is_some_and(|r| !r.own);
            let again = (!fact.dispatched && fact.obstacle.is_none()) || missed;
            if !again || Instant::now() >= deadline {
                if !begun {
                    self.begin(tab, index, deadline).await?;
                }
                self.acted(probe, fact);
                return Ok(());
            }
            self.pause(pause, deadline).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Looks once, and acts when the action can be done.
    async fn try_once(
        &mut self,
        tab: &Tab,
        index: usize,
        action: &Action,
        begun: &mut bool,
        deadline: Instant,
    ) -> Result<(Option<Probe>, ActionFact), ReadError> {
        let (Some(locator), Some(needs)) = (action.locator(), Needs::of(action)) else {
            // A key for whatever has the focus.
            self.begin_once(tab, index, begun, deadline).await?;
            let fact = match action {
                Action::Press(press) => tab.press(None, &press.key, deadline).await?,
                _ => ActionFact::default(),
            };
            return Ok((None, fact));
        };
        let scroll = needs.visible || needs.stable;
        let (probe, on) = self.find(tab, locator, needs, scroll, deadline).await?;
        let Some(on) = on else {
            return Ok((Some(probe), ActionFact::default()));
        };
        let (on, to) = match action {
            Action::Drag(drag) => match self.ends(tab, drag, needs, on, deadline).await? {
                Ok((from, to)) => (from, Some(to)),
                Err(probe) => return Ok((Some(probe), ActionFact::default())),
            },
            _ => (on, None),
        };
        self.begin_once(tab, index, begun, deadline).await?;
        let fact = self
            .perform(tab, action, &on, to.as_ref(), self.reading(deadline))
            .await?;
        Ok((Some(probe), fact))
    }

    async fn begin_once(
        &mut self,
        tab: &Tab,
        index: usize,
        begun: &mut bool,
        deadline: Instant,
    ) -> Result<(), ReadError> {
        if !*begun {
            self.begin(tab, index, deadline).await?;
            *begun = true;
        }
        Ok(())
    }

    /// Sends the input of an action.
    async fn perform(
        &self,
        tab: &Tab,
        action: &Action,
        on: &Target,
        to: Option<&Target>,
        deadline: Instant,
    ) -> Result<ActionFact, ReadError> {
        let (element, at) = (&on.element, on.at);
        Ok(match action {
            Action::Click(click) => {
                let how = ClickHow {
                    count: click.count,
                    button: click.button,
                    modifiers: &click.modifiers,
                };
                tab.click(element, at, how, deadline).await?
            }
            Action::Fill(v) => tab.fill(element, &v.value, deadline).await?,
            Action::Type(v) => tab.type_text(element, &v.value, deadline).await?,
            Action::Press(p) => tab.press(Some(element), &p.key, deadline).await?,
            Action::Check(_) => tab.check(element, at, true, deadline).await?,
            Action::Uncheck(_) => tab.check(element, at, false, deadline).await?,
            Action::Hover(_) => tab.hover(element, at, deadline).await?,
            Action::Scroll(_) => tab.scroll(element, deadline).await?,
            Action::Select(select) => {
                let options: Vec<&str> = select
                    .option
                    .iter()
                    .chain(&select.options)
                    .map(String::as_str)
                    .collect();
                tab.select(element, &options, deadline).await?
            }
            Action::Upload(upload) => {
                let files: Vec<_> = upload.files.iter().map(|file| self.folder.join(file)).collect();
                if files.iter().any(|file| !file.is_file()) {
                    return Ok(ActionFact {
                        obstacle: Some(Obstacle::NoFile),
                        ..ActionFact::default()
                    });
                }
                // Where the browser sees other paths than we do, these are the ones that it sees.
                let files = (self.stage_files)(&files).unwrap_or(files);
                tab.upload(element, at, &files, deadline).await?
            }
            Action::Drag(_) => match to {
                Some(to) => tab.drag(element, at, &to.element, to.at, deadline).await?,
                None => ActionFact::default(),
            },
            Action::Navigate(_) | Action::Reload(_) | Action::Back(_) | Action::Wait(_) | Action::Expect(_) => {
                ActionFact::default()
            }
        })
    }

    /// The element on which the action can be done now, if there is one. It is scrolled to, unless it is to stay where it is.
    async fn find(
        &self,
        tab: &Tab,
        locator: &Locator,
        needs: Needs,
        scroll: bool,
        deadline: Instant,
    ) -> Result<(Probe, Option<Target>), ReadError> {
        let mut look = Look {
            layout: needs.visible || needs.hit || needs.stable,
            scroll,
            stable: needs.stable,
            acts: true,
            ..Look::default()
        };
        let reading = self.reading(deadline);
        let mut sight = page::look(tab, locator, &look, reading).await?;
        if ready(locator, &sight.probe, needs).err() == Some(ReasonDetail::VisibilityUndecided) {
            look.proof = Proof::IfNeeded;
            sight = page::look(tab, locator, &look, reading).await?;
        }
        let found = ready(locator, &sight.probe, needs).ok().and_then(|element| {
            let index = sight.probe.elements.iter().position(|e| std::ptr::eq(e, element))?;
            Some((index, element.layout.hit.as_ref().map(|hit| (hit.x, hit.y))))
        });
        let target = match found {
            Some((index, at)) => Some(Target {
                element: sight.handle(tab, index, reading).await?,
                at,
            }),
            None => None,
        };
        Ok((sight.probe, target))
    }

    /// The two ends of a drag, at points of one and the same viewport. Where both cannot be in view at once, the second has no point: it
    /// is scrolled to while the button is held.
    async fn ends(
        &self,
        tab: &Tab,
        drag: &Drag,
        needs: Needs,
        from: Target,
        deadline: Instant,
    ) -> Result<Result<(Target, Target), Probe>, ReadError> {
        let needs_to = Needs::of_target(needs);
        if let (_, Some(to)) = self.find(tab, &drag.to, needs_to, false, deadline).await? {
            return Ok(Ok((from, to)));
        }
        let (probe, to) = self.find(tab, &drag.to, needs_to, true, deadline).await?;
        let Some(to) = to else {
            return Ok(Err(probe));
        };
        if let (_, Some(from)) = self.find(tab, &drag.locator, needs, false, deadline).await? {
            return Ok(Ok((from, to)));
        }
        let (probe, from) = self.find(tab, &drag.locator, needs, true, deadline).await?;
        Ok(match from {
            Some(from) => Ok((from, Target { at: None, ..to })),
            None => Err(probe),
        })
    }

    fn acted(&mut self, probe: Option<Probe>, fact: ActionFact) {
        let fact = ActionFact {
            action: self.recorder.actions(),
            dialogs: self.context.dialogs(),
            ..fact
        };
        let mut facts: Vec<Fact> = probe.into_iter().map(Fact::Probe).collect();
        facts.push(Fact::Action(fact));
        self.record(facts);
    }

    /// Records what document a navigation brought.
    fn navigated(&mut self, mut document: DocumentFact) {
        match self.guards_word(&document) {
            Some(GuardReason::UpstreamUnreachable) => document.unreachable = true,
            // What the browser shows then is the guard's own page, not the app's.
            Some(GuardReason::UpstreamMalformed | GuardReason::UpstreamAborted) => {
                document.status = None;
                document.error = Some(Untrusted::new("net::ERR_EMPTY_RESPONSE"));
            }
            _ => {}
        }
        let fact = ActionFact {
            dispatched: true,
            acknowledged: true,
            document: Some(document),
            ..ActionFact::default()
        };
        self.acted(None, fact);
    }

    /// What the guard says against the last request for this document.
    fn guards_word(&mut self, document: &DocumentFact) -> Option<GuardReason> {
        let since = self.recorder.mark(false).since;
        let record = self.recorder.record();
        let guarded = record
            .events
            .iter()
            .rev()
            .filter(|e| e.seq >= since)
            .find_map(|e| match &e.what {
                Happening::Guard(g) if g.ended => {
                    let named = g.url == document.url.raw() || g.url == document.requested.raw() || g.tunnelled;
                    named.then_some(g.reason)
                }
                _ => None,
            });
        guarded.flatten()
    }

    fn obstructed(&mut self, obstacle: Obstacle) {
        self.acted(
            None,
            ActionFact {
                obstacle: Some(obstacle),
                ..ActionFact::default()
            },
        );
    }

    /// Records that the tab for a step never came.
    pub(super) fn no_tab(&mut self, acts: bool) {
        if acts {
            self.recorder.action(&self.criterion);
        }
        self.obstructed(Obstacle::NoPopup);
    }

    pub(super) fn record(&mut self, facts: Vec<Fact>) {
        let observations = facts
            .into_iter()
            .map(|fact| self.recorder.observe(&self.criterion, fact))
            .collect();
        self.recorder.keep(observations);
    }
}
