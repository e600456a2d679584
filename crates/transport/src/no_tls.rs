//! What takes the place of TLS in a build without it.

use std::convert::Infallible;
use std::io;

use crate::TlsError;
use crate::stream::Watched;

const NO_TLS: &str = "this build has no TLS and cannot fetch https URLs";

/// There is none to be had.
#[derive(Debug)]
pub(crate) struct Session(Infallible);

#[derive(Debug)]
pub(crate) struct Client;

impl Client {
    pub(crate) fn new(_certificates: &[Vec<u8>], _insecure: bool) -> Self {
        Self
    }

    pub(crate) fn session(&self, _host: &str) -> io::Result<Session> {
        Err(io::Error::new(io::ErrorKind::Unsupported, NO_TLS))
    }
}

/// Refuses whatever the file has.
///
/// # Errors
/// Always: this build has no TLS.
pub fn certificates_from_pem(_pem: &[u8]) -> Result<Vec<Vec<u8>>, TlsError> {
    Err(TlsError::new(NO_TLS))
}

impl Session {
    pub(crate) fn is_empty(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn read<S>(&mut self, _: &mut Watched<S>, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn write<S>(&mut self, _: &mut Watched<S>, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn close<S>(&mut self, _: &mut Watched<S>) {
        match self.0 {}
    }
}
