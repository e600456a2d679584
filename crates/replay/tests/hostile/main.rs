//! A server that does its worst, and the row that is to come of it.
//!
//! Each file is a catalogue of one theme: what the server does, and what every
//! stage is to tell of it, by the letter of the RFCs (9110, 9112), of the
//! WHATWG standards (URL, HTML, Encoding) and of our own definition of a row.
//! Beside each behaviour there is a page that nothing is wrong with, which is
//! to be fetched all the same.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../crawl-core/tests/encoders/mod.rs"]
#[allow(unreachable_pub)]
mod encoders;

mod behaviour;
mod bodies;
mod chunks;
mod cut;
mod framing;
mod heads;
mod keep_alive;
mod limits;
mod links;
mod processes;
mod redirects;
mod renegotiation;
mod silence;
mod text;
mod tls;
mod traps;

use behaviour::{Theme, check};

/// What a site of plain http can do that is over soon.
const QUICK: [Theme; 8] = [
    cut::behaviours,
    heads::behaviours,
    framing::behaviours,
    chunks::behaviours,
    redirects::behaviours,
    bodies::behaviours,
    text::behaviours,
    links::behaviours,
];

/// What takes the one who reads it some time.
const LARGE: [Theme; 2] = [limits::behaviours, links::large];

#[test]
fn there_are_more_than_a_hundred() {
    let themes = QUICK.iter().chain(&LARGE).chain([&(silence::behaviours as Theme)]);
    let of_http: usize = themes.map(|theme| theme("host").len()).sum();
    let of_tls = tls::Strangers::new().count();
    println!("{of_http} behaviours, and {of_tls} of TLS");
    assert!(of_http > 300 && of_tls > 30, "{of_http}, {of_tls}");
}

#[test]
fn connections_that_are_cut() {
    check(cut::behaviours, |_| ());
}

#[test]
fn heads() {
    check(heads::behaviours, |_| ());
}

#[test]
fn framing() {
    check(framing::behaviours, |_| ());
}

#[test]
fn chunks() {
    check(chunks::behaviours, |_| ());
}

#[test]
fn redirects() {
    check(redirects::behaviours, |_| ());
}

#[test]
fn bodies_and_codings() {
    check(bodies::behaviours, |_| ());
}

#[test]
fn limits() {
    check(limits::behaviours, |options| options.max_body_size = limits::MOST);
}

#[test]
fn text_and_charsets() {
    check(text::behaviours, |_| ());
}

#[test]
fn links_and_urls() {
    check(links::behaviours, |_| ());
}

#[test]
fn silence() {
    check(silence::behaviours, silence::patience);
}
