//! The lint of figures that sentences quote: each is still what was measured. The list
//! says which sentence quotes which figure, and in which bounds its words are true.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;

use super::Finding;
use crate::book::Book;
use crate::measurements::figures::Figures;
use crate::measurements::{FOLDER, kept};

/// The list of the quoted figures, relative to the root of the workspace.
const LIST: &str = "book/quoted-figures.toml";

/// The contents of [`LIST`].
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default, rename = "quote")]
    quotes: Vec<Quote>,
}

/// A part of a sentence that quotes a figure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quote {
    /// The file with the sentence, relative to the root of the workspace.
    page: PathBuf,
    /// The words, wherever their lines are broken.
    says: String,
    /// The id of the bench and the quantity, with a space between them.
    figure: String,
    /// A figure that it is divided by.
    by: Option<String>,
    /// The words are true from the first of these to the second.
    between: [f64; 2],
}

impl Quote {
    /// Returns the figure that it quotes, or which one was not measured.
    fn value(&self, figures: &Figures) -> Result<f64, String> {
        let measured = |figure: &str| {
            let (id, quantity) = figure.rsplit_once(' ').unwrap_or((figure, ""));
            figures.get(id, quantity).ok_or_else(|| format!("\"{figure}\" was not measured"))
        };
        let by = self.by.as_deref().map_or(Ok(1.0), measured)?;
        Ok(measured(&self.figure)? / by)
    }

    /// Returns the line of the words in the text of the page.
    fn line(&self, text: &str) -> Option<usize> {
        let words: Vec<_> = self.says.split_whitespace().map(regex::escape).collect();
        let found = Regex::new(&words.join(r"\s+")).ok()?.find(text)?;
        Some(1 + text[..found.start()].matches('\n').count())
    }
}

pub(super) fn check(book: &Book) -> Vec<Finding> {
    let of_list = |what: String| Finding::new(Path::new(LIST), 1, what);
    let Some(list) = book.read(Path::new(LIST)) else {
        return vec![of_list("there is no such list".to_owned())];
    };
    let list: List = match toml::from_str(&list) {
        Ok(list) => list,
        Err(error) => return vec![of_list(error.to_string())],
    };
    let figures = match kept(|file| book.read(&Path::new(FOLDER).join(file))) {
        Ok((_, figures)) => figures,
        Err(error) => return vec![of_list(error.to_string())],
    };
    let check = |quote: &Quote| {
        let Quote { page, says, between: [least, most], .. } = quote;
        let text = book.read(page).unwrap_or_default();
        let Some(line) = quote.line(&text) else {
            return Some(of_list(format!("{} does not say \"{says}\"", page.display())));
        };
        match quote.value(&figures) {
            Err(what) => Some(of_list(what)),
            Ok(value) if (*least..=*most).contains(&value) => None,
            Ok(value) => {
                let what = format!("\"{says}\": it is {value:.4}, see {LIST}");
                Some(Finding::new(page, line, what))
            }
        }
    };
    list.quotes.iter().filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;
    use super::*;

    const PROVENANCE: &str = "bench,date,commit,seconds,command,machine,versions\n\
                              links,2026-01-02,abc,1,cargo bench,one,rustc\n";
    const LINKS: &str = "id,per_second\nlinks/8 KB/ours,3e9\nlinks/8 KB/theirs,1e9\n";

    fn found(page: &str, figure: &str) -> Vec<String> {
        let list = format!("[[quote]]\npage = 'book/src/a.md'\nsays = 'three times'\n{figure}\n");
        let files = [
            ("book/quoted-figures.toml", list.as_str()),
            ("book/src/a.md", page),
            ("book/src/measurements/taken.csv", PROVENANCE),
            ("book/src/measurements/links.csv", LINKS),
        ];
        findings(check, &files)
    }

    #[test]
    fn figures_within_their_bounds_have_no_findings() {
        let ratio = "figure = 'links/8 KB/ours per_second'\nby = 'links/8 KB/theirs per_second'\n\
                     between = [2.5, 3.5]";
        assert_eq!(found("It is\nthree\ntimes as fast.", ratio), [""; 0]);
        let alone = "figure = 'links/8 KB/ours per_second'\nbetween = [2.5e9, 3.5e9]";
        assert_eq!(found("three times", alone), [""; 0]);
    }

    #[test]
    fn stale_missing_and_unmeasured_figures_are_findings() {
        let stale = "figure = 'links/8 KB/ours per_second'\nby = 'links/8 KB/theirs per_second'\n\
                     between = [3.5, 4.5]";
        let words = "\"three times\": it is 3.0000, see book/quoted-figures.toml";
        assert_eq!(found("It is\nthree\ntimes.", stale), [format!("book/src/a.md:2: {words}")]);
        let unsaid = found("It is four times.", stale);
        assert!(unsaid[0].contains("does not say \"three times\""), "{unsaid:?}");
        let unknown = found("three times", "figure = 'links/9 KB per_second'\nbetween = [1, 2]");
        assert!(unknown[0].contains("\"links/9 KB per_second\" was not measured"), "{unknown:?}");
        let missing = findings(check, &[]);
        assert_eq!(missing, ["book/quoted-figures.toml:1: there is no such list"]);
        let broken = found("three times", "between = 3");
        assert!(broken[0].starts_with("book/quoted-figures.toml:1: "), "{broken:?}");
    }
}
