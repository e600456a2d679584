//! A decoder from the character encoding of a page to UTF-8, with encoding
//! detection.

use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};
use memchr::memchr;

use super::prescan::{PRESCAN_LEN, encoding_of, prescan};

/// The length of the longest byte order mark (BOM).
const MAX_BOM_LEN: usize = 3;

/// The number of bytes that are held back for the detector. More bytes would not
/// make its guess much better.
const DETECTION_WINDOW: usize = 16 * 1024;

/// The escape character. In ISO-2022-JP, characters outside of ASCII follow it,
/// although their bytes are in the range of ASCII.
const ESCAPE: u8 = 0x1b;

/// The size of the output buffer of a conversion.
const CONVERT_BUFFER_LEN: usize = 4 * 1024;

/// A streaming decoder from the bytes of one page to UTF-8.
///
/// The encoding is found by sniffing, in the order of the HTML standard (section
/// 13.2.3.2). The first of these that gives an encoding decides:
///
/// 1. a byte order mark;
/// 2. the label in the `Content-Type` header;
/// 3. a `meta` element or an XML declaration in the first 1024 bytes;
/// 4. detection by `chardetng` from 16 KiB of text, beginning with the first byte
///    that is an escape character or not ASCII.
///
/// An unknown label is ignored.
///
/// Browsers do not detect UTF-8, so that authors do not rely on it. This decoder
/// does. A page of ASCII only, without an escape character, is UTF-8.
///
/// The text and the encoding do not depend on how the bytes are cut. At most 3
/// bytes are held back if the header names the encoding, 1 KiB if it does not, and
/// 16 KiB (with 3 KiB for the detector) if the page does not name it either and is
/// not in ASCII. After that, UTF-8 needs no memory, and any other encoding needs the
/// state of its decoder, less than a hundred bytes.
pub struct TextDecoder {
    state: State,
}

/// The state of a [`TextDecoder`].
enum State {
    /// Sniffing: the first bytes are collected, to search them for a declaration.
    Sniffing(Sniffer),
    /// Detecting: no declaration was found, and the text is collected for the
    /// detector.
    Detecting(Box<Detection>),
    /// The page is in UTF-8: its bytes are passed on unchanged.
    Utf8,
    /// The page is in another encoding.
    Other(Decoder),
}

/// The sniffer of the declared encoding of a page.
struct Sniffer {
    /// The encoding that the header names.
    label: Option<&'static Encoding>,
    /// The top-level domain, if the detector accepts it as a hint.
    tld: Option<Box<str>>,
    /// The first bytes of the page, held back.
    held: Vec<u8>,
}

/// The detection of the encoding of a page that does not declare it.
struct Detection {
    tld: Option<Box<str>>,
    detector: EncodingDetector,
    /// The bytes held back, beginning with the first one that is not plain ASCII.
    held: Vec<u8>,
}

impl fmt::Debug for TextDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextDecoder").finish_non_exhaustive()
    }
}

impl TextDecoder {
    /// Creates a decoder for a page whose `Content-Type` header has this `label`.
    /// `tld` is the top-level domain of its host, in lower case and as it is in the
    /// DNS: a hint on the language of the page.
    pub fn new(label: Option<&str>, tld: Option<&str>) -> Self {
        let label = label.and_then(|label| encoding_of(label.as_bytes()));
        let tld = tld.filter(|tld| label.is_none() && is_tld(tld)).map(Box::from);
        Self { state: State::Sniffing(Sniffer { label, tld, held: Vec::new() }) }
    }

    /// Decodes the next bytes of the page and calls `out` with the text that is
    /// certain by now, never with an empty slice.
    ///
    /// The text is UTF-8, without a byte order mark. It is well-formed, with U+FFFD
    /// in the place of malformed bytes, except if the page itself is UTF-8: then its
    /// bytes are passed on unchanged. Malformed sequences contain no ASCII. So a
    /// caller that searches for ASCII may replace them before or after the search,
    /// with the same result.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8])) {
        if bytes.is_empty() {
            return;
        }
        match &mut self.state {
            State::Utf8 => out(bytes),
            State::Other(decoder) => convert(decoder, bytes, false, out),
            State::Detecting(detection) => {
                let rest = detection.hold(bytes, out);
                if detection.held.len() == DETECTION_WINDOW {
                    let (state, held) = detection.decide(false);
                    self.enter(state, &held, out);
                    self.feed(rest, out);
                }
            }
            State::Sniffing(sniffer) => {
                let needed = sniffer.bytes_needed();
                if sniffer.held.is_empty() && bytes.len() >= needed {
                    let (state, bom) = sniffer.decide(bytes);
                    self.enter(state, &bytes[bom..], out);
                    return;
                }
                let missing = needed - sniffer.held.len();
                let (more, rest) = bytes.split_at(missing.min(bytes.len()));
                sniffer.held.extend_from_slice(more);
                if more.len() == missing {
                    self.finish_sniffing(out);
                    self.feed(rest, out);
                }
            }
        }
    }

    /// Ends the page: calls `out` with the rest of its text and returns its
    /// encoding.
    pub fn finish(mut self, out: &mut impl FnMut(&[u8])) -> &'static Encoding {
        self.finish_sniffing(out);
        if let State::Detecting(detection) = &mut self.state {
            let (state, held) = detection.decide(true);
            self.enter(state, &held, out);
        }
        match &mut self.state {
            State::Other(decoder) => {
                convert(decoder, b"", true, out);
                decoder.encoding()
            }
            _ => UTF_8,
        }
    }

    /// Ends the sniffing, with the bytes that have arrived.
    fn finish_sniffing(&mut self, out: &mut impl FnMut(&[u8])) {
        if let State::Sniffing(sniffer) = &mut self.state {
            let held = std::mem::take(&mut sniffer.held);
            let (state, bom) = sniffer.decide(&held);
            self.enter(state, &held[bom..], out);
        }
    }

    /// Enters a state and decodes the bytes that were held back.
    fn enter(&mut self, state: State, held: &[u8], out: &mut impl FnMut(&[u8])) {
        self.state = state;
        self.feed(held, out);
    }
}

impl State {
    /// Returns the state for a page in a known encoding.
    fn of(encoding: &'static Encoding) -> Self {
        if encoding == UTF_8 {
            Self::Utf8
        } else {
            Self::Other(encoding.new_decoder_without_bom_handling())
        }
    }
}

impl Sniffer {
    /// Returns the number of bytes that a decision needs, if the page has so many.
    fn bytes_needed(&self) -> usize {
        if self.label.is_some() { MAX_BOM_LEN } else { PRESCAN_LEN }
    }

    /// Returns the next state, decided from the first bytes of the page, and the
    /// length of the byte order mark among them.
    fn decide(&mut self, start: &[u8]) -> (State, usize) {
        if let Some((encoding, bom)) = Encoding::for_bom(start) {
            return (State::of(encoding), bom);
        }
        let detect = || State::Detecting(Box::new(Detection::new(self.tld.take())));
        (self.label.or_else(|| prescan(start)).map_or_else(detect, State::of), 0)
    }
}

impl Detection {
    fn new(tld: Option<Box<str>>) -> Self {
        // Browsers do not detect ISO-2022-JP, to protect scripts. Here no script
        // runs.
        let detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        Self { tld, detector, held: Vec::new() }
    }

    /// Passes on the bytes before the first one that is not plain ASCII, and holds
    /// back the following ones until the window is full. Returns the bytes behind the
    /// window.
    fn hold<'b>(&mut self, bytes: &'b [u8], out: &mut impl FnMut(&[u8])) -> &'b [u8] {
        let mut rest = bytes;
        if self.held.is_empty() {
            let ascii = &bytes[..Encoding::ascii_valid_up_to(bytes)];
            let plain = memchr(ESCAPE, ascii).unwrap_or(ascii.len());
            let (ascii, special) = bytes.split_at(plain);
            // The detector also uses the ASCII letters before the first other one.
            self.detector.feed(ascii, false);
            if !ascii.is_empty() {
                out(ascii);
            }
            rest = special;
        }
        let (more, beyond) = rest.split_at(rest.len().min(DETECTION_WINDOW - self.held.len()));
        self.held.extend_from_slice(more);
        beyond
    }

    /// Decides finally, and returns the next state and the bytes held back.
    fn decide(&mut self, is_whole: bool) -> (State, Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        // The detector would give the same result, with a hundred times the work.
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

/// Returns true if the bytes are well-formed UTF-8. If they are not the whole text,
/// the last character may be incomplete.
fn is_utf_8(bytes: &[u8], is_whole: bool) -> bool {
    str::from_utf8(bytes).map_or_else(|e| !is_whole && e.error_len().is_none(), |_| true)
}

/// Converts `bytes` to UTF-8 and passes the text to `out`.
fn convert(decoder: &mut Decoder, bytes: &[u8], is_last: bool, out: &mut impl FnMut(&[u8])) {
    let mut rest = bytes;
    let mut converted = [0; CONVERT_BUFFER_LEN];
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

/// Returns true if the detector accepts `label` as a top-level domain; it panics on
/// others.
fn is_tld(label: &str) -> bool {
    let is_label_byte =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && label.bytes().all(is_label_byte)
}
