//! `signorini bench psor`: what a sweep costs, and how many it takes.
//!
//! * Speed (default): nanoseconds per frictional contact and sweep on packings of growing size,
//!   beside a triad `a ← b + s c` over as many bytes as a sweep must move, in the same run; the
//!   same with extrapolation, under Coulomb's law (exact local solutions), and with bodies that are
//!   not round; what keeping the best iterate costs of an extrapolated sweep; two threads against
//!   one; the bits of one, two and three threads.
//! * `--corpus DIR`: sweeps to relative energy errors 1e-4, 1e-6, 1e-8 on every problem with
//!   velocities (cone law), and to Siconos' relative error 1e-8 on every reduced one (its own law),
//!   with performance profiles.

use super::packing::packing;
use indicatif::ProgressBar;
use serde::Serialize;
use signorini::problem::{Law, Problem, Solution, Tolerance};
use signorini::solve::psor::{
    Acceleration, BYTES_OF_BEST, BYTES_PER_BODY, BYTES_PER_CONTACT, BYTES_PER_ROUND_CONTACT, Psor,
    Settings,
};
use signorini::solve::{Report, Solver, StoppingCriteria};
use std::path::PathBuf;
use std::time::Instant;

/// Options of `bench psor`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Count sweeps on the problem files of this folder instead of measuring time.
    #[arg(long, value_name = "DIR")]
    pub corpus: Option<PathBuf>,
    /// Only files whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub only: String,
    /// Also count with the variants that were considered.
    #[arg(long, requires = "corpus")]
    pub variants: bool,
    /// Draw the performance profile.
    #[arg(long, value_name = "FILE.svg", requires = "corpus")]
    pub plot: Option<PathBuf>,
}

/// Sizes to measure, in contacts.
const SIZES: [usize; 6] = [1_000, 5_000, 11_000, 17_000, 50_000, 100_000];

/// Sizes that `triad_ratio` is the worst of.
const TRIAD_SIZES: std::ops::RangeInclusive<usize> = 4_500..=17_500;

/// Rounds over all sizes of sweeps, on one thread and two, and triads. The best of each counts,
/// because anything else on the machine only adds to it; ratios are those of the best. (Medians of
/// the ratios within each round say how busy the neighbours on a shared machine were; rounds over
/// all sizes, so that no size is measured within one bad moment.)
const MEASURED_ROUNDS: usize = 15;

#[derive(Serialize)]
struct Speed {
    contacts: Vec<Size>,
    triad_ratio: f64,
    threads2_speedup: f64,
    bit_identical: bool,
}

#[derive(Serialize)]
struct Size {
    n: usize,
    ns_per_contact_sweep: f64,
    ns_per_contact_sweep_accelerated: f64,
    ns_per_contact_sweep_coulomb: f64,
    /// Bodies that are not round: frames and arms take more arithmetic then, and begin to pay
    /// later.
    ns_per_contact_sweep_general: f64,
    /// A copy of the reactions, in per cent of an extrapolated sweep: what keeping the best iterate
    /// costs at most, because the sweep writes them twice while they are at hand.
    tracking_percent: f64,
    ns_per_contact_triad: f64,
    /// Sweep over triad and one thread over two.
    triad_ratio: f64,
    threads2_speedup: f64,
}

/// Measures time.
pub fn run(arguments: &Arguments) {
    let mut out = Speed {
        contacts: Vec::new(),
        triad_ratio: 0.0,
        threads2_speedup: f64::INFINITY,
        bit_identical: true,
    };
    let mut cases: Vec<Case> = SIZES.into_iter().map(Case::new).collect();
    let bar = ProgressBar::new(MEASURED_ROUNDS as u64);
    for round in 0..MEASURED_ROUNDS {
        cases.iter_mut().for_each(|case| case.measure(round));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !arguments.json {
        println!(
            "{:>8}  {:>10}  {:>6}  {:>6}  {:>14}  {:>8}  {:>8}  {:>9}  {:>11}",
            "contacts",
            "ns/contact",
            "triad",
            "ratio",
            "with extrapol.",
            "tracking",
            "coulomb",
            "not round",
            "two threads"
        );
    }
    for row in cases.iter().map(Case::size) {
        if TRIAD_SIZES.contains(&row.n) {
            out.triad_ratio = out.triad_ratio.max(row.triad_ratio);
        }
        if row.n >= 10_000 {
            out.threads2_speedup = out.threads2_speedup.min(row.threads2_speedup);
        }
        if !arguments.json {
            println!(
                "{:>8}  {:>10.1}  {:>6.1}  {:>6.2}  {:>14.1}  {:>6.1} %  {:>8.1}  {:>9.1}  \
                    {:>11.2}",
                row.n,
                row.ns_per_contact_sweep,
                row.ns_per_contact_triad,
                row.triad_ratio,
                row.ns_per_contact_sweep_accelerated,
                row.tracking_percent,
                row.ns_per_contact_sweep_coulomb,
                row.ns_per_contact_sweep_general,
                row.threads2_speedup
            );
        }
        out.contacts.push(row);
    }
    let problem = packing(17_000, 2);
    let bits = |threads: usize| -> Vec<u64> {
        timed(&problem, Acceleration::Auto, threads, 30).1.r.iter().map(|r| r.to_bits()).collect()
    };
    let one = bits(1);
    out.bit_identical = [2, 3].into_iter().all(|threads| bits(threads) == one);
    if arguments.json {
        println!("{}", serde_json::to_string(&out).expect("plain data can be written"));
    } else {
        println!(
            "\nbytes per sweep: {BYTES_PER_CONTACT} (beyond the cache {BYTES_PER_ROUND_CONTACT}: \
                spheres as frames and arms) and {BYTES_OF_BEST} (the best \
             iterate) for each contact, {BYTES_PER_BODY} for each body"
        );
        println!("sweep over triad, 5,000 to 17,000 contacts: {:.2} at most", out.triad_ratio);
        println!(
            "two threads over one, from 10,000 contacts: {:.2} at least",
            out.threads2_speedup
        );
        println!(
            "bits of 1, 2 and 3 threads: {}",
            if out.bit_identical { "identical" } else { "DIFFERENT" }
        );
    }
}

/// A packing, the same under Coulomb's law, and of bodies that are not round; the vectors of its
/// triad.
struct Case {
    problem: Problem,
    rubbing: Problem,
    long: Problem,
    triad: [Vec<f64>; 3],
    best: Best,
}

/// The least time of each, s.
struct Best {
    sweep: f64,
    shared: f64,
    triad: f64,
    accelerated: f64,
    coulomb: f64,
    general: f64,
}

impl Case {
    /// Of about so many contacts.
    fn new(size: usize) -> Case {
        let problem = packing(size, 1);
        let mut rubbing = problem.clone();
        rubbing
            .laws
            .iter_mut()
            .for_each(|law| *law = Law::Coulomb { mu: law.friction().unwrap_or(0.0), rows: 3 });
        let mut long = problem.clone();
        long.H.values.iter_mut().skip(3).step_by(6).for_each(|inertia| *inertia *= 0.7);
        let contacts = problem.laws.len();
        let bytes = contacts * (Settings::default().bytes_per_contact(contacts) + BYTES_OF_BEST)
            + problem.n() / 6 * BYTES_PER_BODY;
        let triad = [0.0, 1.0, 2.0].map(|x| vec![x; bytes / 24]);
        let [sweep, shared, accelerated, coulomb, general] = [f64::INFINITY; 5];
        Case {
            problem,
            rubbing,
            long,
            triad,
            best: Best { sweep, shared, triad: f64::INFINITY, accelerated, coulomb, general },
        }
    }

    /// Measures everything once more.
    fn measure(&mut self, round: usize) {
        let Case { problem, rubbing, long, triad: [a, b, c], best } = self;
        let count = (3_000_000 / problem.laws.len() as u64).clamp(40, 600);
        let sweeps = |problem: &Problem, acceleration, threads, count| {
            least(&timed(problem, acceleration, threads, count).0)
        };
        best.sweep = best.sweep.min(sweeps(problem, Acceleration::None, 1, count));
        best.triad = best.triad.min(triad_seconds(a, b, c, round));
        best.shared = best.shared.min(sweeps(problem, Acceleration::None, 2, count));
        best.general = best.general.min(sweeps(long, Acceleration::None, 1, count / 4));
        best.coulomb = best.coulomb.min(sweeps(rubbing, Acceleration::None, 1, count / 4));
        best.accelerated = best.accelerated.min(sweeps(problem, Acceleration::Auto, 1, count));
    }

    /// What was measured.
    fn size(&self) -> Size {
        let Best { sweep, shared, triad, accelerated, coulomb, general } = self.best;
        let contacts = self.problem.laws.len();
        let per = 1e9 / contacts as f64;
        Size {
            n: contacts,
            ns_per_contact_sweep: sweep * per,
            ns_per_contact_sweep_accelerated: accelerated * per,
            ns_per_contact_sweep_coulomb: coulomb * per,
            ns_per_contact_sweep_general: general * per,
            tracking_percent: 100.0 * copy_seconds(3 * contacts) / accelerated,
            ns_per_contact_triad: triad * per,
            triad_ratio: sweep / triad,
            threads2_speedup: sweep / shared,
        }
    }
}

/// `count` sweeps with their history, and where they end.
fn timed(
    problem: &Problem,
    acceleration: Acceleration,
    threads: usize,
    count: u64,
) -> (Report, Solution) {
    // A tolerance that nothing meets: the error is not judged between sweeps.
    let tolerance = Tolerance { relative: 0.0, velocity: 0.0, bound: None, velocity_relative: 0.0 };
    let stop = StoppingCriteria { tolerance, work: Some(count), history: true, deadline: None };
    let settings = Settings { acceleration, stop, ..Settings::default() };
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("threads can be started");
    let report = pool
        .install(|| Psor::new(settings).solve(problem, &mut solution))
        .expect("a packing is a valid problem");
    (report, solution)
}

/// The fastest sweep of a history, s.
fn least(report: &Report) -> f64 {
    report.history.windows(2).skip(2).map(|w| w[1].wall - w[0].wall).fold(f64::INFINITY, f64::min)
}

/// The fastest of some copies of so many numbers, s.
fn copy_seconds(numbers: usize) -> f64 {
    let (mut to, mut from) = (vec![0.0; numbers], vec![1.0; numbers]);
    let mut best = f64::INFINITY;
    for repeat in 0..50 {
        from[repeat % numbers] = repeat as f64;
        let begin = Instant::now();
        to.copy_from_slice(&from);
        std::hint::black_box(&mut to);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best
}

/// The fastest of some triads `a ← b + s c`, s.
fn triad_seconds(a: &mut [f64], b: &[f64], c: &[f64], round: usize) -> f64 {
    let mut best = f64::INFINITY;
    for repeat in 0..(200_000_000 / (24 * a.len())).clamp(5, 200) {
        let s = (round + repeat) as f64;
        let begin = Instant::now();
        for (a, (b, c)) in a.iter_mut().zip(b.iter().zip(c)) {
            *a = b + s * c;
        }
        std::hint::black_box(&mut *a);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best
}
