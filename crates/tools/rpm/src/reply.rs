//! Answers that are held whole, the same over HTTP/2 and HTTP/1.1. Pure: sends nothing.

use crate::config::Route;
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};

pub const BINARY: &str = "application/octet-stream";
const TEXT: &str = "text/plain";

pub struct Reply {
    pub head: Response<()>,
    pub body: Bytes,
}

pub fn head(status: StatusCode, kind: &'static str, bytes: u64) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_LENGTH, bytes.into());
    response
}

impl Reply {
    /// For the two objects that load the link there is only a refusal: HTTP/2 alone carries them, as streams.
    pub fn to(route: Route, config: impl FnOnce() -> String) -> Reply {
        let (status, kind, body): (_, _, Bytes) = match route {
            Route::Config => (StatusCode::OK, "application/json", config().into()),
            Route::Small => (StatusCode::OK, BINARY, Bytes::from_static(b"x")),
            Route::Large | Route::Upload => (
                StatusCode::HTTP_VERSION_NOT_SUPPORTED,
                TEXT,
                Bytes::from_static(b"this is served over HTTP/2 only\n"),
            ),
            Route::WrongMethod(_) => (StatusCode::METHOD_NOT_ALLOWED, TEXT, Bytes::new()),
            Route::Unknown => (StatusCode::NOT_FOUND, TEXT, Bytes::new()),
        };
        Reply::new(status, kind, body).allowing(route)
    }

    pub fn refusal(status: StatusCode) -> Reply {
        Reply::new(status, TEXT, Bytes::new())
    }

    fn new(status: StatusCode, kind: &'static str, body: Bytes) -> Reply {
        Reply { head: head(status, kind, body.len() as u64), body }
    }

    fn allowing(mut self, route: Route) -> Reply {
        if let Route::WrongMethod(allowed) = route {
            self.head.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        self
    }
}
