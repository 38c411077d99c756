//! The bits of a few runs: the same again, from a saved state, and on any number of threads. To
//! compare two versions of the code, `SIGNORINI_HASHES=FILE cargo test -p signorini --test hash`
//! writes FILE if it is not there and compares with it if it is.

use signorini::prelude::*;

/// Scenes with contacts, impacts, joints, motors and soft bodies, each with a time that takes a
/// fraction of a second.
const RUNS: [(&str, f64); 5] = [
    ("slider_crank", 0.05),
    ("incline", 0.1),
    ("stack", 0.05),
    ("arch", 0.02),
    ("a02_four_bars", 0.05),
];

fn threads(count: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap()
}

fn run(scene: &str, until: f64) -> u64 {
    let mut sim = Simulation::load(scene).unwrap_or_else(|e| panic!("{scene}: {e}"));
    sim.run_until(until).unwrap();
    sim.raw_state().hash()
}

#[test]
fn runs_have_the_same_bits_again_and_on_any_number_of_threads() {
    for (scene, until) in RUNS {
        let first = threads(1).install(|| run(scene, until));
        assert_eq!(first, threads(1).install(|| run(scene, until)), "{scene}: another run");
        assert_eq!(first, threads(3).install(|| run(scene, until)), "{scene}: three threads");
    }
}

#[test]
fn a_saved_state_goes_on_to_the_same_bits() {
    for (scene, until) in RUNS {
        let mut sim = Simulation::load(scene).unwrap();
        sim.run_until(0.5 * until).unwrap();
        let saved = sim.save();
        let mut again = Simulation::load(scene).unwrap();
        again.restore(&saved).unwrap();
        for sim in [&mut sim, &mut again] {
            sim.run_until(until).unwrap();
        }
        assert_eq!(sim.raw_state().hash(), again.raw_state().hash(), "{scene}");
    }
}

/// A hash that ignores what it should see would let everything pass.
#[test]
fn one_bit_changes_the_hash() {
    let sim = Simulation::load("incline").unwrap();
    let mut state = sim.raw_state().clone();
    let before = state.hash();
    state.q[0] = f64::from_bits(state.q[0].to_bits() ^ 1);
    assert_ne!(before, state.hash());
}

#[test]
fn hashes_are_those_of_the_file_that_is_named() {
    let Some(file) = std::env::var_os("SIGNORINI_HASHES") else { return };
    let lines: Vec<String> = RUNS
        .iter()
        .map(|(scene, until)| format!("{scene} {until} {:016x}", run(scene, *until)))
        .collect();
    match std::fs::read_to_string(&file) {
        Ok(before) => {
            assert_eq!(before.lines().collect::<Vec<_>>(), lines, "left: the hashes of the file")
        }
        Err(_) => std::fs::write(&file, lines.join("\n") + "\n").unwrap(),
    }
}
