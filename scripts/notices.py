"""Writes the licence notices of the Rust crates that are linked into a package: `notices.py PACKAGE > FILE`.

Texts are those that the crates ship, each once with the crates that it holds for. Proc macros and build dependencies are not linked.
A crate without a licence file is named with its licence and authors. The same lock file gives the same bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

NAMES = ("licen", "copying", "notice", "unlicense")
RULE = "=" * 80


def linked(metadata: dict[str, Any], root: str) -> list[dict[str, Any]]:
    """Return the crates of other authors that `root` links, by name and version."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    todo = [id for id, package in packages.items() if package["name"] == root and package["source"] is None]
    if not todo:
        sys.exit(f"notices: the workspace has no package {root!r}")
    seen: set[str] = set()
    while todo:
        here = todo.pop()
        is_macro = any("proc-macro" in target["kind"] for target in packages[here]["targets"])
        if here in seen or is_macro:
            continue
        seen.add(here)
        for dependency in nodes[here]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    foreign = [packages[id] for id in seen if packages[id]["source"] is not None]
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def texts(package: dict[str, Any]) -> list[str]:
    """Return the texts of the licence files of a crate."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.lower().startswith(NAMES)]
    return ["\n".join(line.rstrip() for line in path.read_text("utf-8", "replace").strip().splitlines()) for path in files]


def main() -> None:
    """Print the notices."""
    line = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform=x86_64-unknown-linux-gnu"]
    metadata = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    crates = linked(metadata, sys.argv[1])
    print(f"FairAir links these {len(crates)} Rust crates. Their licences, and then the texts that they ship:\n")
    users: defaultdict[str, list[str]] = defaultdict(list)
    for crate in crates:
        name, found = f"{crate['name']} {crate['version']}", texts(crate)
        by = "" if found else f"; by {', '.join(crate['authors']) or 'authors not named'}; ships no text"
        print(f"  {name}: {crate['license'] or 'see its text'}{by}")
        for text in found:
            users[text].append(name)
    print("\nrusqlite contains SQLite, which is in the public domain.")
    for text, names in sorted(users.items(), key=lambda item: item[1]):
        print(f"\n{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}")


if __name__ == "__main__":
    main()
