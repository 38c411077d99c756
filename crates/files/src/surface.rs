//! Triangle meshes in files: STL (binary and text), OBJ, Collada and glTF.
//!
//! Read here and not by a crate: formats of a few lines each, numbers kept as written, and messages
//! that name the line. Vertices are welded where their coordinates are the same, so that a closed
//! surface is known as closed. Polygons are cut into fans; everything but corners, faces and the
//! plain colours of materials is left aside. Triangles without area are dropped and counted.

pub mod collada;
pub mod gltf;
mod obj;

use glam::DVec3;
use std::collections::HashMap;
use std::path::Path;

/// Vertices and triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Corners.
    pub vertices: Vec<DVec3>,
    /// Three corners each.
    pub triangles: Vec<[u32; 3]>,
    /// The colour of each triangle, where the file says one.
    pub colors: Vec<Option<[u8; 3]>>,
    /// How many triangles had no area and were dropped.
    pub dropped: usize,
}

impl Mesh {
    /// Stretches the axes; a mirrored mesh would be inside out.
    pub fn stretch(&mut self, scale: DVec3) {
        self.vertices.iter_mut().for_each(|v| *v *= scale);
        if scale.x * scale.y * scale.z < 0.0 {
            self.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        }
    }

    /// One mesh for each colour, in the order in which the colours come.
    pub fn by_color(&self) -> Vec<(Option<[u8; 3]>, Mesh)> {
        let mut parts: Vec<(Option<[u8; 3]>, Welder)> = Vec::new();
        for (triangle, color) in self.triangles.iter().zip(&self.colors) {
            let at = parts.iter().position(|(known, _)| known == color).unwrap_or_else(|| {
                parts.push((*color, Welder { color: *color, ..Welder::default() }));
                parts.len() - 1
            });
            parts[at].1.triangle(triangle.map(|corner| self.vertices[corner as usize]));
        }
        parts.into_iter().map(|(color, welder)| (color, welder.mesh)).collect()
    }

    /// Points whose convex hull is that of the mesh, to within about half a percent of its size:
    /// all of a small mesh, the farthest ones in directions spread evenly over the sphere of a
    /// large one.
    pub fn extremes(&self) -> Vec<DVec3> {
        const DIRECTIONS: usize = 320;
        if self.vertices.len() <= DIRECTIONS {
            return self.vertices.clone();
        }
        let turn = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
        let spiral = (0..DIRECTIONS).map(|i| {
            let z = 1.0 - (2 * i + 1) as f64 / DIRECTIONS as f64;
            let (s, c) = (turn * i as f64).sin_cos();
            DVec3::new(c * (1.0 - z * z).sqrt(), s * (1.0 - z * z).sqrt(), z)
        });
        let axes = DVec3::AXES.into_iter().flat_map(|a| [a, -a]);
        let farthest = |d: DVec3| {
            let heights = self.vertices.iter().map(|v| v.dot(d)).enumerate();
            heights.fold((0, f64::NEG_INFINITY), |best, x| if x.1 > best.1 { x } else { best }).0
        };
        let mut chosen: Vec<usize> = axes.chain(spiral).map(farthest).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|i| self.vertices[i]).collect()
    }
}

/// Reads a mesh; a complaint says what was found and what was wanted.
pub fn read(path: &Path) -> Result<Mesh, String> {
    let bytes = crate::bounded::bytes(path, crate::bounded::MESH)
        .map_err(|e| format!("cannot be read: {e}"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let beside = |name: &str| {
        crate::bounded::bytes(&folder.join(name.replace('\\', "/")), crate::bounded::MESH)
    };
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    parse_beside(&bytes, &ending, &beside)
}

/// The bytes of a file that a mesh file names: materials of an .obj, buffers of a .gltf.
pub type Beside<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Reads the bytes of a mesh file with this ending, which stands alone.
pub fn parse(bytes: &[u8], ending: &str) -> Result<Mesh, String> {
    parse_beside(bytes, ending, &|name| Err(format!("{name} is not there")))
}

/// Reads the bytes of a mesh file with this ending and of those that it names.
pub fn parse_beside(bytes: &[u8], ending: &str, beside: Beside<'_>) -> Result<Mesh, String> {
    let mesh = match ending {
        "stl" => stl(bytes),
        "obj" => obj::read(&String::from_utf8_lossy(bytes), beside),
        "dae" => {
            let mut welder = Welder::default();
            collada::read(&String::from_utf8_lossy(bytes), &mut welder).map(|()| welder.mesh)
        }
        "glb" | "gltf" => {
            let mut welder = Welder::default();
            gltf::read(bytes, beside, &mut welder).map(|()| welder.mesh)
        }
        other => Err(format!(
            "ends in .{other}, wanted .stl, .obj, .dae, .glb or .gltf (convert it with a mesh tool)"
        )),
    }?;
    if mesh.triangles.is_empty() {
        return Err("has no triangles".into());
    }
    Ok(mesh)
}

/// The colour of red, green and blue between 0 and 1.
pub fn color(rgba: &[f64]) -> Option<[u8; 3]> {
    let &[red, green, blue, ..] = rgba else { return None };
    Some([red, green, blue].map(|x| (255.0 * x.clamp(0.0, 1.0)).round() as u8))
}

/// Welds equal corners while they come.
#[derive(Default)]
pub struct Welder {
    mesh: Mesh,
    known: HashMap<[u64; 3], u32>,
    /// The colour of the triangles that come.
    color: Option<[u8; 3]>,
}

impl Welder {
    fn corner(&mut self, p: DVec3) -> u32 {
        // Adding zero turns −0 into +0.
        let bits = (p + DVec3::ZERO).to_array().map(f64::to_bits);
        *self.known.entry(bits).or_insert_with(|| {
            self.mesh.vertices.push(p);
            self.mesh.vertices.len() as u32 - 1
        })
    }

    /// A triangle, if it has an area.
    fn triangle(&mut self, corners: [DVec3; 3]) {
        let [x, y, z] = corners;
        let longest = (y - x).length().max((z - y).length()).max((x - z).length());
        // The measure of the engine's meshes, with a little to spare for scales that differ along
        // the axes.
        if !((y - x).cross(z - x).length() > 1e-11 * longest * longest) {
            self.mesh.dropped += 1;
            return;
        }
        let corners = corners.map(|p| self.corner(p));
        self.mesh.triangles.push(corners);
        self.mesh.colors.push(self.color);
    }

    /// A convex polygon as a fan; one of fewer than three corners has no area.
    fn polygon(&mut self, corners: &[DVec3]) {
        if corners.len() < 3 {
            self.mesh.dropped += 1;
        }
        (2..corners.len()).for_each(|i| self.triangle([corners[0], corners[i - 1], corners[i]]));
    }
}

fn stl(bytes: &[u8]) -> Result<Mesh, String> {
    // A binary file says its size; many of them begin with `solid` as well.
    if let Some(count) =
        bytes.get(80..84).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    {
        if Some(bytes.len()) == count.checked_mul(50).and_then(|n| n.checked_add(84)) {
            return binary_stl(&bytes[84..]);
        }
        if !bytes.trim_ascii_start().starts_with(b"solid") {
            return Err(format!(
                "is a binary STL of {count} triangles by its head, but has {} bytes, wanted {}",
                bytes.len(),
                84 + 50 * count as u128
            ));
        }
    }
    text_stl(&String::from_utf8_lossy(bytes))
}

fn binary_stl(records: &[u8]) -> Result<Mesh, String> {
    let mut welder = Welder::default();
    for (i, record) in records.chunks_exact(50).enumerate() {
        let number = |k: usize| {
            f64::from(f32::from_le_bytes([record[k], record[k + 1], record[k + 2], record[k + 3]]))
        };
        let corner = |k: usize| DVec3::new(number(k), number(k + 4), number(k + 8));
        let corners = [corner(12), corner(24), corner(36)];
        if corners.iter().any(|c| !c.is_finite()) {
            return Err(format!("triangle {i} has a coordinate that is no number"));
        }
        welder.triangle(corners);
    }
    Ok(welder.mesh)
}

fn text_stl(text: &str) -> Result<Mesh, String> {
    let mut welder = Welder::default();
    let mut corners = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("vertex") => corners.push(point(words, n)?),
            Some("endfacet") => {
                let [a, b, c] = corners[..] else {
                    return Err(format!(
                        "line {}: a facet of {} corners, wanted 3",
                        n + 1,
                        corners.len()
                    ));
                };
                welder.triangle([a, b, c]);
                corners.clear();
            }
            Some("solid" | "facet" | "outer" | "endloop" | "endsolid") | None => {}
            Some(other) => {
                return Err(format!(
                    "line {}: found `{}`, wanted the words of an STL file",
                    n + 1,
                    other.chars().take(20).collect::<String>()
                ));
            }
        }
    }
    Ok(welder.mesh)
}

fn point<'a>(words: impl Iterator<Item = &'a str>, line: usize) -> Result<DVec3, String> {
    let words: Vec<&str> = words.take(3).collect();
    let numbers: Vec<f64> =
        words.iter().filter_map(|w| w.parse().ok()).filter(|x: &f64| x.is_finite()).collect();
    if numbers.len() == 3 {
        Ok(DVec3::from_slice(&numbers))
    } else {
        Err(format!("line {}: found `{}`, wanted three numbers", line + 1, words.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TETRAHEDRON: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1/1 2/2 4/3\nf 2//1 \
        3//1 4//1\nf -4 -1 -2\n";

    /// The same tetrahedron as a binary STL.
    fn binary(mesh: &Mesh) -> Vec<u8> {
        let mut bytes = vec![0; 80];
        bytes.extend((mesh.triangles.len() as u32).to_le_bytes());
        for triangle in &mesh.triangles {
            bytes.extend([0; 12]);
            for corner in triangle {
                mesh.vertices[*corner as usize]
                    .to_array()
                    .iter()
                    .for_each(|x| bytes.extend((*x as f32).to_le_bytes()));
            }
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn the_same_solid_in_three_formats() {
        let mesh = parse(TETRAHEDRON.as_bytes(), "obj").unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (4, 4));
        let again = parse(&binary(&mesh), "stl").unwrap();
        assert_eq!((again.vertices.len(), again.triangles.len()), (4, 4));
        let mut text = String::from("solid x\n");
        for triangle in &mesh.triangles {
            text += "facet normal 0 0 0\nouter loop\n";
            triangle.iter().for_each(|c| {
                text += &format!(
                    "vertex {} {} {}\n",
                    mesh.vertices[*c as usize].x,
                    mesh.vertices[*c as usize].y,
                    mesh.vertices[*c as usize].z
                )
            });
            text += "endloop\nendfacet\n";
        }
        assert_eq!(parse((text + "endsolid x\n").as_bytes(), "stl").unwrap(), again);
        let volume = signorini_mechanics::geometry::Volume::of(
            &signorini_mechanics::geometry::Shape::Mesh {
                vertices: mesh.vertices,
                triangles: mesh.triangles,
            },
        )
        .unwrap();
        // A handful of roundings.
        assert!((volume.volume - 1.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn collada_puts_geometries_where_nodes_are_in_metres() {
        // A triangle and a quadrilateral, in centimetres, twice as large, 3 cm up, turned by a
        // right angle about z.
        let text = r##"<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
            <asset><unit meter="0.01"/></asset>
            <library_geometries><geometry id="g"><mesh>
              <source id="s"><float_array id="f" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array>
                <technique_common><accessor source="#f" stride="3"/></technique_common></source>
              <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
              <polylist count="2"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
                <vcount>3 4</vcount><p>0 0 1 0 2 0 0 0 1 0 2 0 3 0</p></polylist>
              <triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 0 1</p></triangles>
            </mesh></geometry></library_geometries>
            <library_visual_scenes><visual_scene id="x"><node><translate>0 0 3</translate><rotate>0 0 1 90</rotate>
              <node><scale>2 2 2</scale><instance_geometry url="#g"/></node></node></visual_scene></library_visual_scenes></COLLADA>"##;
        let mesh = parse(text.as_bytes(), "dae").unwrap();
        assert_eq!((mesh.triangles.len(), mesh.dropped), (3, 1));
        let wanted = [[0.0, 0.0, 0.03], [0.0, 0.02, 0.03], [-0.02, 0.02, 0.03], [-0.02, 0.0, 0.03]]
            .map(DVec3::from_array);
        assert!(
            mesh.vertices.iter().zip(wanted).all(|(v, w)| v.distance(w) < 1e-15),
            "{:?}",
            mesh.vertices
        );
    }

    #[test]
    fn extremes_of_a_fine_ball_reach_its_surface() {
        let mut mesh = Mesh::default();
        for i in 0..200 {
            for j in 0..100 {
                let (a, b) = (
                    i as f64 * 0.01 * std::f64::consts::PI,
                    (j as f64 + 0.5) * 0.01 * std::f64::consts::PI,
                );
                mesh.vertices.push(DVec3::new(a.cos() * b.sin(), a.sin() * b.sin(), b.cos()));
            }
        }
        let points = mesh.extremes();
        assert!(points.len() <= 326);
        // Seen from any direction the hull is short by at most one percent of the radius.
        for d in mesh.vertices.iter().step_by(7) {
            let reach = points.iter().map(|p| p.dot(*d)).fold(0.0, f64::max);
            assert!(reach > 0.99, "{d}: {reach}");
        }
    }

    #[test]
    fn a_broken_mesh_says_why() {
        for (bytes, ending, says) in [
            (&b"v 0 0\n"[..], "obj", "line 1: found `0 0`, wanted three numbers"),
            (
                b"v 0 0 0\nf 1 2 3\n",
                "obj",
                "line 2: the face names the corner `2`, but there are 1 so far",
            ),
            (b"solid\nvertex 1 2 3\nendfacet\n", "stl", "line 3: a facet of 1 corners, wanted 3"),
            (b"solid\nhello\n", "stl", "line 2: found `hello`"),
            (b"", "obj", "has no triangles"),
            (b"x", "ply", "ends in .ply, wanted .stl, .obj, .dae, .glb or .gltf"),
            (b"x", "dae", "is no XML"),
            (b"<a/>", "dae", "begins with <a>"),
            (b"<COLLADA/>", "dae", "has no triangles"),
            (&[7; 100], "stl", "but has 100 bytes"),
        ] {
            let found = parse(bytes, ending).unwrap_err();
            assert!(found.contains(says), "{found}");
        }
    }
}
