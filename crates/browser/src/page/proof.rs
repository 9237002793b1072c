//! The pixel proof: whether taking an element's own paint away changes the picture.
//!
//! At least three pairs of viewport captures are taken in turn, A as it is and B with the element's own text or replaced
//! content made transparent by a Web Animation of the isolated world. What is alike in both kinds and differs between them is paint that a
//! person sees; so is what keeps still in one kind and moves all the time in the other. What moves in both counts for nothing, and where
//! nothing else is seen, more pairs are taken.

use std::time::Instant;

use jurat_core::observation::{Layout, PixelProof, ProofMeans, Rect};
use serde_json::json;

use super::call;
use super::error::ReadError;
use super::gather::Found;
use super::pixels::{Crop, Tally};
use super::screenshot::screenshot;
use crate::cdp::protocol::runtime::CallArgument;
use crate::context::{ActError, FrameRef, Tab};

const PAIRS: u32 = 3;
/// Pairs where something moves.
const MOST_PAIRS: u32 = 5;
const WHAT: &str = "take a pixel proof";

/// Takes the proof of one element; `None` when nothing of it is shown.
pub(super) async fn take(
    tab: &Tab,
    frames: &[FrameRef],
    found: &Found,
    layout: &Layout,
    deadline: Instant,
) -> Result<Option<PixelProof>, ReadError> {
    let (Some(area), Some(frame), Some(main)) = (layout.shown, frames.get(found.frame), frames.first()) else {
        return Ok(None);
    };
    let result = shoot(tab, main, frame, found, area, deadline).await;
    // Whatever happened, the element is to be seen again.
    let restored = toggle(frame, found, false, false, deadline).await;
    let proof = result?;
    restored?;
    Ok(Some(proof))
}

async fn shoot(
    tab: &Tab,
    main: &FrameRef,
    frame: &FrameRef,
    found: &Found,
    area: Rect,
    deadline: Instant,
) -> Result<PixelProof, ReadError> {
    let size: [i64; 2] = call::call_json(main, "function () { return __jurat.size(); }", Vec::new(), deadline).await?;
    let elsewhere = frame.session.id() != main.session.id();
    let mut tally = Tally::default();
    let mut means = None;
    let mut pairs = 0;
    loop {
        toggle(frame, found, false, elsewhere, deadline).await?;
        tally.plain(picture(tab, area, size, deadline).await?);
        let took = toggle(frame, found, true, elsewhere, deadline).await?;
        if took == ProofMeans::None || means.is_some_and(|m| m != took) {
            return Ok(PixelProof {
                pairs: 0,
                means: ProofMeans::None,
                pixels: 0,
                alike: 0,
                differing: 0,
                one_sided: 0,
                area,
            });
        }
        means = Some(took);
        tally.faded(picture(tab, area, size, deadline).await?);
        pairs += 1;
        if pairs < PAIRS {
            continue;
        }
        let count = tally.count().ok_or(ActError::Lost {
            what: WHAT,
            detail: "the captures differ in size".to_owned(),
        })?;
        let proof = PixelProof {
            pairs,
            means: took,
            pixels: count.pixels,
            alike: count.alike,
            differing: count.differing,
            one_sided: count.one_sided,
            area,
        };
        if pairs >= MOST_PAIRS || !proof.wants_more() {
            return Ok(proof);
        }
    }
}

async fn toggle(
    frame: &FrameRef,
    found: &Found,
    on: bool,
    wait: bool,
    deadline: Instant,
) -> Result<ProofMeans, ReadError> {
    let arguments = [json!(found.look), json!(found.index), json!(on), json!(wait)]
        .into_iter()
        .map(CallArgument::Value)
        .collect();
    let function = "function (look, index, on, wait) { return __jurat.proof(look, index, on, wait); }";
    call::call_json(frame, function, arguments, deadline).await
}

async fn picture(tab: &Tab, area: Rect, size: [i64; 2], deadline: Instant) -> Result<Crop, ReadError> {
    let png = screenshot(tab, deadline).await?;
    Crop::of(&png, area, size).map_err(|error| {
        ActError::Lost {
            what: WHAT,
            detail: error.to_string(),
        }
        .into()
    })
}
