//! The scenes that come with the program.

use crate::robot::{Choices, is_robot};
use crate::scenefile::{Faults, Loaded, load_from, load_robot};
use crate::spelling::nearest;
use std::path::Path;

macro_rules! scenes {
    ($($name:literal),+ $(,)?) => {
        /// Name and text of every scene of `scenes/`.
        pub const SCENES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../scenes/", $name,
        ".toml")))),+];
    };
}

scenes![
    "a01_pendulum",
    "a02_four_bars",
    "a03_andrews",
    "a04_bricard",
    "a05_governor",
    "arch",
    "arch_thin",
    "ball",
    "balls",
    "balls_1190",
    "balls_1190_frictionless",
    "balls_280",
    "balls_280_frictionless",
    "balls_595",
    "balls_595_frictionless",
    "balls_64",
    "balls_64_frictionless",
    "bending",
    "bottles",
    "brick",
    "cam_follower",
    "cantilever",
    "cascade",
    "conveyor",
    "cradle",
    "cradle_touching",
    "dominoes",
    "escapement",
    "feeder",
    "geneva",
    "grip",
    "gripper",
    "incline",
    "insulator_chain",
    "manipulator",
    "pick_and_place",
    "quadruped",
    "ratchet",
    "shaker",
    "slider_crank",
    "sliding_gripper",
    "soft_block",
    "stack",
    "stack_1e12",
    "stack_1e6",
    "stack_ratio",
    "vibratory_feeder",
    "wall",
];

/// Files that scenes include, and that are no scenes themselves.
const INCLUDED: &[(&str, &str)] = &[("parts/arch", include_str!("../scenes/parts/arch.toml"))];

/// A scene by path or by the name of a built-in one; otherwise a message for the user.
pub fn find(name: &str, set: &[String]) -> Result<Loaded, String> {
    find_robot(name, set, None)
}

/// As [`find`], with choices for a robot file.
pub fn find_robot(name: &str, set: &[String], choices: Option<&Choices>) -> Result<Loaded, String> {
    if choices.is_some() && !is_robot(name) {
        let message = format!(
            "error: `{name}` is no robot file (.urdf, .xml, .mjcf), but options for one were given"
        );
        return Err(format!("{message}: in a scene, write [[robot]]"));
    }
    if Path::new(name).is_file() {
        let choices = choices.cloned().unwrap_or_default();
        let mut loaded =
            load_robot(Path::new(name), set, &choices).map_err(|faults| faults.to_string())?;
        loaded.source = name.into();
        return Ok(loaded);
    }
    if SCENES.iter().any(|(known, _)| *known == name) {
        let mut loaded = built_in(name, set).map_err(|faults| faults.to_string())?;
        loaded.source = name.into();
        return Ok(loaded);
    }
    if Path::new(name).exists() {
        return Err(format!("error: `{name}` is no regular file, wanted a scene file"));
    }
    let known: Vec<&str> = SCENES.iter().map(|(name, _)| *name).collect();
    Err(match nearest(name, known.iter().copied()) {
        Some(best) => {
            format!("error: there is no file and no scene `{name}`: did you mean `{best}`?")
        }
        None => {
            format!("error: there is no file and no scene `{name}`; scenes: {}", known.join(", "))
        }
    })
}

/// A built-in scene.
pub fn built_in(name: &str, set: &[String]) -> Result<Loaded, Faults> {
    let library = |file: &str| {
        let stem = file.trim_end_matches(".toml");
        let found = SCENES.iter().chain(INCLUDED).find(|(name, _)| *name == stem);
        found.map(|(_, text)| text.to_string()).ok_or_else(|| "no such scene".to_string())
    };
    load_from(&format!("{name}.toml"), &library, set)
}
