//! The dense part of a sparse factorization: `L D Lᵀ` of the pivots of one front, and what it
//! leaves of the rest.
//!
//! ```text
//!   [ A₁₁  .  ]     A₁₁ = L₁₁ D L₁₁ᵀ        panel:   p columns of m = p + q rows, in place: D on the diagonal, L below
//!   [ A₂₁  C  ]     L₂₁ = A₂₁ L₁₁⁻ᵀ D⁻¹     update:  C ← C − L₂₁ D L₂₁ᵀ, q × q, its lower triangle
//! ```
//!
//! By blocks of [`PIVOTS_PER_BLOCK`] pivots: factor the diagonal block, solve for the rows below it
//! eight at a time into packed strips, then subtract `L (DLᵀ)` from all that follows, in tiles of 8
//! × 4 whose 32 sums stay in registers. Small fronts (a contact between two bodies: 3 pivots, 15
//! rows) are cheaper column by column. The loops are plain: the compiler makes vectors of them for
//! the machine at hand ([`super::fronts`] dispatches).
//!
//! Above the diagonal the arrays hold anything.

/// Pivots per block.
const PIVOTS_PER_BLOCK: usize = 32;
/// Rows of a strip.
const ROWS_PER_STRIP: usize = 8;
/// Columns of a tile.
const COLUMNS_PER_TILE: usize = 4;
/// Fronts of at most so many pivots and rows are small.
const MAX_SMALL_FRONT: [usize; 2] = [6, 48];

/// Work space of [`factor`].
pub struct Strips {
    /// The diagonal block, by columns.
    block: [f64; PIVOTS_PER_BLOCK * PIVOTS_PER_BLOCK],
    /// Strips of L, one after the other, each column by column; grows to the largest front.
    lower: Vec<f64>,
    /// The same of L D.
    scaled: Vec<f64>,
}

impl Default for Strips {
    fn default() -> Strips {
        Strips {
            block: [0.0; PIVOTS_PER_BLOCK * PIVOTS_PER_BLOCK],
            lower: Vec::new(),
            scaled: Vec::new(),
        }
    }
}

/// One product, fused where the machine has that.
#[inline(always)]
fn add_product<const FUSED: bool>(a: f64, b: f64, sum: f64) -> f64 {
    if FUSED { a.mul_add(b, sum) } else { sum + a * b }
}

/// `Σ_k strip[k] · row[k]ᵀ`: 8 × 4 sums; `STRIDE` numbers of `rows` per k, of which four from
/// `from`.
#[inline(always)]
fn tile<const FUSED: bool, const STRIDE: usize>(
    strip: &[f64],
    rows: &[f64],
    from: usize,
) -> [[f64; ROWS_PER_STRIP]; COLUMNS_PER_TILE] {
    let mut sum = [[0.0; ROWS_PER_STRIP]; COLUMNS_PER_TILE];
    for (a, b) in strip.chunks_exact(ROWS_PER_STRIP).zip(rows.chunks_exact(STRIDE)) {
        let b = &b[from..from + COLUMNS_PER_TILE];
        for (sum, &b) in sum.iter_mut().zip(b) {
            for (sum, &a) in sum.iter_mut().zip(a) {
                *sum = add_product::<FUSED>(a, b, *sum);
            }
        }
    }
    sum
}

/// Factors the `p` pivots of a front with `m` rows. `Err(k)`: pivot k is not finite or has not the
/// sign `positive[k]`.
#[inline(always)]
pub fn factor<const FUSED: bool>(
    panel: &mut [f64],
    update: &mut [f64],
    m: usize,
    positive: &[bool],
    strips: &mut Strips,
) -> Result<(), usize> {
    let p = positive.len();
    if p <= MAX_SMALL_FRONT[0] && m <= MAX_SMALL_FRONT[1] {
        return factor_small::<FUSED>(panel, update, m, positive);
    }
    for k0 in (0..p).step_by(PIVOTS_PER_BLOCK) {
        let width = PIVOTS_PER_BLOCK.min(p - k0);
        let wrong = diagonal_block::<FUSED>(
            &mut panel[k0 * m..(k0 + width) * m],
            m,
            k0,
            &positive[k0..k0 + width],
            &mut strips.block,
        );
        wrong.map_or(Ok(()), |k| Err(k0 + k))?;
        let first = k0 + width;
        if first < m {
            solve_strips::<FUSED>(&mut panel[k0 * m..first * m], m, first, strips);
            subtract::<FUSED>(panel, update, [m, p, first, width], strips);
        }
    }
    Ok(())
}

/// As [`factor`], pivot by pivot; the update is changed in whole columns.
#[inline(always)]
fn factor_small<const FUSED: bool>(
    panel: &mut [f64],
    update: &mut [f64],
    m: usize,
    positive: &[bool],
) -> Result<(), usize> {
    let p = positive.len();
    for (k, &positive) in positive.iter().enumerate() {
        let (done, rest) = panel.split_at_mut((k + 1) * m);
        let column = &mut done[k * m..];
        let pivot = column[k];
        let right_sign = if positive { pivot > 0.0 } else { pivot < 0.0 };
        if !right_sign || !pivot.is_finite() {
            return Err(k);
        }
        let inverse = 1.0 / pivot;
        for (j, target) in (k + 1..p).zip(rest.chunks_exact_mut(m)) {
            let factor = -column[j] * inverse;
            for (t, c) in target[j..].iter_mut().zip(&column[j..]) {
                *t = add_product::<FUSED>(factor, *c, *t);
            }
        }
        for x in &mut column[k + 1..] {
            *x *= inverse;
        }
    }
    for (j, target) in update.chunks_exact_mut((m - p).max(1)).enumerate() {
        for (k, column) in panel.chunks_exact(m).enumerate() {
            let factor = -column[p + j] * column[k];
            for (t, l) in target.iter_mut().zip(&column[p..]) {
                *t = add_product::<FUSED>(factor, *l, *t);
            }
        }
    }
    Ok(())
}

/// Factors the diagonal block in place and copies it, by columns of [`PIVOTS_PER_BLOCK`], to
/// `block`; returns the first wrong pivot.
#[inline(always)]
fn diagonal_block<const FUSED: bool>(
    columns: &mut [f64],
    m: usize,
    k0: usize,
    positive: &[bool],
    block: &mut [f64; PIVOTS_PER_BLOCK * PIVOTS_PER_BLOCK],
) -> Option<usize> {
    let width = positive.len();
    for k in 0..width {
        block[k * PIVOTS_PER_BLOCK + k..k * PIVOTS_PER_BLOCK + width]
            .copy_from_slice(&columns[k * m + k0 + k..k * m + k0 + width]);
    }
    for k in 0..width {
        let (done, rest) = block.split_at_mut((k + 1) * PIVOTS_PER_BLOCK);
        let column = &mut done[k * PIVOTS_PER_BLOCK..k * PIVOTS_PER_BLOCK + width];
        let pivot = column[k];
        let right_sign = if positive[k] { pivot > 0.0 } else { pivot < 0.0 };
        if !right_sign || !pivot.is_finite() {
            columns[k * m + k0 + k] = pivot;
            return Some(k);
        }
        let inverse = 1.0 / pivot;
        for j in k + 1..width {
            let factor = -column[j] * inverse;
            let target = &mut rest[(j - k - 1) * PIVOTS_PER_BLOCK..][j..width];
            for (t, c) in target.iter_mut().zip(&column[j..width]) {
                *t = add_product::<FUSED>(factor, *c, *t);
            }
        }
        for x in &mut column[k + 1..width] {
            *x *= inverse;
        }
        columns[k * m + k0 + k..k * m + k0 + width].copy_from_slice(&column[k..width]);
    }
    None
}

/// Solves for the rows from `first` on, strip by strip: L D into `scaled`, L into `lower` and back
/// into the columns.
#[inline(always)]
fn solve_strips<const FUSED: bool>(
    columns: &mut [f64],
    m: usize,
    first: usize,
    strips: &mut Strips,
) {
    let Strips { block, lower, scaled } = strips;
    let width = columns.len() / m;
    let strip_length = width * ROWS_PER_STRIP;
    let count = (m - first).div_ceil(ROWS_PER_STRIP);
    for list in [&mut *lower, &mut *scaled] {
        list.resize(list.len().max(count * strip_length), 0.0);
    }
    let mut inverse = [0.0; PIVOTS_PER_BLOCK];
    for k in 0..width {
        inverse[k] = 1.0 / block[k * PIVOTS_PER_BLOCK + k];
    }
    let all = scaled.chunks_exact_mut(strip_length).zip(lower.chunks_exact_mut(strip_length));
    for (s, (scaled, lower)) in all.enumerate().take(count) {
        let row = first + s * ROWS_PER_STRIP;
        let height = ROWS_PER_STRIP.min(m - row);
        for (k, y) in scaled.chunks_exact_mut(ROWS_PER_STRIP).enumerate() {
            copy_strip(&columns[k * m + row..k * m + row + height], y);
        }
        for k in (0..width).step_by(COLUMNS_PER_TILE) {
            let (done, rest) = scaled.split_at_mut(k * ROWS_PER_STRIP);
            let sum = tile::<FUSED, PIVOTS_PER_BLOCK>(done, block, k);
            let here = rest.len().min(COLUMNS_PER_TILE * ROWS_PER_STRIP);
            let mut y = [[0.0; ROWS_PER_STRIP]; COLUMNS_PER_TILE];
            for (c, x) in rest[..here].chunks_exact(ROWS_PER_STRIP).enumerate() {
                for i in 0..ROWS_PER_STRIP {
                    y[c][i] = x[i] - sum[c][i];
                }
                for j in 0..c {
                    let l = -block[(k + j) * PIVOTS_PER_BLOCK + k + c];
                    for i in 0..ROWS_PER_STRIP {
                        y[c][i] = add_product::<FUSED>(l, y[j][i], y[c][i]);
                    }
                }
            }
            for (x, y) in rest[..here].chunks_exact_mut(ROWS_PER_STRIP).zip(&y) {
                x.copy_from_slice(y);
            }
        }
        for (k, (l, y)) in lower
            .chunks_exact_mut(ROWS_PER_STRIP)
            .zip(scaled.chunks_exact(ROWS_PER_STRIP))
            .enumerate()
        {
            for (l, y) in l.iter_mut().zip(y) {
                *l = y * inverse[k];
            }
            let target = &mut columns[k * m + row..k * m + row + height];
            match <&mut [f64; ROWS_PER_STRIP]>::try_from(&mut *target) {
                Ok(target) => target.copy_from_slice(l),
                Err(_) => target.iter_mut().zip(l).for_each(|(t, l)| *t = *l),
            }
        }
    }
}

/// Copies up to eight numbers, and zeros for the rest.
#[inline(always)]
fn copy_strip(from: &[f64], to: &mut [f64]) {
    match <&[f64; ROWS_PER_STRIP]>::try_from(from) {
        Ok(from) => to.copy_from_slice(from),
        Err(_) => {
            for i in 0..ROWS_PER_STRIP {
                to[i] = from.get(i).copied().unwrap_or(0.0);
            }
        }
    }
}

/// Subtracts the strips' product from the columns after `first`: those of the panel, then those of
/// the update.
#[inline(always)]
fn subtract<const FUSED: bool>(
    panel: &mut [f64],
    update: &mut [f64],
    [m, p, first, width]: [usize; 4],
    strips: &Strips,
) {
    let length = width * ROWS_PER_STRIP;
    let q = m - p;
    for column in (first..m).step_by(COLUMNS_PER_TILE) {
        let group = column - first;
        let rows = &strips.scaled[group / ROWS_PER_STRIP * length..][..length];
        let start = group / ROWS_PER_STRIP;
        for s in start..(m - first).div_ceil(ROWS_PER_STRIP) {
            let sum = tile::<FUSED, ROWS_PER_STRIP>(
                &strips.lower[s * length..][..length],
                rows,
                group % ROWS_PER_STRIP,
            );
            let row = first + s * ROWS_PER_STRIP;
            for (c, sum) in sum.iter().enumerate().take(m - column) {
                let j = column + c;
                let (low, high) = (row.max(j), (row + ROWS_PER_STRIP).min(m));
                if low >= high {
                    continue;
                }
                let target = if j < p {
                    &mut panel[j * m + low..j * m + high]
                } else {
                    &mut update[(j - p) * q + low - p..(j - p) * q + high - p]
                };
                if let Ok(target) = <&mut [f64; ROWS_PER_STRIP]>::try_from(&mut *target) {
                    for (t, x) in target.iter_mut().zip(sum) {
                        *t -= x;
                    }
                } else {
                    for (t, x) in target.iter_mut().zip(&sum[low - row..]) {
                        *t -= x;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factor times itself is the matrix again, for fronts around every edge of blocks, strips
    /// and tiles.
    #[test]
    fn the_product_is_the_matrix() {
        for (p, q) in [
            (1, 0),
            (1, 1),
            (3, 12),
            (6, 7),
            (8, 8),
            (31, 5),
            (32, 9),
            (33, 1),
            (40, 23),
            (64, 64),
            (70, 11),
        ] {
            let m = p + q;
            let entry = |i: usize, j: usize| {
                let (i, j) = (i.max(j), i.min(j));
                let sign = if i % 3 == 0 { -1.0 } else { 1.0 };
                if i == j { sign * (m as f64 + 2.0) } else { ((i * 7 + j * 13) as f64).sin() }
            };
            let mut panel: Vec<f64> =
                (0..p).flat_map(|j| (0..m).map(move |i| entry(i, j))).collect();
            let mut update: Vec<f64> =
                (p..m).flat_map(|j| (p..m).map(move |i| entry(i, j))).collect();
            let positive: Vec<bool> = (0..p).map(|i| i % 3 != 0).collect();
            factor::<false>(&mut panel, &mut update, m, &positive, &mut Strips::default()).unwrap();
            let lower = |i: usize, k: usize| if i == k { 1.0 } else { panel[k * m + i] };
            for j in 0..m {
                for i in j..m {
                    let product: f64 = (0..=j.min(p - 1))
                        .map(|k| lower(i, k) * panel[k * m + k] * lower(j, k))
                        .sum();
                    let rest = if j < p { 0.0 } else { update[(j - p) * q + i - p] };
                    // A dominant diagonal: no growth, m products of numbers up to m.
                    assert!((product + rest - entry(i, j)).abs() < 1e-11, "p {p} q {q} at {i} {j}");
                }
            }
        }
    }

    #[test]
    fn a_wrong_pivot_is_named() {
        let mut panel = vec![1.0, 1.0, 0.0, 1.0];
        let result = factor::<false>(&mut panel, &mut [], 2, &[true, true], &mut Strips::default());
        assert_eq!(result, Err(1));
    }
}
