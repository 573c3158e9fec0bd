//! What tshark reads in a capture.

use std::fs;
use std::io::Write;
use std::process::Command;

use fairair_core::mac::{AirBody, AirFrame, LLC_SNAP, MAC_ACK, MAC_HEADER_FCS, Phy, Place, Reception};
use fairair_core::packet::{Direction, Packet, Segment};
use fairair_core::scenario::Scenario;
use fairair_core::units::Duration;

use crate::air::{RADIOTAP_LEN, conversation, write};

/// tshark's fields of a capture, a row a frame, or `None` where it is not installed.
fn tshark(capture: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("air.pcap");
    fs::write(&file, capture).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-T", "fields"]);
    // Times as radiotap defines them; every checksum that is there.
    for option in ["wlan_radio.tsf_at_end:FALSE", "wlan.check_checksum:TRUE", "ip.check_checksum:TRUE"] {
        command.args(["-o", option]);
    }
    command.args(["-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "CI needs tshark: {error}");
            // Past the test runner, which swallows what a passing test prints.
            let mut stderr = std::io::stderr();
            writeln!(stderr, "\n*** SKIPPED (needs tshark): {error} ***").unwrap();
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // Booleans are words from tshark 4.2 on.
    let cell = |cell: &str| cell.replace("True", "1").replace("False", "0");
    Some(text.lines().map(|line| line.split('\t').map(cell).collect()).collect())
}

#[test]
fn wireshark_reads_the_conversation() {
    let fields = [
        "wlan.fc.type_subtype",
        "wlan.fc.ds",
        "wlan.seq",
        "wlan.fc.retry",
        "radiotap.flags.badfcs",
        "ip.src",
        "tcp.srcport",
        "udp.srcport",
        "tcp.flags",
        "tcp.seq",
        "tcp.ack",
        "tcp.len",
    ];
    let Some(rows) = tshark(&conversation(Phy::B).write(), &fields) else { return };
    let header = ["type", "ds", "seq", "retry", "bad", "source", "tcp", "udp", "flags", "seq", "ack", "len"];
    let seen = table(&[vec![header.map(str::to_owned).to_vec()], rows].concat());
    assert_eq!(seen, CONVERSATION, "got:\n{seen}");
}

/// Type 0x0020 is data, 0x001d a MAC ACK; `ds` 1 is to the AP, 2 from it; `tcp` and `udp` are source ports.
const CONVERSATION: &str = "\
type   ds   seq retry bad source     tcp   udp   flags  seq  ack  len
0x0020 0x01 0   0     0   10.0.0.1   49152       0x0002 0    0    0
0x001d 0x00     0     0
0x0020 0x02 0   0     0   10.128.0.0 9           0x0012 0    1    0
0x001d 0x00     0     0
0x0020 0x01 1   0     0   10.0.0.1   49152       0x0010 1    1    0
0x001d 0x00     0     0
0x0020 0x01 2   0     1
0x0020 0x01 2   1     0   10.0.0.1   49152       0x0010 1    1    1460
0x001d 0x00     0     0
0x0020 0x01 3   0     0   10.0.0.1   49152       0x0010 1461 1    1460
0x001d 0x00     0     0
0x0020 0x02 1   0     1
0x0020 0x02 1   1     0   10.128.0.0 9           0x0010 1    2921 0
0x001d 0x00     0     1
0x0020 0x02 2   0     0   10.128.0.1 49152       0x0002 0    0    0
0x001d 0x00     0     0
0x0020 0x01 4   0     0   10.0.0.1   9           0x0012 0    1    0
0x001d 0x00     0     0
0x0020 0x02 3   0     0   10.128.0.1 49152       0x0010 1    1    0
0x001d 0x00     0     0
0x0020 0x02 4   0     1
0x0020 0x02 4   1     0   10.128.0.1 49152       0x0010 1    1    1460
0x001d 0x00     0     0
0x0020 0x02 5   0     0   10.128.0.1 49152       0x0010 1461 1    1460
0x001d 0x00     0     0
0x0020 0x01 5   0     1
0x0020 0x01 5   1     0   10.0.0.1   9           0x0010 1    2921 0
0x001d 0x00     0     1
0x0020 0x02 6   0     0   10.128.0.1 49153       0x0002 0    0    0
0x001d 0x00     0     0
0x0020 0x02 7   0     0   10.128.0.2       49152
0x001d 0x00     0     0
";

/// Columns as wide as the header of [`CONVERSATION`] needs them.
fn table(rows: &[Vec<String>]) -> String {
    const WIDTHS: [usize; 12] = [6, 4, 3, 5, 3, 10, 5, 5, 6, 4, 4, 4];
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(WIDTHS).map(|(cell, width)| format!("{cell:width$} "));
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// A cell of EDCA with all that it can put on the air: RTS and CTS, A-MPDUs, channel errors, BlockAckReq, TXOPs with CF-End.
fn modern(radio: &str) -> (Vec<AirFrame<Segment>>, Vec<u8>) {
    let text = format!(
        r#"
        name = "modern"
        [run]
        duration = "0.3 s"
        warmup = "0 s"
        start_spread = "50 ms"
        [radio]
        {radio}
        frame_error = 0.05
        bar = true
        [wire]
        delay = "1 ms"
        [[station]]
        name = "down"
        count = 2
        flows = [{{ direction = "down" }}]
        [[station]]
        name = "up"
        count = 2
        flows = [{{ direction = "up" }}, {{ direction = "up", kind = "udp", rate = "1 Mbit/s", category = "bk" }}]
        "#
    );
    let scenario = Scenario::from_toml(&text, "modern.toml").unwrap();
    let mut frames = Vec::new();
    fairair_sim::run_monitored(&scenario, 0, Some(&mut |frame| frames.push(frame.clone())));
    let flows: Vec<Direction> = scenario.flows().map(|(_, flow)| flow.direction).collect();
    let capture = write(&scenario.radio, &flows, &frames);
    (frames, capture)
}

/// Radio, and what tshark calls it: PHY of data frames, their MCS, streams, bandwidth, guard interval where it has such fields.
const MODERN: [(&str, &str); 7] = [
    (
        "phy = \"802.11n\"\nwidth = \"40 MHz\"\nmcs = 7\nstreams = 2\nguard_interval = \"0.4 us\"\ntxop = \"4 ms\"\nrts = true",
        "7",
    ),
    ("phy = \"802.11n\"\nband = \"2.4 GHz\"\nmcs = 3\naggregation = \"off\"", "7"),
    ("phy = \"802.11ac\"\nwidth = \"80 MHz\"\nmcs = 9\nstreams = 2\nrts = true", "8"),
    ("phy = \"802.11ax\"\nwidth = \"80 MHz\"\nmcs = 11\nguard_interval = \"0.8 us\"\ntxop = \"2 ms\"", "11"),
    ("phy = \"802.11ac\"\nwidth = \"80 MHz\"\nmcs = 9\namsdu = \"11398 B\"", "8"),
    ("phy = \"802.11n\"\nmcs = 7\namsdu = \"7935 B\"\naggregation = \"off\"", "7"),
    ("phy = \"802.11ax\"\nwidth = \"20 MHz\"\nmcs = 0\nguard_interval = \"3.2 us\"\nstreams = 3", "11"),
];

#[test]
fn wireshark_decodes_modern_cells() {
    for (radio, phy) in MODERN {
        let (frames, capture) = modern(radio);
        let fields = [
            "_ws.malformed",
            "wlan.fc.type_subtype",
            "wlan.duration",
            "wlan_radio.phy",
            "wlan.fcs.status",
            "radiotap.ampdu.reference",
            "radiotap.ampdu.flags.last",
            "_ws.expert.severity",
            "ip.len",
            "wlan.qos.amsdupresent",
            "frame.len",
            "radiotap.length",
            "wlan.qos.tid",
        ];
        let Some(rows) = tshark(&capture, &fields) else { return };
        assert_eq!(rows.len(), frames.len(), "{radio}");
        let mut tids = std::collections::BTreeSet::new();
        let mut kinds = std::collections::BTreeMap::<String, usize>::new();
        let (mut aggregates, mut joined) = (0, 0);
        for (index, (row, frame)) in rows.iter().zip(&frames).enumerate() {
            let [malformed, kind, nav, seen, fcs, reference, last, severity, lens, amsdu, frame_len, radiotap_len, tid] =
                row.as_slice()
            else {
                unreachable!()
            };
            let place = format!("{radio}, frame {index}: {row:?} of {frame:?}");
            assert_eq!(malformed, "", "{place}");
            // 8388608: an error. A lost MPDU of a TCP segment is a warning of tshark's TCP analysis.
            assert!(!severity.split(',').any(|severity| severity == "8388608"), "{place}");
            assert_eq!(nav.parse::<u64>(), Ok(frame.nav.as_nanos().div_ceil(1_000)), "{place}");
            let is_data = matches!(frame.body, AirBody::Data { .. });
            assert_eq!(seen == phy, is_data, "{place}");
            let own =
                frame.category.filter(|_| is_data).map_or_else(String::new, |category| category.tid().to_string());
            assert_eq!(*tid, own, "{place}");
            tids.insert(own);
            if let AirBody::Data { packet, more, .. } = &frame.body
                && frame.reception == Reception::Decoded
            {
                // The capture keeps the beginning of a frame, with its first packet.
                assert_eq!(*lens, packet.ip_len().0.to_string(), "{place}");
                assert_eq!(amsdu == "1", !more.is_empty(), "{place}");
                // Addresses and length are 14 bytes, LLC/SNAP 8; QoS header and FCS 30.
                let join = |bytes: u64, packet: &Segment| bytes.next_multiple_of(4) + 14 + 8 + packet.ip_len().0;
                let body =
                    if more.is_empty() { 8 + packet.ip_len().0 } else { more.iter().fold(join(0, packet), join) };
                let len = |text: &str| text.parse::<u64>().unwrap();
                assert_eq!(len(frame_len) - len(radiotap_len), 30 + body, "{place}");
                joined += more.len();
            }
            assert_ne!(fcs, "0", "{place}");
            assert_eq!(reference.is_empty(), frame.place == Place::Alone, "{place}");
            assert_eq!(last == "1", frame.place == Place::Last, "{place}");
            aggregates += usize::from(frame.place == Place::Last);
            *kinds.entry(kind.clone()).or_default() += 1;
        }
        // BlockAckReq is 0x0018, BlockAck 0x0019, RTS 0x001b, CTS 0x001c, ACK 0x001d, CF-End 0x001e, QoS data 0x0028.
        let kinds: Vec<&str> = kinds.keys().map(String::as_str).collect();
        let expects = |kind: &str, expected: bool| assert_eq!(kinds.contains(&kind), expected, "{radio}: {kinds:?}");
        let aggregation = !radio.contains("off");
        expects("0x0028", true);
        // Where RTS goes first, it is RTS that collide.
        expects("0x0018", aggregation && !radio.contains("rts"));
        expects("0x0019", aggregation);
        expects("0x001b", radio.contains("rts"));
        expects("0x001c", radio.contains("rts"));
        expects("0x001e", radio.contains("txop"));
        assert_eq!(tids.into_iter().collect::<Vec<_>>(), ["", "0", "1"], "{radio}");
        assert_eq!(aggregates > 0, aggregation, "{radio}");
        assert_eq!(joined > 0, radio.contains("amsdu"), "{radio}");
    }
}

/// Each AP of a channel has a BSSID of its own, whoever sends.
#[test]
fn wireshark_tells_access_points_apart() {
    let text = "name = \"two\"\n[run]\nduration = \"0.3 s\"\nwarmup = \"0 s\"\n[radio]\nphy = \"802.11ac\"\n\
                txop = \"2 ms\"\n[[access_point]]\nname = \"hall\"\n\
                [[station]]\nname = \"a\"\nflows = [{ direction = \"up\" }]\n\
                [[station]]\nname = \"b\"\nap = \"hall\"\nflows = [{ direction = \"down\" }]\n";
    let scenario = Scenario::from_toml(text, "two.toml").unwrap();
    let mut frames = Vec::new();
    fairair_sim::run_monitored(&scenario, 0, Some(&mut |frame| frames.push(frame.clone())));
    let capture = write(&scenario.radio, &[Direction::Up, Direction::Down], &frames);
    let Some(rows) = tshark(&capture, &["wlan.fc.type_subtype", "wlan.bssid", "wlan.staa", "_ws.malformed"]) else {
        return;
    };
    let mut cells = std::collections::BTreeSet::new();
    for row in rows {
        assert_eq!(row[3], "", "{row:?}");
        if row[0] == "0x0028" {
            cells.insert((row[1].clone(), row[2].clone()));
        }
    }
    let cell = |ap: &str, station: &str| (format!("02:fa:{ap}"), format!("02:fa:{station}"));
    let expected = [cell("00:00:00:00", "00:00:00:01"), cell("80:00:00:01", "00:00:00:02")];
    assert_eq!(cells.into_iter().collect::<Vec<_>>(), expected);
}

/// Each frame of an exchange says how long the medium is taken until its end: SIFS, and the answer.
#[test]
fn durations_are_those_of_the_standard() {
    for (radio, _) in MODERN {
        let (frames, _) = modern(radio);
        let sifs = Duration::from_micros(if radio.contains("2.4 GHz") { 10 } else { 16 });
        let mut checked = 0;
        for pair in frames.windows(2) {
            let (frame, next) = (&pair[0], &pair[1]);
            let follows = next.at == frame.at + frame.duration + sifs;
            let answers = match frame.body {
                AirBody::Data { .. } => matches!(next.body, AirBody::Ack | AirBody::BlockAck { .. }),
                AirBody::BlockAckReq { .. } => matches!(next.body, AirBody::BlockAck { .. }),
                AirBody::Rts => matches!(next.body, AirBody::Cts),
                _ => false,
            };
            if follows && answers && frame.reception == Reception::Decoded {
                assert_eq!(frame.nav, sifs + next.duration + next.nav, "{radio}: {frame:?}, {next:?}");
                checked += 1;
            }
            if matches!(frame.body, AirBody::Cts) && follows {
                assert_eq!(frame.nav, sifs + next.duration + next.nav, "{radio}: {frame:?}, {next:?}");
            }
        }
        assert!(checked > 20, "{radio}: {checked} exchanges");
    }
}

#[test]
fn wireshark_finds_nothing_wrong() {
    // Chat: SYN. Note: the MAC's retry. Anything worse is a warning or an error.
    const CHAT_OR_NOTE: [&str; 3] = ["", "2097152", "4194304"];
    for phy in [Phy::B, Phy::A, Phy::G] {
        let air = conversation(phy);
        let fields = [
            "_ws.malformed",
            "tcp.analysis.flags",
            "_ws.expert.severity",
            "wlan.fcs.status",
            "ip.checksum.status",
            "tcp.checksum.status",
            "udp.checksum.status",
        ];
        let Some(rows) = tshark(&air.write(), &fields) else { return };
        assert_eq!(rows.len(), air.frames.len());
        for (index, (row, frame)) in rows.iter().zip(&air.frames).enumerate() {
            let [malformed, analysis, severity, checksums @ ..] = row.as_slice() else { unreachable!() };
            assert_eq!((malformed.as_str(), analysis.as_str()), ("", ""), "{phy:?}, frame {index}");
            let harmless = severity.split(',').all(|severity| CHAT_OR_NOTE.contains(&severity));
            assert!(harmless, "{phy:?}, frame {index}: {severity}");
            // 0: wrong, 1: right, 2: not all bytes there, empty: no such field.
            assert!(checksums.iter().all(|status| status != "0"), "{phy:?}, frame {index}: {checksums:?}");
            let whole = frame.reception == Reception::Decoded
                && matches!(frame.body, AirBody::Ack | AirBody::Data { packet: Segment { payload: 0, .. }, .. });
            assert_eq!(checksums[0] == "1", whole, "{phy:?}, frame {index}: FCS");
        }
    }
}

/// Wireshark computes frame durations and gaps from rate, length and preamble: a second opinion on ours.
#[test]
fn wireshark_agrees_on_the_timing() {
    // SIFS and an ACK with short preamble at 2 Mbit/s, or at 24 Mbit/s.
    for (phy, nav_of_data) in [(Phy::B, 10 + 96 + 56), (Phy::A, 16 + 28)] {
        let air = conversation(phy);
        let fields = [
            "frame.time_relative",
            "wlan_radio.duration",
            "wlan_radio.ifs",
            "wlan.duration",
            "frame.len",
            "radiotap.channel.freq",
        ];
        let Some(rows) = tshark(&air.write(), &fields) else { return };
        for (row, pair) in rows[1..].iter().zip(air.frames.windows(2)) {
            let (before, frame) = (&pair[0], &pair[1]);
            let ifs = frame.at - (before.at + before.duration);
            let (nav, mac_len) = match &frame.body {
                AirBody::Ack => (0, MAC_ACK),
                AirBody::Data { packet, .. } => (nav_of_data, packet.ip_len().0 + LLC_SNAP + MAC_HEADER_FCS),
                other => panic!("a frame of EDCA in a cell under DCF: {other:?}"),
            };
            let expected = [
                format!("{:.9}", (frame.at - air.frames[0].at).as_secs_f64()),
                (frame.duration.as_nanos() / 1_000).to_string(),
                (ifs.as_nanos() / 1_000).to_string(),
                nav.to_string(),
                (RADIOTAP_LEN + mac_len).to_string(),
                if phy == Phy::B { "2437" } else { "5180" }.to_owned(),
            ];
            assert_eq!(row, &expected, "{phy:?}");
        }
    }
}
