//! `A = L U` of a matrix of small square blocks whose pattern is symmetric, over a subset of its
//! blocks.
//!
//! ```text
//!   U_ii ← A_ii − Σ L_ik U_ki      L_ij = (A_ij − Σ L_ik U_kj) U_jj⁻¹      U_ij = A_ij − Σ L_ik U_kj
//! ```
//!
//! The order of elimination (approximate minimum degree) is found once for the whole pattern; each
//! factorization leaves out the blocks that are not active and finds its fill anew, in time
//! proportional to the fill. Pivoting happens within the diagonal blocks alone: good for matrices
//! like `A (W + eps I) + B` with W positive semidefinite; the caller checks the residual.
//!
//! Cost: about `2 D³` operations per pair of blocks in a row of U and a column of L (Davis2006).

use super::order::MinimumDegree;

const NONE: u32 = u32::MAX;

/// The factorization; keeps its memory.
#[derive(Default)]
pub struct BlockLu {
    /// Rows of a block.
    d: usize,
    /// Block pattern, symmetric, diagonal included.
    starts: Vec<u32>,
    columns: Vec<u32>,
    /// Block at each position of the elimination.
    elimination: MinimumDegree,
    /// Of this factorization: block at each position, and position of each block.
    blocks: Vec<u32>,
    place: Vec<u32>,
    /// U by rows and L by rows: starts, columns (positions), values (d × d each).
    upper: Side,
    lower: Side,
    /// Inverses of the diagonal blocks.
    diagonal: Vec<f64>,
    work: Vec<f64>,
    /// Of the analysis: the entries of the symmetric pattern, and where its rows begin.
    pairs: Vec<(u32, u32)>,
    rows: Vec<u32>,
    /// Of the fill: the last row that met each column, the children of each row as linked lists,
    /// and the entries of the columns.
    mark: Vec<u32>,
    child: Vec<u32>,
    sibling: Vec<u32>,
    count: Vec<usize>,
}

#[derive(Default)]
struct Side {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl BlockLu {
    /// Takes the pattern (by rows; it is made symmetric) of `n` blocks of `d` rows (1, 2, 3 or 6),
    /// and finds the order.
    pub fn analyse(&mut self, d: usize, starts: &[u32], columns: &[u32]) {
        let n = starts.len() - 1;
        let pairs = &mut self.pairs;
        pairs.clear();
        pairs.extend((0..n as u32).map(|i| (i, i)));
        for i in 0..n {
            for &j in &columns[starts[i] as usize..starts[i + 1] as usize] {
                pairs.push((i as u32, j));
                pairs.push((j, i as u32));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        self.rows.clear();
        self.rows.resize(n + 1, 0);
        for (at, &(i, _)) in pairs.iter().enumerate() {
            self.rows[i as usize + 1] = at as u32 + 1;
        }
        if self.d == d
            && self.starts == self.rows
            && self.columns.iter().copied().eq(pairs.iter().map(|pair| pair.1))
        {
            return;
        }
        self.d = d;
        self.starts.clone_from(&self.rows);
        self.columns.clear();
        self.columns.extend(pairs.iter().map(|pair| pair.1));
        self.elimination.find(&self.starts, &self.columns);
    }

    /// Factors over the blocks for which `active` holds. `row(i, put)` hands the blocks of row i
    /// over: `put(j, block)`, row by row, adds to what was put there before; those in inactive
    /// columns are ignored. False if a diagonal block is singular.
    pub fn factor(
        &mut self,
        active: impl Fn(usize) -> bool,
        mut row: impl FnMut(usize, &mut dyn FnMut(usize, &[f64])),
    ) -> bool {
        self.choose(active);
        match self.d {
            1 => self.eliminate::<1>(&mut row),
            2 => self.eliminate::<2>(&mut row),
            3 => self.eliminate::<3>(&mut row),
            _ => self.eliminate::<6>(&mut row),
        }
    }

    /// Multiplications of a factorization over the blocks for which `active` holds.
    pub fn operations(&mut self, active: impl Fn(usize) -> bool) -> f64 {
        self.choose(active);
        let pairs: f64 = self.upper.starts.windows(2).map(|w| ((w[1] - w[0]) as f64).powi(2)).sum();
        pairs * self.d.pow(3) as f64
    }

    /// Takes the blocks for which `active` holds, in the order of elimination, and finds their
    /// fill.
    fn choose(&mut self, active: impl Fn(usize) -> bool) {
        self.blocks.clear();
        self.place.clear();
        self.place.resize(self.elimination.order.len(), NONE);
        for &block in &self.elimination.order {
            if active(block as usize) {
                self.place[block as usize] = self.blocks.len() as u32;
                self.blocks.push(block);
            }
        }
        self.fill();
    }

    /// Numbers of the factor, both sides.
    pub fn factor_len(&self) -> usize {
        self.upper.values.len() + self.lower.values.len() + self.diagonal.len()
    }

    /// The pattern of U: a row takes over what is left of the rows whose first entry it is; L has
    /// its transposed.
    fn fill(&mut self) {
        let n = self.blocks.len();
        let (upper, lower) = (&mut self.upper, &mut self.lower);
        upper.starts.clear();
        upper.starts.push(0);
        upper.columns.clear();
        let (child, sibling, count) = (&mut self.child, &mut self.sibling, &mut self.count);
        for list in [&mut self.mark, &mut *child, &mut *sibling] {
            list.clear();
            list.resize(n, NONE);
        }
        count.clear();
        count.resize(n + 1, 0);
        for i in 0..n {
            let begin = upper.columns.len();
            self.mark[i] = i as u32;
            let block = self.blocks[i] as usize;
            for &j in &self.columns[self.starts[block] as usize..self.starts[block + 1] as usize] {
                let j = self.place[j as usize];
                if j != NONE && j as usize > i && self.mark[j as usize] != i as u32 {
                    self.mark[j as usize] = i as u32;
                    upper.columns.push(j);
                }
            }
            let mut c = child[i];
            while c != NONE {
                for at in upper.starts[c as usize]..upper.starts[c as usize + 1] {
                    let j = upper.columns[at];
                    if self.mark[j as usize] != i as u32 {
                        self.mark[j as usize] = i as u32;
                        upper.columns.push(j);
                    }
                }
                c = sibling[c as usize];
            }
            upper.columns[begin..].sort_unstable();
            if let Some(&parent) = upper.columns.get(begin) {
                sibling[i] = child[parent as usize];
                child[parent as usize] = i as u32;
            }
            upper.columns[begin..].iter().for_each(|&j| count[j as usize + 1] += 1);
            upper.starts.push(upper.columns.len());
        }
        for i in 0..n {
            count[i + 1] += count[i];
        }
        lower.starts.clear();
        lower.starts.extend_from_slice(count);
        lower.columns.clear();
        lower.columns.resize(upper.columns.len(), 0);
        for i in 0..n {
            for &j in &upper.columns[upper.starts[i]..upper.starts[i + 1]] {
                lower.columns[count[j as usize]] = i as u32;
                count[j as usize] += 1;
            }
        }
    }

    fn eliminate<const D: usize>(
        &mut self,
        row: &mut impl FnMut(usize, &mut dyn FnMut(usize, &[f64])),
    ) -> bool {
        let (n, size) = (self.blocks.len(), D * D);
        let (upper, lower) = (&mut self.upper, &mut self.lower);
        upper.values.clear();
        upper.values.resize(upper.columns.len() * size, 0.0);
        lower.values.clear();
        lower.values.resize(lower.columns.len() * size, 0.0);
        self.diagonal.clear();
        self.diagonal.resize(n * size, 0.0);
        self.work.clear();
        self.work.resize(n * size, 0.0);
        for i in 0..n {
            let (work, place) = (&mut self.work, &self.place);
            row(self.blocks[i] as usize, &mut |j, block| {
                let j = place[j];
                if j != NONE {
                    work[j as usize * size..(j as usize + 1) * size]
                        .iter_mut()
                        .zip(block)
                        .for_each(|(w, x)| *w += x);
                }
            });
            for at in lower.starts[i]..lower.starts[i + 1] {
                let k = lower.columns[at] as usize;
                let factor = times::<D>(
                    &work[k * size..(k + 1) * size],
                    &self.diagonal[k * size..(k + 1) * size],
                );
                work[k * size..(k + 1) * size].fill(0.0);
                lower.values[at * size..(at + 1) * size].copy_from_slice(factor.as_flattened());
                let range = upper.starts[k]..upper.starts[k + 1];
                for (&j, u) in upper.columns[range.clone()]
                    .iter()
                    .zip(upper.values[range.start * size..range.end * size].chunks_exact(size))
                {
                    subtract::<D>(
                        &factor,
                        u,
                        &mut work[j as usize * size..(j as usize + 1) * size],
                    );
                }
            }
            for at in upper.starts[i]..upper.starts[i + 1] {
                let j = upper.columns[at] as usize * size;
                upper.values[at * size..(at + 1) * size].copy_from_slice(&work[j..j + size]);
                work[j..j + size].fill(0.0);
            }
            let own = &mut work[i * size..(i + 1) * size];
            if !invert::<D>(own, &mut self.diagonal[i * size..(i + 1) * size]) {
                return false;
            }
            own.fill(0.0);
        }
        true
    }

    /// `x ← A⁻¹ x` over the active blocks: x holds `d` numbers for every block, the inactive ones
    /// stay.
    pub fn solve(&mut self, x: &mut [f64]) {
        match self.d {
            1 => self.substitute::<1>(x),
            2 => self.substitute::<2>(x),
            3 => self.substitute::<3>(x),
            _ => self.substitute::<6>(x),
        }
    }

    fn substitute<const D: usize>(&mut self, x: &mut [f64]) {
        let size = D * D;
        let n = self.blocks.len();
        let at = |place: usize| self.blocks[place] as usize * D;
        for i in 0..n {
            let mut sum = [0.0; D];
            sum.copy_from_slice(&x[at(i)..at(i) + D]);
            for p in self.lower.starts[i]..self.lower.starts[i + 1] {
                let k = at(self.lower.columns[p] as usize);
                subtract_vector::<D>(
                    &self.lower.values[p * size..(p + 1) * size],
                    &x[k..k + D],
                    &mut sum,
                );
            }
            x[at(i)..at(i) + D].copy_from_slice(&sum);
        }
        for i in (0..n).rev() {
            let mut sum = [0.0; D];
            sum.copy_from_slice(&x[at(i)..at(i) + D]);
            for p in self.upper.starts[i]..self.upper.starts[i + 1] {
                let k = at(self.upper.columns[p] as usize);
                subtract_vector::<D>(
                    &self.upper.values[p * size..(p + 1) * size],
                    &x[k..k + D],
                    &mut sum,
                );
            }
            let mut out = [0.0; D];
            for (out, row) in
                out.iter_mut().zip(self.diagonal[i * size..(i + 1) * size].chunks_exact(D))
            {
                *out = row.iter().zip(&sum).map(|(a, x)| a * x).sum();
            }
            x[at(i)..at(i) + D].copy_from_slice(&out);
        }
    }
}

/// `a b`.
#[inline(always)]
fn times<const D: usize>(a: &[f64], b: &[f64]) -> [[f64; D]; D] {
    let mut out = [[0.0; D]; D];
    for i in 0..D {
        for k in 0..D {
            for j in 0..D {
                out[i][j] += a[i * D + k] * b[k * D + j];
            }
        }
    }
    out
}

/// `c ← c − a b`.
#[inline(always)]
fn subtract<const D: usize>(a: &[[f64; D]; D], b: &[f64], c: &mut [f64]) {
    let (b, c) = (&b[..D * D], &mut c[..D * D]);
    for i in 0..D {
        // By rows of b: neighbours in memory, the same order of additions.
        let mut sum = [0.0; D];
        sum.copy_from_slice(&c[i * D..(i + 1) * D]);
        for k in 0..D {
            for j in 0..D {
                sum[j] -= a[i][k] * b[k * D + j];
            }
        }
        c[i * D..(i + 1) * D].copy_from_slice(&sum);
    }
}

/// `y ← y − a x`.
#[inline(always)]
fn subtract_vector<const D: usize>(a: &[f64], x: &[f64], y: &mut [f64; D]) {
    for i in 0..D {
        for k in 0..D {
            y[i] -= a[i * D + k] * x[k];
        }
    }
}

/// `out ← a⁻¹` with pivoting by rows; false if `a` is singular. Destroys `a`.
#[inline]
fn invert<const D: usize>(a: &mut [f64], out: &mut [f64]) -> bool {
    out.fill(0.0);
    (0..D).for_each(|i| out[i * D + i] = 1.0);
    for c in 0..D {
        let mut pivot = c;
        for i in c + 1..D {
            if a[i * D + c].abs() > a[pivot * D + c].abs() {
                pivot = i;
            }
        }
        let value = a[pivot * D + c];
        if !(value.abs() > 0.0 && value.is_finite()) {
            return false;
        }
        for j in 0..D {
            a.swap(c * D + j, pivot * D + j);
            out.swap(c * D + j, pivot * D + j);
        }
        for j in 0..D {
            a[c * D + j] /= value;
            out[c * D + j] /= value;
        }
        for i in 0..D {
            if i != c {
                let factor = a[i * D + c];
                for j in 0..D {
                    a[i * D + j] -= factor * a[c * D + j];
                    out[i * D + j] -= factor * out[c * D + j];
                }
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of blocks with chords, non-symmetric, dominated by its diagonal.
    fn block(d: usize, i: usize, j: usize) -> Vec<f64> {
        let mut seed = (i * 7919 + j * 104_729 + 1) as f64;
        (0..d * d)
            .map(|p| {
                seed = (seed * 1.618 + 0.7).fract() + 0.01 * p as f64;
                seed - 0.5 + if i == j && p % (d + 1) == 0 { 4.0 } else { 0.0 }
            })
            .collect()
    }

    #[test]
    fn solves_over_all_blocks_and_over_some() {
        for d in [1, 2, 3, 6] {
            let n = 40;
            let (mut starts, mut columns) = (vec![0u32], Vec::new());
            for i in 0..n {
                columns.extend([i, (i + 1) % n, (i * 5 + 2) % n].map(|j| j as u32));
                starts.push(columns.len() as u32);
            }
            let mut lu = BlockLu::default();
            lu.analyse(d, &starts, &columns);
            for skip in [0, 3] {
                let active = |i: usize| skip == 0 || !i.is_multiple_of(skip);
                let entries = |i: usize| {
                    let mut own: Vec<usize> = columns[starts[i] as usize..starts[i + 1] as usize]
                        .iter()
                        .map(|&j| j as usize)
                        .collect();
                    own.sort_unstable();
                    own.dedup();
                    own
                };
                let row = |i: usize, put: &mut dyn FnMut(usize, &[f64])| {
                    entries(i).into_iter().for_each(|j| put(j, &block(d, i, j)))
                };
                assert!(lu.factor(active, row));
                let want: Vec<f64> = (0..n * d).map(|i| (i as f64 * 0.37).sin()).collect();
                let mut x = vec![7.0; n * d];
                for i in (0..n).filter(|&i| active(i)) {
                    for a in 0..d {
                        x[i * d + a] = 0.0;
                        for j in entries(i).into_iter().filter(|&j| active(j)) {
                            let b = block(d, i, j);
                            x[i * d + a] +=
                                (0..d).map(|c| b[a * d + c] * want[j * d + c]).sum::<f64>();
                        }
                    }
                }
                lu.solve(&mut x);
                for i in 0..n * d {
                    let expected = if active(i / d) { want[i] } else { 7.0 };
                    // Diagonally dominant: no growth.
                    assert!(
                        (x[i] - expected).abs() < 1e-12,
                        "d {d} skip {skip}: {} {expected}",
                        x[i]
                    );
                }
            }
        }
    }

    #[test]
    fn a_singular_block_is_refused() {
        let mut lu = BlockLu::default();
        lu.analyse(2, &[0, 1], &[0]);
        assert!(!lu.factor(|_| true, |_, put| put(0, &[1.0, 2.0, 2.0, 4.0])));
        assert!(!lu.factor(|_| true, |_, put| put(0, &[f64::NAN; 4])));
    }
}
