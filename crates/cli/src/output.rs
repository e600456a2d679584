//! The output: rows and reports on stdout or in files, each in its format.

mod baseline;
mod broken;
mod causes;
mod chapter;
mod circles;
mod csv;
mod date;
mod findings;
mod github;
mod gitlab;
mod html;
mod json;
mod json_lines;
mod junit;
mod markdown;
mod sarif;
mod sitemap;
mod statistics;
mod text;

use std::borrow::Cow;
use std::collections::HashSet;
use std::env;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anstream::{AutoStream, ColorChoice};
use crawl_core::{Admission, CrawlSummary, Outcome, Report, Row, StopReason};

use self::baseline::KnownCounts;
use self::broken::Broken;
use self::chapter::Chapter;
use self::circles::{Circles, Redirects};
use self::csv::Csv;
use self::github::Github;
use self::gitlab::Gitlab;
use self::html::Html;
use self::json::Json;
use self::json_lines::JsonLines;
use self::junit::JUnit;
use self::markdown::{MAX_SUMMARY, Markdown};
use self::sarif::Sarif;
use self::sitemap::Sitemap;
use self::statistics::{ResultKind, Statistics};
use self::text::{Sentence, Text};
use crate::arguments::Format;
use crate::parsers::printable;
use crate::progress::with_progress_hidden;

pub(crate) use self::baseline::Baseline;

/// The settings of the output.
#[derive(Clone, Debug)]
pub(crate) struct OutputSettings {
    /// The format and the file of each report, where "-" is stdout.
    pub(crate) reports: Vec<(Format, PathBuf)>,
    /// Rows of URLs that are fine are left out.
    pub(crate) broken_only: bool,
    pub(crate) color: ColorChoice,
    /// Nothing is written that no flag asks for.
    pub(crate) is_quiet: bool,
    /// The text format has a line for every row.
    pub(crate) lists_all: bool,
    pub(crate) grouping: Grouping,
    /// JSON Lines and CSV have the links to broken URLs, too, as many as are listed.
    pub(crate) has_referrers: bool,
    /// The roots of the crawl, for titles.
    pub(crate) title: String,
    /// The command line, without secrets.
    pub(crate) command: String,
    pub(crate) baseline: Option<Baseline>,
    /// The crawl writes other files: then it goes on when no report has a reader any more.
    pub(crate) writes_more: bool,
    pub(crate) locate: Locate,
    pub(crate) redirects: RedirectPolicy,
}

/// The way from a URL to the path of the file that it leads to, if it leads to one.
#[derive(Clone)]
pub(crate) struct Locate(Arc<LocateFn>);

type LocateFn = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Default for Locate {
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for Locate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Locate")
    }
}

impl Locate {
    pub(crate) fn new(locate: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(locate))
    }

    /// Returns the path of the file that a URL leads to, if it leads to one.
    fn file(&self, url: &str) -> Option<String> {
        (self.0)(url)
    }

    /// Returns a URL as reports show it: as the path of its file, if it has one.
    fn shown<'a>(&self, url: &'a str) -> Cow<'a, str> {
        self.file(url).map_or(Cow::Borrowed(url), Cow::Owned)
    }

    /// Returns a row as reports show it.
    fn row<'a>(&self, row: &'a Row) -> Cow<'a, Row> {
        let file = |url: &String| self.file(url);
        let (url, referrer) = (self.file(&row.url), row.referrer.as_ref().and_then(file));
        if url.is_none() && referrer.is_none() {
            return Cow::Borrowed(row);
        }
        let mut shown = row.clone();
        shown.referrer = referrer.or(shown.referrer);
        shown.next_url = row.next_url.as_ref().and_then(file).or(shown.next_url);
        if let Some(url) = url {
            // A message on a fragment names the page.
            let page = row.url.split('#').next().unwrap_or_default();
            if let Some(error) = &mut shown.error {
                error.message = error.message.replace(page, &self.shown(page));
            }
            shown.url = url.into();
        }
        Cow::Owned(shown)
    }
}

/// The meaning of redirects that end well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RedirectPolicy {
    /// Accept them.
    #[default]
    Ok,
    /// List permanent ones: the links to them should be updated.
    Warn,
    /// Count all of them as broken.
    Error,
}

/// The order of the links to broken URLs in reports for people.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grouping {
    /// By the page with the link, and not by the broken URL.
    pub(crate) by_page: bool,
    /// The number of links that are listed for each broken URL.
    pub(crate) max_referrers: usize,
    /// A link that nearly every page has is one line.
    pub(crate) sums_up: bool,
}

impl Default for Grouping {
    fn default() -> Self {
        Self { by_page: false, max_referrers: 10, sums_up: true }
    }
}

/// An output of any number of reports.
pub(crate) struct Output {
    reports: Vec<FormattedReport>,
    /// The statistics of all rows.
    report: Report,
    /// The results of all rows, by the names that reports for people use.
    statistics: Statistics,
    broken: Vec<Broken>,
    /// The permanent redirects to warn of.
    moved: Vec<Broken>,
    redirects: Redirects,
    /// The rows of broken URLs, each with its URL, if a format has them at the end.
    held_back: Option<Vec<(Row, Arc<str>)>>,
    policy: RedirectPolicy,
    baseline: Option<Baseline>,
    broken_only: bool,
    locate: Locate,
    writes_more: bool,
}

/// A report in its format, on its way to its file.
struct FormattedReport {
    format: Box<dyn ReportFormat>,
    out: Out,
    has_begun: bool,
    /// Its reader has closed the pipe, as `head` does when it has enough.
    is_closed: bool,
}

impl FormattedReport {
    fn new(format: Box<dyn ReportFormat>, out: Out) -> Self {
        Self { format, out, has_begun: false, is_closed: false }
    }

    /// Writes a part, and the beginning before the first one. That its reader wants no more
    /// is no error.
    fn write(
        &mut self,
        part: impl FnOnce(&mut dyn ReportFormat, &mut Out) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let written = self.begin().and_then(|()| part(&mut *self.format, &mut self.out));
        self.is_closed = matches!(&written, Err(error) if error.kind() == ErrorKind::BrokenPipe);
        if self.is_closed { Ok(()) } else { written }
    }

    fn begin(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.format.begin(&mut self.out)?;
            // A report may be empty: the one before it is replaced, too.
            self.out.write("")?;
        }
        Ok(())
    }
}

/// A format of the output.
trait ReportFormat: Send {
    /// Writes the beginning, before the first row.
    fn begin(&mut self, _out: &mut Out) -> io::Result<()> {
        Ok(())
    }

    /// Takes the row of a finished URL.
    fn row(&mut self, row: &ShownRow<'_>, out: &mut Out) -> io::Result<()>;

    /// Writes the end, after the last row.
    fn end(&mut self, _end: &End<'_>, _out: &mut Out) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if the format has a field for the reason why the crawl could not
    /// run.
    fn has_error_field(&self) -> bool {
        false
    }

    /// Returns a warning for the user, which is not part of the output.
    fn warning(&self) -> Option<String> {
        None
    }
}

/// The row of a finished URL, as reports show it.
struct ShownRow<'a> {
    row: &'a Row,
    /// The URL, which the row may have replaced by the path of its file.
    asked: &'a Arc<str>,
    /// True if it is to be reported as broken.
    is_broken: bool,
    /// True if it is broken, and known to be.
    is_known: bool,
    result: ResultKind,
}

impl Deref for ShownRow<'_> {
    type Target = Row;

    fn deref(&self) -> &Row {
        self.row
    }
}

/// The results that are known at the end.
struct End<'a> {
    report: &'a Report,
    statistics: &'a Statistics,
    /// The broken URLs, in the order of their texts.
    broken: &'a [Broken],
    /// The permanent redirects to warn of, in the order of their texts.
    moved: &'a [Broken],
    /// The rows of broken URLs, each with its URL, in the order of their texts; if a
    /// format has them at the end.
    held_back: &'a [(Row, Arc<str>)],
    /// The counts of broken URLs that the baseline knows, if there is one.
    known: Option<KnownCounts>,
    /// Summary of the crawl, or the error message if it could not run.
    summary: Result<&'a CrawlSummary, &'a str>,
    /// The reason for which the crawl could not do what was asked.
    problem: Option<&'a str>,
    elapsed: Duration,
    /// The time of the report.
    date: SystemTime,
    locate: &'a Locate,
}

impl Output {
    /// Opens the files that the settings name. Their old contents are replaced when the
    /// first row or the end comes, and not before.
    ///
    /// # Errors
    /// The file that cannot be created, and why.
    pub(crate) fn open(settings: &OutputSettings) -> Result<Self, (PathBuf, io::Error)> {
        let grouping = Grouping { sums_up: !settings.has_referrers, ..settings.grouping };
        let settings = &OutputSettings { grouping, ..settings.clone() };
        let mut reports = Vec::new();
        let mut is_stdout_used = false;
        for (format, path) in &settings.reports {
            let (out, is_stdout) = open(path).map_err(|error| (path.clone(), error))?;
            is_stdout_used |= is_stdout;
            let format = new_format(*format, settings, path == Path::new("-"));
            reports.push(FormattedReport::new(format, out));
        }
        let has_annotations = settings.reports.iter().any(|(format, _)| *format == Format::Github);
        if let Some(path) = step_summary().filter(|_| has_annotations) {
            let file = File::options().create(true).append(true).open(&path);
            let file = file.map_err(|error| (path, error))?;
            let format = Markdown::new(settings.grouping, MAX_SUMMARY);
            reports.push(FormattedReport::new(Box::new(format), Out::Stream(Box::new(file))));
        }
        if !is_stdout_used && !settings.is_quiet {
            let stdout = Out::Stream(Box::new(io::stdout()));
            reports.push(FormattedReport::new(Box::new(Sentence), stdout));
        }
        let is_held_back = |(format, _): &_| matches!(format, Format::Jsonl | Format::Csv);
        let holds_back = settings.has_referrers && settings.reports.iter().any(is_held_back);
        Ok(Self {
            reports,
            report: Report::new(),
            statistics: Statistics::default(),
            broken: Vec::new(),
            moved: Vec::new(),
            redirects: Redirects::default(),
            held_back: holds_back.then(Vec::new),
            policy: settings.redirects,
            baseline: settings.baseline.clone(),
            broken_only: settings.broken_only,
            locate: settings.locate.clone(),
            writes_more: settings.writes_more || settings.baseline.is_some(),
        })
    }

    /// Takes a row. Formats of one line per row write it at once, so that a reader
    /// sees it while the crawl runs, and no row is lost when the process is killed.
    ///
    /// # Errors
    /// Those of a report that cannot be written; [`ErrorKind::BrokenPipe`] when nothing
    /// else is left to be written.
    pub(crate) fn row(&mut self, row: &Row) -> io::Result<()> {
        self.redirects.add(row);
        let asked = &row.url;
        let row = &*self.locate.row(row);
        self.report.count(row);
        let is_redirect = row.outcome == Outcome::Redirect;
        let is_refused = is_redirect && self.policy == RedirectPolicy::Error;
        if is_redirect && self.policy == RedirectPolicy::Warn && row.is_permanent_redirect() {
            self.moved.push(Broken::of(row, asked));
        }
        let broken = (row.is_broken() || is_refused).then(|| Broken::of(row, asked));
        let mut is_known = false;
        if let Some(baseline) = &mut self.baseline {
            let is_fine = row.outcome != Outcome::Skipped && row.verdict.is_none();
            baseline.add(&row.url, broken.is_none() && is_fine);
            is_known = broken.as_ref().is_some_and(|broken| baseline.knows(broken));
        }
        self.broken.extend(broken.filter(|_| !is_known));
        // At the end it is seen whether a redirect is still in a circle that is known.
        let knows_circle = |baseline: &Baseline| baseline.knows_circle(&row.url);
        is_known |= is_refused && self.baseline.as_ref().is_some_and(knows_circle);
        let is_broken = (row.is_broken() || is_refused) && !is_known;
        let result = ResultKind::of(row, is_broken, is_known);
        self.statistics.count(row, result);
        if let Some(held_back) = self.held_back.as_mut().filter(|_| is_broken) {
            held_back.push((row.clone(), Arc::clone(asked)));
        }
        if self.broken_only && !is_broken {
            return Ok(());
        }
        let row = ShownRow { row, asked, is_broken, is_known, result };
        for report in &mut self.reports {
            report.write(|format, out| format.row(&row, out))?;
        }
        self.check_readers()
    }

    /// Returns an error if no report has a reader any more, and there is nothing else to
    /// write.
    fn check_readers(&self) -> io::Result<()> {
        let is_read = self.reports.is_empty() || self.reports.iter().any(|it| !it.is_closed);
        if is_read || self.writes_more { Ok(()) } else { Err(ErrorKind::BrokenPipe.into()) }
    }

    /// Takes the end of the crawl: its summary, or the error message; and `problem`,
    /// the reason for which it could not do what was asked. If the crawl could not
    /// even begin, files keep the reports of an earlier run, and so does the baseline.
    ///
    /// # Errors
    /// Those of [`Output::row`], and of the baseline.
    pub(crate) fn end(
        &mut self,
        summary: Result<&CrawlSummary, &str>,
        problem: Option<&str>,
        elapsed: Duration,
    ) -> io::Result<()> {
        if let Ok(summary) = summary {
            self.judge_circles(&summary.admission);
        }
        for urls in [&mut self.broken, &mut self.moved] {
            urls.sort_by(|a, b| a.url.cmp(&b.url));
        }
        let mut held_back = self.held_back.take().unwrap_or_default();
        held_back.sort_by(|(a, _), (b, _)| a.url.cmp(&b.url));
        let Self { reports, report, statistics, broken, moved, baseline, locate, .. } = self;
        let has_begun = summary.is_ok() || report.total() > 0;
        let is_whole = problem.is_none() && summary.is_ok_and(is_whole);
        let known = baseline.as_ref().map(|baseline| baseline.counts(is_whole));
        let end = End {
            report,
            statistics,
            broken,
            moved,
            held_back: &held_back,
            known,
            summary,
            problem,
            elapsed,
            date: SystemTime::now(),
            locate,
        };
        // One that cannot be written keeps no other back.
        let mut results = Vec::new();
        for report in reports.iter_mut() {
            if has_begun || report.format.has_error_field() {
                results.push(report.write(|format, out| format.end(&end, out)));
            }
        }
        let baseline = baseline.as_ref().filter(|_| has_begun);
        results.extend(baseline.map(|baseline| baseline.update(is_whole)));
        results.into_iter().collect::<io::Result<()>>()?;
        self.check_readers()
    }

    /// Replaces what was found of redirects in a circle, one by one, by what is to be
    /// reported of the whole.
    fn judge_circles(&mut self, admission: &Admission) {
        let Circles { urls, broken } = self.redirects.circles(admission, &self.locate);
        let had_broken_row: HashSet<Arc<str>> = self
            .broken
            .iter()
            .map(|it| it.asked.clone())
            .filter(|url| urls.contains(url))
            .collect();
        for list in [&mut self.broken, &mut self.moved] {
            list.retain(|broken| !urls.contains(&broken.asked));
        }
        if let Some(baseline) = &mut self.baseline {
            urls.iter().for_each(|url| baseline.add_to_circle(&self.locate.shown(url)));
        }
        let mut knows = |broken: &Broken| self.baseline.as_mut().is_some_and(|b| b.knows(broken));
        let new: Vec<_> = broken.into_iter().filter(|broken| !knows(broken)).collect();
        let now: HashSet<_> = new.iter().map(|it| it.asked.clone()).collect();
        for _ in had_broken_row.difference(&now) {
            self.statistics.change_redirect(ResultKind::Broken, ResultKind::Redirect);
        }
        for _ in now.difference(&had_broken_row) {
            self.statistics.change_redirect(ResultKind::Redirect, ResultKind::Broken);
        }
        self.broken.extend(new);
    }

    /// Returns a row as reports show it.
    pub(crate) fn shown<'a>(&self, row: &'a Row) -> Cow<'a, Row> {
        self.locate.row(row)
    }

    /// Returns the statistics of all rows.
    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the number of broken URLs that are reported.
    pub(crate) fn broken(&self) -> usize {
        self.broken.len()
    }

    /// Returns the warnings for the user about the output.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.reports.iter().filter_map(|report| report.format.warning())
    }
}

/// Returns true if a crawl has asked for all that there is. The limit on depth is one on the
/// site, like a pattern that excludes.
fn is_whole(summary: &CrawlSummary) -> bool {
    let is_stopped = !matches!(summary.stopped, None | Some(StopReason::MaxTime));
    summary.todo == 0 && !is_stopped && !summary.has_unread_sitemaps()
}

fn new_format(format: Format, settings: &OutputSettings, is_stdout: bool) -> Box<dyn ReportFormat> {
    let has_color = match settings.color {
        ColorChoice::Auto => is_stdout && AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        choice => choice != ColorChoice::Never,
    };
    let max_referrers = settings.has_referrers.then_some(settings.grouping.max_referrers);
    match format {
        Format::Text => Box::new(Text::new(settings.grouping, settings.lists_all, has_color)),
        Format::Chapter => Box::new(Chapter::new(settings.broken_only, has_color)),
        Format::Json => Box::new(Json::default()),
        Format::Jsonl => Box::new(JsonLines { max_referrers }),
        Format::Csv => Box::new(Csv { max_referrers }),
        Format::Sitemap => Box::new(Sitemap::default()),
        Format::Junit => Box::new(JUnit::default()),
        Format::Github => Box::new(Github { grouping: settings.grouping }),
        Format::Gitlab => Box::new(Gitlab),
        Format::Sarif => Box::new(Sarif),
        Format::Markdown => Box::new(Markdown::new(settings.grouping, usize::MAX)),
        Format::Html => Box::new(Html::new(settings.title.clone(), settings.command.clone())),
    }
}

/// Limit on the text of a line after its URL, in bytes: the target of a redirect may be
/// longer.
const MAX_TEXT_LEN: usize = 4_096;

/// The longest piece of a report that is written at once, in bytes. A reader that takes
/// one now and then is slow; one that takes none is gone.
const MAX_PIECE: usize = 8 * 1024;

/// The environment variable with the file to which GitHub Actions wants the summary of
/// a step appended, in Markdown.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Returns the file for the summary of this step, if it is one of GitHub Actions.
fn step_summary() -> Option<PathBuf> {
    env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Opens a file for a report, where "-" is stdout. Also returns true if it is the same
/// file as stdout.
fn open(path: &Path) -> io::Result<(Out, bool)> {
    if path == Path::new("-") {
        return Ok((Out::Stream(Box::new(io::stdout())), true));
    }
    // Not truncated until the first write.
    let file = File::options().create(true).write(true).truncate(false).open(path)?;
    let stdout = File::from(std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?);
    let id = |file: &File| file.metadata().map(|data| (data.dev(), data.ino()));
    let is_stdout = id(&file)? == id(&stdout)?;
    Ok((Out::Untouched(file), is_stdout))
}

/// The stream of the output. All text is escaped, so that a terminal finds no
/// control characters in it.
enum Out {
    /// A file that still has the output of an earlier run.
    Untouched(File),
    Stream(Box<dyn Write + Send>),
}

impl Out {
    /// Writes text, each piece of it as a write of its own, and flushes it.
    fn write(&mut self, text: &str) -> io::Result<()> {
        let (stream, text) = (self.stream()?, printable(text));
        text.as_bytes().chunks(MAX_PIECE).try_for_each(|piece| {
            with_progress_hidden(|| {
                stream.write_all(piece)?;
                stream.flush()
            })
        })
    }

    /// Writes a line in red.
    fn write_red(&mut self, text: &str) -> io::Result<()> {
        let (stream, text) = (self.stream()?, printable(text));
        with_progress_hidden(|| {
            writeln!(stream, "\u{1b}[31m{}\u{1b}[0m", text.trim_end_matches('\n'))
        })
    }

    fn stream(&mut self) -> io::Result<&mut (dyn Write + Send)> {
        if let Self::Untouched(file) = self {
            // Pipes and devices have no contents to truncate.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            *self = Self::Stream(Box::new(file.try_clone()?));
        }
        match self {
            Self::Stream(stream) => Ok(stream),
            Self::Untouched(file) => Ok(file),
        }
    }
}

#[cfg(test)]
mod tests {
    use crawl_core::{Crawl, Options};

    use super::*;

    /// The URLs that they name are not known.
    #[test]
    fn a_crawl_with_unread_sitemaps_is_not_whole() {
        for (has_read, is_stopped) in [(true, false), (false, true)] {
            let mut crawl = Crawl::new(Options::new(Vec::new()));
            crawl.expect_seeds();
            if has_read {
                crawl.end_seeds();
            }
            let stopped = is_stopped.then_some(StopReason::MaxTime);
            let summary = CrawlSummary { stopped, ..crawl.end(0, None) };
            assert_eq!((is_whole(&summary), summary.todo), (has_read, 0));
        }
    }
}
