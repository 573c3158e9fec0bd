//! The `fairair` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The lab answers on when a simulation panics. All else ends at once: a daemon that has lost a thread must not go on
    // half dead, its service manager starts it anew.
    if std::env::args_os().nth(1).is_none_or(|command| command != "lab") {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            std::process::abort();
        }));
    }
    fairair::main_with(std::env::args_os())
}
