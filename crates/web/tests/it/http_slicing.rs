//! Property tests of the response parser: its result does not depend on how the bytes
//! are cut.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use web::http::{Head, Limits, Method, Progress, ResponseParser, Sink};
use web::{ErrorClass, FetchError};

/// All results that can be observed after all bytes of a response were fed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Observed {
    head: Option<(u16, Vec<u8>)>,
    body: Vec<u8>,
    unread: usize,
    error: Option<ErrorClass>,
    end: Option<Result<(), ErrorClass>>,
    keep_alive: bool,
}

impl Sink for Observed {
    fn head(&mut self, head: &Head<'_>) -> Result<(), FetchError> {
        assert!(self.head.is_none() && self.body.is_empty());
        let name = head.get("x-name").unwrap_or_default();
        self.head = Some((head.status, name.to_vec()));
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        assert!(self.head.is_some() && !bytes.is_empty());
        self.body.extend_from_slice(bytes);
        Ok(())
    }
}

/// Limits so small that generated responses cross them.
const LIMITS: Limits = Limits { head: 400, headers: 8, body: 60 };

fn receive<'a>(slices: impl Iterator<Item = &'a [u8]>) -> Observed {
    let mut parser = ResponseParser::new(Method::Get, LIMITS);
    let mut observed = Observed::default();
    for slice in slices {
        match parser.feed(slice, &mut observed) {
            Ok(Progress::NeedMore) => assert_eq!(observed.unread, 0, "complete means complete"),
            Ok(Progress::Complete { unread }) => observed.unread += unread,
            Err(error) => {
                observed.error = Some(error.class);
                break;
            }
        }
    }
    observed.end = Some(parser.end().map_err(|error| error.class));
    observed.keep_alive = parser.keep_alive();
    observed
}

fn receive_whole(response: &[u8]) -> Observed {
    receive(std::iter::once(response))
}

fn cut<'a>(response: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut positions: Vec<usize> = cuts.iter().map(|cut| cut.index(response.len() + 1)).collect();
    positions.extend([0, response.len()]);
    positions.sort_unstable();
    positions.windows(2).map(|pair| &response[pair[0]..pair[1]]).collect()
}

/// A well-formed response within the limits, with its expected result.
#[derive(Clone, Debug)]
struct Response {
    bytes: Vec<u8>,
    head: Range<usize>,
    body: Vec<u8>,
    /// True if the body ends with the connection.
    until_end: bool,
}

fn line_end() -> impl Strategy<Value = &'static str> {
    select(&["\r\n", "\n"])
}

fn head(status: &'static [u16]) -> impl Strategy<Value = String> {
    let filler = select(&["Server: x", "Vary: *", "not a header", "X-Empty:", "Date : 1"]);
    (select(status), line_end(), vec(filler, 0..3)).prop_map(|(status, line_end, fillers)| {
        let mut head = format!("HTTP/1.1 {status} Reason{line_end}X-Name: value{line_end}");
        for filler in fillers {
            head.extend([filler, line_end]);
        }
        head
    })
}

fn chunks(body: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let extension = select(&["", ";a", " ; a=\"b;c\"", " "]);
    let sizes = vec((1..9_usize, extension, line_end()), 60);
    let trailers = select(&["", "X: y\r\n", "X: y\nZ:\n", "nonsense\r\n"]);
    (Just(body), sizes, trailers, line_end()).prop_map(|(body, sizes, trailers, line_end)| {
        let mut chunked = Vec::new();
        let mut rest = &body[..];
        for (size, extension, line_end) in sizes {
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            if chunk.is_empty() {
                break;
            }
            chunked.extend_from_slice(format!("{:x}{extension}{line_end}", chunk.len()).as_bytes());
            chunked.extend_from_slice(chunk);
            chunked.extend_from_slice(line_end.as_bytes());
            rest = after;
        }
        chunked.extend_from_slice(format!("0{line_end}{trailers}{line_end}").as_bytes());
        chunked
    })
}

fn responses() -> impl Strategy<Value = Response> {
    let body = vec(any::<u8>(), 0..50);
    let framed = prop_oneof![
        body.clone().prop_map(|body| {
            let header = format!("Content-Length: {}\r\n", body.len());
            (header, body.clone(), body, false)
        }),
        body.clone().prop_flat_map(|body| {
            let chunked = chunks(body.clone());
            chunked.prop_map(move |chunked| {
                ("Transfer-Encoding: chunked\n".to_owned(), chunked, body.clone(), false)
            })
        }),
        body.prop_map(|body| (String::new(), body.clone(), body, true)),
    ];
    let provisional = vec((head(&[100, 103]), line_end()), 0..3);
    let parts = (provisional, head(&[200, 302, 404]), line_end(), framed);
    parts.prop_map(|(provisional, head, line_end, (header, sent, body, until_end))| {
        let before: String =
            provisional.into_iter().flat_map(|(head, end)| [head, end.into()]).collect();
        let head = head + &header + line_end;
        let start = before.len();
        let mut bytes = (before + &head).into_bytes();
        bytes.extend_from_slice(&sent);
        Response { head: start..start + head.len(), bytes, body, until_end }
    })
}

proptest! {
    #[test]
    fn a_response_has_the_same_result_in_any_slices(
        response in responses(),
        behind in vec(any::<u8>(), 0..4),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        let mut bytes = response.bytes.clone();
        if !response.until_end {
            bytes.extend_from_slice(&behind);
        }
        let observed = receive_whole(&bytes);
        prop_assert_eq!(observed.error, None);
        prop_assert_eq!(&observed.body, &response.body);
        prop_assert_eq!(observed.head.as_ref().unwrap().1.as_slice(), b"value");
        prop_assert_eq!(observed.end, Some(Ok(())));
        prop_assert_eq!(observed.unread, bytes.len() - response.bytes.len());
        prop_assert_eq!(observed.keep_alive, !response.until_end && observed.unread == 0);

        prop_assert_eq!(&receive(cut(&bytes, &cuts).into_iter()), &observed);
        prop_assert_eq!(&receive(bytes.chunks(1)), &observed);
    }

    #[test]
    fn a_broken_response_has_the_same_error_in_any_slices(
        response in responses(),
        flips in vec((any::<Index>(), any::<u8>()), 1..4),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        let mut bytes = response.bytes;
        for (position, byte) in flips {
            *position.get_mut(&mut bytes) = byte;
        }
        let observed = receive_whole(&bytes);
        prop_assert_eq!(&receive(cut(&bytes, &cuts).into_iter()), &observed);
        prop_assert_eq!(&receive(bytes.chunks(1)), &observed);
    }

    #[test]
    fn a_truncated_response_is_detected_at_every_length(response in responses()) {
        for length in 0..=response.bytes.len() {
            let observed = receive_whole(&response.bytes[..length]);
            let expected = if length == 0 {
                Err(ErrorClass::Closed)
            } else if length == response.bytes.len()
                || response.until_end && length >= response.head.end
            {
                Ok(())
            } else {
                Err(ErrorClass::Truncated)
            };
            prop_assert_eq!(observed.end, Some(expected), "after {} bytes", length);
            prop_assert_eq!(observed.head.is_some(), length >= response.head.end);
            prop_assert!(response.body.starts_with(&observed.body));
        }
    }

    #[test]
    fn a_head_may_be_cut_anywhere(response in responses()) {
        let observed = receive_whole(&response.bytes);
        for position in 0..=response.head.end {
            let (one, other) = response.bytes.split_at(position);
            prop_assert_eq!(&receive([one, other].into_iter()), &observed);
        }
    }

    #[test]
    fn any_bytes_have_the_same_result_in_any_slices(
        start in select(&["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]),
        bytes in vec(prop_oneof![any::<u8>(), select(&b"\r\n:;,0123456789aHTP/. "[..])], 0..200),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        let bytes = [start.as_bytes(), &bytes].concat();
        let observed = receive_whole(&bytes);
        prop_assert_eq!(&receive(cut(&bytes, &cuts).into_iter()), &observed);
    }
}
