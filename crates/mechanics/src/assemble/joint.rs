//! Rows of joints: parts, stops, dry friction, motors, gears.
//!
//! | what | law | u = |
//! |---|---|---|
//! | part of a joint | `Equality` | Ċ + K C/h |
//! | stop | `Unilateral` | ẋ + (x − lo)/h, or −ẋ + (hi − x)/h; after an impact ≥ −e u⁻ |
//! | dry friction | `Interval` ±h·effort | ẋ |
//! | motor, position | `Equality` | ẋ − ∂f/∂t + K (x − f)/h |
//! | motor, speed | `Equality`, or `Interval` ±h·effort | ẋ − f |
//! | motor, servo | `Equality`, or `Interval` ±h·effort | ẋ + E r − (k (f⁺ − x) + c ∂f/∂t)/(h k + c), E = 1/(h² k + h c) |
//! | gear | `Equality` | Σ c ẋ + K (Σ c x − constant)/h |
//!
//! K/h is the stabilisation of (Tasora2005, eq. 2.5), (Mangoni2018, eq. 3.21); ∂f/∂t is the mean
//! over the step, so that an imposed motion is exact at its ends. The row of a servo says
//! `r = h (k (f⁺ − x − h ẋ) + c (∂f/∂t − ẋ))`: a spring and damper at the end of the step, stable
//! for any gain, whose force the interval cuts off. Under the leapfrog scheme every row has the
//! curvature of its coordinate added, `(C(x + d) − C(x) − J d)/h` with d the predicted motion of
//! the step, and impulses act over h̄ ([`super::leapfrog`]).

use super::leapfrog::Weights;
use super::part::{Measure, Mount, measure, unwrap};
use super::rows::Block;
use super::{Assembly, Scheme, Source, StepInput};
use crate::math::pose::Pose;
use crate::problem::Law;
use crate::scene::{
    Axis, BodyId, Coordinate, Drive, GearId, GearTerm, Joint, JointId, Layout, Limit, Motor,
    MotorId, Part, Scene,
};

/// Appends the rows of all joints, motors and gears.
pub fn assemble(
    out: &mut Assembly,
    scene: &Scene,
    layout: &Layout,
    now: &StepInput,
    scheme: &Scheme,
) {
    for (j, joint) in scene.joints.iter().enumerate() {
        let id = JointId(j as u32);
        if now.orders.joint_off(id) {
            continue;
        }
        parts(out, (scene, id), (layout, now), scheme);
        for limit in &joint.limits {
            stops(out, (scene, id), limit, (layout, now), scheme);
        }
        for friction in &joint.friction {
            let most = now.kick() * friction.effort;
            let (block, x) = coordinate_block((scene, id), friction.coordinate, layout, now);
            let curved = curvature(scene, (id, friction.coordinate), x, block.expected[0], now);
            block.push(
                out,
                Source::DryFriction(id),
                Law::Interval { lo: -most, hi: most },
                &[curved],
                0.0,
            );
        }
    }
    motors(out, scene, layout, now, scheme);
    for g in 0..scene.gears.len() {
        if scene.gears[g].terms.iter().any(|term| now.orders.joint_off(term.joint)) {
            continue;
        }
        let mut block = Block::new(1);
        let mut curved = 0.0;
        for term in &scene.gears[g].terms {
            let joint = &scene.joints[term.joint.index()];
            let x = coordinate(scene, term.joint, term.coordinate, now);
            block.add(0, joint.a, &x.a.scaled(term.factor), layout, now);
            block.add(0, joint.b, &x.b.scaled(term.factor), layout, now);
            let rate = x.a.rate(now.expected(joint.a)) + x.b.rate(now.expected(joint.b));
            curved +=
                term.factor * curvature(scene, (term.joint, term.coordinate), x.value, rate, now);
        }
        let gap = gear_value(scene, now, g) - out.gears[g];
        let w = scheme.joint_erp * gap / now.correction_time() + curved;
        block.push(out, Source::Gear(GearId(g as u32)), Law::Equality, &[w], 0.0);
    }
}

/// The parts of all joints and nothing else, with u = Ċ + C: for moving bodies back to where their
/// joints hold.
pub fn assemble_parts(out: &mut Assembly, scene: &Scene, layout: &Layout, now: &StepInput) {
    let scheme = Scheme { joint_erp: 1.0, ..Scheme::default() };
    for (j, joint) in scene.joints.iter().enumerate() {
        if joint.compliance == 0.0 && !now.orders.joint_off(JointId(j as u32)) {
            parts(out, (scene, JointId(j as u32)), (layout, now), &scheme);
        }
    }
}

/// A coordinate of a joint; angles count full turns, on from the remembered one.
pub fn coordinate(scene: &Scene, id: JointId, which: Coordinate, now: &StepInput) -> Measure {
    let mut x = evaluate(&scene.joints[id.index()], which.part(), now);
    if which == Coordinate::Angle {
        x.value = unwrap(x.value, now.angles[id.index()]);
    }
    x
}

/// What a motor acts on: its coordinate, and those that it pulls along.
pub fn motor_terms(motor: &Motor) -> impl Iterator<Item = GearTerm> + '_ {
    let first = GearTerm { joint: motor.joint, coordinate: motor.coordinate, factor: 1.0 };
    std::iter::once(first).chain(motor.also.iter().copied())
}

/// Whether a motor gives nothing: it is off, or a joint that it acts on is.
pub fn motor_off(scene: &Scene, motor: MotorId, now: &StepInput) -> bool {
    now.orders.motor_off(motor)
        || motor_terms(&scene.motors[motor.index()]).any(|term| now.orders.joint_off(term.joint))
}

/// The value of what a motor acts on.
pub fn motor_value(scene: &Scene, motor: &Motor, now: &StepInput) -> f64 {
    motor_terms(motor)
        .map(|term| term.factor * coordinate(scene, term.joint, term.coordinate, now).value)
        .sum()
}

/// What a gear keeps constant.
pub fn gear_value(scene: &Scene, now: &StepInput, gear: usize) -> f64 {
    scene.gears[gear]
        .terms
        .iter()
        .map(|term| term.factor * coordinate(scene, term.joint, term.coordinate, now).value)
        .sum()
}

/// Value and gradient of a part of a joint.
pub fn evaluate(joint: &Joint, part: Part, now: &StepInput) -> Measure {
    evaluate_at(joint, part, &now.poses)
}

fn evaluate_at(joint: &Joint, part: Part, poses: &[Pose]) -> Measure {
    let a = Mount { body: &poses[joint.a.index()], frame: &joint.frame_a };
    let b = Mount { body: &poses[joint.b.index()], frame: &joint.frame_b };
    measure(part, a, b)
}

/// The value of a part where the predicted motion leads to. The three coordinates of a point are
/// taken along the axes of the beginning of the step, as their rows are: along turned axes the rows
/// of a loop would contradict each other by h² near its singular positions.
fn value_ahead(joint: &Joint, part: Part, now: &StepInput) -> f64 {
    let along = |axis: Axis| joint.kind.parts().contains(&Part::Along(axis));
    let (Part::Along(axis), true) = (part, [Axis::X, Axis::Y, Axis::Z].into_iter().all(along))
    else {
        return evaluate_at(joint, part, &now.ahead).value;
    };
    let point = |body: BodyId, frame: &Pose| now.ahead[body.index()].point(frame.position);
    let apart = point(joint.b, &joint.frame_b) - point(joint.a, &joint.frame_a);
    let orientation = now.poses[joint.a.index()].orientation * joint.frame_a.orientation;
    (orientation.conjugate() * apart)[axis as usize]
}

/// What the mean rate of a coordinate over the step has beyond its rate at the beginning, `rate`:
/// its curvature.
fn curvature(
    scene: &Scene,
    (id, which): (JointId, Coordinate),
    value: f64,
    rate: f64,
    now: &StepInput,
) -> f64 {
    if now.lag.is_none() || now.straight {
        return 0.0;
    }
    let mut ahead = evaluate_at(&scene.joints[id.index()], which.part(), &now.ahead).value;
    if which == Coordinate::Angle {
        ahead = unwrap(ahead, value + now.h * rate);
    }
    (ahead - value) / now.h - rate
}

/// One row for a coordinate, and its value.
fn coordinate_block(
    (scene, id): (&Scene, JointId),
    which: Coordinate,
    layout: &Layout,
    now: &StepInput,
) -> (Block, f64) {
    let joint = &scene.joints[id.index()];
    let x = coordinate(scene, id, which, now);
    let mut block = Block::new(1);
    block.add(0, joint.a, &x.a, layout, now);
    block.add(0, joint.b, &x.b, layout, now);
    (block, x.value)
}

fn parts(
    out: &mut Assembly,
    (scene, id): (&Scene, JointId),
    (layout, now): (&Layout, &StepInput),
    scheme: &Scheme,
) {
    let joint = &scene.joints[id.index()];
    let held = out.held.get(id.index()).is_some_and(|h| *h);
    for (p, &part) in joint.kind.parts().iter().enumerate() {
        let c = evaluate(joint, part, now);
        let mut block = Block::new(1);
        block.add(0, joint.a, &c.a, layout, now);
        block.add(0, joint.b, &c.b, layout, now);
        if held {
            // The coordinates of its tree close the joint, and know the curvature of the step.
            let w = if now.lag.is_some() { -block.expected[0] } else { 0.0 };
            block.push(out, Source::Joint(id, p as u8), Law::Equality, &[w], 0.0);
            continue;
        }
        let curved = match now.lag {
            Some(_) if !now.straight => {
                (value_ahead(joint, part, now) - c.value) / now.h - block.expected[0]
            }
            _ => 0.0,
        };
        let (w, compliance) = if joint.compliance > 0.0 {
            // A spring as stiff as it says: u + r/(h̄hβk) + (C − 2 lag α u⁻)/(hβ) = 0.
            let inverse = c.a.coupling(&c.a, scene, joint.a) + c.b.coupling(&c.b, scene, joint.b);
            let Weights { alpha, beta, .. } = Weights::of(now, inverse / joint.compliance, 0.0);
            let last = now.last_step() * alpha * block.before[0];
            ((c.value - last) / (now.h * beta), joint.compliance / (now.kick() * now.h * beta))
        } else {
            (scheme.joint_erp * c.value / now.correction_time(), 0.0)
        };
        block.push(out, Source::Joint(id, p as u8), Law::Equality, &[w + curved], compliance);
    }
}

fn stops(
    out: &mut Assembly,
    (scene, id): (&Scene, JointId),
    limit: &Limit,
    (layout, now): (&Layout, &StepInput),
    scheme: &Scheme,
) {
    let joint = &scene.joints[id.index()];
    let x = coordinate(scene, id, limit.coordinate, now);
    for (sign, end) in [(1.0, limit.lo), (-1.0, limit.hi)] {
        if end.is_infinite() {
            continue;
        }
        let mut block = Block::new(1);
        block.add(0, joint.a, &x.a.scaled(sign), layout, now);
        block.add(0, joint.b, &x.b.scaled(sign), layout, now);
        let gap = sign * (x.value - end);
        // The curvature of the coordinate over the step; none under the Euler scheme.
        let curved =
            curvature(scene, (id, limit.coordinate), x.value, sign * block.expected[0], now);
        let w = block.touch(out, gap + now.h * sign * curved, limit.restitution, (scheme, now));
        block.push(out, Source::Limit(id), Law::Unilateral, &[w], 0.0);
    }
}

fn motors(out: &mut Assembly, scene: &Scene, layout: &Layout, now: &StepInput, scheme: &Scheme) {
    let limited = |effort: f64| {
        if effort.is_finite() {
            Law::Interval { lo: -now.kick() * effort, hi: now.kick() * effort }
        } else {
            Law::Equality
        }
    };
    for (m, motor) in scene.motors.iter().enumerate() {
        let id = MotorId(m as u32);
        if matches!(motor.drive, Drive::Effort(_)) || motor_off(scene, id, now) {
            continue;
        }
        let (f, since) = now.orders.drive(id, motor.drive.function());
        let (begin, end) = (now.time - since, now.time - since + now.h);
        let middle = || f.value(begin + 0.5 * now.h);
        let (block, x, curved) = motor_block(scene, motor, layout, now);
        let (law, w, e) = match &motor.drive {
            Drive::Position(_) => {
                let gap = scheme.joint_erp * (x - f.value(begin)) / now.correction_time();
                (Law::Equality, gap - f.mean_rate(begin, now.h), 0.0)
            }
            Drive::Speed(_) => (Law::Equality, -middle(), 0.0),
            Drive::LimitedSpeed { effort, .. } => (limited(*effort), -middle(), 0.0),
            Drive::Servo { stiffness, damping, effort, .. } => {
                let (error, rate) = (f.value(end) - x, f.mean_rate(begin, now.h));
                let slope = now.h * stiffness + damping;
                (
                    limited(*effort),
                    -(stiffness * error + damping * rate) / slope,
                    1.0 / (now.kick() * slope),
                )
            }
            Drive::SpeedServo { damping, effort, .. } => {
                (limited(*effort), -middle(), 1.0 / (now.kick() * damping))
            }
            Drive::Effort(_) => continue,
        };
        block.push(out, Source::Motor(id), law, &[w + curved], e);
    }
}

/// One row for what a motor acts on, its value, and what its curvature adds to the rate.
fn motor_block(
    scene: &Scene,
    motor: &Motor,
    layout: &Layout,
    now: &StepInput,
) -> (Block, f64, f64) {
    let mut block = Block::new(1);
    let (mut value, mut curved) = (0.0, 0.0);
    for term in motor_terms(motor) {
        let joint = &scene.joints[term.joint.index()];
        let x = coordinate(scene, term.joint, term.coordinate, now);
        block.add(0, joint.a, &x.a.scaled(term.factor), layout, now);
        block.add(0, joint.b, &x.b.scaled(term.factor), layout, now);
        value += term.factor * x.value;
        let rate = x.a.rate(now.expected(joint.a)) + x.b.rate(now.expected(joint.b));
        curved += term.factor * curvature(scene, (term.joint, term.coordinate), x.value, rate, now);
    }
    (block, value, curved)
}
