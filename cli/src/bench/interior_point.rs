//! `signorini bench interior-point`.

use signorini::problem::files::Input;
use signorini::problem::{Solution, Tolerance};
use signorini::solve::interior_point::{InteriorPoint, Settings, Warm};
use signorini::solve::{Solver, Stop};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `bench interior-point`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Problems to judge.
    files: Vec<PathBuf>,
    #[arg(long)]
    coulomb: bool,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    let stop = Stop { tolerance: Tolerance { relative: 1e-10, velocity: 1e-8 }, ..Stop::default() };
    let (mut count, mut sum, mut most) = (0, 0, 0);
    for path in &arguments.files {
        let stored = crate::fclib::read(path).unwrap();
        let Input::Problem(p) = stored.input else { continue };
        let p = if arguments.coulomb { p.true_friction() } else { p.associated() };
        let mut method = InteriorPoint::new(Settings { stop, warm: Warm::Best });
        let mut s = Solution::zero(p.n(), p.rows());
        let begin = std::time::Instant::now();
        let report = method.solve(&p, &mut s).unwrap();
        let time = begin.elapsed().as_secs_f64();
        let reference = stored.solution.unwrap();
        let dv = s.v.iter().zip(&reference.v).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        count += 1;
        sum += report.work;
        most = most.max(report.work);
        println!(
            "{:34} {:10} fact {:3} outer {:3} rel {:.1e} vel {:.1e} bound {:.1e} mv {:.1e} dv {:.1e} {:8.2} ms {:?}",
            p.name,
            format!("{:?}", report.status),
            report.work,
            report.counts.outer,
            report.error.relative(),
            report.error.velocity,
            report.error.bound_relative(),
            report.error.momentum_velocity,
            dv,
            1e3 * time,
            report.notes
        );
    }
    println!("{count} problems, mean {:.2}, most {most}", sum as f64 / count as f64);
    ExitCode::SUCCESS
}
