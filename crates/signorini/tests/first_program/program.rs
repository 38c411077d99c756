use signorini::prelude::*;

fn main() -> Result<(), SimulationError> {
    let mut sim = Simulation::load("crate.toml")?;
    while sim.time() < 1.0 {
        let torque = -40.0 * sim.joint("knee")?.angle() - 2.0 * sim.joint("knee")?.rate();
        sim.motor_mut("knee")?.set_torque(torque);
        let verdict = sim.step()?;
        if !verdict.accepted {
            println!("{:.1e} J wrong at {:?}", verdict.error.joule, sim.culprit());
        }
    }
    println!("{}", sim.body("crate")?.position());
    Ok(())
}
