//! FCLib problems in HDF5 files.
//!
//! ```text
//!   global:  M v = H r + G l + f     u = Hᵀ v + w     Gᵀ v + b = 0
//!   local:   u = W r + V l + q       0 = Vᵀ r + R l + s
//! ```
//!
//! Bilateral rows become `Equality` blocks before the contacts. Sizes come from the vectors, which
//! the file really holds; a matrix that claims others is refused before anything is allocated for
//! it.

use hdf5_pure::{File, FileBuilder, GroupBuilder};
use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::files::{Answer, FileError, Input, Stored, reduced};
use signorini_solve::problem::{Law, Problem, Rows, Solution};
use signorini_solve::whole::{make_whole, write_whole};
use std::io;
use std::path::Path;

/// Reads a problem.
pub fn read(path: &Path) -> Result<Stored, FileError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let bytes = crate::bounded::bytes(path, crate::bounded::PROBLEM)
        .map_err(|e| FileError::unexpected("the file", e, "one that can be read"))?;
    read_bytes(bytes, &name)
}

/// Reads a problem out of the bytes of a file.
pub fn read_bytes(bytes: Vec<u8>, name: &str) -> Result<Stored, FileError> {
    let source = Source {
        limit: bytes.len() as u64,
        file: File::from_bytes(bytes).map_err(|e| broken("the file", &e))?,
    };
    let roots = source.file.root().groups().map_err(|e| broken("/", &e))?;
    match roots.iter().find(|r| r.starts_with("fclib_")).map(String::as_str) {
        Some("fclib_global") => global(&source, name),
        Some("fclib_local") => local(&source, name),
        Some(other) => Err(FileError::UnsupportedLaw(format!("{other} holds rolling friction"))),
        None => {
            Err(FileError::unexpected("/", "no group of a problem", "fclib_local or fclib_global"))
        }
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
const MAX_COMPRESSION_RATIO: u64 = 1032;

impl Source {
    fn dataset(&self, path: &str) -> Result<hdf5_pure::Dataset, FileError> {
        let data = self.file.dataset(path).map_err(|e| broken(path, &e))?;
        let shape = data.shape().map_err(|e| broken(path, &e))?;
        let size = data.element_size().map_err(|e| broken(path, &e))?;
        let bytes = shape.iter().try_fold(size, |product, &extent| product.checked_mul(extent));
        let limit = if data.is_chunked() {
            // Chunks that are not there would be filled up: only those count that are.
            let chunks = data.chunks().map_err(|e| broken(path, &e))?;
            let stored = chunks
                .iter()
                .fold(0u64, |sum, chunk| sum.saturating_add(chunk.storage_size))
                .min(self.limit);
            stored.saturating_mul(if data.filters().is_empty() { 1 } else { MAX_COMPRESSION_RATIO })
        } else {
            self.limit
        };
        if bytes.is_none_or(|bytes| bytes > limit) {
            return Err(FileError::unexpected(
                path,
                format!("a claim of {shape:?} numbers"),
                format!("no more than {limit} bytes"),
            ));
        }
        Ok(data)
    }

    fn has(&self, path: &str) -> bool {
        self.file.dataset(path).is_ok() || self.file.group(path).is_ok()
    }

    fn numbers(&self, path: &str) -> Result<Vec<f64>, FileError> {
        let x = self.dataset(path)?.read::<f64>().map_err(|e| broken(path, &e))?;
        match x.iter().position(|x| !x.is_finite()) {
            Some(at) => {
                Err(FileError::unexpected(format!("{path}[{at}]"), x[at], "a finite number"))
            }
            None => Ok(x),
        }
    }

    fn vector(&self, path: &str, size: usize) -> Result<Vec<f64>, FileError> {
        let x = self.numbers(path)?;
        if x.len() == size {
            Ok(x)
        } else {
            Err(FileError::unexpected(path, format!("{} numbers", x.len()), size))
        }
    }

    fn integers(&self, path: &str) -> Result<Vec<i64>, FileError> {
        self.dataset(path)?.read::<i64>().map_err(|e| broken(path, &e))
    }

    fn integer(&self, path: &str) -> Result<i64, FileError> {
        let x = self.integers(path)?;
        if let [x] = x[..] {
            Ok(x)
        } else {
            Err(FileError::unexpected(path, format!("{} numbers", x.len()), 1))
        }
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
            return Err(FileError::unexpected(
                path,
                format!("a matrix of {} × {}", size.0, size.1),
                format!("{rows} × {cols}"),
            ));
        }
        let nz = self.integer(&format!("{path}/nz"))?;
        let (p, i) = (self.integers(&format!("{path}/p"))?, self.integers(&format!("{path}/i"))?);
        let x = self.numbers(&format!("{path}/x"))?;
        let index = |name: &str, list: &[i64], at: usize, limit: usize| match list.get(at) {
            Some(&i) if i >= 0 && (i as usize) < limit => Ok(i as u32),
            Some(i) => Err(FileError::unexpected(
                format!("{path}/{name}[{at}]"),
                i,
                format!("0 ≤ index < {limit}"),
            )),
            None => Err(FileError::unexpected(
                format!("{path}/{name}"),
                format!("{} numbers", list.len()),
                format!("more than {at}"),
            )),
        };
        let mut triplets = Vec::new();
        if nz >= 0 {
            if nz as u64 > x.len() as u64 {
                return Err(FileError::unexpected(
                    format!("{path}/nz"),
                    nz,
                    format!("no more than the {} entries of x", x.len()),
                ));
            }
            for (at, &x) in x.iter().enumerate().take(nz as usize) {
                triplets.push((index("i", &i, at, rows)?, index("p", &p, at, cols)?, x));
            }
        } else {
            let (outer, inner) = match nz {
                -1 => (cols, rows),
                -2 => (rows, cols),
                _ => {
                    return Err(FileError::unexpected(
                        format!("{path}/nz"),
                        nz,
                        "-1 (columns), -2 (rows) or a number of triplets",
                    ));
                }
            };
            if p.len() != outer + 1
                || p[0] != 0
                || p.windows(2).any(|w| w[0] > w[1])
                || p[outer] as u64 > x.len() as u64
            {
                let wanted = format!("{} that ascend from 0 to at most {}", outer + 1, x.len());
                return Err(FileError::unexpected(
                    format!("{path}/p"),
                    format!("{} pointers", p.len()),
                    wanted,
                ));
            }
            for j in 0..outer {
                for (at, &x) in x.iter().enumerate().take(p[j + 1] as usize).skip(p[j] as usize) {
                    let i = index("i", &i, at, inner)?;
                    triplets.push(if nz == -1 { (i, j as u32, x) } else { (j as u32, i, x) });
                }
            }
        }
        triplets.retain(|(.., x)| *x != 0.0);
        Ok(Csr::from_triplets(rows, cols, &triplets))
    }

    /// A point in the file's own rows: bilateral ones first.
    fn point(&self, group: &str, stored: &Stored, bilateral: usize) -> Option<Solution> {
        let v = self.numbers(&format!("{group}/v")).unwrap_or_default();
        let mut r =
            if bilateral > 0 { self.numbers(&format!("{group}/l")).ok()? } else { Vec::new() };
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
    let given = Problem {
        name: name.into(),
        H: mass,
        k,
        J: Rows::from_csr(&rows, &laws),
        E: vec![0.0; w.len()],
        w,
        laws,
        names,
    };
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
        let r = if source.has(&at("R")) {
            source.matrix(&at("R"), q.len(), q.len())?
        } else {
            Csr::empty(q.len(), q.len())
        };
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

/// Writes the problem of a file, in the file's own rows, with a solution. An HDF5 source keeps
/// every dataset that it has (remarks and guesses too); anything else is written anew.
pub fn write(
    out: &Path,
    source: &Path,
    stored: &Stored,
    solution: &Solution,
) -> Result<(), FileError> {
    let answer = stored.answer(solution)?;
    let layout = Layout::of(&stored.given)?;
    let unwritable = |e: &dyn std::fmt::Display| {
        FileError::unexpected("the file", format!("'{e}'"), "one that can be written")
    };
    let bytes = std::fs::read(source).unwrap_or_default();
    if hdf5_pure::is_hdf5_bytes(&bytes) {
        let made = make_whole(out, |partial| {
            std::fs::write(partial, bytes)?;
            replace_solution(partial, &layout, &answer).map_err(io::Error::other)
        });
        return made.map_err(|e| unwritable(&e));
    }
    let bytes = build(&stored.given, &layout, &answer)?.finish().map_err(|e| unwritable(&e))?;
    write_whole(out, &bytes).map_err(|e| unwritable(&e))
}

/// The problem and a solution as the bytes of a new file.
pub fn bytes(stored: &Stored, solution: &Solution) -> Result<Vec<u8>, FileError> {
    let layout = Layout::of(&stored.given)?;
    let builder = build(&stored.given, &layout, &stored.answer(solution)?)?;
    builder
        .finish()
        .map_err(|e| FileError::unexpected("the file", format!("'{e}'"), "one that can be written"))
}

/// Which rows of a problem are FCLib's contacts and which are bilateral.
struct Layout {
    dimension: usize,
    mu: Vec<f64>,
    /// The row of the problem behind each contact row; none for the tangents of a contact that has
    /// only a normal.
    contact: Vec<Option<usize>>,
    bilateral: Vec<usize>,
}

fn inexpressible(what: &str) -> FileError {
    FileError::Inexpressible {
        format: "FCLib",
        what: format!("{what} (a name that ends in .json can)"),
    }
}

impl Layout {
    fn of(input: &Input) -> Result<Layout, FileError> {
        let friction = |law: &Law| law.friction().map(|_| law.rows());
        let dimension = input.laws().iter().find_map(friction).unwrap_or(2);
        let mut layout =
            Layout { dimension, mu: Vec::new(), contact: Vec::new(), bilateral: Vec::new() };
        let mut first = 0;
        for law in input.laws() {
            match *law {
                Law::Equality => layout.bilateral.push(first),
                Law::Unilateral => {
                    layout.mu.push(0.0);
                    layout.contact.push(Some(first));
                    layout.contact.extend(std::iter::repeat_n(None, dimension - 1));
                }
                Law::Cone { mu, .. } | Law::Coulomb { mu, .. } if law.rows() == dimension => {
                    layout.mu.push(mu);
                    layout.contact.extend((first..first + dimension).map(Some));
                }
                Law::Cone { .. } | Law::Coulomb { .. } => {
                    return Err(inexpressible("contacts of 2 and of 3 rows together"));
                }
                Law::Interval { .. } => return Err(inexpressible("an interval law")),
            }
            first += law.rows();
        }
        Ok(layout)
    }

    fn contacts(&self, x: &[f64]) -> Vec<f64> {
        self.contact.iter().map(|row| row.map_or(0.0, |i| x[i])).collect()
    }

    fn bilaterals(&self, x: &[f64]) -> Vec<f64> {
        self.bilateral.iter().map(|&i| x[i]).collect()
    }

    /// v, u, r, l, in FCLib's rows.
    fn solution(&self, answer: &Answer) -> [(&'static str, Vec<f64>); 4] {
        let Answer { v, u, r } = answer;
        [
            ("v", v.clone()),
            ("u", self.contacts(u)),
            ("r", self.contacts(r)),
            ("l", self.bilaterals(r)),
        ]
    }
}

/// The rows `chosen` of `matrix`, empty ones where there is none.
fn choose(matrix: &Csr, chosen: impl Iterator<Item = Option<usize>>) -> Csr {
    let mut out = Csr::empty(0, matrix.cols);
    for row in chosen {
        if let Some(i) = row {
            let (columns, values) = matrix.row(i);
            out.columns.extend_from_slice(columns);
            out.values.extend_from_slice(values);
        }
        out.rows += 1;
        out.starts.push(out.columns.len());
    }
    out
}

fn replace_solution(path: &Path, layout: &Layout, answer: &Answer) -> Result<(), hdf5_pure::Error> {
    let file = File::open_rw(path)?;
    let root = file.root();
    if root.group("solution").is_ok() {
        root.delete("solution")?;
        file.commit()?;
    }
    root.create_group_with("solution", |group| {
        for (name, x) in layout.solution(answer) {
            group.create_dataset(name, |d| {
                d.with_f64_data(&x).with_shape(&[x.len() as u64]);
            });
        }
    })?;
    file.commit()?;
    file.close()
}

fn build(given: &Input, layout: &Layout, answer: &Answer) -> Result<FileBuilder, FileError> {
    let contact = || layout.contact.iter().copied();
    let bilateral = || layout.bilateral.iter().copied().map(Some);
    let joints = !layout.bilateral.is_empty();
    let mut file = FileBuilder::new();
    let mut root = file.create_group(if given.n() > 0 { "fclib_global" } else { "fclib_local" });
    put_integers(&mut root, "spacedim", &[layout.dimension as i32]);
    let mut vectors = root.create_group("vectors");
    put(&mut vectors, "mu", &layout.mu);
    match given {
        Input::Problem(p) => {
            if p.E.iter().any(|&e| e != 0.0) {
                return Err(inexpressible("compliance"));
            }
            let rows = p.J.to_csr();
            put(&mut vectors, "f", &p.k);
            put(&mut vectors, "w", &layout.contacts(&p.w));
            put_matrix(&mut root, "M", &p.H);
            put_matrix(&mut root, "H", &choose(&rows, contact()).transposed());
            if joints {
                put(&mut vectors, "b", &layout.bilaterals(&p.w));
                put_matrix(&mut root, "G", &choose(&rows, bilateral()).transposed());
            }
        }
        Input::Reduced(p) => {
            let columns = p.W.transposed();
            // Rows of the transposed of a choice of columns.
            let contact_columns = choose(&columns, contact()).transposed();
            put(&mut vectors, "q", &layout.contacts(&p.q));
            put_matrix(&mut root, "W", &choose(&contact_columns, contact()));
            if joints {
                let bilateral_columns = choose(&columns, bilateral()).transposed();
                let v = choose(&bilateral_columns, contact());
                if v.transposed() != choose(&contact_columns, bilateral()) {
                    return Err(inexpressible("bilateral rows that are not coupled symmetrically"));
                }
                put(&mut vectors, "s", &layout.bilaterals(&p.q));
                put_matrix(&mut root, "V", &v);
                put_matrix(&mut root, "R", &choose(&bilateral_columns, bilateral()));
            }
        }
    }
    root.add_group(vectors.finish());
    file.add_group(root.finish());
    let mut solution = file.create_group("solution");
    for (name, x) in layout.solution(answer) {
        put(&mut solution, name, &x);
    }
    file.add_group(solution.finish());
    Ok(file)
}

fn put(group: &mut GroupBuilder, name: &str, x: &[f64]) {
    group.create_dataset(name).with_f64_data(x).with_shape(&[x.len() as u64]);
}

fn put_integers(group: &mut GroupBuilder, name: &str, x: &[i32]) {
    group.create_dataset(name).with_i32_data(x).with_shape(&[x.len() as u64]);
}

/// A matrix by compressed columns.
fn put_matrix(root: &mut GroupBuilder, name: &str, matrix: &Csr) {
    let columns = matrix.transposed();
    let mut group = root.create_group(name);
    let entries = columns.nonzeros() as i32;
    for (name, x) in
        [("nzmax", entries), ("m", matrix.rows as i32), ("n", matrix.cols as i32), ("nz", -1)]
    {
        put_integers(&mut group, name, &[x]);
    }
    put_integers(&mut group, "p", &columns.starts.iter().map(|&s| s as i32).collect::<Vec<i32>>());
    put_integers(&mut group, "i", &columns.columns.iter().map(|&i| i as i32).collect::<Vec<i32>>());
    put(&mut group, "x", &columns.values);
    root.add_group(group.finish());
}
