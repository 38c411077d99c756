//! Geoms: what solid each one is, what it touches, and what it weighs.

use super::contact::DEFAULT_FRICTION;
use super::mesh::{MeshMass, mesh_volume};
use super::model::{Geom, Grip, Place, Tree};
use super::read::{Attributes, towards};
use super::xml::{Element, MAIN};
use crate::robot::Solid;
use crate::surface::color;
use glam::{DMat3, DVec3};
use signorini_mechanics::geometry::{Shape, Volume};
use signorini_solve::math::pose::Pose;

/// Geoms of higher groups are for contact: MuJoCo's viewer hides them unless asked.
const LAST_SHOWN_GROUP: f64 = 2.0;

impl Tree {
    /// A geom; its volume is collected if it weighs something.
    pub(super) fn geom(
        &mut self,
        element: &Element,
        class: &str,
        place: &Place,
        a: &mut Attributes<'_, '_, '_>,
        volumes: &mut Vec<Volume>,
    ) -> Option<Geom> {
        let mesh = a.text(element, class, "mesh");
        let kind = a
            .text(element, class, "type")
            .unwrap_or_else(|| if mesh.is_some() { "mesh".into() } else { "sphere".into() });
        let size = a.numbers(element, class, "size").unwrap_or_default();
        let mut pose = a.pose(element, class);
        let mut length = size.get(1).copied().unwrap_or(0.0);
        if let Some(&[x, y, z, u, v, w]) = a.numbers(element, class, "fromto").as_deref() {
            let (from, to) = (DVec3::new(x, y, z), DVec3::new(u, v, w));
            length = 0.5 * from.distance(to);
            // MuJoCo's z axis goes from the second point to the first.
            let along = from - to;
            pose = Pose::new(
                0.5 * (from + to),
                if along.length() > 0.0 { towards(along) } else { pose.orientation },
            );
        }
        let solid = self.solid(element, &kind, (&size, length), mesh.as_deref(), a)?;
        if let Solid::Mesh { .. } = &solid
            && let Some(asset) = mesh.as_ref().and_then(|m| self.meshes.get(m))
        {
            pose = pose * asset.frame.inverse();
        }
        let pose = place.frame * pose;
        let group = a.number(element, class, "group").unwrap_or(0.0);
        let weighs = group >= a.compiler.groups.0 && group <= a.compiler.groups.1;
        let (given, density) = (
            a.number(element, class, "mass"),
            a.number(element, class, "density").unwrap_or(1000.0),
        );
        let inertial = self.bodies[place.body].at.all("inertial").next().is_some();
        let wanted =
            a.compiler.from_geom == Some(true) || (a.compiler.from_geom.is_none() && !inertial);
        if weighs && wanted && place.body != 0 && given.unwrap_or(density) > 0.0 {
            volumes.extend(self.volume(element, &solid, &pose, given, density, a));
        }
        let bits = |a: &mut Attributes<'_, '_, '_>, name: &str| {
            a.number(element, class, name).unwrap_or(1.0) as u32
        };
        let condim = a.number(element, class, "condim").unwrap_or(3.0);
        if ![1.0, 3.0, 4.0, 6.0].contains(&condim) {
            a.reader.fault(element, format!("condim is {condim}"), "wanted 1, 3, 4 or 6");
        }
        let given = a.numbers(element, class, "friction").unwrap_or_default();
        let mut friction = DEFAULT_FRICTION;
        friction.iter_mut().zip(given).for_each(|(f, x)| *f = x.max(0.0));
        let priority = a.number(element, class, "priority").unwrap_or(0.0) as i64;
        if self.soft.is_none()
            && ["solref", "solimp"].iter().any(|n| a.defaults.get(element, class, n).is_some())
        {
            self.soft = Some(element.clone());
        }
        let rgba = self.rgba(element, class, a);
        let clear = rgba.as_ref().and_then(|c| c.get(3)).is_some_and(|alpha| *alpha == 0.0);
        Some(Geom {
            name: element.own("name").map(String::from),
            pose,
            solid,
            bits: (bits(a, "contype"), bits(a, "conaffinity")),
            grip: Grip { condim: condim as u8, friction, priority },
            shown: group <= LAST_SHOWN_GROUP && !clear,
            color: rgba.and_then(|rgba| color(&rgba)),
        })
    }

    /// Red, green, blue and opacity of a geom: its own, else those of its material.
    fn rgba(
        &self,
        element: &Element,
        class: &str,
        a: &mut Attributes<'_, '_, '_>,
    ) -> Option<Vec<f64>> {
        if let Some(own) = a.numbers(element, class, "rgba") {
            return Some(own);
        }
        let material = a.text(element, class, "material")?;
        a.numbers(self.materials.get(&material)?, MAIN, "rgba")
    }

    /// The solid of a geom of this type.
    fn solid(
        &self,
        element: &Element,
        kind: &str,
        (size, length): (&[f64], f64),
        mesh: Option<&str>,
        a: &mut Attributes<'_, '_, '_>,
    ) -> Option<Solid> {
        let radius = size.first().copied().unwrap_or(0.0);
        let three = || {
            DVec3::new(
                radius,
                size.get(1).copied().unwrap_or(0.0),
                size.get(2).copied().unwrap_or(0.0),
            )
        };
        let solid = match (kind, mesh) {
            ("plane", _) => Solid::HalfSpace,
            ("mesh", Some(name)) | ("sdf", Some(name)) => match self.meshes.get(name) {
                Some(asset) => {
                    Solid::Mesh { file: asset.file.clone(), scale: asset.scale, hull: true }
                }
                None => {
                    a.reader.fault(
                        element,
                        format!("there is no mesh `{name}`"),
                        "wanted one of <asset>",
                    );
                    return None;
                }
            },
            ("sphere" | "capsule" | "cylinder" | "ellipsoid" | "box", Some(_)) => {
                a.reader.left_out(element, format!("a {kind} fitted to a mesh is left out"));
                return None;
            }
            ("sphere", _) => Solid::Sphere(radius),
            ("capsule", _) => Solid::Capsule(radius, 2.0 * length),
            ("cylinder", _) => Solid::Cylinder(radius, 2.0 * length),
            ("ellipsoid", _) => Solid::Ellipsoid(three()),
            ("box", _) => Solid::Box(2.0 * three()),
            (other, _) => {
                a.reader.left_out(element, format!("a geom of type `{other}` is left out"));
                return None;
            }
        };
        let smallest = match &solid {
            Solid::Sphere(r) => *r,
            Solid::Capsule(r, l) | Solid::Cylinder(r, l) => r.min(*l),
            Solid::Ellipsoid(x) | Solid::Box(x) => x.min_element(),
            _ => 1.0,
        };
        if !(smallest > 0.0) {
            let count = size.len();
            a.reader.fault(
                element,
                format!("a {kind} with {count} sizes, one of them not above 0"),
                "wanted sizes above 0",
            );
            return None;
        }
        Some(solid)
    }

    /// Mass, centre and inertia of a geom in the frame of its body.
    fn volume(
        &self,
        element: &Element,
        solid: &Solid,
        pose: &Pose,
        given: Option<f64>,
        density: f64,
        a: &mut Attributes<'_, '_, '_>,
    ) -> Option<Volume> {
        let shape = match solid {
            Solid::Sphere(radius) => Shape::Sphere { radius: *radius },
            Solid::Box(edges) => Shape::Box { half_extents: 0.5 * *edges },
            Solid::Capsule(radius, length) => {
                Shape::Capsule { radius: *radius, half_length: 0.5 * length }
            }
            Solid::Cylinder(radius, length) => {
                Shape::Cylinder { radius: *radius, half_length: 0.5 * length }
            }
            Solid::Ellipsoid(axes) => {
                let volume = 4.0 / 3.0 * std::f64::consts::PI * axes.x * axes.y * axes.z;
                let s = *axes * *axes;
                let inertia = DMat3::from_diagonal(
                    DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (0.2 * volume),
                );
                return Some(weighed(
                    Volume { volume, center: DVec3::ZERO, inertia },
                    pose,
                    given,
                    density,
                ));
            }
            Solid::HalfSpace | Solid::Hull(_) => return None,
            Solid::Mesh { file, scale, .. } => {
                let found = crate::surface::read(file).map(|mut mesh| {
                    mesh.vertices.iter_mut().for_each(|v| *v *= *scale);
                    mesh
                });
                let mode = self
                    .meshes
                    .values()
                    .find(|m| m.file == *file)
                    .map_or(MeshMass::Legacy, |m| m.mass);
                return match (found, mode) {
                    (Ok(mesh), MeshMass::Convex) => {
                        Volume::of(&Shape::Hull { points: mesh.extremes() })
                            .ok()
                            .map(|v| weighed(v, pose, given, density))
                    }
                    (Ok(mesh), mode) => mesh_volume(&mesh, mode == MeshMass::Legacy)
                        .map(|v| weighed(v, pose, given, density)),
                    (Err(why), _) => {
                        a.reader.fault(
                            element,
                            format!("the mesh {} {why}", file.display()),
                            "wanted an .stl or .obj file",
                        );
                        None
                    }
                };
            }
        };
        match Volume::of(&shape) {
            Ok(volume) => Some(weighed(volume, pose, given, density)),
            Err(why) => {
                a.reader.left_out(element, format!("it has no mass: {why}"));
                None
            }
        }
    }
}

fn weighed(volume: Volume, pose: &Pose, given: Option<f64>, density: f64) -> Volume {
    let density = given.map_or(density, |mass| mass / volume.volume);
    let moved = volume.moved(pose);
    Volume {
        volume: density * moved.volume,
        center: moved.center,
        inertia: moved.inertia * density,
    }
}
