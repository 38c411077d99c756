//! De Saxcé's shift of contacts in lanes, held for a few sweeps.
//!
//! Under Coulomb's law a contact sees `ũ_n = û_n + mû‖û_t‖`. With the shift `s = mû‖û_t‖` held in
//! q̂ the law is that of a cone, and a dual energy falls. To update it at a point:
//!
//! ```text
//!   s⁺ = mû ‖q̂_t + Ĵ_t z‖        q̂_n += s⁺ − s        Σ (s⁺ − s)²
//!   Σ (s⁺ − s) d_n  for each vector d that is asked for
//! ```
//!
//! One pass over the contacts, four at a time, subdomains and colours on the worker threads; sums
//! are added in the order of the subdomains.

use super::f64x4::{F64x4, LANES, Scalar, wide_enough};
use super::forms::Form;
use super::frames::in_form;
use super::kernel::{Colour, Groups, Run};
use super::laws::Cone;
pub(crate) use super::schedule::{Change, MAX_DIRECTIONS};
use super::schedule::{Lanes, Shared};
use crate::solve::parallel::WorkerGroup;

/// By place of r̂: the scaled mu on normal rows whose shift is lagged (else 0), q̂, and the shift
/// in it.
pub(crate) struct ShiftPlaces<'a> {
    pub mu: &'a [f64],
    pub q: &'a mut [f64],
    pub shift: &'a mut [f64],
}

/// The same for several threads, and what the change is multiplied with.
struct Places<'a> {
    z: &'a [f64],
    mu: &'a [f64],
    q: Shared,
    shift: Shared,
    along: &'a [&'a [f64]],
}

impl Lanes {
    /// Updates the lagged shift of contacts in lanes at the velocities `z`.
    pub(crate) fn update_shift(
        &mut self,
        z: &[f64],
        by_place: ShiftPlaces<'_>,
        along: &[&[f64]],
        workers: Option<&WorkerGroup>,
    ) -> Change {
        let mut changes = std::mem::take(&mut self.changes);
        let (schedule, length) = (&self.schedule, by_place.q.len());
        assert_eq!(self.lengths, Some((length, z.len())), "checked for these vectors");
        let ShiftPlaces { mu, q, shift } = by_place;
        assert!(
            mu.len() == length && shift.len() == length && along.len() <= MAX_DIRECTIONS,
            "one entry for each place"
        );
        assert!(along.iter().all(|d| d.len() == length), "every place exists");
        let places = Places { z, mu, q: Shared::of(q), shift: Shared::of(shift), along };
        let loose = || schedule.hubs.clone().chain(schedule.boundary.clone());
        let subdomains = &schedule.subdomains;
        let run = |unit: usize| {
            let colours = match subdomains.get(unit) {
                Some(subdomain) => &schedule.colours[subdomain.colours.clone()],
                None => std::slice::from_ref(
                    &schedule.colours
                        [loose().nth(unit - subdomains.len()).expect("a unit for each")],
                ),
            };
            let mut sum = Change::NONE;
            for Colour { cone, .. } in colours {
                // SAFETY: groups and places exist (checked); units are different contacts, so
                // different places.
                sum.add(&unsafe { update_shift(&schedule.kinds.cone, cone, &places) });
            }
            sum
        };
        changes.clear();
        changes.resize(subdomains.len() + loose().count(), Change::NONE);
        match workers {
            Some(workers) => {
                workers.chunks((&mut changes, &mut [(); 0]), (1, 1), |unit, change, _| {
                    change[0] = run(unit);
                })
            }
            None => changes.iter_mut().enumerate().for_each(|(unit, change)| *change = run(unit)),
        }
        let mut sum = Change::NONE;
        changes.iter().for_each(|change| sum.add(change));
        self.changes = changes;
        sum
    }
}

/// # Safety
/// The groups of the run exist, their places are [`Groups::within`] z and within the vectors of
/// `places`, and no other thread touches the latter.
unsafe fn update_shift(groups: &Groups<Cone>, run: &Run, places: &Places<'_>) -> Change {
    #[cfg(target_arch = "x86_64")]
    if wide_enough() {
        // SAFETY: the processor has AVX2 and FMA; the rest is the caller's promise.
        return in_form!(groups.storage(), R => unsafe { update_shift_wide::<R>(groups, run,
        places) });
    }
    // SAFETY: the caller's promise.
    in_form!(groups.storage(), R => unsafe { update_shift_by::<R, Scalar>(groups, run, places) })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn update_shift_wide<R: Form>(
    groups: &Groups<Cone>,
    run: &Run,
    places: &Places<'_>,
) -> Change {
    // SAFETY: the caller's promise.
    unsafe { update_shift_by::<R, super::f64x4::Avx2>(groups, run, places) }
}

#[inline(always)]
unsafe fn update_shift_by<R: Form, F: F64x4>(
    groups: &Groups<Cone>,
    run: &Run,
    places: &Places<'_>,
) -> Change {
    // SAFETY: the caller's promise.
    unsafe {
        let zero = F::splat(0.0);
        let (mut square, mut along) = (zero, [zero; MAX_DIRECTIONS]);
        for (g, at) in run.groups.clone().zip((run.at..).step_by(3 * LANES)) {
            let (q, shift) = (places.q.start().add(at), places.shift.start().add(at));
            let u: [F; 3] = groups.velocities::<R, F>(g, q, &groups.touched(g, places.z.as_ptr()));
            let new =
                F::load(places.mu.as_ptr().add(at)).mul(u[1].mul(u[1]).add(u[2].mul(u[2])).sqrt());
            let change = new.sub(F::load(shift));
            new.store(shift);
            F::load(q).add(change).store(q);
            square = change.mul_add(change, square);
            for (sum, d) in along.iter_mut().zip(places.along) {
                *sum = change.mul_add(F::load(d.as_ptr().add(at)), *sum);
            }
        }
        let total = |x: F| {
            let mut lanes = [0.0; LANES];
            x.store(lanes.as_mut_ptr());
            (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
        };
        let mut change = Change { energy: 0.5 * total(square), ..Change::NONE };
        for (sum, x) in change.along.iter_mut().zip(along).take(places.along.len()) {
            *sum = total(x);
        }
        change
    }
}
