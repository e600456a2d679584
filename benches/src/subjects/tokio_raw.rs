//! The subject `tokio-raw`: tokio's sockets without an HTTP library.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::spawn_local;
use tokio::time::timeout;
use url::Url;
use web::page::Page;

use super::Work;
use super::frontier::{Frontier, url_of};
use super::response::{Response, request};
use crate::row_check::RowCheck;

const SCRATCH: usize = 64 * 1024;

pub(super) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    let address = work.address;
    on_tokio(work, row_check, async move |frontier: &Frontier, scratch: &Scratch| {
        run_worker(frontier, scratch, async || TcpStream::connect(address).await).await
    })
}

/// The scratch buffer of all reads.
pub type Scratch = RefCell<Vec<u8>>;

/// Runs the maximum number of workers on tokio until the crawl ends.
///
/// # Errors
/// When the runtime cannot be started, or the first error of a worker.
pub fn on_tokio(
    work: Work,
    row_check: RowCheck,
    worker: impl AsyncFn(&Frontier, &Scratch) -> io::Result<()> + Clone + 'static,
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build_local(<_>::default())?;
    runtime.block_on(async {
        let frontier = Frontier::new(work, row_check);
        let scratch = Rc::new(RefCell::new(vec![0; SCRATCH]));
        let run = || {
            let (frontier, scratch) = (Rc::clone(&frontier), Rc::clone(&scratch));
            let worker = worker.clone();
            spawn_local(async move { frontier.worker_ended(worker(&frontier, &scratch).await) })
        };
        let workers: Vec<_> = (0..frontier.work.max_tasks).map(|_| run()).collect();
        for worker in workers {
            worker.await?;
        }
        frontier.outcome()
    })
}

/// Runs one worker, over one connection after another, or one for all.
pub(super) async fn run_worker<S: AsyncRead + AsyncWrite + Unpin>(
    frontier: &Frontier,
    scratch: &Scratch,
    connect: impl AsyncFn() -> io::Result<S>,
) -> io::Result<()> {
    let mut idle = None;
    while let Some(job) = frontier.next().await {
        let url = url_of(&job)?;
        let fetch = async {
            let mut stream = match idle.take() {
                Some(stream) => stream,
                None => connect().await?,
            };
            let request = request(&url, &frontier.work.options.settings.user_agent);
            stream.write_all(request.as_bytes()).await?;
            drop(request);
            let (page, keep_alive) = read(&mut stream, scratch, &url).await?;
            idle = keep_alive.then_some(stream);
            io::Result::Ok(page)
        };
        let page = timeout(frontier.work.options.settings.timeout, fetch).await??;
        frontier.done(&job, page.as_ref());
    }
    Ok(())
}

/// Reads a response; returns its page, if it is HTML, and true if the connection
/// is kept alive.
async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    scratch: &Scratch,
    url: &Url,
) -> io::Result<(Option<Page>, bool)> {
    let mut response = Response::default();
    let mut more = poll_fn(|context| {
        let mut scratch = scratch.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer))?;
        if buffer.filled().is_empty() {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        Poll::Ready(response.feed(buffer.filled(), Some(url)))
    });
    while !(&mut more).await? {}
    let keep_alive = response.keep_alive();
    Ok((response.page(url), keep_alive))
}
