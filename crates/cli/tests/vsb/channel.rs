//! APs on one channel.

use std::fmt::Write as _;

use crate::bench::{Bench, Place, needs_root};
use crate::operator::{reload, until};
use crate::worker::{down, goodputs, share, up};

/// C of a pool, in bit/s.
const C: f64 = 8e6;

fn jain(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

/// `text` with both of its APs on channel 36, the capacity given at the first only.
fn on_one_channel(text: &str) -> String {
    let (first, rest) = text.split_once("capacity = \"8 Mbit/s\"\n").expect("an AP");
    let rest = rest.replacen("capacity = \"8 Mbit/s\"\n", "channel = \"36/5\"\n", 1);
    format!("{first}channel = 36\ncapacity = \"8 Mbit/s\"\n{rest}")
}

/// Three stations at one AP, one at the other, told apart by prefix: alone each AP has C, on one channel both have it
/// together, and all four stations get the same.
#[test]
fn aps_on_one_channel_share_its_capacity_equally_between_all_their_stations() {
    needs_root!();
    let mut text = String::new();
    for (ap, net) in [("ap1", "10.1.0.0/24"), ("ap2", "10.1.9.0/24")] {
        let _ = write!(
            text,
            "[[ap]]\nname = \"{ap}\"\ninterface = \"lan\"\nprefixes = [\"{net}\"]\ncapacity = \"8 Mbit/s\"\n"
        );
    }
    for address in ["10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.9.9"] {
        let _ = write!(text, "[[station]]\nname = \"s{address}\"\naddresses = [\"{address}\"]\n");
    }
    let all = [down("10.1.0.2"), up("10.1.0.3"), down("10.1.0.4"), up("10.1.9.9")];
    let bench = Bench::shaping(3, &text);
    let apart = goodputs(&bench, &all, 3, 5);
    let (near, far) = (apart[..3].iter().sum::<f64>(), apart[3]);
    println!("apart: {apart:?}, Jain {:.4}", jain(&apart));
    assert!((0.85..1.0).contains(&(near / C)) && (0.85..1.0).contains(&(far / C)), "{apart:?}");

    bench.configure(&on_one_channel(&text));
    reload(&bench);
    let shared = goodputs(&bench, &all, 3, 5);
    let sum = shared.iter().sum::<f64>();
    println!("one channel: {shared:?}, Jain {:.4}, sum {:.2} Mbit/s of {:.0}", jain(&shared), sum / 1e6, C / 1e6);
    assert!(jain(&shared) >= 0.97 && (0.85..1.0).contains(&(sum / C)), "{shared:?}");

    let status = bench.json(&["status"])["status"].clone();
    assert_eq!(status["pools"].as_array().map(Vec::len), Some(1), "{status}");
    assert_eq!(status["pools"][0]["aps"], serde_json::json!(["ap1", "ap2"]));
    assert_eq!(status["pools"][0]["channel"], "36/5");
    let stations = bench.json(&["stations"])["stations"].clone();
    let far = stations.as_array().expect("a list").iter().find(|own| own["name"] == "s10.1.9.9").expect("it is there");
    assert_eq!(far["ap"], "ap2", "a station is at its own AP");
    let explained = bench.vsb(&["explain", "10.1.9.9"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("channel 36/5") && explained.contains("ap1, ap2"), "{explained}");
}

/// The same of two interfaces, of a bridge, with a machine that probes: whoever is behind either port is asked there.
#[test]
fn two_interfaces_are_one_pool_when_their_aps_are_on_one_channel() {
    needs_root!();
    let mut bench = Bench::new(1);
    bench.bridge();
    let mut text = "mode = \"bridged\"\n".to_owned();
    for (ap, port) in [("ap1", "lan0"), ("ap2", "lan1")] {
        let _ = write!(text, "[[ap]]\nname = \"{ap}\"\ninterface = \"{port}\"\ncapacity = \"8 Mbit/s\"\n");
    }
    bench.configure(&on_one_channel(&text));
    bench.start(&[]);
    let all = [up("10.1.0.2"), down("10.1.0.2"), down("10.1.9.9")];
    let (near, far) = share(&bench, &all[..2], &all[2..]);
    let (by_station, sum) = ([near, far], near + far);
    println!("two ports: {by_station:?}, Jain {:.4}, sum {:.2} Mbit/s", jain(&by_station), sum / 1e6);
    assert!(jain(&by_station) >= 0.97 && (0.85..1.0).contains(&(sum / C)), "{by_station:?}");
    let stations = bench.json(&["stations"])["stations"].clone();
    for (place, ap) in [(Place::Stations, "ap1"), (Place::Other, "ap2")] {
        let mac = bench.mac(place);
        let own = stations.as_array().expect("a list").iter().find(|own| own["mac"] == mac.as_str());
        assert_eq!(own.expect("it is there")["ap"], ap, "{stations}");
    }

    let adaptive = text.replace("\"8 Mbit/s\"", "{ kind = \"adaptive\", max = \"8 Mbit/s\" }");
    let adaptive = adaptive.replace("capacity", "channel = 36\ncapacity");
    bench.configure(&adaptive);
    reload(&bench);
    goodputs(&bench, &all, 3, 5);
    let pools = bench.json(&["status"])["status"]["pools"].clone();
    let [sent, answered, lost] = [0, 1, 2].map(|which| pools[0]["probes"][which].as_u64().expect("a number"));
    println!("probes: {sent} sent, {answered} answered, {lost} lost");
    assert!(pools.as_array().map(Vec::len) == Some(1) && answered > 2 && lost == 0, "{pools}");
    let stations = bench.json(&["stations"])["stations"].clone();
    let asked = stations.as_array().expect("a list").iter().filter(|own| !own["answers"].is_null()).count();
    assert_eq!(asked, 2, "behind both ports: {stations}");
}

/// Two access points without lists of stations. A device with the same MAC address answers at the other one: bridged behind its port, routed
/// with an address of its network. Its class is in the pool there.
#[test]
fn who_moves_to_another_ap_is_in_its_pool() {
    needs_root!();
    for is_bridged in [true, false] {
        let mut bench = Bench::light(1);
        let (mode, asks, moved) = if is_bridged {
            bench.bridge();
            ("bridged", Place::Host, "10.1.0.2")
        } else {
            bench.ip(
                Place::Box,
                "addr flush dev lan\nlink set lan0 nomaster\nlink set lan1 nomaster\naddr add 10.1.0.1/24 dev lan0\naddr add 10.3.0.1/24 dev lan1\n",
            );
            ("routed", Place::Box, "10.3.0.2")
        };
        let ap = |name: &str, port: &str| {
            format!("[[ap]]\nname = \"{name}\"\ninterface = \"{port}\"\ncapacity = \"8 Mbit/s\"\n")
        };
        bench.configure(&format!("mode = \"{mode}\"\n{}{}", ap("ap1", "lan0"), ap("ap2", "lan1")));
        bench.start(&[]);
        let mac = bench.mac(Place::Stations);
        let is_at = |address: &str, ap: &str| {
            let ping = format!("ping -c 1 -W 1 {address} || true");
            bench.run(asks, &["sh", "-c", &ping]);
            let stations = bench.json(&["stations"])["stations"].clone();
            let own = stations.as_array().expect("a list").iter().find(|own| own["mac"] == mac.as_str()).cloned();
            own.is_some_and(|own| own["ap"] == ap)
        };
        until(15, &bench, || is_at("10.1.0.2", "ap1"));
        bench.ip(Place::Stations, "link set eth0 down\n");
        bench.ip(
            Place::Other,
            &format!(
                "link set eth0 down\naddr flush dev eth0\nlink set eth0 address {mac}\nlink set eth0 up\naddr add {moved}/16 dev eth0\n\
                 route add 10.2.0.0/16 {}\n",
                if is_bridged { "dev eth0" } else { "via 10.3.0.1" }
            ),
        );
        let begin = std::time::Instant::now();
        until(15, &bench, || is_at(moved, "ap2"));
        println!("{mode}: at the other AP {:.1} s after the move", begin.elapsed().as_secs_f64());
        let log = bench.log();
        assert!(log.contains("moved") && !log.contains("forgotten"), "{log}");
        if is_bridged {
            // Somebody sends with its MAC address behind the other port: classes come and go, and their numbers come back.
            let flaps = format!(
                "for n in $(seq 200); do for port in lan0 lan1; do bridge fdb replace {mac} dev $port master dynamic; sleep 0.02; done; done"
            );
            bench.run(Place::Box, &["sh", "-c", &flaps]);
            let stations = bench.json(&["stations"])["stations"].clone();
            let own =
                stations.as_array().expect("a list").iter().find(|own| own["mac"] == mac.as_str()).expect("there");
            let class = own["class"].as_str().and_then(|class| class.strip_prefix("1:")).expect("a class");
            let slot = (u32::from_str_radix(class, 16).expect("a number") >> 4) - 256;
            println!("slot {slot} after 400 moves");
            assert!(slot < 40, "{stations}");
        }
    }
}
