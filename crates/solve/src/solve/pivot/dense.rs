//! The walk's basis on a reduced problem: Cholesky of `W_FF`, grown and shrunk row by row.

use super::walk::{Basis, Response};
use crate::math::cholesky_update::GrowingCholesky;
use crate::problem::Reduced;

/// Stiffness below this part of W_ii counts as dependence: W is stored as a matrix, its own
/// rounding is all that is known.
const DEPENDENT_STIFFNESS: f64 = 1e-11;

/// The basis of a reduced problem with a symmetric W.
pub(super) struct Dense<'a> {
    reduced: &'a Reduced,
    /// W as dense rows.
    w: Vec<f64>,
    a: Vec<f64>,
    factor: GrowingCholesky,
    /// The free rows in the order of the factor.
    members: Vec<usize>,
    work: Vec<f64>,
    stale: bool,
    factorizations: u64,
}

impl<'a> Dense<'a> {
    pub(super) fn new(reduced: &'a Reduced) -> Dense<'a> {
        let m = reduced.rows();
        let w = reduced.W.to_dense();
        let a = (0..m).map(|i| w[i * m + i]).collect();
        Dense {
            reduced,
            w,
            a,
            factor: GrowingCholesky::default(),
            members: Vec::new(),
            work: Vec::new(),
            stale: false,
            factorizations: 0,
        }
    }

    /// `W_Fi` in the order of the factor.
    fn border(&mut self, i: usize) {
        let row = &self.w[i * self.a.len()..(i + 1) * self.a.len()];
        self.work.clear();
        self.work.extend(self.members.iter().map(|&j| row[j]));
    }

    fn append(&mut self, i: usize) -> bool {
        self.border(i);
        let joined =
            self.factor.append(&self.work, self.a[i], DEPENDENT_STIFFNESS * self.a[i]).is_ok();
        if joined {
            self.members.push(i);
        }
        joined
    }
}

impl Basis for Dense<'_> {
    fn restart(&mut self, free: &[bool], dropped: &mut Vec<usize>) {
        self.factor.clear();
        self.members.clear();
        self.stale = false;
        self.factorizations += 1;
        dropped.clear();
        dropped.extend((0..free.len()).filter(|&i| free[i] && !self.append(i)));
    }

    fn add(&mut self, i: usize) -> bool {
        self.stale = true;
        self.append(i)
    }

    fn remove(&mut self, i: usize) -> bool {
        self.stale = true;
        if let Some(k) = self.members.iter().position(|&j| j == i) {
            self.members.remove(k);
            self.factor.remove(k);
        }
        true
    }

    fn stale(&self) -> bool {
        self.stale
    }

    fn settle(&mut self, r: &mut [f64], steps: usize) {
        let mut last = f64::INFINITY;
        for _ in 0..steps {
            self.work.clear();
            let (reduced, members) = (self.reduced, &self.members);
            self.work.extend(members.iter().map(|&i| -(reduced.W.row_dot(i, r) + reduced.q[i])));
            let defect: f64 = self.work.iter().map(|x| x.abs()).sum();
            if defect >= 0.5 * last {
                break;
            }
            last = defect;
            self.factor.solve(&mut self.work);
            for (&i, d) in self.members.iter().zip(&self.work) {
                r[i] += d;
            }
        }
    }

    fn respond(&mut self, i: usize, dr: &mut [f64]) -> Response {
        self.border(i);
        self.factor.solve(&mut self.work);
        dr.fill(0.0);
        let row = &self.w[i * self.a.len()..(i + 1) * self.a.len()];
        let mut stiffness = self.a[i];
        for (&j, x) in self.members.iter().zip(&self.work) {
            dr[j] = -x;
            stiffness -= row[j] * x;
        }
        dr[i] = 1.0;
        Response {
            stiffness: if stiffness > DEPENDENT_STIFFNESS * self.a[i] { stiffness } else { 0.0 },
        }
    }

    fn advance(&mut self, _step: f64) {}

    fn velocities(&self, r: &[f64], u: &mut [f64], noise: &mut [f64]) {
        for i in 0..r.len() {
            let (columns, values) = self.reduced.W.row(i);
            let (mut sum, mut magnitude) = (self.reduced.q[i], self.reduced.q[i].abs());
            for (&j, x) in columns.iter().zip(values) {
                let term = x * r[j as usize];
                sum += term;
                magnitude += term.abs();
            }
            u[i] = sum;
            noise[i] = magnitude * f64::EPSILON;
        }
    }

    fn a(&self) -> &[f64] {
        &self.a
    }

    fn factorizations(&self) -> u64 {
        self.factorizations
    }
}
