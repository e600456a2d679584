//! Pathological pages, made to be expensive for a parser.

/// The pathological pages: the name of each, its beginning, and the text that it
/// repeats until it is long enough.
pub const PATHOLOGICAL: [(&str, &str, &str); 36] = [
    ("one link, again and again", "", "<a href=x>"),
    ("one link in quotes", "", "<a href='x'>"),
    ("links without addresses", "", "<a href>"),
    ("nested elements", "", "<div>"),
    ("nested links", "", "<a><b>"),
    ("nested drawings", "", "<svg>"),
    ("drawings and texts in turn", "", "<svg><title>"),
    ("drawings that break off", "", "<svg><g><p>"),
    ("end tags", "", "</p>"),
    ("end tags in a drawing", "<svg><g><g>", "</g>"),
    ("an endless tag", "<", "a"),
    ("an endless address", "<a href=\"", "x"),
    ("an endless address without quotes", "<a href=", "x"),
    ("an endless address of references", "<a href='", "&amp;"),
    ("an endless other value", "<p title='", "x"),
    ("an endless name of an attribute", "<a ", "x"),
    ("endless attributes", "<a ", "x=1 "),
    ("endless addresses of one link", "<a ", "href=1 "),
    ("endless slashes", "<a", "/"),
    ("an endless comment", "<!--", "x"),
    ("an endless comment of dashes", "<!--", "- "),
    ("an endless comment of brackets", "<!-- ", ">"),
    ("an endless comment in a script", "<script><!-- ", ">"),
    ("comments", "", "<!---->"),
    ("references", "", "&amp;"),
    ("references that are none", "", "&a"),
    ("open angle brackets", "", "<"),
    ("ends of tags that are none", "", "</<"),
    ("declarations", "", "<!>"),
    ("scripts in comments in scripts", "<script>", "<!--<script>--></script"),
    ("a text that nearly ends", "<title>", "</titl"),
    ("character data that nearly ends", "<svg><![CDATA[", "]]"),
    ("one name, again and again", "", "<p id=x>"),
    ("an endless style sheet", "<style>", "a{b:url("),
    ("an endless set of images", "<img srcset='", "x,"),
    ("nothing at all", "", "\0"),
];

/// Passes `length` bytes of a page to `take`, in slices as a socket delivers
/// them.
pub fn deliver(begin: &str, repeat: &str, length: usize, mut take: impl FnMut(&[u8])) {
    const SLICE: usize = 16 * 1024;
    // Longer than the repeated text by one slice, so that each slice is a window
    // of it.
    let body = repeat.repeat((repeat.len() + SLICE).div_ceil(repeat.len()));
    take(begin.as_bytes());
    let (mut remaining, mut phase) = (length - begin.len(), 0);
    while remaining > 0 {
        let slice = &body.as_bytes()[phase..phase + SLICE.min(remaining)];
        take(slice);
        remaining -= slice.len();
        phase = (phase + slice.len()) % repeat.len();
    }
}
