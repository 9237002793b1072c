//! Built-in checks.

use super::cursor::{Cursor, Problems};
use crate::contract::CheckKind;

/// Every check by its name.
pub(super) const CHECKS: &[(&str, CheckKind)] = &[
    ("responsive", CheckKind::Responsive),
    ("keyboard", CheckKind::Keyboard),
    ("accessibility", CheckKind::Accessibility),
    ("reduced-motion", CheckKind::ReducedMotion),
    ("loading", CheckKind::Loading),
    ("error", CheckKind::Error),
    ("repeated-action", CheckKind::RepeatedAction),
];

pub(super) fn checks(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<CheckKind>> {
    let mark = problems.mark();
    let mut checks = Vec::new();
    for item in cursor.some_items(problems, "name one check, such as: [responsive]")? {
        if let Some(check) = item.choice(problems, CHECKS) {
            if checks.contains(&check) {
                let _: Option<()> = item.wrong(problems, "this check stands twice", "name it once");
            }
            checks.push(check);
        }
    }
    problems.clean(mark).then_some(checks)
}
