//! MJCF files.

mod common;

use common::{MACHINE, load};
use signorini_files::robot::Choices;

#[test]
fn mjcf_becomes_a_machine_and_names_what_it_leaves_out() {
    let loaded =
        load("machine.xml", MACHINE, &Choices::default()).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    let body = |name: &str| {
        &scene.bodies[scene.body_named(name).unwrap_or_else(|| panic!("no {name}")).index()]
    };
    assert!(
        loaded.notes.iter().any(|n| n.contains("line 46: the muscle actuator is left out")),
        "{:#?}",
        loaded.notes
    );
    assert!(
        loaded.notes.iter().any(|n| n.contains("`gimbal_1` stands between two joints of one body")),
        "{:#?}",
        loaded.notes
    );
    assert_eq!(loaded.dt, 1e-3);
    // A capsule of 500 kg/m³ and a plate of 0.3 kg are one body.
    let pi = std::f64::consts::PI;
    let capsule = 500.0 * (pi * 0.03f64.powi(2) * 0.4 + 4.0 / 3.0 * pi * 0.03f64.powi(3));
    assert!((body("upper").mass().unwrap().mass - capsule - 0.3).abs() < 1e-12);
    let ellipsoid = 700.0 * 4.0 / 3.0 * pi * 0.2 * 0.04 * 0.03;
    assert!((body("fore").mass().unwrap().mass - ellipsoid).abs() < 1e-12);
    use signorini::scene::{Coordinate, Drive};
    let motor = |name: &str| scene.motors.iter().find(|m| m.name == name).unwrap();
    let Drive::Servo { stiffness, damping, effort, .. } = &motor("elbow").drive else {
        panic!("{:?}", motor("elbow"))
    };
    assert_eq!((*stiffness, *damping, *effort), (40.0, 3.0, 20.0));
    let pull = motor("pull");
    // 3 · (2 roll + pitch) with 2 N m: 12 N m on roll and 6 N m on pitch.
    assert!(
        matches!(&pull.drive, Drive::Effort(f) if (f.value(0.0) - 12.0).abs() < 1e-12),
        "{pull:?}"
    );
    assert!(pull.also.len() == 1 && (pull.also[0].factor - 0.5).abs() < 1e-15);
    let shoulder = &scene.joints[scene.joint_named("shoulder").unwrap().index()];
    assert_eq!(shoulder.armature[0].inertia, 0.01);
    assert!(
        (shoulder.limits[0].hi - 0.5 * pi).abs() < 1e-15
            && shoulder.limits[0].coordinate == Coordinate::Angle
    );
    for (wrong, says) in [
        ("joint=\"elbow\"", "there is no joint `elbw`"),
        ("class=\"fore\" type", "there is no default class `foer`"),
        ("size=\"0.2 0.04 0.03\"", "not above 0"),
    ] {
        let typo = match wrong {
            "joint=\"elbow\"" => MACHINE.replace(wrong, "joint=\"elbw\""),
            "size=\"0.2 0.04 0.03\"" => MACHINE.replace(wrong, "size=\"0.2 0.04 0\""),
            _ => MACHINE.replace(wrong, "class=\"foer\" type"),
        };
        let message = load("machine.xml", &typo, &Choices::default()).err().unwrap();
        assert!(message.contains(says) && message.contains("machine.xml:"), "{says} in {message}");
    }
    assert!(
        load(
            "machine.xml",
            "<mujoco><worldbody><body><geom size=\"nan\"/></body></worldbody></mujoco>",
            &Choices::default()
        )
        .is_err()
    );
    assert!(
        load(
            "machine.xml",
            "<mujoco><include file=\"machine.xml\"/></mujoco>",
            &Choices::default()
        )
        .is_err()
    );
    assert!(load("machine.xml", "<mujoco/>", &Choices::default()).is_ok());
}
