//! Friction cones as pyramids: a polyhedral problem made explicit.
//!
//! The cone `‖r_t‖ ≤ mu r_n` is replaced by the pyramid that N of its edges span,
//!
//! ```text
//!   r = Σ_j c_j g_j,   c_j ≥ 0,   g_j = (1, mu cos θ_j, mu sin θ_j),   θ_j = 2πj/N
//!   u_j = g_j · u      0 ≤ u_j ⊥ c_j ≥ 0
//! ```
//!
//! so that one `Cone` block becomes N `Unilateral` rows: again a convex problem, and for two-row
//! cones (g = (1, ±mu)) the same one. The compliance E of a friction row does not stay diagonal
//! under g: it becomes an unknown of its own, `y = E r` with mass 1/E, which is exact.

use crate::math::sparse::Csr;
use crate::problem::{Law, Problem, Reduced, Rows, Solution};

/// One row of the polyhedral problem.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    /// The block it belongs to, and that block's first row.
    block: usize,
    first: usize,
    /// `g`: its share of the block's rows.
    g: [f64; 3],
    /// Rows of the block.
    rows: usize,
}

/// A problem whose blocks are all of one row, and the way back.
#[derive(Clone, Debug, Default)]
pub(super) struct Pyramids {
    edges: Vec<Edge>,
    laws: Vec<Law>,
    facets: usize,
}

/// The problem with each friction cone replaced by a pyramid of `facets` edges (at least 3; two-row
/// cones are exact with 2). `Coulomb` blocks are taken as `Cone`.
pub fn pyramid(problem: &Problem, facets: usize) -> Problem {
    Pyramids::new(&problem.laws, facets).unfold_problem(problem)
}

/// The same for a reduced problem.
pub fn pyramid_reduced(reduced: &Reduced, facets: usize) -> Reduced {
    Pyramids::new(&reduced.laws, facets).unfold_reduced(reduced)
}

/// The edges of a cone.
fn edges_of(law: &Law, facets: usize) -> Vec<[f64; 3]> {
    let facets = facets.max(3);
    match *law {
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } if mu == 0.0 => vec![[1.0, 0.0, 0.0]],
        Law::Cone { mu, rows: 2 } | Law::Coulomb { mu, rows: 2 } => {
            vec![[1.0, mu, 0.0], [1.0, -mu, 0.0]]
        }
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => (0..facets)
            .map(|j| {
                let (sin, cos) = (std::f64::consts::TAU * j as f64 / facets as f64).sin_cos();
                [1.0, mu * cos, mu * sin]
            })
            .collect(),
        Law::Equality | Law::Unilateral | Law::Interval { .. } => vec![[1.0, 0.0, 0.0]],
    }
}

impl Pyramids {
    pub(super) fn new(laws: &[Law], facets: usize) -> Pyramids {
        let mut out = Pyramids { facets: facets.max(3), ..Pyramids::default() };
        let mut first = 0;
        for (block, law) in laws.iter().enumerate() {
            for g in edges_of(law, facets) {
                out.edges.push(Edge { block, first, g, rows: law.rows() });
                out.laws.push(if law.friction().is_some() { Law::Unilateral } else { *law });
            }
            first += law.rows();
        }
        out
    }

    /// The block that a row of the polyhedral problem belongs to.
    pub(super) fn block(&self, row: usize) -> usize {
        self.edges[row].block
    }

    /// `out ←` the rows of the problem that belong to dependent rows of the polyhedral one. The
    /// edges of one pyramid depend on each other (beyond as many as the cone has rows): a cone is
    /// named, by its first row, if more of its tight edges do so.
    pub(super) fn dependent(&self, dependent: &[usize], tight: &[bool], out: &mut Vec<usize>) {
        out.clear();
        let mut rest = dependent;
        for group in self.edges.chunk_by(|a, b| a.block == b.block) {
            let first = self.edges.partition_point(|e| e.block < group[0].block);
            let count = rest.partition_point(|&i| i < first + group.len());
            rest = &rest[count..];
            let still = tight
                .get(first..first + group.len())
                .map_or(0, |t| t.iter().filter(|t| **t).count());
            if count > still.saturating_sub(group[0].rows) {
                out.push(group[0].first);
            }
        }
    }

    pub(super) fn unfold_problem(&self, problem: &Problem) -> Problem {
        let n = problem.n();
        // An unknown for each compliant friction row: (row, unknown).
        let mut springs: Vec<(usize, u32)> = Vec::new();
        for (block, law) in problem.J.blocks().zip(&problem.laws) {
            if law.friction().is_some() {
                let soft = block.range().filter(|&i| problem.E[i] > 0.0);
                soft.for_each(|i| springs.push((i, (n + springs.len()) as u32)));
            }
        }
        let mut out = Problem {
            name: problem.name.clone(),
            H: problem.H.clone(),
            k: problem.k.clone(),
            ..Problem::default()
        };
        out.J = Rows::new(n + springs.len());
        out.H.cols += springs.len();
        for &(row, unknown) in &springs {
            out.H.rows += 1;
            out.H.columns.push(unknown);
            out.H.values.push(1.0 / problem.E[row]);
            out.H.starts.push(out.H.columns.len());
            out.k.push(0.0);
        }
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (edge, law) in self.edges.iter().zip(&self.laws) {
            let block = problem.J.block(edge.block);
            columns.clear();
            columns.extend_from_slice(block.columns);
            values.clear();
            values.extend(
                (0..columns.len())
                    .map(|c| (0..edge.rows).map(|i| edge.g[i] * block.row(i)[c]).sum::<f64>()),
            );
            let mut compliance = problem.E[edge.first];
            if problem.laws[edge.block].friction().is_some() {
                compliance = 0.0;
                let own = springs.iter().skip(springs.partition_point(|s| s.0 < edge.first));
                for &(row, unknown) in own.take_while(|s| s.0 < edge.first + edge.rows) {
                    columns.push(unknown);
                    values.push(edge.g[row - edge.first]);
                }
            }
            out.J.push(1, &columns, &values);
            out.E.push(compliance);
            out.w.push((0..edge.rows).map(|i| edge.g[i] * problem.w[edge.first + i]).sum());
            out.laws.push(*law);
        }
        out.names = self.names(|k| problem.block_name(k), problem.names.is_empty());
        out
    }

    pub(super) fn unfold_reduced(&self, reduced: &Reduced) -> Reduced {
        // G: edges × rows; W' = G W Gᵀ.
        let m = reduced.rows();
        let mut triplets = Vec::new();
        for (e, edge) in self.edges.iter().enumerate() {
            let rows = (0..edge.rows).filter(|&i| edge.g[i] != 0.0);
            triplets.extend(rows.map(|i| ((edge.first + i) as u32, e as u32, edge.g[i])));
        }
        let by_row = Csr::from_triplets(m, self.edges.len(), &triplets);
        let mut entries = Vec::new();
        for (e, edge) in self.edges.iter().enumerate() {
            for i in 0..edge.rows {
                let (columns, values) = reduced.W.row(edge.first + i);
                for (&j, &x) in columns.iter().zip(values) {
                    let (others, gs) = by_row.row(j as usize);
                    entries.extend(
                        others
                            .iter()
                            .zip(gs)
                            .filter(|_| edge.g[i] != 0.0)
                            .map(|(&o, &g)| (e as u32, o, edge.g[i] * x * g)),
                    );
                }
            }
        }
        Reduced {
            name: reduced.name.clone(),
            W: Csr::from_triplets(self.edges.len(), self.edges.len(), &entries),
            q: self
                .edges
                .iter()
                .map(|e| (0..e.rows).map(|i| e.g[i] * reduced.q[e.first + i]).sum())
                .collect(),
            laws: self.laws.clone(),
            row_starts: (0..=self.edges.len()).collect(),
            names: self.names(|k| reduced.block_name(k), reduced.names.is_empty()),
        }
    }

    fn names(&self, name: impl Fn(usize) -> String, none: bool) -> Vec<String> {
        if none { Vec::new() } else { self.edges.iter().map(|e| name(e.block)).collect() }
    }

    /// Reactions of the polyhedral problem that add up to `r` (cut off where r is outside the
    /// pyramid).
    pub(super) fn unfold(&self, laws: &[Law], r: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.edges.len()];
        let (mut row, mut at) = (0, 0);
        for law in laws {
            let (d, count) = (law.rows(), edges_of(law, self.facets).len());
            match law.friction() {
                Some(mu) if mu > 0.0 => split(mu, &r[row..row + d], &mut out[at..at + count]),
                _ => out[at] = r[row],
            }
            row += d;
            at += count;
        }
        out
    }

    /// The reactions of the cones.
    pub(super) fn fold(&self, c: &[f64], r: &mut [f64]) {
        r.fill(0.0);
        for (edge, c) in self.edges.iter().zip(c) {
            for i in 0..edge.rows {
                r[edge.first + i] += edge.g[i] * c;
            }
        }
    }

    /// The solution of the polyhedral problem that belongs to a guess.
    pub(super) fn guess(&self, problem: &Problem, solution: &Solution) -> Solution {
        Solution { v: solution.v.clone(), r: self.unfold(&problem.laws, &solution.r) }
    }
}

/// `r` as a sum of at most three edges: the two beside its tangent, and one opposite.
fn split(mu: f64, r: &[f64], c: &mut [f64]) {
    if r.len() == 2 {
        let t = r[1] / mu;
        (c[0], c[1]) = ((0.5 * (r[0] + t)).max(0.0), (0.5 * (r[0] - t)).max(0.0));
        return;
    }
    let count = c.len();
    let angle = r[2].atan2(r[1]).rem_euclid(std::f64::consts::TAU);
    let width = std::f64::consts::TAU / count as f64;
    let j = ((angle / width) as usize).min(count - 1);
    let (k, o) = ((j + 1) % count, (j + 1 + count / 2) % count);
    // In the frame of edge j: two edges at angles 0 and `width`, the third at `far`.
    let size = r[1].hypot(r[2]) / mu;
    let (x, y) = (size * (angle - width * j as f64).cos(), size * (angle - width * j as f64).sin());
    let far = width * ((o + count - j) % count) as f64;
    let (c1, s1, c2, s2) = (width.cos(), width.sin(), far.cos(), far.sin());
    // a + b + e = r_n, a + b c1 + e c2 = x, b s1 + e s2 = y.
    let determinant = (c1 - 1.0) * s2 - (c2 - 1.0) * s1;
    let (p, q) = (x - r[0], y);
    let (b, e) = ((p * s2 - q * (c2 - 1.0)) / determinant, (q * (c1 - 1.0) - p * s1) / determinant);
    for (slot, value) in [(j, r[0] - b - e), (k, b), (o, e)] {
        // What is rounding of r_n must not look like an active edge.
        c[slot] = if value > 1e-12 * r[0].abs() { value } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaction_inside_the_pyramid_is_split_and_put_together_again() {
        for facets in [3, 4, 5, 8, 16] {
            for rows in [2u8, 3] {
                let laws = [Law::Cone { mu: 0.7, rows }];
                let pyramids = Pyramids::new(&laws, facets);
                for step in 0..50 {
                    let angle = f64::from(step) * 0.37;
                    // A triangle's inner circle has half the radius.
                    let t = 0.7 * 0.49 * 2.0;
                    let r = [2.0, t * angle.cos(), if rows == 3 { t * angle.sin() } else { 0.0 }];
                    let c = pyramids.unfold(&laws, &r[..rows as usize]);
                    assert!(
                        c.iter().all(|&c| c >= 0.0) && c.iter().filter(|&&c| c > 0.0).count() <= 3
                    );
                    let mut back = [0.0; 3];
                    pyramids.fold(&c, &mut back[..rows as usize]);
                    assert!(
                        r.iter().zip(&back).take(rows as usize).all(|(a, b)| (a - b).abs() < 1e-14),
                        "{facets} {rows} {r:?} {back:?} {c:?}"
                    );
                }
            }
        }
    }
}
