//! Sparse `A = L D Lᵀ` of a symmetric quasi-definite matrix: one analysis per pattern, many
//! factorizations.
//!
//! The numeric work is faer's supernodal (or, for small fill, simplicial) factorization without
//! pivoting. It is safe where the sign of every pivot is known beforehand, as in
//!
//! ```text
//!   [ H   Jᵀ ]      H ≻ 0: sign +
//!   [ J  −C  ]      C ≻ 0: sign −
//! ```
//!
//! A pivot of the wrong sign, or none, is an error that names the unknown: it never becomes a NaN.

use super::BadPivot;
use crate::math::sparse::Csr;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt::factor::{LdltError, LdltRegularization};
use faer::linalg::matmul::matmul;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Accum, Conj, MatMut, MatRef, Par, Side};

/// In which order the unknowns are eliminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering<'a> {
    /// Approximate minimum degree: least fill.
    Amd,
    /// As they are numbered.
    Natural,
    /// Position i of the elimination is the unknown `order[i]`.
    Given(&'a [u32]),
}

/// The most columns that are solved for together.
const MAX_RIGHT_HAND_SIDES: usize = 64;

/// The factorization of a matrix whose pattern stays.
pub struct Ldlt {
    n: usize,
    starts: Vec<u32>,
    rows: Vec<u32>,
    symbolic: SymbolicCholesky<u32>,
    factor: Vec<f64>,
    scratch: MemBuffer,
}

impl Ldlt {
    /// Analyses the pattern of `lower`: row i holds the entries (i, j), j ≤ i, of the symmetric
    /// matrix. Every diagonal entry must be stored.
    pub fn analyse(lower: &Csr, ordering: Ordering<'_>) -> Ldlt {
        let n = lower.rows;
        // The lower triangle by rows is the upper triangle by columns.
        let starts: Vec<u32> = lower.starts.iter().map(|&s| s as u32).collect();
        let rows = lower.columns.clone();
        let inverse: Vec<u32>;
        let order = match ordering {
            Ordering::Amd => SymmetricOrdering::Amd,
            Ordering::Natural => SymmetricOrdering::Identity,
            Ordering::Given(order) => {
                let mut places = vec![0u32; n];
                for (place, &unknown) in order.iter().enumerate() {
                    places[unknown as usize] = place as u32;
                }
                inverse = places;
                SymmetricOrdering::Custom(faer::perm::PermRef::new_checked(order, &inverse, n))
            }
        };
        let params = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: SupernodalThreshold::AUTO,
            ..Default::default()
        };
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Upper, order, params)
            .expect("the pattern is valid and its factor fits into memory");
        let solve = symbolic.solve_in_place_scratch::<f64>(MAX_RIGHT_HAND_SIDES, Par::Seq);
        let numeric = symbolic.factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Default::default());
        let scratch = MemBuffer::new(solve.or(numeric));
        let factor = vec![0.0; symbolic.len_val()];
        Ldlt { n, starts, rows, symbolic, factor, scratch }
    }

    /// True if this analysis was made for the pattern of `lower`.
    pub fn matches(&self, lower: &Csr) -> bool {
        self.n == lower.rows
            && self.rows == lower.columns
            && self.starts.iter().zip(&lower.starts).all(|(&a, &b)| a as usize == b)
    }

    /// Factors the matrix with these values (in the order of the analysed pattern).
    /// `signs` (n) holds +1 or −1: the sign that each pivot must have.
    pub fn factor(&mut self, values: &[f64], signs: &[i8]) -> Result<(), BadPivot> {
        let pattern =
            SymbolicSparseColMatRef::new_checked(self.n, self.n, &self.starts, None, &self.rows);
        let matrix = SparseColMatRef::new(pattern, values);
        let stack = MemStack::new(&mut self.scratch);
        let result = self.symbolic.factorize_numeric_ldlt(
            &mut self.factor,
            matrix,
            Side::Upper,
            LdltRegularization::default(),
            Par::Seq,
            stack,
            Default::default(),
        );
        if let Err(LdltError::ZeroPivot { index }) = result {
            // The simplicial factorization counts from one.
            return Err(BadPivot { unknown: self.unknown_at(index.min(self.n - 1)), pivot: 0.0 });
        }
        self.check_signs(signs)
    }

    /// `x ← A⁻¹ x`, for each of the columns that x holds one after another.
    pub fn solve(&mut self, x: &mut [f64]) {
        for x in x.chunks_mut((MAX_RIGHT_HAND_SIDES * self.n).max(1)) {
            let columns = x.len() / self.n;
            LdltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(x, self.n, columns),
                Par::Seq,
                MemStack::new(&mut self.scratch),
            );
        }
    }

    /// Number of unknowns.
    pub fn len(&self) -> usize {
        self.n
    }

    /// True without unknowns.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Stored numbers of the factor.
    pub fn factor_len(&self) -> usize {
        self.factor.len()
    }

    /// Calls `visit(unknown, pivot)` for every pivot, in the order of elimination.
    pub fn pivots(&self, mut visit: impl FnMut(usize, f64)) {
        match self.symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(s) => {
                for place in 0..self.n {
                    visit(self.unknown_at(place), self.factor[s.col_ptr()[place] as usize]);
                }
            }
            SymbolicCholeskyRaw::Supernodal(s) => {
                for node in 0..s.n_supernodes() {
                    let (begin, end) =
                        (s.supernode_begin()[node] as usize, s.supernode_end()[node] as usize);
                    let rows = end - begin
                        + (s.col_ptr_for_row_idx()[node + 1] - s.col_ptr_for_row_idx()[node])
                            as usize;
                    let at = s.col_ptr_for_val()[node] as usize;
                    for c in 0..end - begin {
                        visit(self.unknown_at(begin + c), self.factor[at + c * rows + c]);
                    }
                }
            }
        }
    }

    /// The unknowns in the order of their elimination.
    pub fn order(&self) -> Vec<u32> {
        (0..self.n).map(|place| self.unknown_at(place) as u32).collect()
    }

    /// The Schur complement of the unknowns that are eliminated last, from place `first` on (t × t,
    /// symmetric, in the order of their elimination): with L and D of those unknowns alone it is
    /// `L D Lᵀ`.
    pub fn trailing(&self, first: usize, out: &mut Vec<f64>) {
        let t = self.n - first;
        let (mut lower, mut pivots) = (vec![0.0; t * t], vec![0.0; t]);
        let mut put = |row: usize, column: usize, x: f64| {
            if row == column {
                pivots[column - first] = x;
                lower[(column - first) * (t + 1)] = 1.0;
            } else {
                lower[(column - first) * t + row - first] = x;
            }
        };
        match self.symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(s) => {
                for column in first..self.n {
                    for at in s.col_ptr()[column] as usize..s.col_ptr()[column + 1] as usize {
                        put(s.row_idx()[at] as usize, column, self.factor[at]);
                    }
                }
            }
            SymbolicCholeskyRaw::Supernodal(s) => {
                for node in 0..s.n_supernodes() {
                    let (begin, end) =
                        (s.supernode_begin()[node] as usize, s.supernode_end()[node] as usize);
                    let below = &s.row_idx()[s.col_ptr_for_row_idx()[node] as usize
                        ..s.col_ptr_for_row_idx()[node + 1] as usize];
                    let rows = end - begin + below.len();
                    for column in begin.max(first)..end {
                        let values = &self.factor
                            [s.col_ptr_for_val()[node] as usize + (column - begin) * rows..]
                            [..rows];
                        (column..end).for_each(|row| put(row, column, values[row - begin]));
                        below
                            .iter()
                            .zip(&values[end - begin..])
                            .for_each(|(&row, &x)| put(row as usize, column, x));
                    }
                }
            }
        }
        let mut scaled = lower.clone();
        for (column, pivot) in scaled.chunks_mut(t.max(1)).zip(&pivots) {
            column.iter_mut().for_each(|x| *x *= pivot);
        }
        out.clear();
        out.resize(t * t, 0.0);
        matmul(
            MatMut::from_column_major_slice_mut(out, t, t),
            Accum::Replace,
            MatRef::from_column_major_slice(&scaled, t, t),
            MatRef::from_column_major_slice(&lower, t, t).transpose(),
            1.0,
            Par::Seq,
        );
        // Equal to the last bit on both sides.
        for i in 0..t {
            for j in 0..i {
                out[i * t + j] = out[j * t + i];
            }
        }
    }

    fn unknown_at(&self, place: usize) -> usize {
        match self.symbolic.perm() {
            Some(p) => p.arrays().0[place] as usize,
            None => place,
        }
    }

    fn check_signs(&self, signs: &[i8]) -> Result<(), BadPivot> {
        let mut bad = None;
        self.pivots(|unknown, pivot| {
            let good = pivot.is_finite() && pivot * f64::from(signs[unknown]) > 0.0;
            if !good && bad.is_none() {
                bad = Some(BadPivot { unknown, pivot });
            }
        });
        bad.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of n × n unknowns (5-point, definite) with n rows of constraints below it:
    /// quasi-definite.
    fn kkt(n: usize) -> (Csr, Vec<i8>) {
        let mut t = Vec::new();
        let at = |i: usize, j: usize| (i * n + j) as u32;
        for i in 0..n {
            for j in 0..n {
                t.push((at(i, j), at(i, j), 4.5));
                if i > 0 {
                    t.push((at(i, j), at(i - 1, j), -1.0));
                }
                if j > 0 {
                    t.push((at(i, j), at(i, j - 1), -1.0));
                }
            }
        }
        for i in 0..n {
            let row = (n * n + i) as u32;
            t.push((row, at(i, 0), 1.0));
            t.push((row, at(i, n - 1), -2.0));
            t.push((row, row, -1e-3));
        }
        let size = n * n + n;
        let signs = (0..size).map(|i| if i < n * n { 1 } else { -1 }).collect();
        (Csr::from_triplets(size, size, &t), signs)
    }

    #[test]
    fn solves_in_every_order_and_counts_the_signs() {
        for n in [2, 30] {
            let (a, signs) = kkt(n);
            let reverse: Vec<u32> = (0..a.rows as u32).rev().collect();
            for ordering in [Ordering::Amd, Ordering::Natural, Ordering::Given(&reverse)] {
                let mut ldlt = Ldlt::analyse(&a, ordering);
                ldlt.factor(&a.values, &signs).unwrap();
                let mut seen = vec![0; a.rows];
                ldlt.pivots(|unknown, pivot| {
                    seen[unknown] += 1;
                    assert!(pivot * f64::from(signs[unknown]) > 0.0);
                });
                assert!(seen.iter().all(|&s| s == 1));
                let x: Vec<f64> = (0..a.rows).map(|i| (i as f64 * 0.7).cos()).collect();
                let mut b = a.mul_symmetric(&x);
                ldlt.solve(&mut b);
                for (got, want) in b.iter().zip(&x) {
                    assert!((got - want).abs() < 1e-10, "{ordering:?} n {n}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn the_trailing_block_is_the_schur_complement() {
        for n in [2, 30] {
            let (a, signs) = kkt(n);
            let order: Vec<u32> = (0..a.rows as u32).rev().collect();
            let mut ldlt = Ldlt::analyse(&a, Ordering::Given(&order));
            ldlt.factor(&a.values, &signs).unwrap();
            assert_eq!(ldlt.order(), order);
            let (last, mut schur) = (n + 1, Vec::new());
            ldlt.trailing(a.rows - last, &mut schur);
            // S x = b on the last unknowns is A y = b that is zero elsewhere, for the last part of
            // y.
            let x: Vec<f64> = (0..last).map(|i| (i as f64 * 0.7).cos()).collect();
            let mut whole = vec![0.0; a.rows];
            for i in 0..last {
                whole[order[a.rows - last + i] as usize] =
                    (0..last).map(|j| schur[i * last + j] * x[j]).sum();
            }
            ldlt.solve(&mut whole);
            for (i, want) in x.iter().enumerate() {
                let got = whole[order[a.rows - last + i] as usize];
                // The condition of the grid times rounding.
                assert!((got - want).abs() < 1e-11, "n {n}: {got} {want}");
            }
        }
    }

    #[test]
    fn a_wrong_sign_and_a_nan_name_their_unknown() {
        let (mut a, signs) = kkt(3);
        let mut ldlt = Ldlt::analyse(&a, Ordering::Natural);
        a.values[0] = -1.0;
        assert_eq!(ldlt.factor(&a.values, &signs).unwrap_err().unknown, 0);
        a.values[0] = f64::NAN;
        assert!(ldlt.factor(&a.values, &signs).is_err());
        a.values[0] = 0.0;
        assert!(ldlt.factor(&a.values, &signs).is_err());
    }
}
