//! Joints, motors, gears and forces against closed forms. Every step must be accepted, and its
//! energy ledger must close.

mod common;

use common::{euler, run, slider_crank, symmetric_top};
use glam::DVec3;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::Settings;
use signorini_solve::math::pose::Pose;

/// A scene without weight.
fn weightless(name: &str) -> Scene {
    let mut scene = Scene::new(name);
    scene.gravity = DVec3::ZERO;
    scene
}

/// A rotor of inertia 1 kg m² about z on a hinge.
fn rotor(scene: &mut Scene, name: &str, at: DVec3) -> (BodyId, JointId) {
    let id = scene.add_body(Body::rigid(name, Mass::new(2.0, DVec3::new(0.6, 0.6, 1.0))).at(at));
    let hinge = scene.add_joint(
        format!("{name} hinge"),
        JointKind::Revolute,
        (BodyId::GROUND, id),
        frame(at, DVec3::Z),
    );
    (id, hinge)
}

#[test]
fn a_thrown_body_follows_the_discrete_parabola() {
    let mut scene = Scene::new("throw");
    let v = DVec3::new(1.0, 2.0, 3.0);
    let id = scene.add_body(Body::rigid("stone", Mass::sphere(0.7, 0.1)).moving(v, DVec3::X));
    let (h, n) = (1e-2, 100);
    let end = run(&scene, euler(h), n);
    let t = h * n as f64;
    let exact = v * t + 0.5 * scene.gravity * t * (t + h);
    // A hundred additions of numbers of order ten.
    assert!(end.position(id).distance(exact) < 1e-12, "{} {exact}", end.position(id));
}

#[test]
fn a_free_top_keeps_its_momentum_to_rounding_and_its_energy_within_bounds() {
    let mut scene = weightless("top");
    let mass = Mass::new(1.0, DVec3::new(1.0, 2.0, 2.7));
    let spin = DVec3::new(0.1, 2.0, 0.1);
    let id = scene.add_body(Body { spin, ..Body::rigid("top", mass) });
    let momentum = mass.inertia * spin;
    let mut errors = Vec::new();
    for h in [2e-3, 1e-3] {
        // 20 s: several tumbles about the middle axis, which is unstable.
        let mut state = State::initial(&scene);
        let mut stepper = signorini_mechanics::step::Stepper::new(&scene, euler(h)).unwrap();
        let mut worst = 0.0f64;
        for _ in 0..(20.0 / h) as usize {
            let verdict = stepper.step(&scene, &mut state).unwrap();
            worst =
                worst.max((verdict.energy.kinetic / mass.kinetic(DVec3::ZERO, spin) - 1.0).abs());
        }
        let (_, now) = state.twist(stepper.layout(), id);
        // 20 000 steps: each turns a vector of length 4 with rounding 1e-15.
        assert!((state.pose(id).vector(mass.inertia * now) - momentum).length() < 1e-11);
        assert!((now.y - 2.0).abs() > 0.1, "it tumbles");
        errors.push(worst);
    }
    // Bounded by a few h ω = 0.004 (2e-3 s, 2 rad/s), and of first order: half the step, half the
    // error.
    assert!(errors[0] < 0.02 && (errors[0] / errors[1] - 2.0).abs() < 0.2, "{errors:?}");
}

#[test]
fn a_symmetric_top_precesses_at_its_closed_form_rate() {
    let h = 1e-4;
    let (spin, wanted, angle) = symmetric_top(euler(h), 5000);
    // First order: h ω times the angle.
    assert!(spin.distance(wanted) < 0.3 * angle * h * 4.0, "{spin} {wanted}");
}

#[test]
fn a_pendulum_approaches_its_exact_motion_with_the_step() {
    // A01 of the IFToMM benchmark: 1 kg, 1 m, from horizontal; its period is 2.36784194757624 s.
    let mut scene = Scene::new("pendulum");
    let bob = scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.1)).at(DVec3::X));
    scene.add_rod("rod", (BodyId::GROUND, bob), (DVec3::ZERO, DVec3::X));
    let period = 2.36784194757624;
    let mut errors = Vec::new();
    for n in [1000, 2000, 4000] {
        let end = run(&scene, euler(period / n as f64), n);
        assert!(
            (end.position(bob).length() - 1.0).abs() < 30.0 * (period / n as f64).powi(2),
            "the rod holds"
        );
        errors.push(end.position(bob).distance(DVec3::X));
    }
    // First order.
    assert!(
        errors[0] < 0.05 && errors[2] < 0.6 * errors[1] && errors[1] < 0.6 * errors[0],
        "{errors:?}"
    );
}

#[test]
fn projection_holds_the_rod_to_rounding() {
    let mut scene = Scene::new("pendulum");
    let bob = scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.1)).at(DVec3::X));
    scene.add_rod("rod", (BodyId::GROUND, bob), (DVec3::ZERO, DVec3::X));
    let end = run(&scene, Settings { projections: 3, ..Settings::with_time_step(5e-3) }, 400);
    assert!(
        (end.position(bob).length() - 1.0).abs() < 1e-13,
        "{}",
        end.position(bob).length() - 1.0
    );
}

#[test]
fn a_slider_crank_follows_its_closed_form() {
    let (r, l) = (0.1, 0.3);
    let omega = 10.0;
    let (scene, slider) = slider_crank(r, l, Drive::Position(Function::rate(omega)));
    // A planar loop of spatial joints: three rows are redundant, as in any CAD model.
    let (h, n) = (1e-3, 777);
    let end = run(&scene, Settings { projections: 2, ..Settings::with_time_step(h) }, n);
    let angle: f64 = omega * h * n as f64;
    let exact = r * angle.cos() + (l * l - (r * angle.sin()).powi(2)).sqrt();
    let x = end.position(slider);
    // The motor is exact at the ends of a step, the projection holds the joints; the angle itself
    // is corrected by K/h: second order in h.
    assert!((x - DVec3::X * exact).length() < 1e-5, "{x} against {exact}");
    assert!(
        (end.state.angles[0] - angle).abs() < 2e-4,
        "over full turns: {} {angle}",
        end.state.angles[0]
    );
}

#[test]
fn a_door_on_three_hinges_swings_like_one_on_a_single_hinge() {
    let build = |hinges: usize| {
        let mut scene = Scene::new("door");
        // The axis leans, so that the door swings by its weight.
        let axis = DVec3::new(0.2, 0.0, 1.0).normalize();
        let side = DVec3::Y;
        let door = scene.add_body(
            Body::rigid("door", Mass::cuboid(20.0, DVec3::new(0.04, 0.8, 2.0))).at(0.4 * side),
        );
        for i in 0..hinges {
            scene.add_joint(
                format!("hinge {i}"),
                JointKind::Revolute,
                (BodyId::GROUND, door),
                frame(axis * (i as f64 - 1.0) * 0.7, axis),
            );
        }
        (scene, door)
    };
    let (one, door) = build(1);
    let (three, _) = build(3);
    // The coordinates of a tree, which the single hinge is, would differ by the order of the
    // scheme.
    let settings = Settings {
        coordinates: signorini_mechanics::assemble::Coordinates::Bodies,
        ..Settings::with_time_step(1e-3)
    };
    let (a, b) = (run(&one, settings.clone(), 500), run(&three, settings, 500));
    assert!(a.position(door).distance(0.4 * DVec3::Y) > 0.05, "it swings");
    // Redundant rows agree up to their drift of second order: h² ω² r per step, corrected in the
    // next.
    assert!(
        a.position(door).distance(b.position(door)) < 1e-6,
        "{} {}",
        a.position(door),
        b.position(door)
    );
}

#[test]
fn gears_and_racks_keep_their_ratio() {
    let mut scene = weightless("gears");
    let (_, first) = rotor(&mut scene, "first", DVec3::ZERO);
    let (second, second_hinge) = rotor(&mut scene, "second", DVec3::X);
    scene.add_gear_pair("pair", first, second_hinge, -3.0);
    let carriage = scene.add_body(Body::rigid("carriage", Mass::sphere(1.0, 0.1)).at(DVec3::Y));
    let guide = scene.add_joint(
        "guide",
        JointKind::Prismatic,
        (BodyId::GROUND, carriage),
        frame(DVec3::Y, DVec3::X),
    );
    scene.add_rack("rack", first, guide, 0.05);
    scene.add_motor("drive", first, Coordinate::Angle, Drive::Speed(Function::Constant(2.0)));
    let end = run(&scene, Settings::with_time_step(1e-2), 1000);
    // 20 rad: more than three turns.
    assert!(
        (end.state.angles[first.index()] - 20.0).abs() < 1e-9,
        "{}",
        end.state.angles[first.index()]
    );
    assert!((end.state.angles[second_hinge.index()] + 60.0).abs() < 1e-9);
    assert!((end.spin(second).z + 6.0).abs() < 1e-9);
    assert!((end.position(carriage).x - 1.0).abs() < 1e-9, "{}", end.position(carriage));
}

#[test]
fn limits_stop_and_dry_friction_brakes() {
    let mut scene = weightless("limit");
    let (id, hinge) = rotor(&mut scene, "rotor", DVec3::ZERO);
    scene.bodies[id.index()].spin = DVec3::Z * 2.0;
    scene.add_limit(hinge, Coordinate::Angle, -1.0, 0.5);
    let end = run(&scene, Settings::with_time_step(1e-2), 100);
    assert!((end.state.angles[hinge.index()] - 0.5).abs() < 1e-9 && end.spin(id).length() < 1e-9);
    assert!((end.energy.impact - 2.0).abs() < 1e-9, "½·1·2² J: {:?}", end.energy);
    let mut scene = weightless("brake");
    let (id, hinge) = rotor(&mut scene, "rotor", DVec3::ZERO);
    scene.bodies[id.index()].spin = DVec3::Z * 2.0;
    scene.add_dry_friction(hinge, Coordinate::Angle, 1.0);
    let (half, end) = (
        run(&scene, Settings::with_time_step(1e-2), 100),
        run(&scene, Settings::with_time_step(1e-2), 300),
    );
    assert!((half.spin(id).z - 1.0).abs() < 1e-9 && end.spin(id).length() < 1e-9);
    // Mean of old and new velocity: the work of friction is exact.
    assert!((end.energy.friction - 2.0).abs() < 1e-9, "{:?}", end.energy);
}

#[test]
fn motors_do_what_they_are_told() {
    let (h, n) = (1e-2, 200);
    let one = |drive: Drive| {
        let mut scene = weightless("motor");
        let (id, hinge) = rotor(&mut scene, "rotor", DVec3::ZERO);
        scene.add_motor("drive", hinge, Coordinate::Angle, drive);
        let end = run(&scene, euler(h), n);
        (end.spin(id).z, end.state.angles[hinge.index()], end.energy)
    };
    let t = h * n as f64;
    // A torque of 0.5 N m on 1 kg m²: the discrete parabola.
    let (speed, angle, energy) = one(Drive::Effort(Function::Constant(0.5)));
    assert!((speed - 0.5 * t).abs() < 1e-12 && (angle - 0.25 * t * (t + h)).abs() < 1e-12);
    assert!((energy.motors - 0.5 * speed * speed).abs() < 1e-12, "{energy:?}");
    // A weak motor accelerates at its limit, then holds its speed.
    let (speed, _, energy) =
        one(Drive::LimitedSpeed { speed: Function::Constant(0.6), effort: 0.5 });
    assert!((speed - 0.6).abs() < 1e-9 && (energy.motors - 0.18).abs() < 1e-9);
    let (speed, ..) = one(Drive::LimitedSpeed { speed: Function::Constant(9.0), effort: 0.5 });
    assert!((speed - 0.5 * t).abs() < 1e-9);
    // An imposed position is exact at the end of every step.
    let smooth = Function::SmoothStep { from: 0.0, to: 1.5, start: 0.2, duration: 1.0 };
    let (speed, angle, _) = one(Drive::Position(smooth));
    assert!((angle - 1.5).abs() < 1e-9 && speed.abs() < 1e-9);
    let sine = Function::sine(0.4, 0.7);
    let (_, angle, _) = one(Drive::Position(sine.clone()));
    assert!((angle - sine.value(t)).abs() < 1e-9);
}

#[test]
fn springs_follow_the_implicit_recursion_however_stiff() {
    for (k, c) in [(40.0, 0.3), (1e9, 0.0), (1e12, 1e3)] {
        let mut scene = weightless("oscillator");
        let (m, h, n) = (2.0, 1e-2, 100);
        let id = scene.add_body(Body::rigid("mass", Mass::sphere(m, 0.1)).at(DVec3::X * 1.1));
        let spring = Spring {
            a: BodyId::GROUND,
            b: id,
            point_a: DVec3::ZERO,
            point_b: DVec3::ZERO,
            length: 1.0,
            stiffness: k,
            damping: c,
        };
        scene.add_force("spring", ForceKind::Spring(spring));
        let end = run(&scene, euler(h), n);
        let (mut x, mut v) = (0.1, 0.0);
        for _ in 0..n {
            v = (v - h * k * x / m) / (1.0 + h * h * k / m + h * c / m);
            x += h * v;
        }
        assert!(
            (end.position(id).x - 1.0 - x).abs() < 1e-12,
            "k = {k}: {} {x}",
            end.position(id).x - 1.0
        );
        assert!((end.velocity(id).x - v).abs() < 1e-10);
    }
}

#[test]
fn a_torsion_spring_and_a_bushing_deflect_by_their_compliance() {
    let mut scene = weightless("torsion");
    let (id, _) = rotor(&mut scene, "rotor", DVec3::ZERO);
    let base = Torsion {
        a: BodyId::GROUND,
        b: id,
        frame_a: Pose::IDENTITY,
        frame_b: Pose::IDENTITY,
        angle: 0.1,
        stiffness: 50.0,
        damping: 20.0,
    };
    scene.add_force("spring", ForceKind::Torsion(base));
    let torque = [Function::default(), Function::default(), Function::Constant(10.0)];
    scene.add_force(
        "load",
        ForceKind::Applied(Box::new(Applied {
            body: id,
            point: DVec3::ZERO,
            force: Default::default(),
            torque,
            frame: Frame::World,
        })),
    );
    let end = run(&scene, Settings::with_time_step(1e-2), 2000);
    assert!((end.state.angles[0] - 0.3).abs() < 1e-9, "{}", end.state.angles[0]);
    let mut scene = weightless("bushing");
    let id = scene.add_body(Body::rigid("engine", Mass::cuboid(5.0, DVec3::splat(0.3))));
    let diagonal = |values: [f64; 6]| {
        let mut m = [[0.0; 6]; 6];
        (0..6).for_each(|i| m[i][i] = values[i]);
        m
    };
    let (mut stiffness, damping) = (
        diagonal([1e4, 2e4, 4e4, 50.0, 60.0, 70.0]),
        diagonal([300.0, 300.0, 300.0, 5.0, 5.0, 5.0]),
    );
    (stiffness[0][1], stiffness[1][0]) = (5e3, 5e3);
    scene.add_force(
        "bushing",
        ForceKind::Bushing(Box::new(Bushing {
            a: BodyId::GROUND,
            b: id,
            frame_a: Pose::IDENTITY,
            frame_b: Pose::IDENTITY,
            stiffness,
            damping,
        })),
    );
    let force = [Function::Constant(10.0), Function::default(), Function::Constant(8.0)];
    scene.add_force(
        "load",
        ForceKind::Applied(Box::new(Applied {
            body: id,
            point: DVec3::ZERO,
            force,
            torque: Default::default(),
            frame: Frame::World,
        })),
    );
    let end = run(&scene, Settings::with_time_step(1e-2), 3000);
    // K x = f for the coupled pair: x = 10·2e4/det, y = −10·5e3/det.
    let det = 1e4 * 2e4 - 5e3 * 5e3;
    let wanted = DVec3::new(10.0 * 2e4 / det, -10.0 * 5e3 / det, 8.0 / 4e4);
    assert!(end.position(id).distance(wanted) < 1e-9, "{} {wanted}", end.position(id));
}

#[test]
fn drag_follows_its_implicit_recursion() {
    let mut scene = weightless("drag");
    let (m, h, v) = (2.0, 1e-2, 5.0);
    let id = scene
        .add_body(Body::rigid("sphere", Mass::sphere(m, 0.1)).moving(DVec3::X * v, DVec3::ZERO));
    scene.add_force(
        "air",
        ForceKind::Drag(Drag { body: id, linear: 0.3, quadratic: 0.1, angular: 0.0 }),
    );
    let end = run(&scene, euler(h), 100);
    let mut exact = v;
    for _ in 0..100 {
        exact /= 1.0 + h * (0.3 + 0.1 * exact) / m;
    }
    assert!((end.velocity(id).x - exact).abs() < 1e-12);
    assert!(end.energy.dampers > 0.0);
}

#[test]
fn every_joint_holds_what_it_says() {
    let kinds = [
        JointKind::Spherical,
        JointKind::Revolute,
        JointKind::Prismatic,
        JointKind::Cylindrical,
        JointKind::Universal,
        JointKind::Fixed,
        JointKind::Planar,
        JointKind::PointOnLine,
        JointKind::PointOnPlane,
    ];
    for kind in kinds {
        let mut scene = Scene::new(format!("{kind:?}"));
        let at = frame(DVec3::new(0.2, 0.1, 0.0), DVec3::new(1.0, 0.5, 1.0));
        let body = Body::rigid("body", Mass::cuboid(2.0, DVec3::new(0.1, 0.2, 0.4)))
            .at(DVec3::new(0.3, 0.2, -0.1));
        let other = scene.add_body(
            Body::rigid("other", Mass::cuboid(3.0, DVec3::new(0.3, 0.1, 0.2)))
                .moving(DVec3::X, DVec3::new(1.0, 2.0, -1.0)),
        );
        let id = scene.add_body(body);
        let joint = scene.add_joint("joint", kind, (other, id), at);
        let h = 1e-3;
        let end = run(&scene, Settings { projections: 2, ..Settings::with_time_step(h) }, 300);
        let (a, b) = (
            end.state.pose(other) * scene.joints[joint.index()].frame_a,
            end.state.pose(id) * scene.joints[joint.index()].frame_b,
        );
        let relative = a.relative(&b);
        let (p, turn) =
            (relative.position, signorini_solve::math::pose::logarithm(relative.orientation));
        let held: &[f64] = match kind {
            JointKind::Spherical => &[p.x, p.y, p.z],
            JointKind::Revolute => &[p.x, p.y, p.z, turn.x, turn.y],
            JointKind::Prismatic => &[p.x, p.y, turn.x, turn.y, turn.z],
            JointKind::Cylindrical => &[p.x, p.y, turn.x, turn.y],
            JointKind::Universal => &[p.x, p.y, p.z, (relative.orientation * DVec3::Y).x],
            JointKind::Fixed => &[p.x, p.y, p.z, turn.x, turn.y, turn.z],
            JointKind::Planar => &[p.z, turn.x, turn.y],
            JointKind::PointOnLine => &[p.x, p.y],
            _ => &[p.z],
        };
        // Projection squares the gap twice: 1e-5 → 1e-10 → rounding.
        assert!(held.iter().all(|x| x.abs() < 1e-12), "{kind:?}: {held:?}");
        // What it does not hold moves: gravity alone leaves the relative motion of the start.
        let moved = p.length() + turn.length();
        assert_eq!(moved > 1e-3, kind != JointKind::Fixed, "{kind:?}: {moved}");
    }
}
