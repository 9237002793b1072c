//! The command line of the browser.
//!
//! Three groups: what makes it drivable, what keeps it in its place, and what keeps it quick and quiet without
//! changing what a page can see. The second group is defence in depth: flags rot, so that the guard, the canaries and
//! the lane hold without them, and a run records the exact command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::find::Kind;

/// Below this size of `/dev/shm`, in bytes, Chromium's renderers run out of shared memory and crash.
pub const SMALL_SHM: u64 = 512 * 1024 * 1024;

/// Whether Chromium's own sandbox is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sandbox {
    /// On: the browser's default.
    #[default]
    On,
    /// Off, which the run has to say in its evidence.
    Off,
}

/// What the command line depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Which browser.
    pub kind: Kind,
    /// Whether it shows its window.
    pub headed: bool,
    /// A fresh folder for its profile.
    pub profile: PathBuf,
    /// The loopback port of the guard's global listener, which refuses all.
    pub guard_port: u16,
    /// Chromium's own sandbox.
    pub sandbox: Sandbox,
    /// The size of `/dev/shm` in bytes, as far as it is known.
    pub shm_bytes: Option<u64>,
    /// Width and height of a new window in CSS pixels.
    pub window: (u32, u32),
}

/// Keeps traffic of the browser's own and of its pages on the guard.
const CONFINE: [&str; 10] = [
    // Chromium dials loopback directly unless told not to.
    "--proxy-bypass-list=<-loopback>",
    // The first is the one that has an effect; the second is its older name.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-pings",
];

/// Features that are off. One flag: Chromium honours the last `--disable-features` only.
const FEATURES_OFF: [&str; 9] = [
    // Sends a request beside the one that the service worker is asked about.
    "ServiceWorkerAutoPreload",
    "MediaRouter",
    "DialMediaRouteProvider",
    "OptimizationHints",
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "Translate",
    // Would keep the picture of the page before on screen until the new one has something to show.
    "PaintHolding",
    // Would try https on an origin that is http.
    "HttpsUpgrades",
];

/// Keeps it quick and quiet, and its pages unthrottled.
const STEADY: [&str; 17] = [
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-search-engine-choice-screen",
    "--disable-breakpad",
    "--disable-gpu",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--metrics-recording-only",
];

impl Launch {
    /// The arguments, without the program.
    #[must_use]
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--remote-debugging-pipe".into()];
        if !self.headed {
            // Nothing to the headless shell, which has no other mode.
            arguments.push("--headless".into());
            arguments.push("--hide-scrollbars".into());
        }
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(&self.profile);
        arguments.push(profile);
        arguments.push(format!("--proxy-server=http://127.0.0.1:{}", self.guard_port).into());
        arguments.extend(CONFINE.map(OsString::from));
        arguments.push(format!("--disable-features={}", FEATURES_OFF.join(",")).into());
        arguments.extend(STEADY.map(OsString::from));
        if self.shm_bytes.is_some_and(|bytes| bytes < SMALL_SHM) {
            arguments.push("--disable-dev-shm-usage".into());
        }
        if self.sandbox == Sandbox::Off {
            arguments.push("--no-sandbox".into());
        }
        arguments.push(format!("--window-size={},{}", self.window.0, self.window.1).into());
        arguments
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn launch() -> Launch {
        Launch {
            kind: Kind::HeadlessShell,
            headed: false,
            profile: "/profile".into(),
            guard_port: 4711,
            sandbox: Sandbox::On,
            shm_bytes: Some(1 << 30),
            window: (800, 600),
        }
    }

    fn line(launch: &Launch) -> Vec<String> {
        launch
            .arguments()
            .into_iter()
            .map(|argument| argument.into_string().unwrap())
            .collect()
    }

    fn has(launch: &Launch, argument: &str) -> bool {
        line(launch).iter().any(|given| given == argument)
    }

    #[test]
    fn the_guard_is_the_only_proxy_and_nothing_bypasses_it() {
        let line = line(&launch());
        assert!(line.contains(&"--proxy-server=http://127.0.0.1:4711".to_owned()));
        assert!(line.contains(&"--proxy-bypass-list=<-loopback>".to_owned()));
        assert!(line.contains(&"--remote-debugging-pipe".to_owned()));
        assert!(!line.iter().any(|argument| argument.contains("remote-debugging-port")));
    }

    #[test]
    fn no_flag_is_given_twice() {
        let mut names: Vec<_> = line(&launch())
            .iter()
            .map(|a| a.split('=').next().unwrap().to_owned())
            .collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_sandbox_is_off_and_shared_memory_unused_only_when_said() {
        assert!(!has(&launch(), "--no-sandbox") && !has(&launch(), "--disable-dev-shm-usage"));
        let small = Launch {
            sandbox: Sandbox::Off,
            shm_bytes: Some(4 << 20),
            ..launch()
        };
        assert!(has(&small, "--no-sandbox") && has(&small, "--disable-dev-shm-usage"));
        assert!(!has(
            &Launch {
                headed: true,
                kind: Kind::Full,
                ..launch()
            },
            "--headless"
        ));
    }
}
