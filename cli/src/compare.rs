//! `signorini compare A B`: two recorded runs against each other, as a table and as one page of
//! overlaid plots.

use crate::plot::{self, Series, series};
use crate::record::Record;
use clap::Args;
use signorini::whole::write_whole;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to compare.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// A folder that `run --out` wrote.
    pub first: PathBuf,
    /// Another one, of a scene with the same names.
    pub second: PathBuf,
    /// Writes the plots, overlaid, into one HTML page.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Quantities to plot: "crate.x, knee.angle"; those that differ most without this.
    #[arg(long, value_name = "NAMES")]
    pub plot: Option<String>,
}

/// How far two runs are apart in one quantity.
struct Apart {
    name: String,
    unit: String,
    largest: f64,
    time: f64,
    last: f64,
    lines: [Series; 2],
}

/// Lines of the table at most, and plots of the page.
const MAX_TABLE_LINES: usize = 20;
const MAX_PAGE_PLOTS: usize = 6;

/// Compares; prints a table.
pub fn run(arguments: &Arguments) -> ExitCode {
    match compare(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let open = |folder: &PathBuf| Record::open(folder).map_err(|e| e.to_string());
    let (mut a, mut b) = (open(&arguments.first)?, open(&arguments.second)?);
    for (folder, record) in [(&arguments.first, &a), (&arguments.second, &b)] {
        let (steps, worst) = (
            record.steps.last().map_or(0.0, |s| s.step),
            record.steps.iter().map(|s| s.joule).fold(0.0, f32::max),
        );
        let hash = record.tail.as_ref().and_then(|t| t["hash"].as_str()).unwrap_or("-");
        let times = record.times();
        let end = times.last().copied().unwrap_or(0.0);
        println!(
            "{}: {}  t={end:.4} s  {steps} steps  worst step {worst:.1e} J  state {hash}",
            folder.display(),
            record.head.name
        );
    }
    let given: Vec<String> =
        arguments.plot.iter().flat_map(|p| p.split(',')).map(|n| n.trim().to_string()).collect();
    let names = if given.is_empty() { common(&a, &b) } else { given };
    let mut list = Vec::new();
    for name in &names {
        list.push(apart(&mut a, &mut b, name)?);
    }
    if list.is_empty() {
        return Err("the two runs have no name in common".into());
    }
    if arguments.plot.is_none() {
        list.sort_by(|x, y| y.largest.total_cmp(&x.largest));
    }
    println!("{:<28} {:>14} {:>12} {:>14}", "quantity", "apart at most", "at t", "at the end");
    for one in list.iter().take(if arguments.plot.is_some() { usize::MAX } else { MAX_TABLE_LINES })
    {
        println!(
            "{:<28} {:>10.3e} {:<4}{:>10.4} s {:>10.3e} {:<4}",
            one.name, one.largest, one.unit, one.time, one.last, one.unit
        );
    }
    let Some(output) = &arguments.output else { return Ok(()) };
    let most = if arguments.plot.is_some() { usize::MAX } else { MAX_PAGE_PLOTS };
    let page = page(arguments, &list[..list.len().min(most)]);
    write_whole(output, page.as_bytes())
        .map_err(|e| format!("cannot write {}: {e}", output.display()))?;
    eprintln!("{}", output.display());
    Ok(())
}

/// The quantities that both runs have: places of bodies, and channels.
fn common(a: &Record, b: &Record) -> Vec<String> {
    let moving = |record: &Record| -> Vec<String> {
        record.head.moving.iter().map(|&i| record.head.bodies[i as usize].name.clone()).collect()
    };
    let others = moving(b);
    let bodies = moving(a).into_iter().filter(|n| others.contains(n)).take(200);
    let places = bodies.flat_map(|n| ["x", "y", "z"].map(|axis| format!("{n}.{axis}")));
    let channels =
        a.head.channels.iter().filter(|c| b.head.channels.contains(c)).map(|c| c.name.clone());
    places.chain(channels).collect()
}

fn apart(a: &mut Record, b: &mut Record, name: &str) -> Result<Apart, String> {
    let ((mut first, unit), (mut second, _)) = (series::of(a, name)?, series::of(b, name)?);
    let (mut largest, mut time, mut last) = (0.0f64, 0.0, 0.0);
    for &(t, x) in &first.points {
        let Some(y) = at(&second.points, t) else { continue };
        last = (x - y).abs();
        if last > largest {
            (largest, time) = (last, t);
        }
    }
    first.label = format!("{name}, first");
    second.label = format!("{name}, second");
    Ok(Apart { name: name.into(), unit, largest, time, last, lines: [first, second] })
}

/// The value of a series at a time, between its points; none outside.
fn at(points: &[(f64, f64)], t: f64) -> Option<f64> {
    let after = points.partition_point(|p| p.0 < t - 1e-12);
    let &(t1, x1) = points.get(after)?;
    if (t1 - t).abs() <= 1e-12 || after == 0 {
        return ((t1 - t).abs() <= 1e-12).then_some(x1);
    }
    let (t0, x0) = points[after - 1];
    Some(x0 + (x1 - x0) * (t - t0) / (t1 - t0))
}

fn page(arguments: &Arguments, list: &[Apart]) -> String {
    let plain = |text: String| text.replace('&', "&amp;").replace('<', "&lt;");
    let (first, second) = (
        plain(arguments.first.display().to_string()),
        plain(arguments.second.display().to_string()),
    );
    let mut out = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>{first} and \
            {second}</title>\n<style>body{{font:14px system-ui,sans-serif;\
         margin:2rem auto;max-width:980px;color:#2a3038}}</style>\n<h1>{first} and {second}</h1>\n"
    );
    for one in list {
        let title = format!("{}: apart by {:.2e} {} at most", one.name, one.largest, one.unit);
        out += &plot::lines(&title, &one.unit, &one.lines).svg();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_read_between_its_points() {
        let points = [(0.0, 1.0), (1.0, 3.0), (3.0, 3.0)];
        assert_eq!(
            (at(&points, 0.0), at(&points, 0.5), at(&points, 2.0), at(&points, 3.0)),
            (Some(1.0), Some(2.0), Some(3.0), Some(3.0))
        );
        assert_eq!((at(&points, -0.1), at(&points, 3.1)), (None, None));
    }
}
