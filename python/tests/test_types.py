"""What a user's type checker says of the examples, and what examples leave behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import REPOSITORY

EXAMPLES = REPOSITORY / "python" / "examples"


def test_a_users_strict_mypy_accepts_the_examples(tmp_path: Path) -> None:
    # In a folder of its own: a user has neither our configuration nor our sources beside theirs.
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import fairair\n"
        "cell = fairair.Scenario.load('cell.toml')\n"
        "data = fairair.sweep(cell, {'ap.queue.limit': [10, 20]}, store='kept', restart=True)\n"
        "result: fairair.Result = fairair.run(cell, until_ci='2 %', pcap='air.pcap')\n"
        "level: float = result.fairness_level('sta1').mean\n"
        "table = fairair.compare(cell).table\n"
        "built = fairair.Scenario(fairair.tables.Document(name='c', run={'duration': '5 s'}, station=[{'name': 'a'}]))\n"
        "wrong = fairair.tables.Run(duration=5)  # type: ignore[typeddict-item]\n"
        "other = fairair.tables.Flow(direction='sideways')  # type: ignore[typeddict-item]\n"
        "lacks = fairair.tables.Station(count=3)  # type: ignore[typeddict-item]\n"
        "reveal_type(data)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(mine)]
        + [str(path) for path in sorted(EXAMPLES.glob("*.py"))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Revealed type is "xarray.core.dataset.Dataset"' in done.stdout


def test_examples_write_where_git_looks_away() -> None:
    ignored = (REPOSITORY / ".gitignore").read_text().splitlines()
    assert "/out" in ignored
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text()
        if "savefig(" in text or "store=" in text:
            assert 'Path("out/examples")' in text, path.name
            assert 'savefig("' not in text, path.name
            assert 'store="' not in text, path.name
