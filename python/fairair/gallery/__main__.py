"""``python -m fairair.gallery build``, ``record`` and ``try``."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from fairair._engine_id import version
from fairair._errors import FairAirError
from fairair._extras import need
from fairair.gallery import tried
from fairair.gallery.build import Built, build
from fairair.gallery.record import Recorder
from fairair.gallery.spec import load
from fairair.gallery.store import Store
from fairair.gallery.verdict import Verdict

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, or 2 for bad input, or 130 after Ctrl-C."""
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(given)
    console = Console(stderr=True, highlight=False)
    try:
        if options.command == "build":
            _build(options, console)
        else:
            act = _record if options.command == "record" else _try
            act(options, shlex.join(["python", "-m", "fairair.gallery", *given]), console)
    except FairAirError as error:
        console.print(f"gallery: {error}", style="red", markup=False)
        return 2
    except KeyboardInterrupt:
        console.print("gallery: stopped; finished points are kept, the next run goes on from them")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fairair.gallery", description="The figures of five papers, anew.")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="run and write the site")
    build.add_argument("--quick", action="store_true", help="fewer replicas, shorter runs")
    build.add_argument("--only", metavar="PAPER[/FIGURE]", help="these alone, such as detti2011/fig06")
    build.add_argument("--dask", metavar="ADDRESS", help="compute on a Dask cluster (tcp://host:8786), or `local`")
    build.add_argument("--out", type=Path, default=Path("out/gallery"), help="folder of the site (%(default)s)")
    record = commands.add_parser("record", help="measure figures on the testbed (root), into files beside them")
    record.add_argument("--only", metavar="PAPER[/FIGURE]", required=True, help="which, such as detti2011/fig06")
    record.add_argument("--series", type=_list, default=[], metavar="ID,...", help="these alone (all simulated ones)")
    record.add_argument("--x", type=_list, default=[], metavar="X,...", help="these points alone (all)")
    record.add_argument("--replicas", type=int, help="instead of the scenario's")
    record.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="change the scenarios")
    record.add_argument("--machine", default="", help="what the file says of where it was measured")
    trial = commands.add_parser("try", help="run what a paper leaves open, into tables beside the figures")
    trial.add_argument(
        "--only", metavar="PAPER[/FIGURE]", help="which, such as khademi2010/fig05 (all that have choices)"
    )
    trial.add_argument("--replicas", type=int, help="instead of the scenario's")
    for command in (build, record, trial):
        command.add_argument("--gallery", type=Path, help="folder of the figures (found from here)")
        command.add_argument("--store", type=Path, help="folder of finished points (beside --out)")
        command.add_argument("--jobs", type=int, default=0, help="threads, or replicas of the testbed side by side")
    return parser


def _list(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _build(options: argparse.Namespace, console: Console) -> None:
    began = time.monotonic()
    store = Store(options.store or options.out.with_name(f"{options.out.name}-store"))
    console.print(f"gallery: {'quick' if options.quick else 'full'} build into {options.out}")
    with _cluster(options.dask, options.jobs) as executor:
        built = build(
            options.gallery or _find(),
            options.out,
            store,
            quick=options.quick,
            only=options.only,
            jobs=options.jobs,
            executor=executor,
            done=lambda one: _say(console, one),
        )
    counts = Counter(one.verdict for one in built)
    told = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)
    console.print(
        f"gallery: {len(built)} figures and tables: {told}; {store.misses} points computed, {store.hits} kept, "
        f"{time.monotonic() - began:.0f} s"
    )
    console.print(f"open {options.out / 'index.html'}")


@contextmanager
def _cluster(address: str | None, jobs: int) -> Iterator[Any]:
    """Connect to a Dask cluster; `local` starts one of processes with a thread each."""
    if address is None:
        yield None
        return
    distributed = need("distributed")
    try:
        if address == "local":
            cluster = distributed.LocalCluster(n_workers=jobs or None, threads_per_worker=1, dashboard_address=None)
            with cluster, distributed.Client(cluster) as client:
                yield client
        else:
            with distributed.Client(address, timeout="10s") as client:
                yield client
    except OSError as error:
        raise FairAirError("--dask", f"{address} does not answer: {error}", "name a scheduler that runs") from None


def _record(options: argparse.Namespace, command: str, console: Console) -> None:
    changes: dict[str, object] = {}
    for change in options.set:
        path, equals, text = change.partition("=")
        if not equals:
            raise FairAirError("--set", f"{change!r} has no value", 'write PATH=VALUE, as --set "run.duration=70 s"')
        changes[path] = json.loads(text) if _is_json(text) else text
    if options.replicas is not None:
        changes["run.replicas"] = options.replicas
    store = Store(options.store or Path("out/gallery-recorded-store"))
    recorder = Recorder(
        store,
        command,
        machine=options.machine,
        series=options.series,
        xs=options.x,
        changes=changes,
        jobs=options.jobs,
        said=lambda line: console.print(f"  {line}", markup=False),
    )
    for paper in load(options.gallery or _find(), options.only):
        for figure in paper.figures:
            path = recorder.record(paper, figure)
            console.print(f"gallery: {path or f'{paper.key}/{figure.key} has nothing to record'}", markup=False)


def _try(options: argparse.Namespace, command: str, console: Console) -> None:
    store = Store(options.store or Path("out/gallery-tried-store"))
    for paper in load(options.gallery or _find(), options.only):
        for figure in paper.figures:
            replicas = str(options.replicas or "the scenario's")
            path = tried.run(
                paper,
                figure,
                store,
                {"command": command, "engine": version(), "replicas": replicas},
                replicas=options.replicas,
                jobs=options.jobs,
                said=lambda line: console.print(f"  {line}", markup=False),
            )
            if path is not None or options.only:
                console.print(f"gallery: {path or f'{paper.key}/{figure.key} has no choices'}", markup=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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
