//! Extraction of what `ExtractOptions` selects: resources, fragment targets,
//! positions and texts.

use url::Url;
use web::body::ContentType;
use web::links::{ExtractOptions, LinkExtractor, Position};
use web::page::{FileKind, Page, PageReader};

use crate::common::read;

const ALL: ExtractOptions = ExtractOptions::ALL;
const NOTHING: ExtractOptions = ExtractOptions {
    frames: false,
    refresh: false,
    images: false,
    media: false,
    scripts: false,
    styles: false,
    relations: false,
    ids: false,
    details: false,
    nofollow: false,
};

fn search(html: &str, options: ExtractOptions) -> Page {
    read("http://site.test/", [html.as_bytes()], Some("utf-8"), options)
}

/// Checks the elements and addresses found, as `element address`.
#[track_caller]
fn assert_found(html: &str, options: ExtractOptions, expected: &[&str]) {
    let page = search(html, options);
    let links = page.found.links().map(|link| format!("{} {}", link.element.name(), link.href));
    assert_eq!(links.collect::<Vec<_>>(), expected, "{html}");
}

#[test]
fn a_link_in_a_drawing_is_none_of_its_resources() {
    assert_found("<svg><a href=/x></a></svg>", ExtractOptions::ALL, &["a /x"]);
    // There, this is the name of an element without a meaning.
    assert_found("<svg><area href=/no /><base href=/no /></svg>", ExtractOptions::ALL, &[]);
    let html = "<svg><a href=/x>one<area href=/no />two</a></svg>";
    let page = search(html, ExtractOptions { details: true, ..NOTHING });
    assert_eq!(page.found.links().map(|link| link.text).collect::<Vec<_>>(), ["onetwo"]);
}

#[test]
fn each_kind_of_resource_is_found_when_it_is_selected() {
    let frames = ExtractOptions { frames: true, ..NOTHING };
    let refresh = ExtractOptions { refresh: true, ..NOTHING };
    let images = ExtractOptions { images: true, ..NOTHING };
    let media = ExtractOptions { media: true, ..NOTHING };
    let scripts = ExtractOptions { scripts: true, ..NOTHING };
    let styles = ExtractOptions { styles: true, ..NOTHING };
    let relations = ExtractOptions { relations: true, ..NOTHING };
    for (html, options, expected) in [
        ("<iframe src=/x></iframe>", frames, &["iframe /x"][..]),
        ("<frame src=/x>", frames, &["frame /x"]),
        ("<meta http-equiv=refresh content='0;url=/x'>", refresh, &["meta /x"]),
        ("<META content='5; URL=\"/x\"' http-equiv=Refresh>", refresh, &["meta /x"]),
        ("<img src=/x>", images, &["img /x"]),
        ("<IMG SRC=/x srcset='/y 2x, /z 3x'>", images, &["img /x", "img /y", "img /z"]),
        ("<picture><source srcset='/x 640w'></picture>", images, &["source /x"]),
        ("<video poster=/x></video>", images, &["video /x"]),
        ("<input type=image src=/x>", images, &["input /x"]),
        (
            "<video src=/x><source src=/y><track src=/z>",
            media,
            &["video /x", "source /y", "track /z"],
        ),
        ("<audio src=/x></audio><embed src=/y>", media, &["audio /x", "embed /y"]),
        ("<object data=/x></object>", media, &["object /x"]),
        ("<script src=/x></script>", scripts, &["script /x"]),
        ("<script src=/x><script src=/no></script>", scripts, &["script /x"]),
        ("<link rel=stylesheet href=/x>", styles, &["link /x"]),
        ("<link href=/x rel='Alternate StyleSheet'>", styles, &["link /x"]),
        (
            "<style>@import '/x'; a { background: url(/y) }</style>",
            styles,
            &["style /x", "style /y"],
        ),
        ("<p style=\"background: url('/x')\">", styles, &["style /x"]),
        ("<link rel=next href=/x><link rev=made href=/y>", relations, &["link /x", "link /y"]),
        ("<link itemprop=image href=/x>", relations, &["link /x"]),
        ("<link rel='preconnect icon' href=/x>", relations, &["link /x"]),
        ("<blockquote cite=/x><q cite=/y></q>", relations, &["cite /x", "cite /y"]),
        (
            "<meta property=og:image content=http://site.test/x>",
            relations,
            &["link http://site.test/x"],
        ),
        ("<link rel=preload as=image imagesrcset='/x 1x, /y 2x'>", images, &["link /x", "link /y"]),
        (
            "<body background=/x><table><td background=/y>",
            images,
            &["background /x", "background /y"],
        ),
        ("<image src=/x>", images, &["img /x"]),
        ("<svg><image href=/x /><use xlink:href=/y#z /></svg>", images, &["svg /x", "svg /y#z"]),
        ("<svg><image href=/x xlink:href=/no /></svg>", images, &["svg /x"]),
        ("<svg><script href=/x></script></svg>", scripts, &["script /x"]),
        ("<script type=module src=/x></script>", scripts, &["script /x"]),
        ("<script language=JavaScript src=/x></script>", scripts, &["script /x"]),
        ("<applet archive='/x, /y'></applet>", media, &["applet /x", "applet /y"]),
        ("<applet archive='x, /y' codebase=z/></applet>", media, &["applet z/x", "applet /y"]),
        ("<svg><path fill='url(/x#y)' filter=url(#no) /></svg>", styles, &["style /x#y"]),
        ("<svg><style><![CDATA[a{b:url(/x)}]]></style></svg>", styles, &["style /x"]),
        ("<svg><style>@import '/x?a&amp;b'</style></svg>", styles, &["style /x?a&b"]),
        (
            "<svg><style>@import '/x?&amp;';<![CDATA[@import '/y?&amp;';]]>\
             @import '/z?&amp;'</style></svg>",
            styles,
            &["style /x?&", "style /y?&amp;", "style /z?&"],
        ),
        ("<iframe srcdoc='<img src=/x>&lt;p>'></iframe>", images, &["img /x"]),
        (
            "<iframe srcdoc='<img src=x><base href=../y/><base href=no>'></iframe>",
            images,
            &["img ../y/x"],
        ),
        (
            "<iframe srcdoc=\"<base href=a/><img src=x><iframe srcdoc='<base href=b/><img src=y>'></iframe>\"></iframe>",
            images,
            &["img a/x", "img a/b/y"],
        ),
        ("<div><template shadowrootmode=open><img src=/x></template></div>", images, &["img /x"]),
        ("<form action=/x><button formaction=/y>", relations, &["form /x", "form /y"]),
        ("<form method=GET action='/x?no=1#no'></form>", relations, &["form /x"]),
        (
            "<form method=odd action=/x><input type=submit formaction=/y>",
            relations,
            &["form /x", "form /y"],
        ),
        ("<form method=post><button formmethod=get formaction=/x>", relations, &["form /x"]),
        ("<script type=importmap>{\"imports\":{\"x\":\"/x\"}}</script>", scripts, &["script /x"]),
        (
            "<script type='SpeculationRules'>{\"prefetch\":[{\"urls\":[\"/x\"]}]}</script>",
            relations,
            &["script /x"],
        ),
        ("<style type='Text/CSS'>@import '/x'</style>", styles, &["style /x"]),
        ("<style type=''>@import '/x'</style>", styles, &["style /x"]),
        ("<svg><style>a{b:url(/x)}</style><style/></svg>", styles, &["style /x"]),
    ] {
        assert_found(html, options, expected);
        assert_found(html, NOTHING, &[]);
        assert_eq!(search(html, ExtractOptions::ALL).found.links().len(), expected.len(), "{html}");
        let link = format!("<a href=/a>{html}<area href=/b>");
        let links = search(&link, options)
            .found
            .links()
            .map(|link| link.href.to_owned())
            .collect::<Vec<_>>();
        assert_eq!((links.len(), &*links[0]), (expected.len() + 2, "/a"));
    }
    // The option for style sheets selects no other `link`, and the other way round.
    assert_found("<link rel=stylesheet href=/x>", relations, &[]);
    assert_found("<link rel=icon href=/x>", styles, &[]);
}

/// One that closes itself has no content, and text behind it is that of the page.
#[test]
fn a_style_sheet_of_a_drawing_may_be_empty() {
    let html = "<svg><style/></svg><a href=/x>text</a><script>load(url('/no'))</script>";
    let found = search(html, ExtractOptions::ALL).found;
    let links: Vec<_> = found.links().map(|link| (link.href, link.text)).collect();
    assert_eq!(links, [("/x", "text")]);
}

#[test]
fn a_page_has_at_most_so_many_links() {
    let html: String = (0..600_000).map(|n| format!("<a href={n}>")).collect();
    let found = search(&html, NOTHING).found;
    assert_eq!(found.links().count(), 512 * 1024);
    assert_eq!(found.left_out() as usize, 600_000 - 512 * 1024);
}

/// Each archive would have the length of the folder.
#[test]
fn archives_in_a_folder_with_a_long_name_are_left_out_and_counted() {
    let html = |length| {
        let folder = "z".repeat(length);
        format!("<applet codebase={folder} archive='a, b, /c'></applet>")
    };
    let found = |length| {
        let page = search(&html(length), ExtractOptions { media: true, ..NOTHING });
        (page.found.links().count(), page.found.left_out())
    };
    assert_eq!((found(1024), found(1025)), ((3, 0), (1, 2)));
}

#[test]
fn the_archives_of_one_element_are_together_no_longer_than_a_value() {
    let archives: String = (0..100).map(|n| format!("{n},")).collect();
    let html = format!("<applet codebase={} archive='{archives}/x'></applet>", "z".repeat(1000));
    let page = search(&html, ExtractOptions { media: true, ..NOTHING });
    let total: usize = page.found.links().map(|link| link.href.len()).sum();
    assert!((60 * 1024..=64 * 1024).contains(&total), "{total}");
    assert_eq!(page.found.links().count() + page.found.left_out() as usize, 101);
    assert_eq!(page.found.links().last().unwrap().href, "/x");
}

/// Returns a page of frames within each other, each with a base of so many bytes.
fn nested_documents(depth: usize, base: &str, link: &str) -> String {
    (0..depth).fold(link.to_owned(), |html, _| {
        let html = format!("<base href=\"{base}\">{html}");
        let html = html.replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe srcdoc=\"{html}\"></iframe>")
    })
}

#[test]
fn bases_of_nested_documents_do_not_add_up() {
    let images = ExtractOptions { images: true, ..NOTHING };
    let folder = "z".repeat(999) + "/";
    for base in [&folder, &"/ ".repeat(340)] {
        for depth in 1..=4 {
            let page = search(&nested_documents(depth, base, "<img src=x>"), images);
            let longest = page.found.links().map(|link| link.href.len()).max();
            assert!(longest.is_none_or(|length| length <= 2048), "{depth}: {longest:?}");
            assert_eq!(page.found.links().count() + page.found.left_out() as usize, 1, "{depth}");
        }
    }
    let two = search(&nested_documents(2, &folder, "<img src=x>"), images);
    assert_eq!(two.found.links().next().unwrap().href, folder.repeat(2) + "x");
    // It is written once in the page, and no base makes it longer.
    let long = format!("http://site.test/{}", "x".repeat(3000));
    let page = search(&nested_documents(4, &folder, &format!("<img src={long}>")), images);
    assert_eq!(page.found.links().map(|link| link.href).collect::<Vec<_>>(), [long]);
}

/// Things that look like links and are none: no browser loads them, no reader follows them.
#[test]
fn what_names_no_document_is_not_found() {
    for html in [
        "<template><a href=/no><img src=/no><base href=/no><p id=no></template>",
        "<template><template shadowrootmode=open><img src=/no></template><img src=/no></template>",
        "<template><svg><template></template><a href=/no></a></svg></template>",
        "<template><svg><template shadowrootmode=open></template></svg></template>\
         <template><a href=/no></a></template>",
        "<!-- <a href=/no><img src=/no> -->",
        "<link rel=preconnect href=/no><link rel='dns-prefetch' href=/no><link href=/no>",
        "<link rel=pingback href=/no><link rel=profile href=/no><link rel=EditURI href=/no>",
        "<link rel='preconnect dns-prefetch' href=/no><link rel=schema.DC href=/no>",
        "<input src=/no><input type=text src=/no>",
        "<script type=text/template src=/no></script><script type=importmap src=/no></script>",
        "<a xlink:href=/no></a><button formaction=/no></button>",
        "<form method=POST action=/no><button formaction=/no></form>",
        "<form method=dialog action=/no></form><form method=post><input formaction=/no></form>",
        "<form><button formmethod=post formaction=/no></form><form action='?no'></form>",
        "<form rel=nofollow action=/no></form>",
        "<script type=application/json>{\"imports\":{\"x\":\"/no\"}}</script>",
        "<script type=importmap>{\"imports\":{\"x/\":\"/no/\",\"y\":\"no\"}}</script>",
        "<style type=text/less>@import '/no'; a { b: url(/no) }</style>",
        "<svg><use href='#no' /><rect fill='url(#no)' /></svg>",
        "<style>@namespace url(/no); @supports (background: url(/no)) {}</style>",
        "<style>a {} @import '/no'; @import url(/no);</style>",
        "<style>a{b:image-set(url(data:,x) type('/no'))} c{d:format('/no')}</style>",
        "<p style='@import \"/no\"'>",
        "<meta property=og:title content=/no><meta name=x content='http://no.test/'>",
        "<meta property=og:title content='https://no.test is down'>\
         <meta property=og:description content='https://no.test/ is open. Come in!'>\
         <meta property=og:site_name content=https://no.test>\
         <meta name=twitter:data1 content=http://no><meta name=twitter:label1 content=http://no>\
         <meta name=twitter:image:alt content='http://no'>",
    ] {
        let found = search(html, ExtractOptions::ALL).found;
        let links: Vec<_> = found.links().map(|link| link.href).collect();
        assert!(links.iter().all(|href| !href.contains("no")), "{links:?} in {html}");
        assert_eq!(found.ids().len(), 0, "{html}");
    }
}

/// A reader can follow a link to the page itself, or to its base. Nothing is loaded from there.
#[test]
fn what_is_empty_is_not_loaded() {
    for html in [
        "<img src='' srcset=''><img src><input type=image src=''><video poster='' src=''>",
        "<iframe src=''></iframe><img longdesc=''><frame src=''><script src=''></script>",
        "<link rel=icon href=''><link rel=stylesheet href=''><link rel=preload imagesrcset=''>",
        "<audio src=''></audio><source src=''><track src=''><embed src=''><object data=''>",
        "<applet archive='' codebase=/no></applet><applet archive=' , ' codebase=/no></applet>",
        "<svg><use href='' /><image xlink:href='' /><use href='' xlink:href=/no /></svg>",
        "<svg><script href=''></script></svg>",
        "<style>@import ''; a{b:image-set('' 1x)} c{d:url('')}</style><p style='a:src(\"\")'>",
        "<body background=''><table background=''><q cite=''></q><html manifest=''>",
        "<form action=''><button formaction=''></form><meta http-equiv=refresh content='5; url='>",
    ] {
        assert_found(&format!("<base href=/no/>{html}"), ALL, &[]);
    }
    assert_found("<base href=/x/><a href=''>x</a><area href=''>", ALL, &["a ", "area "]);
    assert_found(
        "<applet archive='a,,b, ' codebase=/x></applet>",
        ALL,
        &["applet /x/a", "applet /x/b"],
    );
    assert_eq!(links_of_file(FileKind::Svg, "<?xml-stylesheet href=''?><svg/>"), [""; 0]);
}

/// Reads a file in two pieces, cut anywhere, and returns its links.
fn links_of_file(kind: FileKind, text: &str) -> Vec<String> {
    let url = Url::parse("http://site.test/").unwrap();
    let read = |cut: usize| {
        let mut reader =
            PageReader::of_kind(kind, &url, Some("utf-8"), ExtractOptions { ids: false, ..ALL });
        reader.feed(&text.as_bytes()[..cut]);
        reader.feed(&text.as_bytes()[cut..]);
        let page = reader.finish(&url);
        let links = page.found.links();
        links.map(|link| format!("{} {}", link.element.name(), link.href)).collect::<Vec<_>>()
    };
    let links = read(0);
    assert!((1..=text.len()).all(|cut| read(cut) == links), "{text}");
    links
}

#[test]
fn in_xhtml_every_element_may_close_itself() {
    let xhtml = "<?xml version='1.0'?><?xml-stylesheet href='/s.css?a&amp;b'?><html><head><title/>\
                 <script src='/x.js'/><style/></head><body><iframe src='/f'/><textarea/>\
                 <p><![CDATA[<a href='/no'/>]]></p><a href='/y'>y</a></body></html>";
    let expected = ["script /x.js", "iframe /f", "a /y", "link /s.css?a&b"];
    assert_eq!(links_of_file(FileKind::Xhtml, xhtml), expected);
    assert_eq!(links_of_file(FileKind::Html, xhtml), [""; 0], "a title has no end");
    let ended = "<script><a href='/no'/></script><style>p{b:url(/z)}</style><a href='/y'/>";
    assert_eq!(links_of_file(FileKind::Xhtml, ended), ["style /z", "a /y"]);
    for (xhtml, expected) in [
        ("<template/><a href='/x'/>", "a /x"),
        ("<template><template/><a href='/no'/></template><a href='/x'/>", "a /x"),
        ("<style/>p{b:url(/no)}<style>p{b:url(/x)}</style>", "style /x"),
        ("<script type='importmap'/>{\"imports\":{\"x\":\"/no\"}}<script src='/x'/>", "script /x"),
        ("<svg><template/><style/></svg><a href='/x'/>", "a /x"),
    ] {
        assert_eq!(links_of_file(FileKind::Xhtml, xhtml), [expected], "{xhtml}");
    }
}

#[test]
fn in_xhtml_a_style_has_references_and_comments() {
    for (style, expected) in [
        ("@import '/x?a=1&amp;b=2';", &["style /x?a=1&b=2"][..]),
        ("<!-- p{b:url(/no)} --> q{b:url(/x)}", &["style /x"]),
        ("<![CDATA[@import '/x?&amp;'; p > q {}]]>", &["style /x?&amp;"]),
        ("<!--/*--><![CDATA[/*><!--*/ p{b:url(/x)} /*]]>*/-->", &["style /x"]),
    ] {
        let xhtml = format!("<style>{style}</style><a href='/y'>y</a>");
        let expected = [expected, &["a /y"]].concat();
        assert_eq!(links_of_file(FileKind::Xhtml, &xhtml), expected, "{xhtml}");
    }
    // In HTML it is raw text.
    let html = "<style><!-- @import '/x?a=1&amp;b=2' --></style>";
    assert_eq!(links_of_file(FileKind::Html, html), ["style /x?a=1&amp;b=2"]);
}

#[test]
fn in_xhtml_a_link_that_closes_itself_has_no_text() {
    let mut extractor = LinkExtractor::new(ALL).for_xml();
    extractor.feed(b"<a href='/x'/>no<a href='/y'>y<br/>z</a>");
    let found = extractor.finish();
    let links: Vec<_> = found.links().map(|link| (link.href, link.text)).collect();
    assert_eq!(links, [("/x", ""), ("/y", "yz")]);
}

#[test]
fn a_style_sheet_may_declare_its_encoding() {
    let url = Url::parse("http://site.test/").unwrap();
    for (css, expected) in [
        (&b"@charset \"iso-2022-jp\"; a{b:url('/\x1b$B$\"\x1b(B')}"[..], "/\u{3042}"),
        (b"@charset \"iso-8859-1\"; a{b:url(/\xe9)}", "/\u{e9}"),
        (b"@charset \"utf-16\"; a{b:url(/\xc3\xa9)}", "/\u{e9}"),
        (b"@charset \"unknown\"; a{b:url(/\xc3\xa9)}", "/\u{e9}"),
    ] {
        let mut reader = PageReader::of_kind(FileKind::Css, &url, None, ALL);
        reader.feed(css);
        let page = reader.finish(&url);
        let links: Vec<_> = page.found.links().map(|link| link.href).collect();
        assert_eq!(links, [expected], "{}", css.escape_ascii());
    }
}

#[test]
fn a_manifest_names_files() {
    let manifest = r#"{"icons": [{"src": "/i.png"}], "start_url": "/", "name": "x"}"#;
    assert_eq!(links_of_file(FileKind::Manifest, manifest), ["manifest /i.png", "manifest /"]);
    assert_eq!(links_of_file(FileKind::Manifest, "no JSON"), [""; 0]);
}

/// Most servers know neither the type of a manifest nor the ending of its name.
#[test]
fn a_manifest_is_known_by_its_type_or_by_its_name() {
    let kind = |essence: &str, url: &str| {
        let content_type = ContentType::parse(essence.as_bytes());
        FileKind::of(&content_type, url, ALL, false)
    };
    for (essence, url) in [
        ("application/manifest+json", "http://site.test/x"),
        ("application/json", "http://site.test/manifest.json?v=1"),
        ("application/octet-stream", "http://site.test/site.webmanifest"),
        ("text/plain; charset=utf-8", "http://site.test/site.webmanifest"),
    ] {
        assert_eq!(kind(essence, url), Some(FileKind::Manifest), "{essence} {url}");
    }
    for (essence, url) in [
        ("application/json", "http://site.test/x.json?manifest.json"),
        ("image/png", "http://site.test/manifest.json"),
        ("application/octet-stream", "http://site.test/x"),
    ] {
        assert_eq!(kind(essence, url), None, "{essence} {url}");
    }
    assert_eq!(kind("text/html", "http://site.test/manifest.json"), Some(FileKind::Html));
}

/// Some servers call every packed file that.
#[test]
fn a_packed_sitemap_is_read_whatever_its_type() {
    let kind = |essence: &str, path: &str, may_be_sitemap| {
        let content_type = ContentType::parse(essence.as_bytes());
        FileKind::of(&content_type, &format!("http://site.test/{path}"), ALL, may_be_sitemap)
    };
    for essence in ["application/octet-stream", "Binary/Octet-Stream", "application/x-gzip"] {
        let packed = "sitemap.xml.gz?x#y";
        assert_eq!(kind(essence, packed, true), Some(FileKind::Sitemap), "{essence}");
        assert_eq!(kind(essence, packed, false), None, "{essence}");
    }
    for path in ["disc.iso", "x?sitemap.xml.gz", "x#sitemap.xml.gz"] {
        assert_eq!(kind("application/octet-stream", path, true), None, "{path}");
    }
}

#[test]
fn an_address_that_the_limit_cuts_is_no_link() {
    const LIMIT: usize = 1024 * 1024;
    let styles = ExtractOptions { styles: true, ..NOTHING };
    let url = Url::parse("http://site.test/").unwrap();
    let is_first = |page: Page| page.found.links().map(|link| link.href).eq(["/x"]);
    // The limit is behind `spri`.
    for last in ["a{b:url(/img/sprite.png)}", "a{b:url('/img/sprite.png')}", "a{b:src('/sprite')}"]
    {
        let first = "a{b:url(/x)}";
        let cut = last.find("te").unwrap();
        let blanks = " ".repeat(LIMIT - first.len() - cut);
        let css = format!("{first}{blanks}{last} c{{d:url(/no)}}");
        assert!(is_first(search(&format!("<style>{css}</style>"), styles)), "{last}");
        let mut reader = PageReader::of_kind(FileKind::Css, &url, None, styles);
        css.as_bytes().chunks(1000).for_each(|chunk| reader.feed(chunk));
        assert!(is_first(reader.finish(&url)), "a file, {last}");

        // Decoded, what was kept would have room again.
        let entities = "&amp;".repeat(blanks.len() / 5);
        let blanks = &blanks[5 * (blanks.len() / 5)..];
        let css = format!("{first}{entities}{blanks}{last}<![CDATA[c{{d:url(/no)}}]]>");
        assert!(is_first(search(&format!("<svg><style>{css}</style></svg>"), styles)), "{last}");
    }
}

/// No base changes which page that is.
#[test]
fn a_map_of_an_image_is_one_of_the_same_page() {
    let ids = ExtractOptions { ids: true, ..NOTHING };
    assert_found("<img usemap=#m><map name=m></map>", ids, &["img #m"]);
    assert_found("<base target=_top><img usemap=#m>", ids, &["img #m"]);
    assert_found("<base href=/other/><img usemap=#m><map name=m></map>", ids, &[]);
}

#[test]
fn a_style_sheet_in_a_comment_before_the_root_is_none() {
    let no = "<!-- <?xml-stylesheet href='/no.css'?> - > <!-- <?xml-stylesheet href='/no'?> -->";
    for (kind, root) in [(FileKind::Xhtml, "<html/>"), (FileKind::Svg, "<svg/>")] {
        let sheet = "<?xml-stylesheet href='/s.css'?>";
        let xml = format!("<?xml version='1.0'?>{no}{sheet}{no}{root}");
        assert_eq!(links_of_file(kind, &xml), ["link /s.css"], "{xml}");
        assert_eq!(links_of_file(kind, &format!("{sheet}<!--{root}")), ["link /s.css"]);
        assert_eq!(links_of_file(kind, &format!("<!--{sheet}{root}-->{root}")), [""; 0]);
    }
}

#[test]
fn a_srcset_is_parsed_by_its_grammar() {
    for (srcset, expected) in [
        ("/x", &["img /x"][..]),
        ("/x 1x", &["img /x"]),
        (" , /x 1x , /y", &["img /x", "img /y"]),
        ("/x,/y 2x", &["img /x,/y"]),
        ("/x, /y", &["img /x", "img /y"]),
        ("/x,,, /y", &["img /x", "img /y"]),
        ("/x 1x,/y 2x", &["img /x", "img /y"]),
        ("/x (a, b), /y", &["img /y"]),
        ("/x (a, b", &[]),
        ("data:,x 1x, /y", &["img data:,x", "img /y"]),
        ("", &[]),
        (" ,\n, ", &[]),
    ] {
        let images = ExtractOptions { images: true, ..NOTHING };
        assert_found(&format!("<img srcset='{srcset}'>"), images, expected);
    }
}

#[test]
fn a_meta_refresh_is_parsed_by_its_grammar() {
    for (content, expected) in [
        ("0; url=/x", Some("meta /x")),
        ("0;url=/x", Some("meta /x")),
        ("0,url=/x", Some("meta /x")),
        ("0 url=/x", Some("meta /x")),
        ("0;/x", Some("meta /x")),
        ("0; URL = /x", Some("meta /x")),
        ("  1.5 ; url='/x'junk", Some("meta /x")),
        (".5; url=/x", Some("meta /x")),
        ("0; url=&quot;/x", Some("meta /x")),
        ("0; urlx", Some("meta urlx")),
        ("5", None),
        ("0;", None),
        ("0; url=", None),
        ("url=/x", None),
        ("0x; url=/x", None),
        ("", None),
    ] {
        let html = format!("<meta http-equiv=refresh content=\"{content}\">");
        let refresh = ExtractOptions { refresh: true, ..NOTHING };
        assert_found(&html, refresh, expected.as_slice());
    }
    let html = "<meta name=refresh content='0;url=/x'><meta http-equiv=refresh>";
    assert_found(html, ExtractOptions::ALL, &[]);
}

#[test]
fn style_sheets_are_parsed_by_their_grammar() {
    for (css, expected) in [
        ("a{b:url(/x)}", &["style /x"][..]),
        ("a{b:URL( '/x' )}", &["style /x"]),
        ("a{b:url(\n/x\n)}", &["style /x"]),
        ("a{b:url(/x), url(/y)}", &["style /x", "style /y"]),
        ("a{b:url(\"/x)y\")}", &["style /x)y"]),
        ("a{b:url(/x\\)y)}", &["style /x)y"]),
        ("a{b:url(/\\78 y)}", &["style /xy"]),
        ("a{b:url('/\\\nx')}", &["style /x"]),
        ("a{b:url('/\\\r\nx')}", &["style /x"]),
        ("a{b:url('/\\\rx\\\x0cy\\\r\n\\\r\n\\7A')}", &["style /xyz"]),
        ("a{b:url('/\\78\r\ny')} a{b:url(/\\78\r\nz)}", &["style /xy", "style /xz"]),
        ("a{b:url(/\\78\ry\\7A\x0c)} a{b:url(/\\78\r\r\n)}", &["style /xyz", "style /x"]),
        ("a{b:'\\\r'url(/x)} a{b:'no end\r} a{b:url(/y)}", &["style /x", "style /y"]),
        ("@import \"/x\"; @import url(/y) print;", &["style /x", "style /y"]),
        ("@charset 'x'; @layer a; @import '/x' supports(b: url(/no));", &["style /x"]),
        ("a{b:image-set('/x' 1x, url(/y) 2x type('no')), '/no'}", &["style /x", "style /y"]),
        ("a{b:-webkit-image-set(\"/x\" 1x)} c{d:src('/y')}", &["style /x", "style /y"]),
        ("@font-face { src: url(/x) format('no'), local('no') }", &["style /x"]),
        ("@media x { a{b:url(/x)} }", &["style /x"]),
        ("@IMPORT '/x'", &["style /x"]),
        ("@importx '/no'; @import; '/no'", &[]),
        ("a{b:'url(/no)'; content: \"@import '/no'\"}", &[]),
        ("/* url(/no) */ a{b:url(/x)} /* url(/no)", &["style /x"]),
        ("a{b:myurl(/no) -url(/no)}", &[]),
        ("a{b:\\url(/no)}", &[]),
        ("a{b:url()} a{b:url('')}", &[]),
        ("a{b:url(a b)} a{b:url(a'b)} a{b:url(/x)}", &["style /x"]),
        ("a{b:'no end\n} a{b:url(/x)}", &["style /x"]),
        ("a{b:url(/x", &["style /x"]),
        ("a{b:url('/x", &["style /x"]),
        ("\u{fc}url(/no) a{b:url(/\u{fc})}", &["style /\u{fc}"]),
    ] {
        let styles = ExtractOptions { styles: true, ..NOTHING };
        assert_found(&format!("<style>{css}</style>"), styles, expected);
    }
}

#[test]
fn fragment_targets_are_found() {
    let html =
        "<p id=one><a name=two><a name=three href=/x id=four><img name=no><p id=''><p id=a&amp;b>";
    let page = search(html, ExtractOptions { ids: true, ..NOTHING });
    assert_eq!(page.found.ids().collect::<Vec<_>>(), ["one", "two", "three", "four", "", "a&b"]);
    assert_eq!(page.found.links().map(|link| link.href).collect::<Vec<_>>(), ["/x"]);
    assert_eq!(search(html, NOTHING).found.ids().len(), 0);
}

/// Only its content is inert. One that became a shadow root is no element of the page.
#[test]
fn a_template_itself_is_a_target() {
    for (html, expected) in [
        ("<template id=x><p id=no></template><p id=y>", &["x", "y"][..]),
        ("<template><template id=no></template></template>", &[]),
        ("<template shadowrootmode=open id=no><p id=x></template>", &["x"]),
        ("<template shadowrootmode=odd id=x><template id=no></template></template>", &["x"]),
    ] {
        let page = search(html, ExtractOptions { ids: true, ..NOTHING });
        assert_eq!(page.found.ids().collect::<Vec<_>>(), expected, "{html}");
        assert_eq!(search(html, NOTHING).found.ids().len(), 0);
    }
}

#[test]
fn a_document_in_a_document_is_read_whatever_is_checked() {
    let html = nested_documents(3, "/", "<a href=/x>x</a>");
    for options in [
        ExtractOptions { details: true, ..NOTHING },
        ExtractOptions { ids: true, ..NOTHING },
        ExtractOptions { images: true, ..NOTHING },
    ] {
        assert_found(&html, options, &["a /x"]);
    }
}

#[test]
fn each_link_has_a_position() {
    let html = "<a href=/1>\n  <p>\u{fc}\u{20ac}<a\nhref=/2>\r\n\n<area href=/3><img src=/4>\
                <style>\n\n@import '/5'</style>";
    let page = search(html, ExtractOptions::ALL);
    let positions: Vec<_> =
        page.found.links().map(|link| (link.href, link.position.unwrap())).collect();
    let at = |line, column| Position { line, column };
    assert_eq!(
        positions,
        [
            ("/1", at(1, 1)),
            ("/2", at(2, 8)),
            ("/3", at(5, 1)),
            ("/4", at(5, 15)),
            ("/5", at(5, 27))
        ]
    );
    let page = search(html, NOTHING);
    assert!(page.found.links().all(|link| link.position.is_none() && link.text.is_empty()));
}

#[test]
fn each_link_has_a_text() {
    for (html, text) in [
        ("<a href=/x>text</a> no", "text"),
        ("<a href=/x> some \n <b>bo</b>ld text </a>", "some bold text"),
        ("<a href=/x>a &amp; b&#33;</a>", "a & b!"),
        ("<a href=/x>&am<b>p;</a>", "&amp;"),
        ("<a href=/x><img src=/i alt='a picture'> of <!-- no --> x</a>", "a picture of x"),
        ("<a href=/x><script>no</script><title>yes</title>", "yes"),
        ("<a href=/x>one<a href=/y>two", "one"),
        ("<a href=/x>unfinished", "unfinished"),
        ("<a href=/x></a>text", ""),
        ("<area href=/x alt='the  place'>", "the place"),
    ] {
        let page = search(html, ExtractOptions { details: true, ..NOTHING });
        assert_eq!(page.found.links().next().unwrap().text, text, "{html}");
    }
    let html = format!("<a href=/x>{}</a>", "\u{20ac}uro ".repeat(1000));
    let page = search(&html, ExtractOptions { details: true, ..NOTHING });
    assert_eq!(page.found.links().next().unwrap().text.chars().count(), 80);
}
