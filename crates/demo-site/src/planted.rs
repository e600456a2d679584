//! A site with planted faults of every kind, and with things that look like faults and
//! are none: to find out what a link checker misses, and where it cries wolf.
//!
//! Each plant has a page of its own, to which the root links. What it leads to is
//! `/gone/...` if that is a fault, and `/never/...` if no checker has a reason to ask for
//! it: the server answers both with 404, and so it does to all that it does not know.

use std::io;
use std::ops::Range;

use crate::scripted::{Reply, Request, Server};

/// One thing that is planted: a fault, or what looks like one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plant {
    /// The place or the behaviour, in words.
    pub name: &'static str,
    /// The HTML of its page, `/plant/N`. With [`Plant::headers`] it may be empty.
    pub html: &'static str,
    /// Further headers of the page.
    pub headers: &'static [(&'static str, &'static str)],
    /// The thing at fault: a path of the site, or the text of a link that is not a URL. `None`
    /// if nothing is.
    pub fault: Option<&'static str>,
}

const fn fault(name: &'static str, html: &'static str, fault: &'static str) -> Plant {
    Plant { name, html, headers: &[], fault: Some(fault) }
}

const fn sound(name: &'static str, html: &'static str) -> Plant {
    Plant { name, html, headers: &[], fault: None }
}

const fn header(
    name: &'static str,
    headers: &'static [(&'static str, &'static str)],
    fault: Option<&'static str>,
) -> Plant {
    Plant { name, html: "<p>a page", headers, fault }
}

/// All plants.
pub const PLANTS: &[Plant] = &[
    // Links that a reader follows.
    fault("a", "<a href='/gone/a'>x</a>", "/gone/a"),
    fault("area", "<map><area href='/gone/area'></map>", "/gone/area"),
    fault("a, relative", "<a href='../gone/./relative'>x</a>", "/gone/relative"),
    fault("a, with a base", "<base href='/gone/'><a href='based'>x</a>", "/gone/based"),
    fault("a, without quotes", "<a href=/gone/unquoted>x</a>", "/gone/unquoted"),
    fault("a, in odd letters", "<A\nHREF = /gone/odd  >x</A>", "/gone/odd"),
    fault("a, with references", "<a href='/gone/r?a=1&amp;b=2'>x</a>", "/gone/r?a=1&b=2"),
    fault("a, with blanks", "<a href=' \n/gone/blank\t'>x</a>", "/gone/blank"),
    fault("a, percent-encoded", "<a href='/gone/\u{fc} x'>x</a>", "/gone/%C3%BC%20x"),
    fault(
        "a, in noscript",
        "<noscript><a href='/gone/noscript'>x</a></noscript>",
        "/gone/noscript",
    ),
    fault("a, in SVG", "<svg><a href='/gone/svg-a'><text>x</text></a></svg>", "/gone/svg-a"),
    fault("a, in SVG, older", "<svg><a xlink:href='/gone/xlink' /></svg>", "/gone/xlink"),
    fault("a, behind broken markup", "<b><i></b><div <a></p><a href=/gone/soup>", "/gone/soup"),
    fault(
        "a, in a shadow root",
        "<div><template shadowrootmode='open'><a href='/gone/shadow'>x</a></template></div>",
        "/gone/shadow",
    ),
    fault(
        "form that is sent by GET",
        "<form action='/gone/form?x=1'><input name='q'></form>",
        "/gone/form",
    ),
    fault(
        "button",
        "<form action='/fine'><button formaction='/gone/button'></form>",
        "/gone/button",
    ),
    fault(
        "button of a form that posts",
        "<form method='post' action='/never/f4'><input type='submit' formmethod='get' \
         formaction='/gone/submit'></form>",
        "/gone/submit",
    ),
    fault("a, in MathML", "<math><mrow href='/gone/math'><mi>x</mi></mrow></math>", "/gone/math"),
    fault(
        "a, behind a conditional comment",
        "<!--[if !IE]><!--><a href='/gone/conditional'>x</a><!--<![endif]-->",
        "/gone/conditional",
    ),
    // Pages in pages, and after pages.
    fault("frame", "<frameset><frame src='/gone/frame'></frameset>", "/gone/frame"),
    fault("iframe", "<iframe src='/gone/iframe'></iframe>", "/gone/iframe"),
    fault("srcdoc", "<iframe srcdoc='<a href=/gone/srcdoc>x</a>'></iframe>", "/gone/srcdoc"),
    fault(
        "srcdoc with a base",
        "<base href='/gone/'><iframe srcdoc='<base href=inner/><a href=srcdoc>x</a>'></iframe>",
        "/gone/inner/srcdoc",
    ),
    fault(
        "meta refresh",
        "<meta http-equiv='refresh' content='0; url=/gone/refresh'>",
        "/gone/refresh",
    ),
    fault(
        "link on a refreshed page",
        "<meta http-equiv='refresh' content='0;url=/next'>",
        "/gone/next",
    ),
    fault("link in a frame", "<iframe src='/framed'></iframe>", "/gone/framed"),
    header(
        "header Refresh",
        &[("Refresh", "3; url=/gone/refresh-header")],
        Some("/gone/refresh-header"),
    ),
    // Images.
    fault("img", "<img src='/gone/img.png'>", "/gone/img.png"),
    fault(
        "img srcset",
        "<img src='/fine.png' srcset='/fine.png 1x, /gone/2x.png 2x'>",
        "/gone/2x.png",
    ),
    fault(
        "img srcset with commas",
        "<img src='/fine.png' srcset='/gone/w_1,h_2.png 1x, /fine.png 2x'>",
        "/gone/w_1,h_2.png",
    ),
    fault(
        "picture",
        "<picture><source srcset='/gone/picture.webp'><img src='/fine.png'></picture>",
        "/gone/picture.webp",
    ),
    fault("image, as HTML reads it", "<image src='/gone/image.png'>", "/gone/image.png"),
    fault("input", "<input type='Image' src='/gone/input.png'>", "/gone/input.png"),
    fault("poster", "<video poster='/gone/poster.png'></video>", "/gone/poster.png"),
    fault("background", "<body background='/gone/body.png'>", "/gone/body.png"),
    fault(
        "background of a cell",
        "<table><td background='/gone/cell.png'></table>",
        "/gone/cell.png",
    ),
    fault("longdesc", "<img src='/fine.png' longdesc='/gone/longdesc'>", "/gone/longdesc"),
    fault("image of SVG", "<svg><image href='/gone/svg.png' /></svg>", "/gone/svg.png"),
    fault("image of SVG, older", "<svg><image xlink:href='/gone/x.png' /></svg>", "/gone/x.png"),
    fault("use", "<svg><use href='/gone/sprite.svg#x' /></svg>", "/gone/sprite.svg"),
    fault(
        "textPath",
        "<svg><text><textPath href='/gone/path.svg#x' /></text></svg>",
        "/gone/path.svg",
    ),
    fault("feImage", "<svg><filter><feImage href='/gone/fe.png' /></filter></svg>", "/gone/fe.png"),
    fault("SVG file", "<img src='/drawing.svg'>", "/gone/in-drawing.png"),
    fault("link in an SVG file", "<a href='/linked.svg'>x</a>", "/gone/in-linked"),
    fault("style in an SVG file", "<img src='/styled.svg'>", "/gone/in-style.png"),
    fault("style sheet of an XML file", "<img src='/sheet.svg'>", "/gone/of-svg.css"),
    // Media and what is embedded.
    fault("video", "<video src='/gone/video.mp4'></video>", "/gone/video.mp4"),
    fault("audio", "<audio src='/gone/audio.ogg'></audio>", "/gone/audio.ogg"),
    fault("source", "<audio><source src='/gone/source.ogg'></audio>", "/gone/source.ogg"),
    fault("track", "<video><track src='/gone/track.vtt'></video>", "/gone/track.vtt"),
    fault("embed", "<embed src='/gone/embed.swf'>", "/gone/embed.swf"),
    fault("object", "<object data='/gone/object.pdf'></object>", "/gone/object.pdf"),
    fault("applet", "<applet archive='/gone/applet.jar'></applet>", "/gone/applet.jar"),
    fault(
        "applet, in a folder",
        "<applet codebase='/gone/classes/' archive='a.jar'></applet>",
        "/gone/classes/a.jar",
    ),
    fault("HEAD that lies: HTML", "<video src='/head/html'></video>", "/head/html"),
    fault("HEAD that lies: no type", "<audio src='/head/typeless'></audio>", "/head/typeless"),
    // Scripts.
    fault("script", "<script src='/gone/script.js'></script>", "/gone/script.js"),
    fault("module", "<script type='module' src='/gone/module.js'></script>", "/gone/module.js"),
    fault(
        "script of an old page",
        "<script language='JavaScript' src='/gone/old.js'></script>",
        "/gone/old.js",
    ),
    fault("script of SVG", "<svg><script href='/gone/svg.js' /></svg>", "/gone/svg.js"),
    fault(
        "import map",
        "<script type='importmap'>{\"imports\": {\"x\": \"/gone/x.js\", \"y/\": \"/never/y/\"}}\
         </script>",
        "/gone/x.js",
    ),
    // Style sheets.
    fault("style sheet", "<link rel='stylesheet' href='/gone/style.css'>", "/gone/style.css"),
    fault(
        "alternate style sheet",
        "<link title='x' rel='alternate StyleSheet' href='/gone/alternate.css'>",
        "/gone/alternate.css",
    ),
    fault(
        "style element",
        "<style>p { background: url(/gone/style.png) }</style>",
        "/gone/style.png",
    ),
    fault("import", "<style>@import '/gone/import.css' print;</style>", "/gone/import.css"),
    fault(
        "import into a layer",
        "<style>@import url(/gone/layer.css) layer(x) supports(display: grid);</style>",
        "/gone/layer.css",
    ),
    fault("cursor", "<style>p { cursor: url(/gone/hand.cur), auto }</style>", "/gone/hand.cur"),
    fault("style attribute", "<p style=\"background: url('/gone/attr.png')\">", "/gone/attr.png"),
    fault(
        "image-set",
        "<style>p { background: image-set('/gone/set.png' 2x) }</style>",
        "/gone/set.png",
    ),
    fault(
        "font",
        "<style>@font-face { font-family: x; src: url(/gone/font.woff) format('woff') }</style>",
        "/gone/font.woff",
    ),
    fault("escape in CSS", "<style>p { b: url(/gone/\\65 scape) }</style>", "/gone/escape"),
    fault("attribute of SVG", "<svg><g filter='url(/gone/f.svg#x)' /></svg>", "/gone/f.svg"),
    fault("CSS file", "<link rel='stylesheet' href='/css/file.css'>", "/css/gone.png"),
    fault(
        "import of a CSS file",
        "<link rel='stylesheet' href='/css/imports.css'>",
        "/css/gone.css",
    ),
    fault(
        "CSS file of a CSS file",
        "<link rel='stylesheet' href='/css/outer.css'>",
        "/css/in/gone.gif",
    ),
    // Other relations.
    fault("icon", "<link rel='shortcut icon' href='/gone/icon.ico'>", "/gone/icon.ico"),
    fault("canonical", "<link rel='canonical' href='/gone/canonical'>", "/gone/canonical"),
    fault("alternate", "<link rel='alternate' hreflang='de' href='/gone/de'>", "/gone/de"),
    fault(
        "feed",
        "<link rel='alternate' type='application/rss+xml' href='/gone/feed'>",
        "/gone/feed",
    ),
    fault("manifest", "<link rel='manifest' href='/gone/manifest.json'>", "/gone/manifest.json"),
    fault(
        "preload",
        "<link rel='preload' as='font' href='/gone/preload.woff'>",
        "/gone/preload.woff",
    ),
    fault("prefetch", "<link rel='prefetch' href='/gone/prefetch'>", "/gone/prefetch"),
    fault("next", "<link rel='next' href='/gone/page-2'>", "/gone/page-2"),
    fault("rev", "<link rev='made' href='me@site.test'>", "/plant/me@site.test"),
    fault(
        "imagesrcset",
        "<link rel='preload' as='image' imagesrcset='/gone/set-1.png 1x'>",
        "/gone/set-1.png",
    ),
    fault("cite of a quotation", "<q cite='/gone/q'>x</q>", "/gone/q"),
    fault("cite of a change", "<del cite='/gone/del'>x</del>", "/gone/del"),
    fault("cite", "<blockquote cite='/gone/cite'>x</blockquote>", "/gone/cite"),
    header("header Link", &[("Link", "</gone/link.css>; rel=stylesheet")], Some("/gone/link.css")),
    header(
        "header Link, imagesrcset",
        &[("Link", "</fine.png>; rel=preload; as=image; imagesrcset=\"/gone/set-3.png 2x\"")],
        Some("/gone/set-3.png"),
    ),
    header(
        "header Speculation-Rules",
        &[("Speculation-Rules", "\"/gone/rules.json\"")],
        Some("/gone/rules.json"),
    ),
    header(
        "second header Link",
        &[("Link", "<https://a.test>; rel=preconnect"), ("Link", "</gone/l.js>;rel=\"preload\"")],
        Some("/gone/l.js"),
    ),
    fault(
        "speculation rules",
        "<script type='speculationrules'>{\"prefetch\": [{\"urls\": [\"/gone/likely\"]}]}</script>",
        "/gone/likely",
    ),
    fault(
        "image of the Open Graph protocol",
        "<meta property='og:image' content='http://og.test:99999/'>\
         <meta name='og:title' content='/never/o1'>",
        "http://og.test:99999/",
    ),
    fault(
        "icon of a manifest",
        "<link rel='manifest' href='/app/icons.webmanifest'>",
        "/app/gone.png",
    ),
    fault(
        "start of a manifest",
        "<link rel='manifest' href='/app/manifest.json'>",
        "/app/gone?from=home",
    ),
    fault(
        "shortcut of a manifest",
        "<link rel='manifest' href='/app/typed'>",
        "/app/gone-shortcut",
    ),
    // Redirects.
    fault("redirect to nothing", "<a href='/moved/gone'>x</a>", "/gone/moved"),
    fault("permanent redirect to nothing", "<a href='/moved/308'>x</a>", "/gone/308"),
    fault("redirect to itself", "<a href='/moved/self'>x</a>", "/moved/self"),
    fault("two redirects in a circle", "<a href='/moved/ping'>x</a>", "/moved/ping"),
    fault("three redirects in a circle", "<a href='/moved/one'>x</a>", "/moved/one"),
    fault("circle that is entered twice", "<a href='/moved/here'>x</a>", "/moved/here"),
    fault("the other link into it", "<a href='/moved/there'>x</a>", "/moved/there"),
    fault("redirects without end", "<a href='/moved/on/1'>x</a>", "/moved/on/11"),
    fault("redirect without target", "<a href='/moved/nowhere'>x</a>", "/moved/nowhere"),
    fault("redirect to no URL", "<a href='/moved/bad'>x</a>", "/moved/bad"),
    // Answers.
    fault("410", "<a href='/status/410'>x</a>", "/status/410"),
    fault("500", "<a href='/status/500'>x</a>", "/status/500"),
    fault("403", "<a href='/status/403'>x</a>", "/status/403"),
    fault("HEAD that lies: link", "<a href='/head/link'>x</a>", "/head/link"),
    fault("download", "<a href='/gone/file.zip' download>x</a>", "/gone/file.zip"),
    fault("download that breaks off", "<a href='/short.zip' download>x</a>", "/short.zip"),
    fault("garbage for an encoding", "<a href='/answer/no-gzip'>x</a>", "/answer/no-gzip"),
    fault("no HTTP", "<a href='/answer/no-http'>x</a>", "/answer/no-http"),
    // Cookies.
    fault("link behind a cookie", "<a href='/cookie/'>x</a>", "/gone/behind-cookie"),
    // Encodings.
    fault("page in UTF-16", "<a href='/encoded/utf-16'>x</a>", "/gone/utf-16"),
    fault("query in Latin-1", "<a href='/encoded/latin-1'>x</a>", "/gone/latin-1?q=%E4"),
    fault("page in gzip", "<a href='/encoded/gzip'>x</a>", "/gone/gzip"),
    fault("page in chunks", "<a href='/encoded/chunked'>x</a>", "/gone/chunked"),
    fault("page in XHTML", "<a href='/encoded/xhtml'>x</a>", "/gone/xhtml"),
    fault("script in XHTML", "<a href='/encoded/xhtml-script'>x</a>", "/gone/behind-script"),
    fault("style sheet of XHTML", "<a href='/encoded/xhtml-sheet'>x</a>", "/gone/of-xhtml.css"),
    // What is not a URL.
    fault("host without end", "<a href='http://[bad'>x</a>", "http://[bad"),
    fault("port too large", "<a href='http://host.test:99999/'>x</a>", "http://host.test:99999/"),
    fault("blank in a host", "<a href='http://exa mple.test/'>x</a>", "http://exa mple.test/"),
    fault("scheme misspelt", "<a href='htp://typo.test/'>x</a>", "htp://typo.test/"),
    fault(
        "scheme twice",
        "<a href='http://https://twice.test/'>x</a>",
        "http://https://twice.test/",
    ),
    fault("image of no URL", "<img src='https://'>", "https://"),
    fault("mail without address", "<a href='mailto:'>x</a>", "mailto:"),
    fault("mail to no host", "<a href='mailto:somebody'>x</a>", "mailto:somebody"),
    fault("mail with blanks", "<a href='mailto:me at site.test'>x</a>", "mailto:me at site.test"),
    // What looks like a fault and is none: it is inert.
    sound("template", "<template><a href='/never/t1'>x</a><img src='/never/t2'></template>"),
    sound(
        "template in a template",
        "<template><template></template><a href='/never/t3'></template>",
    ),
    sound("base in a template", "<template><base href='/never/'></template><a href='/fine'>x</a>"),
    sound("comment", "<!-- <a href='/never/c1'>x</a> > <img src='/never/c2'> -->"),
    sound("text of a script", "<script>document.write('<a href=/never/s1>x</a>')</script>"),
    sound(
        "text of an element",
        "<title><a href='/never/s2'></title><textarea><a href='/never/s3'>",
    ),
    sound("data in a script", "<script type='text/x-template' src='/never/s4'></script>"),
    sound("input that is no image", "<input src='/never/i1'><input type='text' src='/never/i2'>"),
    sound("older link outside of SVG", "<a xlink:href='/never/x1'>x</a>"),
    sound("link without relation", "<link href='/never/l1'>"),
    sound(
        "comment in CSS",
        "<style>/* url(/never/css1) */ p { content: 'url(/never/css2)' }</style>",
    ),
    sound("import too late", "<style>p {} @import '/never/css3';</style>"),
    sound("namespace", "<style>@namespace url(/never/css4); p { c: 'x' }</style>"),
    sound("condition", "<style>@supports (background: url(/never/css5)) { p {} }</style>"),
    sound("type in CSS", "<style>p { b: image-set(url(/fine.png) type('/never/css6')) }</style>"),
    sound("fragment of the drawing", "<svg><g fill='url(#a)'><use href='#b' /></g></svg>"),
    // It names no document.
    sound("preconnect", "<link rel='preconnect' href='/never/r1'>"),
    sound("dns-prefetch", "<link rel='dns-prefetch preconnect' href='//never.test/'>"),
    sound("pingback", "<link rel='pingback' href='/never/r2'>"),
    sound("profile", "<link rel='profile' href='/never/r3'><html><head profile='/never/r4'>"),
    sound("EditURI", "<link rel='EditURI' href='/never/r5'>"),
    sound(
        "vocabulary",
        "<link rel='schema.DC' href='/never/r6'><p itemscope itemtype='/never/r7'>",
    ),
    sound("form", "<form action='/never/f1' method='post'><button formaction='/never/f2'></form>"),
    sound(
        "forms that are not sent by GET",
        "<form method='POST' action='/never/f3'></form><form method='dialog' action='/never/f5'>\
         </form><form action=''></form><form action='?x'></form>",
    ),
    sound("style in another language", "<style type='text/less'>@import '/never/css7';</style>"),
    sound(
        "data of scripts",
        "<script type='application/ld+json'>{\"url\": \"/never/j1\"}</script>\
         <p data-src='/never/d1'>",
    ),
    sound("conditional comment", "<!--[if IE]><a href='/never/c3'>x</a><![endif]-->"),
    sound("manifest that is none", "<link rel='manifest' href='/app/other.json'>"),
    sound("mail", "<a href='mailto:me@site.test?subject=x'>x</a><a href='mailto:?body=x'>x</a>"),
    sound("ping", "<a href='/fine' ping='/never/p1'>x</a>"),
    header(
        "headers that are no links",
        &[
            ("Content-Location", "/never/h1"),
            ("X-Pingback", "/never/h2"),
            ("Link", "</never/h3>; rel=\"pingback\", <//never.test>; rel=dns-prefetch"),
            ("Refresh", "300"),
        ],
        None,
    ),
    sound(
        "text of the Open Graph protocol",
        "<meta property='og:title' content='https://never.test is down'>\
         <meta name='twitter:image:alt' content='http://never.test:99999/'>",
    ),
    sound(
        "empty addresses",
        "<base href='/never/'><img src='' data-src='/fine.png'><link rel='icon' href=''>\
         <iframe src=''></iframe><svg><use href='' /></svg><style>@import '';</style>",
    ),
    // Not for this crawler.
    sound(
        "other schemes",
        "<a href='mailto:me@site.test'></a><a href='tel:+49'></a><img src='data:,x'>",
    ),
    sound(
        "scripts as links",
        "<a href='javascript:void(0)'>x</a><a href='#'>x</a><a href=''>x</a>",
    ),
    sound("image of another host", "<img src='http://127.0.0.2:1/x.png'>"),
    sound("link to another host", "<a href='http://127.0.0.2:1/'>x</a>"),
    sound("nofollow", "<a rel='nofollow' href='/never/n1'>x</a>"),
    // It answers well, if it is asked well.
    sound("large download", "<a href='/large.iso'>x</a><a href='/large.svg'>x</a>"),
    sound("large video", "<video src='/large.mp4'></video>"),
    sound("HEAD is not allowed", "<video src='/head/not-allowed'></video>"),
    sound("HEAD says 404", "<video src='/head/not-found'></video>"),
    sound("HEAD says 500", "<object data='/head/error'></object>"),
    sound("redirect to itself with a cookie", "<a href='/cookie/again'>x</a>"),
    sound("no content", "<a href='/status/204'>x</a>"),
    sound("choices", "<a href='/status/300'>x</a>"),
    sound("redirect", "<a href='/moved/fine'>x</a>"),
    sound("backslashes", "<a href='\\fine'>x</a>"),
    sound("fragments", "<a href='/fine#top'>x</a><a href='#:~:text=x'>x</a>"),
    sound("page that says that it is none", "<a href='/soft'>x</a>"),
];

/// Further plants, for a checker that looks for the targets of fragments.
pub const FRAGMENTS: &[Plant] = &[
    fault("fragment", "<a href='/fine#gone'>x</a>", "/fine#gone"),
    fault("fragment of the page", "<p id='here'><a href='#there'>x</a>", "/fragment/1#there"),
    fault("fragment behind a redirect", "<a href='/moved/fine#lost'>x</a>", "/moved/fine#lost"),
    sound("id", "<a href='#%C3%BC'>x</a><p id=\u{fc}><a href='/fine#one'>x</a>"),
    sound("name", "<a name='named'></a><a href='#named'>x</a>"),
    sound("top", "<a href='#'>x</a><a href='#TOP'>x</a>"),
    sound("text", "<a href='/fine#:~:text=fine'>x</a><a href='/fine#one:~:text=fine'>x</a>"),
    fault("map of an image", "<img src='/fine.png' usemap='#nomap'>", "/fragment/7#nomap"),
    sound("map", "<img src='/fine.png' usemap='#here'><map name='here'><area href='/fine'></map>"),
    sound(
        "template itself",
        "<a href='#inert'>x</a><template id='inert'><p id='no'></p></template>",
    ),
];

/// Links to another host, `OTHER`: what leads to `/gone/...` there is a fault, and nothing
/// else is.
pub const EXTERNAL: &str = "<a href='OTHER/fine'>x</a><a href='OTHER/gone/a'>x</a>\
    <img src='OTHER/fine.png'><img src='OTHER/gone/img.png'><a href='OTHER/moved/fine'>x</a>\
    <a href='OTHER/moved/gone'>x</a><a href='OTHER/head/not-allowed'>x</a>\
    <a href='OTHER/head/not-found'>x</a><a href='OTHER/large.iso'>x</a><a href='OTHER/cookie/again'>x</a>";

/// The target of `nofollow`: a checker may report it or leave it.
pub const UNDECIDED: &str = "/never/n1";

/// The number of all plants and fragments: those of [`PLANTS`] come first.
pub const COUNT: usize = PLANTS.len() + FRAGMENTS.len();

/// Returns a plant by its number, below [`COUNT`].
#[must_use]
pub fn plant(number: usize) -> Option<&'static Plant> {
    PLANTS.iter().chain(FRAGMENTS).nth(number)
}

/// Further names of faults, beside [`Plant::fault`]: a checker may name the link instead of
/// the end of its redirects.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("/gone/moved", "/moved/gone"),
    ("/gone/308", "/moved/308"),
    ("/moved/ping", "/moved/pong"),
    ("/moved/one", "/moved/two"),
    ("/moved/one", "/moved/three"),
    ("/moved/on/11", "/moved/on/1"),
    ("/moved/on/11", "/moved/on/10"),
    ("/moved/on/11", "/moved/on/12"),
    ("/moved/fine#lost", "/fine#lost"),
];

impl Plant {
    /// Returns all names that a report may have for the fault, none if it is sound.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let fault = self.fault;
        let others = OTHER_NAMES.iter().filter(move |(of, _)| fault == Some(of));
        fault.into_iter().chain(others.map(|(_, other)| *other))
    }
}

/// Starts the site with all plants.
///
/// # Errors
/// Those of [`Server::start`].
pub fn start() -> io::Result<Server> {
    start_with(0..COUNT)
}

/// Starts the site with the plants of these numbers. The first page has the header with
/// which a site allows linkchecker to ask without pauses.
///
/// # Errors
/// Those of [`Server::start`].
pub fn start_with(numbers: Range<usize>) -> io::Result<Server> {
    let contents = contents(numbers);
    Server::start(move |request, reply| match request.path() {
        "/" => {
            let body = if request.method == "HEAD" { "" } else { &contents };
            reply.status(200, "OK", &[HTML, NO_PAUSES], body);
        }
        _ => answer(request, reply),
    })
}

const NO_PAUSES: (&str, &str) = ("LinkChecker", "yes");
const HTML: (&str, &str) = ("Content-Type", "text/html; charset=utf-8");
const CSS: (&str, &str) = ("Content-Type", "text/css");
const PNG: (&str, &str) = ("Content-Type", "image/png");
const JSON: (&str, &str) = ("Content-Type", "application/json");
const SVG: (&str, &str) = ("Content-Type", "image/svg+xml");
const XHTML: (&str, &str) = ("Content-Type", "application/xhtml+xml");
const VIDEO: (&str, &str) = ("Content-Type", "video/mp4");

/// The page `<a href='/gone/gzip'>x</a>`, compressed.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xb3IT\xc8(JM\xb3U\xd7O\xcf\xcfK\xd5O\xaf\xca,P\xb7\xab\xb0\xd1O\xb4\x03\x001\x22g\x95\x1a\x00\x00\x00";

/// The length of a download, more than crawlers read of a page.
const LARGE: usize = 12 << 20;

fn answer(request: &Request, reply: &mut Reply<'_>) {
    let is_head = request.method == "HEAD";
    let path = request.path();
    if let Some(plant) =
        path.strip_prefix("/plant/").and_then(|n| PLANTS.get(n.parse::<usize>().ok()?))
    {
        let headers: Vec<_> = [HTML].into_iter().chain(plant.headers.iter().copied()).collect();
        return reply.status(200, "OK", &headers, plant.html);
    }
    let fragment = path.strip_prefix("/fragment/").and_then(|n| n.parse::<usize>().ok());
    if let Some(plant) = fragment.and_then(|n| FRAGMENTS.get(n)) {
        return reply.page(plant.html);
    }
    let ok = |reply: &mut Reply<'_>, kind, body: &str| {
        reply.status(200, "OK", &[kind], if is_head { "" } else { body });
    };
    let moved = |reply: &mut Reply<'_>, to: &str| {
        reply.status(302, "Found", &[("Location", to)], "");
    };
    let failed = |reply: &mut Reply<'_>, status| reply.status(status, "No", &[], "");
    match path {
        "/fine" => ok(reply, HTML, "<p id='one'>fine"),
        "/soft" => ok(reply, HTML, "<h1>404 Not Found</h1>"),
        "/next" => ok(reply, HTML, "<a href='/gone/next'>x</a>"),
        "/framed" => ok(reply, HTML, "<a href='/gone/framed'>x</a>"),
        "/fine.png" => ok(reply, PNG, "picture"),
        "/drawing.svg" => ok(reply, SVG, "<svg><image href='/gone/in-drawing.png'/></svg>"),
        "/linked.svg" => ok(reply, SVG, "<svg><a href='gone/in-linked'><g/></a></svg>"),
        "/styled.svg" => {
            let css = "<style><![CDATA[ g { fill: url(/gone/in-style.png) } ]]></style>";
            ok(reply, SVG, &format!("<svg>{css}<g/></svg>"));
        }
        "/sheet.svg" => {
            let sheet = "<?xml-stylesheet type=\"text/css\" href=\"/gone/of-svg.css\"?>";
            ok(reply, SVG, &format!("<?xml version=\"1.0\"?>{sheet}<svg/>"));
        }
        "/app/icons.webmanifest" => {
            let kind = ("Content-Type", "application/octet-stream");
            ok(reply, kind, "{\"icons\": [{\"src\": \"gone.png\"}, {\"src\": \"/fine.png\"}]}");
        }
        "/app/manifest.json" => ok(reply, JSON, "{\"start_url\": \"gone?from=home\"}"),
        "/app/typed" => {
            let kind = ("Content-Type", "application/manifest+json");
            ok(reply, kind, "{\"shortcuts\": [{\"name\": \"x\", \"url\": \"gone-shortcut\"}]}");
        }
        "/app/other.json" => ok(reply, JSON, "{\"icons\": [{\"src\": \"/never/m1\"}]}"),
        "/css/file.css" => ok(reply, CSS, "p { background: url(gone.png) }"),
        "/css/imports.css" => ok(reply, CSS, "@charset \"utf-8\"; @import \"gone.css\";"),
        "/css/outer.css" => ok(reply, CSS, "@import url(in/inner.css) screen;"),
        "/css/in/inner.css" => ok(reply, CSS, "p { background: url('gone.gif') }"),
        "/head/html" if is_head => ok(reply, HTML, ""),
        "/head/link" if is_head => ok(reply, ("Content-Type", "text/plain"), ""),
        "/head/typeless" if is_head => reply.status(200, "OK", &[], ""),
        "/head/not-allowed" if is_head => failed(reply, 405),
        "/head/not-found" if is_head => failed(reply, 404),
        "/head/error" if is_head => failed(reply, 500),
        "/head/not-allowed" | "/head/not-found" | "/head/error" => ok(reply, VIDEO, "video"),
        "/large.iso" | "/large.svg" | "/large.mp4" => {
            let kind = match path {
                "/large.iso" => ("Content-Type", "application/octet-stream"),
                "/large.svg" => SVG,
                _ => VIDEO,
            };
            let length = LARGE.to_string();
            let body = if is_head { Vec::new() } else { vec![b' '; LARGE] };
            reply.status(200, "OK", &[kind, ("Content-Length", &length)], body);
        }
        "/short.zip" => {
            let kind = ("Content-Type", "application/zip");
            reply.status(200, "OK", &[kind, ("Content-Length", "1000")], "PK");
            if !is_head {
                reply.close();
            }
        }
        "/moved/gone" => moved(reply, "/gone/moved"),
        "/moved/308" => {
            reply.status(308, "Permanent Redirect", &[("Location", "/gone/308")], "");
        }
        "/moved/fine" => moved(reply, "/fine"),
        "/moved/self" => moved(reply, "/moved/self"),
        "/moved/ping" => moved(reply, "/moved/pong"),
        "/moved/pong" => moved(reply, "/moved/ping"),
        "/moved/here" => moved(reply, "/moved/there"),
        "/moved/there" => moved(reply, "/moved/here"),
        "/moved/one" => moved(reply, "/moved/two"),
        "/moved/two" => moved(reply, "/moved/three"),
        "/moved/three" => moved(reply, "/moved/one"),
        "/moved/nowhere" => reply.status(302, "Found", &[], ""),
        "/moved/bad" => moved(reply, "http://[bad"),
        "/status/204" => reply.status(204, "No Content", &[], ""),
        "/status/300" => reply.status(300, "Choices", &[HTML], "<a href='/fine'>x</a>"),
        "/status/403" => failed(reply, 403),
        "/status/410" => failed(reply, 410),
        "/status/500" => failed(reply, 500),
        "/answer/no-gzip" => {
            reply.status(200, "OK", &[HTML, ("Content-Encoding", "gzip")], "this is no gzip");
        }
        "/answer/no-http" => {
            reply.send("this is no HTTP\r\n\r\n");
            reply.close();
        }
        "/cookie/" | "/cookie/again" => match request.header("Cookie") {
            Some(cookies) if cookies.contains("seen=1") => {
                let gone = if path == "/cookie/" { "/gone/behind-cookie" } else { "/fine" };
                ok(reply, HTML, &format!("<a href='{gone}'>x</a>"));
            }
            _ => {
                let cookie = ("Set-Cookie", "seen=1; Path=/cookie/");
                reply.status(302, "Found", &[("Location", path), cookie], "");
            }
        },
        "/encoded/utf-16" => {
            let page = "\u{feff}<a href='/gone/utf-16'>x</a>".encode_utf16();
            let body: Vec<u8> = page.flat_map(u16::to_be_bytes).collect();
            reply.status(200, "OK", &[("Content-Type", "text/html")], body);
        }
        "/encoded/latin-1" => {
            let kind = ("Content-Type", "text/html; charset=iso-8859-1");
            reply.status(200, "OK", &[kind], b"<a href='/gone/latin-1?q=\xe4'>x</a>");
        }
        "/encoded/gzip" => {
            reply.status(200, "OK", &[HTML, ("Content-Encoding", "gzip")], GZIP);
        }
        "/encoded/chunked" => reply.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n\
             9\r\n<a href=/\r\nc\r\ngone/chunked\r\n1\r\n>\r\n0\r\n\r\n",
        ),
        "/encoded/xhtml" => ok(reply, XHTML, "<html><body><a href=\"/gone/xhtml\"/></body></html>"),
        "/encoded/xhtml-script" => {
            let inert =
                "<script src=\"/fine.js\"/><title/><p><![CDATA[<a href=\"/never/x2\"/>]]></p>";
            ok(reply, XHTML, &format!("<html>{inert}<a href=\"/gone/behind-script\"/></html>"));
        }
        "/encoded/xhtml-sheet" => {
            let sheet = "<?xml-stylesheet href=\"/gone/of-xhtml.css\"?>";
            ok(reply, XHTML, &format!("<?xml version=\"1.0\"?>{sheet}<html/>"));
        }
        "/fine.js" => ok(reply, ("Content-Type", "text/javascript"), "x"),
        path => match path.strip_prefix("/moved/on/").and_then(|n| n.parse::<u32>().ok()) {
            Some(n) => moved(reply, &format!("/moved/on/{}", n + 1)),
            None => failed(reply, 404),
        },
    }
}

/// Returns the root: the links to these plants.
fn contents(numbers: Range<usize>) -> String {
    let link = |number: usize| {
        let path = match number.checked_sub(PLANTS.len()) {
            None => format!("/plant/{number}"),
            Some(fragment) => format!("/fragment/{fragment}"),
        };
        let name = plant(number)?.name;
        Some(format!("<li><a href=\"{path}\">{name}</a></li>\n"))
    };
    let list: String = numbers.filter_map(link).collect();
    let head = "<!doctype html>\n<html><head><title>Plants</title></head>";
    format!("{head}\n<body><ul>\n{list}</ul></body></html>\n")
}
