//! All equality rows as one block, solved exactly within the sweep.
//!
//! ```text
//!   N Δl = −(q̂ + Ĝ z + Ê l),   N = Ĝ Ĝᵀ + Ê,   z += Ĝᵀ Δl
//! ```
//!
//! N is factored once per problem (sparse L D Lᵀ). Rows that depend on others show a pivot that
//! vanishes against their unit diagonal: they are left out, so that redundant joints neither fail
//! nor drift; if the rows left out contradict the others, their error stays in the residual.

use super::state::State;
use crate::math::ldlt::{Ldlt, Ordering};
use crate::math::sparse::{Csr, Sums};
use std::ops::Range;

/// A pivot below this part of the diagonal is a dependent row; rounding of the sums behind it is
/// 1e-15 times the fill.
const DEPENDENT_PIVOT: f64 = 1e-9;

/// The diagonal that keeps a row out of the solution.
const ABSENT_DIAGONAL: f64 = 1e100;

/// The equality rows of a problem, at the first places of r̂.
#[derive(Default)]
pub(super) struct Joints {
    rows: Vec<Row>,
    coordinates: Vec<u32>,
    values: Vec<f64>,
    compliance: Vec<f64>,
    /// N (lower triangle), its factor, and whether that is of the present rows.
    lower: Csr,
    factor: Option<Ldlt>,
    factored: bool,
    right: Vec<f64>,
    before: Vec<f64>,
    /// While N is formed and factored: where rows write, by rows and by coordinates, a row of N,
    /// signs, rows to be left out.
    written: Csr,
    writers: Csr,
    sums: Sums,
    signs: Vec<i8>,
    small: Vec<usize>,
    /// Rows left out because others imply them.
    pub dependent: usize,
}

struct Row {
    read: Range<usize>,
    write: Range<usize>,
}

impl Joints {
    /// Forgets the rows; the analysis of N is kept for the next of the same pattern.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.coordinates.clear();
        self.values.clear();
        self.compliance.clear();
        self.factored = false;
        self.dependent = 0;
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a scaled row: where it reads and where it writes.
    pub(super) fn push(
        &mut self,
        read: (&[u32], &[f64]),
        write: (&[u32], &[f64]),
        compliance: f64,
    ) {
        let mut add = |(coordinates, values): (&[u32], &[f64])| {
            let start = self.values.len();
            for (&c, &x) in coordinates.iter().zip(values) {
                if x != 0.0 {
                    self.coordinates.push(c);
                    self.values.push(x);
                }
            }
            start..self.values.len()
        };
        let row = Row { read: add(read), write: add(write) };
        self.rows.push(row);
        self.compliance.push(compliance);
    }

    /// Factors N; false if that is impossible.
    pub(super) fn factor(&mut self, coordinates: usize) -> bool {
        self.set_matrix(coordinates);
        let Joints { lower, factor, signs, small, .. } = self;
        let n = lower.rows;
        let diagonal = |lower: &Csr, i: usize| lower.starts[i + 1] - 1;
        for i in 0..n {
            let d = diagonal(lower, i);
            lower.values[d] += 1e-3 * DEPENDENT_PIVOT;
        }
        if !factor.as_ref().is_some_and(|ldlt| ldlt.matches(lower)) {
            *factor = Some(Ldlt::analyse(lower, Ordering::Amd));
        }
        let Some(ldlt) = factor else { return false };
        signs.clear();
        signs.resize(n, 1);
        // A bad pivot is a dependent row as well; each round leaves out at least one row.
        for _ in 0..=n {
            small.clear();
            match ldlt.factor(&lower.values, signs) {
                Ok(()) => ldlt.pivots(|i, pivot| {
                    if pivot < DEPENDENT_PIVOT {
                        small.push(i);
                    }
                }),
                Err(bad) if lower.values[diagonal(lower, bad.unknown)] < ABSENT_DIAGONAL => {
                    small.push(bad.unknown)
                }
                Err(_) => return false,
            }
            if small.is_empty() {
                self.right.clear();
                self.right.resize(n, 0.0);
                self.factored = true;
                return true;
            }
            self.dependent += small.len();
            for &i in &*small {
                let d = diagonal(lower, i);
                lower.values[d] = ABSENT_DIAGONAL;
            }
        }
        false
    }

    /// The lower triangle of N, row by row, the diagonal last in each row.
    fn set_matrix(&mut self, coordinates: usize) {
        let Joints {
            rows, coordinates: at, values, compliance, lower, written, writers, sums, ..
        } = self;
        written.clear(rows.len(), coordinates);
        for (i, row) in rows.iter().enumerate() {
            written.columns.extend_from_slice(&at[row.write.clone()]);
            written.values.extend_from_slice(&values[row.write.clone()]);
            written.starts[i + 1] = written.columns.len();
        }
        written.transpose_into(writers);
        lower.clear(rows.len(), rows.len());
        sums.reset(rows.len());
        for (i, row) in rows.iter().enumerate() {
            for p in row.read.clone() {
                let (js, xs) = writers.row(at[p] as usize);
                for (&j, &x) in js.iter().zip(xs).take_while(|(j, _)| **j as usize <= i) {
                    sums.add(j, values[p] * x);
                }
            }
            sums.add(i as u32, compliance[i]);
            sums.end_row(i, lower);
        }
    }

    /// Adds the velocities that belong to the reactions of the joints.
    pub(super) fn spread(&self, x: &mut State, mesh: usize) {
        for (i, row) in self.rows.iter().enumerate() {
            self.apply(row, x.r[i], x, mesh);
        }
    }

    fn apply(&self, row: &Row, delta: f64, x: &mut State, mesh: usize) {
        for p in row.write.clone() {
            x.z[self.coordinates[p] as usize] += self.values[p] * delta;
        }
        for p in row.read.clone() {
            let c = self.coordinates[p] as usize;
            if c >= mesh && !x.p.is_empty() {
                x.p[c - mesh] += self.values[p] * delta;
            }
        }
    }

    /// Puts z on the joints; returns the energy that this took, twice.
    pub(super) fn solve(&mut self, q: &[f64], x: &mut State, mesh: usize) -> f64 {
        let Some(factor) = self.factor.as_mut().filter(|_| self.factored) else { return 0.0 };
        for (i, row) in self.rows.iter().enumerate() {
            let sum: f64 =
                row.read.clone().map(|p| self.values[p] * x.z[self.coordinates[p] as usize]).sum();
            self.right[i] = -(q[i] + sum + self.compliance[i] * x.r[i]);
        }
        self.before.clear();
        self.before.extend_from_slice(&self.right);
        factor.solve(&mut self.right);
        let mut energy = 0.0;
        for (i, row) in self.rows.iter().enumerate() {
            energy += self.before[i] * self.right[i];
            x.r[i] += self.right[i];
            self.apply(row, self.right[i], x, mesh);
        }
        f64::abs(energy)
    }
}
