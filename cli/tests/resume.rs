//! Runs that are killed go on to the same bits.

mod common;

use common::{BUSY, command, folder, signorini, stderr, stdout, summary, text, write_file};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What a run leaves, but for the seconds that it took.
fn results(folder: &Path) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for name in ["bodies.csv", "contacts.csv", "motors.csv", "run.json"] {
        let Ok(found) = fs::read_to_string(folder.join(name)) else { continue };
        let found = if name == "run.json" { summary(folder).to_string() } else { found };
        out.push((name.into(), found));
    }
    out
}

fn assert_same(folder: &Path, wanted: &[(String, String)]) {
    let found = results(folder);
    assert_eq!(found.len(), wanted.len(), "{}", folder.display());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found == wanted, "{} of {} differs", found.0, folder.display());
    }
    assert!(!folder.join("checkpoint.json").exists(), "a complete run needs no checkpoint");
}

/// Starts a run, kills it after a while, goes on until it is complete. Returns whether the kill
/// found it under way.
fn killed(arguments: &[&str], out: &Path, after: Duration) -> bool {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let under_way = !out.join("run.json").exists() || out.join("checkpoint.json").exists();
    let resumed = if out.join("checkpoint.json").exists() {
        signorini(&["run", "--threads", "1", "--resume", text(out)])
    } else {
        // Killed before anything was written, or complete: the same command is right in both cases.
        signorini(arguments)
    };
    assert!(resumed.status.success(), "{}{}", stdout(&resumed), stderr(&resumed));
    under_way
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_to_the_same_bits() {
    let place = folder("kill");
    let scene = write_file(&place, "busy.toml", BUSY);
    let whole = place.join("whole");
    let begun = Instant::now();
    let output = signorini(&[
        "run",
        text(&scene),
        "--threads",
        "1",
        "--out",
        text(&whole),
        "--checkpoint-every",
        "7",
    ]);
    let long = begun.elapsed();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let wanted = results(&whole);
    assert!(
        wanted.len() == 4
            && wanted.iter().all(|(_, text)| text.lines().count() > 10 || text.len() > 1000)
    );
    let plain = place.join("plain");
    assert!(signorini(&["run", text(&scene), "--out", text(&plain)]).status.success());
    assert_same(&plain, &wanted);
    let (mut seed, mut under_way) = (7u64, 0);
    for i in 0..100 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (seed >> 33) as f64 / (1u64 << 31) as f64;
        let out = place.join(format!("try{i}"));
        let arguments = [
            "run",
            text(&scene),
            "--threads",
            "1",
            "--checkpoint-every",
            "7",
            "--resume",
            text(&out),
        ];
        under_way += usize::from(killed(&arguments, &out, long.mul_f64(share)));
        assert_same(&out, &wanted);
        fs::remove_dir_all(&out).unwrap();
    }
    // Kills are spread evenly over the time of a run: most of them must have met it at work.
    assert!(under_way > 30, "{under_way} of 100 kills met a run under way");
}

#[test]
fn built_in_scenes_go_on_to_the_same_bits() {
    let place = folder("resume");
    for (name, end) in [
        ("gripper", "0.1 s"),
        ("slider_crank", "0.3 s"),
        ("cradle", "0.3 s"),
        ("conveyor", "0.7 s"),
    ] {
        let whole = place.join(format!("{name}-whole"));
        let begun = Instant::now();
        let output = signorini(&[
            "run",
            name,
            "--t-end",
            end,
            "--out",
            text(&whole),
            "--checkpoint-every",
            "11",
        ]);
        let long = begun.elapsed();
        assert!(
            output.status.code() == Some(0) || output.status.code() == Some(1),
            "{}",
            stderr(&output)
        );
        for share in [0.3, 0.7] {
            let out = place.join(format!("{name}-{share}"));
            let arguments =
                ["run", name, "--t-end", end, "--checkpoint-every", "11", "--resume", text(&out)];
            killed(&arguments, &out, long.mul_f64(share));
            assert_same(&out, &results(&whole));
        }
    }
}

#[test]
fn a_checkpoint_says_why_it_cannot_be_taken_up() {
    let place = folder("refuse");
    let scene = write_file(&place, "busy.toml", BUSY);
    let out = place.join("out");
    let none = signorini(&["run", "--resume", text(&out)]);
    assert!(
        none.status.code() == Some(2) && stderr(&none).contains("there is no checkpoint in"),
        "{}",
        stderr(&none)
    );
    let blocked = place.join("file");
    fs::write(&blocked, "in the way").unwrap();
    let said = stderr(&signorini(&["run", text(&scene), "--out", text(&blocked)]));
    assert!(
        said.contains("cannot write into") && said.contains("--out") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(fs::read_to_string(&blocked).unwrap(), "in the way");
    let needs = stderr(&signorini(&["run", text(&scene), "--checkpoint-every", "5"]));
    assert!(needs.contains("needs a folder: add --out"), "{needs}");
}
