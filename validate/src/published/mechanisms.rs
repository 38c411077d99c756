//! Mechanisms of the IFToMM benchmark, a joint with impacts.

use crate::case::{Case, Cost::*, Group::Published, Rows, line, within};
use crate::motion::{Motion, Scheme::*, Text, xyz};
use signorini::mechanism;
use signorini::prelude::*;
use signorini::scene::State;

const IFTOMM: &str = "IFToMM library of multibody benchmarks; closed forms and the IVP test set";

pub const CASES: &[Case] = &[
    Case { name: "iftomm-a01", group: Published, source: IFTOMM, cost: Quick, run: pendulum },
    Case { name: "iftomm-a02", group: Published, source: IFTOMM, cost: Normal, run: four_bars },
    Case { name: "iftomm-a03", group: Published, source: IFTOMM, cost: Quick, run: andrews },
    Case { name: "iftomm-a04", group: Published, source: IFTOMM, cost: Normal, run: bricard },
    Case { name: "iftomm-a05", group: Published, source: IFTOMM, cost: Normal, run: governor },
    Case {
        name: "double-pendulum",
        group: Published,
        source: "Potra et al. 2006, double pendulum beside a wall (their figures need a geometry \
            that is not published: e 0.6 here, against an event-driven Runge–Kutta 4)",
        cost: Quick,
        run: double_pendulum,
    },
];

/// A built-in scene run by accelerations up to time `t`: scene, state, and the change of energy
/// less the work done, J.
fn accelerate(name: &str, set: &[&str], t: f64) -> Result<(Scene, State, f64), String> {
    let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
    let loaded = signorini::files::builtin::find(name, &set)?;
    let dt = loaded.settings(&signorini::files::Overrides::default())?.h;
    let mut simulation = mechanism::Simulation::new(&loaded.scene, loaded.acceleration_settings())
        .map_err(|e| e.to_string())?;
    let balance = |e: mechanism::simulation::Energy| e.kinetic + e.potential - e.work;
    let begin = balance(simulation.energy());
    for _ in 0..(t / dt).round() as usize {
        simulation.step(dt).map_err(|e| e.to_string())?;
    }
    let change = balance(simulation.energy()) - begin;
    let mut state = State::initial(&loaded.scene);
    simulation.write(&mut state);
    Ok((loaded.scene, state, change))
}

/// Where a body's frame is.
fn place(scene: &Scene, state: &State, name: &str) -> DVec3 {
    let index = scene.bodies.iter().position(|b| b.name == name).expect("the scene has this body");
    state.pose(BodyId(index as u32)).point(scene.bodies[index].origin)
}

const ACCELERATIONS: &str = "integrator = \"acceleration\": ";

fn pendulum(rows: &mut Rows) -> Result<(), String> {
    let (scene, state, _) = accelerate("a01_pendulum", &[], 10.0)?;
    let bob = place(&scene, &state, "bob");
    let reason = "order 4 at 1 ms over 10 s";
    rows.row(
        &format!("{ACCELERATIONS}x at 10 s"),
        "m",
        (bob.x, 0.275087462576117),
        within(1e-9, reason),
    );
    rows.row(
        &format!("{ACCELERATIONS}y at 10 s"),
        "m",
        (bob.y, -0.961419205099125),
        within(1e-9, reason),
    );
    let (scene, state, _) = accelerate("a01_pendulum", &[], 100.0)?;
    let length = place(&scene, &state, "bob").length();
    rows.row(
        &format!("{ACCELERATIONS}length after 100 s"),
        "m",
        (length, 1.0),
        within(1e-12, "drift is taken away"),
    );
    let mut errors = Vec::new();
    for h in [4e-3, 2e-3, 1e-3] {
        let text = Text::new(Leapfrog, h).gravity([0.0, -9.81, 0.0]);
        let text = text.add(
            "[[body]]\nname = \"bob\"\nmass = 1\ninertia = [1e-3, 1e-3, \
            1e-3]\nposition = [1, 0, 0]",
        );
        let rod = "[[joint]]\nname = \"rod\"\nkind = \"distance\"\nb = \"bob\"\npoints = [[0, 0, \
            0], [1, 0, 0]]";
        let mut motion = text.add(rod).simulate()?;
        motion.until(10.0)?;
        errors.push(motion.at("bob").distance(DVec3::new(
            0.275087462576117,
            -0.961419205099125,
            0.0,
        )));
    }
    let order = (errors[0] / errors[2]).log2() / 2.0;
    rows.row(
        "leapfrog: order of convergence at 10 s, dt 4, 2, 1 ms",
        "",
        (order, 2.0),
        within(0.1, "the next order of the error"),
    );
    rows.zero(
        "leapfrog at 1 ms: distance from the closed form at 10 s",
        "m",
        errors[2],
        within(1e-3, "IFToMM's limit for the coarse class is 1e-1, for the fine one 1e-3"),
    );
    Ok(())
}

fn four_bars(rows: &mut Rows) -> Result<(), String> {
    let exact = [(2, 0.3284581115408, 0.9445185381786), (40, 0.1805122266867, 0.9835727405823)];
    for (n, x, y) in exact {
        let (scene, state, change) = accelerate("a02_four_bars", &[&format!("n={n}")], 10.0)?;
        let found = place(&scene, &state, "post_0");
        let reason = "order 4 at 1 ms through the singular positions, as the scene itself asks";
        rows.row(&format!("{n} four-bars: x at 10 s"), "m", (found.x, x), within(1e-7, reason));
        rows.row(&format!("{n} four-bars: y at 10 s"), "m", (found.y, y), within(1e-7, reason));
        let row = rows.zero(
            &format!("{n} four-bars: change of the energy"),
            "J",
            change.abs(),
            within(1e-8 * n as f64, "1e-10 of some 30 J each"),
        );
        if n == 2 {
            row.others(&[("Exudyn, h 1 ms", 1.1e-3)]);
        }
    }
    Ok(())
}

fn andrews(rows: &mut Rows) -> Result<(), String> {
    let (scene, state, change) = accelerate("a03_andrews", &[], 0.03)?;
    let exact = [
        ("o", 15.81077119629904 - -0.0617138900142764),
        ("b", 0.04082224013073101 - 0.4552798191630704),
        ("a_lower", 0.5244099658805304 - 0.4873649795438425),
        ("a_upper", 1.048080741042263 - 1.2305474445498212),
    ];
    let mut simulation =
        Simulation::new(scene, Settings::with_time_step(1e-3)).map_err(|e| e.to_string())?;
    simulation.set_raw_state(&state).map_err(|e| e.to_string())?;
    for (name, angle) in exact {
        let found = simulation.joint(name).map_err(|e| e.to_string())?.angle();
        let turns = ((angle - found) / std::f64::consts::TAU).round() * std::f64::consts::TAU;
        let allowed = within(
            1.5e-7,
            "tolerance 1e-12 of Dormand–Prince, grown along a stiff motion; 1e-8 of the largest \
                angle",
        );
        rows.row(
            &format!("angle of hinge `{name}` at 30 ms"),
            "rad",
            (found + turns, angle),
            allowed,
        );
    }
    rows.zero(
        "energy less the work of the torque",
        "J",
        change.abs(),
        within(1e-9, "tolerance of the integrator"),
    );
    Ok(())
}

fn bricard(rows: &mut Rows) -> Result<(), String> {
    let (_, _, change) = accelerate("a04_bricard", &[], 10.0)?;
    let row = rows.zero(
        "change of the energy in 10 s",
        "J",
        change.abs(),
        within(4.9e-8, "1e-9 of 5 kg g 1 m, tolerance 1e-12"),
    );
    row.others(&[("Exudyn, dt 1 ms", 2.66e-7), ("MuJoCo RK4, dt 1 ms", 1.16e-3)]);
    let loaded = signorini::files::builtin::find("a04_bricard", &[])?;
    let simulation = mechanism::Simulation::new(&loaded.scene, loaded.acceleration_settings())
        .map_err(|e| e.to_string())?;
    rows.row(
        "degrees of freedom",
        "",
        (simulation.freedoms() as f64, 1.0),
        within(0.0, "a count; Grübler's formula says 0"),
    );
    Ok(())
}

/// No numbers are published: the balance of energy, and the same motion with half the step.
fn governor(rows: &mut Rows) -> Result<(), String> {
    let (scene, state, change) = accelerate("a05_governor", &[], 0.2)?;
    rows.zero(
        "energy less the work of the dampers, 0.2 s",
        "J",
        change.abs(),
        within(1e-8, "order 4 at 20 µs"),
    );
    let first = place(&scene, &state, "slider").z;
    let text = Motion::load("a05_governor", &[])?;
    let mut settings = text.sim.settings().clone();
    settings.h = 1e-4;
    settings.scheme.time = signorini::assemble::TimeScheme::Leapfrog;
    let mut other = Motion {
        sim: Simulation::new(text.sim.scene().clone(), settings).map_err(|e| e.to_string())?,
    };
    other.until(0.2)?;
    let reason = "two integrators: order 4 at 20 µs, and order 2 at 100 µs with springs of time \
        constants below that";
    rows.row(
        "height of the slider at 0.2 s, two integrators",
        "m",
        (other.at("slider").z, first),
        within(1e-4, reason),
    );
    Ok(())
}

/// Two unit masses on unit rods beside a wall; (x, z) of both from the angles.
const WALL: f64 = -0.05;
const REBOUND: f64 = 0.6;

fn pair(h: f64) -> Result<Motion, String> {
    let mut text =
        Text::new(Leapfrog, h).material(0.0, REBOUND).contact("rebound_speed = \"1 mm/s\"");
    let wall = format!(
        "fixed = true\nposition = [{WALL:?}, 0, 0]\nrotation = {{ axis = [0, 1, 0], angle = \"90 \
            deg\" }}"
    );
    text = text.body("wall", "half_space = true", &wall);
    let (a, b) = (60f64.to_radians(), 36f64.to_radians());
    let first = DVec3::new(a.sin(), 0.0, -a.cos());
    let second = first + DVec3::new(b.sin(), 0.0, -b.cos());
    for (name, at) in [("first", first), ("second", second)] {
        let lines = format!("mass = 1\ninertia = [1e-6, 1e-6, 1e-6]\nposition = {}", xyz(at));
        text = text.body(name, "sphere = 1e-9", &lines);
    }
    let rod = |name: &str, a: &str, b: &str, ends: [DVec3; 2]| {
        let [p, q] = ends.map(xyz);
        format!(
            "[[joint]]\nname = \"{name}\"\nkind = \"distance\"\n{a}b = \"{b}\"\npoints = [{p}, {q}]"
        )
    };
    text = text.add(&rod("upper", "", "first", [DVec3::ZERO, first]));
    text = text.add(&rod("lower", "a = \"first\"\n", "second", [first, second]));
    text.simulate()
}

/// Angles and their rates.
type Angles = [f64; 4];

/// The double pendulum by Runge–Kutta 4, its impacts at their times by Newton's law: an integrator
/// of its own, for reference.
fn reference(end: f64) -> Angles {
    let derivative = |y: Angles| {
        let [a, b, da, db] = y;
        let (s, c) = (a - b).sin_cos();
        // 2 a¨ + c b¨ = −s db² − 2 g sin a,   c a¨ + b¨ = s da² − g sin b
        let (f, k) = (-s * db * db - 2.0 * 9.81 * a.sin(), s * da * da - 9.81 * b.sin());
        let determinant = 2.0 - c * c;
        [da, db, (f - c * k) / determinant, (2.0 * k - c * f) / determinant]
    };
    let add = |y: Angles, k: Angles, h: f64| [0, 1, 2, 3].map(|i| y[i] + h * k[i]);
    let step = |y: Angles, h: f64| {
        let k1 = derivative(y);
        let k2 = derivative(add(y, k1, 0.5 * h));
        let k3 = derivative(add(y, k2, 0.5 * h));
        let k4 = derivative(add(y, k3, h));
        [0, 1, 2, 3].map(|i| y[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
    };
    let gap =
        |y: &Angles, mass: usize| y[0].sin() + if mass == 1 { y[1].sin() } else { 0.0 } - WALL;
    let impact = |y: &mut Angles, mass: usize| {
        let lever = [y[0].cos(), if mass == 1 { y[1].cos() } else { 0.0 }];
        let speed = lever[0] * y[2] + lever[1] * y[3];
        if speed >= 0.0 {
            return;
        }
        // M⁻¹ Jᵀ with M = [2, c; c, 1].
        let c = (y[0] - y[1]).cos();
        let determinant = 2.0 - c * c;
        let push = [
            (lever[0] - c * lever[1]) / determinant,
            (2.0 * lever[1] - c * lever[0]) / determinant,
        ];
        let impulse = -(1.0 + REBOUND) * speed / (lever[0] * push[0] + lever[1] * push[1]);
        (y[2], y[3]) = (y[2] + impulse * push[0], y[3] + impulse * push[1]);
    };
    let (mut y, mut t, h) = ([60f64.to_radians(), 36f64.to_radians(), 0.0, 0.0], 0.0, 2e-5f64);
    while t < end - 1e-12 {
        let mut length = h.min(end - t);
        let mut next = step(y, length);
        let hit = [0, 1].into_iter().find(|&m| gap(&next, m) < 0.0 && gap(&y, m) >= 0.0);
        if let Some(mass) = hit {
            let (mut low, mut high) = (0.0, length);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if gap(&step(y, middle), mass) < 0.0 { high = middle } else { low = middle }
            }
            length = low;
            next = step(y, length);
            impact(&mut next, mass);
            // A hair outside, so that the next step begins on the right side.
            length = length.max(1e-12);
        }
        (y, t) = (next, t + length);
    }
    y
}

fn double_pendulum(rows: &mut Rows) -> Result<(), String> {
    let mut errors = Vec::new();
    for t in [0.4, 0.6, 0.8] {
        let [a, b, _, _] = reference(t);
        let exact = DVec3::new(a.sin() + b.sin(), 0.0, -a.cos() - b.cos());
        let mut motion = pair(5e-4)?;
        motion.until(t)?;
        errors.push((t, motion.at("second").distance(exact)));
    }
    for (t, error) in &errors {
        let reason = "second order between impacts at 0.5 ms; directions of an impact are those of \
            the beginning of its step, v h = 2 mm";
        rows.zero(
            &format!("distance of the second mass from the event-driven reference at {t} s"),
            "m",
            *error,
            within(2e-3, reason),
        );
    }
    let mut motion = pair(5e-4)?;
    let energy = |m: &Motion| {
        ["first", "second"]
            .iter()
            .map(|b| 0.5 * m.velocity(b).length_squared() + 9.81 * m.at(b).z)
            .sum::<f64>()
    };
    let mut curve = Vec::new();
    motion.watch(2.4, |m| curve.push((m.time(), energy(m))))?;
    rows.figure(
        "Double pendulum beside a wall",
        ("time, s", "energy, J"),
        vec![line("simulated", curve)],
    );
    Ok(())
}
