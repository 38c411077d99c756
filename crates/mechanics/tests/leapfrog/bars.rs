//! Pendulum, double pendulum and slider-crank against integrators of their own: how far they are
//! off, how that falls with the step, what the estimates say, what accuracy costs.

use super::*;
use common::slider_crank;

/// A scene, the bodies that are looked at, and where they are at time t.
struct Mechanism {
    scene: Scene,
    bodies: Vec<BodyId>,
    end: f64,
    exact: Vec<DVec3>,
}

/// Runge–Kutta of fourth order.
fn runge_kutta<const N: usize>(
    mut y: [f64; N],
    end: f64,
    rate: impl Fn([f64; N]) -> [f64; N],
) -> [f64; N] {
    let n = (end / 1e-4).round();
    let h = end / n;
    let add = |y: [f64; N], k: [f64; N], h: f64| std::array::from_fn(|i| y[i] + h * k[i]);
    for _ in 0..n as u64 {
        let k1 = rate(y);
        let k2 = rate(add(y, k1, 0.5 * h));
        let k3 = rate(add(y, k2, 0.5 * h));
        let k4 = rate(add(y, k3, h));
        y = std::array::from_fn(|i| y[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    y
}

/// 1 kg on a rod of 1 m, from horizontal.
fn pendulum(end: f64) -> Mechanism {
    let mut scene = Scene::new("pendulum");
    let bob = scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.1)).at(DVec3::X));
    scene.add_rod("rod", (BodyId::GROUND, bob), (DVec3::ZERO, DVec3::X));
    let [angle, _] =
        runge_kutta([0.5 * std::f64::consts::PI, 0.0], end, |[a, w]| [w, -G * a.sin()]);
    let exact = vec![DVec3::new(angle.sin(), 0.0, -angle.cos())];
    Mechanism { scene, bodies: vec![bob], end, exact }
}

/// Twice that, one on the other.
fn double_pendulum(end: f64) -> Mechanism {
    let mut scene = Scene::new("double pendulum");
    let bodies: Vec<BodyId> = ["upper", "lower"]
        .into_iter()
        .enumerate()
        .map(|(i, name)| {
            let place = DVec3::X * (i + 1) as f64;
            scene.add_body(Body::rigid(name, Mass::sphere(1.0, 0.1)).at(place))
        })
        .collect();
    scene.add_rod("first", (BodyId::GROUND, bodies[0]), (DVec3::ZERO, DVec3::X));
    scene.add_rod("second", (bodies[0], bodies[1]), (DVec3::X, 2.0 * DVec3::X));
    let right = 0.5 * std::f64::consts::PI;
    let [a, b, ..] = runge_kutta([right, right, 0.0, 0.0], end, |[a, b, da, db]| {
        let (s, c) = (a - b).sin_cos();
        let (f, k) = (-s * db * db - 2.0 * G * a.sin(), s * da * da - G * b.sin());
        let determinant = 2.0 - c * c;
        [da, db, (f - c * k) / determinant, (2.0 * k - c * f) / determinant]
    });
    let first = DVec3::new(a.sin(), 0.0, -a.cos());
    let exact = vec![first, first + DVec3::new(b.sin(), 0.0, -b.cos())];
    Mechanism { scene, bodies, end, exact }
}

const CRANK: f64 = 0.3;
const ROD: f64 = 0.8;
const CRANK_SPEED: f64 = 6.0;

/// A crank that turns freely under its own weight: `T(θ) θ'²/2 + V(θ)` is constant.
fn free_slider_crank(end: f64) -> Mechanism {
    let drive = Drive::Effort(Function::Constant(0.0));
    let (mut scene, slider) = slider_crank(CRANK, ROD, drive);
    let [crank, rod] = [1, 2].map(BodyId);
    let spins = [-CRANK_SPEED, CRANK_SPEED * CRANK / ROD];
    for (id, spin) in [crank, rod].into_iter().zip(spins) {
        scene.bodies[id.index()].spin = DVec3::Y * spin;
        scene.bodies[id.index()].velocity = DVec3::Z * 0.5 * CRANK * CRANK_SPEED;
    }
    let tilt = |angle: f64| (CRANK * angle.sin() / ROD).asin();
    // θ' = 1: velocities of the centres, and spins.
    let inertia = |angle: f64| {
        let (s, c) = angle.sin_cos();
        let phi = tilt(angle);
        let turn = CRANK * c / (ROD * phi.cos());
        let slide = -CRANK * s - ROD * phi.sin() * turn;
        let middle = [-CRANK * s - 0.5 * ROD * phi.sin() * turn, 0.5 * CRANK * c];
        let about = |mass: f64, length: f64| mass * (length * length + 4e-4) / 12.0;
        about(1.0, CRANK)
            + 0.25 * CRANK * CRANK
            + about(0.5, ROD) * turn * turn
            + 0.5 * (middle[0] * middle[0] + middle[1] * middle[1])
            + 2.0 * slide * slide
    };
    let [angle, _] = runge_kutta([0.0, CRANK_SPEED], end, |[a, w]| {
        let d = 1e-4;
        let slope = (8.0 * (inertia(a + d) - inertia(a - d))
            - (inertia(a + 2.0 * d) - inertia(a - 2.0 * d)))
            / (12.0 * d);
        // Crank and rod lift their centres by r sin θ/2 each.
        let weight = 1.5 * G * 0.5 * CRANK * a.cos();
        [w, -(weight + 0.5 * slope * w * w) / inertia(a)]
    });
    let (s, c) = angle.sin_cos();
    let exact = vec![
        DVec3::new(0.5 * CRANK * c, 0.0, 0.5 * CRANK * s),
        DVec3::new(CRANK * c + ROD * tilt(angle).cos(), 0.0, 0.0),
    ];
    Mechanism { scene, bodies: vec![crank, slider], end, exact }
}

/// The three with the step of their bar, s, and the bar, m: of the pendulums that of planar
/// prototypes, of the slider-crank what was measured.
fn all() -> [(Mechanism, f64, f64); 3] {
    [
        (pendulum(3.0), 5e-3, 6e-4),
        (double_pendulum(2.0), 2.5e-3, 1.6e-4),
        (free_slider_crank(1.0), 1.25e-3, 3e-6),
    ]
}

impl Mechanism {
    /// The largest distance of a body from where it should be, m.
    fn off(&self, state: &State) -> f64 {
        let places = self.bodies.iter().zip(&self.exact);
        places.map(|(&id, exact)| state.pose(id).position.distance(*exact)).fold(0.0, f64::max)
    }

    /// How far joints are open, m.
    fn gap(&self, state: &State) -> f64 {
        let gap = |joint: &Joint| {
            let (a, b) = (state.pose(joint.a), state.pose(joint.b));
            let apart = a.point(joint.frame_a.position).distance(b.point(joint.frame_b.position));
            match joint.kind {
                JointKind::Distance { length } => (apart - length).abs(),
                JointKind::Prismatic => 0.0,
                _ => apart,
            }
        };
        self.scene.joints.iter().map(gap).fold(0.0, f64::max)
    }
}

#[test]
fn mechanisms_are_of_second_order_within_their_bars_and_their_joints_hold() {
    for (mechanism, h, bar) in all() {
        let mut errors = Vec::new();
        for h in [h, 0.5 * h, 0.25 * h] {
            let steps = (mechanism.end / h).round() as usize;
            let end = run(&mechanism.scene, leapfrog(h), steps);
            errors.push(mechanism.off(&end.state));
            let gap = mechanism.gap(&end.state);
            // Of fourth order: 3.5e-7 m for the pendulum at 5 ms.
            assert!(gap < 4e-7, "{} at {h} s: joints open by {gap} m", mechanism.scene.name);
        }
        assert!(errors[0] < bar, "{}: {errors:?}", mechanism.scene.name);
        second_order(&errors);
    }
}

#[test]
fn steps_of_irregular_length_hold_the_same_bars() {
    for (mechanism, h, bar) in all() {
        let mut state = State::initial(&mechanism.scene);
        let mut stepper = Stepper::new(&mechanism.scene, leapfrog(h)).unwrap();
        let mut seed = 1u32;
        while state.time < mechanism.end - 1e-12 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let length = h * [0.25, 0.5, 1.0][(seed >> 16) as usize % 3];
            stepper.settings.h = length.min(mechanism.end - state.time);
            stepper.step(&mechanism.scene, &mut state).unwrap();
        }
        let (off, gap) = (mechanism.off(&state), mechanism.gap(&state));
        assert!(off < bar && gap < 4e-7, "{}: {off} m, gap {gap} m", mechanism.scene.name);
    }
}

/// The 5, 50 and 95 % points of what doubling says over what is true, metres.
fn ratios(scene: &Scene, h: f64, steps: usize) -> [f64; 3] {
    let doubling = Settings { time_error: TimeEstimate::Doubling, ..leapfrog(h) };
    let mut stepper = Stepper::new(scene, doubling).unwrap();
    let mut fine = Stepper::new(scene, leapfrog(h / 16.0)).unwrap();
    let mut state = State::initial(scene);
    let mut ratios = Vec::new();
    for _ in 0..steps {
        let mut reference = state.clone();
        let said = stepper.step(scene, &mut state).unwrap().scheme.expect("doubling knows");
        (0..16).for_each(|_| {
            fine.step(scene, &mut reference).unwrap();
        });
        assert!(!said.event);
        ratios.push(said.metre / stepper.apart(scene, &state, &reference).metre);
    }
    ratios.sort_by(f64::total_cmp);
    [0.05, 0.5, 0.95].map(|share| ratios[(share * (steps - 1) as f64).round() as usize])
}

#[test]
fn doubling_says_how_wrong_mechanisms_are() {
    for ((mechanism, ..), h) in all().into_iter().zip([1e-2, 5e-3, 2e-3]) {
        let steps = (mechanism.end / h).round() as usize;
        let [low, median, high] = ratios(&mechanism.scene, h, steps);
        let held = low >= 0.7 && (0.9..=1.1).contains(&median) && high <= 2.5;
        assert!(held, "{}: {low:.2} {median:.2} {high:.2}", mechanism.scene.name);
    }
}

#[test]
fn accuracy_of_mechanisms_costs_what_the_prototypes_cost() {
    // Errors at the end, m, and solves per second: those of the prototypes, whose geometry is
    // partly another one; twice as much is allowed.
    let bars = [
        (pendulum(2.0), [(1e-4, 1.0e-3, 126.0), (1e-6, 6.4e-5, 483.0)]),
        (double_pendulum(2.0), [(1e-4, 1.7e-3, 147.0), (1e-6, 6.6e-5, 524.0)]),
        (free_slider_crank(1.0), [(1e-4, 5.6e-3, 300.0), (1e-6, 9.9e-5, 1086.0)]),
    ];
    for (mechanism, bars) in bars {
        for (accuracy, off, solves) in bars {
            let settings = Settings { accuracy: Some(accuracy), ..leapfrog(5e-2) };
            let mut stepper = Stepper::new(&mechanism.scene, settings).unwrap();
            let (mut state, mut work, mut said) = (State::initial(&mechanism.scene), 0, 0.0);
            for _ in 0..(mechanism.end / 5e-2).round() as usize {
                let verdict = stepper.step(&mechanism.scene, &mut state).unwrap();
                let error = verdict.scheme.unwrap();
                assert!(error.held);
                (work, said) = (work + verdict.solves, said + error.metre);
            }
            let (found, rate) = (mechanism.off(&state), f64::from(work) / mechanism.end);
            let name = &mechanism.scene.name;
            assert!(found < 2.0 * off && rate < 2.0 * solves, "{name}: {found} m, {rate} per s");
        }
    }
}
