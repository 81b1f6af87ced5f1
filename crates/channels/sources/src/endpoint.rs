//! Where a source connects to and with which headers; nothing of it that may be secret is shown.

use std::fmt;

use roomkit_core::{Error, ErrorKind, Result};

/// An address and the headers that are sent with it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Endpoint {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
        }
    }

    /// Checks the scheme, that there is a host, and the form of the headers.
    pub(crate) fn check(&self, schemes: [&str; 2]) -> Result<()> {
        let scheme = self.url.split_once("://").map(|(scheme, _)| scheme);
        if !scheme.is_some_and(|scheme| schemes.iter().any(|own| scheme.eq_ignore_ascii_case(own)))
        {
            let [plain, secure] = schemes;
            return Err(invalid(format!(
                "url: must begin with {plain}:// or {secure}://"
            )));
        }
        if self.place().is_empty() || self.url.contains(|c: char| c.is_whitespace()) {
            return Err(invalid("url: has no host, or white space in it"));
        }
        for (name, value) in &self.headers {
            let is_name = !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
            if !is_name {
                return Err(invalid(format!(
                    "headers: {name:?} is not the name of a header"
                )));
            }
            if value
                .bytes()
                .any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f)
            {
                return Err(invalid(format!(
                    "headers: the value of {name} has a control character"
                )));
            }
        }
        Ok(())
    }

    /// The address without what may be secret: user, password, query and fragment.
    pub(crate) fn place(&self) -> &str {
        let rest = self
            .url
            .split_once("://")
            .map_or(&*self.url, |(_, rest)| rest);
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, _) = rest.split_at(end);
        let user = authority.rfind('@').map_or(0, |at| at + 1);
        rest.get(user..).unwrap_or_default()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Endpoint")
            .field("place", &self.place())
            .field("headers", &names)
            .finish()
    }
}

pub(crate) fn invalid(problem: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_not_shown() {
        let cases = [
            ("wss://user:pw@host:1/path?token=x#y", "host:1/path"),
            ("https://host", "host"),
            ("https://host?token=x", "host"),
            ("https://host/a@b", "host/a@b"),
            ("https://a@b@host/", "host/"),
            ("https://", ""),
        ];
        for (url, place) in cases {
            assert_eq!(Endpoint::new(url).place(), place, "{url}");
        }
        let mut endpoint = Endpoint::new("https://u:pw@host/?token=secret");
        endpoint
            .headers
            .push(("Authorization".into(), "Bearer secret".into()));
        let shown = format!("{endpoint:?}");
        assert!(
            !shown.contains("secret") && !shown.contains("pw"),
            "{shown}"
        );
        assert!(shown.contains("Authorization"));
    }

    #[test]
    fn what_is_no_address_or_header_is_refused() {
        let header = |name: &str, value: &str| {
            let mut endpoint = Endpoint::new("https://host");
            endpoint.headers.push((name.into(), value.into()));
            endpoint
        };
        for (endpoint, field) in [
            (Endpoint::new("host"), "url"),
            (Endpoint::new("ftp://host"), "url"),
            (Endpoint::new("https://"), "url"),
            (Endpoint::new("https://ho st"), "url"),
            (header("", "x"), "headers"),
            (header("a b", "x"), "headers"),
            (header("a", "x\r\ny: z"), "headers"),
        ] {
            let error = endpoint.check(["http", "https"]).unwrap_err();
            assert_eq!(error.code(), "invalid_input");
            assert!(error.message().starts_with(field), "{error}");
        }
        assert!(header("x-key", "täg").check(["http", "https"]).is_ok());
    }
}
