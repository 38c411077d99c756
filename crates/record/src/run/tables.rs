//! The tables of a run: `bodies.csv`, `contacts.csv`, `run.json`; and a series of `.vtu` files per
//! soft body.
//!
//! They are written under other names and take their own when they are whole: whoever reads them
//! never sees half a file.

use super::append_file::partial;
use crate::vtu::Series;
use serde_json::Value as Json;
use signorini_mechanics::scene::{BodyId, Kind, Scene, State};
use signorini_mechanics::step::Stepper;
use signorini_solve::whole::write_whole;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Tables being written.
pub struct Tables {
    folder: PathBuf,
    bodies: BufWriter<File>,
    contacts: BufWriter<File>,
    softs: Series,
}

const BODIES: &str = "bodies.csv";
const CONTACTS: &str = "contacts.csv";
const RUN: &str = "run.json";

/// Every how many steps rows are written by default: some 500 times, and some 200 000 rows at most.
pub fn stride(scene: &Scene, steps: u64) -> u64 {
    let moving = scene.bodies.iter().filter(|b| !matches!(b.kind, Kind::Fixed)).count() as u64;
    let times = (200_000 / moving.max(1)).clamp(10, 500);
    steps.div_ceil(times).max(1)
}

impl Tables {
    /// Begins tables in a folder, which is made if need be; what an earlier run left there goes.
    pub fn create(folder: &Path) -> io::Result<Tables> {
        fs::create_dir_all(folder)?;
        super::folder::clear(folder)?;
        let open = |name: &str| File::create(partial(folder, name)).map(BufWriter::new);
        let (mut bodies, mut contacts) = (open(BODIES)?, open(CONTACTS)?);
        writeln!(
            bodies,
            "t_s,body,x_m,y_m,z_m,qx,qy,qz,qw,vx_m_per_s,vy_m_per_s,vz_m_per_s,wx_rad_per_s,wy_rad_per_s,wz_rad_per_s"
        )?;
        writeln!(
            contacts,
            "t_s,body_a,body_b,x_m,y_m,z_m,nx,ny,nz,gap_m,impulse_normal_Ns,impulse_x_Ns,impulse_y_Ns,impulse_z_Ns,force_normal_N,force_x_N,force_y_N,force_z_N"
        )?;
        Ok(Tables { folder: folder.to_path_buf(), bodies, contacts, softs: Series::new(folder) })
    }

    /// Goes on with tables that were interrupted when they had these lengths; what came after is
    /// cut off.
    pub fn resume(folder: &Path, lengths: &[(String, u64)]) -> io::Result<Tables> {
        let open =
            |name: &str| super::append_file::reopen(folder, name, lengths).map(BufWriter::new);
        Ok(Tables {
            folder: folder.to_path_buf(),
            bodies: open(BODIES)?,
            contacts: open(CONTACTS)?,
            softs: Series::resume(folder, lengths)?,
        })
    }

    /// Puts everything on the disk, and says how long each table is.
    pub fn sync(&mut self) -> io::Result<Vec<(String, u64)>> {
        let bodies = super::append_file::sync(&mut self.bodies)?;
        Ok(vec![
            (BODIES.into(), bodies),
            (CONTACTS.into(), super::append_file::sync(&mut self.contacts)?),
            self.softs.sync()?,
        ])
    }

    /// Writes the present state: bodies at the end of the step (centre of mass; angular velocity in
    /// body axes), contacts that carried something during it (impulse and mean force on the second
    /// body, along world axes).
    pub fn rows(&mut self, scene: &Scene, stepper: &Stepper, state: &State) -> io::Result<()> {
        for (i, body) in
            scene.bodies.iter().enumerate().filter(|(_, b)| !matches!(b.kind, Kind::Fixed))
        {
            let id = BodyId(i as u32);
            let (pose, (v, w)) = (state.pose(id), state.twist(stepper.layout(), id));
            let (p, q) = (pose.position, pose.orientation);
            writeln!(
                self.bodies,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                state.time,
                field(&body.name),
                p.x,
                p.y,
                p.z,
                q.x,
                q.y,
                q.z,
                q.w,
                v.x,
                v.y,
                v.z,
                w.x,
                w.y,
                w.z
            )?;
        }
        self.softs.write(scene, stepper, state)?;
        let h = state.reactions.h;
        // Both lists are sorted by colliders and key.
        let mut reactions = state.reactions.contacts.iter().peekable();
        for contact in stepper.contacts() {
            let identity = (contact.colliders, contact.key);
            while reactions.next_if(|r| (r.colliders, r.key) < identity).is_some() {}
            let Some(reaction) = reactions
                .peek()
                .filter(|r| (r.colliders, r.key) == identity && r.impulse.length() > 0.0)
            else {
                continue;
            };
            let name = |collider: u32| {
                field(&scene.bodies[scene.colliders[collider as usize].body as usize].name)
            };
            let (p, n, r) =
                (0.5 * (contact.point_a + contact.point_b), contact.normal, reaction.impulse);
            let (f, rn) = (r / h, r.dot(n));
            writeln!(
                self.contacts,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                state.time,
                name(contact.colliders.0),
                name(contact.colliders.1),
                p.x,
                p.y,
                p.z,
                n.x,
                n.y,
                n.z,
                contact.gap,
                rn,
                r.x,
                r.y,
                r.z,
                rn / h,
                f.x,
                f.y,
                f.z
            )?;
        }
        Ok(())
    }

    /// Ends the tables and writes the summary.
    pub fn finish(mut self, run: &Json) -> io::Result<()> {
        self.sync()?;
        for name in [BODIES, CONTACTS] {
            fs::rename(partial(&self.folder, name), self.folder.join(name))?;
        }
        // The summary comes last: where it is, everything is.
        write_whole(&self.folder.join(RUN), format!("{run:#}\n").as_bytes())
    }
}

/// A text as a field of CSV. A text that a spreadsheet would take for a formula begins with an
/// apostrophe there.
pub fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_string() };
    if formula || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn no_name_is_a_formula() {
        assert_eq!(field("box 1"), "box 1");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        for name in ["+1", "-1", "@x", "\tx", "\r=1"] {
            assert!(field(name).starts_with("\"'"), "{name}");
        }
        assert_eq!(field("a=b"), "a=b");
    }
}
