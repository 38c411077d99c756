//! The legacy format of VTK: an unstructured grid, in text or binary (most significant byte first),
//! versions 2 to 5.

use super::{Imported, number};
use glam::DVec3;

/// The rest of a file.
struct Rest<'a> {
    bytes: &'a [u8],
    binary: bool,
}

impl<'a> Rest<'a> {
    /// The next line that is not empty.
    fn line(&mut self) -> Option<&'a str> {
        while !self.bytes.is_empty() {
            let end = self.bytes.iter().position(|b| *b == b'\n').unwrap_or(self.bytes.len());
            let line = &self.bytes[..end];
            self.bytes = &self.bytes[(end + 1).min(self.bytes.len())..];
            match std::str::from_utf8(line).map(str::trim) {
                Ok("") => {}
                Ok(line) => return Some(line),
                Err(_) => return None,
            }
        }
        None
    }

    /// `count` numbers of a type, as real numbers.
    fn numbers(&mut self, count: usize, kind: &str, what: &str) -> Result<Vec<f64>, String> {
        // No claim is believed: a number takes a byte at least.
        let mut out = Vec::with_capacity(count.min(self.bytes.len()));
        if !self.binary {
            for _ in 0..count {
                let start = self
                    .bytes
                    .iter()
                    .position(|b| !b.is_ascii_whitespace())
                    .unwrap_or(self.bytes.len());
                let rest = &self.bytes[start..];
                let end = rest.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(rest.len());
                let word = std::str::from_utf8(&rest[..end]).unwrap_or("?");
                out.push(number(&mut [word].into_iter().filter(|w| !w.is_empty()), what)?);
                self.bytes = &rest[end..];
            }
            return Ok(out);
        }
        let size = match kind {
            "double" | "long" | "vtktypeint64" | "vtkIdType" => 8,
            "float" | "int" | "unsigned_int" => 4,
            _ => {
                return Err(format!(
                    "{what}: found numbers of type {kind}, wanted float, double, int or \
                        vtktypeint64"
                ));
            }
        };
        let length = count
            .checked_mul(size)
            .ok_or_else(|| format!("claims {count} numbers where {what} was wanted"))?;
        let (bytes, rest) = self
            .bytes
            .split_at_checked(length)
            .ok_or_else(|| format!("ends where {what} was wanted"))?;
        self.bytes = rest;
        for word in bytes.chunks(size) {
            let long = word.iter().fold(0u64, |x, &b| x << 8 | u64::from(b));
            out.push(match kind {
                "double" => f64::from_bits(long),
                "float" => f64::from(f32::from_bits(long as u32)),
                "int" | "unsigned_int" => f64::from(long as u32 as i32),
                _ => long as i64 as f64,
            });
        }
        Ok(out)
    }
}

/// Reads a mesh.
pub fn read(bytes: &[u8]) -> Result<Imported, String> {
    let mut rest = Rest { bytes, binary: false };
    let head = rest.line().unwrap_or_default();
    if !head.starts_with("# vtk DataFile") {
        return Err("begins without `# vtk DataFile Version`".into());
    }
    rest.line();
    rest.binary = match rest.line() {
        Some("ASCII") => false,
        Some("BINARY") => true,
        other => return Err(format!("found `{}`, wanted ASCII or BINARY", other.unwrap_or(""))),
    };
    let (mut points, mut connectivity, mut ends, mut types) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    while let Some(line) = rest.line() {
        let mut words = line.split_ascii_whitespace();
        match words.next().unwrap_or_default() {
            "DATASET" if words.next() != Some("UNSTRUCTURED_GRID") => {
                return Err(format!("found `{line}`, wanted DATASET UNSTRUCTURED_GRID"));
            }
            "POINTS" => {
                let count: usize = number(&mut words, "the number of points")?;
                let kind = words.next().unwrap_or("float");
                let flat = rest.numbers(
                    count.checked_mul(3).ok_or("claims too many points")?,
                    kind,
                    "a coordinate",
                )?;
                points = flat.chunks_exact(3).map(DVec3::from_slice).collect();
            }
            "CELLS" => {
                let count: usize = number(&mut words, "the number of cells")?;
                let size: usize = number(&mut words, "the size of the list of cells")?;
                cells(&mut rest, count, size, &mut connectivity, &mut ends)?;
            }
            "CELL_TYPES" => {
                let count: usize = number(&mut words, "the number of types")?;
                types = rest
                    .numbers(count, "int", "the type of a cell")?
                    .iter()
                    .map(|x| *x as u8)
                    .collect();
            }
            "CELL_DATA" | "POINT_DATA" => break,
            _ => {}
        }
    }
    Imported::from_cells(points, &connectivity, &ends, &types)
}

/// Either form of the list of cells: counts between the corners, or (since version 5) offsets and
/// corners.
fn cells(
    rest: &mut Rest<'_>,
    count: usize,
    size: usize,
    connectivity: &mut Vec<usize>,
    ends: &mut Vec<usize>,
) -> Result<(), String> {
    let ahead = rest.bytes;
    if let Some(line) = rest.line().filter(|l| l.starts_with("OFFSETS")) {
        let kind = line.split_ascii_whitespace().nth(1).unwrap_or("vtktypeint64");
        let offsets = rest.numbers(count, kind, "an offset of a cell")?;
        ends.extend(offsets.iter().skip(1).map(|x| *x as usize));
        let line = rest.line().unwrap_or_default();
        let kind = line.split_ascii_whitespace().nth(1).unwrap_or("vtktypeint64");
        connectivity
            .extend(rest.numbers(size, kind, "a corner of a cell")?.iter().map(|x| *x as usize));
        return Ok(());
    }
    rest.bytes = ahead;
    let flat = rest.numbers(size, "int", "a corner of a cell")?;
    let mut at = 0;
    for cell in 0..count {
        let corners =
            *flat.get(at).ok_or_else(|| format!("the list of cells ends before element {cell}"))?
                as usize;
        let list = flat[at + 1..]
            .get(..corners)
            .ok_or_else(|| format!("the list of cells ends within element {cell}"))?;
        connectivity.extend(list.iter().map(|x| *x as usize));
        ends.push(connectivity.len());
        at += 1 + list.len();
    }
    Ok(())
}
