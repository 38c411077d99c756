//! Recorded runs, and everything that is made of them: reports, pictures, plots, glTF and VTK
//! files.
//!
//! ```
//! use signorini_mechanics::scene::{Body, Mass, Scene, State};
//! use signorini_mechanics::step::{Settings, Stepper};
//! use signorini_record::record::Record;
//! use signorini_record::run::{Recording, RunRecord};
//!
//! let mut scene = Scene::new("fall");
//! scene.add_body(Body::rigid("ball", Mass::sphere(1.0, 0.1)));
//! let (mut state, mut stepper) = (State::initial(&scene), Stepper::new(&scene, Settings::with_time_step(1e-2))?);
//! let folder = std::env::temp_dir().join("signorini-record-doctest");
//! let recording = Recording { about: Default::default(), steps: 10, every: 1, reactions: false };
//! let mut run = RunRecord::create(Some(&folder), &recording, (&scene, &stepper, &state))?;
//! for _ in 0..10 {
//!     let verdict = stepper.step(&scene, &mut state)?;
//!     run.step((&scene, &stepper, &state), &verdict, 0.0)?;
//! }
//! run.finish((&scene, &stepper, &state), &recording.about, 0.0)?;
//! assert_eq!(Record::open(&folder)?.times().len(), 11);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base64;
pub mod figure;
pub mod glb;
pub mod picture;
pub mod plot;
pub mod record;
pub mod report;
pub mod run;
pub mod vtu;
