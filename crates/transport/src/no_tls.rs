//! The replacement for the module `tls` in a build without TLS.

use std::convert::Infallible;
use std::io;

use crate::probed::Probed;
use crate::tls_error::TlsError;

const NO_TLS: &str = "this build cannot fetch https URLs: it was built without the feature `tls`";

/// A type without values: no session is ever created.
#[derive(Debug)]
pub(crate) struct Session(Infallible);

#[derive(Debug)]
pub(crate) struct Client;

impl Client {
    pub(crate) fn new(_certificates: &[Vec<u8>], _insecure: bool) -> Self {
        Self
    }

    pub(crate) fn session(&self, _host: &str) -> io::Result<Session> {
        Err(TlsError::new(NO_TLS).into())
    }
}

/// Refuses every file.
///
/// # Errors
/// Always: this build has no TLS.
pub fn certificates_from_pem(_pem: &[u8]) -> Result<Vec<Vec<u8>>, TlsError> {
    Err(TlsError::new(NO_TLS))
}

/// Returns nothing: this build reads no trusted certificates.
pub fn trust_warning() -> Option<String> {
    None
}

impl Session {
    pub(crate) fn within(self, _: Option<Session>) -> Self {
        match self.0 {}
    }

    pub(crate) fn is_drained(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn read<S>(&mut self, _: &mut Probed<S>, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn write<S>(&mut self, _: &mut Probed<S>, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(crate) fn close<S>(&mut self, _: &mut Probed<S>) {
        match self.0 {}
    }
}
