//! R(A) by flat lists, its solves, and what to do when rows are dependent.
//!
//! ```text
//!   A Π = Q R        R by reflections, Q is never formed         [SymbolicQR, eq. 14]
//!   Rᵀ R λ = b       two triangular solves                       [eq. 13, 15]
//! ```
//!
//! Every entry of A and every fill-in has a place in one array. A step is a list of places: those
//! of its column, then those of each other column, all over the same rows. There is nothing to
//! search at run time and no zero is multiplied.
//!
//! # Dependent rows
//!
//! A column is dependent if its diagonal entry is below a threshold times the length of the column
//! (the length of a column of R is that of A). [SymbolicQR, steps 1–3] with the closure made
//! explicit:
//!
//! ```text
//!   1. D = columns with a small or missing diagonal
//!   2. the second block: D, and every column in which a row of the second block has an entry; rows likewise: R₂₂
//!   3. R₂₂ Π₂ = Q₂ U with pivoting: the columns that it leaves out are the redundant ones
//! ```
//!
//! Cost: `2|S| + 4|S||K|` operations a step, two or four more per entry of R for a solve.

use super::dense::Pivoted;
use super::pattern::Pattern;
use std::collections::HashMap;

/// Lists of one step.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The column.
    column: u32,
    /// Number of rows.
    rows: u32,
    /// Where its places begin in `places`; those of the columns follow each other.
    start: u32,
    /// How many other columns.
    count: u32,
    /// Where the other columns are in `others`; nothing unless a row of R comes of it.
    others: (u32, u32),
    /// True if it gives a row of R.
    last: bool,
}

/// A factorization with a fixed pattern.
#[derive(Clone, Debug, Default)]
pub struct Factor {
    columns: usize,
    steps: Vec<Step>,
    places: Vec<u32>,
    /// The other columns of all steps.
    others: Vec<u32>,
    /// The entry of R for each of `others`.
    upper: Vec<u32>,
    /// The array: A before, R after.
    values: Vec<f64>,
    index: HashMap<(u32, u32), u32>,
    inverse: Vec<f64>,
    reflector: Vec<f64>,
    /// One over the lengths of the columns at the last survey.
    lengths: Vec<f64>,
    weakest: f64,
}

/// Which columns count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// Independent columns, ascending.
    pub kept: Vec<usize>,
    /// Columns that depend on them, ascending.
    pub dropped: Vec<usize>,
    /// Size of the submatrix R₂₂ (rows, columns).
    pub second: (usize, usize),
}

impl Factor {
    /// The lists for a pattern.
    pub fn new(pattern: &Pattern) -> Factor {
        let mut factor = Factor {
            columns: pattern.columns,
            inverse: vec![0.0; pattern.columns],
            lengths: vec![1.0; pattern.columns],
            ..Factor::default()
        };
        for &entry in &pattern.entries {
            factor.place(entry);
        }
        for step in &pattern.steps {
            let begin = factor.others.len() as u32;
            if step.last {
                factor.others.extend(&step.columns);
            }
            let flat = Step {
                column: step.column,
                rows: step.rows.len() as u32,
                start: factor.places.len() as u32,
                count: step.columns.len() as u32,
                others: (begin, factor.others.len() as u32),
                last: step.last,
            };
            for &column in std::iter::once(&step.column).chain(&step.columns) {
                for &row in &step.rows {
                    let place = factor.place((row, column));
                    factor.places.push(place);
                }
            }
            let pivot = step.rows.first().copied();
            for &column in step.columns.iter().filter(|_| step.last) {
                let entry = pivot.map_or(u32::MAX, |row| factor.place((row, column)));
                factor.upper.push(entry);
            }
            factor.steps.push(flat);
        }
        let longest = factor.steps.iter().map(|s| s.rows as usize).max().unwrap_or(0);
        factor.reflector = vec![0.0; longest];
        factor
    }

    fn place(&mut self, entry: (u32, u32)) -> u32 {
        let next = self.values.len() as u32;
        let values = &mut self.values;
        *self.index.entry(entry).or_insert_with(|| {
            values.push(0.0);
            next
        })
    }

    /// The place of an entry of A in [`Factor::values`].
    pub fn at(&self, row: usize, column: usize) -> Option<usize> {
        self.index.get(&(row as u32, column as u32)).map(|p| *p as usize)
    }

    /// The array to be filled with A; zero it first.
    pub fn values(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Bytes of the lists and the array.
    pub fn memory(&self) -> usize {
        4 * (self.places.len() + self.others.len() + self.upper.len())
            + 28 * self.steps.len()
            + 8 * (self.values.len() + self.columns)
    }

    /// Turns A into R.
    pub fn factor(&mut self) {
        self.weakest = f64::INFINITY;
        for step in &self.steps {
            let rows = step.rows as usize;
            if rows == 0 {
                self.inverse[step.column as usize] = 0.0;
                self.weakest = 0.0;
                continue;
            }
            let start = step.start as usize;
            let own = &self.places[start..start + rows];
            let diagonal = own[0] as usize;
            if rows > 1 {
                let v = &mut self.reflector[..rows];
                let mut square = 0.0;
                for (v, &place) in v.iter_mut().zip(own) {
                    *v = self.values[place as usize];
                    square += *v * *v;
                }
                if square > 0.0 {
                    let length = square.sqrt().copysign(v[0]);
                    v[0] += length;
                    let beta = 1.0 / (length * v[0]);
                    self.values[diagonal] = -length;
                    let count = step.count as usize;
                    reflect(
                        &mut self.values,
                        v,
                        beta,
                        &self.places[start + rows..start + rows * (1 + count)],
                    );
                }
            }
            if !step.last {
                continue;
            }
            let r = self.values[diagonal];
            // Lengths of columns change slowly: those of the last survey serve.
            self.weakest = self.weakest.min(r.abs() * self.lengths[step.column as usize]);
            self.inverse[step.column as usize] = if r != 0.0 { 1.0 / r } else { 0.0 };
        }
    }

    /// The least diagonal entry of R relative to the length of its column at the last survey (to
    /// one before any).
    pub fn weakest(&self) -> f64 {
        self.weakest
    }

    /// Remembers the lengths of the columns, for [`Factor::weakest`].
    pub fn survey(&mut self) {
        let squares = self.squares();
        self.lengths.clear();
        self.lengths.extend(squares.iter().map(|s| if s.0 > 0.0 { 1.0 / s.0.sqrt() } else { 1.0 }));
    }

    /// Lengths of the columns at the last survey, in order of elimination.
    pub fn floors(&self) -> Vec<f64> {
        self.steps
            .iter()
            .filter(|s| s.last)
            .map(|s| 1.0 / self.lengths[s.column as usize])
            .collect()
    }

    /// `y = R⁻ᵀ b`, in the order of columns; in place. Missing diagonals give zero.
    pub fn forward(&self, b: &mut [f64]) {
        for step in self.steps.iter().filter(|s| s.last) {
            let j = step.column as usize;
            b[j] *= self.inverse[j];
            let y = b[j];
            let range = step.others.0 as usize..step.others.1 as usize;
            if step.rows > 0 {
                for (&k, &place) in self.others[range.clone()].iter().zip(&self.upper[range]) {
                    b[k as usize] -= self.values[place as usize] * y;
                }
            }
        }
    }

    /// `λ = R⁻¹ y`, in place.
    pub fn backward(&self, y: &mut [f64]) {
        for step in self.steps.iter().rev().filter(|s| s.last && s.rows > 0) {
            let range = step.others.0 as usize..step.others.1 as usize;
            let mut s = y[step.column as usize];
            for (&k, &place) in self.others[range.clone()].iter().zip(&self.upper[range]) {
                s -= self.values[place as usize] * y[k as usize];
            }
            y[step.column as usize] = s * self.inverse[step.column as usize];
        }
    }

    /// Squares of the lengths of the columns of R, which are those of A, and of the diagonal
    /// entries.
    fn squares(&self) -> Vec<(f64, f64)> {
        let mut squares = vec![(0.0, 0.0); self.columns];
        for step in self.steps.iter().filter(|s| s.last && s.rows > 0) {
            let r = self.values[self.places[step.start as usize] as usize];
            squares[step.column as usize].0 += r * r;
            squares[step.column as usize].1 = r * r;
            for p in step.others.0 as usize..step.others.1 as usize {
                squares[self.others[p] as usize].0 += self.values[self.upper[p] as usize].powi(2);
            }
        }
        squares
    }

    /// The least diagonal entry relative to the length of its column, and its column.
    pub fn least(&self) -> (f64, usize) {
        let relative = |&(length, diagonal): &(f64, f64)| {
            if length > 0.0 { (diagonal / length).sqrt() } else { 0.0 }
        };
        let squares = self.squares();
        (0..self.columns)
            .map(|k| (relative(&squares[k]), k))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((1.0, 0))
    }

    /// The second block: its columns in order of elimination, and R₂₂ factored with pivoting.
    fn second(&self, threshold: f64) -> (Vec<bool>, Vec<usize>, Pivoted) {
        let squares = self.squares();
        let mut inside: Vec<bool> =
            squares.iter().map(|&(length, r)| r <= threshold * threshold * length).collect();
        let mut list = Vec::new();
        for (s, step) in self.steps.iter().enumerate().filter(|(_, s)| s.last) {
            if inside[step.column as usize] {
                list.push(s);
                if step.rows > 0 {
                    self.others[step.others.0 as usize..step.others.1 as usize]
                        .iter()
                        .for_each(|&k| inside[k as usize] = true);
                }
            }
        }
        let mut number = vec![usize::MAX; self.columns];
        list.iter().enumerate().for_each(|(i, &s)| number[self.steps[s].column as usize] = i);
        let with_row: Vec<usize> =
            list.iter().copied().filter(|&s| self.steps[s].rows > 0).collect();
        let mut dense = Pivoted::zero(with_row.len(), list.len());
        for (i, &s) in with_row.iter().enumerate() {
            let step = &self.steps[s];
            let m = dense.rows;
            dense.values[number[step.column as usize] * m + i] =
                self.values[self.places[step.start as usize] as usize];
            for p in step.others.0 as usize..step.others.1 as usize {
                dense.values[number[self.others[p] as usize] * m + i] =
                    self.values[self.upper[p] as usize];
            }
        }
        // The length that counts is that of the whole column of A.
        dense.factor_scaled(threshold, |i| squares[self.steps[list[i]].column as usize].0);
        (inside, list, dense)
    }

    /// Which columns count, by R₂₂.
    pub fn basis(&self, threshold: f64) -> Basis {
        let (_, list, dense) = self.second(threshold);
        let mut dropped: Vec<usize> = dense.order[dense.rank..]
            .iter()
            .map(|&i| self.steps[list[i]].column as usize)
            .collect();
        dropped.sort_unstable();
        let kept = (0..self.columns).filter(|k| dropped.binary_search(k).is_err()).collect();
        Basis { kept, dropped, second: (dense.rows, dense.columns) }
    }

    /// The basic solution of `RᵀR λ = b` when diagonal entries are missing [SymbolicQR, eq. 15 and
    /// 17]; in place.
    pub fn solve_deficient(&self, threshold: f64, b: &mut [f64]) {
        let (inside, list, dense) = self.second(threshold);
        // Forward: the first block as usual, then the second with U₁.
        let mut y = b.to_vec();
        for step in self.steps.iter().filter(|s| s.last && !inside[s.column as usize]) {
            let j = step.column as usize;
            y[j] *= self.inverse[j];
            let scale = y[j];
            for p in step.others.0 as usize..step.others.1 as usize {
                y[self.others[p] as usize] -= self.values[self.upper[p] as usize] * scale;
            }
        }
        let right: Vec<f64> = list.iter().map(|&s| y[self.steps[s].column as usize]).collect();
        let mut lambda = vec![0.0; list.len()];
        dense.solve(&right, &mut lambda);
        list.iter().zip(&lambda).for_each(|(&s, &x)| y[self.steps[s].column as usize] = x);
        for step in self.steps.iter().rev().filter(|s| s.last && !inside[s.column as usize]) {
            let mut s = y[step.column as usize];
            for p in step.others.0 as usize..step.others.1 as usize {
                s -= self.values[self.upper[p] as usize] * y[self.others[p] as usize];
            }
            y[step.column as usize] = s * self.inverse[step.column as usize];
        }
        b.copy_from_slice(&y);
    }
}

/// `x ← x − β v (v·x)` for each column of places.
#[inline]
fn reflect(values: &mut [f64], v: &[f64], beta: f64, places: &[u32]) {
    for column in places.chunks_exact(v.len()) {
        let mut s = 0.0;
        for (v, &place) in v.iter().zip(column) {
            s += v * values[place as usize];
        }
        s *= beta;
        for (v, &place) in v.iter().zip(column) {
            values[place as usize] -= s * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random sparse matrix with dependent columns: the last two are sums of others.
    fn sample() -> (usize, usize, Vec<(u32, u32)>, Vec<f64>) {
        let (m, n) = (14usize, 10usize);
        let mut dense = vec![0.0; m * n];
        let mut numbers = crate::math::random::Random::seeded(7);
        let mut next = || numbers.unit();
        for k in 0..n - 2 {
            for _ in 0..4 {
                let row = (next() * m as f64) as usize;
                dense[k * m + row] = next() - 0.5;
            }
        }
        for i in 0..m {
            dense[(n - 2) * m + i] = dense[i] + 2.0 * dense[3 * m + i];
            dense[(n - 1) * m + i] = dense[m + i] - dense[4 * m + i];
        }
        let entries = (0..m * n)
            .filter(|&p| dense[p] != 0.0)
            .map(|p| ((p % m) as u32, (p / m) as u32))
            .collect();
        (m, n, entries, dense)
    }

    fn filled(factor: &mut Factor, m: usize, entries: &[(u32, u32)], dense: &[f64]) {
        factor.values().fill(0.0);
        for &(row, column) in entries {
            let place = factor.at(row as usize, column as usize).expect("an entry has a place");
            factor.values()[place] = dense[column as usize * m + row as usize];
        }
    }

    #[test]
    fn dependent_columns_are_found_and_the_basic_solution_solves() {
        let (m, n, entries, dense) = sample();
        for rule in [super::super::pattern::Rule::Natural, super::super::pattern::Rule::Cheapest] {
            let pattern = Pattern::with(m, n, &entries, rule);
            let mut factor = Factor::new(&pattern);
            filled(&mut factor, m, &entries, &dense);
            factor.factor();
            let basis = factor.basis(1e-10);
            assert_eq!((basis.kept.len(), basis.dropped.len()), (n - 2, 2), "{basis:?}");
            // b = AᵀA x is consistent.
            let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
            let times = |x: &[f64]| {
                (0..m).map(|i| (0..n).map(|k| dense[k * m + i] * x[k]).sum()).collect::<Vec<f64>>()
            };
            let image = times(&x);
            let mut b: Vec<f64> =
                (0..n).map(|k| (0..m).map(|i| dense[k * m + i] * image[i]).sum()).collect();
            factor.solve_deficient(1e-10, &mut b);
            // Semi-normal equations: rounding times the condition of the sample.
            for (a, b) in times(&b).iter().zip(&image) {
                assert!((a - b).abs() < 1e-10, "{a} {b}");
            }
        }
    }

    #[test]
    fn solves_undo_the_product() {
        let (m, n, entries, dense) = sample();
        let kept: Vec<(u32, u32)> =
            entries.iter().copied().filter(|e| (e.1 as usize) < n - 2).collect();
        let mut factor = Factor::new(&Pattern::analyse(m, n - 2, &kept));
        filled(&mut factor, m, &kept, &dense);
        factor.factor();
        let x: Vec<f64> = (0..n - 2).map(|i| 1.0 / (1.0 + i as f64)).collect();
        let image: Vec<f64> =
            (0..m).map(|i| (0..n - 2).map(|k| dense[k * m + i] * x[k]).sum()).collect();
        let mut b: Vec<f64> =
            (0..n - 2).map(|k| (0..m).map(|i| dense[k * m + i] * image[i]).sum()).collect();
        factor.forward(&mut b);
        factor.backward(&mut b);
        for (a, b) in b.iter().zip(&x) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }
}
