//! SimBenchmark (leggedrobotics): definitions and figures as published; the scenes are ours. Times
//! of others were measured by them, on another machine (i7-7700HQ), and are not repeated here.

use crate::case::{Case, Cost::*, Group::Published, Rows, line, within};
use crate::motion::{G, Motion, Scheme, Scheme::*, Text, xyz};
use crate::peers::{Moment, Seen, Track};
use signorini::math::random::Random;
use signorini::prelude::*;

const SOURCE: &str = "SimBenchmark (leggedrobotics, 2018): sample.csv of each benchmark";

pub const CASES: &[Case] = &[
    Case {
        name: "simbench-rolling",
        group: Published,
        source: SOURCE,
        cost: Normal,
        run: |rows| rolling(rows, 4.0),
    },
    Case {
        name: "simbench-rolling-short",
        group: Published,
        source: SOURCE,
        cost: Quick,
        run: |rows| rolling(rows, 0.3),
    },
    Case {
        name: "simbench-bouncing",
        group: Published,
        source: SOURCE,
        cost: Normal,
        run: bouncing,
    },
    Case {
        name: "simbench-666",
        group: Published,
        source: SOURCE,
        cost: Normal,
        run: |rows| spheres(rows, 1e-2),
    },
    Case {
        name: "simbench-666-1ms",
        group: Published,
        source: SOURCE,
        cost: Long,
        run: |rows| spheres(rows, 1e-3),
    },
    Case {
        name: "simbench-elastic-666",
        group: Published,
        source: SOURCE,
        cost: Long,
        run: elastic_spheres,
    },
    Case {
        name: "simbench-momentum",
        group: Published,
        source: SOURCE,
        cost: Quick,
        run: momentum,
    },
    Case {
        name: "simbench-kapla",
        group: Published,
        source: SOURCE,
        cost: Normal,
        run: |rows| kapla(rows, 600),
    },
    Case {
        name: "simbench-kapla-60000",
        group: Published,
        source: SOURCE,
        cost: Long,
        run: |rows| kapla(rows, 60_000),
    },
];

/// The mean of what is seen in another engine.
fn mean(track: &Track, value: impl Fn(Moment) -> f64) -> f64 {
    let values: Vec<f64> = track.moments().map(value).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// The energy of balls of 10 kg in another engine, J.
fn energy_there(moment: Moment) -> f64 {
    let one = |b: &Seen| 5.0 * b.velocity.length_squared() + 10.0 * G * b.position.z;
    moment.bodies.iter().map(one).sum()
}

/// A box of 20 m with 25 balls on it is pushed over the ground.
fn rolling(rows: &mut Rows, time: f64) -> Result<(), String> {
    let (mass, balls, push) = (10.0, 25.0, 150.0);
    let friction = 0.4 * (mass + balls) * G;
    let ball = (push - friction) / mass / (3.5 + balls / mass);
    let acceleration = (push - friction - balls * ball) / mass;
    let way = DVec3::new(0.5, 0.75f64.sqrt(), 0.0);
    let mut text = Text::new(Leapfrog, 1e-3);
    text = text.add("[materials]\nearth = { mu = 0.4 }\nwood = { mu = 0.8 }");
    text = text.add("[[surface]]\nbetween = [\"earth\", \"wood\"]\nmu = 0.4");
    text = text.body("floor", "half_space = true", "fixed = true\nmaterial = \"earth\"");
    text = text.body(
        "box",
        "box = [20, 20, 1]",
        "material = \"wood\"\nmass = 10\nposition = [0, 0, 0.5]",
    );
    for i in 0..25 {
        let at = DVec3::new(2.0 * (i % 5) as f64 - 4.0, 2.0 * (i / 5) as f64 - 4.0, 1.5);
        text = text.body(
            &format!("ball_{i}"),
            "sphere = 0.5",
            &format!("material = \"wood\"\nmass = 1\nposition = {}", xyz(at)),
        );
    }
    text = text.add(&format!(
        "[[force]]\nname = \"push\"\napplied = {{ body = \"box\", force = {} }}",
        xyz(way * push)
    ));
    let mut motion = text.simulate()?;
    let (mut sum, mut count) = (0.0, 0.0);
    let wrong = move |time: f64, found: [DVec3; 2]| {
        let exact = [way * acceleration * time, way * ball * time];
        (found[0] - exact[0]).length_squared() + (found[1] - exact[1]).length_squared()
    };
    motion.watch(time, |m| {
        sum += wrong(m.time(), [m.velocity("box"), m.velocity("ball_0")]);
        count += 1.0;
    })?;
    let steps = time / 1e-3;
    let reason =
        "velocities are exact for a constant force; the solver's 1e-9 m/s, once per step, squared";
    let row = rows.zero(
        &format!("mean squared error of the velocities, {time} s"),
        "m²/s²",
        sum / count,
        within((steps * 1e-9f64).powi(2), reason),
    );
    row.others(&[
        ("Bullet default", 5.7e-9),
        ("Bullet best", 3.9e-27),
        ("RaiSim", 4.1e-7),
        ("MuJoCo Newton", 6.9e-3),
        ("ODE", 3.145),
        ("DART", 3.145),
    ]);
    let play = text.play(time).seen(100);
    rows.peers(vec![play.clone()], move |tracks| {
        mean(&tracks[0], |m| wrong(m.time, ["box", "ball_0"].map(|name| m.body(name).velocity)))
    });
    let reason = "1e-9 m/s of the solver, once per step";
    rows.row(
        "acceleration of the box",
        "m/s²",
        (motion.velocity("box").length() / time, acceleration),
        within(1e-9 * steps / time, reason),
    );
    rows.peers(vec![play], move |tracks| tracks[0].end("box").velocity.length() / time);
    Ok(())
}

/// 49 elastic balls bounce for 20 s.
fn bouncing(rows: &mut Rows) -> Result<(), String> {
    let published: [(f64, &[(&str, f64)]); 2] = [
        (1e-2, &[("RaiSim", 186.0), ("ODE", 18808.0), ("DART", 7.4e6), ("Bullet", 7.4e6)]),
        (1e-3, &[("RaiSim", 0.0186), ("ODE", 185.0), ("DART", 72274.0), ("Bullet", 75245.0)]),
    ];
    for (dt, others) in published {
        let mut text = Text::new(Leapfrog, dt).material(0.0, 1.0).floor();
        for i in 0..49 {
            let at = DVec3::new((i % 7) as f64, (i / 7) as f64, 5.0);
            text = text.body(
                &format!("ball_{i}"),
                "sphere = 0.1",
                &format!("mass = 10\nposition = {}", xyz(at)),
            );
        }
        let mut motion = text.simulate()?;
        let energy = |m: &Motion| -> f64 {
            let v = m.sim.state().velocities;
            let bodies = m.sim.state().poses.chunks(7).zip(v.chunks(6)).skip(2);
            bodies.map(|(q, v)| 5.0 * DVec3::from_slice(v).length_squared() + 10.0 * G * q[2]).sum()
        };
        let begin = energy(&motion);
        let (mut sum, mut count, mut curve) = (0.0, 0.0, Vec::new());
        motion.watch(20.0, |m| {
            let error = energy(m) - begin;
            curve.push((m.time(), error));
            sum += error * error;
            count += 1.0;
        })?;
        let reason = "rounding: 1e-16 of 24 034.5 J in each of some thousand steps, squared";
        let row = rows.zero(
            &format!("dt {dt} s: mean squared error of the energy"),
            "J²",
            sum / count,
            within(1e-12, reason),
        );
        row.others(others);
        rows.peers(vec![text.play(20.0).seen(200)], move |tracks| {
            mean(&tracks[0], |m| (energy_there(m) - begin).powi(2))
        });
        if dt == 1e-2 {
            rows.figure(
                "49 elastic balls: error of the energy, dt 10 ms",
                ("time, s", "J"),
                vec![line("simulated", curve)],
            );
        }
    }
    Ok(())
}

/// 6³ spheres above a floor, displaced at random by less than a millimetre (our numbers, not
/// theirs).
fn cube_of_spheres(dt: f64, e: f64, bottom: f64) -> Text {
    let mut text = if e > 0.0 { Text::new(Leapfrog, dt) } else { Text::usual(dt) };
    text = text.material(0.0, e).floor();
    let mut numbers = Random::seeded(42);
    let mut random = || 1e-3 * numbers.unit();
    for i in 0..216 {
        let [x, y, z] = [i % 6, i / 6 % 6, i / 36].map(|k| 0.21 * k as f64);
        let at = DVec3::new(x + random(), y + random(), bottom + z + random());
        text = text.body(
            &format!("ball_{i}"),
            "sphere = 0.1",
            &format!("mass = 10\nposition = {}", xyz(at)),
        );
    }
    text
}

/// The sum of the squared overlaps of balls of 0.1 m with each other and the floor, m².
fn overlap(places: &[DVec3]) -> f64 {
    let mut overlap = 0.0;
    for (i, a) in places.iter().enumerate() {
        overlap += (0.1 - a.z).max(0.0).powi(2);
        let deep = |b: &DVec3| (0.2 - a.distance(*b)).max(0.0).powi(2);
        overlap += places[..i].iter().map(deep).sum::<f64>();
    }
    overlap
}

fn spheres(rows: &mut Rows, dt: f64) -> Result<(), String> {
    let text = cube_of_spheres(dt, 0.0, 0.101);
    let mut motion = text.simulate()?;
    let (mut sum, mut count) = (0.0, 0.0);
    motion.watch(10.0, |m| {
        let q = m.sim.state().poses;
        let places: Vec<DVec3> = q.chunks(7).skip(2).map(DVec3::from_slice).collect();
        sum += overlap(&places);
        count += 1.0;
    })?;
    let others: &[(&str, f64)] = if dt == 1e-2 {
        &[
            ("RaiSim", 0.0153),
            ("ODE", 0.0161),
            ("DART", 215.0),
            ("MuJoCo CG", 0.934),
            ("Bullet", 37.4),
        ]
    } else {
        &[
            ("RaiSim", 1.35e-4),
            ("ODE", 1.55e-4),
            ("DART", 2.8e-4),
            ("MuJoCo CG", 0.0950),
            ("Bullet", 0.382),
        ]
    };
    let reason = "gaps of the next step are part of the problem; overlap comes from directions \
        that turn within a step: (v dt)²/2r per contact, v of 2 m/s, squared, 600 contacts; and \
        least of the published ones";
    let row = rows.zero(
        &format!("dt {dt} s: mean sum of squared overlaps"),
        "m²",
        sum / count,
        within(others[0].1, reason),
    );
    row.others(others).note("random displacements of our own generator");
    rows.peers(vec![text.play(10.0).seen(100)], |tracks| {
        let places = |m: Moment| m.bodies.iter().map(|ball| ball.position).collect::<Vec<DVec3>>();
        mean(&tracks[0], |m| overlap(&places(m)))
    });
    Ok(())
}

fn elastic_spheres(rows: &mut Rows) -> Result<(), String> {
    let text = cube_of_spheres(1e-3, 1.0, 1.101);
    let mut motion = text.simulate()?;
    let energy = |m: &Motion| -> f64 {
        let bodies = m.sim.state().poses.chunks(7).zip(m.sim.state().velocities.chunks(6)).skip(2);
        bodies.map(|(q, v)| 5.0 * DVec3::from_slice(v).length_squared() + 10.0 * G * q[2]).sum()
    };
    let begin = energy(&motion);
    let (mut sum, mut count) = (0.0, 0.0);
    motion.watch(10.0, |m| {
        sum += (energy(m) - begin).powi(2);
        count += 1.0;
    })?;
    let reason = "impacts of several bodies in one step and one island are of first order: no more \
        than the best published one";
    let row = rows.zero(
        "dt 0.001 s: mean squared error of the energy",
        "J²",
        sum / count,
        within(8.4, reason),
    );
    row.others(&[("RaiSim", 8.4), ("ODE", 112.0), ("Bullet", 41498.0), ("DART", 346909.0)]);
    rows.peers(vec![text.play(10.0).seen(200)], move |tracks| {
        mean(&tracks[0], |m| (energy_there(m) - begin).powi(2))
    });
    Ok(())
}

/// A ball hits a chain of bodies without gravity: momentum is kept.
fn struck_chain(scheme: Scheme) -> Text {
    let mut text = Text::new(scheme, 1e-3).gravity([0.0; 3]).material(0.5, 0.0);
    for i in 0..8 {
        let at = DVec3::new(0.3 * i as f64, 0.0, 0.0);
        text = text.body(
            &format!("link_{i}"),
            "box = [0.28, 0.1, 0.1]",
            &format!("mass = 2\nposition = {}", xyz(at)),
        );
        if i > 0 {
            let joint = format!(
                "a = \"link_{}\"\nb = \"link_{i}\"\nposition = {}\naxis = [0, 1, 0]",
                i - 1,
                xyz(at - 0.15 * DVec3::X)
            );
            text =
                text.add(&format!("[[joint]]\nname = \"hinge_{i}\"\nkind = \"revolute\"\n{joint}"));
        }
    }
    text.body(
        "ball",
        "sphere = 0.1",
        "mass = 10\nposition = [0.2, 0.01, -0.4]\nvelocity = [0.1, 0.2, 5]",
    )
}

/// Linear and angular momentum of all bodies.
fn total(motion: &Motion) -> (DVec3, DVec3) {
    let (mut linear, mut angular) = (DVec3::ZERO, DVec3::ZERO);
    for body in motion.sim.scene().bodies.iter().skip(1) {
        let view = motion.sim.body(body.name.as_str()).expect("it is there");
        let mass = body.mass().expect("it is rigid");
        let p = mass.mass * view.center_of_mass_velocity();
        let turn = view.orientation();
        linear += p;
        angular += view.center_of_mass().cross(p)
            + turn * (mass.inertia * (turn.inverse() * view.angular_velocity()));
    }
    (linear, angular)
}

/// What a run of 1 s loses of its momentum.
struct Lost {
    /// Mean over the steps of the squared error of the momentum, N² s².
    mean: f64,
    /// Its median.
    median: f64,
    /// Error of the momentum at the end, N s.
    end: f64,
    /// Largest error of the angular momentum, N m s.
    turned: f64,
}

fn lost(text: &Text) -> Result<Lost, String> {
    let mut motion = text.simulate()?;
    let begin = total(&motion);
    let (mut squares, mut turned, mut end) = (Vec::new(), 0.0f64, 0.0);
    motion.watch(1.0, |m| {
        let now = total(m);
        end = (now.0 - begin.0).length();
        squares.push(end * end);
        turned = turned.max((now.1 - begin.1).length());
    })?;
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    squares.sort_by(f64::total_cmp);
    Ok(Lost { mean, median: squares[squares.len() / 2], end, turned })
}

fn momentum(rows: &mut Rows) -> Result<(), String> {
    let text = struck_chain(Leapfrog);
    let begin = total(&text.simulate()?);
    let Lost { mean: mean_square, median, end, turned } = lost(&text)?;
    let reason = "velocities of the middle of a step are shown at its end by half a step of the \
        accelerations; in the step of an impact bodies that are hit keep those of the step before, \
        their neighbours need not: some 10 N for half of 1 ms, in a few of 1000 steps, squared";
    let row =
        rows.zero("mean squared error of the momentum", "N² s²", mean_square, within(1e-6, reason));
    row.others(&[
        ("ODE", 4.6e-26),
        ("MuJoCo RK4", 3e-13),
        ("Bullet", 2.7e-4),
        ("MuJoCo Euler", 1.1e-3),
        ("DART", 169.0),
    ]);
    let play = text.play(1.0).seen(u64::MAX);
    row.note("a chain of eight links in place of their robot, whose file is not ours to copy");
    rows.peers(vec![play], move |tracks| {
        // Eight links of 2 kg, then the ball of 10 kg.
        let mass = |i: usize| if i < 8 { 2.0 } else { 10.0 };
        let bodies = |m: Moment| m.bodies.iter().map(|b| b.velocity).collect::<Vec<DVec3>>();
        let sum = |v: &[DVec3]| v.iter().enumerate().map(|(i, v)| mass(i) * *v).sum::<DVec3>();
        mean(&tracks[0], |m| (sum(&bodies(m)) - begin.0).length_squared())
    });
    let reason = "what the scheme carries on is kept: rounding, and velocities of bodies from those \
        of joints, 1e-9 m/s of 26 kg";
    rows.zero("error of the momentum at the end", "N s", end, within(2.6e-8, reason));
    let label = "its squared error in the median of all steps, most of which have no impact";
    rows.zero(label, "N² s²", median, within(2.6e-8f64.powi(2), reason));
    let reason = "no extrapolation: rounding, 1e-16 of 50 N s in each of 1000 steps, squared";
    let euler = lost(&struck_chain(Euler))?.mean;
    let allowed = within(2.5e-23, reason);
    rows.zero("the same in the Euler scheme: mean squared error", "N² s²", euler, allowed);
    let reason = "friction of an impact acts on both bodies at points that are up to v h = 5 mm \
        apart: mu m v · v h";
    rows.zero("largest error of the angular momentum", "N m s", turned, within(0.125, reason));
    Ok(())
}

/// A tower of planks, 6 floors of 17.
fn kapla(rows: &mut Rows, steps: u64) -> Result<(), String> {
    // Plank 0.05 × 0.2 × 0.1 m; a floor is 12 upright planks on their long edge, and 5 lying across
    // as the ceiling.
    let (thick, long, high) = (0.05, 0.2, 0.1);
    let mut text = Text::usual(1e-2).material(0.8, 0.0).floor();
    let mut count = 0;
    for floor in 0..6 {
        let base = floor as f64 * (high + thick);
        for k in 0..12 {
            let (row, place) = (k / 6, k % 6);
            let at = DVec3::new(
                (place as f64 - 2.5) * 0.18,
                (row as f64 - 0.5) * 0.5,
                base + 0.5 * high,
            );
            text = text.body(
                &format!("wall_{floor}_{k}"),
                &format!("box = [{thick}, {long}, {high}]"),
                &format!("mass = 10\nposition = {}", xyz(at)),
            );
            count += 1;
        }
        for k in 0..5 {
            let at = DVec3::new((k as f64 - 2.0) * 0.22, 0.0, base + high + 0.5 * thick);
            text = text.body(
                &format!("slab_{floor}_{k}"),
                &format!("box = [0.2, 0.8, {thick}]"),
                &format!("mass = 10\nposition = {}", xyz(at)),
            );
            count += 1;
        }
    }
    let mut motion = text.simulate()?;
    let start = motion.at("slab_5_2");
    for _ in 0..steps {
        motion.step()?;
    }
    let moved = motion.at("slab_5_2").distance(start);
    let play = (steps <= 600).then(|| text.play(steps as f64 * 1e-2));
    let time = steps as f64 * 1e-2;
    let reason = "1e-6 m/s for the whole time";
    let row = rows.zero(
        &format!("{count} planks, {steps} steps: way of the top"),
        "m",
        moved,
        within(1e-6 * time + 1e-6, reason),
    );
    row.note("others: steps until the collapse of their tower of 102 planks, of 60 000");
    row.others(&[
        ("RaiSim", 60000.0),
        ("Bullet", 147.0),
        ("ODE", 122.0),
        ("MuJoCo", 3297.0),
        ("DART", 19.0),
    ]);
    if let Some(play) = play {
        rows.peers(vec![play], move |t| t[0].end("slab_5_2").position.distance(start));
    }
    Ok(())
}
