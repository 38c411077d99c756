//! The loop around the sweeps: when to compute the residual, which iterate to keep, when to stop.

use super::Settings;
use super::accelerate::{Accelerator, update_shift};
use super::state::{State, Sweeps};
use crate::problem::{Residual, Tolerance};
use crate::solve::simd::Aligned;
use crate::solve::{Sample, Status, StoppingCriteria};
use std::time::Instant;

/// The residual is computed once the sweep's own estimate is below this multiple of the tolerance:
/// the estimate is an upper bound in 96 of 100 sweeps, and two to four times too large.
const EVALUATION_THRESHOLD: f64 = 4.0;

/// No progress: the least estimate fell by less than a tenth in so many sweeps.
const MAX_SWEEPS_WITHOUT_PROGRESS: u64 = 5000;

/// Sweeps with one shift, and with one extrapolation: `docs/notes/psor.md` has the measurements.
const SWEEPS_PER_SHIFT: u64 = 2;

/// Below this part of the largest estimate so far the differences between sweeps are rounding: a
/// change of 1e-11 of the reactions, whose own rounding an extrapolation multiplies. Plain sweeps
/// go on.
const ROUNDING_ESTIMATE: f64 = 1e-22;

/// From this sweep on, at every power of two, the residual of the best iterate is computed and the
/// velocities are computed anew from the reactions.
const FIRST_REFRESH: u64 = 64;

/// How the loop ended.
pub(super) struct Outcome {
    pub status: Status,
    pub sweeps: u64,
    pub restarts: u64,
    pub residuals: u64,
    pub reproducible: bool,
    pub error: Residual,
    pub history: Vec<Sample>,
}

/// Computes the residual of scaled reactions.
pub(super) trait ResidualOf {
    /// The residual of a point with these scaled reactions.
    fn error(&mut self, r: &[f64]) -> Residual;
    /// The same; where the local error is not within the tolerance the estimate may be left
    /// infinite.
    fn residual_if_converged(&mut self, r: &[f64], _tolerance: &Tolerance) -> Residual {
        self.error(r)
    }
}

/// Keeps the least-error iterate.
#[derive(Default)]
struct BestIterate {
    r: Aligned,
    /// What the last sweep has left.
    next: Aligned,
    estimate: f64,
    /// The residual of `r`, if it was computed.
    error: Option<Residual>,
    /// The best iterate whose residual was computed (a later one may have a smaller estimate) and
    /// its error.
    evaluated: Aligned,
    least: Option<Residual>,
}

/// What the loop keeps between problems: its vectors.
#[derive(Default)]
pub(super) struct Workspace {
    /// The guess on entry, then the point that is swept.
    pub x: State,
    best: BestIterate,
    accelerator: Accelerator,
    /// Velocities before they were computed anew.
    velocities: Aligned,
}

impl Workspace {
    /// Scaled reactions of the least-error iterate.
    pub(super) fn best(&self) -> &[f64] {
        &self.best.evaluated
    }
}

impl BestIterate {
    fn start(&mut self, r: &[f64]) {
        self.r.set(r);
        self.next.set(r);
        self.evaluated.set(r);
        (self.estimate, self.error, self.least) = (f64::INFINITY, None, None);
    }

    /// Keeps what the last sweep has left if it is the best so far.
    fn update(&mut self, estimate: f64) {
        if estimate < self.estimate {
            std::mem::swap(&mut self.r, &mut self.next);
            self.estimate = estimate;
            self.error = None;
        }
    }

    fn evaluate(&mut self, residual_of: &mut impl ResidualOf, tolerance: &Tolerance) -> Residual {
        if let Some(error) = self.error {
            return error;
        }
        let error = residual_of.residual_if_converged(&self.r, tolerance);
        self.error = Some(error);
        if self.improves(&error, tolerance) {
            self.evaluated.copy_from_slice(&self.r);
            self.least = Some(error);
        }
        error
    }

    /// Keeps an iterate with its residual if it is the best of those.
    fn update_evaluated(&mut self, error: Residual, r: &[f64], tolerance: &Tolerance) {
        if self.improves(&error, tolerance) {
            self.evaluated.copy_from_slice(r);
            self.least = Some(error);
        }
    }

    /// The sweeps' velocities had parted from their reactions by this energy, J: an estimate below
    /// it says nothing, and must not keep later iterates from being the best. Its residual is
    /// computed first.
    fn discard_below(
        &mut self,
        drift: f64,
        residual_of: &mut impl ResidualOf,
        tolerance: &Tolerance,
    ) {
        if !(drift <= self.estimate) {
            self.evaluate(residual_of, tolerance);
            self.estimate = f64::INFINITY;
        }
    }

    /// Accepted before others: an iterate of less local error may have the larger estimate. Among
    /// equals less error is better.
    fn improves(&self, error: &Residual, tolerance: &Tolerance) -> bool {
        let rank = |e: &Residual| (!e.accepted(tolerance), e.joule);
        self.least.is_none_or(|least| rank(error) < rank(&least))
    }
}

/// Sweeps from `workspace.x` until the error is accepted, work or time runs out, or nothing moves
/// any more.
pub(super) fn run<S: Sweeps>(
    system: &mut S,
    workspace: &mut Workspace,
    residual_of: &mut impl ResidualOf,
    settings: &Settings,
) -> Outcome {
    let stop = &settings.stop;
    let begin = stop.now();
    let Workspace { x, best, accelerator, velocities } = workspace;
    best.start(&x.r);
    let first = best.evaluate(residual_of, &stop.tolerance);
    let mut outcome = Outcome {
        status: Status::Budget,
        sweeps: 0,
        restarts: 0,
        residuals: 1,
        reproducible: true,
        error: first,
        history: Vec::new(),
    };
    if stop.history {
        outcome.history.push(Sample {
            work: 0,
            joule: first.joule,
            best: first.joule,
            wall: begin.elapsed().as_secs_f64(),
        });
    }
    if first.accepted(&stop.tolerance) {
        outcome.status = Status::Converged;
    } else {
        accelerator.start(settings.acceleration, x, system);
        let mut progress = Progress { begin, best, outcome: &mut outcome, velocities };
        sweeps(system, (x, accelerator), residual_of, settings, &mut progress);
    }
    best.evaluate(residual_of, &stop.tolerance);
    let mut error = best.least.unwrap_or(first);
    if error.estimate.is_infinite() {
        error = residual_of.error(&best.evaluated);
    }
    outcome.status = match outcome.status {
        _ if error.accepted(&stop.tolerance) => Status::Converged,
        Status::Converged => Status::Budget,
        other => other,
    };
    outcome.error = error;
    outcome
}

/// What the loop writes to.
struct Progress<'a> {
    begin: Instant,
    best: &'a mut BestIterate,
    outcome: &'a mut Outcome,
    velocities: &'a mut Aligned,
}

impl Progress<'_> {
    /// A point of the history; the least so far is the least of what was recorded.
    fn sample(&mut self, joule: f64) {
        let least = self.outcome.history.last().map_or(f64::INFINITY, |s| s.best);
        let wall = self.begin.elapsed().as_secs_f64();
        self.outcome.history.push(Sample {
            work: self.outcome.sweeps,
            joule,
            best: least.min(joule),
            wall,
        });
    }

    /// Computes the velocities of `y` anew from its reactions. Extrapolation over differences that
    /// are rounding lets the two part: the sweeps then converge, by their own estimate, to
    /// something that is no solution.
    fn refresh<S: Sweeps>(
        &mut self,
        system: &S,
        y: &mut State,
        residual_of: &mut impl ResidualOf,
        tolerance: &Tolerance,
    ) {
        self.velocities.set(&y.z);
        system.refresh(y);
        let drift = 0.5
            * self
                .velocities
                .iter()
                .zip(y.z.iter())
                .map(|(old, new)| (old - new) * (old - new))
                .sum::<f64>();
        self.best.discard_below(drift, residual_of, tolerance);
    }

    /// Computes the residual of the present iterate, whatever its estimate.
    fn evaluate_now(
        &mut self,
        r: &[f64],
        residual_of: &mut impl ResidualOf,
        tolerance: &Tolerance,
    ) {
        let error = residual_of.error(r);
        self.outcome.residuals += 1;
        self.best.update_evaluated(error, r, tolerance);
        self.sample(error.joule);
    }
}

fn sweeps<S: Sweeps>(
    system: &mut S,
    (y, accelerator): (&mut State, &mut Accelerator),
    residual_of: &mut impl ResidualOf,
    settings: &Settings,
    progress: &mut Progress<'_>,
) {
    let stop = settings.stop;
    let work = stop.work.unwrap_or(super::DEFAULT_WORK);
    let threshold = EVALUATION_THRESHOLD * stop.tolerance.relative * progress.outcome.error.scale;
    let mut schedule = CheckSchedule { threshold, at: 0 };
    let (mut least_before, mut least_at) = (f64::INFINITY, 0);
    let (mut largest, mut settled) = (0.0f64, false);
    let shifted = update_shift(system, y, accelerator).is_some();
    while progress.outcome.sweeps < work {
        if deadline_passed(&stop, progress) {
            return;
        }
        let estimate = system.sweep(y, &mut progress.best.next);
        progress.outcome.sweeps += 1;
        let sweep = progress.outcome.sweeps;
        if !estimate.is_finite() {
            progress.outcome.status = Status::Stalled;
            return;
        }
        // While the shift is held a sweep knows nothing of it: its estimate is whole, and
        // comparable, where the shift is read anew.
        let round = !shifted || sweep.is_multiple_of(SWEEPS_PER_SHIFT);
        let whole = estimate
            + if shifted && round {
                update_shift(system, y, accelerator).unwrap_or(0.0)
            } else {
                0.0
            };
        if round {
            progress.best.update(whole);
        }
        if settings.judge_every > 0 && sweep.is_multiple_of(settings.judge_every) {
            progress.evaluate_now(&y.r, residual_of, &stop.tolerance);
        } else if stop.history {
            progress.sample(whole);
        }
        let least = progress.best.estimate;
        if progress.best.error.is_none() && schedule.is_due(least, sweep, threshold) {
            progress.outcome.residuals += 1;
            let error = progress.best.evaluate(residual_of, &stop.tolerance);
            if error.accepted(&stop.tolerance) {
                progress.outcome.status = Status::Converged;
                return;
            }
            schedule.update(least, sweep, error.relative() / stop.tolerance.relative);
        }
        if least <= 0.9 * least_before {
            (least_before, least_at) = (least, sweep);
        } else if sweep >= least_at + MAX_SWEEPS_WITHOUT_PROGRESS {
            progress.outcome.status = Status::Stalled;
            return;
        }
        largest = largest.max(estimate);
        let was_settled = std::mem::replace(&mut settled, estimate <= ROUNDING_ESTIMATE * largest);
        let lost = round && !settled && !was_settled && !accelerator.advance(y, estimate, system);
        progress.outcome.restarts += u64::from(lost);
        if lost || settled != was_settled {
            progress.refresh(system, y, residual_of, &stop.tolerance);
            accelerator.start(settings.acceleration, y, system);
        } else if sweep >= FIRST_REFRESH && sweep.is_power_of_two() {
            progress.best.evaluate(residual_of, &stop.tolerance);
            progress.refresh(system, y, residual_of, &stop.tolerance);
        }
    }
}

/// When to compute the residual: once the estimate is small enough, then when it has fallen by the
/// factor that was missing, or after ten more sweeps.
struct CheckSchedule {
    /// Above this estimate no residual is computed.
    threshold: f64,
    /// Sweep of the last residual.
    at: u64,
}

impl CheckSchedule {
    fn is_due(&self, least: f64, sweep: u64, first: f64) -> bool {
        least <= self.threshold || (least <= first && sweep >= self.at + 10)
    }

    /// The residual was `excess` times too large; below one another criterion was not met.
    fn update(&mut self, least: f64, sweep: u64, excess: f64) {
        (self.threshold, self.at) = (least / if excess > 1.0 { excess } else { 2.0 }, sweep);
    }
}

fn deadline_passed(stop: &StoppingCriteria, progress: &mut Progress<'_>) -> bool {
    let late = stop.deadline_passed();
    if late {
        progress.outcome.reproducible = false;
    }
    late
}
