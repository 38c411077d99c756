//! Settled piles of spheres that do not turn, from a thesis on nonsmooth time stepping by a
//! matrix-free interior-point method.
//!
//! The data are not part of this repository: `SIGNORINI_KLEINERT` names the folder that holds
//! `particles2048pile.vtu` and the larger ones; without it the cases are skipped.

use crate::case::{Case, Cost::*, Group::Published, Rows, relative, within};
use crate::motion::{Motion, Text, xyz};
use signorini::prelude::*;
use std::path::{Path, PathBuf};

const SOURCE: &str =
    "Kleinert 2015, settled piles: g 10, mu 0.4, box of 10 m; no figures published";

pub const CASES: &[Case] = &[
    Case {
        name: "kleinert-2048",
        group: Published,
        source: SOURCE,
        cost: Normal,
        run: |rows| pile(rows, 2048),
    },
    Case {
        name: "kleinert-5040",
        group: Published,
        source: SOURCE,
        cost: Long,
        run: |rows| pile(rows, 5040),
    },
    Case {
        name: "kleinert-10192",
        group: Published,
        source: SOURCE,
        cost: Long,
        run: |rows| pile(rows, 10192),
    },
];

/// Gravity of the data, m/s².
const GRAVITY: f64 = 10.0;
/// Length of a step, s; the data name none.
const STEP: f64 = 5e-3;

/// The file: named by the variable, or beside the repository.
fn file(count: usize) -> Option<PathBuf> {
    let named = std::env::var_os("SIGNORINI_KLEINERT").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus-kleinert");
    let file = format!("particles{count}pile.vtu");
    named.into_iter().chain([beside]).map(|path| path.join(&file)).find(|path| path.is_file())
}

/// A sphere of the data.
struct Grain {
    place: DVec3,
    radius: f64,
    mass: f64,
}

/// The numbers of the array with this attribute.
fn array(text: &str, attribute: &str) -> Result<Vec<f64>, String> {
    let missing = || format!("no array {attribute}");
    let from = text.find(attribute).ok_or_else(missing)?;
    let inside = text[from..].split_once('>').ok_or_else(missing)?.1;
    let words = inside.split('<').next().unwrap_or("").split_whitespace();
    words.map(|w| w.parse().map_err(|_| format!("{attribute}: {w} is no number"))).collect()
}

fn grains(path: &Path) -> Result<Vec<Grain>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let places = array(&text, "Name=\"Points\"")?;
    let (radii, masses) = (array(&text, "Name=\"radius\"")?, array(&text, "Name=\"mass\"")?);
    let parts = places.chunks_exact(3).zip(radii).zip(masses);
    let grain = |((place, radius), mass)| Grain { place: DVec3::from_slice(place), radius, mass };
    Ok(parts.map(grain).collect())
}

/// The scene: a floor and four walls, spheres at rest with so much inertia that they do not turn.
fn scene(grains: &[Grain]) -> Text {
    let text = Text::usual(STEP).run("preset = \"engineering\"");
    let mut text = text.gravity([0.0, 0.0, -GRAVITY]).material(0.4, 0.0).floor();
    let walls = [
        ("left", "[0, 1, 0]", 90, "[0, 0, 0]"),
        ("right", "[0, 1, 0]", -90, "[10, 0, 0]"),
        ("front", "[1, 0, 0]", -90, "[0, 0, 0]"),
        ("back", "[1, 0, 0]", 90, "[0, 10, 0]"),
    ];
    for (name, axis, angle, at) in walls {
        let turn = format!("rotation = {{ axis = {axis}, angle = \"{angle} deg\" }}");
        text =
            text.body(name, "half_space = true", &format!("fixed = true\nposition = {at}\n{turn}"));
    }
    for (i, Grain { place, radius, mass }) in grains.iter().enumerate() {
        let inertia = 1e6 * mass * radius * radius;
        let at = xyz(*place);
        let lines = format!(
            "mass = {mass:?}\ninertia = [{inertia:?}, {inertia:?}, {inertia:?}]\nposition = {at}"
        );
        text = text.body(&format!("grain_{i}"), &format!("sphere = {radius:?}"), &lines);
    }
    text
}

fn pile(rows: &mut Rows, count: usize) -> Result<(), String> {
    let Some(path) = file(count) else {
        rows.skipped = Some("the data are looked for in ../shared/corpus-kleinert".into());
        return Ok(());
    };
    let grains = grains(&path)?;
    if grains.len() != count {
        return Err(format!("{}: {} spheres", path.display(), grains.len()));
    }
    let weight: f64 = GRAVITY * grains.iter().map(|g| g.mass).sum::<f64>();
    let mut motion = scene(&grains).simulate()?;
    let floor = |m: &Motion| -> f64 {
        let contacts = m.sim.contacts();
        contacts.iter().filter(|c| c.point.z.abs() < 1e-4).map(|c| c.force.z.abs()).sum()
    };
    let mut forces = Vec::new();
    motion.watch(20.0 * STEP, |m| forces.push(floor(m)))?;
    let late = &forces[10..];
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let reason = "places have six digits after the point, and contacts of 50 GPa there are rigid \
        here: what still settles in 50 ms";
    let row = rows.row("force of the floor", "N", (mean, weight), relative(1e-2, reason));
    row.note(
        "spheres that do not turn: an inertia a million times theirs; preset engineering: sweeps \
            run out of their budget before 1e-6 m/s, and most steps would not be accepted",
    );
    let moved = |i: usize| motion.at(&format!("grain_{i}")).distance(grains[i].place);
    let ways = (0..count).map(|i| moved(i) / grains[i].radius).sum::<f64>() / count as f64;
    let reason = "the pile is settled: a tenth of a radius, free fall would be three radii";
    rows.zero("mean way in 0.1 s over the radius", "", ways, within(0.1, reason));
    Ok(())
}
