//! The command line as a whole: its subcommands, and which function runs each.

use crate::{
    check, codegen, compare, completions, convert, demo, picture, replay, run, schema, solve,
    sweep, view,
};
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "signorini", version, about, long_about = None, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scene that comes with the program; without a name, list them and run one.
    Demo(demo::Arguments),
    /// Simulate a scene file; say how wrong every step was; check the facts it states.
    Run(run::Arguments),
    /// Run a scene with many values of its parameters; what is done is kept, and `--task K` runs
    /// one of them for an array of jobs.
    Sweep(sweep::Arguments),
    /// Show a recorded run in the browser, growing while the run goes on; on 127.0.0.1 alone.
    View(view::Arguments),
    /// Draw a picture, an animation or a plot of a recorded run; needs no display.
    Picture(picture::Arguments),
    /// Compare two recorded runs: how far apart every quantity is, and plots of both in one page.
    Compare(compare::Arguments),
    /// Write a recorded run as animated glTF (.glb) or as a report (.html).
    Export(view::Export),
    /// Look a scene over before its first step: degrees of freedom, redundant joints, overlaps,
    /// units; what to do about each.
    Check(check::Arguments),
    /// Write a robot file (URDF, MJCF) as an editable scene.
    Convert(convert::Arguments),
    /// Solve one kept step again with every solver.
    Replay(replay::Arguments),
    /// Print the format of scene files as JSON Schema.
    Schema,
    /// Solve problems from files and say in joules how wrong the answers are.
    Solve(solve::Arguments),
    /// Run scenes with known answers: value, reference, error, what is allowed and why.
    Validate(signorini_validate::Arguments),
    /// Write the accelerations of a mechanism as C99 or Rust for a real-time target.
    Codegen(codegen::Arguments),
    /// Print what a shell needs to complete the command line: bash, zsh, fish, elvish, powershell.
    Completions(completions::Completions),
    /// Print the manual page, or write one for each subcommand.
    Man(completions::Man),
    /// Measure a method: speed, iterations, accuracy, beside the published figures.
    #[cfg(feature = "bench")]
    Bench(signorini_bench::Arguments),
    /// Print the tables of the five papers behind the methods, each number beside ours.
    #[cfg(feature = "bench")]
    Papers(signorini_bench::papers::Arguments),
}

/// What messages of the system end with when nobody reads a pipe any more.
const READER_GONE: &[&str] =
    if cfg!(windows) { &["(os error 109)", "(os error 232)"] } else { &["(os error 32)"] };
/// The exit code then: what a shell reports of other tools (128 and SIGPIPE).
const PIPE_CLOSED: i32 = 141;
/// The exit code when standard output cannot be written.
const CANNOT_WRITE: i32 = 2;

/// Runs the program with these arguments, the first of which is its name; wrong use and `--help`
/// end the process.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    leave_quietly();
    match Arguments::parse_from(arguments).command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::View(arguments) => view::run(&arguments),
        Command::Picture(arguments) => picture::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Export(arguments) => view::export(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Schema => schema::run(),
        Command::Solve(arguments) => solve::run(&arguments),
        Command::Validate(arguments) => signorini_validate::run(&arguments),
        Command::Codegen(arguments) => codegen::run(&arguments),
        Command::Completions(arguments) => {
            completions::completions(&arguments, Arguments::command())
        }
        Command::Man(arguments) => completions::man(&arguments, Arguments::command()),
        #[cfg(feature = "bench")]
        Command::Bench(arguments) => signorini_bench::run(&arguments),
        #[cfg(feature = "bench")]
        Command::Papers(arguments) => signorini_bench::papers::run(&arguments),
    }
}

/// Who reads our output may stop reading (`signorini … | head`): that ends the program without a
/// word, as it does with other tools. A disk that is full is told in one line.
fn leave_quietly() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload().downcast_ref::<String>().map_or("", String::as_str);
        let Some((stream, why)) =
            message.strip_prefix("failed printing to ").and_then(|failed| failed.split_once(": "))
        else {
            return usual(info);
        };
        if READER_GONE.iter().any(|end| why.ends_with(end)) {
            std::process::exit(PIPE_CLOSED);
        }
        // Not `eprintln`: standard error may be the stream that failed.
        let _ = writeln!(std::io::stderr(), "error: cannot write to {stream}: {why}");
        std::process::exit(CANNOT_WRITE);
    }));
}
