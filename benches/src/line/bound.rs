//! The bound of a crawl over a line: the time that no crawler can fall below.

use std::time::Duration;

use demo_site::SiteOptions;

use super::{LineOptions, PACKET, PAYLOAD};
use crate::Site;

impl LineOptions {
    /// Returns the bound of a crawl of `site` over a line that loses nothing: the
    /// round trips, or the bytes of the pages by the bandwidth, whichever takes longer.
    pub fn bound(&self, site: Site, connections: usize) -> Duration {
        let round_trips = self.round_trip * rounds(&site.options(), connections);
        let bytes = f64::from(site.pages) * site.page_size as f64;
        let bits = bytes * 8.0 * PACKET as f64 / PAYLOAD as f64;
        round_trips.max(Duration::from_secs_f64(bits / self.bandwidth as f64))
    }
}

/// Returns the number of round trips of a crawl: one to connect, and then as many as
/// it takes when each connection brings a page in each, as soon as a page with a link
/// to it is there. All connections are there from the beginning.
fn rounds(site: &SiteOptions, connections: usize) -> u32 {
    let mut is_known = vec![false; site.pages as usize];
    is_known[0] = true;
    let (mut rounds, mut fetched, mut known) = (1, 0, vec![0]);
    while fetched < known.len() {
        let pages = fetched..known.len().min(fetched + connections);
        fetched = pages.end;
        for page in pages {
            for link in site.links(known[page]) {
                if !std::mem::replace(&mut is_known[link as usize], true) {
                    known.push(link);
                }
            }
        }
        rounds += 1;
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_of_round_trips_or_of_bytes() {
        // Of the root's children; a tree of two children each.
        let site = SiteOptions { pages: 7, links_per_page: 2, ..SiteOptions::default() };
        let site = SiteOptions { special_cases: false, ..site };
        assert_eq!(rounds(&site, 1), 1 + 7);
        let depth = rounds(&site, 7);
        assert!((1 + 3..=1 + 7).contains(&depth), "{depth}");
        assert_eq!(rounds(&SiteOptions { pages: 2000, ..site }, 1), 1 + 2000);

        let site = Site { pages: 1448, page_size: 1000, ..Site::default() };
        let line = LineOptions {
            round_trip: Duration::from_millis(10),
            bandwidth: 12_000_000,
            queue: 1000,
            loss: 0.0,
            seed: 1,
            congestion: "cubic".to_owned(),
        };
        assert_eq!(line.bound(site, 1), Duration::from_millis(14_490));
        assert_eq!(line.bound(site, 1000), Duration::from_secs(1));
    }
}
