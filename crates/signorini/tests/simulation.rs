//! Facts about [`Simulation`]: what it says agrees with closed forms, with the stepper, and with
//! itself after a restart.

use signorini::prelude::*;

const G: f64 = 9.81;

/// A crate of 2 kg and edge 0.2 m on a floor, pushed or not.
fn crate_on_floor(mu: f64) -> Simulation {
    let mut scene = Scene::new("crate");
    scene.materials[0].mu = mu;
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    let mass = Mass::cuboid(2.0, DVec3::splat(0.2));
    scene.add_body_with_shape(
        Body::rigid("crate", mass).at(DVec3::Z * 0.1),
        Shape::Box { half_extents: DVec3::splat(0.1) },
    );
    Simulation::new(scene, Settings::with_time_step(1e-3)).unwrap()
}

/// A pendulum with a torque motor, 1 kg, 0.5 m from its hinge.
fn pendulum() -> Simulation {
    let mut scene = Scene::new("pendulum");
    let arm = scene.add_body(
        Body::rigid("arm", Mass::cuboid(1.0, DVec3::new(0.02, 0.02, 1.0))).at(DVec3::Z * -0.5),
    );
    let hinge = scene.add_joint(
        "knee",
        JointKind::Revolute,
        (BodyId::GROUND, arm),
        frame(DVec3::ZERO, DVec3::Y),
    );
    scene.add_motor("drive", hinge, Coordinate::Angle, Drive::Effort(0.0.into()));
    Simulation::new(scene, Settings::with_time_step(1e-3)).unwrap()
}

#[test]
fn a_crate_at_rest_weighs_what_it_weighs_and_sticks() {
    let mut sim = crate_on_floor(0.5);
    sim.run_until(0.05).unwrap();
    let between = sim.forces_between("ground", "crate").unwrap();
    // The verdict allows velocity errors of 1e-6 m/s in a step of 1e-3 s: 1e-3 m/s² of 9.81.
    assert!((between.force.z - 2.0 * G).abs() < 2e-3 * G, "{between:?}");
    assert!(between.torque.length() < 1e-2 && between.contacts == 4, "{between:?}");
    let back = sim.forces_between("crate", "ground").unwrap();
    assert_eq!(back.force, -between.force);
    for contact in sim.contacts() {
        assert_eq!(contact.status, ContactStatus::Stick);
        assert!((contact.force - contact.impulse / 1e-3).length() < 1e-9);
        assert!((contact.normal.z.abs() - 1.0).abs() < 1e-12 && contact.slip.length() < 1e-6);
    }
}

#[test]
fn a_pushed_crate_slides_with_what_friction_leaves() {
    let (mu, push) = (0.3, 12.0);
    let mut sim = crate_on_floor(mu);
    sim.step().unwrap();
    for _ in 0..200 {
        let center = sim.body("crate").unwrap().center_of_mass();
        // At the height of the floor the push does not tilt it.
        sim.apply_force("crate", DVec3::X * push, DVec3::new(center.x, center.y, 0.0)).unwrap();
        sim.step().unwrap();
    }
    // a = F/m − μ g, exactly in every step of a constant force. Each impulse acts from half a step
    // before to half a step after the beginning of its step, so the last one acts half a step more.
    let v = sim.body("crate").unwrap().velocity();
    let a = push / 2.0 - mu * G;
    let wanted = a * 0.2005;
    assert!((v.x - wanted).abs() < 1e-4 && v.y.abs() < 1e-6, "{v} {wanted}");
    assert!(
        sim.contacts()
            .iter()
            .filter(|c| c.status != ContactStatus::Open)
            .all(|c| c.status == ContactStatus::Slip)
    );
    assert!(
        sim.contacts()
            .iter()
            .any(|c| c.status == ContactStatus::Slip && (c.slip.x.abs() - wanted).abs() < 1e-4)
    );
    // The force acted in those steps only.
    sim.step().unwrap();
    let slower = sim.body("crate").unwrap().velocity().x;
    assert!((slower - (a * 0.2 - mu * G * 1.5e-3)).abs() < 1e-4, "{slower}");
    // A material may change: without friction it keeps its speed.
    sim.material_mut("default").unwrap().mu = 0.0;
    sim.step().unwrap();
    let free = sim.body("crate").unwrap().velocity().x;
    assert!((free - (a * 0.2 - mu * G * 1e-3)).abs() < 1e-4, "{free}");
    sim.step().unwrap();
    assert!((sim.body("crate").unwrap().velocity().x - free).abs() < 1e-9);
}

#[test]
fn a_torque_turns_a_joint_and_its_rate_is_the_derivative_of_its_angle() {
    let mut sim = pendulum();
    sim.set_gravity(DVec3::ZERO).unwrap();
    // Inertia about the hinge: m (l² + w²)/12 + m l²/4.
    let inertia = (1.0 + 0.02f64.powi(2)) / 12.0 + 0.25;
    sim.motor_mut("knee").unwrap().set_torque(0.5);
    let mut before = sim.joint("knee").unwrap().angle();
    for _ in 0..100 {
        sim.step().unwrap();
        let joint = sim.joint("knee").unwrap();
        // Positions follow the new velocities: the difference quotient is the new rate, but for the
        // turn within a step.
        assert!(((joint.angle() - before) / 1e-3 - joint.rate()).abs() < 1e-3);
        before = joint.angle();
    }
    let rate = sim.joint("knee").unwrap().rate();
    assert!((rate - 0.5 * 0.1 / inertia).abs() < 2e-3 * rate, "{rate}");
    assert_eq!(sim.motor("drive").unwrap().effort(), 0.5);
    let work = sim.ledger().motors;
    assert!((work - 0.5 * before).abs() < 2e-2 * work, "{work} {before}");
}

#[test]
fn the_reaction_of_a_hinge_carries_the_weight_and_is_unique_across_its_axis() {
    let mut sim = pendulum();
    assert!(sim.joint("knee").unwrap().reaction().is_none());
    sim.step().unwrap();
    let reaction = sim.joint("knee").unwrap().reaction().unwrap();
    // On the arm, the second body.
    assert!((reaction.world.force - DVec3::Z * G).length() < 1e-6 * G, "{reaction:?}");
    assert!(reaction.unique.iter().all(|u| *u));
}

#[test]
fn the_motor_of_a_joint_holds_its_target() {
    let mut sim = pendulum();
    sim.motor_mut("knee").unwrap().set_speed(1.0);
    sim.run_until(0.1).unwrap();
    assert!((sim.joint("knee").unwrap().rate() - 1.0).abs() < 1e-6);
    let angle = sim.joint("knee").unwrap().angle();
    sim.motor_mut("knee").unwrap().set_target(angle);
    sim.run_until(0.2).unwrap();
    let joint = sim.joint("knee").unwrap();
    assert!((joint.angle() - angle).abs() < 1e-6 && joint.rate().abs() < 1e-6);
    // Held still it gives the torque of the weight.
    let torque = sim.motor("knee").unwrap().effort();
    assert!((torque.abs() - G * 0.5 * angle.sin().abs()).abs() < 1e-3, "{torque}");
}

#[test]
fn what_was_saved_goes_on_to_the_same_bits() {
    let mut sim = Simulation::load("brick").unwrap();
    sim.run_until(0.2).unwrap();
    sim.apply_central_force(sim.scene().body_named("brick").unwrap(), DVec3::X).unwrap();
    let (saved, ledger) = (sim.save(), *sim.ledger());
    let mut ends = Vec::new();
    for round in 0..3 {
        if round == 2 {
            // Also by another program that reads the scene anew.
            sim = Simulation::load("brick").unwrap();
        }
        if round > 0 {
            sim.restore(&saved).unwrap();
            assert_eq!(*sim.ledger(), ledger);
        }
        let place = sim.state().poses.as_ptr();
        for _ in 0..50 {
            sim.step().unwrap();
        }
        assert_eq!(place, sim.state().poses.as_ptr(), "views stay where they are");
        ends.push((sim.raw_state().clone(), *sim.ledger()));
    }
    assert_eq!(ends[0].0.hash(), ends[1].0.hash());
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0], ends[2]);
}

#[test]
fn foreign_bytes_are_refused_and_change_nothing() {
    let mut sim = pendulum();
    sim.step().unwrap();
    let (before, other) = (sim.raw_state().clone(), crate_on_floor(0.5).save());
    for bytes in [&b"nonsense"[..], b"{}", &other] {
        assert!(matches!(sim.restore(bytes), Err(SimulationError::Restore(_))));
        assert_eq!(*sim.raw_state(), before);
    }
}

#[test]
fn wrong_names_and_numbers_are_answered() {
    let mut sim = pendulum();
    let message = sim.joint("kne").err().unwrap().to_string();
    assert_eq!(message, "there is no joint `kne`; there are knee");
    assert!(
        sim.body(BodyId(7)).is_err()
            && sim.motor_mut("arm").is_err()
            && sim.material_mut("ice").is_err()
    );
    assert!(sim.apply_central_force("ground", DVec3::X).is_err());
    assert!(sim.apply_central_force("arm", DVec3::NAN).is_err());
    assert!(
        sim.set_time_step(0.0).is_err()
            && sim.set_time_step(f64::NAN).is_err()
            && sim.set_gravity(DVec3::NAN).is_err()
    );
    let before = sim.raw_state().clone();
    sim.motor_mut("knee").unwrap().set_torque(f64::NAN);
    let message = sim.step().err().unwrap().to_string();
    assert!(message.starts_with("motor `drive`") && message.contains("NaN"), "{message}");
    assert_eq!(*sim.raw_state(), before);
    sim.motor_mut("knee").unwrap().set_torque(0.0);
    sim.material_mut("default").unwrap().mu = -1.0;
    assert!(sim.step().is_err());
    sim.material_mut("default").unwrap().mu = 1.0;
    sim.step().unwrap();
    assert!(Simulation::load("no such file").is_err());
    assert!(sim.run_until(f64::NAN).unwrap().steps == 0 && sim.run_until(-1.0).unwrap().steps == 0);
}

#[test]
fn flat_arrays_say_what_the_views_say() {
    let mut sim = Simulation::load("gripper").unwrap();
    sim.run_until(0.02).unwrap();
    let state = sim.state();
    let n = sim.scene().bodies.len();
    assert_eq!((state.poses.len(), state.velocities.len()), (7 * n, 6 * n));
    for i in 0..n {
        let body = sim.body(BodyId(i as u32)).unwrap();
        assert_eq!(DVec3::from_slice(&state.poses[7 * i..]), body.center_of_mass());
        assert_eq!(DQuat::from_slice(&state.poses[7 * i + 3..]), body.orientation());
        assert_eq!(DVec3::from_slice(&state.velocities[6 * i..]), body.center_of_mass_velocity());
        assert_eq!(DVec3::from_slice(&state.velocities[6 * i + 3..]), body.angular_velocity());
    }
}

#[test]
fn what_is_set_is_read() {
    let mut sim = pendulum();
    let pose = Pose::turned(DVec3::new(0.0, 0.0, -0.1), DVec3::Y * 0.3);
    sim.set_pose("arm", pose).unwrap();
    sim.set_velocity("arm", DVec3::X, DVec3::new(0.1, 0.2, 0.3)).unwrap();
    let body = sim.body("arm").unwrap();
    assert!((body.position() - pose.position).length() < 1e-15);
    assert_eq!(body.center_of_mass_velocity(), DVec3::X);
    assert!((body.angular_velocity() - DVec3::new(0.1, 0.2, 0.3)).length() < 1e-15);
    assert!((sim.joint("knee").unwrap().angle() - 0.3).abs() < 1e-12);
}

#[test]
fn a_simulation_can_go_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    sendable(&pendulum());
}

#[test]
fn a_quarter_of_a_million_steps_are_no_step_more() {
    // The sum of 250,000 steps of 2e-7 s ends 7e-6 steps before 0.05 s, by rounding.
    let mut scene = Scene::new("fall");
    scene.add_body(Body::rigid("ball", Mass::sphere(1.0, 0.1)));
    let mut sim = Simulation::new(scene, Settings::with_time_step(2e-7)).unwrap();
    assert_eq!(sim.run_until(0.05).unwrap().steps, 250_000);
    // A time that is no multiple of the step takes the step that passes it.
    assert_eq!(sim.run_until(0.05 + 0.3e-7).unwrap().steps, 1);
    assert!(sim.reached(f64::NAN) && !sim.reached(1.0));
}
