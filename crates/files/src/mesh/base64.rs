//! Base64, as VTK's files use it.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes of a text; pieces that were padded one by one may follow each other.
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let letters: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    if !letters.len().is_multiple_of(4) {
        return Err(format!("{} letters of base64, wanted a multiple of four", letters.len()));
    }
    for four in letters.chunks(4) {
        let mut group = 0u32;
        for (i, letter) in four.iter().enumerate() {
            let value = match letter {
                b'=' => 0,
                _ => LETTERS
                    .iter()
                    .position(|l| l == letter)
                    .ok_or_else(|| format!("`{}` is no letter of base64", *letter as char))?,
            };
            group |= (value as u32) << (18 - 6 * i);
        }
        let padding = four.iter().filter(|l| **l == b'=').count();
        out.extend_from_slice(&group.to_be_bytes()[1..4 - padding.min(2)]);
    }
    Ok(out)
}
