//! A scene that moves.

use crate::control::Controller;
use crate::errors::{Failure, Key, caught, detached, parsed, resolve};
use crate::scene::{Scene, quaternion, vector};
use crate::verdict::{Verdict, ledger};
use crate::views::{Held, Shared, view};
use numpy::{IxDyn, PyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use signorini::prelude::{Coordinate, DVec3, Figure, Input, Pose};
use signorini::scene::{BodyId, MotorId};
use signorini::simulation::ContactStatus;
use signorini::step::Settings;
use std::path::PathBuf;
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
pub fn taken(shared: &Shared) -> Result<MutexGuard<'_, Held>, Failure> {
    shared.lock().map_err(|_| broken())
}

/// The simulation, for whoever holds the interpreter's lock: it is given up while another thread
/// steps.
pub fn held<'a>(py: Python<'_>, shared: &'a Shared) -> PyResult<MutexGuard<'a, Held>> {
    loop {
        match shared.try_lock() {
            Ok(guard) => return Ok(guard),
            Err(TryLockError::Poisoned(_)) => return Err(broken().raise(py)),
            Err(TryLockError::WouldBlock) => {
                py.detach(|| std::thread::sleep(Duration::from_micros(20)))
            }
        }
    }
}

impl Simulation {
    /// The simulation, for whoever holds the interpreter's lock.
    pub fn held(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Held>> {
        held(py, &self.inner)
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
        _ => Err(Failure::Named(
            "InputError",
            format!("coordinate `{name}`, wanted angle, slide or distance"),
        )
        .raise(py)),
    }
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scene, settings, end_time=None))]
    fn new(
        py: Python<'_>,
        scene: PyRef<'_, Scene>,
        settings: &str,
        end_time: Option<f64>,
    ) -> PyResult<Simulation> {
        let settings: Settings = parsed("settings", settings).map_err(|e| e.raise(py))?;
        let scene = scene.scene.clone();
        let mut simulation = detached(py, || Ok(signorini::Simulation::new(scene, settings)?))?;
        simulation.set_end_time(end_time);
        Ok(Simulation { inner: Arc::new(Mutex::new(Held::new(simulation))) })
    }

    /// The time, s.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.held(py)?.time())
    }

    /// When the scene file ends, s; none for a scene made in code.
    #[getter]
    fn end_time(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.held(py)?.end_time())
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
    fn _step(&self, py: Python<'_>) -> PyResult<Verdict> {
        let inner = &self.inner;
        detached(py, || {
            let mut sim = taken(inner)?;
            let verdict = sim.advance()?;
            Ok(Verdict::of(&sim, &verdict))
        })
    }

    /// Whether no further step is due before `t_end`.
    fn _reached(&self, py: Python<'_>, t_end: f64) -> PyResult<bool> {
        Ok(self.held(py)?.reached(t_end))
    }

    /// Steps until `t_end`, or until `wall` seconds have passed on the clock: whether it is there,
    /// steps, steps not accepted, the worst verdict.
    fn _advance(
        &self,
        py: Python<'_>,
        t_end: f64,
        wall: f64,
    ) -> PyResult<(bool, u64, u64, Option<Verdict>)> {
        let inner = &self.inner;
        detached(py, || {
            let begun = Instant::now();
            let (mut steps, mut not_accepted) = (0, 0);
            let mut worst: Option<(f64, Verdict)> = None;
            loop {
                let mut sim = taken(inner)?;
                let there = sim.reached(t_end);
                if there || (steps > 0 && begun.elapsed().as_secs_f64() >= wall) {
                    return Ok((there, steps, not_accepted, worst.map(|(_, v)| v)));
                }
                let verdict = sim.advance()?;
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

    /// Six numbers per body: velocity of the centre of mass (m/s), angular velocity (rad/s), world.
    /// A view.
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

    fn _body_velocity_at<'py>(
        &self,
        py: Python<'py>,
        body: u32,
        point: [f64; 3],
    ) -> PyResult<Vector<'py>> {
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

    fn _set_pose(
        &self,
        py: Python<'_>,
        body: u32,
        position: [f64; 3],
        orientation: [f64; 4],
    ) -> PyResult<()> {
        let pose = Pose { position: vector(position), orientation: quaternion(orientation) };
        self.change(py, |sim| sim.set_pose(BodyId(body), pose))
    }

    fn _set_velocity(
        &self,
        py: Python<'_>,
        body: u32,
        linear: [f64; 3],
        angular: [f64; 3],
    ) -> PyResult<()> {
        self.change(py, |sim| sim.set_velocity(BodyId(body), vector(linear), vector(angular)))
    }

    fn _apply_force(
        &self,
        py: Python<'_>,
        body: u32,
        force: [f64; 3],
        point: Option<[f64; 3]>,
    ) -> PyResult<()> {
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
        let view =
            sim.joint(signorini::scene::JointId(joint)).map_err(|e| Failure::from(e).raise(py))?;
        let which = which.unwrap_or_else(|| view.main());
        Ok((view.value(which), view.rate_of(which)))
    }

    fn _joint_about(&self, py: Python<'_>, joint: u32) -> PyResult<(&'static str, u32, u32)> {
        let sim = self.held(py)?;
        let view =
            sim.joint(signorini::scene::JointId(joint)).map_err(|e| Failure::from(e).raise(py))?;
        Ok((view.joint().kind.name(), view.joint().a.0, view.joint().b.0))
    }

    /// What joints exerted on their second bodies: joint, force, torque (world), force, torque
    /// (joint), which are unique.
    #[allow(clippy::type_complexity)]
    fn _reactions(
        &self,
        py: Python<'_>,
    ) -> PyResult<Vec<(u32, [f64; 3], [f64; 3], [f64; 3], [f64; 3], [bool; 6])>> {
        let inner = &self.inner;
        detached(py, || {
            let found = taken(inner)?.reactions();
            let one = |r: &signorini::analyse::reactions::JointReaction| {
                let [a, b, c, d] = [r.world.force, r.world.torque, r.local.force, r.local.torque]
                    .map(|v| v.to_array());
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

    /// Sets `motor.NAME.torque`, `material.NAME.mu` or another input.
    fn _set(&self, py: Python<'_>, name: &str, value: f64) -> PyResult<()> {
        self.change(py, |sim| Input::named(name, sim.scene())?.set(sim, value))
    }

    /// A figure by name.
    fn _get<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vector<'py>> {
        let sim = self.held(py)?;
        let figure = Figure::named(name, sim.scene()).map_err(|e| Failure::from(e).raise(py))?;
        Ok(PyArray1::from_vec(py, figure.values(&sim)))
    }

    /// Lets the C function at this address act before every step, or every so many seconds.
    fn _control(
        &self,
        py: Python<'_>,
        address: usize,
        observe: Vec<String>,
        act: Vec<String>,
        every: f64,
    ) -> PyResult<()> {
        let mut sim = self.held(py)?;
        let controller = Controller::compiled(sim.scene(), address, &observe, &act, every)
            .map_err(|e| e.raise(py))?;
        sim.controllers.push(controller);
        Ok(())
    }

    /// Lets formulas act: one for each input.
    fn _control_formulas(
        &self,
        py: Python<'_>,
        act: Vec<String>,
        formulas: &str,
        every: f64,
    ) -> PyResult<()> {
        let formulas = parsed("formulas", formulas).map_err(|e| e.raise(py))?;
        let mut sim = self.held(py)?;
        let controller =
            Controller::formulas(sim.scene(), &act, formulas, every).map_err(|e| e.raise(py))?;
        sim.controllers.push(controller);
        Ok(())
    }

    /// No controllers any more.
    fn _clear_controllers(&self, py: Python<'_>) -> PyResult<()> {
        self.held(py)?.controllers.clear();
        Ok(())
    }

    fn _set_drive(&self, py: Python<'_>, motor: u32, drive: &str) -> PyResult<()> {
        let drive = parsed("drive", drive).map_err(|e| e.raise(py))?;
        self.change(py, |sim| {
            sim.motor_mut(MotorId(motor))?.set_drive(drive);
            Ok(())
        })
    }

    /// Friction, restitution, compliance, damping, torsional and rolling friction of a material.
    fn _material(&self, py: Python<'_>, material: u32) -> PyResult<[f64; 6]> {
        let sim = self.held(py)?;
        let m = &sim.scene().materials[material as usize];
        Ok([m.mu, m.restitution, m.compliance, m.damping, m.torsion, m.rolling])
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

    fn _forces_between<'py>(
        &self,
        py: Python<'py>,
        a: u32,
        b: u32,
    ) -> PyResult<(Vector<'py>, Vector<'py>, usize)> {
        let found = self
            .held(py)?
            .forces_between(BodyId(a), BodyId(b))
            .map_err(|e| Failure::from(e).raise(py))?;
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
            // A saved state replaces what a failure left behind.
            let mut sim = inner.lock().unwrap_or_else(|e| e.into_inner());
            sim.restore(&state)?;
            inner.clear_poison();
            Ok(())
        })
    }

    fn _scene_json(&self, py: Python<'_>) -> PyResult<String> {
        let sim = self.held(py)?;
        serde_json::to_string(sim.scene())
            .map_err(|e| Failure::Named("RecordError", e.to_string()).raise(py))
    }

    fn _settings_json(&self, py: Python<'_>) -> PyResult<String> {
        let sim = self.held(py)?;
        serde_json::to_string(sim.settings())
            .map_err(|e| Failure::Named("RecordError", e.to_string()).raise(py))
    }

    /// Records from here on: into a folder, or in memory.
    #[pyo3(signature = (folder=None, every=None))]
    fn _record(&self, py: Python<'_>, folder: Option<PathBuf>, every: Option<u64>) -> PyResult<()> {
        let inner = &self.inner;
        detached(py, || {
            let mut sim = taken(inner)?;
            match (folder, every) {
                (Some(folder), Some(every)) => sim.record_every(folder, every)?,
                (Some(folder), None) => sim.record_to(folder)?,
                (None, every) => sim.record_in_memory(every)?,
            }
            Ok(())
        })
    }

    /// The bytes of the record as it stands; none if nothing is recorded.
    fn _recorded<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let inner = &self.inner;
        let bytes = detached(py, || Ok(taken(inner)?.recorded()?))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Ends the record; the bytes of one in memory.
    fn _finish_recording<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let inner = &self.inner;
        let bytes = detached(py, || Ok(taken(inner)?.finish_recording()?))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// A picture of the present moment as the bytes of a PNG file.
    fn _picture<'py>(
        &self,
        py: Python<'py>,
        size: (usize, usize),
        forces: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let inner = &self.inner;
        let bytes = detached(py, || {
            let mut sim = taken(inner)?;
            sim.load_visuals();
            crate::look::picture(&sim, size, forces)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}
