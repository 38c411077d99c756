//! A scene that moves.

use crate::errors::{Failure, Key, caught, detached, parsed, resolve};
use crate::scene::{Scene, quaternion, vector};
use crate::views::{Shared, view};
use numpy::{IxDyn, PyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use signorini::prelude::{Coordinate, DVec3, Pose};
use signorini::problem::{Residual, Tolerance};
use signorini::scene::{BodyId, MotorId};
use signorini::simulation::ContactStatus;
use signorini::solve::Status;
use signorini::step::{Ledger, Settings};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

type Array<'py> = Bound<'py, PyArray<f64, IxDyn>>;
type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// A scene that moves (see `signorini.Simulation`).
#[pyclass(subclass, frozen, module = "signorini._engine")]
pub struct Simulation {
    pub inner: Shared,
}

/// The engine failed in the middle of something: what it holds is not to be trusted.
fn broken() -> Failure {
    let text = "the engine failed in an earlier call: restore() a saved state, or begin again";
    Failure::Named("InternalError", text.into())
}

/// The simulation, for whoever does not hold the interpreter's lock.
pub fn taken(shared: &Shared) -> Result<MutexGuard<'_, signorini::Simulation>, Failure> {
    shared.lock().map_err(|_| broken())
}

impl Simulation {
    /// The simulation, for whoever holds the interpreter's lock: it is given up while another thread steps.
    pub fn held(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, signorini::Simulation>> {
        loop {
            match self.inner.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(_)) => return Err(broken().raise(py)),
                Err(TryLockError::WouldBlock) => py.detach(|| std::thread::sleep(Duration::from_micros(20))),
            }
        }
    }

    /// Changes something, at once.
    fn change<T>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut signorini::Simulation) -> Result<T, signorini::SimulationError>,
    ) -> PyResult<T> {
        let mut held = self.held(py)?;
        let result = caught(|| f(&mut held).map_err(Failure::from));
        drop(held);
        result.map_err(|e| e.raise(py))
    }
}

fn array(py: Python<'_>, v: DVec3) -> Vector<'_> {
    PyArray1::from_slice(py, &v.to_array())
}

/// The coordinate of this name.
pub fn coordinate(py: Python<'_>, name: &str) -> PyResult<Coordinate> {
    match name {
        "angle" => Ok(Coordinate::Angle),
        "slide" => Ok(Coordinate::Slide),
        "distance" => Ok(Coordinate::Distance),
        _ => Err(Failure::Named("InputError", format!("coordinate `{name}`, wanted angle, slide or distance")).raise(py)),
    }
}

#[pymethods]
impl Simulation {
    #[new]
    fn new(py: Python<'_>, scene: PyRef<'_, Scene>, settings: &str) -> PyResult<Simulation> {
        let settings: Settings = parsed("settings", settings).map_err(|e| e.raise(py))?;
        let scene = scene.scene.clone();
        let made = detached(py, || Ok(signorini::Simulation::new(scene, settings)?))?;
        Ok(Simulation { inner: Arc::new(Mutex::new(made)) })
    }

    /// The time, s.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.held(py)?.time())
    }

    /// Steps taken.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.held(py)?.steps())
    }

    /// What was said while the scene was put together.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.held(py)?.notes().to_vec())
    }

    /// Takes one step, and says how wrong it is. After an error everything is as it was.
    fn step(&self, py: Python<'_>) -> PyResult<Verdict> {
        let inner = &self.inner;
        detached(py, || {
            let mut sim = taken(inner)?;
            let verdict = sim.step()?;
            Ok(Verdict::of(&sim, &verdict))
        })
    }

    /// Steps until `t_end`, or until `wall` seconds have passed on the clock: whether it is there, steps, steps not
    /// accepted, the worst verdict.
    fn _advance(&self, py: Python<'_>, t_end: f64, wall: f64) -> PyResult<(bool, u64, u64, Option<Verdict>)> {
        let inner = &self.inner;
        detached(py, || {
            let begun = Instant::now();
            let (mut steps, mut not_accepted) = (0, 0);
            let mut worst: Option<(f64, Verdict)> = None;
            loop {
                let mut sim = taken(inner)?;
                // As `Simulation::run_until`; a NaN takes no step.
                let there = !(sim.time() < t_end - 1e-9 * sim.settings().h);
                if there || (steps > 0 && begun.elapsed().as_secs_f64() >= wall) {
                    return Ok((there, steps, not_accepted, worst.map(|(_, v)| v)));
                }
                let verdict = sim.step()?;
                steps += 1;
                not_accepted += u64::from(!verdict.accepted);
                let relative = verdict.error.relative();
                if worst.as_ref().is_none_or(|(w, _)| relative > *w) {
                    worst = Some((relative, Verdict::of(&sim, &verdict)));
                }
            }
        })
    }

    /// The verdict on the last step; none before the first one.
    #[getter]
    fn verdict(&self, py: Python<'_>) -> PyResult<Option<Verdict>> {
        let sim = self.held(py)?;
        Ok(sim.verdict().map(|v| Verdict::of(&sim, v)))
    }

    /// Seven numbers per body: position of the centre of mass (m), unit quaternion x y z w. A view.
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let sim = self.held(py)?;
        let data = sim.state().poses;
        view(py, &self.inner, data, &[data.len() / 7, 7])
    }

    /// Six numbers per body: velocity of the centre of mass (m/s), angular velocity (rad/s), world. A view.
    #[getter]
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let sim = self.held(py)?;
        let data = sim.state().velocities;
        view(py, &self.inner, data, &[data.len() / 6, 6])
    }

    /// One angle per joint, counted over full turns, rad. A view.
    #[getter]
    fn angles<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let sim = self.held(py)?;
        let data = sim.state().angles;
        view(py, &self.inner, data, &[data.len()])
    }

    /// Three numbers per node of all soft bodies, m. A view.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let sim = self.held(py)?;
        let data = sim.state().nodes;
        view(py, &self.inner, data, &[data.len() / 3, 3])
    }

    fn _names(&self, py: Python<'_>, what: &str) -> PyResult<Vec<String>> {
        let sim = self.held(py)?;
        Ok(crate::scene::names(sim.scene(), what))
    }

    fn _find(&self, py: Python<'_>, what: &str, key: Key) -> PyResult<u32> {
        let sim = self.held(py)?;
        match what {
            "body" => resolve!(py, key, sim.scene(), BodyId).map(|id| id.0),
            "joint" => resolve!(py, key, sim.scene(), JointId).map(|id| id.0),
            "motor" => resolve!(py, key, sim.scene(), MotorId).map(|id| id.0),
            _ => resolve!(py, key, sim.scene(), MaterialId).map(|id| id.0),
        }
    }

    fn _body_vector<'py>(&self, py: Python<'py>, body: u32, what: u8) -> PyResult<Vector<'py>> {
        let sim = self.held(py)?;
        let view = sim.body(BodyId(body)).map_err(|e| Failure::from(e).raise(py))?;
        let found = match what {
            0 => view.position(),
            1 => view.velocity(),
            2 => view.angular_velocity(),
            3 => view.center_of_mass(),
            4 => view.center_of_mass_velocity(),
            _ => return Ok(PyArray1::from_slice(py, &view.orientation().to_array())),
        };
        Ok(array(py, found))
    }

    fn _body_velocity_at<'py>(&self, py: Python<'py>, body: u32, point: [f64; 3]) -> PyResult<Vector<'py>> {
        let sim = self.held(py)?;
        let view = sim.body(BodyId(body)).map_err(|e| Failure::from(e).raise(py))?;
        Ok(array(py, view.velocity_at(vector(point))))
    }

    /// Mass, kg (none unless rigid), and kinetic energy, J.
    fn _body_mass(&self, py: Python<'_>, body: u32) -> PyResult<(Option<f64>, f64)> {
        let sim = self.held(py)?;
        let view = sim.body(BodyId(body)).map_err(|e| Failure::from(e).raise(py))?;
        Ok((view.body().mass().map(|m| m.mass), view.kinetic_energy()))
    }

    fn _set_pose(&self, py: Python<'_>, body: u32, position: [f64; 3], orientation: [f64; 4]) -> PyResult<()> {
        let pose = Pose { position: vector(position), orientation: quaternion(orientation) };
        self.change(py, |sim| sim.set_pose(BodyId(body), pose))
    }

    fn _set_velocity(&self, py: Python<'_>, body: u32, linear: [f64; 3], angular: [f64; 3]) -> PyResult<()> {
        self.change(py, |sim| sim.set_velocity(BodyId(body), vector(linear), vector(angular)))
    }

    fn _apply_force(&self, py: Python<'_>, body: u32, force: [f64; 3], point: Option<[f64; 3]>) -> PyResult<()> {
        self.change(py, |sim| match point {
            Some(point) => sim.apply_force(BodyId(body), vector(force), vector(point)),
            None => sim.apply_central_force(BodyId(body), vector(force)),
        })
    }

    fn _apply_torque(&self, py: Python<'_>, body: u32, torque: [f64; 3]) -> PyResult<()> {
        self.change(py, |sim| sim.apply_torque(BodyId(body), vector(torque)))
    }

    /// Forgets the forces and torques that were to act in the next step.
    fn clear_forces(&self, py: Python<'_>) -> PyResult<()> {
        self.held(py)?.clear_forces();
        Ok(())
    }

    /// Angle or other coordinate of a joint, and its rate; without a name, the main one.
    #[pyo3(signature = (joint, which=None))]
    fn _joint(&self, py: Python<'_>, joint: u32, which: Option<&str>) -> PyResult<(f64, f64)> {
        let which = which.map(|name| coordinate(py, name)).transpose()?;
        let sim = self.held(py)?;
        let view = sim.joint(signorini::scene::JointId(joint)).map_err(|e| Failure::from(e).raise(py))?;
        let which = which.unwrap_or_else(|| view.main());
        Ok((view.value(which), view.rate_of(which)))
    }

    fn _joint_about(&self, py: Python<'_>, joint: u32) -> PyResult<(&'static str, u32, u32)> {
        let sim = self.held(py)?;
        let view = sim.joint(signorini::scene::JointId(joint)).map_err(|e| Failure::from(e).raise(py))?;
        Ok((view.joint().kind.name(), view.joint().a.0, view.joint().b.0))
    }

    /// What joints exerted on their second bodies: joint, force, torque (world), force, torque (joint), which are unique.
    #[allow(clippy::type_complexity)]
    fn _reactions(&self, py: Python<'_>) -> PyResult<Vec<(u32, [f64; 3], [f64; 3], [f64; 3], [f64; 3], [bool; 6])>> {
        let inner = &self.inner;
        detached(py, || {
            let found = taken(inner)?.reactions();
            let one = |r: &signorini::analyse::reactions::JointReaction| {
                let [a, b, c, d] = [r.world.force, r.world.torque, r.local.force, r.local.torque].map(|v| v.to_array());
                (r.joint.0, a, b, c, d, r.unique)
            };
            Ok(found.joints.iter().map(one).collect())
        })
    }

    /// What a motor acts on (m, rad), and what it gave during the last step (N, N m).
    fn _motor(&self, py: Python<'_>, motor: u32) -> PyResult<(f64, f64)> {
        let sim = self.held(py)?;
        let view = sim.motor(MotorId(motor)).map_err(|e| Failure::from(e).raise(py))?;
        Ok((view.value(), view.effort()))
    }

    fn _set_motor(&self, py: Python<'_>, motor: u32, what: &str, value: f64) -> PyResult<()> {
        if !value.is_finite() {
            let name = self._names(py, "motor")?.get(motor as usize).cloned().unwrap_or_default();
            let text = format!("motor `{name}`: {what} = {value}, wanted a finite number");
            return Err(Failure::Named("InputError", text).raise(py));
        }
        self.change(py, |sim| {
            let mut motor = sim.motor_mut(MotorId(motor))?;
            match what {
                "torque" => motor.set_torque(value),
                "target" => motor.set_target(value),
                _ => motor.set_speed(value),
            }
            Ok(())
        })
    }

    fn _set_drive(&self, py: Python<'_>, motor: u32, drive: &str) -> PyResult<()> {
        let drive = parsed("drive", drive).map_err(|e| e.raise(py))?;
        self.change(py, |sim| {
            sim.motor_mut(MotorId(motor))?.set_drive(drive);
            Ok(())
        })
    }

    /// Friction, restitution, compliance, damping of a material.
    fn _material(&self, py: Python<'_>, material: u32) -> PyResult<[f64; 4]> {
        let sim = self.held(py)?;
        let m = &sim.scene().materials[material as usize];
        Ok([m.mu, m.restitution, m.compliance, m.damping])
    }

    fn _set_material(&self, py: Python<'_>, material: u32, which: usize, value: f64) -> PyResult<()> {
        let most = if which == 1 { 1.0 } else { f64::MAX };
        if !(value >= 0.0 && value <= most) {
            let what = ["mu", "restitution", "compliance", "damping"][which.min(3)];
            let wanted = if which == 1 { "0…1" } else { "a number ≥ 0" };
            return Err(Failure::Named("InputError", format!("{what} = {value}, wanted {wanted}")).raise(py));
        }
        self.change(py, |sim| {
            let m = sim.material_mut(signorini::scene::MaterialId(material))?;
            *[&mut m.mu, &mut m.restitution, &mut m.compliance, &mut m.damping][which.min(3)] = value;
            Ok(())
        })
    }

    #[getter]
    fn gravity<'py>(&self, py: Python<'py>) -> PyResult<Vector<'py>> {
        Ok(array(py, self.held(py)?.scene().gravity))
    }

    #[setter]
    fn set_gravity(&self, py: Python<'_>, gravity: [f64; 3]) -> PyResult<()> {
        self.change(py, |sim| sim.set_gravity(vector(gravity)))
    }

    /// Length of a step, s.
    #[getter]
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.held(py)?.settings().h)
    }

    #[setter]
    fn set_dt(&self, py: Python<'_>, dt: f64) -> PyResult<()> {
        self.change(py, |sim| sim.set_time_step(dt))
    }

    /// The contacts of the last step as the bytes of a structured array.
    fn _contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let sim = self.held(py)?;
        let mut out = Vec::with_capacity(160 * sim.contacts().len());
        for c in sim.contacts() {
            for body in [c.bodies.0, c.bodies.1] {
                out.extend_from_slice(&(body.0 as i32).to_ne_bytes());
            }
            let numbers = [c.point, c.normal, c.force, c.impulse, c.slip].map(|v| v.to_array());
            let numbers = numbers.as_flattened().iter().chain([&c.gap]);
            numbers.for_each(|x| out.extend_from_slice(&x.to_ne_bytes()));
            let status = match c.status {
                ContactStatus::Open => "open",
                ContactStatus::Stick => "stick",
                ContactStatus::Slip => "slip",
            };
            let letters = status.chars().map(u32::from).chain(std::iter::repeat(0)).take(6);
            letters.for_each(|letter| out.extend_from_slice(&letter.to_ne_bytes()));
        }
        Ok(PyBytes::new(py, &out))
    }

    fn _forces_between<'py>(&self, py: Python<'py>, a: u32, b: u32) -> PyResult<(Vector<'py>, Vector<'py>, usize)> {
        let found = self.held(py)?.forces_between(BodyId(a), BodyId(b)).map_err(|e| Failure::from(e).raise(py))?;
        Ok((array(py, found.force), array(py, found.torque), found.contacts))
    }

    /// The energy ledger since the beginning: where every joule went.
    #[getter]
    fn energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        ledger(py, self.held(py)?.ledger())
    }

    /// The problem of the last step.
    fn _problem(&self, py: Python<'_>) -> PyResult<crate::problem::Problem> {
        let problem = self.held(py)?.problem().clone();
        detached(py, || crate::problem::Problem::of(problem))
    }

    /// The present state as bytes.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let inner = &self.inner;
        let bytes = detached(py, || Ok(taken(inner)?.save()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Goes back to a saved state of this scene, to the same bits.
    fn restore(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        let (inner, state) = (&self.inner, state.to_vec());
        detached(py, || {
            // A saved state mends what a failure left behind.
            let mut sim = inner.lock().unwrap_or_else(|e| e.into_inner());
            sim.restore(&state)?;
            inner.clear_poison();
            Ok(())
        })
    }

    fn _scene_json(&self, py: Python<'_>) -> PyResult<String> {
        let sim = self.held(py)?;
        serde_json::to_string(sim.scene()).map_err(|e| Failure::Named("RecordError", e.to_string()).raise(py))
    }

    fn _settings_json(&self, py: Python<'_>) -> PyResult<String> {
        let sim = self.held(py)?;
        serde_json::to_string(sim.settings()).map_err(|e| Failure::Named("RecordError", e.to_string()).raise(py))
    }

    /// A picture of the present moment as the bytes of a PNG file.
    fn _picture<'py>(&self, py: Python<'py>, size: (usize, usize), forces: bool) -> PyResult<Bound<'py, PyBytes>> {
        let inner = &self.inner;
        let bytes = detached(py, || {
            let sim = taken(inner)?;
            crate::look::picture(&sim, size, forces)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// An energy ledger as a dictionary, J.
fn ledger<'py>(py: Python<'py>, of: &Ledger) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, value) in [
        ("kinetic_before", of.kinetic_before),
        ("kinetic", of.kinetic),
        ("potential_before", of.potential_before),
        ("potential", of.potential),
        ("friction", of.friction),
        ("impact", of.impact),
        ("dampers", of.dampers),
        ("motors", of.motors),
        ("applied", of.applied),
        ("scheme", of.scheme),
        ("solver", of.solver),
        ("residual", of.residual()),
    ] {
        out.set_item(name, value)?;
    }
    Ok(out)
}

/// The name of a status.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::Budget => "budget",
        Status::Stalled => "stalled",
        Status::Infeasible => "infeasible",
    }
}

/// Why an error is not within a tolerance.
pub fn reasons(error: &Residual, tolerance: &Tolerance) -> Vec<String> {
    let checks = [
        ("error relative to the energy scale", error.relative(), tolerance.relative, ""),
        ("estimated error relative to the energy scale", error.estimate_relative(), tolerance.largest_bound(), ""),
        ("largest wrong velocity", error.velocity, tolerance.velocity, " m/s"),
        ("velocity of the momentum defect", error.momentum_velocity, tolerance.velocity, " m/s"),
    ];
    let over = checks.into_iter().filter(|(_, found, most, _)| !(found <= most));
    over.map(|(what, found, most, unit)| format!("{what} {found:.1e}{unit}, wanted ≤ {most:.1e}{unit}")).collect()
}

/// What a step says of itself: how wrong it is, in joules, and what is to blame.
#[pyclass(frozen, module = "signorini")]
pub struct Verdict {
    /// Time at the end of the step, s.
    #[pyo3(get)]
    time: f64,
    /// True if the error is within the tolerance.
    #[pyo3(get)]
    accepted: bool,
    /// Why the solver stopped: converged, budget, stalled or infeasible.
    #[pyo3(get)]
    status: &'static str,
    /// The constraint with the largest error in joules.
    #[pyo3(get)]
    culprit: String,
    /// The method that had the last word on the largest island.
    #[pyo3(get)]
    solver: &'static str,
    /// The solver's work, in its own unit.
    #[pyo3(get)]
    work: u64,
    /// False if a deadline cut the work short.
    #[pyo3(get)]
    reproducible: bool,
    /// Deepest overlap of two bodies at the beginning of the step, m.
    #[pyo3(get)]
    penetration: f64,
    /// Contacts, open ones included.
    #[pyo3(get)]
    contacts: usize,
    /// Rows of the problem.
    #[pyo3(get)]
    rows: usize,
    /// In how many parts the step was taken.
    #[pyo3(get)]
    substeps: u32,
    error: Residual,
    tolerance: Tolerance,
    energy: Ledger,
}

impl Verdict {
    pub fn of(sim: &signorini::Simulation, v: &signorini::step::Verdict) -> Verdict {
        Verdict {
            time: v.time,
            accepted: v.accepted,
            status: status(v.status),
            culprit: v.worst_name(sim.scene()),
            solver: v.solver.name(),
            work: v.work,
            reproducible: v.reproducible,
            penetration: v.penetration,
            contacts: v.contacts,
            rows: v.rows,
            substeps: v.substeps,
            error: v.error,
            tolerance: sim.settings().stop.tolerance,
            energy: v.energy,
        }
    }
}

#[pymethods]
impl Verdict {
    /// The error of the step's solution, J.
    #[getter]
    #[pyo3(name = "error_J")]
    fn error_joule(&self) -> f64 {
        self.error.joule
    }

    /// The error relative to the energy scale of the step.
    #[getter]
    fn error_relative(&self) -> f64 {
        self.error.relative()
    }

    /// The energy scale of the step, J.
    #[getter]
    #[pyo3(name = "scale_J")]
    fn scale_joule(&self) -> f64 {
        self.error.scale
    }

    /// Estimated kinetic energy of the velocity error, J.
    #[getter]
    #[pyo3(name = "estimate_J")]
    fn estimate_joule(&self) -> f64 {
        self.error.estimate
    }

    /// The largest velocity that any constraint is wrong by, m/s.
    #[getter]
    fn velocity_error(&self) -> f64 {
        self.error.velocity
    }

    /// Energy that the time-stepping scheme gave in this step, J (negative: took).
    #[getter]
    #[pyo3(name = "scheme_J")]
    fn scheme_joule(&self) -> f64 {
        self.energy.scheme
    }

    /// Why the step is not accepted, one line each; empty if it is.
    #[getter]
    fn reasons(&self) -> Vec<String> {
        if self.accepted { Vec::new() } else { reasons(&self.error, &self.tolerance) }
    }

    /// Where the energy went in this step, J.
    #[getter]
    fn energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        ledger(py, &self.energy)
    }

    fn __repr__(&self) -> String {
        let word = if self.accepted { "accepted" } else { "not accepted" };
        let Verdict { time, status, culprit, solver, error, .. } = self;
        let joule = error.joule;
        format!("Verdict(t = {time:.6} s, {word}, {status}, error {joule:.2e} J at {culprit}, {solver})")
    }
}
