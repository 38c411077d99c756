//! Impacts, friction and stacks.

use super::*;

#[test]
fn an_elastic_ball_bounces_for_ever() {
    let mut scene = floor("elastic", 0.0, 1.0);
    let id = ball(&mut scene, "ball", 1.0, 0.1, DVec3::Z * 1.1);
    // Each flight takes 2 √(2/g); no impact falls on the end of a step.
    let (h, flight) = (2.5e-3, 2.0 * (2.0 / G).sqrt());
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, leapfrog(h)).unwrap();
    let (mut worst, mut energy) = (0.0f64, 0.0);
    for i in 1..=8000 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.energy.residual().abs() < 1e-12 * verdict.energy.throughput);
        let t = (h * i as f64 + 0.5 * flight) % flight;
        let height = 0.1 + (2.0 * G).sqrt() * t - 0.5 * G * t * t;
        worst = worst.max((state.pose(id).position.z - height).abs());
        energy += (verdict.energy.kinetic + verdict.energy.potential - 1.1 * G).powi(2);
    }
    assert!(worst < 1e-9, "{worst} m");
    assert!(energy / 8000.0 < 1e-15, "{} J²", energy / 8000.0);
}

#[test]
fn a_ball_rebounds_to_the_square_of_its_restitution_and_comes_to_rest() {
    let (e, h) = (0.5, 2.5e-3);
    let mut scene = floor("rebound", 0.0, e);
    let id = ball(&mut scene, "ball", 1.0, 0.1, DVec3::Z * 1.1);
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, leapfrog(h)).unwrap();
    // Impacts at t₀ = √(2/g), then every 2 eⁿ t₀, down to the rebound threshold.
    let first = (2.0 / G).sqrt();
    let exact = |t: f64| {
        let (mut begun, mut speed) = (first, e * G * first);
        if t < begun {
            return Some(1.1 - 0.5 * G * t * t);
        }
        while speed > 4e-2 {
            let flight = 2.0 * speed / G;
            if t < begun + flight {
                return Some(0.1 + speed * (t - begun) - 0.5 * G * (t - begun).powi(2));
            }
            (begun, speed) = (begun + flight, e * speed);
        }
        None
    };
    let (mut worst, mut impact, mut last) = (0.0f64, 0.0, 0.0);
    for i in 1..=1000 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        if let Some(height) = exact(h * i as f64) {
            worst = worst.max((state.pose(id).position.z - height).abs());
        }
        impact += verdict.energy.impact;
        last = verdict.energy.kinetic + verdict.energy.potential;
        assert!(last < 1.1 * G + 1e-12);
    }
    assert!(worst < 1e-9, "{worst} m");
    assert!((state.pose(id).position.z - 0.1).abs() < 1e-9 && state.v[2].abs() < 1e-9, "at rest");
    assert!(
        (impact - (1.1 * G - last)).abs() < 1e-3 * G,
        "impacts took all of it: {impact} of {}",
        1.1 * G - last
    );
}

#[test]
fn a_block_slides_and_stops_as_the_continuous_law_says() {
    let (mu, v, h) = (0.3, 2.0, 1e-2);
    let mut scene = floor("stopping", mu, 0.0);
    let block =
        cuboid(&mut scene, "block", 3.0, DVec3::new(0.4, 0.2, 0.1), DVec3::new(0.0, 0.0, 0.05));
    scene.bodies[block.index()].velocity = DVec3::X * v;
    let end = run(&scene, leapfrog(h), 100);
    let x = end.position(block).x;
    // Only the step in which it stops is not exact: mu g h²/8.
    assert!((x - v * v / (2.0 * mu * G)).abs() < mu * G * h * h / 8.0 + 1e-8, "{x}");
    assert!(end.velocity(block).length() < 1e-8);
    assert!((end.energy.friction - 6.0).abs() < 3.0 * (mu * G * h).powi(2), "{:?}", end.energy);
}

#[test]
fn a_block_sticks_below_the_angle_of_friction_and_slides_above_it() {
    let mu = 0.5f64;
    let (h, steps) = (2e-3, 1000);
    let t = h * steps as f64;
    for (angle, slides) in
        [(20f64.to_radians(), false), (mu.atan() * 0.999, false), (40f64.to_radians(), true)]
    {
        let mut scene = floor("incline", mu, 0.0);
        scene.gravity = G * DVec3::new(angle.sin(), 0.0, -angle.cos());
        let block = cuboid(&mut scene, "block", 1.0, DVec3::splat(0.2), DVec3::Z * 0.1);
        let end = run(&scene, leapfrog(h), steps);
        let a = if slides { G * (angle.sin() - mu * angle.cos()) } else { 0.0 };
        // The solver stops at 1e-9 m/s: 2e-9 m in 2 s, and it begins with a force that is not known
        // yet.
        assert!(
            (end.position(block).x - 0.5 * a * t * t).abs() < 1e-8,
            "{:.1}°: {}",
            angle.to_degrees(),
            end.position(block).x
        );
        assert!((end.position(block).z - 0.1).abs() < 1e-8);
    }
}

#[test]
fn a_sliding_ball_begins_to_roll_where_the_continuous_law_says() {
    let (mu, v, h, n) = (0.2, 3.0, 1e-2, 80);
    let mut scene = floor("rolling", mu, 0.0);
    let body = ball(&mut scene, "ball", 2.0, 0.1, DVec3::Z * 0.1);
    scene.bodies[body.index()].velocity = DVec3::X * v;
    let end = run(&scene, leapfrog(h), n);
    let slid = 2.0 * v / (7.0 * mu * G);
    let x = v * slid - 0.5 * mu * G * slid * slid + 5.0 / 7.0 * v * (h * n as f64 - slid);
    // The step in which it begins to roll: mu g h²/8.
    assert!(
        (end.position(body).x - x).abs() < mu * G * h * h / 8.0 + 1e-8,
        "{} against {x}",
        end.position(body).x
    );
    assert!((end.velocity(body).x - 5.0 / 7.0 * v).abs() < 1e-8);
}

#[test]
fn a_stack_stands_and_a_dropped_one_gains_no_energy() {
    for drop in [0.0, 0.05] {
        let mut scene = floor("stack", 0.5, 0.0);
        let ids: Vec<BodyId> = (0..3)
            .map(|i| {
                cuboid(
                    &mut scene,
                    &format!("box {i}"),
                    1.0,
                    DVec3::splat(0.2),
                    DVec3::Z * (0.1 + drop + (0.2 + drop) * i as f64),
                )
            })
            .collect();
        let mut state = State::initial(&scene);
        let mut stepper = Stepper::new(&scene, leapfrog(5e-3)).unwrap();
        let mut energy = f64::INFINITY;
        for i in 0..400 {
            let verdict = stepper.step(&scene, &mut state).unwrap();
            assert!(verdict.penetration < 1e-7, "step {i}: overlap {}", verdict.penetration);
            let now = verdict.energy.kinetic + verdict.energy.potential;
            // In the step of an impact the velocity at its end is extrapolated with the
            // acceleration before it: m g h u of 3 kg.
            // At rest the solver leaves 1e-9 m/s: m g h times that.
            assert!(
                now < energy + if drop > 0.0 { 0.2 } else { 1e-9 },
                "step {i}: {energy} J → {now} J"
            );
            energy = energy.min(now);
        }
        for (i, id) in ids.iter().enumerate() {
            let off = (state.pose(*id).position - DVec3::Z * (0.1 + 0.2 * i as f64)).length();
            assert!(off < if drop > 0.0 { 1e-6 } else { 1e-8 }, "box {i} is off by {off}");
        }
        assert!(state.v.iter().all(|v| v.abs() < 1e-6));
    }
}

#[test]
fn an_oblique_impact_of_two_balls_keeps_the_angular_momentum() {
    // The normal of the impact is that of its own time: at 5 ms the balls pass each other by 15 mm
    // per step, a tenth of their distance.
    for (mu, e) in [(0.0, 1.0), (0.0, 0.3), (0.4, 0.6)] {
        let mut scene = weightless("oblique");
        scene.materials[0] =
            Material { name: "steel".into(), mu, restitution: e, ..Material::default() };
        let (a, b) = (
            ball(&mut scene, "a", 1.0, 0.1, DVec3::ZERO),
            ball(&mut scene, "b", 3.0, 0.06, DVec3::new(0.4, 0.11, 0.02)),
        );
        scene.bodies[a.index()].velocity = DVec3::new(3.0, 0.2, 0.1);
        scene.bodies[b.index()].spin = DVec3::new(5.0, -20.0, 8.0);
        let layout = Layout::of(&scene);
        let sum = |state: &State| {
            [a, b].into_iter().fold((DVec3::ZERO, DVec3::ZERO), |sum, id| {
                let (mass, pose, (v, w)) = (
                    scene.bodies[id.index()].mass().unwrap(),
                    state.pose(id),
                    state.twist(&layout, id),
                );
                let angular = pose.position.cross(mass.mass * v) + pose.vector(mass.inertia * w);
                (sum.0 + mass.mass * v, sum.1 + angular)
            })
        };
        let before = sum(&State::initial(&scene));
        let end = run(&scene, leapfrog(5e-3), 60);
        assert!(end.velocity(b).length() > 0.1, "they met");
        let after = sum(&end.state);
        // 60 steps with numbers of order one; the time of impact is found to rounding.
        assert!(
            (after.0 - before.0).length() < 1e-12 && (after.1 - before.1).length() < 1e-12,
            "{before:?} {after:?}"
        );
        if e == 1.0 {
            assert!(
                (end.energy.kinetic / end.energy.kinetic_before - 1.0).abs() < 1e-12,
                "{:?}",
                end.energy
            );
        }
    }
}

#[test]
fn a_ball_on_a_shaken_table_rebounds_at_the_speed_of_the_table() {
    // A table that rises at a constant acceleration meets a ball that floats: u_i is their relative
    // velocity at that very time.
    let mut scene = weightless("shaken");
    scene.materials[0] =
        Material { name: "steel".into(), mu: 0.0, restitution: 1.0, ..Material::default() };
    let rise = Motion {
        translation: [Function::default(), Function::default(), Function::sine(0.1, 1.0)],
        ..Motion::default()
    };
    scene.add_body_with_shape(
        Body::imposed("table", rise).at(DVec3::Z * -0.1),
        signorini_mechanics::geometry::Shape::Box { half_extents: DVec3::new(1.0, 1.0, 0.1) },
    );
    let id = ball(&mut scene, "ball", 1.0, 0.1, DVec3::Z * 0.15);
    // The table is at 0.05 m, and meets the ball, when sin(2πt) = ½.
    let wanted = 2.0 * 0.1 * std::f64::consts::TAU * (30f64.to_radians()).cos();
    let errors: Vec<f64> = [8e-3, 4e-3, 2e-3]
        .map(|h| (run(&scene, leapfrog(h), (0.2 / h) as usize).velocity(id).z - wanted).abs())
        .to_vec();
    assert!(errors.iter().zip([8e-3f64, 4e-3, 2e-3]).all(|(e, h)| *e < 20.0 * h * h), "{errors:?}");
}

/// The time of an impact was cut where a resting contact of the same island jumped by rounding: a
/// finger stopped before it touched, and the grip drifted sideways.
#[test]
fn two_fingers_that_close_at_once_leave_the_part_where_it_is() {
    let (gap, speed, h) = (0.035, 0.05, 2e-3);
    let mut scene = floor("grip", 0.5, 0.0);
    let part = cuboid(&mut scene, "part", 0.5, DVec3::splat(0.04), DVec3::Z * 0.02);
    for (side, name) in [(-1.0, "left"), (1.0, "right")] {
        let place = DVec3::new(side * (gap + 0.025), 0.0, 0.03);
        let finger = cuboid(&mut scene, name, 0.04, DVec3::new(0.01, 0.04, 0.04), place);
        let axis = frame(place, -side * DVec3::X);
        let slide = scene.add_joint(name, JointKind::Prismatic, (BodyId::GROUND, finger), axis);
        let drive = Drive::LimitedSpeed { speed: Function::Constant(speed), effort: 40.0 };
        scene.add_motor(name, slide, Coordinate::Slide, drive);
    }
    // Default tolerance: 1e-6 m/s.
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(h)).unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..500 {
        assert!(stepper.step(&scene, &mut state).unwrap().accepted);
    }
    // Where the fingers close the velocities are wrong by 1e-6 m/s in a few steps.
    let x = state.pose(part).position.x;
    assert!(x.abs() < 1e-7 && state.v[0].abs() < 1e-5, "{x} m, {} m/s", state.v[0]);
    for finger in [BodyId(part.0 + 1), BodyId(part.0 + 2)] {
        let reached = state.pose(finger).position.x.abs() - 0.025;
        assert!(reached.abs() < 1e-6, "{reached} m");
    }
}
