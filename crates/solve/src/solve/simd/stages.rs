//! The order of a sweep: each group of lanes goes through four stages, and four groups are under
//! way, one in each stage.
//!
//! ```text
//!   read û (group i)      take the root (i − 1)      find r̂⁺ (i − 2)      move z (i − 3)
//! ```
//!
//! The processor has something to do while numbers, roots and quotients are on their way: loads,
//! products and shuffles of different stages are mixed. All of it is inlined into the functions of
//! [`super::kernel`] that are compiled for the vectors of the machine.

use super::LINE;
use super::f64x4::{F64x4, LANES};
use super::forms::{Bodies, Form, Pairs, push};
use super::laws::Local;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Numbers of a group of lanes in this form.
#[inline(always)]
pub(crate) fn group_size<L: Local, R: Form>() -> usize {
    (R::numbers(L::ROWS) + L::PARAMETERS) * LANES
}

/// Reactions of a group of lanes.
#[inline(always)]
pub(crate) const fn reactions<L: Local>() -> usize {
    L::ROWS * LANES
}

/// Stages of a group of lanes, one of them in each step of the loop.
pub(crate) const STAGES: usize = 4;

/// The rows of the group so many steps ahead are asked for, line by line: what the processor asks
/// for by itself ends with each page.
const PREFETCH_GROUPS: usize = 4;

/// Where a sweep over `count` groups of lanes finds everything. Handed on by value, so that the
/// compiler sees that nothing changes it.
#[derive(Clone, Copy)]
pub(crate) struct Sweep<L, R, F> {
    pub values: *const f64,
    pub places: *const Pairs,
    /// What [`super::kernel::Groups`] keeps with the bodies.
    pub bodies: *const f64,
    pub count: usize,
    pub q: *const f64,
    pub r: *mut f64,
    /// Where reactions are written as well.
    pub kept: *mut f64,
    pub z: *mut f64,
    pub kind: PhantomData<(L, R, F)>,
}

/// What the groups under way hand from stage to stage: written before it is read.
type Held<F> = [[MaybeUninit<F>; 4]; STAGES];

/// What all of it relies on is said at [`super::kernel::Groups::sweep`].
impl<L: Local, R: Form, F: F64x4> Sweep<L, R, F> {
    /// Sweeps all groups; returns Σ Δ², lane by lane.
    #[inline(always)]
    pub(crate) unsafe fn run(self) -> F {
        // SAFETY: the caller's promise.
        unsafe {
            let (mut held, mut sum) =
                ([const { [MaybeUninit::uninit(); 4] }; STAGES], F::splat(0.0));
            for step in 0..STAGES - 1 {
                sum = self.step::<false>(step, &mut held, sum);
            }
            for step in STAGES - 1..self.count {
                sum = self.step::<true>(step, &mut held, sum);
            }
            for step in self.count.max(STAGES - 1)..self.count + STAGES - 1 {
                sum = self.step::<false>(step, &mut held, sum);
            }
            sum
        }
    }

    /// A stage of each group under way, the oldest first; `ALL` are, but for the first and last
    /// steps. What a group touches is its own: that a younger one is read before an older one has
    /// moved z is no matter (hub bodies apart). Returns the sum with Δ² added.
    #[inline(always)]
    unsafe fn step<const ALL: bool>(self, step: usize, held: &mut Held<F>, mut sum: F) -> F {
        // SAFETY: the caller's promise.
        unsafe {
            if ALL || step >= 3 {
                self.push(step - 3, held);
            }
            if ALL || (2..self.count + 2).contains(&step) {
                sum = self.finish(step - 2, held, sum);
            }
            if ALL || (1..self.count + 1).contains(&step) {
                self.begin(step - 1, held);
            }
            if ALL || step < self.count {
                self.read(step, held);
            }
            sum
        }
    }

    /// Local velocities.
    #[inline(always)]
    unsafe fn read(self, i: usize, held: &mut Held<F>) {
        // SAFETY: the caller's promise.
        unsafe {
            for line in (0..group_size::<L, R>()).step_by(LINE) {
                F::prefetch(self.group(i + PREFETCH_GROUPS).wrapping_add(line));
            }
            for line in (0..reactions::<L>()).step_by(LINE) {
                F::prefetch(
                    self.kept.wrapping_add((i + PREFETCH_GROUPS) * reactions::<L>() + line),
                );
            }
            let bodies = self.bodies(i);
            let touched = bodies.places.touched(self.z);
            hold(
                held,
                i,
                R::velocities(
                    L::ROWS,
                    self.group(i),
                    self.q.add(i * reactions::<L>()),
                    bodies,
                    &touched,
                ),
            );
        }
    }

    /// The first half of the local solution.
    #[inline(always)]
    unsafe fn begin(self, i: usize, held: &mut Held<F>) {
        // SAFETY: the caller's promise.
        unsafe {
            let begun = L::begin(self.parameters(i), self::held(held, i), self.reactions(i));
            for (held, x) in held[i % STAGES].iter_mut().zip(begun) {
                held.write(x);
            }
        }
    }

    /// The second half: new reactions, and their change.
    #[inline(always)]
    unsafe fn finish(self, i: usize, held: &mut Held<F>, mut sum: F) -> F {
        // SAFETY: the caller's promise.
        unsafe {
            let [a, b, c] = self::held(held, i);
            let old = self.reactions(i);
            let new =
                L::finish(self.parameters(i), [a, b, c, held[i % STAGES][3].assume_init()], old);
            let at = i * reactions::<L>();
            let mut change = [F::splat(0.0); 3];
            for j in 0..L::ROWS {
                new[j].store(self.r.add(at + j * LANES));
                new[j].store(self.kept.add(at + j * LANES));
                change[j] = new[j].sub(old[j]);
                sum = change[j].mul_add(change[j], sum);
            }
            hold(held, i, change);
            sum
        }
    }

    /// What the change moves.
    #[inline(always)]
    unsafe fn push(self, i: usize, held: &Held<F>) {
        // SAFETY: the caller's promise.
        unsafe { push::<R, F>(L::ROWS, self.group(i), self.bodies(i), self::held(held, i), self.z) }
    }

    #[inline(always)]
    unsafe fn bodies(self, i: usize) -> Bodies {
        // SAFETY: the caller's promise.
        Bodies { table: self.bodies, places: unsafe { *self.places.add(i) } }
    }

    #[inline(always)]
    fn group(self, i: usize) -> *const f64 {
        self.values.wrapping_add(i * group_size::<L, R>())
    }

    #[inline(always)]
    fn parameters(self, i: usize) -> *const f64 {
        self.group(i).wrapping_add(R::numbers(L::ROWS) * LANES)
    }

    #[inline(always)]
    unsafe fn reactions(self, i: usize) -> [F; 3] {
        // SAFETY: the caller's promise.
        unsafe {
            let r = self.r.add(i * reactions::<L>());
            let mut out = [F::splat(0.0); 3];
            for (j, out) in out.iter_mut().enumerate().take(L::ROWS) {
                *out = F::load(r.add(j * LANES));
            }
            out
        }
    }
}

#[inline(always)]
fn hold<F: F64x4>(held: &mut Held<F>, i: usize, x: [F; 3]) {
    for (held, x) in held[i % STAGES].iter_mut().zip(x) {
        held.write(x);
    }
}

/// # Safety
/// The stage before has written them.
#[inline(always)]
unsafe fn held<F: F64x4>(held: &Held<F>, i: usize) -> [F; 3] {
    let held = &held[i % STAGES];
    // SAFETY: the caller's promise.
    unsafe { [held[0].assume_init(), held[1].assume_init(), held[2].assume_init()] }
}
