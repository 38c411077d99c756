//! Real problems, whenever the folders `shared/corpus` and `shared/corpus-chrono` stand beside the
//! repository.
//!
//! The quick files always; `SIGNORINI_SLOW=1` for all of them.

mod collection;
mod independent_residual;

use serde_json::Value;
use signorini::problem::PreparedProblem;
use signorini::problem::files::Input;
use signorini_files::load::load;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Files above this size are slow.
const MAX_QUICK_FILE_BYTES: u64 = 300_000;

/// The files of both collections.
fn both() -> Vec<PathBuf> {
    collection::files("corpus").into_iter().chain(collection::files("corpus-chrono")).collect()
}

fn quick(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let slow = std::env::var_os("SIGNORINI_SLOW").is_some();
    files
        .into_iter()
        .filter(|file| slow || file.metadata().unwrap().len() < MAX_QUICK_FILE_BYTES)
        .collect()
}

fn solve(file: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_signorini"))
        .arg("solve")
        .arg(file)
        .args(options)
        .output()
        .unwrap()
}

fn temporary(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// No number of an answer is missing: JSON writes NaN and infinity as null. Only the upper end of a
/// certificate may be infinite: nothing is proved then.
fn complete(value: &Value, path: &str) {
    match value {
        Value::Null => {
            let known = path.ends_with("worst_row") || path.contains("/certificate/upper_");
            assert!(known, "{path} is not a number");
        }
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| complete(value, &format!("{path}/{key}")))
        }
        _ => {}
    }
}

fn is_rolling(file: &Path) -> bool {
    file.parent().unwrap().ends_with("rfc3d")
}

#[test]
fn every_file_loads_or_says_in_one_line_why_not() {
    let mut loaded = 0;
    for file in both() {
        match load(&file, None) {
            Ok(stored) => {
                assert!(!is_rolling(&file));
                assert!(stored.input.n() + stored.input.rows() > 0);
                loaded += 1;
            }
            Err(message) if is_rolling(&file) => {
                assert!(message.ends_with("unsupported law: rolling friction"), "{message}")
            }
            // A 3 × 2 matrix with two entries of q.
            Err(message) => {
                assert!(message.ends_with("found a matrix of 3 × 2, wanted 2 × 2"), "{message}");
                assert!(message.contains("Rectangular_mlcp.dat: token"), "{message}");
            }
        }
    }
    collection::ran("loading", "corpus and corpus-chrono", loaded);
}

/// What is printed is what anybody finds who takes the output file and the formulas.
fn judged_alike(file: &Path, law: &str) {
    let mut out = temporary(&format!("{}-{law}.hdf5", file.file_name().unwrap().to_string_lossy()));
    let solved = |out: &Path| {
        let out = out.to_str().unwrap();
        solve(
            file,
            &["--json", "--max-work", "60", "--deadline-ms", "20000", "--law", law, "--out", out],
        )
    };
    let mut output = solved(&out);
    let mut complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if complaint.contains("FCLib cannot express") {
        out.set_extension("json");
        output = solved(&out);
        complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{}: {:?} {complaint}",
        file.display(),
        output.status
    );
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    complete(&line, "");
    let n = line["problem"]["n"].as_u64().unwrap();
    let case = if out.extension().unwrap() == "json" {
        independent_residual::from_json(&out)
    } else {
        // A mass matrix that is not symmetric: the velocities were eliminated, and with them the
        // momentum equation.
        let eliminated = n > 0 && matches!(load(file, None).unwrap().input, Input::Reduced(_));
        independent_residual::from_hdf5(&out, law == "coulomb", eliminated)
    };
    let (verdict, printed) = (case.evaluate(), line["error"]["joule"].as_f64().unwrap());
    let tolerance = 1e-6 * printed.abs() + verdict.rounding;
    assert!(
        (verdict.joule - printed).abs() <= tolerance,
        "{} {law}: printed {printed}, found {}",
        file.display(),
        verdict.joule
    );
    std::fs::remove_file(out).unwrap();
}

#[test]
fn the_printed_joules_are_those_of_independent_code() {
    let files = quick(both());
    collection::ran("printed joules", "corpus and corpus-chrono", files.len());
    for file in files {
        if load(&file, None).is_ok() {
            for law in ["cone", "coulomb"] {
                judged_alike(&file, law);
            }
        }
    }
}

/// The stored references of the associated law are solutions.
#[test]
fn references_are_judged_as_solutions() {
    let files = collection::files("corpus-chrono");
    collection::ran("references", "corpus-chrono", files.len());
    for file in files {
        let stored = load(&file, None).unwrap();
        let Input::Problem(problem) = stored.input.associated() else {
            panic!("{} has velocities", file.display())
        };
        let reference = stored.solution.expect("a reference is stored");
        let error = PreparedProblem::of(&problem).unwrap().error(&problem, &reference);
        let local = (error.joule - error.momentum) / error.scale;
        // Rows alone: the reference's own natural residual is 8e-10 m/s at worst.
        assert!(local <= 1e-12, "{}: rows {local:e}", problem.name);
        // Impulses of 1e16 N s on masses of 1e2 kg: v and r are each the best of their kind, found
        // apart, and together they satisfy the dynamics to 5e-6 per row only, which is all that
        // double precision holds there. The residual has exactly that as a momentum defect.
        let apart = ["stack15_ratio10_mu0.5__late", "stack15_ratio10_mu0__first"]
            .contains(&problem.name.as_str());
        if apart {
            assert!(
                error.momentum > 0.0 && error.momentum_velocity < 1e-5,
                "{}: {error:?}",
                problem.name
            );
        } else {
            assert!(error.relative() <= 1e-12, "{}: {:e}", problem.name, error.relative());
        }
    }
}

#[test]
fn a_file_without_solution_has_answers_in_its_own_rows() {
    for file in quick(collection::files("corpus-chrono"))
        .into_iter()
        .filter(|f| f.to_string_lossy().contains("mu0_"))
    {
        let out = temporary(&format!("rows-{}", file.file_name().unwrap().to_string_lossy()));
        let output =
            solve(&file, &["--solver", "psor", "--max-work", "5", "--out", out.to_str().unwrap()]);
        assert!(output.status.code() == Some(0) || output.status.code() == Some(3), "{output:?}");
        let (before, after) =
            (hdf5_pure::File::open(&file).unwrap(), hdf5_pure::File::open(&out).unwrap());
        for path in [
            "fclib_global/M/x",
            "fclib_global/H/x",
            "fclib_global/H/p",
            "fclib_global/H/i",
            "fclib_global/vectors/w",
            "guesses/1/r",
        ] {
            let read = |f: &hdf5_pure::File| f.dataset(path).unwrap().read_f64().unwrap();
            assert_eq!(read(&before), read(&after), "{path}");
        }
        // Frictionless tangents: no reaction, and the velocity that v gives them.
        let read = |f: &hdf5_pure::File, path: &str| f.dataset(path).unwrap().read_f64().unwrap();
        let (r, u) = (read(&after, "solution/r"), read(&after, "solution/u"));
        assert_eq!(
            (r.len(), u.len()),
            (read(&before, "solution/r").len(), read(&before, "solution/u").len())
        );
        assert!(r.chunks(3).all(|r| r[1] == 0.0 && r[2] == 0.0));
        assert!(u.iter().any(|u| *u != 0.0));
        std::fs::remove_file(out).unwrap();
    }
}

/// Files that other programs wrote, with bytes replaced: an error in one line or a sound problem.
#[test]
fn broken_files_of_others_are_refused_or_sound() {
    for (name, stride) in [("brick_mu0__first.hdf5", 11), ("LMGC_GFC3D-i00501-4-00000.hdf5", 211)] {
        for file in both().into_iter().filter(|file| file.ends_with(name)) {
            let whole = std::fs::read(file).unwrap();
            for at in (0..whole.len()).step_by(stride) {
                for bad in [0x00, 0xff, whole[at] ^ 0x10] {
                    let mut broken = whole.clone();
                    broken[at] = bad;
                    match signorini_files::fclib::read_bytes(broken, "x") {
                        Ok(stored) => assert!(stored.input.check().is_ok()),
                        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
                    }
                }
                if let Err(error) = signorini_files::fclib::read_bytes(whole[..at].to_vec(), "x") {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
        }
    }
}
