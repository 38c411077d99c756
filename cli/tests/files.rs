//! FCLib files: what is written reads the same; broken ones are refused, at whatever byte they are
//! broken.

use signorini::math::sparse::Csr;
use signorini::problem::files::{Input, Stored, reduced};
use signorini::problem::{Law, Problem, Rows, Solution};
use signorini_files::fclib;
use signorini_files::load::load;
use std::path::{Path, PathBuf};

/// Two bodies, a joint between them, a contact with friction and one without.
fn global() -> Input {
    let laws = vec![
        Law::Equality,
        Law::Coulomb { mu: 1.0 / 3.0, rows: 2 },
        Law::Coulomb { mu: 0.0, rows: 2 },
    ];
    let rows = Csr::from_dense(
        5,
        3,
        &[1.0, -1.0, 0.0, 0.1, 0.0, 2.0, 0.0, 0.0, 0.7, 0.0, 3.0, 0.0, 0.0, -0.3, 1.0],
    );
    Input::Problem(Problem {
        name: "x".into(),
        H: Csr::from_dense(3, 3, &[2.0, 0.1, 0.0, 0.1, 3.0, 0.0, 0.0, 0.0, 0.7]),
        k: vec![0.1, -0.2, 1.0 / 7.0],
        J: Rows::from_csr(&rows, &laws),
        E: vec![0.0; 5],
        w: vec![0.0, -1.0, 0.0, 0.5, 0.25],
        laws,
        names: vec!["bilateral 0".into(), "contact 0".into(), "contact 1".into()],
    })
}

/// The same in local form, with the bilateral row in V, R, s.
fn local() -> Input {
    let laws = vec![Law::Equality, Law::Coulomb { mu: 0.3, rows: 3 }];
    let w = Csr::from_dense(
        4,
        4,
        &[2.0, 0.5, 0.0, 0.1, 0.5, 1.0, 0.2, 0.0, 0.0, 0.1, 1.0, 0.0, 0.1, 0.0, 0.0, 3.0],
    );
    let names = vec!["bilateral 0".into(), "contact 0".into()];
    Input::Reduced(reduced("x".into(), w, vec![0.1, -1.0, 0.2, 0.3], laws, names))
}

fn stored(given: Input) -> (Stored, Solution) {
    let stored = Stored::new(given).unwrap();
    let mut point = stored.input.zero();
    point
        .r
        .iter_mut()
        .chain(&mut point.v)
        .enumerate()
        .for_each(|(i, x)| *x = 1.0 / (i as f64 + 3.0));
    (stored, point)
}

#[test]
fn what_is_written_reads_the_same_to_the_bit() {
    for given in [global(), local()] {
        let (stored, point) = stored(given);
        let again = fclib::read_bytes(fclib::bytes(&stored, &point).unwrap(), "x").unwrap();
        assert_eq!(
            (again.given, again.input, again.kept),
            (stored.given, stored.input, stored.kept)
        );
        assert_eq!(again.solution, Some(point));
    }
}

#[test]
fn what_fclib_has_no_place_for_is_said() {
    let told = |given: Input| {
        let (stored, point) = stored(given);
        fclib::bytes(&stored, &point).unwrap_err().to_string()
    };
    let interval = vec![Law::Interval { lo: -1.0, hi: 1.0 }];
    assert!(
        told(Input::Reduced(reduced(
            "x".into(),
            Csr::diagonal(&[1.0]),
            vec![1.0],
            interval,
            Vec::new()
        )))
        .contains("an interval law")
    );
    let lopsided = Csr::from_dense(2, 2, &[1.0, 0.1, 0.2, 1.0]);
    let laws = vec![Law::Equality, Law::Unilateral];
    assert!(
        told(Input::Reduced(reduced("x".into(), lopsided, vec![1.0; 2], laws, Vec::new())))
            .contains("not coupled symmetrically")
    );
    let Input::Problem(mut soft) = global() else { unreachable!() };
    soft.E[0] = 0.1;
    assert!(told(Input::Problem(soft)).contains("compliance"));
}

/// A mass matrix that is not symmetric: W = J M⁻¹ Jᵀ as given, v found again from r.
#[test]
fn a_lopsided_mass_is_eliminated_as_given() {
    let Input::Problem(mut p) = global() else { unreachable!() };
    p.H = Csr::from_dense(3, 3, &[2.0, 0.4, 0.0, 0.1, 3.0, 0.0, 0.0, 0.0, 0.7]);
    let (stored, point) = stored(Input::Problem(p.clone()));
    let Input::Reduced(reduced) = &stored.input else { panic!("not a problem with velocities") };
    // Rows 0 (joint) and 1 (normal of the first contact): M⁻¹ = [3 −0.4; −0.1 2]/5.96 on the first
    // two velocities.
    let det = 2.0 * 3.0 - 0.4 * 0.1;
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
    close(reduced.W.get(0, 1), 0.1 * (3.0 + 0.1) / det);
    close(reduced.W.get(1, 0), 0.1 * (3.0 + 0.4) / det);
    let answer = stored.answer(&point).unwrap();
    let (mut left, mut right) = (vec![0.0; 3], p.k.clone());
    p.H.mul(&answer.v, &mut left);
    p.J.add_transposed(&answer.r, &mut right);
    left.iter().zip(&right).for_each(|(a, b)| close(*a, *b));
    let again = fclib::read_bytes(fclib::bytes(&stored, &point).unwrap(), "x").unwrap();
    assert_eq!((again.given, again.input), (stored.given, stored.input));
}

/// Virtual memory that this process ever had, in kB (0 where the system does not say).
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmPeak")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|x| x.parse().ok()).unwrap_or(0)
}

/// Cut anywhere, or with any byte replaced: an error in one line or a sound problem; no panic, no
/// allocation out of proportion.
#[test]
fn broken_bytes_are_refused_or_sound() {
    let before = peak_memory();
    for given in [global(), local()] {
        let (stored, point) = stored(given);
        let whole = fclib::bytes(&stored, &point).unwrap();
        let attempt = |bytes: Vec<u8>| match fclib::read_bytes(bytes, "x") {
            Ok(stored) => stored.input.check().unwrap(),
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        };
        (0..whole.len()).for_each(|cut| attempt(whole[..cut].to_vec()));
        for at in 0..whole.len() {
            for bad in [0x00, 0x7f, 0xff, whole[at] ^ 0x01, whole[at] ^ 0x80] {
                let mut broken = whole.clone();
                broken[at] = bad;
                attempt(broken);
            }
        }
    }
    // The files have a few kB; tests run in threads whose arenas reserve some hundred MB of
    // addresses.
    assert!(peak_memory() - before < 2_000_000, "{} kB", peak_memory() - before);
}

#[test]
fn complaints_name_dataset_found_and_wanted() {
    let told = |path: &str, change: fn(&mut Problem)| {
        let Input::Problem(mut p) = global() else { unreachable!() };
        change(&mut p);
        let mut stored = Stored::new(global()).unwrap();
        stored.given = Input::Problem(p);
        let error = fclib::bytes(&stored, &stored.input.zero())
            .and_then(|b| fclib::read_bytes(b, "x"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(path), "{error}");
    };
    told("fclib_global/vectors/f[1]: found NaN, wanted a finite number", |p| p.k[1] = f64::NAN);
    told("fclib_global/vectors/mu[0]: found inf", |p| {
        p.laws[1] = Law::Coulomb { mu: f64::INFINITY, rows: 2 }
    });
    told("fclib_global/M: found a matrix of 3 × 3, wanted 2 × 2", |p| p.k.truncate(2));
    told("law of block 1 (contact 0): mu = -1", |p| p.laws[1] = Law::Coulomb { mu: -1.0, rows: 2 });
    told("H is not positive definite", |p| p.H = Csr::diagonal(&[1.0, -1.0, 1.0]));
}

fn temporary(folder: &str, name: &str, text: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_format_is_found_by_contents_and_folder() {
    let lcp = b"1 0 1 1 1 1 2 -1";
    assert_eq!(
        load(&temporary("lcp", "a.dat", lcp), None).unwrap().input.laws(),
        [Law::Unilateral]
    );
    // Without a folder that names the kind, the words do.
    assert_eq!(
        load(&temporary("any", "a.dat", lcp), None).unwrap().input.laws(),
        [Law::Unilateral]
    );
    let told = load(&temporary("relay", "a.dat", lcp), None).unwrap_err();
    assert!(
        told.contains("a.dat: token 8 (line 1): found 0 more bytes, wanted 2 bounds"),
        "{told}"
    );
    let told = load(&temporary("any", "b.hdf5", lcp), None).unwrap_err();
    assert!(told.contains("HDF5 signature"), "{told}");
    let told = load(&temporary("any", "c.json", b"[1]"), None).unwrap_err();
    assert!(told.contains("a JSON object"), "{told}");
    let told = load(Path::new("no such file"), None).unwrap_err();
    assert!(told.starts_with("no such file: "), "{told}");
    // An HDF5 file is one whatever its name.
    let (stored, point) = stored(global());
    let path = temporary("any", "d.dat", &fclib::bytes(&stored, &point).unwrap());
    assert_eq!(load(&path, None).unwrap().input.n(), 3);
}
