//! The order of elimination of `[H Jᵀ; J −E]`.
//!
//! 1. A row comes after the last of its columns: then its pivot is
//!    `−(W of the row, given the rows before)`, negative for independent rows without any
//!    compliance.
//! 2. Where masses differ much, light bodies come first and each row right after its last column: a
//!    light body that is pinned passes on the small inverse mass of its heavy neighbour, with the
//!    rounding of a difference of neighbours and not of the extremes of the whole stack.
//! 3. Otherwise the body or row comes next whose elimination leaves the smallest front (minimum
//!    degree on the quotient graph, as in (AmestoyDavisDuff1996) with exact degrees).

use crate::math::cliques::Cliques;
use crate::math::ldlt::{Ldlt, Ordering, Updatable};
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
    let graph = Graph::new(problem);
    let equal = graph.class.iter().all(|&c| c == 0);
    let mut best = Updatable::analyse(lower, &graph.eliminate());
    if equal {
        // Two more, from the approximate minimum degree of the whole matrix and of H + JᵀJ.
        for pattern in [None, Some(coupled(problem))] {
            let other =
                Updatable::analyse(lower, &approximate(problem, pattern.as_ref().unwrap_or(lower)));
            if other.factor_len() < best.factor_len() {
                best = other;
            }
        }
    }
    best
}

/// The order of approximate minimum degree of a pattern, but each row after the last of its
/// columns.
fn approximate(problem: &Problem, pattern: &Csr) -> Vec<u32> {
    let n = problem.n();
    let mut proposed = Vec::with_capacity(n + problem.rows());
    Ldlt::analyse(pattern, Ordering::Amd).pivots(|unknown, _| proposed.push(unknown as u32));
    // Rows that the pattern does not know may come at once.
    let known = proposed.len() > n;
    let rows = problem.J.to_csr();
    let by_column = rows.transposed();
    let mut waiting: Vec<usize> = (0..rows.rows).map(|i| rows.row(i).0.len()).collect();
    let mut called: Vec<bool> = vec![!known; rows.rows];
    let mut order: Vec<u32> = if known {
        Vec::new()
    } else {
        (0..rows.rows).filter(|&i| waiting[i] == 0).map(|i| (n + i) as u32).collect()
    };
    for p in proposed {
        if p as usize >= n {
            let row = p as usize - n;
            called[row] = true;
            order.extend((waiting[row] == 0).then_some(p));
            continue;
        }
        order.push(p);
        for &row in by_column.row(p as usize).0 {
            waiting[row as usize] -= 1;
            if waiting[row as usize] == 0 && called[row as usize] {
                order.push(n as u32 + row);
            }
        }
    }
    order
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

/// The quotient graph. Variables are nodes (groups of columns that H couples densely), then groups
/// of rows with the same columns.
struct Graph {
    /// The unknowns of each variable; rows are numbered from n.
    unknowns: Vec<Vec<u32>>,
    /// Class of mass of each node: lower ones go first.
    class: Vec<u32>,
    /// Number of nodes.
    nodes: usize,
    /// Neighbours of each variable in the matrix.
    neighbours: Vec<Vec<u32>>,
    /// Nodes that a row group still waits for.
    waiting: Vec<usize>,
    /// Elements (fronts that eliminated variables left) of each variable, and the variables of each
    /// element (empty when absorbed).
    elements_of: Vec<Vec<u32>>,
    elements: Vec<Vec<u32>>,
    done: Vec<bool>,
    stamp: u32,
    marks: Vec<u32>,
}

impl Graph {
    fn new(problem: &Problem) -> Graph {
        let n = problem.n();
        let (node_of, mut unknowns) = nodes(problem);
        let nodes = unknowns.len();
        let class = classes(problem, &node_of, nodes);
        let mut neighbours = vec![Vec::new(); nodes];
        for i in 0..n {
            let node = node_of[i];
            neighbours[node as usize].extend(
                problem
                    .H
                    .row(i)
                    .0
                    .iter()
                    .map(|&j| node_of[j as usize])
                    .filter(|&other| other != node),
            );
        }
        let mut last: Option<&[u32]> = None;
        for block in problem.J.blocks() {
            if last != Some(block.columns) {
                let mut touched: Vec<u32> =
                    block.columns.iter().map(|&j| node_of[j as usize]).collect();
                unique(&mut touched);
                touched
                    .iter()
                    .for_each(|&node| neighbours[node as usize].push(unknowns.len() as u32));
                neighbours.push(touched);
                unknowns.push(Vec::new());
                last = Some(block.columns);
            }
            unknowns
                .last_mut()
                .expect("a group was just made")
                .extend(block.range().map(|i| (n + i) as u32));
        }
        neighbours.iter_mut().for_each(unique);
        let count = unknowns.len();
        let waiting = (0..count).map(|p| if p < nodes { 0 } else { neighbours[p].len() }).collect();
        Graph {
            unknowns,
            class,
            nodes,
            neighbours,
            waiting,
            elements_of: vec![Vec::new(); count],
            elements: Vec::new(),
            done: vec![false; count],
            stamp: 0,
            marks: vec![0; count],
        }
    }

    /// The order. Rows are eliminated right after their last column if masses differ, else when
    /// their turn comes.
    fn eliminate(mut self) -> Vec<u32> {
        let eager = self.class.iter().any(|&c| c > 0);
        let count = self.unknowns.len();
        let mut order = Vec::new();
        let mut keys: Vec<(u32, usize)> = Vec::with_capacity(count);
        for p in 0..count {
            keys.push((if p < self.nodes { self.class[p] } else { 0 }, self.front(p)));
        }
        let mut live: Vec<u32> = (0..count as u32).collect();
        while !live.is_empty() {
            let ready = live.iter().enumerate().filter(|(_, p)| self.waiting[**p as usize] == 0);
            let Some(at) = ready.min_by_key(|(_, p)| keys[**p as usize]).map(|(at, _)| at) else {
                break;
            };
            let chosen = live.swap_remove(at);
            let mut queue = vec![chosen];
            while let Some(p) = queue.pop() {
                order.extend_from_slice(&self.unknowns[p as usize]);
                let freed = self.absorb(p as usize);
                if eager {
                    live.retain(|q| !freed.contains(q));
                    queue.extend(freed);
                } else {
                    freed.iter().for_each(|&q| keys[q as usize].1 = self.front(q as usize));
                }
            }
            // The fronts of those that the new element holds have changed.
            for q in self.elements.last().cloned().unwrap_or_default() {
                if self.waiting[q as usize] == 0 {
                    keys[q as usize].1 = self.front(q as usize);
                }
            }
        }
        order
    }

    /// The number of unknowns in the front that eliminating `p` would leave.
    fn front(&mut self, p: usize) -> usize {
        self.stamp += 1;
        self.marks[p] = self.stamp;
        let lists = self.elements_of[p]
            .iter()
            .map(|&e| &self.elements[e as usize])
            .chain([&self.neighbours[p]]);
        let mut size = 0;
        for &q in lists.flatten() {
            if self.marks[q as usize] != self.stamp && !self.done[q as usize] {
                self.marks[q as usize] = self.stamp;
                size += self.unknowns[q as usize].len();
            }
        }
        size
    }

    /// Eliminates `p`: its front becomes a new element. Returns the row groups that now wait for
    /// nobody.
    fn absorb(&mut self, p: usize) -> Vec<u32> {
        self.done[p] = true;
        let touched = std::mem::take(&mut self.elements_of[p]);
        let mut front = std::mem::take(&mut self.neighbours[p]);
        let mut freed = Vec::new();
        if p < self.nodes {
            for &q in front.iter().filter(|&&q| q as usize >= self.nodes) {
                self.waiting[q as usize] -= 1;
                if self.waiting[q as usize] == 0 {
                    freed.push(q);
                }
            }
        }
        for &e in &touched {
            front.append(&mut self.elements[e as usize]);
        }
        unique(&mut front);
        front.retain(|&q| !self.done[q as usize]);
        let element = self.elements.len() as u32;
        for &q in &front {
            let list = &mut self.elements_of[q as usize];
            list.retain(|e| !touched.contains(e));
            list.push(element);
        }
        self.elements.push(front);
        freed
    }
}

/// The node of each column, and the columns of each node: small cliques of H; columns that stand
/// alone in H belong together if they appear in the same blocks (the six of a rigid body).
fn nodes(problem: &Problem) -> (Vec<u32>, Vec<Vec<u32>>) {
    let cliques = Cliques::of_matrix(&problem.H);
    let mut blocks_of: Vec<Vec<u32>> = vec![Vec::new(); problem.n()];
    for (k, block) in problem.J.blocks().enumerate() {
        block.columns.iter().for_each(|&j| blocks_of[j as usize].push(k as u32));
    }
    let mut alike: BTreeMap<&[u32], u32> = BTreeMap::new();
    let (mut node_of, mut unknowns) = (vec![0u32; problem.n()], Vec::<Vec<u32>>::new());
    for c in 0..cliques.len() {
        let members = cliques.members(c);
        let size = if members.len() <= MAX_NODE_UNKNOWNS { members.len() } else { 1 };
        for part in members.chunks(size) {
            let fresh = unknowns.len() as u32;
            let shared = members.len() == 1 && !blocks_of[part[0] as usize].is_empty();
            let node = if shared {
                *alike.entry(&blocks_of[part[0] as usize]).or_insert(fresh)
            } else {
                fresh
            };
            if node == fresh {
                unknowns.push(Vec::new());
            }
            unknowns[node as usize].extend_from_slice(part);
            part.iter().for_each(|&j| node_of[j as usize] = node);
        }
    }
    (node_of, unknowns)
}

/// The class of mass of each node: all equal unless masses differ much. The mass is what the rows
/// feel of it, 1 / Σ J_ij² / H_jj, in the mean over its rows.
fn classes(problem: &Problem, node_of: &[u32], count: usize) -> Vec<u32> {
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
    if different.iter().filter(|&&c| c > 0).count() < MIN_MASS_CLASSES {
        vec![0; count]
    } else {
        classes
    }
}

fn unique(list: &mut Vec<u32>) {
    list.sort_unstable();
    list.dedup();
}
