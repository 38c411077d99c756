//! `signorini view DIR`: the page on this computer alone, growing while a run goes on; `signorini export DIR`: the page or a `.glb` as a file.

use crate::record::{FILE, FILE_MOST, MAGIC, Record};
use crate::{glb, report};
use clap::Args;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tiny_http::{Header, Method, Request, Response, Server};

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
            std::fs::write(output, &bytes).map_err(|e| format!("cannot write {}: {e}", output.display()))?;
            Ok(bytes.len() as u64)
        }
        _ => Err(format!("{}: wanted a file that ends with .glb or .html", output.display())),
    }
}

fn serve(arguments: &Arguments) -> Result<(), String> {
    let page = report::page();
    let folder = &arguments.folder;
    if !folder.is_dir() {
        return Err(format!("{}: no such folder; `signorini run SCENE --out {0}` makes one", folder.display()));
    }
    // The loopback address: nobody else on the network can connect.
    let server = Server::http(("127.0.0.1", arguments.port)).map_err(|e| format!("port {}: {e}", arguments.port))?;
    let address = server.server_addr();
    println!("http://{address}/  (Ctrl-C ends)");
    for request in server.incoming_requests() {
        let answer = answer(&request, folder, page);
        // Whoever went away does not want the answer any more.
        let _ = request.respond(answer);
    }
    Ok(())
}

type Answer = Response<std::io::Cursor<Vec<u8>>>;

fn answer(request: &Request, folder: &Path, page: &str) -> Answer {
    let own = |h: &Header| {
        let name = h.value.as_str().rsplit_once(':').map_or(h.value.as_str(), |(name, _)| name);
        h.field.equiv("Host") && ["127.0.0.1", "localhost"].contains(&name)
    };
    // A page from elsewhere that lets its name point here is not served.
    if !request.headers().iter().any(own) {
        return text(403, "this page is for 127.0.0.1 alone");
    }
    if !matches!(request.method(), Method::Get | Method::Head) {
        return text(405, "wanted GET");
    }
    let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
    match path {
        "/" => with_type(Response::from_string(page), "text/html; charset=utf-8"),
        "/record" => {
            let from = query.strip_prefix("from=").and_then(|n| n.parse().ok()).unwrap_or(0);
            match piece(folder, from) {
                Ok(bytes) => with_type(Response::from_data(bytes), "application/octet-stream"),
                Err((status, why)) => text(status, &why),
            }
        }
        _ => text(404, "not found"),
    }
}

/// The bytes of the record from a place on; 409 if the file is another one by now.
fn piece(folder: &Path, from: u64) -> Result<Vec<u8>, (u16, String)> {
    let path = folder.join(FILE);
    let gone = |why: std::io::Error| (500, format!("{}: {why}", path.display()));
    let mut file = match File::open(&path) {
        Ok(file) => file,
        // A run that is about to begin.
        Err(why) if why.kind() == std::io::ErrorKind::NotFound && from == 0 => return Ok(Vec::new()),
        Err(why) => return Err(gone(why)),
    };
    let length = file.metadata().map_err(gone)?.len();
    if length > FILE_MOST {
        return Err((500, format!("{}: {} MB, more than any record", path.display(), length >> 20)));
    }
    if length < from {
        return Err((409, "the run began anew".into()));
    }
    let mut start = [0; MAGIC.len()];
    if length >= MAGIC.len() as u64 && (file.read_exact(&mut start).is_err() || &start != MAGIC) {
        return Err((500, format!("{}: not a record of a run", path.display())));
    }
    file.seek(SeekFrom::Start(from)).map_err(gone)?;
    let mut bytes = Vec::new();
    file.take(length - from).read_to_end(&mut bytes).map_err(gone)?;
    Ok(bytes)
}

fn text(status: u16, words: &str) -> Answer {
    with_type(Response::from_string(words).with_status_code(status), "text/plain; charset=utf-8")
}

fn with_type(response: Answer, kind: &str) -> Answer {
    let header = |name: &str, value: &str| Header::from_bytes(name.as_bytes(), value.as_bytes()).ok();
    let list = [header("Content-Type", kind), header("Cache-Control", "no-store"), header("X-Content-Type-Options", "nosniff")];
    list.into_iter().flatten().fold(response, |response, header| response.with_header(header))
}
