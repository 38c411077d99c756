//! Builds the page of `viewer/` with npm, once, and hands it to `src/report`.
//!
//! The page is built in `viewer/` (in folders that are not part of the sources) and kept there with a stamp of its sources, so that
//! another profile does not build it again. Without Node.js the program is built all the same: it then says that it has no page.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// What the page is made of.
const SOURCES: &[&str] = &["src", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"];

fn main() {
    let viewer = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../viewer");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("page.html");
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={}", viewer.join(source).display()));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=SIGNORINI_NO_PAGE");
    let (page, why) = match page(&viewer) {
        Ok(page) => (page, String::new()),
        Err(why) => {
            println!("cargo:warning=no page for reports: {why}");
            (String::new(), why)
        }
    };
    println!("cargo:rustc-env=SIGNORINI_PAGE={}", why.replace(['\n', '\r'], " "));
    fs::write(out, page).expect("OUT_DIR can be written");
}

fn page(viewer: &Path) -> Result<String, String> {
    if env::var_os("SIGNORINI_NO_PAGE").is_some() {
        return Err("SIGNORINI_NO_PAGE was set".into());
    }
    let (built, stamp_file) = (viewer.join("dist/index.html"), viewer.join("dist/stamp"));
    let stamp = stamp(viewer).map_err(|e| format!("the sources of the page cannot be read: {e}"))?;
    let fresh = || fs::read_to_string(&stamp_file).ok().filter(|s| *s == stamp).and_then(|_| fs::read_to_string(&built).ok());
    if let Some(page) = fresh() {
        return Ok(page);
    }
    let node = Command::new("node").arg("--version").output().map_err(|_| "there is no Node.js".to_string())?;
    let version = String::from_utf8_lossy(&node.stdout).trim().to_string();
    let major: u32 = version.trim_start_matches('v').split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    if major < 20 {
        return Err(format!("Node.js is {version}, wanted 20 or newer"));
    }
    let changed = |file: &str| fs::metadata(viewer.join(file)).and_then(|m| m.modified()).ok();
    // What is installed must not be older than the list of what should be.
    if changed("node_modules/.package-lock.json") < changed("package-lock.json") {
        npm(viewer, &["install", "--no-save", "--no-audit", "--no-fund", "--prefer-offline"])?;
        // npm gives the file the time at which it began.
        let _ = fs::File::options()
            .append(true)
            .open(viewer.join("node_modules/.package-lock.json"))
            .and_then(|f| f.set_modified(std::time::SystemTime::now()));
    }
    npm(viewer, &["run", "build"])?;
    let page = fs::read_to_string(&built).map_err(|e| format!("npm built no page: {e}"))?;
    fs::write(&stamp_file, stamp).map_err(|e| format!("viewer/dist cannot be written: {e}"))?;
    Ok(page)
}

fn npm(viewer: &Path, arguments: &[&str]) -> Result<(), String> {
    let what = format!("npm {}", arguments.join(" "));
    let output = Command::new("npm").args(arguments).current_dir(viewer).output().map_err(|e| format!("{what}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let complaint = said.lines().find(|l| l.to_lowercase().contains("error")).unwrap_or("it failed").trim().to_string();
    Err(format!("{what}: {complaint}"))
}

/// A number that changes with the sources.
fn stamp(viewer: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        hash(&viewer.join(source), &mut hasher)?;
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    if !path.is_dir() {
        path.file_name().hash(hasher);
        fs::read(path)?.hash(hasher);
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| hash(entry, hasher))
}
