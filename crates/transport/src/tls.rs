//! TLS, by rustls.

mod client;
mod error_messages;
mod extended_key_usage;
mod session;
mod trust_store;
mod untrusted;
mod verifier;

pub(crate) use client::Client;
pub(crate) use session::Session;
pub use trust_store::trust_warning;
pub use verifier::certificates_from_pem;
