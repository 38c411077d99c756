//! What a run says of itself: reasons, exit codes, presets, and that nonsense is named.

mod common;

use common::{folder, said, signorini};
use serde_json::Value as Json;
use std::fs;

/// A stack of ten bricks whose weight one sweep does not carry. Without friction: with it the
/// choice among exact motions would find rest, whatever the method left.
fn stack(run: &str) -> String {
    let bricks: String = (0..10)
        .map(|i| {
            format!(
                "[[body]]\nname = \"brick_{i}\"\nmass = {}\nshape = {{ box = [0.2, 0.1, 0.05] \
                    }}\nposition = [0, 0, {}]\n",
                1 + i,
                0.025 + 0.05 * f64::from(i)
            )
        })
        .collect();
    format!(
        "[materials.ice]\nmu = 0\n[contact]\nmaterial = \"ice\"\n\
         [run]\nt_end = \"40 ms\"\ndt = \"2 ms\"\nsolver = \"psor\"\n{run}\n[[body]]\nname = \
            \"floor\"\nfixed = true\nshape = {{ half_space = true }}\n{bricks}"
    )
}

#[test]
fn summary_run_json_and_exit_code_agree_on_steps_that_are_not_accepted() {
    let place = folder("agree");
    let (scene, out) = (place.join("stack.toml"), place.join("out"));
    fs::write(&scene, stack("iterations = 3")).unwrap();
    let output = signorini(&["run", scene.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let run: Json =
        serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
    let refused = run["refused_steps"].as_array().unwrap();
    let count = run["not_accepted"].as_u64().unwrap();
    assert_eq!(refused.len() as u64, count, "every one of them is kept");
    assert!(count > 0 && said.contains(&format!("{count} steps NOT accepted")), "{said}");
    for step in refused {
        assert_eq!(step["accepted"], false);
        let reasons = step["reasons"].as_array().unwrap();
        assert!(!reasons.is_empty(), "{step}");
        // Which criterion, by how much, where, and what to change.
        let words: Vec<&str> = reasons.iter().map(|r| r.as_str().unwrap()).collect();
        assert!(words.iter().all(|w| w.contains("allowed") && w.contains('`')), "{words:?}");
        assert!(words.iter().any(|w| w.contains("brick_")), "{words:?}");
    }
    // The last lines repeat the worst.
    assert!(said.contains("not accepted, at worst at t = "), "{said}");
    assert!(said.contains(run["reasons"][0].as_str().unwrap()), "{said}");
}

#[test]
fn presets_say_what_is_accepted() {
    let place = folder("presets");
    let scene = place.join("stack.toml");
    fs::write(&scene, stack("iterations = 200")).unwrap();
    let scene = scene.to_str().unwrap();
    let codes = ["exact", "engineering", "fast"]
        .map(|preset| signorini(&["run", scene, "--preset", preset]).status.code());
    // Two hundred sweeps are enough for a ten-thousandth of the energy, not for a
    // hundred-millionth.
    assert_eq!(codes, [Some(3), Some(0), Some(0)]);
    assert_eq!(signorini(&["run", scene]).status.code(), codes[0], "exact is the default");
    // In the file as on the command line, which stands above it.
    let other = place.join("fast.toml");
    fs::write(&other, stack("iterations = 200\npreset = \"fast\"")).unwrap();
    let other = other.to_str().unwrap();
    assert_eq!(signorini(&["run", other]).status.code(), Some(0));
    assert_eq!(signorini(&["run", other, "--preset", "exact"]).status.code(), Some(3));
    let help = said(&signorini(&["run", "--help"]));
    assert!(help.contains("--preset") && help.contains("steps were not accepted"), "{help}");
}

/// Scenes that no one can simulate: an exit code that says so, a line that names the culprit, no
/// NaN in any table.
#[test]
fn nonsense_is_named_and_leaves_no_table_with_nan() {
    let ball =
        |more: &str| format!("[[body]]\nname = \"marble\"\nshape = {{ sphere = 0.1 }}\n{more}\n");
    let run = "[run]\nt_end = \"20 ms\"\ndt = \"2 ms\"\n";
    let cases = [
        ("mass", format!("{run}{}", ball("mass = 1e-300")), "marble", 2),
        ("speed", format!("{run}{}", ball("mass = 1\nvelocity = [1e200, 0, 0]")), "marble", 1),
        ("gravity", format!("gravity = [0, 0, -1e200]\n{run}{}", ball("mass = 1")), "marble", 1),
        (
            "joints",
            format!(
                "{run}{}[[joint]]\nname = \"here\"\nkind = \"fixed\"\nb = \
                    \"marble\"\n[[joint]]\nname = \"there\"\nkind = \"distance\"\nb = \"marble\"\npoints = [[1, 0, 0], [0.1, 0, 0]]\nlength = 2\n",
                ball("mass = 1")
            ),
            "there",
            -1,
        ),
        (
            "wobble",
            format!(
                "gravity = [0, 0, 0]\n{run}[[body]]\nname = \"top\"\nmass = 1\ninertia = [1, 2, \
                    2.5]\nangular_velocity = [300, 900, 50]\n"
            ),
            "top turns by",
            3,
        ),
    ];
    for (name, text, culprit, code) in cases {
        let place = folder(&format!("nonsense_{name}"));
        let (scene, out) = (place.join("scene.toml"), place.join("out"));
        fs::write(&scene, text).unwrap();
        let output = signorini(&["run", scene.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let said = said(&output);
        if code >= 0 {
            assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        }
        assert!(!output.status.success() && said.contains(culprit), "{name}: {said}");
        assert!(!said.contains("panicked"), "{name}: {said}");
        for entry in fs::read_dir(&out).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|e| e == "csv") {
                let table = fs::read_to_string(entry.path()).unwrap();
                assert!(
                    !table.contains("NaN") && !table.contains("inf"),
                    "{name}: {}",
                    entry.path().display()
                );
            }
        }
        // What `run` says at once, `check` says as well.
        let check = signorini(&["check", scene.to_str().unwrap()]);
        let checked = format!(
            "{}{}",
            String::from_utf8_lossy(&check.stdout),
            String::from_utf8_lossy(&check.stderr)
        );
        if !matches!(name, "gravity" | "speed") {
            assert!(!check.status.success(), "{name}: {checked}");
        }
    }
}

/// An overlapping start is named by `check` and by `run`, and bodies do not fly.
#[test]
fn overlapping_starts_are_named() {
    let place = folder("overlap");
    let scene = place.join("scene.toml");
    let text = "[run]\nt_end = \"0.1 s\"\ndt = \"1 ms\"\n[[body]]\nname = \"floor\"\nfixed = \
        true\nshape = { half_space = true }\n\
                [[body]]\nname = \"box\"\nmass = 1\nshape = { box = [0.2, 0.2, 0.2] }\nposition = [0, 0, 0.07]\n\
                [[expect]]\nbody = \"box\"\nspeed = { at_most = \"5 mm/s\" }\nz = { is = 0.1, within = \"20 um\" }\n";
    fs::write(&scene, text).unwrap();
    let output = signorini(&["run", scene.to_str().unwrap()]);
    let said_run = said(&output);
    assert_eq!(output.status.code(), Some(3), "{said_run}");
    assert!(
        said_run.contains("error at the start: floor / box overlap by 3.000e-2 m"),
        "{said_run}"
    );
    assert!(said_run.contains("floor and box overlap by"), "{said_run}");
    let check = signorini(&["check", scene.to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(1), "{}", said(&check));
}

/// Next to the angle of friction a block creeps no further than the errors of the steps add up to,
/// and that sum is said.
#[test]
fn an_incline_next_to_the_limit_does_not_creep_further_than_is_said() {
    let limit = 0.4f64.atan();
    for below in [1e-3f64, 1e-5] {
        let angle = limit - below.to_radians();
        for solver in ["auto", "newton", "interior-point"] {
            let out = folder(&format!("incline_{below}_{solver}"));
            let set = format!("gentle={} deg", angle.to_degrees());
            let output = signorini(&[
                "run",
                "incline",
                "--set",
                &set,
                "--solver",
                solver,
                "--out",
                out.to_str().unwrap(),
            ]);
            let run: Json =
                serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
            assert_eq!(run["not_accepted"], 0, "{}", said(&output));
            let table = fs::read_to_string(out.join("bodies.csv")).unwrap();
            let last =
                table.lines().rfind(|line| line.split(',').nth(1) == Some("sticker")).unwrap();
            let x: f64 = last.split(',').nth(2).unwrap().parse().unwrap();
            let crept = (x - 0.05 * angle.sin()) / angle.cos();
            let (sum, worst) = (
                run["error"]["velocity_sum"].as_f64().unwrap(),
                run["error"]["worst_velocity"].as_f64().unwrap(),
            );
            assert!(worst <= 1e-6, "{worst}");
            // Errors of velocities add up from step to step; the run lasts 1 s. A micrometre for
            // contacts that share their load.
            assert!(crept.abs() <= sum + 1e-6, "{below} {solver}: crept {crept} m, said {sum} m/s");
            assert!(said(&output).contains("in sum"), "{}", said(&output));
        }
    }
}
