//! Runs until something happens: the first domino to touch the last one, or the end of patience.

use signorini::prelude::*;

fn main() -> Result<(), SimulationError> {
    let mut scene = Scene::new("dominoes");
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    let half = DVec3::new(0.005, 0.02, 0.04);
    let mut last = BodyId::GROUND;
    for i in 0..6 {
        let body = Body::rigid(format!("domino_{i}"), Mass::cuboid(0.02, 2.0 * half))
            .at(DVec3::new(0.03 * f64::from(i), 0.0, half.z));
        // The first one is tilted enough to fall.
        let turned = if i == 0 {
            body.turned(DQuat::from_rotation_y(0.25)).at(DVec3::new(-0.005, 0.0, half.z + 0.001))
        } else {
            body
        };
        last = scene.add_body_with_shape(turned, Shape::Box { half_extents: half });
    }

    let mut sim = Simulation::new(scene, Settings::with_time_step(1e-3))?;
    let fallen = |sim: &Simulation| -> Result<bool, SimulationError> {
        Ok((sim.body(last)?.orientation() * DVec3::Z).z < 0.9)
    };
    while !fallen(&sim)? && sim.time() < 3.0 {
        sim.step()?;
    }
    println!("the last domino falls at t = {:.3} s, after {} steps", sim.time(), sim.steps());
    assert!(fallen(&sim)?);
    Ok(())
}
