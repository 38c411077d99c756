//! Robot files become scenes: URDF or MJCF, by what stands in the file.

use crate::robot::{Choices, Failed, Library, write};
use crate::{mjcf, urdf};

/// A robot as a scene.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The text of the scene, TOML.
    pub text: String,
    /// What was repaired, left out or decided, with lines.
    pub notes: Vec<String>,
}

/// The text of a scene from that of a robot file.
pub fn convert(
    name: &str,
    text: String,
    library: Library<'_>,
    choices: &Choices,
) -> Result<Converted, Failed> {
    let mjcf = match text.find("<mujoco") {
        Some(at) => text.find("<robot").is_none_or(|other| at < other),
        None => false,
    };
    let (mut machine, mut notes) = if mjcf {
        mjcf::machine(name, text, library, choices)?
    } else {
        urdf::machine(name, text, choices)?
    };
    machine.settle(choices, &mut notes);
    Ok(Converted { text: write::scene(&machine, choices), notes })
}
