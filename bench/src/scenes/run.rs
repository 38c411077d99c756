//! What a run is worth: the same figures for every engine.

use super::catalogue::{BenchScene, Fact};
use crate::engines::{Moving, Run};
use glam::{DQuat, DVec3};
use signorini::geometry::World;
use signorini::math::pose::Pose;
use signorini::scene::Scene;

/// Samples of the motion that a run keeps.
pub const SAMPLES: u64 = 20;

/// What a run is worth.
pub struct Figures {
    /// Deepest overlap in the second half of the run, m.
    pub overlap: f64,
    /// Root mean square speed of the bodies at the end, m/s.
    pub rest_speed: f64,
    /// By the fact of the scene.
    pub error: Option<f64>,
}

impl Run {
    /// Geometry and energy of the samples.
    pub fn figures(&self, bench: &BenchScene) -> Figures {
        let late = &self.samples[self.samples.len() / 2..];
        let overlap = overlap(&bench.scene, late.iter().map(|(_, bodies)| &bodies[..]));
        let last = self.samples.last().map_or(&[][..], |(_, bodies)| &bodies[..]);
        let sum: f64 = last.iter().map(|b| DVec3::from_array(b.linear).length_squared()).sum();
        Figures {
            overlap,
            rest_speed: (sum / last.len().max(1) as f64).sqrt(),
            error: self.error(bench),
        }
    }

    fn error(&self, bench: &BenchScene) -> Option<f64> {
        let scene = &bench.scene;
        let start = start(scene);
        let (end, last) = self.samples.last()?;
        match bench.fact {
            Fact::Energy => {
                let (kinetic, before) = energy(scene, &start);
                let (mut change, mut largest) = (0.0f64, kinetic);
                for (_, bodies) in &self.samples {
                    let (kinetic, energy) = energy(scene, bodies);
                    largest = largest.max(kinetic);
                    change = change.max((energy - before).abs());
                }
                Some(change / largest)
            }
            Fact::Rest => {
                Some(start.iter().zip(last).map(|(a, b)| way(a, b).length()).fold(0.0, f64::max))
            }
            Fact::Slide(acceleration) => {
                let exact = 0.5 * end * end * acceleration;
                Some((way(start.last()?, last.last()?) - exact).length())
            }
            Fact::Unknown => None,
        }
    }
}

fn way(from: &Moving, to: &Moving) -> DVec3 {
    DVec3::from_array(to.position) - DVec3::from_array(from.position)
}

/// The free bodies as the scene begins.
fn start(scene: &Scene) -> Vec<Moving> {
    let free = scene.bodies.iter().filter(|body| body.mass().is_some());
    free.map(|body| Moving {
        position: body.pose.position.to_array(),
        orientation: body.pose.orientation.to_array(),
        linear: body.velocity.to_array(),
        angular: (body.pose.orientation * body.spin).to_array(),
    })
    .collect()
}

/// Kinetic energy, and kinetic and potential energy together, J.
fn energy(scene: &Scene, bodies: &[Moving]) -> (f64, f64) {
    let (mut kinetic, mut potential) = (0.0, 0.0);
    for (mass, body) in scene.bodies.iter().filter_map(|body| body.mass()).zip(bodies) {
        let turned = DQuat::from_array(body.orientation);
        let spin = turned.inverse() * DVec3::from_array(body.angular);
        kinetic += mass.kinetic(DVec3::from_array(body.linear), spin);
        potential -= mass.mass * scene.gravity.dot(DVec3::from_array(body.position));
    }
    (kinetic, kinetic + potential)
}

/// The deepest overlap of any two shapes, m.
fn overlap<'a>(scene: &Scene, samples: impl Iterator<Item = &'a [Moving]>) -> f64 {
    let Ok(mut world) = World::new(&scene.colliders) else { return f64::NAN };
    world.exclude(scene.joints.iter().map(|joint| (joint.a.0, joint.b.0)));
    let mut poses: Vec<Pose> = scene.bodies.iter().map(|body| body.pose).collect();
    let free: Vec<usize> = (0..poses.len()).filter(|&i| scene.bodies[i].mass().is_some()).collect();
    let (mut contacts, mut deepest) = (Vec::new(), 0.0f64);
    for bodies in samples {
        for (&i, body) in free.iter().zip(bodies) {
            poses[i] = Pose::new(
                DVec3::from_array(body.position),
                DQuat::from_array(body.orientation).normalize(),
            );
        }
        contacts.clear();
        world.collide(&poses, 0.0, &mut contacts);
        deepest = contacts.iter().fold(deepest, |deepest, c| deepest.max(-c.gap));
    }
    deepest
}
