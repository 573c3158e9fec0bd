"""Arguments are what their annotations say: what is not raises `FairAirError` that names the argument and what to give."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, wraps
from inspect import Parameter, signature
from os import PathLike
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from fairair._errors import FairAirError

__all__ = ["check_fields", "checked"]

P = ParamSpec("P")
R = TypeVar("R")

_FIXES = {
    "scenario": "give a Scenario, as Scenario.from_dict(...) returns, or the path of its file",
    "max_delay": 'give a time with its unit as text, such as "50 ms"',
    "model": 'give the name of a model, such as "detti2011": fairair.models.of_scenarios() has them',
    "remedy": 'give the name of a remedy, such as "vsb": fairair.remedies() has them',
    "result": "give a Result, as fairair.run(...) returns",
    "results": 'give Results with their names: {"las": fairair.run(...)}',
    "comparison": "give a Comparison, as fairair.compare(...) returns",
    "seen": "give the Air that fairair.air(...) returns",
    "data": "give the dataset that fairair.sweep(...) returns",
    "grid": 'give paths with their values: {"ap.queue.limit": [25, 75]}',
    "goals": 'give a goal or several: fairair.goals.Level(1), "level=1"',
    "names": 'give a list of names, such as ["vsb"]',
    "problems": "give a list of fairair.Problem",
    "jobs": "give a number of threads, or 0 for the default",
    "max_replicas": "allow 2 to 1,000,000, and no fewer than the scenario's replicas",
    "native": "get a Result from fairair.run or Result.load",
}
"""By the argument's name, where its type says too little."""
_LEAST = {"jobs": 0, "max_replicas": 2}
_MOST = 2**64
"""Of whole numbers: what Rust takes."""
_WORDS: dict[Any, str] = {
    bool: "True or False",
    float: "a number",
    int: "a whole number",
    str: "a text",
    NoneType: "None",
    PathLike: "a path",
    Mapping: "a dictionary whose keys are texts",
    Iterable: "a list",
    list: "a list",
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the types of the arguments of each call; what an annotation leaves open passes."""
    expected = signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = expected.bind(*args, **kwargs).arguments
        except TypeError:
            # Too few, too many, or unknown: Python says so in its own words.
            return function(*args, **kwargs)
        _check(function, given)
        return function(*args, **kwargs)

    return call


def check_fields(made: Any) -> None:
    """Check the fields of a dataclass likewise, as its ``__post_init__``."""
    _check(type(made).__init__, vars(made), f"{type(made).__name__}.")
    for name, value in vars(made).items():
        # An argument may say "to the end"; a wish has to be a number of the files that it is written into.
        if isinstance(value, float) and math.isinf(value):
            raise FairAirError(f"{type(made).__name__}.{name}", f"{value} is no number", "give a finite number")


def _check(function: Callable[..., Any], given: Mapping[str, Any], prefix: str = "") -> None:
    for name, value in given.items():
        wanted = _wanted(function, name)
        if wanted is Any:
            continue
        fix = _FIXES.get(name) or f"give {' or '.join(_words(wanted))}"
        if not _fits(value, wanted):
            raise FairAirError(f"{prefix}{name}", f"{reprlib.repr(value)} is {_named(value)}", fix)
        if name in _LEAST and value is not None and value < _LEAST[name]:
            raise FairAirError(name, f"{value} is below {_LEAST[name]}", _FIXES[name])


def _named(value: Any) -> str:
    if value is None:
        return "no value"
    if isinstance(value, float) and not math.isfinite(value):
        return "no number"
    if isinstance(value, str) and not value:
        return "empty"
    if isinstance(value, str | PathLike) and "\0" in str(value):
        return "no path"
    if isinstance(value, str) and not _is_unicode(value):
        return "no Unicode text"
    too_large = _is_number(value, numbers.Integral) and not _fits(value, int)
    return "too large" if too_large else _a(type(value).__name__)


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


@cache
def _wanted(function: Callable[..., Any], name: str) -> Any:
    """Return the type of an argument; the last word of its name where it is not imported; Any: whatever."""
    parameter = signature(function).parameters[name]
    annotation = parameter.annotation
    # What numbers are in is for NumPy to say.
    is_open = annotation in (Parameter.empty, "ArrayLike")
    if is_open or name == "self" or parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        return Any
    try:
        hints = get_type_hints(SimpleNamespace(__annotations__={name: annotation}), function.__globals__)
    except NameError:
        # Of an extra, which is imported when it is used.
        return str(annotation).rpartition(".")[2]
    return hints[name]


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value is of a type, and so are its elements where reading them takes nothing away."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted is Any or wanted is object:
        return True
    if isinstance(wanted, str):
        return any(one.__name__ == wanted for one in type(value).__mro__)
    if origin in (Union, UnionType):
        # No file is called "", and none has a zero byte in its name.
        is_path = any(get_origin(one) is PathLike for one in inner)
        if is_path and isinstance(value, str | PathLike) and (value == "" or "\0" in str(value)):
            return False
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        # Which of them: the function says so, as the command does.
        return isinstance(value, tuple({type(one) for one in inner}))
    kind = origin or wanted
    if kind is float:
        return _is_number(value, numbers.Real) and not math.isnan(value)
    if kind is int:
        return _is_number(value, numbers.Integral) and -_MOST <= value < _MOST
    if kind is bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")
    if not isinstance(kind, type):
        return True
    if not isinstance(value, kind) or (isinstance(value, str | bytes) and kind is not str):
        return False
    if isinstance(value, str):
        return _is_unicode(value)
    if kind is PathLike:
        return True
    if inner and isinstance(value, Mapping):
        return all(_fits(key, inner[0]) and _fits(one, inner[-1]) for key, one in value.items())
    if inner and isinstance(value, Collection):
        return all(_fits(one, inner[0]) for one in value)
    return True


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _words(wanted: Any) -> list[str]:
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return list(dict.fromkeys(word for one in inner for word in _words(one)))
    if origin is Literal:
        return [repr(one) for one in inner]
    name = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", str(wanted))
    each = f", each {' or '.join(_words(inner[0]))}" if origin in (list, Iterable) else ""
    return [_WORDS.get(origin or wanted, f"a value of type {name}") + each]
