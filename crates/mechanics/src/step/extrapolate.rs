//! Steps of order 4 and 6 where the motion is smooth: the leapfrog scheme, extrapolated.
//!
//! From velocities at the time of the positions (lag = 0) the leapfrog scheme is symmetric in time.
//! After n steps of h/n its positions, and the means of the momenta of the middles before and after
//! them, are off by a series in even powers (Gragg1965):
//!
//! ```text
//!   y_n = y(t + h) + c₂ (h/n)² + c₄ (h/n)⁴ + …
//!   order 4:  y = (4 y₂ − y₁)/3                       n = 1, 2
//!   order 6:  y = (243 y₃ − 128 y₂ + 5 y₁)/120        n = 1, 2, 3
//! ```
//!
//! 1. One step of h, two of h/2, as doubling does ([`super::accuracy`]). If an event happened in
//!    them, or a step was divided or refused, the two are kept as they are.
//! 2. For each n one more step of h/n, beyond t + h, for its velocity alone:
//!    `v = ½(v⁻ + v⁺)`, rotations by the mean of the momenta in the axes of t + h. Where that step
//!    is not smooth the two of h/2 are kept as well.
//! 3. y by the formula, rotations by the logarithms of their differences. The state that comes out
//!    has lag = 0. After an event it has not: then a step as long as the last part gives the
//!    velocity to begin with, in the same way.
//!
//! The estimate is the difference to the next lower order: to the two halves at order 4, to
//! `(9 y₃ − 4 y₂)/5` at order 6. It is the error of that lower order, and so an upper figure for
//! the step.
//!
//! Joints must hold far better than a step of second order needs: their Newton iterations go on to
//! [`EXTRAPOLATED_LINEARISATION`] of what is usual. Cost: 5 solves at order 4, 9 at order 6, times
//! those iterations; 3 where an event happened. It pays for mechanisms, tops, springs; for contacts
//! that stay as they are on flat surfaces. Not for what is solved to a tolerance above its error.

use super::accuracy::Trials;
use super::{SchemeError, StepError, Stepper, Verdict, ledger};
use crate::math::pose::{exponential, logarithm};
use crate::scene::{BodyId, Scene, State};
use glam::DVec3;

/// Joints leave their linearisation by at most this part of [`super::Settings::linearisation`].
pub(super) const EXTRAPOLATED_LINEARISATION: f64 = 1e-7;

/// By how much the trials with n = 1, 2 and 3 count, and in the next lower order; the last one with
/// what is left to 1.
struct Weights {
    kept: &'static [f64],
    lower: &'static [f64],
}

const FOURTH: Weights = Weights { kept: &[-1.0 / 3.0], lower: &[0.0] };
const SIXTH: Weights = Weights { kept: &[1.0 / 24.0, -16.0 / 15.0], lower: &[0.0, -0.8] };

/// Work space.
#[derive(Default)]
pub(super) struct Extrapolation {
    begin: State,
    thirds: State,
    beyond: State,
    /// Velocities and accelerations at the end of each trial, as [`State::v`] and
    /// [`State::acceleration`].
    ends: [(Vec<f64>, Vec<f64>); 3],
}

impl Stepper {
    /// One step of `h` from `state` into `trials.halves`, of the order asked for if it is smooth.
    pub(super) fn extrapolate(
        &mut self,
        scene: &Scene,
        state: &State,
        h: f64,
        trials: &mut Trials,
    ) -> Result<Verdict, StepError> {
        let mut work = std::mem::take(&mut self.extrapolation);
        let result = self.extrapolate_with(scene, state, h, (trials, &mut work));
        self.extrapolation = work;
        result
    }

    fn extrapolate_with(
        &mut self,
        scene: &Scene,
        state: &State,
        h: f64,
        (trials, work): (&mut Trials, &mut Extrapolation),
    ) -> Result<Verdict, StepError> {
        work.begin.clone_from(state);
        let mut begun = 0;
        if state.lag > 0.0 {
            // After an event, or the plain scheme: a step as long as the last, for its velocity.
            let end = (state, 2.0 * state.lag, 0);
            if !self.end_of_trial(scene, end, (&mut *work, None), &mut begun)? {
                return self.double(scene, state, h, trials);
            }
            let (v, acceleration) = &work.ends[0];
            work.begin.v.clone_from(v);
            work.begin.acceleration.clone_from(acceleration);
            work.begin.lag = 0.0;
        }
        let mut doubled = self.double(scene, &work.begin, h, trials)?;
        doubled.solves += begun;
        let higher = self.go_on(scene, h, (trials, work), &mut doubled)?;
        Ok(higher.unwrap_or(doubled))
    }

    /// The rest of the trials after doubling; none if one of them is not smooth.
    fn go_on(
        &mut self,
        scene: &Scene,
        h: f64,
        (trials, work): (&mut Trials, &mut Extrapolation),
        doubled: &mut Verdict,
    ) -> Result<Option<Verdict>, StepError> {
        let status = self.status();
        if !quiet(doubled)
            || !self.end_of_trial(
                scene,
                (&trials.whole, h, 0),
                (&mut *work, Some(status)),
                &mut doubled.solves,
            )?
            || !self.end_of_trial(
                scene,
                (&trials.halves, 0.5 * h, 1),
                (&mut *work, Some(status)),
                &mut doubled.solves,
            )?
        {
            return Ok(None);
        }
        if self.settings.order == 4 {
            return Ok(Some(self.combine(scene, &FOURTH, (trials, work), *doubled)));
        }
        let Some(mut verdict) =
            self.thirds(scene, h, (&mut *work, Some(status)), &mut doubled.solves)?
        else {
            return Ok(None);
        };
        let thirds = std::mem::take(&mut work.thirds);
        let end = (&thirds, h / 3.0, 2);
        let smooth = self.end_of_trial(scene, end, (&mut *work, Some(status)), &mut doubled.solves);
        work.thirds = thirds;
        if !smooth? {
            return Ok(None);
        }
        verdict.solves = doubled.solves;
        Ok(Some(self.combine(scene, &SIXTH, (trials, work), verdict)))
    }

    /// Three steps of h/3; none if they are not smooth.
    fn thirds(
        &mut self,
        scene: &Scene,
        h: f64,
        (work, status): (&mut Extrapolation, Option<u64>),
        solves: &mut u32,
    ) -> Result<Option<Verdict>, StepError> {
        work.thirds.clone_from(&work.begin);
        let mut sum: Option<Verdict> = None;
        for _ in 0..3 {
            let third = self.step_by(scene, &mut work.thirds, h / 3.0, 0)?;
            *solves += third.solves;
            if !self.smooth(&third, status) {
                return Ok(None);
            }
            sum = Some(sum.map_or(third, |sum| sum.then(&third)));
        }
        Ok(sum)
    }

    /// True if a step had no event, and left the contacts in this status if one is given.
    fn smooth(&self, verdict: &Verdict, status: Option<u64>) -> bool {
        verdict.accepted
            && !verdict.impact
            && !self.now.straight
            && !self.rough
            && status.is_none_or(|status| self.status() == status)
    }

    /// A step of `part` beyond the end of trial `k`, for velocity and acceleration there; false if
    /// it is not smooth.
    fn end_of_trial(
        &mut self,
        scene: &Scene,
        (end, part, k): (&State, f64, usize),
        (work, status): (&mut Extrapolation, Option<u64>),
        solves: &mut u32,
    ) -> Result<bool, StepError> {
        work.beyond.clone_from(end);
        let next = self.step_by(scene, &mut work.beyond, part, 0)?;
        *solves += next.solves;
        if !self.smooth(&next, status) {
            return Ok(false);
        }
        let (v, acceleration) = &mut work.ends[k];
        v.clone_from(&end.v);
        acceleration.clone_from(&end.acceleration);
        let mut write = |at: usize, before: DVec3, after: DVec3| {
            (0.5 * (before + after)).write_to_slice(&mut v[at..]);
            ((after - before) / part).write_to_slice(&mut acceleration[at..]);
        };
        for (i, body) in scene.bodies.iter().enumerate() {
            let (Some(at), Some(mass)) = (self.layout.velocity(BodyId(i as u32)), body.mass())
            else {
                continue;
            };
            let (before, after) = (&self.now.twists[i], &self.solution.v[at..]);
            write(at, before.linear, DVec3::from_slice(after));
            // The momentum of the next middle, in the axes of the present.
            let spin = DVec3::from_slice(&after[3..]);
            let momentum = exponential(0.5 * part * spin) * (mass.inertia * spin);
            write(at + 3, before.angular, mass.inertia.inverse() * momentum);
        }
        for (node, at) in self.layout.nodes.iter().enumerate() {
            let Some(at) = at.map(|at| at as usize) else { continue };
            write(at, self.now.node_velocities[node], DVec3::from_slice(&self.solution.v[at..]));
        }
        Ok(true)
    }

    /// The state of higher order into `trials.halves`; the verdict of the finest trial with its
    /// estimate and its energies.
    fn combine(
        &mut self,
        scene: &Scene,
        weights: &Weights,
        (trials, work): (&mut Trials, &mut Extrapolation),
        verdict: Verdict,
    ) -> Verdict {
        let Extrapolation { thirds, ends, beyond, .. } = work;
        let states = [&trials.whole, &trials.halves, &*thirds];
        let last = weights.kept.len();
        beyond.clone_from(states[last]);
        let (kept, finest) = (beyond, states[last]);
        // What the coarser trials add, and by how much less they would in the lower order.
        let sum = |weights: &[f64], x: &dyn Fn(usize) -> DVec3| -> DVec3 {
            weights.iter().enumerate().map(|(k, w)| *w * x(k)).sum()
        };
        let off: Vec<f64> = weights.kept.iter().zip(weights.lower).map(|(k, l)| k - l).collect();
        let mut metre = 0.0f64;
        for (i, span) in self.spans.iter().enumerate() {
            let id = BodyId(i as u32);
            if self.layout.velocity(id).is_none() {
                continue;
            }
            let pose = finest.pose(id);
            let shift = |k: usize| states[k].pose(id).position - pose.position;
            let turn =
                |k: usize| logarithm(pose.orientation.conjugate() * states[k].pose(id).orientation);
            kept.set_pose(id, &pose.advanced(sum(weights.kept, &shift), sum(weights.kept, &turn)));
            metre = metre.max(sum(&off, &shift).length() + span * sum(&off, &turn).length());
        }
        for node in 0..self.layout.nodes.len() {
            let place = finest.node(&self.layout, node);
            let shift = |k: usize| states[k].node(&self.layout, node) - place;
            kept.set_node(&self.layout, node, place + sum(weights.kept, &shift));
            metre = metre.max(sum(&off, &shift).length());
        }
        kept.settle_softs(scene, &self.layout);
        trials.delta.clear();
        for i in 0..self.layout.v {
            let v = ends[last].0[i];
            let apart = |k: usize| ends[k].0[i] - v;
            let more = |weights: &[f64]| -> f64 {
                weights.iter().enumerate().map(|(k, w)| w * apart(k)).sum()
            };
            kept.v[i] = v + more(weights.kept);
            trials.delta.push(more(&off));
        }
        kept.acceleration.clone_from(&ends[last].1);
        kept.lag = 0.0;
        std::mem::swap(kept, &mut trials.halves);
        let joule = ledger::kinetic(scene, &self.layout, &self.assembly.meshes, &trials.delta);
        let mut verdict = verdict;
        verdict.scheme = Some(SchemeError { metre, joule, event: false, held: true });
        self.restate(scene, &mut trials.halves, &mut verdict);
        verdict
    }

    /// Energies and angles of a state that is not where the last step led to: what changed is due
    /// to the scheme.
    fn restate(&mut self, scene: &Scene, state: &mut State, verdict: &mut Verdict) {
        let (kinetic, potential) = self.stored(scene, state);
        let energy = &mut verdict.energy;
        let (more_kinetic, more_potential) =
            (kinetic - energy.kinetic, potential - energy.potential);
        energy.scheme += more_kinetic + more_potential;
        energy.potential_change += more_potential;
        // The differences are rounded as the sums are.
        energy.throughput += [kinetic, energy.kinetic, potential, energy.potential]
            .map(f64::abs)
            .iter()
            .sum::<f64>();
        (energy.kinetic, energy.potential) = (kinetic, potential);
        self.read_angles(scene, state);
    }
}

/// Whether a doubled step had no event, was not divided and not refused.
fn quiet(doubled: &Verdict) -> bool {
    doubled.accepted && doubled.substeps == 2 && doubled.scheme.is_some_and(|e| !e.event)
}
