//! The pipeline from the bytes of a socket to the rows and jobs of a crawl: the
//! slicing of the bytes does not change the result.

use std::time::Instant;

use crawl_core::{Crawl, Job, Options, Row, Verdict};
use encoding_rs::Encoding;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use test_support::encoders::encode;
use url::Url;

/// Returns a whole response with a page in this encoding, in chunks of this size.
fn response(page: &str, codings: &[&str], charset: &str, in_meta: bool, chunk: usize) -> Vec<u8> {
    let encoding = Encoding::for_label(charset.as_bytes()).unwrap();
    let page = if in_meta { format!("<meta charset={charset}>{page}") } else { page.to_owned() };
    let (text, _, _) = encoding.encode(&page);
    let body = codings.iter().fold(text.into_owned(), |body, coding| encode(coding, &body));
    let label = if in_meta { String::new() } else { format!("; charset={charset}") };
    let mut response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html{label}\r\nContent-Encoding: {}\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        codings.join(", ")
    )
    .into_bytes();
    for chunk in body.chunks(chunk) {
        response.extend(format!("{:x};x\r\n", chunk.len()).bytes());
        response.extend(chunk);
        response.extend(b"\r\n");
    }
    response.extend(b"0\r\nTrailer: x\r\n\r\n");
    response
}

/// Returns the row and the jobs of a root whose response arrives in these slices.
fn crawl<'a>(slices: impl IntoIterator<Item = &'a [u8]>) -> (Row, Vec<Job>) {
    crawl_with(Options::new(vec![Url::parse("http://site.test/dir/").unwrap()]), slices)
}

/// Crawls as [`crawl`] does, with these options.
fn crawl_with<'a>(options: Options, slices: impl IntoIterator<Item = &'a [u8]>) -> (Row, Vec<Job>) {
    let mut crawl = Crawl::new(options.clone());
    let root = crawl.roots(&mut (Box::new(|_| ()) as crawl_core::Sink)).remove(0);
    let now = Instant::now();
    let mut visit = crawl.begin(root, now).unwrap();
    visit.request(&options, true);
    let received = slices.into_iter().try_for_each(|slice| visit.receive(slice));
    let received = received.break_value().unwrap_or_else(|| visit.receive_end());
    let attempt = received.map(|_| ());
    // A visit that is tried again fails in the same way each time.
    while visit.judge(attempt.clone()) != Verdict::Finished {}
    let completion = crawl.complete(&mut visit, now);
    (completion.row, completion.jobs)
}

fn pages() -> impl Strategy<Value = String> {
    let piece = select(&[
        "<a href=x>",
        "<a href='y?q=\u{fc}'>",
        "<base href=/base/>",
        "<p>text</p>",
        "<!-- -->",
        "<a href=\"http://site.test/\u{e4}\">",
        "<area href=z#f>",
        "<script>'<a href=no>'</script>",
        "<svg><title/></svg>",
        "&amp;",
        "\u{e4}\u{f6}\u{fc}",
        "\r\n",
        "<a href=http://other.test/>",
    ]);
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn cut<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut offsets: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    offsets.extend([0, bytes.len()]);
    offsets.sort_unstable();
    offsets
        .windows(2)
        .map(|pair| &bytes[pair[0]..pair[1]])
        .filter(|slice| !slice.is_empty())
        .collect()
}

/// One that is too long is not searched, so that it counts as it was sent.
#[test]
fn the_size_of_a_style_sheet_that_is_too_long_does_not_depend_on_the_slices() {
    let mut options = Options::new(vec![Url::parse("http://site.test/x.css").unwrap()]);
    (options.settings.check.styles, options.settings.max_body_size) = (true, 1_000);
    for (coding, length) in [("identity", 3_000), ("gzip", 50_000)] {
        let body = match coding {
            "gzip" => encode(coding, &vec![b' '; length]),
            _ => vec![b' '; length],
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nContent-Encoding: {coding}\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let response = [head.as_bytes(), &body].concat();
        for size in [1, 7, 999, 1_000, 1_001, response.len()] {
            let (row, _) = crawl_with(options.clone(), response.chunks(size));
            let expected = (Some(body.len() as u64), None);
            assert_eq!((row.size, row.error), expected, "{coding} in slices of {size}");
        }
    }
}

const CODINGS: [&[&str]; 7] =
    [&[], &["gzip"], &["deflate"], &["br"], &["zstd"], &["gzip", "gzip"], &["br", "zstd"]];

proptest! {
    #[test]
    fn the_result_does_not_depend_on_how_a_response_is_cut(
        page in pages(),
        codings in select(&CODINGS[..]),
        charset in select(&["utf-8", "windows-1252", "gb18030", "iso-2022-jp"][..]),
        in_meta: bool,
        chunk in 1..500_usize,
        cuts in vec(any::<Index>(), 0..30),
    ) {
        let response = response(&page, codings, charset, in_meta, chunk);
        let whole = crawl([&*response]);
        prop_assert_eq!(whole.0.error.as_ref(), None);
        prop_assert_eq!(whole.0.encoding.as_deref(), Some(charset));
        prop_assert_eq!(crawl(cut(&response, &cuts)), whole);
    }

    /// The links do not depend on the codings of a page.
    #[test]
    fn a_page_is_the_same_however_it_is_sent(
        page in pages(),
        codings in select(&CODINGS[..]),
        charset in select(&["windows-1252", "gb18030"][..]),
        in_meta: bool,
    ) {
        let links = |(_, jobs): (Row, Vec<Job>)| {
            // The query of a link is in the encoding of the page.
            let without_query = |job: &Job| job.url.split('?').next().map(str::to_owned);
            jobs.iter().map(without_query).collect::<Vec<_>>()
        };
        let plain = crawl([&*response(&page, &[], "utf-8", false, 1000)]);
        let sent = crawl([&*response(&page, codings, charset, in_meta, 1000)]);
        prop_assert_eq!(links(sent), links(plain));
    }

    /// A URL ends as a row, even if its response is damaged.
    #[test]
    fn a_damaged_response_ends_as_a_row(
        page in pages(),
        codings in select(&CODINGS[..]),
        damage in vec((any::<Index>(), any::<u8>()), 1..5),
        cuts in vec(any::<Index>(), 0..10),
    ) {
        let mut response = response(&page, codings, "utf-8", false, 300);
        for (at, byte) in damage {
            let at = at.index(response.len());
            response[at] = byte;
        }
        let (row, _) = crawl(cut(&response, &cuts));
        prop_assert_eq!(&*row.url, "http://site.test/dir/");
    }
}
