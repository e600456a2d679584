//! The address of a site, and the authority to trust there.

use serde::{Deserialize, Serialize};

/// The root URL of a site, and the authority that vouches for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SiteAddress {
    pub(crate) root: String,
    /// The certificate of the authority in DER; empty for plain http.
    pub(crate) authority: Vec<u8>,
}
