//! Rolling: from sliding to rolling, backspin, slopes, a turntable.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, line, within};
use crate::motion::{G, Scheme::*, Text};

pub const CASES: &[Case] = &[
    Case { name: "slide-to-roll", group: ClosedForm, source: "v = v₀/(1+k), t = k v₀/((1+k) mu g), k = I/(m r²)", cost: Quick, run: slide },
    Case { name: "backspin", group: ClosedForm, source: "v = (v₀ − k r ω₀)/(1+k)", cost: Quick, run: backspin },
    Case { name: "roll-down", group: ClosedForm, source: "no slip iff mu ≥ k/(1+k) tan θ; a = g sin θ/(1+k)", cost: Quick, run: slope },
    Case { name: "turntable", group: ClosedForm, source: "circle at k/(1+k) Ω: 2Ω/7 for a ball", cost: Quick, run: turntable },
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
        let mut motion = text.body(name, &shape, &lines).simulate()?;
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
        rows.row(&format!("{name}: rolling speed"), "m/s", (motion.velocity(name).x, v / (1.0 + k)), within(1e-7, reason));
        rows.row(&format!("{name}: begins to roll"), "s", (begun, time), within(h, "one step"));
        // x at the end: way of sliding, then rolling.
        let sliding = v * time - 0.5 * mu * G * time * time;
        let exact = sliding + v / (1.0 + k) * (motion.time() - time);
        let reason = "the kink within one step: mu g h²/8; 1e-9 m/s of the solver";
        rows.row(&format!("{name}: way"), "m", (motion.at(name).x, exact), within(mu * G * h * h / 8.0 + 1e-7, reason));
        if k == 0.4 {
            rows.figure("Ball, mu 0.3, from sliding to rolling", ("time, s", "speed, m/s"), vec![line("simulated", curve)]);
        }
    }
    Ok(())
}

fn backspin(rows: &mut Rows) -> Result<(), String> {
    let (mu, v, r) = (0.25, 1.2, 0.05);
    for (name, shape, k) in shapes(r) {
        for (spin, what) in [(15.0, "goes on"), (v / (k * r), "stops"), (110.0, "returns")] {
            let text = Text::new(Leapfrog, 2e-3).material(mu, 0.0).floor();
            let lines = format!("position = [0, 0, {r:?}]\nvelocity = [{v:?}, 0, 0]\nangular_velocity = [0, {:?}, 0]", -spin);
            let mut motion = text.body(name, &shape, &lines).simulate()?;
            motion.until(2.0)?;
            let exact = (v - k * r * spin) / (1.0 + k);
            let label = format!("{name} with {spin:.3} rad/s {what}: speed at the end");
            let reason = "1e-9 m/s of the solver in each of 1000 steps";
            rows.row(&label, "m/s", (motion.velocity(name).x, exact), within(1e-6, reason));
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
            let mut motion = text.body(name, &shape, &format!("position = [0, 0, {r:?}]")).simulate()?;
            motion.until(t)?;
            let slip = motion.velocity(name).x - r * motion.spin(name).y;
            let a = if rolls { G * angle.sin() / (1.0 + k) } else { G * (angle.sin() - mu * angle.cos()) };
            let what = if rolls { "mu 1e-4 above the limit" } else { "mu 1e-4 below the limit" };
            let exact = if rolls { 0.0 } else { a * t - mu * G * angle.cos() * t / k };
            let reason = "1e-9 m/s of the solver in each of 500 steps";
            rows.row(&format!("{name}, {what}: slip at 1 s"), "m/s", (slip, exact), within(1e-6, reason));
            let x = motion.at(name).x;
            rows.row(&format!("{name}, {what}: way in 1 s"), "m", (x, 0.5 * a * t * t), within(1e-6, reason));
        }
    }
    Ok(())
}

/// A ball on a turning disc runs on a circle, wherever and however it begins.
fn turntable(rows: &mut Rows) -> Result<(), String> {
    let (omega, r, h) = (5.0, 0.05, 1e-3);
    let period = std::f64::consts::TAU / (2.0 / 7.0 * omega);
    let text = Text::new(Leapfrog, h).material(1.0, 0.0);
    let motion = format!("motion = {{ angle = {{ ramp = {{ value = 0, rate = {omega:?} }} }} }}");
    let text = text.body("table", "half_space = true", &motion);
    // Rolls from the beginning: v + ω × (−r n) = Ω × x, so ω = n × (v − Ω × x)/r.
    let (x, v) = (0.4, [0.1, 0.3]);
    let slip = [v[0], v[1] - omega * x];
    let lines = format!(
        "position = [{x:?}, 0, {r:?}]\nvelocity = [{:?}, {:?}, 0]\nangular_velocity = [{:?}, {:?}, 0]",
        v[0],
        v[1],
        -slip[1] / r,
        slip[0] / r
    );
    let mut motion = text.body("ball", &format!("sphere = {r:?}"), &lines).simulate()?;
    let (mut path, mut far) = (Vec::new(), 0.0f64);
    let rate = 2.0 / 7.0 * omega;
    // Centre of the circle: v = rate × (x − c).
    let center = [x - v[1] / rate, v[0] / rate];
    let radius = f64::hypot(v[0], v[1]) / rate;
    motion.watch(period, |m| {
        let p = m.at("ball");
        path.push((p.x, p.y));
        far = far.max((f64::hypot(p.x - center[0], p.y - center[1]) - radius).abs());
    })?;
    let p = motion.at("ball");
    let elapsed = motion.time() - period;
    let reason = "second order: (2Ω/7 h)²/12 of the way, some turns of the ball; 1e-9 m/s of the solver";
    let allowed = within(5e-5, reason);
    let back = f64::hypot(p.x - x - v[0] * elapsed, p.y - v[1] * elapsed);
    rows.zero("distance from the start after one period 7π/Ω", "m", back, allowed);
    rows.zero("largest distance from the circle", "m", far, within(5e-5, reason));
    rows.figure("Ball on a turntable", ("x, m", "y, m"), vec![line("path", path)]);
    Ok(())
}
