//! What `run`, `check` and `convert` can be told about a robot file.

use crate::robot::{Choices, JointValue};
use crate::scenefile::expression::{Names, evaluate};
use crate::scenefile::unit::{Dimension, Quantity};
use clap::Args;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use signorini::math::pose::Pose;

/// Choices for robot files (URDF, MJCF).
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[command(next_help_heading = "Robot files (URDF, MJCF)")]
pub struct RobotOptions {
    /// Refuse a robot file with faults instead of repairing what can be repaired.
    #[arg(long)]
    #[serde(default)]
    pub strict: bool,
    /// The root of the robot does not move.
    #[arg(long)]
    #[serde(default)]
    pub fixed_base: bool,
    /// Put the robot on a floor at z = 0.
    #[arg(long)]
    #[serde(default)]
    pub floor: bool,
    /// Where the robot is put: x,y,z in metres.
    #[arg(long, value_name = "X,Y,Z", value_parser = place, allow_hyphen_values = true)]
    #[serde(default)]
    pub at: Option<[f64; 3]>,
    /// The value of a joint at the beginning: name=0.3 (rad or m), name="30 deg". May be given
    /// several times.
    #[arg(long = "joint", value_name = "NAME=VALUE", value_parser = joint)]
    #[serde(default)]
    pub joints: Vec<(String, [Option<f64>; 2])>,
    /// Give every joint that nothing moves a motor that holds it.
    #[arg(long)]
    #[serde(default)]
    pub hold: bool,
    /// Parts of the robot never touch each other.
    #[arg(long)]
    #[serde(default)]
    pub no_self_collision: bool,
    /// Meshes of moving parts as they are, not their convex hulls.
    #[arg(long)]
    #[serde(default)]
    pub no_hulls: bool,
    /// The keyframe to begin with (MJCF); the first without this.
    #[arg(long)]
    #[serde(default)]
    pub key: Option<String>,
}

impl RobotOptions {
    /// The choices; none if nothing was chosen.
    pub fn choices(&self) -> Option<Choices> {
        if *self == RobotOptions::default() {
            return None;
        }
        let value = |(name, [slide, angle]): &(String, [Option<f64>; 2])| JointValue {
            name: name.clone(),
            slide: *slide,
            angle: *angle,
        };
        Some(Choices {
            strict: self.strict,
            hold: self.hold,
            fixed_base: self.fixed_base,
            floor: self.floor,
            at: self.at.map(|at| Pose::at(DVec3::from_array(at))),
            joints: self.joints.iter().map(value).collect(),
            self_collision: !self.no_self_collision,
            hulls: !self.no_hulls,
            key: self.key.clone(),
            prefix: String::new(),
        })
    }
}

/// No names are known on the command line.
struct Nothing;

impl Names for Nothing {
    fn value(&mut self, _: &str) -> Option<Result<Quantity, String>> {
        None
    }
    fn all(&self) -> Vec<String> {
        Vec::new()
    }
}

const LENGTH: Dimension = Dimension::new(1, 0, 0, 0);
const ANGLE: Dimension = Dimension::new(0, 0, 0, 1);

/// A number, as a length and as an angle: what it can be.
fn number(text: &str) -> Result<[Option<f64>; 2], String> {
    let found = evaluate(text, &mut Nothing).map_err(|wrong| wrong.message)?;
    let plain = found.dimension == Dimension::NONE;
    let as_a = |dimension| (plain || found.dimension == dimension).then_some(found.value);
    let either = [as_a(LENGTH), as_a(ANGLE)];
    if found.value.is_finite() && either != [None; 2] {
        Ok(either)
    } else {
        Err("wanted a number, a length or an angle".into())
    }
}

fn joint(text: &str) -> Result<(String, [Option<f64>; 2]), String> {
    let (name, value) = text.rsplit_once('=').ok_or("wanted name=value")?;
    Ok((name.trim().to_string(), number(value.trim())?))
}

fn length(text: &str) -> Result<f64, String> {
    number(text)?[0].ok_or_else(|| "wanted a length".to_string())
}

fn place(text: &str) -> Result<[f64; 3], String> {
    let numbers: Vec<f64> =
        text.split([',', ' ']).filter(|w| !w.is_empty()).map(length).collect::<Result<_, _>>()?;
    numbers.try_into().map_err(|_| "wanted three numbers, x,y,z".to_string())
}
