//! The checks that a new URL has to pass.

use regex::Regex;

use super::LinkCandidate;
use super::ceilings::{Ceilings, Refusal};
use super::traps::Traps;
use crate::host_options::of_host;
use crate::{HostOptions, Options, Purpose};
use web::Address;

/// The filters and limits of a crawl.
#[derive(Debug, Default)]
pub(super) struct Checks {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    hosts: Vec<HostOptions>,
    max_depth: Option<u32>,
    pub(super) traps: Traps,
    pub(super) ceilings: Ceilings,
}

impl Checks {
    pub(super) fn new(options: &Options) -> Self {
        let settings = &options.settings;
        Self {
            include: settings.include.clone(),
            exclude: settings.exclude.clone(),
            hosts: settings.hosts.clone(),
            max_depth: settings.max_depth,
            traps: Traps::new(settings.traps.clone()),
            ceilings: Ceilings::new(options),
        }
    }

    /// Returns true if the user wants this URL. Only pages have to match a pattern to
    /// include, and start URLs are always included.
    pub(super) fn is_wanted(&self, address: Address<'_>, candidate: LinkCandidate<'_>) -> bool {
        let needs_match = candidate.purpose == Purpose::Page && !candidate.is_root();
        let matches = |filter: &Regex| filter.is_match(address.as_str());
        if needs_match && !self.include.is_empty() && !self.include.iter().any(matches) {
            return false;
        }
        !self.is_excluded(address.as_str())
            && of_host(&self.hosts, address).is_none_or(|host| host.allow(address))
    }

    /// Returns true if a pattern of the user excludes this text.
    pub(super) fn is_excluded(&self, text: &str) -> bool {
        self.exclude.iter().any(|filter| filter.is_match(text))
    }

    /// Returns true if a URL is not too many clicks away. An external one never is.
    pub(super) fn is_within_depth(&self, candidate: LinkCandidate<'_>) -> bool {
        candidate.is_external() || self.max_depth.is_none_or(|max| candidate.depth <= max)
    }

    /// Checks that the host of a new URL has not too many pages, and that the URL is not a
    /// trap.
    pub(super) fn check(
        &mut self,
        address: Address<'_>,
        candidate: LinkCandidate<'_>,
    ) -> Result<(), Refusal> {
        if !candidate.is_external() && !candidate.is_root() {
            self.ceilings.check(address)?;
        }
        self.traps.check(address, candidate.depth, candidate.purpose).map_err(|trap| {
            match self.ceilings.count_trap(address) {
                true => Refusal::Row(trap),
                false => Refusal::Counted,
            }
        })
    }
}
