//! Errors under their names; panics are caught.

use pyo3::prelude::*;
use signorini::SimulationError;
use signorini::step::StepError;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What went wrong, before it becomes an exception.
pub enum Failure {
    /// Of the simulation.
    Simulation(SimulationError),
    /// Under the name of an exception of `signorini._errors`.
    Named(&'static str, String),
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Failure {
        Failure::Simulation(error)
    }
}

impl Failure {
    fn parts(self) -> (&'static str, String) {
        let error = match self {
            Failure::Named(name, text) => return (name, text),
            Failure::Simulation(error) => error,
        };
        let name = match &error {
            SimulationError::File(_) => "SceneFileError",
            SimulationError::Build(_) | SimulationError::Open(_) => "SceneError",
            SimulationError::Step(StepError::NotAccepted { .. }) => "NotAcceptedError",
            SimulationError::Step(_) => "StepError",
            SimulationError::NotFound { .. } => "NotFoundError",
            SimulationError::Input { .. } => "InputError",
            SimulationError::Restore(_) => "RestoreError",
            SimulationError::Record(_) => "RecordError",
        };
        (name, error.to_string())
    }

    /// The exception.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        let (name, text) = self.parts();
        // The command line puts this in front of what it prints.
        let text = text.strip_prefix("error: ").map(str::to_string).unwrap_or(text);
        let error = py
            .import("signorini._errors")
            .and_then(|m| m.getattr(name))
            .and_then(|c| c.call1((text,)));
        error.map_or_else(|e| e, PyErr::from_value)
    }
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics of the engine become exceptions: they are not printed too.
pub fn keep_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if INSIDE.get() {
            MESSAGE.with_borrow_mut(|m| *m = info.to_string());
        } else {
            usual(info);
        }
    }));
}

/// Lets the engine work; a panic becomes an error.
pub fn caught<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let before = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(before);
    result.unwrap_or_else(|_| {
        let said = MESSAGE.with_borrow_mut(std::mem::take).replace('\n', " ");
        Err(Failure::Named("InternalError", format!("the engine failed, please report it: {said}")))
    })
}

/// The same without the interpreter's lock.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    py.detach(|| caught(work)).map_err(|e| e.raise(py))
}

/// What a text of JSON says.
pub fn parsed<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|e| Failure::Named("InputError", format!("{what}: {e}")))
}

/// A name or a number of something.
#[derive(FromPyObject)]
pub enum Key {
    Number(u32),
    Name(String),
}

/// The id that a key stands for.
macro_rules! resolve {
    ($py:expr, $key:expr, $scene:expr, $id:ident) => {{
        use signorini::simulation::Handle;
        let found: Result<signorini::scene::$id, _> = match &$key {
            $crate::errors::Key::Number(n) => signorini::scene::$id(*n).resolve($scene),
            $crate::errors::Key::Name(name) => name.resolve($scene),
        };
        found.map_err(|e| $crate::errors::Failure::from(e).raise($py))
    }};
}
pub(crate) use resolve;
