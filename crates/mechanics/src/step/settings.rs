//! How to step.

use super::accuracy::TimeEstimate;
use crate::assemble::{Coordinates, Scheme, Treatment};
use crate::solve::options::Options;
use crate::solve::{Method, StoppingCriteria};
use serde::{Deserialize, Serialize};

/// What to do with a step whose error is not accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Take it in two halves, each of them again if need be, down to [`Settings::halvings`]; then
    /// accept and say so.
    Substep,
    /// Apply the best iterate; the verdict says that it is not accepted.
    #[default]
    AcceptWithWarning,
    /// Leave the state as it is and return an error with the verdict.
    Stop,
}

/// How to step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Length of a step h, s.
    pub h: f64,
    /// The method; `auto` picks per island.
    pub solver: Method,
    /// Options of the method: the papers' own methods.
    #[serde(default)]
    pub options: Options,
    /// When the solver may stop.
    pub stop: StoppingCriteria,
    /// Friction law, stabilisation, rebound.
    pub scheme: Scheme,
    /// In which coordinates mechanisms move.
    #[serde(default)]
    pub coordinates: Coordinates,
    /// Contacts are looked for up to this gap, m, beyond what the present speeds close within a
    /// step.
    pub contact_margin: f64,
    /// What to do with a step whose error is not accepted.
    pub policy: Policy,
    /// How often a step may be halved.
    pub halvings: u32,
    /// How often positions are moved back to where their joints hold, after each step.
    pub projections: u32,
    /// Leapfrog: a step whose joints leave their linearisation by more than this share of their
    /// rates is linearised and solved again; infinite: never.
    #[serde(with = "crate::scene::extended")]
    pub linearisation: f64,
    /// Begin each solve with the reactions of the last step.
    pub warm_start: bool,
    /// Certify every island of at most 3000 rows with `auto`; `newton`, `interior-point` and
    /// `pivot` always do: the figure of the velocity error is then the certificate's upper end
    /// where that is within the tolerance, and an answer that is proved wrong is not accepted.
    /// About twice the work.
    pub certify: bool,
    /// The time that a step may take, s of the user's clock: when it is over, the best iterate so
    /// far is taken. Runs are then not reproducible.
    #[serde(default)]
    pub deadline: Option<f64>,
    /// Order in time of smooth steps: 2, or 4 or 6 by extrapolation of the leapfrog scheme, with 5
    /// or 9 solves.
    #[serde(default = "second_order")]
    pub order: u32,
    /// How the error of the time scheme is estimated.
    pub time_error: TimeEstimate,
    /// Largest error of a position in one step, m: steps are then as short as this asks for, h is
    /// the time between outputs.
    pub accuracy: Option<f64>,
}

fn second_order() -> u32 {
    2
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            h: 1e-3,
            solver: Method::Auto,
            options: Options::NONE,
            stop: StoppingCriteria::default(),
            scheme: Scheme::default(),
            coordinates: Coordinates::default(),
            contact_margin: 1e-3,
            policy: Policy::default(),
            halvings: 3,
            projections: 0,
            linearisation: 1e-4,
            warm_start: true,
            certify: false,
            deadline: None,
            order: 2,
            time_error: TimeEstimate::default(),
            accuracy: None,
        }
    }
}

impl Settings {
    /// Steps of length `h`, everything else as usual.
    pub fn with_time_step(h: f64) -> Settings {
        Settings { h, ..Settings::default() }
    }

    /// What is wrong with the settings, if anything.
    pub fn fault(&self) -> Option<String> {
        if let Some(fault) = self.options.fault(self.solver) {
            return Some(fault);
        }
        let scheme = &self.scheme;
        for (what, value, most) in [
            ("scheme.joint_erp", scheme.joint_erp, 1.0),
            ("scheme.contact_erp", scheme.contact_erp, 1.0),
            ("scheme.max_depenetration_velocity", scheme.max_depenetration_velocity, f64::INFINITY),
            ("scheme.restitution_threshold", scheme.restitution_threshold, f64::INFINITY),
            ("scheme.load_sharing", scheme.load_sharing, f64::MAX),
            ("contact_margin", self.contact_margin, f64::MAX),
            ("linearisation", self.linearisation, f64::INFINITY),
        ] {
            if !(value >= 0.0 && value <= most) {
                return Some(format!("{what} = {value}, wanted 0…{most}"));
            }
        }
        if let Treatment::Penalty(penalty) = &scheme.treatment
            && let Some(fault) = penalty.fault()
        {
            return Some(fault);
        }
        if let Some(deadline) = self.deadline {
            if !(deadline > 0.0) {
                return Some(format!("deadline = {deadline} s, wanted > 0"));
            }
            if self.accuracy.is_some() {
                return Some(
                    "accuracy takes as many steps as it needs: no deadline with it".into(),
                );
            }
        }
        if let Some(fault) = super::accuracy::fault(self) {
            return Some(fault);
        }
        (!(self.h > 0.0 && self.h.is_finite())).then(|| format!("h = {} s, wanted > 0", self.h))
    }
}
