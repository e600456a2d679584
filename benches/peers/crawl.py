"""A crawler built like the chapter's program, on the aiohttp of today.

Workers take URLs from one queue, redirects are followed by hand and share what is known of
URLs, and every URL ends as one line: its status, and the URL. `cargo xtask peers` compares
`crawl` with it.
"""

import argparse
import asyncio
import html
import re
from urllib.parse import urldefrag, urljoin, urlsplit

import aiohttp

LINK = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
REDIRECTS = frozenset([301, 302, 303, 307, 308])


class Crawler:
    """The queue, the known URLs, and the workers between them."""

    def __init__(self, root, max_tasks, max_redirect=10, max_tries=4):
        self.host = urlsplit(root).netloc
        self.max_tasks = max_tasks
        self.max_redirect = max_redirect
        self.max_tries = max_tries
        self.queue = asyncio.Queue()
        self.seen_urls = set()
        self.rows = []
        self.add_url(root, max_redirect)

    def add_url(self, url, redirects_left):
        """Puts a URL of the site into the queue, unless it is known."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return
        is_ours = parts.scheme in ("http", "https") and parts.netloc == self.host
        if is_ours and url not in self.seen_urls:
            self.seen_urls.add(url)
            self.queue.put_nowait((url, redirects_left))

    async def crawl(self):
        """Runs the workers until nothing is left to do."""
        async with aiohttp.ClientSession() as session:
            workers = [asyncio.create_task(self.work(session)) for _ in range(self.max_tasks)]
            await self.queue.join()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def work(self, session):
        """Fetches one URL after another, until it is cancelled."""
        while True:
            url, redirects_left = await self.queue.get()
            try:
                await self.fetch(session, url, redirects_left)
            except (ValueError, LookupError) as error:
                self.rows.append((url, f"error {type(error).__name__}"))
            finally:
                self.queue.task_done()

    async def fetch(self, session, url, redirects_left):
        """Fetches one URL, and puts what it leads to into the queue."""
        for attempt in range(1, self.max_tries + 1):
            try:
                async with session.get(url, allow_redirects=False) as response:
                    await self.settle(url, redirects_left, response)
                return
            except (aiohttp.ClientError, asyncio.TimeoutError) as error:
                if attempt == self.max_tries:
                    self.rows.append((url, f"error {type(error).__name__}"))

    async def settle(self, url, redirects_left, response):
        """Makes the row of a response, and follows its redirect or its links."""
        target = response.headers.get("Location")
        if response.status in REDIRECTS and target is not None:
            if redirects_left == 0:
                self.rows.append((url, "error TooManyRedirects"))
                return
            self.add_url(urldefrag(urljoin(url, target)).url, redirects_left - 1)
        else:
            body = await response.read()
            if response.status == 200 and response.content_type == "text/html":
                text = body.decode(response.charset or "utf-8", "replace")
                for found in LINK.finditer(text):
                    link = html.unescape(found[1] or found[2] or "")
                    try:
                        link = urldefrag(urljoin(url, link)).url
                    except ValueError:
                        continue
                    self.add_url(link, self.max_redirect)
        self.rows.append((url, str(response.status)))


def main():
    """Crawls a site and prints its rows, sorted, and their number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="version", version=f"aiohttp {aiohttp.__version__}")
    parser.add_argument("root")
    parser.add_argument("--max_tasks", type=int, default=10)
    arguments = parser.parse_args()

    async def run():
        crawler = Crawler(arguments.root, arguments.max_tasks)
        await crawler.crawl()
        return crawler

    crawler = asyncio.run(run())
    for url, result in sorted(crawler.rows):
        print(result, url)
    print("Done:", len(crawler.rows))


if __name__ == "__main__":
    main()
