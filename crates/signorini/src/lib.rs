//! Signorini simulates machines whose parts touch, and says how wrong it is.
//!
//! One time step is one problem ([`problem::Problem`]):
//!
//! ```text
//!   H v = k + Jᵀ r          momentum            v: velocities,  r: reactions (impulses)
//!   u   = J v + E r + w     local velocities    u: what each constraint sees
//!   (u_k, r_k) ∈ Law_k      joint, contact, friction, limit, motor
//! ```
//!
//! Methods ([`solve`]) take a problem and return a solution with a report; the error in joules
//! ([`problem::error`]) measures every one of them in the same way.
//!
//! ```
//! use signorini::prelude::*;
//!
//! let mut sim = Simulation::load("slider_crank")?;
//! while sim.time() < 0.1 {
//!     let verdict = sim.step()?;
//!     assert!(verdict.accepted, "{:.1e} J at {:?}", verdict.error.joule, sim.culprit());
//! }
//! println!("{}", sim.body("slider")?.position());
//! # Ok::<(), SimulationError>(())
//! ```
//!
//! The modules, and what each may not know, stand in `ARCHITECTURE.md`; the symbols in
//! `NOTATION.md`.

pub mod prelude;
pub mod simulation;

pub use glam;
pub use signorini_mechanics::{analyse, assemble, geometry, mechanism, scene, step, symbolic};
pub use signorini_solve::{math, problem, solve, whole};
pub use simulation::{Simulation, SimulationError};

/// Scene files, meshes and problem files.
#[cfg(feature = "files")]
pub use signorini_files as files;
/// Records of runs, and what is drawn from them.
#[cfg(feature = "record")]
pub use signorini_record as record;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
