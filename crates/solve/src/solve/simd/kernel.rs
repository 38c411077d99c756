//! The inner loop: four contacts of one colour at a time.
//!
//! A contact of two groups of six unknowns (rigid bodies) is d × 12 whitened numbers, or fewer
//! ([`super::forms`]). Four of them are stored lane by lane, so that every operation below works on
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
//! Contacts with a hub body (`psor::partition`) share that one, on one thread; lanes write one
//! after the other. What is fused is fused everywhere: the wide code, the code for other processors
//! and the plain twin of the tests agree to the bit.

use super::Aligned;
use super::f64x4::{F64x4, LANES, Scalar, wide_enough};
use super::forms::{Bodies, Form, Pairs, ROOM, push};
use super::frames::{Storage, in_form};
use super::laws::{Bounds, Cone, Coulomb, Local};
use super::stages::{Sweep, group_size, reactions};
use std::marker::PhantomData;
use std::ops::Range;

/// Lane groups of one kind that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Run {
    pub groups: Range<usize>,
    /// Where the reactions of the first one live.
    pub at: usize,
}

impl Run {
    /// Where the reactions live, with `rows` per lane.
    pub(crate) fn places(&self, rows: usize) -> Range<usize> {
        self.at..self.at + self.groups.len() * rows * LANES
    }
}

/// What a colour holds: runs of lane groups, and single blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Colour {
    pub cone: Run,
    pub coulomb: Run,
    pub bounds: Run,
    pub single: Range<usize>,
}

/// Contacts of one kind, four by four.
pub(crate) struct Groups<L> {
    pub(super) values: Aligned,
    pub(super) storage: Storage,
    pub(super) places: Vec<Pairs>,
    /// What [`Storage::Frame`] keeps with the bodies, at their places in z.
    pub(super) bodies: Aligned,
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
pub(crate) struct Kinds {
    pub cone: Groups<Cone>,
    pub coulomb: Groups<Coulomb>,
    pub bounds: Groups<Bounds>,
}

impl Kinds {
    pub(crate) fn clear(&mut self) {
        self.cone.clear();
        self.coulomb.clear();
        self.bounds.clear();
    }

    /// True if all places are within a z of this length.
    pub(super) fn within(&self, z: usize) -> bool {
        self.cone.within(z) && self.coulomb.within(z) && self.bounds.within(z)
    }

    /// Where the reactions of a colour are, kind by kind.
    pub(super) fn places(colour: &Colour) -> [Range<usize>; 3] {
        [
            colour.cone.places(Cone::ROWS),
            colour.coulomb.places(Coulomb::ROWS),
            colour.bounds.places(Bounds::ROWS),
        ]
    }

    /// True if the groups of a colour exist, and their reactions in an r̂ of this length.
    pub(super) fn holds(&self, colour: &Colour, r: usize) -> bool {
        let ends = [&colour.cone, &colour.coulomb, &colour.bounds].map(|run| run.groups.end);
        let lengths = [self.cone.len(), self.coulomb.len(), self.bounds.len()];
        ends.iter().zip(lengths).all(|(&end, length)| end <= length)
            && Kinds::places(colour).iter().all(|places| places.end <= r)
    }

    /// The places in z that a colour touches, two of each lane, kind by kind.
    pub(super) fn touched_by_kind(
        &self,
        colour: &Colour,
    ) -> [impl Iterator<Item = usize> + use<'_>; 3] {
        let Kinds { cone, coulomb, bounds } = self;
        [
            (&cone.places, &colour.cone),
            (&coulomb.places, &colour.coulomb),
            (&bounds.places, &colour.bounds),
        ]
        .map(|(places, run)| places[run.groups.clone()].iter().flat_map(Pairs::by_lane))
    }

    /// The same of all kinds.
    pub(super) fn touched(&self, colour: &Colour) -> impl Iterator<Item = usize> + use<'_> {
        self.touched_by_kind(colour).into_iter().flatten()
    }

    /// Sweeps one colour of a subdomain whose reactions `r` begin at place `first`.
    ///
    /// # Safety
    /// No other thread touches the places of this colour in z, which is as long as was checked.
    pub(super) unsafe fn sweep(
        &self,
        colour: &Colour,
        first: usize,
        (q, r, kept): (&[f64], &mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        // SAFETY: the caller's promise.
        unsafe {
            self.cone.sweep_run(&colour.cone, first, (q, &mut *r, &mut *kept), z)
                + self.coulomb.sweep_run(&colour.coulomb, first, (q, &mut *r, &mut *kept), z)
                + self.bounds.sweep_run(&colour.bounds, first, (q, r, kept), z)
        }
    }

    /// Adds to `z` what the reactions `r` of one colour move.
    pub(crate) fn spread(&self, colour: &Colour, r: &[f64], z: &mut [f64]) {
        self.cone.spread(&colour.cone, r, z);
        self.coulomb.spread(&colour.coulomb, r, z);
        self.bounds.spread(&colour.bounds, r, z);
    }
}

impl<L: Local> Groups<L> {
    /// Numbers of a group of lanes.
    pub(crate) fn size(&self) -> usize {
        in_form!(self.storage, R => group_size::<L, R>())
    }

    /// How the groups are stored.
    pub(crate) fn storage(&self) -> Storage {
        self.storage
    }

    /// How the groups to come are stored: as they are, or blocks of three rows in another form.
    /// There are none yet.
    pub(crate) fn store(&mut self, storage: Storage) {
        assert!(
            self.places.is_empty() && (storage == Storage::Stored || L::ROWS == 3),
            "no groups of another form"
        );
        self.storage = storage;
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// True if all places are within a z of this length, and within what is kept with the bodies if
    /// something is.
    pub(crate) fn within(&self, length: usize) -> bool {
        self.limit <= length && (self.storage != Storage::Frame || self.limit <= self.bodies.len())
    }

    /// What is kept with the bodies, zeros to begin with, of a z of this length.
    pub(crate) fn bodies(&mut self, length: usize) -> &mut [f64] {
        self.bodies.reset(length);
        &mut self.bodies
    }

    fn clear(&mut self) {
        self.values.clear();
        self.places.clear();
        self.limit = 0;
    }

    /// A group whose lanes do nothing yet.
    pub(crate) fn open(&mut self, dummy: u32) {
        self.values.extend(self.size());
        self.places.push(Pairs::all(dummy));
        self.limit = self.limit.max(dummy as usize + ROOM);
    }

    /// The numbers of all groups, [`Groups::size`] each.
    pub(crate) fn values(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Puts the numbers of a contact's rows and its parameters into lane `lane` of a group.
    pub(crate) fn put(values: &mut [f64], lane: usize, rows: &[f64], parameters: &[f64]) {
        for (i, &x) in rows.iter().chain(parameters).enumerate() {
            values[i * LANES + lane] = x;
        }
    }

    /// Where lane `lane` of group `g` finds its two groups of unknowns.
    pub(crate) fn place(&mut self, g: usize, lane: usize, places: [u32; 2]) {
        self.places[g].set(lane, places[0]);
        self.places[g].set(LANES + lane, places[1]);
        self.limit = self.limit.max(places[0].max(places[1]) as usize + ROOM);
    }

    /// Adds to `z` what the reactions of these groups move.
    pub(super) fn spread(&self, run: &Run, r: &[f64], z: &mut [f64]) {
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
        unsafe { self.spread_by::<R, super::f64x4::Avx2>(groups, r, z) }
    }

    #[inline(always)]
    unsafe fn spread_by<R: Form, F: F64x4>(&self, groups: Range<usize>, r: &[f64], z: *mut f64) {
        for (g, r) in groups.zip(r.chunks_exact(reactions::<L>())) {
            // SAFETY: the caller's promise.
            unsafe {
                let r: [F; 3] = std::array::from_fn(|i| {
                    if i < L::ROWS { F::load(r[i * LANES..].as_ptr()) } else { F::splat(0.0) }
                });
                push::<R, F>(L::ROWS, self.group::<R>(g), self.touches(g), r, z);
            }
        }
    }

    /// # Safety
    /// As [`Kinds::sweep`].
    unsafe fn sweep_run(
        &self,
        run: &Run,
        first: usize,
        (q, r, kept): (&[f64], &mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        let all = run.places(L::ROWS);
        let mine = all.start - first..all.end - first;
        // SAFETY: the caller's promise.
        unsafe { self.sweep(run.groups.start, &q[all], (&mut r[mine.clone()], &mut kept[mine]), z) }
    }

    /// Sweeps the groups from `first` on whose reactions are `r`, and writes these to `kept` as
    /// well; returns Σ‖Δ‖².
    ///
    /// # Safety
    /// No other thread touches the places of these groups in `z` meanwhile, and they are
    /// [`Groups::within`] it.
    pub(crate) unsafe fn sweep(
        &self,
        first: usize,
        q: &[f64],
        r: (&mut [f64], &mut [f64]),
        z: *mut f64,
    ) -> f64 {
        let groups = first..first + q.len() / reactions::<L>();
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
        unsafe { self.sweep_by::<R, super::f64x4::Avx2>(groups, q, r, z) }
    }

    #[inline(always)]
    pub(super) unsafe fn sweep_by<R: Form, F: F64x4>(
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
        self.values.as_ptr().wrapping_add(g * group_size::<L, R>())
    }

    /// The coordinates that four contacts touch: those of their first bodies and of their second
    /// ones.
    ///
    /// # Safety
    /// Group `g` exists, its places are within z, nobody writes them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn touched<F: F64x4>(&self, g: usize, z: *const f64) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe { self.places.get_unchecked(g).touched(z) }
    }

    /// `û = q̂ + Ĵ z` of four contacts, from the coordinates that they touch.
    ///
    /// # Safety
    /// Group `g` exists, its rows are stored in this form, `q` holds its numbers, and the places
    /// are [`Groups::within`] some z.
    #[inline(always)]
    pub(crate) unsafe fn velocities<R: Form, F: F64x4>(
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
