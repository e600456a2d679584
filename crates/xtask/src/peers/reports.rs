//! The reports of the peers, in the form for machines that each has, read as the targets
//! that it takes for broken.

use std::collections::BTreeSet;

use serde_json::Value;

/// The targets in a report, as they are written there.
pub(super) type Targets = BTreeSet<String>;

/// A report that was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) targets: Targets,
    /// False if its end is missing, since the program has crashed or was stopped.
    pub(super) is_whole: bool,
}

/// Reads what is broken in the report of `crawl --format json`.
pub(super) fn crawl(report: &str) -> Report {
    let json: Option<Value> = serde_json::from_str(report).ok();
    let broken = json.as_ref().and_then(|json| json["broken"].as_array()).into_iter().flatten();
    let targets = broken.filter_map(|broken| Some(broken["url"].as_str()?.to_owned())).collect();
    Report { targets, is_whole: json.is_some() }
}

/// Reads the pages in the rows of `crawl --format json`.
pub(super) fn pages_of_crawl(report: &str) -> Vec<String> {
    let json: Option<Value> = serde_json::from_str(report).ok();
    let rows = json.as_ref().and_then(|json| json["rows"].as_array()).into_iter().flatten();
    let pages = rows.filter(|row| row["outcome"] == "page" && row["status"] == 200);
    pages.filter_map(|row| Some(row["url"].as_str()?.to_owned())).collect()
}

/// Reads the list at the end of wget's log.
pub(super) fn wget(report: &str) -> Report {
    let is_title = |line: &str| line.starts_with("Found ") && line.contains(" broken link");
    let mut list = report.lines().skip_while(|line| !is_title(line));
    let has_some = list.next().is_some_and(|title| !title.starts_with("Found no "));
    let list = list.skip(1).take_while(|line| has_some && !line.is_empty());
    Report {
        targets: list.map(str::to_owned).collect(),
        is_whole: report.contains("\nFINISHED --"),
    }
}

/// Reads the log of wget2.
pub(super) fn wget2(report: &str) -> Report {
    let failed = report.lines().filter(|line| line.contains("HTTP ERROR response "));
    let target = |line: &str| Some(line.rsplit_once(" [")?.1.trim_end_matches(']').to_owned());
    Report {
        targets: failed.filter_map(target).collect(),
        is_whole: report.contains("\nDownloaded: "),
    }
}

/// Reads the JSON of lychee.
pub(super) fn lychee(report: &str) -> Report {
    let json: Option<Value> = serde_json::from_str(report).ok();
    let map = |name: &str| json.as_ref()?[name].as_object();
    let maps = ["error_map", "timeout_map"].into_iter().filter_map(map);
    let links = maps.flat_map(|map| map.values()).filter_map(Value::as_array).flatten();
    let target = |link: &Value| {
        let url = link["url"].as_str()?;
        // It has no URL for what is none, and the text in quotes.
        let text = || link["status"]["text"].as_str()?.split('"').nth(1);
        Some(if url == "error:" { text()? } else { url }.to_owned())
    };
    Report { targets: links.filter_map(target).collect(), is_whole: json.is_some() }
}

/// Reads the JSON of linkinator.
pub(super) fn linkinator(report: &str) -> Report {
    // A warning may stand before it.
    let begin = report.find('{').unwrap_or(0);
    let json: Option<Value> = serde_json::from_str(&report[begin..]).ok();
    let links = json.as_ref().and_then(|json| json["links"].as_array());
    let broken = links.into_iter().flatten().filter(|link| link["state"] == "BROKEN");
    let targets = broken.filter_map(|link| Some(link["url"].as_str()?.to_owned())).collect();
    Report { targets, is_whole: links.is_some() }
}

/// Reads the CSV of linkchecker. Fragments that it does not find are warnings.
pub(super) fn linkchecker(report: &str) -> Report {
    let mut reader = csv::ReaderBuilder::new();
    reader.delimiter(b';').comment(Some(b'#')).flexible(true);
    let mut reader = reader.from_reader(report.as_bytes());
    let row = |row: csv::StringRecord, columns: &csv::StringRecord| {
        let get = |name| row.get(columns.iter().position(|column| column == name)?);
        let is_broken = get("valid")? == "False" || get("warningstring")?.contains("Anchor ");
        let target = get("url").filter(|url| !url.is_empty()).or_else(|| get("urlname"));
        is_broken.then(|| target.map(str::to_owned))?
    };
    let columns = reader.headers().cloned().unwrap_or_default();
    let targets = reader.records().map_while(Result::ok).filter_map(|it| row(it, &columns));
    Report { targets: targets.collect(), is_whole: report.contains("# Stopped checking at") }
}

/// Reads the report of blc.
pub(super) fn blc(report: &str) -> Report {
    let broken = report.lines().filter_map(|line| line.split_once("BROKEN\u{2500} "));
    let target = |(_, link): (_, &str)| link.rsplit_once(" (").map_or(link, |it| it.0).to_owned();
    Report { targets: broken.map(target).collect(), is_whole: report.contains("\nElapsed time: ") }
}

/// Reads the report of the program in `benches/peers/crawl.py`.
pub(super) fn aiohttp(report: &str) -> Report {
    let target = |line: &str| {
        let (result, rest) = line.split_once(' ')?;
        match result {
            "error" => Some(rest.split_once(' ')?.1.to_owned()),
            _ => result.starts_with(['4', '5']).then(|| rest.to_owned()),
        }
    };
    Report {
        targets: report.lines().filter_map(target).collect(),
        is_whole: report.contains("\nDone: "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares what is read of a report, and sees that the first half of it is not whole.
    fn check(read: fn(&str) -> Report, report: &str, expected: &[&str]) {
        let Report { targets, is_whole } = read(report);
        assert_eq!(targets.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        assert!(is_whole && !read(&report[..report.len() / 2]).is_whole);
    }

    #[test]
    fn the_json_of_crawl() {
        let report = r#"{"schema_version":1,
            "rows":[{"url":"http://a/","status":200,"outcome":"page"},
            {"url":"http://a/gone","status":404,"outcome":"http_error"}],
            "broken":[{"url":"http://a/gone","status":404},{"url":"http://[bad","status":null}]}"#;
        check(crawl, report, &["http://[bad", "http://a/gone"]);
        assert_eq!(pages_of_crawl(report), ["http://a/"]);
    }

    #[test]
    fn the_log_of_wget() {
        let report = "2026-11-23 02:00:30 URL:http://a/ [5/5] -> \"index.html.tmp\" [1]\n\
            http://a/gone:\nRemote file does not exist -- broken link!!!\n\
            Found 2 broken links.\n\nhttp://a/gone\nhttp://a/r?a=1&b=2\n\n\
            FINISHED --2026-11-23 02:00:32--\n";
        check(wget, report, &["http://a/gone", "http://a/r?a=1&b=2"]);
        let fine = "Found no broken links.\n\nFINISHED --2026-11-23 02:00:32--\n";
        assert_eq!(wget(fine), Report { targets: Targets::new(), is_whole: true });
    }

    #[test]
    fn the_log_of_wget2() {
        let report = "[0] Checking 'http://a/' ...\nHTTP response 200 OK [http://a/]\n\
            HTTP ERROR response 404 No [http://a/gone]\n\
            Downloaded: 4 files, 140  bytes, 0 redirects, 1 errors\n";
        check(wget2, report, &["http://a/gone"]);
    }

    #[test]
    fn the_json_of_lychee() {
        let report = r#"{"total": 3, "error_map": {"http://a/": [
            {"url": "http://a/gone", "status": {"text": "Rejected status code: 404", "code": 404}},
            {"url": "error:", "status":
                {"text": "Error building URL for \"http://[bad\" (Attribute: Some(\"href\"))"}}]},
            "timeout_map": {"http://a/b": [{"url": "http://a/slow", "status": {"text": "Timeout"}}]}}"#;
        check(lychee, report, &["http://[bad", "http://a/gone", "http://a/slow"]);
    }

    #[test]
    fn the_json_of_linkinator() {
        let report = r#"{"links": [{"url": "http://a/", "status": 200, "state": "OK"},
            {"url": "http://a/gone", "status": 404, "state": "BROKEN", "parent": "http://a/"},
            {"url": "http://a/x#y", "status": 200, "state": "BROKEN"}], "passed": false}"#;
        check(linkinator, report, &["http://a/gone", "http://a/x#y"]);
    }

    #[test]
    fn the_csv_of_linkchecker() {
        let report = "# created by LinkChecker at 2026-11-23 02:00:17+000\n\
            urlname;parentname;base;result;warningstring;infostring;valid;url;line\n\
            http://[bad;http://a/p;;Invalid IPv6 URL;;The URL is outside.;False;;1\n\
            gone;http://a/p;;404 No;;;False;http://a/gone;1\n\
            /fine#lost;http://a/p;;200 OK;\"Anchor `lost' (decoded: `lost') not found. \
            Available anchors: `one'.\";;True;http://a/fine#lost;1\n\
            moved;http://a/p;;200 OK;Redirected to `http://a/fine'.;;True;http://a/fine;1\n\
            # Stopped checking at 2026-11-23 02:01:58+000 (1 minute, 41 seconds)\n";
        check(linkchecker, report, &["http://[bad", "http://a/fine#lost", "http://a/gone"]);
    }

    #[test]
    fn the_report_of_blc() {
        let report = "Getting links from: http://a/\n\
            \u{251c}\u{2500}BROKEN\u{2500} http://a/gone (HTTP_404)\n\
            \u{2514}\u{2500}BROKEN\u{2500} http://a/\u{fc}%20x (HTTP_400)\n\
            \u{2514}\u{2500}\u{2500}\u{2500}OK\u{2500}\u{2500}\u{2500} http://a/fine\n\
            Finished! 3 links found. 2 broken.\nElapsed time: 1 second\n";
        check(blc, report, &["http://a/gone", "http://a/\u{fc}%20x"]);
    }

    #[test]
    fn the_report_of_the_program_on_aiohttp() {
        let report = "200 http://a/\n302 http://a/moved\n404 http://a/go ne\n\
            error ServerDisconnectedError http://a/lost\nDone: 4\n";
        check(aiohttp, report, &["http://a/go ne", "http://a/lost"]);
    }
}
