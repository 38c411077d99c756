//! Scene files: every scene loads and runs; wrong ones say what is wrong, where, and what was
//! wanted.

use signorini::math::random::Random;
use signorini::scene::{Kind, Scene, State};
use signorini::step::Stepper;
use signorini_cli::run::{Options, settings};
use signorini_files::builtin::{SCENES, built_in};
use signorini_files::scenefile::{self, Loaded};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn load(text: &str) -> Result<Loaded, String> {
    let library = |name: &str| {
        if name == "test.toml" { Ok(text.to_string()) } else { Err("no such file".to_string()) }
    };
    scenefile::load_from("test.toml", &library, &[]).map_err(|f| f.to_string())
}

fn message(text: &str) -> String {
    load(text).err().unwrap_or_else(|| panic!("no fault found in\n{text}"))
}

const BALL: &str = "[[body]]\nname = \"ball\"\nmass = 1\nshape = { sphere = 0.1 }\n";

#[test]
fn every_scene_file_is_built_in_and_loads() {
    let mut files: Vec<String> = std::fs::read_dir(root().join("scenes"))
        .unwrap()
        .filter_map(|entry| {
            entry
                .unwrap()
                .file_name()
                .to_str()
                .and_then(|n| n.strip_suffix(".toml"))
                .map(String::from)
        })
        .collect();
    files.sort();
    let mut names: Vec<&str> = SCENES.iter().map(|(name, _)| *name).collect();
    names.sort();
    assert_eq!(files, names, "scenes/*.toml and the list in builtin.rs differ");
    for name in names {
        let from_disk = scenefile::load(&root().join("scenes").join(format!("{name}.toml")), &[])
            .unwrap_or_else(|f| panic!("{f}"));
        let inside = built_in(name, &[]).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(from_disk.scene.name, name);
        assert_eq!(from_disk.scene.bodies.len(), inside.scene.bodies.len());
        assert!(
            !from_disk.about.is_empty() && !from_disk.checks.is_empty(),
            "{name} says nothing or expects nothing"
        );
    }
}

#[test]
fn every_scene_takes_its_first_steps() {
    for (name, _) in SCENES {
        let loaded = built_in(name, &[]).unwrap_or_else(|f| panic!("{f}"));
        let settings = settings(&loaded, &Options::default()).unwrap();
        let mut stepper =
            Stepper::new(&loaded.scene, settings).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut state = State::initial(&loaded.scene);
        for _ in 0..3 {
            stepper.step(&loaded.scene, &mut state).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert!(state.q.iter().chain(&state.v).all(|x| x.is_finite()), "{name}");
    }
}

#[test]
fn a_wrong_file_says_what_is_wrong_where_and_what_was_wanted() {
    for (text, says) in [
        // Spelling.
        (
            "[[bodi]]\nname = \"a\"\n",
            &["test.toml:1:3", "unknown key `bodi`", "did you mean `body`?"][..],
        ),
        ("[[body]]\nname = \"a\"\nmas = 1\n", &["test.toml:3:1", "unknown key `mas`", "`mass`"]),
        (
            "[[body]]\nname = \"a\"\nmass = 1\nshape = { spere = 1 }\n",
            &["test.toml:4:11", "`spere`", "`sphere`"],
        ),
        (
            "[[joint]]\nname = \"j\"\nkind = \"revolut\"\nb = \"a\"\n",
            &["test.toml:3:8", "found \"revolut\"", "`revolute`"],
        ),
        (
            "[[body]]\nname = \"a\"\nmass = \"1 kgg\"\nshape = { sphere = 1 }",
            &["test.toml:3:11", "`kgg` is neither", "`kg`"],
        ),
        ("[run]\nlaw = \"colomb\"\n", &["test.toml:2:7", "`coulomb`"]),
        // Kind of value.
        (
            "[[body]]\nname = 1\nmass = 1\nshape = { sphere = 1 }",
            &["test.toml:2:8", "found the number 1", "wanted a text"],
        ),
        (
            "[[body]]\nname = \"a\"\nmass = true\nshape = { sphere = 1 }",
            &["test.toml:3:8", "found true", "wanted a mass", "\"2.5 kg\""],
        ),
        ("[body]\nname = \"a\"\n", &["test.toml:1:1", "wanted a list", "[[…]]"]),
        ("gravity = [0, 0]\n", &["test.toml:1:11", "a list of 2", "wanted a list of 3"]),
        ("[[body]]\nname = \"a\"\nfixed = \"yes\"\n", &["wanted true or false"]),
        // Dimension.
        (
            "[[body]]\nname = \"a\"\nmass = \"1 m\"\nshape = { sphere = 1 }",
            &["test.toml:3:8", "\"1 m\" is in m", "wanted a mass, kg"],
        ),
        ("[run]\ndt = \"2 mm\"\n", &["is in m", "wanted a time, s"]),
        ("units = { length = \"kg\" }\n", &["test.toml:1:20", "found \"kg\"", "`km`"]),
        ("units = { lenght = \"mm\" }\n", &["test.toml:1:11", "`length`"]),
        ("gravity = [0, 0, \"1 m + 1 s\"]\n", &["test.toml:1:19", "this adds m and s"]),
        // Missing and too many.
        (
            "[[body]]\nmass = 1\nshape = { sphere = 1 }\n",
            &["test.toml:1:1", "wanted the key `name` too"],
        ),
        (
            "[[body]]\nname = \"a\"\nshape = { sphere = 1 }\n",
            &["test.toml:2:8", "the body `a` has no mass"],
        ),
        ("[[body]]\nname = \"a\"\nmass = 1\n", &["has no inertia", "wanted a shape"]),
        (
            "[[body]]\nname = \"a\"\nmass = 1\nshape = { sphere = 1, box = [1, 1, 1] }",
            &["`sphere`, `box` together", "wanted only one"],
        ),
        (
            "[[body]]\nname = \"a\"\nmass = 1\nshape = { position = [0, 0, 0] }",
            &["wanted one of `sphere`"],
        ),
        (
            "[[body]]\nname = \"a\"\nmass = 1\nshape = { half_space = true }",
            &["half-space has no volume"],
        ),
        ("[[body]]\nname = \"a\"\nmass = 1\nshape = { sphere = -1 }", &["radius is -1"]),
        (
            "[[body]]\nname = \"a\"\nfixed = true\n[[body]]\nname = \"a\"\nfixed = true\n",
            &["test.toml:5:8", "the body `a` exists already"],
        ),
        // References.
        (
            "[[body]]\nname = \"ball\"\nmass = 1\nshape = { sphere = 1 }\n[[joint]]\nname = \
                \"j\"\nkind = \"fixed\"\nb = \"bal\"\n",
            &["test.toml:8:5", "there is no body `bal`", "did you mean `ball`?"],
        ),
        (
            "[[body]]\nname = \"b\"\nmass = 1\nmaterial = \"stel\"\nshape = { sphere = 1 \
                }\n[materials.steel]\nmu = 1\n",
            &["there is no material `stel`", "`steel`"],
        ),
        ("[[motor]]\nname = \"m\"\njoint = \"hinge\"\nspeed = 1\n", &["there is no joint `hinge`"]),
        ("include = \"other.toml\"\n", &["test.toml:1:11", "cannot read `other.toml`"]),
        ("include = \"test.toml\"\n", &["includes itself"]),
        // Parameters.
        ("[parameters]\na = \"b\"\nb = \"a\"\n", &["depends on itself"]),
        ("[parameters]\nm = 1\n", &["`m` is the name of a unit"]),
        ("[parameters]\na = \"2*\"\n", &["test.toml:2:8", "ends too early"]),
        // Functions of time, motors, facts.
        (
            "[[motor]]\nname = \"m\"\njoint = \"j\"\nangle = { sinus = 1 }\n",
            &["unknown key `sinus`", "`sine`"],
        ),
        (
            "[[motor]]\nname = \"m\"\njoint = \"j\"\nangle = { table = [[1, 0], [0, 1]] }\n",
            &["wanted ascending times"],
        ),
        ("[[expect]]\nx = { is = 1, within = 1 }\n", &["`x` of which body?"]),
        ("[[expect]]\nkinetic = { is = 1 }\n", &["`is` together with `within`"]),
        ("[[expect]]\nkinetic = 1\n", &["wanted a table such as"]),
        ("[[repeat]]\ncount = 2.5\n", &["wanted a whole number"]),
        ("[[repeat]]\ncount = 1000000000\n", &["wanted at most"]),
        (
            "[[repeat]]\ncount = 100\nscatter = { low = [0, 0, 0], high = [1, 1, 1], distance = \
                0.5 }\n",
            &["of 100 copies fit"],
        ),
        ("[run]\ndt = 0\n", &["test.toml:2:6", "dt is 0 s"]),
        // Syntax, in both languages.
        ("[[body]\nname = 1\n", &["test.toml:1:", "TOML"]),
        ("a = \n", &["test.toml:1:"]),
        ("{\"body\": [}", &["test.toml:1:11", "no value stands here"]),
        ("{\"body\": 1}", &["test.toml:1:10", "wanted a list"]),
    ] {
        let found = message(text);
        for part in says {
            assert!(found.contains(part), "wanted {part:?} in\n{found}\nfor\n{text}");
        }
    }
}

#[test]
fn all_faults_are_reported_at_once() {
    let found = message(
        "gravty = [0, 0, 0]\n[run]\ndt = \"2 mm\"\nt_end = true\n[[body]]\nname = \"a\"\nmas = \
            1\nshape = { spher = 1 }\n[[joint]]\nname = \"j\"\nkind = \"hinge\"\nb = \"zzz\"\n",
    );
    for part in [
        "`gravity`",
        "wanted a time, s",
        "wanted a time:",
        "`mass`",
        "`sphere`",
        "found \"hinge\"",
        "test.toml:8:11",
    ] {
        assert!(found.contains(part), "wanted {part:?} in\n{found}");
    }
    let errors = found.matches("error: ").count();
    assert!(found.ends_with(&format!("{errors} errors in the scene")) && errors >= 7, "{found}");
    // A fault inside a repeated block is told once.
    let found = message(
        "[[repeat]]\ncount = 50\n[[repeat.body]]\nname = \"b_{i}\"\nmas = 1\nmass = 1\nshape = { \
            sphere = 1 }\n",
    );
    assert_eq!(found.matches("unknown key `mas`").count(), 1, "{found}");
}

#[test]
fn the_message_shows_the_line() {
    let found = message("[[body]]\nname = \"a\"\nmass = \"12 mm\"\nshape = { sphere = 1 }\n");
    let wanted = "error: \"12 mm\" is in m\n --> test.toml:3:8\n  |\n3 | mass = \"12 mm\"\n  |        ^^^^^^^ wanted a mass, kg\n1 error in the scene";
    assert_eq!(found, wanted);
}

/// All numbers of a scene that depend on units.
fn numbers(scene: &Scene) -> Vec<f64> {
    let mut all = scene.gravity.to_array().to_vec();
    for body in &scene.bodies {
        all.extend(body.pose.position.to_array());
        all.extend(body.pose.orientation.to_array());
        all.extend(body.velocity.to_array());
        all.extend(body.spin.to_array());
        if let Kind::Rigid(mass) = &body.kind {
            all.push(mass.mass);
            all.extend(mass.inertia.to_cols_array());
        }
    }
    for collider in &scene.colliders {
        all.extend(collider.pose_in_body.position.to_array());
    }
    let text = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        scene.colliders, scene.joints, scene.motors, scene.forces, scene.materials
    );
    let split = text.split(|c: char| !(c.is_ascii_digit() || ".-e".contains(c)));
    all.extend(split.filter_map(|word| word.parse::<f64>().ok()));
    all
}

#[test]
fn millimetres_and_grams_give_the_same_scene_as_metres_and_kilograms() {
    let scene = |units: &str, l: f64, m: f64, a: f64| {
        let (f, t) = (m * l, m * l * l);
        let text = format!(
            r#"
            {units}
            gravity = [0, 0, {g}]
            [materials.rubber]
            compliance = {compliance}
            damping = {damping}
            density = {density}
            [[body]]
            name = "a"
            material = "rubber"
            shape = [{{ box = [{x}, {y}, {x}] }}, {{ sphere = {y}, position = [{x}, 0, {y}] }}]
            position = [{x}, {y}, {z}]
            rotation = {{ axis = [1, 2, 3], angle = {angle} }}
            velocity = [{x}, 0, {y}]
            angular_velocity = [0, {angle}, 0]
            [[body]]
            name = "b"
            mass = {mass}
            inertia = [{inertia}, {inertia}, {inertia}]
            [[joint]]
            name = "j"
            kind = "cylindrical"
            b = "a"
            position = [{x}, {x}, 0]
            limits = {{ angle = [-{angle}, {angle}], slide = [-{x}, {x}] }}
            friction = {{ slide = {force}, angle = {torque} }}
            [[motor]]
            name = "m"
            joint = "j"
            angle = {{ sine = {{ amplitude = {angle}, frequency = 2 }} }}
            [[motor]]
            name = "n"
            joint = "j"
            speed = {{ ramp = {{ value = {x}, rate = {y} }} }}
            max_force = {force}
            [[force]]
            name = "s"
            spring = {{ a = "a", b = "b", stiffness = {stiffness}, damping = {damping} }}
            [[force]]
            name = "t"
            torsion = {{ a = "a", b = "b", stiffness = {torsion}, angle = {angle} }}
            [[force]]
            name = "d"
            drag = {{ body = "b", linear = {damping}, quadratic = {quadratic} }}
            "#,
            g = -9.81 * l,
            compliance = 1e-6 / m,
            damping = 3.0 * m,
            density = 1200.0 * m / (l * l * l),
            x = 0.3 * l,
            y = 0.1 * l,
            z = 0.7 * l,
            angle = 0.5 * a,
            mass = 2.0 * m,
            inertia = 0.1 * t,
            force = 5.0 * f,
            torque = 0.4 * t,
            stiffness = 1e3 * m,
            torsion = 20.0 * t / a,
            quadratic = 0.2 * m / l,
        );
        load(&text).unwrap_or_else(|f| panic!("{f}")).scene
    };
    let metres = numbers(&scene("", 1.0, 1.0, 1.0));
    let degrees = 180.0 / std::f64::consts::PI;
    for (units, l, m, a) in [
        ("units = { length = \"mm\", mass = \"g\" }", 1e3, 1e3, 1.0),
        ("units = { length = \"cm\", mass = \"tonne\", angle = \"deg\" }", 1e2, 1e-3, degrees),
    ] {
        let other = numbers(&scene(units, l, m, a));
        assert_eq!(metres.len(), other.len());
        for (x, y) in metres.iter().zip(&other) {
            // Each number passes a handful of roundings; sums of products of them cancel at most
            // one digit.
            assert!((x - y).abs() <= 1e-13 * x.abs().max(1e-3), "{x} and {y} in {units}");
        }
    }
}

#[test]
fn toml_and_json_give_the_same_scene() {
    let toml = load(&format!("{BALL}[run]\ndt = \"1 ms\"\n")).unwrap();
    let json = load(
        r#"{"body": [{"name": "ball", "mass": 1, "shape": {"sphere": 0.1}}],
    "run": {"dt": "1 ms"}}"#,
    )
    .unwrap();
    assert_eq!(numbers(&toml.scene), numbers(&json.scene));
    assert_eq!(toml.dt, json.dt);
}

#[test]
fn includes_parameters_and_settings_from_outside() {
    let library = |name: &str| {
        match name {
        "dir/top.toml" => Ok("include = \"base.toml\"\n[parameters]\nr = \"20 cm\"\n".to_string()),
        "dir/base.toml" => Ok("units = { length = \"mm\" }\n[parameters]\nr = \"10 \
            cm\"\n[[body]]\nname = \"b\"\nmass = 1\nshape = { sphere = \"r\" }\nposition = [500, 0, 0]\n".to_string()),
        _ => Err("no such file".into()),
    }
    };
    let radius = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
        let loaded =
            scenefile::load_from("dir/top.toml", &library, &set).unwrap_or_else(|f| panic!("{f}"));
        // The units of an included file are its own.
        assert_eq!(loaded.scene.bodies[1].pose.position.x, 0.5);
        // Inertia of a ball: 2/5 m r².
        (loaded.scene.bodies[1].mass().unwrap().inertia.x_axis.x / 0.4).sqrt()
    };
    assert!((radius(&[]) - 0.2).abs() < 1e-12);
    assert!((radius(&["r=5 cm"]) - 0.05).abs() < 1e-12);
    let wrong = scenefile::load_from("dir/top.toml", &library, &["rr=1".to_string()])
        .err()
        .unwrap()
        .to_string();
    assert!(
        wrong.contains("the scene has no parameter `rr`")
            && wrong.contains("the scene has the parameters: r"),
        "{wrong}"
    );
}

#[test]
fn repetition_places_and_names_its_copies() {
    let scene = load(
        "[[repeat]]\ncount = [2, 3, 1]\nstep = [1, 10, 100]\n[[repeat.body]]\nname = \
        \"b_{ix}_{iy}\"\nmass = \"1 kg + i*1 kg\"\nshape = { sphere = 1 }\n",
    )
    .unwrap()
    .scene;
    assert_eq!(scene.bodies.len(), 7);
    let body = &scene.bodies[scene.body_named("b_1_2").unwrap().index()];
    assert_eq!(
        (body.pose.position.x, body.pose.position.y, body.mass().unwrap().mass),
        (1.0, 20.0, 6.0)
    );
    let turned = load(
        "[[repeat]]\ncount = 4\nturn = { angle = \"90 deg\" }\n[[repeat.body]]\nname \
        = \"b_{i}\"\nmass = 1\nshape = { sphere = 1 }\nposition = [1, 0, 0]\n",
    )
    .unwrap()
    .scene;
    let place = turned.bodies[2].pose.position;
    assert!((place - glam::DVec3::Y).length() < 1e-15, "{place}");
    // A scattered packing keeps its distance, is the same each time, and another with another seed.
    let scatter = |seed: u32| {
        let text = format!(
            "[[repeat]]\ncount = 200\nscatter = {{ seed = {seed}, low = [0, 0, 0], high = [1, 1, \
                1], distance = 0.1 }}\n[[repeat.body]]\nname = \"b_{{i}}\"\nmass = 1\nshape = {{ sphere = 0.05 }}\n"
        );
        load(&text)
            .unwrap()
            .scene
            .bodies
            .iter()
            .skip(1)
            .map(|b| b.pose.position)
            .collect::<Vec<_>>()
    };
    let places = scatter(1);
    assert!(
        places.iter().enumerate().all(|(i, p)| places[..i].iter().all(|q| p.distance(*q) >= 0.1))
    );
    assert_eq!(places, scatter(1));
    assert_ne!(places, scatter(2));
}

#[test]
fn the_schema_is_whole() {
    let schema = scenefile::schema();
    let definitions = schema["$defs"].as_object().unwrap();
    // Every reference leads somewhere, and every table refuses unknown keys.
    fn walk(value: &serde_json::Value, definitions: &serde_json::Map<String, serde_json::Value>) {
        match value {
            serde_json::Value::Object(object) => {
                if let Some(reference) = object.get("$ref").and_then(|r| r.as_str()) {
                    assert!(
                        definitions.contains_key(reference.trim_start_matches("#/$defs/")),
                        "{reference}"
                    );
                }
                object.values().for_each(|v| walk(v, definitions));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|v| walk(v, definitions)),
            _ => {}
        }
    }
    walk(&schema, definitions);
    for name in
        ["Body", "Joint", "Motor", "Gear", "Force", "Shape", "Repeat", "Expect", "Material", "Run"]
    {
        assert_eq!(definitions[name]["additionalProperties"], false, "{name}");
        assert!(definitions[name]["description"].as_str().is_some_and(|d| !d.is_empty()), "{name}");
    }
    assert_eq!(definitions["Body"]["required"], serde_json::json!(["name"]));
    assert!(serde_json::from_str::<serde_json::Value>(&schema.to_string()).is_ok());
}

#[test]
fn the_example_of_the_documentation_runs_and_its_facts_hold() {
    let text = std::fs::read_to_string(root().join("docs/scene.md")).unwrap();
    let example = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let loaded = load(example).unwrap_or_else(|f| panic!("{f}"));
    assert!(example.lines().filter(|l| !l.trim().is_empty()).count() <= 25);
    let finished = signorini_cli::run::simulate(
        &loaded,
        settings(&loaded, &Options::default()).unwrap(),
        &Options::default(),
        &Default::default(),
    )
    .unwrap();
    assert!(!finished.outcomes.is_empty());
    for outcome in &finished.outcomes {
        assert!(outcome.passed(), "{}", outcome.line());
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    let good = SCENES.iter().find(|(name, _)| *name == "gripper").unwrap().1;
    let mut random = Random::seeded(1);
    let mut next = |n: usize| random.below(n);
    for _ in 0..300 {
        // Cut out, double or change a piece of a good scene.
        let mut bytes = good.as_bytes().to_vec();
        for _ in 0..1 + next(4) {
            let (at, length) = (next(bytes.len()), next(12));
            let end = (at + length).min(bytes.len());
            match next(3) {
                0 => drop(bytes.drain(at..end)),
                1 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => bytes[at] = b"\"[]{}=,.0x-e^*()\n"[next(17)],
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Err(faults) = load(&text) {
            assert!(faults.contains("error: ") && faults.contains("test.toml:"), "{faults}");
        }
    }
}
