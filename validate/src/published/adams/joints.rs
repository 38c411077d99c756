//! Joints whose models come with the data: ADAMS model files.

use super::{GRAVITY, Place, Setup};
use crate::motion::{Scheme::*, Text, xyz};
use signorini::glam::DMat3;
use signorini::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Folder of the data and name of the case.
const MODELS: &[(&str, &str)] = &[
    ("revolute_joint", "Revolute_Case01"),
    ("revolute_joint", "Revolute_Case02"),
    ("prismatic_joint", "Prismatic_Case01"),
    ("prismatic_joint", "Prismatic_Case02"),
    ("prismatic_joint", "Prismatic_Case03"),
    ("cylindrical_joint", "Cylindrical_Case01"),
    ("cylindrical_joint", "Cylindrical_Case02"),
    ("cylindrical_joint", "Cylindrical_Case03"),
    ("spherical_joint", "Spherical_Case01"),
    ("spherical_joint", "Spherical_Case02"),
    ("universal_joint", "Universal_Case01"),
    ("universal_joint", "Universal_Case02"),
    ("universal_joint", "Universal_Case03"),
    ("distance_constraint", "Distance_Case01"),
    ("distance_constraint", "Distance_Case02"),
    ("distance_constraint", "Distance_Case03"),
];

/// All of them, from the model files below `folder`.
pub fn setups(folder: &Path) -> Result<Vec<Setup>, String> {
    MODELS.iter().map(|(joint, case)| setup(folder, joint, case)).collect()
}

/// A marker: its place and axes.
#[derive(Clone, Copy)]
struct Marker {
    at: DVec3,
    axes: DMat3,
}

/// What a model file holds.
struct Model {
    markers: BTreeMap<u32, Marker>,
    /// `REVOLUTE` and the like; `DISTANCE` for a constraint on a distance.
    kind: String,
    mass: f64,
    inertia: [f64; 3],
}

/// Reads an ADAMS model: statements begin in the first column, continuations with a comma.
fn read_model(path: &Path) -> Result<Model, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut statements: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('!')) {
        match (line.strip_prefix(','), statements.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(&format!(", {rest}")),
            _ => statements.push(line.into()),
        }
    }
    let mut model = Model {
        markers: BTreeMap::new(),
        kind: String::new(),
        mass: f64::NAN,
        inertia: [f64::NAN; 3],
    };
    for statement in &statements {
        let (head, rest) = statement.split_once('/').unwrap_or((statement, ""));
        let id = rest.split(',').next().unwrap_or("").trim().parse::<u32>().unwrap_or(0);
        match head {
            "MARKER" => {
                let at = numbers(rest, "QP").map_or(DVec3::ZERO, |x| DVec3::from_slice(&x[..3]));
                let turn = numbers(rest, "REULER").unwrap_or(vec![0.0; 3]);
                let [a, b, c] = [0, 1, 2].map(|i| turn[i].to_radians());
                let axes = DMat3::from_rotation_z(a)
                    * DMat3::from_rotation_x(b)
                    * DMat3::from_rotation_z(c);
                model.markers.insert(id, Marker { at, axes });
            }
            "PART" if rest.contains("MASS") => {
                model.mass = numbers(rest, "MASS").map_or(f64::NAN, |x| x[0]);
                let inertia = numbers(rest, "IP").ok_or("a part without IP")?;
                model.inertia = [inertia[0], inertia[1], inertia[2]];
            }
            "JOINT" => model.kind = rest.split(',').nth(1).unwrap_or("").trim().into(),
            "GCON" => model.kind = "DISTANCE".into(),
            _ => {}
        }
    }
    Ok(model)
}

/// The numbers after `KEY =`.
fn numbers(text: &str, key: &str) -> Option<Vec<f64>> {
    let rest = &text[text.find(&format!("{key} ="))?..];
    let list = rest.split_once('=')?.1.split('=').next()?;
    let list: Vec<f64> =
        list.split(',').map_while(|x| x.trim().trim_end_matches('D').parse().ok()).collect();
    (!list.is_empty()).then_some(list)
}

/// A model as a scene.
fn setup(folder: &Path, joint: &'static str, case: &'static str) -> Result<Setup, String> {
    let model = read_model(&folder.join("adams_models").join(format!("test_{case}.adm")))?;
    let marker = |id: u32| model.markers.get(&id).copied().ok_or(format!("no marker {id}"));
    let (center, fixed, moving) = (marker(201)?, marker(102)?, marker(202)?);
    let kind = match model.kind.as_str() {
        "REVOLUTE" => "revolute",
        "TRANSLATIONAL" => "prismatic",
        "CYLINDRICAL" => "cylindrical",
        "SPHERICAL" => "spherical",
        "HOOKE" => "universal",
        "DISTANCE" => "distance",
        other => return Err(format!("joint `{other}`")),
    };
    let place = if kind == "distance" {
        format!("points = [{}, {}]", xyz(fixed.at), xyz(moving.at))
    } else {
        let [x, z] = [fixed.axes.x_axis, fixed.axes.z_axis].map(xyz);
        format!("position = {}\naxis = {z}\nx_axis = {x}", xyz(fixed.at))
    };
    // A body on a rod is a double pendulum: case 2 needs shorter steps, and forgets its beginning
    // after some seconds.
    let (h, end) = if case == "Distance_Case02" { (2.5e-4, 1.5) } else { (1e-3, 5.0) };
    let turn = DQuat::from_mat3(&center.axes);
    let text = Text::new(Leapfrog, h).gravity(GRAVITY).add(&format!(
        "[[body]]\nname = \"body\"\nmass = {:?}\ninertia = {}\nposition = {}\nrotation = {{ \
            quaternion = [{:?}, {:?}, {:?}, {:?}] }}\n[[joint]]\nname = \"joint\"\nkind = \
            \"{kind}\"\nb = \"body\"\n{place}",
        model.mass,
        xyz(DVec3::from_array(model.inertia)),
        xyz(center.at),
        turn.x,
        turn.y,
        turn.z,
        turn.w
    ));
    let local = center.axes.transpose() * (moving.at - center.at);
    let place = Place { folder: joint, case, ends: [fixed.at, local] };
    Ok(Setup { end, ..Setup::new(place, text) })
}
