//! MAC addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A 48-bit MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Whether it names a group.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, octet) in self.0.iter().enumerate() {
            let colon = if position > 0 { ":" } else { "" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Mac {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "is no MAC address such as 02:00:5e:10:00:01";
        let mut octets = [0; 6];
        let mut parts = text.split([':', '-']);
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2).ok_or(WRONG)?;
            // `from_str_radix` takes a sign.
            if !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(WRONG);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| WRONG)?;
        }
        if parts.next().is_some() { Err(WRONG) } else { Ok(Mac(octets)) }
    }
}

impl TryFrom<String> for Mac {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> String {
        mac.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Mac;

    #[test]
    fn only_six_octets_of_two_digits_are_an_address() {
        assert_eq!("02:00:5E:10:00:fF".parse::<Mac>().unwrap().to_string(), "02:00:5e:10:00:ff");
        assert_eq!("02-00-5e-10-00-01".parse::<Mac>(), Ok(Mac([2, 0, 0x5e, 0x10, 0, 1])));
        for wrong in
            ["", "02:00:5e:10:00", "02:00:5e:10:00:01:02", "+2:00:5e:10:00:01", "2:0:5e:10:0:1", "é:00:5e:10:00:01"]
        {
            assert!(wrong.parse::<Mac>().is_err(), "{wrong}");
        }
    }
}
