//! What is wrong and lasts, for `status`, metrics and the log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use serde::Serialize;
use tracing::{info, warn};

/// What can be wrong while the daemon goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Trouble {
    /// The counters of packets that arrive cannot be read.
    Arrivals,
    /// The box is not the bottleneck of a pool, or cannot know.
    Bottleneck,
    /// Interfaces are not ports of one bridge.
    Bridge,
    /// What the controllers learned cannot be written.
    CapacityFile,
    /// Others change classes or queues.
    Classes,
    /// The control socket was removed and cannot be made anew.
    Socket,
    /// A decision cannot be brought to the kernel.
    Control,
    /// The control log has a gap.
    ControlLog,
    /// The control log cannot be opened.
    ControlLogFile,
    /// The counters of the classes cannot be read.
    Counters,
    /// The kernel refuses a change.
    Datapath,
    /// Discovery cannot begin.
    Discovery,
    /// Flows of a station share a queue.
    Flows,
    /// There is no room for another class.
    Full,
    /// An interface is missing or down.
    Interfaces,
    /// The journal loses lines.
    Journal,
    /// The journal cannot be opened.
    JournalFile,
    /// Addresses behind a router have no class.
    Newcomers,
    /// The limits of queues cannot be set.
    Queues,
    /// Rates of stations are not known.
    Rates,
    /// Others took away what shapes; it is back.
    Removed,
    /// What others took away cannot be put back.
    Repair,
    /// Settings of stations cannot be read or written.
    Settings,
    /// An empty class cannot be removed.
    Sweep,
    /// Senders of UDP cannot be read.
    Udp,
    /// Flows of UDP cannot be read or shaped, or are more than are counted.
    UdpFlows,
    /// The counters of the Internet link cannot be read.
    Wan,
    /// The limits of the Internet link's queues cannot be set.
    WanQueues,
}

impl Trouble {
    /// What is well when it has ended.
    const fn end(self) -> &'static str {
        match self {
            Trouble::Arrivals => "the counters of packets that arrive can be read again",
            Trouble::Bottleneck => "the box is the bottleneck again, or nothing says that it is not",
            Trouble::Bridge => "all interfaces are where the mode needs them again",
            Trouble::CapacityFile => "C is kept for the next start again",
            Trouble::Classes => "for 30 s nobody has changed classes or queues of fairair0, or htb_hysteresis",
            Trouble::Socket => "the control socket is there again",
            Trouble::Control => "probes are sent and C is changed in the kernel again",
            Trouble::ControlLog => "the control log goes on, after a gap",
            Trouble::ControlLogFile => "the control log is open",
            Trouble::Counters => "the counters can be read again",
            Trouble::Datapath => "the kernel takes changes again",
            Trouble::Discovery => "discovery has begun",
            Trouble::Flows => "all stations that need it have a queue for each flow again",
            Trouble::Full => "there is room for another class again",
            Trouble::Interfaces => "all interfaces are there and up again",
            Trouble::Journal => "the journal is written again",
            Trouble::JournalFile => "the journal is open",
            Trouble::Newcomers => "all addresses behind routers have a class again",
            Trouble::Queues => "the limits of queues in the kernel are as they should be again",
            Trouble::Rates => "the rates of all stations are known again",
            Trouble::Removed => "for 30 s nobody has removed rules, classes or filters of the box",
            Trouble::Repair => "what others took away is put back",
            Trouble::Settings => "settings of stations are kept again",
            Trouble::Sweep => "empty classes can be removed again",
            Trouble::Udp => "senders of UDP can be read again",
            Trouble::UdpFlows => "flows of UDP are read and shaped again",
            Trouble::Wan => "the counters of the Internet link can be read again",
            Trouble::WanQueues => "the limits of the Internet link's queues are as they should be again",
        }
    }
}

/// The troubles of now.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    /// Each with its text.
    texts: BTreeMap<Trouble, String>,
    /// Whose text is of the configuration before: the log has it again if it lasts.
    dated: BTreeSet<Trouble>,
}

impl Troubles {
    /// Notes whether `what` is wrong; the log has a line when it begins and one when it ends. Answers what went well.
    pub(super) fn watch<T>(&mut self, what: Trouble, result: Result<T, impl Display>) -> Option<T> {
        let is_dated = self.dated.remove(&what);
        match result {
            Ok(value) => {
                if self.texts.remove(&what).is_some() {
                    info!("{}", what.end());
                }
                Some(value)
            }
            Err(error) => {
                let error = error.to_string();
                if self.texts.insert(what, error.clone()).is_none() || is_dated {
                    warn!("{error}");
                }
                None
            }
        }
    }

    /// The same with words for what failed before the error.
    pub(super) fn attempt<T>(&mut self, what: Trouble, words: &str, result: Result<T, impl Display>) -> Option<T> {
        self.watch(what, result.map_err(|error| format!("{words}: {error}")))
    }

    /// The same of what is `wrong` or well, which has no result.
    pub(super) fn tell(&mut self, what: Trouble, wrong: Option<impl Display>) {
        self.watch(what, wrong.map_or(Ok(()), Err));
    }

    /// The configuration is another: what lasts is told in the log once more, as it is then.
    pub(super) fn tell_again(&mut self) {
        self.dated = self.texts.keys().copied().collect();
    }

    /// Whether `what` is wrong now.
    pub(super) fn has(&self, what: Trouble) -> bool {
        self.texts.contains_key(&what)
    }

    /// What is wrong now.
    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        self.texts.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No room for a class and others who change classes had one name: each took the other's text away.
    #[test]
    fn two_troubles_with_classes_stand_beside_each_other() {
        let mut troubles = Troubles::default();
        assert_eq!(troubles.watch(Trouble::Full, Err::<(), _>("no room")), None);
        assert_eq!(troubles.watch(Trouble::Classes, Ok::<_, String>(7)), Some(7));
        assert_eq!(troubles.texts().collect::<Vec<_>>(), ["no room"]);
        assert_eq!(troubles.watch(Trouble::Full, Ok::<_, String>(())), Some(()));
        assert!(!troubles.has(Trouble::Full));
    }

    /// After a reload the text in the log may be of another C.
    #[test]
    fn what_lasts_over_a_reload_is_dated_once() {
        let mut troubles = Troubles::default();
        troubles.watch(Trouble::Bottleneck, Err::<(), _>("C = 12 is too high"));
        troubles.tell_again();
        assert!(troubles.dated.contains(&Trouble::Bottleneck));
        troubles.watch(Trouble::Bottleneck, Err::<(), _>("C = 11 is too high"));
        assert!(troubles.dated.is_empty());
    }
}
