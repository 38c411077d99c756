//! Mechanisms without contact: accelerations in index-1 form, Runge–Kutta, and drift removed by
//! projection.
//!
//! ```text
//!   M v̇ + Gᵀλ = f(q, v, t)        momentum                                         [SymbolicQR, eq. 5]
//!   G v̇ = u(q, v),  u = −Ġ v      joints, twice differentiated                     [eq. 3, 4]
//!
//!   A = L⁻¹Gᵀ,  M = L Lᵀ,  A Π = Q R                                               [eq. 11, 14]
//!   Rᵀ R λ = G M⁻¹ f − u,   v̇ = M⁻¹(f − Gᵀλ)                                       [eq. 8–13]
//! ```
//!
//! For a given scene the pattern of every matrix is fixed, so everything is written once as
//! expressions ([`equations`]) and becomes a program ([`program`]): no zeros, no constants, no
//! searching. G and u are derived from the positions of the joints, not differenced.
//!
//! Redundant joints (any CAD model) are found where the mechanism stands, by rank
//! ([`crate::symbolic::factor`]); the program holds the independent rows, and the others are
//! watched: if one of them stops following, or the independent ones stop being independent, the
//! choice is made again ([`simulation`]). A planar mechanism (all hinges parallel) is recognised
//! and has three coordinates a body ([`coordinates`]).
//!
//! When to use it: mechanisms without contact, stops and dry friction; smooth motion, where order 4
//! or 5 in time pays. Cost: one factorization of R per evaluation, linear in the length of a chain.

pub mod coordinates;
pub mod dense;
pub mod emit;
pub mod equations;
pub mod forces;
pub mod procedures;
pub mod program;
pub mod runge_kutta;
pub mod simulation;

pub use coordinates::{Coordinates, Space};
pub use equations::{Equations, Row};
pub use program::Program;
pub use runge_kutta::Method;
pub use simulation::{Settings, Simulation};

use crate::scene::Scene;

impl Equations {
    /// Writes the expressions of a scene: its joints, its forces, and A.
    pub fn of(scene: &Scene, planar: bool) -> Result<Equations, MechanismError> {
        let mut equations = Equations::of_joints(scene, planar)?;
        forces::write(&mut equations, scene)?;
        equations.scaled_jacobian();
        Ok(equations)
    }
}

/// Why a scene cannot be run in this form; each names its culprit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MechanismError {
    /// Faults of the scene.
    #[error("{0}")]
    Scene(String),
    /// Something that accelerations do not treat.
    #[error("{what} `{name}`: {why}; integrator = \"acceleration\" does not treat it")]
    Unsupported {
        /// Joint, motor, gear, force, body.
        what: &'static str,
        /// Its name.
        name: String,
        /// What it is.
        why: String,
    },
    /// Joints that no position satisfies.
    #[error("joint `{joint}` cannot be assembled: {gap:.3e} {unit} remain at its {part}")]
    NotAssembled {
        /// The joint that is farthest from closed.
        joint: String,
        /// Its part.
        part: &'static str,
        /// What remains.
        gap: f64,
        /// Its unit.
        unit: &'static str,
    },
    /// Initial velocities that the joints do not allow.
    #[error(
        "joint `{joint}`: the initial velocities violate its {part} by {speed:.3e} {unit}/s, \
            wanted 0"
    )]
    Velocity {
        /// The joint that is violated most.
        joint: String,
        /// Its part.
        part: &'static str,
        /// The rate.
        speed: f64,
        /// Unit of the part.
        unit: &'static str,
    },
    /// A mass or inertia that is not positive.
    #[error("body `{body}` on joint `{joint}`: {why}")]
    Mass {
        /// The body.
        body: String,
        /// A joint that holds it.
        joint: String,
        /// What is wrong.
        why: String,
    },
    /// Steps under error control that became too short.
    #[error(
        "at t = {time} s no step is short enough (tried {step:.1e} s): a singular position at \
            {joint}, or a tolerance below rounding"
    )]
    Stuck {
        /// When, s.
        time: f64,
        /// The joint whose row is nearest to dependent.
        joint: String,
        /// The last step tried, s.
        step: f64,
    },
    /// The motion left what numbers can hold.
    #[error("at t = {time} s the motion is not finite; worst joint `{joint}`")]
    NotFinite {
        /// When, s.
        time: f64,
        /// The joint that was violated most.
        joint: String,
    },
}
