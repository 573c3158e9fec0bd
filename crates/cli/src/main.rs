//! The `fairair` command.

fn main() {}
