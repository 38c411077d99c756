//! Series of `.vtu` files: what soft bodies look like, for ParaView.
//!
//! `NAME.pvd` lists `NAME_000000.vtu`, `NAME_000001.vtu`, … with their times; each holds the mesh
//! with displacement, velocity, von Mises stress, contact pressure and contact force of the nodes,
//! and the von Mises stress of the elements, as base64 of doubles.

use crate::base64;
use glam::DVec3;
use signorini_mechanics::scene::{Scene, SoftId, State};
use signorini_mechanics::step::{Fields, Stepper};
use signorini_solve::whole::write_quickly;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The name under which a checkpoint keeps the length of the series.
const FILES: &str = "*.vtu";

/// The series of a run.
#[derive(Default)]
pub struct Series {
    folder: PathBuf,
    times: Vec<f64>,
    /// Files that may not be on the disk yet.
    new: Vec<PathBuf>,
}

impl Series {
    /// Series into a folder.
    pub fn new(folder: &Path) -> Series {
        Series { folder: folder.to_path_buf(), times: Vec::new(), new: Vec::new() }
    }

    /// Series that were interrupted when they had this length.
    pub fn resume(folder: &Path, lengths: &[(String, u64)]) -> io::Result<Series> {
        let files = lengths.iter().find(|(name, _)| name == FILES).map_or(0, |(_, n)| *n as usize);
        let mut series = Series::new(folder);
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if series.times.len() < files && path.extension().is_some_and(|e| e == "pvd") {
                let text = std::fs::read_to_string(path)?;
                let times = text.lines().filter_map(|line| {
                    line.split('"').nth(1).filter(|_| line.starts_with("<DataSet"))?.parse().ok()
                });
                series.times = times.take(files).collect();
            }
        }
        if series.times.len() < files {
            let found = series.times.len();
            return Err(io::Error::other(format!(
                "the lists (.pvd) name {found} of the {files} moments of the checkpoint: were they \
                    changed?"
            )));
        }
        Ok(series)
    }

    /// Puts everything on the disk; how many files of each body there are, as an entry of a
    /// checkpoint.
    pub fn sync(&mut self) -> io::Result<(String, u64)> {
        for path in self.new.drain(..) {
            std::fs::File::open(path)?.sync_all()?;
        }
        Ok((FILES.into(), self.times.len() as u64))
    }

    /// Writes all soft bodies as they are now; nothing without soft bodies.
    pub fn write(&mut self, scene: &Scene, stepper: &Stepper, state: &State) -> io::Result<()> {
        if scene.softs.is_empty() {
            return Ok(());
        }
        let number = self.times.len();
        self.times.push(state.time);
        let mut names: Vec<String> = Vec::new();
        for (s, soft) in scene.softs.iter().enumerate() {
            let mut name = file_name(&scene.bodies[soft.body.index()].name);
            // Two names may differ in letters only that no file name has.
            if names.contains(&name) {
                name += &format!("-{s}");
            }
            let fields = stepper.fields(scene, state, SoftId(s as u32));
            let (file, list) = (
                self.folder.join(format!("{name}_{number:06}.vtu")),
                self.folder.join(format!("{name}.pvd")),
            );
            write_quickly(&file, text(&soft.mesh.elements, &fields).as_bytes())?;
            // The list is whole after every file: an interrupted run can be looked at.
            write_quickly(&list, self.list(&name).as_bytes())?;
            self.new.push(file);
            if !self.new.contains(&list) {
                self.new.push(list);
            }
            names.push(name);
        }
        Ok(())
    }

    fn list(&self, name: &str) -> String {
        let mut out = String::from(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" \
                byte_order=\"LittleEndian\">\n<Collection>\n",
        );
        for (i, t) in self.times.iter().enumerate() {
            let _ =
                writeln!(out, "<DataSet timestep=\"{t}\" part=\"0\" file=\"{name}_{i:06}.vtu\"/>");
        }
        out + "</Collection>\n</VTKFile>\n"
    }
}

/// A name that every file system takes.
fn file_name(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .collect()
}

/// One file.
pub fn text(elements: &[[u32; 4]], fields: &Fields) -> String {
    let flat = |list: &[DVec3]| {
        list.iter().flat_map(|x| x.to_array()).flat_map(f64::to_le_bytes).collect::<Vec<u8>>()
    };
    let reals = |list: &[f64]| list.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let (points, cells) = (fields.positions.len(), elements.len());
    let mut out = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" \
            byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
         <UnstructuredGrid>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n<PointData Vectors=\"displacement_m\">\n"
    );
    array(&mut out, "Float64", "displacement_m", 3, &flat(&fields.displacements));
    array(&mut out, "Float64", "velocity_m_per_s", 3, &flat(&fields.velocities));
    array(&mut out, "Float64", "von_mises_Pa", 1, &reals(&fields.von_mises));
    array(&mut out, "Float64", "contact_pressure_Pa", 1, &reals(&fields.pressure));
    array(&mut out, "Float64", "contact_force_N", 3, &flat(&fields.contact_forces));
    out.push_str("</PointData>\n<CellData>\n");
    array(&mut out, "Float64", "von_mises_Pa", 1, &reals(&fields.element_von_mises));
    out.push_str("</CellData>\n<Points>\n");
    array(&mut out, "Float64", "points", 3, &flat(&fields.positions));
    out.push_str("</Points>\n<Cells>\n");
    array(
        &mut out,
        "Int64",
        "connectivity",
        1,
        &elements.iter().flatten().flat_map(|&n| i64::from(n).to_le_bytes()).collect::<Vec<u8>>(),
    );
    array(
        &mut out,
        "Int64",
        "offsets",
        1,
        &(1..=cells as i64).flat_map(|e| (4 * e).to_le_bytes()).collect::<Vec<u8>>(),
    );
    array(&mut out, "UInt8", "types", 1, &vec![10; cells]);
    out + "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n"
}

fn array(out: &mut String, kind: &str, name: &str, width: usize, bytes: &[u8]) {
    let _ = write!(
        out,
        "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{width}\" \
            format=\"binary\">"
    );
    let mut all = (bytes.len() as u64).to_le_bytes().to_vec();
    all.extend_from_slice(bytes);
    base64::encode(&all, out);
    out.push_str("</DataArray>\n");
}
