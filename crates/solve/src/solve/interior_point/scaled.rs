//! The problem in joules: an exact change of variables after which one constant fits every problem.
//!
//! ```text
//!   v̂ = S v,  S ≈ √diag(H)          Ĥ = S⁻¹ H S⁻¹ (diagonal ≈ 1),  k̂ = S⁻¹ (k + Jᵀ r₀)
//!   r = r₀ + F r̂,  û = F u          Ĵ = F J S⁻¹,  M̂ = F (E or W) F,  ŵ = F (w + E r₀)
//!   Ĥ v̂ = k̂ + Ĵᵀ r̂                 û = Ĵ v̂ + M̂ r̂ + ŵ
//! ```
//!
//! S and √a are taken to the nearest power of two: the change of variables makes no rounding of its
//! own, and rows of whole numbers (a stack on vertical guides) eliminate exactly, at any mass
//! ratio. F is diagonal: `1/√a` with a the mean diagonal of W over the block; on the normal row of
//! a friction block `1/(mu √a)`, so that every friction cone is the Lorentz cone; negative where an
//! interval is bounded above only. r₀ is the finite bound of an interval. Rows whose reaction is
//! known (an interval of no length, the tangents of a contact with mu = 0) are gone. Everything is
//! in √J: ‖·‖²/2 is an energy.
//!
//! A reduced problem has no v̂; its symmetric W takes the place of the compliance.

use super::cone::{Kind, Triple};
use crate::math::sparse::Csr;
use crate::problem::{Law, Problem, Reduced, Rows, Solution};

/// The ratio of the entries of diag(H) above which masses are extreme: light unknowns are
/// eliminated first, no sweeps, nothing is left out.
pub const EXTREME_MASS_RATIO: f64 = 1e8;

/// Entries of Ĵ below this part of the largest in their block are rounding.
const NEGLIGIBLE_ENTRY: f64 = 1e-13;

/// One block of the scaled problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Where its reactions live.
    pub kind: Kind,
    /// Its first scaled row.
    pub first: usize,
    /// Its number of rows (1, 2, 3).
    pub rows: usize,
    /// The block of the problem that it came from.
    pub source: usize,
}

impl Block {
    /// Its rows.
    #[inline]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.rows
    }

    /// Its part of a vector over rows.
    #[inline]
    pub fn pick(&self, x: &[f64]) -> Triple {
        let mut out = [0.0; 3];
        out[..self.rows].copy_from_slice(&x[self.range()]);
        out
    }

    /// Writes its part of a vector over rows.
    #[inline]
    pub fn put(&self, from: &Triple, x: &mut [f64]) {
        x[self.range()].copy_from_slice(&from[..self.rows]);
    }
}

/// One block of M̂: rows of block `k`, columns of block `l` ≤ k, values row by row from `at`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupling {
    /// Block of the rows.
    pub k: usize,
    /// Block of the columns.
    pub l: usize,
    /// First value.
    pub at: usize,
}

/// The scaled problem.
#[derive(Default)]
#[allow(non_snake_case)]
pub struct Scaled {
    /// S (n): about √diag(H).
    pub column: Vec<f64>,
    /// Ĥ.
    pub H: Csr,
    /// k̂ (n).
    pub k: Vec<f64>,
    /// Ĵ.
    pub J: Rows,
    /// ŵ.
    pub w: Vec<f64>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// M̂, sorted by (k, l).
    pub couplings: Vec<Coupling>,
    /// Values of M̂.
    pub coupling_values: Vec<f64>,
    /// The row of the problem that each scaled row came from.
    pub source: Vec<usize>,
    /// F.
    pub factor: Vec<f64>,
    /// r₀ over all rows of the problem.
    pub offset: Vec<f64>,
    work: Work,
}

/// What laying out needs on its way.
#[derive(Default)]
struct Work {
    /// A block of Ĵ, its columns that are kept, and what is left of it.
    values: Vec<f64>,
    kept: Vec<usize>,
    columns: Vec<u32>,
    left: Vec<f64>,
    /// The scaled block of each block of the problem, and the neighbours of one.
    scaled_of: Vec<usize>,
    neighbours: Vec<u32>,
    /// `W r₀` of a reduced problem.
    at_offset: Vec<f64>,
}

/// What a law becomes: kind, r₀, sign of the row, rows kept, mu (1 where there is none).
struct Form {
    kind: Option<Kind>,
    offset: f64,
    sign: f64,
    rows: usize,
    mu: f64,
    length: f64,
}

/// The power of two nearest to `x` > 0 (in ratio).
fn power_of_two(x: f64) -> f64 {
    if !x.is_normal() {
        return x.log2().round().exp2();
    }
    let power = f64::from_bits(x.to_bits() & !((1 << 52) - 1));
    if x > power * std::f64::consts::SQRT_2 { 2.0 * power } else { power }
}

fn form(law: &Law) -> Form {
    let plain =
        |kind| Form { kind: Some(kind), offset: 0.0, sign: 1.0, rows: 1, mu: 1.0, length: 0.0 };
    match *law {
        Law::Equality => plain(Kind::Free),
        Law::Unilateral => plain(Kind::Ray),
        Law::Interval { lo, hi } => match (lo.is_finite(), hi.is_finite()) {
            (false, false) => plain(Kind::Free),
            (true, false) => Form { offset: lo, ..plain(Kind::Ray) },
            (false, true) => Form { offset: hi, sign: -1.0, ..plain(Kind::Ray) },
            (true, true) if lo < hi => {
                Form { offset: lo, length: hi - lo, ..plain(Kind::Box { length: hi - lo }) }
            }
            (true, true) => Form { kind: None, offset: lo, ..plain(Kind::Free) },
        },
        Law::Cone { mu, rows } | Law::Coulomb { mu, rows } => {
            if mu > 0.0 {
                Form { rows: rows as usize, mu, ..plain(Kind::Lorentz) }
            } else {
                plain(Kind::Ray)
            }
        }
    }
}

impl Scaled {
    /// The scaled form of a problem; `a` is the mean diagonal of W for each block.
    pub fn set(&mut self, problem: &Problem, a: &[f64]) {
        self.set_rows(&problem.laws, &problem.J.row_starts, a);
        let n = problem.n();
        self.column.clear();
        self.column.extend((0..n).map(|i| power_of_two(problem.H.get(i, i).sqrt())));
        self.H.clone_from(&problem.H);
        for i in 0..n {
            for at in self.H.starts[i]..self.H.starts[i + 1] {
                self.H.values[at] /= self.column[i] * self.column[self.H.columns[at] as usize];
            }
        }
        self.set_jacobian(problem);
        let rows = |b: &Block| problem.J.row_starts[b.source]..problem.J.row_starts[b.source + 1];
        let compliant = |b: &Block, _: &mut Vec<u32>| problem.E[rows(b)].iter().any(|&e| e != 0.0);
        self.set_couplings(compliant, |i, j| if i == j { problem.E[i] } else { 0.0 });
        self.set_right_hand_side(problem);
    }

    /// Ĵ without the columns that hold nothing but rounding, three by three: a sphere does not turn
    /// under a normal force, and half of its unknowns are none of the system's business then.
    fn set_jacobian(&mut self, problem: &Problem) {
        self.J.clear(problem.n());
        self.J.columns.reserve(problem.J.columns.len());
        self.J.values.reserve(problem.J.values.len());
        let negligible =
            if self.mass_ratio() > EXTREME_MASS_RATIO { 0.0 } else { NEGLIGIBLE_ENTRY };
        let Work { values, columns, kept, left, .. } = &mut self.work;
        for block in &self.blocks {
            let from = problem.J.block(block.source);
            let width = from.columns.len();
            values.clear();
            for i in block.range() {
                let row = from.row(self.source[i] - from.first);
                values.extend(
                    from.columns
                        .iter()
                        .zip(row)
                        .map(|(&j, x)| self.factor[i] * x / self.column[j as usize]),
                );
            }
            let floor = negligible * values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            kept.clear();
            let mut p = 0;
            for three in from.columns.chunk_by(|a, b| a / 3 == b / 3) {
                let here = p..p + three.len();
                p = here.end;
                if (0..block.rows)
                    .any(|i| values[i * width..][here.clone()].iter().any(|x| x.abs() > floor))
                {
                    kept.extend(here);
                }
            }
            if kept.len() == width {
                self.J.push(block.rows, from.columns, values);
                continue;
            }
            columns.clear();
            columns.extend(kept.iter().map(|&p| from.columns[p]));
            left.clear();
            (0..block.rows).for_each(|i| left.extend(kept.iter().map(|&p| values[i * width + p])));
            self.J.push(block.rows, columns, left);
        }
    }

    /// The largest over the least entry of diag(H).
    pub fn mass_ratio(&self) -> f64 {
        let (least, largest) =
            self.column.iter().fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
        if self.column.is_empty() { 1.0 } else { (largest / least).powi(2) }
    }

    /// k̂ and ŵ alone: all that De Saxcé's shift changes.
    pub fn set_right_hand_side(&mut self, problem: &Problem) {
        self.k.clear();
        self.k.extend_from_slice(&problem.k);
        problem.J.add_transposed(&self.offset, &mut self.k);
        for (k, s) in self.k.iter_mut().zip(&self.column) {
            *k /= s;
        }
        self.w.clear();
        self.w.extend(
            self.source
                .iter()
                .zip(&self.factor)
                .map(|(&i, f)| f * (problem.w[i] + problem.E[i] * self.offset[i])),
        );
    }

    /// The scaled form of a reduced problem (its symmetric part).
    pub fn set_reduced(&mut self, reduced: &Reduced, a: &[f64]) {
        self.set_rows(&reduced.laws, &reduced.row_starts, a);
        self.column.clear();
        self.k.clear();
        self.H.clear(0, 0);
        self.J.clear(0);
        for block in &self.blocks {
            self.J.push(block.rows, &[], &[]);
        }
        let transposed = reduced.W.transposed();
        let block_of: Vec<u32> =
            (0..reduced.laws.len()).flat_map(|k| reduced.range(k).map(move |_| k as u32)).collect();
        let neighbours = |b: &Block, out: &mut Vec<u32>| {
            for i in reduced.range(b.source) {
                out.extend(
                    reduced
                        .W
                        .row(i)
                        .0
                        .iter()
                        .chain(transposed.row(i).0)
                        .map(|&j| block_of[j as usize]),
                );
            }
            out.sort_unstable();
            out.dedup();
            true
        };
        self.set_couplings(neighbours, |i, j| 0.5 * (reduced.W.get(i, j) + transposed.get(i, j)));
        self.set_right_hand_side_reduced(reduced);
    }

    /// ŵ alone, as [`Scaled::set_right_hand_side`].
    pub fn set_right_hand_side_reduced(&mut self, reduced: &Reduced) {
        let at_offset = &mut self.work.at_offset;
        at_offset.resize(reduced.rows(), 0.0);
        reduced.W.mul(&self.offset, at_offset);
        self.w.clear();
        self.w.extend(
            self.source.iter().zip(&self.factor).map(|(&i, f)| f * (reduced.q[i] + at_offset[i])),
        );
    }

    fn set_rows(&mut self, laws: &[Law], row_starts: &[usize], a: &[f64]) {
        for list in [&mut self.factor, &mut self.offset] {
            list.clear();
        }
        self.offset.resize(row_starts[laws.len()], 0.0);
        self.source.clear();
        self.blocks.clear();
        self.blocks.reserve(laws.len());
        self.source.reserve(self.offset.len());
        self.factor.reserve(self.offset.len());
        for (k, law) in laws.iter().enumerate() {
            let form = form(law);
            if form.offset != 0.0 {
                self.offset[row_starts[k]] = form.offset;
            }
            let Some(mut kind) = form.kind else { continue };
            // The mean diagonal after the normal row is divided by mu.
            let d = form.rows as f64;
            let scale = power_of_two((a[k] * (form.mu.powi(-2) + d - 1.0) / d).sqrt());
            if let Kind::Box { length } = &mut kind {
                *length = form.length * scale;
            }
            self.blocks.push(Block { kind, first: self.source.len(), rows: form.rows, source: k });
            for i in 0..form.rows {
                self.source.push(row_starts[k] + i);
                let mu = if i == 0 { form.mu } else { 1.0 };
                self.factor.push(form.sign / (mu * scale));
            }
        }
    }

    /// M̂ from its entries; `neighbours` says whether a block couples at all, and lists the
    /// problem's blocks that it couples to (an empty list: itself alone).
    fn set_couplings(
        &mut self,
        neighbours: impl Fn(&Block, &mut Vec<u32>) -> bool,
        entry: impl Fn(usize, usize) -> f64,
    ) {
        self.couplings.clear();
        self.coupling_values.clear();
        let Work { scaled_of, neighbours: list, kept: columns, .. } = &mut self.work;
        scaled_of.clear();
        scaled_of.resize(self.blocks.iter().map(|b| b.source + 1).max().unwrap_or(0), usize::MAX);
        for (k, block) in self.blocks.iter().enumerate() {
            scaled_of[block.source] = k;
        }
        for (k, block) in self.blocks.iter().enumerate() {
            list.clear();
            if !neighbours(block, list) {
                continue;
            }
            if list.is_empty() {
                list.push(block.source as u32);
            }
            columns.clear();
            columns.extend(
                list.iter().filter_map(|&s| scaled_of.get(s as usize).copied()).filter(|&l| l <= k),
            );
            columns.sort_unstable();
            for &l in &*columns {
                self.couplings.push(Coupling { k, l, at: self.coupling_values.len() });
                for i in block.range() {
                    for j in self.blocks[l].range() {
                        self.coupling_values.push(
                            self.factor[i] * entry(self.source[i], self.source[j]) * self.factor[j],
                        );
                    }
                }
            }
        }
    }

    /// Number of velocities.
    pub fn n(&self) -> usize {
        self.column.len()
    }

    /// Number of scaled rows.
    pub fn rows(&self) -> usize {
        self.source.len()
    }

    /// The number of complementarity pairs.
    pub fn degree(&self) -> usize {
        self.blocks.iter().map(|b| b.kind.degree()).sum()
    }

    /// `u ← Ĵ v + M̂ r + ŵ`.
    pub fn local_velocities(&self, v: &[f64], r: &[f64], u: &mut [f64]) {
        self.J.mul(v, u);
        for (u, w) in u.iter_mut().zip(&self.w) {
            *u += w;
        }
        self.couple(r, u);
    }

    /// `u ← u + M̂ r`.
    pub fn couple(&self, r: &[f64], u: &mut [f64]) {
        for c in &self.couplings {
            let (bk, bl) = (self.blocks[c.k], self.blocks[c.l]);
            for i in 0..bk.rows {
                for j in 0..bl.rows {
                    let x = self.coupling_values[c.at + i * bl.rows + j];
                    u[bk.first + i] += x * r[bl.first + j];
                    if c.k != c.l {
                        u[bl.first + j] += x * r[bk.first + i];
                    }
                }
            }
        }
    }

    /// `rho ← Ĥ v − k̂ − Ĵᵀ r`; each entry less the rounding of its own terms if `floor`.
    pub fn momentum(&self, v: &[f64], r: &[f64], floor: Option<&mut Vec<f64>>, rho: &mut [f64]) {
        for (i, rho) in rho.iter_mut().enumerate() {
            *rho = self.H.row_dot(i, v) - self.k[i];
        }
        for block in self.J.blocks() {
            for i in 0..block.rows {
                let ri = r[block.first + i];
                for (&j, x) in block.columns.iter().zip(block.row(i)) {
                    rho[j as usize] -= x * ri;
                }
            }
        }
        let Some(terms) = floor else { return };
        terms.clear();
        terms.extend((0..self.n()).map(|i| {
            let (columns, values) = self.H.row(i);
            self.k[i].abs()
                + columns.iter().zip(values).map(|(&j, h)| (h * v[j as usize]).abs()).sum::<f64>()
        }));
        for block in self.J.blocks() {
            for i in 0..block.rows {
                let ri = r[block.first + i].abs();
                for (&j, x) in block.columns.iter().zip(block.row(i)) {
                    terms[j as usize] += x.abs() * ri;
                }
            }
        }
        for (rho, terms) in rho.iter_mut().zip(terms.iter()) {
            *rho = rho.signum() * (rho.abs() - 8.0 * f64::EPSILON * terms).max(0.0);
        }
    }

    /// `(v, r) ←` the scaled form of a guess.
    pub fn scale(&self, solution: &Solution, v: &mut Vec<f64>, r: &mut Vec<f64>) {
        v.clear();
        v.extend(solution.v.iter().zip(&self.column).map(|(v, s)| v * s));
        r.clear();
        r.extend(
            self.source
                .iter()
                .zip(&self.factor)
                .map(|(&i, f)| (solution.r[i] - self.offset[i]) / f),
        );
    }

    /// The problem's own variables.
    pub fn unscale(&self, v: &[f64], r: &[f64], solution: &mut Solution) {
        solution.v.clear();
        solution.v.extend(v.iter().zip(&self.column).map(|(v, s)| v / s));
        solution.r.clear();
        solution.r.extend_from_slice(&self.offset);
        for ((&i, f), r) in self.source.iter().zip(&self.factor).zip(r) {
            solution.r[i] += f * r;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_the_nearest() {
        for (x, power) in [
            (1.0, 1.0),
            (1.41, 1.0),
            (1.42, 2.0),
            (3.0, 4.0),
            (0.7, 0.5),
            (0.71, 1.0),
            (1e-310, 2f64.powi(-1030)),
            (1e30, 2f64.powi(100)),
        ] {
            assert_eq!(power_of_two(x), power, "{x}");
        }
    }
}
