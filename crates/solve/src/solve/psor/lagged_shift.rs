//! De Saxcé's shift, held for a few sweeps.
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

#![allow(unsafe_code)]

use super::gram::MAX_DIFFERENCES;
use super::kernel::Groups;
use super::parallel::Shared;

use super::laws::Cone;
use super::rows::{Form, in_form};
use super::simd::{F64x4, LANES, Scalar, wide_enough};
use super::system::{Colour, Run, State, System};
use crate::problem::law::tangent_norm;

/// Vectors that may be asked for: a point, and the differences that led to it.
pub(super) const MAX_DIRECTIONS: usize = MAX_DIFFERENCES + 1;

/// What an update has changed: the energy of the change, and its products with the vectors asked
/// for.
#[derive(Clone, Copy)]
pub(super) struct Change {
    /// ½ Σ (s⁺ − s)², J.
    pub energy: f64,
    pub along: [f64; MAX_DIRECTIONS],
}

impl Change {
    const NONE: Change = Change { energy: 0.0, along: [0.0; MAX_DIRECTIONS] };

    fn add(&mut self, other: &Change) {
        self.energy += other.energy;
        self.along.iter_mut().zip(&other.along).for_each(|(sum, x)| *sum += x);
    }
}

/// Places of r̂ by which the shift is kept, and what its change is multiplied with.
struct Places<'a> {
    z: &'a [f64],
    mu: &'a [f64],
    q: Shared,
    shift: Shared,
    along: &'a [&'a [f64]],
}

impl System {
    /// Updates the lagged shift at the point `x`.
    pub(super) fn update_shift(&mut self, x: &State, along: &[&[f64]]) -> Change {
        let mut change = self.update_shift_of_lanes(&x.z, along);
        change.add(&self.update_shift_of_singles(x, along));
        change
    }

    /// Blocks that are swept alone.
    fn update_shift_of_singles(&mut self, x: &State, along: &[&[f64]]) -> Change {
        let mut sum = Change::NONE;
        for i in 0..self.singles.len() {
            let at = self.singles[i].at;
            if self.sliding[at] > 0.0 {
                let new = self.sliding[at]
                    * tangent_norm(
                        &self.velocities(&self.singles[i], x)[..self.singles[i].law.rows()],
                    );
                let change = new - self.shift[at];
                self.shift[at] = new;
                self.q[at] += change;
                sum.energy += 0.5 * change * change;
                sum.along.iter_mut().zip(along).for_each(|(sum, d)| *sum += change * d[at]);
            }
        }
        sum
    }

    /// Blocks in lanes.
    fn update_shift_of_lanes(&mut self, z: &[f64], along: &[&[f64]]) -> Change {
        let System {
            kinds,
            colours,
            q,
            sliding,
            shift,
            subdomains,
            hubs,
            boundary,
            changes,
            workers,
            ..
        } = self;
        let loose = || hubs.clone().chain(boundary.clone());
        let length = q.len();
        assert!(
            sliding.len() == length && shift.len() == length && along.len() <= MAX_DIRECTIONS,
            "one entry for each place"
        );
        assert!(
            along.iter().all(|d| d.len() == length) && kinds.cone.within(z.len()),
            "every place exists"
        );
        let places = Places { z, mu: sliding, q: Shared::of(q), shift: Shared::of(shift), along };
        let run = |unit: usize| {
            let colours = match subdomains.get(unit) {
                Some(subdomain) => &colours[subdomain.colours.clone()],
                None => std::slice::from_ref(
                    &colours[loose().nth(unit - subdomains.len()).expect("a unit for each")],
                ),
            };
            let mut sum = Change::NONE;
            for Colour { cone, .. } in colours {
                assert!(cone.places(3).end <= length && cone.groups.end <= kinds.cone.len());
                // SAFETY: groups and places exist (checked here and above); units are different
                // contacts, so different places.
                sum.add(&unsafe { update_shift(&kinds.cone, cone, &places) });
            }
            sum
        };
        changes.clear();
        changes.resize(subdomains.len() + loose().count(), Change::NONE);
        match workers {
            Some(workers) => workers
                .chunks((changes, &mut [(); 0]), (1, 1), |unit, change, _| change[0] = run(unit)),
            None => changes.iter_mut().enumerate().for_each(|(unit, change)| *change = run(unit)),
        }
        let mut sum = Change::NONE;
        changes.iter().for_each(|change| sum.add(change));
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
    unsafe { update_shift_by::<R, super::simd::Avx2>(groups, run, places) }
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

#[cfg(test)]
mod tests {
    use crate::problem::{Law, PreparedProblem, Solution};
    use crate::solve::psor::build::Scratch;
    use crate::solve::psor::system::{State, Sweeps, System};
    use crate::solve::psor::tests::ring;
    use crate::solve::psor::{Local, Settings};

    #[test]
    fn the_lagged_shift_is_that_of_the_velocities() {
        // Lanes, and contacts of one hub that are swept alone.
        let law = Law::Coulomb { mu: 0.6, rows: 3 };
        let mut problem = ring(400, law, 9);
        for b in 1..200u32 {
            let columns: Vec<u32> = (0..6).chain(6 * b..6 * b + 6).collect();
            let values: Vec<f64> = (0..36).map(|i| (0.7 * f64::from(i * b)).sin()).collect();
            problem.J.push(3, &columns, &values);
            problem.laws.push(law);
            problem.E.extend([0.0; 3]);
            problem.w.extend([0.1, -0.2, 0.3]);
        }
        let mut prepared = PreparedProblem::of(&problem).unwrap();
        let settings = Settings { local: Local::Lagged, ..Settings::default() };
        let (mut system, mut x) = (System::default(), State::default());
        system.set(&problem, prepared.factor(), &settings, &mut Scratch::default());
        assert!(system.singles.len() > 50 && system.kinds.cone.len() > 50);
        let r: Vec<f64> = (0..problem.rows()).map(|i| (1.3 * i as f64).sin()).collect();
        system.zero(&mut x);
        system.places.collapse(&r, &mut x.r);
        system.refresh(&mut x);
        let mut solution = Solution { v: problem.k.clone(), r };
        problem.J.add_transposed(&solution.r, &mut solution.v);
        prepared.factor().solve(&mut solution.v);
        let mut u = vec![0.0; problem.rows()];
        problem.local_velocities(&solution.v, &solution.r, &mut u);
        let q = system.q.clone();
        let first = system.update_shift(&x, &[&x.r]);
        let (mut energy, mut along) = (0.0, 0.0);
        for place in 0..system.places.row.len() {
            let (row, s) = (system.places.row[place] as usize, system.places.scale[place]);
            let normal = row < u.len() && problem.J.row_starts.contains(&row);
            let shift = if normal { 0.6 * u[row + 1].hypot(u[row + 2]) * s } else { 0.0 };
            // Sums of some hundred terms of order ten.
            assert!(
                (system.shift[place] - shift).abs() < 1e-11 * (1.0 + shift),
                "{place}: {} {shift}",
                system.shift[place]
            );
            assert!((system.q[place] - q[place] - shift).abs() < 1e-11 * (1.0 + shift));
            (energy, along) = (energy + 0.5 * shift * shift, along + shift * x.r[place]);
        }
        assert!(energy > 1.0 && (first.energy - energy).abs() < 1e-10 * energy);
        assert!((first.along[0] - along).abs() < 1e-10 * energy);
        // Updated again at the same point nothing changes.
        let second = system.update_shift(&x, &[&x.r]);
        assert!(second.energy < 1e-26 * energy && second.along[0].abs() < 1e-12 * energy);
    }
}
