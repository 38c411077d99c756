//! `lemke`: the dense baseline for linear complementarity problems of any kind.
//!
//! # Equation
//!
//! `u = W r + q` with W neither symmetric nor definite, and the laws `Equality` (u = 0, r free),
//! `Unilateral` (0 ≤ u ⊥ r ≥ 0) and `Interval` (lo ≤ r ≤ hi). An interval row is two complementary
//! pairs: with r = lo + z and y the push of the upper bound, `0 ≤ z ⊥ u + y ≥ 0`,
//! `0 ≤ y ⊥ hi − lo − z ≥ 0`.
//!
//! # Algorithm
//!
//! 1. Write the pairs as `x_B = T x_N + b`, the reactions nonbasic. Exchange every equality row's u
//!    for its free r, largest pivot first; where the equality rows alone are singular, a
//!    complementary pair is exchanged along (a principal 2 × 2 pivot).
//! 2. If every basic variable with a sign has b ≥ 0: done. Else the artificial variable z₀ (a
//!    column of ones on those rows) enters for the most negative.
//! 3. The complement of what left enters; the ratio test (ties: lexicographic by the columns of the
//!    first basis' inverse) says what leaves. z₀ leaves: solved. Nothing leaves: a ray; for
//!    positive semidefinite W (copositive-plus) that proves that no solution exists
//!    (CottlePangStone1992, th. 4.4.4); in general it proves nothing.
//!
//! # When to use it
//!
//! For non-symmetric or indefinite W of at most a thousand rows, and to check other methods. Cost:
//! a pivot is one pass over the dense tableau, m² operations; typically m to 3m pivots.

use super::{Counts, Limits, ReducedSolver, Report, Status, StoppingCriteria, Unsupported};
use crate::problem::{Law, PreparedProblem, Reduced, Solution};

/// How the method works.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// When to stop; work is counted in pivots (default 50 per row).
    pub stop: StoppingCriteria,
}

/// The method.
#[derive(Default)]
pub struct Lemke {
    settings: Settings,
}

impl Lemke {
    /// The method with these settings.
    pub fn new(settings: Settings) -> Lemke {
        Lemke { settings }
    }
}

impl ReducedSolver for Lemke {
    fn solve_reduced_within(
        &mut self,
        reduced: &Reduced,
        solution: &mut Solution,
        limits: &Limits,
    ) -> Result<Report, Unsupported> {
        if let Some(law) = reduced.laws.iter().find(|law| law.rows() > 1) {
            return Err(Unsupported {
                method: "lemke",
                what: format!("blocks of law {} (see pyramids)", law.name()),
            });
        }
        let mut prepared = PreparedProblem::of_reduced(reduced);
        let mut tableau = Tableau::new(reduced);
        let stop = self.settings.stop.within(limits);
        let limit = stop.work.unwrap_or(50 * tableau.size as u64 + 100);
        let end = if tableau.free_reactions() { tableau.follow(limit, &stop) } else { End::Ray };
        let r = tableau.reactions(reduced);
        let (old, new) =
            (prepared.error_reduced(reduced, &solution.r), prepared.error_reduced(reduced, &r));
        let error = if new.joule <= old.joule || end == End::Solved { new } else { old };
        if error == new {
            solution.r = r;
        }
        let status = match end {
            _ if error.accepted(&stop.tolerance) => Status::Converged,
            End::Budget => Status::Budget,
            End::Ray if semidefinite(reduced) => Status::Infeasible,
            End::Solved | End::Ray => Status::Stalled,
        };
        let mut report = Report::new(status, error);
        report.iterations = tableau.pivots;
        report.work = tableau.pivots;
        report.counts = Counts { pivots: tableau.pivots, ..Counts::default() };
        report.reproducible = end != End::Budget || !stop.deadline_passed();
        if end == End::Ray {
            report.conflict = tableau.ray.clone();
            report.notes.push("Lemke's path ended on a ray".into());
        }
        Ok(report)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Solved,
    Ray,
    Budget,
}

/// A variable: the reaction (z) or the velocity (w) of a pair, or the artificial one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variable {
    Reaction(usize),
    Velocity(usize),
    Artificial,
}

/// `basic = T · nonbasic + b`, one row per pair.
struct Tableau {
    /// Number of pairs: rows of W, then one for each upper bound.
    size: usize,
    /// Rows of T (size × (size + 1), the last column for z₀), then b.
    rows: Vec<Vec<f64>>,
    basic: Vec<Variable>,
    nonbasic: Vec<Variable>,
    /// Pairs whose reaction is free and whose velocity is zero.
    equality: Vec<bool>,
    /// Block of each pair.
    block: Vec<usize>,
    pivots: u64,
    ray: Vec<usize>,
}

impl Tableau {
    fn new(reduced: &Reduced) -> Tableau {
        let m = reduced.rows();
        let lower = |k: usize| match reduced.laws[k] {
            Law::Interval { lo, .. } if lo.is_finite() => lo,
            _ => 0.0,
        };
        // Pairs for upper bounds: (row, width).
        let mut upper = Vec::new();
        for (k, law) in reduced.laws.iter().enumerate() {
            match *law {
                Law::Interval { lo, hi } if hi.is_finite() && lo.is_finite() => {
                    upper.push((k, hi - lo))
                }
                _ => {}
            }
        }
        // r = flip (start + z): an interval with only an upper bound is turned over.
        let flip: Vec<f64> =
            reduced.laws.iter().map(|l| if turned(l) { -1.0 } else { 1.0 }).collect();
        let start: Vec<f64> =
            (0..m)
                .map(|k| {
                    if turned(&reduced.laws[k]) { -upper_bound(&reduced.laws[k]) } else { lower(k) }
                })
                .collect();
        let size = m + upper.len();
        let mut rows = vec![vec![0.0; size + 2]; size];
        for i in 0..m {
            let (columns, values) = reduced.W.row(i);
            rows[i][size + 1] = flip[i] * reduced.q[i];
            for (&j, &x) in columns.iter().zip(values) {
                let x = flip[i] * x * flip[j as usize];
                rows[i][j as usize] = x;
                rows[i][size + 1] += x * start[j as usize];
            }
        }
        for (p, &(k, width)) in upper.iter().enumerate() {
            rows[k][m + p] = 1.0;
            rows[m + p][k] = -1.0;
            rows[m + p][size + 1] = width;
        }
        let free = |law: &Law| {
            matches!(*law, Law::Equality)
                || matches!(*law, Law::Interval { lo, hi } if lo.is_infinite() && hi.is_infinite())
        };
        let mut equality: Vec<bool> = reduced.laws.iter().map(free).collect();
        equality.resize(size, false);
        Tableau {
            size,
            rows,
            basic: (0..size).map(Variable::Velocity).collect(),
            nonbasic: (0..size).map(Variable::Reaction).chain([Variable::Artificial]).collect(),
            equality,
            block: (0..m).chain(upper.iter().map(|u| u.0)).collect(),
            pivots: 0,
            ray: Vec::new(),
        }
    }

    /// Step 1. False if an equality row contradicts others.
    fn free_reactions(&mut self) -> bool {
        let scale =
            self.rows.iter().flat_map(|r| &r[..self.size]).fold(0.0f64, |m, x| m.max(x.abs()));
        let tiny = 1e-13 * scale;
        loop {
            // Equality velocities still basic, free reactions still nonbasic.
            let waiting: Vec<usize> = (0..self.size)
                .filter(|&i| matches!(self.basic[i], Variable::Velocity(p) if self.equality[p]))
                .collect();
            let columns: Vec<usize> = (0..self.size)
                .filter(|&j| matches!(self.nonbasic[j], Variable::Reaction(p) if self.equality[p]))
                .collect();
            if waiting.is_empty() {
                return true;
            }
            if let Some((i, j)) = self.largest(&waiting, &columns, tiny) {
                self.exchange(i, j);
                continue;
            }
            // A complementary pair helps out: free reaction j against its row i, then its column
            // against an equality row.
            let others: Vec<usize> =
                (0..self.size).filter(|i| !waiting.contains(i) && self.signed(*i)).collect();
            let Some((i, j)) = self.largest(&others, &columns, tiny) else {
                return waiting
                    .iter()
                    .all(|&i| self.rows[i][self.size + 1].abs() <= 1e-10 * (1.0 + scale));
            };
            let partner = complement(self.basic[i]);
            let Some(column) = self.nonbasic.iter().position(|v| *v == partner) else {
                return false;
            };
            self.exchange(i, j);
            let Some((i, _)) = self.largest(&waiting, &[column], tiny) else { return false };
            self.exchange(i, column);
        }
    }

    /// The largest entry among these rows and columns, if above `tiny`.
    fn largest(&self, rows: &[usize], columns: &[usize], tiny: f64) -> Option<(usize, usize)> {
        let mut best = (tiny, None);
        for &i in rows {
            for &j in columns {
                if self.rows[i][j].abs() > best.0 {
                    best = (self.rows[i][j].abs(), Some((i, j)));
                }
            }
        }
        best.1
    }

    /// True if the basic variable of row i must not be negative.
    fn signed(&self, i: usize) -> bool {
        match self.basic[i] {
            Variable::Reaction(p) | Variable::Velocity(p) => !self.equality[p],
            Variable::Artificial => true,
        }
    }

    /// Steps 2 and 3.
    fn follow(&mut self, limit: u64, stop: &StoppingCriteria) -> End {
        let (size, end) = (self.size, self.size + 1);
        let scale = self.rows.iter().fold(0.0f64, |m, r| m.max(r[end].abs()));
        let Some(first) = (0..size)
            .filter(|&i| self.signed(i))
            .min_by(|&a, &b| self.rows[a][end].total_cmp(&self.rows[b][end]))
        else {
            return End::Solved;
        };
        if self.rows[first][end] >= -1e-15 * scale {
            return End::Solved;
        }
        for i in 0..size {
            self.rows[i][size] = if self.signed(i) { 1.0 } else { 0.0 };
        }
        let mut entering = self.exchange(first, size);
        while self.pivots < limit && !stop.deadline_passed() {
            let column = self
                .nonbasic
                .iter()
                .position(|v| *v == complement(entering))
                .expect("the complement of what left is nonbasic");
            let Some(row) = self.leaving(column) else {
                self.ray = self.ray_blocks(column);
                return End::Ray;
            };
            entering = self.exchange(row, column);
            if entering == Variable::Artificial {
                return End::Solved;
            }
        }
        End::Budget
    }

    /// The row whose basic variable first reaches zero as `column` grows; the artificial one wins
    /// ties.
    fn leaving(&self, column: usize) -> Option<usize> {
        let end = self.size + 1;
        let largest = self.rows.iter().fold(0.0f64, |m, r| m.max(r[column].abs()));
        let candidates = || {
            (0..self.size).filter(|&i| self.signed(i) && self.rows[i][column] < -1e-11 * largest)
        };
        let ratio = |i: usize| self.rows[i][end].max(0.0) / -self.rows[i][column];
        let least = candidates().map(ratio).fold(f64::INFINITY, f64::min);
        let near = |i: &usize| ratio(*i) <= least * (1.0 + 1e-12) + f64::MIN_POSITIVE;
        let tied: Vec<usize> = candidates().filter(near).collect();
        if let Some(&i) = tied.iter().find(|&&i| self.basic[i] == Variable::Artificial) {
            return Some(i);
        }
        tied.into_iter().min_by(|&a, &b| self.lexicographic(a, b, column))
    }

    /// Compares two tied rows by the columns of the original velocities, each divided by its pivot.
    fn lexicographic(&self, a: usize, b: usize, column: usize) -> std::cmp::Ordering {
        for p in 0..self.size {
            let entry = |i: usize| {
                let x = match self.nonbasic.iter().position(|v| *v == Variable::Velocity(p)) {
                    Some(j) => self.rows[i][j],
                    None if self.basic[i] == Variable::Velocity(p) => -1.0,
                    None => 0.0,
                };
                // basic = T nonbasic + b: the inverse's column is −T, the pivot −T[i][column].
                x / self.rows[i][column]
            };
            let order = entry(a).total_cmp(&entry(b));
            if order.is_ne() {
                return order;
            }
        }
        std::cmp::Ordering::Equal
    }

    /// Blocks whose variables grow along the ray.
    fn ray_blocks(&self, column: usize) -> Vec<usize> {
        let mut blocks: Vec<usize> = (0..self.size)
            .filter(|&i| self.rows[i][column].abs() > 1e-9)
            .filter_map(|i| match self.basic[i] {
                Variable::Reaction(p) => Some(self.block[p]),
                _ => None,
            })
            .collect();
        if let Variable::Reaction(p) = self.nonbasic[column] {
            blocks.push(self.block[p]);
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Row i's basic variable and column j's nonbasic variable change places; returns what left.
    fn exchange(&mut self, i: usize, j: usize) -> Variable {
        self.pivots += 1;
        let mut pivot_row = std::mem::take(&mut self.rows[i]);
        let pivot = pivot_row[j];
        // basic_i = p x_j + rest  →  x_j = (basic_i − rest) / p.
        for x in &mut pivot_row {
            *x /= -pivot;
        }
        pivot_row[j] = 1.0 / pivot;
        for row in self.rows.iter_mut().filter(|row| !row.is_empty()) {
            let factor = row[j];
            if factor != 0.0 {
                row[j] = 0.0;
                for (x, p) in row.iter_mut().zip(&pivot_row) {
                    *x += factor * p;
                }
            }
        }
        self.rows[i] = pivot_row;
        let left = self.basic[i];
        self.basic[i] = std::mem::replace(&mut self.nonbasic[j], left);
        left
    }

    /// The reactions at the present basis, within their bounds.
    fn reactions(&self, reduced: &Reduced) -> Vec<f64> {
        let mut z = vec![0.0; self.size];
        for (i, variable) in self.basic.iter().enumerate() {
            if let Variable::Reaction(p) = *variable {
                z[p] = self.rows[i][self.size + 1];
            }
        }
        let put = |(k, law): (usize, &Law)| match *law {
            _ if turned(law) => (upper_bound(law) - z[k]).min(upper_bound(law)),
            Law::Interval { lo, hi } if lo.is_finite() => (lo + z[k]).clamp(lo, hi),
            Law::Unilateral => z[k].max(0.0),
            _ => z[k],
        };
        let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
        reduced.laws.iter().enumerate().map(put).map(finite).collect()
    }
}

fn complement(variable: Variable) -> Variable {
    match variable {
        Variable::Reaction(p) => Variable::Velocity(p),
        Variable::Velocity(p) => Variable::Reaction(p),
        Variable::Artificial => Variable::Artificial,
    }
}

/// An interval with an upper bound only.
fn turned(law: &Law) -> bool {
    matches!(*law, Law::Interval { lo, hi } if lo.is_infinite() && hi.is_finite())
}

fn upper_bound(law: &Law) -> f64 {
    match *law {
        Law::Interval { hi, .. } => hi,
        _ => f64::INFINITY,
    }
}

/// The symmetric part of W is positive semidefinite up to rounding.
fn semidefinite(reduced: &Reduced) -> bool {
    let m = reduced.rows();
    let transposed = reduced.W.transposed();
    let mut factor = crate::math::cholesky_update::GrowingCholesky::default();
    let mut members: Vec<usize> = Vec::new();
    for i in 0..m {
        let entry = |j: usize| 0.5 * (reduced.W.get(i, j) + transposed.get(i, j));
        let border: Vec<f64> = members.iter().map(|&j| entry(j)).collect();
        let diagonal = entry(i);
        let dependent = 1e-12 * diagonal.abs();
        match factor.append(&border, diagonal, dependent) {
            Ok(()) => members.push(i),
            Err(pivot) if pivot >= -dependent - f64::MIN_POSITIVE => {}
            Err(_) => return false,
        }
    }
    // Rows left out must be combinations of the members: zero diagonal with a coupling elsewhere is
    // indefinite.
    (0..m).filter(|i| !members.contains(i)).all(|i| {
        let entry = |i: usize, j: usize| 0.5 * (reduced.W.get(i, j) + transposed.get(i, j));
        let mut x: Vec<f64> = members.iter().map(|&j| entry(i, j)).collect();
        factor.solve(&mut x);
        (0..m).all(|j| {
            let combined: f64 = members.iter().zip(&x).map(|(&p, x)| entry(p, j) * x).sum();
            (combined - entry(i, j)).abs()
                <= 1e-9 * (entry(j, j) * entry(i, i)).abs().sqrt().max(1e-300)
                    + 1e-12 * entry(i, j).abs()
        })
    })
}
