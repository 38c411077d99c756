//! Files that Signorini reads: scenes (TOML, JSON, URDF, MJCF), meshes, surfaces, problems and kept
//! steps.
//!
//! A complaint names the file, the place, what was found and what was wanted.
//!
//! ```
//! use signorini_files::scenefile::load_from;
//!
//! let text = r#"
//!     [[body]]
//!     name = "ball"
//!     shape = { sphere = "10 cm" }
//!     density = 1000
//!     position = [0, 0, 1]
//! "#;
//! let read = |text: &'static str| load_from("ball.toml", &move |_: &str| Ok(text.to_string()), &[]);
//! let loaded = read(text).unwrap_or_else(|faults| panic!("{faults}"));
//! assert!(loaded.scene.body_named("ball").is_some());
//! // A fault names the place and what was wanted.
//! let faults = read("gravitty = [0, 0, -9.81]").err().unwrap().to_string();
//! assert!(faults.contains("ball.toml") && faults.contains("gravity"));
//! ```

pub mod bounded;
pub mod builtin;
pub mod codegen;
#[cfg(feature = "fclib")]
pub mod fclib;
pub mod load;
pub mod mesh;
pub mod mjcf;
pub mod robot;
pub mod robot_file;
pub mod scenefile;
mod settings;
mod spelling;
pub mod step_snapshot;
pub mod surface;
pub mod urdf;
pub mod visual;

pub use settings::Overrides;
