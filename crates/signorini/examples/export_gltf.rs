//! Records a run and writes it as animated glTF, as a picture and as a report.

use signorini::prelude::*;
use signorini::record::record::Record;
use signorini::record::{glb, picture, report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join("signorini-export");
    let mut sim = Simulation::load("cradle")?;
    sim.record_to(&folder)?;
    sim.run_until(0.3)?;
    sim.finish_recording()?;

    let mut record = Record::open(&folder)?;
    let bytes = glb::of(&mut record)?;
    std::fs::write(folder.join("cradle.glb"), &bytes)?;
    println!("{}: {} bytes", folder.join("cradle.glb").display(), bytes.len());
    let image = picture::of_folder(&folder, 0.3, (320, 200))?;
    std::fs::write(folder.join("cradle.png"), picture::png(&image)?)?;
    let size = report::of_folder(&folder, &folder.join("cradle.html"))?;
    println!("{}: {size} bytes", folder.join("cradle.html").display());
    assert!(bytes.starts_with(b"glTF"));
    Ok(())
}
