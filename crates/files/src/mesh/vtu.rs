//! VTK's XML format of unstructured grids: arrays in text, in base64 or appended, plain or
//! zlib-compressed.

use super::{Imported, base64};
use flate2::read::ZlibDecoder;
use glam::DVec3;
use std::io::Read;

/// One array of a file.
struct Array<'a> {
    tag: &'a str,
    body: &'a str,
}

/// How the bytes of arrays are written.
struct Coding<'a> {
    /// Bytes of a number in headers: 4 or 8.
    header: usize,
    compressed: bool,
    /// What follows the mark of the appended data, and whether it is base64.
    appended: Option<(&'a [u8], bool)>,
}

/// Reads a mesh.
pub fn read(bytes: &[u8]) -> Result<Imported, String> {
    // Raw appended data is no text: the part before it is.
    let mark = bytes.windows(13).position(|w| w == b"<AppendedData").unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..mark]).map_err(|_| "is no text".to_string())?;
    let file = tag(text, "VTKFile").ok_or("has no <VTKFile>")?;
    if attribute(file, "type") != Some("UnstructuredGrid") {
        return Err(format!(
            "is of type {}, wanted UnstructuredGrid",
            attribute(file, "type").unwrap_or("none")
        ));
    }
    if attribute(file, "byte_order") == Some("BigEndian") {
        return Err("has its most significant byte first, wanted LittleEndian".into());
    }
    let compressor = attribute(file, "compressor").unwrap_or("");
    if !["", "vtkZLibDataCompressor"].contains(&compressor) {
        return Err(format!("is compressed by {compressor}, wanted vtkZLibDataCompressor or none"));
    }
    let appended = (mark < bytes.len()).then(|| {
        let rest = &bytes[mark..];
        let head = rest.iter().position(|b| *b == b'>').map_or(rest.len(), |p| p + 1);
        let encoded = String::from_utf8_lossy(&rest[..head]).contains("base64");
        let start =
            rest[head..].iter().position(|b| *b == b'_').map_or(rest.len(), |p| head + p + 1);
        (&rest[start..], encoded)
    });
    let header = if attribute(file, "header_type") == Some("UInt64") { 8 } else { 4 };
    let coding = Coding { header, compressed: !compressor.is_empty(), appended };
    if text.matches("<Piece").count() > 1 {
        return Err("has more than one <Piece>, wanted one".into());
    }
    let section = |name: &str| -> Result<&str, String> {
        let start = text.find(&format!("<{name}")).ok_or_else(|| format!("has no <{name}>"))?;
        let end = text[start..]
            .find(&format!("</{name}>"))
            .ok_or_else(|| format!("<{name}> has no end"))?;
        Ok(&text[start..start + end])
    };
    let points = numbers(&first(section("Points")?, None)?, &coding)?;
    let cells = section("Cells")?;
    let whole = |name: &str| -> Result<Vec<usize>, String> {
        Ok(numbers(&first(cells, Some(name))?, &coding)?.iter().map(|x| *x as usize).collect())
    };
    let (connectivity, ends) = (whole("connectivity")?, whole("offsets")?);
    let types: Vec<u8> = whole("types")?.iter().map(|x| *x as u8).collect();
    Imported::from_cells(
        points.chunks_exact(3).map(DVec3::from_slice).collect(),
        &connectivity,
        &ends,
        &types,
    )
}

/// The opening tag of an element.
fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{name}"))?;
    let end = text[start..].find('>')?;
    Some(&text[start..start + end])
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// The first array, or the one of this name.
fn first<'a>(section: &'a str, name: Option<&str>) -> Result<Array<'a>, String> {
    let mut rest = section;
    while let Some(start) = rest.find("<DataArray") {
        rest = &rest[start..];
        let head = rest.find('>').ok_or("a <DataArray> has no end")?;
        let tag = &rest[..head];
        let body = if tag.ends_with('/') {
            ""
        } else {
            rest[head + 1..].split("</DataArray>").next().unwrap_or("")
        };
        if name.is_none_or(|n| attribute(tag, "Name") == Some(n)) {
            return Ok(Array { tag, body });
        }
        rest = &rest[head..];
    }
    Err(format!("has no array {}", name.unwrap_or("of points")))
}

/// The numbers of an array.
fn numbers(array: &Array<'_>, coding: &Coding<'_>) -> Result<Vec<f64>, String> {
    let kind = attribute(array.tag, "type").unwrap_or("");
    let bytes = match attribute(array.tag, "format") {
        Some("ascii") | None => {
            let words = array.body.split_ascii_whitespace();
            return words
                .map(|w| w.parse().map_err(|_| format!("found `{w}`, wanted a number")))
                .collect();
        }
        Some("binary") => encoded(array.body.trim(), coding)?,
        Some("appended") => {
            let (data, base64) =
                coding.appended.ok_or("has appended arrays and no <AppendedData>")?;
            let offset: usize = attribute(array.tag, "offset")
                .and_then(|o| o.parse().ok())
                .ok_or("an appended array has no offset")?;
            let data = data.get(offset..).ok_or("an offset lies beyond the appended data")?;
            if base64 {
                let end = data
                    .iter()
                    .position(|b| !(b.is_ascii_alphanumeric() || b"+/=".contains(b)))
                    .unwrap_or(data.len());
                encoded(std::str::from_utf8(&data[..end]).unwrap_or(""), coding)?
            } else {
                raw(data, coding)?
            }
        }
        Some(other) => {
            return Err(format!(
                "has an array in the format {other}, wanted ascii, binary or appended"
            ));
        }
    };
    Ok(match kind {
        "Float64" => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        "Float32" => {
            bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()
        }
        "Int64" | "UInt64" => {
            bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b) as f64).collect()
        }
        "Int32" | "UInt32" => {
            bytes.as_chunks().0.iter().map(|b| f64::from(i32::from_le_bytes(*b))).collect()
        }
        "Int8" | "UInt8" => bytes.iter().map(|b| f64::from(*b)).collect(),
        other => return Err(format!("has an array of type {other}, wanted Float, Int or UInt")),
    })
}

/// What a file claims and does not have.
const ARRAY_TOO_SHORT: &str = "an array is shorter than its header says";
/// Bytes of all arrays together, inflated: a few packed kilobytes may claim any number.
const MAX_ARRAY_BYTES: usize = 1 << 26;

fn header(bytes: &[u8], at: usize, coding: &Coding<'_>) -> Result<usize, String> {
    let start = at.checked_mul(coding.header).ok_or(ARRAY_TOO_SHORT)?;
    let word = bytes
        .get(start..)
        .and_then(|rest| rest.get(..coding.header))
        .ok_or("an array ends within its header")?;
    word.iter()
        .rev()
        .try_fold(0usize, |x, &b| x.checked_mul(256)?.checked_add(usize::from(b)))
        .ok_or_else(|| ARRAY_TOO_SHORT.to_string())
}

/// Bytes of the header of a compressed array of so many blocks.
fn head_bytes(blocks: usize, coding: &Coding<'_>) -> Result<usize, String> {
    blocks
        .checked_add(3)
        .and_then(|n| n.checked_mul(coding.header))
        .ok_or_else(|| ARRAY_TOO_SHORT.to_string())
}

/// Letters of base64 for so many bytes.
fn letters(bytes: usize) -> Result<usize, String> {
    bytes.div_ceil(3).checked_mul(4).ok_or_else(|| ARRAY_TOO_SHORT.to_string())
}

/// Bytes out of base64. A compressed array's header is encoded on its own.
fn encoded(text: &str, coding: &Coding<'_>) -> Result<Vec<u8>, String> {
    let within = "an array ends within its header";
    let start = base64::decode(text.get(..letters(coding.header)?).ok_or(within)?)?;
    let first = header(&start, 0, coding)?;
    if !coding.compressed {
        // An appended array is followed by others: take what the header says.
        let length = letters(first.checked_add(coding.header).ok_or(ARRAY_TOO_SHORT)?)?;
        return raw(&base64::decode(text.get(..length).ok_or(ARRAY_TOO_SHORT)?)?, coding);
    }
    let (head, head_letters) = (head_bytes(first, coding)?, letters(head_bytes(first, coding)?)?);
    let mut bytes = base64::decode(text.get(..head_letters).ok_or(within)?)?;
    let mut total = 0usize;
    for block in 0..first {
        total = total.checked_add(header(&bytes, 3 + block, coding)?).ok_or(ARRAY_TOO_SHORT)?;
    }
    bytes.truncate(head);
    let body = text
        .get(head_letters..)
        .and_then(|rest| rest.get(..letters(total).ok()?))
        .ok_or(ARRAY_TOO_SHORT)?;
    bytes.extend(base64::decode(body)?);
    raw(&bytes, coding)
}

/// The bytes behind a header, inflated if need be.
fn raw(bytes: &[u8], coding: &Coding<'_>) -> Result<Vec<u8>, String> {
    let first = header(bytes, 0, coding)?;
    if !coding.compressed {
        return Ok(bytes[coding.header..].get(..first).ok_or(ARRAY_TOO_SHORT)?.to_vec());
    }
    let mut rest = bytes.get(head_bytes(first, coding)?..).ok_or(ARRAY_TOO_SHORT)?;
    let mut out = Vec::new();
    for block in 0..first {
        let (piece, behind) =
            rest.split_at_checked(header(bytes, 3 + block, coding)?).ok_or(ARRAY_TOO_SHORT)?;
        let room = (MAX_ARRAY_BYTES - out.len()) as u64;
        let found = ZlibDecoder::new(piece)
            .take(room + 1)
            .read_to_end(&mut out)
            .map_err(|e| format!("zlib: {e}"))?;
        if found as u64 > room {
            return Err(format!("an array inflates to more than {MAX_ARRAY_BYTES} bytes"));
        }
        rest = behind;
    }
    Ok(out)
}
