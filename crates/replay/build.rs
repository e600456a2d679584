//! Finds out whether this machine has what the tests against servers and pages
//! of others need, so that without it they are reported as ignored.

use std::path::Path;
use std::process::Command;

fn main() {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let (site, httpbin) = (target.join("real-site"), target.join("httpbin/bin/gunicorn"));
    // Cargo would take what is not there for changed each time. What puts it
    // there (`.ci/real-peers`) touches this file.
    println!("cargo::rerun-if-changed=build.rs");
    for place in [&site, &httpbin].into_iter().filter(|place| place.exists()) {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    println!("cargo::rerun-if-env-changed=PATH");
    let path = std::env::var("PATH").unwrap_or_default();
    let has = |program: &str| {
        // Servers live in sbin, which is not on everybody's path.
        let folders = path.split(':').chain(["/usr/sbin", "/usr/local/sbin"]);
        folders.into_iter().any(|folder| Path::new(folder).join(program).exists())
    };
    for (name, is_there) in [
        ("has_nginx", has("nginx")),
        ("has_apache", has("apache2") && Path::new("/usr/lib/apache2/modules").exists()),
        ("has_httpbin", httpbin.exists()),
        ("has_strace", can_trace()),
        ("has_real_site", site.exists() && has("nginx") && has("wget")),
    ] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if is_there {
            println!("cargo::rustc-cfg={name}");
        }
    }
}

/// Whether strace is there, and may look into other processes.
fn can_trace() -> bool {
    let strace = Command::new("strace").args(["-c", "-o", "/dev/null", "true"]).output();
    strace.is_ok_and(|output| output.status.success())
}
