//! Single values of the file: numbers, words, quantities. Every error says what is wrong and how to mend it.

#![allow(clippy::missing_errors_doc)]

use serde::Serialize;
use toml::de::{DeInteger, DeValue};

use super::{Direction, Preset};
use crate::ap::{LimiterShare, WindowRule};
use crate::mac::{Band, Phy, Preamble, Width};
use crate::packet::Category;
use crate::qdisc::{Charge, CwndSource, Refusable, ShareRule, Victim};
use crate::shaper::{LeafRule, Policy, PoolRule, UdpRule};
use crate::tcp::{Profile, Variant};
use crate::units::{Bitrate, Bytes, Duration, Probability, Quantity, QuantityError, clip, quote, word};

/// The longest time that a file may name: 31 years. Sums of a few of them fit in 64 bits of nanoseconds.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);
/// The highest rate that a file may name, 1 Tbit/s.
const FASTEST: Bitrate = Bitrate::mbps(1_000_000);

/// What is wrong with one value, before it is known which key it belongs to.
pub type Reason = QuantityError;

/// A type that a value of the file can be read as.
pub trait FromToml: Sized {
    /// Whether it is a whole number, whose type has a range of its own that a key may narrow.
    const WHOLE: bool = false;

    /// Reads `value`, or says what is wrong with it.
    fn from_toml(value: &DeValue) -> Result<Self, Reason>;
}

/// The reason for a value of the wrong type.
pub fn wrong_type(value: &DeValue, expected: &str, example: &str) -> Reason {
    Reason::new(format!("expected {expected}, found {}", article(value)), format!("write for example {example}"))
}

/// The known word that looks most like `word`, if one is near enough to be what was meant.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // A word of any length may come from the file, and the comparison takes time by the product of both.
    if word.len() > 60 {
        return None;
    }
    let word = word.to_lowercase();
    known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, candidate), *candidate))
        .filter(|(slips, candidate)| *slips <= (candidate.len() / 3).max(1))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Which of `words` the string `value` is.
pub fn choose(value: &DeValue, words: &[&str]) -> Result<usize, Reason> {
    let list = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let Some(word) = value.as_str() else {
        return Err(Reason::new(
            format!("expected a string, found {}", article(value)),
            format!("write one of {list}"),
        ));
    };
    words.iter().position(|known| *known == word).ok_or_else(|| {
        let fix = match nearest(word, words) {
            Some(near) if words.len() > 1 => format!("did you mean \"{near}\"? Write one of {list}"),
            _ => format!("write {}{list}", if words.len() > 1 { "one of " } else { "" }),
        };
        Reason::new(format!("{} is not known", quote(word)), fix)
    })
}

impl FromToml for String {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        value.as_str().map(str::to_owned).ok_or_else(|| wrong_type(value, "a string", "\"sta1\""))
    }
}

impl<T: FromToml> FromToml for Vec<T> {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        let DeValue::Array(items) = value else { return Err(wrong_type(value, "a list", "[\"first\", \"second\"]")) };
        items.iter().map(|item| T::from_toml(item.get_ref())).collect()
    }
}

impl FromToml for bool {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        value.as_bool().ok_or_else(|| wrong_type(value, "true or false", "true, without quotes"))
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl FromToml for $integer {
            const WHOLE: bool = true;

            fn from_toml(value: &DeValue) -> Result<Self, Reason> {
                let Some(integer) = value.as_integer() else {
                    return Err(wrong_type(value, "a whole number", "42, without quotes or unit"));
                };
                let wide = wide(integer)?;
                <$integer>::try_from(wide).map_err(|_| if wide < 0 {
                    Reason::new(format!("{wide} is negative"), "write a whole number from 0 on")
                } else {
                    Reason::new(format!("{wide} is too large"), format!("write at most {}", <$integer>::MAX))
                })
            }
        }
    )*};
}

integers!(u32, u64, usize);

fn wide(integer: &DeInteger) -> Result<i128, Reason> {
    i128::from_str_radix(integer.as_str(), integer.radix())
        .map_err(|_| Reason::new(format!("{} is too large", quote(integer.as_str())), "write a smaller whole number"))
}

impl FromToml for f64 {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        let number = match value {
            DeValue::Integer(integer) => wide(integer)? as f64,
            DeValue::Float(float) => float.as_str().parse().unwrap_or(f64::NAN),
            other => return Err(wrong_type(other, "a number", "0.1, without quotes or unit")),
        };
        if number.is_finite() {
            Ok(number)
        } else {
            Err(Reason::new("this is not a finite number", "write a number such as 0.1"))
        }
    }
}

impl FromToml for Probability {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        let number = f64::from_toml(value)?;
        Probability::new(number)
            .ok_or_else(|| Reason::new(format!("{number} is no probability"), "write a number from 0 to 1"))
    }
}

fn quantity<Q: Quantity>(value: &DeValue) -> Result<Q, Reason> {
    match value {
        DeValue::String(text) => Q::read(text),
        DeValue::Integer(integer) => Err(without_unit::<Q>(integer.as_str())),
        DeValue::Float(float) if float.as_str().parse().is_ok_and(f64::is_finite) => {
            Err(without_unit::<Q>(float.as_str()))
        }
        other => Err(wrong_type(other, Q::NOUN, &format!("\"{}\"", Q::EXAMPLE))),
    }
}

fn without_unit<Q: Quantity>(number: &str) -> Reason {
    let number = clip(number);
    let fix = if number.starts_with('-') || number.len() > 6 {
        format!("write for example \"{}\"", Q::EXAMPLE)
    } else {
        format!("write it in quotes with its unit, such as \"{number} {}\"", Q::USUAL)
    };
    Reason::new(format!("{number} has no unit"), fix)
}

impl FromToml for Duration {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        let time: Duration = quantity(value)?;
        if time > LONGEST {
            return Err(Reason::new(format!("{time} is too long"), format!("write at most \"{LONGEST}\"")));
        }
        Ok(time)
    }
}

impl FromToml for Bytes {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        quantity(value)
    }
}

impl FromToml for Bitrate {
    /// A rate that one can send at: not zero.
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        let rate: Bitrate = quantity(value)?;
        if rate.as_bps() == 0 {
            return Err(Reason::new("a rate of zero sends nothing", "write a positive rate such as \"11 Mbit/s\""));
        }
        if rate > FASTEST {
            return Err(Reason::new(format!("{rate} is too fast"), format!("write at most \"{FASTEST}\"")));
        }
        Ok(rate)
    }
}

impl FromToml for Preamble {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        const FIX: &str = "write \"long\", \"short\" or a duration such as \"120 us\"";
        const SOME: std::ops::RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_millis(10);
        match value.as_str() {
            None => Err(Reason::new(format!("expected a string, found {}", article(value)), FIX)),
            Some("long") => Ok(Preamble::Long),
            Some("short") => Ok(Preamble::Short),
            Some(text) => match text.parse::<Duration>() {
                Ok(time) if SOME.contains(&time) => Ok(Preamble::Lasting(time)),
                Ok(time) => Err(Reason::new(format!("{time} is outside the range"), "write 1 us to 10 ms")),
                Err(_) => Err(Reason::new(format!("{} is no preamble", quote(text)), FIX)),
            },
        }
    }
}

/// Reads all parameters of a kind from a table whose keys have the names of the fields, some of them `in` a range; what the table does not say
/// is as in `usual`.
macro_rules! params {
    ($table:ident, $usual:expr, $type:ident { $($key:ident $(in $range:expr)?),* $(,)? }) => {{
        let usual = $usual;
        $type { $($key: params!($table.$key, usual.$key $(, $range)?)),* }
    }};
    ($table:ident.$key:ident, $usual:expr) => { $table.or(stringify!($key), $usual)? };
    ($table:ident.$key:ident, $usual:expr, $range:expr) => { $table.within(stringify!($key), $range, $usual)? };
}
pub(super) use params;

/// Enumerations, with all their values: a file names them by their words in results, messages in this order.
macro_rules! words {
    ($($type:ident: $($value:ident),*;)*) => {$(
        impl FromToml for $type {
            fn from_toml(value: &DeValue) -> Result<Self, Reason> {
                // A value that is not listed here does not compile.
                const ALL: &[$type] = &[$($type::$value),*];
                let _ = |listed: $type| match listed { $($type::$value => ()),* };
                one_of(value, ALL)
            }
        }
    )*};
}

/// The value of `all` whose word `value` is.
fn one_of<T: Serialize + Copy>(value: &DeValue, all: &[T]) -> Result<T, Reason> {
    let words: Vec<String> = all.iter().map(word).collect();
    choose(value, &words.iter().map(String::as_str).collect::<Vec<_>>()).map(|index| all[index])
}

impl FromToml for Profile {
    /// QUIC's is the kind of a flow.
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        one_of(value, &[Profile::Rfc, Profile::Linux])
    }
}

impl FromToml for Variant {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        one_of(value, &Variant::ALL)
    }
}

/// Any PHY: in scenarios.
pub(super) struct AnyPhy(pub(super) Phy);

impl FromToml for AnyPhy {
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        phy_of(value, &Phy::ALL).map(AnyPhy)
    }
}

impl FromToml for Phy {
    /// A PHY without MCSs: one whose frames the live box reckons with.
    fn from_toml(value: &DeValue) -> Result<Self, Reason> {
        phy_of(value, &[Phy::B, Phy::A, Phy::G])
    }
}

/// The PHY of `known` that `value` names. No name is near another: `802.11ax` is not `802.11a` with a slip.
fn phy_of(value: &DeValue, known: &[Phy]) -> Result<Phy, Reason> {
    let names: Vec<&str> = known.iter().map(|phy| phy.name()).collect();
    choose(value, &names).map(|index| known[index]).map_err(|reason| match value.as_str() {
        Some(word) if !names.contains(&word.to_lowercase().as_str()) => {
            let list = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
            Reason::new(reason.problem, format!("the PHYs are {list}; write one of them"))
        }
        _ => reason,
    })
}

words! {
    Preset: Standard, Ns2, Ns3;
    Band: Ghz2, Ghz5;
    Width: Mhz20, Mhz40, Mhz80, Mhz160;
    Category: Voice, Video, BestEffort, Background;
    Direction: Up, Down;
    ShareRule: Optimal, Modified, Auto;
    Charge: Packet, Acknowledged;
    CwndSource: Revealed, Estimated;
    Victim: Below, Last;
    Refusable: All, Data;
    PoolRule: Channel, Ap;
    Policy: PerStation, Airtime, AirtimePhy, PerDirection, PerFlow;
    LeafRule: Auto, Fifo;
    UdpRule: BypassUplink, Shape, Auto;
    LimiterShare: Half, Flows;
    WindowRule: Lossless, BOverN, Tfbr, TfbrExact;
}

/// The type of `value` with its article.
pub(super) fn article(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
