//! What a stream tells about the socket below.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io::{self, ErrorKind, Read, Write};

use transport::{Direction, Layer, Stream};

/// A socket with so many bytes to read and so much room to write.
struct Fake {
    readable: usize,
    room: usize,
}

impl Read for Fake {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.readable.min(buffer.len());
        self.readable -= length;
        if length == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(length) }
    }
}

impl Write for Fake {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.room.min(bytes.len());
        self.room -= length;
        if length == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(length) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_plain_stream_blocks_on_what_it_was_asked_for() {
    let mut stream = Stream::new(Fake { readable: 12, room: 3 }, Layer::plain());
    let mut buffer = [0; 8];
    assert_eq!(stream.read(&mut buffer).unwrap(), 8);
    assert!(!stream.is_drained(), "there may be more");
    assert_eq!(stream.read(&mut buffer).unwrap(), 4);
    assert!(stream.is_drained());
    assert_eq!(stream.write(b"1234").unwrap(), 3);
    assert_eq!(stream.write(b"4").unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(stream.blocked_on(), Direction::Write);
    assert_eq!(stream.read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(stream.blocked_on(), Direction::Read);
}

#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_tls_says_so() {
    let security = transport::Security::default();
    assert!(security.layer(None).is_ok());
    let error = security.layer(Some("a.test")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("no TLS"));
}

#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_tls_has_no_use_for_certificates() {
    assert!(transport::certificates_from_pem(b"").is_err());
}
