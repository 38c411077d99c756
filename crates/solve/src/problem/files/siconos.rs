//! Siconos' text formats: words between white space, one after the other.
//!
//! | kind | words |
//! |---|---|
//! | `lcp` | n, MATRIX M, `q[n]` |
//! | `relay` | n, MATRIX M, `q[n]`, `lb[n]`, `ub[n]` |
//! | `mlcp` | s1, s2, n, m; if s1: block starts 0 … n+m, a flag per block (0 equality, 1 complementarity), MATRIX M, q; if s2: A, B, C, D row by row, a, b |
//! | `fc2d`, `fc3d` | d, nc, MATRIX W, q, `mu[nc]` |
//! | `gfc2d`, `gfc3d` | d, nc, MATRIX M, MATRIX H, f, w, `mu[nc]` |
//! | `gmp` | MATRIX M (block storage: its row blocks are the parts), q, then per block a type (0 lcp, 2 equality, 4 fc3d) and for fc3d its mu |
//! | `soclcp` | n, nc, MATRIX M, q, `offsets[nc+1]`, `tau[nc]` |
//!
//! MATRIX is a storage code, rows, columns, then
//!
//! * 0, dense: rows and columns again, then the entries **column by column**;
//! * 1, blocks: number of blocks, block rows R, block columns C, R row ends, C column ends, R+1,
//!   number of blocks, pointers of the block rows, block columns, then each block: its number and
//!   its entries, **column by column**;
//! * 2, sparse: an origin code, a banner line, a header line
//!   `[triplet: |csr: ]m-by-n, nzmax: Z nnz: K…`, then either K times `i j : x` or for every column
//!   (csr: row) `col j : locations p to q` and its entries `i : x`.
//!
//! Words after the last field are ignored: old flags, remarks, candidate solutions of unknown
//! worth. Entries that are exactly zero are dropped.

mod matrix;
mod write;

pub use write::write;

use super::tokens::Tokens;
use super::{FileError, Input, Stored, reduced};
use crate::math::sparse::Csr;
use crate::problem::{Law, Problem, Rows};
use matrix::matrix;

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

/// The place of a complaint about no word in particular: the kind could not be told.
pub const WHOLE: &str = "the whole file";

/// Reads a problem of a kind that its own words must tell: the only one they fit, or the one that
/// leaves the fewest words over.
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
        [] => Err(FileError::unexpected(
            WHOLE,
            "words that fit no kind of problem",
            "one of the kinds, say which",
        )),
        [(a, first, _), (b, second, _), ..] if a == b => Err(FileError::unexpected(
            WHOLE,
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
    let laws = t
        .numbers(contacts, "coefficients of friction")?
        .into_iter()
        .map(|mu| Law::Coulomb { mu, rows: d as u8 })
        .collect();
    Ok(local(name, m.csr, q, laws))
}

fn global(t: &mut Tokens<'_>, d: usize, name: &str) -> Result<Input, FileError> {
    let contacts = contacts(t, d)?;
    let mass = matrix(t, None, None)?.csr;
    let n = mass.rows;
    if mass.cols != n {
        return Err(
            t.unexpected(format!("M with {n} rows and {} columns", mass.cols), "a square matrix")
        );
    }
    let h = matrix(t, Some(n), Some(d * contacts))?.csr;
    let k = t.numbers(n, "entries of f")?;
    let w = t.numbers(d * contacts, "entries of w")?;
    let laws: Vec<Law> = t
        .numbers(contacts, "coefficients of friction")?
        .into_iter()
        .map(|mu| Law::Coulomb { mu, rows: d as u8 })
        .collect();
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
            None => {
                stored =
                    Some((matrix, q, [vec![Law::Equality; n], vec![Law::Unilateral; m]].concat()))
            }
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
    for (rows, cols, row, col, what) in [
        (n, n, 0, 0, "entries of A"),
        (m, m, n, n, "entries of B"),
        (n, m, 0, n, "entries of C"),
        (m, n, n, 0, "entries of D"),
    ] {
        let values = t.numbers(rows.saturating_mul(cols), what)?;
        for (at, &x) in values.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            triplets.push(((row + at / cols) as u32, (col + at % cols) as u32, x));
        }
    }
    let q = t.numbers(n + m, "entries of a and b")?;
    Ok((Csr::from_triplets(n + m, n + m, &triplets), q))
}

/// A file that holds the problem twice must mean the same twice, to the six digits that are
/// printed.
fn agree(
    t: &Tokens<'_>,
    stored: &(Csr, Vec<f64>, Vec<Law>),
    parts: &Csr,
    q: &[f64],
) -> Result<(), FileError> {
    let (matrix, first, laws) = stored;
    let rows = |law: Law| (0..laws.len()).filter(move |&i| laws[i] == law);
    let order: Vec<usize> = rows(Law::Equality).chain(rows(Law::Unilateral)).collect();
    let far = |a: f64, b: f64| (a - b).abs() > 1e-5 * a.abs().max(b.abs()) + 1e-8;
    for (i, &row) in order.iter().enumerate() {
        for (j, &col) in order.iter().enumerate() {
            if far(matrix.get(row, col), parts.get(i, j)) {
                let found = format!(
                    "M[{row},{col}] = {} but {} in A, B, C, D",
                    matrix.get(row, col),
                    parts.get(i, j)
                );
                return Err(t.unexpected(found, "the same problem in both storages"));
            }
        }
        if far(first[row], q[i]) {
            return Err(t.unexpected(
                format!("q[{row}] = {} but {} in a, b", first[row], q[i]),
                "the same problem in both storages",
            ));
        }
    }
    Ok(())
}

fn gmp(t: &mut Tokens<'_>, name: &str) -> Result<Input, FileError> {
    let m = matrix(t, None, None)?;
    let n = m.csr.rows;
    let Some(ends) = m.row_ends else {
        return Err(t.unexpected(
            "a matrix without blocks",
            "block storage (1): its blocks are the parts of the problem",
        ));
    };
    if m.csr.cols != n {
        return Err(
            t.unexpected(format!("M with {n} rows and {} columns", m.csr.cols), "a square matrix")
        );
    }
    let q = t.numbers(n, "entries of q")?;
    let (mut laws, mut first) = (Vec::new(), 0);
    for (block, &end) in ends.iter().enumerate() {
        let size = end - first;
        match t.count("the type of a block (0 lcp, 2 equality, 4 fc3d)")? {
            0 => laws.extend(std::iter::repeat_n(Law::Unilateral, size)),
            2 => laws.extend(std::iter::repeat_n(Law::Equality, size)),
            4 if size == 3 => laws
                .push(Law::Coulomb { mu: t.number(false, "a coefficient of friction")?, rows: 3 }),
            4 => return Err(t.unexpected(format!("a contact of {size} rows"), "3 rows")),
            1 => {
                return Err(FileError::UnsupportedLaw(format!(
                    "block {block} is an mlcp: its parts are not in the file"
                )));
            }
            3 => {
                return Err(FileError::UnsupportedLaw(format!(
                    "block {block} is fc2d: its mu is not in the file"
                )));
            }
            9 => {
                return Err(FileError::UnsupportedLaw(format!(
                    "block {block} is a relay: its bounds are not in the file"
                )));
            }
            other => {
                return Err(t.unexpected(
                    format!("block type {other}"),
                    "0 (lcp), 2 (equality) or 4 (fc3d)",
                ));
            }
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
            // ‖nothing‖ ≤ tau r: whatever tau is.
            1 => Law::Unilateral,
            2 | 3 => Law::Cone { mu, rows: size as u8 },
            _ => return Err(FileError::UnsupportedLaw(format!("a cone of {size} rows"))),
        });
    }
    Ok(local(name, m.csr, q, laws))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M = [2 0; 1 2], q = (−5, −6), with words after the last field.
    const LCP: &str = "2  0 2 2  2 2  2 1  0 2  -5 -6  a remark 1 2";
    const BLOCKS: &str =
        "2 1  1 2 2  3 2 2  1 2  1 2  3 3  0 2 3  1 0 1  0 -1.5 1 2.5 2 4  1 2  0.25";

    fn reduced_of(stored: &Stored) -> &crate::problem::Reduced {
        match &stored.input {
            Input::Reduced(p) => p,
            Input::Problem(_) => panic!("reduced"),
        }
    }

    #[test]
    fn dense_matrices_stand_column_by_column_and_remarks_are_ignored() {
        let stored = read(LCP.as_bytes(), Kind::Lcp, "x").unwrap();
        assert_eq!(reduced_of(&stored).W.to_dense(), [2.0, 0.0, 1.0, 2.0]);
        assert_eq!(reduced_of(&stored).q, [-5.0, -6.0]);
    }

    #[test]
    fn blocks_need_no_order_and_frictionless_contacts_keep_their_normal() {
        let stored = read(BLOCKS.as_bytes(), Kind::Fc2d, "x").unwrap();
        assert_eq!(reduced_of(&stored).W.to_dense(), [2.5, -1.5, 0.0, 4.0]);
        assert_eq!(stored.input.laws(), [Law::Coulomb { mu: 0.25, rows: 2 }]);
        let smooth = read(BLOCKS.replace("0.25", "0").as_bytes(), Kind::Fc2d, "x").unwrap();
        assert_eq!(smooth.input.laws(), [Law::Unilateral]);
        assert_eq!(reduced_of(&smooth).W.to_dense(), [2.5]);
        let answer = smooth.answer(&crate::problem::Solution { v: vec![], r: vec![2.0] }).unwrap();
        assert_eq!((answer.r, answer.u), (vec![2.0, 0.0], vec![6.0, 2.0]));
    }

    #[test]
    fn sparse_storages_agree() {
        let head = "2 1  2 2 2";
        let tail = "  1 2  0.5";
        let texts = [
            "1\nbanner\ntriplet: 2-by-2, nzmax: 3 nnz: 3\n 0 0 : 3\n 1 0 : -1\n 1 1 : 2\n",
            "2\nbanner\n2-by-2, nzmax: 3 nnz: 3, 1-norm: 4\n col 0 : locations 0 to 1\n 0 : 3\n 1 \
                : -1\n col 1 : locations 2 to 2\n 1 : 2\n",
            "3\nbanner\ncsr: 2-by-2, nzmax: 3 nnz: 3\n row 0 : locations 0 to 0\n 0 : 3\n row 1 : \
                locations 1 to 2\n 0 : -1\n 1 : 2\n",
        ];
        for text in texts {
            let stored = read(format!("{head} {text} {tail}").as_bytes(), Kind::Fc2d, "x").unwrap();
            assert_eq!(reduced_of(&stored).W.to_dense(), [3.0, 0.0, -1.0, 2.0]);
        }
    }

    #[test]
    fn the_words_tell_the_kind_or_the_reader_says_that_they_do_not() {
        let relay = "1  0 1 1  1 1  2  -1  -3 inf";
        let stored = read_any(relay.as_bytes(), "x").unwrap();
        assert_eq!(stored.input.laws(), [Law::Interval { lo: -3.0, hi: f64::INFINITY }]);
        assert!(read_any(b"what is this", "x").unwrap_err().to_string().contains("no kind"));
    }

    #[test]
    fn complaints_name_place_found_and_wanted() {
        let told =
            |text: &str, kind: Kind| read(text.as_bytes(), kind, "x").unwrap_err().to_string();
        assert_eq!(
            told("2 0 2 2 2 2 2 1\n0 x", Kind::Lcp),
            "token 10 (line 2): found 'x', wanted entries of a dense matrix"
        );
        assert_eq!(
            told("2 0 2 2 2 2 2 1 0 2 -5 nan", Kind::Lcp),
            "token 12 (line 1): found NaN, wanted entries of q"
        );
        assert!(
            told("999999999999 0 999999999999 999999999999", Kind::Lcp)
                .ends_with("found 0 more bytes, wanted 999999999999 rows or columns")
        );
        assert!(told("2 0 2 2 2 2 1 2 3", Kind::Lcp).contains("the end of the file"));
        assert!(
            told(&BLOCKS.replace("0 2 3  1 0 1", "0 3 2  1 0 1"), Kind::Fc2d)
                .contains("row pointers that do not ascend")
        );
        assert!(
            told(&BLOCKS.replace("0 2 3  1 0 1", "0 2 3  1 0 7"), Kind::Fc2d)
                .contains("block column 7")
        );
        assert!(told(&BLOCKS.replace("0.25", "-0.25"), Kind::Fc2d).contains("mu = -0.25"));
        assert_eq!(
            told("5 1", Kind::Fc3d),
            "unsupported law: rolling friction (5 rows per contact)"
        );
    }

    /// One text per kind and storage, small enough to be broken at every place.
    fn samples() -> Vec<(Kind, String)> {
        let dense = "0 2 2 2 2 2 1 0 2";
        let sparse = "2 2 2 2\nbanner\n2-by-2, nzmax: 3 nnz: 3, 1-norm: 4\n col 0 : locations 0 to \
            1\n 0 : 3\n 1 : 0.1\n col 1 : locations 2 to 2\n 1 : 2\n";
        vec![
            (Kind::Lcp, LCP.into()),
            (Kind::Fc2d, BLOCKS.into()),
            (Kind::Fc2d, format!("2 1 {sparse} 1 2 0.5")),
            (Kind::Relay, format!("2 {dense} 1 2 -1 -inf 1 4")),
            (Kind::Mlcp, format!("1 1 1 1 0 1 2 0 1 {dense} 1 2  2 2 0 1  1 2")),
            (Kind::Gfc2d, format!("2 1 0 2 2 2 2 3 1 1 2 {dense} 1 -1 0.5 0 0.3")),
            (
                Kind::Gmp,
                "1 4 4 2 2 2 1 4 1 4 3 2 0 1 2 0 1 0 2 1 1 0 0 0 1 0 0 0 1 1 2 3 4 2 4 0.5".into(),
            ),
            (Kind::Soclcp, format!("2 1 {dense} 1 2 0 2 0.7")),
        ]
    }

    #[test]
    fn what_is_written_reads_the_same_to_the_bit() {
        for (kind, text) in samples() {
            let stored = read(text.as_bytes(), kind, "x").unwrap();
            let text = write(&stored.given, kind).unwrap();
            assert_eq!(
                read(text.as_bytes(), kind, "x").unwrap(),
                stored,
                "{}: {text}",
                kind.name()
            );
        }
    }

    /// Cut anywhere, or with any word replaced: an error or a sound problem, never a panic.
    #[test]
    fn broken_texts_are_refused_or_sound() {
        let evil = [
            "-1",
            "0",
            "1",
            "7",
            "nan",
            "inf",
            "1e300",
            "99999999",
            "18446744073709551615",
            "x",
            ":",
            "",
            "\u{e9}",
        ];
        for (kind, text) in samples() {
            let whole = read(text.as_bytes(), kind, "x").unwrap();
            for cut in 0..text.len() {
                let result = read(&text.as_bytes()[..cut], kind, "x");
                if let Ok(stored) = result {
                    // Only remarks or digits of the last number may be missing.
                    assert_eq!(stored.given.rows(), whole.given.rows());
                }
            }
            let words: Vec<&str> = text.split(' ').collect();
            for at in 0..words.len() {
                for bad in evil {
                    let mut broken = words.clone();
                    broken[at] = bad;
                    for kind in Kind::ALL {
                        if let Err(error) = read(broken.join(" ").as_bytes(), kind, "x") {
                            assert!(!error.to_string().contains('\n'));
                        }
                    }
                }
            }
        }
    }
}
