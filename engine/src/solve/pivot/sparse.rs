//! The walk's basis on the whole problem: `[H Jᵀ; J −E]` over the free rows, updated row by row.

use super::order::analyse;
use super::walk::{Basis, Response};
use crate::math::cliques::CliqueFactor;
use crate::math::sparse::Csr;
use crate::math::twofold::Twofold;
use crate::math::updatable::Updatable;
use crate::problem::Problem;

/// Stiffness below this part of `Σ|J_ij dv_j|` is cancellation between rows that depend on each other
/// (rows that agree to nine digits count as dependent).
const DEPENDENT: f64 = 1e-9;
/// And below this part of the row's own W it is the rounding of the response.
const FLOOR: f64 = 1e-25;
/// A response much softer than the row alone is refined before it is believed.
const SOFT: f64 = 1e-6;

/// Velocities, factor and work space.
#[derive(Default)]
pub(super) struct Sparse {
    factor: Updatable,
    /// J by rows.
    rows: Csr,
    a: Vec<f64>,
    /// The rounding of each row at the velocities without reactions, `ε (|w_i| + |J_i| |H⁻¹k|)`: a machine at rest is at
    /// rest up to the rounding of what was stopped.
    floor: Vec<f64>,
    /// (v, −r) at present, and its change per unit of the entering reaction (n + m).
    v: Vec<f64>,
    change: Vec<f64>,
    residual: Vec<f64>,
    correction: Vec<f64>,
    free: Vec<bool>,
    stale: bool,
    factorizations: u64,
}

/// The basis together with the problem it belongs to.
pub(super) struct SparseBasis<'a> {
    pub(super) problem: &'a Problem,
    pub(super) state: &'a mut Sparse,
}

impl Sparse {
    /// Takes a problem with one-row blocks; `Err` names an unknown where H is not positive definite.
    pub(super) fn prepare(&mut self, problem: &Problem) -> Result<(), usize> {
        let (n, m) = (problem.n(), problem.rows());
        let lower = lower_triangle(problem);
        if self.factor.is_empty() || !self.factor.matches(&lower) {
            self.factor = analyse(problem, &lower);
        } else {
            self.factor.set_values(&lower.values);
        }
        self.rows = by_rows(problem);
        let mut clique_factor = CliqueFactor::default();
        clique_factor.factor(&problem.H).map_err(|bad| bad.unknown)?;
        self.a = diagonal(problem, &self.rows, &mut clique_factor);
        let mut free = problem.k.clone();
        clique_factor.solve(&mut free);
        let seen = |i: usize| {
            let (columns, values) = self.rows.row(i);
            problem.w[i].abs() + columns.iter().zip(values).map(|(&j, x)| (x * free[j as usize]).abs()).sum::<f64>()
        };
        self.floor = (0..m).map(|i| f64::EPSILON * seen(i)).collect();
        self.v = vec![0.0; n + m];
        self.change = vec![0.0; n + m];
        self.residual = vec![0.0; n + m];
        self.correction = vec![0.0; n + m];
        self.free = vec![false; m];
        self.factorizations = 0;
        Ok(())
    }

    /// The velocities.
    pub(super) fn v(&self, n: usize) -> &[f64] {
        &self.v[..n]
    }

    /// Entries of the factor.
    pub(super) fn factor_len(&self) -> usize {
        self.factor.factor_len()
    }
}

impl Basis for SparseBasis<'_> {
    fn restart(&mut self, free: &[bool]) -> Vec<usize> {
        let n = self.problem.n();
        let present: Vec<bool> = (0..n + free.len()).map(|i| i < n || free[i - n]).collect();
        self.state.factorizations += 1;
        self.state.free.copy_from_slice(free);
        self.state.stale = false;
        // H was factored before: its pivots here are positive too, up to rounding that only a NaN exceeds.
        let dropped = self.state.factor.factor(&present, n).unwrap_or_default();
        dropped.into_iter().map(|i| i - n).inspect(|&i| self.state.free[i] = false).collect()
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
            let change = (norm_one(&self.state.correction[..n]), norm_one(&self.state.correction[n..]));
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
        if stiffness < SOFT * state.a[i] {
            for _ in 0..2 {
                self.refine_response(i);
            }
            stiffness = self.state.rows.row_dot(i, &self.state.change[..n]) + self.problem.E[i];
        }
        let state = &*self.state;
        let (columns, values) = state.rows.row(i);
        let magnitude = columns.iter().zip(values).map(|(&j, x)| (x * state.change[j as usize]).abs()).sum::<f64>() + self.problem.E[i];
        for (j, dr) in dr.iter_mut().enumerate() {
            *dr = if state.free[j] { -state.change[n + j] } else { 0.0 };
        }
        dr[i] = 1.0;
        let independent = stiffness > DEPENDENT * magnitude && stiffness > FLOOR * state.a[i];
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
            let (mut sum, mut magnitude) = (self.problem.w[i] + self.problem.E[i] * r[i], self.problem.w[i].abs());
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
    /// `b − K (v, −r)` over velocities and free rows, into `residual`; sums are carried twofold.
    fn residual_of_state(&mut self, r: &[f64]) {
        let (n, problem) = (self.problem.n(), self.problem);
        let state = &mut *self.state;
        let mut sums: Vec<Twofold> = problem.k.iter().map(|&k| Twofold::new(k)).collect();
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
                let mut sum = Twofold::new(-problem.w[i]);
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
        let mut sums = vec![Twofold::default(); n];
        let (columns, values) = state.rows.row(i);
        for (&j, &x) in columns.iter().zip(values) {
            sums[j as usize] = Twofold::new(x);
        }
        for p in 0..state.free.len() {
            state.residual[n + p] = 0.0;
            if state.free[p] {
                let (columns, values) = state.rows.row(p);
                let mut sum = Twofold::default();
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

/// The lower triangle of `[H Jᵀ; J −E]`, every row of J included.
pub(super) fn lower_triangle(problem: &Problem) -> Csr {
    let (n, m) = (problem.n(), problem.rows());
    let mut lower = Csr::empty(n + m, n + m);
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
    lower
}

/// J by rows, with the zeros that its blocks store.
fn by_rows(problem: &Problem) -> Csr {
    let mut out = Csr::empty(problem.rows(), problem.n());
    for block in problem.J.blocks() {
        for i in 0..block.rows {
            out.columns.extend_from_slice(block.columns);
            out.values.extend_from_slice(block.row(i));
            out.starts[block.first + i + 1] = out.columns.len();
        }
    }
    out
}

/// `W_ii = J_i H⁻¹ J_iᵀ + E_i`.
fn diagonal(problem: &Problem, rows: &Csr, factor: &mut CliqueFactor) -> Vec<f64> {
    let (mut touched, mut local) = (Vec::new(), Vec::new());
    let mut a = problem.E.clone();
    for (i, a) in a.iter_mut().enumerate() {
        let (columns, values) = rows.row(i);
        touched.clear();
        touched.extend(columns.iter().map(|&j| factor.cliques.of[j as usize]));
        touched.sort_unstable();
        touched.dedup();
        for &c in &touched {
            local.clear();
            local.resize(factor.cliques.members(c as usize).len(), 0.0);
            let mine = |(&j, &x): (&u32, &f64), factor: &CliqueFactor| {
                (factor.cliques.of[j as usize] == c).then(|| (factor.cliques.place[j as usize] as usize, x))
            };
            for (p, x) in columns.iter().zip(values).filter_map(|e| mine(e, factor)) {
                local[p] = x;
            }
            factor.solve_clique(c as usize, &mut local);
            *a += columns.iter().zip(values).filter_map(|e| mine(e, factor)).map(|(p, x)| x * local[p]).sum::<f64>();
        }
    }
    a
}
