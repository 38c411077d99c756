//! Servo motors and rotors against closed forms. Every step must be accepted, and its energy ledger
//! must close.

mod common;

use common::{exact, run};
use glam::DVec3;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::Settings;
use signorini_solve::math::pose::Pose;

/// A mass on a slide along z, without weight.
fn slider(scene: &mut Scene, name: &str, mass: f64, at: DVec3) -> (BodyId, JointId) {
    let id = scene.add_body(Body::rigid(name, Mass::sphere(mass, 0.1)).at(at));
    let slide = scene.add_joint(
        format!("{name} slide"),
        JointKind::Prismatic,
        (BodyId::GROUND, id),
        frame(at, DVec3::Z),
    );
    (id, slide)
}

fn servo(target: f64, stiffness: f64, damping: f64, effort: f64) -> Drive {
    Drive::Servo { target: target.into(), stiffness, damping, effort }
}

fn weightless(name: &str) -> Scene {
    let mut scene = Scene::new(name);
    scene.gravity = DVec3::ZERO;
    scene
}

#[test]
fn a_servo_sags_by_the_load_over_its_stiffness() {
    let mut scene = Scene::new("arm");
    // 3 kg, half a metre from the hinge; the servo wants it level.
    let arm = scene.add_body(
        Body::rigid("arm", Mass::new(3.0, DVec3::splat(0.05))).at(DVec3::new(0.5, 0.0, 0.0)),
    );
    let hinge = scene.add_joint(
        "hinge",
        JointKind::Revolute,
        (BodyId::GROUND, arm),
        frame(DVec3::ZERO, DVec3::NEG_Y),
    );
    scene.add_motor("servo", hinge, Coordinate::Angle, servo(0.0, 200.0, 60.0, f64::INFINITY));
    let end = run(&scene, exact(2e-3), 4000);
    let place = end.position(arm);
    let angle = place.z.atan2(place.x);
    // Rest: k θ = −m g l cos θ. The slowest mode dies out with k/c = 3.4/s: e⁻²⁷ of 0.07 rad is
    // left.
    let torque = 200.0 * angle + 3.0 * 9.81 * 0.5 * angle.cos();
    assert!(torque.abs() < 1e-8 * 14.7, "{torque}");
}

#[test]
fn the_step_response_of_a_servo_converges_to_that_of_a_damped_oscillator() {
    let (m, k, c, target): (f64, f64, f64, f64) = (2.0, 50.0, 4.0, 0.3);
    let (decay, wave) = (c / (2.0 * m), (k / m - (c / (2.0 * m)) * (c / (2.0 * m))).sqrt());
    let mut errors = Vec::new();
    for h in [2e-3, 1e-3] {
        let mut scene = weightless("step");
        let (body, slide) = slider(&mut scene, "cart", m, DVec3::ZERO);
        scene.add_motor("servo", slide, Coordinate::Slide, servo(target, k, c, f64::INFINITY));
        let n = f64::round(0.5 / h) as usize;
        let end = run(&scene, Settings::with_time_step(h), n);
        let t: f64 = h * n as f64;
        let exact = target
            * (1.0 - (-decay * t).exp() * ((wave * t).cos() + decay / wave * (wave * t).sin()));
        errors.push((end.position(body).z - exact).abs());
    }
    // At least first order, and small: h·wave of the amplitude.
    assert!(errors[0] < 2e-3 * wave * target && errors[0] > 1.8 * errors[1], "{errors:?}");
}

#[test]
fn a_servo_gives_no_more_than_its_greatest_force_and_then_holds() {
    let mut scene = weightless("limited");
    let (body, slide) = slider(&mut scene, "cart", 2.0, DVec3::ZERO);
    scene.add_motor("servo", slide, Coordinate::Slide, servo(1.0, 1e6, 1e6, 3.0));
    let (h, n) = (1e-3, 300);
    let end = run(&scene, Settings::with_time_step(h), n);
    let (t, a) = (h * n as f64, 1.5);
    // Far from the target the force is 3 N; positions are between those of both Euler schemes, ½ a
    // t² ± ½ a t h.
    assert!(
        (end.position(body).z - 0.5 * a * t * t).abs() < 0.51 * a * t * h,
        "{}",
        end.position(body).z
    );
    // Then it creeps in with k/c = 1/s, however stiff it is: the scheme is implicit. e⁻¹⁸ of a
    // metre is left after 20 s.
    let end = run(&scene, exact(1e-2), 2000);
    assert!((end.position(body).z - 1.0).abs() < 1e-7, "{}", end.position(body).z);
}

#[test]
fn a_servo_of_any_gain_is_stable() {
    for (k, c) in [(1e12, 0.0), (1e-9, 0.0), (0.0, 1e9), (1e12, 1e12)] {
        let mut scene = weightless("stiff");
        let (body, slide) = slider(&mut scene, "cart", 2.0, DVec3::ZERO);
        scene.add_motor("servo", slide, Coordinate::Slide, servo(0.1, k, c, f64::INFINITY));
        let end = run(&scene, Settings::with_time_step(1e-2), 100);
        let z = end.position(body).z;
        assert!((-1e-12..=0.2).contains(&z), "k = {k}, c = {c}: {z}");
    }
}

#[test]
fn a_speed_servo_approaches_its_speed_with_mass_over_damping() {
    let mut errors = Vec::new();
    for h in [2e-3, 1e-3] {
        let mut scene = weightless("speed");
        let (body, slide) = slider(&mut scene, "cart", 2.0, DVec3::ZERO);
        let drive = Drive::SpeedServo { speed: 1.5.into(), damping: 4.0, effort: f64::INFINITY };
        scene.add_motor("servo", slide, Coordinate::Slide, drive);
        let n = f64::round(1.0 / h) as usize;
        let end = run(&scene, Settings::with_time_step(h), n);
        // v = 1.5 (1 − e^(−2t)): distance after 1 s.
        let exact = 1.5 * (1.0 - (1.0 - (-2.0f64).exp()) / 2.0);
        errors.push((end.position(body).z - exact).abs());
    }
    assert!(errors[0] < 3e-3 && errors[0] > 1.8 * errors[1], "{errors:?}");
}

#[test]
fn a_servo_on_two_joints_pulls_their_sum_as_a_tendon_does() {
    let mut scene = weightless("tendon");
    let (first, one) = slider(&mut scene, "one", 1.0, DVec3::ZERO);
    let (second, two) = slider(&mut scene, "two", 4.0, DVec3::X);
    let id =
        scene.add_motor("tendon", one, Coordinate::Slide, servo(0.5, 80.0, 20.0, f64::INFINITY));
    scene.motors[id.index()].also =
        vec![GearTerm { joint: two, coordinate: Coordinate::Slide, factor: 2.0 }];
    let end = run(&scene, Settings::with_time_step(2e-3), 4000);
    let (x, y) = (end.position(first).z, end.position(second).z);
    // The sum arrives; impulses are 1 : 2 on masses 1 : 4, so the ways are 2 : 1.
    assert!((x + 2.0 * y - 0.5).abs() < 1e-8 && (x - 2.0 * y).abs() < 1e-10, "{x} {y}");
}

#[test]
fn a_rotor_adds_its_inertia_to_that_of_its_joint() {
    let mut scene = weightless("rotor");
    let wheel = scene.add_body(Body::rigid("wheel", Mass::new(2.0, DVec3::new(0.6, 0.6, 1.0))));
    let hinge = scene.add_joint(
        "hinge",
        JointKind::Revolute,
        (BodyId::GROUND, wheel),
        frame(DVec3::ZERO, DVec3::Z),
    );
    scene.add_armature(hinge, Coordinate::Angle, 3.0);
    scene.add_motor("torque", hinge, Coordinate::Angle, Drive::Effort(2.0.into()));
    let end = run(&scene, Settings::with_time_step(1e-2), 100);
    // 2 N m on 1 + 3 kg m² for 1 s; a hundred additions.
    assert!((end.spin(wheel).z - 0.5).abs() < 1e-13, "{}", end.spin(wheel).z);
}

#[test]
fn rotors_of_a_flying_arm_keep_momentum_and_close_the_ledger() {
    // Two links in free flight, tumbling, with a heavy rotor between them: internal forces only.
    let mut scene = weightless("arm");
    let mass = |m: f64| Mass::new(m, DVec3::new(0.03, 0.02, 0.025) * m);
    let a =
        scene.add_body(Body::rigid("a", mass(1.0)).moving(DVec3::ZERO, DVec3::new(1.0, 0.4, -2.0)));
    let b = scene.add_body(
        Body::rigid("b", mass(1.5))
            .at(DVec3::X)
            .moving(DVec3::new(0.0, -2.0, -0.4), DVec3::new(1.0, 0.4, -2.0)),
    );
    let at = Pose { position: 0.5 * DVec3::X, ..frame(DVec3::ZERO, DVec3::new(0.3, 1.0, 0.2)) };
    let hinge = scene.add_joint("hinge", JointKind::Revolute, (a, b), at);
    scene.add_armature(hinge, Coordinate::Angle, 0.2);
    let before = 1.5 * DVec3::new(0.0, -2.0, -0.4);
    let end = run(&scene, Settings::with_time_step(1e-3), 500);
    let after = end.velocity(a) + 1.5 * end.velocity(b);
    assert!(after.distance(before) < 1e-11, "{after} {before}");
}
