//! The configuration object at `/.well-known/nq`, and the URLs in it. Pure functions over bytes.
//!
//! The draft's rules: version 1, three URLs of one host, each once, unknown names ignored. Older servers (and old
//! goresponsiveness) say `small_https_download_url` and so on; both are served, and read where the draft's is absent.

use narrows_wire::net::host_and_port;
use serde::Deserialize;
use serde_json::{json, Value};

pub const WELL_KNOWN: &str = "/.well-known/nq";
pub const SMALL: &str = "/small";
pub const LARGE: &str = "/large";
pub const UPLOAD: &str = "/upload";
/// Longest configuration that a client reads.
pub const MAX_CONFIG_BYTES: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    pub tls: bool,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// Host and port as written.
    pub authority: String,
    /// Path and query; at least `/`.
    pub path: String,
}

impl Url {
    pub fn text(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }
}

/// Parses an http or https URL. The error does not repeat the URL.
pub fn parse_url(text: &str) -> Result<Url, &'static str> {
    let (tls, rest) = match text.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        _ => return Err("not of the form https://HOST:PORT/PATH or http://HOST:PORT/PATH"),
    };
    if !rest.bytes().all(|b| (0x21..=0x7e).contains(&b)) {
        return Err("has a blank or a character outside of ASCII");
    }
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    if authority.contains(['@', '\\']) {
        return Err("has a user name or a backslash");
    }
    let path = path.split('#').next().unwrap_or("");
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let (host, port) = host_and_port(authority, if tls { 443 } else { 80 })?;
    Ok(Url { tls, host, port, authority: authority.to_owned(), path })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub small: Url,
    pub large: Url,
    pub upload: Url,
    /// Host to connect to instead of the URLs' own.
    pub test_endpoint: Option<String>,
}

#[derive(Deserialize)]
struct Raw {
    version: u64,
    urls: RawUrls,
    test_endpoint: Option<String>,
}

#[derive(Deserialize)]
struct RawUrls {
    small_download_url: Option<String>,
    large_download_url: Option<String>,
    upload_url: Option<String>,
    small_https_download_url: Option<String>,
    large_https_download_url: Option<String>,
    https_upload_url: Option<String>,
}

/// Parses a configuration; the error says what is wrong with it.
pub fn parse_config(bytes: &[u8]) -> Result<Config, String> {
    if bytes.len() > MAX_CONFIG_BYTES {
        return Err(format!("longer than {MAX_CONFIG_BYTES} bytes"));
    }
    let raw: Raw = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    if raw.version != 1 {
        return Err(format!("version {}, not 1", raw.version));
    }
    let url = |name: &str, ours: Option<String>, old: Option<String>| {
        let text = ours.or(old).ok_or_else(|| format!("{name} is missing"))?;
        parse_url(&text).map_err(|why| {
            let shown: String = text.chars().take(200).collect();
            format!("{name} '{shown}' {why}")
        })
    };
    let urls = raw.urls;
    let config = Config {
        small: url("small_download_url", urls.small_download_url, urls.small_https_download_url)?,
        large: url("large_download_url", urls.large_download_url, urls.large_https_download_url)?,
        upload: url("upload_url", urls.upload_url, urls.https_upload_url)?,
        test_endpoint: raw.test_endpoint.filter(|name| !name.is_empty()),
    };
    let place = |url: &Url| (url.tls, url.host.clone(), url.port);
    if [&config.large, &config.upload].iter().any(|url| place(url) != place(&config.small)) {
        return Err("the three URLs are not of one host".into());
    }
    Ok(config)
}

/// What our server serves to a client that called it `authority`.
pub fn config_json(tls: bool, authority: &str) -> Value {
    let base = format!("{}://{authority}", if tls { "https" } else { "http" });
    let (small, large, upload) =
        (format!("{base}{SMALL}"), format!("{base}{LARGE}"), format!("{base}{UPLOAD}"));
    let host = parse_url(&base).map(|url| url.host).unwrap_or_default();
    json!({"version": 1,
           "urls": {"small_download_url": small, "large_download_url": large, "upload_url": upload,
                    "small_https_download_url": small, "large_https_download_url": large,
                    "https_upload_url": upload},
           "test_endpoint": host})
}

/// The same as it is sent.
pub fn served(tls: bool, authority: &str) -> String {
    format!("{:#}\n", config_json(tls, authority))
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Config,
    Small,
    Large,
    Upload,
    /// The path is known, the method is not for it.
    WrongMethod(&'static str),
    Unknown,
}

/// The route of a request; a query is allowed and ignored.
pub fn route(method: &str, target: &str) -> Route {
    let path = target.split(['?', '#']).next().unwrap_or("");
    let (wanted, found): (&'static str, Route) = match path {
        WELL_KNOWN => ("GET", Route::Config),
        SMALL => ("GET", Route::Small),
        LARGE => ("GET", Route::Large),
        UPLOAD => ("POST", Route::Upload),
        _ => return Route::Unknown,
    };
    if method == wanted || (method == "PUT" && found == Route::Upload) {
        found
    } else {
        Route::WrongMethod(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_our_server_serves_our_client_reads() {
        let text = config_json(true, "[::1]:4043").to_string();
        let config = parse_config(text.as_bytes()).unwrap();
        assert_eq!((config.small.host.as_str(), config.small.port), ("::1", 4043));
        assert_eq!(config.large.path, LARGE);
        assert_eq!(config.test_endpoint.as_deref(), Some("::1"));
        assert_eq!(config.upload.text(), "https://[::1]:4043/upload");
    }

    #[test]
    fn the_drafts_example_and_the_older_names_are_read() {
        let draft = br#"{"version": 1, "later": [1], "urls": {
            "large_download_url": "https://www.example.com/large", "extra": "x",
            "small_download_url": "https://www.example.com/small",
            "upload_url": "https://www.example.com/upload"}, "test_endpoint": "nq-test-server.example.com"}"#;
        let config = parse_config(draft).unwrap();
        assert_eq!((config.small.port, config.small.tls), (443, true));
        let old = br#"{"version": 1, "urls": {"large_https_download_url": "https://a/l",
            "small_https_download_url": "https://a/s", "https_upload_url": "https://a/u"}}"#;
        assert_eq!(parse_config(old).unwrap().upload.path, "/u");
    }

    #[test]
    fn a_configuration_that_the_draft_forbids_is_refused_with_its_reason() {
        let with = |urls: &str| format!(r#"{{"version": 1, "urls": {{{urls}}}}}"#);
        let good = r#""small_download_url": "https://a/s", "large_download_url": "https://a/l""#;
        for (text, why) in [
            (with(good), "upload_url is missing"),
            (with(&format!(r#"{good}, "upload_url": "https://b/u""#)), "one host"),
            (with(&format!(r#"{good}, "upload_url": "ftp://a/u""#)), "upload_url 'ftp://a/u'"),
            (
                with(&format!(r#"{good}, "upload_url": "https://a/u", "upload_url": "https://a/u""#)),
                "duplicate",
            ),
            (with(&format!(r#"{good}, "upload_url": "https://a/u""#)).replace("1,", "2,"), "version 2"),
            (r#"{"urls": {}}"#.into(), "version"),
            ("[".into(), "EOF"),
            (" ".repeat(MAX_CONFIG_BYTES + 1), "longer than"),
        ] {
            let error = parse_config(text.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn urls_are_taken_apart_or_refused() {
        let url = parse_url("http://h:81/a?b#c").unwrap();
        assert_eq!((url.tls, url.host.as_str(), url.port, url.path.as_str()), (false, "h", 81, "/a?b"));
        assert_eq!(parse_url("https://h").unwrap().path, "/");
        assert_eq!(parse_url("https://h?q").unwrap().path, "/?q");
        for bad in [
            "h",
            "ws://h",
            "https://",
            "https://h:0",
            "https://h:x",
            "https://h:",
            "https://::1",
            "https://[::1",
            "https://u@h",
            "https://h /",
            "https://:443",
            "https://h:65536",
            "https://h:+1",
        ] {
            assert!(parse_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn requests_find_their_route_and_wrong_methods_are_told_the_right_one() {
        assert_eq!(route("GET", "/small?x=1"), Route::Small);
        assert_eq!(route("PUT", UPLOAD), Route::Upload);
        assert_eq!(route("POST", LARGE), Route::WrongMethod("GET"));
        assert_eq!(route("GET", UPLOAD), Route::WrongMethod("POST"));
        assert_eq!(route("GET", "/.well-known/nq/"), Route::Unknown);
    }
}
