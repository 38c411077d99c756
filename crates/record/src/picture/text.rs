//! Letters on images: Inter (SIL Open Font License, `cli/assets/inter-license.txt`), the characters
//! of plain English and a few signs.

use super::raster::Image;
use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};

/// The font.
const INTER: &[u8] = include_bytes!("../../assets/inter.ttf");

fn font() -> Option<FontRef<'static>> {
    FontRef::try_from_slice(INTER).ok()
}

/// How wide a text is in letters of this height, pixels.
pub fn width(text: &str, height: f32) -> f32 {
    font().map_or(0.0, |font| {
        let scaled = font.as_scaled(PxScale::from(height * 1.2));
        text.chars().map(|c| scaled.h_advance(scaled.glyph_id(c))).sum()
    })
}

/// Writes a text whose first letter stands at a place (left end of its base line).
pub fn write(image: &mut Image, text: &str, height: f32, at: [f32; 2], color: [u8; 3]) {
    let Some(font) = font() else { return };
    let scaled = font.as_scaled(PxScale::from(height * 1.2));
    let mut x = at[0];
    for c in text.chars() {
        let glyph = scaled
            .glyph_id(c)
            .with_scale_and_position(PxScale::from(height * 1.2), point(x, at[1]));
        x += scaled.h_advance(glyph.id);
        let Some(outline) = font.outline_glyph(glyph) else { continue };
        let corner = outline.px_bounds().min;
        outline.draw(|dx, dy, cover| {
            blend(
                image,
                [corner.x as i64 + i64::from(dx), corner.y as i64 + i64::from(dy)],
                color,
                cover,
            )
        });
    }
}

/// Puts a colour over a pixel; nothing outside of the image.
pub fn blend(image: &mut Image, [x, y]: [i64; 2], color: [u8; 3], cover: f32) {
    if x < 0 || y < 0 || x as usize >= image.width || y as usize >= image.height {
        return;
    }
    let pixel = &mut image.pixels[y as usize * image.width + x as usize];
    for (old, new) in pixel.iter_mut().zip(color) {
        *old = (f32::from(*old) + (f32::from(new) - f32::from(*old)) * cover.clamp(0.0, 1.0))
            .round() as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_drawn_where_they_should_be() {
        let mut image = Image { width: 120, height: 40, pixels: vec![[255; 3]; 120 * 40] };
        write(&mut image, "t = 0.5 s", 16.0, [10.0, 30.0], [0; 3]);
        let dark: Vec<usize> =
            (0..image.pixels.len()).filter(|i| image.pixels[*i][0] < 128).collect();
        assert!(dark.len() > 60, "{} pixels", dark.len());
        let end = 10.0 + width("t = 0.5 s", 16.0);
        assert!(dark.iter().all(|i| (10..=end as usize).contains(&(i % 120)) && (12..=31).contains(&(i / 120))));
        // Outside of the image nothing happens.
        write(&mut image, "t", 16.0, [-100.0, 900.0], [0; 3]);
    }
}
