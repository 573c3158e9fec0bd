//! The built pages. They are committed (`web/` has its sources), so that neither cargo nor users need Node.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};

/// A file of the page.
pub(crate) struct Asset {
    /// Where the browser asks for it.
    pub(crate) path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const fn asset(path: &'static str, kind: &'static str, bytes: &'static [u8]) -> Asset {
    Asset { path, kind, bytes }
}

const ICON: Asset = asset("/icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg"));
const SHARED_SCRIPT: Asset =
    asset("/shared.js", "text/javascript; charset=utf-8", include_bytes!("../assets/shared.js"));
const SHARED_STYLE: Asset = asset("/shared.css", "text/css; charset=utf-8", include_bytes!("../assets/shared.css"));

/// The lab's: nothing else is ever served, so that no path leads out.
pub(crate) const LAB: &[Asset] = &[
    asset("/", "text/html; charset=utf-8", include_bytes!("../assets/index.html")),
    asset("/lab.js", "text/javascript; charset=utf-8", include_bytes!("../assets/lab.js")),
    asset("/lab.css", "text/css; charset=utf-8", include_bytes!("../assets/lab.css")),
    SHARED_SCRIPT,
    SHARED_STYLE,
    ICON,
];

/// The dashboard's.
pub(crate) const DASHBOARD: &[Asset] = &[
    asset("/", "text/html; charset=utf-8", include_bytes!("../assets/dashboard.html")),
    asset("/dashboard.js", "text/javascript; charset=utf-8", include_bytes!("../assets/dashboard.js")),
    asset("/dashboard.css", "text/css; charset=utf-8", include_bytes!("../assets/dashboard.css")),
    SHARED_SCRIPT,
    SHARED_STYLE,
    ICON,
];

/// The first set-up's.
pub(crate) const SETUP: &[Asset] = &[
    asset("/", "text/html; charset=utf-8", include_bytes!("../assets/setup.html")),
    asset("/setup.js", "text/javascript; charset=utf-8", include_bytes!("../assets/setup.js")),
    asset("/setup.css", "text/css; charset=utf-8", include_bytes!("../assets/setup.css")),
    SHARED_SCRIPT,
    SHARED_STYLE,
    ICON,
];

impl Asset {
    /// What answers requests for it.
    pub(crate) fn route<S: Clone + Send + Sync + 'static>(&'static self) -> MethodRouter<S> {
        // The next version of the program has the same address.
        get(|| async { ([(CONTENT_TYPE, self.kind), (CACHE_CONTROL, "no-cache")], self.bytes) })
    }
}

/// A page for people who open the address without the token that it needs.
pub(crate) fn refusal(status: axum::http::StatusCode, what: &'static str) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], what).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_no_file_that_is_not_served_and_nothing_from_elsewhere() {
        for assets in [LAB, DASHBOARD, SETUP] {
            let page = std::str::from_utf8(assets[0].bytes).unwrap();
            for attribute in ["src=\"", "href=\""] {
                for rest in page.split(attribute).skip(1) {
                    let target = rest.split('"').next().unwrap_or_default();
                    assert!(assets.iter().any(|asset| asset.path == target), "{target}");
                }
            }
            assert!(!page.contains("<script>") && !page.contains("<style"), "the policy forbids inline code");
        }
    }
}
