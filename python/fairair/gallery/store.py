"""Finished points, kept as they end, so that a build that was killed goes on where it was."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairair._engine_id import version
from fairair._errors import FairAirError

__all__ = ["Store"]


class Store:
    """A folder of answers by a digest of the question and the version of the engines.

    Parameters
    ----------
    folder : Path
        Made when it is missing.

    Raises
    ------
    FairAirError
        The folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hits = self.misses = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FairAirError(
                str(folder), f"cannot make the store: {error.strerror}", "name another --store"
            ) from None

    def get(self, question: object, answer: Callable[[], Any]) -> Any:
        """Return the kept answer to a question (plain JSON values), or ask and keep it."""
        key = hashlib.sha256(json.dumps([version(), question], sort_keys=True).encode()).hexdigest()
        path = self.folder / f"{key[:32]}.json.gz"
        try:
            kept = json.loads(gzip.decompress(path.read_bytes()))
        except (OSError, EOFError, ValueError):
            pass  # not there, or damaged: ask anew
        else:
            self.hits += 1
            return kept
        self.misses += 1
        fresh = answer()
        self._keep(path, gzip.compress(json.dumps(fresh).encode(), mtime=0))
        return fresh

    def _keep(self, path: Path, data: bytes) -> None:
        # Renamed into place: a reader never sees half of it.
        try:
            descriptor, temporary = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(temporary).rename(path)
        except OSError as error:
            raise FairAirError(str(self.folder), f"cannot write: {error.strerror}", "name another --store") from None
