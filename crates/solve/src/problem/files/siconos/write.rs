//! Siconos' text formats, written so that reading them gives back the same problem to the bit.

use super::Kind;
use crate::math::sparse::Csr;
use crate::problem::files::{FileError, Input};
use crate::problem::{Law, Problem, Reduced};
use std::fmt::Write;

/// Writes a problem as a text of this kind, if the kind can express it.
pub fn write(input: &Input, kind: Kind) -> Result<String, FileError> {
    let mut out = String::new();
    match (kind, input) {
        (Kind::Gfc2d, Input::Problem(p)) => global(&mut out, p, 2)?,
        (Kind::Gfc3d, Input::Problem(p)) => global(&mut out, p, 3)?,
        (Kind::Gfc2d | Kind::Gfc3d, Input::Reduced(_)) => {
            return Err(inexpressible("a problem without velocities"));
        }
        (Kind::Rfc3d | Kind::Grfc3d, _) => {
            return Err(inexpressible("anything but rolling friction"));
        }
        (_, Input::Problem(_)) => return Err(inexpressible("a problem with velocities")),
        (Kind::Fc2d, Input::Reduced(p)) => friction(&mut out, p, 2)?,
        (Kind::Fc3d, Input::Reduced(p)) => friction(&mut out, p, 3)?,
        (Kind::Lcp, Input::Reduced(p)) => lcp(&mut out, p)?,
        (Kind::Mlcp, Input::Reduced(p)) => mlcp(&mut out, p)?,
        (Kind::Relay, Input::Reduced(p)) => relay(&mut out, p)?,
        (Kind::Gmp, Input::Reduced(p)) => gmp(&mut out, p)?,
        (Kind::Soclcp, Input::Reduced(p)) => soclcp(&mut out, p)?,
    }
    Ok(out)
}

fn inexpressible(what: &str) -> FileError {
    FileError::Inexpressible { format: "this kind of Siconos text", what: what.into() }
}

fn law_of(law: &Law) -> FileError {
    inexpressible(&format!("{} laws of {} rows", law.name(), law.rows()))
}

fn line(out: &mut String, words: impl IntoIterator<Item = impl std::fmt::Display>) {
    for word in words {
        let _ = write!(out, "{word} ");
    }
    out.push('\n');
}

/// The shortest digits that give back the same number.
fn numbers(out: &mut String, x: &[f64]) {
    line(out, x.iter().map(|x| format!("{x:e}")));
}

/// The coefficients of contacts of `d` rows.
fn coefficients(laws: &[Law], d: usize) -> Result<Vec<f64>, FileError> {
    laws.iter()
        .map(|law| law.friction().filter(|_| law.rows() == d).ok_or_else(|| law_of(law)))
        .collect()
}

fn friction(out: &mut String, p: &Reduced, d: usize) -> Result<(), FileError> {
    let mu = coefficients(&p.laws, d)?;
    line(out, [d, mu.len()]);
    matrix(out, &p.W);
    numbers(out, &p.q);
    numbers(out, &mu);
    Ok(())
}

fn global(out: &mut String, p: &Problem, d: usize) -> Result<(), FileError> {
    if p.E.iter().any(|&e| e != 0.0) {
        return Err(inexpressible("compliance"));
    }
    let mu = coefficients(&p.laws, d)?;
    line(out, [d, mu.len()]);
    matrix(out, &p.H);
    matrix(out, &p.J.to_csr().transposed());
    numbers(out, &p.k);
    numbers(out, &p.w);
    numbers(out, &mu);
    Ok(())
}

fn lcp(out: &mut String, p: &Reduced) -> Result<(), FileError> {
    if let Some(other) = p.laws.iter().find(|law| **law != Law::Unilateral) {
        return Err(law_of(other));
    }
    line(out, [p.rows()]);
    matrix(out, &p.W);
    numbers(out, &p.q);
    Ok(())
}

fn relay(out: &mut String, p: &Reduced) -> Result<(), FileError> {
    let (mut los, mut his) = (Vec::new(), Vec::new());
    for law in &p.laws {
        let Law::Interval { lo, hi } = *law else { return Err(law_of(law)) };
        los.push(lo);
        his.push(hi);
    }
    line(out, [p.rows()]);
    matrix(out, &p.W);
    numbers(out, &p.q);
    numbers(out, &los);
    numbers(out, &his);
    Ok(())
}

/// Ends of the runs of equal one-row laws; any other law is a run of its own.
fn runs(laws: &[Law]) -> Vec<(Law, usize)> {
    let mut runs: Vec<(Law, usize)> = Vec::new();
    let mut end = 0;
    for law in laws {
        end += law.rows();
        match runs.last_mut() {
            Some(last) if last.0 == *law && law.rows() == 1 => last.1 = end,
            _ => runs.push((*law, end)),
        }
    }
    runs
}

fn mlcp(out: &mut String, p: &Reduced) -> Result<(), FileError> {
    if let Some(other) = p.laws.iter().find(|law| !matches!(law, Law::Equality | Law::Unilateral)) {
        return Err(law_of(other));
    }
    let equalities = p.laws.iter().filter(|law| **law == Law::Equality).count();
    let runs = runs(&p.laws);
    line(out, [1, 0, equalities, p.rows() - equalities]);
    line(out, [0].into_iter().chain(runs.iter().map(|run| run.1)));
    line(out, runs.iter().map(|run| u8::from(run.0 == Law::Unilateral)));
    matrix(out, &p.W);
    numbers(out, &p.q);
    Ok(())
}

fn gmp(out: &mut String, p: &Reduced) -> Result<(), FileError> {
    let runs = runs(&p.laws);
    let mut types = String::new();
    for (law, _) in &runs {
        match *law {
            Law::Unilateral => line(&mut types, ["0"]),
            Law::Equality => line(&mut types, ["2"]),
            Law::Coulomb { mu, rows: 3 } => line(&mut types, ["4".to_string(), format!("{mu:e}")]),
            _ => return Err(law_of(law)),
        }
    }
    blocks(out, &p.W, &runs.iter().map(|run| run.1).collect::<Vec<usize>>());
    numbers(out, &p.q);
    *out += &types;
    Ok(())
}

fn soclcp(out: &mut String, p: &Reduced) -> Result<(), FileError> {
    let mut taus = Vec::new();
    for law in &p.laws {
        taus.push(match *law {
            Law::Unilateral => 1.0,
            Law::Cone { mu, .. } => mu,
            _ => return Err(law_of(law)),
        });
    }
    line(out, [p.rows(), taus.len()]);
    matrix(out, &p.W);
    numbers(out, &p.q);
    line(out, &p.row_starts);
    numbers(out, &taus);
    Ok(())
}

/// Dense where at least a quarter of the entries is there, else triplets.
fn matrix(out: &mut String, a: &Csr) {
    if a.nonzeros() >= a.rows * a.cols / 4 {
        line(out, [0, a.rows, a.cols]);
        line(out, [a.rows, a.cols]);
        let columns = a.transposed().to_dense();
        for column in columns.chunks(a.rows.max(1)) {
            numbers(out, column);
        }
        return;
    }
    line(out, [2, a.rows, a.cols]);
    *out += "1\nCSparse\n";
    let _ =
        writeln!(out, "triplet: {}-by-{}, nzmax: {n} nnz: {n}", a.rows, a.cols, n = a.nonzeros());
    for i in 0..a.rows {
        let (columns, values) = a.row(i);
        for (j, x) in columns.iter().zip(values) {
            let _ = writeln!(out, "{i} {j} : {x:e}");
        }
    }
}

/// Square blocks over these ends; blocks without entries are left out.
fn blocks(out: &mut String, a: &Csr, ends: &[usize]) {
    let starts: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).collect();
    let block_of = |j: u32| ends.partition_point(|&end| end <= j as usize);
    let (mut pointers, mut columns) = (vec![0], Vec::new());
    for rows in starts.windows(2) {
        let mut hit: Vec<usize> =
            (rows[0]..rows[1]).flat_map(|i| a.row(i).0.iter().map(|&j| block_of(j))).collect();
        hit.sort_unstable();
        hit.dedup();
        columns.extend(hit);
        pointers.push(columns.len());
    }
    line(out, [1, a.rows, a.cols]);
    line(out, [columns.len(), ends.len(), ends.len()]);
    line(out, ends);
    line(out, ends);
    line(out, [pointers.len(), columns.len()]);
    line(out, &pointers);
    line(out, &columns);
    for row in 0..ends.len() {
        for k in pointers[row]..pointers[row + 1] {
            line(out, [k]);
            for j in starts[columns[k]]..starts[columns[k] + 1] {
                numbers(
                    out,
                    &(starts[row]..starts[row + 1]).map(|i| a.get(i, j)).collect::<Vec<f64>>(),
                );
            }
        }
    }
}
