//! Sweeps: samples, runs and rows as the command line has them.

use crate::errors::{Failure, caught, parsed};
use crate::simulation::{Simulation, taken};
use pyo3::prelude::*;
use serde_json::Value as Json;
use signorini_cli::sweep::samples::{self, Range, Sample, Spread};
use signorini_cli::sweep::task::{Row, Task, Unfinished};
use signorini_cli::sweep::{key, table, task};
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn wrong(text: String) -> Failure {
    Failure::Named("InputError", text)
}

/// A parameter, its spread (`uniform` or `normal`) and two numbers.
type RangeParts = (String, String, f64, f64);

/// Samples by seed (`latin` or `random`), as a list in JSON.
#[pyfunction]
#[pyo3(name = "_samples")]
pub fn sweep_samples(
    py: Python<'_>,
    kind: &str,
    ranges: Vec<RangeParts>,
    n: usize,
    seed: u64,
) -> PyResult<String> {
    let range = |(name, spread, a, b): RangeParts| Range {
        name,
        spread: if spread == "normal" { Spread::Normal(a, b) } else { Spread::Uniform(a, b) },
    };
    let ranges: Vec<Range> = ranges.into_iter().map(range).collect();
    let found = match kind {
        "latin" => samples::latin_hypercube(&ranges, n, seed),
        _ => samples::monte_carlo(&ranges, n, seed),
    };
    let found = found.map_err(|e| wrong(e).raise(py))?;
    Ok(Json::Array(found.into_iter().map(Json::Object).collect()).to_string())
}

/// What a run is called by everything that it depends on.
#[pyfunction]
#[pyo3(name = "_sweep_key")]
pub fn sweep_key(text: &str) -> String {
    key(text)
}

/// The row of a run that is finished, as JSON; none if it is not.
#[pyfunction]
#[pyo3(name = "_sweep_row")]
pub fn sweep_row(folder: PathBuf, key: &str) -> Option<String> {
    Row::read(&folder, key).and_then(|row| serde_json::to_string(&row).ok())
}

/// Rows (JSON, a list) as CSV.
#[pyfunction]
#[pyo3(name = "_sweep_table")]
pub fn sweep_table(py: Python<'_>, rows: &str) -> PyResult<String> {
    let rows: Vec<Row> = parsed("rows", rows).map_err(|e| e.raise(py))?;
    Ok(table(&rows.iter().collect::<Vec<_>>()))
}

/// A run is finished: its row is kept, its checkpoint goes.
#[pyfunction]
#[pyo3(name = "_write_row")]
pub fn write_row(py: Python<'_>, folder: PathBuf, row: &str) -> PyResult<()> {
    let row: Row = parsed("row", row).map_err(|e| e.raise(py))?;
    row.write(&folder).map_err(|e| Failure::Named("RecordError", e).raise(py))
}

/// So long the engine works before Python is asked whether Ctrl-C was pressed.
const TIME_BETWEEN_SIGNAL_CHECKS: Duration = Duration::from_millis(50);

/// Takes a simulation to the end of its run; its row as JSON. Ctrl-C leaves a checkpoint.
#[pyfunction]
#[pyo3(name = "_drive")]
#[allow(clippy::too_many_arguments)]
pub fn drive(
    py: Python<'_>,
    simulation: PyRef<'_, Simulation>,
    key: String,
    params: &str,
    t_end: f64,
    measure: Vec<String>,
    folder: Option<PathBuf>,
    checkpoint: f64,
) -> PyResult<String> {
    let params: Sample = parsed("parameters", params).map_err(|e| e.raise(py))?;
    let task = Task { key, params, t_end, measure, folder, checkpoint };
    let shared = simulation.inner.clone();
    drop(simulation);
    let mut signal: Option<PyErr> = None;
    let result = py.detach(|| {
        let mut asked = Instant::now();
        caught(|| {
            let mut sim = taken(&shared)?;
            let mut go_on = || {
                if asked.elapsed() < TIME_BETWEEN_SIGNAL_CHECKS {
                    return true;
                }
                asked = Instant::now();
                signal = Python::attach(|py| py.check_signals()).err();
                signal.is_none()
            };
            Ok(task::drive(&mut sim, &task, &mut go_on))
        })
    });
    match result.map_err(|e| e.raise(py))? {
        Ok(row) => Ok(serde_json::to_string(&row).expect("a row can be written")),
        Err(Unfinished::Disk(why)) => Err(Failure::Named("RecordError", why).raise(py)),
        Err(Unfinished::Stopped) => {
            Err(signal
                .unwrap_or_else(|| Failure::Named("InternalError", "stopped".into()).raise(py)))
        }
    }
}
