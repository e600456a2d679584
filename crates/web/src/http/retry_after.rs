//! The header `Retry-After` (RFC 9110 section 10.2.3).

use std::time::{Duration, SystemTime};

/// Returns the pause that `Retry-After` asks for, given as seconds or as a date.
/// `None` if the value is neither, or if the pause is zero.
///
/// A date is one of the server's clock, which the header `Date` tells: `now`. This
/// machine's clock counts only if there is none. So a replay of a crawl at another time
/// waits as long.
pub fn retry_after(value: &[u8], now: Option<&[u8]>) -> Option<Duration> {
    let value = str::from_utf8(value).ok()?.trim();
    let date = |value| httpdate::parse_http_date(value).ok();
    let pause = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit counts as the largest one.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let now = now.and_then(|now| date(str::from_utf8(now).ok()?.trim()));
        date(value)?.duration_since(now.unwrap_or_else(SystemTime::now)).ok()?
    };
    Some(pause).filter(|pause| !pause.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let now = Some(&b"Sun, 06 Nov 1994 08:49:37 GMT"[..]);
        let seconds = |value: &str| retry_after(value.as_bytes(), now).map(|pause| pause.as_secs());
        assert_eq!(seconds("1"), Some(1));
        assert_eq!(seconds(" 120 "), Some(120));
        assert_eq!(seconds("99999999999999999999999"), Some(u64::MAX));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:39 GMT"), Some(2));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:40 GMT"), Some(3));
        assert_eq!(seconds("Sun Nov  6 08:49:41 1994"), Some(4));
        for none in ["", "0", "-1", "1.5", "+3", "soon", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert_eq!(seconds(none), None, "{none}");
        }
        assert_eq!(retry_after(b"\xff", now), None);
        // Without a clock of the server, that of this machine counts.
        for no_date in [None, Some(&b"now"[..])] {
            assert_eq!(retry_after(b"Sun, 06 Nov 1994 08:49:39 GMT", no_date), None);
            let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
            let pause = retry_after(later.as_bytes(), no_date).unwrap();
            assert!((90..=100).contains(&pause.as_secs()), "{pause:?}");
        }
    }
}
