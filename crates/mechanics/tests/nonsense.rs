//! What must not pass in silence: numbers that are none, motions that a step cannot follow,
//! overlapping starts. Overlaps are resolved without throwing bodies apart.

mod common;

use common::{LEDGER, ball, cuboid, floor};
use glam::DVec3;
use signorini_mechanics::assemble::{Scheme, TimeScheme};
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, StepError, Stepper};
use signorini_solve::math::pose::Pose;

const SCHEMES: [TimeScheme; 2] = [TimeScheme::Euler, TimeScheme::Leapfrog];

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

fn settings(h: f64, time: TimeScheme) -> Settings {
    Settings { scheme: Scheme { time, ..Scheme::default() }, ..Settings::with_time_step(h) }
}

/// What a run from an overlapping start was like.
struct Start {
    /// Greatest speed of any body at the end of any step, m/s.
    fastest: f64,
    /// Root of the mean square speed at the end, m/s.
    rms: f64,
    /// Deepest overlap at the beginning of the last step, m.
    penetration: f64,
    /// Whether the last step was accepted.
    accepted: bool,
    state: State,
}

/// Runs a scene whose bodies overlap; the ledger must close in every step.
fn from_overlap(scene: &Scene, settings: Settings, steps: usize) -> Start {
    let mut stepper = Stepper::new(scene, settings).unwrap();
    let mut state = State::initial(scene);
    let mut start =
        Start { fastest: 0.0, rms: 0.0, penetration: 0.0, accepted: true, state: State::default() };
    for step in 0..steps {
        let verdict = stepper.step(scene, &mut state).unwrap();
        let (residual, throughput) = (verdict.energy.residual(), verdict.energy.throughput);
        assert!(
            residual.abs() <= LEDGER * throughput,
            "{} step {step}: ledger open by {residual:e} of {throughput:e} J",
            scene.name
        );
        let speeds = state.v.chunks(6).map(|v| v[..3].iter().map(|x| x * x).sum::<f64>());
        let (sum, most) = speeds.fold((0.0, 0.0f64), |(sum, most), s| (sum + s, most.max(s)));
        start.fastest = start.fastest.max(most.sqrt());
        start.rms = (6.0 * sum / state.v.len() as f64).sqrt();
        (start.penetration, start.accepted) = (verdict.penetration, verdict.accepted);
    }
    start.state = state;
    start
}

/// A lower box on the floor, an upper one sunk into it: both come apart and rest.
#[test]
fn boxes_that_begin_inside_each_other_part_at_rest() {
    for time in SCHEMES {
        for h in [5e-4, 2e-3, 1e-2] {
            for (share, aside) in [(0.001, 0.0), (0.05, 0.03), (0.3, 0.0)] {
                let mut scene = floor("sunk", 0.5, 0.3);
                cuboid(&mut scene, "lower", 2.0, DVec3::splat(0.2), v(0.0, 0.0, 0.1 - share * 0.1));
                let upper = cuboid(
                    &mut scene,
                    "upper",
                    1.0,
                    DVec3::splat(0.2),
                    v(aside, 0.0, 0.3 - share * 0.3),
                );
                let end = from_overlap(&scene, settings(h, time), (0.4 / h) as usize);
                // Depth of a start overlap is corrected by positions. What velocities keep is 5
                // mm/s, and what the last nanometres of a fall give within a step.
                assert!(
                    end.fastest < 6e-3 + 0.1 * h * 9.81,
                    "{time:?} h = {h} share {share}: {} m/s",
                    end.fastest
                );
                assert!(
                    end.accepted && end.rms < 5e-6,
                    "{time:?} h = {h} share {share}: {} m/s at the end",
                    end.rms
                );
                // Both lie on each other, no higher. (Rest is rest to the 1 um/s of the velocity
                // tolerance, and load sharing yields at twice that.)
                let z = end.state.pose(upper).position.z;
                assert!((z - 0.3).abs() < 2e-5, "{time:?} h = {h} share {share}: z = {z} m");
            }
        }
    }
}

/// Balls that another program packed, with radii 2 % too large: peers leave 10 to 20 mm/s, ours
/// were thrown apart at 2 m/s.
#[test]
fn a_pile_that_overlaps_at_the_start_is_not_thrown_apart() {
    for time in SCHEMES {
        let mut scene = floor("packed", 0.5, 0.0);
        for normal in [DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y] {
            let pose = Pose {
                position: -0.1 * normal,
                orientation: glam::DQuat::from_rotation_arc(DVec3::Z, normal),
            };
            scene.add_collider(BodyId::GROUND, Shape::HalfSpace, pose, SurfaceMaterial::default());
        }
        let radius = 0.02;
        for i in 0..5usize.pow(2) * 3 {
            let (x, y, z) = (i % 5, i / 5 % 5, i / 25);
            let place = |n: usize| (n as f64 - 2.0) * 0.98 * 2.0 * radius;
            ball(
                &mut scene,
                &format!("ball {i}"),
                1.0,
                radius,
                v(place(x), place(y), radius * (0.98 + 1.96 * z as f64)),
            );
        }
        let h = 1e-3;
        let end = from_overlap(&scene, settings(h, time), 40);
        assert!(end.rms < 0.02, "{time:?}: {} m/s at 40 ms", end.rms);
        assert!(end.penetration < 1e-5, "{time:?}: {} m", end.penetration);
    }
}

/// A door that begins inside a post turns out of it on its hinge.
#[test]
fn joints_hold_while_overlaps_are_resolved() {
    for time in SCHEMES {
        let mut scene = Scene::new("door");
        scene.gravity = DVec3::ZERO;
        let door = cuboid(&mut scene, "door", 5.0, v(1.0, 0.04, 2.0), v(0.5, 0.0, 1.0));
        let post = Pose::at(v(0.9, -0.1 - 0.02 + 0.003, 1.0));
        scene.add_collider(
            BodyId::GROUND,
            Shape::Box { half_extents: v(0.1, 0.1, 1.0) },
            post,
            SurfaceMaterial::default(),
        );
        scene.add_joint("hinge", JointKind::Revolute, (BodyId::GROUND, door), Pose::IDENTITY);
        let end = from_overlap(&scene, settings(1e-3, time), 100);
        assert!(end.accepted && end.penetration < 1e-6, "{time:?}: {} m", end.penetration);
        assert!(end.fastest < 6e-3, "{time:?}: {} m/s", end.fastest);
        let pose = end.state.pose(door);
        // The hinge stays at the origin, to the curvature of what it turned by in a step: 1 mm
        // squared over 2 m.
        assert!(
            pose.point(v(-0.5, 0.0, -1.0)).length() < 1e-6,
            "{time:?}: {}",
            pose.point(v(-0.5, 0.0, -1.0))
        );
    }
}

/// What has no way out does not explode, and says so.
#[test]
fn a_body_between_two_walls_that_are_too_narrow_stays_and_says_so() {
    for time in SCHEMES {
        let mut scene = Scene::new("squeezed");
        for (x, sign) in [(-0.09, -1.0), (0.09, 1.0)] {
            let wall = Pose::at(v(x + sign * 0.1, 0.0, 0.0));
            scene.add_collider(
                BodyId::GROUND,
                Shape::Box { half_extents: v(0.1, 1.0, 1.0) },
                wall,
                SurfaceMaterial::default(),
            );
        }
        scene.materials[0].mu = 0.5;
        scene.gravity = DVec3::ZERO;
        let id = cuboid(&mut scene, "box", 1.0, v(0.2, 0.2, 0.2), DVec3::ZERO);
        let end = from_overlap(&scene, settings(1e-3, time), 50);
        assert!(!end.accepted, "{time:?}");
        assert!(end.fastest < 0.02, "{time:?}: {} m/s", end.fastest);
        assert!(
            end.state.pose(id).position.length() < 1e-3,
            "{time:?}: {}",
            end.state.pose(id).position
        );
    }
}

/// An overlap of a few per cent at rest is named until it is gone.
#[test]
fn a_start_overlap_is_named_in_the_verdict() {
    let mut scene = floor("sunk", 0.5, 0.0);
    cuboid(&mut scene, "box", 1.0, DVec3::splat(0.2), v(0.0, 0.0, 0.096));
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-3)).unwrap();
    let mut state = State::initial(&scene);
    let first = stepper.step(&scene, &mut state).unwrap();
    let reasons = first.reasons(&scene).join("; ");
    assert!(
        !first.accepted && reasons.contains("ground and box overlap by 4.000e-3 m, more than 1 %"),
        "{reasons}"
    );
    for _ in 0..10 {
        stepper.step(&scene, &mut state).unwrap();
    }
    assert!(stepper.step(&scene, &mut state).unwrap().accepted);
}

/// One step of a scene with one ball, from a state that `change` spoils.
fn spoiled(change: impl Fn(&mut Scene, &mut State)) -> String {
    let mut scene = floor("spoiled", 0.5, 0.0);
    ball(&mut scene, "good", 1.0, 0.1, v(1.0, 0.0, 0.1));
    ball(&mut scene, "marble", 1.0, 0.1, v(0.0, 0.0, 0.1));
    let mut state = State::initial(&scene);
    change(&mut scene, &mut state);
    let before = state.clone();
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-3)).unwrap();
    let error = stepper.step(&scene, &mut state).expect_err("nonsense was stepped");
    assert!(matches!(error, StepError::Nonsense { .. }), "{error}");
    // NaN differs from itself: compare the bits.
    assert_eq!(state.hash(), before.hash(), "the state is as it was");
    error.to_string()
}

#[test]
fn what_is_no_number_is_named_with_its_body_and_leaves_the_state() {
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        let error = spoiled(|_, state| state.v[7] = bad);
        assert!(error.contains("in the velocity of marble"), "{error}");
        let error = spoiled(|_, state| state.q[2 * 7 + 2] = bad);
        assert!(error.contains("in the position of marble"), "{error}");
    }
    let error = spoiled(|scene, _| scene.gravity = v(0.0, 0.0, -1e150));
    assert!(error.contains("act on good"), "{error}");
    // A function of time that leaves the numbers, on the second ball alone.
    let error = spoiled(|scene, _| {
        let force = [Function::Constant(1e200), Function::Constant(0.0), Function::Constant(0.0)];
        let applied = Applied {
            body: BodyId(2),
            point: DVec3::ZERO,
            force,
            torque: Default::default(),
            frame: Frame::World,
        };
        scene
            .forces
            .push(Force { name: "push".into(), kind: ForceKind::Applied(Box::new(applied)) });
    });
    assert!(error.contains("act on marble"), "{error}");
}

#[test]
fn masses_whose_energies_leave_the_numbers_are_refused() {
    for (mass, radius) in [(1e-300, 0.1), (1e-61, 1.0), (1e-20, 1e-40), (1e300, 0.1), (1e61, 1.0)] {
        let mut scene = Scene::new("mass");
        ball(&mut scene, "speck", mass, radius, DVec3::ZERO);
        let faults = scene.check().expect_err("refused");
        assert!(faults[0].to_string().contains("body `speck`: mass = "), "{}", faults[0]);
    }
    // What is allowed keeps its energies: an error at 1 um/s is a number above zero, and so is its
    // square root.
    for mass in [1e-60f64, 1e60] {
        let energy = 0.5 * mass * 1e-12;
        assert!(energy > f64::MIN_POSITIVE / f64::EPSILON && (energy * energy).is_finite());
    }
}

/// A body that wobbles by more than a radian in a step is named; a wheel or a ball that only spins
/// is not.
#[test]
fn a_spin_that_the_step_cannot_follow_is_named() {
    let mut named = Vec::new();
    for time in SCHEMES {
        for (what, inertia, spin) in [
            ("wobbles", v(1.0, 2.0, 2.5), v(400.0, 1100.0, 30.0)),
            ("resolved", v(1.0, 2.0, 2.5), v(40.0, 110.0, 3.0)),
            ("wheel", v(1.0, 1.0, 2.0), v(0.0, 0.0, 3000.0)),
            ("ball", v(1.0, 1.0, 1.0), v(700.0, 2000.0, 3000.0)),
        ] {
            let mut scene = Scene::new("spin");
            scene.gravity = DVec3::ZERO;
            scene.add_body(Body::rigid("top", Mass::new(1.0, inertia)).moving(DVec3::ZERO, spin));
            let mut stepper = Stepper::new(&scene, settings(1e-3, time)).unwrap();
            let verdict = stepper.step(&scene, &mut State::initial(&scene)).unwrap();
            assert_eq!(verdict.accepted, verdict.unresolved.is_none());
            if let Some(unresolved) = verdict.unresolved {
                assert!(
                    unresolved.reason(&scene).contains("top turns by 1."),
                    "{}",
                    unresolved.reason(&scene)
                );
                assert!(
                    verdict.reasons(&scene).join("").contains("use dt"),
                    "{:?}",
                    verdict.reasons(&scene)
                );
                named.push(what);
            }
        }
    }
    assert_eq!(named, ["wobbles", "wobbles"]);
}
