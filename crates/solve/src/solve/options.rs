//! Options of the methods by name: the papers' own methods, and what they vary.
//!
//! | method | option | meaning |
//! |---|---|---|
//! | `psor` | `accelerate = false` | plain sweeps (Tasora2008, algorithm 4.1), one step per block |
//! | | `omega = 1.2` | over-relaxation, 0 < ω < 2 |
//! | | `projection = true` | friction blocks by projection, not by their exact solution |
//! | | `sweeps = 100` | at most so many |
//! | `interior-point` | `path = "pure"` | Mehrotra's steps alone (Mangoni2018, chapter 4) |
//! | | `warm = "none"` | nothing of the guess; `"partial"`: velocities; `"full"`: all |
//! | | `start = "unit"` | a cold start at u = r = e; `"system"`: at that of W = I |
//! | | `eta = "adaptive"` | of the way to the boundary 0.9 + 0.1 exp(−Σ u·r); `"fixed"`: 0.99 |
//! | | `equal_steps = true` | one step for velocities and reactions |
//! | | `predictor_only = true` | no corrector |
//! | `pivot` | `start = "empty"` | every row enters by itself |
//! | | `facets = 8` | edges of the pyramid that stands for a friction cone |
//!
//! Without an option a method works as it is used elsewhere. [`PAPERS`] names the plain methods of
//! the papers.

use super::interior_point::path::Steps;
use super::interior_point::{self, InteriorPoint, Warm};
use super::pivot::{self, Pivot};
use super::psor::{self, Acceleration, Local, Metric, Psor};
use super::{DynSolver, Method, StoppingCriteria};
use serde::{Deserialize, Serialize};

/// Which path the interior point takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathKind {
    /// Sweeps, Newton steps and further correctors where they help.
    Hybrid,
    /// Mehrotra's predictor and corrector alone.
    Pure,
}

/// Where a method begins without a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// `interior-point`: the solution of one system with W = I, moved inside.
    System,
    /// `interior-point`: u = r = e, v = 0.
    Unit,
    /// `pivot`: no row is in the basis.
    Empty,
    /// `pivot`: what sweeps leave.
    Sweeps,
}

/// The part of the way to the boundary that a step of the interior point takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Eta {
    /// 0.99.
    Fixed,
    /// From 0.9 far from the solution to 1 near it.
    Adaptive,
}

/// Options of a method; those that are not given are as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// `psor`: false for plain sweeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerate: Option<bool>,
    /// `psor`: over-relaxation ω.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omega: Option<f64>,
    /// `psor`: friction blocks by projection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<bool>,
    /// `psor`: the most sweeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweeps: Option<u64>,
    /// `interior-point`: which path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathKind>,
    /// `interior-point`: how the guess is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
    /// `interior-point` and `pivot`: where it begins without a guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// `interior-point`: the part of the way to the boundary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<Eta>,
    /// `interior-point`: one step for velocities and reactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal_steps: Option<bool>,
    /// `interior-point`: no corrector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictor_only: Option<bool>,
    /// `pivot`: edges of the pyramid of a friction cone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facets: Option<usize>,
}

/// A method with its options, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The name.
    pub name: &'static str,
    /// The method.
    pub method: Method,
    /// Its options.
    pub options: Options,
}

/// The methods of the papers as they are there: baselines.
pub const PAPERS: [Choice; 3] = {
    let plain = Options { accelerate: Some(false), ..Options::NONE };
    let pure = Options { path: Some(PathKind::Pure), ..Options::NONE };
    let empty = Options { start: Some(Start::Empty), ..Options::NONE };
    [
        Choice { name: "psor-plain", method: Method::Psor, options: plain },
        Choice { name: "interior-point-pure", method: Method::InteriorPoint, options: pure },
        Choice { name: "pivot-empty", method: Method::Pivot, options: empty },
    ]
};

impl Choice {
    /// All methods, then those of the papers.
    pub fn all() -> impl Iterator<Item = Choice> {
        let usual = |&method: &Method| Choice::from(method);
        Method::ALL.iter().map(usual).chain(PAPERS)
    }

    /// The choice of this name.
    pub fn named(name: &str) -> Option<Choice> {
        Choice::all().find(|choice| choice.name == name)
    }

    /// True if it is a method of a paper, not one as it is used.
    pub fn is_baseline(&self) -> bool {
        self.name != self.method.name()
    }
}

impl From<Method> for Choice {
    fn from(method: Method) -> Choice {
        Choice { name: method.name(), method, options: Options::NONE }
    }
}

/// The names of the options of each method.
fn names(method: Method) -> &'static [&'static str] {
    match method {
        Method::Psor => &["accelerate", "omega", "projection", "sweeps"],
        Method::InteriorPoint => &["path", "warm", "start", "eta", "equal_steps", "predictor_only"],
        Method::Pivot => &["start", "facets"],
        Method::Auto | Method::Direct | Method::Newton => &[],
    }
}

impl Options {
    /// Everything as usual.
    pub const NONE: Options = Options {
        accelerate: None,
        omega: None,
        projection: None,
        sweeps: None,
        path: None,
        warm: None,
        start: None,
        eta: None,
        equal_steps: None,
        predictor_only: None,
        facets: None,
    };

    /// These options where they are given, else those of `usual`.
    pub fn over(&self, usual: &Options) -> Options {
        Options {
            accelerate: self.accelerate.or(usual.accelerate),
            omega: self.omega.or(usual.omega),
            projection: self.projection.or(usual.projection),
            sweeps: self.sweeps.or(usual.sweeps),
            path: self.path.or(usual.path),
            warm: self.warm.or(usual.warm),
            start: self.start.or(usual.start),
            eta: self.eta.or(usual.eta),
            equal_steps: self.equal_steps.or(usual.equal_steps),
            predictor_only: self.predictor_only.or(usual.predictor_only),
            facets: self.facets.or(usual.facets),
        }
    }

    /// Reads one option written as `name=value`.
    pub fn set(&mut self, text: &str) -> Result<(), String> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("`{text}`: wanted NAME=VALUE"))?;
        let (name, value) = (name.trim(), value.trim());
        let mut object = serde_json::to_value(*self).expect("plain data can be written");
        // true, 1.2 and 8 are written as they are, words without quotes.
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        object[name] = value;
        *self = serde_json::from_value(object).map_err(|why| format!("`{text}`: {why}"))?;
        Ok(())
    }

    /// True if nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Options::default()
    }

    /// What is wrong with these options for a method, if anything.
    pub fn fault(&self, method: Method) -> Option<String> {
        let given = serde_json::to_value(*self).expect("plain data can be written");
        let (name, known) = (method.name(), names(method));
        let given = given.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        if let Some(foreign) = given.into_iter().find(|key| !known.contains(key)) {
            let wanted = match known.is_empty() {
                true => "it has none".into(),
                false => format!("wanted one of {}", known.join(", ")),
            };
            return Some(format!("`{name}` has no option `{foreign}`: {wanted}"));
        }
        if let Some(omega) = self.omega.filter(|omega| !(*omega > 0.0 && *omega < 2.0)) {
            return Some(format!("omega = {omega}, wanted between 0 and 2"));
        }
        if let Some(facets) = self.facets.filter(|facets| !(3..=1024).contains(facets)) {
            return Some(format!("facets = {facets}, wanted 3…1024"));
        }
        match (method, self.start) {
            (Method::Pivot, Some(Start::System | Start::Unit)) => {
                Some("start of `pivot`: wanted \"empty\" or \"sweeps\"".into())
            }
            (Method::InteriorPoint, Some(Start::Empty | Start::Sweeps)) => {
                Some("start of `interior-point`: wanted \"system\" or \"unit\"".into())
            }
            _ => None,
        }
    }

    /// Sweeps with these options over `usual` settings.
    pub fn psor(&self, usual: psor::Settings) -> psor::Settings {
        let mut out = usual;
        if self.accelerate == Some(false) {
            out.acceleration = Acceleration::None;
            out.metric = Metric::Mean;
            out.joints = false;
        }
        out.omega = self.omega.unwrap_or(out.omega);
        out.stop.work = out.stop.work.or(self.sweeps);
        if self.projection == Some(true) {
            out.local = Local::Projection;
        }
        out
    }

    /// An interior point with these options over `usual` settings.
    pub fn interior_point(&self, usual: interior_point::Settings) -> interior_point::Settings {
        let pure = self.path == Some(PathKind::Pure);
        let steps = Steps {
            adaptive_eta: self.eta == Some(Eta::Adaptive),
            equal: self.equal_steps == Some(true),
            predictor_only: self.predictor_only == Some(true),
            max_correctors: if pure { 0 } else { usual.steps.max_correctors },
        };
        let warm = match (self.warm, pure) {
            (Some(warm), _) => warm,
            (None, true) => Warm::Cold,
            (None, false) => usual.warm,
        };
        interior_point::Settings {
            warm,
            steps,
            path_alone: pure || usual.path_alone,
            unit_start: self.start == Some(Start::Unit),
            ..usual
        }
    }

    /// An active set with these options over `usual` settings.
    pub fn pivot(&self, usual: pivot::Settings) -> pivot::Settings {
        pivot::Settings {
            facets: self.facets.unwrap_or(usual.facets),
            swept: usual.swept && self.start != Some(Start::Empty),
            ..usual
        }
    }
}

impl Method {
    /// The method with options of its own.
    pub fn build_with(
        self,
        stop: StoppingCriteria,
        options: &Options,
    ) -> Result<Box<dyn DynSolver>, String> {
        if let Some(fault) = options.fault(self) {
            return Err(fault);
        }
        Ok(match self {
            Method::Psor => Box::new(Psor::new(
                options.psor(psor::Settings { stop, ..psor::Settings::default() }),
            )),
            Method::InteriorPoint => Box::new(InteriorPoint::new(
                options.interior_point(interior_point::Settings { stop, ..Default::default() }),
            )),
            Method::Pivot => Box::new(Pivot::new(
                options.pivot(pivot::Settings { stop, ..pivot::Settings::default() }),
            )),
            Method::Auto | Method::Direct | Method::Newton => self.build(stop),
        })
    }
}
