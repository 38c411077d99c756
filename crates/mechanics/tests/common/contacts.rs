//! Contacts of two shapes.

use signorini_mechanics::geometry::{Collider, Contact, Shape, World};
use signorini_solve::math::pose::Pose;

/// What two shapes touch in, with normals of length one and gaps between their points.
pub fn touch(a: (&Shape, Pose), b: (&Shape, Pose), prediction: f64) -> Vec<Contact> {
    let mut world =
        World::new(&[Collider::new(0, a.0.clone()), Collider::new(1, b.0.clone())]).unwrap();
    let mut contacts = vec![];
    world.collide(&[a.1, b.1], prediction, &mut contacts);
    for contact in &contacts {
        assert!((contact.normal.length() - 1.0).abs() < 1e-12);
        let between = (contact.point_b - contact.point_a).dot(contact.normal);
        assert!((between - contact.gap).abs() < 1e-12);
    }
    contacts
}
