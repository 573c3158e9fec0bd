//! Numbers and addresses as octets.

use std::net::IpAddr;

/// The 32 bits at `at`, in the order of this machine.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

/// The address that has these octets, four or sixteen.
pub(super) fn ip(octets: &[u8]) -> Option<IpAddr> {
    let v6 = || <[u8; 16]>::try_from(octets).ok().map(IpAddr::from);
    <[u8; 4]>::try_from(octets).ok().map(IpAddr::from).or_else(v6)
}
