//! `signorini demo [NAME]`: the scenes that come with the program; no file is needed.

use crate::run::{self, Options};
use crate::scenefile::{Loaded, fault::nearest, load, load_from};
use clap::Args;
use std::path::Path;
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

macro_rules! scenes {
    ($($name:literal),+ $(,)?) => {
        /// Name and text of every scene of `scenes/`.
        pub const SCENES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../scenes/", $name, ".toml")))),+];
    };
}

scenes![
    "a01_pendulum",
    "a02_four_bars",
    "a03_andrews",
    "a04_bricard",
    "a05_governor",
    "arch",
    "arch_thin",
    "ball",
    "balls",
    "balls_1190",
    "balls_1190_frictionless",
    "balls_280",
    "balls_280_frictionless",
    "balls_595",
    "balls_595_frictionless",
    "balls_64",
    "balls_64_frictionless",
    "bending",
    "bottles",
    "brick",
    "cantilever",
    "cascade",
    "cradle",
    "cradle_touching",
    "dominoes",
    "geneva",
    "gripper",
    "incline",
    "insulator_chain",
    "manipulator",
    "shaker",
    "slider_crank",
    "soft_block",
    "stack",
    "stack_1e12",
    "stack_1e6",
    "stack_ratio",
    "wall",
];

/// Files that scenes include, and that are no scenes themselves.
const INCLUDED: &[(&str, &str)] = &[("parts/arch", include_str!("../../scenes/parts/arch.toml"))];

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
    if !arguments.no_report && options.report.is_none() && crate::report::page().is_ok() {
        options.report = Some(".".into());
    }
    run::run(&run::Arguments { scene: Some(name.to_string()), options })
}

/// All scenes with what they show, on stderr: standard output is for results.
fn list() {
    let width = SCENES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in SCENES {
        let about = text.lines().find_map(|line| line.strip_prefix("about = ")).unwrap_or("").trim_matches('"');
        eprintln!("{name:width$}  {about}");
    }
    eprintln!("\nsignorini demo {FIRST}");
}

/// A scene by path or by the name of a built-in one; otherwise a message for the user.
pub fn find(name: &str, set: &[String]) -> Result<Loaded, String> {
    if Path::new(name).is_file() {
        let mut loaded = load(Path::new(name), set).map_err(|faults| faults.to_string())?;
        loaded.source = name.into();
        return Ok(loaded);
    }
    if SCENES.iter().any(|(known, _)| *known == name) {
        let mut loaded = built_in(name, set).map_err(|faults| faults.to_string())?;
        loaded.source = name.into();
        return Ok(loaded);
    }
    let known: Vec<&str> = SCENES.iter().map(|(name, _)| *name).collect();
    Err(match nearest(name, known.iter().copied()) {
        Some(best) => format!("error: there is no file and no scene `{name}`: did you mean `{best}`?"),
        None => format!("error: there is no file and no scene `{name}`; scenes: {}", known.join(", ")),
    })
}

/// A built-in scene.
pub fn built_in(name: &str, set: &[String]) -> Result<Loaded, crate::scenefile::Faults> {
    let library = |file: &str| {
        let stem = file.trim_end_matches(".toml");
        let found = SCENES.iter().chain(INCLUDED).find(|(name, _)| *name == stem);
        found.map(|(_, text)| text.to_string()).ok_or_else(|| "no such scene".to_string())
    };
    load_from(&format!("{name}.toml"), &library, set)
}
