//! What a step says of itself.

use super::accuracy::SchemeError;
use super::ledger::Ledger;
use crate::assemble::Source;
use crate::problem::{Criterion, Residual, Tolerance};
use crate::scene::{BodyId, Scene};
use crate::solve::{Method, Status};
use serde_json::{Value as Json, json};

/// The method that a step used; none if the reactions of the last step were good enough as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used(pub Option<Method>);

impl Used {
    /// The name of the method, or `warm-start`.
    pub fn name(&self) -> &'static str {
        self.0.map_or("warm-start", Method::name)
    }
}

/// Two bodies that overlap by more than geometry can answer for.
///
/// Contacts push along the shortest way out. Of what is sunk by more than [`Overlap::SHARE`] of the
/// thinner of the two that way may be the wrong one: the problem of the step is not to be trusted,
/// however well it was solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The two bodies.
    pub bodies: (BodyId, BodyId),
    /// How deep, m.
    pub depth: f64,
    /// How thin the thinner of the two is, m.
    pub thickness: f64,
}

impl Overlap {
    /// Overlaps beyond this part of the thickness of the thinner body are not accepted.
    pub const SHARE: f64 = 0.1;

    /// The overlap in words.
    pub fn reason(&self, scene: &Scene) -> String {
        let name = |id: BodyId| scene.bodies[id.index()].name.as_str();
        format!(
            "{} and {} overlap by {:.3e} m, more than {:.0} % of the {:.3e} m that the thinner one measures",
            name(self.bodies.0),
            name(self.bodies.1),
            self.depth,
            100.0 * Overlap::SHARE,
            self.thickness
        )
    }
}

/// The verdict on one step.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// Time at the end of the step, s.
    pub time: f64,
    /// True if the error is within the tolerance, and no bodies overlap too much.
    pub accepted: bool,
    /// Why the solver stopped.
    pub status: Status,
    /// The error in joules, its energy scale, the estimated energy of the velocity error, and the largest wrong velocity; of substeps the worst.
    pub error: Residual,
    /// What was allowed.
    pub tolerance: Tolerance,
    /// The constraint with the largest error in joules.
    pub worst: Option<Source>,
    /// The constraint with the largest wrong velocity.
    pub fastest: Option<Source>,
    /// The method that had the last word on the largest island.
    pub solver: Used,
    /// The solver's work, in its own unit.
    pub work: u64,
    /// False if a deadline cut the work short.
    pub reproducible: bool,
    /// Deepest overlap of two bodies at the beginning of the step, m.
    pub penetration: f64,
    /// The worst overlap at the beginning of the step, if it is too deep to be accepted.
    pub overlap: Option<Overlap>,
    /// Contacts, open ones included.
    pub contacts: usize,
    /// Rows of the problem.
    pub rows: usize,
    /// In how many parts the step was taken.
    pub substeps: u32,
    /// Problems solved: with doubling and accuracy more than one for each part.
    pub solves: u32,
    /// Leapfrog: true if bodies met within the step.
    pub impact: bool,
    /// How far the step is from the motion; none if the scheme cannot tell.
    pub scheme: Option<SchemeError>,
    /// Where the energy went.
    pub energy: Ledger,
}

impl Verdict {
    /// The worst constraint by name.
    pub fn worst_name(&self, scene: &Scene) -> String {
        self.worst.map_or_else(|| "nothing".into(), |source| source.name(scene))
    }

    /// Why the step is not accepted: which criterion failed, by how much, where, and what to change. Empty if it is accepted.
    pub fn reasons(&self, scene: &Scene) -> Vec<String> {
        if self.accepted {
            return Vec::new();
        }
        let mut reasons = Vec::new();
        if self.status == Status::Infeasible {
            reasons.push(format!("the constraints contradict each other, at {} among others", self.worst_name(scene)));
        }
        reasons.extend(self.overlap.map(|overlap| overlap.reason(scene)));
        for unmet in self.error.unmet(&self.tolerance) {
            let (found, allowed) = (unmet.found, unmet.allowed);
            reasons.push(match unmet.criterion {
                Criterion::Energy => format!(
                    "the error is {found:.1e} of the energy scale, {allowed:.0e} allowed, most of it at {}: give the solver \
                     more `iterations`, or raise `tolerance`",
                    self.worst_name(scene)
                ),
                Criterion::Velocity => format!(
                    "{} is wrong by {found:.1e} m/s, {allowed:.0e} allowed: give the solver more `iterations`, or raise \
                     `velocity_tolerance`",
                    self.fastest.map_or_else(|| "a constraint".into(), |source| source.name(scene))
                ),
                Criterion::Momentum => format!(
                    "momentum is balanced to {found:.1e} m/s, {allowed:.0e} allowed: masses or stiffnesses differ too much \
                     for this solver, try another"
                ),
                Criterion::Estimate => format!(
                    "the motion may be wrong by {found:.1e} of the energy scale, {allowed:.0e} allowed; this is an estimate \
                     and often too large: give the solver more `iterations`, or raise `bound_tolerance`"
                ),
            });
        }
        reasons
    }

    /// This verdict for machines.
    pub fn to_json(&self, scene: &Scene) -> Json {
        json!({
            "time": self.time, "accepted": self.accepted, "status": self.status, "joule": self.error.joule,
            "relative": self.error.relative(), "estimate": self.error.estimate, "velocity": self.error.velocity,
            "worst": self.worst_name(scene), "solver": self.solver.name(), "work": self.work, "penetration": self.penetration,
            "overlap": self.overlap.map(|overlap| overlap.reason(scene)),
            "contacts": self.contacts, "rows": self.rows, "substeps": self.substeps, "solves": self.solves,
            "impact": self.impact, "scheme": self.scheme, "energy": self.energy, "reasons": self.reasons(scene),
        })
    }

    /// The verdict on this part of a step and the next one.
    pub fn then(&self, next: &Verdict) -> Verdict {
        let worse = if next.error.relative() > self.error.relative() { next } else { self };
        Verdict {
            time: next.time,
            accepted: self.accepted && next.accepted,
            work: self.work + next.work,
            reproducible: self.reproducible && next.reproducible,
            penetration: self.penetration.max(next.penetration),
            overlap: self.overlap.or(next.overlap),
            contacts: self.contacts.max(next.contacts),
            rows: self.rows.max(next.rows),
            substeps: self.substeps + next.substeps,
            solves: self.solves + next.solves,
            impact: self.impact || next.impact,
            scheme: self.scheme.zip(next.scheme).map(|(a, b)| a.then(&b)),
            energy: self.energy.then(&next.energy),
            ..*worse
        }
    }
}
