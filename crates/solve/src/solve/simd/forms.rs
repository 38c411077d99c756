//! The rows of four contacts: how they are stored, what they read and what they move.
//!
//! * [`Stored`]: d × 12 whitened numbers, whatever the unknowns are.
//! * [`Rigid`]: three rows between two rigid bodies whose velocities they read with opposite signs
//!   (or one body and the ground). The masses being the same in all directions, both linear parts
//!   are one direction `d_i` over the roots of the masses:
//!
//! ```text
//!   û_i = q̂_i + d_i·(z_A/√m_A − z_B/√m_B) + α_i·ζ_A + β_i·ζ_B
//!   z_A += f/√m_A,   z_B −= f/√m_B,   ζ_A += Σ α_i x_i,   ζ_B += Σ β_i x_i,     f = Σ d_i x_i
//! ```
//!
//!   with z the linear and ζ the angular coordinates of a body. 29 numbers instead of 36, fewer
//!   operations, and with three parameters sixteen whole lines for four contacts. It holds for
//!   bodies of any inertia in any axes.
//! * [`super::frames`]: a frame and two arms.
//!
//! No closures here: they would be compiled for any processor where they are not inlined.

use super::f64x4::{F64x4, LANES};

/// Room of a group of unknowns in z.
pub(crate) const ROOM: usize = 8;

/// Where four contacts find their first groups of unknowns, then their second ones: two places in a
/// number, so that one load brings both.
#[derive(Clone, Copy)]
pub(crate) struct Pairs([u64; LANES]);

impl Pairs {
    pub(super) fn all(place: u32) -> Pairs {
        Pairs([u64::from(place) << 32 | u64::from(place); LANES])
    }

    pub(super) fn set(&mut self, i: usize, place: u32) {
        let (pair, shift) = (&mut self.0[i / 2], i % 2 * 32);
        *pair = *pair & !(u64::from(u32::MAX) << shift) | u64::from(place) << shift;
    }

    /// The two places of each lane, lane by lane.
    pub(super) fn by_lane(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, second) = (self.side(0), self.side(1));
        first.into_iter().zip(second).flat_map(|(a, b)| [a, b])
    }

    /// The places of one side.
    #[inline(always)]
    pub(crate) fn side(&self, side: usize) -> [usize; LANES] {
        let (a, b) = (self.0[2 * side], self.0[2 * side + 1]);
        [a as u32 as usize, (a >> 32) as usize, b as u32 as usize, (b >> 32) as usize]
    }

    /// The coordinates that four contacts touch: those of their first bodies and of their second
    /// ones.
    ///
    /// # Safety
    /// The places are within z, and nobody writes them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn touched<F: F64x4>(&self, z: *const f64) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe { [gather::<F>(z, self.side(0)), gather::<F>(z, self.side(1))] }
    }
}

/// How rows are stored.
pub(crate) trait Form: Copy {
    /// Numbers of one contact of so many rows, without its parameters.
    fn numbers(rows: usize) -> usize;

    /// `û = q̂ + Ĵ z` of four contacts of `rows` rows, from the coordinates that they touch.
    ///
    /// # Safety
    /// `values` and `q` are those of four contacts of `rows` rows, lane by lane; `bodies` are
    /// theirs; the processor has what F needs.
    unsafe fn velocities<F: F64x4>(
        rows: usize,
        values: *const f64,
        q: *const f64,
        bodies: Bodies,
        touched: &[[F; 6]; 2],
    ) -> [F; 3];

    /// `Ĵᵀ x`, what the coordinates move by.
    ///
    /// # Safety
    /// As [`Form::velocities`].
    unsafe fn moves<F: F64x4>(
        rows: usize,
        values: *const f64,
        bodies: Bodies,
        x: &[F; 3],
    ) -> [[F; 6]; 2];
}

/// What a form keeps with the bodies that four contacts touch, eight numbers at the places of z.
#[derive(Clone, Copy)]
pub(crate) struct Bodies {
    pub table: *const f64,
    pub places: Pairs,
}

impl Bodies {
    /// The numbers of the bodies of one side.
    ///
    /// # Safety
    /// The table has eight numbers at each place, and the processor has what F needs.
    #[inline(always)]
    pub(crate) unsafe fn numbers<F: F64x4>(self, side: usize) -> [F; 8] {
        // SAFETY: the caller's promise.
        unsafe {
            let places = self.places.side(side);
            let at: [*const f64; LANES] = places.map(|place| self.table.add(place));
            let [a, b, c, d] = F::transpose(at.map(|p| F::load(p)));
            let [e, f, g, h] = F::transpose(at.map(|p| F::load(p.add(LANES))));
            [a, b, c, d, e, f, g, h]
        }
    }
}

/// Columns of a row: two groups of unknowns.
pub(crate) const COLUMNS: usize = 12;

/// Row after row.
#[derive(Clone, Copy)]
pub(crate) struct Stored;

/// Linear parts once: d (3 × 3), 1/√m_A, −1/√m_B, then α_i and β_i for each row.
#[derive(Clone, Copy)]
pub(crate) struct Rigid;

const RIGID_ROOTS: usize = 9;
const ANGULAR: usize = 11;

/// Numbers of a contact in the form [`Rigid`].
pub(crate) const RIGID: usize = ANGULAR + 18;

/// Four values of the number `i`.
///
/// # Safety
/// As [`Form::velocities`].
#[inline(always)]
pub(crate) unsafe fn number<F: F64x4>(values: *const f64, i: usize) -> F {
    // SAFETY: the caller's promise.
    unsafe { F::load(values.add(i * LANES)) }
}

impl Form for Stored {
    fn numbers(rows: usize) -> usize {
        COLUMNS * rows
    }

    #[inline(always)]
    unsafe fn velocities<F: F64x4>(
        rows: usize,
        values: *const f64,
        q: *const f64,
        _: Bodies,
        [a, b]: &[[F; 6]; 2],
    ) -> [F; 3] {
        // SAFETY: the caller's promise.
        unsafe {
            let mut out = [F::splat(0.0); 3];
            for (i, out) in out.iter_mut().enumerate().take(rows) {
                let at = i * COLUMNS;
                let mut u = number::<F>(q, i);
                let mut w = number::<F>(values, at + 6).mul(b[0]);
                for j in 0..6 {
                    u = number::<F>(values, at + j).mul_add(a[j], u);
                }
                for j in 1..6 {
                    w = number::<F>(values, at + 6 + j).mul_add(b[j], w);
                }
                *out = u.add(w);
            }
            out
        }
    }

    #[inline(always)]
    unsafe fn moves<F: F64x4>(
        rows: usize,
        values: *const f64,
        _: Bodies,
        x: &[F; 3],
    ) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let mut out = [[F::splat(0.0); 6]; 2];
            for (side, out) in out.iter_mut().enumerate() {
                for (j, out) in out.iter_mut().enumerate() {
                    *out = number::<F>(values, side * 6 + j).mul(x[0]);
                    for (i, x) in x.iter().enumerate().take(rows).skip(1) {
                        *out = number::<F>(values, i * COLUMNS + side * 6 + j).mul_add(*x, *out);
                    }
                }
            }
            out
        }
    }
}

impl Form for Rigid {
    fn numbers(_: usize) -> usize {
        RIGID
    }

    #[inline(always)]
    unsafe fn velocities<F: F64x4>(
        _: usize,
        values: *const f64,
        q: *const f64,
        _: Bodies,
        [a, b]: &[[F; 6]; 2],
    ) -> [F; 3] {
        // SAFETY: the caller's promise.
        unsafe {
            let roots: [F; 2] = [number(values, RIGID_ROOTS), number(values, RIGID_ROOTS + 1)];
            let zero = F::splat(0.0);
            let (mut linear, mut out) = ([zero; 3], [zero; 3]);
            for (j, linear) in linear.iter_mut().enumerate() {
                *linear = roots[1].mul_add(b[j], roots[0].mul(a[j]));
            }
            for (i, out) in out.iter_mut().enumerate() {
                let at = ANGULAR + 6 * i;
                // Two chains of equal length.
                let mut u = number::<F>(q, i);
                for j in 0..3 {
                    u = number::<F>(values, at + j).mul_add(a[3 + j], u);
                }
                u = number::<F>(values, 3 * i + 1).mul_add(linear[1], u);
                let mut w = number::<F>(values, at + 3).mul(b[3]);
                for j in 1..3 {
                    w = number::<F>(values, at + 3 + j).mul_add(b[3 + j], w);
                }
                for j in [0, 2] {
                    w = number::<F>(values, 3 * i + j).mul_add(linear[j], w);
                }
                *out = u.add(w);
            }
            out
        }
    }

    #[inline(always)]
    unsafe fn moves<F: F64x4>(_: usize, values: *const f64, _: Bodies, x: &[F; 3]) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = F::splat(0.0);
            let (mut force, mut out) = ([zero; 3], [[zero; 6]; 2]);
            for (j, force) in force.iter_mut().enumerate() {
                *force = product::<F>(values, [j, 3 + j, 6 + j], x);
            }
            for (side, out) in out.iter_mut().enumerate() {
                let root = number::<F>(values, RIGID_ROOTS + side);
                for j in 0..3 {
                    let at = ANGULAR + 3 * side + j;
                    out[j] = root.mul(force[j]);
                    out[3 + j] = product::<F>(values, [at, at + 6, at + 12], x);
                }
            }
            out
        }
    }
}

/// `Σ number × x` over three numbers.
///
/// # Safety
/// As [`Form::velocities`].
#[inline(always)]
unsafe fn product<F: F64x4>(values: *const f64, at: [usize; 3], x: &[F; 3]) -> F {
    // SAFETY: the caller's promise.
    unsafe {
        let first = number::<F>(values, at[0]).mul(x[0]);
        number::<F>(values, at[2]).mul_add(x[2], number::<F>(values, at[1]).mul_add(x[1], first))
    }
}

impl Rigid {
    /// The numbers of one contact from its whitened rows (3 × 12) and 1/√m of its bodies (0: the
    /// ground, or nothing).
    pub(crate) fn of(rows: &[f64], roots: [f64; 2]) -> [f64; RIGID] {
        std::array::from_fn(|n| match n {
            0..RIGID_ROOTS if roots[0] == 0.0 => 0.0,
            0..RIGID_ROOTS => rows[n / 3 * COLUMNS + n % 3] / roots[0],
            RIGID_ROOTS => roots[0],
            10 => -roots[1],
            _ => {
                let (i, j) = ((n - ANGULAR) / 6, (n - ANGULAR) % 6);
                rows[i * COLUMNS + j / 3 * 6 + 3 + j % 3]
            }
        })
    }
}

/// `z += Ĵᵀ x` of four contacts.
///
/// # Safety
/// `values` are their rows, stored in this form, and their places are within z, which nobody else
/// touches there meanwhile, and within the table of `bodies` if the form has one.
#[inline(always)]
pub(crate) unsafe fn push<R: Form, F: F64x4>(
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
