//! `htb_hysteresis`, a parameter of the kernel's module: with it HTB sends on until a class owes its burst, so that batches stay whole.
//!
//! The parameter is the machine's, not a network namespace's: other HTBs become a little coarser, too. It is set while a box sends batches
//! only, and is put back to what it was.

use std::{fs, io};

use super::tools::DatapathError;

/// Where the kernel has it, once the module is loaded (`sch_htb.c`, `module_param(htb_hysteresis, int, 0640)`).
pub(crate) const PARAMETER: &str = "/sys/module/sch_htb/parameters/htb_hysteresis";

/// Its value; `None`: the module is not loaded, or the kernel was built without parameters.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read() -> io::Result<Option<u32>> {
    match fs::read_to_string(PARAMETER) {
        Ok(text) => text
            .trim()
            .parse()
            .map(Some)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sets it.
///
/// # Errors
/// This process may not, or there is none.
pub(super) fn write(value: u32) -> Result<(), DatapathError> {
    fs::write(PARAMETER, value.to_string()).map_err(|error| DatapathError::Hysteresis(error.to_string()))
}

/// Sets it for batches, unless it is set; answers whether it was not.
///
/// # Errors
/// See [`write`].
pub(super) fn hold() -> Result<bool, DatapathError> {
    let is_set = read().is_ok_and(|value| value.is_some_and(|value| value > 0));
    if !is_set {
        write(1)?;
    }
    Ok(!is_set)
}
