"""Hooks of the documentation site (mkdocs.yml): pages that are made, and links that leave docs/.

- `cli.md` is written from what the command itself prints for `--help`.
- `contributing.md` is CONTRIBUTING.md of the repository.
- A link that is named as its page's file gets the page's title; keys of tables may break after their dots, and no number leaves its %.
- A link from a page to a file of the repository becomes a link to the repository; a file that does not exist is an error.
- The gallery of `make gallery` is copied into the site where it has been built.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?\)")
NAMED = re.compile(r"\[([\w/-]+\.md)\]\(([\w/.-]+\.md)")
TAG = re.compile(r"(<pre.*?</pre>|<code>[^<]*</code>|<[^>]+>)", re.DOTALL)
SUBCOMMAND = re.compile(r"^  ([a-z][a-z-]+)  ", re.MULTILINE)


def on_files(files, config):
    """Add the pages that are made."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    files.append(File.generated(config, "contributing.md", content=contributing.replace("](docs/", "](")))
    # Who searches an option wants this page before the functions that have it, too.
    files.append(File.generated(config, "cli.md", content="---\nsearch:\n  boost: 4\n---\n" + command_page()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Turn links to files of the repository into links to where it is published."""
    folder = "" if page.file.src_uri == "contributing.md" else "docs/" + posixpath.dirname(page.file.src_uri)

    def place(match):
        target = match[2]
        if "://" in target or target.startswith(("mailto:", "/")):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        if path.startswith("docs/") or (page.file.src_uri == "contributing.md" and target.endswith(".md")):
            if path != "CHANGELOG.md":
                return match[0]
        if path == "CONTRIBUTING.md":
            up = "../" * posixpath.dirname(page.file.src_uri).count("/") + ("../" if "/" in page.file.src_uri else "")
            return f"{match[1]}{up}contributing.md{match[3] or ''})"
        if not (ROOT / path).exists():
            raise PluginError(f"{page.file.src_uri}: the link {target} leads to no file of the repository")
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{match[1]}{config['extra']['repository']}/{kind}/main/{path}{match[3] or ''})"

    return LINK.sub(place, NAMED.sub(lambda match: titled(match, page.file.src_uri), markdown))


def titled(match, source: str) -> str:
    """A link to a page by its title."""
    file = ROOT / "docs" / posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
    heading = re.search(r"^# (.+)$", file.read_text(), re.MULTILINE) if file.exists() else None
    return f"[{heading[1].replace('`', '') if heading else match[1]}]({match[2]}"


def on_page_content(html, page, config, files):
    """Let long keys break where words of theirs end, and keep a number and its % together."""

    def part(text: str) -> str:
        if text.startswith("<code>"):
            return re.sub(r"(?<=[\w\]])([._])(?=\w)", r"\1<wbr>", text)
        return text if text.startswith("<") else re.sub(r"(?<=\d) %", "\u00a0%", text)

    return "".join(part(text) for text in TAG.split(html))


def on_post_build(config):
    """Put the gallery into the site."""
    built = ROOT / "out" / "gallery"
    if (built / "index.html").exists():
        shutil.copytree(built, Path(config["site_dir"]) / "gallery", dirs_exist_ok=True, ignore=shutil.ignore_patterns("store"))


def command() -> str:
    """The command whose help is printed: FAIRAIR, or what cargo or `make python` has built."""
    named = [os.environ.get("FAIRAIR", "")]
    built = [str(ROOT / place) for place in ("target/debug/fairair", "target/release/fairair", ".venv/bin/fairair")]
    for candidate in named + built:
        if candidate and Path(candidate).exists():
            return candidate
    raise PluginError("no fairair to ask for its help: run `make docs`, or name one in FAIRAIR")


def help_of(words: list[str]) -> str:
    """What the command prints for `--help` of a subcommand."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([command(), *words, "--help"], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise PluginError(f"fairair {' '.join(words)} --help failed: {done.stderr}")
    return done.stdout.rstrip()


def command_page() -> str:
    """A page with the help of every command."""
    page = ["# The command line", "", "This page is what `fairair COMMAND --help` prints.", ""]

    def add(words: list[str]) -> None:
        text = help_of(words)
        page.extend([f"{'#' * min(2 + max(len(words) - 1, 0), 4)} `{' '.join(['fairair', *words])}`", "", "```text", text, "```", ""])
        commands = re.search(r"^Commands:\n(.*?)(?:\n\n\S|\Z)", text, re.DOTALL | re.MULTILINE)
        for word in SUBCOMMAND.findall(commands[1] if commands else ""):
            if word != "help":
                add([*words, word])

    add([])
    return "\n".join(page)
