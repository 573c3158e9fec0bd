"""The small language of checks: arithmetic over series, such as ``max(las[6:46])`` or ``mean(box) / mean(none)``.

A name is a series. ``s[6]`` is its value at x = 6, ``s[6:46]`` the part from 6 to 46. Functions: ``mean``, ``min``,
``max``, ``std`` (population), ``abs``, ``first``, ``last``, ``rise`` (Spearman's rank correlation with x: 1 grows
throughout, -1 falls throughout), ``span`` (largest over smallest), ``count`` (points that are not NaN) and
``share(a > b)``, the share of points at which a comparison holds.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fairair._errors import FairAirError
from fairair.gallery.curve import Curve, Floats, X

__all__ = ["arithmetic", "evaluate", "names", "point_of"]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _rise(values: Floats) -> float:
    if len(values) < 2 or np.isnan(values).any():
        return float("nan")
    order = np.argsort(np.argsort(values)).astype(float)
    steps = np.arange(len(values), dtype=float)
    # Equal values share the mean of their ranks.
    for value in np.unique(values):
        order[values == value] = order[values == value].mean()
    if order.std() == 0.0:
        return 0.0
    return float(np.corrcoef(steps, order)[0, 1])


_FUNCTIONS: dict[str, Callable[[Floats], Any]] = {
    "mean": lambda a: float(np.mean(a)),
    "min": lambda a: float(np.min(a)),
    "max": lambda a: float(np.max(a)),
    "std": lambda a: float(np.std(a)),
    "abs": np.abs,
    "first": lambda a: float(a[0]),
    "last": lambda a: float(a[-1]),
    "rise": _rise,
    "span": lambda a: float(np.max(a) / np.min(a)),
    "count": lambda a: float(np.count_nonzero(~np.isnan(a))),
    "share": lambda a: float(np.mean(a)),
}


def names(text: str, place: str = "value") -> set[str]:
    """Return the series that an expression asks for.

    Raises
    ------
    FairAirError
        It cannot be read.
    """
    nodes = ast.walk(_parse(text, place))
    return {node.id for node in nodes if isinstance(node, ast.Name) and node.id not in _FUNCTIONS}


def point_of(text: str) -> tuple[str, X] | None:
    """Return series and x of an expression that is one value of one series, such as ``s[6]``; None for others."""
    match _parse(text, "value").body:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() | float() | str() as x)):
            return name, x
    return None


def arithmetic(text: str, values: Mapping[str, float]) -> float:
    """Return the value of plain arithmetic, such as ``1.2 * 75 / 42`` or ``x / 42``."""
    curves = {name: Curve.of(("",), [value]) for name, value in values.items()}
    return evaluate(text, curves, "derived")


def evaluate(text: str, curves: Mapping[str, Curve], place: str = "value") -> float:
    """Return the value of an expression; NaN where a series has none.

    Parameters
    ----------
    text : str
        The expression.
    curves : mapping
        Series by name.
    place : str
        Where the expression stands, for messages.

    Raises
    ------
    FairAirError
        The expression cannot be read, names an unknown series, or is no single number.

    Examples
    --------
    >>> box = Curve.of((1, 2, 3), [2.0, 4.0, 8.0])
    >>> evaluate("max(s) / s[1]", {"s": box}), evaluate("rise(s)", {"s": box}), evaluate("s[7]", {"s": box})
    (4.0, 1.0, nan)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _Reader(curves, place).read(_parse(text, place).body)
    flat = np.asarray(value.y if isinstance(value, Curve) else value, dtype=np.float64)
    if flat.size != 1:
        raise FairAirError(place, f"{text!r} is no single number", "wrap the series in mean(), max(), ... or give s[x]")
    return float(flat.reshape(-1)[0])


def _parse(text: str, place: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise FairAirError(place, f"{text!r} cannot be read: {error.msg}", "see gallery/README.md") from None


class _Reader:
    def __init__(self, curves: Mapping[str, Curve], place: str) -> None:
        self.curves, self.place = curves, place

    def refuse(self, problem: str) -> FairAirError:
        known = ", ".join(sorted(self.curves))
        return FairAirError(self.place, problem, f"functions: {', '.join(_FUNCTIONS)}; series: {known}")

    def plain(self, node: ast.expr) -> Any:
        value = self.read(node)
        return value.y if isinstance(value, Curve) else value

    def read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() | str() as value):
                return value
            case ast.Name(id=name):
                if name not in self.curves:
                    raise self.refuse(f"there is no series {name!r}")
                return self.curves[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.plain(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                a, b = self.plain(left), self.plain(right)
                if np.ndim(a) and np.ndim(b) and np.shape(a) != np.shape(b):
                    raise self.refuse("two series of different x meet")
                return _BINARY[type(op)](np.asarray(a, dtype=np.float64), b)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return np.asarray(_COMPARE[type(op)](self.plain(left), self.plain(right)), dtype=np.float64)
            case ast.Subscript(value=value, slice=part):
                curve = self.read(value)
                if not isinstance(curve, Curve):
                    raise self.refuse("only a series has parts")
                if isinstance(part, ast.Slice):
                    ends = [None if end is None else float(self.plain(end)) for end in (part.lower, part.upper)]
                    return curve.between(*ends)
                return curve.at(self.plain(part))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
                values = np.atleast_1d(np.asarray(self.plain(argument), dtype=np.float64))
                return _FUNCTIONS[name](values) if values.size else float("nan")
        raise self.refuse(f"{ast.unparse(node)!r} is not understood")
