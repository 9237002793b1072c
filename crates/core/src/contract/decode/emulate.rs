//! What the browser pretends to be.

use super::cursor::{Cursor, Problems, did_you_mean_or_list};
use super::number::decimal;
use crate::contract::permission::PERMISSIONS;
use crate::contract::text::quoted;
use crate::contract::{ColorScheme, Emulate, Geolocation, ReducedMotion};

const FIELDS: &[&str] = &[
    "locale",
    "timezone",
    "color_scheme",
    "reduced_motion",
    "permissions",
    "geolocation",
];

pub(super) fn emulate(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Emulate> {
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, "write: emulate: { locale: en-US, timezone: UTC }")?;
    let default = Emulate::default();
    let locale = fields
        .take("locale")
        .map_or(Some(default.locale), |c| locale(&c, problems));
    let timezone = fields
        .take("timezone")
        .map_or(Some(default.timezone), |c| timezone(&c, problems));
    let color_scheme = fields.take("color_scheme").map_or(Some(default.color_scheme), |c| {
        c.choice(problems, &[("light", ColorScheme::Light), ("dark", ColorScheme::Dark)])
    });
    let reduced_motion = fields.take("reduced_motion").map_or(Some(default.reduced_motion), |c| {
        c.choice(
            problems,
            &[
                ("no-preference", ReducedMotion::NoPreference),
                ("reduce", ReducedMotion::Reduce),
            ],
        )
    });
    let permissions = fields
        .take("permissions")
        .map_or(Some(Vec::new()), |c| permissions(&c, problems));
    let geolocation = match fields.take("geolocation") {
        Some(c) => geolocation(&c, problems).map(Some),
        None => Some(None),
    };
    if !fields.finish(problems, "emulate", FIELDS) || !problems.clean(mark) {
        return None;
    }
    Some(Emulate {
        locale: locale?,
        timezone: timezone?,
        color_scheme: color_scheme?,
        reduced_motion: reduced_motion?,
        permissions: permissions?,
        geolocation: geolocation?,
    })
}

fn locale(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    let mut parts = text.split('-');
    let language = parts.next().unwrap_or_default();
    let alphabetic = (2..=8).contains(&language.len()) && language.bytes().all(|b| b.is_ascii_alphabetic());
    let rest = parts.all(|p| (1..=8).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_alphanumeric()));
    if alphabetic && rest && text.len() <= 64 {
        return Some(text.to_owned());
    }
    let hint = if text.contains('_') {
        text.replace('_', "-")
    } else {
        "en-US".into()
    };
    cursor.wrong(
        problems,
        format!("{} is no language tag", quoted(text)),
        format!("write a BCP 47 tag, such as {hint}"),
    )
}

fn timezone(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<String> {
    let text = cursor.text(problems)?;
    let part = |p: &str| {
        p.starts_with(|c: char| c.is_ascii_alphabetic())
            && p.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-'))
    };
    if !text.is_empty() && text.len() <= 64 && text.split('/').count() <= 3 && text.split('/').all(part) {
        return Some(text.to_owned());
    }
    cursor.wrong(
        problems,
        format!("{} is no time zone", quoted(text)),
        "write the name of an IANA zone, such as UTC or Europe/Berlin",
    )
}

fn permissions(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let mark = problems.mark();
    let known: Vec<&str> = PERMISSIONS.iter().map(|(name, _)| *name).collect();
    let mut permissions: Vec<String> = Vec::new();
    for item in cursor.some_items(problems, "name one, such as: [geolocation]")? {
        let Some(text) = item.text(problems) else { continue };
        if !known.contains(&text) {
            let message = format!("{} is no permission that Chromium grants", quoted(text));
            let _: Option<()> = item.wrong(problems, message, did_you_mean_or_list(text, &known));
        } else if permissions.iter().any(|p| p == text) {
            let _: Option<()> = item.wrong(problems, format!("\"{text}\" stands twice"), "name it once");
        } else {
            permissions.push(text.to_owned());
        }
    }
    problems.clean(mark).then_some(permissions)
}

fn geolocation(cursor: &Cursor<'_>, problems: &mut Problems) -> Option<Geolocation> {
    const HINT: &str = "write: { latitude: 52.52, longitude: 13.405 }";
    let mark = problems.mark();
    let mut fields = cursor.fields(problems, HINT)?;
    let latitude = fields
        .required("latitude", problems, HINT)
        .and_then(|c| decimal(&c, problems, 90));
    let longitude = fields
        .required("longitude", problems, HINT)
        .and_then(|c| decimal(&c, problems, 180));
    let accuracy = fields
        .take("accuracy")
        .map_or(Some(1), |c| c.unsigned(problems, 1, 1_000_000));
    if !fields.finish(problems, "a geolocation", &["latitude", "longitude", "accuracy"]) || !problems.clean(mark) {
        return None;
    }
    Some(Geolocation {
        latitude: latitude?,
        longitude: longitude?,
        accuracy: accuracy?,
    })
}
