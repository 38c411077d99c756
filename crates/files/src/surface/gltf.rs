//! glTF 2.0: triangles of the meshes of the default scene, as text (`.gltf`, buffers within it or
//! beside it) or binary (`.glb`).
//!
//! Positions, faces and base colours are taken; nodes place, turn and stretch their meshes. Axes
//! are those of the file. What a file claims is checked against its length before it is believed.

use super::{Beside, Welder};
use glam::{DMat4, DQuat, DVec3};
use serde_json::Value as Json;

/// How deep nodes may hang on each other.
const MAX_NODE_DEPTH: usize = 64;
/// The modes of primitives that have faces: the numbers of the standard, a strip between them.
const TRIANGLES: u64 = 4;
const STRIP: u64 = 5;
const FAN: u64 = 6;

/// Adds the triangles of a glTF file.
pub fn read(bytes: &[u8], beside: Beside<'_>, welder: &mut Welder) -> Result<(), String> {
    let (text, binary) = split(bytes)?;
    let root: Json = serde_json::from_slice(text).map_err(|e| format!("is no glTF: {e}"))?;
    let buffers = list(&root["buffers"])
        .iter()
        .enumerate()
        .map(|(i, b)| buffer((i, b), binary, beside))
        .collect::<Result<Vec<_>, _>>()?;
    let file = File { root: &root, buffers };
    let scene = &root["scenes"][root["scene"].as_u64().unwrap_or(0) as usize];
    let nodes: Vec<usize> = match scene["nodes"].as_array() {
        Some(nodes) => nodes.iter().filter_map(|n| n.as_u64().map(|n| n as usize)).collect(),
        None => (0..list(&root["nodes"]).len()).collect(),
    };
    nodes.into_iter().try_for_each(|node| file.node(node, DMat4::IDENTITY, 0, welder))
}

/// The JSON of a file, and the bytes that follow it in a binary one.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), String> {
    if !bytes.starts_with(b"glTF") {
        return Ok((bytes, &[]));
    }
    let chunk = |at: usize| -> Option<(&[u8], usize)> {
        let length = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize;
        let end = at.checked_add(8)?.checked_add(length)?;
        Some((bytes.get(at + 8..end)?, end))
    };
    let (text, end) = chunk(12).ok_or("is a binary glTF that ends in its first chunk")?;
    Ok((text, chunk(end).map_or(&[], |(binary, _)| binary)))
}

/// The bytes of a buffer: within the file, in its text, or in a file beside it.
fn buffer(
    (i, buffer): (usize, &Json),
    binary: &[u8],
    beside: Beside<'_>,
) -> Result<Vec<u8>, String> {
    match buffer["uri"].as_str() {
        None if i == 0 => Ok(binary.to_vec()),
        Some(uri) if uri.starts_with("data:") => {
            let text = uri.split_once(";base64,").map_or("", |(_, text)| text);
            crate::mesh::base64::decode(text).map_err(|_| format!("has no base64 in buffer {i}"))
        }
        Some(uri) => beside(&uri.replace("%20", " "))
            .map_err(|why| format!("keeps buffer {i} in another file: {why}")),
        None => Err(format!("has no bytes for buffer {i}")),
    }
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

struct File<'a> {
    root: &'a Json,
    buffers: Vec<Vec<u8>>,
}

impl File<'_> {
    fn node(
        &self,
        number: usize,
        above: DMat4,
        depth: usize,
        welder: &mut Welder,
    ) -> Result<(), String> {
        let Some(node) = list(&self.root["nodes"]).get(number) else {
            return Err(format!("names node {number}, which is not there"));
        };
        if depth > MAX_NODE_DEPTH {
            return Err(format!("hangs nodes more than {MAX_NODE_DEPTH} deep, or on themselves"));
        }
        let place = above * local(node);
        if let Some(mesh) = node["mesh"].as_u64() {
            let mesh = list(&self.root["meshes"])
                .get(mesh as usize)
                .ok_or_else(|| format!("names mesh {mesh}, which is not there"))?;
            list(&mesh["primitives"]).iter().try_for_each(|p| self.primitive(p, &place, welder))?;
        }
        let children = list(&node["children"]).iter().filter_map(Json::as_u64);
        children
            .into_iter()
            .try_for_each(|child| self.node(child as usize, place, depth + 1, welder))
    }

    fn primitive(
        &self,
        primitive: &Json,
        place: &DMat4,
        welder: &mut Welder,
    ) -> Result<(), String> {
        // Points and lines have no faces.
        let mode = primitive["mode"].as_u64().unwrap_or(TRIANGLES);
        if !(TRIANGLES..=FAN).contains(&mode) {
            return Ok(());
        }
        welder.color = primitive["material"].as_u64().and_then(|m| self.color(m as usize));
        let Some(positions) = primitive["attributes"]["POSITION"].as_u64() else { return Ok(()) };
        let numbers = self.accessor(positions as usize, 3)?;
        let corners: Vec<DVec3> = numbers
            .chunks_exact(3)
            .map(|p| place.transform_point3(DVec3::new(p[0], p[1], p[2])))
            .collect();
        let order: Vec<usize> = match primitive["indices"].as_u64() {
            Some(indices) => {
                self.accessor(indices as usize, 1)?.into_iter().map(|x| x as usize).collect()
            }
            None => (0..corners.len()).collect(),
        };
        let faces: Vec<[usize; 3]> = match mode {
            TRIANGLES => order.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect(),
            // Every second triangle of a strip is the other way round.
            STRIP => order
                .windows(3)
                .enumerate()
                .map(|(i, t)| if i % 2 == 0 { [t[0], t[1], t[2]] } else { [t[1], t[0], t[2]] })
                .collect(),
            _ => order.windows(2).skip(1).map(|t| [order[0], t[0], t[1]]).collect(),
        };
        for t in faces {
            let corner = |i: usize| {
                corners
                    .get(i)
                    .copied()
                    .ok_or_else(|| format!("names corner {i} of {}", corners.len()))
            };
            welder.triangle([corner(t[0])?, corner(t[1])?, corner(t[2])?]);
        }
        Ok(())
    }

    /// The base colour of a material, which glTF keeps in linear light.
    fn color(&self, material: usize) -> Option<[u8; 3]> {
        let material = list(&self.root["materials"]).get(material)?;
        let linear = list(&material["pbrMetallicRoughness"]["baseColorFactor"]);
        let seen: Vec<f64> = linear
            .iter()
            .filter_map(Json::as_f64)
            .map(|x| x.clamp(0.0, 1.0).powf(1.0 / 2.2))
            .collect();
        crate::surface::color(&seen)
    }

    /// The numbers of an accessor with so many components.
    fn accessor(&self, number: usize, components: usize) -> Result<Vec<f64>, String> {
        let accessor = list(&self.root["accessors"])
            .get(number)
            .ok_or_else(|| format!("names accessor {number}, which is not there"))?;
        let size = match accessor["componentType"].as_u64() {
            Some(5121) => 1,
            Some(5123) => 2,
            Some(5125 | 5126) => 4,
            other => {
                return Err(format!(
                    "has numbers of kind {other:?}, wanted floats or unsigned integers"
                ));
            }
        };
        let float = accessor["componentType"].as_u64() == Some(5126);
        if accessor["sparse"].is_object() || accessor["bufferView"].as_u64().is_none() {
            return Err("has sparse or compressed numbers, which are not read".into());
        }
        let view = &self.root["bufferViews"][accessor["bufferView"].as_u64().unwrap_or(0) as usize];
        let get = |json: &Json, key: &str| json[key].as_u64().unwrap_or(0) as usize;
        let bytes = self.buffers.get(get(view, "buffer")).map_or(&[][..], Vec::as_slice);
        let width = size * components;
        let (start, stride) = (
            get(view, "byteOffset").saturating_add(get(accessor, "byteOffset")),
            get(view, "byteStride").max(width),
        );
        let count = get(accessor, "count");
        let end = start
            .saturating_add(count.saturating_sub(1).saturating_mul(stride))
            .saturating_add(if count > 0 { width } else { 0 });
        if end > bytes.len() {
            return Err(format!("promises {end} bytes of numbers where {} are", bytes.len()));
        }
        let mut out = Vec::with_capacity(count * components);
        for i in 0..count {
            for c in 0..components {
                let at = &bytes[start + i * stride + c * size..][..size];
                out.push(match (size, float) {
                    (1, _) => f64::from(at[0]),
                    (2, _) => f64::from(u16::from_le_bytes([at[0], at[1]])),
                    (_, true) => f64::from(f32::from_le_bytes([at[0], at[1], at[2], at[3]])),
                    _ => f64::from(u32::from_le_bytes([at[0], at[1], at[2], at[3]])),
                });
            }
        }
        Ok(out)
    }
}

/// Where a node puts what hangs on it.
fn local(node: &Json) -> DMat4 {
    let numbers =
        |key: &str| -> Vec<f64> { list(&node[key]).iter().filter_map(Json::as_f64).collect() };
    if let Ok(columns) = <[f64; 16]>::try_from(numbers("matrix")) {
        return DMat4::from_cols_array(&columns);
    }
    let vector = |key: &str, default: f64| match numbers(key)[..] {
        [x, y, z] => DVec3::new(x, y, z),
        _ => DVec3::splat(default),
    };
    let turn = match numbers("rotation")[..] {
        [x, y, z, w] => DQuat::from_xyzw(x, y, z, w).normalize(),
        _ => DQuat::IDENTITY,
    };
    DMat4::from_scale_rotation_translation(vector("scale", 1.0), turn, vector("translation", 0.0))
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    /// A square of two triangles, moved up by 2 and stretched by 3.
    fn file() -> (String, Vec<u8>) {
        let corners: [f32; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
        let mut bytes: Vec<u8> = corners.iter().flat_map(|x| x.to_le_bytes()).collect();
        bytes.extend([0u16, 1, 2, 0, 2, 3].iter().flat_map(|i| i.to_le_bytes()));
        let text = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
            "nodes":[{"children":[1],"translation":[0,0,2]},{"mesh":0,"scale":[3,3,3]}],
            "meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1},{"mode":1,"attributes":{"POSITION":0}}]}],
            "accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3"},{"bufferView":1,"componentType":5123,"count":6,"type":"SCALAR"}],
            "bufferViews":[{"buffer":0,"byteLength":48},{"buffer":0,"byteOffset":48,"byteLength":12}],"buffers":[{"byteLength":60}]}"#;
        (text.into(), bytes)
    }

    fn binary(text: &str, bytes: &[u8]) -> Vec<u8> {
        let mut out = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        for (tag, part) in [(b"JSON", text.as_bytes()), (b"BIN\0", bytes)] {
            out.extend((part.len() as u32).to_le_bytes());
            out.extend(tag);
            out.extend(part);
        }
        out
    }

    #[test]
    fn nodes_place_and_stretch_their_meshes() {
        let (text, bytes) = file();
        let mesh = parse(&binary(&text, &bytes), "glb").unwrap();
        assert_eq!((mesh.vertices.len(), mesh.triangles.len()), (4, 2));
        assert_eq!(mesh.vertices[2], glam::DVec3::new(3.0, 3.0, 2.0));
    }

    #[test]
    fn colours_buffers_beside_and_strips() {
        let (text, bytes) = file();
        let text = text
            .replace("\"byteLength\":60", "\"byteLength\":60,\"uri\":\"a b.bin\"")
            .replace("\"indices\":1}", "\"indices\":1,\"mode\":5,\"material\":0}")
            .replace("\"meshes\"", "\"materials\":[{\"pbrMetallicRoughness\":{\"baseColorFactor\":[1,0.2140,0,1]}}],\"meshes\"");
        let beside =
            |name: &str| if name == "a b.bin" { Ok(bytes.clone()) } else { Err(name.into()) };
        let mesh = super::super::parse_beside(text.as_bytes(), "gltf", &beside).unwrap();
        // The strip 0 1 2 0 2 3: of its four triangles one, 2 0 2, has no area.
        assert_eq!((mesh.triangles.len(), mesh.dropped), (3, 1));
        // 0.214 in linear light is half on the screen: 0.214^(1/2.2) = 0.496.
        assert!(mesh.colors.iter().all(|c| *c == Some([255, 127, 0])), "{:?}", mesh.colors);
        assert_eq!(mesh.by_color().len(), 1);
    }

    #[test]
    fn a_damaged_file_is_refused_with_a_reason() {
        let (text, bytes) = file();
        for (text, cut) in [
            (text.clone(), 30),
            (text.replace("\"count\":6", "\"count\":4000000000"), 60),
            (text.replace("\"mesh\":0", "\"mesh\":7"), 60),
            (text.replace("\"mesh\":0", "\"children\":[1]"), 60),
            (text.replace("5126", "5122"), 60),
            (text.replace("\"byteLength\":60", "\"uri\":\"other.bin\""), 60),
            ("{".into(), 60),
        ] {
            assert!(parse(&binary(&text, &bytes[..cut]), "glb").is_err(), "{text}");
        }
        assert!(parse(b"glTF", "glb").is_err());
    }
}
