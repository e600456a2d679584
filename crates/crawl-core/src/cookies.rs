//! The cookies of a crawl.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cookie_store::{Cookie, CookieDomain, CookieExpiration, RawCookie};
use url::Url;

use web::Address;
use web::http::Header;

use crate::network::is_loopback;
use crate::{cookie_date, public_suffix};

/// The maximum length of the name and the value of a cookie, in bytes (RFC 6265, section
/// 6.1), and that of its path.
const MAX_COOKIE_LEN: usize = 4096;
const MAX_PATH_LEN: usize = 1024;

/// The maximum length of an attribute of a cookie, in bytes (RFC 6265bis, section 5.6).
const MAX_ATTRIBUTE_LEN: usize = 1024;

/// The last second of the year 9999. Later ones are no time for the library.
const MAX_TIME: i64 = 253_402_300_799;

/// The maximum number of cookies in all, and that of one domain, which browsers have,
/// too. In all, a further one takes the place of the one that was set or sent the longest ago;
/// those of a domain that are too many are not kept.
const MAX_COOKIES: usize = 3_000;
const MAX_COOKIES_OF_DOMAIN: usize = 180;

/// The maximum length of the header `Cookie`, in bytes: servers refuse long heads.
const MAX_HEADER_LEN: usize = 8 * 1024;

/// A cookie jar, which all fetches of a crawl share. Its clones are the same jar.
///
/// Each cookie is sent where RFC 6265 says, and to no public suffix. The values may be
/// secrets, so [`fmt::Debug`] does not show them.
#[derive(Clone, Default)]
pub struct CookieJar(Arc<Jar>);

#[derive(Default)]
struct Jar {
    /// True once there is a cookie. Most crawls never see one.
    has_cookies: AtomicBool,
    /// The cookies. The library's own store goes by the clock of this machine.
    cookies: Mutex<Cookies>,
    /// The first moment that was asked for, by the clock of the crawl and as a time of day.
    begun: OnceLock<(Instant, SystemTime)>,
}

/// The domain, the path and the name of a cookie.
type Key = (String, String, String);

#[derive(Default)]
struct Cookies {
    all: BTreeMap<Key, Kept>,
    /// The number of uses: some were set, read from a file, or sent.
    num_uses: u64,
}

struct Kept {
    cookie: Cookie<'static>,
    /// The number of its last use: that with the lowest one goes first.
    number: u64,
}

impl fmt::Debug for CookieJar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieJar")
    }
}

impl CookieJar {
    fn cookies(&self) -> MutexGuard<'_, Cookies> {
        // A panic leaves them usable.
        self.0.cookies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time of day at a moment. It is that of the clock of the crawl, which in a
    /// replay is not the clock of this machine.
    fn time_at(&self, now: Instant) -> SystemTime {
        let (begun, time) = self.0.begun.get_or_init(|| (now, SystemTime::now()));
        time.checked_add(now.saturating_duration_since(*begun)).unwrap_or(*time)
    }

    /// Stores the cookie in a header `Set-Cookie` of the response from `url`, which came
    /// `now`; its header `Date` has the value `date`. Returns true if there is a cookie now
    /// that is sent from now on.
    pub(crate) fn add(&self, url: &Url, value: &[u8], date: Option<&[u8]>, now: Instant) -> bool {
        let Ok(value) = std::str::from_utf8(value) else { return false };
        // As in browsers, an attribute that is too long does not count, and the cookie does.
        let mut parts = value.split(';');
        let pair = parts.next().into_iter();
        let attributes = parts.filter(|part| part.len() <= MAX_ATTRIBUTE_LEN);
        let value = pair.chain(attributes.clone()).collect::<Vec<_>>().join(";");
        let Ok(raw) = RawCookie::parse(value) else { return false };
        let now = self.time_at(now);
        // The clock of the server counts, not that of this machine.
        let date = date.and_then(seconds_of).unwrap_or_else(|| seconds(now));
        let until = attributes.rev().find_map(expires).map(|at| at.saturating_sub(date));
        let lifetime = raw.max_age().map(|age| age.whole_seconds()).or(until);
        let expires = lifetime.map(|lifetime| match lifetime {
            ..=0 => 0,
            _ => seconds(now).saturating_add(lifetime),
        });
        self.insert(url, &raw, expires, now, false).is_ok()
    }

    /// Stores a cookie that expires so many seconds after 1970, or with the session. For one
    /// of a file, no other goes.
    ///
    /// # Errors
    /// When there is no cookie that is sent from now on: the reason.
    fn insert(
        &self,
        url: &Url,
        raw: &RawCookie<'_>,
        expires: Option<i64>,
        now: SystemTime,
        is_of_file: bool,
    ) -> Result<(), &'static str> {
        const NOWHERE: &str = "no host would ever get it";
        if raw.name().len() + raw.value().len() > MAX_COOKIE_LEN {
            return Err("it has more than 4,096 bytes");
        }
        let mut cookie = Cookie::try_from_raw_cookie(raw, url).map_err(|_| NOWHERE)?;
        if let CookieDomain::Suffix(domain) = &cookie.domain
            && public_suffix::domain_str(domain.trim_matches('.')).is_none()
        {
            // RFC 6265, section 5.3: what is a suffix and a host keeps its cookies to itself.
            if Some(domain.trim_matches('.')) != url.host_str() {
                return Err(NOWHERE);
            }
            cookie.domain = CookieDomain::host_only(url).map_err(|_| NOWHERE)?;
        }
        let path = String::from(&cookie.path);
        if path.len() > MAX_PATH_LEN {
            return Err("its path has more than 1,024 bytes");
        }
        let is_secure = raw.secure() == Some(true);
        if !is_trustworthy(url) && is_secure {
            return Err("only https may set it");
        }
        let has_prefix = |prefix: &str| {
            raw.name().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        let is_of_host = raw.domain().is_none() && path == "/";
        if (has_prefix("__Secure-") && !is_secure)
            || (has_prefix("__Host-") && !(is_secure && is_of_host))
        {
            return Err("it is not what its name promises");
        }
        if [raw.name(), raw.value(), &path].iter().any(|text| text.contains(char::is_control)) {
            return Err("it has control characters");
        }
        cookie.expires = expires.map_or(CookieExpiration::SessionEnd, |expires| {
            let expires = expires.clamp(0, MAX_TIME).unsigned_abs();
            CookieExpiration::AtUtc((UNIX_EPOCH + Duration::from_secs(expires)).into())
        });
        let key = (String::from(&cookie.domain), path, raw.name().to_owned());
        let mut cookies = self.cookies();
        if cookie.expires_by(&now.into()) {
            cookies.all.remove(&key);
            return Err("it has expired");
        }
        if !is_trustworthy(url) && cookies.hides_secure_one(&cookie, url) {
            return Err("a cookie of https has its name");
        }
        if !cookies.all.contains_key(&key) && !cookies.make_room(&key.0, now, is_of_file) {
            return Err("its domain has more than 180 cookies, or all domains more than 3,000");
        }
        cookies.num_uses += 1;
        let number = cookies.num_uses;
        cookies.all.insert(key, Kept { cookie: cookie.into_owned(), number });
        self.0.has_cookies.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the header with the cookies for a request that is made `now`, if there are
    /// any.
    pub(crate) fn header(&self, url: Address<'_>, now: Instant) -> Option<Header> {
        if !self.0.has_cookies.load(Ordering::Relaxed) {
            return None;
        }
        let url = Url::parse(url.as_str()).ok()?;
        let now = self.time_at(now).into();
        let mut cookies = self.cookies();
        let Cookies { all, num_uses } = &mut *cookies;
        *num_uses += 1;
        let is_sent = |cookie: &Cookie<'_>| cookie.matches(&url) && !cookie.expires_by(&now);
        let mut sent: Vec<_> = all.iter_mut().filter(|(_, kept)| is_sent(&kept.cookie)).collect();
        // RFC 6265, section 5.4: longer paths first. Names and domains make the order the
        // same always.
        sent.sort_by_key(|((domain, path, name), _)| (Reverse(path.len()), name, domain));
        let mut line = String::new();
        for (_, Kept { cookie, number }) in sent {
            let pair = format!("{}={}", cookie.name(), cookie.value());
            if line.len() + "; ".len() + pair.len() <= MAX_HEADER_LEN {
                line += if line.is_empty() { "" } else { "; " };
                line += &pair;
                *number = *num_uses;
            }
        }
        Header::cookie(&line)
    }

    /// Adds the cookies of a file in the format of Netscape, which curl, wget and browsers
    /// write: seven fields with tabs between them. Cookies that have expired are left out.
    ///
    /// # Errors
    /// When a line is no cookie, or one that is not kept: what is wrong, with its number.
    pub fn read_netscape(&self, text: &str) -> Result<(), String> {
        let now = SystemTime::now();
        for (n, line) in (1..).zip(text.lines()) {
            let (line, is_http_only) = match line.strip_prefix("#HttpOnly_") {
                Some(line) => (line, true),
                None => (line, false),
            };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: &str| format!("line {n} is not a usable cookie: {what}");
            let fields: Vec<&str> = line.trim_end_matches('\r').split('\t').collect();
            let [domain, subdomains, path, secure, expires, name, value] = fields[..] else {
                return Err(wrong("it does not have seven fields with tabs between them"));
            };
            let expires: i64 =
                expires.parse().map_err(|_| wrong("the fifth field is not a time"))?;
            if expires != 0 && expires <= seconds(now) {
                continue;
            }
            let host = domain.trim_start_matches('.');
            let url = Url::parse(&format!("https://{host}/"));
            let url = url.map_err(|_| wrong("the first field is not a host"))?;
            let mut raw = RawCookie::build((name, value)).path(path);
            if subdomains.eq_ignore_ascii_case("TRUE") && url.domain().is_some() {
                raw = raw.domain(host);
            }
            let is_secure = secure.eq_ignore_ascii_case("TRUE");
            let raw = raw.secure(is_secure).http_only(is_http_only).build();
            let expires = Some(expires).filter(|expires| *expires != 0);
            self.insert(&url, &raw, expires, now, true).map_err(wrong)?;
        }
        Ok(())
    }

    /// Returns the cookies in the format of Netscape, in the order of their lines; the
    /// time of those that end with the session is 0.
    pub fn to_netscape(&self) -> String {
        let (cookies, now) = (self.cookies(), SystemTime::now().into());
        let all = cookies.all.values().map(|kept| &kept.cookie);
        let unexpired = all.filter(|cookie| !cookie.expires_by(&now));
        let mut lines: Vec<String> = unexpired.filter_map(line).collect();
        lines.sort();
        let mut text = "# Netscape HTTP Cookie File\n".to_owned();
        for line in lines {
            // Writing to a string never fails.
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// Returns the line of a cookie in the format of Netscape.
fn line(cookie: &Cookie<'_>) -> Option<String> {
    let flag = |is_set: bool| if is_set { "TRUE" } else { "FALSE" };
    let (domain, subdomains) = match &cookie.domain {
        CookieDomain::Suffix(domain) => (format!(".{domain}"), true),
        CookieDomain::HostOnly(host) => (host.clone(), false),
        CookieDomain::NotPresent | CookieDomain::Empty => return None,
    };
    let prefix = if cookie.http_only() == Some(true) { "#HttpOnly_" } else { "" };
    let expires = match &cookie.expires {
        CookieExpiration::AtUtc(time) => time.unix_timestamp(),
        CookieExpiration::SessionEnd => 0,
    };
    let path = String::from(&cookie.path);
    let (subdomains, secure) = (flag(subdomains), flag(cookie.secure() == Some(true)));
    let (name, value) = (cookie.name(), cookie.value());
    Some(format!("{prefix}{domain}\t{subdomains}\t{path}\t{secure}\t{expires}\t{name}\t{value}"))
}

/// Returns the time of an attribute `Expires`.
fn expires(attribute: &str) -> Option<i64> {
    let (name, value) = attribute.split_once('=')?;
    name.trim().eq_ignore_ascii_case("expires").then(|| cookie_date::parse(value.as_bytes()))?
}

/// Returns true if nobody on the way to the server can read or change what it sends.
fn is_trustworthy(url: &Url) -> bool {
    url.scheme() == "https" || url.host_str().is_some_and(is_loopback)
}

impl Cookies {
    /// Returns true if a cookie of plain http would take the place of one that only https may
    /// set, or would be sent beside it (RFC 6265bis, section 5.7).
    fn hides_secure_one(&self, cookie: &Cookie<'_>, url: &Url) -> bool {
        let path = String::from(&cookie.path);
        let is_within = |other: &str| {
            let rest = path.strip_prefix(other);
            rest.is_some_and(|rest| {
                rest.is_empty() || other.ends_with('/') || rest.starts_with('/')
            })
        };
        self.all.iter().any(|((_, other_path, name), Kept { cookie: other, .. })| {
            other.secure() == Some(true)
                && name == cookie.name()
                && other.domain.matches(url)
                && is_within(other_path)
        })
    }

    /// Makes room for another cookie of a domain, if there is none: those that have expired
    /// go, and then the one whose last use is the oldest. Returns false if there are too many
    /// of the domain, or in all for one of a file.
    fn make_room(&mut self, domain: &str, now: SystemTime, is_of_file: bool) -> bool {
        let is_full = |all: &BTreeMap<Key, Kept>| {
            let of_domain = all.keys().filter(|(other, ..)| other == domain).count();
            (of_domain >= MAX_COOKIES_OF_DOMAIN, all.len() >= MAX_COOKIES)
        };
        if is_full(&self.all) == (false, false) {
            return true;
        }
        let now = now.into();
        self.all.retain(|_, kept| !kept.cookie.expires_by(&now));
        match is_full(&self.all) {
            (false, true) if !is_of_file => {
                let oldest = self.all.iter().min_by_key(|(_, kept)| kept.number);
                let oldest = oldest.map(|(key, _)| key.clone());
                oldest.is_some_and(|key| self.all.remove(&key).is_some())
            }
            full => full == (false, false),
        }
    }
}

/// Returns the time of a header `Date`, in seconds since 1970.
fn seconds_of(date: &[u8]) -> Option<i64> {
    httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok().map(seconds)
}

fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(jar: &CookieJar, url: &str) -> String {
        let url = Url::parse(url).unwrap();
        let header = jar.header(Address::of(&url).unwrap(), Instant::now());
        header.map(|header| header.line()).unwrap_or_default()
    }

    fn set(jar: &CookieJar, url: &str, value: &str) -> bool {
        let date = Some(&b"Sun, 22 Nov 2026 00:00:00 GMT"[..]);
        jar.add(&Url::parse(url).unwrap(), value.as_bytes(), date, Instant::now())
    }

    #[test]
    fn cookies_are_sent_where_they_belong() {
        let jar = CookieJar::default();
        assert_eq!(sent(&jar, "http://a.test/"), "");
        assert!(set(&jar, "http://a.test/dir/page", "one=1"));
        assert!(set(&jar, "http://a.test/", "two=2; Path=/"));
        assert!(set(&jar, "https://a.test/", "three=3; Secure; Path=/dir/sub"));
        assert!(set(&jar, "http://www.b.test/", "four=4; Domain=B.Test; Path=/"));
        assert_eq!(sent(&jar, "http://a.test/dir/x"), "Cookie: one=1; two=2");
        assert_eq!(sent(&jar, "http://a.test/"), "Cookie: two=2");
        assert_eq!(sent(&jar, "http://a.test:81/"), "Cookie: two=2", "ports do not count");
        assert_eq!(sent(&jar, "https://a.test/dir/sub"), "Cookie: three=3; one=1; two=2");
        assert_eq!(sent(&jar, "http://x.b.test/"), "Cookie: four=4");
        assert_eq!(sent(&jar, "http://www.a.test/"), "");
        assert!(set(&jar, "http://a.test/", "two=new; Path=/"));
        assert_eq!(sent(&jar, "http://a.test/"), "Cookie: two=new");
        assert!(!set(&jar, "http://a.test/", "two=; Max-Age=0; Path=/"));
        assert_eq!(sent(&jar, "http://a.test/"), "");
    }

    #[test]
    fn cookies_that_belong_nowhere_are_not_kept() {
        let jar = CookieJar::default();
        for value in [
            "x=1; Domain=test",
            "x=1; Domain=other.test",
            "x=1; Expires=Sat, 21 Nov 2026 00:00:00 GMT",
            "no cookie",
            "",
        ] {
            assert!(!set(&jar, "http://a.test/", value), "{value}");
        }
        for value in ["x=1; Domain=co.uk", "x=1; Domain=.CO.UK", "x=1; Domain=\u{ff43}o.uk"] {
            assert!(!set(&jar, "http://shop.co.uk/", value), "{value}");
            // A host that is a public suffix itself keeps them, for itself alone.
            assert!(set(&jar, "http://co.uk/", value), "{value}");
            assert_eq!(sent(&jar, "http://co.uk/"), "Cookie: x=1");
            assert_eq!(sent(&jar, "http://shop.co.uk/"), "");
        }
        assert!(!set(&jar, "http://a.test/", &format!("x={}", "1".repeat(5_000))));
        // The date of the response is the present.
        assert!(set(&jar, "http://a.test/", "x=1; Expires=Sun, 22 Nov 2026 00:01:00 GMT"));
        for n in 0..200 {
            set(&jar, "http://many.test/", &format!("{n}=1"));
        }
        assert_eq!(sent(&jar, "http://many.test/").matches('=').count(), MAX_COOKIES_OF_DOMAIN);
        for n in 0..100 {
            set(&jar, "http://long.test/", &format!("{n}={}", "x".repeat(1_000)));
        }
        assert!(sent(&jar, "http://long.test/").len() <= MAX_HEADER_LEN);
    }

    /// Else a site that wants its own back would redirect for ever.
    #[test]
    fn a_full_jar_lets_the_oldest_cookie_go() {
        let jar = CookieJar::default();
        for n in 0..MAX_COOKIES {
            assert!(set(&jar, &format!("http://{}.test/", n / 2), &format!("x{}=1", n % 2)));
        }
        // That it is set again makes it a new one.
        assert!(set(&jar, "http://0.test/", "x0=2"));
        assert!(set(&jar, "http://new.test/", "sid=1"));
        assert_eq!(sent(&jar, "http://new.test/"), "Cookie: sid=1");
        assert_eq!(sent(&jar, "http://0.test/"), "Cookie: x0=2");
        assert_eq!(sent(&jar, "http://1.test/"), "Cookie: x0=1; x1=1");
        // The oldest one has gone.
        assert!(set(&jar, "http://another.test/", "sid=1"));
        assert_eq!(sent(&jar, "http://0.test/"), "Cookie: x0=2");
        assert_eq!(jar.cookies().all.len(), MAX_COOKIES);
        // Those of a file are all kept, or there is an error.
        let jar = CookieJar::default();
        let error = jar.read_netscape(&file_of(MAX_COOKIES + 1)).unwrap_err();
        assert!(error.contains("line 3001"), "{error}");
    }

    /// Returns a file with so many cookies, a hundred for each host.
    fn file_of(len: usize) -> String {
        let line = |n| format!("{}.test\tFALSE\t/\tFALSE\t0\t{}\t1\n", n / 100, n % 100);
        (0..len).map(line).collect()
    }

    /// Other hosts must not end the session of a site that is asked all the time.
    #[test]
    fn a_cookie_that_is_sent_stays_in_a_full_jar() {
        let jar = CookieJar::default();
        assert!(set(&jar, "http://site.test/", "session=1"));
        for n in 0..2 * MAX_COOKIES {
            if n % 500 == 0 {
                assert_eq!(sent(&jar, "http://site.test/"), "Cookie: session=1", "{n}");
            }
            assert!(set(&jar, &format!("http://{n}.test/"), "x=1"));
        }
        assert_eq!(sent(&jar, "http://0.test/"), "");
    }

    /// Else of two sites that want their own back each would end the session of the other.
    #[test]
    fn two_new_cookies_stay_beside_a_full_file() {
        let jar = CookieJar::default();
        jar.read_netscape(&file_of(MAX_COOKIES)).unwrap();
        for host in ["one", "two"] {
            assert!(set(&jar, &format!("http://{host}.test/"), "sid=1"));
        }
        for host in ["one", "two"] {
            assert_eq!(sent(&jar, &format!("http://{host}.test/")), "Cookie: sid=1");
        }
        assert_eq!(jar.cookies().all.len(), MAX_COOKIES);
    }

    #[test]
    fn a_file_of_curl_is_read_and_written() {
        let far = 4_000_000_000_u32;
        let text = format!(
            "# Netscape HTTP Cookie File\n\n#HttpOnly_.b.test\tTRUE\t/\tTRUE\t{far}\tsid\tabc\n\
             127.0.0.1\tFALSE\t/dir\tFALSE\t0\tone\t\r\nold.test\tFALSE\t/\tFALSE\t1\tx\ty\n"
        );
        let jar = CookieJar::default();
        jar.read_netscape(&text).unwrap();
        assert_eq!(sent(&jar, "https://x.b.test/"), "Cookie: sid=abc");
        assert_eq!(sent(&jar, "http://x.b.test/"), "");
        assert_eq!(sent(&jar, "http://127.0.0.1/dir/"), "Cookie: one=");
        let written = jar.to_netscape();
        let other = CookieJar::default();
        other.read_netscape(&written).unwrap();
        assert_eq!(other.to_netscape().lines().count(), 3, "{written}");
        assert_eq!(sent(&other, "https://x.b.test/"), "Cookie: sid=abc");
        for wrong in ["a.test TRUE / FALSE 0 x y", "a.test\tTRUE\t/\tFALSE\tsoon\tx\ty"] {
            assert!(CookieJar::default().read_netscape(wrong).unwrap_err().contains("line 1"));
        }
        let many: String =
            (0..=180).map(|n| format!("a.test\tTRUE\t/\tFALSE\t0\t{n}\t1\n")).collect();
        let error = CookieJar::default().read_netscape(&many).unwrap_err();
        assert!(error.contains("line 181") && error.contains("more than 180"), "{error}");
    }

    #[test]
    fn a_cookie_beyond_ascii_is_sent_as_it_came() {
        let jar = CookieJar::default();
        assert!(set(&jar, "http://a.test/", "city=Z\u{fc}rich"));
        assert!(set(&jar, "http://a.test/", "sid=1"));
        assert_eq!(sent(&jar, "http://a.test/"), "Cookie: city=Z\u{fc}rich; sid=1");
    }

    #[test]
    fn a_cookie_is_deleted_by_a_date_of_any_form() {
        for date in ["Thursday, 01-Jan-1970 00:00:00 GMT", "Thu, 1 Jan 1970 00:00:00 UTC"] {
            let jar = CookieJar::default();
            assert!(set(&jar, "http://a.test/", "s=1"));
            assert!(!set(&jar, "http://a.test/", &format!("s=x; Expires={date}")), "{date}");
            assert_eq!(sent(&jar, "http://a.test/"), "");
        }
        // The last date that is one counts.
        let jar = CookieJar::default();
        let value = "s=1; Expires=Thu, 1 Jan 1970 0:0:0; expires=1 Jan 2100 0:0:0; Expires=soon";
        assert!(set(&jar, "http://a.test/", value));
    }

    #[test]
    fn only_https_sets_secure_cookies_and_those_that_promise_it() {
        let jar = CookieJar::default();
        for value in ["a=1; Secure", "__Secure-a=1", "__secure-a=1; Secure", "__Host-a=1; Secure"] {
            assert!(!set(&jar, "http://a.test/", value), "{value}");
        }
        for value in ["__Secure-a=1", "__Host-a=1; Path=/", "__Host-a=1; Secure; Path=/x"] {
            assert!(!set(&jar, "https://a.test/", value), "{value}");
        }
        let of_domain = "__Host-a=1; Secure; Path=/; Domain=a.test";
        assert!(!set(&jar, "https://a.test/", of_domain));
        assert!(set(&jar, "https://a.test/", "__Host-a=1; Secure; Path=/"));
        assert!(set(&jar, "https://a.test/", "__Secure-a=1; Secure"));
        assert!(set(&jar, "http://localhost/", "a=1; Secure"));

        // A page of http cannot put its own in the place of a secure one.
        assert!(set(&jar, "https://a.test/", "sid=1; Secure; Path=/login"));
        assert!(!set(&jar, "http://a.test/", "sid=2; Path=/login/x"));
        assert!(set(&jar, "http://a.test/", "sid=3; Path=/"));
        let sent = sent(&jar, "https://a.test/login");
        assert!(sent.starts_with("Cookie: sid=1; ") && sent.ends_with("; sid=3"), "{sent}");
    }

    #[test]
    fn an_attribute_that_is_too_long_does_not_count() {
        let jar = CookieJar::default();
        let long = "x".repeat(MAX_ATTRIBUTE_LEN);
        assert!(set(&jar, "http://a.test/", &format!("a=1; Path=/{long}; Domain={long}.test")));
        assert_eq!(sent(&jar, "http://a.test/"), "Cookie: a=1");
    }

    /// A server must not be able to make the file one that cannot be read.
    #[test]
    fn whatever_a_server_sets_is_read_again() {
        let jar = CookieJar::default();
        let long = format!("long={}", "x".repeat(MAX_COOKIE_LEN - 4));
        for value in [
            "tab=b\tc",
            "folded=b\r\n c; Max-Age=9999",
            "path=1; Path=/a\tb",
            "far=1; Max-Age=99999999999999",
            "old=1; Max-Age=-99999999999999",
            "d=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
            "u=Z\u{fc}rich",
            &long,
        ] {
            set(&jar, "http://a.test/x;y=1/z", value);
        }
        let text = jar.to_netscape();
        let again = CookieJar::default();
        again.read_netscape(&text).unwrap();
        assert_eq!(again.to_netscape(), text);
        assert_eq!(text.lines().count(), 1 + 4, "{text}");
        assert_eq!(sent(&again, "http://a.test/x"), "", "its path is longer");
    }

    #[test]
    fn cookies_expire_by_the_clock_of_the_crawl() {
        let (jar, begun) = (CookieJar::default(), Instant::now());
        let url = Url::parse("http://a.test/").unwrap();
        let sent_after = |seconds| {
            let now = begun + Duration::from_secs(seconds);
            jar.header(Address::of(&url).unwrap(), now).map(|header| header.line())
        };
        let add = |value: &[u8], seconds| {
            jar.add(&url, value, None, begun + Duration::from_secs(seconds))
        };
        assert!(add(b"a=1; Max-Age=60", 0));
        assert_eq!(sent_after(59).as_deref(), Some("Cookie: a=1"));
        assert_eq!(sent_after(61), None);
        // The clock of this machine may be ahead of that of the crawl, as in a slow replay.
        let slow = CookieJar::default();
        slow.0.begun.set((begun, SystemTime::now() - Duration::from_secs(60))).unwrap();
        assert!(slow.add(&url, b"a=1; Max-Age=5", None, begun));
        assert!(slow.header(Address::of(&url).unwrap(), begun).is_some());
        // Those that have expired make room for others.
        for n in 0..1_000 {
            assert!(add(format!("{n}=1; Max-Age=1").as_bytes(), 100 + 2 * (n / 100)), "{n}");
        }
    }

    #[test]
    fn cookies_of_one_name_are_sent_in_one_order() {
        for _ in 0..20 {
            let jar = CookieJar::default();
            for domain in ["", "; Domain=www.a.test", "; Domain=a.test"] {
                assert!(set(&jar, "http://www.a.test/", &format!("x={}{domain}", domain.len())));
            }
            assert_eq!(sent(&jar, "http://www.a.test/"), "Cookie: x=15; x=19");
        }
    }
}
