//! The form `u = W y + q`: for reduced problems, and for bodies with few contacts each.
//!
//! The rows of W are kept block by block, as given (never symmetrised). Newton's matrix
//! `A (W + eps I) + B` is factored over the blocks that are not open, as a dense matrix while it is
//! small, as a sparse one (over all blocks, so that one analysis serves all steps) when it is large.

use super::form::{Blocks, Form, Point, Prox, block_times, solve_local};
use super::piece::{Branch, Piece};
use crate::math::lu::{DenseLu, SparseLu};
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
    dense: DenseLu,
    sparse: Option<SparseLu>,
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Place of each row among the rows that are not open.
    place: Vec<u32>,
    right: Vec<f64>,
}

impl Delassus {
    /// Takes `W` and `q`, not yet scaled; `self.blocks` is set already.
    #[allow(non_snake_case)]
    pub fn set(&mut self, W: &Csr, q: &[f64]) {
        self.starts.clear();
        let blocks = &self.blocks;
        let mut scale = vec![1.0; q.len()];
        for k in 0..blocks.len() {
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

    fn direction_dense(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64], n: usize) -> bool {
        let matrix = self.dense.matrix(n);
        self.right.clear();
        for (k, piece) in pieces.iter().enumerate() {
            if piece.branch == Branch::Open {
                continue;
            }
            let block = self.W.block(k);
            let d = block.rows;
            let first = self.place[block.first] as usize;
            let mut right = [0.0; MAX_ROWS];
            right[..d].iter_mut().zip(&piece.f).for_each(|(r, f)| *r = -f);
            for (c, &j) in block.columns.iter().enumerate() {
                let place = self.place[j as usize] as usize;
                for i in 0..d {
                    let x: f64 = (0..d).map(|p| piece.a[i * d + p] * block.values[p * block.columns.len() + c]).sum();
                    if place < n {
                        matrix[place * n + first + i] = x;
                    } else {
                        right[i] -= x * dy[j as usize];
                    }
                }
            }
            for i in 0..d {
                for j in 0..d {
                    matrix[(first + j) * n + first + i] += eps * piece.a[i * d + j] + piece.b[i * d + j];
                }
                self.right.push(right[i]);
            }
        }
        if n > 0 {
            if self.dense.factor().is_err() {
                return false;
            }
            self.dense.solve(&mut self.right);
        }
        for (row, dy) in dy.iter_mut().enumerate() {
            if (self.place[row] as usize) < n {
                *dy = self.right[self.place[row] as usize];
            }
        }
        true
    }

    /// The pattern of Newton's matrix: that of W by blocks, and the whole diagonal blocks.
    fn analyse(&mut self) {
        self.starts.clear();
        self.columns.clear();
        self.starts.push(0);
        for k in 0..self.blocks.len() {
            let (block, range) = (self.W.block(k), self.blocks.range(k));
            for _ in range.clone() {
                let at = self.columns.len();
                self.columns.extend_from_slice(block.columns);
                for j in range.clone() {
                    if block.columns.binary_search(&(j as u32)).is_err() {
                        self.columns.push(j as u32);
                    }
                }
                self.columns[at..].sort_unstable();
                self.starts.push(self.columns.len() as u32);
            }
        }
        let n = self.blocks.rows();
        if !self.sparse.as_ref().is_some_and(|lu| lu.matches(n, &self.starts, &self.columns)) {
            self.sparse = Some(SparseLu::analyse(n, &self.starts, &self.columns));
        }
    }

    fn direction_sparse(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool {
        if self.starts.is_empty() {
            self.analyse();
        }
        self.values.clear();
        self.values.resize(self.columns.len(), 0.0);
        for (k, piece) in pieces.iter().enumerate() {
            let block = self.W.block(k);
            let (d, width) = (block.rows, block.columns.len());
            for i in 0..d {
                let range = self.starts[block.first + i] as usize..self.starts[block.first + i + 1] as usize;
                let (columns, values) = (&self.columns[range.clone()], &mut self.values[range]);
                let mut c = 0;
                for (&j, x) in columns.iter().zip(values) {
                    if c < width && block.columns[c] == j {
                        if piece.branch != Branch::Open {
                            *x = (0..d).map(|p| piece.a[i * d + p] * block.values[p * width + c]).sum();
                        }
                        c += 1;
                    }
                    let local = (j as usize).wrapping_sub(block.first);
                    if local < d {
                        *x += eps * piece.a[i * d + local] + piece.b[i * d + local];
                    }
                }
            }
            for i in 0..d {
                dy[block.first + i] = -piece.f[i];
            }
        }
        let Some(lu) = self.sparse.as_mut() else { return false };
        if lu.factor(&self.values).is_err() {
            return false;
        }
        lu.solve(dy);
        true
    }
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
                dy[self.blocks.starts[k] + i] = -piece.f[i];
            }
        }
        let found =
            if n as usize <= DENSE { self.direction_dense(pieces, eps, dy, n as usize) } else { self.direction_sparse(pieces, eps, dy) };
        found && dy.iter().all(|x| x.is_finite())
    }
}
