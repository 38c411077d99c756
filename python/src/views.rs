//! Arrays that look into the engine's memory.

use crate::control::Controller;
use numpy::ndarray::ArrayView;
use numpy::{IxDyn, PyArray, PyArrayMethods};
use pyo3::prelude::*;
use signorini::SimulationError;
use signorini::step::Verdict;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

/// A simulation and what steers it.
pub struct Held {
    sim: signorini::Simulation,
    pub controllers: Vec<Controller>,
}

impl Held {
    pub fn new(sim: signorini::Simulation) -> Held {
        Held { sim, controllers: Vec::new() }
    }

    /// Lets the controllers act, then takes a step.
    pub fn advance(&mut self) -> Result<Verdict, SimulationError> {
        for controller in &mut self.controllers {
            controller.act(&mut self.sim)?;
        }
        self.sim.step()
    }
}

impl Deref for Held {
    type Target = signorini::Simulation;
    fn deref(&self) -> &signorini::Simulation {
        &self.sim
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut signorini::Simulation {
        &mut self.sim
    }
}

/// A simulation that several may hold.
pub type Shared = Arc<Mutex<Held>>;

/// Keeps the memory of a simulation alive as long as an array looks into it.
#[pyclass(frozen, module = "signorini._engine")]
pub struct Memory {
    _of: Shared,
}

/// A read-only array over `data`, which lies in the memory of `owner`.
///
/// The slices of [`signorini::simulation::StateView`] keep their place in memory as long as the
/// simulation lives.
#[allow(unsafe_code)]
pub fn view<'py>(
    py: Python<'py>,
    owner: &Shared,
    data: &[f64],
    shape: &[usize],
) -> PyResult<Bound<'py, PyArray<f64, IxDyn>>> {
    let over = ArrayView::from_shape(IxDyn(shape), data).expect("the shape fits the data");
    let base = Bound::new(py, Memory { _of: owner.clone() })?.into_any();
    // SAFETY: the simulation that `data` lies in is kept alive by `base`, and never moves these
    // lists: they get their length when it is made.
    let array = unsafe { PyArray::borrow_from_array(&over, base) };
    drop(array.readwrite().make_nonwriteable());
    Ok(array)
}
