//! What was found in a scene, and what is asked again and again while looking.

use crate::geometry::{Contact, World};
use crate::scene::{BodyId, Scene, State};
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The simulation would be wrong or impossible.
    Error,
    /// It would be doubtful.
    Warning,
    /// Worth knowing.
    Note,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of finding, for machines.
    pub kind: &'static str,
    /// Who: body, joint, pair.
    pub subject: String,
    /// What was found, with its value.
    pub found: String,
    /// What to do.
    pub advice: String,
}

/// Collects findings.
pub(crate) struct Findings<'a> {
    pub scene: &'a Scene,
    pub state: State,
    pub dt: f64,
    pub list: Vec<Finding>,
    /// The colliders of each body.
    pub colliders: Vec<Vec<u32>>,
    /// Where bodies touch at the beginning.
    pub contacts: Vec<Contact>,
    world: Option<World>,
}

impl<'a> Findings<'a> {
    /// Nothing found yet.
    pub fn of(scene: &'a Scene, state: State, dt: f64) -> Findings<'a> {
        let mut colliders = vec![Vec::new(); scene.bodies.len()];
        scene
            .colliders
            .iter()
            .zip(0..)
            .for_each(|(collider, i)| colliders[collider.body as usize].push(i));
        let (world, contacts) = touching(scene, &state).unzip();
        Findings {
            scene,
            state,
            dt,
            list: Vec::new(),
            colliders,
            contacts: contacts.unwrap_or_default(),
            world,
        }
    }

    /// How thin the thinner of two colliders is, m.
    pub fn thickness(&self, (a, b): (u32, u32)) -> f64 {
        self.world
            .as_ref()
            .map_or(f64::INFINITY, |world| world.thickness(a).min(world.thickness(b)))
    }

    /// Adds one.
    pub fn add(
        &mut self,
        severity: Severity,
        kind: &'static str,
        subject: impl Into<String>,
        found: String,
        advice: String,
    ) {
        self.list.push(Finding { severity, kind, subject: subject.into(), found, advice });
    }

    /// The name of a body.
    pub fn body(&self, id: usize) -> &str {
        &self.scene.bodies[id].name
    }
}

/// Contacts of the initial position, overlapping or nearly touching.
fn touching(scene: &Scene, state: &State) -> Option<(World, Vec<Contact>)> {
    let mut world = World::new(&scene.colliders).ok()?;
    let joined = scene.joints.iter().filter(|j| !j.collide).map(|j| (j.a, j.b));
    world.exclude(joined.chain(scene.excluded.iter().copied()).map(|(a, b)| (a.0, b.0)));
    // Who waits in a template is nowhere.
    let nowhere = crate::math::pose::Pose::at(glam::DVec3::NAN);
    let place =
        |i: u32| if state.orders.absent(BodyId(i)) { nowhere } else { state.pose(BodyId(i)) };
    let poses: Vec<_> = (0..scene.bodies.len() as u32).map(place).collect();
    let mut contacts = Vec::new();
    world.collide(&poses, 1e-6, &mut contacts);
    Some((world, contacts))
}
