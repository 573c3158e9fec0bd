"""Build and run all Rust tests: those that wait for the kernel, and at the same time all others.

    python3 scripts/rust_tests.py                     1 if a test fails
    python3 scripts/rust_tests.py --beside COMMAND    or if this fails, which runs after the others (may be repeated)

Tests of the testbed and the live box mostly wait, and some measure: they have the usual priority. All others compute:
they run as SCHED_IDLE, on what the first leave of the processors, and so does COMMAND. Examples and benchmarks are no tests;
`make lint` checks them.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ["cargo", "test", "--workspace", "--lib", "--bins", "--tests", "--locked", "--no-run"]
# Crate and target of the tests that need the kernel, the longest first.
KERNEL = ["cli vsb", "cli testbed", "linux fairair_linux"]


@dataclass(frozen=True)
class Binary:
    """A test binary."""

    target: str
    path: str
    folder: Path
    """The crate's."""

    @property
    def name(self) -> str:
        """Crate and target."""
        return f"{self.folder.name} {self.target}"

    @property
    def order(self) -> int:
        """Its place among those that need the kernel; -1 for all others."""
        return KERNEL.index(self.name) if self.name in KERNEL else -1

    def run(self, before: list[str], capture: bool) -> tuple[int, str]:
        """Run it where cargo would, behind the command `before`; its status and what it printed, if captured."""
        return run(self.name, [*before, self.path], self.folder, capture)


def run(name: str, command: list[str], folder: Path, capture: bool) -> tuple[int, str]:
    """Run a command in a folder; its status and what it printed, if captured."""
    begin = time.monotonic()
    head = f"     Running {name}\n"
    if not capture:
        print(head, end="", flush=True)
    done = subprocess.run(
        command,
        cwd=folder,
        check=False,
        text=True,
        stdout=subprocess.PIPE if capture else None,
        stderr=subprocess.STDOUT if capture else None,
    )
    tail = f"     {name}: {time.monotonic() - begin:.0f} s\n"
    if done.returncode:
        tail += f"FAILED: {name} (exit status {done.returncode})\n"
    if not capture:
        print(tail, flush=True)
    return done.returncode, head + (done.stdout or "") + tail


def build() -> list[Binary]:
    """Build all test binaries; ends the program if that fails."""
    done = subprocess.run(
        [*BUILD, "--message-format=json-render-diagnostics"], cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE
    )
    if done.returncode:
        sys.exit(done.returncode)
    found = []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            found.append(Binary(message["target"]["name"], message["executable"], folder))
    return found


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser(description="Build and run all Rust tests.")
    parser.add_argument(
        "--beside",
        metavar="COMMAND",
        action="append",
        default=[],
        help="runs as SCHED_IDLE after the tests that only compute",
    )
    commands = parser.parse_args().beside
    binaries = build()
    kernel = sorted((binary for binary in binaries if binary.order >= 0), key=lambda binary: binary.order)
    if len(kernel) < len(KERNEL) and sys.platform == "linux":
        print(f"not all of {KERNEL} were built: {[binary.name for binary in binaries]}", file=sys.stderr)
        return 1
    idle = ["chrt", "--idle", "0"] if shutil.which("chrt") else ["nice", "-n", "19"]
    others: list[tuple[int, str]] = []

    def compute() -> None:
        others.extend(binary.run(idle, capture=True) for binary in binaries if binary.order < 0)
        others.extend(run(command, [*idle, *shlex.split(command)], ROOT, capture=True) for command in commands)

    beside = threading.Thread(target=compute)
    beside.start()
    failed = [binary.run([], capture=False)[0] for binary in kernel]
    beside.join()
    for _, text in others:
        print(text, flush=True)
    return int(any(failed) or any(status for status, _ in others))


if __name__ == "__main__":
    sys.exit(main())
