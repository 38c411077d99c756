//! A mechanism as source code: C99 or Rust, with a self-test against the engine.

use super::Simulation;
use super::procedures::{Procedure, procedures};
use crate::symbolic::export::{Language, Source, Unit};

/// A state and the accelerations that the engine finds there.
#[derive(Clone, Debug)]
pub struct Case {
    /// Positions.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Values of the drives.
    pub drives: Vec<f64>,
    /// Accelerations.
    pub accelerations: Vec<f64>,
}

/// Operations of one evaluation.
pub fn operations(list: &[Procedure], rows: usize) -> usize {
    let of = |name: &str| list.iter().find(|p| p.name == name).map_or(0, Procedure::flops);
    // M⁻¹ is applied twice, u is subtracted once.
    list.iter().map(Procedure::flops).sum::<usize>() + of("inverse_mass") + rows
}

/// The source code of a mechanism as it stands, with `cases` states along its motion in steps of h as self-test.
pub fn emit(simulation: &mut Simulation, name: &str, language: Language, (cases, h): (usize, f64)) -> Source {
    let kept = simulation.basis.kept.clone();
    let list = procedures(&mut simulation.equations, &kept);
    let mut tests = Vec::new();
    for _ in 0..cases.max(1) {
        let accelerations = simulation.accelerations();
        let drives = simulation.equations.drives.iter().map(|f| f.value(simulation.time)).collect();
        tests.push(Case { q: simulation.q.clone(), v: simulation.v.clone(), drives, accelerations });
        simulation.advance(h);
    }
    let redundant = simulation.redundant();
    let diagonal = list.iter().find(|p| p.name == "solve").map_or(0, |_| kept.len());
    // R keeps the lengths of A's columns: what a diagonal entry is small against.
    let floors = simulation.program.floors();
    let unit = Unit {
        name,
        sizes: [simulation.q.len(), simulation.v.len(), simulation.equations.drives.len(), kept.len()],
        diagonal,
        floors,
        operations: operations(&list, kept.len()),
        redundant: &redundant,
        procedures: &list.iter().map(Procedure::body).collect::<Vec<_>>(),
        cases: &tests.iter().map(|c| [c.q.clone(), c.v.clone(), c.drives.clone(), c.accelerations.clone()]).collect::<Vec<_>>(),
    };
    unit.write(language)
}
