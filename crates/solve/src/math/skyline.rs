//! Sparse `A = L D Lᵀ` of a symmetric quasi-definite matrix in a given order, each row stored from
//! its first entry on.
//!
//! ```text
//!   row i, columns j = first(i) … i − 1:   y_ij = a_ij − Σ_k y_ik l_jk,    l_ij = y_ij / d_j,    d_i = a_ii − Σ_j y_ij l_ij
//! ```
//!
//! For chains and stacks, numbered along: rows are short then, and there is nothing to be analysed
//! but their beginnings. An order of less fill would be found in ten times the time of the
//! factorization. As [`super::ldlt`] without pivoting: the sign of every pivot is known beforehand.
//! Cost: Σ (i − first)² products, no search (Jennings1966).

use super::ldlt::BadPivot;
use super::multifrontal::{Task, dispatch, product};
use super::sparse::Csr;

/// The factorization of a matrix whose pattern stays.
pub struct Skyline {
    /// Position i of the elimination is the unknown `order[i]`.
    order: Vec<u32>,
    /// First column of each row, and where the row begins in `factor` (one more at the end); its
    /// last number is d.
    first: Vec<usize>,
    rows: Vec<usize>,
    /// Where each entry of the matrix goes.
    targets: Vec<u32>,
    factor: Vec<f64>,
    placed: Vec<f64>,
}

impl Skyline {
    /// Lays out `lower` (row i holds the entries (i, j), j ≤ i) in this order; none if that takes
    /// more than `most` numbers.
    pub fn analyse(lower: &Csr, order: Vec<u32>, most: usize) -> Option<Skyline> {
        let n = lower.rows;
        let mut place = vec![0u32; n];
        order.iter().enumerate().for_each(|(p, &i)| place[i as usize] = p as u32);
        let mut first: Vec<usize> = (0..n).collect();
        let pairs = |i: usize| lower.row(i).0.iter().map(move |&j| (i, j as usize));
        for (i, j) in (0..n).flat_map(pairs) {
            let (a, b) = (place[i].min(place[j]) as usize, place[i].max(place[j]) as usize);
            first[b] = first[b].min(a);
        }
        let mut rows = vec![0];
        for (i, &f) in first.iter().enumerate() {
            rows.push(rows[i] + i + 1 - f);
        }
        if rows[n] > most {
            return None;
        }
        let target = |(i, j): (usize, usize)| {
            let (a, b) = (place[i].min(place[j]) as usize, place[i].max(place[j]) as usize);
            (rows[b] + a - first[b]) as u32
        };
        let targets = (0..n).flat_map(pairs).map(target).collect();
        let (factor, placed) = (vec![0.0; rows[n]], vec![0.0; n]);
        Some(Skyline { order, first, rows, targets, factor, placed })
    }

    /// Factors the matrix with these values (in the order of the analysed pattern).
    /// `signs` (n) holds +1 or −1: the sign that each pivot must have.
    pub fn factor(&mut self, values: &[f64], signs: &[i8]) -> Result<(), BadPivot> {
        dispatch(Factor(self, values, signs))
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&mut self, x: &mut [f64]) {
        dispatch(Solve(self, x));
    }
}

struct Factor<'a>(&'a mut Skyline, &'a [f64], &'a [i8]);
struct Solve<'a>(&'a mut Skyline, &'a mut [f64]);

impl Task for Factor<'_> {
    type Output = Result<(), BadPivot>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Result<(), BadPivot> {
        let Factor(a, values, signs) = self;
        a.factor.fill(0.0);
        for (&to, x) in a.targets.iter().zip(values) {
            a.factor[to as usize] += x;
        }
        for i in 0..a.order.len() {
            let (done, rest) = a.factor.split_at_mut(a.rows[i]);
            let (y, begin) = (&mut rest[..a.rows[i + 1] - a.rows[i]], a.first[i]);
            for j in begin..i {
                let from = begin.max(a.first[j]);
                let l = &done[a.rows[j] + from - a.first[j]..a.rows[j + 1] - 1];
                y[j - begin] -= product::<FUSED>(&y[from - begin..j - begin], l);
            }
            let Some((pivot, y)) = y.split_last_mut() else { continue };
            for (y, j) in y.iter_mut().zip(begin..) {
                let l = *y / done[a.rows[j + 1] - 1];
                *pivot -= *y * l;
                *y = l;
            }
            let unknown = a.order[i] as usize;
            if !(pivot.is_finite() && *pivot * f64::from(signs[unknown]) > 0.0) {
                return Err(BadPivot { unknown, pivot: *pivot });
            }
        }
        Ok(())
    }
}

impl Task for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Solve(a, x) = self;
        let (y, row) =
            (&mut a.placed, |i: usize| (&a.factor[a.rows[i]..a.rows[i + 1] - 1], a.first[i]));
        for i in 0..y.len() {
            let (l, begin) = row(i);
            y[i] = x[a.order[i] as usize] - product::<FUSED>(l, &y[begin..i]);
        }
        for (y, &end) in y.iter_mut().zip(&a.rows[1..]) {
            *y /= a.factor[end - 1];
        }
        for i in (0..y.len()).rev() {
            let (l, begin) = row(i);
            let (before, after) = y.split_at_mut(i);
            before[begin..].iter_mut().zip(l).for_each(|(y, l)| *y -= l * after[0]);
        }
        for (y, &i) in y.iter().zip(&a.order) {
            x[i as usize] = *y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_rows_are_refused_and_wrong_signs_named() {
        let a = Csr::from_triplets(
            4,
            4,
            &[(0, 0, 2.0), (1, 1, 2.0), (2, 2, 2.0), (3, 0, 1.0), (3, 3, -2.0)],
        );
        assert!(Skyline::analyse(&a, (0..4).collect(), 6).is_none());
        let mut skyline = Skyline::analyse(&a, vec![1, 2, 0, 3], 6).unwrap();
        assert!(skyline.factor(&a.values, &[1, 1, 1, -1]).is_ok());
        assert_eq!(skyline.factor(&a.values, &[1, 1, 1, 1]).unwrap_err().unknown, 3);
        assert_eq!(
            skyline.factor(&[2.0, f64::NAN, 2.0, 1.0, -2.0], &[1, 1, 1, -1]).unwrap_err().unknown,
            1
        );
    }

    proptest! {
        /// Any pattern, any order: a dominant diagonal of either sign.
        #[test]
        fn any_pattern(n in 1usize..40, pairs in prop::collection::vec((0u32..40, 0u32..40),
        0..120), turn in 0usize..40) {
            let mut t: Vec<(u32, u32, f64)> = pairs.iter().map(|&(a, b)| (a % n as u32,
            b % n as u32)).filter(|(a, b)| a > b)
                .map(|(a, b)| (a, b, (f64::from(a) * 3.0 + f64::from(b)).sin())).collect();
            let sign = |i: u32| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            t.extend((0..n as u32).map(|i| (i, i, sign(i) * 150.0)));
            let a = Csr::from_triplets(n, n, &t);
            let signs: Vec<i8> = (0..n as u32).map(|i| sign(i) as i8).collect();
            let order = (0..n).map(|i| ((i * 7 + turn) % n) as u32).collect::<Vec<u32>>();
            prop_assume!(order.iter().collect::<std::collections::HashSet<_>>().len() == n);
            let mut solver = Skyline::analyse(&a, order, n * n).unwrap();
            solver.factor(&a.values, &signs).unwrap();
            let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let mut b = a.mul_symmetric(&x);
            solver.solve(&mut b);
            prop_assert!(b.iter().zip(&x).all(|(g, w)| (g - w).abs() < 1e-12));
        }
    }
}
