//! The inner loop: four contacts of one colour at a time.
//!
//! A contact of two groups of six unknowns (rigid bodies) is d × 12 whitened numbers. Four of them are
//! stored lane by lane, so that every operation below works on four contacts at once:
//!
//! ```text
//!   û = q̂ + Ĵ_A z_A + Ĵ_B z_B        r̂⁺ = local solution        z += Ĵᵀ (r̂⁺ − r̂)
//! ```
//!
//! Eight groups of lanes go through each of the three stages before the next: within a stage nothing waits for anything
//! else, so that the processor is busy while roots and quotients are on their way.
//!
//! The contacts of a chunk, and of all chunks of a colour, touch different groups of unknowns (a contact with the
//! ground has the chunk's own dummy as its second group, with zero rows): that is what makes it sound
//! for chunks to write to z at the same time, and the stages to be apart. What is fused is fused everywhere: the wide code,
//! the code for other processors and the plain twin below agree to the bit.

#![allow(unsafe_code)]

use super::lanes::{Aligned, Four, LANES, LINE, Plain, wide_enough};
use super::laws::{Bounds, Cone, Coulomb, Local};
use super::system::{Colour, Part, Run, State};
use super::team::Team;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Groups of lanes per chunk, the unit of parallel work.
pub(super) const CHUNK: usize = 32;

/// Groups of lanes that go through a stage together; their rows fit into the first-level cache.
const BATCH: usize = 8;

/// Columns of a row: two groups of unknowns.
const COLUMNS: usize = 12;

/// Room of a group of unknowns in z.
const ROOM: usize = 8;

/// Contacts of one kind, four by four.
pub(super) struct Groups<L> {
    values: Aligned,
    places: Vec<[u32; 2 * LANES]>,
    /// The end of the last group of unknowns that is touched.
    limit: usize,
    law: PhantomData<L>,
}

impl<L> Default for Groups<L> {
    fn default() -> Groups<L> {
        Groups { values: Aligned::default(), places: Vec::new(), limit: 0, law: PhantomData }
    }
}

/// All kinds of groups.
#[derive(Default)]
pub(super) struct Kinds {
    pub cone: Groups<Cone>,
    pub coulomb: Groups<Coulomb>,
    pub bounds: Groups<Bounds>,
}

impl Kinds {
    pub(super) fn clear(&mut self) {
        self.cone.clear();
        self.coulomb.clear();
        self.bounds.clear();
    }

    /// Adds to `z` what the reactions `r` of one colour move.
    pub(super) fn spread(&self, colour: &Colour, r: &[f64], z: &mut [f64]) {
        self.cone.spread(&colour.cone, r, z);
        self.coulomb.spread(&colour.coulomb, r, z);
        self.bounds.spread(&colour.bounds, r, z);
    }
}

/// The start of a vector that several threads write, each at places of its own.
#[derive(Clone, Copy)]
pub(super) struct Shared(*mut f64);

// SAFETY: who uses it sees to it that threads touch different places: chunks of one colour do, see the head of this file.
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
    pub q: &'a [f64],
    /// Who sweeps parts and chunks; one thread without a team.
    pub team: Option<&'a Team>,
}

impl Kernels<'_> {
    /// Sweeps all parts; returns Σ‖Δ‖², added in the order of the parts.
    pub(super) fn sweep_parts(&self, parts: &[Part], x: &mut State, sums: &mut Vec<f64>) -> f64 {
        self.check(&x.z);
        let (z, r) = (Shared::of(&mut x.z), Shared::of(&mut x.r));
        let end = x.r.len();
        let run = |p: usize| -> f64 {
            let part = &parts[p];
            assert!(part.places.end <= end);
            // SAFETY: within r (checked), and the places of parts do not overlap.
            let r = unsafe { std::slice::from_raw_parts_mut(r.start().add(part.places.start), part.places.len()) };
            let colours = &self.colours[part.colours.clone()];
            // SAFETY: every place is within z (checked above); parts touch different places.
            colours.iter().map(|colour| unsafe { self.colour(colour, part.places.start, r, z.start()) }).sum()
        };
        self.in_order(parts.len(), run, sums)
    }

    /// Sweeps the lanes of one colour of the boundary, chunk by chunk.
    pub(super) fn sweep_colour(&self, colour: &Colour, x: &mut State, sums: &mut Vec<f64>) -> f64 {
        self.check(&x.z);
        let z = Shared::of(&mut x.z);
        self.chunks(&self.kinds.cone, (&colour.cone, z), &mut x.r, sums)
            + self.chunks(&self.kinds.coulomb, (&colour.coulomb, z), &mut x.r, sums)
            + self.chunks(&self.kinds.bounds, (&colour.bounds, z), &mut x.r, sums)
    }

    fn chunks<L: Local + Sync>(&self, groups: &Groups<L>, (run, z): (&Run, Shared), r: &mut [f64], sums: &mut Vec<f64>) -> f64 {
        let size = CHUNK * L::ROWS * LANES;
        let range = run.places(L::ROWS);
        let (q, end) = (&self.q[range.clone()], range.len());
        let r = Shared::of(&mut r[range]);
        let sweep = |c: usize| {
            let mine = c * size..end.min((c + 1) * size);
            // SAFETY: within r, and chunks do not overlap.
            let r = unsafe { std::slice::from_raw_parts_mut(r.start().add(mine.start), mine.len()) };
            // SAFETY: every place is within z (checked by the caller); chunks of one colour touch different places.
            unsafe { groups.sweep(run.groups.start + c * CHUNK, &q[mine], r, z.start()) }
        };
        self.in_order(end.div_ceil(size), sweep, sums)
    }

    /// `Σ f(i)`, each on some thread, added in order.
    fn in_order(&self, count: usize, f: impl Fn(usize) -> f64 + Send + Sync, sums: &mut Vec<f64>) -> f64 {
        match self.team {
            Some(team) if count > 1 => {
                sums.clear();
                sums.resize(count, 0.0);
                team.chunks((sums, &mut [(); 0]), (1, 1), |i, sum, _| sum[0] = f(i));
                sums.iter().sum()
            }
            _ => (0..count).map(f).sum(),
        }
    }

    /// One colour of a part whose reactions `r` begin at place `first`.
    ///
    /// # Safety
    /// No other thread touches the places of this colour in z.
    unsafe fn colour(&self, colour: &Colour, first: usize, r: &mut [f64], z: *mut f64) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            self.run(&self.kinds.cone, &colour.cone, first, r, z)
                + self.run(&self.kinds.coulomb, &colour.coulomb, first, r, z)
                + self.run(&self.kinds.bounds, &colour.bounds, first, r, z)
        }
    }

    /// # Safety
    /// As [`Kernels::colour`].
    unsafe fn run<L: Local>(&self, groups: &Groups<L>, run: &Run, first: usize, r: &mut [f64], z: *mut f64) -> f64 {
        let all = run.places(L::ROWS);
        // SAFETY: the caller's promise.
        unsafe { groups.sweep(run.groups.start, &self.q[all.clone()], &mut r[all.start - first..all.end - first], z) }
    }

    fn check(&self, z: &[f64]) {
        let Kinds { cone, coulomb, bounds } = self.kinds;
        assert!(cone.within(z.len()) && coulomb.within(z.len()) && bounds.within(z.len()), "every place is within z");
    }
}

impl<L: Local> Groups<L> {
    /// Numbers of a group of lanes.
    pub(super) const SIZE: usize = (COLUMNS * L::ROWS + L::PARAMETERS) * LANES;
    /// Reactions of a group of lanes.
    const REACTIONS: usize = L::ROWS * LANES;

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// True if all places are within a z of this length.
    pub(super) fn within(&self, length: usize) -> bool {
        self.limit <= length
    }

    fn clear(&mut self) {
        self.values.clear();
        self.places.clear();
        self.limit = 0;
    }

    /// A group whose lanes do nothing yet.
    pub(super) fn open(&mut self, dummy: u32) {
        self.values.extend(Self::SIZE);
        self.places.push([dummy; 2 * LANES]);
        self.limit = self.limit.max(dummy as usize + ROOM);
    }

    /// The numbers of all groups, [`Groups::SIZE`] each.
    pub(super) fn values(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Puts rows over two groups of unknowns (d × 12) and parameters into lane `lane` of a group with these numbers.
    pub(super) fn put(values: &mut [f64], lane: usize, rows: &[f64], parameters: &[f64]) {
        for (i, &x) in rows.iter().chain(parameters).enumerate() {
            values[i * LANES + lane] = x;
        }
    }

    /// Where lane `lane` of group `g` finds its two groups of unknowns.
    pub(super) fn place(&mut self, g: usize, lane: usize, places: [u32; 2]) {
        (self.places[g][lane], self.places[g][LANES + lane]) = (places[0], places[1]);
        self.limit = self.limit.max(places[0].max(places[1]) as usize + ROOM);
    }

    /// Adds to `z` what the reactions of these groups move.
    fn spread(&self, run: &Run, r: &[f64], z: &mut [f64]) {
        assert!(self.limit <= z.len() && run.groups.end <= self.places.len(), "every place is within z");
        let r = &r[run.places(L::ROWS)];
        #[cfg(target_arch = "x86_64")]
        if wide_enough() {
            // SAFETY: the processor has AVX2 and FMA; places within z (checked above), one thread.
            return unsafe { self.spread_wide(run.groups.clone(), r, z.as_mut_ptr()) };
        }
        // SAFETY: as above.
        unsafe { self.spread_by::<Plain>(run.groups.clone(), r, z.as_mut_ptr()) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn spread_wide(&self, groups: Range<usize>, r: &[f64], z: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { self.spread_by::<super::lanes::Wide>(groups, r, z) }
    }

    #[inline(always)]
    unsafe fn spread_by<F: Four>(&self, groups: Range<usize>, r: &[f64], z: *mut f64) {
        for (g, r) in groups.zip(r.chunks_exact(Self::REACTIONS)) {
            // SAFETY: the caller's promise.
            unsafe {
                let r: [F; 3] = std::array::from_fn(|i| if i < L::ROWS { F::load(r[i * LANES..].as_ptr()) } else { F::splat(0.0) });
                self.push(g, r, self.touched(g, z), z);
            }
        }
    }

    /// Sweeps the groups from `first` on whose reactions are `r`; returns Σ‖Δ‖².
    ///
    /// # Safety
    /// No other thread touches the places of these groups in `z` meanwhile; all places + 8 are within z.
    unsafe fn sweep(&self, first: usize, q: &[f64], r: &mut [f64], z: *mut f64) -> f64 {
        let groups = first..first + r.len() / Self::REACTIONS;
        assert!(groups.end <= self.places.len() && q.len() == r.len());
        #[cfg(target_arch = "x86_64")]
        if wide_enough() {
            // SAFETY: the processor has AVX2 and FMA; the rest is the caller's promise.
            return unsafe { self.sweep_wide(groups, q, r, z) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.sweep_by::<Plain>(groups, q, r, z) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sweep_wide(&self, groups: Range<usize>, q: &[f64], r: &mut [f64], z: *mut f64) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { self.sweep_by::<super::lanes::Wide>(groups, q, r, z) }
    }

    #[inline(always)]
    unsafe fn sweep_by<F: Four>(&self, groups: Range<usize>, q: &[f64], r: &mut [f64], z: *mut f64) -> f64 {
        // SAFETY: the caller's promise; `sweep` has checked the sizes.
        unsafe {
            let (first, zero) = (groups.start, F::splat(0.0));
            let mut sum = zero;
            // Room that is written before it is read: to fill it with zeros would cost a short run as much as its sweep.
            let mut x = [const { MaybeUninit::<[F; 3]>::uninit() }; BATCH];
            // What the groups of a batch touch is theirs alone: it is gathered once.
            let mut held = [const { MaybeUninit::<[[F; 6]; 2]>::uninit() }; BATCH];
            for start in groups.clone().step_by(BATCH) {
                let batch = start..groups.end.min(start + BATCH);
                for ((x, held), g) in x.iter_mut().zip(&mut held).zip(batch.clone()) {
                    let held = held.write(self.touched(g, z));
                    x.write(self.velocities(g, q.as_ptr().add((g - first) * Self::REACTIONS), held));
                }
                for (x, g) in x.iter_mut().zip(batch.clone()) {
                    let x = x.assume_init_mut();
                    // The rows of the next batch are on their way while this one is solved.
                    for line in (0..Self::SIZE).step_by(LINE) {
                        F::prefetch(self.group(g + BATCH).wrapping_add(line));
                    }
                    let r = r.as_mut_ptr().add((g - first) * Self::REACTIONS);
                    let mut old = [zero; 3];
                    for (i, old) in old.iter_mut().enumerate().take(L::ROWS) {
                        *old = F::load(r.add(i * LANES));
                    }
                    let new = L::solve(self.group(g).add(COLUMNS * L::ROWS * LANES), *x, old);
                    for i in 0..L::ROWS {
                        new[i].store(r.add(i * LANES));
                        x[i] = new[i].sub(old[i]);
                        sum = sum.add(x[i].mul(x[i]));
                    }
                }
                for ((x, held), g) in x.iter().zip(&held).zip(batch) {
                    self.push(g, x.assume_init_read(), held.assume_init_read(), z);
                }
            }
            let mut sums = [0.0; LANES];
            sum.store(sums.as_mut_ptr());
            (sums[0] + sums[1]) + (sums[2] + sums[3])
        }
    }

    /// The numbers of group `g`.
    #[inline(always)]
    fn group(&self, g: usize) -> *const f64 {
        self.values.as_ptr().wrapping_add(g * Self::SIZE)
    }

    /// The coordinates that four contacts touch: those of their first bodies and of their second ones.
    ///
    /// # Safety
    /// Group `g` exists, its places are within z, nobody writes them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn touched<F: Four>(&self, g: usize, z: *const f64) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let places = self.places.get_unchecked(g);
            [gather::<F>(z, places, 0), gather::<F>(z, places, LANES)]
        }
    }

    /// `û = q̂ + Ĵ z` of four contacts, from the coordinates that they touch.
    ///
    /// # Safety
    /// Group `g` exists, and `q` holds its numbers.
    #[inline(always)]
    pub(super) unsafe fn velocities<F: Four>(&self, g: usize, q: *const f64, [a, b]: &[[F; 6]; 2]) -> [F; 3] {
        // SAFETY: the caller's promise.
        unsafe {
            let values = self.group(g);
            let mut out = [F::splat(0.0); 3];
            for (i, out) in out.iter_mut().enumerate().take(L::ROWS) {
                let row = values.add(i * COLUMNS * LANES);
                let mut u = F::load(q.add(i * LANES));
                let mut w = F::load(row.add(6 * LANES)).mul(b[0]);
                for j in 0..6 {
                    u = F::load(row.add(j * LANES)).mul_add(a[j], u);
                }
                for j in 1..6 {
                    w = F::load(row.add((6 + j) * LANES)).mul_add(b[j], w);
                }
                *out = u.add(w);
            }
            out
        }
    }

    /// `z += Ĵᵀ x` of four contacts, whose coordinates were `held`.
    ///
    /// # Safety
    /// As [`Groups::touched`], and nobody reads meanwhile.
    #[inline(always)]
    unsafe fn push<F: Four>(&self, g: usize, x: [F; 3], held: [[F; 6]; 2], z: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe {
            let (values, places) = (self.group(g), self.places.get_unchecked(g));
            for (side, mut a) in held.into_iter().enumerate() {
                for (j, a) in a.iter_mut().enumerate() {
                    for (i, x) in x.iter().enumerate().take(L::ROWS) {
                        *a = F::load(values.add((i * COLUMNS + side * 6 + j) * LANES)).mul_add(*x, *a);
                    }
                }
                scatter(z, places, side * LANES, a);
            }
        }
    }
}

/// Six coordinates of four groups of unknowns.
///
/// # Safety
/// `z` holds eight numbers at each place, and nobody writes them meanwhile.
#[inline(always)]
unsafe fn gather<F: Four>(z: *const f64, places: &[u32; 2 * LANES], from: usize) -> [F; 6] {
    // SAFETY: the caller's promise.
    unsafe {
        let at: [*const f64; LANES] = std::array::from_fn(|l| z.add(places[from + l] as usize));
        let [a, b, c, d] = F::transpose(at.map(|p| F::load(p)));
        let [e, f] = F::load_pairs(at.map(|p| p.add(LANES)));
        [a, b, c, d, e, f]
    }
}

/// Writes back what [`gather`] read.
///
/// # Safety
/// As there, and nobody reads meanwhile.
#[inline(always)]
unsafe fn scatter<F: Four>(z: *mut f64, places: &[u32; 2 * LANES], from: usize, x: [F; 6]) {
    // SAFETY: the caller's promise.
    unsafe {
        let at: [*mut f64; LANES] = std::array::from_fn(|l| z.add(places[from + l] as usize));
        for (x, at) in F::transpose([x[0], x[1], x[2], x[3]]).into_iter().zip(at) {
            x.store(at);
        }
        F::store_pairs([x[4], x[5]], at.map(|p| p.add(LANES)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::coulomb_parameters;
    use super::*;
    use crate::problem::Law;
    use crate::problem::made::Numbers;

    /// The projection on the cone in plain code.
    fn project(x: [f64; 3], mu: f64, inverse: f64) -> [f64; 3] {
        let t = (x[1] * x[1] + x[2] * x[2]).sqrt();
        if t <= mu * x[0] {
            x
        } else if mu * t <= -x[0] {
            [0.0, x[1] * 0.0, x[2] * 0.0]
        } else {
            let s = (x[0] + mu * t) * inverse;
            let stretch = mu * s / t;
            [s, x[1] * stretch, x[2] * stretch]
        }
    }

    /// The twin: one contact after the other, in plain safe code, with the same operations in the same order.
    fn twin(f: &Groups<Cone>, q: &[f64], r: &mut [f64], z: &mut [f64]) {
        for (g, places) in f.places.iter().enumerate() {
            for lane in 0..LANES {
                let value = |i: usize| f.values[g * Groups::<Cone>::SIZE + i * LANES + lane];
                let (a, b) = (places[lane] as usize, places[LANES + lane] as usize);
                let at = |i: usize| (g * 3 + i) * LANES + lane;
                let mut x = [0.0; 3];
                for (i, x) in x.iter_mut().enumerate() {
                    let mut u = q[at(i)];
                    for j in 0..6 {
                        u = value(i * 12 + j).mul_add(z[a + j], u);
                    }
                    let mut w = value(i * 12 + 6) * z[b];
                    for j in 1..6 {
                        w = value(i * 12 + 6 + j).mul_add(z[b + j], w);
                    }
                    *x = r[at(i)] - (u + w) * value(38);
                }
                let x = project(x, value(36), value(37));
                let delta: [f64; 3] = std::array::from_fn(|i| x[i] - r[at(i)]);
                for (place, from) in [(a, 0), (b, 6)].into_iter().take(if a == b { 1 } else { 2 }) {
                    for j in 0..6 {
                        for i in 0..3 {
                            z[place + j] = value(i * 12 + from + j).mul_add(delta[i], z[place + j]);
                        }
                    }
                }
                for i in 0..3 {
                    r[at(i)] = x[i];
                }
            }
        }
    }

    /// Contacts of separate pairs of bodies, the last ones with the ground or missing; and a state.
    fn contacts<L: Local>(groups: usize, x: &mut Numbers, parameters: impl Fn(f64, &[f64]) -> Vec<f64>) -> (Groups<L>, Vec<f64>, Vec<f64>) {
        let dummy = (groups * 8 * 8) as u32;
        let mut f = Groups::<L>::default();
        for g in 0..groups {
            f.open(dummy);
            for lane in 0..LANES {
                if g + 1 == groups && lane == 3 {
                    continue;
                }
                let rows: Vec<f64> = (0..36).map(|i| if g + 1 == groups && i % 12 >= 6 { 0.0 } else { x.draw() }).collect();
                let mu = 0.5 + 0.4 * x.draw();
                let first = ((g * LANES + lane) * 2 * 8) as u32;
                let places = [first, if g + 1 == groups { dummy } else { first + 8 }];
                let size = Groups::<L>::SIZE;
                Groups::<L>::put(&mut f.values()[g * size..(g + 1) * size], lane, &rows, &parameters(mu, &rows));
                f.place(g, lane, places);
            }
        }
        let q: Vec<f64> = (0..groups * 3 * LANES).map(|_| x.draw()).collect();
        let z: Vec<f64> = (0..dummy + 8).map(|i| if i % 8 < 6 && i < dummy { x.draw() } else { 0.0 }).collect();
        (f, q, z)
    }

    #[test]
    fn lanes_and_plain_code_agree_to_the_bit() {
        let (f, q, mut z) = contacts::<Cone>(19, &mut Numbers::new(1), |mu, _| vec![mu, 1.0 / (1.0 + mu * mu), 0.4]);
        let mut r = vec![0.0; q.len()];
        let (mut other_z, mut other_r) = (z.clone(), r.clone());
        for _ in 0..10 {
            // SAFETY: one thread; all places are within z.
            unsafe { f.sweep(0, &q, &mut r, z.as_mut_ptr()) };
            twin(&f, &q, &mut other_r, &mut other_z);
            assert!(r.iter().zip(&other_r).all(|(a, b)| a == b), "reactions");
            assert!(z.iter().zip(&other_z).all(|(a, b)| a == b), "velocities");
            // SAFETY: as above.
            unsafe { f.sweep_by::<Plain>(0..19, &q, &mut r, z.as_mut_ptr()) };
            twin(&f, &q, &mut other_r, &mut other_z);
            assert!(z.iter().zip(&other_z).all(|(a, b)| a == b), "the code for older processors");
        }
        assert!(r.iter().any(|r| *r > 0.0));
    }

    #[test]
    fn coulomb_in_lanes_is_the_exact_local_solution() {
        let block = |rows: &[f64]| -> Vec<f64> {
            let entry = |i: usize, j: usize| (0..12).map(|k| rows[i * 12 + k] * rows[j * 12 + k]).sum();
            (0..9).map(|p| entry(p / 3, p % 3)).collect()
        };
        let (f, q, z) = contacts::<Coulomb>(25, &mut Numbers::new(4), |mu, rows| coulomb_parameters(mu, &block(rows)).to_vec());
        let mut seen = [0; 3];
        let (mut r, mut v) = (vec![0.0; q.len()], z);
        for _ in 0..3 {
            let (before, v_before) = (r.clone(), v.clone());
            // SAFETY: one thread; all places are within z.
            unsafe { f.sweep(0, &q, &mut r, v.as_mut_ptr()) };
            let (mut other, mut other_v) = (before.clone(), v_before.clone());
            // SAFETY: as above.
            unsafe { f.sweep_by::<Plain>(0..25, &q, &mut other, other_v.as_mut_ptr()) };
            assert!(r.iter().zip(&other).all(|(a, b)| a == b), "both forms agree to the bit");
            for g in 0..25 {
                for lane in 0..LANES {
                    let value = |i: usize| f.values[g * Groups::<Coulomb>::SIZE + i * LANES + lane];
                    let rows: Vec<f64> = (0..36).map(value).collect();
                    if rows[0] == 0.0 {
                        continue;
                    }
                    let (w, at) = (block(&rows), |i: usize| (g * 3 + i) * LANES + lane);
                    let old: Vec<f64> = (0..3).map(|i| before[at(i)]).collect();
                    let free: Vec<f64> = (0..3)
                        .map(|i| {
                            let moved = |j: usize| v_before[f.places[g][j / 6 * LANES + lane] as usize + j % 6];
                            let u: f64 = q[at(i)] + (0..12).map(|j| rows[i * 12 + j] * moved(j)).sum::<f64>();
                            u - (0..3).map(|j| w[i * 3 + j] * old[j]).sum::<f64>()
                        })
                        .collect();
                    let mut exact = [0.0; 3];
                    crate::solve::local::solve_block(&Law::Coulomb { mu: value(36), rows: 3 }, &w, &free, &mut exact);
                    for i in 0..3 {
                        // Random rows: blocks of condition up to 1e3, reactions of order one.
                        assert!((r[at(i)] - exact[i]).abs() < 1e-9 * (1.0 + exact[0]), "{i}: {} {}", r[at(i)], exact[i]);
                    }
                    let slack = value(36) * exact[0] - exact[1].hypot(exact[2]);
                    seen[if exact[0] == 0.0 { 0 } else { 1 + usize::from(slack < 1e-9) }] += 1;
                }
            }
        }
        assert!(seen.iter().all(|s| *s > 10), "open, stuck and sliding contacts occur: {seen:?}");
    }
}
