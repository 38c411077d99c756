//! Files as wholes, within bounds: no device, no pipe, nothing larger than memory should hold.
//!
//! A scene names other files, and a scene may come from anywhere. A pipe would wait for ever,
//! `/dev/zero` would fill the memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest scene or robot file, bytes.
pub const SCENE: u64 = 256 << 20;
/// The longest mesh file, bytes.
pub const MESH: u64 = 1 << 30;
/// The longest problem, kept step or checkpoint, bytes.
pub const PROBLEM: u64 = 4 << 30;

/// The bytes of a regular file of at most `most` bytes; the message names no file.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    // Looked at before it is opened: to open a pipe is to wait for whoever writes into it.
    let about = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if about.is_dir() {
        return Err("it is a folder, wanted a file".into());
    }
    if !about.is_file() {
        return Err("it is a device, a pipe or a socket, wanted a regular file".into());
    }
    let long = |length: u64| format!("it has {length} bytes, wanted at most {most}");
    if about.len() > most {
        return Err(long(about.len()));
    }
    let file = File::open(path).map_err(|e| e.to_string())?;
    let mut out = Vec::with_capacity(about.len() as usize);
    // It may grow while it is read.
    file.take(most + 1).read_to_end(&mut out).map_err(|e| e.to_string())?;
    if out.len() as u64 > most { Err(long(out.len() as u64)) } else { Ok(out) }
}

/// The text of a regular file of at most `most` bytes; the message names no file.
pub fn text(path: &Path, most: u64) -> Result<String, String> {
    String::from_utf8(bytes(path, most)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("byte {at} is no UTF-8 text")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_length_are_read() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(text(&here.join("Cargo.toml"), SCENE).unwrap().contains("[package]"));
        assert!(bytes(&here.join("Cargo.toml"), 10).unwrap_err().contains("wanted at most 10"));
        assert!(bytes(here, SCENE).unwrap_err().contains("a folder"));
        assert!(bytes(&here.join("nothing"), SCENE).is_err());
        if cfg!(unix) {
            assert!(
                bytes(Path::new("/dev/zero"), SCENE).unwrap_err().contains("wanted a regular file")
            );
        }
    }
}
