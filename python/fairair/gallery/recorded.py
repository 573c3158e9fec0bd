"""Recorded curves: what the testbed measured of a figure's series, in a CSV beside the figure (gallery/README.md)."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairair._errors import FairAirError
from fairair.gallery.curve import Curve, X

__all__ = ["Row", "notes_of", "path_of", "read", "replace_file", "write"]

COLUMNS = ("series", "x", "mean", "ci95", "n")
NEEDED = ("command", "kernel")
"""What has to be known of where a recording comes from."""


@dataclass(frozen=True)
class Row:
    """A recorded point: mean over `n` replicas in the series' unit, and its 95 % half-width or NaN."""

    series: str
    x: X
    mean: float
    ci95: float
    n: int


def path_of(folder: Path, figure: str) -> Path:
    """Return where the recorded curves of a figure are."""
    return folder / f"{figure}.recorded.csv"


def write(path: Path, provenance: Mapping[str, str], rows: Iterable[Row]) -> None:
    """Write recorded curves; the file is there whole or not at all.

    Raises
    ------
    FairAirError
        It cannot be written.
    """
    text = io.StringIO()
    text.writelines(f"# {key}: {value}\n" for key, value in provenance.items())
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        numbers = ["" if math.isnan(value) else f"{value:.6g}" for value in (row.mean, row.ci95)]
        table.writerow([row.series, row.x, *numbers, row.n])
    replace_file(path, text.getvalue())


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises
    ------
    FairAirError
        It cannot be written.
    """
    temporary = path.with_name(f".{path.name}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise FairAirError(str(path), f"cannot write: {error.strerror}", "make the folder writable") from None


def notes_of(path: Path, needed: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the notes at the head of a file, and the lines below them.

    Raises
    ------
    FairAirError
        A note that is `needed` is missing.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    head = [line[1:].partition(":") for line in itertools.takewhile(lambda line: line.startswith("#"), lines)]
    notes = {key.strip(): value.strip() for key, _, value in head}
    for key in needed:
        if not notes.get(key):
            place = f"{path.parent.name}/{path.name}"
            raise FairAirError(place, f"a line `# {key}: ...` is missing", "see gallery/README.md")
    return notes, lines[len(head) :]


def read(path: Path, series: Mapping[str, Sequence[X]]) -> tuple[dict[str, str], dict[str, Curve]]:
    """Return where recorded curves come from, and the curves; nothing of a file that is not there.

    Parameters
    ----------
    path : Path
        As from `path_of`.
    series : mapping
        The figure's simulated series with their x.

    Raises
    ------
    FairAirError
        A line that cannot be read, or that fits no series and x of the figure.
    """
    if not path.exists():
        return {}, {}
    place = f"{path.parent.name}/{path.name}"
    provenance, lines = notes_of(path, NEEDED)
    above = len(provenance)
    table = csv.DictReader(lines)
    if tuple(table.fieldnames or ()) != COLUMNS:
        raise FairAirError(place, f"its columns are {table.fieldnames}", f"write {','.join(COLUMNS)}")
    found: dict[str, dict[X, Row]] = {}
    for item in table:
        row = _row(item, series, f"{place}:{above + table.line_num}")
        if row.x in found.setdefault(row.series, {}):
            raise FairAirError(place, f"{row.series} at {row.x} stands there twice", "keep one of the two")
        found[row.series][row.x] = row
    counts = sorted({row.n for rows in found.values() for row in rows.values()})
    if not counts:
        raise FairAirError(place, "there is no point in it", "record some, or remove the file")
    provenance["replicas"] = " to ".join(str(n) for n in dict.fromkeys([counts[0], counts[-1]]))
    return provenance, {key: _curve([rows[x] for x in series[key] if x in rows]) for key, rows in found.items()}


def _row(item: Mapping[str, str | None], series: Mapping[str, Sequence[X]], place: str) -> Row:
    key, text = item["series"] or "", item["x"] or ""
    if key not in series:
        raise FairAirError(place, f"there is no simulated series {key!r}", f"use one of: {', '.join(series)}")
    xs = [x for x in series[key] if _same(x, text)]
    if not xs:
        raise FairAirError(place, f"{key} has no x {text!r}", f"use one of: {', '.join(map(str, series[key]))}")
    try:
        row = Row(key, xs[0], float(item["mean"] or ""), float(item["ci95"] or "nan"), int(item["n"] or ""))
    except ValueError as error:
        raise FairAirError(place, str(error), "write numbers in mean, ci95 and n") from None
    if not math.isfinite(row.mean) or row.ci95 < 0 or row.n < 1:
        raise FairAirError(
            place, f"{row.mean} ± {row.ci95} of {row.n} replicas is no measurement", "leave the line out"
        )
    return row


def _same(x: X, text: str) -> bool:
    if isinstance(x, str):
        return x == text
    try:
        return abs(float(text) - x) < 1e-9
    except ValueError:
        return False


def _curve(rows: Sequence[Row]) -> Curve:
    n = max(row.n for row in rows)
    return Curve.of(tuple(row.x for row in rows), [row.mean for row in rows], [row.ci95 for row in rows], n)
