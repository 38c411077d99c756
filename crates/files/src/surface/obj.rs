//! Wavefront (.obj): corners and faces, and the diffuse colours of the material files beside it.

use super::{Beside, Mesh, Welder, point};
use glam::DVec3;
use std::collections::HashMap;

/// Reads a file.
pub(super) fn read(text: &str, beside: Beside<'_>) -> Result<Mesh, String> {
    let mut points: Vec<DVec3> = Vec::new();
    let mut welder = Welder::default();
    let mut materials = HashMap::new();
    for (n, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => points.push(point(words, n)?),
            Some("f") => {
                let corners: Vec<DVec3> =
                    words.map(|word| corner(word, &points, n)).collect::<Result<_, _>>()?;
                welder.polygon(&corners);
            }
            // A material file that is missing costs colours only.
            Some("mtllib") => {
                let name = line.trim_start().trim_start_matches("mtllib").trim();
                if let Ok(bytes) = beside(name) {
                    materials.extend(colors(&String::from_utf8_lossy(&bytes)));
                }
            }
            Some("usemtl") => {
                welder.color = words.next().and_then(|name| materials.get(name).copied());
            }
            _ => {}
        }
    }
    Ok(welder.mesh)
}

/// The diffuse colour of each material of a file.
fn colors(text: &str) -> HashMap<String, [u8; 3]> {
    let mut out = HashMap::new();
    let mut name = None;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("newmtl") => name = words.next().map(String::from),
            Some("Kd") => {
                let rgb: Vec<f64> = words.filter_map(|w| w.parse().ok()).collect();
                if let (Some(name), Some(color)) = (&name, crate::surface::color(&rgb)) {
                    out.insert(name.clone(), color);
                }
            }
            _ => {}
        }
    }
    out
}

/// A corner of a face, `7`, `7/1`, `7//3` or counted from the end, `-1`.
fn corner(word: &str, points: &[DVec3], line: usize) -> Result<DVec3, String> {
    let number: Option<i64> = word.split('/').next().and_then(|w| w.parse().ok());
    let place = number.map(|i| if i < 0 { points.len() as i64 + i } else { i - 1 });
    let found = place.and_then(|i| usize::try_from(i).ok()).and_then(|i| points.get(i));
    found.copied().ok_or_else(|| {
        format!(
            "line {}: the face names the corner `{word}`, but there are {} so far",
            line + 1,
            points.len()
        )
    })
}
