//! The table `[run]`: how a scene is simulated.

use super::read::{table, words};
use super::value::*;
use signorini_solve::solve::options::Options;

table! {
    /// How the scene is simulated.
    pub struct Run {
        /// Length of a step; 2 ms without this.
        dt: Option<At<Of<Time>>>,
        /// When to end; 1 s without this.
        t_end: Option<At<Of<Time>>>,
        /// How time goes on; "stepping" without this.
        integrator: Option<Integrator>,
        /// With integrator = "stepping": the time scheme; "leapfrog" without this.
        scheme: Option<Scheme>,
        /// With integrator = "stepping": in which coordinates mechanisms move; "auto" without this.
        coordinates: Option<Coordinates>,
        /// How the error of the time scheme is estimated; "free" without this.
        time_error: Option<TimeError>,
        /// Order in time of smooth steps of the leapfrog scheme: 2, or 4 or 6 by extrapolation; 2
        /// without this.
        order: Option<Count>,
        /// Largest error of a position in one step ("0.1 mm"): steps are chosen within dt, by
        /// doubling.
        accuracy: Option<Of<Length>>,
        /// With integrator = "acceleration": which Runge-Kutta method; "runge_kutta_4" without
        /// this.
        method: Option<RungeKutta>,
        /// With integrator = "acceleration": false if the drift of the joints is not to be taken
        /// away.
        stabilised: Option<bool>,
        /// Which solver; "auto" without this.
        solver: Option<Name>,
        /// Options of the solver: the papers' own methods.
        options: Option<SolverOptions>,
        /// Stabilisation factor K, 0 to 1: the share of a gap or overlap that one step corrects; 1
        /// without this.
        stabilisation: Option<Of<Pure>>,
        /// Which friction law; "coulomb" without this.
        law: Option<Law>,
        /// Largest error of a step, relative to its energy scale; 1e-8 without this.
        tolerance: Option<Of<Pure>>,
        /// Tolerances that go together; "exact" without this. Those that are given as well count.
        preset: Option<Preset>,
        /// Largest velocity by which a constraint may be wrong; without this 1e-6 m/s, or where
        /// `tolerance` is given its root times g dt (without gravity the slowest speed of the
        /// scene) if that is more.
        velocity_tolerance: Option<Of<Speed>>,
        /// Largest energy by which the motion of a step may be wrong (the estimate), relative to
        /// its energy scale; the root of `tolerance` without this.
        bound_tolerance: Option<Of<Pure>>,
        /// How the energy of the velocity error is found (`solver = "auto"` alone); from the
        /// residuals without this.
        estimate: Option<Estimate>,
        /// Most sweeps or iterations of a step.
        iterations: Option<Count>,
        /// The time that a step may take on this machine ("1 ms"): when it is over the best iterate
        /// so far is taken. Runs are then not reproducible; none without this.
        deadline: Option<Of<Time>>,
        /// What happens with a step whose error is not accepted.
        policy: Option<Policy>,
        /// Every how many steps the tables get rows; about 500 times per run without this.
        record_every: Option<Count>,
    }
}

table! {
    /// Options of a solver. Each belongs to one; without it the solver works as it is used
    /// elsewhere.
    pub struct SolverOptions {
        /// psor: false for the plain sweeps of the paper.
        accelerate: Option<bool>,
        /// psor: over-relaxation, between 0 and 2.
        omega: Option<Of<Pure>>,
        /// psor: true if friction blocks are projected, not solved exactly.
        projection: Option<bool>,
        /// psor: the most sweeps of a step.
        sweeps: Option<Count>,
        /// interior-point: "pure" for the path of the thesis alone, "hybrid" without this.
        path: Option<Name>,
        /// interior-point: what is taken of the step before: "none", "partial", "full" or "best".
        warm: Option<Name>,
        /// interior-point: "system" or "unit"; pivot: "empty" or "sweeps".
        start: Option<Name>,
        /// interior-point: the part of the way to the boundary, "fixed" or "adaptive".
        eta: Option<Name>,
        /// interior-point: true for one step length of velocities and reactions.
        equal_steps: Option<bool>,
        /// interior-point: true for steps without corrector.
        predictor_only: Option<bool>,
        /// pivot: edges of the pyramid that stands for a friction cone.
        facets: Option<Count>,
    }
}

impl SolverOptions {
    /// As the solvers know them.
    pub fn options(&self) -> Result<Options, String> {
        let mut out = Options {
            accelerate: self.accelerate,
            omega: self.omega.map(|x| x.si),
            projection: self.projection,
            sweeps: self.sweeps.as_ref().map(|n| n.0 as u64),
            equal_steps: self.equal_steps,
            predictor_only: self.predictor_only,
            facets: self.facets.as_ref().map(|n| n.0),
            ..Options::NONE
        };
        let words = [
            ("path", &self.path),
            ("warm", &self.warm),
            ("start", &self.start),
            ("eta", &self.eta),
        ];
        for (name, word) in words {
            if let Some(word) = word {
                out.set(&format!("{name}={}", word.value))?;
            }
        }
        Ok(out)
    }
}

words! {
    /// How time goes on.
    pub enum Integrator {
        /// Velocities and impulses step by step; contacts, stops and dry friction.
        Stepping = "stepping",
        /// Accelerations of a mechanism without contact, by symbolic preprocessing and Runge-Kutta.
        Acceleration = "acceleration",
    }
}

words! {
    /// The time scheme of integrator = "stepping".
    pub enum Scheme {
        /// Second order between events: velocities of the middle of the step, impacts with their
        /// time.
        Leapfrog = "leapfrog",
        /// First order, semi-implicit: the form of the papers.
        Euler = "euler",
    }
}

words! {
    /// In which coordinates mechanisms move.
    pub enum Coordinates {
        /// Those of trees where they cost less.
        Auto = "auto",
        /// Trees of bodies in the coordinates of their joints: their joints are no rows and cannot
        /// drift.
        Tree = "tree",
        /// Every body in its own six velocities, every joint as rows: the form of the papers.
        Bodies = "bodies",
    }
}

words! {
    /// How the error of the time scheme is estimated.
    pub enum TimeError {
        /// From the change of the acceleration, without a further solve.
        Free = "free",
        /// From one step of dt and two of dt/2, which are kept: three solves.
        Doubling = "doubling",
    }
}

words! {
    /// Runge-Kutta methods for integrator = "acceleration".
    pub enum RungeKutta {
        /// Order 4, steps of dt.
        Classical = "runge_kutta_4",
        /// Order 5(4), steps within dt chosen by `tolerance`.
        DormandPrince = "dormand_prince",
    }
}

words! {
    /// The friction law.
    pub enum Law {
        /// The true law of Coulomb.
        Coulomb = "coulomb",
        /// The convex (associated) law: sliding contacts dilate.
        Cone = "cone",
    }
}

words! {
    /// What happens with a step whose error is not accepted.
    pub enum Policy {
        /// It is divided.
        Substep = "substep",
        /// It is taken, and the report says so.
        Accept = "accept",
        /// The run ends.
        Stop = "stop",
    }
}

words! {
    /// How the energy of a step's velocity error is found.
    pub enum Estimate {
        /// From the residuals: cheap, no bound.
        Residual = "residual",
        /// By a certificate, proved under convex laws: about twice the work.
        Certificate = "certificate",
    }
}

words! {
    /// Tolerances that go together.
    pub enum Preset {
        /// 1e-8 of the energy scale, 1e-6 m/s.
        Exact = "exact",
        /// 1e-4 of the energy scale, 1e-2 g dt; the estimate of the motion's error is reported, not
        /// waited for.
        Engineering = "engineering",
        /// 1e-2 of the energy scale, 1e-1 g dt; the estimate of the motion's error is reported, not
        /// waited for.
        Fast = "fast",
    }
}
