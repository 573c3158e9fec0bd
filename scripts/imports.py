"""Check that the imports inside each crate form no circle, and that core's arrows go one way.

    python3 scripts/imports.py            fails and prints the circle
    python3 scripts/imports.py --edges    prints every import (file, file imported)

An import is a path to an item in the file that *defines* the item: a re-export is no import,
and `mod child;` is none either. Code under `#[cfg(test)]` is left out.
A file that adds methods to a type of another one is a part of it, and may import it.
Rooms of core import only rooms above them in the table of docs/architecture.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ITEM = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|const\s+|async\s+|unsafe\s+|extern\s+\"C\"\s+)*"
    r"(?:fn|struct|enum|trait|type|const|static|union|macro_rules!)\s+(?:mut\s+)?([A-Za-z_]\w*)",
    re.M,
)
MOD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.M)
USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
PATH = re.compile(r"(?<![\w:$])((?:crate|super|self|[a-z_]\w*)(?:::\w+)+)")


Name = tuple[str, ...]
Graph = dict[Name, set[Name]]


@dataclass
class Module:
    """One file: what it defines, re-exports and mentions."""

    path: Path
    name: Name
    items: set[str] = field(default_factory=set)
    children: dict[str, Name] = field(default_factory=dict)
    uses: dict[str, Name] = field(default_factory=dict)
    globs: list[Name] = field(default_factory=list)
    text: str = ""


def strip(text: str) -> str:
    """Leave out comments, strings and what is under `#[cfg(test)]`."""
    text = re.sub(
        r'//[^\n]*|/\*.*?\*/|r#*"(?:.*?)"#*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'',
        lambda m: '""' if '"' in m.group()[:3] else " ",
        text,
        flags=re.S,
    )
    while (at := re.search(r"#\[cfg\((?:all\()?test\b", text)) is not None:
        brace, semicolon = text.find("{", at.end()), text.find(";", at.end())
        if semicolon >= 0 and (brace < 0 or semicolon < brace):
            end = semicolon + 1
        else:
            depth, end = 1, brace + 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
        text = text[: at.start()] + text[end:]
    return text


def leaves(tree: str, prefix: Name = ()) -> Iterator[tuple[Name, str]]:
    """List the paths of a `use` tree and the name that each gets here."""
    tree = tree.strip()
    if tree.startswith("{"):
        depth, start, inner = 0, 0, tree[1:-1]
        for i, letter in enumerate(inner + ","):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                if part := inner[start:i].strip():
                    yield from leaves(part, prefix)
                start = i + 1
        return
    head, _, rest = tree.partition("::")
    if rest:
        yield from leaves(rest, (*prefix, head.strip()))
        return
    name, _, alias = head.partition(" as ")
    if name.strip() == "self":
        yield prefix, alias.strip() or prefix[-1]
    else:
        yield (*prefix, name.strip()), alias.strip() or name.strip()


def read(crate: Path) -> dict[Name, Module]:
    """Read all modules of a crate that `lib.rs` and `main.rs` reach, by their path."""
    modules: dict[Name, Module] = {}

    def visit(path: Path, name: Name) -> None:
        module = Module(path, name, text=strip(path.read_text()))
        modules[name] = module
        module.items = set(ITEM.findall(module.text))
        for child in MOD.findall(module.text):
            base = path.parent if path.stem in ("lib", "main", "mod") else path.parent / path.stem
            for file in (base / f"{child}.rs", base / child / "mod.rs"):
                if file.exists():
                    module.children[child] = (*name, child)
                    visit(file, (*name, child))
        for _, tree in USE.findall(module.text):
            for target, alias in leaves(re.sub(r"\s+", " ", tree)):
                if alias == "*":
                    module.globs.append(target[:-1])
                else:
                    module.uses[alias] = target

    visit(crate / "src/lib.rs", ())
    return modules


def resolve(modules: dict[Name, Module], here: Module, path: Name, depth: int = 0) -> Module | None:
    """Find the module that defines what `path` names in `here`; none if it is another crate's."""
    if depth > 12 or not path:
        return None
    head, rest = path[0], path[1:]
    if head == "crate":
        return descend(modules, modules[()], rest, depth)
    if head == "self":
        return descend(modules, here, rest, depth)
    if head == "super":
        return descend(modules, modules[here.name[:-1]], rest, depth) if here.name else None
    return descend(modules, here, path, depth, outside=True)


def descend(
    modules: dict[Name, Module],
    at: Module,
    path: Name,
    depth: int,
    *,
    outside: bool = False,
) -> Module | None:
    """As `resolve`, from inside the module `at`."""
    if not path:
        return at
    head, rest = path[0], path[1:]
    if head == "super":
        return descend(modules, modules[at.name[:-1]], rest, depth) if at.name else None
    if head in at.children:
        return descend(modules, modules[at.children[head]], rest, depth)
    if head in at.items:
        return at
    if head in at.uses and (at.uses[head] != path or not outside):
        target = resolve(modules, at, at.uses[head], depth + 1)
        if target is None or not rest or target.name[-1:] != at.uses[head][-1:]:
            return target
        return descend(modules, target, rest, depth + 1)
    for glob in at.globs:
        target = resolve(modules, at, glob, depth + 1)
        if target is not None and target is not at:
            found = descend(modules, target, path, depth + 1)
            if found is not None and found is not target:
                return found
            if head in target.items:
                return target
    return None if outside else at


def edges(modules: dict[Name, Module]) -> Graph:
    """Find for each module those whose items it names."""
    found: Graph = {name: set() for name in modules}
    for module in modules.values():
        body = USE.sub("", module.text)
        paths = {tuple(path.split("::")) for path in PATH.findall(body)}
        for _public, tree in USE.findall(module.text):
            for path, alias in leaves(re.sub(r"\s+", " ", tree)):
                if alias != "*":
                    paths.add(path)
        reexports = {
            path for public, tree in USE.findall(module.text) if public for path, _ in leaves(re.sub(r"\s+", " ", tree))
        }
        used = {alias for alias in module.uses if re.search(rf"\b{alias}\b", body)}
        reexports -= {module.uses[alias] for alias in used}
        for path in paths - reexports:
            target = resolve(modules, module, path)
            if target is None or target.name == module.name:
                continue
            # A file that only adds methods to a type of another one is a part of it, not an importer.
            if not any(re.search(rf"^impl(?:<.*?>)?\s+{item}\b", module.text, re.M) for item in target.items):
                found[module.name].add(target.name)
    return found


def circles(graph: Graph) -> list[list[Name]]:
    """Find the strongly connected components of two and more (Tarjan)."""
    index: dict[Name, int] = {}
    low: dict[Name, int] = {}
    stack: list[Name] = []
    out: list[list[Name]] = []

    def visit(v: Name) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = []
            while True:
                part.append(stack.pop())
                if part[-1] == v:
                    break
            if len(part) > 1:
                out.append(part)

    for v in graph:
        if v not in index:
            visit(v)
    return out


def rooms() -> list[str]:
    """List the rooms of core in the order of the table."""
    text = (ROOT / "docs/architecture.md").read_text()
    table = text.split("## Rooms of core", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.M)


def faults(crate: str, graph: Graph) -> Iterator[str]:
    """Say what is wrong, a line each."""
    for part in circles(graph):
        yield f"{crate}: a circle of imports:"
        yield from (f"    {'::'.join(a)} -> {'::'.join(b)}" for a in part for b in graph[a] if b in part)
    if crate == "core":
        order = {room: place for place, room in enumerate(rooms())}
        for a, bs in graph.items():
            for b in bs:
                if a and b and order.get(b[0], len(order)) > order.get(a[0], -1):
                    yield f"core: {'::'.join(a)} -> {'::'.join(b)} goes down in docs/architecture.md: move what both need up"


def main() -> int:
    """Print the faults of all crates; 1 if there are any."""
    sys.setrecursionlimit(10_000)
    found = []
    for crate in sorted(path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")):
        graph = edges(read(ROOT / "crates" / crate))
        if "--edges" in sys.argv:
            for a, bs in graph.items():
                for b in sorted(bs):
                    print(f"{crate}: {'::'.join(a)} -> {'::'.join(b)}")
        found += list(faults(crate, graph))
    print("\n".join(found) if found else "imports form no circle")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
