//! `signorini bench NAME`: one file per bench; each prints a table, or JSON with `--json`.

use clap::{Args, Subcommand};
use std::process::ExitCode;

pub mod collide;
pub mod psor;
pub mod step;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Contacts: refit of the tree, traversal, narrow phase.
    Collide(collide::Arguments),
    /// Sweeps: time per contact, memory speed, threads, convergence.
    Psor(psor::Arguments),
    /// A step: collide, assemble, solve, advance, on settled scenes.
    Step(step::Arguments),
}

/// Runs the chosen bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.what {
        What::Collide(arguments) => collide::run(arguments),
        What::Psor(arguments) => psor::run(arguments),
        What::Step(arguments) => step::run(arguments),
    }
}
