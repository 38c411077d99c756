//! Saves a running simulation, goes on, goes back, and comes to the same bits.

use signorini::prelude::*;

fn main() -> Result<(), SimulationError> {
    let mut sim = Simulation::load("incline")?;
    sim.run_until(0.2)?;
    let saved = sim.save();
    println!("saved at t = {:.3} s: {} bytes", sim.time(), saved.len());
    sim.run_until(0.4)?;
    let first = sim.raw_state().hash();

    // Another program, another day.
    let mut again = Simulation::load("incline")?;
    again.restore(&saved)?;
    again.run_until(0.4)?;
    println!("hash {first:016x} and {:016x}", again.raw_state().hash());
    assert_eq!(first, again.raw_state().hash());
    Ok(())
}
