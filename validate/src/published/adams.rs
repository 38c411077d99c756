//! One body on one joint, against a commercial multibody program: motion, reaction force and
//! reaction torque.
//!
//! The data are those of Project Chrono's unit tests: 501 rows over 5 s with six to seven digits.
//! They are not part of this repository: `SIGNORINI_ADAMS` names the folder that holds
//! `adams_models` and one folder per joint; without it the cases are skipped. Of its 28 cases the 16
//! joints are compared; ten of the others (springs, actuators, a revolute–spherical link) come
//! without a model file.

use crate::case::{Case, Cost::*, Group::Published, Rows, dots, line, within};
use crate::motion::{Motion, Scheme::*, Text, xyz};
use signorini::glam::DMat3;
use signorini::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const CASES: &[Case] = &[Case {
    name: "adams-joints",
    group: Published,
    source: "joints of Project Chrono's unit tests, computed by ADAMS (data/testing/joints); the 16 \
        joints of 28 cases, ten others come without a model",
    cost: Normal,
    run,
}];

/// Folder of the data, name of the case in it, model file.
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

/// Where the data are: the variable, or beside the repository.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("SIGNORINI_ADAMS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/references/adams-joints");
    named.into_iter().chain([beside]).find(|path| path.join("adams_models").is_dir())
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

/// The scene of a model: joint `joint`, body `body`.
fn scene(model: &Model, h: f64) -> Result<Motion, String> {
    let marker = |id: u32| model.markers.get(&id).copied().ok_or(format!("no marker {id}"));
    let (center, fixed, moving) = (marker(201)?, marker(102)?, marker(202)?);
    let turn = DQuat::from_mat3(&center.axes);
    let quaternion = format!("{:?}, {:?}, {:?}, {:?}", turn.x, turn.y, turn.z, turn.w);
    let text = Text::new(Leapfrog, h).gravity([0.0, 0.0, -9.80665]).add(&format!(
        "[[body]]\nname = \"body\"\nmass = {:?}\ninertia = {}\nposition = {}\nrotation = {{ \
            quaternion = [{quaternion}] }}",
        model.mass,
        xyz(DVec3::from_array(model.inertia)),
        xyz(center.at)
    ));
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
    text.add(&format!("[[joint]]\nname = \"joint\"\nkind = \"{kind}\"\nb = \"body\"\n{place}"))
        .simulate()
}

/// The rows of a table of theirs: time and three or four numbers.
fn read_table(folder: &Path, case: &str, what: &str) -> Result<Vec<Vec<f64>>, String> {
    let path = folder.join(format!("{case}_ADAMS_{what}.txt"));
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let row =
        |line: &str| line.split_whitespace().map(|x| x.parse().ok()).collect::<Option<Vec<f64>>>();
    Ok(text.lines().filter_map(row).filter(|row| row.len() >= 4).collect())
}

/// The largest distance of two curves relative to the largest value of theirs.
fn apart(ours: &[DVec3], theirs: &[Vec<f64>]) -> f64 {
    let their = |row: &Vec<f64>| DVec3::from_slice(&row[1..4]);
    let scale = theirs.iter().map(|row| their(row).length()).fold(0.0, f64::max);
    let far = ours.iter().zip(theirs).map(|(x, row)| x.distance(their(row))).fold(0.0, f64::max);
    if scale > 1e-9 { far / scale } else { far }
}

fn run(rows: &mut Rows) -> Result<(), String> {
    let Some(folder) = folder() else {
        rows.skipped =
            Some("the data of ADAMS are not here: SIGNORINI_ADAMS names their folder".into());
        return Ok(());
    };
    for (joint, case) in MODELS {
        compare(rows, &folder, joint, case)?;
    }
    Ok(())
}

/// Motion and reactions of one case.
fn compare(rows: &mut Rows, folder: &Path, joint: &str, case: &str) -> Result<(), String> {
    // A body on a rod is a double pendulum: case 2 needs shorter steps, and forgets its beginning
    // after some seconds.
    let swift = case == "Distance_Case02";
    let h = if swift { 2.5e-4 } else { 1e-3 };
    let model = read_model(&folder.join("adams_models").join(format!("test_{case}.adm")))?;
    let mut motion = scene(&model, h)?;
    let folder = folder.join(joint);
    let tables = ["Pos", "Vel", "Rforce", "Rtorque"].map(|what| read_table(&folder, case, what));
    let [position, velocity, force, torque] = tables;
    let (position, velocity, force, torque) = (position?, velocity?, force?, torque?);
    let mut found: [Vec<DVec3>; 4] = Default::default();
    // Theirs is about the point that is fixed to the ground, ours about that on the body.
    let (fixed, center) = (model.markers[&102].at, model.markers[&201]);
    let local = center.axes.transpose() * (model.markers[&202].at - center.at);
    let rows_of_theirs = if swift { 151 } else { position.len() };
    for k in 0..rows_of_theirs {
        found[0].push(motion.at("body"));
        found[1].push(motion.velocity("body"));
        // The impulses of a step are centred on the time at which it begins.
        let pose = motion.sim.body("body").map_err(|e| e.to_string())?.pose();
        let arm = pose.point(local) - fixed;
        motion.step()?;
        let wrench = motion
            .sim
            .joint("joint")
            .map_err(|e| e.to_string())?
            .reaction()
            .ok_or("no reaction")?
            .world;
        found[2].push(-wrench.force);
        found[3].push(-wrench.torque - arm.cross(wrench.force));
        motion.until(1e-2 * (k + 1) as f64)?;
    }
    let reason = "their data for one and the same pendulum (revolute 1, spherical 1) differ by \
        3.2e-4; ours is of second order at 1 ms";
    let mut add = |what: &str, unit: &str, ours: &[DVec3], theirs: &[Vec<f64>], allowed: f64| {
        rows.zero(
            &format!("{case}: {what}, largest difference relative to its largest value"),
            unit,
            apart(ours, theirs),
            within(allowed, reason),
        );
    };
    add("position", "", &found[0], &position, 6e-4);
    add("velocity", "", &found[1], &velocity, 1e-3);
    // The first impulse acts over half a step only: from the second row on.
    add("reaction force", "", &found[2][1..], &force[1..], 2e-3);
    if !torque.iter().all(|row| row[1..4].iter().all(|x| x.abs() < 1e-6)) {
        add("reaction torque", "", &found[3][1..], &torque[1..], 2e-3);
    }
    if case == "Revolute_Case02" {
        let theirs = force.iter().map(|row| (row[0], row[3])).collect();
        let ours = found[2].iter().enumerate().map(|(k, f)| (1e-2 * k as f64, f.z)).collect();
        rows.figure(
            "Revolute joint, case 2: reaction force",
            ("time, s", "z, N"),
            vec![line("ADAMS", theirs), dots("simulated", ours)],
        );
    }
    Ok(())
}
