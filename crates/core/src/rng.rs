//! Randomness: one stream an object, forked from the scenario's seed by a label.
//!
//! A stream depends on the seed and on its own label only, so that adding a station to a scenario
//! leaves the draws of the others as they were.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A stream of random numbers. PCG-MCG with 128 bits of state: small, fast, the same everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Rng(Pcg64Mcg);

/// The hash of no bytes.
pub(crate) const FNV1A: u64 = 0xcbf2_9ce4_8422_2325;

/// Fowler-Noll-Vo hash, variant 1a, 64 bits (RFC 9923): that of more bytes after those of `hash`.
pub(crate) fn fnv1a(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// What stands where a stream is seeded later.
impl Default for Rng {
    fn default() -> Self {
        Rng::fork(0, "")
    }
}

impl Rng {
    /// The stream that `label` names under `seed`.
    pub fn fork(seed: u64, label: &str) -> Self {
        // FNV-1a spreads the label; SplitMix64 (inside seed_from_u64) whitens the mix.
        let hash = fnv1a(FNV1A, label.bytes().chain(seed.to_le_bytes()));
        Rng(Pcg64Mcg::seed_from_u64(hash ^ seed.rotate_left(32)))
    }

    /// Uniform over all 64-bit numbers.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over all 32-bit numbers.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// Uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        // 53 bits: every value is exact in an f64.
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// True with probability `p`; draws nothing when the answer is certain.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.uniform() < p)
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_label_and_by_seed_and_repeat() {
        let draw = |seed, label| Rng::fork(seed, label).next_u64();
        assert_eq!(draw(1, "sta1"), draw(1, "sta1"));
        assert_ne!(draw(1, "sta1"), draw(1, "sta2"));
        assert_ne!(draw(1, "sta1"), draw(2, "sta1"));
    }

    #[test]
    fn uniform_and_exponential_have_the_right_means() {
        let mut rng = Rng::fork(7, "means");
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| rng.uniform()).sum::<f64>() / f64::from(n);
        let exponential: f64 = (0..n).map(|_| rng.exponential()).sum::<f64>() / f64::from(n);
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.015, "{exponential}");
    }
}
