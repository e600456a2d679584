//! The playground: a stage crawls a site on the simulated network, as the reader
//! wants it, and prints its rows, and its trace if that is wanted. It is built for
//! `wasm32-wasip1` as well, and then a page of the book runs it.
//!
//! The same arguments give the same output, in a browser and without one: the time
//! is that of the simulation.
//!
//! ```console
//! $ cargo run -p book-programs --bin playground -- \
//!       stage=3 pages=20 tasks=4 latency=30 fault=reset
//! ```

mod settings;
mod site;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use crawl_core::{Options, Row};
use sim_net::SimNet;
use trace::{Tracer, json};

use crate::settings::{Settings, Stage};

/// The bytes of a read if a stage is to read once per event.
const PART: usize = 64;

fn main() -> ExitCode {
    let (code, message) = match Settings::parse(std::env::args().skip(1)) {
        Ok(settings) => match run(&settings, &mut io::stdout().lock()) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => (1, error.to_string()),
        },
        Err(message) => (2, message),
    };
    // If this cannot be written, the exit code has to do.
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::from(code)
}

/// Crawls, and writes one line of JSON for each row and one for the whole.
fn run(settings: &Settings, out: &mut impl Write) -> io::Result<()> {
    let tracer = Tracer::new(Tracer::LIMIT);
    let entered = settings.traces.then(|| tracer.enter());
    let net = SimNet::new(site::handler(settings));
    let most = if settings.reads_once { PART } else { usize::MAX };
    net.limit_reads(most, settings.trigger);
    let root = site::ROOT.parse().map_err(io::Error::other)?;
    let mut options = Options::new(vec![root]);
    options.max_tasks = Some(settings.tasks);

    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let sink = Box::new(move |row: Row| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    });
    let summary = match settings.stage {
        Stage::Callbacks => {
            let mut event_loop = stage1_callbacks::EventLoop::with_backend(net.clone());
            stage1_callbacks::crawl_on(&mut event_loop, net.lookup(), options, sink)
        }
        Stage::Coroutines => stage2_coroutines::crawl_on(on(&net), options, sink),
        Stage::Queue => stage3_queue::crawl_on(on(&net), options, sink),
    }?;
    drop(entered);

    for row in rows.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        writeln!(out, "{}", serde_json::to_string(row)?)?;
    }
    let whole = serde_json::json!({
        "rows": summary.done,
        "requests": net.take_requests().len(),
        "at_once": summary.peak_in_flight,
        "simulated_ms": net.elapsed().as_millis() as u64,
    });
    writeln!(out, "{whole}")?;
    if settings.traces {
        let about = json::About {
            stage: settings.stage.name(),
            program: "playground",
            sources: &[],
            function: &|_| None,
        };
        let mut text = Vec::new();
        json::write(&tracer.take(), &about, &mut text)?;
        // On one line, like the others.
        text.retain(|byte| *byte != b'\n');
        text.push(b'\n');
        out.write_all(&text)?;
    }
    Ok(())
}

/// Makes a loop of stages 2 and 3 on a network.
fn on(net: &SimNet) -> stage2_coroutines::Runtime {
    stage2_coroutines::runtime_on(net.clone(), net.lookup())
}
