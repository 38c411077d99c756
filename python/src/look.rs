//! Records of runs, and pictures.

use crate::errors::{Failure, detached};
use numpy::{IxDyn, PyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use signorini::Simulation;
use signorini::record::picture::{self, Drawing, animate, png};
use signorini::record::record::head::{About, Soft};
use signorini::record::record::read::{Moment, Touch};
use signorini::record::record::{self, Head, steps};
use signorini::record::{glb, plot, report};
use signorini::scene::{BodyId, SoftId};
use std::path::PathBuf;
use std::sync::Mutex;

fn unreadable(text: impl ToString) -> Failure {
    Failure::Named("RecordError", text.to_string())
}

fn drawing(size: (usize, usize), forces: bool) -> Result<Drawing, Failure> {
    if !(16..=8192).contains(&size.0) || !(16..=8192).contains(&size.1) {
        let text = format!("size {} × {}, wanted 16…8192 pixels each", size.0, size.1);
        return Err(Failure::Named("InputError", text));
    }
    Ok(Drawing { size, forces, ..Drawing::default() })
}

/// The present moment as the bytes of a PNG file.
pub fn picture(sim: &Simulation, size: (usize, usize), forces: bool) -> Result<Vec<u8>, Failure> {
    let drawing = drawing(size, forces)?;
    let (scene, state) = (sim.scene(), sim.raw_state());
    let about = About { about: "", dt: sim.settings().h, t_end: sim.time(), texts: &[] };
    let soft = |s: &signorini::scene::Soft| Soft {
        name: scene.bodies[s.body.index()].name.clone(),
        color: "#c98a5a".into(),
        nodes: s.boundary.nodes.len(),
        triangles: s.boundary.triangles.concat(),
        scalar: None,
    };
    let head = Head::of(scene, &about, scene.softs.iter().map(soft).collect());
    let nodes = |(i, s): (usize, &signorini::scene::Soft)| {
        let layout = sim.stepper().layout();
        let first = layout.nodes_of(SoftId(i as u32)).start;
        (
            s.boundary.nodes.iter().map(|&n| state.node(layout, first + n as usize)).collect(),
            Vec::new(),
        )
    };
    let bodies = 0..scene.bodies.len();
    let moment = Moment {
        time: sim.time(),
        poses: bodies.clone().map(|i| state.pose(BodyId(i as u32))).collect(),
        velocities: bodies.clone().map(|_| signorini::glam::DVec3::ZERO).collect(),
        there: bodies.clone().map(|i| !state.orders.absent(BodyId(i as u32))).collect(),
        touches: sim.contacts().iter().filter(|c| c.force.length() > 0.0).map(touch).collect(),
        soft: scene.softs.iter().enumerate().map(nodes).collect(),
    };
    png(&picture::picture(&head, &moment, &drawing)).map_err(unreadable)
}

fn touch(c: &signorini::simulation::ContactPoint) -> Touch {
    Touch { bodies: [c.bodies.0.0, c.bodies.1.0], point: c.point, normal: c.normal, force: c.force }
}

/// The record of a run (see `signorini.Record`).
#[pyclass(subclass, frozen, module = "signorini._engine")]
pub struct Record {
    record: Mutex<record::Record>,
}

impl Record {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut record::Record) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        detached(py, || {
            let mut record =
                self.record.lock().map_err(|_| unreadable("an earlier call failed"))?;
            f(&mut record)
        })
    }
}

#[pymethods]
impl Record {
    /// The record of a folder or file, or of these bytes.
    #[new]
    #[pyo3(signature = (path=None, bytes=None))]
    fn new(py: Python<'_>, path: Option<PathBuf>, bytes: Option<Vec<u8>>) -> PyResult<Record> {
        detached(py, || {
            let read = match (path, bytes) {
                (Some(path), _) => record::Record::open(&path),
                (None, bytes) => {
                    record::Record::from_bytes(bytes.unwrap_or_default(), "the record")
                }
            };
            Ok(Record { record: Mutex::new(read.map_err(unreadable)?) })
        })
    }

    /// The name of the scene.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |r| Ok(r.head.name.clone()))
    }

    /// Names of the bodies: the second index of `poses`.
    #[getter]
    fn bodies(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |r| Ok(r.head.bodies.iter().map(|b| b.name.clone()).collect()))
    }

    /// Times of the frames, s.
    #[getter]
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.with(py, |r| Ok(r.times()))?))
    }

    /// Frames × bodies × 7: position (m) and unit quaternion x y z w of every body.
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray<f64, IxDyn>>> {
        let (shape, data) = self.with(py, |r| {
            let (frames, bodies) = (r.times().len(), r.head.bodies.len());
            let mut data = Vec::with_capacity(7 * frames * bodies);
            for i in 0..frames {
                for pose in r.moment(i).map_err(unreadable)?.poses {
                    data.extend(pose.position.to_array());
                    data.extend(pose.orientation.to_array());
                }
            }
            Ok(([frames, bodies, 7], data))
        })?;
        PyArray1::from_vec(py, data).reshape(IxDyn(&shape))
    }

    /// The columns of the steps by name; `worst` and `solver` as texts.
    fn _steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        let (rows, names) = self.with(py, |r| {
            Ok((r.steps.iter().map(steps::Step::row).collect::<Vec<_>>(), r.names.clone()))
        })?;
        for (i, column) in steps::COLUMNS.iter().enumerate() {
            let values = rows.iter().map(|row| f64::from(f32::from_bits(row[i])));
            if matches!(*column, "worst" | "solver") {
                let text = |x: f64| names.get(x as usize).cloned().unwrap_or_default();
                out.set_item(column, values.map(text).collect::<Vec<String>>())?;
            } else {
                out.set_item(column, PyArray1::from_vec(py, values.collect()))?;
            }
        }
        Ok(out)
    }

    /// The summary of the run as JSON; none if it broke off.
    fn _summary(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |r| Ok(r.tail.as_ref().map(ToString::to_string)))
    }

    /// The bytes of record.bin.
    fn _bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |r| Ok(r.bytes().to_vec()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The frame nearest to a time (the last one without) as the bytes of a PNG file.
    #[pyo3(signature = (time, size, forces))]
    fn _picture<'py>(
        &self,
        py: Python<'py>,
        time: Option<f64>,
        size: (usize, usize),
        forces: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |r| {
            let drawing = drawing(size, forces)?;
            let at = picture::moment(r, time).map_err(unreadable)?;
            png(&picture::picture(&r.head, &at, &drawing)).map_err(unreadable)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// An animation as the bytes of a GIF file.
    fn _animation<'py>(
        &self,
        py: Python<'py>,
        size: (usize, usize),
        forces: bool,
        fps: u32,
        slower: f64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |r| {
            let drawing = Drawing { fps, slower, ..drawing(size, forces)? };
            animate::gif(r, &drawing).map(|(bytes, _)| bytes).map_err(unreadable)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A plot (`error`, `time`, `energy` or `iterations`) as SVG.
    fn _plot(&self, py: Python<'_>, kind: &str) -> PyResult<String> {
        self.with(py, |r| {
            let kind = match kind {
                "error" => plot::Kind::Error,
                "time" => plot::Kind::Time,
                "energy" => plot::Kind::Energy,
                "iterations" => plot::Kind::Iterations,
                _ => {
                    return Err(Failure::Named(
                        "InputError",
                        format!("plot `{kind}`, wanted error, time, energy or iterations"),
                    ));
                }
            };
            Ok(plot::of(r, kind).map_err(unreadable)?.svg())
        })
    }

    /// The page of the report: one HTML file that needs no network.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |r| report::html(r.bytes(), &r.head.name).map_err(unreadable))
    }

    /// Animated glTF (.glb).
    fn _glb<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |r| glb::of(r).map_err(unreadable))?;
        Ok(PyBytes::new(py, &bytes))
    }
}
