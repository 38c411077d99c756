//! Trees in the coordinates of their joints against the same scenes in the coordinates of their
//! bodies.

mod common;

use common::{exact, floor, run};
use glam::DVec3;
use signorini_mechanics::assemble::{Coordinates, StepInput, TimeScheme, joint};
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::math::pose::Pose;
use signorini_solve::math::random::Random;

const KINDS: [JointKind; 7] = [
    JointKind::Revolute,
    JointKind::Spherical,
    JointKind::Prismatic,
    JointKind::Cylindrical,
    JointKind::Universal,
    JointKind::Planar,
    JointKind::Fixed,
];

/// Where the bodies of a random tree hang.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Base {
    Ground,
    Floating,
    Driven,
}

/// A tree of nine bodies with joints of every kind, branches, both directions of joints; optionally
/// a loop.
fn tree(seed: u64, base: Base, loops: bool) -> Scene {
    let mut random = Random::seeded(seed);
    let mut scene = Scene::new(format!("tree {seed} {base:?}"));
    let carrier = match base {
        Base::Ground => BodyId::GROUND,
        Base::Driven => {
            let motion = Motion {
                axis: DVec3::new(0.6, 0.0, 0.8),
                angle: Function::rate(0.5),
                ..Motion::default()
            };
            scene.add_body(Body::imposed("table", motion))
        }
        Base::Floating => {
            scene.add_body(Body::rigid("root", Mass::new(2.0, DVec3::new(0.2, 0.3, 0.4))))
        }
    };
    let mut list = vec![carrier];
    for i in 0..9 {
        let parent = list[if i < 4 { list.len() - 1 } else { (i * 7) % list.len() }];
        let from = scene.bodies[parent.index()].pose.position;
        let inertia = DVec3::new(0.02, 0.03, 0.025) * (1.5 + random.signed());
        let place = from + 0.3 * random.vector();
        let mut body =
            Body::rigid(format!("b{i}"), Mass::new(1.0 + 0.5 * random.signed(), inertia)).at(place);
        body.pose.orientation = Pose::turned(DVec3::ZERO, random.vector()).orientation;
        let id = scene.add_body(body);
        let at = frame(0.5 * (from + place), random.vector());
        let pair = if i % 3 == 1 { (id, parent) } else { (parent, id) };
        scene.add_joint(format!("j{i}"), KINDS[i % KINDS.len()], pair, at);
        list.push(id);
    }
    if base == Base::Floating {
        // It turns as a whole at first; then every joint moves.
        for body in scene.bodies.iter_mut().skip(1) {
            let (spin, place) = (DVec3::new(1.0, -2.0, 1.5), body.pose.position);
            *body = body.clone().moving(DVec3::new(0.3, 0.1, -0.2) + spin.cross(place), spin);
        }
    }
    if loops {
        let (a, b) = (list[4], list[9]);
        let at =
            0.5 * (scene.bodies[a.index()].pose.position + scene.bodies[b.index()].pose.position);
        scene.add_joint("loop", JointKind::Spherical, (a, b), frame(at, DVec3::Z));
    }
    scene
}

fn with(coordinates: Coordinates, time: TimeScheme, h: f64) -> Settings {
    let mut settings = Settings { coordinates, ..exact(h) };
    settings.scheme.time = time;
    settings
}

/// The largest opening of a joint, m or rad.
fn opening(scene: &Scene, state: &State) -> f64 {
    let now = StepInput::at_rest(scene, state);
    let mut most = 0.0f64;
    for joint in &scene.joints {
        for part in joint.kind.parts().iter() {
            most = most.max(joint::evaluate(joint, *part, &now).value.abs());
        }
    }
    most
}

/// A step, from rest or from what a few steps of bodies made of it.
fn one_step(
    scene: &Scene,
    start: &State,
    coordinates: Coordinates,
    time: TimeScheme,
) -> (State, Vec<f64>, bool) {
    let mut stepper = Stepper::new(scene, with(coordinates, time, 1e-3)).unwrap();
    let mut state = start.clone();
    let verdict = stepper.step(scene, &mut state).unwrap();
    assert!(verdict.accepted, "{}: {:?}", scene.name, verdict.error);
    (state, stepper.solution().r.clone(), stepper.in_tree_coordinates())
}

#[test]
fn one_step_from_random_states_gives_the_same_velocities_and_reactions() {
    for time in [TimeScheme::Euler, TimeScheme::Leapfrog] {
        for (seed, base) in [
            (1, Base::Ground),
            (2, Base::Floating),
            (3, Base::Driven),
            (4, Base::Ground),
            (5, Base::Floating),
        ] {
            let scene = tree(seed, base, false);
            // Velocities that the joints allow, positions that they hold: 60 steps in the
            // coordinates of the tree.
            let start = run(&scene, with(Coordinates::Tree, time, 1e-3), 60).state;
            let (bodies, r, _) = one_step(&scene, &start, Coordinates::Bodies, time);
            let (trees, s, used) = one_step(&scene, &start, Coordinates::Tree, time);
            assert!(used, "the step is taken in coordinates");
            let speed = bodies.v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let largest = r.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            // Euler: the same problem, solved to 1e-9 m/s by `direct`. Leapfrog: the curvature of
            // the step is predicted from bodies in one form, from coordinates in the other; they
            // differ by the square of the angle of a step, 5 rad/s for 1 ms.
            let tolerance = if time == TimeScheme::Euler { 1e-10 } else { 2.5e-5 };
            for (x, y) in bodies.v.iter().zip(&trees.v) {
                assert!(
                    (x - y).abs() <= tolerance * speed,
                    "{} {time:?}: velocity {x} {y}",
                    scene.name
                );
            }
            for (x, y) in r.iter().zip(&s) {
                assert!(
                    (x - y).abs() <= 1e3 * tolerance * largest.max(1e-3),
                    "{} {time:?}: reaction {x} {y} of {largest}",
                    scene.name
                );
            }
        }
    }
}

#[test]
fn a_step_in_coordinates_solves_the_problem_of_bodies() {
    for time in [TimeScheme::Euler, TimeScheme::Leapfrog] {
        for (seed, base, loops) in
            [(6, Base::Ground, false), (7, Base::Floating, true), (8, Base::Driven, true)]
        {
            let scene = tree(seed, base, loops);
            let end = run(&scene, with(Coordinates::Tree, time, 1e-3), 40);
            let (problem, solution) = (&end.stepper.assembly().problem, end.stepper.solution());
            let error = signorini_solve::problem::PreparedProblem::of(problem)
                .unwrap()
                .error(problem, solution);
            // Rows of joints that are not in the problem that was solved hold to rounding; under
            // leapfrog to what their curvature was predicted wrong by, the square of the angle of a
            // step times the change of the velocity.
            let limit = if time == TimeScheme::Euler { 1e-9 } else { 1e-5 };
            assert!(error.velocity < limit, "{} {time:?}: {error:?}", scene.name);
            // The momentum of the residual: H v = k + Jᵀ r with the reactions from the balance of
            // subtrees.
            assert!(error.momentum_velocity < 1e-8, "{} {time:?}: {error:?}", scene.name);
        }
    }
}

#[test]
fn joints_of_trees_do_not_drift() {
    for time in [TimeScheme::Euler, TimeScheme::Leapfrog] {
        for base in [Base::Ground, Base::Floating, Base::Driven] {
            let scene = tree(11, base, false);
            let end = run(&scene, with(Coordinates::Tree, time, 2e-3), 500);
            // Poses some metres from the origin, composed of ten factors with rounding 1e-16 each.
            let limit = 1e-14 * (10.0 + end.state.q.iter().fold(0.0f64, |m, x| m.max(x.abs())));
            assert!(
                opening(&scene, &end.state) < limit,
                "{time:?} {base:?}: {:.1e}",
                opening(&scene, &end.state)
            );
        }
    }
}

#[test]
fn both_forms_move_alike_to_the_order_of_the_step() {
    for (time, order) in [(TimeScheme::Euler, 1), (TimeScheme::Leapfrog, 2)] {
        for base in [Base::Ground, Base::Floating, Base::Driven] {
            let scene = tree(21, base, false);
            let apart = |h: f64| {
                let steps = (0.1 / h).round() as usize;
                let end = |coordinates| run(&scene, with(coordinates, time, h), steps).state;
                let (a, b) = (end(Coordinates::Bodies), end(Coordinates::Tree));
                a.q.iter().zip(&b.q).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
            };
            let (coarse, fine) = (apart(2e-3), apart(5e-4));
            // A quarter of the step: a quarter, or a sixteenth, of the difference, and a half more.
            let wanted = coarse * 1.5 / f64::from(4i32.pow(order));
            assert!(
                fine <= wanted.max(1e-10) && coarse < 1e-2,
                "{time:?} {base:?}: {coarse:.2e} {fine:.2e}"
            );
        }
    }
}

#[test]
fn a_floating_tree_keeps_its_momentum_to_rounding() {
    for time in [TimeScheme::Euler, TimeScheme::Leapfrog] {
        let mut scene = tree(31, Base::Floating, false);
        scene.gravity = DVec3::ZERO;
        let momentum = |run: &common::Run| {
            let (mut p, mut l) = (DVec3::ZERO, DVec3::ZERO);
            for (i, body) in scene.bodies.iter().enumerate() {
                let (Some(mass), id) = (body.mass(), BodyId(i as u32)) else { continue };
                let (v, w, pose) = (run.velocity(id), run.spin(id), run.state.pose(id));
                p += mass.mass * v;
                l += pose.position.cross(mass.mass * v) + pose.vector(mass.inertia * w);
            }
            (p, l)
        };
        let at = |steps| momentum(&run(&scene, with(Coordinates::Tree, time, 1e-3), steps));
        let ((p0, _), (p1, l1), (p2, l2)) = (at(0), at(1), at(400));
        // Linear: sums of ten impulses a step, which cancel to rounding.
        // Leapfrog: to 1e-9 of the rates, which bodies are moved by.
        let limit = if time == TimeScheme::Euler { 1e-12 } else { 1e-9 };
        assert!(p0.distance(p2) < limit && p0.distance(p1) < limit, "{time:?}: {p0} {p2}");
        // Angular: reactions act in one point, but bodies go on along arcs while their momentum
        // goes straight: first order under Euler's scheme, second order under leapfrog.
        let limit = if time == TimeScheme::Euler { 2e-3 } else { 2e-5 };
        assert!(l1.distance(l2) < limit * l1.length(), "{time:?}: {l1} {l2}");
    }
}

/// Everything that acts along coordinates: stops, dry friction, rotors, motors of all kinds,
/// springs, gears.
fn machine() -> Scene {
    let mut scene = floor("machine", 0.5, 0.2);
    let mut last = BodyId::GROUND;
    let mut joints = Vec::new();
    for i in 0..6 {
        let at = DVec3::new(0.25 * i as f64 + 0.125, 0.0, 0.6);
        let edges = DVec3::new(0.2, 0.06, 0.06);
        let id = common::cuboid(&mut scene, &format!("l{i}"), 1.0, edges, at);
        let axis = if i % 2 == 0 { DVec3::Y } else { DVec3::Z };
        let kind = if i == 3 { JointKind::Prismatic } else { JointKind::Revolute };
        let joint =
            scene.add_joint(format!("j{i}"), kind, (last, id), frame(at - DVec3::X * 0.125, axis));
        joints.push(joint);
        last = id;
    }
    let angle = Coordinate::Angle;
    scene.joints[0].limits.push(Limit { coordinate: angle, lo: -0.3, hi: 0.2, restitution: 0.0 });
    scene.joints[1].friction.push(DryFriction { coordinate: angle, effort: 0.5 });
    scene.joints[2].armature.push(Armature { coordinate: angle, inertia: 0.02 });
    scene.joints[3].limits.push(Limit {
        coordinate: Coordinate::Slide,
        lo: -0.05,
        hi: 0.05,
        restitution: 0.3,
    });
    scene.joints[4].armature.push(Armature { coordinate: angle, inertia: 0.01 });
    let servo = Drive::Servo {
        target: Function::Constant(0.2),
        stiffness: 40.0,
        damping: 2.0,
        effort: 30.0,
    };
    scene.add_motor("servo", joints[2], angle, servo);
    scene.add_motor(
        "speed",
        joints[5],
        angle,
        Drive::LimitedSpeed { speed: Function::Constant(1.0), effort: 2.0 },
    );
    scene.add_motor("torque", joints[4], angle, Drive::Effort(Function::Constant(0.3)));
    scene
}

#[test]
fn a_machine_with_stops_motors_rotors_and_contacts_moves_alike() {
    for time in [TimeScheme::Euler, TimeScheme::Leapfrog] {
        let scene = machine();
        let apart = |h: f64| {
            // Until the first contact with the floor: events are of first order in both forms.
            let steps = (0.25 / h).round() as usize;
            let end = |coordinates| run(&scene, with(coordinates, time, h), steps).state;
            let (a, b) = (end(Coordinates::Bodies), end(Coordinates::Tree));
            a.q.iter().zip(&b.q).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
        };
        let (coarse, fine) = (apart(1e-3), apart(2.5e-4));
        assert!(coarse < 5e-3 && fine < 0.5 * coarse, "{time:?}: {coarse:.2e} {fine:.2e}");
        // And on to the floor, every step accepted with a closed ledger.
        run(&scene, with(Coordinates::Tree, time, 1e-3), 800);
    }
}

/// A tree that has come to rest on a floor does not move at all, and is not solved again.
#[test]
fn a_tree_at_rest_stays_at_rest_without_work() {
    let mut scene = floor("fallen", 0.7, 0.0);
    let edges = DVec3::new(0.2, 0.1, 0.06);
    let mut last = None;
    for i in 0..4 {
        let at = DVec3::new(0.25 * f64::from(i) + 0.117, 0.031, 0.05);
        let id = common::cuboid(&mut scene, &format!("l{i}"), 1.0 + 0.3 * f64::from(i), edges, at);
        if let Some(last) = last {
            let axis = if i % 2 == 0 { DVec3::Y } else { DVec3::Z };
            let place = frame(at - DVec3::X * 0.125, axis);
            scene.add_joint(format!("j{i}"), JointKind::Revolute, (last, id), place);
        }
        last = Some(id);
    }
    let end = run(&scene, with(Coordinates::Tree, TimeScheme::Leapfrog, 2e-3), 1000);
    let mut state = end.state.clone();
    let settings = with(Coordinates::Tree, TimeScheme::Leapfrog, 2e-3);
    let mut stepper = Stepper::new(&scene, settings).unwrap();
    // The first step of a stepper has no reactions to begin with.
    stepper.step(&scene, &mut state).unwrap();
    let before = state.clone();
    for step in 0..100 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.accepted && verdict.energy.kinetic == 0.0, "step {step}");
        assert_eq!(verdict.counts, Default::default(), "step {step}");
    }
    assert_eq!(before.q, state.q);
}

#[test]
fn a_state_whose_joints_are_open_is_corrected_in_the_coordinates_of_bodies() {
    let scene = tree(41, Base::Ground, false);
    let mut state = State::initial(&scene);
    state.q[3 * 7] += 0.02;
    let mut stepper =
        Stepper::new(&scene, with(Coordinates::Tree, TimeScheme::Euler, 1e-3)).unwrap();
    stepper.step(&scene, &mut state).unwrap();
    assert!(!stepper.in_tree_coordinates());
    for _ in 0..50 {
        stepper.step(&scene, &mut state).unwrap();
    }
    assert!(stepper.in_tree_coordinates());
    assert!(opening(&scene, &state) < 1e-12);
}

#[test]
fn a_run_that_is_stored_and_taken_up_again_goes_on_to_the_same_bits() {
    for time in [TimeScheme::Euler, TimeScheme::Leapfrog] {
        let scene = machine();
        let settings = with(Coordinates::Auto, time, 1e-3);
        let whole = run(&scene, settings.clone(), 120);
        let half = run(&scene, settings.clone(), 60);
        let text = serde_json::to_string(&half.state).unwrap();
        let rest = common::go_on(&scene, settings, serde_json::from_str(&text).unwrap(), 60);
        assert_eq!(whole.state.hash(), rest.state.hash(), "{time:?}");
    }
}

#[test]
fn the_cost_of_a_chain_is_chosen_and_bodies_stay_available() {
    let chain = |n: usize| {
        let mut scene = Scene::new("chain");
        let mut last = BodyId::GROUND;
        for i in 0..n {
            let id = scene.add_body(
                Body::rigid(format!("l{i}"), Mass::cuboid(1.0, DVec3::splat(0.1)))
                    .at(DVec3::X * i as f64),
            );
            scene.add_joint(
                format!("j{i}"),
                JointKind::Revolute,
                (last, id),
                frame(DVec3::X * (i as f64 - 0.5), DVec3::Y),
            );
            last = id;
        }
        scene
    };
    let posed = |n: usize, coordinates| {
        let scene = chain(n);
        let end = run(&scene, Settings { coordinates, ..Settings::with_time_step(1e-3) }, 1);
        let (problem, _) = end.stepper.posed();
        (problem.n(), problem.rows())
    };
    assert_eq!(posed(7, Coordinates::Auto), (7, 0));
    assert_eq!(posed(7, Coordinates::Tree), (7, 0));
    assert_eq!(posed(7, Coordinates::Bodies), (42, 35));
    // Far down a long chain every coordinate moves hundreds of bodies.
    assert_eq!(posed(300, Coordinates::Auto), (1800, 1500));
    assert_eq!(posed(300, Coordinates::Tree), (300, 0));
}

/// A box on a rail is a tree of its own, unless it is full of loose bodies.
#[test]
fn a_mechanism_among_many_loose_bodies_stays_in_the_coordinates_of_bodies() {
    for (loose, tree) in [(99, true), (100, false)] {
        let mut scene = common::floor("pile", 0.5, 0.0);
        let slider = common::ball(&mut scene, "slider", 1.0, 0.1, DVec3::Z);
        let rail = frame(DVec3::Z, DVec3::X);
        scene.add_joint("rail", JointKind::Prismatic, (BodyId::GROUND, slider), rail);
        for i in 0..loose {
            let at = DVec3::new(f64::from(i), 5.0, 0.2);
            common::ball(&mut scene, &format!("ball {i}"), 1.0, 0.1, at);
        }
        let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-3)).unwrap();
        stepper.step(&scene, &mut State::initial(&scene)).unwrap();
        assert_eq!(stepper.in_tree_coordinates(), tree, "{loose} loose bodies");
    }
}
