//! Circles of redirects. A crawl notices one at the redirect that it asks last, and which
//! one that is depends on the order of the responses. Reports judge all of a circle alike:
//! each link into it is broken. Formats that take rows as they come (JSON Lines, CSV and the
//! chapter's) have one broken row for each circle; the others list each of its URLs to which
//! a link leads.

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::sync::Arc;

use crawl_core::{Admission, ErrorClass, FetchError, Outcome, Referrer, Row};

use super::Locate;
use super::broken::Broken;

/// The redirects of a crawl, until it has ended.
#[derive(Default)]
pub(super) struct Redirects {
    seen: BTreeMap<Arc<str>, Seen>,
    /// The redirects that close a circle, each with its target.
    closing: Vec<(Arc<str>, String)>,
}

/// The facts about a redirect that may be in a circle. There may be many.
#[derive(Clone, Copy, Default)]
struct Seen {
    status: Option<u16>,
    is_root: bool,
}

/// All circles of a crawl.
#[derive(Default)]
pub(super) struct Circles {
    /// The URLs in the circles.
    pub(super) urls: HashSet<Arc<str>>,
    /// Those to which links lead, or with which the crawl began.
    pub(super) broken: Vec<Broken>,
}

impl Redirects {
    /// Takes a row, if it is that of a redirect.
    pub(super) fn add(&mut self, row: &Row) {
        let has_class = |error: &FetchError| error.class == ErrorClass::RedirectLoop;
        let is_loop = row.is_broken() && row.error.as_ref().is_some_and(has_class);
        if is_loop || row.outcome == Outcome::Redirect {
            let seen = Seen { status: row.status, is_root: row.depth == 0 };
            self.seen.insert(Arc::clone(&row.url), seen);
        }
        if let Some(next_url) = row.next_url.as_ref().filter(|_| is_loop) {
            self.closing.push((Arc::clone(&row.url), next_url.clone()));
        }
    }

    /// Returns the circles of two and more redirects. One that redirects to itself is
    /// broken as it is.
    pub(super) fn circles(&mut self, admission: &Admission, locate: &Locate) -> Circles {
        let mut circles = Circles::default();
        for (url, next_url) in mem::take(&mut self.closing) {
            let circle = admission.circle(&url, &next_url).unwrap_or_default();
            let circle: Arc<[Arc<str>]> = circle.into_iter().map(Arc::from).collect();
            let is_outside =
                |from: &Referrer<'_>| circle.iter().all(|redirect| **redirect != *from.url);
            let is_entered = |url: &str| {
                admission.first_referrer(url).is_none()
                    || admission.referrers(url).0.iter().any(is_outside)
            };
            let targets = circle.iter().cycle().skip(1);
            let entered = circle.iter().zip(targets).filter(|(url, _)| is_entered(url));
            let broken: Vec<_> = entered
                .map(|(url, target)| {
                    let Seen { status, is_root } = self.seen.get(url).copied().unwrap_or_default();
                    Broken {
                        url: locate.shown(url).into(),
                        asked: Arc::clone(url),
                        referrer: None,
                        status,
                        error: Some(FetchError::redirect_loop(&locate.shown(target))),
                        moved_to: None,
                        is_root,
                        circle: Arc::clone(&circle),
                    }
                })
                .collect();
            if circle.len() > 1 && !broken.is_empty() {
                circles.urls.extend(circle.iter().cloned());
                circles.broken.extend(broken);
            }
        }
        circles
    }
}
