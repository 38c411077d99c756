//! Equilibrium, contacts and friction included.
//!
//! ```text
//!   find q with  f(q) + Jᵀr = 0,  r allowed by the laws of joints and contacts
//! ```
//!
//! Steps from rest: the stepper takes one step, the velocities are thrown away, and so on. Such a
//! step is
//!
//! ```text
//!   (M/h² + K) δ = f + Jᵀr        a descent of the potential energy, Newton's step as h grows (K: springs)
//! ```
//!
//! 1. Take a step of length h from rest. If the potential energy rose: go back, h ← h/2. Otherwise
//!    h ← 1.3 h.
//! 2. Stop when no body would accelerate by more than 1e-9 of gravity (or of the largest
//!    acceleration met).
//!
//! Without stiffness (a pendulum, a stack) the descent is linear in the number of steps; drivers
//! stand where they stand at t = 0. Friction holds where it can: of the many equilibria under
//! friction this is one that can be reached from the initial position.

use crate::assemble::{Scheme, TimeScheme};
use crate::scene::{BodyId, Layout, Scene, State};
use crate::step::{BuildError, Settings, Stepper};
use glam::DVec3;

/// A position at rest.
#[derive(Clone, Debug)]
pub struct Equilibrium {
    /// Steps taken.
    pub steps: usize,
    /// The largest acceleration that is left, m/s² (angular ones times the reach of the body).
    pub acceleration: f64,
    /// Whose.
    pub body: Option<BodyId>,
    /// The farthest that a body went, m.
    pub moved: f64,
}

/// Why there is none.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unsettled {
    /// The scene cannot be stepped.
    #[error(transparent)]
    BuildError(#[from] BuildError),
    /// A step was refused.
    #[error(transparent)]
    Refused(#[from] crate::step::StepError),
    /// Something still moves.
    #[error(
        "no equilibrium after {steps} steps: `{body}` would still accelerate by {acceleration:.2e} \
            m/s² and has gone {moved:.3} m; does anything hold it?"
    )]
    Moving {
        /// Steps taken.
        steps: usize,
        /// Who moves.
        body: String,
        /// How fast it would, m/s².
        acceleration: f64,
        /// How far it went, m.
        moved: f64,
    },
}

/// The most steps.
const MAX_STEPS: usize = 20_000;
/// Accelerations below this share of gravity are none.
const RESTING_ACCELERATION_RATIO: f64 = 1e-9;

/// Brings `state` to an equilibrium; returns the stepper after its last step, for reactions.
pub fn equilibrium(
    scene: &Scene,
    settings: Settings,
    state: &mut State,
) -> Result<(Equilibrium, Stepper), Unsettled> {
    let layout = Layout::of(scene);
    let longest = 50.0 * settings.h.max(1e-3);
    let scheme =
        Scheme { restitution_threshold: f64::MAX, time: TimeScheme::Euler, ..settings.scheme };
    // Reactions that are not unique are named, not shared out.
    let scheme = Scheme { load_sharing: 0.0, ..scheme };
    let mut settings = Settings { scheme, projections: 2, ..settings };
    // Forces are wanted to many digits.
    settings.stop.tolerance.velocity = settings.stop.tolerance.velocity.min(1e-12);
    settings.stop.tolerance.relative = settings.stop.tolerance.relative.min(1e-16);
    let mut stepper = Stepper::new(scene, settings)?;
    let (first, time) = (state.clone(), state.time);
    state.v.fill(0.0);
    let mut largest = scene.gravity.length();
    let mut out = Equilibrium { steps: 0, acceleration: f64::INFINITY, body: None, moved: 0.0 };
    while out.steps < MAX_STEPS {
        out.steps += 1;
        let before = state.clone();
        let verdict = stepper.step(scene, state)?;
        state.time = time;
        let h = stepper.settings.h;
        (out.acceleration, out.body) = fastest(scene, &layout, state, h);
        state.v.fill(0.0);
        out.moved = farthest(scene, &first, state);
        if out.acceleration <= RESTING_ACCELERATION_RATIO * largest {
            return Ok((out, stepper));
        }
        largest = largest.max(1e-3 * out.acceleration);
        let energy = &verdict.energy;
        let rose = energy.potential_change - energy.applied - energy.motors;
        if rose > 1e-12 * energy.throughput && verdict.penetration == 0.0 && h > 1e-7 {
            *state = before;
            stepper.settings.h = 0.5 * h;
        } else {
            stepper.settings.h = (1.3 * h).min(longest);
        }
    }
    let body = out.body.map_or("nothing".into(), |b| scene.bodies[b.index()].name.clone());
    Err(Unsettled::Moving {
        steps: out.steps,
        body,
        acceleration: out.acceleration,
        moved: out.moved,
    })
}

/// The largest acceleration of a step from rest.
fn fastest(scene: &Scene, layout: &Layout, state: &State, h: f64) -> (f64, Option<BodyId>) {
    let mut out = (0.0, None);
    for i in 0..scene.bodies.len() {
        let id = BodyId(i as u32);
        let (Some(mass), Some(_)) = (scene.bodies[i].mass(), layout.velocity(id)) else { continue };
        let (linear, angular) = state.twist(layout, id);
        // Angular accelerations count at the radius of gyration.
        let gyration = (mass.inertia * DVec3::ONE).max_element().max(0.0) / mass.mass;
        let a = (linear.length() + angular.length() * gyration.sqrt()) / h;
        if a > out.0 || a.is_nan() {
            out = (a, Some(id));
        }
    }
    out
}

fn farthest(scene: &Scene, first: &State, now: &State) -> f64 {
    (0..scene.bodies.len() as u32)
        .map(BodyId)
        .map(|b| now.pose(b).position.distance(first.pose(b).position))
        .fold(0.0, f64::max)
}
