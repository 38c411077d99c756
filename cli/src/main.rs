//! `signorini`: simulate machines whose parts touch, and know how wrong it is.

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Solve problems from files and say in joules how wrong the answers are.
    Solve(signorini_cli::solve::Arguments),
    /// Measure a method: speed, iterations, accuracy, beside the published figures.
    Bench(signorini_cli::bench::Arguments),
}

fn main() -> std::process::ExitCode {
    match Arguments::parse().command {
        Command::Solve(arguments) => signorini_cli::solve::run(&arguments),
        Command::Bench(arguments) => signorini_cli::bench::run(&arguments),
    }
}
