//! Finds out whether this machine has what the tests against a real website
//! need, so that without it they are reported as ignored.

use std::path::Path;

fn main() {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/real-site");
    println!("cargo::rerun-if-changed={}", site.display());
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rustc-check-cfg=cfg(has_real_site)");
    let path = std::env::var("PATH").unwrap_or_default();
    let has = |program: &str| {
        // nginx lives in sbin, which is not on everybody's path.
        let folders = path.split(':').chain(["/usr/sbin", "/usr/local/sbin"]);
        folders.into_iter().any(|folder| Path::new(folder).join(program).exists())
    };
    if site.exists() && has("nginx") && has("wget") {
        println!("cargo::rustc-cfg=has_real_site");
    }
}
