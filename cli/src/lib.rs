//! The command line of Signorini: doors to the library, nothing else.

pub mod bench;
pub mod capsule;
pub mod check;
pub mod convert;
pub mod demo;
pub mod fclib;
pub mod load;
pub mod mesh;
pub mod progress;
pub mod replay;
pub mod run;
pub mod scenefile;
pub mod schema;
pub mod solve;
pub mod urdf;
