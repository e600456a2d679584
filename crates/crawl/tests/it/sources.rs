//! Files and lists of URLs as sources: folders, HTML, Markdown, stdin.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use demo_site::scripted::Server;
use serde_json::Value;

use crate::program::{ProgramOutput, Running, Scratch, crawl, rows, run};

/// A temporary folder of files, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("crawl-files-{}-{number}", std::process::id()));
        for (name, contents) in files {
            let file = folder.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, contents).unwrap();
        }
        Self(folder)
    }

    /// Runs the program in the folder.
    fn run(&self, arguments: &[&str]) -> ProgramOutput {
        let mut command = crawl(arguments);
        command.current_dir(&self.0);
        Running::start(command).wait()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A site as a generator makes it, with four broken links.
fn public() -> Folder {
    Folder::with(&[
        (
            "public/index.html",
            "<h1 id=top>Home</h1>\n<a href=docs>docs</a> <a href=/about>about</a>\n\
             <a href=\"a%20b/c%23d.html\">c</a> <a href=nope.html>nope</a>\n\
             <a href=docs/#part>p</a><a href=docs/index.html#no>q</a><a href=assets/>assets</a>",
        ),
        (
            "public/docs/index.html",
            "<h2 id=part>x</h2><a href=../index.html?q#top>up</a><img src=i.png>",
        ),
        ("public/about.html", "<a href=docs/>docs</a><a href=../../../etc/passwd>far</a>"),
        ("public/a b/c#d.html", "<a href=/>home</a>"),
        ("public/orphan.html", "\n\n<a href=gone/>gone</a>"),
        ("public/assets/style.css", ""),
        ("public/.git/config.html", "<a href=x>"),
    ])
}

#[test]
fn a_folder_is_checked_without_a_server() {
    let folder = public();
    let output = folder.run(&["./public", "--check", "images,fragments"]).expect_code(1);
    assert_eq!(output.stderr, "");
    assert_eq!(
        output.stdout,
        "no such file  public/docs/i.png\n    on public/docs/index.html, line 1: <img>\n\n\
         missing fragment  public/docs/index.html#no\n    \
         no element has the id 'no'\n    \
         on public/index.html, line 4: q\n\n\
         no such file  public/etc/passwd\n    on public/about.html, line 1: far\n\n\
         no such file  public/gone\n    on public/orphan.html, line 3: gone\n\n\
         no such file  public/nope.html\n    on public/index.html, line 3: nope\n\n\
         Checked 11 URLs: 5 are broken (5 links lead to them).\n"
    );
}

#[test]
fn each_file_is_a_row_in_every_format() {
    let folder = public();
    let output = folder.run(&["public", "--format", "jsonl"]).expect_code(1);
    let rows = rows(&output.stdout);
    let fine = rows.iter().filter(|(_, row)| row["status"] == 200).map(|(file, _)| &**file);
    let expected = [
        "public/a b/c#d.html",
        "public/about.html",
        "public/assets",
        "public/docs/index.html",
        "public/index.html",
        "public/orphan.html",
    ];
    assert_eq!(fine.collect::<Vec<_>>(), expected);
    let sarif = folder.run(&["public", "--format", "sarif"]).expect_code(1).stdout;
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let places = results.iter().map(|result| &result["locations"][0]["physicalLocation"]);
    let is_place = |place: &Value| {
        place["artifactLocation"]["uri"] == "public/index.html" && place["region"]["startLine"] == 3
    };
    assert_eq!(places.filter(|place| is_place(place)).count(), 1, "{sarif}");
    let github = folder.run(&["public", "--format", "github"]).expect_code(1).stdout;
    let annotation = "::error file=public/index.html,line=3,title=Broken link%3A no such file::\
                      public/nope.html: nope\n";
    assert!(github.contains(annotation), "{github}");
}

#[test]
fn what_is_not_known_of_a_place_is_not_said() {
    let folder = Folder::with(&[
        ("public/index.html", "<link rel=manifest href=app.webmanifest>"),
        ("public/app.webmanifest", r#"{"icons": [{"src": "paper.png"}]}"#),
    ]);
    let github = folder.run(&["public", "--format", "github"]).expect_code(1).stdout;
    let annotation = "::error file=public/app.webmanifest,title=Broken link%3A no such file::\
                      public/paper.png\n";
    assert!(github.contains(annotation), "{github}");
    let junit = folder.run(&["public", "--format", "junit"]).expect_code(1).stdout;
    assert!(junit.contains(">on public/app.webmanifest\n</failure>"), "{junit}");
}

#[test]
fn links_to_the_base_url_lead_to_files() {
    let server = Server::start(|request, reply| match request.path() {
        "/fine" => reply.page(""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let base = server.url("/project");
    let page = format!(
        "<a href={base}/a.html>a</a><a href={base}/b.html>b</a>\n\
         <a href=/fine>fine</a><a href=/gone>gone</a><a href=/projects>other</a>"
    );
    let with_user =
        page.clone() + &format!("<a href={}>me</a>", server.url("/me").replace("//", "//me@"));
    let folder = Folder::with(&[("out/index.html", &page), ("out/a.html", "")]);
    let check = |arguments: &[&str]| {
        let base = ["out", "--base-url", &*base];
        folder.run(&[&base, arguments].concat()).expect_code(1).stdout
    };
    let inside = check(&[]);
    assert_eq!(
        inside,
        "no such file  out/b.html\n    on out/index.html, line 1: b\n\n\
         Checked 3 URLs: 1 is broken (1 link leads to it); \
         not checked: 3 on other sites (--external).\n"
    );
    let beside = Folder::with(&[("out/index.html", &with_user), ("out/a.html", "")]);
    // With a name in front of its host, a URL is another one.
    let inside = inside.replace("3 on other sites", "4 on other sites");
    assert_eq!(beside.run(&["out", "--base-url", &base]).expect_code(1).stdout, inside);
    assert_eq!(server.requests(), 0);
    let lines = folder.run(&["-v", "out", "--base-url", &base, "--external", "--format", "jsonl"]);
    assert!(lines.stderr.contains("[info] out/b.html 404 "), "{}", lines.stderr);
    let rows = rows(&lines.expect_code(1).stdout);
    assert_eq!(rows[&server.url("/gone")]["referrer"], "out/index.html");
    let all = check(&["--external"]);
    for url in [server.url("/gone"), server.url("/projects")] {
        assert!(all.contains(&format!("404 Not Found  {url}\n    on out/index.html, line 2: ")));
    }
    assert!(all.contains("Checked 6 URLs: 3 are broken"), "{all}");
    // Twice a `HEAD`, and then a `GET`, since it is a page.
    assert_eq!((server.hits("/fine"), server.hits("/project/b.html")), (4, 0));
}

/// A URL beside the folder that leads to another one there is checked and not crawled.
#[test]
fn a_redirect_beside_the_folder_is_not_followed_into_the_site() {
    let server = Server::start(|request, reply| match request.path() {
        "/blog" => reply.status(301, "Moved", &[("Location", "/blog/")], ""),
        "/blog/" => reply.page("<a href=/blog/gone>x</a><a href=/project/gone>x</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let base = server.url("/project/");
    let folder = Folder::with(&[("out/index.html", "<a href=/blog>blog</a>")]);
    for arguments in [&["--external"][..], &["--external", "--lenient"]] {
        let base = ["out", "--base-url", &*base];
        let report = folder.run(&[&base, arguments].concat()).expect_code(0).stdout;
        assert!(report.starts_with("Checked 3 URLs: nothing is broken; 1 redirect"), "{report}");
    }
    assert_eq!((server.hits("/blog/gone"), server.hits("/project/gone")), (0, 0));
}

/// Neither a folder for a base URL with a path, nor `--external`, makes a difference.
#[test]
fn links_of_files_that_are_no_urls_are_broken() {
    let page = "<a href='htp://typo.test/page'>x</a> <a href='https://exa mple.com/docs'>x</a>";
    let folder = Folder::with(&[("out/index.html", page)]);
    for base_url in ["https://a.test/", "https://a.test/project/"] {
        let arguments = ["out", "--base-url", base_url, "--format", "jsonl"];
        let lines = folder.run(&arguments).expect_code(1).stdout;
        assert_eq!(rows(&lines).len(), 3, "{lines}");
    }
}

/// No network is asked.
#[test]
fn a_path_with_odd_bytes_has_no_file() {
    let server = Server::start(|_, reply| reply.page("")).unwrap();
    let page = "<a href=/a%2Fb>x</a> <a href=/caf%E9.html>x</a>";
    let folder = Folder::with(&[("out/index.html", page)]);
    let report = folder.run(&["out", "--base-url", &server.url("/")]).expect_code(1).stdout;
    assert_eq!(report.matches("no such file").count(), 2, "{report}");
    assert_eq!(server.requests(), 0);
}

/// A link is one click, whether it is in a file or on a page.
#[test]
fn the_limit_on_depth_counts_from_the_files() {
    let folder = Folder::with(&[("a.html", "<a href=gone.html>x</a>")]);
    let report = folder.run(&["a.html", "--max-depth", "1"]).expect_code(1).stdout;
    assert!(report.starts_with("no such file  gone.html\n"), "{report}");
    let report = folder.run(&[".", "--max-depth", "0"]).expect_code(0).stdout;
    assert_eq!(
        report,
        "Checked 1 URL: nothing that was checked is broken; 1 URL beyond --max-depth.\n"
    );
    // What is left to the network does not keep the files of the next level back.
    let server = Server::start(|_, reply| reply.page("")).unwrap();
    let page = format!("<img src={}><link rel=stylesheet href=a.css>", server.url("/x.png"));
    let folder = Folder::with(&[
        ("out/index.html", &page),
        ("out/a.css", "i { background: url(bg.png) }"),
        ("out/bg.png", ""),
    ]);
    let report = folder.run(&["out", "--external", "--max-depth", "1"]).expect_code(0).stdout;
    assert_eq!(report, "Checked 4 URLs: nothing is broken.\n");
}

/// Only the host of the base URL is in the folder: with `www.` or without, but not another
/// port, nor another host that `--lenient` adds.
#[test]
fn no_other_host_has_files() {
    let server = Server::start(|request, reply| match request.path() {
        "/fine" => reply.page(""),
        _ => reply.status(404, "Not Found", &[], ""),
    })
    .unwrap();
    let page = format!(
        "<a href={}>fine</a><a href={}>gone</a><a href=http://www.localhost:1/no.html>no</a>",
        server.url("/fine"),
        server.url("/gone"),
    );
    let folder = Folder::with(&[("out/index.html", &page)]);
    let gone = format!("404 Not Found  {}\n    on out/index.html, line 1", server.url("/gone"));
    for (base_url, flag) in
        [("http://127.0.0.1:1/", "--lenient"), ("http://127.0.0.1:1/", "--external")]
    {
        let report = folder.run(&["out", "--base-url", base_url, flag]).expect_code(1).stdout;
        assert!(report.contains(&gone), "{flag}: {report}");
        assert!(!report.contains("/fine"), "{flag}: {report}");
    }
    let report = folder.run(&["out", "--base-url", "http://localhost:1/"]).expect_code(1).stdout;
    assert!(report.starts_with("no such file  out/no.html\n"), "{report}");
}

#[test]
fn a_sitemap_of_a_folder_has_urls() {
    let folder =
        Folder::with(&[("out/index.html", "<a href=b%20c.html>x</a>"), ("out/b c.html", "")]);
    let arguments = ["out", "--base-url", "https://a.test/x", "--format", "sitemap"];
    let sitemap = folder.run(&arguments).expect_code(0).stdout;
    for page in ["https://a.test/x/index.html", "https://a.test/x/b%20c.html"] {
        assert!(sitemap.contains(&format!("<url><loc>{page}</loc></url>")), "{sitemap}");
    }
}

/// A colon would end a scheme.
#[test]
fn a_path_in_sarif_is_a_reference() {
    let folder = Folder::with(&[("\u{fc}b:er [1].html", "<a href=gone>x</a>")]);
    let sarif = folder.run(&[".", "--format", "sarif"]).expect_code(1).stdout;
    assert!(sarif.contains("\"uri\":\"%C3%BCb%3Aer%20%5B1%5D.html\""), "{sarif}");
}

/// Two URLs may lead to one path.
#[test]
fn each_url_of_a_file_has_its_own_links_in_junit() {
    let folder = Folder::with(&[
        ("out/a.html", "<a href=gone>x</a>"),
        ("out/b.html", "<a href='gone?x'>x</a>"),
    ]);
    let junit = folder.run(&["out", "--format", "junit"]).expect_code(1).stdout;
    assert!(junit.contains(" failures=\"2\" "), "{junit}");
    for page in ["out/a.html", "out/b.html"] {
        assert_eq!(junit.matches(&format!(">on {page}, line 1: x\n<")).count(), 1, "{junit}");
    }
}

#[test]
fn the_limit_on_time_holds_for_files() {
    let names: Vec<String> = (0..500).map(|n| format!("{n}.html")).collect();
    let page = "<a href=x>x</a>".repeat(2_000);
    let files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*page)).collect();
    let folder = Folder::with(&files);
    let arguments = [".", "--max-time", "1ms", "--format", "json"];
    let output = folder.run(&arguments);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["stopped"], "max_time");
    assert!(report["total"].as_u64().unwrap() < 500, "{}", report["total"]);
}

/// The URLs of a file are one row, and count as one.
#[test]
fn as_much_is_done_as_there_are_rows() {
    let folder = Folder::with(&[
        ("out/index.html", "<a href=docs>a</a><a href=docs/>b</a><a href=/docs/index>c</a>"),
        ("out/docs/index.html", ""),
    ]);
    let report = folder.run(&["out", "--format", "json"]).expect_code(0).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["done"], &report["total"]), (&Value::from(2), &Value::from(2)));
}

/// As a server would send it: in XML, every element may close itself.
#[test]
fn an_xhtml_file_is_xml() {
    let folder = Folder::with(&[
        (
            "index.xhtml",
            "<html><head><script src='a.js'/><title/></head><body><a href='gone.html'>x</a>\
             <a href='other.xhtml#no'>y</a><link rel='stylesheet' href='STYLE.CSS'/></body></html>",
        ),
        ("a.js", ""),
        ("STYLE.CSS", "a { background: url(gone.png) }"),
        ("other.xhtml", "<html><iframe/><p id='yes'/></html>"),
    ]);
    let flags = ["index.xhtml", "--check", "images,scripts,styles,fragments", "--format", "jsonl"];
    let rows = rows(&folder.run(&flags).expect_code(1).stdout);
    for broken in ["gone.html", "gone.png", "other.xhtml#no"] {
        assert!(rows.contains_key(broken), "{broken}: {rows:?}");
    }
}

#[test]
fn a_file_that_is_too_long_is_read_to_the_limit() {
    let text = "# A heading\n".repeat(1_000);
    let folder = Folder::with(&[("long.md", &text), ("a.html", "<a href=long.md#a-heading>x</a>")]);
    let output = folder.run(&[".", "--check", "fragments", "--max-body-size", "2000"]);
    let stderr = output.expect_code(0).stderr;
    assert_eq!(stderr, "[warning] long.md: only the first 2000 bytes were read\n");
}

#[test]
fn markdown_files_are_checked_with_their_own_lines() {
    let folder = Folder::with(&[
        (
            "README.md",
            "# Project\n\nSee [the guide](docs/guide.md#part-two),\n[gone](docs/gone.md), \
             [wrong](docs/guide.md#part-three)\nand [the folder](docs/).\n\n\
             ```\n[no link](x)\n```\n![logo](/docs/logo.png)\n",
        ),
        ("docs/guide.md", "Part two\n--------\n[up](../README.md#project) [not](asked.md)"),
        ("docs/logo.png", ""),
    ]);
    let arguments = ["--check", "images,fragments", "--referrers", "all", "README.md"];
    let output = folder.run(&arguments).expect_code(1);
    assert_eq!(
        output.stdout,
        "no such file  docs/gone.md\n    on README.md, line 4: gone\n\n\
         missing fragment  docs/guide.md#part-three\n    no element has the id 'part-three'\n    \
         on README.md, line 4: wrong\n\n\
         Checked 6 URLs: 2 are broken (2 links lead to them).\n"
    );
    // Of a folder every file is checked.
    let output = folder.run(&["."]).expect_code(1).stdout;
    assert!(output.contains("no such file  docs/asked.md\n    on docs/guide.md, line 3: not\n"));
    // Files in a folder beside the current one.
    fs::create_dir(folder.0.join("beside")).unwrap();
    let mut command = crawl(&["../docs/guide.md"]);
    command.current_dir(folder.0.join("beside"));
    let output = Running::start(command).wait().expect_code(1).stdout;
    let target = folder.0.canonicalize().unwrap().join("docs/asked.md");
    assert!(output.contains(&format!("no such file  {}\n", target.display())), "{output}");
}

#[test]
fn sources_that_cannot_be_read_are_named() {
    let folder = Folder::with(&[
        ("a.html", ""),
        ("empty/x.txt", ""),
        ("list", "http://\n"),
        ("sitemap.toml", "sitemap = true"),
    ]);
    for (arguments, named, code) in [
        (&["./nothing"][..], "./nothing", 2),
        (&["/no/such/folder"], "/no/such/folder", 2),
        (&["a.html", "http://localhost/"], "URLs and files cannot be mixed in one run", 2),
        (&["a.htm"], "no file or folder named 'a.htm': did you mean 'a.html'?", 2),
        (&["empyt"], "no file or folder named 'empyt': did you mean 'empty'?", 2),
        (&["empty/y.txt"], "no file or folder named 'empty/y.txt': did you mean 'empty/x.txt'?", 2),
        (&["nothing"], "no file or folder named 'nothing' (for a site, write https://nothing)", 2),
        (&["NEWS.md"], "no file or folder named 'NEWS.md' (for a site, write https://NEWS.md)", 2),
        (&["a.html", "*.md"], "no file or folder named '*.md'\n", 2),
        (&["empty", "empty"], "no HTML or Markdown files in these folders", 3),
        (&["empty", "a.html", "--base-url", "http://localhost/"], "--base-url", 2),
        (&["a.html", "--base-url", "http://localhost/"], "--base-url", 2),
        (&["localhost", "--base-url", "http://localhost/"], "--base-url", 2),
        (&["--input", "list"], "--input list, line 1: 'http://'", 2),
        (&["a.html", "--state", "x"], "--state", 2),
        (&[".", "--sitemap", "--base-url", "http://localhost:1/"], "--sitemap", 2),
        (&[".", "--config", "sitemap.toml"], "--sitemap", 2),
        (&[".", "--format", "sitemap"], "--base-url", 2),
        (&["a.html", "-o", "sitemap:x"], "--base-url", 2),
        (&["empty"], "no HTML or Markdown files in empty", 3),
    ] {
        let output = folder.run(arguments).expect_code(code);
        assert!(output.stderr.contains(named), "{arguments:?}: {}", output.stderr);
        assert_eq!(output.stdout, "", "{arguments:?}");
    }
}

/// A file without links to check is no success. Its name decides if it is read for them.
#[test]
fn files_without_a_page_are_a_problem() {
    let folder = Folder::with(&[
        ("README", "[gone](gone)"),
        ("index.php", ""),
        ("notes.txt", ""),
        ("a.md", ""),
        ("style.css", "a { background: url(gone.png) }"),
        ("logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'><a href='gone.svg'/></svg>"),
    ]);
    for files in [&["README"][..], &["index.php"], &["notes.txt", "README"]] {
        let output = folder.run(files).expect_code(3);
        let problem = format!("{} is not an HTML or Markdown file", files[0]);
        assert!(output.stderr.contains(&problem), "{files:?}: {}", output.stderr);
        assert_eq!(output.stdout, "", "{files:?}");
    }
    folder.run(&["notes.txt", "a.md"]).expect_code(0);
    for file in ["style.css", "logo.svg"] {
        folder.run(&[file]).expect_code(1);
    }
}

/// Its reader sees the list of what is in the folder.
#[test]
fn a_single_file_may_link_to_a_folder_of_pages() {
    let folder = Folder::with(&[
        ("README.md", "[a](docs/) [b](docs) [c](/docs/) [d](empty/)"),
        ("docs/one.html", ""),
        ("docs/two.html", ""),
    ]);
    let report = folder.run(&["README.md"]).expect_code(1).stdout;
    assert_eq!(report.matches("no such file").count(), 1, "{report}");
    assert!(report.starts_with("no such file  empty\n"), "{report}");
    // A server of the folder as a site would have no page there.
    let report = folder.run(&["."]).expect_code(1).stdout;
    assert!(report.contains("no such file  docs\n"), "{report}");
}

/// Editors and file managers make them. One that a page links to is part of the site.
#[test]
fn hidden_files_of_a_folder_are_no_pages() {
    let folder = Folder::with(&[
        ("index.html", "<a href=.linked.html>x</a><a href=assets/>y</a>"),
        (".linked.html", ""),
        (".#index.html", "<a href=gone>x</a>"),
        ("._index.html", "<a href=gone>x</a>"),
        ("assets/._a.html", "<a href=gone>x</a>"),
    ]);
    let lines = folder.run(&[".", "--format", "jsonl"]).expect_code(0).stdout;
    let files: Vec<String> = rows(&lines).into_keys().collect();
    assert_eq!(files, [".linked.html", "assets", "index.html"]);
}

/// Nor a trace, a cache or a baseline; nor is the file with the settings replaced.
#[test]
fn a_report_does_not_replace_a_file_that_is_checked() {
    let files = ["README.md", "page.html", "my.toml", "crawl.toml"];
    let folder = Folder::with(&files.map(|file| (file, "# kept")));
    let absolute = folder.0.join("page.html");
    for arguments in [
        &["README.md", "-o", "README.md"][..],
        &["page.html", "README.md", "-o", "csv:x", "-o", "json:./README.md"],
        &["page.html", "--trace", "page.html"],
        &["README.md", "page.html", "--trace", absolute.to_str().unwrap()],
        &["README.md", "--cache", "README.md"],
        &["README.md", "--config", "my.toml", "-o", "my.toml"],
        &["README.md", "--config", "my.toml", "--cache", "my.toml"],
        &["README.md", "-o", "crawl.toml"],
    ] {
        let output = folder.run(arguments).expect_code(2);
        assert!(output.stderr.contains("the same file"), "{arguments:?}: {}", output.stderr);
    }
    for file in files {
        assert_eq!(fs::read_to_string(folder.0.join(file)).unwrap(), "# kept", "{file}");
    }
    // What is thrown away may be what has no settings.
    folder.run(&["README.md", "--config", "/dev/null", "-o", "/dev/null"]).expect_code(0);
}

/// As a shell does with `*.md`, which lists the file that it has made for stdout.
#[test]
fn a_report_may_be_redirected_into_a_file_that_is_listed() {
    let folder = Folder::with(&[("README.md", "# kept"), ("links.md", "")]);
    let links = folder.0.join("links.md");
    let mut command = crawl(&["README.md", "links.md"]);
    command.current_dir(&folder.0).stdout(fs::File::create(&links).unwrap());
    assert_eq!(command.status().unwrap().code(), Some(0));
    let report = fs::read_to_string(links).unwrap();
    assert!(report.starts_with("Checked 2 URLs"), "{report}");
}

/// Runs the program with this text on stdin.
fn run_with_stdin(text: &str, arguments: &[&str]) -> ProgramOutput {
    let file = Scratch::with(text);
    let mut command = crawl(arguments);
    command.stdin(Stdio::from(fs::File::open(file.path()).unwrap()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    ProgramOutput { status: output.status, stdout, stderr }
}

#[test]
fn a_file_without_end_is_refused() {
    for flag in ["--input", "--cookie-jar", "--baseline", "--config"] {
        let output = run(&[flag, "/dev/zero", "http://127.0.0.1:1/"]).expect_code(2);
        assert!(output.stderr.contains("it has more than 256 MiB"), "{flag}: {}", output.stderr);
    }
}

#[test]
fn urls_come_from_stdin_or_a_file() {
    let site = Server::start(|request, reply| match request.path() {
        "/gone" => reply.status(404, "Not Found", &[], ""),
        _ => reply.page("<a href=/linked>x</a>"),
    })
    .unwrap();
    // As Windows writes it: with a byte order mark.
    let list = format!("\u{feff}{}\r\n# a list\n\n  {}\n", site.url("/a"), site.url("/gone"));
    let arguments = ["--max-depth", "0", "-q", "--format", "jsonl"];
    let stdin = run_with_stdin(&list, &[&arguments[..], &["-"]].concat()).expect_code(1);
    let expected = ["/a", "/gone"].map(|path| site.url(path));
    assert_eq!(rows(&stdin.stdout).into_keys().collect::<Vec<_>>(), expected);
    let file = Scratch::with(&list);
    let root = site.url("/b");
    let input = run(&[&arguments[..], &["--input", file.as_str(), &root]].concat()).expect_code(1);
    assert_eq!(rows(&input.stdout).len(), 3);
    let bad = run_with_stdin("http://exa mple/", &["-"]).expect_code(2).stderr;
    assert!(bad.contains("stdin, line 1: 'http://exa mple/'"), "{bad}");
    // A line with a password is not repeated.
    let bad = run_with_stdin("\nhttp://me:s3cret@host/", &["-"]).expect_code(2).stderr;
    assert!(bad.contains("stdin, line 2: give name and password with --user"), "{bad}");
    assert!(!bad.contains("s3cret"), "{bad}");
    let empty = run_with_stdin("\n# nothing\n", &["-"]).expect_code(0);
    assert_eq!(empty.stderr, "[warning] the list is empty, so there is nothing to check\n");
}

/// `git ls-files '*.md' | crawl -`: what is not there is counted, and the rest is checked.
#[test]
fn a_list_may_have_files() {
    let folder = Folder::with(&[
        ("a.md", "[no](none.md)"),
        ("docs/b.md", "[a](../a.md)"),
        ("list", "a.md\n# a comment\ndocs/b.md\ngone.md\nREADME\n"),
        ("mixed", "a.md\nhttp://localhost/\n"),
        ("missing", "gone.md\n"),
    ]);
    let output = folder.run(&["--input", "list"]).expect_code(1);
    assert!(output.stdout.starts_with("no such file  none.md\n    on a.md, line 1: no\n"));
    assert!(output.stdout.contains("Checked 3 URLs: 1 is broken"), "{}", output.stdout);
    let skipped = "[warning] 2 listed files were skipped, since they do not exist: gone.md, ...\n";
    assert_eq!(output.stderr, skipped);
    let mixed = folder.run(&["--input", "mixed"]).expect_code(2).stderr;
    assert!(mixed.contains("URLs and files cannot be mixed"), "{mixed}");
    let missing = folder.run(&["--input", "missing"]).expect_code(2).stderr;
    assert!(missing.contains("none of the listed files exists: gone.md"), "{missing}");
}

#[test]
fn several_folders_and_files_are_checked_in_one_run() {
    let folder = Folder::with(&[
        ("site/index.html", "<a href=/about.html>a</a><a href=gone.html>g</a>"),
        ("site/about.html", "<a href=/style.css>s</a>"),
        ("docs/a.md", "[b](b.md) [site](../site/)"),
        ("docs/b.md", ""),
        ("README.md", "[docs](docs/) [no](docs/c.md)"),
    ]);
    let output = folder.run(&["site", "docs", "README.md"]).expect_code(1).stdout;
    for broken in [
        "no such file  docs/c.md\n    on README.md, line 1: no\n",
        "no such file  site/gone.html\n    on site/index.html, line 1: g\n",
        "    on site/about.html, line 1: s\n",
    ] {
        assert!(output.contains(broken), "{broken}: {output}");
    }
    assert!(output.contains(": 3 are broken"), "{output}");
}
