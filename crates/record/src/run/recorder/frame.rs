//! The frame of a moment: bodies, contacts, soft bodies and channels, with the error of each block.

use super::{FLUSH_INTERVAL, FRAMES_PER_CHUNK, Recorder, soft};
use crate::record::History;
use crate::record::frame::{
    BODY, CONTACT, CONTACT_QUANTUM_RATIO, DROP_ERROR, DROP_FORCE, DROP_VELOCITY, Frame,
    NORMAL_STEPS, QUATERNION_STEPS,
};
use crate::record::words::{float, length};
use glam::DVec3;
use signorini_mechanics::assemble::{Source, StepInput};
use signorini_mechanics::scene::{BodyId, JointId, Kind, Quantity, Scene, State};
use signorini_mechanics::step::Stepper;
use std::io;

/// Contacts that a frame keeps at most: the strongest.
const MAX_CONTACTS_OF_FRAME: usize = 20_000;
/// Samples of the solver's history that are kept of a step.
const MAX_SAMPLES_OF_STEP: usize = 200;

impl Recorder {
    /// Takes note of the present moment.
    pub fn frame(&mut self, scene: &Scene, stepper: &Stepper, state: &State) -> io::Result<()> {
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.thin) {
            return Ok(());
        }
        let errors = self.errors(scene, stepper);
        let mut frame = Frame { time: state.time, step: state.steps as u32, ..Frame::default() };
        self.bodies(scene, stepper, state, &errors, &mut frame);
        self.contacts(stepper, state, &errors, &mut frame);
        for (nodes, scalar) in soft::state(scene, stepper, state) {
            for axis in 0..3 {
                frame.soft.extend(nodes.iter().map(|p| length(p[axis], self.head.quantum)));
            }
            frame.soft.extend(scalar.iter().map(|x| float(*x, DROP_VELOCITY)));
        }
        self.frames.push(frame);
        self.measure(scene, stepper, state);
        self.history(stepper, state);
        let due = self.frames.len() >= FRAMES_PER_CHUNK || self.flushed.elapsed() > FLUSH_INTERVAL;
        if due { self.flush() } else { Ok(()) }
    }

    /// The error of each block of the last step, J.
    fn errors(&mut self, scene: &Scene, stepper: &Stepper) -> Errors {
        let mut out = Errors { blocks: Vec::new(), bodies: vec![0.0; scene.bodies.len()] };
        let (problem, solution) = stepper.posed();
        let fits = problem.rows() > 0
            && solution.r.len() == problem.rows()
            && solution.v.len() == problem.n();
        if !fits || self.prepared.prepare(problem).is_err() {
            return out;
        }
        self.prepared.local_residual(problem, &solution);
        let posed = self.prepared.block_errors(&problem.laws, &problem.J.row_starts, &solution.r);
        let sources = &stepper.assembly().sources;
        // Joints that hold trees together have no block, and no error.
        out.blocks = vec![0.0; sources.len()];
        for (error, block) in posed.iter().zip(stepper.posed_blocks().iter()) {
            out.blocks[*block as usize] = *error;
        }
        for (error, source) in out.blocks.iter().zip(sources) {
            owners(scene, source).for_each(|body| out.bodies[body.index()] += error);
        }
        out
    }

    fn bodies(
        &mut self,
        scene: &Scene,
        stepper: &Stepper,
        state: &State,
        errors: &Errors,
        frame: &mut Frame,
    ) {
        let n = self.head.moving.len();
        frame.bodies = vec![0; BODY * n];
        for k in 0..n {
            let body = self.head.moving[k];
            let id = BodyId(body);
            let pose = state.pose(id);
            for point in
                self.held[id.index()].iter().map(|p| pose.point(*p)).filter(|p| p.is_finite())
            {
                self.room = [self.room[0].min(point), self.room[1].max(point)];
            }
            let (v, w) = velocity(scene, stepper, state, id);
            let lengths = pose.position.to_array().map(|x| length(x, self.head.quantum));
            let there = if state.orders.absent(id) { 0.0 } else { 1.0 };
            let turns =
                pose.orientation.to_array().map(|x| length(there * x, 1.0 / QUATERNION_STEPS));
            let speeds =
                [v.to_array(), w.to_array()].concat().into_iter().map(|x| float(x, DROP_VELOCITY));
            let error = float(errors.bodies[id.index()], DROP_ERROR);
            for (column, word) in
                lengths.into_iter().chain(turns).chain(speeds).chain([error]).enumerate()
            {
                frame.bodies[column * n + k] = word;
            }
        }
    }

    /// Contacts that carried something during the step; forces are means over it.
    fn contacts(&self, stepper: &Stepper, state: &State, errors: &Errors, frame: &mut Frame) {
        let h = state.reactions.h;
        let blocks =
            stepper.assembly().sources.iter().enumerate().filter_map(|(k, source)| match *source {
                Source::Contact(a, b, c) => Some((k, [a.0, b.0], c as usize)),
                _ => None,
            });
        // The reactions are stored in the order of the blocks.
        let mut list: Vec<([u32; 2], [u32; CONTACT], f64)> = Vec::new();
        for ((k, pair, c), reaction) in blocks.zip(&state.reactions.contacts) {
            let (Some(contact), force) = (stepper.contacts().get(c), reaction.impulse / h) else {
                continue;
            };
            if !(force.length() > 0.0) {
                continue;
            }
            let point = (0.5 * (contact.point_a + contact.point_b))
                .to_array()
                .map(|x| length(x, self.head.quantum * CONTACT_QUANTUM_RATIO));
            let normal = contact.normal.to_array().map(|x| length(x, 1.0 / NORMAL_STEPS));
            let forces = force.to_array().map(|x| float(x, DROP_FORCE));
            let last = [
                float(contact.gap, DROP_FORCE),
                float(errors.blocks.get(k).copied().unwrap_or(0.0), DROP_ERROR),
            ];
            let mut words = [0; CONTACT];
            words
                .iter_mut()
                .zip(point.into_iter().chain(normal).chain(forces).chain(last))
                .for_each(|(w, x)| *w = x);
            list.push((pair, words, force.length()));
        }
        if list.len() > MAX_CONTACTS_OF_FRAME {
            list.select_nth_unstable_by(MAX_CONTACTS_OF_FRAME, |a, b| b.2.total_cmp(&a.2));
            list.truncate(MAX_CONTACTS_OF_FRAME);
        }
        list.sort_by_key(|(pair, words, _)| (*pair, *words));
        frame.pairs = list.iter().map(|(pair, ..)| *pair).collect();
        frame.contacts = (0..CONTACT)
            .flat_map(|column| list.iter().map(move |(_, words, _)| words[column]))
            .collect();
    }

    /// How the solver came to the present answer, thinned.
    fn history(&mut self, stepper: &Stepper, state: &State) {
        let samples = stepper.history();
        if samples.len() < 2 {
            return;
        }
        let every = samples.len().div_ceil(MAX_SAMPLES_OF_STEP);
        let kept = || {
            samples
                .iter()
                .enumerate()
                .filter(|(i, _)| i % every == 0 || i + 1 == samples.len())
                .map(|(_, s)| s)
        };
        let joule = |x: f64| if x.is_finite() { x } else { f64::MAX };
        self.histories.push(History {
            step: state.steps,
            solver: self.solver.into(),
            work: kept().map(|s| s.work).collect(),
            joule: kept().map(|s| joule(f64::from(s.joule as f32))).collect(),
        });
    }

    /// A row of the channels.
    fn measure(&mut self, scene: &Scene, stepper: &Stepper, state: &State) {
        if self.channels.is_empty() {
            return;
        }
        let mut now = StepInput::default();
        now.set(scene, stepper.layout(), state, stepper.settings.h);
        let value = |q: &Quantity| stepper.measure_with(scene, state, &now, q) as f32;
        self.channel_rows.push(self.channels.iter().map(value).collect());
    }
}

/// The errors of a step, J.
struct Errors {
    blocks: Vec<f64>,
    bodies: Vec<f64>,
}

/// The bodies that a block of rows holds.
fn owners(scene: &Scene, source: &Source) -> impl Iterator<Item = BodyId> {
    let ends = |joint: JointId| [scene.joints[joint.index()].a, scene.joints[joint.index()].b];
    let list: Vec<BodyId> = match *source {
        Source::Joint(joint, _) | Source::Limit(joint) | Source::DryFriction(joint) => {
            ends(joint).to_vec()
        }
        Source::Motor(motor) => ends(scene.motors[motor.index()].joint).to_vec(),
        Source::Gear(gear) => {
            scene.gears[gear.index()].terms.iter().flat_map(|t| ends(t.joint)).collect()
        }
        Source::Contact(a, b, _) | Source::Torsion(a, b, _) | Source::Rolling(a, b, _) => {
            vec![a, b]
        }
        Source::Attachment(soft, i) => {
            let soft = &scene.softs[soft.index()];
            vec![soft.body, soft.attached[i as usize].body]
        }
    };
    list.into_iter()
}

/// Linear (world) and angular velocity (body axes); of an imposed body by the difference of two
/// poses.
fn velocity(scene: &Scene, stepper: &Stepper, state: &State, body: BodyId) -> (DVec3, DVec3) {
    match &scene.bodies[body.index()].kind {
        Kind::Imposed(motion) => {
            let (h, initial) = (stepper.settings.h, &scene.bodies[body.index()].pose);
            let (before, after) =
                (motion.pose(initial, state.time - h), motion.pose(initial, state.time));
            let turn = signorini_solve::math::pose::logarithm(
                before.orientation.conjugate() * after.orientation,
            );
            ((after.position - before.position) / h, turn / h)
        }
        _ => state.twist(stepper.layout(), body),
    }
}
