//! The page that this crate ships is the one that its sources give.

use std::path::{Path, PathBuf};

const SOURCES: [&str; 6] =
    ["index.html", "package-lock.json", "package.json", "src", "tsconfig.json", "vite.config.ts"];

fn files(root: &Path, path: &str, out: &mut Vec<String>) {
    let whole = root.join(path);
    if !whole.is_dir() {
        return out.push(path.into());
    }
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(whole).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    names.sort();
    for name in names {
        files(
            root,
            &format!("{path}/{}", name.file_name().expect("a name").to_string_lossy()),
            out,
        );
    }
}

/// FNV-1a, 64 bits, over names and contents, without carriage returns; the same as in
/// `viewer/stamp.mjs`.
fn stamp(root: &Path) -> String {
    let mut list = Vec::new();
    SOURCES.iter().for_each(|source| files(root, source, &mut list));
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for file in list {
        let bytes =
            [format!("{file}\0").into_bytes(), std::fs::read(root.join(&file)).expect("a file")]
                .concat();
        for byte in bytes.into_iter().filter(|b| *b != b'\r') {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[test]
fn the_page_is_that_of_its_sources() {
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer");
    if !viewer.is_dir() {
        return println!("skipped: this package was unpacked without the sources of the page");
    }
    let page = signorini_record::report::page();
    let wanted = format!("<!-- sources {} -->", stamp(&viewer));
    assert!(
        page.trim_end().ends_with(&wanted),
        "the page is not that of viewer/: run viewer/build and commit \
            crates/record/assets/page.html"
    );
}
