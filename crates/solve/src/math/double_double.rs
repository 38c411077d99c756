//! `A = L D Lᵀ` in twice the working precision, for small systems that span more decades than a
//! double holds.
//!
//! A heavy body on a light one on a lighter one: the reactions of a stack with a mass ratio of 1e19
//! are 19 decades larger than the momentum of the body at the bottom, which is their difference.
//! Numbers here are unevaluated sums of two doubles (32 digits) (Dekker1971). The factor is stored
//! by rows from the first entry on (its envelope), so that a good order makes it small; there is no
//! pivoting. A pivot that is nothing but rounding belongs to a row that depends on those before it:
//! it is replaced by ±1, which gives that row no part in the answer.

use super::sparse::Csr;

/// A number of 32 digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

impl DoubleDouble {
    /// The number x.
    pub fn new(x: f64) -> DoubleDouble {
        DoubleDouble { high: x, low: 0.0 }
    }

    /// The nearest double.
    pub fn value(self) -> f64 {
        self.high + self.low
    }

    /// The nearest double and the rest.
    pub fn parts(self) -> [f64; 2] {
        let (high, low) = two_sum(self.high, self.low);
        [high, low]
    }

    /// Adds `a b`: residuals of large reactions on light bodies keep their digits.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let p = a * b;
        let rounding = a.mul_add(b, -p);
        let sum = self.high + p;
        let part = sum - self.high;
        self.low += (self.high - (sum - part)) + (p - part) + rounding;
        self.high = sum;
    }

    fn is_zero(self) -> bool {
        self.high == 0.0
    }

    fn plus(self, other: DoubleDouble) -> DoubleDouble {
        let (sum, rest) = two_sum(self.high, other.high);
        quick(sum, rest + self.low + other.low)
    }

    fn minus(self, other: DoubleDouble) -> DoubleDouble {
        self.plus(DoubleDouble { high: -other.high, low: -other.low })
    }

    fn times(self, other: DoubleDouble) -> DoubleDouble {
        let (product, rest) = two_product(self.high, other.high);
        quick(product, rest + self.high * other.low + self.low * other.high)
    }

    fn over(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.high / other.high;
        let rest = self.minus(other.times(DoubleDouble::new(first)));
        let second = rest.high / other.high;
        let rest = rest.minus(other.times(DoubleDouble::new(second)));
        quick(first, second).plus(DoubleDouble::new(rest.high / other.high))
    }
}

/// a + b exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// a + b exactly, |a| ≥ |b|.
fn quick(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

/// a b exactly, by splitting both factors in halves.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let split = |x: f64| {
        let c = 134_217_729.0 * x;
        let high = c - (c - x);
        (high, x - high)
    };
    let product = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    (product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)
}

/// A pivot below this part of the terms that it was summed from is rounding.
const ROUNDING_PIVOT: f64 = 1e-26;

/// The factorization in twice the working precision.
#[derive(Default)]
pub struct Envelope {
    /// Position i of the elimination is the unknown `order[i]`.
    order: Vec<u32>,
    place: Vec<u32>,
    /// First column of each row, and where the row begins in `factor`.
    first: Vec<usize>,
    starts: Vec<usize>,
    factor: Vec<DoubleDouble>,
    pivots: Vec<DoubleDouble>,
    work: Vec<DoubleDouble>,
}

impl Envelope {
    /// Lays out the factor of the symmetric matrix with this lower triangle in this order; `None`
    /// if it holds more than `most` numbers.
    pub fn analyse(lower: &Csr, order: &[u32], most: usize) -> Option<Envelope> {
        let n = lower.rows;
        let mut place = vec![0u32; n];
        for (p, &i) in order.iter().enumerate() {
            place[i as usize] = p as u32;
        }
        let mut first: Vec<usize> = (0..n).collect();
        for i in 0..n {
            for &j in lower.row(i).0 {
                let (p, q) = (place[i] as usize, place[j as usize] as usize);
                first[p.max(q)] = first[p.max(q)].min(p.min(q));
            }
        }
        let mut starts = vec![0];
        for (p, &f) in first.iter().enumerate() {
            starts.push(starts[p] + p - f);
        }
        let total = starts[n];
        (total <= most).then(|| Envelope {
            order: order.to_vec(),
            place,
            first,
            starts,
            factor: vec![DoubleDouble::default(); total],
            pivots: vec![DoubleDouble::default(); n],
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
                let (p, q) = (self.place[i] as usize, self.place[j as usize] as usize);
                if p == q {
                    self.pivots[p] = DoubleDouble::new(x).plus(DoubleDouble::new(shift[i]));
                } else {
                    let (row, column) = (p.max(q), p.min(q));
                    self.factor[self.starts[row] + column - self.first[row]] = DoubleDouble::new(x);
                }
            }
        }
        let mut dependent = 0;
        for i in 0..lower.rows {
            dependent += usize::from(self.eliminate(i, f64::from(signs[self.order[i] as usize])));
        }
        dependent
    }

    /// Row i of L and its pivot; true if the pivot was rounding.
    fn eliminate(&mut self, i: usize, sign: f64) -> bool {
        let (fi, si) = (self.first[i], self.starts[i]);
        // First y_j = l_ij d_j, then l_ij.
        for j in fi..i {
            let (fj, sj) = (self.first[j], self.starts[j]);
            let mut sum = self.factor[si + j - fi];
            for k in fi.max(fj)..j {
                let (y, l) = (self.factor[si + k - fi], self.factor[sj + k - fj]);
                if !y.is_zero() && !l.is_zero() {
                    sum = sum.minus(y.times(l));
                }
            }
            self.factor[si + j - fi] = sum;
        }
        let mut pivot = self.pivots[i];
        let mut terms = pivot.high.abs();
        for j in fi..i {
            let y = self.factor[si + j - fi];
            if !y.is_zero() {
                let l = y.over(self.pivots[j]);
                let part = y.times(l);
                terms += part.high.abs();
                pivot = pivot.minus(part);
                self.factor[si + j - fi] = l;
            }
        }
        let rounding = !(pivot.high * sign > ROUNDING_PIVOT * terms);
        self.pivots[i] = if rounding { DoubleDouble::new(sign) } else { pivot };
        rounding
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.order.len();
        let mut work = std::mem::take(&mut self.work);
        work.clear();
        work.extend(self.order.iter().map(|&i| DoubleDouble::new(x[i as usize])));
        for i in 0..n {
            let (fi, si) = (self.first[i], self.starts[i]);
            for j in fi..i {
                work[i] = work[i].minus(self.factor[si + j - fi].times(work[j]));
            }
        }
        for (w, d) in work.iter_mut().zip(&self.pivots) {
            *w = w.over(*d);
        }
        for i in (0..n).rev() {
            let (fi, si) = (self.first[i], self.starts[i]);
            let wi = work[i];
            for j in fi..i {
                work[j] = work[j].minus(self.factor[si + j - fi].times(wi));
            }
        }
        for (&i, w) in self.order.iter().zip(&work) {
            x[i as usize] = w.value();
        }
        self.work = work;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_digits() {
        // (1 + 2⁻⁸⁰) − 1 = 2⁻⁸⁰, and 1/3 three times is 1 to 32 digits.
        let small = DoubleDouble::new((-80f64).exp2());
        assert_eq!(
            DoubleDouble::new(1.0).plus(small).minus(DoubleDouble::new(1.0)).value(),
            (-80f64).exp2()
        );
        let third = DoubleDouble::new(1.0).over(DoubleDouble::new(3.0));
        let off = third.times(DoubleDouble::new(3.0)).minus(DoubleDouble::new(1.0));
        assert!(off.value().abs() < 1e-31);
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
        let mut envelope = Envelope::analyse(&lower, &order, 10_000).unwrap();
        assert_eq!(envelope.factor(&lower, &vec![0.0; size], &signs), 1);
        let mut x: Vec<f64> = (0..size)
            .map(|i| if i < n as usize { -10f64.powf(0.5 * i as f64) } else { 0.0 })
            .collect();
        envelope.solve(&mut x);
        // Scaled velocities of bodies of 10^j kg: √m v; weights up to 10^9.5, 32 digits.
        for (j, v) in x[..n as usize].iter().enumerate() {
            assert!(v.abs() < 1e-12, "body {j}: {v:e}");
        }
        assert!(Envelope::analyse(&lower, &order, 3).is_none());
    }
}
