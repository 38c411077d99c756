//! The energy ledger: where the joules of a step went.
//!
//! The mass matrix is constant in the chosen velocities (that of rotors within a step), so the
//! kinetic energy changes exactly by the work of every impulse p at the mean v̄ of the old and the
//! new velocity:
//!
//! ```text
//!   ½ v⁺ᵀM v⁺ − ½ vᵀM v = Σ p·v̄,      v̄ = ½(v + v⁺)
//! ```
//!
//! Each impulse is put where it belongs, by its own formula:
//!
//! | term | impulses |
//! |---|---|
//! | friction | tangents of contacts, their torsional and rolling friction, dry friction: −r·ū |
//! | impact | normals of contacts, stops: −r·ū (correcting a shallow overlap counts negative); contacts that are springs, friction included |
//! | dampers | h C u⁺·ū of springs, bushings, drag, soft bodies |
//! | motors | motors, and what imposed bodies and belts do: −r·u₀ |
//! | applied | applied forces |
//! | scheme | what the time step itself does: work of gravity and springs against the change of their potential, joints whose directions turn within a step, the gyroscopic impulse, correction of joints, bodies moved out of overlaps |
//! | events | what events bring or take: bodies that come or go, springs and rotors that are switched |
//! | solver | the defect ρ = k + Jᵀr − Hv of the momentum equation: −ρ·v̄ |
//!
//! Under the leapfrog scheme v and v⁺ are velocities of the middles of two steps. The ledger shows
//! the kinetic energies at the times of the positions; what lies between, at the beginning and at
//! the end, is part of the scheme's term.
//!
//! No term is computed as the rest of the others: [`Ledger::residual`] is rounding, or the assembly
//! is wrong.

use crate::assemble::{Assembly, Source, StepInput, Twist, soft};
use crate::math::dot;
use crate::problem::Solution;
use crate::scene::{BodyId, Layout, Scene};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Energies at the beginning and the end of a stretch of time, and what happened between, J.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Kinetic energy at the beginning.
    pub kinetic_before: f64,
    /// Kinetic energy at the end.
    pub kinetic: f64,
    /// Potential energy (gravity, springs) at the beginning.
    pub potential_before: f64,
    /// Potential energy at the end.
    pub potential: f64,
    /// Taken by friction.
    pub friction: f64,
    /// Taken by impacts.
    pub impact: f64,
    /// Taken by dampers and drag.
    pub dampers: f64,
    /// Given by motors, imposed motions and belts.
    pub motors: f64,
    /// Given by applied forces.
    pub applied: f64,
    /// Given by the time-stepping scheme.
    pub scheme: f64,
    /// Given by the solver's defect of momentum.
    pub solver: f64,
    /// Brought by events (negative: taken): bodies that came or went, forces and rotors that were
    /// switched.
    #[serde(default)]
    pub events: f64,
    /// Change of potential energy, summed term by term (no cancellation of large heights).
    pub potential_change: f64,
    /// Σ |impulse| |velocity| over every impulse and every unknown: what rounding is relative to.
    pub throughput: f64,
}

impl Ledger {
    /// What does not balance: rounding.
    pub fn residual(&self) -> f64 {
        let stored = self.kinetic - self.kinetic_before + self.potential_change;
        stored + self.friction + self.impact + self.dampers
            - self.motors
            - self.applied
            - self.scheme
            - self.solver
            - self.events
    }

    /// What the residual is to be compared with, J.
    pub fn throughput(&self) -> f64 {
        self.throughput
    }

    /// The ledger of this stretch of time and the next one.
    pub fn then(&self, next: &Ledger) -> Ledger {
        Ledger {
            kinetic_before: self.kinetic_before,
            potential_before: self.potential_before,
            kinetic: next.kinetic,
            potential: next.potential,
            friction: self.friction + next.friction,
            impact: self.impact + next.impact,
            dampers: self.dampers + next.dampers,
            motors: self.motors + next.motors,
            applied: self.applied + next.applied,
            scheme: self.scheme + next.scheme,
            solver: self.solver + next.solver,
            events: self.events + next.events,
            potential_change: self.potential_change + next.potential_change,
            throughput: self.throughput + next.throughput,
        }
    }
}

/// Work space of the ledger.
#[derive(Clone, Debug, Default)]
pub struct EnergyAccounting {
    mean: Vec<f64>,
    defect: Vec<f64>,
    u: Vec<f64>,
    /// Kinetic energy of the rotors at the end of the step, along the directions of its beginning,
    /// J.
    pub rotors: f64,
}

impl EnergyAccounting {
    /// Everything but the potential energy, from the solved step.
    pub fn write(
        &mut self,
        scene: &Scene,
        layout: &Layout,
        now: &StepInput,
        assembly: &Assembly,
        solution: &Solution,
    ) -> Ledger {
        let mut ledger = Ledger::default();
        self.mean.clear();
        self.mean.resize(layout.v, 0.0);
        for (i, body) in scene.bodies.iter().enumerate() {
            let (Some(mass), Some(at)) = (body.mass(), layout.velocity(BodyId(i as u32))) else {
                continue;
            };
            let (old, new) = (&now.twists[i], twist_at(&solution.v, at));
            ledger.kinetic_before += mass.kinetic(old.linear, old.angular);
            ledger.kinetic += mass.kinetic(new.linear, new.angular);
            (0.5 * (old.linear + new.linear)).write_to_slice(&mut self.mean[at..]);
            (0.5 * (old.angular + new.angular)).write_to_slice(&mut self.mean[at + 3..]);
        }
        let after = |node: u32| {
            layout.nodes[node as usize]
                .map_or(DVec3::ZERO, |at| DVec3::from_slice(&solution.v[at as usize..]))
        };
        for mesh in &assembly.meshes {
            let work = mesh.work(now, after);
            ledger.kinetic_before += work.kinetic_before;
            ledger.kinetic += work.kinetic;
            ledger.scheme += work.elastic;
            ledger.dampers += work.damped;
        }
        for (node, old) in now.node_velocities.iter().enumerate() {
            if let Some(at) = layout.nodes[node] {
                (0.5 * (*old + after(node as u32))).write_to_slice(&mut self.mean[at as usize..]);
            }
        }
        ledger.throughput = ledger.kinetic + ledger.kinetic_before;
        let impulses = &assembly.impulses;
        ledger.applied = dot(&impulses.applied, &self.mean);
        ledger.motors = dot(&impulses.motors, &self.mean);
        ledger.scheme += dot(&impulses.gravity, &self.mean) + dot(&impulses.gyroscopic, &self.mean);
        ledger.impact -= dot(&impulses.penalty, &self.mean);
        self.reactions(assembly, solution, &mut ledger);
        self.elements(layout, now, assembly, solution, &mut ledger);
        self.solver(assembly, solution, &mut ledger);
        ledger
    }

    /// The mean of the velocities before and after the step (n).
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The work of every reaction at the mean velocity.
    fn reactions(&mut self, assembly: &Assembly, solution: &Solution, ledger: &mut Ledger) {
        let problem = &assembly.problem;
        self.u.clear();
        self.u.resize(problem.rows(), 0.0);
        problem.J.mul(&self.mean, &mut self.u);
        // An impact takes its energy at the velocities of its own time, the rest belongs to the
        // scheme.
        for touch in &assembly.touches {
            let (Some(impact), row) = (touch.impact, touch.row as usize) else { continue };
            let work = solution.r[row] * (self.u[row] + assembly.imposed[row]);
            let taken = 0.5 * (1.0 - impact.restitution) * impact.speed * solution.r[row];
            ledger.impact += work - taken;
            ledger.scheme += work - taken;
        }
        for (block, source) in problem.J.blocks().zip(&assembly.sources) {
            for (p, i) in block.range().enumerate() {
                let (r, imposed) = (solution.r[i], assembly.imposed[i]);
                let work = r * (self.u[i] + imposed);
                ledger.motors -= r * imposed;
                match source {
                    Source::Joint(..) | Source::Gear(_) | Source::Attachment(..) => {
                        ledger.scheme += work
                    }
                    Source::Motor(_) => ledger.motors += work,
                    Source::DryFriction(_) | Source::Torsion(..) | Source::Rolling(..) => {
                        ledger.friction -= work
                    }
                    Source::Limit(_) => ledger.impact -= work,
                    Source::Contact(..) if p == 0 => ledger.impact -= work,
                    Source::Contact(..) => ledger.friction -= work,
                }
            }
        }
    }

    fn elements(
        &mut self,
        layout: &Layout,
        now: &StepInput,
        assembly: &Assembly,
        solution: &Solution,
        ledger: &mut Ledger,
    ) {
        let after = |body: BodyId| {
            layout.velocity(body).map_or(*now.expected(body), |at| twist_at(&solution.v, at))
        };
        // The velocity of imposed motions, at the mean of before and after as everything else.
        let carried = |body: BodyId| match layout.velocity(body) {
            Some(_) => Twist::default(),
            None => now.twists[body.index()].mean(now.expected(body)),
        };
        self.rotors = 0.0;
        for e in &assembly.elements {
            let old = e.rates(&now.twists[e.a.index()], &now.twists[e.b.index()]);
            let new = e.rates(&after(e.a), &after(e.b));
            let imposed = e.rates(&carried(e.a), &carried(e.b));
            let work = e.work(now, &old, &new, &imposed);
            ledger.scheme += work.elastic;
            ledger.dampers += work.damped;
            ledger.motors += work.imposed;
            // A rotor: its energy, and what imposed motions do through it.
            ledger.kinetic_before += e.kinetic(old[0]);
            ledger.kinetic += e.kinetic(new[0]);
            self.rotors += e.kinetic(new[0]);
            ledger.motors += e.inertia * (new[0] - old[0]) * imposed[0];
        }
    }

    fn solver(&mut self, assembly: &Assembly, solution: &Solution, ledger: &mut Ledger) {
        let problem = &assembly.problem;
        self.defect.clear();
        self.defect.resize(problem.n(), 0.0);
        problem.H.mul(&solution.v, &mut self.defect);
        for ((defect, k), mean) in self.defect.iter_mut().zip(&problem.k).zip(&self.mean) {
            ledger.throughput += (k.abs() + defect.abs()) * mean.abs();
            *defect = k - *defect;
        }
        for block in problem.J.blocks() {
            for (i, row) in block.range().enumerate() {
                let reach: f64 = block
                    .columns
                    .iter()
                    .zip(block.row(i))
                    .map(|(&j, x)| (x * self.mean[j as usize]).abs())
                    .sum();
                ledger.throughput += solution.r[row].abs() * reach;
            }
        }
        problem.J.add_transposed(&solution.r, &mut self.defect);
        ledger.solver = -dot(&self.defect, &self.mean);
    }
}

/// Kinetic energy of the rotors, J.
pub fn rotors(now: &StepInput, elements: &[crate::assemble::Element]) -> f64 {
    let rotors = elements.iter().filter(|e| e.inertia > 0.0);
    rotors.map(|e| e.kinetic(e.rates(&now.twists[e.a.index()], &now.twists[e.b.index()])[0])).sum()
}

/// Potential energy of gravity (zero at the origin) and of the springs, J.
pub fn potential(
    scene: &Scene,
    now: &StepInput,
    elements: &[crate::assemble::Element],
) -> (f64, f64) {
    let mut gravity = 0.0;
    for (i, (body, pose)) in scene.bodies.iter().zip(&now.poses).enumerate() {
        if let Some(mass) = body.mass().filter(|_| !now.orders.absent(BodyId(i as u32))) {
            gravity -= mass.mass * scene.gravity.dot(pose.position);
        }
    }
    (gravity, elements.iter().map(|e| e.energy()).sum())
}

/// Kinetic energy of the rotors at the velocities `v` of a state, J.
pub fn rotors_at(
    layout: &Layout,
    now: &StepInput,
    elements: &[crate::assemble::Element],
    v: &[f64],
) -> f64 {
    let twist =
        |body: BodyId| layout.velocity(body).map_or(now.twists[body.index()], |at| twist_at(v, at));
    let rotors = elements.iter().filter(|e| e.inertia > 0.0);
    rotors.map(|e| e.kinetic(e.rates(&twist(e.a), &twist(e.b))[0])).sum()
}

fn twist_at(v: &[f64], at: usize) -> Twist {
    Twist { linear: DVec3::from_slice(&v[at..]), angular: DVec3::from_slice(&v[at + 3..]) }
}

/// Kinetic energy at the velocities `v` of a state, J.
pub fn kinetic(scene: &Scene, layout: &Layout, meshes: &[soft::Mesh], v: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (i, body) in scene.bodies.iter().enumerate() {
        if let (Some(mass), Some(at)) = (body.mass(), layout.velocity(BodyId(i as u32))) {
            let twist = twist_at(v, at);
            sum += mass.kinetic(twist.linear, twist.angular);
        }
    }
    let velocity = |node: u32| {
        layout.nodes[node as usize].map_or(DVec3::ZERO, |at| DVec3::from_slice(&v[at as usize..]))
    };
    sum + meshes.iter().map(|mesh| mesh.kinetic(velocity)).sum::<f64>()
}

/// Change of the potential energy of gravity, body by body, J.
pub fn gravity_potential_change(
    scene: &Scene,
    before: &StepInput,
    after: &StepInput,
    meshes: &[soft::Mesh],
) -> f64 {
    let mut change = 0.0;
    for (i, body) in scene.bodies.iter().enumerate() {
        if let Some(mass) = body.mass() {
            change -=
                mass.mass * scene.gravity.dot(after.poses[i].position - before.poses[i].position);
        }
    }
    let masses = meshes.iter().flat_map(|mesh| &mesh.masses);
    for ((mass, new), old) in masses.zip(&after.nodes).zip(&before.nodes) {
        change -= mass * scene.gravity.dot(*new - *old);
    }
    change
}

/// Potential energy of gravity of nodes, J.
pub fn gravity_potential(scene: &Scene, masses: &[f64], nodes: &[DVec3]) -> f64 {
    -masses.iter().zip(nodes).map(|(mass, x)| mass * scene.gravity.dot(*x)).sum::<f64>()
}
