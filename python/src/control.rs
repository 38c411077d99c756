//! Controllers that run without the interpreter: a C function or formulas between what is observed
//! and what is set.

use crate::errors::Failure;
use signorini::SimulationError;
use signorini::prelude::{Figure, Input, Scene};
use signorini::scene::Formula;

/// `void control(double time, const double *observed, double *action)`: from `numba.cfunc`,
/// `ctypes` or a C library.
pub type Compiled = extern "C" fn(f64, *const f64, *mut f64);

/// How a controller comes to what it sets.
#[derive(Clone)]
enum Law {
    /// By a C function of these figures.
    Compiled(Compiled, Vec<Figure>),
    /// By one formula for each.
    Formulas(Vec<Formula>),
}

/// What acts before a step.
#[derive(Clone)]
pub struct Controller {
    act: Vec<Input>,
    names: Vec<String>,
    law: Law,
    /// Time between two calls, s; 0 is every step.
    every: f64,
    /// How many samples were due at the last one.
    samples: u64,
    observed: Vec<f64>,
    action: Vec<f64>,
}

impl Controller {
    /// A controller with the C function at this address.
    #[allow(unsafe_code)]
    pub fn compiled(
        scene: &Scene,
        address: usize,
        observe: &[String],
        act: &[String],
        every: f64,
    ) -> Result<Controller, Failure> {
        if address == 0 {
            return Err(Failure::Named("InputError", "the address of the controller is 0".into()));
        }
        // SAFETY: whoever gives the address says that a function of this signature is there and
        // stays there; the Python side keeps the object that owns it.
        let law = unsafe { std::mem::transmute::<usize, Compiled>(address) };
        let observe =
            observe.iter().map(|name| Figure::named(name, scene)).collect::<Result<Vec<_>, _>>()?;
        Controller::new(scene, Law::Compiled(law, observe), act, every)
    }

    /// A controller with one formula for each input.
    pub fn formulas(
        scene: &Scene,
        act: &[String],
        formulas: Vec<Formula>,
        every: f64,
    ) -> Result<Controller, Failure> {
        Controller::new(scene, Law::Formulas(formulas), act, every)
    }

    fn new(scene: &Scene, law: Law, act: &[String], every: f64) -> Result<Controller, Failure> {
        let inputs =
            act.iter().map(|name| Input::named(name, scene)).collect::<Result<Vec<_>, _>>()?;
        let size = if let Law::Compiled(_, observe) = &law {
            observe.iter().map(Figure::size).sum()
        } else {
            0
        };
        let (observed, action) = (vec![0.0; size], vec![0.0; inputs.len()]);
        Ok(Controller {
            act: inputs,
            names: act.to_vec(),
            law,
            every,
            samples: 0,
            observed,
            action,
        })
    }

    /// Observes, computes and sets, if it is time.
    pub fn act(&mut self, sim: &mut signorini::Simulation) -> Result<(), SimulationError> {
        if self.every > 0.0 {
            // To within a billionth of a step, as a run ends.
            let due = ((sim.time() + 1e-9 * sim.settings().h) / self.every).floor() as u64 + 1;
            if due == self.samples {
                return Ok(());
            }
            self.samples = due;
        }
        match &self.law {
            Law::Compiled(law, observe) => {
                let mut first = 0;
                for figure in observe {
                    figure.read(sim, &mut self.observed[first..]);
                    first += figure.size();
                }
                self.action.fill(0.0);
                law(sim.time(), self.observed.as_ptr(), self.action.as_mut_ptr());
            }
            Law::Formulas(formulas) => {
                for (formula, value) in formulas.iter().zip(&mut self.action) {
                    *value = formula
                        .value(&mut |q| sim.stepper().measure(sim.scene(), sim.raw_state(), q));
                }
            }
        }
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
