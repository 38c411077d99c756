//! `signorini codegen SCENE --emit c|rust`: the accelerations of a mechanism as source code for a real-time target.

use crate::demo;
use crate::run::acceleration;
use clap::{Args, ValueEnum};
use signorini::mechanism::{Simulation, emit};
use signorini::symbolic::export::{Language, Source};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to write, and where.
#[derive(Args)]
pub struct Arguments {
    /// A scene file, or the name of a built-in scene.
    scene: String,
    /// The language.
    #[arg(long, value_enum, default_value = "c")]
    emit: Emit,
    /// The folder for the files; the present one without this.
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// How many states along the motion the self-test compares.
    #[arg(long, default_value_t = 5)]
    cases: usize,
    /// Another value for a parameter of the scene: name=value.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// The languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// C99: a .c and a .h file.
    C,
    /// Rust without its standard library: one .rs file.
    Rust,
}

/// Writes the files.
pub fn run(arguments: &Arguments) -> ExitCode {
    match write(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn write(arguments: &Arguments) -> Result<(), String> {
    let source = source(&arguments.scene, &arguments.set, arguments.emit, arguments.cases)?;
    std::fs::create_dir_all(&arguments.out).map_err(|e| format!("error: cannot make {}: {e}", arguments.out.display()))?;
    for (name, text) in &source.files {
        let path = arguments.out.join(name);
        std::fs::write(&path, text).map_err(|e| format!("error: cannot write {}: {e}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

/// The source code of a scene.
pub fn source(scene: &str, set: &[String], emit: Emit, cases: usize) -> Result<Source, String> {
    let loaded = demo::find(scene, set)?;
    let mut simulation = Simulation::new(&loaded.scene, acceleration::settings(&loaded)).map_err(|e| format!("error: {e}"))?;
    let language = if emit == Emit::C { Language::C } else { Language::Rust };
    // States a tenth of the run apart: far from the first one.
    let apart = 0.1 * loaded.t_end;
    Ok(emit::emit(&mut simulation, &identifier(&loaded.scene.name), language, (cases, (loaded.dt, apart))))
}

/// A name that both languages accept.
fn identifier(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("mechanism_{plain}") }
}
