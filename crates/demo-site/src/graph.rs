//! The link graph of the pages. It is not stored: the links of a page are
//! computed from the seed and its number.

use crate::mix::{below, mix};

/// The link graph. Every page is reachable from page 0, because the first links
/// of the pages form a tree; the other links point to any page.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    seed: u64,
    pages: u32,
    links_per_page: u32,
}

/// One link of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The number of the page that it leads to.
    pub(crate) target: u32,
    /// The form of its `href`.
    pub(crate) form: Form,
}

/// The forms in which a link to the same page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `/page/7`
    Absolute,
    /// `/page/7#part-7`
    Fragment,
    /// `7`, seen from another page
    Relative,
    /// `../page/7`, seen from another page
    Dotted,
}

impl Graph {
    pub(crate) fn new(seed: u64, pages: u32, links_per_page: u32) -> Self {
        Self { seed, pages, links_per_page }
    }

    /// Returns the links of `page`: first those to its children in the tree, then
    /// random ones, some of which repeat the first.
    pub(crate) fn links(&self, page: u32) -> impl Iterator<Item = Link> {
        // Half of the links, at least one, form the tree.
        let arity = self.links_per_page.div_ceil(2);
        let first_child = u64::from(page) * u64::from(arity) + 1;
        let random = move |index: u32| mix(&[self.seed, u64::from(page), u64::from(index)]);
        let child = move |index: u32| {
            let child = u32::try_from(first_child + u64::from(index)).ok()?;
            (index < arity && child < self.pages).then_some(child)
        };
        let first = child(0).unwrap_or_else(|| below(random(0), self.pages));
        (0..self.links_per_page).map(move |index| {
            let random = random(index);
            let target = match child(index) {
                Some(child) => child,
                None if random & 0b111 == 0 => first,
                None => below(random, self.pages),
            };
            let form = match (random >> 3) & 0b111 {
                0 | 1 => Form::Fragment,
                2 | 3 => Form::Relative,
                4 => Form::Dotted,
                _ => Form::Absolute,
            };
            Link { target, form }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reachable(graph: &Graph) -> usize {
        let mut seen = vec![false; graph.pages as usize];
        let mut todo = vec![0];
        while let Some(page) = todo.pop() {
            if !std::mem::replace(&mut seen[page as usize], true) {
                todo.extend(graph.links(page).map(|link| link.target));
            }
        }
        seen.into_iter().filter(|seen| *seen).count()
    }

    proptest! {
        #[test]
        fn every_page_is_reachable(seed: u64, pages in 1..600_u32, links in 1..20_u32) {
            let graph = Graph::new(seed, pages, links);
            prop_assert_eq!(reachable(&graph), pages as usize);
        }

        #[test]
        fn a_page_has_the_given_number_of_links_to_existing_pages(
            seed: u64,
            (pages, page) in (1..=u32::MAX).prop_flat_map(|pages| (Just(pages), 0..pages)),
            links in 0..20_u32,
        ) {
            let graph = Graph::new(seed, pages, links);
            prop_assert_eq!(graph.links(page).count(), links as usize);
            prop_assert!(graph.links(page).all(|link| link.target < pages));
        }
    }

    #[test]
    fn the_links_depend_on_the_seed_alone() {
        let links = |seed| Graph::new(seed, 1000, 10).links(500).collect::<Vec<_>>();
        assert_eq!(links(1), links(1));
        assert_ne!(links(1), links(2));
    }

    #[test]
    fn a_large_site_is_shallow() {
        let graph = Graph::new(3, 100_000, 10);
        let mut depth = 0;
        let mut level = vec![0];
        let mut seen = vec![false; 100_000];
        while !level.is_empty() {
            depth += 1;
            let mut next = Vec::new();
            for page in level {
                for link in graph.links(page) {
                    if !std::mem::replace(&mut seen[link.target as usize], true) {
                        next.push(link.target);
                    }
                }
            }
            level = next;
        }
        assert!(depth <= 10, "{depth} clicks deep");
    }
}
