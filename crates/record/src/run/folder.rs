//! The folder of a run: one writer at a time, and nothing in it from a run before.

use signorini_solve::whole::PARTIAL;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

/// The file that is locked; it stays.
const LOCK: &str = ".lock";

/// The right to write into a folder, until this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a folder cannot be written into.
#[derive(Debug)]
pub enum Taken {
    /// Another process writes there: its number, if it is known.
    Busy(String),
    /// In the system's words.
    Unwritable(io::Error),
}

impl Lock {
    /// Takes a folder, which is made if need be.
    pub fn take(folder: &Path) -> Result<Lock, Taken> {
        fs::create_dir_all(folder).map_err(Taken::Unwritable)?;
        no_links(folder).map_err(Taken::Unwritable)?;
        let path = folder.join(LOCK);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(Taken::Unwritable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut number = String::new();
                let _ = (&mut file).take(20).read_to_string(&mut number);
                let known = number
                    .trim()
                    .parse::<u32>()
                    .map_or(String::new(), |n| format!(" (process {n})"));
                return Err(Taken::Busy(known));
            }
            // A file system without locks: there is nobody to ask.
            Err(TryLockError::Error(_)) => return Ok(Lock { _file: file }),
        }
        // What a writer that was killed left; whoever holds the lock is the only writer.
        remove(folder, left_by_killed).map_err(Taken::Unwritable)?;
        // For the message of whoever comes next; without it, it is the poorer.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Lock { _file: file })
    }
}

/// Takes away what an earlier run left: never is there something of two runs. Files of other names
/// stay.
pub fn clear(folder: &Path) -> io::Result<()> {
    let entries: Vec<String> = match fs::read_dir(folder) {
        Ok(list) => list.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    let series: Vec<&str> = entries.iter().filter_map(|name| name.strip_suffix(".pvd")).collect();
    let ours = |name: &str| {
        TABLES.contains(&name)
            || kept_step(name)
            || partial(name)
            || series.iter().any(|stem| of_series(name, stem))
    };
    for name in
        FIRST.iter().copied().chain(entries.iter().map(String::as_str).filter(|name| ours(name)))
    {
        gone(&folder.join(name))?;
    }
    Ok(())
}

/// A folder of results may come from anybody: what is written or continued there is a file of the
/// folder, never one elsewhere that a link names.
fn no_links(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(written);
        if ours && fs::symlink_metadata(entry.path())?.is_symlink() {
            let why = format!("{} is a link: remove it", name.to_string_lossy());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
    }
    Ok(())
}

/// Removes the files of a folder whose names are `wanted`.
fn remove(folder: &Path, wanted: fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(wanted) {
            gone(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file if it is there.
fn gone(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// What says that the run is complete is removed first, what is large last.
const FIRST: [&str; 2] = ["run.json", "checkpoint.json"];
const TABLES: [&str; 6] =
    ["bodies.csv", "contacts.csv", "motors.csv", "reactions.csv", "record.bin", "report.html"];

/// What a sweep writes beside the lock.
const SWEEP: [&str; 3] = ["manifest.jsonl", "table.csv", "runs"];

/// Whether a run or a sweep writes something of this name.
fn written(name: &str) -> bool {
    name == LOCK || SWEEP.contains(&name) || result(name) || partial(name)
}

/// Whether a file of this name is a result of a run.
fn result(name: &str) -> bool {
    let frame = |stem: &str| {
        stem.rsplit_once('_')
            .is_some_and(|(_, n)| n.len() >= 6 && n.bytes().all(|b| b.is_ascii_digit()))
    };
    TABLES.contains(&name)
        || FIRST.contains(&name)
        || kept_step(name)
        || name.ends_with(".pvd")
        || name.strip_suffix(".vtu").is_some_and(frame)
}

fn numbered(name: &str, before: &str, after: &str, digits: usize) -> bool {
    let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    number.is_some_and(|n| n.len() >= digits && n.bytes().all(|b| b.is_ascii_digit()))
}

fn kept_step(name: &str) -> bool {
    // `.capsule.json` is what snapshots were called before.
    [".snapshot.json", ".capsule.json"].iter().any(|end| numbered(name, "step-", end, 7))
        || numbered(name, "record-before-", ".bin", 1)
}

fn of_series(name: &str, stem: &str) -> bool {
    name.strip_suffix(".pvd") == Some(stem) || numbered(name, &format!("{stem}_"), ".vtu", 6)
}

/// `.NAME.partial`, or `.NAME.PROCESS.partial`, of a file that a run writes: its name, and whether
/// the process is there.
fn unfinished(name: &str) -> Option<(&str, bool)> {
    let whole = name.strip_prefix('.')?.strip_suffix(PARTIAL)?.strip_suffix('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (place, process) = match whole.rsplit_once('.').filter(|(_, end)| digits(end)) {
        Some((place, _)) => (place, true),
        None => (whole, false),
    };
    result(place).then_some((place, process))
}

/// What a run that was killed had not finished.
fn partial(name: &str) -> bool {
    unfinished(name).is_some()
}

/// A file that was written as a whole when its process was killed. Tables that grow have no process
/// in their names: a run that is resumed goes on with them.
fn left_by_killed(name: &str) -> bool {
    unfinished(name).is_some_and(|(_, process)| process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_run_left_goes_and_other_files_stay() {
        let folder = std::env::temp_dir().join(format!("signorini-clear-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let gone = [
            "run.json",
            "bodies.csv",
            "record.bin",
            "step-0000012.snapshot.json",
            "step-0000012.capsule.json",
            ".bodies.csv.partial",
            ".run.json.12.partial",
            "jelly.pvd",
            "jelly_000003.vtu",
        ];
        let stay = [
            "notes.txt",
            "scene.toml",
            "mine_000003.vtu",
            "jelly_final.vtu",
            "step-x.snapshot.json",
            ".hidden",
            ".mine.csv.partial",
        ];
        gone.iter().chain(&stay).for_each(|name| fs::write(folder.join(name), "x").unwrap());
        clear(&folder).unwrap();
        assert!(gone.iter().all(|name| !folder.join(name).exists()));
        assert!(stay.iter().all(|name| folder.join(name).exists()));
        fs::remove_dir_all(&folder).unwrap();
        clear(&folder).unwrap();
    }

    #[test]
    fn what_a_killed_writer_left_goes_when_the_folder_is_taken() {
        let folder = std::env::temp_dir().join(format!("signorini-left-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let gone = [
            ".checkpoint.json.4711.partial",
            ".report.html.1.partial",
            ".jelly.pvd.12.partial",
            ".jelly_000003.vtu.12.partial",
            ".step-0000012.snapshot.json.7.partial",
        ];
        // Tables go on where a checkpoint left them; the rest is not a run's.
        let stay = [
            ".bodies.csv.partial",
            ".notes.txt.12.partial",
            ".run.json.x.partial",
            "run.json.12.partial",
            ".run.json.12",
            "run.json",
        ];
        gone.iter().chain(&stay).for_each(|name| fs::write(folder.join(name), "x").unwrap());
        let first = Lock::take(&folder).unwrap();
        assert!(gone.iter().all(|name| !folder.join(name).exists()));
        assert!(stay.iter().all(|name| folder.join(name).exists()));
        // Who does not get the folder removes nothing.
        fs::write(folder.join(gone[0]), "x").unwrap();
        assert!(Lock::take(&folder).is_err());
        assert!(folder.join(gone[0]).exists());
        drop(first);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_a_result_is_refused_and_not_followed() {
        let folder = std::env::temp_dir().join(format!("signorini-links-{}", std::process::id()));
        let precious = folder.join("precious.txt");
        for name in [
            ".lock",
            "checkpoint.json",
            "bodies.csv",
            ".bodies.csv.partial",
            "a.pvd",
            "manifest.jsonl",
        ] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&precious, "precious").unwrap();
            std::os::unix::fs::symlink(&precious, folder.join(name)).unwrap();
            let Err(Taken::Unwritable(why)) = Lock::take(&folder) else { panic!("{name}") };
            assert_eq!(why.to_string(), format!("{name} is a link: remove it"));
            assert_eq!(fs::read_to_string(&precious).unwrap(), "precious", "{name}");
            fs::remove_dir_all(&folder).unwrap();
        }
        // Links of other names are none of ours.
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("elsewhere", folder.join("notes.txt")).unwrap();
        Lock::take(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn one_at_a_time() {
        let folder = std::env::temp_dir().join(format!("signorini-lock-{}", std::process::id()));
        let first = Lock::take(&folder).unwrap();
        let Err(Taken::Busy(who)) = Lock::take(&folder) else { panic!("two have it") };
        assert_eq!(who, format!(" (process {})", std::process::id()));
        drop(first);
        Lock::take(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
