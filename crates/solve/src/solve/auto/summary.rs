//! Reports of methods and islands, summed up to one report of the whole problem.

use crate::problem::islands::Island;
use crate::problem::{Problem, Residual};
use crate::solve::{Report, Status, add_phase, add_stage};

/// Adds the work of one method to that of an island.
pub(super) fn add_work(total: &mut Report, part: &Report) {
    total.iterations += part.iterations;
    total.work += part.work;
    total.reproducible &= part.reproducible;
    total.counts = total.counts.plus(&part.counts);
    part.phases.iter().for_each(|(name, counts)| add_phase(&mut total.phases, name, *counts));
    part.stages.iter().for_each(|stage| add_stage(&mut total.stages, *stage));
    total.history.extend_from_slice(&part.history);
    total.path.extend_from_slice(&part.path);
    total.conflict.clone_from(&part.conflict);
    total.dependent = total.dependent.max(part.dependent);
    total.notes.extend_from_slice(&part.notes);
}

/// The report of an island in the numbers of the whole problem.
pub(super) fn renumbered(mut report: Report, island: Island<'_>, problem: &Problem) -> Report {
    let block = |k: usize| island.blocks.get(k).map_or(0, |&b| b as usize);
    let e = &mut report.error;
    if !island.blocks.is_empty() {
        // The row keeps its place within its block.
        let mut local = 0;
        for &k in &island.blocks[..e.worst_block.min(island.blocks.len() - 1)] {
            local += problem.J.block(k as usize).rows;
        }
        let within = e.worst_row.saturating_sub(local);
        e.worst_block = block(e.worst_block);
        e.worst_row = problem.J.row_starts[e.worst_block] + within;
        e.max_velocity_error_block = block(e.max_velocity_error_block);
    }
    report.conflict.iter_mut().for_each(|k| *k = block(*k));
    report
}

/// Two islands as one.
pub(super) fn joined(a: Report, b: Report) -> Report {
    let mut sum = a;
    let dependent = sum.dependent + b.dependent;
    add_work(&mut sum, &b);
    sum.dependent = dependent;
    sum.certificate = sum.certificate.zip(b.certificate).map(|(a, b)| a.plus(&b));
    if sum.status == Status::Converged {
        sum.status = b.status;
    }
    let (x, y) = (sum.error, b.error);
    // The worst block is known by its share: an island's sum stands for its worst block.
    let worst = if y.joule > x.joule { y } else { x };
    let fastest = if y.velocity > x.velocity {
        y.max_velocity_error_block
    } else {
        x.max_velocity_error_block
    };
    sum.error = Residual {
        joule: x.joule + y.joule,
        scale: x.scale + y.scale,
        estimate: x.estimate + y.estimate,
        velocity: x.velocity.max(y.velocity),
        momentum: x.momentum + y.momentum,
        momentum_velocity: x.momentum_velocity.max(y.momentum_velocity),
        worst_block: worst.worst_block,
        worst_row: worst.worst_row,
        max_velocity_error_block: fastest,
        lightest: x.lightest.min(y.lightest),
        reaction_energy: x.reaction_energy + y.reaction_energy,
        speed: x.speed.max(y.speed),
    };
    sum
}
