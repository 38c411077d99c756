//! Dense Cholesky factor of a set of rows that grows and shrinks.
//!
//! `A_FF = Rᵀ R` for a list F of rows of a symmetric matrix A. A row joins at the end (one forward
//! substitution, ½|F|² operations) and leaves anywhere (plane rotations of the columns behind it,
//! 3/2 (|F| − k)² operations). R is stored by columns, so that every inner loop is contiguous.
//! (Gill1974)

/// The factor.
#[derive(Clone, Debug, Default)]
pub struct GrowingCholesky {
    /// Column j holds the entries 0..=j of R.
    columns: Vec<Vec<f64>>,
    rotations: Vec<(f64, f64)>,
}

impl GrowingCholesky {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.columns.clear();
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// A row joins: its entries against the rows of F in their order (`border`), and its diagonal
    /// entry. Nothing happens, and the pivot is returned, unless the pivot is above `threshold`.
    pub fn append(&mut self, border: &[f64], diagonal: f64, threshold: f64) -> Result<(), f64> {
        let mut x = border.to_vec();
        self.forward(&mut x);
        let pivot = diagonal - wide_dot(&x, &x);
        if !(pivot > threshold && pivot > 0.0) {
            return Err(pivot);
        }
        x.push(pivot.sqrt());
        self.columns.push(x);
        Ok(())
    }

    /// Row number k of F leaves; those behind it move up.
    pub fn remove(&mut self, k: usize) {
        self.columns.remove(k);
        self.rotations.clear();
        for j in k..self.columns.len() {
            let column = &mut self.columns[j];
            for (i, &(c, s)) in self.rotations.iter().enumerate() {
                let (x, y) = (column[k + i], column[k + i + 1]);
                column[k + i] = c * x + s * y;
                column[k + i + 1] = c * y - s * x;
            }
            // The rotation that puts this column's last entry onto its diagonal.
            let (x, y) = (column[j], column[j + 1]);
            let length = x.hypot(y);
            column[j] = length;
            column.pop();
            self.rotations.push((x / length, y / length));
        }
    }

    /// `x ← A_FF⁻¹ x`.
    pub fn solve(&self, x: &mut [f64]) {
        self.forward(x);
        for j in (0..x.len()).rev() {
            let (above, diagonal) = self.columns[j].split_at(j);
            x[j] /= diagonal[0];
            let y = x[j];
            for (x, a) in x[..j].iter_mut().zip(above) {
                *x -= a * y;
            }
        }
    }

    /// `x ← R⁻ᵀ x`.
    fn forward(&self, x: &mut [f64]) {
        for j in 0..x.len() {
            let (above, diagonal) = self.columns[j].split_at(j);
            x[j] = (x[j] - wide_dot(above, &x[..j])) / diagonal[0];
        }
    }
}

/// The scalar product in eight parallel sums: the order is fixed, and the loop is not bound by the
/// latency of one sum.
fn wide_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (heads_a, heads_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail = super::dot(heads_a.remainder(), heads_b.remainder());
    for (a, b) in heads_a.zip(heads_b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_join_and_leave_and_the_factor_stays_true() {
        // The Gram matrix of the Hilbert-like vectors 1/(1 + |i − j|) plus the identity: definite.
        let entry = |i: usize, j: usize| {
            1.0 / (1.0 + i.abs_diff(j) as f64) + if i == j { 1.0 } else { 0.0 }
        };
        let (mut factor, mut members) = (GrowingCholesky::default(), Vec::new());
        let mut seed = 7u32;
        for _ in 0..300 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let i = (seed >> 16) as usize % 40;
            match members.iter().position(|&m| m == i) {
                Some(k) => {
                    members.remove(k);
                    factor.remove(k);
                }
                None => {
                    let border: Vec<f64> = members.iter().map(|&m| entry(i, m)).collect();
                    factor.append(&border, entry(i, i), 1e-12).unwrap();
                    members.push(i);
                }
            }
            let want: Vec<f64> = (0..members.len()).map(|p| (p as f64).cos()).collect();
            let mut x: Vec<f64> = members
                .iter()
                .map(|&i| members.iter().zip(&want).map(|(&j, w)| entry(i, j) * w).sum())
                .collect();
            factor.solve(&mut x);
            // Condition below 10: a hundred units of rounding.
            assert!(x.iter().zip(&want).all(|(x, w)| (x - w).abs() < 1e-13));
        }
    }

    #[test]
    fn a_dependent_row_is_refused() {
        let mut factor = GrowingCholesky::default();
        factor.append(&[], 2.0, 0.0).unwrap();
        let pivot = factor.append(&[2.0], 2.0, 1e-12).unwrap_err();
        assert!(pivot.abs() < 1e-15);
        assert_eq!(factor.len(), 1);
    }
}
