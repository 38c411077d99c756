//! Many simulations at once.

use crate::errors::{Failure, detached};
use crate::simulation::{Simulation, taken};
use crate::verdict::Verdict;
use crate::views::Shared;
use numpy::{IxDyn, PyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;
use signorini::prelude::{Figure, Input};

/// Steps all of them `steps` times, on all cores; the last verdicts, in their order. The first
/// error ends it: each simulation then stands where its own last step left it.
#[pyfunction]
pub fn step_all(
    py: Python<'_>,
    simulations: Vec<PyRef<'_, Simulation>>,
    steps: u32,
) -> PyResult<Vec<Verdict>> {
    let shared: Vec<Shared> = simulations.iter().map(|s| s.inner.clone()).collect();
    drop(simulations);
    detached(py, || {
        let one = |shared: &Shared| {
            crate::errors::caught(|| {
                let mut sim = taken(shared)?;
                let mut verdict = sim.advance()?;
                for _ in 1..steps {
                    verdict = sim.advance()?;
                }
                Ok(Verdict::of(&sim, &verdict))
            })
        };
        let results: Vec<_> = shared.par_iter().map(one).collect();
        results.into_iter().collect()
    })
}

/// A figure of every simulation of a batch, as rows of one array.
#[pyclass(frozen, module = "signorini._engine")]
pub struct Watch {
    of: Vec<Shared>,
    figures: Vec<Figure>,
    /// One row per simulation.
    #[pyo3(get)]
    array: Py<PyArray<f64, IxDyn>>,
}

#[pymethods]
impl Watch {
    /// The figures of these names, one after the other; `rows`: with one row per simulation, else
    /// of the only one.
    #[new]
    fn new(
        py: Python<'_>,
        simulations: Vec<PyRef<'_, Simulation>>,
        names: Vec<String>,
        rows: bool,
    ) -> PyResult<Watch> {
        let of: Vec<Shared> = simulations.iter().map(|s| s.inner.clone()).collect();
        let Some(first) = simulations.first() else {
            return Err(
                Failure::Named("InputError", "wanted at least one simulation".into()).raise(py)
            );
        };
        let held = first.held(py)?;
        let figures = names
            .iter()
            .map(|name| Figure::named(name, held.scene()))
            .collect::<Result<Vec<_>, _>>();
        drop(held);
        let figures = figures.map_err(|e| Failure::from(e).raise(py))?;
        let size: usize = figures.iter().map(Figure::size).sum();
        let mut shape = if rows { vec![of.len()] } else { Vec::new() };
        if size != 1 || names.len() != 1 {
            shape.push(size);
        }
        let array = PyArray::zeros(py, IxDyn(&shape), false).unbind();
        let watch = Watch { of, figures, array };
        watch.update(py)?;
        Ok(watch)
    }

    /// Brings the array up to date.
    fn update(&self, py: Python<'_>) -> PyResult<()> {
        let array = self.array.bind(py);
        let Ok(mut array) = array.try_readwrite() else {
            return Err(Failure::Named(
                "InputError",
                "the array is being changed elsewhere".into(),
            )
            .raise(py));
        };
        let Ok(mut rest) = array.as_slice_mut() else { unreachable!("it was made contiguous") };
        for shared in &self.of {
            let sim = crate::simulation::held(py, shared)?;
            for figure in &self.figures {
                figure.read(&sim, rest);
                rest = &mut rest[figure.size()..];
            }
        }
        Ok(())
    }
}

/// An input of every simulation of a batch, as one array; NaN leaves it as it is.
#[pyclass(module = "signorini._engine")]
pub struct Feed {
    of: Vec<Shared>,
    input: Input,
    #[pyo3(get)]
    array: Py<PyArray1<f64>>,
    last: Vec<f64>,
}

#[pymethods]
impl Feed {
    /// The input of this name; the array begins with its present values where they are known.
    #[new]
    fn new(py: Python<'_>, simulations: Vec<PyRef<'_, Simulation>>, name: &str) -> PyResult<Feed> {
        let of: Vec<Shared> = simulations.iter().map(|s| s.inner.clone()).collect();
        let Some(first) = simulations.first() else {
            return Err(
                Failure::Named("InputError", "wanted at least one simulation".into()).raise(py)
            );
        };
        let held = first.held(py)?;
        let input = Input::named(name, held.scene()).map_err(|e| Failure::from(e).raise(py))?;
        // What a material is can be read; what a motor was told cannot.
        let figure =
            if name.starts_with("motor.") { None } else { Figure::named(name, held.scene()).ok() };
        drop(held);
        let mut last = Vec::new();
        for shared in &of {
            let sim = crate::simulation::held(py, shared)?;
            last.push(figure.map_or(f64::NAN, |f| f.values(&sim)[0]));
        }
        Ok(Feed { of, input, array: PyArray1::from_slice(py, &last).unbind(), last })
    }

    /// Sets what was changed since the last time.
    fn apply(&mut self, py: Python<'_>) -> PyResult<()> {
        let array = self.array.bind(py).readonly();
        let Ok(now) = array.as_slice() else { unreachable!("it was made contiguous") };
        for ((shared, value), last) in self.of.iter().zip(now).zip(&mut self.last) {
            if value.is_nan() || value == last {
                continue;
            }
            let mut sim = crate::simulation::held(py, shared)?;
            self.input.set(&mut sim, *value).map_err(|e| Failure::from(e).raise(py))?;
            *last = *value;
        }
        Ok(())
    }
}
