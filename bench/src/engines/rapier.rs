//! A scene stepped by Rapier in double precision. As shipped: 4 iterations, nothing sleeps, the
//! unit of length that of the smallest body as its documentation advises.

use super::{Run, Task};

/// Why it is missing, if it is.
pub const WITHOUT: &str = "not built in: cargo build --features bench-rapier";

/// Without the feature `rapier` there is no such run.
#[cfg(not(feature = "rapier"))]
pub fn run(_task: &Task, _iterations: Option<usize>) -> Option<Result<Run, String>> {
    None
}

/// Steps the scene, with its own number of iterations or this one.
#[cfg(feature = "rapier")]
pub fn run(task: &Task, iterations: Option<usize>) -> Option<Result<Run, String>> {
    let (run, seconds) = crate::peers::repeated(|| world::steps(task, iterations));
    Some(run.map(|run| Run { seconds, ..run }))
}

#[cfg(feature = "rapier")]
mod world {
    use super::*;
    use crate::engines::{Moving, joint_name, push};
    use glam::DVec3;
    use rapier3d_f64::prelude::*;
    use signorini::geometry::Shape;
    use signorini::math::pose::Pose as OurPose;
    use signorini::scene::{JointKind, MaterialId, Scene};
    use std::time::Instant;

    pub fn steps(task: &Task, iterations: Option<usize>) -> Result<Run, String> {
        let (mut world, free) = build(task)?;
        if let Some(iterations) = iterations {
            world.integration_parameters.num_solver_iterations = iterations;
        }
        let every = (task.steps / task.samples).max(1);
        let (mut samples, mut contacts, mut steps) = (Vec::new(), 0, 0);
        let begun = Instant::now();
        while steps < task.steps && (steps == 0 || begun.elapsed().as_secs_f64() < task.budget) {
            world.step();
            steps += 1;
            if steps % every == 0 || steps == task.steps {
                samples.push((steps as f64 * task.h, moving(&world, &free)));
                let points = |pair: &ContactPair| {
                    pair.manifolds().iter().map(|m| m.data.solver_contacts.len()).sum::<usize>()
                };
                contacts += world.contact_pairs().map(points).sum::<usize>();
            }
        }
        let contacts = contacts as f64 / samples.len().max(1) as f64;
        Ok(Run {
            engine: if iterations.is_some() { "rapier:tuned" } else { "rapier" }.into(),
            version: "0.36".into(),
            seconds: 0.0,
            steps,
            contacts,
            not_accepted: None,
            samples,
        })
    }

    fn pose(pose: &OurPose) -> Pose {
        let p = pose.position;
        let q = pose.orientation;
        Pose::from_parts(Vector::new(p.x, p.y, p.z), Rotation::from_xyzw(q.x, q.y, q.z, q.w))
    }

    fn vector(v: DVec3) -> Vector {
        Vector::new(v.x, v.y, v.z)
    }

    fn collider(shape: &Shape) -> Result<ColliderBuilder, String> {
        Ok(match shape {
            Shape::Sphere { radius } => ColliderBuilder::ball(*radius),
            Shape::Box { half_extents: h } => ColliderBuilder::cuboid(h.x, h.y, h.z),
            Shape::Capsule { radius, half_length } => {
                ColliderBuilder::capsule_z(*half_length, *radius)
            }
            // Its axis is y, ours is z.
            Shape::Cylinder { radius, half_length } => {
                ColliderBuilder::cylinder(*half_length, *radius)
            }
            Shape::HalfSpace => ColliderBuilder::new(SharedShape::halfspace(Vector::Z)),
            Shape::Hull { points } => {
                let points: Vec<Vector> = points.iter().copied().map(vector).collect();
                ColliderBuilder::convex_hull(&points).ok_or("no hull")?
            }
            other => return Err(format!("rapier: no {}", other.name())),
        })
    }

    /// A number for each material: the friction of a pair is their product, its combine rule here.
    fn friction_roots(scene: &Scene) -> Vec<f64> {
        let mu = |a: usize, b: usize| {
            let [a, b] = [a, b].map(|i| MaterialId(i as u32));
            scene.surface(a, b).mu
        };
        let moves = |m: usize| {
            scene.colliders.iter().zip(&scene.surface_materials).any(|(c, s)| {
                s.material.index() == m && scene.bodies[c.body as usize].mass().is_some()
            })
        };
        let count = scene.materials.len();
        let near = (0..count).find(|&m| moves(m)).unwrap_or(0);
        let root = |m: usize| mu(m, m).sqrt();
        let root = |m: usize| match root(near) {
            _ if moves(m) => root(m),
            0.0 => 0.0,
            other => mu(m, near) / other,
        };
        (0..count).map(root).collect()
    }

    fn build(task: &Task) -> Result<(PhysicsWorld, Vec<RigidBodyHandle>), String> {
        let scene = task.scene;
        let roots = friction_roots(scene);
        let mut world = PhysicsWorld { gravity: vector(scene.gravity), ..PhysicsWorld::default() };
        world.integration_parameters.dt = task.h;
        world.integration_parameters.length_unit = smallest(scene);
        let (mut handles, mut free) = (Vec::new(), Vec::new());
        for (i, body) in scene.bodies.iter().enumerate() {
            let mut builder = match body.mass() {
                Some(_) => RigidBodyBuilder::dynamic(),
                None => RigidBodyBuilder::fixed(),
            };
            builder = builder.pose(pose(&body.pose)).can_sleep(false);
            if let Some(mass) = body.mass() {
                let spin = body.pose.orientation * body.spin;
                let principal = Vector::new(
                    mass.inertia.x_axis.x,
                    mass.inertia.y_axis.y,
                    mass.inertia.z_axis.z,
                );
                builder = builder
                    .linvel(vector(body.velocity))
                    .angvel(vector(spin))
                    .additional_mass_properties(MassProperties::new(
                        Vector::ZERO,
                        mass.mass,
                        principal,
                    ));
            }
            let handle = world.insert_body(builder);
            let parts = scene.colliders.iter().zip(&scene.surface_materials);
            for (part, surface) in parts.filter(|(part, _)| part.body as usize == i) {
                let turn = match part.shape {
                    Shape::Cylinder { .. } => {
                        glam::DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2)
                    }
                    _ => glam::DQuat::IDENTITY,
                };
                let place = part.pose_in_body * OurPose::new(DVec3::ZERO, turn);
                let material = surface.material;
                let builder = collider(&part.shape)?
                    .position(pose(&place))
                    .density(0.0)
                    .friction(roots[material.index()])
                    .friction_combine_rule(CoefficientCombineRule::Multiply)
                    .restitution(scene.surface(material, material).restitution);
                world.insert_collider(builder, Some(handle));
            }
            handles.push(handle);
            if body.mass().is_some() {
                free.push(handle);
            }
        }
        for joint in &scene.joints {
            // Its axis is x, ours is z.
            let turn =
                OurPose::new(DVec3::ZERO, glam::DQuat::from_rotation_arc(DVec3::X, DVec3::Z));
            joint_name(&joint.kind)?;
            let locked = match joint.kind {
                JointKind::Spherical => JointAxesMask::LOCKED_SPHERICAL_AXES,
                JointKind::Revolute => JointAxesMask::LOCKED_REVOLUTE_AXES,
                _ => JointAxesMask::LOCKED_PRISMATIC_AXES,
            };
            let built = GenericJointBuilder::new(locked)
                .local_frame1(pose(&(joint.frame_a * turn)))
                .local_frame2(pose(&(joint.frame_b * turn)))
                .contacts_enabled(false)
                .build();
            let [a, b] = [joint.a, joint.b].map(|body| handles[body.index()]);
            world.insert_impulse_joint(a, b, built);
        }
        for force in &scene.forces {
            let (body, force) = push(&force.kind)?;
            world.bodies[handles[body.index()]].add_force(vector(force), true);
        }
        Ok((world, free))
    }

    /// The smallest extent of a free body, m.
    fn smallest(scene: &Scene) -> f64 {
        let free = |body: u32| scene.bodies[body as usize].mass().is_some();
        let extents = scene.colliders.iter().filter(|c| free(c.body)).map(|c| match &c.shape {
            Shape::Sphere { radius } | Shape::Capsule { radius, .. } => 2.0 * radius,
            Shape::Box { half_extents } => 2.0 * half_extents.min_element(),
            shape => 2.0 * signorini::scene::body::reach(shape),
        });
        let least = extents.fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 1.0 }
    }

    fn moving(world: &PhysicsWorld, free: &[RigidBodyHandle]) -> Vec<Moving> {
        let one = |handle: &RigidBodyHandle| {
            let body = &world.bodies[*handle];
            let (x, q) = (body.translation(), body.rotation());
            let (v, w) = (body.linvel(), body.angvel());
            Moving {
                position: [x.x, x.y, x.z],
                orientation: [q.x, q.y, q.z, q.w],
                linear: [v.x, v.y, v.z],
                angular: [w.x, w.y, w.z],
            }
        };
        free.iter().map(one).collect()
    }
}
