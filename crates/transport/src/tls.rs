//! TLS, by rustls.

mod client;
mod session;
mod trust;
mod words;

pub(crate) use client::Client;
pub(crate) use session::Session;
pub use trust::certificates_from_pem;
