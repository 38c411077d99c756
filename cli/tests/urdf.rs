//! Robots of URDF files: with the faults of the world, in scenes, and an arm that holds its pose.

mod common;

use common::{folder, load, said, signorini, stderr, stdout, text, write_file};
use glam::DVec3;
use serde_json::Value as Json;
use signorini_files::robot::Choices;
use signorini_files::scenefile;
use signorini_record::record::Record;
use signorini_record::record::head::Look;
use std::fs;
use std::path::{Path, PathBuf};

/// A robot with most faults that files of the world have.
const FAULTY: &str = r##"hello
<?xml version="1.0"?>
<robot name="faulty">
  <link name="base">
    <inertial><mass value="3"/><inertia ixx="0" iyy="0" izz="0"/></inertial>
    <visual><geometry><mesh filename="nowhere.dae"/></geometry></visual>
    <collision><origin xyz="0, 0, 0.1" rpy="0 0 0 0"/><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
  <link name="sensor"><inertial><mass value="0.1"/><inertia ixx="-1" iyy="1" izz="9"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="base"/><child link="sensor"/><axis xyz="0 0 0"/></joint>
  <link name="cross"/>
  <joint name="swing" type="revolute"><parent link="base"/><child link="cross"/><origin xyz="0 0 $(optenv LIFT 0.4)"/>
    <axis xyz="0 1 0"/><limit lower="1" upper="-1." effort="5 7" velocity="1"/></joint>
  <link name="arm">
    <inertial><origin xyz="0 0 0.2"/><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.05"/></inertial>
    <collision><geometry><sdf file="x"/></geometry></collision>
  </link>
  <joint name="twist" type="continuous"><parent link="cross"/><child link="arm"/><axis xyz="0 0 2"/><xacro:macro/></joint>
  <link name="flag"/>
  <joint name="pole" type="continuous"><parent link="arm"/><child link="flag"/><mimic joint="mast"/></joint>
</robot>
trailing
"##;

fn strict() -> Choices {
    Choices { strict: true, ..Choices::default() }
}

#[test]
fn a_robot_with_faults_is_repaired_and_every_repair_is_said_with_its_line() {
    let loaded = load("faulty.urdf", FAULTY, &Choices::default()).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    let all = loaded.notes.join("\n");
    for wanted in [
        "line 1: this is no XML",
        "line 5: the link `base`: inertia is not positive definite",
        "line 7: xyz is \"0, 0, 0.1\"",
        "line 7: rpy is \"0 0 0 0\"",
        "line 12: \"0 0 $(optenv LIFT 0.4)\" is left by xacro",
        "line 13: effort is \"5 7\"",
        "line 13: limits 1 … -1 of `swing`",
        "line 11: the link `cross` moves (joint `swing`) but has no mass: repaired: it weighs \
            2.0e-4 kg",
        "line 15: the link `arm`: inertia: one principal moment exceeds the sum of the others",
        "line 16: there is no shape <sdf>",
        "line 19: the link `flag` moves (joint `pole`) but has no mass: repaired: its joint is \
            fixed",
    ] {
        assert!(all.contains(wanted), "{wanted}\n in \n{all}");
    }
    // Neither the axis of a fixed joint nor the inertia of a link that is part of another is looked
    // at.
    assert!(!all.contains("mount") && !all.contains("`sensor`"), "{all}");
    // base with sensor, cross, arm with flag.
    assert_eq!((scene.bodies.len(), scene.joints.len()), (4, 2), "{all}");
    let mass =
        |name: &str| scene.bodies[scene.body_named(name).unwrap().index()].mass().unwrap().mass;
    assert!(
        (mass("base") - 3.1).abs() < 1e-12
            && (mass("cross") - 2e-4).abs() < 1e-15
            && mass("arm") == 2.0
    );
    assert_eq!(scene.colliders.len(), 1, "a link without collision has none");
    let message = load("faulty.urdf", FAULTY, &strict()).err().unwrap();
    assert!(message.contains("this is no XML"), "{message}");
    // Without the fault of XML all others are found at once.
    let rest = FAULTY
        .replace("hello\n<?xml version=\"1.0\"?>", "\n")
        .replace("trailing", "")
        .replace("xacro:", "");
    let message = load("faulty.urdf", &rest, &strict()).err().unwrap();
    for wanted in [
        "xyz is \"0, 0, 0.1\"",
        "rpy is \"0 0 0 0\"",
        "the axis of `mount`",
        "is left by xacro",
        "<sdf>",
        "6 errors in the scene",
    ] {
        assert!(message.contains(wanted), "{wanted} in {message}");
    }
}

#[test]
fn a_robot_stands_on_the_floor_where_it_was_asked_to() {
    let place = folder("floor");
    let file = write_file(&place, "faulty.urdf", FAULTY);
    let run = signorini(&[
        "run",
        file.to_str().unwrap(),
        "--floor",
        "--hold",
        "--joint",
        "swing=30 deg",
        "--t-end",
        "0.2",
        "--json",
    ]);
    assert!(run.status.success(), "{}", said(&run));
    assert!(said(&run).contains("stand on the floor"), "{}", said(&run));
    let wrong = signorini(&["run", file.to_str().unwrap(), "--joint", "swng=1"]);
    assert!(said(&wrong).contains("did you mean `swing`?"), "{}", said(&wrong));
    let wrong = signorini(&["run", "arch", "--floor"]);
    assert!(said(&wrong).contains("is no robot file"), "{}", said(&wrong));
    let toml = place.join("faulty.toml");
    let converted = signorini(&[
        "convert",
        file.to_str().unwrap(),
        toml.to_str().unwrap(),
        "--floor",
        "--fixed-base",
    ]);
    assert!(converted.status.success(), "{}", said(&converted));
    assert!(signorini(&["run", toml.to_str().unwrap(), "--t-end", "0.02"]).status.success());
}

#[test]
fn robots_in_a_scene_have_places_prefixes_and_joint_values() {
    let robot = r#"<robot name="r"><link name="base"/>
      <link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
        <collision><origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry></collision></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"#;
    let scene = r#"
[parameters]
width = "2 m"
[[robot]]
file = "r.urdf"
prefix = "left/"
position = [0, "width", 0]
joints = { hinge = "90 deg" }
[[robot]]
file = "r.urdf"
prefix = "right/"
self_collision = false
[[motor]]
name = "drive"
joint = "right/hinge"
angle = 0.2
stiffness = "50 N m/rad"
damping = "5 N m s/rad"
max_torque = "10 N m"
"#;
    let library = |asked: &str| match asked {
        "s.toml" => Ok(scene.to_string()),
        "r.urdf" => Ok(robot.to_string()),
        _ => Err("no such file".to_string()),
    };
    let loaded = scenefile::load_from("s.toml", &library, &[]).unwrap_or_else(|f| panic!("{f}"));
    let at = |name: &str| {
        loaded.scene.bodies[loaded.scene.body_named(name).unwrap().index()].pose.position
    };
    // The arm's centre is half a metre along it; the left one is turned by a right angle.
    assert!(at("left/arm").distance(DVec3::new(0.0, 2.5, 0.0)) < 1e-15, "{}", at("left/arm"));
    assert!(at("right/arm").distance(DVec3::new(0.5, 0.0, 0.0)) < 1e-15);
    assert_eq!((loaded.scene.joints.len(), loaded.scene.motors.len()), (2, 1));
    let wrong = scene.replace("90 deg", "90 mm");
    let library =
        |asked: &str| if asked == "s.toml" { Ok(wrong.clone()) } else { Ok(robot.to_string()) };
    let message = scenefile::load_from("s.toml", &library, &[]).err().unwrap().to_string();
    assert!(message.contains("is not an angle"), "{message}");
}

#[test]
fn parts_that_overlap_at_the_beginning_never_touch_and_are_listed() {
    let link = |name: &str, at: f64| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" \
                izz=\"0.1\"/></inertial>\
             <collision><geometry><sphere radius=\"0.1\"/></geometry></collision></link>\
             <joint name=\"to_{name}\" type=\"continuous\"><parent link=\"base\"/><child link=\"{name}\"/>\
             <origin xyz=\"{at} 0 0\"/></joint>"
        )
    };
    let text = format!(
        "<robot name=\"r\"><link name=\"base\"/>{}{}{}</robot>",
        link("a", 0.0),
        link("b", 0.15),
        link("c", 0.5)
    );
    let loaded = load("r.urdf", &text, &Choices::default()).unwrap_or_else(|f| panic!("{f}"));
    let noted: Vec<&String> = loaded.notes.iter().filter(|n| n.contains("overlap")).collect();
    assert!(noted.len() == 1 && noted[0].contains("`a` and `b` overlap by 50.00 mm"), "{noted:?}");
    assert_eq!(loaded.scene.excluded.len(), 1);
    let none = load("r.urdf", &text, &Choices { self_collision: false, ..Choices::default() })
        .unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(none.scene.excluded.len(), 3);
}

/// A box of these half edges as a binary STL in millimetres.
fn stl(path: &Path, half: [f32; 3]) {
    let corner =
        |i: usize| [0, 1, 2].map(|a| 1000.0 * half[a] * if i >> a & 1 == 1 { 1.0 } else { -1.0 });
    let quads =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let mut bytes = vec![0u8; 80];
    bytes.extend(12u32.to_le_bytes());
    for [a, b, c, d] in quads {
        for triangle in [[a, b, c], [a, c, d]] {
            bytes.extend([0; 12]);
            triangle
                .iter()
                .for_each(|&i| corner(i).iter().for_each(|x| bytes.extend(x.to_le_bytes())));
            bytes.extend([0; 2]);
        }
    }
    fs::write(path, bytes).unwrap();
}

/// An arm of three joints with a gripper of two fingers, one of which mimics the other.
fn arm(place: &Path) -> PathBuf {
    let package = place.join("arm_robot");
    fs::create_dir_all(package.join("meshes")).unwrap();
    stl(&package.join("meshes/link.stl"), [0.03, 0.03, 0.15]);
    let inertial = |mass: f64, z: f64| {
        let (x, y, l) = (0.06f64, 0.06f64, 0.3f64);
        format!(
            "<inertial><origin xyz=\"0 0 {z}\"/><mass value=\"{mass}\"/><inertia ixx=\"{}\" \
                ixy=\"0\" ixz=\"0\" iyy=\"{}\" iyz=\"0\" izz=\"{}\"/></inertial>",
            mass / 12.0 * (y * y + l * l),
            mass / 12.0 * (x * x + l * l),
            mass / 12.0 * (x * x + y * y)
        )
    };
    let mesh = "<collision><origin xyz=\"0 0 0.16\"/><geometry><mesh \
        filename=\"package://arm_robot/meshes/link.stl\" scale=\"0.001 0.001 0.001\"/></geometry></collision>";
    let joint = |name: &str, parent: &str, child: &str, rest: &str| {
        format!(
            "<joint name=\"{name}\" type=\"revolute\"><parent link=\"{parent}\"/><child \
                link=\"{child}\"/>{rest}</joint>\n"
        )
    };
    let motor = |joint: &str| {
        format!("<transmission name=\"{joint}_t\"><joint name=\"{joint}\"/></transmission>\n")
    };
    let mut robot = String::from(
        "<robot name=\"arm\">\n<link name=\"world\"/>\n<link \
            name=\"base\"><collision><geometry><cylinder radius=\"0.08\" length=\"0.04\"/></geometry></collision></link>\n",
    );
    robot += "<joint name=\"anchor\" type=\"fixed\"><parent link=\"world\"/><child \
        link=\"base\"/></joint>\n<gazebo reference=\"base\"/>\n";
    for (i, parent) in ["base", "upper", "fore"].iter().enumerate() {
        let name = ["upper", "fore", "hand"][i];
        robot += &format!("<link name=\"{name}\">{}{mesh}</link>\n", inertial(2.0, 0.16));
        let place = if i == 0 { "0 0 0.05" } else { "0 0 0.34" };
        let rest = format!(
            "<origin xyz=\"{place}\" rpy=\"0 0.6 0\"/><axis xyz=\"0 1 0\"/><limit lower=\"-2\" \
                upper=\"2\" effort=\"150\" velocity=\"2\"/><dynamics damping=\"0.5\" friction=\"0.1\"/>"
        );
        robot += &joint(&format!("joint_{name}"), parent, name, &rest);
        robot += &motor(&format!("joint_{name}"));
    }
    robot += "<link name=\"tool\"/>\n<joint name=\"flange\" type=\"fixed\"><parent \
        link=\"hand\"/><child link=\"tool\"/><origin xyz=\"0 0 0.34\"/></joint>\n";
    for (side, y) in [("left", 0.1), ("right", -0.1)] {
        let small = "<inertial><mass value=\"0.1\"/><inertia ixx=\"1e-4\" iyy=\"1e-4\" \
            izz=\"1e-4\"/></inertial>";
        robot += &format!(
            "<link name=\"{side}\">{small}<visual><geometry><box size=\"0.02 0.02 \
                0.06\"/></geometry></visual></link>\n"
        );
        let mimic =
            if side == "right" { "<mimic joint=\"finger_left\" multiplier=\"-1\"/>" } else { "" };
        robot += &format!(
            "<joint name=\"finger_{side}\" type=\"prismatic\"><parent link=\"tool\"/><child \
                link=\"{side}\"/><origin xyz=\"0 {y} 0.03\"/><axis xyz=\"0 1 0\"/><limit lower=\"-0.05\" upper=\"0.05\" effort=\"20\" velocity=\"1\"/>{mimic}</joint>\n"
        );
    }
    robot += &motor("finger_left");
    let file = package.join("arm.urdf");
    fs::write(&file, robot + "</robot>\n").unwrap();
    file
}

#[test]
fn a_robot_arm_loads_and_holds_its_pose() {
    let place = folder("robot");
    let robot = arm(&place);
    let loaded = scenefile::load(&robot, &[]).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    // world and base are one fixed body; tool is part of the hand.
    assert_eq!(
        (
            scene.bodies.len(),
            scene.joints.len(),
            scene.motors.len(),
            scene.gears.len(),
            scene.forces.len()
        ),
        (7, 5, 4, 1, 3)
    );
    assert!(loaded.notes.iter().any(|n| n.contains("<gazebo> is not used")), "{:?}", loaded.notes);
    let checked = signorini(&["check", text(&robot), "--json"]);
    assert!(checked.status.success(), "{}", stdout(&checked));
    let report: Json = serde_json::from_str(&stdout(&checked)).unwrap();
    // Three hinges and two fingers that a gear couples.
    assert_eq!(
        (report["freedoms"].as_u64(), report["mechanisms"][0]["rank"].as_u64()),
        (Some(4), Some(26))
    );
    let out = place.join("out");
    let run = signorini(&["run", text(&robot), "--out", text(&out)]);
    assert!(run.status.success(), "{}{}", stdout(&run), stderr(&run));
    let start: Vec<DVec3> =
        scene.bodies.iter().filter(|b| b.mass().is_some()).map(|b| b.pose.position).collect();
    let rows: Vec<String> = fs::read_to_string(out.join("bodies.csv"))
        .unwrap()
        .lines()
        .rev()
        .take(start.len())
        .map(String::from)
        .collect();
    for (row, start) in rows.iter().rev().zip(&start) {
        let at: Vec<f64> = row.split(',').skip(2).take(3).map(|x| x.parse().unwrap()).collect();
        // 500 steps in which each motor is wrong by at most 1e-6 m/s.
        assert!(DVec3::from_slice(&at).distance(*start) < 1e-6, "{row} {start}");
    }
    // The shoulder carries the weight of everything beyond it.
    let motors = fs::read_to_string(out.join("motors.csv")).unwrap();
    let shoulder: f64 = motors
        .lines()
        .rev()
        .find(|l| l.contains("joint_upper"))
        .unwrap()
        .split(',')
        .nth(4)
        .unwrap()
        .parse()
        .unwrap();
    let moment: f64 = scene
        .bodies
        .iter()
        .filter_map(|b| b.mass().map(|m| 9.81 * m.mass * b.pose.position.x))
        .sum();
    // Dry friction of 0.1 N m may take its share.
    assert!((shoulder.abs() - moment).abs() < 0.11, "{shoulder} {moment}");
    // The same as an editable scene.
    let toml = place.join("arm.toml");
    assert!(signorini(&["convert", text(&robot), text(&toml)]).status.success());
    let again = signorini(&["run", text(&toml), "--json"]);
    let hash = |text: &str| serde_json::from_str::<Json>(text).unwrap()["hash"].clone();
    assert_eq!(hash(&stdout(&again)), hash(&stdout(&signorini(&["run", text(&robot), "--json"]))));
    let refused = signorini(&["convert", text(&robot), text(&toml)]);
    assert!(stderr(&refused).contains("exists already"), "{}", stderr(&refused));
    // In a scene of one's own.
    let mine = place.join("mine.toml");
    fs::write(
        &mine,
        "include = \"arm_robot/arm.urdf\"\n[run]\nt_end = \"10 ms\"\n[[body]]\nname = \
        \"floor\"\nfixed = true\nshape = { half_space = true, position = [0, 0, -0.2] }\n",
    )
    .unwrap();
    assert!(signorini(&["run", text(&mine)]).status.success());
}

/// A hinge with a red base and an arm whose material is named before it is defined.
const PAINTED: &str = r##"<robot name="painted">
  <link name="base">
    <inertial><mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry><material name="r"><color rgba="1 0 0.2 1"/></material></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><sphere radius="0.1"/></geometry><material name="sky"/></visual>
  </link>
  <joint name="knee" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <material name="sky"><color rgba="0 0.5 1 1"/></material>
</robot>"##;

#[test]
fn bodies_have_the_colours_of_their_visuals() {
    let scene = load("painted.urdf", PAINTED, &Choices::default()).unwrap().scene;
    let color = |name: &str| {
        let id = scene.body_named(name).unwrap();
        scene.colors.iter().find(|(body, _)| *body == id).map(|(_, color)| *color)
    };
    assert_eq!(color("base"), Some([255, 0, 51]));
    assert_eq!(color("arm"), Some([0, 128, 255]));
    let place = folder("painted");
    let file = write_file(&place, "painted.urdf", PAINTED);
    let out = place.join("out");
    let words = ["run", text(&file), "--t-end", "0.01", "--out", text(&out)];
    let run = signorini(&words);
    assert!(run.status.success(), "{}", said(&run));
    let record = Record::open(&out).unwrap();
    let arm = record.head.bodies.iter().find(|b| b.name == "arm").unwrap();
    assert_eq!(arm.color, "#0080ff");
    let scene = "[[body]]\nname = \"a\"\nmass = 1\nshape = { sphere = 1 }\ncolor = \"red\"\n";
    let message = load("a.toml", scene, &Choices::default()).err().unwrap();
    assert!(message.contains("wanted a colour such as \"#d04020\""), "{message}");
}

/// A box that touches, drawn by a mesh of two colours and a ball; a link that is seen in one place
/// and touches in another.
const CLOTHED: &str = r##"<robot name="clothed">
  <link name="base">
    <inertial><mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 1"/><geometry><mesh filename="two.obj" scale="2 2 2"/></geometry><material name="g"><color rgba="0 1 0 1"/></material></visual>
    <visual><geometry><sphere radius="0.1"/></geometry><material name="b"><color rgba="0 0 1 1"/></material></visual>
    <visual><geometry><mesh filename="missing.obj"/></geometry></visual>
    <collision><geometry><box size="1 1 1"/></geometry></collision>
  </link>
</robot>"##;

#[test]
fn visuals_are_drawn_by_their_own_meshes_in_their_own_colours() {
    let place = folder("clothed");
    // A red triangle, a grey one, and one without a material.
    let mesh = "mtllib two.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nusemtl red\nf 1 2 3\nusemtl \
        grey\nf 1 2 4\nusemtl none\nf 1 3 4\n";
    write_file(&place, "two.obj", mesh);
    write_file(&place, "two.mtl", "newmtl red\nKd 1 0 0\nnewmtl grey\nKd 0.5 0.5 0.5\n");
    let file = write_file(&place, "clothed.urdf", CLOTHED);
    let out = place.join("out");
    let run = signorini(&["run", text(&file), "--t-end", "0.01", "--out", text(&out)]);
    assert!(run.status.success(), "{}", said(&run));
    assert!(said(&run).contains("`missing.obj` of link `base` is not there"), "{}", said(&run));
    let mut record = Record::open(&out).unwrap();
    let shapes: Vec<(Look, Option<&str>, f64)> =
        record.head.shapes.iter().map(|s| (s.look, s.color.as_deref(), s.pose[2])).collect();
    assert_eq!(
        shapes,
        [
            (Look::Hidden, None, 0.0),
            (Look::Solid, Some("#ff0000"), 1.0),
            (Look::Solid, Some("#808080"), 1.0),
            // What the mesh does not say, the robot file does.
            (Look::Solid, Some("#00ff00"), 1.0),
            (Look::Solid, Some("#0000ff"), 0.0),
        ]
    );
    let red = &record.head.meshes[record.head.shapes[1].mesh as usize];
    assert_eq!(red.positions.iter().copied().fold(0.0, f32::max), 2.0, "stretched");
    // The exported file has what is drawn, and nothing else.
    let glb = signorini_record::glb::of(&mut record).unwrap();
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let document: serde_json::Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
    assert_eq!(document["meshes"].as_array().unwrap().len(), 4);
    assert_eq!(
        document["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"],
        serde_json::json!([1.0, 0.0, 0.0, 1.0])
    );
    // Colours of single shapes in a scene file, and what a visual shape must not say.
    let body = "[[body]]\nname = \"a\"\nmass = 1\n";
    let shapes = "shape = [{ sphere = 1, color = \"#102030\" }, { box = [1, 1, 3] }]\n";
    let scene = load("a.toml", &(body.to_string() + shapes), &Choices::default()).unwrap().scene;
    let colors: Vec<_> = scene.visuals.iter().map(|v| v.color).collect();
    assert_eq!(colors, [Some([16, 32, 48]), None]);
    let wrong = "shape = { sphere = 1 }\nvisual = { sphere = 1, material = \"ice\" }\n";
    let message = load("a.toml", &(body.to_string() + wrong), &Choices::default()).err().unwrap();
    assert!(message.contains("a visual shape, which touches nothing"), "{message}");
}

#[test]
fn the_value_of_a_joint_has_the_unit_of_its_joint() {
    let place = folder("joint_unit");
    let file = write_file(&place, "painted.urdf", PAINTED);
    let run = |value: &str| {
        signorini(&["run", text(&file), "--t-end", "0.01", "--joint", &format!("knee={value}")])
    };
    assert!(run("30 deg").status.success() && run("0.3").status.success());
    let wrong = run("3 m");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("the value of the joint `knee` is not an angle"));
}

/// A mesh file without a number in it, which touches and is drawn: it does neither, and the robot
/// runs.
#[test]
fn a_mesh_that_cannot_be_read_neither_touches_nor_is_drawn() {
    let place = folder("nan");
    write_file(&place, "part.obj", "v nan nan nan\nv nan nan nan\nv nan nan nan\nf 1 2 3\n");
    let mesh = "<geometry><mesh filename=\"part.obj\"/></geometry>";
    let robot = format!(
        "<robot name=\"r\"><link name=\"a\">{}<collision>{mesh}</collision>\
         <visual>{mesh}</visual></link></robot>",
        "<inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial>"
    );
    let file = write_file(&place, "robot.urdf", &robot);
    let run = signorini(&["run", text(&file), "--floor", "--t-end", "0.01"]);
    assert!(run.status.success(), "{}", said(&run));
    let wanted = "line 1: found `nan nan nan`, wanted three numbers";
    assert!(said(&run).contains(wanted) && said(&run).contains("left out"), "{}", said(&run));
    let strict = signorini(&["run", text(&file), "--strict", "--t-end", "0.01"]);
    assert_eq!(strict.status.code(), Some(2), "{}", said(&strict));
}
