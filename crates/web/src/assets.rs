//! The built pages. They are committed (`web/` has its sources), so that neither cargo nor users need Node.

use std::sync::Arc;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::routing::{MethodRouter, get};
use axum::{Router, middleware};

use crate::gate::{self, Gate};

/// A file of the page.
pub(crate) struct Asset {
    /// Where the browser asks for it.
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const fn asset(path: &'static str, kind: &'static str, bytes: &'static [u8]) -> Asset {
    Asset { path, kind, bytes }
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// What a page is made of, with what all pages share: nothing else is ever served, so that no path leads out.
const fn page(html: &'static [u8], script: Asset, style: Asset) -> [Asset; 6] {
    [
        asset("/", HTML, html),
        script,
        style,
        asset("/shared.js", SCRIPT, include_bytes!("../assets/shared.js")),
        asset("/shared.css", STYLE, include_bytes!("../assets/shared.css")),
        asset("/icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
    ]
}

/// The lab's.
pub(crate) const LAB: &[Asset] = &page(
    include_bytes!("../assets/index.html"),
    asset("/lab.js", SCRIPT, include_bytes!("../assets/lab.js")),
    asset("/lab.css", STYLE, include_bytes!("../assets/lab.css")),
);

/// The dashboard's.
pub(crate) const DASHBOARD: &[Asset] = &page(
    include_bytes!("../assets/dashboard.html"),
    asset("/dashboard.js", SCRIPT, include_bytes!("../assets/dashboard.js")),
    asset("/dashboard.css", STYLE, include_bytes!("../assets/dashboard.css")),
);

/// The first set-up's.
pub(crate) const SETUP: &[Asset] = &page(
    include_bytes!("../assets/setup.html"),
    asset("/setup.js", SCRIPT, include_bytes!("../assets/setup.js")),
    asset("/setup.css", STYLE, include_bytes!("../assets/setup.css")),
);

/// `answers` of a server and the `page` that asks for them, behind the gate.
pub(crate) fn served<S>(answers: Router<Arc<S>>, page: &'static [Asset], state: S, gate: Arc<Gate>) -> Router
where
    S: Send + Sync + 'static,
{
    let router = page.iter().fold(answers, |router, asset| router.route(asset.path, asset.route()));
    router.with_state(Arc::new(state)).layer(middleware::from_fn_with_state(gate, gate::check))
}

impl Asset {
    /// What answers requests for it.
    fn route<S: Clone + Send + Sync + 'static>(&'static self) -> MethodRouter<S> {
        // The next version of the program has the same address.
        get(|| async { ([(CONTENT_TYPE, self.kind), (CACHE_CONTROL, "no-cache")], self.bytes) })
    }
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
