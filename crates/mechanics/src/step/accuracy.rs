//! How far a step is from the motion, and steps chosen so that it is not too far.
//!
//! * **Free estimate**, without a further solve: the acceleration a of a step acts in its middle;
//!   with the change from the last step to this one,
//!   `δx = h²/6 (a − a_last)`, `δv = h/2 (a − a_last)`. Unknown in steps with an impact, in the
//!   first step, and under the Euler scheme.
//! * **Doubling**: one step of h and two of h/2 from the same state; the two are kept. `δ =
//!   difference/3` (leapfrog, second order), or the
//!   difference itself (Euler, or where an *event* happened: an impact, a contact that opened,
//!   closed, stuck or slipped). Where bodies touch, the joule is that of the free estimate of the
//!   second half if it is less. At events
//!   without impact `h²/8 |a − a_last|` is added: the error of a kink that both runs step over.
//! * **Accuracy**: steps within [`Settings::h`], each with doubling, none with more than the
//!   accuracy asked for:
//!
//! ```text
//!   h ← h · clamp( 0.9 (accuracy/metre)^p, 0.2, 2 ),    p = 1/3, at events 1/2; after a refused event at most h/2
//! ```
//!
//! The figures are `metre`, the largest ‖δx‖ + reach ‖δφ‖ of a body, and `joule` = ½ δvᵀM δv. They
//! are errors *of one step*: the error at the end of a
//! run is 5 to 100 times the largest of them for mechanisms; their sum was above it in 11 of 12
//! measured runs, but is no bound. Neither estimate sees
//! a kink (slip to stick, slip to roll) in the last quarter of a step, nor that bounces below the
//! restitution threshold are cut off.
//! No clock and no random number: the steps are the same on every run.

use super::{Settings, StepError, Stepper, Verdict, ledger};
use crate::assemble::leapfrog::Touch;
use crate::assemble::{Source, TimeScheme};
use crate::math::pose::logarithm;
use crate::problem::Law;
use crate::scene::{BodyId, Scene, State};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Shortest step of accuracy mode, s: what is not accurate then is taken, and the verdict says so.
const MIN_STEP_SECONDS: f64 = 1e-6;
/// First step of accuracy mode, s.
const FIRST_STEP_SECONDS: f64 = 1e-3;

/// How the error of the time scheme is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeEstimate {
    /// From the change of the acceleration: no further solve.
    #[default]
    Free,
    /// From one step of h and two of h/2: three solves, the two are kept.
    Doubling,
}

/// How far a step is from the motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemeError {
    /// Largest error of a position in this step, rotations at the reach of the body, m; of several
    /// steps their sum.
    pub metre: f64,
    /// Kinetic energy of the error of the velocities, J; of several steps their sum.
    pub joule: f64,
    /// True if an impact, or a change of a contact's status, was seen in the step.
    pub event: bool,
    /// False if the accuracy that was asked for could not be held.
    pub held: bool,
}

impl SchemeError {
    /// Of this step and the next one.
    pub fn then(&self, next: &SchemeError) -> SchemeError {
        SchemeError {
            metre: self.metre + next.metre,
            joule: self.joule + next.joule,
            event: self.event || next.event,
            held: self.held && next.held,
        }
    }
}

/// Work space: states of the trials, differences.
#[derive(Default)]
pub(super) struct Trials {
    pub(super) whole: State,
    pub(super) halves: State,
    start: State,
    pub(super) delta: Vec<f64>,
}

impl Stepper {
    /// A step with doubling, or of a higher order: `trials.halves` is kept.
    pub(super) fn step_doubled(
        &mut self,
        scene: &Scene,
        state: &mut State,
        h: f64,
    ) -> Result<Verdict, StepError> {
        let mut trials = std::mem::take(&mut self.trials);
        let result = self.trial(scene, state, h, &mut trials);
        if result.is_ok() {
            std::mem::swap(state, &mut trials.halves);
        }
        self.trials = trials;
        result
    }

    /// A step of the order asked for into `trials.halves`, with its estimate.
    fn trial(
        &mut self,
        scene: &Scene,
        state: &State,
        h: f64,
        trials: &mut Trials,
    ) -> Result<Verdict, StepError> {
        if self.settings.order > 2 {
            self.extrapolate(scene, state, h, trials)
        } else {
            self.double(scene, state, h, trials)
        }
    }

    /// One step of h into `trials.whole`, two of h/2 into `trials.halves`; the verdict is that of
    /// the halves.
    pub(super) fn double(
        &mut self,
        scene: &Scene,
        state: &State,
        h: f64,
        trials: &mut Trials,
    ) -> Result<Verdict, StepError> {
        let halvings = self.settings.halvings;
        trials.whole.clone_from(state);
        trials.halves.clone_from(state);
        // Never in halves: they would hide the difference.
        let whole = self.step_by(scene, &mut trials.whole, h, 0)?;
        let mut lost = self.now.straight || self.rough || !whole.accepted;
        let status = self.status();
        let first = self.step_by(scene, &mut trials.halves, 0.5 * h, halvings)?;
        let same = self.status() == status;
        lost |= self.rough;
        let second = self.step_by(scene, &mut trials.halves, 0.5 * h, halvings)?;
        let same = same && self.status() == status;
        let impact = lost || self.rough || [&whole, &first, &second].iter().any(|v| v.impact);
        let mut verdict = first.then(&second);
        verdict.solves += whole.solves;
        let event = impact || !same;
        let share =
            if event || self.settings.scheme.time == TimeScheme::Euler { 1.0 } else { 1.0 / 3.0 };
        let Trials { whole, halves, delta, .. } = trials;
        let mut error = self.difference(scene, (&*whole, &*halves), delta, share);
        if event && !impact {
            error.metre += self.kink(scene, state, &trials.halves, h);
        }
        let pushed = |t: &Touch| self.solution.r[t.row as usize] > 0.0;
        if let (false, Some(free)) = (event, second.scheme)
            && self.assembly.touches.iter().any(pushed)
        {
            // Where curved bodies touch, the step of h begins in a gap that halves left: its
            // velocity, not its positions, is off by far more than theirs.
            error.joule = error.joule.min(free.joule);
        }
        verdict.scheme = Some(SchemeError { event, ..error });
        Ok(verdict)
    }

    /// Steps within `Settings::h`, none with more than the accuracy asked for.
    pub(super) fn step_accurately(
        &mut self,
        scene: &Scene,
        state: &mut State,
        accuracy: f64,
    ) -> Result<Verdict, StepError> {
        let mut trials = std::mem::take(&mut self.trials);
        trials.start.clone_from(state);
        let result = self.accurate(scene, state, accuracy, &mut trials);
        if result.is_err() {
            state.clone_from(&trials.start);
        }
        self.trials = trials;
        result
    }

    fn accurate(
        &mut self,
        scene: &Scene,
        state: &mut State,
        accuracy: f64,
        trials: &mut Trials,
    ) -> Result<Verdict, StepError> {
        let interval = self.settings.h;
        let mut h = if state.next_step > 0.0 { state.next_step } else { FIRST_STEP_SECONDS };
        let (mut left, mut sum, mut solves) = (interval, None::<Verdict>, 0);
        loop {
            // The interval ends with a step of its own length, not with a rest.
            let length = if left <= h * (1.0 + 1e-9) {
                left
            } else if left < 2.0 * h {
                0.5 * left
            } else {
                h
            };
            let mut verdict = self.trial(scene, state, length, trials)?;
            solves += verdict.solves;
            let mut error = verdict.scheme.unwrap_or_default();
            let first_order = error.event || self.settings.scheme.time == TimeScheme::Euler;
            let power = match self.settings.order {
                _ if first_order => 0.5,
                6 => 1.0 / 5.0,
                _ => 1.0 / 3.0,
            };
            let factor = (0.9 * (accuracy / error.metre).powf(power)).clamp(0.2, 2.0);
            error.held = error.metre <= accuracy;
            if !error.held && length > MIN_STEP_SECONDS {
                h = (length * if error.event { factor.min(0.5) } else { factor.min(0.9) })
                    .max(MIN_STEP_SECONDS);
                continue;
            }
            std::mem::swap(state, &mut trials.halves);
            // A step that was cut to end with the interval says nothing against longer ones.
            h = if length < h { h.max(length * factor) } else { length * factor }
                .max(MIN_STEP_SECONDS);
            left -= length;
            verdict.scheme = Some(error);
            verdict.solves = 0;
            sum = Some(sum.map_or(verdict, |sum| sum.then(&verdict)));
            if left <= 1e-9 * interval {
                let mut sum = sum.unwrap_or(verdict);
                // The time of an output is that of the interval, not of a sum of parts.
                state.time = trials.start.time + interval;
                (sum.time, sum.solves) = (state.time, solves);
                state.next_step = h;
                return Ok(sum);
            }
        }
    }

    /// The free estimate of the step just taken; none where it knows nothing: with impacts, from an
    /// unknown acceleration, under the Euler scheme.
    pub(super) fn free_estimate(&mut self, scene: &Scene) -> Option<SchemeError> {
        self.now.lag?;
        if self.jumps.any() || self.impacts.any || self.fresh {
            return None;
        }
        // v⁺ − v̂ = h̄ (a − a_last), in the same axes.
        let (h, kick) = (self.now.h, self.now.kick());
        let delta = &mut self.trials.delta;
        delta.clear();
        delta.resize(self.layout.v, 0.0);
        let mut metre = 0.0f64;
        for (i, at) in self.layout.velocities.iter().enumerate() {
            let (Some(at), predicted) = (at.map(|at| at as usize), &self.now.predicted[i]) else {
                continue;
            };
            let linear = (DVec3::from_slice(&self.solution.v[at..]) - predicted.linear) / kick;
            let angular =
                (DVec3::from_slice(&self.solution.v[at + 3..]) - predicted.angular) / kick;
            metre = metre.max(linear.length() + self.spans[i] * angular.length());
            (0.5 * h * linear).write_to_slice(&mut delta[at..]);
            (0.5 * h * angular).write_to_slice(&mut delta[at + 3..]);
        }
        for (node, at) in self.layout.nodes.iter().enumerate() {
            let Some(at) = at.map(|at| at as usize) else { continue };
            let change =
                (DVec3::from_slice(&self.solution.v[at..]) - self.now.node_predicted[node]) / kick;
            metre = metre.max(change.length());
            (0.5 * h * change).write_to_slice(&mut delta[at..]);
        }
        let joule = ledger::kinetic(scene, &self.layout, &self.assembly.meshes, delta);
        Some(SchemeError { metre: h * h / 6.0 * metre, joule, event: false, held: true })
    }

    /// How far two states of the same time are from each other: the largest distance of a body,
    /// rotations at its reach, and the kinetic energy of the difference of their velocities.
    pub fn apart(&self, scene: &Scene, a: &State, b: &State) -> SchemeError {
        self.difference(scene, (a, b), &mut Vec::new(), 1.0)
    }

    /// [`Stepper::apart`], times `share`.
    fn difference(
        &self,
        scene: &Scene,
        (whole, halves): (&State, &State),
        delta: &mut Vec<f64>,
        share: f64,
    ) -> SchemeError {
        let mut metre = 0.0f64;
        for (i, span) in self.spans.iter().enumerate() {
            let (a, b) = (whole.pose(BodyId(i as u32)), halves.pose(BodyId(i as u32)));
            let turn = logarithm(a.orientation.conjugate() * b.orientation).length();
            metre = metre.max(a.position.distance(b.position) + span * turn);
        }
        for node in 0..self.layout.nodes.len() {
            metre =
                metre.max(whole.node(&self.layout, node).distance(halves.node(&self.layout, node)));
        }
        delta.clear();
        delta.extend(whole.v.iter().zip(&halves.v).map(|(a, b)| share * (a - b)));
        let joule = ledger::kinetic(scene, &self.layout, &self.assembly.meshes, delta);
        SchemeError { metre: share * metre, joule, event: false, held: true }
    }

    /// What a kink of the acceleration within the step may hide from both trials, m.
    fn kink(&self, scene: &Scene, before: &State, after: &State, h: f64) -> f64 {
        let mut jump = 0.0f64;
        for i in 0..scene.bodies.len() {
            let Some(at) = self.layout.velocity(BodyId(i as u32)) else { continue };
            let (Some(a), Some(b)) =
                (before.acceleration.get(at..at + 3), after.acceleration.get(at..at + 3))
            else {
                continue;
            };
            jump = jump.max(DVec3::from_slice(a).distance(DVec3::from_slice(b)));
        }
        jump * h * h / 8.0
    }

    /// Which contacts of the last solve push, and which of them slide; which bounded efforts are at
    /// their bounds.
    pub(super) fn status(&self) -> u64 {
        let (problem, r) = (&self.assembly.problem, &self.solution.r);
        let largest = r.iter().fold(0.0f64, |most, r| most.max(r.abs()));
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add =
            |word: u64| hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
        for (k, (law, source)) in problem.laws.iter().zip(&self.assembly.sources).enumerate() {
            let rows = problem.J.row_starts[k]..problem.J.row_starts[k + 1];
            let status = match *law {
                Law::Equality => continue,
                Law::Interval { lo, hi } => {
                    let x = r[rows.start];
                    u64::from(x <= lo + 1e-6 * (hi - lo))
                        + 2 * u64::from(x >= hi - 1e-6 * (hi - lo))
                }
                Law::Unilateral => u64::from(r[rows.start] > 1e-9 * largest),
                Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
                    let tangent =
                        r[rows.start + 1..rows.end].iter().map(|t| t * t).sum::<f64>().sqrt();
                    let pushes = r[rows.start] > 1e-9 * largest;
                    u64::from(pushes)
                        + 2 * u64::from(pushes && tangent >= (1.0 - 1e-6) * mu * r[rows.start])
                }
            };
            if status == 0 {
                continue;
            }
            // A contact is known by its colliders and key; its place in the list varies.
            match source {
                Source::Contact(_, _, c) | Source::Torsion(_, _, c) | Source::Rolling(_, _, c) => {
                    let contact = &self.contacts[*c as usize];
                    add(u64::from(contact.colliders.0) << 32 | u64::from(contact.colliders.1));
                    add(contact.key);
                }
                _ => add(k as u64),
            }
            add(status);
        }
        hash
    }
}

/// The radius at which the rotation of each body counts, m: its reach, or its radius of gyration if
/// it has no shape.
pub(super) fn spans(scene: &Scene, reaches: &[f64]) -> Vec<f64> {
    let gyration = |body: &crate::scene::Body| {
        body.mass().map_or(0.0, |m| {
            let trace = m.inertia.x_axis.x + m.inertia.y_axis.y + m.inertia.z_axis.z;
            (0.5 * trace / m.mass).sqrt()
        })
    };
    scene
        .bodies
        .iter()
        .zip(reaches)
        .map(|(body, &reach)| if reach > 0.0 { reach } else { gyration(body) })
        .collect()
}

/// What is wrong with the settings of this file, if anything.
pub(super) fn fault(settings: &Settings) -> Option<String> {
    match (settings.order, settings.scheme.time) {
        (2, _) | (4 | 6, TimeScheme::Leapfrog) => {}
        (4 | 6, TimeScheme::Euler) => {
            return Some("order above 2 belongs to scheme = \"leapfrog\"".into());
        }
        (order, _) => return Some(format!("order = {order}, wanted 2, 4 or 6")),
    }
    let accuracy = settings.accuracy?;
    (!(accuracy > 0.0 && accuracy.is_finite()))
        .then(|| format!("accuracy = {accuracy} m, wanted > 0"))
}
