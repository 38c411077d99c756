//! The active-set walk: one row enters or leaves at a time.
//!
//! The rows are scalar: `lo_i ≤ r_i ≤ hi_i`, and `u_i = 0` inside, `≥ 0` at lo, `≤ 0` at hi. A row
//! is *free* (in the factorization, u_i = 0) or *fixed* at its present r_i. The numbers are those
//! of the algorithm in the parent's header.

use crate::solve::{Sample, StoppingCriteria};

/// What the walk needs of a factorization over the free rows.
pub(super) trait Basis {
    /// Factors anew with these free rows; `dropped ←` those that depend on others (they are left
    /// out).
    fn restart(&mut self, free: &[bool], dropped: &mut Vec<usize>);
    /// Row i becomes free. False: the factor broke and must be restarted.
    fn add(&mut self, i: usize) -> bool;
    /// Row i becomes fixed. False: the factor broke and must be restarted.
    fn remove(&mut self, i: usize) -> bool;
    /// True if rows came or went since the last restart.
    fn stale(&self) -> bool;
    /// Sets the free r_i (and the velocities) such that u_i = 0 on free rows; at most `steps`
    /// solves (refinement).
    fn settle(&mut self, r: &mut [f64], steps: usize);
    /// What one unit more of r_i does while the free rows keep their u: the change of all r, and of
    /// u_i.
    fn respond(&mut self, i: usize, dr: &mut [f64]) -> Response;
    /// Moves the velocities by `step` times the last response.
    fn advance(&mut self, step: f64);
    /// `u` of all rows, and the rounding of their sums.
    fn velocities(&self, r: &[f64], u: &mut [f64], noise: &mut [f64]);
    /// The diagonal of W.
    fn a(&self) -> &[f64];
    /// Factorizations since the problem was taken.
    fn factorizations(&self) -> u64;
}

/// The answer of a basis to an entering row.
pub(super) struct Response {
    /// Change of u_i per unit of r_i; zero if the row depends on the free rows.
    pub(super) stiffness: f64,
}

/// How a walk ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// Every row obeys its law, up to rounding.
    Solved,
    /// Work or time ran out (true: time).
    Budget(bool),
    /// These rows contradict each other.
    Infeasible(Vec<usize>),
}

/// Units of rounding that count as zero along the way: sums of a dozen terms, after some updates of
/// the factor.
const ZERO_IN_ROUNDINGS: f64 = 256.0;
/// And at the end, with a fresh factor and a refined point.
const FINAL_ZERO_IN_ROUNDINGS: f64 = 8.0;
/// Entries of one row that are allowed at the end.
const MAX_FINAL_ENTRIES: u16 = 3;
/// A row that entered this often is put aside: it moves within rounding.
const MAX_ENTRIES: u16 = 40;
/// Solves per refined point.
const MAX_REFINEMENTS: usize = 5;
/// More wrong rows than this change all at once as long as that makes them fewer.
const MIN_ROWS_FOR_BLOCK_EXCHANGE: usize = 24;
/// Rows that leave one by one; more are a new factor.
const MAX_SINGLE_UPDATES: usize = 8;
/// Exchanges in a row that may fail to make the wrong rows fewer (JudicePires1994).
const MAX_FAILED_EXCHANGES: u32 = 3;

/// Reactions, velocities and statuses of all rows; kept from walk to walk.
#[derive(Default)]
pub(super) struct Workspace {
    /// The reactions along which a walk ended without end (m).
    pub(super) ray: Vec<f64>,
    pub(super) lo: Vec<f64>,
    pub(super) hi: Vec<f64>,
    pub(super) r: Vec<f64>,
    /// Rows that were put aside: within rounding of their law, or depending on others and off by
    /// less than the tolerance.
    pub(super) aside: Vec<bool>,
    /// At the end: rows with u = 0 that depend on other such rows; and, if there are any, all rows
    /// with u = 0.
    pub(super) dependent: Vec<usize>,
    pub(super) tight: Vec<bool>,
    u: Vec<f64>,
    noise: Vec<f64>,
    dr: Vec<f64>,
    free: Vec<bool>,
    entered: Vec<u16>,
    /// Where a step would end, and rows that a factorization leaves out.
    target: Vec<f64>,
    dropped: Vec<usize>,
    /// Where a budget may end the walk: the reactions with the least violation so far.
    least: Vec<f64>,
}

impl Workspace {
    /// The start of a walk from the guess `r` between these bounds: rows strictly between them are
    /// free.
    pub(super) fn begin(&mut self, bounds: impl Iterator<Item = (f64, f64)>, guess: &[f64]) {
        let Workspace { lo, hi, r, aside, dependent, tight, u, noise, dr, free, entered, .. } =
            self;
        self.ray.clear();
        lo.clear();
        hi.clear();
        bounds.for_each(|bound| {
            lo.push(bound.0);
            hi.push(bound.1);
        });
        let m = lo.len();
        let inside = |i: usize| {
            if guess[i].is_finite() {
                guess[i].clamp(lo[i], hi[i])
            } else {
                0f64.clamp(lo[i], hi[i])
            }
        };
        r.clear();
        r.extend((0..m).map(inside));
        free.clear();
        free.extend((0..m).map(|i| lo[i] < r[i] && r[i] < hi[i]));
        aside.clear();
        aside.resize(m, false);
        entered.clear();
        entered.resize(m, 0);
        for list in [u, noise, dr] {
            list.clear();
            list.resize(m, 0.0);
        }
        dependent.clear();
        tight.clear();
        self.least.clear();
    }
}

/// A walk in progress.
pub(super) struct Walk<'a, B: Basis> {
    pub(super) basis: &'a mut B,
    pub(super) at: &'a mut Workspace,
    pub(super) pivots: u64,
    /// Begin with block pivots.
    pub(super) in_blocks: bool,
    pub(super) history: Vec<Sample>,
    /// Units of rounding that count as zero.
    rounding: f64,
}

impl<'a, B: Basis> Walk<'a, B> {
    /// A walk that starts where `at` was begun.
    pub(super) fn new(basis: &'a mut B, at: &'a mut Workspace) -> Walk<'a, B> {
        Walk {
            basis,
            at,
            pivots: 0,
            in_blocks: false,
            history: Vec::new(),
            rounding: ZERO_IN_ROUNDINGS,
        }
    }

    /// Walks to the end.
    pub(super) fn run(&mut self, stop: &StoppingCriteria) -> End {
        let begin = stop.now();
        let limit = stop.work.unwrap_or(50 * self.at.r.len() as u64 + 1000);
        // 1. The guess: its free rows, all that is wrong with them at once, and the minimum over
        //    what is free then.
        self.restart();
        if self.in_blocks {
            self.exchange(limit, stop);
        }
        self.settle_within();
        let bounded = stop.work.is_some() || stop.deadline.is_some();
        let mut least = f64::INFINITY;
        loop {
            if stop.deadline_passed() {
                return self.best_so_far(End::Budget(true));
            }
            // 2. The row that is most violated.
            let entering = self.price();
            // The energy falls from pivot to pivot, the violation need not.
            let violation = if bounded { self.total_violation() } else { f64::INFINITY };
            if violation < least {
                least = violation;
                let Workspace { least, r, .. } = &mut *self.at;
                least.clone_from(r);
            }
            if stop.history {
                self.sample(begin.elapsed().as_secs_f64());
            }
            match entering {
                Some(_) if self.pivots >= limit => return self.best_so_far(End::Budget(false)),
                // 3. It enters.
                Some((i, sign)) => {
                    if let Some(conflict) = self.enter(i, sign, stop.tolerance.velocity) {
                        return End::Infeasible(conflict);
                    }
                }
                // 4. None: the same again with a fresh factor, or the end.
                None if self.basis.stale() => {
                    self.restart();
                    self.settle_within();
                }
                // What is left is looked at more closely.
                None if self.rounding > FINAL_ZERO_IN_ROUNDINGS => {
                    self.rounding = FINAL_ZERO_IN_ROUNDINGS;
                    self.at.entered.fill(MAX_ENTRIES - MAX_FINAL_ENTRIES);
                }
                None => {
                    self.find_dependent();
                    return End::Solved;
                }
            }
        }
    }

    /// The rows with u = 0 that depend on others of them: one factorization, if any row beside the
    /// free ones has u = 0.
    fn find_dependent(&mut self) {
        let Workspace { r, u, noise, free, tight, dependent, .. } = &mut *self.at;
        tight.extend((0..r.len()).map(|i| free[i] || u[i].abs() <= ZERO_IN_ROUNDINGS * noise[i]));
        if tight != free {
            self.basis.restart(tight, dependent);
            dependent.sort_unstable();
        } else {
            tight.clear();
        }
    }

    /// 1. Block pivots: as long as many rows are wrong, all of them change sides and the factor is
    ///    made anew. Leaves the minimum over the free rows with the fewest wrong ones, less those
    ///    that would pass their bounds there.
    fn exchange(&mut self, limit: u64, stop: &StoppingCriteria) {
        let (mut least, mut patience) = (usize::MAX, MAX_FAILED_EXCHANGES);
        let mut best = (self.at.free.clone(), self.at.r.clone());
        loop {
            self.basis.settle(&mut self.at.r, 1);
            self.basis.velocities(&self.at.r, &mut self.at.u, &mut self.at.noise);
            let wrong: Vec<usize> = (0..self.at.r.len())
                .filter(|&i| self.outside(i).is_some() || self.violation(i) > 0.0)
                .collect();
            if wrong.len() < least {
                (least, patience) = (wrong.len(), MAX_FAILED_EXCHANGES);
                best.0.clone_from(&self.at.free);
                best.1.clone_from(&self.at.r);
            } else {
                patience -= 1;
            }
            if wrong.len() <= MIN_ROWS_FOR_BLOCK_EXCHANGE
                || patience == 0
                || self.pivots >= limit
                || stop.deadline_passed()
            {
                break;
            }
            self.pivots += wrong.len() as u64;
            for i in wrong {
                self.at.r[i] = self.outside(i).unwrap_or(self.at.r[i]);
                self.at.free[i] = !self.at.free[i];
            }
            self.restart();
        }
        if patience < MAX_FAILED_EXCHANGES {
            (self.at.free, self.at.r) = best;
            self.restart();
        }
        self.fall();
    }

    /// Goes to the minimum over the free rows; all that would pass their bounds there are fixed,
    /// until none does.
    fn fall(&mut self) {
        loop {
            self.basis.settle(&mut self.at.r, 1);
            self.basis.velocities(&self.at.r, &mut self.at.u, &mut self.at.noise);
            let out: Vec<(usize, f64)> =
                (0..self.at.r.len()).filter_map(|j| Some((j, self.outside(j)?))).collect();
            if out.is_empty() {
                return;
            }
            self.pivots += out.len() as u64;
            let mut whole = out.len() <= MAX_SINGLE_UPDATES;
            for &(j, bound) in &out {
                self.at.r[j] = bound;
                self.at.free[j] = false;
                whole = whole && self.basis.remove(j);
            }
            if !whole {
                self.restart();
            }
        }
    }

    /// The bound that a free row lies beyond, by more than the rounding of its velocity.
    fn outside(&self, j: usize) -> Option<f64> {
        let bound = if self.at.r[j] < self.at.lo[j] { self.at.lo[j] } else { self.at.hi[j] };
        let beyond = (self.at.lo[j] - self.at.r[j]).max(self.at.r[j] - self.at.hi[j]);
        (self.at.free[j] && beyond > self.slack(j)).then_some(bound)
    }

    /// Factors the free rows anew; rows that depend on others stay where they are.
    fn restart(&mut self) {
        let Workspace { lo, hi, r, free, dropped, .. } = &mut *self.at;
        self.basis.restart(free, dropped);
        for &i in &*dropped {
            free[i] = false;
            if lo[i] == f64::NEG_INFINITY && hi[i] == f64::INFINITY {
                r[i] = 0.0;
            }
        }
    }

    /// Goes to the minimum over the free rows; a row that meets its bound on the way is fixed
    /// there.
    fn settle_within(&mut self) {
        self.basis.velocities(&self.at.r, &mut self.at.u, &mut self.at.noise);
        // Large problems: refined only where no bound is in the way.
        let mut solves =
            if self.at.r.len() > MIN_ROWS_FOR_BLOCK_EXCHANGE { 1 } else { MAX_REFINEMENTS };
        loop {
            let Workspace { r, target, .. } = &mut *self.at;
            target.clone_from(r);
            self.basis.settle(target, solves);
            let (mut step, mut block) = (1.0, None);
            for j in 0..self.at.r.len() {
                let (r, target) = (self.at.r[j], self.at.target[j]);
                let bound = if target < r { self.at.lo[j] } else { self.at.hi[j] };
                let beyond = if target < r { bound - target } else { target - bound };
                if self.at.free[j] && bound.is_finite() && beyond > self.slack(j) {
                    let t = ((bound - r) / (target - r)).max(0.0);
                    if t < step {
                        (step, block) = (t, Some((j, bound)));
                    }
                }
            }
            let Workspace { r, target, .. } = &mut *self.at;
            let Some((b, bound)) = block else {
                std::mem::swap(r, target);
                if solves == MAX_REFINEMENTS {
                    return;
                }
                solves = MAX_REFINEMENTS;
                continue;
            };
            r.iter_mut().zip(&*target).for_each(|(r, target)| *r += step * (target - *r));
            self.fix(b, bound);
        }
    }

    /// Row b leaves the free rows, at `bound`.
    fn fix(&mut self, b: usize, bound: f64) {
        self.at.r[b] = bound;
        self.at.free[b] = false;
        self.pivots += 1;
        if !self.basis.remove(b) {
            self.restart();
        }
    }

    /// The reaction that moves row j by no more than the rounding of its velocity.
    fn slack(&self, j: usize) -> f64 {
        let a = self.basis.a()[j];
        if a > 0.0 { ZERO_IN_ROUNDINGS * self.at.noise[j] / a } else { 0.0 }
    }

    /// The fixed row whose violation is worth most energy, and the direction in which its reaction
    /// must go.
    fn price(&mut self) -> Option<(usize, f64)> {
        self.basis.velocities(&self.at.r, &mut self.at.u, &mut self.at.noise);
        if self.drifted() && self.basis.stale() {
            self.refine();
        }
        let mut best = (0.0, None);
        for i in 0..self.at.r.len() {
            let energy = self.violation(i);
            if energy > best.0 && !self.at.aside[i] {
                best = (energy, Some((i, -self.at.u[i].signum())));
            }
        }
        best.1
    }

    /// A free row is off u = 0 by more than rounding (or not a number).
    fn drifted(&self) -> bool {
        (0..self.at.r.len()).any(|j| {
            self.at.free[j] && !(self.at.u[j].abs() <= ZERO_IN_ROUNDINGS * self.at.noise[j])
        })
    }

    /// The free rows have drifted from u = 0: one step of refinement, or a new factor if that does
    /// not help.
    fn refine(&mut self) {
        self.basis.settle(&mut self.at.r, 2);
        self.basis.velocities(&self.at.r, &mut self.at.u, &mut self.at.noise);
        // In energy, against the largest rounding anywhere: a light row may drift until the walk
        // ends.
        let worth = |u: f64, j: usize| u * u / self.basis.a()[j].max(f64::MIN_POSITIVE);
        let rounding = (0..self.at.r.len())
            .map(|j| worth(ZERO_IN_ROUNDINGS * self.at.noise[j], j))
            .fold(0.0, f64::max);
        if !(0..self.at.r.len()).all(|j| !self.at.free[j] || worth(self.at.u[j], j) <= rounding) {
            self.restart();
            self.settle_within();
            self.basis.velocities(&self.at.r, &mut self.at.u, &mut self.at.noise);
        }
    }

    /// `½u²/a` of a fixed row that violates its law by more than rounding, else zero.
    fn violation(&self, i: usize) -> f64 {
        let u = self.at.u[i];
        let wrong =
            (u < 0.0 && self.at.r[i] < self.at.hi[i]) || (u > 0.0 && self.at.r[i] > self.at.lo[i]);
        if self.at.free[i] || !wrong || u.abs() <= self.rounding * self.at.noise[i] {
            return 0.0;
        }
        0.5 * u * u / self.basis.a()[i].max(f64::MIN_POSITIVE)
    }

    /// Row i becomes free, fixing those that meet their bounds on the way. Returns the rows in
    /// conflict, if there are any.
    fn enter(&mut self, i: usize, sign: f64, tolerance: f64) -> Option<Vec<usize>> {
        self.at.entered[i] += 1;
        if self.at.entered[i] > MAX_ENTRIES {
            self.at.aside[i] = true;
            return None;
        }
        loop {
            // 3a. Direction.
            let stiffness = self.basis.respond(i, &mut self.at.dr).stiffness;
            // 3b. Step: until u_i = 0, until r_i meets its other bound, or until a free row meets
            // one.
            let full =
                if stiffness > 0.0 { -sign * self.at.u[i] / stiffness } else { f64::INFINITY };
            let own = if sign > 0.0 {
                self.at.hi[i] - self.at.r[i]
            } else {
                self.at.r[i] - self.at.lo[i]
            };
            let block = self.ratio(i, sign);
            let step = full.max(0.0).min(own).min(block.map_or(f64::INFINITY, |b| b.1));
            // 3c. No end in sight: a ray.
            if step == f64::INFINITY {
                if self.at.u[i].abs() > tolerance {
                    let Workspace { ray, dr, free, .. } = &mut *self.at;
                    ray.clear();
                    ray.extend(
                        dr.iter().zip(&*free).map(|(d, free)| if *free { sign * d } else { 0.0 }),
                    );
                    ray[i] = sign;
                    return Some(self.ray(i));
                }
                self.at.aside[i] = true;
                return None;
            }
            self.pivots += 1;
            if !self.at.dr.iter().all(|x| x.is_finite()) {
                self.restart();
                self.settle_within();
                return None;
            }
            for j in 0..self.at.r.len() {
                if self.at.free[j] {
                    self.at.r[j] += sign * step * self.at.dr[j];
                }
            }
            self.at.r[i] += sign * step;
            self.basis.advance(sign * step);
            self.at.u[i] += sign * step * stiffness;
            // 3d. Who stopped us?
            match block {
                Some((b, t)) if t < full && t < own => {
                    self.fix(
                        b,
                        if sign * self.at.dr[b] < 0.0 { self.at.lo[b] } else { self.at.hi[b] },
                    );
                    self.pivots -= 1;
                }
                _ if own <= full => {
                    self.at.r[i] = if sign > 0.0 { self.at.hi[i] } else { self.at.lo[i] };
                    return None;
                }
                _ => {
                    self.at.free[i] = true;
                    if !self.basis.add(i) {
                        self.restart();
                    }
                    return None;
                }
            }
        }
    }

    /// The free row that first meets a bound, and the step to there. Among rows that do so within
    /// rounding of each other: the one that moves most, for the sake of the factor.
    fn ratio(&self, i: usize, sign: f64) -> Option<(usize, f64)> {
        let largest = self
            .at
            .dr
            .iter()
            .zip(&self.at.free)
            .filter(|f| *f.1)
            .fold(0.0f64, |m, f| m.max(f.0.abs()));
        let distance = |j: usize| {
            let change = sign * self.at.dr[j];
            let bound = if change < 0.0 { self.at.lo[j] } else { self.at.hi[j] };
            let moves =
                self.at.free[j] && j != i && change.abs() > 1e-13 * largest && bound.is_finite();
            moves.then(|| (((bound - self.at.r[j]) * change.signum()).max(0.0), change.abs()))
        };
        let mut nearest = f64::INFINITY;
        for j in 0..self.at.r.len() {
            if let Some((way, speed)) = distance(j) {
                nearest = nearest.min((way + self.slack(j)) / speed);
            }
        }
        let mut best: Option<(usize, f64)> = None;
        let mut most = 0.0;
        for j in 0..self.at.r.len() {
            if let Some((way, speed)) = distance(j) {
                let worth = speed * self.basis.a()[j].sqrt();
                if way / speed <= nearest && worth > most {
                    most = worth;
                    best = Some((j, way / speed));
                }
            }
        }
        best
    }

    /// The entering row and the free rows that it depends on: since the free rows are independent,
    /// no smaller set conflicts.
    fn ray(&self, i: usize) -> Vec<usize> {
        let weight =
            |j: usize| self.at.dr[j].abs() * self.basis.a()[j].max(f64::MIN_POSITIVE).sqrt();
        let largest = (0..self.at.dr.len()).map(weight).fold(0.0, f64::max);
        (0..self.at.dr.len()).filter(|&j| j == i || weight(j) > 1e-9 * largest).collect()
    }

    fn total_violation(&self) -> f64 {
        (0..self.at.r.len()).map(|i| self.violation(i)).sum()
    }

    /// Goes back to the reactions with the least violation, where they were kept.
    fn best_so_far(&mut self, end: End) -> End {
        let Workspace { least, r, .. } = &mut *self.at;
        if least.len() == r.len() {
            r.clone_from(least);
        }
        end
    }

    fn sample(&mut self, wall: f64) {
        let joule = self.total_violation();
        let best = self.history.last().map_or(joule, |s: &Sample| s.best.min(joule));
        self.history.push(Sample { work: self.pivots, joule, best, wall });
    }
}
