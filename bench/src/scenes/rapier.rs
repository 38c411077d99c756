//! A scene stepped by Rapier in double precision, as shipped: 4 iterations, nothing sleeps, the
//! unit of length that of the smallest body as its documentation advises.

use super::catalogue::BenchScene;
use super::run::Run;

/// Without the feature `rapier` there is no such run.
#[cfg(not(feature = "rapier"))]
pub fn run(_bench: &BenchScene, _budget: f64) -> Option<Result<Run, String>> {
    None
}

/// Steps the scene, at most for this many seconds.
#[cfg(feature = "rapier")]
pub fn run(bench: &BenchScene, budget: f64) -> Option<Result<Run, String>> {
    let (run, seconds) = crate::peers::repeated(|| world::steps(bench, budget));
    Some(run.map(|run| Run { seconds, ..run }))
}

#[cfg(feature = "rapier")]
mod world {
    use super::*;
    use crate::scenes::run::{Moving, SAMPLES};
    use glam::DVec3;
    use rapier3d_f64::prelude::*;
    use signorini::geometry::Shape;
    use signorini::math::pose::Pose as OurPose;
    use signorini::scene::JointKind;
    use std::time::Instant;

    pub fn steps(bench: &BenchScene, budget: f64) -> Result<Run, String> {
        let (mut world, free) = build(bench)?;
        let every = (bench.steps / SAMPLES).max(1);
        let (mut samples, mut contacts, mut steps) = (Vec::new(), 0, 0);
        let begun = Instant::now();
        while steps < bench.steps && (steps == 0 || begun.elapsed().as_secs_f64() < budget) {
            world.step();
            steps += 1;
            if steps % every == 0 || steps == bench.steps {
                samples.push((steps as f64 * bench.h, moving(&world, &free)));
                let points = |pair: &ContactPair| {
                    pair.manifolds().iter().map(|m| m.data.solver_contacts.len()).sum::<usize>()
                };
                contacts += world.contact_pairs().map(points).sum::<usize>();
            }
        }
        let contacts = contacts as f64 / samples.len().max(1) as f64;
        Ok(Run {
            engine: "rapier".into(),
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
            Shape::Hull { points } => {
                let points: Vec<Vector> = points.iter().copied().map(vector).collect();
                ColliderBuilder::convex_hull(&points).ok_or("no hull")?
            }
            other => return Err(format!("rapier: no {}", other.name())),
        })
    }

    fn build(bench: &BenchScene) -> Result<(PhysicsWorld, Vec<RigidBodyHandle>), String> {
        let scene = &bench.scene;
        let mut world = PhysicsWorld { gravity: vector(scene.gravity), ..PhysicsWorld::default() };
        world.integration_parameters.dt = bench.h;
        world.integration_parameters.length_unit = smallest(bench);
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
            for part in scene.colliders.iter().filter(|c| c.body as usize == i) {
                let builder = collider(&part.shape)?
                    .position(pose(&part.pose_in_body))
                    .density(0.0)
                    .friction(scene.materials[0].mu)
                    .restitution(0.0);
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
            let locked = match joint.kind {
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
        Ok((world, free))
    }

    /// The smallest extent of a free body, m.
    fn smallest(bench: &BenchScene) -> f64 {
        let scene = &bench.scene;
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
