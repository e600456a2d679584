//! Character encodings: those of the WHATWG Encoding Standard. A build without the
//! feature `tables` knows UTF-8 only.

pub use encoding_rs::{Decoder, Encoding, UTF_8};
