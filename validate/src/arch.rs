//! Semicircular arches of voussoirs without mortar: the least thickness and the least friction, by
//! bisection over simulations, against limit analysis.
//!
//! The reference is a linear program of two unknowns (Heyman's thrust line): the horizontal thrust
//! H and its moment M about the centre of the circle. At the joint at angle β, with weight W above
//! it and the moment X of that weight, the thrust passes at the radius ρ with
//!
//! ```text
//!   ρ (H sin β + W cos β) = M + X,      inner ≤ ρ ≤ outer,      |H cos β − W sin β| ≤ mu (H sin β + W cos β)
//! ```
//!
//! For given H the bounds on M are an interval whose length is concave in H.

use crate::case::{Case, Cost::*, Group::LimitAnalysis, Rows, dots, line, within};
use crate::closed::limit::{bisect, rests, statics};
use crate::motion::xyz;
use signorini::prelude::*;
use std::f64::consts::PI;

const SOURCE: &str = "limit analysis of rigid voussoirs (Heyman 1969; Milankovitch 1907: 0.1075 \
    for infinitely many)";

/// The cases about arches.
pub fn cases() -> Vec<Case> {
    let case = |name, cost, run| Case { name, group: LimitAnalysis, source: SOURCE, cost, run };
    vec![
        case("arch-thickness", Quick, |rows| thickness(rows, &[9, 13, 15])),
        case("arch-thickness-many", Normal, |rows| thickness(rows, &[19, 27, 41])),
        case("arch-thickness-101", Long, |rows| thickness(rows, &[101])),
        case("arch-friction", Normal, friction),
    ]
}

/// A joint of half an arch: its angle from the horizontal, the weight above it (area), and the
/// moment of that weight.
struct Joint {
    angle: f64,
    weight: f64,
    moment: f64,
}

/// The joints from the crown down; radius of the middle line 1 m, an odd number of stones with
/// plane faces.
fn joints(stones: usize, thickness: f64) -> (f64, f64, Vec<Joint>) {
    let (inner, outer, share) = (1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness, PI / stones as f64);
    let area = 0.5 * share.sin() * (outer * outer - inner * inner);
    let mean = |a: f64, b: f64| 2.0 / 3.0 * (b.powi(3) - a.powi(3)) / (b * b - a * a);
    let half = 0.5 * share;
    let center = mean(inner, outer) * half.cos();
    // Half of the crown stone, then whole ones.
    let lever = 0.5 * half.tan() * mean(inner * half.cos(), outer * half.cos());
    let (mut weight, mut moment) = (0.5 * area, 0.5 * area * lever);
    let mut list = Vec::new();
    for j in (0..=stones / 2).rev() {
        let angle = j as f64 * share;
        list.push(Joint { angle, weight, moment });
        weight += area;
        moment += area * center * (angle - half).cos();
    }
    (inner, outer, list)
}

/// True if a line of thrust fits into the arch.
fn stands(stones: usize, thickness: f64, mu: f64) -> bool {
    let (inner, outer, joints) = joints(stones, thickness);
    let (mut low, mut high) = (0.0f64, 10.0f64);
    for Joint { angle, weight, .. } in &joints {
        let (s, c) = angle.sin_cos();
        if c - mu * s > 0.0 {
            high = high.min(weight * (s + mu * c) / (c - mu * s));
        }
        low = low.max(weight * (s - mu * c) / (c + mu * s));
    }
    if low > high {
        return false;
    }
    let room = |thrust: f64| {
        let passes = |radius: f64, j: &Joint| {
            radius * (thrust * j.angle.sin() + j.weight * j.angle.cos()) - j.moment
        };
        let most = joints.iter().map(|j| passes(outer, j)).fold(f64::INFINITY, f64::min);
        let least = joints.iter().map(|j| passes(inner, j)).fold(f64::NEG_INFINITY, f64::max);
        most - least
    };
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if room(a) < room(b) { low = a } else { high = b }
    }
    room(0.5 * (low + high)) >= -1e-15
}

/// The least value at which the linear program has a solution.
fn least(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// True if the simulated arch does not move.
fn rests_arch(stones: usize, thickness: f64, mu: f64) -> Result<bool, String> {
    let (inner, outer, share) = (1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness, PI / stones as f64);
    let mut text = statics().material(mu, 0.0).floor();
    for i in 0..stones {
        let corner = |radius: f64, joint: usize, y: f64| {
            let angle = joint as f64 * share;
            xyz(DVec3::new(radius * angle.cos(), y, radius * angle.sin()))
        };
        let corners: Vec<String> = [i, i + 1]
            .into_iter()
            .flat_map(|joint| {
                [inner, outer]
                    .map(|radius| [-0.15, 0.15].map(|y| corner(radius, joint, y)).join(", "))
            })
            .collect();
        text = text.body(&format!("stone_{i}"), &format!("hull = [{}]", corners.join(", ")), "");
    }
    rests(&text)
}

const BISECTION_REASON: &str = "asked for: 1e-4 of the radius; bisection to 1e-5";

fn thickness(rows: &mut Rows, counts: &[usize]) -> Result<(), String> {
    let mut points = Vec::new();
    for &stones in counts {
        let exact = least(0.01, 0.5, |t| stands(stones, t, 1e9));
        let found = bisect(0.09, 0.12, 1e-5, |t| rests_arch(stones, t, 1.5))?;
        points.push((stones as f64, found));
        rows.row(
            &format!("{stones} stones: least t/R"),
            "",
            (found, exact),
            within(1e-4, BISECTION_REASON),
        );
    }
    let all = (4..51)
        .map(|k| 2 * k + 1)
        .map(|n| (n as f64, least(0.01, 0.5, |t| stands(n, t, 1e9))))
        .collect();
    let curves = vec![line("limit analysis", all), dots("simulated", points)];
    rows.figure("Least thickness of a semicircular arch", ("stones", "t/R"), curves);
    Ok(())
}

/// The least friction at which a thick and a thin arch stand: below it, stones slide.
fn friction(rows: &mut Rows) -> Result<(), String> {
    let reason = "asked for: 1e-4; bisection to 1e-5";
    for (stones, thickness) in [(15, 0.12), (15, 0.3), (27, 0.107), (27, 0.12)] {
        let exact = least(0.01, 2.0, |mu| stands(stones, thickness, mu));
        let found = bisect(0.2, 0.8, 1e-5, |mu| rests_arch(stones, thickness, mu))?;
        let label = format!("{stones} stones, t/R {thickness}: least mu");
        rows.row(&label, "", (found, exact), within(1e-4, reason));
    }
    // As thin as an arch of 27 stones can be, and 2e-5 more, which bisection cannot tell from it.
    let thinnest = least(0.01, 0.5, |t| stands(27, t, 1e9));
    let exact = least(0.01, 2.0, |mu| stands(27, thinnest + 1e-12, mu));
    let found = bisect(0.2, 0.8, 1e-5, |mu| rests_arch(27, thinnest + 2e-5, mu))?;
    rows.row("27 stones, as thin as can be: least mu", "", (found, exact), within(1e-4, reason))
        .others(&[("limit analysis, many stones", 0.3953)]);
    Ok(())
}
