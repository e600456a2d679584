//! The date of a report, in the form that each format wants.

use std::time::SystemTime;

/// Returns a time as HTTP writes it (RFC 9110, section 5.6.7).
pub(super) fn http(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}

/// Returns a time as ISO 8601 writes it, in UTC and without the zone: `2026-11-29T03:35:43`.
pub(super) fn iso(time: SystemTime) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // "Sun, 29 Nov 2026 03:35:43 GMT"
    let http = http(time);
    let words: Vec<&str> = http.split(' ').collect();
    let [_, day, month, year, clock, _] = words[..] else { return http };
    let month = MONTHS.iter().position(|name| *name == month).unwrap_or_default() + 1;
    format!("{year}-{month:02}-{day}T{clock}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_date_of_a_report_is_iso_8601() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_924_543);
        assert_eq!(iso(time), "2026-11-29T03:55:43");
        assert_eq!(http(time), "Sun, 29 Nov 2026 03:55:43 GMT");
    }
}
