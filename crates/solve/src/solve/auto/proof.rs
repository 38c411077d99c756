//! What is proved of an answer beyond its residual: a certificate, or a contradiction.

use super::Settings;
use crate::problem::{Residual, Tolerance};
use crate::solve::certificate::{Certificate, Ends, Weight};
use crate::solve::infeasible::Contradiction;
use crate::solve::{Report, Status};

/// What is known beyond the residual.
#[derive(Default)]
pub(super) struct Proof {
    pub certify: bool,
    /// An accepted answer was proved wrong: guesses are not to be trusted.
    pub refuted: bool,
    /// The figures of the last certificate.
    ends: Option<Ends>,
    looked: bool,
    pub found: Option<Contradiction>,
}

impl Proof {
    pub fn new(settings: &Settings, rows: usize) -> Proof {
        Proof {
            certify: settings.certify && rows <= settings.factorable,
            refuted: false,
            ends: None,
            looked: false,
            found: None,
        }
    }

    /// The figure of an answer after its certificate; the certificate's reactions where it proves
    /// the answer wrong.
    pub fn weigh(
        &mut self,
        certificate: Certificate,
        tolerance: &Tolerance,
        error: &mut Residual,
    ) -> Option<Vec<f64>> {
        let ends = certificate.ends();
        self.ends = Some(ends);
        if ends.weigh(tolerance, error) != Weight::Refuted {
            return None;
        }
        self.refuted = true;
        Some(certificate.witness.map_or_else(Vec::new, |witness| witness.r))
    }

    /// Whether to look for a contradiction now: if asked to, once.
    pub fn look(&mut self, now: bool) -> bool {
        let first = now && !self.looked;
        self.looked |= now;
        first
    }

    /// Status, and the blocks in conflict.
    pub fn conclude(self, total: &mut Report, accepted: bool) {
        total.conflict.clear();
        if accepted {
            total.status = Status::Converged;
            // What is accepted was weighed last.
            total.certificate = self.ends;
        } else if let Some(contradiction) = self.found {
            total.status = Status::Infeasible;
            total.conflict = contradiction.blocks;
        } else if matches!(total.status, Status::Infeasible | Status::Converged) {
            // What is not proved is not said.
            total.status = Status::Stalled;
        }
        if self.refuted && !accepted {
            total.notes.push("an answer that looked accepted was proved to be further off".into());
        }
    }
}
