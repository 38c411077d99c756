//! The path-following iteration: Mehrotra's predictor and corrector, Gondzio's further correctors.
//!
//! ```text
//!   Ĥ dv − Ĵᵀ dr              = −rd        rd = Ĥ v − k̂ − Ĵᵀ r
//!   Ĵ dv + M̂ dr − du          = −rp        rp = Ĵ v + M̂ r + ŵ − u
//!   λ ∘ (W⁻¹du + W dr)        = −λ∘λ − (W⁻¹du_a)∘(W dr_a) + σ μ e      (Mangoni2018, eq. 4.26 in scaled variables)
//! ```
//!
//! The factorization is made once per iteration; predictor, corrector and up to four further
//! correctors are back-substitutions. v and u move by their own step, r by its own.

use super::cone::{Kind, Pair, Scaling, Triple, dot, rotate, rotate_back};
use super::kkt::{Diagonal, Kkt};
use super::scaled::Scaled;
use crate::math::ldlt::BadPivot;
use crate::math::norm;

/// The part of the way to the boundary that a step may take.
const BOUNDARY_FRACTION: f64 = 0.99;
/// The most of it where it is adaptive: 1 would end on the boundary.
const MAX_BOUNDARY_FRACTION: f64 = 1.0 - 1e-9;
/// How much longer a step each further corrector aims at.
const CORRECTOR_STEP_GAIN: f64 = 0.3;
/// A step that long needs no further correctors.
const STEP_WITHOUT_CORRECTORS: f64 = 0.98;
/// Compliance added to rows in cones and to equality rows, in the unit of the scaled W (mean
/// diagonal 1).
const CONE_REGULARIZATION: f64 = 1e-15;
/// See [`CONE_REGULARIZATION`]: the most that is tried.
const MAX_REGULARIZATION: f64 = 1e-6;
/// See [`CONE_REGULARIZATION`].
pub const EQUALITY_REGULARIZATION: f64 = 1e-10;

/// A point strictly inside all cones.
#[derive(Clone, Default)]
pub struct Point {
    /// Velocities, √J.
    pub v: Vec<f64>,
    /// Reactions over all rows, √J.
    pub r: Vec<f64>,
    /// The pair of each block (`Free`: unused).
    pub pairs: Vec<Pair>,
}

impl Point {
    /// μ: the mean of u·r over the complementarity pairs, J.
    pub fn gap(&self, scaled: &Scaled) -> f64 {
        let sum: f64 = self
            .pairs
            .iter()
            .zip(&scaled.blocks)
            .filter(|(_, b)| b.kind != Kind::Free)
            .map(|(p, _)| p.product())
            .sum();
        sum / scaled.degree().max(1) as f64
    }
}

/// A direction: plain for v and r, scaled for the cones.
#[derive(Clone, Default)]
struct Direction {
    v: Vec<f64>,
    r: Vec<f64>,
    scaled_u: Vec<Triple>,
    scaled_r: Vec<Triple>,
    step_u: f64,
    step_r: f64,
}

impl Direction {
    fn shorter(&self) -> f64 {
        self.step_u.min(self.step_r)
    }
}

/// How a step is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// The part of the way to the boundary is `0.9 + 0.1 exp(−μ n_λ)` (Mangoni2018, section 4.12,
    /// with its erratum), n_λ the number of complementarity pairs; without, 0.99.
    pub adaptive_eta: bool,
    /// v, u and r move by the same step, the shorter one.
    pub equal: bool,
    /// The predictor's direction is taken as it is.
    pub predictor_only: bool,
    /// Further correctors per iteration; without any, no direction but Mehrotra's is tried.
    pub max_correctors: usize,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps { adaptive_eta: false, equal: false, predictor_only: false, max_correctors: 4 }
    }
}

/// Work space of the iteration.
#[derive(Default)]
pub struct Path {
    /// How a step is found.
    pub how: Steps,
    /// The part of the way to the boundary that this step may take.
    fraction: f64,
    /// ‖rp‖ and ‖rd‖ before the last step, √J, and its steps of v and u, and of r.
    pub last: [f64; 4],
    diagonal: Diagonal,
    scalings: Vec<Scaling>,
    momentum: Vec<f64>,
    local: Vec<f64>,
    right: Vec<f64>,
    target: Vec<Triple>,
    trial: Vec<Triple>,
    regular: f64,
    /// Directions that have served.
    spare: Vec<Direction>,
    /// Reactions before and after the last step.
    pub reactions: [Vec<f64>; 2],
}

impl Path {
    /// Makes ready for another problem.
    pub fn reset(&mut self) {
        self.regular = 0.0;
        self.reactions.iter_mut().for_each(Vec::clear);
    }

    /// One iteration: moves `point` along the path; returns the shorter of its two steps.
    pub fn iterate(
        &mut self,
        scaled: &Scaled,
        kkt: &mut Kkt,
        point: &mut Point,
    ) -> Result<f64, BadPivot> {
        self.residuals(scaled, point);
        // A stored W that is indefinite by its rounding needs more; once more is always more.
        self.regular = self.regular.max(if kkt.light_first { 0.0 } else { CONE_REGULARIZATION });
        self.scale(scaled, point);
        while let Err(bad) = kkt.factor(scaled, &self.diagonal) {
            if self.regular >= MAX_REGULARIZATION {
                return Err(bad);
            }
            self.regular = (1e3 * self.regular).max(CONE_REGULARIZATION);
            self.scale(scaled, point);
        }
        let refine = if kkt.light_first || self.regular > CONE_REGULARIZATION { 3 } else { 0 };
        let gap = point.gap(scaled);
        self.fraction = match self.how.adaptive_eta {
            true => (0.9 + 0.1 * (-gap * scaled.degree() as f64).exp()).min(MAX_BOUNDARY_FRACTION),
            false => BOUNDARY_FRACTION,
        };
        // Predictor: straight at the solution.
        self.target.clear();
        self.target.extend(self.scalings.iter().map(|s| s.lambda.map(|l| -l)));
        let predictor = self.direction(scaled, kkt, refine);
        if self.how.predictor_only {
            return Ok(self.take(scaled, point, predictor));
        }
        let sigma = (self.gap_after(scaled, &predictor) / gap).clamp(0.0, 1.0).powi(3);
        // Corrector: second-order term and centring.
        self.aim(scaled, Some(&predictor), sigma * gap);
        self.spare.push(predictor);
        let mut best = self.direction(scaled, kkt, refine);
        if best.shorter() < 0.1 && self.how.max_correctors > 0 {
            self.trial.clone_from(&self.target);
            self.aim(scaled, None, sigma.max(0.3) * gap);
            let plain = self.direction(scaled, kkt, refine);
            if plain.shorter() > best.shorter() {
                self.spare.push(std::mem::replace(&mut best, plain));
            } else {
                std::mem::swap(&mut self.target, &mut self.trial);
                self.spare.push(plain);
            }
        }
        self.correct_further(scaled, kkt, refine, sigma * gap, &mut best);
        Ok(self.take(scaled, point, best))
    }

    /// Moves `point`; returns the shorter of the two steps.
    fn take(&mut self, scaled: &Scaled, point: &mut Point, step: Direction) -> f64 {
        self.advance(scaled, point, &step);
        let shorter = step.shorter();
        self.last = [norm(&self.local), norm(&self.momentum), step.step_u, step.step_r];
        self.spare.push(step);
        shorter
    }

    fn residuals(&mut self, scaled: &Scaled, point: &Point) {
        self.momentum.resize(scaled.n(), 0.0);
        self.local.resize(scaled.rows(), 0.0);
        scaled.momentum(&point.v, &point.r, None, &mut self.momentum);
        scaled.local_velocities(&point.v, &point.r, &mut self.local);
        for (block, pair) in scaled.blocks.iter().zip(&point.pairs) {
            match block.kind {
                Kind::Free => {}
                Kind::Box { .. } => self.local[block.first] -= pair.u[0] - pair.u[1],
                _ => {
                    for i in 0..block.rows {
                        self.local[block.first + i] -= pair.u[i];
                    }
                }
            }
        }
    }

    /// The scaling points, and W² as the diagonal of the system.
    fn scale(&mut self, scaled: &Scaled, point: &Point) {
        self.diagonal.reset(scaled.blocks.len(), scaled.rows());
        self.scalings.clear();
        let regular = self.regular;
        for (k, (block, pair)) in scaled.blocks.iter().zip(&point.pairs).enumerate() {
            let scaling = pair.scaling(block.kind);
            let range = block.range();
            match block.kind {
                Kind::Free => self.diagonal.regular[block.first] = EQUALITY_REGULARIZATION,
                Kind::Box { .. } => {
                    self.diagonal.entries[block.first] =
                        scaling.stretch[0].powi(2) + scaling.stretch[1].powi(2);
                    self.diagonal.regular[block.first] = regular;
                }
                Kind::Ray | Kind::Lorentz => {
                    self.diagonal.direction[k] = scaling.d;
                    self.diagonal.regular[range.clone()].fill(regular);
                    for (entry, stretch) in
                        self.diagonal.entries[range].iter_mut().zip(scaling.stretch)
                    {
                        *entry = stretch * stretch;
                    }
                }
            }
            self.scalings.push(scaling);
        }
    }

    /// The right-hand side of the complementarity, divided by λ: `−λ + λ\(σμe − second order)`.
    fn aim(&mut self, scaled: &Scaled, second_order: Option<&Direction>, centre: f64) {
        for (k, block) in scaled.blocks.iter().enumerate() {
            if block.kind == Kind::Free {
                continue;
            }
            let mut y = block.kind.identity().map(|e| centre * e);
            if let Some(d) = second_order {
                let product = block.kind.product(&d.scaled_u[k], &d.scaled_r[k]);
                for (y, product) in y.iter_mut().zip(product) {
                    *y -= product;
                }
            }
            let x = self.scalings[k].divide(block.kind, &y);
            self.target[k] = std::array::from_fn(|i| x[i] - self.scalings[k].lambda[i]);
        }
    }

    /// Gondzio's correctors: where the complementarity products after a longer step leave [0.1, 10]
    /// σμ, move them back.
    fn correct_further(
        &mut self,
        scaled: &Scaled,
        kkt: &mut Kkt,
        refine: usize,
        centre: f64,
        best: &mut Direction,
    ) {
        for _ in 0..self.how.max_correctors {
            let step = best.shorter();
            if step > STEP_WITHOUT_CORRECTORS || centre <= 0.0 {
                break;
            }
            let longer = (step + CORRECTOR_STEP_GAIN).min(1.0);
            self.trial.clear();
            self.trial.extend_from_slice(&self.target);
            for (k, block) in scaled.blocks.iter().enumerate() {
                if block.kind == Kind::Free {
                    continue;
                }
                let scaling = &self.scalings[k];
                let at = |d: &Triple| -> Triple {
                    std::array::from_fn(|i| scaling.lambda[i] + longer * d[i])
                };
                let product = block.kind.product(&at(&best.scaled_u[k]), &at(&best.scaled_r[k]));
                let x = scaling
                    .divide(block.kind, &block.kind.clip(&product, 0.1 * centre, 10.0 * centre));
                for (target, x) in self.target[k].iter_mut().zip(x) {
                    *target += x;
                }
            }
            let next = self.direction(scaled, kkt, refine);
            if next.shorter() < step + 0.1 * (longer - step) {
                std::mem::swap(&mut self.trial, &mut self.target);
                self.spare.push(next);
                break;
            }
            self.spare.push(std::mem::replace(best, next));
        }
    }

    /// The direction for the present target, and its steps.
    fn direction(&mut self, scaled: &Scaled, kkt: &mut Kkt, refine: usize) -> Direction {
        let n = scaled.n();
        self.right.clear();
        self.right.extend(self.momentum.iter().map(|x| -x));
        self.right.resize(n + scaled.rows(), 0.0);
        for (k, block) in scaled.blocks.iter().enumerate() {
            let (s, t) = (&self.scalings[k], &self.target[k]);
            let rp = block.pick(&self.local);
            let b = match block.kind {
                Kind::Free => rp,
                Kind::Ray => [rp[0] - s.stretch[0] * t[0], 0.0, 0.0],
                Kind::Box { .. } => [rp[0] - s.stretch[0] * t[0] + s.stretch[1] * t[1], 0.0, 0.0],
                Kind::Lorentz => {
                    let (rp, t) = (rotate(&s.d, &rp), rotate(&s.d, t));
                    std::array::from_fn(|i| rp[i] - s.stretch[i] * t[i])
                }
            };
            block.put(&b, &mut self.right[n..]);
        }
        kkt.solve(&mut self.right, refine);
        let mut out = self.spare.pop().unwrap_or_default();
        out.v.clear();
        out.v.extend_from_slice(&self.right[..n]);
        out.r.resize(scaled.rows(), 0.0);
        out.scaled_u.clear();
        out.scaled_r.clear();
        for (k, block) in scaled.blocks.iter().enumerate() {
            let (s, t) = (&self.scalings[k], &self.target[k]);
            let y = block.pick(&self.right[n..]);
            let (plain, dr) = match block.kind {
                Kind::Free => (y, [0.0; 3]),
                Kind::Ray => (y, [s.stretch[0] * y[0], 0.0, 0.0]),
                Kind::Box { .. } => (y, [s.stretch[0] * y[0], -s.stretch[1] * y[0], 0.0]),
                Kind::Lorentz => (
                    rotate_back(&s.d, &y),
                    rotate_back(&s.d, &std::array::from_fn(|i| s.stretch[i] * y[i])),
                ),
            };
            block.put(&plain, &mut out.r);
            out.scaled_r.push(dr);
            out.scaled_u.push(std::array::from_fn(|i| {
                if block.kind == Kind::Free { 0.0 } else { t[i] - dr[i] }
            }));
        }
        (out.step_u, out.step_r) =
            (self.reach(scaled, &out.scaled_u), self.reach(scaled, &out.scaled_r));
        if self.how.equal {
            out.step_u = out.shorter();
            out.step_r = out.step_u;
        }
        out
    }

    fn reach(&self, scaled: &Scaled, d: &[Triple]) -> f64 {
        let all = scaled.blocks.iter().zip(&self.scalings).zip(d);
        let reach = all.map(|((b, s), d)| s.reach(b.kind, d)).fold(f64::INFINITY, f64::min);
        (self.fraction * reach).min(1.0)
    }

    /// μ after a step along `d`.
    fn gap_after(&self, scaled: &Scaled, d: &Direction) -> f64 {
        let (su, sr) = ((d.step_u / self.fraction).min(1.0), (d.step_r / self.fraction).min(1.0));
        let mut sum = 0.0;
        for (k, block) in scaled.blocks.iter().enumerate() {
            if block.kind != Kind::Free {
                let l = &self.scalings[k].lambda;
                let s: Triple = std::array::from_fn(|i| l[i] + su * d.scaled_u[k][i]);
                let z: Triple = std::array::from_fn(|i| l[i] + sr * d.scaled_r[k][i]);
                sum += dot(&s, &z);
            }
        }
        sum.max(0.0) / scaled.degree().max(1) as f64
    }

    fn advance(&mut self, scaled: &Scaled, point: &mut Point, d: &Direction) {
        self.reactions[0].clone_from(&point.r);
        for (v, dv) in point.v.iter_mut().zip(&d.v) {
            *v += d.step_u * dv;
        }
        for (k, block) in scaled.blocks.iter().enumerate() {
            if block.kind == Kind::Free {
                point.r[block.first] += d.step_r * d.r[block.first];
                continue;
            }
            let pair = &mut point.pairs[k];
            pair.advance(
                block.kind,
                &self.scalings[k],
                (&d.scaled_u[k], d.step_u),
                (&d.scaled_r[k], d.step_r),
            );
            point.r[block.range()].copy_from_slice(&pair.r[..block.rows]);
        }
        self.reactions[1].clone_from(&point.r);
    }
}
