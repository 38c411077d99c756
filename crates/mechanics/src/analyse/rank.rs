//! Which rows of J depend on others.
//!
//! Rows that share a body form a component. Each component is orthogonalised row by row, in the
//! order given:
//!
//! ```text
//!   g = row / ‖row‖  in unknowns scaled by √H_jj;     d = ‖g − Q Qᵀ g‖,     d ≤ 1e-9: g depends on the rows before it
//! ```
//!
//! Every dependent row yields a vector z with zᵀJ = 0: reactions that cancel each other.
//! Orthogonalising twice keeps Q orthogonal to rounding (Giraud2005), so that d is exact to about
//! 1e-15; a Cholesky factor of JH⁻¹Jᵀ would see only d².
//!
//! Cost: 4 m·rank·n per component. Components of more than [`MAX_ORTHOGONALISED_ROWS`] rows are
//! made smaller first:
//!
//! 1. If all rows of a body are independent in its own unknowns, no other row can cancel them, and
//!    none of them takes part in a dependency: they leave, and so does the body. Trees vanish.
//! 2. What is left is orthogonalised if it has at most [`MAX_ORTHOGONALISED_ROWS`] rows.
//! 3. Otherwise the sparse factor of [`Semidefinite`] counts the dependent rows; who else takes
//!    part is not told. Above [`MAX_GRAM_ENTRIES`] the rest is taken as independent, undecided.

use crate::math::ldlt::Semidefinite;
use crate::math::sparse::Csr;
use crate::math::{dot, norm};

/// A row nearer than this to the span of the rows before it, relative to its length, depends on
/// them.
pub const DEPENDENT_RELATIVE_DISTANCE: f64 = 1e-9;
/// Largest component that is orthogonalised.
pub const MAX_ORTHOGONALISED_ROWS: usize = 1500;

/// Entries of the Gram matrix of a component at most, each counted as often as it is added to:
/// 16 bytes each. A body with n rows has n² of them in each of its unknowns.
pub const MAX_GRAM_ENTRIES: usize = 4_000_000;
/// A row nearer than this to the rows before it, in the unknowns of one body, does not leave.
const CLEARLY_INDEPENDENT: f64 = 1e-6;

/// A row over some unknowns.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The unknowns, ascending.
    pub columns: Vec<u32>,
    /// Their coefficients.
    pub values: Vec<f64>,
}

/// Rows that share unknowns, directly or through others.
#[derive(Clone, Debug, Default)]
pub struct Component {
    /// The rows, ascending.
    pub rows: Vec<usize>,
    /// Owners of unknowns (bodies) that take part, ascending.
    pub owners: Vec<u32>,
    /// How many rows are independent.
    pub rank: usize,
    /// Rows that depend on rows before them, ascending.
    pub dependent: Vec<usize>,
    /// The distance of each row (in the order of `rows`) from the span of the rows before it,
    /// relative to its length.
    pub distance: Vec<f64>,
    /// An orthonormal basis of the reactions that cancel each other, over `rows`, each row taken
    /// with length 1; empty if not decided.
    pub null: Vec<Vec<f64>>,
    /// False if the component was too large: who depends on whom is not known.
    pub decided: bool,
    /// True if it was so large that all rows but those found dependent are taken as independent.
    pub uncounted: bool,
}

/// Cuts rows into components and finds their ranks. `owner` says which body an unknown belongs to.
pub fn rank(rows: &[Row], scale: &[f64], owner: &[u32]) -> Vec<Component> {
    let mut components = components(rows, owner);
    for component in &mut components {
        let scaled: Vec<Row> = component.rows.iter().map(|&i| scaled(&rows[i], scale)).collect();
        if component.rows.len() > MAX_ORTHOGONALISED_ROWS {
            reduced(component, &scaled, owner);
        } else {
            orthogonalise(component, &scaled);
        }
    }
    components
}

/// The row in scaled unknowns, of length 1 (or 0).
fn scaled(row: &Row, scale: &[f64]) -> Row {
    let mut values: Vec<f64> =
        row.columns.iter().zip(&row.values).map(|(&j, x)| x / scale[j as usize]).collect();
    let length = norm(&values);
    if length > 0.0 {
        values.iter_mut().for_each(|x| *x /= length);
    }
    Row { columns: row.columns.clone(), values }
}

fn components(rows: &[Row], owner: &[u32]) -> Vec<Component> {
    let count = owner.iter().map(|&o| o as usize + 1).max().unwrap_or(0);
    let mut parent: Vec<usize> = (0..count).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for row in rows {
        for pair in row.columns.windows(2) {
            let (a, b) = (
                root(&mut parent, owner[pair[0] as usize] as usize),
                root(&mut parent, owner[pair[1] as usize] as usize),
            );
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut out: Vec<Component> = Vec::new();
    let mut place = vec![usize::MAX; count];
    for (i, row) in rows.iter().enumerate() {
        let Some(&column) = row.columns.first() else { continue };
        let home = root(&mut parent, owner[column as usize] as usize);
        if place[home] == usize::MAX {
            place[home] = out.len();
            out.push(Component { decided: true, ..Component::default() });
        }
        let component = &mut out[place[home]];
        component.rows.push(i);
        component.owners.extend(row.columns.iter().map(|&j| owner[j as usize]));
    }
    for component in &mut out {
        component.owners.sort_unstable();
        component.owners.dedup();
    }
    out
}

fn orthogonalise(component: &mut Component, rows: &[Row]) {
    // Unknowns of the component, renumbered.
    let mut unknowns: Vec<u32> = rows.iter().flat_map(|r| r.columns.iter().copied()).collect();
    unknowns.sort_unstable();
    unknowns.dedup();
    let place = |j: u32| unknowns.binary_search(&j).expect("every column was collected");
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // Row k of the triangle: coefficients of the k-th independent row over the basis.
    let mut triangle: Vec<(usize, Vec<f64>)> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let mut g = vec![0.0; unknowns.len()];
        row.columns.iter().zip(&row.values).for_each(|(&j, x)| g[place(j)] += x);
        let mut coefficients = vec![0.0; basis.len()];
        for _ in 0..2 {
            for (c, q) in coefficients.iter_mut().zip(&basis) {
                let share = dot(q, &g);
                *c += share;
                g.iter_mut().zip(q).for_each(|(g, q)| *g -= share * q);
            }
        }
        let distance = norm(&g);
        component.distance.push(distance);
        if distance > DEPENDENT_RELATIVE_DISTANCE {
            g.iter_mut().for_each(|x| *x /= distance);
            basis.push(g);
            coefficients.push(distance);
            triangle.push((i, coefficients));
        } else {
            component.dependent.push(component.rows[i]);
            component.null.push(cancelling(i, coefficients, &triangle, rows.len()));
        }
    }
    component.rank = basis.len();
    orthonormal(&mut component.null);
}

/// The vector z with zᵀJ = 0 and z_i = 1, all others among the independent rows.
fn cancelling(i: usize, mut c: Vec<f64>, triangle: &[(usize, Vec<f64>)], rows: usize) -> Vec<f64> {
    let mut z = vec![0.0; rows];
    z[i] = 1.0;
    for (k, (row, coefficients)) in triangle.iter().enumerate().rev() {
        let share = c[k] / coefficients[k];
        z[*row] = -share;
        c.iter_mut().zip(coefficients).for_each(|(c, x)| *c -= share * x);
    }
    z
}

fn orthonormal(vectors: &mut [Vec<f64>]) {
    for i in 0..vectors.len() {
        let (done, rest) = vectors.split_at_mut(i);
        let v = &mut rest[0];
        for _ in 0..2 {
            for q in done.iter() {
                let share = dot(q, v);
                v.iter_mut().zip(q).for_each(|(v, q)| *v -= share * q);
            }
        }
        let length = norm(v);
        v.iter_mut().for_each(|x| *x /= length);
    }
}

/// A large component: the rows that a dependency can hold, and their rank.
fn reduced(component: &mut Component, rows: &[Row], owner: &[u32]) {
    let left = cyclic(rows, owner);
    let rest: Vec<Row> = left.iter().map(|&i| rows[i].clone()).collect();
    let mut inner = Component {
        rows: left.iter().map(|&i| component.rows[i]).collect(),
        decided: true,
        ..Component::default()
    };
    if rest.len() > MAX_ORTHOGONALISED_ROWS {
        count(&mut inner, &rest);
    } else {
        orthogonalise(&mut inner, &rest);
    }
    component.rank = rows.len() - inner.dependent.len();
    component.dependent = inner.dependent;
    component.decided = inner.decided;
    component.uncounted = inner.uncounted;
    component.null = inner
        .null
        .iter()
        .map(|z| {
            let mut whole = vec![0.0; rows.len()];
            left.iter().zip(z).for_each(|(&i, z)| whole[i] = *z);
            whole
        })
        .collect();
}

/// The rows that are left when bodies whose rows are independent in their own unknowns leave with
/// these rows, one after the other.
fn cyclic(rows: &[Row], owner: &[u32]) -> Vec<usize> {
    let count = owner.iter().map(|&o| o as usize + 1).max().unwrap_or(0);
    let owners = |i: usize| {
        let mut list: Vec<usize> =
            rows[i].columns.iter().map(|&j| owner[j as usize] as usize).collect();
        list.dedup();
        list
    };
    let mut meets: Vec<Vec<usize>> = vec![Vec::new(); count];
    for i in 0..rows.len() {
        owners(i).into_iter().for_each(|o| meets[o].push(i));
    }
    let mut alive = vec![true; rows.len()];
    let mut degree: Vec<usize> = meets.iter().map(Vec::len).collect();
    let mut queue: Vec<usize> = (0..count).collect();
    while let Some(o) = queue.pop() {
        // A body has six unknowns: more rows than that depend on each other there.
        if degree[o] == 0 || degree[o] > 6 {
            continue;
        }
        let own: Vec<usize> = meets[o].iter().copied().filter(|&i| alive[i]).collect();
        if !independent_within(o as u32, own.iter().map(|&i| &rows[i]), owner) {
            continue;
        }
        for i in own {
            alive[i] = false;
            for other in owners(i) {
                degree[other] -= 1;
                queue.push(other);
            }
        }
    }
    (0..rows.len()).filter(|&i| alive[i]).collect()
}

/// Whether rows are independent in the unknowns of one body.
fn independent_within<'a>(body: u32, rows: impl Iterator<Item = &'a Row>, owner: &[u32]) -> bool {
    let mut basis: Vec<Vec<(u32, f64)>> = Vec::new();
    for row in rows {
        let mut g: Vec<(u32, f64)> = row
            .columns
            .iter()
            .zip(&row.values)
            .filter(|(j, _)| owner[**j as usize] == body)
            .map(|(&j, &x)| (j, x))
            .collect();
        let share = |q: &[(u32, f64)], j: u32| q.iter().find(|e| e.0 == j).map_or(0.0, |e| e.1);
        for q in basis.iter().chain(&basis) {
            let along: f64 = g.iter().map(|&(j, x)| x * share(q, j)).sum();
            g.iter_mut().for_each(|(j, x)| *x -= along * share(q, *j));
            // Unknowns that only q has.
            let more: Vec<(u32, f64)> = q
                .iter()
                .filter(|e| g.iter().all(|h| h.0 != e.0))
                .map(|&(j, x)| (j, -along * x))
                .collect();
            g.extend(more);
        }
        let length = norm(&g.iter().map(|e| e.1).collect::<Vec<_>>());
        if !(length > CLEARLY_INDEPENDENT) {
            return false;
        }
        g.iter_mut().for_each(|e| e.1 /= length);
        basis.push(g);
    }
    true
}

/// Only the number of dependent rows, by a sparse factor of the Gram matrix.
fn count(component: &mut Component, rows: &[Row]) {
    let mut by_column: std::collections::BTreeMap<u32, Vec<(u32, f64)>> = Default::default();
    for (i, row) in rows.iter().enumerate() {
        for (&j, &x) in row.columns.iter().zip(&row.values) {
            by_column.entry(j).or_default().push((i as u32, x));
        }
    }
    let entries = by_column.values().map(|c| c.len().saturating_mul(c.len()));
    if entries.fold(0, usize::saturating_add) > MAX_GRAM_ENTRIES {
        (component.decided, component.uncounted) = (false, true);
        return;
    }
    let mut triplets = Vec::new();
    for entries in by_column.values() {
        for &(i, x) in entries {
            triplets.extend(entries.iter().map(|&(j, y)| (i, j, x * y)));
        }
    }
    let factor = Semidefinite::factor(&Csr::from_triplets(rows.len(), rows.len(), &triplets));
    component.dependent = factor.dependent().into_iter().map(|i| component.rows[i]).collect();
    component.decided = component.dependent.is_empty();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64]) -> Row {
        let columns =
            (0..values.len() as u32).filter(|&j| values[j as usize] != 0.0).collect::<Vec<_>>();
        Row { values: columns.iter().map(|&j| values[j as usize]).collect(), columns }
    }

    #[test]
    fn a_sum_of_rows_is_found_with_its_null_vector() {
        let rows = [
            row(&[1.0, 2.0, 0.0, 0.0]),
            row(&[0.0, 1.0, 1.0, 0.0]),
            row(&[2.0, 6.0, 2.0, 0.0]),
            row(&[0.0, 0.0, 0.0, 5.0]),
        ];
        let found = rank(&rows, &[1.0, 4.0, 0.5, 1.0], &[0, 1, 2, 3]);
        assert_eq!(found.len(), 2, "the last row stands alone");
        assert_eq!(
            (found[0].rank, &found[0].dependent[..], &found[0].owners[..]),
            (2, &[2][..], &[0, 1, 2][..])
        );
        // Rounding of three rows.
        let z = &found[0].null[0];
        assert!((norm(z) - 1.0).abs() < 1e-15 && z.iter().all(|x| x.abs() > 0.1), "{z:?}");
        assert_eq!((found[1].rank, found[1].null.len()), (1, 0));
        // A row off by 1e-6 is independent, and its distance says by how much.
        let rows = [row(&[1.0, 0.0]), row(&[1.0, 1e-6])];
        let found = rank(&rows, &[1.0, 1.0], &[0, 0]);
        assert!(found[0].rank == 2 && (found[0].distance[1] - 1e-6).abs() < 1e-15);
    }

    #[test]
    fn a_long_chain_is_counted() {
        let n = MAX_ORTHOGONALISED_ROWS + 100;
        let mut rows: Vec<Row> = (0..n as u32)
            .map(|i| Row { columns: vec![i, i + 1], values: vec![1.0, -1.0] })
            .collect();
        let owner: Vec<u32> = (0..n as u32 + 1).collect();
        let found = rank(&rows, &vec![1.0; n + 1], &owner);
        assert!(found[0].decided && found[0].rank == n);
        rows.push(rows[7].clone());
        let found = rank(&rows, &vec![1.0; n + 1], &owner);
        assert!(found[0].decided && found[0].rank == n && found[0].dependent == [n]);
        let z = &found[0].null[0];
        assert!((z[7] + z[n]).abs() < 1e-15 && (z[n].abs() - 0.5f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn many_joints_on_one_body_need_no_matrix_of_all_pairs() {
        // Body 0 meets each of the others in three rows; the Gram matrix would be full.
        let bodies = 5000u32;
        let joint = |b: u32, i: u32| Row { columns: vec![i, 6 * b + i], values: vec![1.0, -1.0] };
        let mut rows: Vec<Row> = (1..bodies)
            .flat_map(|b| (0..3).map(move |i| (b, i)))
            .map(|(b, i)| joint(b, i))
            .collect();
        let owner: Vec<u32> = (0..6 * bodies).map(|j| j / 6).collect();
        let scale = vec![1.0; owner.len()];
        let found = rank(&rows, &scale, &owner);
        assert!(found[0].decided && found[0].rank == rows.len() && found[0].owners.len() == 5000);
        rows.push(joint(17, 2));
        let found = rank(&rows, &scale, &owner);
        assert!(found[0].decided && found[0].dependent == [rows.len() - 1]);
    }

    #[test]
    fn what_is_too_large_is_not_decided() {
        let rows: Vec<Row> = (0..2500)
            .map(|i| Row { columns: vec![0, 1], values: vec![1.0, f64::from(i)] })
            .collect();
        let found = rank(&rows, &[1.0, 1.0], &[0, 1]);
        assert!(!found[0].decided && found[0].uncounted && found[0].null.is_empty());
    }
}
