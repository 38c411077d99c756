//! Forces as expressions: gravity, gyroscopic torque, springs, dampers, drag, applied forces,
//! motors that give an effort.
//!
//! | force | measure x | strength | energy |
//! |---|---|---|---|
//! | spring | √(d·d) − l₀ | −k x − c ẋ | ½ k x² |
//! | torsion spring | angle about a_z − θ₀ | −k x − c ẋ | ½ k x² |
//! | drag | v, ω | −(c₁ + c₂|v|) v, −c_ω ω | |
//! | applied | point, angular velocity | F, τ | |
//! | motor, effort | angle or slide | effort | |

use super::MechanismError;
use super::coordinates::Space;
use super::equations::Equations;
use crate::scene::{
    Applied, BodyId, Coordinate, Drag, Drive, ForceKind, Frame, Scene, Spring, Torsion,
};
use crate::symbolic::graph::{Binary, Id, Unary};
use glam::DVec3;

/// Writes f and the energies.
pub(super) fn write(e: &mut Equations, scene: &Scene) -> Result<(), MechanismError> {
    weight(e, scene);
    for force in &scene.forces {
        match &force.kind {
            ForceKind::Spring(s) => spring(e, scene, s),
            ForceKind::Torsion(s) => torsion(e, scene, s),
            ForceKind::Drag(s) => drag(e, s),
            ForceKind::Applied(s) => applied(e, scene, s),
            ForceKind::Tension(_) => {
                let why = "its pull is a formula".into();
                return Err(MechanismError::Unsupported {
                    what: "force",
                    name: force.name.clone(),
                    why,
                });
            }
            ForceKind::Bushing(_) => {
                return Err(MechanismError::Unsupported {
                    what: "force",
                    name: force.name.clone(),
                    why: "it is a bushing".into(),
                });
            }
        }
    }
    if scene.reacts() {
        let why = "it has sensors, controllers, events or templates".into();
        return Err(MechanismError::Unsupported { what: "scene", name: scene.name.clone(), why });
    }
    if let Some(joint) = scene.joints.iter().find(|j| j.armature.iter().any(|a| a.inertia > 0.0)) {
        return Err(MechanismError::Unsupported {
            what: "joint",
            name: joint.name.clone(),
            why: "it has an armature".into(),
        });
    }
    if let Some(gear) = scene.gears.first() {
        return Err(MechanismError::Unsupported {
            what: "gear",
            name: gear.name.clone(),
            why: "it couples joints".into(),
        });
    }
    for motor in &scene.motors {
        let (Drive::Effort(effort), true) = (&motor.drive, motor.also.is_empty()) else {
            let why =
                "it imposes a motion or is a servo (a force or a torque on one joint is treated)"
                    .into();
            return Err(MechanismError::Unsupported {
                what: "motor",
                name: motor.name.clone(),
                why,
            });
        };
        let joint = &scene.joints[motor.joint.index()];
        let strength = e.drive(effort);
        let axis = e.direction(scene, joint.a, joint.frame_a.vector(DVec3::Z));
        let rate = match motor.coordinate {
            Coordinate::Angle => {
                let (a, b) = (e.world_spin(joint.a), e.world_spin(joint.b));
                let relative = e.minus(&b, &a);
                match e.coordinates.space {
                    Space::Spatial => e.inner_of(&axis, &relative),
                    Space::Planar([.., n]) => {
                        let along = scene.bodies[joint.a.index()]
                            .pose
                            .vector(joint.frame_a.vector(DVec3::Z))
                            .dot(n);
                        e.graph.scale(along.signum(), relative[0])
                    }
                }
            }
            Coordinate::Slide | Coordinate::Distance => {
                let (a, b) = (
                    e.point(scene, joint.a, joint.frame_a.position),
                    e.point(scene, joint.b, joint.frame_b.position),
                );
                let d = e.minus(&b, &a);
                let x = if motor.coordinate == Coordinate::Slide {
                    e.inner_of(&axis, &d)
                } else {
                    length(e, &d)
                };
                e.rate(x)
            }
        };
        push(e, rate, strength, &[joint.a, joint.b]);
        working(e, rate, strength);
    }
    Ok(())
}

/// Adds `strength · ∂rate/∂v` to the forces.
fn push(e: &mut Equations, rate: Id, strength: Id, bodies: &[BodyId]) {
    for (i, entry) in e.gradient(rate, bodies) {
        let term = e.graph.mul(strength, entry);
        e.forces[i] = e.graph.add(e.forces[i], term);
    }
}

/// Adds `strength · rate` to the power.
fn working(e: &mut Equations, rate: Id, strength: Id) {
    let power = e.graph.mul(strength, rate);
    e.power = e.graph.add(e.power, power);
}

fn length(e: &mut Equations, d: &[Id]) -> Id {
    let square = e.inner_of(d, d);
    e.graph.unary(Unary::Sqrt, square)
}

/// Gravity, kinetic energy, and the torque −ω × Iω.
fn weight(e: &mut Equations, scene: &Scene) {
    let count = e.coordinates.space.velocities();
    for (m, moving) in e.coordinates.moving.clone().into_iter().enumerate() {
        let pull: Vec<f64> = match e.coordinates.space {
            Space::Spatial => (scene.gravity * moving.mass.mass).to_array().to_vec(),
            Space::Planar([e1, e2, _]) => {
                [e1, e2].map(|a| scene.gravity.dot(a) * moving.mass.mass).to_vec()
            }
        };
        let center = e.point(scene, moving.body, DVec3::ZERO);
        for (i, (&x, force)) in center.iter().zip(pull).enumerate() {
            let strength = e.graph.constant(force);
            e.forces[m * count + i] = e.graph.add(e.forces[m * count + i], strength);
            let height = e.graph.mul(strength, x);
            e.potential = e.graph.sub(e.potential, height);
            let v = e.rate(x);
            let square = e.graph.mul(v, v);
            let half = e.graph.scale(0.5 * moving.mass.mass, square);
            e.kinetic = e.graph.add(e.kinetic, half);
        }
        let spin = e.spin(moving.body);
        if let Space::Planar([.., n]) = e.coordinates.space {
            let along = moving.initial.inverse_vector(n);
            let square = e.graph.mul(spin[0], spin[0]);
            let half = e.graph.scale(0.5 * along.dot(moving.mass.inertia * along), square);
            e.kinetic = e.graph.add(e.kinetic, half);
            continue;
        }
        let inertia = moving.mass.inertia.to_cols_array_2d();
        let momentum: [Id; 3] = std::array::from_fn(|i| {
            let terms: Vec<Id> = (0..3).map(|j| e.graph.scale(inertia[j][i], spin[j])).collect();
            e.graph.total(&terms)
        });
        let torque = e.graph.cross(momentum, [spin[0], spin[1], spin[2]]);
        for i in 0..3 {
            e.forces[m * count + 3 + i] = e.graph.add(e.forces[m * count + 3 + i], torque[i]);
        }
        let twice = e.inner_of(&spin, &momentum);
        let half = e.graph.scale(0.5, twice);
        e.kinetic = e.graph.add(e.kinetic, half);
    }
}

/// `−k x − c ẋ` along a measure.
fn elastic(e: &mut Equations, x: Id, (stiffness, damping): (f64, f64), bodies: &[BodyId]) {
    let rate = e.rate(x);
    let (elastic, viscous) = (e.graph.scale(-stiffness, x), e.graph.scale(-damping, rate));
    let strength = e.graph.add(elastic, viscous);
    push(e, rate, strength, bodies);
    working(e, rate, viscous);
    let square = e.graph.mul(x, x);
    let energy = e.graph.scale(0.5 * stiffness, square);
    e.potential = e.graph.add(e.potential, energy);
}

fn spring(e: &mut Equations, scene: &Scene, s: &Spring) {
    let (a, b) = (e.point(scene, s.a, s.point_a), e.point(scene, s.b, s.point_b));
    let d = e.minus(&b, &a);
    let length = length(e, &d);
    let x = e.graph.less(length, s.length);
    elastic(e, x, (s.stiffness, s.damping), &[s.a, s.b]);
}

fn torsion(e: &mut Equations, scene: &Scene, s: &Torsion) {
    let axis = |pose: &crate::math::pose::Pose, v: DVec3| pose.vector(v);
    let angle = match (e.coordinates.space, e.plane_angle(s.a), e.plane_angle(s.b)) {
        (Space::Planar([.., n]), Some(a), Some(b)) => {
            let (fa, fb) = (
                scene.bodies[s.a.index()].pose * s.frame_a,
                scene.bodies[s.b.index()].pose * s.frame_b,
            );
            let x = fa.orientation.conjugate() * fb.orientation;
            let offset = 2.0 * x.z.atan2(x.w);
            let difference = e.graph.sub(b, a);
            let counted = e.graph.scale(fa.vector(DVec3::Z).dot(n).signum(), difference);
            e.graph.less(counted, -offset)
        }
        _ => {
            // atan2(a_y·b_x, a_x·b_x): the angle of b's first axis about a's third.
            let ax = e.direction(scene, s.a, axis(&s.frame_a, DVec3::X));
            let ay = e.direction(scene, s.a, axis(&s.frame_a, DVec3::Y));
            let bx = e.direction(scene, s.b, axis(&s.frame_b, DVec3::X));
            let (sine, cosine) = (e.inner_of(&ay, &bx), e.inner_of(&ax, &bx));
            e.graph.binary(Binary::Atan2, sine, cosine)
        }
    };
    let x = e.graph.less(angle, s.angle);
    elastic(e, x, (s.stiffness, s.damping), &[s.a, s.b]);
}

fn drag(e: &mut Equations, s: &Drag) {
    let Some(m) = e.coordinates.places[s.body.index()] else { return };
    let (count, base) = (e.coordinates.space.velocities(), e.coordinates.positions());
    let linear = if count == 6 { 3 } else { 2 };
    let v: Vec<Id> = (0..count).map(|i| e.graph.input(base + m * count + i)).collect();
    let speed = length(e, &v[..linear]);
    let quadratic = e.graph.scale(s.quadratic, speed);
    let first = e.graph.constant(s.linear);
    let coefficient = e.graph.add(first, quadratic);
    let turning = e.graph.constant(s.angular);
    for (i, &v) in v.iter().enumerate() {
        let resistance = e.graph.mul(if i < linear { coefficient } else { turning }, v);
        let strength = e.graph.neg(resistance);
        e.forces[m * count + i] = e.graph.add(e.forces[m * count + i], strength);
        working(e, v, strength);
    }
}

fn applied(e: &mut Equations, scene: &Scene, s: &Applied) {
    let force: Vec<Id> = s.force.iter().map(|f| e.drive(f)).collect();
    let torque: Vec<Id> = s.torque.iter().map(|f| e.drive(f)).collect();
    let point = e.point(scene, s.body, s.point);
    let rates: Vec<Id> = point.iter().map(|&x| e.rate(x)).collect();
    match (e.coordinates.space, s.frame) {
        (Space::Planar([e1, e2, n]), _) => {
            let along = |e: &mut Equations, axis: DVec3, list: &[Id]| {
                let terms: Vec<Id> = (0..3).map(|i| e.graph.scale(axis[i], list[i])).collect();
                e.graph.total(&terms)
            };
            let (first, second, turn) =
                (along(e, e1, &force), along(e, e2, &force), along(e, n, &torque));
            let spin = e.spin(s.body)[0];
            for (rate, strength) in [(rates[0], first), (rates[1], second), (spin, turn)] {
                push(e, rate, strength, &[s.body]);
                working(e, rate, strength);
            }
        }
        (Space::Spatial, frame) => {
            let spin = if frame == Frame::Body { e.spin(s.body) } else { e.world_spin(s.body) };
            for i in 0..3 {
                let strength = match frame {
                    Frame::World => force[i],
                    Frame::Body => {
                        let axes =
                            [DVec3::X, DVec3::Y, DVec3::Z].map(|a| e.direction(scene, s.body, a));
                        let row = [axes[0][i], axes[1][i], axes[2][i]];
                        e.inner_of(&row, &force)
                    }
                };
                push(e, rates[i], strength, &[s.body]);
                working(e, rates[i], strength);
                push(e, spin[i], torque[i], &[s.body]);
                working(e, spin[i], torque[i]);
            }
        }
    }
}
