//! The waist: one problem, many methods.
//!
//! ```text
//!   H v = k + Jᵀ r            momentum            H (n × n) symmetric positive definite, sparse
//!   u   = J v + E r + w       local velocities    E (m) ≥ 0: compliance, a diagonal
//!   (u_k, r_k) ∈ Law_k        one law per block of rows
//! ```
//!
//! Everything that mechanics can express ends up here; no method knows what a body is, no joint
//! knows what a method is. A [`Problem`] is plain data: clone it, compare it, store it, send it.
//!
//! * [`Law`]: the five laws. [`Rows`]: J, with what contacts of rigid bodies are made of.
//!   [`Reduced`]: the same problem with v eliminated.
//! * [`error`]: how wrong a solution is, in joules. [`literature`]: the figures other programs
//!   print.
//! * [`islands`]: independent parts. [`files`]: problems in files.

pub mod error;
mod estimate;
pub mod files;
pub mod islands;
pub mod law;
pub mod literature;
pub mod reduced;
mod residual;
pub mod rigid;
pub mod rows;
pub mod test_problems;
pub mod tolerance;

pub use error::{Criterion, PreparedProblem, Residual, Tolerance, Unmet};
pub use law::Law;
pub use reduced::Reduced;
pub use rigid::{RigidBody, RigidContact, RigidContacts};
pub use rows::{RowBlock, Rows};

use crate::math::cliques::CliqueFactor;
use crate::math::sparse::Csr;
use serde::{Deserialize, Serialize};

/// One time step's problem: find (v, r) with `H v = k + Jᵀ r`, `u = J v + E r + w`,
/// `(u_k, r_k) ∈ Law_k`.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(non_snake_case)]
pub struct Problem {
    /// What the problem is called in tables and messages.
    pub name: String,
    /// Mass or iteration matrix (n × n), symmetric positive definite, stored whole; kg, kg m².
    pub H: Csr,
    /// Momentum without reactions (n), N s, N m s.
    pub k: Vec<f64>,
    /// Constraint Jacobian (m × n), block by block.
    pub J: Rows,
    /// Compliance of each row (m), ≥ 0; (m/s)/(N s).
    pub E: Vec<f64>,
    /// Velocity without motion (m): gap/h, restitution, imposed motion; m/s, rad/s.
    pub w: Vec<f64>,
    /// The law of each block.
    pub laws: Vec<Law>,
    /// A name for each block, or none at all.
    pub names: Vec<String>,
}

impl Clone for Problem {
    fn clone(&self) -> Problem {
        let mut out = Problem::default();
        out.clone_from(self);
        out
    }

    fn clone_from(&mut self, other: &Problem) {
        let Problem { name, H, k, J, E, w, laws, names } = self;
        name.clone_from(&other.name);
        H.clone_from(&other.H);
        J.clone_from(&other.J);
        for (to, from) in [(k, &other.k), (E, &other.E), (w, &other.w)] {
            to.clone_from(from);
        }
        laws.clone_from(&other.laws);
        names.clone_from(&other.names);
    }
}

/// An answer, and the guess before it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Solution {
    /// Velocities at the end of the step (n; empty for a [`Reduced`] problem), m/s, rad/s.
    pub v: Vec<f64>,
    /// Reactions: impulses (m), N s, N m s.
    pub r: Vec<f64>,
}

impl Clone for Solution {
    fn clone(&self) -> Solution {
        Solution { v: self.v.clone(), r: self.r.clone() }
    }

    fn clone_from(&mut self, other: &Solution) {
        self.v.clone_from(&other.v);
        self.r.clone_from(&other.r);
    }
}

/// What is wrong with a problem: the culprit and its value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Invalid {
    /// There is nothing to solve for.
    #[error("no unknowns: H is 0 × 0")]
    NoUnknowns,
    /// A reduced problem without rows.
    #[error("no rows: W is 0 × 0")]
    NoRows,
    /// A vector or matrix of the wrong size.
    #[error("{what} has {found}, wanted {wanted}")]
    Size {
        /// Which one.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The size that the rest of the problem asks for.
        wanted: usize,
    },
    /// An index that points outside, or a list that does not ascend.
    #[error("{what}: entry {place} is {found}, wanted below {wanted} and ascending")]
    Index {
        /// Which list.
        what: &'static str,
        /// Which entry.
        place: usize,
        /// Its value.
        found: usize,
        /// The limit.
        wanted: usize,
    },
    /// A number that is NaN or infinite.
    #[error("{what}[{place}] is {value}, wanted a finite number")]
    NotFinite {
        /// Which vector.
        what: &'static str,
        /// Which entry.
        place: usize,
        /// Its value.
        value: f64,
    },
    /// H is not symmetric.
    #[error("H is not symmetric: H[{row},{column}] = {upper} but H[{column},{row}] = {lower}")]
    Asymmetric {
        /// Row.
        row: usize,
        /// Column.
        column: usize,
        /// Entry above.
        upper: f64,
        /// Entry below.
        lower: f64,
    },
    /// H is not positive definite.
    #[error("H is not positive definite: pivot {pivot:.3e} at unknown {unknown}")]
    Indefinite {
        /// The unknown.
        unknown: usize,
        /// The pivot found there.
        pivot: f64,
    },
    /// A block that is not the contact that it is said to be.
    #[error("the rows of block {block} are not those of its rigid contact")]
    Contact {
        /// The block.
        block: usize,
    },
    /// A compliance below zero.
    #[error("E[{row}] is {value}, wanted ≥ 0")]
    Compliance {
        /// The row.
        row: usize,
        /// Its compliance.
        value: f64,
    },
    /// A law with impossible parameters.
    #[error("law of block {block} ({name}): {why}")]
    Law {
        /// The block.
        block: usize,
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
}

impl Problem {
    /// Number of velocities n.
    pub fn n(&self) -> usize {
        self.H.rows
    }

    /// Number of rows m.
    pub fn rows(&self) -> usize {
        self.J.len()
    }

    /// The name of block `k`, made up if it has none.
    pub fn block_name(&self, k: usize) -> String {
        block_name(&self.laws, &self.names, k)
    }

    /// The name of row `row`: its block, and for friction blocks which of its rows.
    pub fn row_name(&self, row: usize) -> String {
        row_name(&self.laws, &self.J.row_starts, &self.names, row)
    }

    /// `u ← J v + E r + w`.
    pub fn local_velocities(&self, v: &[f64], r: &[f64], u: &mut [f64]) {
        self.J.mul(v, u);
        for i in 0..u.len() {
            u[i] += self.E[i] * r[i] + self.w[i];
        }
    }

    /// Looks at everything and names the first culprit; costs one factorization of H.
    pub fn check(&self) -> Result<(), Invalid> {
        let (n, m) = (self.n(), self.rows());
        if n == 0 {
            return Err(Invalid::NoUnknowns);
        }
        size("columns of H", self.H.cols, n)?;
        size("k", self.k.len(), n)?;
        size("columns of J", self.J.cols, n)?;
        size("E", self.E.len(), m)?;
        size("w", self.w.len(), m)?;
        check_laws(&self.laws, &self.names, &self.J.row_starts)?;
        check_csr("H", &self.H)?;
        check_indices("columns of J", &self.J.columns, n)?;
        for block in self.J.blocks() {
            size("values of a block of J", block.values.len(), block.rows * block.columns.len())?;
            if let Some(p) = block.columns.windows(2).position(|w| w[0] >= w[1]) {
                return Err(Invalid::Index {
                    what: "columns of a block of J",
                    place: p + 1,
                    found: block.columns[p + 1] as usize,
                    wanted: n,
                });
            }
        }
        self.J.check_rigid()?;
        for (what, values) in [
            ("H", &self.H.values),
            ("k", &self.k),
            ("J", &self.J.values),
            ("E", &self.E),
            ("w", &self.w),
        ] {
            finite(what, values)?;
        }
        if let Some(row) = self.E.iter().position(|&e| e < 0.0) {
            return Err(Invalid::Compliance { row, value: self.E[row] });
        }
        symmetric(&self.H)?;
        if let Some(unknown) = (0..n).find(|&i| self.H.get(i, i) <= 0.0) {
            return Err(Invalid::Indefinite { unknown, pivot: self.H.get(unknown, unknown) });
        }
        let mut factor = CliqueFactor::default();
        factor
            .factor(&self.H)
            .map_err(|bad| Invalid::Indefinite { unknown: bad.unknown, pivot: bad.pivot })
    }

    /// The same problem with its friction blocks under the convex law.
    pub fn associated(mut self) -> Problem {
        self.laws.iter_mut().for_each(|law| *law = law.associated());
        self
    }

    /// The same problem with its friction blocks under the true Coulomb law.
    pub fn true_friction(mut self) -> Problem {
        self.laws.iter_mut().for_each(|law| *law = law.true_friction());
        self
    }
}

impl Solution {
    /// The zero guess for a problem of this size.
    pub fn zero(n: usize, m: usize) -> Solution {
        Solution { v: vec![0.0; n], r: vec![0.0; m] }
    }

    /// As [`Solution::zero`], in the memory at hand.
    pub fn reset(&mut self, n: usize, m: usize) {
        for (list, size) in [(&mut self.v, n), (&mut self.r, m)] {
            list.clear();
            list.resize(size, 0.0);
        }
    }
}

/// The largest difference between H and Hᵀ that counts as rounding, relative to √(H_ii H_jj).
pub const SYMMETRY_TOLERANCE: f64 = 1e-10;

/// Checks that `h` equals its transposed up to rounding, and that its pattern does so exactly: who
/// couples with whom must not depend on the direction.
pub fn symmetric(h: &Csr) -> Result<(), Invalid> {
    let diagonal: Vec<f64> = (0..h.rows).map(|i| h.get(i, i)).collect();
    for i in 0..h.rows {
        let (columns, values) = h.row(i);
        for (&j, &upper) in columns.iter().zip(values) {
            let j = j as usize;
            let lower = h.get(j, i);
            let scale = (diagonal[i] * diagonal[j]).abs().sqrt();
            let alone = h.row(j).0.binary_search(&(i as u32)).is_err();
            if j != i && (alone || (upper - lower).abs() > SYMMETRY_TOLERANCE * scale) {
                return Err(Invalid::Asymmetric { row: i, column: j, upper, lower });
            }
        }
    }
    Ok(())
}

pub(crate) fn size(what: &'static str, found: usize, wanted: usize) -> Result<(), Invalid> {
    if found == wanted { Ok(()) } else { Err(Invalid::Size { what, found, wanted }) }
}

pub(crate) fn finite(what: &'static str, values: &[f64]) -> Result<(), Invalid> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(place) => Err(Invalid::NotFinite { what, place, value: values[place] }),
        None => Ok(()),
    }
}

fn check_indices(what: &'static str, indices: &[u32], limit: usize) -> Result<(), Invalid> {
    match indices.iter().position(|&j| j as usize >= limit) {
        Some(place) => {
            Err(Invalid::Index { what, place, found: indices[place] as usize, wanted: limit })
        }
        None => Ok(()),
    }
}

pub(crate) fn check_csr(what: &'static str, a: &Csr) -> Result<(), Invalid> {
    size(what, a.starts.len(), a.rows + 1)?;
    size(what, a.columns.len(), a.values.len())?;
    let ends = a.starts.first() == Some(&0) && a.starts.last() == Some(&a.values.len());
    if !ends || a.starts.windows(2).any(|w| w[0] > w[1]) {
        return Err(Invalid::Size {
            what,
            found: *a.starts.last().unwrap_or(&0),
            wanted: a.values.len(),
        });
    }
    check_indices(what, &a.columns, a.cols)?;
    for i in 0..a.rows {
        let columns = a.row(i).0;
        if let Some(p) = columns.windows(2).position(|w| w[0] >= w[1]) {
            return Err(Invalid::Index {
                what,
                place: a.starts[i] + p + 1,
                found: columns[p + 1] as usize,
                wanted: a.cols,
            });
        }
    }
    Ok(())
}

pub(crate) fn check_laws(
    laws: &[Law],
    names: &[String],
    row_starts: &[usize],
) -> Result<(), Invalid> {
    size("laws", laws.len(), row_starts.len().saturating_sub(1))?;
    if !names.is_empty() {
        size("names", names.len(), laws.len())?;
    }
    for (k, law) in laws.iter().enumerate() {
        size("rows of a block", row_starts[k + 1] - row_starts[k], law.rows())?;
        let why = match *law {
            Law::Interval { lo, hi }
                if lo.is_nan()
                    || hi.is_nan()
                    || lo > hi
                    || lo == f64::INFINITY
                    || hi == f64::NEG_INFINITY =>
            {
                format!("lo = {lo}, hi = {hi}, wanted lo ≤ hi")
            }
            Law::Cone { mu, .. } | Law::Coulomb { mu, .. } if !(mu >= 0.0 && mu.is_finite()) => {
                format!("mu = {mu}, wanted a number ≥ 0")
            }
            Law::Cone { rows, .. } | Law::Coulomb { rows, .. } if !(2..=3).contains(&rows) => {
                format!("{rows} rows, wanted 2 or 3")
            }
            _ => continue,
        };
        return Err(Invalid::Law { block: k, name: block_name(laws, names, k), why });
    }
    Ok(())
}

pub(crate) fn block_name(laws: &[Law], names: &[String], k: usize) -> String {
    match names.get(k) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => match laws[k] {
            Law::Equality => format!("equality {k}"),
            Law::Interval { .. } => format!("interval {k}"),
            _ => format!("contact {k}"),
        },
    }
}

pub(crate) fn row_name(laws: &[Law], row_starts: &[usize], names: &[String], row: usize) -> String {
    let k = row_starts.partition_point(|&s| s <= row) - 1;
    let name = block_name(laws, names, k);
    if laws[k].rows() == 1 {
        name
    } else {
        format!("{name} {}", ["normal", "tangent 1", "tangent 2"][row - row_starts[k]])
    }
}
