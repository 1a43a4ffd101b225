# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The walk in a Debian system that has Python, git and nothing else: built, installed and tried there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from doc_session import read_blocks

from package_walk.process import Failed, follow, run
from package_walk.table import timed

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eddy-packages"
PARTS = "python3,python3-venv,git,ca-certificates"
CERTIFICATES = Path("etc/ssl/certs/ca-certificates.crt")
PAGE = "how-to/install.md"
BUILD = "python3 -m venv b && . b/bin/activate && cd project && {commands}"
INSTALL = "python3 -m venv w && . w/bin/activate && cd dist && {commands}"
WALK = "mkdir home && PATH=$PWD/w/bin:$PATH w/bin/python -m package_walk.walk {level} docs home"


def walk(suite: str, root: Path, work: Path, level: str, extra: str) -> Iterator[str]:
    """Build and install what is committed in a bare system as the page on installing has it, and walk; a line each.

    Args:
        work: Has the walk and the pages.
        level: How far to walk.
    """
    with _system(suite, work / suite) as folder:
        inside = folder / "root"
        run(["git", "clone", "-q", "--no-hardlinks", root, inside / "project"])
        for name in ("doc_session.py", "package_walk", "docs"):
            copy = shutil.copytree if (work / name).is_dir() else shutil.copy
            copy(work / name, inside / name)
        first, *blocks = (block.text for block in read_blocks(inside / "docs" / PAGE))
        yield from timed("build", lambda: run(_inside(folder, BUILD.format(commands=_joined(first)))))
        (inside / "project" / "dist").rename(inside / "dist")
        shutil.rmtree(inside / "project")
        (told,) = {line for text in blocks for line in text.splitlines() if f".whl[{extra or 'serve'}]" in line}
        install = INSTALL.format(commands=told if extra else told.replace("[serve]", ""))
        yield from timed("install the wheel", lambda: run(_inside(folder, install)))
        yield from follow(_inside(folder, WALK.format(level=level)))


def _joined(text: str) -> str:
    return " && ".join(line.partition(" # ")[0].strip() for line in text.splitlines())


def _inside(folder: Path, command: str) -> list[object]:
    kept = ["HOME=/root", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"PIP_CERT=/{CERTIFICATES}"]
    return ["env", "-i", *kept, "chroot", folder, "sh", "-c", f"cd /root && {command}"]


@contextmanager
def _system(suite: str, folder: Path) -> Iterator[Path]:
    """A copy of a bare system; made once, and kept for the next run."""
    if os.geteuid() or not shutil.which("debootstrap"):
        raise Failed("a bare system needs root and debootstrap (`apt-get install debootstrap`)")
    base = CACHE / suite
    if not (base / ".ready").exists():
        shutil.rmtree(base, ignore_errors=True)
        base.parent.mkdir(parents=True, exist_ok=True)
        run(["debootstrap", "--variant=minbase", f"--include={PARTS}", suite, base])
        (base / ".ready").touch()
    run(["cp", "-a", "--reflink=auto", base, folder])
    for name in ("etc/hosts", "etc/resolv.conf", str(CERTIFICATES)):
        if Path("/", name).is_file():
            shutil.copyfile(Path("/", name), folder / name)
    run(["mount", "-t", "proc", "proc", folder / "proc"])
    run(["mount", "--bind", "/dev", folder / "dev"])
    try:
        yield folder
    finally:
        run(["umount", folder / "proc", folder / "dev"])
        run(["rm", "-rf", "--one-file-system", folder])
