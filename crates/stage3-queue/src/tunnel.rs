//! The way to a server through a proxy: a tunnel by `CONNECT` or SOCKS 5, and what a
//! request has to say when an HTTP proxy makes it.
//!
//! A proxy for http gets the request with its whole URL (RFC 9112, section 3.2.2), and no
//! `CONNECT`: many proxies make tunnels to port 443 only.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::ControlFlow;

use crawl_core::{
    Deadline, ErrorClass, FetchError, FetchResult, Options, Phase, Proxy, ProxyKind, ProxyRules,
    Visit,
};
use stage2_coroutines::{Connection, Connector, EventLoop, lookup, read_all, write_all};
use transport::{Addresses, ConnectPolicy, is_fd_limit, is_tls_error};
use web::Address;
use web::http::{Head, Limits, Method, Progress, ResponseParser, Sink};

use self::socks::Socks;

mod socks;

/// The proxies of a crawl, and the way through them.
pub(crate) struct Tunnels {
    event_loop: EventLoop,
    rules: ProxyRules,
    /// Connects to proxies.
    connector: Connector,
    /// A visit of each proxy, for the connector, by the text of the proxy.
    visits: HashMap<String, Visit>,
    /// The policy for the servers behind the proxies.
    policy: ConnectPolicy,
}

impl Tunnels {
    /// Creates the tunnels, if the options name a proxy. `make_room` is that of
    /// [`Connector::new`]; `direct` is the connector for what needs no proxy.
    pub(crate) fn new(
        event_loop: &EventLoop,
        options: &Options,
        make_room: impl Fn() -> bool + 'static,
        direct: &Connector,
    ) -> Option<Self> {
        let urls: Vec<_> = options.proxies.proxies().map(|proxy| proxy.url().clone()).collect();
        if urls.is_empty() {
            return None;
        }
        let now = event_loop.now();
        let visit = |proxy: &Proxy| Visit::for_file(proxy.url(), 0, options, now);
        let visits = options.proxies.proxies().map(|proxy| (proxy.to_string(), visit(proxy)));
        let Options { settings, ca_certificates, insecure, .. } = options;
        let roots = settings.roots.iter().filter_map(|root| root.host_str());
        // As in curl, a proxy has to be trusted even if the servers behind it need not be.
        let trusted = ca_certificates.clone();
        let policy = ConnectPolicy::new(ca_certificates, *insecure, roots, settings.deny_private);
        let visits = visits.collect();
        // The user chooses the proxies: they may have any address, as start URLs may.
        let to_proxies = Options { ca_certificates: trusted, ..Options::new(urls) };
        // Both use the descriptors of one process.
        let connector = Connector::new(event_loop, &to_proxies, make_room).with_limits_of(direct);
        Some(Self {
            event_loop: event_loop.clone(),
            rules: options.proxies.clone(),
            connector,
            visits,
            policy,
        })
    }

    /// Returns the proxy for a URL, if it has one.
    pub(crate) fn proxy(&self, url: Address<'_>) -> Option<&Proxy> {
        self.rules.find(url)
    }

    /// Connects to the server of a visit through a proxy. The time for that is the time
    /// for a connection.
    ///
    /// # Errors
    /// When there is no connection to the proxy, or when the proxy refuses to connect to the server.
    pub(crate) async fn connect(
        &self,
        proxy: &Proxy,
        visit: &Visit,
        deadline: &Deadline,
    ) -> Result<Connection, FetchError> {
        let server = visit.server();
        let find_route = async || {
            let answer = match is_address(server.host) || proxy.kind() == ProxyKind::Socks5 {
                true => lookup(&self.event_loop, server.host, server.port).await,
                // Left to the proxy.
                false => Ok(Addresses::default()),
            };
            self.policy.route(server.host, server.tls_host, answer)
        };
        let route = match find_route().await {
            Err(error) if is_fd_limit(&error) => {
                self.connector.lookup_when_fd_freed(error, deadline, find_route).await
            }
            route => route,
        };
        let (addresses, layer) = route.map_err(|error| visit.interrupted(&error))?;
        let Some(of_proxy) = self.visits.get(&proxy.to_string()) else {
            return Err(visit.interrupted(&ErrorKind::NotFound.into()));
        };
        let mut connection = self.connector.connect(of_proxy, deadline).await?;
        deadline.enter(Phase::Connect { addresses_left: 1 }, self.event_loop.now());
        match proxy.kind() {
            ProxyKind::Http | ProxyKind::Https if server.tls_host.is_none() => {}
            ProxyKind::Http | ProxyKind::Https => {
                let request = connect_request(proxy, server.host, server.port);
                let mut answer = ConnectAnswer::new();
                exchange(&mut connection, &request, |bytes| answer.take(bytes)).await?;
            }
            ProxyKind::Socks5 | ProxyKind::Socks5h => {
                let mut socks = Socks::new(proxy, server.host, server.port, addresses.first());
                let mut request = socks.greeting();
                while !request.is_empty() {
                    request =
                        exchange(&mut connection, &request, |bytes| socks.take(bytes)).await?;
                }
            }
        }
        if server.tls_host.is_some() {
            connection.stream().start_tls(layer);
        }
        Ok(connection)
    }

    /// Returns a request in the form that the proxy of its URL has to get.
    pub(crate) fn request(&self, url: Address<'_>, request: Vec<u8>) -> Vec<u8> {
        match self.forwarding_proxy(url) {
            Some(proxy) => forwarded(proxy, url, request),
            None => request,
        }
    }

    /// Returns the proxy that makes the request to a server itself.
    fn forwarding_proxy(&self, url: Address<'_>) -> Option<&Proxy> {
        if url.is_secure() {
            return None;
        }
        self.proxy(url).filter(|proxy| proxy.is_http())
    }

    /// Returns the result of an attempt with the name of the proxy in its error. That the
    /// proxy wants a password is an error, too, although it is a response.
    pub(crate) fn explained(&self, visit: &Visit, result: FetchResult) -> FetchResult {
        const AUTHENTICATION_REQUIRED: u16 = 407;
        let url = visit.url();
        let is_refused =
            visit.status() == Some(AUTHENTICATION_REQUIRED) && self.forwarding_proxy(url).is_some();
        // Its head says it.
        let is_whole = result.as_ref().err().is_none_or(|error| visit.needs_no_more(error));
        let result = match result {
            _ if is_refused && is_whole => Err(refusal(AUTHENTICATION_REQUIRED)),
            result => result,
        };
        result.map_err(|error| match self.proxy(url) {
            Some(proxy) if !error.class.is_refusal() => FetchError::new(
                error.class,
                format!("{} (through the proxy {proxy})", error.message),
            ),
            _ => error,
        })
    }
}

fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok()
}

fn connect_request(proxy: &Proxy, host: &str, port: u16) -> Vec<u8> {
    let authorization = proxy.authorization();
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{authorization}\r\n").into()
}

/// Returns a request with its whole URL and the credentials of the proxy.
fn forwarded(proxy: &Proxy, url: Address<'_>, request: Vec<u8>) -> Vec<u8> {
    let after = |end: u8| request.iter().position(|byte| *byte == end).map_or(0, |n| n + 1);
    let (target, headers) = (after(b' '), after(b'\n'));
    let mut forwarded = request[..target].to_vec();
    // The target never has a name and a password (RFC 9110, section 4.2.4).
    forwarded.extend(b"http://");
    forwarded.extend(url.authority().as_bytes());
    forwarded.extend(&request[target..headers]);
    forwarded.extend(proxy.authorization().as_bytes());
    forwarded.extend(&request[headers..]);
    forwarded
}

/// Sends bytes to a proxy, and reads until `take` has its answer.
async fn exchange<T>(
    connection: &mut Connection,
    request: &[u8],
    take: impl FnMut(&[u8]) -> ControlFlow<Result<T, FetchError>>,
) -> Result<T, FetchError> {
    let closed = |error: std::io::Error| {
        if is_tls_error(&error) {
            return FetchError::tls(&error);
        }
        FetchError::new(ErrorClass::Closed, format!("the proxy closed the connection: {error}"))
    };
    write_all(connection, request).await.map_err(closed)?;
    let answer = read_all(connection, take).await.map_err(closed)?;
    answer.unwrap_or_else(|| Err(closed(ErrorKind::UnexpectedEof.into())))
}

/// Returns the error for the status with which a proxy refuses.
fn refusal(status: u16) -> FetchError {
    FetchError::proxy(match status {
        407 => "the proxy requires a valid name and password (407)".to_owned(),
        403 => "the proxy does not allow this (403)".to_owned(),
        _ => format!("the proxy answers CONNECT with status {status}"),
    })
}

/// The answer to `CONNECT`, which is a head only (RFC 9110, section 9.3.6).
struct ConnectAnswer {
    parser: ResponseParser,
    status: Status,
}

struct Status(u16);

impl Sink for Status {
    fn head(&mut self, head: &Head<'_>) -> FetchResult {
        self.0 = head.status;
        Ok(())
    }

    fn body(&mut self, _bytes: &[u8]) -> FetchResult {
        Ok(())
    }
}

impl ConnectAnswer {
    fn new() -> Self {
        // Like the answer to `HEAD`, it has no body, whatever its headers say.
        Self { parser: ResponseParser::new(Method::Head, Limits::default()), status: Status(0) }
    }

    fn take(&mut self, bytes: &[u8]) -> ControlFlow<FetchResult> {
        let progress = match self.parser.feed(bytes, &mut self.status) {
            Ok(progress) => progress,
            Err(error) => return ControlFlow::Break(Err(FetchError::proxy(error.message))),
        };
        ControlFlow::Break(match progress {
            Progress::NeedMore => return ControlFlow::Continue(()),
            Progress::Complete { .. } if !(200..300).contains(&self.status.0) => {
                Err(refusal(self.status.0))
            }
            // A server speaks after its client, in TLS as in HTTP.
            Progress::Complete { unread } if unread > 0 => {
                Err(FetchError::proxy("the proxy sends more than its answer"))
            }
            Progress::Complete { .. } => Ok(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use stage2_coroutines::runtime_on;
    use std::io;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use sim_net::{Fault, SimNet, not_found};

    use super::*;

    /// A look-up that fails for want of a file descriptor says nothing about the server.
    #[test]
    fn a_lookup_without_a_file_descriptor_is_repeated() {
        const EMFILE: i32 = 24;
        let lookups = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&lookups);
        let lookup = move |_: &str, port| match counted.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Err(io::Error::from_raw_os_error(EMFILE)),
            _ => Ok(vec![SocketAddr::from(([10, 0, 0, 1], port))]),
        };
        let net = SimNet::new(|_| not_found());
        net.go_down(Duration::ZERO, Fault::Refuse);
        let runtime = runtime_on(net, Arc::new(transport::Immediate(lookup)));
        let event_loop = runtime.event_loop().clone();
        let proxy = Proxy::parse("socks5://10.0.0.9").unwrap();
        let mut options = Options::new(Vec::new());
        options.proxies = options.proxies.through(proxy.clone());
        // An idle connection is closed each time.
        let direct = Connector::new(&event_loop, &options, || true);
        let tunnels = Tunnels::new(&event_loop, &options, || true, &direct).unwrap();
        let url = "http://a.test/".parse().unwrap();
        let visit = Visit::for_file(&url, 1, &options, event_loop.now());
        let deadline = Deadline::new(&options, event_loop.now());
        let connecting = tunnels.connect(&proxy, &visit, &deadline);
        let error = runtime.run_until_complete(connecting).unwrap().err().unwrap();
        assert_eq!(lookups.load(Ordering::Relaxed), 3);
        assert!(error.message.contains("10.0.0.9"), "{error:?}");
    }
}
