//! Whether Chromium's own sandbox can be on here, and as whom the browser must run for that.
//!
//! Chromium refuses its sandbox to root, and needs either user namespaces or its set-user-id helper. Both are tried, not
//! guessed from settings.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jurat_core::confinement::Sandbox;
use rustix::process::geteuid;

use super::User;
use super::fork::can_unshare_user;

/// How the browser is to be started, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPlan {
    /// Off only if nothing else works.
    pub sandbox: Sandbox,
    /// The user to become; none to stay as we are.
    pub user: Option<User>,
    /// Pass `no_new_privs`; false where the set-user-id helper is what makes the sandbox.
    pub no_new_privs: bool,
    /// What was tried and what came of it, for evidence and `jurat doctor`.
    pub reasons: Vec<String>,
}

impl SandboxPlan {
    /// Tries what this machine allows. `unprivileged` is whom to become as root; `helper` is the browser's `chrome-sandbox`.
    ///
    /// Starts a short-lived child for each try; it runs no program.
    pub fn probe(unprivileged: User, helper: Option<&Path>) -> Self {
        let root = geteuid().is_root();
        let user = root.then_some(unprivileged);
        let who = match user {
            Some(user) => format!("as uid {}, because we are root", user.uid),
            None => format!("as uid {}", geteuid().as_raw()),
        };
        let mut reasons = Vec::new();
        match can_unshare_user(user) {
            Ok(()) => {
                reasons.push(format!("user namespaces work {who}"));
                return Self {
                    sandbox: Sandbox::On,
                    user,
                    no_new_privs: true,
                    reasons,
                };
            }
            Err(error) => reasons.push(format!("no user namespace {who}: {error}")),
        }
        match helper.map(|path| (path, std::fs::metadata(path))) {
            Some((path, Ok(found))) if found.uid() == 0 && found.mode() & 0o4001 == 0o4001 => {
                reasons.push(format!("{} is set-user-id root", path.display()));
                return Self {
                    sandbox: Sandbox::On,
                    user,
                    no_new_privs: false,
                    reasons,
                };
            }
            Some((path, _)) => reasons.push(format!("{} is not set-user-id root", path.display())),
            None => reasons.push("the browser has no set-user-id helper".to_owned()),
        }
        Self {
            sandbox: Sandbox::Off,
            user,
            no_new_privs: true,
            reasons,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_probe_says_what_it_tried() {
        let plan = SandboxPlan::probe(User::NOBODY, None);
        assert_eq!(plan.user.is_some(), geteuid().is_root());
        assert!(!plan.reasons.is_empty());
        match plan.sandbox {
            Sandbox::On => assert!(
                plan.reasons[0].starts_with("user namespaces work"),
                "{:?}",
                plan.reasons
            ),
            Sandbox::Off => assert_eq!(plan.reasons.len(), 2),
        }
    }

    #[test]
    fn a_helper_must_be_set_user_id_root() {
        // Where user namespaces work the helper is not looked at.
        let dir = tempfile::tempdir().unwrap();
        let helper = dir.path().join("chrome-sandbox");
        std::fs::write(&helper, "").unwrap();
        let plan = SandboxPlan::probe(User::NOBODY, Some(&helper));
        if plan.sandbox == Sandbox::Off {
            assert!(
                plan.reasons[1].ends_with("is not set-user-id root"),
                "{:?}",
                plan.reasons
            );
        }
    }
}
