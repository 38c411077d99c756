//! `signorini demo [NAME]`: the scenes that come with the program; no file is needed.

use crate::run::{self, Options};
use clap::Args;
use signorini_files::builtin::SCENES;
use std::process::ExitCode;

/// Which scene.
#[derive(Args)]
pub struct Arguments {
    /// The name of a scene; without it all scenes are listed and the arch is run.
    name: Option<String>,
    /// Only prints the names.
    #[arg(long)]
    list: bool,
    /// Writes no HTML report.
    #[arg(long)]
    no_report: bool,
    #[command(flatten)]
    options: Options,
}

/// The scene that runs if none is named.
const FIRST: &str = "arch";

/// Lists, or runs one.
pub fn run(arguments: &Arguments) -> ExitCode {
    if arguments.list {
        SCENES.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let name = match &arguments.name {
        Some(name) => name.as_str(),
        None => {
            list();
            FIRST
        }
    };
    let mut options = arguments.options.clone();
    if !arguments.no_report && options.report.is_none() {
        options.report = Some(".".into());
    }
    run::run(&run::Arguments { scene: Some(name.to_string()), options })
}

/// All scenes with what they show, on stderr: standard output is for results.
fn list() {
    let width = SCENES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in SCENES {
        let about = text
            .lines()
            .find_map(|line| line.strip_prefix("about = "))
            .unwrap_or("")
            .trim_matches('"');
        eprintln!("{name:width$}  {about}");
    }
    eprintln!("\nsignorini demo {FIRST}");
}
