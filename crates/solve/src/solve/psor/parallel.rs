//! Who sweeps what: the subdomains of a round, or the chunks of a colour, on the worker threads.
//!
//! Subdomains of one round, and chunks of one colour, touch different groups of unknowns and have
//! different places in r̂: that is what makes it sound for threads to write to z and r̂ at the same
//! time. Sums are added in the order of subdomains and chunks, whoever swept them.

#![allow(unsafe_code)]

use super::kernel::{Groups, Kinds};
use super::laws::Local;
use super::simd::LANES;
#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, F64x4};
use super::system::{Colour, Run, State, Subdomain};
use super::worker_group::WorkerGroup;

/// Groups of lanes per chunk, the unit of parallel work.
pub(super) const CHUNK: usize = 32;

/// The start of a vector that several threads write, each at places of its own.
#[derive(Clone, Copy)]
pub(super) struct Shared(*mut f64);

// SAFETY: who uses it sees to it that threads touch different places: chunks of one colour do, see
// above.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    pub(super) fn of(vector: &mut [f64]) -> Shared {
        Shared(vector.as_mut_ptr())
    }

    pub(super) fn start(self) -> *mut f64 {
        self.0
    }
}

/// What a sweep reads.
pub(super) struct Kernels<'a> {
    pub kinds: &'a Kinds,
    pub colours: &'a [Colour],
    pub border: &'a [u32],
    pub q: &'a [f64],
    /// Who sweeps subdomains and chunks; one thread without workers.
    pub workers: Option<&'a WorkerGroup>,
}

impl Kernels<'_> {
    /// Sweeps the subdomains of a round and writes their reactions to `kept` as well; returns
    /// Σ‖Δ‖², added in the order of the subdomains.
    pub(super) fn sweep_subdomains(
        &self,
        subdomains: &[Subdomain],
        round: &[usize],
        (x, kept): (&mut State, &mut [f64]),
        sums: &mut Vec<f64>,
    ) -> f64 {
        self.check(&x.z);
        assert_eq!(kept.len(), x.r.len(), "a place for each reaction");
        let (z, r, kept) = (Shared::of(&mut x.z), Shared::of(&mut x.r), Shared::of(kept));
        let end = x.r.len();
        let run = |p: usize| -> f64 {
            let subdomain = &subdomains[round[p]];
            assert!(subdomain.places.end <= end);
            // SAFETY: within r (checked), and the places of subdomains do not overlap.
            let [r, kept] = [r, kept].map(|to| unsafe {
                std::slice::from_raw_parts_mut(
                    to.start().add(subdomain.places.start),
                    subdomain.places.len(),
                )
            });
            let colours = &self.colours[subdomain.colours.clone()];
            if self.workers.is_some() {
                // What another thread may have written comes all at once, not line by line when it
                // is needed.
                self.border[subdomain.border.clone()]
                    .iter()
                    .for_each(|&place| fetch(z.start().wrapping_add(place as usize)));
            }
            // SAFETY: every place is within z (checked above); subdomains touch different places.
            colours
                .iter()
                .map(|colour| unsafe {
                    self.colour(colour, subdomain.places.start, (r, kept), z.start())
                })
                .sum()
        };
        self.in_order(round.len(), run, sums)
    }

    /// Sweeps the lanes of one colour on this thread.
    pub(super) fn sweep_alone(&self, colour: &Colour, (x, kept): (&mut State, &mut [f64])) -> f64 {
        self.check(&x.z);
        // SAFETY: every place is within z; no other thread is at work.
        unsafe { self.colour(colour, 0, (&mut x.r, kept), x.z.as_mut_ptr()) }
    }

    /// Sweeps the lanes of one colour of the boundary, chunk by chunk.
    pub(super) fn sweep_colour(
        &self,
        colour: &Colour,
        (x, kept): (&mut State, &mut [f64]),
        sums: &mut Vec<f64>,
    ) -> f64 {
        self.check(&x.z);
        let z = Shared::of(&mut x.z);
        let mut r = (&mut x.r[..], kept);
        self.chunks(&self.kinds.cone, (&colour.cone, z), &mut r, sums)
            + self.chunks(&self.kinds.coulomb, (&colour.coulomb, z), &mut r, sums)
            + self.chunks(&self.kinds.bounds, (&colour.bounds, z), &mut r, sums)
    }

    fn chunks<L: Local + Sync>(
        &self,
        groups: &Groups<L>,
        (run, z): (&Run, Shared),
        (r, kept): &mut (&mut [f64], &mut [f64]),
        sums: &mut Vec<f64>,
    ) -> f64 {
        let size = CHUNK * L::ROWS * LANES;
        let range = run.places(L::ROWS);
        let (q, end) = (&self.q[range.clone()], range.len());
        let (r, kept) = (Shared::of(&mut r[range.clone()]), Shared::of(&mut kept[range]));
        let sweep = |c: usize| {
            let mine = c * size..end.min((c + 1) * size);
            // SAFETY: within r and `kept`, and chunks do not overlap.
            let [r, kept] = [r, kept].map(|to| unsafe {
                std::slice::from_raw_parts_mut(to.start().add(mine.start), mine.len())
            });
            // SAFETY: every place is within z (checked by the caller); chunks of one colour touch
            // different places.
            unsafe { groups.sweep(run.groups.start + c * CHUNK, &q[mine], (r, kept), z.start()) }
        };
        self.in_order(end.div_ceil(size), sweep, sums)
    }

    /// `Σ f(i)`, each on some thread, added in order.
    fn in_order(
        &self,
        count: usize,
        f: impl Fn(usize) -> f64 + Send + Sync,
        sums: &mut Vec<f64>,
    ) -> f64 {
        match self.workers {
            Some(workers) if count > 1 => {
                sums.clear();
                sums.resize(count, 0.0);
                workers.chunks((sums, &mut [(); 0]), (1, 1), |i, sum, _| sum[0] = f(i));
                sums.iter().sum()
            }
            _ => (0..count).map(f).sum(),
        }
    }

    /// One colour of a subdomain whose reactions `r` begin at place `first`.
    ///
    /// # Safety
    /// No other thread touches the places of this colour in z.
    unsafe fn colour(
        &self,
        colour: &Colour,
        first: usize,
        (r, kept): (&mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            self.run(&self.kinds.cone, &colour.cone, first, (r, kept), z)
                + self.run(&self.kinds.coulomb, &colour.coulomb, first, (r, kept), z)
                + self.run(&self.kinds.bounds, &colour.bounds, first, (r, kept), z)
        }
    }

    /// # Safety
    /// As [`Kernels::colour`].
    unsafe fn run<L: Local>(
        &self,
        groups: &Groups<L>,
        run: &Run,
        first: usize,
        (r, kept): (&mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        let all = run.places(L::ROWS);
        let mine = all.start - first..all.end - first;
        // SAFETY: the caller's promise.
        unsafe {
            groups.sweep(run.groups.start, &self.q[all], (&mut r[mine.clone()], &mut kept[mine]), z)
        }
    }

    fn check(&self, z: &[f64]) {
        let Kinds { cone, coulomb, bounds } = self.kinds;
        assert!(
            cone.within(z.len()) && coulomb.within(z.len()) && bounds.within(z.len()),
            "every place is within z"
        );
    }
}

/// Asks for the cache line of `from`.
#[inline(always)]
fn fetch(from: *const f64) {
    #[cfg(target_arch = "x86_64")]
    Avx2::prefetch(from);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = from;
}
