//! What the results of a crawl say of this machine's network.

use crate::{ErrorClass, ExternalVerdict, Row};
use web::Address;

/// What the results so far say of the network. If no name was resolved, a URL whose name was
/// not is not broken: the fault is this machine's.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// True if a name server has given an answer.
    has_dns: bool,
    /// True if a connection to another machine has found its way.
    has_route: bool,
    /// The last host that has answered: most answers come from the one before.
    last_host: String,
    /// Number of URLs for whose hosts no name server gave an answer.
    without_dns: u64,
    /// Number of URLs to whose hosts there was no route.
    without_route: u64,
}

impl Network {
    /// Records the row of a URL, and changes its verdict if the network is to blame.
    pub(crate) fn record(&mut self, row: &mut Row) {
        let address = Address::of_normalised(&row.url);
        let host = || address.host_and_port().0;
        match row.error.as_ref().map(|error| error.class) {
            Some(ErrorClass::DnsTemporary) => {
                self.without_dns += 1;
                if !self.has_dns {
                    row.verdict = Some(ExternalVerdict::Unsure);
                }
            }
            Some(ErrorClass::NoRoute) => {
                self.without_route += 1;
                self.has_dns |= is_name(host());
                row.verdict = Some(ExternalVerdict::Unsure);
            }
            // It was not requested now.
            _ if row.tries == 0 || self.has_dns && self.has_route => {}
            Some(ErrorClass::Dns) => self.has_dns |= is_name(host()),
            // A name server may have been silent.
            Some(ErrorClass::Timeout | ErrorClass::Panic) if row.status.is_none() => {}
            _ if address.has_authority(&self.last_host) => {}
            _ => {
                address.authority().clone_into(&mut self.last_host);
                self.has_dns |= is_name(host());
                self.has_route |= !is_loopback(host());
            }
        }
    }

    /// Returns the reason why links were not checked, as a sentence without its full stop, if
    /// none of the names was resolved or none of the connections found its way.
    pub(crate) fn problem(&self) -> Option<String> {
        let (count, why) = match (self.without_dns, self.without_route) {
            (count @ 1.., _) if !self.has_dns => (count, "has no DNS (no network)"),
            (_, count @ 1..) if !self.has_route => (count, "has no route to them (no network)"),
            _ => return None,
        };
        let links = if count == 1 { "link" } else { "links" };
        Some(format!("{count} {links} not checked: this machine {why}"))
    }
}

/// Returns true for a host that a name server has to know.
fn is_name(host: &str) -> bool {
    host.contains('.')
        && !is_loopback(host)
        && host.ends_with(|last: char| last.is_ascii_alphabetic() || last == '.')
}

/// Returns true for a host that is this machine, and can be reached without a network.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    name == "localhost"
        || name.ends_with(".localhost")
        || name.starts_with("127.")
        || name == "[::1]"
}
