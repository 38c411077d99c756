//! Hostile files and hostile clients: what would exhaust memory or time is refused, and nothing is
//! let in.

mod common;

use common::{command, folder, refused, signorini, text, write_file};
use serde_json::Value as Json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn what_would_exhaust_memory_is_refused_with_its_number() {
    let place = folder("budgets");
    let nested = "[[repeat]]\ncount = 1000000\nindex = \"i\"\n[[repeat.repeat]]\ncount = \
        1000000\nindex = \"j\"\n[[repeat.repeat.body]]\nname = \"b{i}_{j}\"\nmass = 1\nshape = { sphere = 0.1 }\n";
    let file = write_file(&place, "nested.toml", nested);
    refused(&["check", text(&file)], &["copies of", "in all"]);
    let inner = nested.replacen("1000000", "1000", 1);
    let file = write_file(&place, "inner.toml", &inner);
    refused(&["check", text(&file)], &["found 1000 copies of", "copies within copies counted"]);
    // Counts that are formulas are known when they are reached.
    let file = write_file(
        &place,
        "formula.toml",
        &inner.replace("count = 1000000", "count = \"60000 + i\""),
    );
    refused(&["check", text(&file)], &["copies of", "were made before"]);
    let grid = "[[soft]]\nname = \"s\"\ngrid = { cells = [100000, 100000, 100000], size = [1, 1, \
        1] }\nyoung = 1e6\ndensity = 1000\n";
    let file = write_file(&place, "grid.toml", grid);
    refused(&["check", text(&file)], &["1000000000000000 cells", "wanted at most"]);
    let file = write_file(
        &place,
        "round.toml",
        &grid.replace(
            "grid = { cells = [100000, 100000, 100000], size = [1, 1, 1] }",
            "cylinder = { radius = 1, length = 1, across = 900000000, along = 900000000 }",
        ),
    );
    refused(&["check", text(&file)], &["cells", "wanted at most"]);
    // Each file includes the next one ten times: 10^10 files.
    for i in 0..10 {
        let list = vec![format!("\"bomb{}.toml\"", i + 1); 10].join(", ");
        write_file(&place, &format!("bomb{i}.toml"), &format!("include = [{list}]\n"));
    }
    write_file(&place, "bomb10.toml", "");
    refused(&["check", text(&place.join("bomb0.toml"))], &["wanted at most 1000"]);
    for i in 0..40 {
        write_file(
            &place,
            &format!("deep{i}.toml"),
            &format!("include = [\"deep{}.toml\"]\n", i + 1),
        );
    }
    refused(&["check", text(&place.join("deep0.toml"))], &["files deep", "wanted at most 32"]);
    // Parameters that lead to each other: no recursion without end.
    let chain: String = (0..20_000).map(|i| format!("p{i} = \"p{}\"\n", i + 1)).collect();
    let file = write_file(&place, "chain.toml", &format!("[parameters]\n{chain}p20000 = 1\n"));
    refused(&["check", text(&file)], &["define each before it is used"]);
    let ordered: String =
        (0..20_000).rev().map(|i| format!("p{i} = \"p{} + 1\"\n", i + 1)).collect();
    let file =
        write_file(&place, "ordered.toml", &format!("[parameters]\np20000 = 1\n{ordered}\n"));
    assert!(signorini(&["check", text(&file)]).status.success());
}

#[cfg(unix)]
#[test]
fn special_files_are_refused_and_no_line_of_a_foreign_file_is_shown() {
    let place = folder("special");
    let pipe = place.join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&["check", text(&pipe)], &["no regular file"]);
    let file = write_file(&place, "a.toml", "include = [\"pipe.toml\"]\n");
    refused(&["check", text(&file)], &["a pipe", "wanted a regular file"]);
    let file = write_file(
        &place,
        "b.toml",
        "[[body]]\nname = \"x\"\nmass = 1\nshape = { mesh = { file = \"zero.stl\" } }\n",
    );
    std::os::unix::fs::symlink("/dev/zero", place.join("zero.stl")).unwrap();
    refused(&["check", text(&file)], &["wanted a regular file"]);
    refused(&["solve", "/dev/zero"], &["wanted"]);
    refused(&["replay", "/dev/zero"], &["wanted a regular file"]);
    refused(&["convert", "/dev/zero", text(&place.join("out.toml"))], &["wanted a regular file"]);
    write_file(&place, "secret.toml", "root:x:0:0:secret-word\n");
    let file = write_file(&place, "c.toml", "include = [\"secret.toml\"]\n");
    let said = refused(&["check", text(&file)], &["`", "is no scene"]);
    assert!(!said.contains("secret-word"), "{said}");
    fs::write(place.join("secret"), "name = \"secret-word\"\n").unwrap();
    let file = write_file(&place, "d.toml", "include = [\"secret\"]\n");
    let said = refused(&["check", text(&file)], &["ends with .toml"]);
    assert!(!said.contains("secret-word"), "{said}");
}

#[test]
fn check_counts_findings_of_one_kind_and_is_quick() {
    let place = folder("many");
    let words = "[[repeat]]\ncount = [50, 50, 8]\nstep = [0.0999, 0.0999, \
        0.0999]\n[[repeat.body]]\nname = \"b{i}\"\ndensity = 1000\n\
                 shape = { sphere = 0.05 }\nposition = [0, 0, 0.05]\n";
    let file = write_file(&place, "many.toml", words);
    let output = signorini(&["check", text(&file)]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // Neighbours along three axes.
    let pairs = 49 * 50 * 8 * 2 + 50 * 50 * 7;
    assert!(
        said.contains(&format!("warning [overlap] {pairs} in all: {} more", pairs - 3)),
        "{said}"
    );
    assert!(said.lines().count() < 15, "{said}");
    let json: Json =
        serde_json::from_slice(&signorini(&["check", text(&file), "--json"]).stdout).unwrap();
    assert_eq!(json["findings"].as_array().unwrap().len(), pairs);
}

/// A server that is ended when the test is.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn server(results: &Path) -> Server {
    let mut child =
        command(&["view", text(results), "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut letter = [0];
    let out = child.stdout.as_mut().unwrap();
    while out.read(&mut letter).unwrap() == 1 && letter != *b"\n" {
        line.push(letter[0] as char);
    }
    let address = line.trim_start_matches("http://").split('/').next().unwrap().to_string();
    Server(child, address)
}

/// Sends a request and reads the whole answer.
fn ask(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A head that comes letter by letter is cut off after some seconds, however long it goes on.
fn drips(address: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(250))).unwrap();
    let (begun, mut answer) = (Instant::now(), [0; 12]);
    while stream.write_all(b"G").is_ok() && stream.read_exact(&mut answer).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "a client drips without end");
    }
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 408");
    assert!(begun.elapsed() > Duration::from_secs(2), "a slow client has some seconds");
}

#[test]
fn view_serves_this_computer_and_outlives_hostile_clients() {
    let place = folder("view");
    let file = write_file(
        &place,
        "ball.toml",
        "[run]\nt_end = \"20 ms\"\n[[body]]\nname = \"b\"\nmass = 1\nshape = { sphere = 0.1 }\n",
    );
    let out = place.join("out");
    assert!(signorini(&["run", text(&file), "--out", text(&out)]).status.success());
    let server = server(&out);
    let address = server.1.as_str();
    let host = format!("Host: {address}\r\n\r\n");
    let page = ask(address, format!("GET / HTTP/1.1\r\n{host}").as_bytes());
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("X-Content-Type-Options: nosniff"),
        "{}",
        &page[..200.min(page.len())]
    );
    let policy = page
        .lines()
        .find(|l| l.contains("http-equiv=\"Content-Security-Policy\""))
        .expect("the page has a policy");
    assert!(
        policy.contains("default-src 'none'")
            && policy.contains("script-src 'sha256-")
            && !policy.contains("@@"),
        "{policy}"
    );
    let bytes = fs::read(out.join("record.bin")).unwrap();
    let sent = ask(address, format!("GET /record?from=8 HTTP/1.1\r\n{host}").as_bytes());
    assert!(
        sent.contains(&format!("Content-Length: {}\r\n", bytes.len() - 8)),
        "{}",
        &sent[..200.min(sent.len())]
    );
    assert!(
        ask(address, format!("GET /record?from=99999999 HTTP/1.1\r\n{host}").as_bytes())
            .starts_with("HTTP/1.1 409")
    );
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_string(), "403"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "403"),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{host}"), "403"),
        (format!("POST / HTTP/1.1\r\n{host}"), "405"),
        (format!("POST / HTTP/1.1\r\nContent-Length: 99999999999999\r\n{host}"), "413"),
        (format!("GET /../../etc/passwd HTTP/1.1\r\n{host}"), "404"),
        (format!("GET / HTTP/1.1\r\nX: {}\r\n{host}", "a".repeat(1 << 20)), "431"),
        ("\u{0}\u{1}\u{2}\r\n\r\n".into(), "400"),
    ] {
        let answer = ask(address, request.as_bytes());
        // A flood is cut off: the answer may be lost with it.
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}"))
                || (status == "431" && answer.is_empty()),
            "{status}: {answer}"
        );
    }
    let head = ask(address, format!("HEAD / HTTP/1.1\r\n{host}").as_bytes());
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    drips(address);
    // Silent and slow clients hold nobody up: there are few of them at a time, and others are
    // answered meanwhile.
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(format!("GET / HTTP/1.1\r\n{host}").as_bytes()).unwrap();
    let begun = Instant::now();
    assert!(
        ask(address, format!("GET / HTTP/1.1\r\n{host}").as_bytes()).starts_with("HTTP/1.1 200")
    );
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // More than there is room for are turned away at once, and after a while there is room again.
    let many: Vec<TcpStream> = (0..40).filter_map(|_| TcpStream::connect(address).ok()).collect();
    drop((silent, many, slow));
    let begun = Instant::now();
    while !ask(address, format!("GET / HTTP/1.1\r\n{host}").as_bytes()).starts_with("HTTP/1.1 200")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the server is back after hostile clients are gone"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    // A link in the folder leads nowhere.
    #[cfg(unix)]
    {
        fs::rename(out.join("record.bin"), place.join("elsewhere.bin")).unwrap();
        std::os::unix::fs::symlink(place.join("elsewhere.bin"), out.join("record.bin")).unwrap();
        assert!(
            ask(address, format!("GET /record HTTP/1.1\r\n{host}").as_bytes())
                .starts_with("HTTP/1.1 500")
        );
    }
}
