//! Controllers that run without the interpreter: a C function between what is observed and what is set.

use crate::errors::Failure;
use signorini::SimulationError;
use signorini::prelude::{Figure, Input, Scene};

/// `void control(double time, const double *observed, double *action)`: from `numba.cfunc`, `ctypes` or a C library.
pub type Compiled = extern "C" fn(f64, *const f64, *mut f64);

/// What acts before a step.
#[derive(Clone)]
pub struct Controller {
    observe: Vec<Figure>,
    act: Vec<Input>,
    names: Vec<String>,
    law: Compiled,
    /// Time between two calls, s; 0 is every step.
    every: f64,
    /// How many calls are due at the present time were made.
    calls: u64,
    observed: Vec<f64>,
    action: Vec<f64>,
}

impl Controller {
    /// A controller with the C function at this address.
    #[allow(unsafe_code)]
    pub fn compiled(scene: &Scene, address: usize, observe: &[String], act: &[String], every: f64) -> Result<Controller, Failure> {
        if address == 0 {
            return Err(Failure::Named("InputError", "the address of the controller is 0".into()));
        }
        // SAFETY: whoever gives the address says that a function of this signature is there and stays there; the Python side keeps
        // the object that owns it.
        let law = unsafe { std::mem::transmute::<usize, Compiled>(address) };
        let observe = observe.iter().map(|name| Figure::named(name, scene)).collect::<Result<Vec<_>, _>>()?;
        let inputs = act.iter().map(|name| Input::named(name, scene)).collect::<Result<Vec<_>, _>>()?;
        let size = observe.iter().map(Figure::size).sum();
        Ok(Controller {
            observed: vec![0.0; size],
            action: vec![0.0; inputs.len()],
            observe,
            act: inputs,
            names: act.to_vec(),
            law,
            every,
            calls: 0,
        })
    }

    /// Observes, computes and sets, if it is time.
    pub fn act(&mut self, sim: &mut signorini::Simulation) -> Result<(), SimulationError> {
        if self.every > 0.0 {
            // To within a billionth of a step, as a run ends.
            let due = ((sim.time() + 1e-9 * sim.settings().h) / self.every).floor() as u64 + 1;
            if due == self.calls {
                return Ok(());
            }
            self.calls = due;
        }
        let mut first = 0;
        for figure in &self.observe {
            figure.read(sim, &mut self.observed[first..]);
            first += figure.size();
        }
        self.action.fill(0.0);
        (self.law)(sim.time(), self.observed.as_ptr(), self.action.as_mut_ptr());
        for ((input, name), value) in self.act.iter().zip(&self.names).zip(&self.action) {
            input.set(sim, *value).map_err(|e| SimulationError::Input {
                what: "controller of",
                name: name.clone(),
                why: format!("at t = {} s: {e}", sim.time()),
            })?;
        }
        Ok(())
    }
}
