//! The sparse simplex method (Tasora2005): updates of the factorization, cost of a pivot, fill-in.

use super::{Found, Section, page};
use crate::pivot::{chain_row, dense_row, slope, update_row};
use crate::pivot_scenes::chain;
use signorini::problem::Solution;
use signorini::solve::Solver;
use signorini::solve::pivot::{self, Pivot, Settings};
use signorini_record::figure::{Figure, line};

const PAPER: &str = "Tasora2005";

pub(super) fn sections() -> Vec<Section> {
    vec![Section {
        name: "simplex",
        paper: PAPER,
        title: "Section 3: incremental factorization, linear chains, dense simplex",
        measure,
    }]
}

fn measure(found: &mut Found, quick: bool) -> Result<(), String> {
    let sizes: &[usize] = if quick { &[500] } else { &[500, 1000, 2000, 3000] };
    for &rows in sizes {
        let update = update_row(rows);
        let what = format!("{rows} rows: a new factorization over one row on or off, time");
        found
            .row("section 3.2", what, "", (update.ratio, Some(10.0)))
            .note("\"at least an order of magnitude\"; heaps of bodies of our own, no scene given");
    }
    let links: &[usize] = if quick { &[50, 100] } else { &[50, 100, 200, 400, 800, 1600, 3200] };
    let chains: Vec<_> = links.iter().map(|&n| chain_row(n)).collect();
    found
        .row(
            "section 3.2",
            "open chains: exponent of the time per pivot",
            "",
            (slope(&chains), Some(1.0)),
        )
        .note("O(n); slope of log time over log length, one thread, medians");
    found.figures.push(Figure::new(
        "Open chains: time of one pivot over the number of links",
        ("links", "us"),
        vec![line(
            "time per pivot",
            chains.iter().map(|c| (c.n as f64, c.us_per_iteration)).collect(),
        )],
    ));
    let dense: &[usize] = if quick { &[30] } else { &[30, 100, 300, 1000] };
    for &rows in dense {
        let row = dense_row(rows);
        let what = format!("{rows} rows: the same pivots on the dense matrix over ours, time");
        found.row("section 3.1", what, "", (row.dantzig_ms / row.ours_ms, None)).note(
            "the paper calls the dense simplex slower, without a number; forming the dense \
                matrix is not counted",
        );
    }
    fill(found)
}

/// Entries of the matrix and of its factor, and a picture of the matrix.
fn fill(found: &mut Found) -> Result<(), String> {
    let problem = chain(50);
    let (_, lower) = pivot::factor(&problem);
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let mut method = Pivot::new(Settings { swept: false, ..Settings::default() });
    method.solve(&problem, &mut solution).map_err(|e| e.to_string())?;
    let entries: Vec<(u32, u32)> =
        (0..lower.rows).flat_map(|i| lower.row(i).0.iter().map(move |&j| (i as u32, j))).collect();
    let below = entries.iter().filter(|(i, j)| i != j).count();
    let ratio = method.factor_len() as f64 / below as f64;
    found
        .row(
            "figure 2",
            "chain of 50: entries of the factor over those of the matrix",
            "",
            (ratio, None),
        )
        .note("a picture without numbers, of a gripper whose sizes are not given");
    found.drawings.push((
        "Figure 2: the matrix of a chain of 50 links, lower half".into(),
        page::pattern((lower.rows, lower.rows), &entries, &[]),
    ));
    Ok(())
}
