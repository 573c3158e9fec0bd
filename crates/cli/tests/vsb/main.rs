//! `fairair vsb` on this kernel: stations, box and host are network namespaces, TCP is Linux's own.
//!
//! Needs root; loudly skipped otherwise, and a failure where the environment has `CI`.

#![cfg(target_os = "linux")]

#[path = "../../../linux/src/enforce/discovery/snmp/agent.rs"]
mod agent;
mod association;
mod bars;
mod batches;
mod bench;
mod blind;
mod capacity;
mod causes;
mod channel;
mod check;
mod dashboard;
mod discovery;
mod disk;
mod faults;
mod flood;
mod hostile;
mod init;
mod install;
mod late;
mod latency;
mod metrics;
mod operator;
mod page;
mod policies;
mod programs;
mod settings;
mod shares;
mod tamper;
mod turn;
mod udp_flows;
mod wan;
mod worker;
