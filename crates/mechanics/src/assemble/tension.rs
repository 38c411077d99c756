//! Springs by formula: a pull `f(l, l̇)` along the line between two points.
//!
//! ```text
//!   f⁺ ≈ f(l, l̇) + k (l⁺ − l) + c (l̇⁺ − l̇)         k = max(∂f/∂l, 0),  c = max(∂f/∂l̇, 0)
//! ```
//!
//! `f − c l̇` is known before the step and acts as an applied force; k and c enter H as those of a
//! spring of zero length do. The derivatives are central differences; where f falls with l it is
//! taken as it is at the beginning of the step.

use super::StepInput;
use super::part::{Measure, Mount, measure};
use crate::math::pose::Pose;
use crate::scene::{Part, Quantity, Tension};

/// A pull here and now.
#[derive(Clone, Copy, Debug)]
pub struct Pull {
    /// The distance of the ends, with its gradients.
    pub measure: Measure,
    /// `f − c l̇`, N.
    pub known: f64,
    /// The pull itself, N.
    pub force: f64,
    /// k, N/m.
    pub stiffness: f64,
    /// c, N s/m.
    pub damping: f64,
}

/// The pull of a spring by formula.
pub fn pull(s: &Tension, now: &StepInput) -> Pull {
    let (frame_a, frame_b) = (Pose::at(s.point_a), Pose::at(s.point_b));
    let a = Mount { body: &now.poses[s.a.index()], frame: &frame_a };
    let b = Mount { body: &now.poses[s.b.index()], frame: &frame_b };
    let measure = measure(Part::Distance(0.0), a, b);
    let rate = |twist: &dyn Fn(crate::scene::BodyId) -> super::Twist| {
        measure.a.rate(&twist(s.a)) + measure.b.rate(&twist(s.b))
    };
    let before = rate(&|body| now.twists[body.index()]);
    // Leapfrog: at the time of l, between the velocities before and over the step.
    let speed = match now.lag {
        Some(lag) => before + (rate(&|body| *now.expected(body)) - before) * (lag / now.kick()),
        None => before,
    };
    let f = |length: f64, rate: f64| {
        s.pull.value(&mut |q| match q {
            Quantity::Length => length,
            Quantity::LengthRate => rate,
            Quantity::Time => now.time,
            Quantity::Sensor(id) => now.orders.sensors.get(id.index()).copied().unwrap_or(0.0),
            Quantity::Variable(id) => now.orders.variables.get(id.index()).copied().unwrap_or(0.0),
            _ => 0.0,
        })
    };
    let length = measure.value;
    // A step of the cube root of the rounding: errors of 1e-10 in both directions.
    let (dl, dv) = (1e-5 * length.abs().max(1e-3), 1e-5 * speed.abs().max(1e-3));
    let slope = |x: f64| if x.is_finite() { x.max(0.0) } else { 0.0 };
    let stiffness = slope((f(length + dl, speed) - f(length - dl, speed)) / (2.0 * dl));
    let damping = slope((f(length, speed + dv) - f(length, speed - dv)) / (2.0 * dv));
    let force = f(length, speed);
    Pull { measure, known: force - damping * speed, force, stiffness, damping }
}
