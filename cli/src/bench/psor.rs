//! `signorini bench psor`.

use std::process::ExitCode;

/// Options of `bench psor`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Problems to judge.
    files: Vec<std::path::PathBuf>,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    for path in &arguments.files {
        let stored = crate::fclib::read(path).unwrap();
        let signorini::problem::files::Input::Problem(p) = stored.input else { continue };
        let p = p.associated();
        p.check().unwrap();
        let mut judge = signorini::problem::Judge::of(&p).unwrap();
        let s = stored.solution.unwrap();
        let e = judge.error_against(&p, &s, Some(&s.r));
        let e2 = judge.error(&p, &s);
        println!(
            "{:40} rel {:.2e} scale {:.2e} bound {:.2e} est {:.2e} vel {:.2e} mom {:.2e} mv {:.2e}",
            p.name,
            e.relative(),
            e.scale,
            e.bound_relative(),
            e2.bound_relative(),
            e.velocity,
            e.momentum,
            e.momentum_velocity
        );
    }
    ExitCode::SUCCESS
}
