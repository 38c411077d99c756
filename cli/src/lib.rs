//! The command line of Signorini: doors to the library, nothing else.

pub mod bench;
pub mod capsule;
pub mod check;
pub mod codegen;
pub mod convert;
pub mod demo;
pub mod fclib;
pub mod glb;
pub mod load;
pub mod mesh;
pub mod picture;
pub mod plot;
pub mod progress;
pub mod record;
pub mod replay;
pub mod report;
pub mod run;
pub mod scenefile;
pub mod schema;
pub mod solve;
pub mod surface;
pub mod urdf;
pub mod view;
pub mod vtu;
