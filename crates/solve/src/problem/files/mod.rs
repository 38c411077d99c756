//! Problems in files.
//!
//! A file states a problem in its own rows; [`Stored::new`] keeps that statement and makes of it
//! the [`Input`] that methods solve:
//!
//! * a friction block with mu = 0 keeps its normal row alone, as `Unilateral`: its tangent rows
//!   carry no reaction;
//! * a mass matrix that is not symmetric within [`SYMMETRY_TOLERANCE`](super::SYMMETRY_TOLERANCE)
//!   cannot be a [`Problem`]: the velocities are eliminated with the matrix as given, which keeps
//!   the W of the file, non-symmetric as it is.
//!
//! [`Stored::answer`] goes the other way, from a solution to the file's own rows.
//!
//! Formats: [`siconos`] (text), [`json`] (our own); FCLib's HDF5 lives in the command-line crate.
//! A broken file is one line that names the place, what was found and what was wanted
//! ([`FileError`]).

pub mod json;
pub mod siconos;
mod tokens;

use super::{Invalid, Law, Problem, Reduced, Rows, Solution, symmetric};
use crate::math::lu::Lu;
use crate::math::sparse::Csr;

/// What is wrong with a file: the place in it, what was found there, what was wanted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FileError {
    /// Something else than wanted.
    #[error("{place}: found {found}, wanted {wanted}")]
    Unexpected {
        /// Token and line, or the path of a dataset.
        place: String,
        /// What stands there.
        found: String,
        /// What should stand there.
        wanted: String,
    },
    /// A law that no method here treats.
    #[error("unsupported law: {0}")]
    UnsupportedLaw(String),
    /// The file was read, the problem in it makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The format cannot express the problem.
    #[error("{format} cannot express {what}")]
    Inexpressible {
        /// The format.
        format: &'static str,
        /// What it has no place for.
        what: String,
    },
}

impl FileError {
    /// [`FileError::Unexpected`] from anything that can be printed.
    pub fn unexpected(
        place: impl ToString,
        found: impl ToString,
        wanted: impl ToString,
    ) -> FileError {
        FileError::Unexpected {
            place: place.to_string(),
            found: found.to_string(),
            wanted: wanted.to_string(),
        }
    }
}

/// A problem as it came out of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// With velocities.
    Problem(Problem),
    /// With the velocities eliminated.
    Reduced(Reduced),
}

impl Input {
    /// The problem's name.
    pub fn name(&self) -> &str {
        match self {
            Input::Problem(p) => &p.name,
            Input::Reduced(p) => &p.name,
        }
    }

    /// Number of velocities (0 if they are eliminated).
    pub fn n(&self) -> usize {
        match self {
            Input::Problem(p) => p.n(),
            Input::Reduced(_) => 0,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Input::Problem(p) => p.rows(),
            Input::Reduced(p) => p.rows(),
        }
    }

    /// The law of each block.
    pub fn laws(&self) -> &[Law] {
        match self {
            Input::Problem(p) => &p.laws,
            Input::Reduced(p) => &p.laws,
        }
    }

    /// The name of block `k`.
    pub fn block_name(&self, k: usize) -> String {
        match self {
            Input::Problem(p) => p.block_name(k),
            Input::Reduced(p) => p.block_name(k),
        }
    }

    /// The name of row `row`.
    pub fn row_name(&self, row: usize) -> String {
        match self {
            Input::Problem(p) => p.row_name(row),
            Input::Reduced(p) => p.row_name(row),
        }
    }

    /// The same problem with its friction blocks under the convex law.
    pub fn associated(self) -> Input {
        match self {
            Input::Problem(p) => Input::Problem(p.associated()),
            Input::Reduced(p) => Input::Reduced(p.associated()),
        }
    }

    /// The same problem with its friction blocks under the true Coulomb law.
    pub fn true_friction(self) -> Input {
        match self {
            Input::Problem(p) => Input::Problem(p.true_friction()),
            Input::Reduced(p) => Input::Reduced(p.true_friction()),
        }
    }

    /// Looks at everything and names the first culprit.
    pub fn check(&self) -> Result<(), Invalid> {
        match self {
            Input::Problem(p) => p.check(),
            Input::Reduced(p) => p.check(),
        }
    }

    /// The zero guess.
    pub fn zero(&self) -> Solution {
        Solution::zero(self.n(), self.rows())
    }
}

/// Everything that a problem file may hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The problem.
    pub input: Input,
    /// The solution stored with it, if any; its error is not known.
    pub solution: Option<Solution>,
    /// A starting point stored with it, if any.
    pub guess: Option<Solution>,
    /// The problem in the file's own rows: friction blocks with mu = 0 whole, M as given.
    pub given: Input,
    /// Which rows of `given` the rows of `input` are.
    pub kept: Vec<usize>,
}

/// A solution in the file's own rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Velocities (n; empty if the file has none), m/s.
    pub v: Vec<f64>,
    /// Local velocities of every row, m/s.
    pub u: Vec<f64>,
    /// Reactions of every row, N s; 0 where the row was dropped.
    pub r: Vec<f64>,
}

impl Stored {
    /// The problem that a file states, made fit for the methods and checked.
    pub fn new(mut given: Input) -> Result<Stored, FileError> {
        if let Input::Problem(p) = &mut given {
            p.H = with_mirrors(&p.H);
        }
        let kept = kept_rows(given.laws());
        let input = match &given {
            Input::Problem(p) if symmetric(&p.H).is_err() => Input::Reduced(condense(p, &kept)?),
            Input::Problem(p) => Input::Problem(trim(p, &kept)),
            Input::Reduced(p) => Input::Reduced(trim_reduced(p, &kept)),
        };
        input.check()?;
        Ok(Stored { input, solution: None, guess: None, given, kept })
    }

    /// A solution out of the file's own rows; `None` if the sizes do not match or a number is not
    /// finite.
    pub fn point(&self, v: Vec<f64>, r: &[f64]) -> Option<Solution> {
        let v = if self.input.n() == 0 { Vec::new() } else { v };
        let fits = r.len() == self.given.rows() && v.len() == self.input.n();
        let finite = v.iter().chain(r).all(|x| x.is_finite());
        (fits && finite).then(|| Solution { v, r: self.kept.iter().map(|&i| r[i]).collect() })
    }

    /// A solution in the file's own rows; where the velocities were eliminated they are computed
    /// from the reactions.
    pub fn answer(&self, solution: &Solution) -> Result<Answer, FileError> {
        let m = self.given.rows();
        let mut answer = Answer { v: solution.v.clone(), u: vec![0.0; m], r: vec![0.0; m] };
        for (&i, &r) in self.kept.iter().zip(&solution.r) {
            answer.r[i] = r;
        }
        match &self.given {
            Input::Problem(p) => {
                if self.input.n() == 0 {
                    answer.v = p.k.clone();
                    p.J.add_transposed(&answer.r, &mut answer.v);
                    lu(&p.H)?.solve(&mut answer.v);
                }
                p.local_velocities(&answer.v, &answer.r, &mut answer.u);
            }
            Input::Reduced(p) => p.local_velocities(&answer.r, &mut answer.u),
        }
        Ok(answer)
    }
}

/// The same matrix, with a stored zero opposite every entry that stands alone: the pattern of a
/// mass is symmetric.
fn with_mirrors(matrix: &Csr) -> Csr {
    let mut triplets = Vec::with_capacity(matrix.nonzeros());
    for i in 0..matrix.rows {
        let (columns, values) = matrix.row(i);
        for (&j, &x) in columns.iter().zip(values) {
            triplets.push((i as u32, j, x));
            if (j as usize) < matrix.rows
                && matrix.row(j as usize).0.binary_search(&(i as u32)).is_err()
            {
                triplets.push((j, i as u32, 0.0));
            }
        }
    }
    if triplets.len() == matrix.nonzeros() {
        matrix.clone()
    } else {
        Csr::from_triplets(matrix.rows, matrix.cols, &triplets)
    }
}

/// Friction with mu = 0 keeps its normal row alone.
fn frictionless(law: &Law) -> bool {
    law.friction() == Some(0.0)
}

fn kept_rows(laws: &[Law]) -> Vec<usize> {
    let (mut kept, mut first) = (Vec::new(), 0);
    for law in laws {
        kept.extend(first..first + if frictionless(law) { 1 } else { law.rows() });
        first += law.rows();
    }
    kept
}

fn trimmed_laws(laws: &[Law]) -> Vec<Law> {
    laws.iter().map(|law| if frictionless(law) { Law::Unilateral } else { *law }).collect()
}

fn pick(x: &[f64], kept: &[usize]) -> Vec<f64> {
    kept.iter().map(|&i| x[i]).collect()
}

/// The rows `kept` of `matrix`.
fn pick_rows(matrix: &Csr, kept: &[usize]) -> Csr {
    let mut out = Csr::empty(kept.len(), matrix.cols);
    for (at, &i) in kept.iter().enumerate() {
        let (columns, values) = matrix.row(i);
        out.columns.extend_from_slice(columns);
        out.values.extend_from_slice(values);
        out.starts[at + 1] = out.columns.len();
    }
    out
}

fn trim(p: &Problem, kept: &[usize]) -> Problem {
    if kept.len() == p.rows() {
        return p.clone();
    }
    let laws = trimmed_laws(&p.laws);
    Problem {
        name: p.name.clone(),
        H: p.H.clone(),
        k: p.k.clone(),
        J: Rows::from_csr(&pick_rows(&p.J.to_csr(), kept), &laws),
        E: pick(&p.E, kept),
        w: pick(&p.w, kept),
        laws,
        names: p.names.clone(),
    }
}

fn trim_reduced(p: &Reduced, kept: &[usize]) -> Reduced {
    if kept.len() == p.rows() {
        return p.clone();
    }
    let square = pick_rows(&pick_rows(&p.W, kept).transposed(), kept).transposed();
    reduced(p.name.clone(), square, pick(&p.q, kept), trimmed_laws(&p.laws), p.names.clone())
}

/// A reduced problem, not checked yet.
#[allow(non_snake_case)]
pub fn reduced(name: String, W: Csr, q: Vec<f64>, laws: Vec<Law>, names: Vec<String>) -> Reduced {
    let mut row_starts = vec![0];
    for law in &laws {
        row_starts.push(row_starts[row_starts.len() - 1] + law.rows());
    }
    Reduced { name, W, q, laws, row_starts, names }
}

fn lu(matrix: &Csr) -> Result<Lu, FileError> {
    Lu::of(matrix).ok_or_else(|| {
        FileError::unexpected("mass matrix M", "a singular matrix", "one that can be solved with")
    })
}

/// `W = J M⁻¹ Jᵀ + E`, `q = J M⁻¹ k + w` with M as given, over the kept rows.
fn condense(p: &Problem, kept: &[usize]) -> Result<Reduced, FileError> {
    let factor = lu(&p.H)?;
    let all = pick_rows(&p.J.to_csr(), kept);
    let mut free = p.k.clone();
    factor.solve(&mut free);
    let mut q = vec![0.0; kept.len()];
    all.mul(&free, &mut q);
    let mut triplets = Vec::new();
    let (mut x, mut column) = (vec![0.0; p.n()], vec![0.0; kept.len()]);
    for (j, &row) in kept.iter().enumerate() {
        q[j] += p.w[row];
        x.fill(0.0);
        all.add_row(j, 1.0, &mut x);
        factor.solve(&mut x);
        all.mul(&x, &mut column);
        column[j] += p.E[row];
        triplets.extend(
            column
                .iter()
                .enumerate()
                .filter(|(_, x)| **x != 0.0)
                .map(|(i, &x)| (i as u32, j as u32, x)),
        );
    }
    let w = Csr::from_triplets(kept.len(), kept.len(), &triplets);
    Ok(reduced(p.name.clone(), w, q, trimmed_laws(&p.laws), p.names.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounding on one side of the diagonal only: who couples with whom still is a symmetric
    /// question.
    #[test]
    fn an_entry_that_stands_alone_is_rounding_or_asymmetry() {
        let n = 60;
        let chain = |extra: f64| {
            let mut t: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 2.0)).collect();
            t.extend((1..n - 1).flat_map(|i| [(i, i - 1, -0.5), (i - 1, i, -0.5)]));
            // The last unknown is free but for this.
            t.push((n - 1, 0, extra));
            let rows = Csr::from_dense(1, n as usize, &vec![1.0; n as usize]);
            let laws = vec![Law::Unilateral];
            let (name, k) = ("x".to_string(), vec![0.0; n as usize]);
            let j = Rows::from_csr(&rows, &laws);
            Input::Problem(Problem {
                name,
                H: Csr::from_triplets(n as usize, n as usize, &t),
                k,
                J: j,
                E: vec![0.0],
                w: vec![-1.0],
                laws,
                names: vec![],
            })
        };
        assert!(chain(1e-14).check().is_err());
        assert!(matches!(Stored::new(chain(1e-14)).unwrap().input, Input::Problem(_)));
        assert!(matches!(Stored::new(chain(0.1)).unwrap().input, Input::Reduced(_)));
    }
}
