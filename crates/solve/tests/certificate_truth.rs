//! The certificate of the velocity error against an independent residual (dense double-double
//! arithmetic) and the truth by another method. `SIGNORINI_CERTIFICATES=100000 cargo test --test
//! certificate_truth` tries as many random problems as that (`SIGNORINI_FIRST`: from this one on).

mod independent;

use independent::random::{Random, feasible};
use independent::{Dd, Dense, dual, outside};
use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::{Law, Problem, Solution, Tolerance};
use signorini_solve::solve::certificate::{Certificate, Certifier, Settings, Standing};
use signorini_solve::solve::options::Options;
use signorini_solve::solve::{Method, Status, StoppingCriteria};

fn solve(
    problem: &Problem,
    method: Method,
    tolerance: Tolerance,
    work: Option<u64>,
) -> (Solution, Status, f64) {
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let stop = StoppingCriteria { tolerance, work, ..StoppingCriteria::default() };
    match method.build(stop).solve(problem, &mut solution) {
        Ok(report) => (solution, report.status, report.error.relative()),
        Err(_) => (solution, Status::Stalled, f64::INFINITY),
    }
}

const TIGHT: Tolerance = Tolerance {
    relative: 1e-28,
    velocity: f64::INFINITY,
    bound: Some(1e-13),
    velocity_relative: 0.0,
};

/// The best of two tight solves.
struct Reference {
    v: Vec<Dd>,
    r: Vec<f64>,
    /// How far the two are apart, √J.
    doubt: f64,
}

fn truth(problem: &Problem, dense: &Dense, other_than: Method) -> Reference {
    let mut answers: Vec<(f64, Vec<Dd>, Vec<f64>)> = Vec::new();
    for method in [Method::Newton, Method::InteriorPoint, Method::Pivot] {
        if method != other_than {
            let (solution, _, relative) = solve(problem, method, TIGHT, None);
            let r: Vec<Dd> = solution.r.iter().map(|&x| x.into()).collect();
            answers.push((relative, dense.velocity(&r), solution.r));
        }
    }
    answers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let doubt = dense.apart(&answers[0].1, &answers[1].1).sqrt();
    let (_, v, r) = answers.swap_remove(0);
    Reference { v, r, doubt }
}

/// Where the true velocities are, by the gap of a certificate's pair anew.
struct Ball {
    /// v̂, m/s.
    centre: Vec<Dd>,
    /// G, J.
    gap: f64,
    /// How far û is outside K*, and ‖r̂‖, of each block.
    lacks: Vec<(f64, f64)>,
}

impl Ball {
    /// False if these velocities are not the solution: `½‖v̂ − v*‖²` is at most the gap and what û
    /// lacks, `Σ d_k (‖r̂_k‖ + ‖r*_k‖)`.
    fn admits(&self, dense: &Dense, reference: &Reference) -> bool {
        let blocks = dense.blocks.iter().zip(&self.lacks);
        let lacking: f64 = blocks
            .map(|(&(first, law), (distance, size))| {
                let r = &reference.r[first..first + law.rows()];
                distance * (size + r.iter().map(|x| x * x).sum::<f64>().sqrt())
            })
            .sum();
        dense.apart(&reference.v, &self.centre) <= (self.gap + lacking) * (1.0 + 1e-6)
    }
}

/// Checks the pair that a certificate stands on.
fn recompute(what: &str, dense: &Dense, solution: &Solution, certificate: &Certificate) -> Ball {
    let lift = |x: &[f64]| x.iter().map(|&x| Dd::from(x)).collect::<Vec<_>>();
    let witness = certificate.witness.as_ref().expect("a figure has a witness");
    let s: Vec<Dd> =
        witness.base.iter().zip(&witness.y).map(|(a, b)| Dd::from(*a) + (*b).into()).collect();
    let (r, v) = (lift(&witness.r), lift(&solution.v));
    let (hat, of_r) = (dense.velocity(&s), dense.velocity(&r));
    let (u, terms) = (dense.local(&hat, &s), dense.terms(&hat, &s));
    let (mut products, mut lacks) = (Dd::default(), Vec::new());
    for &(first, law) in &dense.blocks {
        let range = first..first + law.rows();
        let size = witness.r[range.clone()].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(
            outside(&law, &witness.r[range.clone()]) <= 1e-300 * size,
            "{what}: r̂ is outside K: {law:?} {:?}",
            &witness.r[range.clone()]
        );
        let (distance, product) = dual(&law, &u[range.clone()], &witness.r[range.clone()]);
        let moved = certificate.standing == Standing::Moved;
        let term =
            if moved { &terms[..] } else { &terms[range] }.iter().fold(0.0f64, |m, x| m.max(*x));
        // DoubleDouble arithmetic itself: 1e-28 of the terms; equality rows are at rounding of a
        // double.
        let open = law == Law::Equality
            || law == Law::Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
        let allowed = if open || moved { 1e-11 } else { 1e-26 };
        assert!(
            distance <= allowed * term,
            "{what}: û is {distance:e} of {term:e} outside K*: {law:?} {certificate:?}"
        );
        products = products + product;
        lacks.push((distance, size * (law.rows() as f64).sqrt()));
    }
    let between: Vec<Dd> = s.iter().zip(&r).map(|(a, b)| *a - *b).collect();
    let soft: f64 = between.iter().zip(&dense.e).map(|(x, e)| 0.5 * (*x * *x * *e).value()).sum();
    let gap = dense.apart(&hat, &of_r) + soft + products.value();
    // Where û is moved into K*, its product with r̂ is the moved one's.
    let exact = certificate.standing == Standing::Proved;
    assert!(
        !exact || gap <= witness.gap * (1.0 + 1e-9),
        "{what}: G is {gap:e}, said {:e}",
        witness.gap
    );
    // Both balls with the radius √G.
    let (a, b) = (dense.apart(&v, &hat).sqrt(), dense.apart(&v, &of_r).sqrt());
    let radius = gap.max(0.0).sqrt();
    let ends = ((a.min(b) + radius).powi(2), (a.max(b) - radius).max(0.0).powi(2));
    // The ball around the middle of both may be the better one, by no more than a factor of two in
    // the radius.
    assert!(
        !exact || certificate.upper >= ends.1,
        "{what}: below the lower end anew: {certificate:?} {ends:?}"
    );
    Ball { centre: hat, gap: gap.max(0.0), lacks }
}

/// What came out of many certificates.
#[derive(Default)]
struct Tally {
    proved: usize,
    moved: usize,
    unknown: usize,
    /// References that are not the solution.
    refuted: usize,
    compared: usize,
    below: Vec<String>,
    ratios: Vec<f64>,
}

#[test]
fn a_certificate_is_never_below_the_truth() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let (first, count) =
        (number("SIGNORINI_FIRST").unwrap_or(0), number("SIGNORINI_CERTIFICATES").unwrap_or(400));
    let mut certifier = Certifier::default();
    let mut tally = Tally::default();
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let problem = feasible(&mut random);
        let dense = Dense::of(&problem);
        // Sweeps cut off early or accepted, exact methods, or reactions that mean nothing.
        let (method, work) = random.of(&[
            (Method::Psor, Some(3)),
            (Method::Psor, Some(30)),
            (Method::Psor, None),
            (Method::Psor, None),
            (Method::Newton, None),
            (Method::InteriorPoint, None),
            (Method::Pivot, None),
        ]);
        let (mut solution, status, _) = solve(&problem, method, Tolerance::default(), work);
        if random.below(8) == 0 {
            let size = 10f64.powf(-random.unit() * 12.0);
            solution.r.iter_mut().for_each(|r| *r *= 1.0 + size * random.signed());
            solution.v.iter_mut().for_each(|v| *v *= 1.0 + size * random.signed());
        }
        let what = format!("seed {seed} by {}", method.name());
        let certificate = certifier.certify(&problem, &solution);
        assert!(certificate.lower <= certificate.upper, "{what}: {certificate:?}");
        match certificate.standing {
            Standing::Proved => tally.proved += 1,
            Standing::Moved => tally.moved += 1,
            Standing::Unknown => {
                tally.unknown += 1;
                continue;
            }
            Standing::Estimated => panic!("{what}: the laws are convex"),
        }
        let ball = recompute(&what, &dense, &solution, &certificate);
        let reference = truth(&problem, &dense, method);
        // Two methods may stop at the same inexact answer: the gap tells.
        if !ball.admits(&dense, &reference) {
            tally.refuted += 1;
            continue;
        }
        let Reference { v: right, doubt, .. } = reference;
        let v: Vec<Dd> = solution.v.iter().map(|&x| x.into()).collect();
        let far = dense.apart(&v, &right).sqrt();
        let scale = signorini_solve::problem::PreparedProblem::of(&problem).unwrap().scale().sqrt();
        // Where the references agree, the truth is known to what they differ by.
        if doubt <= 1e-3 * far || far <= 1e-9 * scale {
            tally.compared += 1;
            let slack = 2.0 * doubt + 1e-9 * far + 1e-13 * scale;
            if certificate.upper.sqrt() < far - slack || certificate.lower.sqrt() > far + slack {
                tally.below.push(format!(
                    "{what}: {:e}..{:e}, truth {:e} ± {:e}, scale {:e}, {:?}, {:?}",
                    certificate.lower,
                    certificate.upper,
                    far * far,
                    doubt * doubt,
                    scale * scale,
                    certificate.standing,
                    problem.laws
                ));
            }
            if status == Status::Converged {
                // Below 1e-14 of the scale nothing is sharpened.
                tally.ratios.push(certificate.upper / (far * far).max(1e-14 * scale * scale));
            }
        }
    }
    tally.ratios.sort_by(f64::total_cmp);
    let at = |part: f64| {
        tally.ratios.get((part * tally.ratios.len() as f64) as usize).copied().unwrap_or(f64::NAN)
    };
    let within = tally.ratios.iter().filter(|r| **r <= 10.0).count();
    println!(
        "{count} problems: {} proved, {} to d m/s, {} unknown; {} references were not \
            the solution, {} compared with the truth; upper/truth of {} accepted: p10 {:.3}, p50 {:.3}, p90 {:.3}, max {:.3e}, {within} \
            within 10 ×",
        tally.proved,
        tally.moved,
        tally.unknown,
        tally.refuted,
        tally.compared,
        tally.ratios.len(),
        at(0.1),
        at(0.5),
        at(0.9),
        at(1.0 - 1e-9)
    );
    assert!(
        tally.below.is_empty(),
        "{} below the truth:\n{}",
        tally.below.len(),
        tally.below[..tally.below.len().min(20)].join("\n")
    );
    assert!(within * 10 >= tally.ratios.len() * 9 || count < 1000, "{within} within 10 ×");
    assert!(tally.refuted * 50 <= count as usize, "{} bad references", tally.refuted);
    assert!(tally.compared * 2 > count as usize, "the truth was known for {} only", tally.compared);
}

#[test]
fn exact_methods_certify_what_they_accept() {
    let (mut accepted, mut within, mut known) = (0, 0, 0);
    for seed in 0..40 {
        let problem = feasible(&mut Random::new(seed));
        let dense = Dense::of(&problem);
        for method in [Method::Newton, Method::InteriorPoint, Method::Pivot] {
            let stop = StoppingCriteria::default();
            let mut solution = Solution::zero(problem.n(), problem.rows());
            let mut solver = method
                .build_certified(stop, &Options::default(), Settings::default())
                .expect("every method takes no options");
            let Ok(report) = solver.solve(&problem, &mut solution) else { continue };
            if report.status != Status::Converged {
                continue;
            }
            accepted += 1;
            let ends = report.certificate.expect("what is accepted is certified");
            known += usize::from(ends.standing != Standing::Unknown);
            // What the certificate does not sharpen, 1e-14 of the scale, is no figure.
            let floor = 1e-14 * report.error.scale;
            let reference = truth(&problem, &dense, method);
            let v: Vec<Dd> = solution.v.iter().map(|&x| x.into()).collect();
            let far = dense.apart(&v, &reference.v).sqrt();
            let slack = 2.0 * reference.doubt + 1e-13 * report.error.scale.sqrt();
            if reference.doubt <= 1e-3 * far {
                let what = format!("seed {seed} by {}: {ends:?}, {far:e}", method.name());
                assert!(ends.upper.sqrt() >= far - slack, "{what}");
                assert!(ends.lower.sqrt() <= far + slack, "{what}");
            }
            within += usize::from(ends.upper <= 10.0 * (far * far).max(floor));
        }
    }
    assert!(accepted > 80, "{accepted}");
    assert!(10 * known >= 9 * accepted, "{known} of {accepted} known");
    assert!(10 * within >= 9 * accepted, "{within} of {accepted} within 10 ×");
}

/// Needles of inertia ratio 1e8 in any direction: H is badly conditioned, and so is W.
#[test]
fn badly_conditioned_inertias_are_allowed_for() {
    for seed in 0..40u64 {
        let mut random = Random::new(1000 + seed);
        let mut problem = feasible(&mut random);
        // A rotation by a random angle couples every unknown with the next one.
        let n = problem.n();
        let (s, c) = (10.0 * random.unit()).sin_cos();
        let mut entries = Vec::new();
        for i in (0..n).step_by(2) {
            let i = i as u32;
            let big = problem.H.get(0, 0);
            if i as usize + 1 == n {
                entries.push((i, i, big));
                continue;
            }
            let small = 1e-8 * big;
            entries.push((i, i, c * c * big + s * s * small));
            entries.push((i + 1, i + 1, s * s * big + c * c * small));
            entries.push((i, i + 1, c * s * (big - small)));
            entries.push((i + 1, i, c * s * (big - small)));
        }
        problem.H = Csr::from_triplets(n, n, &entries);
        let dense = Dense::of(&problem);
        let (solution, ..) = solve(&problem, Method::Newton, Tolerance::default(), None);
        let certificate = Certifier::default().certify(&problem, &solution);
        if certificate.standing == Standing::Unknown {
            continue;
        }
        recompute(&format!("needles {seed}"), &dense, &solution, &certificate);
    }
}

/// A ball of 1 kg in the plane that moves at (0.3, −1) m/s, between a floor with friction and its
/// mirror image `gap` above: u_n and gap − u_n.
fn between_plates(gap: f64, law: Law) -> Problem {
    let mut problem = Problem {
        name: "between plates".into(),
        H: Csr::diagonal(&[1.0, 1.0]),
        k: vec![0.3, -1.0],
        ..Problem::default()
    };
    problem.J.clear(2);
    problem.J.push(2, &[0, 1], &[0.0, 1.0, 1.0, 0.0]);
    problem.J.push(2, &[0, 1], &[0.0, -1.0, 1.0, 0.0]);
    problem.laws = vec![law; 2];
    problem.w = vec![0.0, 0.0, gap, 0.0];
    problem.E = vec![0.0; 4];
    problem
}

#[test]
fn opposed_contacts_are_proved_moved_or_unknown_by_their_gap() {
    let law = Law::Cone { mu: 0.5, rows: 2 };
    for (gap, wanted) in [
        (1e-2, &[Standing::Proved][..]),
        (1e-9, &[Standing::Proved]),
        // The feasible set is one point: in whole numbers û is exactly there.
        (0.0, &[Standing::Moved, Standing::Proved]),
        (-1e-6, &[Standing::Unknown]),
        (-1e-2, &[Standing::Unknown]),
    ] {
        let problem = between_plates(gap, law);
        for sweeps in [Some(2), None] {
            let (solution, ..) = solve(&problem, Method::Psor, Tolerance::default(), sweeps);
            let certificate = Certifier::default().certify(&problem, &solution);
            assert!(
                wanted.contains(&certificate.standing),
                "gap {gap:e}, {sweeps:?} sweeps: {certificate:?}"
            );
        }
    }
    // At gap 0 the ball stands still: the error of v = (x, y) is ½(x² + y²).
    let problem = between_plates(0.0, law);
    let solution = Solution { v: vec![0.01, 0.0], r: vec![0.0; 4] };
    let certificate = Certifier::default().certify(&problem, &solution);
    assert!(certificate.lower <= 0.5e-4 && certificate.upper >= 0.5e-4, "{certificate:?}");
}

#[test]
fn joints_that_repeat_change_nothing_and_joints_that_contradict_are_unknown() {
    // A point on a rod, pulled sideways; the rod once, twice, and twice with another speed.
    let rod = |speeds: &[f64]| {
        let mut problem = Problem {
            name: "rod".into(),
            H: Csr::diagonal(&[1.5, 1.5]),
            k: vec![0.4, -1.0],
            ..Problem::default()
        };
        problem.J.clear(2);
        for &w in speeds {
            problem.J.push(1, &[0, 1], &[0.6, 0.8]);
            problem.laws.push(Law::Equality);
            problem.w.push(w);
            problem.E.push(0.0);
        }
        problem
    };
    // Free velocities: wrong by all that the rod takes, ½ (J v₀)²/W with J v₀ = −0.56/1.5, W =
    // 1/1.5.
    let truth = 0.5 * (0.56f64 / 1.5).powi(2) * 1.5;
    for speeds in [&[0.0][..], &[0.0, 0.0], &[0.0, 0.0, 0.0]] {
        let problem = rod(speeds);
        let solution = Solution { v: vec![0.4 / 1.5, -1.0 / 1.5], r: vec![0.0; speeds.len()] };
        let certificate = Certifier::default().certify(&problem, &solution);
        assert_eq!(certificate.standing, Standing::Proved, "{certificate:?}");
        assert!(
            (certificate.upper - truth).abs() <= 1e-6 * truth
                && (certificate.lower - truth).abs() <= 1e-6 * truth,
            "{certificate:?}"
        );
    }
    let problem = rod(&[0.0, 1e-6]);
    let certificate =
        Certifier::default().certify(&problem, &Solution { v: vec![0.0; 2], r: vec![0.0; 2] });
    assert_eq!(certificate.standing, Standing::Unknown, "{certificate:?}");
}

#[test]
fn coulombs_law_gives_an_estimate_and_bad_input_nothing() {
    let problem = between_plates(1e-2, Law::Coulomb { mu: 0.5, rows: 2 });
    let (solution, ..) = solve(&problem, Method::Newton, Tolerance::default(), None);
    let mut certifier = Certifier::default();
    assert_eq!(certifier.certify(&problem, &solution).standing, Standing::Estimated);
    for bad in [
        Solution { v: vec![f64::NAN, 0.0], r: vec![0.0; 4] },
        Solution { v: vec![0.0; 2], r: vec![0.0; 3] },
        Solution::default(),
    ] {
        let certificate = certifier.certify(&problem, &bad);
        assert_eq!((certificate.standing, certificate.upper), (Standing::Unknown, f64::INFINITY));
    }
    let empty = Problem {
        H: Csr::diagonal(&[2.0]),
        k: vec![2.0],
        J: signorini_solve::problem::Rows::new(1),
        ..Problem::default()
    };
    let certificate = certifier.certify(&empty, &Solution { v: vec![1.5], r: vec![] });
    // Without rows v* = k/H = 1: ½ 2 (1.5 − 1)² = ¼ J.
    assert!(
        (certificate.upper - 0.25).abs() <= 1e-9 && (certificate.lower - 0.25).abs() <= 1e-9,
        "{certificate:?}"
    );
}
