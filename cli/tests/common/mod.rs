//! What many tests of the program need: running it, folders of their own, what it said, its files.
#![allow(dead_code)]

use serde_json::Value as Json;
use signorini_files::robot::Choices;
use signorini_files::scenefile::{self, Loaded};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A robot with classes of defaults, all kinds of joints and geoms, actuators, equalities and a
/// keyframe (MJCF).
pub const MACHINE: &str = include_str!("machine.xml");

/// A hammer, a motor and dry things that collide: contacts come and go, joints hold, a motor works.
pub const BUSY: &str = include_str!("busy.toml");

/// Every element once: a soft body, springs, gears, motors, a servo, events, templates, a joint
/// that breaks.
pub const ELEMENTS: &str = include_str!("elements.toml");

/// A folder of its own for each test, emptied.
pub fn folder(name: &str) -> PathBuf {
    let unique = format!("{}-{name}", env!("CARGO_CRATE_NAME"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Writes a file into a folder.
pub fn write_file(folder: &Path, name: &str, words: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, words).unwrap();
    path
}

/// The program with these arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signorini"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the program.
pub fn signorini(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

/// What it printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it complained of.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What it printed, and what it complained of.
pub fn said(output: &Output) -> String {
    stdout(output) + &stderr(output)
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are plain")
}

/// A JSON file.
pub fn json(path: &Path) -> Json {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The summary of a run, but for the seconds that it took.
pub fn summary(folder: &Path) -> Json {
    let mut run = json(&folder.join("run.json"));
    ["wall_s", "steps_per_s", "seconds"].iter().for_each(|key| run[*key] = Json::Null);
    run
}

/// A scene or robot from a text; no other file is there.
pub fn load(name: &str, text: &str, choices: &Choices) -> Result<Loaded, String> {
    let library = |asked: &str| {
        if asked == name { Ok(text.to_string()) } else { Err("no such file".to_string()) }
    };
    scenefile::load_with(name, &library, &[], choices).map_err(|f| f.to_string())
}

/// Wrong input: exit code 2, no panic, and these words.
pub fn refused(arguments: &[&str], words: &[&str]) -> String {
    let begun = Instant::now();
    let output = signorini(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    words.iter().for_each(|w| assert!(said.contains(w), "`{w}` in: {said}"));
    // No refusal takes long; shared machines may be ten times slower than others.
    assert!(begun.elapsed() < Duration::from_secs(60), "{arguments:?} took {:?}", begun.elapsed());
    said
}
