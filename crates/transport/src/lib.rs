//! Knows *bytes*: how they travel over a connection, and to which address. It
//! has never heard of a selector or of HTTP.
//!
//! The rules of this crate:
//!
//! 1. **A stream is a stream.** [`Stream`] reads and writes over whatever can
//!    read and write, blocking or not, and passes `WouldBlock` on. When it
//!    does, [`Stream::blocked_on`] says which direction of the socket to wait
//!    for; that need not be the one that was asked for: to write a request may
//!    take the reading of a handshake.
//! 2. **A look-up never happens on the caller's thread.** [`Resolver`] asks
//!    the operating system on threads of its own and rings a bell.
//! 3. **Whoever waits is held under a [`Ticket`]**, and can be taken back: a
//!    deadline that passes during a look-up leaves nothing behind.
//! 4. **Nobody knocks in a crowd.** So many at a time connect to one address
//!    ([`ConnectQueue`]), and a host's addresses are tried one after the other
//!    ([`Candidates`]).

mod blocking_resolver;
mod candidates;
mod connect_queue;
mod descriptors;
mod names;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
#[cfg(feature = "tls")]
mod tls;

mod resolver;
mod security;
mod stream;
mod tls_error;

pub use blocking_resolver::BlockingResolver;
pub use candidates::Candidates;
pub use connect_queue::{ConnectQueue, Entry, LetIn, LineKey, Number};
pub use descriptors::out_of_descriptors;
pub use names::{Addresses, LookUp, NameError, system_look_up};
pub use resolver::{Reply, Resolver, Ticket};
pub use security::Security;
pub use stream::{Direction, Layer, Stream};
pub use tls::certificates_from_pem;
pub use tls_error::{TlsError, is_tls_error};
