//! TLS, by rustls.

mod client;
mod error_messages;
mod session;
mod untrusted;
mod verifier;

pub(crate) use client::Client;
pub(crate) use session::Session;
pub use verifier::certificates_from_pem;
