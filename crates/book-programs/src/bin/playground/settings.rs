//! The choices of the reader: words of the form `name=value`.

use std::str::FromStr;
use std::time::Duration;

use sim_net::Trigger;

/// The stage that crawls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Callbacks,
    Coroutines,
    Queue,
}

impl Stage {
    /// Its name in a trace.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Callbacks => "stage1",
            Self::Coroutines => "stage2",
            Self::Queue => "stage3",
        }
    }
}

/// The fault of some pages of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The connection is closed instead of a response.
    Close,
    /// No response comes.
    Silence,
    /// The response comes ten times as late.
    Slow,
    /// The page does not exist.
    Missing,
}

/// The choices, each with a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) stage: Stage,
    /// Pages of the site, 1 to 1,000.
    pub(crate) pages: usize,
    /// Fetches at a time, 1 to 1,000.
    pub(crate) tasks: usize,
    /// Time from a request to its response: up to 10,000 ms. Each page has its own,
    /// from half of it to one and a half.
    pub(crate) latency: Duration,
    pub(crate) fault: Fault,
    /// The moments at which bytes are reported that have arrived.
    pub(crate) trigger: Trigger,
    /// True if a read gets a part of what has arrived, as if a stage read once per event.
    pub(crate) reads_once: bool,
    /// The site, and the latency of each page, are derived from it.
    pub(crate) seed: u64,
    /// True if the trace is wanted, too.
    pub(crate) traces: bool,
}

impl Settings {
    /// Parses the words; the last one of a name counts.
    ///
    /// # Errors
    /// Says which word is wrong, and what it could be.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self {
            stage: Stage::Coroutines,
            pages: 12,
            tasks: 4,
            latency: Duration::from_millis(30),
            fault: Fault::None,
            trigger: Trigger::Edge,
            reads_once: false,
            seed: 1,
            traces: false,
        };
        for word in words {
            let wrong = |expected: &str| format!("{word}: expected {expected}");
            let Some((name, value)) = word.split_once('=') else {
                return Err(wrong("name=value"));
            };
            match name {
                "stage" => {
                    settings.stage = match value {
                        "1" => Stage::Callbacks,
                        "2" => Stage::Coroutines,
                        "3" => Stage::Queue,
                        _ => return Err(wrong("1, 2 or 3")),
                    }
                }
                "pages" => settings.pages = number(value, 1, 1_000).map_err(|e| wrong(&e))?,
                "tasks" => settings.tasks = number(value, 1, 1_000).map_err(|e| wrong(&e))?,
                "latency" => {
                    let ms = number(value, 0, 10_000).map_err(|e| wrong(&e))?;
                    settings.latency = Duration::from_millis(ms);
                }
                "fault" => {
                    settings.fault = match value {
                        "none" => Fault::None,
                        "close" => Fault::Close,
                        "silence" => Fault::Silence,
                        "slow" => Fault::Slow,
                        "missing" => Fault::Missing,
                        _ => return Err(wrong("none, close, silence, slow or missing")),
                    }
                }
                "trigger" => {
                    settings.trigger = match value {
                        "edge" => Trigger::Edge,
                        "level" => Trigger::Level,
                        _ => return Err(wrong("edge or level")),
                    }
                }
                "read" => {
                    settings.reads_once = match value {
                        "all" => false,
                        "once" => true,
                        _ => return Err(wrong("all or once")),
                    }
                }
                "seed" => settings.seed = number(value, 0, u64::MAX).map_err(|e| wrong(&e))?,
                "trace" => {
                    settings.traces = match value {
                        "yes" => true,
                        "no" => false,
                        _ => return Err(wrong("yes or no")),
                    }
                }
                _ => return Err(wrong(NAMES)),
            }
        }
        Ok(settings)
    }
}

/// The names of the choices.
const NAMES: &str = "stage, pages, tasks, latency, fault, trigger, read, seed or trace";

/// Parses a number of a range.
fn number<T: FromStr + PartialOrd + ToString>(value: &str, low: T, high: T) -> Result<T, String> {
    let number = value.parse().ok().filter(|number| *number >= low && *number <= high);
    number.ok_or_else(|| format!("a number from {} to {}", low.to_string(), high.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Settings, String> {
        Settings::parse(words.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn each_word_is_a_choice() {
        let all = parse(
            "stage=3 pages=1000 tasks=1 latency=0 fault=slow trigger=level read=once seed=7 \
             tasks=2 trace=yes",
        );
        let all = all.unwrap();
        assert_eq!(all.stage, Stage::Queue);
        assert_eq!((all.pages, all.tasks, all.seed), (1_000, 2, 7));
        assert_eq!((all.latency, all.fault), (Duration::ZERO, Fault::Slow));
        assert_eq!(all.trigger, Trigger::Level);
        assert!(all.reads_once && all.traces);
    }

    #[test]
    fn a_wrong_word_is_named() {
        for (words, message) in [
            ("stage=0", "stage=0: expected 1, 2 or 3"),
            ("pages=0", "pages=0: expected a number from 1 to 1000"),
            ("tasks=1001", "tasks=1001: expected a number from 1 to 1000"),
            ("latency=-1", "latency=-1: expected a number from 0 to 10000"),
            ("fault=fire", "fault=fire: expected none, close, silence, slow or missing"),
            ("trace=1", "trace=1: expected yes or no"),
            ("trigger=dog", "trigger=dog: expected edge or level"),
            ("read=never", "read=never: expected all or once"),
            (
                "speed=1",
                "speed=1: expected stage, pages, tasks, latency, fault, trigger, read, seed or trace",
            ),
            ("fast", "fast: expected name=value"),
        ] {
            assert_eq!(parse(words).unwrap_err(), message);
        }
    }
}
