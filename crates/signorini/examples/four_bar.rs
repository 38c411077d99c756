//! A four-bar linkage made in code: the crank turns, the rocker swings.

use signorini::prelude::*;

/// A bar from one point to another, in the plane y = 0.
fn bar(scene: &mut Scene, name: &str, from: DVec3, to: DVec3) -> BodyId {
    let along = to - from;
    let mass = Mass::cuboid(along.length(), DVec3::new(0.02, 0.02, along.length()));
    let turn = DQuat::from_rotation_arc(DVec3::Z, along.normalize());
    scene.add_body(
        Body::rigid(name, mass).placed(Pose { position: 0.5 * (from + to), orientation: turn }),
    )
}

fn main() -> Result<(), SimulationError> {
    // Ground pivots O and D, crank tip A, rocker tip B; Grashof: 0.1 + 0.4 < 0.3 + 0.35.
    let [o, d] = [DVec3::ZERO, DVec3::new(0.4, 0.0, 0.0)];
    let a = DVec3::new(0.0, 0.0, 0.1);
    // B is 0.35 m from A and 0.3 m from D.
    let (span, ab, db) = ((d - a).length(), 0.35f64, 0.3f64);
    let along = (ab * ab - db * db + span * span) / (2.0 * span);
    let e = (d - a).normalize();
    let b = a + along * e + (ab * ab - along * along).sqrt() * DVec3::new(-e.z, 0.0, e.x);

    let mut scene = Scene::new("four bars");
    let crank = bar(&mut scene, "crank", o, a);
    let coupler = bar(&mut scene, "coupler", a, b);
    let rocker = bar(&mut scene, "rocker", d, b);
    let hinge = |point| frame(point, DVec3::Y);
    let drive =
        scene.add_joint("crank pivot", JointKind::Revolute, (BodyId::GROUND, crank), hinge(o));
    scene.add_joint("crank pin", JointKind::Revolute, (crank, coupler), hinge(a));
    scene.add_joint("rocker pin", JointKind::Revolute, (coupler, rocker), hinge(b));
    scene.add_joint("rocker pivot", JointKind::Revolute, (BodyId::GROUND, rocker), hinge(d));
    scene.add_motor(
        "motor",
        drive,
        Coordinate::Angle,
        Drive::Speed((2.0 * std::f64::consts::PI).into()),
    );

    let mut sim = Simulation::new(scene, Settings::with_time_step(2e-3))?;
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    while sim.time() < 1.0 {
        sim.step()?;
        let swing = sim.joint("rocker pivot")?.angle();
        (low, high) = (low.min(swing), high.max(swing));
    }
    let turns = sim.joint("crank pivot")?.angle() / (2.0 * std::f64::consts::PI);
    println!(
        "the crank made {turns:.3} turns; the rocker swings through {:.1} degrees",
        (high - low).to_degrees()
    );
    println!("motor torque at the end: {:.3} N m", sim.motor("motor")?.effort());
    assert!((turns - 1.0).abs() < 1e-3);
    // Dead centres: crank and coupler in line, |OB| = 0.45 and 0.25; the law of cosines at D.
    let angle = |ob: f64| ((0.4f64.powi(2) + 0.3f64.powi(2) - ob * ob) / (2.0 * 0.4 * 0.3)).acos();
    assert!((high - low - (angle(0.45) - angle(0.25))).abs() < 2e-3);
    Ok(())
}
