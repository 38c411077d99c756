//! One sparse matrix: compressed rows.
//!
//! A symmetric matrix is stored whole (both triangles), so that its rows are its columns.

use serde::{Deserialize, Serialize};

/// A sparse matrix by compressed rows, columns ascending within a row.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Csr {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Row i holds the entries `starts[i]..starts[i + 1]` (rows + 1).
    pub starts: Vec<usize>,
    /// Column of each entry.
    pub columns: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f64>,
}

impl Clone for Csr {
    fn clone(&self) -> Csr {
        let mut out = Csr::default();
        out.clone_from(self);
        out
    }

    fn clone_from(&mut self, other: &Csr) {
        (self.rows, self.cols) = (other.rows, other.cols);
        self.starts.clone_from(&other.starts);
        self.columns.clone_from(&other.columns);
        self.values.clone_from(&other.values);
    }
}

impl Csr {
    /// The matrix of this size without entries.
    pub fn empty(rows: usize, cols: usize) -> Csr {
        Csr { rows, cols, starts: vec![0; rows + 1], columns: Vec::new(), values: Vec::new() }
    }

    /// Becomes the matrix of this size without entries; keeps the memory.
    pub fn clear(&mut self, rows: usize, cols: usize) {
        (self.rows, self.cols) = (rows, cols);
        self.starts.clear();
        self.starts.resize(rows + 1, 0);
        self.columns.clear();
        self.values.clear();
    }

    /// The diagonal matrix with these entries.
    pub fn diagonal(entries: &[f64]) -> Csr {
        let n = entries.len();
        Csr {
            rows: n,
            cols: n,
            starts: (0..=n).collect(),
            columns: (0..n as u32).collect(),
            values: entries.to_vec(),
        }
    }

    /// From (row, column, value) in any order; entries in the same place are added, in the given
    /// order.
    pub fn from_triplets(rows: usize, cols: usize, triplets: &[(u32, u32, f64)]) -> Csr {
        let mut sorted: Vec<usize> = (0..triplets.len()).collect();
        sorted.sort_by_key(|&t| (triplets[t].0, triplets[t].1));
        let mut out = Csr::empty(rows, cols);
        let mut last = None;
        for &t in &sorted {
            let (i, j, x) = triplets[t];
            if last == Some((i, j)) {
                *out.values.last_mut().expect("an entry was pushed before") += x;
            } else {
                out.columns.push(j);
                out.values.push(x);
                out.starts[i as usize + 1] = out.columns.len();
                last = Some((i, j));
            }
        }
        for i in 0..rows {
            out.starts[i + 1] = out.starts[i + 1].max(out.starts[i]);
        }
        out
    }

    /// From a dense matrix stored row by row; exact zeros are dropped.
    pub fn from_dense(rows: usize, cols: usize, values: &[f64]) -> Csr {
        assert_eq!(values.len(), rows * cols);
        let mut out = Csr::empty(rows, cols);
        for i in 0..rows {
            for j in 0..cols {
                let x = values[i * cols + j];
                if x != 0.0 {
                    out.columns.push(j as u32);
                    out.values.push(x);
                }
            }
            out.starts[i + 1] = out.columns.len();
        }
        out
    }

    /// Columns and values of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The entry (i, j), zero if absent.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (columns, values) = self.row(i);
        columns.binary_search(&(j as u32)).map_or(0.0, |p| values[p])
    }

    /// Number of stored entries.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// `y ← A x`.
    pub fn mul(&self, x: &[f64], y: &mut [f64]) {
        for (i, yi) in y.iter_mut().enumerate() {
            *yi = self.row_dot(i, x);
        }
    }

    /// The product of the symmetric matrix of which this is the lower half with `x`: what tests
    /// hold factorizations against.
    #[cfg(test)]
    pub fn mul_symmetric(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for i in 0..self.rows {
            let (columns, values) = self.row(i);
            for (&j, a) in columns.iter().zip(values) {
                y[i] += a * x[j as usize];
                if j as usize != i {
                    y[j as usize] += a * x[i];
                }
            }
        }
        y
    }

    /// The scalar product of row `i` with `x`.
    #[inline]
    pub fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        columns.iter().zip(values).map(|(&j, a)| a * x[j as usize]).sum()
    }

    /// `y ← y + s · (row i)`.
    #[inline]
    pub fn add_row(&self, i: usize, s: f64, y: &mut [f64]) {
        let (columns, values) = self.row(i);
        for (&j, a) in columns.iter().zip(values) {
            y[j as usize] += s * a;
        }
    }

    /// The transposed matrix.
    pub fn transposed(&self) -> Csr {
        let mut out = Csr::default();
        self.transpose_into(&mut out);
        out
    }

    /// As [`Csr::transposed`], into the memory of `out`.
    pub fn transpose_into(&self, out: &mut Csr) {
        out.clear(self.cols, self.rows);
        // Row j of `out` begins at `starts[j + 1]` while it is filled: in the end that is where row
        // j + 1 begins.
        out.starts.push(0);
        for &j in &self.columns {
            out.starts[j as usize + 2] += 1;
        }
        for j in 0..self.cols {
            out.starts[j + 2] += out.starts[j + 1];
        }
        out.columns.resize(self.nonzeros(), 0);
        out.values.resize(self.nonzeros(), 0.0);
        for i in 0..self.rows {
            let (js, xs) = self.row(i);
            for (&j, &x) in js.iter().zip(xs) {
                let p = &mut out.starts[j as usize + 1];
                out.columns[*p] = i as u32;
                out.values[*p] = x;
                *p += 1;
            }
        }
        out.starts.pop();
    }

    /// The same matrix as dense rows.
    pub fn to_dense(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.rows * self.cols];
        for i in 0..self.rows {
            self.add_row(i, 1.0, &mut out[i * self.cols..(i + 1) * self.cols]);
        }
        out
    }
}

/// A row under construction: what is added in any order, column by column.
#[derive(Default)]
pub struct Sums {
    values: Vec<f64>,
    seen: Vec<bool>,
    hit: Vec<u32>,
}

impl Sums {
    /// Room for this many columns; all are empty.
    pub fn reset(&mut self, cols: usize) {
        self.values.resize(cols, 0.0);
        self.seen.resize(cols, false);
    }

    /// Adds to the entry in column `j`.
    #[inline]
    pub fn add(&mut self, j: u32, x: f64) {
        if !self.seen[j as usize] {
            self.seen[j as usize] = true;
            self.hit.push(j);
        }
        self.values[j as usize] += x;
    }

    /// Appends the row to `out` as row `i`, whose next one it is, and is empty again.
    pub fn end_row(&mut self, i: usize, out: &mut Csr) {
        self.hit.sort_unstable();
        for &j in &self.hit {
            out.columns.push(j);
            out.values.push(std::mem::take(&mut self.values[j as usize]));
            self.seen[j as usize] = false;
        }
        self.hit.clear();
        out.starts[i + 1] = out.columns.len();
    }
}

/// `out ← A B + diag(d)`; entries that cancel are kept, those of the diagonal are there where d is
/// not zero, also in empty rows.
pub fn multiply(a: &Csr, b: &Csr, diagonal: &[f64], sums: &mut Sums, out: &mut Csr) {
    out.clear(a.rows, b.cols);
    sums.reset(b.cols);
    for i in 0..a.rows {
        let (middles, values) = a.row(i);
        for (&p, &x) in middles.iter().zip(values) {
            let (columns, others) = b.row(p as usize);
            columns.iter().zip(others).for_each(|(&j, &y)| sums.add(j, x * y));
        }
        if diagonal[i] != 0.0 {
            sums.add(i as u32, diagonal[i]);
        }
        sums.end_row(i, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triplets_add_up_and_transposing_twice_is_nothing() {
        let a = Csr::from_triplets(3, 2, &[(2, 1, 1.0), (0, 0, 2.0), (2, 1, 0.5), (2, 0, -1.0)]);
        assert_eq!(a.to_dense(), vec![2.0, 0.0, 0.0, 0.0, -1.0, 1.5]);
        assert_eq!(a.transposed().transposed(), a);
        assert_eq!(Csr::from_dense(3, 2, &a.to_dense()), a);
        let mut y = [0.0; 3];
        a.mul(&[1.0, 2.0], &mut y);
        assert_eq!(y, [2.0, 0.0, 2.0]);
    }

    #[test]
    fn a_matrix_without_rows_is_a_matrix() {
        let a = Csr::empty(0, 4);
        assert_eq!(a.transposed().rows, 4);
        a.mul(&[0.0; 4], &mut []);
    }

    #[test]
    fn a_product_is_the_product() {
        let a = Csr::from_dense(2, 3, &[1.0, 2.0, 0.0, 0.0, 3.0, 4.0]);
        let b = Csr::from_dense(3, 2, &[1.0, 0.0, 5.0, 1.0, 0.0, 2.0]);
        let mut product = Csr::default();
        multiply(&a, &b, &[0.0; 2], &mut Sums::default(), &mut product);
        assert_eq!(product.to_dense(), vec![11.0, 2.0, 15.0, 11.0]);
        // A row of zeros with an entry on the diagonal.
        let a = Csr::from_dense(2, 3, &[1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
        multiply(&a, &b, &[1.0, 7.0], &mut Sums::default(), &mut product);
        assert_eq!(product.to_dense(), vec![12.0, 2.0, 0.0, 7.0]);
    }
}
