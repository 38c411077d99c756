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
    /// Measure a method: speed, iterations, accuracy, beside the published figures.
    Bench(signorini_cli::bench::Arguments),
}

fn main() -> std::process::ExitCode {
    match Arguments::parse().command {
        Command::Bench(arguments) => signorini_cli::bench::run(&arguments),
    }
}
