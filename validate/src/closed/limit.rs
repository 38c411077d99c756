//! Limits of rest, found by bisection: one step from rest tells whether a structure stands.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, line, relative, within};
use crate::motion::{G, Scheme::*, Text, xyz};
use signorini::prelude::*;

pub const CASES: &[Case] = &[
    Case {
        name: "tip-or-slip",
        group: ClosedForm,
        source: "pushed at height z a box tips iff mu > w/(2 z); F = m g w/(2 z) or mu m g",
        cost: Quick,
        run: tip,
    },
    Case {
        name: "tip-on-slope",
        group: ClosedForm,
        source: "box on a slope: slips if tan θ > mu, tips if tan θ > w/h; φ'' = 3g/(4R) sin φ about \
            the edge",
        cost: Quick,
        run: tip_on_slope,
    },
    Case {
        name: "capstan",
        group: ClosedForm,
        source: "beads on a drum: T₂/T₁ = ((1 + mu tan δ/2)/(1 − mu tan δ/2))ⁿ → exp(mu φ) \
            (Euler–Eytelwein)",
        cost: Quick,
        run: capstan,
    },
    Case {
        name: "log-pyramid",
        group: ClosedForm,
        source: "three logs: mu ≥ tan 15° between them, tan 15°/3 on the ground",
        cost: Quick,
        run: logs,
    },
    Case {
        name: "ball-pyramid",
        group: ClosedForm,
        source: "four balls: mu ≥ tan(β/2), sin β = 1/√3, between them, a quarter of it on the \
            ground",
        cost: Quick,
        run: balls,
    },
    Case {
        name: "leaning-ladder",
        group: ClosedForm,
        source: "ladder on a rough floor and a smooth wall: mu ≥ 1/(2 tan θ)",
        cost: Quick,
        run: ladder,
    },
];

/// The value between `low` (moves) and `high` (rests) at which rest begins.
pub fn bisect(
    mut low: f64,
    mut high: f64,
    close: f64,
    rests: impl Fn(f64) -> Result<bool, String>,
) -> Result<f64, String> {
    if rests(low)? || !rests(high)? {
        return Err(format!("the limit is not between {low} and {high}"));
    }
    while (high - low).abs() > close {
        let middle = 0.5 * (low + high);
        if rests(middle)? { high = middle } else { low = middle }
    }
    Ok(0.5 * (low + high))
}

/// True if nothing has moved after one step of 20 ms from rest: contacts are those of the
/// beginning, so the answer is that of the statics of rigid bodies. Near a limit velocities are
/// wrong by up to a thousand times the tolerance of 1e-11 m/s; what moves by 1e-7 m/s has an
/// acceleration of 1e-6 g.
pub fn rests(text: &Text) -> Result<bool, String> {
    let mut motion = text.simulate()?;
    match motion.step() {
        Ok(_) => Ok(motion.fastest() < 1e-7),
        // What turns too far in one step to be followed does not rest.
        Err(_) if motion.sim.verdict().is_some_and(|v| v.unresolved.is_some()) => Ok(false),
        Err(why) => Err(why),
    }
}

/// Rigid contacts and steps of 20 ms, for [`rests`].
pub fn statics() -> Text {
    Text::statics(2e-2)
}

/// The largest force with which a box can be pushed, at height z.
fn tip(rows: &mut Rows) -> Result<(), String> {
    let (width, height, mass) = (0.4, 1.0, 5.0);
    for (mu, z) in [(0.1, 0.8), (0.3, 0.8), (0.24, 0.8), (0.26, 0.8), (0.9, 0.3)] {
        let still = |force: f64| {
            let text = statics().material(mu, 0.0).floor();
            let lines = format!("mass = {mass:?}\nposition = [0, 0, {:?}]", height / 2.0);
            let text = text.body("box", &format!("box = [{width:?}, 0.6, {height:?}]"), &lines);
            let point = xyz(DVec3::new(-width / 2.0, 0.0, z));
            rests(&text.add(&format!(
                "[[force]]\nname = \"push\"\napplied = {{ body = \"box\", point = {point}, \
                        force = [{force:?}, 0, 0] }}"
            )))
        };
        let weight = mass * G;
        let found = bisect(2.0 * weight, 0.0, 1e-6 * weight, still)?;
        let (tips, exact) = (mu > width / (2.0 * z), weight * f64::min(mu, width / (2.0 * z)));
        let what = if tips { "tips" } else { "slips" };
        rows.row(
            &format!("mu {mu}, pushed at {z} m: {what} at"),
            "N",
            (found, exact),
            relative(
                1e-5,
                "bisection to 1e-6 of the weight; rest below 1e-7 m/s in 10 ms is 1e-6 g",
            ),
        );
    }
    Ok(())
}

/// A tall box on a slope just below and just above the angle at which it slips or tips.
fn tip_on_slope(rows: &mut Rows) -> Result<(), String> {
    let (width, height, time, h): (f64, f64, f64, f64) = (0.4, 1.0, 1.0, 2e-3);
    let radius = 0.5 * width.hypot(height);
    for (mu, what) in [(0.3, "slips"), (0.6, "tips")] {
        let limit = f64::min(mu, width / height).atan();
        for degrees in [-0.2, 0.2] {
            let slope = limit + f64::to_radians(degrees);
            let gravity = [G * slope.sin(), 0.0, -G * slope.cos()];
            let text = Text::new(Leapfrog, h).gravity(gravity).material(mu, 0.0).floor();
            let shape = format!("box = [{width:?}, 0.5, {height:?}]");
            let at = format!("position = [0, 0, {:?}]", 0.5 * height);
            let text = text.body("box", &shape, &at);
            let mut motion = text.simulate()?;
            motion.until(time)?;
            let view = motion.sim.body("box").map_err(|e| e.to_string())?;
            let tilt = |turn: DQuat| 2.0 * turn.y.asin();
            let label = format!("mu {mu}, {:.1}° from where it {what}", degrees);
            if degrees < 0.0 {
                let reason = "1e-9 m/s of the solver at each of four corners, for 1 s";
                let allowed = within(4e-9, reason);
                rows.zero(&format!("{label}: way in 1 s"), "m", motion.at("box").x, allowed);
                rows.peers(vec![text.play(time)], |t| t[0].end("box").position.x);
            } else if what == "slips" {
                let exact = 0.5 * G * (slope.sin() - mu * slope.cos()) * time * time;
                let reason = "constant force: the scheme is exact; 1e-9 m/s in each of 500 steps";
                let allowed = within(1e-6, reason);
                rows.row(
                    &format!("{label}: way in 1 s"),
                    "m",
                    (motion.at("box").x, exact),
                    allowed,
                );
                rows.peers(vec![text.play(time)], |t| t[0].end("box").position.x);
            } else {
                let start = f64::to_radians(degrees);
                let exact = fall(start, 0.75 * G / radius, time) - start;
                let found = tilt(view.orientation());
                let reason = "second order: (p h)² p t, p² = 3g/(4R), of what grows as cosh p t";
                let p = (0.75 * G / radius).sqrt();
                let allowed = relative((p * h).powi(2) * p * time, reason);
                rows.row(&format!("{label}: tilt after 1 s"), "rad", (found, exact), allowed);
                rows.peers(vec![text.play(time)], move |t| tilt(t[0].end("box").orientation));
            }
        }
    }
    Ok(())
}

/// φ at time `t` of φ'' = `k` sin φ, from rest at `start`: Runge–Kutta in 2000 steps.
fn fall(start: f64, k: f64, t: f64) -> f64 {
    let h = t / 2000.0;
    let rate = |(x, v): (f64, f64)| (v, k * x.sin());
    let add = |a: (f64, f64), b: (f64, f64), s: f64| (a.0 + s * b.0, a.1 + s * b.1);
    let mut y = (start, 0.0);
    for _ in 0..2000 {
        let a = rate(y);
        let b = rate(add(y, a, 0.5 * h));
        let c = rate(add(y, b, 0.5 * h));
        let d = rate(add(y, c, h));
        y = add(add(add(add(y, a, h / 6.0), b, h / 3.0), c, h / 3.0), d, h / 6.0);
    }
    y.0
}

/// The largest pull on one end of a string of beads around a drum, with a pull of 1 N on the other
/// end.
fn pull(count: usize, wrap: f64, mu: f64) -> Result<f64, String> {
    let (drum, r) = (1.0, 1e-3);
    let delta = wrap / count as f64;
    let angle = |i: usize| (i as f64 + 0.5) * delta;
    let at =
        |i: usize, radius: f64| DVec3::new(radius * angle(i).sin(), 0.0, radius * angle(i).cos());
    let mut text = statics().gravity([0.0; 3]).material(mu, 0.0);
    let turned = "rotation = { axis = [1, 0, 0], angle = \"90 deg\" }";
    text = text.body(
        "drum",
        &format!("cylinder = {{ radius = {drum:?}, length = 1 }}, {turned}"),
        "fixed = true",
    );
    for i in 0..count {
        text = text.body(
            &format!("bead_{i}"),
            &format!("sphere = {r:?}"),
            &format!("mass = 0.01\nposition = {}", xyz(at(i, drum + r))),
        );
    }
    // Strings meet each bead where it touches the drum: friction then has no lever and does not
    // turn the bead.
    for i in 1..count {
        let ends = format!("[{}, {}]", xyz(at(i - 1, drum)), xyz(at(i, drum)));
        let bodies = format!("a = \"bead_{}\"\nb = \"bead_{i}\"", i - 1);
        text = text.add(&format!(
            "[[joint]]\nname = \"string_{i}\"\nkind = \"distance\"\n{bodies}\npoints = {ends}"
        ));
    }
    let end = |body: usize, way: f64, force: f64| {
        let direction = DVec3::new(way.cos(), 0.0, -way.sin());
        let fields = format!(
            "body = \"bead_{body}\", point = {}, force = {}",
            xyz(at(body, drum)),
            xyz(direction * force)
        );
        format!("[[force]]\nname = \"pull_{body}\"\napplied = {{ {fields} }}")
    };
    bisect(100.0, 1.0, 1e-6, |force| {
        let text = text.clone().add(&end(0, 0.0, -1.0)).add(&end(count - 1, wrap, force));
        rests(&text)
    })
}

fn capstan(rows: &mut Rows) -> Result<(), String> {
    let (mut points, mu) = (Vec::new(), 0.3);
    for (count, turns) in [(12, 0.25), (16, 0.5), (24, 0.75)] {
        let wrap = turns * std::f64::consts::TAU;
        let found = pull(count, wrap, mu)?;
        let tangent = (0.5 * wrap / count as f64).tan();
        let exact = ((1.0 + mu * tangent) / (1.0 - mu * tangent)).powi(count as i32);
        points.push((wrap, found));
        let reason = "bisection to 1e-6; rest below 1e-7 m/s in 20 ms at 0.01 kg per bead";
        let row = rows.row(
            &format!("{count} beads over {turns} turns: T₂/T₁"),
            "",
            (found, exact),
            relative(1e-5, reason),
        );
        row.note(format!("exp(mu φ) = {:.6}", (mu * wrap).exp()));
    }
    let rope = (0..50).map(|k| k as f64 * 0.1).map(|phi| (phi, (mu * phi).exp())).collect();
    rows.figure(
        "Capstan, mu 0.3",
        ("wrap, rad", "T₂/T₁"),
        vec![line("exp(mu φ)", rope), crate::case::dots("beads", points)],
    );
    Ok(())
}

/// Round bodies on a floor, friction among themselves and on the floor.
fn pile(
    shape: &str,
    lines: &str,
    places: &[DVec3],
    (between, ground): (f64, f64),
) -> Result<bool, String> {
    let mut text = statics().add(&format!(
        "[materials]\nearth = {{ mu = {ground:?} }}\nwood = {{ mu = {between:?}, density = 600 }}"
    ));
    text = text.add(&format!("[[surface]]\nbetween = [\"earth\", \"wood\"]\nmu = {ground:?}"));
    text = text.body("floor", "half_space = true", "fixed = true\nmaterial = \"earth\"");
    for (i, place) in places.iter().enumerate() {
        text = text.body(
            &format!("b{i}"),
            shape,
            &format!("material = \"wood\"\nposition = {}\n{lines}", xyz(*place)),
        );
    }
    rests(&text)
}

const BISECTION_REASON: &str = "bisection to 1e-7; rest below 1e-7 m/s in 10 ms is 1e-6 g";

fn logs(rows: &mut Rows) -> Result<(), String> {
    let r = 0.1;
    let places = [
        DVec3::new(-r, 0.0, r),
        DVec3::new(r, 0.0, r),
        DVec3::new(0.0, 0.0, r * (1.0 + 3f64.sqrt())),
    ];
    let shape = format!("cylinder = {{ radius = {r:?}, length = 1 }}");
    let lines = "rotation = { axis = [1, 0, 0], angle = \"90 deg\" }";
    let between = bisect(0.0, 1.0, 1e-7, |mu| pile(&shape, lines, &places, (mu, 1.0)))?;
    let exact = 15f64.to_radians().tan();
    rows.row("least mu between logs", "", (between, exact), within(1e-5, BISECTION_REASON));
    let ground = bisect(0.0, 1.0, 1e-7, |mu| pile(&shape, lines, &places, (1.0, mu)))?;
    rows.row("least mu on the ground", "", (ground, exact / 3.0), within(1e-5, BISECTION_REASON));
    Ok(())
}

fn balls(rows: &mut Rows) -> Result<(), String> {
    let r = 0.1;
    let ring = |k: usize| {
        let angle = (120.0 * k as f64 + 10.0).to_radians();
        let far = 2.0 * r / 3f64.sqrt();
        DVec3::new(far * angle.cos(), far * angle.sin(), r)
    };
    let top = DVec3::new(0.0, 0.0, r + 2.0 * r * (2.0f64 / 3.0).sqrt());
    let places = [ring(0), ring(1), ring(2), top];
    let exact = (0.5 * (1.0 / 3f64.sqrt()).asin()).tan();
    let shape = format!("sphere = {r:?}");
    let between = bisect(0.0, 1.0, 1e-7, |mu| pile(&shape, "", &places, (mu, 1.0)))?;
    rows.row("least mu between balls", "", (between, exact), within(1e-5, BISECTION_REASON));
    let ground = bisect(0.0, 1.0, 1e-7, |mu| pile(&shape, "", &places, (1.0, mu)))?;
    rows.row("least mu on the ground", "", (ground, exact / 4.0), within(1e-5, BISECTION_REASON));
    Ok(())
}

fn ladder(rows: &mut Rows) -> Result<(), String> {
    let (length, r) = (2.0, 1e-4);
    for degrees in [50.0, 65.0] {
        let angle = f64::to_radians(degrees);
        let (x, z) = (0.5 * length * angle.cos(), 0.5 * length * angle.sin());
        let still = |mu: f64| {
            let mut text = statics().add(&format!(
                "[materials]\nrough = {{ mu = {mu:?} }}\nsmooth \
                = {{ mu = 0 }}\nwood = {{ mu = 10 }}"
            ));
            text = text.body("floor", "half_space = true", "fixed = true\nmaterial = \"rough\"");
            let wall = format!(
                "fixed = true\nmaterial = \"smooth\"\nposition = [{:?}, 0, 0]\nrotation = {{ axis \
                    = [0, 1, 0], angle = \"-90 deg\" }}",
                x + r
            );
            text = text.body("wall", "half_space = true", &wall);
            // Four feet: two below, two above, so that it stands by itself.
            let feet: Vec<String> = [[-1.0, -0.2], [-1.0, 0.2], [1.0, -0.2], [1.0, 0.2]]
                .iter()
                .map(|[side, y]| {
                    format!(
                        "{{ sphere = {r:?}, position = [{:?}, {y:?}, 0] }}",
                        0.5 * length * side
                    )
                })
                .collect();
            let inertia = 10.0 * length * length / 12.0;
            let lines = format!(
                "mass = 10\ninertia = [0.2, {inertia:?}, {inertia:?}]\ncenter = [0, 0, \
                    0]\nmaterial = \"wood\"\nposition = [0, 0, {:?}]\n\
                 rotation = {{ axis = [0, 1, 0], angle = {:?} }}",
                z + r,
                -angle
            );
            rests(&text.add(&format!(
                "[[body]]\nname = \"ladder\"\nshape = [{}]\n{lines}",
                feet.join(", ")
            )))
        };
        let found = bisect(0.0, 2.0, 1e-7, still)?;
        let allowed = within(2e-4, "feet of 0.1 mm on a ladder of 2 m; bisection to 1e-7");
        rows.row(&format!("{degrees}°: least mu"), "", (found, 1.0 / (2.0 * angle.tan())), allowed);
    }
    Ok(())
}
