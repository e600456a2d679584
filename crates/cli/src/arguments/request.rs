//! Flags for requests: headers, credentials and trusted certificates.

use std::path::Path;

use clap::{Args, ValueHint};
use crawl_core::Options;
use web::http::Header;

use crate::parsers::{self, Certificates};

/// The flags under "Request".
#[derive(Args, Debug)]
#[command(next_help_heading = "Request")]
pub(super) struct Request {
    /// User-Agent header to send [default: crawl/VERSION]
    #[arg(short = 'A', long, value_name = "TEXT", value_parser = parsers::user_agent)]
    user_agent: Option<String>,

    /// Header to send to the hosts of the start URLs (repeatable)
    #[arg(short = 'H', long, value_name = "NAME: VALUE", value_parser = parsers::header)]
    header: Vec<Header>,

    /// Log in to the hosts of the start URLs (basic authentication)
    #[arg(short, long, value_name = "NAME:PASSWORD", value_parser = parsers::credentials)]
    user: Option<Header>,

    /// PEM file of certificates to trust, in addition to the system's (repeatable)
    #[arg(
        long, value_name = "FILE", value_hint = ValueHint::FilePath,
        value_parser = parsers::certificates
    )]
    cacert: Vec<Certificates>,

    /// Accept any server certificate
    #[arg(short = 'k', long)]
    insecure: bool,
}

impl Request {
    /// Returns the files of certificates.
    pub(super) fn certificates(&self) -> impl Iterator<Item = &Path> {
        self.cacert.iter().map(|file| &*file.path)
    }

    pub(super) fn logs_in_twice(&self) -> bool {
        self.user.is_some() && self.header.iter().any(|header| header.is("Authorization"))
    }

    pub(super) fn set(&self, options: &mut Options) {
        if let Some(user_agent) = &self.user_agent {
            options.settings.user_agent.clone_from(user_agent);
        }
        options.settings.headers = self.header.iter().chain(&self.user).cloned().collect();
        options.ca_certificates = self.cacert.iter().flat_map(|file| file.der.clone()).collect();
        options.insecure = self.insecure;
    }
}
