//! The reports of the peers, in the form for machines that each has, read as the targets
//! that it takes for broken.
//!
//! A reader returns `None` if the report is not whole, since the program has crashed.

use std::collections::BTreeSet;

use serde_json::Value;

/// The targets in a report, as they are written there.
pub(super) type Targets = BTreeSet<String>;

/// Reads the rows of `crawl --format jsonl`.
pub(super) fn crawl(report: &str) -> Option<Targets> {
    let mut targets = Targets::new();
    for line in report.lines() {
        let row: Value = serde_json::from_str(line).ok()?;
        if matches!(row["outcome"].as_str()?, "http_error" | "failed") {
            targets.insert(row["url"].as_str()?.to_owned());
        }
    }
    (!report.is_empty()).then_some(targets)
}

/// Reads the pages in the rows of `crawl --format jsonl`.
pub(super) fn pages_of_crawl(report: &str) -> Vec<String> {
    let rows = report.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let pages = rows.filter(|row| row["outcome"] == "page" && row["status"] == 200);
    pages.filter_map(|row| Some(row["url"].as_str()?.to_owned())).collect()
}

/// Reads the list at the end of wget's log.
pub(super) fn wget(report: &str) -> Option<Targets> {
    report.contains("\nFINISHED --").then_some(())?;
    let is_title = |line: &str| line.starts_with("Found ") && line.contains(" broken link");
    let mut list = report.lines().skip_while(|line| !is_title(line));
    if list.next().is_none_or(|title| title.starts_with("Found no ")) {
        return Some(Targets::new());
    }
    Some(list.skip(1).take_while(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// Reads the log of wget2. `Failed` is a connection that was lost.
pub(super) fn wget2(report: &str) -> Option<Targets> {
    report.contains("Downloaded: ").then_some(())?;
    let failed = report.lines().filter(|line| line.contains("HTTP ERROR response "));
    let target = |line: &str| Some(line.rsplit_once(" [")?.1.trim_end_matches(']').to_owned());
    Some(failed.filter_map(target).collect())
}

/// Reads the JSON of lychee.
pub(super) fn lychee(report: &str) -> Option<Targets> {
    let report: Value = serde_json::from_str(report).ok()?;
    let maps = ["error_map", "timeout_map"].into_iter().filter_map(|map| report[map].as_object());
    let links = maps.flat_map(|map| map.values()).filter_map(Value::as_array).flatten();
    let target = |link: &Value| {
        let url = link["url"].as_str()?;
        // It has no URL for what is none, and the text in quotes.
        let text = || link["status"]["text"].as_str()?.split('"').nth(1);
        Some(if url == "error:" { text()? } else { url }.to_owned())
    };
    Some(links.filter_map(target).collect())
}

/// Reads the JSON of linkinator.
pub(super) fn linkinator(report: &str) -> Option<Targets> {
    // A warning may stand before it.
    let report: Value = serde_json::from_str(&report[report.find('{')?..]).ok()?;
    let broken = report["links"].as_array()?.iter().filter(|link| link["state"] == "BROKEN");
    Some(broken.filter_map(|link| Some(link["url"].as_str()?.to_owned())).collect())
}

/// Reads the CSV of linkchecker. Fragments that it does not find are warnings.
pub(super) fn linkchecker(report: &str) -> Option<Targets> {
    report.contains("# Stopped checking at").then_some(())?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(b';')
        .comment(Some(b'#'))
        .from_reader(report.as_bytes());
    let columns = reader.headers().ok()?.clone();
    let column = |name| columns.iter().position(|column| column == name);
    let (valid, url) = (column("valid")?, column("url")?);
    let (text, warning) = (column("urlname")?, column("warningstring")?);
    let mut targets = Targets::new();
    for row in reader.records() {
        let row = row.ok()?;
        if &row[valid] == "False" || row[warning].contains("Anchor ") {
            let target = if row[url].is_empty() { &row[text] } else { &row[url] };
            targets.insert(target.to_owned());
        }
    }
    Some(targets)
}

/// Reads the report of blc.
pub(super) fn blc(report: &str) -> Option<Targets> {
    report.contains("\nElapsed time: ").then_some(())?;
    let broken = report.lines().filter_map(|line| line.split_once("BROKEN\u{2500} "));
    Some(
        broken.map(|(_, link)| link.rsplit_once(" (").unwrap_or((link, "")).0.to_owned()).collect(),
    )
}

/// Reads the report of the program in `benches/peers/crawl.py`.
pub(super) fn aiohttp(report: &str) -> Option<Targets> {
    report.contains("\nDone: ").then_some(())?;
    let target = |line: &str| {
        let (result, rest) = line.split_once(' ')?;
        match result {
            "error" => Some(rest.split_once(' ')?.1.to_owned()),
            _ => result.starts_with(['4', '5']).then(|| rest.to_owned()),
        }
    };
    Some(report.lines().filter_map(target).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares what is read of a report, and sees that a part of it is no report.
    fn check(read: fn(&str) -> Option<Targets>, report: &str, expected: &[&str]) {
        let targets = read(report).unwrap();
        assert_eq!(targets.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(read(&report[..report.len() / 2]), None);
    }

    #[test]
    fn the_rows_of_crawl() {
        let report = "{\"url\":\"http://a/\",\"status\":200,\"outcome\":\"page\"}\n\
            {\"url\":\"http://a/gone\",\"status\":404,\"outcome\":\"http_error\"}\n\
            {\"url\":\"http://[bad\",\"status\":null,\"outcome\":\"failed\"}\n";
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
        assert_eq!(wget(fine), Some(Targets::new()));
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
