//! Forces in joints and contacts by name, unique or not.
//!
//! At a solution the velocities are unique; the reactions are not where rows depend on each other.
//! All that solve the step:
//!
//! ```text
//!   { r :  Jᵀr = Hv − k,   (u_k, r_k) ∈ Law_k }            r is unique in row i  ⇔  z_i = 0 for every z with zᵀJ = 0
//!                                                                 over the rows that may carry
//! ```
//!
//! 1. The choice of least energy among them, `least Σ a_k ‖r_k‖²`: the step solved again with a
//!    vanishing compliance ε a_k in every row, thrice, each time relaxed about the last answer (a
//!    proximal point), so that ε leaves no trace.
//! 2. Rows that may carry: equalities; contacts and stops that carry; friction that sticks as its
//!    tangents, friction that slides as one direction with its normal (`n − μ t`); intervals within
//!    their bounds.
//! 3. Idle contacts (u = 0, r = 0) may carry in another solution: those are taken in whose sum can
//!    be raised along the null space without lowering any other idle one.
//! 4. Null vectors by [`rank`](super::rank); a component of a reaction is unique if no null vector
//!    changes it.
//!
//! Forces are impulses divided by the step. Signs: what acts on body b (the second); body a feels
//! the opposite.

use super::rank::{Component, Row, rank};
use crate::assemble::part::measure;
use crate::assemble::{Mount, Source};
use crate::geometry::tangents;
use crate::math::dot;
use crate::problem::{Law, PreparedProblem, Problem, Solution, Tolerance};
use crate::scene::{JointId, Scene};
use crate::solve::{Solver, StoppingCriteria, auto};
use crate::step::Stepper;
use glam::DVec3;

/// Entries of null vectors below this are rounding.
const NULL_VECTOR_ROUNDING: f64 = 1e-7;

/// A force and a torque, N and N m (or their impulses).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// The force.
    pub force: DVec3,
    /// The torque about the joint's point.
    pub torque: DVec3,
}

impl Wrench {
    /// The six numbers.
    pub fn array(&self) -> [f64; 6] {
        let (f, t) = (self.force, self.torque);
        [f.x, f.y, f.z, t.x, t.y, t.z]
    }

    fn scaled(&self, s: f64) -> Wrench {
        Wrench { force: self.force * s, torque: self.torque * s }
    }
}

/// What a joint exerts on its body b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointReaction {
    /// The joint.
    pub joint: JointId,
    /// Impulse along the axes of the world, N s, N m s.
    pub impulse: Wrench,
    /// Mean force along the axes of the world.
    pub world: Wrench,
    /// Mean force along the axes of the joint's frame on body a.
    pub local: Wrench,
    /// Which of the six local components are unique.
    pub unique: [bool; 6],
}

/// What a contact exerts on its second body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InContact {
    /// Its place in the list of contacts.
    pub contact: usize,
    /// Impulse, world, N s.
    pub impulse: DVec3,
    /// Mean force, world, N.
    pub world: DVec3,
    /// Mean force along the normal and the two tangents, N.
    pub local: DVec3,
    /// Whether it is unique.
    pub unique: bool,
}

/// One number: a motor, gear, stop or dry friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InRow {
    /// Whose.
    pub source: Source,
    /// Mean force or torque along the coordinate, N or N m.
    pub effort: f64,
    /// Whether it is unique.
    pub unique: bool,
}

/// The reactions of a step.
#[derive(Clone, Debug, Default)]
pub struct Reactions {
    /// Length of the step, s.
    pub h: f64,
    /// In joints.
    pub joints: Vec<JointReaction>,
    /// In contacts that carry or may carry.
    pub contacts: Vec<InContact>,
    /// In motors, gears, stops, dry friction.
    pub rows: Vec<InRow>,
    /// True if the choice of least energy was found; otherwise the reactions are the solver's.
    pub least_energy: bool,
    /// False if an island was too large to tell what is unique: everything in it that has dependent
    /// rows counts as not unique.
    pub decided: bool,
}

/// The reactions of the last step of `stepper`.
pub fn reactions(scene: &Scene, stepper: &Stepper) -> Reactions {
    let (assembly, h) = (stepper.assembly(), stepper.present().kick());
    let problem = &assembly.problem;
    let mut out = Reactions { h, decided: true, ..Reactions::default() };
    if problem.rows() == 0 {
        return out;
    }
    let (solution, found) = least_energy(problem, stepper.solution());
    out.least_energy = found;
    let carrying = Carrying::of(problem, &solution);
    let free = carrying.variations(problem, &mut out.decided);
    let varies = |i: usize| free.iter().any(|z| z[i].abs() > 0.0);
    let mut block = 0;
    while block < problem.laws.len() {
        let first = problem.J.row_starts[block];
        match assembly.sources[block] {
            Source::Joint(id, _) => {
                let count = assembly.sources[block..]
                    .iter()
                    .take_while(|s| matches!(s, Source::Joint(j, _) if *j == id))
                    .count();
                out.joints.push(in_joint(
                    scene,
                    stepper,
                    id,
                    (&solution.r[first..first + count], first, &free),
                ));
                block += count;
                continue;
            }
            Source::Contact(_, _, c) => {
                let range = first..first + problem.laws[block].rows();
                let unique = !range.clone().any(varies);
                let local: Vec<f64> =
                    range.map(|i| solution.r[i]).chain([0.0, 0.0]).take(3).collect();
                if local[0] > 0.0 || !unique {
                    let normal = stepper.contacts()[c as usize].normal;
                    let (t1, t2) = tangents(normal);
                    let impulse = normal * local[0] + t1 * local[1] + t2 * local[2];
                    let local = DVec3::from_slice(&local) / h;
                    out.contacts.push(InContact {
                        contact: c as usize,
                        impulse,
                        world: impulse / h,
                        local,
                        unique,
                    });
                }
            }
            source @ Source::Rolling(..) => out.rows.push(InRow {
                source,
                effort: solution.r[first + 1].hypot(solution.r[first + 2]) / h,
                unique: !(varies(first + 1) || varies(first + 2)),
            }),
            source => out.rows.push(InRow {
                source,
                effort: solution.r[first] / h,
                unique: !varies(first),
            }),
        }
        block += 1;
    }
    out
}

/// The wrench of a joint from its rows, and which of its components vary.
fn in_joint(
    scene: &Scene,
    stepper: &Stepper,
    id: JointId,
    (r, first, free): (&[f64], usize, &[Vec<f64>]),
) -> JointReaction {
    let (joint, now) = (&scene.joints[id.index()], stepper.present());
    let a = Mount { body: &now.poses[joint.a.index()], frame: &joint.frame_a };
    let b = Mount { body: &now.poses[joint.b.index()], frame: &joint.frame_b };
    let (body, point) = (b.body, b.body.point(b.frame.position));
    // What one unit of each row exerts on b, about the joint's point.
    let units: Vec<Wrench> = joint
        .kind
        .parts()
        .iter()
        .map(|&part| {
            let g = measure(part, a, b).b;
            let torque = body.vector(g.angular) - (point - body.position).cross(g.linear);
            Wrench { force: g.linear, torque }
        })
        .collect();
    let turn = (a.body.orientation * a.frame.orientation).conjugate();
    let sum = |r: &[f64]| {
        let add = |sum: Wrench, (unit, r): (&Wrench, &f64)| Wrench {
            force: sum.force + unit.force * *r,
            torque: sum.torque + unit.torque * *r,
        };
        units.iter().zip(r).fold(Wrench::default(), add)
    };
    let local = |w: &Wrench| Wrench { force: turn * w.force, torque: turn * w.torque };
    let mut unique = [true; 6];
    for z in free {
        let change = local(&sum(&z[first..first + r.len()])).array();
        let most = |range: std::ops::Range<usize>| {
            change[range].iter().fold(0.0f64, |m, x| x.abs().max(m))
        };
        for (i, unique) in unique.iter_mut().enumerate() {
            let scale = if i < 3 { most(0..3) } else { most(3..6) };
            *unique &= change[i].abs() <= 1e-6 * scale;
        }
    }
    let impulse = sum(r);
    let world = impulse.scaled(1.0 / now.kick());
    JointReaction { joint: id, impulse, world, local: local(&world), unique }
}

/// The vanishing compliance ε. Thrice relaxed it leaves its third power.
const VANISHING_COMPLIANCE: f64 = 1e-4;

/// The solution of least `Σ a_k ‖r_k‖²` with the same velocities, and whether it was found.
pub fn least_energy(problem: &Problem, solution: &Solution) -> (Solution, bool) {
    let Ok(mut prepared) = PreparedProblem::of(problem) else { return (solution.clone(), false) };
    let before = prepared.error(problem, solution);
    let starts = &problem.J.row_starts;
    let compliance: Vec<f64> = (0..problem.laws.len())
        .flat_map(|k| {
            std::iter::repeat_n(VANISHING_COMPLIANCE * prepared.a()[k], starts[k + 1] - starts[k])
        })
        .collect();
    // Reactions that hold each other in balance wrong by δr are seen as an energy of
    // VANISHING_COMPLIANCE² a δr²: 1e-20 stands for 1e-6 of them.
    let tight = Tolerance { relative: 1e-20, velocity: 1e-12, bound: None, velocity_relative: 0.0 };
    let mut solver = auto::Auto::new(auto::Settings {
        stop: StoppingCriteria { tolerance: tight, ..StoppingCriteria::default() },
        ..auto::Settings::default()
    });
    let mut soft = problem.clone();
    soft.E.iter_mut().zip(&compliance).for_each(|(e, c)| *e += c);
    // The first answer is the least; the next ones take the compliance out of it again.
    let mut about = vec![0.0; problem.rows()];
    let mut point = solution.clone();
    for _ in 0..3 {
        for (i, w) in soft.w.iter_mut().enumerate() {
            *w = problem.w[i] - compliance[i] * about[i];
        }
        if solver.solve(&soft, &mut point).is_err() {
            return (solution.clone(), false);
        }
        about.clone_from(&point.r);
    }
    point.v.copy_from_slice(&problem.k);
    problem.J.add_transposed(&point.r, &mut point.v);
    prepared.factor().solve(&mut point.v);
    let after = prepared.error(problem, &point);
    let good = after.accepted(&Tolerance::default()) || after.joule <= before.joule;
    if good { (point, true) } else { (solution.clone(), false) }
}

/// The rows that may carry, each as a combination of the problem's rows.
struct Carrying {
    /// Terms (row, factor) of each.
    rows: Vec<Vec<(usize, f64)>>,
    /// Which of them are idle now: they may only be raised.
    idle: Vec<bool>,
}

impl Carrying {
    fn of(problem: &Problem, solution: &Solution) -> Carrying {
        let mut out = Carrying { rows: Vec::new(), idle: Vec::new() };
        let mut u = vec![0.0; problem.rows()];
        problem.local_velocities(&solution.v, &solution.r, &mut u);
        let largest = solution.r.iter().fold(0.0f64, |m, r| r.abs().max(m));
        for (k, law) in problem.laws.iter().enumerate() {
            let first = problem.J.row_starts[k];
            let r = &solution.r[first..problem.J.row_starts[k + 1]];
            // A compliant row has a reaction of its own.
            if problem.E[first] > 0.0 {
                continue;
            }
            let mut add = |terms: &[(usize, f64)], idle: bool| {
                out.rows.push(terms.to_vec());
                out.idle.push(idle);
            };
            match *law {
                Law::Equality => add(&[(first, 1.0)], false),
                Law::Interval { lo, hi } => {
                    let slack = 1e-9 * (hi - lo).min(largest.max(f64::MIN_POSITIVE));
                    if r[0] > lo + slack && r[0] < hi - slack {
                        add(&[(first, 1.0)], false);
                    }
                }
                Law::Unilateral => {
                    let carries = r[0] > 1e-9 * largest;
                    if carries || u[first].abs() <= 1e-7 {
                        add(&[(first, 1.0)], !carries);
                    }
                }
                Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
                    let tangential = crate::math::norm(&r[1..]);
                    if r[0] <= 1e-9 * largest {
                        if u[first..first + r.len()].iter().all(|u| u.abs() <= 1e-7) {
                            add(&[(first, 1.0)], true);
                        }
                    } else if tangential < mu * r[0] * (1.0 - 1e-6) {
                        (0..r.len()).for_each(|i| add(&[(first + i, 1.0)], false));
                    } else {
                        let terms: Vec<(usize, f64)> =
                            (0..r.len()).map(|i| (first + i, r[i] / r[0])).collect();
                        add(&terms, false);
                    }
                }
            }
        }
        out
    }

    /// Changes of the reactions (over the rows of the problem) that change nothing else.
    fn variations(mut self, problem: &Problem, decided: &mut bool) -> Vec<Vec<f64>> {
        let scale: Vec<f64> = (0..problem.n()).map(|i| problem.H.get(i, i).sqrt()).collect();
        let owner: Vec<u32> = (0..problem.n() as u32).collect();
        let csr = problem.J.to_csr();
        loop {
            let rows: Vec<Row> = self.rows.iter().map(|terms| combined(&csr, terms)).collect();
            let components = rank(&rows, &scale, &owner);
            let lost = components.iter().flat_map(|c| self.unraisable(c)).collect::<Vec<_>>();
            if lost.is_empty() {
                return self.spread(&components, (&rows, &scale), problem.rows(), decided);
            }
            let keep = |i: &usize| !lost.contains(i);
            self.rows = (0..self.rows.len()).filter(keep).map(|i| self.rows[i].clone()).collect();
            self.idle = (0..self.idle.len()).filter(keep).map(|i| self.idle[i]).collect();
        }
    }

    /// Idle rows that cannot be raised without lowering another idle one (the most negative first),
    /// or not at all.
    fn unraisable(&self, component: &Component) -> Vec<usize> {
        let idle: Vec<usize> =
            (0..component.rows.len()).filter(|&p| self.idle[component.rows[p]]).collect();
        if idle.is_empty() || !component.decided {
            return Vec::new();
        }
        // The direction nearest to raising them all.
        let mut z = vec![0.0; component.rows.len()];
        for q in &component.null {
            let share: f64 = idle.iter().map(|&p| q[p]).sum();
            z.iter_mut().zip(q).for_each(|(z, q)| *z += share * q);
        }
        let lowest =
            idle.iter().copied().min_by(|&a, &b| z[a].total_cmp(&z[b])).expect("there is one");
        if z[lowest] > NULL_VECTOR_ROUNDING { Vec::new() } else { vec![component.rows[lowest]] }
    }

    fn spread(
        &self,
        components: &[Component],
        (rows, scale): (&[Row], &[f64]),
        m: usize,
        decided: &mut bool,
    ) -> Vec<Vec<f64>> {
        let mut out = Vec::new();
        for component in components {
            if !component.decided {
                *decided = false;
                let mut z = vec![0.0; m];
                component
                    .rows
                    .iter()
                    .for_each(|&i| self.rows[i].iter().for_each(|&(row, _)| z[row] = 1.0));
                out.push(z);
            }
            for null in &component.null {
                let mut z = vec![0.0; m];
                for (&i, &x) in
                    component.rows.iter().zip(null).filter(|(_, x)| x.abs() > NULL_VECTOR_ROUNDING)
                {
                    let row = &rows[i];
                    let scaled: Vec<f64> = row
                        .columns
                        .iter()
                        .zip(&row.values)
                        .map(|(&j, v)| v / scale[j as usize])
                        .collect();
                    let length = dot(&scaled, &scaled).sqrt();
                    self.rows[i].iter().for_each(|&(row, factor)| z[row] += x / length * factor);
                }
                out.push(z);
            }
        }
        out
    }
}

fn combined(csr: &crate::math::sparse::Csr, terms: &[(usize, f64)]) -> Row {
    let mut entries: std::collections::BTreeMap<u32, f64> = Default::default();
    for &(row, factor) in terms {
        let (columns, values) = csr.row(row);
        columns.iter().zip(values).for_each(|(&j, x)| *entries.entry(j).or_default() += factor * x);
    }
    Row { columns: entries.keys().copied().collect(), values: entries.values().copied().collect() }
}
