//! The renderer of responses: computes the bytes of a response piece by piece.

use std::sync::Arc;

use crate::site::{CLOSING, Content, Site, push_number};
use crate::special::{Framing, Special};

/// The maximum number of bytes of a response rendered at once (the links of a
/// page alone may be more).
const WINDOW: usize = 64 * 1024;
/// The size of the chunks of a chunked response: small, so that tags and links
/// are split between chunks.
const CHUNK: usize = 31;

/// A response to be rendered: its content, and the form that the client wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) content: Content,
    /// True for HEAD, false for GET.
    pub(crate) head_only: bool,
    /// True if the client speaks HTTP/1.0.
    pub(crate) is_http_1_0: bool,
    /// True if the connection is closed after it.
    pub(crate) is_last: bool,
}

/// Renders responses into one buffer that all connections share.
#[derive(Debug)]
pub(crate) struct Renderer {
    site: Arc<Site>,
    opening: Vec<u8>,
    window: Vec<u8>,
}

impl Renderer {
    pub(crate) fn new(site: Arc<Site>) -> Self {
        Self { site, opening: Vec::new(), window: Vec::with_capacity(WINDOW) }
    }

    /// Returns the bytes of `response` from offset `from` on, and whether they
    /// reach its end. It is at least one byte, unless `from` is the end.
    pub(crate) fn render(&mut self, response: &Response, from: usize) -> (&[u8], bool) {
        self.window.clear();
        let length = match response.content {
            Content::Page(page) => self.render_page(response, page, from),
            content => {
                self.render_fixed(response, content);
                let length = self.window.len();
                self.window.drain(..from.min(length));
                length
            }
        };
        (&self.window, from + self.window.len() >= length)
    }

    /// Fills the window and returns the length of the whole response.
    fn render_page(&mut self, response: &Response, page: u32, from: usize) -> usize {
        self.opening.clear();
        self.site.push_opening(page, &mut self.opening);
        let without_prose = self.opening.len() + CLOSING.len();
        let size = self.site.options().page_size.max(without_prose);
        let prose = size - without_prose;

        let out = &mut self.window;
        let content_type = match self.site.options().is_html {
            true => "Content-Type: text/html; charset=utf-8\r\n",
            false => "Content-Type: application/octet-stream\r\n",
        };
        let fields = [content_type, self.site.options().page_fields].concat();
        push_head(out, response, 200, &fields, Some(size));
        if response.head_only {
            let length = out.len();
            out.drain(..from.min(length));
            return length;
        }
        out.extend_from_slice(&self.opening);
        let prose_start = out.len();
        let closing_start = prose_start + prose;
        let end = from + WINDOW;
        out.drain(..from.min(prose_start));
        if end > prose_start {
            let range = from.saturating_sub(prose_start)..end - prose_start;
            self.site.prose().push(page, prose, range, out);
        }
        if end > closing_start {
            out.extend_from_slice(
                &CLOSING[from.saturating_sub(closing_start).min(CLOSING.len())..],
            );
        }
        closing_start + CLOSING.len()
    }

    /// Fills the window with a whole response.
    fn render_fixed(&mut self, response: &Response, content: Content) {
        let out = &mut self.window;
        let plain = |out: &mut Vec<u8>, status, fields: &str, text: &str| {
            let body = format!("{text}\n");
            let fields = format!("Content-Type: text/plain; charset=utf-8\r\n{fields}");
            push_head(out, response, status, &fields, Some(body.len()));
            if !response.head_only {
                out.extend_from_slice(body.as_bytes());
            }
        };
        match content {
            Content::Special(index) => push_special(out, response, &self.site.specials()[index]),
            Content::NotAllowed => {
                plain(out, 405, "Allow: GET, HEAD\r\n", "only GET and HEAD are answered")
            }
            Content::BadRequest(why) => plain(out, 400, "", why),
            Content::Busy => plain(out, 429, "Retry-After: 5\r\n", "this page is busy"),
            Content::NotFound | Content::Page(_) => plain(out, 404, "", "nothing is here"),
        }
    }
}

/// Appends the response of a special case.
fn push_special(out: &mut Vec<u8>, response: &Response, special: &Special) {
    let framing = special.framing(response.is_http_1_0);
    let length = (framing == Framing::Length).then_some(special.body.len());
    if framing == Framing::Chunked {
        let fields =
            format!("{}Transfer-Encoding: chunked\r\nTrailer: X-Chunks\r\n", special.fields);
        push_head(out, response, special.status, &fields, length);
    } else {
        push_head(out, response, special.status, &special.fields, length);
    }
    if response.head_only {
        return;
    }
    if framing != Framing::Chunked {
        out.extend_from_slice(&special.body);
        return;
    }
    let chunks = special.body.chunks(CHUNK);
    let count = chunks.len();
    for (number, chunk) in chunks.enumerate() {
        out.extend_from_slice(format!("{:x};number={number}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("0\r\nX-Chunks: {count}\r\n\r\n").as_bytes());
}

/// Appends the head of a response. `fields` are whole lines.
fn push_head(
    out: &mut Vec<u8>,
    response: &Response,
    status: u16,
    fields: &str,
    content_length: Option<usize>,
) {
    out.extend_from_slice(b"HTTP/1.1 ");
    push_number(out, usize::from(status));
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(fields.as_bytes());
    if let Some(length) = content_length {
        out.extend_from_slice(b"Content-Length: ");
        push_number(out, length);
        out.extend_from_slice(b"\r\n");
    }
    if response.is_last {
        out.extend_from_slice(b"Connection: close\r\n");
    } else if response.is_http_1_0 {
        out.extend_from_slice(b"Connection: keep-alive\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Returns the reason phrase of a status used here (RFC 9110, section 15).
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SiteOptions;
    use proptest::prelude::*;

    fn renderer(options: SiteOptions) -> Renderer {
        Renderer::new(Arc::new(Site::new(options).unwrap()))
    }

    fn response(content: Content) -> Response {
        Response { content, head_only: false, is_http_1_0: false, is_last: false }
    }

    /// Returns the whole response, rendered in steps of the lengths that `step`
    /// returns.
    fn whole(
        renderer: &mut Renderer,
        response: &Response,
        mut step: impl FnMut() -> usize,
    ) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let (window, ends) = renderer.render(response, all.len());
            assert!(!window.is_empty(), "stuck at byte {}", all.len());
            assert!(all.len() < 1 << 20, "it never ends");
            let step = step().clamp(1, window.len());
            let ends = ends && step == window.len();
            all.extend_from_slice(&window[..step]);
            if ends {
                return all;
            }
        }
    }

    fn body(response: &[u8]) -> &[u8] {
        let end = crate::request::head_end(response, 0).unwrap();
        &response[end..]
    }

    proptest! {
        #[test]
        fn a_response_is_the_same_in_any_pieces(
            page_size in 0..300_000_usize,
            step in 1_000..100_000_usize,
        ) {
            let mut renderer = renderer(SiteOptions { page_size, ..SiteOptions::default() });
            let response = response(Content::Page(3));
            let at_once = whole(&mut renderer, &response, || usize::MAX);
            let in_pieces = whole(&mut renderer, &response, || step);
            prop_assert_eq!(&at_once, &in_pieces);
            let size = body(&at_once).len();
            prop_assert!(size == page_size || (page_size < 1000 && size > page_size));
            prop_assert!(at_once.ends_with(b"</body></html>\n"));
        }
    }

    #[test]
    fn a_response_is_the_same_byte_by_byte() {
        let mut renderer = renderer(SiteOptions { page_size: 2000, ..SiteOptions::default() });
        for content in [Content::Page(0), Content::Special(0), Content::NotFound] {
            let response = response(content);
            let at_once = whole(&mut renderer, &response, || usize::MAX);
            assert_eq!(whole(&mut renderer, &response, || 1), at_once);
        }
    }

    #[test]
    fn the_content_length_is_the_length_of_the_body() {
        for page_size in [0, 1024, 8192, 65_536, 200_000] {
            let mut renderer = renderer(SiteOptions { page_size, ..SiteOptions::default() });
            let response = whole(&mut renderer, &response(Content::Page(0)), || usize::MAX);
            let head = String::from_utf8_lossy(&response);
            let length = format!("Content-Length: {}\r\n", body(&response).len());
            assert!(head.contains(&length), "{page_size}");
        }
    }
}
