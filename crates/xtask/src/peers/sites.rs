//! A folder served by nginx, and what of a report is true: of the planted site by its own
//! list, of other sites by two reports and the log of the server.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use demo_site::planted;
use tempfile::TempDir;
use url::Url;

use super::reports::Targets;

/// The timeout for the start of nginx.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// nginx in a process of its own, ended when this is dropped.
#[derive(Debug)]
pub(super) struct Nginx {
    process: Child,
    /// The folder of its log and temporary files.
    folder: TempDir,
    pub(super) root: String,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Nginx {
    /// Serves a folder, with lists of the files of folders, and allows linkchecker to ask
    /// without pauses.
    pub(super) fn start(site: &Path) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (site, here) = (site.canonicalize()?, folder.path().display());
        let config = format!(
            "daemon off; master_process off; pid {here}/pid; error_log {here}/error.log;
            events {{ worker_connections 1024; }}
            http {{
              types {{
                text/html html; text/plain txt; text/css css; image/png png;
                application/javascript js; application/pdf pdf;
              }}
              log_format asked '$status $request_uri'; access_log {here}/access.log asked;
              client_body_temp_path {here}; proxy_temp_path {here};
              fastcgi_temp_path {here}; uwsgi_temp_path {here}; scgi_temp_path {here};
              server {{ listen 127.0.0.1:{port}; root {}; autoindex on;
                add_header LinkChecker yes always; }}
            }}",
            site.display()
        );
        let file = folder.path().join("nginx.conf");
        fs::write(&file, config)?;
        // It is installed in sbin, which is not on every user's path.
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("nginx");
        command.env("PATH", format!("{path}:/usr/sbin")).arg("-c").arg(file);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let nginx = Self { process, folder, root: format!("http://127.0.0.1:{port}/") };
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > deadline {
                return Err(io::Error::other("nginx does not start"));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(nginx)
    }

    /// Returns the log: the status and the path of each request.
    pub(super) fn log(&self) -> io::Result<Vec<(u16, String)>> {
        let log = fs::read_to_string(self.folder.path().join("access.log"))?;
        let entry = |line: &str| {
            let (status, path) = line.split_once(' ')?;
            Some((status.parse().ok()?, path.to_owned()))
        };
        Ok(log.lines().filter_map(entry).collect())
    }
}

/// Returns a target in the spelling of the URL standard, without the site of the root. What
/// is not a URL stays as it is.
pub(super) fn normal(root: &str, target: &str) -> String {
    let site = root.trim_end_matches('/');
    match Url::parse(target.trim()) {
        Ok(url) => url.as_str().strip_prefix(site).unwrap_or(url.as_str()).to_owned(),
        Err(_) => target.trim().to_owned(),
    }
}

/// Returns true if a normal target is on another host, which is no part of the comparison.
fn is_other_host(target: &str) -> bool {
    !target.starts_with('/') && Url::parse(target).is_ok()
}

fn without_fragment(target: &str) -> &str {
    target.split('#').next().unwrap_or(target)
}

/// Returns the numbers of the plants that these targets tell of, and the false alarms.
pub(super) fn judge_planted(targets: &Targets) -> (Vec<usize>, Targets) {
    const ROOT: &str = "http://site.test/";
    let faults: Vec<(usize, Targets)> = (0..planted::COUNT)
        .filter_map(|number| Some((number, planted::plant(number)?)))
        .map(|(number, plant)| {
            let url = |name: &str| match name.strip_prefix('/') {
                Some(path) => format!("{ROOT}{path}"),
                None => name.to_owned(),
            };
            (number, plant.names().map(|name| normal(ROOT, &url(name))).collect())
        })
        .collect();
    let is_told = |name: &String| {
        targets.iter().any(|target| target == name || without_fragment(target) == name)
    };
    let found = faults.iter().filter(|(_, names)| names.iter().any(is_told));
    let found = found.map(|(number, _)| *number).collect();
    let is_fault = |target: &&String| {
        let names = |name: &str| faults.iter().any(|(_, names)| names.contains(name));
        names(target) || names(without_fragment(target))
    };
    let is_right = |target: &&String| is_fault(target) || *target == planted::UNDECIDED;
    let wrong = targets.iter().filter(|target| !is_right(target) && !is_other_host(target));
    (found, wrong.cloned().collect())
}

/// Returns the normal targets of a report that are on the site or no URL, without fragments.
pub(super) fn on_site(targets: &Targets) -> Targets {
    let ours = targets.iter().filter(|target| !is_other_host(target));
    ours.map(|target| without_fragment(target).to_owned()).collect()
}

/// Returns what is really broken on a site without a list of its own: what at least two
/// reports have, so that there is such a link, and the server's log confirms. What is not a URL
/// is broken.
pub(super) fn confirmed(reports: &[&Targets], log: &[(u16, String)]) -> Targets {
    let mut is_broken = BTreeMap::new();
    for (status, path) in log {
        *is_broken.entry(path.as_str()).or_insert(true) &= *status >= 400;
    }
    let all = reports.iter().copied().flatten();
    let is_confirmed = |target: &&String| {
        let count = reports.iter().filter(|report| report.contains(*target)).count();
        let is_url = target.starts_with('/');
        count >= 2 && (!is_url || is_broken.get(target.as_str()) == Some(&true))
    };
    all.filter(is_confirmed).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(these: &[&str]) -> Targets {
        these.iter().map(|&target| target.to_owned()).collect()
    }

    #[test]
    fn targets_are_compared_in_the_spelling_of_the_standard() {
        let of = |target| normal("http://127.0.0.1:80/", target);
        assert_eq!(of("http://127.0.0.1:81/x"), "http://127.0.0.1:81/x");
        let of = |target| normal("http://127.0.0.1:81/", target);
        assert_eq!(of("http://127.0.0.1:81/\u{fc} x?a=1&b#c d"), "/%C3%BC%20x?a=1&b#c%20d");
        assert_eq!(of("http://[bad"), "http://[bad");
        assert_eq!(of("http://https://twice.test/"), "http://https//twice.test/");
    }

    #[test]
    fn plants_are_found_by_each_of_their_names() {
        let of = |name| (0..planted::COUNT).find(|n| planted::plant(*n).unwrap().name == name);
        let (found, wrong) = judge_planted(&targets(&[
            "/moved/gone",
            "/gone/sprite.svg#x",
            "/gone/r?a=1&b=2",
            "/fine#gone",
            "/never/c1",
            "/never/n1",
            "/moved/fine",
            "http://https//twice.test/",
            "http://127.0.0.2:1/",
            "http://[bad",
        ]));
        let names = [
            "redirect to nothing",
            "use",
            "a, with references",
            "fragment",
            "scheme twice",
            "host without end",
        ];
        let mut expected: Vec<usize> = names.map(|name| of(name).unwrap()).into();
        expected.sort_unstable();
        assert_eq!((found, wrong), (expected, targets(&["/moved/fine", "/never/c1"])));
    }

    #[test]
    fn two_reports_and_the_log_of_the_server_are_the_witnesses() {
        let log = [(404, "/gone"), (404, "/alone"), (200, "/fine"), (405, "/head"), (200, "/head")];
        let log = log.map(|(status, path)| (status, path.to_owned()));
        let one = on_site(&targets(&["/gone", "/gone#x", "/fine", "/head", "http://<name>/"]));
        let other = targets(&["/gone", "/fine", "/head", "/alone", "http://<name>/"]);
        let faults = confirmed(&[&one, &other], &log);
        assert_eq!(faults, targets(&["/gone", "http://<name>/"]));
        assert_eq!(on_site(&targets(&["http://other.test/", "/a#b"])), targets(&["/a"]));
    }
}
