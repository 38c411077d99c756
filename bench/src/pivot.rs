//! `signorini bench pivot`: what a pivot costs, how many there are, and how few with a good guess.
//!
//! Times are the best of several repeats on one thread; every figure is a ratio or a slope within
//! one run.

use super::pivot_corpus;
use super::pivot_scenes::{Scene, chain, gripper, heap, stack, wall};
use serde::Serialize;
use signorini::math::ldlt::{Ldlt, Ordering};
use signorini::math::random::Random;
use signorini::math::sparse::Csr;
use signorini::problem::{Problem, Reduced, Solution};
use signorini::solve::lemke::{self, Lemke};
use signorini::solve::pivot::{self, Pivot, Settings, pyramid};
use signorini::solve::{ReducedSolver, Solver, StoppingCriteria};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Options of `bench pivot`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Problems to solve, friction by pyramids, beside the interior point; without any: the bench
    /// itself.
    files: Vec<PathBuf>,
    /// Folders of problems to solve so.
    #[arg(long)]
    corpus: Vec<PathBuf>,
    /// Only problems whose file name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Latest end of each solve, s.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The most unilateral rows to try.
    #[arg(long, default_value_t = 3000)]
    largest: usize,
    /// Edges of each pyramid.
    #[arg(long, default_value_t = 4)]
    facets: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
pub(crate) struct Update {
    pub(crate) rows: usize,
    /// Refactorization (the faster of ours and faer's) over one update.
    pub(crate) ratio: f64,
    pub(crate) update_us: f64,
    pub(crate) refactor_us: f64,
    pub(crate) faer_us: f64,
}

#[derive(Serialize)]
pub(crate) struct ChainRow {
    pub(crate) n: usize,
    pub(crate) us_per_iteration: f64,
}

#[derive(Serialize)]
pub(crate) struct DenseRow {
    pub(crate) rows: usize,
    pub(crate) pivots: u64,
    pub(crate) ours_ms: f64,
    /// Lemke's dense tableau.
    pub(crate) dense_ms: f64,
    pub(crate) dense_pivots: u64,
    /// The same walk on the dense W.
    pub(crate) dantzig_ms: f64,
}

#[derive(Serialize)]
struct WarmRow {
    scene: &'static str,
    cold: f64,
    warm: f64,
    fraction: f64,
}

#[derive(Serialize)]
struct Figures {
    update_vs_refactor: Vec<Update>,
    chain: Vec<ChainRow>,
    chain_exponent: f64,
    dense: Vec<DenseRow>,
    warm_fraction: f64,
    warm: Vec<WarmRow>,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    if !arguments.files.is_empty() || !arguments.corpus.is_empty() {
        return pivot_corpus::run(&pivot_corpus::Wanted {
            files: arguments.files.clone(),
            corpora: arguments.corpus.clone(),
            only: arguments.only.clone(),
            facets: arguments.facets,
            seconds: arguments.seconds,
            largest: arguments.largest,
            json: arguments.json,
        });
    }
    let chain: Vec<ChainRow> = [50, 100, 200, 400, 800, 1600, 3200].map(chain_row).into();
    let warm = vec![
        warm_row("gripper", gripper()),
        warm_row("stack", stack(15)),
        warm_row("wall", wall(6, 6)),
    ];
    let figures = Figures {
        update_vs_refactor: [500, 1000, 2000, 3000].map(update_row).into(),
        chain_exponent: slope(&chain),
        chain,
        dense: [10, 30, 100, 300, 1000].map(dense_row).into(),
        warm_fraction: warm.iter().map(|w| w.fraction).fold(0.0, f64::max),
        warm,
    };
    if arguments.json {
        println!("{}", serde_json::to_string(&figures).expect("plain numbers"));
    } else {
        print(&figures);
    }
    ExitCode::SUCCESS
}

fn print(figures: &Figures) {
    println!("one row enters or leaves: update against a new factorization");
    println!("  rows   update us   refactor us   faer us   ratio");
    for u in &figures.update_vs_refactor {
        println!(
            "{:6} {:11.1} {:13.1} {:9.1} {:7.1}",
            u.rows, u.update_us, u.refactor_us, u.faer_us, u.ratio
        );
    }
    println!("open chains: us per pivot (exponent {:.2})", figures.chain_exponent);
    for c in &figures.chain {
        println!("{:6} {:11.1}", c.n, c.us_per_iteration);
    }
    println!(
        "against dense methods\n  rows  pivots    ours ms   Lemke ms (pivots)   dense walk ms"
    );
    for d in &figures.dense {
        println!(
            "{:6} {:7} {:10.2} {:10.2} ({:6}) {:14.2}",
            d.rows, d.pivots, d.ours_ms, d.dense_ms, d.dense_pivots, d.dantzig_ms
        );
    }
    println!("pivots per step, cold and warm");
    for w in &figures.warm {
        println!("{:>8} {:8.1} {:8.2} {:7.1} %", w.scene, w.cold, w.warm, 100.0 * w.fraction);
    }
}

/// The walk by itself, one row at a time from nothing: what is counted and timed here.
pub(crate) fn alone() -> Settings {
    Settings { swept: false, ..Settings::default() }
}

/// The least time of several calls, s.
pub(crate) fn best(repeats: usize, mut call: impl FnMut()) -> f64 {
    let time = |call: &mut dyn FnMut()| {
        let begin = Instant::now();
        call();
        begin.elapsed().as_secs_f64()
    };
    (0..repeats).map(|_| time(&mut call)).fold(f64::INFINITY, f64::min)
}

/// Rows of a heap at its solution come and go.
pub(crate) fn update_row(rows: usize) -> Update {
    let problem = heap(rows, 3);
    let (n, mut solution) = (problem.n(), Solution::zero(problem.n(), problem.rows()));
    Pivot::default().solve(&problem, &mut solution).expect("a convex problem");
    let (mut factor, lower) = pivot::factor(&problem);
    let present: Vec<bool> = (0..n + rows).map(|i| i < n || solution.r[i - n] > 0.0).collect();
    let mut dropped = Vec::new();
    let refactor = best(5, || factor.factor(&present, n, &mut dropped).expect("H is definite"));
    // Thirty active rows leave and come back.
    let active: Vec<usize> = (n..n + rows).filter(|&i| present[i]).collect();
    let mut numbers = Random::seeded(5);
    let chosen: Vec<usize> =
        (0..30).map(|_| active[(numbers.unit() * active.len() as f64) as usize]).collect();
    let updates = best(7, || {
        for &i in &chosen {
            assert!(factor.remove(i) && factor.add(i), "independent rows leave and come back");
        }
    });
    // The active rows alone, in whatever order suits; a small compliance makes every order
    // possible.
    let part = submatrix(&lower, &present);
    let signs: Vec<i8> =
        (0..n + rows).filter(|&i| present[i]).map(|i| if i < n { 1 } else { -1 }).collect();
    let mut ldlt = Ldlt::analyse(&part, Ordering::Amd);
    let faer = best(5, || ldlt.factor(&part.values, &signs).expect("quasi-definite"));
    let update = updates / (2.0 * chosen.len() as f64);
    Update {
        rows,
        ratio: refactor.min(faer) / update,
        update_us: 1e6 * update,
        refactor_us: 1e6 * refactor,
        faer_us: 1e6 * faer,
    }
}

/// The lower triangle over the present unknowns, with a compliance of 1e-6 on the rows.
fn submatrix(lower: &Csr, present: &[bool]) -> Csr {
    let mut number = vec![0u32; lower.rows];
    let mut count = 0;
    for i in 0..lower.rows {
        number[i] = count;
        count += u32::from(present[i]);
    }
    let mut triplets = Vec::new();
    for i in (0..lower.rows).filter(|&i| present[i]) {
        let (columns, values) = lower.row(i);
        let kept = columns.iter().zip(values).filter(|(j, _)| present[**j as usize]);
        triplets.extend(kept.map(|(&j, &x)| {
            (number[i], number[j as usize], if j as usize == i && x == 0.0 { -1e-6 } else { x })
        }));
    }
    Csr::from_triplets(count as usize, count as usize, &triplets)
}

/// Time per pivot of a chain that meets the floor: the median over the pivots of three runs.
pub(crate) fn chain_row(n: usize) -> ChainRow {
    let problem = chain(n);
    let mut solver = Pivot::new(Settings {
        stop: StoppingCriteria { history: true, ..StoppingCriteria::default() },
        ..alone()
    });
    let mut times = Vec::new();
    for _ in 0..3 {
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let history = solver.solve(&problem, &mut solution).expect("a convex problem").history;
        let steps = history.windows(2).filter(|pair| pair[1].work > pair[0].work);
        times.extend(
            steps.map(|pair| (pair[1].wall - pair[0].wall) / (pair[1].work - pair[0].work) as f64),
        );
    }
    times.sort_by(f64::total_cmp);
    ChainRow { n, us_per_iteration: times.get(times.len() / 2).map_or(f64::NAN, |t| 1e6 * t) }
}

/// The slope of log(us) over log(n).
pub(crate) fn slope(rows: &[ChainRow]) -> f64 {
    let points: Vec<(f64, f64)> =
        rows.iter().map(|c| ((c.n as f64).ln(), c.us_per_iteration.max(1e-3).ln())).collect();
    let count = points.len() as f64;
    let (mx, my) = (
        points.iter().map(|p| p.0).sum::<f64>() / count,
        points.iter().map(|p| p.1).sum::<f64>() / count,
    );
    let top: f64 = points.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    top / points.iter().map(|p| (p.0 - mx) * (p.0 - mx)).sum::<f64>()
}

/// One heap by all three methods.
pub(crate) fn dense_row(rows: usize) -> DenseRow {
    let problem = heap(rows, 11);
    let reduced = Reduced::of(&problem).expect("H is definite");
    let repeats = if rows > 300 { 1 } else { 3 };
    let (mut pivots, mut dense_pivots) = (0, 0);
    let ours = best(repeats, || {
        let mut solution = Solution::zero(problem.n(), rows);
        pivots = Pivot::new(alone())
            .solve(&problem, &mut solution)
            .expect("a convex problem")
            .counts
            .pivots;
    });
    let dense = best(repeats, || {
        let mut solution = Solution::zero(0, rows);
        let report = Lemke::new(lemke::Settings::default()).solve_reduced(&reduced, &mut solution);
        dense_pivots = report.expect("one-row blocks").counts.pivots;
    });
    let dantzig = best(repeats, || {
        let mut solution = Solution::zero(0, rows);
        drop(Pivot::new(alone()).solve_reduced(&reduced, &mut solution));
    });
    DenseRow {
        rows,
        pivots,
        ours_ms: 1e3 * ours,
        dense_ms: 1e3 * dense,
        dense_pivots,
        dantzig_ms: 1e3 * dantzig,
    }
}

/// Sixty steps of a scene: each solved cold, and warm from the reactions of the step before.
fn warm_row(name: &'static str, mut scene: Scene) -> WarmRow {
    let (steps, skip) = (60, 5);
    let (mut cold, mut warm) = (0u64, 0u64);
    let mut solver = Pivot::new(alone());
    let mut last: Option<Solution> = None;
    for step in 0..steps + skip {
        let problem: Problem = pyramid(&scene.problem, 4);
        let mut from_zero = Solution::zero(problem.n(), problem.rows());
        let mut solution = last.take().unwrap_or_else(|| from_zero.clone());
        let warm_pivots =
            solver.solve(&problem, &mut solution).expect("a convex problem").counts.pivots;
        let cold_pivots =
            solver.solve(&problem, &mut from_zero).expect("a convex problem").counts.pivots;
        // The first steps are the fall into place.
        if step >= skip {
            cold += cold_pivots;
            warm += warm_pivots;
        }
        scene.advance(&solution);
        last = Some(solution);
    }
    let mean = |count: u64| count as f64 / f64::from(steps);
    WarmRow {
        scene: name,
        cold: mean(cold),
        warm: mean(warm),
        fraction: warm as f64 / cold.max(1) as f64,
    }
}
