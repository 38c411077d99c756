//! What exists.

use crate::errors::{Failure, Key, detached, parsed, resolve};
use crate::simulation::coordinate;
use pyo3::prelude::*;
use signorini::geometry::{Shape, Volume};
use signorini::prelude::{DQuat, DVec3, Pose};
use signorini::scene::{self, Body, GearTerm, Solid, SurfaceMaterial};
use signorini::step::Settings;
use signorini_cli::robot_options::RobotOptions;

pub fn vector(v: [f64; 3]) -> DVec3 {
    DVec3::from_array(v)
}

pub fn quaternion(q: [f64; 4]) -> DQuat {
    DQuat::from_array(q)
}

fn pose(position: [f64; 3], orientation: [f64; 4]) -> Pose {
    Pose { position: vector(position), orientation: quaternion(orientation).normalize() }
}

/// The names of all things of a kind.
pub fn names(scene: &scene::Scene, what: &str) -> Vec<String> {
    match what {
        "body" => scene.bodies.iter().map(|x| x.name.clone()).collect(),
        "joint" => scene.joints.iter().map(|x| x.name.clone()).collect(),
        "motor" => scene.motors.iter().map(|x| x.name.clone()).collect(),
        _ => scene.materials.iter().map(|x| x.name.clone()).collect(),
    }
}

/// Volume of a shape, m³.
#[pyfunction]
pub fn volume(py: Python<'_>, shape: &str) -> PyResult<f64> {
    let shape: Shape = parsed("shape", shape).map_err(|e| e.raise(py))?;
    detached(py, || {
        Volume::of(&shape)
            .map(|v| v.volume)
            .map_err(|e| Failure::Named("SceneError", e.to_string()))
    })
}

/// What exists (see `signorini.Scene`).
#[pyclass(subclass, module = "signorini._engine")]
pub struct Scene {
    pub scene: scene::Scene,
    settings: Settings,
    #[pyo3(get)]
    end_time: Option<f64>,
    #[pyo3(get)]
    about: String,
    #[pyo3(get)]
    source: String,
    #[pyo3(get)]
    notes: Vec<String>,
}

impl Scene {
    fn loaded(loaded: signorini::files::scenefile::Loaded) -> Result<Scene, Failure> {
        let settings = loaded.settings(&signorini::files::Overrides::default());
        let settings = settings.map_err(|e| Failure::Named("SceneFileError", e))?;
        Ok(Scene {
            settings,
            end_time: Some(loaded.t_end),
            about: loaded.about,
            source: loaded.source,
            notes: loaded.notes,
            scene: loaded.scene,
        })
    }
}

#[pymethods]
impl Scene {
    #[new]
    #[pyo3(signature = (name="scene", *, path=None, text=None, set=Vec::new(), robot="{}"))]
    fn new(
        py: Python<'_>,
        name: &str,
        path: Option<String>,
        text: Option<String>,
        set: Vec<String>,
        robot: &str,
    ) -> PyResult<Scene> {
        if let Some(path) = path {
            let robot: RobotOptions =
                parsed("options of a robot", robot).map_err(|e| e.raise(py))?;
            return detached(py, || {
                let found =
                    signorini::files::builtin::find_robot(&path, &set, robot.choices().as_ref());
                Scene::loaded(found.map_err(|e| Failure::Named("SceneFileError", e))?)
            });
        }
        if let Some(text) = text {
            return detached(py, || {
                const NAME: &str = "scene.toml";
                let alone = || Err("only one text was given".to_string());
                let library = |name: &str| if name == NAME { Ok(text.clone()) } else { alone() };
                let found = signorini::files::scenefile::load_from(NAME, &library, &set);
                Scene::loaded(found.map_err(|e| Failure::Named("SceneFileError", e.to_string()))?)
            });
        }
        Ok(Scene {
            scene: scene::Scene::new(name),
            settings: Settings::default(),
            end_time: None,
            about: String::new(),
            source: String::new(),
            notes: Vec::new(),
        })
    }

    #[getter]
    fn name(&self) -> String {
        self.scene.name.clone()
    }

    #[getter]
    fn gravity(&self) -> [f64; 3] {
        self.scene.gravity.to_array()
    }

    #[setter]
    fn set_gravity(&mut self, gravity: [f64; 3]) {
        self.scene.gravity = vector(gravity);
    }

    fn _names(&self, what: &str) -> Vec<String> {
        names(&self.scene, what)
    }

    fn _settings_json(&self) -> String {
        serde_json::to_string(&self.settings).expect("settings can be written")
    }

    fn _json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.scene)
            .map_err(|e| Failure::Named("SceneError", e.to_string()).raise(py))
    }

    /// Becomes the scene that was stored so, with these settings.
    fn _become(
        &mut self,
        py: Python<'_>,
        scene: &str,
        settings: &str,
        rest: (Option<f64>, String, String, Vec<String>),
    ) -> PyResult<()> {
        let (end_time, about, source, notes) = rest;
        let scene = parsed("scene", scene).map_err(|e| e.raise(py))?;
        let settings = parsed("settings", settings).map_err(|e| e.raise(py))?;
        *self = Scene { scene, settings, end_time, about, source, notes };
        Ok(())
    }

    /// What is wrong with the scene, one line each.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || {
            let faults = self.scene.check().err().into_iter().flatten();
            Ok(faults.map(|fault| fault.to_string()).collect())
        })
    }

    fn _add_body(&mut self, py: Python<'_>, body: &str) -> PyResult<u32> {
        let body: Body = parsed("body", body).map_err(|e| e.raise(py))?;
        Ok(self.scene.add_body(body).0)
    }

    fn _add_collider(
        &mut self,
        py: Python<'_>,
        body: Key,
        shape: &str,
        at: ([f64; 3], [f64; 4]),
        surface: (Key, [f64; 3]),
    ) -> PyResult<u32> {
        let (position, orientation) = at;
        let (material, belt) = surface;
        let body = resolve!(py, body, &self.scene, BodyId)?;
        let material = resolve!(py, material, &self.scene, MaterialId)?;
        let shape: Shape = parsed("shape", shape).map_err(|e| e.raise(py))?;
        // Described in the frame of the description, kept in that of the body.
        let origin = self.scene.bodies[body.index()].origin;
        let mut at = pose(position, orientation);
        at.position += origin;
        let surface = SurfaceMaterial { material, belt: vector(belt) };
        Ok(self.scene.add_collider(body, shape, at, surface).0)
    }

    #[allow(clippy::type_complexity)]
    fn _add_solid(
        &mut self,
        py: Python<'_>,
        name: &str,
        at: ([f64; 3], [f64; 4]),
        moving: ([f64; 3], [f64; 3]),
        parts: Vec<(String, [f64; 3], [f64; 4], f64, Key)>,
    ) -> PyResult<u32> {
        let ((position, orientation), (velocity, angular)) = (at, moving);
        let mut solids = Vec::new();
        for (shape, at, turn, density, material) in parts {
            let material = resolve!(py, material, &self.scene, MaterialId)?;
            let shape = parsed("shape", &shape).map_err(|e| e.raise(py))?;
            solids.push(Solid { shape, pose: pose(at, turn), density, surface: material.into() });
        }
        let scene = &mut self.scene;
        let id = detached(py, || {
            let added = scene.add_solid(name, pose(position, orientation), &solids);
            added.map_err(|e| Failure::Named("SceneError", format!("body `{name}`: {e}")))
        })?;
        let body = &mut self.scene.bodies[id.index()];
        *body = body.clone().moving(vector(velocity), vector(angular));
        Ok(id.0)
    }

    fn _add_material(&mut self, py: Python<'_>, material: &str) -> PyResult<u32> {
        let material = parsed("material", material).map_err(|e| e.raise(py))?;
        Ok(self.scene.add_material(material).0)
    }

    fn _add_joint(
        &mut self,
        py: Python<'_>,
        name: &str,
        kind: &str,
        pair: (Key, Key),
        at: ([f64; 3], [f64; 3]),
    ) -> PyResult<u32> {
        let ((a, b), (position, axis)) = (pair, at);
        let bodies = (resolve!(py, a, &self.scene, BodyId)?, resolve!(py, b, &self.scene, BodyId)?);
        let kind = parsed("kind of a joint", kind).map_err(|e| e.raise(py))?;
        let frame = scene::frame(vector(position), vector(axis));
        Ok(self.scene.add_joint(name, kind, bodies, frame).0)
    }

    fn _add_rod(
        &mut self,
        py: Python<'_>,
        name: &str,
        pair: (Key, Key),
        points: ([f64; 3], [f64; 3]),
    ) -> PyResult<u32> {
        let (a, b) = pair;
        let bodies = (resolve!(py, a, &self.scene, BodyId)?, resolve!(py, b, &self.scene, BodyId)?);
        Ok(self.scene.add_rod(name, bodies, (vector(points.0), vector(points.1))).0)
    }

    /// Stops at the ends of a coordinate of a joint (m, rad).
    fn add_limit(
        &mut self,
        py: Python<'_>,
        joint: Key,
        coordinate_name: &str,
        lo: f64,
        hi: f64,
    ) -> PyResult<()> {
        let joint = resolve!(py, joint, &self.scene, JointId)?;
        self.scene.add_limit(joint, coordinate(py, coordinate_name)?, lo, hi);
        Ok(())
    }

    /// Dry friction on a coordinate of a joint: greatest force or torque (N, N m).
    fn add_dry_friction(
        &mut self,
        py: Python<'_>,
        joint: Key,
        coordinate_name: &str,
        effort: f64,
    ) -> PyResult<()> {
        let joint = resolve!(py, joint, &self.scene, JointId)?;
        self.scene.add_dry_friction(joint, coordinate(py, coordinate_name)?, effort);
        Ok(())
    }

    /// Inertia of a rotor on a coordinate of a joint (kg m², of a slide kg).
    fn add_armature(
        &mut self,
        py: Python<'_>,
        joint: Key,
        coordinate_name: &str,
        inertia: f64,
    ) -> PyResult<()> {
        let joint = resolve!(py, joint, &self.scene, JointId)?;
        self.scene.add_armature(joint, coordinate(py, coordinate_name)?, inertia);
        Ok(())
    }

    fn _add_motor(
        &mut self,
        py: Python<'_>,
        name: &str,
        joint: Key,
        which: &str,
        drive: &str,
    ) -> PyResult<u32> {
        let joint = resolve!(py, joint, &self.scene, JointId)?;
        let drive = parsed("drive", drive).map_err(|e| e.raise(py))?;
        Ok(self.scene.add_motor(name, joint, coordinate(py, which)?, drive).0)
    }

    /// A gear: the sum of factor × coordinate over `terms` keeps its initial value.
    fn add_gear(
        &mut self,
        py: Python<'_>,
        name: &str,
        terms: Vec<(Key, String, f64)>,
    ) -> PyResult<u32> {
        let mut list = Vec::new();
        for (joint, which, factor) in terms {
            let joint = resolve!(py, joint, &self.scene, JointId)?;
            list.push(GearTerm { joint, coordinate: coordinate(py, &which)?, factor });
        }
        Ok(self.scene.add_gear(name, &list).0)
    }

    /// A spring and damper between two points of the world, as the bodies now stand; without a
    /// length, at rest there.
    #[pyo3(signature = (name, a, b, point_a, point_b, stiffness, damping=0.0, length=None))]
    #[allow(clippy::too_many_arguments)]
    fn add_spring(
        &mut self,
        py: Python<'_>,
        name: &str,
        a: Key,
        b: Key,
        point_a: [f64; 3],
        point_b: [f64; 3],
        stiffness: f64,
        damping: f64,
        length: Option<f64>,
    ) -> PyResult<u32> {
        let (a, b) = (resolve!(py, a, &self.scene, BodyId)?, resolve!(py, b, &self.scene, BodyId)?);
        let (from, to) = (vector(point_a), vector(point_b));
        let spring = scene::Spring {
            a,
            b,
            point_a: self.scene.to_body(a, &Pose::at(from)).position,
            point_b: self.scene.to_body(b, &Pose::at(to)).position,
            length: length.unwrap_or_else(|| from.distance(to)),
            stiffness,
            damping,
        };
        Ok(self.scene.add_force(name, scene::ForceKind::Spring(spring)).0)
    }

    /// Two bodies that never touch.
    fn exclude(&mut self, py: Python<'_>, a: Key, b: Key) -> PyResult<()> {
        let pair = (resolve!(py, a, &self.scene, BodyId)?, resolve!(py, b, &self.scene, BodyId)?);
        self.scene.excluded.push(pair);
        Ok(())
    }
}
