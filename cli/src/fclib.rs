//! FCLib problems in HDF5 files.
//!
//! ```text
//!   global:  M v = H r + G l + f     u = Hᵀ v + w     Gᵀ v + b = 0
//!   local:   u = W r + V l + q       0 = Vᵀ r + R l + s
//! ```
//!
//! Bilateral rows become `Equality` blocks before the contacts. Sizes come from the vectors, which
//! the file really holds; a matrix that claims others is refused before anything is allocated for it.

use hdf5_pure::File;
use signorini::math::sparse::Csr;
use signorini::problem::files::{FileError, Input, Stored, reduced};
use signorini::problem::{Law, Problem, Rows, Solution};
use std::path::Path;

/// Reads a problem.
pub fn read(path: &Path) -> Result<Stored, FileError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let bytes = std::fs::read(path).map_err(|e| FileError::unexpected("the file", e, "one that can be read"))?;
    read_bytes(bytes, &name)
}

/// Reads a problem out of the bytes of a file.
pub fn read_bytes(bytes: Vec<u8>, name: &str) -> Result<Stored, FileError> {
    let source = Source { limit: bytes.len() as u64, file: File::from_bytes(bytes).map_err(|e| broken("the file", &e))? };
    let roots = source.file.root().groups().map_err(|e| broken("/", &e))?;
    match roots.iter().find(|r| r.starts_with("fclib_")).map(String::as_str) {
        Some("fclib_global") => global(&source, name),
        Some("fclib_local") => local(&source, name),
        Some(other) => Err(FileError::UnsupportedLaw(format!("{other} holds rolling friction"))),
        None => Err(FileError::unexpected("/", "no group of a problem", "fclib_local or fclib_global")),
    }
}

fn broken(place: &str, error: &dyn std::fmt::Display) -> FileError {
    FileError::unexpected(place, format!("'{}'", error.to_string().replace('\n', " ")), "HDF5 data")
}

/// An open file; datasets are read only if they can be as large as they claim.
struct Source {
    file: File,
    limit: u64,
}

/// Deflate never shrinks data further than this.
const COMPRESSION: u64 = 1032;

impl Source {
    fn dataset(&self, path: &str) -> Result<hdf5_pure::Dataset, FileError> {
        let data = self.file.dataset(path).map_err(|e| broken(path, &e))?;
        let shape = data.shape().map_err(|e| broken(path, &e))?;
        let size = data.element_size().map_err(|e| broken(path, &e))?;
        let bytes = shape.iter().try_fold(size, |product, &extent| product.checked_mul(extent));
        let limit = if data.is_chunked() { self.limit.saturating_mul(COMPRESSION) } else { self.limit };
        if bytes.is_none_or(|bytes| bytes > limit) {
            return Err(FileError::unexpected(path, format!("a claim of {shape:?} numbers"), format!("no more than {limit} bytes")));
        }
        Ok(data)
    }

    fn has(&self, path: &str) -> bool {
        self.file.dataset(path).is_ok() || self.file.group(path).is_ok()
    }

    fn numbers(&self, path: &str) -> Result<Vec<f64>, FileError> {
        let x = self.dataset(path)?.read::<f64>().map_err(|e| broken(path, &e))?;
        match x.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(FileError::unexpected(format!("{path}[{at}]"), x[at], "a finite number")),
            None => Ok(x),
        }
    }

    fn vector(&self, path: &str, size: usize) -> Result<Vec<f64>, FileError> {
        let x = self.numbers(path)?;
        if x.len() == size { Ok(x) } else { Err(FileError::unexpected(path, format!("{} numbers", x.len()), size)) }
    }

    fn integers(&self, path: &str) -> Result<Vec<i64>, FileError> {
        self.dataset(path)?.read::<i64>().map_err(|e| broken(path, &e))
    }

    fn integer(&self, path: &str) -> Result<i64, FileError> {
        let x = self.integers(path)?;
        if let [x] = x[..] { Ok(x) } else { Err(FileError::unexpected(path, format!("{} numbers", x.len()), 1)) }
    }

    fn dimension(&self, root: &str) -> Result<u8, FileError> {
        match self.integer(&format!("{root}/spacedim"))? {
            d @ 2..=3 => Ok(d as u8),
            other => Err(FileError::unexpected(format!("{root}/spacedim"), other, "2 or 3")),
        }
    }

    /// A matrix of this size: compressed columns (nz = −1), compressed rows (−2) or triplets.
    fn matrix(&self, path: &str, rows: usize, cols: usize) -> Result<Csr, FileError> {
        let size = (self.integer(&format!("{path}/m"))?, self.integer(&format!("{path}/n"))?);
        if size != (rows as i64, cols as i64) {
            return Err(FileError::unexpected(path, format!("a matrix of {} × {}", size.0, size.1), format!("{rows} × {cols}")));
        }
        let nz = self.integer(&format!("{path}/nz"))?;
        let (p, i) = (self.integers(&format!("{path}/p"))?, self.integers(&format!("{path}/i"))?);
        let x = self.numbers(&format!("{path}/x"))?;
        let index = |name: &str, list: &[i64], at: usize, limit: usize| match list.get(at) {
            Some(&i) if i >= 0 && (i as usize) < limit => Ok(i as u32),
            Some(i) => Err(FileError::unexpected(format!("{path}/{name}[{at}]"), i, format!("0 ≤ index < {limit}"))),
            None => Err(FileError::unexpected(format!("{path}/{name}"), format!("{} numbers", list.len()), format!("more than {at}"))),
        };
        let mut triplets = Vec::new();
        if nz >= 0 {
            if nz as u64 > x.len() as u64 {
                return Err(FileError::unexpected(format!("{path}/nz"), nz, format!("no more than the {} entries of x", x.len())));
            }
            for (at, &x) in x.iter().enumerate().take(nz as usize) {
                triplets.push((index("i", &i, at, rows)?, index("p", &p, at, cols)?, x));
            }
        } else {
            let (outer, inner) = match nz {
                -1 => (cols, rows),
                -2 => (rows, cols),
                _ => return Err(FileError::unexpected(format!("{path}/nz"), nz, "-1 (columns), -2 (rows) or a number of triplets")),
            };
            if p.len() != outer + 1 || p[0] != 0 || p.windows(2).any(|w| w[0] > w[1]) || p[outer] as u64 > x.len() as u64 {
                let wanted = format!("{} that ascend from 0 to at most {}", outer + 1, x.len());
                return Err(FileError::unexpected(format!("{path}/p"), format!("{} pointers", p.len()), wanted));
            }
            for j in 0..outer {
                for at in p[j] as usize..p[j + 1] as usize {
                    let i = index("i", &i, at, inner)?;
                    triplets.push(if nz == -1 { (i, j as u32, x[at]) } else { (j as u32, i, x[at]) });
                }
            }
        }
        triplets.retain(|(.., x)| *x != 0.0);
        Ok(Csr::from_triplets(rows, cols, &triplets))
    }

    /// A point in the file's own rows: bilateral ones first.
    fn point(&self, group: &str, stored: &Stored, bilateral: usize) -> Option<Solution> {
        let v = self.numbers(&format!("{group}/v")).unwrap_or_default();
        let mut r = if bilateral > 0 { self.numbers(&format!("{group}/l")).ok()? } else { Vec::new() };
        r.extend(self.numbers(&format!("{group}/r")).ok()?);
        stored.point(v, &r)
    }

    fn finish(&self, given: Input, bilateral: usize) -> Result<Stored, FileError> {
        let mut stored = Stored::new(given)?;
        stored.solution = self.point("solution", &stored, bilateral);
        stored.guess = self.point("guesses/1", &stored, bilateral);
        Ok(stored)
    }
}

/// Laws and names of the blocks: bilateral rows, then contacts.
fn blocks(bilateral: usize, mu: &[f64], rows: u8) -> (Vec<Law>, Vec<String>) {
    let mut laws = vec![Law::Equality; bilateral];
    laws.extend(mu.iter().map(|&mu| Law::Coulomb { mu, rows }));
    let mut names = Vec::new();
    if bilateral > 0 {
        names.extend((0..bilateral).map(|i| format!("bilateral {i}")));
        names.extend((0..mu.len()).map(|i| format!("contact {i}")));
    }
    (laws, names)
}

/// The rows of `a`, then those of `b`.
fn stack(a: Csr, b: &Csr) -> Csr {
    let mut out = a;
    let entries = out.nonzeros();
    out.rows += b.rows;
    out.starts.extend(b.starts[1..].iter().map(|s| s + entries));
    out.columns.extend_from_slice(&b.columns);
    out.values.extend_from_slice(&b.values);
    out
}

fn global(source: &Source, name: &str) -> Result<Stored, FileError> {
    let at = |path: &str| format!("fclib_global/{path}");
    let dimension = source.dimension("fclib_global")?;
    let k = source.numbers(&at("vectors/f"))?;
    let mu = source.numbers(&at("vectors/mu"))?;
    let (n, contacts) = (k.len(), mu.len() * dimension as usize);
    let mass = source.matrix(&at("M"), n, n)?;
    let mut rows = Csr::empty(0, n);
    let mut w = Vec::new();
    if source.has(&at("G")) {
        w = source.numbers(&at("vectors/b"))?;
        rows = source.matrix(&at("G"), n, w.len())?.transposed();
    }
    let bilateral = w.len();
    rows = stack(rows, &source.matrix(&at("H"), n, contacts)?.transposed());
    w.extend(source.vector(&at("vectors/w"), contacts)?);
    let (laws, names) = blocks(bilateral, &mu, dimension);
    let given = Problem { name: name.into(), H: mass, k, J: Rows::from_csr(&rows, &laws), E: vec![0.0; w.len()], w, laws, names };
    source.finish(Input::Problem(given), bilateral)
}

fn local(source: &Source, name: &str) -> Result<Stored, FileError> {
    let at = |path: &str| format!("fclib_local/{path}");
    let dimension = source.dimension("fclib_local")?;
    let mu = source.numbers(&at("vectors/mu"))?;
    let contacts = mu.len() * dimension as usize;
    let contact = source.vector(&at("vectors/q"), contacts)?;
    let mut w = source.matrix(&at("W"), contacts, contacts)?;
    let mut q = Vec::new();
    if source.has(&at("V")) {
        q = source.numbers(&at("vectors/s"))?;
        let v = source.matrix(&at("V"), contacts, q.len())?;
        let r = if source.has(&at("R")) { source.matrix(&at("R"), q.len(), q.len())? } else { Csr::empty(q.len(), q.len()) };
        // [R Vᵀ; V W], stacked by columns through its transposed.
        let left = stack(r, &v).transposed();
        let right = stack(v.transposed(), &w).transposed();
        w = stack(left, &right).transposed();
    }
    let bilateral = q.len();
    q.extend(contact);
    let (laws, names) = blocks(bilateral, &mu, dimension);
    source.finish(Input::Reduced(reduced(name.into(), w, q, laws, names)), bilateral)
}

/// Writes a problem with its solution.
pub fn write(_out: &Path, _source: &Path, _stored: &Stored, _solution: &Solution) -> Result<(), FileError> {
    Err(FileError::Inexpressible { format: "FCLib", what: "anything yet".into() })
}
