//! A site served by Apache, which suggests similar names instead of a 404.

use std::fs;
use std::process::Command;

use crate::common::real_server::{RealServer, expect_table};
use crate::common::tls::secure_options;
use crate::common::{Stage, links};

const MODULES: &str = "/usr/lib/apache2/modules";

fn apache() -> RealServer {
    RealServer::start(|folder, port, secure_port| {
        let here = folder.display();
        let site = folder.join("site");
        fs::create_dir_all(site.join("folder")).unwrap();
        let write = |name: &str, text: &str| fs::write(site.join(name), text).unwrap();
        write("index.html", &index());
        write("page.html", &page());
        write("spelling.html", "");
        write("twin1.html", "");
        write("twin2.html", "");
        write("folder/file.txt", "text");
        let modules = [
            "mpm_event",
            "authz_core",
            "dir",
            "autoindex",
            "mime",
            "speling",
            "deflate",
            "filter",
            "alias",
            "ssl",
        ];
        let modules =
            modules.map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"));
        let modules = modules.concat();
        let config = format!(
            "{modules}
            ServerRoot {here}
            ServerName 127.0.0.1
            PidFile {here}/pid
            ErrorLog {here}/error.log
            DefaultRuntimeDir {here}
            Listen 127.0.0.1:{port}
            Listen 127.0.0.1:{secure_port}
            User nobody
            Group nogroup
            MaxKeepAliveRequests 7
            DocumentRoot {here}/site
            DirectoryIndex index.html
            TypesConfig /dev/null
            AddType text/html .html
            AddType text/plain .txt
            AddOutputFilterByType DEFLATE text/html
            Redirect temp /moved /page.html
            Redirect gone /gone
            <Directory {here}/site>
              Require all granted
              Options Indexes
              CheckSpelling On
            </Directory>
            <VirtualHost 127.0.0.1:{secure_port}>
              SSLEngine on
              SSLCertificateFile {here}/chain.pem
              SSLCertificateKeyFile {here}/key.pem
            </VirtualHost>"
        );
        fs::write(folder.join("apache.conf"), config).unwrap();
        let mut command = Command::new("apache2");
        // Runs as a single process, so that nothing remains when it is killed.
        command.arg("-X").arg("-f").arg(folder.join("apache.conf"));
        command
    })
}

fn index() -> String {
    links(["/page.html", "/speling.html", "/twin.html", "/folder", "/moved", "/gone", "/missing"])
}

fn page() -> String {
    "<p>Something that can be compressed.</p>\n".repeat(500) + &links(["/"])
}

#[test]
#[ignore = "needs Apache: run .ci/real-peers"]
fn every_page_is_found_over_http_and_https() {
    let (index, page) = (index().len(), page().len());
    let table = format!(
        "/               page 200 {index} 7
        /page.html       page 200 {page} 1
        /speling.html    redirect 301 ORIGIN/spelling.html
        /spelling.html   page 200 0 0
        /twin.html       page 300 * 2
        /twin1.html      page 200 0 0
        /twin2.html      page 200 0 0
        /folder          redirect 301 ORIGIN/folder/
        /folder/         page 200 * *
        /folder/file.txt other 200 text/plain 4
        /moved           redirect 302 ORIGIN/page.html
        /gone            http_error 410
        /missing         http_error 404"
    );
    let apache = apache();
    for stage in Stage::ALL {
        for origin in [apache.origin(), apache.secure_origin()] {
            let crawled = stage.crawl(secure_options(format!("{origin}/")));
            expect_table(&crawled, &origin, &table);
        }
    }
}
