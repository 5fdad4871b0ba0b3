//! A page about a running manager over HTTP, on loopback only: the page itself, and a stream of server-sent events that
//! brings its parts up to date.
//!
//! The code that draws the parts puts them into a [`watch::Sender`]; this module fills the page with them, sends each
//! viewer those that have changed since, and knows nothing of what they hold. A stream ends before its connection does,
//! and a browser opens the next one by itself: so viewers are bounded like every client of the manager's HTTP. A
//! request is answered only if it names a loopback address, since a page from elsewhere can have its own name resolve
//! to this machine. Deliberately omitted: HTTPS, access control, any request that changes something.

use super::bounded::{BoundedListener, LONGEST};
use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// The parts of a page as HTML, each by the ID of the element that it fills.
pub type PageParts = BTreeMap<&'static str, Arc<str>>;

/// How long a stream lasts: it ends by itself before its connection is cut.
const STREAM: Duration = LONGEST.saturating_sub(Duration::from_secs(1));
/// Milliseconds after which a browser opens the next stream.
const RETRY_MS: u32 = 200;
/// How long a page waits for its parts to be drawn, which the manager does every second; without them it is filled by
/// the stream.
const DRAWN: Duration = Duration::from_secs(3);
/// Nothing from elsewhere, and no script or style but the page's own files.
const CONTENT_POLICY: &str =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:";

/// The files of a page.
#[derive(Clone, Debug)]
pub struct PageFiles {
    /// `/`: HTML, with an element for each part that is filled with it if it is there, which asks for `/style.css` and
    /// `/script.js`.
    pub page: fn(&PageParts) -> String,
    /// `/style.css`.
    pub style: String,
    /// `/script.js`: keeps the parts up to date from the stream `/events`.
    pub script: String,
}

/// Why a page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The address is reachable by others.
    #[error(
        "a page on {address}: only loopback addresses are served, since there is no access control; to look from \
         elsewhere, forward a port (ssh -L {port}:127.0.0.1:{port})", port = address.port()
    )]
    NotLoopback {
        /// The address requested.
        address: SocketAddr,
    },
    /// The address cannot be bound.
    #[error("a page on {address}: {error}; choose another address with --web")]
    Bind {
        /// The address requested.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
}

/// A bound server of a page.
#[derive(Debug)]
pub struct WebServer {
    listener: TcpListener,
}

impl WebServer {
    /// Binds to a loopback address.
    ///
    /// # Errors
    /// The address is not loopback, or cannot be bound.
    pub async fn bind(address: SocketAddr) -> Result<WebServer, WebError> {
        if !address.ip().is_loopback() {
            return Err(WebError::NotLoopback { address });
        }
        let listener = TcpListener::bind(address).await.map_err(|error| WebError::Bind { address, error })?;
        Ok(WebServer { listener })
    }

    /// The bound address, with the system's choice of port if 0 was requested.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves the page until dropped, to a few clients at a time. Each viewer is a receiver of `parts`; nothing need be
    /// drawn while there is none. Spawn it on a runtime.
    ///
    /// # Errors
    /// Connections can no longer be accepted.
    pub async fn serve(self, files: PageFiles, parts: watch::Sender<PageParts>) -> io::Result<()> {
        let files = Arc::new(files);
        let answer = move |method: Method, uri: Uri, headers: HeaderMap| {
            let (files, parts) = (files.clone(), parts.clone());
            async move { respond(&method, &uri, &headers, &files, &parts).await }
        };
        axum::serve(BoundedListener::new(self.listener), Router::new().fallback(answer)).await
    }
}

async fn respond(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    files: &PageFiles,
    parts: &watch::Sender<PageParts>,
) -> Response {
    if !names_loopback(headers) {
        return (StatusCode::FORBIDDEN, "only requests to a loopback address are answered\n").into_response();
    }
    if method != Method::GET {
        return (StatusCode::METHOD_NOT_ALLOWED, "this page is read only\n").into_response();
    }
    let file = |kind, text: &str| (head(kind), text.to_string()).into_response();
    match uri.path() {
        "/" => file("text/html; charset=utf-8", &(files.page)(&drawn(parts.subscribe()).await)),
        "/style.css" => file("text/css; charset=utf-8", &files.style),
        "/script.js" => file("text/javascript; charset=utf-8", &files.script),
        "/events" => (head("text/event-stream"), updates(parts.subscribe())).into_response(),
        _ => (StatusCode::NOT_FOUND, "no such page; see /\n").into_response(),
    }
}

fn head(kind: &'static str) -> [(HeaderName, &'static str); 5] {
    [
        (CONTENT_TYPE, kind),
        // A stream on a connection that has served something else would be cut with it.
        (CONNECTION, "close"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ]
}

/// Whether a request names this machine by a loopback address or as `localhost`.
fn names_loopback(headers: &HeaderMap) -> bool {
    let named = headers.get(HOST).and_then(|host| host.to_str().ok()).and_then(|host| host.parse::<Authority>().ok());
    named.is_some_and(|named| {
        let host = named.host().trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// The parts as they are drawn next: what was drawn before somebody looked may be old.
async fn drawn(mut parts: watch::Receiver<PageParts>) -> PageParts {
    match timeout(DRAWN, parts.changed()).await {
        Ok(Ok(())) => parts.borrow().clone(),
        _ => PageParts::new(),
    }
}

/// What has changed since the last look of one viewer, again and again; all of it at first. What was drawn before it
/// came may be old, and is not sent.
fn updates(parts: watch::Receiver<PageParts>) -> Body {
    struct Viewer {
        parts: watch::Receiver<PageParts>,
        sent: PageParts,
        text: String,
    }
    let end = Instant::now() + STREAM;
    let viewer = Viewer { parts, sent: PageParts::new(), text: format!("retry: {RETRY_MS}\n\n") };
    Body::from_stream(stream::unfold(viewer, move |mut viewer| async move {
        while viewer.text.is_empty() {
            timeout_at(end, viewer.parts.changed()).await.ok()?.ok()?;
            let parts = viewer.parts.borrow_and_update().clone();
            viewer.text = changed(&viewer.sent, &parts);
            viewer.sent = parts;
        }
        let text = std::mem::take(&mut viewer.text);
        Some((Ok::<_, Infallible>(text), viewer))
    }))
}

/// The parts that differ as server-sent events.
fn changed(before: &PageParts, after: &PageParts) -> String {
    let differ = after.iter().filter(|(id, text)| before.get(*id) != Some(text));
    differ.map(|(id, text)| format!("event: {id}\n{}\n", lines(text))).collect()
}

fn lines(text: &str) -> String {
    text.split('\n').map(|line| format!("data: {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_loopback_may_be_named() {
        let named = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
            names_loopback(&headers)
        };
        for host in ["127.0.0.1:9711", "127.8.0.1", "localhost:9711", "[::1]:9711"] {
            assert!(named(host), "{host}");
        }
        for host in ["fabric.example:9711", "localhost.example", "10.0.0.1", "127.0.0.1.example", ""] {
            assert!(!named(host), "{host}");
        }
        assert!(!names_loopback(&HeaderMap::new()));
    }

    #[test]
    fn a_viewer_gets_what_differs_line_by_line() {
        let parts = |map: &str| PageParts::from([("head", Arc::from("up")), ("map", Arc::from(map))]);
        let (one, two) = (parts("a\nb"), parts("c"));
        assert_eq!(changed(&PageParts::new(), &one), "event: head\ndata: up\n\nevent: map\ndata: a\ndata: b\n\n");
        assert_eq!(changed(&one, &two), "event: map\ndata: c\n\n");
        assert_eq!(changed(&two, &two), "");
    }
}
