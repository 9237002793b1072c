//! Processes that try to outlive their run, and processes that are none of ours.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use jurat_guard::supervise::{Ownership, Spawn, Supervised, Supervisor, User};
use rustix::process::geteuid;

/// Nothing here takes this long; it turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Gives each number `863dd` in `text` this process's own ending: another run of these tests must not be met.
fn own(text: &str) -> String {
    let mut parts = text.split("863");
    let first = parts.next().unwrap().to_owned();
    let pid = std::process::id();
    let rest = parts
        .map(|part| part.split_at(2))
        .map(|(number, rest)| format!("863{number}.{pid}{rest}"));
    first + &rest.collect::<String>()
}

fn shell(script: &str) -> Spawn {
    Spawn {
        program: PathBuf::from("/bin/sh"),
        args: vec![OsString::from("-c"), OsString::from(own(script))],
        env: vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))],
        cwd: PathBuf::from("/"),
        user: None,
        pipes: false,
        fds: Vec::new(),
        no_new_privs: true,
    }
}

fn supervisor() -> Supervisor {
    // The tests of one binary run beside each other.
    Supervisor::new(Ownership::Marked).unwrap()
}

async fn until(mut done: impl FnMut() -> bool, what: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        // Between two looks, so as not to starve what is looked at.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Processes whose command line has `word`, zombies left out.
fn named(word: &str) -> Vec<i32> {
    let word = own(word);
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line)
            .split('\0')
            .any(|argument| argument == word)
        {
            found.push(pid);
        }
    }
    found
}

#[tokio::test]
async fn words_exit_code_and_environment() {
    let mut spawn = shell("env; echo oops >&2; exit 7");
    spawn.env.push(("GIVEN".into(), "yes".into()));
    let child = supervisor().spawn(spawn).await.unwrap();
    let exit = child.exited().await.unwrap();
    assert_eq!((exit.code, exit.signal), (Some(7), None));
    until(
        || child.stderr().0 == "oops\n" && child.stdout().0.contains("GIVEN"),
        "its words",
    )
    .await;
    let (out, total) = child.stdout();
    assert_eq!(total, out.len() as u64);
    let mut names: Vec<_> = out
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    names.retain(|name| !["PWD", "_", "SHLVL", "OLDPWD"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "JURAT_TREE", "PATH"]);
    let ended = child.end().await;
    assert_eq!((ended.exit, ended.killed, ended.processes_left), (Some(exit), 0, 0));
}

#[tokio::test]
async fn a_flood_of_words_is_bounded() {
    let child = supervisor()
        .spawn(shell("head -c 3000000 /dev/zero | tr '\\0' x; printf END"))
        .await
        .unwrap();
    child.exited().await.unwrap();
    until(|| child.stdout().1 == 3_000_003, "all of its words").await;
    let (kept, _) = child.stdout();
    assert!(kept.len() <= 64 * 1024 && kept.ends_with("xEND"));
    child.end().await;
}

#[tokio::test]
async fn what_cannot_be_started() {
    let mut spawn = shell("");
    spawn.program = PathBuf::from("/nonexistent/browser");
    let error = supervisor().spawn(spawn).await.unwrap_err();
    assert_eq!(error.io().kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().contains("/nonexistent/browser"));
}

#[tokio::test]
async fn the_browser_pipe_is_on_three_and_four_and_nothing_else_is_inherited() {
    // A descriptor that some parent leaked to us: not close-on-exec.
    let leaked = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let mut spawn = shell("ls /proc/self/fd | tr '\\n' ' ' >&4; read line <&3; echo \"got $line\" >&4");
    spawn.pipes = true;
    let mut child = supervisor().spawn(spawn).await.unwrap();
    let pipes = child.take_pipes().unwrap();
    assert!(child.take_pipes().is_none());
    std::fs::File::from(pipes.to_browser).write_all(b"hello\n").unwrap();
    let mut text = String::new();
    std::fs::File::from(pipes.from_browser)
        .read_to_string(&mut text)
        .unwrap();
    let (fds, line) = text.split_once("got ").unwrap();
    // The one after 4 is the directory that ls reads.
    assert_eq!(
        fds.split_whitespace().collect::<Vec<_>>(),
        ["0", "1", "2", "3", "4", "5"],
        "leaked: {}",
        leaked.as_raw_fd()
    );
    assert_eq!(line, "hello\n");
    assert_eq!(child.end().await.processes_left, 0);
}

#[tokio::test]
async fn further_descriptors_are_where_they_were_asked_for() {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    let mut spawn = shell("echo here >&9");
    spawn.fds.push((write, 9));
    let child = supervisor().spawn(spawn).await.unwrap();
    let mut text = String::new();
    std::fs::File::from(read).read_to_string(&mut text).unwrap();
    assert_eq!(text, "here\n");
    child.end().await;
}

async fn ends_whole(child: Supervised, at_least: usize) {
    until(|| child.alive() >= at_least, "its children").await;
    let ended = child.end().await;
    assert!(ended.killed >= at_least, "{ended:?}");
    assert_eq!(ended.processes_left, 0, "{ended:?}");
    assert_eq!(ended.exit.and_then(|exit| exit.signal), Some(9), "{ended:?}");
    assert!(ended.took < Duration::from_secs(2), "{ended:?}");
}

#[tokio::test]
async fn children_that_ignore_signals_and_leave_their_group() {
    let script = "trap '' TERM HUP INT; sleep 86301 & setsid sleep 86302 & setsid sh -c 'sleep 86303; :' & wait";
    ends_whole(supervisor().spawn(shell(script)).await.unwrap(), 5).await;
    for word in ["86301", "86302", "86303"] {
        assert_eq!(named(word), Vec::<i32>::new());
    }
}

#[tokio::test]
async fn a_daemon_that_forked_twice_while_its_parent_lives() {
    let script = "(setsid sh -c '(sleep 86311 &) ; exit 0' &) ; sleep 86312";
    let child = supervisor().spawn(shell(script)).await.unwrap();
    until(|| named("86311").len() == 1 && named("86312").len() == 1, "the daemon").await;
    ends_whole(child, 2).await;
    assert_eq!((named("86311"), named("86312")), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_daemon_that_outlives_the_first_process() {
    let child = supervisor()
        .spawn(shell("setsid sh -c '(sleep 86321 &)'; exit 3"))
        .await
        .unwrap();
    assert_eq!(child.exited().await.unwrap().code, Some(3));
    until(|| child.alive() == 1, "the daemon to be an orphan").await;
    let ended = child.end().await;
    assert_eq!((ended.killed, ended.processes_left), (1, 0));
    assert_eq!(ended.exit.and_then(|exit| exit.code), Some(3));
    assert_eq!(named("86321"), Vec::<i32>::new());
}

#[tokio::test]
async fn a_process_that_keeps_forking() {
    let spawn = shell("n=0; while [ $n -lt 300 ]; do sleep 86331 & n=$((n+1)); done; wait");
    let child = supervisor().spawn(spawn).await.unwrap();
    // In the middle of it.
    until(|| child.alive() > 20, "some children").await;
    let ended = child.end().await;
    assert_eq!(ended.processes_left, 0, "{ended:?}");
    assert_eq!(named("86331"), Vec::<i32>::new());
}

#[tokio::test]
async fn stopped_processes_end_too() {
    let child = supervisor()
        .spawn(shell("sleep 86341 & kill -STOP $! $$; wait"))
        .await
        .unwrap();
    ends_whole(child, 2).await;
}

#[tokio::test]
async fn a_stranger_of_the_same_name_is_left_alone() {
    // A child of this test, not of the supervisor, with the same command line.
    let mut stranger = Command::new("/bin/sleep").arg(own("86351")).spawn().unwrap();
    let child = supervisor().spawn(shell("exec sleep 86351")).await.unwrap();
    until(|| named("86351").len() == 2, "both").await;
    ends_whole(child, 1).await;
    assert_eq!(named("86351"), [i32::try_from(stranger.id()).unwrap()]);
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test]
async fn two_trees_do_not_touch_each_other() {
    let supervisor = supervisor();
    let one = supervisor
        .spawn(shell("(setsid sleep 86361 &); sleep 86362"))
        .await
        .unwrap();
    let two = supervisor
        .spawn(shell("(setsid sleep 86363 &); sleep 86364"))
        .await
        .unwrap();
    let all = ["86361", "86362", "86363", "86364"];
    until(|| all.iter().all(|word| named(word).len() == 1), "both trees").await;
    assert_eq!(one.end().await.processes_left, 0);
    assert_eq!(all.map(|word| named(word).len()), [0, 0, 1, 1]);
    assert_eq!(two.end().await.processes_left, 0);
}

#[tokio::test]
async fn dropping_kills() {
    let child = supervisor()
        .spawn(shell("setsid sleep 86371 & sleep 86372"))
        .await
        .unwrap();
    until(|| child.alive() >= 3, "its children").await;
    drop(child);
    assert_eq!((named("86371"), named("86372")), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn root_becomes_nobody() {
    if !geteuid().is_root() {
        return;
    }
    let mut spawn = shell("id -u; id -g; id -G; ulimit -c; umask; cat /proc/self/status | grep NoNewPrivs");
    spawn.user = Some(User::NOBODY);
    let child = supervisor().spawn(spawn).await.unwrap();
    child.exited().await.unwrap();
    until(|| child.stdout().0.contains("NoNewPrivs"), "its words").await;
    assert_eq!(child.stdout().0, "65534\n65534\n65534\n0\n0077\nNoNewPrivs:\t1\n");
    child.end().await;
}

#[tokio::test]
async fn repeated_runs_leave_no_descriptor_and_no_zombie() {
    let supervisor = supervisor();
    let once = || async {
        let mut spawn = shell("setsid sleep 86381 & sleep 86382");
        spawn.pipes = true;
        let child = supervisor.spawn(spawn).await.unwrap();
        until(|| child.alive() >= 2, "its children").await;
        assert_eq!(child.end().await.processes_left, 0);
    };
    // In a process of its own this would be exact; beside other tests only a slope shows.
    once().await;
    let before = open_files();
    for _ in 0..20 {
        once().await;
    }
    until(|| open_files() < before + 15, "the descriptors to be closed").await;
    assert_eq!((named("86381"), named("86382")), (Vec::new(), Vec::new()));
}

fn open_files() -> usize {
    std::fs::read_dir(Path::new("/proc/self/fd")).unwrap().count()
}
