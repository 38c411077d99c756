//! How wrong a solution is, in joules, and which row is to blame.
//!
//! # The local error
//!
//! With `a_k` the mean diagonal entry of `W = J H⁻¹ Jᵀ + E` over block k,
//!
//! ```text
//!   δe_k = ½ a_k ‖ r_k − P_K( r_k − u_k / a_k ) ‖²     joules             (Enzenhoefer2018, eq. 5)
//!   δu_k = √(2 a_k δe_k)                             metres per second
//! ```
//!
//! zero exactly at a solution, the same in every system of units. Equation 5 is about single rows,
//! each with its own a; here a friction block counts as one, with the mean of its entries, because
//! its law does not know the directions of the tangents. For `Coulomb` the map inside the norm is
//! that of Alart and Curnier, whose size does not depend on mu (see [`super::law`]). Beside it
//! stands the energy of the momentum equation's own defect, `½ ρᵀ H⁻¹ ρ` with `ρ = k + Jᵀ r − H v`;
//! of ρ counts what exceeds the rounding of its own terms (8 ε Σ|terms|), because no method in
//! double precision can do better. `joule = Σ δe_k + ½ ρᵀ H⁻¹ ρ`.
//!
//! # The energy scale
//!
//! ```text
//!   scale = Σ_k δe_k(r = 0)  +  1e-8 Σ_k ½ (‖J_k v₀‖² + ‖w_k‖²) / a_k,      v₀ = H⁻¹ k
//! ```
//!
//! The first sum is the error of doing nothing: what the reactions are there to correct. It needs
//! only W and `q = J v₀ + w`, so that a problem and its reduced view share it; it does not change
//! when the whole machine moves past the observer; it does not depend on the iterate, so that no
//! method can improve its figure by inflating its answer; and contacts that stay open add nothing,
//! however far away. Where nothing has to react the sum is zero: then the second term is the
//! yardstick, the energy of the velocities from which u is formed, each taken to a ten-thousandth
//! (a reduced problem has q alone for them).
//!
//! Beside the local error stands an estimate of the whole (`estimate.rs`).

pub use super::residual::Residual;
pub use super::tolerance::{Criterion, Tolerance, Unmet};

use super::estimate::{bound, reaction_energy};
use super::law::{Law, MAX_ROWS};
use super::residual::ratio;
use super::{Invalid, Problem, Reduced, RowBlock, Solution};
use crate::math::cliques::{CliqueFactor, Cliques};

/// A problem with what its residuals share: the factor of H, the energy scale, the diagonal of W,
/// and work space.
#[derive(Default)]
pub struct PreparedProblem {
    factor: CliqueFactor,
    a: Vec<f64>,
    scale: f64,
    speed: f64,
    /// The least mass that a row moves, kg or kg m².
    lightest: f64,
    free: f64,
    /// J H⁻¹ k: the local velocities that no reaction has touched (m).
    unheld: Vec<f64>,
    u: Vec<f64>,
    rho: Vec<f64>,
    rounding: Vec<f64>,
    zero: Vec<f64>,
    local: Vec<f64>,
    /// Cliques that a block touches.
    touched: Vec<u32>,
}

impl PreparedProblem {
    /// `problem`, prepared.
    pub fn of(problem: &Problem) -> Result<PreparedProblem, Invalid> {
        let mut prepared = PreparedProblem::default();
        prepared.prepare(problem)?;
        Ok(prepared)
    }

    /// A reduced problem, prepared.
    pub fn of_reduced(reduced: &Reduced) -> PreparedProblem {
        let mut prepared = PreparedProblem::default();
        prepared.prepare_reduced(reduced);
        prepared
    }

    /// Prepares `problem` in the memory at hand.
    pub fn prepare(&mut self, problem: &Problem) -> Result<(), Invalid> {
        let (n, m) = (problem.n(), problem.rows());
        self.factor
            .factor(&problem.H)
            .map_err(|bad| Invalid::Indefinite { unknown: bad.unknown, pivot: bad.pivot })?;
        self.diagonal(problem);
        reset(&mut self.zero, m);
        reset(&mut self.rounding, n);
        self.rho.clear();
        self.rho.extend_from_slice(&problem.k);
        self.factor.solve(&mut self.rho);
        self.free = 0.5 * crate::math::dot(&self.rho, &problem.k);
        reset(&mut self.unheld, m);
        problem.J.mul(&self.rho, &mut self.unheld);
        self.rescale(problem);
        Ok(())
    }

    /// Goes on to a problem that differs from the prepared one in `w` and in its laws alone.
    pub fn rescale(&mut self, problem: &Problem) {
        let starts = &problem.J.row_starts;
        self.scale = FREE_ENERGY_SHARE
            * (seen(starts, &self.a, &self.unheld) + seen(starts, &self.a, &problem.w));
        self.u.clear();
        self.u.extend(self.unheld.iter().zip(&problem.w).map(|(u, w)| u + w));
        let idle = local_error(&problem.laws, starts, &self.a, &self.u, &self.zero);
        self.scale += idle.joule;
        self.speed = idle.velocity;
    }

    /// Prepares a reduced problem.
    pub fn prepare_reduced(&mut self, reduced: &Reduced) {
        self.a.clear();
        for k in 0..reduced.laws.len() {
            let range = reduced.range(k);
            let d = range.len() as f64;
            self.a.push(range.map(|i| reduced.W.get(i, i)).sum::<f64>() / d);
        }
        replace_invalid_diagonal(&mut self.a);
        self.lightest = lightest(&self.a);
        reset(&mut self.zero, reduced.rows());
        self.u.clear();
        self.u.extend_from_slice(&reduced.q);
        let starts = &reduced.row_starts;
        self.free = seen(starts, &self.a, &self.u);
        let idle = local_error(&reduced.laws, starts, &self.a, &self.u, &self.zero);
        self.scale = FREE_ENERGY_SHARE * self.free + idle.joule;
        self.speed = idle.velocity;
    }

    /// The mean diagonal entry of W for each block, (m/s)/(N s).
    pub fn a(&self) -> &[f64] {
        &self.a
    }

    /// The largest δu of any block without reactions, m/s.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// The energy scale of the problem, J.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The factor of H (empty for a reduced problem).
    pub fn factor(&mut self) -> &mut CliqueFactor {
        &mut self.factor
    }

    /// The error of a solution of the prepared problem.
    pub fn error(&mut self, problem: &Problem, solution: &Solution) -> Residual {
        self.error_against(problem, solution, None)
    }

    /// The local error of a solution whose velocities belong to its reactions, without momentum
    /// defect and estimate (infinite): a third of the work, for methods that look often.
    /// [`PreparedProblem::error`] has the last word.
    pub fn local_residual(&mut self, problem: &Problem, solution: &Solution) -> Residual {
        problem.local_velocities(&solution.v, &solution.r, &mut self.u);
        let local =
            local_error(&problem.laws, &problem.J.row_starts, &self.a, &self.u, &solution.r);
        guard(Residual {
            scale: self.scale,
            estimate: f64::INFINITY,
            lightest: self.lightest,
            speed: self.speed,
            ..local
        })
    }

    /// As [`PreparedProblem::local_residual`], and as [`PreparedProblem::error`] where that is
    /// within the tolerance.
    pub fn residual_if_converged(
        &mut self,
        problem: &Problem,
        solution: &Solution,
        tolerance: &Tolerance,
    ) -> Residual {
        let local = self.local_residual(problem, solution);
        if local.accepted_locally(tolerance) {
            self.complete(local, problem, solution, None)
        } else {
            local
        }
    }

    /// As [`PreparedProblem::error`], the bound with these reactions in place of the estimate of
    /// r*.
    pub fn error_against(
        &mut self,
        problem: &Problem,
        solution: &Solution,
        reference: Option<&[f64]>,
    ) -> Residual {
        let local = self.local_residual(problem, solution);
        self.complete(local, problem, solution, reference)
    }

    /// Adds momentum defect and estimate to the local error of a solution whose local velocities
    /// are at hand.
    fn complete(
        &mut self,
        mut error: Residual,
        problem: &Problem,
        solution: &Solution,
        reference: Option<&[f64]>,
    ) -> Residual {
        let Solution { v, r } = solution;
        let starts = &problem.J.row_starts;
        // The momentum defect, its energy, and the velocity it stands for.
        self.defect(problem, v, r);
        self.local.clear();
        self.local.extend_from_slice(&self.rho);
        self.factor.solve(&mut self.local);
        error.momentum = 0.5 * crate::math::dot(&self.rho, &self.local).max(0.0);
        error.momentum_velocity = self.local.iter().fold(0.0, |m, x| x.abs().max(m));
        error.joule += error.momentum;
        if error.momentum > 0.0 {
            for block in problem.J.blocks() {
                let mut du = [0.0; MAX_ROWS];
                block.mul(&self.local, &mut du);
                for (u, du) in self.u[block.range()].iter_mut().zip(du) {
                    *u += du;
                }
            }
        }
        let free = |i: usize| self.unheld[i] + problem.w[i];
        error.reaction_energy = reaction_energy(&problem.laws, starts, &self.u, free, r);
        let rounding = less_rounding(problem, &self.a, solution, &mut self.u);
        let bound = bound(&problem.laws, starts, &self.a, &self.u, r, reference);
        error.estimate = (bound.sqrt() + error.momentum.sqrt()).powi(2);
        let clean = local_error(&problem.laws, starts, &self.a, &self.u, r);
        if reference.is_none() {
            error.estimate = self.safe(error.estimate, clean.joule + error.momentum);
        }
        // Where the scale is rounding, so is most of the local error: the rest is the method's.
        if error.momentum == 0.0 && self.scale <= ROUNDING_SCALE_RATIO * rounding {
            let Residual { scale, estimate, lightest, reaction_energy, speed, .. } = error;
            error = Residual { scale, estimate, lightest, reaction_energy, speed, ..clean };
        }
        guard(error)
    }

    /// The error of reactions `r` of the prepared reduced problem.
    pub fn error_reduced(&mut self, reduced: &Reduced, r: &[f64]) -> Residual {
        reduced.local_velocities(r, &mut self.u);
        let mut error = local_error(&reduced.laws, &reduced.row_starts, &self.a, &self.u, r);
        (error.scale, error.lightest, error.speed) = (self.scale, self.lightest, self.speed);
        let free = |i: usize| reduced.q[i];
        error.reaction_energy =
            reaction_energy(&reduced.laws, &reduced.row_starts, &self.u, free, r);
        for (i, u) in self.u.iter_mut().enumerate() {
            let (columns, values) = reduced.W.row(i);
            let terms: f64 =
                columns.iter().zip(values).map(|(&j, w)| (w * r[j as usize]).abs()).sum();
            *u =
                u.signum() * (u.abs() - 8.0 * f64::EPSILON * (terms + reduced.q[i].abs())).max(0.0);
        }
        let clean = local_error(&reduced.laws, &reduced.row_starts, &self.a, &self.u, r).joule;
        error.estimate =
            self.safe(bound(&reduced.laws, &reduced.row_starts, &self.a, &self.u, r, None), clean);
        guard(error)
    }

    /// δe of each block at the last judged solution's local velocities, J.
    pub fn block_errors(&self, laws: &[Law], row_starts: &[usize], r: &[f64]) -> Vec<f64> {
        (0..laws.len())
            .map(|k| block_error(&laws[k], self.a[k], &self.u, r, row_starts[k]).0)
            .collect()
    }

    /// The bound with estimated impulses, widened by what an early iterate cannot know; `joule` is
    /// its local error, less rounding.
    fn safe(&self, bound: f64, joule: f64) -> f64 {
        let relative = ratio(joule, self.scale).min(1.0);
        bound * (1.0 + 100.0 * relative.sqrt()) + 4.0 * relative * self.free
    }

    /// `a_k`: the mean diagonal entry of `J_k H⁻¹ J_kᵀ + E_k`.
    fn diagonal(&mut self, problem: &Problem) {
        self.a.clear();
        // Rows of large cliques are collected, so that each sparse factor is applied to many
        // right-hand sides at once.
        let mut waiting: Vec<(u32, u32, u32)> = Vec::new();
        for (k, block) in problem.J.blocks().enumerate() {
            self.a.push(problem.E[block.range()].iter().sum());
            if let Some(trace) = self.trace_of_whole(&block) {
                self.a[k] += trace;
                continue;
            }
            self.touched.clear();
            self.touched.extend(block.columns.iter().map(|&j| self.factor.cliques.of[j as usize]));
            self.touched.sort_unstable();
            self.touched.dedup();
            for i in 0..block.rows {
                for t in 0..self.touched.len() {
                    let c = self.touched[t];
                    match self.factor.dense(c as usize) {
                        Some(_) => self.add_products(problem, c, &[(c, k as u32, i as u32)]),
                        None => waiting.push((c, k as u32, i as u32)),
                    }
                }
            }
        }
        waiting.sort_unstable();
        for rows in waiting.chunk_by(|a, b| a.0 == b.0) {
            rows.chunks(RIGHT_HAND_SIDES)
                .for_each(|rows| self.add_products(problem, rows[0].0, rows));
        }
        let blocks = self.a.iter_mut().zip(problem.J.row_starts.windows(2));
        blocks.for_each(|(a, starts)| *a /= (starts[1] - starts[0]) as f64);
        replace_invalid_diagonal(&mut self.a);
        self.lightest = lightest(&self.a);
    }

    /// The trace of `J_k H⁻¹ J_kᵀ = (L⁻¹J_kᵀ)ᵀ (L⁻¹J_kᵀ)`, if the block holds all unknowns of small
    /// cliques, one clique after the other.
    fn trace_of_whole(&self, block: &RowBlock<'_>) -> Option<f64> {
        let cliques = &self.factor.cliques;
        let (mut at, mut sum) = (0, 0.0);
        let mut whitened = [0.0; MAX_STACK_CLIQUE];
        while at < block.columns.len() {
            let c = cliques.of[block.columns[at] as usize] as usize;
            let members = cliques.members(c);
            let n = members.len();
            if n > MAX_STACK_CLIQUE || block.columns.get(at..at + n)? != members {
                return None;
            }
            let l = self.factor.dense(c)?;
            if let [l] = l {
                (0..block.rows).for_each(|i| sum += (block.row(i)[at] / l).powi(2));
                at += 1;
                continue;
            }
            for i in 0..block.rows {
                let whitened = &mut whitened[..n];
                whitened.copy_from_slice(&block.row(i)[at..at + n]);
                crate::math::dense::forward(n, l, whitened);
                sum += whitened.iter().map(|x| x * x).sum::<f64>();
            }
            at += n;
        }
        Some(sum)
    }

    /// `a_k ← a_k + J_i H_c⁻¹ J_iᵀ` for each (clique c, block k, its row i).
    fn add_products(&mut self, problem: &Problem, c: u32, rows: &[(u32, u32, u32)]) {
        let PreparedProblem { factor, local, a, .. } = self;
        let size = factor.cliques.members(c as usize).len();
        reset(local, size * rows.len());
        let place = |cliques: &Cliques, j: u32| {
            (cliques.of[j as usize] == c).then(|| cliques.place[j as usize] as usize)
        };
        for (&(_, k, i), column) in rows.iter().zip(local.chunks_exact_mut(size)) {
            let block = problem.J.block(k as usize);
            for (&j, &x) in block.columns.iter().zip(block.row(i as usize)) {
                if let Some(p) = place(&factor.cliques, j) {
                    column[p] = x;
                }
            }
        }
        factor.solve_clique(c as usize, local);
        for (&(_, k, i), column) in rows.iter().zip(local.chunks_exact(size)) {
            let block = problem.J.block(k as usize);
            for (&j, &x) in block.columns.iter().zip(block.row(i as usize)) {
                if let Some(p) = place(&factor.cliques, j) {
                    a[k as usize] += x * column[p];
                }
            }
        }
    }

    /// `ρ = k + Jᵀ r − H v`, less the rounding of its own terms.
    fn defect(&mut self, problem: &Problem, v: &[f64], r: &[f64]) {
        self.rho.copy_from_slice(&problem.k);
        for (b, k) in self.rounding.iter_mut().zip(&problem.k) {
            *b = k.abs();
        }
        for block in problem.J.blocks() {
            block.add_transposed(&r[block.range()], &mut self.rho);
            block.add_transposed_by(&r[block.range()], &mut self.rounding, f64::abs);
        }
        for i in 0..problem.n() {
            let (columns, values) = problem.H.row(i);
            for (&j, h) in columns.iter().zip(values) {
                self.rho[i] -= h * v[j as usize];
                self.rounding[i] += (h * v[j as usize]).abs();
            }
            let noise = 8.0 * f64::EPSILON * self.rounding[i];
            self.rho[i] = self.rho[i].signum() * (self.rho[i].abs() - noise).max(0.0);
        }
    }
}

/// The largest clique whose rows are whitened on the stack: a rigid body.
const MAX_STACK_CLIQUE: usize = 6;

/// Rows of a large clique whose products with H⁻¹ are formed together: the factor is read once for
/// all of them.
const RIGHT_HAND_SIDES: usize = 64;

/// An energy scale of no more than this many times the energy of rounding is made of rounding.
const ROUNDING_SCALE_RATIO: f64 = 100.0;

/// Share of the energy of the velocities that the rows see, in the energy scale.
const FREE_ENERGY_SHARE: f64 = 1e-8;

/// `Σ_k ½ ‖u_k‖² / a_k`.
fn seen(row_starts: &[usize], a: &[f64], u: &[f64]) -> f64 {
    a.iter()
        .enumerate()
        .map(|(k, a)| {
            u[row_starts[k]..row_starts[k + 1]].iter().map(|u| u * u).sum::<f64>() * 0.5 / a
        })
        .sum()
}

/// `u` less the rounding of its own terms (8 ε Σ|terms|): what is left is the method's. Returns the
/// energy of the rounding, J.
fn less_rounding(problem: &Problem, a: &[f64], Solution { v, r }: &Solution, u: &mut [f64]) -> f64 {
    let mut energy = 0.0;
    for (block, a) in problem.J.blocks().zip(a) {
        let mut sizes = [0.0; MAX_ROWS];
        block.mul_by(v, &mut sizes, f64::abs);
        for (i, terms) in sizes.into_iter().enumerate().take(block.rows) {
            let row = block.first + i;
            let noise = 8.0
                * f64::EPSILON
                * (terms + (problem.E[row] * r[row]).abs() + problem.w[row].abs());
            u[row] = u[row].signum() * (u[row].abs() - noise).max(0.0);
            energy += 0.5 * noise * noise / a;
        }
    }
    energy
}

fn reset(x: &mut Vec<f64>, n: usize) {
    x.clear();
    x.resize(n, 0.0);
}

/// The least mass that a row moves.
fn lightest(a: &[f64]) -> f64 {
    let most = a.iter().fold(0.0f64, |most, a| most.max(*a));
    if most > 0.0 { 1.0 / most } else { 0.0 }
}

/// A block that nothing moves has no effective mass of its own: it is judged with the mean one.
fn replace_invalid_diagonal(a: &mut [f64]) {
    let good = |x: f64| x > 0.0 && x.is_finite();
    let (sum, count) = a.iter().filter(|x| good(**x)).fold((0.0, 0u32), |(s, c), x| (s + x, c + 1));
    let mean = if count > 0 { sum / f64::from(count) } else { 1.0 };
    a.iter_mut().filter(|x| !good(**x)).for_each(|x| *x = mean);
}

/// δe of one block, and the row of the block that contributes most.
#[inline]
fn block_error(law: &Law, a: f64, u: &[f64], r: &[f64], first: usize) -> (f64, usize) {
    let d = law.rows();
    // Projections swallow what is not a number; the error must not.
    if !u[first..first + d].iter().chain(&r[first..first + d]).all(|x| x.is_finite()) {
        return (f64::INFINITY, 0);
    }
    let mut out = [0.0; MAX_ROWS];
    law.natural(a, &u[first..first + d], &r[first..first + d], &mut out[..d]);
    let (mut worst, mut sum) = (0, 0.0);
    for i in 0..d {
        sum += out[i] * out[i];
        if out[i].abs() > out[worst].abs() {
            worst = i;
        }
    }
    (0.5 * a * sum, worst)
}

fn local_error(laws: &[Law], row_starts: &[usize], a: &[f64], u: &[f64], r: &[f64]) -> Residual {
    let mut error = Residual::default();
    let mut largest = -1.0;
    for (k, law) in laws.iter().enumerate() {
        let (joule, row) = block_error(law, a[k], u, r, row_starts[k]);
        let velocity = (2.0 * a[k] * joule).sqrt();
        error.joule += joule;
        if joule > largest {
            largest = joule;
            error.worst_block = k;
            error.worst_row = row_starts[k] + row;
        }
        if velocity > error.velocity {
            error.velocity = velocity;
            error.max_velocity_error_block = k;
        }
    }
    error
}

/// A figure that is not a number is an infinite error: it must never look small.
fn guard(mut error: Residual) -> Residual {
    for x in [
        &mut error.joule,
        &mut error.estimate,
        &mut error.velocity,
        &mut error.momentum,
        &mut error.momentum_velocity,
    ] {
        if x.is_nan() {
            *x = f64::INFINITY;
        }
    }
    error
}
