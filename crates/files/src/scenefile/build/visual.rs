//! What bodies are drawn by: `visual` shapes, and shapes with a colour of their own.

use super::Builder;
use super::body::shape;
use crate::scenefile::format;
use crate::scenefile::value::{Length, Name, Vector, vector};
use glam::DVec3;
use signorini_mechanics::scene::{BodyId, Drawn, Visual};
use signorini_solve::math::pose::Pose;

impl Builder<'_, '_> {
    /// The visuals of a body whose centre of mass is at `center` of its described frame.
    pub(super) fn visuals(&mut self, table: &format::Body, body: BodyId, center: DVec3) {
        for shape in &table.visual.0 {
            for (fields, _) in &shape.copies {
                self.touches_nothing(fields);
            }
        }
        // Shapes of several colours are drawn one by one.
        let colored = table.shape.0.iter().any(|s| s.copies.iter().any(|c| c.0.color.is_some()));
        let shapes = if !table.visual.0.is_empty() {
            &table.visual.0
        } else if colored {
            &table.shape.0
        } else {
            return;
        };
        for (fields, edges) in shapes.iter().flat_map(|s| &s.copies) {
            let Some(drawn) = self.drawn(fields, edges) else { continue };
            let Some(turn) = self.rotation(fields.rotation.as_ref()) else { continue };
            let at = fields.position.as_ref().map_or(DVec3::ZERO, vector);
            let color = self.color(&fields.color);
            let pose_in_body = Pose::new(at - center, turn);
            self.scene.visuals.push(Visual { body, pose_in_body, drawn, color });
        }
    }

    fn drawn(
        &mut self,
        fields: &format::ShapeFields,
        edges: &Option<Vector<Length>>,
    ) -> Option<Drawn> {
        let file = fields.mesh.as_ref().and_then(|mesh| Some((mesh, mesh.file.as_ref()?)));
        let Some((mesh, file)) = file else { return shape(fields, edges).map(Drawn::Shape) };
        let path = self.beside(file);
        if let Err(why) = std::fs::metadata(&path) {
            self.reader.fault(
                &file.at,
                format!("the mesh `{}` cannot be read: {why}", file.value),
                "wanted an .stl, .obj, .dae, .glb or .gltf file beside the scene file",
            );
            return None;
        }
        let scale = mesh.scale.as_ref().map_or(DVec3::ONE, vector);
        Some(Drawn::File { path: path.display().to_string(), scale })
    }

    /// What is only seen has no material, no group, no mass.
    fn touches_nothing(&mut self, fields: &format::ShapeFields) {
        let name = |n: &Option<Name>| n.as_ref().map(|n| n.at.clone());
        let listed = fields.touches.as_ref().and_then(|t| t.first()).map(|n| n.at.clone());
        let found = [
            ("material", name(&fields.material)),
            ("group", name(&fields.group)),
            ("touches", listed),
        ];
        for (key, at) in found {
            if let Some(at) = at {
                self.reader.fault(
                    &at,
                    format!("found `{key}` in a visual shape, which touches nothing"),
                    "wanted it in `shape`",
                );
            }
        }
    }

    /// A colour, "#rrggbb".
    pub(super) fn color(&mut self, name: &Option<Name>) -> Option<[u8; 3]> {
        let name = name.as_ref()?;
        let digits = name.value.strip_prefix('#').filter(|d| d.len() == 6 && d.is_ascii());
        let number = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        if number.is_none() {
            self.reader.fault(
                &name.at,
                format!("found `{}`", name.value),
                "wanted a colour such as \"#d04020\"",
            );
        }
        let [_, red, green, blue] = number?.to_be_bytes();
        Some([red, green, blue])
    }
}
