//! Generated pages for link extraction, similar to pages of documentation.

/// Returns a page of about `size` bytes, with a link in every 400 bytes.
pub fn documentation(size: usize) -> String {
    const WORDS: [&str; 16] = [
        "the", "selector", "of", "every", "task", "waits", "until", "a", "socket", "is", "ready",
        "and", "then", "goes", "on", "where",
    ];
    let mut html = String::with_capacity(size + 512);
    html.push_str(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>How it waits &mdash; a manual</title>\n\
         <link rel=\"stylesheet\" href=\"/_static/manual.css\" type=\"text/css\" />\n\
         <script>if (1 < 2) { document.documentElement.className = 'js'; }</script>\n\
         </head>\n<body class=\"page\">\n<!-- navigation -->\n<nav class=\"toc\" role=\"navigation\">\n<ul>\n",
    );
    for item in 0..8 {
        html.push_str(&format!(
            "<li class=\"toctree-l1\"><a class=\"reference internal\" href=\"/chapter/{item}.html\">Chapter {item}</a></li>\n"
        ));
    }
    html.push_str("</ul>\n</nav>\n<main>\n");
    let mut number = 0;
    while html.len() < size {
        number += 1;
        if number % 5 == 1 {
            html.push_str(&format!(
                "<section id=\"part-{number}\">\n<h2>{number}. On waiting<a class=\"headerlink\" href=\"#part-{number}\" title=\"Permalink\">¶</a></h2>\n"
            ));
        }
        html.push_str("<p>");
        for word in 0..50 {
            html.push_str(WORDS[(number * 7 + word * word) % WORDS.len()]);
            html.push(if word % 12 == 11 { '\n' } else { ' ' });
        }
        html.push_str(&format!(
            "See <a class=\"reference\" href=\"/page/{number}?part=a&amp;view=full#top\">page \
             <em>{number}</em></a> &amp; <code class=\"docutils literal\"><span class=\"pre\">select()</span></code>.</p>\n"
        ));
        if number % 5 == 0 {
            html.push_str("</section>\n");
        }
    }
    html.push_str("</main>\n</body>\n</html>\n");
    html
}
