//! Brings bodies to where their joints meet.
//!
//! ```text
//!   least ½ δᵀM δ  with  J δ + C(q) = 0,     then  x ← x + δ,  ρ ← ρ exp(δ)
//! ```
//!
//! Newton's method on the gaps of all rigid joints and gears (and, for kinematics, of all drivers
//! at the time of the state), with the least motion in the metric of the masses. Far from closing,
//! rows that depend on each other in the end contradict each other; so each step is softened,
//! Levenberg's way:
//!
//! 1. Solve `(J M⁻¹Jᵀ + λ diag) r = −C`, δ = M⁻¹Jᵀr, by `direct`, which leaves dependent rows out.
//! 2. If `Σ C²/diag` fell: accept, λ ← λ/30. Otherwise: back, λ ← 10 λ.
//! 3. Stop when the gaps are rounding, or nothing falls any more: then the loop of the widest gap
//!    cannot close.
//!
//! Cost per step: one sparse factorization of J M⁻¹Jᵀ. The last steps converge quadratically.

use super::{joint_rows, rigid_blocks, span};
use crate::assemble::{Assembly, Scheme, Source, StepInput, joint};
use crate::problem::{Problem, Rows, Solution};
use crate::scene::{BodyId, Drive, JointId, Kind, Layout, Scene, State};
use crate::solve::{Solver, StoppingCriteria, direct};
use glam::DVec3;
use std::collections::VecDeque;

/// Gaps below this fraction of the scene's size count as closed.
pub const CLOSED_RELATIVE_GAP: f64 = 1e-11;
/// The most Newton steps.
const MAX_NEWTON_STEPS: usize = 200;

/// How the bodies came together.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The widest gap before, m or rad.
    pub before: f64,
    /// The widest gap that is left, m or rad.
    pub gap: f64,
    /// Whose gap that is.
    pub worst: Option<Source>,
    /// Everyone whose gap is at least a tenth of it.
    pub open: Vec<Source>,
    /// The loop of joints that cannot close, if one cannot.
    pub loop_: Vec<JointId>,
    /// The body that moved farthest, and how far, m.
    pub moved: Option<(BodyId, f64)>,
    /// Newton steps.
    pub steps: usize,
    /// The size that gaps are compared with, m.
    pub size: f64,
}

impl Placement {
    /// True if every joint meets.
    pub fn closed(&self) -> bool {
        self.gap <= CLOSED_RELATIVE_GAP * self.size.max(1.0)
    }
}

/// Moves the free bodies of `state` to where joints and gears hold, and with `drivers` also to
/// where motors of position and speed want their coordinates at the time of the state.
pub fn place(scene: &Scene, state: &mut State, drivers: bool) -> Placement {
    let layout = Layout::of(scene);
    let mut newton = Newton { scene, layout: &layout, drivers, constants: constants(scene) };
    newton.run(state)
}

/// The widest gap of the joints as they stand: whose, m or rad.
pub fn widest(scene: &Scene, state: &State) -> (f64, Option<Source>) {
    let layout = Layout::of(scene);
    let newton = Newton { scene, layout: &layout, drivers: false, constants: constants(scene) };
    let system = newton.system(state);
    let worst = (0..system.gaps.len())
        .max_by(|&a, &b| system.gaps[a].abs().total_cmp(&system.gaps[b].abs()));
    worst.map_or((0.0, None), |i| (system.gaps[i].abs(), Some(system.sources[i])))
}

/// The initial value of every driven coordinate.
fn constants(scene: &Scene) -> Vec<f64> {
    let initial = StepInput::at_rest(scene, &State::initial(scene));
    scene
        .motors
        .iter()
        .map(|m| joint::coordinate(scene, m.joint, m.coordinate, &initial).value)
        .collect()
}

struct Newton<'a> {
    scene: &'a Scene,
    layout: &'a Layout,
    drivers: bool,
    /// The initial value of each motor's coordinate.
    constants: Vec<f64>,
}

/// The equations in one position.
struct System {
    problem: Problem,
    sources: Vec<Source>,
    /// C, m or rad.
    gaps: Vec<f64>,
    /// Diagonal of J M⁻¹ Jᵀ.
    diagonal: Vec<f64>,
}

impl System {
    fn merit(&self) -> f64 {
        self.gaps.iter().zip(&self.diagonal).map(|(c, a)| c * c / a).sum()
    }

    fn widest(&self) -> f64 {
        self.gaps.iter().fold(0.0, |m, c| c.abs().max(m))
    }
}

impl Newton<'_> {
    fn run(&mut self, state: &mut State) -> Placement {
        for (i, body) in self.scene.bodies.iter().enumerate() {
            if let Kind::Imposed(motion) = &body.kind {
                state.set_pose(BodyId(i as u32), &motion.pose(&body.pose, state.time));
            }
        }
        let first = state.clone();
        let mut system = self.system(state);
        let before = system.widest();
        let (mut soft, mut steps) = (1e-8, 0);
        let size =
            span((0..self.scene.bodies.len()).map(|i| state.pose(BodyId(i as u32)).position));
        while steps < MAX_NEWTON_STEPS && system.merit() > 0.0 && soft < 1e8 {
            steps += 1;
            let Some(next) = self.step(state, &system, soft) else { break };
            let there = self.system(&next);
            let closed = system.widest() <= CLOSED_RELATIVE_GAP * size.max(1.0);
            // At the end only rounding changes.
            let done = closed && there.merit() > 0.25 * system.merit();
            if there.merit() < system.merit() {
                (*state, system) = (next, there);
                soft = (soft / 30.0).max(1e-15);
            } else {
                soft *= 10.0;
            }
            if done {
                break;
            }
        }
        self.angles(state);
        self.placement((&first, state), &system, (before, steps, size))
    }

    fn placement(
        &self,
        (first, last): (&State, &State),
        system: &System,
        (before, steps, size): (f64, usize, f64),
    ) -> Placement {
        let gap = system.widest();
        let worst = (0..system.gaps.len())
            .max_by(|&a, &b| system.gaps[a].abs().total_cmp(&system.gaps[b].abs()));
        let moved = (0..self.scene.bodies.len() as u32)
            .map(BodyId)
            .map(|b| (b, last.pose(b).position.distance(first.pose(b).position)));
        let mut out = Placement {
            before,
            gap,
            worst: worst.map(|i| system.sources[i]),
            open: Vec::new(),
            loop_: Vec::new(),
            moved: moved.max_by(|a, b| a.1.total_cmp(&b.1)),
            steps,
            size,
        };
        if !out.closed() {
            for (source, c) in
                system.sources.iter().zip(&system.gaps).filter(|(_, c)| c.abs() >= 0.1 * gap)
            {
                let source =
                    if let Source::Joint(id, _) = source { Source::Joint(*id, 0) } else { *source };
                if *c != 0.0 && !out.open.contains(&source) {
                    out.open.push(source);
                }
            }
            if let Some(Source::Joint(id, _)) = out.worst {
                out.loop_ = loop_of(self.scene, id);
            }
        }
        out
    }

    /// Angles count on from where they were.
    fn angles(&self, state: &mut State) {
        let now = StepInput::at_rest(self.scene, state);
        for i in 0..state.angles.len() {
            state.angles[i] = joint::coordinate(
                self.scene,
                JointId(i as u32),
                crate::scene::Coordinate::Angle,
                &now,
            )
            .value;
        }
    }

    fn step(&self, state: &State, system: &System, soft: f64) -> Option<State> {
        let mut problem = system.problem.clone();
        problem.E = system.diagonal.iter().map(|a| soft * a).collect();
        let mut solution = Solution::zero(problem.n(), problem.rows());
        direct::Direct::new(direct::Settings { stop: StoppingCriteria::default() })
            .solve(&problem, &mut solution)
            .ok()?;
        let mut next = state.clone();
        for i in 0..self.scene.bodies.len() {
            let id = BodyId(i as u32);
            if let Some(at) = self.layout.velocity(id) {
                let mut turn = DVec3::from_slice(&solution.v[at + 3..]);
                // Beyond a radian the linearisation says nothing.
                turn /= turn.length().max(1.0);
                next.set_pose(
                    id,
                    &state.pose(id).advanced(DVec3::from_slice(&solution.v[at..]), turn),
                );
            }
        }
        self.angles(&mut next);
        next.q.iter().all(|x| x.is_finite()).then_some(next)
    }

    /// Gaps and gradients in a state.
    fn system(&self, state: &State) -> System {
        let now = StepInput::at_rest(self.scene, state);
        let assembly = joint_rows(
            self.scene,
            self.layout,
            &now,
            &Scheme { joint_erp: 1.0, ..Scheme::default() },
        );
        let mut problem = Problem {
            H: assembly.problem.H.clone(),
            k: vec![0.0; self.layout.v],
            ..Problem::default()
        };
        problem.J = Rows::new(self.layout.v);
        let (mut sources, mut gaps, mut diagonal) = (Vec::new(), Vec::new(), Vec::new());
        for k in rigid_blocks(&assembly) {
            let source = assembly.sources[k];
            let Some(gap) = self.gap(&assembly, k, state, &now) else { continue };
            let block = assembly.problem.J.block(k);
            problem.J.push(block.rows, block.columns, block.values);
            problem.laws.push(assembly.problem.laws[k]);
            problem.w.push(gap);
            sources.push(source);
            gaps.push(gap);
            let weight = |(&j, x): (&u32, &f64)| x * x / problem.H.get(j as usize, j as usize);
            diagonal.push(
                block
                    .columns
                    .iter()
                    .zip(block.row(0))
                    .map(weight)
                    .sum::<f64>()
                    .max(f64::MIN_POSITIVE),
            );
        }
        problem.E = vec![0.0; gaps.len()];
        System { problem, sources, gaps, diagonal }
    }

    /// The gap of a block; none if it takes no part.
    fn gap(&self, assembly: &Assembly, k: usize, state: &State, now: &StepInput) -> Option<f64> {
        let Source::Motor(id) = assembly.sources[k] else {
            // With h = 1 and nothing moving, w is the gap.
            return Some(assembly.problem.w[assembly.problem.J.row_starts[k]]);
        };
        if !self.drivers {
            return None;
        }
        let motor = &self.scene.motors[id.index()];
        let x = joint::coordinate(self.scene, motor.joint, motor.coordinate, now).value;
        match &motor.drive {
            Drive::Position(f) => Some(x - f.value(state.time)),
            Drive::Speed(f) => Some(x - self.constants[id.index()] - f.integral(state.time)),
            _ => None,
        }
    }
}

/// The shortest loop of joints through a joint; the joint alone if it closes none. What is not free
/// to move is one body.
fn loop_of(scene: &Scene, id: JointId) -> Vec<JointId> {
    let node =
        |body: BodyId| if scene.bodies[body.index()].mass().is_some() { body.index() } else { 0 };
    let (start, end) = (node(scene.joints[id.index()].a), node(scene.joints[id.index()].b));
    let mut from: Vec<Option<(usize, JointId)>> = vec![None; scene.bodies.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(here) = queue.pop_front() {
        for (j, joint) in scene.joints.iter().enumerate() {
            let other = JointId(j as u32);
            let (a, b) = (node(joint.a), node(joint.b));
            for (near, far) in [(a, b), (b, a)] {
                if other != id && near == here && far != start && from[far].is_none() {
                    from[far] = Some((here, other));
                    queue.push_back(far);
                }
            }
        }
    }
    let mut out = vec![id];
    let mut here = end;
    while let Some((before, joint)) = from[here] {
        out.push(joint);
        here = before;
        if here == start {
            break;
        }
    }
    out
}
