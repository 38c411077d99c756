//! A two-joint arm held by PD control: torques are computed from angles and rates in every step.

use signorini::prelude::*;

fn main() -> Result<(), SimulationError> {
    let mut scene = Scene::new("arm");
    let link = |name: &str, z: f64| {
        Body::rigid(name, Mass::cuboid(1.0, DVec3::new(0.05, 0.05, 0.5))).at(DVec3::Z * z)
    };
    let upper = scene.add_body(link("upper", -0.25));
    let lower = scene.add_body(link("lower", -0.75));
    let hinge = |z: f64| frame(DVec3::Z * z, DVec3::Y);
    let shoulder =
        scene.add_joint("shoulder", JointKind::Revolute, (BodyId::GROUND, upper), hinge(0.0));
    let elbow = scene.add_joint("elbow", JointKind::Revolute, (upper, lower), hinge(-0.5));
    for (name, joint) in [("shoulder", shoulder), ("elbow", elbow)] {
        scene.add_motor(name, joint, Coordinate::Angle, Drive::Effort(0.0.into()));
    }

    let mut sim = Simulation::new(scene, Settings::with_time_step(1e-3))?;
    let targets = [("shoulder", 0.8, 300.0, 40.0), ("elbow", -1.2, 150.0, 12.0)];
    while sim.time() < 2.0 {
        for (name, target, stiffness, damping) in targets {
            let joint = sim.joint(name)?;
            let torque = stiffness * (target - joint.angle()) - damping * joint.rate();
            sim.motor_mut(name)?.set_torque(torque);
        }
        sim.step()?;
    }
    for (name, target, stiffness, _) in targets {
        let (angle, torque) = (sim.joint(name)?.angle(), sim.motor(name)?.effort());
        println!("{name}: {angle:.4} rad, wanted {target}; holds with {torque:.3} N m");
        // What a proportional controller leaves is torque over stiffness.
        assert!((target - angle - torque / stiffness).abs() < 1e-3);
    }
    Ok(())
}
