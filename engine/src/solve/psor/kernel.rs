//! The inner loop: four contacts of one colour at a time.
//!
//! A contact of two groups of six unknowns (rigid bodies) is 3 × 12 whitened numbers. Four of them are
//! stored lane by lane, so that every operation below works on four contacts at once:
//!
//! ```text
//!   û = q̂ + Ĵ_A z_A + Ĵ_B z_B        x = r̂ − û step        r̂⁺ = Π(x)        z += Ĵᵀ (r̂⁺ − r̂)
//! ```
//!
//! The contacts of a chunk, and of all chunks of a colour, touch different groups (a contact with the
//! ground has the chunk's own dummy as its second group, with zero rows): that is what makes it sound
//! for chunks to write to z at the same time. No operation is fused or reordered: the wide code, the
//! code for older processors and the plain twin below agree to the bit.

#![allow(unsafe_code)]
// Rows i and columns j keep their names, as in the formula above.
#![allow(clippy::needless_range_loop)]

use super::system::{Colour, Part};
use rayon::prelude::*;
use std::ops::Range;

/// Contacts per group of lanes.
pub(super) const LANES: usize = 4;

/// Groups of lanes per chunk, the unit of parallel work.
pub(super) const CHUNK: usize = 32;

/// Numbers of a group: 3 rows × 12 columns, then mu, 1/(1 + mu²), step.
const ROWS3: usize = 36;
pub(super) const GROUP3: usize = (ROWS3 + 3) * LANES;
/// Numbers of a group of single rows: 12 columns, then lo, hi, step.
const ROWS1: usize = 12;
const GROUP1: usize = (ROWS1 + 3) * LANES;

/// Frictional contacts, four by four.
#[derive(Default)]
pub(super) struct Frictional {
    values: Vec<f64>,
    pub places: Vec<[u32; 2 * LANES]>,
    /// The end of the last group that is touched.
    limit: usize,
}

/// Single rows with bounds on their reaction, four by four.
#[derive(Default)]
pub(super) struct Normal {
    values: Vec<f64>,
    pub places: Vec<[u32; 2 * LANES]>,
    limit: usize,
}

/// The start of z, for the chunks of one colour.
#[derive(Clone, Copy)]
struct Shared(*mut f64);

// SAFETY: chunks of one colour touch different places, see the head of this file.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn start(self) -> *mut f64 {
        self.0
    }
}

/// Both kinds of groups, and what their sweeps read.
pub(super) struct Kernels<'a> {
    pub frictional: &'a Frictional,
    pub normal: &'a Normal,
    pub q: &'a [f64],
    /// Use the threads of the caller's pool.
    pub parallel: bool,
}

impl Kernels<'_> {
    /// Sweeps all parts; returns Σ‖Δ‖², added in the order of the parts.
    pub(super) fn sweep_parts(&self, parts: &[Part], r: &mut [f64], z: &mut [f64]) -> f64 {
        self.check(z);
        let shared = Shared(z.as_mut_ptr());
        let mut rest = r;
        let mut at = 0;
        let mut jobs = Vec::with_capacity(parts.len());
        for part in parts {
            let (_, tail) = rest.split_at_mut(part.places.start - at);
            let (mine, tail) = tail.split_at_mut(part.places.len());
            jobs.push((part, mine));
            (rest, at) = (tail, part.places.end);
        }
        let run = |(part, r): (&Part, &mut [f64])| -> f64 {
            let first = part.places.start;
            // SAFETY: every place is within z (checked above); parts touch different places.
            part.colours.iter().map(|colour| unsafe { self.colour(colour, first, r, shared.start()) }).sum()
        };
        if self.parallel && jobs.len() > 1 {
            let sums: Vec<f64> = jobs.into_par_iter().with_max_len(1).map(run).collect();
            sums.into_iter().sum()
        } else {
            jobs.into_iter().map(run).sum()
        }
    }

    /// Sweeps the lanes of one colour of the boundary, chunk by chunk.
    pub(super) fn sweep_colour(&self, colour: &Colour, r: &mut [f64], z: &mut [f64]) -> f64 {
        self.check(z);
        let shared = Shared(z.as_mut_ptr());
        let (size, count) = (CHUNK * 3 * LANES, colour.frictional.len());
        let range = colour.frictional_at..colour.frictional_at + count * 3 * LANES;
        let run = |(c, (r, q)): (usize, (&mut [f64], &[f64]))| {
            // SAFETY: every place is within z (checked above); chunks of one colour touch different places.
            unsafe { self.frictional.sweep(colour.frictional.start + c * CHUNK, q, r, shared.start()) }
        };
        let (mine, q) = (&mut r[range.clone()], &self.q[range]);
        let mut sum: f64 = if self.parallel && count > 2 * CHUNK {
            let sums: Vec<f64> = mine.par_chunks_mut(size).zip(q.par_chunks(size)).enumerate().map(run).collect();
            sums.into_iter().sum()
        } else {
            mine.chunks_mut(size).zip(q.chunks(size)).enumerate().map(run).sum()
        };
        let range = colour.normal_at..colour.normal_at + colour.normal.len() * LANES;
        // SAFETY: as above, on one thread.
        sum += unsafe { self.normal.sweep(colour.normal.start, &self.q[range.clone()], &mut r[range], shared.start()) };
        sum
    }

    /// One colour of a part whose reactions `r` begin at place `first`.
    ///
    /// # Safety
    /// No other thread touches the places of this colour in z.
    unsafe fn colour(&self, colour: &Colour, first: usize, r: &mut [f64], z: *mut f64) -> f64 {
        let range = |at: usize, len: usize| (at..at + len, at - first..at - first + len);
        let (all, mine) = range(colour.frictional_at, colour.frictional.len() * 3 * LANES);
        // SAFETY: the caller's promise.
        let frictional = unsafe { self.frictional.sweep(colour.frictional.start, &self.q[all], &mut r[mine], z) };
        let (all, mine) = range(colour.normal_at, colour.normal.len() * LANES);
        // SAFETY: the caller's promise.
        frictional + unsafe { self.normal.sweep(colour.normal.start, &self.q[all], &mut r[mine], z) }
    }

    fn check(&self, z: &[f64]) {
        assert!(self.frictional.limit.max(self.normal.limit) <= z.len(), "every place is within z");
    }
}

/// One contact on its way into a lane: rows over two groups (d × 12) and three parameters.
pub(super) struct Contact<'a> {
    pub places: [u32; 2],
    pub rows: &'a [f64],
    pub parameters: [f64; 3],
}

/// Puts a contact of `d` rows into lane `lane` of the last group.
fn put(values: &mut [f64], places: &mut [u32; 2 * LANES], lane: usize, contact: &Contact<'_>) {
    for (i, &x) in contact.rows.iter().chain(&contact.parameters).enumerate() {
        values[i * LANES + lane] = x;
    }
    places[lane] = contact.places[0];
    places[LANES + lane] = contact.places[1];
}

impl Frictional {
    /// A group whose lanes do nothing yet.
    pub(super) fn open(&mut self, dummy: u32) {
        self.values.resize(self.values.len() + GROUP3, 0.0);
        self.places.push([dummy; 2 * LANES]);
        self.limit = self.limit.max(dummy as usize + 6);
    }

    pub(super) fn put(&mut self, lane: usize, contact: &Contact<'_>) {
        let at = self.values.len() - GROUP3;
        put(&mut self.values[at..], self.places.last_mut().expect("a group is open"), lane, contact);
        self.limit = self.limit.max(contact.places[0].max(contact.places[1]) as usize + 6);
    }

    /// Sweeps the groups from `first` on whose reactions are `r`; returns Σ‖Δ‖².
    ///
    /// # Safety
    /// No other thread touches the places of these groups in `z` meanwhile; all places + 6 are within z.
    unsafe fn sweep(&self, first: usize, q: &[f64], r: &mut [f64], z: *mut f64) -> f64 {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2; the rest is the caller's promise.
            return unsafe { self.sweep_avx2(first, q, r, z) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.sweep_any(first, q, r, z) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn sweep_avx2(&self, first: usize, q: &[f64], r: &mut [f64], z: *mut f64) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { self.sweep_any(first, q, r, z) }
    }

    #[inline(always)]
    unsafe fn sweep_any(&self, first: usize, q: &[f64], r: &mut [f64], z: *mut f64) -> f64 {
        let mut sum = Lanes::splat(0.0);
        let groups = r.len() / (3 * LANES);
        let values = &self.values[first * GROUP3..(first + groups) * GROUP3];
        let places = &self.places[first..first + groups];
        for ((r, q), (values, places)) in
            r.chunks_exact_mut(3 * LANES).zip(q.chunks_exact(3 * LANES)).zip(values.chunks_exact(GROUP3).zip(places))
        {
            let values: &[f64; GROUP3] = values.try_into().expect("exact chunks");
            // SAFETY: the caller's promise.
            let (mut a, mut b) = unsafe { (gather(z, places, 0), gather(z, places, LANES)) };
            let mut delta = [Lanes::splat(0.0); 3];
            let (mut x, mut old) = (delta, delta);
            let step = Lanes::load(values, ROWS3 + 2);
            for i in 0..3 {
                let mut u = Lanes::from_slice(&q[i * LANES..]);
                for j in 0..6 {
                    u = u.add(Lanes::load(values, i * 12 + j).mul(a[j]));
                }
                let mut w = Lanes::load(values, i * 12 + 6).mul(b[0]);
                for j in 1..6 {
                    w = w.add(Lanes::load(values, i * 12 + 6 + j).mul(b[j]));
                }
                old[i] = Lanes::from_slice(&r[i * LANES..]);
                x[i] = old[i].sub(u.add(w).mul(step));
            }
            let new = project(x, Lanes::load(values, ROWS3), Lanes::load(values, ROWS3 + 1));
            for i in 0..3 {
                delta[i] = new[i].sub(old[i]);
                r[i * LANES..(i + 1) * LANES].copy_from_slice(&new[i].0);
                sum = sum.add(delta[i].mul(delta[i]));
            }
            for j in 0..6 {
                for i in 0..3 {
                    a[j] = a[j].add(Lanes::load(values, i * 12 + j).mul(delta[i]));
                    b[j] = b[j].add(Lanes::load(values, i * 12 + 6 + j).mul(delta[i]));
                }
            }
            // SAFETY: the caller's promise.
            unsafe {
                scatter(z, places, 0, &a);
                scatter(z, places, LANES, &b);
            }
        }
        sum.total()
    }
}

impl Normal {
    /// A group whose lanes do nothing yet.
    pub(super) fn open(&mut self, dummy: u32) {
        self.values.resize(self.values.len() + GROUP1, 0.0);
        self.places.push([dummy; 2 * LANES]);
        self.limit = self.limit.max(dummy as usize + 6);
    }

    pub(super) fn put(&mut self, lane: usize, contact: &Contact<'_>) {
        let at = self.values.len() - GROUP1;
        put(&mut self.values[at..], self.places.last_mut().expect("a group is open"), lane, contact);
        self.limit = self.limit.max(contact.places[0].max(contact.places[1]) as usize + 6);
    }

    /// As [`Frictional::sweep`].
    ///
    /// # Safety
    /// As there.
    unsafe fn sweep(&self, first: usize, q: &[f64], r: &mut [f64], z: *mut f64) -> f64 {
        let mut sum = Lanes::splat(0.0);
        for (g, (r, q)) in r.chunks_exact_mut(LANES).zip(q.chunks_exact(LANES)).enumerate() {
            let at = (first + g) * GROUP1;
            let values: &[f64; GROUP1] = self.values[at..at + GROUP1].try_into().expect("a whole group");
            let places = &self.places[first + g];
            // SAFETY: the caller's promise.
            let (mut a, mut b) = unsafe { (gather(z, places, 0), gather(z, places, LANES)) };
            let mut u = Lanes::from_slice(q);
            for j in 0..6 {
                u = u.add(Lanes::load(values, j).mul(a[j])).add(Lanes::load(values, 6 + j).mul(b[j]));
            }
            let old = Lanes::from_slice(r);
            let new = old.sub(u.mul(Lanes::load(values, ROWS1 + 2))).clamp(Lanes::load(values, ROWS1), Lanes::load(values, ROWS1 + 1));
            let delta = new.sub(old);
            r.copy_from_slice(&new.0);
            sum = sum.add(delta.mul(delta));
            for j in 0..6 {
                a[j] = a[j].add(Lanes::load(values, j).mul(delta));
                b[j] = b[j].add(Lanes::load(values, 6 + j).mul(delta));
            }
            // SAFETY: the caller's promise.
            unsafe {
                scatter(z, places, 0, &a);
                scatter(z, places, LANES, &b);
            }
        }
        sum.total()
    }
}

/// Adds to z what the reactions of the groups from `first` on move; plain code, off the hot path.
fn spread(values: &[f64], places: &[[u32; 2 * LANES]], r: &[f64], d: usize, z: &mut [f64]) {
    let size = values.len() / places.len().max(1);
    for ((values, places), r) in values.chunks_exact(size.max(1)).zip(places).zip(r.chunks_exact(d * LANES)) {
        for lane in 0..LANES {
            for j in 0..12 {
                let place = places[j / 6 * LANES + lane] as usize + j % 6;
                for i in 0..d {
                    z[place] += values[(i * 12 + j) * LANES + lane] * r[i * LANES + lane];
                }
            }
        }
    }
}

impl Frictional {
    /// Adds to `z` what the reactions `r` of these groups move.
    pub(super) fn spread(&self, groups: Range<usize>, r: &[f64], z: &mut [f64]) {
        spread(&self.values[groups.start * GROUP3..groups.end * GROUP3], &self.places[groups], r, 3, z);
    }
}

impl Normal {
    /// As [`Frictional::spread`].
    pub(super) fn spread(&self, groups: Range<usize>, r: &[f64], z: &mut [f64]) {
        spread(&self.values[groups.start * GROUP1..groups.end * GROUP1], &self.places[groups], r, 1, z);
    }
}

/// Six coordinates of four groups.
///
/// # Safety
/// `z` holds six numbers at each place, and nobody writes them meanwhile.
#[inline(always)]
unsafe fn gather(z: *const f64, places: &[u32; 2 * LANES], from: usize) -> [Lanes; 6] {
    let mut out = [Lanes::splat(0.0); 6];
    for lane in 0..LANES {
        let place = places[from + lane] as usize;
        for (j, out) in out.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            out.0[lane] = unsafe { *z.add(place + j) };
        }
    }
    out
}

/// Writes back what [`gather`] read.
///
/// # Safety
/// As there, and nobody reads meanwhile.
#[inline(always)]
unsafe fn scatter(z: *mut f64, places: &[u32; 2 * LANES], from: usize, x: &[Lanes; 6]) {
    for lane in 0..LANES {
        let place = places[from + lane] as usize;
        for (j, x) in x.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *z.add(place + j) = x.0[lane] };
        }
    }
}

/// The projection on four cones at once.
#[inline(always)]
fn project(x: [Lanes; 3], mu: Lanes, inverse: Lanes) -> [Lanes; 3] {
    let t = x[1].mul(x[1]).add(x[2].mul(x[2])).sqrt();
    let s = x[0].add(mu.mul(t)).mul(inverse);
    let stretch = mu.mul(s).div(t);
    let (mut normal, mut factor) = (Lanes::splat(0.0), Lanes::splat(0.0));
    for l in 0..LANES {
        let (n, t) = (x[0].0[l], t.0[l]);
        let inside = t <= mu.0[l] * n;
        let polar = mu.0[l] * t <= -n;
        normal.0[l] = if inside {
            n
        } else if polar {
            0.0
        } else {
            s.0[l]
        };
        factor.0[l] = if inside {
            1.0
        } else if polar {
            0.0
        } else {
            stretch.0[l]
        };
    }
    [normal, x[1].mul(factor), x[2].mul(factor)]
}

/// Four numbers; the compiler makes one register of them where the processor has it.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Lanes([f64; LANES]);

macro_rules! lanewise {
    ($($name:ident $operator:tt),*) => {
        $(#[inline(always)]
        fn $name(self, other: Lanes) -> Lanes {
            Lanes(std::array::from_fn(|l| self.0[l] $operator other.0[l]))
        })*
    };
}

impl Lanes {
    lanewise!(add +, sub -, mul *, div /);

    #[inline(always)]
    fn splat(x: f64) -> Lanes {
        Lanes([x; LANES])
    }

    #[inline(always)]
    fn load<const N: usize>(values: &[f64; N], i: usize) -> Lanes {
        Lanes::from_slice(&values[i * LANES..])
    }

    #[inline(always)]
    fn from_slice(x: &[f64]) -> Lanes {
        Lanes([x[0], x[1], x[2], x[3]])
    }

    #[inline(always)]
    fn sqrt(self) -> Lanes {
        Lanes(self.0.map(f64::sqrt))
    }

    #[inline(always)]
    fn clamp(self, low: Lanes, high: Lanes) -> Lanes {
        Lanes(std::array::from_fn(|l| self.0[l].max(low.0[l]).min(high.0[l])))
    }

    #[inline(always)]
    fn total(self) -> f64 {
        (self.0[0] + self.0[1]) + (self.0[2] + self.0[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::made::Numbers;

    /// The twin: one contact after the other, in plain safe code, with the same operations in the same order.
    fn twin(f: &Frictional, q: &[f64], r: &mut [f64], z: &mut [f64]) {
        for (g, places) in f.places.iter().enumerate() {
            for lane in 0..LANES {
                let value = |i: usize| f.values[g * GROUP3 + i * LANES + lane];
                let (a, b) = (places[lane] as usize, places[LANES + lane] as usize);
                let at = |i: usize| (g * 3 + i) * LANES + lane;
                let mut x = [0.0; 3];
                for (i, x) in x.iter_mut().enumerate() {
                    let mut u = q[at(i)];
                    for j in 0..6 {
                        u += value(i * 12 + j) * z[a + j];
                    }
                    let mut w = value(i * 12 + 6) * z[b];
                    for j in 1..6 {
                        w += value(i * 12 + 6 + j) * z[b + j];
                    }
                    *x = r[at(i)] - (u + w) * value(ROWS3 + 2);
                }
                let (mu, inverse) = (value(ROWS3), value(ROWS3 + 1));
                let t = (x[1] * x[1] + x[2] * x[2]).sqrt();
                if mu * t <= -x[0] && t > mu * x[0] {
                    x = [0.0, x[1] * 0.0, x[2] * 0.0];
                } else if t > mu * x[0] {
                    let s = (x[0] + mu * t) * inverse;
                    let stretch = mu * s / t;
                    x = [s, x[1] * stretch, x[2] * stretch];
                }
                let delta: [f64; 3] = std::array::from_fn(|i| x[i] - r[at(i)]);
                for j in 0..6 {
                    for i in 0..3 {
                        z[a + j] += value(i * 12 + j) * delta[i];
                    }
                }
                if b != a {
                    for j in 0..6 {
                        for i in 0..3 {
                            z[b + j] += value(i * 12 + 6 + j) * delta[i];
                        }
                    }
                }
                for i in 0..3 {
                    r[at(i)] = x[i];
                }
            }
        }
    }

    #[test]
    fn lanes_and_plain_code_agree_to_the_bit() {
        let mut x = Numbers::new(1);
        let (groups, dummy) = (7, 7 * 8 * 8u32);
        let mut f = Frictional::default();
        for g in 0..groups {
            f.open(dummy);
            for lane in 0..LANES {
                // The last lanes stand on the ground or are padding.
                if g + 1 == groups && lane == 3 {
                    continue;
                }
                let rows: Vec<f64> = (0..ROWS3).map(|i| if g + 1 == groups && i % 12 >= 6 { 0.0 } else { x.draw() }).collect();
                let mu = 0.5 + 0.4 * x.draw();
                let first = ((g * LANES + lane) * 2 * 8) as u32;
                let places = [first, if g + 1 == groups { dummy } else { first + 8 }];
                f.put(lane, &Contact { places, rows: &rows, parameters: [mu, 1.0 / (1.0 + mu * mu), 0.4] });
            }
        }
        let count = groups * 3 * LANES;
        let q: Vec<f64> = (0..count).map(|_| x.draw()).collect();
        let mut z: Vec<f64> = (0..dummy + 8).map(|i| if i % 8 < 6 && i < dummy { x.draw() } else { 0.0 }).collect();
        let mut r = vec![0.0; count];
        let (mut other_z, mut other_r) = (z.clone(), r.clone());
        for _ in 0..10 {
            // SAFETY: one thread; all places are within z.
            unsafe { f.sweep(0, &q, &mut r, z.as_mut_ptr()) };
            twin(&f, &q, &mut other_r, &mut other_z);
            assert!(r.iter().zip(&other_r).all(|(a, b)| a == b), "reactions");
            assert!(z.iter().zip(&other_z).all(|(a, b)| a == b), "velocities");
            // SAFETY: as above.
            unsafe { f.sweep_any(0, &q, &mut r, z.as_mut_ptr()) };
            twin(&f, &q, &mut other_r, &mut other_z);
            assert!(z.iter().zip(&other_z).all(|(a, b)| a == b), "the code for older processors");
        }
        assert!(r.iter().any(|r| *r > 0.0));
    }
}
