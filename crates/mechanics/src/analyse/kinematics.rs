//! Motion that follows its drivers, and the efforts it takes.
//!
//! ```text
//!   C(q, t) = 0                        positions: Newton, to rounding           (place)
//!   J v = −∂C/∂t                       velocities, least ½ vᵀM v if something is not driven
//!   M v̇ = f + Jᵀ r                     efforts r of the drivers, reactions of the joints
//! ```
//!
//! 1. Positions at t from those before, moved on with their velocities.
//! 2. Velocities by `direct`.
//! 3. Accelerations from velocities at t ± ε (each with its own positions): error ε², rounding
//!    1e-16/ε; ε = 1e-4 s leaves about 1e-8.
//! 4. r by `direct`, with `f − M v̇` in place of the momentum; where rows are redundant r is one of
//!    many.
//!
//! Cost: three placements per instant. No contacts, no dry friction, no stops: they have no say in
//! where drivers lead.

use super::place::{Placement, place};
use super::{joint_rows, rigid_blocks};
use crate::assemble::element::evaluate;
use crate::assemble::{Scheme, Source, StepInput, Twist};
use crate::problem::{Problem, Rows, Solution};
use crate::scene::{BodyId, Drive, ForceId, ForceKind, Layout, MotorId, Scene, State};
use crate::solve::{Solver, StoppingCriteria, direct};

/// Distance of the instants from which accelerations are taken, s.
const DIFFERENCE_SECONDS: f64 = 1e-4;

/// Follows the drivers of a scene.
pub struct Kinematics<'a> {
    scene: &'a Scene,
    layout: Layout,
}

/// A driver's effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// The motor.
    pub motor: MotorId,
    /// Force or torque that it exerts along its coordinate, N or N m.
    pub effort: f64,
    /// Rate of its coordinate, m/s or rad/s.
    pub rate: f64,
}

impl<'a> Kinematics<'a> {
    /// Of a scene.
    pub fn new(scene: &'a Scene) -> Kinematics<'a> {
        Kinematics { scene, layout: Layout::of(scene) }
    }

    /// Brings `state` to time `t`: positions and velocities.
    pub fn go(&self, state: &mut State, t: f64) -> Placement {
        let h = t - state.time;
        for i in 0..self.scene.bodies.len() {
            let id = BodyId(i as u32);
            if self.layout.velocity(id).is_some() {
                let (linear, angular) = state.twist(&self.layout, id);
                state.set_pose(id, &state.pose(id).advanced(h * linear, h * angular));
            }
        }
        state.time = t;
        let placement = place(self.scene, state, true);
        let (mut problem, _) = self.rows(state);
        problem.k = vec![0.0; self.layout.v];
        let mut solution = Solution::zero(problem.n(), problem.rows());
        if problem.rows() > 0 && solve(&problem, &mut solution) {
            state.v.clone_from(&solution.v);
        } else {
            state.v.fill(0.0);
        }
        placement
    }

    /// What the drivers must do at the time of the state for the motion to happen.
    pub fn efforts(&self, state: &State) -> Vec<Effort> {
        let (mut before, mut after) = (state.clone(), state.clone());
        self.go(&mut before, state.time - DIFFERENCE_SECONDS);
        self.go(&mut after, state.time + DIFFERENCE_SECONDS);
        let acceleration: Vec<f64> = after
            .v
            .iter()
            .zip(&before.v)
            .map(|(a, b)| (a - b) / (2.0 * DIFFERENCE_SECONDS))
            .collect();
        let (mut problem, sources) = self.rows(state);
        let mut inertial = vec![0.0; self.layout.v];
        problem.H.mul(&acceleration, &mut inertial);
        problem.k = forces(self.scene, &self.layout, state);
        problem.k.iter_mut().zip(&inertial).for_each(|(k, m)| *k -= m);
        problem.w.fill(0.0);
        let mut solution = Solution::zero(problem.n(), problem.rows());
        if problem.rows() == 0 || !solve(&problem, &mut solution) {
            return Vec::new();
        }
        let driver = |(i, source): (usize, &Source)| match source {
            Source::Motor(motor) => Some(Effort {
                motor: *motor,
                effort: solution.r[i],
                rate: self.rate(*motor, state),
            }),
            _ => None,
        };
        sources.iter().enumerate().filter_map(driver).collect()
    }

    /// The rate of a motor's coordinate.
    fn rate(&self, motor: MotorId, state: &State) -> f64 {
        let motor = &self.scene.motors[motor.index()];
        let joint = &self.scene.joints[motor.joint.index()];
        let now = StepInput::at_rest(self.scene, state);
        let x = crate::assemble::joint::coordinate(self.scene, motor.joint, motor.coordinate, &now);
        let twist = |body: BodyId| {
            let (linear, angular) = state.twist(&self.layout, body);
            Twist { linear, angular }
        };
        x.a.rate(&twist(joint.a)) + x.b.rate(&twist(joint.b))
    }

    /// Rigid rows with the rates that motions impose, J v + w = 0.
    fn rows(&self, state: &State) -> (Problem, Vec<Source>) {
        let mut now = StepInput::default();
        // Imposed bodies: their velocity at the instant, from a symmetric difference.
        now.set(self.scene, &self.layout, state, 1.0);
        for (i, body) in self.scene.bodies.iter().enumerate() {
            now.twists[i] = Twist::default();
            if let crate::scene::Kind::Imposed(motion) = &body.kind {
                let (a, b) = (
                    motion.pose(&body.pose, state.time - DIFFERENCE_SECONDS),
                    motion.pose(&body.pose, state.time + DIFFERENCE_SECONDS),
                );
                now.twists[i] = Twist {
                    linear: (b.position - a.position) / (2.0 * DIFFERENCE_SECONDS),
                    angular: crate::math::pose::logarithm(
                        a.orientation.conjugate() * b.orientation,
                    ) / (2.0 * DIFFERENCE_SECONDS),
                };
            }
        }
        let assembly = joint_rows(
            self.scene,
            &self.layout,
            &now,
            &Scheme { joint_erp: 0.0, ..Scheme::default() },
        );
        let mut problem = Problem {
            H: assembly.problem.H.clone(),
            J: Rows::new(self.layout.v),
            ..Problem::default()
        };
        let mut sources = Vec::new();
        for k in rigid_blocks(&assembly) {
            let source = assembly.sources[k];
            let imposed = assembly.imposed[assembly.problem.J.row_starts[k]];
            let rate = match source {
                Source::Motor(id) => match &self.scene.motors[id.index()].drive {
                    Drive::Position(f) => f.derivative(state.time),
                    Drive::Speed(f) => f.value(state.time),
                    _ => continue,
                },
                _ => 0.0,
            };
            let block = assembly.problem.J.block(k);
            problem.J.push(block.rows, block.columns, block.values);
            problem.laws.push(assembly.problem.laws[k]);
            problem.w.push(imposed - rate);
            problem.E.push(0.0);
            sources.push(source);
        }
        (problem, sources)
    }
}

fn solve(problem: &Problem, solution: &mut Solution) -> bool {
    direct::Direct::new(direct::Settings { stop: StoppingCriteria::default() })
        .solve(problem, solution)
        .is_ok()
}

/// Every force but the reactions, at the time of the state: gravity, springs and dampers, applied
/// forces, efforts of motors, and the gyroscopic torque −ω × Iω (n), N, N m.
pub fn forces(scene: &Scene, layout: &Layout, state: &State) -> Vec<f64> {
    let mut now = StepInput::default();
    now.set(scene, layout, state, 1e-6);
    let mut out = vec![0.0; layout.v];
    for (i, body) in scene.bodies.iter().enumerate() {
        let (Some(mass), Some(at)) = (body.mass(), layout.velocity(BodyId(i as u32))) else {
            continue;
        };
        let spin = now.twists[i].angular;
        (mass.mass * scene.gravity).write_to_slice(&mut out[at..]);
        (-spin.cross(mass.inertia * spin)).write_to_slice(&mut out[at + 3..]);
    }
    let mut elements = Vec::new();
    evaluate(scene, &now, &mut elements);
    for e in &elements {
        let rates = e.rates(&now.twists[e.a.index()], &now.twists[e.b.index()]);
        for i in 0..e.count {
            let elastic: f64 = (0..e.count)
                .map(|j| e.stiffness[i][j] * e.measures[j].value + e.damping[i][j] * rates[j])
                .sum();
            crate::assemble::add_gradient(&mut out, layout, e.a, &e.measures[i].a, -elastic);
            crate::assemble::add_gradient(&mut out, layout, e.b, &e.measures[i].b, -elastic);
        }
    }
    for (f, force) in scene.forces.iter().enumerate() {
        match &force.kind {
            ForceKind::Applied(applied) => {
                let load =
                    crate::assemble::applied_load(ForceId(f as u32), applied, &now, state.time);
                crate::assemble::add_gradient(&mut out, layout, applied.body, &load, 1.0);
            }
            ForceKind::Tension(s) => {
                let crate::assemble::tension::Pull { measure, force, .. } =
                    crate::assemble::tension::pull(s, &now);
                crate::assemble::add_gradient(&mut out, layout, s.a, &measure.a, -force);
                crate::assemble::add_gradient(&mut out, layout, s.b, &measure.b, -force);
            }
            _ => {}
        }
    }
    for motor in &scene.motors {
        let Drive::Effort(effort) = &motor.drive else { continue };
        for term in crate::assemble::joint::motor_terms(motor) {
            let joint = &scene.joints[term.joint.index()];
            let x = crate::assemble::joint::coordinate(scene, term.joint, term.coordinate, &now);
            crate::assemble::add_gradient(
                &mut out,
                layout,
                joint.a,
                &x.a,
                term.factor * effort.value(state.time),
            );
            crate::assemble::add_gradient(
                &mut out,
                layout,
                joint.b,
                &x.b,
                term.factor * effort.value(state.time),
            );
        }
    }
    out
}
