//! The fuzz target of HTTP responses.

use crawl_core::{ErrorClass, FetchError};
use web::http::{Head, Limits, Method, Progress, ResponseParser, Sink};

use crate::assert_documented;
use crate::slices::in_any_slices;

/// Limits so small that short inputs cross them.
const LIMITS: Limits = Limits { head: 1_000, headers: 8, body: 200 };

/// Parses the input as a response to a request of each method. Asserts that the result
/// is within the limits, and the same in any slices.
pub fn http(input: &[u8]) {
    for method in [Method::Get, Method::Head] {
        let observed = in_any_slices(input, |slices| receive(method, slices));
        assert!(observed.body.len() as u64 <= LIMITS.body);
        assert!(observed.body.len() + observed.unread <= input.len());
        assert!(method == Method::Get || observed.body.is_empty());
        let is_complete = observed.error.is_none() && observed.end.is_none();
        assert!(!observed.keep_alive || (is_complete && observed.unread == 0));
        assert!(observed.head.is_some() || !is_complete, "complete, and without a head");
    }
}

/// All results that can be observed after a response was parsed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Observed {
    head: Option<u16>,
    headers: Vec<Vec<u8>>,
    body: Vec<u8>,
    unread: usize,
    error: Option<ErrorClass>,
    end: Option<ErrorClass>,
    keep_alive: bool,
}

impl Sink for Observed {
    fn head(&mut self, head: &Head<'_>) -> Result<(), FetchError> {
        assert!(self.head.is_none() && self.body.is_empty(), "a second head, or one too late");
        assert!(head.status < 1_000);
        self.head = Some(head.status);
        let names = ["location", "content-type", "content-encoding"];
        self.headers = names.iter().flat_map(|name| head.get_all(name)).map(Into::into).collect();
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        assert!(self.head.is_some() && !bytes.is_empty());
        self.body.extend_from_slice(bytes);
        Ok(())
    }
}

fn receive(method: Method, slices: &[&[u8]]) -> Observed {
    let mut parser = ResponseParser::new(method, LIMITS);
    let mut observed = Observed::default();
    for slice in slices {
        match parser.feed(slice, &mut observed) {
            Ok(Progress::NeedMore) => assert_eq!(observed.unread, 0, "complete means complete"),
            Ok(Progress::Complete { unread }) => observed.unread += unread,
            Err(error) => {
                assert_documented(&error, &[ErrorClass::Protocol, ErrorClass::TooLarge]);
                observed.error = Some(error.class);
                break;
            }
        }
    }
    if let Err(error) = parser.end() {
        let classes = [ErrorClass::Closed, ErrorClass::Truncated, ErrorClass::Protocol];
        assert_documented(&error, &classes);
        assert_eq!(error.class == ErrorClass::Protocol, observed.error.is_some());
        observed.end = Some(error.class);
    }
    observed.keep_alive = parser.keep_alive();
    observed
}
