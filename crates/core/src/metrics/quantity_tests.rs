//! The catalogue against the schema and the docs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;

#[test]
fn each_quantity_stands_in_the_schema_and_has_one_name() {
    let catalogue = catalogue();
    for entry in &catalogue {
        assert!(!entry.what.is_empty(), "{} is not in the schema, or says nothing", entry.key);
        let by_suffix = [("_bps", "bit/s"), ("_s", "s"), ("_per_second", "1/s")];
        for (end, unit) in by_suffix {
            assert!(!entry.key.ends_with(end) || entry.unit == unit, "{} in {}", entry.key, entry.unit);
        }
    }
    let names: BTreeSet<_> = catalogue.iter().map(|entry| (entry.level, entry.name)).collect();
    assert_eq!(names.len(), catalogue.len(), "a name for each");
    let compared: Vec<_> = CELL.iter().filter_map(|cell| cell.compared_as).collect();
    assert_eq!(compared.iter().collect::<BTreeSet<_>>().len(), compared.len());
}

#[test]
fn the_table_in_the_docs_is_the_catalogue() {
    let mut table = "| of | key | column | unit | meaning |\n|---|---|---|---|---|\n".to_owned();
    for Entry { level, key, name, compared_as, unit, what } in catalogue() {
        let also = compared_as.map(|name| format!(", in comparisons `{name}`")).unwrap_or_default();
        let _ = writeln!(table, "| {level} | `{key}` | `{name}`{also} | {unit} | {what} |");
    }
    crate::generated::check_table("results.md", "the catalogue", &table);
}
