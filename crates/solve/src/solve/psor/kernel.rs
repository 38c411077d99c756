//! The inner loop: four contacts of one colour at a time.
//!
//! A contact of two groups of six unknowns (rigid bodies) is d × 12 whitened numbers, or fewer
//! ([`super::rows`]). Four of them are stored lane by lane, so that every operation below works on
//! four contacts at once:
//!
//! ```text
//!   û = q̂ + Ĵ_A z_A + Ĵ_B z_B        r̂⁺ = local solution        z += Ĵᵀ (r̂⁺ − r̂)
//! ```
//!
//! [`super::stages`] says in which order.
//!
//! The contacts of a chunk, and of all chunks of a colour, touch different groups of unknowns (a
//! contact with the ground has the chunk's own dummy as its second group, with zero rows): that is
//! what makes it sound for chunks to write to z at the same time, and the stages to be apart.
//! Contacts with a hub body ([`super::hubs`]) share that one, on one thread; lanes write one after
//! the other. What is fused is fused everywhere: the wide code, the code for other processors and
//! the plain twin below agree to the bit.

#![allow(unsafe_code)]

use super::laws::{Bounds, Cone, Coulomb, Local};
use super::rows::{Bodies, Form, Storage, in_form};
use super::simd::{Aligned, F64x4, LANES, Scalar, wide_enough};
use super::stages::Sweep;
use super::system::{Colour, Run};
use std::marker::PhantomData;
use std::ops::Range;

/// Room of a group of unknowns in z.
const ROOM: usize = 8;

/// Where four contacts find their first groups of unknowns, then their second ones: two places in a
/// number, so that one load brings both.
#[derive(Clone, Copy)]
pub(super) struct Pairs([u64; LANES]);

impl Pairs {
    fn all(place: u32) -> Pairs {
        Pairs([u64::from(place) << 32 | u64::from(place); LANES])
    }

    fn set(&mut self, i: usize, place: u32) {
        let (pair, shift) = (&mut self.0[i / 2], i % 2 * 32);
        *pair = *pair & !(u64::from(u32::MAX) << shift) | u64::from(place) << shift;
    }

    /// The places of one side.
    #[inline(always)]
    pub(super) fn side(&self, side: usize) -> [usize; LANES] {
        let (a, b) = (self.0[2 * side], self.0[2 * side + 1]);
        [a as u32 as usize, (a >> 32) as usize, b as u32 as usize, (b >> 32) as usize]
    }

    /// The coordinates that four contacts touch: those of their first bodies and of their second
    /// ones.
    ///
    /// # Safety
    /// The places are within z, and nobody writes them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn touched<F: F64x4>(&self, z: *const f64) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe { [gather::<F>(z, self.side(0)), gather::<F>(z, self.side(1))] }
    }
}

/// Contacts of one kind, four by four.
pub(super) struct Groups<L> {
    values: Aligned,
    storage: Storage,
    places: Vec<Pairs>,
    /// What [`Storage::Frame`] keeps with the bodies, at their places in z.
    bodies: Aligned,
    /// The end of the last group of unknowns that is touched.
    limit: usize,
    law: PhantomData<L>,
}

impl<L> Default for Groups<L> {
    fn default() -> Groups<L> {
        Groups {
            values: Aligned::default(),
            storage: Storage::Stored,
            places: Vec::new(),
            bodies: Aligned::default(),
            limit: 0,
            law: PhantomData,
        }
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

impl<L: Local> Groups<L> {
    /// Reactions of a group of lanes.
    pub(super) const REACTIONS: usize = L::ROWS * LANES;

    /// Numbers of a group of lanes in this form.
    #[inline(always)]
    pub(super) fn size_in<R: Form>() -> usize {
        (R::numbers(L::ROWS) + L::PARAMETERS) * LANES
    }

    /// Numbers of a group of lanes.
    pub(super) fn size(&self) -> usize {
        in_form!(self.storage, R => Self::size_in::<R>())
    }

    /// How the groups are stored.
    pub(super) fn storage(&self) -> Storage {
        self.storage
    }

    /// How the groups to come are stored: as they are, or blocks of three rows in another form.
    /// There are none yet.
    pub(super) fn store(&mut self, storage: Storage) {
        assert!(
            self.places.is_empty() && (storage == Storage::Stored || L::ROWS == 3),
            "no groups of another form"
        );
        self.storage = storage;
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// True if all places are within a z of this length, and within what is kept with the bodies if
    /// something is.
    pub(super) fn within(&self, length: usize) -> bool {
        self.limit <= length && (self.storage != Storage::Frame || self.limit <= self.bodies.len())
    }

    /// What is kept with the bodies, zeros to begin with, of a z of this length.
    pub(super) fn bodies(&mut self, length: usize) -> &mut [f64] {
        self.bodies.reset(length);
        &mut self.bodies
    }

    fn clear(&mut self) {
        self.values.clear();
        self.places.clear();
        self.limit = 0;
    }

    /// A group whose lanes do nothing yet.
    pub(super) fn open(&mut self, dummy: u32) {
        self.values.extend(self.size());
        self.places.push(Pairs::all(dummy));
        self.limit = self.limit.max(dummy as usize + ROOM);
    }

    /// The numbers of all groups, [`Groups::size`] each.
    pub(super) fn values(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Puts the numbers of a contact's rows and its parameters into lane `lane` of a group.
    pub(super) fn put(values: &mut [f64], lane: usize, rows: &[f64], parameters: &[f64]) {
        for (i, &x) in rows.iter().chain(parameters).enumerate() {
            values[i * LANES + lane] = x;
        }
    }

    /// Where lane `lane` of group `g` finds its two groups of unknowns.
    pub(super) fn place(&mut self, g: usize, lane: usize, places: [u32; 2]) {
        self.places[g].set(lane, places[0]);
        self.places[g].set(LANES + lane, places[1]);
        self.limit = self.limit.max(places[0].max(places[1]) as usize + ROOM);
    }

    /// Adds to `z` what the reactions of these groups move.
    fn spread(&self, run: &Run, r: &[f64], z: &mut [f64]) {
        assert!(
            self.within(z.len()) && run.groups.end <= self.places.len(),
            "every place is within z"
        );
        let r = &r[run.places(L::ROWS)];
        #[cfg(target_arch = "x86_64")]
        if wide_enough() {
            // SAFETY: the processor has AVX2 and FMA; places within z (checked above), one thread.
            return in_form!(self.storage, R => unsafe { self.spread_wide::<R>(run.groups.clone(),
            r, z.as_mut_ptr()) });
        }
        // SAFETY: as above.
        in_form!(self.storage, R => unsafe { self.spread_by::<R, Scalar>(run.groups.clone(), r,
        z.as_mut_ptr()) });
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn spread_wide<R: Form>(&self, groups: Range<usize>, r: &[f64], z: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { self.spread_by::<R, super::simd::Avx2>(groups, r, z) }
    }

    #[inline(always)]
    unsafe fn spread_by<R: Form, F: F64x4>(&self, groups: Range<usize>, r: &[f64], z: *mut f64) {
        for (g, r) in groups.zip(r.chunks_exact(Self::REACTIONS)) {
            // SAFETY: the caller's promise.
            unsafe {
                let r: [F; 3] = std::array::from_fn(|i| {
                    if i < L::ROWS { F::load(r[i * LANES..].as_ptr()) } else { F::splat(0.0) }
                });
                push::<R, F>(L::ROWS, self.group::<R>(g), self.touches(g), r, z);
            }
        }
    }

    /// Sweeps the groups from `first` on whose reactions are `r`, and writes these to `kept` as
    /// well; returns Σ‖Δ‖².
    ///
    /// # Safety
    /// No other thread touches the places of these groups in `z` meanwhile, and they are
    /// [`Groups::within`] it.
    pub(super) unsafe fn sweep(
        &self,
        first: usize,
        q: &[f64],
        r: (&mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        let groups = first..first + q.len() / Self::REACTIONS;
        assert!(groups.end <= self.places.len() && q.len() == r.0.len() && q.len() == r.1.len());
        #[cfg(target_arch = "x86_64")]
        if wide_enough() {
            // SAFETY: the processor has AVX2 and FMA; the rest is the caller's promise.
            return in_form!(self.storage, R => unsafe { self.sweep_wide::<R>(groups, q, r, z) });
        }
        // SAFETY: the caller's promise.
        in_form!(self.storage, R => unsafe { self.sweep_by::<R, Scalar>(groups, q, r, z) })
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sweep_wide<R: Form>(
        &self,
        groups: Range<usize>,
        q: &[f64],
        r: (&mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { self.sweep_by::<R, super::simd::Avx2>(groups, q, r, z) }
    }

    #[inline(always)]
    unsafe fn sweep_by<R: Form, F: F64x4>(
        &self,
        groups: Range<usize>,
        q: &[f64],
        r: (&mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        // SAFETY: the caller's promise; `sweep` has checked the sizes.
        unsafe {
            let sweep = Sweep::<L, R, F> {
                values: self.group::<R>(groups.start),
                places: self.places.as_ptr().add(groups.start),
                bodies: self.bodies.as_ptr(),
                count: groups.len(),
                q: q.as_ptr(),
                r: r.0.as_mut_ptr(),
                kept: r.1.as_mut_ptr(),
                z,
                kind: PhantomData,
            };
            let sum = sweep.run();
            let mut sums = [0.0; LANES];
            sum.store(sums.as_mut_ptr());
            (sums[0] + sums[1]) + (sums[2] + sums[3])
        }
    }

    /// The numbers of group `g`, stored in this form.
    #[inline(always)]
    fn group<R: Form>(&self, g: usize) -> *const f64 {
        self.values.as_ptr().wrapping_add(g * Self::size_in::<R>())
    }

    /// The coordinates that four contacts touch: those of their first bodies and of their second
    /// ones.
    ///
    /// # Safety
    /// Group `g` exists, its places are within z, nobody writes them meanwhile.
    #[inline(always)]
    pub(super) unsafe fn touched<F: F64x4>(&self, g: usize, z: *const f64) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe { self.places.get_unchecked(g).touched(z) }
    }

    /// `û = q̂ + Ĵ z` of four contacts, from the coordinates that they touch.
    ///
    /// # Safety
    /// Group `g` exists, its rows are stored in this form, `q` holds its numbers, and the places
    /// are [`Groups::within`] some z.
    #[inline(always)]
    pub(super) unsafe fn velocities<R: Form, F: F64x4>(
        &self,
        g: usize,
        q: *const f64,
        touched: &[[F; 6]; 2],
    ) -> [F; 3] {
        // SAFETY: the caller's promise.
        unsafe { R::velocities(L::ROWS, self.group::<R>(g), q, self.touches(g), touched) }
    }

    /// The bodies of group `g`, which exists.
    #[inline(always)]
    fn touches(&self, g: usize) -> Bodies {
        Bodies { table: self.bodies.as_ptr(), places: self.places[g] }
    }
}

/// `z += Ĵᵀ x` of four contacts.
///
/// # Safety
/// `values` are their rows, stored in this form, and their places are within z, which nobody else
/// touches there meanwhile, and within the table of `bodies` if the form has one.
#[inline(always)]
pub(super) unsafe fn push<R: Form, F: F64x4>(
    rows: usize,
    values: *const f64,
    bodies: Bodies,
    x: [F; 3],
    z: *mut f64,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for (side, moves) in R::moves(rows, values, bodies, &x).into_iter().enumerate() {
            scatter(z, bodies.places.side(side), moves);
        }
    }
}

/// Six coordinates of four groups of unknowns.
///
/// # Safety
/// `z` holds eight numbers at each place, and nobody writes them meanwhile.
#[inline(always)]
unsafe fn gather<F: F64x4>(z: *const f64, places: [usize; LANES]) -> [F; 6] {
    // SAFETY: the caller's promise.
    unsafe {
        let at: [*const f64; LANES] = places.map(|place| z.add(place));
        let [a, b, c, d] = F::transpose(at.map(|p| F::load(p)));
        let [e, f] = F::load_pairs(at.map(|p| p.add(LANES)));
        [a, b, c, d, e, f]
    }
}

/// Adds to what [`gather`] reads.
///
/// # Safety
/// As there, and nobody reads meanwhile.
#[inline(always)]
unsafe fn scatter<F: F64x4>(z: *mut f64, places: [usize; LANES], x: [F; 6]) {
    // SAFETY: the caller's promise.
    unsafe {
        let at: [*mut f64; LANES] = places.map(|place| z.add(place));
        for (x, at) in F::transpose([x[0], x[1], x[2], x[3]]).into_iter().zip(at) {
            F::load(at).add(x).store(at);
        }
        F::add_pairs([x[4], x[5]], at.map(|p| p.add(LANES)));
    }
}

#[cfg(test)]
mod tests;
