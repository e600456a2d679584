//! Parsers for times and sizes on the command line.

use std::time::Duration;

use demo_site::SiteOptions;

/// Parses a time: `30` and `30s` are thirty seconds, `500ms` is half a second.
pub(crate) fn delay(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let seconds_in_unit = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        _ => return Err("a time is written 30, 30s or 500ms".to_owned()),
    };
    let number: f64 =
        number.parse().map_err(|_| "a time is written 30, 30s or 500ms".to_owned())?;
    let delay = Duration::try_from_secs_f64(number * seconds_in_unit);
    match delay {
        Ok(delay) if delay <= SiteOptions::MAX_LATENCY => Ok(delay),
        _ => Err(format!("it is at most {:?}", SiteOptions::MAX_LATENCY)),
    }
}

/// Parses a size: `8000` is in bytes; the units `K`, `M` and `G` are powers of
/// 1024.
pub(crate) fn page_size(text: &str) -> Result<usize, String> {
    let (number, unit) = split(text);
    let bytes_in_unit = match unit {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        _ => return Err("a size is written 8000, 8K or 10M".to_owned()),
    };
    let number: usize =
        number.parse().map_err(|_| "a size is written 8000, 8K or 10M".to_owned())?;
    match number.checked_mul(bytes_in_unit) {
        Some(size) if size <= SiteOptions::MAX_PAGE_SIZE => Ok(size),
        _ => Err(format!("it is at most {}", SiteOptions::MAX_PAGE_SIZE)),
    }
}

/// Splits a value into its number and its unit.
fn split(text: &str) -> (&str, &str) {
    let unit = text.find(|c: char| c.is_ascii_alphabetic());
    text.split_at(unit.unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_seconds_or_milliseconds() {
        assert_eq!(delay("30"), Ok(Duration::from_secs(30)));
        assert_eq!(delay("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(delay("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(delay("1.5"), Ok(Duration::from_millis(1500)));
        for bad in ["", "s", "1h", "-1", "1 s", "1e9", "99999999999"] {
            assert!(delay(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_in_bytes_or_powers_of_1024() {
        assert_eq!(page_size("0"), Ok(0));
        assert_eq!(page_size("8K"), Ok(8192));
        assert_eq!(page_size("10M"), Ok(10 << 20));
        assert_eq!(page_size("1g"), Ok(1 << 30));
        for bad in ["", "K", "1T", "-1", "1.5K", "2G", "99999999999999999999"] {
            assert!(page_size(bad).is_err(), "{bad}");
        }
    }
}
