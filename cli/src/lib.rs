//! The command line of Signorini: doors to the library, nothing else.

pub mod bench;
pub mod codegen;
pub mod demo;
pub mod fclib;
pub mod load;
pub mod progress;
pub mod run;
pub mod scenefile;
pub mod schema;
pub mod solve;
