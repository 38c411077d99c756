//! A sparse symmetric matrix freed beforehand of rows that are diagonal among themselves.
//!
//! ```text
//!   [ A  Bᵀ ] [ x ]   [ a ]       (A − Bᵀ D⁻¹ B) x = a − Bᵀ D⁻¹ b
//!   [ B  D  ] [ y ] = [ b ]       y = D⁻¹ (b − B x)
//! ```
//!
//! The rows come in groups that share their columns (the three of a contact, over the twelve
//! unknowns of two bodies). A factorization that begins with them ([`crate::math::order`] would,
//! where contacts outnumber bodies) has a front for each; here each is a sum over a dozen columns,
//! and what is left to be ordered and factored has a fraction of the unknowns. Cost: rows ×
//! columns²/2 products per group.

use super::BadPivot;
use super::fronts::{Task, dispatch, product};
use crate::math::sparse::Csr;

/// The most columns of a group.
pub const WIDTH: usize = 12;
/// The most rows of a group.
pub const ROWS: usize = 3;

/// Not among the unknowns that are left.
const NONE: u32 = u32::MAX;

/// Rows that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The first of its rows in the whole matrix.
    pub first: usize,
    /// How many, at most [`ROWS`]; each holds the same columns, at most [`WIDTH`], and then its
    /// diagonal.
    pub rows: usize,
}

/// What is left, and how it comes of the whole.
#[derive(Default)]
pub struct Condensed {
    /// The lower triangle of `A − Bᵀ D⁻¹ B`.
    pub lower: Csr,
    /// The unknowns that are left.
    pub kept: Vec<u32>,
    groups: Vec<Group>,
    /// Entries of A: place in the whole, place in `lower`.
    copied: Vec<(u32, u32)>,
    /// Runs of consecutive columns of each group: first and one past the last, by position in the
    /// group.
    runs: Vec<[u32; 2]>,
    run_starts: Vec<usize>,
    /// Where in `lower` each run begins in the row of each column of the group (width × runs).
    bases: Vec<u32>,
    base_starts: Vec<usize>,
    right: Vec<f64>,
}

impl Condensed {
    /// Lays out what is left of `whole` (row i holds the entries (i, j), j ≤ i) without these
    /// groups; nothing but its own diagonal couples one row of a group to another row of a group,
    /// and no other row holds columns that belong to one.
    pub fn of(whole: &Csr, groups: Vec<Group>) -> Condensed {
        if groups.is_empty() {
            return Condensed {
                lower: whole.clone(),
                kept: (0..whole.rows as u32).collect(),
                ..Condensed::default()
            };
        }
        let mut index = vec![0u32; whole.rows];
        for group in &groups {
            index[group.first..group.first + group.rows].fill(NONE);
        }
        let kept: Vec<u32> =
            (0..whole.rows as u32).filter(|&i| index[i as usize] != NONE).collect();
        kept.iter().enumerate().for_each(|(c, &i)| index[i as usize] = c as u32);
        let mut out = Condensed { kept, groups, ..Condensed::default() };
        let touching = out.lay_runs(whole, &index);
        out.lay_rows(whole, &index, &touching);
        out
    }

    /// Runs of columns; returns for each unknown that is left its groups and its position in them.
    fn lay_runs(&mut self, whole: &Csr, index: &[u32]) -> Vec<Vec<(u32, u32)>> {
        let mut touching = vec![Vec::new(); self.kept.len()];
        (self.run_starts, self.base_starts) = (vec![0], vec![0]);
        for (g, group) in self.groups.iter().enumerate() {
            let columns = shared(whole, group);
            let before = self.runs.len();
            for (p, &j) in columns.iter().enumerate() {
                touching[index[j as usize] as usize].push((g as u32, p as u32));
                match self.runs[before..].last_mut() {
                    Some(run) if index[j as usize] == index[columns[p - 1] as usize] + 1 => {
                        run[1] += 1
                    }
                    _ => self.runs.push([p as u32, p as u32 + 1]),
                }
            }
            self.run_starts.push(self.runs.len());
            self.base_starts.push(self.base_starts[g] + columns.len() * (self.runs.len() - before));
        }
        self.bases = vec![0; self.base_starts[self.groups.len()]];
        touching
    }

    fn lay_rows(&mut self, whole: &Csr, index: &[u32], touching: &[Vec<(u32, u32)>]) {
        let size = self.kept.len();
        let mut lower = Csr { rows: size, cols: size, starts: vec![0], ..Csr::default() };
        let (mut mark, mut place) = (vec![NONE; size], vec![0u32; size]);
        for (c, &i) in self.kept.iter().enumerate() {
            let begin = lower.columns.len();
            let mut add = |j: u32| {
                let j = index[j as usize];
                if mark[j as usize] != c as u32 {
                    mark[j as usize] = c as u32;
                    lower.columns.push(j);
                }
            };
            let own = whole.starts[i as usize]..whole.starts[i as usize + 1];
            whole.columns[own.clone()].iter().for_each(|&j| add(j));
            for &(g, p) in &touching[c] {
                shared(whole, &self.groups[g as usize])[..=p as usize].iter().for_each(|&j| add(j));
            }
            lower.columns[begin..].sort_unstable();
            for (at, &j) in lower.columns.iter().enumerate().skip(begin) {
                place[j as usize] = at as u32;
            }
            self.copied.extend(
                own.map(|at| (at as u32, place[index[whole.columns[at] as usize] as usize])),
            );
            for &(g, p) in &touching[c] {
                let g = g as usize;
                let columns = shared(whole, &self.groups[g]);
                let runs = &self.runs[self.run_starts[g]..self.run_starts[g + 1]];
                let bases =
                    &mut self.bases[self.base_starts[g] + p as usize * runs.len()..][..runs.len()];
                for (base, run) in bases.iter_mut().zip(runs).filter(|(_, run)| run[0] <= p) {
                    *base = place[index[columns[run[0] as usize] as usize] as usize];
                }
            }
            lower.starts.push(lower.columns.len());
        }
        lower.values = vec![0.0; lower.columns.len()];
        self.lower = lower;
    }

    /// Fills in the values of what is left; a diagonal that is not negative is an error (zero or
    /// not finite, of a row without columns).
    pub fn fill(&mut self, whole: &Csr) -> Result<(), BadPivot> {
        if self.groups.is_empty() {
            self.lower.values.copy_from_slice(&whole.values);
            return Ok(());
        }
        dispatch(Fill(self, whole))
    }

    /// Solves for `right` over the whole, in place, by `solve` of what is left.
    pub fn solve(&mut self, whole: &Csr, right: &mut [f64], solve: impl FnOnce(&mut [f64])) {
        if self.groups.is_empty() {
            return solve(right);
        }
        dispatch(Reduce(&self.groups, whole, right));
        self.right.clear();
        self.right.extend(self.kept.iter().map(|&i| right[i as usize]));
        solve(&mut self.right);
        self.kept.iter().zip(&self.right).for_each(|(&i, x)| right[i as usize] = *x);
        dispatch(Extend(&self.groups, whole, right));
    }

    /// The groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
}

/// The columns that the rows of a group share.
#[inline(always)]
fn shared<'a>(whole: &'a Csr, group: &Group) -> &'a [u32] {
    let columns = whole.row(group.first).0;
    &columns[..columns.len() - 1]
}

/// A row of a group: columns, values, diagonal.
#[inline(always)]
fn split(whole: &Csr, row: usize) -> (&[u32], &[f64], f64) {
    let (columns, values) = whole.row(row);
    let last = columns.len() - 1;
    (&columns[..last], &values[..last], values[last])
}

struct Fill<'a>(&'a mut Condensed, &'a Csr);

impl Task for Fill<'_> {
    type Output = Result<(), BadPivot>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Result<(), BadPivot> {
        let Fill(to, whole) = self;
        to.lower.values.fill(0.0);
        for &(from, at) in &to.copied {
            to.lower.values[at as usize] = whole.values[from as usize];
        }
        for (g, group) in to.groups.iter().enumerate() {
            // Rows without entries take no part.
            let (mut rows, mut width) = ([[0.0; WIDTH]; ROWS], 0);
            let mut scale = [0.0; ROWS];
            for i in 0..group.rows {
                let (_, values, d) = split(whole, group.first + i);
                width = values.len();
                if !d.is_finite() || d > 0.0 && width > 0 || d == 0.0 {
                    return Err(BadPivot { unknown: group.first + i, pivot: d });
                }
                rows[i][..width].copy_from_slice(values);
                scale[i] = -1.0 / d;
            }
            let runs = &to.runs[to.run_starts[g]..to.run_starts[g + 1]];
            let mut bases =
                to.bases[to.base_starts[g]..to.base_starts[g + 1]].chunks_exact(runs.len().max(1));
            for p in 0..width {
                let mut sum = [0.0; WIDTH];
                for (row, scale) in rows.iter().zip(scale) {
                    let x = scale * row[p];
                    for (sum, b) in sum.iter_mut().zip(row) {
                        *sum = if FUSED { x.mul_add(*b, *sum) } else { *sum + x * b };
                    }
                }
                let Some(bases) = bases.next() else { break };
                for (&base, &[first, end]) in
                    bases.iter().zip(runs).filter(|(_, run)| run[0] as usize <= p)
                {
                    let add = &sum[first as usize..(end as usize).min(p + 1)];
                    for (x, add) in to.lower.values[base as usize..].iter_mut().zip(add) {
                        *x += add;
                    }
                }
            }
        }
        Ok(())
    }
}

/// `a ← a − Bᵀ D⁻¹ b`.
struct Reduce<'a>(&'a [Group], &'a Csr, &'a mut [f64]);
/// `b ← D⁻¹ (b − B x)`.
struct Extend<'a>(&'a [Group], &'a Csr, &'a mut [f64]);

impl Task for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Reduce(groups, whole, right) = self;
        for group in groups {
            let mut sum = [0.0; WIDTH];
            for row in group.first..group.first + group.rows {
                let (_, values, d) = split(whole, row);
                let y = right[row] / d;
                for (sum, b) in sum.iter_mut().zip(values) {
                    *sum = if FUSED { y.mul_add(*b, *sum) } else { *sum + y * b };
                }
            }
            for (&j, sum) in shared(whole, group).iter().zip(&sum) {
                right[j as usize] -= sum;
            }
        }
    }
}

impl Task for Extend<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Extend(groups, whole, right) = self;
        for group in groups {
            let mut x = [0.0; WIDTH];
            for (x, &j) in x.iter_mut().zip(shared(whole, group)) {
                *x = right[j as usize];
            }
            for row in group.first..group.first + group.rows {
                let (_, values, d) = split(whole, row);
                right[row] = (right[row] - product::<FUSED>(values, &x[..values.len()])) / d;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ldlt, Ordering};
    use super::*;
    use proptest::prelude::*;

    /// Six unknowns with a chain between them, groups of one to three rows over some of them or
    /// none, and one row that stays.
    fn system(choice: &[(usize, u32)]) -> (Csr, Vec<Group>, Vec<i8>) {
        let mut t: Vec<(u32, u32, f64)> = (0..6).map(|i| (i, i, 3.0)).collect();
        t.extend((1..6).map(|i| (i, i - 1, 0.5)));
        let (mut next, mut groups) = (6u32, Vec::new());
        for &(rows, mask) in choice {
            groups.push(Group { first: next as usize, rows });
            for i in 0..rows as u32 {
                t.extend(
                    (0..6)
                        .filter(|j| mask >> j & 1 == 1)
                        .map(|j| (next, j, f64::from(next * 7 + j * 3 + i).sin())),
                );
                t.push((next, next, if mask == 0 { 2.0 } else { -0.01 - f64::from(i) }));
                next += 1;
            }
        }
        t.extend([(next, 2, 1.0), (next, 5, -1.0), (next, next, -1e-3)]);
        let size = next as usize + 1;
        let signs = (0..size).map(|i| if i < 6 { 1 } else { -1 }).collect();
        (Csr::from_triplets(size, size, &t), groups, signs)
    }

    proptest! {
        /// The same answer as of the whole matrix.
        #[test]
        fn nothing_is_lost(choice in prop::collection::vec((1usize..4, 0u32..64), 0..8)) {
            let (whole, groups, signs) = system(&choice);
            let mut condensed = Condensed::of(&whole, groups);
            prop_assert_eq!(condensed.lower.rows, 7);
            prop_assert_eq!(condensed.kept.len(), 7);
            condensed.fill(&whole).unwrap();
            let mut ldlt = Ldlt::analyse(&condensed.lower, Ordering::Amd);
            let left: Vec<i8> = condensed.kept.iter().map(|&i| signs[i as usize]).collect();
            ldlt.factor(&condensed.lower.values, &left).unwrap();
            let x: Vec<f64> = (0..whole.rows).map(|i| (i as f64).cos()).collect();
            let mut b = whole.mul_symmetric(&x);
            condensed.solve(&whole, &mut b, |right| ldlt.solve(right));
            // Diagonals of 0.01 under rows of norm 2: a condition of some thousands.
            prop_assert!(b.iter().zip(&x).all(|(g, w)| (g - w).abs() < 1e-10));
        }
    }

    #[test]
    fn a_row_of_the_wrong_sign_is_named() {
        let (mut whole, groups, _) = system(&[(2, 5)]);
        let at = whole.starts[8] - 1;
        whole.values[at] = 0.0;
        assert_eq!(Condensed::of(&whole, groups).fill(&whole).unwrap_err().unknown, 7);
    }
}
