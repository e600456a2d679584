//! The date of a cookie, as browsers read it.

/// Parses the value of the attribute `Expires`: the seconds since 1970. By the algorithm of
/// RFC 6265, section 5.1.1, which knows no formats: it looks for a time, a day, a month and a
/// year, in any order and with almost anything between them.
pub(crate) fn parse(text: &[u8]) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| is_delimiter(*byte)).filter(|token| !token.is_empty()) {
        if time.is_none() && set(&mut time, time_of(token)) {
            continue;
        }
        if day.is_none() && set(&mut day, number(token, 1, 2)) {
            continue;
        }
        if month.is_none() && set(&mut month, month_of(token)) {
            continue;
        }
        if year.is_none() {
            set(&mut year, number(token, 2, 4));
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let (day, month, [hour, minute, second]) = (day?, month?, time?);
    let exists = year >= 1601 && (1..=days_of(month, year)).contains(&day);
    let is_time = hour <= 23 && minute <= 59 && second <= 59;
    (exists && is_time)
        .then(|| days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Keeps what was found. Returns true if something was.
fn set<T>(slot: &mut Option<T>, found: Option<T>) -> bool {
    *slot = found;
    slot.is_some()
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'/' | b';'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

/// Returns the number that a token begins with, if it has so many digits and no more.
fn number(token: &[u8], min: usize, max: usize) -> Option<i64> {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(min..=max).contains(&digits) {
        return None;
    }
    Some(token[..digits].iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
}

fn time_of(token: &[u8]) -> Option<[i64; 3]> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    // Between the colons there are digits alone; something else may follow the seconds.
    let whole = |part: &[u8]| number(part, 1, 2).filter(|_| part.len() <= 2);
    Some([whole(hour)?, whole(minute)?, number(second, 1, 2)?])
}

fn month_of(token: &[u8]) -> Option<i64> {
    const NAMES: [&[u8; 3]; 12] = [
        b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
        b"dec",
    ];
    let name = token.get(..3)?;
    (1..).zip(NAMES).find(|(_, it)| name.eq_ignore_ascii_case(*it)).map(|(month, _)| month)
}

fn days_of(month: i64, year: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the number of days from 1 January 1970 to a day of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // A year that begins in March has its leap day at its end.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn dates_of_every_form_are_read() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 1 Jan 1970 00:00:00", 0),
            ("Thursday, 01-Jan-70 00:00:00 GMT", 0),
            ("Thu Jan  1 00:00:00 1970", 0),
            ("Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)", 0),
            ("Thu,01 JANUARY 1970 0:0:0 UTC", 0),
            ("01 Jan 1970 00:00:01abc", 1),
            ("1970 jan 1 00:01:00", 60),
            ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
            ("29 Feb 2024 12:00:00", 1_709_208_000),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in [
            "",
            "soon",
            "Thu, 01 Jan 1970",
            "Thu, 00 Jan 1970 00:00:00 GMT",
            "Thu, 32 Jan 1970 00:00:00 GMT",
            "29 Feb 2023 12:00:00",
            "01 Jan 1600 00:00:00",
            "01 Jan 12345 00:00:00",
            "01 Jan 1970 24:00:00",
            "01 Jan 1970 00:60:00",
            "01 Jan 1970 000:00:00",
            "01 Foo 1970 00:00:00",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    /// A witness: the formatter of the crate `httpdate`.
    #[test]
    fn every_day_of_four_centuries_is_read_as_another_library_writes_it() {
        for day in 0..146_097 {
            let seconds = day * 86_400 + day % 86_400;
            let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(parse(text.as_bytes()), i64::try_from(seconds).ok(), "{text}");
        }
    }
}
