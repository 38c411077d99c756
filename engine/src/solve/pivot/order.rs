//! The order of elimination of `[H Jᵀ; J −E]`.
//!
//! 1. A row comes right after the last of its columns: then its pivot is `−(W of the row, given the rows before)`,
//!    negative for independent rows without any compliance, and what a pinned body has cancelled is cancelled where it arises.
//! 2. Light bodies come first where masses differ much: a light body that is pinned passes on the small inverse mass of
//!    its heavy neighbour, with the rounding of a difference of neighbours and not of the extremes of the whole stack.
//! 3. Otherwise the body comes next whose elimination leaves the smallest front (minimum degree on the quotient
//!    graph, as in [AmestoyDavisDuff1996] with exact degrees).

use crate::math::cliques::Cliques;
use crate::math::ldlt::{Ldlt, Ordering};
use crate::math::sparse::Csr;
use crate::math::updatable::Updatable;
use crate::problem::Problem;

/// Cliques up to this size are one node.
const WHOLE: usize = 48;
/// Masses that differ by more than this are ordered by mass, in classes of a factor 4.
const UNEQUAL: f64 = 100.0;

/// The factor with the least fill among the orders that qualify; unknowns are the n velocities, then the m rows.
pub(super) fn analyse(problem: &Problem, lower: &Csr) -> Updatable {
    let graph = Graph::new(problem);
    let equal = graph.class.iter().all(|&c| c == 0);
    let mut best = Updatable::analyse(lower, &graph.eliminate(problem));
    if equal {
        // Two more, from the approximate minimum degree of the whole matrix and of H + JᵀJ.
        for pattern in [None, Some(coupled(problem))] {
            let other = Updatable::analyse(lower, &approximate(problem, pattern.as_ref().unwrap_or(lower)));
            if other.factor_len() < best.factor_len() {
                best = other;
            }
        }
    }
    best
}

/// The columns in the order of approximate minimum degree of a pattern, each row after the last of its columns.
fn approximate(problem: &Problem, pattern: &Csr) -> Vec<u32> {
    let n = problem.n();
    let mut columns = Vec::with_capacity(n);
    Ldlt::analyse(pattern, Ordering::Amd).pivots(|unknown, _| columns.extend((unknown < n).then_some(unknown as u32)));
    let mut place = vec![0; n];
    columns.iter().enumerate().for_each(|(p, &j)| place[j as usize] = p + 1);
    // Rows by the place of their last column; 0 for rows without columns.
    let mut after: Vec<Vec<u32>> = vec![Vec::new(); n + 1];
    for block in problem.J.blocks() {
        let last = block.columns.iter().map(|&j| place[j as usize]).max().unwrap_or(0);
        after[last].extend(block.range().map(|i| (n + i) as u32));
    }
    let mut order = after[0].clone();
    for (p, &j) in columns.iter().enumerate() {
        order.push(j);
        order.extend_from_slice(&after[p + 1]);
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

/// Nodes are groups of columns; row groups (rows with the same columns) hang between them.
struct Graph {
    /// Columns of each node.
    columns: Vec<Vec<u32>>,
    /// Class of mass: lower ones go first.
    class: Vec<u32>,
    /// Nodes coupled by H.
    coupled: Vec<Vec<u32>>,
    /// Row groups of each node, and nodes of each row group.
    groups: Vec<Vec<u32>>,
    nodes: Vec<Vec<u32>>,
    /// The rows of each group.
    rows: Vec<Vec<u32>>,
    /// Elements (fronts left behind) that a node or a row group belongs to.
    node_elements: Vec<Vec<u32>>,
    group_elements: Vec<Vec<u32>>,
    /// Nodes and row groups in each element; empty when absorbed.
    elements: Vec<(Vec<u32>, Vec<u32>)>,
    /// Columns of a group that are not eliminated yet.
    waiting: Vec<usize>,
    done: Vec<bool>,
    /// Who was counted in the present front.
    stamp: u32,
    node_mark: Vec<u32>,
    group_mark: Vec<u32>,
}

impl Graph {
    fn new(problem: &Problem) -> Graph {
        let cliques = Cliques::of_matrix(&problem.H);
        let mut node_of = vec![0u32; problem.n()];
        let mut columns: Vec<Vec<u32>> = Vec::new();
        for c in 0..cliques.len() {
            let members = cliques.members(c);
            let size = if members.len() <= WHOLE { members.len() } else { 1 };
            for part in members.chunks(size) {
                part.iter().for_each(|&j| node_of[j as usize] = columns.len() as u32);
                columns.push(part.to_vec());
            }
        }
        let count = columns.len();
        let mut coupled = vec![Vec::new(); count];
        for i in 0..problem.n() {
            let node = node_of[i];
            coupled[node as usize].extend(problem.H.row(i).0.iter().map(|&j| node_of[j as usize]).filter(|&other| other != node));
        }
        coupled.iter_mut().for_each(unique);
        let (mut groups, mut nodes, mut rows) = (vec![Vec::new(); count], Vec::<Vec<u32>>::new(), Vec::<Vec<u32>>::new());
        let mut last: Option<&[u32]> = None;
        for block in problem.J.blocks() {
            if last != Some(block.columns) {
                let mut touched: Vec<u32> = block.columns.iter().map(|&j| node_of[j as usize]).collect();
                unique(&mut touched);
                touched.iter().for_each(|&node| groups[node as usize].push(nodes.len() as u32));
                nodes.push(touched);
                rows.push(Vec::new());
                last = Some(block.columns);
            }
            rows.last_mut().expect("a group was just made").extend(block.range().map(|i| i as u32));
        }
        let class = classes(problem, &columns);
        let (group_count, waiting) = (nodes.len(), nodes.iter().map(Vec::len).collect());
        Graph {
            columns,
            class,
            coupled,
            groups,
            nodes,
            rows,
            node_elements: vec![Vec::new(); count],
            group_elements: vec![Vec::new(); group_count],
            elements: Vec::new(),
            waiting,
            done: vec![false; count],
            stamp: 0,
            node_mark: vec![0; count],
            group_mark: vec![0; group_count],
        }
    }

    fn eliminate(mut self, problem: &Problem) -> Vec<u32> {
        let n = problem.n() as u32;
        let mut order = Vec::with_capacity(problem.n() + problem.rows());
        // Rows without columns stand alone, anywhere.
        for g in 0..self.nodes.len() {
            if self.nodes[g].is_empty() {
                order.extend(self.rows[g].iter().map(|i| n + i));
            }
        }
        let mut keys: Vec<(u32, usize)> = (0..self.columns.len()).map(|node| (self.class[node], self.front(node))).collect();
        for _ in 0..self.columns.len() {
            let Some(node) = (0..keys.len()).filter(|&p| !self.done[p]).min_by_key(|&p| keys[p]) else { break };
            order.extend_from_slice(&self.columns[node]);
            let ready = self.absorb(node);
            for &g in &ready {
                order.extend(self.rows[g as usize].iter().map(|i| n + i));
            }
            // The fronts of those that the new element touches have changed.
            let (mut changed, front_groups) = self.elements.last().cloned().unwrap_or_default();
            for &g in &front_groups {
                changed.extend_from_slice(&self.nodes[g as usize]);
            }
            unique(&mut changed);
            for other in changed {
                if !self.done[other as usize] {
                    keys[other as usize].1 = self.front(other as usize);
                }
            }
        }
        order
    }

    /// The number of unknowns in the front that eliminating `node` would leave.
    fn front(&mut self, node: usize) -> usize {
        let mut touched: Vec<u32> = self.node_elements[node].clone();
        self.stamp += 1;
        let stamp = self.stamp;
        self.node_mark[node] = stamp;
        let mut size = 0;
        for &o in &self.coupled[node] {
            size += fresh(&mut self.node_mark, o, stamp, !self.done[o as usize], self.columns[o as usize].len());
        }
        for &g in &self.groups[node] {
            if self.waiting[g as usize] == 1 {
                touched.extend_from_slice(&self.group_elements[g as usize]);
            }
            size += fresh(&mut self.group_mark, g, stamp, self.waiting[g as usize] > 1, self.rows[g as usize].len());
        }
        unique(&mut touched);
        for &e in &touched {
            let (nodes, groups) = &self.elements[e as usize];
            for &o in nodes {
                size += fresh(&mut self.node_mark, o, stamp, !self.done[o as usize], self.columns[o as usize].len());
            }
            for &g in groups {
                size += fresh(&mut self.group_mark, g, stamp, self.waiting[g as usize] > 0, self.rows[g as usize].len());
            }
        }
        size
    }

    /// Eliminates `node` and the row groups that were waiting for it alone; what they leave is a new element.
    fn absorb(&mut self, node: usize) -> Vec<u32> {
        self.done[node] = true;
        let (mut ready, mut front_groups) = (Vec::new(), Vec::new());
        let mut touched = std::mem::take(&mut self.node_elements[node]);
        for &g in &self.groups[node] {
            self.waiting[g as usize] -= 1;
            if self.waiting[g as usize] == 0 {
                ready.push(g);
                touched.append(&mut self.group_elements[g as usize]);
            } else {
                front_groups.push(g);
            }
        }
        let mut front_nodes: Vec<u32> = self.coupled[node].clone();
        unique(&mut touched);
        for &e in &touched {
            let (nodes, groups) = std::mem::take(&mut self.elements[e as usize]);
            front_nodes.extend(nodes);
            front_groups.extend(groups);
        }
        unique(&mut front_nodes);
        unique(&mut front_groups);
        front_nodes.retain(|&o| !self.done[o as usize]);
        front_groups.retain(|&g| self.waiting[g as usize] > 0);
        let element = self.elements.len() as u32;
        let lists = front_nodes.iter().map(|&o| (true, o)).chain(front_groups.iter().map(|&g| (false, g)));
        for (is_node, p) in lists {
            let list = if is_node { &mut self.node_elements[p as usize] } else { &mut self.group_elements[p as usize] };
            list.retain(|e| touched.binary_search(e).is_err());
            list.push(element);
        }
        self.elements.push((front_nodes, front_groups));
        ready
    }
}

/// The class of mass of each node: all equal unless masses differ much.
fn classes(problem: &Problem, columns: &[Vec<u32>]) -> Vec<u32> {
    // The mean logarithm of the diagonal: √(mass · inertia) of a rigid body.
    let mean = |part: &Vec<u32>| {
        part.iter().map(|&j| problem.H.get(j as usize, j as usize).abs().max(1e-300).ln()).sum::<f64>() / part.len() as f64
    };
    let masses: Vec<f64> = columns.iter().map(mean).collect();
    let least = masses.iter().copied().fold(f64::INFINITY, f64::min);
    let most = masses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most - least <= UNEQUAL.ln() {
        return vec![0; columns.len()];
    }
    masses.iter().map(|x| ((x - least) / 4f64.ln()) as u32).collect()
}

/// `size` if `p` counts and was not yet seen under this stamp, else 0.
fn fresh(marks: &mut [u32], p: u32, stamp: u32, counts: bool, size: usize) -> usize {
    let seen = std::mem::replace(&mut marks[p as usize], stamp) == stamp;
    if counts && !seen { size } else { 0 }
}

fn unique(list: &mut Vec<u32>) {
    list.sort_unstable();
    list.dedup();
}
