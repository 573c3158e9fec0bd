"""Which engine this is: version, digest of the native half, commit of the checkout that it was built in."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fairair import _native

__all__ = ["commit", "digest", "version"]


@cache
def digest() -> str:
    """Sixteen hexadecimal digits of the native half's SHA-256: equal for equal engines."""
    return hashlib.sha256(Path(str(_native.__file__)).read_bytes()).hexdigest()[:16]


def version() -> str:
    """Version of the package with the digest of its engines."""
    return f"{_native.VERSION}+{digest()}"


@cache
def commit() -> str | None:
    """Commit of the git checkout that this package is a part of, with ``+changed`` if files differ; None elsewhere.

    A package in an environment that happens to stand in somebody else's checkout is no part of it.
    """
    git, here = shutil.which("git"), Path(__file__).resolve()
    if git is None:
        return None

    def answer(*words: str) -> str | None:
        line = [git, "-C", str(here.parent), *words]
        try:
            done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=10)  # noqa: S603 # fixed words
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    if answer("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    head = answer("rev-parse", "HEAD")
    return f"{head}+changed" if head and answer("status", "--porcelain", "--untracked-files=no") else head
