//! The fixed-point method (Tasora2008): beside the simplex on frictionless scenes, and its size.

use super::{Found, Section};
use crate::peers;
use crate::pivot::alone;
use crate::spheres::Scene;
use signorini::problem::{Problem, Solution, Tolerance};
use signorini::scene::State;
use signorini::solve::interior_point::InteriorPoint;
use signorini::solve::pivot::{self, Pivot};
use signorini::solve::psor::{self, Psor};
use signorini::solve::{Report, Solver, StoppingCriteria};
use signorini::step::Stepper;
use signorini_files::{Overrides, builtin};
use signorini_record::figure::{Figure, line};

const PAPER: &str = "Tasora2008";
/// What the sweeps must reach: enough for a pile to rest.
const RESTING_TOLERANCE: Tolerance =
    Tolerance { relative: 1e-4, velocity: 1.0, bound: Some(1.0), velocity_relative: 0.0 };

pub(super) fn sections() -> Vec<Section> {
    vec![
        Section {
            name: "psor-simplex",
            paper: PAPER,
            title: "Section 5: sweeps beside the simplex on frictionless balls",
            measure: beside,
        },
        Section {
            name: "shaker",
            paper: PAPER,
            title: "Figure 2: shaker with steel spheres",
            measure: shaker,
        },
    ]
}

/// The problem of the fiftieth step of balls without friction.
pub(super) fn settled(spheres: usize) -> Problem {
    let mut scene = Scene::balls(spheres, 0.0);
    let mut method = InteriorPoint::default();
    for _ in 0..50 {
        let problem = scene.next().problem;
        let mut solution = Solution::zero(problem.n(), problem.rows());
        method.solve(&problem, &mut solution).expect("every law is treated");
        scene.advance(&solution);
    }
    scene.next().problem
}

/// A cold solve on one thread: report and ms.
fn timed(problem: &Problem, mut method: impl Solver + Send) -> (Report, f64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
    let (report, seconds) = pool.install(|| {
        peers::repeated(|| {
            let mut solution = Solution::zero(problem.n(), problem.rows());
            method.solve(problem, &mut solution).expect("every law is treated")
        })
    });
    (report, 1e3 * seconds)
}

fn beside(found: &mut Found, quick: bool) -> Result<(), String> {
    let sizes: &[usize] = if quick { &[64] } else { &[64, 280, 595, 1190] };
    let stop = StoppingCriteria { tolerance: RESTING_TOLERANCE, ..StoppingCriteria::default() };
    let mut curves = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for &spheres in sizes {
        let problem = settled(spheres);
        let rows = problem.rows() as f64;
        let plain = psor::Settings { stop, ..psor::Settings::plain(1.0) };
        let (sweeps, plain_ms) = timed(&problem, Psor::new(plain));
        let usual = psor::Settings { stop, ..psor::Settings::default() };
        let (_, usual_ms) = timed(&problem, Psor::new(usual));
        let (walk, walk_ms) = timed(&problem, Pivot::new(alone()));
        let (_, pivot_ms) = timed(&problem, Pivot::new(pivot::Settings::default()));
        let note = format!(
            "\"orders of magnitude\", without a number; {rows:.0} contacts, {} sweeps of \
                algorithm 4.1 with omega 1 to 1e-4 of the energy ({plain_ms:.2} ms) against {} \
                pivots to rounding ({walk_ms:.1} ms)",
            sweeps.counts.sweeps, walk.counts.pivots
        );
        let what = format!("{spheres} balls: plain sweeps, times faster than the simplex");
        found.row("section 5", what, "", (walk_ms / plain_ms, None)).note(note);
        let what = format!("{spheres} balls: both as they are used, times faster");
        found.row("section 5", what, "", (pivot_ms / usual_ms, None)).note(format!(
            "not in the paper: extrapolated sweeps {usual_ms:.2} ms, pivots that begin with \
                sweeps {pivot_ms:.1} ms"
        ));
        for (curve, ms) in curves.iter_mut().zip([plain_ms, usual_ms, walk_ms, pivot_ms]) {
            curve.push((rows, ms));
        }
    }
    let [plain, usual, walk, pivot] = curves;
    let contacts = plain.last().map_or(0.0, |p| p.0);
    let bodies = sizes.last().map_or(0.0, |n| *n as f64);
    found
        .row("section 1", "colliding bodies solved by the simplex", "", (bodies, Some(100.0)))
        .note(format!(
            "the paper: a simplex method cannot do more than about 100; {contacts} contacts here"
        ));
    found.figures.push(
        Figure::new(
            "Frictionless balls: time of one solve",
            ("contacts", "ms"),
            vec![
                line("algorithm 4.1 to 1e-4", plain),
                line("sweeps as used, to 1e-4", usual),
                line("simplex, exact", walk),
                line("pivots as used, exact", pivot),
            ],
        )
        .logarithmic(),
    );
    Ok(())
}

fn shaker(found: &mut Found, quick: bool) -> Result<(), String> {
    let loaded = builtin::find("shaker", &[])?;
    let settings = loaded.settings(&Overrides::default())?;
    let h = settings.h;
    let mut stepper = Stepper::new(&loaded.scene, settings).map_err(|e| e.to_string())?;
    let mut state = State::initial(&loaded.scene);
    let (mut contacts, mut most, mut points) = (0, 0, Vec::new());
    let steps = if quick { 5 } else { (0.25 / h) as usize };
    for _ in 0..steps {
        let verdict = stepper.step(&loaded.scene, &mut state).map_err(|e| e.to_string())?;
        contacts += verdict.contacts;
        most = most.max(verdict.contacts);
        points.push((state.time, verdict.contacts as f64));
    }
    let spheres = loaded.scene.bodies.len() - 2;
    let note = format!(
        "about 6500 in the paper, which does not give the number of spheres: {spheres} here, with \
            friction, {} s",
        steps as f64 * h
    );
    let mean = contacts as f64 / steps as f64;
    found
        .row("figure 2", "unilateral constraints, mean", "", (mean, Some(6500.0)))
        .note(note.clone());
    found
        .row("figure 2", "unilateral constraints, most", "", (most as f64, Some(6500.0)))
        .note(note);
    found.figures.push(Figure::new(
        "Shaker: contacts over time",
        ("time, s", "contacts"),
        vec![line("contacts", points)],
    ));
    Ok(())
}
