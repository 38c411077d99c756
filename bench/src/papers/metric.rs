//! The unit-consistent error metric (Enzenhoefer2018): isolines, other metrics, the best iterate.

use super::sweeps::settled;
use super::{Found, Section};
use crate::packing::packing;
use signorini::math::sparse::Csr;
use signorini::problem::{Law, PreparedProblem, Problem, Rows, Solution, Tolerance, literature};
use signorini::solve::pivot::Pivot;
use signorini::solve::psor::{Psor, Settings};
use signorini::solve::{Solver, StoppingCriteria};
use signorini_record::figure::{Figure, dots, line};

const PAPER: &str = "Enzenhoefer2018";

pub(super) fn sections() -> Vec<Section> {
    vec![Section {
        name: "metric",
        paper: PAPER,
        title: "The error metric: figure 1, and beside other metrics",
        measure,
    }]
}

fn measure(found: &mut Found, quick: bool) -> Result<(), String> {
    isolines(found)?;
    beside(found, if quick { 20 } else { 60 })?;
    best_iterate(found)
}

/// δe at impulse x and velocity w of one row with a = 1, by the library.
fn error(law: Law, x: f64, w: f64) -> Result<f64, String> {
    let mut rows = Rows::new(1);
    rows.push(1, &[0], &[1.0]);
    let problem = Problem {
        H: Csr::diagonal(&[1.0]),
        k: vec![0.0],
        J: rows,
        E: vec![0.0],
        w: vec![w - x],
        laws: vec![law],
        ..Problem::default()
    };
    let solution = Solution { v: vec![x], r: vec![x] };
    let mut prepared = PreparedProblem::of(&problem).map_err(|e| e.to_string())?;
    Ok(prepared.local_residual(&problem, &solution).joule)
}

/// Equation (5) with a = 1 and the sign of its erratum.
fn equation_5(x: f64, w: f64, lo: f64, hi: f64) -> f64 {
    let x0 = x.min(hi).max(lo);
    let (over, under) = ((x - x0).max(0.0), (x0 - x).max(0.0));
    let half = |x: f64| 0.5 * x * x;
    let lower = half(w.max(0.0)).min(half(x0 + over - lo));
    let upper = half((-w).max(0.0)).min(half(hi - (x0 - under)));
    (half(over) + half(under)).max(lower).max(upper)
}

/// Figure 1: where δe is 1/8, 1/2, 9/8 and 2 J.
fn isolines(found: &mut Found) -> Result<(), String> {
    let kinds = [
        ("normal", Law::Unilateral, 0.0, f64::INFINITY),
        ("friction", Law::Interval { lo: -1.0, hi: 1.0 }, -1.0, 1.0),
    ];
    for (name, law, lo, hi) in kinds {
        let (mut worst, count, reach) = (0.0f64, 120, 3.0);
        let at = |i: usize| reach * (2.0 * i as f64 / count as f64 - 1.0);
        let mut values = Vec::new();
        for i in 0..=count {
            for j in 0..=count {
                let value = error(law, at(i), at(j))?;
                worst = worst.max((value - equation_5(at(i), at(j), lo, hi)).abs());
                values.push(value);
            }
        }
        found
            .row(
                "equation (5)",
                format!("{name}: largest difference on a grid of 121 x 121 points"),
                "J",
                (worst, Some(0.0)),
            )
            .note("the library's error against eq. (5) written out, a = 1");
        // Crossings of each level on the lines of the grid.
        let value = |i: usize, j: usize| values[i * (count + 1) + j];
        let mut curves = Vec::new();
        for level in [0.125, 0.5, 1.125, 2.0] {
            let mut points = Vec::new();
            let mut cross = |a: (usize, usize), b: (usize, usize)| {
                let (p, q) = (value(a.0, a.1), value(b.0, b.1));
                if (p < level) != (q < level) {
                    let t = (level - p) / (q - p);
                    points.push((
                        at(a.0) + t * (at(b.0) - at(a.0)),
                        at(a.1) + t * (at(b.1) - at(a.1)),
                    ));
                }
            };
            for i in 0..count {
                for j in 0..count {
                    cross((i, j), (i + 1, j));
                    cross((i, j), (i, j + 1));
                }
            }
            curves.push(dots(&format!("{level} J"), points));
        }
        found.figures.push(Figure::new(
            &format!("Figure 1: isolines of the error, {name}, a = 1"),
            ("x, N s", "w, m/s"),
            curves,
        ));
    }
    Ok(())
}

/// The metric and two others over the sweeps of algorithm 4.1; a direct solver at the end.
fn beside(found: &mut Found, sweeps: u64) -> Result<(), String> {
    let problem = settled(280);
    let tolerance = Tolerance { relative: 0.0, velocity: 0.0, bound: None, velocity_relative: 0.0 };
    let mut series: [Vec<(f64, f64)>; 3] = Default::default();
    for work in 1..=sweeps {
        let stop = StoppingCriteria { tolerance, work: Some(work), ..StoppingCriteria::default() };
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = Psor::new(Settings { stop, ..Settings::plain(1.0) })
            .solve(&problem, &mut solution)
            .map_err(|e| e.to_string())?;
        let other = literature::of(&problem, &solution);
        let values = [report.error.joule, other.natural, other.fischer_burmeister];
        for (curve, value) in series.iter_mut().zip(values) {
            curve.push((work as f64, value));
        }
    }
    let note = "\"agrees qualitatively\", without a number; correlation of logarithms, 280 balls";
    for (k, name) in [(1, "natural residual"), (2, "Fischer-Burmeister merit")] {
        let what = format!("this error and the {name}, {sweeps} sweeps: correlation");
        let pair = (correlation(&series[0], &series[k]), None);
        found.row("page 2", what, "", pair).note(note);
    }
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let exact = Pivot::default().solve(&problem, &mut solution).map_err(|e| e.to_string())?;
    let last = series[0].last().map_or(f64::NAN, |p| p.1);
    let note = "\"expected different behaviours\", without a number; the paper gives no scene";
    let what = format!("error after {sweeps} sweeps (iterative)");
    found.row("page 2", what, "J", (last, None)).note(note);
    let what = "error after pivoting (direct)";
    found.row("page 2", what, "J", (exact.error.joule, None)).note(note);
    let [joule, natural, merit] = series;
    found.figures.push(
        Figure::new(
            "Three metrics over the sweeps, 280 balls without friction",
            ("sweeps", "J, and mixed units"),
            vec![
                line("this error", joule),
                line("natural residual", natural),
                line("Fischer-Burmeister", merit),
            ],
        )
        .logarithmic(),
    );
    Ok(())
}

/// The correlation of the logarithms.
fn correlation(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let pairs: Vec<(f64, f64)> = a
        .iter()
        .zip(b)
        .filter(|(x, y)| x.1 > 0.0 && y.1 > 0.0)
        .map(|(x, y)| (x.1.ln(), y.1.ln()))
        .collect();
    let n = pairs.len() as f64;
    let (mx, my) =
        (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| -> f64 { pairs.iter().map(|p| f(p.0 - mx, p.1 - my)).sum() };
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// What is gained by the iterate of least error when the sweeps end early.
fn best_iterate(found: &mut Found) -> Result<(), String> {
    let problem = packing(1000, 3);
    let tolerance = Tolerance { relative: 0.0, velocity: 0.0, bound: None, velocity_relative: 0.0 };
    let stop = StoppingCriteria {
        tolerance,
        work: Some(60),
        history: true,
        ..StoppingCriteria::default()
    };
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = Psor::new(Settings { stop, ..Settings::default() })
        .solve(&problem, &mut solution)
        .map_err(|e| e.to_string())?;
    let worse = report
        .history
        .iter()
        .map(|s| if s.best > 0.0 { s.joule / s.best } else { 1.0 })
        .fold(1.0, f64::max);
    found
        .row(
            "abstract",
            "error of an iterate over that of the best before it, most",
            "",
            (worse, None),
        )
        .note(
            "the paper keeps the iterate of least error, without a number; 1000 contacts with \
            friction, 60 extrapolated sweeps",
        );
    let curve = |name: &str, value: fn(&signorini::solve::Sample) -> f64| {
        line(name, report.history.iter().map(|s| (s.work as f64, value(s))).collect())
    };
    found.figures.push(
        Figure::new(
            "Every iterate and the best so far, 1000 contacts with friction",
            ("sweeps", "error, J"),
            vec![curve("this iterate", |s| s.joule), curve("the best", |s| s.best)],
        )
        .logarithmic(),
    );
    Ok(())
}
