//! The program that a person writes first. `./check --fresh` builds it in an empty folder with
//! `cargo add --path`; here it runs with the crate of the workspace.

use signorini::prelude::*;

mod program {
    #![allow(dead_code)]
    include!("first_program/program.rs");

    /// Runs it where its scene is.
    pub fn run() -> Result<(), SimulationError> {
        main()
    }
}

#[test]
fn the_first_program_fits_in_twenty_lines_and_does_what_it_says() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/first_program");
    let lines = include_str!("first_program/program.rs").lines().count();
    assert!(lines < 20, "{lines} lines");
    std::env::set_current_dir(place).unwrap();
    program::run().unwrap();
    // The crate lies on the floor.
    let mut sim = Simulation::load("crate.toml").unwrap();
    sim.run_until(1.0).unwrap();
    assert!((sim.body("crate").unwrap().position().z - 0.2).abs() < 1e-4);
}
