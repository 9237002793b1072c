//! The control: the same pages in a Chromium that nothing confines reach the outside, each what its route says.
//!
//! A route that a later Chromium no longer has would let its broken twin say nothing; here that is seen. Names are mapped
//! to loopback or to nothing by the browser's own resolver, so that none is asked for outside of the machine.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jurat_browser::cdp::protocol::{TargetId, browser, page, runtime as script, target};
use jurat_browser::cdp::{CallError, Connection, Limits, Session};
use jurat_testkit::case::Browser;
use jurat_testkit::escape::{Corpus, Route};
use jurat_testkit::outside::{Aim, DOMAIN, Outside};
use libtest_mimic::{Failed, Trial};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::harness::{executable, runtime};

/// How many pages are open at once.
const AT_ONCE: usize = 6;
/// How long a page is open at most; what it does at its end, it does then.
const OPEN: Duration = Duration::from_secs(10);
/// How long it has after that.
const AFTER: Duration = Duration::from_secs(20);
/// How long any call of the browser may take.
const CALL: Duration = Duration::from_secs(20);
/// What is not mapped.
const LOOPBACK: [&str; 9] = [
    "localhost",
    "localhost.",
    "*.localhost",
    "*.localhost.",
    "127.0.0.1",
    "127.0.0.2",
    "0.0.0.0",
    "::1",
    "::ffff:7f00:1",
];
/// Presses the button as soon as the page is there.
const PRESS: &str = "(() => {
  const press = () => document.getElementById('go').click();
  if (document.readyState === 'complete') press(); else addEventListener('load', press);
})()";

pub(super) fn trial(corpus: &Arc<Corpus>) -> Trial {
    let corpus = Arc::clone(corpus);
    Trial::test("escape::control::every_live_route_reaches_the_outside", move || {
        runtime().block_on(run(corpus))
    })
}

async fn run(corpus: Arc<Corpus>) -> Result<(), Failed> {
    let live: Vec<_> = corpus.live().cloned().collect();
    let count = live.len();
    let mut faults = Vec::new();
    for browser in [Browser::HeadlessShell, Browser::Chromium] {
        let live = live.iter().filter(|route| route.browser == browser).cloned().collect();
        faults.extend(on(browser, live, &corpus).await?);
    }
    if faults.is_empty() {
        return Ok(());
    }
    let faults = faults.join("\n  ");
    Err(format!("of {count} routes these did not reach what they should:\n  {faults}").into())
}

/// What is amiss with the routes of one browser.
async fn on(browser: Browser, live: Vec<Route>, corpus: &Arc<Corpus>) -> Result<Vec<String>, Failed> {
    let free = Arc::new(Free::start(browser).await?);
    let mut tries = JoinSet::new();
    let mut faults = Vec::new();
    for route in live {
        if tries.len() >= AT_ONCE {
            faults.extend(tries.join_next().await.transpose()?.flatten());
        }
        let (free, corpus) = (Arc::clone(&free), Arc::clone(corpus));
        tries.spawn(async move {
            let reached = reach(&free, &corpus, &route).await;
            reached.err().map(|fault| format!("{}: {fault}", route.name))
        });
    }
    while let Some(fault) = tries.join_next().await {
        faults.extend(fault?);
    }
    Arc::into_inner(free)
        .ok_or("the browser is still in use")?
        .stop()
        .await?;
    Ok(faults)
}

/// Opens a route's page, presses its button, and waits until it has reached what it should.
async fn reach(free: &Free, corpus: &Corpus, route: &Route) -> Result<(), String> {
    let outside = Outside::start(corpus.content(route), corpus.site(), Aim::Outside)
        .await
        .map_err(|e| e.to_string())?;
    let tab = free.open(&format!("{}/", outside.site().origin())).await;
    let tab = tab.map_err(|e| e.to_string())?;
    if tokio::time::timeout(OPEN, outside.reached(&route.reaches))
        .await
        .is_ok()
    {
        free.close(&tab).await;
        return Ok(());
    }
    let title = Free::title(&tab).await;
    free.close(&tab).await;
    tokio::time::timeout(AFTER, outside.reached(&route.reaches))
        .await
        .map_err(|_| {
            format!(
                "reached {:?} of {:?}; its title is {title}",
                outside.hits(),
                route.reaches
            )
        })
}

/// A browser without a proxy, a guard or a lane.
struct Free {
    connection: Connection,
    child: Child,
    _profile: tempfile::TempDir,
}

/// A page that is open.
struct Tab {
    target: TargetId,
    session: Session,
}

impl Free {
    async fn start(browser: Browser) -> Result<Self, Failed> {
        let profile = tempfile::tempdir()?;
        let mut child = Command::new("/bin/sh")
            // The pipe's descriptors are 3 and 4.
            .args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#, "sh"])
            .arg(executable(browser)?)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!(
                "--host-resolver-rules=MAP *.{DOMAIN} 127.0.0.1, MAP *.{DOMAIN}. 127.0.0.1, MAP * ~NOTFOUND{}",
                LOOPBACK.map(|name| format!(", EXCLUDE {name}")).concat()
            ))
            .args([
                "--remote-debugging-pipe",
                "--headless",
                "--no-sandbox",
                "--no-proxy-server",
                "--no-first-run",
                "--disable-gpu",
                "--disable-breakpad",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .env_clear()
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = stdin.zip(stdout).ok_or("the browser has no pipes")?;
        let connection = Connection::open(stdin.into_owned_fd()?, stdout.into_owned_fd()?, Limits::default())?;
        // Without it nothing is downloaded, and nothing asked for.
        let deny = browser::SetDownloadBehavior::new(browser::DownloadBehavior::Deny);
        connection.browser().call(&deny, Instant::now() + CALL).await?;
        // Nobody is there to be asked.
        let grant = browser::GrantPermissions::new(["backgroundFetch".to_owned()]);
        connection.browser().call(&grant, Instant::now() + CALL).await?;
        Ok(Self {
            connection,
            child,
            _profile: profile,
        })
    }

    /// A page, its button pressed with a user's gesture.
    async fn open(&self, url: &str) -> Result<Tab, CallError> {
        let by = Instant::now() + CALL;
        let browser = self.connection.browser();
        let target = browser
            .call(&target::CreateTarget::new("about:blank"), by)
            .await?
            .target_id;
        let attach = target::AttachToTarget {
            flatten: Some(true),
            ..target::AttachToTarget::new(&target)
        };
        let session = self.connection.session(browser.call(&attach, by).await?.session_id);
        session.call(&page::Navigate::new(url), by).await?;
        let press = script::Evaluate {
            user_gesture: Some(true),
            ..script::Evaluate::new(PRESS)
        };
        // A page that is left at once does not answer.
        drop(session.call(&press, by).await);
        Ok(Tab { target, session })
    }

    /// The page's title, which says what stopped it.
    async fn title(tab: &Tab) -> String {
        let read = script::Evaluate::new("document.title");
        match tab.session.call(&read, Instant::now() + CALL).await {
            Ok(answer) => answer.result.value.map(|v| v.get().to_owned()).unwrap_or_default(),
            Err(e) => e.to_string(),
        }
    }

    /// Closes the page, unless it has closed itself.
    async fn close(&self, tab: &Tab) {
        let close = target::CloseTarget::new(&tab.target);
        drop(self.connection.browser().call(&close, Instant::now() + CALL).await);
    }

    async fn stop(mut self) -> Result<(), Failed> {
        let by = Instant::now() + CALL;
        drop(self.connection.browser().call(&browser::Close {}, by).await);
        if tokio::time::timeout(CALL, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}
