//! Independent parts: two blocks belong together if they touch the same clique of H.
//!
//! Islands are cut from a [`Problem`] here and nowhere else; no method has a second entry for them.

use super::{Problem, Rows, Solution};
use crate::math::cliques::Cliques;
use crate::math::sparse::Csr;

/// A part of a problem that the rest does not touch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Island {
    /// The velocities of the whole problem that it owns, ascending.
    pub unknowns: Vec<u32>,
    /// The blocks of the whole problem that it owns, ascending.
    pub blocks: Vec<u32>,
}

/// Cuts `problem` into islands, numbered by their first unknown. Blocks without columns go to the first island.
pub fn islands(problem: &Problem) -> Vec<Island> {
    let cliques = Cliques::of_matrix(&problem.H);
    let mut parent: Vec<u32> = (0..cliques.len() as u32).collect();
    let find = |parent: &mut Vec<u32>, mut c: u32| {
        while parent[c as usize] != c {
            parent[c as usize] = parent[parent[c as usize] as usize];
            c = parent[c as usize];
        }
        c
    };
    for block in problem.J.blocks() {
        let mut first = None;
        for &j in block.columns {
            let c = find(&mut parent, cliques.of[j as usize]);
            let joined = *first.get_or_insert(c);
            // The smaller number is the root: the numbering does not depend on the order of blocks.
            let joined = find(&mut parent, joined);
            parent[c.max(joined) as usize] = c.min(joined);
        }
    }
    let mut number = vec![u32::MAX; cliques.len()];
    let mut out: Vec<Island> = Vec::new();
    for i in 0..problem.n() as u32 {
        let root = find(&mut parent, cliques.of[i as usize]) as usize;
        if number[root] == u32::MAX {
            number[root] = out.len() as u32;
            out.push(Island::default());
        }
        out[number[root] as usize].unknowns.push(i);
    }
    for (k, block) in problem.J.blocks().enumerate() {
        let island = match block.columns.first() {
            Some(&j) => number[find(&mut parent, cliques.of[j as usize]) as usize] as usize,
            None => 0,
        };
        out[island].blocks.push(k as u32);
    }
    out
}

impl Island {
    /// The island as a problem of its own.
    pub fn cut(&self, whole: &Problem) -> Problem {
        let local = |j: u32| self.unknowns.binary_search(&j).expect("an island owns what its blocks touch") as u32;
        let n = self.unknowns.len();
        let mut part = Problem { name: whole.name.clone(), H: Csr::empty(n, n), J: Rows::new(n), ..Problem::default() };
        for (p, &i) in self.unknowns.iter().enumerate() {
            let (columns, values) = whole.H.row(i as usize);
            part.H.columns.extend(columns.iter().map(|&j| local(j)));
            part.H.values.extend_from_slice(values);
            part.H.starts[p + 1] = part.H.columns.len();
            part.k.push(whole.k[i as usize]);
        }
        let mut columns = Vec::new();
        for &k in &self.blocks {
            let block = whole.J.block(k as usize);
            columns.clear();
            columns.extend(block.columns.iter().map(|&j| local(j)));
            part.J.push(block.rows, &columns, block.values);
            part.E.extend_from_slice(&whole.E[block.range()]);
            part.w.extend_from_slice(&whole.w[block.range()]);
            part.laws.push(whole.laws[k as usize]);
            if !whole.names.is_empty() {
                part.names.push(whole.names[k as usize].clone());
            }
        }
        part
    }

    /// The island's share of a guess for the whole.
    pub fn gather(&self, whole: &Problem, guess: &Solution) -> Solution {
        let rows = self.blocks.iter().flat_map(|&k| whole.J.block(k as usize).range());
        Solution { v: self.unknowns.iter().map(|&i| guess.v[i as usize]).collect(), r: rows.map(|i| guess.r[i]).collect() }
    }

    /// Writes the island's solution into that of the whole.
    pub fn scatter(&self, whole: &Problem, part: &Solution, into: &mut Solution) {
        for (&i, &v) in self.unknowns.iter().zip(&part.v) {
            into.v[i as usize] = v;
        }
        let rows = self.blocks.iter().flat_map(|&k| whole.J.block(k as usize).range());
        for (i, &r) in rows.zip(&part.r) {
            into.r[i] = r;
        }
    }
}
