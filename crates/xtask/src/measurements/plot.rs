//! The plots, as SVG in the colours of the page: with the classes of
//! `book/figures.css`, they are legible in light and dark themes.
//!
//! `plotters`, which criterion brings, does not draw them: its SVG backend writes
//! each colour into the attributes of each shape (`fill="#1F77B4"`) and knows no
//! classes, so its plots have the colours of one theme, and no descriptions for
//! screen readers. To replace colours in its output would take about as much code
//! as these few shapes.

use std::fmt::Write as _;

use super::numbers::{plain, short};

/// The width of a plot: that of a figure that can be read on a phone.
const WIDTH: f64 = 440.0;
/// The x coordinate between the names of rows and their marks.
const LEFT: f64 = 170.0;
/// The x coordinate of the right end.
const RIGHT: f64 = 415.0;
/// The y coordinate of the first line of the legend.
const LEGEND: f64 = 20.0;
/// The height of a line of text.
const LINE: f64 = 20.0;
/// The height of a row.
const ROW: f64 = 26.0;

/// The caption of a plot.
pub(super) struct Caption {
    /// The name of its file, and the prefix of its ids.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The quantity of its figures, with the unit: that of the x axis of rows, and of the
    /// y axis of lines.
    pub(super) unit: &'static str,
}

/// The scale of an axis.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic.
    Log,
}

/// A dot plot: a row for each subject, and in each row a mark for each series.
pub(super) struct Rows {
    pub(super) caption: Caption,
    pub(super) scale: Scale,
    pub(super) series: Vec<String>,
    pub(super) rows: Vec<(String, Vec<Option<f64>>)>,
}

/// A line plot with two logarithmic axes.
pub(super) struct Lines {
    pub(super) caption: Caption,
    /// The quantity of the x axis, with the unit.
    pub(super) over: &'static str,
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
}

/// An axis: maps values to coordinates.
struct Axis {
    scale: Scale,
    min: f64,
    max: f64,
    /// The coordinate of `min`.
    from: f64,
    /// The coordinate of `max`.
    to: f64,
}

impl Axis {
    /// Makes an axis for all of the values. On a logarithmic axis they must be
    /// positive.
    fn new(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (min, max) = values.fold((f64::MAX, f64::MIN), |(l, m), v| (l.min(v), m.max(v)));
        let (min, max) = match scale {
            Scale::Linear => (0.0, (max / step(max)).ceil() * step(max)),
            Scale::Log => {
                let min = min.log10().floor();
                (10f64.powf(min), 10f64.powf(max.log10().ceil().max(min + 1.0)))
            }
        };
        Self { scale, min, max, from, to }
    }

    /// Returns the coordinate of a value.
    fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.min) / (self.max - self.min),
            Scale::Log => (value / self.min).log10() / (self.max / self.min).log10(),
        };
        self.from + part * (self.to - self.from)
    }

    /// Returns the values of the ticks.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = step(self.max);
                (0..=(self.max / step).round() as i32).map(|tick| f64::from(tick) * step).collect()
            }
            Scale::Log => {
                let decades = (self.max / self.min).log10().round() as i32;
                (0..=decades).map(|decade| self.min * 10f64.powi(decade)).collect()
            }
        }
    }
}

/// Returns a round number of about a fifth of `max`, the distance of ticks.
fn step(max: f64) -> f64 {
    let about = max / 5.0;
    let decade = 10f64.powf(about.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps.into_iter().find(|&step| step >= about * 0.999).unwrap_or(about)
}

impl Rows {
    pub(super) fn draw(&self) -> String {
        let values = || self.rows.iter().flat_map(|(_, marks)| marks.iter().flatten().copied());
        let axis = Axis::new(self.scale, values(), LEFT, RIGHT);
        let is_one = self.series.len() == 1;
        let series = if is_one { Vec::new() } else { self.series.iter().collect() };
        let legend = legend(&series);
        let top = legend.len() as f64 * LINE + 10.0;
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
        let Caption { unit, .. } = self.caption;
        let mut svg = header(&self.caption, unit, &described, bottom + 46.0);
        draw_x_axis(&mut svg, &axis, top, bottom, unit);
        draw_legend(&mut svg, &legend);
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
        let legend = legend(&self.series.iter().map(|(name, _)| name).collect::<Vec<_>>());
        let label = LEGEND + legend.len() as f64 * LINE + 4.0;
        let (top, bottom, left) = (label + 14.0, label + 234.0, 56.0);
        let x_axis = Axis::new(Scale::Log, points().map(|(x, _)| x), left, RIGHT);
        let y_axis = Axis::new(Scale::Log, points().map(|(_, y)| y), bottom, top);
        let described = |(name, points): &(String, Vec<(f64, f64)>)| {
            let points = points.iter().map(|&(x, y)| format!("{} at {}", plain(y), short(x)));
            format!("{name}: {}", points.collect::<Vec<_>>().join(", "))
        };
        let described: Vec<_> = self.series.iter().map(described).collect();
        let Caption { unit, .. } = self.caption;
        let over = format!("{unit}, over {}", self.over);
        let mut svg = header(&self.caption, &over, &described, bottom + 46.0);
        draw_x_axis(&mut svg, &x_axis, top, bottom, self.over);
        text(&mut svg, "dim", "start", 10.0, label, unit);
        for tick in y_axis.ticks() {
            let y = y_axis.at(tick);
            line(&mut svg, "ink\" opacity=\"0.3", &[(left, y), (RIGHT, y)]);
            text(&mut svg, "dim", "end", left - 8.0, y + 5.0, &short(tick));
        }
        draw_legend(&mut svg, &legend);
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

/// Returns the beginning of a drawing, with its title and its description in
/// words.
fn header(caption: &Caption, unit: &str, described: &[String], height: f64) -> String {
    let &Caption { name, title, .. } = caption;
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{name}-title \
         {name}-desc\">\n<title id=\"{name}-title\">{title}</title>\n\
         <desc id=\"{name}-desc\">In {unit}. {}.</desc>\n",
        described.join("; ")
    )
}

/// Draws the x axis at the bottom, with a vertical line for each tick.
fn draw_x_axis(svg: &mut String, axis: &Axis, top: f64, bottom: f64, unit: &str) {
    for tick in axis.ticks() {
        let x = axis.at(tick);
        line(svg, "ink\" opacity=\"0.3", &[(x, top), (x, bottom)]);
        text(svg, "dim", "middle", x, bottom + 18.0, &short(tick));
    }
    line(svg, "ink", &[(axis.from, bottom), (axis.to, bottom)]);
    text(svg, "dim", "end", axis.to, bottom + 38.0, unit);
}

/// Arranges the names of the series in lines that are not wider than the plot. Returns
/// each name with its number and its x coordinate.
fn legend<'a>(names: &[&'a String]) -> Vec<Vec<(usize, f64, &'a str)>> {
    let mut lines: Vec<Vec<_>> = Vec::new();
    let mut x = f64::MAX;
    for (number, name) in names.iter().enumerate() {
        let width = 32.0 + 8.0 * name.len() as f64;
        if x + width > WIDTH {
            lines.push(Vec::new());
            x = 16.0;
        }
        lines.last_mut().into_iter().for_each(|line| line.push((number, x, name.as_str())));
        x += width;
    }
    lines
}

fn draw_legend(svg: &mut String, lines: &[Vec<(usize, f64, &str)>]) {
    for (line, names) in lines.iter().enumerate() {
        let y = LEGEND + LINE * line as f64;
        for &(number, x, name) in names {
            mark(svg, number, x, y - 5.0);
            text(svg, "text", "start", x + 12.0, y, name);
        }
    }
}

/// Draws a mark. Each series has a shape as well as a colour.
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
    fn values_are_mapped_to_an_axis() {
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
    fn a_legend_is_not_wider_than_its_plot() {
        let names: Vec<_> = (1..=4).map(|n| "n".repeat(8 * n)).collect();
        let lines = legend(&names.iter().collect::<Vec<_>>());
        let numbers: Vec<_> = lines.iter().map(|line| line[0].0).collect();
        assert_eq!(numbers, [0, 2, 3], "{lines:?}");
        assert!(legend(&[]).is_empty());
    }

    #[test]
    fn a_plot_describes_its_figures_in_words() {
        let rows = vec![("ours".to_owned(), vec![Some(2000.0)]), ("theirs".to_owned(), vec![None])];
        let series = vec!["speed".to_owned()];
        let svg = Rows { caption: CAPTION, scale: Scale::Linear, series, rows }.draw();
        assert!(svg.contains("In pages a second. ours: 2,000; theirs: ."), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1);
        let series = vec![("ours".to_owned(), vec![(10.0, 5.0), (100.0, 7.0)])];
        let svg = Lines { caption: CAPTION, over: "pages", series }.draw();
        assert!(svg.contains("In pages a second, over pages. ours: 5.00 at 10, 7.00 at 100"));
        for label in [">pages a second</text>", ">pages</text>"] {
            assert_eq!(svg.matches(label).count(), 1, "each axis has its label: {svg}");
        }
        assert_eq!(svg.matches("class=\"accent\"").count(), 1);
    }
}
