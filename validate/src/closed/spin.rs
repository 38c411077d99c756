//! Rotations: free tops, a gyroscope, a rocking block.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, line, relative, within};
use crate::motion::{G, Scheme::*, Text, xyz};
use crate::peers::Seen;
use signorini::prelude::*;

pub const CASES: &[Case] = &[
    Case {
        name: "free-top",
        group: ClosedForm,
        source: "Euler: energy and momentum constant; period by elliptic integrals \
            (Landau–Lifshitz §37)",
        cost: Quick,
        run: free_top,
    },
    Case {
        name: "gyroscope",
        group: ClosedForm,
        source: "horizontal axis: steady precession Ω = m g l/(I₃ ω₃)",
        cost: Quick,
        run: gyroscope,
    },
    Case {
        name: "rocking-block",
        group: ClosedForm,
        source: "Housner 1963: quarter period acosh(1/(1−θ/α))/p; speed ratio 1 − 1.5 sin²α",
        cost: Quick,
        run: rocking,
    },
    Case {
        name: "pendulum",
        group: ClosedForm,
        source: "from the horizontal: period by elliptic integrals, 2.36784194757624 s for 1 m",
        cost: Quick,
        run: pendulum,
    },
];

/// Complete elliptic integral of the first kind, by the arithmetic–geometric mean; m = k².
fn elliptic(m: f64) -> f64 {
    let (mut a, mut b) = (1.0, (1.0 - m).sqrt());
    while f64::abs(a - b) > 1e-15 * a {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    std::f64::consts::FRAC_PI_2 / a
}

fn free_top(rows: &mut Rows) -> Result<(), String> {
    let (inertia, spin, h) = (DVec3::new(0.8, 1.9, 2.4), DVec3::new(0.02, 3.0, 0.03), 2e-3);
    let text = Text::new(Leapfrog, h).gravity([0.0; 3]);
    let lines = format!("mass = 1\ninertia = {}\nangular_velocity = {}", xyz(inertia), xyz(spin));
    let text = text.add(&format!("[[body]]\nname = \"top\"\n{lines}"));
    let mut motion = text.simulate()?;
    let energy = 0.5 * (inertia * spin * spin).element_sum();
    let momentum = inertia * spin;
    // Landau–Lifshitz (37.8)–(37.12), with the order I₁ < I₂ < I₃.
    let (square, [i1, i2, i3]) = (momentum.length_squared(), inertia.to_array());
    let outer = square > 2.0 * energy * i2;
    let [i1, i3] = if outer { [i1, i3] } else { [i3, i1] };
    let rate = ((i3 - i2) * (square - 2.0 * energy * i1) / (i1 * i2 * i3)).sqrt();
    let m = (i2 - i1) * (2.0 * energy * i3 - square) / ((i3 - i2) * (square - 2.0 * energy * i1));
    let period = 4.0 * elliptic(m) / rate;
    let (mut drift, mut curve, mut zeros, mut last) = (0.0f64, Vec::new(), Vec::new(), 0.0);
    motion.watch(3.0 * period, |x| {
        let body = x.sim.body("top").expect("it is there");
        let local = body.orientation().inverse() * body.angular_velocity();
        drift = drift.max((body.kinetic_energy() / energy - 1.0).abs());
        curve.push((x.time(), local.y));
        if last > 0.0 && local.y <= 0.0 {
            zeros.push(x.time() - h * local.y / (local.y - last));
        }
        last = local.y;
    })?;
    let found = (zeros[zeros.len() - 1] - zeros[0]) / (zeros.len() - 1) as f64;
    let reason = "second order, (ω h)²/12 = 3e-6, times the logarithm of the small start 0.02/3";
    rows.row("period of the tumble", "s", (found, period), relative(5e-5, reason));
    rows.zero(
        "largest relative deviation of the energy",
        "",
        drift,
        within(2e-5, "second order, (ω h)², without drift"),
    );
    let play = text.play(3.0 * period).seen(u64::MAX);
    rows.peers(vec![play.clone()], move |tracks| {
        let local = |top: Seen| top.orientation.inverse() * top.spin;
        let now = |top: Seen| 0.5 * (inertia * local(top) * local(top)).element_sum();
        let moments = tracks[0].moments().map(|m| (now(m.body("top")) / energy - 1.0).abs());
        moments.fold(0.0, f64::max)
    });
    let body = motion.sim.body("top").map_err(|e| e.to_string())?;
    let local = body.orientation().inverse() * body.angular_velocity();
    let error = (body.orientation() * (inertia * local)).distance(momentum);
    rows.zero(
        "change of the angular momentum",
        "kg m²/s",
        error,
        within(1e-10, "rounding of some ten thousand rotations"),
    );
    rows.peers(vec![play], move |tracks| {
        let Seen { orientation: turn, spin, .. } = tracks[0].end("top");
        (turn * (inertia * (turn.inverse() * spin))).distance(momentum)
    });
    let curve = curve.into_iter().step_by(10).collect();
    rows.figure(
        "Tumbling top",
        ("time, s", "ω about the middle axis, rad/s"),
        vec![line("simulated", curve)],
    );
    Ok(())
}

/// The angle about the vertical that a path goes round, rad.
fn turned(path: impl Iterator<Item = DVec3>) -> f64 {
    let (mut angle, mut last) = (0.0, 0.0f64);
    for p in path {
        let now = p.y.atan2(p.x);
        angle += (now - last + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU)
            - std::f64::consts::PI;
        last = now;
    }
    angle
}

fn gyroscope(rows: &mut Rows) -> Result<(), String> {
    let (mass, arm, along, across, spin) = (0.6, 0.08, 8e-4, 6e-4, 150.0);
    let precession = mass * G * arm / (along * spin);
    let text = Text::new(Leapfrog, 5e-4);
    let angular = DVec3::new(spin, 0.0, precession);
    let lines = format!(
        "mass = {mass:?}\ninertia = [{along:?}, {across:?}, {across:?}]\nposition = [{arm:?}, 0, \
            0]\nangular_velocity = {}\nvelocity = {}",
        xyz(angular),
        xyz(angular.cross(DVec3::X * arm))
    );
    let text = text.add(&format!("[[body]]\nname = \"rotor\"\n{lines}"));
    let text = text.add(
        "[[joint]]\nname = \"tip\"\nkind = \"spherical\"\nb = \"rotor\"\nposition = [0, 0, 0]",
    );
    let mut motion = text.simulate()?;
    let (time, mut path) = (5.0, Vec::new());
    motion.watch(time, |m| path.push(m.at("rotor")))?;
    let droop = path.iter().map(|p| p.z.abs()).fold(0.0, f64::max);
    let (angle, curve) = (turned(path.iter().copied()), path.iter().map(|p| (p.x, p.y)).collect());
    let reason = "second order: (ω h)²/12 = 5e-4 of the precession";
    rows.row("precession in 5 s", "rad", (angle, precession * time), relative(1e-3, reason));
    let play = text.play(time).seen(u64::MAX);
    rows.peers(vec![play.clone()], |tracks| {
        turned(tracks[0].moments().map(|m| m.body("rotor").position))
    });
    rows.zero(
        "largest droop or rise",
        "m",
        droop,
        within(1e-3 * arm, "nutation that the scheme begins: (ω h)²/12 of the arm, both ways"),
    );
    rows.peers(vec![play], |tracks| {
        tracks[0].moments().map(|m| m.body("rotor").position.z.abs()).fold(0.0, f64::max)
    });
    rows.figure(
        "Gyroscope, seen from above",
        ("x, m", "y, m"),
        vec![line("centre of the rotor", curve)],
    );
    Ok(())
}

/// A slender block that rocks from edge to edge.
fn rocking(rows: &mut Rows) -> Result<(), String> {
    let (alpha, radius, start) = (0.2f64, 0.6, 0.5);
    let (b, height) = (radius * alpha.sin(), radius * alpha.cos());
    let theta = start * alpha;
    let p = (0.75 * G / radius).sqrt();
    let quarter = quarter_period(alpha, theta, p);
    let (mut landings, mut amplitudes) = (Vec::new(), Vec::new());
    for h in [1e-3, 5e-4] {
        let text = Text::new(Leapfrog, h).material(5.0, 0.0).floor();
        // Tilted by θ about the right lower edge.
        let center =
            DVec3::new(b - radius * (alpha - theta).sin(), 0.0, radius * (alpha - theta).cos());
        let lines = format!(
            "position = {}\nrotation = {{ axis = [0, 1, 0], angle = {theta:?} }}",
            xyz(center)
        );
        let shape = format!("box = [{:?}, 0.3, {:?}]", 2.0 * b, 2.0 * height);
        let mut motion = text.body("block", &shape, &lines).simulate()?;
        let (mut hits, mut before, mut last, mut curve) = (Vec::new(), 0.0, 0.0f64, Vec::new());
        motion.watch(6.0 * quarter, |m| {
            let tilt = 2.0 * m.sim.body("block").expect("it is there").orientation().y.asin();
            let rate = m.spin("block").y;
            curve.push((m.time(), tilt));
            if last > 0.0 && tilt <= 0.0 && hits.is_empty() {
                hits.push((m.time() - h * tilt / (tilt - last), before, rate));
            }
            if tilt > 0.0 {
                before = rate;
            }
            last = tilt;
        })?;
        let Some(&(time, _, _)) = hits.first() else { return Err("the block did not rock".into()) };
        landings.push((time - quarter).abs() / h);
        // The next amplitude tells the energy that is left: ω₊ = ω₋ (1 − 1.5 sin²α).
        let turn = curve.iter().map(|x| x.1).fold(0.0, f64::min).abs();
        let ratio = 1.0 - 1.5 * alpha.sin().powi(2);
        let left = ratio * ratio * ((alpha - theta).cos() - alpha.cos());
        let exact = alpha - (alpha.cos() + left).acos();
        amplitudes.push((turn, exact));
        if h == 5e-4 {
            rows.figure(
                "Rocking block",
                ("time, s", "tilt, rad"),
                vec![line("simulated", curve.into_iter().step_by(4).collect())],
            );
        }
    }
    let late = landings.iter().fold(0.0f64, |a, b| a.max(*b));
    rows.zero(
        "first landing: largest error in steps",
        "",
        late,
        within(1.0, "a landing is seen at the end of its step"),
    );
    let ((coarse, exact), (fine, _)) = (amplitudes[0], amplitudes[1]);
    let reason = "second order: what halving the step from 1 to 0.5 ms changes, 1.7 %";
    rows.row(
        "amplitude after the first landing, h 0.5 ms",
        "rad",
        (fine, exact),
        relative(1.7e-2, reason),
    );
    let reason = "the next order of the error: a tenth of that";
    rows.row(
        "the same, extrapolated to h = 0",
        "rad",
        ((4.0 * fine - coarse) / 3.0, exact),
        relative(1.7e-3, reason),
    );
    Ok(())
}

/// Time from rest at θ₀ to the landing, with ½ ω² = p² (cos(α−θ₀) − cos(α−θ)). With θ = θ₀ − s² the
/// integrand is smooth; Simpson's rule.
fn quarter_period(alpha: f64, start: f64, p: f64) -> f64 {
    let n = 2000;
    let end = start.sqrt();
    let f = |s: f64| {
        let theta = start - s * s;
        let fall = (alpha - start).cos() - (alpha - theta).cos();
        if s < 1e-6 {
            2.0 / (2.0 * p * p * (alpha - start).sin()).sqrt()
        } else {
            2.0 * s / (2.0 * p * p * fall).sqrt()
        }
    };
    let step = end / n as f64;
    let sum: f64 = (1..n).map(|k| if k % 2 == 1 { 4.0 } else { 2.0 } * f(k as f64 * step)).sum();
    (f(0.0) + sum + f(end)) * step / 3.0
}

fn pendulum(rows: &mut Rows) -> Result<(), String> {
    for (length, h) in [(1.0, 2e-3), (0.25, 1e-3)] {
        let period = 4.0 * elliptic(0.5) * f64::sqrt(length / G);
        let text = Text::new(Leapfrog, h).add(&format!(
            "[[body]]\nname = \"bob\"\nmass = 1\ninertia = [1e-3, 1e-3, \
                1e-3]\nposition = [{length:?}, 0, 0]"
        ));
        let rod = format!(
            "[[joint]]\nname = \"rod\"\nkind = \"distance\"\nb = \"bob\"\npoints = [[0, 0, 0], \
                [{length:?}, 0, 0]]"
        );
        let mut motion = text.add(&rod).simulate()?;
        let (mut zeros, mut last, mut stretch) = (Vec::new(), 1.0, 0.0f64);
        motion.watch(10.2 * period, |m| {
            let p = m.at("bob");
            stretch = stretch.max((p.length() - length).abs());
            if last > 0.0 && p.x <= 0.0 {
                zeros.push(m.time() - h * p.x / (p.x - last));
            }
            last = p.x;
        })?;
        let found = (zeros[zeros.len() - 1] - zeros[0]) / (zeros.len() - 1) as f64;
        let reason = "second order: (ω h)²/12 with the largest ω² = 2g/l";
        let allowed = relative(2.0 * G / length * h * h / 12.0, reason);
        rows.row(
            &format!("{length} m: period, mean of {}", zeros.len() - 1),
            "s",
            (found, period),
            allowed,
        );
        rows.zero(
            &format!("{length} m: stretch of the rod"),
            "m",
            stretch,
            within(
                length * (2.0 * G / length * h * h),
                "second order: (ω h)² of the length at most",
            ),
        );
    }
    Ok(())
}
