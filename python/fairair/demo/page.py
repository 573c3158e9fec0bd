"""One cell as a page: who gets what, under each remedy, and what the planner recommends."""

from __future__ import annotations

import json
import shutil
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

import jinja2
import matplotlib as mpl
from matplotlib import pyplot as plt

import fairair
from fairair import plot
from fairair._errors import FairAirError
from fairair.demo.explained import EXPLAINED

__all__ = ["write_page"]

_REPLICAS = 5


def write_page(scenario: str | PathLike[str], out: str | PathLike[str] = "out/demo") -> Path:
    """Simulate a scenario as it is and under each remedy, plan, and write the page; it appears when it is complete.

    Parameters
    ----------
    scenario : path-like
        A scenario file.
    out : path-like
        Folder of the page; an older page there is replaced.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    FairAirError
        The file is no scenario, or `out` holds something else.
    """
    target = Path(out)
    if target.exists() and not (target / "index.html").exists() and any(target.iterdir()):
        raise FairAirError(str(out), "this folder holds something else than a page", "name a new or empty folder")
    mpl.use("svg")
    cell = fairair.Scenario.load(scenario)
    comparison = fairair.compare(cell, replicas=_REPLICAS)
    plan = fairair.plan(cell, "level=1").to_dict()
    answers = plan["rows"]
    target.parent.mkdir(parents=True, exist_ok=True)
    site = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        with mpl.rc_context({"svg.fonttype": "none"}):
            _save(plot.goodput(comparison.results["none"]), site / "without.svg")
            _save(plot.remedies(comparison), site / "remedies.svg")
            if answers:
                chosen = fairair.Result.from_json(json.dumps(answers[0]["report"]), "plan")
                _save(plot.goodput(chosen), site / "recommended.svg")
        shutil.copyfile(scenario, site / "scenario.toml")
        environment = jinja2.Environment(
            loader=jinja2.ChoiceLoader([jinja2.PackageLoader("fairair.demo"), jinja2.PackageLoader("fairair.gallery")]),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
        )
        rows = [
            {"name": name, "needs": needs, "explained": EXPLAINED.get(str(name), ""), **row}
            for (name, row), needs in zip(comparison.table.to_dict("index").items(), _needs(comparison), strict=True)
        ]
        text = environment.get_template("demo.html").render(
            version=fairair.__version__,
            quick=False,
            cell=cell,
            plain=comparison.results["none"],
            rows=sorted(rows, key=lambda row: -row["jain_stations"]),
            plan=plan,
            answers=answers,
            replicas=_REPLICAS,
        )
        (site / "index.html").write_text(text, encoding="utf-8")
        site.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        site.rename(target)
    except BaseException:
        shutil.rmtree(site, ignore_errors=True)
        raise
    return target / "index.html"


def _needs(comparison: fairair.Comparison) -> list[str]:
    known = {remedy.name: remedy for remedy in fairair.remedies()}
    return [known[name].needs if name in known else "" for name in comparison.results]


def _save(ax: Any, path: Path) -> None:
    ax.figure.savefig(path, metadata={"Date": None})
    plt.close(ax.figure)
