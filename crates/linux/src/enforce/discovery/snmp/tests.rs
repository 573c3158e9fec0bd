//! Against an agent on loopback that answers get-bulk as RFC 3416 says, or as it should not.

use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, proptest};
use snmp2::Pdu;

use super::agent::{Agent, Table, ber, integer, response, row};
use super::*;
use crate::enforce::config::Config;

fn ask(agent: &Agent, keys: &str) -> Result<Vec<Sighting>, String> {
    let text = format!(
        "name = \"x\"\nuplink = \"eth0\"\n[[ap]]\nname = \"a\"\ninterface = \"eth1\"\ncapacity = \"5 Mbit/s\"\n\
         [[discovery.snmp]]\nagent = \"{}\"\ncommunity = \"secret\"\n{keys}\n",
        agent.at
    );
    let config = Config::from_toml(&text, "test").unwrap();
    Snmp::new(config.discovery.snmp[0].clone()).look().map_err(|error| error.to_string())
}

fn loopback() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").unwrap()
}

fn with(table: Table) -> Agent {
    Agent::with(loopback(), b"secret", Arc::new(Mutex::new(table)))
}

fn oid(text: &str, index: &[u32]) -> Vec<u32> {
    text.split('.').map(|part| part.parse().unwrap()).chain(index.iter().copied()).collect()
}

const MIKROTIK: &str = "1.3.6.1.4.1.14988.1.1.1.2.1.8";

#[test]
fn a_registration_table_is_read_whole_with_its_rates() {
    // Gauge32 of bit/s; the last row is of the next column.
    let mut table: Vec<_> = (0..300_u32)
        .map(|station| {
            let index = [2, 0, 0, 0, station >> 8, station & 255, 7];
            (oid(MIKROTIK, &index), ber(0x42, &54_000_000_u32.to_be_bytes()))
        })
        .collect();
    table.push((oid("1.3.6.1.4.1.14988.1.1.1.2.1.9", &[2, 0, 0, 0, 9, 9, 7]), integer(1)));
    let agent = with(table);
    let seen = ask(&agent, "table = \"mikrotik\"").unwrap();
    assert_eq!(seen.len(), 300);
    assert_eq!(seen[299].mac, Some("02:00:00:00:01:2b".parse().unwrap()));
    assert!(seen.iter().all(|station| station.rate == Some(Bitrate::mbps(54))));
    assert_eq!(agent.asked.load(Ordering::SeqCst), 16, "20 rows a request");
}

/// An AP without stations has no rows, but the rest of the MIB; an agent without either has the wrong table.
#[test]
fn a_table_that_the_agent_lacks_is_told() {
    let idle = with(vec![(oid("1.3.6.1.4.1.14988.1.1.4.1.0", &[]), integer(6))]);
    assert_eq!(ask(&idle, "table = \"mikrotik\""), Ok(Vec::new()));
    let other = with(vec![(oid("1.3.6.1.2.1.1.3.0", &[]), integer(6))]);
    let told = ask(&other, "table = \"mikrotik\"").unwrap_err();
    assert!(told.contains("no table 1.3.6.1.4.1.14988.1.1.1.2.1.8"), "{told}");
}

#[test]
fn ciscos_table_gives_rates_and_addresses() {
    // Interface 1, SSID "hot", MAC address.
    let index = [1, 3, 104, 111, 116, 2, 0, 0x5e, 0x10, 0, 1];
    let agent = with(vec![
        (oid("1.3.6.1.4.1.9.9.273.1.2.1.1.16", &index), ber(4, &[10, 1, 0, 7])),
        (oid("1.3.6.1.4.1.9.9.273.1.3.1.1.1", &index), ber(4, &[0x80 | 0x16])),
    ]);
    let seen = ask(&agent, "table = \"cisco-dot11\"").unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].mac, Some("02:00:5e:10:00:01".parse().unwrap()));
    assert_eq!((seen[0].rate, seen[0].address), (Some(Bitrate::mbps(11)), Some("10.1.0.7".parse().unwrap())));
}

#[test]
fn of_a_bridge_only_the_radios_ports_count() {
    let fdb = "1.3.6.1.2.1.17.4.3.1.2";
    let agent = with(
        [(1_u32, 1), (2, 2), (3, 2)]
            .map(|(station, port)| (oid(fdb, &[2, 0, 0, 0, 0, station]), integer(port)))
            .to_vec(),
    );
    let macs: Vec<_> =
        ask(&agent, "table = \"bridge\"\nports = [2]").unwrap().into_iter().map(|seen| seen.mac).collect();
    assert_eq!(macs, [Some(Mac([2, 0, 0, 0, 0, 2])), Some(Mac([2, 0, 0, 0, 0, 3]))]);
}

#[test]
fn a_table_of_ones_own_is_read() {
    let agent = with(vec![
        (oid("1.3.6.1.4.1.99999.1.1", &[5]), ber(4, &[2, 0, 0, 0, 0, 9])),
        (oid("1.3.6.1.4.1.99999.1.1", &[6]), ber(4, b"$(reboot)\x1b[2J\n")),
        (oid("1.3.6.1.4.1.99999.1.2", &[5]), integer(110)),
    ]);
    let keys = "oid = \".1.3.6.1.4.1.99999.1.1\"\nmac = \"value\"\nrate_oid = \"1.3.6.1.4.1.99999.1.2\"\nrate_unit = \"100 kbit/s\"";
    let seen = ask(&agent, keys).unwrap();
    assert_eq!(seen.len(), 1, "six octets are an address, rubbish is none");
    assert_eq!(seen[0].rate, Some(Bitrate::mbps(11)));
}

#[test]
fn a_lost_answer_is_asked_for_again_and_silence_is_told() {
    let rows = || row(&oid(MIKROTIK, &[2, 0, 0, 0, 0, 1, 7]), &integer(54_000_000));
    let agent = Agent::new(
        loopback(),
        Box::new(move |number, pdu, from| {
            let rows = if from.len() > 14 { row(from, &[0x82, 0]) } else { rows() };
            (number > 0).then(|| response(pdu.community, pdu.req_id as u32, 0, &rows))
        }),
    );
    assert_eq!(ask(&agent, "table = \"mikrotik\"").unwrap().len(), 1);
    let silent = Agent::new(loopback(), Box::new(|_, _, _| None));
    let begin = Instant::now();
    assert!(ask(&silent, "table = \"mikrotik\"").unwrap_err().contains("no answer"));
    assert!(begin.elapsed() < Duration::from_secs(4));
}

#[test]
fn answers_that_lead_astray_are_told() {
    let name = oid(MIKROTIK, &[2, 0, 0, 0, 0, 1, 7]);
    let say = |bytes: fn(u32, &[u8], &[u32]) -> Vec<u8>| {
        let name = name.clone();
        Agent::new(loopback(), Box::new(move |_, pdu, _| Some(bytes(pdu.req_id as u32, pdu.community, &name))))
    };
    let again = say(|id, community, name| response(community, id, 0, &row(name, &integer(1))));
    assert!(ask(&again, "table = \"mikrotik\"").unwrap_err().contains("do not increase"));
    let error = say(|id, community, _| response(community, id, 5, &[]));
    assert!(ask(&error, "table = \"mikrotik\"").unwrap_err().contains("error 5"));
    let other = say(|id, community, name| response(community, id ^ 1, 0, &row(name, &integer(1))));
    assert!(ask(&other, "table = \"mikrotik\"").is_err(), "an answer to another request");
    let stranger = say(|id, _, name| response(b"public", id, 0, &row(name, &integer(1))));
    assert!(ask(&stranger, "table = \"mikrotik\"").is_err(), "another community");
    let empty = say(|id, community, _| response(community, id, 0, &[]));
    assert!(ask(&empty, "table = \"mikrotik\"").unwrap_err().contains("no table"), "nothing at all");
}

#[test]
fn object_identifiers_read_back() {
    for numbers in [vec![1, 3, 6, 1, 2, 1, 17], vec![0, 39], vec![2, 4_294_967_000, 128, u32::MAX, 0]] {
        assert_eq!(decode(&encode(&numbers)), Some(numbers));
    }
    assert_eq!(decode(&[0x2b, 0x80]), None, "cut");
    assert_eq!(decode(&[0x2b, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), None, "more than 32 bits");
}

proptest! {
    /// What the library makes of any bytes, and of a good answer with some bytes changed, is an error or rows; never a
    /// panic, which would end the daemon.
    #[test]
    fn any_datagram_is_an_answer_or_none(
        noise in vec(any::<u8>(), 0..200),
        hits in vec((0_usize..200, any::<u8>()), 0..6),
        cut in 0_usize..200,
    ) {
        let rows = [
            row(&oid(MIKROTIK, &[2, 0, 0, 0, 0, 1, 7]), &ber(0x42, &[3, 0x37, 0xf9, 0x80])),
            row(&oid(MIKROTIK, &[2, 0, 0, 0, 0, 2, 7]), &ber(0x40, &[10, 1, 0, 2])),
            row(&oid(MIKROTIK, &[2, 0, 0, 0, 0, 3, 7]), &ber(4, &noise)),
        ];
        let mut good = response(b"secret", 7, 0, &rows.concat());
        for (place, byte) in hits {
            let place = place % good.len();
            good[place] = byte;
        }
        good.truncate(good.len() - cut.min(good.len()) / 4);
        for bytes in [&noise, &good] {
            let Ok(pdu) = Pdu::from_bytes(bytes) else { continue };
            for (name, value) in pdu.varbinds {
                let numbers = decode(name.as_bytes());
                prop_assert!(numbers.is_none_or(|numbers| numbers.len() <= name.as_bytes().len() + 1));
                let _ = format!("{value:?}").len();
            }
        }
    }

    /// Any row is a station or none, and rates are those of radios.
    #[test]
    fn any_row_is_a_station_or_none(index in vec(any::<u32>(), 0..12), octets in vec(any::<u8>(), 0..20), number: u64) {
        for cell in [Cell::Octets(octets), Cell::Number(number)] {
            for place in [MacPlace::First, MacPlace::Last, MacPlace::Value] {
                prop_assert!(mac(place, &index, &cell).is_none_or(|mac| !mac.is_multicast()));
            }
            prop_assert!(rate(&cell, Bitrate::from_bps(number)).is_none_or(|rate| PHY_RATES.contains(&rate)));
            let _ = address(&cell);
        }
        prop_assert!(index.len() < 2 || index[0] > 2 || index[0] < 2 && index[1] >= 40
            || decode(&encode(&index)) == Some(index));
    }
}
