//! Newton's step on a piece near the one that was factored last, by that factor.
//!
//! ```text
//!   M₀ = A₀ (W + eps I) + B₀ is factored;  M = M₀ + Σ_k E_k D_k,   D_k = (A − A₀)_k (W + eps I)_k + (B − B₀)_k,
//!   over the few blocks k whose branch is another one or that turned far; E_k are the columns of the unit matrix of block k
//!
//!   1  Z_k = M₀⁻¹ E_k                                   once for a block, kept as long as M₀
//!   2  z = M₀⁻¹ g,   x = z − Z (I + D Z)⁻¹ D z          g = −F at first
//!   3  g ← −F − M x;  2 again for the rest, which also takes in the slipping blocks that turned a little
//! ```
//!
//! Along Newton's path one block changes per piece, and near a solution none: a step then costs a
//! few triangular solves instead of a factorization. Where too many blocks differ, or step 3 does
//! not end, the caller factors. (Hager1989)

use super::eliminated::defect;
use super::form::Form;
use super::piece::Piece;
use crate::math::lu::DenseLu;
use crate::problem::law::MAX_ROWS;

/// Most blocks that may differ.
const MAX_DIFFERING_BLOCKS: usize = 8;
/// A change of A or B that counts; smaller ones are left to step 3.
const MIN_DERIVATIVE_CHANGE: f64 = 0.1;
/// Rounds of step 3, what they should leave of g (on 1e-4 some paths get lost), and what they may.
const MAX_ROUNDS: usize = 6;
const WANTED_RESIDUAL: f64 = 1e-6;
const SUFFICIENT_RESIDUAL: f64 = 1e-4;

/// The pieces that were factored, and what was solved with them.
#[derive(Default)]
pub(super) struct Near {
    base: Vec<Piece>,
    eps: f64,
    /// Whether the factor of these pieces is at hand.
    known: bool,
    /// The blocks that differ, and the first of the columns of each.
    changed: Vec<u32>,
    first: Vec<usize>,
    /// The blocks whose columns are kept, and where they begin.
    kept: Vec<(u32, usize)>,
    /// Z, column by column.
    columns: Vec<f64>,
    /// `I + D Z`, its factor, and D z.
    matrix: Vec<f64>,
    small: DenseLu,
    bend: Vec<f64>,
    /// What is left of the right-hand side, a solution for it, and W times something.
    g: Vec<f64>,
    z: Vec<f64>,
    u: Vec<f64>,
}

impl Near {
    /// No factor is at hand.
    pub fn forget(&mut self) {
        self.known = false;
    }

    /// The factor at hand is that of these pieces, if `known`.
    pub fn set(&mut self, pieces: &[Piece], eps: f64, known: bool) {
        self.known = known;
        self.eps = eps;
        self.base.clear();
        self.base.extend_from_slice(pieces);
        self.kept.clear();
        self.columns.clear();
    }

    /// Solves `(A (W + eps I) + B) dy = −F`; false if the factor at hand does not serve.
    pub fn step(
        &mut self,
        form: &mut dyn Form,
        pieces: &[Piece],
        eps: f64,
        dy: &mut [f64],
    ) -> bool {
        if !self.known || eps != self.eps || !self.set_changed(pieces) {
            return false;
        }
        for list in [&mut self.g, &mut self.z, &mut self.u] {
            list.clear();
            list.resize(dy.len(), 0.0);
        }
        dy.fill(0.0);
        if !self.set_columns(form) || !self.set_small(form, pieces) {
            return false;
        }
        self.u.fill(0.0);
        let first = defect(form.blocks(), (pieces, eps), &self.u, dy, &mut self.g);
        let mut left = first;
        for _ in 0..MAX_ROUNDS {
            self.solve(form, pieces);
            dy.iter_mut().zip(&self.z).for_each(|(dy, z)| *dy += z);
            form.times(dy, &mut self.u);
            let now = defect(form.blocks(), (pieces, eps), &self.u, dy, &mut self.g);
            let enough = now.is_nan() || now >= 0.5 * left || now <= WANTED_RESIDUAL * first;
            left = now;
            if enough {
                break;
            }
        }
        left <= SUFFICIENT_RESIDUAL * first && dy.iter().all(|x| x.is_finite())
    }

    /// The blocks that differ; false if they are too many.
    fn set_changed(&mut self, pieces: &[Piece]) -> bool {
        self.changed.clear();
        for (k, (now, base)) in pieces.iter().zip(&self.base).enumerate() {
            let far = |a: &[f64; 9], b: &[f64; 9]| {
                a.iter().zip(b).any(|(a, b)| !((a - b).abs() <= MIN_DERIVATIVE_CHANGE))
            };
            if now.branch != base.branch || far(&now.a, &base.a) || far(&now.b, &base.b) {
                if self.changed.len() == MAX_DIFFERING_BLOCKS {
                    return false;
                }
                self.changed.push(k as u32);
            }
        }
        true
    }

    /// Step 1.
    fn set_columns(&mut self, form: &mut dyn Form) -> bool {
        let m = self.g.len();
        self.first.clear();
        for &k in &self.changed {
            if let Some(kept) = self.kept.iter().find(|kept| kept.0 == k) {
                self.first.push(kept.1);
                continue;
            }
            let first = self.columns.len() / m;
            for row in form.blocks().range(k as usize) {
                self.g.fill(0.0);
                self.g[row] = 1.0;
                form.again(&self.base, &self.g, &mut self.z);
                if !self.z.iter().all(|x| x.is_finite()) {
                    self.columns.truncate(first * m);
                    return false;
                }
                self.columns.extend_from_slice(&self.z);
            }
            self.kept.push((k, first));
            self.first.push(first);
        }
        true
    }

    /// `I + D Z`, factored.
    fn set_small(&mut self, form: &mut dyn Form, pieces: &[Piece]) -> bool {
        let (m, mut n) = (self.g.len(), 0);
        self.matrix.clear();
        for at in 0..self.changed.len() {
            for c in self.first[at]
                ..self.first[at] + form.blocks().range(self.changed[at] as usize).len()
            {
                self.z.copy_from_slice(&self.columns[c * m..(c + 1) * m]);
                self.set_bend(form, pieces);
                self.bend[n] += 1.0;
                self.matrix.extend_from_slice(&self.bend);
                n += 1;
            }
        }
        self.small.matrix(n).copy_from_slice(&self.matrix);
        n == 0 || self.small.factor().is_ok()
    }

    /// `bend ← D z`.
    fn set_bend(&mut self, form: &mut dyn Form, pieces: &[Piece]) {
        form.times_at(&self.changed, &self.z, &mut self.u);
        self.bend.clear();
        for k in self.changed.iter().map(|&k| k as usize) {
            let range = form.blocks().range(k);
            let x = difference(
                (&pieces[k], &self.base[k]),
                self.eps,
                &self.z[range.clone()],
                &self.u[range.clone()],
            );
            self.bend.extend_from_slice(&x[..range.len()]);
        }
    }

    /// Step 2: `z ← M⁻¹ g`, but for the blocks that turned a little.
    fn solve(&mut self, form: &mut dyn Form, pieces: &[Piece]) {
        form.again(&self.base, &self.g, &mut self.z);
        if self.changed.is_empty() {
            return;
        }
        self.set_bend(form, pieces);
        self.small.solve(&mut self.bend);
        let (m, mut row) = (self.g.len(), 0);
        for (&k, &first) in self.changed.iter().zip(&self.first) {
            for c in first..first + form.blocks().range(k as usize).len() {
                let bend = self.bend[row];
                self.z
                    .iter_mut()
                    .zip(&self.columns[c * m..])
                    .for_each(|(z, column)| *z -= bend * column);
                row += 1;
            }
        }
    }
}

/// `D_k x` of a piece and the one that was factored; x: the rows of block k, u: those of W x.
fn difference((now, base): (&Piece, &Piece), eps: f64, x: &[f64], u: &[f64]) -> [f64; MAX_ROWS] {
    let (d, mut out) = (x.len(), [0.0; MAX_ROWS]);
    for i in 0..d {
        for j in 0..d {
            let at = i * d + j;
            out[i] +=
                (now.a[at] - base.a[at]) * (u[j] + eps * x[j]) + (now.b[at] - base.b[at]) * x[j];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::norm;
    use crate::math::random::Random;
    use crate::math::sparse::Csr;
    use crate::problem::Law;
    use crate::solve::newton::delassus::Delassus;

    /// Pieces in which block k is open, sticks or slips by turns, `turn` being the angle by which
    /// slips are turned.
    fn pieces(laws: &[Law], turn: f64, shift: impl Fn(usize) -> usize) -> Vec<Piece> {
        let at = |(k, law): (usize, &Law)| {
            let angle = 0.9 * k as f64 + turn;
            let y = match (k + shift(k)) % 3 {
                0 => [-1.0, 0.2, 0.1],
                1 => [1.0, 0.1, 0.2],
                _ => [0.5, 2.0 * angle.cos(), 2.0 * angle.sin()],
            };
            Piece::of(law, &y, &[0.0, 0.01, -0.02])
        };
        laws.iter().enumerate().map(at).collect()
    }

    /// A chain of contacts, each of which moves its neighbours; 60 of them are factored as a sparse
    /// matrix.
    fn chain(count: usize) -> Delassus {
        let (m, mut draw, mut entries) = (3 * count, Random::seeded(3), Vec::new());
        for i in 0..m {
            entries.push((i as u32, i as u32, 2.0));
            for j in i + 1..(i + 5).min(m) {
                let x = 0.3 * draw.signed();
                entries.extend([(i as u32, j as u32, x), (j as u32, i as u32, x)]);
            }
        }
        let (laws, starts): (Vec<Law>, Vec<usize>) =
            (vec![Law::Coulomb { mu: 0.5, rows: 3 }; count], (0..=m).step_by(3).collect());
        let mut form = Delassus::default();
        form.blocks.set(&laws, &starts, &vec![1.0; count]);
        form.set(&Csr::from_triplets(m, m, &entries), &vec![0.1; m]);
        form
    }

    #[test]
    fn a_step_by_an_older_factor_is_that_by_a_new_one() {
        for count in [12, 90] {
            let (mut form, eps) = (chain(count), 1e-6);
            let (m, laws) = (3 * count, form.blocks.laws.clone());
            let (mut near, mut dy, mut again) = (Near::default(), vec![0.0; m], vec![0.0; m]);
            let base = pieces(&laws, 0.0, |_| 0);
            assert!(!near.step(&mut form, &base, eps, &mut dy), "nothing is factored");
            // The same; slips turned a little; four blocks of other branches, and slips that
            // turned; these and four others.
            let other = |some: usize, k: usize| if k < some { 1 + k % 2 } else { 0 };
            let cases = [
                pieces(&laws, 0.0, |_| 0),
                pieces(&laws, 0.02, |_| 0),
                pieces(&laws, 0.02, |k| other(4, k)),
                pieces(&laws, 0.0, |k| other(8, k)),
            ];
            for (case, now) in cases.iter().enumerate() {
                assert!(form.direction(&base, eps, &mut dy));
                near.set(&base, eps, true);
                assert!(
                    near.step(&mut form, now, eps, &mut again),
                    "{count} contacts, case {case}"
                );
                assert!(form.direction(now, eps, &mut dy));
                let apart: Vec<f64> = dy.iter().zip(&again).map(|(a, b)| a - b).collect();
                // What is left of the right-hand side, times the condition of the matrix (some 10),
                // with room.
                assert!(
                    norm(&apart) < 100.0 * WANTED_RESIDUAL * norm(&dy),
                    "{count} contacts, case {case}: {}",
                    norm(&apart) / norm(&dy)
                );
            }
            // Another weight, and too many blocks.
            near.set(&base, eps, true);
            assert!(!near.step(&mut form, &base, 2.0 * eps, &mut again));
            assert!(!near.step(&mut form, &pieces(&laws, 0.0, |k| other(9, k)), eps, &mut again));
        }
    }
}
