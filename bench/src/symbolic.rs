//! `signorini bench symbolic`: operations and time of constrained accelerations, beside the
//! published figures (SymbolicQR).
//!
//! Operations of R are counted as published: Givens rotations (dense: 3n²(m − n/3)); beside them
//! stands the count of the method in use, reflections. Where columns depend on others, R of all
//! columns is counted by the pattern alone, as the paper does: its dependent pivots vanish in
//! numbers, and the second QR of the paper (eq. 16, 17) comes on top. R of the independent columns
//! is complete, and takes more operations for that reason.
//!
//! Times are the best of several repeats on one thread; the dense twin shares the tape that
//! evaluates G, u and f.

use serde::Serialize;
use signorini::mechanism::dense::Dense;
use signorini::mechanism::procedures::{count, procedures};
use signorini::mechanism::{Method, Program, Settings, Simulation};
use signorini::symbolic::Tape;
use signorini::symbolic::export::Language;
use signorini_files::builtin::built_in;
use signorini_files::codegen::source;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Options of `bench symbolic`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Leave out the back ends that need a compiler.
    #[arg(long)]
    no_compilers: bool,
}

#[derive(Serialize)]
pub(crate) struct ChainRow {
    pub(crate) m: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) flops: usize,
    pub(crate) reflections: usize,
    pub(crate) dense_flops: f64,
    pub(crate) paper_flops: Option<usize>,
    pub(crate) us: f64,
    pub(crate) dense_us: Option<f64>,
    pub(crate) speedup_vs_dense: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct Manipulator {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) rank: usize,
    pub(crate) density: f64,
    pub(crate) paper_density: f64,
    pub(crate) flops: usize,
    pub(crate) paper_flops: usize,
    pub(crate) reflections: usize,
    pub(crate) dense_flops: f64,
    pub(crate) independent_flops: usize,
    pub(crate) independent_reflections: usize,
    pub(crate) us: f64,
    pub(crate) dense_us: f64,
    pub(crate) speedup_vs_dense: f64,
    pub(crate) real_time_factor: f64,
    pub(crate) stabilised_real_time_factor: f64,
    pub(crate) energy_error: f64,
    pub(crate) unstabilised_energy_error: f64,
    pub(crate) drift: f64,
    pub(crate) unstabilised_drift: f64,
}

#[derive(Serialize)]
struct BackEnd {
    name: &'static str,
    us: f64,
    prepare_ms: f64,
    /// Evaluations after which its time, preparation included, is less than that of the first; none
    /// if never.
    pays_after: Option<f64>,
}

impl BackEnd {
    fn new(name: &'static str, us: f64, prepare_ms: f64) -> BackEnd {
        BackEnd { name, us, prepare_ms, pays_after: None }
    }
}

#[derive(Serialize)]
struct ProcedureRow {
    name: &'static str,
    flops: usize,
    dense_flops: f64,
    constants: usize,
    memory: usize,
}

#[derive(Serialize)]
struct Figures {
    chain: Vec<ChainRow>,
    chain_exponent: f64,
    manipulator: Manipulator,
    procedures: Vec<ProcedureRow>,
    backends: Vec<BackEnd>,
    /// Back ends that could not be measured, and why.
    skipped: Vec<String>,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    let figures = match figures(!arguments.no_compilers) {
        Ok(figures) => figures,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    if arguments.json {
        println!("{}", serde_json::to_string(&figures).expect("plain numbers"));
    } else {
        print(&figures);
    }
    ExitCode::SUCCESS
}

fn figures(compilers: bool) -> Result<Figures, String> {
    let sizes = [4, 8, 16, 32, 64, 128, 256];
    let chain: Vec<ChainRow> = sizes.into_iter().map(chain_row).collect::<Result<_, _>>()?;
    let first = &chain[0];
    let last = &chain[chain.len() - 1];
    let chain_exponent =
        (last.flops as f64 / first.flops as f64).ln() / (last.m as f64 / first.m as f64).ln();
    let (mut simulation, manipulator, procedures) = manipulator()?;
    let (backends, skipped) =
        backends(&mut simulation, (manipulator.us, manipulator.dense_us), compilers);
    Ok(Figures { chain, chain_exponent, manipulator, procedures, backends, skipped })
}

fn print(figures: &Figures) {
    println!(
        "double insulator chain: operations of R (Givens convention) and time of one evaluation"
    );
    println!(
        "    m      A (rows x cols)    ours   paper      dense   reflections      us   dense us   \
            ratio"
    );
    for c in &figures.chain {
        let optional =
            |x: Option<f64>, digits: usize| x.map_or("-".into(), |x| format!("{x:.digits$}"));
        println!(
            "{:5} {:>12} x {:<6} {:7} {:>7} {:10.0} {:13} {:7.1} {:>10} {:>7}",
            c.m,
            c.rows,
            c.cols,
            c.flops,
            c.paper_flops.map_or("-".into(), |p| p.to_string()),
            c.dense_flops,
            c.reflections,
            c.us,
            optional(c.dense_us, 1),
            optional(c.speedup_vs_dense, 1)
        );
    }
    println!("exponent of the operations from m = 4 to 256: {:.3}", figures.chain_exponent);
    let m = &figures.manipulator;
    println!(
        "\nmanipulator: A is {} x {}, rank {}, density {:.1} % (paper {:.1} %)",
        m.rows,
        m.cols,
        m.rank,
        100.0 * m.density,
        100.0 * m.paper_density
    );
    println!(
        "operations of R, all columns: {} (paper {}), dense {:.0}; by reflections {}",
        m.flops, m.paper_flops, m.dense_flops, m.reflections
    );
    println!(
        "operations of R, independent columns: {}; by reflections, as it is done: {}",
        m.independent_flops, m.independent_reflections
    );
    println!(
        "(all columns take fewer: by their pattern alone {} pivots look possible, and the {} that \
            vanish in numbers use up rows; the second QR that then follows is not counted)",
        m.rows,
        m.rows - m.rank
    );
    println!(
        "one evaluation: {:.2} us, dense {:.2} us: {:.1} times (the paper compares whole \
            simulations: 5.5)",
        m.us, m.dense_us, m.speedup_vs_dense
    );
    println!(
        "2 s at dt 0.01 s, Runge-Kutta 4: {:.0} times real time (stabilised {:.0}; paper 3.8)",
        m.real_time_factor, m.stabilised_real_time_factor
    );
    println!(
        "energy balance: {:.1e} J stabilised, {:.1e} J not; joints: {:.1e} and {:.1e}",
        m.energy_error, m.unstabilised_energy_error, m.drift, m.unstabilised_drift
    );
    println!("\nprocedure        flops      dense   constants   bytes");
    for p in &figures.procedures {
        println!(
            "{:14} {:7} {:10.0} {:11} {:7}",
            p.name, p.flops, p.dense_flops, p.constants, p.memory
        );
    }
    print_backends(&figures.backends, &figures.skipped);
}

fn print_backends(backends: &[BackEnd], skipped: &[String]) {
    println!("\none evaluation by back end          us   prepared in ms   pays after evaluations");
    for b in backends {
        let pays = b.pays_after.map_or("-".into(), |n| format!("{n:.0}"));
        println!("{:32} {:7.2} {:16.2} {pays:>16}", b.name, b.us, b.prepare_ms);
    }
    skipped.iter().for_each(|why| println!("not measured: {why}"));
    let Some(first) = backends.first() else { return };
    print!("in use: {}, ready in {:.1} ms", first.name, first.prepare_ms);
    let faster =
        backends.iter().filter(|b| b.pays_after.is_some()).min_by(|a, b| a.us.total_cmp(&b.us));
    match faster.and_then(|b| b.pays_after.map(|n| (b, n))) {
        // Four evaluations a step of 10 ms.
        Some((b, n)) => {
            println!(
                "; {} is {:.1} times faster and pays after {:.0} s of this motion: `signorini \
                    codegen`",
                b.name,
                first.us / b.us,
                n / 400.0
            );
        }
        None => println!("; nothing that was measured is faster"),
    }
}

/// The least time of a call, s.
fn best(mut call: impl FnMut()) -> f64 {
    call();
    let begin = Instant::now();
    call();
    let once = begin.elapsed().as_secs_f64().max(1e-7);
    let inner = ((2e-3 / once) as usize).clamp(1, 2000);
    let time = |call: &mut dyn FnMut()| {
        let begin = Instant::now();
        (0..inner).for_each(|_| call());
        begin.elapsed().as_secs_f64() / inner as f64
    };
    (0..15).map(|_| time(&mut call)).fold(f64::INFINITY, f64::min)
}

pub(crate) fn prepared(
    name: &str,
    set: &[String],
    settings: Option<Settings>,
) -> Result<Simulation, String> {
    let loaded = built_in(name, set).map_err(|f| f.to_string())?;
    Simulation::new(&loaded.scene, settings.unwrap_or_else(|| loaded.acceleration_settings()))
        .map_err(|e| e.to_string())
}

fn drives(simulation: &Simulation) -> Vec<f64> {
    simulation.equations.drives.iter().map(|f| f.value(simulation.time)).collect()
}

/// Seconds of one evaluation by the program.
fn evaluation(simulation: &mut Simulation) -> f64 {
    let (q, v, d) = (simulation.q.clone(), simulation.v.clone(), drives(simulation));
    let mut a = vec![0.0; v.len()];
    best(|| simulation.program.accelerations(&q, &v, &d, &mut a))
}

/// Seconds of one evaluation by the dense twin.
fn dense_evaluation(simulation: &Simulation) -> (f64, usize) {
    let mut dense = Dense::new(&simulation.equations);
    let d = drives(simulation);
    let mut a = vec![0.0; simulation.v.len()];
    let time = best(|| dense.accelerations(&simulation.q, &simulation.v, &d, &mut a));
    (time, dense.rank())
}

pub(crate) fn chain_row(m: usize) -> Result<ChainRow, String> {
    let mut simulation = prepared("insulator_chain", &[format!("links={m}")], None)?;
    let counted = count(&simulation.equations, &simulation.basis.kept);
    let us = 1e6 * evaluation(&mut simulation);
    // Dense beyond this takes longer than it tells.
    let dense_us = (m <= 64).then(|| 1e6 * dense_evaluation(&simulation).0);
    Ok(ChainRow {
        m,
        rows: counted.rows,
        cols: counted.columns,
        flops: counted.givens,
        reflections: counted.reflections,
        dense_flops: counted.dense,
        paper_flops: [(4, 5899), (8, 11651), (16, 23158)].iter().find(|p| p.0 == m).map(|p| p.1),
        us,
        dense_us,
        speedup_vs_dense: dense_us.map(|d| d / us),
    })
}

/// Energy missing at the end, largest gap, seconds: 2 s at 10 ms.
fn two_seconds(stabilised: bool) -> Result<(f64, f64, f64), String> {
    let settings = Settings { method: Method::Classical, stabilised, planar: true };
    let mut seconds = f64::INFINITY;
    for _ in 0..5 {
        let mut simulation = prepared("manipulator", &[], Some(settings))?;
        let begin = Instant::now();
        for _ in 0..200 {
            if stabilised {
                simulation.step(0.01).map_err(|e| e.to_string())?;
            } else {
                simulation.advance(0.01).map_err(|e| e.to_string())?;
            }
        }
        seconds = seconds.min(begin.elapsed().as_secs_f64());
    }
    let mut simulation = prepared("manipulator", &[], Some(settings))?;
    let begin = simulation.energy();
    let mut gap = 0.0f64;
    for _ in 0..200 {
        gap = gap.max(simulation.step(0.01).map_err(|e| e.to_string())?.left);
    }
    let end = simulation.energy();
    Ok((
        (end.kinetic + end.potential - begin.kinetic - begin.potential - end.work).abs(),
        gap,
        seconds,
    ))
}

/// The figures of the manipulator.
pub(crate) fn manipulator_figures() -> Result<Manipulator, String> {
    manipulator().map(|(_, figures, _)| figures)
}

fn manipulator() -> Result<(Simulation, Manipulator, Vec<ProcedureRow>), String> {
    let mut simulation = prepared("manipulator", &[], None)?;
    let all: Vec<usize> = (0..simulation.equations.rows.len()).collect();
    let whole = count(&simulation.equations, &all);
    let kept = simulation.basis.kept.clone();
    let independent = count(&simulation.equations, &kept);
    // A configuration along the motion, not the special one of the beginning.
    for _ in 0..50 {
        simulation.advance(0.01).map_err(|e| e.to_string())?;
    }
    let seconds = evaluation(&mut simulation);
    let (dense, rank) = dense_evaluation(&simulation);
    let (energy_error, drift, stabilised) = two_seconds(true)?;
    let (unstabilised_energy_error, unstabilised_drift, unstabilised) = two_seconds(false)?;
    let list = procedures(&mut simulation.equations, &kept);
    let row = |p: &signorini::mechanism::procedures::Procedure| ProcedureRow {
        name: p.name,
        flops: p.flops(),
        dense_flops: p.dense,
        constants: p.constants,
        memory: p.memory(),
    };
    let figures = Manipulator {
        rows: whole.rows,
        cols: whole.columns,
        rank,
        density: whole.entries as f64 / (whole.rows * whole.columns) as f64,
        paper_density: 0.176,
        flops: whole.givens,
        paper_flops: 34916,
        reflections: whole.reflections,
        dense_flops: whole.dense,
        independent_flops: independent.givens,
        independent_reflections: independent.reflections,
        us: 1e6 * seconds,
        dense_us: 1e6 * dense,
        speedup_vs_dense: dense / seconds,
        real_time_factor: 2.0 / unstabilised,
        stabilised_real_time_factor: 2.0 / stabilised,
        energy_error,
        unstabilised_energy_error,
        drift,
        unstabilised_drift,
    };
    Ok((simulation, figures, list.iter().map(row).collect()))
}

/// Every back end that this machine can run, the one in use first; and those that it cannot.
fn backends(
    simulation: &mut Simulation,
    (us, dense_us): (f64, f64),
    compilers: bool,
) -> (Vec<BackEnd>, Vec<String>) {
    let kept = simulation.basis.kept.clone();
    let mut equations = simulation.equations.clone();
    let prepare = 1e3 * best(|| drop(Program::new(&mut equations, &kept)));
    let dense = 1e3 * best(|| drop(Dense::new(&simulation.equations)));
    let mut out = vec![
        BackEnd::new("tape and flat lists", us, prepare),
        scalar_tape(simulation, &kept),
        BackEnd::new("dense twin", dense_us, dense),
    ];
    let mut skipped = Vec::new();
    for compiler in COMPILERS {
        match if compilers { compiled(&compiler) } else { Err("left out by --no-compilers".into()) }
        {
            Ok(backend) => out.push(backend),
            Err(why) => skipped.push(format!("{}: {why}", compiler.name)),
        }
    }
    for b in &mut out[1..] {
        b.pays_after = (b.us < us).then(|| 1e3 * (b.prepare_ms - prepare) / (us - b.us));
    }
    (out, skipped)
}

/// How exported source becomes a program.
struct Compiler {
    name: &'static str,
    emit: Language,
    program: &'static str,
    words: &'static [&'static str],
}

const COMPILERS: [Compiler; 3] = [
    Compiler {
        name: "C99, cc -O2",
        emit: Language::C,
        program: "cc",
        words: &[
            "-std=c99",
            "-O2",
            "-DMANIPULATOR_SELF_TEST",
            "manipulator.c",
            "-lm",
            "-o",
            "program",
        ],
    },
    Compiler {
        name: "C99, cc -O1",
        emit: Language::C,
        program: "cc",
        words: &[
            "-std=c99",
            "-O1",
            "-DMANIPULATOR_SELF_TEST",
            "manipulator.c",
            "-lm",
            "-o",
            "program",
        ],
    },
    Compiler {
        name: "Rust, rustc opt-level 1",
        emit: Language::Rust,
        program: "rustc",
        words: &[
            "--edition",
            "2021",
            "-C",
            "opt-level=1",
            "--cfg",
            "self_test",
            "manipulator.rs",
            "-o",
            "program",
        ],
    },
];

/// Everything, R included, on one tape of single operations.
fn scalar_tape(simulation: &Simulation, kept: &[usize]) -> BackEnd {
    let begin = Instant::now();
    let mut equations = simulation.equations.clone();
    let outputs = signorini::mechanism::emit::unrolled(&mut equations, kept);
    let tape = Tape::compile(&equations.graph, &outputs, equations.inputs(), &[]);
    let prepare_ms = 1e3 * begin.elapsed().as_secs_f64();
    let mut work = tape.work();
    let (q, v, d) = (&simulation.q, &simulation.v, drives(simulation));
    let inputs: Vec<f64> = q.iter().chain(v).chain(&d).copied().collect();
    let us = 1e6
        * best(|| {
            tape.inputs(&mut work).copy_from_slice(&inputs);
            tape.run(0, &mut work);
        });
    BackEnd::new("tape of single operations", us, prepare_ms)
}

/// Exports, compiles, times; the folder is gone afterwards.
fn compiled(compiler: &Compiler) -> Result<BackEnd, String> {
    let folder = std::env::temp_dir().join(format!("signorini-symbolic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let result = compiled_in(&folder, compiler);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn compiled_in(folder: &Path, compiler: &Compiler) -> Result<BackEnd, String> {
    let begin = Instant::now();
    let source =
        source(&built_in("manipulator", &[]).map_err(|f| f.to_string())?, compiler.emit, 5)?;
    for (file, text) in &source.files {
        std::fs::write(folder.join(file), text).map_err(|e| format!("{file}: {e}"))?;
    }
    let built = Command::new(compiler.program).args(compiler.words).current_dir(folder).output();
    let done =
        built.map_err(|e| format!("no compiler `{}` on the path ({e})", compiler.program))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(format!(
            "`{}` refused it: {}",
            compiler.program,
            said.lines().next().unwrap_or("without a word")
        ));
    }
    let prepare_ms = 1e3 * begin.elapsed().as_secs_f64();
    let mut us = f64::INFINITY;
    for _ in 0..5 {
        let output =
            Command::new(folder.join("program")).arg("5000").output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = text
            .lines()
            .find(|l| l.contains(" us"))
            .and_then(|l| l.split_whitespace().next()?.parse().ok());
        us = us.min(said.ok_or_else(|| format!("its self-test said: {}", text.trim()))?);
    }
    Ok(BackEnd::new(compiler.name, us, prepare_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use signorini::symbolic::pattern::Pattern;

    /// Why R of all columns takes fewer operations than R of the independent ones: by their pattern
    /// some dependent columns look independent, and use up rows whose entries vanish in numbers.
    #[test]
    fn dependent_columns_take_pivots_that_vanish() {
        let simulation = prepared("manipulator", &[], None).expect("the scene is built in");
        let e = &simulation.equations;
        let entries: Vec<(u32, u32)> = e.a.iter().map(|x| x.0).collect();
        let pattern = Pattern::analyse(e.coordinates.velocities(), e.rows.len(), &entries);
        let pivots: Vec<usize> = pattern
            .steps
            .iter()
            .filter(|step| step.last && !step.rows.is_empty())
            .map(|step| step.column as usize)
            .collect();
        let dependent = pivots.iter().filter(|p| simulation.basis.dropped.contains(p)).count();
        assert_eq!((pivots.len(), simulation.basis.kept.len()), (42, 39));
        assert!(dependent >= 3, "{dependent} of {:?}", simulation.basis.dropped);
        let all: Vec<usize> = (0..e.rows.len()).collect();
        let (whole, part) = (count(e, &all), count(e, &simulation.basis.kept));
        assert!(whole.givens < part.givens && whole.reflections < part.reflections);
    }
}
