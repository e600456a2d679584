//! Addresses in a `srcset`, the list of alternative images.

/// Returns the addresses in a `srcset` (HTML standard, section 4.8.4.2.2 "parsing
/// a srcset attribute"). Each is followed by descriptors, up to a comma that is
/// not in parentheses. An address may contain commas, but not end in one.
pub(super) fn urls(srcset: &str) -> impl Iterator<Item = &str> {
    let blank = |c: char| c.is_ascii_whitespace();
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| blank(c) || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(blank).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        let trimmed = url.trim_end_matches(',');
        let (descriptors, behind) =
            if trimmed.len() < url.len() { ("", after) } else { split_descriptors(after) };
        rest = behind;
        Some((trimmed, descriptors))
    })
    // Browsers leave out an image whose descriptors they do not understand.
    .filter(|(_, descriptors)| are_valid(descriptors))
    .map(|(url, _)| url)
}

/// Returns the descriptors, and the text behind the comma that ends them.
fn split_descriptors(text: &str) -> (&str, &str) {
    let mut is_within = false;
    let end = text.find(|c| {
        match c {
            '(' => is_within = true,
            ')' => is_within = false,
            ',' => return !is_within,
            _ => {}
        }
        false
    });
    end.map_or((text, ""), |end| (&text[..end], &text[end + 1..]))
}

/// Returns true if there is a width, a width and a height, a density, or nothing.
fn are_valid(descriptors: &str) -> bool {
    let (mut width, mut height, mut density) = (false, false, false);
    for descriptor in descriptors.split_ascii_whitespace() {
        // A parenthesis keeps blanks together, and no such descriptor is known.
        let Some((number, unit)) = descriptor.split_at_checked(descriptor.len() - 1) else {
            return false;
        };
        let is_positive = || {
            number.bytes().all(|byte| byte.is_ascii_digit())
                && number.bytes().any(|byte| byte != b'0')
        };
        let is_new = match unit {
            "w" if is_positive() => !std::mem::replace(&mut width, true) && !density,
            "h" if is_positive() => !std::mem::replace(&mut height, true) && !density,
            "x" if is_float(number) => !std::mem::replace(&mut density, true) && !width && !height,
            _ => false,
        };
        if !is_new {
            return false;
        }
    }
    width || !height
}

/// Returns true for a floating-point number of HTML that is not negative.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |it| (true, it));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let is_zero = mantissa.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    digits(whole)
        && digits(fraction)
        && !fraction.is_empty()
        && (!whole.is_empty() || mantissa.contains('.'))
        && digits(exponent)
        && !exponent.is_empty()
        && (!sign || is_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases of the web platform tests ("parse-a-srcset-attribute").
    #[test]
    fn an_image_with_descriptors_that_are_not_understood_is_left_out() {
        for valid in [
            "/x", "/x,", "/x 1x", "/x 1.5x", "/x .5x", "/x 1e0x", "/x 1e+0x", "/x -0x", "/x 0x",
            "/x 1w", "/x 1w 1h", "/x 1h 1w", "/x\t1x", "/x 1x,", "/x 01w",
        ] {
            assert_eq!(urls(valid).collect::<Vec<_>>(), ["/x"], "{valid}");
        }
        for invalid in [
            "/x 1y",
            "/x x",
            "/x w",
            "/x 0w",
            "/x 1w 1w",
            "/x 1x 1x",
            "/x 1w 1x",
            "/x 1x 1w",
            "/x 1h",
            "/x 1h 1x",
            "/x -1w",
            "/x +1w",
            "/x +1x",
            "/x -1x",
            "/x 1.0w",
            "/x 1e0w",
            "/x 1.x",
            "/x 1ex",
            "/x 1W",
            "/x (1x)",
            "/x 1x(, /x)",
            "/x 1w 0h",
            "/x 1w 1h 1h",
            "/x 1\u{a0}x",
            "/x \u{1f600}",
        ] {
            assert_eq!(urls(invalid).collect::<Vec<_>>(), [""; 0], "{invalid}");
        }
        assert_eq!(urls("/bad 1y, /ok 2x").collect::<Vec<_>>(), ["/ok"]);
    }
}
