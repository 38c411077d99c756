//! Contact reduction: of the contacts of a pair those that carry the load.
//!
//! Contacts at one point become one. Of more than eight on one plane the corners of the area that
//! they span stay, and the deepest.

use super::contact::Contact;
use super::narrow::{MAX_CONTACTS_PER_PAIR, Sink};
use crate::math::pose::Pose;
use glam::{DVec2, DVec3};

/// Contacts whose normals differ by less (1 − cos) press on one plane: 0.8°.
const ONE_PLANE_COSINE_GAP: f64 = 1e-4;

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

    /// Of many contacts on one plane keeps the corners of the area that they span, those that span
    /// most of it if they are many, and the deepest. `corners`: all belong to corners of a piece
    /// over one face; then the choice is that of a half-space.
    pub(super) fn thin(
        &mut self,
        start: usize,
        frame: &Pose,
        corners: bool,
        (group, order): (&mut Vec<u32>, &mut Vec<u32>),
    ) {
        let mut first = start;
        while first < self.contacts.len() && self.contacts.len() - start > MAX_CONTACTS_PER_PAIR {
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
            if count > MAX_CONTACTS_PER_PAIR {
                let (t1, t2) = super::tangents(frame.inverse_vector(n));
                let axes = (frame.vector(t1), frame.vector(t2));
                let members = &fresh[..count];
                if corners {
                    outermost(members, axes, group);
                } else {
                    spanning(members, axes, group, order);
                }
                let deepest =
                    (0..count).reduce(|a, b| if members[b].gap < members[a].gap { b } else { a });
                group.extend(deepest.map(|i| i as u32));
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

/// The places of the contacts that lie outermost in eight directions.
fn outermost(contacts: &[Contact], (t1, t2): (DVec3, DVec3), places: &mut Vec<u32>) {
    places.clear();
    for k in 0..MAX_CONTACTS_PER_PAIR {
        let (sine, cosine) =
            (k as f64 * std::f64::consts::TAU / MAX_CONTACTS_PER_PAIR as f64).sin_cos();
        let direction = t1 * cosine + t2 * sine;
        let far = |i: usize| contacts[i].point_b.dot(direction);
        let best = (0..contacts.len()).reduce(|a, b| if far(b) > far(a) { b } else { a });
        places.extend(best.map(|i| i as u32));
    }
}

/// The places of the corners of the convex hull of the contacts (Andrew1979); of more than eight
/// those go first that span the smallest triangle with their neighbours.
fn spanning(
    contacts: &[Contact],
    (t1, t2): (DVec3, DVec3),
    places: &mut Vec<u32>,
    order: &mut Vec<u32>,
) {
    let origin = contacts[0].point_b;
    let at = |i: u32| {
        let offset = contacts[i as usize].point_b - origin;
        DVec2::new(offset.dot(t1), offset.dot(t2))
    };
    let area = |a: u32, b: u32, c: u32| (at(b) - at(a)).perp_dot(at(c) - at(a));
    order.clear();
    order.extend(0..contacts.len() as u32);
    order.sort_unstable_by(|&a, &b| {
        (at(a).x, at(a).y).partial_cmp(&(at(b).x, at(b).y)).expect("finite").then(a.cmp(&b))
    });
    places.clear();
    // Lower side from left to right, then upper side back.
    for backwards in [false, true] {
        let base = places.len().max(1);
        for k in 0..order.len() {
            let next = if backwards { order[order.len() - 1 - k] } else { order[k] };
            while places.len() > base
                && area(places[places.len() - 2], places[places.len() - 1], next) <= 0.0
            {
                places.pop();
            }
            if places.last() != Some(&next) {
                places.push(next);
            }
        }
    }
    if places.len() > 1 {
        places.pop();
    }
    while places.len() > MAX_CONTACTS_PER_PAIR {
        let count = places.len();
        let spanned =
            |i: usize| area(places[(i + count - 1) % count], places[i], places[(i + 1) % count]);
        let least = (0..count)
            .reduce(|a, b| if spanned(b) < spanned(a) { b } else { a })
            .expect("more than eight");
        places.remove(least);
    }
}
