//! The six procedures of (SymbolicQR), each a program of its own, and three small ones that
//! complete an evaluation.
//!
//! | name | computes | from |
//! |---|---|---|
//! | jacobian | ᴰG: the entries of G that are not constant | q |
//! | scaled | the entries of A = L⁻¹Gᵀ that are not constant | ᴰG |
//! | inverse_mass | M⁻¹s | s |
//! | times | G s | ᴰG, s |
//! | bias | u = −Ġ v | q, v |
//! | factor | R(A) | A |
//! | forces | f | q, v, drives |
//! | solve | λ with RᵀRλ = b | R, b |
//! | pull | f − Gᵀλ | ᴰG, λ, f |

use super::equations::Equations;
use crate::symbolic::graph::{Graph, Id};
use crate::symbolic::pattern::{Pattern, dense_givens};
use crate::symbolic::unrolled;

/// A program with named arguments.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: &'static str,
    /// What it computes.
    pub about: &'static str,
    /// Its expressions.
    pub graph: Graph,
    /// Its arguments in the order of the inputs: name, length.
    pub arguments: Vec<(&'static str, usize)>,
    /// Its results.
    pub results: Vec<Id>,
    /// Operations of the same with dense matrices.
    pub dense: f64,
    /// Entries of the matrix that were known beforehand.
    pub constants: usize,
}

impl Procedure {
    /// Operations.
    pub fn flops(&self) -> usize {
        self.graph.flops(&self.results)
    }

    /// Bytes of its straight-line form's data: results and arguments.
    pub fn memory(&self) -> usize {
        8 * (self.results.len() + self.arguments.iter().map(|a| a.1).sum::<usize>())
    }
}

/// A matrix of which some entries are known: in a fresh graph, the others are inputs.
struct Known {
    /// Entry by entry: its value, or its place among the unknown ones.
    entries: Vec<Result<f64, usize>>,
    unknown: Vec<Id>,
}

impl Known {
    fn of(graph: &Graph, ids: impl Iterator<Item = Id>) -> Known {
        let mut known = Known { entries: Vec::new(), unknown: Vec::new() };
        for id in ids {
            match graph.value(id) {
                Some(value) => known.entries.push(Ok(value)),
                None => {
                    // The same expression in two places is one number.
                    let place = known.unknown.iter().position(|&u| u == id).unwrap_or_else(|| {
                        known.unknown.push(id);
                        known.unknown.len() - 1
                    });
                    known.entries.push(Err(place));
                }
            }
        }
        known
    }

    fn constants(&self) -> usize {
        self.entries.iter().filter(|e| e.is_ok()).count()
    }

    fn write(&self, graph: &mut Graph) -> Vec<Id> {
        let one = |e: &Result<f64, usize>| match *e {
            Ok(value) => graph.constant(value),
            Err(place) => graph.input(place),
        };
        self.entries.iter().map(one).collect()
    }
}

/// R of A and what it costs, counted as published and as it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Rows of A.
    pub rows: usize,
    /// Columns of A.
    pub columns: usize,
    /// Entries of A.
    pub entries: usize,
    /// Entries of A that are constant.
    pub constants: usize,
    /// By Givens rotations, zeros and constants folded: the published convention.
    pub givens: usize,
    /// By reflections with flat lists: the method in use.
    pub reflections: usize,
    /// By dense Givens rotations.
    pub dense: f64,
}

/// Counts R over these rows.
pub fn count(e: &Equations, kept: &[usize]) -> Count {
    let (pattern, ids) = chosen(e, kept);
    let known = Known::of(&e.graph, ids.iter().copied());
    let mut graph = Graph::default();
    let entries = known.write(&mut graph);
    let r = unrolled::rotations(&mut graph, &pattern, &entries);
    let all = Pattern::analyse(pattern.rows, pattern.columns, &pattern.entries);
    Count {
        rows: pattern.rows,
        columns: pattern.columns,
        entries: entries.len(),
        constants: known.constants(),
        givens: graph.flops(&r.entries()),
        reflections: all.flops(),
        dense: dense_givens(pattern.rows, pattern.columns),
    }
}

/// The pattern of A over these rows and its entries in the order of the pattern.
pub(super) fn chosen(e: &Equations, kept: &[usize]) -> (Pattern, Vec<Id>) {
    let mut number = vec![None; e.rows.len()];
    kept.iter().enumerate().for_each(|(i, &k)| number[k] = Some(i as u32));
    let list: Vec<((u32, u32), Id)> =
        e.a.iter().filter_map(|&((i, row), x)| number[row as usize].map(|r| ((i, r), x))).collect();
    let entries: Vec<(u32, u32)> = list.iter().map(|c| c.0).collect();
    (
        Pattern::analyse(e.coordinates.velocities(), kept.len(), &entries),
        list.into_iter().map(|c| c.1).collect(),
    )
}

/// All procedures for these rows: the paper's six, then the three others.
pub fn procedures(e: &mut Equations, kept: &[usize]) -> Vec<Procedure> {
    let (nq, nv, nd, n) =
        (e.coordinates.positions(), e.coordinates.velocities(), e.drives.len(), kept.len());
    let (fv, fn_) = (nv as f64, n as f64);
    let g = Known::of(&e.graph, kept.iter().flat_map(|&r| e.rows[r].entries.iter().map(|x| x.1)));
    let (pattern, a_ids) = chosen(e, kept);
    let mut out = Vec::new();
    let bias: Vec<Id> = kept.iter().map(|&r| e.rows[r].u).collect();
    let plain = |name, about, results: Vec<Id>, arguments, dense, constants| Procedure {
        name,
        about,
        graph: e.graph.clone(),
        arguments,
        results,
        dense,
        constants,
    };
    out.push(plain(
        "jacobian",
        "entries of G that are not constant",
        g.unknown.clone(),
        vec![("q", nq)],
        fn_ * fv,
        g.constants(),
    ));
    let forces = plain(
        "forces",
        "forces f",
        e.forces.clone(),
        vec![("q", nq), ("v", nv), ("drive", nd)],
        fv,
        0,
    );
    let bias = plain("bias", "u = -dG/dt v", bias, vec![("q", nq), ("v", nv)], 2.0 * fn_ * fv, 0);
    // A from G: the entries of A that are not constant, each once.
    let a = Known::of(&e.graph, a_ids.iter().copied());
    out.push(scaled(e, kept, &g, &a, &a_ids));
    out.push(inverse_mass(e, fv));
    out.push(times(e, kept, &g));
    out.push(bias);
    let (factor, solve) = factor(&pattern, &a);
    out.push(factor);
    out.push(forces);
    out.push(solve);
    out.push(pull(e, kept, &g));
    out
}

/// The same equations with the entries of G as inputs.
fn with_inputs(e: &Equations, kept: &[usize], g: &Known) -> Equations {
    let mut fresh = e.clone();
    fresh.graph = Graph::default();
    let ids = g.write(&mut fresh.graph);
    fresh.rows = kept.iter().map(|&r| e.rows[r].clone()).collect();
    let mut next = ids.into_iter();
    for row in &mut fresh.rows {
        row.entries.iter_mut().for_each(|entry| entry.1 = next.next().expect("one for each entry"));
    }
    fresh.a.clear();
    fresh
}

fn scaled(e: &Equations, kept: &[usize], g: &Known, a: &Known, a_ids: &[Id]) -> Procedure {
    let mut fresh = with_inputs(e, kept, g);
    fresh.scaled_jacobian();
    let entry = |id: &Id| fresh.a[a_ids.iter().position(|x| x == id).expect("an entry of A")].1;
    Procedure {
        name: "scaled",
        about: "entries of A = L^-1 G^T that are not constant",
        results: a.unknown.iter().map(entry).collect(),
        arguments: vec![("g", g.unknown.len())],
        dense: (kept.len() * e.forces.len() * e.forces.len()) as f64,
        constants: a.constants(),
        graph: fresh.graph,
    }
}

fn inverse_mass(e: &Equations, fv: f64) -> Procedure {
    let mut fresh = e.clone();
    fresh.graph = Graph::default();
    let s: Vec<Id> = (0..e.forces.len()).map(|i| fresh.graph.input(i)).collect();
    let results = fresh.inverse_mass(&s);
    let arguments = vec![("s", s.len())];
    Procedure {
        name: "inverse_mass",
        about: "M^-1 s",
        graph: fresh.graph,
        arguments,
        results,
        dense: 2.0 * fv * fv,
        constants: 0,
    }
}

fn times(e: &Equations, kept: &[usize], g: &Known) -> Procedure {
    let mut fresh = with_inputs(e, kept, g);
    let base = g.unknown.len();
    let s: Vec<Id> = (0..e.forces.len()).map(|i| fresh.graph.input(base + i)).collect();
    let results = (0..kept.len()).map(|r| fresh.times(r, &s)).collect();
    Procedure {
        name: "times",
        about: "G s",
        graph: fresh.graph,
        arguments: vec![("g", base), ("s", s.len())],
        results,
        dense: 2.0 * (kept.len() * s.len()) as f64,
        constants: g.constants(),
    }
}

fn pull(e: &Equations, kept: &[usize], g: &Known) -> Procedure {
    let mut fresh = with_inputs(e, kept, g);
    let (base, n, nv) = (g.unknown.len(), kept.len(), e.forces.len());
    let lambda: Vec<Id> = (0..n).map(|i| fresh.graph.input(base + i)).collect();
    fresh.forces = (0..nv).map(|i| fresh.graph.input(base + n + i)).collect();
    let rows: Vec<usize> = (0..n).collect();
    let results = fresh.remaining(&rows, &lambda);
    Procedure {
        name: "pull",
        about: "f - G^T lambda",
        graph: fresh.graph,
        arguments: vec![("g", base), ("lambda", n), ("f", nv)],
        results,
        dense: 2.0 * (n * nv) as f64,
        constants: g.constants(),
    }
}

fn factor(pattern: &Pattern, a: &Known) -> (Procedure, Procedure) {
    let mut graph = Graph::default();
    let entries = a.write(&mut graph);
    let r = unrolled::reflections(&mut graph, pattern, &entries);
    // Diagonal entries first: they are what is looked at.
    let diagonal: Vec<Id> = r.rows.iter().filter_map(|row| row.1).collect();
    let rest: Vec<Id> = r.rows.iter().flat_map(|row| row.2.iter().map(|x| x.1)).collect();
    let results: Vec<Id> = diagonal.iter().chain(&rest).copied().collect();
    let factor = Procedure {
        name: "factor",
        about: "R(A), diagonal entries first",
        graph,
        arguments: vec![("a", a.unknown.len())],
        results,
        dense: dense_givens(pattern.rows, pattern.columns),
        constants: a.constants(),
    };
    let mut fresh = r.clone();
    let mut graph = Graph::default();
    let (mut d, mut o) = (0, diagonal.len());
    for row in &mut fresh.rows {
        if row.1.is_some() {
            row.1 = Some(graph.input(d));
            d += 1;
        }
        for other in &mut row.2 {
            other.1 = graph.input(o);
            o += 1;
        }
    }
    let b: Vec<Id> = (0..pattern.columns).map(|i| graph.input(o + i)).collect();
    let results = fresh.solve(&mut graph, &b);
    let n = pattern.columns as f64;
    let solve = Procedure {
        name: "solve",
        about: "lambda with R^T R lambda = b",
        graph,
        arguments: vec![("r", o), ("b", pattern.columns)],
        results,
        dense: 2.0 * n * n,
        constants: 0,
    };
    (factor, solve)
}

impl Procedure {
    /// What the export needs to know.
    pub fn body(&self) -> crate::symbolic::export::Body<'_> {
        crate::symbolic::export::Body {
            name: self.name,
            about: self.about,
            graph: &self.graph,
            arguments: &self.arguments,
            results: &self.results,
        }
    }
}
