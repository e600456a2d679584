//! tokio with nothing between it and the socket.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use crawl_core::page::Page;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::spawn_local;
use tokio::time::timeout;
use url::Url;

use super::Work;
use super::frontier::{Frontier, url_of};
use super::response::{Response, request};
use crate::tally::Tally;

const SCRATCH: usize = 64 * 1024;

pub(super) fn crawl(work: Work, tally: Tally) -> io::Result<()> {
    let address = work.address;
    on_tokio(work, tally, async move |crawl: &Frontier, scratch: &Scratch| {
        work_off(crawl, scratch, async || TcpStream::connect(address).await).await
    })
}

/// The one buffer that all reads go through.
pub(super) type Scratch = RefCell<Vec<u8>>;

/// Runs as many workers as there may be.
pub(super) fn on_tokio(
    work: Work,
    tally: Tally,
    worker: impl AsyncFn(&Frontier, &Scratch) -> io::Result<()> + Clone + 'static,
) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build_local(<_>::default())?;
    runtime.block_on(async {
        let frontier = Frontier::new(work, tally);
        let scratch = Rc::new(RefCell::new(vec![0; SCRATCH]));
        let run = || {
            let (frontier, scratch) = (Rc::clone(&frontier), Rc::clone(&scratch));
            let worker = worker.clone();
            spawn_local(async move { frontier.ended(worker(&frontier, &scratch).await) })
        };
        let workers: Vec<_> = (0..frontier.work.max_tasks).map(|_| run()).collect();
        for worker in workers {
            worker.await?;
        }
        frontier.outcome()
    })
}

/// What one worker does, over one connection after another, or one for all.
pub(super) async fn work_off<S: AsyncRead + AsyncWrite + Unpin>(
    crawl: &Frontier,
    scratch: &Scratch,
    connect: impl AsyncFn() -> io::Result<S>,
) -> io::Result<()> {
    let mut kept = None;
    while let Some(job) = crawl.next().await {
        let url = url_of(&job)?;
        let fetch = async {
            let mut stream = match kept.take() {
                Some(stream) => stream,
                None => connect().await?,
            };
            let request = request(&url, &crawl.work.options.user_agent);
            stream.write_all(request.as_bytes()).await?;
            drop(request);
            let (page, keep_alive) = read(&mut stream, scratch, &url).await?;
            kept = keep_alive.then_some(stream);
            io::Result::Ok(page)
        };
        let page = timeout(crawl.work.options.timeout, fetch).await??;
        crawl.done(&job, page.as_ref());
    }
    Ok(())
}

/// The page, if it is one, and whether the connection is kept.
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
