//! Meshes that are only drawn: read when something is to be drawn, one part for each colour.

use crate::surface;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::{Drawn, Scene, Visual};
use std::collections::HashMap;

/// Puts triangles in place of the mesh files of a scene's visuals; says what cannot be read, which
/// is then not drawn. To call it again does nothing.
pub fn load(scene: &mut Scene) -> Vec<String> {
    let (mut notes, mut known) = (Vec::new(), HashMap::new());
    let mut out = Vec::with_capacity(scene.visuals.len());
    for visual in std::mem::take(&mut scene.visuals) {
        let Drawn::File { path, scale } = &visual.drawn else {
            out.push(visual);
            continue;
        };
        let found = known.entry(path.clone()).or_insert_with(|| {
            surface::read(std::path::Path::new(path)).map(|mesh| mesh.by_color())
        });
        match found {
            Ok(parts) => {
                for (color, mut part) in parts.iter().cloned() {
                    part.stretch(*scale);
                    let (vertices, triangles) = (part.vertices, part.triangles);
                    let drawn = Drawn::Shape(Shape::Mesh { vertices, triangles });
                    out.push(Visual { drawn, color: color.or(visual.color), ..visual.clone() });
                }
            }
            Err(why) => notes.push(format!("the mesh {path} {why}: it is not drawn")),
        }
    }
    scene.visuals = out;
    notes
}
