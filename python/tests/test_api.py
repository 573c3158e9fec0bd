"""The public API is documented in whole, its types agree with the reader of scenarios, and missing extras are named."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from doctest import DocTestFinder
from multiprocessing import get_context
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow.parquet as pq
import pytest

import fairair
from fairair import FairAirError, Scenario, tables

MODELS = ("capacity", "dcf", "detti2011", "ha2009", "pftk", "pokhrel2016", "unified")
MODULES = (
    "fairair",
    "fairair.goals",
    "fairair.plot",
    "fairair.planner",
    "fairair.catalogue",
    "fairair.models",
    *(f"fairair.models.{name}" for name in MODELS),
)


def members(owner: Any) -> Iterator[Callable[..., Any]]:
    """Yield a function, or the public methods of a class of ours."""
    if inspect.isfunction(owner):
        yield owner
    elif inspect.isclass(owner):
        for name, value in vars(owner).items():
            function = getattr(value, "__func__", value)
            if not name.startswith("_") and inspect.isfunction(function):
                yield function


def functions() -> list[Callable[..., Any]]:
    found: dict[Callable[..., Any], None] = {}
    for place in MODULES:
        module = importlib.import_module(place)
        for name in module.__all__:
            for function in members(getattr(module, name)):
                if function.__module__.startswith("fairair"):
                    found[function] = None
    return list(found)


FUNCTIONS = functions()
EXAMPLES = "\n".join(
    line
    for function in FUNCTIONS
    for line in (inspect.getdoc(function) or "").splitlines()
    if line.startswith((">>> ", "... "))
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__qualname__}")
def test_every_function_says_what_it_takes_gives_and_refuses(function: Callable[..., Any]) -> None:
    text = inspect.getdoc(function) or ""
    sections = set(re.findall(r"^(\w+)\n-{3,}$", text, re.MULTILINE))
    signature = inspect.signature(function)
    taken = [name for name in signature.parameters if name not in {"self", "cls"}]
    wanted = {"Parameters", "Raises"} if taken else set()
    if signature.return_annotation != "None":
        wanted.add("Yields" if "Iterator" in str(signature.return_annotation) else "Returns")
    if ".models" in function.__module__:
        wanted.add("References")
    assert wanted <= sections, f"no {sorted(wanted - sections)}"
    unsaid = [name for name in taken if not re.search(rf"\b{name}\b", text.split("Parameters\n---", 1)[-1])]
    assert not unsaid, f"`{unsaid}` are not described"
    # Each array has its shape.
    described = [line for line in text.splitlines() if re.search(r"\b(array_like|ndarray)\b", line)]
    assert all("shape (" in line for line in described), described
    # An example that runs: its own, or that of another function which calls it. Doctests run them.
    assert re.search(rf"\b{function.__name__}\(", EXAMPLES), "no example calls it"


OF_USERS = [
    module.name
    for module in pkgutil.walk_packages(fairair.__path__, "fairair.")
    if not re.match(r"fairair\.(_native|__main__|demo|gallery)", module.name)
]


@pytest.mark.parametrize("name", ["fairair", *OF_USERS])
def test_examples_run_where_nothing_is_imported_yet(name: str) -> None:
    # Doctests have the names of their module; who pastes an example has none. A wrong answer is theirs to find.
    for doctest in DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        if not doctest.examples:
            continue
        nodes = list(ast.walk(ast.parse("".join(example.source for example in doctest.examples))))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        made |= {
            (alias.asname or alias.name).partition(".")[0]
            for node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        unknown = names - made - set(dir(builtins))
        assert not unknown, doctest.name
        assert re.match(r"import fairair\n|from fairair(\.\w+)* import ", doctest.examples[0].source), doctest.name


def test_nothing_public_is_left_out_of_the_walk() -> None:
    assert len(FUNCTIONS) > 55
    for name in fairair.__all__:
        value = getattr(fairair, name)
        assert inspect.getdoc(value) or isinstance(value, str), name


def valid_keys(document: dict[str, Any]) -> set[str]:
    """Return the keys that the reader names when it meets one that is none."""
    with pytest.raises(FairAirError) as refused:
        Scenario(document)
    found = re.search(r"[Vv]alid keys(?: here)?: (.*)$", refused.value.fix)
    assert found, refused.value
    return set(found[1].split(", "))


BAD = {"zzzz": 1}
RUN = {"duration": "5 s"}
FLOW = {"direction": "up"}
STATION = {"name": "a", "flows": [FLOW]}
CELL = {"name": "cell", "run": RUN, "station": [STATION]}
MODERN = {**CELL, "radio": {"phy": "802.11ax"}}


def with_ap(table: dict[str, Any]) -> dict[str, Any]:
    return {**CELL, "ap": table}


DOCUMENTS: dict[type, dict[str, Any]] = {
    tables.Document: {**CELL, **BAD},
    tables.Run: {**CELL, "run": {**RUN, **BAD}},
    tables.Radio: {**CELL, "radio": BAD},
    tables.Edca: {**MODERN, "radio": {"phy": "802.11ax", "edca": BAD}},
    tables.EdcaSide: {**MODERN, "radio": {"phy": "802.11ax", "edca": {"ap": BAD}}},
    tables.AccessCategory: {**MODERN, "radio": {"phy": "802.11ax", "edca": {"ap": {"be": BAD}}}},
    tables.Aggregation: {**MODERN, "radio": {"phy": "802.11ax", "aggregation": BAD}},
    tables.Ap: with_ap(BAD),
    tables.AccessPoint: {**CELL, "access_point": [{"name": "hall", **BAD}]},
    tables.WindowCap: with_ap({"window_cap": {"kind": "tfbr", **BAD}}),
    tables.UplinkLimiter: with_ap({"uplink_limiter": {"capacity": "auto", **BAD}}),
    tables.Wire: {**CELL, "wire": BAD},
    tables.Tcp: {**CELL, "tcp": BAD},
    tables.Flow: {**CELL, "station": [{"name": "a", "flows": [{**FLOW, **BAD}]}]},
    tables.Station: {**CELL, "station": [{**STATION, **BAD}]},
    tables.Enforce: {**CELL, "enforce": BAD},
    tables.Capacity: {**CELL, "enforce": {"capacity": {"kind": "adaptive", **BAD}}},
    tables.Event: {**CELL, "event": [{"at": "1 s", "kind": "rate", **BAD}]},
}
QUEUES = {
    "droptail": tables.DropTail,
    "las": tables.Las,
    "tlas": tables.Tlas,
    "tlas-saf": tables.TlasSaf,
    "dual-queue": tables.DualQueue,
    "per-flow-fq": tables.FairQueue,
    "per-station-fq": tables.FairQueue,
    "fq-codel": tables.FqCodel,
    "airtime-fq": tables.AirtimeFq,
    "admission": tables.Admission,
    "adaptive-buffer": tables.AdaptiveBuffer,
    "shared-fifo": tables.SharedFifo,
    "mac80211": tables.Mac80211,
}


@pytest.mark.parametrize("table", DOCUMENTS, ids=lambda table: table.__name__)
def test_a_type_has_the_keys_of_the_reader(table: type) -> None:
    assert set(table.__annotations__) == valid_keys(DOCUMENTS[table])


@pytest.mark.parametrize("kind", QUEUES)
def test_a_queue_has_the_keys_of_its_kind(kind: str) -> None:
    every = set().union(*(queue.__annotations__ for queue in QUEUES.values()))
    assert valid_keys(with_ap({"queue": {"kind": kind, **BAD}})) == every
    for key in every - {"kind"}:
        # Of another kind: the reader says so whatever its value is.
        with pytest.raises(FairAirError) as refused:
            Scenario(with_ap({"queue": {"kind": kind, key: [[]]}}))
        is_foreign = "has no meaning with" in refused.value.problem
        assert is_foreign == (key not in QUEUES[kind].__annotations__), (key, str(refused.value))


def test_every_type_is_tried() -> None:
    assert {getattr(tables, name) for name in tables.__all__ if name != "Queue"} == {*DOCUMENTS, *QUEUES.values()}


@pytest.fixture(scope="module")
def result() -> fairair.Result:
    cell = Scenario(
        tables.Document(
            name="cell",
            run=tables.Run(duration="5 s", replicas=2),
            station=[
                tables.Station(name="a<b>", flows=[tables.Flow(direction="up", kind="files", size="20 kB")]),
                tables.Station(name="b", flows=[tables.Flow(direction="down")]),
            ],
        )
    )
    return fairair.run(cell)


def test_tables_carry_units_and_origin_into_parquet(result: fairair.Result, tmp_path: Path) -> None:
    assert result.stations.attrs["units"]["goodput_bps_ci95"] == "bit/s"
    assert result.transfers.attrs["units"]["duration_s"] == "s"
    result.to_parquet(tmp_path / "result")
    schema = pq.read_schema(tmp_path / "result/flows.parquet")
    assert schema.field("goodput_bps").metadata == {b"units": b"bit/s"}
    assert result.fingerprint.encode() in schema.metadata[b"fairair"]
    with pytest.raises(FairAirError, match="no table 'enforce'"):
        result.to_arrow("enforce")
    data = result.to_xarray()
    assert data.attrs["seed"] == 1
    assert float(data["station_goodput_bps"].sel(station="b")) == result.stations.loc["b", "goodput_bps"]
    assert data["goodput_bps"].attrs["units"] == "bit/s"


@pytest.mark.parametrize("name", ["result.json", "transfers.parquet"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}"])
def test_a_damaged_result_is_refused(result: fairair.Result, tmp_path: Path, name: str, content: bytes) -> None:
    result.to_parquet(tmp_path / "result")
    (tmp_path / "result" / name).write_bytes(content)
    with pytest.raises(FairAirError, match="result: "):
        fairair.Result.load(tmp_path / "result")
    (tmp_path / "result" / "result.json").write_text(result.to_json())
    (tmp_path / "result" / "flows.parquet").replace(tmp_path / "result" / "transfers.parquet")
    with pytest.raises(FairAirError, match=r"cannot read a result: .*replica"):
        fairair.Result.load(tmp_path / "result")


def test_a_result_is_pickled_with_its_transfers_and_shown_without_markup(result: fairair.Result) -> None:
    again = pickle.loads(pickle.dumps(result))  # noqa: S301 # our own
    assert again.to_json() == result.to_json()
    assert again.transfers.equals(result.transfers)
    assert len(again.transfers) > 0
    shown = result._repr_html_()
    assert "a&lt;b&gt;" in shown
    assert "<b>b" not in shown


def test_without_extras_results_are_there_and_what_is_missing_is_named() -> None:
    script = """
import sys
for name in ("pandas", "xarray", "pyarrow", "matplotlib", "rich", "jinja2", "distributed"):
    sys.modules[name] = None
import fairair, pickle
cell = fairair.Scenario({"name": "cell", "run": {"duration": "5 s"},
                         "station": [{"name": "a", "flows": [{"direction": "up"}]}]})
result = fairair.run(cell)
assert "goodput_bps" in repr(result) and "<table>" in result._repr_html_()
assert pickle.loads(pickle.dumps(result)).name == "cell"
assert "<table>" in fairair.compare(cell, ["vsb"])._repr_html_()
for ask, extra in ((lambda: result.stations, "data"), (lambda: fairair.plot, "plot"), (lambda: fairair.sweep, "data"),
                   (lambda: fairair.gallery.build, "gallery")):
    try:
        ask()
    except fairair.MissingExtraError as error:
        assert error.fix == f"pip install 'fairair[{extra}]'", error
        assert isinstance(error, ImportError)
    else:
        raise AssertionError(extra)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_plans_are_made_on_an_executor() -> None:
    # A mistake comes back from a process in words. A plan takes seconds: the doctest of `plan` makes one.
    wrong = fairair.Problem(Scenario(CELL), "nobody >= 100 kbit/s")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(FairAirError, match="nobody"):
        fairair.plans([wrong], executor=pool)


def test_a_problem_has_every_wish_of_a_plan() -> None:
    wishes = set(inspect.signature(fairair.plan).parameters) - {"jobs", "progress"}
    assert set(fairair.Problem._fields) == wishes


def test_hints_can_be_read() -> None:
    for function in FUNCTIONS:
        if function.__module__.startswith("fairair.models"):
            assert get_type_hints(function)
