//! The leapfrog scheme against closed forms, with the real collision code. Every step must be
//! accepted, and its energy ledger must close.

mod against_euler;
mod bars;
#[path = "../common/mod.rs"]
mod common;
mod contact;
mod mechanisms;
mod order;
mod time_error;

use common::{ball, cuboid, euler, exact, floor, go_on, run, symmetric_top};
use glam::{DQuat, DVec3};
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper, TimeEstimate};

const G: f64 = 9.81;

/// Second-order steps of length `h`, solved to 1e-9 m/s.
fn leapfrog(h: f64) -> Settings {
    exact(h)
}

/// A scene without weight.
fn weightless(name: &str) -> Scene {
    let mut scene = Scene::new(name);
    scene.gravity = DVec3::ZERO;
    scene
}

/// Errors at h, h/2, h/4 fall by four, within what the next order leaves.
fn second_order(errors: &[f64]) {
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.9..2.15).contains(&order), "order {order:.2}: {errors:?}");
    }
}

#[test]
fn a_thrown_body_follows_the_parabola() {
    let mut scene = Scene::new("throw");
    let v = DVec3::new(1.0, 2.0, 3.0);
    let id = scene.add_body(Body::rigid("stone", Mass::sphere(0.7, 0.1)).moving(v, DVec3::X));
    let end = run(&scene, leapfrog(1e-2), 100);
    // A hundred additions of numbers of order ten.
    assert!(end.position(id).distance(v + 0.5 * scene.gravity) < 1e-12, "{}", end.position(id));
    assert!(end.velocity(id).distance(v + scene.gravity) < 1e-12, "{}", end.velocity(id));
    assert!(end.energy.scheme.abs() < 1e-12, "no energy from the scheme: {:?}", end.energy);
}

/// Position error of a pendulum of period 2.36784194757624 s after one period.
fn pendulum(n: usize) -> (f64, f64) {
    let mut scene = Scene::new("pendulum");
    let bob = scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.1)).at(DVec3::X));
    scene.add_rod("rod", (BodyId::GROUND, bob), (DVec3::ZERO, DVec3::X));
    let end = run(&scene, leapfrog(2.36784194757624 / n as f64), n);
    (end.position(bob).distance(DVec3::X), (end.position(bob).length() - 1.0).abs())
}

#[test]
fn a_pendulum_is_of_second_order_and_its_rod_holds() {
    // 473 steps are 5 ms each.
    let runs: Vec<(f64, f64)> = [473, 946, 1892].into_iter().map(pendulum).collect();
    let errors: Vec<f64> = runs.iter().map(|r| r.0).collect();
    // After a period it stands still: the error of the phase is squared, that of the height is
    // left.
    assert!(errors[0] < 6e-4, "{errors:?}");
    assert!(runs[0].1 < 1e-6, "the rod is off by {} m", runs[0].1);
}

/// A body on a ball joint, swinging and spinning: position after 1 s.
fn gyroscope(h: f64) -> (DVec3, DQuat) {
    let mut scene = Scene::new("gyroscope");
    let at = DVec3::new(0.3, 0.1, 0.05);
    let id = scene.add_body(
        Body::rigid("top", Mass::new(1.0, DVec3::new(0.02, 0.03, 0.045)))
            .at(at)
            .moving(DVec3::ZERO, DVec3::ZERO),
    );
    let spin = DVec3::new(8.0, 3.0, -5.0);
    scene.bodies[id.index()].spin = spin;
    scene.bodies[id.index()].velocity = spin.cross(at);
    scene.add_joint(
        "socket",
        JointKind::Spherical,
        (BodyId::GROUND, id),
        frame(DVec3::ZERO, DVec3::Z),
    );
    let end = run(&scene, leapfrog(h), (1.0 / h).round() as usize);
    (end.position(id), end.state.pose(id).orientation)
}

#[test]
fn a_heavy_asymmetric_top_is_of_second_order() {
    let fine = gyroscope(1.25e-4);
    let errors: Vec<f64> = [4e-3, 2e-3, 1e-3].map(|h| gyroscope(h).0.distance(fine.0)).to_vec();
    // The reference is itself off by a 64th of the last error: orders within 0.03.
    second_order(&errors);
    assert!(errors[2] < 1e-3, "{errors:?}");
}

#[test]
fn a_free_top_keeps_momentum_to_rounding_and_energy_without_drift() {
    let mut scene = weightless("top");
    let mass = Mass::new(1.0, DVec3::new(1.0, 2.0, 3.0));
    let spin = DVec3::new(0.01, 2.0, 0.01);
    let id = scene.add_body(Body { spin, ..Body::rigid("top", mass) });
    let (momentum, energy) = (mass.inertia * spin, mass.kinetic(DVec3::ZERO, spin));
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, leapfrog(5e-3)).unwrap();
    let (mut worst, mut flips, mut side) = (0.0f64, 0, 1.0);
    for _ in 0..20_000 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        worst = worst.max((verdict.energy.kinetic / energy - 1.0).abs());
        if state.v[4] * side < -1.0 {
            (flips, side) = (flips + 1, -side);
        }
    }
    let now = state.pose(id).vector(mass.inertia * DVec3::from_slice(&state.v[3..]));
    // 20 000 rotations of a vector of length 4, each with rounding 1e-15.
    assert!((now - momentum).length() < 1e-11, "{}", (now - momentum).length());
    assert!(worst < 1e-4, "energy within {worst:.1e}");
    assert_eq!(flips, 9, "half the period of the tumble is 10.7 s");
}

#[test]
fn a_symmetric_top_precesses_at_its_closed_form_rate() {
    let h = 5e-3;
    let (spin, wanted, angle) = symmetric_top(leapfrog(h), 1000);
    // Second order: (ωh)²/12 of the angle.
    let allowed = 0.3 * angle * (h * 4.0).powi(2) / 6.0;
    assert!(spin.distance(wanted) < allowed, "{spin} {wanted}");
}

#[test]
fn a_spring_is_of_second_order_and_a_stiff_one_decays() {
    let oscillate = |k: f64, h: f64, n: usize| {
        let mut scene = weightless("oscillator");
        let id = scene.add_body(Body::rigid("mass", Mass::sphere(1.0, 0.1)).at(DVec3::X));
        let spring = Spring {
            a: BodyId::GROUND,
            b: id,
            point_a: DVec3::ZERO,
            point_b: DVec3::ZERO,
            length: 0.9,
            stiffness: k,
            damping: 0.0,
        };
        scene.add_force("spring", ForceKind::Spring(spring));
        let end = run(&scene, leapfrog(h), n);
        (end.position(id).x - 0.9, end.energy.kinetic + end.energy.potential)
    };
    // ω = 10 rad/s, from a stretch of 0.1 m, at 2 s.
    let errors: Vec<f64> = [5e-3, 2.5e-3, 1.25e-3]
        .map(|h| (oscillate(100.0, h, (2.0 / h).round() as usize).0 - 0.1 * 20f64.cos()).abs())
        .to_vec();
    second_order(&errors);
    let (x, energy) = oscillate(1e8, 1e-2, 100);
    assert!(x.abs() < 1e-3 && energy < 1e-3 * 0.5 * 1e8 * 0.01, "{x} m, {energy} J");
}

#[test]
fn steps_of_any_length_stay_of_second_order() {
    // 1 s of a heavy top in steps of h, h/2, h/4 in an irregular order.
    let go = |h: f64| {
        let mut scene = Scene::new("pendulum");
        let bob = scene.add_body(
            Body::rigid("bob", Mass::cuboid(1.0, DVec3::new(0.5, 0.1, 0.2))).at(DVec3::X),
        );
        scene.add_joint(
            "pin",
            JointKind::Revolute,
            (BodyId::GROUND, bob),
            frame(DVec3::ZERO, DVec3::Y),
        );
        let mut state = State::initial(&scene);
        let mut stepper = Stepper::new(&scene, leapfrog(h)).unwrap();
        let mut seed = 1u32;
        while state.time < 1.0 - 1e-12 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let length = h * [0.25, 0.5, 1.0][(seed >> 16) as usize % 3];
            stepper.settings.h = length.min(1.0 - state.time);
            stepper.step(&scene, &mut state).unwrap();
        }
        state.pose(bob).position
    };
    let fine = go(1.25e-4);
    let errors: Vec<f64> = [8e-3, 4e-3, 2e-3].map(|h| go(h).distance(fine)).to_vec();
    // The order of lengths is another one for each h: the constant of the error varies by some tens
    // of per cent.
    assert!(errors[2] < errors[0] / 9.0 && errors[2] < 1e-4, "{errors:?}");
}

#[test]
fn forces_and_motors_are_reported_over_the_time_they_act() {
    let mut scene = floor("table", 0.5, 0.0);
    let id = cuboid(&mut scene, "box", 2.0, DVec3::splat(0.2), DVec3::Z * 0.1);
    for steps in [1, 2, 10] {
        let end = run(&scene, leapfrog(2e-3), steps);
        let reactions = &end.state.reactions;
        let force: DVec3 = reactions.contacts.iter().map(|c| c.impulse / reactions.h).sum();
        assert!((force.z - 2.0 * G).abs() < 1e-5, "{steps} steps: {force}");
        assert!(end.position(id).distance(DVec3::Z * 0.1) < 1e-8);
    }
    // A torque of 0.5 N m on 1 kg m².
    let mut scene = weightless("motor");
    let id = scene.add_body(Body::rigid("rotor", Mass::new(2.0, DVec3::new(0.6, 0.6, 1.0))));
    let hinge = scene.add_joint(
        "hinge",
        JointKind::Revolute,
        (BodyId::GROUND, id),
        frame(DVec3::ZERO, DVec3::Z),
    );
    scene.add_motor("drive", hinge, Coordinate::Angle, Drive::Effort(Function::Constant(0.5)));
    let end = run(&scene, leapfrog(1e-2), 200);
    assert!(
        (end.spin(id).z - 1.0).abs() < 1e-12
            && (end.state.angles[hinge.index()] - 1.0).abs() < 1e-12
    );
    assert!((end.energy.motors - 0.5).abs() < 1e-2, "{:?}", end.energy);
}

#[test]
fn going_on_from_a_stored_state_equals_going_on() {
    let mut scene = floor("pile", 0.4, 0.3);
    for i in 0..4 {
        ball(
            &mut scene,
            &format!("ball {i}"),
            1.0,
            0.1,
            DVec3::new(0.03 * i as f64, 0.01, 0.3 + 0.25 * i as f64),
        );
    }
    let whole = run(&scene, leapfrog(2e-3), 300);
    let half = run(&scene, leapfrog(2e-3), 150);
    let stored: State = serde_json::from_str(&serde_json::to_string(&half.state).unwrap()).unwrap();
    assert_eq!(go_on(&scene, leapfrog(2e-3), stored, 150).state, whole.state);
    // A state of a version without lag.
    let mut old = serde_json::to_value(State::initial(&scene)).unwrap();
    old.as_object_mut().unwrap().remove("lag");
    old.as_object_mut().unwrap().remove("acceleration");
    assert_eq!(serde_json::from_value::<State>(old).unwrap(), State::initial(&scene));
}
