//! The certificate on stored problems, under the convex law: upper end over truth at iterates that
//! are accepted to 1e-4 and 1e-8. Without `SIGNORINI_LONG` the small files alone.

mod collection;

use signorini::math::dot;
use signorini::problem::files::Input;
use signorini::problem::{Problem, Solution, Tolerance};
use signorini::solve::certificate::{Certifier, Standing};
use signorini::solve::{Method, Status, StoppingCriteria};

fn apart(problem: &Problem, a: &[f64], b: &[f64]) -> f64 {
    let wrong: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mut momentum = vec![0.0; wrong.len()];
    problem.H.mul(&wrong, &mut momentum);
    0.5 * dot(&wrong, &momentum)
}

#[test]
fn upper_ends_over_the_truth_on_stored_problems() {
    let paths = collection::files("corpus-chrono");
    collection::ran("certificate", "corpus-chrono", paths.len());
    if paths.is_empty() {
        return;
    }
    let long = std::env::var_os("SIGNORINI_LONG").is_some();
    for tol in [1e-4, 1e-8] {
        let (mut ratios, mut unknown, mut below) = (Vec::new(), 0, Vec::new());
        for path in &paths {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let stored =
                signorini_files::fclib::read(path).unwrap_or_else(|e| panic!("{name}: {e}"));
            let Input::Problem(problem) = stored.input else {
                panic!("{name} is a global problem")
            };
            let problem = problem.associated();
            if problem.rows() > if long { 100_000 } else { 300 } {
                continue;
            }
            let mut iterate = Solution::zero(problem.n(), problem.rows());
            let tolerance = Tolerance {
                relative: tol,
                velocity: f64::INFINITY,
                bound: Some(f64::MAX),
                velocity_relative: 0.0,
            };
            let report = Method::Psor
                .build(StoppingCriteria { tolerance, ..Default::default() })
                .solve(&problem, &mut iterate)
                .unwrap();
            let begun = std::time::Instant::now();
            let certificate = Certifier::default().certify(&problem, &iterate);
            let seconds = begun.elapsed().as_secs_f64();
            if certificate.standing == Standing::Unknown {
                unknown += 1;
                println!("{tol:.0e} {name}: unknown after {seconds:.2} s");
                continue;
            }
            // The truth, and its own certificate.
            let tight = Tolerance {
                relative: 1e-24,
                velocity: f64::INFINITY,
                bound: Some(1e-12),
                velocity_relative: 0.0,
            };
            let mut right = Solution::zero(problem.n(), problem.rows());
            let stop = StoppingCriteria { tolerance: tight, work: Some(60), ..Default::default() };
            Method::InteriorPoint.build(stop).solve(&problem, &mut right).unwrap();
            let doubt = Certifier::default().certify(&problem, &right).upper;
            let truth = apart(&problem, &iterate.v, &right.v);
            println!(
                "{tol:.0e} {name}: {:.3e} to {:.3e} J, {}, truth {truth:.3e} ± {doubt:.1e} J, \
                    estimate {:.1e} J, scale {:.1e} J, {seconds:.2} s",
                certificate.lower,
                certificate.upper,
                certificate.standing_text(),
                report.error.estimate,
                report.error.scale
            );
            let low = (truth.sqrt() - doubt.sqrt()).max(0.0).powi(2) * (1.0 - 1e-9);
            if certificate.upper < low
                || certificate.lower > (truth.sqrt() + doubt.sqrt()).powi(2) * (1.0 + 1e-9)
            {
                below.push(name);
            } else if report.status == Status::Converged
                && doubt < 1e-2 * truth
                && truth > 1e-14 * report.error.scale
            {
                ratios.push(certificate.upper / truth);
            }
        }
        ratios.sort_by(f64::total_cmp);
        let at = |part: f64| {
            ratios.get((part * ratios.len() as f64) as usize).copied().unwrap_or(f64::NAN)
        };
        let within = ratios.iter().filter(|r| **r <= 10.0).count();
        println!(
            "accepted {tol:.0e}: upper/truth of {}: p10 {:.3} p50 {:.3} p90 {:.3} max {:.3e}; \
                {within} within 10 ×; {unknown} unknown",
            ratios.len(),
            at(0.1),
            at(0.5),
            at(0.9),
            at(1.0 - 1e-12)
        );
        assert!(below.is_empty(), "below the truth: {below:?}");
        assert!(within * 10 >= ratios.len() * 8, "{within} of {} within 10 ×", ratios.len());
    }
}
