//! Robot files (URDF).
//!
//! ```text
//!   XML → model (links, joints, each with its place in the file) → machine
//! ```
//!
//! | URDF | machine |
//! |---|---|
//! | links joined by `fixed` joints | one body, named after the topmost link |
//! | root link named `world`, or without mass | fixed |
//! | collision shapes | shapes; a link without any has none |
//! | visual shapes | what the body is drawn by, with their colours |
//! | revolute, continuous, prismatic, planar, spherical | joints; `limit` becomes stops, `damping` a damper, `friction` dry friction |
//! | mimic | a gear |
//! | a joint that a transmission names (all with `hold`) | a motor that holds it, as strong as `effort` says |
//! | floating | no joint |
//!
//! Files in the world have faults that other programs forgive. What does not matter is not looked
//! at (the axis of a fixed joint, the inertia of a link that is part of a larger body); what can be
//! repaired is repaired and listed, with its line:
//!
//! | fault | repair |
//! |---|---|
//! | an inertia that no body has | the nearest one that a body can have ([`crate::robot::inertia`]) |
//! | a moving link without mass at the end of a branch | its joint is fixed |
//! | a moving link without mass within a branch | a ten-thousandth of the mass beyond it |
//! | commas or too many numbers in a vector | the first three numbers |
//! | `$(optenv NAME value)` left by xacro | the value |
//! | limits that exclude each other, a mimic of a joint that is not there | none |
//! | meshes or shapes that cannot be read | left out |
//! | text before or after the robot, unknown prefixes, an attribute given twice | left out |

mod mesh_file;
pub mod model;
pub mod repair;
pub mod robot;

use crate::robot::{Choices, Failed, Machine};
use std::borrow::Cow;
use std::path::Path;

/// A robot from the text of its file; `name` is the path of the file, for its meshes.
pub fn machine(
    name: &str,
    text: String,
    choices: &Choices,
) -> Result<(Machine, Vec<String>), Failed> {
    let mut first = model::Reader::new(&text, choices.strict);
    let better = repair::well_formed(&text, &mut first).map(Cow::into_owned);
    let (faults, notes) = (first.faults, first.notes);
    let Some(better) = better else {
        return Err(Failed { sources: vec![(name.into(), text)], faults });
    };
    let mut reader = model::Reader { notes, ..model::Reader::new(&better, choices.strict) };
    let model = reader.robot();
    let machine =
        model.and_then(|model| robot::assemble(&model, Path::new(name), &mut reader, choices));
    let model::Reader { faults, notes, .. } = reader;
    match machine {
        Some(machine) if faults.is_empty() => Ok((machine, notes)),
        _ => Err(Failed { sources: vec![(name.into(), text)], faults }),
    }
}
