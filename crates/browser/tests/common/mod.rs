//! A real browser over its pipe, behind a small forwarding proxy, before a site of the testkit.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used, clippy::expect_used)]

pub mod proxy;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt, FdMapping};
use jurat_browser::cdp::protocol::BackendNodeId;
use jurat_browser::context::{
    Arg, Browser, Context, ContextOptions, ElementHandle, EventReceiver, FrameRef, Seen, Tab, events,
};
use jurat_browser::find::{self, Kind, Machine};
use jurat_browser::flags::{Launch, Sandbox};
use jurat_core::contract::{Emulate, Viewport};
use jurat_core::observation::Happening;
use jurat_testkit::site::{Content, Route, Site, SiteSpec};

pub use proxy::Proxy;

/// The uid that a root test gives the browser, so that its sandbox stays on.
const NOBODY: u32 = 65534;

pub const BOTH: [Kind; 2] = [Kind::HeadlessShell, Kind::Full];

pub fn soon() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

/// A browser of the given kind; killed when dropped.
pub struct Live {
    pub browser: Browser,
    child: Child,
    _profile: tempfile::TempDir,
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Live {
    pub async fn start(kind: Kind) -> Self {
        let found = find::search(&Machine, None);
        let candidate = found
            .candidates
            .iter()
            .find(|c| c.found == Ok(kind))
            .expect("a browser of this kind");
        let profile = tempfile::tempdir().unwrap();
        let root = rustix::process::getuid().is_root();
        let launch = Launch {
            kind,
            headed: false,
            profile: profile.path().to_owned(),
            // Nobody listens there: what the browser does for itself goes nowhere.
            guard_port: 9,
            sandbox: Sandbox::On,
            shm_bytes: None,
            window: (800, 600),
        };
        let (to_read, to_write) = std::io::pipe().unwrap();
        let (from_read, from_write) = std::io::pipe().unwrap();
        let mut command = Command::new(&candidate.path);
        command
            .args(launch.arguments())
            .env_clear()
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if root {
            std::os::unix::fs::chown(profile.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        let mappings = vec![
            FdMapping {
                parent_fd: to_read.into(),
                child_fd: 3,
            },
            FdMapping {
                parent_fd: from_write.into(),
                child_fd: 4,
            },
        ];
        command.fd_mappings(mappings).unwrap();
        let child = command.spawn().unwrap();
        drop(command);
        let browser = Browser::connect(to_write.into(), from_read.into(), soon())
            .await
            .unwrap();
        Self {
            browser,
            child,
            _profile: profile,
        }
    }

    pub async fn open(&self, stage: &Stage) -> Open {
        self.open_as(
            stage,
            &Viewport {
                width: 800,
                height: 600,
                ..Viewport::desktop()
            },
            &Emulate::default(),
        )
        .await
    }

    pub async fn open_as(&self, stage: &Stage, viewport: &Viewport, emulate: &Emulate) -> Open {
        let (sender, events) = events();
        let origin = stage.site.origin();
        let options = ContextOptions {
            proxy_port: stage.proxy.port(),
            viewport,
            emulate,
            origin: &origin,
            events: sender,
        };
        let context = self.browser.new_context(options, soon()).await.unwrap();
        Open {
            context,
            events,
            seen: Vec::new(),
        }
    }
}

/// A site and the proxy before it.
pub struct Stage {
    pub site: Site,
    pub proxy: Proxy,
}

impl Stage {
    /// A site that serves these bodies at these paths.
    pub async fn pages(pages: &[(&str, &str)]) -> Self {
        let html = |body: &str| Route {
            body: Some(body.to_owned()),
            ..Route::default()
        };
        Self::routes(
            pages
                .iter()
                .map(|(path, body)| ((*path).to_owned(), html(body)))
                .collect(),
        )
        .await
    }

    pub async fn routes(routes: BTreeMap<String, Route>) -> Self {
        let site = Site::start(Content::default(), SiteSpec { routes }).await.unwrap();
        Self {
            site,
            proxy: Proxy::start().await,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.site.origin())
    }
}

/// An open context with what it has told so far.
pub struct Open {
    pub context: Context,
    pub events: EventReceiver,
    pub seen: Vec<Seen>,
}

impl Open {
    pub fn tab(&self) -> &Tab {
        self.context.main()
    }

    /// What has been told until now.
    pub fn happenings(&mut self) -> Vec<Happening> {
        while let Ok(seen) = self.events.try_recv() {
            self.seen.push(seen);
        }
        self.seen.iter().map(|seen| seen.what.clone()).collect()
    }

    /// Waits for something to be told.
    pub async fn wait_for(&mut self, what: impl Fn(&Happening) -> bool) -> Happening {
        if let Some(found) = self.happenings().into_iter().find(&what) {
            return found;
        }
        let wait = async {
            loop {
                let seen = self.events.recv().await.expect("the channel is open");
                self.seen.push(seen.clone());
                if what(&seen.what) {
                    return seen.what;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait)
            .await
            .expect("it happens")
    }
}

/// A handle of the first element that a selector finds in a frame.
pub async fn element_in(tab: &Tab, frame: &FrameRef, selector: &str) -> ElementHandle {
    let args = vec![Arg::Value(selector.into())];
    let found = tab
        .call_world_handle(frame, "(s) => document.querySelector(s)", args, soon())
        .await
        .unwrap();
    let object_id = found.object_id.unwrap_or_else(|| panic!("no {selector}"));
    ElementHandle {
        frame_id: frame.frame_id.clone(),
        session: frame.session.clone(),
        object_id,
        node: BackendNodeId(0),
    }
}

/// The same in the main frame.
pub async fn element(tab: &Tab, selector: &str) -> ElementHandle {
    element_in(tab, &tab.frames()[0], selector).await
}

/// What an expression gives in the main frame's isolated world, as text.
pub async fn eval(tab: &Tab, expression: &str) -> String {
    eval_in(tab, &tab.frames()[0], expression).await
}

/// What an expression gives in a frame's isolated world, as text.
pub async fn eval_in(tab: &Tab, frame: &FrameRef, expression: &str) -> String {
    tab.call_world(frame, format!("() => String({expression})"), Vec::new(), soon())
        .await
        .unwrap()
}

/// Waits until an expression gives a text in the main frame, whatever document it shows.
pub async fn until(tab: &Tab, expression: &str, wanted: &str) {
    let mut got = String::new();
    for _ in 0..500 {
        let function = format!("() => String({expression})");
        match tab
            .call_world::<String>(&tab.frames()[0], function, Vec::new(), soon())
            .await
        {
            Ok(text) if text == wanted => return,
            Ok(text) => got = text,
            Err(error) => assert!(error.retryable(), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{expression} stays {got:?}, not {wanted:?}");
}

/// Waits until the frames of a tab are as wanted.
pub async fn frames_until(tab: &Tab, wanted: impl Fn(&[FrameRef]) -> bool) -> Vec<FrameRef> {
    for _ in 0..500 {
        let frames = tab.frames();
        if wanted(&frames) {
            return frames;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("frames stay {:#?}", tab.frames());
}
