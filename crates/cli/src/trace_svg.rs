//! The picture of a trace: its first ticks as SVG, with the lanes, colours and
//! signs of the viewer, for readers without JavaScript.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::Value;

/// The most lanes of tasks that are drawn.
const MAX_TASKS: usize = 12;
/// The most events that are drawn: programs without ticks have no other end.
const MAX_EVENTS: usize = 200;

// In units of the drawing.
const WIDTH: usize = 1000;
const GUTTER: usize = 150;
const ROW: usize = 34;
const SPAN_TOP: usize = 5;
const SPAN_HEIGHT: usize = 15;
const MOMENT: usize = 27;

/// A span, or a moment: then `to` is `from`. Both are positions in the order of
/// events, each of which has equal room.
struct Item<'a> {
    kind: &'a str,
    lane: u64,
    from: usize,
    to: usize,
    args: &'a Value,
    /// The arguments of its end.
    end: &'a Value,
    is_span: bool,
}

/// A lane that is drawn.
struct Lane {
    tid: u64,
    is_task: bool,
    name: String,
}

/// Draws the first `ticks` ticks of a trace, which may be cut anywhere. Returns a
/// `<figure>` for a page with the style of the viewer.
///
/// Each event is equally wide. At most 200 events and 12 tasks are drawn; the
/// caption says how many whole ticks there are, or events if there is none.
pub(crate) fn trace_svg(trace: &Value, ticks: usize) -> String {
    let (items, length, ended) = items(trace, ticks);
    let all = lanes(trace);
    let is_seen = |lane: &Lane| items.iter().any(|item| item.lane == lane.tid);
    let (tasks, others): (Vec<_>, Vec<_>) =
        all.iter().filter(|lane| is_seen(lane)).partition(|lane| lane.is_task);
    let lanes: Vec<&Lane> = others.into_iter().chain(tasks.into_iter().take(MAX_TASKS)).collect();
    let picture = Picture { items, lanes, unit: (WIDTH - GUTTER) as f64 / length.max(1) as f64 };

    let caption = match ended {
        0 => format!("The first {length} events."),
        1 => "The first tick; each event is equally wide.".to_owned(),
        _ => format!("The first {ended} ticks; each event is equally wide."),
    };
    let stage = escape(trace["otherData"]["stage"].as_str().unwrap_or("A trace"));
    format!(
        "<figure class=\"trace-picture\">\n{}<figcaption>{stage}. {caption} {}</figcaption>\n</figure>\n",
        picture.svg(&format!("{stage}: {caption}")),
        "With JavaScript, this page shows the whole trace, step by step.",
    )
}

/// Escapes text for HTML.
pub(crate) fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Pairs beginnings with ends, up to the end of the last tick that is wanted.
/// Returns the items, the number of positions, and that of the ticks that have ended.
fn items(trace: &Value, ticks: usize) -> (Vec<Item<'_>>, usize, usize) {
    let events = trace["traceEvents"].as_array().map_or(&[][..], Vec::as_slice);
    let mut items: Vec<Item<'_>> = Vec::new();
    let mut open: HashMap<(u64, &str), Vec<usize>> = HashMap::new();
    let (mut position, mut ticks_left) = (0, ticks);
    for event in events {
        let (Some(phase), Some(kind)) = (event["ph"].as_str(), event["name"].as_str()) else {
            continue;
        };
        let lane = event["tid"].as_u64().unwrap_or(0);
        match phase {
            "E" => {
                let Some(begun) = open.get_mut(&(lane, kind)).and_then(Vec::pop) else { continue };
                (items[begun].to, items[begun].end) = (position, &event["args"]);
                ticks_left -= usize::from(kind == "tick");
            }
            "B" | "i" => {
                let is_span = phase == "B";
                if is_span {
                    open.entry((lane, kind)).or_default().push(items.len());
                }
                let (from, to, args, end) = (position, position, &event["args"], &Value::Null);
                items.push(Item { kind, lane, from, to, args, end, is_span });
            }
            _ => continue,
        }
        position += 1;
        if ticks_left == 0 || position == MAX_EVENTS {
            break;
        }
    }
    for begun in open.into_values().flatten() {
        items[begun].to = position;
    }
    (items, position, ticks - ticks_left)
}

fn lanes(trace: &Value) -> Vec<Lane> {
    let lanes = trace["otherData"]["lanes"].as_array().map_or(&[][..], Vec::as_slice);
    let lane = |lane: &Value| {
        let kind = lane["kind"].as_str().unwrap_or("task");
        let name = match (lane["name"].as_str(), kind) {
            (_, "os") => "OS".to_owned(),
            (Some(name), "task") => path_only(name),
            (None, "task") => format!("task {}", lane["number"]),
            _ => kind.to_owned(),
        };
        Lane { tid: lane["tid"].as_u64().unwrap_or(0), is_task: kind == "task", name }
    };
    lanes.iter().map(lane).collect()
}

/// Takes from `fetch http://host/path` what tells one lane from another.
fn path_only(name: &str) -> String {
    let name = name.strip_prefix("fetch ").unwrap_or(name);
    let path = name.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    path.unwrap_or(name).to_owned()
}

/// Cuts a text to a number of letters, in front: the end of a URL says more.
fn shorten(text: &str, letters: usize) -> String {
    let excess = text.chars().count().saturating_sub(letters);
    if excess == 0 {
        return text.to_owned();
    }
    format!("…{}", text.chars().skip(excess + 1).collect::<String>())
}

struct Picture<'a> {
    items: Vec<Item<'a>>,
    lanes: Vec<&'a Lane>,
    /// The width of one event.
    unit: f64,
}

impl Picture<'_> {
    fn svg(&self, title: &str) -> String {
        let height = self.lanes.len() * ROW + 4;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"trace-picture-title\">\n\
             <title id=\"trace-picture-title\">{title}</title>\n"
        );
        for (row, lane) in self.lanes.iter().enumerate() {
            let y = row * ROW;
            if row % 2 == 1 {
                put(
                    &mut svg,
                    format_args!(
                        "<rect class=\"ground\" y=\"{y}\" width=\"{WIDTH}\" height=\"{ROW}\"/>"
                    ),
                );
            }
            let name = escape(&shorten(&lane.name, 22));
            put(
                &mut svg,
                format_args!("<text class=\"text\" x=\"8\" y=\"{}\">{name}</text>", y + 21),
            );
            self.lane(&mut svg, lane.tid, y);
        }
        for item in &self.items {
            self.arrow(&mut svg, item);
        }
        svg + "</svg>\n"
    }

    fn x(&self, position: usize) -> f64 {
        GUTTER as f64 + position as f64 * self.unit
    }

    /// Draws what lies behind first: ticks and fetches, waits, steps, moments.
    fn lane(&self, svg: &mut String, tid: u64, y: usize) {
        let of_lane = || self.items.iter().filter(|item| item.lane == tid);
        let is_behind = |item: &&Item<'_>| matches!(item.kind, "tick" | "fetch");
        for item in of_lane().filter(|item| item.is_span).filter(is_behind) {
            self.rect(svg, item, "behind", y + 2, ROW - 4);
            if item.kind == "tick" {
                self.label(svg, item, "dim", &format!("tick {}", item.args["number"]), y);
            }
        }
        let front = || of_lane().filter(|item| item.is_span).filter(|item| !is_behind(item));
        for (step, next) in front().zip(front().skip(1)).filter(|(step, _)| step.kind == "step") {
            let middle = y + SPAN_TOP + SPAN_HEIGHT / 2;
            let (from, to) = (self.x(step.to), self.x(next.from));
            put(svg, format_args!("<path class=\"wait\" d=\"M{from:.1} {middle}H{to:.1}\"/>"));
        }
        for item in front() {
            let (class, ink) = match item.kind {
                "select" => ("select", "text"),
                _ => ("run", "on-run"),
            };
            self.rect(svg, item, class, y + SPAN_TOP, SPAN_HEIGHT);
            let label = match item.kind {
                "select" => format!("{} ready", item.end["ready"].as_u64().unwrap_or(0)),
                _ => item.end["result"].as_str().unwrap_or(item.kind).to_owned(),
            };
            self.label(svg, item, ink, &label, y);
        }
        for item in of_lane().filter(|item| !item.is_span) {
            let (x, y) = (self.x(item.from), y + MOMENT);
            let is_hollow = item.args["stale"] == true
                || item.args["result"] == "would_block"
                || matches!(item.kind, "waker_stored" | "timer_set");
            let class = if is_hollow { "hollow" } else { "moment" };
            let shape = shape(item.kind);
            let title = escape(&self.describe(item));
            put(
                svg,
                format_args!(
                    "<path class=\"{class}\" transform=\"translate({x:.1} {y})\" d=\"{shape}\"><title>{title}</title></path>"
                ),
            );
        }
    }

    fn describe(&self, item: &Item<'_>) -> String {
        let kind = item.kind.replace('_', " ");
        match ["operation", "by", "result"].iter().find_map(|field| item.args[*field].as_str()) {
            Some(more) => format!("{kind}: {}", more.replace('_', " ")),
            None => kind,
        }
    }

    fn rect(&self, svg: &mut String, item: &Item<'_>, class: &str, y: usize, height: usize) {
        let (x, width) = (self.x(item.from), (item.to - item.from) as f64 * self.unit);
        let width = width.max(1.5);
        put(
            svg,
            format_args!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"/>"
            ),
        );
    }

    /// Writes in a span, if the text fits. A letter is about 6.2 units wide.
    fn label(&self, svg: &mut String, item: &Item<'_>, class: &str, text: &str, y: usize) {
        let room = (item.to - item.from) as f64 * self.unit - 6.0;
        if text.chars().count() as f64 * 6.2 <= room {
            let (x, y, text) = (self.x(item.from) + 3.0, y + SPAN_TOP + 11, escape(text));
            put(svg, format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\">{text}</text>"));
        }
    }

    /// Draws the way from a wake-up to the step that it leads to.
    fn arrow(&self, svg: &mut String, wake: &Item<'_>) {
        let step = |item: &&Item<'_>| {
            item.is_span
                && item.lane == wake.lane
                && item.from > wake.from
                && matches!(item.kind, "step" | "callback")
        };
        let row_of = |tid: u64| self.lanes.iter().position(|lane| lane.tid == tid);
        if wake.kind != "wake" {
            return;
        }
        let Some((step, to)) = self.items.iter().find(step).zip(row_of(wake.lane)) else { return };
        // What no lane is told for comes from the selector: an event, or a timer.
        let selector = self.lanes.iter().position(|lane| lane.name == "selector");
        let from = wake.args["from"].as_u64().map_or(selector, row_of).unwrap_or(to);
        let (x, y) = (self.x(wake.from), from * ROW + MOMENT);
        let (to_x, to_y) = (self.x(step.from), to * ROW + SPAN_TOP + SPAN_HEIGHT / 2);
        put(
            svg,
            format_args!(
                "<path class=\"arrow\" d=\"M{x:.1} {y}C{x:.1} {to_y} {x:.1} {to_y} {to_x:.1} {to_y}m-5 -3l5 3l-5 3\"/>"
            ),
        );
    }
}

fn put(svg: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = svg.write_fmt(line);
    svg.push('\n');
}

/// Outlines around the origin, as in the viewer.
fn shape(kind: &str) -> &'static str {
    match kind {
        "event" => "M-4 4L4 4L0 -4Z",
        "wake" => "M-4 0L0 -4.5L4 0L0 4.5Z",
        "write" => "M-3.5 4L3.5 4L0 -4Z",
        "read" => "M-3.5 -4L3.5 -4L0 4Z",
        "put" => "M-4 -4L-4 4L4 0Z",
        "get" => "M4 -4L4 4L-4 0Z",
        "waker_stored" => "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",
        "close" | "timer_cancelled" => {
            "M-3 -4L0 -1L3 -4L4 -3L1 0L4 3L3 4L0 1L-3 4L-4 3L-1 0L-4 -3Z"
        }
        "connect" => "M-1 -4H1V-1H4V1H1V4H-1V1H-4V-1H-1Z",
        _ => "M-3.5 -3.5H3.5V3.5H-3.5Z",
    }
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;
    use quick_xml::events::Event;
    use serde_json::json;

    use super::*;

    /// A trace of two tasks: the first waits once, and the second is never woken.
    fn trace() -> Value {
        let step = |ph: &str, tid: u32, result: &str| json!({"ph": ph, "tid": tid, "name": "step", "args": {"result": result}});
        let event = |ph: &str, tid: u32, name: &str, args: Value| json!({"ph": ph, "tid": tid, "name": name, "args": args});
        json!({
            "otherData": {
                "stage": "stage2",
                "lanes": [
                    {"tid": 1, "kind": "os"},
                    {"tid": 2, "kind": "selector"},
                    {"tid": 3, "kind": "run queue"},
                    {"tid": 4, "kind": "task", "name": "fetch http://h/a<b>&c"},
                    {"tid": 5, "kind": "task", "name": "fetch http://h/second"},
                ],
            },
            "traceEvents": [
                event("M", 1, "thread_name", json!({})),
                event("B", 2, "tick", json!({"number": 1})),
                event("B", 1, "select", json!({"timeout_us": 0})),
                event("E", 1, "select", json!({"ready": 0})),
                step("B", 4, "pending"),
                event("i", 4, "waker_stored", json!({"operation": "read"})),
                step("E", 4, "pending"),
                step("B", 5, "pending"),
                step("E", 5, "pending"),
                event("C", 1, "unfinished", json!({"value": 2})),
                event("E", 2, "tick", json!({})),
                event("B", 2, "tick", json!({"number": 2})),
                event("i", 2, "event", json!({"key": 7, "stale": true})),
                event("i", 4, "wake", json!({"by": "event", "from": null})),
                step("B", 4, "done"),
                step("E", 4, "done"),
                event("E", 2, "tick", json!({})),
            ],
        })
    }

    /// The elements of a class, as a parser of XML sees them.
    fn elements(svg: &str, class: &str) -> usize {
        let (mut reader, mut count, mut depth) = (Reader::from_str(svg), 0, 0);
        loop {
            let element = match reader.read_event().expect("well-formed") {
                Event::Start(element) => {
                    depth += 1;
                    element
                }
                Event::Empty(element) => element,
                Event::End(_) => {
                    depth -= 1;
                    continue;
                }
                Event::Eof => break,
                _ => continue,
            };
            let found = element.try_get_attribute("class").expect("an attribute");
            count += usize::from(found.is_some_and(|found| found.value == class));
        }
        assert_eq!(depth, 0, "{svg}");
        count
    }

    #[test]
    fn as_much_is_drawn_as_the_ticks_hold() {
        let both = trace_svg(&trace(), 10);
        // Two ticks, three steps and a select, one wait, one arrow.
        assert_eq!(elements(&both, "behind"), 2, "{both}");
        assert_eq!(elements(&both, "run"), 3);
        assert_eq!(elements(&both, "select"), 1);
        assert_eq!(elements(&both, "wait"), 1);
        assert_eq!(elements(&both, "arrow"), 1);
        // A stored waker and a stale event are hollow; the wake-up is not.
        assert_eq!((elements(&both, "hollow"), elements(&both, "moment")), (2, 1));
        assert!(both.contains("The first 2 ticks"), "{both}");
        assert!(both.contains(">tick 1</text>"), "{both}");
        // From the lane of the selector, the second one, to that of the first task.
        let arrow = both.lines().find(|line| line.contains("class=\"arrow\"")).unwrap();
        assert!(arrow.contains(&format!(" {}C", ROW + MOMENT)), "{arrow}");

        let first = trace_svg(&trace(), 1);
        assert_eq!(elements(&first, "behind"), 1);
        assert_eq!((elements(&first, "run"), elements(&first, "wait")), (2, 0));
        assert!(first.contains("The first tick;"), "{first}");
    }

    #[test]
    fn a_tick_that_is_not_whole_is_not_counted() {
        let mut trace = trace();
        let events = trace["traceEvents"].as_array_mut().unwrap();
        let wake = events[13].clone();
        events.splice(14..14, vec![wake; MAX_EVENTS]);
        let both = trace_svg(&trace, 10);
        assert_eq!(elements(&both, "behind"), 2);
        assert!(both.contains("The first tick;"), "{both}");
    }

    #[test]
    fn a_name_is_text_whatever_is_in_it() {
        let svg = trace_svg(&trace(), 1);
        assert!(svg.contains(">/a&lt;b&gt;&amp;c</text>"), "{svg}");
    }

    #[test]
    fn only_so_many_lanes_are_drawn() {
        let mut trace = trace();
        for tid in 6..40 {
            let lane = json!({"tid": tid, "kind": "task", "name": "t", "number": tid});
            trace["otherData"]["lanes"].as_array_mut().unwrap().push(lane);
            let wake = json!({"ph": "i", "tid": tid, "name": "wake", "args": {}});
            trace["traceEvents"].as_array_mut().unwrap().insert(5, wake);
        }
        let svg = trace_svg(&trace, 1);
        assert_eq!(elements(&svg, "text"), 2 + MAX_TASKS, "{svg}");
    }

    #[test]
    fn a_cut_trace_is_drawn_as_far_as_it_goes() {
        let whole = trace();
        for length in 0..whole["traceEvents"].as_array().unwrap().len() {
            let mut cut = whole.clone();
            cut["traceEvents"].as_array_mut().unwrap().truncate(length);
            elements(&trace_svg(&cut, 10), "run");
        }
        for foreign in [json!(null), json!([]), json!({"traceEvents": [1, {"ph": "E"}]})] {
            assert_eq!(elements(&trace_svg(&foreign, 10), "run"), 0);
        }
    }
}
