//! The header `Retry-After` (RFC 9110 section 10.2.3).

use std::time::{Duration, SystemTime};

/// Returns the pause that `Retry-After` asks for, given as seconds or as a date.
/// `None` if the value is neither, or if the pause is zero.
pub fn retry_after(value: &[u8], now: SystemTime) -> Option<Duration> {
    let value = str::from_utf8(value).ok()?.trim();
    let pause = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit counts as the largest one.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        httpdate::parse_http_date(value).ok()?.duration_since(now).ok()?
    };
    Some(pause).filter(|pause| !pause.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
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
    }
}
