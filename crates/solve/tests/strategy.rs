//! The order in which `auto` escalates: as documented, and as it runs.

use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::{Law, Problem, Reduced, Rows, Solution, Tolerance, test_problems};
use signorini_solve::solve::auto::{Auto, LADDERS, Settings};
use signorini_solve::solve::{
    Limits, Method, ReducedSolver, Report, Solver, Status, StoppingCriteria,
};
use std::time::Instant;

/// The stages of each kind of island as `docs/solvers.md` lists them.
fn documented() -> Vec<(String, Vec<(String, Option<u64>)>)> {
    // Read when it runs: the page is no part of the package.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/solvers.md");
    let page = std::fs::read_to_string(page).expect("the page is in the repository");
    let table = page.split("| island | stages").nth(1).expect("the page has the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| "));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches([' ', '|']).split(" | ").collect();
        let stage = |text: &str| {
            let (method, budget) = text.trim().rsplit_once(' ').expect("method and budget");
            (method.to_string(), budget.parse().ok())
        };
        (cells[0].to_string(), cells[1].split(',').map(stage).collect())
    })
    .collect()
}

fn stages(report: &Report) -> Vec<(String, Option<u64>)> {
    report.stages.iter().map(|s| (s.name().to_string(), s.budget)).collect()
}

/// Nothing is exact enough.
fn never() -> StoppingCriteria {
    let tolerance =
        Tolerance { relative: -1.0, velocity: -1.0, bound: Some(-1.0), velocity_relative: -1.0 };
    StoppingCriteria { tolerance, ..StoppingCriteria::default() }
}

fn stored(name: &str) -> Problem {
    let all = test_problems::all();
    all.into_iter().find(|known| known.problem.name == name).expect("a stored problem").problem
}

/// Seven unknowns that are all coupled, three rows for each.
fn robot() -> Problem {
    let n = 7;
    let coupled = |at: usize| if at / n == at % n { 2.0 } else { 0.1 };
    let mut rows = Rows::new(n);
    for i in 0..n as u32 {
        let mut columns = [i, (i + 1) % 7, (i + 2) % 7];
        columns.sort_unstable();
        rows.push(3, &columns, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }
    Problem {
        name: "robot".into(),
        H: Csr::from_dense(n, n, &(0..n * n).map(coupled).collect::<Vec<f64>>()),
        k: (0..n).map(|i| (i as f64).sin() - 0.5).collect(),
        J: rows,
        E: vec![0.0; 3 * n],
        w: vec![0.0; 3 * n],
        laws: vec![Law::Coulomb { mu: 0.5, rows: 3 }; n],
        names: Vec::new(),
    }
}

#[test]
fn the_page_lists_the_stages_that_run() {
    let documented = documented();
    let names: Vec<&str> = documented.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(names, LADDERS.map(|(kind, _)| kind));
    // One island for each row of the table; for the last one no island is small.
    let islands = [
        (stored("pendulum"), 600),
        (stored("stack_10_ratio2"), 600),
        (robot(), 600),
        (stored("brick_slides"), 600),
        (stored("brick_slides"), 0),
    ];
    for (i, ((kind, listed), (problem, small))) in documented.iter().zip(islands).enumerate() {
        let settings = Settings { stop: never(), small, ..Settings::default() };
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = Auto::new(settings).solve(&problem, &mut solution).unwrap();
        assert_eq!(&stages(&report), listed, "{kind}: {}", problem.name);
        assert_ne!(report.status, Status::Converged);
        // A reduced problem does not know its coordinates.
        let listed = if i == 2 { &documented[3].1 } else { listed };
        let reduced = Reduced::of(&problem).unwrap();
        let mut solution = Solution::zero(0, reduced.rows());
        let report = Auto::new(settings).solve_reduced(&reduced, &mut solution).unwrap();
        assert_eq!(&stages(&report), listed, "{kind}, reduced: {}", problem.name);
    }
}

#[test]
fn what_is_solved_runs_no_further_stage() {
    let problem = stored("brick_slides");
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let mut auto = Auto::new(Settings::default());
    let report = auto.solve(&problem, &mut solution).unwrap();
    assert_eq!(stages(&report), [("newton".to_string(), Some(8))]);
    assert_eq!((report.stages[0].islands, report.stages[0].solved), (1, 1));
    let report = auto.solve(&problem, &mut solution).unwrap();
    assert_eq!(stages(&report), [("guess".to_string(), None)]);
    assert!(report.remarks().contains(&"stages: guess".to_string()), "{:?}", report.remarks());
}

#[test]
fn a_deadline_is_an_argument_of_the_call() {
    let problem = stored("mixed_cone_large_7");
    let mut auto = Auto::new(Settings::default());
    let zero = Solution::zero(problem.n(), problem.rows());
    let mut solution = zero.clone();
    let late = Limits { work: None, deadline: Some(Instant::now()) };
    let report = auto.solve_within(&problem, &mut solution, &late).unwrap();
    assert!(!report.reproducible && report.stages.is_empty(), "{report:?}");
    assert_eq!(report.status, Status::Budget);
    // The same object without it goes all the way.
    let report =
        auto.solve_within(&problem, &mut solution, &Limits::seconds_from_now(1e9)).unwrap();
    assert!(report.reproducible && report.status == Status::Converged, "{report:?}");
    // Sweeps in place of a guess spare the interior point its factorizations here.
    for method in [Method::Newton, Method::Psor] {
        let mut solver = method.build(StoppingCriteria::default());
        let one = Limits { work: Some(1), deadline: None };
        let report = solver.solve_within(&problem, &mut zero.clone(), &one).unwrap();
        assert!(report.work <= 1, "{}: {}", method.name(), report.work);
        let report = solver.solve(&problem, &mut zero.clone()).unwrap();
        assert!(report.work > 1, "{}: the limit of one call stays", method.name());
    }
}

/// Copies of a problem side by side.
fn beside(part: &Problem, copies: usize) -> Problem {
    let n = part.n();
    let mut out = Problem {
        H: Csr::empty(copies * n, copies * n),
        J: Rows::new(copies * n),
        ..Problem::default()
    };
    for copy in 0..copies {
        let shift = (copy * n) as u32;
        for i in 0..n {
            let (columns, values) = part.H.row(i);
            out.H.columns.extend(columns.iter().map(|&j| j + shift));
            out.H.values.extend_from_slice(values);
            out.H.starts[copy * n + i + 1] = out.H.columns.len();
        }
        // No two copies are alike.
        out.k.extend(part.k.iter().map(|k| k * (1.0 + 1e-3 * copy as f64)));
        for (k, block) in part.J.blocks().enumerate() {
            let columns: Vec<u32> = block.columns.iter().map(|&j| j + shift).collect();
            out.J.push(block.rows, &columns, block.values);
            out.laws.push(part.laws[k]);
        }
        out.E.extend(&part.E);
        out.w.extend(&part.w);
    }
    out
}

#[test]
fn islands_on_any_number_of_threads_give_the_same_bits_and_the_same_report() {
    let problem = beside(&stored("mixed_cone_large_7"), 24);
    assert!(problem.laws.iter().any(|law| matches!(law, Law::Cone { .. })));
    let solved = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut auto = Auto::new(Settings::default());
            let mut out = Vec::new();
            // Twice: the second time with the work space of the first.
            for _ in 0..2 {
                let mut solution = Solution::zero(problem.n(), problem.rows());
                let report = auto.solve(&problem, &mut solution).unwrap();
                assert_eq!(report.status, Status::Converged);
                out.push((solution, report));
            }
            (out, auto.used().to_vec(), auto.last())
        })
    };
    let one = solved(1);
    assert_eq!(one.0[0], one.0[1], "a solve does not remember the one before");
    // Every copy falls apart into the same number of islands.
    let islands: u32 = one.0[0].1.stages.iter().map(|s| s.solved).sum();
    assert!(islands >= 24 && islands.is_multiple_of(24), "{islands} islands");
    for threads in [2, 3, 8] {
        assert!(solved(threads) == one, "{threads} threads: other bits or another report");
    }
}
