//! Forces at rest: stacks of any mass ratio, tables, chains.

use crate::case::{Case, Cost::*, Group::ClosedForm, Rows, dots, line, relative, within};
use crate::motion::{G, Motion, Scheme::*, Text, xyz};
use crate::peers::{Seen, Track};
use signorini::prelude::*;

const POWERS_SOURCE: &str =
    "each body ten times heavier than the one below: force under body i is g Σ 10ʲ";

pub const CASES: &[Case] = &[
    Case {
        name: "heavy-on-light",
        group: ClosedForm,
        source: "forces m₂ g and (m₁ + m₂) g, for any ratio",
        cost: Quick,
        run: heavy,
    },
    Case {
        name: "stack-of-powers",
        group: ClosedForm,
        source: POWERS_SOURCE,
        cost: Quick,
        run: powers,
    },
    Case {
        name: "stack-of-powers-20",
        group: ClosedForm,
        source: POWERS_SOURCE,
        cost: Quick,
        run: guided,
    },
    Case {
        name: "four-leg-table",
        group: ClosedForm,
        source: "least-energy share: W/4 (1 + x xᵢ/a² + y yᵢ/b²)",
        cost: Quick,
        run: table,
    },
    Case {
        name: "catenary",
        group: ClosedForm,
        source: "chain of rods at rest: tan φᵢ = m g (i + ½ − n/2)/H",
        cost: Quick,
        run: catenary,
    },
    Case {
        name: "pressed-belt",
        group: ClosedForm,
        source: "box on a belt: t = v/(mu g), slip v²/(2 mu g)",
        cost: Quick,
        run: belt,
    },
];

/// Boxes on top of each other; masses from below.
fn stack(masses: &[f64], dt: f64) -> Text {
    let mut text = Text::usual(dt).material(0.5, 0.0).floor();
    for (i, mass) in masses.iter().enumerate() {
        let z = 0.1 + 0.2 * i as f64;
        text = text.body(
            &format!("box_{i}"),
            "box = [0.2, 0.2, 0.2]",
            &format!("mass = {mass:?}\nposition = [0, 0, {z:?}]"),
        );
    }
    text
}

/// The largest way that a box of a stack sank or rose in another engine, m.
fn sunk(tracks: &[Track]) -> f64 {
    let boxes = tracks[0].last().bodies;
    let way = |(i, b): (usize, &Seen)| (b.position.z - 0.1 - 0.2 * i as f64).abs();
    boxes.iter().enumerate().map(way).fold(0.0, f64::max)
}

/// The worst relative error of the forces between the boxes of a stack, and the largest way any of
/// them sank.
fn force_and_sinking(motion: &Motion, masses: &[f64]) -> (f64, f64) {
    let (mut force, mut sunk) = (0.0f64, 0.0f64);
    for i in 0..masses.len() {
        let weight: f64 = G * masses[i..].iter().sum::<f64>();
        let below = if i == 0 { "floor".into() } else { format!("box_{}", i - 1) };
        let name = format!("box_{i}");
        force = force.max((motion.push(&below, &name).z / weight - 1.0).abs());
        sunk = sunk.max((motion.at(&name).z - 0.1 - 0.2 * i as f64).abs());
    }
    (force, sunk)
}

fn heavy(rows: &mut Rows) -> Result<(), String> {
    let mut points = Vec::new();
    for decade in [1, 2, 4, 6, 8, 10, 12] {
        let masses = [1.0, 10f64.powi(decade)];
        let text = stack(&masses, 5e-3);
        let mut motion = text.simulate()?;
        motion.until(0.2)?;
        let (force, sunk) = force_and_sinking(&motion, &masses);
        points.push((f64::from(decade), force.max(1e-17)));
        let reason = "1e-6 m/s of g h = 0.05 m/s";
        rows.zero(
            &format!("1:1e{decade}: worst relative error of the forces"),
            "",
            force,
            within(4e-5, reason),
        );
        let yields =
            within(2e-7, "faces yield at the velocity tolerance: 1e-6 m/s for 0.2 s at most");
        let row = rows.zero(&format!("1:1e{decade}: sinks in 0.2 s"), "m", sunk, yields);
        if decade == 4 {
            let theirs =
                [("MuJoCo 4.0 CG", 0.24), ("Bullet", 0.012), ("Rapier", 0.24), ("DART", 9.7e-5)];
            row.others(&theirs)
                .note("others: measured once with their default settings at 2 ms over 2 s");
        }
        rows.peers(vec![text.play(0.2)], self::sunk);
    }
    rows.figure(
        "Heavy on light",
        ("decades of mass ratio", "relative error of a force"),
        vec![dots("worst force", points)],
    )
    .log = true;
    Ok(())
}

fn powers(rows: &mut Rows) -> Result<(), String> {
    for count in [5, 10] {
        for up in [true, false] {
            let exponent = |i: usize| if up { i } else { count - 1 - i } as i32;
            let masses: Vec<f64> = (0..count).map(|i| 10f64.powi(exponent(i))).collect();
            let text = stack(&masses, 1e-2);
            let mut motion = text.simulate()?;
            motion.until(0.1)?;
            let (force, sunk) = force_and_sinking(&motion, &masses);
            let what = if up { "heavy above" } else { "heavy below" };
            let reason = "1e-6 m/s of g h = 0.1 m/s, at the lightest box";
            rows.zero(
                &format!("{count} boxes, {what}: worst relative error of the forces"),
                "",
                force,
                within(2e-5, reason),
            );
            let reason = "faces yield at the velocity tolerance: 1e-6 m/s for 0.1 s, each of them";
            rows.zero(
                &format!("{count} boxes, {what}: sinks in 0.1 s"),
                "m",
                sunk,
                within(1e-7 * count as f64, reason),
            );
            rows.peers(vec![text.play(0.1)], self::sunk);
        }
    }
    Ok(())
}

/// The thesis's spheres on vertical guides, without friction, to a mass ratio of 1e19.
fn guided(rows: &mut Rows) -> Result<(), String> {
    for count in [10, 15, 20] {
        let mut motion = Motion::load("stack_ratio", &[&format!("count={count}")])?;
        motion.until(1.0)?;
        let mut worst = 0.0f64;
        for i in 0..count {
            let weight: f64 = (i..count).map(|k| G * 10f64.powi(k)).sum();
            let below = if i == 0 { "floor".into() } else { format!("sphere_{}", i - 1) };
            worst = worst.max((motion.push(&below, &format!("sphere_{i}")).z / weight - 1.0).abs());
        }
        let reason = "1e-6 m/s of g h = 0.5 m/s, at the lightest sphere";
        rows.zero(
            &format!("{count} spheres on guides: worst relative error of the forces"),
            "",
            worst,
            within(2e-6, reason),
        );
    }
    Ok(())
}

fn table(rows: &mut Rows) -> Result<(), String> {
    let (a, b, mass) = (0.5, 0.3, 12.0);
    for center in [[0.0, 0.0], [0.1, 0.05], [-0.2, 0.02]] {
        let legs: Vec<String> = [[a, b], [-a, b], [-a, -b], [a, -b]]
            .iter()
            .map(|[x, y]| format!("{{ box = [0.04, 0.04, 0.7], position = [{x:?}, {y:?}, 0.35] }}"))
            .collect();
        let shapes = format!("[{}]", legs.join(", "));
        let [x, y] = center;
        let text = Text::new(Leapfrog, 2e-3).material(0.4, 0.0).floor();
        let lines = format!(
            "mass = {mass:?}\ninertia = [1, 1, 1]\ncenter = [{x:?}, {y:?}, 0.7]\nposition = [0, 0, \
                0]"
        );
        let mut motion = text
            .add(&format!("[[body]]\nname = \"table\"\nshape = {shapes}\n{lines}"))
            .simulate()?;
        motion.until(0.5)?;
        let (mut worst, mut total) = (0.0f64, 0.0);
        for [lx, ly] in [[a, b], [-a, b], [-a, -b], [a, -b]] {
            let near =
                |c: &&ContactPoint| (c.point.x - lx).abs() < 0.05 && (c.point.y - ly).abs() < 0.05;
            let found: f64 =
                motion.sim.contacts().iter().filter(near).map(|c| c.force.z.abs()).sum();
            // Feet have four corners: their share as on equal springs, Σx² of the sixteen corners.
            let (sx, sy) = (a * a + 0.02 * 0.02, b * b + 0.02 * 0.02);
            let exact = mass * G / 4.0 * (1.0 + x * lx / sx + y * ly / sy);
            worst = worst.max((found - exact).abs());
            total += found;
        }
        let reason = "the share follows from a compliance as small as the tolerance of the solver: \
            to 2 % of the weight";
        rows.zero(
            &format!("centre of mass at ({x}, {y}): largest error of a leg"),
            "N",
            worst,
            within(0.02 * mass * G, reason),
        );
        let allowed = relative(1e-7, "1e-9 m/s of g h");
        rows.row(
            &format!("centre of mass at ({x}, {y}): sum of the legs"),
            "N",
            (total, mass * G),
            allowed,
        );
    }
    Ok(())
}

/// A chain of uniform rods hangs between two points in its closed form, and stays there.
fn catenary(rows: &mut Rows) -> Result<(), String> {
    let (count, length, mass, pull) = (20usize, 0.1, 0.05, 3.0);
    let slope = |i: usize| (mass * G * (i as f64 + 0.5 - count as f64 / 2.0) / pull).atan();
    let mut text = Text::new(Leapfrog, 2e-3);
    let mut end = DVec3::ZERO;
    let mut shape = vec![(0.0, 0.0)];
    for i in 0..count {
        let angle = slope(i);
        let along = DVec3::new(angle.cos(), 0.0, angle.sin()) * length;
        let inertia = mass * length * length / 12.0;
        text = text.add(&format!(
            "[[body]]\nname = \"rod_{i}\"\nmass = {mass:?}\ninertia = [1e-6, {inertia:?}, \
                {inertia:?}]\nposition = {}\n\
             rotation = {{ axis = [0, 1, 0], angle = {:?} }}",
            xyz(end + 0.5 * along),
            -angle
        ));
        let a = if i == 0 { String::new() } else { format!("a = \"rod_{}\"\n", i - 1) };
        text = text.add(&format!(
            "[[joint]]\nname = \"pin_{i}\"\nkind = \"revolute\"\n{a}b = \"rod_{i}\"\nposition = \
                {}\naxis = [0, 1, 0]",
            xyz(end)
        ));
        end += along;
        shape.push((end.x, end.z));
    }
    let last = count - 1;
    // A ball in a slot, so that the loop of planar hinges has no redundant row.
    text = text.add(&format!(
        "[[joint]]\nname = \"end\"\nkind = \"spherical\"\nb = \"rod_{last}\"\nposition = {}",
        xyz(end)
    ));
    let mut motion = text.simulate()?;
    let start: Vec<DVec3> = (0..count).map(|i| motion.at(&format!("rod_{i}"))).collect();
    motion.until(2.0)?;
    let moved =
        (0..count).map(|i| motion.at(&format!("rod_{i}")).distance(start[i])).fold(0.0, f64::max);
    rows.zero(
        "largest way of a rod in 2 s",
        "m",
        moved,
        within(1e-8, "1e-9 m/s of the solver about a stable rest"),
    );
    let force = motion
        .sim
        .joint("pin_0")
        .map_err(|e| e.to_string())?
        .reaction()
        .ok_or("no reaction")?
        .world
        .force;
    let reason = "1e-9 m/s of the solver over 2 ms, times the mass of the chain";
    rows.row("pull at the support", "N", (force.x.abs(), pull), within(1e-5, reason));
    rows.row(
        "weight at the support",
        "N",
        (force.z.abs(), mass * G * count as f64 / 2.0),
        within(1e-5, reason),
    );
    rows.figure(
        "Chain of 20 rods",
        ("x, m", "z, m"),
        vec![
            line("closed form", shape),
            dots("simulated after 2 s", start.iter().map(|p| (p.x, p.z)).collect()),
        ],
    );
    Ok(())
}

/// A box put down on a running belt.
fn belt(rows: &mut Rows) -> Result<(), String> {
    let (mu, v, h) = (0.6, 1.4, 1e-3);
    let text = Text::new(Leapfrog, h).material(mu, 0.0);
    let text =
        text.body("belt", &format!("half_space = true, belt = [0, {v:?}, 0]"), "fixed = true");
    let mut motion =
        text.body("box", "box = [0.3, 0.4, 0.1]", "position = [0, 0, 0.05]").simulate()?;
    motion.until(1.0)?;
    let exact = v - v * v / (2.0 * mu * G);
    let reason = "the kink within one step: mu g h²/8";
    rows.row(
        "way in 1 s: v t − v²/(2 mu g)",
        "m",
        (motion.at("box").y, exact),
        within(mu * G * h * h / 8.0 + 1e-8, reason),
    );
    rows.row(
        "heat m v²/2",
        "J",
        (motion.sim.ledger().friction, 0.5 * 12.0 * v * v),
        relative(1e-5, "(h/t)²/4 at the kink"),
    );
    Ok(())
}
