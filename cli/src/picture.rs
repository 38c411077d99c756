//! `signorini picture DIR`: pictures, animations and plots of a recorded run, without a display.
//!
//! The name of the file says what is made: `.png` a picture, `.gif` an animation; with `--plot`,
//! `.svg` or `.png` a plot.

use crate::plot;
use crate::progress::Progress;
use crate::record::Record;
use clap::Args;
use glam::DVec3;
use signorini::whole::write_whole;
use signorini_record::picture::{Drawing, View, animate, moment, picture, png};
use signorini_record::report::megabytes;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to draw.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// A folder that `run --out` wrote.
    pub folder: PathBuf,
    /// The file to write: .png, .gif (an animation) or, with --plot, .svg.
    #[arg(short, long)]
    pub output: PathBuf,
    /// Which moment, s; the last one without this.
    #[arg(long = "t", value_name = "SECONDS")]
    pub time: Option<f64>,
    /// A plot instead of a picture: error, time (the error of the time step), energy, iterations,
    /// or quantities by name: "crate.x, crate.speed", sensors, "knee.angle", "lift.effort", contact
    /// forces "left/part.force".
    #[arg(long, value_name = "WHAT")]
    pub plot: Option<String>,
    /// Bars between the bodies of every contact, as thick as its force is strong: force chains.
    #[arg(long)]
    pub chains: bool,
    /// From which side to look: a direction "x,y,z".
    #[arg(long, value_parser = vector, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub from: Option<DVec3>,
    /// At which point to look, m: "x,y,z".
    #[arg(long, value_parser = vector, value_name = "X,Y,Z", allow_hyphen_values = true)]
    pub look_at: Option<DVec3>,
    /// How many times nearer than the whole scene needs.
    #[arg(long, default_value_t = 1.0)]
    pub zoom: f64,
    /// Arrows for the forces in contacts.
    #[arg(long)]
    pub forces: bool,
    /// Pixels across and down.
    #[arg(long, value_parser = size, default_value = "1280x800")]
    pub size: (usize, usize),
    /// Pictures per second of an animation.
    #[arg(long, default_value_t = 20)]
    pub fps: u32,
    /// How many times slower than real time an animation runs.
    #[arg(long, default_value_t = 1.0)]
    pub slower: f64,
}

impl Arguments {
    fn drawing(&self) -> Drawing {
        let view = View { from: self.from, at: self.look_at, zoom: self.zoom };
        Drawing {
            forces: self.forces,
            size: self.size,
            fps: self.fps,
            slower: self.slower,
            chains: self.chains,
            view,
        }
    }
}

/// Makes a picture; says where it is.
pub fn run(arguments: &Arguments) -> ExitCode {
    match make(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn make(arguments: &Arguments) -> Result<(), String> {
    let mut record = Record::open(&arguments.folder).map_err(|e| e.to_string())?;
    let extension =
        arguments.output.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if !(arguments.zoom > 0.0 && arguments.zoom.is_finite()) {
        return Err(format!("--zoom {}: wanted a number above 0", arguments.zoom));
    }
    let (bytes, what) = match (&arguments.plot, extension.as_str()) {
        (Some(names), "svg") => (plotted(&mut record, names)?.svg().into_bytes(), String::new()),
        (Some(names), "png") => (png(&plotted(&mut record, names)?.image())?, String::new()),
        (None, "png") => {
            let at = moment(&mut record, arguments.time)?;
            (
                png(&picture(&record.head, &at, &arguments.drawing()))?,
                format!(", t = {:.4} s", at.time),
            )
        }
        (None, "gif") => {
            let _progress = Progress::start("drawing pictures".into());
            animate::gif(&mut record, &arguments.drawing())?
        }
        (plot, _) => {
            let wanted = if plot.is_some() { ".svg or .png" } else { ".png or .gif" };
            return Err(format!(
                "{}: wanted a file that ends with {wanted}",
                arguments.output.display()
            ));
        }
    };
    write_whole(&arguments.output, &bytes)
        .map_err(|e| format!("cannot write {}: {e}", arguments.output.display()))?;
    eprintln!("{} ({}{what})", arguments.output.display(), megabytes(bytes.len() as u64));
    Ok(())
}

/// `WIDTHxHEIGHT`.
fn size(text: &str) -> Result<(usize, usize), String> {
    let wanted = "wanted WIDTHxHEIGHT, each from 16 to 4096";
    let (width, height) = text.split_once('x').ok_or(wanted)?;
    let number =
        |t: &str| t.parse::<usize>().ok().filter(|n| (16..=4096).contains(n)).ok_or(wanted);
    Ok((number(width)?, number(height)?))
}

/// A kind of plot, or quantities by name.
fn plotted(record: &mut Record, names: &str) -> Result<plot::Plot, String> {
    match names {
        "error" => plot::of(record, plot::Kind::Error),
        "time" => plot::of(record, plot::Kind::Time),
        "energy" => plot::of(record, plot::Kind::Energy),
        "iterations" => plot::of(record, plot::Kind::Iterations),
        names => plot::of_names(record, names),
    }
}

/// `X,Y,Z`.
fn vector(text: &str) -> Result<DVec3, String> {
    let parts: Vec<Option<f64>> =
        text.split(',').map(|t| t.trim().parse::<f64>().ok().filter(|x| x.is_finite())).collect();
    match parts[..] {
        [Some(x), Some(y), Some(z)] => Ok(DVec3::new(x, y, z)),
        _ => Err("wanted three numbers: X,Y,Z".into()),
    }
}
