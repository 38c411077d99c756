//! Files that are there as a whole or not at all.
//!
//! The bytes go into a hidden file beside the place, onto the disk, and then take the name in one
//! step of the file system: whoever looks finds the old file or the new one, also when the program
//! is killed, the disk is full, or the power fails.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The ending of files that are not whole yet.
pub const PARTIAL: &str = "partial";

/// Writes a file as a whole, onto the disk.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, true)
}

/// The same without waiting for the disk: whole for all programs, but a failing power supply may
/// take it away.
pub fn write_quickly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, false)
}

fn write(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    // A device or a pipe (/dev/stdout) cannot be replaced by a file.
    if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return OpenOptions::new().write(true).open(path)?.write_all(bytes);
    }
    let place = match fs::symlink_metadata(path) {
        // What a link leads to is what is meant.
        Ok(about) if about.is_symlink() => fs::canonicalize(path)?,
        _ => path.to_path_buf(),
    };
    let partial = partial(&place);
    let written = fill(&partial, bytes, durable).and_then(|()| fs::rename(&partial, &place));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    } else if durable {
        sync_folder(&place);
    }
    written
}

/// A file that `make` writes under another name beside it: it takes its own when it is complete.
pub fn make_whole(path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let partial = partial(path);
    let made = make(&partial).and_then(|()| fs::rename(&partial, path));
    if made.is_err() {
        let _ = fs::remove_file(&partial);
    }
    made
}

fn fill(partial: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    // What an earlier process of this number left behind; a new file is never a link to somewhere.
    let _ = fs::remove_file(partial);
    let mut file = OpenOptions::new().write(true).create_new(true).open(partial)?;
    file.write_all(bytes)?;
    if durable { file.sync_all() } else { Ok(()) }
}

/// Two programs that write the same file do not meet in the same partial one.
fn partial(place: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}.{PARTIAL}", std::process::id()));
    place.with_file_name(name)
}

/// Puts the names of a folder on the disk, where a system can do that.
fn sync_folder(file: &Path) {
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_old_one_or_the_new_one() {
        let folder = std::env::temp_dir().join(format!("signorini-whole-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let place = folder.join("a");
        write_whole(&place, b"old").unwrap();
        write_quickly(&place, b"new").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"new");
        assert!(write_whole(&folder, b"x").is_err(), "a folder is not replaced");
        let half = make_whole(&place, |partial| {
            fs::write(partial, b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(half.is_err() && fs::read(&place).unwrap() == b"new");
        make_whole(&place, |partial| fs::write(partial, b"made")).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"made");
        #[cfg(unix)]
        {
            let link = folder.join("link");
            std::os::unix::fs::symlink(&place, &link).unwrap();
            write_whole(&link, b"through").unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&place).unwrap(), b"through");
            // A device stays one.
            assert!(write_whole(Path::new("/dev/null"), b"x").is_ok());
            assert!(!fs::metadata("/dev/null").unwrap().is_file());
            if Path::new("/dev/full").exists() {
                assert_eq!(
                    write_whole(Path::new("/dev/full"), b"x").unwrap_err().kind(),
                    io::ErrorKind::StorageFull
                );
            }
        }
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(PARTIAL)), "{left:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
