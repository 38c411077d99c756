//! Contacts: where two colliders touch, or are about to.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A point where two colliders touch, or are about to.
///
/// ```text
///   gap = (point_b − point_a) · normal        > 0 apart, < 0 overlapping
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contact {
    /// Indices of the two colliders, the smaller first.
    pub colliders: (u32, u32),
    /// Names the contact within its pair by the features that touch; the same from step to step as
    /// long as they do. `(colliders, key)` is unique in a list, and the list is sorted by it.
    pub key: u64,
    /// Point of the first collider, world frame, m.
    pub point_a: DVec3,
    /// Point of the second collider, world frame, m.
    pub point_b: DVec3,
    /// Unit vector from the first collider to the second, world frame.
    pub normal: DVec3,
    /// Distance along the normal, m; negative when the colliders overlap.
    pub gap: f64,
}

impl Contact {
    /// The same contact seen from the other side.
    #[inline]
    pub fn flipped(self) -> Contact {
        Contact {
            colliders: (self.colliders.1, self.colliders.0),
            point_a: self.point_b,
            point_b: self.point_a,
            normal: -self.normal,
            ..self
        }
    }
}

/// Two unit vectors that make a right-handed frame `(n, t1, t2)` with the unit vector `n`.
///
/// Continuous everywhere but at the plane n_z = 0, where no frame from n alone can avoid a jump
/// somewhere on the sphere (Duff2017).
#[inline]
pub fn tangents(n: DVec3) -> (DVec3, DVec3) {
    n.any_orthonormal_pair()
}

/// For each contact of `new`, the place of the same contact in `old`, or `u32::MAX` if it is not
/// there.
///
/// Both lists are sorted by pair and key, so one walk along both finds them all.
pub fn matches(old: &[Contact], new: &[Contact], places: &mut Vec<u32>) {
    places.clear();
    let identity = |contact: &Contact| (contact.colliders, contact.key);
    let mut place = 0;
    for contact in new {
        while place < old.len() && identity(&old[place]) < identity(contact) {
            place += 1;
        }
        let found = place < old.len() && identity(&old[place]) == identity(contact);
        places.push(if found { place as u32 } else { u32::MAX });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tangents_make_a_right_handed_frame() {
        let mut directions = vec![DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y, DVec3::Z, -DVec3::Z];
        for i in 0..200 {
            let (a, b) = (i as f64 * 0.37, i as f64 * 1.71);
            directions.push(DVec3::new(a.cos() * b.sin(), a.sin() * b.sin(), b.cos()));
        }
        for n in directions {
            let (t1, t2) = tangents(n);
            // A handful of roundings.
            assert!(t1.dot(n).abs() < 1e-15 && t2.dot(n).abs() < 1e-15 && t1.dot(t2).abs() < 1e-15);
            assert!((t1.length() - 1.0).abs() < 1e-15 && (n.cross(t1) - t2).length() < 1e-15);
        }
    }

    #[test]
    fn matches_finds_what_stayed() {
        let contact = |pair, key| Contact {
            colliders: pair,
            key,
            point_a: DVec3::ZERO,
            point_b: DVec3::ZERO,
            normal: DVec3::Z,
            gap: 0.0,
        };
        let old = [contact((0, 1), 3), contact((0, 1), 7), contact((1, 2), 1)];
        let new = [
            contact((0, 0), 9),
            contact((0, 1), 7),
            contact((0, 2), 7),
            contact((1, 2), 1),
            contact((1, 2), 5),
        ];
        let mut places = vec![];
        matches(&old, &new, &mut places);
        assert_eq!(places, [u32::MAX, 1, u32::MAX, 2, u32::MAX]);
    }
}
