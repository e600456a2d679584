//! The check that a subject has found each page of the site exactly once.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pages of a [`Site`](crate::Site) found so far. Clones share their state,
/// and may be on different threads.
#[derive(Clone, Debug)]
pub struct RowCheck(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    root: String,
    seen: Vec<bool>,
    found: u32,
    /// The first URL that is not of the site, or was found twice.
    fault: Option<String>,
}

impl RowCheck {
    /// Makes the check of a site of `pages` pages below `root`.
    pub fn new(root: &str, pages: u32) -> Self {
        let seen = vec![false; pages as usize];
        Self(Arc::new(Mutex::new(State { root: root.to_owned(), seen, found: 0, fault: None })))
    }

    /// Records a page that was found and read to its end.
    pub fn record(&self, url: &str) {
        let mut state = self.lock();
        let page = match url.strip_prefix(&state.root) {
            Some("") => Some(0),
            Some(path) => path.strip_prefix("page/").and_then(|number| number.parse().ok()),
            None => None,
        };
        match page.and_then(|page: usize| state.seen.get_mut(page)) {
            Some(seen) if !*seen => {
                *seen = true;
                state.found += 1;
            }
            _ => state.fault = state.fault.take().or_else(|| Some(url.to_owned())),
        }
    }

    /// Returns the number of pages found.
    ///
    /// # Errors
    /// When the URLs found are not each page of the site once, and nothing else.
    pub fn check(&self) -> io::Result<u32> {
        let state = self.lock();
        if let Some(url) = &state.fault {
            return Err(io::Error::other(format!("{url} is not of the site, or came twice")));
        }
        if let Some(missing) = state.seen.iter().position(|seen| !seen) {
            let (found, all) = (state.found, state.seen.len());
            return Err(io::Error::other(format!("{found} of {all} pages, but not {missing}")));
        }
        Ok(state.found)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "http://127.0.0.1:80/";

    fn check(found: &[&str]) -> Result<u32, String> {
        let row_check = RowCheck::new(ROOT, 3);
        for path in found {
            row_check.record(&format!("{ROOT}{path}"));
        }
        row_check.check().map_err(|error| error.to_string())
    }

    #[test]
    fn each_page_is_found_once_and_nothing_else() {
        assert_eq!(check(&["page/2", "", "page/1"]), Ok(3));
        assert_eq!(check(&["page/2", ""]).unwrap_err(), "2 of 3 pages, but not 1");
        for wrong in ["", "page/3", "page/", "page/x", "pages/1"] {
            let error = check(&["", "page/1", wrong, "page/2"]).unwrap_err();
            assert_eq!(error, format!("{ROOT}{wrong} is not of the site, or came twice"));
        }
    }
}
