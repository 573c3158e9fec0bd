//! The `fairair` command as a library.

pub mod pcap;
