//! Captures, cropped and compared.

use std::io::Cursor;

use jurat_core::observation::Rect;

/// Largest capture in pixels, sides multiplied.
const MOST_PIXELS: u64 = 64 * 1024 * 1024;
/// Largest channel difference of pixels that are the same.
const ALIKE: u8 = 8;
/// Least channel difference of pixels that differ.
const DIFFERS: u8 = 24;

/// Why a capture could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum PixelError {
    #[error("the capture is no PNG of ours: {0}")]
    Png(#[from] png::DecodingError),
    #[error("the capture is {0} by {1} pixels, or of a kind that is not read")]
    Shape(u32, u32),
}

/// A part of a capture, three bytes a pixel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Crop {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Crop {
    /// Decodes a capture of a viewport of `size` (hundredths of a CSS pixel) and keeps `area` of it.
    pub(super) fn of(png: &[u8], area: Rect, size: [i64; 2]) -> Result<Self, PixelError> {
        let limits = png::Limits {
            bytes: 512 * 1024 * 1024,
        };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(png), limits);
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info()?;
        let (width, height) = reader.info().size();
        if u64::from(width) * u64::from(height) > MOST_PIXELS || width == 0 || height == 0 || reader.info().interlaced {
            return Err(PixelError::Shape(width, height));
        }
        let channels = match reader.output_color_type() {
            (png::ColorType::Rgb, png::BitDepth::Eight) => 3,
            (png::ColorType::Rgba, png::BitDepth::Eight) => 4,
            _ => return Err(PixelError::Shape(width, height)),
        };
        let (left, right) = span(area.x, area.width, size[0], width);
        let (top, bottom) = span(area.y, area.height, size[1], height);
        let mut rgb = Vec::with_capacity((right - left) * (bottom - top) * 3);
        let mut y = 0;
        while let Some(row) = reader.next_row()? {
            if y >= bottom {
                break;
            }
            if y >= top {
                for pixel in row.data().chunks_exact(channels).take(right).skip(left) {
                    rgb.extend_from_slice(&pixel[..3]);
                }
            }
            y += 1;
        }
        let (width, height) = (right - left, bottom - top);
        if rgb.len() != width * height * 3 {
            return Err(PixelError::Shape(reader.info().width, reader.info().height));
        }
        Ok(Self { width, height, rgb })
    }
}

/// Device pixels of a stretch of CSS pixels.
fn span(from: i64, length: i64, whole: i64, pixels: u32) -> (usize, usize) {
    let whole = whole.max(1);
    let pixels = i64::from(pixels);
    let low = (from * pixels).div_euclid(whole).clamp(0, pixels);
    let high = ((from + length) * pixels + whole - 1)
        .div_euclid(whole)
        .clamp(low, pixels);
    (usize::try_from(low).unwrap_or(0), usize::try_from(high).unwrap_or(0))
}

/// Pixels counted over all captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) pixels: u64,
    pub(super) alike: u64,
    pub(super) differing: u64,
    /// Alike in one kind, moved between every two captures in a row in the other.
    pub(super) one_sided: u64,
}

/// Captures of both kinds.
#[derive(Debug, Default)]
pub(super) struct Tally {
    plain: Vec<Crop>,
    faded: Vec<Crop>,
}

impl Tally {
    pub(super) fn plain(&mut self, crop: Crop) {
        self.plain.push(crop);
    }

    pub(super) fn faded(&mut self, crop: Crop) {
        self.faded.push(crop);
    }

    /// `None` when there are none, or their sizes differ.
    pub(super) fn count(&self) -> Option<Count> {
        let first = self.plain.first()?;
        let faded = self.faded.first()?;
        if self
            .plain
            .iter()
            .chain(&self.faded)
            .any(|c| (c.width, c.height) != (first.width, first.height))
        {
            return None;
        }
        let mut count = Count {
            pixels: 0,
            alike: 0,
            differing: 0,
            one_sided: 0,
        };
        for at in (0..first.rgb.len()).step_by(3) {
            count.pixels += 1;
            let (plain, gone) = (alike(&self.plain, at), alike(&self.faded, at));
            if !(plain && gone) {
                let one_sided = (gone && moves(&self.plain, at)) || (plain && moves(&self.faded, at));
                count.one_sided += u64::from(one_sided);
                continue;
            }
            count.alike += 1;
            let apart = (at..at + 3).any(|c| first.rgb[c].abs_diff(faded.rgb[c]) >= DIFFERS);
            count.differing += u64::from(apart);
        }
        Some(count)
    }
}

/// Whether one pixel is the same in all captures of a kind.
fn alike(crops: &[Crop], at: usize) -> bool {
    (at..at + 3).all(|channel| {
        let low = crops.iter().map(|c| c.rgb[channel]).min().unwrap_or(0);
        let high = crops.iter().map(|c| c.rgb[channel]).max().unwrap_or(0);
        high - low <= ALIKE
    })
}

/// Whether one pixel changes from each capture to the next.
fn moves(crops: &[Crop], at: usize) -> bool {
    crops.len() > 2
        && crops
            .windows(2)
            .all(|pair| (at..at + 3).any(|channel| pair[0].rgb[channel].abs_diff(pair[1].rgb[channel]) > ALIKE))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn flat(values: &[u8]) -> Crop {
        Crop {
            width: values.len(),
            height: 1,
            rgb: values.iter().flat_map(|v| [*v; 3]).collect(),
        }
    }

    #[test]
    fn what_moves_by_itself_counts_for_nothing() {
        let mut tally = Tally::default();
        for (plain, faded) in [
            ([0, 10, 0], [30, 10, 9]),
            ([0, 200, 0], [30, 90, 9]),
            ([8, 10, 0], [30, 10, 9]),
        ] {
            tally.plain(flat(&plain));
            tally.faded(flat(&faded));
        }
        assert_eq!(
            tally.count().unwrap(),
            Count {
                pixels: 3,
                alike: 2,
                differing: 1,
                one_sided: 0
            }
        );
    }

    #[test]
    fn what_moves_in_one_kind_only_is_told_from_what_changes_once() {
        let mut tally = Tally::default();
        // A spinner; text that keeps still on a film; a clock that ticks once; a film; what moves and is still by turns.
        for (plain, faded) in [
            ([10, 90, 10, 10, 10], [50, 10, 50, 99, 50]),
            ([90, 90, 90, 50, 90], [50, 40, 50, 77, 50]),
            ([40, 90, 90, 20, 90], [50, 80, 50, 33, 50]),
        ] {
            tally.plain(flat(&plain));
            tally.faded(flat(&faded));
        }
        assert_eq!(
            tally.count().unwrap(),
            Count {
                pixels: 5,
                alike: 0,
                differing: 0,
                one_sided: 2
            }
        );
    }

    #[test]
    fn sizes_must_agree() {
        let mut tally = Tally::default();
        assert_eq!(tally.count(), None);
        tally.plain(flat(&[1]));
        tally.faded(flat(&[1, 2]));
        assert_eq!(tally.count(), None);
    }

    #[test]
    fn a_capture_is_cropped_in_device_pixels() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 4, 2);
        encoder.set_color(png::ColorType::Rgba);
        let data: Vec<u8> = (0..8_u8).flat_map(|v| [v, v, v, 255]).collect();
        encoder.write_header().unwrap().write_image_data(&data).unwrap();
        // Two device pixels for a CSS pixel: a viewport of 2 by 1.
        let area = Rect {
            x: 100,
            y: 50,
            width: 50,
            height: 50,
        };
        let crop = Crop::of(&bytes, area, [200, 100]).unwrap();
        assert_eq!(
            crop,
            Crop {
                width: 1,
                height: 1,
                rgb: vec![6, 6, 6]
            }
        );
        assert!(Crop::of(b"no picture", area, [200, 100]).is_err());
    }
}
