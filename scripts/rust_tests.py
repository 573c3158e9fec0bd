"""Build and run all Rust tests: those that wait for the kernel as soon as they are built, and at the same time all others.

    python3 scripts/rust_tests.py                     1 if a test fails
    python3 scripts/rust_tests.py --beside COMMANDS   or if one of these fails: A; B run one after the other (may be repeated)

Tests of the testbed and the live box mostly wait, and some measure: they have the usual priority. All others compute:
they are built and run as SCHED_IDLE, on what the first leave of the processors, and so are COMMANDS, at the same time. Examples
and benchmarks are no tests; `make lint` checks them.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
# Targets of the long tests that need the kernel. The whole workspace, so that what they share with the others is built once.
FIRST = ["--test", "vsb", "--test", "testbed"]
ALL = ["--lib", "--bins", "--tests"]
# Crate and target of the tests that need the kernel, the longest first.
KERNEL = ["cli vsb", "cli testbed", "linux fairair_linux"]
# Where tests wait for their turn, there are threads for all that do.
THREADS = {"cli vsb": 40}


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
        threads = THREADS.get(self.name)
        options = [f"--test-threads={threads}"] if threads else []
        return run(self.name, [*before, self.path, *options], self.folder, capture)


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


def build(before: list[str], targets: list[str]) -> list[Binary]:
    """Build test binaries behind the command `before`; ends the thread if that fails."""
    done = subprocess.run([*before, *BUILD, *targets], cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE)
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
        metavar="COMMANDS",
        action="append",
        default=[],
        help="run as SCHED_IDLE once everything is built",
    )
    sequences = parser.parse_args().beside
    idle = ["chrt", "--idle", "0"] if shutil.which("chrt") else ["nice", "-n", "19"]
    first = [binary for binary in build([], FIRST) if binary.order >= 0]
    with ThreadPoolExecutor() as pool:
        rest = pool.submit(build, idle, ALL)

        def compute() -> list[tuple[int, str]]:
            return [binary.run(idle, capture=True) for binary in rest.result() if binary.order < 0]

        def beside(sequence: str) -> list[tuple[int, str]]:
            rest.result()
            commands = [command.strip() for command in sequence.split(";")]
            return [run(command, [*idle, *shlex.split(command)], ROOT, capture=True) for command in commands]

        others = [pool.submit(compute), *(pool.submit(beside, sequence) for sequence in sequences)]
        failed = [binary.run([], capture=False)[0] for binary in sorted(first, key=lambda binary: binary.order)]
        kernel = [binary for binary in rest.result() if binary.order >= 0]
        if len(kernel) < len(KERNEL) and sys.platform == "linux":
            print(f"not all of {KERNEL} were built: {[binary.name for binary in kernel]}", file=sys.stderr)
            return 1
        failed += [
            binary.run([], capture=False)[0] for binary in kernel if binary.name not in [own.name for own in first]
        ]
        done = [result for own in others for result in own.result()]
    for _, text in done:
        print(text, flush=True)
    return int(any(failed) or any(status for status, _ in done))


if __name__ == "__main__":
    sys.exit(main())
