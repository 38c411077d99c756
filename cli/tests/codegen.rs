//! Exported programs compile without a warning, pass their self-test under sanitizers, and agree
//! with the engine; the bench's counts hold.

mod common;

use common::{said, signorini, stderr, text, write_file};
use signorini::mechanism::procedures::count;
use signorini::mechanism::{Method, Settings, Simulation, Space};
use signorini::scene::{Kind, Scene};
use signorini::symbolic::export::Language;
use signorini_cli::run::{Ended, Options, settings, simulate};
use signorini_files::builtin::built_in;
use signorini_files::codegen::source;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// A folder of its own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("codegen-{name}"));
    std::fs::create_dir_all(&path).expect("a folder can be made");
    path
}

fn exported(name: &str, emit: Language) -> PathBuf {
    let folder = folder(name);
    for (file, text) in source(&built_in(name, &[]).expect("a scene"), emit, 5)
        .expect("the scene can be exported")
        .files
    {
        std::fs::write(folder.join(file), text).expect("a file can be written");
    }
    folder
}

/// Runs a command; none if there is no such program.
fn call(folder: &PathBuf, program: &str, words: &[&str]) -> Option<(bool, String)> {
    let output = Command::new(program).args(words).current_dir(folder).output().ok()?;
    Some((output.status.success(), said(&output)))
}

#[test]
fn exported_c_passes_its_self_test_under_sanitizers() {
    // The self-test compares with the engine to 1e-12 of the largest acceleration.
    for name in ["manipulator", "a03_andrews"] {
        let folder = exported(name, Language::C);
        let define = format!("-D{}_SELF_TEST", name.to_uppercase());
        let file = format!("{name}.c");
        let words = [
            "-std=c99",
            "-Wall",
            "-Werror",
            "-fsanitize=address,undefined",
            &define,
            &file,
            "-lm",
            "-o",
            "self_test",
        ];
        let Some((compiled, text)) = call(&folder, "cc", &words) else {
            println!("no C compiler: the exported C of {name} was not compiled");
            continue;
        };
        assert!(compiled, "{text}");
        let (passed, text) =
            call(&folder, "./self_test", &[]).expect("what was compiled can be run");
        assert!(passed && text.contains("largest difference"), "{name}: {text}");
        let header = std::fs::read_to_string(folder.join(format!("{name}.h")))
            .expect("the header was written");
        assert!(header.contains("floating-point operations for one evaluation"));
        assert!(!header.contains("malloc") && header.contains("_OPERATIONS"));
    }
}

#[test]
fn exported_rust_builds_without_its_library_and_passes_its_self_test() {
    let folder = exported("a03_andrews", Language::Rust);
    let Some((compiled, text)) = call(
        &folder,
        "rustc",
        &["--edition", "2021", "--cfg", "self_test", "a03_andrews.rs", "-o", "self_test"],
    ) else {
        println!("no Rust compiler on the path: the exported Rust was not compiled");
        return;
    };
    assert!(compiled, "{text}");
    let (passed, text) = call(&folder, "./self_test", &[]).expect("what was compiled can be run");
    assert!(passed, "{text}");
    let words = [
        "--edition",
        "2021",
        "--crate-type",
        "lib",
        "--emit",
        "metadata",
        "a03_andrews.rs",
        "-o",
        "alone.rmeta",
    ];
    let (compiled, text) = call(&folder, "rustc", &words).expect("it was there a moment ago");
    assert!(compiled, "{text}");
}

fn prepared(name: &str, set: &[String]) -> Simulation {
    let loaded = built_in(name, set).unwrap_or_else(|f| panic!("{f}"));
    Simulation::new(&loaded.scene, loaded.acceleration_settings())
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn operations_are_below_the_published_ones_and_linear() {
    let counted = |m: usize| {
        let simulation = prepared("insulator_chain", &[format!("links={m}")]);
        assert!(matches!(simulation.equations.coordinates.space, Space::Planar(_)));
        let c = count(&simulation.equations, &simulation.basis.kept);
        assert_eq!((c.rows, c.columns), (3 * (2 * m + 1), 4 * (m + 1)));
        c.givens as f64
    };
    for (m, published) in [(4, 5899.0), (8, 11651.0), (16, 23158.0)] {
        assert!(counted(m) <= published, "m = {m}: {}", counted(m));
    }
    let exponent = (counted(128) / counted(8)).log2() / 4.0;
    assert!(exponent <= 1.05, "{exponent}");
}

#[test]
fn the_manipulator_is_42_by_51_of_rank_39() {
    let simulation = prepared("manipulator", &[]);
    let all: Vec<usize> = (0..simulation.equations.rows.len()).collect();
    let c = count(&simulation.equations, &all);
    assert_eq!((c.rows, c.columns, simulation.basis.kept.len()), (42, 51, 39));
    assert_eq!((simulation.freedoms(), simulation.redundant().len()), (3, 12));
    assert!(c.givens <= 34916 && (c.entries as f64) < 0.176 * 42.0 * 51.0, "{c:?}");
}

#[test]
fn bricard_has_one_degree_of_freedom_and_names_its_redundant_row() {
    let simulation = prepared("a04_bricard", &[]);
    assert_eq!(simulation.freedoms(), 1);
    let redundant = simulation.redundant();
    assert!(redundant.len() == 1 && redundant[0].starts_with("joint "), "{redundant:?}");
}

#[test]
fn rows_are_chosen_again_inside_a_long_step() {
    // At t = 1.2 s the rows chosen at the beginning become dependent, the mechanism does not: steps
    // of 50 ms jump over that.
    let mut simulation = prepared("a04_bricard", &[]);
    let begin = simulation.energy();
    for _ in 0..60 {
        let drift = simulation.step(0.05).unwrap_or_else(|e| panic!("{e}"));
        // Rounding of positions of a metre, times the condition at the worst position that the
        // choice allows.
        assert!(drift.left < 1e-12, "t = {}: {}", simulation.time, drift.left);
    }
    assert!(simulation.changes > 0, "no choice was made");
    assert_eq!((simulation.freedoms(), simulation.redundant().len()), (1, 1));
    let end = simulation.energy();
    // 1e-9 of 5 kg g 1 m, as over the whole run.
    assert!((end.kinetic + end.potential - begin.kinetic - begin.potential).abs() < 4.9e-8);
}

#[test]
fn a_tolerance_that_no_step_reaches_is_said() {
    let loaded = built_in("a01_pendulum", &[]).unwrap_or_else(|f| panic!("{f}"));
    let settings =
        Settings { method: Method::DormandPrince { tolerance: 1e-30 }, ..Settings::default() };
    let mut simulation = Simulation::new(&loaded.scene, settings).unwrap_or_else(|e| panic!("{e}"));
    let message = (0..100).find_map(|_| simulation.step(0.01).err()).expect("refused").to_string();
    assert!(
        message.contains("no step is short enough")
            && message.contains("joint ")
            && !message.contains('\n'),
        "{message}"
    );
}

/// Runs a scene and checks its facts.
fn facts(name: &str, set: &[String], t_end: Option<f64>) {
    let mut loaded = built_in(name, set).unwrap_or_else(|f| panic!("{f}"));
    loaded.t_end = t_end.unwrap_or(loaded.t_end);
    let settings = settings(&loaded, &Options::default()).expect("settings of a scene");
    let finished = simulate(&loaded, settings, &Options::default(), &AtomicBool::new(false))
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(finished.ended, Ended::Complete, "{name}");
    for outcome in &finished.outcomes {
        println!("{name}: {}", outcome.line());
    }
    assert!(finished.outcomes.iter().all(|o| o.passed()), "{name}");
}

#[test]
fn the_benchmark_mechanisms_state_facts_that_hold() {
    // Elliptic functions, one-degree-of-freedom integrals, the IVP test set, conservation of
    // energy: they stand in the scenes.
    for name in [
        "a01_pendulum",
        "a02_four_bars",
        "a03_andrews",
        "a04_bricard",
        "insulator_chain",
        "manipulator",
    ] {
        facts(name, &[], None);
    }
    // Microseconds to follow: a twentieth of a second is enough.
    facts("a05_governor", &[], Some(0.05));
}

#[test]
fn forty_four_bars_pass_the_singular_position() {
    facts("a02_four_bars", &["n=40".into()], None);
}

#[test]
fn a_scene_that_cannot_be_assembled_is_refused_in_one_line() {
    let text = built_in("a04_bricard", &["width=0.1".into()]).map(|mut loaded| {
        loaded.scene.joints[3].frame_b.position.x += 5.0;
        Simulation::new(&loaded.scene, loaded.acceleration_settings()).err().map(|e| e.to_string())
    });
    let message = text.unwrap_or_else(|f| panic!("{f}")).expect("refused");
    assert!(
        message.contains("cannot be assembled")
            && message.contains("joint `")
            && !message.contains('\n'),
        "{message}"
    );
}

#[test]
fn what_is_wrong_with_a_mechanism_is_said_in_one_line_with_its_name() {
    let refused = |change: &dyn Fn(&mut Scene)| {
        let mut loaded = built_in("a01_pendulum", &[]).unwrap_or_else(|f| panic!("{f}"));
        change(&mut loaded.scene);
        let message = Simulation::new(&loaded.scene, loaded.acceleration_settings())
            .err()
            .expect("refused")
            .to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    };
    // The rod of one metre cannot become longer than it is: the far end is held 8 m away.
    let apart = refused(&|scene| {
        let again = scene.joints[0].clone();
        scene.joints.push(again);
        scene.joints[1].frame_a.position.x = 10.0;
        scene.joints[1].name = "far".into();
    });
    assert!(
        apart.contains("joint `")
            && apart.contains("cannot be assembled")
            && apart.contains(" m remain at its length"),
        "{apart}"
    );
    let meters: f64 = apart
        .split_once("assembled: ")
        .and_then(|(_, m)| m.split_whitespace().next()?.parse().ok())
        .expect("a length");
    assert!(meters > 3.9 && meters < 8.1, "{apart}");
    let velocity = refused(&|scene| scene.bodies[1].velocity.x = 0.5);
    assert!(
        velocity.contains("joint `rod`")
            && velocity.contains("initial velocities violate its length by 5.000e-1 m/s"),
        "{velocity}"
    );
    let mass = refused(&|scene| {
        if let Kind::Rigid(mass) = &mut scene.bodies[1].kind {
            mass.mass = 0.0;
        }
    });
    assert!(mass.contains("body `bob` on joint `rod`") && mass.contains("mass"), "{mass}");
}

#[test]
fn free_bodies_run_with_the_acceleration_integrator_and_are_exported() {
    let place = common::folder("free");
    let free = |gravity: &str| {
        format!(
            "gravity = {gravity}\n[run]\nt_end = \"0.1 s\"\ndt = \"10 ms\"\nintegrator = \
                \"acceleration\"\n[[body]]\nname = \"a\"\nmass = 2\ninertia = [1, 1, 1]\nvelocity = [1, 0, 0]\n[[expect]]\nbody = \"a\"\nz = {{ is = \"-gravity*t_end^2/2\", within = \"1e-12 m\" }}\nx = {{ is = 0.1, within = \"1e-12 m\" }}\n"
        )
    };
    for (name, gravity) in [("falling", "[0, 0, -9.81]"), ("floating", "[0, 0, 0]")] {
        let words = free(gravity).replace(
            "-gravity*t_end^2/2",
            if name == "floating" { "0" } else { "-gravity*t_end^2/2" },
        );
        let file = write_file(&place, &format!("{name}.toml"), &words);
        let output = signorini(&["run", text(&file)]);
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            stderr(&output)
        );
        let code = signorini(&["codegen", text(&file), "--out", text(&place)]);
        assert!(code.status.success(), "{}", stderr(&code));
        let define = format!("-D{}_SELF_TEST", name.to_uppercase());
        let words =
            ["-std=c99", "-Wall", "-Werror", &define, &format!("{name}.c"), "-lm", "-o", name];
        let Ok(compiled) = Command::new("cc").args(words).current_dir(&place).output() else {
            continue;
        };
        assert!(compiled.status.success(), "{}", stderr(&compiled));
        let tested = Command::new(place.join(name)).output().unwrap();
        assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));
    }
    // Nothing at all moves, or there is nothing at all.
    for words in ["", "[[body]]\nname = \"a\"\nfixed = true\nshape = { sphere = 1 }\n"] {
        let file = write_file(
            &place,
            "nothing.toml",
            &format!("[run]\nt_end = \"10 ms\"\nintegrator = \"acceleration\"\n{words}"),
        );
        for arguments in
            [vec!["run", text(&file)], vec!["codegen", text(&file), "--out", text(&place)]]
        {
            let output = signorini(&arguments);
            assert!(
                matches!(output.status.code(), Some(0..=2))
                    && !stderr(&output).contains("panicked"),
                "{}",
                stderr(&output)
            );
        }
    }
}
