//! Responses.

use crawl_core::http::{Head, Limits, Method, Progress, ResponseParser, Sink};
use crawl_core::{ErrorClass, FetchError};

use crate::assert_documented;
use crate::slices::in_any_slices;

/// Small enough to be crossed by small inputs.
const LIMITS: Limits = Limits { head: 1_000, headers: 8, body: 200 };

/// Reads the input as a response to either method: within the limits, and the
/// same in any slices.
pub fn http(input: &[u8]) {
    for method in [Method::Get, Method::Head] {
        let told = in_any_slices(input, |slices| receive(method, slices));
        assert!(told.body.len() as u64 <= LIMITS.body);
        assert!(told.body.len() + told.unread <= input.len());
        assert!(method == Method::Get || told.body.is_empty());
        let is_complete = told.error.is_none() && told.end.is_none();
        assert!(!told.keep_alive || (is_complete && told.unread == 0));
        assert!(told.head.is_some() || !is_complete, "complete, and without a head");
    }
}

/// All that is told of a response.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    head: Option<u16>,
    headers: Vec<Vec<u8>>,
    body: Vec<u8>,
    unread: usize,
    error: Option<ErrorClass>,
    end: Option<ErrorClass>,
    keep_alive: bool,
}

impl Sink for Told {
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

fn receive(method: Method, slices: &[&[u8]]) -> Told {
    let mut parser = ResponseParser::new(method, LIMITS);
    let mut told = Told::default();
    for slice in slices {
        match parser.feed(slice, &mut told) {
            Ok(Progress::NeedMore) => assert_eq!(told.unread, 0, "complete means complete"),
            Ok(Progress::Complete { unread }) => told.unread += unread,
            Err(error) => {
                assert_documented(&error, &[ErrorClass::Protocol, ErrorClass::TooLarge]);
                told.error = Some(error.class);
                break;
            }
        }
    }
    if let Err(error) = parser.end() {
        let classes = [ErrorClass::Closed, ErrorClass::Truncated, ErrorClass::Protocol];
        assert_documented(&error, &classes);
        assert_eq!(error.class == ErrorClass::Protocol, told.error.is_some());
        told.end = Some(error.class);
    }
    told.keep_alive = parser.keep_alive();
    told
}
