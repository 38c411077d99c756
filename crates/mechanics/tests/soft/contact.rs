//! Soft bodies on the floor, on each other and under rigid ones.

use super::*;

#[test]
fn a_soft_block_slides_as_far_as_coulomb_says_and_its_weight_arrives() {
    let mut scene = Scene::new("slide");
    floor(&mut scene);
    scene.materials[0].mu = 0.3;
    let mut mesh = Tetrahedra::block([3, 3, 1], DVec3::new(0.3, 0.3, 0.1));
    mesh.nodes.iter_mut().for_each(|x| x.z += 1e-5);
    let id = scene.add_soft(
        "block",
        Soft::new(mesh, Elastic { stiffness_damping: 1e-3, ..rubber() }),
        Some(SurfaceMaterial::default()),
    );
    let body = scene.softs[id.index()].body;
    scene.bodies[body.index()].velocity = DVec3::X;
    let mut stepper = Stepper::new(
        &scene,
        Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(2e-3) },
    )
    .unwrap();
    let mut state = State::initial(&scene);
    let start = state.pose(body).position.x;
    for _ in 0..250 {
        assert!(stepper.step(&scene, &mut state).unwrap().accepted);
    }
    let distance = state.pose(body).position.x - start;
    let wanted = 1.0 / (2.0 * 0.3 * 9.81);
    // Two steps of the way at full speed, and the block leans while it slides.
    assert!((distance / wanted - 1.0).abs() < 0.03, "{distance} {wanted}");
    let force: f64 =
        state.reactions.contacts.iter().map(|c| c.impulse.z).sum::<f64>() / state.reactions.h;
    let weight = 9.0 * 9.81;
    assert!((force / weight - 1.0).abs() < 1e-3, "{force} {weight}");
}

#[test]
fn soft_on_soft_on_the_floor_carries_the_weight_of_the_upper_one() {
    let mut scene = Scene::new("two");
    floor(&mut scene);
    let elastic = Elastic { mass_damping: 30.0, stiffness_damping: 1e-2, ..rubber() };
    for (name, height, side) in [("lower", 1e-4, 0.3), ("upper", 0.1 + 2e-4, 0.2)] {
        let mut mesh = Tetrahedra::block([3, 3, 1], DVec3::new(side, side, 0.1));
        mesh.nodes.iter_mut().for_each(|x| *x += DVec3::new(-0.5 * side, -0.5 * side, height));
        scene.add_soft(name, Soft::new(mesh, elastic), Some(SurfaceMaterial::default()));
    }
    let mut stepper = Stepper::new(
        &scene,
        Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(5e-3) },
    )
    .unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..150 {
        stepper.step(&scene, &mut state).unwrap();
    }
    let colliders = (scene.softs[0].collider.unwrap().0, scene.softs[1].collider.unwrap().0);
    let force: f64 = state
        .reactions
        .contacts
        .iter()
        .filter(|c| c.colliders == colliders)
        .map(|c| c.impulse.z)
        .sum::<f64>()
        / state.reactions.h;
    let weight = 0.004 * 1000.0 * 9.81;
    assert!((force / weight - 1.0).abs() < 1e-2, "{force} {weight}");
    // The upper one stands on the lower, which stands on the floor.
    assert!(
        stepper.contacts().iter().all(|c| c.gap > -1e-4),
        "no overlap beyond a tenth of a millimetre"
    );
}

#[test]
fn every_method_takes_a_soft_body_on_the_floor() {
    let mut scene = Scene::new("methods");
    floor(&mut scene);
    let mut mesh = Tetrahedra::block([4, 4, 3], DVec3::new(0.4, 0.4, 0.3));
    mesh.nodes.iter_mut().for_each(|x| x.z += 1e-4);
    let id = scene.add_soft("block", Soft::new(mesh, rubber()), Some(SurfaceMaterial::default()));
    let body = scene.softs[id.index()].body;
    scene.bodies[body.index()].velocity = DVec3::new(0.1, 0.0, -0.2);
    let mut answers: Vec<(&str, Vec<f64>)> = Vec::new();
    for method in [Method::InteriorPoint, Method::Psor, Method::Newton, Method::Auto] {
        let mut settings = Settings { solver: method, ..Settings::with_time_step(2e-3) };
        settings.scheme.friction = Friction::Cone;
        settings.stop.tolerance.relative = 1e-10;
        settings.stop.tolerance.velocity = 1e-8;
        if method == Method::Psor {
            settings.stop.work = Some(200_000);
        }
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.accepted, "{}: {:?}", method.name(), verdict.error);
        assert!(verdict.rows >= 75, "25 nodes touch");
        answers.push((method.name(), state.v));
    }
    // The velocities of the convex law are unique: within the tolerance of 1e-8 m/s, and what a
    // mesh makes of it.
    for (name, v) in &answers[1..] {
        let difference = v.iter().zip(&answers[0].1).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(difference < 1e-5, "{name}: {difference}");
    }
    // The active set has pyramids in place of cones: without friction it is the same problem.
    scene.materials[0].mu = 0.0;
    let mut last = Vec::new();
    for method in [Method::Pivot, Method::InteriorPoint] {
        let mut stepper =
            Stepper::new(&scene, Settings { solver: method, ..Settings::with_time_step(2e-3) })
                .unwrap();
        let mut state = State::initial(&scene);
        assert!(stepper.step(&scene, &mut state).unwrap().accepted, "{}", method.name());
        last.push(state.v);
    }
    assert!(last[0].iter().zip(&last[1]).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn a_ball_pressed_into_a_block_follows_hertz() {
    let mut scene = empty("hertz");
    scene.materials[0].mu = 0.0;
    let mut mesh = Tetrahedra::block([12, 12, 6], DVec3::new(0.4, 0.4, 0.2));
    mesh.nodes.iter_mut().for_each(|x| *x -= DVec3::new(0.2, 0.2, 0.2));
    let soft = Soft::new(mesh, rubber()).holding(|x| x.z < -0.2 + 1e-9);
    scene.add_soft("block", soft, Some(SurfaceMaterial::default()));
    let radius = 0.2;
    // 5 mm in each step, slowly: the inertia of the block does not count.
    let motion = Motion::along(-DVec3::Z, |z| Function::Ramp { value: 0.0, rate: 0.01 * z });
    let id = scene.add_body(Body::imposed("ball", motion).at(DVec3::Z * radius));
    scene.add_collider(id, Shape::Sphere { radius }, Pose::IDENTITY, SurfaceMaterial::default());
    let mut settings = Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(0.5) };
    settings.contact_margin = 0.002;
    let mut stepper = Stepper::new(&scene, settings).unwrap();
    let mut state = State::initial(&scene);
    let mut force = [0.0; 2];
    for step in 1..=4 {
        stepper.step(&scene, &mut state).unwrap();
        if step % 2 == 0 {
            force[step / 2 - 1] =
                state.reactions.contacts.iter().map(|c| c.impulse.z).sum::<f64>().abs()
                    / state.reactions.h;
        }
    }
    let exponent = (force[1] / force[0]).log2();
    // Hertz at 2 cm: a layer of finite depth is stiffer, linear elements too.
    let hertz = 4.0 / 3.0 * 1e7 / (1.0 - 0.09) * radius.sqrt() * 0.02f64.powf(1.5);
    println!("forces {force:?} N, exponent {exponent:.3}, Hertz {hertz:.0} N");
    assert!((1.3..1.8).contains(&exponent), "{exponent}");
    assert!((0.8..2.0).contains(&(force[1] / hertz)), "{} {hertz}", force[1]);
}

#[test]
fn springs_in_place_of_contacts_carry_the_same_weight() {
    for implicit in [false, true] {
        let mut scene = Scene::new("penalty");
        floor(&mut scene);
        let elastic = Elastic { mass_damping: 20.0, stiffness_damping: 1e-3, ..rubber() };
        let id = scene.add_soft(
            "block",
            Soft::new(Tetrahedra::block([2, 2, 1], DVec3::new(0.2, 0.2, 0.1)), elastic),
            Some(SurfaceMaterial::default()),
        );
        let mut settings = Settings::with_time_step(5e-4);
        settings.scheme.treatment = Treatment::Penalty(Penalty {
            stiffness: 1e4,
            exponent: 1.0,
            damping: 5.0,
            implicit,
            ..Penalty::default()
        });
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        for _ in 0..2000 {
            stepper.step(&scene, &mut state).unwrap();
        }
        // Nine springs carry 4 kg: each node sinks until they balance.
        let sunk: f64 = (0..9).map(|n| -state.node(stepper.layout(), n).z).sum();
        let wanted = 4.0 * 9.81 / 1e4;
        assert!((sunk / wanted - 1.0).abs() < 1e-3, "implicit {implicit}: {sunk} {wanted}");
        assert!(scene.softs[id.index()].collider.is_some());
    }
}

#[test]
fn a_cylinder_that_overhangs_a_soft_block_touches_its_top_alone() {
    let mut scene = empty("overhang");
    scene.add_soft(
        "block",
        Soft::new(Tetrahedra::block([4, 3, 1], DVec3::new(0.4, 0.3, 0.1)), rubber()),
        Some(SurfaceMaterial::default()),
    );
    for (name, height) in [("touching", 0.125), ("overlapping", 0.122), ("apart", 0.128)] {
        let mut scene = scene.clone();
        let across = Pose {
            position: DVec3::new(0.23, 0.15, height),
            orientation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2),
        };
        let roll = scene.add_body(Body::fixed("roll").placed(across));
        scene.add_collider(
            roll,
            Shape::Cylinder { radius: 0.025, half_length: 0.4 },
            Pose::IDENTITY,
            SurfaceMaterial::default(),
        );
        let mut stepper = Stepper::new(
            &scene,
            Settings { contact_margin: 0.01, ..Settings::with_time_step(1e-3) },
        )
        .unwrap();
        stepper.step(&scene, &mut State::initial(&scene)).unwrap();
        assert!(stepper.contacts().len() >= 4, "{name}: {}", stepper.contacts().len());
        for contact in stepper.contacts() {
            // The roll is the second collider; its contacts look up, and are as deep as it was put.
            assert!(contact.normal.z > 0.7, "{name}: {contact:?}");
            assert!(contact.gap > height - 0.125 - 1e-3, "{name}: {contact:?}");
        }
    }
}
