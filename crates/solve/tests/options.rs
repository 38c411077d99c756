//! The papers' own methods by name, and their options.

use signorini_solve::problem::{Problem, Solution, Tolerance, test_problems};
use signorini_solve::solve::options::{Choice, Options, PAPERS};
use signorini_solve::solve::{Method, Report, Status, StoppingCriteria};

fn stored(name: &str) -> Problem {
    let all = test_problems::all();
    all.into_iter().find(|known| known.problem.name == name).expect("a stored problem").problem
}

fn solved(problem: &Problem, choice: &Choice, extra: &[&str]) -> (Report, Solution) {
    solved_to(1e-12, problem, choice, extra)
}

/// To this relative energy, and velocities of its root in m/s.
fn solved_to(
    relative: f64,
    problem: &Problem,
    choice: &Choice,
    extra: &[&str],
) -> (Report, Solution) {
    let mut options = choice.options;
    extra.iter().for_each(|text| options.set(text).unwrap());
    let tolerance =
        Tolerance { relative, velocity: relative.sqrt(), bound: None, velocity_relative: 0.0 };
    let stop = StoppingCriteria { tolerance, history: true, ..StoppingCriteria::default() };
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let mut solver = choice.method.build_with(stop, &options).unwrap();
    (solver.solve(problem, &mut solution).expect("it is treated"), solution)
}

#[test]
fn options_are_read_and_foreign_ones_are_named() {
    let mut options = Options::default();
    for text in ["accelerate=false", "omega = 1.2", "sweeps=30"] {
        options.set(text).unwrap();
    }
    let wanted =
        Options { accelerate: Some(false), omega: Some(1.2), sweeps: Some(30), ..Options::NONE };
    assert_eq!(options, wanted);
    assert_eq!(options.fault(Method::Psor), None);
    let fault = options.fault(Method::Pivot).unwrap();
    assert!(fault.contains("accelerate") && fault.contains("start, facets"), "{fault}");
    for wrong in ["omega", "omega=fast", "magic=1", "path=purest", "warm=hot"] {
        assert!(Options::default().set(wrong).is_err(), "{wrong}");
    }
    for (method, text) in [
        (Method::Psor, "omega=2"),
        (Method::Pivot, "facets=2"),
        (Method::Pivot, "start=unit"),
        (Method::InteriorPoint, "start=empty"),
        (Method::Newton, "omega=1"),
    ] {
        let mut options = Options::default();
        options.set(text).unwrap();
        assert!(method.build_with(StoppingCriteria::default(), &options).is_err(), "{text}");
    }
    assert!(PAPERS.iter().all(|choice| Choice::named(choice.name) == Some(*choice)));
    assert!(PAPERS.iter().all(|choice| choice.options.fault(choice.method).is_none()));
}

#[test]
fn plain_sweeps_need_more_sweeps_and_omega_and_their_number_count() {
    let problem = stored("stack_10_ratio1");
    let plain = Choice::named("psor-plain").unwrap();
    let usual = Choice::from(Method::Psor);
    let (fast, v) = solved(&problem, &usual, &[]);
    let (slow, w) = solved(&problem, &plain, &["sweeps=5000"]);
    assert_eq!((fast.status, slow.status), (Status::Converged, Status::Converged));
    assert!(slow.work > 2 * fast.work, "{} and {} sweeps", slow.work, fast.work);
    let apart = v.v.iter().zip(&w.v).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    // Both to 1e-6 m/s.
    assert!(apart < 1e-5, "{apart:.1e} m/s apart");
    let (over, _) = solved(&problem, &plain, &["sweeps=5000", "omega=1.5"]);
    assert_ne!(over.work, slow.work, "omega changes the number of sweeps");
    assert_eq!(solved(&problem, &plain, &["sweeps=7"]).0.work, 7);
}

#[test]
fn the_pure_path_is_a_path_and_its_history_shows_it() {
    let pure = Choice::named("interior-point-pure").unwrap();
    let problem = stored("mixed_cone_large_7");
    let mut works = Vec::new();
    for extra in [
        &[][..],
        &["start=unit"],
        &["eta=adaptive"],
        &["equal_steps=true"],
        &["predictor_only=true"],
    ] {
        let (report, _) = solved_to(1e-10, &problem, &pure, extra);
        let phases: Vec<&str> = report.phases.iter().map(|(name, _)| *name).collect();
        assert_eq!(phases, ["path"], "{extra:?}");
        assert_eq!(report.counts.sweeps, 0);
        assert!(!report.path.is_empty());
        for s in &report.path {
            let steps = [s.alpha_p, s.alpha_d];
            assert!(steps.iter().all(|a| (0.0..=1.0).contains(a)), "{extra:?}: {s:?}");
            assert!(s.r_p.is_finite() && s.r_d.is_finite() && s.mu > 0.0, "{extra:?}: {s:?}");
            assert!(extra != ["equal_steps=true"] || s.alpha_p == s.alpha_d, "{s:?}");
        }
        // Without a corrector the path hugs the boundary: it need not arrive.
        if extra != ["predictor_only=true"] {
            assert_eq!(report.status, Status::Converged, "{extra:?}: {:?}", report.error);
            let (first, last) = (report.path[0], report.path[report.path.len() - 1]);
            assert!(last.mu < 1e-6 * first.mu, "{extra:?}: {first:?} to {last:?}");
        }
        works.push(report.work);
    }
    assert!(works.windows(2).any(|pair| pair[0] != pair[1]), "options change the path: {works:?}");
    let (usual, _) = solved(&problem, &Choice::from(Method::InteriorPoint), &[]);
    assert!(usual.work < works[0], "{} factorizations, {works:?} by the path alone", usual.work);
}

#[test]
fn pivoting_from_nothing_takes_no_sweeps() {
    let empty = Choice::named("pivot-empty").unwrap();
    // More than 200 rows, where pivot begins with sweeps.
    let boxes = stored("stack_10_ratio1");
    let problem = {
        use signorini_solve::math::sparse::Csr;
        use signorini_solve::problem::Rows;
        let (n, copies) = (boxes.n(), 220usize.div_ceil(boxes.rows()));
        let mut out = Problem {
            H: Csr::empty(copies * n, copies * n),
            J: Rows::new(copies * n),
            ..Problem::default()
        };
        for copy in 0..copies {
            let shift = (copy * n) as u32;
            for i in 0..n {
                let (columns, values) = boxes.H.row(i);
                out.H.columns.extend(columns.iter().map(|&j| j + shift));
                out.H.values.extend_from_slice(values);
                out.H.starts[copy * n + i + 1] = out.H.columns.len();
            }
            out.k.extend(&boxes.k);
            for (k, block) in boxes.J.blocks().enumerate() {
                let columns: Vec<u32> = block.columns.iter().map(|&j| j + shift).collect();
                out.J.push(block.rows, &columns, block.values);
                out.laws.push(boxes.laws[k]);
            }
            out.E.extend(&boxes.E);
            out.w.extend(&boxes.w);
        }
        out
    };
    let (report, _) = solved(&problem, &empty, &[]);
    assert_eq!((report.status, report.counts.sweeps), (Status::Converged, 0));
    let (usual, _) = solved(&problem, &Choice::from(Method::Pivot), &[]);
    assert!(usual.counts.sweeps > 0 && usual.status == Status::Converged);
}
