//! The command line of Signorini: doors to the library, nothing else.

pub mod bench;
pub mod codegen;
pub mod demo;
pub mod fclib;
pub mod glb;
pub mod load;
pub mod mesh;
pub mod picture;
pub mod plot;
pub mod progress;
pub mod record;
pub mod report;
pub mod run;
pub mod scenefile;
pub mod schema;
pub mod solve;
pub mod view;
pub mod vtu;
