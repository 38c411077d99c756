//! Our own format: one JSON object that says what it is, exact to the bit.
//!
//! ```text
//! {"format": "signorini problem", "version": 1, "name": "ball",
//!  "equations": "H v = k + Jt r;  u = J v + E r + w;  (u, r) in the law of each block",
//!  "H": {"rows": 6, "cols": 6, "starts": […], "columns": […], "values": […]},      compressed rows, whole
//!  "k": […],
//!  "blocks": [{"law": {"coulomb": {"mu": 0.5, "rows": 3}}, "name": "ball/floor",
//!              "columns": […], "values": [… row by row], "E": […], "w": […]}, …],
//!  "solution": {"v": […], "r": […]}, "guess": {"v": […], "r": […]}}
//! ```
//!
//! or, with the velocities eliminated, `"W"` (as `"H"`) and `"q"` in place of `"H"` and `"k"`, and blocks of `law` and `name` alone.
//! Laws: `"equality"`, `"unilateral"`, `{"interval": {"lo", "hi"}}`, `{"cone": {"mu", "rows"}}`, `{"coulomb": {"mu", "rows"}}`;
//! a bound may be `"inf"` or `"-inf"`, every other number is finite.

use super::{FileError, Input, Stored, reduced};
use crate::math::sparse::Csr;
use crate::problem::{Law, Problem, Rows, Solution};
use serde::{Deserialize, Serialize};

const FORMAT: &str = "signorini problem";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
struct File {
    format: String,
    version: u32,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    equations: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    H: Option<Csr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    k: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    W: Option<Csr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    q: Option<Vec<f64>>,
    blocks: Vec<Block>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solution: Option<Solution>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guess: Option<Solution>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
struct Block {
    law: Law,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    columns: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    E: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    w: Vec<f64>,
}

/// Reads a problem.
pub fn read(text: &[u8]) -> Result<Stored, FileError> {
    let file: File = serde_json::from_slice(text).map_err(|e| {
        let found = e.to_string();
        let found = found.rsplit_once(" at line").map_or(found.as_str(), |(found, _)| found);
        let place = format!("line {} column {}", e.line(), e.column());
        FileError::unexpected(place, found.chars().take(160).collect::<String>(), "a problem in Signorini's JSON")
    })?;
    if file.format != FORMAT || file.version != VERSION {
        let found: String = format!("'{}' version {}", file.format, file.version).chars().take(80).collect();
        return Err(FileError::unexpected("format, version", found, format!("'{FORMAT}' version {VERSION}")));
    }
    let names = match file.blocks.iter().filter(|b| b.name.is_some()).count() {
        0 => Vec::new(),
        _ => file.blocks.iter().map(|b| b.name.clone().unwrap_or_default()).collect(),
    };
    let laws: Vec<Law> = file.blocks.iter().map(|b| b.law).collect();
    let input = match (file.H, file.k, file.W, file.q) {
        (Some(h), Some(k), None, None) => Input::Problem(whole(file.name, h, k, &file.blocks, laws, names)?),
        (None, None, Some(w), Some(q)) => Input::Reduced(reduced(file.name, w, q, laws, names)),
        _ => return Err(FileError::unexpected("H, k, W, q", "another choice", "H and k, or W and q")),
    };
    input.check()?;
    for (what, point) in [("solution", &file.solution), ("guess", &file.guess)] {
        let Some(point) = point else { continue };
        if point.v.len() != input.n() || point.r.len() != input.rows() {
            let found = format!("{} velocities and {} reactions", point.v.len(), point.r.len());
            return Err(FileError::unexpected(what, found, format!("{} and {}", input.n(), input.rows())));
        }
    }
    let kept = (0..input.rows()).collect();
    Ok(Stored { given: input.clone(), input, kept, solution: file.solution, guess: file.guess })
}

#[allow(non_snake_case)]
fn whole(name: String, H: Csr, k: Vec<f64>, blocks: &[Block], laws: Vec<Law>, names: Vec<String>) -> Result<Problem, FileError> {
    let mut problem = Problem { name, J: Rows::new(H.cols), H, k, E: Vec::new(), w: Vec::new(), laws, names };
    for (at, block) in blocks.iter().enumerate() {
        let rows = block.law.rows();
        let wanted = rows.checked_mul(block.columns.len());
        for (what, found, wanted) in
            [("values", block.values.len(), wanted), ("E", block.E.len(), Some(rows)), ("w", block.w.len(), Some(rows))]
        {
            if Some(found) != wanted {
                return Err(FileError::unexpected(
                    format!("blocks[{at}].{what}"),
                    format!("{found} numbers"),
                    wanted.unwrap_or(usize::MAX),
                ));
            }
        }
        let ascend = block.columns.windows(2).all(|w| w[0] < w[1]);
        if !ascend || block.columns.last().is_some_and(|&j| j as usize >= problem.H.cols) {
            let wanted = format!("columns that ascend and stay below {}", problem.H.cols);
            return Err(FileError::unexpected(format!("blocks[{at}].columns"), "others", wanted));
        }
        problem.J.push(rows, &block.columns, &block.values);
        problem.E.extend_from_slice(&block.E);
        problem.w.extend_from_slice(&block.w);
    }
    Ok(problem)
}

/// Writes a problem, with a solution and a guess if there are any.
pub fn write(input: &Input, solution: Option<&Solution>, guess: Option<&Solution>) -> String {
    let mut file = File {
        format: FORMAT.into(),
        version: VERSION,
        name: input.name().into(),
        equations: None,
        H: None,
        k: None,
        W: None,
        q: None,
        blocks: Vec::new(),
        solution: solution.cloned(),
        guess: guess.cloned(),
    };
    let block = |law: Law, names: &[String], at: usize| Block {
        law,
        name: names.get(at).cloned(),
        columns: Vec::new(),
        values: Vec::new(),
        E: Vec::new(),
        w: Vec::new(),
    };
    match input {
        Input::Problem(p) => {
            file.equations = Some("H v = k + Jt r;  u = J v + E r + w;  (u, r) in the law of each block".into());
            (file.H, file.k) = (Some(p.H.clone()), Some(p.k.clone()));
            for (at, rows) in p.J.blocks().enumerate() {
                file.blocks.push(Block {
                    columns: rows.columns.to_vec(),
                    values: rows.values.to_vec(),
                    E: p.E[rows.range()].to_vec(),
                    w: p.w[rows.range()].to_vec(),
                    ..block(p.laws[at], &p.names, at)
                });
            }
        }
        Input::Reduced(p) => {
            file.equations = Some("u = W r + q;  (u, r) in the law of each block".into());
            (file.W, file.q) = (Some(p.W.clone()), Some(p.q.clone()));
            file.blocks = p.laws.iter().enumerate().map(|(at, law)| block(*law, &p.names, at)).collect();
        }
    }
    serde_json::to_string(&file).expect("plain data can be written")
}

/// A bound of an interval: a number, or `"inf"` / `"-inf"` (JSON has no infinity).
pub mod bound {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes a bound.
    pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if x.is_finite() { serializer.serialize_f64(*x) } else { serializer.serialize_str(if *x > 0.0 { "inf" } else { "-inf" }) }
    }

    /// Reads a bound.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Bound {
            Number(f64),
            Text(String),
        }
        match Bound::deserialize(deserializer)? {
            Bound::Number(x) => Ok(x),
            Bound::Text(t) if t == "inf" => Ok(f64::INFINITY),
            Bound::Text(t) if t == "-inf" => Ok(f64::NEG_INFINITY),
            Bound::Text(t) => Err(D::Error::custom(format!("a bound is \"{t}\", wanted a number, \"inf\" or \"-inf\""))),
        }
    }
}
