//! `A = L D Lᵀ` in a given order, each row stored from its first entry on.
//!
//! ```text
//!   row i, columns j = first(i) … i − 1:   y_ij = a_ij − Σ_k y_ik l_jk,    l_ij = y_ij / d_j,    d_i = a_ii − Σ_j y_ij l_ij
//! ```
//!
//! For chains and stacks, numbered along: rows are short then, and there is nothing to be analysed
//! but their beginnings. An order of less fill would be found in ten times the time of the
//! factorization. Cost: Σ (i − first)² products, no search (Jennings1966).
//!
//! [`DoubleEnvelope`] is the same in twice the working precision, for small systems that span more
//! decades than a double holds. A heavy body on a light one on a lighter one: the reactions of a
//! stack with a mass ratio of 1e19 are 19 decades larger than the momentum of the body at the
//! bottom, which is their difference. A pivot that is nothing but rounding belongs to a row that
//! depends on those before it: it is replaced by ±1, which gives that row no part in the answer.

use super::BadPivot;
use super::fronts::{Task, dispatch, product};
use crate::math::double_double::DoubleDouble;
use crate::math::sparse::Csr;

/// Where the entries of each row are.
#[derive(Default)]
struct Layout {
    /// Position i of the elimination is the unknown `order[i]`, and the other way round.
    order: Vec<u32>,
    place: Vec<u32>,
    /// First column of each row, and where the row begins; one more at the end. Its last number is
    /// the pivot.
    first: Vec<usize>,
    rows: Vec<usize>,
}

impl Layout {
    /// Lays out `lower` (row i holds the entries (i, j), j ≤ i) in this order.
    fn of(lower: &Csr, order: Vec<u32>) -> Layout {
        let n = lower.rows;
        let mut place = vec![0u32; n];
        order.iter().zip(0..).for_each(|(&i, p)| place[i as usize] = p);
        let mut layout = Layout { order, place, first: (0..n).collect(), rows: vec![0] };
        for (i, j) in entries(lower) {
            let (row, column) = layout.at(i, j);
            layout.first[row] = layout.first[row].min(column);
        }
        for (i, &f) in layout.first.iter().enumerate() {
            layout.rows.push(layout.rows[i] + i + 1 - f);
        }
        layout
    }

    /// Row and column of an entry in the order of elimination.
    fn at(&self, i: usize, j: usize) -> (usize, usize) {
        let (p, q) = (self.place[i] as usize, self.place[j] as usize);
        (p.max(q), p.min(q))
    }

    /// Stored numbers.
    fn len(&self) -> usize {
        self.rows[self.order.len()]
    }

    /// Where an entry of the matrix is stored.
    fn target(&self, i: usize, j: usize) -> usize {
        let (row, column) = self.at(i, j);
        self.rows[row] + column - self.first[row]
    }
}

/// The entries (i, j) of a matrix by rows.
fn entries(lower: &Csr) -> impl Iterator<Item = (usize, usize)> {
    (0..lower.rows).flat_map(move |i| lower.row(i).0.iter().map(move |&j| (i, j as usize)))
}

/// The factorization of a matrix whose pattern stays.
pub struct Envelope {
    layout: Layout,
    /// Where each entry of the matrix goes.
    targets: Vec<u32>,
    factor: Vec<f64>,
    placed: Vec<f64>,
}

impl Envelope {
    /// Lays out `lower` (row i holds the entries (i, j), j ≤ i) in this order; none if that takes
    /// more than `most` numbers.
    pub fn analyse(lower: &Csr, order: Vec<u32>, most: usize) -> Option<Envelope> {
        let layout = Layout::of(lower, order);
        if layout.len() > most {
            return None;
        }
        let targets = entries(lower).map(|(i, j)| layout.target(i, j) as u32).collect();
        let (factor, placed) = (vec![0.0; layout.len()], vec![0.0; lower.rows]);
        Some(Envelope { layout, targets, factor, placed })
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

struct Factor<'a>(&'a mut Envelope, &'a [f64], &'a [i8]);
struct Solve<'a>(&'a mut Envelope, &'a mut [f64]);

impl Task for Factor<'_> {
    type Output = Result<(), BadPivot>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Result<(), BadPivot> {
        let Factor(Envelope { layout: a, targets, factor, .. }, values, signs) = self;
        factor.fill(0.0);
        for (&to, x) in targets.iter().zip(values) {
            factor[to as usize] += x;
        }
        for i in 0..a.order.len() {
            let (done, rest) = factor.split_at_mut(a.rows[i]);
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
        let Solve(Envelope { layout: a, factor, placed: y, .. }, x) = self;
        let row = |i: usize| (&factor[a.rows[i]..a.rows[i + 1] - 1], a.first[i]);
        for i in 0..y.len() {
            let (l, begin) = row(i);
            y[i] = x[a.order[i] as usize] - product::<FUSED>(l, &y[begin..i]);
        }
        for (y, &end) in y.iter_mut().zip(&a.rows[1..]) {
            *y /= factor[end - 1];
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

/// A pivot below this part of the terms that it was summed from is rounding.
const ROUNDING_PIVOT: f64 = 1e-26;

/// The factorization in twice the working precision.
#[derive(Default)]
pub struct DoubleEnvelope {
    layout: Layout,
    factor: Vec<DoubleDouble>,
    work: Vec<DoubleDouble>,
}

impl DoubleEnvelope {
    /// Lays out the factor of the symmetric matrix with this lower triangle in this order; `None`
    /// if it holds more than `most` numbers.
    pub fn analyse(lower: &Csr, order: &[u32], most: usize) -> Option<DoubleEnvelope> {
        let layout = Layout::of(lower, order.to_vec());
        // Pivots apart.
        (layout.len() - lower.rows <= most).then(|| DoubleEnvelope {
            factor: vec![DoubleDouble::default(); layout.len()],
            layout,
            work: Vec::new(),
        })
    }

    /// Factors the matrix with these values plus `shift` on its diagonal; returns how many rows
    /// depend on others.
    pub fn factor(&mut self, lower: &Csr, shift: &[f64], signs: &[i8]) -> usize {
        self.factor.fill(DoubleDouble::default());
        for i in 0..lower.rows {
            let (columns, values) = lower.row(i);
            for (&j, &x) in columns.iter().zip(values) {
                let j = j as usize;
                let shift = DoubleDouble::new(if i == j { shift[i] } else { 0.0 });
                self.factor[self.layout.target(i, j)] = DoubleDouble::new(x).plus(shift);
            }
        }
        let mut dependent = 0;
        for i in 0..lower.rows {
            dependent +=
                usize::from(self.eliminate(i, f64::from(signs[self.layout.order[i] as usize])));
        }
        dependent
    }

    /// Row i of L and its pivot; true if the pivot was rounding.
    fn eliminate(&mut self, i: usize, sign: f64) -> bool {
        let (fi, si) = (self.layout.first[i], self.layout.rows[i]);
        // First y_j = l_ij d_j, then l_ij.
        for j in fi..i {
            let (fj, sj) = (self.layout.first[j], self.layout.rows[j]);
            let mut sum = self.factor[si + j - fi];
            for k in fi.max(fj)..j {
                let (y, l) = (self.factor[si + k - fi], self.factor[sj + k - fj]);
                if !y.is_zero() && !l.is_zero() {
                    sum = sum.minus(y.times(l));
                }
            }
            self.factor[si + j - fi] = sum;
        }
        let at = self.layout.rows[i + 1] - 1;
        let mut pivot = self.factor[at];
        let mut terms = pivot.high.abs();
        for j in fi..i {
            let y = self.factor[si + j - fi];
            if !y.is_zero() {
                let l = y.over(self.factor[self.layout.rows[j + 1] - 1]);
                let part = y.times(l);
                terms += part.high.abs();
                pivot = pivot.minus(part);
                self.factor[si + j - fi] = l;
            }
        }
        let rounding = !(pivot.high * sign > ROUNDING_PIVOT * terms);
        self.factor[at] = if rounding { DoubleDouble::new(sign) } else { pivot };
        rounding
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.layout.order.len();
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        work.extend(self.layout.order.iter().map(|&i| DoubleDouble::new(x[i as usize])));
        for i in 0..n {
            let (fi, si) = (self.layout.first[i], self.layout.rows[i]);
            for j in fi..i {
                work[i] = work[i].minus(self.factor[si + j - fi].times(work[j]));
            }
        }
        for (w, &end) in work.iter_mut().zip(&self.layout.rows[1..]) {
            *w = w.over(self.factor[end - 1]);
        }
        for i in (0..n).rev() {
            let (fi, si) = (self.layout.first[i], self.layout.rows[i]);
            let wi = work[i];
            for j in fi..i {
                work[j] = work[j].minus(self.factor[si + j - fi].times(wi));
            }
        }
        for (&i, w) in self.layout.order.iter().zip(&work) {
            x[i as usize] = w.value();
        }
        self.work = work;
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
        assert!(Envelope::analyse(&a, (0..4).collect(), 6).is_none());
        let mut envelope = Envelope::analyse(&a, vec![1, 2, 0, 3], 6).unwrap();
        assert!(envelope.factor(&a.values, &[1, 1, 1, -1]).is_ok());
        assert_eq!(envelope.factor(&a.values, &[1, 1, 1, 1]).unwrap_err().unknown, 3);
        assert_eq!(
            envelope.factor(&[2.0, f64::NAN, 2.0, 1.0, -2.0], &[1, 1, 1, -1]).unwrap_err().unknown,
            1
        );
    }

    #[test]
    fn a_stack_of_twenty_decades_and_a_row_twice() {
        // Bodies 10^j on each other, contacts glued, the last contact stored twice: v = 0 whatever
        // the weights.
        let n = 20u32;
        let (mut t, mut order) = (Vec::new(), Vec::new());
        for j in 0..n {
            t.push((j, j, 1.0));
            order.push(j);
            let row = n + j;
            order.push(row);
            let (own, under) =
                (10f64.powf(-0.5 * f64::from(j)), 10f64.powf(-0.5 * f64::from(j) + 0.5));
            t.push((row, j, -own));
            if j > 0 {
                t.push((row, j - 1, under));
            }
            t.push((row, row, 0.0));
        }
        let again = 2 * n;
        order.push(again);
        t.extend([
            (again, n - 1, -10f64.powf(-0.5 * f64::from(n - 1))),
            (again, n - 2, 10f64.powf(-0.5 * f64::from(n - 1) + 0.5)),
            (again, again, 0.0),
        ]);
        let size = 2 * n as usize + 1;
        let lower = Csr::from_triplets(size, size, &t);
        let signs: Vec<i8> = (0..size).map(|i| if i < n as usize { 1 } else { -1 }).collect();
        let mut envelope = DoubleEnvelope::analyse(&lower, &order, 10_000).unwrap();
        assert_eq!(envelope.factor(&lower, &vec![0.0; size], &signs), 1);
        let mut x: Vec<f64> = (0..size)
            .map(|i| if i < n as usize { -10f64.powf(0.5 * i as f64) } else { 0.0 })
            .collect();
        envelope.solve(&mut x);
        // Scaled velocities of bodies of 10^j kg: √m v; weights up to 10^9.5, 32 digits.
        for (j, v) in x[..n as usize].iter().enumerate() {
            assert!(v.abs() < 1e-12, "body {j}: {v:e}");
        }
        assert!(DoubleEnvelope::analyse(&lower, &order, 3).is_none());
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
            let mut solver = Envelope::analyse(&a, order, n * n).unwrap();
            solver.factor(&a.values, &signs).unwrap();
            let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let mut b = a.mul_symmetric(&x);
            solver.solve(&mut b);
            prop_assert!(b.iter().zip(&x).all(|(g, w)| (g - w).abs() < 1e-12));
        }
    }
}
