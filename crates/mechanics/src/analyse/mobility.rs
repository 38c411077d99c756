//! Degrees of freedom, and joints that hold what others hold already.
//!
//! ```text
//!   freedoms = n − rank J          J: rigid parts of joints and gears, n: six unknowns per free body
//! ```
//!
//! Counting joints (Grübler) is wrong for every mechanism with special dimensions: a planar
//! four-bar of spatial hinges counts −2 and moves, a Bricard linkage counts 0 and moves. The rank
//! tells the truth of one position; a second position, a small step along a motion that the joints
//! allow, tells whether the first one is singular.
//!
//! 1. Rows of joints, then gears, then drivers, in the order of the scene; components and ranks by
//!    [`rank`].
//! 2. Rows that depend on earlier ones are redundant; everything in a vector with zᵀJ = 0 takes
//!    part in the redundancy.
//! 3. Remedies: joints all of whose rows are redundant may leave; else one joint is tried as every
//!    simpler kind that keeps the rank.
//! 4. A driver that depends on the rest drives what is held or driven already; it conflicts if zᵀw
//!    ≠ 0.

use super::rank::{Component, Row, rank};
use super::{joint_rows, place, rigid_blocks, span};
use crate::assemble::{Assembly, Scheme, Source, StepInput};
use crate::math::{dot, norm};
use crate::scene::{BodyId, JointId, JointKind, Layout, Scene, State};
use glam::DVec3;

/// Entries of a null vector below this are rounding.
const MIN_SHARE_IN_DEPENDENCE: f64 = 1e-7;
/// Mechanisms of more rows than this get no remedies and no second position.
const MAX_ROWS_FOR_REMEDIES: usize = 240;

/// The freedoms of a scene.
#[derive(Clone, Debug, Default)]
pub struct Mobility {
    /// Six for each free body.
    pub unknowns: usize,
    /// What joints and gears leave, all mechanisms and free bodies together.
    pub freedoms: usize,
    /// What drivers take of it.
    pub driven: usize,
    /// Bodies that no joint holds.
    pub free_bodies: usize,
    /// Bodies that joints connect.
    pub mechanisms: Vec<Mechanism>,
}

/// Bodies that joints connect.
#[derive(Clone, Debug, Default)]
pub struct Mechanism {
    /// Its free bodies.
    pub bodies: Vec<BodyId>,
    /// Joints and gears.
    pub members: Vec<Source>,
    /// Rows of its joints and gears.
    pub rows: usize,
    /// How many of them are independent.
    pub rank: usize,
    /// True if it is so large that dependent rows were not looked for: `rank` may be too large,
    /// `freedoms` too small.
    pub uncounted: bool,
    /// What it can do in its present position.
    pub freedoms: usize,
    /// What it can do nearby, if that was looked at and the loops closed there.
    pub nearby: Option<usize>,
    /// Freedoms that drivers take.
    pub driven: usize,
    /// Who has rows that depend on rows before them, and how many of how many.
    pub redundant: Vec<Redundant>,
    /// Everyone that takes part in the redundancy; empty if the mechanism is too large to tell.
    pub involved: Vec<Source>,
    /// What would make every row independent.
    pub remedy: Option<Remedy>,
    /// The row nearest to the others without depending on them: whose, and its relative distance.
    pub nearest: Option<(Source, f64)>,
    /// Drivers of what is held or driven already: who takes part, and by how much they contradict
    /// each other (m/s, rad/s).
    pub contradictions: Vec<(Vec<Source>, f64)>,
}

/// Rows of one joint or gear that others hold already.
#[derive(Clone, Debug, PartialEq)]
pub struct Redundant {
    /// Whose rows.
    pub source: Source,
    /// How many are redundant.
    pub count: usize,
    /// Of how many.
    pub of: usize,
}

/// What would make every row of a mechanism independent.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// These joints can be left out.
    LeaveOut(Vec<JointId>),
    /// This joint can be of a simpler kind.
    Replace(JointId, JointKind),
}

/// The freedoms of a scene in a state.
pub fn mobility(scene: &Scene, state: &State) -> Mobility {
    let layout = Layout::of(scene);
    let survey = Survey::new(scene, &layout, state);
    let bodies = layout.velocities.iter().flatten().count();
    let mut out = Mobility { unknowns: 6 * bodies, freedoms: 6 * bodies, ..Mobility::default() };
    let mut held = 0;
    for component in rank(&survey.rows, &survey.scale, &survey.owner) {
        let mechanism = survey.mechanism(&component);
        out.freedoms -= mechanism.rank;
        out.driven += mechanism.driven;
        held += mechanism.bodies.len();
        out.mechanisms.push(mechanism);
    }
    out.free_bodies = bodies - held;
    out
}

/// The source with the parts of one joint taken together.
fn whole(source: Source) -> Source {
    match source {
        Source::Joint(id, _) => Source::Joint(id, 0),
        other => other,
    }
}

/// The rows of a scene in a state: joints and gears first, drivers last.
struct Survey<'a> {
    scene: &'a Scene,
    layout: &'a Layout,
    state: &'a State,
    rows: Vec<Row>,
    sources: Vec<Source>,
    /// Rates that motions impose on the rows.
    rates: Vec<f64>,
    /// The first driver.
    drivers: usize,
    scale: Vec<f64>,
    owner: Vec<u32>,
}

impl<'a> Survey<'a> {
    fn new(scene: &'a Scene, layout: &'a Layout, state: &'a State) -> Survey<'a> {
        // Without stabilisation w holds the imposed rates alone, here their mean over a
        // microsecond.
        let mut now = StepInput::default();
        now.set(scene, layout, state, 1e-6);
        for (twist, start) in now.twists.iter_mut().zip(&layout.velocities) {
            if start.is_some() {
                *twist = Default::default();
            }
        }
        let assembly =
            joint_rows(scene, layout, &now, &Scheme { joint_erp: 0.0, ..Scheme::default() });
        let mut survey = Survey {
            scene,
            layout,
            state,
            rows: Vec::new(),
            sources: Vec::new(),
            rates: Vec::new(),
            drivers: 0,
            scale: (0..layout.v)
                .map(|i| assembly.problem.H.get(i, i).max(f64::MIN_POSITIVE).sqrt())
                .collect(),
            owner: (0..layout.v as u32).map(|i| i / 6).collect(),
        };
        let blocks = rigid_blocks(&assembly);
        let driver = |k: &&usize| matches!(assembly.sources[**k], Source::Motor(_));
        blocks.iter().filter(|k| !driver(k)).for_each(|&k| survey.push(&assembly, k));
        survey.drivers = survey.rows.len();
        blocks.iter().filter(driver).for_each(|&k| survey.push(&assembly, k));
        survey
    }

    fn push(&mut self, assembly: &Assembly, k: usize) {
        let block = assembly.problem.J.block(k);
        for i in 0..block.rows {
            self.rows.push(Row { columns: block.columns.to_vec(), values: block.row(i).to_vec() });
            self.sources.push(assembly.sources[k]);
            self.rates.push(assembly.problem.w[block.first + i]);
        }
    }

    fn body(&self, owner: u32) -> BodyId {
        let at = self
            .layout
            .velocities
            .iter()
            .position(|v| *v == Some(owner * 6))
            .expect("an owner is a free body");
        BodyId(at as u32)
    }

    fn mechanism(&self, component: &Component) -> Mechanism {
        let joints = component.rows.iter().filter(|&&i| i < self.drivers).count();
        let redundant_rows: Vec<usize> =
            component.dependent.iter().copied().filter(|&i| i < self.drivers).collect();
        let mut out = Mechanism {
            bodies: component.owners.iter().map(|&o| self.body(o)).collect(),
            members: distinct(
                component
                    .rows
                    .iter()
                    .filter(|&&i| i < self.drivers)
                    .map(|&i| whole(self.sources[i])),
            ),
            rows: joints,
            rank: joints - redundant_rows.len(),
            uncounted: component.uncounted,
            ..Mechanism::default()
        };
        out.freedoms = 6 * out.bodies.len() - out.rank;
        out.driven = component.rank - out.rank;
        for source in distinct(redundant_rows.iter().map(|&i| whole(self.sources[i]))) {
            let same = |i: &&usize| whole(self.sources[**i]) == source;
            let (count, of) = (
                redundant_rows.iter().filter(same).count(),
                component.rows.iter().filter(same).count(),
            );
            out.redundant.push(Redundant { source, count, of });
        }
        self.null_vectors(component, &mut out);
        let nearest = component
            .rows
            .iter()
            .zip(&component.distance)
            .filter(|(_, d)| **d > super::rank::DEPENDENT_RELATIVE_DISTANCE);
        out.nearest =
            nearest.min_by(|a, b| a.1.total_cmp(b.1)).map(|(&i, &d)| (whole(self.sources[i]), d));
        if component.rows.len() <= MAX_ROWS_FOR_REMEDIES && component.decided {
            if !redundant_rows.is_empty() {
                out.remedy = self.remedy(component, &out, redundant_rows.len());
            }
            out.nearby = self.nearby(&out);
        }
        out
    }

    /// Who takes part in redundancies, and which drivers contradict.
    fn null_vectors(&self, component: &Component, out: &mut Mechanism) {
        let mut involved = Vec::new();
        for z in &component.null {
            let members: Vec<usize> = (0..z.len())
                .filter(|&p| z[p].abs() > MIN_SHARE_IN_DEPENDENCE)
                .map(|p| component.rows[p])
                .collect();
            let sources = distinct(members.iter().map(|&i| whole(self.sources[i])));
            if members.iter().any(|&i| i >= self.drivers) {
                // The null vector is that of rows of length 1.
                let defect: f64 = z
                    .iter()
                    .zip(&component.rows)
                    .map(|(z, &i)| z * self.rates[i] / self.length(i))
                    .sum();
                let size = z
                    .iter()
                    .zip(&component.rows)
                    .map(|(z, &i)| (z / self.length(i)).abs())
                    .fold(0.0, f64::max);
                out.contradictions
                    .push((sources, if size > 0.0 { defect.abs() / size } else { 0.0 }));
            } else {
                involved.extend(sources);
            }
        }
        out.involved = distinct(involved.into_iter());
    }

    fn length(&self, i: usize) -> f64 {
        let row = &self.rows[i];
        norm(
            &row.columns
                .iter()
                .zip(&row.values)
                .map(|(&j, x)| x / self.scale[j as usize])
                .collect::<Vec<_>>(),
        )
    }

    /// The rank of a component without some of its rows.
    fn rank_without(&self, component: &Component, gone: impl Fn(usize) -> bool) -> usize {
        let kept: Vec<Row> = component
            .rows
            .iter()
            .filter(|&&i| i < self.drivers && !gone(i))
            .map(|&i| self.rows[i].clone())
            .collect();
        rank(&kept, &self.scale, &self.owner).iter().map(|c| c.rank).sum()
    }

    fn remedy(
        &self,
        component: &Component,
        mechanism: &Mechanism,
        redundant: usize,
    ) -> Option<Remedy> {
        // Joints that hold nothing which the others do not hold: the last ones leave first.
        let mut out: Vec<JointId> = Vec::new();
        let mut left = redundant;
        for member in mechanism.members.iter().rev() {
            let Source::Joint(id, _) = *member else { continue };
            let of = component.rows.iter().filter(|&&i| whole(self.sources[i]) == *member).count();
            let gone = |i: usize| {
                matches!(self.sources[i], Source::Joint(j,
            _) if j == id || out.contains(&j))
            };
            if of <= left && self.rank_without(component, gone) == mechanism.rank {
                out.push(id);
                left -= of;
            }
        }
        if left == 0 {
            out.reverse();
            return Some(Remedy::LeaveOut(out));
        }
        for member in mechanism.involved.iter().rev() {
            let Source::Joint(id, _) = *member else { continue };
            let parts = self.scene.joints[id.index()].kind.parts();
            for kind in KINDS {
                let kept = kind.parts();
                if kept.len() + redundant != parts.len() || !kept.iter().all(|p| parts.contains(p))
                {
                    continue;
                }
                let gone = |i: usize| {
                    matches!(self.sources[i], Source::Joint(j,
                p) if j == id && !kept.contains(&parts[p as usize]))
                };
                if self.rank_without(component, gone) == mechanism.rank {
                    return Some(Remedy::Replace(id, kind));
                }
            }
        }
        None
    }

    /// The freedoms of a mechanism a small step away, along a motion that its joints allow.
    fn nearby(&self, mechanism: &Mechanism) -> Option<usize> {
        if mechanism.freedoms == 0 {
            return None;
        }
        let rows: Vec<usize> = (0..self.drivers).filter(|&i| self.belongs(i, mechanism)).collect();
        let mut motion = self.allowed(&rows, mechanism);
        // The fastest point turns or moves by a few hundredths of the mechanism.
        let span = span(mechanism.bodies.iter().map(|b| self.state.pose(*b).position)).max(1e-3);
        let (mut linear, mut angular) = (0.0f64, 0.0f64);
        for body in &mechanism.bodies {
            let at = self.layout.velocity(*body)?;
            linear = linear.max(DVec3::from_slice(&motion[at..]).length());
            angular = angular.max(DVec3::from_slice(&motion[at + 3..]).length());
        }
        let fastest = (linear / span).max(angular);
        if !(fastest > 0.0) {
            return None;
        }
        motion.iter_mut().for_each(|x| *x *= 0.04 / fastest);
        let mut state = self.state.clone();
        for body in &mechanism.bodies {
            let at = self.layout.velocity(*body)?;
            let pose = state
                .pose(*body)
                .advanced(DVec3::from_slice(&motion[at..]), DVec3::from_slice(&motion[at + 3..]));
            state.set_pose(*body, &pose);
        }
        if !place(self.scene, &mut state, false).closed() {
            return None;
        }
        let there = Survey::new(self.scene, self.layout, &state);
        let rows: Vec<Row> = rows.iter().map(|&i| there.rows[i].clone()).collect();
        let rank: usize = rank(&rows, &there.scale, &there.owner).iter().map(|c| c.rank).sum();
        Some(6 * mechanism.bodies.len() - rank)
    }

    fn belongs(&self, i: usize, mechanism: &Mechanism) -> bool {
        mechanism.members.contains(&whole(self.sources[i]))
    }

    /// A motion without preference that the rows allow: what is left of a fixed, irregular one.
    fn allowed(&self, rows: &[usize], mechanism: &Mechanism) -> Vec<f64> {
        let mut y = vec![0.0; self.layout.v];
        for (i, body) in mechanism.bodies.iter().enumerate() {
            if let Some(at) = self.layout.velocity(*body) {
                (0..6).for_each(|p| y[at + p] = (1.0 + 7.3 * i as f64 + 1.7 * p as f64).sin());
            }
        }
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for &i in rows {
            let mut g = vec![0.0; self.layout.v];
            for (&j, x) in self.rows[i].columns.iter().zip(&self.rows[i].values) {
                g[j as usize] = x / self.scale[j as usize];
            }
            let length = norm(&g);
            for _ in 0..2 {
                for q in &basis {
                    let share = dot(q, &g);
                    g.iter_mut().zip(q).for_each(|(g, q)| *g -= share * q);
                }
            }
            let rest = norm(&g);
            if rest > super::rank::DEPENDENT_RELATIVE_DISTANCE * length {
                g.iter_mut().for_each(|x| *x /= rest);
                basis.push(g);
            }
        }
        for q in &basis {
            let share = dot(q, &y);
            y.iter_mut().zip(q).for_each(|(y, q)| *y -= share * q);
        }
        y.iter().zip(&self.scale).map(|(y, s)| y / s).collect()
    }
}

/// Kinds that may replace a richer one.
const KINDS: [JointKind; 6] = [
    JointKind::Cylindrical,
    JointKind::Prismatic,
    JointKind::Spherical,
    JointKind::Planar,
    JointKind::PointOnLine,
    JointKind::PointOnPlane,
];

fn distinct(sources: impl Iterator<Item = Source>) -> Vec<Source> {
    let mut out = Vec::new();
    for source in sources {
        if !out.contains(&source) {
            out.push(source);
        }
    }
    out
}
