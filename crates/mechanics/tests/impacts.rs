//! Impacts within a step, at once or one after the other: energy is never gained, and for e = 1
//! never lost.

mod common;

use common::{LEDGER, ball, cuboid, floor};
use glam::DVec3;
use signorini_mechanics::assemble::{Impacts, Scheme, TimeScheme};
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::math::pose::Pose;

const SCHEMES: [TimeScheme; 2] = [TimeScheme::Euler, TimeScheme::Leapfrog];
const BOTH: [Impacts; 2] = [Impacts::Simultaneous, Impacts::Sequence];

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

fn settings(h: f64, time: TimeScheme, impacts: Impacts) -> Settings {
    Settings {
        scheme: Scheme { time, impacts, ..Scheme::default() },
        ..Settings::with_time_step(h)
    }
}

/// Balls of radius 10 mm in a row, `gap` apart, without gravity; the first comes at 1 m/s.
fn row(masses: &[f64], gap: f64, e: f64) -> Scene {
    let mut scene = Scene::new("row");
    scene.gravity = DVec3::ZERO;
    (scene.materials[0].mu, scene.materials[0].restitution) = (0.0, e);
    for (i, &mass) in masses.iter().enumerate() {
        let id = ball(
            &mut scene,
            &format!("ball {i}"),
            mass,
            0.01,
            v(i as f64 * (0.02 + gap), 0.0, 0.0),
        );
        if i == 0 {
            scene.bodies[id.index()].velocity = DVec3::X;
        }
    }
    scene
}

/// Velocities along x after `steps` steps; every step accepted, its ledger closed, energy not
/// gained in any.
fn after(scene: &Scene, settings: Settings, steps: usize) -> Vec<f64> {
    let impacts = settings.scheme.impacts;
    let mut stepper = Stepper::new(scene, settings).unwrap();
    let mut state = State::initial(scene);
    for step in 0..steps {
        let verdict = stepper.step(scene, &mut state).unwrap();
        assert!(verdict.accepted, "{} step {step}: {:?}", scene.name, verdict.reasons(scene));
        let energy = verdict.energy;
        assert!(
            energy.residual().abs() <= LEDGER * energy.throughput,
            "step {step}: ledger open: {energy:?}"
        );
        assert!(
            energy.impact >= -exactness(impacts) * energy.kinetic_before,
            "step {step}: impacts give {energy:?}"
        );
    }
    state.v.chunks(6).map(|v| v[0]).collect()
}

/// How exactly energies come out: impacts in sequence have closed forms, simultaneous ones the
/// tolerance of the solver.
fn exactness(impacts: Impacts) -> f64 {
    if impacts == Impacts::Sequence { 1e-12 } else { 1e-8 }
}

fn kinetic(masses: &[f64], v: &[f64]) -> f64 {
    masses.iter().zip(v).map(|(m, v)| 0.5 * m * v * v).sum()
}

/// Five balls 0.3 mm apart: the blow goes through all gaps within one step of 2 ms, and 33 % of the
/// energy were lost there.
#[test]
fn five_balls_a_hair_apart_keep_their_energy() {
    let masses = [1.0; 5];
    for (time, impacts) in SCHEMES.into_iter().flat_map(|t| BOTH.map(|i| (t, i))) {
        for h in [2e-4, 1e-3, 2e-3, 5e-3] {
            let v =
                after(&row(&masses, 3e-4, 1.0), settings(h, time, impacts), (0.02 / h) as usize);
            // One after the other even where impacts act at once: only contacts that touch do.
            for (i, v) in v.iter().enumerate() {
                assert!(
                    (v - f64::from(u8::from(i == 4))).abs() < 1e-6,
                    "{time:?} {impacts:?} h = {h}: {v} of ball {i}"
                );
            }
            assert!((kinetic(&masses, &v) - 0.5).abs() < 1e-9, "{time:?} {impacts:?} h = {h}");
        }
    }
}

/// Touching balls: at once as one chain (Moreau: −1/3, 2/3, 2/3), in sequence the last one leaves.
#[test]
fn touching_balls_answer_at_once_or_hand_the_blow_through() {
    for time in SCHEMES {
        let run = |impacts| after(&row(&[1.0; 3], 0.0, 1.0), settings(1e-3, time, impacts), 5);
        for (found, wanted) in
            run(Impacts::Simultaneous).iter().zip([-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0])
        {
            assert!((found - wanted).abs() < 1e-6, "{time:?}: {found} {wanted}");
        }
        for (found, wanted) in run(Impacts::Sequence).iter().zip([0.0, 0.0, 1.0]) {
            assert!((found - wanted).abs() < 1e-12, "{time:?}: {found} {wanted}");
        }
    }
}

/// Five balls on rods, touching: one in, one out; two in, two out.
#[test]
fn a_cradle_hands_the_blow_through() {
    for (time, raised) in SCHEMES.into_iter().flat_map(|t| [1, 2].map(|n| (t, n))) {
        let mut scene = Scene::new("cradle");
        (scene.materials[0].mu, scene.materials[0].restitution) = (0.0, 1.0);
        let length = 0.5;
        let mut balls = Vec::new();
        for i in 0..5 {
            let (top, angle) =
                (v(i as f64 * 0.04, 0.0, 0.0), if i < raised { -0.3f64 } else { 0.0 });
            let at = top + v(angle.sin(), 0.0, -angle.cos()) * length;
            let id = ball(&mut scene, &format!("ball {i}"), 1.0, 0.02, at);
            scene.bodies[id.index()].pose = Pose::turned(at, -DVec3::Y * angle);
            let hinge = Pose {
                position: top,
                orientation: glam::DQuat::from_rotation_arc(DVec3::Z, DVec3::Y),
            };
            scene.add_joint(format!("rod {i}"), JointKind::Revolute, (BodyId::GROUND, id), hinge);
            balls.push(id);
        }
        let h = 1e-3;
        let mut stepper = Stepper::new(&scene, settings(h, time, Impacts::Sequence)).unwrap();
        let mut state = State::initial(&scene);
        // A quarter of a swing and the same again: T = 2 pi sqrt(l/g (1 + 2 r²/5 l²)) = 1.42 s.
        let mut highest = [f64::MIN; 5];
        for step in 0..740 {
            let verdict = stepper.step(&scene, &mut state).unwrap();
            assert!(verdict.accepted, "{time:?} step {step}: {:?}", verdict.reasons(&scene));
            assert!(
                verdict.energy.residual().abs() <= LEDGER * verdict.energy.throughput,
                "{time:?} step {step}"
            );
            for (i, id) in balls.iter().enumerate() {
                let x = state.pose(*id).position.x - i as f64 * 0.04;
                highest[i] = highest[i].max(if step > 400 { x } else { f64::MIN });
            }
        }
        let swing = length * 0.3f64.sin();
        for (i, x) in highest.iter().enumerate() {
            let wanted = if i >= 5 - raised { swing } else { 0.0 };
            // The time of impact is within a step: 1 m/s times 1 ms, and Euler's own loss over half
            // a swing.
            let within = if time == TimeScheme::Euler { 0.03 } else { 0.003 };
            assert!(
                (x - wanted).abs() < within,
                "{time:?} raised {raised}: ball {i} swings to {x}, wanted {wanted}"
            );
        }
    }
}

/// A box thrown at the floor with spin and friction: Newton's law alone may give energy to such an
/// impact.
#[test]
fn friction_in_an_impact_does_not_give_energy() {
    for time in SCHEMES {
        for e in [0.5, 0.9, 1.0] {
            for k in 0..24 {
                let mut scene = floor("thrown", 0.4 + 0.1 * f64::from(k % 5), e);
                scene.gravity = DVec3::ZERO;
                let tilt = v(0.7 * f64::from(k), 0.3 * f64::from(k * k), 0.2);
                let id = cuboid(&mut scene, "rod", 1.0, v(0.02, 0.02, 0.4), v(0.0, 0.0, 0.25));
                let body = &mut scene.bodies[id.index()];
                body.pose = Pose::turned(v(0.0, 0.0, 0.25), tilt);
                (body.velocity, body.spin) = (
                    v(2.0 * f64::from(k % 3) - 2.0, 0.5, -3.0),
                    v(f64::from(k % 7) - 3.0, 4.0, 1.0),
                );
                let mut stepper =
                    Stepper::new(&scene, settings(1e-3, time, Impacts::Sequence)).unwrap();
                let mut state = State::initial(&scene);
                for step in 0..150 {
                    let energy = stepper.step(&scene, &mut state).unwrap().energy;
                    let taken = energy.impact + energy.friction;
                    assert!(
                        taken >= -1e-12 * energy.kinetic_before,
                        "{time:?} e = {e} throw {k} step {step}: {taken} J given"
                    );
                    assert!(energy.residual().abs() <= LEDGER * energy.throughput);
                }
            }
        }
    }
}

/// Rows of balls of any masses and gaps, touching or not, with fixed pseudo-random numbers.
#[test]
fn rows_of_balls_keep_energy_and_momentum() {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for case in 0..200usize {
        let masses: Vec<f64> =
            (0..2 + case % 5).map(|_| 10f64.powf(4.0 * random() - 2.0)).collect();
        let gap = [0.0, 1e-9, 2e-3 * random()][case / 5 % 3];
        let e = [1.0, 0.5, 0.1][case / 15 % 3];
        let h = [5e-4, 2e-3, 1e-2][(3.0 * random()) as usize];
        let (time, impacts) = (SCHEMES[(2.0 * random()) as usize], BOTH[(2.0 * random()) as usize]);
        let what = format!("case {case}: {masses:?} gap {gap} e {e} h {h} {time:?} {impacts:?}");
        let v = after(&row(&masses, gap, e), settings(h, time, impacts), 40);
        let (before, now) = (0.5 * masses[0], kinetic(&masses, &v));
        assert!(now <= before * (1.0 + 40.0 * exactness(impacts)), "{what} gained: {before} {now}");
        let momentum: f64 = masses.iter().zip(&v).map(|(m, v)| m * v).sum();
        assert!(
            (momentum - masses[0]).abs() < 1e-9 * masses[0].max(1.0),
            "{what}: {momentum} {}",
            masses[0]
        );
        if e == 1.0 {
            // What closes slower than the restitution threshold of 10 mm/s does not rebound.
            let slow: f64 = masses.iter().map(|m| 0.5 * m * 1e-4).sum();
            assert!(
                before - now <= 5.0 * slow + 40.0 * exactness(impacts) * before,
                "{what} lost: {before} {now}"
            );
        }
    }
}

/// Balls between walls with many impacts in a step, some of them caused by others: of frictionless
/// elastic ones no energy is lost, in either way of answering.
#[test]
fn elastic_balls_in_a_box_keep_their_energy() {
    for (time, impacts) in SCHEMES.into_iter().flat_map(|t| BOTH.map(|i| (t, i))) {
        let mut scene = Scene::new("gas");
        scene.gravity = DVec3::ZERO;
        (scene.materials[0].mu, scene.materials[0].restitution) = (0.0, 1.0);
        for k in 0..6 {
            let across =
                [DVec3::X, DVec3::Y, DVec3::Z][k / 2] * if k % 2 == 0 { 1.0 } else { -1.0 };
            let turn = glam::DQuat::from_rotation_arc(DVec3::Z, across);
            scene.add_collider(
                BodyId::GROUND,
                Shape::HalfSpace,
                Pose::new(-0.19 * across, turn),
                SurfaceMaterial::default(),
            );
        }
        let mut energy = 0.0;
        for i in 0..27 {
            let at = |k: i32| 0.12 * f64::from(i / 3i32.pow(k as u32) % 3 - 1);
            let s = f64::from(i);
            let shift = v((1.7 * s).sin(), (2.9 * s).sin(), (4.3 * s).sin()) * 0.008;
            let place = v(at(0), at(1), at(2)) + shift;
            let id = ball(&mut scene, &format!("ball {i}"), 1.0, 0.05, place);
            let velocity = v((3.1 * s).cos(), (5.3 * s).cos(), (7.7 * s).cos());
            scene.bodies[id.index()].velocity = velocity;
            energy += 0.5 * velocity.length_squared();
        }
        let mut stepper = Stepper::new(&scene, settings(0.01, time, impacts)).unwrap();
        let mut state = State::initial(&scene);
        for step in 0..100 {
            let verdict = stepper.step(&scene, &mut state).unwrap();
            assert!(verdict.accepted, "step {step}: {:?}", verdict.reasons(&scene));
            let now = verdict.energy.kinetic;
            // Impacts slower than the restitution threshold, 1 cm/s, do not rebound: 5e-5 J each
            // at most, of some 13 J; the tolerance of the solver is far less.
            assert!(
                (now / energy - 1.0).abs() < 1e-4,
                "{time:?} {impacts:?} step {step}: {energy} J to {now} J"
            );
            energy = now;
        }
    }
}
