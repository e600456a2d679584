//! What the end of one URL means for others: for those that lead to it, and for
//! what they name in it.

use super::entry::Fate;
use super::fragments::{Fragments, Missing};
use super::{Admission, Job};
use crate::Address;

/// How a URL has ended, as far as it matters to those who lead to it.
#[derive(Clone, Copy)]
pub(crate) enum Ended<'a> {
    /// There is nothing to mend.
    Fine,
    Broken,
    /// A page with this status, and what fragments can name in it.
    Page(u16, &'a [&'a str]),
    /// A redirect to what has gone through the door just now.
    Redirect(Address<'a>),
}

impl Admission {
    /// The URL of a job has ended. What a page links to comes after this, what
    /// it redirects to before.
    pub(crate) fn end(&mut self, job: &Job, ended: Ended<'_>) {
        let target = match ended {
            Ended::Redirect(address) => self.number_of(address),
            _ => None,
        };
        let Self { known, fragments, .. } = self;
        match ended {
            Ended::Broken => known.set_fate(job.number, Fate::Broken),
            Ended::Fine | Ended::Page(..) => known.is_fine(job.number),
            Ended::Redirect(_) => known.redirects(job.number, target),
        }
        let Some(fragments) = fragments else { return };
        match (ended, target) {
            (Ended::Page(status @ 200..=299, ids), _) => {
                fragments.page(job.number, status, ids, known);
            }
            // A fragment of its own goes before those of links.
            (Ended::Redirect(address), Some(target)) if address.fragment().is_none() => {
                fragments.redirect(job.number, target, known);
            }
            _ => fragments.end(job.number, known),
        }
    }

    /// The number of a URL that has gone through the door.
    pub(super) fn number_of(&mut self, address: Address<'_>) -> Option<u32> {
        let is_ours = self.scope.contains(address);
        let address = if is_ours { self.strip_query.strip(address) } else { address };
        let text = self.traps.shorten(address.as_str());
        self.known.find(self.known.hash(text), text)
    }

    /// The fragments that have turned out to name nothing since this was asked
    /// last.
    pub(crate) fn take_missing(&mut self) -> Vec<Missing> {
        self.fragments.as_mut().map(Fragments::take_missing).unwrap_or_default()
    }
}
