"""Takes the repository's path out of a wheel's SBOM, and writes the SBOM beside the wheel: `sbom.py WHEEL SBOM`.

Maturin names the crates of the workspace by where they lie; without this, wheels from two folders would differ.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def without_path(wheel: Path) -> bytes:
    """Write `wheel` anew with its SBOM mended and listed in RECORD; return the SBOM."""
    with zipfile.ZipFile(wheel) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    (sbom,) = [entry.filename for entry, _ in entries if entry.filename.endswith("cyclonedx.json")]
    (mended,) = [
        data.replace(ROOT.as_uri().encode(), b"file:///fairair") for entry, data in entries if entry.filename == sbom
    ]
    digest = base64.urlsafe_b64encode(hashlib.sha256(mended).digest()).rstrip(b"=").decode()
    line = f"{sbom},sha256={digest},{len(mended)}"
    whole = wheel.with_suffix(".part")
    with zipfile.ZipFile(whole, "w") as archive:
        for entry, data in entries:
            if entry.filename == sbom:
                data = mended
            elif entry.filename.endswith(".dist-info/RECORD"):
                rows = data.decode().splitlines()
                data = "".join(f"{line if row.startswith(f'{sbom},') else row}\n" for row in rows).encode()
            archive.writestr(entry, data)
    whole.replace(wheel)
    return mended


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(without_path(Path(sys.argv[1])))
