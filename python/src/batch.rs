//! Many simulations at once.

use crate::errors::detached;
use crate::simulation::{Simulation, Verdict, taken};
use crate::views::Shared;
use pyo3::prelude::*;
use rayon::prelude::*;

/// Steps all of them `steps` times, on all cores; the last verdicts, in their order. The first error ends it: each
/// simulation then stands where its own last step left it.
#[pyfunction]
pub fn step_all(py: Python<'_>, simulations: Vec<PyRef<'_, Simulation>>, steps: u32) -> PyResult<Vec<Verdict>> {
    let shared: Vec<Shared> = simulations.iter().map(|s| s.inner.clone()).collect();
    drop(simulations);
    detached(py, || {
        let one = |shared: &Shared| {
            crate::errors::caught(|| {
                let mut sim = taken(shared)?;
                let mut verdict = sim.step()?;
                for _ in 1..steps {
                    verdict = sim.step()?;
                }
                Ok(Verdict::of(&sim, &verdict))
            })
        };
        let results: Vec<_> = shared.par_iter().map(one).collect();
        results.into_iter().collect()
    })
}
