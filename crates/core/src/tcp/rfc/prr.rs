//! Proportional rate reduction (RFC 6937) as ns-3.44 has it (`TcpPrrRecovery`), in bytes.

/// One recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// Bytes delivered since it began (`prr_delivered`).
    delivered: u64,
    /// Bytes sent since it began (`prr_out`).
    pub(super) out: u64,
    /// Bytes in flight when it began.
    flight: u64,
}

/// An acknowledgement in recovery.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // What an acknowledgement may be at once: they combine.
pub(super) struct Arrival {
    /// Bytes that it acknowledges, selectively or not, for the first time.
    pub(super) delivered: u64,
    /// It names new ranges.
    pub(super) duplicate: bool,
    /// It acknowledges more than those before.
    pub(super) advances: bool,
    /// What it acknowledges was sent again.
    pub(super) repairs: bool,
    /// Recovery begins with it.
    pub(super) begins: bool,
}

impl Prr {
    /// A recovery begins with `flight` bytes in the network.
    pub(super) fn new(flight: u64) -> Self {
        Prr { delivered: 0, out: 0, flight: flight.max(1) }
    }

    /// The window in bytes after `arrival`, with `pipe` bytes in the network; `None`: as it was.
    ///
    /// ns-3 counts a segment more for a duplicate, and all of an acknowledgement twice that is a duplicate and advances.
    pub(super) fn window(&mut self, arrival: Arrival, pipe: u64, threshold: u64, mss: u64) -> Option<u64> {
        let extra = if self.delivered < self.flight { mss } else { 0 };
        let duplicate = arrival.duplicate || arrival.begins;
        let first = duplicate.then(|| self.after(arrival.delivered + extra, false, pipe, threshold, mss));
        let partial = arrival.advances && !arrival.begins && arrival.delivered > 0;
        let second = partial.then(|| self.after(arrival.delivered, arrival.repairs, pipe, threshold, mss));
        second.or(first)
    }

    fn after(&mut self, delivered: u64, repairs: bool, pipe: u64, threshold: u64, mss: u64) -> u64 {
        self.delivered += delivered;
        let count = if pipe > threshold {
            (self.delivered * threshold).div_ceil(self.flight).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered);
            (limit + if repairs { mss } else { 0 }).min(threshold - pipe)
        };
        let least = if self.out > 0 { 0 } else { mss };
        pipe + count.max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ns-3.44 printed: 249,660 bytes in flight, threshold 235,060; windows of 252,410 and, after the retransmission, 253,699.
    #[test]
    fn windows_are_as_ns3_printed_them() {
        let mut prr = Prr::new(249_660);
        let arrival = Arrival { delivered: 1460, duplicate: true, begins: true, ..Arrival::default() };
        assert_eq!(prr.window(arrival, 249_660, 235_060, 1460), Some(252_410));
        prr.out += 1460;
        let arrival = Arrival { begins: false, ..arrival };
        assert_eq!(prr.window(arrival, 249_660, 235_060, 1460), Some(253_699));
        assert_eq!(prr.window(Arrival::default(), 249_660, 235_060, 1460), None);
    }

    #[test]
    fn below_the_threshold_it_catches_up_by_what_was_delivered() {
        let mut prr = Prr::new(100_000);
        prr.out = 1000;
        let partial = Arrival { delivered: 1000, advances: true, ..Arrival::default() };
        assert_eq!(prr.window(partial, 20_000, 70_000, 1000), Some(21_000));
        prr.out += 1000;
        assert_eq!(prr.window(Arrival { repairs: true, ..partial }, 20_000, 70_000, 1000), Some(22_000));
        assert_eq!(prr.window(partial, 69_500, 70_000, 1000), Some(70_000));
    }
}
