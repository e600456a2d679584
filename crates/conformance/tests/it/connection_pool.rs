//! The connection pool: the number of open connections of a crawl, in use or
//! idle, is bounded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use selector_core::{Key, Socket};

use crate::common::{CountedSocket, Interceptor, Stage, links, options_for, serve};

/// An interceptor that counts open sockets.
#[derive(Clone, Default)]
struct SocketCounter {
    /// Each open socket holds a clone.
    open: Arc<()>,
    peak: Arc<AtomicUsize>,
}

impl Interceptor for SocketCounter {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        let counted = CountedSocket::new(socket, &self.open);
        // Without the clones of this interceptor and of the test.
        let open = Arc::strong_count(&self.open) - 2;
        self.peak.fetch_max(open, Ordering::SeqCst);
        Ok(Socket::custom(counted))
    }
}

/// Each worker uses one connection at a time, and the pool keeps at most as
/// many idle ones as there are workers. So a single host never has more
/// connections than there are workers, and all hosts together have at most
/// twice as many.
#[test]
fn the_pool_is_bounded() {
    const TASKS: usize = 3;
    const HOSTS: usize = 12;
    for (hosts, max) in [(1, TASKS), (HOSTS, 2 * TASKS)] {
        let paths = || (0..20).map(|n| format!("/{n}"));
        let site = || serve(move |_, reply| reply.page(links(paths())));
        let sites: Vec<_> = (0..hosts).map(|_| site()).collect();
        let roots: Vec<String> = sites.iter().map(|site| site.url("/")).collect();
        let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
        let mut options = options_for(&roots);
        options.max_tasks = Some(TASKS);
        let counter = SocketCounter::default();
        let (crawled, _) = Stage::Queue.crawl_with_interceptor(counter.clone(), options);
        assert_eq!(crawled.rows().len(), hosts * 21);
        let peak = counter.peak.load(Ordering::SeqCst);
        assert!(peak > max / 2 && peak <= max, "{peak} connections to {hosts} hosts");
        // Many pages came over a connection that was used before.
        let connections: u64 = sites.iter().map(|site| site.connections()).sum();
        assert!(connections < crawled.rows().len() as u64, "{connections}");
    }
}
