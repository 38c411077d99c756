//! What the rows of a contact between rigid bodies are made of.
//!
//! ```text
//!   row i of the contact, on the velocities v and the angular velocities ω of a body:
//!     ∓ d_i          on v, in the axes of the world            − the first body, + the second
//!     ∓ Rᵀ(a × d_i)  on ω, in the axes of the body             a its arm, R its attitude
//! ```
//!
//! d the three directions of the contact (normal first), a the arm from the centre of mass to the
//! point of contact, both in the axes of the world. This stands beside the rows of J, for those
//! contacts whose maker knows it: [`RigidContacts::rows`] gives the same rows to the bit. Methods
//! may read either; a problem without it is the same problem. The inertia of a body is its block
//! of H, and is not told again.

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// Unknowns of a rigid body: its velocity, then its angular velocity.
pub const UNKNOWNS_OF_BODY: usize = 6;

/// How far a row may lie from what it is made of, of its largest entry: files may have been written
/// with fewer digits than a number has.
const ROW_TOLERANCE: f64 = 1e-9;

/// A rigid body: which unknowns are its velocities, and how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigidBody {
    /// The first of its six unknowns.
    pub column: u32,
    /// Unit quaternion (x, y, z, w) from the axes of the body to those of the world.
    pub attitude: [f64; 4],
}

/// The three rows of a block as a contact of rigid bodies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RigidContact {
    /// The block of J.
    pub block: u32,
    /// Its two bodies, by their places in [`RigidContacts::bodies`]; none for what does not move.
    pub bodies: [Option<u32>; 2],
    /// Its directions in the axes of the world, from the first body to the second: normal, two
    /// tangents.
    pub frame: [[f64; 3]; 3],
    /// From the centre of mass of each body to the point of contact, in the axes of the world, m.
    pub arms: [[f64; 3]; 2],
}

/// The rigid contacts of a problem, and each of their bodies once.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RigidContacts {
    /// Bodies, by ascending columns.
    pub bodies: Vec<RigidBody>,
    /// Contacts, by ascending blocks.
    pub contacts: Vec<RigidContact>,
}

impl Clone for RigidContacts {
    fn clone(&self) -> RigidContacts {
        RigidContacts { bodies: self.bodies.clone(), contacts: self.contacts.clone() }
    }

    fn clone_from(&mut self, other: &RigidContacts) {
        self.bodies.clone_from(&other.bodies);
        self.contacts.clone_from(&other.contacts);
    }
}

impl RigidContact {
    /// `(linear, angular)` of row `i` on one of its bodies, which stands so.
    #[inline]
    fn row(&self, i: usize, side: usize, attitude: [f64; 4]) -> [DVec3; 2] {
        let d = DVec3::from(self.frame[i]) * [-1.0, 1.0][side];
        let turn = DVec3::from(self.arms[side]).cross(d);
        // Zeros of J have no sign.
        [DVec3::ZERO + d, DVec3::ZERO + DQuat::from_array(attitude).conjugate() * turn]
    }
}

impl RigidContacts {
    /// True if there is no contact.
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.bodies.clear();
        self.contacts.clear();
    }

    /// What block `k` of J is made of, if it is known.
    pub fn of_block(&self, k: usize) -> Option<&RigidContact> {
        let at = self.contacts.binary_search_by_key(&k, |contact| contact.block as usize).ok()?;
        Some(&self.contacts[at])
    }

    /// The two sides of a contact that can move, by ascending columns: which one, and its body.
    #[inline]
    pub fn sides(&self, contact: &RigidContact) -> [Option<(usize, &RigidBody)>; 2] {
        let side = |s: usize| contact.bodies[s].map(|b| (s, &self.bodies[b as usize]));
        match (side(0), side(1)) {
            (Some(a), Some(b)) if b.1.column < a.1.column => [Some(b), Some(a)],
            (None, b) => [b, None],
            both => [both.0, both.1],
        }
    }

    /// Columns and values, row by row, of the block that a contact is.
    pub fn rows(&self, contact: &RigidContact, columns: &mut Vec<u32>, values: &mut Vec<f64>) {
        columns.clear();
        values.clear();
        for (_, body) in self.sides(contact).iter().flatten() {
            columns.extend((0..UNKNOWNS_OF_BODY as u32).map(|j| body.column + j));
        }
        values.extend(self.values(contact));
    }

    /// The values of its rows, row by row.
    fn values(&self, contact: &RigidContact) -> impl Iterator<Item = f64> {
        let sides = self.sides(contact);
        (0..3).flat_map(move |i| {
            let sides = sides.into_iter().flatten();
            sides
                .flat_map(move |(s, body)| contact.row(i, s, body.attitude))
                .flat_map(|x| x.to_array())
        })
    }

    /// True if these columns and values of three rows are this contact, but for the rounding of a
    /// file.
    pub(super) fn agrees(&self, contact: &RigidContact, columns: &[u32], values: &[f64]) -> bool {
        let six = UNKNOWNS_OF_BODY as u32;
        let own =
            self.sides(contact).into_iter().flatten().flat_map(|(_, b)| b.column..b.column + six);
        let largest = values.iter().fold(0.0f64, |a, x| a.max(x.abs()));
        // What is not a number is not near.
        let near = |(a, b): (&f64, f64)| (a - b).abs() <= ROW_TOLERANCE * largest;
        columns.iter().copied().eq(own)
            && values.len() == 3 * columns.len()
            && values.iter().zip(self.values(contact)).all(near)
    }

    /// Keeps those contacts whose blocks are listed, ascending, as blocks 0, 1, …, and the bodies
    /// whose columns are `unknowns`, ascending, as columns 0, 1, …; in the memory of `out`.
    pub fn cut(&self, blocks: &[u32], unknowns: &[u32], out: &mut RigidContacts) {
        out.clear();
        if self.is_empty() {
            return;
        }
        let mut next = 0;
        for (p, &j) in unknowns.iter().enumerate() {
            // Nearly always the next one.
            if self.bodies.get(next).is_some_and(|body| body.column < j) {
                next += self.bodies[next..].partition_point(|body| body.column < j);
            }
            if let Some(body) = self.bodies.get(next).filter(|body| body.column == j) {
                out.bodies.push(RigidBody { column: p as u32, ..*body });
                next += 1;
            }
        }
        let place = |body: u32, out: &[RigidBody]| {
            let column = unknowns.binary_search(&self.bodies[body as usize].column).ok()? as u32;
            out.binary_search_by_key(&column, |body| body.column).ok().map(|at| at as u32)
        };
        let mut next = 0;
        for (p, &k) in blocks.iter().enumerate() {
            if self.contacts.get(next).is_some_and(|contact| contact.block < k) {
                next += self.contacts[next..].partition_point(|contact| contact.block < k);
            }
            let Some(contact) = self.contacts.get(next).filter(|c| c.block == k) else { continue };
            next += 1;
            let bodies = contact.bodies.map(|body| body.map(|body| place(body, &out.bodies)));
            let all_there = bodies.iter().all(|body| *body != Some(None));
            if all_there {
                let bodies = bodies.map(Option::flatten);
                out.contacts.push(RigidContact { block: p as u32, bodies, ..*contact });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Invalid, Rows};

    /// Three bodies, the second of which owns the first unknowns; a contact of two, one with the
    /// ground, one block that is no contact.
    fn sample() -> Rows {
        let mut rows = Rows::new(20);
        let turned = |axis: DVec3, angle| DQuat::from_axis_angle(axis, angle).to_array();
        rows.rigid.bodies = vec![
            RigidBody { column: 1, attitude: turned(DVec3::X, 0.3) },
            RigidBody { column: 7, attitude: turned(DVec3::Y, -1.3) },
            RigidBody { column: 14, attitude: turned(DVec3::Z, 2.0) },
        ];
        let n = DVec3::new(0.6, 0.0, 0.8);
        let frame = [n, DVec3::Y, n.cross(DVec3::Y)].map(|d| d.to_array());
        let contact = |bodies| RigidContact {
            block: 0,
            bodies,
            frame,
            arms: [[0.1, 0.2, 0.3], [-0.4, 0.5, 0.6]],
        };
        rows.push_contact(contact([Some(2), Some(0)]));
        rows.push(1, &[0, 19], &[1.0, 2.0]);
        rows.push_contact(contact([None, Some(1)]));
        rows
    }

    #[test]
    fn rows_are_made_of_frames_and_arms() {
        let rows = sample();
        rows.check_rigid().unwrap();
        let block = rows.block(0);
        assert_eq!(block.columns, [1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19]);
        // The body with the first unknowns is the second of the contact.
        assert_eq!(block.row(0)[..3], [0.6, 0.0, 0.8]);
        assert_eq!(block.row(1)[6..9], [0.0, -1.0, 0.0]);
        // ω in the axes of the body: the velocity of the point of contact is v + (Rω) × a.
        let omega = DVec3::new(0.3, -0.7, 1.1);
        let [x, y, z, w] = rows.rigid.bodies[0].attitude;
        let velocity = (DQuat::from_xyzw(x, y, z, w) * omega).cross(DVec3::new(-0.4, 0.5, 0.6));
        let felt = DVec3::from_slice(&block.row(2)[3..6]).dot(omega);
        let direction = DVec3::from(rows.rigid.contacts[0].frame[2]);
        assert!((felt - direction.dot(velocity)).abs() < 1e-15);
        assert_eq!(rows.rigid.of_block(2).unwrap().bodies, [None, Some(1)]);
        assert!(rows.rigid.of_block(1).is_none());
    }

    #[test]
    fn parts_of_it_are_cut_out() {
        let rows = sample();
        let mut part = RigidContacts::default();
        let unknowns: Vec<u32> = (0..7).chain(14..20).collect();
        rows.rigid.cut(&[0, 1], &unknowns, &mut part);
        let columns: Vec<u32> = part.bodies.iter().map(|body| body.column).collect();
        assert_eq!(columns, [1, 7]);
        assert_eq!(part.contacts.len(), 1);
        assert_eq!(part.contacts[0].bodies, [Some(1), Some(0)]);
        // A contact without one of its bodies is none.
        rows.rigid.cut(&[0, 2], &[7, 8, 9, 10, 11, 12, 13], &mut part);
        assert_eq!((part.bodies.len(), part.contacts.len()), (1, 1));
        assert_eq!((part.contacts[0].block, part.contacts[0].bodies), (1, [None, Some(0)]));
    }

    #[test]
    fn contacts_that_are_not_their_rows_are_named() {
        let wrong = |spoil: fn(&mut Rows)| {
            let mut rows = sample();
            spoil(&mut rows);
            rows.check_rigid().unwrap_err()
        };
        assert_eq!(wrong(|rows| rows.values[5] += 1e-6), Invalid::Contact { block: 0 });
        let arm = wrong(|rows| rows.rigid.contacts[1].arms[1][0] = f64::NAN);
        assert_eq!(arm, Invalid::Contact { block: 2 });
        let body = wrong(|rows| rows.rigid.contacts[0].bodies[1] = Some(3));
        assert!(matches!(body, Invalid::Index { found: 3, wanted: 3, .. }));
        let block = wrong(|rows| rows.rigid.contacts[1].block = 0);
        assert!(matches!(block, Invalid::Index { .. }));
        let column = wrong(|rows| rows.rigid.bodies[2].column = 15);
        assert_eq!(column, Invalid::Contact { block: 0 });
    }
}
