//! Simulations of scene files.

use super::{Simulation, SimulationError};

impl Simulation {
    /// A simulation of a scene file (TOML, JSON or URDF), or of a scene that comes with the crate,
    /// with the settings of the file.
    ///
    /// ```
    /// use signorini::prelude::*;
    ///
    /// let mut sim = Simulation::load("arch")?;
    /// sim.run_until(0.05)?;
    /// println!("{}", sim.body("stone_0")?.position());
    /// # Ok::<(), SimulationError>(())
    /// ```
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Simulation, SimulationError> {
        Simulation::load_with(path, &[])
    }

    /// As [`Simulation::load`], with other values for parameters of the scene:
    /// `["mu=0.3", "speed=2 m/s"]`.
    pub fn load_with(
        path: impl AsRef<std::path::Path>,
        set: &[String],
    ) -> Result<Simulation, SimulationError> {
        let loaded = signorini_files::builtin::find(&path.as_ref().to_string_lossy(), set)
            .map_err(SimulationError::File)?;
        Simulation::from_loaded(loaded)
    }

    /// A simulation of the text of a scene file (TOML); it cannot include others.
    pub fn parse(text: &str) -> Result<Simulation, SimulationError> {
        const NAME: &str = "scene.toml";
        let library = |name: &str| {
            if name == NAME {
                Ok(text.to_string())
            } else {
                Err("only one text was given".to_string())
            }
        };
        let loaded = signorini_files::scenefile::load_from(NAME, &library, &[]);
        Simulation::from_loaded(loaded.map_err(|faults| SimulationError::File(faults.to_string()))?)
    }

    /// A simulation of a scene file that was read.
    pub fn from_loaded(
        loaded: signorini_files::scenefile::Loaded,
    ) -> Result<Simulation, SimulationError> {
        let settings = loaded
            .settings(&signorini_files::Overrides::default())
            .map_err(SimulationError::File)?;
        let mut simulation = Simulation::new(loaded.scene, settings)?;
        simulation.notes.splice(0..0, loaded.notes);
        simulation.end_time = Some(loaded.t_end);
        Ok(simulation)
    }
}
