"""Count the Rust that is neither test nor documentation, and fail on a file of more than 450 lines.

    python3 scripts/lines.py            lines by crate, and files that are too long
    python3 scripts/lines.py COMMIT     the same of a commit

A line counts unless it is blank, a comment, or under `#[cfg(test)]`; files of tests, examples and benchmarks do not count.
The limit of 450 holds for all lines of all files, tests too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 450
TESTS = re.compile(r"/(?:tests|examples|benches)/|(?:^|[/_])tests?\.rs$")
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\n)*(?:pub(?:\(.*\))? )?mod (\w+);", re.M)


def git(*args: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def without_tests(lines: list[str]) -> list[str]:
    """Leave out each item under `#[cfg(test)]`, to the brace or semicolon that ends it."""
    kept: list[str] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip().startswith("#[cfg(test)]"):
            kept.append(lines[at])
            at += 1
            continue
        indent = len(lines[at]) - len(lines[at].lstrip())
        at += 1
        while at < len(lines) and lines[at].lstrip().startswith("#["):
            at += 1
        if not lines[at].rstrip().endswith(";"):
            while not re.match(rf" {{{indent}}}[}}\])]", lines[at]):
                at += 1
        at += 1
    return kept


def folder(name: str) -> Path:
    """Tell where the modules are that a file declares."""
    path = Path(name)
    return path.parent if path.stem in ("lib", "main", "mod") else path.with_suffix("")


def main() -> int:
    """Print the figures; 1 if a file is too long."""
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    names = git("ls-tree", "-r", "--name-only", commit) if commit else git("ls-files", "--cached", "--others", "--exclude-standard")
    ours = [name for name in names.splitlines() if name.endswith((".rs", ".py", ".ts", ".svelte"))]
    texts = {name: git("show", f"{commit}:{name}") if commit else (ROOT / name).read_text() for name in ours}
    tests = {str(folder(name) / f"{module}.rs") for name, text in texts.items() for module in TEST_MODULE.findall(text)}
    count: Counter[str] = Counter()
    too_long = []
    for name, text in texts.items():
        lines = text.splitlines()
        if len(lines) > LIMIT:
            too_long.append(f"{name} has {len(lines)} lines, more than {LIMIT}: split it by what it is about")
        if name.endswith(".rs") and name not in tests and not TESTS.search(name):
            code = [line for line in without_tests(lines) if line.strip() and not line.lstrip().startswith("//")]
            count["/".join(name.split("/")[: 2 if name.startswith("crates") else 1])] += len(code)
    for place, lines_of_code in sorted(count.items()):
        print(f"{lines_of_code:7,} {place}")
    print(f"{sum(count.values()):7,} lines of Rust without tests, comments and blank lines")
    print("\n".join(too_long) if too_long else f"no file has more than {LIMIT} lines")
    return int(bool(too_long))


if __name__ == "__main__":
    sys.exit(main())
