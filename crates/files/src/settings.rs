//! The settings of a run: those of its scene file, and others over them.

use crate::scenefile::{Loaded, format};
use crate::spelling::nearest;
use signorini_mechanics::assemble::{Coordinates, Friction, Impacts, TimeScheme, Treatment};
use signorini_mechanics::mechanism;
use signorini_mechanics::scene::Drive;
use signorini_mechanics::step::{Policy, Settings, TimeEstimate};
use signorini_solve::problem::Tolerance;
use signorini_solve::solve::options::Choice;

/// What stands above the settings of a scene file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// The solver, by name.
    pub solver: Option<String>,
    /// The friction law.
    pub friction: Option<Friction>,
    /// The time scheme.
    pub time: Option<TimeScheme>,
    /// In which coordinates mechanisms move.
    pub coordinates: Option<Coordinates>,
    /// The accuracy of a step, m.
    pub accuracy: Option<f64>,
    /// The time that a step may take, s of the user's clock.
    pub deadline: Option<f64>,
    /// The order of smooth steps.
    pub order: Option<u32>,
    /// How the error of the time scheme is estimated.
    pub time_error: Option<TimeEstimate>,
    /// Tolerances that go together, in place of those of the file.
    pub preset: Option<format::Preset>,
}

impl Loaded {
    /// The settings of the time steps of this scene.
    pub fn settings(&self, over: &Overrides) -> Result<Settings, String> {
        let mut settings = Settings::with_time_step(self.dt);
        let run = &self.run;
        let solver = over.solver.clone().or_else(|| run.solver.as_ref().map(|s| s.value.clone()));
        if let Some(name) = solver {
            let names: Vec<&str> = Choice::all().map(|choice| choice.name).collect();
            let choice = Choice::named(&name).ok_or_else(|| {
                match nearest(&name, names.iter().copied()) {
                    Some(best) => format!("there is no solver `{name}`: did you mean `{best}`?"),
                    None => {
                        format!("there is no solver `{name}`: wanted one of {}", names.join(", "))
                    }
                }
            })?;
            (settings.solver, settings.options) = (choice.method, choice.options);
        }
        // Another solver than that of the file does not know its options.
        if let (Some(options), None) = (&run.options, &over.solver) {
            settings.options = options.options()?.over(&settings.options);
        }
        if let Some(factor) = run.stabilisation {
            (settings.scheme.joint_erp, settings.scheme.contact_erp) = (factor.si, factor.si);
        }
        settings.scheme.friction = match (over.friction, run.law) {
            (Some(friction), _) => friction,
            (None, Some(format::Law::Cone)) => Friction::Cone,
            _ => Friction::Coulomb,
        };
        settings.scheme.time = match (over.time, run.scheme) {
            (Some(time), _) => time,
            (None, Some(format::Scheme::Leapfrog)) => TimeScheme::Leapfrog,
            (None, Some(format::Scheme::Euler)) => TimeScheme::Euler,
            (None, None) => settings.scheme.time,
        };
        settings.coordinates = match (over.coordinates, run.coordinates) {
            (Some(coordinates), _) => coordinates,
            (None, Some(format::Coordinates::Tree)) => Coordinates::Tree,
            (None, Some(format::Coordinates::Bodies)) => Coordinates::Bodies,
            (None, Some(format::Coordinates::Auto) | None) => Coordinates::Auto,
        };
        settings.accuracy = over.accuracy.or(run.accuracy.map(|x| x.si));
        if settings.accuracy.is_some() && run.integrator == Some(format::Integrator::Acceleration) {
            let instead = "with \"acceleration\" set method = \"dormand_prince\" and tolerance";
            return Err(format!("accuracy belongs to integrator = \"stepping\": {instead}"));
        }
        settings.deadline = over.deadline.or(run.deadline.map(|x| x.si));
        settings.time_error = match (over.time_error, run.time_error) {
            (Some(estimate), _) => estimate,
            (None, Some(format::TimeError::Doubling)) => TimeEstimate::Doubling,
            (None, Some(format::TimeError::Free) | None) => TimeEstimate::Free,
        };
        let order = run.order.map(|n| u32::try_from(n.0).unwrap_or(u32::MAX));
        settings.order = over.order.or(order).unwrap_or(settings.order);
        settings.stop.tolerance = self.tolerance(over.preset);
        settings.certify = run.estimate == Some(format::Estimate::Certificate);
        settings.stop.work = run.iterations.map(|n| n.0 as u64).or(settings.stop.work);
        match run.policy {
            Some(format::Policy::Substep) => settings.policy = Policy::Substep,
            Some(format::Policy::Accept) => settings.policy = Policy::AcceptWithWarning,
            Some(format::Policy::Stop) => settings.policy = Policy::Stop,
            None => {}
        }
        if let Some(contact) = &self.contact {
            settings.contact_margin = contact.prediction.map_or(settings.contact_margin, |x| x.si);
            settings.scheme.max_depenetration_velocity =
                contact.recovery_speed.map_or(settings.scheme.max_depenetration_velocity, |x| x.si);
            settings.scheme.treatment = contact
                .penalty
                .as_ref()
                .map_or(Treatment::Rigid, |p| Treatment::Penalty(p.springs()));
            settings.scheme.impacts = match contact.impacts {
                Some(format::Impacts::Sequence) => Impacts::Sequence,
                Some(format::Impacts::Simultaneous) | None => Impacts::Simultaneous,
            };
            if contact.rigid.is_some_and(|rigid| rigid) {
                settings.scheme.load_sharing = 0.0;
            }
            settings.scheme.restitution_threshold =
                contact.rebound_speed.map_or(settings.scheme.restitution_threshold, |x| x.si);
        }
        settings.fault().map_or(Ok(settings), Err)
    }

    /// What must be small for a step to be accepted.
    ///
    /// | preset | energy | velocity | estimate |
    /// |---|---|---|---|
    /// | exact | 1e-8 of the scale | 1e-6 m/s | 1e-4 of the scale |
    /// | engineering | 1e-4 | 1e-2 of the speed, at least 1e-6 m/s | reported |
    /// | fast | 1e-2 | 1e-1 of it, at least 1e-6 m/s | reported |
    /// | `tolerance` alone | as given | its root of it, at least 1e-6 m/s (from 1e-8 on) | its root |
    ///
    /// The speed is [`Loaded::own_speed`], or what the reactions of a step have to correct at its
    /// fastest contact, if that is more. Energies are squares of velocities. A tolerance below 1e-8
    /// tightens the velocity by its root as well.
    fn tolerance(&self, over: Option<format::Preset>) -> Tolerance {
        let run = &self.run;
        let given = if over.is_some() { None } else { run.tolerance.map(|t| t.si) };
        let (preset, reported) = match over.or(run.preset) {
            Some(format::Preset::Engineering) => (Some(1e-4), true),
            Some(format::Preset::Fast) => (Some(1e-2), true),
            Some(format::Preset::Exact) | None => (None, false),
        };
        let mut tolerance = Tolerance::default();
        if let Some(relative) = given.or(preset) {
            let usual = tolerance.velocity * (relative / tolerance.relative).sqrt().min(1.0);
            tolerance.velocity = usual.max(relative.sqrt() * self.own_speed());
            // What is no tighter than usual follows the speeds of the motion, step by step.
            if relative > tolerance.relative {
                tolerance.velocity_relative = relative.sqrt();
            }
            tolerance.relative = relative;
            tolerance.bound = reported.then_some(f64::MAX);
        }
        if over.is_none() {
            if let Some(given) = run.velocity_tolerance {
                (tolerance.velocity, tolerance.velocity_relative) = (given.si, 0.0);
            }
            tolerance.bound = run.bound_tolerance.map(|b| b.si).or(tolerance.bound);
        }
        tolerance
    }

    /// The speed that velocities are compared with, m/s: what gravity gives a body in a step;
    /// without gravity the slowest speed that a body, a belt or a motor of the scene begins with.
    fn own_speed(&self) -> f64 {
        let fall = self.scene.gravity.length() * self.dt;
        if fall > 0.0 {
            return fall;
        }
        let bodies = self.scene.bodies.iter().map(|body| body.velocity.length());
        let belts = self.scene.surface_materials.iter().map(|surface| surface.belt.length());
        let rates = self.scene.motors.iter().map(|motor| match &motor.drive {
            Drive::Speed(f)
            | Drive::LimitedSpeed { speed: f, .. }
            | Drive::SpeedServo { speed: f, .. } => f.value(0.0).abs(),
            _ => 0.0,
        });
        let slowest = bodies
            .chain(belts)
            .chain(rates)
            .filter(|s| *s > 0.0 && s.is_finite())
            .fold(f64::INFINITY, f64::min);
        if slowest.is_finite() { slowest } else { 0.0 }
    }

    /// The settings of this scene for the integrator of accelerations.
    pub fn acceleration_settings(&self) -> mechanism::Settings {
        let run = &self.run;
        let tolerance = run.tolerance.map_or(1e-9, |t| t.si);
        let method = match run.method {
            Some(format::RungeKutta::DormandPrince) => {
                mechanism::Method::DormandPrince { tolerance }
            }
            _ => mechanism::Method::Classical,
        };
        mechanism::Settings { method, stabilised: run.stabilised != Some(false), planar: true }
    }
}
