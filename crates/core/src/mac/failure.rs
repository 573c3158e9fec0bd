//! An exchange that fails: who waits for how long, and what is sent again.

use super::bss::Bss;
use super::edca::{Job, Phase};
use super::medium::AccessId;
use super::rules::AfterNoAnswer;
use crate::packet::Packet;
use crate::units::{Duration, Instant};

impl<P: Packet + Clone> Bss<P> {
    /// No ACK or BlockAck comes: a collision, or channel errors in all MPDUs.
    pub(super) fn unanswered(&mut self, now: Instant) {
        let undecoded = now + (self.params.after_bad_frame - self.params.difs);
        if self.medium.senders.len() > 1 {
            self.medium.release(undecoded);
        } else {
            // All but the receiver decoded the frame's header and keep silent for the answer that it announced.
            let id = self.medium.senders[0].id;
            let (sifs, all) = (self.params.sifs, self.params.rules.announces_txop);
            let edca = self.edca();
            let function = &edca.functions[id];
            let announced = now + sifs + function.job.answer;
            let nav = if all && function.txop > Duration::ZERO { announced.max(function.txop_end) } else { announced };
            let (is_ap, peer, node) = (function.is_ap, function.job.peer, function.node);
            let receiver = if is_ap { peer + 1 } else { self.links[node - 1].ap_at };
            let receivers = self.edca().of_node(receiver);
            self.medium.release(nav);
            for id in receivers {
                self.medium.set_idle_from(id, undecoded);
            }
        }
        for index in 0..self.medium.senders.len() {
            let sender = self.medium.senders[index];
            let ifs = self.medium.accesses[sender.id].ifs;
            let function = &self.edca.as_ref().expect("a QoS cell").functions[sender.id];
            let after_no_ack = self.params.after_no_ack_to(self.links[function.station(function.job.peer)].tx);
            let idle_from = match self.params.rules.after_no_answer {
                AfterNoAnswer::SpaceAfterTimeout => now.max(sender.end + after_no_ack),
                AfterNoAnswer::Timeout | AfterNoAnswer::TimeoutIfLongest => {
                    now.max(sender.end + after_no_ack.saturating_sub(ifs))
                }
            };
            self.medium.set_idle_from(sender.id, idle_from);
            self.failed(now, sender.id);
        }
        self.medium.become_idle();
    }

    /// The exchange of `id` failed.
    fn failed(&mut self, now: Instant, id: AccessId) {
        let Bss { edca: Some(edca), nodes, .. } = self else { return };
        let bar = edca.params.bar;
        let function = &mut edca.functions[id];
        let Job { phase, peer, load, .. } = function.job;
        let stats = &mut nodes[function.node].stats.qos;
        match phase {
            Phase::Rts => {
                function.sessions[peer].unload();
                function.take_turn(peer);
                stats.rts_missed += 1;
            }
            Phase::Bar => stats.bars_missed += 1,
            Phase::Data => {
                stats.answers_missed += 1;
                if bar && load.mpdus > 1 {
                    function.bar = Some(peer);
                } else {
                    self.settle(now, id);
                }
            }
        }
        self.fall_back(id);
        self.close(id);
    }

    /// The window of `id` doubles; after as many failures as an MPDU has attempts it starts again from the smallest.
    pub(super) fn fall_back(&mut self, id: AccessId) {
        let limit = self.edca().params.retry_limit;
        let access = &mut self.medium.accesses[id];
        access.stage += 1;
        if limit.is_some_and(|limit| access.stage >= limit) {
            access.stage = 0;
        }
    }
}
