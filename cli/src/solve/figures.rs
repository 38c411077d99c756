//! The plots of `--plot`: residuals over the work, patterns of the factor, isolines of the error.

use super::outcome::Outcome;
use signorini::math::ldlt::{Ldlt, Ordering};
use signorini::math::sparse::Csr;
use signorini::problem::files::Input;
use signorini::problem::{PreparedProblem, Problem, Reduced};
use signorini::solve::PathSample;
use signorini_record::figure::{Curve, Figure, dots, line};
use std::collections::BTreeSet;

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Plot {
    /// The error over the work, of every solver; of the interior point also r_p, r_d and mu.
    Residuals,
    /// The matrix [H, Jᵀ; J, −E], its factor, and the entries that one pivot updates.
    Sparsity,
    /// The error of a problem of one row over its reaction and its velocity without reaction.
    Isolines,
}

/// A matrix of more unknowns is not drawn.
const MAX_DRAWN_UNKNOWNS: usize = 2000;
/// Points of the grid of isolines in each direction.
const GRID: usize = 240;

/// The picture as SVG.
pub(super) fn svg(plot: Plot, input: &Input, outcomes: &[Outcome]) -> Result<String, String> {
    match plot {
        Plot::Residuals => residuals(input, outcomes),
        Plot::Sparsity => match input {
            Input::Problem(problem) => sparsity(problem),
            Input::Reduced(_) => {
                Err("--plot sparsity: the file holds W; its H is not known".into())
            }
        },
        Plot::Isolines => isolines(input),
    }
}

fn residuals(input: &Input, outcomes: &[Outcome]) -> Result<String, String> {
    let mut curves: Vec<Curve> = Vec::new();
    for outcome in outcomes {
        let Ok(report) = &outcome.result else { continue };
        let name = outcome.choice.name;
        let points: Vec<(f64, f64)> =
            report.history.iter().map(|s| (s.work as f64, s.best)).collect();
        curves.push(line(&format!("{name}: error, J"), points));
        let over_work = |label: &str, value: fn(&PathSample) -> f64| {
            line(label, report.path.iter().map(|s| (s.work as f64, value(s))).collect())
        };
        if !report.path.is_empty() {
            curves.push(over_work(&format!("{name}: r_p, √J"), |s| s.r_p));
            curves.push(over_work(&format!("{name}: r_d, √J"), |s| s.r_d));
            curves.push(over_work(&format!("{name}: mu, J"), |s| s.mu));
        }
    }
    // What is zero has no logarithm.
    curves.iter_mut().for_each(|curve| curve.points.retain(|p| p.1 > 0.0));
    curves.retain(|curve| !curve.points.is_empty());
    if curves.is_empty() {
        return Err("--plot residuals: no solver left a history of its error".into());
    }
    let title = format!("{}: residuals", input.name());
    let axes = ("work: sweeps, factorizations or pivots", "residual");
    Ok(Figure::new(&title, axes, curves).logarithmic().svg())
}

/// The lower triangle of `[H, Jᵀ; J, −E]`, with its diagonal.
fn saddle(problem: &Problem) -> Csr {
    let n = problem.n() as u32;
    let mut entries = Vec::new();
    for i in 0..problem.n() {
        let (columns, values) = problem.H.row(i);
        let lower = columns.iter().zip(values).filter(|(j, _)| **j <= i as u32);
        entries.extend(lower.map(|(&j, &h)| (i as u32, j, h)));
    }
    for block in problem.J.blocks() {
        for (i, row) in block.range().enumerate() {
            let row_of = n + row as u32;
            let all = block.columns.iter().zip(block.row(i));
            entries.extend(all.filter(|(_, x)| **x != 0.0).map(|(&j, &x)| (row_of, j, x)));
            // A small regular term keeps the entry.
            entries.push((row_of, row_of, -problem.E[row].max(f64::MIN_POSITIVE)));
        }
    }
    let size = problem.n() + problem.rows();
    Csr::from_triplets(size, size, &entries)
}

/// The columns of L below their diagonal, by elimination of the pattern in this order, and the
/// parent of each column in the elimination tree.
fn eliminated(lower: &Csr, order: &[u32]) -> (Vec<BTreeSet<u32>>, Vec<Option<u32>>) {
    let size = lower.rows;
    let mut place = vec![0u32; size];
    order.iter().zip(0..).for_each(|(&unknown, p)| place[unknown as usize] = p);
    let mut columns = vec![BTreeSet::new(); size];
    for i in 0..size {
        for &j in lower.row(i).0.iter().filter(|j| **j as usize != i) {
            let (a, b) = (place[i], place[j as usize]);
            columns[a.min(b) as usize].insert(a.max(b));
        }
    }
    let mut parents = vec![None; size];
    for c in 0..size {
        let Some(&parent) = columns[c].first() else { continue };
        parents[c] = Some(parent);
        let rest: Vec<u32> = columns[c].iter().skip(1).copied().collect();
        columns[parent as usize].extend(rest);
    }
    (columns, parents)
}

fn sparsity(problem: &Problem) -> Result<String, String> {
    let lower = saddle(problem);
    if lower.rows > MAX_DRAWN_UNKNOWNS {
        return Err(format!(
            "--plot sparsity: {} unknowns and rows, at most {MAX_DRAWN_UNKNOWNS} are drawn",
            lower.rows
        ));
    }
    let order = Ldlt::analyse(&lower, Ordering::Amd).order();
    let (columns, parents) = eliminated(&lower, &order);
    let mut place = vec![0u32; lower.rows];
    order.iter().zip(0..).for_each(|(&unknown, p)| place[unknown as usize] = p);
    let matrix: Vec<(u32, u32)> =
        (0..lower.rows).flat_map(|i| lower.row(i).0.iter().map(move |&j| (i as u32, j))).collect();
    let ordered: BTreeSet<(u32, u32)> = matrix
        .iter()
        .map(|&(i, j)| (place[i as usize], place[j as usize]))
        .map(|(a, b)| (a.max(b), a.min(b)))
        .collect();
    let all = columns.iter().zip(0u32..).flat_map(|(c, j)| c.iter().map(move |&i| (i, j)));
    let fill: Vec<(u32, u32)> = all.filter(|entry| !ordered.contains(entry)).collect();
    // A row that enters or leaves changes the columns from its own to the root of the tree.
    let mut updated = Vec::new();
    let mut at = (problem.rows() > 0).then(|| place[problem.n()]);
    while let Some(c) = at {
        updated.push((c, c));
        updated.extend(columns[c as usize].iter().map(|&i| (i, c)));
        at = parents[c as usize];
    }
    let ordered: Vec<(u32, u32)> = ordered.into_iter().collect();
    let panels: [(String, Vec<Layer<'_>>); 3] = [
        (format!("matrix: {} entries", matrix.len()), vec![(&matrix, MATRIX)]),
        (
            format!("factor: {} entries, {} of them fill", ordered.len() + fill.len(), fill.len()),
            vec![(&fill, FILL), (&ordered, MATRIX)],
        ),
        (
            format!("one pivot (the first row) updates {} entries", updated.len()),
            vec![(&fill, FILL), (&ordered, MATRIX), (&updated, UPDATED)],
        ),
    ];
    Ok(patterns(lower.rows, &panels))
}

/// Entries and their colour.
type Layer<'a> = (&'a [(u32, u32)], &'static str);

const MATRIX: &str = "#2a3038";
const FILL: &str = "#9fb7d6";
const UPDATED: &str = "#c8502d";

/// Lower triangles side by side, one square per entry.
fn patterns(size: usize, panels: &[(String, Vec<Layer<'_>>)]) -> String {
    let cell = (600.0 / size.max(1) as f64).clamp(0.5, 10.0);
    let side = cell * size as f64;
    let (width, height) = (panels.len() as f64 * (side + 20.0), side + 24.0);
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
            xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"{width}\" height=\"{height}\" \
            fill=\"#ffffff\"/>"
    );
    for (k, (title, layers)) in panels.iter().enumerate() {
        let x = k as f64 * (side + 20.0) + 10.0;
        out += &format!(
            "<g transform=\"translate({x} 20)\"><text y=\"-6\" font-size=\"12\" \
                font-family=\"sans-serif\">{title}</text><rect width=\"{side}\" \
                height=\"{side}\" fill=\"none\" stroke=\"#66707c\"/>"
        );
        for (entries, colour) in layers {
            // One path per layer: a square for each entry.
            let mut path = String::new();
            for (row, column) in *entries {
                let (x, y) = (cell * f64::from(*column), cell * f64::from(*row));
                path += &format!("M{x:.2} {y:.2}h{cell:.2}v{cell:.2}h-{cell:.2}z");
            }
            out += &format!("<path d=\"{path}\" fill=\"{colour}\"/>");
        }
        out += "</g>";
    }
    out + "</svg>"
}

/// The error of one row over r and over its velocity without reaction q, whatever the file's own.
fn isolines(input: &Input) -> Result<String, String> {
    if input.rows() != 1 {
        return Err(format!("--plot isolines: {} rows, wanted a problem of one", input.rows()));
    }
    let one = match input {
        Input::Problem(problem) => Reduced::of(problem).map_err(|why| why.to_string())?,
        Input::Reduced(reduced) => reduced.clone(),
    };
    let (a, q) = (one.W.get(0, 0), one.q[0]);
    if !(a > 0.0) {
        return Err("--plot isolines: nothing moves the row".into());
    }
    // Twice as far as the row is from rest.
    let reach_q = if q == 0.0 { 1.0 } else { 2.0 * q.abs() };
    let reach_r = reach_q / a;
    let at = |i: usize| 2.0 * i as f64 / GRID as f64 - 1.0;
    let mut values = Vec::with_capacity((GRID + 1) * (GRID + 1));
    let mut posed = one;
    for i in 0..=GRID {
        posed.q[0] = reach_q * at(i);
        let mut prepared = PreparedProblem::of_reduced(&posed);
        values.extend((0..=GRID).map(|j| prepared.error_reduced(&posed, &[reach_r * at(j)]).joule));
    }
    let unit = 0.5 * reach_q * reach_q / a;
    let curves = [0.01, 0.05, 0.2, 0.5, 1.0].map(|part| {
        let level = part * unit;
        dots(&format!("{level:.2e} J"), crossings(&values, level, (reach_r, reach_q)))
    });
    let title = format!("{}: isolines of the error", input.name());
    let axes = ("reaction r, N s or N m s", "velocity without reaction q, m/s or rad/s");
    Ok(Figure::new(&title, axes, curves.into()).svg())
}

/// Where the lines of the grid cross a level.
fn crossings(values: &[f64], level: f64, (reach_r, reach_q): (f64, f64)) -> Vec<(f64, f64)> {
    let value = |i: usize, j: usize| values[i * (GRID + 1) + j];
    let at = |x: f64| 2.0 * x / GRID as f64 - 1.0;
    let mut points = Vec::new();
    let mut cross = |(i, j): (usize, usize), (di, dj): (usize, usize)| {
        let (p, q) = (value(i, j), value(i + di, j + dj));
        if (p < level) != (q < level) {
            let t = (level - p) / (q - p);
            let (x, y) = (j as f64 + t * dj as f64, i as f64 + t * di as f64);
            points.push((reach_r * at(x), reach_q * at(y)));
        }
    };
    for i in 0..GRID {
        for j in 0..GRID {
            cross((i, j), (1, 0));
            cross((i, j), (0, 1));
        }
    }
    points
}
