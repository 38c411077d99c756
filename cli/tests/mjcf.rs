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

/// Four bars: crank and rocker on the ground, the coupler closes the loop; a limp motor on the
/// crank, a tail on a spring and a free flap.
const FOUR_BARS: &str = r##"<mujoco><compiler angle="radian"/>
<default><geom type="capsule" size="0.02" rgba="0.2 0.4 0.6 1"/></default>
<worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.3"/>
    <body name="coupler" pos="0 0 0.3"><joint name="coupler" axis="0 1 0"/><geom fromto="0 0 0 0.5 0 0"/></body>
    <body name="tail"><joint name="tail" axis="0 1 0" stiffness="5"/><geom fromto="0 0 0 -0.2 0 0"/></body>
    <body name="flap"><joint name="flap" axis="0 1 0"/><geom fromto="0 0 0 -0.2 0 0.1"/></body></body>
  <body name="rocker" pos="0.5 0 0"><joint name="rocker" axis="0 1 0"/><geom fromto="0 0 0 0 0 0.3"/></body>
</worldbody>
<equality><connect name="equality_pin" body1="coupler" body2="rocker" anchor="0.5 0 0"/></equality>
<actuator><motor name="drive" joint="crank"/></actuator>
</mujoco>"##;

#[test]
fn holding_leaves_loops_and_springs_alone_and_takes_limp_motors() {
    use signorini::scene::Drive;
    let hold = Choices { hold: true, self_collision: false, ..Choices::default() };
    let loaded = load("bars.xml", FOUR_BARS, &hold).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    let joints: Vec<&str> =
        scene.motors.iter().map(|m| scene.joints[m.joint.index()].name.as_str()).collect();
    assert_eq!(joints, ["crank", "flap"]);
    assert!(scene.motors.iter().all(|m| !matches!(m.drive, Drive::Effort(_))));
    let crank = scene.body_named("crank").unwrap();
    assert!(scene.colors.contains(&(crank, [51, 102, 153])), "{:?}", scene.colors);
    // A robot with a loop moves in the coordinates of its tree; one without decides as it runs.
    let text = |text: String, hold: &Choices| {
        let library = |_: &str| Err("no file".to_string());
        signorini_files::robot_file::convert("bars.xml", text, &library, hold).unwrap().text
    };
    assert!(text(FOUR_BARS.into(), &hold).contains("coordinates = \"tree\""));
    let open = FOUR_BARS.split("<equality>").next().unwrap().to_string() + "</mujoco>";
    assert!(!text(open, &hold).contains("coordinates"));
}

/// The friction of a pair as MuJoCo has it: of equal priority the greater condim and the greater of
/// each number, whatever condim each geom has; else that of the higher priority alone.
#[test]
fn friction_of_a_pair_is_that_of_mujoco() {
    let geoms = [
        r#"<geom name="floor" type="plane" size="1 1 1" friction="0.4 0.05 0.006"/>"#,
        r#"<body name="a" pos="0 0 1"><freejoint/><geom size="0.1" condim="6" friction="0.9 0.02 0.001"/></body>"#,
        r#"<body name="b" pos="1 0 1"><freejoint/><geom size="0.1" condim="4" friction="0.2 0.01"/></body>"#,
        r#"<body name="c" pos="2 0 1"><freejoint/><geom size="0.1" condim="1" friction="0.7"/></body>"#,
        r#"<body name="d" pos="3 0 1"><freejoint/><geom size="0.1" condim="6" priority="1" friction="0.3 0.003 0.0003"/></body>"#,
        r#"<body name="e" pos="4 0 1"><freejoint/><geom size="0.1"/></body>"#,
    ];
    let text = format!("<mujoco><worldbody>{}</worldbody></mujoco>", geoms.concat());
    let loaded = load("m.xml", &text, &Choices::default()).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    let material = |name: &str| {
        let body = scene.body_named(name).unwrap().0;
        let collider = scene.colliders.iter().position(|c| c.body == body).unwrap();
        scene.surface_materials[collider].material
    };
    let pair = |a: &str, b: &str| {
        let surface = scene.surface(material(a), material(b));
        [surface.mu, surface.torsion, surface.rolling]
    };
    for (a, b, wanted) in [
        ("world", "a", [0.9, 0.05, 0.006]),
        ("world", "b", [0.4, 0.05, 0.0]),
        ("world", "c", [0.7, 0.0, 0.0]),
        ("world", "d", [0.3, 0.003, 0.0003]),
        ("world", "e", [1.0, 0.0, 0.0]),
        ("a", "b", [0.9, 0.02, 0.001]),
        ("b", "c", [0.7, 0.01, 0.0]),
        ("c", "c", [0.0, 0.0, 0.0]),
        ("a", "d", [0.3, 0.003, 0.0003]),
        ("c", "e", [1.0, 0.0, 0.0]),
    ] {
        assert_eq!(pair(a, b), wanted, "{a} {b}: {:#?}", scene.materials);
    }
    let wrong = text.replace("condim=\"4\"", "condim=\"5\"");
    let message = load("m.xml", &wrong, &Choices::default()).err().unwrap();
    assert!(message.contains("condim is 5") && message.contains("1, 3, 4 or 6"), "{message}");
}
