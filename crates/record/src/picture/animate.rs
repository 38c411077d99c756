//! Animations: GIF with one palette for all pictures, so that nothing flickers.

use super::raster::Image;
use super::{Drawing, picture};
use crate::record::Record;
use std::collections::HashMap;

/// Pictures that an animation has at most.
const MAX_FRAMES: usize = 600;

/// The whole run as a GIF, and what to say of it.
pub fn gif(record: &mut Record, drawing: &Drawing) -> Result<(Vec<u8>, String), String> {
    let times = record.times();
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
        return Err("the record holds no frames yet".into());
    };
    if !(drawing.fps >= 1 && drawing.fps <= 50 && drawing.slower > 0.0) {
        return Err("wanted --fps from 1 to 50 and --slower above 0".into());
    }
    let count = (((last - first) * drawing.slower * f64::from(drawing.fps)).round() as usize + 1)
        .clamp(1, MAX_FRAMES);
    let mut images = Vec::with_capacity(count);
    for k in 0..count {
        let time = first + (last - first) * k as f64 / (count.max(2) - 1) as f64;
        let place = record.nearest(time).unwrap_or(0);
        let moment = record.moment(place).map_err(|e| e.to_string())?;
        images.push(picture(&record.head, &moment, drawing));
    }
    let delay = (100.0 / f64::from(drawing.fps)).round() as u16;
    Ok((encode(&images, delay)?, format!(", {count} pictures")))
}

fn encode(images: &[Image], delay: u16) -> Result<Vec<u8>, String> {
    let (width, height) = (images[0].width, images[0].height);
    // The palette comes from pixels of all pictures; a shade that covers much does not count more
    // than a few pixels of a ball.
    let mut counts: HashMap<[u8; 3], u32> = HashMap::new();
    let mut rare = |p: &&[u8; 3]| {
        let count = counts.entry(p.map(|c| c >> 3)).or_default();
        *count += 1;
        *count <= 24
    };
    let every = (images.len() * width * height / 2_000_000).max(1) | 1;
    let shades =
        images.iter().flat_map(|i| &i.pixels).step_by(every).filter(|p| rare(p)).take(65_000);
    let sample: Vec<u8> = shades.flat_map(|p| [p[0], p[1], p[2], 255]).collect();
    let palette = color_quant(&sample);
    let mut bytes = Vec::new();
    let mut encoder = gif::Encoder::new(&mut bytes, width as u16, height as u16, &palette)
        .map_err(|e| e.to_string())?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(|e| e.to_string())?;
    let mut nearest: HashMap<[u8; 3], u8> = HashMap::new();
    for image in images {
        let index = |p: &[u8; 3]| {
            // Neighbouring shades share an entry.
            let key = p.map(|c| c & 0xfc);
            *nearest.entry(key).or_insert_with(|| closest(&palette, key))
        };
        let buffer: Vec<u8> = image.pixels.iter().map(index).collect();
        let frame = gif::Frame {
            delay,
            width: width as u16,
            height: height as u16,
            buffer: buffer.into(),
            ..gif::Frame::default()
        };
        encoder.write_frame(&frame).map_err(|e| e.to_string())?;
    }
    drop(encoder);
    Ok(bytes)
}

/// 256 colours for these pixels (red, green, blue, opacity).
fn color_quant(pixels: &[u8]) -> Vec<u8> {
    let n = pixels.len() / 4;
    // The encoder's own choice of a palette for one picture of n pixels.
    let frame = gif::Frame::from_rgba_speed(n as u16, 1, &mut pixels.to_vec(), 3);
    let mut palette = frame.palette.unwrap_or_default();
    palette.resize(256 * 3, 0);
    palette
}

fn closest(palette: &[u8], color: [u8; 3]) -> u8 {
    let distance = |entry: &[u8]| {
        (0..3).map(|k| (i32::from(entry[k]) - i32::from(color[k]) - 2).pow(2)).sum::<i32>()
    };
    let best = palette.chunks_exact(3).enumerate().min_by_key(|(_, entry)| distance(entry));
    best.map_or(0, |(i, _)| i as u8)
}
