//! One step, in order:
//!
//! ```text
//!   scene → collide → assemble → solve → advance → record
//! ```
//!
//! The scheme is velocity–impulse (a differential variational inequality (Mangoni2018, eq. 3.22),
//! (Tasora2005, eq. 2.5)): velocities at the end of the step and the impulses over it are the
//! unknowns of one problem; positions follow with the new velocities,
//!
//! ```text
//!   x⁺ = x + h v⁺,      ρ⁺ = ρ exp(h ω⁺)
//! ```
//!
//! This is the Euler scheme, of first order. The leapfrog scheme ([`crate::assemble::leapfrog`])
//! reads the same v⁺ as the velocity of the middle of the step and is of second order between
//! events.
//!
//! Data flows one way; each stage writes into a buffer that the next one reads. The state is
//! touched in the last stage only, after the verdict. Scene, state and settings determine the next
//! state to the bit.

mod accuracy;
mod choice;
mod contacts;
mod error;
mod extrapolate;
pub mod fields;
mod impacts;
mod inspect;
pub mod ledger;
mod linearise;
mod meet;
mod project;
mod reacting;
mod sanity;
mod separate;
mod settings;
mod velocities;
mod verdict;
mod warm_start;

pub use accuracy::{SchemeError, TimeEstimate};
pub use choice::Ambiguity;
pub use error::{BuildError, StepError};
pub use fields::Fields;
pub use ledger::Ledger;
pub use sanity::Unresolved;
pub use settings::{Policy, Settings};
pub use verdict::{Overlap, Used, Verdict};

use crate::assemble::leapfrog::Jumps;
use crate::assemble::{
    Assembly, Element, Forest, StepInput, Treatment, element, joint, load_sharing,
};
use crate::control::Happened;
use crate::geometry::{Contact, RayCaster, World};
use crate::math::cliques::CliqueFactor;
use crate::math::pose::Pose;
use crate::problem::{Problem, Solution};
use crate::scene::body::reach;
use crate::scene::{BodyId, Coordinate, JointId, Kind, Layout, MaterialId, Scene, State};
use crate::solve::schur::Schur;
use crate::solve::{DynSolver, Limits, Method, Report, Sample, Status, auto, certificate};

/// Seconds spent in each stage since [`Stepper::clock`] was set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Finding contacts.
    pub collide: f64,
    /// Writing the problem.
    pub assemble: f64,
    /// Solving it.
    pub solve: f64,
    /// Judging, moving, remembering.
    pub advance: f64,
}

/// Something that tells the time, s.
pub type Clock = Box<dyn FnMut() -> f64 + Send>;

/// The method in use.
enum SolverChoice {
    Auto(Box<auto::Auto>),
    One(Method, Box<dyn DynSolver>),
}

/// Steps a scene. Holds buffers only: everything that counts is in the [`State`].
pub struct Stepper {
    /// How to step.
    pub settings: Settings,
    /// Seconds spent in each stage, if there is a clock.
    pub stages: Stages,
    /// Tells the time in seconds; the library itself looks at no clock.
    pub clock: Option<Clock>,
    layout: Layout,
    world: World,
    engine: SolverChoice,
    /// What the solves of this step may take.
    limits: Limits,
    /// Trees of bodies in the coordinates of their joints.
    forest: Forest,
    schur: Schur,
    /// True if the last method was given the smaller problem of `schur`.
    reduced: bool,
    now: StepInput,
    /// The greatest distance of any point of a body from its centre of mass, m.
    reaches: Vec<f64>,
    /// How far each body may go within the step, m.
    travel: Vec<f64>,
    /// How far a blow makes it go, where that is further, m.
    outrun: Vec<f64>,
    contacts: Vec<Contact>,
    assembly: Assembly,
    solution: Solution,
    /// Where the last solve began.
    guess: Solution,
    accounting: ledger::EnergyAccounting,
    /// Leapfrog: the velocities at the beginning of the step, and its jumps.
    began: Vec<f64>,
    jumps: Jumps,
    /// True if the acceleration at the beginning of the step was not known.
    fresh: bool,
    /// The radius at which the rotation of each body counts, m.
    spans: Vec<f64>,
    trials: accuracy::Trials,
    extrapolation: extrapolate::Extrapolation,
    /// The elements after the step, for their energy.
    after: (StepInput, Vec<Element>),
    factor: CliqueFactor,
    projector: project::Projector,
    separator: separate::Separator,
    impacts: impacts::Sequence,
    choice: choice::Choice,
    linearisation: linearise::Linearisation,
    /// True if the last step is not linearised as well as steps of a higher order ask for.
    rough: bool,
    history: Vec<Sample>,
    /// Poses for the search of contacts, if bodies are absent.
    places: Vec<Pose>,
    /// For sensors that look along rays; none without such.
    rays: Option<RayCaster>,
    happened: Happened,
}

/// Jumps of velocities below this, m/s, are noise at most: rows that are wrong by the velocity
/// tolerance before and after.
const MAX_JUMP_NOISE: f64 = 1e-5;

impl Stepper {
    /// A stepper for `scene`; names every fault of the scene.
    pub fn new(scene: &Scene, settings: Settings) -> Result<Stepper, BuildError> {
        scene.check().map_err(BuildError::Scene)?;
        if let Some(fault) = settings.fault() {
            return Err(BuildError::Settings(fault));
        }
        if let (Treatment::Penalty(_), Some(name)) = (settings.scheme.treatment, turning(scene)) {
            let why =
                format!("contacts as springs have no torsional or rolling friction: `{name}`");
            return Err(BuildError::Settings(why));
        }
        let layout = Layout::of(scene);
        let mut world = World::new(&scene.colliders)?;
        let joined = scene.joints.iter().filter(|j| !j.collide).map(|j| (j.a, j.b));
        world.exclude(joined.chain(scene.excluded.iter().copied()).map(|(a, b)| (a.0, b.0)));
        let engine = match settings.solver {
            Method::Auto => {
                let auto = auto::Settings {
                    stop: settings.stop,
                    certify: settings.certify,
                    ..auto::Settings::default()
                };
                SolverChoice::Auto(Box::new(auto::Auto::new(auto)))
            }
            method => {
                // Without a solve by another method: the certificate costs less than the step.
                let stop = settings.stop;
                let of_certificate = certificate::Settings {
                    factorizations: 0,
                    most_rows: auto::Settings::default().factorable,
                    ..certificate::Settings::default()
                };
                let solver = method.build_certified(stop, &settings.options, of_certificate);
                SolverChoice::One(method, solver.map_err(BuildError::Settings)?)
            }
        };
        let spans = accuracy::spans(scene, &reaches(scene));
        Ok(Stepper {
            assembly: Assembly::new(scene, &layout),
            forest: Forest::of(scene, &layout, settings.coordinates, (&spans, &Default::default())),
            stages: Stages::default(),
            clock: None,
            layout,
            world,
            engine,
            limits: Limits::default(),
            schur: Schur::default(),
            reduced: false,
            settings,
            now: StepInput::default(),
            reaches: reaches(scene),
            travel: Vec::new(),
            outrun: Vec::new(),
            contacts: Vec::new(),
            solution: Solution::default(),
            guess: Solution::default(),
            accounting: ledger::EnergyAccounting::default(),
            began: Vec::new(),
            jumps: Jumps::default(),
            fresh: true,
            spans,
            trials: accuracy::Trials::default(),
            extrapolation: extrapolate::Extrapolation::default(),
            after: Default::default(),
            factor: CliqueFactor::default(),
            projector: project::Projector::default(),
            separator: separate::Separator::default(),
            impacts: impacts::Sequence::default(),
            choice: choice::Choice::default(),
            linearisation: linearise::Linearisation::default(),
            rough: false,
            history: Vec::new(),
            places: Vec::new(),
            rays: reacting::ray_caster(scene),
            happened: Happened::default(),
        })
    }

    /// Takes one step of length [`Settings::h`]; with [`Settings::accuracy`] in as many parts as it
    /// needs. Sensors, events and controllers look at what came out.
    pub fn step(&mut self, scene: &Scene, state: &mut State) -> Result<Verdict, StepError> {
        if !scene.reacts() {
            return self.step_alone(scene, state);
        }
        // The first look of sensors and events belongs to the first step: refused together.
        let before = (!state.orders.begun).then(|| state.clone());
        let result = self.step_reacting(scene, state);
        if let (Err(_), Some(before)) = (&result, &before) {
            state.copy_from(before);
        }
        result
    }

    fn step_reacting(&mut self, scene: &Scene, state: &mut State) -> Result<Verdict, StepError> {
        self.begin(scene, state);
        if let Some(why) = state.orders.fault(scene) {
            return Err(StepError::Order { time: state.time, why });
        }
        let mut verdict = self.step_alone(scene, state)?;
        self.react(scene, state, &mut verdict);
        Ok(verdict)
    }

    fn step_alone(&mut self, scene: &Scene, state: &mut State) -> Result<Verdict, StepError> {
        self.limits = self.settings.deadline.map(Limits::seconds_from_now).unwrap_or_default();
        match (self.settings.accuracy, self.settings.time_error) {
            (Some(accuracy), _) => self.step_accurately(scene, state, accuracy),
            (None, TimeEstimate::Doubling) => self.step_doubled(scene, state, self.settings.h),
            (None, TimeEstimate::Free) if self.settings.order > 2 => {
                self.step_doubled(scene, state, self.settings.h)
            }
            (None, TimeEstimate::Free) => {
                self.step_by(scene, state, self.settings.h, self.settings.halvings)
            }
        }
    }

    /// One step of length `h`, in halves if it must be and may be.
    fn step_by(
        &mut self,
        scene: &Scene,
        state: &mut State,
        h: f64,
        halvings: u32,
    ) -> Result<Verdict, StepError> {
        sanity::state(scene, &self.layout, state)?;
        let mut solved = self.find_velocities(scene, state, h)?;
        // When time is up there is none for two halves either.
        let divisible = halvings > 0 && solved.report.reproducible;
        if divisible && !(solved.resolved && solved.followed) {
            return self.step_in_halves(scene, state, h, halvings);
        }
        if !solved.resolved {
            solved = self.solve_straight(scene, solved)?;
        }
        let linearise::Solved { report, solves, .. } = solved;
        let ended = self.now_s();
        let mut verdict = Verdict { solves, ..self.evaluate(scene, &report) };
        if !verdict.accepted {
            match self.settings.policy {
                // Halves begin with the same overlap; they turn half as far.
                // When time is up there is none for two halves either.
                Policy::Substep
                    if halvings > 0 && verdict.overlap.is_none() && verdict.reproducible =>
                {
                    return self.step_in_halves(scene, state, h, halvings);
                }
                Policy::Stop => {
                    let overlap = verdict.overlap.map(|overlap| overlap.reason(scene));
                    let unresolved = verdict.unresolved.map(|unresolved| unresolved.reason(scene));
                    let worst = overlap.or(unresolved).unwrap_or_else(|| verdict.worst_name(scene));
                    return Err(StepError::NotAccepted { verdict: Box::new(verdict), worst });
                }
                _ => {}
            }
        }
        self.advance(scene, state);
        self.record(scene, state, &mut verdict);
        self.stages.advance += self.now_s() - ended;
        Ok(verdict)
    }

    /// Two steps of half the length. An error leaves the state as it was, also if the first half
    /// succeeded.
    fn step_in_halves(
        &mut self,
        scene: &Scene,
        state: &mut State,
        h: f64,
        halvings: u32,
    ) -> Result<Verdict, StepError> {
        let before = state.clone();
        let halves = self.step_by(scene, state, 0.5 * h, halvings - 1).and_then(|first| {
            let second = self.step_by(scene, state, 0.5 * h, halvings - 1)?;
            Ok(first.then(&second))
        });
        if halves.is_err() {
            state.copy_from(&before);
        }
        halves
    }

    fn now_s(&mut self) -> f64 {
        self.clock.as_mut().map_or(0.0, |clock| clock())
    }

    /// The problem, and the guess of its solution.
    fn assemble(&mut self, scene: &Scene, state: &State) {
        self.assembly.held.clear();
        self.assembly.held.extend_from_slice(self.forest.held());
        self.assembly.assemble(
            scene,
            &self.layout,
            &self.now,
            &self.settings.scheme,
            &self.contacts,
        );
        if self.settings.warm_start {
            warm_start::recall(
                &state.reactions,
                &self.assembly,
                &self.contacts,
                self.now.kick(),
                &mut self.solution,
            );
        } else {
            self.solution.r.clear();
            self.solution.r.resize(self.assembly.problem.rows(), 0.0);
        }
        self.assembly.set_bounds(&self.solution.r);
        // Large piles are swept, and sweeps take many times as long over compliant rows.
        if self.settings.scheme.treatment == Treatment::Rigid
            && self.assembly.problem.rows() <= load_sharing::MOST_ROWS
        {
            let speed = self.settings.scheme.load_sharing * self.settings.stop.tolerance.velocity;
            load_sharing::apply(&mut self.assembly, scene, speed, &self.solution.r);
        }
        self.solution.v.clone_from(&state.v);
        self.guess.v.clone_from(&self.solution.v);
        self.guess.r.clone_from(&self.solution.r);
    }

    /// What the solution is worth.
    fn evaluate(&self, scene: &Scene, report: &Report) -> Verdict {
        let source = |block: usize| self.assembly.sources.get(block).copied();
        let overlap = self.overlap(scene);
        let unresolved = sanity::unresolved(
            scene,
            &self.layout,
            (&self.now, &self.solution, &self.contacts),
            !self.forest.active() || self.forest.followed(),
        );
        let solved = report.status == Status::Converged
            || report.error.accepted(&self.settings.stop.tolerance);
        Verdict {
            time: self.now.time + self.now.h,
            accepted: solved && overlap.is_none() && unresolved.is_none(),
            status: report.status,
            error: report.error,
            certificate: report.certificate,
            tolerance: self.settings.stop.tolerance,
            worst: source(report.error.worst_block),
            fastest: source(report.error.max_velocity_error_block),
            solver: match &self.engine {
                SolverChoice::Auto(auto) => Used(auto.last()),
                SolverChoice::One(method, _) => Used(Some(*method)),
            },
            work: report.work,
            counts: report.counts,
            reproducible: report.reproducible,
            penetration: self.contacts.iter().fold(0.0, |deepest, c| (-c.gap).max(deepest)),
            overlap,
            unresolved,
            not_unique: self.choice.ambiguous.and_then(|(k, why)| Some((source(k)?, why))),
            contacts: self.contacts.len(),
            rows: self.assembly.problem.rows(),
            substeps: 1,
            solves: 1,
            impact: false,
            scheme: None,
            energy: Ledger::default(),
        }
    }

    /// Velocities and positions at the end of the step.
    fn advance(&mut self, scene: &Scene, state: &mut State) {
        let h = self.now.h;
        // A jump is no acceleration: for what follows it came before the step.
        let before =
            self.impacts.any.then(|| (self.now.twists.clone(), self.now.node_velocities.clone()));
        if before.is_some() {
            self.impacts.jumped(&self.layout, &mut self.now);
        }
        if self.now.lag.is_some() {
            self.began.clone_from(&state.v);
            self.fresh = state.acceleration.is_empty();
            let noise = (10.0 * self.settings.stop.tolerance.velocity).min(MAX_JUMP_NOISE);
            self.jumps.find(&self.layout, &self.now, &self.assembly, &self.solution, noise);
            self.jumps.advance(scene, &self.layout, &self.now, &self.solution, state);
        } else {
            self.advance_euler(scene, state);
        }
        if self.forest.active() {
            let (leapfrog, jumps) = (self.now.lag.is_some(), &mut self.jumps);
            self.forest.place(scene, &self.now, state, |at| {
                if leapfrog { jumps.set_back(at) } else { 0.0 }
            });
        }
        if let Some((twists, nodes)) = before {
            self.impacts.set_back(scene, &self.layout, state);
            (self.now.twists, self.now.node_velocities) = (twists, nodes);
        }
        self.separator.separate(
            scene,
            &self.layout,
            &self.now,
            (&self.assembly, &self.solution),
            state,
        );
        state.settle_softs(scene, &self.layout);
        state.time += h;
        state.steps += 1;
        for _ in 0..self.settings.projections {
            self.projector.project(scene, &self.layout, state);
        }
    }

    /// Positions go on with the velocities at the end of the step.
    fn advance_euler(&mut self, scene: &Scene, state: &mut State) {
        let h = self.now.h;
        state.v.clone_from(&self.solution.v);
        state.lag = 0.0;
        state.acceleration.clear();
        for (i, body) in scene.bodies.iter().enumerate() {
            let id = BodyId(i as u32);
            match &body.kind {
                Kind::Rigid(_) => {
                    let (linear, angular) = state.twist(&self.layout, id);
                    state.set_pose(id, &self.now.poses[i].advanced(h * linear, h * angular));
                }
                Kind::Imposed(motion) => {
                    state.set_pose(id, &motion.pose(&body.pose, state.time + h))
                }
                Kind::Fixed | Kind::Soft(_) => {}
            }
        }
        for node in 0..self.layout.nodes.len() {
            let place = self.now.nodes[node] + h * state.node_velocity(&self.layout, node);
            state.set_node(&self.layout, node, place);
        }
    }

    /// Energies, joint angles, remembered reactions.
    fn record(&mut self, scene: &Scene, state: &mut State, verdict: &mut Verdict) {
        let mut energy =
            self.accounting.write(scene, &self.layout, &self.now, &self.assembly, &self.solution);
        if self.impacts.any {
            self.impacts.write(&self.assembly, &self.solution, self.accounting.mean(), &mut energy);
        }
        let leapfrog = self.now.lag.is_some().then(|| {
            let kinetic =
                |v: &[f64]| ledger::kinetic(scene, &self.layout, &self.assembly.meshes, v);
            let rotors =
                ledger::rotors_at(&self.layout, &self.now, &self.assembly.elements, &self.began);
            (kinetic(&self.began) + rotors, kinetic(&state.v))
        });
        let (after, elements) = &mut self.after;
        after.set(scene, &self.layout, state, self.now.h);
        element::evaluate(scene, after, elements);
        let (mut gravity_before, mut springs_before) =
            ledger::potential(scene, &self.now, &self.assembly.elements);
        let (mut gravity, mut springs) = ledger::potential(scene, after, elements);
        for (mesh, &first) in self.assembly.meshes.iter_mut().zip(&self.layout.node_starts) {
            gravity_before +=
                ledger::gravity_potential(scene, &mesh.masses, &self.now.nodes[first as usize..]);
            gravity +=
                ledger::gravity_potential(scene, &mesh.masses, &after.nodes[first as usize..]);
            springs_before += mesh.energy();
            mesh.evaluate(&after.nodes);
            springs += mesh.energy();
        }
        energy.potential_before = gravity_before + springs_before;
        energy.potential = gravity + springs;
        energy.potential_change =
            ledger::gravity_potential_change(scene, &self.now, after, &self.assembly.meshes)
                + (springs - springs_before);
        energy.scheme += energy.potential_change;
        let rotors = ledger::rotors(after, elements);
        if let Some((kinetic_before, kinetic)) = leapfrog {
            // From the middles of two steps to the times of the positions.
            energy.scheme +=
                (kinetic + rotors - energy.kinetic) - (kinetic_before - energy.kinetic_before);
            (energy.kinetic_before, energy.kinetic) = (kinetic_before, kinetic + rotors);
        } else {
            // The axes of rotors have turned.
            let turned = rotors - self.accounting.rotors;
            energy.kinetic += turned;
            energy.scheme += turned;
        }
        energy.throughput +=
            [energy.potential_change, energy.applied, energy.motors, energy.scheme, energy.dampers]
                .map(f64::abs)
                .iter()
                .sum::<f64>();
        verdict.energy = energy;
        self.read_angles(scene, state);
        warm_start::store(
            &mut state.reactions,
            &self.assembly,
            &self.contacts,
            self.now.kick(),
            &self.solution,
        );
        verdict.impact = self.impacts.any || self.now.lag.is_some() && self.jumps.any();
        verdict.scheme = self.free_estimate(scene);
    }
}

impl Stepper {
    /// Joint angles of the state that `after` was set to.
    fn read_angles(&self, scene: &Scene, state: &mut State) {
        for (i, angle) in state.angles.iter_mut().enumerate() {
            let id = JointId(i as u32);
            *angle = joint::coordinate(scene, id, Coordinate::Angle, &self.after.0).value;
        }
    }
}

/// A report on the problem in coordinates, in the numbers of the problem of bodies.
fn renumber(report: &mut Report, forest: &Forest, bodies: &Problem) {
    let block = |k: usize| forest.blocks().get(k).map_or(0, |&b| b as usize);
    let error = &mut report.error;
    let within = forest
        .problem()
        .J
        .row_starts
        .get(error.worst_block)
        .map_or(0, |first| error.worst_row.saturating_sub(*first));
    error.worst_block = block(error.worst_block);
    error.max_velocity_error_block = block(error.max_velocity_error_block);
    error.worst_row = bodies.J.row_starts.get(error.worst_block).map_or(0, |first| first + within);
    report.conflict.iter_mut().for_each(|k| *k = block(*k));
}

/// A material or a pair of materials with torsional or rolling friction.
fn turning(scene: &Scene) -> Option<&str> {
    let name = |m: MaterialId| scene.materials[m.index()].name.as_str();
    let material = scene.materials.iter().find(|m| m.torsion > 0.0 || m.rolling > 0.0);
    let pair = scene.surfaces.iter().find(|(_, s)| s.torsion > 0.0 || s.rolling > 0.0);
    material.map(|m| m.name.as_str()).or_else(|| pair.map(|((a, _), _)| name(*a)))
}

fn reaches(scene: &Scene) -> Vec<f64> {
    let mut out = vec![0.0f64; scene.bodies.len()];
    for collider in &scene.colliders {
        let far = collider.pose_in_body.position.length() + reach(&collider.shape);
        out[collider.body as usize] = out[collider.body as usize].max(far);
    }
    out
}
