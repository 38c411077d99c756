//! Impacts and kinks: no worse than the Euler scheme, and what accuracy costs with them.

use super::*;

/// A slender block on its edge, tilted by half of the angle at which it would fall over; its
/// half-diagonal, m, and the angle of that with its side, rad.
const DIAGONAL: f64 = 0.6;
const SLENDERNESS: f64 = 0.2;

fn rocking() -> (Scene, BodyId) {
    let mut scene = floor("rocking", 5.0, 0.0);
    let (b, height) = (DIAGONAL * SLENDERNESS.sin(), DIAGONAL * SLENDERNESS.cos());
    let tilt = 0.5 * SLENDERNESS;
    let (s, c) = (SLENDERNESS - tilt).sin_cos();
    let place = DVec3::new(b - DIAGONAL * s, 0.0, DIAGONAL * c);
    let edges = DVec3::new(2.0 * b, 0.3, 2.0 * height);
    let id = cuboid(&mut scene, "block", 1.0, edges, place);
    scene.bodies[id.index()].pose.orientation = DQuat::from_rotation_y(tilt);
    (scene, id)
}

/// The tilt after 1.2 s, the deepest overlap and the largest rise of energy of any step.
fn rock(settings: Settings) -> (f64, f64, f64) {
    let (scene, id) = rocking();
    let mut stepper = Stepper::new(&scene, settings.clone()).unwrap();
    let mut state = State::initial(&scene);
    let (mut overlap, mut rise, mut last) = (0.0f64, f64::NEG_INFINITY, f64::INFINITY);
    for _ in 0..(1.2 / settings.h).round() as usize {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        overlap = overlap.max(verdict.penetration);
        let now = verdict.energy.kinetic + verdict.energy.potential;
        rise = rise.max(now - last);
        last = now;
    }
    (2.0 * state.pose(id).orientation.y.asin(), overlap, rise)
}

/// The tilt at this time by Housner's equations: `θ'' = −p² sin(α − θ)`, `p² = 3g/(4R)`, at the
/// landing `ω ← ω (1 − 1.5 sin²α)`, then the same on the other edge.
fn housner(end: f64) -> f64 {
    let (square, h) = (0.75 * G / DIAGONAL, 1e-5);
    let rate = |t: f64| -square * (SLENDERNESS - t).sin();
    let (mut t, mut w, mut side) = (0.5 * SLENDERNESS, 0.0, 1.0);
    for _ in 0..(end / h).round() as usize {
        // Fourth order between landings; the rest of the step of a landing at its speed.
        let k = |t: f64, w: f64| (w, rate(t));
        let k1 = k(t, w);
        let k2 = k(t + 0.5 * h * k1.0, w + 0.5 * h * k1.1);
        let k3 = k(t + 0.5 * h * k2.0, w + 0.5 * h * k2.1);
        let k4 = k(t + h * k3.0, w + h * k3.1);
        t += h / 6.0 * (k1.0 + 2.0 * k2.0 + 2.0 * k3.0 + k4.0);
        w += h / 6.0 * (k1.1 + 2.0 * k2.1 + 2.0 * k3.1 + k4.1);
        if t < 0.0 {
            let ratio = 1.0 - 1.5 * SLENDERNESS.sin().powi(2);
            (t, w, side) = (-t * ratio, -w * ratio, -side);
        }
    }
    side * t
}

#[test]
fn a_rocking_block_is_no_worse_than_under_the_euler_scheme() {
    // Landing of the second corner is of first order under both schemes, and the error depends on
    // where in its step it falls: of five step lengths one may be worse.
    let exact = housner(1.2);
    let mut better = 0;
    for h in [2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4] {
        let (plain, ours) = (rock(euler(h)), rock(leapfrog(h)));
        let off = [(plain.0 - exact).abs(), (ours.0 - exact).abs()];
        better += u32::from(off[1] <= off[0]);
        assert!(off[1] < h, "{h}: tilt off by {off:?} rad");
        assert!(ours.1 <= plain.1 && ours.1 < 1e-7, "{h}: overlap {} m, {} m", ours.1, plain.1);
        // The velocity at the end of a step is extrapolated.
        assert!(ours.2 < 0.1 * h * h, "{h}: energy rises by {} J", ours.2);
    }
    assert!(better >= 4, "better at {better} of 5 step lengths");
}

#[test]
fn kinks_and_impacts_keep_the_accuracy_that_was_asked_for() {
    let (mu, v, t) = (0.3, 2.0, 1.0);
    let mut scene = floor("stopping", mu, 0.0);
    let edges = DVec3::new(0.4, 0.2, 0.1);
    let block = cuboid(&mut scene, "block", 3.0, edges, DVec3::Z * 0.05);
    scene.bodies[block.index()].velocity = DVec3::X * v;
    let rest = v * v / (2.0 * mu * G);
    let (roll, slow) = (0.2, 3.0);
    let mut rolling = floor("rolling", roll, 0.0);
    let body = ball(&mut rolling, "ball", 2.0, 0.1, DVec3::Z * 0.1);
    rolling.bodies[body.index()].velocity = DVec3::X * slow;
    let slid = 2.0 * slow / (7.0 * roll * G);
    let rolled = slow * slid - 0.5 * roll * G * slid * slid + 5.0 / 7.0 * slow * (t - slid);
    let (block_rocks, id) = rocking();
    let tilted = run(&block_rocks, leapfrog(3.125e-5), 38_400).state.pose(id).position.x;
    // Twice what planar prototypes were off at the end, and twice their solves per second; of the
    // rocking block, whose accuracy holds per step only, what they were off.
    for (scene, id, exact, end, bars) in [
        (&scene, block, rest, t, [(1e-4, 4.8e-5, 162), (1e-6, 1e-6, 198)]),
        (&rolling, body, rolled, t, [(1e-4, 9e-6, 152), (1e-6, 9e-6, 152)]),
        (&block_rocks, id, tilted, 1.2, [(1e-4, 5.4e-2, 264), (1e-6, 2e-3, 1010)]),
    ] {
        for (accuracy, off, solves) in bars {
            let settings = Settings { accuracy: Some(accuracy), ..leapfrog(5e-2) };
            let go = || {
                let mut stepper = Stepper::new(scene, settings.clone()).unwrap();
                let (mut state, mut work) = (State::initial(scene), 0);
                for _ in 0..(end / 5e-2f64).round() as usize {
                    work += stepper.step(scene, &mut state).unwrap().solves;
                }
                (state, work)
            };
            let (state, work) = go();
            let found = (state.pose(id).position.x - exact).abs();
            let rate = f64::from(work) / end;
            assert!(found < off && rate < f64::from(solves), "{}: {found} m, {rate}", scene.name);
            assert_eq!(go().0, state, "the same bits");
        }
    }
}

#[test]
fn a_block_that_is_pulled_to_and_fro_stops_where_quadrature_says() {
    // 1 kg, 8 cos t N, mu 0.8 (Potra et al. 2006).
    let mut scene = floor("stick and slip", 0.8, 0.0);
    let id = cuboid(&mut scene, "block", 1.0, DVec3::splat(0.2), DVec3::Z * 0.1);
    // cos t = sin(2π t/(2π) + π/2).
    let (frequency, phase) = (1.0 / std::f64::consts::TAU, std::f64::consts::FRAC_PI_2);
    let pull = Function::Sine { offset: 0.0, amplitude: 8.0, frequency, phase };
    let zero = || Function::Constant(0.0);
    scene.add_force(
        "pull",
        ForceKind::Applied(Box::new(Applied {
            body: id,
            point: DVec3::Z * -0.1,
            force: [pull, zero(), zero()],
            torque: [zero(), zero(), zero()],
            frame: Frame::World,
        })),
    );
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, leapfrog(1e-3)).unwrap();
    for (steps, plateau) in [(2000, 4.34857e-3), (3000, -8.69717e-3), (3000, 4.34857e-3)] {
        for _ in 0..steps {
            assert!(stepper.step(&scene, &mut state).unwrap().accepted);
        }
        let x = state.pose(id).position.x;
        assert!((x - plateau).abs() < 1.05e-7, "{x} m, wanted {plateau} m");
    }
}

#[test]
fn a_gyroscope_at_200_rad_per_s_keeps_its_spin() {
    // One revolution of the precession, 0.981 rad/s, at 1 ms: the first scheme lost a quarter.
    let (spin, precession, arm) = (200.0, 0.981, DVec3::X * 0.2);
    let mut scene = Scene::new("gyroscope");
    let id = scene.add_body(
        Body::rigid("rotor", Mass::new(1.0, DVec3::new(0.01, 0.006, 0.006)))
            .at(arm)
            .moving(precession * 0.2 * DVec3::Y, DVec3::new(spin, 0.0, precession)),
    );
    let socket = frame(DVec3::ZERO, DVec3::Z);
    scene.add_joint("socket", JointKind::Spherical, (BodyId::GROUND, id), socket);
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, leapfrog(1e-3)).unwrap();
    let mut worst = 0.0f64;
    for _ in 0..6405 {
        assert!(stepper.step(&scene, &mut state).unwrap().accepted);
        worst = worst.max((state.v[3] / spin - 1.0).abs());
    }
    let off = state.pose(id).position.distance(arm);
    assert!(worst < 1e-3, "spin within {worst}");
    assert!(off < 2e-3, "after a revolution {off} m from the start");
}

#[test]
fn a_top_turns_as_eulers_equations_say() {
    // Inertias 1, 2, 3 kg m², tumbling, 5 s at 5 ms: against the same with a sixteenth of the step.
    let turn = |h: f64| {
        let mut scene = weightless("top");
        let mass = Mass::new(1.0, DVec3::new(1.0, 2.0, 3.0));
        let spin = DVec3::new(0.3, 2.0, 0.2);
        let id = scene.add_body(Body { spin, ..Body::rigid("top", mass) });
        let end = run(&scene, leapfrog(h), (5.0 / h).round() as usize);
        let momentum = end.state.pose(id).vector(mass.inertia * end.spin(id));
        let change = momentum.distance(mass.inertia * spin);
        // Rounding of a rotation of a vector of length 4 each step: 1e-12 at 5 ms.
        assert!(change < 1e-15 * (5.0 / h), "momentum {change}");
        end.state.pose(id).orientation
    };
    let fine = turn(5e-3 / 16.0);
    let errors = [1e-2, 5e-3, 2.5e-3].map(|h| turn(h).angle_between(fine));
    second_order(&errors);
}
