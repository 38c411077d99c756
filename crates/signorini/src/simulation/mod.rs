//! A scene that moves: what most programs want.

mod closure;
mod contacts;
mod error;
mod figure;
mod forces;
#[cfg(feature = "files")]
mod load;
mod react;
#[cfg(feature = "record")]
mod record;
mod save;
mod views;

pub use closure::close_joints;
pub use contacts::{ContactPoint, ContactStatus, ForceBetween};
pub use error::{Handle, SimulationError};
pub use figure::{Figure, Input};
pub use react::EventView;
pub use views::{BodyView, JointView, MotorMut, MotorView};

use glam::DVec3;
use signorini_mechanics::analyse::reactions::{Reactions, reactions};
use signorini_mechanics::assemble::{StepInput, joint};
use signorini_mechanics::scene::{
    BodyId, Coordinate, Force, JointId, Kind, Material, MaterialId, MotorId, Scene, State,
};
use signorini_mechanics::step::{Clock, Ledger, Settings, Stepper, Verdict};
use signorini_solve::math::pose::Pose;
use signorini_solve::problem::{Problem, Solution};

/// A scene that moves: scene, state and stepper in one.
///
/// Things are named by name or by id. Vectors are along the axes of the world; units are those of
/// SI.
///
/// ```
/// use signorini::prelude::*;
///
/// // A pendulum that a torque lifts to the horizontal and holds there.
/// let mut scene = Scene::new("arm");
/// let arm = scene.add_body(Body::rigid("arm", Mass::cuboid(1.0, DVec3::new(0.02, 0.02, 1.0))).at(DVec3::new(0.0, 0.0, -0.5)));
/// let hinge = scene.add_joint("shoulder", JointKind::Revolute, (BodyId::GROUND, arm), frame(DVec3::ZERO, DVec3::Y));
/// scene.add_motor("shoulder", hinge, Coordinate::Angle, Drive::Effort(0.0.into()));
///
/// let mut sim = Simulation::new(scene, Settings::with_time_step(1e-3))?;
/// while sim.time() < 3.0 {
///     let joint = sim.joint("shoulder")?;
///     let torque = 60.0 * (-1.0 - joint.angle()) - 8.0 * joint.rate();
///     sim.motor_mut("shoulder")?.set_torque(torque);
///     let verdict = sim.step()?;
///     assert!(verdict.accepted);
/// }
/// // At rest the torque is that of the weight: m g l/2 sin φ.
/// let angle = sim.joint("shoulder")?.angle();
/// assert!((60.0 * (-1.0 - angle) - 9.81 * 0.5 * angle.sin()).abs() < 1e-3);
/// # Ok::<(), SimulationError>(())
/// ```
pub struct Simulation {
    scene: Scene,
    state: State,
    stepper: Stepper,
    /// Poses and velocities at the present time.
    now: StepInput,
    /// Six numbers per body: linear and angular velocity, world.
    velocities: Vec<f64>,
    contacts: Vec<ContactPoint>,
    ledger: Ledger,
    verdict: Option<Verdict>,
    /// Forces that act in the next step.
    forces: Vec<Force>,
    /// A motor, material or force was set since the last step.
    changed: bool,
    notes: Vec<String>,
    /// When the scene file ends, s.
    end_time: Option<f64>,
    #[cfg(feature = "record")]
    recording: Option<record::Recording>,
}

/// Where everything is, as flat arrays. They keep their place in memory as long as the simulation
/// lives.
#[derive(Clone, Copy, Debug)]
pub struct StateView<'a> {
    /// Time, s.
    pub time: f64,
    /// Steps taken.
    pub steps: u64,
    /// Seven numbers per body, in the order of the scene: position of the centre of mass (m), unit
    /// quaternion x y z w.
    pub poses: &'a [f64],
    /// Six numbers per body: velocity of the centre of mass (m/s), angular velocity (rad/s), both
    /// along the axes of the world.
    pub velocities: &'a [f64],
    /// One angle per joint, counted over full turns, rad.
    pub angles: &'a [f64],
    /// Three numbers per node of all soft bodies, m.
    pub nodes: &'a [f64],
}

/// What a stretch of steps was like.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Steps taken.
    pub steps: u64,
    /// How many of them were not accepted.
    pub not_accepted: u64,
    /// The verdict with the largest error relative to its energy scale; none without steps.
    pub worst: Option<Verdict>,
}

impl Simulation {
    /// A simulation of `scene`. Joints that do not meet are brought together; [`Simulation::notes`]
    /// says what moved.
    pub fn new(scene: Scene, settings: Settings) -> Result<Simulation, SimulationError> {
        let stepper = Stepper::new(&scene, settings)?;
        let mut state = State::initial(&scene);
        let notes: Vec<String> = close_joints(&scene, &mut state)?.into_iter().collect();
        let bodies = scene.bodies.len();
        let mut simulation = Simulation {
            scene,
            state,
            stepper,
            now: StepInput::default(),
            velocities: vec![0.0; 6 * bodies],
            contacts: Vec::new(),
            ledger: Ledger::default(),
            verdict: None,
            forces: Vec::new(),
            changed: false,
            notes,
            end_time: None,
            #[cfg(feature = "record")]
            recording: None,
        };
        simulation.stepper.begin(&simulation.scene, &mut simulation.state);
        simulation.refresh();
        Ok(simulation)
    }

    /// What was said while the scene was read and put together.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// When the scene file ends, s; none for a scene made in code.
    pub fn end_time(&self) -> Option<f64> {
        self.end_time
    }

    /// Says when the run is to end, s: a record begun from here on is as fine as that length asks
    /// for.
    pub fn set_end_time(&mut self, end: Option<f64>) {
        self.end_time = end;
    }

    /// What exists.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// How steps are taken.
    pub fn settings(&self) -> &Settings {
        &self.stepper.settings
    }

    /// The time, s.
    pub fn time(&self) -> f64 {
        self.state.time
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.state.steps
    }

    /// Takes one step, and says how wrong it is. After an error everything is as it was, except
    /// that a record which cannot be written ([`SimulationError::Record`]) does not take the step
    /// back.
    pub fn step(&mut self) -> Result<Verdict, SimulationError> {
        #[cfg(feature = "record")]
        let begun = std::time::Instant::now();
        if self.changed {
            self.input_fault().map_or(Ok(()), Err)?;
        }
        let lasting = self.scene.forces.len();
        self.scene.forces.append(&mut self.forces);
        let result = self.stepper.step(&self.scene, &mut self.state);
        if result.is_err() {
            self.forces.extend(self.scene.forces.drain(lasting..));
        }
        self.scene.forces.truncate(lasting);
        let verdict = result?;
        self.changed = false;
        self.ledger = if self.verdict.is_none() && self.ledger == Ledger::default() {
            verdict.energy
        } else {
            self.ledger.then(&verdict.energy)
        };
        self.verdict = Some(verdict);
        self.refresh();
        self.read_contacts();
        #[cfg(feature = "record")]
        self.record_step(&verdict, begun.elapsed().as_secs_f64())?;
        Ok(verdict)
    }

    /// Whether no further step is due before the time `t` (s), or an event stopped the run
    /// ([`Simulation::stopped`]).
    ///
    /// The time is a sum of steps. `t` counts as reached where a billionth of a step is missing,
    /// or what the rounding of that sum may have taken, a tenth of a step at most.
    pub fn reached(&self, t: f64) -> bool {
        let rounding = self.state.steps as f64 * f64::EPSILON * self.time().abs();
        let h = self.stepper.settings.h;
        // A NaN is reached: it takes no step.
        !(self.time() < t - (1e-9 * h).max(rounding.min(0.1 * h)))
            || self.state.orders.stopped.is_some()
    }

    /// Steps until `t` (s) is [reached](Simulation::reached); the first error ends it.
    pub fn run_until(&mut self, t: f64) -> Result<Stretch, SimulationError> {
        let mut stretch = Stretch { steps: 0, not_accepted: 0, worst: None };
        while !self.reached(t) {
            let verdict = self.step()?;
            stretch.steps += 1;
            stretch.not_accepted += u64::from(!verdict.accepted);
            if stretch.worst.is_none_or(|w| verdict.error.relative() > w.error.relative()) {
                stretch.worst = Some(verdict);
            }
        }
        Ok(stretch)
    }

    /// The verdict on the last step; none before the first one.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// The name of the constraint with the largest error in the last step.
    pub fn culprit(&self) -> Option<String> {
        self.verdict.map(|v| v.worst_name(&self.scene))
    }

    /// The energy ledger since the beginning: where every joule went.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// A body as it is now.
    pub fn body(&self, body: impl Handle<BodyId>) -> Result<BodyView<'_>, SimulationError> {
        Ok(BodyView { simulation: self, id: body.resolve(&self.scene)? })
    }

    /// A joint as it is now.
    pub fn joint(&self, joint: impl Handle<JointId>) -> Result<JointView<'_>, SimulationError> {
        Ok(JointView { simulation: self, id: joint.resolve(&self.scene)? })
    }

    /// A motor as it is now; the name of a joint stands for its only motor.
    pub fn motor(&self, motor: impl Handle<MotorId>) -> Result<MotorView<'_>, SimulationError> {
        Ok(MotorView { simulation: self, id: motor.resolve(&self.scene)? })
    }

    /// A motor, to tell it something else; the name of a joint stands for its only motor.
    pub fn motor_mut(
        &mut self,
        motor: impl Handle<MotorId>,
    ) -> Result<MotorMut<'_>, SimulationError> {
        let id = motor.resolve(&self.scene)?;
        self.changed = true;
        // Who speaks last is heard.
        if let Some(order) = self.state.orders.motors.get_mut(id.index()) {
            order.told = None;
        }
        Ok(MotorMut { motor: &mut self.scene.motors[id.index()] })
    }

    /// A material, to change its friction, restitution or compliance from the next step on.
    pub fn material_mut(
        &mut self,
        material: impl Handle<MaterialId>,
    ) -> Result<&mut Material, SimulationError> {
        let id = material.resolve(&self.scene)?;
        self.changed = true;
        Ok(&mut self.scene.materials[id.index()])
    }

    /// Changes gravity from the next step on, m/s².
    pub fn set_gravity(&mut self, gravity: DVec3) -> Result<(), SimulationError> {
        if !gravity.is_finite() {
            return Err(self.input(
                "scene",
                &self.scene.name,
                format!("gravity = {gravity}, wanted finite numbers"),
            ));
        }
        self.scene.gravity = gravity;
        Ok(())
    }

    /// Changes the length of the next steps, s.
    pub fn set_time_step(&mut self, h: f64) -> Result<(), SimulationError> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(self.input(
                "scene",
                &self.scene.name,
                format!("time step {h} s, wanted > 0"),
            ));
        }
        self.stepper.settings.h = h;
        Ok(())
    }

    /// Places a rigid body: the frame in which it was described goes to `pose`. Joints are not
    /// asked.
    pub fn set_pose(
        &mut self,
        body: impl Handle<BodyId>,
        pose: Pose,
    ) -> Result<(), SimulationError> {
        let id = self.rigid(body)?;
        let body = &self.scene.bodies[id.index()];
        let unit = pose.orientation.length();
        if !(pose.is_finite() && unit > 1e-6) {
            return Err(self.input(
                "body",
                &body.name,
                "a pose that is not finite or not a rotation".into(),
            ));
        }
        let orientation = pose.orientation.normalize();
        let position = pose.position - orientation * body.origin;
        self.state.set_pose(id, &Pose { position, orientation });
        self.refresh();
        let Simulation { scene, state, now, .. } = self;
        for (i, angle) in state.angles.iter_mut().enumerate() {
            *angle = joint::coordinate(scene, JointId(i as u32), Coordinate::Angle, now).value;
        }
        self.refresh();
        Ok(())
    }

    /// Gives a rigid body velocities: of its centre of mass (m/s), and angular (rad/s), both along
    /// the axes of the world.
    pub fn set_velocity(
        &mut self,
        body: impl Handle<BodyId>,
        linear: DVec3,
        angular: DVec3,
    ) -> Result<(), SimulationError> {
        let id = self.rigid(body)?;
        if !(linear.is_finite() && angular.is_finite()) {
            let name = &self.scene.bodies[id.index()].name;
            return Err(self.input(
                "body",
                name,
                format!("velocities {linear}, {angular}, wanted finite numbers"),
            ));
        }
        let at = self.stepper.layout().velocity(id).expect("a rigid body has velocities");
        linear.write_to_slice(&mut self.state.v[at..]);
        self.state.pose(id).inverse_vector(angular).write_to_slice(&mut self.state.v[at + 3..]);
        self.refresh();
        Ok(())
    }

    /// The contacts of the last step, open ones included.
    pub fn contacts(&self) -> &[ContactPoint] {
        &self.contacts
    }

    /// What the contacts between two bodies exerted on `b` during the last step.
    pub fn forces_between(
        &self,
        a: impl Handle<BodyId>,
        b: impl Handle<BodyId>,
    ) -> Result<ForceBetween, SimulationError> {
        let (a, b) = (a.resolve(&self.scene)?, b.resolve(&self.scene)?);
        let center = self.state.pose(b).position;
        let mut sum = ForceBetween::default();
        for contact in &self.contacts {
            let sign = match contact.bodies {
                pair if pair == (a, b) => 1.0,
                pair if pair == (b, a) => -1.0,
                _ => continue,
            };
            sum.force += sign * contact.force;
            sum.torque += (contact.point - center).cross(sign * contact.force);
            sum.contacts += usize::from(contact.status != ContactStatus::Open);
        }
        Ok(sum)
    }

    /// Forces in all joints, contacts, motors and stops during the last step: those of least
    /// energy, and which of them are unique.
    pub fn reactions(&self) -> Reactions {
        if self.verdict.is_some() {
            reactions(&self.scene, &self.stepper)
        } else {
            Reactions::default()
        }
    }

    /// Where everything is, as flat arrays that keep their place in memory.
    pub fn state(&self) -> StateView<'_> {
        let nodes = self.stepper.layout().node_q;
        StateView {
            time: self.state.time,
            steps: self.state.steps,
            poses: &self.state.q[..nodes],
            velocities: &self.velocities,
            angles: &self.state.angles,
            nodes: &self.state.q[nodes..],
        }
    }

    /// Goes to another state of this scene: one that was kept, or made by another program.
    pub fn set_raw_state(&mut self, state: &State) -> Result<(), SimulationError> {
        let (found, wanted) = (
            (state.q.len(), state.v.len(), state.angles.len()),
            (self.state.q.len(), self.state.v.len(), self.state.angles.len()),
        );
        if found != wanted {
            return Err(SimulationError::Restore(format!(
                "it has {found:?} numbers, wanted {wanted:?}"
            )));
        }
        self.state.copy_from(state);
        self.verdict = None;
        self.contacts.clear();
        self.refresh();
        Ok(())
    }

    /// Measures the stages of steps by this clock ([`Stepper::stages`]); the library itself looks
    /// at none.
    pub fn set_clock(&mut self, clock: Clock) {
        self.stepper.clock = Some(clock);
    }

    /// Everything that changes, as the stepper sees it.
    pub fn raw_state(&self) -> &State {
        &self.state
    }

    /// The stepper and its buffers: what was assembled and solved in the last step.
    pub fn stepper(&self) -> &Stepper {
        &self.stepper
    }

    /// The problem of the last step, with the names of its blocks; empty before the first step.
    pub fn problem(&mut self) -> &Problem {
        self.stepper.problem(&self.scene)
    }

    /// The solution of the last step's problem.
    pub fn solution(&self) -> &Solution {
        self.stepper.solution()
    }

    /// Poses and velocities of the present, after the state has changed.
    fn refresh(&mut self) {
        let Simulation { scene, state, stepper, now, velocities, .. } = self;
        let layout = stepper.layout();
        now.set(scene, layout, state, stepper.settings.h);
        for (i, body) in scene.bodies.iter().enumerate() {
            let linear = match body.kind {
                Kind::Soft(id) => soft_velocity(scene, now, layout.nodes_of(id), id.index()),
                _ => now.twists[i].linear,
            };
            linear.write_to_slice(&mut velocities[6 * i..]);
            now.poses[i].vector(now.twists[i].angular).write_to_slice(&mut velocities[6 * i + 3..]);
        }
    }

    fn rigid(&self, body: impl Handle<BodyId>) -> Result<BodyId, SimulationError> {
        let id = body.resolve(&self.scene)?;
        let body = &self.scene.bodies[id.index()];
        match body.kind {
            Kind::Rigid(_) => Ok(id),
            _ => Err(self.input("body", &body.name, "it is not rigid, or it moves as told".into())),
        }
    }

    fn input(&self, what: &'static str, name: &str, why: String) -> SimulationError {
        SimulationError::Input { what, name: name.into(), why }
    }
}

/// The velocity of the centre of a soft body's volume, m/s.
fn soft_velocity(
    scene: &Scene,
    now: &StepInput,
    nodes: std::ops::Range<usize>,
    soft: usize,
) -> DVec3 {
    let mesh = &scene.softs[soft].mesh;
    let (mut sum, mut total) = (DVec3::ZERO, 0.0);
    for (e, element) in mesh.elements.iter().enumerate() {
        let [a, b, c, d] = mesh.corners(e);
        let volume = (b - a).cross(c - a).dot(d - a);
        total += volume;
        sum +=
            element.iter().map(|&n| now.node_velocities[nodes.start + n as usize]).sum::<DVec3>()
                * (0.25 * volume);
    }
    if total > 0.0 { sum / total } else { DVec3::ZERO }
}
