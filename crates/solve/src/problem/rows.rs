//! The rows of J, block by block.
//!
//! All rows of a block share one list of columns: a contact of two rigid bodies is 3 rows over 12
//! columns, stored as 12 indices and 36 numbers, row by row. `cargo bench --bench layout` measures
//! a pass over all contacts: 1.2–2.3 times faster than plain compressed rows (36 indices). 6-wide
//! dense segments would be twice as fast again, but hold rigid bodies alone, neither meshes nor the
//! rows of a file; a method whose time goes into such passes (`psor`) packs the rows of rigid
//! bodies itself, once per problem. What contacts of rigid bodies are made of stands beside their
//! rows ([`RigidContacts`]), where it is known.

use super::Invalid;
use super::law::Law;
use super::rigid::{RigidContact, RigidContacts};
use crate::math::sparse::Csr;
use serde::{Deserialize, Serialize};

/// J (m × n) as a list of blocks of rows.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// Number of columns n.
    pub cols: usize,
    /// Block k holds the rows `row_starts[k]..row_starts[k + 1]` (blocks + 1).
    pub row_starts: Vec<usize>,
    /// Its columns are `columns[column_starts[k]..column_starts[k + 1]]` (blocks + 1).
    pub column_starts: Vec<usize>,
    /// Its values start at `value_starts[k]` (blocks + 1).
    pub value_starts: Vec<usize>,
    /// Columns of each block, ascending.
    pub columns: Vec<u32>,
    /// Values of each block, row by row.
    pub values: Vec<f64>,
    /// What those blocks are made of that are contacts of rigid bodies, as far as it is known.
    #[serde(default, skip_serializing_if = "RigidContacts::is_empty")]
    pub rigid: RigidContacts,
}

/// Columns of a block of two rigid bodies.
const COLUMNS_OF_TWO_BODIES: usize = 12;

/// One block of rows.
#[derive(Clone, Copy, Debug)]
pub struct RowBlock<'a> {
    /// The block's first row in the problem.
    pub first: usize,
    /// Its number of rows d.
    pub rows: usize,
    /// Its columns (w).
    pub columns: &'a [u32],
    /// Its values, row by row (d × w).
    pub values: &'a [f64],
}

impl<'a> RowBlock<'a> {
    /// The values of row `i` of the block.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [f64] {
        let w = self.columns.len();
        &self.values[i * w..(i + 1) * w]
    }

    /// The range of the block's rows in the problem.
    #[inline]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.rows
    }

    /// `out_i ← (row i) · v`.
    #[inline]
    pub fn mul(&self, v: &[f64], out: &mut [f64]) {
        self.mul_by(v, out, |x| x);
    }

    /// As [`RowBlock::mul`], with a function of each product in place of it.
    #[inline]
    pub fn mul_by(&self, v: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
        if let Some((columns, rows)) = self.pair() {
            let touched = fetch(v, columns);
            for (out, row) in out.iter_mut().zip(rows) {
                *out = touched.iter().zip(row).map(|(v, a)| f(a * v)).sum();
            }
            return;
        }
        for (i, out) in out.iter_mut().enumerate().take(self.rows) {
            *out = self.columns.iter().zip(self.row(i)).map(|(&j, a)| f(a * v[j as usize])).sum();
        }
    }

    /// Columns and rows of a block of two rigid bodies, the most frequent one: loops of known
    /// length take half the time.
    #[inline]
    fn pair(
        &self,
    ) -> Option<(&'a [u32; COLUMNS_OF_TWO_BODIES], &'a [[f64; COLUMNS_OF_TWO_BODIES]])> {
        Some((self.columns.try_into().ok()?, self.values.as_chunks().0))
    }

    /// `v ← v + (block)ᵀ r`.
    #[inline]
    pub fn add_transposed(&self, r: &[f64], v: &mut [f64]) {
        self.add_transposed_by(r, v, |x| x);
    }

    /// As [`RowBlock::add_transposed`], with a function of each product in place of it.
    #[inline]
    pub fn add_transposed_by(&self, r: &[f64], v: &mut [f64], f: impl Fn(f64) -> f64) {
        if let Some((columns, rows)) = self.pair() {
            let mut touched = fetch(v, columns);
            for (r, row) in r.iter().zip(rows).filter(|(r, _)| **r != 0.0) {
                touched.iter_mut().zip(row).for_each(|(v, a)| *v += f(a * r));
            }
            columns.iter().zip(touched).for_each(|(&j, x)| v[j as usize] = x);
            return;
        }
        for (i, r) in r.iter().enumerate().take(self.rows).filter(|(_, r)| **r != 0.0) {
            self.columns.iter().zip(self.row(i)).for_each(|(&j, a)| v[j as usize] += f(a * r));
        }
    }
}

/// The entries of `v` at these columns. (`map` is not inlined where it is called often.)
#[inline(always)]
fn fetch(v: &[f64], columns: &[u32; COLUMNS_OF_TWO_BODIES]) -> [f64; COLUMNS_OF_TWO_BODIES] {
    let mut out = [0.0; COLUMNS_OF_TWO_BODIES];
    out.iter_mut().zip(columns).for_each(|(x, &j)| *x = v[j as usize]);
    out
}

impl Clone for Rows {
    fn clone(&self) -> Rows {
        let mut out = Rows::default();
        out.clone_from(self);
        out
    }

    fn clone_from(&mut self, other: &Rows) {
        let Rows { cols, row_starts, column_starts, value_starts, columns, values, rigid } = self;
        *cols = other.cols;
        row_starts.clone_from(&other.row_starts);
        column_starts.clone_from(&other.column_starts);
        value_starts.clone_from(&other.value_starts);
        columns.clone_from(&other.columns);
        values.clone_from(&other.values);
        rigid.clone_from(&other.rigid);
    }
}

impl Rows {
    /// No rows over `cols` columns.
    pub fn new(cols: usize) -> Rows {
        Rows {
            cols,
            row_starts: vec![0],
            column_starts: vec![0],
            value_starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            rigid: RigidContacts::default(),
        }
    }

    /// Forgets all blocks, keeps the memory.
    pub fn clear(&mut self, cols: usize) {
        self.cols = cols;
        for starts in [&mut self.row_starts, &mut self.column_starts, &mut self.value_starts] {
            starts.clear();
            starts.push(0);
        }
        self.columns.clear();
        self.values.clear();
        self.rigid.clear();
    }

    /// Appends a block: its columns (ascending) and its values row by row; the number of rows is
    /// `values.len() / columns.len()`, or `rows` if there is no column.
    pub fn push(&mut self, rows: usize, columns: &[u32], values: &[f64]) {
        debug_assert_eq!(values.len(), rows * columns.len());
        debug_assert!(columns.windows(2).all(|w| w[0] < w[1]), "columns ascend");
        self.columns.extend_from_slice(columns);
        self.values.extend_from_slice(values);
        self.row_starts.push(self.len() + rows);
        self.column_starts.push(self.columns.len());
        self.value_starts.push(self.values.len());
    }

    /// Appends the rows of a contact of rigid bodies, and what they are made of; its block is the
    /// next one, its bodies are known.
    pub fn push_contact(&mut self, contact: RigidContact) {
        let contact = RigidContact { block: self.block_count() as u32, ..contact };
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        self.rigid.rows(&contact, &mut columns, &mut values);
        self.push(3, &columns, &values);
        self.rigid.contacts.push(contact);
    }

    /// Looks at what is known of rigid contacts and names the first culprit.
    pub(super) fn check_rigid(&self) -> Result<(), Invalid> {
        let ascending = |what, values: &mut dyn Iterator<Item = u32>, limit: usize| {
            let mut least = 0;
            for (place, value) in values.enumerate() {
                let found = value as usize;
                if found < least || found >= limit {
                    return Err(Invalid::Index { what, place, found, wanted: limit });
                }
                least = found + 1;
            }
            Ok(())
        };
        let RigidContacts { bodies, contacts } = &self.rigid;
        let columns = &mut bodies.iter().map(|body| body.column);
        ascending("columns of rigid bodies", columns, self.cols)?;
        let blocks = &mut contacts.iter().map(|contact| contact.block);
        ascending("blocks of rigid contacts", blocks, self.block_count())?;
        for contact in contacts {
            let place = contact.block as usize;
            let unknown = contact.bodies.iter().flatten().find(|b| **b as usize >= bodies.len());
            if let Some(&body) = unknown {
                let (what, found) = ("bodies of a rigid contact", body as usize);
                return Err(Invalid::Index { what, place, found, wanted: bodies.len() });
            }
            if !self.is_contact(contact) {
                return Err(Invalid::Contact { block: place });
            }
        }
        Ok(())
    }

    /// True if the block of a contact is made of it, but for the rounding of a file.
    pub fn is_contact(&self, contact: &RigidContact) -> bool {
        let block = self.block(contact.block as usize);
        block.rows == 3 && self.rigid.agrees(contact, block.columns, block.values)
    }

    /// Columns and values of the last block.
    pub fn last_mut(&mut self) -> (&mut [u32], &mut [f64]) {
        let k = self.block_count() - 1;
        (&mut self.columns[self.column_starts[k]..], &mut self.values[self.value_starts[k]..])
    }

    /// Blocks of rows out of a sparse matrix: block k takes the next `laws[k].rows()` rows.
    pub fn from_csr(matrix: &Csr, laws: &[Law]) -> Rows {
        let mut out = Rows::new(matrix.cols);
        let mut columns: Vec<u32> = Vec::new();
        let mut values: Vec<f64> = Vec::new();
        let mut first = 0;
        for law in laws {
            let range = first..first + law.rows();
            columns.clear();
            for i in range.clone() {
                columns.extend_from_slice(matrix.row(i).0);
            }
            columns.sort_unstable();
            columns.dedup();
            values.clear();
            values.resize(law.rows() * columns.len(), 0.0);
            for i in range.clone() {
                let (js, xs) = matrix.row(i);
                for (j, x) in js.iter().zip(xs) {
                    let p = columns.binary_search(j).expect("the union holds every column");
                    values[(i - first) * columns.len() + p] = *x;
                }
            }
            out.push(law.rows(), &columns, &values);
            first = range.end;
        }
        out
    }

    /// The same rows as one sparse matrix; exact zeros are dropped.
    pub fn to_csr(&self) -> Csr {
        let mut out = Csr::default();
        self.csr_into(&mut out);
        out
    }

    /// As [`Rows::to_csr`], into the memory of `out`.
    pub fn csr_into(&self, out: &mut Csr) {
        out.clear(self.len(), self.cols);
        // Room for what is zero now and need not be zero in the next step.
        out.columns.reserve(self.values.len());
        out.values.reserve(self.values.len());
        for block in self.blocks() {
            for i in 0..block.rows {
                for (&j, &x) in block.columns.iter().zip(block.row(i)) {
                    if x != 0.0 {
                        out.columns.push(j);
                        out.values.push(x);
                    }
                }
                out.starts[block.first + i + 1] = out.columns.len();
            }
        }
    }

    /// Number of rows m.
    pub fn len(&self) -> usize {
        self.row_starts.last().copied().unwrap_or(0)
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.row_starts.len().saturating_sub(1)
    }

    /// Block `k`.
    #[inline]
    pub fn block(&self, k: usize) -> RowBlock<'_> {
        RowBlock {
            first: self.row_starts[k],
            rows: self.row_starts[k + 1] - self.row_starts[k],
            columns: &self.columns[self.column_starts[k]..self.column_starts[k + 1]],
            values: &self.values[self.value_starts[k]..self.value_starts[k + 1]],
        }
    }

    /// All blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = RowBlock<'_>> {
        (0..self.block_count()).map(|k| self.block(k))
    }

    /// `u ← J v`.
    pub fn mul(&self, v: &[f64], u: &mut [f64]) {
        for block in self.blocks() {
            block.mul(v, &mut u[block.range()]);
        }
    }

    /// `f ← f + Jᵀ r`.
    pub fn add_transposed(&self, r: &[f64], f: &mut [f64]) {
        for block in self.blocks() {
            block.add_transposed(&r[block.range()], f);
        }
    }
}
