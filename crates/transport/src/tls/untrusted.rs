//! The error of a certificate chain without a trusted root.

use std::error::Error;
use std::fmt;

/// The reason why a chain of certificates does not lead to a trusted root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Untrusted {
    SelfSigned,
    NoIntermediate,
    UnknownRoot,
    NotForServers,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SelfSigned => {
                "the server's certificate is self-signed: if it is the right one, \
                 trust it with --cacert"
            }
            Self::NoIntermediate => {
                "the server's certificate has an unknown issuer: the server does not send its \
                 intermediate certificate, or its root is not trusted (add either with --cacert)"
            }
            Self::UnknownRoot => {
                "the server's certificate leads to a root certificate that is not trusted (add it with --cacert)"
            }
            Self::NotForServers => {
                "the server's certificate, or its issuer's, is trusted, but not for servers: \
                 its extended key usage names other purposes"
            }
        })
    }
}

impl Error for Untrusted {}
