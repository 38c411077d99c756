//! `signorini bench newton`: the true Coulomb law on a collection of problems, cold, with one set
//! of parameters.
//!
//! Over a collection with the folders fc2d, fc3d, gfc2d and gfc3d the table stands beside the best
//! published time (`inventory.csv`); any other folder is taken as a flat collection.

use serde::Serialize;
use signorini::math::sparse::Csr;
use signorini::problem::files::Input;
use signorini::problem::test_problems::Lcg;
use signorini::problem::{Reduced, Rows, Solution, Tolerance, literature};
use signorini::solve::newton::{Branch, Newton, Settings, Unique};
use signorini::solve::{ReducedSolver, Report, Solver, StoppingCriteria, Unsupported};
use signorini_files::load::load;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Kinds of problems in the collection of Siconos that this method is for.
const KINDS: [&str; 4] = ["fc2d", "fc3d", "gfc2d", "gfc3d"];

/// The most factorizations that should be needed at 1e-8, cold, by name; a file that is not here
/// should need none.
pub const WANTED: [(&str, u64); 9] = [
    ("SliderCrank", 4),
    ("FrictionContactProblem00237", 3),
    ("granularflowonwall_02020", 92),
    ("BoxesStack1", 8),
    ("Capsules", 12),
    ("Confeti-ex13-Fc3D", 4),
    ("OneObject", 7),
    ("Spheres-i099", 3),
    ("RockPile", 2256),
];

/// What [`WANTED`] says of a file.
pub fn wanted(file: &str) -> u64 {
    WANTED.iter().find(|wanted| file.contains(wanted.0)).map_or(0, |wanted| wanted.1)
}

/// Options of `bench newton`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of problems.
    #[arg(long, default_value = "../shared/corpus")]
    corpus: PathBuf,
    /// Only files whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Largest relative error, in joules and (of first order) in Siconos' own measure.
    #[arg(long, default_value_t = 1e-8)]
    tolerance: f64,
    /// Ask for the error in joules alone.
    #[arg(long)]
    joules: bool,
    /// Most factorizations.
    #[arg(long)]
    work: Option<u64>,
    /// Solves per file at least (and at least ten times as many milliseconds); the least time
    /// counts.
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// Take the contacts in an order drawn from this seed.
    #[arg(long)]
    shuffled: Option<u64>,
    /// Most time per solve, ms: the answer may then differ from run to run.
    #[arg(long)]
    deadline_ms: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    file: String,
    contacts: usize,
    status: String,
    siconos: f64,
    relative: f64,
    sweeps: u64,
    factorizations: u64,
    /// Newton steps beside those, which took an earlier factor.
    updates: u64,
    /// What [`wanted`] says, at the tolerance and in the collection that it speaks of.
    wanted: Option<u64>,
    ms: f64,
    outer: u64,
    phase: String,
    open: usize,
    stick: usize,
    slip: usize,
    velocity: f64,
    /// What is known of the uniqueness of v.
    unique: Unique,
    best_ms: Option<f64>,
    best: String,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    let published = published(&arguments.corpus);
    let mut rows = Vec::new();
    if !arguments.json {
        println!(
            "{:44} {:>5} {:>9} {:>8} {:>8} {:>8} {:>6} {:>5} {:>6} {:>6} {:>5} {:>9} {:>9}  best \
                published",
            "file",
            "nc",
            "status",
            "siconos",
            "relative",
            "δu m/s",
            "sweeps",
            "fact",
            "wanted",
            "update",
            "outer",
            "ms",
            "best ms"
        );
    }
    for path in files(&arguments.corpus, &arguments.only) {
        match bench(arguments, &path, &published) {
            Ok(row) => {
                if !arguments.json {
                    print_row(&row);
                }
                rows.push(row);
            }
            Err(error) => eprintln!("{error}"),
        }
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&rows).unwrap_or_default());
    } else {
        summary(&rows, arguments);
    }
    if rows.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn print_row(row: &Row) {
    println!(
        "{:44} {:>5} {:>9} {:>8.1e} {:>8.1e} {:>8.1e} {:>6} {:>5} {:>6} {:>6} {:>5} {:>9.3} {:>9}  \
            {} ({} open {} stick {} slip; {}; v unique: {:?})",
        row.file.chars().take(44).collect::<String>(),
        row.contacts,
        row.status,
        row.siconos,
        row.relative,
        row.velocity,
        row.sweeps,
        row.factorizations,
        row.wanted.map_or("-".into(), |x| x.to_string()),
        row.updates,
        row.outer,
        row.ms,
        row.best_ms.map_or("-".into(), |x| format!("{x:.3}")),
        row.best,
        row.open,
        row.stick,
        row.slip,
        row.phase,
        row.unique
    );
}

fn summary(rows: &[Row], arguments: &Arguments) {
    let (tolerance, joules) = (arguments.tolerance, arguments.joules);
    let good = rows
        .iter()
        .filter(|r| (joules || r.siconos <= tolerance) && r.relative <= tolerance)
        .count();
    let large: Vec<&Row> = rows.iter().filter(|r| r.contacts >= 20).collect();
    let timed: Vec<&&Row> = large.iter().filter(|r| r.best_ms.is_some()).collect();
    let faster = timed.iter().filter(|r| r.best_ms.is_some_and(|best| r.ms <= best)).count();
    let half = timed.iter().filter(|r| r.best_ms.is_some_and(|best| 2.0 * r.ms <= best)).count();
    println!(
        "{good} of {} files within {tolerance:.0e}, {}",
        rows.len(),
        if joules { "in joules" } else { "both measures" }
    );
    println!(
        "{} files with 20 contacts or more, {} with a published time: {faster} as fast, {half} \
            twice as fast",
        large.len(),
        timed.len()
    );
    let compared: Vec<&Row> = rows.iter().filter(|r| r.wanted.is_some()).collect();
    let above: Vec<&str> = compared
        .iter()
        .filter(|r| r.wanted < Some(r.factorizations))
        .map(|r| r.file.as_str())
        .collect();
    if !compared.is_empty() {
        let named =
            if above.is_empty() { String::new() } else { format!("; more: {}", above.join(", ")) };
        println!(
            "{} of {} files in as many factorizations as wanted (at 1e-8){named}",
            compared.len() - above.len(),
            compared.len()
        );
    }
    let sum = |count: fn(&Row) -> u64| rows.iter().map(count).sum::<u64>();
    println!(
        "{} factorizations, {} steps by earlier ones, {} sweeps, {:.1} ms in all",
        sum(|r| r.factorizations),
        sum(|r| r.updates),
        sum(|r| r.sweeps),
        rows.iter().map(|r| r.ms).sum::<f64>()
    );
}

fn files(corpus: &Path, only: &str) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> =
        KINDS.iter().map(|k| corpus.join(k)).filter(|p| p.is_dir()).collect();
    let folders = if folders.is_empty() { vec![corpus.to_path_buf()] } else { folders };
    let mut out = Vec::new();
    for folder in folders {
        let mut names: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        names.retain(|p| p.extension().is_some_and(|e| e == "dat" || e == "hdf5" || e == "json"));
        names.retain(|p| p.file_name().is_some_and(|n| n.to_string_lossy().contains(only)));
        names.sort();
        out.extend(names);
    }
    out
}

/// Best published solver and time by file name.
fn published(corpus: &Path) -> HashMap<String, (String, f64)> {
    let text = std::fs::read_to_string(corpus.join("inventory.csv")).unwrap_or_default();
    let mut out = HashMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let n = fields.len();
        if n >= 5
            && let Ok(ms) = fields[n - 2].parse()
        {
            out.insert(fields[1].to_string(), (fields[n - 3].to_string(), ms));
        }
    }
    out
}

/// Time that this thread has spent on a processor, ms, where the system tells.
fn processor_ms() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|ns| 1e-6 * ns)
}

fn solve(
    newton: &mut Newton,
    input: &Input,
    solution: &mut Solution,
) -> Result<Report, Unsupported> {
    match input {
        Input::Problem(problem) => newton.solve(problem, solution),
        Input::Reduced(reduced) => newton.solve_reduced(reduced, solution),
    }
}

/// The same problem with its blocks in an order drawn from `seed`.
fn shuffled(input: Input, seed: u64) -> Input {
    let mut draw = Lcg::new(seed);
    let mut order: Vec<usize> = (0..input.laws().len()).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, (0.5 * (draw.draw() + 1.0) * (k + 1) as f64) as usize % (k + 1));
    }
    let laws = order.iter().map(|&k| input.laws()[k]).collect();
    match input {
        Input::Problem(mut problem) => {
            let empty = Rows::new(problem.n());
            let (old, w, e) =
                (std::mem::replace(&mut problem.J, empty), problem.w.clone(), problem.E.clone());
            (problem.w, problem.E, problem.names) = (Vec::new(), Vec::new(), Vec::new());
            for &k in &order {
                let block = old.block(k);
                problem.J.push(block.rows, block.columns, block.values);
                problem.w.extend_from_slice(&w[block.range()]);
                problem.E.extend_from_slice(&e[block.range()]);
            }
            problem.laws = laws;
            Input::Problem(problem)
        }
        Input::Reduced(reduced) => {
            let rows: Vec<usize> = order.iter().flat_map(|&k| reduced.range(k)).collect();
            let mut place = vec![0u32; rows.len()];
            rows.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
            let mut triplets = Vec::new();
            for (new, &old) in rows.iter().enumerate() {
                let (columns, values) = reduced.W.row(old);
                triplets.extend(
                    columns.iter().zip(values).map(|(&j, &x)| (new as u32, place[j as usize], x)),
                );
            }
            let w = Csr::from_triplets(rows.len(), rows.len(), &triplets);
            let q = rows.iter().map(|&i| reduced.q[i]).collect();
            Input::Reduced(
                Reduced::new(reduced.name, w, q, laws).expect("the same problem in another order"),
            )
        }
    }
}

fn bench(
    arguments: &Arguments,
    path: &Path,
    published: &HashMap<String, (String, f64)>,
) -> Result<Row, String> {
    let input = load(path, None)?.input.true_friction();
    let input = match arguments.shuffled {
        Some(seed) => shuffled(input, seed),
        None => input,
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tolerance = Tolerance { relative: arguments.tolerance, ..Tolerance::default() };
    let residual = (!arguments.joules).then_some(arguments.tolerance);
    let (mut ms, mut last, mut solves, first) = (f64::INFINITY, None, 0.0, processor_ms());
    let beginning = Instant::now();
    while solves < f64::from(arguments.repeat.max(1))
        || beginning.elapsed().as_millis() < u128::from(arguments.repeat) * 10
    {
        // Cold: a new solver and no guess, every time.
        let mut solution = Solution::zero(input.n(), input.rows());
        let begin = Instant::now();
        let deadline = arguments.deadline_ms.map(|ms| begin + Duration::from_millis(ms));
        let settings = Settings {
            stop: StoppingCriteria { tolerance, work: arguments.work, deadline, history: false },
            residual,
        };
        let mut newton = Newton::new(settings);
        let report =
            solve(&mut newton, &input, &mut solution).map_err(|e| format!("{file}: {e}"))?;
        ms = ms.min(1e3 * begin.elapsed().as_secs_f64());
        last = Some((newton, report, solution));
        solves += 1.0;
        if ms > 1000.0 {
            break;
        }
    }
    // On a busy machine the mean of the processor's time is nearer to the truth than the wall's
    // least.
    if let (Some(begin), Some(end)) = (first, processor_ms()) {
        ms = ms.min((end - begin) / solves);
    }
    let Some((mut newton, report, solution)) = last else {
        return Err("nothing was solved".into());
    };
    let siconos = match &input {
        Input::Problem(problem) => literature::of(problem, &solution).siconos,
        Input::Reduced(reduced) => literature::of_reduced(reduced, &solution.r).siconos,
    };
    let unique = newton.unique();
    let count = |branch: Branch| newton.contacts().iter().filter(|c| c.branch == branch).count();
    let best = published.get(&file);
    Ok(Row {
        contacts: input
            .laws()
            .iter()
            .filter(|law| **law != signorini::problem::Law::Equality)
            .count(),
        status: format!("{:?}", report.status).to_lowercase(),
        siconos,
        relative: report.error.relative(),
        sweeps: report.counts.sweeps,
        factorizations: report.counts.factorizations,
        updates: report.counts.updates,
        wanted: (!published.is_empty() && arguments.tolerance >= 1e-8).then(|| wanted(&file)),
        ms,
        outer: report.counts.outer,
        phase: report.remarks().join("; "),
        open: count(Branch::Open),
        stick: count(Branch::Stick),
        slip: count(Branch::Slip),
        velocity: report.error.velocity,
        unique,
        best_ms: best.map(|b| b.1),
        best: best.map_or(String::new(), |b| b.0.clone()),
        file,
    })
}
