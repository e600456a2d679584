//! Build script: detects the programs and sites that the tests against real
//! servers need. Without them those tests are reported as ignored.

use std::path::Path;
use std::process::Command;

fn main() {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let (site, httpbin) = (target.join("real-site"), target.join("httpbin/bin/gunicorn"));
    // Cargo takes a missing path for changed each time, so only existing ones
    // are named. `.ci/real-peers`, which creates them, touches this file.
    println!("cargo::rerun-if-changed=build.rs");
    for path in [&site, &httpbin].into_iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-env-changed=PATH");
    let path = std::env::var("PATH").unwrap_or_default();
    let has = |program: &str| {
        // Servers are installed in sbin, which is not on every user's path.
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

/// Returns true if strace is installed and may trace other processes.
fn can_trace() -> bool {
    let strace = Command::new("strace").args(["-c", "-o", "/dev/null", "true"]).output();
    strace.is_ok_and(|output| output.status.success())
}
