//! Contacts as springs: what most programs do, here for comparison.
//!
//! With δ = −gap the overlap, u the velocities of the contact's rows, n its normal and t its
//! tangents:
//!
//! ```text
//!   F_n = max(0, k δ^p − c u_n)         p = 3/2: Hertz; p = 1: a linear spring
//!   F_t = −μ F_n u_t / max(|u_t|, v_s)  friction, regularised below the speed v_s
//! ```
//!
//! *Explicit*: F at the beginning of the step, an impulse in k: cheap, no rows, and stable only
//! while `h ≲ 2 √(m/k')`, k' the slope of the spring, whatever the method of the rest. *Implicit*:
//! the spring at the end of the step, linearised; condensed out of H it is the compliant row
//! `E = 1/(h²k' + hc)`, so that H keeps its pattern. Friction is then a force between ±μF_n along
//! each tangent, as stiff as the regularisation says. (Mangoni2018, §5.3.2) reports that springs
//! need steps below 5 ms where rigid contacts allow 60 ms, "even with implicit integrators";
//! `signorini bench bending` measures both kinds of springs.

use super::rows::Block;
use super::{Assembly, Source, StepInput};
use crate::problem::Law;

/// What a contact is.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// A unilateral constraint with friction.
    #[default]
    Rigid,
    /// A spring and a damper.
    Penalty(Penalty),
}

/// A spring and a damper in place of a contact.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Penalty {
    /// Stiffness k, N/m^p.
    pub stiffness: f64,
    /// Exponent p of the overlap: 3/2 (Hertz) or 1 (linear).
    pub exponent: f64,
    /// Damping c, N s/m.
    pub damping: f64,
    /// Speed v_s below which friction is viscous, m/s.
    pub slip: f64,
    /// Whether the spring is taken at the end of the step.
    pub implicit: bool,
}

impl Default for Penalty {
    fn default() -> Penalty {
        Penalty { stiffness: 1e6, exponent: 1.5, damping: 0.0, slip: 1e-2, implicit: false }
    }
}

impl Penalty {
    /// What is wrong with it, if anything.
    pub fn fault(&self) -> Option<String> {
        for (what, value, good) in [
            ("stiffness", self.stiffness, self.stiffness > 0.0),
            ("exponent", self.exponent, self.exponent >= 1.0),
            ("damping", self.damping, self.damping >= 0.0),
            ("slip", self.slip, self.slip > 0.0),
        ] {
            if !(good && value.is_finite()) {
                return Some(format!(
                    "penalty {what} = {value}, wanted a positive number (exponent: at least 1)"
                ));
            }
        }
        None
    }

    /// The elastic force at an overlap, N, and its slope, N/m.
    pub fn spring(&self, overlap: f64) -> (f64, f64) {
        let force = self.stiffness * overlap.powf(self.exponent);
        (force, self.exponent * self.stiffness * overlap.powf(self.exponent - 1.0))
    }

    /// The force along normal and tangents at these velocities, N.
    pub fn force(&self, overlap: f64, mu: f64, u: &[f64; 3]) -> [f64; 3] {
        let normal = (self.spring(overlap).0 - self.damping * u[0]).max(0.0);
        let speed = u[1].hypot(u[2]).max(self.slip);
        [normal, -mu * normal * u[1] / speed, -mu * normal * u[2] / speed]
    }

    /// Adds the contact that `block` describes to k, or its rows to J.
    pub(super) fn apply(
        &self,
        out: &mut Assembly,
        block: &Block,
        (gap, mu): (f64, f64),
        source: Source,
        now: &StepInput,
    ) {
        let (h, kick) = (now.h, now.kick());
        if gap >= 0.0 {
            return;
        }
        let force = self.force(-gap, mu, &block.before);
        if !self.implicit {
            let impulse = force.map(|f| kick * f);
            block.add_transposed(&impulse, &mut out.problem.k);
            block.add_transposed(&impulse, &mut out.impulses.penalty);
            return;
        }
        let (elastic, slope) = self.spring(-gap);
        // r = h̄ (F − (h k' + c) u): u + r/(h̄(hk' + c)) − F/(hk' + c) = 0.
        let compliance = 1.0 / (kick * h * slope + kick * self.damping);
        block.row(0).push(
            out,
            source,
            Law::Unilateral,
            &[-elastic / (h * slope + self.damping)],
            compliance,
        );
        let most = kick * mu * force[0];
        for row in 1..if most > 0.0 { 3 } else { 1 } {
            block.row(row).push(
                out,
                source,
                Law::Interval { lo: -most, hi: most },
                &[0.0],
                self.slip / most,
            );
        }
    }
}
