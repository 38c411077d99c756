//! All points where two convex cores touch, once the direction is known.
//!
//! 1. Each core shows the feature (vertex, edge, face) it turns towards the other.
//! 2. A face is cut, along the direction, by the sides of the other's face (Sutherland1974); two
//!    edges that run alike are cut to their common length. The gap is linear over the common area,
//!    so its corners hold the least one.
//! 3. Where the features have a single point in common, or miss the nearest points, those are the
//!    contact.

use super::convex::{Feature, MAX_FLAT_SINE};
use super::direction::{Closest, Pair, segments};
use glam::DVec3;

/// One point of contact between cores, in the frame of the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub point_a: DVec3,
    pub point_b: DVec3,
    /// Names the features that meet.
    pub tag: u64,
}

/// Room for one manifold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub feature_a: Feature,
    pub feature_b: Feature,
    polygon: Vec<Corner>,
    cut: Vec<Corner>,
    pub touches: Vec<Touch>,
    /// Places of the touches that stay.
    pub kept: Vec<u32>,
}

/// A corner of a polygon being cut.
#[derive(Clone, Copy, Debug)]
struct Corner {
    point: DVec3,
    tag: u64,
    /// The edge that leaves the corner.
    edge: u64,
}

/// Tags of the edges of the two polygons, and of the nearest points.
const INCIDENT: u64 = 1 << 32;
const REFERENCE: u64 = 2 << 32;
const NEAREST: u64 = 3 << 32;

/// A corner this part of the size outside still counts as inside: boxes of equal size, stacked,
/// keep their corners.
const INSIDE_TOLERANCE_RATIO: f64 = 1e-6;

/// Mixes two numbers into one that names both (Steele2014).
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x2545_f491_4f6c_dd1d);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Writes the points of contact along `closest.normal` into `scratch.touches`.
///
/// `forced`: the direction is not that of the nearest points (it was turned into the cone that a
/// mesh allows), so only points that lie over each other count.
pub(crate) fn manifold(pair: &Pair, closest: &Closest, forced: bool, scratch: &mut Scratch) {
    let n = closest.normal;
    scratch.touches.clear();
    pair.a.feature(n, &mut scratch.feature_a);
    pair.b.feature(-pair.pose.inverse_vector(n), &mut scratch.feature_b);
    for corner in &mut scratch.feature_b {
        corner.0 = pair.pose.point(corner.0);
    }
    let name = mix(feature_name(&scratch.feature_a), feature_name(&scratch.feature_b));
    match (scratch.feature_a.len(), scratch.feature_b.len()) {
        (1, 1 | 2) | (2, 1) => {}
        (2, 2) => edges(n, scratch),
        (_, _) => faces(n, INSIDE_TOLERANCE_RATIO * pair.scale, scratch),
    }
    // Step 3.
    if forced {
        if scratch.touches.is_empty() {
            meet(n, INSIDE_TOLERANCE_RATIO * pair.scale, name, scratch);
        }
        return;
    }
    let least = scratch
        .touches
        .iter()
        .map(|touch| (touch.point_b - touch.point_a).dot(n))
        .fold(f64::INFINITY, f64::min);
    // A tenth of the skin: corners cut within the skin are as near as the nearest points.
    if closest.distance < least - 0.1 * INSIDE_TOLERANCE_RATIO * pair.scale {
        let tag = if scratch.touches.is_empty() { name } else { mix(name, NEAREST) };
        // The normal may have been polished: measure along it.
        scratch.touches.push(Touch { point_a: closest.point_a, point_b: closest.point_b, tag });
    }
}

/// A number for the whole feature; it does not depend on which corner comes first.
fn feature_name(feature: &Feature) -> u64 {
    mix(
        feature.len() as u64,
        feature.iter().fold(0u64, |sum, corner| sum.wrapping_add(mix(7, corner.1 as u64))),
    )
}

/// A single pair of points of vertices and edges, if one lies over the other.
fn meet(n: DVec3, skin: f64, name: u64, scratch: &mut Scratch) {
    let (a, b) = (&scratch.feature_a, &scratch.feature_b);
    if a.len() > 2 || b.len() > 2 {
        return;
    }
    let flat = |point: DVec3| point - n * point.dot(n);
    let end = |feature: &Feature| [feature[0].0, feature[feature.len() - 1].0];
    let (ends_a, ends_b) = (end(a), end(b));
    let parameter = |ends: [DVec3; 2], point: DVec3| {
        let along = ends[1] - ends[0];
        if along.length_squared() > 0.0 {
            ((point - ends[0]).dot(along) / along.length_squared()).clamp(0.0, 1.0)
        } else {
            0.0
        }
    };
    let shadow = |ends: [DVec3; 2]| ends.map(flat);
    let (shadow_a, shadow_b) = (shadow(ends_a), shadow(ends_b));
    let (s, t) = match (a.len(), b.len()) {
        (2, 2) => {
            let near = segments(shadow_a, shadow_b);
            (parameter(shadow_a, near.point_a), parameter(shadow_b, near.point_b))
        }
        (2, _) => (parameter(shadow_a, shadow_b[0]), 0.0),
        _ => (0.0, parameter(shadow_b, shadow_a[0])),
    };
    let (point_a, point_b) = (ends_a[0].lerp(ends_a[1], s), ends_b[0].lerp(ends_b[1], t));
    if flat(point_b - point_a).length() <= skin {
        scratch.touches.push(Touch { point_a, point_b, tag: name });
    }
}

/// Two edges: the ends of the length they share, if they run alike.
fn edges(n: DVec3, scratch: &mut Scratch) {
    let [a0, a1] = [scratch.feature_a[0], scratch.feature_a[1]];
    let [b0, b1] = [scratch.feature_b[0], scratch.feature_b[1]];
    let flat = |v: DVec3| v - n * v.dot(n);
    let (da, db) = (flat(a1.0 - a0.0), flat(b1.0 - b0.0));
    let length = da.length();
    if length == 0.0 || da.cross(db).length() > MAX_FLAT_SINE * length * db.length() {
        return;
    }
    let along = da / length;
    let place = |point: DVec3| (point - a0.0).dot(along);
    let (mut low, mut high) = ((b0.0, b0.1), (b1.0, b1.1));
    if place(low.0) > place(high.0) {
        std::mem::swap(&mut low, &mut high);
    }
    let (from, to) = (place(low.0), place(high.0));
    let (start, end) = (from.max(0.0), to.min(length));
    if end <= start {
        return;
    }
    let name = mix(a0.1 as u64, a1.1 as u64) ^ mix(b0.1 as u64, b1.1 as u64);
    for (at, limit) in [
        (start, if from > 0.0 { low.1 as u64 } else { REFERENCE | a0.1 as u64 }),
        (end, if to < length { high.1 as u64 } else { REFERENCE | a1.1 as u64 }),
    ] {
        let point_a = a0.0.lerp(a1.0, at / length);
        let point_b = low.0.lerp(high.0, (at - from) / (to - from));
        scratch.touches.push(Touch { point_a, point_b, tag: mix(name, limit) });
    }
}

/// A face and anything: what lies over it.
fn faces(n: DVec3, skin: f64, scratch: &mut Scratch) {
    let of_a = scratch.feature_a.len() > 2;
    let (reference, incident) = if of_a {
        (&scratch.feature_a, &scratch.feature_b)
    } else {
        (&scratch.feature_b, &scratch.feature_a)
    };
    let name = mix(feature_name(reference), of_a as u64);
    scratch.polygon.clear();
    scratch.polygon.extend(incident.iter().map(|&(point, id)| Corner {
        point,
        tag: id as u64,
        edge: INCIDENT | id as u64,
    }));
    // Newell's normal of the reference face; its sign along n says which way the corners run.
    let origin = reference[0].0;
    let normal = reference
        .iter()
        .zip(reference.iter().cycle().skip(1))
        .fold(DVec3::ZERO, |sum, (p, q)| sum + (p.0 - origin).cross(q.0 - origin));
    let turn = normal.dot(n);
    for (i, &(start, id)) in reference.iter().enumerate() {
        let end = reference[(i + 1) % reference.len()].0;
        let out = ((end - start).cross(n) * turn.signum()).normalize_or_zero();
        cut(&scratch.polygon, start, out, (REFERENCE | id as u64, skin), &mut scratch.cut);
        std::mem::swap(&mut scratch.polygon, &mut scratch.cut);
    }
    for corner in &scratch.polygon {
        let on_reference = corner.point - n * ((corner.point - origin).dot(normal) / turn);
        let (point_a, point_b) =
            if of_a { (on_reference, corner.point) } else { (corner.point, on_reference) };
        scratch.touches.push(Touch { point_a, point_b, tag: mix(name, corner.tag) });
    }
}

/// Cuts away what lies beyond a line; `(edge, skin)` are the line's tag and tolerance.
fn cut(
    polygon: &[Corner],
    start: DVec3,
    out: DVec3,
    (edge, skin): (u64, f64),
    result: &mut Vec<Corner>,
) {
    result.clear();
    let beyond = |corner: &Corner| (corner.point - start).dot(out);
    let sides = if polygon.len() > 2 { polygon.len() } else { polygon.len().saturating_sub(1) };
    for i in 0..polygon.len() {
        let corner = polygon[i];
        let here = beyond(&corner);
        let inside = here <= skin;
        if inside {
            result.push(corner);
        }
        if i >= sides {
            continue;
        }
        let next = polygon[(i + 1) % polygon.len()];
        let there = beyond(&next);
        if inside == (there <= skin) {
            continue;
        }
        if here.min(there) > 0.0 {
            // The inner one lies within the skin: it is the crossing.
            if inside {
                result.last_mut().expect("just pushed").edge = edge;
            }
            continue;
        }
        let point = corner.point.lerp(next.point, here / (here - there));
        result.push(Corner {
            point,
            tag: mix(corner.edge, edge),
            edge: if inside { edge } else { corner.edge },
        });
    }
}
