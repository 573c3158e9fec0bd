"""No page of the documentation lies: what can run runs, what cannot names commands and options that exist.

A block in a page is preceded by a comment where it needs one:

    <!-- not run: REASON -->            an `sh` or `python` block that cannot run; its options are checked
    <!-- file: NAME -->                 the block is this file, for the blocks below
    <!-- file: NAME = OTHER with -->    OTHER with its line of the same key replaced by the block
    <!-- file: NAME = OTHER and -->     OTHER with the block at its end
    <!-- printed: COMMAND -->           lines that COMMAND prints, with the scenarios as the page has them
    <!-- box: eth0 eth1 -->             a configuration of `fairair vsb`: checked on a box with these interfaces

Scenarios are shortened and have one replica, but for what is said to be printed: the text of a page says how the long
run came out.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import REPOSITORY

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGES = sorted(
    [
        *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "gallery/README.md")),
        *(REPOSITORY / "docs").rglob("*.md"),
    ]
)
BLOCK = re.compile(
    r"^(?:<!-- *(?P<note>[^\n]*?) *-->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)
FAIRAIR = [sys.executable, "-m", "fairair"]
MKDOCS = REPOSITORY / "target/docs-venv/bin/mkdocs"

# One replica whatever the page says, since the reader waits for five and the test for none.
WRAPPER = f"""#!/bin/sh
case "$1 $*" in
*--replicas*) ;;
run\\ *|compare\\ *) set -- "$@" --replicas 1 ;;
esac
exec {shlex.join(FAIRAIR)} "$@"
"""


@dataclass
class Block:
    """A fenced block of a page, with the comment above it."""

    page: Path
    line: int
    note: str
    language: str
    text: str

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(page, text.count("\n", 0, match.start("text")), match["note"] or "", match["language"], match["text"])
        for match in BLOCK.finditer(text)
    ]


def short(scenario: str) -> str:
    """Return the same scenario, a few seconds long."""
    scenario = re.sub(r'^(duration *= *)"[^"]*"', r'\1"2 s"', scenario, flags=re.MULTILINE)
    return re.sub(r'^(warmup *= *)"[^"]*"', r'\1"0.5 s"', scenario, flags=re.MULTILINE)


def changed(old: str, how: str, block: str) -> str:
    """`old` with the line of the block's key replaced, or with the block at its end."""
    if how == "and":
        return f"{old}\n{block}"
    key = block.split("=")[0].strip()
    new, count = re.subn(rf"^{re.escape(key)} *=.*$", lambda _: block.strip(), old, flags=re.MULTILINE)
    assert count == 1, f"{key} stands in {count} lines"
    return new


@functools.cache
def help_of(words: tuple[str, ...]) -> str:
    done = subprocess.run([*FAIRAIR, *words, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"fairair {' '.join(words)}: {done.stderr}"
    return done.stdout


def commands(text: str) -> list[list[str]]:
    """Return the words of each fairair command in a block of shell."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|;|\|", line):
            words = shlex.split(part, comments=True)
            while words and (words[0] == "sudo" or "=" in words[0]):
                words.pop(0)
            if words and words[0].rsplit("/", 1)[-1] == "fairair":
                found.append(words[1:])
    return found


def check_options(block: Block) -> None:
    """Each command of the block exists, and so do its options."""
    for words in commands(block.text):
        path: list[str] = []
        while words and re.search(rf"^  {re.escape(words[0])}(  |$)", help_of(tuple(path)), re.MULTILINE):
            path.append(words.pop(0))
        assert path or (words and words[0].startswith("-")), f"{block.place}: no command {words}"
        own = words[: words.index("--")] if "--" in words else words
        for option in (word.split("=")[0] for word in own if word.startswith("--")):
            assert re.search(rf"{re.escape(option)}\b", help_of(tuple(path))), f"{block.place}: {path} has no {option}"


def check_box(block: Block, folder: Path) -> None:
    """`fairair vsb check` is content with the configuration on a box with the interfaces of the note."""
    (folder / "vsb.toml").write_text(block.text)
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("nft"):
        tomllib.loads(block.text)
        assert "CI" not in os.environ, "CI needs root and nft"
        return
    names = block.note.removeprefix("box:").split()
    made = [f"ip link add {name} type veth peer name far{i} && ip link set {name} up" for i, name in enumerate(names)]
    if 'mode = "bridged"' in block.text:
        made += [
            "ip link add br0 type bridge && ip link set br0 up",
            *(f"ip link set {name} master br0" for name in names),
        ]
    script = " && ".join(["ip link set lo up", *made, f"exec {shlex.join(FAIRAIR)} vsb check vsb.toml"])
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{block.place}: {done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_the_blocks_of_a_page(page: Path, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "scenarios", tmp_path / "scenarios")
    for scenario in (tmp_path / "scenarios").iterdir():
        scenario.write_text(short(scenario.read_text()))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/fairair").write_text(WRAPPER)
    (tmp_path / "bin/fairair").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "MPLBACKEND": "agg"}
    python: list[tuple[str, str]] = []
    for block in blocks(page):
        word = block.note.split(":")[0]
        if word == "file":
            named = re.fullmatch(r"file: (\S+)(?: = (\S+) (with|and))?", block.note)
            assert named, f"{block.place}: {block.note!r} cannot be read"
            text = changed((tmp_path / named[2]).read_text(), named[3], block.text) if named[2] else short(block.text)
            (tmp_path / named[1]).write_text(text)
        elif word == "box":
            check_box(block, tmp_path)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            for line in block.text.splitlines():
                json.loads(line)
        elif block.language in {"sh", "python"}:
            if block.language == "sh":
                check_options(block)
            if word == "not run":
                continue
            if block.language == "python":
                python.append((block.place, block.text))
                continue
            done = subprocess.run(
                ["sh", "-e", "-c", block.text],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{block.place}:\n{block.text}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        else:
            assert word != "not run", f"{block.place}: a block of {block.language!r} never runs"
    # The blocks of Python are one session, after those of the shell.
    if python:
        script = (
            "import json, sys\nnames = {}\n"
            "for place, text in json.load(sys.stdin): exec(compile(text, place, 'exec'), names)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(python),
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


PRINTED = [page for page in PAGES if "<!-- printed: " in page.read_text()]


@pytest.mark.parametrize("page", PRINTED, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_a_page_shows_what_the_command_prints(page: Path, tmp_path: Path) -> None:
    """To the last digit: a scenario and a seed give the same bytes anywhere."""
    shutil.copytree(REPOSITORY / "scenarios", tmp_path / "scenarios")
    for block in blocks(page):
        if named := re.fullmatch(r"file: (\S+)(?: = (\S+) (with|and))?", block.note):
            text = changed((tmp_path / named[2]).read_text(), named[3], block.text) if named[2] else block.text
            (tmp_path / named[1]).write_text(text)
        elif block.note.startswith("printed: fairair "):
            words = shlex.split(block.note.removeprefix("printed: fairair "))
            done = subprocess.run([*FAIRAIR, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
            printed = [line.rstrip() for line in done.stdout.splitlines()]
            missing = [line for line in block.text.splitlines() if line.rstrip() not in printed]
            assert not missing, f"{block.place}: these lines are not printed: {missing}\n{done.stdout}{done.stderr}"


def test_the_docs_stay_short() -> None:
    """At most 28,000 words (what has a letter or a digit), code and the tables that are generated from it left out."""
    words = 0
    for page in PAGES:
        text = re.sub(r"<!-- the (\w+): .*?<!-- end of the \1 -->", "", page.read_text(), flags=re.DOTALL)
        words += sum(bool(re.search(r"[^\W_]", word)) for word in BLOCK.sub("", text).split())
    assert words <= 28_000, (
        f"{words} words of 28,000: shorten {words - 28_000}, or put a measured table into docs/measured"
    )


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Pages, links and anchors: `mkdocs.yml` makes every warning an error."""
    if not MKDOCS.exists():
        assert "CI" not in os.environ, "CI needs the tools of the site: scripts/setup.sh docs"
        pytest.skip("*** SKIPPED (needs scripts/setup.sh docs): the documentation site ***")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "FAIRAIR": shutil.which("fairair") or ""}
    done = subprocess.run(
        [str(MKDOCS), "build", "--site-dir", str(tmp_path / "site")],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("index.html", "tutorial.html", "cli.html", "api.html", "search/search_index.json"):
        assert (tmp_path / "site" / name).exists(), name
    page = (tmp_path / "site" / "api.html").read_text()
    for field in ("tables.Run.duration", "tables.Flow.direction", "goals.Level.value", "goals.Goodput.at_least_bps"):
        assert f'id="fairair.{field}"' in page, field
