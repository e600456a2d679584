//! A trace as JSON, in the trace event format of Chrome, which Perfetto opens.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{At, Event, OS, RUN_QUEUE, Record, SELECTOR, Trace};

/// Version of the format. It changes with every change that breaks readers.
const VERSION: u32 = 1;

/// The facts that a trace does not know of itself.
pub struct About<'a> {
    /// The stage: `stage1`, for example.
    pub stage: &'a str,
    /// The name of the program, with its version.
    pub program: &'a str,
    /// The source files that events may name: path and text.
    pub sources: &'a [(&'a str, &'a str)],
    /// Finds the function of a callback by its name: the file, and the line where it
    /// begins.
    pub function: &'a dyn Fn(&str) -> Option<(&'static str, usize)>,
}

impl fmt::Debug for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stage, program, .. } = self;
        f.debug_struct("About")
            .field("stage", stage)
            .field("program", program)
            .finish_non_exhaustive()
    }
}

/// Writes a trace as JSON.
///
/// # Errors
/// Those of `out`.
pub fn write(trace: &Trace, about: &About<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer { trace, about, queues: HashMap::new(), queue_count: 0 };
    let mut lanes = vec![
        json!({"tid": OS, "kind": "os"}),
        json!({"tid": SELECTOR, "kind": "selector"}),
        json!({"tid": RUN_QUEUE, "kind": "run queue"}),
    ];
    let tasks = (1..).zip(&trace.tasks);
    lanes.extend(tasks.map(|(number, _)| {
        let (tid, name) = (RUN_QUEUE + number, writer.name(RUN_QUEUE + number));
        json!({"tid": tid, "kind": "task", "name": name, "number": number})
    }));
    let other_data = json!({
        "format": "fourways-trace",
        "version": VERSION,
        "stage": about.stage,
        "program": about.program,
        "dropped": trace.dropped,
        "lanes": lanes,
        "sources": writer.sources(),
    });
    write!(out, "{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{other_data},\n\"traceEvents\":[")?;
    for (lane, separator) in lanes.iter().zip([""].into_iter().chain(std::iter::repeat(","))) {
        let name = lane.get("name").unwrap_or(&lane["kind"]);
        let args = json!({"name": name});
        let tid = &lane["tid"];
        writeln!(out, "{separator}")?;
        write!(out, r#"{{"name":"thread_name","ph":"M","pid":1,"tid":{tid},"args":{args}}}"#)?;
    }
    for record in &trace.records {
        for (phase, name, args) in writer.events(record) {
            let ts = microseconds(record.time);
            let (tid, scope) = match phase {
                "C" => (0, ""),
                "i" => (record.lane, r#""s":"t","#),
                _ => (record.lane, ""),
            };
            let args = Value::Object(args);
            write!(out, ",\n{{\"name\":\"{name}\",\"ph\":\"{phase}\",{scope}\"pid\":1,")?;
            write!(out, "\"tid\":{tid},\"ts\":{ts},\"args\":{args}}}")?;
        }
    }
    out.write_all(b"\n]}\n")
}

/// An event as it is written: phase, name and arguments.
type Written = (&'static str, &'static str, Map<String, Value>);

/// The state of writing a trace.
struct Writer<'t> {
    trace: &'t Trace,
    about: &'t About<'t>,
    /// The number of each queue, and its last count of unfinished items.
    queues: HashMap<u64, (usize, usize)>,
    /// The number of queues so far.
    queue_count: usize,
}

impl Writer<'_> {
    /// Returns the name of a task's lane.
    fn name(&self, lane: u32) -> String {
        let number = self.number(lane).unwrap_or_default();
        let task = self.trace.tasks.get(number.saturating_sub(1) as usize);
        let name = task.and_then(|task| task.name.as_deref());
        let spawned = task.and_then(|task| task.spawned);
        match (name, spawned) {
            (Some("thread"), _) => format!("thread {number}"),
            (Some(name), _) => name.to_owned(),
            (None, Some(at)) => format!("task of {}:{}", at.file(), at.line()),
            (None, None) => format!("task {number}"),
        }
    }

    /// Returns the number of the task on a lane.
    fn number(&self, lane: u32) -> Option<u32> {
        lane.checked_sub(RUN_QUEUE).filter(|number| *number > 0)
    }

    /// Returns the source files that the events name.
    fn sources(&self) -> Value {
        let mut named = BTreeSet::new();
        for Record { event, .. } in &self.trace.records {
            match event {
                Event::StepEnd { at: Some(at), .. } | Event::WakerStored { at: Some(at), .. } => {
                    named.insert(at.file());
                }
                Event::CallbackBegin { name, .. } => {
                    named.extend((self.about.function)(name).map(|(file, _)| file));
                }
                _ => {}
            }
        }
        let named = self.about.sources.iter().filter(|(path, _)| named.contains(path));
        named.map(|(path, text)| ((*path).to_owned(), Value::from(*text))).collect()
    }

    /// Returns an event as it is written. An operation of a queue may be two.
    fn events(&mut self, record: &Record) -> Vec<Written> {
        let moment = |at: std::time::Instant| {
            let since = at.saturating_duration_since(self.trace.started);
            microseconds(since).parse::<f64>().unwrap_or_default()
        };
        let (phase, name, args) = match &record.event {
            Event::TickBegin { number } => ("B", "tick", json!({"number": number})),
            Event::TickEnd => ("E", "tick", json!({})),
            Event::SelectBegin { timeout } => {
                let timeout = timeout.map(|timeout| timeout.as_micros() as u64);
                ("B", "select", json!({"timeout_us": timeout}))
            }
            Event::SelectEnd { ready } => ("E", "select", json!({"ready": ready})),
            Event::Ready { key, readable, writable, stale } => {
                let mut args = json!({"key": key, "readable": readable, "writable": writable});
                if *stale {
                    args["stale"] = true.into();
                }
                ("i", "event", args)
            }
            Event::CallbackBegin { name, key } => {
                let at = (self.about.function)(name);
                let at = at.map(|(file, line)| json!({"file": file, "line": line}));
                ("B", "callback", json!({"name": name, "at": at, "key": key}))
            }
            Event::CallbackEnd => ("E", "callback", json!({})),
            Event::StepBegin => {
                let task = self.number(record.lane);
                ("B", "step", json!({"task": task, "name": self.name(record.lane)}))
            }
            Event::StepEnd { at, result } => {
                ("E", "step", json!({"at": at.map(place), "result": result}))
            }
            Event::WakerStored { operation, at, key } => {
                let args = json!({"operation": operation, "at": at.map(place), "key": key});
                ("i", "waker_stored", args)
            }
            Event::Wake { by, from } => {
                let task =
                    from.and_then(|from| self.number(from)).map(|task| format!("task {task}"));
                let by = task.unwrap_or_else(|| (*by).to_owned());
                ("i", "wake", json!({"by": by, "from": from}))
            }
            Event::TimerSet { timer, at } => {
                ("i", "timer_set", json!({"timer": timer, "at_us": moment(*at)}))
            }
            Event::TimerMoved { timer, from, at } => {
                let args = json!({"timer": timer, "from": from, "at_us": moment(*at)});
                ("i", "timer_moved", args)
            }
            Event::TimerFired { timer } => ("i", "timer_fired", json!({"timer": timer})),
            Event::TimerCancelled { timer } => ("i", "timer_cancelled", json!({"timer": timer})),
            Event::Connect { key, address } => {
                ("i", "connect", json!({"key": key, "address": address.to_string()}))
            }
            Event::Reuse { key } => ("i", "reuse", json!({"key": key})),
            Event::Close { key } => ("i", "close", json!({"key": key})),
            Event::Read { key, result } => ("i", "read", self.call(record, *key, *result)),
            Event::Write { key, result } => ("i", "write", self.call(record, *key, *result)),
            Event::Queue { queue, operation, unfinished } => {
                return self.queue(*queue, operation, *unfinished);
            }
            Event::FetchBegin { url } => ("B", "fetch", json!({"url": url})),
            Event::FetchEnd { url, status, outcome } => {
                ("E", "fetch", json!({"url": url, "status": status, "outcome": outcome}))
            }
        };
        vec![(phase, name, object(args))]
    }

    /// Returns the arguments of a system call.
    fn call(&self, record: &Record, key: u64, result: Result<usize, io::ErrorKind>) -> Value {
        let word = match result {
            Ok(0) => "end",
            Ok(_) => "ok",
            Err(io::ErrorKind::WouldBlock) => "would_block",
            Err(_) => "error",
        };
        let task = self.number(record.task);
        json!({"key": key, "task": task, "bytes": result.unwrap_or(0), "result": word})
    }

    /// Returns the events of an operation of a queue: itself, and the count if that
    /// has changed.
    fn queue(&mut self, queue: u64, operation: &'static str, unfinished: usize) -> Vec<Written> {
        if operation == "new" {
            // An id is an address, which another queue may have had before.
            self.queues.remove(&queue);
            return Vec::new();
        }
        let (number, last) = self.queues.entry(queue).or_insert_with(|| {
            self.queue_count += 1;
            (self.queue_count, 0)
        });
        let mut events = Vec::new();
        if operation != "reserve" {
            events.push(("i", operation, object(json!({"queue": number}))));
        }
        if std::mem::replace(last, unfinished) != unfinished {
            events.push(("C", "unfinished", object(json!({"value": unfinished}))));
        }
        events
    }
}

/// Returns a place in the source code as it is written.
fn place(at: At) -> Value {
    json!({"file": at.file(), "line": at.line()})
}

/// Returns the members of a value that is an object.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Returns a time in microseconds, with three places after the point.
fn microseconds(time: Duration) -> String {
    format!("{}.{:03}", time.as_micros(), time.subsec_nanos() % 1000)
}
