//! Viewports.

use super::cursor::{Cursor, Problems};
use super::ids::word;
use crate::contract::Viewport;

const FIELDS: &[&str] = &["name", "width", "height", "mobile", "scale"];
const HINT: &str = "write: { name: desktop, width: 1440, height: 900 }";

pub(super) fn viewports(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<Viewport>> {
    let mark = problems.mark();
    let mut viewports: Vec<Viewport> = Vec::new();
    for item in cursor.some_items(problems, HINT)? {
        if let Some(viewport) = viewport(&item, problems) {
            if viewports.iter().any(|v| v.name == viewport.name) {
                let message = format!("a viewport \"{}\" stands already", viewport.name);
                let _: Option<()> = item.wrong(problems, message, "name each one differently");
            }
            viewports.push(viewport);
        }
    }
    problems.clean(mark).then_some(viewports)
}

fn viewport(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Viewport> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    let name = fields
        .required("name", problems, HINT)
        .and_then(|c| word(&c, problems, false));
    let width = fields
        .required("width", problems, HINT)
        .and_then(|c| c.unsigned(problems, 240, 7680));
    let height = fields
        .required("height", problems, HINT)
        .and_then(|c| c.unsigned(problems, 240, 7680));
    let mobile = match fields.take("mobile") {
        Some(c) => c.bool(problems).map(Some),
        None => Some(None),
    };
    let scale = fields.take("scale").map_or(Some(1), |c| c.unsigned(problems, 1, 4));
    if !fields.finish(problems, "a viewport", FIELDS) || !problems.clean(mark) {
        return None;
    }
    let mut viewport = Viewport {
        name: name?,
        width: width?,
        height: height?,
        mobile: None,
        scale: scale?,
    };
    // What equals the default of the width is left out, so that it does not change the identity.
    viewport.mobile = mobile?.filter(|mobile| *mobile != viewport.mobile());
    Some(viewport)
}
