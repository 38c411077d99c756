//! Attitudes of bodies, read off the rows of their contacts.
//!
//! Angular velocities may be in the axes of each body, and a problem does not tell how these stand;
//! but the rows of a contact do. With the linear part `l_i` of row i (three orthonormal
//! directions), the arm r of the contact and the attitude R of the body, the angular part is
//!
//! ```text
//!   g_i = Rᵀ (r × l_i)        so that        B = Σ g_i l_iᵀ = Rᵀ [r]×,     BᵀB = ‖r‖² I − r rᵀ
//! ```
//!
//! which gives r but for its sign, and R from `Rᵀ(r × x) = B x` for two x across r: two attitudes
//! from one contact, half a turn about r apart. The other contacts of the body tell which of them
//! holds, or that none does; where both explain all rows, either will do.
//!
//! Whitened by G (`GᵀG` the inverse inertia, in the axes of the problem) the angular part is
//! `G Rᵀ (r × l_i)`. Any rotation may follow the whitening: with the one that leaves zeros below
//! the diagonal of `U = Q G Rᵀ` six numbers of the body and the arm in the axes of the world are
//! all there is to know ([`super::contact_frames`]).

use super::Settings;
use super::contact_frames::Body;
use super::rows::Storage;
use super::system::GROUP;
use super::whitening::Layout;
use crate::problem::{Problem, RowBlock};
use glam::{DMat3, DVec3};

/// How far `R g_i` may lie from `a × l_i`, of ‖a‖ ‖l_i‖: some hundred roundings of products of unit
/// vectors.
const ARM_TOLERANCE: f64 = 1e-13;

/// What is known of a body's attitude.
#[derive(Clone, Copy, Default)]
pub(super) struct Attitude {
    /// True if a contact was seen, and one with an arm; before, any attitude will do.
    met: bool,
    found: bool,
    /// Attitudes that the contacts allow, `count` of them.
    allowed: [DMat3; 2],
    count: usize,
}

impl Attitude {
    /// Takes in the linear and angular parts of a contact's rows; false if no attitude is left.
    fn learn(&mut self, linear: [DVec3; 3], angular: [DVec3; 3]) -> bool {
        self.met = true;
        let b = outer(angular, linear);
        if !self.found && b != DMat3::ZERO {
            (self.allowed, self.found, self.count) = (attitudes(b), true, 2);
        }
        if self.found {
            let mut kept = 0;
            for i in 0..self.count {
                let r = self.allowed[i];
                if has_arm(linear, angular.map(|g| r * g)) {
                    self.allowed[kept] = r;
                    kept += 1;
                }
            }
            self.count = kept;
        }
        if self.found { self.count > 0 } else { angular == [DVec3::ZERO; 3] }
    }

    fn matrix(&self) -> DMat3 {
        if self.count > 0 { self.allowed[0] } else { DMat3::IDENTITY }
    }
}

impl Layout {
    /// Turns the whitened angular velocities of the bodies of these blocks, rigid contacts, into
    /// the axes of the world if that pays and if all of them have frames and arms: the form for
    /// them. None, and nothing has changed, otherwise.
    pub(super) fn turn<B: Iterator<Item = usize>>(
        &mut self,
        problem: &Problem,
        blocks: impl Fn() -> B,
        settings: &Settings,
    ) -> Option<Storage> {
        let count = blocks().count();
        if !settings.far(count, Storage::Round) {
            return None;
        }
        let round = blocks().all(|k| {
            problem.J.block(k).columns.iter().all(|&j| self.round(self.owner[j as usize]).is_some())
        });
        let form = if round { Storage::Round } else { Storage::Frame };
        if !settings.far(count, form) {
            return None;
        }
        let mut attitudes = std::mem::take(&mut self.attitudes);
        attitudes.clear();
        attitudes.resize(self.groups.len(), Attitude::default());
        let learned = blocks().all(|k| self.learn(&problem.J.block(k), &mut attitudes));
        if learned {
            self.turned = true;
            self.bodies.clear();
            for (group, attitude) in attitudes.iter().enumerate() {
                let body = self.turn_group(group, attitude);
                self.bodies.push(body);
            }
        }
        self.attitudes = attitudes;
        learned.then_some(form)
    }

    /// Learns what a block tells of its bodies; false if it is no frame with arms.
    fn learn(&self, block: &RowBlock<'_>, attitudes: &mut [Attitude]) -> bool {
        let (sixes, _) = block.columns.as_chunks::<GROUP>();
        sixes.iter().enumerate().all(|(side, six)| {
            let part = |first: usize| {
                [0, 1, 2].map(|i| DVec3::from_slice(&block.row(i)[side * GROUP + first..]))
            };
            is_frame(part(0))
                && attitudes[self.owner[six[0] as usize] as usize].learn(part(0), part(3))
        })
    }

    /// Turns a body, if its contacts told something of it, and says what they need to know of it.
    fn turn_group(&mut self, group: usize, attitude: &Attitude) -> Body {
        let (r, root) = (attitude.matrix(), self.root(group as u32).unwrap_or(0.0));
        let u = match self.round(group as u32) {
            Some(inertia) => DMat3::from_diagonal(DVec3::splat(inertia)),
            None => upper(self.angular(group) * r.transpose()),
        };
        if attitude.met {
            self.whiten_angular(group, u * r);
        }
        [u.x_axis.x, u.y_axis.x, u.z_axis.x, u.y_axis.y, u.z_axis.y, u.z_axis.z, root, 0.0]
    }
}

/// The U with zeros below its diagonal and `UᵀU = MᵀM`, M not singular: columns made orthogonal one
/// after the other.
fn upper(m: DMat3) -> DMat3 {
    let (x, xx) = m.x_axis.normalize_and_length();
    let xy = x.dot(m.y_axis);
    let (y, yy) = (m.y_axis - xy * x).normalize_and_length();
    let (xz, yz) = (x.dot(m.z_axis), y.dot(m.z_axis));
    let zz = (m.z_axis - xz * x - yz * y).length();
    DMat3::from_cols(DVec3::new(xx, 0.0, 0.0), DVec3::new(xy, yy, 0.0), DVec3::new(xz, yz, zz))
}

/// True if the third direction is across the other two, which have lengths.
fn is_frame([a, b, c]: [DVec3; 3]) -> bool {
    let across = a.cross(b);
    let kappa = across.dot(c) / across.length_squared();
    (c - kappa * across).length_squared() <= ARM_TOLERANCE * ARM_TOLERANCE * c.length_squared()
}

/// The arm a with `α_i = a × d_i` for three directions across each other, of any lengths.
pub(super) fn arm(d: [DVec3; 3], alpha: [DVec3; 3]) -> DVec3 {
    // [a]× = Σ α_i d_iᵀ / ‖d_i‖²
    let b = outer(alpha, d.map(|d| if d == DVec3::ZERO { d } else { d / d.length_squared() }));
    0.5 * DVec3::new(b.y_axis.z - b.z_axis.y, b.z_axis.x - b.x_axis.z, b.x_axis.y - b.y_axis.x)
}

/// True if there is such an arm.
fn has_arm(d: [DVec3; 3], alpha: [DVec3; 3]) -> bool {
    let a = arm(d, alpha);
    let square = ARM_TOLERANCE * ARM_TOLERANCE * a.length_squared();
    d.into_iter()
        .zip(alpha)
        .all(|(d, alpha)| (alpha - a.cross(d)).length_squared() <= square * d.length_squared())
}

/// Both R with `B = Rᵀ [r]×`, from a B that is not zero.
fn attitudes(b: DMat3) -> [DMat3; 2] {
    let bb = b.transpose() * b;
    // r rᵀ = ‖r‖² I − BᵀB: the column of the largest entry of the diagonal is r times its largest
    // entry.
    let square = 0.5 * (bb.x_axis.x + bb.y_axis.y + bb.z_axis.z);
    let rr = DMat3::from_diagonal(DVec3::splat(square)) - bb;
    let along =
        rr.col(DVec3::new(rr.x_axis.x, rr.y_axis.y, rr.z_axis.z).max_position()).normalize();
    let across = along.any_orthonormal_vector();
    [along, -along].map(|along| {
        let third = along.cross(across);
        // Where the body has these three: Rᵀ x₂ ∝ B x₁, Rᵀ x₁ ∝ −B x₂.
        let y1 = (-(b * third)).normalize();
        let y2 = (b * across).reject_from_normalized(y1).normalize();
        DMat3::from_cols(across, third, along) * DMat3::from_cols(y1, y2, y1.cross(y2)).transpose()
    })
}

/// `Σ a_i b_iᵀ`.
fn outer(a: [DVec3; 3], b: [DVec3; 3]) -> DMat3 {
    DMat3::from_cols_array_2d(&a.map(|a| a.to_array()))
        * DMat3::from_cols_array_2d(&b.map(|b| b.to_array())).transpose()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::problem::test_problems::Lcg;

    pub(in super::super) fn draw(x: &mut Lcg) -> DVec3 {
        DVec3::new(x.draw(), x.draw(), x.draw())
    }

    /// Three orthonormal directions.
    pub(in super::super) fn frame(x: &mut Lcg) -> [DVec3; 3] {
        let n = draw(x).normalize();
        let t = n.cross(draw(x)).normalize();
        [n, t, n.cross(t)]
    }

    #[test]
    fn the_contacts_of_a_body_tell_its_attitude() {
        let mut x = Lcg::new(5);
        for _ in 0..200 {
            let [a, b, c] = frame(&mut x);
            let attitude = DMat3::from_cols(a, b, c);
            let mut known = Attitude::default();
            for contact in 0..4 {
                let frame = frame(&mut x);
                // The first at the middle of the body: it tells nothing.
                let r = if contact == 0 { DVec3::ZERO } else { draw(&mut x) };
                assert!(
                    known.learn(frame, frame.map(|l| attitude.transpose() * r.cross(l))),
                    "contact {contact}"
                );
                assert_eq!(known.count, [0, 2, 1, 1][contact], "the second arm decides");
            }
            // Rounding of an arm that may be as short as a hundredth of the numbers it comes from.
            assert!(known.matrix().abs_diff_eq(attitude, 1e-12));
            // A row that no attitude explains.
            let frame = frame(&mut x);
            assert!(!known.learn(frame, frame.map(|_| draw(&mut x))));
        }
    }
}
