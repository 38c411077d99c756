//! Matrices, lists and laws of a problem, between numpy and the engine.

use crate::errors::Failure;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use signorini::math::sparse::Csr;
use signorini::problem::Law;

/// A list of numbers.
pub type Vector<'py> = Bound<'py, PyArray1<f64>>;
/// Number of columns, row starts, columns, values.
pub type Matrix<'py> =
    (usize, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>);
/// Number of rows, number of columns, row starts, columns, values.
pub type MatrixOut<'py> =
    (usize, usize, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Vector<'py>);

/// What is wrong with a problem.
pub fn invalid(text: impl ToString) -> Failure {
    Failure::Named("ProblemError", text.to_string())
}

/// A law as its name and up to two numbers: mu and rows, or lo and hi.
pub type LawParts = (String, f64, f64);

/// The law of these parts.
pub fn law((name, x, y): &LawParts) -> Result<Law, Failure> {
    let rows = || {
        if *y == 2.0 || *y == 3.0 {
            Ok(*y as u8)
        } else {
            Err(invalid(format!("{name}: {y} rows, wanted 2 or 3")))
        }
    };
    match name.as_str() {
        "equality" => Ok(Law::Equality),
        "unilateral" => Ok(Law::Unilateral),
        "interval" => Ok(Law::Interval { lo: *x, hi: *y }),
        "cone" => Ok(Law::Cone { mu: *x, rows: rows()? }),
        "coulomb" => Ok(Law::Coulomb { mu: *x, rows: rows()? }),
        _ => Err(invalid(format!(
            "there is no law `{name}`: wanted equality, unilateral, interval, cone or coulomb"
        ))),
    }
}

/// A law as its parts.
pub fn parts(law: &Law) -> LawParts {
    match *law {
        Law::Equality | Law::Unilateral => (law.name().into(), 0.0, 0.0),
        Law::Interval { lo, hi } => (law.name().into(), lo, hi),
        Law::Cone { mu, rows } | Law::Coulomb { mu, rows } => {
            (law.name().into(), mu, f64::from(rows))
        }
    }
}

/// A matrix by compressed rows; its columns ascend within a row.
pub fn matrix(what: &str, of: &Matrix<'_>) -> Result<Csr, Failure> {
    let (cols, starts, columns, values) = of;
    let wrong = |why: &str| invalid(format!("{what}: {why}"));
    let slice = |a: &PyReadonlyArray1<'_, i64>| {
        a.as_slice().map(<[i64]>::to_vec).map_err(|_| wrong("not contiguous"))
    };
    let (starts, columns) = (slice(starts)?, slice(columns)?);
    let values = values.as_slice().map_err(|_| wrong("not contiguous"))?.to_vec();
    let ends = starts.first() == Some(&0) && starts.last() == Some(&(values.len() as i64));
    if !ends || starts.windows(2).any(|w| w[0] > w[1]) || columns.len() != values.len() {
        return Err(wrong("row starts, columns and values do not fit together"));
    }
    if *cols > u32::MAX as usize || columns.iter().any(|&c| c < 0 || c as usize >= *cols) {
        return Err(wrong(&format!("a column outside 0…{cols}")));
    }
    Ok(Csr {
        rows: starts.len() - 1,
        cols: *cols,
        starts: starts.into_iter().map(|x| x as usize).collect(),
        columns: columns.into_iter().map(|x| x as u32).collect(),
        values,
    })
}

/// The numbers of an array.
pub fn list(what: &str, of: &PyReadonlyArray1<'_, f64>) -> Result<Vec<f64>, Failure> {
    of.as_slice().map(<[f64]>::to_vec).map_err(|_| invalid(format!("{what}: not contiguous")))
}

/// A matrix as arrays.
pub fn out<'py>(py: Python<'py>, of: &Csr) -> MatrixOut<'py> {
    let starts = of.starts.iter().map(|&x| x as i64).collect();
    let columns = of.columns.iter().map(|&x| i64::from(x)).collect();
    let values = PyArray1::from_slice(py, &of.values);
    (of.rows, of.cols, PyArray1::from_vec(py, starts), PyArray1::from_vec(py, columns), values)
}
