//! The checks of a crawl besides links to pages.

use serde::{Deserialize, Serialize};

/// The kinds of links that are checked besides hyperlinks. What they lead to is asked
/// for if it is on the site; what is on other sites needs [`Settings::external`](crate::Settings::external) as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<&'static str>", try_from = "Vec<String>")]
pub struct Check {
    /// Images.
    pub images: bool,
    /// Scripts.
    pub scripts: bool,
    /// Style sheets, and what CSS loads.
    pub styles: bool,
    /// Pages in frames.
    pub frames: bool,
    /// Pages to which a page or a header leads by itself (`Refresh`).
    pub refresh: bool,
    /// Documents that a `link`, the header `Link`, a quotation or the manifest of a web app
    /// names, and forms that are sent by `GET`.
    pub relations: bool,
    /// Audio and video, and what is embedded.
    pub media: bool,
    /// Fragments: the elements that links name after a `#` must exist.
    pub fragments: bool,
}

impl Check {
    /// Every kind.
    pub const ALL: Self = Self {
        images: true,
        scripts: true,
        styles: true,
        frames: true,
        refresh: true,
        relations: true,
        media: true,
        fragments: true,
    };

    /// Every place that a browser would load or a reader follow: the default of the
    /// program `crawl`. Fragments are left out, since scripts make many of them.
    pub const USUAL: Self = Self { fragments: false, ..Self::ALL };

    /// The names of the kinds, as `--check` has them.
    pub const NAMES: [&'static str; 8] =
        ["images", "scripts", "styles", "frames", "refresh", "relations", "media", "fragments"];

    /// Returns the kind of this name, to be changed.
    pub fn kind(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "images" => &mut self.images,
            "scripts" => &mut self.scripts,
            "styles" => &mut self.styles,
            "frames" => &mut self.frames,
            "refresh" => &mut self.refresh,
            "relations" => &mut self.relations,
            "media" => &mut self.media,
            "fragments" => &mut self.fragments,
            _ => return None,
        })
    }

    /// Returns the names of the kinds that are checked.
    pub fn names(mut self) -> Vec<&'static str> {
        Self::NAMES.into_iter().filter(|name| self.kind(name).is_some_and(|kind| *kind)).collect()
    }
}

impl From<Check> for Vec<&'static str> {
    fn from(check: Check) -> Self {
        check.names()
    }
}

impl TryFrom<Vec<String>> for Check {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let mut check = Self::default();
        for name in names {
            let kind = check.kind(&name);
            *kind.ok_or_else(|| format!("unknown kind of link '{name}'"))? = true;
        }
        Ok(check)
    }
}
