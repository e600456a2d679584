//! One thing that a server does, and a site of many.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::thread;

use crawl_core::Options;
use demo_site::scripted::{Reply, Request, Server};

use crate::common::{Crawled, Stage, Told, links, options, page, serve};

/// What the server does when it is asked for a path.
pub(crate) type Script = Arc<dyn Fn(&Request, &mut Reply<'_>) + Send + Sync>;

/// The behaviours of one theme, on the server of this name and port.
pub(crate) type Theme = fn(host: &str) -> Vec<Behaviour>;

/// What a server does at one path, and what is to be told of it.
pub(crate) struct Behaviour {
    pub(crate) path: String,
    /// By what rule this is to be told.
    pub(crate) why: &'static str,
    pub(crate) told: Told,
    script: Script,
    /// The URL of its row, if that is not its path.
    pub(crate) url: Option<String>,
    /// Something else leads to it, not the root, and there is nothing beside it.
    is_hidden: bool,
    is_of_any_size: bool,
    content_type: Option<&'static str>,
    encoding: Option<&'static str>,
}

/// Whatever a script can do.
pub(crate) fn does(
    path: impl Into<String>,
    why: &'static str,
    script: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static,
    told: Told,
) -> Behaviour {
    Behaviour {
        path: path.into(),
        why,
        told,
        script: Arc::new(script),
        url: None,
        is_hidden: false,
        is_of_any_size: false,
        content_type: None,
        encoding: None,
    }
}

/// Sends these bytes and waits for the next request.
pub(crate) fn says(
    path: &str,
    why: &'static str,
    bytes: impl Into<Vec<u8>>,
    told: Told,
) -> Behaviour {
    let bytes = bytes.into();
    does(path, why, move |_, reply| reply.send(&bytes), told)
}

/// Sends these bytes and closes the connection.
pub(crate) fn closes_after(
    path: &str,
    why: &'static str,
    bytes: impl Into<Vec<u8>>,
    told: Told,
) -> Behaviour {
    let bytes = bytes.into();
    let script = move |_: &Request, reply: &mut Reply<'_>| {
        reply.send(&bytes);
        reply.close();
    };
    does(path, why, script, told)
}

/// A response with status 200 and a type that nobody looks into.
pub(crate) fn ok(rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{rest}")
}

/// The beginning of a response that is a page.
pub(crate) fn html(rest: &str) -> String {
    ok("Content-Type: text/html\r\n") + rest
}

impl Behaviour {
    /// The root links neither to it nor to anything beside it.
    pub(crate) fn hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// Its row has another URL than its path.
    pub(crate) fn known_as(mut self, url: String) -> Self {
        self.url = Some(url);
        self
    }

    /// Where its row is found: a path or a URL.
    pub(crate) fn row(&self) -> &str {
        self.url.as_ref().unwrap_or(&self.path)
    }

    /// How much of the body is known before it is found wanting, depends on how
    /// it came.
    pub(crate) fn of_any_size(mut self) -> Self {
        self.is_of_any_size = true;
        self
    }

    pub(crate) fn content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = Some(content_type);
        self
    }

    pub(crate) fn encoding(mut self, encoding: &'static str) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// The page that nothing is wrong with.
    pub(crate) fn beside(&self) -> String {
        format!("/beside{}", self.path)
    }
}

/// A server with all behaviours of some themes.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) behaviours: Vec<Behaviour>,
    pub(crate) root_page: String,
}

impl Site {
    pub(crate) fn of(themes: &[Theme]) -> Self {
        // The scripts do not depend on the host, which is known only when
        // there are scripts to serve.
        let of = |host: &str| themes.iter().flat_map(|theme| theme(host)).collect::<Vec<_>>();
        let behaviours = of("127.0.0.1");
        let linked = behaviours.iter().filter(|behaviour| !behaviour.is_hidden);
        let root_page = links(linked.flat_map(|b| [b.path.clone(), b.beside()]));
        let scripts: BTreeMap<_, _> = behaviours.into_iter().map(|b| (b.path, b.script)).collect();
        let served = root_page.clone();
        let server = serve(move |request, reply| match scripts.get(&request.target) {
            Some(script) => script(request, reply),
            None if request.target == "/" => reply.page(&served),
            None if request.target.starts_with("/beside/") => reply.page(""),
            None => reply.status(404, "Not Found", &[], ""),
        });
        let behaviours = of(&server.address().to_string());
        let paths: BTreeSet<_> = behaviours.iter().map(|behaviour| &behaviour.path).collect();
        assert_eq!(paths.len(), behaviours.len(), "two behaviours at one path");
        Self { server, behaviours, root_page }
    }

    /// The expected rows, each by its path or URL.
    pub(crate) fn expected(&self) -> BTreeMap<String, Told> {
        let num_urls = self.root_page.lines().count() as u32;
        let root = ("/".to_owned(), page(&self.root_page, num_urls));
        let own = self.behaviours.iter().map(|b| (b.row().to_owned(), b.told.clone()));
        let linked = self.behaviours.iter().filter(|behaviour| !behaviour.is_hidden);
        let beside = linked.map(|behaviour| (behaviour.beside(), page("", 0)));
        own.chain(beside).chain([root]).collect()
    }

    /// The same without what cannot be known before: that is taken from what
    /// was found.
    fn expected_of(&self, crawled: &Crawled) -> BTreeMap<String, Told> {
        let mut expected = self.expected();
        for behaviour in self.behaviours.iter().filter(|behaviour| behaviour.is_of_any_size) {
            let size = crawled.row(behaviour.row()).size as usize;
            expected.insert(behaviour.row().to_owned(), behaviour.told.clone().size(size));
        }
        expected
    }

    /// By what rule the row of a URL is to be told.
    pub(crate) fn why(&self, url: &str) -> Option<&'static str> {
        self.behaviours.iter().find(|b| url.ends_with(b.row())).map(|behaviour| behaviour.why)
    }
}

/// Fails where what was found is not what was expected, and says of each URL
/// why it was.
pub(crate) fn compare<T: PartialEq + fmt::Debug>(
    who: &str,
    found: &BTreeMap<String, T>,
    expected: &BTreeMap<String, T>,
    why: impl Fn(&str) -> Option<&'static str>,
) {
    let mut differences = String::new();
    for url in found.keys().chain(expected.keys()).collect::<BTreeSet<_>>() {
        let (found, expected) = (found.get(url), expected.get(url));
        if found != expected {
            let why = why(url).unwrap_or_default();
            differences +=
                &format!("{url}: {why}\n  expected {expected:?}\n  found    {found:?}\n");
        }
    }
    assert!(differences.is_empty(), "{who}:\n{differences}");
}

/// The URL of a path, unless it is one already.
pub(crate) fn whole(origin: &str, path: &str) -> String {
    if path.starts_with('/') { format!("{origin}{path}") } else { path.to_owned() }
}

/// Has every stage crawl a site of this theme.
pub(crate) fn check(theme: Theme, change: impl Fn(&mut Options) + Sync) {
    thread::scope(|scope| {
        for stage in Stage::ALL {
            let change = &change;
            scope.spawn(move || check_stage(stage, theme, change));
        }
    });
}

fn check_stage(stage: Stage, theme: Theme, change: &impl Fn(&mut Options)) {
    let site = Site::of(&[theme]);
    let mut options = options(site.server.url("/"));
    options.max_tasks = Some(2 * site.behaviours.len());
    change(&mut options);
    let crawled = stage.crawl(options);
    let origin = site.server.url("");
    let expected = site.expected_of(&crawled);
    let expected = expected.into_iter().map(|(path, told)| (whole(&origin, &path), told)).collect();
    let found = crawled.rows().iter().map(|(url, row)| (url.clone(), crawled.told(row))).collect();
    compare(&format!("{stage:?}"), &found, &expected, |url| site.why(url));
    for behaviour in &site.behaviours {
        let (row, path) = (crawled.row(behaviour.row()), behaviour.row());
        if let Some(content_type) = behaviour.content_type {
            let found = row.content_type.as_deref().unwrap_or_default();
            assert_eq!(found, content_type, "{stage:?}: {path}");
        }
        if let Some(encoding) = behaviour.encoding {
            let found = row.encoding.as_deref().unwrap_or_default();
            assert_eq!(found, encoding, "{stage:?}: {path}");
        }
    }
}
