//! reqwest, the client that most people use.

use std::io;

use ::reqwest::header::CONTENT_TYPE;
use ::reqwest::{Client, StatusCode, redirect};
use crawl_core::page::Page;
use url::Url;

use super::Work;
use super::frontier::{Frontier, url_of};
use super::response::{invalid, reader};
use super::tokio_raw::{Scratch, on_tokio};
use crate::tally::Tally;

pub(super) fn crawl(work: Work, tally: Tally) -> io::Result<()> {
    let client = Client::builder()
        .user_agent(&work.options.user_agent)
        .redirect(redirect::Policy::none())
        .timeout(work.options.timeout)
        .connect_timeout(work.options.connect_timeout)
        .pool_max_idle_per_host(work.max_tasks)
        .build()
        .map_err(io::Error::other)?;
    on_tokio(work, tally, async move |crawl: &Frontier, _: &Scratch| {
        while let Some(job) = crawl.next().await {
            let page = fetch(&client, url_of(&job)?).await?;
            crawl.done(&job, page.as_ref());
        }
        Ok(())
    })
}

async fn fetch(client: &Client, url: Url) -> io::Result<Option<Page>> {
    let mut response = client.get(url.clone()).send().await.map_err(io::Error::other)?;
    if response.status() != StatusCode::OK {
        return Err(invalid("no page"));
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut reader = reader(&url, content_type).map(Box::new);
    while let Some(bytes) = response.chunk().await.map_err(io::Error::other)? {
        if let Some(reader) = &mut reader {
            reader.feed(&bytes);
        }
    }
    Ok(reader.map(|reader| reader.finish(&url)))
}
