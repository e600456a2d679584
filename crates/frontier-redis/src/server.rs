//! The address of a server of Redis or Valkey.

use std::fmt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::Url;

/// The port of Redis.
const PORT: u16 = 6379;

/// A server of Redis or Valkey: where it is, and how to log in.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    pub(crate) target: Target,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// Number of the database; a cluster has the number 0 only.
    pub(crate) database: u32,
}

/// The way to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Tcp { host: String, port: u16, is_secure: bool },
    Unix(PathBuf),
}

impl Server {
    /// Parses the URL of a server:
    ///
    /// * `redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]`
    /// * `rediss://...`: the same, over TLS
    /// * `unix:///PATH[?db=DATABASE&user=USER&password=PASSWORD]`: a Unix socket
    ///
    /// A password without a user is that of the default user: `redis://:PASSWORD@HOST/`.
    ///
    /// # Errors
    /// Returns a message that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        let number =
            |text: &str| text.parse().map_err(|_| format!("'{text}' is not a database number"));
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let given = |text: &str| (!text.is_empty()).then(|| decoded(text));
        if url.scheme() == "unix" {
            let target = Target::Unix(PathBuf::from(decoded(url.path())));
            let mut server = Self { target, user: None, password: None, database: 0 };
            for (key, value) in url.query_pairs() {
                match &*key {
                    "db" => server.database = number(&value)?,
                    "user" => server.user = Some(value.into_owned()),
                    "password" => server.password = Some(value.into_owned()),
                    _ => return Err(format!("unknown parameter '{key}'")),
                }
            }
            return Ok(server);
        }
        let is_secure = match url.scheme() {
            "redis" => false,
            "rediss" => true,
            _ => return Err("write redis://HOST/, rediss://HOST/ or unix:///PATH".to_owned()),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("127.0.0.1");
        let port = url.port().unwrap_or(PORT);
        let database = url.path().trim_matches('/');
        Ok(Self {
            target: Target::Tcp { host: host.to_owned(), port, is_secure },
            user: given(url.username()),
            password: url.password().and_then(given),
            database: if database.is_empty() { 0 } else { number(database)? },
        })
    }

    /// Returns another node of the same cluster.
    pub(crate) fn at(&self, host: &str, port: u16) -> Self {
        let is_secure = matches!(self.target, Target::Tcp { is_secure: true, .. });
        let host = match &self.target {
            // A node that does not know its own name.
            Target::Tcp { host: own, .. } if host.is_empty() => own,
            _ => host,
        };
        let target = Target::Tcp { host: host.to_owned(), port, is_secure };
        Self { target, ..self.clone() }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Tcp { host, port, .. } => write!(f, "{host}:{port}"),
            Target::Unix(path) => path.display().fmt(f),
        }
    }
}

impl fmt::Debug for Server {
    /// Shows no password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_servers() {
        let server = Server::parse("rediss://me:a%40b@redis.test:7000/3").unwrap();
        let target = Target::Tcp { host: "redis.test".to_owned(), port: 7000, is_secure: true };
        assert_eq!((&server.target, server.database), (&target, 3));
        let login = (server.user.as_deref(), server.password.as_deref());
        assert_eq!(login, (Some("me"), Some("a@b")));
        assert_eq!(format!("{server:?}"), "redis.test:7000");
        let server = Server::parse("redis://:secret@[::1]/").unwrap();
        assert_eq!((server.user, server.password.as_deref()), (None, Some("secret")));
        let server = Server::parse("unix:///run/redis%20x?db=2").unwrap();
        assert_eq!(server.target, Target::Unix("/run/redis x".into()));
        assert_eq!(server.database, 2);
        for wrong in ["http://a.test/", "redis://a.test/x", "unix:///a?b=c", "redis"] {
            assert!(Server::parse(wrong).is_err(), "{wrong}");
        }
    }
}
