//! In which order the unknowns of a sparse symmetric matrix are eliminated.
//!
//! [`Elimination`] finds an order of little fill and the dense fronts that follow:
//!
//! ```text
//!   unknowns with the same neighbours  →  one node of their joint weight (the 6 of a body, the 3 of a contact)
//!   node of least weighted degree      →  eliminated: its neighbours become one element (a clique)
//!   the element                        =  the rows below the node's pivots in the factor
//! ```
//!
//! 1. Gather unknowns of equal neighbourhood into nodes: the graph shrinks three- to sixfold, and
//!    its order costs as much less.
//! 2. Approximate minimum degree with elements, mass elimination and indistinguishable nodes,
//!    weights counted (Amestoy1996).
//! 3. Fold a front into its parent where that stores few zeros: small fronts cost more than zeros
//!    do.
//! 4. Number the pivots front by front, children before parents.
//!
//! Cost: about that of one factorization of the gathered graph. The order depends on the pattern
//! alone.
//!
//! [`MinimumDegree`] is faer's, unknown by unknown, in memory that is kept: for factorizations that
//! find a new order with every matrix and must not allocate. `solve::pivot` has an order of its
//! own, in which each row comes after its columns.

use super::scratch::Scratch;
use super::sparse::Csr;
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// None: a front without parent.
pub const NONE: u32 = u32::MAX;

/// A front: pivots at the places `begin..end`, and the places below them that it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    /// The first place.
    pub begin: usize,
    /// One past the last place.
    pub end: usize,
    /// The places below, ascending.
    pub below: Vec<u32>,
    /// The front that takes what is left, or [`NONE`].
    pub parent: u32,
}

/// The order and its fronts, children before parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elimination {
    /// Place i of the elimination is the unknown `order[i]`.
    pub order: Vec<u32>,
    /// The fronts.
    pub fronts: Vec<Front>,
}

impl Elimination {
    /// The elimination of the symmetric matrix whose lower triangle has the pattern of `lower`.
    /// Unknowns of the same `block` that meet the same others are kept together even if nothing
    /// couples them directly.
    pub fn of(lower: &Csr, block: &[u32]) -> Elimination {
        let graph = Graph::gather(lower, block);
        let mut pivots = Quotient::new(&graph).eliminate();
        fold(&mut pivots);
        number(&graph, pivots)
    }
}

/// Nodes of unknowns with equal neighbourhoods.
struct Graph {
    unknowns: Vec<Vec<u32>>,
    weight: Vec<u32>,
    neighbours: Vec<Vec<u32>>,
}

/// A hash of a number, to be summed over sets.
fn hash(i: usize) -> u64 {
    let mut x = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 29)
}

impl Graph {
    fn gather(lower: &Csr, block: &[u32]) -> Graph {
        let n = lower.rows;
        // Hashes of the neighbourhoods without and with the unknown itself. An accident of the hash
        // costs fill, nothing else.
        let mut open = vec![0u64; n];
        for i in 0..n {
            for &j in lower.row(i).0.iter().filter(|&&j| (j as usize) < i) {
                open[i] = open[i].wrapping_add(hash(j as usize));
                open[j as usize] = open[j as usize].wrapping_add(hash(i));
            }
        }
        let mut node = vec![NONE; n];
        let mut unknowns: Vec<Vec<u32>> = Vec::new();
        let mut key: Vec<(u64, u32)> =
            (0..n).map(|i| (open[i].wrapping_add(hash(i)), i as u32)).collect();
        for singles in [false, true] {
            key.sort_unstable();
            for group in key.chunk_by(|a, b| a.0 == b.0).filter(|g| singles || g.len() > 1) {
                for &(_, i) in group {
                    node[i as usize] = unknowns.len() as u32;
                }
                unknowns.push(group.iter().map(|g| g.1).collect());
            }
            key.retain(|k| node[k.1 as usize] == NONE);
            key.iter_mut().for_each(|k| {
                k.0 = open[k.1 as usize] ^ hash(block[k.1 as usize] as usize).rotate_left(31)
            });
        }
        let neighbours = neighbours(lower, &node, &unknowns);
        Graph { weight: unknowns.iter().map(|u| u.len() as u32).collect(), unknowns, neighbours }
    }
}

/// Which nodes touch which.
fn neighbours(lower: &Csr, node: &[u32], unknowns: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); unknowns.len()];
    let mut mark = vec![NONE; unknowns.len()];
    for (g, members) in unknowns.iter().enumerate() {
        mark[g] = g as u32;
        for &i in members {
            for &j in lower.row(i as usize).0 {
                let to = node[j as usize] as usize;
                if mark[to] != g as u32 {
                    mark[to] = g as u32;
                    out[g].push(to as u32);
                    out[to].push(g as u32);
                }
            }
        }
    }
    for list in &mut out {
        list.sort_unstable();
        list.dedup();
    }
    out
}

/// A node of the graph with all that is eliminated together with it.
#[derive(Clone, Debug, Default)]
struct Pivot {
    members: Vec<u32>,
    below: Vec<u32>,
    weight: u64,
    below_weight: u64,
    parent: u32,
}

/// The graph in the course of its elimination.
struct Quotient {
    /// 0: eliminated, or merged into another.
    weight: Vec<u32>,
    /// Neighbours that no element covers.
    variables: Vec<Vec<u32>>,
    /// Elements that a node lies in.
    elements: Vec<Vec<u32>>,
    /// Nodes of an element; empty once another has swallowed it.
    inside: Vec<Vec<u32>>,
    /// Weight of an element; 0 if swallowed.
    size: Vec<u32>,
    members: Vec<Vec<u32>>,
    degree: Vec<u32>,
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    mark: Vec<u32>,
    seen: Vec<u32>,
    outside: Vec<u32>,
    /// Place of an element in the list of pivots.
    pivot_of: Vec<u32>,
}

impl Quotient {
    fn new(graph: &Graph) -> Quotient {
        let n = graph.weight.len();
        let degree: Vec<u32> = graph
            .neighbours
            .iter()
            .map(|l| l.iter().map(|&j| graph.weight[j as usize]).sum())
            .collect();
        Quotient {
            weight: graph.weight.clone(),
            variables: graph.neighbours.clone(),
            elements: vec![Vec::new(); n],
            inside: vec![Vec::new(); n],
            size: vec![0; n],
            members: (0..n as u32).map(|i| vec![i]).collect(),
            heap: degree.iter().enumerate().map(|(i, &d)| Reverse((d, i as u32))).collect(),
            degree,
            mark: vec![NONE; n],
            seen: vec![NONE; n],
            outside: vec![0; n],
            pivot_of: vec![NONE; n],
        }
    }

    fn eliminate(mut self) -> Vec<Pivot> {
        let mut out: Vec<Pivot> = Vec::new();
        let mut left: u32 = self.weight.iter().sum();
        while let Some(Reverse((degree, p))) = self.heap.pop() {
            let p = p as usize;
            if self.weight[p] == 0 || self.degree[p] != degree {
                continue;
            }
            let stamp = out.len() as u32;
            let mut list = self.swallow(p, stamp, &mut out);
            let mut weight = self.weight[p];
            self.weight[p] = 0;
            self.measure(&list, stamp);
            self.prune(&mut list, p, stamp, &mut weight);
            left -= weight;
            let size: u32 = list.iter().map(|&i| self.weight[i as usize]).sum();
            self.merge(&mut list, p, size, left);
            let mut below = Vec::new();
            for &i in &list {
                below.extend_from_slice(&self.members[i as usize]);
            }
            (self.size[p], self.pivot_of[p]) = (size, stamp);
            self.inside[p] = list;
            let members = std::mem::take(&mut self.members[p]);
            out.push(Pivot {
                members,
                below,
                weight: u64::from(weight),
                below_weight: u64::from(size),
                parent: NONE,
            });
        }
        out
    }

    /// The neighbours of `p`, directly or through elements; the elements end here.
    fn swallow(&mut self, p: usize, stamp: u32, out: &mut [Pivot]) -> Vec<u32> {
        self.mark[p] = stamp;
        let mut list = Vec::new();
        let mut add = |v: u32, mark: &mut [u32], weight: &[u32]| {
            if weight[v as usize] > 0 && mark[v as usize] != stamp {
                mark[v as usize] = stamp;
                list.push(v);
            }
        };
        for v in std::mem::take(&mut self.variables[p]) {
            add(v, &mut self.mark, &self.weight);
        }
        for e in std::mem::take(&mut self.elements[p]) {
            for v in std::mem::take(&mut self.inside[e as usize]) {
                add(v, &mut self.mark, &self.weight);
            }
            self.size[e as usize] = 0;
            out[self.pivot_of[e as usize] as usize].parent = stamp;
        }
        list
    }

    /// How much of every element that the list meets lies outside it.
    fn measure(&mut self, list: &[u32], stamp: u32) {
        for &i in list {
            for &e in &self.elements[i as usize] {
                let e = e as usize;
                if self.size[e] > 0 {
                    if self.seen[e] != stamp {
                        self.seen[e] = stamp;
                        self.outside[e] = self.size[e];
                    }
                    self.outside[e] -= self.weight[i as usize];
                }
            }
        }
    }

    /// Drops what the new element covers; a node with nothing else left is eliminated along with
    /// `p`.
    fn prune(&mut self, list: &mut Vec<u32>, p: usize, stamp: u32, weight: &mut u32) {
        list.retain(|&i| {
            let i = i as usize;
            self.elements[i].retain(|&e| self.size[e as usize] > 0);
            self.variables[i]
                .retain(|&v| self.weight[v as usize] > 0 && self.mark[v as usize] != stamp);
            if !self.elements[i].is_empty() || !self.variables[i].is_empty() {
                return true;
            }
            *weight += self.weight[i];
            self.weight[i] = 0;
            let more = std::mem::take(&mut self.members[i]);
            self.members[p].extend(more);
            false
        });
    }

    /// Merges nodes of the list that have become alike, and sets the degrees.
    fn merge(&mut self, list: &mut Vec<u32>, p: usize, size: u32, left: u32) {
        let mut key: Vec<(u64, u32)> = Vec::with_capacity(list.len());
        for &i in list.iter() {
            let at = i as usize;
            self.elements[at].sort_unstable();
            let sum = |l: &[u32]| l.iter().fold(0u64, |s, &x| s.wrapping_add(hash(x as usize)));
            key.push((
                sum(&self.elements[at]).wrapping_add(sum(&self.variables[at]).rotate_left(17)),
                i,
            ));
        }
        key.sort_unstable();
        for group in key.chunk_by(|a, b| a.0 == b.0) {
            for (a, &(_, i)) in group.iter().enumerate() {
                for &(_, j) in &group[a + 1..] {
                    let (i, j) = (i as usize, j as usize);
                    let alive = self.weight[i] > 0 && self.weight[j] > 0;
                    if alive
                        && self.elements[i] == self.elements[j]
                        && self.variables[i] == self.variables[j]
                    {
                        self.weight[i] += self.weight[j];
                        self.weight[j] = 0;
                        let more = std::mem::take(&mut self.members[j]);
                        self.members[i].extend(more);
                        (self.elements[j], self.variables[j]) = (Vec::new(), Vec::new());
                    }
                }
            }
        }
        list.retain(|&i| self.weight[i as usize] > 0);
        for &i in list.iter() {
            let at = i as usize;
            let others = size - self.weight[at];
            let free: u32 = self.variables[at].iter().map(|&v| self.weight[v as usize]).sum();
            let covered: u32 = self.elements[at].iter().map(|&e| self.outside[e as usize]).sum();
            self.degree[at] =
                (others + free + covered).min(self.degree[at] + others).min(left - self.weight[at]);
            self.elements[at].push(p as u32);
            self.heap.push(Reverse((self.degree[at], i)));
        }
    }
}

/// What a front costs, in products: its sums, the numbers that it moves, and being a front at all.
fn cost(pivots: u64, below: u64) -> f64 {
    let (p, q) = (pivots as f64, below as f64);
    p * p * p / 3.0 + p * p * q + p * q * q + COST_PER_NUMBER * (p + q) * (p + q) + COST_PER_FRONT
}

/// See [`cost`]; measured on piles of spheres.
const COST_PER_NUMBER: f64 = 8.0;
/// See [`COST_PER_NUMBER`].
const COST_PER_FRONT: f64 = 2000.0;

/// Folds fronts into their parents: first chains that store nothing new, then whatever costs less
/// in one piece. What was folded has no members left.
fn fold(pivots: &mut [Pivot]) {
    for exact in [true, false] {
        for c in 0..pivots.len() {
            let mut p = pivots[c].parent;
            while p != NONE && pivots[p as usize].members.is_empty() {
                p = pivots[p as usize].parent;
            }
            pivots[c].parent = p;
            if p == NONE || pivots[c].members.is_empty() {
                continue;
            }
            let p = p as usize;
            let (child, into) = (&pivots[c], &pivots[p]);
            let all = child.weight + into.weight;
            let fits = child.below_weight == into.weight + into.below_weight;
            let apart =
                cost(child.weight, child.below_weight) + cost(into.weight, into.below_weight);
            if if exact { fits } else { cost(all, into.below_weight) <= apart } {
                let mut members = std::mem::take(&mut pivots[c].members);
                members.append(&mut pivots[p].members);
                pivots[p].members = members;
                pivots[p].weight = all;
            }
        }
    }
}

/// Numbers the unknowns, children before parents.
fn number(graph: &Graph, pivots: Vec<Pivot>) -> Elimination {
    // The living parent of each, and children lists; parents come after their children.
    let mut parent = vec![NONE; pivots.len()];
    for f in (0..pivots.len()).rev() {
        let up = pivots[f].parent;
        parent[f] = match up {
            NONE => NONE,
            up if pivots[up as usize].members.is_empty() => parent[up as usize],
            up => up,
        };
    }
    let living: Vec<usize> = (0..pivots.len()).filter(|&f| !pivots[f].members.is_empty()).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); pivots.len() + 1];
    for &f in &living {
        children[if parent[f] == NONE { pivots.len() } else { parent[f] as usize }].push(f);
    }
    // Large remainders first: they wait on the stack for the least time that way round.
    for list in &mut children {
        list.sort_by_key(|&f| (pivots[f].below_weight, f));
    }
    let mut sequence = Vec::with_capacity(living.len());
    let mut stack = children[pivots.len()].clone();
    while let Some(f) = stack.pop() {
        sequence.push(f);
        stack.extend_from_slice(&children[f]);
    }
    sequence.reverse();
    let n = graph.unknowns.iter().map(Vec::len).sum();
    let (mut order, mut first) = (Vec::with_capacity(n), vec![0u32; graph.weight.len()]);
    let mut place = vec![NONE; pivots.len()];
    let mut fronts = Vec::with_capacity(sequence.len());
    for &f in &sequence {
        place[f] = fronts.len() as u32;
        let begin = order.len();
        for &node in &pivots[f].members {
            first[node as usize] = order.len() as u32;
            order.extend_from_slice(&graph.unknowns[node as usize]);
        }
        fronts.push(Front { begin, end: order.len(), below: Vec::new(), parent: NONE });
    }
    for (front, &f) in fronts.iter_mut().zip(&sequence) {
        if parent[f] != NONE {
            front.parent = place[parent[f] as usize];
        }
        let starts =
            pivots[f].below.iter().map(|&node| (first[node as usize], graph.weight[node as usize]));
        front.below = starts.flat_map(|(at, weight)| at..at + weight).collect();
        front.below.sort_unstable();
    }
    Elimination { order, fronts }
}

/// Orders of elimination with little fill (approximate minimum degree); keeps its memory.
#[derive(Default)]
pub struct MinimumDegree {
    /// Position i of the elimination is the unknown `order[i]`.
    pub order: Vec<u32>,
    inverse: Vec<u32>,
    scratch: Scratch,
}

impl MinimumDegree {
    /// Finds `order` for the symmetric pattern with these rows (stored whole).
    pub fn find(&mut self, starts: &[u32], columns: &[u32]) {
        let n = starts.len() - 1;
        self.order.resize(n, 0);
        self.inverse.resize(n, 0);
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, starts, None, columns);
        let stack = self.scratch.stack(amd::order_scratch::<u32>(n, columns.len()));
        amd::order(&mut self.order, &mut self.inverse, pattern, amd::Control::default(), stack)
            .expect("the pattern is valid and fits into memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every entry of the matrix lies inside the front of its first pivot, and what a front leaves
    /// fits its parent.
    fn check(lower: &Csr) {
        let block: Vec<u32> = (0..lower.rows as u32).map(|i| i / 3).collect();
        let elimination = Elimination::of(lower, &block);
        let n = lower.rows;
        let mut place = vec![usize::MAX; n];
        for (p, &i) in elimination.order.iter().enumerate() {
            place[i as usize] = p;
        }
        assert!(place.iter().all(|&p| p < n), "every unknown has a place");
        let mut front_of = vec![0; n];
        let mut next = 0;
        for (f, front) in elimination.fronts.iter().enumerate() {
            assert_eq!(front.begin, next);
            assert!(front.end > front.begin);
            next = front.end;
            front_of[front.begin..front.end].fill(f);
            assert!(front.below.windows(2).all(|w| w[0] < w[1]));
            assert!(front.below.iter().all(|&b| b as usize >= front.end));
            if front.parent == NONE {
                assert!(front.below.is_empty());
                continue;
            }
            let up = &elimination.fronts[front.parent as usize];
            assert!(front.parent as usize > f);
            for &b in &front.below {
                assert!(
                    (up.begin..up.end).contains(&(b as usize))
                        || up.below.binary_search(&b).is_ok()
                );
            }
        }
        assert_eq!(next, n);
        for i in 0..n {
            for &j in lower.row(i).0 {
                let (a, b) = (place[i].min(place[j as usize]), place[i].max(place[j as usize]));
                let front = &elimination.fronts[front_of[a]];
                assert!(b < front.end || front.below.binary_search(&(b as u32)).is_ok());
            }
        }
    }

    proptest! {
        #[test]
        fn the_fronts_hold_the_matrix(n in 1usize..60, pairs in prop::collection::vec((0u32..60,
        0u32..60), 0..150)) {
            let mut t: Vec<(u32, u32, f64)> = (0..n as u32).map(|i| (i, i, 1.0)).collect();
            t.extend(pairs.iter().map(|&(a, b)| (a % n as u32, b % n as u32)).filter(|(a,
            b)| a > b).map(|(a, b)| (a, b, 1.0)));
            check(&Csr::from_triplets(n, n, &t));
        }
    }

    /// A path is eliminated without fill: every front leaves at most one row (two pivots if
    /// folded).
    #[test]
    fn a_path_has_no_fill() {
        let n = 50u32;
        let mut t = vec![(0, 0, 1.0)];
        for i in 1..n {
            t.extend([(i, i, 1.0), (i, i - 1, 1.0)]);
        }
        let lower = Csr::from_triplets(50, 50, &t);
        check(&lower);
        assert!(Elimination::of(&lower, &[0; 50]).fronts.iter().all(|f| f.below.len() <= 2));
    }

    /// Six unknowns of a body that meet the same rows are one node, though nothing couples them
    /// directly.
    #[test]
    fn bodies_and_contacts_are_nodes() {
        let mut t: Vec<(u32, u32, f64)> = (0..15).map(|i| (i, i, 1.0)).collect();
        t.extend((12..15).flat_map(|row| (0..12).map(move |j| (row, j, 1.0))));
        let block: Vec<u32> = (0..15).map(|i| i / 6).collect();
        let graph = Graph::gather(&Csr::from_triplets(15, 15, &t), &block);
        let mut weight = graph.weight.clone();
        weight.sort_unstable();
        assert_eq!(weight, vec![3, 6, 6]);
    }
}
