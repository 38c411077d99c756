//! Runs a mechanism: assembles it, finds what is redundant, integrates, takes the drift away,
//! watches the rank.
//!
//! ```text
//!   1. step of Runge–Kutta for (q, v, work done)
//!   2. positions back to g = 0, velocities to G v = 0, with the same factor (if stabilised)
//!   3. do the redundant rows still follow, are the others still independent? if not, choose again
//! ```
//!
//! The error of a step is the kinetic energy that the joints' velocity gaps hold,
//! `½ (Gv)ᵀ(G M⁻¹Gᵀ)⁻¹(Gv)`, in joules, with the worst joint.

use super::MechanismError;
use super::equations::Equations;
use super::program::Program;
use super::runge_kutta::{Method, Stages, next_step};
use crate::scene::{Layout, Scene, State};
use crate::symbolic::dense::Pivoted;
use crate::symbolic::factor::Basis;
use crate::symbolic::{Id, Tape, Work};

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The integrator.
    pub method: Method,
    /// True if drift is taken away after every step.
    pub stabilised: bool,
    /// True if a planar mechanism may be treated in its plane.
    pub planar: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { method: Method::Classical, stabilised: true, planar: true }
    }
}

/// What a step says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drift {
    /// Kinetic energy in the velocity gaps of the joints before correction, J.
    pub joule: f64,
    /// Largest gap before correction, m or rad.
    pub gap: f64,
    /// Largest velocity gap before correction, m/s or rad/s.
    pub rate: f64,
    /// The row with the largest velocity gap.
    pub row: usize,
    /// Largest gap that is left, over all rows.
    pub left: f64,
}

/// Energies, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Kinetic.
    pub kinetic: f64,
    /// Of gravity and springs.
    pub potential: f64,
    /// Work done since the beginning by applied forces, motors and dampers.
    pub work: f64,
}

/// Diagonal entries of R below this times the length of their column count as zero where rows are
/// chosen. Between the rounding of an assembled mechanism (1e-13) and the smallest angle by which a
/// designer means a joint to differ.
pub const DEPENDENT_RELATIVE_PIVOT: f64 = 1e-9;

/// An independent set of rows this near to dependent is chosen again, if there is a choice: far
/// enough that no step jumps over the position where it would be dependent (a singular position of
/// the choice, not of the mechanism), near enough that it is rare.
const NEARLY_DEPENDENT: f64 = 0.05;

/// Another set is taken if it is this many times farther from dependent: where two are equally good
/// the choice would go back and forth.
const MIN_GAIN_OF_NEW_ROWS: f64 = 2.0;

/// Steps between two choices of the rows because redundant ones do not follow.
const MIN_STEPS_BETWEEN_CHOICES: u32 = 16;

/// The least speed by which rates are measured, m/s or rad/s.
const MIN_MEASURED_SPEED: f64 = 1e-3;

/// Stages and corrections keep this far from a singular position, where a step can be divided
/// otherwise or a correction can wait.
const MIN_DISTANCE_TO_SINGULAR: f64 = 3e-3;

/// Parts of a step below which the error control has failed.
const MIN_STEP_RATIO: f64 = 1e-10;

/// How a step that comes too close to a singular position is divided.
const STEP_DIVISIONS: [f64; 5] = [0.4, 0.6, 0.3, 0.7, 0.5];

/// Corrections are put off at most so often: a mechanism that is always nearly singular is
/// corrected all the same.
const MAX_POSTPONED_CORRECTIONS: u32 = 3;

/// A running mechanism.
pub struct Simulation {
    /// The expressions.
    pub equations: Equations,
    /// The program in use.
    pub program: Program,
    /// Positions.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Time, s.
    pub time: f64,
    /// Which rows count.
    pub basis: Basis,
    /// How often the rows were chosen anew.
    pub changes: u64,
    /// Evaluations of accelerations.
    pub evaluations: u64,
    settings: Settings,
    layout: Layout,
    /// Kinetic, potential, power; then gap and rate of every row.
    watch: Tape,
    watch_work: Work,
    done: f64,
    stages: Stages,
    h: f64,
    /// Corrections put off in a row.
    waited: u32,
    /// Divisions of a step that did not help: some mechanisms are always like this.
    in_vain: u32,
    /// All rows, for choosing among them.
    whole: Program,
    /// How near to dependent the rows may come before they are chosen again.
    poor: f64,
    /// Steps before redundant rows that do not follow are looked at again.
    wait: u32,
}

impl Simulation {
    /// Prepares a scene: faults, expressions, assembly, rank, consistent velocities.
    pub fn new(scene: &Scene, settings: Settings) -> Result<Simulation, MechanismError> {
        let mut equations = Equations::of(scene, settings.planar)?;
        scene.check().map_err(|faults| {
            MechanismError::Scene(
                faults.iter().map(|f| f.to_string()).collect::<Vec<_>>().join("\n"),
            )
        })?;
        let layout = Layout::of(scene);
        let (q, v) = equations.coordinates.read(&State::initial(scene), &layout);
        let all: Vec<usize> = (0..equations.rows.len()).collect();
        let program = Program::new(&mut equations, &all);
        let e = &equations;
        let rows = e.rows.iter().flat_map(|r| [r.gap, r.rate]);
        let outputs: Vec<Id> = [e.kinetic, e.potential, e.power].into_iter().chain(rows).collect();
        let watch = Tape::compile(&e.graph, &outputs, e.inputs(), &[]);
        let mut out = Simulation {
            watch_work: watch.work(),
            watch,
            equations,
            whole: program.clone(),
            program,
            q,
            v,
            time: 0.0,
            basis: Basis::default(),
            changes: 0,
            evaluations: 0,
            settings,
            layout,
            done: 0.0,
            stages: Stages::default(),
            h: 0.0,
            waited: 0,
            in_vain: 0,
            poor: NEARLY_DEPENDENT,
            wait: 0,
        };
        out.assemble()?;
        out.program.evaluate_at(&out.q);
        out.choose(out.program.factor().basis(DEPENDENT_RELATIVE_PIVOT));
        out.consistent()?;
        Ok(out)
    }

    /// Degrees of freedom where the mechanism stood when its rows were chosen.
    pub fn freedoms(&self) -> usize {
        self.equations.coordinates.velocities() - self.basis.kept.len()
    }

    /// The redundant rows in words.
    pub fn redundant(&self) -> Vec<String> {
        self.basis.dropped.iter().map(|&r| self.row_name(r)).collect()
    }

    /// A row in words.
    pub fn row_name(&self, row: usize) -> String {
        self.equations
            .rows
            .get(row)
            .map_or_else(|| "nothing".into(), |r| format!("joint {} {}", r.name, r.part))
    }

    /// Takes a choice of rows.
    fn choose(&mut self, basis: Basis) {
        if basis.kept != self.program.kept {
            self.program = Program::new(&mut self.equations, &basis.kept);
        }
        self.program.evaluate_at(&self.q);
        self.program.survey();
        self.basis = basis;
    }

    /// Moves the bodies until the joints close.
    fn assemble(&mut self) -> Result<(), MechanismError> {
        // Rounding of coordinates of this size.
        let size = self.q.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        let mut best = f64::INFINITY;
        for _ in 0..50 {
            self.program.evaluate_at(&self.q);
            let gaps = self.program.gaps();
            let gap = largest(&gaps).0;
            best = best.min(gap);
            if gap <= 1e-13 * size {
                return Ok(());
            }
            let mut lambda = gaps;
            // Far from assembled, dependent rows look independent by about the gap.
            self.program.factor().solve_deficient(
                (1e-3 * gap / size).clamp(DEPENDENT_RELATIVE_PIVOT, 1e-3),
                &mut lambda,
            );
            let mut delta = self.program.pull(&lambda);
            // No joint jumps by more than the mechanism is large.
            let most = largest(&delta).0;
            let share = -(0.5 * size / most).min(1.0);
            delta.iter_mut().for_each(|d| *d *= share);
            self.equations.coordinates.displace(&mut self.q, &delta);
        }
        self.program.evaluate_at(&self.q);
        let gaps = self.program.gaps();
        let (gap, row) = largest(&gaps);
        // Where Newton no longer gains, rounding is what remains.
        if gap.is_finite() && gap <= 1e-10 * size {
            return Ok(());
        }
        let gap = self.equations.rows[row].missing(gaps[row]).abs();
        let row = &self.equations.rows[row];
        Err(MechanismError::NotAssembled {
            joint: row.name.clone(),
            part: row.part,
            gap,
            unit: row.unit,
        })
    }

    /// Refuses velocities that the joints do not allow, removes the rounding of those that they do.
    fn consistent(&mut self) -> Result<(), MechanismError> {
        let speed = self.v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let (_, rates) = self.residuals();
        let (rate, row) = largest(&rates);
        if rate > 1e-6 * speed.max(1e-6) {
            let row = &self.equations.rows[row];
            return Err(MechanismError::Velocity {
                joint: row.name.clone(),
                part: row.part,
                speed: rate,
                unit: row.unit,
            });
        }
        self.correct_velocities();
        Ok(())
    }

    fn drives(&self, t: f64) -> Vec<f64> {
        self.equations.drives.iter().map(|f| f.value(t)).collect()
    }

    fn evaluate_watch(&mut self) {
        let drives = self.drives(self.time);
        let inputs = self.watch.inputs(&mut self.watch_work);
        let (nq, nv) = (self.q.len(), self.v.len());
        inputs[..nq].copy_from_slice(&self.q);
        inputs[nq..nq + nv].copy_from_slice(&self.v);
        inputs[nq + nv..].copy_from_slice(&drives);
        self.watch.run(0, &mut self.watch_work);
    }

    /// Gaps and their rates, all rows.
    pub fn residuals(&mut self) -> (Vec<f64>, Vec<f64>) {
        self.evaluate_watch();
        let get = |k: usize| self.watch.output(&self.watch_work, k);
        (0..self.equations.rows.len()).map(|r| (get(3 + 2 * r), get(4 + 2 * r))).unzip()
    }

    /// Energies now.
    pub fn energy(&mut self) -> Energy {
        self.evaluate_watch();
        let get = |k: usize| self.watch.output(&self.watch_work, k);
        Energy { kinetic: get(0), potential: get(1), work: self.done }
    }

    /// Accelerations now.
    pub fn accelerations(&mut self) -> Vec<f64> {
        let mut out = vec![0.0; self.v.len()];
        let drives = self.drives(self.time);
        self.program.accelerations(&self.q, &self.v, &drives, &mut out);
        out
    }

    /// Goes on by h without looking at drift: the unstabilised run of the paper. The work done is
    /// not summed.
    pub fn advance(&mut self, h: f64) -> Result<(), MechanismError> {
        self.integrate(h, false)
    }

    /// Goes on by h.
    pub fn step(&mut self, h: f64) -> Result<Drift, MechanismError> {
        let lossy = !self.equations.graph.is_zero(self.equations.power);
        self.integrate(h, lossy)?;
        let (gaps, rates) = self.residuals();
        let (rate, row) = largest(&rates);
        let mut drift = Drift { gap: largest(&gaps).0, rate, row, ..Drift::default() };
        if !(drift.gap.is_finite() && rate.is_finite())
            || self.q.iter().chain(&self.v).any(|x| !x.is_finite())
        {
            return Err(MechanismError::NotFinite { time: self.time, joint: self.row_name(row) });
        }
        if self.settings.stabilised && self.postpone() {
            drift.left = drift.gap;
        } else if self.settings.stabilised {
            self.correct_positions();
            drift.joule = self.correct_velocities();
            self.rank();
            drift.left = largest(&self.residuals().0).0;
        } else {
            self.program.evaluate_at(&self.q);
            drift.joule = self.program.correction(&self.program.rates(&self.v)).1.max(0.0);
            drift.left = drift.gap;
        }
        Ok(drift)
    }

    /// Whether the correction waits: the position is nearly singular, and rounding would be
    /// magnified.
    fn postpone(&mut self) -> bool {
        self.program.evaluate_at(&self.q);
        // Steps under error control are small there anyway, and need the corrections.
        let fixed = self.settings.method == Method::Classical;
        let close = fixed
            && self.program.factor().weakest() < MIN_DISTANCE_TO_SINGULAR
            && self.waited < MAX_POSTPONED_CORRECTIONS;
        self.waited = if close { self.waited + 1 } else { 0 };
        close
    }

    /// One interval of length h; fixed steps that come too close to a singular position are divided
    /// where they pass it best.
    fn integrate(&mut self, h: f64, lossy: bool) -> Result<(), MechanismError> {
        if let Method::DormandPrince { .. } = self.settings.method {
            return self.controlled(h, lossy);
        }
        let begin = (self.q.clone(), self.v.clone(), self.done, self.time);
        self.program.nearest();
        self.fixed(h, lossy);
        let mut best = (self.program.nearest(), None);
        if best.0 >= MIN_DISTANCE_TO_SINGULAR || self.in_vain >= MAX_POSTPONED_CORRECTIONS {
            return Ok(());
        }
        let whole = best.0;
        for share in STEP_DIVISIONS {
            self.restore(&begin);
            self.fixed(share * h, lossy);
            self.fixed(begin.3 + h - self.time, lossy);
            let near = self.program.nearest();
            if near > best.0 {
                best = (near, Some(share));
            }
        }
        self.restore(&begin);
        self.in_vain = if best.0 > 2.0 * whole { 0 } else { self.in_vain + 1 };
        if let Some(share) = best.1 {
            self.fixed(share * h, lossy);
        }
        self.fixed(begin.3 + h - self.time, lossy);
        Ok(())
    }

    fn restore(&mut self, (q, v, done, time): &(Vec<f64>, Vec<f64>, f64, f64)) {
        self.q.copy_from_slice(q);
        self.v.copy_from_slice(v);
        (self.done, self.time) = (*done, *time);
    }

    /// One step of length h.
    fn fixed(&mut self, h: f64, lossy: bool) {
        let mut y = self.gather();
        self.try_step(h, &mut y, lossy);
        self.time += h;
        self.scatter(&mut y);
    }

    /// As many steps as the error allows, to the end of h.
    fn controlled(&mut self, h: f64, lossy: bool) -> Result<(), MechanismError> {
        let end = self.time + h;
        let mut y = self.gather();
        let mut own = if self.h > 0.0 { self.h } else { h };
        while self.time < end {
            // The last part is not left to rounding.
            let last = self.time + 1.01 * own >= end;
            let now = if last { end - self.time } else { own };
            self.program.nearest();
            let error = self.try_step(now, &mut y, lossy);
            let next = next_step(now, error);
            // A last part that the end cut short says nothing against longer ones.
            own = if last && error <= 1.0 { next.max(own) } else { next };
            if error <= 1.0 {
                self.time = if last { end } else { self.time + now };
                self.scatter(&mut y);
                if self.program.nearest() < self.poor {
                    self.program.evaluate_at(&self.q);
                    self.choose_better();
                }
            } else if now < MIN_STEP_RATIO * h {
                self.program.evaluate_at(&self.q);
                let row =
                    self.basis.kept.get(self.program.factor().least().1).copied().unwrap_or(0);
                return Err(MechanismError::Stuck {
                    time: self.time,
                    joint: self.row_name(row),
                    step: now,
                });
            }
        }
        self.h = own;
        Ok(())
    }

    fn gather(&self) -> Vec<f64> {
        self.q.iter().chain(&self.v).copied().chain([self.done]).collect()
    }

    fn scatter(&mut self, y: &mut [f64]) {
        let (nq, nv) = (self.q.len(), self.v.len());
        self.equations.coordinates.normalize(&mut y[..nq]);
        self.q.copy_from_slice(&y[..nq]);
        self.v.copy_from_slice(&y[nq..nq + nv]);
        self.done = y[nq + nv];
    }

    /// Tries a step from y; its error relative to the tolerance.
    fn try_step(&mut self, h: f64, y: &mut [f64], lossy: bool) -> f64 {
        let mut stages = std::mem::take(&mut self.stages);
        let error = stages.step(self.settings.method, (self.time, h), y, &mut |t, y, dy| {
            self.derivative(t, y, dy, lossy)
        });
        self.stages = stages;
        error
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64], lossy: bool) {
        let (nq, nv) = (self.q.len(), self.v.len());
        let (q, v) = (&y[..nq], &y[nq..nq + nv]);
        let drives = self.drives(t);
        self.equations.coordinates.rates(q, v, &mut dy[..nq]);
        self.program.accelerations(q, v, &drives, &mut dy[nq..nq + nv]);
        self.evaluations += 1;
        dy[nq + nv] = 0.0;
        if lossy {
            let inputs = self.watch.inputs(&mut self.watch_work);
            inputs[..nq + nv].copy_from_slice(&y[..nq + nv]);
            inputs[nq + nv..].copy_from_slice(&drives);
            self.watch.run(0, &mut self.watch_work);
            dy[nq + nv] = self.watch.output(&self.watch_work, 2);
        }
    }

    /// Positions back to g = 0: Newton with the factor at hand, at most thrice.
    fn correct_positions(&mut self) {
        let mut last = f64::INFINITY;
        for _ in 0..3 {
            self.program.evaluate_at(&self.q);
            let gaps = self.program.gaps();
            let gap = largest(&gaps).0;
            if gap < 1e-15 || gap >= 0.5 * last {
                return;
            }
            last = gap;
            let (delta, _) = self.program.correction(&gaps);
            let delta: Vec<f64> = delta.iter().map(|d| -d).collect();
            self.equations.coordinates.displace(&mut self.q, &delta);
        }
        self.program.evaluate_at(&self.q);
    }

    /// Velocities back to G v = 0; the energy that this took.
    fn correct_velocities(&mut self) -> f64 {
        let rates = self.program.rates(&self.v);
        let (delta, energy) = self.program.correction(&rates);
        self.v.iter_mut().zip(&delta).for_each(|(v, d)| *v -= d);
        if self.program.factor().weakest() < super::program::REFINED_RELATIVE_PIVOT {
            // RᵀR loses twice the digits of R: what is left is taken away too.
            let (delta, _) = self.program.correction(&self.program.rates(&self.v));
            self.v.iter_mut().zip(&delta).for_each(|(v, d)| *v -= d);
        }
        energy.max(0.0)
    }

    /// Chooses the rows again if the redundant ones do not follow or the others are nearly
    /// dependent.
    fn rank(&mut self) {
        if self.basis.dropped.is_empty() {
            return;
        }
        self.wait = self.wait.saturating_sub(1);
        // A machine that nearly stands still strays by rounding.
        let speed = self.v.iter().fold(MIN_MEASURED_SPEED, |m, x| m.max(x.abs()));
        let rates = self.residuals().1;
        let strays = self.basis.dropped.iter().any(|&r| rates[r].abs() > 1e-6 * speed);
        if strays && self.wait == 0 {
            self.wait = MIN_STEPS_BETWEEN_CHOICES;
            let dense = self.survey_all();
            self.take(dense.order[..dense.rank].to_vec(), (dense.rows, dense.columns));
        } else {
            self.choose_better();
        }
    }

    /// Takes another set of rows of the same size if the present one is nearly dependent and the
    /// other is not; the position was looked at.
    fn choose_better(&mut self) {
        let least = self.program.factor().least().0;
        // Once it is well again it may be asked for earlier again.
        self.poor = self.poor.max(NEARLY_DEPENDENT.min(least / MIN_GAIN_OF_NEW_ROWS));
        if self.basis.dropped.is_empty() || least > self.poor {
            return;
        }
        let dense = self.survey_all();
        let count = self.basis.kept.len();
        if dense.least(count) > MIN_GAIN_OF_NEW_ROWS * least {
            self.take(dense.order[..count].to_vec(), (dense.rows, dense.columns));
        }
        // What is better is not always good: ask again when it is much worse.
        self.poor = NEARLY_DEPENDENT.min(self.program.factor().least().0 / MIN_GAIN_OF_NEW_ROWS);
    }

    /// All rows at the present position, with full pivoting: the best set, whatever it costs; this
    /// is rare.
    fn survey_all(&mut self) -> Pivoted {
        self.whole.evaluate_at(&self.q);
        let mut dense = Pivoted::zero(self.whole.pattern.rows, self.whole.pattern.columns);
        dense.values = self.whole.dense();
        dense.factor(1e-7);
        dense
    }

    /// Takes these rows and leaves the others.
    fn take(&mut self, mut kept: Vec<usize>, second: (usize, usize)) {
        kept.sort_unstable();
        if kept == self.basis.kept {
            return;
        }
        let dropped =
            (0..self.equations.rows.len()).filter(|r| kept.binary_search(r).is_err()).collect();
        self.changes += 1;
        self.choose(Basis { kept, dropped, second });
    }

    /// Writes positions and velocities into a state of the scene.
    pub fn write(&self, state: &mut State) {
        self.equations.coordinates.write(&self.q, &self.v, &self.layout, state);
        state.time = self.time;
    }

    /// Steps that the error control refused.
    pub fn refused(&self) -> u64 {
        self.stages.refused
    }
}

/// The largest absolute value and its place; what is not a number is largest.
fn largest(x: &[f64]) -> (f64, usize) {
    let mut best = (0.0, 0);
    for (i, x) in x.iter().enumerate() {
        if x.is_nan() {
            return (f64::INFINITY, i);
        }
        if x.abs() > best.0 {
            best = (x.abs(), i);
        }
    }
    best
}
