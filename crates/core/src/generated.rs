//! Tables of the docs that tests write.

/// Compares `table` with the one between the marks `<!-- mark: ... -->` and `<!-- end of mark -->` of `docs/page`;
/// `UPDATE_DOCS=1` writes it anew.
pub(crate) fn check_table(page: &str, mark: &str, table: &str) {
    let begin = format!("<!-- {mark}: UPDATE_DOCS=1 cargo test -p fairair-core --lib in_the_docs -->\n");
    let end = format!("<!-- end of {mark} -->\n");
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} lacks {begin}"));
    let (committed, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} lacks {end}"));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert!(
            committed == table,
            "docs/{page} is out of date: run UPDATE_DOCS=1 cargo test -p fairair-core --lib in_the_docs"
        );
    }
}
