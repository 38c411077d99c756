//! The local problem of four contacts at once: new reactions from local velocities and old
//! reactions.
//!
//! * [`Bounds`] (one row): `r⁺ = min(max(r − step u, lo), hi)`.
//! * [`Cone`]: one projected step, `r⁺ = Π(r − step u)`.
//! * [`Coulomb`]: the exact solution of the block alone, as [`crate::solve::local`] finds it one by
//!   one. With the normal row eliminated,
//!
//! ```text
//!   f = W_tn / W_nn,   S = W_tt − f W_nn fᵀ,   g = u_n / W_nn − r_n − f·r_t,   b = u_t − f u_n − S r_t
//!   open:   g ≥ 0                r = 0
//!   stick:  t = −S⁻¹ b           n = −g − f·t              if ‖t‖ ≤ mu n
//!   slip:   t = −(S + l I)⁻¹ b   T(l) = ‖t‖ + mu f·t = −mu g
//! ```
//!
//! l > 0 is found by Newton's method on 1/T, which is exact in one step if S is a multiple of I
//! (spheres), within a bracket.

use super::f64x4::{F64x4, LANES};

/// The local problem of a block.
pub(crate) trait Local: Copy {
    /// Rows of a block.
    const ROWS: usize;
    /// Numbers that a block brings beside its rows.
    const PARAMETERS: usize;
    /// What the new reactions need of the local velocities and the old reactions: half of the work,
    /// so that two groups can be under way.
    ///
    /// # Safety
    /// `parameters` are four blocks' parameters, lane by lane; the processor has what F needs.
    #[inline(always)]
    unsafe fn begin<F: F64x4>(_parameters: *const f64, u: [F; 3], _old: [F; 3]) -> [F; 4] {
        [u[0], u[1], u[2], u[0]]
    }
    /// New reactions from that and the old ones.
    ///
    /// # Safety
    /// As [`Local::begin`].
    unsafe fn finish<F: F64x4>(parameters: *const f64, begun: [F; 4], old: [F; 3]) -> [F; 3];
}

/// One row with bounds on its reaction: lo, hi, step.
#[derive(Clone, Copy)]
pub(crate) struct Bounds;

/// Friction as a cone: mu, 1/(1 + mu²), step.
#[derive(Clone, Copy)]
pub(crate) struct Cone;

/// Coulomb's law: mu, 1/W_nn, f (2), S (3).
#[derive(Clone, Copy)]
pub(crate) struct Coulomb;

/// The parameters of a contact under Coulomb's law, from its block of W; nothing moves it if the
/// block is zero.
pub(crate) fn coulomb_parameters(mu: f64, w: &[f64]) -> [f64; 7] {
    if w[0] <= 0.0 {
        return [mu, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0];
    }
    let (f1, f2) = (w[3] / w[0], w[6] / w[0]);
    [mu, 1.0 / w[0], f1, f2, w[4] - f1 * w[1], w[5] - f1 * w[2], w[8] - f2 * w[2]]
}

/// Four values of the parameter number `i`.
///
/// # Safety
/// As [`Local::begin`].
#[inline(always)]
unsafe fn parameter<F: F64x4>(parameters: *const f64, i: usize) -> F {
    // SAFETY: the caller's promise.
    unsafe { F::load(parameters.add(i * LANES)) }
}

impl Local for Bounds {
    const ROWS: usize = 1;
    const PARAMETERS: usize = 3;

    #[inline(always)]
    unsafe fn finish<F: F64x4>(parameters: *const f64, u: [F; 4], old: [F; 3]) -> [F; 3] {
        // SAFETY: the caller's promise.
        let [lo, hi, step] = [0, 1, 2].map(|i| unsafe { parameter::<F>(parameters, i) });
        let x = old[0].sub(u[0].mul(step));
        let x = lo.where_le(x, x, lo);
        [hi.where_le(x, hi, x), old[1], old[2]]
    }
}

impl Local for Cone {
    const ROWS: usize = 3;
    const PARAMETERS: usize = 3;

    #[inline(always)]
    unsafe fn begin<F: F64x4>(parameters: *const f64, u: [F; 3], old: [F; 3]) -> [F; 4] {
        // SAFETY: the caller's promise.
        let step = unsafe { parameter::<F>(parameters, 2) };
        let (n, a, b) = (
            old[0].minus_product(u[0], step),
            old[1].minus_product(u[1], step),
            old[2].minus_product(u[2], step),
        );
        [n, a, b, a.mul_add(a, b.mul(b)).sqrt()]
    }

    #[inline(always)]
    unsafe fn finish<F: F64x4>(parameters: *const f64, [n, a, b, t]: [F; 4], _: [F; 3]) -> [F; 3] {
        // SAFETY: the caller's promise.
        let [mu, inverse] = [0, 1].map(|i| unsafe { parameter::<F>(parameters, i) });
        // SAFETY: F was made above.
        let (zero, one, tiny) =
            unsafe { (F::splat(0.0), F::splat(1.0), F::splat(f64::MIN_POSITIVE)) };
        // Inside the cone as it is, else the nearest point of the surface; inside the polar cone
        // that is the tip, also where t is zero.
        let s = mu.mul_add(t, n).mul(inverse).at_least(zero);
        let stretch = mu.mul(s).div(t.at_least(tiny));
        let edge = mu.mul(n);
        let factor = one.where_le(stretch, t, edge);
        // At mu = 0 and t = 0 the edge says nothing of the sign of n.
        [n.at_least(zero).where_le(s, t, edge), a.mul(factor), b.mul(factor)]
    }
}

/// Newton steps at most; three or four are usual, and each round of a bracket halves it.
const MAX_NEWTON_STEPS: usize = 40;

/// T is met to this part of it: a hundred rounding errors of its terms, which may cancel; the last
/// step of Newton's method leaves less.
const ROOT_TOLERANCE: f64 = 1e-13;

/// The block with its normal row eliminated.
#[derive(Clone, Copy)]
struct Slip<F> {
    mu: F,
    f: [F; 2],
    s: [F; 3],
    b: [F; 2],
}

impl<F: F64x4> Slip<F> {
    /// `(S + l I)⁻¹ x`.
    #[inline(always)]
    fn inverse(&self, l: F, x: [F; 2], one: F) -> [F; 2] {
        let (a, c, e) = (self.s[0].add(l), self.s[1], self.s[2].add(l));
        let inverse = one.div(a.mul(e).sub(c.mul(c)));
        [e.mul(x[0]).sub(c.mul(x[1])).mul(inverse), a.mul(x[1]).sub(c.mul(x[0])).mul(inverse)]
    }

    /// `f·t`.
    #[inline(always)]
    fn along(&self, t: [F; 2]) -> F {
        self.f[0].mul(t[0]).add(self.f[1].mul(t[1]))
    }

    /// −t of the root of `T(l) = goal`, in the lanes that are `active` (1, else 0).
    #[inline(always)]
    fn root(&self, goal: F, active: F, (zero, one): (F, F)) -> [F; 2] {
        // SAFETY: F exists, see `F64x4::splat`.
        let (half, met, tiny) =
            unsafe { (F::splat(0.5), F::splat(ROOT_TOLERANCE), F::splat(1e-15)) };
        let size = self.s[0].add(self.s[2]);
        // The bracket; high = 0 stands for none yet.
        let (mut low, mut high, mut l) = (zero, zero, size.mul(tiny));
        let mut t = self.inverse(l, self.b, one);
        for _ in 0..MAX_NEWTON_STEPS {
            let norm = t[0].mul(t[0]).add(t[1].mul(t[1])).sqrt();
            let along = self.along(t);
            let value = norm.sub(self.mu.mul(along));
            let excess = value.sub(goal);
            let size_of_excess = excess.where_le(zero.sub(excess), zero, excess);
            if zero.where_le(size_of_excess, active, zero).all_le(goal.mul(met)) {
                break;
            }
            // T′ = −(t·t″/‖t‖ − mu f·t″), t″ = (S + l I)⁻¹ t.
            let d = self.inverse(l, t, one);
            let fall = t[0].mul(d[0]).add(t[1].mul(d[1])).div(norm).sub(self.mu.mul(self.along(d)));
            let newton = l.add(value.mul(value.div(goal).sub(one)).div(fall));
            low = l.where_le(low, zero, excess);
            high = l.where_le(high, excess, zero);
            // Outside the bracket, or uphill: halve it, or go on by the size of S where it has no
            // end yet.
            let halved = low.add(low).add(size).where_le(low.add(high).mul(half), high, zero);
            let inside = newton.where_le(halved, low, newton);
            let above = halved.where_le(inside, high, inside);
            let next = inside.where_le(above, high, zero);
            l = next.where_le(l, active.mul(met), size_of_excess.div(goal));
            t = self.inverse(l, self.b, one);
        }
        t
    }
}

impl Local for Coulomb {
    const ROWS: usize = 3;
    const PARAMETERS: usize = 7;

    #[inline(always)]
    unsafe fn finish<F: F64x4>(parameters: *const f64, u: [F; 4], old: [F; 3]) -> [F; 3] {
        // SAFETY: the caller's promise.
        let [mu, inverse, f1, f2, s1, s2, s3] =
            [0, 1, 2, 3, 4, 5, 6].map(|i| unsafe { parameter::<F>(parameters, i) });
        // SAFETY: F was made above.
        let (zero, one) = unsafe { (F::splat(0.0), F::splat(1.0)) };
        let g = u[0].mul(inverse).sub(old[0]).sub(f1.mul(old[1]).add(f2.mul(old[2])));
        let b = [
            u[1].sub(f1.mul(u[0])).sub(s1.mul(old[1]).add(s2.mul(old[2]))),
            u[2].sub(f2.mul(u[0])).sub(s2.mul(old[1]).add(s3.mul(old[2]))),
        ];
        let block = Slip { mu, f: [f1, f2], s: [s1, s2, s3], b };
        // Stick, with t of the opposite sign throughout.
        let t = block.inverse(zero, b, one);
        let n = block.along(t).sub(g);
        let norm = t[0].mul(t[0]).add(t[1].mul(t[1])).sqrt();
        let slips = zero.where_le(one, norm, mu.mul(n));
        let active = zero.where_le(slips, zero, g);
        let mut stuck = [n, zero.sub(t[0]), zero.sub(t[1])];
        if !active.all_le(zero) {
            // Where nothing slides any goal will do that is met at once.
            let goal = zero.sub(mu.mul(g)).where_le(one, one, active);
            let t = block.root(goal, active, (zero, one));
            // Exactly on the cone.
            let n = block.along(t).sub(g);
            let n = zero.where_le(n, n, zero);
            let norm = t[0].mul(t[0]).add(t[1].mul(t[1])).sqrt();
            let stretch = mu.mul(n).div(norm);
            let slid = [n, zero.sub(t[0].mul(stretch)), zero.sub(t[1].mul(stretch))];
            for (stuck, slid) in stuck.iter_mut().zip(slid) {
                *stuck = slid.where_le(*stuck, one, active);
            }
        }
        // Open where nothing presses; as it was where no solution is to be had. Velocities that are
        // no numbers stay so: a sweep that changed nothing because of them would look converged.
        let finite = stuck[0].add(stuck[1]).add(stuck[2]).mul(zero);
        let given = u[0].add(u[1]).add(u[2]).mul(zero);
        for (new, old) in stuck.iter_mut().zip(old) {
            *new = zero.where_le(new.where_le(old, finite, zero), zero, g).add(given);
        }
        stuck
    }
}
