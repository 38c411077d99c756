//! Files that grow, and can be cut back to where a checkpoint left them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Opens a partial table again and cuts it to its remembered length.
pub fn reopen(folder: &Path, name: &str, lengths: &[(String, u64)]) -> io::Result<File> {
    let path = partial(folder, name);
    // A run that was stopped while it gave its tables their names: they take the other one again.
    if !path.exists() && folder.join(name).exists() {
        fs::rename(folder.join(name), &path)?;
    }
    let length = lengths.iter().find(|(n, _)| n == name).map_or(0, |(_, length)| *length);
    let mut file = OpenOptions::new().write(true).open(&path)?;
    if file.metadata()?.len() < length {
        return Err(io::Error::other(format!(
            "{name} is shorter than at the checkpoint: was it changed?"
        )));
    }
    file.set_len(length)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

/// Puts everything on the disk and returns the length.
pub fn sync(file: &mut BufWriter<File>) -> io::Result<u64> {
    file.flush()?;
    // A device has no data to keep.
    let _ = file.get_ref().sync_data();
    Ok(file.get_ref().metadata()?.len())
}

/// A table of our own.
pub struct AppendFile {
    folder: PathBuf,
    name: &'static str,
    writer: BufWriter<File>,
}

impl AppendFile {
    /// A new table with this first line.
    pub fn create(folder: &Path, name: &'static str, head: &str) -> io::Result<AppendFile> {
        let mut writer = BufWriter::new(File::create(partial(folder, name))?);
        writeln!(writer, "{head}")?;
        Ok(AppendFile { folder: folder.to_path_buf(), name, writer })
    }

    /// A table that was interrupted.
    pub fn resume(
        folder: &Path,
        name: &'static str,
        lengths: &[(String, u64)],
    ) -> io::Result<AppendFile> {
        Ok(AppendFile {
            folder: folder.to_path_buf(),
            name,
            writer: BufWriter::new(reopen(folder, name, lengths)?),
        })
    }

    /// Appends a line.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.writer, "{text}")
    }

    /// Puts it on the disk; its name and length.
    pub fn sync(&mut self) -> io::Result<(String, u64)> {
        Ok((self.name.into(), sync(&mut self.writer)?))
    }

    /// It is whole: it takes its name.
    pub fn finish(mut self) -> io::Result<()> {
        sync(&mut self.writer)?;
        fs::rename(partial(&self.folder, self.name), self.folder.join(self.name))
    }
}

/// The name of a table that is not whole yet.
pub fn partial(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.partial"))
}
