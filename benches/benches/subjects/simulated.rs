//! Crawls on a simulated network: no socket, no other process and no clock, so
//! that a crawl executes the same instructions each time, however busy the
//! machine is. (A real server in another process decides how many events a wait
//! returns, and each wait costs instructions.)

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crawl_core::{Options, Outcome, Sink};
use sim_net::{Response, SimNet, response};
use transport::system_lookup;

/// The number of pages of the site.
const PAGES: usize = 1000;
/// The size of a page whose links are followed. They are a part of it.
const PAGE_SIZE: usize = 8 * 1024;
/// The size of a page of a crawl that knows all URLs: small, because the network
/// copies it, which is no part of the crawl.
const SMALL_PAGE_SIZE: usize = 256;
/// The number of links of a page.
const LINKS: usize = 10;
/// The maximum number of concurrent fetches.
const MAX_TASKS: usize = 100;
const ROOT: &str = "http://10.0.0.1/";

/// The kind of a simulated site.
#[derive(Clone, Copy)]
pub(crate) enum Site {
    /// The crawl knows all URLs; each response ends its connection.
    Close,
    /// The crawl knows all URLs; connections are kept.
    KeepAlive,
    /// The crawl follows links; connections are kept.
    Links,
}

/// A crawl that is ready to run.
pub(crate) struct Prepared {
    network: SimNet,
    options: Options,
}

/// Prepares a crawl of a simulated site.
pub(crate) fn prepare(site: Site) -> Prepared {
    let pages: Vec<Response> = (0..PAGES).map(|number| page(site, number)).collect();
    let network = SimNet::new(move |request| {
        let number = request.path.trim_start_matches('/').parse().unwrap_or(0);
        pages[number].clone()
    });
    let roots = match site {
        Site::Links => 0..1,
        Site::Close | Site::KeepAlive => 0..PAGES,
    };
    let mut options = Options::new(roots.map(|number| url(number).parse().unwrap()).collect());
    options.settings.robots = false;
    options.max_tasks = Some(MAX_TASKS);
    Prepared { network, options }
}

fn url(number: usize) -> String {
    if number == 0 { ROOT.to_owned() } else { format!("{ROOT}{number}") }
}

/// Makes the page of this number. Its links lead to the next pages of a tree.
fn page(site: Site, number: usize) -> Response {
    let next = (number * LINKS + 1..).take(LINKS).filter(|next| *next < PAGES);
    let next = next.filter(|_| matches!(site, Site::Links));
    let mut body: String = next.map(|next| format!("<a href=\"/{next}\">on</a>\n")).collect();
    let size = if matches!(site, Site::Links) { PAGE_SIZE } else { SMALL_PAGE_SIZE };
    while body.len() < size {
        body += "<p>A page says little, and <em>takes its time</em> to say it.</p>\n";
    }
    let headers = match site {
        Site::Close => "Content-Type: application/octet-stream\r\nConnection: close\r\n",
        Site::KeepAlive => "Content-Type: application/octet-stream\r\n",
        Site::Links => "Content-Type: text/html\r\n",
    };
    response("200 OK", headers, body)
}

/// Crawls with callbacks.
pub(crate) fn callbacks(Prepared { network, options }: Prepared) {
    let mut event_loop = stage1_callbacks::EventLoop::with_backend(network);
    let lookup = Arc::new(system_lookup);
    check(|sink| stage1_callbacks::crawl_on(&mut event_loop, lookup, options, sink).map(drop));
}

/// Crawls with coroutines.
pub(crate) fn coroutines(Prepared { network, options }: Prepared) {
    let runtime = stage2_coroutines::runtime_on(network, Arc::new(system_lookup));
    check(|sink| stage2_coroutines::crawl_on(runtime, options, sink).map(drop));
}

/// Crawls with workers around a queue.
pub(crate) fn queue(Prepared { network, options }: Prepared) {
    let runtime = stage2_coroutines::runtime_on(network, Arc::new(system_lookup));
    check(|sink| stage3_queue::crawl_on(runtime, options, sink).map(drop));
}

/// Runs a crawl, and fails unless it finds every page.
fn check(crawl: impl FnOnce(Sink) -> io::Result<()>) {
    let found = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&found);
    let sink: Sink = Box::new(move |row| {
        let is_found = matches!(row.outcome, Outcome::Page | Outcome::Other);
        count.fetch_add(usize::from(is_found), Ordering::Relaxed);
    });
    crawl(sink).unwrap();
    assert_eq!(found.load(Ordering::Relaxed), PAGES);
}
