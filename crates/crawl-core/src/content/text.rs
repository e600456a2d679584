//! The text of a page, whatever it is encoded in.

use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};
use memchr::memchr;

use super::prescan::{PRESCANNED, encoding_of, prescan};

/// The length of the longest byte order mark.
const LONGEST_MARK: usize = 3;

/// How many bytes are held back for the detector. What is not plain by then
/// will not become so.
const WINDOW: usize = 16 * 1024;

/// With it, text in ISO-2022-JP leaves ASCII, although its bytes do not.
const ESCAPE: u8 = 0x1b;

/// The most bytes converted at once.
const CONVERTED: usize = 4 * 1024;

/// The name of an encoding in the WHATWG Encoding Standard, in lower case.
pub fn encoding_name(encoding: &'static Encoding) -> String {
    encoding.name().to_ascii_lowercase()
}

/// Turns the bytes of one page into UTF-8, as they come.
///
/// What the encoding is, the first of these to know decides, in the order of
/// the HTML standard (section 13.2.3.2): a byte order mark; the label in the
/// `Content-Type` header; what the first 1024 bytes say in a `meta` element or
/// an XML declaration; and what the text looks like, which is for `chardetng`
/// to tell from 16 KiB, beginning with the first byte that is not ASCII.
/// A label that nobody knows says nothing.
///
/// Unlike a browser, which must not let authors rely on it, this takes for
/// UTF-8 what looks like it; and a page of nothing but ASCII is UTF-8.
///
/// How the bytes are cut changes neither the text nor the encoding. At most
/// three bytes are held back if the header names the encoding, 1 KiB if it does
/// not, and 16 KiB (and 3 KiB for the detector) if the page does not either and
/// is not in ASCII. After that UTF-8 costs nothing, and any other encoding the
/// state of its decoder, which is less than a hundred bytes.
pub struct TextDecoder {
    state: State,
}

enum State {
    Beginning(Beginning),
    Detecting(Box<Detection>),
    /// What comes is what is wanted.
    Utf8,
    Other(Decoder),
}

/// What it takes to know how the page is declared to be encoded.
struct Beginning {
    label: Option<&'static Encoding>,
    /// The top-level domain, if it is one that the detector can be asked about.
    tld: Option<Box<str>>,
    held: Vec<u8>,
}

/// The search for the encoding of a page that does not say it.
struct Detection {
    tld: Option<Box<str>>,
    detector: EncodingDetector,
    /// From the first byte on that is not plain ASCII.
    held: Vec<u8>,
}

impl fmt::Debug for TextDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextDecoder").finish_non_exhaustive()
    }
}

impl TextDecoder {
    /// A decoder for a page whose header has `label` for its encoding, and whose
    /// host has `tld` for its last label, in lower case and as it is in the DNS:
    /// where a page comes from is a hint on its language.
    pub fn new(label: Option<&str>, tld: Option<&str>) -> Self {
        let label = label.and_then(|label| encoding_of(label.as_bytes()));
        let tld = tld.filter(|tld| label.is_none() && is_tld(tld)).map(Box::from);
        Self { state: State::Beginning(Beginning { label, tld, held: Vec::new() }) }
    }

    /// Takes the next bytes of the page and calls `out` with what is certain by
    /// now of its text, never with nothing.
    ///
    /// The text is UTF-8, without a byte order mark. It is well-formed, and
    /// U+FFFD stands for what could not be decoded, unless the page itself is
    /// UTF-8: its bytes are passed on as they are. Whoever replaces what is
    /// malformed there after looking for ASCII finds the same as if before, as
    /// no byte of ASCII is ever part of it.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8])) {
        if bytes.is_empty() {
            return;
        }
        match &mut self.state {
            State::Utf8 => out(bytes),
            State::Other(decoder) => convert(decoder, bytes, false, out),
            State::Detecting(detection) => {
                let rest = detection.hold(bytes, out);
                if detection.held.len() == WINDOW {
                    let (state, held) = detection.decide(false);
                    self.go_on(state, &held, out);
                    self.feed(rest, out);
                }
            }
            State::Beginning(beginning) => {
                let wanted = beginning.wanted();
                if beginning.held.is_empty() && bytes.len() >= wanted {
                    let (state, mark) = beginning.decide(bytes);
                    self.go_on(state, &bytes[mark..], out);
                    return;
                }
                let missing = wanted - beginning.held.len();
                let (more, rest) = bytes.split_at(missing.min(bytes.len()));
                beginning.held.extend_from_slice(more);
                if more.len() == missing {
                    self.begin(out);
                    self.feed(rest, out);
                }
            }
        }
    }

    /// The page has ended: calls `out` with the rest of its text, and says what
    /// its encoding was.
    pub fn finish(mut self, out: &mut impl FnMut(&[u8])) -> &'static Encoding {
        self.begin(out);
        if let State::Detecting(detection) = &mut self.state {
            let (state, held) = detection.decide(true);
            self.go_on(state, &held, out);
        }
        match &mut self.state {
            State::Other(decoder) => {
                convert(decoder, b"", true, out);
                decoder.encoding()
            }
            _ => UTF_8,
        }
    }

    /// Leaves the beginning, with as much of it as there is.
    fn begin(&mut self, out: &mut impl FnMut(&[u8])) {
        if let State::Beginning(beginning) = &mut self.state {
            let held = std::mem::take(&mut beginning.held);
            let (state, mark) = beginning.decide(&held);
            self.go_on(state, &held[mark..], out);
        }
    }

    fn go_on(&mut self, state: State, held: &[u8], out: &mut impl FnMut(&[u8])) {
        self.state = state;
        self.feed(held, out);
    }
}

impl State {
    fn of(encoding: &'static Encoding) -> Self {
        if encoding == UTF_8 {
            Self::Utf8
        } else {
            Self::Other(encoding.new_decoder_without_bom_handling())
        }
    }
}

impl Beginning {
    /// How many bytes a decision takes, if the page has as many.
    fn wanted(&self) -> usize {
        if self.label.is_some() { LONGEST_MARK } else { PRESCANNED }
    }

    /// What follows from the first bytes of the page, and how many of them are
    /// a byte order mark.
    fn decide(&mut self, start: &[u8]) -> (State, usize) {
        if let Some((encoding, mark)) = Encoding::for_bom(start) {
            return (State::of(encoding), mark);
        }
        let detect = || State::Detecting(Box::new(Detection::new(self.tld.take())));
        (self.label.or_else(|| prescan(start)).map_or_else(detect, State::of), 0)
    }
}

impl Detection {
    fn new(tld: Option<Box<str>>) -> Self {
        // Browsers do not look for ISO-2022-JP, for the sake of scripts.
        let detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        Self { tld, detector, held: Vec::new() }
    }

    /// Passes on what is ASCII, holds what comes then, up to a window of it, and
    /// returns what lies behind that.
    fn hold<'b>(&mut self, bytes: &'b [u8], out: &mut impl FnMut(&[u8])) -> &'b [u8] {
        let mut rest = bytes;
        if self.held.is_empty() {
            let ascii = &bytes[..Encoding::ascii_valid_up_to(bytes)];
            let plain = memchr(ESCAPE, ascii).unwrap_or(ascii.len());
            let (ascii, special) = bytes.split_at(plain);
            // The letters before the first special one matter to the detector.
            self.detector.feed(ascii, false);
            if !ascii.is_empty() {
                out(ascii);
            }
            rest = special;
        }
        let (more, beyond) = rest.split_at(rest.len().min(WINDOW - self.held.len()));
        self.held.extend_from_slice(more);
        beyond
    }

    /// Decides for good, and gives back what was held.
    fn decide(&mut self, is_whole: bool) -> (State, Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        // The detector would say the same, after a hundred times the work.
        let encoding = if !held.is_ascii() && is_utf_8(&held, is_whole) {
            UTF_8
        } else {
            self.detector.feed(&held, is_whole);
            let tld = self.tld.as_deref().map(str::as_bytes);
            self.detector.guess(tld, Utf8Detection::Allow)
        };
        (State::of(encoding), held)
    }
}

/// Whether it is well-formed, but for its last character, if more may come.
fn is_utf_8(bytes: &[u8], is_whole: bool) -> bool {
    str::from_utf8(bytes).map_or_else(|e| !is_whole && e.error_len().is_none(), |_| true)
}

fn convert(decoder: &mut Decoder, bytes: &[u8], is_last: bool, out: &mut impl FnMut(&[u8])) {
    let mut rest = bytes;
    let mut converted = [0; CONVERTED];
    loop {
        let (result, read, written, _) = decoder.decode_to_utf8(rest, &mut converted, is_last);
        rest = &rest[read..];
        if written > 0 {
            out(&converted[..written]);
        }
        if result == CoderResult::InputEmpty {
            return;
        }
    }
}

/// The detector must not be asked about anything else.
fn is_tld(label: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && label.bytes().all(is_part)
}
