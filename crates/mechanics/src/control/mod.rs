//! What happens between two steps: sensors measure, events act, controllers give orders.
//!
//! ```text
//!   step → sensors → events → controllers → next step
//! ```
//!
//! Everything is read from the state and the step that led to it, and written into
//! [`State::orders`] (an event may also place, stop or start a body). The scene stays as it is, so
//! scene, state and settings still determine the next state to the bit.

mod act;
mod measure;

pub use act::{remove, spawn};
pub use measure::{Past, Sense, coordinate};

use crate::scene::formula::is_true;
use crate::scene::orders::{Held, Told};
use crate::scene::{ControlLaw, Controller, EventId, Function, Pid, Port, Scene, State};

/// Events that happened after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Which ones, in their order.
    pub events: Vec<EventId>,
    /// Templates that were asked for a body and had none left.
    pub empty: Vec<crate::scene::TemplateId>,
    /// True if something was put into the scene, taken out, or switched: energies must be looked at
    /// anew.
    pub changed: bool,
}

/// Looks once at everything that reacts: after a step, and once before the first.
pub fn react(scene: &Scene, sense: &mut Sense<'_>, state: &mut State) -> Happened {
    let mut happened = Happened::default();
    if !scene.reacts() {
        return happened;
    }
    state.orders.begun = true;
    for (i, sensor) in scene.sensors.iter().enumerate() {
        let value = sensor.formula.value(&mut |q| sense.quantity(scene, state, q));
        state.orders.sensors[i] = value;
    }
    for (i, event) in scene.events.iter().enumerate() {
        let now = is_true(event.when.value(&mut |q| sense.quantity(scene, state, q)));
        let before = state.orders.events[i];
        state.orders.events[i].now = now;
        if !now || before.now || (before.count > 0 && !event.again) {
            continue;
        }
        let fired = &mut state.orders.events[i];
        (fired.count, fired.time) = (fired.count + 1, state.time);
        happened.events.push(EventId(i as u32));
        for action in &event.actions {
            act::act(scene, sense, state, (EventId(i as u32), action), &mut happened);
        }
    }
    for (i, controller) in scene.controllers.iter().enumerate() {
        sample(scene, sense, state, i, controller);
    }
    happened
}

/// Lets a controller look, if its sample is due, and gives its order.
fn sample(
    scene: &Scene,
    sense: &mut Sense<'_>,
    state: &mut State,
    i: usize,
    controller: &Controller,
) {
    let mut held = state.orders.controllers[i];
    // A sample belongs to the first step that ends with it or after it, to within rounding.
    let due = controller.every == 0.0
        || state.time >= controller.every * held.next as f64 - 1e-9 * controller.every;
    if !due {
        return;
    }
    if controller.every > 0.0 {
        held.next = (state.time / controller.every + 1e-9).floor() as u64 + 1;
    }
    let value = |f: &crate::scene::Formula| f.value(&mut |q| sense.quantity(scene, state, q));
    let wanted = match &controller.law {
        ControlLaw::Formula(formula) => value(formula).clamp(controller.lo, controller.hi),
        ControlLaw::Pid(pid) => {
            let (y, target) = (value(&pid.measured), value(&pid.target));
            pid_output(pid, (y, target - y), state.time, &mut held, (controller.lo, controller.hi))
        }
    };
    held.value = wanted;
    held.samples += 1;
    held.time = state.time;
    state.orders.controllers[i] = held;
    match controller.port {
        Port::Motor(motor) => {
            let order = state.orders.motor_mut(scene, motor);
            order.told = Some(Told { function: Function::Constant(wanted), since: 0.0 });
        }
        Port::Force(force, component) => {
            state.orders.force_mut(force).push[usize::from(component)] = Some(wanted)
        }
    }
}

/// `p e + i ∫e − d ẏ` within the limits.
fn pid_output(
    pid: &Pid,
    (y, error): (f64, f64),
    time: f64,
    held: &mut Held,
    (lo, hi): (f64, f64),
) -> f64 {
    let first = held.samples == 0;
    let dt = time - held.time;
    let rate = if first || dt <= 0.0 { 0.0 } else { (y - held.measured) / dt };
    let integral = if first { 0.0 } else { held.integral + 0.5 * dt * (held.error + error) };
    let sum = |integral: f64| pid.p * error + pid.i * integral - pid.d * rate;
    let free = sum(integral);
    // At a limit the integral does not grow beyond it.
    let winds_up = (free > hi && pid.i * error > 0.0) || (free < lo && pid.i * error < 0.0);
    if !winds_up {
        held.integral = integral;
    }
    (held.error, held.measured) = (error, y);
    sum(held.integral).clamp(lo, hi)
}
