//! A parser of request heads (RFC 9112, sections 2 to 5).

use std::io::{self, ErrorKind, Read};

/// The maximum length of a request head, in bytes.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// The error of a malformed request, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a str,
    /// The path and query. Of an absolute URL (RFC 9112, section 3.2.2), the
    /// scheme and authority are removed.
    pub(crate) target: &'a str,
    /// True if the client speaks HTTP/1.0, false for HTTP/1.1.
    pub(crate) is_http_1_0: bool,
    /// True if the client wants to keep the connection.
    pub(crate) keep_alive: bool,
    /// True if the head announces a body.
    pub(crate) has_body: bool,
    fields: Fields<'a>,
}

impl<'a> Head<'a> {
    /// Parses a complete head, up to and including its empty line.
    pub(crate) fn parse(head: &'a [u8]) -> Result<Self, Malformed> {
        let (line, fields) = split_line(head);
        let line = str::from_utf8(line).map_err(|_| Malformed("the request line is not ASCII"))?;
        let mut words = line.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Malformed("the request line does not have three parts"));
        };
        let is_http_1_0 = match version {
            "HTTP/1.1" => false,
            "HTTP/1.0" => true,
            _ => return Err(Malformed("the version is neither HTTP/1.1 nor HTTP/1.0")),
        };
        if method.is_empty() || !method.bytes().all(is_token) {
            return Err(Malformed("the method is not a token"));
        }
        let mut head = Head {
            method,
            target: origin_form(target)?,
            is_http_1_0,
            keep_alive: !is_http_1_0,
            has_body: false,
            fields: Fields(fields),
        };
        head.read_fields()?;
        Ok(head)
    }

    /// Returns the names and values of the header fields, in their order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        // `parse` has checked that all are well-formed.
        self.fields.filter_map(Result::ok)
    }

    /// Interprets the header fields.
    fn read_fields(&mut self) -> Result<(), Malformed> {
        let mut has_host = false;
        for field in self.fields {
            let (name, value) = field?;
            if name.eq_ignore_ascii_case(b"host") {
                has_host = true;
            } else if name.eq_ignore_ascii_case(b"connection") {
                for option in value.split(|byte| *byte == b',') {
                    let option = option.trim_ascii();
                    if option.eq_ignore_ascii_case(b"close") {
                        self.keep_alive = false;
                    } else if option.eq_ignore_ascii_case(b"keep-alive") {
                        self.keep_alive = true;
                    }
                }
            } else if name.eq_ignore_ascii_case(b"content-length") {
                self.has_body |= value != b"0";
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                self.has_body = true;
            }
        }
        if !has_host && !self.is_http_1_0 {
            return Err(Malformed("an HTTP/1.1 request has a Host field"));
        }
        Ok(())
    }
}

/// Reads what there is. A read that a signal interrupts, or a stop of the process, is
/// repeated.
pub(crate) fn read_some(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Returns the end of a request head, when its first `searched` bytes have been
/// searched before. A line may end without a carriage return (RFC 9112,
/// section 2.2).
pub(crate) fn head_end(bytes: &[u8], searched: usize) -> Option<usize> {
    // The line break before an empty line has at most two bytes.
    let from = searched.saturating_sub(2).min(bytes.len());
    let breaks = (from..).zip(&bytes[from..]);
    breaks.filter(|(_, byte)| **byte == b'\n').find_map(|(at, _)| match &bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Returns the number of bytes of line breaks before a request; a server ignores
/// them (RFC 9112, section 2.2).
pub(crate) fn leading_breaks(bytes: &[u8]) -> usize {
    let is_break = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
    bytes.iter().take_while(is_break).count()
}

/// An iterator over header fields: the unread lines, up to the empty line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (line, rest) = split_line(self.0);
        self.0 = rest;
        if line.is_empty() {
            return None;
        }
        let mut parts = line.splitn(2, |byte| *byte == b':');
        Some(match (parts.next(), parts.next()) {
            (Some(name), Some(value)) if !name.is_empty() && name.iter().copied().all(is_token) => {
                Ok((name, value.trim_ascii()))
            }
            _ => Err(Malformed("a header field is not \"name: value\"")),
        })
    }
}

/// Splits off the first line, without its line break.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[][..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

/// Returns the path and query of a request target.
fn origin_form(target: &str) -> Result<&str, Malformed> {
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Malformed("the target has a byte that no URL has"));
    }
    if target.starts_with('/') {
        return Ok(target);
    }
    let Some(rest) = target.strip_prefix("http://") else {
        return Err(Malformed("the target is neither a path nor an http URL"));
    };
    match rest.find('/') {
        Some(path) => Ok(&rest[path..]),
        None => Ok("/"),
    }
}

/// Returns true for a byte of a token (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(head: &str) -> Result<Head<'_>, Malformed> {
        Head::parse(head.as_bytes())
    }

    #[test]
    fn a_request_head_is_parsed() {
        let head = parse("GET /a?b HTTP/1.1\r\nHost: x\r\nAccept:  */* \r\n\r\n").unwrap();
        assert_eq!((head.method, head.target), ("GET", "/a?b"));
        assert!(head.keep_alive && !head.is_http_1_0 && !head.has_body);
        assert_eq!(
            head.fields().collect::<Vec<_>>(),
            [(&b"Host"[..], &b"x"[..]), (b"Accept", b"*/*")]
        );
    }

    #[test]
    fn the_connection_field_and_the_version_decide_about_keep_alive() {
        let keeps = |head| parse(head).unwrap().keep_alive;
        assert!(!keeps("GET / HTTP/1.0\r\n\r\n"));
        assert!(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
        assert!(!keeps("GET / HTTP/1.1\r\nHost: x\r\nconnection: te, CLOSE\r\n\r\n"));
    }

    #[test]
    fn an_announced_body_is_detected() {
        let body = |field| {
            let head = format!("GET / HTTP/1.0\r\n{field}\r\n\r\n");
            parse(&head).unwrap().has_body
        };
        assert!(body("Content-Length: 5"));
        assert!(body("Transfer-Encoding: chunked"));
        assert!(!body("Content-Length: 0"));
    }

    #[test]
    fn an_absolute_target_loses_its_authority() {
        let target = |target| {
            let head = format!("GET {target} HTTP/1.0\r\n\r\n");
            parse(&head).map(|head| head.target.to_owned())
        };
        assert_eq!(target("http://x:1/a").unwrap(), "/a");
        assert_eq!(target("http://x").unwrap(), "/");
        assert!(target("x").is_err());
        assert!(target("/caf\u{e9}").is_err());
    }

    #[test]
    fn malformed_requests_are_refused() {
        for head in [
            "\r\n",
            "GET /\r\n\r\n",
            "GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/2\r\nHost: x\r\n\r\n",
            "G@T / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n",
        ] {
            assert!(parse(head).is_err(), "{head:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes: Vec<u8>, searched: usize) {
            let _ = Head::parse(&bytes);
            let _ = head_end(&bytes, searched);
        }

        #[test]
        fn the_end_is_found_however_the_bytes_arrive(
            head in "[a\r\n]{0,20}",
            step in 1..5_usize,
        ) {
            let bytes = head.as_bytes();
            let at_once = head_end(bytes, 0);
            let mut searched = 0;
            let mut found = None;
            for end in (0..=bytes.len()).step_by(step).chain([bytes.len()]) {
                found = head_end(&bytes[..end], searched);
                searched = end;
                if found.is_some() {
                    break;
                }
            }
            prop_assert_eq!(found, at_once);
        }
    }
}
