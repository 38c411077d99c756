//! Accelerations by symbolic preprocessing: against the assembly, differences, the dense twin,
//! closed forms and bad input.

use glam::DVec3;
use signorini_mechanics::assemble::{Assembly, Scheme, StepInput, joint};
use signorini_mechanics::mechanism::dense::Dense;
use signorini_mechanics::mechanism::procedures::{count, procedures};
use signorini_mechanics::mechanism::simulation::Energy;
use signorini_mechanics::mechanism::{
    Equations, MechanismError, Method, Settings, Simulation, Space,
};
use signorini_mechanics::scene::*;
use signorini_mechanics::symbolic::pattern::dense_givens;

/// A slender rod of 1 kg from a to b, with a little thickness.
fn rod(scene: &mut Scene, name: &str, a: DVec3, b: DVec3) -> BodyId {
    let length = (b - a).length();
    let turn = glam::DQuat::from_rotation_arc(DVec3::X, (b - a) / length);
    let mass = Mass::cuboid(1.0, DVec3::new(length, 0.05, 0.04));
    scene.add_body(Body::rigid(name, mass).at(0.5 * (a + b)).turned(turn))
}

/// A four-bar in the xz plane, pushed from rest.
fn four_bar() -> Scene {
    let mut scene = Scene::new("four-bar");
    let (o, a, b, c) =
        (DVec3::ZERO, DVec3::Z, DVec3::new(1.5, 0.0, 1.2), DVec3::new(1.5, 0.0, 0.0));
    let left = rod(&mut scene, "left", o, a);
    let beam = rod(&mut scene, "beam", a, b);
    let right = rod(&mut scene, "right", b, c);
    for (name, bodies, at) in [
        ("o", (BodyId::GROUND, left), o),
        ("a", (left, beam), a),
        ("b", (beam, right), b),
        ("c", (BodyId::GROUND, right), c),
    ] {
        scene.add_joint(name, JointKind::Revolute, bodies, frame(at, DVec3::Y));
    }
    // Upright posts are in balance: something must push.
    let push = [Function::Constant(5.0), Function::default(), Function::default()];
    let applied = Applied {
        body: beam,
        point: DVec3::ZERO,
        force: push,
        torque: Default::default(),
        frame: Frame::World,
    };
    scene.add_force("push", ForceKind::Applied(Box::new(applied)));
    scene
}

/// One of every joint and force that is treated, in no plane, moving.
fn zoo() -> Scene {
    let mut scene = Scene::new("zoo");
    let place = |i: f64| DVec3::new(0.7 * i, (1.3 * i).sin(), (0.7 * i).cos());
    let mut last = BodyId::GROUND;
    let kinds = [
        JointKind::Revolute,
        JointKind::Spherical,
        JointKind::Prismatic,
        JointKind::Cylindrical,
        JointKind::Universal,
        JointKind::Planar,
        JointKind::Fixed,
        JointKind::PointOnLine,
        JointKind::PointOnPlane,
    ];
    for (i, kind) in kinds.into_iter().enumerate() {
        let x = place(i as f64 + 1.0);
        let mass = Mass {
            mass: 1.0 + 0.3 * i as f64,
            inertia: glam::DMat3::from_diagonal(DVec3::new(0.3, 0.4, 0.5)),
        };
        let turn = glam::DQuat::from_scaled_axis(DVec3::new(0.3 * i as f64, -0.2, 0.5));
        let id = scene.add_body(Body::rigid(format!("body {i}"), mass).at(x).turned(turn));
        let axis = DVec3::new(0.2, (i as f64).cos(), 0.7);
        scene.add_joint(
            format!("joint {i}"),
            kind,
            (last, id),
            frame(x - DVec3::new(0.2, 0.1, -0.1), axis),
        );
        last = id;
    }
    scene.add_rod("strut", (BodyId(2), BodyId(5)), (place(2.0), place(5.0)));
    let spring = Spring {
        a: BodyId(1),
        b: BodyId(4),
        point_a: DVec3::new(0.1, 0.2, 0.0),
        point_b: DVec3::new(0.0, -0.1, 0.3),
        length: 0.9,
        stiffness: 30.0,
        damping: 0.7,
    };
    scene.add_force("spring", ForceKind::Spring(spring));
    scene.add_force(
        "drag",
        ForceKind::Drag(Drag { body: BodyId(3), linear: 0.2, quadratic: 0.1, angular: 0.05 }),
    );
    let push = [Function::Constant(1.0), Function::sine(2.0, 0.4), Function::Constant(-0.5)];
    let applied = Applied {
        body: BodyId(6),
        point: DVec3::new(0.1, 0.0, 0.2),
        force: push.clone(),
        torque: push,
        frame: Frame::Body,
    };
    scene.add_force("push", ForceKind::Applied(Box::new(applied)));
    scene.add_motor(
        "torque",
        JointId(0),
        Coordinate::Angle,
        Drive::Effort(Function::Constant(3.0)),
    );
    scene
}

fn energy(e: &Energy) -> f64 {
    e.kinetic + e.potential - e.work
}

/// The state of a simulation as the assembly sees it.
fn present(scene: &Scene, simulation: &Simulation) -> (State, StepInput) {
    let mut state = State::initial(scene);
    simulation.write(&mut state);
    let now = StepInput::at_rest(scene, &state);
    (state, now)
}

#[test]
fn the_rows_span_what_the_assembly_holds() {
    // Rows differ (world axes for points, sines for angles), but their span is that of the joints'
    // Jacobian in the assembly.
    let scene = zoo();
    let mut simulation = Simulation::new(&scene, Settings::default()).unwrap();
    assert_eq!(simulation.equations.coordinates.space, Space::Spatial);
    for _ in 0..20 {
        simulation.step(5e-3).unwrap();
    }
    let (_, now) = present(&scene, &simulation);
    let layout = Layout::of(&scene);
    let mut assembly = Assembly::new(&scene, &layout);
    assembly.clear_rows(layout.v);
    joint::assemble(&mut assembly, &scene, &layout, &now, &Scheme::default());
    let rows = assembly.problem.rows();
    assert_eq!(rows, simulation.equations.rows.len());
    // Velocities that one allows, the other allows: project random ones by ours, look with theirs.
    simulation.program.evaluate_at(&simulation.q);
    let v: Vec<f64> = (0..layout.v).map(|i| (1.7 * i as f64).sin()).collect();
    let (delta, _) = simulation.program.correction(&simulation.program.rates(&v));
    let allowed: Vec<f64> = v.iter().zip(&delta).map(|(v, d)| v - d).collect();
    let mut rates = vec![0.0; rows];
    assembly.problem.J.mul(&allowed, &mut rates);
    // Semi-normal equations: rounding times the square of a condition number of some hundreds.
    assert!(rates.iter().all(|r| r.abs() < 1e-9), "{rates:?}");
}

#[test]
fn u_is_the_exact_derivative_and_accelerations_agree_with_the_dense_twin() {
    for scene in [zoo(), four_bar()] {
        let mut simulation =
            Simulation::new(&scene, Settings { planar: false, ..Settings::default() }).unwrap();
        for _ in 0..30 {
            simulation.step(5e-3).unwrap();
        }
        let a = simulation.accelerations();
        let drives: Vec<f64> =
            simulation.equations.drives.iter().map(|f| f.value(simulation.time)).collect();
        let mut dense = Dense::new(&simulation.equations);
        let mut b = vec![0.0; a.len()];
        dense.accelerations(&simulation.q, &simulation.v, &drives, &mut b);
        let scale = a.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-9 * scale, "{a} {b}");
        }
        assert_eq!(dense.rank(), simulation.basis.kept.len());
        // d(Gv)/dt = 0 along the motion, by central differences of G v over q(t), v(t): errors h²
        // and rounding/h.
        let h = 1e-5;
        let (q, v) = (simulation.q.clone(), simulation.v.clone());
        let mut at = |s: f64| {
            let displacement: Vec<f64> =
                v.iter().zip(&a).map(|(v, a)| s * v + 0.5 * s * s * a).collect();
            simulation.q.copy_from_slice(&q);
            simulation.equations.coordinates.displace(&mut simulation.q, &displacement);
            simulation.v.iter_mut().zip(v.iter().zip(&a)).for_each(|(x, (v, a))| *x = v + s * a);
            simulation.residuals().1
        };
        let (plus, minus) = (at(h), at(-h));
        for (p, m) in plus.iter().zip(&minus) {
            assert!(((p - m) / (2.0 * h)).abs() < 1e-6 * scale, "{p} {m}");
        }
    }
}

#[test]
fn a_planar_mechanism_is_recognised_and_moves_as_in_space() {
    let scene = four_bar();
    let run = |planar: bool| {
        let settings = Settings {
            method: Method::DormandPrince { tolerance: 1e-11 },
            stabilised: true,
            planar,
        };
        let mut simulation = Simulation::new(&scene, settings).unwrap();
        let begin = simulation.energy();
        for _ in 0..100 {
            simulation.step(1e-2).unwrap();
        }
        let end = simulation.energy();
        assert!(
            (energy(&end) - energy(&begin)).abs() < 1e-8,
            "{} {}",
            energy(&begin),
            energy(&end)
        );
        let mut state = State::initial(&scene);
        simulation.write(&mut state);
        (simulation, state)
    };
    let (plane, flat) = run(true);
    let (space, full) = run(false);
    assert!(matches!(plane.equations.coordinates.space, Space::Planar(_)));
    assert_eq!((plane.freedoms(), plane.redundant().len()), (1, 0));
    // Twelve rows hold eight unknowns of the plane and eighteen of space: three are redundant.
    assert_eq!((space.freedoms(), space.redundant().len()), (1, 3), "{:?}", space.redundant());
    for body in 1..4 {
        let apart = flat.pose(BodyId(body)).position.distance(full.pose(BodyId(body)).position);
        // Local errors of 1e-11, some hundreds of steps.
        assert!(apart < 1e-7, "body {body}: {apart}");
    }
}

#[test]
fn runge_kutta_has_its_order() {
    let end = |method: Method, n: usize| {
        let mut simulation =
            Simulation::new(&four_bar(), Settings { method, ..Settings::default() }).unwrap();
        for _ in 0..n {
            simulation.step(0.5 / n as f64).unwrap();
        }
        simulation.q
    };
    let exact = end(Method::DormandPrince { tolerance: 1e-13 }, 10);
    let error = |n: usize| {
        end(Method::Classical, n).iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    let (coarse, fine) = (error(20), error(40));
    // Order 4: sixteen times less, roughly.
    assert!(coarse / fine > 11.0 && coarse / fine < 22.0, "{coarse} {fine}");
}

#[test]
fn drift_grows_without_projection_and_not_with_it() {
    let gap = |stabilised: bool| {
        let mut simulation =
            Simulation::new(&four_bar(), Settings { stabilised, ..Settings::default() }).unwrap();
        let mut left = 0.0f64;
        for _ in 0..200 {
            left = left.max(simulation.step(1e-2).unwrap().left);
        }
        left
    };
    let (with, without) = (gap(true), gap(false));
    // Rounding of coordinates of order one, against Runge-Kutta's own error.
    assert!(with < 1e-12 && without > 1e-9, "{with} {without}");
}

#[test]
fn dense_counts_are_the_published_ones() {
    // 3n²(m − n/3) for A of 3(2m+1) × 4(m+1).
    for (m, published) in [(4usize, 24400.0), (8, 151632.0), (16, 1058896.0)] {
        assert_eq!(dense_givens(3 * (2 * m + 1), 4 * (m + 1)), published);
    }
}

#[test]
fn every_procedure_is_smaller_than_dense_and_the_count_says_so() {
    let mut simulation =
        Simulation::new(&four_bar(), Settings { planar: false, ..Settings::default() }).unwrap();
    let kept = simulation.basis.kept.clone();
    let list = procedures(&mut simulation.equations, &kept);
    let names: Vec<&str> = list.iter().map(|p| p.name).collect();
    assert_eq!(
        names,
        [
            "jacobian",
            "scaled",
            "inverse_mass",
            "times",
            "bias",
            "factor",
            "forces",
            "solve",
            "pull"
        ]
    );
    for p in list.iter().filter(|p| ["scaled", "inverse_mass", "times", "factor"].contains(&p.name))
    {
        assert!((p.flops() as f64) < p.dense, "{}: {} {}", p.name, p.flops(), p.dense);
    }
    let counted = count(&simulation.equations, &kept);
    assert!(counted.constants > 0 && (counted.givens as f64) < counted.dense, "{counted:?}");
}

fn refusal(scene: &Scene) -> String {
    let error = Simulation::new(scene, Settings::default()).err().expect("refused").to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

#[test]
fn bad_input_is_refused_in_one_line_that_names_the_joint() {
    // A link longer than the three others together.
    let mut scene = four_bar();
    scene.joints[2].frame_b.position += DVec3::X * 8.0;
    let error = refusal(&scene);
    assert!(error.starts_with("joint `") && error.contains("cannot be assembled"), "{error}");
    // Velocities that a hinge does not allow.
    let mut scene = four_bar();
    scene.bodies[1].velocity = DVec3::X;
    let error = refusal(&scene);
    assert!(error.contains("joint `") && error.contains("initial velocities"), "{error}");
    // No inertia about one axis.
    let mut scene = four_bar();
    scene.bodies[2].kind = Kind::Rigid(Mass::new(1.0, DVec3::new(0.0, 1.0, 1.0)));
    let error = refusal(&scene);
    assert!(
        error.contains("body `beam` on joint `a`") && error.contains("positive definite"),
        "{error}"
    );
    // What accelerations do not treat.
    let mut scene = four_bar();
    scene.add_limit(JointId(1), Coordinate::Angle, -1.0, 1.0);
    assert!(matches!(Equations::of(&scene, true), Err(MechanismError::Unsupported { name,
        .. }) if name == "a"));
}

#[test]
fn an_almost_closed_mechanism_is_assembled() {
    let mut scene = four_bar();
    scene.bodies[2].pose.position += DVec3::new(1e-3, 0.0, -2e-3);
    let mut simulation = Simulation::new(&scene, Settings::default()).unwrap();
    let gaps = simulation.residuals().0;
    assert!(gaps.iter().all(|g| g.abs() < 1e-12), "{gaps:?}");
}
