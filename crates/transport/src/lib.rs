//! Knows *bytes*: streams over a socket, with or without TLS, and the lookup of
//! a host's addresses. It has never heard of a selector, and of HTTP it knows only the
//! name that a TLS handshake offers.
//!
//! The rules of this crate:
//!
//! 1. **Plain and TLS connections are the same type.** [`Stream`] reads and
//!    writes over any `Read + Write`, blocking or not, and passes `WouldBlock`
//!    on. Then [`Stream::blocked_on`] says which direction of the socket to wait
//!    for. That may be the other one: to write a request, a TLS handshake may
//!    first have to read.
//! 2. **A lookup never blocks the caller's thread**, unless there is no other.
//!    [`Resolver`] calls the operating system on threads of its own and notifies
//!    the caller.
//! 3. **Every lookup that waits has an id and can be cancelled.** A deadline that
//!    passes during a lookup cancels its [`LookupId`]. The thread goes on, and what it
//!    finds out is kept in the cache.
//! 4. **Pending connections are limited.** [`ConnectLimiter`] lets so many at a
//!    time connect to one address.
//! 5. **Every address passes through the policy.** [`ConnectPolicy`] says which ones
//!    may be asked, and which certificates are trusted.
//! 6. **A want of file descriptors is no verdict.** It is an error of its own, on a
//!    lookup as on a connection, and the caller tries again.
//!
//! Read `stream` first, then `tls`, `resolver`, `connect_policy` and
//! `connect_limiter`.

mod address_kind;
mod connect_limiter;
mod connect_policy;
mod dns_cache;
mod lookup;
mod lookup_queue;
mod probed;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
#[cfg(feature = "tls")]
mod tls;

mod resolver;
mod stream;
mod tape;
mod tls_connector;
mod tls_error;

pub use connect_limiter::{Acquire, AddressId, ConnectLimiter};
pub use connect_policy::ConnectPolicy;

pub use lookup::{
    Addresses, Immediate, LookupError, LookupFn, LookupResult, NameLookup, is_fd_limit,
    system_lookup,
};
pub use probed::Direction;
pub use resolver::{Lookup, LookupId, Resolver};
pub use stream::{Stream, TlsLayer};
pub use tape::{Tape, TapeCall, TapeGuard, TapeResult};
pub use tls::{certificates_from_pem, trust_warning};
pub use tls_connector::TlsConnector;
pub use tls_error::{TlsError, is_tls_error};
