//! The module behind `import signorini`: thin classes around the library.
//!
//! What a Python user sees is written in Python (`signorini/`); here is what needs the engine:
//! calls that give up the interpreter's lock while the engine works, arrays that look into its
//! memory, and errors under their names.

mod arrays;
mod batch;
mod control;
mod errors;
mod look;
mod method;
mod problem;
mod scene;
mod simulation;
mod solution;
mod sweep;
mod verdict;
mod views;

use pyo3::prelude::*;
use std::process::ExitCode;

/// Runs the command line; returns its exit code.
#[pyfunction]
fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    let code = py.detach(|| signorini_cli::command::main(arguments));
    (0..=u8::MAX).find(|n| ExitCode::from(*n) == code).unwrap_or(1)
}

/// The engine.
#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::keep_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add(
        "SOLVERS",
        signorini::solve::Method::ALL.iter().map(|m| m.name()).collect::<Vec<_>>(),
    )?;
    module.add(
        "SCENES",
        signorini::files::builtin::SCENES.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
    )?;
    module.add_class::<scene::Scene>()?;
    module.add_class::<simulation::Simulation>()?;
    module.add_class::<verdict::Verdict>()?;
    module.add_class::<problem::Problem>()?;
    module.add_class::<solution::Solution>()?;
    module.add_class::<views::Memory>()?;
    module.add_class::<batch::Watch>()?;
    module.add_class::<batch::Feed>()?;
    module.add_class::<look::Record>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(scene::volume, module)?)?;
    module.add_function(wrap_pyfunction!(batch::step_all, module)?)?;
    module.add_function(wrap_pyfunction!(problem::read_problem, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_samples, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_key, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_row, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep_table, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::write_row, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::drive, module)?)?;
    Ok(())
}
