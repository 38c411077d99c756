//! Reads every contact of a settled stack: who touches whom, how hard, and whether it sticks.

use signorini::prelude::*;

fn main() -> Result<(), SimulationError> {
    let mut sim = Simulation::load("arch")?;
    sim.run_until(0.2)?;
    let name = |id: BodyId| sim.scene().bodies[id.index()].name.as_str();
    println!("{:22} {:>9} {:>9} {:>9}  status", "contact", "normal N", "across N", "slip m/s");
    for contact in sim.contacts().iter().filter(|c| c.status != ContactStatus::Open) {
        let normal = contact.force.dot(contact.normal);
        let across = (contact.force - normal * contact.normal).length();
        let pair = format!("{}/{}", name(contact.bodies.0), name(contact.bodies.1));
        println!(
            "{pair:22} {normal:9.3} {across:9.3} {:9.1e}  {:?}",
            contact.slip.length(),
            contact.status
        );
    }
    // What the ground carries is the weight of all.
    let weight: f64 =
        sim.scene().bodies.iter().filter_map(|b| b.mass()).map(|m| m.mass * 9.81).sum();
    let fixed = |id: BodyId| sim.scene().bodies[id.index()].mass().is_none();
    let carried: f64 = sim
        .contacts()
        .iter()
        .filter(|c| fixed(c.bodies.0) != fixed(c.bodies.1))
        .map(|c| c.force.z.abs())
        .sum();
    println!("weight {weight:.2} N, carried {carried:.2} N");
    assert!((weight - carried).abs() < 0.02 * weight);
    Ok(())
}
