//! A small HTTP server for one reader on this computer: GET and HEAD, one request per
//! connection, nothing taken in but a short head.
//!
//! It believes no number that a client sends: the head of a request is bounded in bytes and in
//! time, bodies are refused, answers are sent piece by piece with a deadline, and every connection
//! has its own thread, of which there are few. A slow or silent client therefore holds one
//! connection for a bounded time, and nobody else waits for it.
//!
//! Pages from elsewhere cannot read through it: there must be exactly one `Host`, and it must name
//! this computer.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The longest head of a request, bytes.
const MAX_HEADER_BYTES: usize = 8 << 10;
/// Connections at a time; more are turned away.
const MAX_CONNECTIONS: usize = 32;
/// A request's head must be whole after this.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// An answer must be taken after this, and each piece of it after a part of this.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The path, with its query.
    pub target: String,
    /// True if the body of the answer is not wanted.
    pub head: bool,
}

/// The body of an answer.
pub enum Body {
    /// Bytes at hand.
    Bytes(Vec<u8>),
    /// So many bytes of a reader.
    Stream(Box<dyn Read>, u64),
}

/// An answer.
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Its type.
    pub kind: &'static str,
    /// What is sent.
    pub body: Body,
}

impl Answer {
    /// Bytes of a type.
    pub fn new(kind: &'static str, bytes: Vec<u8>) -> Answer {
        Answer { status: 200, kind, body: Body::Bytes(bytes) }
    }

    /// A few words.
    pub fn words(status: u16, words: &str) -> Answer {
        Answer {
            status,
            kind: "text/plain; charset=utf-8",
            body: Body::Bytes(words.as_bytes().to_vec()),
        }
    }
}

/// Answers every request on a listener until the program ends.
pub fn serve(listener: TcpListener, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
    let (answer, open) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    for stream in listener.incoming() {
        // A client that was gone before it was greeted, or too many open files for a moment.
        let Ok(stream) = stream else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        if open.fetch_add(1, Ordering::SeqCst) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::SeqCst);
            let _ = stream.set_nonblocking(true);
            let _ = (&stream).write_all(
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: \
                0\r\nConnection: close\r\n\r\n",
            );
            continue;
        }
        let (answer, leave) = (answer.clone(), Leave(open.clone()));
        // If no thread can be made the connection is closed, and counted as such.
        let _ = std::thread::Builder::new().name("view".into()).stack_size(256 << 10).spawn(
            move || {
                let _leave = leave;
                // Whoever went away does not want the answer any more.
                let _ = converse(&stream, answer.as_ref());
            },
        );
    }
}

/// Counts a connection as closed, however it ends.
struct Leave(Arc<AtomicUsize>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn converse(stream: &TcpStream, answer: &dyn Fn(&Request) -> Answer) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let (found, head) = match ask(stream)? {
        Ok(request) => (answer(&request), request.head),
        Err(refused) => (refused, false),
    };
    send(stream, found, head)?;
    // What the client still says is not read: a close with unread bytes would cut the answer off.
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut rest = [0; 1024];
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1)
        && matches!((&mut &*stream).read(&mut rest), Ok(1..))
    {}
    Ok(())
}

/// Reads the head of a request; an answer if it is refused.
fn ask(mut stream: &TcpStream) -> io::Result<Result<Request, Answer>> {
    let (begun, mut head) = (Instant::now(), Vec::new());
    loop {
        if let Some(end) = head.windows(4).position(|w| w == b"\r\n\r\n") {
            head.truncate(end);
            return Ok(parse(&head));
        }
        if head.len() >= MAX_HEADER_BYTES {
            return Ok(Err(Answer::words(431, "the request is too long")));
        }
        let Some(left) =
            REQUEST_TIMEOUT.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())
        else {
            return Ok(Err(Answer::words(408, "the request took too long")));
        };
        stream.set_read_timeout(Some(left))?;
        let mut piece = [0; 1024];
        let room = piece.len().min(MAX_HEADER_BYTES - head.len());
        match stream.read(&mut piece[..room]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => head.extend_from_slice(&piece[..n]),
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::TimedOut
                        | io::ErrorKind::Interrupted
                ) => {}
            Err(e) => return Err(e),
        }
    }
}

/// The head of a request, without its empty line.
fn parse(head: &[u8]) -> Result<Request, Answer> {
    let bad = |words: &str| Answer::words(400, words);
    let plain = head.iter().all(|b| matches!(b, b'\r' | b'\n' | b'\t' | b' '..=b'~'));
    let text = std::str::from_utf8(head)
        .ok()
        .filter(|_| plain)
        .ok_or_else(|| bad("the request is no plain text"))?;
    let mut lines = text.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad("wanted METHOD PATH VERSION"));
    };
    if !["HTTP/1.0", "HTTP/1.1"].contains(&version) || !target.starts_with('/') {
        return Err(bad("wanted a path and HTTP/1.1"));
    }
    let mut hosts = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
        // A line that is folded, or a name with blanks, is read differently by different programs.
        if name.is_empty() || line.contains(['\r', '\n']) || name.contains([' ', '\t']) {
            return Err(bad("a header that is none"));
        }
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" => hosts.push(value),
            "transfer-encoding" => return Err(Answer::words(413, "no body is taken")),
            "content-length" if value != "0" => return Err(Answer::words(413, "no body is taken")),
            _ => {}
        }
    }
    // A page from elsewhere that lets its name point here is not served.
    if !matches!(hosts[..], [one] if loopback(one)) {
        return Err(Answer::words(403, "this page is for 127.0.0.1 alone"));
    }
    match method {
        "GET" | "HEAD" => Ok(Request { target: target.into(), head: method == "HEAD" }),
        _ => Err(Answer::words(405, "wanted GET")),
    }
}

/// Whether a `Host` names this computer, with or without a port.
fn loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    ["127.0.0.1", "localhost", "[::1]"].contains(&name.to_ascii_lowercase().as_str())
}

fn send(mut stream: &TcpStream, answer: Answer, head: bool) -> io::Result<()> {
    let Answer { status, kind, body } = answer;
    let (mut body, length): (Box<dyn Read>, u64) = match body {
        Body::Bytes(bytes) => {
            let length = bytes.len() as u64;
            (Box::new(io::Cursor::new(bytes)), length)
        }
        Body::Stream(reader, length) => (reader, length),
    };
    let reason = match status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        _ => "Bad Request",
    };
    let text = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: \
            {length}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: \
         no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: frame-ancestors \
         'none'\r\n\r\n"
    );
    stream.write_all(text.as_bytes())?;
    let (begun, mut left, mut piece) =
        (Instant::now(), if head { 0 } else { length }, vec![0; 64 << 10]);
    while left > 0 {
        if begun.elapsed() > RESPONSE_TIMEOUT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let room = (piece.len() as u64).min(left) as usize;
        let n = body.read(&mut piece[..room])?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        stream.write_all(&piece[..n])?;
        left -= n as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> u16 {
        parse(head.as_bytes()).map_or_else(|answer| answer.status, |_| 200)
    }

    #[test]
    fn one_host_and_it_is_this_computer() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: 127.0.0.1:7878"), 200);
        assert_eq!(status("GET / HTTP/1.1\r\nhost: LOCALHOST"), 200);
        assert_eq!(status("HEAD /record?from=3 HTTP/1.1\r\nHost: [::1]:80"), 200);
        for host in [
            "example.com",
            "127.0.0.1.example.com",
            "127.0.0.1:80:90",
            "127.0.0.1@x",
            "localhost:x",
            "",
            "127.0.0.1, x",
        ] {
            assert_eq!(status(&format!("GET / HTTP/1.1\r\nHost: {host}")), 403, "{host}");
        }
        assert_eq!(status("GET / HTTP/1.1"), 403);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1"), 403);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let host = "\r\nHost: 127.0.0.1";
        assert_eq!(status(&format!("POST / HTTP/1.1{host}")), 405);
        assert_eq!(
            status(&format!("GET / HTTP/1.1{host}\r\nContent-Length: 99999999999999999999")),
            413
        );
        assert_eq!(status(&format!("GET / HTTP/1.1{host}\r\nTransfer-Encoding: chunked")), 413);
        for bad in [
            "GET / HTTP/1.1 x",
            "GET  / HTTP/1.1",
            "GET /",
            "",
            "GET http://a/ HTTP/1.1",
            "GET / HTTP/2",
        ] {
            assert_eq!(status(&format!("{bad}{host}")), 400, "{bad}");
        }
        assert_eq!(status(&format!("GET / HTTP/1.1{host}\r\n folded: x")), 400);
        assert_eq!(status(&format!("GET / HTTP/1.1{host}\r\nHost : x")), 400);
        assert_eq!(status(&format!("GET / HTTP/1.1{host}\r\nx\ny: z")), 400);
        assert_eq!(status(&format!("GET /\u{1} HTTP/1.1{host}")), 400);
        assert_eq!(status(&format!("GET /ä HTTP/1.1{host}")), 400);
    }
}
