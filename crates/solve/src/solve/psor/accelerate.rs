//! Extrapolation between sweeps: the least energy over the last few differences.
//!
//! z is affine in r̂, so that the dual energy `φ = ½ z·z + q̂·r̂` over the span of stored
//! differences `(p_i, q_i) = (Δr̂, Δz)` needs dot products alone:
//!
//! 1. The sweep from y leaves x⁺.
//! 2. If y was extrapolated and φ rose above the last accepted point's (or, where φ only changes by
//!    rounding, the sweep's estimate did): go back there, forget all differences.
//! 3. Else store `x⁺ − x`, add a row to the Gram matrix `A_ij = q_i·q_j`, and accept x⁺.
//! 4. `A γ = b`, `b_i = q_i·z⁺ + q̂·p_i`; the next sweep starts from `y = x⁺ − Σ γ_i (p_i, q_i)`.
//!
//! y may leave the cones; the sweep brings it back. Projecting y would double the number of sweeps.
//! Steps 2 and 3 are one pass over r̂ and z, step 4 another.
//!
//! Where no energy falls (Coulomb's law, W that is not symmetric) [`Anderson`]'s method takes its
//! place: with `f = G(y) − y` the change of one sweep, keep the last differences Δf and ΔG,
//! minimise `‖f − Σ γ_i Δf_i‖` and go on from `G(y) − Σ γ_i ΔG_i` (type II). A sweep whose change
//! is larger than that of the last accepted one ends the extrapolation: the next starts from the
//! accepted point.

use super::Acceleration;
use super::state::{State, Sweeps, listed};
use crate::math::dense::{cholesky, cholesky_solve};
use crate::solve::parallel::passes::{MAX_DIFFERENCES, Passes, Products, Vector};
use crate::solve::simd::Aligned;
use crate::solve::simd::shift::MAX_DIRECTIONS;

/// What happens between two sweeps.
#[derive(Default)]
pub(super) enum Accelerator {
    #[default]
    Nothing,
    Subspace(Box<Subspace>),
    Anderson(Box<Anderson>),
}

impl Accelerator {
    /// Begins anew at the point x, in the memory at hand if the method is the same.
    pub(super) fn start(&mut self, wanted: Acceleration, x: &State, system: &impl Sweeps) {
        let same = match (&*self, wanted) {
            (Accelerator::Nothing, Acceleration::None) => true,
            (Accelerator::Subspace(s), Acceleration::Subspace { depth }) => s.depth() == depth,
            (Accelerator::Anderson(a), Acceleration::Anderson { depth }) => a.depth() == depth,
            _ => false,
        };
        if !same {
            *self = match wanted {
                Acceleration::None => Accelerator::Nothing,
                Acceleration::Auto => Accelerator::Subspace(Box::new(Subspace::new(5))),
                Acceleration::Subspace { depth } => {
                    Accelerator::Subspace(Box::new(Subspace::new(depth)))
                }
                Acceleration::Anderson { depth } => {
                    Accelerator::Anderson(Box::new(Anderson::new(depth)))
                }
            };
        }
        match self {
            Accelerator::Nothing => {}
            Accelerator::Subspace(subspace) => subspace.start(x, system),
            Accelerator::Anderson(anderson) => anderson.start(x, system),
        }
    }

    /// Replaces the output of a sweep by the start of the next; false if the sweep was lost.
    pub(super) fn advance(&mut self, y: &mut State, estimate: f64, system: &impl Sweeps) -> bool {
        match self {
            Accelerator::Nothing => true,
            Accelerator::Subspace(subspace) => subspace.advance(y, estimate, system),
            Accelerator::Anderson(anderson) => anderson.advance(y, estimate),
        }
    }
}

/// Updates the lagged shift at `y`; the energy of its change, none if there is no shift.
pub(super) fn update_shift<S: Sweeps>(
    system: &mut S,
    y: &State,
    accelerator: &mut Accelerator,
) -> Option<f64> {
    let Accelerator::Subspace(subspace) = accelerator else {
        return system.update_shift(y, &[]).map(|change| change.energy);
    };
    let mut along = [&[][..]; MAX_DIRECTIONS];
    let count =
        along.iter_mut().zip(subspace.along()).map(|(place, vector)| *place = vector).count();
    let change = system.update_shift(y, &along[..count])?;
    subspace.shift_slopes(&change.along[..count]);
    Some(change.energy)
}

/// A rise of φ that is rounding, and a change that may be, both relative to φ.
const ROUNDING: f64 = 1e-14;
const NEGLIGIBLE_DIFFERENCE: f64 = 1e-12;

/// How far the estimate may lie above the least so far where φ is silent; a sweep of Anderson's
/// method may change this much more than the last accepted one.
const MAX_ESTIMATE_GROWTH: f64 = 2.0;

/// The last accepted point and the differences that led to it.
pub(super) struct Subspace {
    /// The last accepted point.
    x: State,
    phi: f64,
    /// The least estimate so far.
    least: f64,
    /// True if the point being swept was extrapolated.
    extrapolated: bool,
    pairs: Vec<State>,
    gram: Gram,
    passes: Passes,
}

impl Subspace {
    /// Differences of at most `depth` sweeps.
    fn new(depth: usize) -> Subspace {
        let gram = Gram::new(depth);
        let mut pairs = Vec::new();
        pairs.resize_with(gram.places(), State::default);
        Subspace {
            x: State::default(),
            phi: 0.0,
            least: f64::INFINITY,
            extrapolated: false,
            pairs,
            gram,
            passes: Passes::default(),
        }
    }

    fn depth(&self) -> usize {
        self.gram.depth()
    }

    /// Begins anew at the point x.
    fn start(&mut self, x: &State, system: &impl Sweeps) {
        self.x.set(x);
        self.pairs.iter_mut().for_each(|pair| pair.set(x));
        (self.phi, self.least, self.extrapolated) = (system.energy(x), f64::INFINITY, false);
        self.gram.clear();
        system.share(&mut self.passes);
    }

    /// The reactions along which a change of q̂ must be known: those of the last accepted point,
    /// then the differences in use.
    fn along(&self) -> impl Iterator<Item = &[f64]> {
        std::iter::once(&self.x.r[..])
            .chain(self.gram.used().iter().map(|&place| &self.pairs[place].r[..]))
    }

    /// q̂ has changed, and so have the energy and the slopes: by this much [`Subspace::along`]
    /// each.
    fn shift_slopes(&mut self, change: &[f64]) {
        self.phi += change[0];
        self.least = f64::INFINITY;
        self.gram.shift_slopes(&change[1..]);
    }

    /// Takes the output `y` of a sweep and replaces it by the start of the next; false if the sweep
    /// was lost.
    fn advance(&mut self, y: &mut State, estimate: f64, system: &impl Sweeps) -> bool {
        let place = self.gram.free();
        let mut pair = std::mem::take(&mut self.pairs[place]);
        // φ(x⁺) − φ(x) = c + q·z⁺ − ½ q·q, without the cancellation of the two energies.
        let products = system.difference(
            &mut pair,
            (y, &self.x),
            (self.gram.used(), &self.pairs),
            &mut self.passes,
        );
        self.pairs[place] = pair;
        let change = products.slope - 0.5 * products.square;
        // Below the rounding of φ its change says nothing: then the sweep's own estimate must not
        // grow.
        let silent = change.abs() <= NEGLIGIBLE_DIFFERENCE * self.phi.abs();
        let rose = change.is_nan()
            || change > ROUNDING * self.phi.abs()
            || (silent && estimate > MAX_ESTIMATE_GROWTH * self.least);
        if self.extrapolated && rose {
            y.copy(&self.x, &mut self.passes);
            self.gram.clear();
            self.extrapolated = false;
            return false;
        }
        self.phi += change;
        self.least = self.least.min(estimate);
        std::mem::swap(&mut self.x, y);
        self.gram.take(place, &products);
        let count = self.gram.factors().len();
        self.extrapolated = count > 0;
        let places = &self.gram.used()[..count];
        y.combine(&self.x, (self.gram.found(), places), &self.pairs, &mut self.passes);
        true
    }
}

/// The last accepted sweep and the differences before it.
pub(super) struct Anderson {
    /// Where the present sweep started, and the last accepted output.
    start: Aligned,
    accepted: State,
    /// The change of the last accepted sweep, if there was one, and that of the present one.
    change: Aligned,
    present: Aligned,
    begun: bool,
    estimate: f64,
    extrapolated: bool,
    /// Differences of outputs and of changes.
    outputs: Vec<State>,
    changes: Vec<Aligned>,
    gram: Gram,
    passes: Passes,
}

impl Anderson {
    /// Differences of at most `depth` sweeps.
    fn new(depth: usize) -> Anderson {
        let gram = Gram::new(depth);
        let (mut outputs, mut changes) = (Vec::new(), Vec::new());
        outputs.resize_with(gram.places(), State::default);
        changes.resize_with(gram.places(), Aligned::default);
        Anderson {
            start: Aligned::default(),
            accepted: State::default(),
            change: Aligned::default(),
            present: Aligned::default(),
            begun: false,
            estimate: f64::INFINITY,
            extrapolated: false,
            outputs,
            changes,
            gram,
            passes: Passes::default(),
        }
    }

    fn depth(&self) -> usize {
        self.gram.depth()
    }

    /// Begins anew at the point x.
    fn start(&mut self, x: &State, system: &impl Sweeps) {
        self.accepted.set(x);
        self.outputs.iter_mut().for_each(|output| output.set(x));
        for vector in
            self.changes.iter_mut().chain([&mut self.start, &mut self.change, &mut self.present])
        {
            vector.set(&x.r);
        }
        (self.begun, self.estimate, self.extrapolated) = (false, f64::INFINITY, false);
        self.gram.clear();
        system.share(&mut self.passes);
    }

    /// Takes the output `y` of a sweep and replaces it by the start of the next; false if the sweep
    /// was lost.
    fn advance(&mut self, y: &mut State, estimate: f64) -> bool {
        if self.extrapolated
            && (estimate.is_nan() || estimate > MAX_ESTIMATE_GROWTH * self.estimate)
        {
            y.copy(&self.accepted, &mut self.passes);
            self.start.copy_from_slice(&y.r);
            self.gram.clear();
            (self.begun, self.extrapolated) = (false, false);
            return false;
        }
        let passes = &mut self.passes;
        passes.over(Vector::R).difference(&mut self.present, (&y.r, &self.start), &[], &[]);
        if self.begun {
            let place = self.gram.free();
            let output = &mut self.outputs[place];
            passes.over(Vector::R).difference(&mut output.r, (&y.r, &self.accepted.r), &[], &[]);
            passes.over(Vector::Z).difference(&mut output.z, (&y.z, &self.accepted.z), &[], &[]);
            passes.over(Vector::Other).difference(
                &mut output.p,
                (&y.p, &self.accepted.p),
                &[],
                &[],
            );
            let mut new = std::mem::take(&mut self.changes[place]);
            let used = self.gram.used();
            let others = listed(used, |p| &self.changes[p]);
            let products = passes.over(Vector::R).difference(
                &mut new,
                (&self.present, &self.change),
                &self.present,
                &others[..used.len()],
            );
            self.changes[place] = new;
            self.gram.take(place, &products);
        }
        std::mem::swap(&mut self.change, &mut self.present);
        self.begun = true;
        self.estimate = estimate;
        std::mem::swap(&mut self.accepted, y);
        let count = self.gram.factors().len();
        self.extrapolated = count > 0;
        let places = &self.gram.used()[..count];
        let found = (self.gram.found(), places);
        y.combine(&self.accepted, found, &self.outputs, &mut self.passes);
        self.start.copy_from_slice(&y.r);
        true
    }
}

/// What is added to the unit diagonal of the Gram matrix; the counts do not change from 1e-13 to
/// 1e-4.
const RIDGE: f64 = 1e-10;

/// Places, products and slopes of the differences in use.
struct Gram {
    depth: usize,
    /// Places in use, oldest first.
    used: Vec<usize>,
    products: Vec<f64>,
    slopes: Vec<f64>,
    matrix: Vec<f64>,
    factors: Vec<f64>,
}

impl Gram {
    fn new(depth: usize) -> Gram {
        let depth = depth.clamp(1, MAX_DIFFERENCES);
        let wide = depth + 1;
        Gram {
            depth,
            used: Vec::with_capacity(wide),
            products: vec![0.0; wide * wide],
            slopes: vec![0.0; wide],
            matrix: Vec::with_capacity(depth * depth),
            factors: Vec::with_capacity(depth),
        }
    }

    /// The most differences that are kept.
    fn depth(&self) -> usize {
        self.depth
    }

    /// Number of places: one more than the differences that are kept.
    fn places(&self) -> usize {
        self.depth + 1
    }

    /// Places in use, oldest first.
    fn used(&self) -> &[usize] {
        &self.used
    }

    /// A place that is free.
    fn free(&self) -> usize {
        (0..=self.depth).find(|s| !self.used.contains(s)).expect("one place is free")
    }

    fn clear(&mut self) {
        self.used.clear();
    }

    /// Takes the difference at `place`; the point has moved along it, and the slopes with it. One
    /// of no length means that nothing moves any more: the same differences would lead to the same
    /// start for ever, so all are forgotten.
    fn take(&mut self, place: usize, new: &Products) {
        if !(new.square > 0.0 && new.square.is_finite()) {
            self.used.clear();
            return;
        }
        let wide = self.depth + 1;
        for (&other, &product) in self.used.iter().zip(&new.others) {
            self.products[place * wide + other] = product;
            self.products[other * wide + place] = product;
            self.slopes[other] += product;
        }
        self.products[place * wide + place] = new.square;
        self.slopes[place] = new.slope;
        if self.used.len() == self.depth {
            self.used.remove(0);
        }
        self.used.push(place);
    }

    /// The slopes have changed by this much along each of the differences in use.
    fn shift_slopes(&mut self, change: &[f64]) {
        for (&place, change) in self.used.iter().zip(change) {
            self.slopes[place] += change;
        }
    }

    /// What [`Gram::factors`] found last.
    fn found(&self) -> &[f64] {
        &self.factors
    }

    /// The factors of the differences in use (in their order) that take the slopes away; none if
    /// there are none.
    fn factors(&mut self) -> &[f64] {
        let (wide, m) = (self.depth + 1, self.used.len());
        let product = |i: usize, j: usize| self.products[self.used[i] * wide + self.used[j]];
        let scale = |i: usize| 1.0 / product(i, i).sqrt();
        self.matrix.clear();
        self.factors.clear();
        for i in 0..m {
            self.factors.push(scale(i) * self.slopes[self.used[i]]);
            for j in 0..m {
                self.matrix
                    .push(product(i, j) * scale(i) * scale(j) + if i == j { RIDGE } else { 0.0 });
            }
        }
        if cholesky(m, &mut self.matrix).is_err() {
            self.factors.clear();
            return &self.factors;
        }
        cholesky_solve(m, &self.matrix, &mut self.factors);
        for i in 0..m {
            self.factors[i] *= scale(i);
        }
        &self.factors
    }
}
