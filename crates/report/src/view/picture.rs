//! Screenshots: which go into the page, and where their outline lies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jurat_core::observation::ScreenshotFact;
use jurat_evidence::Contents;

use crate::read::Run;
use crate::text::bytes;

/// A screenshot in the page, or the note that stands for it.
#[derive(Debug)]
pub(crate) struct Picture {
    /// Base64 of the PNG; empty when it was left out.
    pub(crate) data: String,
    /// Why it was left out.
    pub(crate) note: String,
    pub(crate) alt: String,
    /// In CSS pixels.
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// In hundredths of a CSS pixel, as the outline.
    pub(crate) view_width: u64,
    pub(crate) view_height: u64,
    pub(crate) outline: Option<Outline>,
}

/// The box of the element that a criterion is about, in hundredths of a CSS pixel, a little larger than the element.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) width: i64,
    pub(crate) height: i64,
}

/// Gives out pictures until the page is full. The first to ask are served first.
pub(crate) struct Gallery<'a> {
    run: &'a Run,
    contents: &'a dyn Contents,
    left: usize,
}

impl<'a> Gallery<'a> {
    pub(crate) fn new(run: &'a Run, contents: &'a dyn Contents, bytes: usize) -> Self {
        Self {
            run,
            contents,
            left: bytes,
        }
    }

    /// The picture of a screenshot, taken in this viewport for this criterion.
    pub(crate) fn picture(&mut self, fact: &ScreenshotFact, viewport: &str, alt: String) -> Picture {
        let scale = self
            .run
            .plan
            .as_ref()
            .and_then(|plan| plan.viewports.iter().find(|planned| planned.name == viewport))
            .map_or(1, |planned| planned.scale.max(1));
        let (width, height) = (fact.width / scale, fact.height / scale);
        let (data, note) = match self.contents.blob(&fact.blob) {
            None => (String::new(), "The screenshot is missing.".to_owned()),
            Some(png) if png.len().div_ceil(3) * 4 > self.left => {
                let size = bytes(png.len() as u64);
                (
                    String::new(),
                    format!(
                        "A screenshot of {size} was left out of this page; it is blobs/sha256/{}.",
                        fact.blob.hex()
                    ),
                )
            }
            Some(png) => (STANDARD.encode(&png), String::new()),
        };
        self.left -= data.len();
        let outline = fact.outline.filter(|rect| !rect.is_empty()).map(|rect| Outline {
            x: rect.x - 400,
            y: rect.y - 400,
            width: rect.width + 800,
            height: rect.height + 800,
        });
        Picture {
            data,
            note,
            alt,
            width,
            height,
            view_width: u64::from(width) * 100,
            view_height: u64::from(height) * 100,
            outline,
        }
    }
}
