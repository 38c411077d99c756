//! Two fingers press a box, lift it, and say how hard they must hold it.

use signorini::prelude::*;

fn main() -> Result<(), SimulationError> {
    let mut scene = Scene::new("gripper");
    scene.materials[0].mu = 0.6;
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    let mass = Mass::cuboid(0.5, DVec3::splat(0.1));
    scene.add_body_with_shape(
        Body::rigid("box", mass).at(DVec3::Z * 0.05),
        Shape::Box { half_extents: DVec3::splat(0.05) },
    );
    // The palm rises; the fingers slide along x and press with 10 N each.
    let lift = Function::SmoothStep { from: 0.0, to: 0.2, start: 0.2, duration: 0.5 };
    let motion = Motion { translation: [0.0.into(), 0.0.into(), lift], ..Motion::default() };
    let palm = scene.add_body(Body::imposed("palm", motion).at(DVec3::Z * 0.3));
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let half = DVec3::new(0.01, 0.03, 0.03);
        let finger = Body::rigid(name, Mass::cuboid(0.1, 2.0 * half)).at(DVec3::new(
            side * 0.062,
            0.0,
            0.05,
        ));
        let finger = scene.add_body_with_shape(finger, Shape::Box { half_extents: half });
        let slide = frame(DVec3::new(side * 0.062, 0.0, 0.05), DVec3::X * -side);
        let joint = scene.add_joint(name, JointKind::Prismatic, (palm, finger), slide);
        scene.add_motor(name, joint, Coordinate::Slide, Drive::Effort(10.0.into()));
    }

    let mut sim = Simulation::new(scene, Settings::with_time_step(2e-3))?;
    sim.run_until(1.0)?;
    let height = sim.body("box")?.position().z - 0.05;
    let [left, right] = [sim.forces_between("left", "box")?, sim.forces_between("right", "box")?];
    println!("the box hangs {height:.4} m above the floor");
    println!("left finger {:.3} N, right finger {:.3} N", left.force, right.force);
    // Both fingers together carry the weight; each presses with 10 N.
    assert!((height - 0.2).abs() < 1e-3);
    assert!((left.force.z + right.force.z - 0.5 * 9.81).abs() < 0.05);
    assert!((left.force.x - 10.0).abs() < 0.1 && (right.force.x + 10.0).abs() < 0.1);
    Ok(())
}
