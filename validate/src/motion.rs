//! Scenes as text, and runs in which every step must be accepted.

use signorini::prelude::*;
use std::fmt::Write as _;

/// The acceleration of gravity of scenes that say nothing else, m/s².
pub const G: f64 = 9.81;

/// A scene file in the making: what stands at its top, and its tables.
#[derive(Clone, Debug)]
pub struct Text {
    head: String,
    run: String,
    contact: String,
    tables: String,
}

/// Which time scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// First order.
    Euler,
    /// Second order between events.
    Leapfrog,
}

impl Text {
    /// A scene with steps of `dt` s, solved to a billionth of a metre per second.
    pub fn new(scheme: Scheme, dt: f64) -> Text {
        Text::begin(scheme, dt).run("tolerance = 1e-14\nvelocity_tolerance = 1e-9")
    }

    /// A scene with steps of `dt` s and the tolerances that every user gets.
    pub fn usual(dt: f64) -> Text {
        Text::begin(Scheme::Leapfrog, dt)
    }

    /// A scene with rigid contacts for the statics of its first step, solved to 1e-11 m/s.
    pub fn statics(dt: f64) -> Text {
        let text =
            Text::begin(Scheme::Leapfrog, dt).run("tolerance = 1e-20\nvelocity_tolerance = 1e-11");
        text.contact("rigid = true")
    }

    fn begin(scheme: Scheme, dt: f64) -> Text {
        let scheme = if scheme == Scheme::Euler { "euler" } else { "leapfrog" };
        let run = format!("dt = {dt:e}\nt_end = 1e6\nscheme = \"{scheme}\"\n");
        Text { head: String::new(), run, contact: String::new(), tables: String::new() }
    }

    /// Another gravity, m/s².
    pub fn gravity(mut self, g: [f64; 3]) -> Text {
        let _ = writeln!(self.head, "gravity = [{:?}, {:?}, {:?}]", g[0], g[1], g[2]);
        self
    }

    /// A line of `[run]`.
    pub fn run(mut self, line: &str) -> Text {
        self.run += line;
        self.run.push('\n');
        self
    }

    /// A line of `[contact]`.
    pub fn contact(mut self, line: &str) -> Text {
        self.contact += line;
        self.contact.push('\n');
        self
    }

    /// The material of everything that names none.
    pub fn material(self, mu: f64, restitution: f64) -> Text {
        let line = format!("mu = {mu:?}, restitution = {restitution:?}, density = 1000.0");
        self.contact("material = \"all\"").add(&format!("[materials]\nall = {{ {line} }}"))
    }

    /// The half-space below z = 0.
    pub fn floor(self) -> Text {
        self.add("[[body]]\nname = \"floor\"\nfixed = true\nshape = { half_space = true }")
    }

    /// Tables.
    pub fn add(mut self, tables: &str) -> Text {
        self.tables += tables;
        self.tables.push('\n');
        self
    }

    /// A body: name, shape and the lines that it has beside them.
    pub fn body(self, name: &str, shape: &str, lines: &str) -> Text {
        self.add(&format!("[[body]]\nname = \"{name}\"\nshape = {{ {shape} }}\n{lines}"))
    }

    /// The scene file.
    pub fn text(&self) -> String {
        let contact = if self.contact.is_empty() {
            String::new()
        } else {
            format!("[contact]\n{}", self.contact)
        };
        format!("{}[run]\n{}{contact}{}", self.head, self.run, self.tables)
    }

    /// The simulation.
    pub fn simulate(&self) -> Result<Motion, String> {
        let sim = Simulation::parse(&self.text()).map_err(|e| e.to_string())?;
        Ok(Motion { sim })
    }
}

/// A vector as TOML.
pub fn xyz(v: impl Into<DVec3>) -> String {
    let v = v.into();
    format!("[{:?}, {:?}, {:?}]", v.x, v.y, v.z)
}

/// A run in which a step that is not accepted is an error.
pub struct Motion {
    /// What moves.
    pub sim: Simulation,
}

impl Motion {
    /// A scene that comes with the program.
    pub fn load(name: &str, set: &[&str]) -> Result<Motion, String> {
        let set: Vec<String> = set.iter().map(|s| s.to_string()).collect();
        let sim = Simulation::load_with(name, &set).map_err(|e| e.to_string())?;
        Ok(Motion { sim })
    }

    /// One step.
    pub fn step(&mut self) -> Result<Verdict, String> {
        let verdict = self.sim.step().map_err(|e| e.to_string())?;
        if verdict.accepted {
            return Ok(verdict);
        }
        let culprit = self.sim.culprit().unwrap_or_default();
        let (joule, velocity) = (verdict.error.joule, verdict.error.velocity);
        Err(format!(
            "t = {:.6} s: step not accepted, {joule:.1e} J, {velocity:.1e} m/s at {culprit}",
            self.sim.time()
        ))
    }

    /// Steps up to time `t`, s.
    pub fn until(&mut self, t: f64) -> Result<(), String> {
        while !self.sim.reached(t) {
            self.step()?;
        }
        Ok(())
    }

    /// Steps up to time `t` and looks after each of them.
    pub fn watch(&mut self, t: f64, mut look: impl FnMut(&Motion)) -> Result<(), String> {
        while !self.sim.reached(t) {
            self.step()?;
            look(self);
        }
        Ok(())
    }

    /// The time, s.
    pub fn time(&self) -> f64 {
        self.sim.time()
    }

    /// Where a body is, m.
    pub fn at(&self, body: &str) -> DVec3 {
        self.sim.body(body).expect("the scene has this body").position()
    }

    /// The velocity of a body, m/s.
    pub fn velocity(&self, body: &str) -> DVec3 {
        self.sim.body(body).expect("the scene has this body").center_of_mass_velocity()
    }

    /// The angular velocity of a body, world, rad/s.
    pub fn spin(&self, body: &str) -> DVec3 {
        self.sim.body(body).expect("the scene has this body").angular_velocity()
    }

    /// What the contacts of the last step exerted on `b` from `a`, N.
    pub fn push(&self, a: &str, b: &str) -> DVec3 {
        self.sim.forces_between(a, b).expect("the scene has these bodies").force
    }

    /// The largest speed of any body, m/s.
    pub fn fastest(&self) -> f64 {
        let v = self.sim.state().velocities;
        v.chunks(6).map(|v| DVec3::from_slice(v).length()).fold(0.0, f64::max)
    }
}
