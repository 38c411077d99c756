//! The command line of Signorini: doors to the library, nothing else.

pub mod bench;
pub mod fclib;
pub mod load;
pub mod progress;
pub mod scenefile;
pub mod solve;
