//! Where the mesh files that a robot file names are.

use std::path::{Path, PathBuf};

/// The file of a mesh: a path, `file://…`, or `package://NAME/…` with the package above or beside
/// the robot file.
pub(super) fn find_mesh(file: &str, robot: &Path) -> Result<PathBuf, String> {
    let whole = std::path::absolute(robot).unwrap_or_else(|_| robot.to_path_buf());
    let folder = whole.parent().unwrap_or(Path::new("/"));
    let named = ["package://", "model://"].iter().find_map(|scheme| file.strip_prefix(scheme));
    let candidates: Vec<PathBuf> = match named.and_then(|rest| rest.split_once('/')) {
        Some((package, rest)) => folder
            .ancestors()
            .flat_map(|up| {
                let own = (up.file_name().is_some_and(|n| n == package)).then(|| up.join(rest));
                own.into_iter().chain([up.join(package).join(rest)])
            })
            .collect(),
        None => vec![folder.join(file.strip_prefix("file://").unwrap_or(file))],
    };
    let found = candidates.iter().find(|c| c.is_file()).cloned();
    let above = if candidates.len() > 1 { " and in the folders above" } else { "" };
    found.ok_or_else(|| format!("{}{above}", candidates[0].display()))
}
