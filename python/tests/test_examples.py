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


# Jupyter's client has its own opinions on sockets and event loops.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("notebook", sorted((PYTHON / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    assert not any(cell.get("outputs") for cell in content.cells), "notebooks are committed without outputs"
    client = NotebookClient(content, timeout=300, resources={"metadata": {"path": str(PYTHON / "notebooks")}})
    client.execute()
