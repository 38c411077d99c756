//! Arrays of numbers as numpy's `.npz`: an uncompressed zip archive of `.npy` files, to the same
//! bytes for the same numbers.

/// An array of doubles, the last index fastest.
pub struct Array {
    /// What `numpy.load(…)` calls it.
    pub name: String,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub data: Vec<f64>,
}

/// The bytes of the archive.
pub fn pack(arrays: &[Array]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for array in arrays {
        let (name, body) = (format!("{}.npy", array.name), npy(array));
        let mut crc = flate2::Crc::new();
        crc.update(&body);
        let offset = out.len() as u32;
        out.extend(b"PK\x03\x04");
        let about = about(&name, crc.sum(), body.len() as u32);
        out.extend(&about);
        out.extend(name.as_bytes());
        out.extend(&body);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&about);
        // Comment, disk, attributes: none.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length, count) = (out.len() as u32, directory.len() as u32, arrays.len() as u16);
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    out.extend([length.to_le_bytes(), start.to_le_bytes()].concat());
    out.extend([0; 2]);
    out
}

/// What the entry of a file and the directory both say: version, flags (names are UTF-8), no
/// compression, 1 January 1980, sizes.
fn about(name: &str, crc: u32, size: u32) -> Vec<u8> {
    let mut out = vec![20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0];
    out.extend([crc.to_le_bytes(), size.to_le_bytes(), size.to_le_bytes()].concat());
    out.extend((name.len() as u16).to_le_bytes());
    out.extend([0; 2]);
    out
}

/// numpy's format, version 1.0.
fn npy(array: &Array) -> Vec<u8> {
    let sizes: String = array.shape.iter().map(|n| format!("{n}, ")).collect();
    let head =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    let length = (10 + head.len() + 1).next_multiple_of(64) - 10;
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((length as u16).to_le_bytes());
    out.extend(format!("{head:<width$}\n", width = length - 1).bytes());
    array.data.iter().for_each(|x| out.extend(x.to_le_bytes()));
    out
}
