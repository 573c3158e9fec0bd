"""Installs, upgrades and purges the Debian package in a clean Debian root: `check_deb.py FILE.deb` (root).

The root is made once by debootstrap (target/debian-root; DEBIAN_ROOT names another) and never changed: an overlay takes what is written.
In it: install with what the package recommends, every command that the tutorial runs, the example configuration of the box,
an upgrade from an older version, and a purge, after which no file may be left that was not there before.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
BLOCK = re.compile(r"^(?:<!-- *([^\n]*?) *-->\n)?```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What any installation changes: the package manager's own books.
BOOKS = re.compile(r"^/(proc|sys|dev|run|tmp|root|var/(cache|log|lib/(apt|dpkg)|tmp)|etc/ld\.so\.cache)(/|$)")


def run(*words: str, **more: object) -> str:
    """Run a command and return its output; end everything when it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(f"check_deb: {' '.join(words)[:300]}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return str(done.stdout)


class Root:
    """A Debian root whose changes go to a temporary folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def sh(self, script: str) -> str:
        """Run a script in the root."""
        return run("chroot", str(self.place), "sh", "-euc", f"export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8\n{script}")

    def files(self) -> set[str]:
        """All files but the books of the package manager."""
        found = self.sh("find / -xdev -printf '%p\\n'").splitlines()
        return {path for path in found if not BOOKS.match(path)}

    def version(self) -> str:
        """What the package manager says is installed."""
        return self.sh("dpkg-query -W -f '${Version}' fairair")


def base() -> Path:
    """Return the clean root, made if it is missing."""
    if "DEBIAN_ROOT" in os.environ:
        return Path(os.environ["DEBIAN_ROOT"])
    place = HOME / "target/debian-root"
    if not (place / "etc/debian_version").exists():
        shutil.rmtree(place, ignore_errors=True)
        print(f"check_deb: debootstrap {SUITE}")
        run("debootstrap", "--variant=minbase", SUITE, str(place))
    return place


def older(deb: Path, folder: Path) -> Path:
    """Return the same package under an older version, to upgrade from."""
    tree = folder / "older"
    run("dpkg-deb", "-R", str(deb), str(tree))
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", "Version: 0.0.1-1", control.read_text(), flags=re.MULTILINE))
    # Smaller, so that it is plain which of the two runs.
    (tree / "usr/bin/fairair").write_text("#!/bin/sh\necho older\n")
    (tree / "DEBIAN/md5sums").unlink(missing_ok=True)
    run("dpkg-deb", "-b", str(tree), str(folder / "older.deb"))
    return folder / "older.deb"


def tutorial(root: Root) -> int:
    """Run the blocks of the tutorial as they stand there, with one replica; return how many."""
    ran = 0
    root.sh("mkdir -p /root/tutorial")
    cafe = root.place / "root/tutorial"
    for note, language, text in BLOCK.findall((HOME / "docs/tutorial.md").read_text()):
        if (named := re.fullmatch(r"file: (\S+)(?: = (\S+) (with|and))?", note)) is not None:
            if named[2] is None:
                made = text
            elif named[3] == "and":
                made = f"{(cafe / named[2]).read_text()}\n{text}"
            else:
                key = text.split("=")[0].strip()
                made = re.sub(rf"^{key} *=.*$", text.strip(), (cafe / named[2]).read_text(), flags=re.MULTILINE)
            (cafe / named[1]).write_text(made.replace("replicas = 5", "replicas = 1"))
        elif language == "sh" and not note.startswith("not run"):
            root.sh(f"cd /root/tutorial\n{text}")
            ran += 1
    return ran


def check(root: Root, deb: Path, old: Path) -> None:
    """Do it all."""
    shutil.copy(deb, root.place / "tmp/new.deb")
    shutil.copy(old, root.place / "tmp/old.deb")
    recommended = run("dpkg-deb", "-f", str(deb), "Recommends").replace(",", " ").strip()
    root.sh(f"apt-get update -q && apt-get install -qy --no-install-recommends {recommended}")
    before = root.files()

    root.sh("apt-get install -qy /tmp/old.deb")
    assert root.sh("fairair").strip() == "older"
    root.sh("mkdir -p /etc/fairair && cp /usr/share/doc/fairair/examples/vsb.toml /etc/fairair/")
    root.sh("apt-get install -qy /tmp/new.deb")
    assert root.version() != "0.0.1-1", root.version()
    kept = root.sh("cat /etc/fairair/vsb.toml")
    assert 'name = "lobby"' in kept, "the upgrade took the configuration"
    print(f"  upgraded to {root.version()}; {root.sh('fairair --version').strip()}")

    print(f"  {tutorial(root)} blocks of the tutorial ran")
    root.sh("fairair check /usr/share/doc/fairair/examples/scenarios/hotel-802.11n.toml")
    # As the page of the live box says, on a network of its own.
    made = "".join(f"ip link add {name} type veth peer name far-{name}; ip link set {name} up; " for name in ("eth0", "eth1"))
    root.sh(f"unshare -n sh -euc 'ip link set lo up; {made}fairair vsb check /etc/fairair/vsb.toml'")
    root.sh("test -s /usr/share/bash-completion/completions/fairair && test -s /usr/share/zsh/vendor-completions/_fairair")
    assert root.sh("dpkg -V fairair") == "", "installed files differ from the package's"

    # What the box would have kept.
    root.sh("mkdir -p /var/lib/private/fairair && touch /var/lib/private/fairair/journal.db && ln -s private/fairair /var/lib/fairair")
    root.sh("apt-get remove -qy fairair")
    assert (root.place / "etc/fairair/vsb.toml").exists(), "remove took the configuration"
    root.sh("apt-get install -qy /tmp/new.deb")
    root.sh("apt-get purge -qy fairair")
    left = sorted(root.files() - before - {"/var/lib/private"})
    assert not left, f"purge leaves {left}"
    gone = sorted(before - root.files())
    assert not gone, f"purge took {gone}"
    print("  purged; no file is left")


def main() -> None:
    """Mount, check, unmount."""
    if os.geteuid() != 0:
        sys.exit("check_deb: needs root, for mounts and chroot")
    if os.environ.get("FAIRAIR_CHECK_DEB") != "inside":
        # Mounts of a namespace of its own end with it.
        inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, *sys.argv]
        sys.exit(subprocess.run(inside, env={**os.environ, "FAIRAIR_CHECK_DEB": "inside"}, check=False).returncode)
    lower, deb = base(), Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="fairair-deb-") as folder:
        room = Path(folder)
        # Overlays do not stand on each other everywhere: memory holds what is written.
        run("mount", "-t", "tmpfs", "tmpfs", folder)
        for name in ("upper", "work", "root", "make"):
            (room / name).mkdir()
        old = older(deb, room / "make")
        options = f"lowerdir={lower},upperdir={room / 'upper'},workdir={room / 'work'}"
        run("mount", "-t", "overlay", "overlay", "-o", options, str(room / "root"))
        run("mount", "-t", "proc", "proc", str(room / "root/proc"))
        shutil.copy("/etc/resolv.conf", room / "root/etc/resolv.conf")
        print(f"{deb.name} in {'DEBIAN_ROOT' if 'DEBIAN_ROOT' in os.environ else SUITE}:")
        try:
            check(Root(room / "root"), deb, old)
        finally:
            run("umount", str(room / "root/proc"), str(room / "root"), folder)


if __name__ == "__main__":
    main()
