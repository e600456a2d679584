//! The file of `--baseline`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use demo_site::scripted::Server;

use crate::program::{Running, Scratch, crawl, not_as_root};

/// As in a container, or where a single file may be written: no file can be made beside it.
#[test]
fn a_baseline_in_a_folder_that_is_closed_is_updated() {
    let site = Server::start(|_, reply| reply.page("<a href=http://[bad>x</a>")).unwrap();
    let folder = Scratch::new();
    let file = folder.path().join("known.json");
    fs::create_dir(folder.path()).unwrap();
    fs::write(&file, "{\"schema_version\":1,\"broken\":[]}").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    let root = site.url("/");
    let arguments = ["--baseline", file.to_str().unwrap(), "--update-baseline", &root];
    let command = not_as_root(crawl(&arguments), folder.path());
    let inode = || file.metadata().unwrap().ino();
    let before = inode();
    let output = Running::start(command).wait();
    let (text, after) = (fs::read_to_string(&file).unwrap(), inode());
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(folder.path()).unwrap();
    output.expect_code(0);
    assert!(text.contains("http://[bad") && text.ends_with("}\n"), "{text}");
    assert_eq!(after, before);
}

/// It could be read, and not be written back.
#[test]
fn a_pipe_is_no_baseline_to_be_updated() {
    let arguments = ["--baseline", "/dev/stdin", "--update-baseline", "http://127.0.0.1:1/"];
    let (reader, _) = std::io::pipe().unwrap();
    let mut command = crawl(&arguments);
    command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--baseline /dev/stdin is a pipe"), "{stderr}");
}
