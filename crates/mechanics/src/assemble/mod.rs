//! Scene + state + contacts → [`Problem`].
//!
//! ```text
//!   H = M + Σ Gᵀ(h²K + hC)G            elements: springs, bushings, drag
//!   k = M v + gyroscopic + h(gravity + applied + motors) − Σ Gᵀ(hKx + (h²K + hC) u₀)
//!   J, w, law                           one block per part of a joint, stop, motor, gear, contact
//! ```
//!
//! These are the formulas of the Euler scheme; [`leapfrog`] says what the second-order scheme has
//! in their place. x are the measures of an element ([`part`]), G their gradients, u₀ what the
//! imposed motions contribute to their rates. Everything is written into one [`Assembly`], whose
//! memory is used again in the next step.
//!
//! * [`part`]: scalar functions of two frames. [`joint`]: joints, stops, dry friction, motors,
//!   gears. [`contact`]: contacts.
//! * [`soft`]: soft bodies; [`tetrahedron`]: their element. [`penalty`]: contacts as springs, for
//!   comparison.
//! * [`tree`]: trees of bodies in the coordinates of their joints.
//! * [`leapfrog`]: the second-order scheme. [`element`]: springs, bushings, drag. [`tension`]:
//!   springs by formula. [`inertia`]: M and the gyroscopic impulse. [`rows`]: blocks of J.
//! * [`unilateral`]: gaps and overlaps. [`rolling`]: torsional and rolling friction.

pub mod contact;
pub mod element;
pub mod inertia;
pub mod joint;
pub mod leapfrog;
pub mod load_sharing;
pub mod part;
pub mod penalty;
pub mod rolling;
pub mod rows;
pub mod soft;
pub mod tension;
pub mod tetrahedron;
pub mod tree;
pub mod unilateral;

pub use contact::{Friction, Impacts};
pub use element::Element;
pub use leapfrog::{Impact, TimeScheme, Touch};
pub use part::{Gradient, Measure, Mount, Twist};
pub use penalty::{Penalty, Treatment};
pub use rolling::Bounded;
pub use tree::{Coordinates, Forest};

use crate::geometry::{Contact, Grip};
use crate::math::pose::{Pose, logarithm};
use crate::problem::Problem;
use crate::scene::{
    Applied, BodyId, Drive, ForceId, ForceKind, Frame, Function, GearId, JointId, Kind, Layout,
    MotorId, Orders, Scene, SoftId, State,
};
use glam::DVec3;

/// Where everything is and how it moves at the beginning of a step; bodies by id.
#[derive(Clone, Debug, Default)]
pub struct StepInput {
    /// Time at the beginning, s.
    pub time: f64,
    /// Length of the step h, s.
    pub h: f64,
    /// Pose of each body frame in the world.
    pub poses: Vec<Pose>,
    /// Velocity of each body before the impulses of the step; of an imposed one the mean over the
    /// step. Leapfrog: at time − lag.
    pub twists: Vec<Twist>,
    /// Leapfrog: by how much the impulses so far lag behind `time`, s; none under the Euler scheme.
    pub lag: Option<f64>,
    /// Leapfrog: the last acceleration of each body; angular without the gyroscopic part. Empty
    /// under the Euler scheme.
    pub accelerations: Vec<Twist>,
    /// Leapfrog: velocities at the middle of the step if the forces stay as they were; of imposed
    /// bodies the mean over the step.
    pub predicted: Vec<Twist>,
    /// Leapfrog: `predicted` as the coordinates of trees allow it, with the curvature of the step;
    /// empty without trees.
    pub chords: Vec<Twist>,
    /// Leapfrog: where `predicted` leads to at the end of the step.
    pub ahead: Vec<Pose>,
    /// Leapfrog: the contacts whose bodies meet within the step, ascending: their normals and
    /// points are those of that time.
    pub meetings: Vec<u32>,
    /// Leapfrog: true if the curvature of the joints over the step is left out, because it is not
    /// resolved.
    pub straight: bool,
    /// The angle about each joint's axis, counted over full turns, rad.
    pub angles: Vec<f64>,
    /// Places of the nodes of all soft bodies, m.
    pub nodes: Vec<DVec3>,
    /// Their velocities, m/s.
    pub node_velocities: Vec<DVec3>,
    /// Leapfrog: their velocities at the middle of the step if the forces stay as they were, m/s.
    pub node_predicted: Vec<DVec3>,
    /// For each contact, by which nodes (counted over all soft bodies) its two sides are held;
    /// empty without soft bodies.
    pub grips: Vec<[Option<Grip>; 2]>,
    /// What has been switched, told or taken out.
    pub orders: Orders,
}

/// How the scheme is to be set up.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Scheme {
    /// How positions and velocities go on.
    pub time: TimeScheme,
    /// Which friction law.
    pub friction: Friction,
    /// Error reduction of joints (ERP): the share of a joint's gap that one step corrects, 0…1.
    pub joint_erp: f64,
    /// Error reduction of contacts (ERP): the share of an overlap that one step corrects, 0…1.
    pub contact_erp: f64,
    /// Greatest speed at which an overlap is corrected, m/s.
    #[serde(with = "crate::scene::extended")]
    pub max_depenetration_velocity: f64,
    /// Impacts slower than this do not rebound, m/s.
    #[serde(with = "crate::scene::extended")]
    pub restitution_threshold: f64,
    /// Impacts at once, or one after the other.
    #[serde(default)]
    pub impacts: Impacts,
    /// Rigid contacts, or springs in their place.
    pub treatment: Treatment,
    /// Contacts that share a load yield at so many times the velocity tolerance ([`load_sharing`]);
    /// 0: perfectly rigid.
    pub load_sharing: f64,
}

impl Default for Scheme {
    fn default() -> Scheme {
        Scheme {
            time: TimeScheme::default(),
            friction: Friction::Coulomb,
            joint_erp: 1.0,
            contact_erp: 1.0,
            max_depenetration_velocity: 1.0,
            restitution_threshold: 1e-2,
            impacts: Impacts::Simultaneous,
            treatment: Treatment::Rigid,
            load_sharing: 2.0,
        }
    }
}

/// Whom a block of rows belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A part of a joint, by its place in the joint.
    Joint(JointId, u8),
    /// A stop of a joint.
    Limit(JointId),
    /// Dry friction in a joint.
    DryFriction(JointId),
    /// A motor.
    Motor(MotorId),
    /// A gear.
    Gear(GearId),
    /// A node that a body carries, by its place in the list of the soft body.
    Attachment(SoftId, u32),
    /// A contact of two bodies, by its place in the list of contacts.
    Contact(BodyId, BodyId, u32),
    /// Torsional friction of the contacts of two bodies that share one normal, by the first of
    /// them.
    Torsion(BodyId, BodyId, u32),
    /// Their rolling friction. Its first row holds the bound.
    Rolling(BodyId, BodyId, u32),
}

impl Source {
    /// The two bodies, if it is a contact.
    pub fn bodies_in_contact(&self) -> Option<(BodyId, BodyId)> {
        match *self {
            Source::Contact(a, b, _) => Some((a, b)),
            _ => None,
        }
    }

    /// Its name for a person.
    pub fn name(&self, scene: &Scene) -> String {
        let joint = |id: JointId| scene.joints[id.index()].name.as_str();
        let body = |id: BodyId| scene.bodies[id.index()].name.as_str();
        let pair = |a: BodyId, b: BodyId| format!("{}/{}", body(a), body(b));
        match *self {
            Source::Joint(id, part) => format!("joint {} part {}", joint(id), part),
            Source::Limit(id) => format!("limit of {}", joint(id)),
            Source::DryFriction(id) => format!("friction in {}", joint(id)),
            Source::Motor(id) => format!("motor {}", scene.motors[id.index()].name),
            Source::Gear(id) => format!("gear {}", scene.gears[id.index()].name),
            Source::Attachment(soft, i) => {
                let soft = &scene.softs[soft.index()];
                format!(
                    "node {} of {}",
                    soft.attached[i as usize].node,
                    scene.bodies[soft.body.index()].name
                )
            }
            Source::Contact(a, b, _) => format!("contact {}", pair(a, b)),
            Source::Torsion(a, b, _) => format!("torsional friction of {}", pair(a, b)),
            Source::Rolling(a, b, _) => format!("rolling friction of {}", pair(a, b)),
        }
    }
}

/// The impulses of a step that are known before it is solved, by kind (n each), N s, N m s.
#[derive(Clone, Debug, Default)]
pub struct Impulses {
    /// Gravity.
    pub gravity: Vec<f64>,
    /// What turns the angular momentum of a free body.
    pub gyroscopic: Vec<f64>,
    /// Applied forces.
    pub applied: Vec<f64>,
    /// Motors that give a force or torque.
    pub motors: Vec<f64>,
    /// Contacts that are springs at the beginning of the step.
    pub penalty: Vec<f64>,
}

/// A problem, and what the step must remember of how it came about.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// The problem; its names are empty, [`Assembly::names`] makes them.
    pub problem: Problem,
    /// Whom each block belongs to.
    pub sources: Vec<Source>,
    /// The share of each row's velocity that imposed motions and belts contribute (m), m/s, rad/s.
    pub imposed: Vec<f64>,
    /// The rigid unilateral rows, with their gaps and impacts.
    pub touches: Vec<Touch>,
    /// By block: the compliance that its normal row was given to share a load
    /// ([`load_sharing`]); empty where none was.
    pub shared: Vec<f64>,
    /// Number of blocks before the first contact.
    pub joint_blocks: usize,
    /// Torsional and rolling friction, after the contacts.
    pub bounded: Vec<Bounded>,
    /// The normal rows whose impulses bound it.
    pub pressing: Vec<u32>,
    /// The contacts that have it; empty once they are assembled.
    pressed: Vec<rolling::Pressed>,
    /// Springs, bushings, drag as they are now.
    pub elements: Vec<Element>,
    /// Soft bodies as they are now.
    pub meshes: Vec<soft::Mesh>,
    /// Known impulses.
    pub impulses: Impulses,
    /// The constant that each gear keeps.
    pub gears: Vec<f64>,
    /// For each joint, whether the coordinates of a tree hold it; empty without trees.
    pub held: Vec<bool>,
}

impl Assembly {
    /// An assembly for `scene`: the pattern of H, the constants of the gears.
    pub fn new(scene: &Scene, layout: &Layout) -> Assembly {
        let mut out = Assembly::default();
        out.problem.name = scene.name.clone();
        out.problem.H = inertia::pattern(scene, layout);
        out.meshes = soft::meshes(scene, layout);
        soft::pattern(&mut out.problem.H, &mut out.meshes, layout);
        let initial = StepInput::at_rest(scene, &State::initial(scene));
        out.gears = (0..scene.gears.len()).map(|g| joint::gear_value(scene, &initial, g)).collect();
        out
    }

    /// Writes the problem of one step.
    pub fn assemble(
        &mut self,
        scene: &Scene,
        layout: &Layout,
        now: &StepInput,
        scheme: &Scheme,
        contacts: &[Contact],
    ) {
        self.momentum(scene, layout, now);
        self.clear_rows(layout.v);
        joint::assemble(self, scene, layout, now, scheme);
        soft::attachments(self, scene, layout, now, scheme);
        self.joint_blocks = self.sources.len();
        contact::assemble(self, scene, layout, now, (scheme, contacts));
        rolling::assemble(self, scene, (layout, now), contacts);
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear_rows(&mut self, n: usize) {
        let problem = &mut self.problem;
        problem.J.clear(n);
        problem.E.clear();
        problem.w.clear();
        problem.laws.clear();
        problem.names.clear();
        self.sources.clear();
        self.imposed.clear();
        self.touches.clear();
        self.bounded.clear();
        self.pressing.clear();
        self.shared.clear();
    }

    /// H and k.
    fn momentum(&mut self, scene: &Scene, layout: &Layout, now: &StepInput) {
        for list in [
            &mut self.impulses.gravity,
            &mut self.impulses.gyroscopic,
            &mut self.impulses.applied,
            &mut self.impulses.motors,
            &mut self.impulses.penalty,
            &mut self.problem.k,
        ] {
            list.clear();
            list.resize(layout.v, 0.0);
        }
        inertia::assemble(self, scene, layout, now);
        soft::assemble(self, scene, layout, now);
        applied(&mut self.impulses.applied, scene, layout, now);
        efforts(&mut self.impulses.motors, scene, layout, now);
        let Impulses { gravity, gyroscopic, applied, motors, .. } = &self.impulses;
        for (i, k) in self.problem.k.iter_mut().enumerate() {
            *k += gravity[i] + gyroscopic[i] + applied[i] + motors[i];
        }
        element::assemble(self, scene, layout, now);
    }

    /// Fills in the names of the blocks, for files and messages.
    pub fn names(&mut self, scene: &Scene) {
        self.problem.names.clear();
        self.problem.names.extend(self.sources.iter().map(|s| s.name(scene)));
    }
}

impl StepInput {
    /// The state at rest: for what depends on positions alone.
    pub fn at_rest(scene: &Scene, state: &State) -> StepInput {
        let mut now = StepInput::default();
        now.set(scene, &Layout::of(scene), state, 1.0);
        now.twists.fill(Twist::default());
        now
    }

    /// Takes everything from `state` for a step of length `h` under a scheme.
    pub fn begin(
        &mut self,
        scene: &Scene,
        layout: &Layout,
        state: &State,
        (h, time): (f64, TimeScheme),
    ) {
        self.set(scene, layout, state, h);
        if time == TimeScheme::Leapfrog {
            leapfrog::predict(self, scene, layout, state);
        }
    }

    /// The time over which the impulses of the step act (h̄), s.
    #[inline]
    pub fn kick(&self) -> f64 {
        self.lag.map_or(self.h, |lag| lag + 0.5 * self.h)
    }

    /// The middle of the time over which the impulses of the step act, s.
    pub fn kick_middle(&self) -> f64 {
        self.time + self.lag.map_or(0.5 * self.h, |lag| 0.5 * (0.5 * self.h - lag))
    }

    /// The time over which a gap is corrected, s: a step, or the last one if that was longer.
    #[inline]
    pub fn correction_time(&self) -> f64 {
        self.lag.map_or(self.h, |lag| self.h.max(2.0 * lag))
    }

    /// The time over which the velocities before the impulses led to the present positions, s; at
    /// the beginning (lag 0) the step before is the mirror image of this one, none under the Euler
    /// scheme.
    pub fn last_step(&self) -> f64 {
        self.lag.map_or(0.0, |lag| if lag > 0.0 { 2.0 * lag } else { self.h })
    }

    /// The velocity of a body over the step as far as it is known before the step is solved: of
    /// imposed bodies exact.
    #[inline]
    pub fn expected(&self, body: BodyId) -> &Twist {
        let i = body.index();
        self.chords.get(i).or_else(|| self.predicted.get(i)).unwrap_or(&self.twists[i])
    }

    /// Takes everything from `state`, for a step of length `h`, in the memory at hand.
    pub fn set(&mut self, scene: &Scene, layout: &Layout, state: &State, h: f64) {
        self.time = state.time;
        self.h = h;
        self.lag = None;
        self.straight = false;
        self.meetings.clear();
        self.accelerations.clear();
        self.predicted.clear();
        self.chords.clear();
        self.ahead.clear();
        self.node_predicted.clear();
        self.poses.clear();
        self.twists.clear();
        for (i, body) in scene.bodies.iter().enumerate() {
            let id = BodyId(i as u32);
            let pose = state.pose(id);
            let twist = match &body.kind {
                Kind::Imposed(motion) => {
                    mean_twist(&pose, &motion.pose(&body.pose, state.time + h), h)
                }
                _ => {
                    let (linear, angular) = state.twist(layout, id);
                    Twist { linear, angular }
                }
            };
            self.poses.push(pose);
            self.twists.push(twist);
        }
        self.angles.clear();
        self.angles.extend_from_slice(&state.angles);
        self.nodes.clear();
        self.nodes.extend((0..layout.nodes.len()).map(|n| state.node(layout, n)));
        self.node_velocities.clear();
        self.node_velocities
            .extend((0..layout.nodes.len()).map(|n| state.node_velocity(layout, n)));
        self.orders.clone_from(&state.orders);
    }
}

/// The constant velocity that leads from one pose to another within `h`.
fn mean_twist(from: &Pose, to: &Pose, h: f64) -> Twist {
    Twist {
        linear: (to.position - from.position) / h,
        angular: logarithm(from.orientation.conjugate() * to.orientation) / h,
    }
}

/// Adds `s · gradient` to the six numbers of a free body.
#[inline]
pub(crate) fn add_gradient(
    out: &mut [f64],
    layout: &Layout,
    body: BodyId,
    gradient: &Gradient,
    s: f64,
) {
    if let Some(at) = layout.velocity(body) {
        for (out, x) in out[at..at + 6].iter_mut().zip(gradient.array()) {
            *out += s * x;
        }
    }
}

/// Applied forces, at the middle of the time over which they act.
fn applied(out: &mut [f64], scene: &Scene, layout: &Layout, now: &StepInput) {
    for (f, force) in scene.forces.iter().enumerate() {
        let id = ForceId(f as u32);
        if now.orders.force_off(id) {
            continue;
        }
        match &force.kind {
            ForceKind::Applied(applied) if !now.orders.absent(applied.body) => {
                let load = applied_load(id, applied, now, now.kick_middle());
                add_gradient(out, layout, applied.body, &load, now.kick());
            }
            ForceKind::Tension(s) if !(now.orders.absent(s.a) || now.orders.absent(s.b)) => {
                let tension::Pull { measure, known, .. } = tension::pull(s, now);
                add_gradient(out, layout, s.a, &measure.a, -now.kick() * known);
                add_gradient(out, layout, s.b, &measure.b, -now.kick() * known);
            }
            _ => {}
        }
    }
}

/// An applied force at a time, as a force (world) and a torque (body axes) about the centre of
/// mass.
pub(crate) fn applied_load(id: ForceId, applied: &Applied, now: &StepInput, t: f64) -> Gradient {
    let pose = &now.poses[applied.body.index()];
    let told = |i: usize, f: &Function| now.orders.push(id, i).unwrap_or_else(|| f.value(t));
    let mut push = DVec3::from_array(std::array::from_fn(|i| told(i, &applied.force[i])));
    let mut turn = DVec3::from_array(std::array::from_fn(|i| told(i + 3, &applied.torque[i])));
    match applied.frame {
        Frame::World => turn = pose.inverse_vector(turn),
        Frame::Body => push = pose.vector(push),
    }
    turn += applied.point.cross(pose.inverse_vector(push));
    Gradient { linear: push, angular: turn }
}

/// Motors that give a force or torque, at the middle of the time over which it acts.
fn efforts(out: &mut [f64], scene: &Scene, layout: &Layout, now: &StepInput) {
    for (m, motor) in scene.motors.iter().enumerate() {
        let id = MotorId(m as u32);
        let Drive::Effort(given) = &motor.drive else { continue };
        if joint::motor_off(scene, id, now) {
            continue;
        }
        let (effort, since) = now.orders.drive(id, given);
        let impulse = now.kick() * effort.value(now.kick_middle() - since);
        for term in joint::motor_terms(motor) {
            let joint = &scene.joints[term.joint.index()];
            let measure = joint::coordinate(scene, term.joint, term.coordinate, now);
            add_gradient(out, layout, joint.a, &measure.a, term.factor * impulse);
            add_gradient(out, layout, joint.b, &measure.b, term.factor * impulse);
        }
    }
}
