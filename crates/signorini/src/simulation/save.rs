//! A simulation as bytes, and back to the same bits.

use super::{Simulation, SimulationError};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use signorini_mechanics::scene::{Drive, Force, Material, Scene, State};
use signorini_mechanics::step::Ledger;
use std::borrow::Cow;

const FORMAT: &str = "signorini state";
const VERSION: u32 = 1;

/// Everything that a step or the user changes.
#[derive(Serialize, Deserialize)]
struct Saved<'a> {
    format: Cow<'a, str>,
    version: u32,
    /// Of everything in the scene that does not change.
    scene: u64,
    state: Cow<'a, State>,
    ledger: Ledger,
    h: f64,
    gravity: DVec3,
    drives: Vec<Cow<'a, Drive>>,
    materials: Cow<'a, [Material]>,
    forces: Cow<'a, [Force]>,
}

impl Simulation {
    /// The present state as bytes: positions, velocities, the reactions that the next step begins
    /// from, the energy ledger, and what was set meanwhile (motors, materials, gravity, time step,
    /// forces for the next step).
    pub fn save(&self) -> Vec<u8> {
        let saved = Saved {
            format: FORMAT.into(),
            version: VERSION,
            scene: fingerprint(&self.scene),
            state: Cow::Borrowed(&self.state),
            ledger: self.ledger,
            h: self.stepper.settings.h,
            gravity: self.scene.gravity,
            drives: self.scene.motors.iter().map(|m| Cow::Borrowed(&m.drive)).collect(),
            materials: Cow::Borrowed(&self.scene.materials),
            forces: Cow::Borrowed(&self.forces),
        };
        serde_json::to_vec(&saved).expect("plain data can be written")
    }

    /// Goes back to a saved state of this scene, to the same bits: the steps from there on are
    /// those that were taken after it was saved. The simulation stays as it is if the bytes do not
    /// fit.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let wrong = |why: String| SimulationError::Restore(why);
        let saved: Saved<'_> = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
        if saved.format != FORMAT || saved.version != VERSION {
            let found = format!("{} version {}", saved.format, saved.version);
            return Err(wrong(format!("found {found}, wanted {FORMAT} version {VERSION}")));
        }
        let (state, now) = (&saved.state, &self.state);
        let sizes = [
            (state.q.len(), now.q.len()),
            (state.v.len(), now.v.len()),
            (state.angles.len(), now.angles.len()),
        ];
        let lists = [
            (saved.drives.len(), self.scene.motors.len()),
            (saved.materials.len(), self.scene.materials.len()),
        ];
        if saved.scene != fingerprint(&self.scene)
            || sizes.into_iter().chain(lists).any(|(found, wanted)| found != wanted)
        {
            return Err(wrong(format!("it belongs to another scene than `{}`", self.scene.name)));
        }
        saved.state.fits(&self.scene).map_err(wrong)?;
        if !(saved.h > 0.0 && saved.h.is_finite()) {
            return Err(wrong(format!("time step {} s, wanted > 0", saved.h)));
        }
        self.state.copy_from(&saved.state);
        self.ledger = saved.ledger;
        self.stepper.settings.h = saved.h;
        self.scene.gravity = saved.gravity;
        for (motor, drive) in self.scene.motors.iter_mut().zip(saved.drives) {
            motor.drive = drive.into_owned();
        }
        self.scene.materials = saved.materials.into_owned();
        self.forces = saved.forces.into_owned();
        self.changed = true;
        self.verdict = None;
        self.contacts.clear();
        self.refresh();
        Ok(())
    }
}

/// FNV-1a over what does not change: bodies, joints, colliders, by name and value.
fn fingerprint(scene: &Scene) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |text: String| {
        text.bytes().for_each(|b| hash = (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3));
    };
    scene.bodies.iter().for_each(|x| add(format!("{x:?}")));
    scene.joints.iter().for_each(|x| add(format!("{x:?}")));
    scene.gears.iter().for_each(|x| add(format!("{x:?}")));
    scene.motors.iter().for_each(|x| add(format!("{} {:?} {:?}", x.name, x.joint, x.coordinate)));
    scene.forces.iter().for_each(|x| add(format!("{x:?}")));
    scene.colliders.iter().for_each(|x| add(format!("{x:?}")));
    add(format!("{:?} {:?} {:?}", scene.sensors, scene.controllers, scene.events));
    hash
}
