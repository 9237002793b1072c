//! The connection against the real browser: a round trip, a crash, an end.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(target_os = "linux")]

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt, FdMapping};
use jurat_browser::cdp::protocol::{EventType, browser, page, runtime, target};
use jurat_browser::cdp::{CallErrorKind, Connection, Event, Filter, Limits, Message, Session, Subscription};
use jurat_browser::find::{Browser, Machine, search};
use jurat_browser::flags::{Launch, Sandbox};

/// The user that the browser runs as when the test is root: Chromium keeps its sandbox for every user but root.
const NOBODY: u32 = 65534;

struct Chromium {
    process: Child,
    connection: Connection,
    _profile: tempfile::TempDir,
}

impl Chromium {
    fn start() -> Self {
        let Browser { path, kind, .. } = search(&Machine, None).chosen().unwrap();
        let profile = tempfile::tempdir().unwrap();
        let launch = Launch {
            kind,
            headed: false,
            profile: profile.path().to_owned(),
            // Nothing listens on the discard port: what the browser asks for goes nowhere.
            guard_port: 9,
            sandbox: Sandbox::On,
            shm_bytes: None,
            window: (800, 600),
        };
        let (commands, to_browser) = std::io::pipe().unwrap();
        let (from_browser, answers) = std::io::pipe().unwrap();
        let mut command = Command::new(path);
        command.args(launch.arguments()).env_clear().env("HOME", profile.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(profile.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        let map = |fd: OwnedFd, child_fd| FdMapping {
            parent_fd: fd,
            child_fd,
        };
        command
            .fd_mappings(vec![map(commands.into(), 3), map(answers.into(), 4)])
            .unwrap();
        let process = command.spawn().unwrap();
        drop(command);
        let connection = Connection::open(to_browser.into(), from_browser.into(), Limits::default()).unwrap();
        Self {
            process,
            connection,
            _profile: profile,
        }
    }

    /// A page of its own context, with its events enabled.
    async fn page(&self) -> Session {
        let browser = self.connection.browser();
        let context = target::CreateBrowserContext {
            proxy_server: Some("http://127.0.0.1:9".to_owned()),
            proxy_bypass_list: Some("<-loopback>".to_owned()),
            ..Default::default()
        };
        let context = browser.call(&context, soon()).await.unwrap().browser_context_id;
        let create = target::CreateTarget {
            browser_context_id: Some(context),
            ..target::CreateTarget::new("about:blank")
        };
        let target_id = browser.call(&create, soon()).await.unwrap().target_id;
        let attach = target::AttachToTarget {
            flatten: Some(true),
            ..target::AttachToTarget::new(target_id)
        };
        let session = self
            .connection
            .session(browser.call(&attach, soon()).await.unwrap().session_id);
        let enables = (
            session.send(&page::Enable::default()),
            session.send(&runtime::Enable {}),
        );
        enables.0.wait(soon()).await.unwrap();
        enables.1.wait(soon()).await.unwrap();
        session
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

async fn next<E: EventType>(events: &mut Subscription) -> E {
    let wanted = async {
        while let Some(event) = events.next().await {
            if let Some(found) = event.message().and_then(Message::decode::<E>) {
                return found.unwrap();
            }
        }
        panic!("the connection closed before {}", E::METHOD);
    };
    tokio::time::timeout_at(soon().into(), wanted).await.expect(E::METHOD)
}

async fn open(session: &Session, html: &str) {
    let mut events = session.subscribe();
    let navigated = session
        .call(&page::Navigate::new(format!("data:text/html,{html}")), soon())
        .await
        .unwrap();
    assert_eq!(navigated.error_text, None);
    next::<page::LoadEventFired>(&mut events).await;
}

#[tokio::test]
async fn a_page_is_opened_read_and_photographed() {
    let chromium = Chromium::start();
    let version = chromium
        .connection
        .browser()
        .call(&browser::GetVersion {}, soon())
        .await
        .unwrap();
    assert!(version.product.contains("Chrome"), "{}", version.product);
    let session = chromium.page().await;
    open(
        &session,
        "<p id=t>hello</p><script>document.body.__proto__=null;document.title='a\\ud800b'</script>",
    )
    .await;

    let frame = session
        .call(&page::GetFrameTree {}, soon())
        .await
        .unwrap()
        .frame_tree
        .frame
        .id;
    let world = page::CreateIsolatedWorld {
        world_name: Some("w".into()),
        ..page::CreateIsolatedWorld::new(frame)
    };
    let world = session.call(&world, soon()).await.unwrap().execution_context_id;
    let read = runtime::Evaluate {
        context_id: Some(world),
        return_by_value: Some(true),
        ..runtime::Evaluate::new("[document.body.innerText, document.title]")
    };
    let answer = session.call(&read, soon()).await.unwrap().result.value.unwrap();
    assert_eq!(answer.get(), "[\"hello\",\"a\\ufffdb\"]");
    assert!(chromium.connection.stats().repaired_surrogates > 0);

    let picture = session.call(&page::CaptureScreenshot::default(), soon()).await.unwrap();
    assert!(picture.data.starts_with("iVBORw0KGgo"), "a PNG in base64");

    let gone = session
        .call(
            &runtime::Evaluate {
                context_id: Some(9999),
                ..read
            },
            soon(),
        )
        .await
        .unwrap_err();
    assert!(gone.context_gone(), "{gone}");
    assert!(chromium.connection.stats().complete());
}

#[tokio::test]
async fn a_crash_fails_what_waits_and_the_browser_goes_on() {
    let chromium = Chromium::start();
    let session = chromium.page().await;
    let never = runtime::Evaluate {
        await_promise: Some(true),
        ..runtime::Evaluate::new("new Promise(() => {})")
    };
    let waiting = session.send(&never);
    let mut events = session.subscribe();
    let crash = session.send(&page::Crash {});
    assert_eq!(
        waiting.wait(soon()).await.unwrap_err().kind(),
        CallErrorKind::TargetCrashed
    );
    assert_eq!(
        crash.wait(soon()).await.unwrap_err().kind(),
        CallErrorKind::TargetCrashed
    );
    next::<jurat_browser::cdp::protocol::inspector::TargetCrashed>(&mut events).await;
    let later = session.call(&runtime::Evaluate::new("1"), soon()).await.unwrap_err();
    assert_eq!(later.kind(), CallErrorKind::TargetCrashed);

    let other = chromium.page().await;
    open(&other, "<p>alive</p>").await;
}

#[tokio::test]
async fn a_closed_page_detaches_and_a_closed_browser_ends_the_stream() {
    let chromium = Chromium::start();
    let mut events = chromium.connection.subscribe(Filter::All);
    let session = chromium.page().await;
    let attached: target::AttachedToTarget = next(&mut events).await;
    assert_eq!(Some(&attached.session_id), session.id());
    let never = runtime::Evaluate {
        await_promise: Some(true),
        ..runtime::Evaluate::new("new Promise(() => {})")
    };
    let waiting = session.send(&never);
    let close = target::CloseTarget::new(attached.target_info.target_id);
    chromium.connection.browser().call(&close, soon()).await.unwrap();
    assert_eq!(
        waiting.wait(soon()).await.unwrap_err().kind(),
        CallErrorKind::SessionDetached
    );
    let gone = session.call(&runtime::Evaluate::new("1"), soon()).await.unwrap_err();
    assert_eq!(gone.kind(), CallErrorKind::SessionDetached);

    chromium
        .connection
        .browser()
        .call(&browser::Close {}, soon())
        .await
        .unwrap();
    let ended = async {
        while let Some(event) = events.next().await {
            if matches!(event, Event::Closed) {
                return;
            }
        }
    };
    tokio::time::timeout_at(soon().into(), ended).await.unwrap();
    assert!(events.next().await.is_none());
}
