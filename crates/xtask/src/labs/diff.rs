//! The lines in which a wrong function differs from the right one.

use similar::{ChangeTag, TextDiff};

/// The lines that are shown around one that differs.
const CONTEXT: usize = 1;

/// Returns the lines of two texts that differ, of the first `-` and of the second `+`, with
/// one line around them. `@@` stands for lines that are left out between two of them. The
/// anchors of the book are not compared.
pub(super) fn of(old: &str, new: &str) -> String {
    let (old, new) = (without_anchors(old), without_anchors(new));
    let diff = TextDiff::from_slices(&old, &new);
    let mut parts = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let mut part = String::new();
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            part += format!("{sign}{}", change.value()).trim_end();
            part += "\n";
        }
        parts.push(part);
    }
    parts.join("@@\n")
}

fn without_anchors(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim_start().starts_with("// ANCHOR")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_lines_that_differ_with_one_around_them() {
        assert_eq!(of("a\nb\nc\nd\n", "a\nb\nx\ny\nd\n"), " b\n-c\n+x\n+y\n d\n");
        assert_eq!(of("a\nb\n", "a\n"), " a\n-b\n");
        assert_eq!(of("a\n// ANCHOR: x\nb\n", "a\nb\n"), "");
        let (old, new) = ("a\nb\nc\nd\ne\nf\n", "A\nb\nc\nd\ne\nF\n");
        assert_eq!(of(old, new), "-a\n+A\n b\n@@\n e\n-f\n+F\n");
    }
}
