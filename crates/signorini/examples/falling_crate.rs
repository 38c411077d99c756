//! A crate falls on a floor and slides to rest; every step says how wrong it is.

use signorini::prelude::*;

fn main() -> Result<(), SimulationError> {
    let mut scene = Scene::new("falling crate");
    scene.materials[0].mu = 0.4;
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    let edges = DVec3::new(0.4, 0.3, 0.2);
    let body = Body::rigid("crate", Mass::cuboid(5.0, edges))
        .at(DVec3::Z * 0.3)
        .moving(DVec3::X * 2.0, DVec3::ZERO);
    scene.add_body_with_shape(body, Shape::Box { half_extents: 0.5 * edges });

    let mut sim = Simulation::new(scene, Settings::with_time_step(2e-3))?;
    let mut worst: f64 = 0.0;
    while sim.time() < 1.5 {
        let verdict = sim.step()?;
        worst = worst.max(verdict.error.joule);
        if sim.steps() % 150 == 0 {
            let crate_ = sim.body("crate")?;
            println!(
                "t = {:.2} s  x = {:.4} m  speed = {:.4} m/s",
                sim.time(),
                crate_.position().x,
                crate_.velocity().length()
            );
        }
    }
    let ledger = sim.ledger();
    println!(
        "worst step: {worst:.1e} J; friction took {:.2} J, impacts {:.2} J",
        ledger.friction, ledger.impact
    );
    assert!(sim.body("crate")?.velocity().length() < 1e-3, "it has come to rest");
    Ok(())
}
