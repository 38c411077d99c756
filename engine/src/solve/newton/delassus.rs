//! The form `u = W y + q`: for reduced problems, and for bodies with few contacts each.
//!
//! The rows of W are kept block by block, as given (never symmetrised). Newton's matrix
//! `A (W + eps I) + B` is factored over the blocks that are not open: as a dense matrix while it is
//! small, by blocks when it is large. The order of elimination is found for the pattern of all blocks, so that one
//! analysis serves all steps, and the next problem too while its candidate contacts are the same.

use super::form::{Blocks, Form, Point, Prox, block_times, solve_local};
use super::piece::{Branch, Piece};
use crate::math::block_lu::BlockLu;
use crate::math::lu::DenseLu;
use crate::math::sparse::Csr;
use crate::problem::Rows;
use crate::problem::law::MAX_ROWS;

/// Newton systems up to this many rows are factored as dense matrices.
const DENSE: usize = 120;

#[derive(Default)]
#[allow(non_snake_case)]
pub(super) struct Delassus {
    pub blocks: Blocks,
    W: Rows,
    /// Diagonal blocks, d × d each, at 9 k.
    diagonal: Vec<f64>,
    q: Vec<f64>,
    /// Rows of the largest block, and the block of each row.
    d: usize,
    block_of: Vec<u32>,
    dense: DenseLu,
    blocked: BlockLu,
    /// The block pattern; empty until it is needed.
    starts: Vec<u32>,
    columns: Vec<u32>,
    /// Place of each row among the rows that are not open.
    place: Vec<u32>,
    right: Vec<f64>,
    packed: Vec<f64>,
}

impl Delassus {
    /// Takes `W` and `q`, not yet scaled; `self.blocks` is set already.
    #[allow(non_snake_case)]
    pub fn set(&mut self, W: &Csr, q: &[f64]) {
        self.starts.clear();
        let blocks = &self.blocks;
        let mut scale = vec![1.0; q.len()];
        self.block_of.clear();
        self.block_of.resize(q.len(), 0);
        self.d = blocks.laws.iter().map(|law| law.rows()).max().unwrap_or(1);
        for k in 0..blocks.len() {
            self.block_of[blocks.range(k)].fill(k as u32);
            scale[blocks.range(k)].fill(1.0 / blocks.root[k]);
        }
        self.q.clear();
        self.q.extend(q.iter().zip(&scale).map(|(q, s)| q * s));
        self.W = Rows::from_csr(W, &blocks.laws);
        self.diagonal.clear();
        self.diagonal.resize(9 * blocks.len(), 0.0);
        for k in 0..blocks.len() {
            let range = blocks.range(k);
            let (d, at, width) = (range.len(), self.W.value_starts[k], self.W.column_starts[k + 1] - self.W.column_starts[k]);
            for c in 0..width {
                let j = self.W.columns[self.W.column_starts[k] + c] as usize;
                for i in 0..d {
                    let x = &mut self.W.values[at + i * width + c];
                    *x *= scale[range.start + i] * scale[j];
                    if range.contains(&j) {
                        self.diagonal[9 * k + i * d + j - range.start] = *x;
                    }
                }
            }
        }
    }

    /// The scaled velocities without reactions.
    pub fn free(&self) -> &[f64] {
        &self.q
    }

    /// Factors Newton's matrix over the blocks that are not open: by `dense`, else by blocks.
    fn factor(&mut self, pieces: &[Piece], eps: f64, n: usize) -> bool {
        if n <= DENSE {
            return self.factor_dense(pieces, eps, n);
        }
        if self.starts.is_empty() {
            self.analyse();
        }
        let (w, block_of, first_rows, d) = (&self.W, &self.block_of, &self.blocks.starts, self.d);
        let mut entry = [0.0; MAX_ROWS * MAX_ROWS];
        self.blocked.factor(
            |k| pieces[k].branch != Branch::Open,
            |k, put| {
                let (block, piece) = (w.block(k), &pieces[k]);
                let (rows, width) = (block.rows, block.columns.len());
                let (mut c, mut diagonal) = (0, false);
                while c < width {
                    // The columns of one block stand together.
                    let other = block_of[block.columns[c] as usize];
                    entry.fill(0.0);
                    while c < width && block_of[block.columns[c] as usize] == other {
                        let j = block.columns[c] as usize - first_rows[other as usize];
                        for i in 0..rows {
                            entry[i * d + j] = (0..rows).map(|p| piece.a[i * rows + p] * block.values[p * width + c]).sum();
                        }
                        c += 1;
                    }
                    if other as usize == k {
                        own_block(piece, eps, rows, d, &mut entry);
                        diagonal = true;
                    }
                    put(other as usize, &entry);
                }
                if !diagonal {
                    entry.fill(0.0);
                    own_block(piece, eps, rows, d, &mut entry);
                    put(k, &entry);
                }
            },
        )
    }

    fn factor_dense(&mut self, pieces: &[Piece], eps: f64, n: usize) -> bool {
        let matrix = self.dense.matrix(n);
        for (k, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.branch != Branch::Open) {
            let block = self.W.block(k);
            let (d, first) = (block.rows, self.place[block.first] as usize);
            for (c, &j) in block.columns.iter().enumerate() {
                let place = self.place[j as usize] as usize;
                if place < n {
                    for i in 0..d {
                        matrix[place * n + first + i] =
                            (0..d).map(|p| piece.a[i * d + p] * block.values[p * block.columns.len() + c]).sum();
                    }
                }
            }
            for i in 0..d {
                for j in 0..d {
                    matrix[(first + j) * n + first + i] += eps * piece.a[i * d + j] + piece.b[i * d + j];
                }
            }
        }
        n == 0 || self.dense.factor().is_ok()
    }

    /// Block pattern and order, once per pattern.
    fn analyse(&mut self) {
        self.starts.push(0);
        self.columns.clear();
        for k in 0..self.blocks.len() {
            let begin = self.columns.len();
            for &j in self.W.block(k).columns {
                let other = self.block_of[j as usize];
                if self.columns.len() == begin || self.columns.last() != Some(&other) {
                    self.columns.push(other);
                }
            }
            self.starts.push(self.columns.len() as u32);
        }
        self.blocked.analyse(self.d, &self.starts, &self.columns);
    }

    /// `−F − (A (W + eps) + B) dy` over the blocks that are not open, and its norm.
    fn residual(&mut self, pieces: &[Piece], eps: f64, dy: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.right.clear();
        self.right.resize(dy.len(), 0.0);
        for (k, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.branch != Branch::Open) {
            let (block, mut u) = (self.W.block(k), [0.0; MAX_ROWS]);
            let d = block.rows;
            block_times(&block, dy, &mut u);
            let own = &dy[block.range()];
            for i in 0..d {
                let mut x = -piece.f[i];
                for j in 0..d {
                    x -= piece.a[i * d + j] * (u[j] + eps * own[j]) + piece.b[i * d + j] * own[j];
                }
                self.right[block.first + i] = x;
                sum += x * x;
            }
        }
        sum.sqrt()
    }

    /// `dy ← dy + (A (W + eps) + B)⁻¹ right` with the factor at hand.
    fn correct(&mut self, n: usize, dy: &mut [f64]) {
        self.packed.clear();
        if n <= DENSE {
            self.packed.extend((0..dy.len()).filter(|&i| (self.place[i] as usize) < n).map(|i| self.right[i]));
            if n > 0 {
                self.dense.solve(&mut self.packed);
            }
            for (dy, &place) in dy.iter_mut().zip(&self.place) {
                if (place as usize) < n {
                    *dy += self.packed[place as usize];
                }
            }
            return;
        }
        self.packed.resize(self.d * self.blocks.len(), 0.0);
        for k in 0..self.blocks.len() {
            let range = self.blocks.range(k);
            self.packed[self.d * k..self.d * k + range.len()].copy_from_slice(&self.right[range]);
        }
        self.blocked.solve(&mut self.packed);
        for k in 0..self.blocks.len() {
            if self.place[self.blocks.starts[k]] != u32::MAX {
                dy[self.blocks.range(k)].iter_mut().zip(&self.packed[self.d * k..]).for_each(|(dy, x)| *dy += x);
            }
        }
    }
}

/// Adds `eps A + B` to a diagonal block, and ones where the block has fewer rows than the largest.
#[inline]
fn own_block(piece: &Piece, eps: f64, rows: usize, d: usize, entry: &mut [f64]) {
    for i in 0..rows {
        for j in 0..rows {
            entry[i * d + j] += eps * piece.a[i * rows + j] + piece.b[i * rows + j];
        }
    }
    (rows..d).for_each(|i| entry[i * d + i] = 1.0);
}

impl Form for Delassus {
    fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn velocities(&mut self, point: &mut Point) {
        let mut sum = 0.0;
        for (k, law) in self.blocks.laws.iter().enumerate() {
            let (block, mut out) = (self.W.block(k), [0.0; MAX_ROWS]);
            let d = block.rows;
            block_times(&block, &point.y, &mut out);
            for i in 0..d {
                out[i] += self.q[block.first + i];
            }
            point.u[block.range()].copy_from_slice(&out[..d]);
            let mut natural = [0.0; MAX_ROWS];
            law.natural(1.0, &out[..d], &point.y[block.range()], &mut natural[..d]);
            sum += natural.iter().map(|x| x * x).sum::<f64>();
        }
        point.residual = sum.sqrt();
    }

    fn sweep(&mut self, point: &mut Point, prox: Option<Prox<'_>>) {
        for (k, law) in self.blocks.laws.iter().enumerate() {
            let (block, mut q) = (self.W.block(k), [0.0; MAX_ROWS]);
            let (d, w) = (block.rows, &self.diagonal[9 * k..9 * k + 9]);
            block_times(&block, &point.y, &mut q);
            let y = &mut point.y[block.range()];
            for i in 0..d {
                q[i] += self.q[block.first + i] - (0..d).map(|j| w[i * d + j] * y[j]).sum::<f64>();
            }
            let prox = prox.map(|p| (p.eps, &p.centre[block.range()]));
            solve_local(law, w, &mut q[..d], prox, y);
        }
    }

    fn direction(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool {
        self.place.clear();
        let mut n = 0;
        for (k, piece) in pieces.iter().enumerate() {
            for i in 0..self.blocks.range(k).len() {
                let open = piece.branch == Branch::Open;
                self.place.push(if open { u32::MAX } else { n });
                n += u32::from(!open);
                dy[self.blocks.starts[k] + i] = if open { -piece.f[i] } else { 0.0 };
            }
        }
        let n = n as usize;
        let first = self.residual(pieces, eps, dy);
        if !self.factor(pieces, eps, n) {
            return false;
        }
        let mut left = first;
        for _ in 0..3 {
            self.correct(n, dy);
            let now = self.residual(pieces, eps, dy);
            let enough = !(now < 0.5 * left) || now <= 1e-12 * first;
            left = now;
            if enough {
                break;
            }
        }
        // Pivots are sought within blocks alone: a matrix that needs more shows itself here.
        left <= 1e-3 * first && dy.iter().all(|x| x.is_finite())
    }
}
