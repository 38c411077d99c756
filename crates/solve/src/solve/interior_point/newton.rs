//! The semismooth Newton step on the natural map, in the same system.
//!
//! ```text
//!   r = P(z),  z = r − u/c        dP/dz = Q diag(b) Qᵀ,  b = ([z₊ > 0], [z₋ > 0], (z₊⁺ − z₋⁺)/2‖z₁‖)
//!   b_i = 0:   dr_i = −res_i                                 res = r − P(z), in the basis Q
//!   else:      (Ĵq dv + M̂q dr)_i + c (1 − b_i)/b_i dr_i = −c res_i / b_i
//! ```
//!
//! Near a solution whose active set is known it ends at rounding in one to three steps; a step is
//! kept only if the merit ½(‖natural map‖² + ‖momentum defect‖²) falls to a third.

use super::cone::{IDENTITY_DIRECTION, Kind, Triple, length, rotate, rotate_back};
use super::kkt::{Diagonal, Kkt};
use super::path::EQUALITY_REGULARIZATION;
use super::scaled::Scaled;
use crate::math::ldlt::BadPivot;

/// Compliance added to active rows, in the unit of the scaled W.
const ACTIVE_ROW_REGULARIZATION: f64 = 1e-12;
/// Steps of refinement against the system without it.
const REFINEMENT_STEPS: usize = 3;

/// Work space of the step.
#[derive(Default)]
pub struct Newton {
    diagonal: Diagonal,
    local: Vec<f64>,
    rho: Vec<f64>,
    floor: Vec<f64>,
    fixed: Vec<f64>,
    right: Vec<f64>,
    coupled: Vec<f64>,
    touched: Vec<bool>,
}

impl Newton {
    /// ½(‖natural map‖² + ‖momentum defect above rounding‖²), J.
    pub fn merit(&mut self, scaled: &Scaled, v: &[f64], r: &[f64]) -> f64 {
        self.evaluate(scaled, v, r, true);
        let mut sum = crate::math::dot(&self.rho, &self.rho);
        for block in &scaled.blocks {
            let x = natural(block.kind, &block.pick(&self.local), &block.pick(r));
            sum += x.iter().map(|x| x * x).sum::<f64>();
        }
        0.5 * sum
    }

    /// One step from (v, r), in place.
    pub fn step(
        &mut self,
        scaled: &Scaled,
        kkt: &mut Kkt,
        c: f64,
        v: &mut [f64],
        r: &mut [f64],
    ) -> Result<(), BadPivot> {
        self.evaluate(scaled, v, r, false);
        let n = scaled.n();
        self.linearise(scaled, c, r, if kkt.light_first { 0.0 } else { ACTIVE_ROW_REGULARIZATION });
        if let Err(bad) = kkt.factor(scaled, &self.diagonal) {
            if !kkt.light_first {
                return Err(bad);
            }
            for (regular, pinned) in self.diagonal.regular.iter_mut().zip(&self.diagonal.pinned) {
                *regular = if *pinned { 0.0 } else { regular.max(ACTIVE_ROW_REGULARIZATION) };
            }
            kkt.factor(scaled, &self.diagonal)?;
        }
        kkt.solve(&mut self.right, REFINEMENT_STEPS);
        for (v, dv) in v.iter_mut().zip(&self.right) {
            *v += dv;
        }
        for (k, block) in scaled.blocks.iter().enumerate() {
            let y = block.pick(&self.right[n..]);
            let d = if block.kind == Kind::Lorentz {
                rotate_back(&self.diagonal.direction[k], &y)
            } else {
                y
            };
            for (r, d) in r[block.range()].iter_mut().zip(d) {
                *r += d;
            }
        }
        Ok(())
    }

    /// The active set at the measured point: two bits per block, for telling whether it changes.
    pub fn pattern(&self, scaled: &Scaled, c: f64, r: &[f64], out: &mut Vec<u8>) {
        out.clear();
        for block in &scaled.blocks {
            let (u, r) = (block.pick(&self.local), block.pick(r));
            let z: Triple = std::array::from_fn(|i| r[i] - u[i] / c);
            out.push(match block.kind {
                Kind::Free => 3,
                Kind::Ray => u8::from(z[0] > 0.0),
                Kind::Box { length } => u8::from(z[0] > 0.0) + 2 * u8::from(z[0] > length),
                Kind::Lorentz => {
                    let t = length(z[1], z[2]);
                    u8::from(z[0] + t > 0.0) + 2 * u8::from(z[0] - t > 0.0)
                }
            });
        }
    }

    /// Active rows per unknown that they touch: above one, Newton's system contradicts itself
    /// almost surely.
    pub fn active_ratio(&mut self, scaled: &Scaled, v: &[f64], r: &[f64]) -> f64 {
        self.measure(scaled, v, r);
        let touched = &mut self.touched;
        touched.clear();
        touched.resize(scaled.n(), false);
        let (mut rows, mut free) = (0.0, 0.0);
        for (k, block) in scaled.blocks.iter().enumerate() {
            let part = linear(block.kind, 1.0, &block.pick(&self.local), &block.pick(r));
            let from = scaled.J.block(k);
            if part.b[0] == 0.0 {
                continue;
            }
            let active = part.b.iter().take(block.rows).filter(|b| **b > 0.9).count() as f64;
            *if block.kind == Kind::Free { &mut free } else { &mut rows } += active;
            for i in 0..block.rows {
                for (&j, x) in from.columns.iter().zip(from.row(i)) {
                    touched[j as usize] |= *x != 0.0;
                }
            }
        }
        let left = touched.iter().filter(|t| **t).count() as f64 - free;
        if rows == 0.0 { 0.0 } else { rows / left.max(1e-3) }
    }

    /// The local velocities at (v, r).
    pub fn measure(&mut self, scaled: &Scaled, v: &[f64], r: &[f64]) {
        self.local.resize(scaled.rows(), 0.0);
        scaled.local_velocities(v, r, &mut self.local);
    }

    fn evaluate(&mut self, scaled: &Scaled, v: &[f64], r: &[f64], floor: bool) {
        self.measure(scaled, v, r);
        self.rho.resize(scaled.n(), 0.0);
        scaled.momentum(v, r, floor.then_some(&mut self.floor), &mut self.rho);
    }

    /// Diagonal and right-hand side at the present point.
    fn linearise(&mut self, scaled: &Scaled, c: f64, r: &[f64], regular: f64) {
        let (n, m) = (scaled.n(), scaled.rows());
        self.diagonal.reset(scaled.blocks.len(), m);
        self.right.clear();
        self.right.extend(self.rho.iter().map(|x| -x));
        self.right.resize(n + m, 0.0);
        self.fixed.clear();
        self.fixed.resize(m, 0.0);
        for (k, block) in scaled.blocks.iter().enumerate() {
            let (u, r) = (block.pick(&self.local), block.pick(r));
            let part = linear(block.kind, c, &u, &r);
            self.diagonal.direction[k] = part.d;
            let mut known = [0.0; 3];
            for (i, known) in known.iter_mut().enumerate().take(block.rows) {
                let row = block.first + i;
                let (b, res) = (part.b[i], part.res[i]);
                if b > 1e-12 {
                    self.diagonal.entries[row] = c * (1.0 - b) / b;
                    self.diagonal.regular[row] =
                        if block.kind == Kind::Free { EQUALITY_REGULARIZATION } else { regular };
                    self.right[n + row] = c * res / b;
                } else {
                    self.diagonal.pinned[row] = true;
                    self.right[n + row] = res;
                    *known = -res;
                }
            }
            let known =
                if block.kind == Kind::Lorentz { rotate_back(&part.d, &known) } else { known };
            block.put(&known, &mut self.fixed);
        }
        // What the known reactions do to the other equations.
        scaled.J.add_transposed(&self.fixed, &mut self.right[..n]);
        if !scaled.couplings.is_empty() {
            self.coupled.clear();
            self.coupled.resize(m, 0.0);
            scaled.couple(&self.fixed, &mut self.coupled);
            for (k, block) in scaled.blocks.iter().enumerate() {
                let x = block.pick(&self.coupled);
                let x = if block.kind == Kind::Lorentz {
                    rotate(&self.diagonal.direction[k], &x)
                } else {
                    x
                };
                for (i, x) in x.iter().enumerate().take(block.rows) {
                    if !self.diagonal.pinned[block.first + i] {
                        self.right[n + block.first + i] += x;
                    }
                }
            }
        }
    }
}

/// dP/dz and r − P(z) of a block, in its eigenbasis.
struct Linear {
    d: [f64; 2],
    b: Triple,
    res: Triple,
}

fn linear(kind: Kind, c: f64, u: &Triple, r: &Triple) -> Linear {
    let d = [1.0, 0.0];
    let z: Triple = std::array::from_fn(|i| r[i] - u[i] / c);
    let active = |on: bool, bound: f64| Linear {
        d,
        b: [f64::from(on), 0.0, 0.0],
        res: [if on { u[0] / c } else { r[0] - bound }, 0.0, 0.0],
    };
    match kind {
        Kind::Free => active(true, 0.0),
        Kind::Ray => active(z[0] > 0.0, 0.0),
        Kind::Box { length } => active(z[0] > 0.0 && z[0] < length, z[0].clamp(0.0, length)),
        Kind::Lorentz => {
            let t = length(z[1], z[2]);
            let d = if t > 0.0 { [z[1] / t, z[2] / t] } else { d };
            let (plus, minus) = (z[0] + t, z[0] - t);
            if minus > 0.0 {
                // A sticking contact in its own basis: turned, its normal would mix with its
                // tangents, and a light body under heavy ones would lose its digits.
                return Linear { d: IDENTITY_DIRECTION, b: [1.0; 3], res: u.map(|u| u / c) };
            }
            let around = if minus >= 0.0 {
                1.0
            } else if plus <= 0.0 {
                0.0
            } else {
                plus / (2.0 * t)
            };
            let b = [f64::from(plus > 0.0), f64::from(minus > 0.0), around];
            let (u, r) = (rotate(&d, u), rotate(&d, r));
            // Where z is not cut, r − P(z) is u/c, without cancellation; where it is, r.
            let res = std::array::from_fn(|i| if b[i] == 1.0 { u[i] / c } else { r[i] });
            Linear { d, b, res }
        }
    }
}

/// `r − P(r − u)`, in the form that cancels less.
fn natural(kind: Kind, u: &Triple, r: &Triple) -> Triple {
    let part = linear(kind, 1.0, u, r);
    if kind == Kind::Lorentz { rotate_back(&part.d, &part.res) } else { part.res }
}
