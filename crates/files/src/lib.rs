//! Files that Signorini reads: scenes (TOML, JSON, URDF, MJCF), meshes, surfaces, problems and kept steps.
//!
//! A complaint names the file, the place, what was found and what was wanted.

pub mod bounded;
pub mod builtin;
pub mod capsule;
pub mod codegen;
#[cfg(feature = "fclib")]
pub mod fclib;
pub mod load;
pub mod mesh;
pub mod mjcf;
pub mod robot;
pub mod scenefile;
mod settings;
pub mod surface;
pub mod urdf;

pub use settings::Overrides;
