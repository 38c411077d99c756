//! Siconos' text formats: words between white space, one after the other.
//!
//! | kind | words |
//! |---|---|
//! | `lcp` | n, MATRIX M, q[n] |
//! | `relay` | n, MATRIX M, q[n], lb[n], ub[n] |
//! | `mlcp` | s1, s2, n, m; if s1: block starts 0 … n+m, a flag per block (0 equality, 1 complementarity), MATRIX M, q; if s2: A, B, C, D row by row, a, b |
//! | `fc2d`, `fc3d` | d, nc, MATRIX W, q, mu[nc] |
//! | `gfc2d`, `gfc3d` | d, nc, MATRIX M, MATRIX H, f, w, mu[nc] |
//! | `gmp` | MATRIX M (block storage: its row blocks are the parts), q, then per block a type (0 lcp, 2 equality, 4 fc3d) and for fc3d its mu |
//! | `soclcp` | n, nc, MATRIX M, q, offsets[nc+1], tau[nc] |
//!
//! MATRIX is a storage code, rows, columns, then
//!
//! * 0, dense: rows and columns again, then the entries **column by column**;
//! * 1, blocks: number of blocks, block rows R, block columns C, R row ends, C column ends, R+1, number of blocks, pointers of
//!   the block rows, block columns, then each block: its number and its entries, **column by column**;
//! * 2, sparse: an origin code, a banner line, a header line `[triplet: |csr: ]m-by-n, nzmax: Z nnz: K…`, then either K times
//!   `i j : x` or for every column (csr: row) `col j : locations p to q` and its entries `i : x`.
//!
//! Words after the last field are ignored: old flags, remarks, candidate solutions of unknown worth.
//! Entries that are exactly zero are dropped.

use super::tokens::{Tokens, shown};
use super::{FileError, Input, Stored, reduced};
use crate::math::sparse::Csr;
use crate::problem::{Law, Problem, Rows};

/// What a text file holds: nothing inside it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Planar friction, velocities eliminated.
    Fc2d,
    /// Friction in space, velocities eliminated.
    Fc3d,
    /// Planar friction with velocities.
    Gfc2d,
    /// Friction in space with velocities.
    Gfc3d,
    /// Linear complementarity.
    Lcp,
    /// Linear complementarity with equalities.
    Mlcp,
    /// Reactions between bounds.
    Relay,
    /// Joints and contacts, in blocks.
    Gmp,
    /// The associated law of friction.
    Soclcp,
    /// Rolling friction, velocities eliminated: not supported.
    Rfc3d,
    /// Rolling friction with velocities: not supported.
    Grfc3d,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 11] = [
        Kind::Fc2d,
        Kind::Fc3d,
        Kind::Gfc2d,
        Kind::Gfc3d,
        Kind::Lcp,
        Kind::Mlcp,
        Kind::Relay,
        Kind::Gmp,
        Kind::Soclcp,
        Kind::Rfc3d,
        Kind::Grfc3d,
    ];

    /// The name that Siconos' collections give it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fc2d => "fc2d",
            Kind::Fc3d => "fc3d",
            Kind::Gfc2d => "gfc2d",
            Kind::Gfc3d => "gfc3d",
            Kind::Lcp => "lcp",
            Kind::Mlcp => "mlcp",
            Kind::Relay => "relay",
            Kind::Gmp => "gmp",
            Kind::Soclcp => "soclcp",
            Kind::Rfc3d => "rfc3d",
            Kind::Grfc3d => "grfc3d",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Reads a problem of a known kind.
pub fn read(text: &[u8], kind: Kind, name: &str) -> Result<Stored, FileError> {
    let mut t = Tokens::new(text);
    Stored::new(parse(&mut t, kind, name)?)
}

/// Reads a problem of a kind that its own words must tell: the only one they fit, or the one that leaves the fewest words over.
pub fn read_any(text: &[u8], name: &str) -> Result<Stored, FileError> {
    let mut fits: Vec<(usize, Kind, Input)> = Vec::new();
    for kind in Kind::ALL {
        let mut t = Tokens::new(text);
        if let Ok(given) = parse(&mut t, kind, name) {
            fits.push((t.words_left(), kind, given));
        }
    }
    fits.sort_by_key(|(left, ..)| *left);
    match fits.as_slice() {
        [] => Err(FileError::unexpected("the whole file", "words that fit no kind of problem", "one of the kinds, say which")),
        [(a, first, _), (b, second, _), ..] if a == b => Err(FileError::unexpected(
            "the whole file",
            format!("words that fit {} and {}", first.name(), second.name()),
            "one kind of problem, say which",
        )),
        _ => Stored::new(fits.swap_remove(0).2),
    }
}

fn parse(t: &mut Tokens<'_>, kind: Kind, name: &str) -> Result<Input, FileError> {
    match kind {
        Kind::Fc2d => friction(t, 2, name),
        Kind::Fc3d => friction(t, 3, name),
        Kind::Gfc2d => global(t, 2, name),
        Kind::Gfc3d => global(t, 3, name),
        Kind::Lcp => lcp(t, name),
        Kind::Mlcp => mlcp(t, name),
        Kind::Relay => relay(t, name),
        Kind::Gmp => gmp(t, name),
        Kind::Soclcp => soclcp(t, name),
        Kind::Rfc3d | Kind::Grfc3d => Err(FileError::UnsupportedLaw("rolling friction".into())),
    }
}

fn local(name: &str, matrix: Csr, q: Vec<f64>, laws: Vec<Law>) -> Input {
    Input::Reduced(reduced(name.into(), matrix, q, laws, Vec::new()))
}

fn lcp(t: &mut Tokens<'_>, name: &str) -> Result<Input, FileError> {
    let n = t.count("the number of rows n")?;
    let m = matrix(t, Some(n), Some(n))?;
    let q = t.numbers(n, "entries of q")?;
    Ok(local(name, m.csr, q, vec![Law::Unilateral; n]))
}

fn relay(t: &mut Tokens<'_>, name: &str) -> Result<Input, FileError> {
    let n = t.count("the number of rows n")?;
    let m = matrix(t, Some(n), Some(n))?;
    let q = t.numbers(n, "entries of q")?;
    t.expect(2 * n, "bounds")?;
    let lo = (0..n).map(|_| t.number(true, "a lower bound")).collect::<Result<Vec<f64>, _>>()?;
    let hi = (0..n).map(|_| t.number(true, "an upper bound")).collect::<Result<Vec<f64>, _>>()?;
    let laws = lo.into_iter().zip(hi).map(|(lo, hi)| Law::Interval { lo, hi }).collect();
    Ok(local(name, m.csr, q, laws))
}

fn friction(t: &mut Tokens<'_>, d: usize, name: &str) -> Result<Input, FileError> {
    let contacts = contacts(t, d)?;
    let m = matrix(t, Some(d * contacts), Some(d * contacts))?;
    let q = t.numbers(d * contacts, "entries of q")?;
    let laws = t.numbers(contacts, "coefficients of friction")?.into_iter().map(|mu| Law::Coulomb { mu, rows: d as u8 }).collect();
    Ok(local(name, m.csr, q, laws))
}

fn global(t: &mut Tokens<'_>, d: usize, name: &str) -> Result<Input, FileError> {
    let contacts = contacts(t, d)?;
    let mass = matrix(t, None, None)?.csr;
    let n = mass.rows;
    if mass.cols != n {
        return Err(t.unexpected(format!("M with {n} rows and {} columns", mass.cols), "a square matrix"));
    }
    let h = matrix(t, Some(n), Some(d * contacts))?.csr;
    let k = t.numbers(n, "entries of f")?;
    let w = t.numbers(d * contacts, "entries of w")?;
    let laws: Vec<Law> =
        t.numbers(contacts, "coefficients of friction")?.into_iter().map(|mu| Law::Coulomb { mu, rows: d as u8 }).collect();
    Ok(Input::Problem(Problem {
        name: name.into(),
        H: mass,
        k,
        J: Rows::from_csr(&h.transposed(), &laws),
        E: vec![0.0; w.len()],
        w,
        laws,
        names: Vec::new(),
    }))
}

/// The dimension, which must be `d`, and the number of contacts.
fn contacts(t: &mut Tokens<'_>, d: usize) -> Result<usize, FileError> {
    let found = t.count("the dimension")?;
    if found == 5 {
        return Err(FileError::UnsupportedLaw("rolling friction (5 rows per contact)".into()));
    }
    if found != d {
        return Err(t.unexpected(format!("{found} rows per contact"), d));
    }
    let contacts = t.count("the number of contacts")?;
    t.expect(contacts.saturating_mul(d), "rows of contacts")?;
    Ok(contacts)
}

fn mlcp(t: &mut Tokens<'_>, name: &str) -> Result<Input, FileError> {
    let whole = t.count("0 or 1: is M stored")?;
    let parts = t.count("0 or 1: are A, B, C, D stored")?;
    if whole > 1 || parts > 1 || whole + parts == 0 {
        return Err(t.unexpected(format!("storage flags {whole} {parts}"), "0 1, 1 0 or 1 1"));
    }
    let n = t.count("the number of equalities")?;
    let m = t.count("the number of complementarities")?;
    let size = n.saturating_add(m);
    t.expect(size, "rows")?;
    let mut stored = None;
    if whole == 1 {
        let laws = mlcp_laws(t, n, m)?;
        let matrix = matrix(t, Some(size), Some(size))?.csr;
        stored = Some((matrix, t.numbers(size, "entries of q")?, laws));
    }
    if parts == 1 {
        let (matrix, q) = mlcp_parts(t, n, m)?;
        match &stored {
            None => stored = Some((matrix, q, [vec![Law::Equality; n], vec![Law::Unilateral; m]].concat())),
            Some(both) => agree(t, both, &matrix, &q)?,
        }
    }
    let (matrix, q, laws) = stored.expect("one of the two storages is there");
    Ok(local(name, matrix, q, laws))
}

/// The laws of the rows, in the file's order: block starts, then a flag per block.
fn mlcp_laws(t: &mut Tokens<'_>, n: usize, m: usize) -> Result<Vec<Law>, FileError> {
    let mut starts = vec![t.count("the start of the first block")?];
    if starts[0] != 0 {
        return Err(t.unexpected(starts[0], "0, the start of the first block"));
    }
    while starts[starts.len() - 1] < n + m {
        let next = t.count("the start of a block")?;
        if next <= starts[starts.len() - 1] || next > n + m {
            return Err(t.unexpected(next, format!("block starts that ascend to {}", n + m)));
        }
        starts.push(next);
    }
    let mut laws = Vec::new();
    for block in starts.windows(2) {
        let law = match t.count("0 (equality) or 1 (complementarity)")? {
            0 => Law::Equality,
            1 => Law::Unilateral,
            other => return Err(t.unexpected(other, "0 (equality) or 1 (complementarity)")),
        };
        laws.extend(std::iter::repeat_n(law, block[1] - block[0]));
    }
    let equalities = laws.iter().filter(|law| **law == Law::Equality).count();
    if equalities != n {
        return Err(t.unexpected(format!("{equalities} rows flagged as equalities"), n));
    }
    Ok(laws)
}

/// `[A C; D B]` and `[a; b]`, each matrix row by row.
fn mlcp_parts(t: &mut Tokens<'_>, n: usize, m: usize) -> Result<(Csr, Vec<f64>), FileError> {
    let mut triplets = Vec::new();
    for (rows, cols, row, col, what) in
        [(n, n, 0, 0, "entries of A"), (m, m, n, n, "entries of B"), (n, m, 0, n, "entries of C"), (m, n, n, 0, "entries of D")]
    {
        let values = t.numbers(rows.saturating_mul(cols), what)?;
        for (at, &x) in values.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            triplets.push(((row + at / cols) as u32, (col + at % cols) as u32, x));
        }
    }
    let q = t.numbers(n + m, "entries of a and b")?;
    Ok((Csr::from_triplets(n + m, n + m, &triplets), q))
}

/// A file that holds the problem twice must mean the same twice, to the six digits that are printed.
fn agree(t: &Tokens<'_>, stored: &(Csr, Vec<f64>, Vec<Law>), parts: &Csr, q: &[f64]) -> Result<(), FileError> {
    let (matrix, first, laws) = stored;
    let rows = |law: Law| (0..laws.len()).filter(move |&i| laws[i] == law);
    let order: Vec<usize> = rows(Law::Equality).chain(rows(Law::Unilateral)).collect();
    let far = |a: f64, b: f64| (a - b).abs() > 1e-5 * a.abs().max(b.abs()) + 1e-8;
    for (i, &row) in order.iter().enumerate() {
        for (j, &col) in order.iter().enumerate() {
            if far(matrix.get(row, col), parts.get(i, j)) {
                let found = format!("M[{row},{col}] = {} but {} in A, B, C, D", matrix.get(row, col), parts.get(i, j));
                return Err(t.unexpected(found, "the same problem in both storages"));
            }
        }
        if far(first[row], q[i]) {
            return Err(t.unexpected(format!("q[{row}] = {} but {} in a, b", first[row], q[i]), "the same problem in both storages"));
        }
    }
    Ok(())
}

fn gmp(t: &mut Tokens<'_>, name: &str) -> Result<Input, FileError> {
    let m = matrix(t, None, None)?;
    let n = m.csr.rows;
    let Some(ends) = m.row_ends else {
        return Err(t.unexpected("a matrix without blocks", "block storage (1): its blocks are the parts of the problem"));
    };
    if m.csr.cols != n {
        return Err(t.unexpected(format!("M with {n} rows and {} columns", m.csr.cols), "a square matrix"));
    }
    let q = t.numbers(n, "entries of q")?;
    let (mut laws, mut first) = (Vec::new(), 0);
    for (block, &end) in ends.iter().enumerate() {
        let size = end - first;
        match t.count("the type of a block (0 lcp, 2 equality, 4 fc3d)")? {
            0 => laws.extend(std::iter::repeat_n(Law::Unilateral, size)),
            2 => laws.extend(std::iter::repeat_n(Law::Equality, size)),
            4 if size == 3 => laws.push(Law::Coulomb { mu: t.number(false, "a coefficient of friction")?, rows: 3 }),
            4 => return Err(t.unexpected(format!("a contact of {size} rows"), "3 rows")),
            1 => return Err(FileError::UnsupportedLaw(format!("block {block} is an mlcp: its parts are not in the file"))),
            3 => return Err(FileError::UnsupportedLaw(format!("block {block} is fc2d: its mu is not in the file"))),
            9 => return Err(FileError::UnsupportedLaw(format!("block {block} is a relay: its bounds are not in the file"))),
            other => return Err(t.unexpected(format!("block type {other}"), "0 (lcp), 2 (equality) or 4 (fc3d)")),
        }
        first = end;
    }
    Ok(local(name, m.csr, q, laws))
}

fn soclcp(t: &mut Tokens<'_>, name: &str) -> Result<Input, FileError> {
    let n = t.count("the number of rows n")?;
    let cones = t.count("the number of cones")?;
    let m = matrix(t, Some(n), Some(n))?;
    let q = t.numbers(n, "entries of q")?;
    let mut sizes = Vec::new();
    t.expect(cones.saturating_add(1), "offsets of cones")?;
    let mut last = t.count("0, the offset of the first cone")?;
    if last != 0 {
        return Err(t.unexpected(last, "0, the offset of the first cone"));
    }
    for _ in 0..cones {
        let next = t.count("the offset of a cone")?;
        if next <= last || next > n {
            return Err(t.unexpected(next, format!("offsets of cones that ascend to {n}")));
        }
        sizes.push(next - last);
        last = next;
    }
    if last != n {
        return Err(t.unexpected(format!("a last offset of {last}"), n));
    }
    let mut laws = Vec::new();
    for size in sizes {
        let mu = t.number(false, "the slope tau of a cone")?;
        laws.push(match size {
            1 => Law::Unilateral,
            2 | 3 => Law::Cone { mu, rows: size as u8 },
            _ => return Err(FileError::UnsupportedLaw(format!("a cone of {size} rows"))),
        });
    }
    Ok(local(name, m.csr, q, laws))
}

struct Matrix {
    csr: Csr,
    /// Ends of the row blocks, in block storage.
    row_ends: Option<Vec<usize>>,
}

/// A matrix, of these sizes where they are known.
fn matrix(t: &mut Tokens<'_>, rows: Option<usize>, cols: Option<usize>) -> Result<Matrix, FileError> {
    let storage = t.count("a storage code (0 dense, 1 blocks, 2 sparse)")?;
    if storage > 2 {
        return Err(t.unexpected(storage, "a storage code (0 dense, 1 blocks, 2 sparse)"));
    }
    let size = (t.count("the number of rows of a matrix")?, t.count("the number of columns of a matrix")?);
    let wanted = (rows.unwrap_or(size.0), cols.unwrap_or(size.1));
    if size != wanted {
        return Err(t.unexpected(format!("a matrix of {} × {}", size.0, size.1), format!("{} × {}", wanted.0, wanted.1)));
    }
    // Every row and every column of a matrix has an entry in some vector that follows.
    t.expect(size.0.max(size.1), "rows or columns")?;
    if size.0.max(size.1) > u32::MAX as usize {
        return Err(t.unexpected(format!("a matrix of {} × {}", size.0, size.1), "less than 2^32 rows and columns"));
    }
    match storage {
        0 => dense(t, size),
        1 => blocks(t, size),
        _ => sparse(t, size),
    }
}

fn dense(t: &mut Tokens<'_>, size: (usize, usize)) -> Result<Matrix, FileError> {
    let again = (t.count("the number of rows again")?, t.count("the number of columns again")?);
    if again != size {
        return Err(t.unexpected(format!("{} × {}", again.0, again.1), format!("{} × {} again", size.0, size.1)));
    }
    let values = t.numbers(size.0.saturating_mul(size.1), "entries of a dense matrix")?;
    let mut triplets = Vec::new();
    for (at, &x) in values.iter().enumerate().filter(|(_, x)| **x != 0.0) {
        triplets.push(((at % size.0) as u32, (at / size.0) as u32, x));
    }
    Ok(Matrix { csr: Csr::from_triplets(size.0, size.1, &triplets), row_ends: None })
}

/// Ends of blocks: ascending, the last one equal to `total`.
fn ends(t: &mut Tokens<'_>, count: usize, total: usize) -> Result<Vec<usize>, FileError> {
    let ends = t.counts(count, "ends of blocks")?;
    if ends.windows(2).any(|w| w[0] >= w[1]) || ends.first() == Some(&0) || ends.last().copied().unwrap_or(0) != total {
        return Err(t.unexpected("ends of blocks that do not ascend to the size of the matrix", format!("ascending up to {total}")));
    }
    Ok(ends)
}

fn blocks(t: &mut Tokens<'_>, size: (usize, usize)) -> Result<Matrix, FileError> {
    let count = t.count("the number of blocks")?;
    let (block_rows, block_cols) = (t.count("the number of block rows")?, t.count("the number of block columns")?);
    let row_ends = ends(t, block_rows, size.0)?;
    let col_ends = ends(t, block_cols, size.1)?;
    let filled = (t.count("the number of row pointers")?, t.count("the number of blocks again")?);
    // A last row of blocks without any block may have no pointer.
    if filled.0 == 0 || filled.0 > block_rows + 1 || filled.1 != count {
        return Err(t.unexpected(format!("{} pointers and {} blocks", filled.0, filled.1), format!("{} and {count}", block_rows + 1)));
    }
    let pointers = t.counts(filled.0, "row pointers")?;
    if pointers[0] != 0 || pointers.windows(2).any(|w| w[0] > w[1]) || pointers[pointers.len() - 1] != count {
        return Err(t.unexpected("row pointers that do not ascend", format!("from 0 up to {count}")));
    }
    let columns = t.counts(count, "block columns")?;
    if let Some(&bad) = columns.iter().find(|&&c| c >= block_cols) {
        return Err(t.unexpected(format!("block column {bad}"), format!("less than {block_cols}")));
    }
    let range = |ends: &[usize], k: usize| (if k == 0 { 0 } else { ends[k - 1] })..ends[k];
    let mut triplets = Vec::new();
    for row in 0..pointers.len() - 1 {
        let rows = range(&row_ends, row);
        for (k, &column) in columns.iter().enumerate().take(pointers[row + 1]).skip(pointers[row]) {
            let number = t.count("the number of a block")?;
            if number != k {
                return Err(t.unexpected(format!("block number {number}"), k));
            }
            let cols = range(&col_ends, column);
            let values = t.numbers(rows.len().saturating_mul(cols.len()), "entries of a block")?;
            for (at, &x) in values.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                triplets.push(((rows.start + at % rows.len()) as u32, (cols.start + at / rows.len()) as u32, x));
            }
        }
    }
    Ok(Matrix { csr: Csr::from_triplets(size.0, size.1, &triplets), row_ends: Some(row_ends) })
}

fn sparse(t: &mut Tokens<'_>, size: (usize, usize)) -> Result<Matrix, FileError> {
    t.count("an origin code")?;
    t.rest_of_line();
    t.rest_of_line();
    let line = t.rest_of_line();
    let (layout, sizes, entries) = header(line).ok_or_else(|| t.unexpected(shown(line), "'[triplet: |csr: ]m-by-n, nzmax: Z nnz: K'"))?;
    if sizes != size {
        return Err(t.unexpected(format!("{}-by-{}", sizes.0, sizes.1), format!("{}-by-{}", size.0, size.1)));
    }
    t.expect(entries, "entries of a sparse matrix")?;
    let mut triplets = Vec::new();
    let index = |t: &mut Tokens<'_>, limit: usize| match t.count("an index")? {
        i if i < limit => Ok(i as u32),
        i => Err(t.unexpected(format!("index {i}"), format!("less than {limit}"))),
    };
    if layout == "triplet" {
        for _ in 0..entries {
            let (i, j) = (index(t, size.0)?, index(t, size.1)?);
            t.literal(":")?;
            triplets.push((i, j, t.number(false, "an entry of a sparse matrix")?));
        }
    } else {
        let (outer, inner) = if layout == "csc" { (size.1, size.0) } else { (size.0, size.1) };
        for j in 0..outer {
            t.word("'col' or 'row'")?;
            let found = t.count("the number of a column")?;
            t.literal(":")?;
            t.literal("locations")?;
            let first = t.count("the first place of a column")?;
            t.literal("to")?;
            // An empty first column ends at −1.
            let last: i64 = t.integer("the last place of a column")?;
            if found != j || first != triplets.len() || last + 1 < first as i64 || last >= entries as i64 {
                let wanted = format!("column {j} from {} on, before {entries}", triplets.len());
                return Err(t.unexpected(format!("column {found} from {first} to {last}"), wanted));
            }
            for _ in first as i64..=last {
                let i = index(t, inner)?;
                t.literal(":")?;
                let x = t.number(false, "an entry of a sparse matrix")?;
                triplets.push(if layout == "csc" { (i, j as u32, x) } else { (j as u32, i, x) });
            }
        }
    }
    if triplets.len() != entries {
        return Err(t.unexpected(format!("{} entries", triplets.len()), entries));
    }
    triplets.retain(|(.., x)| *x != 0.0);
    Ok(Matrix { csr: Csr::from_triplets(size.0, size.1, &triplets), row_ends: None })
}

/// Layout, sizes and number of entries out of a header line.
fn header(line: &[u8]) -> Option<(&'static str, (usize, usize), usize)> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let (layout, rest) = if let Some(rest) = line.strip_prefix("triplet:") {
        ("triplet", rest)
    } else if let Some(rest) = line.strip_prefix("csr:") {
        ("csr", rest)
    } else {
        ("csc", line)
    };
    let (sizes, rest) = rest.trim().split_once(',')?;
    let (rows, cols) = sizes.split_once("-by-")?;
    let entries = rest.split_once("nnz:")?.1.trim();
    let entries = entries.split([',', ' ']).next()?;
    Some((layout, (rows.parse().ok()?, cols.parse().ok()?), entries.parse().ok()?))
}
