//! How goals are written.

use std::fmt;
use std::str::FromStr;

use fairair_core::units::{Bitrate, Duration};

use super::Goal;

const HOW: &str = "write level=1, down/up=2, up/down=0.5, \"sta1 >= 2 Mbit/s\", \"delay(web) <= 100ms\" or \
                   \"files(web) <= 500ms\"";

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A name may have either in it.
        match [">=", "<="].map(|operator| text.rsplit_once(operator).filter(|(_, right)| !right.contains(')'))) {
            [Some((left, right)), other] if other.is_none_or(|(end, _)| end.len() < left.len()) => {
                return at_least(left.trim(), right.trim());
            }
            [_, Some((left, right))] => return at_most(left.trim(), right.trim()),
            _ => {}
        }
        let (name, number) = text.split_once('=').ok_or(HOW)?;
        let ratio: f64 = number.trim().parse().map_err(|_| format!("`{}` is no number: {HOW}", number.trim()))?;
        if !(ratio.is_finite() && (0.001..=1000.0).contains(&ratio)) {
            return Err("a ratio between 0.001 and 1000 is needed".to_owned());
        }
        match name.trim() {
            "level" => Ok(Goal::Level(ratio)),
            "down/up" => Ok(Goal::DownUp(ratio)),
            "up/down" => Ok(Goal::DownUp(1.0 / ratio)),
            other => Err(format!("`{other}` is no goal: {HOW}")),
        }
    }
}

/// The goal `who >= least`.
fn at_least(who: &str, least: &str) -> Result<Goal, String> {
    if is_ratio(who) && least.parse::<f64>().is_ok() {
        return Err(format!("`{who}` is a ratio, not a bound: write {who}={least}"));
    }
    if matches!(timed(who).0, "delay" | "files") && least.parse::<Duration>().is_ok() {
        return Err(format!("`{who}` has a longest time, not a shortest: write \"{who} <= {least}\""));
    }
    if is_zero(least) {
        return Err(format!("every station has 0 bit/s at least: write more, such as \"{who} >= 1 Mbit/s\""));
    }
    let rate = least.parse().map_err(|error| format!("`{least}`: {error}"))?;
    if who.is_empty() { Err(HOW.to_owned()) } else { Ok(Goal::Goodput { who: who.to_owned(), least: rate }) }
}

/// The goal `what(who) <= most`.
fn at_most(left: &str, most: &str) -> Result<Goal, String> {
    let (what, who) = timed(left);
    if is_ratio(left) && most.parse::<f64>().is_ok() {
        return Err(format!("`{left}` is a ratio, not a bound: write {left}={most}"));
    }
    if who.is_empty() && left != what {
        return Err(format!(
            "`{left}` names nobody: write \"{what}(NAME) <= {most}\", or \"{what} <= {most}\" for the cell"
        ));
    }
    if !matches!(what, "delay" | "files") {
        return Err(match most.parse::<Bitrate>() {
            Ok(_) => format!(
                "`{left}` can have a least goodput, not a most: write \"{left} >= {most}\"; \
                 a most is cap = \"{most}\" of its [[station]], with a box"
            ),
            Err(_) => format!("`{what}` is no goal: {HOW}"),
        });
    }
    if is_zero(most) {
        return Err(format!("no queue and no file takes a time of zero: write more, such as \"{left} <= 50ms\""));
    }
    if let Some(unit) = usual_unit(what, most) {
        return Err(format!("`{most}` has no unit: write \"{left} <= {most}{unit}\""));
    }
    let most: Duration = most.parse().map_err(|error| format!("`{most}`: {error}"))?;
    let who = who.to_owned();
    Ok(if what == "delay" { Goal::Delay { who, most } } else { Goal::Files { who, most } })
}

/// The unit that a bound without one most likely meant: queues are a matter of milliseconds, files of seconds up to a minute.
fn usual_unit(what: &str, most: &str) -> Option<&'static str> {
    const MINUTE_S: f64 = 60.0;
    let number = most.parse::<f64>().ok().filter(|number| most.len() <= 12 && number.is_finite() && *number > 0.0)?;
    Some(if what == "files" && number < MINUTE_S { "s" } else { "ms" })
}

/// `delay(web)` as `delay` and `web`.
fn timed(left: &str) -> (&str, &str) {
    let open = left.strip_suffix(')').and_then(|open| open.split_once('('));
    open.map_or((left, ""), |(what, who)| (what.trim(), who.trim()))
}

/// Whether a bound is zero, with a unit or without.
fn is_zero(bound: &str) -> bool {
    bound.parse::<Duration>().is_ok_and(|time| time == Duration::ZERO)
        || bound.parse::<Bitrate>().is_ok_and(|rate| rate.as_bps() == 0)
        || bound.parse::<f64>().is_ok_and(|number| number == 0.0)
}

fn is_ratio(name: &str) -> bool {
    matches!(name, "level" | "down/up" | "up/down")
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |who: &str| if who.is_empty() { String::new() } else { format!("({who})") };
        match self {
            Goal::Level(level) => write!(f, "level={level}"),
            Goal::DownUp(ratio) => write!(f, "down/up={ratio}"),
            Goal::Goodput { who, least } => write!(f, "{who} >= {least}"),
            Goal::Delay { who, most } => write!(f, "delay{} <= {most}", of(who)),
            Goal::Files { who, most } => write!(f, "files{} <= {most}", of(who)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_written_and_refused() {
        assert_eq!("level=1".parse(), Ok(Goal::Level(1.0)));
        assert_eq!("down/up = 2".parse(), Ok(Goal::DownUp(2.0)));
        assert_eq!("up/down=4".parse(), Ok(Goal::DownUp(0.25)));
        let (who, most) = ("web".to_owned(), Duration::from_millis(100));
        assert_eq!("sta1>=2Mbit/s".parse(), Ok(Goal::Goodput { who: "sta1".into(), least: Bitrate::mbps(2) }));
        assert_eq!("delay(web) <= 100ms".parse(), Ok(Goal::Delay { who: who.clone(), most }));
        assert_eq!("files( web )<=100 ms".parse(), Ok(Goal::Files { who, most }));
        assert_eq!("files<=100ms".parse(), Ok(Goal::Files { who: String::new(), most }));
        for text in [
            "level=1",
            "sta1 >= 2 Mbit/s",
            "delay(web) <= 100 ms",
            "files <= 1 s",
            "a>=b >= 2 Mbit/s",
            "a<=b >= 2 Mbit/s",
            "delay(a>=b) <= 100 ms",
            "delay(a<=b) <= 100 ms",
        ] {
            let goal: Goal = text.parse().unwrap();
            assert_eq!(goal.to_string().parse(), Ok(goal));
        }
        for wrong in [
            "",
            "level",
            "level=x",
            "level=0",
            "level=-1",
            "speed=2",
            "down/up=inf",
            "level=nan",
            ">=2Mbit/s",
            "a>=2",
            "speed<=1ms",
            "delay<=0ms",
            "delay(web)<=5",
            "web>=0 Mbit/s",
        ] {
            assert!(wrong.parse::<Goal>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_operator_is_called_wrong_not_the_unit() {
        for (text, expected) in [
            ("web <= 1 Mbit/s", "write \"web >= 1 Mbit/s\""),
            ("delay(web) >= 50ms", "write \"delay(web) <= 50ms\""),
            ("files>=1s", "write \"files <= 1s\""),
            ("level >= 1", "write level=1"),
            ("down/up <= 2", "write down/up=2"),
            ("delay(web) <= 1 Mbit/s", "unit"),
            ("web >= 50ms", "unit"),
            ("delay(sta1) <= 50", "`50` has no unit: write \"delay(sta1) <= 50ms\""),
            ("delay<=0.5", "write \"delay <= 0.5ms\""),
            ("files(web) <= 5", "write \"files(web) <= 5s\""),
            ("files <= 500", "write \"files <= 500ms\""),
            ("web >= 0", "every station has 0 bit/s"),
            ("web >= 0 kbit/s", "every station has 0 bit/s"),
            ("delay(web) <= 0", "write more"),
            ("files <= 0 s", "write more"),
            ("delay() <= 5ms", "names nobody: write \"delay(NAME) <= 5ms\", or \"delay <= 5ms\""),
        ] {
            let told = text.parse::<Goal>().unwrap_err();
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
