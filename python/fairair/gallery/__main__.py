"""``python -m fairair.gallery build``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from rich.console import Console

from fairair._errors import FairAirError
from fairair.gallery.build import Built, build
from fairair.gallery.store import Store
from fairair.gallery.verdict import Verdict

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, or 2 for bad input, or 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m fairair.gallery", description="The figures of five papers, anew.")
    command = parser.add_subparsers(dest="command", required=True).add_parser("build", help="run and write the site")
    command.add_argument("--quick", action="store_true", help="fewer replicas, shorter runs")
    command.add_argument("--only", metavar="PAPER[/FIGURE]", help="these alone, such as detti2011/fig06")
    command.add_argument("--out", type=Path, default=Path("out/gallery"), help="folder of the site (%(default)s)")
    command.add_argument("--gallery", type=Path, help="folder of the figures (found from here)")
    command.add_argument("--store", type=Path, help="folder of finished points (beside --out)")
    command.add_argument("--jobs", type=int, default=0, help="threads (one a processor)")
    options = parser.parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    began = time.monotonic()
    try:
        store = Store(options.store or options.out.with_name(f"{options.out.name}-store"))
        console.print(f"gallery: {'quick' if options.quick else 'full'} build into {options.out}")
        built = build(
            options.gallery or _find(),
            options.out,
            store,
            quick=options.quick,
            only=options.only,
            jobs=options.jobs,
            done=lambda one: _say(console, one),
        )
    except FairAirError as error:
        console.print(f"gallery: {error}", style="red", markup=False)
        return 2
    except KeyboardInterrupt:
        console.print("gallery: stopped; finished points are kept, the next build goes on from them")
        return 130
    counts = Counter(one.verdict for one in built)
    told = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)
    console.print(
        f"gallery: {len(built)} figures and tables: {told}; {store.misses} points computed, {store.hits} kept, "
        f"{time.monotonic() - began:.0f} s"
    )
    console.print(f"open {options.out / 'index.html'}")
    return 0


def _say(console: Console, one: Built) -> None:
    failed = sum(not row.outcome.holds for row in one.rows)
    console.print(
        f"  {one.figure.paper:<12} {one.figure.name:<10} {one.verdict.value:<11} "
        f"{len(one.rows) - failed} of {len(one.rows)} checks"
    )


def _find() -> Path:
    """Return the gallery of the repository that the working directory, or else this file, is in."""
    for start in (Path.cwd(), Path(__file__).resolve().parent):
        for folder in (start, *start.parents):
            if any((folder / "gallery").glob("*/paper.toml")):
                return folder / "gallery"
    raise FairAirError(
        "--gallery", "there is no gallery here or above", "run this in the repository, or name the folder"
    )


if __name__ == "__main__":
    sys.exit(main())
