//! SimBenchmark's energy test: a quadruped is pushed up for a second and then flies freely.
//!
//! Masses, principal moments and the places of the joints are those of the published robot, to
//! three digits; products of inertia are left out and each foot is part of its shank. Nothing
//! damps the joints and nothing touches.

use crate::case::{Case, Cost::*, Group::Published, Rows, within};
use crate::motion::{G, Motion, Scheme::Leapfrog, Text, xyz};
use signorini::prelude::*;

pub const CASES: &[Case] = &[Case {
    name: "simbench-anymal-energy",
    group: Published,
    source: "SimBenchmark (leggedrobotics, 2018): anymal-energy/sample.csv",
    cost: Normal,
    run: energy,
}];

/// A body of the robot: mass, kg; principal moments, kg m².
struct Part {
    mass: f64,
    inertia: [f64; 3],
}

const TRUNK: Part = Part { mass: 21.4, inertia: [0.268, 0.884, 0.829] };
const HIP: Part = Part { mass: 1.11, inertia: [1.23e-3, 0.993e-3, 1.42e-3] };
const THIGH: Part = Part { mass: 1.51, inertia: [14.8e-3, 14.4e-3, 1.78e-3] };
const SHANK: Part = Part { mass: 0.510, inertia: [12.6e-3, 12.8e-3, 0.5e-3] };
/// How long it is pushed, s, and how long it then flies.
const PUSHED: f64 = 1.0;
const FLIES: f64 = 2.0;

/// The robot, pushed up with twice its weight for the first second.
fn robot(dt: f64, order: u32) -> Text {
    let mass = TRUNK.mass + 4.0 * (HIP.mass + THIGH.mass + SHANK.mass);
    let mut text = Text::new(Leapfrog, dt).run(&format!("order = {order}"));
    let mut add = |name: &str, part: &Part, at: DVec3, turn: DQuat, center: DVec3| {
        let q = turn.to_array();
        let lines = format!(
            "position = {}\nrotation = {{ quaternion = {q:?} }}\ncenter = {}\nmass = {}\ninertia = {:?}",
            xyz(at),
            xyz(center),
            part.mass,
            part.inertia
        );
        text = text.clone().add(&format!("[[body]]\nname = \"{name}\"\n{lines}"));
    };
    let mut joints = String::new();
    let mut hinge = |name: &str, a: &str, at: DVec3, axis: DVec3| {
        joints += &format!(
            "[[joint]]\nname = \"{name}_hinge\"\nkind = \"revolute\"\na = \"{a}\"\nb = \"{name}\"\n\
             position = {}\naxis = {}\n",
            xyz(at),
            xyz(axis)
        );
    };
    let trunk = DVec3::Z * 2.0;
    add("trunk", &TRUNK, trunk, DQuat::IDENTITY, DVec3::ZERO);
    for (leg, x, y) in [("lf", 1.0, 1.0), ("rf", 1.0, -1.0), ("lh", -1.0, 1.0), ("rh", -1.0, -1.0)]
    {
        let side = |at: [f64; 3]| DVec3::new(x * at[0], y * at[1], at[2]);
        let [hip, thigh, shank] = ["hip", "thigh", "shank"].map(|part| format!("{leg}_{part}"));
        let turned = DQuat::from_rotation_x(0.03 * x);
        let bent = turned * DQuat::from_rotation_y(0.4 * x);
        let knee_turn = turned * DQuat::from_rotation_y(-0.4 * x);
        let at_hip = trunk + side([0.263, 0.115, 0.0]);
        let at_thigh = at_hip + turned * side([0.0585, 0.0315, 0.0]);
        let at_knee = at_thigh + bent * side([0.0, 0.111, -0.25]);
        add(&hip, &HIP, at_hip, turned, side([0.0542, -0.0136, 0.0]));
        add(&thigh, &THIGH, at_thigh, bent, side([0.0008, 0.0545, -0.198]));
        add(&shank, &SHANK, at_knee, knee_turn, side([0.0102, -0.0095, -0.165]));
        hinge(&hip, "trunk", at_hip, DVec3::X);
        hinge(&thigh, &hip, at_thigh, turned * DVec3::Y);
        hinge(&shank, &thigh, at_knee, turned * DVec3::Y);
    }
    let push = 2.0 * mass * G;
    text.add(&joints).add(&format!(
        "[[force]]\nname = \"push\"\napplied = {{ body = \"trunk\", force = [0, 0, {{ pulse = {{ \
         low = 0, high = {push}, period = 1000, width = {PUSHED}, start = 0 }} }}] }}"
    ))
}

/// Kinetic and potential energy of all bodies, J.
fn stored(motion: &Motion) -> f64 {
    let mut sum = 0.0;
    for body in motion.sim.scene().bodies.iter().skip(1) {
        let view = motion.sim.body(body.name.as_str()).expect("it is there");
        let mass = body.mass().expect("it is rigid");
        let spin = view.orientation().inverse() * view.angular_velocity();
        sum += mass.kinetic(view.center_of_mass_velocity(), spin)
            + mass.mass * G * view.center_of_mass().z;
    }
    sum
}

/// Mean squared error of the energy in free flight, J², from some steps after the push on.
fn flight(dt: f64, order: u32) -> Result<f64, String> {
    let mut motion = robot(dt, order).simulate()?;
    motion.until(PUSHED + 4.0 * dt)?;
    let begin = stored(&motion);
    let (mut sum, mut count) = (0.0, 0.0);
    motion.watch(PUSHED + FLIES, |m| {
        sum += (stored(m) - begin).powi(2);
        count += 1.0;
    })?;
    Ok(sum / count)
}

fn energy(rows: &mut Rows) -> Result<(), String> {
    let published: [(f64, &[(&str, f64)]); 2] = [
        (
            1e-3,
            &[
                ("RaiSim", 0.0118),
                ("MuJoCo Euler", 3.48),
                ("MuJoCo RK4", 1.6e-17),
                ("Bullet", 3.65),
                ("ODE", 3.89),
                ("DART", 236.8),
            ],
        ),
        (
            4e-3,
            &[
                ("RaiSim", 0.215),
                ("MuJoCo Euler", 55.5),
                ("MuJoCo RK4", 4.5e-14),
                ("Bullet", 55.7),
                ("ODE", 61.6),
                ("DART", 392.8),
            ],
        ),
    ];
    for (dt, others) in published {
        for order in [2, 4, 6] {
            let found = flight(dt, order)?;
            let first_order = others[0].1;
            let fourth_order = others[2].1;
            let (allowed, reason) = if order == 2 {
                (first_order, "no more than the best of the published engines but Runge–Kutta")
            } else {
                (fourth_order, "no more than the best published one, Runge–Kutta of order 4")
            };
            let row = rows.zero(
                &format!("dt {dt} s, order {order}: mean squared error of the energy"),
                "J²",
                found,
                within(allowed, reason),
            );
            row.others(others).note("a robot with the published masses and joints, simplified");
        }
    }
    Ok(())
}
