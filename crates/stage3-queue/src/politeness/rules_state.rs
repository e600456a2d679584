//! What is known of the robots.txt of one origin.

use std::rc::Rc;

use crawl_core::{ErrorClass, FetchError};
use url::Url;

use super::deferrals::Deferrals;
use crate::rules::Rules;

/// The state of an origin's robots.txt.
#[derive(Debug)]
pub(super) enum RulesState {
    /// Not fetched yet. The deferrals of the file, if it was throttled.
    Unknown(Option<Box<Deferrals>>),
    /// Being fetched.
    Pending,
    Known(Rc<Rules>),
}

impl Default for RulesState {
    fn default() -> Self {
        Self::Unknown(None)
    }
}

impl RulesState {
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(self, Self::Pending)
    }

    /// Returns the deferrals of a file that was throttled.
    pub(super) fn deferrals(self) -> Option<Box<Deferrals>> {
        if let Self::Unknown(deferrals) = self { deferrals } else { None }
    }

    fn known(&self) -> Option<&Rules> {
        if let Self::Known(rules) = self { Some(rules) } else { None }
    }

    /// Returns the error of an origin that does not answer.
    pub(super) fn dead(&self) -> Option<&FetchError> {
        if let Some(Rules::NoServer(error)) = self.known() { Some(error) } else { None }
    }

    /// Returns the approximate memory of the rules, in bytes.
    pub(super) fn size(&self) -> usize {
        if let Some(Rules::Robots { robots, .. }) = self.known() { robots.memory() } else { 0 }
    }

    /// Returns the reason why a URL may not be fetched, if there is one.
    pub(super) fn refusal(&self, url: &str) -> Option<FetchError> {
        match self.known()? {
            Rules::Robots { robots, .. } if !robots.has_rules() => None,
            rules => match Url::parse(url) {
                Ok(url) => rules.refusal(&url),
                // Cannot happen: only valid URLs are admitted.
                Err(error) => Some(FetchError::new(ErrorClass::Protocol, error.to_string())),
            },
        }
    }
}
