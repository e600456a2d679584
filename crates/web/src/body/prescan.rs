//! The encoding that a page declares in its first bytes: the "prescan" algorithm
//! of the HTML standard, section 13.2.3.2.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// The number of bytes at the beginning of a page that are searched.
pub(super) const PRESCAN_LEN: usize = 1024;

/// Returns the encoding that `page` declares in its first 1024 bytes, in a `meta`
/// element or else in an XML declaration.
pub(super) fn prescan(page: &[u8]) -> Option<&'static Encoding> {
    let page = &page[..page.len().min(PRESCAN_LEN)];
    if page.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if page.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let mut scanner = Scanner { rest: page };
    match scanner.scan() {
        Ok(encoding) => Some(encoding),
        Err(EndOfInput) => xml_declaration(page),
    }
}

/// The error of reading beyond the bytes to search.
struct EndOfInput;

/// The attributes of a `meta` element that matter, as they were written. The first
/// one of each name counts.
#[derive(Default)]
struct Meta<'p> {
    http_equiv: Option<&'p [u8]>,
    content: Option<&'p [u8]>,
    charset: Option<&'p [u8]>,
}

impl Meta<'_> {
    /// Returns the encoding that the element declares: by its `charset`, even if
    /// that is unknown; else by its `content`, if the element stands for a
    /// `Content-Type` header.
    fn encoding(&self) -> Option<&'static Encoding> {
        let encoding = match self {
            Self { charset: Some(label), .. } => encoding_of(label)?,
            Self { http_equiv: Some(name), content: Some(content), .. }
                if name.eq_ignore_ascii_case(b"content-type") =>
            {
                encoding_of(label_in(content)?)?
            }
            _ => return None,
        };
        Some(if encoding == X_USER_DEFINED { WINDOWS_1252 } else { not_utf_16(encoding) })
    }
}

/// An attribute of a tag.
struct Attribute<'p> {
    name: &'p [u8],
    /// The value, empty if the attribute has none.
    value: &'p [u8],
}

/// A scanner for `meta` elements as the standard defines it. It is simpler than the
/// tokenizer: for example, it takes the text of a script for markup.
struct Scanner<'p> {
    rest: &'p [u8],
}

impl<'p> Scanner<'p> {
    fn scan(&mut self) -> Result<&'static Encoding, EndOfInput> {
        loop {
            self.skip_until(|byte| byte == b'<')?;
            match *self.rest {
                // The hyphens of `<!--` may also be those of `-->`.
                [b'<', b'!', b'-', b'-', ..] => {
                    self.rest = &self.rest[2..];
                    let end = self.rest.windows(3).position(|bytes| bytes == b"-->");
                    self.rest = &self.rest[end.ok_or(EndOfInput)? + 2..];
                }
                [b'<', b'!' | b'?', ..] => self.skip_until(|byte| byte == b'>')?,
                _ if is_meta(self.rest) => {
                    self.rest = &self.rest[b"<meta".len()..];
                    if let Some(encoding) = self.meta()?.encoding() {
                        return Ok(encoding);
                    }
                }
                [b'<', b'a'..=b'z' | b'A'..=b'Z', ..]
                | [b'<', b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => {
                    self.skip_until(|byte| byte.is_ascii_whitespace() || byte == b'>')?;
                    while self.attribute()?.is_some() {}
                }
                [b'<', b'/', ..] => self.skip_until(|byte| byte == b'>')?,
                _ => {}
            }
            self.rest = &self.rest[1..];
        }
    }

    /// Reads the attributes of a `meta`. Of two with the same name, the first counts.
    fn meta(&mut self) -> Result<Meta<'p>, EndOfInput> {
        let mut meta = Meta::default();
        while let Some(Attribute { name, value }) = self.attribute()? {
            let slot = match name.to_ascii_lowercase().as_slice() {
                b"http-equiv" => &mut meta.http_equiv,
                b"content" => &mut meta.content,
                b"charset" => &mut meta.charset,
                _ => continue,
            };
            slot.get_or_insert(value);
        }
        Ok(meta)
    }

    /// Reads the next attribute of a tag. Returns `None` at the `>` of the tag, which
    /// is not consumed.
    fn attribute(&mut self) -> Result<Option<Attribute<'p>>, EndOfInput> {
        self.skip_until(|byte| !byte.is_ascii_whitespace() && byte != b'/')?;
        if self.first()? == b'>' {
            return Ok(None);
        }
        // An equals sign at the beginning belongs to the name.
        let length = self.rest[1..]
            .iter()
            .position(|&byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>' | b'='))
            .ok_or(EndOfInput)?;
        let name = self.take(length + 1);
        self.skip_until(|byte| !byte.is_ascii_whitespace())?;
        if self.first()? != b'=' {
            return Ok(Some(Attribute { name, value: b"" }));
        }
        self.rest = &self.rest[1..];
        self.skip_until(|byte| !byte.is_ascii_whitespace())?;
        let value = match self.first()? {
            quote @ (b'"' | b'\'') => {
                self.rest = &self.rest[1..];
                let value = self.take_until(|byte| byte == quote)?;
                self.rest = &self.rest[1..];
                value
            }
            _ => self.take_until(|byte| byte.is_ascii_whitespace() || byte == b'>')?,
        };
        Ok(Some(Attribute { name, value }))
    }

    fn first(&self) -> Result<u8, EndOfInput> {
        self.rest.first().copied().ok_or(EndOfInput)
    }

    fn skip_until(&mut self, is_end: impl Fn(u8) -> bool) -> Result<(), EndOfInput> {
        self.take_until(is_end).map(drop)
    }

    fn take_until(&mut self, is_end: impl Fn(u8) -> bool) -> Result<&'p [u8], EndOfInput> {
        let length = self.rest.iter().position(|&byte| is_end(byte)).ok_or(EndOfInput)?;
        Ok(self.take(length))
    }

    fn take(&mut self, length: usize) -> &'p [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

/// Returns true if a `meta` tag that may have attributes begins here.
fn is_meta(bytes: &[u8]) -> bool {
    let (Some(name), Some(&next)) = (bytes.get(..5), bytes.get(5)) else {
        return false;
    };
    name.eq_ignore_ascii_case(b"<meta") && (next.is_ascii_whitespace() || next == b'/')
}

/// Returns the label in a value like `text/html; charset=utf-8` (section 2.4.3, the
/// algorithm for extracting a character encoding from a meta element).
fn label_in(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let position = rest.windows(7).position(|bytes| bytes.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[position + 7..].trim_ascii_start();
        if let Some((b'=', value)) = rest.split_first() {
            let value = value.trim_ascii_start();
            return match *value.first()? {
                quote @ (b'"' | b'\'') => {
                    let value = &value[1..];
                    Some(&value[..value.iter().position(|&byte| byte == quote)?])
                }
                _ => value.split(|&byte| byte.is_ascii_whitespace() || byte == b';').next(),
            };
        }
    }
}

/// Returns the encoding in a declaration like
/// `<?xml version="1.0" encoding="utf-8"?>`, which some HTML pages have as well (the
/// algorithm "get an XML encoding").
fn xml_declaration(page: &[u8]) -> Option<&'static Encoding> {
    let rest = page.strip_prefix(b"<?xml")?;
    let declaration = &rest[..rest.iter().position(|&byte| byte == b'>')?];
    let name = declaration.windows(8).position(|bytes| bytes == b"encoding")?;
    let value = skip_controls(&declaration[name + 8..]).strip_prefix(b"=")?;
    let (&quote, value) = skip_controls(value).split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let label = &value[..value.iter().position(|&byte| byte == quote)?];
    let has_controls = label.iter().any(|&byte| byte <= b' ');
    if has_controls { None } else { encoding_of(label).map(not_utf_16) }
}

fn skip_controls(bytes: &[u8]) -> &[u8] {
    let controls = bytes.iter().take_while(|&&byte| byte <= b' ').count();
    &bytes[controls..]
}

/// Returns the encoding with that label. The encodings that browsers refuse for
/// security (the "replacement" encoding) count as unknown, because links are in
/// ASCII and can be read anyway.
pub(super) fn encoding_of(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

/// Replaces UTF-16 by UTF-8: a declaration that could be read as ASCII is not in
/// UTF-16.
fn not_utf_16(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE { UTF_8 } else { encoding }
}
