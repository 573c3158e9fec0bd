//! The `fairair` command as a library.
