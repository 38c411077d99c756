//! Axes for round bodies: those whose inertia is the same about all axes.
//!
//! Angular velocities may be in the axes of each body, and a problem does not tell how these stand; but the rows of a contact do. With the
//! linear part `l_i` of row i (three orthonormal directions), the arm r of the contact and the attitude R of the body, the angular part is
//!
//! ```text
//!   g_i = Rᵀ (r × l_i)        so that        B = Σ g_i l_iᵀ = Rᵀ [r]×,     BᵀB = ‖r‖² I − r rᵀ
//! ```
//!
//! which gives r but for its sign, and R from `Rᵀ(r × x) = B x` for two x across r: two attitudes from one contact, half a turn about r
//! apart. The other contacts of the body tell which of them holds, or that none does. For a round body R may be put into the whitening: the
//! angular part of every row is then `a × l_i` with one arm a, in the axes of the world ([`super::rows::Round`]).

use super::image::Layout;
use super::system::GROUP;
use crate::problem::{Problem, RowBlock};

type Vector = [f64; 3];
/// Three rows.
type Matrix = [Vector; 3];

const UNIT: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// How far `R g_i` may lie from `a × l_i`, of ‖a‖ ‖l_i‖: some hundred roundings of products of unit vectors.
const FITS: f64 = 1e-13;

/// What is known of a body's attitude.
#[derive(Clone, Copy, Default)]
pub(super) struct Attitude {
    /// Attitudes that its contacts allow, `count` of them; any before the first contact with an arm.
    found: bool,
    count: usize,
    allowed: [Matrix; 2],
}

impl Attitude {
    /// Takes in the rows of a contact; false if no attitude is left.
    fn learn(&mut self, linear: &Matrix, angular: &Matrix) -> bool {
        let b = outer(angular, linear);
        if !self.found && b.as_flattened().iter().any(|x| *x != 0.0) {
            (self.allowed, self.found, self.count) = (attitudes(&b), true, 2);
        }
        if self.found {
            let mut kept = 0;
            for i in 0..self.count {
                if has_arm(linear, &angular.map(|g| times(&self.allowed[i], g))) {
                    self.allowed[kept] = self.allowed[i];
                    kept += 1;
                }
            }
            self.count = kept;
        }
        !self.found || self.count > 0
    }

    fn matrix(&self) -> Matrix {
        if self.count > 0 { self.allowed[0] } else { UNIT }
    }
}

impl Layout {
    /// Turns the whitened angular velocities of all bodies into the axes of the world, if these blocks of rigid contacts are all there is and
    /// touch round bodies alone; false, and nothing has changed, if it cannot be done.
    pub(super) fn turn(&mut self, problem: &Problem, blocks: &[usize]) -> bool {
        let mut attitudes = std::mem::take(&mut self.attitudes);
        attitudes.clear();
        attitudes.resize(self.groups.len(), Attitude::default());
        let turned = blocks.iter().all(|&k| self.learn(&problem.J.block(k), &mut attitudes));
        if turned {
            for (group, attitude) in attitudes.iter().enumerate() {
                self.turn_group(group, &attitude.matrix());
            }
            self.turned = true;
        }
        self.attitudes = attitudes;
        turned
    }

    fn learn(&self, block: &RowBlock<'_>, attitudes: &mut [Attitude]) -> bool {
        let (sixes, _) = block.columns.as_chunks::<GROUP>();
        block.rows == 3
            && sixes.iter().enumerate().all(|(side, six)| {
                let owner = self.owner[six[0] as usize];
                let part = |first: usize| [0, 1, 2].map(|i| [0, 1, 2].map(|j| block.row(i)[side * GROUP + first + j]));
                self.round(owner).is_some() && attitudes[owner as usize].learn(&part(0), &part(3))
            })
    }
}

/// The arm a with `α_i = a × d_i` for three directions across each other, of any lengths.
pub(super) fn arm(d: &Matrix, alpha: &Matrix) -> Vector {
    // [a]× = Σ α_i d_iᵀ / ‖d_i‖²
    let scaled = d.map(|d| {
        let square = dot(d, d);
        let inverse = if square > 0.0 { 1.0 / square } else { 0.0 };
        d.map(|x| x * inverse)
    });
    let b = outer(alpha, &scaled);
    [0.5 * (b[2][1] - b[1][2]), 0.5 * (b[0][2] - b[2][0]), 0.5 * (b[1][0] - b[0][1])]
}

/// True if there is such an arm.
fn has_arm(d: &Matrix, alpha: &Matrix) -> bool {
    let a = arm(d, alpha);
    let square = FITS * FITS * dot(a, a);
    (0..3).all(|i| {
        let c = cross(a, d[i]);
        let far: Vector = std::array::from_fn(|j| alpha[i][j] - c[j]);
        dot(far, far) <= square * dot(d[i], d[i])
    })
}

/// Both R with `B = Rᵀ [r]×`, from a B that is not zero.
fn attitudes(b: &Matrix) -> [Matrix; 2] {
    let columns: Matrix = std::array::from_fn(|j| [b[0][j], b[1][j], b[2][j]]);
    let square = 0.5 * columns.iter().map(|c| dot(*c, *c)).sum::<f64>();
    // r rᵀ = ‖r‖² I − BᵀB: the column of the largest entry of the diagonal is r times its largest entry.
    let rr: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| square * UNIT[i][j] - dot(columns[i], columns[j])));
    let largest = (0..3).max_by(|&i, &j| rr[i][i].total_cmp(&rr[j][j])).unwrap_or(0);
    let along = unit(rr[largest]);
    let across = {
        let least = (0..3).min_by(|&i, &j| along[i].abs().total_cmp(&along[j].abs())).unwrap_or(0);
        unit(cross(along, UNIT[least]))
    };
    [1.0, -1.0].map(|sign| {
        let along = along.map(|x| sign * x);
        let third = cross(along, across);
        // Where the body has these three: Rᵀ x₂ ∝ B x₁, Rᵀ x₁ ∝ −B x₂.
        let y1 = unit(times(b, third).map(|x| -x));
        let y2 = times(b, across);
        let y2 = unit(std::array::from_fn(|i| y2[i] - dot(y1, y2) * y1[i]));
        let y3 = cross(y1, y2);
        std::array::from_fn(|i| std::array::from_fn(|j| across[i] * y1[j] + third[i] * y2[j] + along[i] * y3[j]))
    })
}

/// `Σ a_i b_iᵀ`.
fn outer(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[k][i] * b[k][j]).sum()))
}

fn times(m: &Matrix, x: Vector) -> Vector {
    m.map(|row| dot(row, x))
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn unit(x: Vector) -> Vector {
    let size = dot(x, x).sqrt();
    x.map(|x| x / size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::made::Numbers;

    fn draw(x: &mut Numbers) -> Vector {
        [x.draw(), x.draw(), x.draw()]
    }

    /// Three orthonormal rows.
    fn frame(x: &mut Numbers) -> Matrix {
        let n = unit(draw(x));
        let t = unit(cross(n, draw(x)));
        [n, t, cross(n, t)]
    }

    #[test]
    fn the_contacts_of_a_body_tell_its_attitude() {
        let mut x = Numbers::new(5);
        for _ in 0..200 {
            let attitude = frame(&mut x);
            let transposed: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| attitude[j][i]));
            let mut known = Attitude::default();
            for contact in 0..4 {
                let frame = frame(&mut x);
                // The first at the middle of the body: it tells nothing.
                let r = if contact == 0 { [0.0; 3] } else { draw(&mut x) };
                assert!(known.learn(&frame, &frame.map(|l| times(&transposed, cross(r, l)))), "contact {contact}");
                assert_eq!(known.count, [0, 2, 1, 1][contact], "the second arm decides");
            }
            for i in 0..3 {
                for j in 0..3 {
                    // Rounding of an arm that may be as short as a hundredth of the numbers it comes from.
                    assert!((known.matrix()[i][j] - attitude[i][j]).abs() < 1e-12);
                }
            }
            // A row that no attitude explains.
            let frame = frame(&mut x);
            assert!(!known.learn(&frame, &frame.map(|_| draw(&mut x))));
        }
    }
}
