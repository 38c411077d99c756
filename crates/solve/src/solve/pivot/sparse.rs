//! The walk's basis on the whole problem: `[H Jᵀ; J −E]` over the free rows, updated row by row.

use super::order::analyse;
use super::walk::{Basis, Response};
use crate::math::cliques::CliqueFactor;
use crate::math::double_double::DoubleDouble;
use crate::math::ldlt::Updatable;
use crate::math::sparse::Csr;
use crate::problem::Problem;

/// Stiffness below this part of `Σ|J_ij dv_j|` is cancellation between rows that depend on each
/// other (rows that agree to nine digits count as dependent).
const CANCELLED_STIFFNESS: f64 = 1e-9;
/// And below this part of the row's own W it is the rounding of the response.
const ROUNDING_STIFFNESS: f64 = 1e-25;
/// Patterns that are remembered.
const MAX_CACHED_PATTERNS: usize = 64;
/// A response much softer than the row alone is refined before it is believed.
const REFINED_STIFFNESS: f64 = 1e-6;

/// Velocities, factor and work space.
#[derive(Default)]
pub(super) struct Sparse {
    factor: Updatable,
    /// Factors of other patterns that were met, and which of them goes first: a scene has many
    /// islands, each with a pattern of its own.
    others: Vec<Updatable>,
    oldest: usize,
    /// J by rows.
    rows: Csr,
    a: Vec<f64>,
    /// The rounding of each row at the velocities without reactions, `ε (|w_i| + |J_i| |H⁻¹k|)`: a
    /// machine at rest is at rest up to the rounding of what was stopped.
    floor: Vec<f64>,
    /// (v, −r) at present, and its change per unit of the entering reaction (n + m).
    v: Vec<f64>,
    change: Vec<f64>,
    residual: Vec<f64>,
    correction: Vec<f64>,
    free: Vec<bool>,
    stale: bool,
    factorizations: u64,
    /// H factored, and the lower triangle that `factor` was made for.
    masses: CliqueFactor,
    lower: Csr,
    /// On the way: what is in the factor, double-double sums, cliques that a row touches, a row
    /// over one of them.
    present: Vec<bool>,
    sums: Vec<DoubleDouble>,
    touched: Vec<u32>,
    local: Vec<f64>,
}

/// The basis together with the problem it belongs to.
pub(super) struct SparseBasis<'a> {
    pub(super) problem: &'a Problem,
    pub(super) state: &'a mut Sparse,
}

impl Sparse {
    /// Takes a problem with one-row blocks; `Err` names an unknown where H is not positive
    /// definite.
    pub(super) fn prepare(&mut self, problem: &Problem) -> Result<(), usize> {
        let (n, m) = (problem.n(), problem.rows());
        lower_triangle(problem, &mut self.lower);
        self.recall(problem);
        by_rows(problem, &mut self.rows);
        self.masses.factor(&problem.H).map_err(|bad| bad.unknown)?;
        self.set_diagonal(problem);
        let (free, rows) = (&mut self.change, &self.rows);
        free.clone_from(&problem.k);
        self.masses.solve(free);
        let seen = |i: usize| {
            let (columns, values) = rows.row(i);
            problem.w[i].abs()
                + columns
                    .iter()
                    .zip(values)
                    .map(|(&j, x)| (x * free[j as usize]).abs())
                    .sum::<f64>()
        };
        self.floor.clear();
        self.floor.extend((0..m).map(|i| f64::EPSILON * seen(i)));
        for list in [&mut self.v, &mut self.change, &mut self.residual, &mut self.correction] {
            list.clear();
            list.resize(n + m, 0.0);
        }
        self.free.clear();
        self.free.resize(m, false);
        self.factorizations = 0;
        Ok(())
    }

    /// Makes `factor` one of the pattern of `lower`: the last one, one of those before, or a new
    /// one.
    fn recall(&mut self, problem: &Problem) {
        if self.factor.is_empty() || !self.factor.matches(&self.lower) {
            match self.others.iter().position(|other| other.matches(&self.lower)) {
                Some(i) => std::mem::swap(&mut self.others[i], &mut self.factor),
                None => {
                    let last = std::mem::replace(&mut self.factor, analyse(problem, &self.lower));
                    if self.others.len() < MAX_CACHED_PATTERNS {
                        self.others.push(last);
                    } else {
                        self.oldest = (self.oldest + 1) % MAX_CACHED_PATTERNS;
                        self.others[self.oldest] = last;
                    }
                    return;
                }
            }
        }
        self.factor.set_values(&self.lower.values);
    }

    /// `W_ii = J_i H⁻¹ J_iᵀ + E_i`.
    fn set_diagonal(&mut self, problem: &Problem) {
        let Sparse { a, rows, masses, touched, local, .. } = self;
        a.clone_from(&problem.E);
        for (i, a) in a.iter_mut().enumerate() {
            let (columns, values) = rows.row(i);
            touched.clear();
            touched.extend(columns.iter().map(|&j| masses.cliques.of[j as usize]));
            touched.sort_unstable();
            touched.dedup();
            for &c in &*touched {
                local.clear();
                local.resize(masses.cliques.members(c as usize).len(), 0.0);
                let mine = |(&j, &x): (&u32, &f64), masses: &CliqueFactor| {
                    (masses.cliques.of[j as usize] == c)
                        .then(|| (masses.cliques.place[j as usize] as usize, x))
                };
                for (p, x) in columns.iter().zip(values).filter_map(|e| mine(e, masses)) {
                    local[p] = x;
                }
                masses.solve_clique(c as usize, local);
                *a += columns
                    .iter()
                    .zip(values)
                    .filter_map(|e| mine(e, masses))
                    .map(|(p, x)| x * local[p])
                    .sum::<f64>();
            }
        }
    }

    /// The velocities.
    pub(super) fn v(&self, n: usize) -> &[f64] {
        &self.v[..n]
    }

    /// `v ← H⁻¹(k + Jᵀ r)`.
    pub(super) fn velocities_of(&mut self, problem: &Problem, r: &[f64], v: &mut Vec<f64>) {
        v.clone_from(&problem.k);
        problem.J.add_transposed(r, v);
        self.masses.solve(v);
    }

    /// Entries of the factor.
    pub(super) fn factor_len(&self) -> usize {
        self.factor.factor_len()
    }
}

impl Basis for SparseBasis<'_> {
    fn restart(&mut self, free: &[bool], dropped: &mut Vec<usize>) {
        let (n, state) = (self.problem.n(), &mut *self.state);
        state.present.clear();
        state.present.resize(n, true);
        state.present.extend_from_slice(free);
        state.factorizations += 1;
        state.free.copy_from_slice(free);
        state.stale = false;
        // H was factored before: its pivots here are positive too, up to rounding that only a NaN
        // exceeds.
        if state.factor.factor(&state.present, n, dropped).is_err() {
            dropped.clear();
        }
        for i in dropped {
            *i -= n;
            state.free[*i] = false;
        }
    }

    fn add(&mut self, i: usize) -> bool {
        self.state.free[i] = true;
        self.state.stale = true;
        self.state.factor.add(self.problem.n() + i)
    }

    fn remove(&mut self, i: usize) -> bool {
        self.state.free[i] = false;
        self.state.stale = true;
        self.state.factor.remove(self.problem.n() + i)
    }

    fn stale(&self) -> bool {
        self.state.stale
    }

    fn settle(&mut self, r: &mut [f64], steps: usize) {
        let n = self.problem.n();
        // A broken factor may have left no numbers behind.
        let good = |x: &mut f64| *x = if x.is_finite() { *x } else { 0.0 };
        self.state.v.iter_mut().for_each(good);
        r.iter_mut().for_each(good);
        for i in 0..r.len() {
            self.state.v[n + i] = -r[i];
        }
        for _ in 0..steps {
            let size = (norm_one(&self.state.v[..n]), norm_one(&self.state.v[n..]));
            self.residual_of_state(r);
            std::mem::swap(&mut self.state.correction, &mut self.state.residual);
            self.state.factor.solve(&mut self.state.correction);
            let change =
                (norm_one(&self.state.correction[..n]), norm_one(&self.state.correction[n..]));
            for (x, c) in self.state.v.iter_mut().zip(&self.state.correction) {
                *x += c;
            }
            for i in 0..r.len() {
                if self.state.free[i] {
                    r[i] = -self.state.v[n + i];
                }
            }
            if change.0 <= 1e-17 * size.0 && change.1 <= 1e-17 * size.1 {
                break;
            }
        }
    }

    fn respond(&mut self, i: usize, dr: &mut [f64]) -> Response {
        let n = self.problem.n();
        let state = &mut *self.state;
        state.change.fill(0.0);
        state.rows.add_row(i, 1.0, &mut state.change[..n]);
        state.factor.solve(&mut state.change);
        let mut stiffness = state.rows.row_dot(i, &state.change[..n]) + self.problem.E[i];
        if stiffness < REFINED_STIFFNESS * state.a[i] {
            for _ in 0..2 {
                self.refine_response(i);
            }
            stiffness = self.state.rows.row_dot(i, &self.state.change[..n]) + self.problem.E[i];
        }
        let state = &*self.state;
        let (columns, values) = state.rows.row(i);
        let magnitude = columns
            .iter()
            .zip(values)
            .map(|(&j, x)| (x * state.change[j as usize]).abs())
            .sum::<f64>()
            + self.problem.E[i];
        for (j, dr) in dr.iter_mut().enumerate() {
            *dr = if state.free[j] { -state.change[n + j] } else { 0.0 };
        }
        dr[i] = 1.0;
        let independent = stiffness > CANCELLED_STIFFNESS * magnitude
            && stiffness > ROUNDING_STIFFNESS * state.a[i];
        Response { stiffness: if independent { stiffness } else { 0.0 } }
    }

    fn advance(&mut self, step: f64) {
        let n = self.problem.n();
        for (v, dv) in self.state.v[..n].iter_mut().zip(&self.state.change[..n]) {
            *v += step * dv;
        }
    }

    fn velocities(&self, r: &[f64], u: &mut [f64], noise: &mut [f64]) {
        let v = &self.state.v;
        for i in 0..r.len() {
            let (columns, values) = self.state.rows.row(i);
            let (mut sum, mut magnitude) =
                (self.problem.w[i] + self.problem.E[i] * r[i], self.problem.w[i].abs());
            for (&j, x) in columns.iter().zip(values) {
                let term = x * v[j as usize];
                sum += term;
                magnitude += term.abs();
            }
            u[i] = sum;
            noise[i] = (magnitude * f64::EPSILON).max(self.state.floor[i]);
        }
    }

    fn a(&self) -> &[f64] {
        &self.state.a
    }

    fn factorizations(&self) -> u64 {
        self.state.factorizations
    }
}

impl SparseBasis<'_> {
    /// `b − K (v, −r)` over velocities and free rows, into `residual`; sums are carried in
    /// double-double precision.
    fn residual_of_state(&mut self, r: &[f64]) {
        let (n, problem) = (self.problem.n(), self.problem);
        let state = &mut *self.state;
        let sums = &mut state.sums;
        sums.clear();
        sums.extend(problem.k.iter().map(|&k| DoubleDouble::new(k)));
        for (i, &ri) in r.iter().enumerate() {
            if ri != 0.0 {
                let (columns, values) = state.rows.row(i);
                for (&j, &x) in columns.iter().zip(values) {
                    sums[j as usize].add_product(x, ri);
                }
            }
        }
        for i in 0..n {
            let (columns, values) = problem.H.row(i);
            for (&j, &h) in columns.iter().zip(values) {
                sums[i].add_product(-h, state.v[j as usize]);
            }
            state.residual[i] = sums[i].value();
        }
        for i in 0..r.len() {
            state.residual[n + i] = 0.0;
            if state.free[i] {
                let mut sum = DoubleDouble::new(-problem.w[i]);
                sum.add_product(-problem.E[i], r[i]);
                let (columns, values) = state.rows.row(i);
                for (&j, &x) in columns.iter().zip(values) {
                    sum.add_product(-x, state.v[j as usize]);
                }
                state.residual[n + i] = sum.value();
            }
        }
    }

    /// One step of refinement of the response to row `i`.
    fn refine_response(&mut self, i: usize) {
        let (n, problem) = (self.problem.n(), self.problem);
        let state = &mut *self.state;
        let sums = &mut state.sums;
        sums.clear();
        sums.resize(n, DoubleDouble::default());
        let (columns, values) = state.rows.row(i);
        for (&j, &x) in columns.iter().zip(values) {
            sums[j as usize] = DoubleDouble::new(x);
        }
        for p in 0..state.free.len() {
            state.residual[n + p] = 0.0;
            if state.free[p] {
                let (columns, values) = state.rows.row(p);
                let mut sum = DoubleDouble::default();
                sum.add_product(problem.E[p], state.change[n + p]);
                for (&j, &x) in columns.iter().zip(values) {
                    sums[j as usize].add_product(-x, state.change[n + p]);
                    sum.add_product(-x, state.change[j as usize]);
                }
                state.residual[n + p] = sum.value();
            }
        }
        for p in 0..n {
            let (columns, values) = problem.H.row(p);
            for (&j, &h) in columns.iter().zip(values) {
                sums[p].add_product(-h, state.change[j as usize]);
            }
            state.residual[p] = sums[p].value();
        }
        std::mem::swap(&mut state.correction, &mut state.residual);
        state.factor.solve(&mut state.correction);
        for (x, c) in state.change.iter_mut().zip(&state.correction) {
            *x += c;
        }
    }
}

fn norm_one(x: &[f64]) -> f64 {
    x.iter().map(|x| x.abs()).sum()
}

/// `lower ←` the lower triangle of `[H Jᵀ; J −E]`, every row of J included.
pub(super) fn lower_triangle(problem: &Problem, lower: &mut Csr) {
    let (n, m) = (problem.n(), problem.rows());
    lower.clear(n + m, n + m);
    for i in 0..n {
        let (columns, values) = problem.H.row(i);
        for (&j, &x) in columns.iter().zip(values) {
            if j as usize <= i {
                lower.columns.push(j);
                lower.values.push(x);
            }
        }
        lower.starts[i + 1] = lower.columns.len();
    }
    for block in problem.J.blocks() {
        for i in 0..block.rows {
            let row = n + block.first + i;
            lower.columns.extend_from_slice(block.columns);
            lower.values.extend_from_slice(block.row(i));
            lower.columns.push(row as u32);
            lower.values.push(-problem.E[block.first + i]);
            lower.starts[row + 1] = lower.columns.len();
        }
    }
}

/// `out ←` J by rows, with the zeros that its blocks store.
fn by_rows(problem: &Problem, out: &mut Csr) {
    out.clear(problem.rows(), problem.n());
    for block in problem.J.blocks() {
        for i in 0..block.rows {
            out.columns.extend_from_slice(block.columns);
            out.values.extend_from_slice(block.row(i));
            out.starts[block.first + i + 1] = out.columns.len();
        }
    }
}
