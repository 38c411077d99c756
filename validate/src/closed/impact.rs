//! Impacts: heights of bounces, rows of balls, friction in a collision.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, dots, line, relative, within};
use crate::motion::{G, Scheme::*, Text};

pub const CASES: &[Case] = &[
    Case {
        name: "bounces",
        group: ClosedForm,
        source: "heights h e²ⁿ; rest at √(2h/g) (1+e)/(1−e)",
        cost: Quick,
        run: bounces,
    },
    Case {
        name: "elastic-bounces",
        group: ClosedForm,
        source: "e = 1: period 2 √(2h/g), for ever",
        cost: Quick,
        run: elastic,
    },
    Case {
        name: "cradle",
        group: ClosedForm,
        source: "touching balls, Moreau's law: (2/n − 1, 2/n, …); apart: (0, …, 0, 1)",
        cost: Quick,
        run: cradle,
    },
    Case {
        name: "throw",
        group: ClosedForm,
        source: "billiards: tan(throw) = min(mu, 2 tan φ/(7 (1+e)))",
        cost: Quick,
        run: throw,
    },
    Case {
        name: "collision",
        group: ClosedForm,
        source: "momentum and Newton's law for two free spheres",
        cost: Quick,
        run: collision,
    },
];

fn ball(e: f64, height: f64, h: f64) -> Text {
    let text =
        Text::new(Leapfrog, h).material(0.0, e).contact("rebound_speed = \"1 mm/s\"").floor();
    text.body("ball", "sphere = 0.05", &format!("position = [0, 0, {:?}]", 0.05 + height))
}

fn bounces(rows: &mut Rows) -> Result<(), String> {
    let height: f64 = 0.8;
    let fall = (2.0 * height / G).sqrt();
    for (e, h) in [(0.5, 1e-3), (0.8, 1e-3), (0.9, 1e-3)] {
        let rest = fall * (1.0 + e) / (1.0 - e);
        let mut motion = ball(e, height, h).simulate()?;
        let (mut tops, mut curve) = (Vec::new(), Vec::new());
        let (mut highest, mut rising, mut last, mut moved) = (0.0f64, false, f64::INFINITY, 0.0);
        motion.watch(rest + 0.3, |m| {
            let (z, v) = (m.at("ball").z - 0.05, m.velocity("ball").z);
            curve.push((m.time(), z));
            // The top of an arc, from its height and speed.
            let top = z + v * v / (2.0 * G);
            if v > 0.0 && last <= 0.0 {
                (rising, highest) = (true, top);
            }
            if rising && v <= 0.0 {
                tops.push(highest);
                rising = false;
            }
            if v.abs() > 1e-3 {
                moved = m.time();
            }
            last = v;
        })?;
        // Arcs of at least ten steps.
        let long = tops.iter().take_while(|top| (8.0 * **top / G).sqrt() > 10.0 * h).count();
        let worst = (0..long)
            .map(|n| (tops[n] / (height * f64::powi(e, 2 * (n as i32 + 1))) - 1.0).abs())
            .fold(0.0, f64::max);
        let reason = "impacts have their time within the step; rounding and 1e-9 m/s, grown by e⁻ⁿ";
        rows.zero(
            &format!("e {e}: heights h e²ⁿ of the first {long} arcs, worst relative error"),
            "",
            worst,
            within(1e-6, reason),
        );
        let reason = "arcs shorter than some steps are cut off: 3 steps and 2·1 mm/s/(g (1−e))";
        let cut = 3.0 * h / (1.0 - e) + 2e-3 / (G * (1.0 - e));
        rows.row(&format!("e {e}: comes to rest"), "s", (moved, rest), within(cut, reason));
        if e == 0.8 {
            rows.figure(
                "Ball with e = 0.8",
                ("time, s", "height, m"),
                vec![line("simulated", curve)],
            );
        }
    }
    Ok(())
}

fn elastic(rows: &mut Rows) -> Result<(), String> {
    let (height, h) = (0.45f64, 4e-3);
    let text = ball(1.0, height, h);
    let mut motion = text.simulate()?;
    let fall = (2.0 * height / G).sqrt();
    let (mut worst, mut errors) = (0.0f64, Vec::new());
    let wrong = move |time: f64, z: f64| {
        let t = (time + fall) % (2.0 * fall);
        let exact = (2.0 * G * height).sqrt() * t - 0.5 * G * t * t;
        (z - 0.05 - exact).abs()
    };
    motion.watch(30.0, |m| {
        let error = wrong(m.time(), m.at("ball").z);
        worst = worst.max(error);
        errors.push((m.time(), error));
    })?;
    let impacts = (30.0 / (2.0 * fall)).floor();
    let reason = "rounding of some thousand steps";
    rows.zero(
        &format!("largest error of the height in 30 s, {impacts} impacts"),
        "m",
        worst,
        within(1e-8, reason),
    );
    rows.peers(vec![text.play(30.0).seen(u64::MAX)], move |tracks| {
        let moments = tracks[0].moments();
        moments.map(|m| wrong(m.time, m.body("ball").position.z)).fold(0.0, f64::max)
    });
    let energy = motion.sim.body("ball").map_err(|e| e.to_string())?;
    let energy = energy.kinetic_energy()
        + energy.body().mass().map_or(0.0, |m| m.mass) * G * (motion.at("ball").z - 0.05);
    let start =
        motion.sim.body("ball").map_err(|e| e.to_string())?.body().mass().map_or(0.0, |m| m.mass)
            * G
            * height;
    rows.row("energy at the end", "J", (energy, start), relative(1e-8, reason));
    rows.peers(vec![text.play(30.0).seen(u64::MAX)], move |tracks| {
        let ball = tracks[0].end("ball");
        let (squared, high) = (ball.velocity.length_squared(), ball.position.z - 0.05);
        start * (0.5 * squared + G * high) / (G * height)
    });
    let figure = rows.figure(
        "Elastic ball: error of the height",
        ("time, s", "m"),
        vec![dots("error", errors.into_iter().step_by(25).collect())],
    );
    figure.log = true;
    Ok(())
}

/// A row of balls on a line; the first one arrives at 1 m/s.
fn row_of_balls(count: usize, gap: f64, e: f64) -> Text {
    let r = 0.05;
    let mut text = Text::new(Leapfrog, 1e-3).gravity([0.0; 3]).material(0.0, e);
    for i in 0..count {
        let x = i as f64 * (2.0 * r + gap) - if i == 0 { 0.0105 } else { 0.0 };
        let v = if i == 0 { 1.0 } else { 0.0 };
        text = text.body(
            &format!("ball_{i}"),
            "sphere = 0.05",
            &format!("position = [{x:?}, 0, 0]\nvelocity = [{v:?}, 0, 0]"),
        );
    }
    text
}

/// The speeds of the balls after 0.2 s.
fn speeds(text: &Text, count: usize) -> Result<Vec<f64>, String> {
    let mut motion = text.simulate()?;
    motion.until(0.2)?;
    Ok((0..count).map(|i| motion.velocity(&format!("ball_{i}")).x).collect())
}

fn cradle(rows: &mut Rows) -> Result<(), String> {
    for count in [3, 5, 8] {
        let n = count as f64;
        let found = speeds(&row_of_balls(count, 0.0, 1.0), count)?;
        let exact = |i: usize| if i == 0 { 2.0 / n - 1.0 } else { 2.0 / n };
        let worst = found.iter().enumerate().map(|(i, v)| (v - exact(i)).abs()).fold(0.0, f64::max);
        let allowed = within(1e-8, "1e-9 m/s of the solver");
        let row = rows.row(
            &format!("{count} touching: speed of the first"),
            "m/s",
            (found[0], exact(0)),
            allowed,
        );
        row.note("one simultaneous impact, Moreau's law with Newton's restitution");
        rows.zero(
            &format!("{count} touching: largest error of all"),
            "m/s",
            worst,
            within(1e-8, "1e-9 m/s of the solver"),
        );
    }
    let text = row_of_balls(5, 2.3e-3, 1.0);
    let worst = |found: &[f64]| {
        let exact = |i: usize| if i == 4 { 1.0 } else { 0.0 };
        found.iter().enumerate().map(|(i, v)| (v - exact(i)).abs()).fold(0.0, f64::max)
    };
    let found = speeds(&text, 5)?;
    let reason = "one impact after the other, 1e-9 m/s each";
    rows.zero(
        "5 apart by 2.3 mm: largest error of (0, 0, 0, 0, 1)",
        "m/s",
        worst(&found),
        within(1e-8, reason),
    );
    rows.peers(vec![text.play(0.2)], move |tracks| {
        let found: Vec<f64> = tracks[0].last().bodies.iter().map(|ball| ball.velocity.x).collect();
        worst(&found)
    });
    Ok(())
}

/// A billiard ball hits another one at a cut angle; friction throws it off the line of centres.
fn throw(rows: &mut Rows) -> Result<(), String> {
    let (r, v, e, mu) = (0.028575, 1.0, 0.95, 0.06);
    let mut points = (Vec::new(), Vec::new());
    for degrees in [5.0, 10.0, 20.0, 30.0, 45.0, 60.0] {
        let cut = f64::to_radians(degrees);
        let mut text = Text::new(Leapfrog, 1e-3)
            .gravity([0.0; 3])
            .material(mu, e)
            .contact("rebound_speed = \"1 mm/s\"");
        // The line of centres is along x at the impact; no spin at the beginning.
        let way = 1e-4;
        let at =
            format!("position = [{:?}, {:?}, 0]", -2.0 * r - way * cut.cos(), -way * cut.sin());
        text = text.body(
            "cue",
            &format!("sphere = {r:?}"),
            &format!("{at}\nvelocity = [{:?}, {:?}, 0]", v * cut.cos(), v * cut.sin()),
        );
        text = text.body("object", &format!("sphere = {r:?}"), "");
        let mut motion = text.simulate()?;
        motion.until(5e-2)?;
        let found = motion.velocity("object");
        let tangent = mu.min(2.0 * cut.tan() / (7.0 * (1.0 + e)));
        let (angle, exact) = ((found.y / found.x).atan().to_degrees(), tangent.atan().to_degrees());
        points.0.push((degrees, angle));
        points.1.push((degrees, exact));
        let regime = if tangent < mu { "sticks" } else { "slides" };
        let reason = "the normal is that of the beginning of the step: 1e-4 m of 57 mm, times tan \
            of the cut angle";
        let allowed = within((way / (2.0 * r) * (1.0 + cut.tan())).to_degrees(), reason);
        rows.row(&format!("cut {degrees}°, {regime}: throw"), "deg", (angle, exact), allowed);
        rows.peers(vec![text.play(5e-2)], |tracks| {
            let found = tracks[0].end("object").velocity;
            (found.y / found.x).atan().to_degrees()
        });
    }
    let curves = vec![line("closed form", points.1), dots("simulated", points.0)];
    rows.figure(
        "Throw of a billiard ball, mu 0.06, e 0.95",
        ("cut angle, degrees", "throw, degrees"),
        curves,
    );
    Ok(())
}

/// Two spheres of different mass, head on.
fn collision(rows: &mut Rows) -> Result<(), String> {
    for (masses, e) in [([1.0, 3.0], 0.6), ([1e-6, 1e6], 0.6), ([2.0, 2.0], 0.0)] {
        let [a, b] = masses;
        let mut text = Text::new(Leapfrog, 1e-3)
            .gravity([0.0; 3])
            .material(0.3, e)
            .contact("rebound_speed = \"1 mm/s\"");
        text = text.body(
            "a",
            "sphere = 0.1",
            &format!("mass = {a:?}\nposition = [-0.12, 0, 0]\nvelocity = [2, 0, 0]"),
        );
        text = text.body(
            "b",
            "sphere = 0.1",
            &format!("mass = {b:?}\nposition = [0.12, 0, 0]\nvelocity = [-1, 0, 0]"),
        );
        let mut motion = text.simulate()?;
        motion.until(0.1)?;
        let mean = (2.0 * a - b) / (a + b);
        let exact = mean - e * 3.0 * b / (a + b);
        let allowed = within(1e-8, "1e-9 m/s of the solver");
        rows.row(
            &format!("{a:e} kg on {b:e} kg, e {e}: speed of the first"),
            "m/s",
            (motion.velocity("a").x, exact),
            allowed,
        );
        rows.peers(vec![text.play(0.1)], |tracks| tracks[0].end("a").velocity.x);
    }
    Ok(())
}
