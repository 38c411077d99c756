//! Other engines that step a scene of ours, each in its own words: those that Python knows
//! (`bench/peers`), and Rapier.

pub mod python;
pub mod rapier;

use glam::DVec3;
use serde::{Deserialize, Serialize};
use signorini::scene::{BodyId, ForceKind, Frame, JointKind, Scene};

/// A scene, its time step and how long it runs.
pub struct Task<'a> {
    /// What is in it; its body frames are centres of mass and principal axes.
    pub scene: &'a Scene,
    /// Length of a step, s.
    pub h: f64,
    /// Steps of a run.
    pub steps: u64,
    /// Samples of the motion that a run keeps.
    pub samples: u64,
    /// Computing time of one run at most, s; what is done by then counts.
    pub budget: f64,
    /// Contacts that close more slowly do not rebound, m/s.
    pub rebound_speed: f64,
}

/// One body at one time, world frame, centre of mass.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Moving {
    /// Position, m.
    pub position: [f64; 3],
    /// Orientation, x y z w.
    pub orientation: [f64; 4],
    /// Velocity, m/s.
    pub linear: [f64; 3],
    /// Angular velocity, rad/s.
    pub angular: [f64; 3],
}

/// One run of an engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Its name, with its variant.
    pub engine: String,
    /// Its version, where it says one.
    #[serde(default)]
    pub version: String,
    /// Computing time of all steps, s.
    pub seconds: f64,
    /// Steps taken; fewer than asked for if the time was up.
    pub steps: u64,
    /// Contact points, mean over the samples.
    pub contacts: f64,
    /// Steps whose error was not accepted; only ours says so.
    #[serde(default)]
    pub not_accepted: Option<u64>,
    /// Time of each sample, s, and its free bodies in the order of the scene.
    pub samples: Vec<(f64, Vec<Moving>)>,
}

/// An engine that did not run a scene.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Missing {
    /// Its name, with its variant.
    pub engine: String,
    /// Why.
    pub reason: String,
}

/// What the engines did with one scene.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Runs {
    /// Engines that stepped it.
    pub runs: Vec<Run>,
    /// Engines that did not.
    pub missing: Vec<Missing>,
}

/// The name of a joint that all engines know.
fn joint_name(kind: &JointKind) -> Result<&'static str, String> {
    match kind {
        JointKind::Revolute | JointKind::Prismatic | JointKind::Spherical => Ok(kind.name()),
        other => Err(format!("joints of kind {} are not passed on", other.name())),
    }
}

/// The body and the constant force at its centre of mass, N.
fn push(kind: &ForceKind) -> Result<(BodyId, DVec3), String> {
    match kind {
        ForceKind::Applied(a) if a.point == DVec3::ZERO && a.frame == Frame::World => {
            Ok((a.body, a.force.each_ref().map(|f| f.value(0.0)).into()))
        }
        _ => Err("only forces at centres of mass are passed on".to_string()),
    }
}
