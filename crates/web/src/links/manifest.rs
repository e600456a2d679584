//! Reader of the links in the manifest of a web app.

use super::json::{MAX_JSON_LEN, of_manifest};
use super::page_links::{Element, PageLinks};

/// The manifest of a web app, as far as it has arrived. One that is longer than 256 KiB
/// is not searched.
#[derive(Debug, Default)]
pub struct Manifest(Vec<u8>);

impl Manifest {
    /// Reads the next bytes, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let room = (MAX_JSON_LEN + 1).saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns the memory of what has arrived, in bytes.
    pub fn memory(&self) -> usize {
        self.0.len()
    }

    /// Ends the file and returns its links.
    pub fn finish(self) -> PageLinks {
        let mut links = PageLinks::default();
        for url in of_manifest(&self.0) {
            links.push(Element::Manifest, &url, None);
        }
        links
    }
}
