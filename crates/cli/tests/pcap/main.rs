//! Captures of hand-made exchanges on the air: their bytes, their files, and what Wireshark makes of them.

mod air;
mod bytes;
mod file;
mod wireshark;
