//! Rolling: from sliding to rolling, backspin, slopes, a turntable.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, line, within};
use crate::motion::{G, Scheme::*, Text};
use signorini::glam::DVec2;

pub const CASES: &[Case] = &[
    Case {
        name: "slide-to-roll",
        group: ClosedForm,
        source: "v = v₀/(1+k), t = k v₀/((1+k) mu g), k = I/(m r²)",
        cost: Quick,
        run: slide,
    },
    Case {
        name: "backspin",
        group: ClosedForm,
        source: "v = (v₀ − k r ω₀)/(1+k)",
        cost: Quick,
        run: backspin,
    },
    Case {
        name: "roll-down",
        group: ClosedForm,
        source: "no slip iff mu ≥ k/(1+k) tan θ; a = g sin θ/(1+k)",
        cost: Quick,
        run: slope,
    },
    Case {
        name: "turntable",
        group: ClosedForm,
        source: "circle at k/(1+k) Ω: 2Ω/7 for a ball",
        cost: Quick,
        run: turntable,
    },
];

/// Shape along y, its k.
fn shapes(r: f64) -> [(&'static str, String, f64); 2] {
    let turned = "rotation = { axis = [1, 0, 0], angle = \"90 deg\" }";
    [
        ("ball", format!("sphere = {r:?}"), 0.4),
        ("cylinder", format!("cylinder = {{ radius = {r:?}, length = 0.3 }}, {turned}"), 0.5),
    ]
}

fn slide(rows: &mut Rows) -> Result<(), String> {
    let (mu, v, r, h) = (0.3, 3.0, 0.07, 2e-3);
    for (name, shape, k) in shapes(r) {
        let text = Text::new(Leapfrog, h).material(mu, 0.0).floor();
        let lines = format!("position = [0, 0, {r:?}]\nvelocity = [{v:?}, 0, 0]");
        let text = text.body(name, &shape, &lines);
        let mut motion = text.simulate()?;
        let time = k * v / ((1.0 + k) * mu * G);
        let (mut begun, mut curve) = (f64::NAN, Vec::new());
        motion.watch(time + 0.3, |m| {
            let (speed, rim) = (m.velocity(name).x, r * m.spin(name).y);
            curve.push((m.time(), speed));
            if begun.is_nan() && speed - rim < 1e-6 {
                begun = m.time();
            }
        })?;
        let reason = "1e-9 m/s of the solver in each of some hundred steps";
        rows.row(
            &format!("{name}: rolling speed"),
            "m/s",
            (motion.velocity(name).x, v / (1.0 + k)),
            within(1e-7, reason),
        );
        let play = text.play(time + 0.3);
        rows.peers(vec![play.clone()], move |t| t[0].end(name).velocity.x);
        rows.row(&format!("{name}: begins to roll"), "s", (begun, time), within(h, "one step"));
        // x at the end: way of sliding, then rolling.
        let sliding = v * time - 0.5 * mu * G * time * time;
        let exact = sliding + v / (1.0 + k) * (motion.time() - time);
        let reason = "the kink within one step: mu g h²/8; 1e-9 m/s of the solver";
        rows.row(
            &format!("{name}: way"),
            "m",
            (motion.at(name).x, exact),
            within(mu * G * h * h / 8.0 + 1e-7, reason),
        );
        rows.peers(vec![play], move |t| t[0].end(name).position.x);
        if k == 0.4 {
            rows.figure(
                "Ball, mu 0.3, from sliding to rolling",
                ("time, s", "speed, m/s"),
                vec![line("simulated", curve)],
            );
        }
    }
    Ok(())
}

fn backspin(rows: &mut Rows) -> Result<(), String> {
    let (mu, v, r) = (0.25, 1.2, 0.05);
    for (name, shape, k) in shapes(r) {
        for (spin, what) in [(15.0, "goes on"), (v / (k * r), "stops"), (110.0, "returns")] {
            let text = Text::new(Leapfrog, 2e-3).material(mu, 0.0).floor();
            let lines = format!(
                "position = [0, 0, {r:?}]\nvelocity = [{v:?}, 0, 0]\nangular_velocity = [0, {:?}, \
                    0]",
                -spin
            );
            let text = text.body(name, &shape, &lines);
            let mut motion = text.simulate()?;
            motion.until(2.0)?;
            let exact = (v - k * r * spin) / (1.0 + k);
            let label = format!("{name} with {spin:.3} rad/s {what}: speed at the end");
            let reason = "1e-9 m/s of the solver in each of 1000 steps";
            rows.row(&label, "m/s", (motion.velocity(name).x, exact), within(1e-6, reason));
            rows.peers(vec![text.play(2.0)], move |t| t[0].end(name).velocity.x);
        }
    }
    Ok(())
}

/// Just above the limit of friction it rolls, just below it slips.
fn slope(rows: &mut Rows) -> Result<(), String> {
    let (r, angle, t) = (0.06, 25f64.to_radians(), 1.0);
    for (name, shape, k) in shapes(r) {
        let limit = k / (1.0 + k) * angle.tan();
        for (mu, rolls) in [(limit * (1.0 + 1e-4), true), (limit * (1.0 - 1e-4), false)] {
            let gravity = [G * angle.sin(), 0.0, -G * angle.cos()];
            let text = Text::new(Leapfrog, 2e-3).gravity(gravity).material(mu, 0.0).floor();
            let text = text.body(name, &shape, &format!("position = [0, 0, {r:?}]"));
            let mut motion = text.simulate()?;
            motion.until(t)?;
            let slip = motion.velocity(name).x - r * motion.spin(name).y;
            let a = if rolls {
                G * angle.sin() / (1.0 + k)
            } else {
                G * (angle.sin() - mu * angle.cos())
            };
            let what = if rolls { "mu 1e-4 above the limit" } else { "mu 1e-4 below the limit" };
            let exact = if rolls { 0.0 } else { a * t - mu * G * angle.cos() * t / k };
            let reason = "1e-9 m/s of the solver in each of 500 steps";
            rows.row(
                &format!("{name}, {what}: slip at 1 s"),
                "m/s",
                (slip, exact),
                within(1e-6, reason),
            );
            rows.peers(vec![text.play(t)], move |t| {
                let end = t[0].end(name);
                end.velocity.x - r * end.spin.y
            });
            let x = motion.at(name).x;
            rows.row(
                &format!("{name}, {what}: way in 1 s"),
                "m",
                (x, 0.5 * a * t * t),
                within(1e-6, reason),
            );
            rows.peers(vec![text.play(t)], move |t| t[0].end(name).position.x);
        }
    }
    Ok(())
}

/// A ball on a turning disc.
fn disc(omega: f64, h: f64) -> Text {
    let (r, start, v) = (0.05, START, SPEED);
    let text = Text::new(Leapfrog, h).material(1.0, 0.0);
    // So heavy that the ball does not slow it: 1e-9 of its speed.
    let lines = format!(
        "mass = 1e9\ninertia = [1e9, 1e9, 1e9]\nposition = [0, 0, -0.05]\nangular_velocity = [0, \
            0, {omega:?}]"
    );
    let text = text.body("table", "cylinder = { radius = 2, length = 0.1 }", &lines);
    let text = text.add("[[joint]]\nname = \"bearing\"\nkind = \"revolute\"\nb = \"table\"");
    // Rolls from the beginning: v + ω × (−r n) = Ω × x, so ω = n × (v − Ω × x)/r.
    let slip = v - omega * start.perp();
    let lines = format!(
        "position = [{:?}, {:?}, {r:?}]\nvelocity = [{:?}, {:?}, 0]\nangular_velocity = [{:?}, \
            {:?}, 0]",
        start.x,
        start.y,
        v.x,
        v.y,
        -slip.y / r,
        slip.x / r
    );
    text.body("ball", &format!("sphere = {r:?}"), &lines)
}

/// The ball runs on a circle, wherever and however it begins: where it is after one period, and its
/// path.
fn circle(text: &Text, period: f64) -> Result<(DVec2, Vec<(f64, f64)>), String> {
    let mut motion = text.simulate()?;
    let mut path = Vec::new();
    motion.watch(period, |m| path.push((m.at("ball").x, m.at("ball").y)))?;
    let late = motion.time() - period;
    Ok((motion.at("ball").truncate() - late * motion.velocity("ball").truncate(), path))
}

const START: DVec2 = DVec2::new(0.4, 0.0);
const SPEED: DVec2 = DVec2::new(0.1, 0.3);

fn turntable(rows: &mut Rows) -> Result<(), String> {
    let omega = 5.0;
    let rate = 2.0 / 7.0 * omega;
    let period = std::f64::consts::TAU / rate;
    let center = START + SPEED.perp() / rate;
    let text = disc(omega, 5e-4);
    let (coarse, path) = circle(&disc(omega, 1e-3), period)?;
    let (fine, _) = circle(&text, period)?;
    let reason = "first order: friction takes the speed of the disc at the place of the contact \
        when the step begins, Ω h of the distance of the circle from the axis";
    let row = rows.zero(
        "distance from the start after one period, h 0.5 ms",
        "m",
        fine.distance(START),
        within(omega * 5e-4 * center.length(), reason),
    );
    row.note("a deviation from the second order of the scheme");
    rows.peers(vec![text.play(period)], move |tracks| {
        let (last, ball) = (tracks[0].last().time, tracks[0].end("ball"));
        let at = ball.position - (last - period) * ball.velocity;
        at.truncate().distance(START)
    });
    let reason = "what is left when h goes to 0: the next order, (Ω h)² of that distance";
    let extrapolated = (2.0 * fine - coarse).distance(START);
    rows.zero(
        "the same, extrapolated to h = 0",
        "m",
        extrapolated,
        within((omega * 1e-3).powi(2) * center.length(), reason),
    );
    rows.figure("Ball on a turntable", ("x, m", "y, m"), vec![line("path", path)]);
    Ok(())
}
