//! Takes the contact problem of one step out of a simulation and solves it with every method.

use signorini::prelude::*;
use signorini::problem::{PreparedProblem, Solution};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sim = Simulation::load("brick")?;
    sim.run_until(0.3)?;
    let problem = sim.problem().clone();
    println!(
        "{}: {} unknowns, {} rows in {} blocks",
        problem.name,
        problem.n(),
        problem.rows(),
        problem.laws.len()
    );
    let mut prepared = PreparedProblem::of(&problem)?;
    for method in Method::ALL {
        let mut solution = Solution { v: vec![0.0; problem.n()], r: vec![0.0; problem.rows()] };
        match method.build(StoppingCriteria::default()).solve(&problem, &mut solution) {
            Ok(report) => {
                let error = prepared.error(&problem, &solution);
                println!(
                    "{:15} {:?} after {:4}: {:.1e} J",
                    method.name(),
                    report.status,
                    report.work,
                    error.joule
                );
            }
            Err(why) => println!("{:15} {why}", method.name()),
        }
    }
    Ok(())
}
