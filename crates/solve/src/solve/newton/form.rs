//! What the phases need of a problem, in joule-scaled variables: two forms of it answer.
//!
//! ```text
//!   D = diag(a_k^-½)     y = D⁻¹ r     u ← D u     J ← D J     W ← D W D     q ← D q
//! ```
//!
//! Then every block has a mean diagonal entry 1, `½‖y − P_K(y − ũ)‖²` is the local error in joules,
//! and all weights are pure numbers.

use super::piece::Piece;
use crate::problem::Law;
use crate::problem::law::MAX_ROWS;
use crate::problem::rows::RowBlock;

/// The blocks of a scaled problem.
#[derive(Default)]
pub(super) struct Blocks {
    /// Laws, with the bounds of intervals scaled.
    pub laws: Vec<Law>,
    /// First row of each block, and the end.
    pub starts: Vec<usize>,
    /// `√a_k`.
    pub root: Vec<f64>,
    /// The order of a sweep, and the energies behind it.
    pub order: Vec<u32>,
    energy: Vec<f64>,
}

impl Blocks {
    /// The blocks scaled by the mean diagonal entries `a`.
    pub fn set(&mut self, laws: &[Law], starts: &[usize], a: &[f64]) {
        self.root.clear();
        self.root.extend(a.iter().map(|a| a.sqrt()));
        self.starts.clear();
        self.starts.extend_from_slice(starts);
        self.laws.clear();
        self.laws.extend(laws.iter().zip(&self.root).map(|(law, &s)| match *law {
            Law::Interval { lo, hi } => Law::Interval { lo: lo * s, hi: hi * s },
            other => other,
        }));
    }

    /// The order of a sweep: by the energy of the velocities `q` without reactions, the largest
    /// first. So it belongs to the problem, and not to the order, the frames or the units in which
    /// somebody wrote it down.
    pub fn set_order(&mut self, q: &[f64]) {
        let Blocks { starts, order, energy, laws, .. } = self;
        energy.clear();
        energy.extend(
            (0..laws.len()).map(|k| q[starts[k]..starts[k + 1]].iter().map(|x| x * x).sum::<f64>()),
        );
        order.clear();
        order.extend(0..laws.len() as u32);
        order.sort_unstable_by(|&a, &b| {
            energy[b as usize].total_cmp(&energy[a as usize]).then(a.cmp(&b))
        });
    }

    pub fn len(&self) -> usize {
        self.laws.len()
    }

    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    #[inline]
    pub fn range(&self, k: usize) -> std::ops::Range<usize> {
        self.starts[k]..self.starts[k + 1]
    }

    /// `‖y − P_K(y − ũ)‖²`, summed.
    pub fn natural_squared(&self, y: &[f64], u: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (k, law) in self.laws.iter().enumerate() {
            let (range, mut out) = (self.range(k), [0.0; MAX_ROWS]);
            let d = range.len();
            law.natural(1.0, &u[range.clone()], &y[range], &mut out[..d]);
            sum += out.iter().map(|x| x * x).sum::<f64>();
        }
        sum
    }
}

/// An iterate: scaled reactions and the velocities that belong to them.
#[derive(Clone, Default)]
pub(super) struct Point {
    /// Scaled reactions (m), √J.
    pub y: Vec<f64>,
    /// Scaled local velocities (m), √J.
    pub u: Vec<f64>,
    /// Velocities that the rows touch (only where a form keeps them).
    pub v: Vec<f64>,
    /// `‖y − P_K(y − ũ)‖`, √J.
    pub residual: f64,
}

impl Point {
    pub fn copy_from(&mut self, other: &Point) {
        for (to, from) in
            [(&mut self.y, &other.y), (&mut self.u, &other.u), (&mut self.v, &other.v)]
        {
            to.clear();
            to.extend_from_slice(from);
        }
        self.residual = other.residual;
    }
}

/// The proximal term `eps (y − centre)` added to the velocities.
#[derive(Clone, Copy)]
pub(super) struct Prox<'a> {
    pub eps: f64,
    pub centre: &'a [f64],
}

/// Multiplications that one local solve of a sweep is worth.
pub(super) const LOCAL_OPERATIONS: usize = 60;

/// A problem in joule-scaled variables.
pub(super) trait Form {
    fn blocks(&self) -> &Blocks;

    /// `u` (and v) of the reactions `point.y`, and the residual.
    fn velocities(&mut self, point: &mut Point);

    /// One Gauss–Seidel sweep with exact local solves; leaves `u` and the residual behind.
    fn sweep(&mut self, point: &mut Point, prox: Option<Prox<'_>>);

    /// How many sweeps cost as much as a Newton step; infinite where that is not known.
    fn step_in_sweeps(&mut self) -> f64 {
        f64::INFINITY
    }

    /// Solves `(A (W + eps I) + B) dy = −F`; false if the matrix is singular.
    fn direction(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool;

    /// `x ← (A (W + eps I) + B)⁻¹ g` by the factor of the last [`Form::direction`], which was of
    /// these pieces; not corrected.
    fn again(&mut self, pieces: &[Piece], g: &[f64], x: &mut [f64]);

    /// `u ← W x`.
    fn times(&mut self, x: &[f64], u: &mut [f64]);

    /// As [`Form::times`], at least the rows of these blocks.
    fn times_at(&mut self, blocks: &[u32], x: &[f64], u: &mut [f64]);

    /// `count` sweeps, then the velocities.
    fn sweeps(&mut self, point: &mut Point, count: usize, prox: Option<Prox<'_>>) {
        for _ in 0..count {
            self.sweep(point, prox);
        }
        self.velocities(point);
    }
}

/// `out ← block · x` for blocks of 1 to 3 rows, in one pass over the columns.
#[inline]
pub(super) fn block_times(block: &RowBlock<'_>, x: &[f64], out: &mut [f64; MAX_ROWS]) {
    match block.rows {
        3 => {
            let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
            let (r0, r1, r2) = (block.row(0), block.row(1), block.row(2));
            for (((&j, a), b), c) in block.columns.iter().zip(r0).zip(r1).zip(r2) {
                let x = x[j as usize];
                s0 += a * x;
                s1 += b * x;
                s2 += c * x;
            }
            *out = [s0, s1, s2];
        }
        2 => {
            let (mut s0, mut s1) = (0.0, 0.0);
            for ((&j, a), b) in block.columns.iter().zip(block.row(0)).zip(block.row(1)) {
                let x = x[j as usize];
                s0 += a * x;
                s1 += b * x;
            }
            *out = [s0, s1, 0.0];
        }
        _ => block.mul(x, out),
    }
}
