//! Coulomb friction: what sticks, what slides, and how far.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, dots, line, relative, within};
use crate::motion::{G, Scheme::*, Text, xyz};
use signorini::prelude::*;

pub const CASES: &[Case] = &[
    Case {
        name: "incline",
        group: ClosedForm,
        source: "tan θ = mu; a = g (sin θ − mu cos θ)",
        cost: Quick,
        run: incline,
    },
    Case {
        name: "incline-turned",
        group: ClosedForm,
        source: "tan θ = mu, for slopes turned about the vertical",
        cost: Quick,
        run: turned,
    },
    Case {
        name: "stopping",
        group: ClosedForm,
        source: "d = v²/(2 mu g), t = v/(mu g)",
        cost: Quick,
        run: stopping,
    },
    Case {
        name: "v-groove",
        group: ClosedForm,
        source: "mu/sin(half angle of the groove)",
        cost: Quick,
        run: groove,
    },
    Case {
        name: "clutch",
        group: ClosedForm,
        source: "t = Δω I₁I₂/((I₁+I₂) mu F R), heat ½ Δω² I₁I₂/(I₁+I₂)",
        cost: Quick,
        run: clutch,
    },
    Case {
        name: "painleve",
        group: ClosedForm,
        source: "N = m g/(1 + 3 cos θ (cos θ − mu sin θ)); Painlevé 1895",
        cost: Quick,
        run: painleve,
    },
    Case {
        name: "stick-slip",
        group: ClosedForm,
        source: "Potra et al. 2006, block under 8 cos t N; plateaus by quadrature",
        cost: Quick,
        run: stick_slip,
    },
];

/// A block on a slope: gravity is turned by the angle of friction plus `beyond` degrees. The scene,
/// and the way that it slides up to time `at` once it does.
fn block(mu: f64, beyond: f64, at: f64) -> (Text, f64) {
    // Below by more than the angle itself is a level floor.
    let angle = (mu.atan() + beyond.to_radians()).max(0.0);
    let gravity = [G * angle.sin(), 0.0, -G * angle.cos()];
    let text = Text::new(Leapfrog, 5e-3).gravity(gravity).material(mu, 0.0).floor();
    let a = G * (angle.sin() - mu * angle.cos());
    (text.body("block", "box = [0.3, 0.2, 0.1]", "position = [0, 0, 0.05]"), 0.5 * a * at * at)
}

/// Where the block is after 1 s.
fn slid(text: &Text) -> Result<f64, String> {
    let mut motion = text.simulate()?;
    motion.until(1.0)?;
    Ok(motion.at("block").x)
}

fn incline(rows: &mut Rows) -> Result<(), String> {
    let mus = [0.05, 0.1, 0.3, 0.7, 1.0];
    let mut points = Vec::new();
    for beyond in [10.0, 1.0, 0.01, 0.001] {
        let (mut crept, mut worst) = (0.0f64, (0.0f64, 0.0, 1.0));
        for mu in mus {
            crept = crept.max(slid(&block(mu, -beyond, 1.0).0)?.abs());
            let (text, exact) = block(mu, beyond, 1.0);
            let x = slid(&text)?;
            let off = (x / exact - 1.0).abs();
            points.push((beyond.log10(), off));
            if off >= worst.0 {
                worst = (off, x, exact);
            }
        }
        let reason = "1e-9 m/s of the solver at each of four corners, for 1 s";
        rows.zero(
            &format!("{beyond}° below: creep in 1 s, worst of mu 0.05–1"),
            "m",
            crept,
            within(4e-9, reason),
        );
        let plays = mus.map(|mu| block(mu, -beyond, 1.0).0.play(1.0));
        rows.peers(plays.to_vec(), |tracks| {
            tracks.iter().map(|t| t.end("block").position.x.abs()).fold(0.0, f64::max)
        });
        let reason = "constant force: the leapfrog scheme is exact; 1e-9 m/s of the solver in each \
            of 200 steps";
        let allowed = within(1e-7, reason);
        rows.row(
            &format!("{beyond}° above: way in 1 s, worst of mu 0.05–1"),
            "m",
            (worst.1, worst.2),
            allowed,
        );
        // The same coefficient as in our worst one.
        let (texts, ways): (Vec<Text>, Vec<f64>) =
            mus.iter().map(|mu| block(*mu, beyond, 1.0)).unzip();
        let exact = worst.2;
        rows.peers(texts.iter().map(|text| text.play(1.0)).collect(), move |tracks| {
            let off = |i: usize| tracks[i].end("block").position.x / ways[i] - 1.0;
            let largest = (0..ways.len()).map(off).max_by(|a, b| a.abs().total_cmp(&b.abs()));
            exact * (1.0 + largest.unwrap_or(0.0))
        });
    }
    let curves = vec![dots("relative error of the way", points)];
    rows.figure(
        "Block on a slope, beyond the angle of friction",
        ("log10 of degrees above the limit", "relative error"),
        curves,
    )
    .log = true;
    Ok(())
}

/// The limit does not depend on the direction in which the slope points: no pyramid.
fn turned(rows: &mut Rows) -> Result<(), String> {
    let (mu, beyond) = (0.45f64, 0.01f64.to_radians());
    let (mut crept, mut slid) = (0.0f64, f64::INFINITY);
    let mut points = Vec::new();
    for k in 0..12 {
        let way = k as f64 * 7.5f64.to_radians();
        for (sign, sticks) in [(-1.0, true), (1.0, false)] {
            let angle = mu.atan() + sign * beyond;
            let gravity =
                [G * angle.sin() * way.cos(), G * angle.sin() * way.sin(), -G * angle.cos()];
            let text = Text::new(Leapfrog, 5e-3).gravity(gravity).material(mu, 0.0).floor();
            let mut motion = text
                .body("block", "box = [0.3, 0.3, 0.1]", "position = [0, 0, 0.05]")
                .simulate()?;
            motion.until(1.0)?;
            let far = motion.at("block").truncate().length();
            let exact = 0.5 * G * (angle.sin() - mu * angle.cos());
            if sticks {
                crept = crept.max(far);
            } else {
                slid = slid.min(far / exact);
                points.push((way.to_degrees(), far / exact));
            }
        }
    }
    rows.zero(
        "0.01° below: creep in 1 s, worst of 12 directions",
        "m",
        crept,
        within(4e-9, "1e-9 m/s at each of four corners, for 1 s"),
    );
    let allowed = within(1.2e-4, "1e-9 m/s in each of 200 steps, of 0.9 mm");
    rows.row("0.01° above: way over ½ a t², least of 12 directions", "", (slid, 1.0), allowed);
    rows.figure(
        "Slope turned about the vertical",
        ("direction of the slope, degrees", "way over ½ a t²"),
        vec![dots("way", points)],
    );
    Ok(())
}

fn stopping(rows: &mut Rows) -> Result<(), String> {
    for (mu, v) in [(0.2, 2.0), (0.4, 2.0), (0.7, 2.0), (0.05, 1.3), (1.5, 4.0)] {
        let text = Text::new(Leapfrog, 2e-3).material(mu, 0.0).floor();
        let lines =
            format!("position = [0, 0, 0.04]\nvelocity = [{:?}, {:?}, 0]", 0.6 * v, 0.8 * v);
        let text = text.body("block", "box = [0.5, 0.5, 0.08]", &lines);
        let mut motion = text.simulate()?;
        let play = text.play(v / (mu * G) + 0.2);
        let mut path = Vec::new();
        motion.watch(v / (mu * G) + 0.2, |m| {
            path.push((m.time(), m.at("block").truncate().length()))
        })?;
        let h: f64 = 2e-3;
        let exact = v * v / (2.0 * mu * G);
        let reason = "the kink at the stop, within one step: mu g h²/8, and 1e-9 m/s of the solver";
        let allowed = within(mu * G * h * h / 8.0 + 1e-8, reason);
        let far = motion.at("block").truncate().length();
        rows.row(&format!("mu {mu}, {v} m/s: way"), "m", (far, exact), allowed);
        rows.peers(vec![play.clone()], |t| t[0].end("block").position.truncate().length());
        rows.zero(
            &format!("mu {mu}, {v} m/s: speed at the end"),
            "m/s",
            motion.fastest(),
            within(1e-9, "tolerance of the solver"),
        );
        rows.peers(vec![play], |t| t[0].end("block").velocity.length());
        if mu == 0.4 {
            let exact =
                |t: f64| if t < v / (mu * G) { v * t - 0.5 * mu * G * t * t } else { exact };
            let curve = (0..60).map(|k| k as f64 * 0.012).map(|t| (t, exact(t))).collect();
            let simulated = path.into_iter().step_by(10).collect();
            rows.figure(
                "Sliding to rest, mu 0.4",
                ("time, s", "way, m"),
                vec![line("closed form", curve), dots("simulated", simulated)],
            );
        }
    }
    Ok(())
}

/// A cylinder slides along a groove of two planes, each `half` from the vertical.
fn groove(rows: &mut Rows) -> Result<(), String> {
    let (mu, v, r) = (0.15, 2.0, 0.05);
    for degrees in [30.0, 45.0, 70.0] {
        let half = f64::to_radians(degrees);
        let mut text = Text::new(Leapfrog, 2e-3).material(mu, 0.0);
        for (name, sign) in [("left", 1.0), ("right", -1.0)] {
            let turn = sign * (90.0 - degrees);
            let lines =
                format!("fixed = true\nrotation = {{ axis = [0, 1, 0], angle = \"{turn} deg\" }}");
            text = text.body(name, "half_space = true", &lines);
        }
        let z = r / half.sin();
        let lines = format!(
            "position = [0, 0, {z:?}]\nrotation = {{ axis = [1, 0, 0], angle = \"90 deg\" \
                }}\nvelocity = [0, {v:?}, 0]"
        );
        let text =
            text.body("bar", &format!("cylinder = {{ radius = {r:?}, length = 0.6 }}"), &lines);
        let mut motion = text.simulate()?;
        let effective = mu / half.sin();
        let exact = v * v / (2.0 * effective * G);
        motion.until(v / (effective * G) + 0.1)?;
        let reason = "the kink at the stop, mu g h²/8, and 1e-9 m/s of the solver";
        let allowed = within(effective * G * 4e-6 / 8.0 + 1e-8, reason);
        rows.row(&format!("half angle {degrees}°: way"), "m", (motion.at("bar").y, exact), allowed);
        let play = text.play(v / (effective * G) + 0.1);
        rows.peers(vec![play], |t| t[0].end("bar").position.y);
    }
    Ok(())
}

/// A ring with three pads is pressed on a turning disc.
fn clutch(rows: &mut Rows) -> Result<(), String> {
    let (mu, force, radius, speed) = (0.35, 80.0, 0.12, 40.0);
    let (upper, lower) = (0.02, 0.05);
    let mut text = Text::new(Leapfrog, 1e-3).gravity([0.0; 3]).material(mu, 0.0);
    let lines = |inertia: f64, z: f64| {
        format!("position = [0, 0, {z:?}]\nmass = 1\ninertia = [0.1, 0.1, {inertia:?}]")
    };
    let spin = format!("angular_velocity = [0, 0, {speed:?}]");
    text = text.body(
        "disc",
        "cylinder = { radius = 0.2, length = 0.02 }",
        &(lines(lower, -0.01) + "\n" + &spin),
    );
    let pads: Vec<String> = (0..3)
        .map(|k| {
            let angle = (120.0 * k as f64).to_radians();
            let at = DVec3::new(radius * angle.cos(), radius * angle.sin(), 0.0);
            format!("{{ sphere = 0.01, position = {} }}", xyz(at))
        })
        .collect();
    text = text.add(&format!(
        "[[body]]\nname = \"ring\"\nshape = [{}]\n{}\ncenter = [0, 0, 0]",
        pads.join(", "),
        lines(upper, 0.01)
    ));
    text = text.add("[[joint]]\nname = \"shaft\"\nkind = \"revolute\"\nb = \"disc\"");
    text = text.add("[[joint]]\nname = \"spline\"\nkind = \"cylindrical\"\nb = \"ring\"");
    text = text.add(&format!(
        "[[force]]\nname = \"press\"\napplied = {{ body = \"ring\", force = [0, 0, {:?}] }}",
        -force
    ));
    let mut motion = text.simulate()?;
    let torque = mu * force * radius;
    let together = lower * speed / (upper + lower);
    let time = speed * upper * lower / ((upper + lower) * torque);
    let mut sync = f64::NAN;
    let mut curves = [Vec::new(), Vec::new()];
    motion.watch(time + 0.1, |m| {
        let spins = [m.spin("ring").z, m.spin("disc").z];
        curves.iter_mut().zip(spins).for_each(|(curve, spin)| curve.push((m.time(), spin)));
        if sync.is_nan() && spins[1] - spins[0] < 1e-6 {
            sync = m.time();
        }
    })?;
    let [ring, disc] = curves;
    let found = motion.spin("disc").z;
    rows.row(
        "common speed",
        "rad/s",
        (found, together),
        within(1e-6, "momentum is kept to rounding; 1e-9 m/s at 0.12 m"),
    );
    rows.row("time to grip", "s", (sync, time), within(1e-3, "one step"));
    let heat = 0.5 * speed * speed * upper * lower / (upper + lower);
    let reason = "one step of the friction power at the kink, relative to the whole: (h/t)²/4";
    let allowed = relative(0.25 * (1e-3 / time).powi(2) + 1e-8, reason);
    rows.row("heat", "J", (motion.sim.ledger().friction, heat), allowed);
    rows.figure("Clutch", ("time, s", "rad/s"), vec![line("ring", ring), line("disc", disc)]);
    Ok(())
}

/// A rod whose lower end slides towards it: `mu` up to 4/3 the closed form, beyond it the rod jams
/// within one step.
fn painleve(rows: &mut Rows) -> Result<(), String> {
    let (half, mass, speed, h) = (0.5, 1.0, 1.0, 1e-4);
    for (mu, tangent) in [(0.5, 2.0), (1.2, 2.0), (1.3, 1.0), (2.0, 2.0), (3.0, 1.5)] {
        let angle = f64::atan(tangent);
        let (c, s) = (angle.cos(), angle.sin());
        let inertia = mass * half * half / 3.0;
        let text = Text::new(Euler, h).material(mu, 0.0).floor();
        // A ball without extent is the end of the rod: its radius is below every tolerance.
        let tip = format!("sphere = 1e-9, position = [{:?}, 0, 0]", -half);
        let lines = format!(
            "mass = {mass:?}\ninertia = [1e-3, {inertia:?}, {inertia:?}]\ncenter = [0, 0, \
                0]\nposition = [0, 0, {:?}]\n\
             rotation = {{ axis = [0, 1, 0], angle = {:?} }}\nvelocity = [{:?}, 0, 0]",
            half * s + 1e-9,
            -angle,
            -speed
        );
        let mut motion = text.body("rod", &tip, &lines).simulate()?;
        motion.step()?;
        let push = motion.push("floor", "rod") * h;
        let mobility = 1.0 + 3.0 * c * (c - mu * s);
        if mobility > 0.0 {
            let allowed = relative(1e-6, "1e-9 m/s of g h = 1e-3 m/s");
            rows.row(
                &format!("mu {mu}, tan θ {tangent}: normal force"),
                "N",
                (push.z / h, mass * G / mobility),
                allowed,
            );
        } else {
            // Both components of the tip's velocity vanish: W r = −u.
            let (a, b, d) = (1.0 + 3.0 * c * c, -3.0 * c * s, 1.0 + 3.0 * s * s);
            let normal = mass * (d * G * h - b * speed) / (a * d - b * b);
            let label =
                format!("mu {mu}, tan θ {tangent}: no sliding solution, normal impulse of the jam");
            rows.row(
                &label,
                "N s",
                (push.z, normal),
                relative(1e-6, "1e-9 m/s of 1 m/s, and radius 1e-9 m of 0.5 m"),
            );
        }
    }
    Ok(())
}

/// Block under a force F cos t on a rough floor: it slides while the force exceeds friction, and
/// stops.
fn stick_slip(rows: &mut Rows) -> Result<(), String> {
    let (force, mu, h) = (8.0, 0.8, 1e-3);
    let text = Text::new(Leapfrog, h).material(mu, 0.0).floor();
    let text = text.body("block", "box = [0.4, 0.4, 0.1]", "position = [0, 0, 0.05]\nmass = 1");
    let drive = format!(
        "{{ sine = {{ amplitude = {force:?}, frequency = \"1/(2*pi) Hz\", phase = \"90 deg\" }} }}"
    );
    let text = text.add(&format!(
        "[[force]]\nname = \"drive\"\napplied = {{ body = \"block\", force = [{drive}, 0, 0] }}"
    ));
    let mut motion = text.simulate()?;
    let solfec = [4.35081e-3, -8.70879e-3, 4.41870e-3];
    let mut path = Vec::new();
    for (t, theirs) in [2.0, 5.0, 8.0].into_iter().zip(solfec) {
        motion.watch(t, |m| path.push((m.time(), m.at("block").x)))?;
        let exact = plateau(force, mu * G, t);
        let reason = "kinks (start, stop) within one step: h²/8 times a jump of 2 mu g each; at \
            most 12 of them";
        let allowed = within(12.0 * h * h / 8.0 * 2.0 * mu * G, reason);
        let row = rows.row(&format!("x at {t} s"), "m", (motion.at("block").x, exact), allowed);
        row.others(&[("Solfec, dt 1 ms", theirs)]);
    }
    let path = path.into_iter().step_by(20).collect();
    rows.figure(
        "Block under 8 cos t N, mu 0.8",
        ("time, s", "x, m"),
        vec![line("simulated", path)],
    );
    Ok(())
}

/// x(t) of a unit mass under `force` cos t and dry friction of `grip` N, from rest: exact between
/// kinks, stops by bisection.
fn plateau(force: f64, grip: f64, end: f64) -> f64 {
    let starts = (grip / force).acos();
    let (mut x, mut t) = (0.0, 0.0);
    while t < end {
        let phase = t % std::f64::consts::PI;
        // Slides when |cos t| > grip/force: from π − starts on, or at once at the beginning.
        if t > 0.0 && phase < std::f64::consts::PI - starts {
            t += std::f64::consts::PI - starts - phase;
            continue;
        }
        let sign = if (force * t.cos()) >= 0.0 { 1.0 } else { -1.0 };
        let v = |s: f64| force * (s.sin() - t.sin()) - sign * grip * (s - t);
        let way = |s: f64| {
            force * (-s.cos() + t.cos() - t.sin() * (s - t)) - 0.5 * sign * grip * (s - t).powi(2)
        };
        let (mut low, mut high) = (t + 1e-3, t + 2.0);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if v(middle) * sign > 0.0 { low = middle } else { high = middle }
        }
        x += way(low.min(end));
        t = low;
    }
    x
}
