//! The same scene with many coefficients of friction, in parallel: how far does a crate slide?

use rayon::prelude::*;
use signorini::prelude::*;

const SPEED: f64 = 2.0;

fn sliding_distance(mu: f64) -> Result<f64, SimulationError> {
    let mut scene = Scene::new("slide");
    scene.materials[0].mu = mu;
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    // Flat, so that it does not tip over.
    let edges = DVec3::new(0.4, 0.4, 0.05);
    let body = Body::rigid("crate", Mass::cuboid(1.0, edges))
        .at(DVec3::Z * 0.025)
        .moving(DVec3::X * SPEED, DVec3::ZERO);
    scene.add_body_with_shape(body, Shape::Box { half_extents: 0.5 * edges });
    let mut sim = Simulation::new(scene, Settings::with_time_step(1e-3))?;
    sim.run_until(2.0)?;
    Ok(sim.body("crate")?.position().x)
}

fn main() -> Result<(), SimulationError> {
    let coefficients: Vec<f64> = (2..=8).map(|i| 0.1 * f64::from(i)).collect();
    let found: Result<Vec<f64>, _> =
        coefficients.par_iter().map(|&mu| sliding_distance(mu)).collect();
    for (mu, distance) in coefficients.iter().zip(found?) {
        let exact = SPEED * SPEED / (2.0 * mu * 9.81);
        println!("mu = {mu:.1}: {distance:.4} m, closed form {exact:.4} m");
        // A step of h is late by at most one step at the initial speed.
        assert!((distance - exact).abs() < 2e-3 * SPEED);
    }
    Ok(())
}
