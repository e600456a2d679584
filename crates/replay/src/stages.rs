//! The stages that can be compared.

use std::fmt;
use std::io;

use crawl_core::{CrawlSummary, Options, Sink};

/// One stage of the chapter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub(crate) number: u8,
    name: &'static str,
    /// A number of concurrent fetches that the stage handles with ease.
    pub(crate) natural_tasks: usize,
    pub(crate) crawl: fn(Options, Sink) -> io::Result<CrawlSummary>,
}

const STAGES: [Stage; 4] = [
    Stage { number: 0, name: "threads", natural_tasks: 100, crawl: stage0_threads::crawl },
    Stage { number: 1, name: "callbacks", natural_tasks: 1000, crawl: stage1_callbacks::crawl },
    Stage { number: 2, name: "coroutines", natural_tasks: 1000, crawl: stage2_coroutines::crawl },
    Stage { number: 3, name: "queue", natural_tasks: 1000, crawl: stage3_queue::crawl },
];

impl Stage {
    /// Returns the stage with this number.
    pub(crate) fn from_number(text: &str) -> Result<Self, String> {
        let stage = STAGES.iter().find(|stage| stage.number.to_string() == text);
        stage.copied().ok_or("there are stages 0, 1, 2 and 3".into())
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.name)
    }
}
