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
//! or, with the velocities eliminated, `"W"` (as `"H"`) and `"q"` in place of `"H"` and `"k"`, and
//! blocks of `law` and `name` alone. Laws: `"equality"`, `"unilateral"`,
//! `{"interval": {"lo", "hi"}}`, `{"cone": {"mu", "rows"}}`, `{"coulomb": {"mu", "rows"}}`; a bound
//! may be `"inf"` or `"-inf"`, every other number is finite.
//!
//! What contacts of rigid bodies are made of, where it is known, stands in
//!
//! ```text
//!  "bodies": [{"column": 0, "attitude": [x, y, z, w]}, …],
//!  "blocks": [{…, "contact": {"bodies": [0, null], "frame": [[…], […], […]], "arms": [[…], […]]}}, …]
//! ```
//!
//! ([`crate::problem::rigid`]); a block with it may do without `columns` and `values`.

use super::{FileError, Input, Stored, reduced};
use crate::math::sparse::Csr;
use crate::problem::{Law, Problem, RigidBody, RigidContact, Rows, Solution};
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bodies: Vec<RigidBody>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contact: Option<Contact>,
}

/// A [`RigidContact`] in its block.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contact {
    bodies: [Option<u32>; 2],
    frame: [[f64; 3]; 3],
    arms: [[f64; 3]; 2],
}

/// Reads a problem.
pub fn read(text: &[u8]) -> Result<Stored, FileError> {
    let file: File = serde_json::from_slice(text).map_err(|e| {
        let found = e.to_string();
        let found = found.rsplit_once(" at line").map_or(found.as_str(), |(found, _)| found);
        let place = format!("line {} column {}", e.line(), e.column());
        FileError::unexpected(
            place,
            found.chars().take(160).collect::<String>(),
            "a problem in Signorini's JSON",
        )
    })?;
    if file.format != FORMAT || file.version != VERSION {
        let found: String =
            format!("'{}' version {}", file.format, file.version).chars().take(80).collect();
        return Err(FileError::unexpected(
            "format, version",
            found,
            format!("'{FORMAT}' version {VERSION}"),
        ));
    }
    let names = match file.blocks.iter().filter(|b| b.name.is_some()).count() {
        0 => Vec::new(),
        _ => file.blocks.iter().map(|b| b.name.clone().unwrap_or_default()).collect(),
    };
    let laws: Vec<Law> = file.blocks.iter().map(|b| b.law).collect();
    let input = match (file.H, file.k, file.W, file.q) {
        (Some(h), Some(k), None, None) => {
            let whole = whole(h, k, (file.bodies, &file.blocks), laws)?;
            Input::Problem(Problem { name: file.name, names, ..whole })
        }
        (None, None, Some(w), Some(q)) => Input::Reduced(reduced(file.name, w, q, laws, names)),
        _ => {
            return Err(FileError::unexpected(
                "H, k, W, q",
                "another choice",
                "H and k, or W and q",
            ));
        }
    };
    input.check()?;
    for (what, point) in [("solution", &file.solution), ("guess", &file.guess)] {
        let Some(point) = point else { continue };
        if point.v.len() != input.n() || point.r.len() != input.rows() {
            let found = format!("{} velocities and {} reactions", point.v.len(), point.r.len());
            return Err(FileError::unexpected(
                what,
                found,
                format!("{} and {}", input.n(), input.rows()),
            ));
        }
    }
    let kept = (0..input.rows()).collect();
    Ok(Stored { given: input.clone(), input, kept, solution: file.solution, guess: file.guess })
}

/// A problem without names.
#[allow(non_snake_case)]
fn whole(
    H: Csr,
    k: Vec<f64>,
    (bodies, blocks): (Vec<RigidBody>, &[Block]),
    laws: Vec<Law>,
) -> Result<Problem, FileError> {
    let mut problem = Problem { J: Rows::new(H.cols), H, k, laws, ..Problem::default() };
    problem.J.rigid.bodies = bodies;
    let (mut made_columns, mut made_values) = (Vec::new(), Vec::new());
    for (at, block) in blocks.iter().enumerate() {
        let rows = block.law.rows();
        let (mut columns, mut values) = (&block.columns, &block.values);
        if let Some(contact) = block.contact {
            let known = |body: &u32| (*body as usize) < problem.J.rigid.bodies.len();
            if rows != 3 || !contact.bodies.iter().flatten().all(known) {
                return Err(FileError::unexpected(
                    format!("blocks[{at}].contact"),
                    format!("{rows} rows, bodies {:?}", contact.bodies),
                    format!("3 rows, bodies below {}", problem.J.rigid.bodies.len()),
                ));
            }
            let Contact { bodies, frame, arms } = contact;
            let contact = RigidContact { block: at as u32, bodies, frame, arms };
            if columns.is_empty() && values.is_empty() {
                problem.J.rigid.rows(&contact, &mut made_columns, &mut made_values);
                (columns, values) = (&made_columns, &made_values);
            }
            problem.J.rigid.contacts.push(contact);
        }
        let wanted = rows.checked_mul(columns.len());
        for (what, found, wanted) in [
            ("values", values.len(), wanted),
            ("E", block.E.len(), Some(rows)),
            ("w", block.w.len(), Some(rows)),
        ] {
            if Some(found) != wanted {
                return Err(FileError::unexpected(
                    format!("blocks[{at}].{what}"),
                    format!("{found} numbers"),
                    wanted.unwrap_or(usize::MAX),
                ));
            }
        }
        let ascend = columns.windows(2).all(|w| w[0] < w[1]);
        if !ascend || columns.last().is_some_and(|&j| j as usize >= problem.H.cols) {
            let wanted = format!("columns that ascend and stay below {}", problem.H.cols);
            return Err(FileError::unexpected(format!("blocks[{at}].columns"), "others", wanted));
        }
        problem.J.push(rows, columns, values);
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
        bodies: Vec::new(),
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
        contact: None,
    };
    match input {
        Input::Problem(p) => {
            file.equations =
                Some("H v = k + Jt r;  u = J v + E r + w;  (u, r) in the law of each block".into());
            (file.H, file.k) = (Some(p.H.clone()), Some(p.k.clone()));
            if !p.J.rigid.is_empty() {
                file.bodies.clone_from(&p.J.rigid.bodies);
            }
            for (at, rows) in p.J.blocks().enumerate() {
                let contact = p.J.rigid.of_block(at);
                let contact = contact.map(|&RigidContact { bodies, frame, arms, .. }| Contact {
                    bodies,
                    frame,
                    arms,
                });
                file.blocks.push(Block {
                    contact,
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
            file.blocks =
                p.laws.iter().enumerate().map(|(at, law)| block(*law, &p.names, at)).collect();
        }
    }
    serde_json::to_string(&file).expect("plain data can be written")
}

/// A bound of an interval: a number, or `"inf"` / `"-inf"` (JSON has no infinity).
pub mod bound {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes a bound.
    pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if x.is_finite() {
            serializer.serialize_f64(*x)
        } else {
            serializer.serialize_str(if *x > 0.0 { "inf" } else { "-inf" })
        }
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
            Bound::Text(t) => Err(D::Error::custom(format!(
                "a bound is \"{t}\", wanted a number, \"inf\" or \"-inf\""
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Input {
        let laws = vec![
            Law::Equality,
            Law::Interval { lo: f64::NEG_INFINITY, hi: 0.1 + 0.2 },
            Law::Coulomb { mu: 1.0 / 3.0, rows: 2 },
            Law::Unilateral,
        ];
        let rows = Csr::from_dense(
            5,
            3,
            &[1.0, 0.0, -0.1, 0.0, 1e-300, 2.0, 3.0, 0.0, 0.0, 0.0, -1.0, 0.7, 0.0, 0.0, 0.0],
        );
        Input::Problem(Problem {
            name: "a \"name\"\n".into(),
            H: Csr::from_dense(3, 3, &[2.0, 0.1, 0.0, 0.1, 3.0, 0.0, 0.0, 0.0, 1e-7]),
            k: vec![-0.0, 1e300, 5e-324],
            J: Rows::from_csr(&rows, &laws),
            E: vec![0.0, 0.3, 0.0, 0.0, 1.0],
            w: vec![1.0, f64::MIN_POSITIVE, -7.0 / 9.0, 0.0, f64::MAX],
            laws,
            names: vec!["hinge".into(), String::new(), "foot".into(), "stop".into()],
        })
    }

    fn reduced_sample() -> Input {
        let laws =
            vec![Law::Cone { mu: 0.3, rows: 3 }, Law::Interval { lo: -1.0, hi: f64::INFINITY }];
        let w = Csr::from_dense(
            4,
            4,
            &[
                1.0,
                0.2,
                0.0,
                0.0,
                0.1,
                1.0,
                0.0,
                0.0,
                0.0,
                0.0,
                1.0 / 3.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -2.0,
            ],
        );
        Input::Reduced(reduced("w".into(), w, vec![0.1, -0.2, 0.3, -0.4], laws, Vec::new()))
    }

    fn bits(input: &Input) -> Vec<u64> {
        match input {
            Input::Problem(p) => [&p.H.values, &p.k, &p.J.values, &p.E, &p.w]
                .iter()
                .flat_map(|x| x.iter().map(|x| x.to_bits()))
                .collect(),
            Input::Reduced(p) => {
                [&p.W.values, &p.q].iter().flat_map(|x| x.iter().map(|x| x.to_bits())).collect()
            }
        }
    }

    #[test]
    fn what_is_written_reads_the_same_to_the_bit() {
        for input in [sample(), reduced_sample()] {
            let mut point = input.zero();
            point.r.iter_mut().enumerate().for_each(|(i, r)| *r = 1.0 / (i as f64 + 3.0));
            let text = write(&input, Some(&point), Some(&input.zero()));
            let stored = read(text.as_bytes()).unwrap();
            assert_eq!(stored.input, input);
            assert_eq!(bits(&stored.input), bits(&input), "−0 is −0");
            assert_eq!((stored.solution, stored.guess), (Some(point), Some(input.zero())));
        }
    }

    #[test]
    fn rigid_contacts_are_kept_and_may_stand_for_their_rows() {
        let mut problem = Problem {
            name: "contact".into(),
            H: Csr::diagonal(&[1.0; 13]),
            k: vec![0.5; 13],
            J: Rows::new(13),
            E: vec![0.0; 4],
            w: vec![0.1; 4],
            laws: vec![Law::Equality, Law::Coulomb { mu: 0.5, rows: 3 }],
            names: Vec::new(),
        };
        problem.J.rigid.bodies = vec![(1, [0.6, 0.0, 0.0, 0.8]), (7, [0.0, -0.28, 0.0, 0.96])]
            .into_iter()
            .map(|(column, attitude)| RigidBody { column, attitude })
            .collect();
        problem.J.push(1, &[0], &[1.0]);
        problem.J.push_contact(RigidContact {
            block: 0,
            bodies: [Some(1), Some(0)],
            frame: [[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.6]],
            arms: [[0.1, 1.0 / 3.0, -0.2], [0.3, 0.0, 0.7]],
        });
        let input = Input::Problem(problem);
        let text = write(&input, None, None);
        assert_eq!(read(text.as_bytes()).unwrap().input, input);
        // Without its rows it says the same; a reader that knows rows alone needs no more.
        let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
        let block = file["blocks"][1].as_object_mut().unwrap();
        assert!(block.remove("columns").is_some() && block.remove("values").is_some());
        let read_back = read(file.to_string().as_bytes()).unwrap();
        assert_eq!((&read_back.input, bits(&read_back.input)), (&input, bits(&input)));
        // Not the contact of these rows; a body that is not there.
        let other = text.replace("[0.1,0.3333333333333333,-0.2]", "[0.1,0.3333333333333333,-0.3]");
        let told = read(other.as_bytes()).unwrap_err().to_string();
        assert!(told.contains("the rows of block 1"), "{told}");
        let told = read(text.replace("[1,0]", "[1,2]").as_bytes()).unwrap_err().to_string();
        assert!(told.starts_with("blocks[1].contact"), "{told}");
        for cut in 0..text.len() {
            assert!(read(&text.as_bytes()[..cut]).is_err());
        }
    }

    #[test]
    fn complaints_name_the_place() {
        let text = write(&sample(), None, None);
        let told = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert!(told(&text[..100]).starts_with("line 1 column 100: "), "{}", told(&text[..100]));
        assert!(told(&text.replace("\"version\":1", "\"version\":2")).contains("version 2"));
        assert!(
            told(&text.replace("\"columns\":[1,2]", "\"columns\":[1,9]"))
                .starts_with("blocks[1].columns"),
            "{}",
            told(&text)
        );
        assert!(
            told(&text.replace("\"columns\":[1,2]", "\"columns\":[1]"))
                .starts_with("blocks[1].values")
        );
        assert!(told(&text.replace("\"mu\":0.3", "\"mu\":-0.3")).contains("mu = -0.3"));
        assert!(told(&text.replace("\"-inf\"", "\"nan\"")).contains("wanted"));
        assert!(told(&text.replace("\"k\":[-0.0", "\"k\":[null")).contains("null"));
        assert!(told(&text.replace("\"k\":[-0.0", "\"k\":[1e999")).contains("out of range"));
        assert!(told(&text.replace("\"k\":", "\"kay\":")).contains("unknown field"));
        let deep = format!("{{\"format\":{}", "[".repeat(1_000_000));
        assert!(told(&deep).starts_with("line 1 column"));
    }

    /// Cut anywhere, or with any number replaced: an error or a sound problem, never a panic.
    #[test]
    fn broken_texts_are_refused_or_sound() {
        for input in [sample(), reduced_sample()] {
            let text = write(&input, Some(&input.zero()), None);
            for cut in 0..text.len() {
                assert!(read(&text.as_bytes()[..cut]).is_err());
            }
            for (at, c) in text.char_indices() {
                if c.is_ascii_digit() {
                    for bad in [
                        "-1",
                        "9",
                        "4294967296",
                        "18446744073709551615",
                        "1e308",
                        "null",
                        "[]",
                        "{}",
                        "\"\"",
                    ] {
                        let broken = format!("{}{bad}{}", &text[..at], &text[at + 1..]);
                        let _ = read(broken.as_bytes());
                    }
                }
            }
        }
    }
}
