//! The subject `reqwest`: the most used HTTP client, with its connection pool.

use std::io;

use ::reqwest::header::CONTENT_TYPE;
use ::reqwest::{Client, StatusCode, redirect};
use benches::row_check::RowCheck;
use benches::subjects::Work;
use benches::subjects::frontier::{Frontier, url_of};
use benches::subjects::response::{invalid, reader};
use benches::subjects::tokio_raw::{Scratch, on_tokio};
use crawl_core::Options;
use url::Url;
use web::page::Page;

pub(crate) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    let client = client(&work.options, work.max_tasks)?;
    on_tokio(work, row_check, async move |frontier: &Frontier, _: &Scratch| {
        while let Some(job) = frontier.next().await {
            let page = fetch(&client, url_of(&job)?).await?;
            frontier.done(&job, page.as_ref());
        }
        Ok(())
    })
}

fn client(options: &Options, max_tasks: usize) -> io::Result<Client> {
    // spider has it built with all its features, so what no other subject does is taken back:
    // to ask for codings, to look for a proxy, and to read the system's trust store for http.
    Client::builder()
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
        .no_proxy()
        .tls_certs_only([])
        .user_agent(&options.user_agent)
        .redirect(redirect::Policy::none())
        .timeout(options.timeout)
        .connect_timeout(options.connect_timeout)
        .pool_max_idle_per_host(max_tasks)
        .build()
        .map_err(io::Error::other)
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
    use spider::tokio::runtime::Builder;

    use super::*;

    #[test]
    fn reqwest_asks_for_no_coding() {
        let server = Server::start(|request, reply| {
            assert_eq!(request.header("accept-encoding"), None, "{request:?}");
            reply.page("");
        });
        let url = Url::parse(&server.unwrap().url("/")).unwrap();
        let client = client(&Options::new(vec![url.clone()]), 1).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        assert!(runtime.block_on(fetch(&client, url)).unwrap().is_some());
    }
}
