//! The broken URLs of a crawl, each with the places of the links to it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crawl_core::{Admission, CrawlSummary, FetchError, LinkContext, Outcome, Row, UncheckedReason};

use super::statistics::ResultKind;
use super::{End, causes};

/// A broken URL that is to be reported.
pub(super) struct Broken {
    /// The URL, or the path of the file that it leads to.
    pub(super) url: Arc<str>,
    /// The URL.
    pub(super) asked: Arc<str>,
    /// The first page that links to it, by its URL or its path, if the row names one.
    pub(super) referrer: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) error: Option<FetchError>,
    /// The new address, if it is a redirect.
    pub(super) moved_to: Option<String>,
    /// True if the crawl began with it, or was redirected to it from there.
    pub(super) is_root: bool,
    /// The redirects of its circle, if it is in one: what leads to the others is no link
    /// to this one.
    pub(super) circle: Arc<[Arc<str>]>,
}

impl Broken {
    /// Creates it of a row as reports show it; `asked` is the URL of that row.
    pub(super) fn of(row: &Row, asked: &Arc<str>) -> Self {
        let (url, asked) = (Arc::clone(&row.url), Arc::clone(asked));
        let is_redirect = row.outcome == Outcome::Redirect;
        let moved_to = row.next_url.clone().filter(|_| is_redirect);
        let (error, is_root, circle) = (row.error.clone(), row.depth == 0, Arc::default());
        let referrer = row.referrer.clone();
        Self { url, asked, referrer, status: row.status, error, moved_to, is_root, circle }
    }

    /// Returns true if the URL leads to a file.
    fn is_file(&self) -> bool {
        self.url != self.asked
    }

    /// Returns the kind of the problem in one word: the class of the error, or
    /// `status_404`.
    pub(super) fn kind(&self) -> String {
        match (&self.error, self.status) {
            (Some(error), _) => error.class.name().to_owned(),
            (None, Some(status)) => format!("status_{status}"),
            (None, None) => "failed".to_owned(),
        }
    }

    /// Returns the kind of the problem in a few words.
    pub(super) fn problem_kind(&self) -> String {
        match (&self.error, self.status) {
            (Some(error), _) => error.class.label().to_owned(),
            (None, Some(status)) if self.moved_to.is_some() => status_text(status),
            (None, _) => self.problem(),
        }
    }

    /// Returns the message about the problem, or where the URL has moved.
    pub(super) fn message(&self) -> Option<String> {
        let moved_to = || Some(format!("now at {}", self.moved_to.as_ref()?));
        self.error.as_ref().map(|error| error.message.clone()).or_else(moved_to)
    }

    /// Returns what the problem means, and what to do about it.
    pub(super) fn advice(&self) -> &'static str {
        causes::advice(self.error.as_ref().map(|error| error.class), self.status)
    }

    /// Returns the problem in a few words.
    pub(super) fn problem(&self) -> String {
        match (&self.error, self.status) {
            (Some(error), Some(status)) if status >= 400 => {
                format!("{status} {error}")
            }
            (Some(error), _) => error.to_string(),
            (None, Some(404)) if self.is_file() => "no such file".to_owned(),
            (None, Some(status)) => match &self.moved_to {
                Some(moved_to) => format!("{} to {moved_to}", status_text(status)),
                None => status_text(status),
            },
            (None, None) => "no response".to_owned(),
        }
    }
}

/// Returns a status with its reason phrase (RFC 9110, section 15), if it is one of
/// the common ones.
pub(super) fn status_text(status: u16) -> String {
    let reason = match status {
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        410 => "Gone",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return format!("status {status}"),
    };
    format!("{status} {reason}")
}

/// The place of a link that leads to a broken URL.
pub(super) struct Place<'a> {
    /// The page with the link, by its URL or its path; or a redirect to which no page
    /// links.
    pub(super) page: Cow<'a, str>,
    /// True if the page is a file.
    pub(super) is_file: bool,
    pub(super) context: Option<LinkContext<'a>>,
    /// The redirects between the link and the broken URL.
    pub(super) via: Vec<Cow<'a, str>>,
}

impl Place<'_> {
    pub(super) fn line(&self) -> Option<u32> {
        self.context.map(|context| context.position.line)
    }

    pub(super) fn column(&self) -> Option<u32> {
        self.context.map(|context| context.position.column)
    }

    /// Returns the text of the link, or the name of an element without one.
    pub(super) fn text(&self) -> String {
        match self.context {
            Some(context) if context.text.is_empty() => format!("<{}>", context.element.name()),
            Some(context) => context.text.to_owned(),
            None => String::new(),
        }
    }

    /// Returns `what`, with the text of the link behind it if that is known.
    pub(super) fn with_text(&self, what: &str) -> String {
        match self.text() {
            text if text.is_empty() => what.to_owned(),
            text => format!("{what}: {text}"),
        }
    }
}

/// Returns the places of all links that lead to a broken URL, directly or by redirects,
/// in the order of their pages, lines and columns. If only the page of the first one is
/// known, as in one of many processes, it is that.
pub(super) fn places<'a>(broken: &Broken, end: &End<'a>) -> Vec<Place<'a>> {
    let mut places = places_of(&broken.asked, &broken.circle, end);
    if let Some(referrer) = broken.referrer.as_ref()
        && places.is_empty()
        && broken.circle.is_empty()
    {
        let page = Cow::Owned(referrer.clone());
        places.push(Place { page, is_file: false, context: None, via: Vec::new() });
    }
    places
}

/// Returns the places of all links that lead to a URL, but for those that do so by one
/// of the redirects in `circle`.
pub(super) fn places_of<'a>(url: &str, circle: &[Arc<str>], end: &End<'a>) -> Vec<Place<'a>> {
    let mut found = Vec::new();
    if let Ok(summary) = end.summary {
        let mut redirects = circle.iter().map(|redirect| &**redirect).collect();
        collect(url, &summary.admission, &mut Vec::new(), &mut redirects, &mut found);
    }
    let places = found.into_iter().map(|(page, context, via)| Place {
        is_file: end.locate.file(page).is_some(),
        page: end.locate.shown(page),
        context,
        via: via.into_iter().map(|url| end.locate.shown(url)).collect(),
    });
    let mut places: Vec<Place<'a>> = places.collect();
    places.sort_by(|a, b| {
        let key = |place: &Place<'_>| (place.line(), place.column());
        a.page.cmp(&b.page).then_with(|| key(a).cmp(&key(b)))
    });
    places
}

/// The maximum number of redirects of a way that are told. Those before them are left out,
/// and so are the links to those: a site may have any number.
pub(super) const MAX_VIA: usize = 20;

/// A page with its link, and the redirects behind that.
type Found<'a> = (&'a str, Option<LinkContext<'a>>, Vec<&'a str>);

fn collect<'a: 'c, 'c>(
    url: &str,
    admission: &'a Admission,
    via: &mut Vec<&'a str>,
    redirects: &mut HashSet<&'c str>,
    places: &mut Vec<Found<'a>>,
) {
    for referrer in admission.referrers(url).0 {
        let page = referrer.url;
        let is_redirect = referrer.context.is_none() && !admission.is_fine(page);
        if is_redirect && !redirects.insert(page) {
            continue;
        }
        let before = places.len();
        if is_redirect && via.len() < MAX_VIA {
            via.insert(0, page);
            collect(page, admission, via, redirects, places);
            via.remove(0);
        }
        if places.len() == before {
            places.push((page, referrer.context, via.clone()));
        }
    }
}

/// Returns a count with its noun, in the singular or the plural.
pub(super) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns the sum of a crawl in one plain sentence.
pub(super) fn sentence(end: &End<'_>) -> String {
    let summary = match end.summary {
        Ok(summary) => summary,
        Err(problem) => return format!("The crawl failed: {problem}."),
    };
    let mut sum = format!("Checked {}: ", count(end.statistics.checked(), "URL"));
    let (new, newly) = if end.known.is_some() { (" new", " newly") } else { ("", "") };
    let unchecked = unchecked(end, summary);
    match end.broken.len() as u64 {
        0 if unchecked.is_empty() => sum += &format!("nothing{new} is broken"),
        0 => sum += &format!("nothing{new} that was checked is broken"),
        1 => sum += &format!("1 is{newly} broken"),
        n => sum += &format!("{n} are{newly} broken"),
    }
    let links = |broken: &Broken| places_of(&broken.asked, &broken.circle, end).len() as u64;
    let links: u64 = end.broken.iter().map(links).sum();
    if links > 0 {
        let lead = if links == 1 { "leads" } else { "lead" };
        let to = if end.broken.len() == 1 { "it" } else { "them" };
        sum += &format!(" ({} {lead} to {to})", count(links, "link"));
    }
    if let Some(known) = end.known {
        sum += &format!("; {} known to be broken", known.still);
        if known.mended > 0 {
            let (entries, are) =
                if known.mended == 1 { ("entry", "is") } else { ("entries", "are") };
            sum += &format!("; {} baseline {entries} {are} fixed", known.mended);
        }
    }
    let external: Vec<String> =
        [(ResultKind::Blocked, "blocked for crawlers"), (ResultKind::Unsure, "unsure")]
            .into_iter()
            .filter(|(result, _)| end.statistics.number(*result) > 0)
            .map(|(result, what)| format!("{} {what}", end.statistics.number(result)))
            .collect();
    if !external.is_empty() {
        sum += &format!("; external: {}", external.join(", "));
    }
    let moved = end.moved.len() as u64;
    if moved > 0 {
        sum += &format!("; {}: update the links", count(moved, "permanent redirect"));
    }
    let redirects = end.statistics.number(ResultKind::Redirect);
    if redirects > 0 {
        sum += &format!("; {}", count(redirects, "redirect"));
    }
    for part in unchecked {
        sum += &format!("; {part}");
    }
    sum + "."
}

/// Returns what was not checked, by reasons.
fn unchecked(end: &End<'_>, summary: &CrawlSummary) -> Vec<String> {
    let skipped = end.statistics.number(ResultKind::Skipped);
    let skipped = (skipped > 0).then(|| {
        let why = end.statistics.skipped.iter().map(|(why, n)| match *n {
            n if n == skipped => (*why).to_owned(),
            n => format!("{n} {why}"),
        });
        format!("{} ({})", count(skipped, "skipped URL"), why.collect::<Vec<_>>().join(", "))
    });
    let too_deep = (summary.too_deep > 0)
        .then(|| format!("{} beyond --max-depth", count(summary.too_deep, "URL")));
    let reasons = UncheckedReason::ALL.into_iter().filter_map(|reason| {
        let number = summary.unchecked.count(reason);
        (number > 0).then(|| match reason {
            UncheckedReason::Type => format!("the links in {}", count(number, "unread file")),
            _ => format!("{number} {}", what(reason)),
        })
    });
    let reasons: Vec<String> = reasons.collect();
    let reasons = (!reasons.is_empty()).then(|| format!("not checked: {}", reasons.join(", ")));
    let fragments = (summary.unchecked_fragments > 0).then(|| {
        format!(
            "{} in pages that were not read to their end",
            count(summary.unchecked_fragments, "fragment")
        )
    });
    skipped
        .into_iter()
        .chain(summary.left_out())
        .chain(too_deep)
        .chain(reasons)
        .chain(fragments)
        .collect()
}

/// Returns the reason why a URL is not checked, and what changes that, in a few words.
pub(super) fn what(reason: UncheckedReason) -> &'static str {
    match reason {
        UncheckedReason::OtherSite => "on other sites (--external)",
        UncheckedReason::Nofollow => "marked nofollow (--no-robots)",
        UncheckedReason::Excluded => "excluded",
        UncheckedReason::Scheme => "with other schemes",
        UncheckedReason::Route => "for scripts (#/)",
        UncheckedReason::Depth => "beyond --max-depth",
        UncheckedReason::Type => "its links, because files of its type are not read",
        UncheckedReason::Limit => "left to do",
    }
}
