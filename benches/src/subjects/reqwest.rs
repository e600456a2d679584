//! The subject `reqwest`: the most used HTTP client, with its connection pool.

use std::io;

use ::reqwest::header::CONTENT_TYPE;
use ::reqwest::{Client, StatusCode, redirect};
use url::Url;
use web::page::Page;

use super::Work;
use super::frontier::{Frontier, url_of};
use super::response::{invalid, reader};
use super::tokio_raw::{Scratch, on_tokio};
use crate::row_check::RowCheck;

pub(super) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    // spider has it built with all its features, so what no other subject does is taken back:
    // to ask for codings, to look for a proxy, and to read the system's trust store for http.
    let client = Client::builder()
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .no_proxy()
        .tls_certs_only([])
        .user_agent(&work.options.user_agent)
        .redirect(redirect::Policy::none())
        .timeout(work.options.timeout)
        .connect_timeout(work.options.connect_timeout)
        .pool_max_idle_per_host(work.max_tasks)
        .build()
        .map_err(io::Error::other)?;
    on_tokio(work, row_check, async move |frontier: &Frontier, _: &Scratch| {
        while let Some(job) = frontier.next().await {
            let page = fetch(&client, url_of(&job)?).await?;
            frontier.done(&job, page.as_ref());
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

#[cfg(test)]
mod tests {
    use demo_site::scripted::Server;

    use super::*;
    use crate::crawl::Crawl;
    use crate::site_address::SiteAddress;

    #[test]
    fn reqwest_asks_for_no_coding() {
        let server = Server::start(|request, reply| {
            assert_eq!(request.header("accept-encoding"), None, "{request:?}");
            reply.page("");
        });
        let server = server.unwrap();
        let root = server.url("/");
        let work = Work::new(&Crawl {
            subject: "reqwest".to_owned(),
            site_address: SiteAddress { root: root.clone(), authority: Vec::new() },
            pages: 1,
            max_tasks: 1,
            begins_with_all: false,
        });
        let row_check = RowCheck::new(&root, 1);
        crawl(work.unwrap(), row_check.clone()).unwrap();
        assert_eq!(row_check.check().unwrap(), 1);
    }
}
