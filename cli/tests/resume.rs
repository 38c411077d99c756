//! Runs that are killed go on to the same bits.

mod common;

use common::{
    BUSY, ELEMENTS, command, folder, signorini, stderr, stdout, summary, text, write_file,
};
use signorini_record::record::Record;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What a run leaves, all files but the lock, but for the seconds that it took.
fn results(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == ".lock" {
            continue;
        }
        let found = match name.as_str() {
            "run.json" => summary(folder).to_string().into_bytes(),
            "record.bin" => motion(&fs::read(&path).unwrap()),
            _ => fs::read(&path).unwrap(),
        };
        out.push((name, found));
    }
    out.sort();
    out
}

/// What a record says of the motion, as text; it says how long steps took, too.
fn motion(bytes: &[u8]) -> Vec<u8> {
    let mut record = Record::from_bytes(bytes.to_vec(), "record.bin").unwrap();
    let mut out = String::new();
    for i in 0..record.times().len() {
        let moment = record.moment(i).unwrap_or_else(|_| panic!("frame {i} cannot be read"));
        out += &format!("{:?} {:?} {:?} ", moment.time, moment.poses, moment.velocities);
        out += &format!("{:?} {} {:?}\n", moment.there, moment.touches.len(), moment.soft);
    }
    out.into_bytes()
}

fn assert_same(folder: &Path, wanted: &[(String, Vec<u8>)]) {
    let found = results(folder);
    let names = |list: &[(String, Vec<u8>)]| -> Vec<String> {
        list.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&found), names(wanted), "{}", folder.display());
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

/// Kills of each scene; `SIGNORINI_KILLS` asks for more of them.
fn kills() -> usize {
    std::env::var("SIGNORINI_KILLS").map_or(34, |n| n.parse().expect("a number of kills"))
}

/// Kills a scene at random moments and goes on, each time to the same bits in all files.
fn goes_on_to_the_same_bits(name: &str, scene: &str, more: &[&str]) {
    let place = folder(name);
    let scene = write_file(&place, "scene.toml", scene);
    let whole = place.join("whole");
    let with = |rest: &[&'static str], out: &Path| -> Vec<String> {
        let first = ["run", text(&scene), "--threads", "1", "--checkpoint-every", "7"];
        [&first, more, rest, &[text(out)]].concat().iter().map(|s| s.to_string()).collect()
    };
    fn borrowed(list: &[String]) -> Vec<&str> {
        list.iter().map(String::as_str).collect()
    }
    let begun = Instant::now();
    let output = signorini(&borrowed(&with(&["--out"], &whole)));
    let long = begun.elapsed();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let wanted = results(&whole);
    for file in ["bodies.csv", "contacts.csv", "motors.csv", "record.bin", "run.json"] {
        let found = wanted.iter().find(|(name, _)| name == file);
        assert!(found.is_some_and(|(_, bytes)| bytes.len() > 1000), "{file} of {name}");
    }
    let (mut seed, mut under_way) = (7u64, 0);
    for i in 0..kills() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (seed >> 33) as f64 / (1u64 << 31) as f64;
        let out = place.join(format!("try{i}"));
        let arguments = with(&["--resume"], &out);
        under_way += usize::from(killed(&borrowed(&arguments), &out, long.mul_f64(share)));
        assert_same(&out, &wanted);
        fs::remove_dir_all(&out).unwrap();
    }
    println!("{name}: {} kills, {under_way} of them met a run under way, all the same", kills());
    // Kills are spread evenly over the time of a run: most of them must have met it at work.
    assert!(10 * under_way > 3 * kills(), "{under_way} of {} kills met a run", kills());
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_to_the_same_bits() {
    goes_on_to_the_same_bits("kill", BUSY, &[]);
}

#[test]
fn every_element_goes_on_to_the_same_bits() {
    goes_on_to_the_same_bits("elements", ELEMENTS, &[]);
}

#[test]
fn chosen_steps_go_on_to_the_same_bits() {
    goes_on_to_the_same_bits("accuracy", ELEMENTS, &["--accuracy", "0.1 mm"]);
}

#[test]
fn checkpoints_do_not_change_the_results() {
    let place = folder("plain");
    let scene = write_file(&place, "elements.toml", ELEMENTS);
    let (with, without) = (place.join("with"), place.join("without"));
    let arguments = ["run", text(&scene), "--threads", "1", "--out", text(&with)];
    let some = [&arguments[..], &["--checkpoint-every", "7"]].concat();
    assert!(signorini(&some).status.success());
    assert!(signorini(&["run", text(&scene), "--out", text(&without)]).status.success());
    assert_same(&with, &results(&without));
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
