//! FCLib problems in HDF5 files.
//!
//! ```text
//!   global:  M v = H r + G l + f     u = Hᵀ v + w     Gᵀ v + b = 0
//!   local:   u = W r + V l + q       0 = Vᵀ r + R l + s
//! ```
//!
//! Bilateral rows become `Equality` blocks before the contacts. A contact with mu = 0 keeps its normal
//! row alone, as `Unilateral`: its tangent rows carry no reaction.

use hdf5_pure::File;
use signorini::math::sparse::Csr;
use signorini::problem::files::{Input, Stored};
use signorini::problem::{Law, Problem, Reduced, Rows, Solution};
use std::path::Path;

/// Reads a problem.
pub fn read(path: &Path) -> Result<Stored, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let roots = file.root().groups().map_err(|e| e.to_string())?;
    match roots.iter().find(|r| r.starts_with("fclib_")).map(String::as_str) {
        Some("fclib_global") => global(&file, name),
        Some("fclib_local") => local(&file, name),
        Some(other) => Err(format!("{other}: unsupported law")),
        None => Err("no group fclib_local or fclib_global".into()),
    }
}

/// The contacts of a file: which of their rows are kept, and the law of each.
struct Contacts {
    laws: Vec<Law>,
    /// Rows of the file that are kept, in order.
    kept: Vec<usize>,
    /// Rows of the file.
    rows: usize,
}

impl Contacts {
    fn new(mu: &[f64], dimension: usize, law: fn(f64, u8) -> Law) -> Contacts {
        let mut out = Contacts { laws: Vec::new(), kept: Vec::new(), rows: mu.len() * dimension };
        for (k, &mu) in mu.iter().enumerate() {
            if mu == 0.0 {
                out.laws.push(Law::Unilateral);
                out.kept.push(k * dimension);
            } else {
                out.laws.push(law(mu, dimension as u8));
                out.kept.extend(k * dimension..(k + 1) * dimension);
            }
        }
        out
    }

    fn pick(&self, x: &[f64]) -> Vec<f64> {
        self.kept.iter().map(|&i| x[i]).collect()
    }
}

fn global(file: &File, name: String) -> Result<Stored, String> {
    let root = "fclib_global";
    let dimension = scalar(file, &format!("{root}/spacedim"))? as usize;
    let mass = matrix(file, &format!("{root}/M"))?;
    let h = matrix(file, &format!("{root}/H"))?;
    let n = mass.rows;
    let contacts = Contacts::new(&vector(file, &format!("{root}/vectors/mu"))?, dimension, |mu, rows| Law::Coulomb { mu, rows });
    if h.cols != contacts.rows || h.rows != n {
        return Err(format!("{root}/H is {} × {}, wanted {n} × {}", h.rows, h.cols, contacts.rows));
    }
    let bilateral = file.group(&format!("{root}/G")).is_ok();
    let (g, b) = if bilateral {
        (matrix(file, &format!("{root}/G"))?.transposed(), vector(file, &format!("{root}/vectors/b"))?)
    } else {
        (Csr::empty(0, n), Vec::new())
    };
    let ht = h.transposed();
    let mut laws = vec![Law::Equality; g.rows];
    laws.extend(&contacts.laws);
    let mut all = Csr::empty(g.rows + contacts.kept.len(), n);
    for (at, (matrix, i)) in (0..g.rows).map(|i| (&g, i)).chain(contacts.kept.iter().map(|&i| (&ht, i))).enumerate() {
        let (columns, values) = matrix.row(i);
        all.columns.extend_from_slice(columns);
        all.values.extend_from_slice(values);
        all.starts[at + 1] = all.columns.len();
    }
    let mut w = b;
    w.extend(contacts.pick(&vector(file, &format!("{root}/vectors/w"))?));
    let problem = Problem {
        name,
        k: vector(file, &format!("{root}/vectors/f"))?,
        J: Rows::from_csr(&all, &laws),
        E: vec![0.0; all.rows],
        w,
        laws,
        names: Vec::new(),
        H: mass,
    };
    let point = |group: &str| {
        let v = vector(file, &format!("{group}/v")).ok()?;
        let mut r = if g.rows > 0 { vector(file, &format!("{group}/l")).ok()? } else { Vec::new() };
        let contact = vector(file, &format!("{group}/r")).ok()?;
        r.extend((contact.len() == contacts.rows).then(|| contacts.pick(&contact))?);
        (v.len() == n && r.len() == problem.rows()).then_some(Solution { v, r })
    };
    let (solution, guess) = (point("solution"), point("guesses/1"));
    Ok(Stored { input: Input::Problem(problem), solution, guess })
}

fn local(file: &File, name: String) -> Result<Stored, String> {
    let root = "fclib_local";
    let dimension = scalar(file, &format!("{root}/spacedim"))? as usize;
    let w = matrix(file, &format!("{root}/W"))?;
    let mu = vector(file, &format!("{root}/vectors/mu"))?;
    let laws = mu.iter().map(|&mu| Law::Coulomb { mu, rows: dimension as u8 }).collect();
    let q = vector(file, &format!("{root}/vectors/q"))?;
    let reduced = Reduced::new(name, w, q, laws).map_err(|e| e.to_string())?;
    Ok(Stored { input: Input::Reduced(reduced), solution: None, guess: None })
}

fn scalar(file: &File, path: &str) -> Result<i64, String> {
    let data = file.dataset(path).and_then(|d| d.read::<i32>()).map_err(|e| format!("{path}: {e}"))?;
    data.first().map(|&x| i64::from(x)).ok_or(format!("{path} is empty"))
}

fn vector(file: &File, path: &str) -> Result<Vec<f64>, String> {
    file.dataset(path).and_then(|d| d.read::<f64>()).map_err(|e| format!("{path}: {e}"))
}

fn integers(file: &File, path: &str) -> Result<Vec<i32>, String> {
    file.dataset(path).and_then(|d| d.read::<i32>()).map_err(|e| format!("{path}: {e}"))
}

fn matrix(file: &File, path: &str) -> Result<Csr, String> {
    let (m, n, nz) =
        (scalar(file, &format!("{path}/m"))? as usize, scalar(file, &format!("{path}/n"))? as usize, scalar(file, &format!("{path}/nz"))?);
    let (p, i, x) = (integers(file, &format!("{path}/p"))?, integers(file, &format!("{path}/i"))?, vector(file, &format!("{path}/x"))?);
    let mut triplets = Vec::with_capacity(x.len());
    match nz {
        -1 | -2 => {
            for outer in 0..p.len().saturating_sub(1) {
                for at in p[outer] as usize..p[outer + 1] as usize {
                    let (row, column) = if nz == -1 { (i[at] as u32, outer as u32) } else { (outer as u32, i[at] as u32) };
                    triplets.push((row, column, x[at]));
                }
            }
        }
        _ => triplets.extend((0..nz as usize).map(|at| (i[at] as u32, p[at] as u32, x[at]))),
    }
    Ok(Csr::from_triplets(m, n, &triplets))
}
