//! The responses of simulated hosts.

use std::time::Duration;

/// The response of a simulated host.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The time from the request to the response.
    pub after: Duration,
    /// The head and the body.
    pub bytes: Vec<u8>,
    /// True if the host closes the connection after them.
    pub closes: bool,
    /// True if the host resets the connection after them.
    pub resets: bool,
}

impl Response {
    /// Delays the response.
    #[must_use]
    pub fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

/// Makes a response of a status (`200 OK`), header lines, each with its line
/// end, and a body.
pub fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Response {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    Response { bytes: [head.as_bytes(), body].concat(), ..Response::default() }
}

/// Makes a page that links to `targets`.
pub fn page<T: AsRef<str>>(targets: impl IntoIterator<Item = T>) -> Response {
    let link = |target: T| format!("<a href=\"{}\">link</a>\n", target.as_ref());
    let html: String = targets.into_iter().map(link).collect();
    response("200 OK", "Content-Type: text/html\r\n", html)
}

/// Makes a response of plain text.
pub fn text(text: impl AsRef<[u8]>) -> Response {
    response("200 OK", "Content-Type: text/plain\r\n", text)
}

/// Makes a 404 without a body.
pub fn not_found() -> Response {
    response("404 Not Found", "", "")
}

/// Makes a 302 to `location`.
pub fn redirect(location: &str) -> Response {
    response("302 Found", &format!("Location: {location}\r\n"), "")
}

/// Makes a response that comes after eleven days: longer than any timeout.
pub fn silence() -> Response {
    Response { after: Duration::from_secs(1_000_000), ..Response::default() }
}

/// Makes no response: the host closes the connection.
pub fn hang_up() -> Response {
    Response { closes: true, ..Response::default() }
}

/// Cuts a response off after `length` bytes: the host closes the connection.
pub fn cut(mut response: Response, length: usize) -> Response {
    response.bytes.truncate(length);
    Response { closes: true, ..response }
}

/// Cuts a response off after `length` bytes: the host resets the connection.
pub fn reset(response: Response, length: usize) -> Response {
    Response { closes: false, resets: true, ..cut(response, length) }
}
