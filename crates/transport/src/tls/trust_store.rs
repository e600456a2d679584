//! The trust store: the certificates that the system trusts, read once per process.

use std::env;
use std::io;
use std::sync::OnceLock;

use rustls::RootCertStore;
use rustls_native_certs::{CertificateResult, Error, ErrorKind, load_native_certs};

use crate::is_fd_limit;

/// The trust store of the system.
#[derive(Debug)]
pub(super) struct TrustStore {
    /// The roots that could be read.
    pub(super) roots: RootCertStore,
    /// The problem with it, if there is one: an error if it has no root, and else a
    /// warning.
    pub(super) problem: Option<String>,
}

static TRUST_STORE: OnceLock<TrustStore> = OnceLock::new();

/// Returns what a user has to know about the trust store of the system, if it was read
/// and is not what it should be: the roots of Mozilla stand in for it, or only a part
/// of it is of use, or nothing.
pub fn trust_warning() -> Option<String> {
    TRUST_STORE.get()?.problem.clone()
}

/// Returns the trust store, and reads it if that has not been done.
///
/// # Errors
/// When there was no file descriptor to read it: nothing is known of it then.
pub(super) fn trust_store() -> io::Result<&'static TrustStore> {
    if let Some(store) = TRUST_STORE.get() {
        return Ok(store);
    }
    // If the environment names a store, only that one is used, even if empty.
    let is_named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(env::var_os).iter().any(Option::is_some);
    let store = TrustStore::of(load_native_certs(), is_named)?;
    Ok(TRUST_STORE.get_or_init(|| store))
}

impl TrustStore {
    fn of(mut read: CertificateResult, is_named: bool) -> io::Result<Self> {
        if let Some(index) = read.errors.iter().position(is_no_descriptor)
            && let ErrorKind::Io { inner, .. } = read.errors.swap_remove(index).kind
        {
            return Err(inner);
        }
        let mut roots = RootCertStore::empty();
        let (added, ignored) = roots.add_parsable_certificates(read.certs);
        let source = if is_named { "SSL_CERT_FILE or SSL_CERT_DIR" } else { "the system's store" };
        let problem = match (added, &read.errors[..], ignored) {
            (0, [], 0) if !is_named => {
                roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
                Some("the system has no trusted certificates, so Mozilla's are used".to_owned())
            }
            (0, [], _) => Some(format!("{source} has no usable certificate")),
            (0, [error, ..], _) => {
                Some(format!("the trusted certificates of {source} cannot be read: {error}"))
            }
            (_, [], 0) => None,
            (_, [], _) => Some(format!(
                "{ignored} of the {} trusted certificates of {source} cannot be used; only the others \
                 are trusted",
                added + ignored
            )),
            (_, [error, ..], _) => Some(format!(
                "some trusted certificates of {source} cannot be read; only the others are trusted: \
                 {error}"
            )),
        };
        Ok(Self { roots, problem })
    }
}

fn is_no_descriptor(error: &Error) -> bool {
    matches!(&error.kind, ErrorKind::Io { inner, .. } if is_fd_limit(inner))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rustls::pki_types::CertificateDer;
    use test_support::authority::Authority;

    use super::*;

    fn error(code: i32) -> Error {
        let (inner, path) = (io::Error::from_raw_os_error(code), PathBuf::from("/etc/ca.pem"));
        Error { context: "failed to open file", kind: ErrorKind::Io { inner, path } }
    }

    /// Returns the number of roots and the problem.
    fn store(
        certificates: &[&[u8]],
        errors: Vec<Error>,
        is_named: bool,
    ) -> io::Result<(usize, String)> {
        let mut read = CertificateResult::default();
        read.certs = certificates.iter().map(|der| CertificateDer::from(der.to_vec())).collect();
        read.errors = errors;
        let TrustStore { roots, problem } = TrustStore::of(read, is_named)?;
        Ok((roots.len(), problem.unwrap_or_default()))
    }

    #[test]
    fn nothing_stands_in_for_a_store_in_silence() {
        const ENOENT: i32 = 2;
        const EACCES: i32 = 13;
        const EMFILE: i32 = 24;
        let good = Authority::new("Good").der();
        assert_eq!(store(&[&good], vec![], false).unwrap(), (1, String::new()));
        let mozilla = webpki_roots::TLS_SERVER_ROOTS.len();
        type Case<'a> = (&'a [&'a [u8]], &'a [i32], bool, usize, &'a str);
        let cases: [Case<'_>; 8] = [
            (&[], &[], false, mozilla, "no trusted certificates, so Mozilla"),
            (&[], &[], true, 0, "SSL_CERT_DIR has no usable certificate"),
            (&[b"junk"], &[], false, 0, "the system's store has no usable certificate"),
            (&[], &[EACCES], false, 0, "cannot be read: failed to open file: Permission denied"),
            (&[], &[ENOENT], true, 0, "at '/etc/ca.pem'"),
            (&[&good, b"junk"], &[], false, 1, "1 of the 2 trusted certificates"),
            (&[&good], &[EACCES], false, 1, "some trusted certificates of the system's store"),
            (&[&good], &[ENOENT, ENOENT], true, 1, "only the others are trusted"),
        ];
        for (certificates, errors, is_named, roots, phrase) in cases {
            let errors = errors.iter().copied().map(error).collect();
            let (found, problem) = store(certificates, errors, is_named).unwrap();
            assert_eq!(found, roots, "{problem}");
            assert!(problem.contains(phrase), "{problem}");
        }
        // Whatever else was read: it is not known what is missing.
        let no_descriptor = store(&[&good], vec![error(ENOENT), error(EMFILE)], false).unwrap_err();
        assert!(is_fd_limit(&no_descriptor), "{no_descriptor}");
    }
}
