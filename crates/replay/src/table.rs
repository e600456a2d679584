//! The table of results.

/// The line of one stage.
pub(crate) struct Line {
    pub(crate) stage: String,
    pub(crate) tasks: usize,
    pub(crate) urls: u64,
    pub(crate) broken: u64,
    pub(crate) seconds: f64,
    pub(crate) peak_in_flight: u64,
    /// In KiB.
    pub(crate) peak_memory: Option<u64>,
    pub(crate) agrees: &'static str,
}

const HEAD: [&str; 9] =
    ["stage", "tasks", "URLs", "broken", "seconds", "URLs/s", "in flight", "memory", "agrees"];

impl Line {
    fn cells(&self) -> [String; 9] {
        let rate = self.urls as f64 / self.seconds.max(1e-9);
        [
            self.stage.clone(),
            thousands(self.tasks as u64),
            thousands(self.urls),
            thousands(self.broken),
            format!("{:.2}", self.seconds),
            thousands(rate as u64),
            thousands(self.peak_in_flight),
            self.peak_memory.map_or("n/a".into(), |kib| format!("{:.1} MiB", kib as f64 / 1024.0)),
            self.agrees.to_owned(),
        ]
    }
}

/// Formats the table: a head and the lines, each column as wide as needed.
pub(crate) fn format(lines: &[Line]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(lines.iter().map(Line::cells));
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
            line += &match column {
                0 => format!("{cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        text += &line;
        text.push('\n');
    }
    text
}

/// Formats a number with a comma before every third digit.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let line = |stage: &str, urls, peak_memory, agrees| Line {
            stage: stage.to_owned(),
            tasks: 1000,
            urls,
            broken: 2,
            seconds: 0.5,
            peak_in_flight: 998,
            peak_memory,
            agrees,
        };
        let table = format(&[
            line("0 threads", 12_345, Some(1536), "-"),
            line("2 coroutines", 7, None, "no"),
        ]);
        let expected = "\
stage         tasks    URLs  broken  seconds  URLs/s  in flight   memory  agrees
0 threads     1,000  12,345       2     0.50  24,690        998  1.5 MiB       -
2 coroutines  1,000       7       2     0.50      14        998      n/a      no
";
        assert_eq!(table, expected);
    }

    #[test]
    fn a_crawl_that_takes_no_time_has_a_rate() {
        let line = Line {
            stage: String::new(),
            tasks: 1,
            urls: 0,
            broken: 0,
            seconds: 0.0,
            peak_in_flight: 0,
            peak_memory: None,
            agrees: "-",
        };
        assert_eq!(line.cells()[5], "0");
    }

    #[test]
    fn thousands_are_separated_by_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }
}
