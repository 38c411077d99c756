//! Dense QR with column pivoting on scaled columns: what decides ranks, and the twin that sparse
//! programs are measured against.
//!
//! ```text
//!   1. pivot: the column whose rest is largest relative to its own length
//!   2. stop when that is below the threshold: rank found
//!   3. reflect:  x_k ← x_k − β v (v·x_k)
//! ```
//!
//! (Golub1996, alg. 5.4.1), with lengths scaled so that the unit of a row does not decide.

/// A QR factorization with pivoting, in its own memory.
#[derive(Clone, Debug, Default)]
pub struct Pivoted {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// The matrix, column by column; after factoring, R in the upper triangle of the pivoted
    /// columns.
    pub values: Vec<f64>,
    /// Which column stands at each place.
    pub order: Vec<usize>,
    /// The rank found.
    pub rank: usize,
    lengths: Vec<f64>,
    rests: Vec<f64>,
    reflector: Vec<f64>,
}

impl Pivoted {
    /// A zero matrix.
    pub fn zero(rows: usize, columns: usize) -> Pivoted {
        Pivoted {
            rows,
            columns,
            values: vec![0.0; rows * columns],
            reflector: vec![0.0; rows],
            ..Pivoted::default()
        }
    }

    /// Factors what stands in `values`; a column counts if its rest exceeds `threshold` times its
    /// length (at least 1e-300).
    pub fn factor(&mut self, threshold: f64) {
        self.measure();
        self.lengths.clone_from(&self.rests);
        self.eliminate(threshold);
    }

    /// The same with the squares of the lengths given.
    pub fn factor_scaled(&mut self, threshold: f64, length: impl Fn(usize) -> f64) {
        self.measure();
        self.lengths.clear();
        self.lengths.extend((0..self.columns).map(|k| length(k).max(1e-300)));
        self.eliminate(threshold);
    }

    fn measure(&mut self) {
        let (m, n) = (self.rows, self.columns);
        self.order.clear();
        self.order.extend(0..n);
        self.rests.clear();
        self.rests
            .extend(self.values.chunks_exact(m.max(1)).take(n).map(|c| square(c).max(1e-300)));
        self.rests.resize(n, 1e-300);
    }

    fn eliminate(&mut self, threshold: f64) {
        let (m, n) = (self.rows, self.columns);
        self.rank = 0;
        for j in 0..m.min(n) {
            let relative = |k: usize| self.rests[k] / self.lengths[k];
            let best =
                (j..n).fold(j, |best, k| if relative(k) > relative(best) { k } else { best });
            self.exchange(j, best);
            // Downdated lengths lose digits: the chosen one is measured again.
            let rest = square(&self.values[j * m + j..(j + 1) * m]);
            if rest <= threshold * threshold * self.lengths[j] {
                if self.refresh(j, threshold) {
                    continue;
                }
                break;
            }
            self.reflect(j, rest);
            self.rank = j + 1;
        }
    }

    /// Measures all rests anew; true if a column counts after all, which then is reflected.
    fn refresh(&mut self, j: usize, threshold: f64) -> bool {
        let m = self.rows;
        for k in j..self.columns {
            self.rests[k] = square(&self.values[k * m + j..(k + 1) * m]);
        }
        let relative = |k: usize| self.rests[k] / self.lengths[k];
        let best = (j..self.columns)
            .fold(j, |best, k| if relative(k) > relative(best) { k } else { best });
        if self.rests[best] <= threshold * threshold * self.lengths[best] {
            return false;
        }
        self.exchange(j, best);
        self.reflect(j, self.rests[j]);
        self.rank = j + 1;
        true
    }

    fn exchange(&mut self, a: usize, b: usize) {
        if a != b {
            let m = self.rows;
            let (first, second) = self.values.split_at_mut(b * m);
            first[a * m..(a + 1) * m].swap_with_slice(&mut second[..m]);
            self.order.swap(a, b);
            self.lengths.swap(a, b);
            self.rests.swap(a, b);
        }
    }

    fn reflect(&mut self, j: usize, rest: f64) {
        let m = self.rows;
        let (left, right) = self.values.split_at_mut((j + 1) * m);
        let pivot = &mut left[j * m + j..];
        let v = &mut self.reflector[..m - j];
        v.copy_from_slice(pivot);
        let length = rest.sqrt().copysign(v[0]);
        v[0] += length;
        let beta = 1.0 / (length * v[0]);
        pivot[0] = -length;
        pivot[1..].fill(0.0);
        for (k, column) in right.chunks_exact_mut(m).enumerate() {
            let x = &mut column[j..];
            let s = beta * product(v, x);
            x.iter_mut().zip(v.iter()).for_each(|(x, v)| *x -= s * v);
            self.rests[j + 1 + k] -= x[0] * x[0];
        }
    }

    /// The least diagonal entry of R among the first `count` columns, relative to the length of its
    /// column; zero if so many do not count.
    pub fn least(&self, count: usize) -> f64 {
        if count > self.rank {
            return 0.0;
        }
        let relative = |j: usize| self.values[j * self.rows + j].abs() / self.lengths[j].sqrt();
        (0..count).map(relative).fold(f64::INFINITY, f64::min)
    }

    /// Solves `RᵀR λ = b` over the columns that count; the others get zero: the basic solution
    /// [SymbolicQR, eq. 15].
    pub fn solve(&self, b: &[f64], lambda: &mut [f64]) {
        let m = self.rows;
        let mut y: Vec<f64> = self.order[..self.rank].iter().map(|&k| b[k]).collect();
        for j in 0..self.rank {
            let column = &self.values[j * m..j * m + j + 1];
            let s: f64 = column[..j].iter().zip(&y).map(|(r, y)| r * y).sum();
            y[j] = (y[j] - s) / column[j];
        }
        for j in (0..self.rank).rev() {
            let column = &self.values[j * m..j * m + j + 1];
            y[j] /= column[j];
            let x = y[j];
            y[..j].iter_mut().zip(column).for_each(|(y, r)| *y -= r * x);
        }
        lambda.fill(0.0);
        self.order[..self.rank].iter().zip(&y).for_each(|(&k, y)| lambda[k] = *y);
    }
}

fn square(x: &[f64]) -> f64 {
    product(x, x)
}

/// a·b with four sums at a time, so that additions need not wait for each other.
fn product(a: &[f64], b: &[f64]) -> f64 {
    let (quads_a, rest_a) = a.as_chunks::<4>();
    let (quads_b, rest_b) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in quads_a.iter().zip(quads_b) {
        (0..4).for_each(|i| sums[i] += a[i] * b[i]);
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
