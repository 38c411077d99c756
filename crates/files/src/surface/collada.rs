//! Collada (.dae): the triangles of all geometries that the scene shows, each where its nodes put
//! it.
//!
//! Lengths are metres by the `unit` of the file. The `up_axis` is left aside, as robot tools do: a
//! mesh of a robot is in the axes of its link. Of materials the diffuse colour is read; lines,
//! textures, skins and animations are not.

use super::Welder;
use glam::{DMat4, DQuat, DVec3, DVec4};
use roxmltree::{Document, Node};
use std::collections::HashMap;

/// Nodes within nodes, at most: no file can exhaust the stack.
const MAX_NESTING: usize = 64;

/// Adds the triangles of a file.
pub fn read(text: &str, welder: &mut Welder) -> Result<(), String> {
    let document = Document::parse(text).map_err(|e| format!("is no XML: {e}"))?;
    let root = document.root_element();
    if root.tag_name().name() != "COLLADA" {
        return Err(format!("begins with <{}>, wanted <COLLADA>", root.tag_name().name()));
    }
    let unit =
        named(root, "asset").and_then(|a| named(a, "unit")).and_then(|u| u.attribute("meter"));
    let unit = unit
        .and_then(|m| m.parse::<f64>().ok())
        .filter(|m| *m > 0.0 && m.is_finite())
        .unwrap_or(1.0);
    let ids: HashMap<&str, Node<'_, '_>> =
        root.descendants().filter_map(|n| n.attribute("id").map(|id| (id, n))).collect();
    let mut reader = Collada { ids, welder, bound: HashMap::new() };
    let scale = DMat4::from_scale(DVec3::splat(unit));
    let scenes: Vec<Node<'_, '_>> =
        root.descendants().filter(|n| n.has_tag_name("visual_scene")).collect();
    for scene in &scenes {
        reader.children(*scene, scale, 0)?;
    }
    if scenes.is_empty() {
        for geometry in root.descendants().filter(|n| n.has_tag_name("geometry")) {
            reader.geometry(geometry, &scale)?;
        }
    }
    Ok(())
}

struct Collada<'a, 'i, 'w> {
    ids: HashMap<&'a str, Node<'a, 'i>>,
    welder: &'w mut Welder,
    /// What the names of materials stand for where a geometry is put.
    bound: HashMap<&'a str, Node<'a, 'i>>,
}

impl<'a, 'i> Collada<'a, 'i, '_> {
    fn link(&self, node: Node<'a, 'i>, key: &str) -> Option<Node<'a, 'i>> {
        node.attribute(key).and_then(|url| self.ids.get(url.trim_start_matches('#')).copied())
    }

    fn children(&mut self, parent: Node<'a, 'i>, place: DMat4, depth: usize) -> Result<(), String> {
        if depth > MAX_NESTING {
            return Err(format!("has nodes within nodes, more than {MAX_NESTING} deep"));
        }
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "node" => self.children(node, place * transform(node)?, depth + 1)?,
                "instance_node" => {
                    if let Some(other) = self.link(node, "url") {
                        self.children(other, place * transform(other)?, depth + 1)?;
                    }
                }
                "instance_geometry" => {
                    if let Some(geometry) = self.link(node, "url") {
                        let bindings =
                            node.descendants().filter(|n| n.has_tag_name("instance_material"));
                        self.bound = bindings
                            .filter_map(|b| Some((b.attribute("symbol")?, self.link(b, "target")?)))
                            .collect();
                        self.geometry(geometry, &place)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn geometry(&mut self, geometry: Node<'a, 'i>, place: &DMat4) -> Result<(), String> {
        let Some(mesh) = named(geometry, "mesh") else { return Ok(()) };
        for primitive in mesh.children().filter(Node::is_element) {
            let kind = primitive.tag_name().name();
            if ["triangles", "polylist", "polygons", "tristrips", "trifans"].contains(&kind) {
                self.welder.color = primitive.attribute("material").and_then(|m| self.color(m));
                self.primitive(primitive, kind, place)?;
            }
        }
        Ok(())
    }

    /// The diffuse colour of a material.
    fn color(&self, symbol: &str) -> Option<[u8; 3]> {
        let material = self.bound.get(symbol).or_else(|| self.ids.get(symbol))?;
        let effect = self.link(named(*material, "instance_effect")?, "url")?;
        let diffuse = effect.descendants().find(|n| n.has_tag_name("diffuse"))?;
        crate::surface::color(&numbers(named(diffuse, "color")?).ok()?)
    }

    fn primitive(
        &mut self,
        primitive: Node<'a, 'i>,
        kind: &str,
        place: &DMat4,
    ) -> Result<(), String> {
        let inputs: Vec<Node<'_, '_>> =
            primitive.children().filter(|n| n.has_tag_name("input")).collect();
        let offset = |n: &Node<'_, '_>| {
            n.attribute("offset").and_then(|o| o.parse::<usize>().ok()).unwrap_or(0)
        };
        let stride = inputs.iter().map(offset).max().unwrap_or(0) + 1;
        let Some(vertex) = inputs.iter().find(|n| n.attribute("semantic") == Some("VERTEX")) else {
            return Ok(());
        };
        let Some(points) = self.positions(*vertex)? else { return Ok(()) };
        let points: Vec<DVec3> = points.iter().map(|p| place.transform_point3(*p)).collect();
        let first = offset(vertex);
        let counts = named(primitive, "vcount").map(integers).transpose()?;
        for list in primitive.children().filter(|n| n.has_tag_name("p")) {
            let all = integers(list)?;
            let corners: Vec<DVec3> = all
                .chunks(stride)
                .filter_map(|c| c.get(first))
                .map(|&i| {
                    points.get(i).copied().ok_or_else(|| {
                        format!("names the corner {i}, but there are {}", points.len())
                    })
                })
                .collect::<Result<_, _>>()?;
            match (kind, &counts) {
                ("polylist", Some(counts)) => {
                    let mut rest = corners.as_slice();
                    for &count in counts {
                        let (polygon, after) = rest.split_at(count.min(rest.len()));
                        self.welder.polygon(polygon);
                        rest = after;
                    }
                }
                ("polygons", _) | ("trifans", _) => self.welder.polygon(&corners),
                ("tristrips", _) => {
                    for (i, t) in corners.windows(3).enumerate() {
                        self.welder.triangle(if i % 2 == 0 {
                            [t[0], t[1], t[2]]
                        } else {
                            [t[1], t[0], t[2]]
                        });
                    }
                }
                _ => corners.chunks_exact(3).for_each(|t| self.welder.triangle([t[0], t[1], t[2]])),
            }
        }
        Ok(())
    }

    /// The points that an input of vertices names.
    fn positions(&self, input: Node<'a, 'i>) -> Result<Option<Vec<DVec3>>, String> {
        let mut source = self.link(input, "source");
        if let Some(vertices) = source.filter(|s| s.has_tag_name("vertices")) {
            let position =
                vertices.children().find(|n| n.attribute("semantic") == Some("POSITION"));
            source = position.and_then(|p| self.link(p, "source"));
        }
        let Some(source) = source else { return Ok(None) };
        let Some(array) = named(source, "float_array") else { return Ok(None) };
        let numbers = numbers(array)?;
        let stride = source
            .descendants()
            .find(|n| n.has_tag_name("accessor"))
            .and_then(|a| a.attribute("stride"));
        let stride = stride.and_then(|s| s.parse().ok()).unwrap_or(3usize).max(3);
        Ok(Some(numbers.chunks_exact(stride).map(DVec3::from_slice).collect()))
    }
}

fn named<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|n| n.has_tag_name(name))
}

fn numbers(node: Node<'_, '_>) -> Result<Vec<f64>, String> {
    let words = node.text().unwrap_or("").split_whitespace();
    words
        .map(|w| {
            w.parse()
                .ok()
                .filter(|x: &f64| x.is_finite())
                .ok_or_else(|| format!("has `{w}` where a number is wanted"))
        })
        .collect()
}

fn integers(node: Node<'_, '_>) -> Result<Vec<usize>, String> {
    let words = node.text().unwrap_or("").split_whitespace();
    words.map(|w| w.parse().map_err(|_| format!("has `{w}` where an index is wanted"))).collect()
}

/// Where a node is: its transforms one after the other.
fn transform(node: Node<'_, '_>) -> Result<DMat4, String> {
    let mut place = DMat4::IDENTITY;
    for part in node.children().filter(Node::is_element) {
        let name = part.tag_name().name();
        if !["matrix", "translate", "rotate", "scale"].contains(&name) {
            continue;
        }
        let x = numbers(part)?;
        place *= match (name, x.len()) {
            ("matrix", 16) => {
                let row = |i: usize| DVec4::from_slice(&x[4 * i..]);
                DMat4::from_cols(row(0), row(1), row(2), row(3)).transpose()
            }
            ("translate", 3) => DMat4::from_translation(DVec3::from_slice(&x)),
            ("rotate", 4) => {
                let axis = DVec3::from_slice(&x).normalize_or(DVec3::Z);
                DMat4::from_quat(DQuat::from_axis_angle(axis, x[3].to_radians()))
            }
            ("scale", 3) => DMat4::from_scale(DVec3::from_slice(&x)),
            (_, count) => return Err(format!("has a <{name}> of {count} numbers")),
        };
    }
    Ok(place)
}
