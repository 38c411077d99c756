//! `signorini view DIR`: the page on this computer alone, growing while a run goes on;
//! `signorini export DIR`: the page or a `.glb` as a file.

use crate::record::{FILE, MAGIC, MAX_FILE_BYTES, Record};
use crate::serve::{self, Answer, Body, Request};
use crate::{glb, report};
use clap::Args;
use signorini::whole::write_whole;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to show.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// A folder that `run --out` wrote, or is writing.
    pub folder: PathBuf,
    /// The port on 127.0.0.1; 0 takes any that is free.
    #[arg(long, default_value_t = 7878)]
    pub port: u16,
}

/// What to export.
#[derive(Args, Clone, Debug)]
pub struct Export {
    /// A folder that `run --out` wrote.
    pub folder: PathBuf,
    /// The file to write: .glb (animated glTF) or .html (the report).
    #[arg(short, long)]
    pub output: PathBuf,
}

/// Serves the page until the program is stopped.
pub fn run(arguments: &Arguments) -> ExitCode {
    match serve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Writes a file.
pub fn export(arguments: &Export) -> ExitCode {
    match write(arguments) {
        Ok(size) => {
            eprintln!("{} ({})", arguments.output.display(), report::megabytes(size));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn write(arguments: &Export) -> Result<u64, String> {
    let Export { folder, output } = arguments;
    match output.extension().unwrap_or_default().to_string_lossy().as_ref() {
        "html" => report::of_folder(folder, output),
        "glb" => {
            let mut record = Record::open(folder).map_err(|e| e.to_string())?;
            let bytes = glb::of(&mut record).map_err(|e| e.to_string())?;
            write_whole(output, &bytes)
                .map_err(|e| format!("cannot write {}: {e}", output.display()))?;
            Ok(bytes.len() as u64)
        }
        _ => Err(format!("{}: wanted a file that ends with .glb or .html", output.display())),
    }
}

fn serve(arguments: &Arguments) -> Result<(), String> {
    let folder = arguments.folder.clone();
    if !folder.is_dir() {
        return Err(format!(
            "{}: no such folder; `signorini run SCENE --out {0}` makes one",
            folder.display()
        ));
    }
    // The loopback address: nobody else on the network can connect.
    let listener = TcpListener::bind(("127.0.0.1", arguments.port))
        .map_err(|e| format!("port {}: {e}", arguments.port))?;
    let address = listener.local_addr().map_err(|e| format!("port {}: {e}", arguments.port))?;
    println!("http://{address}/  (Ctrl-C ends)");
    serve::serve(listener, move |request| answer(request, &folder));
    Ok(())
}

fn answer(request: &Request, folder: &Path) -> Answer {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    match path {
        "/" => Answer::new("text/html; charset=utf-8", report::page().as_bytes().to_vec()),
        "/record" => {
            let from = query.strip_prefix("from=").and_then(|n| n.parse().ok()).unwrap_or(0);
            match piece(folder, from) {
                Ok(body) => Answer { status: 200, kind: "application/octet-stream", body },
                Err((status, why)) => Answer::words(status, &why),
            }
        }
        _ => Answer::words(404, "not found"),
    }
}

/// The bytes of the record from a place on; 409 if the file is another one by now.
fn piece(folder: &Path, from: u64) -> Result<Body, (u16, String)> {
    let path = folder.join(FILE);
    let gone = |why: std::io::Error| (500, format!("{}: {why}", path.display()));
    match path.symlink_metadata() {
        Ok(about) if about.is_file() => {}
        // A link may lead anywhere, and a folder of results may come from anybody.
        Ok(_) => {
            return Err((
                500,
                format!("{}: a link, a pipe or a folder, wanted a regular file", path.display()),
            ));
        }
        // A run that is about to begin.
        Err(why) if why.kind() == std::io::ErrorKind::NotFound && from == 0 => {
            return Ok(Body::Bytes(Vec::new()));
        }
        Err(why) => return Err(gone(why)),
    }
    let mut file = File::open(&path).map_err(gone)?;
    let length = file.metadata().map_err(gone)?.len();
    if length > MAX_FILE_BYTES {
        return Err((
            500,
            format!("{}: {} MB, more than any record", path.display(), length >> 20),
        ));
    }
    if length < from {
        return Err((409, "the run began anew".into()));
    }
    let mut start = [0; MAGIC.len()];
    if length >= MAGIC.len() as u64 && (file.read_exact(&mut start).is_err() || &start != MAGIC) {
        return Err((500, format!("{}: not a record of a run", path.display())));
    }
    file.seek(SeekFrom::Start(from)).map_err(gone)?;
    Ok(Body::Stream(Box::new(file), length - from))
}
