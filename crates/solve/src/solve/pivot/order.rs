//! The order of elimination of `[H Jᵀ; J −E]`.
//!
//! 1. A row comes after the last of its columns: then its pivot is
//!    `−(W of the row, given the rows before)`, negative for independent rows without any
//!    compliance.
//! 2. Where masses differ much, light bodies come first and each row right after its last column: a
//!    light body that is pinned passes on the small inverse mass of its heavy neighbour, with the
//!    rounding of a difference of neighbours and not of the extremes of the whole stack.
//! 3. Otherwise the order is that of least fill ([`crate::math::order`]), of the whole matrix or of
//!    `H + JᵀJ`, whichever fills less.

use crate::math::cliques::Cliques;
use crate::math::ldlt::Updatable;
use crate::math::order::Elimination;
use crate::math::sparse::Csr;
use crate::problem::Problem;
use std::collections::BTreeMap;

/// Cliques up to this size are one node.
const MAX_NODE_UNKNOWNS: usize = 48;
/// Masses in so many different classes (of a factor 4 each) are ordered by mass: a heavy container
/// around its contents makes two, a stack of growing weights many.
const MIN_MASS_CLASSES: usize = 5;

/// The factor with the least fill among the orders that qualify; unknowns are the n velocities,
/// then the m rows.
pub(super) fn analyse(problem: &Problem, lower: &Csr) -> Updatable {
    let rows = Rows::of(problem);
    let mut columns: Vec<u32> = (0..problem.n() as u32).collect();
    let (node_of, count) = nodes(problem);
    if let Some(class) = classes(problem, &node_of, count) {
        let node = |j: u32| node_of[j as usize];
        columns.sort_by_key(|&j| (class[node(j) as usize], node(j), j));
        return Updatable::analyse(lower, &rows.after(&columns));
    }
    // The order of the whole matrix, and that of H + JᵀJ.
    let least_fill = |pattern: &Csr| {
        let blocks: Vec<u32> = (0..pattern.rows as u32).collect();
        Updatable::analyse(lower, &rows.after(&Elimination::of(pattern, &blocks).order))
    };
    let (whole, coupled) = (least_fill(lower), least_fill(&coupled(problem)));
    if coupled.factor_len() < whole.factor_len() { coupled } else { whole }
}

/// Rows by their columns, and the other way round.
struct Rows {
    n: usize,
    by_column: Csr,
    /// How many columns each row has.
    counts: Vec<usize>,
}

impl Rows {
    fn of(problem: &Problem) -> Rows {
        let rows = problem.J.to_csr();
        let counts = (0..rows.rows).map(|i| rows.row(i).0.len()).collect();
        Rows { n: problem.n(), by_column: rows.transposed(), counts }
    }

    /// The same order, but each row after the last of its columns; a row that `proposed` does not
    /// know comes right after it.
    fn after(&self, proposed: &[u32]) -> Vec<u32> {
        let (n, mut waiting) = (self.n, self.counts.clone());
        let mut order = Vec::with_capacity(n + waiting.len());
        let mut called = vec![proposed.len() == n; waiting.len()];
        // Rows without columns wait for nobody.
        if proposed.len() == n {
            let free = (0..waiting.len()).filter(|&row| waiting[row] == 0);
            order.extend(free.map(|row| (n + row) as u32));
        }
        for &p in proposed {
            if p as usize >= n {
                let row = p as usize - n;
                called[row] = true;
                order.extend((waiting[row] == 0).then_some(p));
                continue;
            }
            order.push(p);
            for &row in self.by_column.row(p as usize).0 {
                waiting[row as usize] -= 1;
                if waiting[row as usize] == 0 && called[row as usize] {
                    order.push(n as u32 + row);
                }
            }
        }
        order
    }
}

/// The lower triangle of the pattern of H + JᵀJ.
fn coupled(problem: &Problem) -> Csr {
    let n = problem.n();
    let mut lists: Vec<Vec<u32>> = (0..n).map(|i| problem.H.row(i).0.to_vec()).collect();
    for block in problem.J.blocks() {
        block.columns.iter().for_each(|&j| lists[j as usize].extend_from_slice(block.columns));
    }
    let mut out = Csr::empty(n, n);
    for (i, list) in lists.iter_mut().enumerate() {
        unique(list);
        out.columns.extend(list.iter().filter(|&&j| j as usize <= i));
        out.starts[i + 1] = out.columns.len();
    }
    out.values = vec![0.0; out.columns.len()];
    out
}

/// The node of each column, and how many there are: small cliques of H; columns that stand alone in
/// H belong together if they appear in the same blocks (the six of a rigid body).
fn nodes(problem: &Problem) -> (Vec<u32>, usize) {
    let cliques = Cliques::of_matrix(&problem.H);
    let mut blocks_of: Vec<Vec<u32>> = vec![Vec::new(); problem.n()];
    for (k, block) in problem.J.blocks().enumerate() {
        block.columns.iter().for_each(|&j| blocks_of[j as usize].push(k as u32));
    }
    let mut alike: BTreeMap<&[u32], u32> = BTreeMap::new();
    let (mut node_of, mut count) = (vec![0u32; problem.n()], 0);
    for c in 0..cliques.len() {
        let members = cliques.members(c);
        let size = if members.len() <= MAX_NODE_UNKNOWNS { members.len() } else { 1 };
        for part in members.chunks(size) {
            let shared = members.len() == 1 && !blocks_of[part[0] as usize].is_empty();
            let node = if shared {
                *alike.entry(&blocks_of[part[0] as usize]).or_insert(count)
            } else {
                count
            };
            count += u32::from(node == count);
            part.iter().for_each(|&j| node_of[j as usize] = node);
        }
    }
    (node_of, count as usize)
}

/// The class of mass of each node; none unless masses differ much. The mass is what the rows feel of
/// it, 1 / Σ J_ij² / H_jj, in the mean over its rows.
fn classes(problem: &Problem, node_of: &[u32], count: usize) -> Option<Vec<u32>> {
    let (mut sums, mut rows) = (vec![0.0; count], vec![0u32; count]);
    let mut felt: BTreeMap<u32, f64> = BTreeMap::new();
    for block in problem.J.blocks() {
        for i in 0..block.rows {
            felt.clear();
            for (&j, x) in block.columns.iter().zip(block.row(i)) {
                *felt.entry(node_of[j as usize]).or_default() +=
                    x * x / problem.H.get(j as usize, j as usize);
            }
            for (&node, &x) in felt.iter().filter(|f| *f.1 > 0.0) {
                sums[node as usize] -= x.ln();
                rows[node as usize] += 1;
            }
        }
    }
    let mass =
        |p: usize| if rows[p] > 0 { Some(sums[p] / f64::from(rows[p]) / 4f64.ln()) } else { None };
    let least = (0..count).filter_map(mass).fold(f64::INFINITY, f64::min);
    let classes: Vec<u32> =
        (0..count).map(|p| mass(p).map_or(0, |x| 1 + (x - least) as u32)).collect();
    let mut different = classes.clone();
    unique(&mut different);
    (different.iter().filter(|&&c| c > 0).count() >= MIN_MASS_CLASSES).then_some(classes)
}

fn unique(list: &mut Vec<u32>) {
    list.sort_unstable();
    list.dedup();
}
