//! Soft bodies in a record: their surfaces once, then places and stresses of the nodes on them.

use crate::record::head::{Scalar, Soft};
use glam::DVec3;
use signorini_mechanics::scene::{self, Scene, SoftId, State};
use signorini_mechanics::step::Stepper;

/// The soft bodies of a scene: the triangles of their surfaces, once.
pub(super) fn bodies(scene: &Scene) -> Vec<Soft> {
    let of = |soft: &scene::Soft| Soft {
        name: scene.bodies[soft.body.index()].name.clone(),
        color: "#c98a5a".into(),
        nodes: soft.boundary.nodes.len(),
        triangles: soft.boundary.triangles.concat(),
        scalar: Some(Scalar { name: "von Mises stress".into(), unit: "Pa".into() }),
    };
    scene.softs.iter().map(of).collect()
}

/// For each of [`bodies`], in their order: the places of the nodes on its surface (m), and the
/// stress at each.
pub(super) fn state(
    scene: &Scene,
    stepper: &Stepper,
    state: &State,
) -> Vec<(Vec<DVec3>, Vec<f64>)> {
    let of = |(i, soft): (usize, &scene::Soft)| {
        let id = SoftId(i as u32);
        let first = stepper.layout().nodes_of(id).start;
        let places = soft
            .boundary
            .nodes
            .iter()
            .map(|&n| state.node(stepper.layout(), first + n as usize))
            .collect();
        // Before the first step nothing has been strained yet.
        let stress =
            if state.steps == 0 { Vec::new() } else { stepper.fields(scene, state, id).von_mises };
        let stress = soft
            .boundary
            .nodes
            .iter()
            .map(|&n| stress.get(n as usize).copied().unwrap_or(0.0))
            .collect();
        (places, stress)
    };
    scene.softs.iter().enumerate().map(of).collect()
}
