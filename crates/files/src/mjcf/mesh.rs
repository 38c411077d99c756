//! Mesh assets: their files, and the volume within a mesh.

use super::read::{Attributes, Compiler};
use super::xml::{Defaults, Element, MAIN, Reader};
use glam::{DMat3, DQuat, DVec3};
use signorini_mechanics::geometry::Volume;
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A mesh asset.
#[derive(Clone, Debug)]
pub struct MeshAsset {
    /// The file.
    pub file: PathBuf,
    /// What one unit of the file is, m.
    pub scale: DVec3,
    /// Where the frame of the mesh is in the coordinates of the file.
    pub frame: Pose,
    /// How its mass is found.
    pub mass: MeshMass,
}

/// How the mass of a mesh is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshMass {
    /// All tetrahedra between its triangles and its centre count as positive.
    Legacy,
    /// The volume within.
    Exact,
    /// The volume of its hull.
    Convex,
}

/// The meshes of the asset sections.
pub(super) fn meshes(
    root: &Element,
    name: &str,
    defaults: &Defaults,
    compiler: &Compiler,
    reader: &mut Reader<'_>,
) -> HashMap<String, MeshAsset> {
    let whole = std::path::absolute(name).unwrap_or_else(|_| Path::new(name).to_path_buf());
    let folder = whole.parent().unwrap_or(Path::new("/")).join(&compiler.meshdir);
    let mut out = HashMap::new();
    for element in root.all("asset").flat_map(|a| a.all("mesh")) {
        let mut attributes = Attributes { defaults, compiler, reader: &mut *reader };
        let scale = attributes.vector(element, MAIN, "scale").unwrap_or(DVec3::ONE);
        let point = attributes.vector(element, MAIN, "refpos").unwrap_or(DVec3::ZERO);
        let turn = attributes.numbers(element, MAIN, "refquat").filter(|q| q.len() == 4);
        let turn =
            turn.map_or(DQuat::IDENTITY, |q| DQuat::from_xyzw(q[1], q[2], q[3], q[0]).normalize());
        let mass = match attributes.text(element, MAIN, "inertia").as_deref() {
            Some("exact") => MeshMass::Exact,
            Some("convex") => MeshMass::Convex,
            Some("shell") => {
                attributes
                    .reader
                    .left_out(element, "inertia=\"shell\" is left out: the mesh is solid");
                MeshMass::Exact
            }
            _ => MeshMass::Legacy,
        };
        let Some(file) = element.own("file") else {
            reader.left_out(element, "a mesh without a file is left out");
            continue;
        };
        let given = Path::new(file);
        let stripped = if compiler.strippath {
            given.file_name().map(Path::new).unwrap_or(given)
        } else {
            given
        };
        let stem = given.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = element.own("name").map_or(stem, String::from);
        let file = folder.join(stripped);
        if !file.is_file() {
            reader.fault(
                element,
                format!("the mesh `{name}` is not there"),
                format!("looked for {}", file.display()),
            );
        }
        out.insert(name, MeshAsset { file, scale, frame: Pose::new(point, turn), mass });
    }
    out
}

/// The volume within a mesh, from tetrahedra between its triangles and its centre. Those of a
/// closed, consistently turned mesh are counted with their signs; MuJoCo's legacy way counts all of
/// them as positive, which is too much where a mesh is not convex, but is what the masses of
/// existing models were made with.
pub(super) fn mesh_volume(mesh: &crate::surface::Mesh, legacy: bool) -> Option<Volume> {
    let corners = |t: &[u32; 3]| t.map(|v| mesh.vertices[v as usize]);
    let (mut area, mut middle) = (0.0, DVec3::ZERO);
    for [a, b, c] in mesh.triangles.iter().map(corners) {
        let size = 0.5 * (b - a).cross(c - a).length();
        area += size;
        middle += (a + b + c) / 3.0 * size;
    }
    let middle = middle / area;
    let signed = |a: DVec3, b: DVec3, c: DVec3| {
        let volume = a.dot(b.cross(c)) / 6.0;
        if legacy { volume.abs() } else { volume }
    };
    let (mut volume, mut center) = (0.0, DVec3::ZERO);
    for [a, b, c] in mesh.triangles.iter().map(corners) {
        let part = signed(a - middle, b - middle, c - middle);
        volume += part;
        center += (a + b + c + middle) * (0.25 * part);
    }
    let center = center / volume;
    let (mut volume, mut moments) = (0.0, DMat3::ZERO);
    let outer = |x: DVec3| DMat3::from_cols(x * x.x, x * x.y, x * x.z);
    for [a, b, c] in mesh.triangles.iter().map(corners) {
        let (a, b, c) = (a - center, b - center, c - center);
        let part = signed(a, b, c);
        volume += part;
        moments += (outer(a) + outer(b) + outer(c) + outer(a + b + c)) * (part / 20.0);
    }
    // A mesh that is inside out has a negative volume, and the same body in it.
    let (volume, moments) = if volume < 0.0 { (-volume, -moments) } else { (volume, moments) };
    let trace = moments.x_axis.x + moments.y_axis.y + moments.z_axis.z;
    let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - moments;
    (volume > 0.0 && volume.is_finite()).then_some(Volume { volume, center, inertia })
}
