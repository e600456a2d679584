//! Scenes: short runs of the real parts, told step by step for the book.
//!
//! A scene is a program on the simulated network, or in virtual time. It runs, and
//! what its parts do is written as a list for a page: a column for each part, and one
//! entry for each thing that happens. Built for `wasm32-wasip1`, the same program runs
//! in the page, where the reader changes the choices.
//!
//! The same words give the same output, in a browser and without one.
//!
//! ```console
//! $ cargo run -p book-programs --bin scenes -- hang trigger=edge read=once
//! ```
//!
//! Without words it lists the scenes with their defaults, each of which is a figure of
//! the book: `cargo xtask scenes` writes them.

mod cancel;
mod conversation;
mod end;
mod fairness;
mod hang;
// What has no choices is not played anew by a reader, and makes a program for a browser
// larger.
#[cfg(not(target_family = "wasm"))]
mod one_read;
mod orders;
mod promise;
mod scene;
mod stale;
#[cfg(not(target_family = "wasm"))]
mod walk;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::scene::{Choices, Play, Scene};

/// A scene: the name, the choices with their defaults, and the program.
type Listed = (&'static str, &'static [(&'static str, &'static str)], Play);

/// All scenes.
const SCENES: &[Listed] = &[
    ("hang", &[("trigger", "edge"), ("read", "once")], hang::play),
    ("stale", &[("generation", "compared")], stale::play),
    ("conversation", &[("do", "resume,hello,goodbye")], conversation::play),
    #[cfg(not(target_family = "wasm"))]
    ("walk", &[], walk::play),
    #[cfg(not(target_family = "wasm"))]
    ("one-read", &[], one_read::play),
    ("cancel", &[("after", "2"), ("coroutine", "careless")], cancel::play),
    ("fairness", &[("tasks", "hog")], fairness::play),
    ("end", &[("done", "last")], end::play),
    ("promise", &[("getter", "stays")], promise::play),
    ("orders", &[("seed", "1"), ("done", "first")], orders::play),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (code, text) = match words.split_first() {
        None => (0, SCENES.iter().map(|(name, ..)| format!("{name}\n")).collect()),
        Some((name, choices)) => match play(name, choices) {
            Ok(scene) => (0, scene.to_html()),
            Err(message) => (2, message + "\n"),
        },
    };
    let written = match code {
        0 => io::stdout().write_all(text.as_bytes()),
        _ => io::stderr().write_all(text.as_bytes()),
    };
    if written.is_ok() { ExitCode::from(code) } else { ExitCode::FAILURE }
}

/// Plays the scene with this name, with these choices and the defaults of others.
fn play(name: &str, words: &[String]) -> Result<Scene, String> {
    let scene = SCENES.iter().find(|(known, ..)| *known == name);
    let (_, defaults, play) = scene.ok_or_else(|| format!("{name}: there is no such scene"))?;
    let choices = Choices::parse(defaults, words)?;
    play(&choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scene_is_played_and_is_the_same_every_time() {
        for (name, ..) in SCENES {
            let first = play(name, &[]).unwrap().to_html();
            assert!(first.matches("<li").count() > 2, "{name}: {first}");
            assert_eq!(first, play(name, &[]).unwrap().to_html(), "{name}");
            // A blank line would end the block of a page that includes it.
            assert!(!first.contains("\n\n"), "{name}");
        }
    }

    #[test]
    fn a_wrong_word_is_named() {
        let wrong = |name, word: &str| play(name, &[word.to_owned()]).err().unwrap();
        assert_eq!(wrong("dance", "a=b"), "dance: there is no such scene");
        assert_eq!(wrong("hang", "edge"), "edge: expected name=value");
        assert_eq!(wrong("hang", "speed=1"), "speed=1: expected trigger or read");
        assert_eq!(wrong("hang", "trigger=dog"), "trigger=dog: expected edge or level");
        assert_eq!(wrong("cancel", "after=9"), "after=9: expected 0, 1, 2, 3 or never");
        assert_eq!(wrong("orders", "seed=x"), "seed=x: expected a number");
    }

    fn html(name: &str, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        play(name, &words).unwrap().to_html()
    }

    /// The text of a scene without its tags.
    fn text(name: &str, words: &[&str]) -> String {
        let html = html(name, words);
        html.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect()
    }

    #[test]
    fn only_one_read_per_event_under_edge_triggering_hangs() {
        for (trigger, read, hangs) in [
            ("edge", "once", true),
            ("edge", "all", false),
            ("level", "once", false),
            ("level", "all", false),
        ] {
            let words = [format!("trigger={trigger}"), format!("read={read}")];
            let html = html("hang", &[&words[0], &words[1]]);
            assert_eq!(html.contains("it hangs"), hangs, "{trigger} {read}: {html}");
            assert_eq!(html.contains("has all 16 KiB"), !hangs, "{trigger} {read}: {html}");
        }
    }

    #[test]
    fn a_careful_coroutine_loses_no_parcel() {
        for after in ["0", "1", "2", "3", "never"] {
            let after = format!("after={after}");
            let lost = |coroutine| html("cancel", &[&after, coroutine]).contains("is lost");
            assert!(!lost("coroutine=careful"), "{after}");
            assert_eq!(lost("coroutine=careless"), after == "after=2", "{after}");
        }
    }

    #[test]
    fn handing_back_first_ends_a_crawl_early_in_some_orders() {
        let early = |done: &str| {
            let found = (1..=20).filter(|seed| {
                html("orders", &[&format!("seed={seed}"), done]).contains("too early")
            });
            found.count()
        };
        assert_eq!(early("done=last"), 0);
        assert!((1..20).contains(&early("done=first")));
        assert!(html("end", &["done=first"]).contains("too early"));
        assert!(!html("end", &[]).contains("too early"));
    }

    #[test]
    fn a_key_without_generation_finds_the_wrong_socket() {
        assert!(html("stale", &[]).contains("ignored"));
        assert!(html("stale", &["generation=ignored"]).contains("wrong"));
    }

    #[test]
    fn a_task_that_never_yields_keeps_the_timer_waiting() {
        let timer = |tasks| {
            let html = html("fairness", &[tasks]);
            (html.find("fires").unwrap(), html.find("third part").unwrap())
        };
        let (fires, last) = timer("tasks=hog");
        assert!(fires > last);
        let (fires, last) = timer("tasks=yield");
        assert!(fires < last);
    }

    #[test]
    fn an_item_goes_to_the_next_getter_if_the_first_is_cancelled() {
        assert!(text("promise", &[]).contains("first getter: takes /page"));
        let gone = text("promise", &["getter=cancelled"]);
        assert!(gone.contains("second getter: takes /page"), "{gone}");
    }

    #[test]
    fn a_generator_answers_as_often_as_it_can() {
        let html = html("conversation", &["do=hello,resume,throw,resume"]);
        assert!(html.contains("can only be sent nothing"), "{html}");
        assert!(html.contains("malformed page"), "{html}");
        assert!(html.contains("has ended"), "{html}");
    }

    #[test]
    fn a_conversation_says_that_it_takes_no_more() {
        let says_so = |steps: usize| {
            let words = format!("do={}", vec!["resume"; steps].join(","));
            text("conversation", &[&words]).contains("no more than 20 steps")
        };
        assert!(!says_so(20) && says_so(21));
    }
}
