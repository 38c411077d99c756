//! Do kept crates do as well as our own vectors, and our own fork and join?
//! `cargo bench -p signorini-solve --bench alternatives`
//!
//! * Vectors: the work of one sweep over contacts in lanes (read two bodies, 33 products, project
//!   on a cone, write both bodies back), with the vectors of `solve/simd/f64x4.rs`, with those of
//!   `wide` (chosen when the library is compiled, not by the machine at hand) and one number at a
//!   time.
//! * Fork and join: tasks of some microseconds, as the rounds of a sweep are, on two threads: ours,
//!   `rayon::broadcast`, and parallel loops of rayon.
//!
//! The files under test are those that are shipped.
#![allow(unsafe_code, dead_code, unreachable_pub)]

#[path = "../src/solve/simd/f64x4.rs"]
mod f64x4;
#[path = "../src/solve/parallel/fork_join.rs"]
mod fork_join;

/// What `fork_join` takes from the standard library.
mod sync {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};

    pub const SPINS_BEFORE_STEALING: u32 = 64;

    #[derive(Default)]
    pub struct Wait(u32);

    impl Wait {
        pub fn pause(&mut self) {
            self.0 += 1;
            if self.0 < 2000 { spin_loop() } else { std::thread::yield_now() }
        }

        pub fn was_long(&self) -> bool {
            false
        }
    }
}

use f64x4::{F64x4, LANES, Scalar};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

/// Groups of four contacts, and bodies.
const GROUPS: usize = 2000;
const BODIES: usize = 4000;
/// Numbers of a contact, as of a contact of rigid bodies.
const NUMBERS: usize = 32;

/// Vectors of `wide`.
#[derive(Clone, Copy)]
struct Wide(wide::f64x4);

impl F64x4 for Wide {
    #[inline(always)]
    unsafe fn splat(x: f64) -> Wide {
        Wide(wide::f64x4::splat(x))
    }
    #[inline(always)]
    fn prefetch(_: *const f64) {}
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Wide {
        // SAFETY: the caller's promise.
        Wide(wide::f64x4::new(unsafe { *from.cast() }))
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast() = self.0.to_array() }
    }
    #[inline(always)]
    fn add(self, other: Wide) -> Wide {
        Wide(self.0 + other.0)
    }
    #[inline(always)]
    fn sub(self, other: Wide) -> Wide {
        Wide(self.0 - other.0)
    }
    #[inline(always)]
    fn mul(self, other: Wide) -> Wide {
        Wide(self.0 * other.0)
    }
    #[inline(always)]
    fn mul_add(self, by: Wide, add: Wide) -> Wide {
        Wide(self.0.mul_add(by.0, add.0))
    }
    #[inline(always)]
    fn minus_product(self, a: Wide, b: Wide) -> Wide {
        Wide(a.0.mul_neg_add(b.0, self.0))
    }
    #[inline(always)]
    fn div(self, other: Wide) -> Wide {
        Wide(self.0 / other.0)
    }
    #[inline(always)]
    fn sqrt(self) -> Wide {
        Wide(self.0.sqrt())
    }
    #[inline(always)]
    fn at_least(self, least: Wide) -> Wide {
        Wide(self.0.fast_max(least.0))
    }
    #[inline(always)]
    fn where_le(self, other: Wide, a: Wide, b: Wide) -> Wide {
        Wide(a.0.simd_le(b.0).select(self.0, other.0))
    }
    #[inline(always)]
    fn all_le(self, other: Wide) -> bool {
        self.0.simd_le(other.0).all()
    }
    #[inline(always)]
    fn transpose(x: [Wide; 4]) -> [Wide; 4] {
        wide::f64x4::transpose(x.map(|x| x.0)).map(Wide)
    }
    #[inline(always)]
    unsafe fn load_pairs(from: [*const f64; LANES]) -> [Wide; 2] {
        // SAFETY: the caller's promise.
        [0, 1].map(|i| Wide(wide::f64x4::new(from.map(|p| unsafe { *p.add(i) }))))
    }
    #[inline(always)]
    unsafe fn add_pairs(x: [Wide; 2], to: [*mut f64; LANES]) {
        let [x, y] = x.map(|x| x.0.to_array());
        for (l, to) in to.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                *to += x[l];
                *to.add(1) += y[l];
            }
        }
    }
}

/// Contacts in lanes: their numbers, the places of their bodies, reactions, velocities.
struct Data {
    values: Vec<f64>,
    places: Vec<[usize; 2 * LANES]>,
    r: Vec<f64>,
    z: Vec<f64>,
}

impl Data {
    fn new() -> Data {
        let number = |i: usize| 0.01 * (i as f64 * 0.37).sin();
        let body = |g: usize, l: usize| 8 * ((g * 2 * LANES + l * 7919) % BODIES);
        Data {
            values: (0..GROUPS * NUMBERS * LANES).map(number).collect(),
            places: (0..GROUPS).map(|g| std::array::from_fn(|l| body(g, l))).collect(),
            r: vec![0.0; GROUPS * 3 * LANES],
            z: (0..8 * BODIES).map(|i| (i as f64).cos()).collect(),
        }
    }

    /// One sweep.
    ///
    /// # Safety
    /// The processor has what F needs.
    #[inline(always)]
    unsafe fn sweep<F: F64x4>(&mut self) {
        // SAFETY: all places are within the vectors, by construction.
        unsafe {
            let (zero, one, tiny) = (F::splat(0.0), F::splat(1.0), F::splat(1e-300));
            let (mu, step) = (F::splat(0.5), F::splat(0.3));
            for (g, places) in self.places.iter().enumerate() {
                let value = |i: usize| F::load(self.values.as_ptr().add((g * NUMBERS + i) * LANES));
                let at = |side: usize, l: usize| self.z.as_ptr().add(places[side * LANES + l]);
                let mut bodies = [[zero; 6]; 2];
                for (side, body) in bodies.iter_mut().enumerate() {
                    let p: [*const f64; LANES] = std::array::from_fn(|l| at(side, l));
                    let [a, b, c, d] =
                        F::transpose([F::load(p[0]), F::load(p[1]), F::load(p[2]), F::load(p[3])]);
                    let [e, f] =
                        F::load_pairs([p[0].add(4), p[1].add(4), p[2].add(4), p[3].add(4)]);
                    *body = [a, b, c, d, e, f];
                }
                let mut x = [zero; 3];
                for (i, x) in x.iter_mut().enumerate() {
                    let mut u = value(3 * i).mul(bodies[0][0]);
                    for j in 0..5 {
                        u = value(3 * i + j).mul_add(bodies[0][j + 1], u);
                        u = value(11 + 3 * i + j).mul_add(bodies[1][j], u);
                    }
                    let old = F::load(self.r.as_ptr().add((g * 3 + i) * LANES));
                    *x = old.minus_product(u, step);
                }
                let t = x[1].mul_add(x[1], x[2].mul(x[2])).sqrt();
                let s = mu.mul_add(t, x[0]).mul(F::splat(0.8)).at_least(zero);
                let edge = mu.mul(x[0]);
                let factor = one.where_le(mu.mul(s).div(t.at_least(tiny)), t, edge);
                let new =
                    [x[0].at_least(zero).where_le(s, t, edge), x[1].mul(factor), x[2].mul(factor)];
                for (i, new) in new.iter().enumerate() {
                    new.store(self.r.as_mut_ptr().add((g * 3 + i) * LANES));
                }
                for side in 0..2 {
                    let p: [*mut f64; LANES] = std::array::from_fn(|l| at(side, l).cast_mut());
                    let mut moves = [zero; 6];
                    for (j, moves) in moves.iter_mut().enumerate() {
                        let first = value(5 * side + j).mul(new[0]);
                        *moves = value(9 + j).mul_add(new[1], value(20 + j).mul_add(new[2], first));
                    }
                    let [a, b, c, d, e, f] = moves;
                    for (x, p) in F::transpose([a, b, c, d]).into_iter().zip(p) {
                        F::load(p).add(x).store(p);
                    }
                    F::add_pairs([e, f], [p[0].add(4), p[1].add(4), p[2].add(4), p[3].add(4)]);
                }
            }
            self.z.iter_mut().for_each(|z| *z *= 0.5);
        }
    }
}

/// # Safety
/// The processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn sweep_of_the_machine(data: &mut Data) {
    // SAFETY: the caller's promise.
    unsafe { data.sweep::<f64x4::Avx2>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn sweep_of_wide(data: &mut Data) {
    // SAFETY: `wide` needs what the library is compiled for.
    unsafe { data.sweep::<Wide>() }
}

/// The least time of some runs, ns.
fn least(mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..300 {
        let begin = Instant::now();
        f();
        best = best.min(begin.elapsed().as_secs_f64());
    }
    1e9 * best
}

fn vectors() {
    println!("{:<28} {:>12}", "vectors", "ns/contact");
    let show = |name: &str, ns: f64| println!("{name:<28} {:>12.2}", ns / (GROUPS * LANES) as f64);
    let mut data = Data::new();
    #[cfg(target_arch = "x86_64")]
    if f64x4::wide_enough() {
        // SAFETY: the processor has both.
        show("ours", least(|| unsafe { sweep_of_the_machine(black_box(&mut data)) }));
        let mut data = Data::new();
        // SAFETY: as above.
        show("wide", least(|| unsafe { sweep_of_wide(black_box(&mut data)) }));
    }
    data = Data::new();
    // SAFETY: any processor will do.
    show("one number at a time", least(|| unsafe { black_box(&mut data).sweep::<Scalar>() }));
}

/// Some microseconds of work.
fn work(i: usize) -> f64 {
    (0..150).fold(1.0 + i as f64, |x, _| (x * x + 1.0).sqrt())
}

/// The median of some rounds, µs.
fn median(mut f: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..4000)
        .map(|_| {
            let begin = Instant::now();
            f();
            1e6 * begin.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn threads() {
    println!("\n{:<28} {:>8} {:>8} {:>8}", "µs for a task of parts", 8, 32, 128);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    let sums: Vec<std::sync::atomic::AtomicU64> = (0..128).map(|_| Default::default()).collect();
    let part = |i: usize| {
        sums[i].store(work(i).to_bits(), std::sync::atomic::Ordering::Relaxed);
    };
    let show = |name: &str, times: [f64; 3]| {
        println!("{name:<28} {:>8.2} {:>8.2} {:>8.2}", times[0], times[1], times[2]);
    };
    let sizes = [8, 32, 128];
    show("one thread", sizes.map(|n| median(|| (0..n).for_each(part))));
    let group = fork_join::ForkJoin::<2>::default();
    let ours = pool.install(|| {
        let release = group.open(1).expect("nobody else asks");
        let run = || {
            let _release = release;
            sizes.map(|n| median(|| group.each(n, part)))
        };
        rayon::join(run, || group.help(1)).0
    });
    show("ours", ours);
    let broadcast = pool.install(|| {
        sizes.map(|n| {
            median(|| {
                rayon::broadcast(|thread| {
                    let (own, all) = (thread.index(), thread.num_threads());
                    (own * n / all..(own + 1) * n / all).for_each(part);
                });
            })
        })
    });
    show("rayon::broadcast", broadcast);
    let parallel = pool.install(|| {
        sizes.map(|n| median(|| (0..n).into_par_iter().with_min_len(4).for_each(part)))
    });
    show("parallel loops of rayon", parallel);
}

fn main() {
    vectors();
    threads();
}
