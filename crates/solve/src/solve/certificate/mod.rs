//! How wrong the velocities are, proved: upper and lower end of `½‖v − v*‖²_H`.
//!
//! # Inequality
//!
//! For the convex laws and any pair of reactions r̂ ∈ K and a vector s whose local velocities are
//! feasible, `û = W s + q ∈ K*` (equality rows: û = 0), with `v̂ = v(s) = H⁻¹(k + Jᵀs)`,
//! `v_r̂ = v(r̂)`:
//!
//! ```text
//!   G(s, r̂) = ½ (s − r̂)ᵀ W (s − r̂) + Σ_k [ r̂_k·û_k + φ(û_k) ]  ≥  ½‖v_r̂ − v*‖²_H + ½‖v̂ − v*‖²_H
//!   φ = 0 for cones, unilateral and equality rows;  interval: φ(û) = max(−lo û, −hi û)
//! ```
//!
//! So v* lies in a ball around v_r̂, around v̂ (radius √G both) and around their middle c (R² =
//! ¼G + ¼Σ[…]); each of them and the distance of v from its centre give an upper and a lower end.
//! The best of all candidates is reported. A momentum defect D of v widens both ends:
//! `(√upper + √D)²`, `max(√lower − √D, √D − √upper, 0)²`.
//!
//! # Algorithm
//!
//! 1. [`frame`]: W, and `u = W r + q` in double-double precision; everything else is a difference
//!    from it.
//! 2. Candidates for s: r itself; one linear system over the active rows ([`active`]), exact and
//!    with strong regularisation.
//! 3. A candidate that lacks a little normal velocity is moved inside: sweeps on the homogeneous
//!    problem ([`inside`]).
//! 4. Candidates for r̂: r, r without the open blocks, `P_K(s)`.
//! 5. Where upper and lower end are still far apart: the same around the answer of the interior
//!    point.
//!
//! # Standing
//!
//! [`Standing::Proved`]: û ∈ K* with a margin for rounding, equality rows at rounding.
//! [`Standing::Moved`]: the feasible set has no interior; the figure holds for the problem with w
//! moved by `moved` m/s, at rounding of its terms, and is widened by what that move is worth
//! (`Σ d_k‖r*_k‖`, with r* estimated). [`Standing::Estimated`]: Coulomb's law with its shift frozen
//! at the given point. [`Standing::Unknown`]: no figure. Only a figure of a convex problem is a
//! bound.
//!
//! # Cost
//!
//! W, two sparse factorizations of the active rows, some 50 to 200 sweeps; step 5 costs an
//! interior-point solve. About as much as the solve itself: on demand, not in the loop of a method.

mod active;
mod certified;
pub(crate) mod frame;
mod inside;

use super::interior_point::{self, InteriorPoint, Warm};
use super::{ReducedSolver, Solver, StoppingCriteria};
use crate::math::double_double::DoubleDouble;
use crate::math::ldlt::{Ldlt, Ordering};
use crate::math::sparse::Csr;
use crate::problem::{Law, Problem, Reduced, Solution, Tolerance};
use active::Equalities;
pub use certified::{Certified, Weight};
use frame::{Base, Frame, Velocities};
use serde::Serialize;

/// What a certificate's figures are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Both ends are proved.
    Proved,
    /// Both ends hold for the problem with `w` moved by [`Certificate::moved`]: there is no
    /// strictly feasible velocity.
    Moved,
    /// Coulomb's law, its shift frozen at the given point.
    Estimated,
    /// No figure: no feasible velocity was found, or the problem is not convex.
    #[default]
    Unknown,
}

/// Upper and lower end of the energy of the velocity error, with what they stand on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Certificate {
    /// What the figures are.
    pub standing: Standing,
    /// `½‖v − v*‖²_H` is at most this, J (infinite if unknown).
    pub upper: f64,
    /// It is at least this, J.
    pub lower: f64,
    /// By how much w is moved, m/s.
    pub moved: f64,
    /// The pair that proves it.
    #[serde(skip)]
    pub witness: Option<Witness>,
}

/// The figures of a certificate without what proves them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ends {
    /// See [`Certificate`].
    pub standing: Standing,
    /// J.
    pub upper: f64,
    /// J.
    pub lower: f64,
    /// m/s.
    pub moved: f64,
}

impl Ends {
    /// For a person: "proved", "to 1.2e-15 m/s", "estimate" or "unknown".
    pub fn standing_text(&self) -> String {
        match self.standing {
            Standing::Proved => "proved".into(),
            Standing::Moved => format!("to {:.0e} m/s", self.moved),
            Standing::Estimated => "estimate".into(),
            Standing::Unknown => "unknown".into(),
        }
    }
}

/// A pair (s, r̂) and its gap: `s = base + y`, to be added in more than double precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Witness {
    /// s, rounded (m), N s.
    pub base: Vec<f64>,
    /// The rest of s (m), N s.
    pub y: Vec<f64>,
    /// r̂ (m), N s.
    pub r: Vec<f64>,
    /// G, J.
    pub gap: f64,
}

impl Certificate {
    fn unknown() -> Certificate {
        Certificate { upper: f64::INFINITY, ..Certificate::default() }
    }

    /// Its figures alone.
    pub fn ends(&self) -> Ends {
        let Certificate { standing, upper, lower, moved, .. } = *self;
        Ends { standing, upper, lower, moved }
    }

    /// As [`Ends::standing_text`].
    pub fn standing_text(&self) -> String {
        self.ends().standing_text()
    }
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Upper ends below this part of the energy scale are not sharpened any further.
    pub negligible: f64,
    /// Nor are they where `upper ≤ sharp · lower`.
    pub sharp: f64,
    /// Problems of more rows than this get no certificate.
    pub most_rows: usize,
    /// Factorizations of the interior point in step 5; 0: no such step.
    pub factorizations: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { negligible: 1e-14, sharp: 4.0, most_rows: 30_000, factorizations: 60 }
    }
}

/// The least and the greatest regularisation of the active rows: the exact system, and one that
/// forgives wrong branches.
const REGULARIZATION_RANGE: [f64; 2] = [1e-9, 1e-2];
/// Lacks up to this part of the largest terms of a velocity may be moved into w.
const MAX_MOVED_W: f64 = 1e-12;
/// Equality rows up to this part of their terms are at rounding.
const EQUALITY_ROUNDING: f64 = 2e-14;
/// A figure that holds for a moved w is preferred to a proved one only where it is this much
/// smaller.
const MOVED_W_PREFERENCE: f64 = 0.1;
/// A reduced W is taken for symmetric, and for semidefinite, up to this part of its entries.
const MAX_ASYMMETRY: f64 = 1e-12;
/// See [`MAX_ASYMMETRY`].
const MAX_NEGATIVE_EIGENVALUE: f64 = 1e-10;

/// Makes certificates; keeps its memory.
#[derive(Default)]
pub struct Certifier {
    settings: Settings,
    frame: Frame,
    interior: InteriorPoint,
    best: Best,
}

/// The best figures so far: proved, and with w moved.
#[derive(Default)]
struct Best {
    proved: Certificate,
    moved: Certificate,
    negligible: f64,
    sharp: f64,
}

impl Best {
    fn reset(&mut self, negligible: f64, sharp: f64) {
        *self = Best {
            proved: Certificate::unknown(),
            moved: Certificate::unknown(),
            negligible,
            sharp,
        };
    }

    fn good_enough(&self) -> bool {
        let good = |c: &Certificate| {
            c.upper <= self.negligible || (c.lower > 0.0 && c.upper <= self.sharp * c.lower)
        };
        good(&self.proved) || good(&self.moved)
    }

    /// The one to be reported.
    fn take(&mut self) -> Certificate {
        let moved = self.moved.upper < MOVED_W_PREFERENCE * self.proved.upper;
        std::mem::take(if moved { &mut self.moved } else { &mut self.proved })
    }
}

impl Certifier {
    /// With these settings.
    pub fn new(settings: Settings) -> Certifier {
        Certifier { settings, ..Certifier::default() }
    }

    /// The certificate of a solution of `problem`.
    pub fn certify(&mut self, problem: &Problem, solution: &Solution) -> Certificate {
        let finite = solution.v.iter().chain(&solution.r).all(|x| x.is_finite());
        let fits = solution.v.len() == problem.n() && solution.r.len() == problem.rows();
        if !(finite && fits) || problem.rows() > self.settings.most_rows || !self.frame.set(problem)
        {
            return Certificate::unknown();
        }
        let (mut base, defect) = self.frame.base(problem, &solution.v, &solution.r);
        let shifts = self.frame.shifts(&base.u);
        self.frame.add_shifts(&shifts, &mut base);
        self.begin();
        self.around(&base, &vec![0.0; base.r.len()]);
        if self.wants_another_answer() {
            let mut convex = problem.clone().associated();
            shifts
                .iter()
                .enumerate()
                .for_each(|(k, shift)| convex.w[problem.J.row_starts[k]] += shift);
            let mut other = Solution::zero(problem.n(), problem.rows());
            *self.interior.settings_mut() = self.interior_settings();
            if self.interior.solve(&convex, &mut other).is_ok() {
                let (mut there, _) = self.frame.base(problem, &other.v, &other.r);
                self.frame.add_shifts(&shifts, &mut there);
                self.from(&base, &there);
            }
        }
        let coulomb =
            problem.laws.iter().any(|law| matches!(law, Law::Coulomb { mu, .. } if *mu > 0.0));
        self.finish(defect, coulomb)
    }

    /// The certificate of reactions `r` of a reduced problem, in the norm of W:
    /// `½ (r − r*)ᵀ W (r − r*)`.
    pub fn certify_reduced(&mut self, reduced: &Reduced, r: &[f64]) -> Certificate {
        let fits = r.len() == reduced.rows()
            && r.iter().all(|x| x.is_finite())
            && r.len() <= self.settings.most_rows;
        self.frame.set_reduced(reduced);
        if !fits
            || reduced.asymmetry() > MAX_ASYMMETRY
            || !semidefinite(&reduced.W, self.frame.prepared.a(), &reduced.row_starts)
        {
            return Certificate::unknown();
        }
        let mut base = self.frame.base_reduced(r);
        let shifts = self.frame.shifts(&base.u);
        self.frame.add_shifts(&shifts, &mut base);
        self.begin();
        self.around(&base, &vec![0.0; r.len()]);
        if self.wants_another_answer() {
            let mut convex = reduced.clone().associated();
            shifts
                .iter()
                .enumerate()
                .for_each(|(k, shift)| convex.q[reduced.row_starts[k]] += shift);
            let mut other = Solution::zero(0, r.len());
            *self.interior.settings_mut() = self.interior_settings();
            if self.interior.solve_reduced(&convex, &mut other).is_ok() {
                let mut there = self.frame.base_reduced(&other.r);
                self.frame.add_shifts(&shifts, &mut there);
                self.from(&base, &there);
            }
        }
        let coulomb =
            reduced.laws.iter().any(|law| matches!(law, Law::Coulomb { mu, .. } if *mu > 0.0));
        self.finish(0.0, coulomb)
    }

    fn begin(&mut self) {
        self.best
            .reset(self.settings.negligible * self.frame.prepared.scale(), self.settings.sharp);
    }

    /// Whether step 5 is to be taken.
    fn wants_another_answer(&self) -> bool {
        self.settings.factorizations > 0 && !self.best.good_enough()
    }

    fn interior_settings(&self) -> interior_point::Settings {
        let tolerance = Tolerance {
            relative: 1e-20,
            velocity: f64::INFINITY,
            bound: Some(1e-10),
            velocity_relative: 0.0,
        };
        let stop = StoppingCriteria {
            tolerance,
            work: Some(self.settings.factorizations),
            ..StoppingCriteria::default()
        };
        interior_point::Settings { stop, warm: Warm::Cold, ..Default::default() }
    }

    /// Candidates around the answer of another method.
    fn from(&mut self, base: &Base, there: &Base) {
        let offset: Vec<f64> = there.r.iter().zip(&base.r).map(|(a, b)| a - b).collect();
        self.around(there, &offset);
    }

    /// Steps 2 to 4 around one base point, whose reactions differ by `offset` from those to be
    /// judged.
    fn around(&mut self, base: &Base, offset: &[f64]) {
        let Certifier { frame, best, .. } = self;
        let mut equalities = Equalities::of(frame);
        for tau in REGULARIZATION_RANGE {
            // The round that lacks least, to be moved inside if none was feasible.
            let mut nearest: Option<(f64, Vec<f64>)> = None;
            let mut found = Vec::new();
            active::correct(frame, base, tau, |y, at| {
                let lack = frame.lack(base, at);
                if lack.normal <= 0.0 {
                    found.push(y.to_vec());
                    return found.len() >= 2;
                }
                if nearest.as_ref().is_none_or(|(least, _)| lack.normal < *least) {
                    nearest = Some((lack.normal, y.to_vec()));
                }
                false
            });
            found.iter().for_each(|y| measure(frame, base, offset, y, best));
            if let (true, Some((_, mut y))) = (found.is_empty(), nearest) {
                measure(frame, base, offset, &y, best);
                if !best.good_enough() && inside::shift(frame, base, &mut equalities, &mut y) {
                    measure(frame, base, offset, &y, best);
                }
            }
            if best.good_enough() {
                return;
            }
        }
        let mut y = vec![0.0; base.r.len()];
        equalities.hold(frame, base, &mut y);
        measure(frame, base, offset, &y, best);
        if inside::shift(frame, base, &mut equalities, &mut y) {
            measure(frame, base, offset, &y, best);
        }
    }

    fn finish(&mut self, defect: f64, coulomb: bool) -> Certificate {
        let mut out = self.best.take();
        if out.standing == Standing::Unknown || !out.upper.is_finite() {
            return Certificate::unknown();
        }
        // The sums of squares round by a few hundred units.
        let (upper, lower, defect) = (out.upper.sqrt(), out.lower.sqrt(), defect.sqrt());
        out.upper = (upper + defect).powi(2) * (1.0 + 1e-12);
        out.lower = (lower - defect).max(defect - upper).max(0.0).powi(2) * (1.0 - 1e-12);
        if coulomb {
            out.standing = Standing::Estimated;
        }
        out
    }
}

/// The figures of one candidate s = r + y, with all candidates for r̂.
fn measure(frame: &mut Frame, base: &Base, offset: &[f64], y: &[f64], best: &mut Best) {
    let mut at = Velocities::default();
    frame.velocities(base, y, &mut at);
    let lack = frame.lack(base, &at);
    if !(lack.overall <= MAX_MOVED_W) {
        return;
    }
    let proved = lack.normal <= 0.0 && lack.relative <= EQUALITY_ROUNDING;
    let m = y.len();
    // Differences in double-double precision: near an answer nothing else is left of them.
    let sum = |terms: &dyn Fn(usize) -> [f64; 4]| -> Vec<DoubleDouble> {
        let one = |i: usize| {
            let mut sum = DoubleDouble::default();
            terms(i).into_iter().for_each(|x| sum.add_product(x, 1.0));
            sum
        };
        (0..m).map(one).collect()
    };
    for candidate in 0..3 {
        let mut r = base.r.clone();
        for (k, law) in frame.laws.iter().enumerate() {
            let range = frame.range(k);
            match candidate {
                0 => {}
                1 => {
                    // What the block would answer if it stood alone is nothing: it is open.
                    let mut alone = frame::pick(&r[range.clone()]);
                    alone
                        .iter_mut()
                        .zip(&base.u[range.clone()])
                        .for_each(|(x, u)| *x -= u / frame.prepared.a()[k]);
                    law.admit(&mut alone[..range.len()]);
                    if !matches!(law, Law::Interval { .. }) && alone.iter().all(|x| *x == 0.0) {
                        r[range.clone()].fill(0.0);
                    }
                }
                _ => r[range.clone()].iter_mut().zip(&y[range.clone()]).for_each(|(r, y)| *r += y),
            }
            law.admit(&mut r[range]);
        }
        let (b, o) = (&base.r, offset);
        let between = sum(&|i| [y[i], b[i], -r[i], 0.0]);
        let products = frame.products(&at, &r);
        let gap = frame.energy(&between).iter().map(|part| part.most).sum::<f64>() + products;
        let gap = gap * (1.0 + 4.0 * f64::EPSILON);
        let middle = 0.25 * (gap + products);
        let moving = frame.moving(&at, &r).sqrt();
        let (mut upper, mut lower) = (f64::INFINITY, 0.0f64);
        for (radius, centre) in [
            (gap, sum(&|i| [o[i], y[i], 0.0, 0.0])),
            (gap, sum(&|i| [o[i], r[i], -b[i], 0.0])),
            (middle, sum(&|i| [o[i], 0.5 * y[i], 0.5 * r[i], -0.5 * b[i]])),
        ] {
            let far = frame.energy(&centre)[0];
            upper = upper.min((far.most.sqrt() + radius.sqrt() + moving).powi(2));
            lower = lower.max((far.least.sqrt() - radius.sqrt() - moving).max(0.0).powi(2));
        }
        let to = if proved { &mut best.proved } else { &mut best.moved };
        to.lower = to.lower.max(lower);
        if upper < to.upper {
            let standing = if proved { Standing::Proved } else { Standing::Moved };
            let witness = Some(Witness { base: base.r.clone(), y: y.to_vec(), r, gap });
            *to = Certificate {
                standing,
                upper,
                lower: to.lower,
                moved: if proved { 0.0 } else { lack.distance },
                witness,
            };
        }
    }
}

/// Whether W is semidefinite, up to [`MAX_NEGATIVE_EIGENVALUE`] of its diagonal.
fn semidefinite(w: &Csr, a: &[f64], starts: &[usize]) -> bool {
    let mut lower = Csr::empty(w.rows, w.rows);
    for k in 0..a.len() {
        for i in starts[k]..starts[k + 1] {
            let (columns, values) = w.row(i);
            for (&j, &x) in columns.iter().zip(values).filter(|(j, _)| (**j as usize) < i) {
                lower.columns.push(j);
                lower.values.push(x);
            }
            lower.columns.push(i as u32);
            lower.values.push(w.get(i, i) + MAX_NEGATIVE_EIGENVALUE * a[k].max(w.get(i, i)));
            lower.starts[i + 1] = lower.columns.len();
        }
    }
    Ldlt::analyse(&lower, Ordering::Amd).factor(&lower.values, &vec![1; w.rows]).is_ok()
}
