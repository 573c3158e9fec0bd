"""What packages are made of: versions agree, and OpenWrt's configuration becomes one that the box reads."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

import fairair

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OPENWRT = REPOSITORY / "packaging/openwrt"
FILES = OPENWRT / "fairair/files"

EVERY_SECTION = r"""
config site 'site'
	option enabled '1'
	option name 'a "router" \ here'
	list uplink 'wan'
	list uplink 'wan6'
	option queue '200'
	option batch '24 kB'
	option leaf 'auto'
	list exclude '10.1.0.9'

config ap 'radio0'
	option interface 'phy0-ap0'
	option channel '36'
	option kind 'adaptive'
	option max '200 Mbit/s'
	option rise '0.1'
	list prefixes '10.1.0.0/24'

config ap 'radio1'
	option name 'hall'
	option interface 'phy1-ap0'
	option channel '6/2.4'
	option capacity '20 Mbit/s'
	list prefixes '10.2.0.0/24'

config plan 'gold'
	option weight '2.5'
	option cap '20 Mbit/s'

config station 'desk'
	option ap 'radio0'
	list addresses '10.1.0.2'
	option plan 'gold'

config wan 'link'
	option up '19 Mbit/s'
	option down '95 Mbit/s'

config discovery 'discovery'
	option neighbours '0'
	option age '300 s'
	list iw 'phy0-ap0'

config hostapd 'local'
	option socket '/var/run/hostapd/phy0-ap0'
	option ap 'radio0'

config snmp 'far'
	option ap 'hall'
	option agent '10.0.0.5'
	option community 'public'
	option table 'bridge'
	list ports '2'
	list ports '3'
"""
ITS_TABLES: dict[str, Any] = {
    "name": 'a "router" \\ here',
    "state": "/var/run/fairair",
    "uplink": ["wan", "wan6"],
    "queue": 200,
    "batch": "24 kB",
    "leaf": "auto",
    "exclude": ["10.1.0.9"],
    "ap": [
        {
            "name": "radio0",
            "interface": "phy0-ap0",
            "channel": 36,
            "prefixes": ["10.1.0.0/24"],
            "capacity": {"kind": "adaptive", "max": "200 Mbit/s", "rise": 0.1},
        },
        {
            "name": "hall",
            "interface": "phy1-ap0",
            "channel": "6/2.4",
            "prefixes": ["10.2.0.0/24"],
            "capacity": "20 Mbit/s",
        },
    ],
    "plan": [{"name": "gold", "weight": 2.5, "cap": "20 Mbit/s"}],
    "station": [{"name": "desk", "ap": "radio0", "addresses": ["10.1.0.2"], "plan": "gold"}],
    "wan": {"up": "19 Mbit/s", "down": "95 Mbit/s"},
    "discovery": {
        "neighbours": False,
        "age": "300 s",
        "iw": ["phy0-ap0"],
        "hostapd": [{"socket": "/var/run/hostapd/phy0-ap0", "ap": "radio0"}],
        "snmp": [{"ap": "hall", "agent": "10.0.0.5", "community": "public", "table": "bridge", "ports": [2, 3]}],
    },
}


def vsb_toml(config: Path) -> str:
    """Return the configuration of the box that the router would write."""
    script = f". {OPENWRT}/functions.sh; . {FILES}/uci.sh; config_load {shlex.quote(str(config))}; vsb_toml"
    done = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


def test_every_section_of_uci_becomes_its_table(tmp_path: Path) -> None:
    (tmp_path / "fairair").write_text(EVERY_SECTION)
    assert tomllib.loads(vsb_toml(tmp_path / "fairair")) == ITS_TABLES


def test_the_box_reads_what_the_router_ships(tmp_path: Path) -> None:
    (tmp_path / "vsb.toml").write_text(vsb_toml(FILES / "fairair.config"))
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("nft"):
        assert "CI" not in os.environ, "CI needs root and nft"
        pytest.skip("*** SKIPPED (needs root and nft): whether the box reads OpenWrt's configuration ***")
    links = "".join(
        f"ip link add {name} type veth peer name x{name[:3]}; ip link set {name} up; " for name in ("wan", "phy0-ap0")
    )
    check = f"ip link set lo up; {links}exec {shlex.quote(sys.executable)} -m fairair vsb check {tmp_path}/vsb.toml"
    done = subprocess.run(["unshare", "-n", "sh", "-euc", check], capture_output=True, text=True, check=False)
    # 0, or a finding about `iw`, which this machine may lack; a mistake in the file has a line.
    assert "vsb.toml:" not in done.stderr, done.stderr
    assert "phy0-ap0" in done.stdout, done.stdout + done.stderr


def test_the_source_distribution_has_what_builds_read(tmp_path: Path) -> None:
    # The lab carries these. They lie outside its crate, so that only a list of ours brings them.
    manifest = str(REPOSITORY / "python/Cargo.toml")
    maturin = [sys.executable, "-m", "maturin", "sdist", "--manifest-path", manifest, "--out", str(tmp_path)]
    done = subprocess.run(maturin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert len(names) == len(set(names))
    # The wheel has these, by a link that archives follow.
    assert {f"fairair/_scenarios/{path.name}" for path in (REPOSITORY / "scenarios").iterdir()} <= set(names)
    for pattern in ("scenarios/*.toml", "gallery/*/*.toml"):
        wanted = {str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob(pattern)}
        assert len(wanted) > 20
        assert wanted <= set(names), sorted(wanted - set(names))


def test_there_is_one_version() -> None:
    version = fairair.__version__
    assert tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["version"] == version
    for name, pattern in {
        "CITATION.cff": r"^version: (.*)$",
        "packaging/openwrt/fairair/Makefile": r"^PKG_VERSION:=(.*)$",
        "CHANGELOG.md": r"^## (\d\S*)",
    }.items():
        found = re.search(pattern, (REPOSITORY / name).read_text(), re.MULTILINE)
        assert found, f"{name} has no version"
        assert found[1] == version, name


def test_the_sbom_of_a_wheel_names_no_folder(tmp_path: Path) -> None:
    wheel, beside = tmp_path / "a-1-py3-none-any.whl", tmp_path / "a.cyclonedx.json"
    inside = "a-1.dist-info/sboms/a.cyclonedx.json"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.py", "a = 1\n")
        archive.writestr(inside, f'{{"bom-ref": "path+{REPOSITORY.resolve().as_uri()}/crates/core#a@1"}}')
        archive.writestr("a-1.dist-info/RECORD", f"a.py,sha256=x,6\n{inside},sha256=old,1\na-1.dist-info/RECORD,,\n")
    subprocess.run([sys.executable, REPOSITORY / "scripts/sbom.py", wheel, beside], check=True)
    mended = beside.read_bytes()
    assert mended == b'{"bom-ref": "path+file:///fairair/crates/core#a@1"}'
    digest = base64.urlsafe_b64encode(hashlib.sha256(mended).digest()).decode().rstrip("=")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.namelist() == ["a.py", inside, "a-1.dist-info/RECORD"]
        assert archive.read(inside) == mended
        rows = archive.read("a-1.dist-info/RECORD").decode().splitlines()
    assert rows == ["a.py,sha256=x,6", f"{inside},sha256={digest},{len(mended)}", "a-1.dist-info/RECORD,,"]
