//! `signorini codegen SCENE --emit c|rust`: the accelerations of a mechanism as source code for a
//! real-time target.

use crate::builtin;
use clap::{Args, ValueEnum};
use signorini::symbolic::export::Language;
use signorini::whole::write_whole;
use signorini_files::codegen::source;
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
    let loaded = builtin::find(&arguments.scene, &arguments.set)?;
    let language = if arguments.emit == Emit::C { Language::C } else { Language::Rust };
    let source = source(&loaded, language, arguments.cases)?;
    std::fs::create_dir_all(&arguments.out)
        .map_err(|e| format!("error: cannot make {}: {e}", arguments.out.display()))?;
    for (name, text) in &source.files {
        let path = arguments.out.join(name);
        write_whole(&path, text.as_bytes())
            .map_err(|e| format!("error: cannot write {}: {e}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
