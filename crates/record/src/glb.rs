//! `.glb`: a run as animated glTF 2.0, for Blender and the viewers of operating systems.
//!
//! One node per body with its shapes as children, translations and rotations over time; a soft body
//! is a mesh with one morph target per frame. glTF has y up and metres: the root node turns the
//! world.

use crate::record::head::{Look, pose};
use crate::record::mesh::Mesh;
use crate::record::read::Moment;
use crate::record::{Damage, Head, Record};
use glam::DVec3;
use serde_json::{Value as Json, json};
use std::collections::HashMap;

/// Frames of soft bodies at most: each is a whole copy of the nodes.
const SOFT_FRAMES: usize = 60;

/// The parts of a file being made.
#[derive(Default)]
struct Builder {
    bytes: Vec<u8>,
    views: Vec<Json>,
    accessors: Vec<Json>,
    nodes: Vec<Json>,
    meshes: Vec<Json>,
    materials: Vec<Json>,
    known: HashMap<(u32, String), usize>,
}

/// The record as the bytes of a `.glb` file.
pub fn of(record: &mut Record) -> Result<Vec<u8>, Damage> {
    let moments =
        (0..record.times().len()).map(|i| record.moment(i)).collect::<Result<Vec<_>, _>>()?;
    let head = record.head.clone();
    let mut builder = Builder::default();
    let shapes: Vec<(usize, usize)> = head
        .meshes
        .iter()
        .map(|m| (builder.floats(&m.positions, 3), builder.indices(&m.triangles)))
        .collect();
    // Node 0 is the root; bodies follow in their order.
    builder.nodes.push(json!({"name": head.name, "rotation": upright(&head)}));
    let children: Vec<usize> =
        head.bodies.iter().enumerate().map(|(i, _)| builder.body(&head, i, &shapes)).collect();
    let (mut channels, mut samplers) = (Vec::new(), Vec::new());
    if let Some(first) = moments.first() {
        let times = builder.times(&moments.iter().map(|m| m.time - first.time).collect::<Vec<_>>());
        for &body in &head.moving {
            let node = children[body as usize];
            let positions: Vec<f32> = moments
                .iter()
                .flat_map(|m| m.poses[body as usize].position.as_vec3().to_array())
                .collect();
            let turns: Vec<f32> = turns(&moments, body as usize);
            for (path, output) in [
                ("translation", builder.floats(&positions, 3)),
                ("rotation", builder.floats(&turns, 4)),
            ] {
                channels.push(
                    json!({"sampler": samplers.len(), "target": {"node": node, "path": path}}),
                );
                samplers.push(json!({"input": times, "output": output, "interpolation": "LINEAR"}));
            }
        }
    }
    let mut all = children;
    for i in 0..head.soft.len() {
        all.push(builder.soft(&head, i, &moments, &mut channels, &mut samplers));
    }
    builder.nodes[0]["children"] = json!(all);
    Ok(builder.finish(channels, samplers))
}

/// The rotation that takes the scene's up to y.
fn upright(head: &Head) -> [f64; 4] {
    glam::DQuat::from_rotation_arc(DVec3::from_array(head.up).normalize_or(DVec3::Z), DVec3::Y)
        .to_array()
}

/// Quaternions over time, each on the side of the one before it: viewers interpolate the
/// components.
fn turns(moments: &[Moment], body: usize) -> Vec<f32> {
    let mut last = glam::DQuat::IDENTITY;
    let mut out = Vec::new();
    for moment in moments {
        let q = moment.poses[body].orientation;
        last = if q.dot(last) < 0.0 { -q } else { q };
        out.extend(last.to_array().map(|x| x as f32));
    }
    out
}

impl Builder {
    fn view(&mut self, bytes: impl IntoIterator<Item = u8>, target: Option<u32>) -> usize {
        let start = self.bytes.len();
        self.bytes.extend(bytes);
        let mut view =
            json!({"buffer": 0, "byteOffset": start, "byteLength": self.bytes.len() - start});
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        // Accessors begin at multiples of four.
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(view);
        self.views.len() - 1
    }

    /// Rows of `width` floats, with their ends as the standard wants them.
    fn floats(&mut self, values: &[f32], width: usize) -> usize {
        let view = self.view(values.iter().flat_map(|x| x.to_le_bytes()), None);
        let kind = ["SCALAR", "SCALAR", "VEC2", "VEC3", "VEC4"][width];
        let end = |pick: fn(f32, f32) -> f32, from: f32| {
            (0..width)
                .map(|k| values.iter().skip(k).step_by(width).copied().fold(from, pick))
                .collect::<Vec<f32>>()
        };
        let count = values.len() / width;
        let mut accessor =
            json!({"bufferView": view, "componentType": 5126, "count": count, "type": kind});
        if count > 0 {
            accessor["min"] = json!(end(f32::min, f32::INFINITY));
            accessor["max"] = json!(end(f32::max, f32::NEG_INFINITY));
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn times(&mut self, times: &[f64]) -> usize {
        self.floats(&times.iter().map(|t| *t as f32).collect::<Vec<_>>(), 1)
    }

    fn indices(&mut self, triangles: &[u32]) -> usize {
        let view = self.view(triangles.iter().flat_map(|i| i.to_le_bytes()), Some(34963));
        self.accessors.push(json!({"bufferView": view, "componentType": 5125,
        "count": triangles.len(), "type": "SCALAR"}));
        self.accessors.len() - 1
    }

    fn material(&mut self, color: &str, look: Look) -> usize {
        // glTF's colours are linear.
        let [r, g, b] = crate::picture::color(color).to_array().map(|c| c.powf(2.2));
        let alpha = if look == Look::Glass { 0.15 } else { 1.0 };
        let mut material = json!({"pbrMetallicRoughness": {"baseColorFactor": [r, g, b, alpha],
        "metallicFactor": 0.05, "roughnessFactor": 0.65}, "doubleSided": look == Look::Glass});
        if look == Look::Glass {
            material["alphaMode"] = json!("BLEND");
        }
        self.materials.push(material);
        self.materials.len() - 1
    }

    /// A body and its shapes; returns its node.
    fn body(&mut self, head: &Head, i: usize, shapes: &[(usize, usize)]) -> usize {
        let body = &head.bodies[i];
        let mut children = Vec::new();
        for shape in head.shapes.iter().filter(|s| s.body as usize == i) {
            if shape.look == Look::Hidden {
                continue;
            }
            let color = shape.color.as_ref().unwrap_or(&body.color);
            let key = (shape.mesh, format!("{color} {:?}", shape.look));
            let mesh = match self.known.get(&key) {
                Some(mesh) => *mesh,
                None => {
                    let material = self.material(
                        if shape.look == Look::Ground { "#d8dce1" } else { color },
                        shape.look,
                    );
                    let normals = self.normals(&head.meshes[shape.mesh as usize]);
                    let (positions, indices) = shapes[shape.mesh as usize];
                    self.meshes.push(json!({"primitives": [{"attributes": {"POSITION": positions,
                    "NORMAL": normals}, "indices": indices, "material": material}]}));
                    self.known.insert(key, self.meshes.len() - 1);
                    self.meshes.len() - 1
                }
            };
            let place = pose(&shape.pose);
            self.nodes.push(json!({"mesh": mesh, "translation": place.position.to_array(),
            "rotation": place.orientation.to_array(), "scale": shape.scale}));
            children.push(self.nodes.len() - 1);
        }
        let place = pose(&body.pose);
        let mut node = json!({"name": body.name, "translation": place.position.to_array(),
        "rotation": place.orientation.to_array()});
        if !children.is_empty() {
            node["children"] = json!(children);
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn normals(&mut self, mesh: &Mesh) -> usize {
        let normals: Vec<f32> =
            mesh.normals().iter().flat_map(|n| n.as_vec3().to_array()).collect();
        self.floats(&normals, 3)
    }

    /// A soft body: the first frame, and for every kept frame a morph target that is fully on at
    /// its time.
    fn soft(
        &mut self,
        head: &Head,
        i: usize,
        moments: &[Moment],
        channels: &mut Vec<Json>,
        samplers: &mut Vec<Json>,
    ) -> usize {
        let soft = &head.soft[i];
        let kept: Vec<&Moment> =
            moments.iter().step_by(moments.len().div_ceil(SOFT_FRAMES).max(1)).collect();
        let flat = |nodes: &[DVec3]| {
            nodes.iter().flat_map(|p| p.as_vec3().to_array()).collect::<Vec<f32>>()
        };
        let first = kept.first().map(|m| m.soft[i].0.clone()).unwrap_or_default();
        let positions = self.floats(&flat(&first), 3);
        let indices = self.indices(&soft.triangles);
        let mut targets = Vec::new();
        for moment in kept.iter().skip(1) {
            let moved: Vec<DVec3> =
                moment.soft[i].0.iter().zip(&first).map(|(now, then)| *now - *then).collect();
            targets.push(json!({"POSITION": self.floats(&flat(&moved), 3)}));
        }
        let material = self.material(&soft.color, Look::Solid);
        let mut primitive = json!({"attributes": {"POSITION": positions}, "indices": indices,
        "material": material});
        let node = self.nodes.len();
        if !targets.is_empty() {
            let n = targets.len();
            primitive["targets"] = json!(targets);
            let times = self.times(&kept.iter().map(|m| m.time - kept[0].time).collect::<Vec<_>>());
            let weights: Vec<f32> = (0..=n)
                .flat_map(|k| (1..=n).map(move |target| if target == k { 1.0 } else { 0.0 }))
                .collect();
            let output = self.floats(&weights, 1);
            channels.push(
                json!({"sampler": samplers.len(), "target": {"node": node, "path": "weights"}}),
            );
            samplers.push(json!({"input": times, "output": output, "interpolation": "LINEAR"}));
        }
        self.meshes.push(json!({"primitives": [primitive]}));
        self.nodes.push(json!({"name": soft.name, "mesh": self.meshes.len() - 1}));
        node
    }

    fn finish(self, channels: Vec<Json>, samplers: Vec<Json>) -> Vec<u8> {
        let mut document = json!({
            "asset": {"version": "2.0", "generator": concat!("Signorini ",
            env!("CARGO_PKG_VERSION"))},
            "scene": 0, "scenes": [{"nodes": [0]}],
            "nodes": self.nodes, "meshes": self.meshes, "materials": self.materials,
            "accessors": self.accessors, "bufferViews": self.views,
            "buffers": [{"byteLength": self.bytes.len()}],
        });
        if !channels.is_empty() {
            document["animations"] =
                json!([{"name": "run", "channels": channels, "samplers": samplers}]);
        }
        // The standard has no empty lists.
        if let Some(object) = document.as_object_mut() {
            object.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        }
        let mut text = document.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut out = Vec::with_capacity(28 + text.len() + self.bytes.len());
        out.extend(b"glTF");
        let whole = 12 + 8 + text.len() + 8 + self.bytes.len();
        [2, whole as u32, text.len() as u32].iter().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(b"JSON");
        out.extend(&text);
        out.extend((self.bytes.len() as u32).to_le_bytes());
        out.extend(b"BIN\0");
        out.extend(&self.bytes);
        out
    }
}
