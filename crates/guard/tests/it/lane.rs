//! Lanes with a program in them that looks around and tries to get out.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jurat_core::confinement::{LayerState, Level};
use jurat_guard::lane::{self, GUARD_PORT, Lane, Order, Settings, Unavailable, Withheld};
use jurat_guard::supervise::{Ownership, Supervisor};

/// Nothing here takes this long; it turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that can open sockets, and what it runs first: `told(x)` sends a line to us.
const PYTHON: &str = "/usr/bin/python3";
const TELL: &str = "import os,socket,sys,time\ndef told(x): os.write(4,(str(x)+'\\n').encode())\n";

fn supervisor() -> Supervisor {
    Supervisor::new(Ownership::Marked).unwrap()
}

fn order() -> Order {
    Order {
        program: PYTHON.into(),
        listeners: 2,
        temporary: std::env::temp_dir(),
        display: Vec::new(),
    }
}

async fn start(level: Level, settings: &Settings, script: &str) -> Result<Lane, Unavailable> {
    let ground = lane::prepare(level, order(), settings).await?;
    assert_eq!((ground.level(), ground.guard_port()), (level, GUARD_PORT));
    let args: Vec<OsString> = vec!["-c".into(), format!("{TELL}{script}").into()];
    ground.start(&supervisor(), args).await
}

/// Runs a script there; gives the lane and what the script told before it closed its pipe.
async fn told(level: Level, settings: &Settings, script: &str) -> (Lane, Vec<String>) {
    let lane = start(level, settings, script).await.unwrap();
    let pipes = lane.take_pipes().unwrap();
    let mut text = String::new();
    let reading = tokio::task::spawn_blocking(move || {
        fs::File::from(pipes.from_browser).read_to_string(&mut text).unwrap();
        drop(pipes.to_browser);
        text
    });
    let text = tokio::time::timeout(PATIENCE, reading).await.unwrap().unwrap();
    let said = lane.stderr();
    assert!(!text.is_empty(), "it told nothing; it wrote: {said}");
    (lane, text.lines().map(str::to_owned).collect())
}

fn layer(lane: &Lane, name: &str) -> (LayerState, String) {
    let record = lane.record(Vec::new(), &[]);
    let found = record.layers.into_iter().find(|layer| layer.name == name).unwrap();
    (found.state, found.detail)
}

fn attempts(lane: &Lane) -> Vec<String> {
    let tripwire = lane.tripwire().unwrap();
    assert_eq!((tripwire.lost(), tripwire.alive()), (0, true));
    let all = tripwire.attempts().into_iter().map(|a| a.what);
    all.map(|w| {
        let name = w.name.map_or_else(String::new, |name| format!(" {}", name.raw()));
        format!("{} {} {}{name} x{}", w.protocol.as_str(), w.address, w.port, w.count)
    })
    .collect()
}

const BOTH: [Level; 2] = [Level::Lane, Level::Netns];

#[tokio::test]
async fn nothing_of_the_hosts_network_is_reached_and_every_try_is_seen() {
    for level in BOTH {
        let tcp = [
            TcpListener::bind("127.0.0.1:0").unwrap(),
            TcpListener::bind("[::1]:0").unwrap(),
        ];
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let ports = [&tcp[0], &tcp[1]].map(|l| l.local_addr().unwrap().port());
        let udp_port = udp.local_addr().unwrap().port();
        let script = format!(
            "def tcp(f,a):\n s=socket.socket(f);s.settimeout(5)\n try: s.connect(a);told('reached '+str(a))\n except OSError as e: told(e.errno)\n\
             tcp(socket.AF_INET,('127.0.0.1',{v4}))\ntcp(socket.AF_INET,('127.0.0.1',{v4}))\ntcp(socket.AF_INET6,('::1',{v6}))\n\
             tcp(socket.AF_INET,('8.8.8.8',443))\ntcp(socket.AF_INET6,('2001:db8::1',443))\n\
             u=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);u.sendto(b'x',('127.0.0.1',{udp_port}))\n\
             u=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);u.sendto(b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4leak\\7example\\0\\0\\1\\0\\1',('8.8.4.4',53))\n\
             u=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM);u.sendto(b'x',('2001:db8::2',5000))\ntold('done')\n",
            v4 = ports[0],
            v6 = ports[1],
        );
        let (lane, lines) = told(level, &Settings::default(), &script).await;
        assert_eq!(
            lines,
            ["111", "111", "111", "111", "111", "done"],
            "refused, each: {level}"
        );
        assert_eq!(
            attempts(&lane),
            [
                format!("tcp 127.0.0.1 {} x2", ports[0]),
                format!("tcp ::1 {} x1", ports[1]),
                "tcp 8.8.8.8 443 x1".to_owned(),
                "tcp 2001:db8::1 443 x1".to_owned(),
                format!("udp 127.0.0.1 {udp_port} x1"),
                "udp 8.8.4.4 53 leak.example x1".to_owned(),
                "udp 2001:db8::2 5000 x1".to_owned(),
            ],
            "{level}"
        );
        for listener in &tcp {
            listener.set_nonblocking(true).unwrap();
            assert!(listener.accept().is_err(), "{level}: the host was reached");
        }
        udp.set_nonblocking(true).unwrap();
        assert!(udp.recv(&mut [0; 8]).is_err(), "{level}: the host was reached");
        assert_eq!(lane.level(), level);
        assert_eq!(lane.end().await, 0);
    }
}

#[tokio::test]
async fn the_guards_listeners_are_there_and_are_no_attempt() {
    for level in BOTH {
        let script = "told(os.read(3,100).decode().strip())\n";
        let lane = start(level, &Settings::default(), "p=[int(x) for x in os.read(3,100).split()]\nfor x in p:\n s=socket.create_connection(('127.0.0.1',x));s.sendall(b'hello');told(s.recv(9).decode())\n")
            .await
            .unwrap();
        let _ = script;
        let listeners = lane.take_listeners();
        let ports: Vec<u16> = listeners.iter().map(|l| l.local_addr().unwrap().port()).collect();
        assert_eq!((ports.len(), ports[0]), (2, GUARD_PORT));
        let pipes = lane.take_pipes().unwrap();
        let line = format!("{} {}\n", ports[0], ports[1]);
        fs::File::from(pipes.to_browser).write_all(line.as_bytes()).unwrap();
        for listener in listeners {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let (stream, peer) = tokio::time::timeout(PATIENCE, listener.accept())
                .await
                .unwrap()
                .unwrap();
            assert!(peer.ip().is_loopback());
            stream.writable().await.unwrap();
            stream.try_write(b"welcome").unwrap();
            // Kept until the other side has read.
            stream.readable().await.unwrap();
        }
        let reading = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            fs::File::from(pipes.from_browser).read_to_string(&mut text).unwrap();
            text
        });
        assert_eq!(reading.await.unwrap(), "welcome\nwelcome\n");
        assert_eq!(attempts(&lane), Vec::<String>::new(), "{level}");
        assert_eq!(lane.end().await, 0);
    }
}

#[tokio::test]
async fn a_lane_has_nothing_that_it_does_not_need() {
    let script = "told(os.getuid());told(os.uname().nodename)\n\
                  told(sorted(os.environ))\n\
                  told([l.split()[1] for l in open('/proc/self/status') if l[:4]=='CapE' or l[:9]=='NoNewPriv'])\n\
                  told([p for p in ['/etc/passwd','/root','/bin','/usr/bin','/usr/bin/xdg-open','/sys','/var/run','/run/dbus','/tmp/.X11-unix','/home/jurat','/usr/share'] if os.path.exists(p)])\n\
                  told(len([p for p in os.listdir('/proc') if p.isdigit()]))\n\
                  def w(p):\n try: open(p+'/x','w').close();return True\n except OSError: return False\n\
                  told([p for p in ['/usr/lib','/usr/share','/files','/etc','/tmp','/home/jurat','/dev/shm'] if w(p)])\n\
                  told(sorted(os.listdir('/sys/class/net')) if os.path.exists('/sys') else socket.if_nameindex())\n";
    let (lane, lines) = told(Level::Lane, &Settings::default(), script).await;
    assert_eq!(lines[0..2], ["1000", "jurat"]);
    assert!(!lines[2].contains("JURAT") && lines[2].contains("HOME"), "{}", lines[2]);
    assert_eq!(lines[3], "['0000000000000000', '1']");
    // The test's own program brings the folder that it lies in, and nothing else of that folder.
    assert_eq!(lines[4], "['/usr/bin', '/home/jurat', '/usr/share']");
    assert_eq!(lines[5], "2", "the lane's init and the program");
    assert!(
        lines[6] == "['/etc', '/tmp', '/home/jurat', '/dev/shm']" || lines[6] == "['/tmp', '/home/jurat', '/dev/shm']",
        "{}",
        lines[6]
    );
    assert_eq!(lines[7], "[(1, 'lo')]");
    let record = lane.record(vec!["x".to_owned()], &[]);
    let names: Vec<&str> = record.namespaces.keys().map(String::as_str).collect();
    for name in ["ipc", "mnt", "net", "pid", "user", "uts"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(record.not_enforced, ["resources"]);
    let end = record.lane_argv.iter().position(|word| word == "--").unwrap();
    assert_eq!(record.lane_argv[end + 1], PYTHON);
    assert_eq!(lane.end().await, 0);
}

#[tokio::test]
async fn files_are_staged_where_the_program_sees_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a b.txt");
    fs::write(&file, "content").unwrap();
    for level in BOTH {
        let lane = start(
            level,
            &Settings::default(),
            "told(open(os.read(3,4096).decode().strip()).read())\n",
        )
        .await
        .unwrap();
        let staged = lane.stage_files(std::slice::from_ref(&file)).unwrap();
        assert_eq!(staged[0].starts_with("/files"), level == Level::Lane);
        let pipes = lane.take_pipes().unwrap();
        let line = format!("{}\n", staged[0].display());
        fs::File::from(pipes.to_browser).write_all(line.as_bytes()).unwrap();
        let mut text = String::new();
        fs::File::from(pipes.from_browser).read_to_string(&mut text).unwrap();
        assert_eq!(text, "content\n", "{level}");
        assert!(lane.stage_files(&[PathBuf::from("/nonexistent")]).is_err());
        lane.close().await;
    }
}

#[tokio::test]
async fn what_leaves_its_session_ends_with_the_lane() {
    let script = "for i in range(3):\n if os.fork()==0:\n  os.setsid()\n  if os.fork()==0:\n   told('up');os.close(4);time.sleep(9999)\n  os._exit(0)\nos.close(4);time.sleep(9999)\n";
    let (lane, lines) = told(Level::Lane, &Settings::default(), script).await;
    assert_eq!(lines.len(), 3);
    let inside = lane.record(Vec::new(), &[]).namespaces["pid"];
    let members = || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        let link = format!("pid:[{inside}]");
        all.filter(|p| fs::read_link(p.path().join("ns/pid")).is_ok_and(|l| l.as_os_str() == link.as_str()))
            .count()
    };
    assert!(members() >= 5, "init, the program and three daemons");
    let begun = Instant::now();
    assert_eq!(lane.end().await, 0);
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(members(), 0);
}

#[tokio::test]
async fn each_missing_piece_lowers_the_level_and_says_what_to_do() {
    let why = async |level, settings: &Settings| start(level, settings, "").await.unwrap_err().why;
    let with = |bwrap: &Path| Settings {
        bwrap: Some(bwrap.to_owned()),
        ..Settings::default()
    };
    let said = why(Level::Lane, &with(Path::new("/nonexistent/bwrap"))).await;
    assert!(said.contains("apt-get install bubblewrap"), "{said}");

    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let fake = |name: &str, words: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho \"{words}\" >&2\nexit 1\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let said = why(Level::Lane, &with(&fake("old", "bwrap: Unknown option --size"))).await;
    assert!(said.contains("too old") && said.contains("--size"), "{said}");
    let said = why(
        Level::Lane,
        &with(&fake("refused", "bwrap: No permissions to create new namespace")),
    )
    .await;
    assert!(said.contains("user namespaces"), "{said}");
    let said = why(Level::Lane, &with(&fake("silent", ""))).await;
    assert!(said.contains("without a word"), "{said}");

    let withheld = |withheld| Settings {
        withheld,
        ..Settings::default()
    };
    let none = withheld(Withheld {
        user_namespaces: true,
        ..Withheld::default()
    });
    for level in BOTH {
        assert!(why(level, &none).await.contains("withheld"));
    }

    let no_packets = withheld(Withheld {
        packets: true,
        ..Withheld::default()
    });
    let (lane, _) = told(Level::Lane, &no_packets, "told(1)").await;
    assert_eq!(lane.level(), Level::Netns, "a lane without its tripwire is none");
    assert_eq!(layer(&lane, "tripwire").0, LayerState::Failed);
    assert_eq!(layer(&lane, "lane").0, LayerState::Absent);
    assert!(
        lane.record(Vec::new(), &[])
            .not_enforced
            .contains(&"tripwire".to_owned())
    );
    lane.close().await;

    let no_routes = withheld(Withheld {
        routes: true,
        ..Withheld::default()
    });
    let script = "s=socket.socket()\ntry: s.connect(('8.8.8.8',443))\nexcept OSError as e: told(e.errno)\n";
    let (lane, lines) = told(Level::Lane, &no_routes, script).await;
    assert_eq!(
        (lane.level(), lines[0].as_str()),
        (Level::Lane, "101"),
        "unreachable, and unseen"
    );
    assert_eq!(attempts(&lane), Vec::<String>::new());
    assert_eq!(layer(&lane, "any_address_local").0, LayerState::Failed);
    lane.close().await;
}

#[tokio::test]
async fn a_machine_that_has_all_says_so_and_one_without_says_what_it_has() {
    let probe = lane::probe(&order(), &Settings::default(), &supervisor()).await;
    assert_eq!(probe.level, Level::Lane, "{probe:?}");
    assert!(
        probe.levels.iter().all(|level| level.unavailable.is_none()),
        "{probe:?}"
    );
    let settings = Settings {
        bwrap: Some("/nonexistent/bwrap".into()),
        ..Settings::default()
    };
    let probe = lane::probe(&order(), &settings, &supervisor()).await;
    assert_eq!(probe.level, Level::Netns, "{probe:?}");
    assert!(probe.levels[0].unavailable.is_some());
}

#[tokio::test]
async fn root_in_a_netns_is_nobody() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let script = "told((os.getuid(),os.getgid(),os.getgroups()))\ntold([l.split()[1] for l in open('/proc/self/status') if l[:4]=='CapE'])\n";
    let (lane, lines) = told(Level::Netns, &Settings::default(), script).await;
    assert_eq!(lines, ["(65534, 65534, [])", "['0000000000000000']"]);
    lane.close().await;
}

/// This test's own program, where any user can run it.
fn for_all(folder: &Path) -> PathBuf {
    let copy = folder.join("tests");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    for path in [folder, &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    copy
}

#[test]
fn the_same_as_an_unprivileged_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = for_all(folder.path());
    let mut command = Command::new("/usr/bin/setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(["--exact", "--test-threads=1"])
        .args([
            "lane::nothing_of_the_hosts_network_is_reached_and_every_try_is_seen",
            "lane::the_guards_listeners_are_there_and_are_no_attempt",
            "lane::files_are_staged_where_the_program_sees_them",
            "lane::a_lane_has_nothing_that_it_does_not_need",
            "lane::each_missing_piece_lowers_the_level_and_says_what_to_do",
        ])
        .current_dir("/")
        .env_remove("NEXTEST");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("5 passed"), "{text}");
}

/// Not a test of its own: what the next one kills. It holds a lane open when it is told to.
#[tokio::test]
async fn held_open_to_be_killed() {
    let Ok(word) = std::env::var("JURAT_TEST_HOLD") else {
        return;
    };
    let script = format!("'{word}'\nif os.fork()==0:\n os.setsid()\n time.sleep(9999)\ntime.sleep(9999)\n");
    let _lane = start(Level::Lane, &Settings::default(), &script).await.unwrap();
    println!("up");
    std::future::pending::<()>().await;
}

/// Processes with `word` in their command line.
fn with_word(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    })
    .count()
}

#[test]
fn sigkill_at_any_moment_leaves_nothing() {
    for round in 0..12_u64 {
        let word = format!("held-{}-{round}", std::process::id());
        let mut held = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "lane::held_open_to_be_killed", "--nocapture"])
            .env("JURAT_TEST_HOLD", &word)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Moments from before bwrap to long after the program runs.
        std::thread::sleep(Duration::from_millis(round * 9));
        held.kill().unwrap();
        held.wait().unwrap();
        let begun = Instant::now();
        while with_word(&word) > 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(2),
                "round {round}: something lives on"
            );
            std::thread::yield_now();
        }
    }
}
