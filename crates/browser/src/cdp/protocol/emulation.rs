//! `Emulation`: viewport, media, locale, place.

#![expect(missing_docs, reason = "fields are those of the DevTools protocol")]

use serde::Serialize;

use super::{Done, command};

command! {
    SetDeviceMetricsOverride = "Emulation.setDeviceMetricsOverride" -> Done {
        width: u32, height: u32, device_scale_factor: f64, mobile: bool,
    }
    optional {
        screen_width: u32, screen_height: u32, screen_orientation: ScreenOrientation, dont_set_visible_size: bool,
    }
}
command! { ClearDeviceMetricsOverride = "Emulation.clearDeviceMetricsOverride" -> Done }
command! {
    SetTouchEmulationEnabled = "Emulation.setTouchEmulationEnabled" -> Done { enabled: bool }
    optional { max_touch_points: u32 }
}
command! {
    SetEmulatedMedia = "Emulation.setEmulatedMedia" -> Done,
    optional { media: String, features: Vec<MediaFeature> }
}
command! { SetLocaleOverride = "Emulation.setLocaleOverride" -> Done, optional { locale: String } }
command! {
    SetUserAgentOverride = "Emulation.setUserAgentOverride" -> Done { user_agent: String }
    optional { accept_language: String, platform: String }
}
command! { SetTimezoneOverride = "Emulation.setTimezoneOverride" -> Done { timezone_id: String } }
command! {
    SetGeolocationOverride = "Emulation.setGeolocationOverride" -> Done,
    optional { latitude: f64, longitude: f64, accuracy: f64 }
}
command! { SetFocusEmulationEnabled = "Emulation.setFocusEmulationEnabled" -> Done { enabled: bool } }
command! { SetScrollbarsHidden = "Emulation.setScrollbarsHidden" -> Done { hidden: bool } }
command! {
    SetDefaultBackgroundColorOverride = "Emulation.setDefaultBackgroundColorOverride" -> Done,
    optional { color: Rgba }
}

/// `Emulation.ScreenOrientation`; `kind` is `portraitPrimary`, `landscapePrimary`, …
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScreenOrientation {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub angle: u32,
}

/// One CSS media feature with the value that it is to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MediaFeature {
    pub name: String,
    pub value: String,
}

/// A colour.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rgba {
    pub r: u8,
    pub g: u8,
    pub b: u8,
    /// From 0 to 1.
    pub a: f64,
}
