//! Mistakes of meaning: units, ranges, and values that contradict each other.

use super::{bad, refuses};

#[test]
fn quantities_need_a_number_and_their_unit() {
    for (text, problem, fix) in [
        ("$N[run]\nduration = ~\"5 sec\"\n$S", "`duration` in [run]: `sec` is no unit of a duration", "\"5 s\""),
        ("$N[run]\nduration = ~180\n$S", "180 has no unit", "\"180 s\""),
        ("$N[run]\nduration = ~1.5\n$S", "1.5 has no unit", "\"1.5 s\""),
        ("$N[run]\nduration = ~\"180\"\n$S", "`180` has no unit", "write \"180 s\""),
        ("$N[run]\nduration = ~\"-5 s\"\n$S", "`-5 s` is negative", "positive"),
        ("$N[run]\nduration = ~nan\n$S", "expected a duration", "\"180 s\""),
        ("$N[run]\nduration = ~\"NaN s\"\n$S", "does not begin with a number", "\"180 s\""),
        ("$N[run]\nduration = ~\"1e9 h\"\n$S", "has an exponent", "digits"),
        ("$N[run]\nduration = ~\"1000000001 s\"\n$S", "too long", "at most \"1000000000 s\""),
        ("$N[run]\nduration = ~\"99999999999999999 s\"\n$S", "too large", "smaller"),
        ("$N[run]\nduration = ~\"0.0000000001 s\"\n$S", "more digits than can be kept", "fewer decimals"),
        ("$N$R[radio]\nrate = ~\"11 Mbps\"\n$S", "`Mbps` is no unit of a rate", "write \"11 Mbit/s\""),
        ("$N$R[radio]\nrate = ~\"11 Mb\"\n$S", "`Mb` is no unit of a rate", "write \"11 Mbit/s\""),
        ("$N$R[wire]\nrate = ~\"-1 Mbit/s\"\n$S", "negative", "\"11 Mbit/s\""),
        ("$N$R[wire]\nrate = ~\"0 Mbit/s\"\n$S", "zero sends nothing", "positive rate"),
        ("$N$R[wire]\nrate = ~\"1001 Gbit/s\"\n$S", "too fast", "at most \"1000000 Mbit/s\""),
        ("$N$R[wire]\ndelay = ~\"10 parsec\"\n$S", "`parsec` is no unit of a duration", "ns, us, ms, s, min, h"),
        ("$N$R[tcp]\nmss = ~1460\n$S", "1460 has no unit", "\"1460 B\""),
        ("$N$R[tcp]\nmss = ~\"1460 bytes\"\n$S", "`bytes` is no unit of a size", "write \"1460 B\""),
    ] {
        refuses(text, problem, fix);
    }
}

#[test]
fn runs_have_sense() {
    for (text, problem, fix) in [
        ("$N[run]\nduration = ~\"0 s\"\n$S", "no length", "\"180 s\""),
        ("$N$Rwarmup = ~\"60 s\"\n$S", "60 s leaves nothing of a duration of 60 s", "below the duration"),
        ("$N$Rreplicas = ~0\n$S", "0 is outside the range", "from 1 to"),
        ("$N$Rreplicas = ~-1\n$S", "-1 is negative", "from 1 to 1000000"),
        ("$N$Rseed = ~99999999999999999999\n$S", "is too large", "at most 18446744073709551615"),
        ("$N$Rseed = ~9999999999999999999999999999999999999999\n$S", "too large", "smaller"),
        ("$N$Rstart_spread = ~\"61 s\"\n$S", "61 s is outside the range", "from 0 s to 60 s"),
        ("$N$Rsample_interval = ~\"0 s\"\n$S", "0 s is outside the range", "from 6 us to 60 s"),
        ("name = ~\"\"\n$R$S", "the name is empty", "letters"),
        ("name = ~\"a/b\"\n$R$S", "character '/'", "letters"),
        ("name = ~\"a\\nb\"\n$R$S", "character '\\n'", "letters"),
        ("name = ~\"a\\u202eb\"\n$R$S", "the name `a\\u{202e}b` has the character '\\u{202e}'", "letters"),
        ("name = ~\"a\\u2028b\"\n$R$S", "character '\\u{2028}'", "letters"),
        ("name = ~\"a\\u200bb\"\n$R$S", "character '\\u{200b}'", "letters"),
        ("name = ~\"..\"\n$R$S", "begins with a dot", "letters"),
    ] {
        refuses(text, problem, fix);
    }
    let long = "x".repeat(101);
    refuses(&format!("name = ~\"{long}\"\n$R$S"), "has 101 bytes, more than 100", "letters");
}

#[test]
fn radios_have_sense() {
    for (text, problem, fix) in [
        ("rate = ~\"54 Mbit/s\"", "802.11b does not have 54 Mbit/s", "1 Mbit/s, 2 Mbit/s, 5.5 Mbit/s, 11 Mbit/s"),
        ("phy = \"802.11a\"\nrate = ~\"11 Mbit/s\"", "802.11a does not have 11 Mbit/s", "6 Mbit/s, 9 Mbit/s"),
        ("basic_rate = ~\"3 Mbit/s\"", "does not have 3 Mbit/s", "one of 1 Mbit/s"),
        ("rate = \"2 Mbit/s\"\nbasic_rate = ~\"11 Mbit/s\"", "above the data rate of 2 Mbit/s", "\"2 Mbit/s\""),
        ("phy = \"802.11a\"\npreamble = ~\"short\"", "an 802.11b preamble, but the PHY is 802.11a", "remove it"),
        ("preamble = ~\"0 us\"", "0 s is outside the range", "1 us to 10 ms"),
        ("retry_limit = ~0", "0 is outside the range", "from 1 to 1000"),
        ("cw_min = ~64\ncw_max = 31", "64, is above the largest, 31", "cw_min <= cw_max"),
        ("cw_min = ~2047", "2047, is above the largest, 1023", "cw_min <= cw_max"),
        ("cw_max = ~15", "31, is above the largest, 15", "cw_min <= cw_max"),
        ("cw_min = ~0", "0 is outside the range", "from 1"),
        ("frame_error = ~1.5", "1.5 is no probability", "from 0 to 1"),
        ("frame_error = ~nan", "not a finite number", "0.1"),
        ("bit_error_rate = ~-0.1", "-0.1 is outside the range", "from 0 to 1"),
        ("bit_error_rate = ~inf", "not a finite number", "0.1"),
    ] {
        refuses(&format!("$N$R[radio]\n{text}\n$S"), problem, fix);
    }
}

#[test]
fn queues_and_tcp_have_sense() {
    for (text, problem, fix) in [
        ("[ap]\nqueue = { kind = \"droptail\", limit = ~0 }", "0 is outside the range", "from 1"),
        ("[ap]\nuplink_queue = ~0", "0 is outside the range", "from 1"),
        ("[wire]\nqueue = ~0", "0 is outside the range", "from 1"),
        ("[tcp]\nwindow = ~0", "0 is outside the range", "from 1"),
        ("[tcp]\nmss = ~\"0 B\"", "0 B is outside the range", "from 1 B to 2256 B"),
        ("[tcp]\nmss = ~\"2257 B\"", "2257 B is outside the range", "from 1 B to 2256 B"),
        ("[tcp]\nwindow = ~1000000", "more than TCP can announce", "at most 735439 packets"),
        ("[tcp]\nwindow = ~5000000000", "5000000000 is too large", "from 1 to "),
        ("[tcp]\ninitial_cwnd = ~0", "0 is outside the range", "from 1"),
        ("[tcp]\ndelayed_ack_timeout = ~\"0.6 s\"", "600 ms is outside the range", "to 500 ms"),
        ("[tcp]\nmin_rto = ~\"0 s\"", "0 s is outside the range", "from 1 ns"),
        ("[tcp]\nmin_rto = ~\"61 s\"", "`min_rto` of 61 s is above `max_rto` of 60 s", "min_rto <= max_rto"),
        ("[tcp]\nmax_rto = ~\"0.5 s\"", "`initial_rto` of 1 s is above `max_rto`", "initial_rto <= max_rto"),
        ("[tcp]\nvariant = ~\"bbr\"", "which measures no delivery rates", "write profile = \"linux\" beside it"),
        ("[tcp]\nvariant = ~\"vegas\"", "vegas", "\"bbr\""),
    ] {
        refuses(&format!("$N$R{text}\n$S"), problem, fix);
    }
}

#[test]
fn stations_have_sense() {
    for (text, problem, fix) in [
        ("$S[[station]]\nname = ~\"a\"\n", "two stations have the name `a`", "name of its own"),
        ("[[station]]\nname = \"a-2\"\n$Scount = 2\n", "two stations have the name `a-2`", "name-1 to name-N"),
        ("[[station]]\nname = ~\"a b/\"\n", "character '/'", "letters"),
        ("$Scount = ~0\n", "0 is outside the range", "from 1 to 100000"),
        ("$Scount = ~1_000_000_000_000\n", "1000000000000 is outside the range", "from 1 to 100000"),
        ("$Scount = ~1e12\n", "expected a whole number, found a decimal number", "42"),
        ("$Sbeta = ~0\n", "0 is outside the range", "from 0.001 to 1000"),
        ("$Sbeta = ~-1.2\n", "-1.2 is outside the range", "from 0.001 to 1000"),
        ("$Sbeta = ~inf\n", "not a finite number", "0.1"),
        ("$Sframe_error = ~-0.1\n", "-0.1 is no probability", "from 0 to 1"),
        ("$Srate = ~\"6 Mbit/s\"\n", "802.11b does not have 6 Mbit/s", "5.5 Mbit/s"),
        ("$Suplink_queue = ~0\n", "0 is outside the range", "from 1"),
        ("$Scount = ~60000\nflows = [{ direction = \"up\", count = 2 }]\n", "makes 120000 stations", "lower `count`"),
        ("$Scount = 60000\n[[station]]\nname = \"b\"\ncount = ~60000\n", "makes 120000 stations", "lower `count`"),
    ] {
        if text.contains('~') {
            refuses(&format!("$N$R{text}"), problem, fix);
        } else {
            // The second name clashes by its expansion; the place is the key of the later table.
            refuses(&format!("$N$R{}", text.replace("$S", "[[station]]\nname = ~\"a\"\n")), problem, fix);
        }
    }
}

#[test]
fn flows_have_sense() {
    for (text, problem, fix) in [
        ("count = ~0", "0 is outside the range", "from 1 to 100000"),
        ("start = ~\"60 s\"", "60 s is not before the run's end at 60 s", "below 60 s"),
        ("stop = ~\"0 s\"", "0 s is not after its start at 0 s", "above 0 s"),
        ("start = \"9 s\", stop = ~\"9 s\"", "9 s is not after its start at 9 s", "above 9 s"),
        ("start = \"9 s\", stop = ~\"9500 ms\"", "may come before its start, which is up to 10 s", "start_spread"),
        ("tcp = { window = ~0 }", "`window` in the flow's tcp: 0 is outside the range", "from 1"),
        ("wire = { rate = ~\"1 Mb/s\" }", "`Mb/s` is no unit of a rate", "\"1 Mbit/s\""),
        ("wire = { queue = ~0 }", "`queue` in the flow's wire: 0 is outside", "from 1"),
        ("kind = \"files\", size = ~\"0 B\"", "0 B is outside the range", "from 1 B"),
        ("kind = \"files\", size = ~\"2000000 MB\"", "is outside the range", "from 1 B"),
        ("kind = \"files\", size = \"1 B\", files = ~0", "0 is outside the range", "from 1"),
        ("kind = \"quic\", payload = ~\"1199 B\"", "outside the range", "from 1200 B to 2268 B"),
        ("kind = \"quic\", variant = ~\"reno\"", "whose recovery is that of NewReno", "variant = \"newreno\""),
        ("kind = \"quic\", variant = ~\"qubic\"", "`qubic` is not known", "did you mean \"cubic\"?"),
        ("kind = \"udp\", payload = ~\"0 B\"", "0 B is outside the range", "from 1 B to 2268 B"),
        ("kind = \"udp\", payload = ~\"2269 B\"", "outside the range", "from 1 B to 2268 B"),
        ("kind = \"udp\", payload = \"1 B\", rate = ~\"1 Gbit/s\"", "more than one a microsecond", "lower rate"),
        ("kind = \"udp\", rate = ~5", "5 has no unit", "\"5 Mbit/s\""),
    ] {
        refuses(&format!("$N$R$Sflows = [{{ direction = \"up\", {text} }}]\n"), problem, fix);
    }
    refuses(
        "$N$R$Sflows = [{ direction = \"up\", count = 60000 }, { direction = \"up\", count = ~60000 }]\n",
        "makes 120000 stations or flows",
        "lower `count`",
    );
}

#[test]
fn long_and_strange_words_do_not_spoil_the_message() {
    let text =
        format!("name = \"t\"\n[run]\nduration = \"5 {}\"\n", "\u{1f4a5}\u{7}".replace('\u{7}', "x").repeat(500));
    let invalid = bad(&text);
    assert!(invalid.problem.len() < 300, "{}", invalid.problem);
    assert_eq!((invalid.line, invalid.column), (3, 12));
}

#[test]
fn the_box_events_and_ap_mechanisms_are_checked() {
    for (marked, problem, fix) in [
        ("$N$R$S[enforce]\npolicy = ~\"per-user\"\n", "not known", "per-station"),
        ("$N$R$S[enforce]\ncapacity = ~\"4.5 Mbps\"\n", "unit", "4.5 Mbit/s"),
        ("$N$R$S[enforce]\ncapacity = { kind = \"wce\", min = ~\"9 Mbit/s\" }\n", "above the largest", "min <= max"),
        ("$N$R$S[enforce]\ncapacity = ~{ kind = \"wce\", low = \"50 ms\" }\n", "out of order", "low <= threshold"),
        ("$N$R$S[enforce]\ncapacity = { kind = \"air\", share = ~0.0 }\n", "outside the range", "0.01"),
        ("$N$R$S[enforce]\ncapacity = { kind = \"air\", ~rate = \"5 Mbit/s\" }\n", "no meaning", "fixed"),
        ("$N$R$S[enforce]\ncapacity = { kind = \"fixed\", ~min = \"1 Mbit/s\" }\n", "no meaning", "wce"),
        ("$N$R$S[[event]]\nat = ~\"61 s\"\nkind = \"silence\"\nlasts = \"1 s\"\n", "run's end", "below 60 s"),
        ("$N$R$S[[event]]\nat = \"1 s\"\nkind = \"deaf\"\nstation = ~\"x\"\n", "no station", "[[station]]"),
        ("$N$R$S[[event]]\nat = \"1 s\"\nkind = \"rate\"\nrate = ~\"3 Mbit/s\"\n", "does not have", "2 Mbit/s"),
        ("$N$R$S[[event]]\nat = \"1 s\"\nkind = ~\"enforce\"\n", "no box", "add [enforce]"),
        (
            "$N$R$S[enforce]\n[[event]]\nat = \"1 s\"\nkind = \"enforce\"\n[[event]]\nat = ~\"1 s\"\nkind = \"enforce\"\non = false\n",
            "another event switches the box the other way",
            "remove one",
        ),
        (
            "$N$R$Scap = ~\"1 Mbit/s\"\n[enforce]\npolicy = \"per-flow\"\n",
            "`cap` in [[station]]: it has no meaning with policy = \"per-flow\"",
            "a policy by station",
        ),
        (
            "$N$R$Sweight = ~2\n[enforce]\npolicy = \"per-direction\"\n",
            "`weight` in [[station]]: it has no meaning",
            "remove it",
        ),
        ("$N$R$S[ap]\nwindow_cap = ~\"lossles\"\n", "not known", "lossless"),
        ("$N$R$S[ap]\nwindow_cap = { kind = \"lossless\", ~delay = \"1 ms\" }\n", "no meaning", "tfbr"),
        ("$N$R$S[ap]\nuplink_limiter = ~{ share = \"half\" }\n", "`capacity` is missing", "4.6 Mbit/s"),
    ] {
        refuses(marked, problem, fix);
    }
}

#[test]
fn remedies_of_mistakes_are_true() {
    for (text, problem, fix) in [
        ("$N$R[radio]\nphy = ~\"802.11be\"\n$S", "`802.11be` is not known", "the PHYs are \"802.11b\", \"802.11a\","),
        ("$N$R[radio]\nphy = ~\"802.11B\"\n$S", "`802.11B` is not known", "did you mean \"802.11b\"?"),
        (
            "$N$R$Scount = ~99999999999999999999\n",
            "99999999999999999999 is too large",
            "write a value from 1 to 100000",
        ),
        ("$N$R$Scount = ~-1\n", "-1 is negative", "write a value from 1 to 100000"),
        (
            "$N$R[[station]]\nname = \"laptop\"\ncount = 2\n[[event]]\nat = \"1 s\"\nkind = \"deaf\"\nstation = ~\"labtop\"\n",
            "no station `labtop`",
            "did you mean \"laptop\"?",
        ),
        ("$N$R$S[enforce]\ncapacity = ~\"air\"\n", "`air` is a kind of capacity", "capacity = { kind = \"air\" }"),
    ] {
        refuses(text, problem, fix);
    }
}
