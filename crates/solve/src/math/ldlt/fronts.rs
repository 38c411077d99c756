//! Sparse `A = L D Lᵀ` of a symmetric quasi-definite matrix, front by front: one analysis per
//! pattern, many factorizations.
//!
//! ```text
//!   for each front, children before parents ([`crate::math::order`]):
//!     front  ←  entries of A that its pivots own  +  what its children left
//!     factor its pivots ([`super::front`]); leave the rest on the stack
//! ```
//!
//! As [`super::Ldlt`] without pivoting, and for the same matrices: the sign of every pivot is known
//! beforehand, a pivot of another sign is an error. Made for the systems of bodies and contacts,
//! thousands of fronts of a few dozen unknowns, where calling a general dense kernel per front
//! costs more than its sums.
//!
//! Cost: Σ p m² multiplications over the fronts (p pivots, m rows) at several per cycle; a solve
//! reads the factor twice (Duff1983).

use super::BadPivot;
use super::front::{self, Strips};
use crate::math::order::{Elimination, Front, NONE};
use crate::math::sparse::Csr;

/// The factorization of a matrix whose pattern stays.
pub struct Fronts {
    n: usize,
    order: Vec<u32>,
    fronts: Vec<Front>,
    /// Where each front's panel begins in the factor; one more at the end.
    panels: Vec<usize>,
    /// Entries of the matrix sorted by front: their places in `values` and in the panel.
    entries: Vec<(u32, u32)>,
    entry_starts: Vec<usize>,
    /// For each front its runs of rows: first row in the update, first row in the parent's front,
    /// how many.
    runs: Vec<Vec<[u32; 3]>>,
    /// The children, last first, as the stack holds them.
    children: Vec<Vec<u32>>,
    factor: Vec<f64>,
    /// What fronts of even and of odd depth left: a front takes from the one and leaves on the
    /// other.
    stacks: [Vec<f64>; 2],
    odd: Vec<bool>,
    strips: Strips,
    positive: Vec<bool>,
    placed: Vec<f64>,
    gathered: Vec<f64>,
}

/// Runs a task with the vectors of the machine at hand.
pub(super) fn dispatch<T: Task>(task: T) -> T::Output {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    if let Some(machine) = pulp::x86::V3::try_new() {
        return pulp::Simd::vectorize(machine, Fused(task));
    }
    task.run::<false>()
}

/// Work that is compiled once for machines with fused products and once for all.
pub(super) trait Task {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

struct Fused<T>(T);

impl<T: Task> pulp::WithSimd for Fused<T> {
    type Output = T::Output;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> T::Output {
        self.0.run::<true>()
    }
}

struct Factor<'a>(&'a mut Fronts, &'a [f64]);
struct Forward<'a>(&'a mut Fronts);
struct Backward<'a>(&'a mut Fronts);

impl Fronts {
    /// Analyses the pattern of `lower`: row i holds the entries (i, j), j ≤ i, of the symmetric
    /// matrix. Unknowns of one body, or of one contact, have the same number in `block`.
    pub fn analyse(lower: &Csr, block: &[u32]) -> Fronts {
        let Elimination { order, fronts } = Elimination::of(lower, block);
        let mut panels = vec![0];
        for front in &fronts {
            panels.push(panels[panels.len() - 1] + (front.end - front.begin) * rows(front));
        }
        let mut out = Fronts {
            n: lower.rows,
            factor: vec![0.0; panels[fronts.len()]],
            panels,
            entries: Vec::new(),
            entry_starts: Vec::new(),
            runs: Vec::new(),
            children: vec![Vec::new(); fronts.len()],
            stacks: [Vec::new(), Vec::new()],
            odd: vec![false; fronts.len()],
            strips: Strips::default(),
            positive: Vec::new(),
            placed: vec![0.0; lower.rows],
            gathered: vec![0.0; fronts.iter().map(|f| f.below.len()).max().unwrap_or(0)],
            order,
            fronts,
        };
        out.place_entries(lower);
        out.place_updates();
        out
    }

    /// Where each entry of the matrix goes.
    fn place_entries(&mut self, lower: &Csr) {
        let n = self.n;
        let (mut place, mut owner) = (vec![0u32; n], vec![0u32; n]);
        for (p, &i) in self.order.iter().enumerate() {
            place[i as usize] = p as u32;
        }
        for (f, front) in self.fronts.iter().enumerate() {
            owner[front.begin..front.end].fill(f as u32);
        }
        let mut counts = vec![0usize; self.fronts.len() + 1];
        for i in 0..n {
            for &j in lower.row(i).0 {
                counts[owner[place[i].min(place[j as usize]) as usize] as usize + 1] += 1;
            }
        }
        for f in 0..self.fronts.len() {
            counts[f + 1] += counts[f];
        }
        self.entry_starts = counts.clone();
        // First by places, then, front by front, by position in the panel.
        let mut sorted = vec![(0u32, 0u32, 0u32); lower.columns.len()];
        for i in 0..n {
            for at in lower.starts[i]..lower.starts[i + 1] {
                let (a, b) = (place[i], place[lower.columns[at] as usize]);
                let next = &mut counts[owner[a.min(b) as usize] as usize];
                sorted[*next] = (at as u32, a.min(b), a.max(b));
                *next += 1;
            }
        }
        let mut local = vec![0u32; n];
        self.entries = Vec::with_capacity(sorted.len());
        for (f, front) in self.fronts.iter().enumerate() {
            number_rows(front, &mut local);
            let m = rows(front) as u32;
            let own = &sorted[self.entry_starts[f]..self.entry_starts[f + 1]];
            self.entries.extend(
                own.iter().map(|&(at, a, b)| (at, local[a as usize] * m + local[b as usize])),
            );
        }
    }

    /// Where the rows that a front leaves go in its parent, and how deep the stack gets.
    fn place_updates(&mut self) {
        let mut local = vec![0u32; self.n];
        self.runs = vec![Vec::new(); self.fronts.len()];
        for f in (0..self.fronts.len()).rev() {
            let parent = self.fronts[f].parent;
            if parent != NONE {
                self.children[parent as usize].push(f as u32);
            }
        }
        for p in 0..self.fronts.len() {
            number_rows(&self.fronts[p], &mut local);
            let pivots = (self.fronts[p].end - self.fronts[p].begin) as u32;
            for &c in &self.children[p] {
                let mut runs: Vec<[u32; 3]> = Vec::new();
                for (i, &place) in self.fronts[c as usize].below.iter().enumerate() {
                    let to = local[place as usize];
                    match runs.last_mut() {
                        // A run ends where the parent's pivots do.
                        Some(run) if run[1] + run[2] == to && to != pivots => run[2] += 1,
                        _ => runs.push([i as u32, to, 1]),
                    }
                }
                self.runs[c as usize] = runs;
            }
        }
        for f in (0..self.fronts.len()).rev() {
            let parent = self.fronts[f].parent;
            self.odd[f] = parent != NONE && !self.odd[parent as usize];
        }
        let (mut depth, mut deepest) = ([0; 2], [0; 2]);
        for (f, front) in self.fronts.iter().enumerate() {
            let own = usize::from(self.odd[f]);
            depth[1 - own] -= self.children[f]
                .iter()
                .map(|&c| self.fronts[c as usize].below.len().pow(2))
                .sum::<usize>();
            depth[own] += front.below.len().pow(2);
            deepest[own] = deepest[own].max(depth[own]);
        }
        self.stacks = deepest.map(|size| vec![0.0; size]);
    }

    /// Factors the matrix with these values (in the order of the analysed pattern).
    /// `signs` (n) holds +1 or −1: the sign that each pivot must have.
    pub fn factor(&mut self, values: &[f64], signs: &[i8]) -> Result<(), BadPivot> {
        self.positive.clear();
        self.positive.extend(self.order.iter().map(|&i| signs[i as usize] > 0));
        dispatch(Factor(self, values))
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&mut self, x: &mut [f64]) {
        for (y, &i) in self.placed.iter_mut().zip(&self.order) {
            *y = x[i as usize];
        }
        dispatch(Forward(self));
        dispatch(Backward(self));
        for (y, &i) in self.placed.iter().zip(&self.order) {
            x[i as usize] = *y;
        }
    }

    /// Stored numbers of the factor.
    pub fn factor_len(&self) -> usize {
        self.factor.len()
    }
}

/// Updates of fewer rows are cleared whole.
const MAX_ROWS_CLEARED_WHOLE: usize = 48;

fn rows(front: &Front) -> usize {
    front.end - front.begin + front.below.len()
}

/// The rows of a front by place.
fn number_rows(front: &Front, local: &mut [u32]) {
    for (i, place) in (front.begin..front.end).enumerate() {
        local[place] = i as u32;
    }
    for (i, &place) in front.below.iter().enumerate() {
        local[place as usize] = (front.end - front.begin + i) as u32;
    }
}

impl Task for Factor<'_> {
    type Output = Result<(), BadPivot>;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Result<(), BadPivot> {
        let Factor(a, values) = self;
        let mut top = [0; 2];
        for (f, front) in a.fronts.iter().enumerate() {
            let (p, q) = (front.end - front.begin, front.below.len());
            let m = p + q;
            let panel = &mut a.factor[a.panels[f]..a.panels[f + 1]];
            panel.fill(0.0);
            for &(from, to) in &a.entries[a.entry_starts[f]..a.entry_starts[f + 1]] {
                panel[to as usize] += values[from as usize];
            }
            let own = usize::from(a.odd[f]);
            let [even, odd] = &mut a.stacks;
            let (mine, theirs) = if own == 0 { (even, &*odd) } else { (odd, &*even) };
            let update = &mut mine[top[own]..top[own] + q * q];
            // Small fronts change whole columns.
            if q < MAX_ROWS_CLEARED_WHOLE {
                update.fill(0.0);
            } else {
                for j in 0..q {
                    update[j * q + j..(j + 1) * q].fill(0.0);
                }
            }
            for &c in &a.children[f] {
                let size = a.fronts[c as usize].below.len();
                let end = top[1 - own];
                top[1 - own] -= size * size;
                assemble(
                    &theirs[top[1 - own]..end],
                    size,
                    &a.runs[c as usize],
                    panel,
                    (update, m, p),
                );
            }
            if let Err(k) = front::factor::<FUSED>(
                panel,
                update,
                m,
                &a.positive[front.begin..front.end],
                &mut a.strips,
            ) {
                return Err(BadPivot {
                    unknown: a.order[front.begin + k] as usize,
                    pivot: panel[k * m + k],
                });
            }
            top[own] += q * q;
        }
        Ok(())
    }
}

/// Adds what a child left to its parent's front.
#[inline(always)]
fn assemble(
    child: &[f64],
    size: usize,
    runs: &[[u32; 3]],
    panel: &mut [f64],
    (update, m, p): (&mut [f64], usize, usize),
) {
    let q = m - p;
    for (r, &[from, to, count]) in runs.iter().enumerate() {
        for c in 0..count as usize {
            let (source, column) = (&child[(from as usize + c) * size..][..size], to as usize + c);
            for (k, &[first, row, length]) in runs[r..].iter().enumerate() {
                // Of its own run, a column holds what lies from the diagonal on.
                let skip = if k == 0 { c } else { 0 };
                let (first, row, length) =
                    (first as usize + skip, row as usize + skip, length as usize - skip);
                let target = if column < p {
                    &mut panel[column * m + row..][..length]
                } else {
                    &mut update[(column - p) * q + row - p..][..length]
                };
                for (t, s) in target.iter_mut().zip(&source[first..first + length]) {
                    *t += s;
                }
            }
        }
    }
}

impl Task for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let a = self.0;
        for (f, front) in a.fronts.iter().enumerate() {
            let (p, q) = (front.end - front.begin, front.below.len());
            let m = p + q;
            let panel = &a.factor[a.panels[f]..a.panels[f + 1]];
            let gathered = &mut a.gathered[..q];
            gathered.fill(0.0);
            for k in 0..p {
                let column = &panel[k * m + k + 1..(k + 1) * m];
                let (own, below) = column.split_at(p - k - 1);
                let here = &mut a.placed[front.begin + k..front.end];
                let x = here[0];
                for (y, l) in here[1..].iter_mut().zip(own) {
                    *y -= l * x;
                }
                for (y, l) in gathered.iter_mut().zip(below) {
                    *y += l * x;
                }
            }
            for (y, &row) in gathered.iter().zip(&front.below) {
                a.placed[row as usize] -= y;
            }
        }
    }
}

impl Task for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let a = self.0;
        for (f, front) in a.fronts.iter().enumerate().rev() {
            let (p, q) = (front.end - front.begin, front.below.len());
            let m = p + q;
            let panel = &a.factor[a.panels[f]..a.panels[f + 1]];
            let gathered = &mut a.gathered[..q];
            for (y, &row) in gathered.iter_mut().zip(&front.below) {
                *y = a.placed[row as usize];
            }
            for k in (0..p).rev() {
                let column = &panel[k * m + k..(k + 1) * m];
                let (own, below) = column.split_at(p - k);
                let here = &mut a.placed[front.begin + k..front.end];
                let sum =
                    product::<FUSED>(&own[1..], &here[1..]) + product::<FUSED>(below, gathered);
                here[0] = here[0] / own[0] - sum;
            }
        }
    }
}

/// A scalar product by eight sums.
#[inline(always)]
pub(super) fn product<const FUSED: bool>(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = [0.0f64; 8];
    let (ac, bc) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = ac.remainder().iter().zip(bc.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in ac.zip(bc) {
        for i in 0..8 {
            sum[i] = if FUSED { a[i].mul_add(b[i], sum[i]) } else { sum[i] + a[i] * b[i] };
        }
    }
    rest + ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bodies of six unknowns in a grid, contacts of three rows between neighbours.
    fn packing(side: usize) -> (Csr, Vec<i8>) {
        let bodies = side * side;
        let mut pairs = Vec::new();
        for b in 0..bodies {
            if b % side + 1 < side {
                pairs.push((b, b + 1));
            }
            if b + side < bodies {
                pairs.push((b, b + side));
            }
        }
        let n = 6 * bodies;
        let mut t: Vec<(u32, u32, f64)> =
            (0..n as u32).map(|i| (i, i, 1.0 + f64::from(i % 5))).collect();
        for (k, &(a, b)) in pairs.iter().enumerate() {
            for r in 0..3 {
                let row = (n + 3 * k + r) as u32;
                for (side, body) in [a, b].into_iter().enumerate() {
                    t.extend((0..6).map(|c| {
                        (row, (6 * body + c) as u32, ((k * 31 + r * 7 + c * 3 + side) as f64).sin())
                    }));
                }
                t.push((row, row, -0.01 * (1.0 + r as f64)));
            }
        }
        let size = n + 3 * pairs.len();
        (
            Csr::from_triplets(size, size, &t),
            (0..size).map(|i| if i < n { 1 } else { -1 }).collect(),
        )
    }

    #[test]
    fn solves_and_solves_again() {
        for side in [1, 2, 5, 12] {
            let (mut a, signs) = packing(side);
            let mut solver =
                Fronts::analyse(&a, &(0..a.rows as u32).map(|i| i / 3).collect::<Vec<u32>>());
            for _ in 0..2 {
                solver.factor(&a.values, &signs).unwrap();
                let x: Vec<f64> = (0..a.rows).map(|i| (i as f64 * 0.7).cos()).collect();
                let mut b = a.mul_symmetric(&x);
                solver.solve(&mut b);
                for (got, want) in b.iter().zip(&x) {
                    // Condition of some thousands.
                    assert!((got - want).abs() < 1e-10, "side {side}: {got} {want}");
                }
                a.values.iter_mut().for_each(|v| *v *= 3.0);
            }
        }
    }

    #[test]
    fn a_wrong_sign_and_a_nan_name_their_unknown() {
        let (mut a, signs) = packing(3);
        let mut solver =
            Fronts::analyse(&a, &(0..a.rows as u32).map(|i| i / 3).collect::<Vec<u32>>());
        for wrong in [-1.0, 0.0, f64::NAN] {
            a.values[0] = wrong;
            assert!(solver.factor(&a.values, &signs).is_err());
        }
        a.values[0] = 1.0;
        assert!(solver.factor(&a.values, &signs).is_ok());
    }

    proptest! {
        /// Any pattern: a dominant diagonal of either sign.
        #[test]
        fn any_pattern(n in 1usize..80, pairs in prop::collection::vec((0u32..80, 0u32..80),
        0..300)) {
            let mut t: Vec<(u32, u32, f64)> = pairs.iter().map(|&(a, b)| (a % n as u32,
            b % n as u32)).filter(|(a, b)| a > b)
                .map(|(a, b)| (a, b, (f64::from(a) * 3.0 + f64::from(b)).sin())).collect();
            t.sort_by_key(|x| (x.0, x.1));
            t.dedup_by_key(|x| (x.0, x.1));
            let sign = |i: u32| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            t.extend((0..n as u32).map(|i| (i, i, sign(i) * 90.0)));
            let a = Csr::from_triplets(n, n, &t);
            let signs: Vec<i8> = (0..n as u32).map(|i| sign(i) as i8).collect();
            let mut solver = Fronts::analyse(&a,
            &(0..a.rows as u32).map(|i| i / 3).collect::<Vec<u32>>());
            solver.factor(&a.values, &signs).unwrap();
            let x: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let mut b = a.mul_symmetric(&x);
            solver.solve(&mut b);
            prop_assert!(b.iter().zip(&x).all(|(g, w)| (g - w).abs() < 1e-12));
        }
    }
}
