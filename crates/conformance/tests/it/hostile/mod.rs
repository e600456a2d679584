//! Hostile servers, and the rows that every stage has to report for them.
//!
//! Each file is a catalogue of one theme. A behaviour is what the server does at
//! one path, together with the expected row, by the letter of the RFCs (9110,
//! 9112), of the WHATWG standards (URL, HTML, Encoding) and of our own
//! definition of a row. For each behaviour there is a control page on the same
//! server, a valid page that has to be fetched all the same.

mod behaviour;
mod bodies;
mod budgets;
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

/// The themes of plain http that take little time.
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

/// The themes of plain http with large responses.
const LARGE: [Theme; 2] = [limits::behaviours, links::large];

#[test]
fn the_catalogue_has_hundreds_of_behaviours() {
    let themes = QUICK.iter().chain(&LARGE).chain([&(silence::behaviours as Theme)]);
    let of_http: usize = themes.map(|theme| theme("host").len()).sum();
    let of_tls = tls::HostileServers::new().count();
    println!("{of_http} behaviours, and {of_tls} of TLS");
    assert!(of_http > 300 && of_tls > 30, "{of_http}, {of_tls}");
}

#[test]
fn cut_responses_give_the_expected_rows() {
    check(cut::behaviours, |_| ());
}

#[test]
fn status_lines_and_headers_give_the_expected_rows() {
    check(heads::behaviours, |_| ());
}

#[test]
fn body_framing_gives_the_expected_rows() {
    check(framing::behaviours, |_| ());
}

#[test]
fn chunks_give_the_expected_rows() {
    check(chunks::behaviours, |_| ());
}

#[test]
fn redirects_give_the_expected_rows() {
    check(redirects::behaviours, |_| ());
}

#[test]
fn content_codings_give_the_expected_rows() {
    check(bodies::behaviours, |_| ());
}

#[test]
fn bodies_beyond_the_limit_give_the_expected_rows() {
    check(limits::behaviours, |options| options.settings.max_body_size = limits::MAX);
}

#[test]
fn charsets_give_the_expected_rows() {
    check(text::behaviours, |_| ());
}

#[test]
fn links_give_the_expected_rows() {
    check(links::behaviours, |_| ());
}

#[test]
fn silent_and_slow_servers_give_the_expected_rows() {
    check(silence::behaviours, silence::short_timeouts);
}
