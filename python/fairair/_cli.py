"""The ``fairair`` command, the same as that of the Rust package."""

from __future__ import annotations

import signal
import sys

from fairair import _native

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    # A closed pipe or Ctrl-C is the command's own affair, not the interpreter's.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["fairair", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
