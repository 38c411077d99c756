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
        let n = self.unknowns.len();
        // A large island looks its unknowns up in a table, a small one is searched.
        let mut table = vec![0; if 8 * n > whole.n() { whole.n() } else { 0 }];
        if !table.is_empty() {
            self.unknowns.iter().zip(0..).for_each(|(&i, p)| table[i as usize] = p);
        }
        let searched = |j: u32| self.unknowns.binary_search(&j).expect("an island owns what its blocks touch") as u32;
        let local = |j: u32| if table.is_empty() { searched(j) } else { table[j as usize] };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::made;

    /// Two problems side by side, the unknowns of the second before those of the first.
    fn beside(first: &Problem, second: &Problem) -> Problem {
        let (n, m) = (first.n(), second.n());
        let mut out = Problem { H: Csr::empty(n + m, n + m), J: Rows::new(n + m), ..Problem::default() };
        let mut at = 0;
        for (part, shift) in [(second, 0), (first, m)] {
            for i in 0..part.n() {
                let (columns, values) = part.H.row(i);
                out.H.columns.extend(columns.iter().map(|&j| j + shift as u32));
                out.H.values.extend_from_slice(values);
                at += 1;
                out.H.starts[at] = out.H.columns.len();
            }
            out.k.extend(&part.k);
        }
        for (part, shift) in [(first, m), (second, 0)] {
            for (k, block) in part.J.blocks().enumerate() {
                let columns: Vec<u32> = block.columns.iter().map(|&j| j + shift as u32).collect();
                out.J.push(block.rows, &columns, block.values);
                out.laws.push(part.laws[k]);
            }
            out.E.extend(&part.E);
            out.w.extend(&part.w);
        }
        out
    }

    #[test]
    fn what_was_put_side_by_side_comes_apart_again() {
        let all = made::all();
        let named = |name: &str| all.iter().find(|k| k.problem.name == name).expect("a stored problem");
        let (rod, brick) = (named("pendulum"), named("brick_slides"));
        let whole = beside(&rod.problem, &brick.problem);
        whole.check().unwrap();
        let parts = islands(&whole);
        assert_eq!(parts.len(), 2);
        let mut solution = Solution::zero(whole.n(), whole.rows());
        // The island with the first unknown comes first: the brick.
        for (island, known) in parts.iter().zip([brick, rod]) {
            let part = island.cut(&whole);
            assert_eq!(
                (&part.H, &part.k, &part.J, &part.laws),
                (&known.problem.H, &known.problem.k, &known.problem.J, &known.problem.laws)
            );
            island.scatter(&whole, &known.solution, &mut solution);
            assert_eq!(island.gather(&whole, &solution), known.solution);
        }
        let error = crate::problem::Judge::of(&whole).unwrap().error(&whole, &solution);
        assert!(error.relative() < 1e-26, "two solutions side by side are a solution: {error:?}");
    }

    #[test]
    fn bodies_without_rows_are_islands_and_rows_without_columns_have_a_home() {
        let mut problem = made::all().into_iter().find(|k| k.problem.name == "free_bodies").expect("a stored problem").problem;
        assert_eq!(islands(&problem).len(), 2);
        problem.J.push(1, &[], &[]);
        problem.laws.push(crate::problem::Law::Unilateral);
        problem.E.push(0.0);
        problem.w.push(1.0);
        assert_eq!(islands(&problem)[0].blocks, vec![0]);
    }
}
