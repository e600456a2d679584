//! The settling of URLs: the result of one URL decides the status of the links
//! and redirects that lead to it, and of the fragments that links name in it.

use super::fragments::{Fragments, MissingFragment};
use super::url_record::LinkStatus;
use super::{Admission, Job, find_url};
use crate::{Outcome, Row};
use web::Address;

/// The result of a URL, as far as it matters for the links to it.
#[derive(Clone, Copy)]
pub(crate) enum Settled<'a> {
    /// The links need no repair.
    Fine,
    /// The links are broken.
    Broken,
    /// A page.
    Page(SettledPage<'a>),
    /// A redirect to a URL that has just passed through the admission.
    Redirect(Address<'a>),
}

/// A page, as far as it matters for the links to it.
#[derive(Clone, Copy)]
pub(crate) struct SettledPage<'a> {
    /// The status of its response.
    pub(crate) status: u16,
    /// The ids that fragments can name in it.
    pub(crate) ids: &'a [&'a str],
    /// True if it was read to its end: then there are no other ids.
    pub(crate) is_whole: bool,
    /// True if its links are broken.
    pub(crate) is_broken: bool,
}

impl<'a> Settled<'a> {
    /// Returns the result of a URL that is not a redirect, with this row and these ids.
    pub(crate) fn of(row: &Row, ids: &'a [&'a str]) -> Self {
        let is_broken = row.is_broken();
        match (row.outcome, row.status) {
            (Outcome::Page, Some(status)) => {
                Self::Page(SettledPage { status, ids, is_whole: row.size.is_some(), is_broken })
            }
            // The response was cut: it may have been a page.
            (Outcome::Failed, Some(status)) => {
                Self::Page(SettledPage { status, ids, is_whole: false, is_broken })
            }
            _ if is_broken => Self::Broken,
            _ => Self::Fine,
        }
    }
}

impl Admission {
    /// Settles the URL of a job. This is called before the links of a page are
    /// admitted, and after the target of a redirect is admitted.
    pub(crate) fn settle(&mut self, job: &Job, settled: Settled<'_>) {
        let target = match settled {
            Settled::Redirect(address) => self.number_of(address),
            _ => None,
        };
        let Self { url_table, fragments, keep_redirects, .. } = self;
        match settled {
            Settled::Broken => url_table.set_status(job.number, LinkStatus::Broken),
            Settled::Page(SettledPage { is_broken: true, .. }) => {
                url_table.set_broken_page(job.number);
            }
            Settled::Fine | Settled::Page(..) => url_table.set_fine(job.number),
            Settled::Redirect(_) => url_table.set_redirect(job.number, target, *keep_redirects),
        }
        let Some(fragments) = fragments else { return };
        match (settled, target) {
            (Settled::Page(page @ SettledPage { status: 200..=399, .. }), _) => {
                fragments.settle_page(job.number, page, url_table);
            }
            // A fragment in the redirect replaces the fragments of links.
            (Settled::Redirect(address), Some(target)) if address.fragment().is_none() => {
                fragments.settle_redirect(job.number, target, url_table);
            }
            _ => fragments.settle(job.number, url_table),
        }
    }

    /// Returns true if this URL has settled.
    pub(crate) fn has_settled(&self, url: &str) -> bool {
        self.url_record(url).is_some_and(|url_record| url_record.status() != LinkStatus::Open)
    }

    /// Returns the number of a URL that has passed through the admission.
    pub(super) fn number_of(&mut self, address: Address<'_>) -> Option<u32> {
        let is_in_scope = self.scope.contains(address);
        let address = if is_in_scope { self.strip_query.strip(address) } else { address };
        find_url(&self.url_table, &self.checks.traps, address.as_str())
    }

    /// Takes the fragments that were found missing since the last call.
    pub(crate) fn take_missing_fragments(&mut self) -> Vec<MissingFragment> {
        self.fragments.as_mut().map(Fragments::take_missing).unwrap_or_default()
    }
}
