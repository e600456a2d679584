//! Drawings of figures, in the colours of the page: what is drawn with the
//! classes of `book/figures.css` can be read in light and dark.

use std::fmt::Write as _;

use super::numbers::{plain, short};

const WIDTH: f64 = 720.0;
/// Where the names of rows end, and what they are names of begins.
const LEFT: f64 = 170.0;
const RIGHT: f64 = 690.0;
/// Where the legend stands.
const LEGEND: f64 = 20.0;
const ROW: f64 = 26.0;

/// What is said about a drawing.
pub(super) struct Caption {
    /// The name of its file, and what its ids begin with.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What its figures are figures of, with the unit.
    pub(super) unit: &'static str,
}

/// How a place belongs to a figure.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// From nothing.
    Linear,
    /// Ten times as much is as far everywhere.
    Log,
}

/// A row for each subject, and in each row a mark for each of the series.
pub(super) struct Rows {
    pub(super) caption: Caption,
    pub(super) scale: Scale,
    pub(super) series: Vec<String>,
    pub(super) rows: Vec<(String, Vec<Option<f64>>)>,
}

/// Lines over a number, both logarithmic.
pub(super) struct Lines {
    pub(super) caption: Caption,
    /// What the lines are drawn over.
    pub(super) over: &'static str,
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
}

struct Axis {
    scale: Scale,
    least: f64,
    most: f64,
    /// Where they lie.
    from: f64,
    to: f64,
}

impl Axis {
    /// With room for all of the values, those of a logarithmic axis being more
    /// than nothing.
    fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(l, m), v| (l.min(v), m.max(v)));
        let (least, most) = match scale {
            Scale::Linear => (0.0, (most / step(most)).ceil() * step(most)),
            Scale::Log => {
                let least = least.log10().floor();
                (10f64.powf(least), 10f64.powf(most.log10().ceil().max(least + 1.0)))
            }
        };
        Self { scale, least, most, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.least) / (self.most - self.least),
            Scale::Log => (value / self.least).log10() / (self.most / self.least).log10(),
        };
        self.from + part * (self.to - self.from)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = step(self.most);
                (0..=(self.most / step).round() as i32).map(|tick| f64::from(tick) * step).collect()
            }
            Scale::Log => {
                let decades = (self.most / self.least).log10().round() as i32;
                (0..=decades).map(|decade| self.least * 10f64.powi(decade)).collect()
            }
        }
    }
}

/// A fifth of it or so, and a round number.
fn step(most: f64) -> f64 {
    let about = most / 5.0;
    let decade = 10f64.powf(about.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps.into_iter().find(|&step| step >= about * 0.999).unwrap_or(about)
}

impl Rows {
    pub(super) fn draw(&self) -> String {
        let values = || self.rows.iter().flat_map(|(_, marks)| marks.iter().flatten().copied());
        let axis = Axis::new(self.scale, values(), LEFT, RIGHT);
        let is_one = self.series.len() == 1;
        let top = if is_one { 10.0 } else { LEGEND + 20.0 };
        let bottom = top + ROW * self.rows.len() as f64;
        let described = |(name, marks): &(String, Vec<Option<f64>>)| {
            let marks = self.series.iter().zip(marks);
            let marks = marks.filter_map(|(series, mark)| {
                let value = plain((*mark)?);
                Some(if is_one { value } else { format!("{series} {value}") })
            });
            format!("{name}: {}", marks.collect::<Vec<_>>().join(", "))
        };
        let described: Vec<_> = self.rows.iter().map(described).collect();
        let mut svg = begin(&self.caption, &described, bottom + 50.0);
        across(&mut svg, &axis, top, bottom, self.caption.unit);
        if !is_one {
            legend(&mut svg, self.series.iter());
        }
        for (index, (name, marks)) in self.rows.iter().enumerate() {
            let y = top + ROW * (index as f64 + 0.5);
            text(&mut svg, "text", "end", LEFT - 12.0, y + 5.0, name);
            for (number, &value) in marks.iter().enumerate() {
                let Some(value) = value else { continue };
                let x = axis.at(value);
                if is_one {
                    line(&mut svg, "accent", &[(LEFT, y), (x, y)]);
                    // Beside the mark, where there is room.
                    let (anchor, x) =
                        if x > RIGHT - 60.0 { ("end", x - 9.0) } else { ("start", x + 9.0) };
                    let y = if anchor == "end" { y - 4.0 } else { y + 5.0 };
                    text(&mut svg, "text halo", anchor, x, y, &plain(value));
                }
                mark(&mut svg, number, x, y);
            }
        }
        svg + "</svg>\n"
    }
}

impl Lines {
    pub(super) fn draw(&self) -> String {
        let points = || self.series.iter().flat_map(|(_, points)| points.iter().copied());
        let (top, bottom, left) = (LEGEND + 24.0, 300.0, 70.0);
        let x_axis = Axis::new(Scale::Log, points().map(|(x, _)| x), left, RIGHT);
        let y_axis = Axis::new(Scale::Log, points().map(|(_, y)| y), bottom, top);
        let described = |(name, points): &(String, Vec<(f64, f64)>)| {
            let points = points.iter().map(|&(x, y)| format!("{} at {}", plain(y), short(x)));
            format!("{name}: {}", points.collect::<Vec<_>>().join(", "))
        };
        let described: Vec<_> = self.series.iter().map(described).collect();
        let mut svg = begin(&self.caption, &described, bottom + 50.0);
        across(&mut svg, &x_axis, top, bottom, self.over);
        for tick in y_axis.ticks() {
            let y = y_axis.at(tick);
            line(&mut svg, "ink\" opacity=\"0.3", &[(left, y), (RIGHT, y)]);
            text(&mut svg, "dim", "end", left - 8.0, y + 5.0, &short(tick));
        }
        legend(&mut svg, self.series.iter().map(|(name, _)| name));
        for (number, (_, points)) in self.series.iter().enumerate() {
            let places: Vec<_> =
                points.iter().map(|&(x, y)| (x_axis.at(x), y_axis.at(y))).collect();
            line(&mut svg, STROKES[number % STROKES.len()], &places);
            for &(x, y) in &places {
                mark(&mut svg, number, x, y);
            }
        }
        svg + "</svg>\n"
    }
}

const STROKES: [&str; 4] = ["accent", "second", "third", "ink"];

fn begin(caption: &Caption, described: &[String], height: f64) -> String {
    let &Caption { name, title, unit } = caption;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{name}-title \
         {name}-desc\">\n<title id=\"{name}-title\">{title}</title>\n\
         <desc id=\"{name}-desc\">In {unit}. {}.</desc>\n",
        described.join("; ")
    )
}

/// The axis at the bottom, with a line up for each tick.
fn across(svg: &mut String, axis: &Axis, top: f64, bottom: f64, unit: &str) {
    for tick in axis.ticks() {
        let x = axis.at(tick);
        line(svg, "ink\" opacity=\"0.3", &[(x, top), (x, bottom)]);
        text(svg, "dim", "middle", x, bottom + 18.0, &short(tick));
    }
    line(svg, "ink", &[(axis.from, bottom), (axis.to, bottom)]);
    text(svg, "dim", "end", axis.to, bottom + 38.0, unit);
}

fn legend<'a>(svg: &mut String, names: impl Iterator<Item = &'a String>) {
    let mut x = 80.0;
    for (number, name) in names.enumerate() {
        mark(svg, number, x, LEGEND - 5.0);
        text(svg, "text", "start", x + 12.0, LEGEND, name);
        x += 40.0 + 8.0 * name.len() as f64;
    }
}

/// Each of the series has a shape as well as a colour.
fn mark(svg: &mut String, number: usize, x: f64, y: f64) {
    // Writing to a string cannot fail.
    let _ = match number % STROKES.len() {
        0 => writeln!(svg, "<circle class=\"accent-fill\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"),
        1 => writeln!(
            svg,
            "<rect class=\"second-fill\" x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\"/>",
            x - 4.5,
            y - 4.5
        ),
        2 => writeln!(
            svg,
            "<path class=\"third-fill\" d=\"M{x:.1} {:.1}l6 6l-6 6l-6 -6z\"/>",
            y - 6.0
        ),
        _ => writeln!(svg, "<circle class=\"ink\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"),
    };
}

fn line(svg: &mut String, class: &str, places: &[(f64, f64)]) {
    let places: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(svg, "<polyline class=\"{class}\" points=\"{}\"/>", places.join(" "));
}

fn text(svg: &mut String, class: &str, anchor: &str, x: f64, y: f64, what: &str) {
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{what}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTION: Caption = Caption { name: "speed", title: "Speed", unit: "pages a second" };

    #[test]
    fn places_on_an_axis() {
        let linear = Axis::new(Scale::Linear, [3.0, 42.0].into_iter(), 0.0, 100.0);
        assert_eq!(linear.ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]);
        assert_eq!(linear.at(25.0), 50.0);
        let log = Axis::new(Scale::Log, [30.0, 5000.0].into_iter(), 0.0, 90.0);
        let ticks: Vec<_> = log.ticks().iter().map(|tick| tick.round()).collect();
        assert_eq!(ticks, [10.0, 100.0, 1000.0, 10_000.0]);
        assert!((log.at(100.0) - 30.0).abs() < 1e-9);
        let one = Axis::new(Scale::Log, [10.0].into_iter(), 0.0, 90.0);
        assert_eq!(one.ticks().len(), 2, "an axis has a beginning and an end");
    }

    #[test]
    fn what_is_drawn_is_also_said() {
        let rows = vec![("ours".to_owned(), vec![Some(2000.0)]), ("theirs".to_owned(), vec![None])];
        let series = vec!["speed".to_owned()];
        let svg = Rows { caption: CAPTION, scale: Scale::Linear, series, rows }.draw();
        assert!(svg.contains("In pages a second. ours: 2,000; theirs: ."), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1);
        let series = vec![("ours".to_owned(), vec![(10.0, 5.0), (100.0, 7.0)])];
        let svg = Lines { caption: CAPTION, over: "pages", series }.draw();
        assert!(svg.contains("ours: 5.00 at 10, 7.00 at 100"), "{svg}");
        assert_eq!(svg.matches("class=\"accent\"").count(), 1);
    }
}
