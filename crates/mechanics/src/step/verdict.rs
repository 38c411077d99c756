//! What a step says of itself.

use super::accuracy::SchemeError;
use super::choice::Ambiguity;
use super::ledger::Ledger;
use super::sanity::Unresolved;
use crate::assemble::Source;
use crate::problem::{Criterion, Residual, Tolerance};
use crate::scene::{BodyId, Scene};
use crate::solve::certificate::Ends;
use crate::solve::{Counts, Method, Status};
use serde_json::{Value as Json, json};

/// The method that a step used; none if the reactions of the last step were good enough as they
/// were.
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
/// Contacts push along the shortest way out. Of what is sunk by more than
/// [`Overlap::MAX_THICKNESS_SHARE`] of the thinner of the two that way may be the wrong one. What
/// is sunk by more than [`Overlap::SLOW_SHARE`] of it, and deeper than [`Overlap::MOTION_SHARE`] of
/// what both move in the step, did not get there by a coarse step: it began so, or its contact was
/// missed. In both cases the problem of the step is not to be trusted, however well it was solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The two bodies.
    pub bodies: (BodyId, BodyId),
    /// How deep, m.
    pub depth: f64,
    /// How thin the thinner of the two is, m.
    pub thickness: f64,
    /// How far both may move in the step, m; infinite where contacts yield to forces.
    pub motion: f64,
}

impl Overlap {
    /// Overlaps beyond this part of the thickness of the thinner body are not accepted.
    pub const MAX_THICKNESS_SHARE: f64 = 0.1;
    /// Overlaps within this part of it are accepted however slow the bodies are.
    pub const SLOW_SHARE: f64 = 0.01;
    /// Those between are accepted within this part of the motion in a step.
    pub const MOTION_SHARE: f64 = 0.5;

    /// The depth that is accepted, m.
    pub fn allowed(&self) -> f64 {
        let slow = Overlap::SLOW_SHARE * self.thickness;
        (Overlap::MOTION_SHARE * self.motion)
            .clamp(slow, slow.max(Overlap::MAX_THICKNESS_SHARE * self.thickness))
    }

    /// How many times what is allowed the depth is.
    pub fn excess(&self) -> f64 {
        self.depth / self.allowed()
    }

    /// The overlap in words.
    pub fn reason(&self, scene: &Scene) -> String {
        let name = |id: BodyId| scene.bodies[id.index()].name.as_str();
        let overlap = format!(
            "{} and {} overlap by {:.3e} m",
            name(self.bodies.0),
            name(self.bodies.1),
            self.depth
        );
        if self.depth > Overlap::MAX_THICKNESS_SHARE * self.thickness {
            let share = 100.0 * Overlap::MAX_THICKNESS_SHARE;
            return format!(
                "{overlap}, more than {share:.0} % of the {:.3e} m that the thinner one measures",
                self.thickness
            );
        }
        format!(
            "{overlap}, more than {:.0} % of the {:.3e} m that the thinner one measures and than \
                {:.0} % of the {:.1e} m that they move \
             in a step",
            100.0 * Overlap::SLOW_SHARE,
            self.thickness,
            100.0 * Overlap::MOTION_SHARE,
            self.motion
        )
    }
}

/// The verdict on one step.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// Time at the end of the step, s.
    pub time: f64,
    /// True if the error is within the tolerance, no bodies overlap too much, and none turns too
    /// far.
    pub accepted: bool,
    /// Why the solver stopped.
    pub status: Status,
    /// The error in joules, its energy scale, the estimated energy of the velocity error, and the
    /// largest wrong velocity; of substeps the worst.
    pub error: Residual,
    /// What is proved of the energy of the velocity error; none where nobody looked. Then the
    /// estimate alone stands for it.
    pub certificate: Option<Ends>,
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
    /// Sweeps, factorizations and the like of all methods that were tried.
    pub counts: Counts,
    /// False if a deadline cut the work short.
    pub reproducible: bool,
    /// Deepest overlap of two bodies at the beginning of the step, m.
    pub penetration: f64,
    /// The worst overlap at the beginning of the step, if it is too deep to be accepted.
    pub overlap: Option<Overlap>,
    /// The body that turns furthest, if that is too far for one step.
    pub unresolved: Option<Unresolved>,
    /// The contact at which another motion is as exact as the one that was taken, and why; none if
    /// no other was found.
    pub not_unique: Option<(Source, Ambiguity)>,
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

    /// That the motion is not unique, in words.
    pub fn ambiguity(&self, scene: &Scene) -> Option<String> {
        self.not_unique.map(|(source, why)| {
            let contact = source.name(scene);
            match why {
                Ambiguity::Stick => {
                    format!("not unique: {contact} may stick or slide, both exactly; it sticks")
                }
                Ambiguity::Jam => format!(
                    "not unique: {contact} is jammed by its own friction (Painlevé); sliding on \
                     has no solution or two"
                ),
            }
        })
    }

    /// Why the step is not accepted: which criterion failed, by how much, where, and what to
    /// change. Empty if it is accepted.
    pub fn reasons(&self, scene: &Scene) -> Vec<String> {
        if self.accepted {
            return Vec::new();
        }
        let mut reasons = Vec::new();
        if self.status == Status::Infeasible {
            reasons.push(format!(
                "the constraints contradict each other, at {} among others",
                self.worst_name(scene)
            ));
        }
        reasons.extend(self.overlap.map(|overlap| overlap.reason(scene)));
        reasons.extend(self.unresolved.map(|unresolved| unresolved.reason(scene)));
        for unmet in self.error.unmet(&self.tolerance) {
            let (found, allowed) = (unmet.found, unmet.allowed);
            reasons.push(match unmet.criterion {
                Criterion::Energy => format!(
                    "the error is {found:.1e} of the energy scale, {allowed:.0e} allowed, most of \
                        it at {}: give the solver \
                     more `iterations`, or raise `tolerance`",
                    self.worst_name(scene)
                ),
                Criterion::Velocity => format!(
                    "{} is wrong by {found:.1e} m/s, {allowed:.0e} allowed: give the solver more \
                        `iterations`, or raise \
                     `velocity_tolerance`",
                    self.fastest.map_or_else(|| "a constraint".into(), |source| source.name(scene))
                ),
                Criterion::Momentum => format!(
                    "momentum is balanced to {found:.1e} m/s, {allowed:.0e} allowed: masses or \
                        stiffnesses differ too much \
                     for this solver, try another"
                ),
                Criterion::Estimate => format!(
                    "the motion may be wrong by {found:.1e} of the energy scale, {allowed:.0e} \
                        allowed; this is an estimate \
                     and often too large: give the solver more `iterations`, raise \
                     `bound_tolerance`, or report it only with \
                     `preset = \"engineering\"`"
                ),
            });
        }
        reasons
    }

    /// This verdict for machines.
    pub fn to_json(&self, scene: &Scene) -> Json {
        json!({
            "time": self.time, "accepted": self.accepted, "status": self.status,
            "joule": self.error.joule,
            "relative": self.error.relative(), "estimate": self.error.estimate,
            "certificate": self.certificate,
            "velocity": self.error.velocity,
            "worst": self.worst_name(scene), "solver": self.solver.name(), "work": self.work,
            "penetration": self.penetration,
            "overlap": self.overlap.map(|overlap| overlap.reason(scene)),
            "reproducible": self.reproducible,
            "not_unique": self.ambiguity(scene),
            "contacts": self.contacts, "rows": self.rows, "substeps": self.substeps,
            "solves": self.solves,
            "impact": self.impact, "scheme": self.scheme, "energy": self.energy,
            "reasons": self.reasons(scene),
        })
    }

    /// The verdict on this part of a step and the next one.
    pub fn then(&self, next: &Verdict) -> Verdict {
        let worse = if next.error.relative() > self.error.relative() { next } else { self };
        Verdict {
            time: next.time,
            accepted: self.accepted && next.accepted,
            work: self.work + next.work,
            counts: self.counts.plus(&next.counts),
            reproducible: self.reproducible && next.reproducible,
            penetration: self.penetration.max(next.penetration),
            overlap: self.overlap.or(next.overlap),
            unresolved: self.unresolved.or(next.unresolved),
            not_unique: self.not_unique.or(next.not_unique),
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
