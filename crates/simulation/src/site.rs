//! A random site: its hosts and pages, what they answer, and the rows that follow from
//! that.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crawl_core::{ErrorClass, Options, Outcome};
use sim_net::{
    Fault, Link, Request, Response, SimNet, cut, hang_up, not_found, redirect, response, silence,
    text,
};

use crate::random::Random;

/// The most faulty pages of a host: with more of them, one after another, the crawler
/// may take the host for dead, and rightly.
const MAX_FAULTS: u32 = 6;

/// The most busy pages of a host.
const MAX_BUSY: u32 = 4;

/// The values of `Retry-After` of busy pages. Of the last two, one is longer than
/// any wait and one is no number.
const RETRY_AFTER: [&str; 6] = ["", "1", "2", "soon", "90", "1e9"];

/// The index of the first of them that is cut to the longest wait, or is none.
const LONG: usize = 4;

/// A site of one or more hosts.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) hosts: Vec<Host>,
    pages: Vec<Page>,
    /// The pages by host and path.
    paths: HashMap<(String, String), usize>,
}

/// One host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    pub(crate) link: Link,
    pub(crate) health: Health,
    /// The delay between two requests that its robots.txt asks for, in seconds.
    pub(crate) crawl_delay: Option<u64>,
    /// The status of its robots.txt: 200, 404, or 503 at first.
    robots: Robots,
    has_sitemap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Robots {
    Missing,
    There,
    /// There, after so many busy answers.
    Busy(u32),
}

/// The health of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Well,
    /// It never answers.
    Down(Fault),
    /// It is down between two times.
    Flaps(Duration, Duration, Fault),
    /// All its pages are busy, always.
    Busy,
}

/// One page.
#[derive(Clone, Debug)]
struct Page {
    host: usize,
    path: String,
    reply: Reply,
    links: Vec<usize>,
    images: Vec<usize>,
    is_in_sitemap: bool,
    /// Robots.txt forbids it.
    is_forbidden: bool,
}

/// The answer of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Html,
    Text,
    Missing,
    Error,
    /// A redirect to the page of a number.
    Redirect(usize),
    /// A redirect off the site.
    RedirectAway,
    /// A chain of redirects without end.
    Chain,
    /// So many busy answers before the right one, with this `Retry-After`.
    Busy(u32, usize),
    /// So many connections are closed before the right answer.
    HangsUp(u32),
    /// The connection is always closed.
    Dead,
    Cut,
    NoHttp,
    BadCoding,
    Silent,
    Slow,
}

/// The row that is expected of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) outcome: Outcome,
    pub(crate) status: Option<u16>,
    pub(crate) class: Option<ErrorClass>,
    /// The depth, if each run must find the same one.
    pub(crate) depth: Option<u32>,
    /// False if the row depends on the moment at which a host is asked, or if the URL
    /// can be reached only in a way that does.
    pub(crate) is_sure: bool,
    /// True if the host itself is not well, so that its URLs may fail.
    pub(crate) may_fail: bool,
}

impl Site {
    /// Makes a site of at most `max_pages` pages besides the roots of its hosts.
    pub(crate) fn new(random: &mut Random, max_pages: u64, has_images: bool) -> Self {
        let num_hosts = 1 + random.index(4);
        let hosts: Vec<Host> = (0..num_hosts).map(|n| Host::new(random, n)).collect();
        let num_pages = num_hosts + 1 + random.below(max_pages) as usize;
        let mut counts = vec![(0, 0); num_hosts];
        let mut pages: Vec<Page> =
            (0..num_pages).map(|n| Page::new(random, n, &hosts, &mut counts)).collect();
        let redirects: Vec<usize> =
            (0..num_pages).filter(|n| matches!(pages[*n].reply, Reply::Redirect(_))).collect();
        let targets: Vec<usize> = (0..num_pages)
            .filter(|n| !matches!(pages[*n].reply, Reply::Redirect(_) | Reply::Chain))
            .collect();
        for (index, &from) in redirects.iter().enumerate() {
            // At most four in a row, and circles of one.
            let to = match random.below(10) {
                0 => from,
                1..3 if index % 4 < 3 && index + 1 < redirects.len() => redirects[index + 1],
                _ => random.pick(&targets),
            };
            pages[from].reply = Reply::Redirect(to);
        }
        // What is loaded leads nowhere: so the depth of each URL is the same in each run.
        let leaves: Vec<usize> = (num_hosts..num_pages)
            .filter(|n| !pages[*n].leads_on() && !matches!(pages[*n].reply, Reply::Chain))
            .collect();
        let spread = 1 + random.below(6);
        for n in 0..num_pages {
            let num_links = random.below(2 * spread);
            let mut links: Vec<usize> = (0..num_links).map(|_| random.index(num_pages)).collect();
            // Each page is linked to from one before it, but for a few.
            if n > 0 && !random.percent(3) {
                let parent = random.index(n);
                pages[parent].links.push(n);
            }
            pages[n].links.append(&mut links);
            if has_images && !leaves.is_empty() {
                pages[n].images = (0..random.below(3)).map(|_| random.pick(&leaves)).collect();
            }
        }
        let path = |page: &Page| (hosts[page.host].name.clone(), page.path.clone());
        let paths = pages.iter().enumerate().map(|(n, page)| (path(page), n)).collect();
        Self { hosts, pages, paths }
    }

    /// Returns true if one request is enough for this path of a host: neither has a fault.
    pub(crate) fn is_plain(&self, host: &str, path: &str) -> bool {
        let page = self.paths.get(&(host.to_owned(), path.to_owned()));
        page.map(|page| &self.pages[*page]).is_some_and(|page| {
            self.hosts[page.host].health == Health::Well
                && matches!(
                    page.reply,
                    Reply::Html
                        | Reply::Text
                        | Reply::Missing
                        | Reply::Slow
                        | Reply::Redirect(_)
                        | Reply::RedirectAway
                        | Reply::Chain
                )
        })
    }

    /// Puts the hosts on a network.
    pub(crate) fn connect(&self, net: &SimNet) {
        for host in &self.hosts {
            net.name(&host.name, host.address);
            net.link(host.address, host.link);
        }
    }

    /// Returns the URLs of the roots: one for each host.
    pub(crate) fn roots(&self) -> Vec<String> {
        self.hosts.iter().map(|host| format!("http://{}/", host.name)).collect()
    }

    fn url(&self, page: usize) -> String {
        let page = &self.pages[page];
        format!("http://{}{}", self.hosts[page.host].name, page.path)
    }

    /// Returns the text of a link from a page to another, in one of its forms.
    fn link(&self, from: usize, to: usize) -> String {
        let (here, there) = (&self.pages[from], &self.pages[to]);
        let (url, path) = (self.url(to), &there.path);
        match (from + 3 * to) % 7 {
            0 if here.host == there.host => path.clone(),
            1 if here.host == there.host => format!("/x/..{path}#top"),
            2 => url.replacen("http:", "HTTP:", 1),
            3 => format!("//{}{path}", self.hosts[there.host].name),
            4 => format!("{url}#part-{from}"),
            5 => url.replacen(".test", ".TEST:80", 1),
            _ => url,
        }
    }

    /// Answers a request; `times` says how often its URL was asked before.
    pub(crate) fn answer(&self, request: &Request, times: u32) -> Response {
        let Some(host) = self.hosts.iter().find(|host| host.name == request.host) else {
            return not_found();
        };
        match &*request.path {
            "/robots.txt" => return host.robots_txt(times),
            "/sitemap.xml" if host.has_sitemap => return self.sitemap(host),
            _ => {}
        }
        if host.health == Health::Busy {
            return response("503 Unavailable", "Retry-After: 3\r\n", "later");
        }
        if let Some((page, n)) = chain(&request.path) {
            return redirect(&format!("/chain-{page}/{}", n + 1));
        }
        match self.paths.get(&(request.host.clone(), request.path.clone())) {
            Some(page) => self.reply(*page, times),
            None => not_found(),
        }
    }

    fn reply(&self, n: usize, times: u32) -> Response {
        let this = &self.pages[n];
        let html = || {
            let links: String = this
                .links
                .iter()
                .map(|to| format!("<a href='{}'>{to}</a>\n", self.link(n, *to)))
                .collect();
            let images: String = this
                .images
                .iter()
                .map(|to| format!("<img src='{}'>\n", self.link(n, *to)))
                .collect();
            let away = "<a href=http://elsewhere.test/>elsewhere</a>";
            let html = format!("<title>{n}</title>{links}{away}{images}");
            response("200 OK", "Content-Type: text/html\r\n", html)
        };
        match this.reply {
            Reply::Html => html(),
            Reply::Text => text("no page"),
            Reply::Missing => not_found(),
            Reply::Error => response("500 Oops", "", "oops"),
            Reply::Redirect(to) => redirect(&self.link(n, to)),
            Reply::RedirectAway => redirect("http://elsewhere.test/"),
            Reply::Chain => redirect(&format!("/chain-{n}/1")),
            Reply::Busy(busy, retry_after) if times < busy => {
                let status = ["429 Too Many Requests", "503 Unavailable"][n % 2];
                let head = match RETRY_AFTER[retry_after] {
                    "" => String::new(),
                    value => format!("Retry-After: {value}\r\n"),
                };
                response(status, &head, "later")
            }
            Reply::HangsUp(failures) if times < failures => hang_up(),
            Reply::Busy(..) | Reply::HangsUp(_) => html(),
            Reply::Dead => hang_up(),
            Reply::Cut => {
                let whole = html();
                let length = whole.bytes.len() - 1;
                cut(whole, length)
            }
            Reply::NoHttp => {
                Response { bytes: b"HTTP/9 what\r\n\r\n".into(), closes: true, ..html() }
            }
            Reply::BadCoding => {
                let head = "Content-Type: text/html\r\nContent-Encoding: gzip\r\n";
                response("200 OK", head, "none")
            }
            Reply::Silent => silence(),
            Reply::Slow => html().after(Duration::from_secs(10)),
        }
    }

    fn sitemap(&self, host: &Host) -> Response {
        let of_host = self.pages.iter().filter(|page| self.hosts[page.host].name == host.name);
        let urls: String = of_host
            .filter(|page| page.is_in_sitemap)
            .map(|page| format!("http://{}{}\n", host.name, page.path))
            .collect();
        text(urls)
    }

    /// Returns the rows that follow from the site, with these options.
    pub(crate) fn expected(&self, options: &Options) -> BTreeMap<String, Expected> {
        let sure = self.depths(options, Health::is_steady);
        let all = self.depths(options, |_| true);
        let is_steady = self.hosts.iter().all(|host| host.health.is_steady());
        let mut rows = BTreeMap::new();
        for (&n, &depth) in &all {
            let page = &self.pages[n];
            let depth = Some(depth).filter(|_| is_steady && options.settings.max_depth.is_some());
            let (outcome, status, class) = self.known(page);
            let host = &self.hosts[page.host];
            let is_sure = sure.contains_key(&n) && host.health.is_steady();
            let may_fail = !host.health.is_steady();
            let row = Expected { outcome, status, class, depth, is_sure, may_fail };
            if outcome == Outcome::Redirect && page.reply == Reply::Chain {
                let last = u64::from(options.settings.max_redirect);
                for k in 1..=last {
                    let url = format!("http://{}/chain-{n}/{k}", host.name);
                    rows.insert(url, Expected { ..row.clone() }.ends_chain(k == last));
                }
            }
            rows.insert(self.url(n), row);
        }
        rows
    }

    /// Returns the outcome of a page, its status and the class of its error.
    fn known(&self, page: &Page) -> (Outcome, Option<u16>, Option<ErrorClass>) {
        let failed = |status, class| (Outcome::Failed, status, Some(class));
        let host = &self.hosts[page.host];
        match host.health {
            Health::Down(Fault::Refuse) => return failed(None, ErrorClass::Connect),
            Health::Down(Fault::Swallow) => return failed(None, ErrorClass::Timeout),
            _ if page.is_forbidden && host.robots != Robots::Missing => {
                return (Outcome::Skipped, None, Some(ErrorClass::Robots));
            }
            _ => {}
        }
        match page.reply {
            Reply::Html | Reply::Busy(..) | Reply::HangsUp(_) | Reply::Slow => {
                (Outcome::Page, Some(200), None)
            }
            Reply::Text => (Outcome::Other, Some(200), None),
            Reply::Missing => (Outcome::HttpError, Some(404), None),
            Reply::Error => (Outcome::HttpError, Some(500), None),
            Reply::Redirect(to) if self.pages[to].path == page.path => {
                (Outcome::HttpError, Some(302), Some(ErrorClass::RedirectLoop))
            }
            Reply::Redirect(_) | Reply::RedirectAway | Reply::Chain => {
                (Outcome::Redirect, Some(302), None)
            }
            Reply::Dead => failed(None, ErrorClass::Closed),
            Reply::Cut => failed(Some(200), ErrorClass::Truncated),
            Reply::NoHttp => failed(None, ErrorClass::Protocol),
            Reply::BadCoding => failed(Some(200), ErrorClass::Decode),
            Reply::Silent => failed(None, ErrorClass::Timeout),
        }
    }

    /// Returns the depth of each page that can be reached through hosts that are
    /// `trusted`: a search in the order of depth (0-1 breadth-first search).
    fn depths(&self, options: &Options, trusted: fn(Health) -> bool) -> BTreeMap<usize, u32> {
        let mut todo: VecDeque<(usize, u32)> = (0..self.hosts.len()).map(|n| (n, 0)).collect();
        if options.settings.sitemap {
            let named = (0..self.pages.len()).filter(|n| {
                let page = &self.pages[*n];
                let host = &self.hosts[page.host];
                let is_read = !matches!(host.health, Health::Down(_)) && trusted(host.health);
                page.is_in_sitemap && host.has_sitemap && is_read
            });
            todo.extend(named.map(|n| (n, 1)));
        }
        let mut depths: BTreeMap<usize, u32> = BTreeMap::new();
        while let Some((n, depth)) = todo.pop_front() {
            let is_deeper = depths.get(&n).is_some_and(|known| *known <= depth);
            if is_deeper || options.settings.max_depth.is_some_and(|max| depth > max) {
                continue;
            }
            depths.insert(n, depth);
            let page = &self.pages[n];
            if !trusted(self.hosts[page.host].health) {
                continue;
            }
            match self.known(page) {
                // What has come of a page that was cut is searched.
                (Outcome::Page, ..) | (_, _, Some(ErrorClass::Truncated)) => {
                    for to in page.images.iter().filter(|_| options.settings.check.images) {
                        todo.push_front((*to, depth));
                    }
                    todo.extend(page.links.iter().map(|to| (*to, depth + 1)));
                }
                (Outcome::Redirect, ..) => {
                    if let Reply::Redirect(to) = page.reply {
                        todo.push_front((to, depth));
                    }
                }
                _ => {}
            }
        }
        depths
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for host in &self.hosts {
            writeln!(f, "{host:?}")?;
        }
        for (n, Page { reply, links, images, is_in_sitemap, .. }) in self.pages.iter().enumerate() {
            write!(f, "{} {reply:?} links {links:?} images {images:?}", self.url(n))?;
            writeln!(f, "{}", if *is_in_sitemap { ", in the sitemap" } else { "" })?;
        }
        Ok(())
    }
}

impl Expected {
    /// Returns what is expected of a further URL of a chain, or of its last one.
    fn ends_chain(self, is_last: bool) -> Self {
        match is_last {
            true => {
                Self { outcome: Outcome::HttpError, class: Some(ErrorClass::RedirectLimit), ..self }
            }
            false => self,
        }
    }
}

/// Returns the page to which a URL of a chain belongs, and its number in the chain.
fn chain(path: &str) -> Option<(usize, u64)> {
    let (page, n) = path.strip_prefix("/chain-")?.split_once('/')?;
    Some((page.parse().ok()?, n.parse().ok()?))
}

impl Health {
    /// Returns true if the host answers the same whenever it is asked.
    pub(crate) fn is_steady(self) -> bool {
        matches!(self, Self::Well | Self::Down(_))
    }
}

impl Host {
    fn new(random: &mut Random, n: usize) -> Self {
        let fault = random.pick(&[Fault::Refuse, Fault::Swallow]);
        let down = Duration::from_millis(random.below(20_000));
        let up = down + Duration::from_millis(random.below(60_000));
        // The first host is well, or there would be no site.
        let health = match random.below(100) {
            _ if n == 0 => Health::Well,
            0..5 => Health::Down(fault),
            5..9 => Health::Flaps(down, up, fault),
            9..12 => Health::Busy,
            _ => Health::Well,
        };
        let latency = Duration::from_millis(random.pick(&[0, 0, 1, 20, 80]));
        let link = Link {
            latency,
            jitter: Duration::from_millis(random.pick(&[0, 0, 5, 50])),
            bandwidth: random.pick(&[None, None, Some(1_000_000), Some(10_000)]),
            packet: random.pick(&[None, None, Some(1460), Some(100)]),
            fault: if let Health::Down(fault) = health { Some(fault) } else { None },
        };
        let robots = random.pick(&[
            Robots::Missing,
            Robots::Missing,
            Robots::There,
            Robots::There,
            Robots::Busy(1),
            Robots::Busy(2),
        ]);
        let delay = random.pick(&[None, None, None, Some(1), Some(3)]);
        Self {
            name: format!("h{n}.test"),
            address: IpAddr::from([10, 1, 0, 1 + n as u8]),
            link,
            health,
            crawl_delay: delay.filter(|_| robots != Robots::Missing),
            robots,
            has_sitemap: random.percent(50),
        }
    }

    fn robots_txt(&self, times: u32) -> Response {
        match self.robots {
            Robots::Missing => not_found(),
            Robots::Busy(busy) if times < busy => {
                response("503 Unavailable", "Retry-After: 1\r\n", "later")
            }
            Robots::There | Robots::Busy(_) => {
                let delay = self.crawl_delay.map(|delay| format!("Crawl-delay: {delay}\n"));
                let delay = delay.unwrap_or_default();
                text(format!("User-agent: *\nDisallow: /private/\n{delay}"))
            }
        }
    }
}

impl Page {
    fn new(random: &mut Random, n: usize, hosts: &[Host], counts: &mut [(u32, u32)]) -> Self {
        // The first pages are the roots of the hosts.
        let is_root = n < hosts.len();
        let host = if is_root { n } else { random.index(hosts.len()) };
        let (faults, busy) = &mut counts[host];
        let reply = match random.below(100) {
            _ if is_root => Reply::Html,
            0..8 => Reply::Redirect(n),
            8..9 => Reply::RedirectAway,
            9..10 => Reply::Chain,
            10..15 => Reply::Missing,
            15..17 => Reply::Error,
            17..25 => Reply::Text,
            25..31 if *busy < MAX_BUSY => {
                let retry_after = random.index(RETRY_AFTER.len());
                // A URL that was busy for the longest wait is asked once more only.
                let times = if retry_after >= LONG { 1 } else { 1 + random.below(3) as u32 };
                Reply::Busy(times, retry_after)
            }
            31..34 if *faults < MAX_FAULTS => Reply::HangsUp(1 + random.below(3) as u32),
            34..35 if *faults < MAX_FAULTS => Reply::Dead,
            35..36 if *faults < MAX_FAULTS => Reply::Cut,
            36..37 if *faults < MAX_FAULTS => Reply::NoHttp,
            37..38 if *faults < MAX_FAULTS => Reply::BadCoding,
            38..39 if *faults < MAX_FAULTS => Reply::Silent,
            39..41 => Reply::Slow,
            _ => Reply::Html,
        };
        *busy += u32::from(matches!(reply, Reply::Busy(..)));
        *faults += u32::from(matches!(
            reply,
            Reply::HangsUp(_)
                | Reply::Dead
                | Reply::Cut
                | Reply::NoHttp
                | Reply::BadCoding
                | Reply::Silent
        ));
        let is_forbidden = !is_root && random.percent(5);
        let path = match (is_root, is_forbidden) {
            (true, _) => "/".to_owned(),
            (false, true) => format!("/private/p{n}"),
            (false, false) => format!("/p{n}"),
        };
        let is_in_sitemap = random.percent(10);
        let (links, images) = (Vec::new(), Vec::new());
        Self { host, path, reply, links, images, is_in_sitemap, is_forbidden }
    }

    /// Returns true if the page may lead to others.
    fn leads_on(&self) -> bool {
        matches!(
            self.reply,
            Reply::Html
                | Reply::Cut
                | Reply::Busy(..)
                | Reply::HangsUp(_)
                | Reply::Slow
                | Reply::Redirect(_)
                | Reply::Chain
        )
    }
}
