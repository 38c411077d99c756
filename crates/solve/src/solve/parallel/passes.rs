//! Passes over long vectors: each number is read once, on several threads if asked, with sums in a
//! fixed order. The loops are plain; they are compiled for the vectors of the machine at hand too,
//! with the same operations.

use super::WorkerGroup;
use crate::math::dot_by_sums;
use pulp::Arch;
use std::ops::Range;
use std::sync::Arc;

/// The most vectors that a difference is multiplied with.
pub(crate) const MAX_DIFFERENCES: usize = 24;

/// What a new difference d brings: `d·d`, the slope along it, and `d·d_i` for each of those in use.
#[derive(Clone, Copy, Default)]
pub(crate) struct Products {
    pub square: f64,
    pub slope: f64,
    pub others: [f64; MAX_DIFFERENCES],
}

/// Numbers per chunk, the unit of parallel work.
const CHUNK: usize = 1024;

/// Numbers of a vector without cuts that are worth sharing.
const MIN_LENGTH_FOR_THREADS: usize = 32 * CHUNK;

/// Numbers per block: as many of each of the eight vectors of a pass as stay in the first-level
/// cache.
const BLOCK: usize = 512;

/// The scalar product; the same to the bit for any number of threads.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    Arch::new()
        .dispatch(|| a.chunks(BLOCK).zip(b.chunks(BLOCK)).map(|(a, b)| dot_by_sums(a, b)).sum())
}

/// Where the shares of the subdomains begin in r̂ and in z: each thread passes over what it sweeps.
/// Empty if there is one part.
#[derive(Clone, Default)]
pub(crate) struct Cuts {
    pub r: Vec<usize>,
    pub z: Vec<usize>,
}

/// What a pass goes over.
#[derive(Clone, Copy, Default)]
pub(crate) enum Vector {
    R,
    Z,
    #[default]
    Other,
}

/// Work space of the passes: the sums of each chunk.
#[derive(Default)]
pub(crate) struct Passes {
    sums: Vec<Products>,
    starts: Vec<usize>,
    /// Who helps; nobody without one.
    pub workers: Option<Arc<WorkerGroup>>,
    pub cuts: Cuts,
    vector: Vector,
}

/// A vector in chunks: shares, each in as many pieces.
#[derive(Clone, Copy)]
struct Chunks<'a> {
    cuts: &'a [usize],
    length: usize,
    pieces: usize,
}

impl<'a> Chunks<'a> {
    fn new(cuts: &'a [usize], length: usize) -> Chunks<'a> {
        // Equal shares come of themselves where there are no cuts.
        let cuts = if cuts.last().is_some_and(|&last| last < length) { cuts } else { &[] };
        let chunks = Chunks { cuts, length, pieces: 1 };
        let longest =
            (0..chunks.shares()).map(|share| chunks.share(share).len()).max().unwrap_or(0);
        Chunks { pieces: longest.div_ceil(CHUNK), ..chunks }
    }

    fn shares(&self) -> usize {
        self.cuts.len().max(1)
    }

    fn share(&self, i: usize) -> Range<usize> {
        let cut =
            |i: usize| if i == 0 { 0 } else { self.cuts.get(i).map_or(self.length, |&cut| cut) };
        cut(i)..cut(i + 1)
    }

    fn count(&self) -> usize {
        self.shares() * self.pieces
    }

    fn range(&self, i: usize) -> Range<usize> {
        let share = self.share(i / self.pieces);
        let size = share.len().div_ceil(self.pieces).next_multiple_of(8);
        let start = |piece: usize| share.start + share.len().min(piece * size);
        start(i % self.pieces)..start(i % self.pieces + 1)
    }
}

impl Passes {
    /// The next passes go over this vector.
    pub(crate) fn over(&mut self, vector: Vector) -> &mut Passes {
        self.vector = vector;
        self
    }

    /// `f(range, out of it, its sums)` for each chunk, on the worker threads if there is one; the
    /// sums of all chunks, in order.
    fn by_chunks(
        &mut self,
        out: &mut [f64],
        f: impl Fn(Range<usize>, &mut [f64], &mut Products) + Sync,
    ) -> &[Products] {
        let cuts = match self.vector {
            Vector::R => &self.cuts.r[..],
            Vector::Z => &self.cuts.z,
            Vector::Other => &[],
        };
        let chunks = Chunks::new(cuts, out.len());
        self.sums.clear();
        self.sums.resize(chunks.count(), Products::default());
        let run = |i: usize, out: &mut [f64], sums: &mut Products| f(chunks.range(i), out, sums);
        // Few numbers are gone over sooner than another thread hears of them.
        let workers = self
            .workers
            .as_ref()
            .filter(|_| !chunks.cuts.is_empty() || chunks.length >= MIN_LENGTH_FOR_THREADS);
        match workers {
            Some(workers) => {
                self.starts.clear();
                self.starts.extend((0..chunks.count()).map(|i| chunks.range(i).start));
                self.starts.push(chunks.length);
                workers.ranges((out, &mut self.sums), &self.starts, run);
            }
            None => self
                .sums
                .iter_mut()
                .enumerate()
                .for_each(|(i, sums)| run(i, &mut out[chunks.range(i)], sums)),
        }
        &self.sums
    }
}

impl Passes {
    /// `out ← a − b`, with `out·out`, `out·along` (as slope) and `out·other` for each of `others`;
    /// no sums where `along` is empty.
    pub(crate) fn difference(
        &mut self,
        out: &mut [f64],
        (a, b): (&[f64], &[f64]),
        along: &[f64],
        others: &[&[f64]],
    ) -> Products {
        let run = |all: Range<usize>, out: &mut [f64], sums: &mut Products| {
            Arch::new().dispatch(|| {
                for (i, out) in out.chunks_mut(BLOCK).enumerate() {
                    let range = all.start + i * BLOCK..all.start + i * BLOCK + out.len();
                    for (out, (a, b)) in
                        out.iter_mut().zip(a[range.clone()].iter().zip(&b[range.clone()]))
                    {
                        *out = a - b;
                    }
                    if !along.is_empty() {
                        sums.square += dot_by_sums(out, out);
                        sums.slope += dot_by_sums(out, &along[range.clone()]);
                    }
                    for (sum, other) in sums.others.iter_mut().zip(others) {
                        *sum += dot_by_sums(out, &other[range.clone()]);
                    }
                }
            });
        };
        let mut total = Products::default();
        for sums in self.by_chunks(out, run) {
            total.square += sums.square;
            total.slope += sums.slope;
            for i in 0..others.len().min(MAX_DIFFERENCES) {
                total.others[i] += sums.others[i];
            }
        }
        total
    }

    /// `y ← x − Σ factor_i d(i)`.
    pub(crate) fn combine<'a>(
        &mut self,
        (y, x): (&mut [f64], &[f64]),
        factors: &[f64],
        d: impl Fn(usize) -> &'a [f64] + Sync,
    ) {
        let run = |all: Range<usize>, y: &mut [f64], _: &mut Products| {
            Arch::new().dispatch(|| {
                for (i, y) in y.chunks_mut(BLOCK).enumerate() {
                    let range = all.start + i * BLOCK..all.start + i * BLOCK + y.len();
                    let (x, d) = (&x[range.clone()], |i: usize| &d(i)[range.clone()]);
                    let mut rest = factors.iter().enumerate();
                    match rest.next() {
                        Some((i, factor)) => y
                            .iter_mut()
                            .zip(x.iter().zip(d(i)))
                            .for_each(|(y, (x, d))| *y = x - factor * d),
                        None => y.copy_from_slice(x),
                    }
                    for (i, factor) in rest {
                        y.iter_mut().zip(d(i)).for_each(|(y, d)| *y -= factor * d);
                    }
                }
            });
        };
        self.by_chunks(y, run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_shares_in_order() {
        for (cuts, length) in [
            (vec![], 5000),
            (vec![], 0),
            (vec![0, 1003, 4000], 9001),
            (vec![0, 7], 8),
            (vec![0, 9000], 9000),
        ] {
            let chunks = Chunks::new(&cuts, length);
            let ranges: Vec<_> = (0..chunks.count()).map(|i| chunks.range(i)).collect();
            assert_eq!(
                ranges.iter().flat_map(Clone::clone).collect::<Vec<_>>(),
                (0..length).collect::<Vec<_>>()
            );
            assert!(ranges.iter().all(|range| range.len() <= CHUNK));
            let inner =
                cuts.iter().filter(|&&cut| cut < length && cuts.iter().all(|&c| c < length));
            assert!(
                inner.into_iter().all(|&cut| ranges.iter().any(|range| range.start == cut)),
                "no chunk crosses a cut"
            );
        }
    }

    #[test]
    fn sums_do_not_depend_on_the_number_of_threads() {
        let a: Vec<f64> = (0..50_001).map(|i| (i as f64).sin()).collect();
        let b: Vec<f64> = (0..50_001).map(|i| (i as f64 * 0.7).cos()).collect();
        let run = |parallel: bool| {
            let mut out = vec![0.0; a.len()];
            let workers = Arc::new(WorkerGroup::default());
            let cuts = Cuts { r: vec![0, 20_000, 30_011], z: vec![] };
            let mut passes =
                Passes { workers: parallel.then(|| workers.clone()), cuts, ..Passes::default() };
            let products =
                workers.with(|| passes.over(Vector::R).difference(&mut out, (&a, &b), &a, &[&b]));
            (out, products.square, products.slope, products.others[0])
        };
        let one = run(false);
        let plain = |c: &[f64]| -> f64 { (0..a.len()).map(|i| (a[i] - b[i]) * c[i]).sum() };
        // 5e4 terms below four: rounding of either order stays far below 1e-9.
        assert!(
            (one.1 - plain(&one.0)).abs() < 1e-9
                && (one.2 - plain(&a)).abs() < 1e-9
                && (one.3 - plain(&b)).abs() < 1e-9
        );
        assert_eq!(one, run(true));
    }
}
