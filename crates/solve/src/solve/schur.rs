//! Unknowns that no row feels, eliminated before any method looks at the problem.
//!
//! With c the unknowns of a large clique of H that rows touch, i the others:
//!
//! ```text
//!   S v_c = k_c' + J_cᵀ r,      S = H_cc − H_ci H_ii⁻¹ H_ic,      k_c' = S (H⁻¹k)_c
//!   u = J_c v_c + E r + w       as before: J H⁻¹ Jᵀ = J_c S⁻¹ J_cᵀ, the same W, the same error in joules
//! ```
//!
//! 1. Factor H with c last, `H = L D Lᵀ`; then `S = L_cc D_c L_ccᵀ`, and `H⁻¹k` costs one solve.
//! 2. Any method solves the smaller problem for (v_c, r).
//! 3. `v = H⁻¹(k + e)`, with `e = S v_c − k_c'` on c and zero elsewhere: v_c comes out as the
//!    method left it.
//!
//! Use: a mesh of thousands of nodes of which a few hundred touch something. Without it every
//! method would solve with the whole mesh once per row, or factor it once per iteration; with it
//! the mesh is factored once per step. Not for meshes most of whose nodes are touched: S is dense.
//! Cost: one sparse factorization, O(t³) for t touched unknowns. It is the static condensation of
//! structural mechanics (Guyan1965), exact here because it is applied to H, inertia included.
//!
//! The order of elimination follows from the pattern of H and from what is touched, and from
//! nothing else: an order of little fill of the whole clique, found once, in which what is touched
//! comes last. So the answer does not depend on the problems before it, and a run that was stored
//! and taken up again goes on to the same bits.

use super::Unsupported;
use crate::math::cliques::{Cliques, lower_triangle};
use crate::math::ldlt::{Ldlt, Ordering};
use crate::math::sparse::Csr;
use crate::problem::{Problem, Solution};

/// Cliques smaller than this are left alone.
const MIN_CLIQUE_UNKNOWNS: usize = 96;
const NONE: u32 = u32::MAX;

/// A clique whose untouched unknowns are eliminated.
struct Part {
    /// Its unknowns, ascending.
    members: Vec<u32>,
    /// Which of its places are kept, ascending: those touched.
    kept: Vec<u32>,
    /// An order of little fill of all its places, whatever is touched.
    order: Vec<u32>,
    /// The factor of the clique, kept places last.
    ldlt: Ldlt,
    /// S (t × t).
    schur: Vec<f64>,
    /// H⁻¹k of its unknowns.
    free: Vec<f64>,
}

/// Makes smaller problems of large ones; keeps the analysis of their pattern while it serves.
#[derive(Default)]
pub struct Schur {
    cliques: Cliques,
    parts: Vec<Part>,
    touched: Vec<bool>,
    /// Place in the smaller problem of each unknown, or none.
    place: Vec<u32>,
    /// Unknown of each place.
    kept: Vec<u32>,
    small: Problem,
    /// How often a pattern was analysed.
    pub analyses: u64,
    /// How often a matrix was factored.
    pub factorizations: u64,
}

impl Schur {
    /// The smaller problem, or none if nothing is gained.
    pub fn reduce(&mut self, problem: &Problem) -> Result<Option<&Problem>, Unsupported> {
        self.cliques.set(&problem.H);
        self.touched.clear();
        self.touched.resize(problem.n(), false);
        problem.J.columns.iter().for_each(|&j| self.touched[j as usize] = true);
        let mut known = std::mem::take(&mut self.parts);
        for c in 0..self.cliques.len() {
            let members = self.cliques.members(c);
            let count = members.iter().filter(|&&i| self.touched[i as usize]).count();
            if members.len() < MIN_CLIQUE_UNKNOWNS || 2 * count > members.len() {
                continue;
            }
            let old = known.iter().position(|p| p.members == members).map(|p| known.swap_remove(p));
            let part = self.part(problem, c, old)?;
            self.parts.push(part);
        }
        if self.parts.is_empty() {
            return Ok(None);
        }
        self.number(problem.n());
        self.momentum(problem);
        self.rows(problem);
        Ok(Some(&self.small))
    }

    /// Step 1 for one clique.
    fn part(
        &mut self,
        problem: &Problem,
        c: usize,
        old: Option<Part>,
    ) -> Result<Part, Unsupported> {
        let members = self.cliques.members(c);
        let touched = |place: &u32| self.touched[members[*place as usize] as usize];
        let lower = lower_triangle(&problem.H, &self.cliques, c);
        let kept: Vec<u32> = (0..members.len() as u32).filter(touched).collect();
        let old = old.filter(|p| p.ldlt.matches(&lower));
        let mut part = match old {
            Some(part) if part.kept == kept => part,
            old => {
                self.analyses += 1;
                let order =
                    old.map_or_else(|| Ldlt::analyse(&lower, Ordering::Amd).order(), |p| p.order);
                let last = order
                    .iter()
                    .copied()
                    .filter(|place| !touched(place))
                    .chain(kept.iter().copied())
                    .collect::<Vec<u32>>();
                let ldlt = Ldlt::analyse(&lower, Ordering::Given(&last));
                Part {
                    members: members.to_vec(),
                    kept,
                    order,
                    ldlt,
                    schur: Vec::new(),
                    free: Vec::new(),
                }
            }
        };
        self.factorizations += 1;
        part.ldlt.factor(&lower.values, &vec![1; members.len()]).map_err(|bad| Unsupported {
            method: "schur",
            what: format!(
                "H with pivot {:.3e} at unknown {}",
                bad.pivot,
                members[bad.unknown.min(members.len() - 1)]
            ),
        })?;
        part.ldlt.trailing(members.len() - part.kept.len(), &mut part.schur);
        part.free.clear();
        part.free.extend(members.iter().map(|&i| problem.k[i as usize]));
        part.ldlt.solve(&mut part.free);
        Ok(part)
    }

    /// Who is where in the smaller problem.
    fn number(&mut self, n: usize) {
        self.place.clear();
        self.place.resize(n, 0);
        for part in &self.parts {
            part.members.iter().for_each(|&i| self.place[i as usize] = NONE);
            part.kept.iter().for_each(|&p| self.place[part.members[p as usize] as usize] = 0);
        }
        self.kept.clear();
        for i in 0..n {
            if self.place[i] != NONE {
                self.place[i] = self.kept.len() as u32;
                self.kept.push(i as u32);
            }
        }
    }

    /// H and k of the smaller problem.
    fn momentum(&mut self, problem: &Problem) {
        let Schur { parts, cliques, place, kept, small, .. } = self;
        let n = kept.len();
        let mut part_of = vec![NONE; cliques.len()];
        for (p, part) in parts.iter().enumerate() {
            part_of[cliques.of[part.members[0] as usize] as usize] = p as u32;
        }
        small.H = Csr::empty(n, n);
        small.k.clear();
        for (row, &i) in kept.iter().enumerate() {
            let part = part_of[cliques.of[i as usize] as usize];
            if part == NONE {
                let (columns, values) = problem.H.row(i as usize);
                small.H.columns.extend(columns.iter().map(|&j| place[j as usize]));
                small.H.values.extend_from_slice(values);
                small.k.push(problem.k[i as usize]);
            } else {
                let part = &parts[part as usize];
                let t = part.kept.len();
                let at = part
                    .kept
                    .binary_search(&cliques.place[i as usize])
                    .expect("kept unknowns are listed");
                let values = &part.schur[at * t..(at + 1) * t];
                small
                    .H
                    .columns
                    .extend(part.kept.iter().map(|&p| place[part.members[p as usize] as usize]));
                small.H.values.extend_from_slice(values);
                small.k.push(
                    part.kept.iter().zip(values).map(|(&p, x)| x * part.free[p as usize]).sum(),
                );
            }
            small.H.starts[row + 1] = small.H.columns.len();
        }
    }

    /// J and what belongs to its rows.
    fn rows(&mut self, problem: &Problem) {
        let Schur { place, kept, small, .. } = self;
        small.name.clone_from(&problem.name);
        small.J.clone_from(&problem.J);
        small.J.cols = kept.len();
        small.J.columns.iter_mut().for_each(|j| *j = place[*j as usize]);
        if !problem.J.rigid.is_empty() {
            let blocks: Vec<u32> = (0..problem.J.block_count() as u32).collect();
            problem.J.rigid.cut(&blocks, kept, &mut small.J.rigid);
        }
        small.E.clone_from(&problem.E);
        small.w.clone_from(&problem.w);
        small.laws.clone_from(&problem.laws);
        small.names.clone_from(&problem.names);
    }

    /// The smaller problem that [`Schur::reduce`] made last.
    pub fn smaller(&self) -> &Problem {
        &self.small
    }

    /// The guess for the smaller problem.
    pub fn guess(&self, whole: &Solution) -> Solution {
        Solution { v: self.kept.iter().map(|&i| whole.v[i as usize]).collect(), r: whole.r.clone() }
    }

    /// Step 3: the solution of the whole from that of the smaller problem.
    pub fn expand(&mut self, small: &Solution, whole: &mut Solution) {
        whole.r.clone_from(&small.r);
        for (&i, &v) in self.kept.iter().zip(&small.v) {
            whole.v[i as usize] = v;
        }
        for part in &mut self.parts {
            let t = part.kept.len();
            let mut change = vec![0.0; part.members.len()];
            let difference: Vec<f64> = part
                .kept
                .iter()
                .map(|&p| whole.v[part.members[p as usize] as usize] - part.free[p as usize])
                .collect();
            for (a, &p) in part.kept.iter().enumerate() {
                change[p as usize] = crate::math::dot(&part.schur[a * t..(a + 1) * t], &difference);
            }
            part.ldlt.solve(&mut change);
            let mut kept = part.kept.iter().peekable();
            for (p, &i) in part.members.iter().enumerate() {
                // What was kept is as the method left it.
                if kept.next_if(|&&k| k as usize == p).is_none() {
                    whole.v[i as usize] = part.free[p] + change[p];
                }
            }
        }
    }

    /// Stored numbers of all factors.
    pub fn factor_len(&self) -> usize {
        self.parts.iter().map(|p| p.ldlt.factor_len() + p.schur.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Law, PreparedProblem};
    use crate::solve::{Method, StoppingCriteria};

    /// A grid of n × n unknowns tied by springs, pushed down onto stops at one of its sides, and
    /// one free mass beside it.
    fn grid(n: usize) -> Problem {
        let mut problem = Problem::default();
        let at = |i: usize, j: usize| (i * n + j) as u32;
        let mut t = vec![((n * n) as u32, (n * n) as u32, 2.0)];
        for i in 0..n {
            for j in 0..n {
                t.push((at(i, j), at(i, j), 4.5));
                for (p, q) in [(i + 1, j), (i, j + 1)] {
                    if p < n && q < n {
                        t.push((at(i, j), at(p, q), -1.0));
                        t.push((at(p, q), at(i, j), -1.0));
                    }
                }
            }
        }
        problem.H = Csr::from_triplets(n * n + 1, n * n + 1, &t);
        problem.k = (0..=n * n).map(|i| (i as f64 * 0.37).sin() - 0.3).collect();
        problem.J.clear(n * n + 1);
        for j in 0..n {
            problem.J.push(1, &[at(0, j)], &[1.0]);
            problem.laws.push(Law::Unilateral);
        }
        problem.J.push(1, &[at(0, 1), (n * n) as u32], &[1.0, -1.0]);
        problem.laws.push(Law::Equality);
        problem.w = vec![0.01; n + 1];
        problem.E = vec![0.0; n + 1];
        problem
    }

    #[test]
    fn every_method_solves_the_smaller_problem_and_the_judge_of_the_whole_agrees() {
        let problem = grid(20);
        problem.check().unwrap();
        let mut prepared = PreparedProblem::of(&problem).unwrap();
        let mut schur = Schur::default();
        for &method in Method::ALL.iter().filter(|m| **m != Method::Direct) {
            let small =
                schur.reduce(&problem).unwrap().expect("most unknowns are untouched").clone();
            assert_eq!(small.n(), 21);
            small.check().unwrap();
            let mut whole = Solution::zero(problem.n(), problem.rows());
            let mut solution = schur.guess(&whole);
            let report =
                method.build(StoppingCriteria::default()).solve(&small, &mut solution).unwrap();
            assert!(
                report.error.accepted(&Default::default()),
                "{}: {:?}",
                method.name(),
                report.error
            );
            schur.expand(&solution, &mut whole);
            let error = prepared.error(&problem, &whole);
            // The same W and the same u: the errors are equal up to the rounding of S.
            assert!(
                (error.joule - report.error.joule).abs() <= 1e-12 * error.scale,
                "{}: {error:?} {:?}",
                method.name(),
                report.error
            );
        }
        assert_eq!(schur.analyses, 1);
    }

    #[test]
    fn a_touched_mesh_and_small_cliques_are_left_alone() {
        let mut schur = Schur::default();
        assert!(schur.reduce(&grid(5)).unwrap().is_none());
    }

    #[test]
    fn the_answer_does_not_depend_on_what_was_touched_before() {
        let problem = grid(20);
        // The same stops, one row of unknowns further in.
        let mut other = problem.clone();
        other.J.columns.iter_mut().filter(|j| **j < 20).for_each(|j| *j += 20);
        let solved = |schur: &mut Schur| {
            let small =
                schur.reduce(&problem).unwrap().expect("most unknowns are untouched").clone();
            let mut solution = schur.guess(&Solution::zero(problem.n(), problem.rows()));
            Method::named("newton")
                .unwrap()
                .build(StoppingCriteria::default())
                .solve(&small, &mut solution)
                .unwrap();
            let mut whole = Solution::zero(problem.n(), problem.rows());
            schur.expand(&solution, &mut whole);
            whole
        };
        let (mut fresh, mut used) = (Schur::default(), Schur::default());
        used.reduce(&other).unwrap().expect("most unknowns are untouched");
        assert_eq!(solved(&mut fresh), solved(&mut used));
    }
}
