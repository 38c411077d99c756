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
    /// Run a scene that comes with the program; without a name, list them and run one.
    Demo(signorini_cli::demo::Arguments),
    /// Simulate a scene file; say how wrong every step was; check the facts it states.
    Run(signorini_cli::run::Arguments),
    /// Show a recorded run in the browser, growing while the run goes on; on 127.0.0.1 alone.
    View(signorini_cli::view::Arguments),
    /// Draw a picture, an animation or a plot of a recorded run; needs no display.
    Picture(signorini_cli::picture::Arguments),
    /// Write a recorded run as animated glTF (.glb) or as a report (.html).
    Export(signorini_cli::view::Export),
    /// Look a scene over before its first step: degrees of freedom, redundant joints, overlaps, units; what to do about each.
    Check(signorini_cli::check::Arguments),
    /// Write a robot file (URDF, MJCF) as an editable scene.
    Convert(signorini_cli::convert::Arguments),
    /// Solve one kept step again with every solver.
    Replay(signorini_cli::replay::Arguments),
    /// Print the format of scene files as JSON Schema.
    Schema,
    /// Solve problems from files and say in joules how wrong the answers are.
    Solve(signorini_cli::solve::Arguments),
    /// Write the accelerations of a mechanism as C99 or Rust for a real-time target.
    Codegen(signorini_cli::codegen::Arguments),
    /// Measure a method: speed, iterations, accuracy, beside the published figures.
    #[cfg(feature = "bench")]
    Bench(signorini_bench::Arguments),
}

fn main() -> std::process::ExitCode {
    leave_quietly();
    match Arguments::parse().command {
        Command::Demo(arguments) => signorini_cli::demo::run(&arguments),
        Command::Run(arguments) => signorini_cli::run::run(&arguments),
        Command::View(arguments) => signorini_cli::view::run(&arguments),
        Command::Picture(arguments) => signorini_cli::picture::run(&arguments),
        Command::Export(arguments) => signorini_cli::view::export(&arguments),
        Command::Check(arguments) => signorini_cli::check::run(&arguments),
        Command::Convert(arguments) => signorini_cli::convert::run(&arguments),
        Command::Replay(arguments) => signorini_cli::replay::run(&arguments),
        Command::Schema => signorini_cli::schema::run(),
        Command::Solve(arguments) => signorini_cli::solve::run(&arguments),
        Command::Codegen(arguments) => signorini_cli::codegen::run(&arguments),
        #[cfg(feature = "bench")]
        Command::Bench(arguments) => signorini_bench::run(&arguments),
    }
}

/// Who reads our output may stop reading (`signorini … | head`): that ends the program without a word, as it does with other tools.
fn leave_quietly() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload().downcast_ref::<String>().map_or("", String::as_str);
        if message.starts_with("failed printing to stdout") {
            std::process::exit(141);
        }
        usual(info);
    }));
}
