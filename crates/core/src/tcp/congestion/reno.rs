//! Reno's congestion avoidance by segments, as Linux counts them: `tcp_cong_avoid_ai` of net/ipv4/tcp_cong.c.

/// Multiplicative decrease factor (RFC 5681 section 3.1).
pub(super) const BETA: f64 = 0.5;

/// What Reno remembers: segments acknowledged that have not opened the window yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reno {
    credit: u32,
}

impl Reno {
    /// The window was set: counting starts again.
    pub(super) fn restart(&mut self) {
        self.credit = 0;
    }

    /// The window after `segments` were acknowledged in congestion avoidance: one more for each window of them.
    pub(super) fn grow(&mut self, cwnd: f64, segments: u32) -> f64 {
        let mut cwnd = cwnd as u32;
        // The window shrank below what is saved up.
        if self.credit >= cwnd {
            self.credit = 0;
            cwnd += 1;
        }
        self.credit += segments;
        let more = self.credit / cwnd;
        self.credit -= more * cwnd;
        f64::from(cwnd + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_segments_opens_the_window_by_one() {
        let mut reno = Reno::default();
        let mut cwnd = 4.0;
        let windows = [(); 9].map(|()| {
            cwnd = reno.grow(cwnd, 2);
            cwnd as u32
        });
        assert_eq!(windows, [4, 5, 5, 5, 6, 6, 6, 7, 7]);
        reno.restart();
        assert_eq!(reno.grow(7.0, 6) as u32, 7);
        assert_eq!(reno.grow(3.0, 1) as u32, 4, "saved up in a larger window");
    }
}
