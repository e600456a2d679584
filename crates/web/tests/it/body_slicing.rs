//! Property tests of the body decoders: their result does not depend on how the bytes
//! are cut, and no bytes make them panic.

use encoding_rs::Encoding;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use test_support::encoders::*;
use web::body::{BodyDecoder, TextDecoder, encoding_name};
use web::{ErrorClass, FetchError};

const LIMIT: u64 = 1024 * 1024;

fn cut<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut positions: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    positions.extend([0, bytes.len()]);
    positions.sort_unstable();
    positions.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn single_bytes(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(1)
}

type Decoded = (Vec<u8>, Result<(), FetchError>);

/// Returns true if the bytes and the results are the same. For a broken Brotli stream,
/// the library may give more or less output before the error.
fn is_equivalent(header: &str, one: &Decoded, other: &Decoded) -> bool {
    let (short, long) = if one.0.len() < other.0.len() { (one, other) } else { (other, one) };
    let is_brotli = header.contains("br") && short.1.is_err() && long.1.is_err();
    one == other || is_brotli && long.0.starts_with(&short.0)
}

/// Returns the text of a page and the name of its encoding.
fn text<'a>(label: Option<&str>, slices: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, String) {
    let mut decoder = TextDecoder::new(label, Some("de"));
    let mut text = Vec::new();
    let mut take = |slice: &[u8]| {
        assert!(!slice.is_empty());
        text.extend_from_slice(slice);
    };
    for slice in slices {
        decoder.feed(slice, &mut take);
    }
    let encoding = decoder.finish(&mut take);
    (text, encoding_name(encoding))
}

/// Decodes a body by both decoders, one after the other, as a crawler does.
fn read<'a>(
    header: &str,
    slices: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, String, Result<(), FetchError>) {
    let mut body = BodyDecoder::new(&codings(header), LIMIT);
    let mut decoder = TextDecoder::new(None, None);
    let mut text = Vec::new();
    let mut end = Ok(());
    for slice in slices {
        end = body.feed(slice, &mut |decoded| {
            decoder.feed(decoded, &mut |slice| text.extend_from_slice(slice));
            Ok(())
        });
        if end.is_err() {
            break;
        }
    }
    let end = end.and_then(|()| body.finish());
    let encoding = decoder.finish(&mut |slice| text.extend_from_slice(slice));
    (text, encoding_name(encoding), end)
}

/// Generates text with repetitions, as in markup, some of it longer than one window.
fn pages() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..20),
        select(&["<a href=\"/page/", "</a>", "<meta charset=", "gbk>", "<p>", "\u{e9}\u{434}"])
            .prop_map(|piece| piece.as_bytes().to_vec()),
    ];
    (vec(piece, 0..40), select(&[1, 1, 1, 40]))
        .prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

/// Generates a header, and a body that is encoded correctly, truncated or damaged.
fn bodies() -> impl Strategy<Value = (String, Vec<u8>)> {
    let coding = || select(&["gzip", "deflate", "raw deflate", "br", "zstd"]);
    let codings = prop_oneof![
        coding().prop_map(|one| vec![one]),
        (coding(), coding()).prop_map(|(inner, outer)| vec![inner, outer]),
    ];
    let fault = prop_oneof![
        Just(None),
        (any::<Index>(), 1..=255_u8).prop_map(Some),
        any::<Index>().prop_map(|position| Some((position, 0))),
    ];
    (codings, pages(), fault).prop_map(|(codings, page, fault)| {
        let mut body = codings.iter().fold(page, |body, coding| encode(coding, &body));
        match fault {
            None => {}
            Some((position, 0)) => body.truncate(position.index(body.len())),
            Some((position, bits)) => {
                let position = position.index(body.len());
                body[position] ^= bits;
            }
        }
        (codings.join(",").replace("raw ", ""), body)
    })
}

/// Beginnings of streams, so that the random bytes behind them are decoded.
const STARTS: &[&[u8]] = &[
    b"",
    b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
    b"\x1f\x8b\x08\x1f",
    b"\x78\x9c",
    b"\x28\xb5\x2f\xfd\0\x68",
    b"\x28\xb5\x2f\xfd\x24",
    b"\x28\xb5\x2f\xfd\0\x68\x04\x01\0",
    b"\x50\x2a\x4d\x18",
];

/// Byte order marks, complete and truncated, and an escape sequence.
const MARKS: &[&[u8]] = &[b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xff\xfe", b"\xfe\xff", b"\x1b$B"];

proptest! {
    #[test]
    fn an_encoded_page_is_decoded_from_every_coding(page in pages()) {
        for coding in CODINGS {
            prop_assert_eq!(decode(coding, LIMIT, &encode(coding, &page)), (page.clone(), Ok(())));
        }
    }

    #[test]
    fn a_body_can_be_cut_anywhere(
        (header, body) in bodies(),
        cuts: Vec<Index>,
        limit in prop_oneof![0..2000_u64, Just(LIMIT)],
    ) {
        let whole = decode(&header, limit, &body);
        prop_assert!(whole.0.len() as u64 <= limit);
        let sliced = decode_slices(&header, limit, cut(&body, &cuts));
        prop_assert!(is_equivalent(&header, &sliced, &whole));
        let sliced = decode_slices(&header, limit, single_bytes(&body));
        prop_assert!(is_equivalent(&header, &sliced, &whole));
    }

    #[test]
    fn any_bytes_are_decoded_or_give_a_documented_error(
        start in select(STARTS),
        bytes in vec(any::<u8>(), 0..400),
        cuts: Vec<Index>,
    ) {
        let body = [start, &bytes].concat();
        for coding in CODINGS {
            let (decoded, end) = decode(coding, 10_000, &body);
            prop_assert!(decoded.len() <= 10_000);
            if let Err(error) = &end {
                prop_assert!(matches!(error.class, ErrorClass::Decode | ErrorClass::TooLarge));
            }
            let sliced = decode_slices(coding, 10_000, cut(&body, &cuts));
            prop_assert!(is_equivalent(coding, &sliced, &(decoded, end)));
        }
    }

    #[test]
    fn a_page_can_be_cut_anywhere(
        page in pages(),
        mark in select(MARKS),
        ascii in select(&[0, 0, 1020, 1024, 3000]),
        label in select(&[None, None, Some("utf-8"), Some("shift_jis"), Some("utf-16"), Some("?")]),
        cuts: Vec<Index>,
    ) {
        let page = [mark, "a".repeat(ascii).as_bytes(), &page].concat();
        let whole = text(label, [&page[..]]);
        prop_assert_eq!(&text(label, cut(&page, &cuts)), &whole);
        prop_assert_eq!(&text(label, single_bytes(&page)), &whole);
        if whole.1 != "utf-8" {
            prop_assert!(String::from_utf8(whole.0).is_ok());
        }
    }

    /// The text of a page with a label is that which the library decodes at once.
    #[test]
    fn a_page_is_decoded_as_its_label_says(
        page in pages(),
        label in select(&["utf-8", "shift_jis", "gb18030", "iso-2022-jp", "utf-16be", "koi8-u"]),
        cuts: Vec<Index>,
    ) {
        let (expected, encoding, _) = Encoding::for_label(label.as_bytes()).unwrap().decode(&page);
        let (decoded, name) = text(Some(label), cut(&page, &cuts));
        prop_assert_eq!(&String::from_utf8_lossy(&decoded), &expected);
        prop_assert_eq!(name, encoding_name(encoding));
    }

    #[test]
    fn an_encoded_page_can_be_cut_anywhere((header, body) in bodies(), cuts: Vec<Index>) {
        let whole = read(&header, [&body[..]]);
        let sliced = read(&header, cut(&body, &cuts));
        if header.contains("br") && whole.2.is_err() {
            prop_assert!(sliced.2.is_err());
        } else {
            prop_assert_eq!(sliced, whole);
        }
    }
}
