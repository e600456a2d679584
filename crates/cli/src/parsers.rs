//! Parsers for the values of flags: durations, sizes, roots and others.

use std::borrow::Cow;
use std::env;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use crawl_core::{Check, Options};
use url::{Host, Url};
use web::http::{BadHeader, Header};
use web::is_terminal_control;
use web::select::Selection;

use crate::read_text::plain;

/// Limit on durations. A longer one is taken for a mistake.
const MAX_LEN: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// An item of `--check`: a kind of links to check or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckItem {
    All,
    None,
    /// A kind alone: no others but those that are named as well.
    Only(&'static str),
    /// A kind besides those that are checked otherwise.
    Also(&'static str),
    /// A kind less than those.
    Without(&'static str),
}

/// Parses an item of `--check`.
///
/// # Errors
/// When `text` is no such item.
pub(crate) fn check_item(text: &str) -> Result<CheckItem, String> {
    let kind = |name: &str| {
        // Links are always checked.
        let mut names = ["links"].into_iter().chain(Check::NAMES);
        let list = || format!("the kinds are links, {}, all and none", Check::NAMES.join(", "));
        names.find(|known| *known == name).ok_or_else(list)
    };
    match text {
        "all" => Ok(CheckItem::All),
        "none" => Ok(CheckItem::None),
        _ => match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(name), _) => kind(name).map(CheckItem::Also),
            (_, Some("links")) => Err("links are always checked".into()),
            (_, Some(name)) => kind(name).map(CheckItem::Without),
            _ => kind(text).map(CheckItem::Only),
        },
    }
}

/// Returns what the items of `--check` select, from the first to the last; `usual` is
/// what is checked without any.
pub(crate) fn check(items: &[CheckItem], usual: Check) -> Check {
    let is_whole_list = |item: &CheckItem| matches!(item, CheckItem::Only(_));
    let mut check = if items.iter().any(is_whole_list) { Check::default() } else { usual };
    for item in items {
        let (name, is_wanted) = match *item {
            CheckItem::All => {
                check = Check::ALL;
                continue;
            }
            CheckItem::None => {
                check = Check::default();
                continue;
            }
            CheckItem::Only(name) | CheckItem::Also(name) => (name, true),
            CheckItem::Without(name) => (name, false),
        };
        if let Some(kind) = check.kind(name) {
            *kind = is_wanted;
        }
    }
    check
}

/// Parses a selection, such as `title=h1`.
///
/// # Errors
/// When `text` is not a selection, and always in a build without the feature `select`. The
/// message says what is wrong.
pub(crate) fn selection(text: &str) -> Result<Selection, String> {
    if cfg!(feature = "select") {
        return Selection::parse(text);
    }
    Err(without_feature("select"))
}

/// Returns the message about a feature that this build lacks, with the command to type.
pub fn without_feature(feature: &str) -> String {
    // The package of a program has its name.
    let command = match program_name() {
        Some(name) if name != "crawl" => format!("cargo build -p {name}"),
        _ => "cargo install --path crates/crawl".to_owned(),
    };
    format!(
        "this program was built without the feature `{feature}`; to add it, type: \
         {command} --features {feature}"
    )
}

/// Parses a duration: `30` and `30s` are seconds, `500ms`, `2m` and `1h`
/// milliseconds, minutes and hours. More than zero, and at most seven days.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = number_and_unit(text);
    let milliseconds = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        _ => 0,
    };
    match number {
        Some(number) if milliseconds > 0 => {
            let duration = Duration::from_millis(number.saturating_mul(milliseconds));
            if duration.is_zero() {
                Err("must be more than 0".into())
            } else if duration > MAX_LEN {
                Err("must not be more than seven days".into())
            } else {
                Ok(duration)
            }
        }
        _ => Err("write a duration as 30, 30s, 500ms, 2m or 1h".into()),
    }
}

/// Parses a size in bytes: `65536`, `64K`, `10M` or `1G`, in powers of 1024. At
/// least 1.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text);
    let bytes = match unit {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        _ => 0,
    };
    match number {
        Some(0) => Err("must be more than 0".into()),
        Some(number) if bytes > 0 => number.checked_mul(bytes).ok_or("is too large".into()),
        _ => Err("write a size as 65536, 64K, 10M or 1G".into()),
    }
}

/// Parses an age: a duration, or a number of days as `7d`. At most 1000 days.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    match number_and_unit(text) {
        (Some(days @ 1..=1000), "d") => Ok(Duration::from_secs(days * 24 * 60 * 60)),
        (_, "d") => Err("write 1d to 1000d".into()),
        _ => duration(text),
    }
}

/// Parses a number that is not 0.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub fn at_least_one<T>(text: &str) -> Result<T, String>
where
    T: FromStr + Default + PartialEq,
{
    match text.parse() {
        Ok(number) if number == T::default() => Err("must be at least 1".into()),
        Ok(number) => Ok(number),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err("the number is too large".into())
        }
        Err(_) => Err("write a number".into()),
    }
}

/// Parses a number that may be 0.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub(crate) fn number(text: &str) -> Result<u32, String> {
    match text {
        "0" => Ok(0),
        _ => at_least_one(text),
    }
}

/// Parses a number of tasks: at least 1, and at most [`Options::MAX_TASKS`].
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub fn max_tasks(text: &str) -> Result<usize, String> {
    match at_least_one(text) {
        Ok(number) if number > Options::MAX_TASKS => {
            Err(format!("must be at most {}", Options::MAX_TASKS))
        }
        result => result,
    }
}

/// Parses a limit: a number, where `none` and 0 mean that there is none. Returns 0 for
/// both.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub fn limit(text: &str) -> Result<u64, String> {
    match text {
        "none" => Ok(0),
        _ => text.parse().map_err(|_| "write a number, or none".into()),
    }
}

/// Parses a number that is not 0 or 1.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub(crate) fn at_least_two(text: &str) -> Result<usize, String> {
    at_least_one(text).and_then(|n| if n > 1 { Ok(n) } else { Err("must be at least 2".into()) })
}

/// Parses a number, or `all`, which is the largest one.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub(crate) fn number_or_all(text: &str) -> Result<usize, String> {
    if text == "all" {
        return Ok(usize::MAX);
    }
    text.parse().map_err(|_| "write a number, or all".into())
}

/// Splits a text into the number at its front, if there is one, and the rest. A
/// number that is too large becomes the largest one.
fn number_and_unit(text: &str) -> (Option<u64>, &str) {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = &text[..text.len() - unit.len()];
    let number = (!digits.is_empty()).then(|| digits.parse().unwrap_or(u64::MAX));
    (number, unit)
}

/// Parses a root of the crawl: an http or https URL.
///
/// Without a scheme it is taken as https, or as http if the host is this machine
/// (`localhost:8000`) or an IP address (`[::1]:80`).
///
/// A name or a password is refused, because URLs are shown in reports and stored.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub fn root(text: &str) -> Result<Url, String> {
    let url = web_address(text.trim())?;
    if url.username().is_empty() && url.password().is_none() {
        Ok(url)
    } else {
        Err("give name and password with --user, not in the URL".into())
    }
}

fn web_address(text: &str) -> Result<Url, String> {
    let parse = |text: &str| Url::parse(text).map_err(|error| error.to_string());
    if has_scheme(text) {
        let url = parse(text)?;
        return match url.scheme() {
            "http" | "https" => Ok(url),
            other => Err(format!("{other} is not http or https")),
        };
    }
    let host = text.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err("a URL begins with http://, https:// or a host name".into());
    }
    let url = parse(&format!("https://{text}"))?;
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    if is_local {
        // Parsed again, since the default port differs.
        parse(&format!("http://{text}"))
    } else {
        Ok(url)
    }
}

/// The endings of names that are those of files, although some are top-level domains.
const FILE_ENDINGS: [&str; 9] =
    ["html", "htm", "xhtml", "md", "markdown", "mdx", "rst", "adoc", "txt"];

/// Returns true if a text may be a URL with a host that can be looked up. A single word, a
/// pattern of the shell and the name of a page are rather a file that does not exist.
pub(crate) fn may_be_url(text: &str) -> bool {
    if has_scheme(text) {
        return true;
    }
    if text.starts_with(['/', '.']) || text.contains('*') {
        return false;
    }
    let host = text.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let is_file_name = host == text
        && host.rsplit_once('.').is_some_and(|(_, ending)| {
            FILE_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
        });
    let has_host = host.contains(['.', ':', '@']) || host.eq_ignore_ascii_case("localhost");
    has_host && !is_file_name
}

/// Returns the name that is most like this one, if one is: for a spelling mistake.
pub(crate) fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = known.into_iter().map(|known| (strsim::jaro(name, known), known));
    let best = likeness.filter(|(likeness, _)| *likeness > 0.8);
    best.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, known)| known)
}

/// Returns true if the text before the first colon is a scheme (RFC 3986, section
/// 3.1), and not a host before its port.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_port = rest
        .split(['/', '?', '#'])
        .next()
        .is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !is_port
}

/// Parses the name of the file for a trace. Its ending says what is written.
pub(crate) fn trace_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension == "json" || extension == "html" => Ok(path),
        _ => Err("the name must end in .json or .html".into()),
    }
}

/// Parses the key of a query parameter, in its decoded form.
///
/// # Errors
/// When it is empty, or has one of `&`, `=` and `#`.
pub(crate) fn query_key(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(['&', '=', '#']) {
        return Err("write keys as sid or sid,utm_source, or * for all".into());
    }
    Ok(text.to_owned())
}

/// Parses the user agent that the crawler sends in its requests.
///
/// # Errors
/// When `text` cannot be the value of a header field.
pub(crate) fn user_agent(text: &str) -> Result<String, String> {
    if text.is_empty() || !web::http::is_header_value(text) {
        return Err("must be printable ASCII, without blanks at the ends".into());
    }
    Ok(text.to_owned())
}

/// Parses a header to send to the hosts of the roots, or to a host with settings of its
/// own.
///
/// # Errors
/// When it cannot be sent.
pub(crate) fn header(text: &str) -> Result<Header, BadHeader> {
    Header::parse(text)
}

/// Parses a name and a password into the header for basic authentication (RFC
/// 7617).
///
/// # Errors
/// When they cannot be in such a header.
pub(crate) fn credentials(text: &str) -> Result<Header, String> {
    if !text.contains(':') || text.contains(char::is_control) {
        return Err("write name and password as NAME:PASSWORD".into());
    }
    let value = format!("Basic {}", BASE64_STANDARD.encode(text));
    Header::new("Authorization", &value).map_err(|error| error.to_string())
}

/// Parses statuses: `404`, `4xx`, `500..=503`, or `500..504` without the last.
///
/// # Errors
/// When `text` is not a valid value: what is wrong with it.
pub(crate) fn statuses(text: &str) -> Result<RangeInclusive<u16>, String> {
    if let [first @ b'1'..=b'9', b'x' | b'X', b'x' | b'X'] = text.trim().as_bytes() {
        let first = u16::from(first - b'0') * 100;
        return Ok(first..=first + 99);
    }
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let (first, end) = match text.split_once("..") {
        None => (number(text), number(text).map(|last| last.saturating_add(1))),
        Some((first, end)) => match end.strip_prefix('=') {
            Some(last) => (number(first), number(last).map(|last| last.saturating_add(1))),
            None => (number(first), number(end)),
        },
    };
    match (first, end) {
        (Some(first @ 100..), Some(end @ ..=1000)) if first < end => Ok(first..=end - 1),
        _ => Err("write statuses as 403, 4xx or 500..=503, from 100 to 999".into()),
    }
}

/// The certificates of a PEM file, in DER.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    pub(crate) path: PathBuf,
    pub(crate) der: Vec<Vec<u8>>,
}

/// Reads a PEM file of certificates.
///
/// # Errors
/// When it cannot be read or is no such file.
pub(crate) fn certificates(path: &str) -> Result<Certificates, String> {
    // A bundle of all common certificate authorities has about 200 KB.
    const MAX: u64 = 16 << 20;
    let mut pem = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX).read_to_end(&mut pem));
    read.map_err(|error| plain(&error))?;
    let der = transport::certificates_from_pem(&pem).map_err(|error| error.to_string())?;
    Ok(Certificates { path: path.into(), der })
}

/// The environment variables that the runners of GitHub Actions and Azure Pipelines set.
const RUNNERS: [&str; 2] = ["GITHUB_ACTIONS", "TF_BUILD"];

/// The beginnings of commands that these runners take anywhere in a line.
const COMMANDS: [&str; 2] = ["##[", "##vso["];

/// Escapes text for a terminal: control characters (see
/// [`web::is_terminal_control`]) appear as `\u001b`, except for the ends of lines. In a
/// step of GitHub Actions or Azure Pipelines, so does the beginning of a command to the
/// runner. JSON stays the same value.
pub fn printable(text: &str) -> Cow<'_, str> {
    static IS_STEP: LazyLock<bool> =
        LazyLock::new(|| RUNNERS.iter().any(|runner| env::var_os(runner).is_some()));
    escaped(text, *IS_STEP)
}

/// Escapes text for a terminal, and if `has_runner` is true for a runner, too.
fn escaped(text: &str, has_runner: bool) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for command in COMMANDS.iter().filter(|_| has_runner) {
        if text.contains(command) {
            text = text.replace(command, &command.replace('[', "\\u005b")).into();
        }
    }
    let is_terminal_control = |c: char| is_terminal_control(c) && c != '\n';
    // Fast path: nearly all text is plain, and bytes are tested faster.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'));
    if is_plain || !text.contains(is_terminal_control) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 5);
    for c in text.chars() {
        if is_terminal_control(c) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns the name under which this program was started: several programs share this crate.
pub(crate) fn program_name() -> Option<String> {
    let path = env::args_os().next()?;
    let name = Path::new(&path).file_stem()?;
    Some(name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        let ms = |text| duration(text).map(|duration| duration.as_millis());
        assert_eq!(ms("30"), Ok(30_000));
        assert_eq!(ms("30s"), Ok(30_000));
        assert_eq!(ms("500ms"), Ok(500));
        assert_eq!(ms("2m"), Ok(120_000));
        assert_eq!(ms("168h"), Ok(7 * 24 * 3_600_000));
        for bad in ["", "s", "1d", "-1", "1.5", "1 s", "0", "0ms", "169h", "99999999999999999999"] {
            assert!(ms(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        assert_eq!(size("1"), Ok(1));
        assert_eq!(size("64K"), Ok(65_536));
        assert_eq!(size("10m"), Ok(10_485_760));
        assert_eq!(size("1G"), Ok(1 << 30));
        for bad in ["", "M", "0", "0K", "1T", "1KB", "-1", "1.5M", "18446744073709551615K"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_at_least_one() {
        assert_eq!(at_least_one("1"), Ok(1_u32));
        for bad in ["", "0", "-1", "1.0", "one", "4294967296"] {
            assert!(at_least_one::<u32>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn roots_get_the_scheme_they_need() {
        let root = |text| root(text).map(String::from);
        for (text, url) in [
            ("http://example.com", "http://example.com/"),
            (" https://example.com/a?b ", "https://example.com/a?b"),
            ("example.com", "https://example.com/"),
            ("example.com:8080/x", "https://example.com:8080/x"),
            ("example.com/?u=http://other.com", "https://example.com/?u=http://other.com"),
            ("localhost", "http://localhost/"),
            ("localhost:8000", "http://localhost:8000/"),
            ("docs.localhost?q", "http://docs.localhost/?q"),
            ("127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
            ("127.0.0.1:443", "http://127.0.0.1:443/"),
            ("[::1]:80", "http://[::1]/"),
        ] {
            assert_eq!(root(text).as_deref(), Ok(url), "{text}");
        }
    }

    #[test]
    fn bad_roots_are_refused() {
        for bad in [
            "",
            "/",
            "/index.html",
            "//example.com",
            "ftp://example.com/",
            "mailto:somebody@example.com",
            "file:///etc/passwd",
            "http://",
            "two words",
            "http://exa mple.com/",
            "https://me@example.com/",
            "https://me:secret@example.com/",
            ":secret@example.com",
            "example.com:99999",
            "[::1",
        ] {
            assert!(root(bad).is_err(), "{bad}");
        }
        let message = root("two words").unwrap_err();
        assert!(message.starts_with("a URL begins with"), "{message}");
    }

    #[test]
    fn statuses_are_numbers_or_ranges() {
        for (text, range) in [
            ("404", 404..=404),
            ("500..=503", 500..=503),
            ("500..504", 500..=503),
            ("400..600", 400..=599),
            ("999", 999..=999),
        ] {
            assert_eq!(statuses(text), Ok(range), "{text}");
        }
        for bad in
            ["", "x", "99", "1000", "65535", "404..404", "404..=403", "404..", "..404", "400-404"]
        {
            assert!(statuses(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn credentials_are_a_name_and_a_password() {
        // The example of RFC 7617, section 2.
        let header = Header::parse("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap();
        assert_eq!(credentials("Aladdin:open sesame"), Ok(header));
        for bad in ["", "Aladdin", "a\n:b"] {
            assert!(credentials(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn query_keys_have_no_separators() {
        for key in ["sid", "*", "utm source", "a[]", "é"] {
            assert_eq!(query_key(key).as_deref(), Ok(key));
        }
        for bad in ["", "a=b", "a&b", "#"] {
            assert!(query_key(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_user_agent_is_one_line_of_text() {
        assert_eq!(
            user_agent("me/1.0 (+http://me.test)").as_deref(),
            Ok("me/1.0 (+http://me.test)")
        );
        for bad in ["", "a\r\nHost: b", "a\u{7}"] {
            assert!(user_agent(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text: String) {
            let _ = (duration(&text), size(&text));
            if let Ok(url) = root(&text) {
                prop_assert!(matches!(url.scheme(), "http" | "https"));
                prop_assert_eq!(root(url.as_str()), Ok(url.clone()), "a root stays what it is");
            }
        }

        #[test]
        fn printable_text_has_no_control_characters(text: String) {
            let shown = printable(&text);
            prop_assert!(!shown.contains(|c: char| is_terminal_control(c) && c != '\n'));
        }

        #[test]
        fn json_means_the_same_to_a_runner(text in "([#\\[\\]\\\\\"a]|##vso){0,20}") {
            let json = serde_json::to_string(&text).unwrap();
            let shown = escaped(&json, true);
            prop_assert!(!COMMANDS.iter().any(|command| shown.contains(command)), "{}", shown);
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }

        #[test]
        fn json_means_the_same_when_printable(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            let shown: String = serde_json::from_str(&printable(&json)).unwrap();
            prop_assert_eq!(shown, text);
        }
    }

    #[test]
    fn control_characters_are_escaped_and_line_ends_kept() {
        assert_eq!(printable("plain\ntext: é\n"), "plain\ntext: é\n");
        assert_eq!(printable("\u{1b}[2J\u{9b}\r\n"), "\\u001b[2J\\u009b\\u000d\n");
        assert_eq!(printable("a\u{202e}b\u{2066}c\u{200f}"), "a\\u202eb\\u2066c\\u200f");
        assert_eq!(printable("evil\u{202e}gpj.exe"), "evil\\u202egpj.exe");
        assert_eq!(escaped("a ##[group]b\u{1b}", true), "a ##\\u005bgroup]b\\u001b");
        assert_eq!(escaped("a ##vso[task.complete]b", true), "a ##vso\\u005btask.complete]b");
        assert_eq!(escaped("a ##[group]b", false), "a ##[group]b");
    }
}
