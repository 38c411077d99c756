//! `signorini bench NAME`: one file per bench; each prints a table, or JSON with `--json`.
//! `signorini papers`: the same figures beside those of the five papers ([`papers`]).

use clap::{Args, Subcommand};
use std::process::ExitCode;

pub mod auto;
pub mod bending;
pub mod collide;
pub mod engines;
pub mod interior_point;
pub mod islands;
pub mod newton;
pub mod packing;
pub mod papers;
pub mod peers;
pub mod pivot;
pub mod pivot_corpus;
mod pivot_scenes;
pub mod psor;
pub mod scenes;
pub mod schemes;
pub mod spheres;
pub mod step;
pub mod sweeps;
pub mod symbolic;
pub mod time;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Many islands on one thread and on several.
    Islands(islands::Arguments),
    /// `auto` beside the best single method on steps of many scenes.
    Auto(auto::Arguments),
    /// Three-point bending of a soft beam: the largest stable steps of rigid and of penalty
    /// contacts.
    Bending(bending::Arguments),
    /// Contacts: refit of the tree, traversal, narrow phase.
    Collide(collide::Arguments),
    /// Active set: cost of a pivot, chains, dense twins, warm starts.
    Pivot(pivot::Arguments),
    /// The true Coulomb law: error, sweeps, factorizations and time, beside the published times.
    Newton(newton::Arguments),
    /// The same scenes in several engines: time per step, overlap, speed at rest, error.
    Scenes(scenes::Arguments),
    /// Sweeps: time per contact, memory speed, threads, convergence.
    Psor(psor::Arguments),
    /// A step: collide, assemble, solve, advance, on settled scenes.
    Step(step::Arguments),
    /// Interior point: the thesis's tables, warm starts, mass ratios, beside clarabel.
    InteriorPoint(interior_point::Arguments),
    /// Accelerations by symbolic preprocessing: operations, time, back ends, beside the published
    /// figures.
    Symbolic(symbolic::Arguments),
    /// The error of steps in time: estimates beside the truth; order 2, 4 and 6 at equal work.
    Time(time::Arguments),
}

/// Runs the chosen bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.what {
        What::Islands(arguments) => islands::run(arguments),
        What::Auto(arguments) => auto::run(arguments),
        What::Bending(arguments) => bending::run(arguments),
        What::Collide(arguments) => collide::run(arguments),
        What::Pivot(arguments) => pivot::run(arguments),
        What::Newton(arguments) => newton::run(arguments),
        What::Scenes(arguments) => scenes::run(arguments),
        What::Psor(arguments) => match &arguments.corpus {
            Some(folder) => sweeps::run(folder, arguments),
            None => {
                psor::run(arguments);
                ExitCode::SUCCESS
            }
        },
        What::Step(arguments) => step::run(arguments),
        What::InteriorPoint(arguments) => interior_point::run(arguments),
        What::Symbolic(arguments) => symbolic::run(arguments),
        What::Time(arguments) => time::run(arguments),
    }
}
