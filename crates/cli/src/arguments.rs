//! The definition of the command line.

mod limits;
mod output;
#[cfg(feature = "redis")]
mod redis;
mod request;
mod scope;
mod tool;

#[cfg(not(feature = "redis"))]
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, FromArgMatches, Parser};
use crawl_core::{Check, Options};
use url::Url;

use self::limits::Limits;
use self::output::is_same_file;
use self::request::Request;
use self::scope::Scope;
use crate::Recorded;
use crate::config;
use crate::log::Level;
use crate::output::OutputSettings;
use crate::parsers::printable;
use crate::parsers::program_name;
use crate::sources::{Source, Sources};

pub(crate) use self::output::{Format, OutputFlags};
#[cfg(feature = "redis")]
pub use self::redis::{FrontierAction, FrontierArguments};
pub(crate) use self::tool::Tool;

/// The exit codes of the programs of the stages.
const EXIT_CODES: &str = "\
Exit codes:
  0  nothing is broken, or the reader of the only output closed it
  1  something is broken: an error status (4xx except 429, 5xx) that --accept
     does not name, an incomplete response, a redirect that leads nowhere, a
     missing fragment, or an invalid URL
  2  the command line is wrong
  3  the crawl failed: no start URL could be crawled, a host stayed busy and
     left URLs to do, the output or the trace cannot be written, or an
     internal error
  130, 143  stopped by Ctrl-C (SIGINT) or SIGTERM, without a report

Durations are written as 30, 30s, 500ms, 2m or 1h, sizes as 65536, 64K, 10M or 1G.";

/// Those of the tool, which does more and ends otherwise.
pub(crate) const EXIT_CODES_OF_TOOL: &str = "\
Exit codes:
  0  nothing is broken, or the reader of the only output closed it
  1  something is broken: an error status (4xx except 429, 5xx) that --accept
     does not name, an incomplete response, a redirect that leads nowhere, a
     missing fragment, or an invalid URL. On other sites: only what is dead
  2  the command line is wrong
  3  the crawl failed: no start URL could be crawled, a host stayed busy and
     left URLs to do, a file cannot be written, the frontier cannot be reached,
     a replay differs from its record, or an internal error
  130, 143  stopped by Ctrl-C (SIGINT) or SIGTERM, with a report of what was
     found. Requests in flight get 2 s to finish, and none after a second signal

Durations are written as 30, 30s, 500ms, 2m or 1h, sizes as 65536, 64K, 10M or 1G.";

/// The command line, taken apart. The defaults are those of [`Options::new`];
/// a test sees to it.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// URLs to start from. A URL without a scheme gets https:// (http:// for localhost and IP
    /// addresses)
    #[arg(value_name = "URL", value_parser = Source::parse)]
    sources: Vec<Source>,

    #[command(flatten)]
    scope: Scope,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    request: Request,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

/// What only the last stage understands, beside what all do.
#[derive(Debug, Parser)]
#[cfg_attr(
    feature = "redis",
    // A worker that joins a crawl on many machines gets its roots from there, and a
    // replay from the record.
    command(mut_arg("sources", |roots| {
        roots.required(false).required_unless_present_any(["crawl", "print_config", "replay"])
    }))
)]
pub(crate) struct ToolArguments {
    #[command(flatten)]
    pub(crate) common: Arguments,

    #[command(flatten)]
    pub(crate) tool: Tool,

    #[cfg(feature = "redis")]
    #[command(flatten)]
    pub(crate) redis: redis::Redis,

    /// The flag for a crawl on many machines, which this build refuses. It takes those that
    /// belong to it for its values, so that it is what the error is about.
    #[cfg(not(feature = "redis"))]
    #[arg(long = "frontier", value_name = "URL", hide = true)]
    #[arg(num_args = 1.., allow_hyphen_values = true, value_parser = refuse_frontier)]
    _frontier: Vec<Infallible>,
}

/// Refuses every frontier.
///
/// # Errors
/// Returns an error always: this build has none.
#[cfg(not(feature = "redis"))]
fn refuse_frontier(_: &str) -> Result<Infallible, &'static str> {
    Err("this build has no frontier on Redis: it was made without the feature `redis`")
}

/// Parses the arguments of this process by their definition. Exits the process if they
/// are wrong, or ask for the help or the version.
pub(crate) fn parse_process_args<T>(definition: Command) -> T
where
    T: FromArgMatches + Consistency,
{
    let mut command = named(definition);
    let matches = command.get_matches_mut();
    checked(&mut command, &matches, None)
}

/// The error for a command line that says nothing about what to check.
const EXAMPLES: &str = "\
say what to check, for example:
  crawl https://example.com       a site, page by page
  crawl public                    a folder with a built site
  crawl README.md docs            Markdown files and folders";

/// Flags that people know from other programs, and what they are called here.
const TIPS: [(&str, &str); 9] = [
    ("--concurrency", "--max-tasks"),
    ("--depth", "--max-depth"),
    ("--fragments", "--check +fragments"),
    ("--ignore", "--exclude"),
    ("--include-fragments", "--check +fragments"),
    ("--level", "--max-depth"),
    ("--retries", "--max-tries"),
    ("--skip", "--exclude"),
    ("--threads", "--max-tasks"),
];

/// Returns the error about an unknown flag with the one that was most likely meant.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some((_, meant)) = TIPS.iter().find(|(name, _)| name == flag)
    {
        error.insert(ContextKind::SuggestedArg, ContextValue::String((*meant).to_owned()));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(Vec::new()));
    }
    error
}

/// The command line of the tool, parsed.
pub(crate) struct ToolInvocation {
    pub(crate) arguments: ToolArguments,
    /// The flags that a record keeps.
    pub(crate) recordable: Vec<String>,
    /// The seed of the crawl that is replayed.
    pub(crate) seed: Option<u64>,
    /// The files with settings that are not taken, since they are of another user.
    pub(crate) passed_over: Vec<PathBuf>,
    /// The settings in the form of a file.
    pub(crate) config: String,
}

/// Parses the arguments of this process, those of a file or of a recorded crawl before
/// them.
pub(crate) fn parse_tool_args(
    definition: Command,
    recorded: fn(&Path) -> Result<Recorded, String>,
) -> ToolInvocation {
    let mut command = named(definition);
    // It has the groups of flags from now on.
    command.build();
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // A flag may contradict others only as long as the file is not read.
    // Only the paths of the files with arguments are looked at. Other values may be files
    // that can be read once only, such as pipes.
    let is_path = |flag: &Arg| ["replay", "config"].contains(&flag.get_id().as_str());
    let is_other = |flag: &Arg| flag.get_action().takes_values() && !is_path(flag);
    let first_look = config::without_parsers(command.clone(), is_other).ignore_errors(true);
    let given = first_look.try_get_matches_from(&words).ok();
    let path = |id| given.as_ref().and_then(|matches| matches.get_one::<PathBuf>(id).cloned());
    let (mut seed, mut file, mut passed_over) = (None, None, Vec::new());
    let mut origin = None;
    if let Some(path) = path("replay") {
        let recorded = recorded(&path).and_then(|it| recordable_only(&command, it));
        let recorded = recorded.unwrap_or_else(|problem| {
            let message = format!("--replay {}: {problem}", path.display());
            command.error(ErrorKind::InvalidValue, one_line(&message)).exit()
        });
        seed = Some(recorded.seed);
        // What is given now replaces what was given then.
        let is_replaced = |word: &String| {
            let long = long_name(word);
            let flag = command.get_arguments().find(|flag| flag.get_long() == long);
            flag.zip(given.as_ref()).is_some_and(|(flag, given)| {
                let is_given = config::is_given(&command, flag, given);
                long.is_some() && (is_given || contradicts(&command, given, flag))
            })
        };
        let recorded = recorded.arguments.into_iter().filter(|word| !is_replaced(word));
        let recorded: Vec<OsString> = recorded.map(OsString::from).collect();
        origin = Some(Origin::new(path, &recorded));
        words.splice(1..1, recorded);
    } else if let Some(given) = given.as_ref().filter(|given| !given.contains_id("generate")) {
        file = path("config");
        let here = std::env::current_dir().ok().filter(|_| file.is_none());
        if let Some(here) = here {
            (file, passed_over) = config::find(&here, &config::trusted(&here));
            // As if it had been named: no other flag may have it written.
            let found = file.iter().map(|file| [OsStr::new("--config="), file.as_os_str()]);
            words.splice(1..1, found.map(|word| word.into_iter().collect()));
        }
        if let Some(file) = &file {
            let read = config::read(file, &command, given).unwrap_or_else(|problem| {
                command.error(ErrorKind::InvalidValue, one_line(&problem)).exit()
            });
            origin = Some(Origin::new(file.clone(), &read));
            words.splice(1..1, read);
        }
    }
    let matches = command.try_get_matches_from_mut(&words).unwrap_or_else(|error| {
        if error.kind() == ErrorKind::MissingRequiredArgument
            && let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
            && missing.iter().any(|argument| argument == "<URL>...")
        {
            command.error(ErrorKind::MissingRequiredArgument, EXAMPLES).exit()
        }
        let error = with_tip(error);
        let explained = origin.as_ref().and_then(|origin| origin.explain_conflict(&error));
        explained.map_or(error, |text| command.error(ErrorKind::ArgumentConflict, text)).exit()
    });
    let arguments = checked(&mut command, &matches, origin.as_ref());
    let given = flags(&command, &matches);
    let recordable = given.iter().filter(|(id, _)| !NOT_RECORDED.contains(&id.as_str()));
    let recordable = recordable.map(|(_, flag)| word(flag)).collect();
    let settings = given.into_iter().filter(|(id, _)| !config::NOT_PRINTED.contains(&id.as_str()));
    let settings = settings.filter_map(|(_, (long, value))| Some((long?, value)));
    let settings: Vec<_> = settings.collect();
    let config = config::printed(&settings, file.as_deref(), seed.is_some());
    ToolInvocation { arguments, recordable, seed, passed_over, config }
}

/// Returns a record, if it has nothing but what a record keeps: a file that pretends to be one
/// could name others to be written.
///
/// # Errors
/// When it has anything else, or a value that is wrong and that a terminal might obey, as a
/// sentence.
fn recordable_only(command: &Command, recorded: Recorded) -> Result<Recorded, String> {
    let is_recordable = |word: &&String| match word.strip_prefix("--") {
        Some(flag) => {
            let long = flag.split('=').next();
            let flag = command.get_arguments().find(|flag| flag.get_long() == long);
            flag.map(|flag| flag.get_id().as_str())
                .is_some_and(|id| id == "proxy_env" || !NOT_RECORDED.contains(&id))
        }
        None => word.starts_with("http://") || word.starts_with("https://"),
    };
    if let Some(word) = recorded.arguments.iter().find(|word| !is_recordable(word)) {
        return Err(format!("it is not a record of a crawl: no record has '{word}'"));
    }
    // A pattern may have several lines. If it is wrong, clap would print it as it is.
    for word in recorded.arguments.iter().filter(|word| *one_line(word) != ***word) {
        let long = word.trim_start_matches("--").split('=').next().unwrap_or_default();
        config::checked(command, long, word.clone())?;
    }
    Ok(recorded)
}

/// Returns text of a file or a record, which may be of anyone, as a line that is no command to
/// a terminal or a runner.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).replace('\n', " ")
}

fn named(command: Command) -> Command {
    match program_name() {
        Some(name) => command.bin_name(name.clone()).display_name(name),
        None => command,
    }
}

fn checked<T: FromArgMatches + Consistency>(
    command: &mut Command,
    matches: &ArgMatches,
    origin: Option<&Origin>,
) -> T {
    let arguments = T::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
    if let Some(contradiction) = arguments.contradiction() {
        let explained = origin.and_then(|origin| origin.explain(&contradiction));
        command.error(ErrorKind::ArgumentConflict, explained.unwrap_or(contradiction)).exit();
    }
    arguments
}

/// Where flags come from that the user has not typed: a file with settings, or a record.
struct Origin {
    file: PathBuf,
    /// Their long names.
    flags: Vec<String>,
}

impl Origin {
    fn new(file: PathBuf, words: &[OsString]) -> Self {
        let names = words.iter().filter_map(|word| long_name(word.to_str()?));
        Self { file, flags: names.map(str::to_owned).collect() }
    }

    /// Returns a message about flags that exclude each other, with those that come from the
    /// file. `None` if none of them does.
    fn explain(&self, message: &str) -> Option<String> {
        let words = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let is_ours = |flag: &str| self.flags.iter().any(|ours| long_name(flag) == Some(ours));
        let mut ours: Vec<&str> = words.filter(|word| is_ours(word)).collect();
        ours.dedup();
        let verb = if ours.len() > 1 { "are" } else { "is" };
        let file = self.file.display();
        let explained = format!("{message} ({} {verb} from {file})", ours.join(" and "));
        (!ours.is_empty()).then(|| one_line(&explained))
    }

    /// The same for an error of the parser, if it is about such flags.
    fn explain_conflict(&self, error: &clap::Error) -> Option<String> {
        if error.kind() != ErrorKind::ArgumentConflict {
            return None;
        }
        let text = error.to_string();
        // The usage follows, which names the flags again.
        let message = text.split("\n\n").next().unwrap_or_default();
        self.explain(message.trim_start_matches("error: "))
    }
}

/// Returns true if another flag is given that a flag contradicts.
fn contradicts(command: &Command, given: &ArgMatches, flag: &Arg) -> bool {
    let contradict = |one, other| command.get_arg_conflicts_with(one).contains(&other);
    command
        .get_arguments()
        .filter(|other| {
            given.value_source(other.get_id().as_str()) == Some(ValueSource::CommandLine)
        })
        .any(|other| contradict(flag, other) || contradict(other, flag))
}

/// Returns the long name of the flag that a word of the command line begins with.
fn long_name(word: &str) -> Option<&str> {
    word.strip_prefix("--").and_then(|word| word.split('=').next())
}

/// The arguments that a record does not keep: they say where something is written, or
/// read from. The URLs that were read are kept instead.
const NOT_RECORDED: [&str; 23] = [
    "baseline",
    "cacert",
    "cache",
    "cache_age",
    "color",
    "config",
    "cookie_jar",
    "fresh",
    "generate",
    "input",
    "no_progress",
    "output",
    "print_config",
    "proxy_env",
    "quiet",
    "record",
    "record_secrets",
    "replay",
    "sources",
    "state",
    "trace",
    "update_baseline",
    "verbose",
];

/// A flag by its long name, or an argument without one, and one of its values.
type Flag = (Option<String>, Option<String>);

/// Returns a flag as a word of the command line.
fn word(flag: &Flag) -> String {
    match flag {
        (Some(long), Some(value)) => format!("--{long}={value}"),
        (Some(long), None) => format!("--{long}"),
        (None, value) => value.clone().unwrap_or_default(),
    }
}

/// Returns the flags that were given, with their ids.
fn flags(command: &Command, matches: &ArgMatches) -> Vec<(String, Flag)> {
    let mut flags = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let long = argument.get_long().map(str::to_owned);
        if long.is_some() && !argument.get_action().takes_values() {
            flags.push((id.to_owned(), (long, None)));
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        let values = values.map(|value| value.to_string_lossy().into_owned());
        flags.extend(values.map(|value| (id.to_owned(), (long.clone(), Some(value)))));
    }
    flags
}

/// A check for flags that are valid alone but contradict each other.
pub(crate) trait Consistency {
    /// Returns the message for a contradiction, if there is one.
    fn contradiction(&self) -> Option<String>;
}

impl Consistency for Arguments {
    fn contradiction(&self) -> Option<String> {
        if let Some(missing) = self.sources.iter().find_map(Source::why_missing) {
            return Some(missing);
        }
        if self.urls().len() < self.sources.len() {
            return Some("only the program crawl checks files, folders and lists".into());
        }
        let lost = self.output.lost_selections(Format::Chapter);
        lost.or_else(|| self.contradiction_with(Format::Chapter))
    }
}

impl Consistency for ToolArguments {
    fn contradiction(&self) -> Option<String> {
        if let Some((flag, other)) = self.same_file() {
            Some(format!("{flag} and {other} are the same file: one would replace the other"))
        } else if let Some(lost) = self.common.output.lost_selections(Format::Text)
            // A replay does what was recorded, whatever is reported of it.
            && self.tool.replay.is_none()
        {
            Some(lost)
        } else if let Some(reason) = self.why_not_a_worker() {
            Some(format!("{reason}, and --frontier shares it between many"))
        } else {
            self.common.contradiction_with(Format::Text)
        }
    }
}

impl ToolArguments {
    /// Returns true if the crawl is one on many machines.
    fn is_part(&self) -> bool {
        #[cfg(feature = "redis")]
        return self.redis.frontier().is_some();
        #[cfg(not(feature = "redis"))]
        false
    }

    /// Returns the reason why this process cannot be a worker of a crawl on many machines, if
    /// it is to be one.
    fn why_not_a_worker(&self) -> Option<&'static str> {
        #[cfg(feature = "redis")]
        if self.redis.frontier().is_some_and(|it| it.action == FrontierAction::Work) {
            return self.tool.for_one_process();
        }
        None
    }

    /// Returns two flags that name one file, if it is to be written for either.
    fn same_file(&self) -> Option<(&'static str, &'static str)> {
        let Tool { state, record, cache, cookie_jar, replay, baseline, input, config, .. } =
            &self.tool;
        let mut written: Vec<(&'static str, &Path)> = Vec::new();
        let trace = &self.common.output.trace;
        for (flag, file) in
            [("--state", state), ("--record", record), ("--cache", cache), ("--trace", trace)]
        {
            written.extend(file.as_deref().map(|file| (flag, file)));
        }
        written.extend(cookie_jar.as_ref().map(|file| ("--cookie-jar", &*file.path)));
        #[cfg(feature = "redis")]
        written.extend(self.redis.journal().map(|file| ("--journal", file)));
        let read = [("--replay", replay), ("--baseline", baseline), ("--input", input)];
        let read = read.into_iter().filter_map(|(flag, file)| Some((flag, file.as_deref()?)));
        let sources = self.common.sources.iter().filter_map(Source::path);
        let also_read = sources.map(|file| ("a file to check", file));
        let also_read = also_read.chain(config.iter().map(|file| ("--config", &**file)));
        let certificates = self.common.request.certificates().map(|file| ("--cacert", file));
        // Into a device such as /dev/null one may write all the same.
        let also_read = also_read.chain(certificates).filter(|(_, file)| file.is_file());
        let (mut read, also_read): (Vec<_>, Vec<_>) = (read.collect(), also_read.collect());
        let output = &self.common.output;
        let mut replaced = written.iter().chain(&read).filter(|(_, file)| output.goes_to(file));
        // Stdout may go there: its user has sent it, and the shell has emptied the file.
        let mut named = also_read.iter().filter(|(_, file)| output.names(file));
        if let Some((flag, _)) = replaced.next().or_else(|| named.next()) {
            return Some(("--output", flag));
        }
        read.extend(also_read);
        written.iter().enumerate().find_map(|(n, (flag, file))| {
            let others = written[n + 1..].iter().chain(&read);
            let (other, _) = others.into_iter().find(|(_, other)| is_same_file(file, other))?;
            Some((*flag, *other))
        })
    }

    /// Returns true if the user wants a progress line.
    pub(crate) fn wants_progress(&self) -> bool {
        !self.tool.no_progress && self.common.output.level() > Level::Errors
    }

    /// Returns the settings of the output.
    ///
    /// # Errors
    /// When the baseline cannot be read, as a sentence.
    pub(crate) fn output(&self) -> Result<OutputSettings, String> {
        self.tool.set_output(self.common.output.settings(Format::Text))
    }

    /// Reads the sources.
    ///
    /// # Errors
    /// Those of [`Sources::read`].
    pub(crate) fn sources(&self) -> Result<Sources, String> {
        #[cfg(feature = "redis")]
        if self.redis.frontier().is_some()
            && self.common.sources.is_empty()
            && self.tool.input.is_none()
        {
            // It joins a crawl, which has its roots.
            return Ok(Sources { roots: Vec::new(), files: None, missing: Vec::new() });
        }
        let sources = self.tool.sources(&self.common.sources)?;
        match self.why_not_files().filter(|_| sources.files.is_some()) {
            Some(problem) => Err(problem),
            None => Ok(sources),
        }
    }

    /// Returns the reason why these flags are not for files, if there is one.
    fn why_not_files(&self) -> Option<String> {
        let Tool { state, record, replay, sitemap, base_url, .. } = &self.tool;
        let flags = [("--state", state), ("--record", record), ("--replay", replay)];
        if let Some((flag, _)) = flags.into_iter().find(|(_, file)| file.is_some()) {
            return Some(format!("{flag} works only for URLs, not for files"));
        }
        #[cfg(feature = "redis")]
        if self.redis.frontier().is_some() {
            return Some("--frontier works only for URLs, not for files".into());
        }
        if *sitemap {
            return Some(
                "--sitemap works only for URLs: crawl checks every page of a folder anyway".into(),
            );
        }
        let has_sitemap = self.common.output.has_format(Format::Text, Format::is_sitemap);
        (has_sitemap && base_url.is_none()).then(|| {
            "a sitemap needs URLs: add --base-url, the URL at which the folder is published".into()
        })
    }

    /// Returns the options of the crawl, which begins with these roots.
    pub(crate) fn options(&self, roots: Vec<Url>) -> Options {
        // A worker that joins a crawl has the checks of that crawl.
        let joins = self.is_part() && roots.is_empty();
        let default = if joins { Check::default() } else { Check::USUAL };
        let check = self.common.scope.check(Check::USUAL).unwrap_or(default);
        let mut options = self.common.options();
        options.settings.roots = roots.into();
        options.settings.check = check;
        self.tool.set(&mut options);
        // It lists the pages that link to a redirect.
        let has_html = self.common.output.has_format(Format::Text, |it| it == Format::Html);
        options.keep_redirects |= has_html;
        options
    }
}

impl Arguments {
    /// Returns the settings of the output.
    pub(crate) fn output(&self) -> OutputSettings {
        let roots: Vec<String> = self.urls().iter().map(Url::to_string).collect();
        OutputSettings { title: roots.join(", "), ..self.output.settings(Format::Chapter) }
    }

    /// Returns the sources that are URLs.
    fn urls(&self) -> Vec<Url> {
        let url = |source: &Source| match source {
            Source::Url(url) => Some(url.clone()),
            Source::Path(_) | Source::Stdin | Source::Missing(_) => None,
        };
        self.sources.iter().filter_map(url).collect()
    }

    fn contradiction_with(&self, default: Format) -> Option<String> {
        if self.request.logs_in_twice() {
            return Some(
                "--user and --header 'Authorization: ...' are both a login: use only one of them"
                    .into(),
            );
        }
        if self.output.trace.as_deref().is_some_and(|trace| self.output.goes_to(trace)) {
            return Some("--output and --trace are the same file".into());
        }
        let mut certificates = self.request.certificates();
        if certificates.any(|file| file.is_file() && self.output.names(file)) {
            return Some("--output and --cacert are the same file".into());
        }
        self.output.contradiction(default)
    }

    /// Returns the options of the crawl.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::new(self.urls());
        self.scope.set(&mut options);
        self.limits.set(&mut options);
        self.request.set(&mut options);
        self.output.set(&mut options);
        options
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::{env, fs, process};

    use clap::CommandFactory;
    use crawl_core::{ScopeRule, TrapLimits};
    use serde_json::{Map, Value};
    use test_support::settings::{by_name, changed};

    use super::*;

    fn parse_as<T: Parser>(line: &str) -> Result<T, String> {
        let words = ["crawl"].into_iter().chain(line.split_whitespace());
        T::try_parse_from(words).map_err(|error| error.to_string())
    }

    fn parse(line: &str) -> Result<Arguments, String> {
        parse_as(line)
    }

    #[test]
    fn the_definition_is_valid() {
        Arguments::command().debug_assert();
        ToolArguments::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let arguments = parse("example.com").unwrap();
        let root = Url::parse("https://example.com/").unwrap();
        let (ours, theirs) = (arguments.options(), Options::new(vec![root]));
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        let tool: ToolArguments = parse_as("example.com").unwrap();
        let roots = tool.sources().unwrap().roots;
        // The programs of the stages check what the chapter does, and the tool more.
        let mut theirs = theirs;
        theirs.settings.check = Check::USUAL;
        assert_eq!(format!("{:?}", tool.options(roots)), format!("{theirs:?}"));
        assert_eq!(arguments.output().reports, [(Format::Chapter, PathBuf::from("-"))]);
        assert_eq!(tool.output().unwrap().reports, [(Format::Text, PathBuf::from("-"))]);
        assert_eq!(arguments.output.level(), Level::Warnings);
    }

    #[test]
    fn every_flag_sets_its_option() {
        let arguments = parse(
            "a.test b.test --accept 403,500..=503 -H a:b -H c:d -u me:x --broken-only --color never --select title=title \
             --check images,fragments --check styles \
             --lenient --exclude x --exclude y$ --include z --include / --max-depth 0 \
             --strip-query sid,utm_source --strip-query q --max-pages 7 --max-pages-per-host 8 -j 3 --max-tries 2 \
             --max-redirect 0 --connect-timeout 1 --read-timeout 2s --timeout 500ms \
             --max-body-size 64K --deny-private -A me -k --format jsonl -o rows -vv",
        )
        .unwrap();
        let options = arguments.options();
        assert_eq!(options.settings.roots.len(), 2);
        assert_eq!(options.settings.scope, ScopeRule::Lenient);
        assert_eq!((options.settings.exclude.len(), options.settings.include.len()), (2, 2));
        assert_eq!(options.settings.max_depth, Some(0));
        let check = Check { images: true, styles: true, fragments: true, ..Check::default() };
        assert_eq!(options.settings.check, check);
        assert_eq!(options.settings.strip_query, ["sid", "utm_source", "q"]);
        assert_eq!(options.max_pages, Some(7));
        assert_eq!(options.settings.max_pages_per_host, Some(8));
        assert_eq!(options.max_tasks, Some(3));
        assert_eq!((options.settings.max_tries, options.settings.max_redirect), (2, 0));
        assert_eq!(options.settings.connect_timeout, Duration::from_secs(1));
        assert_eq!(options.settings.read_timeout, Duration::from_secs(2));
        assert_eq!(options.settings.timeout, Duration::from_millis(500));
        assert_eq!(options.settings.max_body_size, 65_536);
        assert_eq!(options.settings.user_agent, "me");
        assert!(options.insecure && options.settings.deny_private);
        assert_eq!(options.settings.accept, [403..=403, 500..=503]);
        assert_eq!(options.settings.headers.len(), 3);
        assert_eq!(options.settings.select.len(), 1);
        let output = arguments.output();
        assert!(output.broken_only);
        assert_eq!(output.color, anstream::ColorChoice::Never);
        assert_eq!(output.reports, [(Format::Jsonl, PathBuf::from("rows"))]);
        assert_eq!(arguments.output.level(), Level::Verbose);
        assert_eq!(parse("a.test -q").unwrap().output.level(), Level::Errors);
    }

    /// Everything that a user can set, as flags and as a file have it.
    const CHANGED: [(&str, &str); 29] = [
        ("lenient", ""),
        ("include", "in"),
        ("exclude", "ex$"),
        ("check", "all"),
        ("external", ""),
        ("sitemap", ""),
        ("follow-root", ""),
        ("max-depth", "1"),
        ("one-page", ""),
        ("strip-query", "sid"),
        ("max-path-segments", "3"),
        ("max-repeats", "4"),
        ("max-pages-per-pattern", "5"),
        ("max-pages-per-host", "9"),
        ("max-redirect", "11"),
        ("no-robots", ""),
        ("deny-private", ""),
        ("select", "title=h1"),
        ("accept", "403,500..=503"),
        ("max-tries", "18"),
        ("max-wait", "19"),
        ("rate-limit", "20"),
        ("delay", "1500ms"),
        ("external-rate", "21"),
        ("connect-timeout", "22"),
        ("read-timeout", "23"),
        ("timeout", "24"),
        ("max-body-size", "25"),
        ("user-agent", "me/1"),
    ];

    const HEADER: &str = "X-Token: s3cret";

    const HOST: &str = "https://*.b.test:8443";

    const OF_HOST: [(&str, &str); 10] = [
        ("delay", "12"),
        ("rate-limit", "13"),
        ("max-tasks", "14"),
        ("header", "X-Host: s3cret"),
        ("connect-timeout", "15"),
        ("read-timeout", "16"),
        ("timeout", "17"),
        ("accept", "410"),
        ("exclude", "^/no"),
        ("check", "false"),
    ];

    fn settings_of(words: impl IntoIterator<Item = OsString>) -> Map<String, Value> {
        let words = ["crawl".into(), "http://a.test/".into()].into_iter().chain(words);
        let tool = ToolArguments::try_parse_from(words).unwrap();
        let roots = tool.sources().unwrap().roots;
        by_name(&tool.options(roots).settings)
    }

    /// Returns settings that all differ from the defaults, without the limits on traps that
    /// only the library has.
    fn changed_by_flags() -> Map<String, Value> {
        let mut settings = changed();
        let TrapLimits { segments, repetitions, variants, url_bytes, below, near, equal_pages } =
            TrapLimits::default();
        settings.traps = TrapLimits { url_bytes, below, near, equal_pages, ..settings.traps };
        assert!(settings.traps.segments != segments);
        assert!(settings.traps.repetitions != repetitions);
        assert!(settings.traps.variants != variants);
        by_name(&settings)
    }

    #[test]
    fn every_setting_has_a_flag() {
        let mut words: Vec<OsString> = vec![format!("--header={HEADER}").into()];
        for (flag, value) in CHANGED {
            words.push(
                if value.is_empty() { format!("--{flag}") } else { format!("--{flag}={value}") }
                    .into(),
            );
        }
        words.extend(OF_HOST.map(|(key, value)| format!("--for-host={HOST} {key}={value}").into()));
        assert_eq!(settings_of(words), changed_by_flags());
    }

    #[test]
    fn a_file_has_every_setting() {
        let mut text = format!("header = '{HEADER}'\n");
        for (key, value) in CHANGED {
            text += &match value {
                "" => format!("{key} = true\n"),
                _ => format!("{key} = '{value}'\n"),
            };
        }
        text += &format!("[host.'{HOST}']\n");
        for (key, value) in OF_HOST {
            text += &format!("{key} = '{value}'\n");
        }
        let file = env::temp_dir().join(format!("crawl-settings-{}.toml", process::id()));
        fs::write(&file, text).unwrap();
        let command = ToolArguments::command();
        let given = command.clone().try_get_matches_from(["crawl", "http://a.test/"]).unwrap();
        let words = config::read(&file, &command, &given);
        fs::remove_file(&file).unwrap();
        assert_eq!(settings_of(words.unwrap()), changed_by_flags());
    }

    #[test]
    fn checks_are_listed_added_and_taken_away() {
        let check = |list: &str| {
            let tool: Result<ToolArguments, _> = parse_as(&format!("a.test {list}"));
            tool.map(|tool| tool.options(Vec::new()).settings.check.names().join(" "))
        };
        for (list, expected) in [
            ("", "images scripts styles frames refresh relations media"),
            ("--check links", ""),
            ("--check none", ""),
            ("--check images,media", "images media"),
            ("--check images --check scripts", "images scripts"),
            (
                "--check +fragments,-frames",
                "images scripts styles refresh relations media fragments",
            ),
            ("--check=-images,-scripts,-styles", "frames refresh relations media"),
            ("--check -media", "images scripts styles frames refresh relations"),
            ("--check none,+styles", "styles"),
            ("--check all,-media", "images scripts styles frames refresh relations fragments"),
        ] {
            assert_eq!(check(list).as_deref(), Ok(expected), "{list}");
        }
        assert_eq!(
            parse("a.test --check +images").unwrap().options().settings.check.names(),
            ["images"]
        );
        for list in ["--check pictures", "--check +all", "--check -links", "--check images,"] {
            check(list).unwrap_err();
        }
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_worker_that_joins_has_the_checks_of_the_crawl() {
        let check = |line: &str, roots: &[&str]| {
            let line = format!("{line} --frontier redis://a.test/ --crawl a");
            let tool: ToolArguments = parse_as(&line).unwrap();
            let roots = roots.iter().map(|root| root.parse().unwrap()).collect();
            tool.options(roots).settings.check
        };
        let fragments = Check { fragments: true, ..Check::USUAL };
        assert_eq!(check("", &[]), Check::default());
        assert_eq!(check("--check +fragments", &[]), fragments);
        assert_eq!(check("a.test", &["http://a.test/"]), Check::USUAL);
    }

    #[test]
    fn several_reports_go_to_several_files() {
        let reports = |line: &str| {
            let reports = parse(&format!("a.test {line}")).unwrap().output().reports;
            let named = reports
                .into_iter()
                .map(|(format, file)| format!("{format:?}:{}", file.display()).to_lowercase());
            named.collect::<Vec<_>>().join(" ")
        };
        for (line, expected) in [
            ("", "chapter:-"),
            ("-q", ""),
            ("-q --format csv", "csv:-"),
            ("-q -o x", "chapter:x"),
            ("-o json:x", "json:x"),
            ("-o json:x -o -", "json:x chapter:-"),
            ("--format csv -o json:x", "json:x csv:-"),
            ("--format csv -o json:x -o y", "json:x csv:y"),
            ("-o ./a:b", "chapter:./a:b"),
            ("-o a.html -o b.sarif", "html:a.html sarif:b.sarif"),
            ("--format csv -o a.html", "csv:a.html"),
        ] {
            assert_eq!(reports(line), expected, "{line}");
        }
        assert!(parse("a.test -o json:").is_err());
        assert!(parse("a.test -o jnuit:x").unwrap_err().contains("did you mean junit?"));
        for twice in ["-o x -o json:./x", "-o json:- -o -", "--format csv -o json:-"] {
            let arguments = parse(&format!("a.test {twice}")).unwrap();
            assert!(arguments.contradiction().is_some(), "{twice}");
        }
    }

    #[test]
    fn aliases_from_other_crawlers_are_understood() {
        let options = parse("a.test --max-concurrency 5 --max-redirects 6").unwrap().options();
        assert_eq!((options.max_tasks, options.settings.max_redirect), (Some(5), 6));
    }

    #[test]
    fn the_limit_on_the_pages_of_a_host_can_be_lifted() {
        for lifted in ["none", "0"] {
            let line = format!("a.test --max-pages-per-host {lifted}");
            assert_eq!(
                parse(&line).unwrap().options().settings.max_pages_per_host,
                None,
                "{lifted}"
            );
        }
        assert_eq!(parse("a.test").unwrap().options().settings.max_pages_per_host, Some(1_000_000));
    }

    #[test]
    fn a_bad_value_is_named_with_its_flag() {
        for (flag, value) in [
            ("--include", "["),
            ("--exclude", "("),
            ("--max-depth", "-1"),
            ("--check", "pictures"),
            ("--strip-query", "a&b"),
            ("--max-pages", "0"),
            ("--max-pages-per-host", "all"),
            ("--max-pages-per-host", "-1"),
            ("--max-tasks", "0"),
            ("--max-tasks", "100001"),
            ("--max-tasks", "18446744073709551615"),
            ("--max-tasks", "18446744073709551616"),
            ("--max-tries", "0"),
            ("--max-redirect", "-1"),
            ("--connect-timeout", "soon"),
            ("--read-timeout", "0"),
            ("--timeout", "8000h"),
            ("--max-body-size", "10X"),
            ("--user-agent", ""),
            ("--cacert", "/no/such/file"),
            ("--format", "xml"),
        ] {
            let message = parse(&format!("a.test {flag}={value}")).unwrap_err();
            assert!(message.contains(flag), "{message}");
            assert!(message.contains(value), "{message}");
        }
        assert!(parse("ftp://a.test").unwrap_err().contains("'ftp://a.test'"));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(parse("a.test --strict --lenient").is_err());
        assert!(parse("a.test -q -v").is_err());
    }
}
