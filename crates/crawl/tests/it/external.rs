//! Links to other sites: the verdict on each, and the cache of results.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use demo_site::scripted::Server;
use serde_json::Value;

use crate::program::{ProgramOutput, Running, Scratch, crawl, not_as_root, program, rows, run};

/// The paths of another site, with the verdict on each.
const VERDICTS: [(&str, Option<&str>); 12] = [
    ("/fine", None),
    ("/moved", None),
    ("/404", Some("dead")),
    ("/410", Some("dead")),
    ("/loop", Some("dead")),
    ("/401", Some("blocked")),
    ("/403", Some("blocked")),
    ("/429", Some("blocked")),
    ("/999", Some("blocked")),
    ("/500", Some("unsure")),
    ("/silent", Some("unsure")),
    ("/cut", Some("unsure")),
];

fn other_site() -> Server {
    Server::start(|request, reply| match request.path() {
        "/moved" => reply.status(301, "Moved", &[("Location", "/fine")], ""),
        "/loop" => reply.status(301, "Moved", &[("Location", "http://")], ""),
        "/silent" => reply.sleep(Duration::from_secs(20)),
        "/cut" => reply.reset(),
        path => match path[1..].parse() {
            Ok(status) => reply.status(status, "No", &[], ""),
            Err(_) => reply.page("page"),
        },
    })
    .unwrap()
}

/// A site with a link to each of these paths of another one.
fn site(other: &Server, paths: impl Iterator<Item = &'static str>) -> Server {
    let links = paths.map(|path| format!("<a href={}>{path}</a>", other.url(path)));
    let links: String = links.collect();
    Server::start(move |_, reply| reply.page(&links)).unwrap()
}

fn check(site: &Server, arguments: &[&str]) -> ProgramOutput {
    let root = site.url("/");
    let flags = ["--external", "--max-tries", "1", "--read-timeout", "2s", "--max-wait", "1s"];
    run(&[&flags[..], &[&root], arguments].concat())
}

#[test]
fn a_link_to_another_site_is_dead_blocked_or_unsure() {
    let other = other_site();
    let site = site(&other, VERDICTS.iter().map(|(path, _)| *path));
    let [jsonl, text, all] = thread::scope(|scope| {
        let site = &site;
        let checks = [&["--format", "jsonl"][..], &[], &["--all"]];
        let checks = checks.map(|arguments| scope.spawn(move || check(site, arguments)));
        checks.map(|check| check.join().unwrap().expect_code(1).stdout)
    });
    let rows = rows(&jsonl);
    for (path, verdict) in VERDICTS {
        let row = &rows[&other.url(path)];
        assert_eq!(row.get("verdict").and_then(Value::as_str), verdict, "{row}");
    }
    assert!(rows[&site.url("/")].get("verdict").is_none(), "it is of the site");
    let sum = text.lines().last().unwrap();
    for part in ["3 are broken", "; external: 4 blocked for crawlers, 3 unsure"] {
        assert!(sum.contains(part), "{part}: {text}");
    }
    for path in ["/403", "/500", "/silent"] {
        assert!(!text.contains(&format!("{path}\n")), "{path}: {text}");
    }
    assert!(
        all.contains(&format!(
            "500  {} (unsure)
",
            other.url("/500")
        )),
        "{all}"
    );
}

#[test]
fn only_what_is_dead_fails_the_run() {
    let other = other_site();
    let site = site(
        &other,
        VERDICTS
            .iter()
            .map(|(path, _)| *path)
            .filter(|path| !["/404", "/410", "/loop"].contains(path)),
    );
    check(&site, &[]).expect_code(0);
    // The same statuses on the site itself are broken.
    let root = other.url("/500");
    run(&["--max-tries", "1", &root]).expect_code(1);
}

#[test]
fn what_is_known_of_other_sites_is_not_asked_again() {
    let other = other_site();
    let site = site(&other, ["/fine", "/moved", "/403", "/404", "/500"].into_iter());
    let cache = Scratch::new();
    let flags = ["--format", "jsonl", "--cache", cache.as_str()];
    let outcomes = |output: ProgramOutput| {
        let rows = rows(&output.stdout).into_iter();
        let known = rows.map(|(url, row)| {
            (url, [row["status"].clone(), row["outcome"].clone(), row["verdict"].clone()])
        });
        known.collect::<Vec<_>>()
    };
    let first = outcomes(check(&site, &flags).expect_code(1));
    let asked = other.all_hits();
    let second = outcomes(check(&site, &flags).expect_code(1));
    assert_eq!(first, second);
    let again = other.all_hits();
    for (path, is_asked_again) in
        [("/fine", false), ("/moved", false), ("/403", false), ("/404", true), ("/500", true)]
    {
        assert_eq!(again[path] > asked[path], is_asked_again, "{path}: {again:?}");
    }
    // The age of the entries is over.
    thread::sleep(Duration::from_millis(1_100));
    check(&site, &[&flags[..], &["--cache-age", "1s"]].concat()).expect_code(1);
    assert!(other.hits("/fine") > again["/fine"]);
}

#[test]
fn a_folder_is_checked_with_the_cache() {
    let other = other_site();
    let (folder, cache) = (Scratch::new(), Scratch::new());
    fs::create_dir(folder.path()).unwrap();
    fs::write(folder.path().join("index.html"), format!("<a href={}>x</a>", other.url("/fine")))
        .unwrap();
    let flags = ["--external", "--cache", cache.as_str(), folder.as_str()];
    run(&flags).expect_code(0);
    let asked = other.requests();
    assert!(asked > 0);
    run(&flags).expect_code(0);
    assert_eq!(other.requests(), asked);
    fs::remove_dir_all(folder.path()).unwrap();
}

#[test]
fn a_cache_that_was_cut_is_used_and_a_foreign_file_is_not_changed() {
    let other = other_site();
    let site = site(&other, ["/fine", "/moved"].into_iter());
    let cache = Scratch::new();
    let flags = ["--cache", cache.as_str()];
    check(&site, &flags).expect_code(0);
    let whole = cache.read();
    for cut in [whole.len() - 1, whole.len() - 20, whole.len() / 2] {
        cache.write(&whole[..cut]);
        check(&site, &flags).expect_code(0);
        assert_eq!(cache.read().len(), whole.len(), "it is whole again");
    }
    cache.write([&whole[..], b"{\"url\":3}\n\xff\xfe\n"].concat());
    check(&site, &flags).expect_code(0);
    assert_eq!(cache.read().len(), whole.len());
    cache.write("");
    check(&site, &flags).expect_code(0);
    for foreign in ["precious\n", "{\"crawl\":1}\n", "{\"crawl_external_ca"] {
        cache.write(foreign);
        let output = check(&site, &flags).expect_code(3);
        assert!(output.stderr.contains("not a cache of crawl"), "{}", output.stderr);
        assert_eq!(cache.read(), foreign.as_bytes());
        // Nor is the journal begun anew.
        let state = Scratch::with("the journal of another crawl");
        let with_state = [&flags[..], &["--fresh", "--state", state.as_str()]].concat();
        check(&site, &with_state).expect_code(3);
        assert_eq!(state.read(), b"the journal of another crawl");
    }
    // To open a pipe would wait for its other end.
    let pipe = Scratch::new();
    assert!(Command::new("mkfifo").arg(pipe.path()).status().unwrap().success());
    for special in ["/dev/null", pipe.as_str()] {
        let output = check(&site, &["--cache", special]).expect_code(3);
        assert!(output.stderr.contains("not a cache of crawl"), "{}", output.stderr);
    }
    check(&site, &["--cache", "/no/such/folder/file"]).expect_code(3);
    let own = cache.path().file_name().unwrap().to_str().unwrap();
    let leftovers = fs::read_dir(cache.path().parent().unwrap()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        // The number of another test may begin with that of this one.
        let after = name.to_string_lossy().strip_prefix(own).map(str::to_owned);
        after.is_some_and(|after| !after.starts_with(char::is_numeric) && after.ends_with(".part"))
    });
    assert_eq!(leftovers.count(), 0);
}

/// As in a container, or where a single file may be written: no file can be made beside it.
#[test]
fn a_cache_in_a_folder_that_is_closed_is_written() {
    let other = other_site();
    let site = site(&other, ["/fine"].into_iter());
    let folder = Scratch::new();
    let file = folder.path().join("cache");
    fs::create_dir(folder.path()).unwrap();
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    let root = site.url("/");
    let command = crawl(&["--external", "--cache", file.to_str().unwrap(), &root]);
    let output = Running::start(not_as_root(command, folder.path())).wait();
    let text = fs::read_to_string(&file).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(folder.path()).unwrap();
    output.expect_code(0);
    assert!(text.contains(&other.url("/fine")) && text.ends_with("}\n"), "{text}");
}

#[test]
fn a_cache_keeps_its_permissions() {
    let other = other_site();
    let site = site(&other, ["/fine"].into_iter());
    let cache = Scratch::with("");
    let before = fs::metadata(cache.path()).unwrap().ino();
    fs::set_permissions(cache.path(), Permissions::from_mode(0o640)).unwrap();
    check(&site, &["--cache", cache.as_str()]).expect_code(0);
    let after = fs::metadata(cache.path()).unwrap();
    assert_eq!(after.permissions().mode() & 0o777, 0o640);
    assert_ne!(after.ino(), before, "it is replaced at once");
}

#[test]
fn a_cache_that_cannot_be_written_is_told() {
    let folder = Scratch::new();
    fs::create_dir(folder.path()).unwrap();
    let (cache, folder) = (folder.path().join("cache"), folder.path().to_owned());
    let site = Server::start(move |_, reply| {
        let _ = fs::remove_dir(&folder);
        reply.page("");
    })
    .unwrap();
    let output = check(&site, &["--cache", cache.to_str().unwrap()]).expect_code(3);
    assert_eq!(output.stdout, "Checked 1 URL: nothing is broken.\n");
    assert!(output.stderr.contains("[error] the cache cannot be written"), "{}", output.stderr);
}

/// A crawl that is stopped keeps what it has found out.
#[test]
fn the_cache_is_kept_when_the_time_is_over() {
    let other = other_site();
    let site = site(&other, ["/fine", "/silent"].into_iter());
    let cache = Scratch::new();
    let flags = ["--no-robots", "--external", "--max-time", "2s", "--cache", cache.as_str()];
    let output = Running::start(program(&[&flags[..], &[&site.url("/")]].concat()));
    output.wait();
    assert!(String::from_utf8(cache.read()).unwrap().contains("/fine"));
}
