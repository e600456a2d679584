//! What a request says, and to whom it may go.

use clap::Args;
use crawl_core::Options;

use crate::values::{self, Certificates};

/// The flags under "Request".
#[derive(Args, Debug)]
#[command(next_help_heading = "Request")]
pub(super) struct Request {
    /// Who to say we are [default: crawl/VERSION]
    #[arg(short = 'A', long, value_name = "TEXT", value_parser = values::user_agent)]
    user_agent: Option<String>,

    /// A PEM file of certificates to trust beside the system's (repeatable)
    #[arg(long, value_name = "FILE", value_parser = values::certificates)]
    cacert: Vec<Certificates>,

    /// Accept any certificate of a server
    #[arg(short = 'k', long)]
    insecure: bool,
}

impl Request {
    pub(super) fn set(&self, options: &mut Options) {
        if let Some(user_agent) = &self.user_agent {
            options.user_agent.clone_from(user_agent);
        }
        options.ca_certificates = self.cacert.iter().flat_map(|file| file.0.clone()).collect();
        options.insecure = self.insecure;
    }
}
