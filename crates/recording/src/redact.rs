//! Secrets in the fields of HTTP heads, replaced before anything is kept.

/// The fields whose values are secrets.
const SECRET_FIELDS: [&[u8]; 7] = [
    b"authorization",
    b"cookie",
    b"proxy-authorization",
    b"set-cookie",
    b"x-api-key",
    b"x-auth-token",
    b"x-csrf-token",
];

/// The character that stands for each one of a secret. The length stays, so that a
/// replay sends and reads as many bytes.
const MASK: u8 = b'*';

/// The longest name of a field that is looked at.
const MAX_NAME: usize = 64;

/// The secrets in the heads of one direction of a connection.
#[derive(Debug)]
pub(crate) struct Redactor {
    /// The name of the present field, in lower case, or the beginning of the first line.
    name: Vec<u8>,
    position: Position,
    /// True before the first byte of a line.
    is_line_start: bool,
    /// True in the first line of a head.
    is_first_line: bool,
    /// True if the head is that of an interim response (1xx), which another follows.
    is_interim: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Position {
    /// In the name of a field, or in the first line.
    Name,
    /// In the value of a field.
    Value,
    /// In a value that is secret.
    Secret,
    /// In the name of a cookie, before `=`.
    CookieName,
    /// In the attributes of a cookie, after `;`.
    CookieAttributes,
    /// Behind the head.
    Body,
}

impl Redactor {
    pub(crate) fn new() -> Self {
        Self {
            name: Vec::new(),
            position: Position::Name,
            is_line_start: true,
            is_first_line: true,
            is_interim: false,
        }
    }

    /// Expects a head again: a request was sent.
    pub(crate) fn expect_head(&mut self) {
        *self = Self::new();
    }

    /// Replaces what is secret in the next bytes.
    pub(crate) fn redact(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.position == Position::Body {
                return;
            }
            self.step(byte);
        }
    }

    fn step(&mut self, byte: &mut u8) {
        use Position::{CookieAttributes, CookieName, Name, Secret, Value};
        if self.is_line_start && !matches!(*byte, b'\r' | b'\n') {
            self.is_line_start = false;
            // A value may go on in the next line, behind a blank.
            let is_folded = matches!(*byte, b' ' | b'\t') && self.position != Name;
            if self.is_first_line || !is_folded {
                self.name.clear();
                self.position = Name;
            }
        }
        match (*byte, self.position) {
            (b'\n', _) => self.end_line(),
            (b'\r', _) => {}
            (b':', Name) if !self.is_first_line => {
                // There may be blanks behind a name.
                self.name.truncate(self.name.trim_ascii_end().len());
                self.position = match &*self.name {
                    b"set-cookie" => CookieName,
                    name if SECRET_FIELDS.contains(&name) => Secret,
                    _ => Value,
                };
            }
            (other, Name) if self.name.len() < MAX_NAME => {
                self.name.push(other.to_ascii_lowercase());
            }
            (b'=', CookieName) => self.position = Secret,
            (b';', Secret) if self.name == b"set-cookie" => self.position = CookieAttributes,
            // Other bytes stay: by them it is decided if a cookie is kept and sent, and no
            // secret that is sent has any.
            (other, Secret) if other.is_ascii_graphic() => *byte = MASK,
            _ => {}
        }
    }

    fn end_line(&mut self) {
        let is_blank = self.is_line_start;
        self.is_line_start = true;
        if self.is_first_line {
            // `HTTP/1.1 100 Continue`
            self.is_interim = self.name.starts_with(b"http/1.") && self.name.get(9) == Some(&b'1');
            self.is_first_line = is_blank;
        } else if is_blank {
            if self.is_interim {
                self.is_first_line = true;
            } else {
                self.position = Position::Body;
            }
        }
    }
}

/// Returns a header as the command line has it, `Name: value`, without its secret.
pub fn redacted_header(header: &str) -> String {
    match header.split_once(':') {
        // It is sent without the blanks around its name.
        Some((name, value))
            if SECRET_FIELDS.contains(&name.trim().to_ascii_lowercase().as_bytes()) =>
        {
            format!("{name}:{}", masked(value))
        }
        _ => header.to_owned(),
    }
}

/// Returns credentials, `user:password`, without the password.
pub fn redacted_credentials(credentials: &str) -> String {
    match credentials.split_once(':') {
        Some((user, password)) => format!("{user}:{}", masked(password)),
        None => credentials.to_owned(),
    }
}

fn masked(secret: &str) -> String {
    let mask = |c: char| if c.is_whitespace() { " " } else { "*" }.repeat(c.len_utf8());
    secret.chars().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Redacts in pieces of every size: the result is the same.
    fn redacted(text: &str) -> String {
        let whole = {
            let mut bytes = text.as_bytes().to_vec();
            Redactor::new().redact(&mut bytes);
            bytes
        };
        for size in 1..text.len() {
            let mut redactor = Redactor::new();
            let mut bytes = text.as_bytes().to_vec();
            bytes.chunks_mut(size).for_each(|piece| redactor.redact(piece));
            assert_eq!(bytes, whole, "in pieces of {size}");
        }
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn secrets_in_heads_are_replaced_at_their_length() {
        let text = "GET /?cookie: HTTP/1.1\r\nHost: a\r\nAuthorization: Basic abc=\r\ncookie:a=b; c=d\r\n\r\n";
        let expected = "GET /?cookie: HTTP/1.1\r\nHost: a\r\nAuthorization: ***** ****\r\ncookie:**** ***\r\n\r\n";
        assert_eq!(redacted(text), expected);
    }

    #[test]
    fn of_a_cookie_that_is_set_the_value_is_replaced() {
        let text =
            "HTTP/1.1 200 OK\r\nSet-Cookie: id=s3cret=x; Path=/a\r\n\r\nSet-Cookie: id=body\r\n";
        let expected =
            "HTTP/1.1 200 OK\r\nSet-Cookie: id=********; Path=/a\r\n\r\nSet-Cookie: id=body\r\n";
        assert_eq!(redacted(text), expected);
    }

    /// The parser of responses accepts both.
    #[test]
    fn secrets_are_found_in_folded_lines_and_behind_a_blank() {
        for (text, expected) in [
            ("Set-Cookie:\r\n id=s3cret; Path=/", "Set-Cookie:\r\n id=******; Path=/"),
            ("Set-Cookie: id=s3\r\n\tcret\r\nA: b", "Set-Cookie: id=**\r\n\t****\r\nA: b"),
            (
                "A: b\r\n Set-Cookie: id=x\r\nX-Api-Key: y",
                "A: b\r\n Set-Cookie: id=x\r\nX-Api-Key: *",
            ),
            ("Set-Cookie : id=s3cret\r\nA: b", "Set-Cookie : id=******\r\nA: b"),
        ] {
            let head = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nSet-Cookie: a=b");
            assert_eq!(redacted(&head(text)), head(expected));
        }
    }

    #[test]
    fn the_head_after_an_interim_response_is_a_head() {
        let text = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\n\r\n";
        assert!(redacted(text).ends_with("Set-Cookie: a=*\r\n\r\n"));
    }

    #[test]
    fn secrets_of_the_command_line_are_replaced() {
        assert_eq!(redacted_header("authorization: Bearer x"), "authorization: ****** *");
        assert_eq!(redacted_header(" Cookie : a=b"), " Cookie : ***");
        assert_eq!(redacted_header("Accept: text/html"), "Accept: text/html");
        assert_eq!(redacted_credentials("me:secret"), "me:******");
    }
}
