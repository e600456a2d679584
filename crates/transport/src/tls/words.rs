//! What went wrong, in words that help.

use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, OtherError};

use super::trust::Untrusted;
use crate::TlsError;

/// Says what a user can act on.
pub(super) fn explain(error: &Error) -> TlsError {
    TlsError::new(match error {
        Error::InvalidCertificate(why) => certificate(why),
        Error::AlertReceived(alert) => refusal(*alert),
        Error::PeerIncompatible(why) => format!(
            "the server knows no version of TLS, or no cipher, that is safe to use: {why:?}"
        ),
        Error::InvalidMessage(_) => {
            "what the server sends is not TLS: does it speak plain http on this port?".into()
        }
        Error::DecryptError => "what the server sends cannot be deciphered".into(),
        Error::NoCertificatesPresented => "the server has shown no certificate".into(),
        Error::PeerMisbehaved(why) => format!("the server breaks the rules of TLS: {why:?}"),
        other => format!("no secure connection: {}", printable(&other.to_string())),
    })
}

fn certificate(error: &CertificateError) -> String {
    use CertificateError as E;
    match error {
        E::Expired => "the server's certificate has expired".into(),
        E::ExpiredContext { not_after, .. } => {
            format!("the server's certificate has expired, on {}", date(*not_after))
        }
        E::NotValidYet => "the server's certificate is not valid yet".into(),
        E::NotValidYetContext { not_before, .. } => format!(
            "the server's certificate is not valid before {} (is the clock right?)",
            date(*not_before)
        ),
        E::NotValidForName => "the server's certificate is for another host".into(),
        E::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not for {} but for {}",
            printable(&expected.to_str()),
            names(presented)
        ),
        E::Revoked => "the server's certificate has been revoked".into(),
        E::UnknownIssuer => "the server's certificate has an unknown issuer".into(),
        E::BadEncoding => "the server's certificate cannot be understood".into(),
        E::BadSignature => "a signature of the server is wrong".into(),
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
            "the server's certificate is not for servers".into()
        }
        E::Other(OtherError(other)) => match other.downcast_ref::<Untrusted>() {
            Some(untrusted) => untrusted.to_string(),
            None => {
                format!("the server's certificate is of no use: {}", printable(&other.to_string()))
            }
        },
        other => {
            format!("the server's certificate is of no use: {}", printable(&other.to_string()))
        }
    }
}

/// RFC 8446, section 6.2.
fn refusal(alert: AlertDescription) -> String {
    let why = match alert {
        AlertDescription::HandshakeFailure => {
            "it accepts nothing that we offer, most often for want of a common cipher"
        }
        AlertDescription::ProtocolVersion => "it has no version of TLS in common with us",
        AlertDescription::UnrecognisedName => "it does not know this host",
        AlertDescription::NoApplicationProtocol => "it does not speak HTTP/1.1",
        AlertDescription::CertificateRequired => "it wants a certificate from us",
        AlertDescription::AccessDenied => "it denies us access",
        AlertDescription::InternalError => "something in it has failed",
        _ => return format!("the server refuses a secure connection: alert {alert:?}"),
    };
    format!("the server refuses a secure connection: {why} (alert {alert:?})")
}

fn date(time: UnixTime) -> String {
    let date = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    // Beyond the year 9999 there is no such date.
    let is_shown = |date: &SystemTime| *date < SystemTime::UNIX_EPOCH + LAST_DATE;
    match date.filter(is_shown) {
        Some(date) => httpdate::fmt_http_date(date),
        None => "a day after the year 9999".into(),
    }
}

const LAST_DATE: Duration = Duration::from_secs(253_402_300_800);

/// The first few of them, as `a.test, *.b.test, 192.0.2.1 and 12 more`.
fn names(presented: &[String]) -> String {
    const SHOWN: usize = 5;
    if presented.is_empty() {
        return "no host at all".into();
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

/// Text from the network, cut to a length that fits on a screen and without
/// what a terminal could take for a command.
fn printable(text: &str) -> String {
    const MOST: usize = 300;
    text.chars().take(MOST).flat_map(char::escape_debug).collect()
}
