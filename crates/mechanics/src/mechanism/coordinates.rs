//! Which numbers describe the mechanism: six velocities a body, or three if all moves in one plane.
//!
//! | space | q of a body | v of a body | mass |
//! |---|---|---|---|
//! | spatial | position (3), quaternion x y z w | velocity (world), angular velocity (body axes) | m, I |
//! | planar | position along e₁, e₂; angle about n from the initial one | their rates | m, nᵀI n |
//!
//! A mechanism is planar with normal n if gravity, initial velocities and forces lie in the plane,
//! n is a principal axis of every body, and every joint lets its bodies move in the plane only as a
//! planar joint does: hinges along n, sliders across n, rods in the plane. Then the rows out of the
//! plane hold by themselves, and are left out: they are what makes planar loops of spatial joints
//! redundant.

use super::MechanismError;
use crate::math::pose::Pose;
use crate::scene::{
    Body, BodyId, ForceKind, Frame, Function, Joint, JointKind, Kind, Layout, Mass, Scene, State,
};
use glam::{DQuat, DVec3};

/// How many dimensions the motion has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Space {
    /// Three.
    Spatial,
    /// Two, with these axes: in the plane, in the plane, normal (right-handed).
    Planar([DVec3; 3]),
}

impl Space {
    /// Coordinates of a body.
    pub fn positions(&self) -> usize {
        if *self == Space::Spatial { 7 } else { 3 }
    }

    /// Velocities of a body.
    pub fn velocities(&self) -> usize {
        if *self == Space::Spatial { 6 } else { 3 }
    }
}

/// A body that moves.
#[derive(Clone, Debug)]
pub struct Moving {
    /// The body.
    pub body: BodyId,
    /// Its name.
    pub name: String,
    /// Its mass.
    pub mass: Mass,
    /// Where it stands at the beginning.
    pub initial: Pose,
}

/// The coordinates of a mechanism.
#[derive(Clone, Debug)]
pub struct Coordinates {
    /// Plane or space.
    pub space: Space,
    /// The bodies that move, in the order of their coordinates.
    pub moving: Vec<Moving>,
    /// For each body of the scene, its place in `moving`.
    pub places: Vec<Option<usize>>,
}

impl Coordinates {
    /// The coordinates of a scene; `planar` asks whether a plane may be used if there is one.
    pub fn of(scene: &Scene, planar: bool) -> Result<Coordinates, MechanismError> {
        let mut out = Coordinates { space: Space::Spatial, moving: Vec::new(), places: Vec::new() };
        for (i, body) in scene.bodies.iter().enumerate() {
            out.places.push(matches!(body.kind, Kind::Rigid(_)).then_some(out.moving.len()));
            match &body.kind {
                Kind::Rigid(mass) => {
                    if let Some(why) = mass.fault() {
                        return Err(MechanismError::Mass {
                            body: body.name.clone(),
                            joint: holder(scene, BodyId(i as u32)),
                            why,
                        });
                    }
                    out.moving.push(Moving {
                        body: BodyId(i as u32),
                        name: body.name.clone(),
                        mass: *mass,
                        initial: body.pose,
                    });
                }
                Kind::Fixed => {}
                Kind::Imposed(_) => {
                    return Err(MechanismError::Unsupported {
                        what: "body",
                        name: body.name.clone(),
                        why: "its motion is imposed".into(),
                    });
                }
                Kind::Soft(_) => {
                    return Err(MechanismError::Unsupported {
                        what: "body",
                        name: body.name.clone(),
                        why: "it is soft".into(),
                    });
                }
            }
        }
        if planar && let Some(axes) = plane(scene) {
            out.space = Space::Planar(axes);
        }
        Ok(out)
    }

    /// Number of positions.
    pub fn positions(&self) -> usize {
        self.moving.len() * self.space.positions()
    }

    /// Number of velocities.
    pub fn velocities(&self) -> usize {
        self.moving.len() * self.space.velocities()
    }

    /// Positions and velocities of a state of the scene, relative to where its bodies stood at the
    /// beginning.
    pub fn read(&self, state: &State, layout: &Layout) -> (Vec<f64>, Vec<f64>) {
        let (mut q, mut v) =
            (Vec::with_capacity(self.positions()), Vec::with_capacity(self.velocities()));
        for moving in &self.moving {
            let (pose, (linear, angular)) =
                (state.pose(moving.body), state.twist(layout, moving.body));
            match self.space {
                Space::Spatial => {
                    q.extend(pose.position.to_array());
                    q.extend(pose.orientation.to_array());
                    v.extend(linear.to_array());
                    v.extend(angular.to_array());
                }
                Space::Planar([e1, e2, n]) => {
                    let turn = pose.orientation * moving.initial.orientation.conjugate();
                    let angle = 2.0 * DVec3::new(turn.x, turn.y, turn.z).dot(n).atan2(turn.w);
                    q.extend([pose.position.dot(e1), pose.position.dot(e2), angle]);
                    v.extend([linear.dot(e1), linear.dot(e2), pose.vector(angular).dot(n)]);
                }
            }
        }
        (q, v)
    }

    /// Writes positions and velocities into a state of the scene.
    pub fn write(&self, q: &[f64], v: &[f64], layout: &Layout, state: &mut State) {
        let (nq, nv) = (self.space.positions(), self.space.velocities());
        for (i, moving) in self.moving.iter().enumerate() {
            let (q, v) = (&q[i * nq..(i + 1) * nq], &v[i * nv..(i + 1) * nv]);
            let (pose, linear, angular) = match self.space {
                Space::Spatial => (
                    Pose::new(DVec3::from_slice(q), DQuat::from_slice(&q[3..])),
                    DVec3::from_slice(v),
                    DVec3::from_slice(&v[3..]),
                ),
                Space::Planar([e1, e2, n]) => {
                    let position = e1 * q[0] + e2 * q[1] + n * moving.initial.position.dot(n);
                    let pose = Pose::new(
                        position,
                        (DQuat::from_axis_angle(n, q[2]) * moving.initial.orientation).normalize(),
                    );
                    (pose, e1 * v[0] + e2 * v[1], pose.inverse_vector(n * v[2]))
                }
            };
            state.set_pose(moving.body, &pose);
            if let Some(at) = layout.velocity(moving.body) {
                linear.write_to_slice(&mut state.v[at..]);
                angular.write_to_slice(&mut state.v[at + 3..]);
            }
        }
    }

    /// Moves positions by a small displacement in the units of v.
    pub fn displace(&self, q: &mut [f64], delta: &[f64]) {
        let (nq, nv) = (self.space.positions(), self.space.velocities());
        for (q, d) in q.chunks_exact_mut(nq).zip(delta.chunks_exact(nv)) {
            match self.space {
                Space::Planar(_) => q.iter_mut().zip(d).for_each(|(q, d)| *q += d),
                Space::Spatial => {
                    let pose = Pose::new(DVec3::from_slice(q), DQuat::from_slice(&q[3..]));
                    let moved = pose.advanced(DVec3::from_slice(d), DVec3::from_slice(&d[3..]));
                    moved.position.write_to_slice(q);
                    moved.orientation.write_to_slice(&mut q[3..]);
                }
            }
        }
    }

    /// `q̇` for velocities v: of a quaternion `½ ρ ω`.
    pub fn rates(&self, q: &[f64], v: &[f64], out: &mut [f64]) {
        if self.space != Space::Spatial {
            out.copy_from_slice(v);
            return;
        }
        for ((q, v), out) in q.chunks_exact(7).zip(v.chunks_exact(6)).zip(out.chunks_exact_mut(7)) {
            out[..3].copy_from_slice(&v[..3]);
            let (x, y, z, w) = (q[3], q[4], q[5], q[6]);
            let (a, b, c) = (0.5 * v[3], 0.5 * v[4], 0.5 * v[5]);
            out[3] = w * a + y * c - z * b;
            out[4] = w * b + z * a - x * c;
            out[5] = w * c + x * b - y * a;
            out[6] = -(x * a + y * b + z * c);
        }
    }

    /// Makes quaternions unit again.
    pub fn normalize(&self, q: &mut [f64]) {
        if self.space == Space::Spatial {
            for q in q.chunks_exact_mut(7) {
                let length = q[3..].iter().map(|x| x * x).sum::<f64>().sqrt();
                q[3..].iter_mut().for_each(|x| *x /= length);
            }
        }
    }

    /// The lower triangles L⁻¹ of each body's mass matrix `M = L Lᵀ`: entries (row, column, value)
    /// within the body.
    pub fn inverse_roots(&self) -> Vec<Vec<(usize, usize, f64)>> {
        self.moving.iter().map(|m| self.inverse_root(m)).collect()
    }

    fn inverse_root(&self, moving: &Moving) -> Vec<(usize, usize, f64)> {
        let linear = 1.0 / moving.mass.mass.sqrt();
        match self.space {
            Space::Planar([.., n]) => {
                let along = moving.initial.inverse_vector(n);
                let inertia = along.dot(moving.mass.inertia * along);
                vec![(0, 0, linear), (1, 1, linear), (2, 2, 1.0 / inertia.sqrt())]
            }
            Space::Spatial => {
                let columns = moving.mass.inertia.to_cols_array_2d();
                let mut l: [f64; 9] = std::array::from_fn(|p| columns[p % 3][p / 3]);
                // Positive definite: the mass was checked.
                let _ = crate::math::dense::cholesky(3, &mut l);
                let mut out: Vec<(usize, usize, f64)> = (0..3).map(|i| (i, i, linear)).collect();
                for column in 0..3 {
                    let mut x = [0.0; 3];
                    for i in column..3 {
                        let s: f64 = (column..i).map(|k| l[i * 3 + k] * x[k]).sum();
                        x[i] = (f64::from(i == column) - s) / l[i * 3 + i];
                        if x[i] != 0.0 {
                            out.push((3 + i, 3 + column, x[i]));
                        }
                    }
                }
                out
            }
        }
    }
}

/// The name of a joint that holds a body.
fn holder(scene: &Scene, body: BodyId) -> String {
    scene
        .joints
        .iter()
        .find(|j| j.a == body || j.b == body)
        .map_or_else(|| "none".into(), |j| j.name.clone())
}

/// Lengths and angles below this count as zero when a plane is looked for (rounding of positions of
/// some metres).
const PLANE_TOLERANCE: f64 = 1e-9;

/// The plane in which everything moves, if there is one.
fn plane(scene: &Scene) -> Option<[DVec3; 3]> {
    let mut normals: Vec<DVec3> = Vec::new();
    for joint in &scene.joints {
        if matches!(joint.kind, JointKind::Revolute | JointKind::Planar | JointKind::Cylindrical) {
            normals.push(world(scene, joint.a, &joint.frame_a).vector(DVec3::Z));
            break;
        }
    }
    if normals.is_empty() {
        normals.extend([DVec3::Y, DVec3::X, DVec3::Z]);
    }
    normals.into_iter().find(|&n| flat(scene, n)).map(axes)
}

/// Right-handed axes with this normal; axes of the world where they fit.
fn axes(n: DVec3) -> [DVec3; 3] {
    for (e1, e2) in [(DVec3::X, DVec3::Y), (DVec3::X, DVec3::Z), (DVec3::Y, DVec3::Z)] {
        if n.dot(e1).abs() < PLANE_TOLERANCE && n.dot(e2).abs() < PLANE_TOLERANCE {
            return [e1, e2, e1.cross(e2)];
        }
    }
    let e1 = n.any_orthonormal_vector();
    [e1, n.cross(e1), n]
}

fn world(scene: &Scene, body: BodyId, frame: &Pose) -> Pose {
    scene.bodies[body.index()].pose * *frame
}

fn parallel(a: DVec3, n: DVec3) -> bool {
    a.cross(n).length() < PLANE_TOLERANCE * a.length().max(1.0)
}

fn flat(scene: &Scene, n: DVec3) -> bool {
    scene.gravity.dot(n).abs() < PLANE_TOLERANCE
        && scene.bodies.iter().all(|body| body_flat(body, n))
        && scene.joints.iter().all(|joint| joint_flat(scene, joint, n))
        && scene.forces.iter().all(|force| force_flat(scene, &force.kind, n))
}

fn body_flat(body: &Body, n: DVec3) -> bool {
    let Some(mass) = body.mass() else { return true };
    let along = body.pose.inverse_vector(n);
    let carried = mass.inertia * along;
    (carried - along * along.dot(carried)).length() < 1e-9 * carried.length()
        && body.velocity.dot(n).abs() < PLANE_TOLERANCE
        && body.pose.vector(body.spin).cross(n).length() < PLANE_TOLERANCE
}

fn joint_flat(scene: &Scene, joint: &Joint, n: DVec3) -> bool {
    let (a, b) = (world(scene, joint.a, &joint.frame_a), world(scene, joint.b, &joint.frame_b));
    let (za, zb) = (a.vector(DVec3::Z), b.vector(DVec3::Z));
    let level = (a.position - b.position).dot(n).abs() < PLANE_TOLERANCE;
    match joint.kind {
        JointKind::Revolute => level && parallel(za, n) && parallel(zb, n),
        JointKind::Cylindrical => parallel(za, n) && parallel(zb, n),
        JointKind::Planar => parallel(za, n) && parallel(zb, n),
        JointKind::Prismatic => level && za.dot(n).abs() < PLANE_TOLERANCE && parallel(za, zb),
        JointKind::Fixed | JointKind::Spherical | JointKind::Distance { .. } => level,
        JointKind::Free => true,
        _ => false,
    }
}

fn force_flat(scene: &Scene, kind: &ForceKind, n: DVec3) -> bool {
    let point = |body: BodyId, p: DVec3| scene.bodies[body.index()].pose.point(p);
    match kind {
        ForceKind::Spring(s) => {
            (point(s.a, s.point_a) - point(s.b, s.point_b)).dot(n).abs() < PLANE_TOLERANCE
        }
        ForceKind::Torsion(s) => parallel(world(scene, s.a, &s.frame_a).vector(DVec3::Z), n),
        ForceKind::Drag(_) => true,
        ForceKind::Bushing(_) | ForceKind::Tension(_) => false,
        ForceKind::Applied(s) => {
            let nothing = |f: &Function| *f == Function::Constant(0.0);
            let axis = |i: usize| n[i].abs() > 1.0 - PLANE_TOLERANCE;
            s.frame == Frame::World
                && (0..3).all(|i| n[i].abs() < PLANE_TOLERANCE || axis(i))
                && (0..3)
                    .all(|i| if axis(i) { nothing(&s.force[i]) } else { nothing(&s.torque[i]) })
        }
    }
}
