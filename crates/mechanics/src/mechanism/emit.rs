//! A mechanism as source code: C99 or Rust, with a self-test against the engine.

use super::procedures::{Procedure, procedures};
use super::{Equations, Simulation};
use crate::symbolic::export::{Language, Source, Unit};
use crate::symbolic::{Id, unrolled};

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

/// The source code of a mechanism as it stands, with `cases` states along its motion as self-test:
/// steps of `h`, a state every `apart` seconds.
pub fn emit(
    simulation: &mut Simulation,
    name: &str,
    language: Language,
    (cases, (h, apart)): (usize, (f64, f64)),
) -> Source {
    let kept = simulation.basis.kept.clone();
    let list = procedures(&mut simulation.equations, &kept);
    let redundant = simulation.redundant();
    // R keeps the lengths of A's columns: what a diagonal entry is small against.
    let floors = simulation.program.floors();
    let mut tests = Vec::new();
    for _ in 0..cases.max(1) {
        let accelerations = simulation.accelerations();
        let drives = simulation.equations.drives.iter().map(|f| f.value(simulation.time)).collect();
        tests.push(Case {
            q: simulation.q.clone(),
            v: simulation.v.clone(),
            drives,
            accelerations,
        });
        let end = simulation.time + apart;
        // A step that fails ends the list of cases: the states before it are good.
        while simulation.time < end {
            if simulation.step(h).is_err() {
                break;
            }
        }
        if simulation.basis.kept != kept {
            break;
        }
    }
    let diagonal = list.iter().find(|p| p.name == "solve").map_or(0, |_| kept.len());
    let unit = Unit {
        name,
        sizes: [
            simulation.q.len(),
            simulation.v.len(),
            simulation.equations.drives.len(),
            kept.len(),
        ],
        diagonal,
        floors: &floors,
        operations: operations(&list, kept.len()),
        redundant: &redundant,
        procedures: &list.iter().map(Procedure::body).collect::<Vec<_>>(),
        cases: &tests
            .iter()
            .map(|c| [c.q.clone(), c.v.clone(), c.drives.clone(), c.accelerations.clone()])
            .collect::<Vec<_>>(),
    };
    unit.write(language)
}

/// Accelerations as expressions of q, v and drives alone: R and its solves written out too.
pub fn unrolled(e: &mut Equations, kept: &[usize]) -> Vec<Id> {
    let (pattern, entries) = super::procedures::chosen(e, kept);
    let r = unrolled::reflections(&mut e.graph, &pattern, &entries);
    let forces = e.forces.clone();
    let free = e.inverse_mass(&forces);
    let right: Vec<Id> =
        kept.iter().map(|&row| super::program::right_side(e, row, &free)).collect();
    let lambda = r.solve(&mut e.graph, &right);
    let remaining = e.remaining(kept, &lambda);
    e.inverse_mass(&remaining)
}
