//! Sparse `L D Lᵀ` whose rows come and go.
//!
//! The matrix is symmetric and quasi-definite, `A = [H Jᵀ; J −E]`: its unknowns (columns of H)
//! stay, its constraint rows enter and leave one at a time. The order of elimination and the
//! pattern of L are fixed in advance for all rows that may ever enter; a row that is absent is
//! absent (its row and column of L are zero, its pivot 1), not a huge pivot.
//!
//! With `A = [A₁ a ·; aᵀ α ·; · · A₃]` around the entering row, and every neighbour of the row
//! eliminated before it,
//!
//! ```text
//!   L₁ D₁ l = a,   d = α − lᵀ D₁ l,   m = −L₃₁ D₁ l / d        the new row, pivot and column of L
//!   L₃ D₃ L₃ᵀ ← L₃ D₃ L₃ᵀ − d m mᵀ                            a change of rank one
//! ```
//!
//! and the leaving row does the same backwards. Both touch only the columns on the path of the
//! elimination tree from the row to the root: the cost is the number of entries of L in those
//! columns, where a new factorization costs the sum of the squares of all column lengths.
//! (DavisHager2005; Gill1974, method C1)

use crate::math::sparse::Csr;

const NONE: u32 = u32::MAX;

/// A pivot smaller than this part of the sum of its terms (in absolute value) is rounding: the row
/// depends on others.
const DEPENDENT_PIVOT: f64 = 1e-11;

/// An update that leaves less than this part of a pivot has lost too many digits of it.
const CANCELLED_PIVOT: f64 = 1e-10;

/// The factor.
#[derive(Clone, Debug, Default)]
pub struct Updatable {
    /// Position of each unknown in the order of elimination (n), and its inverse.
    place: Vec<u32>,
    order: Vec<u32>,
    /// L by columns, below the diagonal, rows ascending.
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f64>,
    /// L by rows: the columns, and where their entries stand in `values`.
    row_starts: Vec<usize>,
    row_columns: Vec<u32>,
    row_at: Vec<u32>,
    /// The matrix in the order of elimination: strictly lower triangle by rows, and the diagonal.
    matrix: Csr,
    diagonal: Vec<f64>,
    /// Where each entry of the analysed matrix went: a place in `matrix.values`, or n + position on
    /// the diagonal.
    sources: Vec<usize>,
    d: Vec<f64>,
    present: Vec<bool>,
    work: Vec<f64>,
    /// An update met a pivot of the wrong sign: only a new factorization helps.
    broken: bool,
    analysed: Csr,
}

impl Updatable {
    /// Fixes order and pattern for the symmetric matrix whose lower triangle (diagonal included) is
    /// `lower`. `order[p]` is the unknown that is eliminated as number p.
    pub fn analyse(lower: &Csr, order: &[u32]) -> Updatable {
        let n = lower.rows;
        let mut out =
            Updatable { order: order.to_vec(), place: vec![0; n], ..Updatable::default() };
        for (p, &unknown) in order.iter().enumerate() {
            out.place[unknown as usize] = p as u32;
        }
        out.permute(lower);
        out.fill_pattern();
        out.values = vec![0.0; out.rows.len()];
        out.d = vec![1.0; n];
        out.present = vec![false; n];
        out.work = vec![0.0; n];
        out.analysed = Csr { values: Vec::new(), ..lower.clone() };
        out
    }

    /// True if this analysis was made for the pattern of `lower`.
    pub fn matches(&self, lower: &Csr) -> bool {
        self.analysed.rows == lower.rows
            && self.analysed.starts == lower.starts
            && self.analysed.columns == lower.columns
    }

    /// Takes new values of the analysed matrix, in its order.
    pub fn set_values(&mut self, values: &[f64]) {
        let n = self.matrix.rows;
        for (&to, &x) in self.sources.iter().zip(values) {
            match to.checked_sub(self.matrix.values.len()) {
                None => self.matrix.values[to] = x,
                Some(p) => {
                    debug_assert!(p < n);
                    self.diagonal[p] = x;
                }
            }
        }
    }

    /// Factors the matrix over the unknowns that are `present` (n). `rows_from`: unknowns from this
    /// number on are constraint rows, with negative pivots. `dropped ←` the rows that depend on
    /// others; they are left absent. `Err` names a column whose pivot is not positive.
    pub fn factor(
        &mut self,
        present: &[bool],
        rows_from: usize,
        dropped: &mut Vec<usize>,
    ) -> Result<(), usize> {
        dropped.clear();
        self.broken = false;
        for k in 0..self.order.len() {
            let unknown = self.order[k] as usize;
            self.present[k] = present[unknown];
            if !present[unknown] {
                self.clear(k);
                continue;
            }
            let (pivot, magnitude) = self.eliminate(k);
            let good = if unknown < rows_from {
                pivot > 0.0
            } else {
                pivot < -DEPENDENT_PIVOT * magnitude
            };
            if good && pivot.is_finite() {
                self.d[k] = pivot;
            } else if unknown < rows_from {
                return Err(unknown);
            } else {
                self.clear(k);
                self.present[k] = false;
                dropped.push(unknown);
            }
        }
        Ok(())
    }

    /// Row `unknown` enters. False if the factor broke: it must be factored anew (the row counts as
    /// present).
    pub fn add(&mut self, unknown: usize) -> bool {
        let k = self.place[unknown] as usize;
        debug_assert!(!self.present[k], "the row is absent");
        // The new row of L; what it leaves for later rows gathers in `work`.
        let mut pivot = self.diagonal[k];
        let mut magnitude = pivot.abs();
        let (columns, values) = self.matrix.row(k);
        for (&c, &x) in columns.iter().zip(values) {
            self.work[c as usize] = x;
        }
        for e in self.row_starts[k]..self.row_starts[k + 1] {
            let c = self.row_columns[e] as usize;
            let y = std::mem::take(&mut self.work[c]);
            if y == 0.0 {
                continue;
            }
            let l = y / self.d[c];
            pivot -= l * y;
            magnitude += (l * y).abs();
            for q in self.starts[c]..self.starts[c + 1] {
                self.work[self.rows[q] as usize] -= self.values[q] * y;
            }
            self.values[self.row_at[e] as usize] = l;
        }
        self.work[k] = 0.0;
        self.present[k] = true;
        self.d[k] = pivot;
        self.broken |= !(pivot < -DEPENDENT_PIVOT * magnitude && pivot.is_finite());
        for q in self.starts[k]..self.starts[k + 1] {
            let i = self.rows[q] as usize;
            let m = self.work[i] / pivot;
            self.work[i] = m;
            self.values[q] = m;
        }
        self.rank_one(k, -pivot);
        !self.broken
    }

    /// Row `unknown` leaves. False if the factor broke.
    pub fn remove(&mut self, unknown: usize) -> bool {
        let k = self.place[unknown] as usize;
        debug_assert!(self.present[k], "the row is present");
        for q in self.starts[k]..self.starts[k + 1] {
            self.work[self.rows[q] as usize] = self.values[q];
        }
        let pivot = self.d[k];
        self.clear(k);
        self.present[k] = false;
        for q in self.starts[k]..self.starts[k + 1] {
            self.values[q] = 0.0;
        }
        self.rank_one(k, pivot);
        !self.broken
    }

    /// `x ← A⁻¹ x` over the present unknowns; absent ones come out as they went in.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.order.len();
        for (p, &unknown) in self.order.iter().enumerate() {
            self.work[p] = if self.present[p] { x[unknown as usize] } else { 0.0 };
        }
        for j in 0..n {
            let y = self.work[j];
            if y != 0.0 {
                for q in self.starts[j]..self.starts[j + 1] {
                    self.work[self.rows[q] as usize] -= self.values[q] * y;
                }
            }
        }
        for j in (0..n).rev() {
            if self.present[j] {
                let mut y = self.work[j] / self.d[j];
                for q in self.starts[j]..self.starts[j + 1] {
                    y -= self.values[q] * self.work[self.rows[q] as usize];
                }
                self.work[j] = y;
            }
        }
        for (p, &unknown) in self.order.iter().enumerate() {
            if self.present[p] {
                x[unknown as usize] = self.work[p];
            }
            self.work[p] = 0.0;
        }
    }

    /// True if `unknown` is part of the factor.
    pub fn is_present(&self, unknown: usize) -> bool {
        self.present[self.place[unknown] as usize]
    }

    /// Number of unknowns, absent ones included.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True without unknowns.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Stored entries of L below the diagonal.
    pub fn factor_len(&self) -> usize {
        self.values.len()
    }

    /// Row k of L and its pivot, by elimination of the columns before it. Also the sum of the terms
    /// of the pivot in absolute value.
    fn eliminate(&mut self, k: usize) -> (f64, f64) {
        let mut pivot = self.diagonal[k];
        let mut magnitude = pivot.abs();
        let (columns, values) = self.matrix.row(k);
        for (&c, &x) in columns.iter().zip(values) {
            self.work[c as usize] = if self.present[c as usize] { x } else { 0.0 };
        }
        for e in self.row_starts[k]..self.row_starts[k + 1] {
            let (c, at) = (self.row_columns[e] as usize, self.row_at[e] as usize);
            let y = std::mem::take(&mut self.work[c]);
            if y == 0.0 {
                self.values[at] = 0.0;
                continue;
            }
            // Entries of column c above row k stand before `at`.
            for q in self.starts[c]..at {
                self.work[self.rows[q] as usize] -= self.values[q] * y;
            }
            let l = y / self.d[c];
            self.values[at] = l;
            pivot -= l * y;
            magnitude += (l * y).abs();
        }
        (pivot, magnitude)
    }

    /// Row k of L is zero and its pivot 1.
    fn clear(&mut self, k: usize) {
        for e in self.row_starts[k]..self.row_starts[k + 1] {
            self.values[self.row_at[e] as usize] = 0.0;
        }
        self.d[k] = 1.0;
    }

    /// `L D Lᵀ ← L D Lᵀ + alpha m mᵀ` along the path from k; m stands in `work` and leaves it zero.
    fn rank_one(&mut self, k: usize, mut alpha: f64) {
        let mut j = self.parent(k);
        while let Some(column) = j {
            let p = std::mem::take(&mut self.work[column]);
            if p != 0.0 {
                let old = self.d[column];
                let new = old + alpha * p * p;
                self.broken |= !(new * old > 0.0
                    && new.abs() > CANCELLED_PIVOT * old.abs()
                    && new.is_finite());
                let beta = alpha * p / new;
                alpha *= old / new;
                self.d[column] = new;
                for q in self.starts[column]..self.starts[column + 1] {
                    let i = self.rows[q] as usize;
                    let m = self.work[i] - p * self.values[q];
                    self.work[i] = m;
                    self.values[q] += beta * m;
                }
            }
            j = self.parent(column);
        }
    }

    fn parent(&self, k: usize) -> Option<usize> {
        (self.starts[k] < self.starts[k + 1]).then(|| self.rows[self.starts[k]] as usize)
    }

    /// The matrix in the order of elimination.
    fn permute(&mut self, lower: &Csr) {
        let n = lower.rows;
        let mut entries: Vec<(u32, u32, usize)> = Vec::with_capacity(lower.nonzeros());
        let mut on_diagonal = Vec::new();
        for i in 0..n {
            for e in lower.starts[i]..lower.starts[i + 1] {
                let (p, q) = (self.place[i], self.place[lower.columns[e] as usize]);
                if p == q {
                    on_diagonal.push((e, p as usize));
                } else {
                    entries.push((p.max(q), p.min(q), e));
                }
            }
        }
        entries.sort_unstable();
        self.matrix = Csr::empty(n, n);
        self.sources = vec![0; lower.nonzeros()];
        for (at, &(row, column, e)) in entries.iter().enumerate() {
            self.matrix.columns.push(column);
            self.matrix.values.push(lower.values[e]);
            self.matrix.starts[row as usize + 1] = at + 1;
            self.sources[e] = at;
        }
        for i in 0..n {
            self.matrix.starts[i + 1] = self.matrix.starts[i + 1].max(self.matrix.starts[i]);
        }
        self.diagonal = vec![0.0; n];
        for (e, p) in on_diagonal {
            self.diagonal[p] = lower.values[e];
            self.sources[e] = entries.len() + p;
        }
    }

    /// The pattern of L: row k reaches, from each of its entries, up the elimination tree to k.
    fn fill_pattern(&mut self) {
        let n = self.matrix.rows;
        let (mut parent, mut mark) = (vec![NONE; n], vec![NONE; n]);
        let mut counts = vec![0usize; n + 1];
        self.row_starts = vec![0];
        for k in 0..n {
            mark[k] = k as u32;
            let first = self.row_columns.len();
            for &c in self.matrix.row(k).0 {
                let mut j = c as usize;
                while mark[j] != k as u32 {
                    mark[j] = k as u32;
                    self.row_columns.push(j as u32);
                    counts[j + 1] += 1;
                    if parent[j] == NONE {
                        parent[j] = k as u32;
                    }
                    j = parent[j] as usize;
                }
            }
            self.row_columns[first..].sort_unstable();
            self.row_starts.push(self.row_columns.len());
        }
        for j in 0..n {
            counts[j + 1] += counts[j];
        }
        self.starts = counts.clone();
        self.rows = vec![0; self.row_columns.len()];
        self.row_at = vec![0; self.row_columns.len()];
        let mut next = counts;
        for k in 0..n {
            for e in self.row_starts[k]..self.row_starts[k + 1] {
                let c = self.row_columns[e] as usize;
                self.rows[next[c]] = k as u32;
                self.row_at[e] = next[c] as u32;
                next[c] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of n masses and n rows between neighbours (row i: v_i − 2 v_{i+1}), each row right
    /// after its last mass.
    fn chain(n: usize) -> (Csr, Vec<u32>) {
        let mut t = Vec::new();
        for i in 0..=n as u32 {
            t.push((i, i, 1.0 + f64::from(i % 3)));
        }
        let mut order = vec![0];
        for i in 0..n as u32 {
            let row = n as u32 + 1 + i;
            t.extend([(row, i, 1.0), (row, i + 1, -2.0), (row, row, 0.0)]);
            order.extend([i + 1, row]);
        }
        let size = 2 * n + 1;
        (Csr::from_triplets(size, size, &t), order)
    }

    fn residual(lower: &Csr, present: &[bool], x: &[f64], b: &[f64]) -> f64 {
        let mut y: Vec<f64> = b.to_vec();
        for i in 0..lower.rows {
            let (columns, values) = lower.row(i);
            for (&j, a) in columns.iter().zip(values) {
                let j = j as usize;
                if present[i] && present[j] {
                    y[i] -= a * x[j];
                    if i != j {
                        y[j] -= a * x[i];
                    }
                }
            }
        }
        (0..y.len()).filter(|&i| present[i]).fold(0.0, |m, i| y[i].abs().max(m))
    }

    #[test]
    fn rows_come_and_go_and_the_factor_stays_true() {
        let n = 40;
        let (lower, order) = chain(n);
        let mut factor = Updatable::analyse(&lower, &order);
        let mut present: Vec<bool> = (0..lower.rows).map(|i| i <= n).collect();
        let mut dropped = Vec::new();
        assert!(factor.factor(&present, n + 1, &mut dropped).is_ok() && dropped.is_empty());
        let b: Vec<f64> = (0..lower.rows).map(|i| (i as f64).sin()).collect();
        let mut seed = 1u32;
        for _ in 0..400 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let row = n + 1 + (seed >> 16) as usize % n;
            assert!(if present[row] { factor.remove(row) } else { factor.add(row) });
            present[row] = !present[row];
            let mut x = b.clone();
            factor.solve(&mut x);
            // Entries and answers are of order one: a few hundred units of rounding after 400
            // updates.
            assert!(residual(&lower, &present, &x, &b) < 1e-12);
        }
    }

    #[test]
    fn a_dependent_row_is_left_out_and_named() {
        // Row 3 = row 2 times −3, over two masses.
        let t = [(0, 0, 1.0), (1, 1, 2.0), (2, 0, 1.0), (2, 1, 1.0), (3, 0, -3.0), (3, 1, -3.0)];
        let lower = Csr::from_triplets(4, 4, &t);
        let mut factor = Updatable::analyse(&lower, &[0, 1, 2, 3]);
        let mut dropped = Vec::new();
        assert_eq!((factor.factor(&[true; 4], 2, &mut dropped), &dropped[..]), (Ok(()), &[3][..]));
        let mut x = [1.0, 1.0, 0.0, 5.0];
        factor.solve(&mut x);
        assert!((x[0] + x[1]).abs() < 1e-15);
        assert_eq!(x[3], 5.0);
        factor.set_values(&[-1.0, 2.0, 1.0, 1.0, -3.0, -3.0]);
        assert_eq!(factor.factor(&[true; 4], 2, &mut dropped), Err(0));
    }
}
