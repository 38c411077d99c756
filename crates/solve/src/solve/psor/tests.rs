//! The method against closed forms, against itself on other paths, and on bad problems.

#[cfg(test)]
use super::*;
use crate::math::random::Random;
use crate::math::sparse::Csr;
use crate::problem::test_problems::{self, ProblemWithSolution};
use crate::problem::{RigidBody, RigidContact};
use crate::problem::{Rows, Tolerance};
use crate::solve::Status;
use crate::solve::simd::tests::{draw, frame};
use glam::DQuat;
use std::time::{Duration, Instant};

/// Far below what the assertions ask: local velocities of order 1 within 1e-7.
fn tight(work: u64) -> StoppingCriteria {
    StoppingCriteria {
        tolerance: Tolerance {
            relative: 1e-12,
            velocity: 1e-7,
            bound: None,
            velocity_relative: 0.0,
        },
        work: Some(work),
        deadline: None,
        history: false,
    }
}

fn solve(problem: &Problem, settings: Settings) -> (Report, Solution) {
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = Psor::new(settings).solve(problem, &mut solution).unwrap();
    (report, solution)
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Mass ratios above ten thousand are beyond sweeps.
fn heavy(known: &ProblemWithSolution) -> bool {
    let masses = known.problem.H.values.iter().filter(|x| **x > 0.0);
    let (least, largest) = masses.fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
    known.problem.name.starts_with("stack") && largest > 1e4 * least
}

/// Looser, for problems with random rows, which are far worse conditioned than mechanics.
fn usual(work: u64) -> StoppingCriteria {
    StoppingCriteria {
        tolerance: Tolerance {
            relative: 1e-10,
            velocity: 1e-4,
            bound: None,
            velocity_relative: 0.0,
        },
        ..tight(work)
    }
}

/// `count` bodies in a ring with random rows (three each, normal first) between neighbours, every
/// fourth body to the ground.
pub(super) fn ring(count: usize, law: Law, seed: u64) -> Problem {
    let mut x = Random::seeded(seed);
    let n = 6 * count;
    let mut triplets = Vec::new();
    for b in 0..count {
        // A full inertia: L Lᵀ of a random lower triangle.
        let l: [f64; 9] = std::array::from_fn(|i| {
            if i / 3 > i % 3 { 0.1 * x.signed() } else { 0.3 + 0.1 * x.signed() }
        });
        for i in 0..3 {
            triplets.push(((6 * b + i) as u32, (6 * b + i) as u32, 1.0));
            for j in 0..3 {
                let value = (0..=i.min(j)).map(|k| l[i * 3 + k] * l[j * 3 + k]).sum();
                triplets.push(((6 * b + 3 + i) as u32, (6 * b + 3 + j) as u32, value));
            }
        }
    }
    let mut problem = Problem {
        name: "ring".into(),
        H: Csr::from_triplets(n, n, &triplets),
        J: Rows::new(n),
        ..Problem::default()
    };
    problem.k = (0..n).map(|_| x.signed()).collect();
    for b in (0..count).chain((count..2 * count).step_by(4)) {
        let (first, second) = (b % count, (b + 1) % count);
        let mut columns: Vec<u32> = (6 * first..6 * first + 6).map(|c| c as u32).collect();
        if b < count && count > 1 {
            columns.extend((6 * second..6 * second + 6).map(|c| c as u32));
        }
        columns.sort_unstable();
        let values: Vec<f64> = (0..law.rows() * columns.len()).map(|_| x.signed()).collect();
        problem.J.push(law.rows(), &columns, &values);
        problem.laws.push(law);
    }
    problem.w = (0..problem.J.len()).map(|_| 0.1 * x.signed()).collect();
    problem.E = vec![0.0; problem.J.len()];
    problem
}

/// Makes all rows read the linear velocities of their two bodies with opposite signs, as contacts
/// of rigid bodies do.
fn oppose(problem: &mut Problem) {
    let blocks = &mut problem.J;
    for k in 0..problem.laws.len() {
        let (width, rows) = (blocks.block(k).columns.len(), blocks.block(k).rows);
        let start = blocks.value_starts[k];
        for row in blocks.values[start..start + rows * width]
            .chunks_exact_mut(width)
            .filter(|row| row.len() == 12)
        {
            (0..3).for_each(|j| row[6 + j] = -row[j]);
        }
    }
}

/// Balls of several sizes, or pebbles, in any attitude on a line, each touching the next two and
/// the ground now and then, with angular velocities in the axes of each body. With a drum all of
/// them touch the first, whose mass and inertia are so many times larger.
fn stones(count: usize, round: bool, drum: Option<[f64; 2]>, x: &mut Random) -> Problem {
    let mut bodies = Vec::new();
    let mut diagonal = Vec::new();
    for _ in 0..count {
        let (mass, inertia) = (1.0 + 0.5 * x.signed(), 0.3 + 0.1 * x.signed());
        let [second, third] =
            if round { [inertia; 2] } else { [inertia * (1.0 + 0.4 * x.signed()), 2.0 * inertia] };
        diagonal.extend([mass, mass, mass, inertia, second, third]);
        let attitude = DQuat::from_vec4(draw(x).extend(x.signed()).normalize()).to_array();
        bodies.push(RigidBody { column: 6 * bodies.len() as u32, attitude });
    }
    let [mass, inertia] = drum.unwrap_or([1.0; 2]);
    diagonal[..3].iter_mut().for_each(|h| *h *= mass);
    diagonal[3..6].iter_mut().for_each(|h| *h *= inertia);
    let k: Vec<f64> = diagonal.iter().map(|h| h * x.signed()).collect();
    let mut problem =
        Problem { H: Csr::diagonal(&diagonal), k, J: Rows::new(6 * count), ..Problem::default() };
    problem.J.rigid.bodies = bodies;
    for a in 0..count {
        let around = if a == 0 && drum.is_some() { 3..count } else { 0..0 };
        for b in [Some(a + 1), Some(a + 2), None].into_iter().chain(around.map(Some)) {
            if b.map_or(!a.is_multiple_of(5), |b| b >= count) {
                continue;
            }
            let frame = frame(x);
            let arms = [0.5 * frame[0], draw(x)].map(|r| r.to_array());
            problem.J.push_contact(RigidContact {
                block: 0,
                bodies: [b.map(|b| b as u32), Some(a as u32)],
                frame: frame.map(|d| d.to_array()),
                arms: [arms[1], arms[0]],
            });
            problem.laws.push(Law::Cone { mu: 0.4, rows: 3 });
        }
    }
    (problem.w, problem.E) = (vec![0.0; problem.J.len()], vec![0.0; problem.J.len()]);
    problem
}

#[test]
fn frames_and_arms_are_the_same_rows() {
    let solved = |problem: &Problem, cache: usize| {
        let mut psor = Psor::new(Settings { stop: tight(20_000), cache, ..Settings::default() });
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let report = psor.solve(problem, &mut solution).unwrap();
        (psor.system.parts().lanes.storage(), report.status, solution)
    };
    for (round, form) in [(true, Storage::Round), (false, Storage::Frame)] {
        let mut problem = stones(300, round, None, &mut Random::seeded(9));
        for case in ["cone", "coulomb", "joints"] {
            match case {
                // The shift is lagged: it is read off the velocities of the same lanes.
                "coulomb" => problem.laws.fill(Law::Coulomb { mu: 0.4, rows: 3 }),
                // Joints and limits on some unknowns of turned bodies.
                "joints" => {
                    for a in (0..60).step_by(3) {
                        let columns = [6 * a + 2, 6 * a + 4, 6 * a + 23];
                        problem.J.push(1, &columns, &[1.0, -0.3, 0.7]);
                        problem.laws.push(if a % 2 == 0 { Law::Equality } else { Law::Unilateral });
                    }
                    (problem.w, problem.E) =
                        (vec![0.0; problem.J.len()], vec![0.0; problem.J.len()]);
                }
                _ => {}
            }
            let (whole, framed) = (solved(&problem, usize::MAX), solved(&problem, 0));
            assert_eq!((whole.0, framed.0), (Storage::Rigid, form), "{case}");
            assert_eq!((whole.1, framed.1), (Status::Converged, Status::Converged), "{case}");
            // Both are accepted to a bound of 1e-6 of the energy, which is an upper one: velocities
            // of order one.
            assert!(largest_difference(&whole.2.v, &framed.2.v) < 1e-3, "{case}");
        }
        // Few contacts stay in the cache.
        assert_eq!(solved(&problem, 12 << 20).0, Storage::Rigid);
        // One row that no arm explains: stored with all its angular parts.
        problem.J.values[5] += 0.1;
        assert_eq!(solved(&problem, 0).0, Storage::Rigid);
    }
    // One body that is not round: no longer balls.
    let mut egg = stones(300, true, None, &mut Random::seeded(9));
    *egg.H.values.last_mut().unwrap() *= 1.5;
    assert_eq!(solved(&egg, 0).0, Storage::Frame);
}

#[test]
fn known_problems_are_solved() {
    let mut wrong = Vec::new();
    for known in test_problems::all().iter().filter(|known| !heavy(known)) {
        let convex = !known.problem.laws.iter().any(|law| matches!(law, Law::Coulomb { .. }));
        let locals: &[Local] = if convex { &[Local::Auto, Local::Exact] } else { &[Local::Auto] };
        for &local in locals {
            let (report, solution) = solve(
                &known.problem,
                Settings { stop: tight(20_000), local, ..Settings::default() },
            );
            // The bound is 1e-6 of scales of some 10 J at the worst, and an upper one: velocities
            // within 1e-3 here; Coulomb's v need not be unique.
            let close = !convex || largest_difference(&solution.v, &known.solution.v) < 1e-3;
            if report.status != Status::Converged || !close {
                wrong.push((known.problem.name.clone(), local, report.status, report.error));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_method_of_the_paper_solves_what_is_easy() {
    for known in test_problems::all().iter().filter(|known| {
        known.problem.name.contains("ball") || known.problem.name.contains("brick_rests")
    }) {
        for omega in [0.7, 1.0, 1.3] {
            let (report, solution) =
                solve(&known.problem, Settings { stop: tight(5_000), ..Settings::plain(omega) });
            assert_eq!(report.status, Status::Converged, "{} {omega}", known.problem.name);
            assert!(largest_difference(&solution.v, &known.solution.v) < 1e-6);
        }
    }
}

#[test]
fn whole_and_reduced_agree() {
    let mut wrong = Vec::new();
    for known in
        test_problems::all().iter().filter(|known| !heavy(known) && known.problem.rows() > 0)
    {
        let reduced = Reduced::of(&known.problem).unwrap();
        let mut solution = Solution::zero(0, reduced.rows());
        let report = Psor::new(Settings { stop: tight(50_000), ..Settings::default() })
            .solve_reduced(&reduced, &mut solution)
            .unwrap();
        if report.status != Status::Converged {
            wrong.push((known.problem.name.clone(), report.status, report.error));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_mass_ratio_beyond_reach_is_reported_as_such() {
    for known in test_problems::all().iter().filter(|known| heavy(known)) {
        let (report, solution) = solve(
            &known.problem,
            Settings {
                stop: StoppingCriteria { work: Some(300), ..tight(0) },
                ..Settings::default()
            },
        );
        assert_eq!(report.status == Status::Converged, report.error.accepted(&tight(0).tolerance));
        let judged = PreparedProblem::of(&known.problem).unwrap().error(&known.problem, &solution);
        assert_eq!(judged, report.error, "the report judges the point that was returned");
    }
}

#[test]
fn lanes_and_single_blocks_find_the_same_motion() {
    // Full inertias, lanes for the cone law, in both forms of rows; the exact local solution takes
    // the other path.
    for rigid in [false, true] {
        let mut problem = ring(40, Law::Cone { mu: 0.4, rows: 3 }, 3);
        if rigid {
            oppose(&mut problem);
        }
        let (a, lanes) = solve(&problem, Settings { stop: usual(5_000), ..Settings::default() });
        let (b, single) = solve(
            &problem,
            Settings { stop: usual(5_000), local: Local::Exact, ..Settings::default() },
        );
        assert_eq!((a.status, b.status), (Status::Converged, Status::Converged));
        // The bound is 1e-5 of a scale of some 10 J, on inertias from 0.05: velocities of order 1
        // within 5e-2 at the worst.
        assert!(largest_difference(&lanes.v, &single.v) < 5e-2);
    }
}

/// ½ ‖a − b‖²_H of a diagonal H.
fn energy_between(problem: &Problem, a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).zip(&problem.H.values).map(|((a, b), h)| 0.5 * h * (a - b).powi(2)).sum()
}

#[test]
fn contacts_with_a_hub_body_are_swept_together_and_the_energy_falls() {
    // A drum that turns as easily as a ball is as heavy as the rule asks for, and nothing but the
    // factor keeps the energy from rising.
    for (drum, hub) in [
        ([100.0, 100.0], true),
        ([20_000.0, 20_000.0], true),
        ([100.0, 0.3], true),
        ([1.0, 1.0], false),
    ] {
        for (round, cache) in [(true, usize::MAX), (true, 0), (false, 0)] {
            let problem = stones(400, round, Some(drum), &mut Random::seeded(21));
            let mut prepared = PreparedProblem::of(&problem).unwrap();
            let settings = Settings { stop: usual(20_000), cache, ..Settings::default() };
            let (mut system, mut x) = (System::default(), state::State::default());
            let scratch = &mut build::Scratch::default();
            system.set(&problem, prepared.factor(), &settings, scratch, None);
            assert_eq!(
                (!system.parts().lanes.loose()[0].is_empty(), system.parts().singles.len() == 0),
                (hub, hub),
                "{drum:?}"
            );
            system.zero(&mut x);
            let mut kept = x.r.to_vec();
            let mut energy = 0.0f64;
            for sweep in 0..50 {
                Sweeps::sweep(&mut system, &mut x, &mut kept);
                let next = Sweeps::energy(&system, &x);
                // Sums of four thousand terms, each a small part of the energy.
                assert!(
                    next <= energy + 1e-14 * energy.abs(),
                    "{drum:?}, sweep {sweep}: {energy} {next}"
                );
                energy = next;
            }
            let mut anew = x.clone();
            system.refresh(&mut anew);
            // Fifty sweeps of four hundred additions to the drum, of numbers of order ten.
            assert!(
                largest_difference(&x.z, &anew.z) < 1e-11,
                "{drum:?}: nothing is lost where lanes write to one body"
            );
            let (a, lanes) = solve(&problem, settings.clone());
            let (b, single) = solve(&problem, Settings { local: Local::Exact, ..settings });
            assert_eq!((a.status, b.status), (Status::Converged, Status::Converged), "{drum:?}");
            let between = energy_between(&problem, &lanes.v, &single.v);
            assert!(
                between.sqrt() <= a.error.estimate.sqrt() + b.error.estimate.sqrt(),
                "{drum:?}: both are within their bounds"
            );
        }
    }
}

#[test]
fn a_shift_is_lagged_among_contacts_with_a_hub_body() {
    let mut problem = stones(400, true, Some([100.0; 2]), &mut Random::seeded(22));
    problem.laws.fill(Law::Coulomb { mu: 0.4, rows: 3 });
    let (report, solution) =
        solve(&problem, Settings { stop: usual(20_000), ..Settings::default() });
    assert_eq!(report.status, Status::Converged);
    assert_eq!(PreparedProblem::of(&problem).unwrap().error(&problem, &solution), report.error);
}

#[test]
fn the_bits_do_not_depend_on_threads() {
    let (cone, coulomb) = (Law::Cone { mu: 0.4, rows: 3 }, Law::Coulomb { mu: 0.4, rows: 3 });
    // 3750 blocks: two subdomains and an interface. 16,250: four subdomains, and two rounds of
    // interfaces.
    for (law, count, rigid) in [
        (cone, 3_000, false),
        (coulomb, 3_000, false),
        (Law::Unilateral, 3_000, false),
        (cone, 13_000, true),
        (coulomb, 3_000, true),
    ] {
        let mut problem = ring(count, law, 5);
        if rigid {
            oppose(&mut problem);
        }
        same_bits(&problem, Settings::default());
    }
    // Frames and arms, with interfaces between subdomains and with a hub body.
    for (round, drum) in
        [(true, None), (false, None), (true, Some([100.0; 2])), (false, Some([100.0; 2]))]
    {
        same_bits(
            &stones(3_000, round, drum, &mut Random::seeded(23)),
            Settings { cache: 0, ..Settings::default() },
        );
    }
}

/// The same bits on one, two and three threads.
fn same_bits(problem: &Problem, settings: Settings) {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let settings =
            Settings { stop: StoppingCriteria { work: Some(25), ..tight(0) }, ..settings.clone() };
        pool.install(|| solve(problem, settings)).1
    };
    let one = run(1);
    for threads in [2, 3] {
        let many = run(threads);
        assert!(
            one.r.iter().zip(&many.r).all(|(a, b)| a.to_bits() == b.to_bits()),
            "{threads} threads"
        );
        assert!(
            one.v.iter().zip(&many.v).all(|(a, b)| a.to_bits() == b.to_bits()),
            "{threads} threads"
        );
    }
}

/// A chain of `n` unit masses with springs: one clique, dense up to 48 unknowns, a mesh above;
/// contacts and a tie on it.
fn springs(n: usize) -> Problem {
    let mut triplets = Vec::new();
    for i in 0..n as u32 {
        triplets.push((i, i, 1.5));
        if i > 0 {
            triplets.push((i, i - 1, -0.25));
            triplets.push((i - 1, i, -0.25));
        }
    }
    let mut problem = Problem {
        name: "springs".into(),
        H: Csr::from_triplets(n, n, &triplets),
        J: Rows::new(n),
        ..Problem::default()
    };
    problem.k = (0..n).map(|i| -1.0 + 0.3 * (i as f64).sin()).collect();
    for i in 0..n / 4 {
        problem.J.push(1, &[4 * i as u32], &[1.0]);
        problem.laws.push(Law::Unilateral);
        problem.J.push(2, &[4 * i as u32 + 1, 4 * i as u32 + 2], &[1.0, 0.2, -0.1, 1.0]);
        problem.laws.push(Law::Cone { mu: 0.3, rows: 2 });
    }
    problem.J.push(1, &[0, n as u32 - 1], &[1.0, -1.0]);
    problem.laws.push(Law::Equality);
    problem.w = vec![0.05; problem.J.len()];
    problem.E = (0..problem.J.len()).map(|i| if i % 5 == 0 { 0.1 } else { 0.0 }).collect();
    problem
}

#[test]
fn coupled_masses_small_and_large() {
    for n in [12, 40, 200] {
        let problem = springs(n);
        for joints in [true, false] {
            let (report, solution) =
                solve(&problem, Settings { stop: tight(5_000), joints, ..Settings::default() });
            assert_eq!(report.status, Status::Converged, "{n} {joints}");
            // The other path: W formed, v from r.
            let reduced = Reduced::of(&problem).unwrap();
            let mut other = Solution::zero(0, reduced.rows());
            Psor::new(Settings { stop: tight(5_000), ..Settings::default() })
                .solve_reduced(&reduced, &mut other)
                .unwrap();
            let mut v = problem.k.clone();
            problem.J.add_transposed(&other.r, &mut v);
            let mut factor = crate::math::cliques::CliqueFactor::default();
            factor.factor(&problem.H).unwrap();
            factor.solve(&mut v);
            // Scales of a few joules, bound 1e-6 of them.
            assert!(largest_difference(&v, &solution.v) < 1e-3, "{n} {joints}");
        }
    }
}

#[test]
fn joints_as_one_block_take_few_sweeps() {
    // A pendulum of fifty links: row by row a long wave, as one block a single sweep.
    let n = 100;
    let mut problem =
        Problem { H: Csr::diagonal(&vec![1.0; n]), J: Rows::new(n), ..Problem::default() };
    problem.k = (0..n).map(|i| if i % 2 == 1 { -0.1 } else { 0.02 }).collect();
    for i in 0..50u32 {
        let (sin, cos) = (0.3 * f64::from(i)).sin_cos();
        let columns: Vec<u32> =
            if i == 0 { vec![0, 1] } else { vec![2 * i - 2, 2 * i - 1, 2 * i, 2 * i + 1] };
        let values = if i == 0 { vec![sin, cos] } else { vec![-sin, -cos, sin, cos] };
        // Each row twice: the second depends on the first.
        for _ in 0..2 {
            problem.J.push(1, &columns, &values);
            problem.laws.push(Law::Equality);
        }
    }
    problem.w = vec![0.0; problem.J.len()];
    problem.E = vec![0.0; problem.J.len()];
    let (report, solution) = solve(&problem, Settings { stop: tight(100), ..Settings::default() });
    assert_eq!(report.status, Status::Converged);
    assert!(report.work <= 2, "{} sweeps", report.work);
    assert_eq!(report.dependent, 50);
    let mut u = vec![0.0; problem.rows()];
    problem.local_velocities(&solution.v, &solution.r, &mut u);
    assert!(u.iter().all(|u| u.abs() < 1e-10), "the links keep their length");
    let (rows, _) =
        solve(&problem, Settings { stop: tight(100), joints: false, ..Settings::default() });
    assert!(rows.work > 10, "row by row takes {} sweeps", rows.work);
}

#[test]
fn a_warm_start_at_the_solution_needs_no_sweep() {
    let problem = ring(20, Law::Cone { mu: 0.4, rows: 3 }, 9);
    let settings = Settings { stop: usual(5_000), ..Settings::default() };
    let (_, mut solution) = solve(&problem, settings.clone());
    let again = Psor::new(settings).solve(&problem, &mut solution).unwrap();
    assert_eq!((again.status, again.work), (Status::Converged, 0));
}

#[test]
fn work_and_time_are_limits() {
    let problem = ring(60, Law::Coulomb { mu: 0.4, rows: 3 }, 11);
    let (report, _) = solve(
        &problem,
        Settings {
            stop: StoppingCriteria { work: Some(3), history: true, ..tight(0) },
            ..Settings::default()
        },
    );
    assert_eq!((report.status, report.work, report.reproducible), (Status::Budget, 3, true));
    assert_eq!(report.history.iter().map(|s| s.work).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(report.history.windows(2).all(|w| w[1].best <= w[0].best && w[1].wall >= w[0].wall));
    let past = Instant::now() - Duration::from_secs(1);
    let (report, _) = solve(
        &problem,
        Settings {
            stop: StoppingCriteria { deadline: Some(past), ..tight(100) },
            ..Settings::default()
        },
    );
    assert_eq!((report.status, report.work, report.reproducible), (Status::Budget, 0, false));
}

#[test]
fn bad_problems_give_finite_points_and_honest_reports() {
    // A contact that nothing can open, a guess that is not a number, an empty problem.
    let mut problem = ring(4, Law::Unilateral, 13);
    problem.J.push(1, &[], &[]);
    problem.laws.push(Law::Unilateral);
    problem.w.push(-1.0);
    problem.E.push(0.0);
    let mut solution = Solution::zero(problem.n(), problem.rows());
    solution.r.fill(f64::NAN);
    let report = Psor::new(Settings { stop: tight(200), ..Settings::default() })
        .solve(&problem, &mut solution)
        .unwrap();
    assert_ne!(report.status, Status::Converged);
    assert!(solution.v.iter().chain(&solution.r).all(|x| x.is_finite()));
    let mut free = ring(2, Law::Unilateral, 13);
    (free.J, free.laws, free.w, free.E) = (Rows::new(12), Vec::new(), Vec::new(), Vec::new());
    let (report, _) = solve(&free, Settings::default());
    assert_eq!((report.status, report.work), (Status::Converged, 0));
}

#[test]
fn the_extrapolation_pays() {
    // A stack of ten: a long wave, where plain sweeps crawl.
    let known = test_problems::stack(10, 1.0);
    let (fast, _) = solve(&known.problem, Settings { stop: tight(5_000), ..Settings::default() });
    let (slow, _) = solve(
        &known.problem,
        Settings { stop: tight(5_000), acceleration: Acceleration::None, ..Settings::default() },
    );
    assert!(fast.work * 3 <= slow.work, "{} against {}", fast.work, slow.work);
}
