//! Plots of a recorded run: error, energy, iterations over time, as SVG or as an image, from one
//! list of strokes.

use crate::picture::raster::Image;
use crate::picture::text;
use crate::record::Record;

pub mod series;

/// What is plotted over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The errors of every step, of the solver and of the time step, J.
    Error,
    /// The error of every step in time, m.
    Time,
    /// The energy ledger, J.
    Energy,
    /// The work of the solver.
    Iterations,
}

const WIDTH: f32 = 960.0;
const HEIGHT: f32 = 480.0;
/// The edges of the field: left, top, right, bottom.
const FIELD: [f32; 4] = [86.0, 52.0, 940.0, 424.0];
const INK: &str = "#2a3038";
const MUTED: &str = "#66707c";
const RULE: &str = "#e3e6ea";
const COLORS: [&str; 8] =
    ["#3f7cc4", "#d9822b", "#3a9d78", "#c2526a", "#8a6bc1", "#a38a2f", "#3aa0b8", "#7d8590"];
/// What stands for an error of zero on a logarithmic axis, J.
const ZERO_ON_LOG_AXIS: f64 = 1e-20;
/// What a logarithmic axis shows of its highest value, at least.
const MIN_LOG_RANGE: f64 = 1e-12;

/// Lines and words of a plot, in pixels.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    strokes: Vec<(Vec<[f32; 2]>, &'static str, f32)>,
    dots: Vec<([f32; 2], &'static str)>,
    words: Vec<Word>,
}

#[derive(Clone, Debug)]
struct Word {
    text: String,
    at: [f32; 2],
    size: f32,
    color: &'static str,
    /// 0 if the word begins at its place, 0.5 if it is centred there, 1 if it ends there.
    anchor: f32,
}

/// A series of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub label: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// True if points are drawn instead of a line.
    pub dots: bool,
}

/// The words around a plot.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// Above it.
    pub title: &'a str,
    /// Below the horizontal axis.
    pub x: &'a str,
    /// Above the vertical axis.
    pub y: &'a str,
}

/// The plot of a record.
pub fn of(record: &Record, kind: Kind) -> Result<Plot, String> {
    if record.steps.is_empty() {
        return Err("the record holds no steps yet".into());
    }
    let column = |label: &str, value: &dyn Fn(usize) -> f64, dots: bool| Series {
        label: label.into(),
        points: record
            .steps
            .iter()
            .enumerate()
            .map(|(i, s)| (f64::from(s.time), value(i)))
            .collect(),
        dots,
    };
    let steps = &record.steps;
    let name = &record.head.name;
    Ok(match kind {
        Kind::Error => {
            let estimate = column(
                "estimated energy of the velocity error",
                &|i| f64::from(steps[i].estimate),
                false,
            );
            let error = column("local errors, summed", &|i| f64::from(steps[i].joule), true);
            // Where no law is solved there is no estimate.
            let mut series =
                if record.head.law == "none" { vec![error] } else { vec![error, estimate] };
            let step =
                column("error of the time step", &|i| f64::from(steps[i].scheme_joule), true);
            series.extend(known(step));
            over_time(&format!("{name}: error of each step"), "J", &series, true)
        }
        Kind::Time => {
            let metre = column("positions", &|i| f64::from(steps[i].scheme_metre), true);
            let series = known(metre).ok_or("no step knows its error in time")?;
            over_time(&format!("{name}: error of the time step"), "m", &[series], true)
        }
        Kind::Energy => over_time(
            &format!("{name}: energy ledger, since the beginning"),
            "J",
            &ledger(record),
            false,
        ),
        Kind::Iterations => {
            let mut solvers: Vec<u32> = steps.iter().map(|s| s.solver as u32).collect();
            solvers.sort_unstable();
            solvers.dedup();
            let series = |solver: &u32| Series {
                label: record.names.get(*solver as usize).cloned().unwrap_or_default(),
                points: steps
                    .iter()
                    .filter(|s| s.solver as u32 == *solver)
                    .map(|s| (f64::from(s.time), f64::from(s.work)))
                    .collect(),
                dots: true,
            };
            over_time(
                &format!("{name}: work of the solver"),
                if record.head.law == "none" {
                    "evaluations"
                } else {
                    "iterations, sweeps or pivots"
                },
                &solvers.iter().map(series).collect::<Vec<_>>(),
                false,
            )
        }
    })
}

/// A plot of lines over time; `unit` stands at its axis.
pub fn lines(title: &str, unit: &str, series: &[Series]) -> Plot {
    draw(Labels { title, x: "time, s", y: unit }, series, false)
}

/// The plot of quantities by name, such as `crate.x, crate.speed, knee.angle, left/part.force`.
pub fn of_names(record: &mut Record, names: &str) -> Result<Plot, String> {
    let mut series = Vec::new();
    let mut units: Vec<String> = Vec::new();
    for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let (one, unit) = series::of(record, name)?;
        series.push(one);
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    if series.is_empty() {
        return Err("no quantity is named".into());
    }
    Ok(lines(&record.head.name.clone(), &units.join(", "), &series))
}

/// The points of a series that are known, if any.
fn known(mut series: Series) -> Option<Series> {
    series.points.retain(|p| p.1.is_finite());
    (!series.points.is_empty()).then_some(series)
}

/// The terms of the ledger that amount to a thousandth of the largest, at least.
fn ledger(record: &Record) -> Vec<Series> {
    type Term = (&'static str, fn(&crate::record::Step) -> f32);
    let terms: [Term; 10] = [
        ("kinetic", |s| s.kinetic),
        ("potential, change", |s| s.potential),
        ("taken by friction", |s| s.friction),
        ("taken by impacts", |s| s.impact),
        ("taken by dampers", |s| s.dampers),
        ("given by motors", |s| s.motors),
        ("given by forces", |s| s.applied),
        ("given by the time step", |s| s.scheme),
        ("given by the solver", |s| s.defect),
        ("brought by events", |s| s.events),
    ];
    let first = record.steps[0].potential;
    let series = |(label, value): &Term| {
        let zero = if label.starts_with("potential") { first } else { 0.0 };
        let points =
            record.steps.iter().map(|s| (f64::from(s.time), f64::from(value(s) - zero))).collect();
        Series { label: (*label).into(), points, dots: false }
    };
    let all: Vec<Series> = terms.iter().map(series).collect();
    let size = |s: &Series| s.points.iter().map(|p| p.1.abs()).fold(0.0, f64::max);
    let largest = all.iter().map(size).fold(0.0, f64::max);
    all.into_iter().filter(|s| size(s) >= 1e-3 * largest).collect()
}

/// A linear or logarithmic axis: its ends and its marks.
struct Axis {
    ends: [f64; 2],
    marks: Vec<(f64, String)>,
    log: bool,
}

impl Axis {
    fn linear(low: f64, high: f64) -> Axis {
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        let step = crate::picture::square(span * 8.0 / 6.0);
        let first = (low / step).ceil() as i64;
        let marks =
            (first..first + 20).map(|k| k as f64 * step).take_while(|x| *x <= high + 1e-9 * span);
        Axis { ends: [low, low + span], marks: marks.map(|x| (x, number(x))).collect(), log: false }
    }

    fn log(low: f64, high: f64) -> Axis {
        let [a, b] = [low.log10().floor() as i32, high.log10().ceil() as i32];
        let b = b.max(a + 1);
        let every = (b - a).div_euclid(7) + 1;
        let marks =
            (a..=b).step_by(every as usize).map(|e| (10f64.powi(e), format!("1e{e}"))).collect();
        Axis { ends: [10f64.powi(a), 10f64.powi(b)], marks, log: true }
    }

    /// The share of the axis at which a value lies.
    fn share(&self, x: f64) -> f32 {
        let [a, b] = self.ends;
        (if self.log { (x.max(a) / a).ln() / (b / a).ln() } else { (x - a) / (b - a) }) as f32
    }
}

fn number(x: f64) -> String {
    let size = x.abs();
    if size != 0.0 && !(1e-3..1e5).contains(&size) {
        format!("{x:.1e}")
    } else {
        format!("{}", (x * 1e9).round() / 1e9)
    }
}

fn over_time(title: &str, y: &str, series: &[Series], log: bool) -> Plot {
    draw(Labels { title, x: "time, s", y }, series, log)
}

/// A plot of any series; with `log` the vertical axis is logarithmic.
pub fn draw(labels: Labels<'_>, series: &[Series], log: bool) -> Plot {
    let mut plot = Plot::default();
    let finite =
        |s: &Series| s.points.iter().copied().filter(|p| p.1.is_finite()).collect::<Vec<_>>();
    let points: Vec<(f64, f64)> = series.iter().flat_map(finite).collect();
    let ends = |value: fn(&(f64, f64)) -> f64| {
        points
            .iter()
            .map(value)
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], x| [l.min(x), h.max(x)])
    };
    let ([first, last], [low, high]) = (ends(|p| p.0), ends(|p| p.1));
    let [first, last, low, high] =
        [first, last, low, high].map(|x| if x.is_finite() { x } else { 0.0 });
    let time = Axis::linear(first.min(0.0), last);
    let room = 0.05 * (high - low);
    // Zero has no place on a logarithmic axis: it stands at its foot, as does what is too small to
    // be seen.
    let positive = points.iter().map(|p| p.1).filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
    let [foot, top] = if high > 0.0 {
        [positive.max(MIN_LOG_RANGE * high), high]
    } else {
        [ZERO_ON_LOG_AXIS, ZERO_ON_LOG_AXIS]
    };
    let value = if log {
        Axis::log(foot, top)
    } else {
        Axis::linear(if low >= 0.0 { 0.0 } else { low - room }, high + room)
    };
    let place = |t: f64, x: f64| {
        let [left, top, right, bottom] = FIELD;
        [left + (right - left) * time.share(t), bottom - (bottom - top) * value.share(x)]
    };
    plot.frame(labels, &time, &value);
    for (k, one) in series.iter().enumerate() {
        let color = if log && k == 1 { "#a8b0ba" } else { COLORS[k % COLORS.len()] };
        let line: Vec<[f32; 2]> = finite(one).iter().map(|p| place(p.0, p.1)).collect();
        if one.dots {
            plot.dots.extend(line.into_iter().map(|at| (at, color)));
        } else {
            plot.strokes.push((line, color, 1.6));
        }
    }
    plot.legend(series, log);
    plot
}

impl Plot {
    fn word(
        &mut self,
        text: impl Into<String>,
        at: [f32; 2],
        size: f32,
        color: &'static str,
        anchor: f32,
    ) {
        self.words.push(Word { text: text.into(), at, size, color, anchor });
    }

    fn frame(&mut self, labels: Labels<'_>, time: &Axis, value: &Axis) {
        let [left, top, right, bottom] = FIELD;
        for (x, label) in &value.marks {
            let y = bottom - (bottom - top) * value.share(*x);
            self.strokes.push((vec![[left, y], [right, y]], RULE, 1.0));
            self.word(label, [left - 10.0, y + 4.5], 12.0, MUTED, 1.0);
        }
        for (x, label) in &time.marks {
            let at = left + (right - left) * time.share(*x);
            self.strokes.push((vec![[at, top], [at, bottom]], RULE, 1.0));
            self.word(label, [at, bottom + 20.0], 12.0, MUTED, 0.5);
        }
        self.word(labels.x, [0.5 * (left + right), bottom + 42.0], 12.0, MUTED, 0.5);
        self.word(labels.title, [left, 24.0], 16.0, INK, 0.0);
        self.word(labels.y, [left, 42.0], 12.0, MUTED, 0.0);
    }

    fn legend(&mut self, series: &[Series], log: bool) {
        if series.len() < 2 {
            return;
        }
        let mut x = FIELD[2];
        for (k, one) in series.iter().enumerate().rev() {
            let color = if log && k == 1 { "#a8b0ba" } else { COLORS[k % COLORS.len()] };
            let y = if k > 4 { 24.0 } else { 42.0 };
            if k == 4 && series.len() > 5 {
                x = FIELD[2];
            }
            x -= text::width(&one.label, 12.0);
            self.word(&one.label, [x, y], 12.0, MUTED, 0.0);
            self.strokes.push((vec![[x - 20.0, y - 4.0], [x - 6.0, y - 4.0]], color, 3.0));
            x -= 36.0;
        }
    }

    /// As SVG.
    pub fn svg(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
                width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"Inter, system-ui, Helvetica, Arial, sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        for (line, color, width) in &self.strokes {
            let points: Vec<String> = line.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
            out += &format!(
                "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" \
                    stroke-linejoin=\"round\" points=\"{}\"/>\n",
                points.join(" ")
            );
        }
        for ([x, y], color) in &self.dots {
            out += &format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"1.9\" fill=\"{color}\"/>\n");
        }
        for Word { text, at: [x, y], size, color, anchor } in &self.words {
            let anchor = ["start", "middle", "end"][(2.0 * anchor) as usize];
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            out += &format!(
                "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" fill=\"{color}\" \
                    text-anchor=\"{anchor}\">{text}</text>\n"
            );
        }
        out + "</svg>\n"
    }

    /// As an image of twice the size.
    pub fn image(&self) -> Image {
        let (width, height) = (2 * WIDTH as usize, 2 * HEIGHT as usize);
        let mut image = Image { width, height, pixels: vec![[255; 3]; width * height] };
        let twice = |[x, y]: [f32; 2]| [2.0 * x, 2.0 * y];
        for (line, color, width) in &self.strokes {
            line.windows(2).for_each(|ends| {
                segment(&mut image, [twice(ends[0]), twice(ends[1])], *width, rgb(color))
            });
        }
        for (at, color) in &self.dots {
            segment(&mut image, [twice(*at); 2], 3.8, rgb(color));
        }
        for word in &self.words {
            let [x, y] = twice(word.at);
            let size = 2.0 * word.size;
            text::write(
                &mut image,
                &word.text,
                size,
                [x - word.anchor * text::width(&word.text, size), y],
                rgb(word.color),
            );
        }
        image
    }
}

fn rgb(color: &str) -> [u8; 3] {
    (crate::picture::color(color) * 255.0).to_array().map(|x| x.round() as u8)
}

/// A line with round ends, `half` pixels to either side: every pixel is covered by its distance
/// from the line.
fn segment(image: &mut Image, [a, b]: [[f32; 2]; 2], half: f32, color: [u8; 3]) {
    let [low, high] = [f32::min, f32::max].map(|pick| [pick(a[0], b[0]), pick(a[1], b[1])]);
    let (d, reach) = ([b[0] - a[0], b[1] - a[1]], half + 1.0);
    let length = d[0] * d[0] + d[1] * d[1];
    let range = |k: usize, most: usize| {
        ((low[k] - reach).max(0.0) as usize)..((high[k] + reach).max(0.0) as usize + 1).min(most)
    };
    for y in range(1, image.height) {
        for x in range(0, image.width) {
            let p = [x as f32 + 0.5 - a[0], y as f32 + 0.5 - a[1]];
            let s = if length > 0.0 {
                ((p[0] * d[0] + p[1] * d[1]) / length).clamp(0.0, 1.0)
            } else {
                0.0
            };
            let distance = (p[0] - s * d[0]).hypot(p[1] - s * d[1]);
            let cover = half + 0.5 - distance;
            if cover > 0.0 {
                text::blend(image, [x as i64, y as i64], color, cover);
            }
        }
    }
}
