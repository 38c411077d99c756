//! The loop around the sweeps: when to look at the error, which iterate to keep, when to stop.

use super::accelerate::Subspace;
use super::anderson::Anderson;
use super::freeze::ALONG;
use super::lanes::Aligned;
use super::system::{State, Sweeps};
use super::{Acceleration, Settings};
use crate::problem::{Residual, Tolerance};
use crate::solve::{Sample, Status, StoppingCriteria};
use std::time::Instant;

/// The error is judged once the sweep's own estimate is below this multiple of the tolerance: the
/// estimate is an upper bound in 96 of 100 sweeps, and two to four times too large.
const LOOK: f64 = 4.0;

/// No progress: the least estimate fell by less than a tenth in so many sweeps.
const STALL: u64 = 5000;

/// Sweeps with one shift, and with one extrapolation: [`super`] says what other numbers give.
const HELD: u64 = 2;

/// Below this part of the largest estimate so far the differences between sweeps are rounding: a change of 1e-11 of the
/// reactions, whose own rounding an extrapolation multiplies. Plain sweeps go on.
const SETTLED: f64 = 1e-22;

/// From this sweep on, at every power of two, the best iterate is judged and the velocities are formed anew from the reactions.
const FIRST_CHECK: u64 = 64;

/// How the loop ended.
pub(super) struct Outcome {
    pub status: Status,
    pub sweeps: u64,
    pub restarts: u64,
    pub judged: u64,
    pub reproducible: bool,
    pub error: Residual,
    pub history: Vec<Sample>,
}

/// Computes the residual of scaled reactions.
pub(super) trait Referee {
    /// The judged error of a point with these scaled reactions.
    fn error(&mut self, r: &[f64]) -> Residual;
    /// The same; where the local error is not within the tolerance the estimate may be left infinite.
    fn look(&mut self, r: &[f64], _tolerance: &Tolerance) -> Residual {
        self.error(r)
    }
}

/// Keeps the least-error iterate.
#[derive(Default)]
struct Best {
    r: Aligned,
    /// What the last sweep has left.
    next: Aligned,
    estimate: f64,
    /// The judged error of `r`, if it was judged.
    error: Option<Residual>,
    /// The best judged iterate (a later one may have a smaller estimate) and its error.
    judged: Aligned,
    least: Option<Residual>,
}

/// What the loop keeps between problems: its vectors.
#[derive(Default)]
pub(super) struct Memory {
    /// The guess on entry, then the point that is swept.
    pub x: State,
    best: Best,
    between: Between,
    /// Velocities before they were formed anew.
    velocities: Aligned,
}

impl Memory {
    /// Scaled reactions of the least-error iterate.
    pub(super) fn best(&self) -> &[f64] {
        &self.best.judged
    }
}

impl Best {
    fn start(&mut self, r: &[f64]) {
        self.r.set(r);
        self.next.set(r);
        self.judged.set(r);
        (self.estimate, self.error, self.least) = (f64::INFINITY, None, None);
    }

    /// Keeps what the last sweep has left if it is the best so far.
    fn see(&mut self, estimate: f64) {
        if estimate < self.estimate {
            std::mem::swap(&mut self.r, &mut self.next);
            self.estimate = estimate;
            self.error = None;
        }
    }

    fn evaluate(&mut self, referee: &mut impl Referee, tolerance: &Tolerance) -> Residual {
        if let Some(error) = self.error {
            return error;
        }
        let error = referee.look(&self.r, tolerance);
        self.error = Some(error);
        if self.improves(&error, tolerance) {
            self.judged.copy_from_slice(&self.r);
            self.least = Some(error);
        }
        error
    }

    /// Keeps a judged iterate if it is the best of those.
    fn offer(&mut self, error: Residual, r: &[f64], tolerance: &Tolerance) {
        if self.improves(&error, tolerance) {
            self.judged.copy_from_slice(r);
            self.least = Some(error);
        }
    }

    /// The sweeps' velocities had parted from their reactions by this energy, J: an estimate below it says nothing, and must
    /// not keep later iterates from being the best. What it stood for is judged first.
    fn distrust(&mut self, drift: f64, referee: &mut impl Referee, tolerance: &Tolerance) {
        if !(drift <= self.estimate) {
            self.evaluate(referee, tolerance);
            self.estimate = f64::INFINITY;
        }
    }

    /// Accepted before others: an iterate of less local error may have the larger estimate. Among equals less error is better.
    fn improves(&self, error: &Residual, tolerance: &Tolerance) -> bool {
        let rank = |e: &Residual| (!e.accepted(tolerance), e.joule);
        self.least.is_none_or(|least| rank(error) < rank(&least))
    }
}

/// Sweeps from `memory.x` until the error is accepted, work or time runs out, or nothing moves any more.
pub(super) fn run<S: Sweeps>(system: &mut S, memory: &mut Memory, referee: &mut impl Referee, settings: &Settings) -> Outcome {
    let stop = &settings.stop;
    let begin = stop.now();
    let Memory { x, best, between, velocities } = memory;
    best.start(&x.r);
    let first = best.evaluate(referee, &stop.tolerance);
    let mut outcome =
        Outcome { status: Status::Budget, sweeps: 0, restarts: 0, judged: 1, reproducible: true, error: first, history: Vec::new() };
    if stop.history {
        outcome.history.push(Sample { work: 0, joule: first.joule, best: first.joule, wall: begin.elapsed().as_secs_f64() });
    }
    if first.accepted(&stop.tolerance) {
        outcome.status = Status::Converged;
    } else {
        between.start(settings, x, system);
        let mut track = Track { begin, best, outcome: &mut outcome, velocities };
        sweeps(system, (x, between), referee, settings, &mut track);
    }
    best.evaluate(referee, &stop.tolerance);
    let mut error = best.least.unwrap_or(first);
    if error.estimate.is_infinite() {
        error = referee.error(&best.judged);
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
struct Track<'a> {
    begin: Instant,
    best: &'a mut Best,
    outcome: &'a mut Outcome,
    velocities: &'a mut Aligned,
}

impl Track<'_> {
    /// A point of the history; the least so far is the least of what was recorded.
    fn sample(&mut self, joule: f64) {
        let least = self.outcome.history.last().map_or(f64::INFINITY, |s| s.best);
        let wall = self.begin.elapsed().as_secs_f64();
        self.outcome.history.push(Sample { work: self.outcome.sweeps, joule, best: least.min(joule), wall });
    }

    /// Forms the velocities of `y` anew from its reactions. Extrapolation over differences that are rounding lets the two
    /// part: the sweeps then converge, by their own estimate, to something that is no solution.
    fn refresh<S: Sweeps>(&mut self, system: &S, y: &mut State, referee: &mut impl Referee, tolerance: &Tolerance) {
        self.velocities.set(&y.z);
        system.refresh(y);
        let drift = 0.5 * self.velocities.iter().zip(y.z.iter()).map(|(old, new)| (old - new) * (old - new)).sum::<f64>();
        self.best.distrust(drift, referee, tolerance);
    }

    /// Judges the present iterate, whatever its estimate.
    fn judge_now(&mut self, r: &[f64], referee: &mut impl Referee, tolerance: &Tolerance) {
        let error = referee.error(r);
        self.outcome.judged += 1;
        self.best.offer(error, r, tolerance);
        self.sample(error.joule);
    }
}

fn sweeps<S: Sweeps>(
    system: &mut S,
    (y, between): (&mut State, &mut Between),
    referee: &mut impl Referee,
    settings: &Settings,
    track: &mut Track<'_>,
) {
    let stop = settings.stop;
    let work = stop.work.unwrap_or(super::DEFAULT_WORK);
    let threshold = LOOK * stop.tolerance.relative * track.outcome.error.scale;
    let mut look = Look { threshold, at: 0 };
    let (mut progress, mut progress_at) = (f64::INFINITY, 0);
    let (mut largest, mut settled) = (0.0f64, false);
    let shifted = freeze(system, y, between).is_some();
    while track.outcome.sweeps < work {
        if late(&stop, track) {
            return;
        }
        let estimate = system.sweep(y, &mut track.best.next);
        track.outcome.sweeps += 1;
        let sweep = track.outcome.sweeps;
        if !estimate.is_finite() {
            track.outcome.status = Status::Stalled;
            return;
        }
        // While the shift is held a sweep knows nothing of it: its estimate is whole, and comparable, where the shift is read anew.
        let round = !shifted || sweep.is_multiple_of(HELD);
        let whole = estimate + if shifted && round { freeze(system, y, between).unwrap_or(0.0) } else { 0.0 };
        if round {
            track.best.see(whole);
        }
        if settings.judge_every > 0 && sweep.is_multiple_of(settings.judge_every) {
            track.judge_now(&y.r, referee, &stop.tolerance);
        } else if stop.history {
            track.sample(whole);
        }
        let least = track.best.estimate;
        if track.best.error.is_none() && look.pays(least, sweep, threshold) {
            track.outcome.judged += 1;
            let error = track.best.evaluate(referee, &stop.tolerance);
            if error.accepted(&stop.tolerance) {
                track.outcome.status = Status::Converged;
                return;
            }
            look.learn(least, sweep, error.relative() / stop.tolerance.relative);
        }
        if least <= 0.9 * progress {
            (progress, progress_at) = (least, sweep);
        } else if sweep >= progress_at + STALL {
            track.outcome.status = Status::Stalled;
            return;
        }
        largest = largest.max(estimate);
        let was_settled = std::mem::replace(&mut settled, estimate <= SETTLED * largest);
        let lost = round && !settled && !was_settled && !between.advance(y, estimate, system);
        track.outcome.restarts += u64::from(lost);
        if lost || settled != was_settled {
            track.refresh(system, y, referee, &stop.tolerance);
            between.start(settings, y, system);
        } else if sweep >= FIRST_CHECK && sweep.is_power_of_two() {
            track.best.evaluate(referee, &stop.tolerance);
            track.refresh(system, y, referee, &stop.tolerance);
        }
    }
}

/// When to ask the judge: once the estimate is small enough, then when it has fallen as far as the judge's answer asks for, or after ten
/// more sweeps.
struct Look {
    /// Estimates above this are not worth a look.
    threshold: f64,
    /// Sweep of the last look.
    at: u64,
}

impl Look {
    fn pays(&self, least: f64, sweep: u64, first: f64) -> bool {
        least <= self.threshold || (least <= first && sweep >= self.at + 10)
    }

    /// The judge found `excess` times the error that is wanted; where it was content with that it misses something else.
    fn learn(&mut self, least: f64, sweep: u64, excess: f64) {
        (self.threshold, self.at) = (least / if excess > 1.0 { excess } else { 2.0 }, sweep);
    }
}

/// Freezes the shift at `y`; the energy of its change, none if there is no shift.
fn freeze<S: Sweeps>(system: &mut S, y: &State, between: &mut Between) -> Option<f64> {
    let Between::Subspace(subspace) = between else { return system.freeze(y, &[]).map(|change| change.energy) };
    let mut along = [&[][..]; ALONG];
    let count = along.iter_mut().zip(subspace.along()).map(|(place, vector)| *place = vector).count();
    let change = system.freeze(y, &along[..count])?;
    subspace.tilt(&change.along[..count]);
    Some(change.energy)
}

/// What happens between two sweeps.
#[derive(Default)]
enum Between {
    #[default]
    Nothing,
    Subspace(Box<Subspace>),
    Anderson(Box<Anderson>),
}

impl Between {
    /// Begins anew at the point x, in the memory at hand if the method is the same.
    fn start(&mut self, settings: &Settings, x: &State, system: &impl Sweeps) {
        let wanted = settings.acceleration;
        let same = match (&*self, wanted) {
            (Between::Nothing, Acceleration::None) => true,
            (Between::Subspace(s), Acceleration::Subspace { depth }) => s.depth() == depth,
            (Between::Anderson(a), Acceleration::Anderson { depth }) => a.depth() == depth,
            _ => false,
        };
        if !same {
            *self = match wanted {
                Acceleration::None => Between::Nothing,
                Acceleration::Auto => Between::Subspace(Box::new(Subspace::new(5))),
                Acceleration::Subspace { depth } => Between::Subspace(Box::new(Subspace::new(depth))),
                Acceleration::Anderson { depth } => Between::Anderson(Box::new(Anderson::new(depth))),
            };
        }
        match self {
            Between::Nothing => {}
            Between::Subspace(subspace) => subspace.start(x, system),
            Between::Anderson(anderson) => anderson.start(x, system),
        }
    }

    /// Replaces the output of a sweep by the start of the next; false if the sweep was lost.
    fn advance(&mut self, y: &mut State, estimate: f64, system: &impl Sweeps) -> bool {
        match self {
            Between::Nothing => true,
            Between::Subspace(subspace) => subspace.advance(y, estimate, system),
            Between::Anderson(anderson) => anderson.advance(y, estimate),
        }
    }
}

fn late(stop: &StoppingCriteria, track: &mut Track<'_>) -> bool {
    let late = stop.deadline_passed();
    if late {
        track.outcome.reproducible = false;
    }
    late
}
