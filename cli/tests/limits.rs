//! What the system withholds: readers that stop reading, full disks, folders that may not be
//! written, limits of memory, files, time and threads. One line says what is wrong, nothing panics,
//! and what was written before goes on.
#![cfg(unix)]

mod common;

use common::{BUSY, folder, signorini, stderr, summary, text, write_file};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_signorini");

/// A line of bash; `$0` is the program.
fn bash(line: &str) -> Output {
    Command::new("bash").args(["-c", line, PROGRAM]).output().expect("bash is there")
}

/// Exit code 2 and one line with these words.
fn refused_in_one_line(output: &Output, words: &str) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(words) && said.trim_end().lines().count() == 1, "{said}");
}

/// Whether a run without limits says of this scene what the folder says.
fn same_as_whole(out: &Path, scene: &Path, place: &Path) {
    let whole = place.join("whole");
    let output = signorini(&["run", text(scene), "--out", text(&whole), "--threads", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(summary(out), summary(&whole));
    for name in ["bodies.csv", "contacts.csv", "motors.csv"] {
        assert!(fs::read(out.join(name)).unwrap() == fs::read(whole.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn a_reader_that_stops_reading_ends_the_program_without_a_word() {
    for command in ["schema", "check wall --json", "man", "completions bash", "sweep --help"] {
        let line = format!("$0 {command} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}");
        let output = bash(&line);
        assert_eq!(stderr(&output), "", "{command}");
        let code = String::from_utf8_lossy(&output.stdout).trim().to_string();
        // A short answer may be in the pipe before the reader goes.
        assert!(["0", "141"].contains(&code.as_str()), "{command}: {code}");
    }
    // Nobody reads from the beginning: the pipe breaks for certain.
    let output = bash("$0 schema | true; echo ${PIPESTATUS[0]}; $0 schema 2>&1 >&- | cat");
    assert_eq!(stderr(&output), "");
    // Nobody reads standard error either.
    let place = folder("pipe");
    let scene = write_file(&place, "scene.toml", BUSY);
    let out = place.join("out");
    let line = format!("$0 run {} --out {} 2>&1 | true", text(&scene), text(&out));
    assert_eq!(stderr(&bash(&line)), "");
    let output = signorini(&["run", text(&scene), "--resume", text(&out), "--threads", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    same_as_whole(&out, &scene, &place);
}

#[test]
fn a_full_disk_behind_the_output_is_told_in_one_line() {
    if !Path::new("/dev/full").exists() {
        return println!("skipped: there is no /dev/full");
    }
    for command in ["schema", "check wall", "check wall --json", "run incline --t-end '4 ms'"] {
        let output = bash(&format!("$0 {command} >/dev/full"));
        refused_in_one_line(&output, "cannot write to stdout: No space left on device");
    }
    // The results are complete all the same.
    let place = folder("stdout");
    let scene = write_file(&place, "scene.toml", BUSY);
    let out = place.join("out");
    let output = bash(&format!("$0 run {} --out {} >/dev/full", text(&scene), text(&out)));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    same_as_whole(&out, &scene, &place);
    // Nothing can be said: the exit code alone.
    let output = bash("$0 check /nonsense.toml >/dev/full 2>/dev/full");
    assert_eq!(output.status.code(), Some(2));
    for target in ["glb", "html"] {
        let result = place.join(format!("full.{target}"));
        std::os::unix::fs::symlink("/dev/full", &result).unwrap();
        let output = signorini(&["export", text(&out), "-o", text(&result)]);
        refused_in_one_line(&output, "No space left on device");
    }
    let output = signorini(&["picture", text(&out), "-o", text(&place.join("none/a.png"))]);
    refused_in_one_line(&output, "cannot write");
}

/// The program as a user who may not do everything, as root may.
fn ordinary(arguments: &str) -> Option<Output> {
    let root = fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
    let before = if root { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" };
    let can = bash(&format!("{before} $0 --version"));
    can.status.success().then(|| bash(&format!("{before} $0 {arguments}")))
}

#[test]
fn a_folder_that_may_not_be_written_is_named() {
    let place = folder("read_only");
    let scene = write_file(&place, "scene.toml", BUSY);
    let out = place.join("out");
    assert!(signorini(&["run", text(&scene), "--out", text(&out)]).status.success());
    let before = fs::read(out.join("bodies.csv")).unwrap();
    for path in [&out, &place] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
    }
    for results in [&out, &place.join("new")] {
        let run = format!("run {} --out {}", text(&scene), text(results));
        match ordinary(&run) {
            Some(output) => refused_in_one_line(&output, "cannot write into"),
            None => println!("skipped: this user may write everywhere"),
        }
    }
    if let Some(output) =
        ordinary(&format!("export {} -o {}", text(&out), text(&place.join("a.glb"))))
    {
        refused_in_one_line(&output, "cannot write");
    }
    for path in [&out, &place] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert!(fs::read(out.join("bodies.csv")).unwrap() == before, "what was there stays");
    // A file system that nobody writes to.
    if Path::new("/sys/kernel").exists() {
        let output = signorini(&["run", text(&scene), "--out", "/sys/kernel/signorini"]);
        refused_in_one_line(&output, "cannot write into");
    }
}

#[test]
fn a_run_that_the_system_ends_goes_on_to_the_same_files() {
    let place = folder("time");
    let scene = write_file(&place, "scene.toml", BUSY);
    let out = place.join("out");
    let run =
        format!("run {} --threads 1 --checkpoint-every 7 --resume {}", text(&scene), text(&out));
    // Seconds of the processor: the limit ends the run, or it is faster than that.
    let output = bash(&format!("ulimit -t 1; exec $0 {run} --t-end '1000 s'"));
    let ended = output.status.signal().is_some() || output.status.code() == Some(137);
    assert!(ended, "{:?} {}", output.status, stderr(&output));
    assert!(out.join("checkpoint.json").exists());
    fs::remove_dir_all(&out).unwrap();
    // Files may not grow beyond 8 kB: the run says so, and goes on without the limit.
    let output = bash(&format!("trap '' XFSZ; ulimit -f 8; exec $0 {run}"));
    refused_in_one_line(&output, "cannot write into");
    assert!(!out.join("run.json").exists());
    let output = bash(&format!("exec $0 {run}"));
    assert!(output.status.success(), "{}", stderr(&output));
    same_as_whole(&out, &scene, &place);
}

#[test]
fn few_files_little_memory_and_no_threads_are_said_or_enough() {
    let place = folder("ulimits");
    let scene = write_file(&place, "scene.toml", BUSY);
    let whole = place.join("whole");
    assert!(
        signorini(&["run", text(&scene), "--out", text(&whole), "--threads", "1"]).status.success()
    );
    for (name, limit) in
        [("files", "-n 5"), ("fewer", "-n 3"), ("stack", "-s 512"), ("memory", "-v 400000")]
    {
        let out = place.join(name);
        let output =
            bash(&format!("ulimit {limit}; exec $0 run {} --out {}", text(&scene), text(&out)));
        let said = stderr(&output);
        assert!(!said.contains("panicked"), "{name}: {said}");
        match output.status.code() {
            Some(0) => assert_eq!(summary(&out), summary(&whole), "{name}"),
            // The summary alone says that a run is complete.
            _ => {
                assert!(!out.join("run.json").exists() && !said.is_empty(), "{name}: {said}");
                println!("{name}: {:?}: {}", output.status, said.trim_end());
            }
        }
    }
    // Too little memory for a scene: the system's word, no half results.
    let large = "[[repeat]]\ncount = [50, 50, 30]\nstep = [1, 1, 1]\n[[repeat.body]]\n\
        name = \"b{i}\"\nmass = 1\nshape = { sphere = 0.1 }\n";
    let large = write_file(&place, "large.toml", large);
    let output = bash(&format!("ulimit -v 100000; exec $0 check {}", text(&large)));
    assert!(!output.status.success() && stderr(&output).contains("memory"), "{}", stderr(&output));
    // No more threads: the run takes those that it has.
    if let Some(output) = ordinary("--version") {
        assert!(output.status.success());
        let shared = write_file(&std::env::temp_dir(), "signorini-threads.toml", BUSY);
        let output = ordinary(&format!("run {} --threads 4 --t-end '20 ms'", text(&shared)));
        assert!(output.is_some_and(|o| o.status.success()));
    }
}

#[test]
fn a_hundred_thousand_bodies_are_checked_within_five_seconds() {
    let place = folder("check");
    let words = "[[repeat]]\ncount = [50, 50, 40]\nstep = [0.0999, 0.0999, 0.0999]\n\
        [[repeat.body]]\nname = \"b{i}\"\ndensity = 1000\nshape = { sphere = 0.05 }\n\
        position = [0, 0, 0.05]\n";
    let file = write_file(&place, "many.toml", words);
    // Seconds of the processor: other programs may share the machine.
    let output = bash(&format!("TIMEFORMAT='%U'; time $0 check {}", text(&file)));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.lines().count() < 15 && said.contains("[overlap] 293500 in all"), "{said}");
    let seconds: f64 = stderr(&output).trim().parse().unwrap();
    assert!(seconds <= 5.0, "{seconds} s");
}
