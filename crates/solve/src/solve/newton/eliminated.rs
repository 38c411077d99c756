//! Newton's step by the velocities: the reactions are eliminated, block by block.
//!
//! ```text
//!   (A (W + eps I) + B) dy = g,    W = J H⁻¹ Jᵀ + E       is, with H dv = Jᵀ dy,
//!
//!   N dy = g − A J dv,                  N = A (E + eps I) + B       d × d, one per block of rows
//!   (H + Jᵀ C J) dv = Jᵀ N⁻¹ g,         C = N⁻¹ A
//! ```
//!
//! The matrix has a block per body and an entry per pair of bodies that touch, however many
//! contacts they have: in a pile its factor is several times smaller than that of Newton's matrix
//! over the contacts, and a container that everything touches costs one more column. It needs eps >
//! 0; what 1/eps takes from the digits the caller gets back by correcting the step with its
//! residual.

use super::form::Blocks;
use super::piece::{Branch, Piece};
use crate::math::block_lu::BlockLu;
use crate::math::sparse::Csr;
use crate::problem::Rows;
use crate::problem::law::MAX_ROWS;

/// Below this weight the reactions are lost in rounding: it is taken instead (0 excepted, which is
/// refused).
const MIN_WEIGHT: f64 = 1e-9;
/// Corrections of a step, at most.
const MAX_CORRECTIONS: usize = 4;
/// Most unknowns of a group.
const MAX_GROUP_UNKNOWNS: usize = 6;

/// The system of the velocities, in groups of 3 or 6 unknowns.
#[derive(Default)]
pub(super) struct Eliminated {
    /// Unknowns of a group.
    d: usize,
    groups: usize,
    /// H by groups: the entries of group i are `mass[mass_starts[i]..mass_starts[i + 1]]`.
    mass_starts: Vec<u32>,
    mass: Vec<(u32, [f64; MAX_GROUP_UNKNOWNS * MAX_GROUP_UNKNOWNS])>,
    /// J by groups: block k has the slabs `slab_starts[k]..slab_starts[k + 1]`, each of a group and
    /// 3 × d numbers.
    slab_starts: Vec<u32>,
    slab_group: Vec<u32>,
    slabs: Vec<[f64; MAX_ROWS * MAX_GROUP_UNKNOWNS]>,
    /// The (block, slab) that touch each group.
    touch_starts: Vec<u32>,
    touch: Vec<(u32, u32)>,
    /// Compliance of each row.
    compliance: Vec<f64>,
    lu: BlockLu,
    analysed: bool,
    /// `N⁻¹` and `C` of each block.
    inverse: Vec<[f64; 9]>,
    coupling: Vec<[f64; 9]>,
    right: Vec<f64>,
    /// W dy and the defect of a step.
    u: Vec<f64>,
    g: Vec<f64>,
    /// While a problem is set or analysed: `1/√H_ii`, the pairs of groups that touch, groups, and
    /// counts of entries.
    scale: Vec<f64>,
    pairs: Vec<(u32, u32)>,
    near: Vec<u32>,
    count: Vec<u32>,
}

impl Eliminated {
    /// Nothing is known: `usable` is false.
    pub fn clear(&mut self) {
        self.groups = 0;
    }

    pub fn usable(&self) -> bool {
        self.groups > 0
    }

    /// Takes H and the scaled rows over the unknowns `interface`, with their compliances.
    pub fn set(&mut self, h: &Csr, rows: &Rows, interface: &[u32], compliance: &[f64]) {
        let n = h.rows;
        let mut scale = std::mem::take(&mut self.scale);
        scale.clear();
        scale.extend((0..n).map(|i| 1.0 / h.get(i, i).sqrt()));
        // Any grouping is right; the one with the fewest numbers is quick.
        let (pairs, groups) = (&mut self.pairs, &mut self.near);
        let mut numbers = |d: usize| {
            pairs.clear();
            for block in rows.blocks() {
                groups.clear();
                groups.extend(block.columns.iter().map(|&c| interface[c as usize] / d as u32));
                groups.dedup();
                pairs.extend(groups.iter().flat_map(|&i| groups.iter().map(move |&j| (i, j))));
            }
            pairs.sort_unstable();
            pairs.dedup();
            pairs.len() * d * d
        };
        self.d = if numbers(6) * 2 <= numbers(3) * 3 { 6 } else { 3 };
        self.groups = n.div_ceil(self.d);
        self.analysed = false;
        self.compliance.clear();
        self.compliance.extend_from_slice(compliance);
        self.set_mass(h, &scale);
        self.set_slabs(rows, interface, &scale);
        self.scale = scale;
    }

    fn set_mass(&mut self, h: &Csr, scale: &[f64]) {
        let d = self.d;
        self.mass.clear();
        self.mass_starts.clear();
        self.mass_starts.push(0);
        for group in 0..self.groups {
            let begin = self.mass.len();
            for i in d * group..d * (group + 1) {
                let (columns, values): (&[u32], &[f64]) =
                    if i < h.rows { h.row(i) } else { (&[], &[]) };
                let mut add = |j: usize, x: f64| {
                    let to = (j / d) as u32;
                    let at = self.mass[begin..]
                        .iter()
                        .position(|entry| entry.0 == to)
                        .map(|p| p + begin)
                        .unwrap_or_else(|| {
                            self.mass.push((to, [0.0; MAX_GROUP_UNKNOWNS * MAX_GROUP_UNKNOWNS]));
                            self.mass.len() - 1
                        });
                    self.mass[at].1[(i - d * group) * d + j % d] += x;
                };
                for (&j, &x) in columns.iter().zip(values) {
                    add(j as usize, x * scale[i] * scale[j as usize]);
                }
                if i >= h.rows {
                    add(i, 1.0);
                }
            }
            self.mass_starts.push(self.mass.len() as u32);
        }
    }

    fn set_slabs(&mut self, rows: &Rows, interface: &[u32], scale: &[f64]) {
        let d = self.d;
        self.slabs.clear();
        self.slab_group.clear();
        self.slab_starts.clear();
        self.slab_starts.push(0);
        let count = &mut self.count;
        count.clear();
        count.resize(self.groups + 1, 0);
        for block in rows.blocks() {
            let begin = self.slabs.len();
            for (c, &p) in block.columns.iter().enumerate() {
                let unknown = interface[p as usize] as usize;
                let group = (unknown / d) as u32;
                if self.slabs.len() == begin || self.slab_group[self.slabs.len() - 1] != group {
                    self.slab_group.push(group);
                    self.slabs.push([0.0; MAX_ROWS * MAX_GROUP_UNKNOWNS]);
                    count[group as usize + 1] += 1;
                }
                let slab = self.slabs.last_mut().expect("there is one for this group");
                for i in 0..block.rows {
                    slab[i * d + unknown % d] = block.row(i)[c] * scale[unknown];
                }
            }
            self.slab_starts.push(self.slabs.len() as u32);
        }
        for group in 0..self.groups {
            count[group + 1] += count[group];
        }
        self.touch_starts.clone_from(count);
        self.touch.clear();
        self.touch.resize(self.slabs.len(), (0, 0));
        for k in 0..self.slab_starts.len() - 1 {
            for slab in self.slab_starts[k]..self.slab_starts[k + 1] {
                let at = &mut count[self.slab_group[slab as usize] as usize];
                self.touch[*at as usize] = (k as u32, slab);
                *at += 1;
            }
        }
    }

    fn analyse(&mut self) {
        let (mut starts, mut columns) =
            (std::mem::take(&mut self.count), std::mem::take(&mut self.near));
        starts.clear();
        starts.push(0);
        columns.clear();
        for group in 0..self.groups {
            let begin = columns.len();
            let mass = self.mass_starts[group] as usize..self.mass_starts[group + 1] as usize;
            columns.extend(self.mass[mass].iter().map(|entry| entry.0));
            for &(k, _) in &self.touch
                [self.touch_starts[group] as usize..self.touch_starts[group + 1] as usize]
            {
                columns.extend_from_slice(&self.slab_group[self.slabs_of(k as usize)]);
            }
            columns[begin..].sort_unstable();
            let mut kept = begin;
            for at in begin..columns.len() {
                if at == begin || columns[at] != columns[kept - 1] {
                    columns[kept] = columns[at];
                    kept += 1;
                }
            }
            columns.truncate(kept);
            starts.push(kept as u32);
        }
        self.lu.analyse(self.d, &starts, &columns);
        (self.count, self.near) = (starts, columns);
        self.analysed = true;
    }

    fn slabs_of(&self, k: usize) -> std::ops::Range<usize> {
        self.slab_starts[k] as usize..self.slab_starts[k + 1] as usize
    }

    /// Operations of a factorization.
    pub fn operations(&mut self) -> f64 {
        if !self.analysed {
            self.analyse();
        }
        self.lu.operations(|_| true)
    }

    /// Solves `(A (W + eps I) + B) dy = −F`, `times_w(x, u)` being `u ← W x`; false if that fails,
    /// or if eps is 0.
    pub fn direction(
        &mut self,
        blocks: &Blocks,
        step: (&[Piece], f64),
        mut times_w: impl FnMut(&[f64], &mut [f64]),
        dy: &mut [f64],
    ) -> bool {
        let (pieces, eps) = (step.0, step.1.max(MIN_WEIGHT));
        if step.1 == 0.0 || !self.factor(blocks, pieces, eps) {
            return false;
        }
        dy.fill(0.0);
        let (mut u, mut g) = (std::mem::take(&mut self.u), std::mem::take(&mut self.g));
        for list in [&mut u, &mut g] {
            list.clear();
            list.resize(dy.len(), 0.0);
        }
        let first = defect(blocks, (pieces, eps), &u, dy, &mut g);
        let mut left = first;
        for _ in 0..MAX_CORRECTIONS {
            self.correct(blocks, &g, dy);
            times_w(dy, &mut u);
            let now = defect(blocks, (pieces, eps), &u, dy, &mut g);
            let enough = now.is_nan() || now >= 0.5 * left || now <= 1e-12 * first;
            left = now;
            if enough {
                break;
            }
        }
        (self.u, self.g) = (u, g);
        left <= 1e-3 * first && dy.iter().all(|x| x.is_finite())
    }

    /// Factors for these pieces.
    fn factor(&mut self, blocks: &Blocks, pieces: &[Piece], eps: f64) -> bool {
        if !self.set_couplings(blocks, pieces, eps) {
            return false;
        }
        if !self.analysed {
            self.analyse();
        }
        let Eliminated {
            d,
            mass,
            mass_starts,
            slabs,
            slab_group,
            slab_starts,
            touch,
            touch_starts,
            coupling,
            lu,
            ..
        } = self;
        let d = *d;
        let mut out = [0.0; MAX_GROUP_UNKNOWNS * MAX_GROUP_UNKNOWNS];
        lu.factor(
            |_| true,
            |group, put| {
                for (j, block) in
                    &mass[mass_starts[group] as usize..mass_starts[group + 1] as usize]
                {
                    put(*j as usize, &block[..d * d]);
                }
                for &(k, own) in
                    &touch[touch_starts[group] as usize..touch_starts[group + 1] as usize]
                {
                    let (k, rows) = (k as usize, blocks.range(k as usize).len());
                    if pieces[k].branch == Branch::Open {
                        continue;
                    }
                    // (J_i)ᵀ C, then times J_j.
                    let mut left = [0.0; MAX_ROWS * MAX_GROUP_UNKNOWNS];
                    for a in 0..d {
                        for q in 0..rows {
                            left[a * MAX_ROWS + q] = (0..rows)
                                .map(|p| slabs[own as usize][p * d + a] * coupling[k][p * rows + q])
                                .sum();
                        }
                    }
                    for slab in slab_starts[k] as usize..slab_starts[k + 1] as usize {
                        for a in 0..d {
                            for b in 0..d {
                                out[a * d + b] = (0..rows)
                                    .map(|q| left[a * MAX_ROWS + q] * slabs[slab][q * d + b])
                                    .sum();
                            }
                        }
                        put(slab_group[slab] as usize, &out[..d * d]);
                    }
                }
            },
        )
    }

    /// `N⁻¹` and `C` of every block.
    fn set_couplings(&mut self, blocks: &Blocks, pieces: &[Piece], eps: f64) -> bool {
        self.inverse.clear();
        self.coupling.clear();
        for (k, piece) in pieces.iter().enumerate() {
            let range = blocks.range(k);
            let d = range.len();
            let mut n = [0.0; 9];
            for i in 0..d {
                for j in 0..d {
                    n[i * d + j] = piece.a[i * d + j] * (self.compliance[range.start + j] + eps)
                        + piece.b[i * d + j];
                }
            }
            let Some(inverse) = inverted(&n, d) else { return false };
            let mut c = [0.0; 9];
            for i in 0..d {
                for j in 0..d {
                    c[i * d + j] = (0..d).map(|p| inverse[i * d + p] * piece.a[p * d + j]).sum();
                }
            }
            self.inverse.push(inverse);
            self.coupling.push(c);
        }
        true
    }

    /// `dy ← dy + (A (W + eps I) + B)⁻¹ g` with the factor at hand.
    pub fn correct(&mut self, blocks: &Blocks, g: &[f64], dy: &mut [f64]) {
        let d = self.d;
        self.right.clear();
        self.right.resize(d * self.groups, 0.0);
        for k in 0..blocks.len() {
            let (range, x) = (blocks.range(k), times(&self.inverse[k], &g[blocks.range(k)]));
            for slab in self.slabs_of(k) {
                let to = d * self.slab_group[slab] as usize;
                for i in 0..range.len() {
                    for a in 0..d {
                        self.right[to + a] += self.slabs[slab][i * d + a] * x[i];
                    }
                }
            }
        }
        self.lu.solve(&mut self.right);
        for k in 0..blocks.len() {
            let range = blocks.range(k);
            let mut moved = [0.0; MAX_ROWS];
            for slab in self.slabs_of(k) {
                let from = d * self.slab_group[slab] as usize;
                for (i, moved) in moved[..range.len()].iter_mut().enumerate() {
                    *moved += (0..d)
                        .map(|a| self.slabs[slab][i * d + a] * self.right[from + a])
                        .sum::<f64>();
                }
            }
            let (x, back) = (
                times(&self.inverse[k], &g[range.clone()]),
                times(&self.coupling[k], &moved[..range.len()]),
            );
            for (i, row) in range.enumerate() {
                dy[row] += x[i] - back[i];
            }
        }
    }
}

/// `g ← −F − (A (u + eps dy) + B dy)`, u being W dy; returns its norm.
pub(super) fn defect(
    blocks: &Blocks,
    (pieces, eps): (&[Piece], f64),
    u: &[f64],
    dy: &[f64],
    g: &mut [f64],
) -> f64 {
    let mut sum = 0.0;
    for (k, piece) in pieces.iter().enumerate() {
        let range = blocks.range(k);
        let (d, first) = (range.len(), range.start);
        for i in 0..d {
            let mut x = -piece.f[i];
            for j in 0..d {
                x -= piece.a[i * d + j] * (u[first + j] + eps * dy[first + j])
                    + piece.b[i * d + j] * dy[first + j];
            }
            g[first + i] = x;
            sum += x * x;
        }
    }
    sum.sqrt()
}

/// A d × d matrix times a vector.
#[inline]
fn times(matrix: &[f64; 9], x: &[f64]) -> [f64; MAX_ROWS] {
    let mut out = [0.0; MAX_ROWS];
    for (out, row) in out.iter_mut().zip(matrix[..x.len() * x.len()].chunks_exact(x.len())) {
        *out = row.iter().zip(x).map(|(a, x)| a * x).sum();
    }
    out
}

/// The inverse of a d × d matrix by elimination with pivots; none if it is singular.
fn inverted(matrix: &[f64; 9], d: usize) -> Option<[f64; 9]> {
    let (mut a, mut out) = (*matrix, [0.0; 9]);
    (0..d).for_each(|i| out[i * d + i] = 1.0);
    for c in 0..d {
        let pivot = (c..d).max_by(|&i, &j| a[i * d + c].abs().total_cmp(&a[j * d + c].abs()))?;
        let value = a[pivot * d + c];
        if !(value != 0.0 && value.is_finite()) {
            return None;
        }
        for j in 0..d {
            a.swap(c * d + j, pivot * d + j);
            out.swap(c * d + j, pivot * d + j);
            a[c * d + j] /= value;
            out[c * d + j] /= value;
        }
        for i in (0..d).filter(|&i| i != c) {
            let factor = a[i * d + c];
            for j in 0..d {
                a[i * d + j] -= factor * a[c * d + j];
                out[i * d + j] -= factor * out[c * d + j];
            }
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;
    use crate::problem::Law;

    /// `width` unknowns per body, a chain of bodies with two contacts between neighbours.
    fn step_is_right(bodies: usize, width: usize) {
        let (mut draw, n) = (Random::seeded(7), bodies * width);
        let mass: Vec<f64> = (0..n).map(|i| 1.0 + (i % width) as f64).collect();
        let (mut rows, mut laws) = (Rows::new(n), Vec::new());
        for k in 0..2 * (bodies - 1) {
            let first = (k / 2) * width;
            let columns: Vec<u32> = (first..first + 2 * width).map(|c| c as u32).collect();
            let values: Vec<f64> = (0..3 * columns.len()).map(|_| draw.signed()).collect();
            rows.push(3, &columns, &values);
            laws.push(Law::Coulomb { mu: 0.5, rows: 3 });
        }
        let m = rows.len();
        let mut blocks = Blocks::default();
        blocks.set(&laws, &rows.row_starts, &vec![1.0; laws.len()]);
        let (y, u): (Vec<f64>, Vec<f64>) =
            ((0..m).map(|_| draw.signed()).collect(), (0..m).map(|_| draw.signed()).collect());
        let piece = |k: usize| Piece::of(&laws[k], &y[blocks.range(k)], &u[blocks.range(k)]);
        let pieces: Vec<Piece> = (0..laws.len()).map(piece).collect();
        let interface: Vec<u32> = (0..n as u32).collect();
        let mut eliminated = Eliminated::default();
        eliminated.set(&Csr::diagonal(&mass), &rows, &interface, &vec![0.01; m]);
        assert_eq!(eliminated.d, width);
        let times_w = |x: &[f64], u: &mut [f64]| {
            let mut v = vec![0.0; n];
            rows.add_transposed(x, &mut v);
            v.iter_mut().zip(&mass).for_each(|(v, mass)| *v /= mass);
            rows.mul(&v, u);
            u.iter_mut().zip(x).for_each(|(u, x)| *u += 0.01 * x);
        };
        let mut dy = vec![0.0; m];
        assert!(eliminated.direction(&blocks, (&pieces, 1e-6), times_w, &mut dy));
        let (mut w, mut left) = (vec![0.0; m], vec![0.0; m]);
        times_w(&dy, &mut w);
        let first = pieces.iter().flat_map(|p| p.f).map(|f| f * f).sum::<f64>().sqrt();
        // Rounding times the condition, 1e-16 · 1/0.01, with room.
        assert!(defect(&blocks, (&pieces, 1e-6), &w, &dy, &mut left) < 1e-11 * first);
        // Without a weight the reactions of redundant rows are anything.
        assert!(!eliminated.direction(&blocks, (&pieces, 0.0), times_w, &mut dy));
    }

    #[test]
    fn bodies_of_three_and_of_six_unknowns() {
        step_is_right(9, 3);
        step_is_right(5, 6);
    }
}
