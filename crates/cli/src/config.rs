//! The configuration file `crawl.toml`: its keys are the long names of flags, and it has
//! a table of settings for each host.
//!
//! ```toml
//! max-tasks = 20
//! exclude = ["/private/", "/tmp/"]
//!
//! [host."docs.test"]
//! delay = "500ms"
//! header = ["X-Token: secret"]
//! ```
//!
//! A key becomes words of the command line, before those of the process. So the file
//! means what the flags mean, and is recorded as they are.

use std::error::Error as _;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::builder::OsStringValueParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgGroup, ArgMatches, Command, Id, ValueEnum, ValueHint};
use crawl_core::HostPattern;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::arguments::{Format, one_line};
use crate::for_host::ForHost;
use crate::parsers;
use crate::read_text::{plain, read_text};

/// The name of the file that is searched for.
const FILE: &str = "crawl.toml";

/// The table with a table for each host, and the hidden flag that its settings become.
const HOST: &str = "host";
const FOR_HOST: &str = "for-host";

/// The flags that a file cannot have, since they say what is to be done now.
const NOT_IN_FILES: [&str; 13] = [
    "config",
    "drop",
    FOR_HOST,
    "fresh",
    "generate",
    "help",
    "print-config",
    "proxy-env",
    "replay",
    "report",
    "status",
    "update-baseline",
    "version",
];

/// The ids of the flags that [`printed`] leaves out.
pub(crate) const NOT_PRINTED: [&str; 3] = ["config", "print_config", "proxy_env"];

/// The flags whose values may be secrets.
const SECRETS: [&str; 4] = ["frontier", "header", "proxy", "user"];

/// The flags whose files are read as soon as the values are parsed.
const READ_ONCE: [&str; 2] = ["cacert", "cookie-jar"];

/// The text that is printed for a secret.
const HIDDEN: &str = "***";

/// Returns the file that holds for this folder, in it or in the nearest folder above, and
/// those that are passed over: they are of none of the `trusted` users. In a folder where all
/// may write, such as `/tmp`, anyone could put one, which names files to be written.
pub(crate) fn find(folder: &Path, trusted: &[u32]) -> (Option<PathBuf>, Vec<PathBuf>) {
    let files = folder.ancestors().map(|folder| folder.join(FILE)).filter(|file| file.is_file());
    let mut passed_over = Vec::new();
    for file in files {
        // A link has an owner as well.
        let is_trusted = |it: io::Result<Metadata>| it.is_ok_and(|it| trusted.contains(&it.uid()));
        if is_trusted(file.symlink_metadata()) && is_trusted(file.metadata()) {
            return (Some(file), passed_over);
        }
        passed_over.push(file);
    }
    (None, passed_over)
}

/// Returns the users whose files are taken: root, the user of this process, and the owner of
/// the folder where it is started, which in a container is another user.
pub(crate) fn trusted(folder: &Path) -> Vec<u32> {
    // What a process makes belongs to its user, and so does a pipe.
    let pipe = io::pipe().and_then(|(reader, _)| File::from(OwnedFd::from(reader)).metadata());
    let owners = [pipe, folder.metadata()].into_iter().flatten();
    owners.map(|metadata| metadata.uid()).chain([0]).collect()
}

/// Reads a file, and returns its words of the command line. A setting that is `given` there
/// is left out.
///
/// # Errors
/// When the file cannot be read, or is wrong; with the line.
pub(crate) fn read(
    file: &Path,
    command: &Command,
    given: &ArgMatches,
) -> Result<Vec<OsString>, String> {
    let text = File::open(file)
        .and_then(read_text)
        .map_err(|error| format!("--config {}: {}", file.display(), plain(&error)))?;
    words(&text, file, command, given).map_err(|(at, message)| {
        let line = text[..at.min(text.len())].matches('\n').count() + 1;
        format!("{}, line {line}: {message}", file.display())
    })
}

/// An error, with the place in the file.
type Located<T> = Result<T, (usize, String)>;

fn words(text: &str, file: &Path, command: &Command, given: &ArgMatches) -> Located<Vec<OsString>> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (at, error.message().to_owned())
    })?;
    let mut words = Vec::new();
    for (key, value) in table.get_ref() {
        let at = key.span().start;
        if key.get_ref() == HOST {
            hosts(value, &mut words)?;
            continue;
        }
        let long = &key.get_ref().replace('_', "-");
        let flags = || {
            let is_setting =
                |flag: &&Arg| flag.get_long().is_some_and(|long| !NOT_IN_FILES.contains(&long));
            command.get_arguments().filter(is_setting)
        };
        let Some(flag) = flags().find(|flag| flag.get_long() == Some(long)) else {
            let similar = parsers::similar(long, flags().filter_map(Arg::get_long));
            let hint = similar.map_or(String::new(), |it| format!(": did you mean '{it}'?"));
            return Err((at, format!("unknown setting '{}'{hint}", key.get_ref())));
        };
        if is_given(command, flag, given) {
            continue;
        }
        for value in texts(value) {
            let word = match value? {
                Text::Switch(_) if flag.get_action().takes_values() => {
                    return Err((at, format!("'{long}' needs a value other than true or false")));
                }
                Text::Switch(false) => continue,
                Text::Switch(true) => format!("--{long}"),
                Text::Value(text) if is_path(flag) => {
                    format!("--{long}={}", located(long, &text, file))
                }
                Text::Value(text) => format!("--{long}={text}"),
            };
            words.push(checked(command, long, word).map_err(|message| (at, message))?);
        }
    }
    Ok(words)
}

/// Returns true if the value of a flag is a path, which begins at the folder of the file.
fn is_path(flag: &Arg) -> bool {
    matches!(flag.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath)
}

/// Returns true if the setting of a flag is given: by that flag, or by another one of its
/// group, such as `--strict` and `--lenient`, which say one thing in two ways.
pub(crate) fn is_given(command: &Command, flag: &Arg, given: &ArgMatches) -> bool {
    let is_given = |id: &Id| given.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let groups = command.get_groups().filter(|group| !ArgGroup::clone(group).is_multiple());
    let mut same = groups.filter(|group| group.get_args().any(|id| id == flag.get_id()));
    is_given(flag.get_id()) || same.any(|group| group.get_args().any(is_given))
}

/// Appends the settings of hosts.
fn hosts(tables: &Spanned<DeValue<'_>>, words: &mut Vec<OsString>) -> Located<()> {
    let table = |value: &Spanned<DeValue<'_>>| {
        (value.span().start, "write the settings of a host below [host.\"NAME\"]".to_owned())
    };
    let hosts = tables.get_ref().as_table().ok_or_else(|| table(tables))?;
    for (host, settings) in hosts {
        let keys = settings.get_ref().as_table().ok_or_else(|| table(settings))?;
        HostPattern::parse(host.get_ref()).map_err(|message| (host.span().start, message))?;
        for (key, value) in keys {
            for value in texts(value) {
                let value = match value? {
                    Text::Switch(value) => value.to_string(),
                    Text::Value(value) => value,
                };
                let setting = format!("{} {}={value}", host.get_ref(), key.get_ref());
                ForHost::parse(&setting).map_err(|message| {
                    (key.span().start, format!("{}: {message}", key.get_ref()))
                })?;
                words.push(format!("--{FOR_HOST}={setting}").into());
            }
        }
    }
    Ok(())
}

/// A value.
enum Text {
    Switch(bool),
    Value(String),
}

/// Returns the values of a key: the elements of a list, or the value alone.
fn texts(value: &Spanned<DeValue<'_>>) -> Vec<Located<Text>> {
    let at = value.span().start;
    vec![match value.get_ref() {
        DeValue::Array(values) => return values.iter().flat_map(texts).collect(),
        DeValue::String(text) => Ok(Text::Value(text.to_string())),
        DeValue::Integer(number) => Ok(Text::Value(number.to_string())),
        DeValue::Boolean(is_on) => Ok(Text::Switch(*is_on)),
        _ => Err((at, "write a text, a number, true, false, or a list of them".into())),
    }]
}

/// Returns a path as it is from the folder of the file. That of a report may have a format
/// before it.
fn located(flag: &str, path: &str, file: &Path) -> String {
    let format = path
        .split_once(':')
        .filter(|(name, _)| flag == "output" && Format::from_str(name, false).is_ok());
    let (format, path) = format.map_or(("", path), |(name, path)| (name, path));
    let colon = if format.is_empty() { "" } else { ":" };
    let folder = file.parent().unwrap_or(Path::new(""));
    let path = if path == "-" { path.into() } else { folder.join(path) };
    format!("{format}{colon}{}", path.display())
}

/// Returns a command that takes the values of some flags as they are.
pub(crate) fn without_parsers(command: Command, is_one: impl Fn(&Arg) -> bool) -> Command {
    command.mut_args(|flag| match is_one(&flag) {
        true => flag.value_parser(OsStringValueParser::new()),
        false => flag,
    })
}

/// Returns the word of a flag if its value is right.
///
/// # Errors
/// When it is wrong, as a sentence without a value that may be a secret.
pub(crate) fn checked(command: &Command, flag: &str, word: String) -> Result<OsString, String> {
    // Some files may be pipes, which can be read once only: later, with an error that repeats
    // their names as they are.
    let is_read = |flag: &Arg| READ_ONCE.contains(&flag.get_long().unwrap_or_default());
    if READ_ONCE.contains(&flag) && one_line(&word) != word {
        return Err(format!("the file name for '{flag}' has characters that are not allowed"));
    }
    let word = OsString::from(word);
    let command = without_parsers(command.clone(), is_read);
    let parsed = command.try_get_matches_from([OsString::from("crawl"), word.clone()]);
    let Err(error) = parsed else { return Ok(word) };
    match error.kind() {
        // What is not there yet may be among the other words.
        ErrorKind::MissingRequiredArgument => Ok(word),
        // The whole message repeats the value.
        _ if SECRETS.contains(&flag) => {
            let reason = error.source().map_or("its value is wrong".into(), ToString::to_string);
            Err(format!("{flag}: {reason}"))
        }
        _ => {
            let message = error.to_string();
            let line = message.lines().next().unwrap_or_default();
            Err(line.trim_start_matches("error: ").to_owned())
        }
    }
}

/// Returns the settings of a command line in the form of the file, without secrets.
/// `flags` are the long names with their values.
pub(crate) fn printed(
    flags: &[(String, Option<String>)],
    file: Option<&Path>,
    is_replay: bool,
) -> String {
    let mut text = match file {
        Some(file) => format!("# With {}\n", file.display()),
        None if is_replay => format!("# A replay reads no {FILE}\n"),
        None => format!("# No {FILE} in this folder or above\n"),
    };
    let mut tables: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    let mut settings: Vec<(&str, Vec<&str>)> = Vec::new();
    for (flag, value) in flags {
        match value.as_deref() {
            Some(value) if flag == FOR_HOST => {
                let (host, setting) = value.split_once(' ').unwrap_or((value, ""));
                let setting = setting.split_once('=').unwrap_or((setting, ""));
                match tables.iter_mut().find(|(name, _)| *name == host) {
                    Some((_, settings)) => settings.push(setting),
                    None => tables.push((host, vec![setting])),
                }
            }
            value => match settings.iter_mut().find(|(name, _)| name == flag) {
                Some((_, values)) => values.extend(value),
                None => settings.push((flag, value.into_iter().collect())),
            },
        }
    }
    for (key, values) in settings {
        text += &line(key, &values);
    }
    for (host, settings) in tables {
        text += &format!("\n[{HOST}.{}]\n", quoted(host));
        let mut keys: Vec<&str> = settings.iter().map(|(key, _)| *key).collect();
        keys.dedup();
        for key in keys {
            let values = settings.iter().filter(|(name, _)| *name == key);
            text += &line(key, &values.map(|(_, value)| *value).collect::<Vec<_>>());
        }
    }
    text
}

/// Returns the line of a key with its values.
fn line(key: &str, values: &[&str]) -> String {
    let shown = values.iter().map(|value| match (key, *value) {
        ("check", "true" | "false") => (*value).to_owned(),
        _ => quoted(&without_secret(key, value)),
    });
    let shown: Vec<String> = shown.collect();
    match shown.as_slice() {
        [] => format!("{key} = true\n"),
        [value] => format!("{key} = {value}\n"),
        values => format!("{key} = [{}]\n", values.join(", ")),
    }
}

/// Returns a text in quotes. TOML has those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a value with asterisks for what may be a secret.
pub(crate) fn without_secret(key: &str, value: &str) -> String {
    match key {
        "header" | "user" => match value.split_once(':') {
            Some((name, _)) if key == "user" => format!("{name}:{HIDDEN}"),
            Some((name, _)) => format!("{name}: {HIDDEN}"),
            None => HIDDEN.to_owned(),
        },
        "proxy" => without_credentials(value),
        // The URL of a Unix socket has the password in its query.
        "frontier" => match value.split_once('?') {
            Some((path, _)) => format!("{}?{HIDDEN}", without_credentials(path)),
            None => without_credentials(value),
        },
        _ => value.to_owned(),
    }
}

/// Returns a URL with asterisks for a user and a password.
fn without_credentials(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map_or("http", |(scheme, _)| scheme);
            format!("{scheme}://{HIDDEN}@{host}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use clap::CommandFactory;

    use super::*;
    use crate::arguments::ToolArguments;

    /// A flag with a parser of its own has to say that its value is a path.
    #[test]
    fn paths_begin_at_the_folder_of_the_file() {
        let command = ToolArguments::command();
        for path in ["baseline", "cacert", "cookie-jar", "output", "state", "trace"] {
            let flag = command.get_arguments().find(|flag| flag.get_long() == Some(path));
            assert!(flag.is_some_and(is_path), "{path}");
        }
    }

    #[test]
    fn a_file_of_another_user_is_not_taken() {
        let folder = env::temp_dir().join(format!("crawl-config-{}", process::id()));
        let below = folder.join("below");
        fs::create_dir_all(&below).unwrap();
        let file = folder.join(FILE);
        fs::write(&file, "").unwrap();
        let owner = file.metadata().unwrap().uid();
        let taken = find(&below, &trusted(&below));
        let (none, passed_over) = find(&below, &[owner + 1]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(taken, (Some(file.clone()), Vec::new()));
        assert_eq!(none, None);
        assert_eq!(passed_over.first(), Some(&file));
    }
}
