//! `signorini bench NAME`: one file per bench; each prints a table, or JSON with `--json`.

use clap::{Args, Subcommand};
use std::process::ExitCode;

pub mod packing;
pub mod psor;
pub mod sweeps;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Sweeps: time per contact, memory speed, threads, convergence.
    Psor(psor::Arguments),
}

/// Runs the chosen bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.what {
        What::Psor(arguments) => psor::run(arguments),
    }
}
