//! Whether a person could see an element, from its layout facts.
//!
//! Style and geometry decide first. Where anything could still hide it, the pixel proof decides; where that was not taken,
//! the answer is that a proof is needed, and never a guess.

use crate::observation::{Cut, Effect, Layout, PixelProof, ProofMeans, TopIs};
use crate::reason::ReasonDetail;

/// Pixels that must differ for something to count as painted.
pub const MIN_DIFFERING: u64 = 12;
/// Largest channel difference below which text cannot be told from what is behind it.
pub const MIN_CONTRAST: u32 = 24;
/// Font size as painted, in hundredths of a CSS pixel, below which text is no text to a person.
pub const MIN_FONT: i64 = 300;
/// Of the pixels that move, one in so many must do so in one kind of capture only to be the element's own; of noise, fewer do by chance.
const ONE_SIDED_SHARE: u64 = 20;
/// Opacity, in thousandths, at which nothing can be seen any more.
const MIN_OPACITY: u32 = 20;

/// Whether a person could see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Yes.
    Visible,
    /// No, and why.
    Hidden(ReasonDetail),
    /// Only a pixel proof can tell.
    NeedsProof,
    /// Not even the pixel proof could tell.
    Undecided,
}

/// Whether a person could see it.
pub fn sight(layout: &Layout) -> Sight {
    if let Some(why) = hidden_by_style(layout) {
        return Sight::Hidden(why);
    }
    // What is painted in its place is not it.
    if layout
        .effects
        .iter()
        .any(|e| matches!(e, Effect::Masked | Effect::Broken))
    {
        return Sight::Hidden(ReasonDetail::NotPainted);
    }
    if let Some(proof) = &layout.proof {
        return by_proof(proof, layout);
    }
    if is_doubtful(layout) {
        Sight::NeedsProof
    } else {
        Sight::Visible
    }
}

/// What style and geometry alone say against it.
pub fn hidden_by_style(layout: &Layout) -> Option<ReasonDetail> {
    if !layout.rendered {
        return Some(ReasonDetail::NotRendered);
    }
    if !layout.visibility {
        return Some(ReasonDetail::HiddenByVisibility);
    }
    if layout.opacity < MIN_OPACITY {
        return Some(ReasonDetail::HiddenByOpacity);
    }
    if layout.boxes.iter().all(crate::observation::Rect::is_empty) || layout.font_size.is_some_and(|s| s < MIN_FONT) {
        return Some(ReasonDetail::HiddenBySize);
    }
    if layout.shown.is_none_or(|shown| shown.is_empty()) {
        return Some(match layout.cut_by {
            Some(Cut::Overflow | Cut::Clip | Cut::Frame) => ReasonDetail::HiddenByClip,
            Some(Cut::NoArea) => ReasonDetail::HiddenBySize,
            Some(Cut::Unreachable) | None => ReasonDetail::OffScreen,
        });
    }
    None
}

/// Whether anything could still hide what style and geometry show.
fn is_doubtful(layout: &Layout) -> bool {
    !layout.effects.is_empty()
        || layout.contrast.is_none_or(|c| c < MIN_CONTRAST)
        || layout.tops.is_empty()
        || layout.tops.iter().any(|t| t.is != TopIs::Own)
}

impl PixelProof {
    /// Whether it shows paint of the element: pixels that keep still and differ, or that move with it only, or without it only.
    pub fn is_seen(&self) -> bool {
        let moving = self.pixels.saturating_sub(self.alike);
        self.differing >= MIN_DIFFERING
            || (self.one_sided >= MIN_DIFFERING && self.one_sided * ONE_SIDED_SHARE >= moving)
    }

    /// Whether more captures could tell more: something moves, and nothing is seen.
    pub fn wants_more(&self) -> bool {
        !self.is_seen() && self.pixels.saturating_sub(self.alike) >= MIN_DIFFERING
    }
}

fn by_proof(proof: &PixelProof, layout: &Layout) -> Sight {
    if proof.pairs < 3 || proof.means == ProofMeans::None || proof.pixels == 0 {
        return Sight::Undecided;
    }
    if proof.is_seen() {
        return Sight::Visible;
    }
    // What moves is not alike, and could be the element.
    if proof.pixels.saturating_sub(proof.alike) >= MIN_DIFFERING {
        return Sight::Undecided;
    }
    let covered = layout
        .tops
        .iter()
        .any(|t| matches!(t.is, TopIs::Other | TopIs::Ancestor | TopIs::Pseudo));
    let coloured = layout.contrast.is_some_and(|c| c < MIN_CONTRAST) || layout.effects.contains(&Effect::TextPaint);
    Sight::Hidden(if covered {
        ReasonDetail::Covered
    } else if coloured {
        ReasonDetail::HiddenByColour
    } else if layout
        .effects
        .iter()
        .any(|e| matches!(e, Effect::ClipPath | Effect::Mask))
    {
        ReasonDetail::HiddenByClip
    } else if layout.effects.contains(&Effect::LowOpacity) || layout.effects.contains(&Effect::Filter) {
        ReasonDetail::HiddenByOpacity
    } else {
        ReasonDetail::NotPainted
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unnecessary_wraps)]
    use super::*;
    use crate::observation::{Rect, Top};

    fn plain() -> Layout {
        let area = Rect {
            x: 0,
            y: 0,
            width: 5000,
            height: 2000,
        };
        Layout {
            rendered: true,
            boxes: vec![area],
            shown: Some(area),
            visibility: true,
            opacity: 1000,
            font_size: Some(1600),
            contrast: Some(200),
            tops: vec![Top {
                x: 1,
                y: 1,
                is: TopIs::Own,
                other: None,
            }],
            ..Layout::default()
        }
    }

    fn proof(alike: u64, differing: u64) -> Option<PixelProof> {
        let area = Rect {
            x: 0,
            y: 0,
            width: 5000,
            height: 2000,
        };
        Some(PixelProof {
            pairs: 3,
            means: ProofMeans::TextColour,
            pixels: 1000,
            alike,
            differing,
            one_sided: 0,
            area,
        })
    }

    #[test]
    fn plain_text_is_visible() {
        assert_eq!(sight(&plain()), Sight::Visible);
    }

    #[test]
    fn each_fact_of_style_hides_it() {
        let hidden = |change: fn(&mut Layout)| {
            let mut layout = plain();
            change(&mut layout);
            sight(&layout)
        };
        assert_eq!(hidden(|l| l.rendered = false), Sight::Hidden(ReasonDetail::NotRendered));
        assert_eq!(
            hidden(|l| l.visibility = false),
            Sight::Hidden(ReasonDetail::HiddenByVisibility)
        );
        assert_eq!(hidden(|l| l.opacity = 0), Sight::Hidden(ReasonDetail::HiddenByOpacity));
        assert_eq!(hidden(|l| l.opacity = 19), Sight::Hidden(ReasonDetail::HiddenByOpacity));
        assert_eq!(
            hidden(|l| l.boxes[0].width = 0),
            Sight::Hidden(ReasonDetail::HiddenBySize)
        );
        assert_eq!(hidden(|l| l.boxes.clear()), Sight::Hidden(ReasonDetail::HiddenBySize));
        assert_eq!(
            hidden(|l| l.font_size = Some(0)),
            Sight::Hidden(ReasonDetail::HiddenBySize)
        );
        assert_eq!(
            hidden(|l| l.font_size = Some(299)),
            Sight::Hidden(ReasonDetail::HiddenBySize)
        );
        assert_eq!(hidden(|l| l.font_size = Some(300)), Sight::Visible);
        assert_eq!(hidden(|l| l.shown = None), Sight::Hidden(ReasonDetail::OffScreen));
        assert_eq!(
            hidden(|l| (l.shown, l.cut_by) = (None, Some(Cut::Overflow))),
            Sight::Hidden(ReasonDetail::HiddenByClip)
        );
        assert_eq!(
            hidden(|l| (l.shown, l.cut_by) = (None, Some(Cut::NoArea))),
            Sight::Hidden(ReasonDetail::HiddenBySize)
        );
    }

    #[test]
    fn each_doubt_asks_for_a_proof() {
        let doubted = |change: fn(&mut Layout)| {
            let mut layout = plain();
            change(&mut layout);
            sight(&layout)
        };
        assert_eq!(doubted(|l| l.effects.push(Effect::Filter)), Sight::NeedsProof);
        assert_eq!(doubted(|l| l.contrast = None), Sight::NeedsProof);
        assert_eq!(doubted(|l| l.contrast = Some(23)), Sight::NeedsProof);
        assert_eq!(doubted(|l| l.contrast = Some(24)), Sight::Visible);
        assert_eq!(doubted(|l| l.tops.clear()), Sight::NeedsProof);
        assert_eq!(doubted(|l| l.tops[0].is = TopIs::Ancestor), Sight::NeedsProof);
    }

    #[test]
    fn what_moves_with_it_alone_is_seen_and_what_moves_anyway_tells_nothing() {
        let moving = |alike, one_sided| {
            let proof = proof(alike, 0).map(|p| PixelProof { one_sided, ..p });
            sight(&Layout { proof, ..plain() })
        };
        assert_eq!(moving(400, 500), Sight::Visible);
        assert_eq!(moving(400, 30), Sight::Visible);
        assert_eq!(moving(400, 29), Sight::Undecided);
        assert_eq!(moving(980, 11), Sight::Undecided);
        assert_eq!(moving(1000, 0), Sight::Hidden(ReasonDetail::NotPainted));
    }

    #[test]
    fn what_only_stands_in_its_place_is_not_seen() {
        let with = |effect| {
            let mut layout = Layout {
                proof: proof(1000, 500),
                ..plain()
            };
            layout.effects.push(effect);
            sight(&layout)
        };
        assert_eq!(with(Effect::Broken), Sight::Hidden(ReasonDetail::NotPainted));
        assert_eq!(with(Effect::Masked), Sight::Hidden(ReasonDetail::NotPainted));
        assert_eq!(with(Effect::Replaced), Sight::Visible);
    }

    #[test]
    fn the_proof_decides_or_says_that_it_cannot() {
        let proved = |p: Option<PixelProof>, change: fn(&mut Layout)| {
            let mut layout = Layout { proof: p, ..plain() };
            change(&mut layout);
            sight(&layout)
        };
        assert_eq!(proved(proof(900, 12), |_| ()), Sight::Visible);
        assert_eq!(proved(proof(989, 11), |_| ()), Sight::Hidden(ReasonDetail::NotPainted));
        // Twelve pixels that move could be it.
        assert_eq!(proved(proof(988, 11), |_| ()), Sight::Undecided);
        assert_eq!(
            proved(proof(989, 11), |l| l.tops[0].is = TopIs::Other),
            Sight::Hidden(ReasonDetail::Covered)
        );
        assert_eq!(
            proved(proof(1000, 0), |l| l.contrast = Some(0)),
            Sight::Hidden(ReasonDetail::HiddenByColour)
        );
        let nothing = proof(900, 500).map(|p| PixelProof {
            means: ProofMeans::None,
            ..p
        });
        assert_eq!(proved(nothing, |_| ()), Sight::Undecided);
        let short = proof(900, 500).map(|p| PixelProof { pairs: 2, ..p });
        assert_eq!(proved(short, |_| ()), Sight::Undecided);
        // Style outranks the proof: what is not rendered cannot be proven.
        assert_eq!(
            proved(proof(900, 500), |l| l.rendered = false),
            Sight::Hidden(ReasonDetail::NotRendered)
        );
    }
}
