//! The model doctor: everything that looks wrong with a scene before its first step, each with what
//! to do about it.
//!
//! Errors make the simulation wrong or impossible; warnings make it doubtful; notes are worth
//! knowing. What `Scene::check` refuses (negative masses, missing bodies, inertia that no
//! distribution of mass has) never comes here.

use super::finding::{Finding, Findings, Severity};
use super::mobility::{Mechanism, Mobility, Remedy, mobility};
use super::place::{self, place};
use super::size;
use crate::assemble::{Scheme, Source, StepInput, joint};
use crate::geometry::{Contact, Shape, Volume};
use crate::scene::{
    BodyId, Coordinate, Drive, ForceKind, JointId, JointKind, Kind, Layout, Scene, State,
};
use std::collections::{BTreeMap, HashSet};

/// Everything that looks wrong with a scene that is to be stepped by `dt` (s), and its degrees of
/// freedom.
pub fn examine(scene: &Scene, dt: f64) -> (Mobility, Vec<Finding>) {
    let state = State::initial(scene);
    let mobility = mobility(scene, &state);
    let mut findings = Findings::of(scene, state, dt);
    findings.gaps();
    for mechanism in &mobility.mechanisms {
        findings.mechanism(mechanism);
    }
    findings.velocities();
    findings.stops();
    findings.overlaps();
    findings.meshes();
    findings.unheld(&mobility);
    findings.ratios();
    findings.modes();
    findings.motors();
    size::smells(&mut findings);
    findings.list.sort_by_key(|f| f.severity);
    (mobility, findings.list)
}

/// Bodies that overlap at the beginning: what [`examine`] says of them, and nothing else.
pub fn overlapping(scene: &Scene, dt: f64) -> Vec<Finding> {
    let mut findings = Findings::of(scene, State::initial(scene), dt);
    findings.overlaps();
    findings.list
}

impl Findings<'_> {
    fn joint(&self, id: JointId) -> &str {
        &self.scene.joints[id.index()].name
    }

    fn names(&self, sources: &[Source]) -> String {
        let name = |s: &Source| match s {
            Source::Joint(id, _) => format!("`{}`", self.joint(*id)),
            other => other.name(self.scene),
        };
        sources.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Joints that do not meet, and whether they can.
    fn gaps(&mut self) {
        let (gap, worst) = place::widest(self.scene, &self.state);
        let Some(worst) = worst.filter(|_| gap > 1e-9) else { return };
        let subject = self.names(&[worst]);
        let mut moved = self.state.clone();
        let placement = place(self.scene, &mut moved, false);
        if placement.closed() {
            let (body, far) = placement.moved.expect("a gap has bodies");
            let found = format!("its frames are {gap:.3e} (m or rad) apart at the beginning");
            let name = self.body(body.index());
            let advice = format!(
                "a run brings the bodies together first (`{name}` moves most, by {far:.3e} m); \
                    move them yourself to choose where"
            );
            self.add(Severity::Warning, "gap", subject, found, advice);
        } else {
            let loop_: Vec<String> =
                placement.loop_.iter().map(|j| format!("`{}`", self.joint(*j))).collect();
            let found = format!(
                "the loop of {} cannot close: {:.3e} (m or rad) are missing at best",
                loop_.join(", "),
                placement.gap
            );
            let advice =
                "change the length of a part, the place of a joint or its kind, or remove \
                one joint of the loop"
                    .into();
            self.add(Severity::Error, "loop", subject, found, advice);
        }
    }

    fn mechanism(&mut self, m: &Mechanism) {
        let redundant: usize = m.redundant.iter().map(|r| r.count).sum();
        if redundant > 0 {
            let rows: Vec<String> = m
                .redundant
                .iter()
                .map(|r| format!("{} of {} in {}", r.count, r.of, self.names(&[r.source])))
                .collect();
            let whom = if m.involved.is_empty() {
                "joints of a large mechanism".into()
            } else {
                self.names(&m.involved)
            };
            let found = format!(
                "{redundant} of {} rows are held already by others ({}); {whom} take part",
                m.rows,
                rows.join(", ")
            );
            let cure = match &m.remedy {
                Some(Remedy::LeaveOut(joints)) => {
                    let names: Vec<String> =
                        joints.iter().map(|j| format!("`{}`", self.joint(*j))).collect();
                    format!("leave out {}", names.join(", "))
                }
                Some(Remedy::Replace(joint, kind)) => {
                    format!("make `{}` a {} joint", self.joint(*joint), kind.name())
                }
                None => "make some of these joints simpler".into(),
            };
            let advice =
                format!("the motion is right all the same; to make the reactions unique, {cure}");
            self.add(Severity::Note, "redundant", self.names(&m.involved), found, advice);
        }
        let welded = |s: &Source| {
            matches!(s, Source::Joint(id,
        _) if self.scene.joints[id.index()].kind == JointKind::Fixed)
        };
        if m.freedoms == 0 && !m.members.iter().all(welded) {
            let found = format!(
                "nothing in it can move: {} of {} rows are independent, as many as unknowns",
                m.rank, m.rows
            );
            let advice =
                "if it should move, leave out a joint, make one simpler, or align their axes"
                    .into();
            self.add(Severity::Warning, "locked", self.names(&m.members), found, advice);
        }
        for (who, defect) in &m.contradictions {
            let subject = self.names(who);
            if *defect > 1e-9 {
                let found = format!(
                    "they contradict each other by {defect:.3e} (m/s or rad/s) at the beginning"
                );
                self.add(
                    Severity::Error,
                    "conflict",
                    subject,
                    found,
                    "remove one of the motors, or let it give a torque instead".into(),
                );
            } else {
                let found = "a motor drives what is held or driven already".into();
                let advice =
                    "remove one of the motors: how they share the effort is not determined".into();
                self.add(Severity::Warning, "overdriven", subject, found, advice);
            }
        }
        if let Some((who, distance)) = m.nearest.filter(|(_, d)| *d < 1e-5) {
            let found = format!(
                "its rows differ from what others hold by only {distance:.1e}: nearly redundant \
                    joints lock what should move"
            );
            let advice =
                "align the frames of these joints exactly, or make one of them simpler".into();
            self.add(Severity::Warning, "nearly redundant", self.names(&[who]), found, advice);
        }
        if let Some(nearby) = m.nearby.filter(|n| *n != m.freedoms) {
            let found = format!(
                "{} degrees of freedom here, {nearby} a small step away: the mechanism begins in a \
                    singular position",
                m.freedoms
            );
            let advice = "begin a little beside it, or it may go either way".into();
            self.add(Severity::Warning, "singular", self.names(&m.members), found, advice);
        }
    }

    /// Initial velocities that joints do not allow.
    fn velocities(&mut self) {
        let layout = Layout::of(self.scene);
        let mut now = StepInput::default();
        now.set(self.scene, &layout, &self.state, self.dt);
        let assembly = super::joint_rows(
            self.scene,
            &layout,
            &now,
            &Scheme { joint_erp: 0.0, ..Scheme::default() },
        );
        let mut u = vec![0.0; assembly.problem.rows()];
        assembly.problem.J.mul(&self.state.v, &mut u);
        let moving = self.state.v.iter().any(|v| *v != 0.0);
        let blocks = super::rigid_blocks(&assembly);
        let rows = blocks.iter().filter(|k| !matches!(assembly.sources[**k], Source::Motor(_)));
        let fast = |k: usize| {
            (u[assembly.problem.J.row_starts[k]]
                + assembly.problem.w[assembly.problem.J.row_starts[k]])
                .abs()
        };
        let worst =
            rows.map(|&k| (fast(k), assembly.sources[k])).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((speed, source)) = worst.filter(|(speed, _)| moving && *speed > 1e-6) {
            let found = format!(
                "the initial velocities violate it by {speed:.3e} (m/s or rad/s): the first step \
                    will jolt"
            );
            self.add(
                Severity::Warning,
                "velocity",
                self.names(&[source]),
                found,
                "give all bodies of the mechanism velocities that fit".into(),
            );
        }
    }

    /// Stops that are passed already.
    fn stops(&mut self) {
        let now = StepInput::at_rest(self.scene, &self.state);
        for j in 0..self.scene.joints.len() {
            for limit in &self.scene.joints[j].limits {
                let x =
                    joint::coordinate(self.scene, JointId(j as u32), limit.coordinate, &now).value;
                if x < limit.lo - 1e-9 || x > limit.hi + 1e-9 {
                    let unit = if limit.coordinate == Coordinate::Angle { "rad" } else { "m" };
                    let found = format!(
                        "begins at {x:.6} {unit}, outside its limits {:.6} … {:.6}",
                        limit.lo, limit.hi
                    );
                    let advice = "widen the limits, or begin within them: the first steps would \
                        push it back"
                        .into();
                    self.add(
                        Severity::Warning,
                        "limit",
                        self.scene.joints[j].name.clone(),
                        found,
                        advice,
                    );
                }
            }
        }
    }

    /// Bodies that overlap at the beginning.
    fn overlaps(&mut self) {
        let mut deepest: BTreeMap<(u32, u32), Contact> = BTreeMap::new();
        for &contact in self.contacts.iter().filter(|c| c.gap < -1e-6) {
            let body = |collider: u32| self.scene.colliders[collider as usize].body;
            let pair = (body(contact.colliders.0), body(contact.colliders.1));
            let known = deepest.entry(pair).or_insert(contact);
            if contact.gap < known.gap {
                *known = contact;
            }
        }
        let layout = Layout::of(self.scene);
        // The worst first.
        let mut deepest: Vec<_> = deepest.into_iter().collect();
        deepest.sort_by(|x, y| x.1.gap.total_cmp(&y.1.gap));
        for ((a, b), contact) in deepest {
            let depth = -contact.gap;
            let movable = if layout.velocity(BodyId(b)).is_some() {
                (b, contact.normal)
            } else {
                (a, -contact.normal)
            };
            let shift = movable.1 * depth;
            let name = self.body(movable.0 as usize).to_string();
            let found = format!(
                "overlap by {depth:.3e} m at ({:.4}, {:.4}, {:.4})",
                contact.point_a.x, contact.point_a.y, contact.point_a.z
            );
            let advice = format!(
                "a run moves them apart first, without giving them a velocity; move `{name}` by \
                    ({:.3e}, {:.3e}, {:.3e}) m, or list the pair under [contact] exclude if they \
                    belong together",
                shift.x, shift.y, shift.z
            );
            let subject = format!("{} / {}", self.body(a as usize), self.body(b as usize));
            // What is sunk deeper may come out on the wrong side, and no step would be accepted
            // before it is out.
            let too_deep = depth
                > crate::step::Overlap::MAX_THICKNESS_SHARE * self.thickness(contact.colliders);
            let severity = if too_deep { Severity::Error } else { Severity::Warning };
            self.add(severity, "overlap", subject, found, advice);
        }
    }

    /// Meshes that are inside out, or open.
    fn meshes(&mut self) {
        for collider in &self.scene.colliders {
            let Shape::Mesh { triangles, .. } = &collider.shape else { continue };
            let Err(why) = Volume::of(&collider.shape) else { continue };
            let why = why.to_string();
            let subject = self.body(collider.body as usize).to_string();
            let found = format!("mesh of {} triangles: {why}", triangles.len());
            if why.contains("clockwise") {
                let advice = "turn every triangle round (swap two corners), or export the mesh \
                    with outward normals"
                    .into();
                self.add(Severity::Error, "inside out", subject, found, advice);
            } else if why.contains("disagree") {
                let advice = "let a mesh tool make the normals consistent: contacts would push \
                    inwards in places"
                    .into();
                self.add(Severity::Error, "inside out", subject, found, advice);
            } else {
                let advice =
                    "close the holes if it is meant to be a solid: an open mesh is a sheet that \
                        things may lie on from both sides"
                        .into();
                self.add(Severity::Note, "open mesh", subject, found, advice);
            }
        }
    }

    /// Bodies that will fall for ever.
    fn unheld(&mut self, mobility: &Mobility) {
        if !self.scene.bodies.iter().any(|b| b.mass().is_some()) {
            let advice = "give a body a mass, or a density and a shape".into();
            self.add(
                Severity::Warning,
                "nothing moves",
                self.scene.name.clone(),
                "no body is free to move".into(),
                advice,
            );
        }
        let fixed = |b: BodyId| self.scene.bodies[b.index()].mass().is_none();
        let shaped: HashSet<usize> = self.scene.colliders.iter().map(|c| c.body as usize).collect();
        let ends = |f: &crate::scene::Force| match &f.kind {
            ForceKind::Drag(_) | ForceKind::Applied(_) => Vec::new(),
            kind => kind.bodies().to_vec(),
        };
        let forced: HashSet<BodyId> = self.scene.forces.iter().flat_map(ends).collect();
        let holding = self
            .scene
            .joints
            .iter()
            .filter(|j| j.kind != JointKind::Free && (fixed(j.a) || fixed(j.b)));
        let anchored: HashSet<BodyId> =
            holding.flat_map(|j| [j.a, j.b]).filter(|b| !fixed(*b)).collect();
        let mut groups: Vec<Vec<BodyId>> =
            mobility.mechanisms.iter().map(|m| m.bodies.clone()).collect();
        let jointed: HashSet<BodyId> = groups.iter().flatten().copied().collect();
        let single = (0..self.scene.bodies.len() as u32)
            .map(BodyId)
            .filter(|b| !fixed(*b) && !jointed.contains(b));
        groups.extend(single.map(|b| vec![b]));
        if self.scene.gravity.length() == 0.0 {
            return;
        }
        let mut loose = Vec::new();
        for bodies in groups {
            let held = bodies
                .iter()
                .any(|b| anchored.contains(b) || shaped.contains(&b.index()) || forced.contains(b));
            if !held {
                loose.push(self.body(bodies[0].index()).to_string());
            }
        }
        for name in loose {
            let found =
                "nothing holds it: no joint, no spring, and no shape that could land on something"
                    .into();
            self.add(
                Severity::Warning,
                "unheld",
                name,
                found,
                "give it a shape or a joint, or set gravity to zero".into(),
            );
        }
    }

    /// Masses that differ by many orders where bodies are joined or touch.
    fn ratios(&mut self) {
        let mass = |b: usize| self.scene.bodies[b].mass().map(|m| m.mass);
        let mut pairs: Vec<(usize, usize)> =
            self.scene.joints.iter().map(|j| (j.a.index(), j.b.index())).collect();
        let body = |collider: u32| self.scene.colliders[collider as usize].body as usize;
        pairs.extend(self.contacts.iter().map(|c| (body(c.colliders.0), body(c.colliders.1))));
        let ratio = |&(a, b): &(usize, usize)| {
            Some((mass(a)?.max(mass(b)?) / mass(a)?.min(mass(b)?), a, b))
        };
        let worst = pairs.iter().filter_map(ratio).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((ratio, a, b)) = worst.filter(|(ratio, ..)| *ratio > 1e6) {
            let found = format!(
                "masses of {:.3e} and {:.3e} kg act on each other: ratio {ratio:.0e}",
                mass(a).unwrap_or(0.0),
                mass(b).unwrap_or(0.0)
            );
            let advice =
                "check the units of both masses; if they are right, keep the solver `auto` (sweeps \
                    alone would need very many)".into();
            let subject = format!("{} / {}", self.body(a), self.body(b));
            self.add(Severity::Warning, "mass ratio", subject, found, advice);
        }
    }

    /// Oscillations and rotations that the step cannot see.
    fn modes(&mut self) {
        let mass =
            |b: BodyId| self.scene.bodies[b.index()].mass().map_or(f64::INFINITY, |m| m.mass);
        let mut found = Vec::new();
        for force in &self.scene.forces {
            let (k, a, b) = match &force.kind {
                ForceKind::Spring(s) => (s.stiffness, s.a, s.b),
                ForceKind::Bushing(s) => {
                    ((0..3).map(|i| s.stiffness[i][i]).fold(0.0, f64::max), s.a, s.b)
                }
                _ => continue,
            };
            let omega = (k * (1.0 / mass(a) + 1.0 / mass(b))).sqrt();
            if omega * self.dt > 0.5 {
                found.push((force.name.clone(), omega));
            }
        }
        for (name, omega) in found {
            let (period, best) =
                (std::f64::consts::TAU / omega, std::f64::consts::TAU / omega / 30.0);
            let text = format!(
                "oscillates with a period of {period:.2e} s, but a step is {:.2e} s: stable, but \
                    damped away",
                self.dt
            );
            self.add(
                Severity::Warning,
                "fast mode",
                name,
                text,
                format!("use dt ≤ {best:.1e} s if this oscillation matters, or a softer spring"),
            );
        }
        for (i, body) in self.scene.bodies.iter().enumerate() {
            let Kind::Rigid(mass) = body.kind else { continue };
            let turn = body.spin.length() * self.dt;
            let travel = body.velocity.length() * self.dt;
            let size = size::extent(self, i).unwrap_or(f64::INFINITY);
            let fall = self.scene.gravity.length() * self.dt * self.dt;
            if fall > size {
                let text = format!(
                    "falls {fall:.3e} m in one step of {:.2e} s, more than its size of {size:.3e} \
                        m",
                    self.dt
                );
                let advice =
                    format!("use dt ≤ {:.1e} s", 0.1 * (size / self.scene.gravity.length()).sqrt());
                self.add(Severity::Warning, "fast", body.name.clone(), text, advice);
            }
            if turn > 0.5 {
                let text = format!("turns by {turn:.2} rad in one step");
                let wobbles = body.spin.cross(mass.inertia * body.spin).length()
                    > 1e-6 * turn * (mass.inertia * body.spin).length() / self.dt;
                let lost = turn > crate::step::Unresolved::LARGEST_TURN && wobbles;
                let severity = if lost { Severity::Error } else { Severity::Warning };
                self.add(
                    severity,
                    "fast",
                    body.name.clone(),
                    text,
                    format!("use dt ≤ {:.1e} s", 0.1 / body.spin.length()),
                );
            }
            if travel > 0.5 * size {
                let text = format!(
                    "flies {travel:.3e} m in one step, more than half its size of {size:.3e} m"
                );
                let advice = format!(
                    "use dt ≤ {:.1e} s, or check the unit of its velocity",
                    0.1 * size / body.velocity.length()
                );
                self.add(Severity::Warning, "fast", body.name.clone(), text, advice);
            }
        }
    }

    /// Motors that turn too far in one step.
    fn motors(&mut self) {
        for motor in &self.scene.motors {
            let rate = match &motor.drive {
                Drive::Speed(f)
                | Drive::LimitedSpeed { speed: f, .. }
                | Drive::SpeedServo { speed: f, .. } => f.value(0.0).abs(),
                Drive::Position(f) | Drive::Servo { target: f, .. } => f.derivative(0.0).abs(),
                Drive::Effort(_) => continue,
            };
            if motor.coordinate == Coordinate::Angle && rate * self.dt > 0.5 {
                let text = format!("turns by {:.2} rad in one step", rate * self.dt);
                self.add(
                    Severity::Warning,
                    "fast",
                    motor.name.clone(),
                    text,
                    format!("use dt ≤ {:.1e} s, or check the unit (rpm, rad/s)", 0.1 / rate),
                );
            }
        }
    }
}
