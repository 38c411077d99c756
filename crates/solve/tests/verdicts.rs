//! What the methods say of random problems is true: `converged` means that the conditions of every
//! law hold, `infeasible` that no velocity satisfies all rows, by a check that shares no code with
//! the library.
//!
//! `SIGNORINI_VERDICTS=100000 cargo test --release -p signorini-solve --test verdicts` tries as
//! many problems as that (`SIGNORINI_FIRST`: from this one on).

mod independent;

use independent::conditions::{Search, proves, satisfied, satisfied_reduced, search};
use independent::random::{Made, numbered};
use independent::{Dd, Dense};
use signorini_solve::problem::{Problem, Reduced, Solution, Tolerance};
use signorini_solve::solve::infeasible::contradiction;
use signorini_solve::solve::{Method, Report, Status, StoppingCriteria};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// How often a method said what.
#[derive(Clone, Copy, Default)]
struct Tally {
    converged: u64,
    budget: u64,
    stalled: u64,
    infeasible: u64,
    unsupported: u64,
    seconds: f64,
}

impl Tally {
    fn count(&mut self, said: Option<Status>) {
        *match said {
            Some(Status::Converged) => &mut self.converged,
            Some(Status::Budget) => &mut self.budget,
            Some(Status::Stalled) => &mut self.stalled,
            Some(Status::Infeasible) => &mut self.infeasible,
            None => &mut self.unsupported,
        } += 1;
    }
}

/// What is wrong with a verdict.
#[derive(Clone, Debug)]
enum Flaw {
    /// It is shown to be false.
    False(String),
    /// `infeasible`, and the check found neither a proof nor a velocity that satisfies all rows.
    Undecided(String),
}

/// A problem with what its check needs.
struct Case {
    problem: Problem,
    reduced: Reduced,
    made: Made,
    tolerance: Tolerance,
    /// A ray that proves that no velocity satisfies all rows, by construction.
    ray: Option<Vec<f64>>,
    /// Whether there is such a proof, once somebody says so.
    proved: Option<Result<(), Flaw>>,
}

impl Case {
    fn numbered(seed: u64) -> Case {
        let (problem, made, ray) = numbered(seed);
        let dense = Dense::of(&problem);
        let zero = vec![Dd::default(); dense.m];
        let terms = dense.terms(&dense.velocity(&zero), &zero);
        let speed = terms.iter().fold(0.0f64, |m, x| m.max(*x));
        let tolerance = Tolerance { velocity: 1e-6 * speed, ..Tolerance::default() };
        let reduced = Reduced::of(&problem).expect("H is positive definite");
        Case { problem, reduced, made, tolerance, ray, proved: None }
    }

    /// What is false in a method's verdict on the problem, or on its reduced view.
    fn verify(&mut self, report: &Report, solution: &Solution, whole: bool) -> Result<(), Flaw> {
        if solution.v.iter().chain(&solution.r).any(|x| !x.is_finite()) {
            return Err(Flaw::False("an answer that is no number".into()));
        }
        match report.status {
            Status::Converged if whole => {
                satisfied(&self.problem, solution, self.tolerance.velocity).map_err(Flaw::False)
            }
            Status::Converged => {
                satisfied_reduced(&self.reduced, &solution.r, self.tolerance.velocity)
                    .map_err(Flaw::False)
            }
            Status::Infeasible if self.made == Made::Feasible => {
                Err(Flaw::False("infeasible, but made with a solution".into()))
            }
            Status::Infeasible => {
                let Case { problem, ray, .. } = &*self;
                let engine = |why: String| match contradiction(problem) {
                    Some(found) => proves(problem, &found.ray).map_err(Flaw::False),
                    None => Err(Flaw::Undecided(format!("infeasible without a proof: {why}"))),
                };
                let proof = || match ray.clone().map_or_else(|| search(problem), Search::Ray) {
                    // A search that has not come to its end leaves no proof. One of the library's
                    // serves as well: it is checked here.
                    Search::Ray(ray) => proves(problem, &ray).or_else(engine),
                    Search::Velocity(by) => {
                        Err(Flaw::False(format!("infeasible, but a velocity lacks {by:e} only")))
                    }
                };
                let judged = self.proved.clone().unwrap_or_else(proof);
                self.proved = Some(judged.clone());
                judged
            }
            Status::Budget | Status::Stalled => Ok(()),
        }
    }

    /// What `method` says, and what is false in it.
    fn ask(&mut self, method: Method, whole: bool) -> (Option<Status>, Result<(), Flaw>) {
        let stop = StoppingCriteria {
            tolerance: self.tolerance,
            // Where there is no solution, more work only takes longer.
            work: match method {
                Method::Psor => Some(2000),
                Method::Newton => Some(200),
                _ => None,
            },
            ..StoppingCriteria::default()
        };
        let mut solution = Solution::zero(self.problem.n(), self.problem.rows());
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let mut solver = method.build(stop);
            if whole {
                solver.solve(&self.problem, &mut solution)
            } else {
                solver.solve_reduced(&self.reduced, &mut solution)
            }
        }));
        match answer {
            Err(_) => (None, Err(Flaw::False("panics".into()))),
            Ok(Err(_)) => (None, Ok(())),
            Ok(Ok(report)) => (Some(report.status), self.verify(&report, &solution, whole)),
        }
    }
}

#[test]
fn what_methods_say_of_random_problems_is_true() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (first, count) =
        (number("SIGNORINI_FIRST").unwrap_or(0), number("SIGNORINI_VERDICTS").unwrap_or(300));
    let (mut finds, mut undecided) = (Vec::new(), Vec::new());
    // By kind of problem, method and form.
    let mut tallies = vec![[Tally::default(); 2]; 3 * Method::ALL.len()];
    for seed in first..first + count {
        let mut case = Case::numbered(seed);
        for (i, method) in Method::ALL.iter().enumerate() {
            for whole in [true, false] {
                let begun = Instant::now();
                let (said, judged) = case.ask(*method, whole);
                let kind = case.made as usize * Method::ALL.len() + i;
                let tally = &mut tallies[kind][usize::from(!whole)];
                tally.count(said);
                tally.seconds += begun.elapsed().as_secs_f64();
                let form = if whole { "" } else { ", reduced" };
                let said = |why| format!("seed {seed} by {}{form}: {why}", method.name());
                match judged {
                    Ok(()) => continue,
                    Err(Flaw::False(why)) => finds.push(said(why)),
                    Err(Flaw::Undecided(why)) => undecided.push(said(why)),
                }
            }
        }
        if (seed + 1) % 1000 == 0 {
            println!(
                "{} problems, {} false, {} undecided",
                seed + 1 - first,
                finds.len(),
                undecided.len()
            );
        }
    }
    println!(
        "| problems | method | form | converged | infeasible | stalled | budget | refused | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (kind, forms) in tallies.iter().enumerate() {
        let made = [Made::Anyhow, Made::Feasible, Made::Contradicting][kind / Method::ALL.len()];
        let method = Method::ALL[kind % Method::ALL.len()].name();
        for (t, form) in forms.iter().zip(["whole", "reduced"]) {
            println!(
                "| {made:?} | {method} | {form} | {} | {} | {} | {} | {} | {:.1} |",
                t.converged, t.infeasible, t.stalled, t.budget, t.unsupported, t.seconds
            );
        }
    }
    assert!(finds.is_empty(), "{} false verdicts:\n{}", finds.len(), finds.join("\n"));
    // The test must have something to test: half of the feasible problems by auto, at least.
    let auto = Method::ALL.iter().position(|m| *m == Method::Auto).expect("a method");
    let feasible = tallies[Method::ALL.len() + auto][0];
    assert!(feasible.converged * 4 > count, "{} of {count} converged", feasible.converged);
}
