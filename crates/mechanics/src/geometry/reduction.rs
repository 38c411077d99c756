//! Contact reduction: of the contacts of a pair those that carry the load.
//!
//! Contacts at one point become one. Of more than nine on one plane, a half-space or the face of a
//! piece, nine stay: those that touch first where the smaller piece tilts, and the deepest.

use super::contact::Contact;
use super::piece::{Placed, Sink};
use glam::DVec3;

/// Contacts whose normals differ by less (1 − cos) press on one plane: 0.8°.
const ONE_PLANE_COSINE_GAP: f64 = 1e-4;

/// Contacts of a pair on one plane: eight directions and the deepest.
pub(super) const MAX_CONTACTS_PER_PLANE: usize = 9;

/// Distances (relative to the size) and heights that go with them below this are equal: the first
/// point in order is kept, whatever the rounding of the frame that they are given in.
const EQUAL_DISTANCE_RATIO: f64 = 1e-9;

/// A piece that tilts over a plane.
pub(super) struct Tilt {
    /// Across the normal of the plane.
    axes: (DVec3, DVec3),
    /// How far it can tilt within the distance that contacts are looked for, rad.
    angle: f64,
    /// Differences of heights that are none, m.
    equal: f64,
}

impl Tilt {
    /// For a plane with the normal `n`, contacts within `reach` (m), a piece of this size (m).
    pub fn new(n: DVec3, reach: f64, size: f64) -> Tilt {
        let angle = (reach / size).min(1.0);
        Tilt { axes: super::tangents(n), angle, equal: EQUAL_DISTANCE_RATIO * angle * size }
    }
}

/// The places of the points that touch first where a piece tilts in one of eight directions, and of
/// the lowest; where these are fewer than nine, of those between the directions as well. On one
/// plane they are the outermost; of points above it those count that a step can bring down. `at`
/// gives a point and its height, m.
pub(super) fn first_to_touch(
    count: usize,
    tilt: &Tilt,
    kept: &mut Vec<u32>,
    at: impl Fn(usize) -> (DVec3, f64),
) {
    kept.clear();
    let eighth = std::f64::consts::FRAC_PI_4;
    let main = (0..8).map(|k| (tilt.angle, eighth * f64::from(k)));
    let between = (0..8).map(|k| (tilt.angle, eighth * (f64::from(k) + 0.5)));
    for (angle, direction) in main.chain([(0.0, 0.0)]).chain(between) {
        let (sine, cosine) = direction.sin_cos();
        let along = angle * (tilt.axes.0 * cosine + tilt.axes.1 * sine);
        let height = |i: usize| {
            let (point, height) = at(i);
            height - point.dot(along)
        };
        let first = (0..count)
            .map(|i| (i as u32, height(i)))
            .reduce(|a, b| if b.1 < a.1 - tilt.equal { b } else { a });
        if let Some((first, _)) = first.filter(|(first, _)| !kept.contains(first)) {
            kept.push(first);
        }
        if kept.len() == MAX_CONTACTS_PER_PLANE {
            return;
        }
    }
}

impl Sink<'_> {
    /// Drops contacts that repeat an earlier one: features share edges and vertices.
    pub(super) fn unite(&mut self, start: usize, near: f64) {
        let mut kept = start;
        for i in start..self.contacts.len() {
            let contact = self.contacts[i];
            let repeats = |other: &Contact| {
                let [on_a, on_b] =
                    [other.point_a - contact.point_a, other.point_b - contact.point_b];
                on_a.length_squared().max(on_b.length_squared()) <= near * near
                    && other.normal.dot(contact.normal) > 0.999
            };
            if !self.contacts[start..kept].iter().any(repeats) {
                self.contacts[kept] = contact;
                kept += 1;
            }
        }
        self.contacts.truncate(kept);
    }

    /// Of many contacts on one plane keeps those that touch first where the smaller piece tilts.
    pub(super) fn thin(&mut self, start: usize, (a, b): (&Placed, &Placed), group: &mut Vec<u32>) {
        // Seen from the smaller piece, as half-spaces are; the plane's normal leads to it.
        let (piece, turn) = if b.size <= a.size { (b, 1.0) } else { (a, -1.0) };
        let frame = &piece.pose;
        let mut first = start;
        while first < self.contacts.len() && self.contacts.len() - start > MAX_CONTACTS_PER_PLANE {
            let n = self.contacts[first].normal;
            let fresh = &mut self.contacts[first..];
            group.clear();
            group.extend(
                (0..fresh.len() as u32)
                    .filter(|&i| 1.0 - fresh[i as usize].normal.dot(n) <= ONE_PLANE_COSINE_GAP),
            );
            // The plane's contacts to the front, in their order.
            for (place, &from) in group.iter().enumerate() {
                fresh[place..=from as usize].rotate_right(1);
            }
            let count = group.len();
            if count > MAX_CONTACTS_PER_PLANE {
                let tilt = Tilt::new(turn * frame.inverse_vector(n), self.prediction, piece.size);
                let members = &fresh[..count];
                first_to_touch(count, &tilt, group, |i| {
                    let contact = &members[i];
                    let on_piece = if turn > 0.0 { contact.point_b } else { contact.point_a };
                    (frame.inverse_point(on_piece), contact.gap)
                });
                let mut place = 0;
                for i in 0..count {
                    if group.contains(&(i as u32)) {
                        fresh[place] = fresh[i];
                        place += 1;
                    }
                }
                self.contacts.drain(first + place..first + count);
                first += place;
            } else {
                first += count;
            }
        }
    }
}
