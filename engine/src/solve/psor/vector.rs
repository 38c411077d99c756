//! Passes over whole vectors: each number is read once, on several threads if asked, with sums in a fixed order.
//! The loops are plain; they are compiled for the vectors of the machine at hand too, with the same operations.

use super::gram::{MOST, Products};
use super::system::State;
use super::team::Team;
use pulp::Arch;
use std::sync::Arc;

/// Numbers per chunk, the unit of parallel work.
const CHUNK: usize = 1024;

/// Numbers per block: as many of each of the eight vectors of a pass as stay in the first-level cache.
const BLOCK: usize = 512;

/// Partial sums of a dot product: independent, so that the processor need not wait for each addition.
const SUMS: usize = 8;

/// The scalar product; the same to the bit for any number of threads.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    Arch::new().dispatch(|| a.chunks(BLOCK).zip(b.chunks(BLOCK)).map(|(a, b)| dot_block(a, b)).sum())
}

#[inline(always)]
fn dot_block(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    let (a_whole, a_rest) = a.as_chunks::<SUMS>();
    let (b_whole, b_rest) = b.as_chunks::<SUMS>();
    for (a, b) in a_whole.iter().zip(b_whole) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// Work space of the passes: the sums of each chunk.
#[derive(Default)]
pub(super) struct Passes {
    sums: Vec<Products>,
    /// Who helps; nobody without one.
    pub team: Option<Arc<Team>>,
}

/// `f(c, out of chunk c, sums of chunk c)`, on the threads of the team if there is one.
fn by_chunks<S: Send>(team: Option<&Team>, out: &mut [f64], sums: &mut [S], f: impl Fn(usize, &mut [f64], &mut [S]) + Sync) {
    match team {
        Some(team) => team.chunks((out, sums), (CHUNK, 1), f),
        None => out.chunks_mut(CHUNK).zip(sums.chunks_mut(1)).enumerate().for_each(|(c, (out, sums))| f(c, out, sums)),
    }
}

impl Passes {
    /// `out ← a − b`, with `out·out`, `out·along` (as slope) and `out·other` for each of `others`; no sums where `along` is empty.
    pub(super) fn difference(&mut self, out: &mut [f64], (a, b): (&[f64], &[f64]), along: &[f64], others: &[&[f64]]) -> Products {
        self.sums.clear();
        self.sums.resize(out.len().div_ceil(CHUNK), Products::default());
        let run = |c: usize, out: &mut [f64], sums: &mut [Products]| {
            let sums = &mut sums[0];
            Arch::new().dispatch(|| {
                for (i, out) in out.chunks_mut(BLOCK).enumerate() {
                    let range = c * CHUNK + i * BLOCK..c * CHUNK + i * BLOCK + out.len();
                    for (out, (a, b)) in out.iter_mut().zip(a[range.clone()].iter().zip(&b[range.clone()])) {
                        *out = a - b;
                    }
                    if !along.is_empty() {
                        sums.square += dot_block(out, out);
                        sums.slope += dot_block(out, &along[range.clone()]);
                    }
                    for (sum, other) in sums.others.iter_mut().zip(others) {
                        *sum += dot_block(out, &other[range.clone()]);
                    }
                }
            });
        };
        by_chunks(self.team.as_deref(), out, &mut self.sums, run);
        let mut total = Products::default();
        for sums in &self.sums {
            total.square += sums.square;
            total.slope += sums.slope;
            for i in 0..others.len().min(MOST) {
                total.others[i] += sums.others[i];
            }
        }
        total
    }

    /// `y ← x − Σ factor_i d_i`, `d_i = pairs[places[i]]`.
    pub(super) fn combine(&mut self, y: &mut State, x: &State, (factors, places): (&[f64], &[usize]), pairs: &[State]) {
        let mut part = |y: &mut [f64], x: &[f64], part: fn(&State) -> &[f64]| {
            self.sums.resize(y.len().div_ceil(CHUNK), Products::default());
            let run = |c: usize, y: &mut [f64], _: &mut [Products]| {
                Arch::new().dispatch(|| {
                    for (i, y) in y.chunks_mut(BLOCK).enumerate() {
                        let range = c * CHUNK + i * BLOCK..c * CHUNK + i * BLOCK + y.len();
                        y.copy_from_slice(&x[range.clone()]);
                        for (factor, &place) in factors.iter().zip(places) {
                            for (y, d) in y.iter_mut().zip(&part(&pairs[place])[range.clone()]) {
                                *y -= factor * d;
                            }
                        }
                    }
                });
            };
            by_chunks(self.team.as_deref(), y, &mut self.sums, run);
        };
        part(&mut y.r, &x.r, |s| &s.r);
        part(&mut y.z, &x.z, |s| &s.z);
        part(&mut y.p, &x.p, |s| &s.p);
    }

    /// `to ← from`.
    pub(super) fn copy(&mut self, to: &mut State, from: &State) {
        self.combine(to, from, (&[], &[]), &[]);
    }

    /// The same for one vector.
    pub(super) fn copy_vector(&mut self, to: &mut [f64], from: &[f64]) {
        self.sums.resize(to.len().div_ceil(CHUNK), Products::default());
        let run = |c: usize, to: &mut [f64], _: &mut [Products]| to.copy_from_slice(&from[c * CHUNK..c * CHUNK + to.len()]);
        by_chunks(self.team.as_deref(), to, &mut self.sums, run);
    }
}

/// The vectors of the differences at these places, as a list on the stack.
pub(super) fn listed<'a>(places: &[usize], part: impl Fn(usize) -> &'a [f64]) -> [&'a [f64]; MOST] {
    std::array::from_fn(|i| places.get(i).map_or(&[][..], |&p| part(p)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_the_number_of_threads() {
        let a: Vec<f64> = (0..50_001).map(|i| (i as f64).sin()).collect();
        let b: Vec<f64> = (0..50_001).map(|i| (i as f64 * 0.7).cos()).collect();
        let run = |parallel: bool| {
            let mut out = vec![0.0; a.len()];
            let team = Arc::new(Team::default());
            let mut passes = Passes { team: parallel.then(|| team.clone()), ..Passes::default() };
            let products = team.with(|| passes.difference(&mut out, (&a, &b), &a, &[&b]));
            (out, products.square, products.slope, products.others[0])
        };
        let one = run(false);
        let plain = |c: &[f64]| -> f64 { (0..a.len()).map(|i| (a[i] - b[i]) * c[i]).sum() };
        // 5e4 terms below four: rounding of either order stays far below 1e-9.
        assert!((one.1 - plain(&one.0)).abs() < 1e-9 && (one.2 - plain(&a)).abs() < 1e-9 && (one.3 - plain(&b)).abs() < 1e-9);
        assert_eq!(one, run(true));
    }
}
