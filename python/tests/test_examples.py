"""Examples and notebooks run as they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import REPOSITORY
from nbclient import NotebookClient

PYTHON = REPOSITORY / "python"


@pytest.mark.parametrize("example", sorted((PYTHON / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "scenarios", tmp_path / "scenarios")
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert {path.name for path in tmp_path.iterdir()} <= {"scenarios", "out"}, "git ignores out/ alone"


# Jupyter's client has its own opinions on sockets and event loops.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("notebook", sorted((PYTHON / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    assert not any(cell.get("outputs") for cell in content.cells), "notebooks are committed without outputs"
    client = NotebookClient(content, timeout=300, resources={"metadata": {"path": str(PYTHON / "notebooks")}})
    client.execute()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("notebook", sorted((PYTHON / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_outside_the_repository_says_so(notebook: Path, tmp_path: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    first = next(cell for cell in content.cells if cell.cell_type == "code")
    # As a script with a time limit: a search for the root that never ends is what this is about.
    done = subprocess.run(
        [sys.executable, "-c", first.source], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "open this notebook inside the repository" in done.stderr
