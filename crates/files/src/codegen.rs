//! The accelerations of a mechanism as source code for a real-time target.

use crate::scenefile::Loaded;
use signorini_mechanics::mechanism::{Simulation, emit};
use signorini_mechanics::symbolic::export::{Language, Source};

/// The source code of a scene, with `cases` states along its motion for its self-test.
pub fn source(loaded: &Loaded, language: Language, cases: usize) -> Result<Source, String> {
    let mut simulation = Simulation::new(&loaded.scene, loaded.acceleration_settings())
        .map_err(|e| format!("error: {e}"))?;
    // States a tenth of the run apart: far from the first one.
    let apart = 0.1 * loaded.t_end;
    Ok(emit::emit(
        &mut simulation,
        &identifier(&loaded.scene.name),
        language,
        (cases, (loaded.dt, apart)),
    ))
}

/// A name that both languages accept.
fn identifier(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain
    } else {
        format!("mechanism_{plain}")
    }
}
