//! Numbers that suit another unit: lengths in millimetres read as metres, grams as kilograms, kg
//! mm² as kg m².
//!
//! | smell | limit | reason |
//! |---|---|---|
//! | density of a body (mass over volume of its shapes) | 0.1 … 25 000 kg/m³ | aerogel weighs 1, osmium 22 600 |
//! | radius of gyration against reach of the shapes | 1/50 … 1.05 | no mass lies outside its own shape |
//! | gravity | below 100 m/s² | Jupiter has 25; 9810 is mm/s² |
//! | smallest body | below 20 m | unless the scene is a landscape, lengths are in mm |
//! | coefficient of friction | [`MAX_FRICTION`] | it acts as that |
//! | rolling friction of a body's material | its reach | no slope would make it roll |
//! | things known by name | a screw is below 0.5 m, a feather below 50 g | |

use super::finding::{Findings, Severity};
use crate::geometry::Volume;
use crate::scene::BodyId;
use crate::scene::body::reach;
use crate::scene::material::MAX_FRICTION;

/// Words in names, and what the thing is at most: length m, mass kg.
const KNOWN: &[(&str, f64, f64)] = &[
    ("screw", 0.5, 5.0),
    ("bolt", 0.6, 20.0),
    ("nut", 0.3, 5.0),
    ("washer", 0.3, 2.0),
    ("rivet", 0.2, 1.0),
    ("needle", 0.3, 0.1),
    ("coin", 0.1, 0.1),
    ("feather", 0.6, 0.05),
    ("marble", 0.1, 0.2),
    ("bottle", 1.0, 50.0),
];

/// The largest extent of a body's shapes, m; none if it has none or they have no end.
pub(crate) fn extent(findings: &Findings<'_>, body: usize) -> Option<f64> {
    shapes(findings, body).map(|c| 2.0 * reach(&c.shape)).filter(|s| *s > 0.0).reduce(f64::max)
}

fn shapes<'a>(
    findings: &'a Findings<'_>,
    body: usize,
) -> impl Iterator<Item = &'a crate::geometry::Collider> {
    findings.colliders[body].iter().map(|&c| &findings.scene.colliders[c as usize])
}

/// Adds what smells of another unit.
pub(crate) fn smells(findings: &mut Findings<'_>) {
    let scene = findings.scene;
    let g = scene.gravity.length();
    if g > 100.0 {
        let found = format!("gravity is {g:.1} m/s²");
        let advice = format!(
            "write it with its unit, such as \"{g} mm/s^2\", or declare units = {{ length = \"mm\" \
                }}"
        );
        findings.add(Severity::Warning, "unit", scene.name.clone(), found, advice);
    }
    friction(findings);
    let smallest = (0..scene.bodies.len())
        .filter_map(|b| scene.bodies[b].mass().and_then(|_| extent(findings, b)).map(|e| (e, b)));
    let smallest = smallest.min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((size, body)) = smallest.filter(|(size, _)| *size > 20.0) {
        let name = scene.bodies[body].name.clone();
        let found = format!("the smallest body measures {size:.1} m");
        findings.add(
            Severity::Warning,
            "unit",
            name,
            found,
            "declare units = { length = \"mm\" } if the lengths are millimetres".into(),
        );
    }
    for (i, body) in scene.bodies.iter().enumerate() {
        let Some(mass) = body.mass() else { continue };
        known_by_name(findings, i, mass.mass);
        if let Some(size) = extent(findings, i) {
            rolling(findings, i, size);
        }
        density(findings, i, mass.mass);
        gyration(findings, i);
    }
}

/// Rolling friction that a body cannot have: its contact would be wider than the body.
fn rolling(findings: &mut Findings<'_>, body: usize, size: f64) {
    let scene = findings.scene;
    let material =
        |c: &u32| &scene.materials[scene.surface_materials[*c as usize].material.index()];
    let most = findings.colliders[body].iter().map(material);
    let Some(most) = most.max_by(|a, b| a.rolling.total_cmp(&b.rolling)) else { return };
    if most.rolling <= 0.5 * size {
        return;
    }
    let found = format!(
        "its material `{}` has a rolling friction of {} m, more than the {} m that it reaches",
        most.name,
        most.rolling,
        0.5 * size
    );
    let advice = "a length: the torque against rolling for each N of normal force, mostly below a \
                  millimetre; write its unit"
        .into();
    findings.add(Severity::Warning, "unit", scene.bodies[body].name.clone(), found, advice);
}

fn friction(findings: &mut Findings<'_>) {
    for material in findings.scene.materials.iter().filter(|m| m.mu > MAX_FRICTION) {
        findings.add(
            Severity::Note,
            "friction",
            material.name.clone(),
            format!("mu is {:.1e}", material.mu),
            format!("contacts work with {MAX_FRICTION:e}, which holds as well: write that"),
        );
    }
}

fn known_by_name(findings: &mut Findings<'_>, body: usize, mass: f64) {
    let name = findings.body(body).to_string();
    let size = extent(findings, body);
    for word in name.to_lowercase().split(|c: char| !c.is_ascii_alphabetic()) {
        let Some((_, length, most)) = KNOWN.iter().find(|(known, ..)| *known == word) else {
            continue;
        };
        if let Some(size) = size.filter(|s| s > length) {
            let advice = format!("check the unit of its lengths: {size} mm would be plausible");
            findings.add(
                Severity::Warning,
                "unit",
                name.clone(),
                format!("a {word} of {size:.2} m"),
                advice,
            );
        }
        if mass > *most {
            let advice = format!("check the unit of its mass: {mass} g would be plausible");
            findings.add(
                Severity::Warning,
                "unit",
                name.clone(),
                format!("a {word} of {mass:.3} kg"),
                advice,
            );
        }
    }
}

fn density(findings: &mut Findings<'_>, body: usize, mass: f64) {
    let volume: f64 =
        shapes(findings, body).map(|c| Volume::of(&c.shape).map_or(0.0, |v| v.volume)).sum();
    if !(volume > 0.0) {
        return;
    }
    let density = mass / volume;
    if (0.1..=25_000.0).contains(&density) {
        return;
    }
    let found = format!("{mass:.3e} kg in {volume:.3e} m³ are {density:.2e} kg/m³");
    let advice = match density {
        d if d > 25e5 => {
            "nothing is that dense: check the unit of its lengths (mm read as m make bodies large, \
                m read as mm make them small) and of its mass"
        }
        d if d > 25e3 => "nothing is that dense: is the mass in grams?",
        _ => "lighter than air: are its lengths in millimetres, or is its mass in tonnes?",
    };
    let name = findings.body(body).to_string();
    findings.add(Severity::Warning, "unit", name, found, advice.into());
}

fn gyration(findings: &mut Findings<'_>, body: usize) {
    let Some(mass) = findings.scene.bodies[body].mass() else { return };
    let far = shapes(findings, body)
        .map(|c| c.pose_in_body.position.length() + reach(&c.shape))
        .fold(0.0, f64::max);
    if !(far > 0.0) {
        return;
    }
    let i = mass.inertia;
    // ½ tr I = ∫ |x|² dm: the mean square distance of the mass from its centre.
    let radius = (0.5 * (i.x_axis.x + i.y_axis.y + i.z_axis.z) / mass.mass).sqrt();
    let name = findings.body(BodyId(body as u32).index()).to_string();
    if radius > 1.05 * far {
        let found = format!(
            "its inertia is that of mass {radius:.3e} m from its centre, but its shapes reach only \
                {far:.3e} m"
        );
        let by = (radius / far).powi(2);
        let unit = if by > 1e5 { " (a factor of 1e6 is mm² read as m²)" } else { "" };
        findings.add(
            Severity::Warning,
            "inertia",
            name,
            found,
            format!("leave `inertia` away to take it from the shapes, or check its unit{unit}"),
        );
    } else if radius < 0.02 * far {
        let found = format!(
            "its inertia is that of mass within {radius:.3e} m of its centre, but its shapes reach \
                {far:.3e} m"
        );
        findings.add(
            Severity::Warning,
            "inertia",
            name,
            found,
            "leave `inertia` away to take it from the shapes, or check its unit".into(),
        );
    }
}
