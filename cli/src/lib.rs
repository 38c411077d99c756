//! The command line of Signorini.

pub mod check;
pub mod codegen;
pub mod command;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod picture;
pub mod progress;
pub mod replay;
pub mod report;
pub mod robot_options;
pub mod run;
pub mod schema;
mod serve;
pub mod solve;
pub mod sweep;
pub mod view;

pub(crate) use signorini_files::{builtin, fclib, load, robot, scenefile, step_snapshot};
pub(crate) use signorini_record::{glb, plot, record};
