//! The mechanism as expressions: g, G, u, f, energies.
//!
//! Only the gaps g of the joints and the measures of the forces are written here; everything else
//! is derived:
//!
//! ```text
//!   ġ = rate of g along (q̇, Ṙ = R[ω]×)          G = ∂ġ/∂v          u = −(rate of ġ with v held)
//!   force of a measure x with strength F:  f += F ∂ẋ/∂v
//! ```
//!
//! | joint | rows (points p, axes a and b of the two frames) |
//! |---|---|
//! | spherical, revolute, universal, fixed | p_b − p_a along the axes of the world |
//! | prismatic, cylindrical, point on line | a_x·(p_b − p_a), a_y·(p_b − p_a) |
//! | planar, point on plane | a_z·(p_b − p_a) |
//! | revolute, cylindrical, planar | a_z·b_x, a_z·b_y |
//! | universal | a_x·b_y |
//! | prismatic, fixed | a_x·b_y, a_y·b_z, a_z·b_x |
//! | distance | (d·d − l²)/2l |
//!
//! In a plane: points coincide (2 rows), angle kept (1), across a slider (1), distance (1).

use super::MechanismError;
use super::coordinates::{Coordinates, Space};
use crate::math::pose::Pose;
use crate::scene::{BodyId, Function, Joint, JointId, JointKind, Scene};
use crate::symbolic::graph::{Derivatives, Graph, Id, Unary};
use crate::symbolic::vector::Rotation;
use glam::DVec3;
use std::collections::HashMap;

/// One row: a gap that its joint holds at zero.
#[derive(Clone, Debug)]
pub struct Row {
    /// The joint.
    pub joint: JointId,
    /// The name of the joint.
    pub name: String,
    /// Which part of it.
    pub part: &'static str,
    /// Unit of the gap.
    pub unit: &'static str,
    /// g.
    pub gap: Id,
    /// ġ = G v.
    pub rate: Id,
    /// u = −Ġ v.
    pub u: Id,
    /// Entries of the row of G: velocity, value.
    pub entries: Vec<(usize, Id)>,
    /// L of a rod, m, whose g is (d² − L²)/2L: d − L where it nearly fits; 0 for all others.
    pub rod: f64,
}

impl Row {
    /// What is missing when g has a value, in the unit of the row.
    pub fn missing(&self, gap: f64) -> f64 {
        if self.rod > 0.0 {
            (self.rod * self.rod + 2.0 * self.rod * gap).max(0.0).sqrt() - self.rod
        } else {
            gap
        }
    }
}

/// Where a body is.
#[derive(Clone, Debug)]
enum Place {
    Spatial { origin: [Id; 3], rotation: Rotation, spin: [Id; 3] },
    Planar { origin: [Id; 2], cosine: Id, sine: Id, angle: Id, spin: Id },
}

/// All expressions of a mechanism. Inputs: q, v, drives, λ.
#[derive(Clone, Debug)]
pub struct Equations {
    /// The expressions.
    pub graph: Graph,
    /// The coordinates.
    pub coordinates: Coordinates,
    /// Rows of the joints.
    pub rows: Vec<Row>,
    /// Forces f(q, v, t), one per velocity.
    pub forces: Vec<Id>,
    /// Entries of A = L⁻¹Gᵀ: (velocity, row), value; column by column.
    pub a: Vec<((u32, u32), Id)>,
    /// Kinetic energy, J.
    pub kinetic: Id,
    /// Potential energy of gravity and springs, J.
    pub potential: Id,
    /// Power of everything else: applied forces, dampers, motors, W.
    pub power: Id,
    /// Functions of time that are inputs.
    pub drives: Vec<Function>,
    places: Vec<Place>,
    seeds: HashMap<Id, Id>,
}

impl Equations {
    /// Writes the places of bodies and the joints of a scene; forces are still zero, A is empty.
    pub(super) fn of_joints(scene: &Scene, planar: bool) -> Result<Equations, MechanismError> {
        let coordinates = Coordinates::of(scene, planar)?;
        let mut graph = Graph::default();
        let zero = graph.zero();
        let forces = vec![zero; coordinates.velocities()];
        let mut out = Equations {
            graph,
            coordinates,
            rows: Vec::new(),
            forces,
            a: Vec::new(),
            kinetic: zero,
            potential: zero,
            power: zero,
            drives: Vec::new(),
            places: Vec::new(),
            seeds: HashMap::new(),
        };
        out.place_bodies(scene);
        for j in 0..scene.joints.len() {
            out.joint(scene, JointId(j as u32))?;
        }
        Ok(out)
    }

    /// Number of inputs before λ.
    pub fn inputs(&self) -> usize {
        self.coordinates.positions() + self.coordinates.velocities() + self.drives.len()
    }

    /// A function of time as an expression.
    pub(super) fn drive(&mut self, function: &Function) -> Id {
        if let Function::Constant(value) = function {
            return self.graph.constant(*value);
        }
        let place = self.drives.iter().position(|f| f == function).unwrap_or_else(|| {
            self.drives.push(function.clone());
            self.drives.len() - 1
        });
        let base = self.coordinates.positions() + self.coordinates.velocities();
        self.graph.input(base + place)
    }

    fn velocity(&mut self, i: usize) -> Id {
        let base = self.coordinates.positions();
        self.graph.input(base + i)
    }

    /// Position, rotation and their rates for every body.
    fn place_bodies(&mut self, scene: &Scene) {
        for (i, body) in scene.bodies.iter().enumerate() {
            let place = match (self.coordinates.places[i], self.coordinates.space) {
                (Some(m), Space::Spatial) => self.spatial(m),
                (Some(m), Space::Planar(_)) => self.planar(m),
                (None, space) => self.at_rest(&body.pose, space),
            };
            self.places.push(place);
        }
    }

    fn spatial(&mut self, m: usize) -> Place {
        let q: [Id; 7] = std::array::from_fn(|i| self.graph.input(m * 7 + i));
        let v: [Id; 6] = std::array::from_fn(|i| self.velocity(m * 6 + i));
        let rotation = self.graph.rotation([q[3], q[4], q[5], q[6]]);
        let spin = [v[3], v[4], v[5]];
        self.seeds.extend((0..3).map(|i| (q[i], v[i])));
        // Ṙ = R[ω]×: each axis turns into the two others.
        for (axis, (plus, minus)) in [(0, (1, 2)), (1, (2, 0)), (2, (0, 1))] {
            for i in 0..3 {
                let (first, second) = (
                    self.graph.mul(rotation[plus][i], spin[minus]),
                    self.graph.mul(rotation[minus][i], spin[plus]),
                );
                let rate = self.graph.sub(first, second);
                self.seeds.insert(rotation[axis][i], rate);
            }
        }
        Place::Spatial { origin: [q[0], q[1], q[2]], rotation, spin }
    }

    fn planar(&mut self, m: usize) -> Place {
        let q: [Id; 3] = std::array::from_fn(|i| self.graph.input(m * 3 + i));
        let v: [Id; 3] = std::array::from_fn(|i| self.velocity(m * 3 + i));
        self.seeds.extend((0..3).map(|i| (q[i], v[i])));
        let (cosine, sine) =
            (self.graph.unary(Unary::Cos, q[2]), self.graph.unary(Unary::Sin, q[2]));
        Place::Planar { origin: [q[0], q[1]], cosine, sine, angle: q[2], spin: v[2] }
    }

    fn at_rest(&mut self, pose: &Pose, space: Space) -> Place {
        let zero = self.graph.zero();
        match space {
            Space::Spatial => {
                let columns = pose.rotation();
                let rotation = [columns.x_axis, columns.y_axis, columns.z_axis]
                    .map(|c| self.graph.fixed(clean(c)));
                Place::Spatial {
                    origin: self.graph.fixed(pose.position),
                    rotation,
                    spin: [zero; 3],
                }
            }
            Space::Planar([e1, e2, _]) => {
                let origin =
                    [pose.position.dot(e1), pose.position.dot(e2)].map(|x| self.graph.constant(x));
                Place::Planar {
                    origin,
                    cosine: self.graph.constant(1.0),
                    sine: zero,
                    angle: zero,
                    spin: zero,
                }
            }
        }
    }

    /// A direction of a body (body frame), seen from the world: three entries, or two in the plane.
    pub(super) fn direction(&mut self, scene: &Scene, body: BodyId, local: DVec3) -> Vec<Id> {
        match (self.places[body.index()].clone(), self.coordinates.space) {
            (Place::Spatial { rotation, .. }, _) => {
                let local = self.graph.fixed(clean(local));
                self.graph.turned(&rotation, local).to_vec()
            }
            (Place::Planar { cosine, sine, .. }, Space::Planar([e1, e2, _])) => {
                let turned = scene.bodies[body.index()].pose.vector(local);
                let (x, y) = (tidy(turned.dot(e1)), tidy(turned.dot(e2)));
                let (cx, sy) = (self.graph.scale(x, cosine), self.graph.scale(y, sine));
                let (sx, cy) = (self.graph.scale(x, sine), self.graph.scale(y, cosine));
                vec![self.graph.sub(cx, sy), self.graph.add(sx, cy)]
            }
            _ => unreachable!("places and space agree"),
        }
    }

    /// A point of a body (body frame) in the world.
    pub(super) fn point(&mut self, scene: &Scene, body: BodyId, local: DVec3) -> Vec<Id> {
        let lever = self.direction(scene, body, local);
        let origin = match &self.places[body.index()] {
            Place::Spatial { origin, .. } => origin.to_vec(),
            Place::Planar { origin, .. } => origin.to_vec(),
        };
        origin.into_iter().zip(lever).map(|(o, l)| self.graph.add(o, l)).collect()
    }

    /// Angular velocity: in body axes, or the one number of the plane.
    pub(super) fn spin(&self, body: BodyId) -> Vec<Id> {
        match &self.places[body.index()] {
            Place::Spatial { spin, .. } => spin.to_vec(),
            Place::Planar { spin, .. } => vec![*spin],
        }
    }

    /// Angular velocity along the axes of the world.
    pub(super) fn world_spin(&mut self, body: BodyId) -> Vec<Id> {
        match self.places[body.index()].clone() {
            Place::Spatial { rotation, spin, .. } => self.graph.turned(&rotation, spin).to_vec(),
            Place::Planar { spin, .. } => vec![spin],
        }
    }

    /// The angle of a body in the plane.
    pub(super) fn plane_angle(&self, body: BodyId) -> Option<Id> {
        match &self.places[body.index()] {
            Place::Planar { angle, .. } => Some(*angle),
            Place::Spatial { .. } => None,
        }
    }

    pub(super) fn inner_of(&mut self, a: &[Id], b: &[Id]) -> Id {
        let pairs: Vec<(Id, Id)> = a.iter().copied().zip(b.iter().copied()).collect();
        self.graph.dot(&pairs)
    }

    pub(super) fn minus(&mut self, a: &[Id], b: &[Id]) -> Vec<Id> {
        a.iter().zip(b).map(|(&a, &b)| self.graph.sub(a, b)).collect()
    }

    /// The rate of an expression of positions.
    pub(super) fn rate(&mut self, x: Id) -> Id {
        let mut along = Derivatives::along(self.seeds.iter().map(|(a, b)| (*a, *b)));
        self.graph.derivative(x, &mut along)
    }

    /// ∂(rate)/∂v over the velocities of these bodies.
    pub(super) fn gradient(&mut self, rate: Id, bodies: &[BodyId]) -> Vec<(usize, Id)> {
        let one = self.graph.constant(1.0);
        let count = self.coordinates.space.velocities();
        let mut out = Vec::new();
        let mut seen: Vec<usize> =
            bodies.iter().filter_map(|b| self.coordinates.places[b.index()]).collect();
        seen.sort_unstable();
        seen.dedup();
        for m in seen {
            for i in m * count..(m + 1) * count {
                let v = self.velocity(i);
                let entry = self.graph.derivative(rate, &mut Derivatives::along([(v, one)]));
                if !self.graph.is_zero(entry) {
                    out.push((i, entry));
                }
            }
        }
        out
    }

    /// Adds a row.
    fn row(
        &mut self,
        scene: &Scene,
        id: JointId,
        (part, unit): (&'static str, &'static str),
        gap: Id,
    ) {
        let joint = &scene.joints[id.index()];
        let rate = self.rate(gap);
        let entries = self.gradient(rate, &[joint.a, joint.b]);
        let change = self.rate(rate);
        let u = self.graph.neg(change);
        self.rows.push(Row {
            joint: id,
            name: joint.name.clone(),
            part,
            unit,
            gap,
            rate,
            u,
            entries,
            rod: 0.0,
        });
    }

    fn joint(&mut self, scene: &Scene, id: JointId) -> Result<(), MechanismError> {
        let joint = scene.joints[id.index()].clone();
        let refuse = |why: &str| MechanismError::Unsupported {
            what: "joint",
            name: joint.name.clone(),
            why: why.into(),
        };
        if !joint.limits.is_empty() {
            return Err(refuse("it has stops"));
        }
        if joint.friction.iter().any(|f| f.effort > 0.0) {
            return Err(refuse("it has dry friction"));
        }
        if joint.compliance > 0.0 {
            return Err(refuse("it is compliant"));
        }
        match self.coordinates.space {
            Space::Spatial => self.spatial_joint(scene, id, &joint),
            Space::Planar(axes) => self.planar_joint(scene, id, &joint, axes),
        }
        Ok(())
    }

    fn ends(&mut self, scene: &Scene, joint: &Joint) -> Vec<Id> {
        let a = self.point(scene, joint.a, joint.frame_a.position);
        let b = self.point(scene, joint.b, joint.frame_b.position);
        self.minus(&b, &a)
    }

    fn spatial_joint(&mut self, scene: &Scene, id: JointId, joint: &Joint) {
        use JointKind::*;
        const UNITS: [DVec3; 3] = [DVec3::X, DVec3::Y, DVec3::Z];
        const POINT: [&str; 3] = ["point along x", "point along y", "point along z"];
        const ALONG: [&str; 3] = ["offset along x", "offset along y", "offset along z"];
        let d = self.ends(scene, joint);
        let (a, b) = (joint.frame_a.orientation, joint.frame_b.orientation);
        if matches!(joint.kind, Spherical | Revolute | Universal | Fixed) {
            (0..3).for_each(|i| self.row(scene, id, (POINT[i], "m"), d[i]));
        }
        let along: &[usize] = match joint.kind {
            Prismatic | Cylindrical | PointOnLine => &[0, 1],
            Planar | PointOnPlane => &[2],
            _ => &[],
        };
        for &i in along {
            let axis = self.direction(scene, joint.a, a * UNITS[i]);
            let gap = self.inner_of(&axis, &d);
            self.row(scene, id, (ALONG[i], "m"), gap);
        }
        let perpendicular: &[(usize, usize, &'static str)] = match joint.kind {
            Revolute | Cylindrical | Planar => &[(2, 0, "axis about y"), (2, 1, "axis about x")],
            Universal => &[(0, 1, "cross")],
            Prismatic | Fixed => {
                &[(0, 1, "turn about z"), (1, 2, "turn about x"), (2, 0, "turn about y")]
            }
            _ => &[],
        };
        for &(i, j, part) in perpendicular {
            let (x, y) = (
                self.direction(scene, joint.a, a * UNITS[i]),
                self.direction(scene, joint.b, b * UNITS[j]),
            );
            let gap = self.inner_of(&x, &y);
            self.row(scene, id, (part, "rad"), gap);
        }
        if let Distance { length } = joint.kind {
            self.distance(scene, id, &d, length);
        }
    }

    fn distance(&mut self, scene: &Scene, id: JointId, d: &[Id], length: f64) {
        let square = self.inner_of(d, d);
        let over = self.graph.less(square, length * length);
        let gap = self.graph.scale(0.5 / length, over);
        self.row(scene, id, ("length", "m"), gap);
        if let Some(row) = self.rows.last_mut() {
            row.rod = length;
        }
    }

    fn planar_joint(&mut self, scene: &Scene, id: JointId, joint: &Joint, [e1, e2, n]: [DVec3; 3]) {
        use JointKind::*;
        let d = self.ends(scene, joint);
        match joint.kind {
            Spherical | Revolute | Cylindrical | Fixed => {
                self.row(scene, id, ("point along the first axis", "m"), d[0]);
                self.row(scene, id, ("point along the second axis", "m"), d[1]);
            }
            Prismatic => {
                let slide =
                    scene.bodies[joint.a.index()].pose.vector(joint.frame_a.vector(DVec3::Z));
                let across = joint_axis(scene, joint.a, n.cross(slide));
                let axis = self.direction(scene, joint.a, across);
                let gap = self.inner_of(&axis, &d);
                self.row(scene, id, ("offset across the slider", "m"), gap);
            }
            Distance { length } => self.distance(scene, id, &d, length),
            _ => {}
        }
        if let (Prismatic | Fixed, Some(a), Some(b)) =
            (joint.kind, self.plane_angle(joint.a), self.plane_angle(joint.b))
        {
            // The angles are counted from the initial poses, the joint from where its frames agree.
            let world = |body: BodyId, frame: &Pose| {
                scene.bodies[body.index()].pose.orientation * frame.orientation
            };
            let x = world(joint.a, &joint.frame_a).conjugate() * world(joint.b, &joint.frame_b);
            let z = world(joint.a, &joint.frame_a).conjugate() * n;
            let offset = 2.0 * DVec3::new(x.x, x.y, x.z).dot(z).atan2(x.w);
            let difference = self.graph.sub(b, a);
            let gap = self.graph.less(difference, -tidy(offset));
            self.row(scene, id, ("angle", "rad"), gap);
        }
        debug_assert!((e1.cross(e2) - n).length() < 1e-9);
    }

    /// A = L⁻¹Gᵀ.
    pub(super) fn scaled_jacobian(&mut self) {
        let count = self.coordinates.space.velocities();
        let roots = self.coordinates.inverse_roots();
        for r in 0..self.rows.len() {
            let mut column: Vec<(usize, Id)> = Vec::new();
            for (i, entry) in self.rows[r].entries.clone() {
                let (body, local) = (i / count, i % count);
                for &(row, _, factor) in roots[body].iter().filter(|e| e.1 == local) {
                    let term = self.graph.scale(factor, entry);
                    let at = body * count + row;
                    match column.iter_mut().find(|e| e.0 == at) {
                        Some(known) => known.1 = self.graph.add(known.1, term),
                        None => column.push((at, term)),
                    }
                }
            }
            column.sort_unstable_by_key(|e| e.0);
            self.a.extend(
                column
                    .into_iter()
                    .filter(|e| !self.graph.is_zero(e.1))
                    .map(|(i, x)| ((i as u32, r as u32), x)),
            );
        }
    }

    /// M⁻¹ s: `L⁻ᵀ L⁻¹ s`.
    pub fn inverse_mass(&mut self, s: &[Id]) -> Vec<Id> {
        let count = self.coordinates.space.velocities();
        let zero = self.graph.zero();
        let mut out = vec![zero; s.len()];
        for (body, root) in self.coordinates.inverse_roots().into_iter().enumerate() {
            // (M⁻¹)ᵢⱼ = Σₖ L⁻¹ₖᵢ L⁻¹ₖⱼ.
            for i in 0..count {
                for j in 0..count {
                    let entry: f64 = root
                        .iter()
                        .filter(|e| e.1 == i)
                        .flat_map(|x| {
                            root.iter()
                                .filter(move |y| y.1 == j && y.0 == x.0)
                                .map(move |y| x.2 * y.2)
                        })
                        .sum();
                    if entry != 0.0 {
                        let term = self.graph.scale(entry, s[body * count + j]);
                        out[body * count + i] = self.graph.add(out[body * count + i], term);
                    }
                }
            }
        }
        out
    }

    /// G s for one row.
    pub fn times(&mut self, row: usize, s: &[Id]) -> Id {
        let pairs: Vec<(Id, Id)> = self.rows[row].entries.iter().map(|&(i, x)| (x, s[i])).collect();
        self.graph.dot(&pairs)
    }

    /// f − Gᵀλ over these rows.
    pub fn remaining(&mut self, rows: &[usize], lambda: &[Id]) -> Vec<Id> {
        let mut out = self.forces.clone();
        for (&row, &l) in rows.iter().zip(lambda) {
            for (i, x) in self.rows[row].entries.clone() {
                let term = self.graph.mul(x, l);
                out[i] = self.graph.sub(out[i], term);
            }
        }
        out
    }
}

/// A direction of the world in the body frame.
fn joint_axis(scene: &Scene, body: BodyId, direction: DVec3) -> DVec3 {
    scene.bodies[body.index()].pose.inverse_vector(direction)
}

/// Rounding of unit quaternions: a sine of 1e-16 is a zero that was meant.
fn tidy(x: f64) -> f64 {
    let nearest = x.round();
    if (x - nearest).abs() < 4e-16 && nearest.abs() <= 1.0 { nearest } else { x }
}

fn clean(v: DVec3) -> DVec3 {
    DVec3::new(tidy(v.x), tidy(v.y), tidy(v.z))
}
