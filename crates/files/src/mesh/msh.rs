//! Gmsh's format 4.1: sections `$MeshFormat`, `$Nodes`, `$Elements`, in text or binary.

use super::{Imported, number};
use glam::DVec3;
use std::collections::HashMap;

/// Numbers one after another, of a text or of bytes.
enum Numbers<'a> {
    Text(std::str::SplitAsciiWhitespace<'a>),
    Binary(&'a [u8]),
}

impl Numbers<'_> {
    fn bytes<const N: usize>(rest: &mut &[u8], what: &str) -> Result<[u8; N], String> {
        let (head, tail) =
            rest.split_first_chunk::<N>().ok_or_else(|| format!("ends where {what} was wanted"))?;
        *rest = tail;
        Ok(*head)
    }

    fn int(&mut self, what: &str) -> Result<i64, String> {
        match self {
            Numbers::Text(words) => number(words, what),
            Numbers::Binary(rest) => Ok(i64::from(i32::from_le_bytes(Self::bytes(rest, what)?))),
        }
    }

    fn size(&mut self, what: &str) -> Result<u64, String> {
        match self {
            Numbers::Text(words) => number(words, what),
            Numbers::Binary(rest) => Ok(u64::from_le_bytes(Self::bytes(rest, what)?)),
        }
    }

    fn real(&mut self, what: &str) -> Result<f64, String> {
        match self {
            Numbers::Text(words) => number(words, what),
            Numbers::Binary(rest) => Ok(f64::from_le_bytes(Self::bytes(rest, what)?)),
        }
    }
}

/// Reads a mesh.
pub fn read(bytes: &[u8]) -> Result<Imported, String> {
    let format = section(bytes, "MeshFormat")?;
    let line = format.split(|b| *b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let version: f64 = number(&mut words, "the version of the format")?;
    let binary: u8 = number(&mut words, "0 (text) or 1 (binary)")?;
    let size: u8 = number(&mut words, "the size of a number")?;
    if (version - 4.1).abs() > 1e-9 || size != 8 {
        return Err(format!(
            "is of Gmsh's format {version} with numbers of {size} bytes, wanted 4.1 with 8 (gmsh \
                -format msh41)"
        ));
    }
    if binary == 1 && format.get(line.len() + 1..line.len() + 5) != Some(&[1, 0, 0, 0]) {
        return Err("is binary with the most significant byte first, wanted the least".into());
    }
    let numbers = |name: &str| -> Result<Numbers<'_>, String> {
        let body = section(bytes, name)?;
        if binary == 1 {
            return Ok(Numbers::Binary(body));
        }
        let text = std::str::from_utf8(body).map_err(|_| format!("${name} is no text"))?;
        Ok(Numbers::Text(text.split_ascii_whitespace()))
    };
    let mut out = Imported::default();
    let places = nodes(&mut numbers("Nodes")?, &mut out)?;
    elements(&mut numbers("Elements")?, &mut out, &places)?;
    Ok(out)
}

/// What stands between `$name` and `$Endname`.
fn section<'a>(bytes: &'a [u8], name: &str) -> Result<&'a [u8], String> {
    let find = |mark: &str, from: usize| {
        bytes[from..].windows(mark.len()).position(|w| w == mark.as_bytes()).map(|p| p + from)
    };
    let head = format!("${name}");
    let start = find(&head, 0).ok_or_else(|| format!("has no section {head}"))? + head.len();
    let line =
        bytes[start..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |p| start + p + 1);
    let end = find(&format!("$End{name}"), line)
        .ok_or_else(|| format!("the section {head} has no end"))?;
    Ok(&bytes[line..end])
}

/// All nodes; returns the place of each number.
fn nodes(numbers: &mut Numbers<'_>, out: &mut Imported) -> Result<HashMap<u64, u32>, String> {
    let blocks = numbers.size("the number of blocks of nodes")?;
    for what in ["the number of nodes", "the least node", "the greatest node"] {
        numbers.size(what)?;
    }
    let mut places = HashMap::new();
    for _ in 0..blocks {
        let dimension = numbers.int("the dimension of an entity")?;
        numbers.int("the number of an entity")?;
        let parametric = numbers.int("0 or 1 (parametric)")?;
        let count = numbers.size("the number of nodes of a block")?;
        let first = out.nodes.len();
        for _ in 0..count {
            let tag = numbers.size("the number of a node")?;
            if places.insert(tag, out.nodes.len() as u32).is_some() {
                return Err(format!("node {tag} stands there twice"));
            }
            out.nodes.push(tag);
        }
        for i in 0..count as usize {
            let what = || format!("a coordinate of node {}", out.nodes[first + i]);
            let place =
                DVec3::new(numbers.real(&what())?, numbers.real(&what())?, numbers.real(&what())?);
            for _ in 0..if parametric == 1 { dimension.max(0) } else { 0 } {
                numbers.real("a parametric coordinate")?;
            }
            out.mesh.nodes.push(place);
        }
    }
    Ok(places)
}

/// Nodes of each of Gmsh's types of elements, by number.
fn corners(kind: i64) -> Option<usize> {
    Some(match kind {
        15 => 1,
        1 => 2,
        2 => 3,
        3 | 4 => 4,
        5 => 8,
        6 => 6,
        7 => 5,
        8 => 3,
        9 => 6,
        10 => 9,
        11 => 10,
        16 => 8,
        _ => return None,
    })
}

fn elements(
    numbers: &mut Numbers<'_>,
    out: &mut Imported,
    places: &HashMap<u64, u32>,
) -> Result<(), String> {
    let blocks = numbers.size("the number of blocks of elements")?;
    for what in ["the number of elements", "the least element", "the greatest element"] {
        numbers.size(what)?;
    }
    for _ in 0..blocks {
        let dimension = numbers.int("the dimension of an entity")?;
        numbers.int("the number of an entity")?;
        let kind = numbers.int("the type of the elements")?;
        let count = numbers.size("the number of elements of a block")?;
        let width = corners(kind);
        for _ in 0..count {
            let tag = numbers.size("the number of an element")?;
            let Some(width) = width.filter(|_| dimension < 3 || kind == 4) else {
                return Err(format!(
                    "element {tag} is of Gmsh's type {kind}, wanted tetrahedra of four nodes (4)"
                ));
            };
            let mut nodes = [0u32; 10];
            for node in &mut nodes[..width] {
                let number = numbers.size("a node of an element")?;
                *node = *places.get(&number).ok_or_else(|| {
                    format!("element {tag} names node {number}, which is not there")
                })?;
            }
            if kind == 4 {
                out.elements.push(tag);
                out.mesh.elements.push([nodes[0], nodes[1], nodes[2], nodes[3]]);
            }
        }
    }
    Ok(())
}
