//! `signorini schema`: the format of scene files as JSON Schema.

use std::process::ExitCode;

/// Prints the schema.
pub fn run() -> ExitCode {
    println!("{:#}", crate::scenefile::schema());
    ExitCode::SUCCESS
}
