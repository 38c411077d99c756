//! Independent parts: two blocks belong together if they touch the same clique of H.
//!
//! Islands are cut from a [`Problem`] here and nowhere else; no method has a second entry for them.

use super::{Problem, Solution};
use crate::math::cliques::Cliques;
use crate::math::lists::Lists;

/// The islands of one problem; the memory is kept for the next.
#[derive(Default)]
pub struct Islands {
    cliques: Cliques,
    /// Joined cliques point to one of them, the first in the end.
    parent: Vec<u32>,
    /// The number of the island of a first clique.
    number: Vec<u32>,
    unknowns: Lists,
    blocks: Lists,
    space: CutSpace,
}

/// Work space of [`Islands::cut_with`]: where the unknowns of the whole are in the part, and the
/// columns of a block.
#[derive(Default)]
pub struct CutSpace {
    table: Vec<u32>,
    columns: Vec<u32>,
}

/// A part of a problem that the rest does not touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Island<'a> {
    /// The velocities of the whole problem that it owns, ascending.
    pub unknowns: &'a [u32],
    /// The blocks of the whole problem that it owns, ascending.
    pub blocks: &'a [u32],
}

/// The first of the cliques that `c` is joined with; paths are halved on the way.
fn first(parent: &mut [u32], mut c: u32) -> u32 {
    while parent[c as usize] != c {
        parent[c as usize] = parent[parent[c as usize] as usize];
        c = parent[c as usize];
    }
    c
}

impl Islands {
    /// Cuts `problem` into islands, numbered by their first unknown. Blocks without columns go to
    /// the first island.
    pub fn set(&mut self, problem: &Problem) {
        let Islands { cliques, parent, number, unknowns, blocks, .. } = self;
        cliques.set(&problem.H);
        parent.clear();
        parent.extend(0..cliques.len() as u32);
        for block in problem.J.blocks() {
            let mut joined = None;
            for &j in block.columns {
                let c = first(parent, cliques.of[j as usize]);
                // The smaller number is the first: the numbering does not depend on the order of
                // blocks.
                let other = first(parent, *joined.get_or_insert(c));
                parent[c.max(other) as usize] = c.min(other);
            }
        }
        number.clear();
        number.resize(cliques.len(), u32::MAX);
        let mut count = 0;
        for i in 0..problem.n() {
            let home = &mut number[first(parent, cliques.of[i]) as usize];
            if *home == u32::MAX {
                *home = count;
                count += 1;
            }
        }
        // A problem without unknowns has one island if it has blocks.
        let homes = (count as usize).max(usize::from(!problem.laws.is_empty()));
        unknowns
            .sort(homes, problem.n(), |i| number[first(parent, cliques.of[i]) as usize] as usize);
        blocks.sort(homes, problem.laws.len(), |k| match problem.J.block(k).columns.first() {
            Some(&j) => number[first(parent, cliques.of[j as usize]) as usize] as usize,
            None => 0,
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.unknowns.len()
    }

    /// True if there is none: nothing moves.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Island number `i`.
    pub fn get(&self, i: usize) -> Island<'_> {
        Island { unknowns: self.unknowns.get(i), blocks: self.blocks.get(i) }
    }

    /// Island number `i` as a problem of its own, in the memory of `part`.
    pub fn cut(&mut self, i: usize, whole: &Problem, part: &mut Problem) {
        let mut space = std::mem::take(&mut self.space);
        self.cut_with(i, whole, part, &mut space);
        self.space = space;
    }

    /// The same with work space of the caller's, for several threads at once.
    pub fn cut_with(&self, i: usize, whole: &Problem, part: &mut Problem, space: &mut CutSpace) {
        let CutSpace { table, columns } = space;
        let (unknowns, blocks) = (self.unknowns.get(i), self.blocks.get(i));
        let n = unknowns.len();
        // A large island looks its unknowns up in a table, a small one is searched.
        table.clear();
        if 8 * n > whole.n() {
            table.resize(whole.n(), 0);
            unknowns.iter().zip(0..).for_each(|(&i, p)| table[i as usize] = p);
        }
        let searched = |j: u32| {
            unknowns.binary_search(&j).expect("an island owns what its blocks touch") as u32
        };
        let local = |j: u32| if table.is_empty() { searched(j) } else { table[j as usize] };
        part.name.clone_from(&whole.name);
        (part.H.rows, part.H.cols) = (n, n);
        part.H.columns.clear();
        part.H.values.clear();
        part.H.starts.clear();
        part.H.starts.push(0);
        part.k.clear();
        for &i in unknowns {
            let (columns, values) = whole.H.row(i as usize);
            part.H.columns.extend(columns.iter().map(|&j| local(j)));
            part.H.values.extend_from_slice(values);
            part.H.starts.push(part.H.columns.len());
            part.k.push(whole.k[i as usize]);
        }
        part.J.clear(n);
        part.E.clear();
        part.w.clear();
        part.laws.clear();
        part.names.clear();
        for &k in blocks {
            let block = whole.J.block(k as usize);
            columns.clear();
            columns.extend(block.columns.iter().map(|&j| local(j)));
            part.J.push(block.rows, columns, block.values);
            part.E.extend_from_slice(&whole.E[block.range()]);
            part.w.extend_from_slice(&whole.w[block.range()]);
            part.laws.push(whole.laws[k as usize]);
            if !whole.names.is_empty() {
                part.names.push(whole.names[k as usize].clone());
            }
        }
        whole.J.rigid.cut(blocks, unknowns, &mut part.J.rigid);
    }
}

impl Island<'_> {
    /// The island's share of a guess for the whole, in the memory of `part`.
    pub fn gather(&self, whole: &Problem, guess: &Solution, part: &mut Solution) {
        part.v.clear();
        part.v.extend(self.unknowns.iter().map(|&i| guess.v[i as usize]));
        part.r.clear();
        for &k in self.blocks {
            part.r.extend_from_slice(&guess.r[whole.J.block(k as usize).range()]);
        }
    }

    /// Writes the island's solution (v, r) into that of the whole.
    pub fn scatter(&self, whole: &Problem, (v, r): (&[f64], &[f64]), into: &mut Solution) {
        for (&i, &v) in self.unknowns.iter().zip(v) {
            into.v[i as usize] = v;
        }
        let rows = self.blocks.iter().flat_map(|&k| whole.J.block(k as usize).range());
        for (i, &r) in rows.zip(r) {
            into.r[i] = r;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::sparse::Csr;
    use crate::problem::{Rows, test_problems};

    fn islands(problem: &Problem) -> Islands {
        let mut out = Islands::default();
        out.set(problem);
        out
    }

    /// Two problems side by side, the unknowns of the second before those of the first.
    fn beside(first: &Problem, second: &Problem) -> Problem {
        let (n, m) = (first.n(), second.n());
        let mut out =
            Problem { H: Csr::empty(n + m, n + m), J: Rows::new(n + m), ..Problem::default() };
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
        let all = test_problems::all();
        let named =
            |name: &str| all.iter().find(|k| k.problem.name == name).expect("a stored problem");
        let (rod, brick) = (named("pendulum"), named("brick_slides"));
        let whole = beside(&rod.problem, &brick.problem);
        whole.check().unwrap();
        let mut parts = islands(&whole);
        assert_eq!(parts.len(), 2);
        let (mut part, mut share) = (Problem::default(), Solution::default());
        let mut solution = Solution::zero(whole.n(), whole.rows());
        // The island with the first unknown comes first: the brick.
        for (i, known) in [brick, rod].into_iter().enumerate() {
            parts.cut(i, &whole, &mut part);
            let island = parts.get(i);
            assert_eq!(
                (&part.H, &part.k, &part.J, &part.laws),
                (&known.problem.H, &known.problem.k, &known.problem.J, &known.problem.laws)
            );
            island.scatter(&whole, (&known.solution.v, &known.solution.r), &mut solution);
            island.gather(&whole, &solution, &mut share);
            assert_eq!(share, known.solution);
        }
        let error = crate::problem::PreparedProblem::of(&whole).unwrap().error(&whole, &solution);
        assert!(error.relative() < 1e-26, "two solutions side by side are a solution: {error:?}");
    }

    #[test]
    fn bodies_without_rows_are_islands_and_rows_without_columns_have_a_home() {
        let mut problem = test_problems::all()
            .into_iter()
            .find(|k| k.problem.name == "free_bodies")
            .expect("a stored problem")
            .problem;
        assert_eq!(islands(&problem).len(), 2);
        problem.J.push(1, &[], &[]);
        problem.laws.push(crate::problem::Law::Unilateral);
        problem.E.push(0.0);
        problem.w.push(1.0);
        assert_eq!(islands(&problem).get(0).blocks, [0]);
        let nothing = Problem { J: Rows::new(0), ..Problem::default() };
        assert!(islands(&nothing).is_empty());
        let mut still =
            Problem { laws: problem.laws.clone(), E: vec![0.0], w: vec![1.0], ..nothing };
        still.J.push(1, &[], &[]);
        assert_eq!(islands(&still).get(0), Island { unknowns: &[], blocks: &[0] });
    }
}
