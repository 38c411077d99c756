//! `run --kinematic`: motion that follows its drivers. `run --static`: equilibrium.

use super::outputs::{Outputs, reaction_lines};
use super::record::{Plan, Recorder, Smooth};
use super::simulation_run::unwritable;
use super::{Ended, Finished, Options, Summary, expectations};
use crate::scenefile::Loaded;
use serde_json::Value as Json;
use signorini::analyse::mobility::mobility;
use signorini::analyse::{Kinematics, equilibrium};
use signorini::scene::{Scene, State};
use signorini::simulation::close_joints;
use signorini::step::{Settings, Stepper};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Follows the drivers; the tables get positions, velocities and the efforts that the motion takes.
pub fn kinematic(
    loaded: &Loaded,
    settings: Settings,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Finished, String> {
    let scene = &loaded.scene;
    let (dt, begun) = (settings.h, Instant::now());
    let steps = ((loaded.t_end / dt) - 1e-9).ceil().max(1.0) as u64;
    let mut state = State::initial(scene);
    if let Some(note) = close_joints(scene, &mut state).map_err(|e| e.to_string())? {
        eprintln!("note: {note}");
    }
    warn_of_loose(scene, &state);
    let stepper = Stepper::new(scene, settings).map_err(|e| e.to_string())?;
    let every = loaded
        .run
        .record_every
        .map_or_else(|| super::tables::stride(scene, steps), |n| n.0.max(1) as u64);
    let folder = options.out.clone().unwrap_or_else(|| ".".into());
    let disk = |e: io::Error| unwritable(&folder, &e);
    let plan =
        Plan { folder: options.out.as_deref(), steps, every, solver: "kinematic", law: "none" };
    let mut written = Written::begin(loaded, options, &plan).map_err(disk)?;
    written.frame(scene, &stepper, &state).map_err(disk)?;
    let mut expectations = expectations::Expectations::new(loaded, dt, steps);
    let mut summary = Summary::new(scene, loaded.t_end);
    let kinematics = Kinematics::new(scene);
    let mut ended = Ended::Complete;
    for k in 1..=steps {
        if stop.load(Ordering::SeqCst) {
            ended = Ended::Interrupted;
            break;
        }
        let (t, at) = (dt * k as f64, Instant::now());
        let placement = kinematics.go(&mut state, t);
        if !placement.closed() {
            let open: Vec<String> = placement.open.iter().map(|s| s.name(scene)).collect();
            let why = format!(
                "at t = {t} s the drivers lead where the joints cannot follow: {} is open by \
                    {:.3e} (m or rad)",
                open.join(", "),
                placement.gap
            );
            ended = Ended::Refused(why);
            break;
        }
        state.steps = k;
        (summary.steps, summary.time) = (k, t);
        expectations.check(k, &stepper, &state, &summary);
        written.step(&summary, at.elapsed().as_secs_f64()).map_err(disk)?;
        if k % every == 0 || k == steps {
            written.frame(scene, &stepper, &state).map_err(disk)?;
            written.rows(scene, &stepper, &state, &kinematics).map_err(disk)?;
        }
    }
    summary.solvers.insert("kinematic".into(), summary.steps);
    summary.finish(&state, &stepper, begun.elapsed().as_secs_f64());
    let mut finished =
        Finished { summary, outcomes: expectations.finish(&ended), ended, state, record: None };
    finished.record = written.finish(&finished.to_json(loaded)).map_err(disk)?;
    Ok(finished)
}

/// What a motion that follows its drivers leaves behind.
struct Written {
    outputs: Option<Outputs>,
    recorder: Option<Recorder>,
}

impl Written {
    fn begin(loaded: &Loaded, options: &Options, plan: &Plan<'_>) -> io::Result<Written> {
        let outputs =
            plan.folder.map(|folder| Outputs::create(folder, &loaded.scene, false)).transpose()?;
        Ok(Written {
            outputs,
            recorder: options
                .records()
                .then(|| Recorder::begin(&loaded.scene, &super::about(loaded), plan))
                .transpose()?,
        })
    }

    fn step(&mut self, summary: &Summary, wall: f64) -> io::Result<()> {
        self.recorder
            .as_mut()
            .map_or(Ok(()), |r| r.smooth(&Smooth::exact("kinematic"), summary, wall))
    }

    fn frame(&mut self, scene: &Scene, stepper: &Stepper, state: &State) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), |r| r.frame(scene, stepper, state))
    }

    fn rows(
        &mut self,
        scene: &Scene,
        stepper: &Stepper,
        state: &State,
        kinematics: &Kinematics<'_>,
    ) -> io::Result<()> {
        self.outputs
            .as_mut()
            .map_or(Ok(()), |o| o.instant(scene, stepper, state, &kinematics.efforts(state)))
    }

    fn finish(self, run: &Json) -> io::Result<Option<Vec<u8>>> {
        let record = self.recorder.map_or(Ok(None), |r| r.finish(run))?;
        self.outputs.map_or(Ok(()), |o| o.finish(run))?;
        Ok(record)
    }
}

/// Says which mechanisms have freedoms that nothing drives.
fn warn_of_loose(scene: &Scene, state: &State) {
    let freedoms = mobility(scene, state);
    let loose: Vec<_> = freedoms.mechanisms.iter().filter(|m| m.freedoms > m.driven).collect();
    if loose.is_empty() {
        return;
    }
    let count: usize = loose.iter().map(|m| m.freedoms - m.driven).sum();
    let names: Vec<&str> =
        loose.iter().map(|m| scene.bodies[m.bodies[0].index()].name.as_str()).collect();
    eprintln!(
        "warning: {count} degrees of freedom are not driven (mechanism of {}): they move as little \
            as they must; add motors",
        names.join(", ")
    );
}

/// Looks for an equilibrium; prints the reactions, and writes them if there is a folder.
pub fn statics(loaded: &Loaded, settings: Settings, options: &Options) -> Result<Finished, String> {
    let scene = &loaded.scene;
    let begun = Instant::now();
    let mut state = State::initial(scene);
    if let Some(note) = close_joints(scene, &mut state).map_err(|e| e.to_string())? {
        eprintln!("note: {note}");
    }
    let (found, stepper) = equilibrium(scene, settings, &mut state).map_err(|e| e.to_string())?;
    eprintln!(
        "equilibrium after {} steps: accelerations below {:.1e} m/s^2, bodies moved by up to \
            {:.3e} m",
        found.steps, found.acceleration, found.moved
    );
    let lines = reaction_lines(scene, &stepper, 0.0);
    if !options.json {
        for line in &lines {
            let fields: Vec<&str> = line.split(',').collect();
            if fields.len() < 23 {
                continue;
            }
            let number = |i: usize| fields[i].parse::<f64>().unwrap_or(f64::NAN);
            let open = if fields[21] == "true" {
                String::new()
            } else {
                format!("  not unique: {}", fields[22])
            };
            match fields[1] {
                "row" => println!("{}  {:.6}{open}", fields[2], number(9)),
                kind => {
                    println!(
                        "{kind} {}  force ({:.6}, {:.6}, {:.6}) N{open}",
                        fields[2],
                        number(3),
                        number(4),
                        number(5)
                    );
                }
            }
        }
    }
    let mut summary = Summary::new(scene, 0.0);
    summary.steps = found.steps as u64;
    summary.solvers.insert("static".into(), summary.steps);
    summary.finish(&state, &stepper, begun.elapsed().as_secs_f64());
    let finished =
        Finished { summary, outcomes: Vec::new(), ended: Ended::Complete, state, record: None };
    if let Some(folder) = &options.out {
        let write = || -> std::io::Result<()> {
            let mut outputs = Outputs::create(folder, scene, true)?;
            outputs.step(scene, &stepper, &finished.state)?;
            outputs.finish(&finished.to_json(loaded))
        };
        write().map_err(|e| unwritable(folder, &e))?;
    }
    Ok(finished)
}
