//! The scripts: each transition of a job is one, and runs as a whole in Redis.

use std::sync::LazyLock;

use sha1_smol::Sha1;

/// A script, and the name that Redis gives it.
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) sha1: String,
}

const PRELUDE: &str = include_str!("scripts/prelude.lua");

impl Script {
    fn new(body: &str) -> Self {
        let text = format!("{PRELUDE}\n{body}");
        let sha1 = Sha1::from(&text).digest().to_string();
        Self { text, sha1 }
    }
}

macro_rules! scripts {
    ($($name:ident $file:literal)+) => {$(
        pub(crate) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(include_str!(concat!("scripts/", $file, ".lua"))));
    )+};
}

scripts! {
    CREATE "create"
    PUT "put"
    CLAIM "claim"
    COMPLETE "complete"
    DEFER "defer"
    RELEASE "release"
    RENEW "renew"
    RULES "rules"
    PACE "pace"
    DUTY "duty"
    TRIM "trim"
    PAGE "page"
}
