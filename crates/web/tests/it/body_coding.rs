//! Tests of the content decoders: accepted bodies, refused ones, and the cost of the
//! worst ones.

use test_support::encoders::*;
use web::body::{ACCEPT_ENCODING, BodyDecoder, Codings};
use web::{ErrorClass, FetchError};

const LIMIT: u64 = 1024 * 1024;

fn page() -> Vec<u8> {
    let lines =
        (0..40).map(|i| format!("<li><a href=\"/page/{}\">Page {i}</a></li>\n", i * i % 97));
    lines.collect::<String>().into_bytes()
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Returns the text of a body that is decoded without an error.
fn text(header: &str, body: &[u8]) -> Vec<u8> {
    let (text, end) = decode(header, LIMIT, body);
    assert_eq!(end, Ok(()), "{header}");
    text
}

/// Returns the error of a body that cannot be decoded.
fn error(header: &str, body: &[u8]) -> FetchError {
    decode(header, LIMIT, body).1.unwrap_err()
}

fn decode_error(message: &str) -> FetchError {
    FetchError::new(ErrorClass::Decode, message)
}

#[test]
fn content_encoding_headers_are_parsed() {
    let parsed = |values: &[&str]| Codings::parse(values.iter().map(|value| value.as_bytes()));
    for (values, is_identity) in [
        (&[][..], true),
        (&[""], true),
        (&["identity"], true),
        (&["none"], true),
        (&["UTF-8"], true),
        (&["aws-chunked"], true),
        (&["AWS-Chunked,gzip"], false),
        (&["utf-8, gzip"], false),
        (&[" Identity , ,"], true),
        (&["gzip"], false),
        (&["GZip"], false),
        (&["identity, x-gzip"], false),
        (&[",deflate ,"], false),
        (&["br"], false),
        (&["zstd"], false),
        (&["gzip, br"], false),
        (&["gzip", "br"], false),
    ] {
        assert_eq!(parsed(values).unwrap().is_identity(), is_identity, "{values:?}");
    }
    assert_eq!(parsed(&["gzip", "br"]), parsed(&["gzip,br"]));
    assert_eq!(parsed(&["x-gzip"]), parsed(&["gzip"]));
    assert_ne!(parsed(&["gzip, br"]), parsed(&["br, gzip"]));
    assert!(!parsed(&[ACCEPT_ENCODING.split_once(", ").unwrap().0]).unwrap().is_identity());
}

#[test]
fn an_unknown_coding_is_refused_with_a_safe_message() {
    let error = |value: &str| Codings::parse([value.as_bytes()]).unwrap_err();
    let unknown = "the body is encoded as 'Compress', not as gzip, deflate, br, zstd";
    assert_eq!(error("gzip, Compress"), decode_error(unknown));
    assert_eq!(error("a\x1b[2J").class, ErrorClass::Decode);
    assert!(!error("a\x1b[2J").message.contains('\x1b'));
    assert!(error(&"x".repeat(20_000)).message.len() < 200);
    let thrice = decode_error("the body is encoded more than 2 times");
    assert_eq!(error("gzip, gzip, gzip"), thrice);
    assert!(Codings::parse([&b"gzip, identity, gzip"[..]]).is_ok());
}

#[test]
fn every_coding_is_decoded() {
    let page = page();
    for coding in CODINGS {
        assert_eq!(text(coding, &encode(coding, &page)), page, "{coding}");
        assert_eq!(text(coding, &encode(coding, b"")), b"", "{coding}");
        assert_eq!(text(coding, b""), b"", "{coding} of nothing at all");
        let long = page.repeat(300);
        assert_eq!(text(coding, &encode(coding, &long)), long, "{coding}");
    }
    assert_eq!(text("x-gzip", &gzip(&page)), page);
    assert_eq!(text("", &page), page);
    assert_eq!(text("deflate", &raw_deflate(&page)), page);
    assert_eq!(text("deflate", &raw_deflate(b"")), b"");
}

/// The bodies are made by the reference encoder, with a checksum: one without the size
/// in its header, and one with it, as a single segment.
#[test]
fn the_output_of_the_reference_zstd_encoder_is_decoded() {
    for body in [ZSTD_3, ZSTD_19] {
        assert_eq!(text("zstd", &from_hex(body)), page());
    }
}

const ZSTD_3: &str = "\
    28b52ffd0458f505001289191890a5cd01558d469dcfa7f14915e49652ca94c9d1d4f35e207967ce607b76eb55\
    de7e595f8e4e3b63b0d8955535ef2afbb2be15b705fbd7b2bebe6e34d67dd6983accbabb99ebfa74b503641ce4\
    a0444e11882205a0a110a24804640010200a06847490719c4fa83194beff679033d30e110cf40c113e11deeb03\
    dd6a40bf5fda9d16ddce062256a700577adc0d6ec88c2a91cd00e9b147147654c146391ccc82caa85a9023eee0\
    5686992208ee7b4ea8d77394bdc4fa3981bf0a7b1b78ed";
const ZSTD_19: &str = "\
    28b52ffd642f05450500e2ca1b14904d07588fc2db5cdee0526e29654a38e1df5e20f93bfc617a7bb7db7bf5c4\
    dff6cb7a44e2c9693b34261376ae34bfcacdbbcabeac6f84dd2c91b07faae5d567edeb757253b565a2cf22d6a5\
    acbb9bb9ae4f570b1cce331447321444801c0231284c020d82b128511324c5e13c4550a821347dafede02d0721\
    047e0121c227c2fb0150e56a9c53837136de453be55d9228c157266c5ae874412867a9910442ca451d90557b1b\
    78ed";

#[test]
fn codings_are_decoded_in_reverse_order() {
    let page = page();
    for inner in CODINGS {
        for outer in CODINGS {
            let body = encode(outer, &encode(inner, &page));
            assert_eq!(text(&format!("{inner}, {outer}"), &body), page, "{inner}, {outer}");
        }
    }
    // The outer stream may be complete and the inner one truncated.
    let body = gzip(&brotli(&page)[..20]);
    let truncated = decode_error("the body, encoded as br, ends in the middle");
    assert_eq!(error("br, gzip", &body), truncated);
    assert_eq!(text("br, gzip", &gzip(b"")), b"");
}

#[test]
fn gzip_may_have_several_members_and_padding() {
    let two = [gzip(b"one "), gzip(b"two")].concat();
    assert_eq!(text("gzip", &two), b"one two");
    for padding in
        [&b"\0\0\0\0"[..], b"\n", b"<!-- served by x -->", b"\x1f", b"\x1fx", b"\0\x1f\x8b"]
    {
        let padded = [&two, padding].concat();
        assert_eq!(text("gzip", &padded), b"one two", "{padding:?}");
    }
    // Bytes that begin like a member must be one.
    let (text, end) = decode("gzip", LIMIT, &[&two, &b"\x1f\x8bxx"[..]].concat());
    assert_eq!(
        (&text[..], end),
        (&b"one two"[..], Err(decode_error("the body is not valid gzip")))
    );
    let truncated = decode_error("the body, encoded as gzip, ends in the middle");
    assert_eq!(error("gzip", &[&two, &b"\x1f\x8b"[..]].concat()), truncated);
}

#[test]
fn a_gzip_header_may_have_all_optional_fields() {
    let plain = gzip(b"text");
    let head = b"\x1f\x8b\x08\x1c\0\0\0\0\0\xff\x03\0abcname\0comment\0";
    assert_eq!(text("gzip", &[&head[..], &plain[10..]].concat()), b"text");
}

#[test]
fn zstd_may_have_several_frames_and_skippable_ones() {
    let skipped = |content: &[u8]| {
        let length = u32::try_from(content.len()).unwrap().to_le_bytes();
        [&b"\x5e\x2a\x4d\x18"[..], &length, content].concat()
    };
    let body = [skipped(b"abc"), zstd(b"one "), skipped(b""), zstd(b"two"), skipped(b"x")].concat();
    assert_eq!(text("zstd", &body), b"one two");
    assert_eq!(text("zstd", &[zstd(b"one"), skipped(b"")].concat()), b"one");
    assert_eq!(text("zstd", &skipped(b"abc")), b"");
    let truncated = decode_error("the body, encoded as zstd, ends in the middle");
    assert_eq!(error("zstd", &body[..body.len() - 1]), truncated);
    let invalid = decode_error("the body is not valid zstd");
    assert_eq!(error("zstd", &[&body[..], b"garbage"].concat()), invalid);
}

#[test]
fn bytes_behind_the_end_of_a_stream_are_ignored() {
    for coding in ["deflate", "raw deflate", "br"] {
        let header = coding.trim_start_matches("raw ");
        let body = [encode(coding, b"text"), b"\r\n\0garbage".to_vec()].concat();
        assert_eq!(text(header, &body), b"text", "{coding}");
    }
}

#[test]
fn a_truncated_body_is_an_error_at_every_length() {
    let page = page();
    for coding in ["gzip", "deflate", "raw deflate", "br", "zstd"] {
        let header = coding.trim_start_matches("raw ");
        let body = encode(coding, &page);
        let truncated = format!("the body, encoded as {header}, ends in the middle");
        // Browsers accept gzip without the checksum and the size at its end.
        let trailer = if coding == "gzip" { 8 } else { 0 };
        for length in body.len() - trailer..body.len() {
            assert_eq!(decode(header, LIMIT, &body[..length]), (page.clone(), Ok(())));
        }
        for length in 1..body.len() - trailer {
            let (text, end) = decode(header, LIMIT, &body[..length]);
            assert_eq!(end, Err(decode_error(&truncated)), "{coding} {length}");
            assert!(page.starts_with(&text), "{coding} {length}");
        }
    }
}

#[test]
fn decoded_bytes_are_passed_on_at_once() {
    let page = page();
    for coding in ["gzip", "deflate", "raw deflate", "br"] {
        let body = encode(coding, &page);
        let (text, _) = decode(coding.trim_start_matches("raw "), LIMIT, &body[..body.len() - 20]);
        assert!(text.len() > page.len() / 2, "{coding}: {}", text.len());
    }
}

#[test]
fn bytes_in_another_format_are_an_error() {
    for coding in CODINGS {
        let invalid = decode_error(&format!("the body is not valid {coding}"));
        assert_eq!(error(coding, b"<!DOCTYPE html><title>Plain</title>"), invalid, "{coding}");
    }
}

#[test]
fn checksums_are_verified() {
    let page = page();
    for coding in ["gzip", "deflate", "zstd"] {
        let invalid = decode_error(&format!("the body is not valid {coding}"));
        let mut body = encode(coding, &page);
        // The last four bytes belong to the checksum, or to the length in gzip.
        *body.last_mut().unwrap() ^= 1;
        assert_eq!(error(coding, &body), invalid, "{coding}");
    }
    let mut body = gzip(&page);
    let position = body.len() - 8;
    body[position] ^= 1;
    assert_eq!(error("gzip", &body), decode_error("the body is not valid gzip"));
}

#[test]
fn a_zstd_window_larger_than_rfc_9659_allows_is_refused() {
    // 8 MiB, and the next larger size.
    let frame = |window: u8| [b"\x28\xb5\x2f\xfd\0"[..].to_vec(), vec![window, 1, 0, 0]].concat();
    assert_eq!(text("zstd", &frame(13 << 3)), b"");
    let too_large = "the body, encoded as zstd, needs more than 8388608 bytes of window";
    assert_eq!(error("zstd", &frame(13 << 3 | 1)), decode_error(too_large));
    // An unknown dictionary.
    let invalid = decode_error("the body is not valid zstd");
    assert_eq!(error("zstd", b"\x28\xb5\x2f\xfd\x01\x38\x07\x01\0\0"), invalid.clone());
    // A block of more literals than a block can have: one byte that is repeated.
    let literals = |length: u32| {
        let header = (1 | 3 << 2 | length << 4).to_le_bytes();
        let block = [&header[..3], &b"x\0"[..]].concat();
        let head = (1 | 2 << 1 | (block.len() as u32) << 3).to_le_bytes();
        [&b"\x28\xb5\x2f\xfd\0\x68"[..], &head[..3], &block].concat()
    };
    assert_eq!(text("zstd", &literals(128 * 1024)).len(), 128 * 1024);
    assert_eq!(error("zstd", &literals(128 * 1024 + 1)), invalid);
    // A large window of Brotli, an extension.
    assert_eq!(error("br", b"\x11\x1e\x03"), decode_error("the body is not valid br"));
}

#[test]
fn the_limit_counts_decoded_bytes() {
    let page = page();
    let length = page.len() as u64;
    for coding in CODINGS {
        let body = encode(coding, &page);
        assert_eq!(decode(coding, length, &body), (page.clone(), Ok(())), "{coding}");
        let message = format!("the body is longer than {} bytes once decoded", length - 1);
        let too_large = FetchError::new(ErrorClass::TooLarge, message);
        let allowed = page[..page.len() - 1].to_vec();
        assert_eq!(decode(coding, length - 1, &body), (allowed, Err(too_large)), "{coding}");
    }
    let (text, end) = decode("gzip", 0, &gzip(b"x"));
    assert_eq!((text.len(), end.unwrap_err().class), (0, ErrorClass::TooLarge));
}

#[test]
fn an_error_of_the_receiver_stops_the_decoder() {
    for header in ["", "gzip", "gzip, gzip"] {
        let body = header.split(',').filter(|name| !name.is_empty());
        let body = body.fold(page(), |body, _| gzip(&body));
        let refused = FetchError::new(ErrorClass::Nesting, "enough");
        let mut decoder = BodyDecoder::new(&codings(header), LIMIT);
        let end = decoder.feed(&body, &mut |_| Err(refused.clone()));
        assert_eq!(end, Err(refused), "{header}");
    }
}

/// A bomb stops at the limit in every coding, and in each of two layers. The work
/// depends on the limit only.
#[test]
fn decompression_bombs_stop_at_the_limit() {
    const ZEROS: usize = 2 * 1024 * 1024;
    let zeros = vec![0; ZEROS];
    for coding in ["gzip", "raw deflate", "br"] {
        let header = coding.trim_start_matches("raw ");
        let bomb = encode(coding, &zeros);
        assert!(bomb.len() < 10_000, "{coding}");
        assert_stopped_at_limit(header, &bomb);
        assert_stopped_at_limit(&format!("gzip, {header}"), &encode(coding, &gzip(&zeros)));
        assert_stopped_at_limit(&format!("{header}, gzip"), &gzip(&bomb));
        // The outer layer is the bomb; the inner one ignores its zeros as padding.
        let padded = gzip(b"x");
        let padded = encode(coding, &[padded, zeros.clone()].concat());
        assert_stopped_at_limit(&format!("gzip, {header}"), &padded);
    }
    // Blocks of 128 KiB in four bytes each, in a window of 8 MiB.
    let block = [&(((128 * 1024_u32) << 3) | 2).to_le_bytes()[..3], &b"x"[..]].concat();
    let head = b"\x28\xb5\x2f\xfd\0\x68";
    let bomb = [&head[..], &block.repeat(10_000)].concat();
    assert_stopped_at_limit("zstd", &bomb);
    assert_stopped_at_limit("zstd, br", &brotli(&bomb));
}

fn assert_stopped_at_limit(header: &str, bomb: &[u8]) {
    let mut fed = 0;
    let mut decoder = BodyDecoder::new(&codings(header), LIMIT);
    let mut length = 0;
    let end = bomb.chunks(1000).try_for_each(|slice| {
        fed += slice.len();
        decoder.feed(slice, &mut |decoded| {
            length += decoded.len() as u64;
            Ok(())
        })
    });
    assert_eq!(end.unwrap_err().class, ErrorClass::TooLarge, "{header}");
    assert!(length <= LIMIT, "{header}: {length}");
}

/// Bodies that decode to nothing take time proportional to their length. With
/// quadratic time, this test would not end.
#[test]
fn endless_empty_blocks_take_linear_time() {
    let empty_blocks = b"\0\0\0\xff\xff".repeat(40_000);
    // The size of the window, then empty metadata blocks.
    let empty_metablocks = [&b"\x0c"[..], &[0x06].repeat(200_000)].concat();
    for (header, body) in [
        ("gzip", gzip(b"").repeat(10_000)),
        ("gzip", [&gzip(b"x")[..10], &empty_blocks].concat()),
        ("deflate", [&b"\x78\x9c"[..], &empty_blocks].concat()),
        ("zstd", b"\x28\xb5\x2f\xfd\0\x68\x01\0\0".repeat(20_000)),
        ("zstd", b"\x50\x2a\x4d\x18\0\0\0\0".repeat(20_000)),
        ("zstd", [&b"\x28\xb5\x2f\xfd\0\x68"[..], &b"\0\0\0".repeat(60_000)].concat()),
        ("br", empty_metablocks),
    ] {
        for size in [1, usize::MAX] {
            let (text, end) = decode_slices(header, LIMIT, body.chunks(size));
            assert!(text.is_empty(), "{header}");
            if let Err(error) = end {
                let truncated = format!("the body, encoded as {header}, ends in the middle");
                assert_eq!(error.message, truncated);
            }
        }
    }
}
