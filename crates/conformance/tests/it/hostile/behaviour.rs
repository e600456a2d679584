//! A hostile behaviour of a server with its expected row, and a site of many
//! behaviours.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::thread;

use crawl_core::Options;
use demo_site::scripted::{Reply, Request, Server};

use crate::common::{Crawled, ExpectedRow, Stage, links, options, page, serve};

/// The server's response to a request for a path.
pub(crate) type Script = Arc<dyn Fn(&Request, &mut Reply<'_>) + Send + Sync>;

/// A function that returns the behaviours of one theme, for a server with this
/// host name and port.
pub(crate) type Theme = fn(host: &str) -> Vec<Behaviour>;

/// A behaviour of a server at one path, with the expected row.
pub(crate) struct Behaviour {
    pub(crate) path: String,
    /// The rule that the expected row follows from.
    pub(crate) why: &'static str,
    pub(crate) expected_row: ExpectedRow,
    script: Script,
    /// The URL of the row, if it differs from the path.
    pub(crate) url: Option<String>,
    /// True if another page links to it instead of the root. It has no control
    /// page.
    is_unlinked: bool,
    /// True if the size in the row is not compared.
    is_of_any_size: bool,
    content_type: Option<&'static str>,
    encoding: Option<&'static str>,
}

/// Returns a behaviour that runs a script.
pub(crate) fn runs(
    path: impl Into<String>,
    why: &'static str,
    script: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static,
    expected_row: ExpectedRow,
) -> Behaviour {
    Behaviour {
        path: path.into(),
        why,
        expected_row,
        script: Arc::new(script),
        url: None,
        is_unlinked: false,
        is_of_any_size: false,
        content_type: None,
        encoding: None,
    }
}

/// Returns a behaviour that sends these bytes and waits for the next request.
pub(crate) fn sends(
    path: &str,
    why: &'static str,
    bytes: impl Into<Vec<u8>>,
    expected_row: ExpectedRow,
) -> Behaviour {
    let bytes = bytes.into();
    runs(path, why, move |_, reply| reply.send(&bytes), expected_row)
}

/// Returns a behaviour that sends these bytes and closes the connection.
pub(crate) fn closes_after(
    path: &str,
    why: &'static str,
    bytes: impl Into<Vec<u8>>,
    expected_row: ExpectedRow,
) -> Behaviour {
    let bytes = bytes.into();
    let script = move |_: &Request, reply: &mut Reply<'_>| {
        reply.send(&bytes);
        reply.close();
    };
    runs(path, why, script, expected_row)
}

/// Returns a response with status 200 and a type that is not searched for links.
pub(crate) fn ok(rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{rest}")
}

/// Returns a response with status 200 whose type is HTML.
pub(crate) fn html(rest: &str) -> String {
    ok("Content-Type: text/html\r\n") + rest
}

impl Behaviour {
    /// Leaves the behaviour out of the root's links, and without a control page.
    pub(crate) fn unlinked(mut self) -> Self {
        self.is_unlinked = true;
        self
    }

    /// Sets the URL of the row, if it differs from the path.
    pub(crate) fn with_row_url(mut self, url: String) -> Self {
        self.url = Some(url);
        self
    }

    /// Returns the path or URL of the row.
    pub(crate) fn row(&self) -> &str {
        self.url.as_ref().unwrap_or(&self.path)
    }

    /// Leaves the size out of the comparison: the number of bytes received
    /// before the error depends on how they arrive.
    pub(crate) fn with_any_size(mut self) -> Self {
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

    /// Returns the path of the control page.
    pub(crate) fn control_path(&self) -> String {
        format!("/beside{}", self.path)
    }
}

/// A server with all behaviours of some themes.
pub(crate) struct HostileSite {
    pub(crate) server: Server,
    pub(crate) behaviours: Vec<Behaviour>,
    pub(crate) root_page: String,
}

impl HostileSite {
    pub(crate) fn start(themes: &[Theme]) -> Self {
        // The expected rows depend on the host, which is known only when the
        // server runs. The scripts do not depend on it.
        let behaviours_of =
            |host: &str| themes.iter().flat_map(|theme| theme(host)).collect::<Vec<_>>();
        let behaviours = behaviours_of("127.0.0.1");
        let linked = behaviours.iter().filter(|behaviour| !behaviour.is_unlinked);
        let root_page = links(linked.flat_map(|b| [b.path.clone(), b.control_path()]));
        let scripts: BTreeMap<_, _> = behaviours.into_iter().map(|b| (b.path, b.script)).collect();
        let served = root_page.clone();
        let server = serve(move |request, reply| match scripts.get(&request.target) {
            Some(script) => script(request, reply),
            None if request.target == "/" => reply.page(&served),
            None if request.target.starts_with("/beside/") => reply.page(""),
            None => reply.status(404, "Not Found", &[], ""),
        });
        let behaviours = behaviours_of(&server.address().to_string());
        let paths: BTreeSet<_> = behaviours.iter().map(|behaviour| &behaviour.path).collect();
        assert_eq!(paths.len(), behaviours.len(), "two behaviours at one path");
        Self { server, behaviours, root_page }
    }

    /// Returns the expected rows by path or URL.
    pub(crate) fn expected(&self) -> BTreeMap<String, ExpectedRow> {
        let num_urls = self.root_page.lines().count() as u32;
        let root = ("/".to_owned(), page(&self.root_page, num_urls));
        let own = self.behaviours.iter().map(|b| (b.row().to_owned(), b.expected_row.clone()));
        let linked = self.behaviours.iter().filter(|behaviour| !behaviour.is_unlinked);
        let control = linked.map(|behaviour| (behaviour.control_path(), page("", 0)));
        own.chain(control).chain([root]).collect()
    }

    /// Returns the expected rows. Sizes that are not compared are taken from the
    /// crawl.
    fn expected_for(&self, crawled: &Crawled) -> BTreeMap<String, ExpectedRow> {
        let mut expected = self.expected();
        for behaviour in self.behaviours.iter().filter(|behaviour| behaviour.is_of_any_size) {
            let Some(size) = crawled.row(behaviour.row()).size else { continue };
            let expected_row = behaviour.expected_row.clone().size(size as usize);
            expected.insert(behaviour.row().to_owned(), expected_row);
        }
        expected
    }

    /// Returns the rule that the row of a URL follows from.
    pub(crate) fn why(&self, url: &str) -> Option<&'static str> {
        self.behaviours.iter().find(|b| url.ends_with(b.row())).map(|behaviour| behaviour.why)
    }
}

/// Fails unless the actual rows are the expected ones. The message has the rule
/// for each row that differs.
pub(crate) fn compare<T: PartialEq + fmt::Debug>(
    crawler: &str,
    actual: &BTreeMap<String, T>,
    expected: &BTreeMap<String, T>,
    why: impl Fn(&str) -> Option<&'static str>,
) {
    let mut differences = String::new();
    for url in actual.keys().chain(expected.keys()).collect::<BTreeSet<_>>() {
        let (actual, expected) = (actual.get(url), expected.get(url));
        if actual != expected {
            let why = why(url).unwrap_or_default();
            differences +=
                &format!("{url}: {why}\n  expected {expected:?}\n  found    {actual:?}\n");
        }
    }
    assert!(differences.is_empty(), "{crawler}:\n{differences}");
}

/// Returns the URL of a path. A URL is returned as it is.
pub(crate) fn absolute_url(origin: &str, path: &str) -> String {
    let is_path = path.starts_with('/') && !path.starts_with("//");
    if is_path { format!("{origin}{path}") } else { path.to_owned() }
}

/// Crawls a site of this theme with every stage and checks the rows.
pub(crate) fn check(theme: Theme, change: impl Fn(&mut Options) + Sync) {
    thread::scope(|scope| {
        for stage in Stage::ALL {
            let change = &change;
            scope.spawn(move || check_stage(stage, theme, change));
        }
    });
}

fn check_stage(stage: Stage, theme: Theme, change: &impl Fn(&mut Options)) {
    let site = HostileSite::start(&[theme]);
    let mut options = options(site.server.url("/"));
    options.max_tasks = Some(2 * site.behaviours.len());
    change(&mut options);
    let crawled = stage.crawl(options);
    let origin = site.server.url("");
    let expected = site.expected_for(&crawled);
    let expected = expected
        .into_iter()
        .map(|(path, expected_row)| (absolute_url(&origin, &path), expected_row))
        .collect();
    let actual =
        crawled.rows().iter().map(|(url, row)| (url.clone(), crawled.comparable(row))).collect();
    compare(&format!("{stage:?}"), &actual, &expected, |url| site.why(url));
    for behaviour in &site.behaviours {
        let (row, path) = (crawled.row(behaviour.row()), behaviour.row());
        if let Some(content_type) = behaviour.content_type {
            let actual = row.content_type.as_deref().unwrap_or_default();
            assert_eq!(actual, content_type, "{stage:?}: {path}");
        }
        if let Some(encoding) = behaviour.encoding {
            let actual = row.encoding.as_deref().unwrap_or_default();
            assert_eq!(actual, encoding, "{stage:?}: {path}");
        }
    }
}
