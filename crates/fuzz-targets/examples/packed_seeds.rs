//! A generator of the compressed seeds in `corpus/`, which cannot be written by hand.

use std::io::{self, Write};
use std::path::Path;

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, GzBuilder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

const PAGE: &str = "<!doctype html><a href=1>one</a><a href=2>two</a><a href=1>one</a>";
const SITEMAP: &str = "<urlset><url><loc>http://site.test/1</loc></url></urlset>";

fn main() -> io::Result<()> {
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
            write_seed("content", &format!("{coding}-{name}"), &seed)?;
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: ";
        let head = format!("{head}{header}\r\nContent-Length: {}\r\n\r\n", encoded.len());
        write_seed("visit", &format!("page-{coding}"), &[head.as_bytes(), &encoded].concat())?;
        for (other, encode_again) in ENCODERS {
            let header = format!("{header}, {}\n", other.trim_start_matches("raw-"));
            let body = encode_again(&encoded)?;
            write_seed(
                "content",
                &format!("{coding}-in-{other}"),
                &[header.as_bytes(), &body].concat(),
            )?;
        }
    }
    let with_fields = GzBuilder::new().filename("name").comment("comment").extra("extra");
    let mut with_fields = with_fields.write(b"gzip\n".to_vec(), Compression::default());
    with_fields.write_all(page)?;
    write_seed("content", "gzip-named", &with_fields.finish()?)?;
    write_seed("content", "identity", &[b"identity\n", page].concat())?;

    let compressed = gzip(SITEMAP.as_bytes())?;
    write_seed("sitemap", "packed", &compressed)?;
    write_seed("sitemap", "packed-lines", &gzip(b"http://site.test/1\nhttp://site.test/2")?)?;
    write_seed("sitemap", "packed-short", &compressed[..compressed.len() - 9])?;
    write_seed("sitemap", "packed-garbage-behind", &[&compressed[..], b"garbage"].concat())?;
    write_seed("sitemap", "packed-bomb", &gzip(&[b' '; 30_000])?)
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

fn write_seed(target: &str, name: &str, seed: &[u8]) -> io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join(name), seed)
}
