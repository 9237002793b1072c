//! Pictures of the viewport.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::ReadError;
use crate::cdp::protocol::page::{CaptureScreenshot, ImageFormat};
use crate::context::{ActError, Tab};

/// A picture of the tab's viewport as PNG, frames included; nothing beyond the viewport, so that the page is not resized for it.
///
/// # Errors
/// [`ReadError::Page`] when there is none by the deadline.
pub async fn screenshot(tab: &Tab, deadline: Instant) -> Result<Vec<u8>, ReadError> {
    const WHAT: &str = "Page.captureScreenshot";
    let ask = CaptureScreenshot {
        format: Some(ImageFormat::Png),
        // Less compressed, as exact, and 10 ms sooner.
        optimize_for_speed: Some(true),
        ..Default::default()
    };
    let answer = tab.call(&tab.session(), &ask, deadline).await?;
    STANDARD.decode(&answer.data).map_err(|error| {
        ActError::Lost {
            what: WHAT,
            detail: error.to_string(),
        }
        .into()
    })
}
