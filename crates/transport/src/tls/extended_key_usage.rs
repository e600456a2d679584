//! The extended key usage of a certificate (RFC 5280, section 4.2.1.12).

/// The object identifier of the extension, 2.5.29.37, in DER.
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
/// The object identifier of the purpose "TLS server", 1.3.6.1.5.5.7.3.1, in DER.
const SERVER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];

const SEQUENCE: u8 = 0x30;
/// The tag of the extensions of a certificate.
const EXTENSIONS: u8 = 0xa3;

/// Returns true if a certificate, in DER, may be used for servers: it says so, or says
/// nothing of its purpose. webpki does this check for itself, but neither for roots nor
/// for the certificate of an authority that is used as a server's.
pub(super) fn is_for_servers(certificate: &[u8]) -> bool {
    purposes(certificate).is_none_or(|purposes| elements(purposes).any(|(_, id)| id == SERVER))
}

/// Returns the purposes of a certificate, in DER, if it names any.
fn purposes(certificate: &[u8]) -> Option<&[u8]> {
    let (_, certificate) = elements(certificate).next()?;
    let (_, body) = elements(certificate).next()?;
    let (_, extensions) = elements(body).find(|(tag, _)| *tag == EXTENSIONS)?;
    let (_, extensions) = elements(extensions).next()?;
    for (_, extension) in elements(extensions) {
        let mut fields = elements(extension);
        if fields.next().is_some_and(|(_, id)| id == EXTENDED_KEY_USAGE) {
            // The last field: there may be one before it that says "critical".
            let (_, value) = fields.last()?;
            return elements(value).next().filter(|(tag, _)| *tag == SEQUENCE).map(|(_, ids)| ids);
        }
    }
    None
}

/// Returns the elements of DER, each with its tag. A damaged element ends them: the
/// certificates here have been parsed before, so there is none.
fn elements(mut der: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let [tag, length, rest @ ..] = der else { return None };
        // A length of 128 bytes or more is preceded by its own length (X.690, section
        // 8.1.3.5).
        let (length, rest) = match *length {
            0..=0x7f => (usize::from(*length), rest),
            0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
                (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (element, rest) = rest.split_at_checked(length)?;
        der = rest;
        Some((*tag, element))
    })
}
