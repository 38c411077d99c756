//! Recorded runs, and everything that is made of them: reports, pictures, plots, glTF and VTK files.

mod base64;
pub mod glb;
pub mod picture;
pub mod plot;
pub mod record;
pub mod report;
pub mod run;
pub mod vtu;
