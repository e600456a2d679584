//! The subject `smol`: an executor and a reactor from small crates.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};

use ::smol::future::or;
use ::smol::io::{AsyncRead, AsyncWriteExt};
use ::smol::net::TcpStream;
use ::smol::{LocalExecutor, Timer, block_on};
use benches::row_check::RowCheck;
use benches::subjects::Work;
use benches::subjects::frontier::{Frontier, url_of};
use benches::subjects::response::{Response, request};
use crawl_core::Job;
use url::Url;
use web::page::Page;

const SCRATCH: usize = 64 * 1024;

/// The scratch buffer of all reads.
type Scratch = RefCell<Vec<u8>>;

pub(crate) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    let executor = LocalExecutor::new();
    block_on(executor.run(async {
        let frontier = Frontier::new(work, row_check);
        let scratch = Rc::new(RefCell::new(vec![0; SCRATCH]));
        let run = |_| {
            let (frontier, scratch) = (Rc::clone(&frontier), Rc::clone(&scratch));
            executor
                .spawn(async move { frontier.worker_ended(run_worker(&frontier, &scratch).await) })
        };
        let workers: Vec<_> = (0..frontier.work.max_tasks).map(run).collect();
        for worker in workers {
            worker.await;
        }
        frontier.outcome()
    }))
}

/// Runs one worker, over one connection after another, or one for all.
async fn run_worker(frontier: &Frontier, scratch: &Scratch) -> io::Result<()> {
    let mut idle = None;
    while let Some(job) = frontier.next().await {
        let timeout = async {
            Timer::after(frontier.work.options.timeout).await;
            Err(io::ErrorKind::TimedOut.into())
        };
        let page = or(fetch(frontier, scratch, &job, &mut idle), timeout).await?;
        frontier.done(&job, page.as_ref());
    }
    Ok(())
}

async fn fetch(
    frontier: &Frontier,
    scratch: &Scratch,
    job: &Job,
    idle: &mut Option<TcpStream>,
) -> io::Result<Option<Page>> {
    let mut stream = match idle.take() {
        Some(stream) => stream,
        None => TcpStream::connect(frontier.work.address).await?,
    };
    let url = url_of(job)?;
    let request = request(&url, &frontier.work.options.user_agent);
    stream.write_all(request.as_bytes()).await?;
    drop(request);
    let response = read(&mut stream, scratch, &url).await?;
    *idle = response.keep_alive().then_some(stream);
    Ok(response.page(&url))
}

async fn read(stream: &mut TcpStream, scratch: &Scratch, url: &Url) -> io::Result<Response> {
    let mut response = Response::default();
    let mut more = poll_fn(|context| {
        let mut scratch = scratch.borrow_mut();
        let count = ready!(Pin::new(&mut *stream).poll_read(context, &mut scratch))?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        Poll::Ready(response.feed(&scratch[..count], Some(url)))
    });
    while !(&mut more).await? {}
    Ok(response)
}
