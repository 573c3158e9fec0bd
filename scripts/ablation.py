"""Change each constant of the controllers, one at a time, and count what that changes (a table for docs/measured).

    python3 scripts/ablation.py FOLDER [--only guard. room.] [--factors 0.01 100]

Each constant of `crates/core/src/control` is halved and doubled in a copy of the sources, in which constants are functions
that read the factor from the environment, so that one build serves all. Each time the situations of
`crates/sim/examples/ablation.rs` run (the same seeds, so that replicas are paired) and the unit tests of the controllers. A
measure has changed if its mean is more than 3 % and three standard errors off.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTROL = "crates/core/src/control"
CONSTANT = re.compile(r"^(pub\(super\) )?const ([A-Z_]+): ([^=;]+) = ([^;]+);", re.MULTILINE)
# Sizes of packets and lengths of arrays are no choices.
LEFT_OUT = {"PACKET", "ALL", "STEPS", "CROWD"}
TUNE = """//! Constants times what the environment says.
pub(super) trait Tune {
    fn times(self, factor: f64) -> Self;
}
impl Tune for f64 {
    fn times(self, factor: f64) -> f64 {
        self * factor
    }
}
impl Tune for u32 {
    fn times(self, factor: f64) -> u32 {
        (f64::from(self) * factor).round() as u32
    }
}
impl Tune for u64 {
    fn times(self, factor: f64) -> u64 {
        (self as f64 * factor).round() as u64
    }
}
impl Tune for usize {
    fn times(self, factor: f64) -> usize {
        (self as f64 * factor).round() as usize
    }
}
impl Tune for crate::units::Duration {
    fn times(self, factor: f64) -> Self {
        Self::from_nanos((self.as_nanos() as f64 * factor) as u64)
    }
}
impl Tune for (crate::units::Duration, crate::units::Duration) {
    fn times(self, factor: f64) -> Self {
        (self.0.times(factor), self.1.times(factor))
    }
}
impl Tune for std::ops::Range<f64> {
    fn times(self, factor: f64) -> Self {
        1.0 + (self.start - 1.0) * factor..1.0 + (self.end - 1.0) * factor
    }
}
impl Tune for std::ops::RangeInclusive<f64> {
    fn times(self, factor: f64) -> Self {
        self.start() * factor..=self.end() * factor
    }
}
pub(super) fn tuned<T: Tune>(name: &str, value: T) -> T {
    static CHOSEN: std::sync::OnceLock<Option<(String, f64)>> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let text = std::env::var("FAIRAIR_ABLATION").ok()?;
        let (name, factor) = text.split_once('=')?;
        Some((name.to_owned(), factor.parse().expect("a number")))
    });
    match chosen {
        Some((own, factor)) if own == name => value.times(*factor),
        _ => value,
    }
}
"""


def prepare(copy: Path) -> list[str]:
    """Copy the sources, make functions of constants, and return their names (`file.NAME`)."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "target", "node_modules", ".venv", "out", "dist"))
    files = [
        path
        for path in sorted((copy / CONTROL).glob("*.rs"))
        if path.stem not in ("mod", "testbed", "log") and not path.stem.endswith("tests")
    ]
    names: list[str] = []
    shared: dict[str, set[str]] = {}
    texts = {path: path.read_text() for path in files}
    for path, text in texts.items():
        own = [match for match in CONSTANT.finditer(text) if match[2] not in LEFT_OUT]
        for match in own:
            names.append(f"{path.stem}.{match[2]}")
            if match[1]:
                shared.setdefault(match[2], set()).add(path.stem)
        texts[path] = calls(text, {match[2] for match in own}, path.stem)
    for path in (copy / CONTROL).glob("*.rs"):
        text = texts.get(path, path.read_text())
        for name, homes in shared.items():
            if any(re.search(rf"{home}::(?:\{{[^}}]*\b)?{name}\b", text) for home in homes - {path.stem}):
                text = called(text, name)
        path.write_text(re.sub(r"\bconst fn\b", "fn", text))
    (copy / CONTROL / "tune.rs").write_text(TUNE)
    home = copy / CONTROL / "mod.rs"
    home.write_text(home.read_text().replace("mod trial;", "mod trial;\nmod tune;"))
    return names


def called(text: str, name: str) -> str:
    """Make calls of the uses of `name`, but in imports, comments and its own definition."""
    parts = re.split(r"(^(?:pub(?:\(super\))? )?use [^;]*;|^ *//.*$)", text, flags=re.MULTILINE)
    parts[::2] = [re.sub(rf"(?<![\w\"]){name}\b(?!\(|: )", f"{name}()", part) for part in parts[::2]]
    return "".join(parts)


def calls(text: str, own: set[str], stem: str) -> str:
    """Make a function of each constant in `own`, and a call of each use."""
    for name in own:
        text = called(text, name)

    def function(match: re.Match[str]) -> str:
        if match[2] not in own:
            return match[0]
        return (
            f"#[allow(non_snake_case)]\n{match[1] or ''}fn {match[2]}() -> {match[3]} {{\n"
            f'    super::tune::tuned("{stem}.{match[2]}", {match[4]})\n}}'
        )

    return CONSTANT.sub(function, text)


def build(copy: Path) -> tuple[Path, Path]:
    """Build the situations and the unit tests of core; return both programs."""
    cargo = ["cargo", "build", "--release", "--locked", "-p", "fairair-sim", "--example", "ablation"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(copy.parent / "target"), "CARGO_PROFILE_RELEASE_LTO": "off"}
    subprocess.run(cargo, cwd=copy, check=True, env=environment)
    tests = [
        "cargo",
        "test",
        "--release",
        "--locked",
        "-p",
        "fairair-core",
        "--lib",
        "--no-run",
        "--message-format=json",
    ]
    out = subprocess.run(tests, cwd=copy, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout
    program = re.findall(r'"executable":"([^"]*fairair_core[^"]*)"', out)[-1]
    return copy.parent / "target/release/examples/ablation", Path(program)


Measures = dict[tuple[str, str], list[float]]


def run(programs: tuple[Path, Path], copy: Path, tune: str) -> tuple[Measures, set[str]]:
    """Return the measures with `tune` (`file.NAME=factor`), and which unit tests fail."""
    environment = {**os.environ, "FAIRAIR_ABLATION": tune}

    def printed(words: list[str], folder: Path) -> str | None:
        try:
            return subprocess.run(
                words, env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=False
            ).stdout
        except subprocess.TimeoutExpired:
            return None

    measures: Measures = {}
    for line in (printed([str(programs[0])], copy) or "").splitlines():
        situation, measure, values = line.split("\t")
        measures[situation, measure] = [float(value) for value in values.split()]
    tested = printed([str(programs[1]), "control::", "--test-threads", "1"], copy / "crates/core")
    failed = {"(no end)"} if tested is None else set(re.findall(r"^test (\S+) \.\.\. FAILED", tested, re.MULTILINE))
    return measures, failed


def changed(before: Measures, after: Measures) -> list[str]:
    """Name what differs: `situation: measure -12 %`, the largest difference first."""
    found: list[tuple[float, str]] = []
    for key, old in before.items():
        new = after.get(key)
        if new is None:
            found.append((9.9, f"{key[0]}: no result"))
            continue
        differences = [b - a for a, b in zip(old, new, strict=True)]
        mean, base = statistics.mean(differences), abs(statistics.mean(old))
        error = statistics.stdev(differences) / len(differences) ** 0.5
        if base > 0 and abs(mean) > 0.03 * base and abs(mean) > 3 * error:
            found.append((abs(mean) / base, f"{key[0]}: {key[1].split(',')[0]} {100 * mean / base:+.0f} %"))
    return [text for _, text in sorted(found, reverse=True)]


def main() -> int:
    """Write FOLDER/ablation.csv."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("folder", type=Path, help="where a copy of the sources is built and the figures are kept")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--only", nargs="*", default=[""], help="constants whose names (file.NAME) begin so")
    options.add_argument("--factors", type=float, nargs="*", default=[0.5, 2.0])
    given = options.parse_args()
    folder = given.folder.resolve()
    copy = folder / "copy"
    names = [name for name in prepare(copy) if name.startswith(tuple(given.only))]
    programs = build(copy)
    before, failing = run(programs, copy, "")
    if failing or not before:
        print(f"unchanged sources fail: {sorted(failing)}", file=sys.stderr)
        return 1
    variants = [(name, factor) for name in names for factor in given.factors]
    with ThreadPoolExecutor(given.jobs) as pool, (folder / "ablation.csv").open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["constant", "times", "unit tests that fail", "measures that change", "the largest changes"])
        results = pool.map(lambda one: run(programs, copy, f"{one[0]}={one[1]}"), variants)
        for (name, factor), (after, failed) in zip(variants, results, strict=True):
            differences = changed(before, after)
            rows.writerow([name, factor, len(failed), len(differences), "; ".join(differences[:3])])
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
