//! A scene is plain data: written as TOML or JSON and read again it is the same scene.

use signorini_files::builtin::{SCENES, built_in};
use signorini_mechanics::scene::{Coordinate, JointId, Scene};

#[test]
fn every_scene_survives_toml_and_json() {
    for (name, _) in SCENES.iter().filter(|(name, _)| !name.starts_with("balls_")) {
        let mut scene = built_in(name, &[]).unwrap().scene;
        if !scene.joints.is_empty() {
            // Only one end: the other is infinite.
            scene.add_limit(JointId(0), Coordinate::Angle, f64::NEG_INFINITY, 1.0);
        }
        let text = toml::to_string(&scene).unwrap_or_else(|e| panic!("{name}: {e}"));
        let again: Scene = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(again == scene, "{name} changed on its way through TOML");
        let text = serde_json::to_string(&scene).unwrap();
        let again: Scene = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(again == scene, "{name} changed on its way through JSON");
    }
}
