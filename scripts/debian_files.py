"""Writes `copyright` and `changelog.Debian` of the Debian package: `debian_files.py VERSION FOLDER`."""

from __future__ import annotations

import os
import sys
from email.utils import formatdate
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
MAINTAINER = "FairAir contributors <fairair@users.noreply.github.com>"
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: FairAir
Source: https://github.com/fairair/fairair
Comment:
 The command links Rust crates of other authors. Their licences and notices are in THIRD-PARTY-NOTICES.txt in this directory.

Files: *
Copyright: 2025-2026 FairAir contributors
License: Expat or Apache-2.0

License: Expat
{mit}

License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0.
"""


def main() -> None:
    """Write the two files."""
    version, folder = sys.argv[1], Path(sys.argv[2])
    lines = (HOME / "LICENSE-MIT").read_text("utf-8").strip().splitlines()
    (folder / "copyright").write_text(COPYRIGHT.format(mit="\n".join(f" {line}" if line else " ." for line in lines)), "utf-8")
    date = formatdate(int(os.environ["SOURCE_DATE_EPOCH"]))
    entry = f"fairair ({version}-1) stable; urgency=medium\n\n  * What changed is in CHANGELOG.md of the source.\n\n -- {MAINTAINER}  {date}\n"
    (folder / "changelog.Debian").write_text(entry, "utf-8")


if __name__ == "__main__":
    main()
