//! Makes the compressed seeds, which cannot be written by hand: `cargo run --example
//! packed_seeds`.

use std::io::{self, Write};

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, GzBuilder};
use fuzz::seeds;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

const PAGE: &str = "<!doctype html><a href=1>one</a><a href=2>two</a><a href=1>one</a>";
const SITEMAP: &str = "<urlset><url><loc>http://site.test/1</loc></url></urlset>";

fn main() -> io::Result<()> {
    let mut content = seeds::read("content")?;
    let mut visit = seeds::read("visit")?;
    let mut sitemap = seeds::read("sitemap")?;
    let page = PAGE.as_bytes();
    let long = PAGE.repeat(300).into_bytes();
    // Longer than the limit of the target.
    let bomb = vec![b'x'; 60_000];
    for (coding, encode) in ENCODERS {
        let header = if coding == "raw-deflate" { "deflate" } else { coding };
        let encoded = encode(page)?;
        let (half, last) = (encoded.len() / 2, encoded.len() - 1);
        let [mut damaged, mut damaged_end] = [encoded.clone(), encoded.clone()];
        damaged[half] ^= 0x10;
        damaged_end[last] ^= 1;
        for (name, body) in [
            ("page", encoded.clone()),
            ("long", encode(&long)?),
            ("bomb", encode(&bomb)?),
            ("nothing", encode(b"")?),
            ("short", encoded[..half].to_vec()),
            ("damaged", damaged),
            ("damaged-end", damaged_end),
            ("twice", encoded.repeat(2)),
            ("garbage-behind", [&encoded[..], b"garbage"].concat()),
        ] {
            let seed = [header.as_bytes(), b"\n", &body].concat();
            content.insert(format!("{coding}-{name}"), seed);
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: ";
        let head = format!("{head}{header}\r\nContent-Length: {}\r\n\r\n", encoded.len());
        visit.insert(format!("page-{coding}"), [head.as_bytes(), &encoded].concat());
        for (other, encode_again) in ENCODERS {
            let header = format!("{header}, {}\n", other.trim_start_matches("raw-"));
            let body = encode_again(&encoded)?;
            content.insert(format!("{coding}-in-{other}"), [header.as_bytes(), &body].concat());
        }
    }
    let with_fields = GzBuilder::new().filename("name").comment("comment").extra("extra");
    let mut with_fields = with_fields.write(b"gzip\n".to_vec(), Compression::default());
    with_fields.write_all(page)?;
    content.insert("gzip-named".into(), with_fields.finish()?);
    content.insert("identity".into(), [b"identity\n", page].concat());

    let compressed = gzip(SITEMAP.as_bytes())?;
    for (name, seed) in [
        ("packed", compressed.clone()),
        ("packed-lines", gzip(b"http://site.test/1\nhttp://site.test/2")?),
        ("packed-short", compressed[..compressed.len() - 9].to_vec()),
        ("packed-garbage-behind", [&compressed[..], b"garbage"].concat()),
        ("packed-bomb", gzip(&[b' '; 30_000])?),
    ] {
        sitemap.insert(name.into(), seed);
    }

    seeds::write("content", &content)?;
    seeds::write("visit", &visit)?;
    seeds::write("sitemap", &sitemap)
}

type Encode = fn(&[u8]) -> io::Result<Vec<u8>>;

const ENCODERS: [(&str, Encode); 5] =
    [("gzip", gzip), ("deflate", zlib), ("raw-deflate", deflate), ("br", brotli), ("zstd", zstd)];

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

fn zlib(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

fn deflate(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

fn brotli(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
    encoder.write_all(text)?;
    Ok(encoder.into_inner())
}

fn zstd(text: &[u8]) -> io::Result<Vec<u8>> {
    Ok(compress_to_vec(text, CompressionLevel::Fastest))
}
