//! State of the socket, as reported by a stream.

use std::io::{self, ErrorKind, Read, Write};

use transport::{Direction, Stream, TlsLayer};

/// A socket with so many bytes to read and so much room to write.
struct MockSocket {
    readable: usize,
    capacity: usize,
}

impl Read for MockSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.readable.min(buffer.len());
        self.readable -= length;
        if length == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(length) }
    }
}

impl Write for MockSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.capacity.min(bytes.len());
        self.capacity -= length;
        if length == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(length) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_plain_stream_blocks_on_the_direction_of_the_call() {
    let mut stream = Stream::new(MockSocket { readable: 12, capacity: 3 }, TlsLayer::plain());
    let mut buffer = [0; 8];
    assert_eq!(stream.read(&mut buffer).unwrap(), 8);
    assert!(stream.blocked_on().is_none(), "there may be more");
    assert_eq!(stream.read(&mut buffer).unwrap(), 4);
    assert!(stream.blocked_on().is_some());
    assert_eq!(stream.write(b"1234").unwrap(), 3);
    assert_eq!(stream.write(b"4").unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(stream.blocked_on(), Some(Direction::Write));
    assert_eq!(stream.read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(stream.blocked_on(), Some(Direction::Read));
}

#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_tls_reports_it() {
    let tls_connector = transport::TlsConnector::default();
    assert!(tls_connector.layer(None).is_ok());
    let error = tls_connector.layer(Some("a.test")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains("without the feature `tls`"));
}

#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_tls_refuses_certificates() {
    assert!(transport::certificates_from_pem(b"").is_err());
}
