//! The subjects of the benches that take long to build: reqwest, smol and spider. The
//! programs `paired` and `line` start this one to have them crawl.

mod reqwest;
mod smol;
mod spider;

use std::io;

use benches::subjects::{Kind, Subject};

const SUBJECTS: [Subject; 3] = [
    Subject { name: "reqwest", kind: Kind::Plain, crawl: reqwest::crawl },
    Subject { name: "smol", kind: Kind::Plain, crawl: smol::crawl },
    Subject { name: "spider", kind: Kind::FromTheRoot, crawl: spider::crawl },
];

fn main() -> io::Result<()> {
    benches::play_role_of(&SUBJECTS, None)?;
    Err(io::Error::other("the programs `paired` and `line` of the benches start this one"))
}
