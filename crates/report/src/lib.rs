//! The report: a bundle as one page for people.
//!
//! [`render_html`] takes what a bundle holds, finished or about to be sealed, and gives one self-contained file: no script, no
//! request, one style sheet that the page's own policy names by its digest, pictures as `data:` URLs. It is pure: the same
//! bundle gives the same bytes.
//!
//! Invariants: nothing is shown that does not come from the bundle; text from a page, an app or a peer is escaped and its
//! control and direction characters are made visible before a template sees it; what was left out for
//! size is said where it would have stood; a file that cannot be read is said to be so, and the rest is shown.

mod compare;
mod read;
mod text;
mod view;

use askama::Template as _;
use jurat_evidence::Contents;

/// No report is longer, in bytes.
pub const MAX_BYTES: usize = 5 << 20;

/// How much of a bundle goes into its report.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Bytes of all pictures together, as they stand in the page.
    pictures: usize,
    /// Rows of each table.
    rows: usize,
    /// Criteria shown with their facts, and facts of each.
    facts: usize,
    /// Characters of one text.
    text: usize,
}

/// From generous to bare. The last one bounds every part by a constant.
const LADDER: [Bounds; 3] = [
    Bounds {
        pictures: 3_500_000,
        rows: 500,
        facts: 400,
        text: 2000,
    },
    Bounds {
        pictures: 2_000_000,
        rows: 100,
        facts: 50,
        text: 500,
    },
    Bounds {
        pictures: 0,
        rows: 20,
        facts: 0,
        text: 120,
    },
];

/// Renders the report of a bundle, at most [`MAX_BYTES`] long.
pub fn render_html(contents: &dyn Contents) -> String {
    let run = read::Run::of(contents);
    for bounds in LADDER {
        let page = view::Page::new(&run, contents, bounds);
        match page.render() {
            Ok(html) if html.len() <= MAX_BYTES => return html,
            _ => {}
        }
    }
    // Thousands of criteria: what is left is the verdict, and where the rest is.
    view::bare(&run)
}
