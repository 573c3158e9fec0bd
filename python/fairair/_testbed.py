"""The testbed as a process of its own: its namespaces belong to it, and it takes them with it when it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from fairair._errors import FairAirError
from fairair.result import Result
from fairair.scenario import Scenario

__all__ = ["TestbedRun"]


class TestbedRun:
    """A run of ``fairair testbed run`` that has begun; leaving the ``with`` block stops it and waits for its end.

    Parameters
    ----------
    cell : Scenario
        What is run, as long as it says.
    jobs : int
        Replicas side by side, at least 1.
    """

    def __init__(self, cell: Scenario, jobs: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fairair-")
        folder = Path(self._folder.name)
        path = folder / "scenario.toml"
        path.write_text(cell.to_toml(), encoding="utf-8")
        line = [sys.executable, "-m", "fairair", "testbed", "run", str(path), "--format", "json", "--jobs", str(jobs)]
        # Into files: nobody reads while it runs. In a session of its own, so that Ctrl-C reaches it once, from here.
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(line, stdout=out, stderr=err, start_new_session=True)  # noqa: S603

    def __enter__(self) -> TestbedRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End what still runs as Ctrl-C would, and wait until its namespaces are gone."""
        try:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGINT)
                self._process.wait()
        finally:
            self._folder.cleanup()

    @property
    def ended(self) -> bool:
        """Whether `result` would not wait."""
        return self._process.poll() is not None

    def result(self) -> Result:
        """Wait for the end and return what was measured.

        Raises
        ------
        FairAirError
            The testbed cannot run here, or cannot do what the scenario asks for.
        """
        code = self._process.wait()
        if code != 0:
            said = self._err.read_text(encoding="utf-8", errors="replace")
            problem, _, fix = " ".join(said.replace("│", " ").split()).removeprefix("\u00d7 ").partition(" help: ")
            raise FairAirError(
                "testbed", problem or f"exit code {code}", fix or "`fairair testbed doctor` says what is missing"
            )
        return Result.from_json(self._out.read_text(encoding="utf-8"), "testbed")
