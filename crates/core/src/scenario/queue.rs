//! The AP's queue discipline: one entry of [`KINDS`] a kind.

use super::cursor::{Kind, Table};
use super::error::Checked;
use super::sections::LARGEST_QUEUE;
use crate::qdisc::QdiscSpec;

/// Packets that a queue holds unless the file says otherwise.
const USUAL_LIMIT: usize = 100;

/// Every discipline that a file can name, with its keys and their reader.
const KINDS: &[Kind<QdiscSpec>] = &[Kind { name: "droptail", keys: &["limit"], read: droptail }];

/// Reads `queue = { kind = .. }` of `[ap]`.
pub(super) fn spec(ap: &Table) -> Checked<QdiscSpec> {
    if !ap.has("queue") {
        return Ok(QdiscSpec::Droptail { limit: USUAL_LIMIT });
    }
    let table = ap.table("queue", "the AP's queue")?;
    (table.kind(KINDS, None, &[])?.read)(&table)
}

fn droptail(table: &Table) -> Checked<QdiscSpec> {
    Ok(QdiscSpec::Droptail { limit: table.within("limit", 1..=LARGEST_QUEUE, USUAL_LIMIT)? })
}
