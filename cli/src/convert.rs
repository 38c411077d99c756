//! `signorini convert robot.urdf scene.toml`: a robot file as an editable scene.

use crate::robot;
use crate::robot_options::RobotOptions;
use crate::scenefile::fault::{Fault, Faults};
use crate::scenefile::node::{Source, Sources, Span};
use crate::scenefile::read_text;
use clap::Args;
use signorini::whole::write_whole;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to convert.
#[derive(Args)]
pub struct Arguments {
    /// The robot file (URDF or MJCF).
    robot: PathBuf,
    /// The scene file to write (TOML).
    scene: PathBuf,
    #[command(flatten)]
    options: RobotOptions,
    /// Write over a file that exists.
    #[arg(long)]
    force: bool,
}

/// Converts.
pub fn run(arguments: &Arguments) -> ExitCode {
    let wrong = |message: String| {
        eprintln!("{message}");
        ExitCode::from(2)
    };
    let name = arguments.robot.to_string_lossy();
    let text = match read_text(&name) {
        Ok(text) => text,
        Err(e) => return wrong(format!("error: cannot read {name}: {e}")),
    };
    if arguments.scene.exists() && !arguments.force {
        return wrong(format!(
            "error: {} exists already: choose another name, or add --force",
            arguments.scene.display()
        ));
    }
    match signorini_files::robot_file::convert(
        &name,
        text,
        &read_text,
        &arguments.options.choices().unwrap_or_default(),
    ) {
        Ok(converted) => {
            converted.notes.iter().for_each(|note| eprintln!("note: {note}"));
            match write_whole(&arguments.scene, converted.text.as_bytes()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(e) => wrong(format!("error: cannot write {}: {e}", arguments.scene.display())),
            }
        }
        Err(failed) => {
            let sources =
                failed.sources.into_iter().map(|(name, text)| Source { name, text }).collect();
            let fault = |f: robot::Fault| Fault {
                span: Span::new(f.file, f.range),
                message: f.message,
                wanted: f.wanted,
            };
            wrong(
                Faults::new(Sources(sources), failed.faults.into_iter().map(fault).collect())
                    .to_string(),
            )
        }
    }
}
