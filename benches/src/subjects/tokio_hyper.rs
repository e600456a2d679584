//! The subject `tokio-hyper`: hyper on tokio.

use std::io;

use crawl_core::Job;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio::time::timeout;
use web::page::Page;

use super::Work;
use super::frontier::{Frontier, url_of};
use super::response::{invalid, reader};
use super::tokio_raw::{Scratch, on_tokio};
use crate::row_check::RowCheck;

type Connection = SendRequest<Empty<Bytes>>;

pub(super) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    on_tokio(work, row_check, async |frontier: &Frontier, _: &Scratch| {
        let mut idle = None;
        while let Some(job) = frontier.next().await {
            let fetch = fetch(frontier, &job, &mut idle);
            let page = timeout(frontier.work.options.settings.timeout, fetch).await??;
            frontier.done(&job, page.as_ref());
        }
        Ok(())
    })
}

async fn fetch(
    frontier: &Frontier,
    job: &Job,
    idle: &mut Option<Connection>,
) -> io::Result<Option<Page>> {
    let mut connection = match idle.take() {
        Some(connection) => connection,
        None => connect(&frontier.work).await?,
    };
    let url = url_of(job)?;
    let request = Request::get(&url[url::Position::BeforePath..url::Position::AfterQuery])
        .header(HOST, &url[url::Position::BeforeHost..url::Position::AfterPort])
        .header(USER_AGENT, &frontier.work.options.settings.user_agent)
        .header(ACCEPT, "text/html")
        .body(Empty::new())
        .map_err(io::Error::other)?;
    let response = connection.send_request(request).await.map_err(io::Error::other)?;
    if response.status() != StatusCode::OK {
        return Err(invalid("no page"));
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut reader = reader(&url, content_type).map(Box::new);
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(io::Error::other)?;
        if let (Some(reader), Some(bytes)) = (&mut reader, frame.data_ref()) {
            reader.feed(bytes);
        }
    }
    // An error means that the server has closed the connection.
    if connection.ready().await.is_ok() {
        *idle = Some(connection);
    }
    Ok(reader.map(|reader| reader.finish(&url)))
}

async fn connect(work: &Work) -> io::Result<Connection> {
    let stream = TokioIo::new(TcpStream::connect(work.address).await?);
    let (sender, connection) = handshake(stream).await.map_err(io::Error::other)?;
    // An error of the connection is returned by the sender.
    spawn_local(async { drop(connection.await) });
    Ok(sender)
}
