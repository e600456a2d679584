//! The number formats for readers.

/// Formats a number with three significant digits and a comma between thousands.
pub(super) fn plain(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    if digits > 0 {
        return format!("{value:.*}", digits.unsigned_abs().min(6) as usize);
    }
    let step = 10f64.powi(-digits);
    grouped((value / step).round() * step)
}

/// Formats a number of whole units, such as bytes, without decimals.
pub(super) fn whole(value: f64) -> String {
    if value.abs() < 100.0 { grouped(value.round()) } else { plain(value) }
}

/// Formats a whole number with a comma between thousands.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number for an axis, in as few characters as possible.
pub(super) fn short(value: f64) -> String {
    let (value, unit) = match value {
        _ if value >= 1e9 => (value / 1e9, "G"),
        _ if value >= 1e6 => (value / 1e6, "M"),
        _ if value >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // A tick has one or two significant digits.
    let text = format!("{value:.6}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_significant() {
        let numbers = [0.0, 0.012_34, 1.234, 12.34, 123.4, 1234.0, 1_234_567.0, -1234.0, 999.9];
        let shown = ["0", "0.0123", "1.23", "12.3", "123", "1,230", "1,230,000", "-1,230", "1,000"];
        assert_eq!(numbers.map(plain), shown);
    }

    #[test]
    fn whole_units_have_no_decimals() {
        assert_eq!([0.0, 0.4, 65.4, 99.9, 1234.0].map(whole), ["0", "0", "65", "100", "1,230"]);
    }

    #[test]
    fn numbers_on_an_axis_are_short() {
        let shown = ["0", "0.1", "5", "20", "1k", "1.5k", "10k", "2M", "1G"];
        assert_eq!([0.0, 0.1, 5.0, 20.0, 1e3, 1.5e3, 1e4, 2e6, 1e9].map(short), shown);
    }
}
