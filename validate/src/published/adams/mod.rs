//! One body on one joint, spring or actuator, against a commercial multibody program: motion,
//! reaction force and reaction torque.
//!
//! The data are those of Project Chrono's unit tests: 28 cases, 501 rows over 5 s each, six to
//! seven digits. They are not part of this repository: `SIGNORINI_ADAMS` names the folder that
//! holds `adams_models` and one folder per joint; without it the cases are skipped. 16 joints
//! come with a model file ([`joints`]); the other 12 are built from what Chrono's tests for them
//! say ([`links`]).

mod joints;
mod links;

use crate::case::{Case, Cost::*, Group::Published, Rows, dots, line, within};
use crate::motion::Text;
use signorini::prelude::*;
use std::path::{Path, PathBuf};

pub const CASES: &[Case] = &[Case {
    name: "adams-joints",
    group: Published,
    source: "Project Chrono's unit tests of joints, computed by ADAMS (data/testing/joints), \
        all 28 cases",
    cost: Normal,
    run,
}];

/// The gravity of all cases, m/s².
const GRAVITY: [f64; 3] = [0.0, 0.0, -9.80665];

/// Which case it is, and where the link is: its end on the ground (world), and that on the body (in
/// the frame of the body).
struct Place {
    folder: &'static str,
    case: &'static str,
    ends: [DVec3; 2],
}

/// A case as a scene: the body `body`, joints, forces.
struct Setup {
    place: Place,
    text: Text,
    /// Up to which time it is compared, s.
    end: f64,
    /// What the tables of the force and the torque on the ground are called.
    tables: [&'static str; 2],
    /// Force and torque of springs on the ground, about the end on the ground; joints add theirs.
    spring: Option<Box<dyn Fn(&Simulation) -> [DVec3; 2]>>,
    /// The axis of the motor `actuator`, if there is one.
    actuator: Option<DVec3>,
}

impl Setup {
    fn new(place: Place, text: Text) -> Setup {
        let tables = ["Rforce", "Rtorque"];
        Setup { place, text, end: 5.0, tables, spring: None, actuator: None }
    }
}

/// Where the data are: the variable, or beside the repository.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("SIGNORINI_ADAMS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/references/adams-joints");
    named.into_iter().chain([beside]).find(|path| path.join("adams_models").is_dir())
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
    for setup in joints::setups(&folder)?.into_iter().chain(links::setups()) {
        compare(rows, &folder.join(setup.place.folder), &setup)?;
    }
    Ok(())
}

/// What is compared, at the times of their tables.
#[derive(Default)]
struct Found {
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    spin: Vec<DVec3>,
    force: Vec<DVec3>,
    torque: Vec<DVec3>,
    effort: Vec<DVec3>,
}

/// Runs a case up to the last of `count` rows.
fn simulate(setup: &Setup, count: usize) -> Result<Found, String> {
    let mut motion = setup.text.simulate()?;
    let [fixed, local] = setup.place.ends;
    let mut found = Found::default();
    for k in 0..count {
        found.position.push(motion.at("body"));
        found.velocity.push(motion.velocity("body"));
        found.spin.push(motion.spin("body"));
        let spring = setup.spring.as_ref().map_or([DVec3::ZERO; 2], |spring| spring(&motion.sim));
        let pose = motion.sim.body("body").map_err(|e| e.to_string())?.pose();
        // The impulses of a step are centred on the time at which it begins.
        motion.step()?;
        // Their torque is about the end on the ground, ours about that on the body.
        let arm = pose.point(local) - fixed;
        let [mut force, mut torque] = spring;
        for joint in motion.sim.reactions().joints {
            force -= joint.world.force;
            torque -= joint.world.torque + arm.cross(joint.world.force);
        }
        found.force.push(force);
        found.torque.push(torque);
        if let Some(axis) = setup.actuator {
            let motor = motion.sim.motor("actuator").map_err(|e| e.to_string())?;
            found.effort.push(axis * motor.effort());
        }
        motion.until(1e-2 * (k + 1) as f64)?;
    }
    Ok(found)
}

/// Motion and reactions of one case.
fn compare(rows: &mut Rows, folder: &Path, setup: &Setup) -> Result<(), String> {
    let Setup { place: Place { case, .. }, tables: [force, torque], .. } = *setup;
    let table = |what: &str| read_table(folder, case, what);
    let count = (setup.end * 100.0).round() as usize + 1;
    let found = simulate(setup, count)?;
    let reason = "their data for one and the same pendulum (revolute 1, spherical 1) differ by \
        3.2e-4; ours is of second order at 1 ms";
    let mut add = |what: &str, ours: &[DVec3], table: Vec<Vec<f64>>, allowed: f64| {
        // Nothing that can be wrong relative to itself: components of rounding.
        if table.iter().all(|row| row[1..4].iter().all(|x| x.abs() < 1e-6)) {
            return;
        }
        let label = format!("{case}: {what}, largest difference relative to its largest value");
        rows.zero(&label, "", apart(ours, &table), within(allowed, reason));
    };
    add("position", &found.position, table("Pos")?, 6e-4);
    add("velocity", &found.velocity, table("Vel")?, 1e-3);
    add("angular velocity", &found.spin, table("Avel")?, 1e-3);
    // The first impulse acts over half a step only: from the second row on.
    let later = |table: Vec<Vec<f64>>| table[1..].to_vec();
    add("reaction force", &found.force[1..], later(table(force)?), 2e-3);
    add("reaction torque", &found.torque[1..], later(table(torque)?), 2e-3);
    if setup.actuator.is_some() {
        add("force of the actuator", &found.effort[1..], later(table("RforceA")?), 2e-3);
    }
    if case == "Revolute_Case02" {
        let theirs = table(force)?.iter().map(|row| (row[0], row[3])).collect();
        let ours = found.force.iter().enumerate().map(|(k, f)| (1e-2 * k as f64, f.z)).collect();
        rows.figure(
            "Revolute joint, case 2: reaction force",
            ("time, s", "z, N"),
            vec![line("ADAMS", theirs), dots("simulated", ours)],
        );
    }
    Ok(())
}
