"""Finished points, kept as they end, so that a build that was killed goes on where it was."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fairair._engine_id import version
from fairair._errors import FairAirError
from fairair._executors import each

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
        path = self._path(question)
        kept = _read(path)
        if kept is not None:
            self.hits += 1
            return kept
        self.misses += 1
        fresh = answer()
        self._keep(path, fresh)
        return fresh

    def fill(self, executor: Any, questions: Iterable[tuple[object, Callable[..., Any], tuple[Any, ...]]]) -> int:
        """Ask on an executor what is not kept yet, and keep each answer as it comes; return how many were asked.

        Parameters
        ----------
        executor : concurrent.futures.Executor or dask.distributed.Client
            Where the functions are called.
        questions : iterable of (question, function, arguments)
            Questions as in `get`; functions and arguments can be pickled.
        """
        todo = {}
        for question, function, arguments in questions:
            path = self._path(question)
            if path not in todo and _read(path) is None:
                todo[path] = (function, arguments)
        paths = list(todo)
        for index, fresh in each(executor, _called, list(todo.values())):
            self._keep(paths[index], fresh)
        self.misses += len(paths)
        return len(paths)

    def _path(self, question: object) -> Path:
        key = hashlib.sha256(json.dumps([version(), question], sort_keys=True).encode()).hexdigest()
        return self.folder / f"{key[:32]}.json.gz"

    def _keep(self, path: Path, answer: Any) -> None:
        data = gzip.compress(json.dumps(answer).encode(), mtime=0)
        # Renamed into place: a reader never sees half of it.
        try:
            descriptor, temporary = tempfile.mkstemp(dir=self.folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(temporary).rename(path)
        except OSError as error:
            raise FairAirError(str(self.folder), f"cannot write: {error.strerror}", "name another --store") from None


def _read(path: Path) -> Any:
    """Return a kept answer; None where it is not there, or damaged."""
    try:
        return json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError):
        return None


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)
