//! A scene as a list of moments, and its HTML.

use std::cell::RefCell;
use std::fmt::Write;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use selector_core::VirtualClock;
use stage2_coroutines::{Runtime, runtime_on};

/// The program of a scene.
pub(crate) type Play = fn(&Choices<'_>) -> Result<Scene, String>;

/// The choices of the reader: words of the form `name=value`.
pub(crate) struct Choices<'w>(Vec<(&'w str, &'w str)>);

impl<'w> Choices<'w> {
    /// Parses words; what is not among them has its default.
    pub(crate) fn parse(
        defaults: &[(&'w str, &'w str)],
        words: &'w [String],
    ) -> Result<Self, String> {
        let mut choices = defaults.to_vec();
        for word in words {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("{word}: expected name=value"))?;
            let known = choices.iter_mut().find(|(known, _)| *known == name);
            let Some((_, chosen)) = known else {
                let names: Vec<&str> = defaults.iter().map(|(name, _)| *name).collect();
                return Err(format!("{word}: expected {}", names.join(" or ")));
            };
            *chosen = value;
        }
        Ok(Self(choices))
    }

    /// Returns the text of a choice.
    pub(crate) fn text(&self, name: &str) -> &'w str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// Returns the position of a choice among the values that it may have.
    pub(crate) fn among(&self, name: &str, values: &[&str]) -> Result<usize, String> {
        let value = self.text(name);
        values.iter().position(|known| *known == value).ok_or_else(|| {
            let (last, others) = values.split_last().unwrap_or((&"", &[]));
            format!("{name}={value}: expected {} or {last}", others.join(", "))
        })
    }

    /// Returns a choice that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<u64, String> {
        let value = self.text(name);
        value.parse().map_err(|_not_a_number| format!("{name}={value}: expected a number"))
    }
}

/// A list of moments, each in the lane of the part that acts. Clones are the same list.
#[derive(Clone)]
pub(crate) struct Scene {
    lanes: &'static [&'static str],
    moments: Rc<RefCell<Vec<Moment>>>,
}

/// One thing that happens.
struct Moment {
    lane: usize,
    text: String,
    /// Names and values after it: `unfinished 2`.
    state: Vec<(&'static str, String)>,
    /// True for the sentence that says how it ended.
    is_last: bool,
}

impl Scene {
    pub(crate) fn new(lanes: &'static [&'static str]) -> Self {
        Self { lanes, moments: Rc::default() }
    }

    /// Adds a moment to a lane.
    pub(crate) fn add(&self, lane: usize, text: impl Into<String>) {
        self.add_with(lane, text, []);
    }

    /// Adds a moment, and the state after it.
    pub(crate) fn add_with<const N: usize>(
        &self,
        lane: usize,
        text: impl Into<String>,
        state: [(&'static str, String); N],
    ) {
        self.push(Moment { lane, text: text.into(), state: state.into(), is_last: false });
    }

    fn push(&self, moment: Moment) {
        self.moments.borrow_mut().push(moment);
    }

    /// Adds the sentence that says how it ended, over all lanes.
    pub(crate) fn end(&self, text: impl Into<String>) {
        self.push(Moment { lane: 0, text: text.into(), state: Vec::new(), is_last: true });
    }

    /// Returns the list as HTML without blank lines, for the middle of a `<figure>`.
    pub(crate) fn to_html(&self) -> String {
        let mut html =
            format!("<div class=\"scene-lanes\" style=\"--lanes: {}\">\n", self.lanes.len());
        html += "<div class=\"scene-head\" aria-hidden=\"true\">";
        for lane in self.lanes {
            put(&mut html, format_args!("<b>{}</b>", escape(lane)));
        }
        html += "</div>\n<ol>\n";
        let mut before = None;
        for moment in self.moments.borrow().iter() {
            let Moment { lane, text, state, is_last } = moment;
            if *is_last {
                put(&mut html, format_args!("<li class=\"scene-end\">{}</li>\n", escape(text)));
                continue;
            }
            let from = before.replace(*lane).unwrap_or(*lane);
            let (low, high) = (from.min(*lane) + 1, from.max(*lane) + 1);
            let way = if from < *lane { "to-right" } else { "to-left" };
            let way = if from == *lane { "" } else { way };
            put(
                &mut html,
                format_args!(
                    "<li class=\"{way}\" style=\"--lane: {}; --low: {low}; --high: {high}\">",
                    lane + 1,
                ),
            );
            let name = escape(self.lanes.get(*lane).unwrap_or(&""));
            put(&mut html, format_args!("<span class=\"scene-name\">{name}: </span>"));
            put(&mut html, format_args!("<span class=\"scene-text\">{}</span>", escape(text)));
            for (name, value) in state {
                let (name, value) = (escape(name), escape(value));
                // A number is drawn as well.
                let is_number = value.parse::<u32>().is_ok();
                let style =
                    if is_number { format!(" style=\"--n: {value}\"") } else { String::new() };
                put(&mut html, format_args!(" <small{style}>{name}\u{a0}<b>{value}</b></small>"));
            }
            html += "</li>\n";
        }
        html + "</ol>\n</div>\n"
    }
}

/// Writes to a string, which does not fail.
fn put(html: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = html.write_fmt(text);
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Says an error of a part that does not fail in a scene.
pub(crate) fn failed(error: impl std::fmt::Display) -> String {
    format!("the scene has failed: {error}")
}

/// Makes a loop on which waiting takes no time, and which looks no names up.
pub(crate) fn runtime_in_virtual_time() -> Runtime {
    let no_names = |_: &str, _| Err(io::ErrorKind::Unsupported.into());
    runtime_on(VirtualClock::new(), Arc::new(no_names))
}
