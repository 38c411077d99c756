//! R(A) as expressions: for straight-line code, and for counting.
//!
//! [`reflections`] is what is exported: the steps of [`super::factor`] with every operation written
//! out, constants folded. [`rotations`] is the published convention of counting (SymbolicQR):
//! Givens rotations, six operations per pair of entries (a rotation of two vanishing entries
//! divides by zero, which is why it only counts here).

use super::graph::{Binary, Graph, Id, Unary};
use super::pattern::Pattern;
use std::collections::HashMap;

/// R, by rows in order of elimination.
#[derive(Clone, Debug, Default)]
pub struct Unrolled {
    /// Column, diagonal entry, other entries.
    pub rows: Vec<(usize, Option<Id>, Vec<(usize, Id)>)>,
    columns: usize,
}

impl Unrolled {
    /// All entries of R.
    pub fn entries(&self) -> Vec<Id> {
        self.rows
            .iter()
            .flat_map(|(_, r, others)| r.iter().copied().chain(others.iter().map(|o| o.1)))
            .collect()
    }

    /// λ with `RᵀR λ = b`.
    pub fn solve(&self, graph: &mut Graph, b: &[Id]) -> Vec<Id> {
        let zero = graph.zero();
        let mut y = b.to_vec();
        for (column, diagonal, others) in &self.rows {
            y[*column] = diagonal.map_or(zero, |r| graph.div(y[*column], r));
            for &(k, r) in others {
                let product = graph.mul(r, y[*column]);
                y[k] = graph.sub(y[k], product);
            }
        }
        let mut lambda = vec![zero; self.columns];
        for (column, diagonal, others) in self.rows.iter().rev() {
            let mut s = y[*column];
            for &(k, r) in others {
                let product = graph.mul(r, lambda[k]);
                s = graph.sub(s, product);
            }
            lambda[*column] = diagonal.map_or(zero, |r| graph.div(s, r));
        }
        lambda
    }
}

/// R by reflections.
pub fn reflections(graph: &mut Graph, pattern: &Pattern, entries: &[Id]) -> Unrolled {
    let mut left: HashMap<(u32, u32), Id> =
        pattern.entries.iter().copied().zip(entries.iter().copied()).collect();
    let mut out = Unrolled { columns: pattern.columns, ..Unrolled::default() };
    for step in &pattern.steps {
        let zero = graph.zero();
        let get = |left: &HashMap<(u32, u32), Id>, row: u32, column: u32| {
            left.get(&(row, column)).copied().unwrap_or(zero)
        };
        let own: Vec<(u32, Id)> = step
            .rows
            .iter()
            .map(|&r| (r, get(&left, r, step.column)))
            .filter(|(_, x)| !graph.is_zero(*x))
            .collect();
        if own.len() > 1 {
            // The row that stands first keeps what remains of the column.
            let squares: Vec<(Id, Id)> = own.iter().map(|&(_, x)| (x, x)).collect();
            let square = graph.dot(&squares);
            let length = graph.unary(Unary::Sqrt, square);
            let length = graph.binary(Binary::Copysign, length, own[0].1);
            let first = graph.add(own[0].1, length);
            let product = graph.mul(length, first);
            let one = graph.constant(1.0);
            let beta = graph.div(one, product);
            let v: Vec<(u32, Id)> = own
                .iter()
                .enumerate()
                .map(|(i, &(row, x))| (row, if i == 0 { first } else { x }))
                .collect();
            left.insert((own[0].0, step.column), graph.neg(length));
            for &k in &step.columns {
                let pairs: Vec<(Id, Id)> =
                    v.iter().map(|&(row, x)| (x, get(&left, row, k))).collect();
                let s = graph.dot(&pairs);
                if graph.is_zero(s) {
                    continue;
                }
                let s = graph.mul(beta, s);
                for &(row, x) in &v {
                    let change = graph.mul(s, x);
                    let new = graph.sub(get(&left, row, k), change);
                    left.insert((row, k), new);
                }
            }
        }
        for &(row, _) in own.iter().skip(1) {
            left.remove(&(row, step.column));
        }
        if !step.last {
            // The row that goes on is the first: it must hold the column.
            if let (Some(&(kept, _)), Some(&planned)) = (own.first(), step.rows.first())
                && kept != planned
            {
                exchange(&mut left, kept, planned, step.column, &step.columns);
            }
            continue;
        }
        take(graph, &mut left, &mut out, step.column, own.first().map(|o| o.0), &step.columns);
        // A row that was to leave but had nothing in the column changes places with the one that
        // did.
        if let (Some(&(kept, _)), Some(&planned)) = (own.first(), step.rows.first())
            && kept != planned
        {
            for &k in &step.columns {
                if let Some(x) = left.remove(&(planned, k)) {
                    left.insert((kept, k), x);
                }
            }
        }
    }
    out
}

/// Two rows change places.
fn exchange(left: &mut HashMap<(u32, u32), Id>, a: u32, b: u32, column: u32, columns: &[u32]) {
    for &k in columns.iter().chain([&column]) {
        let (x, y) = (left.remove(&(a, k)), left.remove(&(b, k)));
        if let Some(x) = x {
            left.insert((b, k), x);
        }
        if let Some(y) = y {
            left.insert((a, k), y);
        }
    }
}

/// Moves a row into R.
fn take(
    graph: &Graph,
    left: &mut HashMap<(u32, u32), Id>,
    out: &mut Unrolled,
    column: u32,
    row: Option<u32>,
    columns: &[u32],
) {
    let Some(row) = row else {
        out.rows.push((column as usize, None, Vec::new()));
        return;
    };
    let diagonal = left.remove(&(row, column));
    let others = columns
        .iter()
        .filter_map(|&k| {
            left.remove(&(row, k)).filter(|x| !graph.is_zero(*x)).map(|x| (k as usize, x))
        })
        .collect();
    out.rows.push((column as usize, diagonal, others));
}

/// R by rotations, for counting.
pub fn rotations(graph: &mut Graph, pattern: &Pattern, entries: &[Id]) -> Unrolled {
    let mut rows: Vec<HashMap<u32, Id>> = vec![HashMap::new(); pattern.rows];
    for (&(row, column), &x) in pattern.entries.iter().zip(entries) {
        rows[row as usize].insert(column, x);
    }
    let mut holders: Vec<Vec<usize>> = vec![Vec::new(); pattern.columns];
    for &(row, column) in &pattern.entries {
        holders[column as usize].push(row as usize);
    }
    let mut out = Unrolled { columns: pattern.columns, ..Unrolled::default() };
    for step in pattern.steps.iter().filter(|s| s.last) {
        let j = step.column;
        let mut own: Vec<usize> =
            holders[j as usize].iter().copied().filter(|&r| rows[r].contains_key(&j)).collect();
        own.sort_unstable();
        own.dedup();
        // Short rows first: they fill the least.
        own.sort_by_key(|&r| (rows[r].len(), r));
        let Some((&pivot, rest)) = own.split_first() else {
            out.rows.push((j as usize, None, Vec::new()));
            continue;
        };
        for &other in rest {
            let (first, second) = rotate(graph, &rows[pivot], &rows[other], j);
            for &k in second.keys().filter(|k| !rows[other].contains_key(k)) {
                holders[k as usize].push(other);
            }
            (rows[pivot], rows[other]) = (first, second);
        }
        let mut row: Vec<(u32, Id)> = std::mem::take(&mut rows[pivot]).into_iter().collect();
        row.sort_unstable();
        let diagonal = row.iter().find(|e| e.0 == j).map(|e| e.1);
        out.rows.push((
            j as usize,
            diagonal,
            row.into_iter().filter(|e| e.0 != j).map(|(k, x)| (k as usize, x)).collect(),
        ));
    }
    out
}

/// Rotates two rows so that the second has nothing in column j.
fn rotate(
    graph: &mut Graph,
    a: &HashMap<u32, Id>,
    b: &HashMap<u32, Id>,
    j: u32,
) -> (HashMap<u32, Id>, HashMap<u32, Id>) {
    let (x, y) = (a[&j], b[&j]);
    let square = graph.dot(&[(x, x), (y, y)]);
    let r = graph.unary(Unary::Sqrt, square);
    let (c, s) = (graph.div(x, r), graph.div(y, r));
    let mut columns: Vec<u32> = a.keys().chain(b.keys()).copied().filter(|&k| k != j).collect();
    columns.sort_unstable();
    columns.dedup();
    let (mut first, mut second) = (HashMap::from([(j, r)]), HashMap::new());
    let zero = graph.zero();
    for k in columns {
        let (p, q) = (a.get(&k).copied().unwrap_or(zero), b.get(&k).copied().unwrap_or(zero));
        let new = graph.dot(&[(c, p), (s, q)]);
        let (up, down) = (graph.mul(c, q), graph.mul(s, p));
        let rest = graph.sub(up, down);
        for (row, x) in [(&mut first, new), (&mut second, rest)] {
            if !graph.is_zero(x) {
                row.insert(k, x);
            }
        }
    }
    (first, second)
}
