//! Everything that a run writes into its folder: bodies, contacts, motors, and if asked for,
//! reactions.

use super::append_file::AppendFile;
use super::tables::{Tables, field};
use serde_json::Value as Json;
use signorini_mechanics::analyse::kinematics::Effort;
use signorini_mechanics::analyse::reactions::reactions;
use signorini_mechanics::assemble::{Source, StepInput, joint};
use signorini_mechanics::scene::{Drive, MotorId, Scene, State};
use signorini_mechanics::step::Stepper;
use std::io;
use std::path::Path;

const MOTORS: &str = "motors.csv";
const MOTORS_HEAD: &str = "t_s,motor,value_m_or_rad,rate_per_s,effort_N_or_Nm,power_W";
const REACTIONS: &str = "reactions.csv";
const REACTIONS_HEAD: &str = "t_s,kind,name,fx_N,fy_N,fz_N,tx_Nm,ty_Nm,tz_Nm,local_1,local_2,local_3,local_4,local_5,local_6,\
    impulse_x_Ns,impulse_y_Ns,impulse_z_Ns,impulse_tx_Nms,impulse_ty_Nms,impulse_tz_Nms,unique,not_unique";

/// The tables of a run.
pub struct Outputs {
    tables: Tables,
    motors: Option<AppendFile>,
    reactions: Option<AppendFile>,
}

impl Outputs {
    /// New tables.
    pub fn create(folder: &Path, scene: &Scene, with_reactions: bool) -> io::Result<Outputs> {
        let tables = Tables::create(folder)?;
        let motors = (!scene.motors.is_empty())
            .then(|| AppendFile::create(folder, MOTORS, MOTORS_HEAD))
            .transpose()?;
        let reactions = with_reactions
            .then(|| AppendFile::create(folder, REACTIONS, REACTIONS_HEAD))
            .transpose()?;
        Ok(Outputs { tables, motors, reactions })
    }

    /// Tables that were interrupted at these lengths.
    pub fn resume(
        folder: &Path,
        scene: &Scene,
        with_reactions: bool,
        lengths: &[(String, u64)],
    ) -> io::Result<Outputs> {
        let tables = Tables::resume(folder, lengths)?;
        let motors = (!scene.motors.is_empty())
            .then(|| AppendFile::resume(folder, MOTORS, lengths))
            .transpose()?;
        let reactions =
            with_reactions.then(|| AppendFile::resume(folder, REACTIONS, lengths)).transpose()?;
        Ok(Outputs { tables, motors, reactions })
    }

    /// Puts everything on the disk; names and lengths.
    pub fn sync(&mut self) -> io::Result<Vec<(String, u64)>> {
        let mut lengths = self.tables.sync()?;
        for table in [&mut self.motors, &mut self.reactions].into_iter().flatten() {
            lengths.push(table.sync()?);
        }
        Ok(lengths)
    }

    /// Rows of a solved step.
    pub fn step(&mut self, scene: &Scene, stepper: &Stepper, state: &State) -> io::Result<()> {
        self.tables.rows(scene, stepper, state)?;
        if self.motors.is_some() {
            self.motors(scene, state, &efforts(scene, stepper, state))?;
        }
        if let Some(table) = &mut self.reactions {
            for line in reaction_lines(scene, stepper, state.time) {
                table.line(&line)?;
            }
        }
        Ok(())
    }

    /// Rows of a motion that follows its drivers.
    pub fn instant(
        &mut self,
        scene: &Scene,
        stepper: &Stepper,
        state: &State,
        efforts: &[Effort],
    ) -> io::Result<()> {
        self.tables.rows(scene, stepper, state)?;
        self.motors(scene, state, efforts)
    }

    fn motors(&mut self, scene: &Scene, state: &State, efforts: &[Effort]) -> io::Result<()> {
        let Some(table) = &mut self.motors else { return Ok(()) };
        let now = StepInput::at_rest(scene, state);
        for Effort { motor, effort, rate } in efforts {
            let motor = &scene.motors[motor.index()];
            let value = joint::motor_value(scene, motor, &now);
            table.line(&format!(
                "{},{},{value},{rate},{effort},{}",
                state.time,
                field(&motor.name),
                effort * rate
            ))?;
        }
        Ok(())
    }

    /// All tables take their names.
    pub fn finish(self, run: &Json) -> io::Result<()> {
        for table in [self.motors, self.reactions].into_iter().flatten() {
            table.finish()?;
        }
        self.tables.finish(run)
    }
}

/// What each motor did in the last step: force or torque, and the rate of its coordinate.
fn efforts(scene: &Scene, stepper: &Stepper, state: &State) -> Vec<Effort> {
    let (assembly, h) = (stepper.assembly(), stepper.present().kick());
    let mut efforts: Vec<Option<f64>> = vec![None; scene.motors.len()];
    for (block, source) in assembly.sources.iter().enumerate() {
        if let Source::Motor(id) = source {
            efforts[id.index()] =
                Some(stepper.solution().r[assembly.problem.J.row_starts[block]] / h);
        }
    }
    let now = StepInput::at_rest(scene, state);
    let twist = |body| {
        let (linear, angular) = state.twist(stepper.layout(), body);
        signorini_mechanics::assemble::Twist { linear, angular }
    };
    scene
        .motors
        .iter()
        .enumerate()
        .map(|(m, motor)| {
            let rates = joint::motor_terms(motor).map(|term| {
                let (ends, x) = (
                    &scene.joints[term.joint.index()],
                    joint::coordinate(scene, term.joint, term.coordinate, &now),
                );
                term.factor * (x.a.rate(&twist(ends.a)) + x.b.rate(&twist(ends.b)))
            });
            let given = match &motor.drive {
                Drive::Effort(f) => f.value(state.time - 0.5 * h),
                _ => 0.0,
            };
            Effort {
                motor: MotorId(m as u32),
                effort: efforts[m].unwrap_or(given),
                rate: rates.sum(),
            }
        })
        .collect()
}

const COMPONENTS: [&str; 6] = ["f1", "f2", "f3", "t1", "t2", "t3"];

/// One line per joint, contact, motor, gear and stop.
pub fn reaction_lines(scene: &Scene, stepper: &Stepper, time: f64) -> Vec<String> {
    let found = reactions(scene, stepper);
    let join = |x: &[f64]| x.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    let mut lines = Vec::new();
    for r in &found.joints {
        let open: Vec<&str> = COMPONENTS
            .iter()
            .zip(r.unique)
            .filter(|(_, unique)| !unique)
            .map(|(name, _)| *name)
            .collect();
        let name = field(&scene.joints[r.joint.index()].name);
        let (world, local, impulse) =
            (join(&r.world.array()), join(&r.local.array()), join(&r.impulse.array()));
        lines.push(format!(
            "{time},joint,{name},{world},{local},{impulse},{},{}",
            open.is_empty(),
            open.join(" ")
        ));
    }
    for r in &found.contacts {
        let pair = stepper.contacts()[r.contact].colliders;
        let body = |collider: u32| {
            scene.bodies[scene.colliders[collider as usize].body as usize].name.as_str()
        };
        let name = field(&format!("{}/{}", body(pair.0), body(pair.1)));
        let open = if r.unique { "" } else { "f1 f2 f3" };
        let (world, local, impulse) =
            (join(&r.world.to_array()), join(&r.local.to_array()), join(&r.impulse.to_array()));
        lines.push(format!(
            "{time},contact,{name},{world},0,0,0,{local},0,0,0,{impulse},0,0,0,{},{open}",
            r.unique
        ));
    }
    for r in &found.rows {
        let (name, open) = (field(&r.source.name(scene)), if r.unique { "" } else { "f1" });
        lines.push(format!(
            "{time},row,{name},0,0,0,0,0,0,{},0,0,0,0,0,0,0,0,0,0,0,{},{open}",
            r.effort, r.unique
        ));
    }
    lines
}
