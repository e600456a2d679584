//! The crawler `spider`, as it comes, but for what would make it do something
//! else than the others: it asks for no robots.txt.

use std::io;

use ::spider::tokio;
use ::spider::tokio::runtime::Builder;
use ::spider::website::Website;

use super::Work;
use crate::tally::Tally;

pub(super) fn crawl(work: Work, tally: Tally) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut website = Website::new(&work.root);
        website
            .with_respect_robots_txt(false)
            .with_concurrency_limit(Some(work.max_tasks))
            .with_user_agent(Some(&work.options.user_agent));
        let mut pages = website.subscribe(work.pages as usize);
        let noting = tokio::spawn(async move {
            while let Ok(page) = pages.recv().await {
                tally.found(page.get_url());
            }
        });
        website.crawl().await;
        website.unsubscribe();
        noting.await.map_err(io::Error::other)
    })
}
