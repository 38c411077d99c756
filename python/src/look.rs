//! Pictures.

use crate::errors::Failure;
use signorini::Simulation;
use signorini::record::picture::{Drawing, picture as draw, png};
use signorini::record::record::Head;
use signorini::record::record::head::{About, Soft};
use signorini::record::record::read::{Moment, Touch};
use signorini::scene::{BodyId, SoftId};

/// The present moment as the bytes of a PNG file.
pub fn picture(sim: &Simulation, size: (usize, usize), forces: bool) -> Result<Vec<u8>, Failure> {
    let named = |text: String| Failure::Named("InputError", text);
    if !(16..=8192).contains(&size.0) || !(16..=8192).contains(&size.1) {
        return Err(named(format!("size {} × {}, wanted 16…8192 pixels each", size.0, size.1)));
    }
    let (scene, state) = (sim.scene(), sim.raw_state());
    let about = About { about: "", dt: sim.settings().h, t_end: sim.time(), texts: &[] };
    let soft = |s: &signorini::scene::Soft| Soft {
        name: scene.bodies[s.body.index()].name.clone(),
        color: "#c98a5a".into(),
        nodes: s.boundary.nodes.len(),
        triangles: s.boundary.triangles.concat(),
        scalar: None,
    };
    let head = Head::of(scene, &about, scene.softs.iter().map(soft).collect());
    let nodes = |(i, s): (usize, &signorini::scene::Soft)| {
        let layout = sim.stepper().layout();
        let first = layout.nodes_of(SoftId(i as u32)).start;
        (s.boundary.nodes.iter().map(|&n| state.node(layout, first + n as usize)).collect(), Vec::new())
    };
    let bodies = 0..scene.bodies.len();
    let moment = Moment {
        time: sim.time(),
        poses: bodies.clone().map(|i| state.pose(BodyId(i as u32))).collect(),
        velocities: bodies.clone().map(|_| signorini::glam::DVec3::ZERO).collect(),
        there: bodies.clone().map(|i| !state.orders.absent(BodyId(i as u32))).collect(),
        touches: sim.contacts().iter().filter(|c| c.force.length() > 0.0).map(touch).collect(),
        soft: scene.softs.iter().enumerate().map(nodes).collect(),
    };
    let drawing = Drawing { size, forces, ..Drawing::default() };
    png(&draw(&head, &moment, &drawing)).map_err(|e| Failure::Named("RecordError", e))
}

fn touch(c: &signorini::simulation::ContactPoint) -> Touch {
    Touch { bodies: [c.bodies.0.0, c.bodies.1.0], point: c.point, normal: c.normal, force: c.force }
}
