//! Messages for TLS errors that a user can act on.

use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, OtherError};

use super::untrusted::Untrusted;
use crate::tls_error::TlsError;

/// Translates an error of rustls.
pub(super) fn explain(error: &Error) -> TlsError {
    use AlertDescription as A;
    match error {
        Error::AlertReceived(A::NoApplicationProtocol) => {
            TlsError::other_protocol(alert_message(A::NoApplicationProtocol))
        }
        Error::AlertReceived(A::CertificateRequired) => {
            TlsError::client_certificate(alert_message(A::CertificateRequired))
        }
        error => TlsError::new(message(error)),
    }
}

fn message(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate_message(why),
        Error::AlertReceived(alert) => alert_message(*alert),
        Error::PeerIncompatible(_) => {
            "the server offers no version of TLS and no cipher that is safe to use".into()
        }
        Error::InvalidMessage(_) => {
            "the server does not answer with TLS: is this port for plain http?".into()
        }
        Error::DecryptError => "the data from the server cannot be decrypted".into(),
        Error::NoCertificatesPresented => "the server sent no certificate".into(),
        Error::PeerMisbehaved(_) => "the server breaks the rules of TLS".into(),
        other => format!("no secure connection: {}", printable(&other.to_string())),
    }
}

fn certificate_message(error: &CertificateError) -> String {
    use CertificateError as E;
    match error {
        E::Expired => "the server's certificate has expired".into(),
        E::ExpiredContext { not_after, .. } => {
            format!("the server's certificate expired on {}", format_date(*not_after))
        }
        E::NotValidYet => "the server's certificate is not valid yet".into(),
        E::NotValidYetContext { not_before, .. } => format!(
            "the server's certificate is not valid before {} (is the clock right?)",
            format_date(*not_before)
        ),
        E::NotValidForName => "the server's certificate is for another host".into(),
        E::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not for {} but for {}",
            printable(&expected.to_str()),
            format_names(presented)
        ),
        E::Revoked => "the server's certificate has been revoked".into(),
        E::UnknownIssuer => "the server's certificate has an unknown issuer".into(),
        E::BadEncoding => "the server's certificate cannot be understood".into(),
        E::BadSignature => "the server's signature is wrong".into(),
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
            "the server's certificate is not for servers".into()
        }
        E::Other(OtherError(other)) => match other.downcast_ref::<Untrusted>() {
            Some(untrusted) => untrusted.to_string(),
            None => {
                format!(
                    "the server's certificate cannot be used: {}",
                    printable(&other.to_string())
                )
            }
        },
        other => {
            format!("the server's certificate cannot be used: {}", printable(&other.to_string()))
        }
    }
}

/// Explains an alert (RFC 8446, section 6.2).
fn alert_message(alert: AlertDescription) -> String {
    let why = match alert {
        AlertDescription::HandshakeFailure => "it accepts none of our ciphers",
        AlertDescription::ProtocolVersion => "it has no version of TLS in common with us",
        AlertDescription::UnrecognisedName => "it does not know this host",
        AlertDescription::NoApplicationProtocol => "it does not speak HTTP/1.1",
        AlertDescription::CertificateRequired => "it requires a client certificate",
        AlertDescription::AccessDenied => "it denies us access",
        AlertDescription::InternalError => "it has an internal error",
        _ => {
            return format!(
                "the server refuses a secure connection (TLS alert {})",
                u8::from(alert)
            );
        }
    };
    format!("the server refuses a secure connection: {why}")
}

/// The beginning of the year 10000.
const MAX_DATE: Duration = Duration::from_secs(253_402_300_800);

fn format_date(time: UnixTime) -> String {
    let date = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    // The format ends with the year 9999.
    let is_shown = |date: &SystemTime| *date < SystemTime::UNIX_EPOCH + MAX_DATE;
    match date.filter(is_shown) {
        Some(date) => httpdate::fmt_http_date(date),
        None => "a day after the year 9999".into(),
    }
}

/// Lists the first few names, as `a.test, *.b.test, 192.0.2.1 and 12 more`.
fn format_names(presented: &[String]) -> String {
    const SHOWN: usize = 5;
    if presented.is_empty() {
        return "no host".into();
    }
    // Each is given as `DnsName("a.test")` or `IpAddress(192.0.2.1)`.
    let bare = |name: &String| {
        let inner = name.split_once('(').map_or(name.as_str(), |(_kind, rest)| rest);
        printable(inner.trim_end_matches(')').trim_matches('"'))
    };
    let shown: Vec<String> = presented.iter().take(SHOWN).map(bare).collect();
    let more = presented.len() - shown.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

/// Makes text from the network safe to print: cuts it to a length that fits on
/// a screen, and escapes what a terminal could take for a command.
fn printable(text: &str) -> String {
    const MAX: usize = 300;
    text.chars().take(MAX).flat_map(char::escape_debug).collect()
}
