//! The figures, by the ids of benches: read from the files of the benches, and
//! kept as CSV in the book.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// The figures, by the id of a bench and the name of the quantity.
///
/// The quantities of criterion are `median`, and `lower` and `upper`, the bounds of
/// its 95 % confidence interval, in nanoseconds (or bytes, for `memory`); and
/// `per_second`, if the bench declares a number of elements or bytes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures(BTreeMap<String, BTreeMap<String, f64>>);

impl Figures {
    /// Returns the figure of a quantity.
    pub(crate) fn get(&self, id: &str, quantity: &str) -> Option<f64> {
        self.0.get(id)?.get(quantity).copied()
    }

    /// Returns the ids that begin with `prefix`, in alphabetical order.
    pub(crate) fn ids<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.keys().map(String::as_str).filter(move |id| id.starts_with(prefix))
    }

    pub(crate) fn set(&mut self, id: &str, quantity: &str, value: f64) {
        self.0.entry(id.to_owned()).or_default().insert(quantity.to_owned(), value);
    }

    /// Adds the figures of a table: a line for each id, a column for each quantity,
    /// and an empty cell where nothing was measured.
    pub(crate) fn add_csv(&mut self, text: &str) -> io::Result<()> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers()?.clone();
        for line in reader.records() {
            let line = line?;
            let id = line.get(0).unwrap_or_default();
            let cells = columns.iter().zip(&line).skip(1);
            for (column, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
                self.set(id, column, cell.parse().map_err(io::Error::other)?);
            }
        }
        Ok(())
    }

    /// Returns such a table, with five significant digits, which are more than the
    /// measurements are good for.
    pub(crate) fn to_csv(&self) -> io::Result<String> {
        let columns: BTreeSet<_> = self.0.values().flat_map(BTreeMap::keys).collect();
        let mut writer = csv::Writer::from_writer(Vec::new());
        let first = [&"id".to_owned()];
        writer.write_record(first.into_iter().chain(columns.iter().copied()))?;
        for (id, quantities) in &self.0 {
            let cell = |column: &&String| match quantities.get(*column) {
                Some(value) => rounded(*value),
                None => String::new(),
            };
            writer.write_record([id.clone()].into_iter().chain(columns.iter().map(cell)))?;
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error())?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// Adds the figures that a bench keeps itself: a JSON object for each id. The
    /// names of nested objects are joined with a dot.
    pub(crate) fn add_json(&mut self, text: &str) -> io::Result<()> {
        let by_id: BTreeMap<String, Value> = serde_json::from_str(text)?;
        for (id, value) in &by_id {
            self.add_value(id, "", value);
        }
        Ok(())
    }

    fn add_value(&mut self, id: &str, name: &str, value: &Value) {
        if let Value::Object(members) = value {
            for (member, value) in members {
                let dot = if name.is_empty() { "" } else { "." };
                self.add_value(id, &format!("{name}{dot}{member}"), value);
            }
        } else if let Some(number) = value.as_f64() {
            self.set(id, name, number);
        }
    }

    /// Adds the figures of all criterion files below a folder.
    pub(crate) fn add_criterion(&mut self, folder: &Path) -> io::Result<()> {
        let (bench, estimates) = (folder.join("benchmark.json"), folder.join("estimates.json"));
        if folder.ends_with("new") && bench.is_file() {
            return self
                .add_estimates(&fs::read_to_string(bench)?, &fs::read_to_string(estimates)?);
        }
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.add_criterion(&path)?;
            }
        }
        Ok(())
    }

    /// Adds the instruction counts of callgrind, for each folder of its files below
    /// this one: the sum over all processes and threads.
    pub(crate) fn add_callgrind(&mut self, id: &str, folder: &Path) -> io::Result<()> {
        let mut instructions = None;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                // The case of a bench stands behind a dot.
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                self.add_callgrind(&format!("{id}/{}", name.replace('.', "/")), &path)?;
            } else if path.extension() == Some("out".as_ref()) {
                let text = fs::read_to_string(&path)?;
                let totals = text.lines().find_map(|line| line.strip_prefix("totals: "));
                let first = totals.and_then(|totals| totals.split(' ').next());
                let count: f64 = first.unwrap_or("0").parse().map_err(io::Error::other)?;
                *instructions.get_or_insert(0.0) += count;
            }
        }
        if let Some(instructions) = instructions {
            self.set(id, "instructions", instructions);
        }
        Ok(())
    }

    fn add_estimates(&mut self, bench: &str, estimates: &str) -> io::Result<()> {
        #[derive(Deserialize)]
        struct Bench {
            full_id: String,
            /// The number of elements or bytes, by the name of the unit.
            throughput: Option<BTreeMap<String, f64>>,
        }
        #[derive(Deserialize)]
        struct Estimates {
            median: Estimate,
        }
        #[derive(Deserialize)]
        struct Estimate {
            point_estimate: f64,
            confidence_interval: Interval,
        }
        #[derive(Deserialize)]
        struct Interval {
            lower_bound: f64,
            upper_bound: f64,
        }
        let Bench { full_id, throughput } = serde_json::from_str(bench)?;
        let Estimates { median } = serde_json::from_str(estimates)?;
        self.set(&full_id, "median", median.point_estimate);
        self.set(&full_id, "lower", median.confidence_interval.lower_bound);
        self.set(&full_id, "upper", median.confidence_interval.upper_bound);
        if let Some(count) = throughput.iter().flat_map(BTreeMap::values).next() {
            self.set(&full_id, "per_second", count * 1e9 / median.point_estimate);
        }
        Ok(())
    }
}

/// Writes a number with five significant digits.
fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 4 - value.abs().log10().floor() as i32;
    if digits <= 0 {
        return format!("{value:.0}");
    }
    let text = format!("{value:.*}", digits.unsigned_abs() as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_back_from_a_table() {
        let mut figures = Figures::default();
        figures
            .add_json(r#"{"a/b": {"x": 1.23456789, "in": {"y": 123456.7}}, "c": {"x": 0}}"#)
            .unwrap();
        let csv = figures.to_csv().unwrap();
        assert_eq!(csv, "id,in.y,x\na/b,123457,1.2346\nc,,0\n");
        let mut read = Figures::default();
        read.add_csv(&csv).unwrap();
        assert_eq!(read.get("a/b", "in.y"), Some(123_457.0));
        assert_eq!(read.get("c", "x"), Some(0.0));
        assert_eq!(read.get("c", "in.y"), None);
        assert_eq!(read.to_csv().unwrap(), csv);
    }

    #[test]
    fn a_malformed_table_is_an_error() {
        assert!(Figures::default().add_csv("id,x\na,many\n").is_err());
        assert!(Figures::default().add_csv("id,x\na,1,2\n").is_err());
        assert!(Figures::default().add_json("[]").is_err());
    }

    #[test]
    fn the_files_of_callgrind_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let of = folder.path().join("crawls/pages.stage1");
        fs::create_dir_all(&of).unwrap();
        fs::write(of.join("callgrind.1.out"), "events: Ir Dr\ntotals: 1000 7\n").unwrap();
        fs::write(of.join("callgrind.2.out"), "events: Ir Dr\ntotals: 24\n").unwrap();
        fs::write(of.join("callgrind.2.out.old"), "totals: 9\n").unwrap();
        let mut figures = Figures::default();
        figures.add_callgrind("instructions", folder.path()).unwrap();
        let get = |id| figures.get(id, "instructions");
        assert_eq!(get("instructions/crawls/pages/stage1"), Some(1024.0));
        assert_eq!(get("instructions/crawls"), None);
    }

    #[test]
    fn the_files_of_criterion_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("links_8KB/ours/new");
        fs::create_dir_all(&new).unwrap();
        let bench = r#"{"full_id": "links/8KB/ours", "throughput": {"Bytes": 8000}}"#;
        fs::write(new.join("benchmark.json"), bench).unwrap();
        let estimates = r#"{"median": {"point_estimate": 4000.0, "confidence_interval":
            {"confidence_level": 0.95, "lower_bound": 3900.0, "upper_bound": 4100.0}}}"#;
        fs::write(new.join("estimates.json"), estimates).unwrap();
        let mut figures = Figures::default();
        figures.add_criterion(folder.path()).unwrap();
        let get = |quantity| figures.get("links/8KB/ours", quantity).unwrap();
        assert_eq!([get("lower"), get("median"), get("upper")], [3900.0, 4000.0, 4100.0]);
        assert_eq!(get("per_second"), 2e9);
    }
}
