//! The lines in which a wrong function differs from the right one.

/// The lines that are shown around one that differs.
const CONTEXT: usize = 1;

/// Returns the lines of two texts that differ, of the first `-` and of the second `+`, with
/// one line around them. `@@` stands for lines that are left out between two of them. The
/// anchors of the book are no lines.
pub(super) fn of(old: &str, new: &str) -> String {
    let lines = compare(&without_anchors(old), &without_anchors(new));
    let differs = |index: &usize| lines[*index].0 != ' ';
    let mut text = String::new();
    let mut last = None;
    for (index, (sign, line)) in lines.iter().enumerate() {
        let around = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(lines.len());
        if !around.into_iter().any(|index| differs(&index)) {
            continue;
        }
        if last.is_some_and(|last| last + 1 < index) {
            text += "@@\n";
        }
        text += format!("{sign}{line}").trim_end();
        text += "\n";
        last = Some(index);
    }
    text
}

fn without_anchors(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.trim_start().starts_with("// ANCHOR")).collect()
}

/// Returns the lines of both texts, those that both have once, by their longest common
/// subsequence.
fn compare<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    // The length of that of the rests that begin at two lines.
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match old[i] == new[j] {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    lines
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
