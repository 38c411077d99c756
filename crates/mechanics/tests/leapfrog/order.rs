//! Orders 4 and 6: the scheme extrapolated where the motion is smooth.

use super::*;
use signorini_mechanics::assemble::Coordinates;

/// Steps of this order and length, solved to rounding.
fn higher(order: u32, h: f64) -> Settings {
    Settings { order, ..leapfrog(h) }
}

/// A double pendulum of ball joints in space, swinging and spinning.
fn swinging() -> (Scene, BodyId) {
    let mut scene = Scene::new("swinging");
    let mass = Mass::new(1.0, DVec3::new(0.02, 0.03, 0.045));
    let elbow = DVec3::new(0.6, 0.0, 0.0);
    let (a, b) = (
        scene.add_body(Body::rigid("a", mass).at(DVec3::X * 0.3)),
        scene.add_body(Body::rigid("b", mass).at(DVec3::new(0.6, 0.2, 0.1))),
    );
    let spin = DVec3::new(1.0, 2.0, -1.0);
    scene.bodies[a.index()].spin = spin;
    scene.bodies[a.index()].velocity = spin.cross(DVec3::X * 0.3);
    scene.bodies[b.index()].velocity = spin.cross(elbow);
    let socket = |at: DVec3| frame(at, DVec3::Z);
    scene.add_joint("one", JointKind::Spherical, (BodyId::GROUND, a), socket(DVec3::ZERO));
    scene.add_joint("two", JointKind::Spherical, (a, b), socket(elbow));
    (scene, b)
}

/// Position and spin at 0.4 s, and the problems solved.
fn swing_in_space(coordinates: Coordinates, order: u32, h: f64) -> (DVec3, DVec3, u32) {
    let (scene, bob) = swinging();
    let settings = Settings { coordinates, ..higher(order, h) };
    let mut stepper = Stepper::new(&scene, settings).unwrap();
    let (mut state, mut solves) = (State::initial(&scene), 0);
    for _ in 0..(0.4 / h).round() as usize {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.accepted && (order == 2 || verdict.scheme.is_some_and(|e| !e.event)));
        assert!(verdict.energy.residual().abs() <= 1e-12 * verdict.energy.throughput);
        solves += verdict.solves;
    }
    (state.pose(bob).position, state.twist(stepper.layout(), bob).1, solves)
}

#[test]
fn the_order_asked_for_is_the_order_observed() {
    for coordinates in [Coordinates::Bodies, Coordinates::Tree] {
        let fine = swing_in_space(coordinates, 6, 2.5e-3);
        for order in [4, 6] {
            let ends = [2e-2, 1e-2].map(|h| swing_in_space(coordinates, order, h));
            let x = ends.map(|e| e.0.distance(fine.0));
            let w = ends.map(|e| e.1.distance(fine.1));
            for errors in [x, w] {
                let found = (errors[0] / errors[1]).log2();
                assert!(found > f64::from(order) - 0.5, "order {found:.2} of {order}: {errors:?}");
            }
        }
    }
}

#[test]
fn at_equal_work_a_higher_order_is_more_accurate() {
    let fine = swing_in_space(Coordinates::Bodies, 6, 2.5e-3);
    let error = |order: u32, h: f64| {
        let end = swing_in_space(Coordinates::Bodies, order, h);
        (end.0.distance(fine.0), end.2)
    };
    // Order 2 with at least as many solves.
    for (order, h, plain, gain) in [(4, 5e-3, 0.4 / 1720.0, 5.0), (6, 1e-2, 0.4 / 1770.0, 100.0)] {
        let (high, low) = (error(order, h), error(2, plain));
        assert!(high.1 <= low.1 && high.0 * gain < low.0, "order {order}: {high:?}, 2: {low:?}");
    }
}

#[test]
fn springs_and_dampers_are_of_fourth_order() {
    let end = |h: f64| {
        let mut scene = weightless("oscillator");
        let id = scene.add_body(Body::rigid("mass", Mass::sphere(1.0, 0.1)).at(DVec3::X));
        let spring = Spring {
            a: BodyId::GROUND,
            b: id,
            point_a: DVec3::ZERO,
            point_b: DVec3::ZERO,
            length: 0.9,
            stiffness: 100.0,
            damping: 0.4,
        };
        scene.add_force("spring", ForceKind::Spring(spring));
        run(&scene, higher(4, h), (2.0 / h).round() as usize).position(id).x - 0.9
    };
    // x'' + 0.4 x' + 100 x = 0 from 0.1 m.
    let (decay, w) = (0.2f64, (100.0f64 - 0.04).sqrt());
    let exact = 0.1 * (-2.0 * decay).exp() * ((2.0 * w).cos() + decay / w * (2.0 * w).sin());
    let errors = [2e-2, 1e-2, 5e-3].map(|h| (end(h) - exact).abs());
    let found = 0.5 * (errors[0] / errors[2]).log2();
    assert!(found > 3.6 && errors[2] < 1e-7, "order {found:.2}: {errors:?}");
}

#[test]
fn events_are_taken_by_the_plain_scheme_and_reported() {
    // Elastic: every impact is exact, whatever the order.
    let mut scene = floor("elastic", 0.0, 1.0);
    let id = ball(&mut scene, "ball", 1.0, 0.1, DVec3::Z * 1.1);
    let (h, flight) = (1e-2, 2.0 * (2.0 / G).sqrt());
    let mut stepper = Stepper::new(&scene, higher(4, h)).unwrap();
    let (mut state, mut events) = (State::initial(&scene), 0);
    for i in 1..=500 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        let error = verdict.scheme.expect("known with trials");
        events += u32::from(error.event);
        assert!(!verdict.impact || error.event);
        let t = (h * f64::from(i) + 0.5 * flight) % flight;
        let height = 0.1 + (2.0 * G).sqrt() * t - 0.5 * G * t * t;
        assert!((state.pose(id).position.z - height).abs() < 1e-9, "step {i}");
    }
    assert!((5..=12).contains(&events), "{events} of 5.5 bounces");
    // A block that slides and stops: the stop is an event, what it leaves is as without order 4.
    let mut scene = floor("stopping", 0.3, 0.0);
    let block =
        cuboid(&mut scene, "block", 3.0, DVec3::new(0.4, 0.2, 0.1), DVec3::new(0.0, 0.0, 0.05));
    scene.bodies[block.index()].velocity = DVec3::X * 2.0;
    let end = run(&scene, higher(4, h), 100);
    let off = (end.position(block).x - 4.0 / (0.6 * G)).abs();
    assert!(off < 0.3 * G * h * h / 8.0 + 1e-7 && end.velocity(block).length() < 1e-8, "{off}");
}

#[test]
fn accuracy_of_a_higher_order_costs_less_and_goes_on_to_the_bit() {
    let (scene, bob) = swinging();
    let go = |order: u32, accuracy: f64, mut state: State, steps: usize| {
        let settings = Settings { accuracy: Some(accuracy), ..higher(order, 0.1) };
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut solves = 0;
        for _ in 0..steps {
            let verdict = stepper.step(&scene, &mut state).unwrap();
            assert!(verdict.scheme.unwrap().held);
            solves += verdict.solves;
        }
        (state, solves)
    };
    // The estimate is that of the order below, so that each step is more accurate than it says:
    // order 2 needs a thousandth for the same error at the end.
    let begin = || State::initial(&scene);
    let (plain, higher) = (go(2, 1e-9, begin(), 4), go(6, 1e-6, begin(), 4));
    let fine = swing_in_space(Coordinates::Bodies, 6, 2.5e-3).0;
    let off = |state: &State| state.pose(bob).position.distance(fine);
    let (high, low) = (off(&higher.0), off(&plain.0));
    assert!(higher.1 < plain.1 && high < low, "{high} m {}, {low} m {}", higher.1, plain.1);
    let half = serde_json::to_string(&go(6, 1e-6, begin(), 2).0).unwrap();
    let stored: State = serde_json::from_str(&half).unwrap();
    assert_eq!(go(6, 1e-6, stored, 2).0, higher.0);
    let wrong = Settings { order: 3, ..leapfrog(1e-3) };
    assert!(Stepper::new(&scene, wrong).is_err_and(|e| e.to_string().contains("order = 3")));
}

#[test]
fn a_tree_far_from_the_origin_keeps_its_energy_to_rounding() {
    // Velocities were differences of places seen from the world's origin, over the step: at 100 m
    // each step of 1 ms gave or took 1e-11 m/s.
    let mut scene = Scene::new("flyer");
    let mass = Mass::new(1.0, DVec3::new(0.02, 0.03, 0.045));
    let (far, up) = (DVec3::new(60.0, 0.0, 80.0), DVec3::new(2.0, 0.0, 9.0));
    let trunk = scene.add_body(Body::rigid("trunk", mass).at(far).moving(up, DVec3::ZERO));
    let mut last = trunk;
    for (i, axis) in [DVec3::X, DVec3::Y, DVec3::Y].into_iter().enumerate() {
        let at = far + DVec3::X * (0.4 * (i + 1) as f64);
        let id = scene.add_body(
            Body::rigid(format!("limb {i}"), mass).at(at).moving(up, DVec3::new(1.0, 2.0, 0.0)),
        );
        let hinge = frame(at - DVec3::X * 0.2, axis);
        scene.add_joint(format!("hinge {i}"), JointKind::Revolute, (last, id), hinge);
        last = id;
    }
    for order in [4, 6] {
        let settings = Settings { coordinates: Coordinates::Tree, ..higher(order, 1e-3) };
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        let mut begun = None;
        let mut worst = 0.0f64;
        for i in 0..1000 {
            let energy = stepper.step(&scene, &mut state).unwrap().energy;
            let sum = energy.kinetic + energy.potential;
            // The first steps close joints that the given spins open.
            if i >= 10 {
                worst = worst.max((sum - *begun.get_or_insert(sum)).abs());
            }
        }
        // Of some 3000 J: a thousand roundings of 1e-13 J, and the joints' arms by 1e-14 m.
        assert!(worst < 1e-9, "order {order}: {worst} J");
    }
}
