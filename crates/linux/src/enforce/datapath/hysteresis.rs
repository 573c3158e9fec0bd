//! `htb_hysteresis`, a parameter of the kernel's module: with it HTB sends on until a class owes its burst, so that batches stay whole.
//!
//! The parameter is the machine's, not a network namespace's: other HTBs become a little coarser, too. Who may set it sets it while a box
//! sends batches only, and puts it back to what it was. Who may not, as the daemon of the systemd unit, needs it set and readable.

use std::fs::{self, OpenOptions};
use std::io;

use thiserror::Error;

/// Where the kernel has it, once the module is loaded (`sch_htb.c`, `module_param(htb_hysteresis, int, 0640)`).
pub(crate) const PARAMETER: &str = "/sys/module/sch_htb/parameters/htb_hysteresis";
/// The kernel's.
pub(crate) const HYSTERESIS: Hysteresis<'static> = Hysteresis(PARAMETER);

/// The parameter, by its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hysteresis<'a>(&'a str);

/// What who wants batches finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It is set.
    Set,
    /// It is not, and this process may set it.
    Settable,
    /// The module is not loaded: the first HTB loads it.
    NotLoaded,
}

/// Why it is not as it should be.
#[derive(Debug, Error)]
pub enum HysteresisError {
    /// Nobody has set it, and this process may not.
    #[error("batches need {PARAMETER} to be 1; it is not, and cannot be set: {0}")]
    Unset(io::Error),
    /// Nobody knows.
    #[error("batches need {PARAMETER} to be 1; it can neither be read nor set: {0}")]
    Unknown(io::Error),
    /// What was there before is not there again.
    #[error("{PARAMETER} cannot be put back to 0: {0}")]
    Left(io::Error),
}

impl Hysteresis<'_> {
    /// `None`: the module is not loaded, or the kernel was built without parameters.
    fn read(self) -> io::Result<Option<u32>> {
        match fs::read_to_string(self.0) {
            Ok(text) => {
                text.trim().parse().map(Some).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, text.trim()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What batches would find. Changes nothing.
    ///
    /// # Errors
    /// They cannot be sent.
    pub(crate) fn outlook(self) -> Result<Outlook, HysteresisError> {
        let value = self.read();
        if matches!(value, Ok(Some(1..))) {
            return Ok(Outlook::Set);
        }
        match (value, OpenOptions::new().write(true).open(self.0)) {
            (Ok(None), _) => Ok(Outlook::NotLoaded),
            (_, Ok(_)) => Ok(Outlook::Settable),
            (Ok(_), Err(error)) => Err(HysteresisError::Unset(error)),
            (Err(_), Err(error)) => Err(HysteresisError::Unknown(error)),
        }
    }

    /// Sets it for batches, unless it is set; answers whether it was not. To be called when there is an HTB.
    ///
    /// # Errors
    /// This process may not, or there is none.
    pub(super) fn hold(self) -> Result<bool, HysteresisError> {
        let is_set = self.outlook()? == Outlook::Set;
        if !is_set {
            fs::write(self.0, "1").map_err(HysteresisError::Unset)?;
        }
        Ok(!is_set)
    }

    /// What to put back later; `None`: who may not read it does not change it either.
    pub(super) fn note(self) -> Option<u32> {
        // A module that is not loaded comes without.
        self.read().ok().map(|value| value.unwrap_or(0))
    }

    /// Puts back what was noted before batches, unless somebody else has changed it since.
    ///
    /// # Errors
    /// It cannot be read or set any more.
    pub(super) fn put_back(self, before: Option<u32>) -> Result<(), HysteresisError> {
        // It was not changed where it was set before, and need not be readable where nothing was noted.
        if before == Some(0) && self.read().map_err(HysteresisError::Left)? == Some(1) {
            fs::write(self.0, "0").map_err(HysteresisError::Left)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_set_for_batches_and_put_back_unless_others_had_or_have_set_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("htb_hysteresis");
        let own = Hysteresis(file.to_str().unwrap());
        let now = || fs::read_to_string(&file).unwrap();
        assert_eq!((own.outlook().unwrap(), own.note()), (Outlook::NotLoaded, Some(0)));
        fs::write(&file, "0\n").unwrap();
        assert_eq!((own.outlook().unwrap(), now().as_str()), (Outlook::Settable, "0\n"));
        let before = own.note();
        assert!(own.hold().unwrap() && !own.hold().unwrap() && now() == "1");
        own.put_back(before).unwrap();
        assert_eq!(now(), "0");
        // Others have set it meanwhile, and had set it before.
        fs::write(&file, "2").unwrap();
        own.put_back(before).unwrap();
        assert_eq!((own.outlook().unwrap(), now().as_str()), (Outlook::Set, "2"));
        fs::write(&file, "1").unwrap();
        let before = own.note();
        assert!(!own.hold().unwrap());
        own.put_back(before).unwrap();
        assert_eq!(now(), "1");
    }

    /// A directory in its place can be neither read nor written, whoever asks.
    #[test]
    fn what_cannot_be_read_is_neither_noted_nor_looked_at_where_nothing_was_noted() {
        let directory = tempfile::tempdir().unwrap();
        let own = Hysteresis(directory.path().to_str().unwrap());
        assert_eq!(own.note(), None);
        assert!(matches!(own.hold(), Err(HysteresisError::Unknown(_))));
        assert!(own.put_back(None).is_ok() && own.put_back(Some(1)).is_ok());
        assert!(matches!(own.put_back(Some(0)), Err(HysteresisError::Left(_))));
    }
}
