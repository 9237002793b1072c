//! Apps in a lane of their own: what they see, what they reach, what they leave, and how they end.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use jurat_core::confinement::LayerState;
use jurat_core::contract::{Network, ReadyWhen};
use jurat_core::observation::{EndedBy, HttpFailure};
use jurat_guard::app::{App, AppLimits, AppSpec, NotReady, StartError, find_program, get, loopback_addresses};
use jurat_guard::supervise::{Ownership, Supervisor};

/// Nothing here takes this long; it turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);
const PORT: u16 = 4173;
const AUTHORITY: &str = "127.0.0.1:4173";

/// An app that does what it is asked to, and says what came of it: `/do?PYTHON` evaluates an expression.
const SERVER: &str = r#"
import http.server, os, socket, subprocess, sys, threading, time, urllib.parse

def attempt(what):
    try:
        return str(what())
    except Exception as error:
        return "refused: " + type(error).__name__

def read(path):
    return attempt(lambda: open(path).read())

def write(path, size=1):
    return attempt(lambda: open(path, "w").write("x" * size))

def reach(port):
    return attempt(lambda: socket.create_connection(("127.0.0.1", port), 2) and "reached")

def daemon(seconds):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", seconds])
        os._exit(0)
    return "started"

def hoard(mib):
    block = []
    for _ in range(mib):
        block.append(bytearray(os.urandom(1)) * (1 << 20))
    return "kept"

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        status = {"/missing": 404, "/broken": 500}.get(path, 200)
        body = "hello" if path != "/do" else attempt(lambda: eval(urllib.parse.unquote(query)))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words):
        pass

port = int(sys.argv[1])
if len(sys.argv) > 2:
    exec(sys.argv[2])
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
print("listening on", port, flush=True)
server.serve_forever()
"#;

struct Bench {
    folder: tempfile::TempDir,
    base: tempfile::TempDir,
    spec: AppSpec,
}

fn python() -> PathBuf {
    let path = OsString::from(format!("/usr/bin:/usr/local/bin:{}", std::env::var("PATH").unwrap()));
    find_program("python3", &path, Path::new("/")).unwrap()
}

/// An app that listens at 4173; `first` runs before it listens.
fn bench(first: &str) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.py"), SERVER).unwrap();
    let spec = AppSpec {
        program: python(),
        args: ["app.py", "4173", first].map(OsString::from).to_vec(),
        env: Vec::new(),
        folder: folder.path().to_owned(),
        writable: false,
        network: Network::None,
        addresses: loopback_addresses("127.0.0.1", PORT),
        wanted: None,
        limits: AppLimits::default(),
        home: std::env::var_os("HOME").map(PathBuf::from),
        lane: true,
    };
    Bench {
        folder,
        base: tempfile::tempdir().unwrap(),
        spec,
    }
}

impl Bench {
    async fn start(&self) -> App {
        let supervisor = Supervisor::new(Ownership::Marked).unwrap();
        App::start(&supervisor, &self.spec, self.base.path()).await.unwrap()
    }

    async fn ready(&self) -> App {
        let mut app = self.start().await;
        let ready = app.ready(&healthy(), AUTHORITY, Instant::now() + PATIENCE).await;
        assert!(ready.is_ok(), "{ready:?}: {:?}", app.tail());
        app
    }
}

fn healthy() -> ReadyWhen {
    ReadyWhen::Http {
        path: "/health".into(),
        status: 200,
    }
}

/// What the app says came of it.
async fn does(app: &App, expression: &str) -> String {
    let path = format!("/do?{}", expression.replace(' ', "%20").replace('"', "%22"));
    let (mut stream, _) = app.dialler().dial(PATIENCE).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: {AUTHORITY}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    answer
        .split_once("\r\n\r\n")
        .map(|(_, body)| body.to_owned())
        .unwrap_or_default()
}

/// Processes whose command line has this word.
fn alive(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|b| *b == 0).any(|part| part == word.as_bytes())
    })
    .count()
}

#[tokio::test]
async fn an_app_is_reached_from_outside_and_listens_nowhere_on_the_host() {
    let bench = bench("");
    let app = bench.ready().await;
    for layer in ["app_lane", "app_network", "app_files"] {
        let found = app.layers().iter().find(|l| l.name == layer).unwrap();
        assert_eq!(found.state, LayerState::Enforced, "{found:?}");
    }
    let deadline = Instant::now() + PATIENCE;
    let health = get(&app.dialler(), AUTHORITY, "/health", deadline).await;
    assert_eq!(
        (health.status, health.failure, health.body_bytes, health.whole),
        (Some(200), None, 5, true)
    );
    let missing = get(&app.dialler(), AUTHORITY, "/missing", deadline).await;
    assert_eq!((missing.status, missing.failure), (Some(404), None));
    let before = app.listeners(true).unwrap();
    assert_eq!(before.len(), 1, "{before:?}");
    assert_eq!(before[0].address, AUTHORITY);
    assert!(before[0].pid.is_some());
    assert_eq!(app.listeners(true).unwrap(), before, "the same one listens");
    // More connections than one visit of the child makes.
    for _ in 0..80 {
        let (stream, at) = app.dialler().dial(PATIENCE).await.unwrap();
        assert_eq!(at.to_string(), AUTHORITY);
        drop(stream);
    }
    let dialler = app.dialler();
    let ended = app.end().await;
    assert_eq!(
        (ended.fact.by, ended.fact.code, ended.fact.was_ready),
        (EndedBy::Jurat, None, true)
    );
    assert_eq!(ended.fact.processes_left, 0);
    let log = String::from_utf8(ended.log.unwrap()).unwrap();
    assert!(log.contains("listening on 4173"), "{log}");
    let after = get(&dialler, AUTHORITY, "/health", Instant::now() + PATIENCE).await;
    assert_eq!(after.failure, Some(HttpFailure::Refused), "nobody listens any more");
    assert_eq!(
        fs::read_dir(bench.base.path()).unwrap().count(),
        0,
        "no private folder is left"
    );
}

#[tokio::test]
async fn two_apps_have_the_same_port_at_once() {
    let (one, two) = (bench("NAME = 'one'"), bench("NAME = 'two'"));
    let (one_app, two_app) = tokio::join!(one.ready(), two.ready());
    assert_eq!(does(&one_app, "NAME").await, "one");
    assert_eq!(does(&two_app, "NAME").await, "two");
    assert_ne!(one_app.listeners(true), two_app.listeners(true));
    tokio::join!(one_app.end(), two_app.end());
}

#[tokio::test]
async fn credentials_of_the_host_are_not_there_and_its_programs_are() {
    let home = tempfile::tempdir().unwrap();
    for name in [
        ".ssh/id",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".npmrc",
        ".netrc",
        ".docker/config.json",
        "notes",
    ] {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "canary-4711").unwrap();
    }
    let mut bench = bench("");
    bench.spec.home = Some(home.path().to_owned());
    bench.spec.env = vec![("GREETING".into(), "hi".into())];
    let app = bench.ready().await;
    for hidden in [
        ".ssh/id",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".npmrc",
        ".netrc",
        ".docker/config.json",
    ] {
        let path = home.path().join(hidden);
        let said = does(&app, &format!("read('{}')", path.display())).await;
        assert_eq!(said, "refused: FileNotFoundError", "{hidden}");
    }
    // The twin: what is not hidden can be read.
    let said = does(&app, &format!("read('{}')", home.path().join("notes").display())).await;
    assert_eq!(said, "canary-4711");
    for secret in ["/etc/shadow", "/etc/gshadow"] {
        let said = does(&app, &format!("read('{secret}')")).await;
        assert!(said.starts_with("refused") || said.is_empty(), "{secret}: {said}");
    }
    assert!(does(&app, "read('/etc/passwd')").await.contains("root"));
    let environment = does(&app, "sorted(os.environ)").await;
    assert!(
        environment.contains("GREETING") && environment.contains("'PATH'"),
        "{environment}"
    );
    assert!(!environment.contains("CARGO"), "{environment}");
    assert_eq!(does(&app, "os.environ['HOME']").await, "/home/jurat");
    assert_eq!(does(&app, "write('/home/jurat/x')").await, "1", "its home is its own");
    assert_eq!(does(&app, "write('/tmp/x')").await, "1");
    assert!(!Path::new("/tmp/x").exists());
    assert_eq!(
        does(&app, "len([p for p in os.listdir('/proc') if p.isdigit()]) < 8").await,
        "True"
    );
    app.end().await;
}

#[tokio::test]
async fn the_hosts_loopback_is_reached_only_where_the_contract_says_so() {
    let canary = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = canary.local_addr().unwrap().port();
    let bench = bench("");
    let app = bench.ready().await;
    assert_eq!(
        does(&app, &format!("reach({port})")).await,
        "refused: ConnectionRefusedError"
    );
    assert_eq!(does(&app, &format!("reach({PORT})")).await, "reached", "its own it can");
    app.end().await;
    canary.set_nonblocking(true).unwrap();
    assert!(canary.accept().is_err(), "nothing came");

    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut open = self::bench("");
    open.spec.network = Network::Host;
    open.spec.args[1] = free.to_string().into();
    open.spec.addresses = loopback_addresses("127.0.0.1", free);
    let app = open.ready().await;
    assert_eq!(does(&app, &format!("reach({port})")).await, "reached");
    let layer = app.layers().iter().find(|l| l.name == "app_network").unwrap();
    assert_eq!(layer.state, LayerState::Absent);
    app.end().await;

    // On the host's network another process may have the port already.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    open.spec.addresses = vec![taken.local_addr().unwrap()];
    let supervisor = Supervisor::new(Ownership::Marked).unwrap();
    open.spec.lane = false;
    let error = App::start(&supervisor, &open.spec, open.base.path()).await.unwrap_err();
    assert!(matches!(error, StartError::PortTaken(_)), "{error}");
}

#[tokio::test]
async fn its_folder_is_read_only_or_a_private_copy() {
    let mut bench = bench("");
    let app = bench.ready().await;
    assert!(does(&app, "write('made')").await.starts_with("refused"), "read-only");
    assert!(does(&app, "write('/etc/made')").await.starts_with("refused"));
    app.end().await;
    bench.spec.writable = true;
    let app = bench.ready().await;
    assert_eq!(does(&app, "write('made')").await, "1");
    assert_eq!(does(&app, "read('made')").await, "x");
    assert!(does(&app, "write('/etc/made')").await.starts_with("refused"));
    app.end().await;
    assert!(
        !bench.folder.path().join("made").exists(),
        "the folder itself is as it was"
    );
    assert_eq!(fs::read_dir(bench.base.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_it_forked_is_gone_with_it() {
    let bench = bench("");
    let app = bench.ready().await;
    let word = format!("86371.{}", std::process::id());
    assert_eq!(does(&app, &format!("daemon('{word}')")).await, "started");
    let deadline = Instant::now() + PATIENCE;
    while alive(&word) == 0 {
        assert!(Instant::now() < deadline, "the daemon did not start");
        tokio::task::yield_now().await;
    }
    let ended = app.end().await;
    assert_eq!(ended.fact.processes_left, 0);
    assert_eq!(alive(&word), 0, "the daemon is gone");
}

#[tokio::test]
async fn its_end_is_told_at_once_with_its_status() {
    let bench = bench("");
    let app = bench.ready().await;
    let death = app.death();
    assert_eq!(death.now(), None);
    does(&app, "print('going down', flush=True) or os._exit(7)").await;
    assert_eq!(
        tokio::time::timeout(PATIENCE, death.wait()).await.unwrap(),
        EndedBy::Itself
    );
    let ended = app.end().await;
    assert_eq!((ended.fact.by, ended.fact.code), (EndedBy::Itself, Some(7)));
    let log = ended.fact.log.unwrap();
    assert!(log.tail.raw().contains("going down"), "{log:?}");
}

#[tokio::test]
async fn readiness_has_a_reason_when_it_does_not_come() {
    let soon = || Instant::now() + Duration::from_secs(1);
    // Ends before.
    let gone = bench("print('no database', flush=True); sys.exit(3)");
    let mut app = gone.start().await;
    let why = app
        .ready(&healthy(), AUTHORITY, Instant::now() + PATIENCE)
        .await
        .unwrap_err();
    assert_eq!(why, NotReady::Gone(EndedBy::Itself));
    let ended = app.end().await;
    assert_eq!((ended.fact.code, ended.fact.was_ready), (Some(3), false));
    assert!(ended.fact.log.unwrap().tail.raw().contains("no database"));
    // Never listens.
    let idle = bench("time.sleep(1000)");
    let mut app = idle.start().await;
    let why = app.ready(&healthy(), AUTHORITY, soon()).await.unwrap_err();
    assert!(
        matches!(&why, NotReady::Late(seen) if seen.contains("/health")),
        "{why:?}"
    );
    assert_eq!(app.end().await.fact.by, EndedBy::Jurat);
    // Answers otherwise.
    let ill = bench("");
    let mut app = ill.start().await;
    let broken = ReadyWhen::Http {
        path: "/broken".into(),
        status: 200,
    };
    let deadline = Instant::now() + Duration::from_secs(3);
    let why = app.ready(&broken, AUTHORITY, deadline).await.unwrap_err();
    assert!(matches!(&why, NotReady::Late(seen) if seen.contains("500")), "{why:?}");
    app.end().await;
}

#[tokio::test]
async fn a_line_of_its_log_says_that_it_is_ready() {
    let mut bench = bench("");
    bench.spec.wanted = Some("listening on 4173".into());
    let mut app = bench.start().await;
    let by_log = ReadyWhen::Log {
        log: "listening on 4173".into(),
    };
    app.ready(&by_log, AUTHORITY, Instant::now() + PATIENCE).await.unwrap();
    app.end().await;
    bench.spec.wanted = Some("listening on 4174".into());
    let mut app = bench.start().await;
    let never = ReadyWhen::Log {
        log: "listening on 4174".into(),
    };
    let why = app
        .ready(&never, AUTHORITY, Instant::now() + Duration::from_secs(1))
        .await
        .unwrap_err();
    assert!(matches!(&why, NotReady::Late(seen) if seen.contains("4174")), "{why:?}");
    app.end().await;
}

#[tokio::test]
async fn without_a_lane_it_is_supervised_and_its_layers_say_so() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut bench = bench("");
    bench.spec.lane = false;
    bench.spec.args[1] = free.to_string().into();
    bench.spec.addresses = loopback_addresses("127.0.0.1", free);
    let app = bench.ready().await;
    let layer = app.layers().iter().find(|l| l.name == "app_lane").unwrap();
    assert_eq!(layer.state, LayerState::Absent);
    assert_eq!(app.listeners(true).unwrap().len(), 1);
    let word = format!("86372.{}", std::process::id());
    does(&app, &format!("daemon('{word}')")).await;
    let ended = app.end().await;
    assert_eq!(ended.fact.processes_left, 0);
    assert_eq!(alive(&word), 0, "a daemon is gone here too");
}

#[tokio::test]
async fn more_memory_or_processes_than_its_bound_is_named() {
    let mut bench = bench("");
    bench.spec.limits = AppLimits {
        memory: 128 << 20,
        processes: 40,
        ..AppLimits::default()
    };
    let app = bench.ready().await;
    let bounded = app.layers().iter().find(|l| l.name == "app_resources").unwrap();
    if bounded.state != LayerState::Enforced {
        // No control group can be made here; the layer says so.
        assert!(!bounded.detail.is_empty());
        app.end().await;
        return;
    }
    // The twin: within its bounds it stays.
    assert_eq!(does(&app, "hoard(20)").await, "kept");
    let ended = app.end().await;
    assert_eq!((ended.fact.by, ended.fact.used.oom_kills), (EndedBy::Jurat, Some(0)));
    assert!(
        ended.fact.used.memory_peak.is_some_and(|peak| peak > 20 << 20),
        "{:?}",
        ended.fact.used
    );

    let app = bench.ready().await;
    let death = app.death();
    does(&app, "hoard(1000)").await;
    assert_eq!(
        tokio::time::timeout(PATIENCE, death.wait()).await.unwrap(),
        EndedBy::Memory
    );
    let ended = app.end().await;
    assert!(
        ended.fact.used.oom_kills.is_some_and(|kills| kills > 0),
        "{:?}",
        ended.fact.used
    );

    let app = bench.ready().await;
    let word = format!("86373.{}", std::process::id());
    let bomb = format!("[subprocess.Popen(['sleep', '{word}']) for _ in range(100)]");
    assert!(does(&app, &bomb).await.starts_with("refused"), "the bomb is held");
    let ended = app.end().await;
    assert!(
        ended.fact.used.forks_refused.is_some_and(|refused| refused > 0),
        "{:?}",
        ended.fact.used
    );
    assert_eq!((ended.fact.processes_left, alive(&word)), (0, 0));
}

#[tokio::test]
async fn more_disk_than_its_bound_ends_it() {
    let mut bench = bench("");
    bench.spec.writable = true;
    bench.spec.limits.disk = 16 << 20;
    let app = bench.ready().await;
    assert_eq!(does(&app, "write('little', 1 << 20)").await, "1048576");
    assert_eq!(app.death().now(), None);
    does(&app, "[write('much%d' % i, 8 << 20) for i in range(8)]").await;
    let death = app.death();
    assert_eq!(
        tokio::time::timeout(PATIENCE, death.wait()).await.unwrap(),
        EndedBy::Disk
    );
    app.end().await;
    assert_eq!(fs::read_dir(bench.base.path()).unwrap().count(), 0);
}
