//! Contacts against closed forms. Every step of every scene must be accepted, and its energy ledger
//! must close.

mod common;

use common::{ball, cuboid, euler, exact, floor, run};
use glam::DVec3;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Policy, Settings, Stepper};
use signorini_solve::math::pose::Pose;
use signorini_solve::solve::{Method, StoppingCriteria};

const G: f64 = 9.81;

/// Gravity turned by `angle`: an incline without turning the floor; downhill is x.
fn incline(angle: f64, mu: f64) -> (Scene, BodyId) {
    let mut scene = floor("incline", mu, 0.0);
    scene.gravity = G * DVec3::new(angle.sin(), 0.0, -angle.cos());
    let body = cuboid(&mut scene, "block", 1.0, DVec3::splat(0.2), DVec3::new(0.0, 0.0, 0.1));
    (scene, body)
}

#[test]
fn a_block_sticks_below_the_angle_of_friction_and_slides_above_it() {
    let mu = 0.5f64;
    let (h, steps) = (2e-3, 1000);
    let t = h * steps as f64;
    for (angle, slides) in [
        (20f64.to_radians(), false),
        (mu.atan() * 0.999, false),
        (mu.atan() * 1.01, true),
        (40f64.to_radians(), true),
    ] {
        let (scene, block) = incline(angle, mu);
        let end = run(&scene, euler(h), steps);
        // A semi-implicit step is exact for a constant acceleration: x = ½ a t (t + h).
        let a = if slides { G * (angle.sin() - mu * angle.cos()) } else { 0.0 };
        let x = end.position(block).x;
        // The solver stops at 1e-6 m/s in the worst row: 2e-6 m in 2 s, were it always on one side.
        assert!(
            (x - 0.5 * a * t * (t + h)).abs() < 2e-6,
            "{:.3}°: x = {x}, wanted {}",
            angle.to_degrees(),
            0.5 * a * t * (t + h)
        );
        assert!((end.position(block).z - 0.1).abs() < 2e-6);
    }
}

#[test]
fn a_sliding_block_stops_after_its_discrete_distance() {
    let (mu, v, h) = (0.3, 2.0, 1e-3);
    let mut scene = floor("stopping", mu, 0.0);
    let block =
        cuboid(&mut scene, "block", 3.0, DVec3::new(0.4, 0.2, 0.1), DVec3::new(0.0, 0.0, 0.05));
    scene.bodies[block.index()].velocity = DVec3::X * v;
    let end = run(&scene, euler(h), 1000);
    // v_n = v − n mu g h while positive; x = h Σ v_n.
    let n = (v / (mu * G * h)).floor();
    let exact = h * (n * v - 0.5 * n * (n + 1.0) * mu * G * h);
    let x = end.position(block).x;
    assert!((x - exact).abs() < 1e-6, "{x} against {exact}");
    // The continuous distance is within one step's travel.
    assert!((x - v * v / (2.0 * mu * G)).abs() < v * h);
    assert!(end.velocity(block).length() < 1e-6);
    // All of the kinetic energy went into friction, but for what the scheme took (first order in
    // h).
    assert!(
        (end.energy.friction - 0.5 * 3.0 * v * v).abs() < 0.5 * 3.0 * v * mu * G * h,
        "{:?}",
        end.energy
    );
}

#[test]
fn a_sliding_ball_ends_rolling_at_five_sevenths() {
    let (mu, v, h) = (0.2, 3.0, 1e-3);
    let mut scene = floor("rolling", mu, 0.0);
    let body = ball(&mut scene, "ball", 2.0, 0.1, DVec3::new(0.0, 0.0, 0.1));
    scene.bodies[body.index()].velocity = DVec3::X * v;
    let end = run(&scene, Settings::with_time_step(h), 800);
    // 2 v / (7 mu g) = 0.437 s of sliding; then it rolls for ever.
    let speed = end.velocity(body).x;
    assert!((speed - 5.0 / 7.0 * v).abs() < 1e-6, "{speed}");
    let omega = end.state.pose(body).vector(end.spin(body)).y;
    assert!((omega * 0.1 - speed).abs() < 1e-6);
}

#[test]
fn a_ball_rebounds_with_e_times_its_speed() {
    for e in [0.1, 0.5, 0.8, 1.0] {
        let mut scene = floor("rebound", 0.0, e);
        let body = ball(&mut scene, "ball", 1.0, 0.1, DVec3::new(0.0, 0.0, 0.5));
        let mut state = State::initial(&scene);
        let mut stepper = Stepper::new(&scene, euler(1e-3)).unwrap();
        let mut before = 0.0;
        for _ in 0..400 {
            let old = state.v[2];
            stepper.step(&scene, &mut state).unwrap();
            if old < 0.0 && state.v[2] >= -1e-9 {
                before = old;
                break;
            }
        }
        // Fallen 0.4 m: √(2·9.81·0.4) within one step's gain.
        assert!((before + (2.0 * G * 0.4f64).sqrt()).abs() < G * 2e-3, "{before}");
        assert!((state.v[2] + e * before).abs() < 1e-9, "e = {e}: {} after {before}", state.v[2]);
        // So the height of the next flight is e² times that of this one.
        let _ = body;
    }
}

#[test]
fn three_balls_in_a_row_share_an_impact_as_moreau_says() {
    let mut scene = Scene::new("cradle");
    scene.gravity = DVec3::ZERO;
    scene.materials[0] =
        Material { name: "steel".into(), mu: 0.0, restitution: 1.0, ..Material::default() };
    let balls: Vec<BodyId> = (0..3)
        .map(|i| ball(&mut scene, &format!("ball {i}"), 1.0, 0.1, DVec3::X * 0.2 * i as f64))
        .collect();
    scene.bodies[balls[0].index()].velocity = DVec3::X;
    let end = run(&scene, exact(1e-3), 1);
    for (ball, wanted) in balls.iter().zip([-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]) {
        assert!((end.velocity(*ball).x - wanted).abs() < 1e-9, "{}", end.velocity(*ball).x);
    }
}

#[test]
fn heavy_on_light_holds_at_any_mass_ratio() {
    for exponent in 1..=8 {
        let ratio = 10f64.powi(exponent);
        let mut scene = floor("heavy on light", 0.5, 0.0);
        cuboid(&mut scene, "light", 1.0, DVec3::splat(0.2), DVec3::Z * 0.1);
        let top = cuboid(&mut scene, "heavy", ratio, DVec3::splat(0.2), DVec3::Z * 0.3);
        let end = run(&scene, Settings::with_time_step(2e-3), 100);
        let z = end.position(top).z;
        assert!(
            (z - 0.3).abs() < 1e-6,
            "ratio {ratio:e}: the heavy box stands at {z}, wanted 0.3 m"
        );
    }
}

#[test]
fn the_four_legs_of_a_table_carry_its_weight() {
    let mut scene = floor("table", 0.5, 0.0);
    let leg = |x: f64, y: f64| Solid {
        shape: Shape::Box { half_extents: DVec3::new(0.03, 0.03, 0.35) },
        pose: Pose::at(DVec3::new(x, y, 0.35)),
        density: 600.0,
        surface: SurfaceMaterial::default(),
    };
    let top = Solid {
        shape: Shape::Box { half_extents: DVec3::new(0.6, 0.4, 0.02) },
        pose: Pose::at(DVec3::Z * 0.72),
        density: 700.0,
        surface: SurfaceMaterial::default(),
    };
    let parts = [top, leg(0.5, 0.3), leg(-0.5, 0.3), leg(0.5, -0.3), leg(-0.5, -0.3)];
    let table = scene.add_solid("table", Pose::IDENTITY, &parts).unwrap();
    let mass = scene.bodies[table.index()].mass().unwrap().mass;
    assert!((mass - (700.0 * 1.2 * 0.8 * 0.04 + 4.0 * 600.0 * 0.06 * 0.06 * 0.7)).abs() < 1e-9);
    let h = 2e-3;
    let end = run(&scene, exact(h), 50);
    let force: DVec3 = end.state.reactions.contacts.iter().map(|c| c.impulse / h).sum();
    assert!(end.state.reactions.contacts.len() >= 4);
    // Impulses act on the second body, which is the table (the floor is the first collider).
    assert!((force.z - mass * G).abs() < 1e-6 * mass * G, "{force} against {}", mass * G);
    assert!(force.truncate().length() < 1e-6 * mass * G);
    assert!(end.position(table).distance(scene.bodies[table.index()].pose.position) < 1e-6);
}

#[test]
fn free_collisions_keep_the_momentum() {
    let mut scene = Scene::new("free collisions");
    scene.gravity = DVec3::ZERO;
    scene.materials[0].mu = 0.4;
    scene.materials[0].restitution = 0.6;
    let mut balls = Vec::new();
    for i in 0..12 {
        let at = 0.26 * DVec3::new((i % 3) as f64, (i / 3 % 2) as f64, (i / 6) as f64);
        let id = ball(&mut scene, &format!("ball {i}"), 1.0 + i as f64, 0.1, at);
        let body = &mut scene.bodies[id.index()];
        body.velocity = DVec3::new(0.26, 0.13, 0.13) - at
            + 0.1 * DVec3::new((i as f64).sin(), (2.0 * i as f64).sin(), (3.0 * i as f64).sin());
        body.spin = 3.0 * DVec3::new((4.0 * i as f64).sin(), (5.0 * i as f64).cos(), 0.3);
        balls.push(id);
    }
    let momentum = |state: &State, layout: &Layout| {
        let (mut linear, mut angular) = (DVec3::ZERO, DVec3::ZERO);
        for &id in &balls {
            let (mass, pose, (v, w)) =
                (scene.bodies[id.index()].mass().unwrap(), state.pose(id), state.twist(layout, id));
            linear += mass.mass * v;
            angular += pose.position.cross(mass.mass * v) + pose.vector(mass.inertia * w);
        }
        (linear, angular)
    };
    let layout = Layout::of(&scene);
    let before = momentum(&State::initial(&scene), &layout);
    for (settings, angular) in [(euler(2e-3), 1e-11), (Settings::with_time_step(2e-3), 2e-3)] {
        let end = run(&scene, settings, 300);
        let after = momentum(&end.state, &layout);
        assert!(end.energy.impact > 0.1, "they did collide: {:?}", end.energy);
        // 300 steps, 78 kg at some m/s: rounding of about 1e-14 each. Leapfrog: impacts of three
        // balls within one step are of first order, each off by h times the tangential velocity of
        // some cm/s; two balls keep the angular momentum (`leapfrog.rs`).
        assert!((after.0 - before.0).length() < 1e-11, "{} {}", before.0, after.0);
        assert!((after.1 - before.1).length() < angular, "{} {}", before.1, after.1);
    }
}

#[test]
fn a_belt_carries_a_box_up_to_its_own_speed() {
    let (mu, speed, h) = (0.4, 0.8, 1e-3);
    let mut scene = floor("belt", mu, 0.0);
    scene.surface_materials[0].belt = DVec3::X * speed;
    let body = cuboid(&mut scene, "box", 2.0, DVec3::splat(0.2), DVec3::Z * 0.1);
    let half = run(&scene, Settings::with_time_step(h), 100);
    assert!((half.velocity(body).x - mu * G * 0.1).abs() < 1e-6);
    let end = run(&scene, Settings::with_time_step(h), 400);
    assert!((end.velocity(body).x - speed).abs() < 1e-6);
    // The belt gives twice what the box gets; friction takes the other half (first order in h).
    let kinetic = 0.5 * 2.0 * speed * speed;
    assert!((end.energy.motors - 2.0 * kinetic).abs() < 0.01 * kinetic, "{:?}", end.energy);
    assert!((end.energy.friction - kinetic).abs() < 0.01 * kinetic);
}

#[test]
fn an_imposed_body_pushes_and_is_not_pushed() {
    let mut scene = floor("pusher", 0.0, 0.0);
    let wall = scene.add_body_with_shape(
        Body::imposed("pusher", Motion::along(DVec3::X, |d| Function::rate(0.5 * d)))
            .at(DVec3::new(-0.2, 0.0, 0.11)),
        Shape::Box { half_extents: DVec3::splat(0.1) },
    );
    let body = cuboid(&mut scene, "box", 5.0, DVec3::splat(0.2), DVec3::new(0.05, 0.0, 0.1));
    let end = run(&scene, exact(1e-3), 1000);
    assert!((end.position(wall).x - 0.3).abs() < 1e-12);
    // Flush with the pusher and as fast; gap 0 within what the tolerance of the velocity leaves.
    assert!((end.velocity(body).x - 0.5).abs() < 1e-6);
    assert!((end.position(body).x - 0.5).abs() < 2e-6, "{}", end.position(body));
    assert!((end.energy.motors - end.energy.kinetic - end.energy.impact).abs() < 1e-5);
}

#[test]
fn a_compliant_floor_gives_way_by_the_weight_over_its_stiffness() {
    let mut scene = floor("compliant", 0.3, 0.0);
    scene.materials[0].compliance = 0.5e-4;
    scene.materials[0].damping = 600.0;
    let body = ball(&mut scene, "ball", 10.0, 0.1, DVec3::Z * 0.1);
    let end = run(&scene, exact(1e-3), 2000);
    // Two surfaces in a row: 1e-4 m/N, 98.1 N.
    let sunk = 0.1 - end.position(body).z;
    assert!((sunk - 98.1e-4).abs() < 1e-7, "{sunk}");
}

#[test]
fn mirroring_or_renumbering_a_scene_changes_nothing() {
    let build = |order: &[usize], mirror: f64| {
        let mut scene = floor("pile", 0.5, 0.0);
        let mut ids = [BodyId(0); 4];
        for &i in order {
            let (x, y) = ([0.0, 0.13, -0.11, 0.02][i], [0.0, 0.03, 0.05, 0.01][i]);
            let z = [0.1, 0.32, 0.31, 0.55][i];
            ids[i] = ball(
                &mut scene,
                &format!("ball {i}"),
                [4.0, 1.0, 2.0, 0.5][i],
                0.1,
                DVec3::new(x, mirror * y, z),
            );
        }
        (scene, ids)
    };
    let settings = Settings {
        stop: StoppingCriteria {
            tolerance: signorini_solve::problem::Tolerance {
                relative: 1e-16,
                velocity: 1e-9,
                bound: None,
                velocity_relative: 0.0,
            },
            ..StoppingCriteria::default()
        },
        ..Settings::with_time_step(1e-3)
    };
    let (reference, ids) = build(&[0, 1, 2, 3], 1.0);
    let end = run(&reference, settings.clone(), 150);
    for (order, mirror) in [([3, 1, 0, 2], 1.0), ([0, 1, 2, 3], -1.0), ([2, 3, 1, 0], -1.0)] {
        let (scene, other) = build(&order, mirror);
        let again = run(&scene, settings.clone(), 150);
        for (a, b) in ids.iter().zip(other) {
            let (p, mut q) = (end.position(*a), again.position(b));
            q.y *= mirror;
            // 150 steps at 1e-9 m/s, grown by the unstable pile by less than a hundred.
            assert!(p.distance(q) < 1e-8, "{order:?} {mirror}: {p} against {q}");
        }
    }
}

#[test]
fn a_step_that_is_not_accepted_is_never_applied_silently() {
    // Without friction: with it the choice of rest would find what the sweep does not.
    let mut scene = floor("stack", 0.0, 0.0);
    for i in 0..6 {
        cuboid(
            &mut scene,
            &format!("box {i}"),
            10f64.powi(i),
            DVec3::splat(0.2),
            DVec3::Z * (0.1 + 0.2 * i as f64),
        );
    }
    // One sweep is not enough for six decades.
    let hopeless = Settings {
        solver: Method::Psor,
        stop: StoppingCriteria { work: Some(1), ..StoppingCriteria::default() },
        ..Settings::with_time_step(1e-2)
    };
    let state = State::initial(&scene);
    let (mut said, mut stopped, mut halved) = (state.clone(), state.clone(), state.clone());
    let verdict = Stepper::new(&scene, hopeless.clone()).unwrap().step(&scene, &mut said).unwrap();
    assert!(!verdict.accepted && said != state);
    assert!(verdict.worst_name(&scene).contains("contact"), "{}", verdict.worst_name(&scene));
    let refused = Stepper::new(&scene, Settings { policy: Policy::Stop, ..hopeless.clone() })
        .unwrap()
        .step(&scene, &mut stopped)
        .unwrap_err();
    assert!(refused.to_string().contains("box"), "{refused}");
    assert_eq!(stopped, state);
    let verdict =
        Stepper::new(&scene, Settings { policy: Policy::Substep, halvings: 2, ..hopeless })
            .unwrap()
            .step(&scene, &mut halved)
            .unwrap();
    assert_eq!(verdict.substeps, 4);
    assert!(!verdict.accepted && (halved.time - 1e-2).abs() < 1e-15);
    assert!(verdict.energy.residual().abs() < 1e-12 * verdict.energy.throughput);
}

/// A step that fails in its second half leaves nothing of its first half behind.
///
/// A hinged body keeps rows in the problem, which can never be accepted; a ball is pushed so hard
/// that only the second half of the step sees the wall, for which `direct` has no law.
#[test]
fn a_step_that_fails_halfway_leaves_the_state_as_it_was() {
    let mut scene = Scene::new("halfway");
    scene.gravity = DVec3::ZERO;
    let bob = scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.05)).at(DVec3::Z));
    scene.add_joint(
        "hinge",
        JointKind::Revolute,
        (BodyId::GROUND, bob),
        frame(DVec3::ZERO, DVec3::Y),
    );
    let ball = scene.add_body_with_shape(
        Body::rigid("ball", Mass::sphere(1.0, 0.1)).at(DVec3::new(0.0, 5.0, 0.2)),
        Shape::Sphere { radius: 0.1 },
    );
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    let push = [Function::default(), Function::default(), Function::Constant(-2000.0)];
    let applied = Applied {
        body: ball,
        point: DVec3::ZERO,
        force: push,
        torque: Default::default(),
        frame: Frame::World,
    };
    scene.add_force("push", ForceKind::Applied(Box::new(applied)));
    let never = signorini_solve::problem::Tolerance {
        relative: -1.0,
        velocity: -1.0,
        bound: None,
        velocity_relative: 0.0,
    };
    let stop = StoppingCriteria { tolerance: never, ..StoppingCriteria::default() };
    let coordinates = signorini_mechanics::assemble::Coordinates::Bodies;
    let settings = Settings {
        solver: Method::Direct,
        stop,
        policy: Policy::Substep,
        halvings: 1,
        coordinates,
        ..euler(1e-2)
    };
    let mut stepper = Stepper::new(&scene, settings.clone()).unwrap();
    let mut state = State::initial(&scene);
    let before = state.clone();
    // The first half alone succeeds and moves the ball.
    let mut half =
        Stepper::new(&scene, Settings { h: 5e-3, policy: Policy::AcceptWithWarning, ..settings })
            .unwrap();
    let mut moved = state.clone();
    half.step(&scene, &mut moved).unwrap();
    assert!(moved.pose(ball).position != before.pose(ball).position);
    assert!(half.step(&scene, &mut moved).is_err(), "the second half meets the wall");
    assert!(stepper.step(&scene, &mut state).is_err());
    assert_eq!(state, before);
}
