//! The subject `spider`: that crawler with its defaults, except that it does not
//! request robots.txt, like all other subjects.

use std::io;

use ::spider::tokio;
use ::spider::tokio::runtime::Builder;
use ::spider::website::Website;
use benches::row_check::RowCheck;
use benches::subjects::Work;

pub(crate) fn crawl(work: Work, row_check: RowCheck) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut website = Website::new(&work.root);
        website
            .with_respect_robots_txt(false)
            .with_concurrency_limit(Some(work.max_tasks))
            .with_user_agent(Some(&work.options.user_agent));
        let mut pages = website.subscribe(work.pages as usize);
        let collector = tokio::spawn(async move {
            while let Ok(page) = pages.recv().await {
                if page.status_code.is_success() {
                    row_check.record(page.get_url());
                }
            }
        });
        website.crawl().await;
        website.unsubscribe();
        collector.await.map_err(io::Error::other)
    })
}
