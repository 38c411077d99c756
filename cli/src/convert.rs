//! `signorini convert robot.urdf scene.toml`: a robot file as an editable scene.

use crate::scenefile::fault::{Fault, Faults};
use crate::scenefile::node::{Source, Sources, Span};
use crate::urdf::{self, Choices};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to convert.
#[derive(Args)]
pub struct Arguments {
    /// The robot file (URDF).
    robot: PathBuf,
    /// The scene file to write (TOML).
    scene: PathBuf,
    /// Give every joint a motor that holds it, not only those that a transmission names.
    #[arg(long)]
    hold: bool,
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
    let text = match std::fs::read_to_string(&arguments.robot) {
        Ok(text) => text,
        Err(e) => return wrong(format!("error: cannot read {}: {e}", arguments.robot.display())),
    };
    if arguments.scene.exists() && !arguments.force {
        return wrong(format!("error: {} exists already: choose another name, or add --force", arguments.scene.display()));
    }
    match urdf::convert(&text, &arguments.robot, Choices { hold: arguments.hold }) {
        Ok(converted) => {
            converted.notes.iter().for_each(|note| eprintln!("note: {note}"));
            match std::fs::write(&arguments.scene, converted.text) {
                Ok(()) => ExitCode::SUCCESS,
                Err(e) => wrong(format!("error: cannot write {}: {e}", arguments.scene.display())),
            }
        }
        Err(faults) => {
            let source = Source { name: arguments.robot.display().to_string(), text };
            let list = faults.into_iter().map(|f| Fault { span: Span::new(0, f.range), message: f.message, wanted: f.wanted }).collect();
            wrong(Faults::new(Sources(vec![source]), list).to_string())
        }
    }
}
