//! The simulated site: its pages, and how late and how well each is served.

use sim_net::{Request, Response, hang_up, not_found, page, silence};

use crate::settings::{Fault, Settings};

/// The first page. The host is an address, so that no name is looked up.
pub(crate) const ROOT: &str = "http://10.0.0.1/";

/// One page in so many has the fault.
const FAULTY: u64 = 5;

/// Makes the function that answers requests.
pub(crate) fn handler(settings: &Settings) -> impl FnMut(&Request) -> Response + 'static {
    let settings = *settings;
    move |request| {
        let number = match request.path.strip_prefix("/page/") {
            Some(number) => number.parse().ok(),
            None => (request.path == "/").then_some(0),
        };
        match number.filter(|number| *number < settings.pages) {
            Some(number) => answer(number, &settings),
            None => not_found().after(settings.latency / 2),
        }
    }
}

/// Answers the request of a page that exists.
fn answer(number: usize, settings: &Settings) -> Response {
    let random = mix(settings.seed, number as u64);
    // From a half to one and a half.
    let latency = settings.latency / 2 + settings.latency * (random % 101) as u32 / 100;
    let response = page(links(number, settings.pages));
    let is_faulty = number > 0 && (random >> 32).is_multiple_of(FAULTY);
    match settings.fault {
        _ if !is_faulty => response.after(latency),
        Fault::None => response.after(latency),
        Fault::Slow => response.after(latency * 10),
        Fault::Missing => not_found().after(latency),
        Fault::Close => hang_up().after(latency),
        Fault::Silence => silence(),
    }
}

/// Links to three pages further on, so that all can be found, and back to the first.
fn links(number: usize, pages: usize) -> Vec<String> {
    let further = (1..=3).map(|i| number * 3 + i).filter(|next| *next < pages);
    further.map(|next| format!("/page/{next}")).chain(["/".to_owned()]).collect()
}

/// Mixes two numbers (the finalizer of SplitMix64).
fn mix(seed: u64, number: u64) -> u64 {
    let mut value = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
