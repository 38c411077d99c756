//! Every message of the loaders, as written down in `messages/`; `BLESS=1` writes them anew.

mod common;

use signorini_files::robot::Choices;
use std::fs;
use std::path::Path;

/// Compares every message of a file of cases with what is said now; with `BLESS=1` writes them
/// anew.
fn messages(file: &str, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages").join(file);
    let known = fs::read_to_string(&path).unwrap();
    let mut now = String::new();
    for case in known.split("#### ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let input = rest.split_once("\n----\n").unwrap().0;
        // Robot files are repaired unless asked not to.
        let choices = Choices { strict: true, ..Choices::default() };
        let found = match common::load(name, input, &choices) {
            Ok(_) => panic!("no fault found in `{title}`"),
            Err(faults) => faults,
        };
        // Where the mesh was looked for depends on where the tests run.
        let here = std::env::current_dir().unwrap().display().to_string();
        now += &format!("#### {title}\n{input}\n----\n{}\n\n", found.replace(&here, "HERE"));
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap();
    for (known, now) in known.split("#### ").zip(now.split("#### ")) {
        assert_eq!(known, now);
    }
    assert_eq!(known.len(), now.len());
}

#[test]
fn every_message_of_the_scene_loader_is_as_written_down() {
    messages("scenes.txt", "test.toml");
}

#[test]
fn every_message_of_the_robot_loader_is_as_written_down() {
    messages("robots.txt", "test.urdf");
}
