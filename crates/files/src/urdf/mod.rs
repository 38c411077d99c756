//! Robot files (URDF) as scenes.
//!
//! ```text
//!   XML → model (links, joints, each with its place in the file) → text of a scene
//! ```
//!
//! There is one way from there on: the text is read as any scene file is, so that `run robot.urdf`, `include = "robot.urdf"` and
//! `convert robot.urdf scene.toml` mean the same.
//!
//! | URDF | scene |
//! |---|---|
//! | links joined by `fixed` joints | one body, named after the topmost link |
//! | root link named `world`, or without mass | `fixed = true` |
//! | collision shapes | shapes; a link without any shows its visual ones, which touch nothing |
//! | revolute, continuous, prismatic, planar | joints; `limit` becomes stops, `damping` a damper, `friction` dry friction |
//! | mimic | a gear |
//! | a joint that a transmission names (all with `--hold`) | a motor that holds it, as strong as `effort` says |
//! | floating | no joint |
//!
//! What is not used is listed, with its line. Lengths are metres, as URDF has it.

pub mod model;
pub mod robot;
pub mod write;

use std::ops::Range;
use std::path::Path;

/// Something wrong with a robot file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Where in the text.
    pub range: Range<usize>,
    /// What was found.
    pub message: String,
    /// What was wanted.
    pub wanted: String,
}

/// How to convert.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    /// Every joint gets a motor that holds it.
    pub hold: bool,
}

/// A robot as a scene.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The text of the scene, TOML.
    pub text: String,
    /// What was left out or decided, with lines.
    pub notes: Vec<String>,
}

/// The text of a scene from that of a robot; `path` is where the robot file is, for its meshes.
pub fn convert(text: &str, path: &Path, choices: Choices) -> Result<Converted, Vec<Fault>> {
    let mut reader = model::Reader::new(text);
    let model = reader.robot();
    let (mut faults, mut notes) = (reader.faults, reader.notes);
    let Some(model) = model else { return Err(faults) };
    let robot = robot::Robot::assemble(&model, path, &mut faults, &mut notes);
    match robot {
        Some(robot) if faults.is_empty() => Ok(Converted { text: write::scene(&model, &robot, choices), notes }),
        _ => Err(faults),
    }
}
